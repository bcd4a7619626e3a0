//! The one representation below the dialects.
//!
//! **Nothing here is a default.** A front end writes out every policy it relies on: each comparison
//! says by which equality, each read says what happens if there is nothing, each step says what a
//! failure does. So nothing below this line knows which dialect a recipe was written in, and the
//! same questions can be asked of every program.

pub mod evaluate;
pub mod flow;
pub mod visit;

use crate::shell;
use crate::source::{SourceId, Span};
use rrc_vm::isa::Builtin;
use rrc_vm::plan::StepKind;
use rrc_vm::value::Value;
use std::rc::Rc;
use std::sync::Arc;

/// How two values are compared: as conditions write it.
pub use crate::expr::Comparison as Compare;

/// Everything that was read, linked together. The first unit is the one that was asked for. A unit
/// that calls nothing is the same in every program that calls it.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub units: Vec<Arc<Unit>>,
}

/// One recipe or template.
#[derive(Clone, Debug)]
pub struct Unit {
    pub source: SourceId,
    pub name: String,
    /// A word for reports; nothing decides by it.
    pub dialect: &'static str,
    pub inputs: Vec<Input>,
    /// Names that are set by whoever runs the unit, and cannot be set by it.
    pub reserved: &'static [&'static str],
    /// Names that only the runner can give a value to, as far as the unit reads them.
    pub given: Vec<&'static str>,
    /// Variables that need not have a value, as the unit says.
    pub optional: Vec<(String, Span)>,
    /// Variables whose values must not be shown.
    pub secrets: Vec<String>,
    /// Where the first of them are written; those that are named from outside come behind.
    pub secret_places: Vec<Span>,
    pub limits: RunLimits,
    /// What scripts find in their environment.
    pub exports: Exports,
    pub hooks: Hooks,
    /// How fast agents are asked; what the first unit says holds for all.
    pub pace: Option<Pace>,
    pub steps: Vec<Step>,
    /// The variable that holds what the unit is for, when it is for one thing.
    pub result: Option<String>,
    /// Part of it, or of what it extends, could not be read: there may be steps and variables that
    /// nobody sees.
    pub open: bool,
}

/// How fast agents are asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// How many at once.
    pub width: Option<u32>,
    /// Milliseconds between the end of one answer and the next question.
    pub pause_ms: u64,
    /// What to do when an agent says that it is asked too often; none: it has failed.
    pub backoff: Option<Backoff>,
}

/// Pauses that grow while agents refuse to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Backoff {
    pub first_ms: u64,
    pub longest_ms: u64,
    pub growth: f64,
    /// After so many answers the pause is short again.
    pub calm: u32,
}

/// Scripts that run around each step, in a scope that also says which step it is.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    pub before: Option<Script>,
    pub after: Option<Script>,
    pub failed: Option<Script>,
}

impl Hooks {
    pub fn scripts(&self) -> impl Iterator<Item = &Script> {
        [&self.before, &self.after, &self.failed]
            .into_iter()
            .flatten()
    }
}

/// What a hook can read besides the variables: the step's id, how it ended, and why.
pub const HOOK_NAMES: [&str; 3] = ["step_id", "step_status", "step_error"];

/// The variables that the body of a `while` sees in addition.
pub const LOOP_NAMES: [&str; 2] = ["_loop_index", "_loop_iteration"];
/// The variable that says which run this is, and the texts it holds.
pub const SESSION: &str = "session";
pub const SESSION_FIELDS: [&str; 3] = ["id", "started", "project"];
/// The tags that were asked for, and those that were asked to be left out.
pub const INCLUDE_TAGS: &str = "_include_tags";
pub const EXCLUDE_TAGS: &str = "_exclude_tags";

/// A variable that has a value before the first step.
#[derive(Clone, Debug)]
pub struct Input {
    pub name: String,
    pub span: Span,
    pub default: Literal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    pub depth: u32,
    pub steps: u32,
    /// Do other runners count steps that a condition skips?
    pub skipped_elsewhere: bool,
}

