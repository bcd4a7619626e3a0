//! A loop over something that is not a list.

use super::words;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::{Kind, Place, Scope};
use crate::ir::Literal;

pub fn check(place: &Place<'_, '_>, scope: Scope<'_, '_>, report: &mut Report) {
    let Place::Each { each, over } = place else {
        return;
    };
    let what = words::quoted(&each.over);
    if let Some(default) = scope.default(&each.over) {
        if matches!(default, Literal::List(_)) {
            return;
        }
        let empty = words::is_placeholder(default);
        let (severity, message) = match empty {
            true => (
                Severity::Warning,
                format!("{what} is not a list unless one is given"),
            ),
            false => (
                Severity::Error,
                format!("{what} is {}, not a list", words::kind(default)),
            ),
        };
        report.add(
            Diagnostic::new(&codes::NOT_A_LIST, each.over.span, message)
                .severity(severity)
                .help("give it a list in `context`; an empty one is `[]`"),
        );
        return;
    }
    if !over.is_only(|kind| !matches!(kind, Kind::List(_))) {
        return;
    }
    let message = format!("{what} is {}, not a list", over.word());
    let text = over.is_only(|kind| matches!(kind, Kind::Text(_)));
    let severity = match over.assumed {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let finding = Diagnostic::new(&codes::NOT_A_LIST, each.over.span, message)
        .severity(severity)
        .help(match text {
            true => "print a JSON list, and add `parse_json: true` to the step that prints it",
            false => "`foreach` goes over the items of a list",
        });
    report.add(match scope.set_at(&each.over) {
        Some(span) => finding.label(span, "it is set here"),
        None => finding,
    });
}
