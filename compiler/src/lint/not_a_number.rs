//! A value that must be a number and is none.

use super::words;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::types::is_numeric;
use crate::infer::{Kind, Place, Scope};
use crate::ir::Literal;

pub fn check(place: &Place<'_, '_>, scope: Scope<'_, '_>, report: &mut Report) {
    let Place::Integer {
        value,
        of,
        deadline,
    } = place
    else {
        return;
    };
    // A script checks its numbers when it runs, and may not come to that.
    let severity = match deadline {
        true => Severity::Error,
        false => Severity::Warning,
    };
    let what = words::quoted(value);
    let (severity, message) = match scope.default(value) {
        Some(Literal::Int(_) | Literal::Float(_) | Literal::Null) => return,
        Some(Literal::Text(text)) if is_numeric(text) => return,
        Some(default) if words::is_placeholder(default) => (
            Severity::Warning,
            format!("{what} is no number unless one is given"),
        ),
        Some(Literal::Text(_)) => (severity, format!("{what} is text that is no number")),
        Some(default) => (
            severity,
            format!("{what} is {}, not a number", words::kind(default)),
        ),
        None => {
            let wrong = |kind: &Kind| match kind {
                Kind::List(_) | Kind::Map(_) => true,
                Kind::Text(_) => kind.text().is_some_and(|text| !is_numeric(text)),
                Kind::Null | Kind::Bool | Kind::Number => false,
            };
            if !of.is_only(wrong) {
                return;
            }
            (
                Severity::Warning,
                format!("{what} is {}, not a number", of.word()),
            )
        }
    };
    report.add(
        Diagnostic::new(&codes::NOT_A_NUMBER, value.span, message)
            .severity(severity)
            .help("give it a number"),
    );
}
