//! `<<` of YAML 1.1: the entries of another map become entries of this one.
//!
//! Works on maps that have been read; knows nothing of text or of the parser.

use super::node::{Entry, Kind, Node, Style};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::collections::HashSet;

/// Whether a key is `<<` without quotes.
pub(super) fn is_merge(key: &Node<'_>) -> bool {
    key.scalar()
        .is_some_and(|key| key.text == "<<" && key.style == Style::Plain && key.tag.is_none())
}

/// The entries of a map with what it merges in front and its repetitions left out, and what it
/// merges that is no map. Its own keys win, then those merged first.
pub(super) fn apply<'a>(
    own: &[Entry<'a>],
    again: &[(usize, usize)],
) -> (Vec<Entry<'a>>, Vec<Span>) {
    let mut kept: Vec<Entry<'a>> = Vec::new();
    let mut bad: Vec<Span> = Vec::new();
    let mut seen: HashSet<&'a str> = own.iter().filter_map(Entry::name).collect();
    for entry in own.iter().filter(|entry| is_merge(&entry.key)) {
        let maps: &[Node<'a>] = match entry.value.kind {
            Kind::List(maps) => maps,
            _ => std::slice::from_ref(&entry.value),
        };
        for map in maps {
            match map.kind {
                Kind::Map(entries) => kept.extend(
                    entries
                        .iter()
                        .filter(|entry| entry.name().is_none_or(|name| seen.insert(name))),
                ),
                Kind::Broken => {}
                _ => bad.push(map.alias.unwrap_or(map.span)),
            }
        }
    }
    let repeats = |index: usize| again.binary_search_by_key(&index, |pair| pair.0).is_ok();
    for (index, entry) in own.iter().enumerate() {
        if !is_merge(&entry.key) && !repeats(index) {
            kept.push(*entry);
        }
    }
    (kept, bad)
}

/// The finding about something that is merged and is no map.
pub(super) fn refuse(at: Span) -> Diagnostic {
    Diagnostic::new(&codes::BAD_MERGE, at, "`<<` takes a map or a list of maps")
        .help("anchor a map with `&name` and merge it with `<<: *name`")
}
