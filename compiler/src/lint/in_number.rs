//! `in` against what holds nothing.

use super::words;
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::{Kind, Place, Scope};
use crate::ir::{Compare, ExprKind};

pub fn check(place: &Place<'_, '_>, _: Scope<'_, '_>, report: &mut Report) {
    let Place::Expr {
        expr,
        parts: [_, whole],
    } = place
    else {
        return;
    };
    let ExprKind::Compare {
        op: op @ (Compare::In | Compare::NotIn),
        left,
        right,
        ..
    } = &expr.kind
    else {
        return;
    };
    if !whole.is_only(|kind| matches!(kind, Kind::Number | Kind::Bool)) {
        return;
    }
    let always = *op == Compare::NotIn;
    let message = format!(
        "{} is {}, and nothing is in it: this is always {always}",
        words::quoted(right),
        whole.word()
    );
    let finding = Diagnostic::new(&codes::IN_NUMBER, expr.span, message);
    let equal = if always { "!=" } else { "==" };
    report.add(match (words::name(left), words::name(right)) {
        (Some(left), Some(right)) => finding.help(format!(
            "`in` asks for an item of a list or a part of a text; for equality write `{left} {equal} {right}`"
        )),
        _ => finding.help("`in` asks for an item of a list or a part of a text"),
    });
}
