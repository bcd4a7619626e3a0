//! What values come to when nobody gives any: what stands in the file, and the first turn of every
//! `repeat`. What fails then is a mistake that is there before anything runs.

use super::Lower;
use super::holes::{self, Piece};
use super::names::Env;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::Literal;
use crate::ir::evaluate::{Look, Names, No, Wrong, evaluate, made};
use crate::ir::flow::{Declared, Term, TermKind, ValueKind};
use crate::source::Span;
use rrc_vm::flow;
use rrc_vm::value::Value;

/// A file by itself: nobody gives anything.
struct Alone;

impl Names for Alone {
    fn var(&self, _: &str, default: Option<&Term>) -> Look {
        match default.is_some_and(has_holes) {
            // A default that stands as it is because its placeholders have no values.
            true => Look::Unknown,
            false => Look::Missing,
        }
    }

    /// There is a first turn; how many follow is known when it runs.
    fn turn(&self, name: &str) -> Option<Value> {
        name.starts_with("index").then_some(Value::Int(0))
    }
}

fn known(term: &Term) -> Result<Value, No> {
    evaluate(term, &Alone)
}

fn has_holes(term: &Term) -> bool {
    match &term.kind {
        TermKind::Literal(Literal::Text(text)) => {
            let mut pieces = holes::pieces(text).into_iter();
            pieces.any(|piece| matches!(piece, Piece::Hole(_)))
        }
        _ => false,
    }
}

/// A default in the form that is declared for its name, as a value that is given would be.
pub fn fitted(default: Term, name: &str, kind: &ValueKind) -> Term {
    let declared = Declared {
        name: name.to_string(),
        kind: kind.clone(),
        span: default.span,
    };
    if let TermKind::Literal(written) = &default.kind {
        let made = declared.fit(written).ok();
        // One that does not fit is said where it stands.
        return match made.as_ref().and_then(Literal::of) {
            Some(made) => Term::new(default.span, TermKind::Literal(made)),
            None => default,
        };
    }
    Term::new(
        default.span,
        TermKind::Fit {
            of: Box::new(default),
            declared: Box::new(declared),
        },
    )
}

/// Whether a value of a type can be one of another.
pub fn can_be(kind: &ValueKind, wanted: &ValueKind, name: &str, span: Span) -> bool {
    let declared = Declared {
        name: name.to_string(),
        kind: wanted.clone(),
        span,
    };
    match kind {
        ValueKind::Bool => declared.fit(&Literal::Bool(true)).is_ok(),
        ValueKind::List => declared.fit(&Literal::List(Vec::new())).is_ok(),
        ValueKind::OneOf(words) => {
            let mut words = words.iter().map(|word| Literal::Text(word.clone()));
            words.any(|word| declared.fit(&word).is_ok())
        }
        _ => true,
    }
}

impl<'a> Lower<'_, 'a> {
    /// Says that a field which is a number does not get one from the defaults.
    pub fn look_at_number(&mut self, name: &str, kind: ValueKind, term: &Term, env: &Env<'a>) {
        let declared = Declared {
            name: name.to_string(),
            kind,
            span: term.span,
        };
        let fit = Term::new(
            term.span,
            TermKind::Fit {
                of: Box::new(term.clone()),
                declared: Box::new(declared),
            },
        );
        self.look_at(&fit, env);
    }

    /// Says that a value cannot be had with the defaults alone. What a condition guards may be
    /// meant for other values.
    pub fn look_at(&mut self, term: &Term, env: &Env<'a>) {
        if !env.guarded
            && self.errors() == 0
            && let Err(No::Wrong(wrong)) = known(term)
        {
            self.unusable(wrong);
        }
    }

    /// The same for the words of a command, which must not be what no command can be given.
    pub fn look_at_words(&mut self, words: &[Term], env: &Env<'a>) {
        if env.guarded || self.errors() > 0 {
            return;
        }
        for (number, word) in words.iter().enumerate() {
            let wrong = match known(word) {
                Err(No::Wrong(wrong)) => Some(wrong),
                Err(No::Unknown) => None,
                Ok(value) => {
                    let first = (number > 0).then(|| Value::text("-"));
                    let argv = first.into_iter().chain([value]).collect();
                    match made(flow::argv(Value::list(argv)), word.span) {
                        Err(No::Wrong(wrong)) => Some(wrong),
                        _ => None,
                    }
                }
            };
            wrong.into_iter().for_each(|wrong| self.unusable(wrong));
        }
    }

    fn unusable(&mut self, wrong: Wrong) {
        // What stands in a recipe is given the values of the recipe.
        if self.in_recipe && !wrong.always {
            return;
        }
        let finding = match wrong.always {
            true => Diagnostic::new(&codes::DIVISION_BY_ZERO, wrong.span, wrong.message)
                .help("divide by something else"),
            false => Diagnostic::new(&codes::UNUSABLE_DEFAULT, wrong.span, wrong.message)
                .help("change the default, or what is made of it here"),
        };
        self.report_once(finding);
    }
}
