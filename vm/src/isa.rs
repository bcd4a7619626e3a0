//! The instruction set, declared once.
//!
//! Everything that depends on the shape of an instruction derives from the list below: the codec,
//! the disassembler, the verifier, the generator of random programs and the table in
//! `spec/bytecode.md`. Only the machine names instructions, in one exhaustive match.
//!
//! **Failures are values.** An operation on a failed operand gives that failure (`Any` in, `Any`
//! out); code tests with `jump_failed`, which is the only way from [`Kind::Any`] to
//! [`Kind::Data`]. Variables, host calls and results take `Data`, so the verifier proves that no
//! failure is stored or passed on unseen. `Step` and `Tasks` are linear: nothing copies or drops
//! them, so every started step ends and every set of tasks is joined, on every path.

mod named;
mod word;

pub use named::{BUILTINS, Builtin, BuiltinInfo, Status, Style};
pub use word::{Short, Word};

use word::{Operand, Room, rooms};

/// What the verifier knows of a stack slot or a local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Data or a failure.
    Any,
    /// Data: certainly not a failure.
    Data,
    Bool,
    Int,
    Text,
    List,
    Map,
    /// An open step; linear.
    Step,
    /// A set of tasks; linear.
    Tasks,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Any,
        Kind::Data,
        Kind::Bool,
        Kind::Int,
        Kind::Text,
        Kind::List,
        Kind::Map,
        Kind::Step,
        Kind::Tasks,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Any => "any",
            Kind::Data => "data",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Text => "text",
            Kind::List => "list",
            Kind::Map => "map",
            Kind::Step => "step",
            Kind::Tasks => "tasks",
        }
    }

    pub fn is_linear(self) -> bool {
        matches!(self, Kind::Step | Kind::Tasks)
    }

    /// Whether a value of this kind may stand where `wanted` is asked for.
    pub fn fits(self, wanted: Kind) -> bool {
        self == wanted
            || match wanted {
                Kind::Any => !self.is_linear(),
                Kind::Data => {
                    matches!(
                        self,
                        Kind::Bool | Kind::Int | Kind::Text | Kind::List | Kind::Map
                    )
                }
                _ => false,
            }
    }

    /// The kind that both fit, if there is one.
    pub fn join(self, other: Kind) -> Option<Kind> {
        if self == other {
            Some(self)
        } else if self.is_linear() || other.is_linear() {
            None
        } else if self == Kind::Any || other == Kind::Any {
            Some(Kind::Any)
        } else {
            Some(Kind::Data)
        }
    }
}

/// What an instruction takes from the stack or leaves on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// One value of this kind.
    One(Kind),
    /// As many `any` as the `Count` operand says.
    Many,
    /// The kind that the local of the operand holds, or has just been given.
    Held,
    /// Any kind that is not linear; it becomes the kind of the `WriteLocal` operand.
    Written,
    /// The parameters of the `Func` operand, in order.
    Params,
    /// The results of the `Func` operand, in order.
    Results,
    /// The results of the function this instruction stands in.
    OwnResults,
    /// The arguments of the `Host` operand: one `data` for each that its table entry leaves open.
    Args,
}

/// Where control goes after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    /// To the label, always, with the pushes.
    Jump,
    /// To the label, with these slots in place of the pushes; or on.
    Branch(&'static [Slot]),
    /// Out of the function, or out of the program.
    End,
}

/// What an operand is: which table it points into, or what it requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Text,
    Const,
    Label,
    Func,
    /// A function that can be a task: its results are exactly `[any]`.
    TaskFunc,
    Host,
    Step,
    /// A local that is set.
    ReadLocal,
    /// A local that is set, and is not afterwards.
    TakeLocal,
    /// A local that is set to what is popped.
    WriteLocal,
    /// A local that holds this kind, and still does afterwards.
    LocalOf(Kind),
    Count,
    Int,
    Builtin,
    Status,
}

