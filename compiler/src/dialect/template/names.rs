//! What a name stands for at one place of a template: a value that is given, a default, or what
//! `repeat` sets.
//!
//! Defaults go down from node to node and are filled in where they are used, so that a default of
//! a child changes what a default of its parent says. Only defaults are filled in; a value that
//! is given stays the text that it is.

use super::Lower;
use super::holes::{self, At, Hole, Piece, Sum};
use super::known::fitted;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::doc::Text;
use crate::ir::flow::{Arith, Term, TermKind, ValueKind};
use crate::ir::{Literal, Truth};
use crate::source::Span;
use crate::spelling::Near;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::cell::OnceCell;
use std::rc::Rc;

/// The names that `repeat` sets.
pub const REPEAT_NAMES: [&str; 4] = ["index", "prev", "next", "repeat"];
/// Names that hosts give to every template.
pub const HOST_NAMES: [&str; 5] = [
    "recipe_dir",
    "skill_dir",
    "state_dir",
    "current_model",
    "current_thinking",
];
/// How many defaults may lead to each other.
const MOST_HOPS: usize = 5;
/// How much may come of filling in defaults, in all.
pub const MOST_TERMS: usize = 200_000;

/// A default, as it was written or as it was found in the node above.
#[derive(Clone, Debug)]
pub struct Preset<'a> {
    pub value: Literal,
    /// The text, if it is one: it may have placeholders.
    pub text: Option<Text<'a>>,
    pub span: Span,
    /// The name it is for, as it stands in the file.
    pub name_span: Span,
    taken: Option<Rc<Term>>,
}

impl<'a> Preset<'a> {
    pub fn new(value: Literal, text: Option<Text<'a>>, span: Span, name_span: Span) -> Self {
        Preset {
            value,
            text,
            span,
            name_span,
            taken: None,
        }
    }
}

pub type Defaults<'a> = IndexMap<&'a str, Preset<'a>, FxBuildHasher>;

/// A declaration: `name:type=default`.
#[derive(Clone, Debug)]
pub struct Arg<'a> {
    pub name: &'a str,
    pub span: Span,
    pub kind: Option<ValueKind>,
    pub default: Option<(&'a str, Span)>,
}

pub type Args<'a> = IndexMap<&'a str, Arg<'a>, FxBuildHasher>;

/// The defaults of a node, over those of the nodes around it.
#[derive(Default)]
pub(super) struct Layer<'a> {
    own: Defaults<'a>,
    outer: Option<Rc<Layer<'a>>>,
    near: OnceCell<Near<'a>>,
}

/// What is declared.
pub struct Declarations<'a> {
    pub all: Args<'a>,
    near: OnceCell<Near<'a>>,
}

impl<'a> Declarations<'a> {
    pub fn new(all: Args<'a>) -> Declarations<'a> {
        Declarations {
            all,
            near: OnceCell::new(),
        }
    }
}

/// What is known at one place of a template.
#[derive(Clone)]
pub struct Env<'a> {
    pub(super) defaults: Option<Rc<Layer<'a>>>,
    /// What is declared here; none if everything may be given.
    pub args: Option<Rc<Declarations<'a>>>,
    /// How many `repeat` stand around this place, and how many turns they have at least.
    pub repeats: u32,
    pub turns: i64,
    /// How many the innermost has, if that is written in the file.
    pub copies: Option<i64>,
    /// Whether something ends what runs here when it takes too long.
    pub timed: bool,
    /// Whether what fails here need not end the run: it is in a branch, or is tried again.
    pub apart: bool,
    /// Whether a condition decides if what stands here runs.
    pub guarded: bool,
    /// Whether a failure that nothing is said of reaches the root: it is one of `recover`.
    pub closed: bool,
}

impl Default for Env<'_> {
    fn default() -> Self {
        Env {
            defaults: None,
            args: None,
            repeats: 0,
            turns: 1,
            copies: None,
            timed: false,
            apart: false,
            guarded: false,
            closed: false,
        }
    }
}

