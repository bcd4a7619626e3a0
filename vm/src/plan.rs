//! A program for the machine: code and the tables it points into.
//!
//! A `Plan` promises nothing; it may come from a file that anybody wrote. `verify` turns it into a
//! `Verified`, and only that runs.

use crate::isa::{Kind, Word};

/// An index into [`Plan::texts`].
pub type TextId = u32;
/// An index into [`Plan::constants`].
pub type ConstId = u32;

/// All texts of a plan, end to end: two allocations however many there are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    pub all: String,
    /// Where each text ends; it starts where the one before ends.
    pub ends: Vec<u32>,
}

impl Texts {
    pub fn get(&self, id: TextId) -> Option<&str> {
        let id = id as usize;
        let start = if id == 0 {
            0
        } else {
            *self.ends.get(id - 1)? as usize
        };
        self.all.get(start..*self.ends.get(id)? as usize)
    }

    /// Adds a text behind the others.
    pub fn add(&mut self, text: &str) -> TextId {
        self.all.push_str(text);
        self.ends.push(self.all.len() as u32);
        self.ends.len() as u32 - 1
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// A constant. Lists and maps point at a run of [`Plan::parts`], whose entries point at
/// constants *before* them, so that no constant contains itself.
#[derive(Clone, Copy, Debug)]
pub enum Const {
    Null,
    Bool(bool),
    Int(i64),
    /// Compared by bits when plans are compared.
    Float(f64),
    Text(TextId),
    /// `count` parts from `first` on, each a `ConstId`.
    List {
        first: u32,
        count: u32,
    },
    /// `count` pairs from `first` on, each a `TextId` and a `ConstId`.
    Map {
        first: u32,
        count: u32,
    },
}

impl PartialEq for Const {
    fn eq(&self, other: &Const) -> bool {
        match (*self, *other) {
            (Const::Null, Const::Null) => true,
            (Const::Bool(a), Const::Bool(b)) => a == b,
            (Const::Int(a), Const::Int(b)) => a == b,
            (Const::Float(a), Const::Float(b)) => a.to_bits() == b.to_bits(),
            (Const::Text(a), Const::Text(b)) => a == b,
            (Const::List { first, count }, Const::List { first: f, count: c })
            | (Const::Map { first, count }, Const::Map { first: f, count: c }) => {
                first == f && count == c
            }
            _ => false,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: TextId,
    /// The code is `code[start..end]`; functions stand one after the other and leave no gaps.
    pub start: u32,
    pub end: u32,
    pub params: Vec<Kind>,
    pub results: Vec<Kind>,
    /// Locals in all; the parameters are the first of them.
    pub locals: u8,
}

macro_rules! host_kinds {
    ($($byte:literal $variant:ident $word:literal [$($param:ident)*] $sentence:literal;)*) => {
        /// What can be asked of the outside.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum HostKind { $(#[doc = $sentence] $variant = $byte),* }

        impl HostKind {
            pub const ALL: &'static [HostKind] = &[$(HostKind::$variant),*];

            pub fn word(self) -> &'static str {
                match self { $(HostKind::$variant => $word),* }
            }

            /// The names of its arguments, in order.
            pub fn params(self) -> &'static [&'static str] {
                match self { $(HostKind::$variant => &[$(stringify!($param)),*]),* }
            }

            pub fn sentence(self) -> &'static str {
                match self { $(HostKind::$variant => $sentence),* }
            }

            pub fn from_byte(byte: u8) -> Option<HostKind> {
                match byte { $($byte => Some(HostKind::$variant),)* _ => None }
            }
        }
    };
}

host_kinds! {
    0 Exec "exec" [script shell argv vars ambient env cwd stdin timeout_ms limit stream once bytes]
        "run a script in a shell, or a program by its argv";
    1 Agent "agent" [agent prompt system_prompt model mode vars env cwd timeout_ms json auto_stage once pace failures]
        "ask an agent";
    2 Tool "tool" [tool arguments cwd timeout_ms] "run a tool that metadata describes";
    3 Recipe "recipe" [name context given depth] "find, compile and run a recipe whose name is known only now";
    4 Approve "approve" [stage prompt timeout_ms default] "ask whether to go on";
    5 Sleep "sleep" [ms after_turn] "wait; or until so long after the last turn of the loop began";
    6 Hook "hook" [script event vars ambient timeout_ms] "run a hook; it cannot fail the step";
    7 Validate "validate" [names rules values] "check variables against rules that need the outside: a path, a repository";
    8 Preflight "preflight" [shell cwd] "see whether a process could start: its shell and its directory are there";
}

/// One entry of the table of calls. What is not in the table cannot be asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostCall {
    pub kind: HostKind,
    /// The step it belongs to.
    pub step: u32,
    /// Bit n: argument n comes from the stack (in order); else from `fixed`.
    pub open: u16,
    /// A map constant with the arguments that are known when the plan is made.
    pub fixed: ConstId,
}