impl Role {
    /// Bytes of the operand in a plan file, if it has them to itself.
    const fn width(self) -> usize {
        match self {
            Role::ReadLocal
            | Role::TakeLocal
            | Role::WriteLocal
            | Role::LocalOf(_)
            | Role::Count
            | Role::Builtin
            | Role::Status => 1,
            Role::Text
            | Role::Const
            | Role::Label
            | Role::Func
            | Role::TaskFunc
            | Role::Host
            | Role::Step
            | Role::Int => 4,
        }
    }
}

/// One line of the list.
#[derive(Debug)]
pub struct Info {
    pub byte: u8,
    pub mnemonic: &'static str,
    pub operands: &'static [(&'static str, Role)],
    /// Where in the word each operand is.
    pub rooms: [Room; 3],
    pub pops: &'static [Slot],
    pub pushes: &'static [Slot],
    pub flow: Flow,
    /// Charged each time it runs, before what it is charged per byte it produces.
    pub fuel: u32,
    pub sentence: &'static str,
}

// How a role is held in `Instr`, and how it comes and goes as a `u32`.
macro_rules! field {
    (ReadLocal) => {
        u8
    };
    (TakeLocal) => {
        u8
    };
    (WriteLocal) => {
        u8
    };
    (MapLocal) => {
        u8
    };
    (ListLocal) => {
        u8
    };
    (IntLocal) => {
        u8
    };
    (Count) => {
        u8
    };
    (Builtin) => {
        u8
    };
    (Status) => {
        u8
    };
    (Int) => {
        i32
    };
    (ShortStep) => {
        Short
    };
    (ShortHost) => {
        Short
    };
    ($other:ident) => {
        u32
    };
}
macro_rules! role {
    (ShortStep) => {
        Role::Step
    };
    (ShortHost) => {
        Role::Host
    };
    (MapLocal) => {
        Role::LocalOf(Kind::Map)
    };
    (ListLocal) => {
        Role::LocalOf(Kind::List)
    };
    (IntLocal) => {
        Role::LocalOf(Kind::Int)
    };
    ($other:ident) => {
        Role::$other
    };
}
macro_rules! slot {
    (Many) => {
        Slot::Many
    };
    (Held) => {
        Slot::Held
    };
    (Written) => {
        Slot::Written
    };
    (Params) => {
        Slot::Params
    };
    (Results) => {
        Slot::Results
    };
    (OwnResults) => {
        Slot::OwnResults
    };
    (Args) => {
        Slot::Args
    };
    ($kind:ident) => {
        Slot::One(Kind::$kind)
    };
}
macro_rules! flow {
    (next) => { Flow::Next };
    (jump) => { Flow::Jump };
    (end) => { Flow::End };
    (branch $($slot:ident)*) => { Flow::Branch(&[$(slot!($slot)),*]) };
}

