//! A value that must be a number and is none.

use super::words;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::types::is_numeric;
use crate::infer::{Kind, Place, Scope};
use crate::ir::Literal;
use rrc_vm::flow::fit;
use rrc_vm::value::Value;

pub fn check(place: &Place<'_, '_>, scope: Scope<'_, '_>, report: &mut Report) {
    let Place::Integer { value, of, field } = place else {
        return;
    };
    // A script checks its numbers when it runs, and may not come to that.
    let severity = match field {
        Some(_) => Severity::Error,
        None => Severity::Warning,
    };
    let what = words::quoted(value);
    let default = scope.default(value);
    let is_number = match default {
        Some(Literal::Int(_) | Literal::Float(_)) => true,
        Some(Literal::Text(text)) => is_numeric(text),
        _ => false,
    };
    let (severity, message) = match default {
        Some(Literal::Null) => return,
        Some(number) if is_number => match field.and_then(|field| refused(number, field)) {
            Some(why) => (severity, format!("{what} cannot be used here: {why}")),
            None => return,
        },
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

/// Why a field does not take a number, as it would say when the step runs.
fn refused(number: &Literal, (name, kind): (&str, &str)) -> Option<String> {
    let wanted = [("name", name), ("kind", kind)];
    let wanted = wanted.map(|(name, word)| (name.into(), Value::text(word)));
    let wanted = Value::map(wanted.into_iter().collect());
    fit(number.value(), &wanted).err().map(|(_, why)| why)
}