/// A node, and all that wraps it: the first field is the outermost.
#[derive(Clone, Debug)]
pub struct Step {
    pub id: String,
    /// The id as it stands in the file; of a step without one, the step.
    pub span: Span,
    pub kind: StepKind,
    /// Does the step run at all? Asked once.
    pub guard: Option<Guard>,
    pub attempts: Attempts,
    /// Milliseconds for one attempt: of a process, an agent, another recipe or a sequence; nothing
    /// else has a deadline. 0 and less is none. A recipe or a sequence that fails under a deadline
    /// leaves the variables as they were.
    pub deadline: Option<Expr>,
    pub on_failure: OnFailure,
    /// What of the output is the value of the step. A sequence has the value of its last step that
    /// has one, steps at once that of the last in the order of the file, a loop see there.
    pub store: Store,
    /// What an action sets when it succeeded or, as far as `on_failure` lets it, when all attempts
    /// failed: a failed attempt sets nothing.
    pub bind: Vec<Bind>,
    pub node: Node,
}

/// A condition, and which values count as true.
#[derive(Clone, Debug)]
pub struct Guard {
    pub expr: Expr,
    pub truth: Truth,
}

/// How often to try, and how long to pause between tries. What cannot be run at all (exit codes
/// 126 and 127) is not tried again.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempts {
    pub most: u32,
    pub first_pause_ms: u64,
    pub longest_pause_ms: u64,
    pub growth: Growth,
}

impl Attempts {
    pub const ONCE: Attempts = Attempts {
        most: 1,
        first_pause_ms: 0,
        longest_pause_ms: 0,
        growth: Growth::Linear,
    };
}

/// How the pause between tries grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// By the first pause each time.
    Linear,
    /// Twofold each time.
    Doubling,
}

/// What a failure of a step does to the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Record it and go on. Does the output that there was become the value all the same?
    Continue { keep_output: bool },
    /// End the unit as if it had come to its end.
    SkipRest,
    /// End the unit with the failure.
    Stop,
}

/// How output becomes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// The value as it is.
    AsIs,
    /// The text as it is.
    Exact,
    /// Trimmed; a JSON value if all of it is JSON.
    JsonOrText,
    /// The JSON in it; no JSON fails the step, of which then the text is kept, trimmed or not.
    Json { trim: bool },
    /// The JSON in it; without, and when no attempt is left, the trimmed text, and the step counts
    /// as degraded.
    JsonOrDegrade,
}

/// A variable that a step sets.
#[derive(Clone, Debug, PartialEq)]
pub struct Bind {
    pub name: String,
    pub span: Span,
    pub read: Read,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The value of the step, see [`Store`].
    Value,
    ExitCode,
    Stderr,
    /// All that is known of how the action ended.
    Reply,
}

#[derive(Clone, Debug)]
pub enum Node {
    Seq(Vec<Step>),
    /// All at once, each on a snapshot of the variables. When all have ended, what they bind is
    /// stored in file order, but not of a branch that failed; no two of them bind one variable.
    /// The first in file order that failed, or ended the unit, decides for all.
    Par {
        branches: Vec<Step>,
        width: Option<u32>,
    },
    /// Each as soon as it can, in a scope of its own that is taken when it starts; what it binds is
    /// stored when it ends. File order is one of the orders that it may come to, and all of them
    /// give the variables the same values. After a failure nothing more starts.
    Graph(Graph),
    Each(Box<Each>),
    While(Box<While>),
    Act(Box<Action>),
}

/// Steps that wait for each other, and for nothing else; see `order` for what they wait for
/// besides what is said here.
#[derive(Clone, Debug)]
pub struct Graph {
    pub steps: Vec<Step>,
    /// A step, and the id of one before it that it waits for.
    pub after: Vec<(String, String)>,
}

/// The body once per item of a list.
#[derive(Clone, Debug)]
pub struct Each {
    pub over: Expr,
    pub item: Bind,
    /// The values of all iterations, in the order of the items; null for one that failed.
    pub collect: Option<Bind>,
    /// The value of the last iteration, which may be what a failed one wrote.
    pub last: Option<Bind>,
    /// How many at once, each on a snapshot as in [`Node::Par`]; none: one after the other,
    /// sharing variables.
    pub width: Option<u32>,
    /// Milliseconds between starts.
    pub pause_ms: u64,
    /// How long the list may be.
    pub limit: u32,
    /// The same, where only the run knows it.
    pub limit_from: Option<Expr>,
    /// Asked after each iteration, if they run one after the other.
    pub until: Option<Guard>,
    pub body: Step,
}

impl Each {
    /// The value of the last iteration where each sets it when it ends: they run in turn, and the
    /// item does not hide it.
    pub fn last_of_turns(&self) -> Option<&Bind> {
        let last = self.last.as_ref()?;
        (self.width.is_none() && last.name != self.item.name).then_some(last)
    }
}