macro_rules! instructions {
    ($($byte:literal $mnemonic:literal $variant:ident($($field:ident: $role:ident),*)
        [$($pop:ident)*] => [$($push:ident)*] ($($flow:tt)*) $fuel:literal $sentence:literal;)*) => {
        /// One instruction, decoded. Eight bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Instr {
            $(#[doc = $sentence] $variant { $($field: field!($role)),* },)*
        }

        /// The list, in the order of the bytes.
        pub static INSTRUCTIONS: &[Info] = &[$(Info {
            byte: $byte,
            mnemonic: $mnemonic,
            operands: &[$((stringify!($field), role!($role))),*],
            rooms: rooms(&[$(role!($role)),*]),
            pops: &[$(slot!($pop)),*],
            pushes: &[$(slot!($push)),*],
            flow: flow!($($flow)*),
            fuel: $fuel,
            sentence: $sentence,
        }),*];

        impl From<Instr> for Word {
            #[allow(unused, reason = "an instruction may have no operands")]
            fn from(instr: Instr) -> Word {
                match instr {
                    $(Instr::$variant { $($field),* } => {
                        const ROOMS: [Room; 3] = rooms(&[$(role!($role)),*]);
                        let (mut word, mut operand) = ($byte as u64, 0);
                        $(
                            word |= ROOMS[operand].put($field.to_bits());
                            operand += 1;
                        )*
                        Word(word)
                    })*
                }
            }
        }

        impl Word {
            /// What the word means.
            #[inline(always)]
            #[allow(unused, reason = "an instruction may have no operands")]
            pub fn instr(self) -> Instr {
                match self.byte() {
                    $($byte => {
                        const ROOMS: [Room; 3] = rooms(&[$(role!($role)),*]);
                        let mut operand = 0;
                        $(
                            let $field = <field!($role)>::from_bits(ROOMS[operand].get(self.0));
                            operand += 1;
                        )*
                        Instr::$variant { $($field),* }
                    })*
                    // No word has another byte.
                    _ => Instr::Null {},
                }
            }
        }

        // The bits that an instruction of a byte uses; none where none has it.
        static USED: [u64; 256] = {
            let mut used = [0u64; 256];
            $(used[$byte as usize] = used_bits(&[$(role!($role)),*]);)*
            used
        };

        // What an instruction of a byte is charged.
        static FUEL: [u8; 256] = {
            let mut fuel = [0u8; 256];
            $(fuel[$byte as usize] = $fuel;)*
            fuel
        };

        // Whether an instruction of a byte names a place in the code.
        static LABELLED: [bool; 256] = {
            let mut labelled = [false; 256];
            $(labelled[$byte as usize] = has_label(&[$(role!($role)),*]);)*
            labelled
        };

        // Which line a byte stands in; 255 where none does.
        static LINE_OF_BYTE: [u8; 256] = {
            let mut lines = [255u8; 256];
            let mut line = 0;
            $(lines[$byte as usize] = line; line += 1;)*
            let _ = line;
            lines
        };
    };
}

const fn used_bits(roles: &[Role]) -> u64 {
    let (mut bits, mut at) = (0xff, 0);
    while at < roles.len() {
        bits |= rooms(roles)[at].put(u32::MAX);
        at += 1;
    }
    bits
}

const fn has_label(roles: &[Role]) -> bool {
    let mut at = 0;
    while at < roles.len() {
        if matches!(roles[at], Role::Label) {
            return true;
        }
        at += 1;
    }
    false
}

/// The line of the list for a byte of a plan file.
pub fn info_of(byte: u8) -> Option<&'static Info> {
    INSTRUCTIONS.get(LINE_OF_BYTE[byte as usize] as usize)
}

