//! A comparison of values that can never be equal, or that have no order.

use super::words;
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::infer::types::{Unequal, never_equal};
use crate::infer::{Kind, Place, Scope, Type, constant};
use crate::ir::{Compare, Expr, ExprKind, Literal};
use crate::source::Span;

pub fn check(place: &Place<'_, '_>, _: Scope<'_, '_>, report: &mut Report) {
    let Place::Expr {
        expr,
        parts: [left, right],
    } = place
    else {
        return;
    };
    let ExprKind::Compare {
        op,
        equality,
        left: first,
        right: second,
    } = &expr.kind
    else {
        return;
    };
    if constant(expr).is_some() {
        return;
    }
    let (other, why) = match op {
        Compare::Eq | Compare::Ne => (right, never_equal(left, right, *equality)),
        Compare::In | Compare::NotIn => match right.kinds() {
            Some([Kind::List(of)]) => (&**of, never_equal(left, of, *equality)),
            _ => return,
        },
        Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge => {
            no_order(expr, *op, (first, left), (second, right), report);
            return;
        }
    };
    // An empty value is how "not given" is asked for.
    let asks_for_nothing = is_nothing(left) || is_nothing(other);
    if (left.assumed || other.assumed) && asks_for_nothing {
        return;
    }
    match why {
        Some(Unequal::Newline) => {
            report.add(newline(expr, *op, (first, left), (second, right)));
        }
        Some(Unequal::Kinds) => {
            report.add(kinds(expr, *op, (first, left), (second, other)));
        }
        Some(Unequal::Texts) | None => {}
    }
}

fn is_nothing(kind: &Type) -> bool {
    kind.kinds().is_some_and(|kinds| {
        kinds
            .iter()
            .all(|kind| matches!(kind, Kind::Null) || kind.text() == Some(""))
    })
}

fn always(op: Compare) -> &'static str {
    match op {
        Compare::Ne | Compare::NotIn => "always true",
        _ => "always false",
    }
}

type Side<'s> = (&'s Expr, &'s Type);

fn newline(expr: &Expr, op: Compare, left: Side<'_>, right: Side<'_>) -> Diagnostic {
    let ends = |side: &Side<'_>| side.1.is_only(Kind::ends_with_newline);
    let (side, is_left) = match ends(&left) {
        true => (left, true),
        false => (right, false),
    };
    let what = words::quoted(side.0);
    let message = format!(
        "{what} ends with the newline that was printed, so this is {}",
        always(op)
    );
    let finding = Diagnostic::new(&codes::NEVER_EQUAL, expr.span, message);
    let finding = match words::name(side.0) {
        Some(name) => finding.help(format!("strip it: `{{{{{name}}}}}.strip()`")),
        None => finding.help("strip it with `.strip()`"),
    };
    match end_of(expr.span, side.0, is_left) {
        Some(at) => finding.fix(Fix::unsafe_("strip the newline", at, ".strip()")),
        None => finding,
    }
}

/// The place behind an operand, braces and quotes included. The tree has only the place of the
/// name, and the comparison starts, or ends, where the operand does.
fn end_of(whole: Span, operand: &Expr, is_left: bool) -> Option<Span> {
    let mut root = operand;
    while let ExprKind::Field { of, .. } | ExprKind::Index { of, .. } = &root.kind {
        root = of;
    }
    let around = match is_left {
        true => root.span.range().start.checked_sub(whole.range().start)?,
        false => whole.range().end.checked_sub(operand.span.range().end)?,
    };
    // A name, a hole, or a hole in quotes.
    if ![0, 2, 3].contains(&around) {
        return None;
    }
    let at = operand.span.range().end + around;
    Some(Span::new(whole.source, at, at))
}

fn kinds(expr: &Expr, op: Compare, left: Side<'_>, right: Side<'_>) -> Diagnostic {
    let describe = |(expr, kind): Side<'_>| match &expr.kind {
        ExprKind::Literal(Literal::Null) => "`null`".to_string(),
        ExprKind::Literal(_) => format!("{} is {}", words::quoted(expr), kind.word()),
        ExprKind::List(_) => format!("the list holds {}", kind.word()),
        _ => format!("{} is {}", words::quoted(expr), kind.word()),
    };
    let message = format!(
        "{} and {}, so this is {}",
        describe(left),
        describe(right),
        always(op)
    );
    let finding = Diagnostic::new(&codes::NEVER_EQUAL, expr.span, message);
    let list = [left.1, right.1]
        .iter()
        .any(|side| side.is_only(|kind| matches!(kind, Kind::List(_))));
    finding.help(match list {
        true => "ask for an item with `in`, or for the number of items with `len(…)`",
        false => "compare it with a value of its own kind",
    })
}

fn no_order(expr: &Expr, op: Compare, left: Side<'_>, right: Side<'_>, report: &mut Report) {
    let whole = |side: &Side<'_>| {
        side.1
            .is_only(|kind| matches!(kind, Kind::List(_) | Kind::Map(_)))
    };
    let Some(side) = [left, right].into_iter().find(whole) else {
        return;
    };
    let what = words::quoted(side.0);
    let message = format!("{what} is {}, which has no order", side.1.word());
    let finding = Diagnostic::new(&codes::NEVER_EQUAL, expr.span, message);
    report.add(match words::name(side.0) {
        Some(name) => finding.help(format!(
            "to compare the number of items, write `len({name}) {} …`",
            op.word()
        )),
        None => finding.help("to compare the number of items, write `len(…)`"),
    });
}