/// The body again and again: condition, limit, body, `last`, updates in their order, `until`. While it
/// runs, `_loop_index` counts from 0 and `_loop_iteration` from 1.
#[derive(Clone, Debug)]
pub struct While {
    pub condition: Guard,
    pub until: Option<Guard>,
    pub limit: u32,
    pub update: Vec<(Bind, Expr)>,
    pub collect: Option<Bind>,
    /// As for [`Each`].
    pub last: Option<Bind>,
    pub body: Step,
}

/// What touches the outside.
#[derive(Clone, Debug)]
pub enum Action {
    Exec(Exec),
    Agent(Agent),
    Call(Call),
    /// Ask whether to go on.
    Approve(Approve),
    /// Check variables against rules; what does not hold, all of it, is the step's failure.
    Validate(Vec<Check>),
    Sleep {
        ms: Expr,
    },
    /// Commands that hand bytes to each other.
    Flow(Box<flow::Flow>),
}

/// What a variable must hold.
#[derive(Clone, Debug)]
pub struct Check {
    pub name: String,
    pub rule: String,
    pub value: Expr,
}

/// A gate.
#[derive(Clone, Debug)]
pub struct Approve {
    pub stage: String,
    pub prompt: Text,
    /// Milliseconds to wait for an answer; none waits for ever.
    pub timeout_ms: Option<u64>,
    /// The answer when time is over.
    pub default_approve: bool,
}

/// A question to an agent.
#[derive(Clone, Debug)]
pub struct Agent {
    pub agent: Option<String>,
    pub prompt: Text,
    pub mode: Option<String>,
    pub model: Option<String>,
    pub cwd: Option<Text>,
    pub env: Vec<(String, Text)>,
    /// As for [`Exec`].
    pub once: bool,
    pub staging: Staging,
}

/// Which answers of an agent all changes are staged in git after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staging {
    Never,
    Answered,
    /// Those that hold JSON: without it the step has failed.
    WithJson,
}

/// Another recipe, and the variables it is given.
#[derive(Clone, Debug)]
pub struct Call {
    pub recipe: Text,
    pub context: Vec<(String, Expr)>,
    /// Where the names of `context` stand.
    pub names: Vec<Span>,
    /// Does the recipe see all variables, or only those in `context`?
    pub inherits: bool,
    /// Do its variables become variables here, besides being the value of the step?
    pub spreads: bool,
    /// Which unit it is, once that is known: an index into the program.
    pub target: Option<usize>,
    /// As for [`Exec`], and for all that it runs.
    pub once: bool,
    /// Is an agent asked to put it right when it fails? If it says so, the step has succeeded.
    pub recovers: bool,
}

/// One process: a script in a shell.
#[derive(Clone, Debug)]
pub struct Exec {
    pub shell: Text,
    pub script: Script,
    pub env: Vec<(String, Text)>,
    pub cwd: Option<Text>,
    pub stdin: Option<Text>,
    pub exports: Exports,
    /// Bytes of each stream that are kept.
    pub limit: u64,
    pub stream: bool,
    /// Must it not be run again when it is unknown whether it ran?
    pub once: bool,
}

impl Exec {
    /// Whether nothing that the script does could read a variable that it does not name.
    pub fn is_closed(&self) -> bool {
        let shell = self.shell.as_literal().unwrap_or_default();
        let is_given = |name: &str| {
            let mut vars = self.script.vars.iter();
            vars.any(|var| var.name == name) || self.env.iter().any(|(other, _)| other == name)
        };
        // What is pasted may be anything; without that, a script is one source.
        let source = match &self.script.parts[..] {
            [] => Some(""),
            [ScriptPart::Source(source)] => Some(source.as_str()),
            _ => None,
        };
        ["bash", "sh"].contains(&shell.rsplit('/').next().unwrap_or(""))
            && source.is_some_and(|source| shell::is_closed(source, is_given))
    }
}

/// Which variables a script finds in its environment besides those its holes name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exports {
    Nothing,
    Everything,
}

/// Shell text whose holes have become parameters: source, and the values that reach it.
#[derive(Clone, Debug)]
pub struct Script {
    pub span: Span,
    pub parts: Vec<ScriptPart>,
    pub vars: Vec<ScriptVar>,
    /// Shell variables that the author names, as far as they may be variables of the recipe.
    pub mentions: Vec<Mention>,
    /// Does the script stop when it expands a variable that is not set?
    pub nounset: bool,
}

