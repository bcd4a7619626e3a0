//! One mistake is said once: what is said only because something else could not be read is dropped.

mod lost_block;

use crate::codes::{self, Code};
use crate::diagnostic::{Diagnostic, Report};
use crate::source::{SourceId, Sources, Span};
use rustc_hash::{FxHashMap, FxHashSet};

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

/// How many holes without quotes are said in a file that has other mistakes.
const MOST_HOLES: usize = 3;

#[derive(Default)]
struct Broken {
    /// Where the syntax of a file is wrong.
    places: Vec<Span>,
    json: bool,
}

pub fn settle(report: &mut Report, sources: &Sources) {
    lost_block::settle(report, sources);
    let mut files: FxHashMap<SourceId, Broken> = FxHashMap::default();
    for finding in &report.findings {
        let json = finding.code == &codes::JSON_SYNTAX;
        if json || finding.code == &codes::YAML_SYNTAX || finding.code == &codes::DUPLICATE_KEY {
            let broken = files.entry(finding.span.source).or_default();
            broken.places.push(finding.span);
            broken.json |= json;
        }
    }
    for broken in files.values_mut() {
        broken.places.sort_unstable();
    }
    misplaced(report);
    without_braces(report);
    if files.is_empty() {
        return;
    }
    let mut holes: FxHashMap<SourceId, usize> = FxHashMap::default();
    report.findings.retain(|finding| {
        let broken = files.get(&finding.span.source);
        let Some(broken) = broken else { return true };
        // Text that has become YAML is full of holes without quotes.
        if finding.code == &codes::UNQUOTED_HOLE {
            let said = holes.entry(finding.span.source).or_default();
            *said += 1;
            return *said <= MOST_HOLES;
        }
        !follows(finding, broken) && !is_misread(finding, broken, sources)
    });
}

/// A name that stands where it is no field is not missing as well: it is in the wrong place.
fn misplaced(report: &mut Report) {
    let mut names: FxHashMap<SourceId, FxHashSet<Box<str>>> = FxHashMap::default();
    for finding in &report.findings {
        if finding.code == &codes::UNKNOWN_FIELD {
            let names = names.entry(finding.span.source).or_default();
            names.extend(finding.about.iter().cloned());
        }
    }
    if names.is_empty() {
        return;
    }
    report.findings.retain(|finding| {
        let names = names.get(&finding.span.source);
        let mut about = finding.about.iter();
        let mut misplaced = || about.any(|name| names.is_some_and(|names| names.contains(name)));
        finding.code != &codes::UNDEFINED_VARIABLE || !misplaced()
    });
}

/// A comparison is always the same because a name in it has lost its braces, which is said of the
/// name.
fn without_braces(report: &mut Report) {
    let at = |code: &'static Code| {
        let found = report.findings.iter();
        found.filter(move |finding| finding.code == code)
    };
    if at(&codes::CONSTANT_CONDITION).next().is_none() {
        return;
    }
    let mut bare: Vec<Span> = at(&codes::NOT_A_HOLE).map(|finding| finding.span).collect();
    bare.sort_unstable();
    report.findings.retain(|finding| {
        let whole = finding.span;
        let first =
            bare.partition_point(|name| (name.source, name.start) < (whole.source, whole.start));
        let holds = bare
            .get(first)
            .is_some_and(|name| name.source == whole.source && name.end <= whole.end);
        finding.code != &codes::CONSTANT_CONDITION || !holds
    });
}

/// A script on a line that YAML cannot read, such as one with a quote too many, is not the one that
/// was meant.
fn is_misread(finding: &Diagnostic, broken: &Broken, sources: &Sources) -> bool {
    if finding.code != &codes::BROKEN_SCRIPT {
        return false;
    }
    let source = sources.get(finding.span.source);
    let line = source.line_at(finding.span.start);
    let mut places = broken.places.iter();
    places.any(|place| source.line_at(place.start) == line)
}

fn follows(finding: &Diagnostic, broken: &Broken) -> bool {
    let span = finding.span;
    let holds_one = || {
        let first = broken
            .places
            .partition_point(|place| place.start < span.start);
        let after = broken.places[first..].iter();
        let mut here = after.take_while(|place| place.start <= span.end);
        here.any(|place| place.end <= span.end)
    };
    UNREAD.contains(&finding.code)
        || (broken.json && MOVED.contains(&finding.code))
        // A value that has swallowed the lines after it is no value of its own.
        || (finding.code == &codes::WRONG_TYPE && holds_one())
}
