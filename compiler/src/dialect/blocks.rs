//! Blocks of other template languages: `{{#if x}} … {{/if}}` and `{% if x %} … {% endif %}`.
//!
//! Recipe text has none, so all of it stays as it is written. A text that has one often has many:
//! it is said once for the text, with the others beside it.

use super::text::Lower;
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::doc::Text as Written;
use crate::expr::Problem;
use crate::source::Span;

const HELP: &str = "there are no blocks in recipe text; use `condition` or `foreach` on a step";
/// How many places beside the first are shown.
const MOST_SHOWN: usize = 3;

/// The blocks `{% … %}` of one text.
pub struct Tags {
    /// Where each begins, and the names that it asks for.
    all: Vec<(Span, Vec<String>)>,
    /// The first as it is written.
    written: String,
}

impl Lower<'_> {
    /// Reports what was found about the holes of a text.
    pub(super) fn holes(&mut self, written: Written<'_>, problems: Vec<Problem>) {
        let mut blocks: Vec<(Problem, Span)> = Vec::new();
        for problem in problems {
            let text = &written.text()[problem.range.clone()];
            match text.as_bytes().get(2) {
                Some(b'#' | b'^') => {
                    let span = written.span(problem.range.clone());
                    blocks.push((problem, span));
                }
                // What ends a block is no second mistake.
                Some(b'/') if !blocks.is_empty() => {}
                _ => self.problem(written, problem),
            }
        }
        let mut blocks = blocks.into_iter();
        let Some((first, span)) = blocks.next() else {
            return;
        };
        let rest: Vec<Span> = blocks.map(|(_, span)| span).collect();
        let help = first.help.unwrap_or_default();
        let finding = Diagnostic::new(first.code, span, first.message);
        self.report.add(with_others(finding, &rest, &help));
    }
}

fn with_others(mut finding: Diagnostic, rest: &[Span], help: &str) -> Diagnostic {
    for span in rest.iter().take(MOST_SHOWN) {
        finding = finding.label(*span, "and here");
    }
    finding.help(match rest.len().saturating_sub(MOST_SHOWN) {
        0 => help.to_string(),
        1 => format!("{help} (there is one more in this text)"),
        more => format!("{help} (there are {more} more in this text)"),
    })
}

/// Finds where blocks begin.
pub fn tags(written: Written<'_>, found: &mut Vec<Tags>) {
    let text = written.text();
    let mut tags: Option<Tags> = None;
    for (open, _) in text.match_indices("{%") {
        let line = text[open + 2..].split('\n').next().unwrap_or_default();
        let Some((inner, _)) = line.split_once("%}") else {
            continue;
        };
        let inner = inner.trim_matches(['-', ' ']);
        let asked = ["if ", "for ", "unless "]
            .iter()
            .find_map(|word| inner.strip_prefix(word));
        let Some(asked) = asked else { continue };
        let end = open + 2 + line.find("%}").unwrap_or(line.len()) + 2;
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let names = asked.split(|c| !is_name(c)).filter(|word| !word.is_empty());
        let one = (written.span(open..end), names.map(str::to_string).collect());
        let first = || Tags {
            all: Vec::new(),
            written: text[open..end].to_string(),
        };
        tags.get_or_insert_with(first).all.push(one);
    }
    found.extend(tags);
}

/// Says those that ask for a variable of the recipe: others may be what the text is about.
pub fn say_tags(found: &[Tags], known: &dyn Fn(&str) -> bool, report: &mut Report) {
    for text in found {
        let meant = |asked: &Vec<String>| asked.iter().any(|name| known(name));
        let Some((first, _)) = text.all.first() else {
            continue;
        };
        if !text.all.iter().any(|(_, asked)| meant(asked)) {
            continue;
        }
        let message = format!(
            "`{}` is no condition and stays as it is written",
            text.written
        );
        let rest: Vec<Span> = text.all[1..].iter().map(|(span, _)| *span).collect();
        let finding = Diagnostic::new(&codes::NOT_A_HOLE, *first, message);
        report.add(with_others(finding, &rest, HELP));
    }
}
