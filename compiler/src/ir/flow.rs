//! Commands that hand bytes to each other: one after the other, side by side, again and again.
//!
//! A flow is an action like any other: it has values, an outcome and a result. What it is made of
//! reads values only and never what a command wrote, so everything that can be wrong with the
//! values is found before the first command starts.

use super::{Expr, Literal, Text, Truth};
use crate::source::Span;
use rrc_vm::flow::{Made, fit};

/// A whole flow, and what it asks of the values it is given.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Values that are brought into a form when they are given.
    pub declared: Vec<Declared>,
    /// Names that the flow sets itself and nobody may give.
    pub reserved: Vec<String>,
    /// The variables that must be there, as whoever checks names wants to see them.
    pub reads: Vec<Expr>,
    /// Those that are read if they are there.
    pub asks: Vec<Expr>,
    pub differences: Vec<Difference>,
    pub around: Around,
    pub root: Stage,
    /// What the result names besides what was written; none if that is all.
    pub output: Option<Term>,
    /// The file that it is yet to be read from, and where that is said.
    pub from: Option<(String, Span)>,
}

impl Flow {
    /// A flow that stands in a file of its own.
    pub fn of_file(name: String, span: Span) -> Flow {
        Flow {
            declared: Vec::new(),
            reserved: Vec::new(),
            reads: Vec::new(),
            asks: Vec::new(),
            differences: Vec::new(),
            around: Around::default(),
            root: Stage::plain(&name, span, Work::Seq(Vec::new())),
            output: None,
            from: Some((name, span)),
        }
    }
}

/// A variable that must be there, or all those that its name is the difference of: `index-1`.
#[derive(Clone, Debug)]
pub struct Difference {
    pub whole: Expr,
    pub parts: Vec<String>,
}

/// What every command of a flow finds around it.
#[derive(Clone, Debug, Default)]
pub struct Around {
    pub env: Vec<(String, Text)>,
    pub cwd: Option<Text>,
    /// Must none of them run again when it is unknown whether it ran?
    pub once: bool,
}

/// A value, and the form it must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    pub name: String,
    pub kind: ValueKind,
    pub span: Span,
}

/// The form of a value; see the instruction `fit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Any form; numbers are written as they usually are.
    Any,
    Text,
    Int,
    Number,
    Bool,
    List,
    OneOf(Vec<String>),
    /// Milliseconds; 0 is no limit.
    Duration,
    /// A whole number from 1.
    Count,
    /// The same; nothing is 1.
    Tries,
}

impl Declared {
    /// What the instruction `fit` is told.
    pub fn wanted(&self) -> Literal {
        let text = |text: &str| Literal::Text(text.to_string());
        let mut wanted = vec![
            ("name".to_string(), text(&self.name)),
            ("kind".to_string(), text(self.kind.word())),
        ];
        if let ValueKind::OneOf(words) = &self.kind {
            let words = words.iter().map(|word| text(word)).collect();
            wanted.push(("of".to_string(), Literal::List(words)));
        }
        Literal::Map(wanted)
    }

    /// What `fit` makes of a value that is written in the file.
    pub fn fit(&self, literal: &Literal) -> Made {
        fit(literal.value(), &self.wanted().value())
    }
}

impl ValueKind {
    pub fn word(&self) -> &'static str {
        match self {
            ValueKind::Any => "any",
            ValueKind::Text => "text",
            ValueKind::Int => "int",
            ValueKind::Number => "number",
            ValueKind::Bool => "bool",
            ValueKind::List => "array",
            ValueKind::OneOf(_) => "enum",
            ValueKind::Duration => "duration",
            ValueKind::Count => "count",
            ValueKind::Tries => "tries",
        }
    }
}

/// Work, and all that wraps it: the first field is the outermost.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Where it stands in the file, in words.
    pub id: String,
    pub span: Span,
    /// Does it run at all? If not, what came in goes out.
    pub guard: Option<Term>,
    /// Milliseconds to wait before it starts.
    pub pause: Option<Term>,
    /// Milliseconds: for each attempt of a command, for all attempts of anything else.
    pub deadline: Option<Term>,
    pub tries: Option<Tries>,
    /// What its failure does, at least.
    pub scope: Scope,
    /// What it is called among branches; none if by its number.
    pub label: Option<String>,
    pub work: Work,
}

