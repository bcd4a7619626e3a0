//! Functions and methods that are given what they cannot use.

use super::words;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::types::is_numeric;
use crate::infer::{Kind, Place, Scope, Type};
use crate::ir::{Expr, ExprKind};
use rrc_vm::isa::Builtin;

pub fn check(place: &Place<'_, '_>, _: Scope<'_, '_>, report: &mut Report) {
    let Place::Expr { expr, parts } = place else {
        return;
    };
    let ExprKind::Call { builtin, args } = &expr.kind else {
        return;
    };
    let function = builtin.info().name;
    let sides = args.iter().zip(parts.iter());
    let wrong = match builtin {
        Builtin::Len => sides.take(1).find_map(len),
        Builtin::Int | Builtin::Float => sides.take(1).find_map(number),
        Builtin::Min | Builtin::Max => sides
            .filter(|side| is_whole(side.1))
            .map(|side| Wrong::fails(side, "cannot be compared"))
            .next(),
        Builtin::Join => join(&sides.collect::<Vec<_>>()),
        Builtin::Strip
        | Builtin::LStrip
        | Builtin::RStrip
        | Builtin::Lower
        | Builtin::Upper
        | Builtin::Title
        | Builtin::StartsWith
        | Builtin::EndsWith
        | Builtin::Replace
        | Builtin::Split
        | Builtin::Count
        | Builtin::Find => sides
            .take(1)
            .filter(|side| is_whole(side.1))
            .map(|side| Wrong::fails(side, "has no text"))
            .next(),
        Builtin::Str => None,
    };
    let Some(wrong) = wrong else { return };
    let message = format!(
        "{} is {}, which {} by `{function}`",
        words::quoted(wrong.at),
        wrong.kind,
        wrong.what
    );
    let message = match wrong.what {
        "has no text" => format!(
            "{} is {}, and `{function}` needs text",
            words::quoted(wrong.at),
            wrong.kind
        ),
        _ => message,
    };
    // Another value may be given from outside.
    let severity = match wrong.fails && !wrong.assumed {
        true => Severity::Error,
        false => Severity::Warning,
    };
    report.add(
        Diagnostic::new(&codes::WRONG_ARGUMENT, expr.span, message)
            .severity(severity)
            .help(wrong.help),
    );
}

struct Wrong<'s> {
    at: &'s Expr,
    kind: String,
    what: &'static str,
    help: &'static str,
    fails: bool,
    assumed: bool,
}

impl<'s> Wrong<'s> {
    fn fails((at, kind): (&'s Expr, &Type), what: &'static str) -> Wrong<'s> {
        Wrong {
            at,
            kind: kind.word().to_string(),
            what,
            help: "read an item or a field of it",
            fails: true,
            assumed: kind.assumed,
        }
    }
}

fn is_whole(kind: &Type) -> bool {
    kind.is_only(|kind| matches!(kind, Kind::List(_) | Kind::Map(_)))
}

fn len<'s>((at, kind): (&'s Expr, &Type)) -> Option<Wrong<'s>> {
    let counts_nothing = |kind: &Kind| matches!(kind, Kind::Number | Kind::Bool);
    kind.is_only(counts_nothing).then(|| Wrong {
        help: "`len` counts characters, items or fields; for the digits of a number write `len(str(…))`",
        fails: false,
        ..Wrong::fails((at, kind), "counts as 0")
    })
}

fn number<'s>((at, kind): (&'s Expr, &Type)) -> Option<Wrong<'s>> {
    if is_whole(kind) {
        return Some(Wrong {
            help: "to count items, write `len(…)`",
            ..Wrong::fails((at, kind), "cannot be read as a number")
        });
    }
    let no_number = |kind: &Kind| kind.text().is_some_and(|text| !is_numeric(text));
    kind.is_only(no_number).then(|| Wrong {
        kind: "not a number".to_string(),
        help: "give it the text of a number",
        fails: matches!(at.kind, ExprKind::Literal(_)),
        ..Wrong::fails((at, kind), "cannot be read")
    })
}

fn join<'s>(sides: &[(&'s Expr, &Type)]) -> Option<Wrong<'s>> {
    let [separator, items, ..] = sides else {
        return None;
    };
    if is_whole(separator.1) {
        return Some(Wrong {
            help: "the text stands first: `', '.join(list)`",
            ..Wrong::fails(*separator, "has no text")
        });
    }
    items
        .1
        .is_only(|kind| !matches!(kind, Kind::List(_)))
        .then(|| Wrong {
            help: "`join` puts the items of a list together",
            ..Wrong::fails(*items, "cannot be joined")
        })
}
