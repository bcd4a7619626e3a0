//! A name in `secrets` that no variable has, next to that of one: its value would be shown.
//!
//! What has no variable may be one of the environment, which is hidden by the same list, so only slips
//! are told.

use super::Survey;
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report, is_plural, is_slip};
use rustc_hash::FxHashSet;

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    let units = &survey.program.units;
    if units.iter().all(|unit| unit.secret_places.is_empty()) {
        return;
    }
    // What is secret in one recipe is so in all that it calls.
    let mut names: FxHashSet<&str> = FxHashSet::default();
    for (unit, flow) in survey.units() {
        names.extend(unit.inputs.iter().map(|input| input.name.as_str()));
        names.extend(flow.names());
    }
    let mut sorted: Vec<&str> = names.iter().copied().collect();
    sorted.sort_unstable();
    let loud = |name: &str| !name.contains(char::is_lowercase);
    let mut said = FxHashSet::default();
    for unit in units {
        for (name, span) in unit.secrets.iter().zip(&unit.secret_places) {
            if names.contains(name.as_str()) || !said.insert(*span) {
                continue;
            }
            let listed = |near: &str| unit.secrets.iter().any(|secret| secret == near);
            let near = sorted.iter().find(|near| {
                (is_slip(name, near) || is_plural(name, near))
                    // Those of the environment are written in capitals.
                    && loud(name) == loud(near)
                    && !listed(near)
            });
            if let Some(near) = near {
                let message = format!("no variable `{name}` is there to hide");
                report.add(
                    Diagnostic::new(&codes::MISSPELT_SECRET, *span, message)
                        .did_you_mean(near)
                        .fix(Fix::unsafe_(format!("write `{near}`"), *span, *near)),
                );
            }
        }
    }
}