impl Stage {
    /// One that does its work and nothing else.
    pub fn plain(id: &str, span: Span, work: Work) -> Stage {
        Stage {
            id: id.to_string(),
            span,
            guard: None,
            pause: None,
            deadline: None,
            tries: None,
            scope: Scope::Continue,
            label: None,
            work,
        }
    }
}

/// How often to try, and what to do between tries. Each try is given what the first was given.
#[derive(Clone, Debug)]
pub struct Tries {
    pub most: Term,
    /// Runs after a failed try that is not the last; reads what that try wrote. Its failure ends
    /// the tries, unless its own scope is to continue.
    pub recover: Option<Box<Stage>>,
}

/// How far a failure reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Nowhere: it counts, and what follows reads nothing.
    Continue,
    /// To the nearest branch of stages side by side, or to the end of the flow.
    Branch,
    /// To the end of the flow.
    Root,
}

#[derive(Clone, Debug)]
pub enum Work {
    /// A command by its words, the first of which is the program. No shell reads them.
    Run {
        words: Vec<Term>,
        limit: u64,
    },
    /// The stage inside; its failure is the failure of this one.
    Inside(Box<Stage>),
    /// One after the other, each reading what the one before wrote.
    Seq(Vec<Stage>),
    /// All at once, each reading the same. What they write is put together under headers.
    Par(Vec<Stage>),
    Times(Box<Times>),
}

/// The most turns a stage may have, those of all stages around it counted.
pub const MOST_TURNS: i32 = 100_000;

/// What to say of more; `alone` if no other stage stands around it that has turns.
pub fn too_many(alone: bool) -> String {
    match alone {
        true => format!("`repeat` is more than the {MOST_TURNS} that are allowed"),
        false => format!(
            "`repeat` and those around it come to more than the {MOST_TURNS} turns that are allowed"
        ),
    }
}

/// A stage so many times, one after the other or all at once.
#[derive(Clone, Debug)]
pub struct Times {
    pub count: Term,
    /// The variables that hold the number of the turn, from 0, and how many there are.
    pub index: String,
    pub total: String,
    /// How many turns those around this one have, by the variables that hold it.
    pub around: Vec<String>,
    pub at_once: bool,
    /// What the failure of the only turn does, at least, if there is one and they are not at once.
    pub alone: Scope,
    pub body: Stage,
}

/// A value that is made of values.
#[derive(Clone, Debug)]
pub struct Term {
    pub span: Span,
    pub kind: TermKind,
}

