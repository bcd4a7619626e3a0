//! One file by itself: read, its dialect chosen, lowered. What it calls and extends is not looked at
//! here, so what came of it can be kept for other programs.

use super::findings::{a_plan, no_recipe, not_utf8, unreadable};
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::dialect::choose::{Choice, Pins, Reason, choose};
use crate::dialect::{self, Dialect, Lowered, template};
use crate::doc::{self, json, yaml};
use crate::source::{Source, SourceId};
use crate::suppress::{self, Ignore};
use crate::world::ReadError;
use bumpalo::Bump;
use rrc_vm::codec;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What files became, kept for programs that read the same ones in the same world: recipes call
/// each other, and most of the work is in reading. Sources are numbered here, so that a place means
/// the same in all of these programs.
#[derive(Debug, Default)]
pub struct Shelf {
    numbers: AtomicU32,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: FxHashMap<String, Vec<Arc<Alone>>>,
    bytes: usize,
}

/// How many bytes of text are kept: what is made of a text takes many times its room.
const MOST_KEPT: usize = 4 << 20;

impl Shelf {
    pub(super) fn number(&self) -> SourceId {
        SourceId(self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn find(&self, path: &str, terms: &Terms) -> Option<Arc<Alone>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = kept.files.get(path)?.iter();
        files.find(|alone| alone.suits(terms)).map(Arc::clone)
    }

    pub(super) fn keep(&self, path: &str, alone: &Alone) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += alone.source.text.len();
        if kept.bytes <= MOST_KEPT {
            let copies = kept.files.entry(path.to_string()).or_default();
            copies.push(Arc::new(alone.clone()));
        }
    }
}

/// A file before it is looked into.
pub(super) struct Found {
    pub path: String,
    /// The same, from the root on: a dialect may show in the directories.
    pub place: String,
    pub bytes: Result<Vec<u8>, ReadError>,
}

/// What is said from outside about how a file is to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub pins: Pins,
    pub caller: Option<&'static Dialect>,
    pub raw: bool,
    pub timeout_ms: Option<u64>,
}

/// What a file is by itself: what it extends and calls has not been looked at.
#[derive(Clone, Debug)]
pub(super) struct Alone {
    pub terms: Terms,
    pub id: SourceId,
    pub source: Source,
    pub findings: Vec<Diagnostic>,
    pub ignores: Vec<Ignore>,
    pub lowered: Option<Lowered>,
    pub choice: Option<Choice>,
    pub readable: bool,
}

impl Alone {
    /// Whether it would be the same if it was read on these terms.
    fn suits(&self, terms: &Terms) -> bool {
        let name = |dialect: Option<&'static Dialect>| dialect.map(|dialect| dialect.name);
        let own = &self.terms;
        // Who calls a file counts only where nothing else says what it is written in.
        let asks_caller = self
            .choice
            .as_ref()
            .is_some_and(|choice| matches!(choice.reason, Reason::Caller | Reason::Default));
        name(own.pins.always) == name(terms.pins.always)
            && name(own.pins.configured) == name(terms.pins.configured)
            && (own.raw, own.timeout_ms) == (terms.raw, terms.timeout_ms)
            && (!asks_caller || name(own.caller) == name(terms.caller))
    }

    pub(super) fn of(found: Found, terms: Terms, id: SourceId) -> Alone {
        let Found { path, place, bytes } = found;
        let path = path.as_str();
        let mut alone = Alone {
            terms,
            id,
            source: Source::new(path, ""),
            findings: Vec::new(),
            ignores: Vec::new(),
            lowered: None,
            choice: None,
            readable: false,
        };
        let mut report = Report::default();
        match bytes {
            // What has no size beforehand, a pipe, shows only now that it is too large.
            Ok(bytes) if bytes.len() > doc::MAX_BYTES => {
                let error = ReadError::TooLarge(bytes.len() as u64);
                report.add(unreadable(path, id, error));
            }
            // What is in it is nothing to look at.
            Ok(bytes) if codec::is_plan(&bytes) => report.add(a_plan(id)),
            Ok(bytes) => {
                let (text, bad_byte) = doc::read_bytes(bytes);
                alone.source = Source::new(path, text);
                match bad_byte {
                    Some(at) => report.add(not_utf8(id, at)),
                    None => {
                        alone.readable = true;
                        alone.understand(path, &place, &mut report);
                    }
                }
            }
            Err(error) => report.add(unreadable(path, id, error)),
        }
        alone.findings = report.findings;
        alone
    }

    /// Reads the text, chooses its dialect and lowers it, as far as it goes.
    fn understand(&mut self, path: &str, place: &str, report: &mut Report) {
        let (id, text) = (self.id, Arc::clone(&self.source.text));
        let arena = Bump::new();
        let is_json = path.ends_with(".json");
        let read = if is_json { json::read } else { yaml::read };
        let root = read(&arena, id, &text, report);
        if !is_json {
            self.ignores = suppress::comments(id, &text, root);
        }
        let Some(root) = root else { return };
        let broken = report
            .findings
            .iter()
            .any(|finding| [&codes::YAML_SYNTAX, &codes::JSON_SYNTAX].contains(&finding.code));
        if is_json && dialect::is_tool(root) {
            return;
        }
        if is_json && template::is_template(root) {
            let name = path.rsplit('/').next().unwrap_or(path);
            let name = name.strip_suffix(".json").unwrap_or(name);
            let unit = template::lower(root, id, &text, name, report);
            self.lowered = unit.map(|unit| Lowered {
                unit: Arc::new(unit),
                parent: None,
            });
            return;
        }
        if let Some(what) = dialect::not_a_recipe(root) {
            // What says so may be what could not be read.
            if !broken || (!is_json && root.map().is_some()) {
                report.add(no_recipe(id, what, is_json));
            }
            return;
        }
        let Terms { pins, caller, .. } = self.terms;
        let choice = choose(pins, caller, place, id, &text, root, report);
        let how = dialect::Options {
            deliberate: choice.is_deliberate(),
            undecided: choice.reason == Reason::Default,
            disputed: choice.reason == Reason::Conflict,
            raw: self.terms.raw,
            timeout_ms: self.terms.timeout_ms,
        };
        let said = report.findings.len();
        self.lowered = dialect::lower(root, id, choice.dialect, how, report);
        if broken {
            if let Some(lowered) = &mut self.lowered {
                Arc::make_mut(&mut lowered.unit).open = true;
            }
            // What could not be read is not missing.
            let mut number = 0;
            report.findings.retain(|finding| {
                number += 1;
                number <= said || finding.code != &codes::MISSING_FIELD
            });
        }
        self.choice = Some(choice);
    }
}
