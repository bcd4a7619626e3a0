//! JSON that a script prints and a step reads: a value that is pasted between its quotes breaks it
//! as soon as it holds a quote, a backslash or a line break.

use super::plain::Plain;
use super::text::Lower;
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix, Label, Report};
use crate::doc::fields::Fields;
use crate::doc::{self, Text as Written};
use crate::expr::Hole;
use crate::ir::Bind;
use crate::shell::{Place, Position, Quote};
use crate::source::SourceId;
use bumpalo::Bump;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// How many holes beside the first are shown.
const MOST_SHOWN: usize = 3;
/// How many holes of a script are looked at: each means reading the document once.
const MOST_LOOKED: usize = 200;

impl Lower<'_> {
    /// The items of a list are seldom any text.
    pub fn tame_item(&mut self, fields: &Fields<'_>) {
        if fields.has("foreach") {
            let item = fields.node("as").and_then(|item| item.text());
            let item = item.map_or("item", |item| item.text());
            self.tame.insert(item.to_string());
        }
    }

    /// What an agent says is any text; what a program prints is mostly not.
    pub fn tame_binds(&mut self, binds: &[Bind], kind: Option<&str>) {
        for bind in binds {
            if kind == Some("agent") {
                self.tame.remove(&bind.name);
            } else {
                self.tame.insert(bind.name.clone());
            }
        }
    }
}

/// Looks at the texts that a script prints. `tame` are the variables that do not hold any text.
pub fn check(
    written: Written<'_>,
    plain: &Plain<'_>,
    holes: &[Hole],
    positions: &[Position],
    tame: &FxHashSet<String>,
    report: &mut Report,
) {
    let mut found: Option<Diagnostic> = None;
    let mut edits: Vec<Edit> = Vec::new();
    let mut looked = 0;
    for (number, (hole, position)) in holes.iter().zip(positions).enumerate() {
        let root = hole.path.root();
        if hole.filter.is_some() || root.starts_with('_') || tame.contains(root) {
            continue;
        }
        looked += 1;
        if looked > MOST_LOOKED {
            break;
        }
        let place = plain.holes[number].clone();
        let Some(text) = printed(&plain.text, &place, position) else {
            continue;
        };
        let Some(in_string) = in_json(&plain.text, text, &plain.holes, &place) else {
            continue;
        };
        let span = written.span(hole.range.clone());
        if let Some(finding) = found.as_mut()
            && finding.labels.len() < MOST_SHOWN
        {
            let message = "and this".to_string();
            finding.labels.push(Label { span, message });
        }
        found.get_or_insert_with(|| {
            let message = format!(
                "`{{{{{}}}}}` goes between the quotes of JSON as it is: a quote or a line break in it \
                 breaks the document",
                hole.path
            );
            Diagnostic::new(&codes::VALUE_IN_JSON, span, message).help(format!(
                "write `{{{{{}|json}}}}`, without quotes around it",
                hole.path
            ))
        });
        if let Some(range) = in_string {
            let json = format!("{{{{{}|json}}}}", hole.path);
            edits.extend(written.edit(plain.written(range), &json));
        }
    }
    let Some(finding) = found else { return };
    report.add(match edits.is_empty() {
        true => finding,
        false => finding.fix(Fix {
            applicability: Applicability::Unsafe,
            message: "let `json` write the quotes".to_string(),
            edits,
        }),
    });
}

/// The text around a hole that the script prints as it stands.
fn printed(text: &str, hole: &Range<usize>, position: &Position) -> Option<Range<usize>> {
    if position.place == Place::HeredocBody {
        return body(text, hole);
    }
    let prints = matches!(position.command.as_deref(), Some("echo" | "printf"));
    if !prints || position.quote != Quote::Single || position.substitutions > 0 {
        return None;
    }
    let start = text[..hole.start].rfind('\'')? + 1;
    let end = hole.end + text[hole.end..].find('\'')?;
    Some(start..end)
}

/// The body of a heredoc that `cat` prints, if the hole stands in one.
fn body(text: &str, hole: &Range<usize>) -> Option<Range<usize>> {
    let opened = text[..hole.start].rfind("<<")?;
    let first = text[..opened].rfind('\n').map_or(0, |at| at + 1);
    let start = opened + text[opened..].find('\n')? + 1;
    let line = text[first..start].trim();
    let mark = line.strip_prefix("cat")?.trim_start().strip_prefix("<<")?;
    let mark = mark
        .trim_start_matches('-')
        .trim()
        .trim_matches(['\'', '"']);
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if mark.is_empty() || !mark.chars().all(word) || start > hole.start {
        return None;
    }
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        if line.trim() == mark {
            return (at > hole.end).then_some(start..at);
        }
        at += line.len();
    }
    None
}

/// Whether a text is JSON, whatever its holes hold, and this hole stands in one of its strings:
/// then the whole string, if the hole is all of it.
fn in_json(
    text: &str,
    range: Range<usize>,
    holes: &[Range<usize>],
    hole: &Range<usize>,
) -> Option<Option<Range<usize>>> {
    let mut filled = text.as_bytes().to_vec();
    for other in holes {
        filled.get_mut(other.clone())?.fill(b'1');
    }
    let filled = String::from_utf8(filled).ok()?;
    let printed = filled[range.clone()].trim_end_matches("\\n");
    // Where the shell or `printf` changes the text, this is not what is printed.
    if printed.contains(['\\', '$', '`', '%']) {
        return None;
    }
    let arena = Bump::new();
    let mut said = Report::default();
    let root = doc::json::read(&arena, SourceId(0), printed, &mut said)?;
    if !said.findings.is_empty() || (root.map().is_none() && root.list().is_none()) {
        return None;
    }
    let quotes = filled[range.start..hole.start].matches('"').count();
    if quotes % 2 == 0 {
        return None;
    }
    let before = filled[..hole.start].ends_with('"');
    let whole = before && filled[hole.end..].starts_with('"');
    Some(whole.then(|| hole.start - 1..hole.end + 1))
}
