//! What the values of a template come to before it runs, as far as somebody knows its names.

use super::flow::{Arith, Term, TermKind};
use crate::source::Span;
use rrc_vm::flow::{self, Made};
use rrc_vm::policy::truth_flags;
use rrc_vm::text::{kind_word, render};
use rrc_vm::value::Value;

/// What is known of a name.
pub enum Look {
    Value(Value),
    /// It may have a value.
    Unknown,
    /// It has none.
    Missing,
}

/// Who knows names.
pub trait Names {
    /// A variable, and what stands for it if it has no value.
    fn var(&self, name: &str, default: Option<&Term>) -> Look;

    /// What a repetition sets.
    fn turn(&self, name: &str) -> Option<Value>;
}

/// Why there is no value.
pub enum No {
    /// It depends on what is given.
    Unknown,
    Wrong(Wrong),
}

/// What is wrong with a value that is known, and where it is read.
pub struct Wrong {
    pub message: String,
    pub span: Span,
    /// Whether it is so whatever is given: a division by what is zero in the first turn.
    pub always: bool,
}

fn wrong(message: impl Into<String>, span: Span) -> No {
    No::Wrong(Wrong {
        message: message.into(),
        span,
        always: false,
    })
}

pub fn made(made: Made, span: Span) -> Result<Value, No> {
    made.map_err(|(_, message)| wrong(message, span))
}

/// What a value comes to.
pub fn evaluate(term: &Term, names: &impl Names) -> Result<Value, No> {
    let known = |term: &Term| evaluate(term, names);
    let span = term.span;
    match &term.kind {
        TermKind::Literal(literal) => Ok(literal.value()),
        TermKind::Var(name) => match names.var(name, None) {
            Look::Value(value) => Ok(value),
            Look::Unknown | Look::Missing => Err(No::Unknown),
        },
        TermKind::Turn(name) => names.turn(name).ok_or(No::Unknown),
        TermKind::OrElse { of, truth, or } => {
            let of = match &of.kind {
                TermKind::Var(name) => match names.var(name, Some(or)) {
                    Look::Value(value) => Ok(value),
                    Look::Unknown => Err(No::Unknown),
                    Look::Missing => return known(or),
                },
                _ => known(of),
            };
            match of {
                Ok(value) if truth.is_none() || truth_flags(&value) => Ok(value),
                Ok(_) => known(or),
                Err(No::Unknown) => Err(No::Unknown),
                Err(first) => known(or).map_err(|_| first),
            }
        }
        TermKind::Pick { test, yes, no, .. } => match truth_flags(&known(test)?) {
            true => known(yes),
            false => known(no),
        },
        TermKind::Item { of, at } => made(flow::item(&known(of)?, &known(at)?), span),
        TermKind::Length(of) => match known(of)? {
            Value::List(items) => Ok(Value::Int(items.len() as i64)),
            other => Err(wrong(format!("{} is not a list", kind_word(&other)), span)),
        },
        TermKind::Arith { op, left, right } => arith(*op, left, right, span, names),
        TermKind::Pad { of, width } => {
            let text = flow::pad(integer(of, names)?, usize::from(*width));
            Ok(Value::text(text))
        }
        TermKind::Text(parts) => {
            let mut text = Ok(String::new());
            for part in parts {
                text = match (text, known(part)) {
                    (Ok(mut text), Ok(part)) => {
                        text.push_str(&render(&part));
                        Ok(text)
                    }
                    (Err(No::Wrong(wrong)), _) | (_, Err(No::Wrong(wrong))) => {
                        Err(No::Wrong(wrong))
                    }
                    _ => Err(No::Unknown),
                };
            }
            text.map(Value::text)
        }
        TermKind::Fit { of, declared } => {
            made(flow::fit(known(of)?, &declared.wanted().value()), span)
        }
    }
}

/// Whether what is given decides about a value.
fn reads_values(term: &Term) -> bool {
    matches!(term.kind, TermKind::Var(_)) || term.parts().into_iter().any(reads_values)
}

fn integer(term: &Term, names: &impl Names) -> Result<i64, No> {
    let value = evaluate(term, names)?;
    flow::integer(&value).ok_or_else(|| {
        let shown = match &value {
            Value::Text(_) | Value::Float(_) => format!("`{}`", flow::shown(&render(&value))),
            other => kind_word(other).to_string(),
        };
        wrong(format!("{shown} is not an integer"), term.span)
    })
}

fn arith(
    op: Arith,
    left: &Term,
    right: &Term,
    span: Span,
    names: &impl Names,
) -> Result<Value, No> {
    let always = !reads_values(right);
    let (left, right) = (integer(left, names), integer(right, names));
    if matches!(op, Arith::Div | Arith::Rem) && matches!(right, Ok(0)) {
        return Err(No::Wrong(Wrong {
            message: "this divides by zero".to_string(),
            span,
            always,
        }));
    }
    let (left, right) = match (left, right) {
        (Ok(left), Ok(right)) => (left, right),
        (Err(No::Wrong(wrong)), _) | (_, Err(No::Wrong(wrong))) => return Err(No::Wrong(wrong)),
        _ => return Err(No::Unknown),
    };
    let result = op.apply(left, right);
    let result = result.map(Value::Int);
    result.ok_or_else(|| wrong("the result does not fit into 64 bits", span))
}
