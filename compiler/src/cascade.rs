//! One mistake is said once: what is said only because something else could not be read is dropped.

use crate::codes::{self, Code};
use crate::diagnostic::{Diagnostic, Report};
use crate::source::{SourceId, Span};
use rustc_hash::FxHashMap;

/// What is not known any more when part of a file has not been read.
const UNREAD: &[&Code] = &[
    &codes::UNUSED_INPUT,
    &codes::UNUSED_OUTPUT,
    &codes::MISSPELT_OUTPUT,
];
/// What a lost bracket makes of the fields behind it.
const MOVED: &[&Code] = &[
    &codes::NOT_A_RECIPE,
    &codes::UNKNOWN_FIELD,
    &codes::MISSING_FIELD,
    &codes::NO_COMMAND,
];

#[derive(Default)]
struct Broken {
    /// Where the syntax of a file is wrong.
    places: Vec<Span>,
    json: bool,
}

pub fn settle(report: &mut Report) {
    let mut files: FxHashMap<SourceId, Broken> = FxHashMap::default();
    for finding in &report.findings {
        let json = finding.code == &codes::JSON_SYNTAX;
        if json || finding.code == &codes::YAML_SYNTAX || finding.code == &codes::DUPLICATE_KEY {
            let broken = files.entry(finding.span.source).or_default();
            broken.places.push(finding.span);
            broken.json |= json;
        }
    }
    if files.is_empty() {
        return;
    }
    report.findings.retain(|finding| {
        let broken = files.get(&finding.span.source);
        broken.is_none_or(|broken| !follows(finding, broken))
    });
}

fn follows(finding: &Diagnostic, broken: &Broken) -> bool {
    let span = finding.span;
    let holds = |place: &Span| span.start <= place.start && place.end <= span.end;
    UNREAD.contains(&finding.code)
        || (broken.json && MOVED.contains(&finding.code))
        // A value that has swallowed the lines after it is no value of its own.
        || (finding.code == &codes::WRONG_TYPE && broken.places.iter().any(holds))
}
