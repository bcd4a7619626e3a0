//! Findings as text: one file per format, all over the same plain data.
//!
//! A format decides how things look and nothing else: what was found, how much it matters and
//! which of it counts for the exit code is settled before. Nothing here opens a file or asks
//! whether a terminal is there; the caller says so in [`Options`] and hands in what to write to.

pub mod concise;
pub mod github;
pub mod human;
pub mod json;
pub mod sarif;

use crate::codes::{Code, Severity};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::source::{Sources, Span};
use std::borrow::Cow;
use std::io::{Result, Write};

/// How a reader wants it. Each format takes what concerns it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Terminal colours; `human` and `concise` only.
    pub color: bool,
    /// Show notes where they are hidden otherwise; `json` and `sarif` always carry them.
    pub notes: bool,
    /// How the reader can have fixes applied; `human` only.
    pub fixes: Fixes,
}

/// Who applies fixes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fixes {
    /// The command that shows them.
    #[default]
    Here,
    /// Another one, which is `rrc check`.
    Check,
    /// Nobody: what they mend stands in no file.
    Nobody,
}

/// The formats, by the words of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Human,
    Concise,
    Json,
    Sarif,
    Github,
}

impl Format {
    pub const ALL: [Format; 5] = [
        Format::Human,
        Format::Concise,
        Format::Json,
        Format::Sarif,
        Format::Github,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Format::Human => "human",
            Format::Concise => "concise",
            Format::Json => "json",
            Format::Sarif => "sarif",
            Format::Github => "github",
        }
    }

    pub fn of(word: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.word() == word)
    }
}

/// Writes findings in a format. The order of `findings` does not matter.
pub fn write(
    format: Format,
    findings: &[Diagnostic],
    sources: &Sources,
    options: Options,
    out: &mut dyn Write,
) -> Result<()> {
    // Formats write in small pieces, and what they are handed may be a bare file.
    let mut out = std::io::BufWriter::new(out);
    match format {
        Format::Human => human::write(findings, sources, options, &mut out),
        Format::Concise => concise::write(findings, sources, options, &mut out),
        Format::Json => json::write(findings, sources, options, &mut out),
        Format::Sarif => sarif::write(findings, sources, options, &mut out),
        Format::Github => github::write(findings, sources, options, &mut out),
    }?;
    out.flush()
}

/// The last line of `human`: `2 errors, 1 warning in 1 file; 1 can be fixed with --fix`.
pub fn summary(findings: &[Diagnostic], options: Options) -> String {
    let shown = shown(findings, options);
    if shown.is_empty() {
        return String::from("no problems found");
    }
    let count = |severity| shown.iter().filter(|f| f.severity == severity).count();
    let kinds: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter(|severity| count(*severity) > 0)
        .map(|severity| plural(count(severity), severity.word()))
        .collect();
    let mut files: Vec<u32> = shown.iter().map(|f| f.span.source.0).collect();
    files.sort_unstable();
    files.dedup();
    let mut line = format!("{} in {}", kinds.join(", "), plural(files.len(), "file"));

    let fixable = |wanted| {
        shown
            .iter()
            .filter(|f| {
                f.fix
                    .as_ref()
                    .is_some_and(|fix| fix.applicability == wanted)
            })
            .count()
    };
    let (safe, unsafe_) = (fixable(Applicability::Safe), fixable(Applicability::Unsafe));
    match (safe, unsafe_) {
        (0, 0) => {}
        (safe, 0) => line.push_str(&format!("; {safe} can be fixed with --fix")),
        (0, other) => line.push_str(&format!("; {other} can be fixed with --unsafe-fixes")),
        (safe, other) => line.push_str(&format!(
            "; {safe} can be fixed with --fix, {other} more with --unsafe-fixes"
        )),
    }
    line
}

/// Where the page of a code is, from the root of the repository.
pub fn page(code: &Code) -> String {
    format!("spec/rules/{}.md", code.code)
}

/// What people are shown: in the order of the text, without notes unless they were asked for.
fn shown(findings: &[Diagnostic], options: Options) -> Vec<&Diagnostic> {
    let mut all = ordered(findings);
    all.retain(|finding| options.notes || finding.severity > Severity::Note);
    all
}

/// In the order of the text, whatever order the phases ran in.
fn ordered(findings: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut all: Vec<&Diagnostic> = findings.iter().collect();
    all.sort_by(|a, b| (a.span, a.code.code, &a.message).cmp(&(b.span, b.code.code, &b.message)));
    all
}

/// `path:line:col`, as terminals and editors make it a link.
fn link(sources: &Sources, span: Span) -> String {
    let source = sources.get(span.source);
    let place = source.place(span.start);
    format!(
        "{}:{}:{}",
        printable(&source.name),
        place.line,
        place.column
    )
}

/// Text that cannot move the cursor, change colours, ring or turn the line around: file names and
/// messages hold what a stranger wrote.
fn printable(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if plain || !text.chars().any(acts_on_terminal) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if acts_on_terminal(c) {
            safe.extend(c.escape_default());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

fn acts_on_terminal(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
        )
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn plural(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
