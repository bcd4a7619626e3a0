//! A field of something that has no fields.

use super::words;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::{Kind, Place, Scope};
use crate::ir::{Expr, ExprKind, Literal, Missing};
use rrc_vm::isa::{BUILTINS, BuiltinInfo, Style};

pub fn check(place: &Place<'_, '_>, scope: Scope<'_, '_>, report: &mut Report) {
    let Place::Expr { expr, parts } = place else {
        return;
    };
    let (ExprKind::Field { of, missing, .. } | ExprKind::Index { of, missing, .. }, [kind, ..]) =
        (&expr.kind, parts)
    else {
        return;
    };
    let default = scope.default(of);
    if *missing == Missing::Fail && default.is_some_and(words::is_placeholder) {
        let (what, Some(read)) = (words::quoted(of), words::name(expr)) else {
            return;
        };
        let message = format!("{what} is empty unless given, and then `{read}` fails");
        report.add(
            Diagnostic::new(&codes::FIELD_OF_TEXT, expr.span, message)
                .severity(Severity::Warning)
                .help("give it a map with that field in `context`"),
        );
        return;
    }
    let by_name = match &expr.kind {
        ExprKind::Index { at, .. } => is_word(at),
        _ => true,
    };
    let holds_none = |kind: &Kind| match kind {
        Kind::Map(_) => false,
        Kind::List(_) => by_name,
        Kind::Null | Kind::Bool | Kind::Number | Kind::Text(_) => true,
    };
    if !kind.is_only(holds_none) {
        return;
    }
    let what = words::quoted(of);
    let (severity, outcome) = match missing {
        Missing::Fail if kind.assumed && default.is_none() => (Severity::Warning, "has no fields"),
        Missing::Fail => (Severity::Error, "has no fields"),
        Missing::Null => (Severity::Warning, "has no fields, so this is always empty"),
    };
    let message = format!("{what} is {} and {outcome}", kind.word());
    let finding =
        Diagnostic::new(&codes::FIELD_OF_TEXT, words::place(expr), message).severity(severity);
    let list = kind.is_only(|kind| matches!(kind, Kind::List(_)));
    let text = kind.is_only(|kind| matches!(kind, Kind::Text(_)));
    let finding = match scope.set_at(of) {
        Some(span) => finding.label(span, "it is set here"),
        None => finding,
    };
    report.add(if let Some(help) = meant(expr, list, default.is_some()) {
        finding.help(help)
    } else if default.is_some() {
        finding.help("make it a map in `context`, or read it whole")
    } else if let (true, Some(read)) = (text, words::name(expr)) {
        finding.help(format!(
            "what a step prints is stored as text, also if it is JSON: add `parse_json: true` to \
             the step that sets it, so that there is a `{read}`"
        ))
    } else if list {
        finding.help("read an item of it, such as `[0]`, or go over it with `foreach`")
    } else {
        finding.help("read it whole")
    });
}

/// A text that is not the number of an item.
fn is_word(at: &Expr) -> bool {
    matches!(&at.kind, ExprKind::Literal(Literal::Text(text)) if text.trim().parse::<i64>().is_err())
}

/// What reads an item or asks a value something in other languages.
fn meant(expr: &Expr, list: bool, written: bool) -> Option<String> {
    let ExprKind::Field { of, name, .. } = &expr.kind else {
        return None;
    };
    let value = words::name(of)?;
    if list && name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("an item is `{value}[{name}]`"));
    }
    let counts = matches!(name.as_str(), "length" | "len" | "size" | "count");
    if counts && (list || written) {
        return Some("in a condition `len(…)` counts items and characters".to_string());
    }
    let method = |known: &&BuiltinInfo| known.style == Style::Method && known.name == name;
    let known = BUILTINS.iter().find(method).filter(|_| written)?;
    Some(format!(
        "in a condition it is called with parentheses: `.{}(…)`",
        known.name
    ))
}