/// The variables of the innermost of so many repeats.
pub fn turn_names(repeats: u32) -> (String, String) {
    (format!("index#{repeats}"), format!("repeat#{repeats}"))
}

/// A name of `repeat` and the width that underscores before it ask for.
pub fn repeat_name(name: &str) -> Option<(&'static str, u8)> {
    let plain = name.trim_start_matches('_');
    let underscores = name.len() - plain.len();
    let known = REPEAT_NAMES.iter().find(|known| **known == plain)?;
    (underscores <= 6).then_some((*known, underscores as u8))
}

impl<'a> Env<'a> {
    /// Defaults of a node over those of the node around it. One that names a default of the node
    /// around it means that one, and not itself.
    pub fn with_defaults(&self, own: Defaults<'a>, lower: &mut Lower<'_, 'a>) -> Env<'a> {
        let mut own = own;
        for default in own.values_mut() {
            if let Some(text) = default.text
                && let [Piece::Hole(range)] = holes::pieces(text.text()).as_slice()
                && let Some(inner) = text.text().get(range.clone())
                && holes::is_name(inner)
                && self.holds(inner)
            {
                let span = text.span(range.clone());
                let term = self.value(inner, span, lower, &mut Vec::new());
                default.taken = Some(Rc::new(term));
                lower.use_name(inner, span);
            }
        }
        let layer = Layer {
            own,
            outer: self.defaults.clone(),
            near: OnceCell::new(),
        };
        Env {
            defaults: Some(Rc::new(layer)),
            ..self.clone()
        }
    }

    fn layers(&self) -> impl Iterator<Item = &Layer<'a>> {
        std::iter::successors(self.defaults.as_deref(), |layer| layer.outer.as_deref())
    }

