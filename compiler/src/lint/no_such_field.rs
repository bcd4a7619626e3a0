//! A field that a value of known shape does not have.

use super::words;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Fix, Report, nearest};
use crate::infer::{Kind, Place, Scope};
use crate::ir::{ExprKind, Missing};

pub fn check(place: &Place<'_, '_>, scope: Scope<'_, '_>, report: &mut Report) {
    let Place::Expr {
        expr,
        parts: [kind, ..],
    } = place
    else {
        return;
    };
    let ExprKind::Field { of, name, missing } = &expr.kind else {
        return;
    };
    let Some(kinds) = kind.kinds() else { return };
    let mut known: Vec<&str> = Vec::new();
    let mut is_map = false;
    for kind in kinds {
        let Kind::Map(shape) = kind else { continue };
        if shape.open || shape.field(name).is_some() {
            return;
        }
        is_map = true;
        known.extend(shape.fields.iter().map(|(name, _)| &**name));
    }
    if !is_map {
        return;
    }
    let what = words::quoted(of);
    let certain = !kind.assumed || scope.default(of).is_some();
    let (severity, message) = match missing {
        Missing::Fail if !certain => (Severity::Warning, format!("{what} has no field `{name}`")),
        Missing::Fail => (Severity::Error, format!("{what} has no field `{name}`")),
        Missing::Null => (
            Severity::Warning,
            format!("{what} has no field `{name}`, so this is empty"),
        ),
    };
    let finding = Diagnostic::new(&codes::NO_SUCH_FIELD, expr.span, message).severity(severity);
    report.add(match nearest(name, known.iter().copied()) {
        Some(near) => finding
            .did_you_mean(near)
            .fix(Fix::rename(name, near, expr.span)),
        None if known.is_empty() => finding.help("it has no fields at all"),
        None => finding.help(format!("it has {}", words::list(&known))),
    });
}
