//! A path that holds the newline that a step printed behind it.

use super::words;
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::{Kind, Place, Scope};

pub fn check(place: &Place<'_, '_>, _: Scope<'_, '_>, report: &mut Report) {
    let Place::Path { value, of, span } = place else {
        return;
    };
    if !of.is_only(Kind::ends_with_newline) {
        return;
    }
    let what = words::quoted(value);
    let message =
        format!("{what} ends with the newline that was printed, and that is part of the path here");
    report.add(
        Diagnostic::new(&codes::NEWLINE_IN_PATH, *span, message)
            .help("let the step that sets it print none: `printf %s` instead of `echo`, or `… | tr -d '\\n'`"),
    );
}
