//! What was found in many files, as one: a file that is checked and called is one file, and what is
//! found in it both times is said once.

use super::bounds::Row;
use super::one::Outcome;
use rrc_compiler::diagnostic::Diagnostic;
use rrc_compiler::source::{Source, SourceId, Sources};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

#[derive(Default)]
pub struct Merged {
    pub sources: Sources,
    pub findings: Vec<Diagnostic>,
}

/// What a recipe may read depends on who calls it. Where its callers are checked too, they know,
/// and which names it would miss if it stood alone does not matter.
pub fn by_callers(mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
    let mut called = Called::by(&outcomes);
    for outcome in &mut outcomes {
        let Some((main, source)) = outcome.sources.iter().next() else {
            continue;
        };
        if called.has(&source.name) {
            outcome
                .findings
                .retain(|finding| finding.span.source != main || !is_about_names(finding));
        }
    }
    outcomes
}

pub fn key(finding: &Diagnostic) -> Said {
    (finding.code.code, finding.message.clone())
}

/// Whether it depends on what a recipe is given.
pub fn is_about_names(finding: &Diagnostic) -> bool {
    finding.code.code.starts_with("RRC02")
}

/// A finding, wherever it stands.
pub type Said = (&'static str, String);

/// The files that others call, and what the callers say about names in them.
#[derive(Default)]
pub struct Called {
    places: HashMap<PathBuf, HashSet<Said>>,
    directories: Directories,
}

impl Called {
    pub fn by(outcomes: &[Outcome]) -> Called {
        // One is called by many; its place is asked for once.
        let mut names: HashMap<&str, HashSet<Said>> = HashMap::new();
        for outcome in outcomes {
            for (_, source) in outcome.sources.iter().skip(1) {
                names.entry(&source.name).or_default();
            }
            // The first source is the caller itself.
            let inside = |f: &&Diagnostic| f.span.source != SourceId(0) && is_about_names(f);
            for finding in outcome.findings.iter().filter(inside) {
                let place = outcome.sources.get(finding.span.source);
                let said = names.entry(&place.name).or_default();
                said.insert(key(finding));
            }
        }
        let mut called = Called::default();
        for (name, said) in names {
            let place = called.directories.place(name);
            called.places.entry(place).or_default().extend(said);
        }
        called
    }

    pub fn has(&mut self, name: &str) -> bool {
        self.said(name).is_some()
    }

    /// What callers say about names in a file; none if nobody calls it.
    pub fn said(&mut self, name: &str) -> Option<&HashSet<Said>> {
        match self.places.is_empty() {
            true => None,
            false => self.places.get(&self.directories.place(name)),
        }
    }
}

pub fn merge(outcomes: Vec<Outcome>) -> (Merged, Vec<Row>) {
    let mut merged = Merged::default();
    let mut bounds = Vec::new();
    // Files that were asked for come first, under the names they were asked for by.
    let mut rest = Vec::new();
    for outcome in outcomes {
        let mut sources = outcome.sources.into_all();
        let others = sources.split_off(sources.len().min(1));
        let main = sources
            .into_iter()
            .next()
            .map(|main| merged.sources.add(main));
        bounds.extend(outcome.bounds);
        rest.push((main, others, outcome.findings));
    }
    let mut places = Places::default();
    for (main, others, mut findings) in rest {
        let mut ids: Vec<Option<SourceId>> = vec![None; others.len()];
        let mut id = |old: SourceId, merged: &mut Sources| -> SourceId {
            let top = SourceId(0);
            let Some(index) = (old.0 as usize).checked_sub(1) else {
                return main.unwrap_or(top);
            };
            match (ids.get(index).copied().flatten(), others.get(index)) {
                (Some(id), _) => id,
                (None, Some(source)) => {
                    let id = places.find(source, merged);
                    ids[index] = Some(id);
                    id
                }
                (None, None) => main.unwrap_or(top),
            }
        };
        for finding in &mut findings {
            for span in finding.spans_mut() {
                span.source = id(span.source, &mut merged.sources);
            }
        }
        merged.findings.extend(findings);
    }
    merged
        .findings
        .sort_by(|a, b| (a.span, a.code.code, &a.message).cmp(&(b.span, b.code.code, &b.message)));
    merged
        .findings
        .dedup_by(|a, b| (a.span, a.code, &a.message) == (b.span, b.code, &b.message));
    (merged, bounds)
}

/// Where files are, however they were named: most are in few directories, whose places are known
/// after the first of them.
#[derive(Default)]
struct Directories {
    known: HashMap<PathBuf, Option<PathBuf>>,
}

impl Directories {
    fn place(&mut self, name: &str) -> PathBuf {
        self.real(Path::new(name)).unwrap_or_else(|| name.into())
    }

    fn real(&mut self, path: &Path) -> Option<PathBuf> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return std::fs::canonicalize(path).ok();
        };
        if std::fs::symlink_metadata(path).ok()?.is_symlink() {
            return std::fs::canonicalize(path).ok();
        }
        let directory = match directory.as_os_str().is_empty() {
            true => Path::new("."),
            false => directory,
        };
        let known = match self.known.get(directory) {
            Some(known) => known,
            None => {
                let real = std::fs::canonicalize(directory).ok();
                self.known.entry(directory.to_path_buf()).or_insert(real)
            }
        };
        Some(known.as_ref()?.join(name))
    }
}

/// Where the files are that have been merged, known once it is asked for.
#[derive(Default)]
struct Places {
    directories: Directories,
    known: Option<HashMap<PathBuf, SourceId>>,
}

impl Places {
    /// The same file with the same text, or a new source.
    fn find(&mut self, source: &Source, merged: &mut Sources) -> SourceId {
        let directories = &mut self.directories;
        let known = self.known.get_or_insert_with(|| {
            let all = merged.iter();
            all.map(|(id, source)| (directories.place(&source.name), id))
                .collect()
        });
        let own = directories.place(&source.name);
        match known.get(&own) {
            Some(id) if merged.get(*id).text == source.text => *id,
            _ => {
                let id = merged.add(source.clone());
                known.insert(own, id);
                id
            }
        }
    }
}
