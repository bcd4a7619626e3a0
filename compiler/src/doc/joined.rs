//! Two items of a list that have run together, because the line that began the second is gone.
//!
//! Seen by the keys that stand there again. The two are taken apart, so that one lost line is one
//! finding.

use super::node::{Entry, repeated};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::doc::fields::name_span;

/// Where the second item begins among the entries of the first, and what to say about it.
pub(super) fn second(text: &str, entries: &[Entry<'_>]) -> Option<(usize, Diagnostic)> {
    let again = repeated(entries);
    let (repeat, first) = *again.first()?;
    // A line between the two that is no part of either, as people leave between items.
    let apart = (first + 1..=repeat).find(|at| stands_apart(text, &entries[*at]));
    let at = match (apart, again.len()) {
        (Some(at), _) => at,
        // A single key that stands there twice is just that.
        (None, 1) => return None,
        (None, _) => repeat,
    };
    let name = entries[repeat].name().unwrap_or("");
    let finding = Diagnostic::new(
        &codes::DUPLICATE_KEY,
        name_span(entries[repeat].key),
        format!("`{name}` stands twice in one map: a second item seems to begin before it"),
    )
    .label(name_span(entries[first].key), "it stands here first");
    let finding = match at == repeat {
        true => finding,
        false => finding.label(name_span(entries[at].key), "the second item may begin here"),
    };
    Some((
        at,
        finding
            .help("put `- ` and its first line before the second item, or remove one of the two"),
    ))
}

/// Whether the line above a key is blank, or a comment of its own.
fn stands_apart(text: &str, entry: &Entry<'_>) -> bool {
    let start = entry.key.span.start as usize;
    let before = text.get(..start).unwrap_or("");
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let indent = start - line;
    let above = before[..line].strip_suffix('\n').unwrap_or("");
    let above = above.rsplit('\n').next().unwrap_or("");
    let written = above.trim_start();
    written.is_empty() || (written.starts_with('#') && above.len() - written.len() <= indent)
}
