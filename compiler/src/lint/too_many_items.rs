//! A loop over a list of the file that is longer than the loop allows.

use super::words;
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::{Place, Scope};
use crate::ir::Literal;

pub fn check(place: &Place<'_, '_>, scope: Scope<'_, '_>, report: &mut Report) {
    let Place::Each { each, .. } = place else {
        return;
    };
    let Some(Literal::List(items)) = scope.default(&each.over) else {
        return;
    };
    let limit = match &each.limit_from {
        None => i64::from(each.limit),
        Some(limit) => match scope.default(limit) {
            // Another is no limit, which is said of it.
            Some(Literal::Int(limit)) if *limit > 0 => *limit,
            _ => return,
        },
    };
    let count = items.len();
    if i64::try_from(count).is_ok_and(|count| count <= limit) {
        return;
    }
    let message = format!(
        "{} has {count} items, and `max_iterations` is {limit}",
        words::quoted(&each.over)
    );
    report.add(
        Diagnostic::new(&codes::TOO_MANY_ITEMS, each.over.span, message)
            .help(format!("set `max_iterations: {count}` or more on the step")),
    );
}