/// A shell variable in the author's own text.
#[derive(Clone, Debug)]
pub struct Mention {
    pub name: String,
    /// With the `$` and the braces, if it is expanded.
    pub span: Span,
    pub how: crate::shell::Mentioned,
}

#[derive(Clone, Debug)]
pub enum ScriptPart {
    Source(String),
    /// The value as it is, where the author asked for that or where the shell does not read it.
    Paste(Expr),
    /// The words of a value, each quoted.
    Words(Expr),
    /// A heredoc delimiter that starts no line of the body.
    Delimiter {
        base: String,
        body: Vec<ScriptPart>,
    },
}

/// A value that a script reads as a shell variable.
#[derive(Clone, Debug)]
pub struct ScriptVar {
    pub name: String,
    pub value: Expr,
    pub form: VarForm,
    /// A place where the script takes it for a path, or for the start of one.
    pub path: Option<Span>,
}

/// What a script may rely on about a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarForm {
    Text,
    /// It stands in arithmetic: anything but an integer fails the step.
    Integer,
    /// It stands where the shell takes nothing for 0.
    IntegerOrEmpty,
}

/// Text with values in it.
#[derive(Clone, Debug)]
pub struct Text {
    pub span: Span,
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug)]
pub enum Part {
    Literal(String),
    Value { expr: Expr, form: Form },
}

/// How a value looks in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Plain,
    Json,
}

impl Text {
    pub fn literal(span: Span, text: impl Into<String>) -> Text {
        Text {
            span,
            parts: vec![Part::Literal(text.into())],
        }
    }

    /// The text, if no value is in it.
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Literal(Literal),
    Var {
        name: String,
        missing: Missing,
    },
    Field {
        of: Box<Expr>,
        name: String,
        missing: Missing,
    },
    Index {
        of: Box<Expr>,
        at: Box<Expr>,
        missing: Missing,
    },
    List(Vec<Expr>),
    Map(Vec<(String, Expr)>),
    /// Seconds as milliseconds, for a limit.
    Seconds {
        of: Box<Expr>,
        /// 0 and nothing say that there is no limit.
        none: bool,
    },
    Compare {
        op: Compare,
        equality: Equality,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    Not {
        of: Box<Expr>,
        truth: Truth,
    },
    And {
        left: Box<Expr>,
        right: Box<Expr>,
        truth: Truth,
    },
    Or {
        left: Box<Expr>,
        right: Box<Expr>,
        truth: Truth,
    },
    Truth {
        of: Box<Expr>,
        truth: Truth,
    },
    Call {
        builtin: Builtin,
        args: Vec<Expr>,
    },
    Text(Text),
}

/// What reading a name or a field gives when there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Fail,
    Null,
}

/// By which rule two values are compared; see the instructions of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    NumbersFirst,
    ByType,
}

/// Which values are true; see the instructions of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    Words,
    Emptiness,
    Flags,
}

/// A value that stands in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Literal>),
    Map(Vec<(String, Literal)>),
}

impl Literal {
    /// The same as the machine would have it.
    pub fn value(&self) -> Value {
        match self {
            Literal::Null => Value::Null,
            Literal::Bool(value) => Value::Bool(*value),
            Literal::Int(value) => Value::Int(*value),
            Literal::Float(value) => Value::Float(*value),
            Literal::Text(text) => Value::text(text.as_str()),
            Literal::List(items) => Value::list(items.iter().map(Literal::value).collect()),
            Literal::Map(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| (Rc::from(name.as_str()), value.value()));
                Value::map(fields.collect())
            }
        }
    }

    /// A value as it would be written in a file; none for what no file can hold.
    pub fn of(value: &Value) -> Option<Literal> {
        Some(match value {
            Value::Null => Literal::Null,
            Value::Bool(value) => Literal::Bool(*value),
            Value::Int(value) => Literal::Int(*value),
            Value::Float(value) => Literal::Float(*value),
            Value::Text(text) => Literal::Text(text.to_string()),
            Value::List(items) => {
                Literal::List(items.iter().map(Literal::of).collect::<Option<_>>()?)
            }
            Value::Map(fields) => {
                let fields = fields.iter();
                let fields =
                    fields.map(|(name, value)| Some((name.to_string(), Literal::of(value)?)));
                Literal::Map(fields.collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    pub fn expr(self, span: Span) -> Expr {
        Expr {
            span,
            kind: ExprKind::Literal(self),
        }
    }
}
