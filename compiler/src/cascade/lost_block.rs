//! A text of several lines that has lost the `|` before it.
//!
//! YAML reads such lines as fields, and stumbles over some of them. What it says about each is true,
//! and no help: the mistake stands above them, behind the name of the field.

use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::source::{Source, SourceId, Sources, Span};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Fields whose text mostly has several lines.
const FIELDS: [&str; 2] = ["command", "prompt"];

/// In how many findings of a file the mistake is looked for: it makes the first of them.
const MOST: usize = 32;

struct Block<'s> {
    field: &'s str,
    /// The name and its colon.
    key: Span,
    lines: Range<usize>,
}

/// Says once that the `|` is missing, in place of all that is said about the lines of the text.
pub fn settle(report: &mut Report, sources: &Sources) {
    let mut blocks: FxHashMap<SourceId, Vec<Block<'_>>> = FxHashMap::default();
    let mut seen: FxHashMap<SourceId, usize> = FxHashMap::default();
    for finding in &report.findings {
        let span = finding.span;
        let by_yaml = [
            &codes::YAML_SYNTAX,
            &codes::UNQUOTED_HOLE,
            &codes::WRONG_TYPE,
        ];
        if !by_yaml.contains(&finding.code) || !sources.has(span.source) {
            continue;
        }
        let seen = seen.entry(span.source).or_default();
        *seen += 1;
        let known = blocks.entry(span.source).or_default();
        let inside = |block: &Block<'_>| block.lines.contains(&span.range().start);
        if *seen <= MOST && !known.iter().any(inside) {
            known.extend(around(sources.get(span.source), span));
        }
    }
    blocks.retain(|_, blocks| !blocks.is_empty());
    if blocks.is_empty() {
        return;
    }
    report.findings.retain(|finding| {
        let blocks = blocks.get(&finding.span.source);
        let start = finding.span.range().start;
        !blocks.is_some_and(|blocks| blocks.iter().any(|block| block.lines.contains(&start)))
    });
    for Block { field, key, .. } in blocks.into_values().flatten() {
        let behind = Span {
            start: key.end,
            ..key
        };
        let message = format!("the text of `{field}` stands on lines of its own, without a `|`");
        report.add(
            Diagnostic::new(&codes::YAML_SYNTAX, key, message)
                .help(format!("write `{field}: |`"))
                .fix(Fix::safe("write `|`", behind, " |")),
        );
    }
}

/// The text that a place is in, if it belongs to a field with nothing on its own line.
fn around(source: &Source, span: Span) -> Option<Block<'_>> {
    let at = source.line_at(span.start);
    let mut indent = indent(source.line(at))?;
    for number in (1..at).rev() {
        let line = source.line(number);
        let Some(outer) = self::indent(line).filter(|outer| *outer < indent) else {
            continue;
        };
        indent = outer;
        let bare = line[indent..].trim_end();
        let Some(field) = FIELDS
            .iter()
            .find(|field| bare.strip_suffix(':') == Some(field))
        else {
            continue;
        };
        let start = source.line_start(number) + indent;
        let inside =
            |number: &u32| self::indent(source.line(*number)).is_none_or(|own| own > indent);
        let last = (number + 1..=source.line_count())
            .take_while(inside)
            .last()?;
        return Some(Block {
            field,
            key: Span::new(span.source, start, start + bare.len()),
            lines: source.line_start(number + 1)..source.line_start(last + 1),
        });
    }
    None
}

/// Where the text of a line begins, behind the marks of lists; none: it is empty.
fn indent(line: &str) -> Option<usize> {
    let bare = line.trim_start_matches([' ', '-']);
    (!line.trim().is_empty()).then_some(line.len() - bare.len())
}