instructions! {
    // Constants.
    0x01 "null" Null() [] => [Data] (next) 1 "push null";
    0x02 "true" True() [] => [Bool] (next) 1 "push true";
    0x03 "false" False() [] => [Bool] (next) 1 "push false";
    0x04 "int" Int(value: Int) [] => [Int] (next) 1 "push a small integer";
    0x05 "text" Text(text: Text) [] => [Text] (next) 1 "push a text of the plan";
    0x06 "const" Const(constant: Const) [] => [Data] (next) 1 "push a constant of the plan";
    0x07 "empty_list" EmptyList() [] => [List] (next) 1 "push a list with nothing in it";
    0x08 "empty_map" EmptyMap() [] => [Map] (next) 1 "push a map with nothing in it";

    // Stack and locals.
    0x10 "pop" Pop() [Any] => [] (next) 1 "drop the top";
    0x11 "load" Load(local: ReadLocal) [] => [Held] (next) 1 "push a copy of a local";
    0x12 "take" Take(local: TakeLocal) [] => [Held] (next) 1 "push a local and forget it";
    0x13 "store" Store(local: WriteLocal) [Written] => [] (next) 1 "set a local";
    0x14 "keep" Keep(local: WriteLocal) [Written] => [Held] (next) 1 "set a local to a copy of the top";

    // Variables: a map in a local, by name.
    0x18 "var_or_null" VarOrNull(scope: MapLocal, name: Text) [] => [Data] (next) 2 "push a variable; null if it is not set";
    0x19 "var_or_fail" VarOrFail(scope: MapLocal, name: Text) [] => [Any] (next) 2 "push a variable; a failure if it is not set";
    0x1a "has_var" HasVar(scope: MapLocal, name: Text) [] => [Bool] (next) 2 "push whether a variable is set";
    0x1b "set_var" SetVar(scope: MapLocal, name: Text) [Data] => [] (next) 2 "set a variable";
    0x1c "shadow" Shadow(scope: MapLocal, name: Text) [] => [] (next) 2 "remember what a variable holds, until unshadow or the end of the run puts it back";
    0x1d "keep_var" KeepVar(scope: MapLocal, name: Text) [Data] => [Data] (next) 2 "set a variable to a copy of the top";
    0x1e "unshadow" Unshadow(scope: MapLocal, name: Text) [] => [] (next) 2 "put back what a variable held at its last shadow in this function; forget it if it was not set";

    // Paths into values.
    0x20 "field_or_null" FieldOrNull(name: Text) [Any] => [Any] (next) 2 "push a field of a map; null if there is none";
    0x21 "field_or_fail" FieldOrFail(name: Text) [Any] => [Any] (next) 2 "push a field of a map; a failure if there is none";
    0x22 "index_or_null" IndexOrNull() [Any Any] => [Any] (next) 2 "push an item of a list or a field of a map; null if there is none";
    0x23 "index_or_fail" IndexOrFail() [Any Any] => [Any] (next) 2 "push an item of a list or a field of a map; a failure if there is none";

    0x24 "item_or_fail" ItemOrFail() [Any Any] => [Any] (next) 2 "push an item of a list by its position from 0; a failure if there is none";

    // Text. What ends in `_or` goes to its label with what failed, as a `jump_failed` after it would.
    0x26 "concat_or" ConcatOr(parts: Count, to: Label) [Many] => [Data] (branch Any) 3 "concat, then jump_failed";
    0x27 "json_or_text_or" JsonOrTextOr(to: Label) [Any] => [Data] (branch Any) 5 "json_or_text, then jump_failed";
    0x28 "concat" Concat(parts: Count) [Many] => [Any] (next) 2 "render the parts to text and put them together";
    0x29 "json_text" JsonText() [Any] => [Any] (next) 2 "render to compact JSON";
    0x2a "parse_json" ParseJson() [Any] => [Any] (next) 4 "read the JSON in a text: all of it, the first fenced block, or the first balanced value";
    0x2b "json_or_text" JsonOrText() [Any] => [Any] (next) 4 "trim a text, and read it if all of it is JSON";
    0x2c "need_integer" NeedInteger() [Any] => [Any] (next) 2 "render to the text of an integer without blanks; a failure if it is none";
    0x2d "shell_words" ShellWords() [Any] => [Any] (next) 2 "split a text at blanks and quote each word for a shell";
    0x2e "fresh_delimiter" FreshDelimiter(values: Count) [Text Many] => [Any] (next) 2 "make a heredoc delimiter that is a line of none of the values";

    // Lists and maps.
    0x30 "list" List(items: Count) [Many] => [Any] (next) 2 "make a list";
    0x31 "append" Append(list: ListLocal) [Data] => [] (next) 2 "add an item to a list";
    0x32 "length" Length() [List] => [Int] (next) 1 "push the length of a list";
    0x33 "put" Put(name: Text) [Map Data] => [Map] (next) 2 "set a field of a map";
    0x34 "merge" Merge() [Map Map] => [Map] (next) 4 "put the fields of the second map over those of the first";
    0x35 "without" Without() [Map Map] => [Map] (next) 4 "drop from the first map the fields that the second has";
    0x36 "argv" Argv() [Any] => [Any] (next) 2 "make the words of a command of a list of texts: empty ones are left out; a failure if the first is empty";
    0x37 "branch_report" BranchReport(labels: Const) [List] => [Map] (next) 8 "put what branches came to together: a text with a header for each, and what is known of all; null for one whose time was over";

    // Comparison: numbers first, then text.
    0x40 "eq_numbers_first" EqNumbersFirst(to: Label) [Any Any] => [Bool] (branch Any) 2 "equal as numbers if both are or look like numbers, else as text";
    0x41 "ne_numbers_first" NeNumbersFirst(to: Label) [Any Any] => [Bool] (branch Any) 2 "not eq_numbers_first";
    0x42 "lt_numbers_first" LtNumbersFirst(to: Label) [Any Any] => [Bool] (branch Any) 2 "less as numbers if both are or look like numbers, else as text";
    0x43 "le_numbers_first" LeNumbersFirst(to: Label) [Any Any] => [Bool] (branch Any) 2 "less or equal, likewise";
    0x44 "gt_numbers_first" GtNumbersFirst(to: Label) [Any Any] => [Bool] (branch Any) 2 "greater, likewise";
    0x45 "ge_numbers_first" GeNumbersFirst(to: Label) [Any Any] => [Bool] (branch Any) 2 "greater or equal, likewise";
    0x46 "in_numbers_first" InNumbersFirst(to: Label) [Any Any] => [Bool] (branch Any) 2 "the first is an item of the second, a part of its text, or one of its keys; items by eq_numbers_first";

    // Comparison: by type.
    0x48 "eq_by_type" EqByType(to: Label) [Any Any] => [Bool] (branch Any) 2 "equal within one type; a number equals text that parses to it, a boolean the text of it, null only null";
    0x49 "ne_by_type" NeByType(to: Label) [Any Any] => [Bool] (branch Any) 2 "not eq_by_type";
    0x4a "lt_by_type" LtByType(to: Label) [Any Any] => [Bool] (branch Any) 2 "less where the two can be ordered, else false";
    0x4b "le_by_type" LeByType(to: Label) [Any Any] => [Bool] (branch Any) 2 "less or equal, likewise";
    0x4c "gt_by_type" GtByType(to: Label) [Any Any] => [Bool] (branch Any) 2 "greater, likewise";
    0x4d "ge_by_type" GeByType(to: Label) [Any Any] => [Bool] (branch Any) 2 "greater or equal, likewise";
    0x4e "in_by_type" InByType(to: Label) [Any Any] => [Bool] (branch Any) 2 "the first is an item of the second, a part of its text, or one of its keys; items by eq_by_type";

    // Truth, and what follows from it.
    0x50 "truth_words" TruthWords(to: Label) [Any] => [Bool] (branch Any) 1 "go to the label with a failure; else false for null, a zero number, an empty list or map, and the texts `false False 0 none None` and the empty one";
    0x51 "truth_emptiness" TruthEmptiness(to: Label) [Any] => [Bool] (branch Any) 1 "go to the label with a failure; else false for null, false, a zero number, and everything empty";
    0x52 "truth_flags" TruthFlags(to: Label) [Any] => [Bool] (branch Any) 1 "go to the label with a failure; else false for null, false, a zero number, an empty list or map, and the texts `0 false no` and the blank one, in any case";
    0x53 "not" Not() [Bool] => [Bool] (next) 1 "the other truth value";
    0x54 "is_null" IsNull() [Data] => [Bool] (next) 1 "whether it is null";
    0x55 "fit" Fit(wanted: Const) [Any] => [Any] (next) 4 "bring a value into the form that a declaration asks for; a failure if it does not fit";

    // Numbers.
    0x58 "add" Add() [Any Any] => [Any] (next) 1 "the sum of two integers; a failure if it does not fit";
    0x59 "sub" Sub() [Any Any] => [Any] (next) 1 "the difference, likewise";
    0x5a "mul" Mul() [Any Any] => [Any] (next) 1 "the product, likewise";
    0x5b "div" Div() [Any Any] => [Any] (next) 1 "the quotient towards zero; a failure if divided by zero";
    0x5c "rem" Rem() [Any Any] => [Any] (next) 1 "the remainder of div; a failure if divided by zero";
    0x5d "less" Less() [Int Int] => [Bool] (next) 1 "whether the first integer is less than the second";
    0x5e "builtin" Builtin(which: Builtin, arguments: Count) [Many] => [Any] (next) 4 "a function or method of the condition language";
    0x5f "pad" Pad(width: Count) [Any] => [Any] (next) 2 "write an integer with so many digits at least, zeros in front";

    // Jumps.
    0x60 "jump" Jump(to: Label) [] => [] (jump) 1 "go to the label";
    0x61 "jump_if" JumpIf(to: Label) [Bool] => [] (branch) 1 "go to the label if true";
    0x62 "jump_unless" JumpUnless(to: Label) [Bool] => [] (branch) 1 "go to the label if false";
    0x63 "jump_failed" JumpFailed(to: Label) [Any] => [Data] (branch Any) 1 "go to the label with a failure; go on with data";
    0x64 "list_or" ListOr(to: Label) [Any] => [List] (branch Any) 1 "go on with a list; go to the label with a failure that says it is none";
    0x65 "map_or" MapOr(to: Label) [Any] => [Map] (branch Any) 1 "go on with a map; go to the label with a failure that says it is none";
    0x66 "int_or" IntOr(to: Label) [Any] => [Int] (branch Any) 1 "go on with an integer, or text that is one; go to the label with a failure";
    0x67 "next" Next(list: ListLocal, at: IntLocal, to: Label) [] => [Data] (branch) 1 "push the item of the list at the position and advance it; go to the label past the end";

    // Calls.
    0x70 "call" Call(function: Func) [Params] => [Results] (next) 4 "run a function";
    0x71 "return" Return() [OwnResults] => [] (end) 1 "leave the function with its results";
    0x72 "stop" Stop() [Any] => [] (end) 1 "end the run with an outcome, cancelling every other task";
    0x73 "fail" Fail(message: Text) [] => [Any] (next) 2 "push a failure with this message";
    0x74 "failure_map" FailureMap() [Any] => [Map] (next) 4 "what is known of a failure, as a map: its kind, its message and the result of its call; of data, an empty one";
    0x76 "raise" Raise() [Map] => [Any] (next) 4 "make the failure that a map tells of, as failure_map writes it";
    0x77 "refuse" Refuse() [Any] => [Any] (next) 2 "say of a failure that it is about the values that were given";

    // Tasks.
    0x80 "tasks" Tasks() [] => [Tasks] (next) 2 "push a set of tasks with nothing in it";
    0x81 "fork" Fork(function: TaskFunc) [Tasks Params] => [Tasks] (next) 8 "start a function as a task of the set";
    0x82 "fork_within" ForkWithin(function: TaskFunc) [Tasks Int Params] => [Tasks] (next) 8 "start a task that fails with a timeout after so many milliseconds";
    0x83 "wait_below" WaitBelow() [Tasks Int] => [Tasks] (next) 1 "wait until fewer tasks of the set are running";
    0x84 "join_next" JoinNext(to: Label) [Tasks] => [Tasks Any] (branch) 2 "wait for the first task that was not joined yet and push its result; go to the label, without the set, when all were";
    0x85 "join_any" JoinAny(to: Label) [Tasks] => [Tasks Int Any] (branch) 2 "wait for any task that was not joined yet and push its number and result; go to the label, without the set, when all were";
    0x86 "cancel" Cancel() [Tasks] => [Tasks] (next) 4 "end what still runs in the set; its results are failures";
    0x87 "join_ready" JoinReady(to: Label) [Tasks] => [Tasks Any] (branch Tasks) 2 "push the result of the first task that was not joined yet; go to the label if it has not ended, or there is none";
    0x88 "label_tasks" LabelTasks(labels: Const) [Tasks] => [Tasks] (next) 1 "say what the tasks of the set are called: if time runs out while they are waited for, the innermost open step ends with what is known of each";

    // The outside.
    0x90 "host" Host(call: Host) [Args] => [Any] (next) 16 "ask for a call of the plan's table and push the reply";
    0x91 "host_or" HostOr(call: ShortHost, to: Label) [Args] => [Data] (branch Any) 17 "host, then jump_failed";

    // What the user sees.
    0x98 "step_begin" StepBegin(step: Step) [] => [Step] (next) 4 "say that a step starts";
    0x99 "step_skip" StepSkip(step: Step) [] => [] (next) 4 "say that a step is skipped";
    0x9a "iteration" Iteration(step: Step) [Int] => [Step] (next) 4 "say that an iteration of a step starts";
    0x9b "step_attempt" StepAttempt() [Step] => [Step] (next) 2 "say that the open step is tried again";
    0x9c "step_output" StepOutput() [Step Data] => [Step] (next) 2 "say what the open step stored";
    0x9d "step_end" StepEnd(status: Status) [Step Any] => [] (next) 4 "say that the open step ended, and how; a failure ends it as failed whatever the status says, and is forgiven unless the status is `failed`; that more steps ran than allowed never is, and the run stops";
    0x9e "warn" Warn() [Data] => [] (next) 2 "say something that is not a failure";
    0x9f "step_begin_below" StepBeginBelow(step: Step) [Any] => [Step Any] (next) 4 "say that a step starts; what is on top stays there";
    0xa0 "step_start" StepStart(step: ShortStep, to: Label) [] => [Step] (branch Step Any) 5 "step_begin, and count the step; go to the label with a failure past the limit of the plan";
    0xa1 "step_pass" StepPass(step: ShortStep, to: Label) [] => [] (jump) 5 "step_skip, then jump";
    0xa2 "step_enter" StepEnter(step: ShortStep, to: Label) [Any] => [Step] (branch Step Any) 6 "step_start, unless the top is a failure: that goes to the label with the step";
    0xa3 "store_output" StoreOutput(scope: MapLocal, name: Text) [Step Data] => [Step] (next) 4 "keep_var, then step_output";
    0xa4 "pass_unless_words" PassUnlessWords(step: ShortStep, to: Label) [Any] => [Any] (branch) 6 "step_pass if the top is false as truth_words has it; go on with anything else, and with a failure";
    0xa5 "pass_unless_emptiness" PassUnlessEmptiness(step: ShortStep, to: Label) [Any] => [Any] (branch) 6 "the same, as truth_emptiness has it";
    0xa6 "secret" Secret(name: Text) [Data] => [Data] (next) 2 "say that what is on top is secret, as the variable of this name is";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_eight_bytes() {
        assert_eq!(std::mem::size_of::<Instr>(), 8);
    }

    #[test]
    fn the_list_is_in_the_order_of_its_bytes_and_names_are_unique() {
        for pair in INSTRUCTIONS.windows(2) {
            assert!(
                pair[0].byte < pair[1].byte,
                "{} before {}",
                pair[0].mnemonic,
                pair[1].mnemonic
            );
        }
        let mut names: Vec<_> = INSTRUCTIONS.iter().map(|info| info.mnemonic).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), INSTRUCTIONS.len());
    }

    #[test]
    fn every_byte_finds_its_line_and_builds_what_it_says() {
        for info in INSTRUCTIONS {
            let found = info_of(info.byte).expect("a listed byte has a line");
            assert_eq!(found.mnemonic, info.mnemonic);
            let values: Vec<u32> = (1..=info.operands.len() as u32).collect();
            let word = Word::build(info.byte, &values).expect("the right number of operands");
            assert_eq!(word.info().byte, info.byte);
            assert_eq!(Word::from(word.instr()), word);
            assert_eq!(Word::read(word.bits()), Some(word));
            assert_eq!(word.values()[..values.len()], values);
            assert!(Word::build(info.byte, &[0; 4]).is_none());
            let wide = info.operands.iter().filter(|(_, role)| role.width() == 4);
            let (wide, count) = (wide.count(), info.operands.len());
            assert!(wide <= 1 && count <= wide + 2 || wide == 2 && count == 2);
            let all = info.rooms[..count].iter();
            let apart = all.fold(0xff, |used, room| {
                assert_eq!(used & room.put(u32::MAX), 0, "{}", info.mnemonic);
                used | room.put(u32::MAX)
            });
            assert_eq!(apart, USED[info.byte as usize]);
        }
        assert!(info_of(0).is_none());
    }
}