macro_rules! step_kinds {
    ($($byte:literal $variant:ident $word:literal;)*) => {
        /// What a step does, as events name it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum StepKind { $($variant = $byte),* }

        impl StepKind {
            pub const ALL: &'static [StepKind] = &[$(StepKind::$variant),*];
            pub fn word(self) -> &'static str {
                match self { $(StepKind::$variant => $word),* }
            }
            pub fn from_byte(byte: u8) -> Option<StepKind> {
                match byte { $($byte => Some(StepKind::$variant),)* _ => None }
            }
        }
    };
}

step_kinds! {
    0 Bash "bash";
    1 Agent "agent";
    2 Recipe "recipe";
    3 Command "template";
    4 Tool "tool";
    5 Loop "loop";
    6 Stage "stage";
    7 Group "group";
}

impl StepKind {
    /// Whether it only holds other steps together: its record is not the user's, and what is in
    /// it counts as standing where it stands.
    pub fn is_hidden(self) -> bool {
        matches!(self, StepKind::Stage | StepKind::Group)
    }
}

/// One step of a recipe, as the user knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepInfo {
    pub id: TextId,
    pub kind: StepKind,
    pub place: Place,
}

/// A byte range of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub source: u32,
    pub start: u32,
    pub end: u32,
}

/// From the instruction `from` on, code belongs to `place`; run-length, in the order of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanRun {
    pub from: u32,
    pub place: Place,
}

/// A file the plan was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceInfo {
    /// Its name, without the directory the plan was built in.
    pub name: TextId,
    pub hash: [u8; 32],
}

/// A variable the plan can be given from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    pub name: TextId,
    /// Its value when nobody gives one; none if somebody must.
    pub default: Option<ConstId>,
}

macro_rules! need_kinds {
    ($($byte:literal $variant:ident $word:literal;)*) => {
        /// What a plan needs from the machine it runs on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum NeedKind { $($variant = $byte),* }

        impl NeedKind {
            pub const ALL: &'static [NeedKind] = &[$(NeedKind::$variant),*];
            pub fn word(self) -> &'static str {
                match self { $(NeedKind::$variant => $word),* }
            }
            pub fn from_byte(byte: u8) -> Option<NeedKind> {
                match byte { $($byte => Some(NeedKind::$variant),)* _ => None }
            }
        }
    };
}

need_kinds! {
    0 Shell "shell";
    1 Program "program";
    2 Directory "directory";
    3 Agent "agent";
    4 Approval "approval";
    5 Tool "tool";
    6 Secret "secret";
    7 SecretOutput "secret output";
    8 Once "once";
    9 Forgives "forgives";
    10 Output "output";
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Need {
    pub kind: NeedKind,
    pub name: TextId,
    /// The step that needs it.
    pub step: u32,
}

/// How much a run may use. A command line may ask for less, never silently for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub fuel: u64,
    pub memory: u64,
    pub steps: u32,
    pub depth: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The recipe's own name.
    pub name: TextId,
    /// How the recipe was written; for reports only, the machine does not know the word.
    pub dialect: TextId,
    pub limits: Limits,
    pub texts: Texts,
    pub constants: Vec<Const>,
    pub parts: Vec<u32>,
    /// The first takes the variables (`[map]`) and gives the outcome and the variables
    /// (`[any, map]`); a run starts there.
    pub functions: Vec<Function>,
    pub code: Vec<Word>,
    pub calls: Vec<HostCall>,
    pub steps: Vec<StepInfo>,
    pub inputs: Vec<Input>,
    pub needs: Vec<Need>,
    pub spans: Vec<SpanRun>,
    pub sources: Vec<SourceInfo>,
}
