//! Names that a loop stores nothing in, though a field of it says so: who reads one is told what is said of
//! the field.

use crate::codes;
use crate::diagnostic::{Diagnostic, Label, Report};
use crate::source::SourceId;
use rustc_hash::FxHashMap;

/// The first findings, as many as are `known`, were there before names were looked at.
pub(super) fn say(report: &mut Report, known: usize) {
    let (before, names) = report.findings.split_at_mut(known);
    let idle = |finding: &&Diagnostic| finding.code == &codes::IDLE_FIELD;
    let mut unstored: FxHashMap<(SourceId, Box<str>), &Diagnostic> = FxHashMap::default();
    for finding in before.iter().filter(idle) {
        for name in &finding.about {
            let name = (finding.span.source, name.clone());
            unstored.entry(name).or_insert(finding);
        }
    }
    if unstored.is_empty() {
        return;
    }
    for finding in names {
        let Some(name) = finding.about.first() else {
            continue;
        };
        // What is said of the place of a name says more.
        if finding.code != &codes::UNDEFINED_VARIABLE || !finding.labels.is_empty() {
            continue;
        }
        let name = (finding.span.source, name.clone());
        let Some(idle) = unstored.get(&name) else {
            continue;
        };
        finding.labels.push(Label {
            span: idle.span,
            message: idle.message.clone(),
        });
        finding.help.clone_from(&idle.help);
        (finding.fix, finding.meant) = (None, None);
    }
}
