//! A field or an item that a value of known shape does not have.

use super::words;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Fix, Report, nearest};
use crate::expr::is_path;
use crate::infer::{Kind, Place, Scope};
use crate::ir::{Expr, ExprKind, Literal, Missing};

pub fn check(place: &Place<'_, '_>, scope: Scope<'_, '_>, report: &mut Report) {
    let Place::Expr {
        expr,
        parts: [kind, ..],
    } = place
    else {
        return;
    };
    let number;
    let (of, name, missing) = match &expr.kind {
        ExprKind::Field { of, name, missing } => (of, name, missing),
        ExprKind::Index { of, at, missing } => match &at.kind {
            // In brackets, a map is asked for a field of that name.
            ExprKind::Literal(Literal::Int(at)) if kind.is_only(is_map) => {
                number = at.to_string();
                (of, &number, missing)
            }
            ExprKind::Literal(Literal::Text(name)) if kind.is_only(is_map) => (of, name, missing),
            ExprKind::Literal(Literal::Int(at)) => {
                report.findings.extend(item(expr, of, *at, *missing, scope));
                return;
            }
            _ => return,
        },
        _ => return,
    };
    let Some(kinds) = kind.kinds() else { return };
    let mut known: Vec<&str> = Vec::new();
    let mut found = false;
    for kind in kinds {
        let Kind::Map(shape) = kind else { continue };
        if shape.open || shape.field(name).is_some() {
            return;
        }
        found = true;
        known.extend(shape.fields.iter().map(|(name, _)| &**name));
    }
    if !found {
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
    let finding =
        Diagnostic::new(&codes::NO_SUCH_FIELD, words::place(expr), message).severity(severity);
    report.add(match nearest(name, known.iter().copied()) {
        // In brackets and quotes a name may have blanks, in a path it may not.
        Some(near) if !is_path(near) => finding.did_you_mean(near),
        Some(near) => finding
            .did_you_mean(near)
            .fix(Fix::rename(name, near, words::place(expr))),
        None if known.is_empty() => finding.help("it has no fields at all"),
        None => finding.help(format!("it has {}", words::list(&known))),
    });
}

fn is_map(kind: &Kind) -> bool {
    matches!(kind, Kind::Map(_))
}

/// How long a list is may have been asked before one of its items is read, so this is never an error.
fn item(
    expr: &Expr,
    of: &Expr,
    at: i64,
    missing: Missing,
    scope: Scope<'_, '_>,
) -> Option<Diagnostic> {
    let Literal::List(items) = scope.default(of)? else {
        return None;
    };
    let from_end = usize::try_from(at.unsigned_abs()).ok()?;
    let there = match at < 0 {
        true => from_end <= items.len(),
        false => from_end < items.len(),
    };
    if there {
        return None;
    }
    let what = words::quoted(of);
    let (has, help) = match items.len() {
        0 => (
            "no items unless given".to_string(),
            "give it items in `context`",
        ),
        1 => ("one item".to_string(), "items are counted from 0"),
        count => (format!("{count} items"), "items are counted from 0"),
    };
    let outcome = match missing {
        Missing::Fail => format!("reading `[{at}]` fails"),
        Missing::Null => format!("`[{at}]` is empty"),
    };
    let message = format!("{what} has {has}, so {outcome}");
    Some(
        Diagnostic::new(&codes::NO_SUCH_FIELD, words::place(expr), message)
            .severity(Severity::Warning)
            .help(help),
    )
}