    /// The default of a name that `defaults` has, here or in a node around this one.
    pub fn preset(&self, name: &str) -> Option<&Preset<'a>> {
        self.layers().find_map(|layer| layer.own.get(name))
    }

    fn holds(&self, name: &str) -> bool {
        self.preset(name).is_some() || (self.repeats > 0 && repeat_name(name).is_some())
    }

    pub fn arg(&self, name: &str) -> Option<&Arg<'a>> {
        self.args.as_ref()?.all.get(name)
    }

    /// Whether something gives the name a value when nobody else does.
    pub fn has_default(&self, name: &str) -> bool {
        self.holds(name) || self.arg(name).is_some_and(|arg| arg.default.is_some())
    }

    /// Whether the name may stand here without a default of its own.
    pub fn is_known(&self, name: &str) -> bool {
        self.args.is_none()
            || self.arg(name).is_some()
            || self.holds(name)
            || HOST_NAMES.contains(&name)
    }

    /// What to suggest for a name that is not known, of what is wanted of these and of what is.
    pub fn nearest(
        &self,
        name: &str,
        more: &[&'static str],
        wanted: impl Fn(&str) -> bool,
    ) -> Option<&'a str> {
        let near = |names: &OnceCell<Near<'a>>, best, all: &mut dyn Iterator<Item = &'a str>| {
            names
                .get_or_init(|| all.collect())
                .nearer(best, name, &wanted)
        };
        let mut best = near(&OnceCell::new(), None, &mut more.iter().copied());
        if let Some(args) = &self.args {
            best = near(&args.near, best, &mut args.all.keys().copied());
        }
        for layer in self.layers() {
            best = near(&layer.near, best, &mut layer.own.keys().copied());
        }
        best.map(|(_, name)| name)
    }

    /// The value of a name: what is given, or its default; a failure if there is neither.
    pub fn value(
        &self,
        name: &str,
        span: Span,
        lower: &mut Lower<'_, 'a>,
        path: &mut Vec<String>,
    ) -> Term {
        if self.repeats > 0
            && let Some((known, underscores)) = repeat_name(name)
        {
            return self.turn_value(known, underscores, span);
        }
        let given = Term::new(span, TermKind::Var(name.to_string()));
        let kind = self.arg(name).and_then(|arg| arg.kind.as_ref());
        match (self.default(name, span, lower, path), kind) {
            (Some(default), Some(kind)) => given.or(fitted(default, name, kind)),
            (Some(default), None) => given.or(default),
            (None, _) => given,
        }
    }

    /// Whether a name has a value whatever is given.
    pub fn is_certain(&self, name: &str) -> bool {
        let turns = self.repeats > 0 && repeat_name(name).is_some();
        turns || self.has_default(name)
    }

    /// The value of a name as it is, with the text of its default as it stands: for conditions.
    pub fn plain_value(&self, name: &str, span: Span) -> Term {
        if self.repeats > 0
            && let Some((known, underscores)) = repeat_name(name)
        {
            return self.turn_value(known, underscores, span);
        }
        let given = Term::new(span, TermKind::Var(name.to_string()));
        let default = match (self.preset(name), self.arg(name)) {
            (Some(default), _) => match &default.taken {
                Some(term) => Term::clone(term),
                None => Term::new(span, TermKind::Literal(default.value.clone())),
            },
            (None, Some(arg)) => match arg.default {
                Some((text, _)) => Term::text(span, text),
                None => Term::new(span, TermKind::Literal(Literal::Null)),
            },
            (None, None) => Term::new(span, TermKind::Literal(Literal::Null)),
        };
        given.or(default)
    }

    fn turn_value(&self, known: &str, underscores: u8, span: Span) -> Term {
        let (index, total) = turn_names(self.repeats);
        let var = |name: &str| Box::new(Term::new(span, TermKind::Turn(name.to_string())));
        let number = |int: i64| Box::new(Term::new(span, TermKind::Literal(Literal::Int(int))));
        let two = |op, left, right| Term::new(span, TermKind::Arith { op, left, right });
        let value = match known {
            "prev" => {
                let before = two(Arith::Add, var(&index), var(&total));
                let before = two(Arith::Sub, Box::new(before), number(1));
                two(Arith::Rem, Box::new(before), var(&total))
            }
            "next" => {
                let after = two(Arith::Add, var(&index), number(1));
                two(Arith::Rem, Box::new(after), var(&total))
            }
            "repeat" => *var(&total),
            _ => *var(&index),
        };
        match underscores {
            0 => value,
            _ => Term::new(
                span,
                TermKind::Pad {
                    of: Box::new(value),
                    width: underscores + 1,
                },
            ),
        }
    }

    fn default(
        &self,
        name: &str,
        span: Span,
        lower: &mut Lower<'_, 'a>,
        path: &mut Vec<String>,
    ) -> Option<Term> {
        if let Some(default) = self.preset(name) {
            lower.use_default(default.name_span);
            if let Some(taken) = &default.taken {
                return Some(Term::clone(taken));
            }
            let literal = Term::new(span, TermKind::Literal(default.value.clone()));
            return Some(match default.text {
                Some(text) => self.filled(name, text, literal, span, lower, path),
                None => literal,
            });
        }
        let (text, at) = self.arg(name)?.default?;
        let literal = Term::text(span, text);
        let text = Text::plain(text, at);
        Some(self.filled(name, text, literal, span, lower, path))
    }

    /// A default with its placeholders filled in, or as it stands if one of them has no value.
    fn filled(
        &self,
        name: &str,
        text: Text<'a>,
        literal: Term,
        span: Span,
        lower: &mut Lower<'_, 'a>,
        path: &mut Vec<String>,
    ) -> Term {
        let pieces = holes::pieces(text.text());
        let has_holes = pieces.iter().any(|piece| matches!(piece, Piece::Hole(_)));
        if !has_holes {
            return literal;
        }
        let known = path.iter().any(|above| above == name);
        if known || path.len() >= MOST_HOPS {
            lower.report_once(endless(name, text.inner(), known));
            return literal;
        }
        lower.terms += pieces.len();
        if lower.terms > MOST_TERMS {
            lower.report_once(
                Diagnostic::new(
                    &codes::DEFAULT_CYCLE,
                    text.inner(),
                    "the defaults refer to each other too often",
                )
                .help("write out what is used again and again, or pass it as one value"),
            );
            return literal;
        }
        path.push(name.to_string());
        let mut parts = Vec::with_capacity(pieces.len());
        let mut fits = true;
        for piece in pieces {
            match piece {
                Piece::Plain(range) => {
                    let plain = text.text().get(range).unwrap_or_default();
                    parts.push(Term::text(span, plain));
                }
                Piece::Hole(range) => {
                    let inner = text.text().get(range).unwrap_or_default();
                    match holes::hole(inner) {
                        Ok(hole) => parts.push(self.hole(&hole, &|_| span, lower, path)),
                        Err(_) => fits = false,
                    }
                }
            }
        }
        path.pop();
        if !fits {
            return literal;
        }
        let filled = match parts.len() {
            1 => parts.pop().unwrap_or_else(|| literal.clone()),
            _ => Term::new(span, TermKind::Text(parts)),
        };
        filled.or(literal)
    }

    /// What a placeholder comes to. `at` says where a part of it stands.
    pub fn hole(
        &self,
        hole: &Hole<'_>,
        at: &dyn Fn(std::ops::Range<usize>) -> Span,
        lower: &mut Lower<'_, 'a>,
        path: &mut Vec<String>,
    ) -> Term {
        match hole {
            Hole::Name {
                name,
                kind,
                default,
            } => {
                let span = at(0..name.len());
                lower.use_name(name, span);
                let value = self.value(name, span, lower, path);
                let value = match (value.kind, kind) {
                    // A type in the placeholder is as good as one in `args`.
                    (TermKind::OrElse { of, truth, or }, Some((word, _))) => {
                        let or = match holes::kind_of(word) {
                            Ok(kind) => Box::new(fitted(*or, name, &kind)),
                            Err(_) => or,
                        };
                        Term::new(span, TermKind::OrElse { of, truth, or })
                    }
                    (kind, _) => Term::new(span, kind),
                };
                match default {
                    Some(text) => value.or(Term::text(span, *text)),
                    None => match self.apart(name, name) {
                        Some(apart) => value.or(self.sum(&apart, at, lower, path)),
                        None => value,
                    },
                }
            }
            Hole::OrText { name, text } => {
                let span = at(0..name.len());
                lower.use_name(name, span);
                let of = self.value(name, span, lower, path);
                Term::new(
                    span,
                    TermKind::OrElse {
                        of: Box::new(of),
                        truth: Some(Truth::Flags),
                        or: Box::new(Term::text(span, *text)),
                    },
                )
            }
            Hole::Choice {
                negated,
                name,
                name_at,
                yes,
                no,
            } => {
                let span = at(name_at.clone());
                lower.use_name(name, span);
                let nothing = Term::new(span, TermKind::Literal(Literal::Null));
                let test = self.value(name, span, lower, path).or(nothing);
                let (yes, no) = if *negated { (no, yes) } else { (yes, no) };
                Term::new(
                    span,
                    TermKind::Pick {
                        test: Box::new(test),
                        truth: Truth::Flags,
                        yes: Box::new(Term::text(span, *yes)),
                        no: Box::new(Term::text(span, *no)),
                    },
                )
            }
            Hole::Item { name, at: position } => {
                let span = at(0..name.len());
                lower.use_name(name, span);
                let of = self.value(name, span, lower, path);
                let position = match position {
                    At::Number(digits) => Term::text(span, *digits),
                    At::Name(name, range) => {
                        lower.use_name(name, at(range.clone()));
                        self.value(name, at(range.clone()), lower, path)
                    }
                };
                let kind = TermKind::Item {
                    of: Box::new(of),
                    at: Box::new(position),
                };
                Term::new(span, kind)
            }
            Hole::Sum { pad, sum, text } => {
                let value = self.calculation(sum, text, at, lower, path);
                match *pad {
                    0 => value,
                    width => Term::new(
                        value.span,
                        TermKind::Pad {
                            of: Box::new(value),
                            width,
                        },
                    ),
                }
            }
        }
    }

    /// A calculation. One with a name that holds hyphens is another one if there is no such value:
    /// `repeat-index*2` takes twice the index from the total.
    fn calculation(
        &self,
        sum: &Sum<'_>,
        text: &str,
        at: &dyn Fn(std::ops::Range<usize>) -> Span,
        lower: &mut Lower<'_, 'a>,
        path: &mut Vec<String>,
    ) -> Term {
        let mut value = self.sum(sum, at, lower, path);
        let mut names = Vec::new();
        sum.names(&mut names);
        for (name, range) in names.into_iter().rev() {
            let Some(apart) = self.apart(name, text) else {
                continue;
            };
            let span = at(range);
            let given = || Term::new(span, TermKind::Var(name.to_string()));
            let apart = self.sum(&apart, at, lower, path);
            let pick = TermKind::Pick {
                test: Box::new(is_there(given())),
                truth: Truth::Flags,
                yes: Box::new(value),
                no: Box::new(given().or(apart)),
            };
            value = Term::new(span, pick);
        }
        value
    }

    /// What a text means if nobody gives the name in it that holds hyphens; none if the name is
    /// known, or nothing else can be meant.
    pub fn apart<'t>(&self, name: &str, text: &'t str) -> Option<Sum<'t>> {
        if !name.contains('-') || self.declares(name) {
            return None;
        }
        holes::apart(text, &|name| self.declares(name))
    }

    /// Whether the file itself says that there is such a value.
    fn declares(&self, name: &str) -> bool {
        self.arg(name).is_some() || self.holds(name) || HOST_NAMES.contains(&name)
    }

    fn sum(
        &self,
        sum: &Sum<'_>,
        at: &dyn Fn(std::ops::Range<usize>) -> Span,
        lower: &mut Lower<'_, 'a>,
        path: &mut Vec<String>,
    ) -> Term {
        match sum {
            Sum::Number(int) => Term::new(at(0..0), TermKind::Literal(Literal::Int(*int))),
            Sum::Name(name, range) => {
                lower.use_name(name, at(range.clone()));
                self.value(name, at(range.clone()), lower, path)
            }
            Sum::Two(op, left, right) => {
                let left = self.sum(left, at, lower, path);
                let right = self.sum(right, at, lower, path);
                // Numbers do not know where they stand.
                let span = match right.kind {
                    TermKind::Literal(_) => left.span,
                    _ => left.span.to(right.span),
                };
                Term::new(
                    span,
                    TermKind::Arith {
                        op: *op,
                        left: Box::new(left),
                        right: Box::new(right),
                    },
                )
            }
        }
    }
}

/// Whether a value is there at all.
fn is_there(value: Term) -> Term {
    let span = value.span;
    let sure = |answer| Term::new(span, TermKind::Literal(Literal::Bool(answer)));
    let pick = TermKind::Pick {
        test: Box::new(value),
        truth: Truth::Flags,
        yes: Box::new(sure(true)),
        no: Box::new(sure(true)),
    };
    Term::new(span, pick).or(sure(false))
}

fn endless(name: &str, span: Span, known: bool) -> Diagnostic {
    let message = match known {
        true => format!("the default of `{name}` refers to itself in the end"),
        false => format!("more than {MOST_HOPS} defaults lead to each other"),
    };
    Diagnostic::new(&codes::DEFAULT_CYCLE, span, message)
        .help("give one of them a value that has no placeholder")
}