#[derive(Clone, Debug)]
pub enum TermKind {
    Literal(Literal),
    /// A value by its name; a failure if there is none.
    Var(String),
    /// What [`Times`] sets, by its name.
    Turn(String),
    /// The first; the second if the first is a failure or, where a truth is named, not true. If
    /// both are failures, the first one.
    OrElse {
        of: Box<Term>,
        truth: Option<Truth>,
        or: Box<Term>,
    },
    Pick {
        test: Box<Term>,
        truth: Truth,
        yes: Box<Term>,
        no: Box<Term>,
    },
    /// An item of a list, by its position from 0.
    Item {
        of: Box<Term>,
        at: Box<Term>,
    },
    /// How many items a list has.
    Length(Box<Term>),
    Arith {
        op: Arith,
        left: Box<Term>,
        right: Box<Term>,
    },
    /// An integer with so many digits at least.
    Pad {
        of: Box<Term>,
        width: u8,
    },
    /// All of them as one text.
    Text(Vec<Term>),
    /// A value in the form that is declared for it.
    Fit {
        of: Box<Term>,
        declared: Box<Declared>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl Arith {
    /// The result, if it fits; nothing is divided by zero.
    pub fn apply(self, left: i64, right: i64) -> Option<i64> {
        match self {
            Arith::Add => left.checked_add(right),
            Arith::Sub => left.checked_sub(right),
            Arith::Mul => left.checked_mul(right),
            Arith::Div => left.checked_div(right),
            Arith::Rem if right == 0 => None,
            Arith::Rem => Some(left.wrapping_rem(right)),
        }
    }
}

impl Term {
    pub fn text(span: Span, text: impl Into<String>) -> Term {
        Term {
            span,
            kind: TermKind::Literal(Literal::Text(text.into())),
        }
    }

    pub fn new(span: Span, kind: TermKind) -> Term {
        Term { span, kind }
    }

    /// What it is made of.
    pub fn parts(&self) -> Vec<&Term> {
        match &self.kind {
            TermKind::Literal(_) | TermKind::Var(_) | TermKind::Turn(_) => Vec::new(),
            TermKind::OrElse { of, or, .. } => vec![of, or],
            TermKind::Pick { test, yes, no, .. } => vec![test, yes, no],
            TermKind::Item { of, at } => vec![of, at],
            TermKind::Arith { left, right, .. } => vec![left, right],
            TermKind::Length(of) | TermKind::Pad { of, .. } | TermKind::Fit { of, .. } => vec![of],
            TermKind::Text(parts) => parts.iter().collect(),
        }
    }

    /// Whether it depends on what is given whether there is a value at all.
    pub fn may_fail(&self) -> bool {
        match &self.kind {
            TermKind::Literal(_) | TermKind::Turn(_) => false,
            TermKind::Var(_)
            | TermKind::Item { .. }
            | TermKind::Length(_)
            | TermKind::Fit { .. } => true,
            // When the first fails there is the second.
            TermKind::OrElse { or, .. } => or.may_fail(),
            TermKind::Pick { test, yes, no, .. } => {
                test.may_fail() || yes.may_fail() || no.may_fail()
            }
            TermKind::Arith { .. } => !self.is_small(),
            TermKind::Pad { of, .. } => of.may_fail() || !self.is_small(),
            TermKind::Text(parts) => parts.iter().any(Term::may_fail),
        }
    }

    /// Whether it may be a text that no command can be given, though no value by itself is one.
    pub fn may_hold_nul(&self) -> bool {
        match &self.kind {
            TermKind::Literal(Literal::Text(text)) => text.contains('\0'),
            TermKind::Literal(_)
            | TermKind::Turn(_)
            | TermKind::Length(_)
            | TermKind::Arith { .. }
            | TermKind::Pad { .. }
            | TermKind::Var(_) => false,
            TermKind::Item { .. } => true,
            TermKind::OrElse { of, or, .. } => of.may_hold_nul() || or.may_hold_nul(),
            TermKind::Pick { yes, no, .. } => yes.may_hold_nul() || no.may_hold_nul(),
            TermKind::Text(parts) => parts.iter().any(Term::may_hold_nul),
            TermKind::Fit { of, .. } => of.may_hold_nul(),
        }
    }

    /// Whether it is a number that is made of the numbers of turns in a way that cannot overflow:
    /// there are not so many turns.
    fn is_small(&self) -> bool {
        const SMALL: std::ops::Range<i64> = 0..1 << 32;
        match &self.kind {
            TermKind::Literal(Literal::Int(int)) => SMALL.contains(int),
            TermKind::Turn(_) => true,
            TermKind::Pad { of, .. } => of.is_small(),
            TermKind::Arith { op, left, right } => {
                let fits = match op {
                    Arith::Add | Arith::Sub => true,
                    // There is at least one turn.
                    Arith::Rem => {
                        matches!(&right.kind, TermKind::Turn(name) if name.starts_with("repeat"))
                    }
                    Arith::Mul | Arith::Div => false,
                };
                fits && left.is_small() && right.is_small()
            }
            _ => false,
        }
    }

    pub fn or(self, or: Term) -> Term {
        Term {
            span: self.span,
            kind: TermKind::OrElse {
                of: Box::new(self),
                truth: None,
                or: Box::new(or),
            },
        }
    }
}

impl Stage {
    /// Whether the stage is one command.
    pub fn is_command(&self) -> bool {
        matches!(self.work, Work::Run { .. })
    }
}

/// The stage and all in it, those that recover included, outermost first.
pub fn stages<'a>(stage: &'a Stage, visit: &mut dyn FnMut(&'a Stage)) {
    visit(stage);
    let recover = stage
        .tries
        .as_ref()
        .and_then(|tries| tries.recover.as_deref());
    if let Some(recover) = recover {
        stages(recover, visit);
    }
    match &stage.work {
        Work::Run { .. } => {}
        Work::Inside(inner) => stages(inner, visit),
        Work::Seq(all) | Work::Par(all) => all.iter().for_each(|stage| stages(stage, visit)),
        Work::Times(times) => stages(&times.body, visit),
    }
}
