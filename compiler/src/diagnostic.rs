//! What the compiler has to say to the user, as plain data.
//!
//! Rendering is the business of `report/`. Messages are lower case, present tense, without a full
//! stop, with the user's own words in backticks; `help` says what to do.

use crate::codes::{Code, Severity};
use crate::source::Span;
use smallvec::SmallVec;

/// A second place that explains the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub span: Span,
    pub message: String,
}

/// How far a fix can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applicability {
    /// Keeps the meaning the author plainly had; applied by `--fix`.
    Safe,
    /// Probably right; applied by `--unsafe-fixes`.
    Unsafe,
    /// Only shown.
    Display,
}

impl Applicability {
    pub fn word(self) -> &'static str {
        match self {
            Applicability::Safe => "safe",
            Applicability::Unsafe => "unsafe",
            Applicability::Display => "display",
        }
    }
}

/// Replaces the bytes of `span` by `text`.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    pub applicability: Applicability,
    pub message: String,
    pub edits: Vec<Edit>,
}

impl Fix {
    pub fn safe(message: impl Into<String>, span: Span, text: impl Into<String>) -> Fix {
        Fix::one(Applicability::Safe, message, span, text)
    }

    pub fn unsafe_(message: impl Into<String>, span: Span, text: impl Into<String>) -> Fix {
        Fix::one(Applicability::Unsafe, message, span, text)
    }

    /// Writes one name for another that is near it. Only what is a slip for sure is safe: of two
    /// names like `part1` and `part2` either may be meant.
    pub fn rename(written: &str, near: &str, span: Span) -> Fix {
        let message = format!("write `{near}`");
        match is_slip(written, near) {
            true => Fix::safe(message, span, near),
            false => Fix::unsafe_(message, span, near),
        }
    }

    fn one(
        applicability: Applicability,
        message: impl Into<String>,
        span: Span,
        text: impl Into<String>,
    ) -> Fix {
        Fix {
            applicability,
            message: message.into(),
            edits: vec![Edit {
                span,
                text: text.into(),
            }],
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    pub code: &'static Code,
    pub severity: Severity,
    pub message: String,
    pub span: Span,
    pub labels: SmallVec<[Label; 1]>,
    pub help: Option<String>,
    pub fix: Option<Fix>,
}

impl Diagnostic {
    pub fn new(code: &'static Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: code.severity,
            message: message.into(),
            span,
            labels: SmallVec::new(),
            help: None,
            fix: None,
        }
    }

    /// The same finding where a dialect takes it more lightly or more seriously than usual.
    pub fn severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }

    pub fn label(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push(Label {
            span,
            message: message.into(),
        });
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    pub fn fix(mut self, fix: Fix) -> Diagnostic {
        self.fix = Some(fix);
        self
    }

    /// The same, where there may be none.
    pub fn fix_if(mut self, fix: Option<Fix>) -> Diagnostic {
        self.fix = fix;
        self
    }

    /// Every place that it speaks of, its own first.
    pub fn spans_mut(&mut self) -> impl Iterator<Item = &mut Span> {
        let labels = self.labels.iter_mut().map(|label| &mut label.span);
        let edits = self.fix.iter_mut().flat_map(|fix| &mut fix.edits);
        let edits = edits.map(|edit| &mut edit.span);
        std::iter::once(&mut self.span).chain(labels).chain(edits)
    }
}

/// What has been found so far. Phases take it by `&mut` and never fail.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub findings: Vec<Diagnostic>,
}

impl Report {
    pub fn add(&mut self, diagnostic: Diagnostic) {
        self.findings.push(diagnostic);
    }

    pub fn has_errors(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Error)
    }

    /// Puts findings in the order of the text and drops what was said twice, so that the order
    /// in which phases ran cannot be seen.
    pub fn settle(&mut self) {
        self.findings.sort_by(|a, b| {
            (a.span, a.code.code, &a.message).cmp(&(b.span, b.code.code, &b.message))
        });
        self.findings.dedup();
    }
}

/// The nearest of `known` to what was written, if it is near enough to be a slip.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = letters(written);
    let limit = (letters.len() / 3).clamp(1, 3);
    let own = kinds(&letters);
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        // Most names are too long or too short, and nothing more need be known about them.
        let fits = !name.is_ascii() || name.len().abs_diff(letters.len()) <= limit;
        if !fits || name == written {
            continue;
        }
        let most = best.map_or(limit, |(distance, _)| distance - 1);
        let theirs = self::letters(name);
        // An edit takes away at most one kind of letter, and brings at most one.
        let other = kinds(&theirs);
        let (gone, new) = (own & !other, other & !own);
        if gone.count_ones().max(new.count_ones()) as usize > most {
            continue;
        }
        let distance = distance(&letters, &theirs, most);
        // Of so short a word too little is left to tell what was meant.
        let guess = distance > 0 && letters.len() < 3 && name.chars().count() < 3;
        let swapped = letters.iter().all(|letter| name.contains(*letter));
        if guess && (letters.len() == 1 || !swapped) {
            continue;
        }
        if distance <= most {
            best = Some((distance, name));
        }
        if distance == 0 {
            break;
        }
    }
    best.map(|(_, name)| name)
}

/// Whether one of two names is the other's plural.
pub fn is_plural(one: &str, other: &str) -> bool {
    let adds = |one: &str, other: &str| {
        one.strip_suffix(['s', 'S'])
            .is_some_and(|stem| stem.eq_ignore_ascii_case(other))
    };
    adds(one, other) || adds(other, one)
}

/// Whether a name is another one with a slip of the hand, and not a sister of it: one edit, of
/// letters, in a word of some length, and not at its plural.
pub fn is_slip(written: &str, meant: &str) -> bool {
    // Most names are too long or too short, and nothing more need be known about them.
    if written.is_ascii() && meant.is_ascii() {
        let (one, other) = (written.as_bytes(), meant.as_bytes());
        if one.len().abs_diff(other.len()) > 1 {
            return false;
        }
        // Nor about names that differ in a digit, or in more than two neighbours.
        let same = |(one, other): &(&u8, &u8)| one.eq_ignore_ascii_case(other);
        let start = one.iter().zip(other).take_while(same).count();
        let (one, other) = (&one[start..], &other[start..]);
        let backwards = one.iter().rev().zip(other.iter().rev());
        let end = backwards.take_while(same).count();
        let digit = |rest: &[u8]| rest.first().is_some_and(u8::is_ascii_digit);
        if digit(one) || digit(other) || one.len().max(other.len()) - end > 2 {
            return false;
        }
    }
    let (one, other) = (letters(written), letters(meant));
    let plural = |one: &[char], other: &[char]| matches!(one.split_last(), Some(('s', rest)) if rest == other);
    if distance(&one, &other, 1) > 1 || plural(&one, &other) || plural(&other, &one) {
        return false;
    }
    // The parts of both names that are not the same: most names are several words.
    let start = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let is_part = |letter: &char| letter.is_alphabetic();
    let word = |letters: &[char]| {
        let start = start.min(letters.len());
        let before = letters[..start].iter().rev().take_while(|l| is_part(l));
        let after = letters[start..].iter().take_while(|l| is_part(l));
        before.count() + after.count()
    };
    let is_digit = |letters: &[char]| letters.get(start).is_some_and(|l| l.is_numeric());
    let same = one == other;
    same || (!is_digit(&one) && !is_digit(&other) && word(&one).max(word(&other)) > 2)
}

type Letters = SmallVec<[char; 24]>;

fn letters(word: &str) -> Letters {
    match word.is_ascii() {
        true => word
            .bytes()
            .map(|b| b.to_ascii_lowercase().into())
            .collect(),
        false => word.chars().flat_map(char::to_lowercase).collect(),
    }
}

/// Which letters there are, one bit for each; those that share one are taken for the same.
fn kinds(letters: &[char]) -> u64 {
    let bit = |letter: &char| 1 << (*letter as u32 % 64);
    letters.iter().fold(0, |kinds, letter| kinds | bit(letter))
}

/// Edits between two words: insert, delete, replace, or swap two neighbours. Stops counting
/// beyond `limit`.
fn distance(a: &[char], b: &[char], limit: usize) -> usize {
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    // What both begin and end with takes no edit.
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let backwards = a.iter().rev().zip(b.iter().rev());
    let same = backwards.take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    type Row = SmallVec<[usize; 25]>;
    let mut before = Row::new();
    let mut last: Row = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = Row::with_capacity(b.len() + 1);
        row.push(i);
        let mut least = i;
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            least = least.min(best);
            row.push(best);
        }
        // A swap reaches back two rows, for one edit more than stands there.
        if least > limit && last.iter().all(|edits| *edits >= limit) {
            return limit + 1;
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_slips_and_nothing_else() {
        let known = ["command", "condition", "continue_on_error", "id", "user"];
        assert_eq!(nearest("comand", known), Some("command"));
        assert_eq!(nearest("usre", known), Some("user"));
        assert_eq!(nearest("Command", known), Some("command"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest("command", known), None);
        assert_eq!(nearest("b", ["a", "bc"]), None);
        assert_eq!(nearest("ab", ["ac", "x"]), None);
        assert_eq!(nearest("di", ["id", "do"]), Some("id"));
        assert_eq!(nearest("B", ["a", "b"]), Some("b"));
    }

    #[test]
    fn sisters_are_not_slips() {
        for (written, meant) in [
            ("comand", "command"),
            ("usre", "user"),
            ("Repo_path", "repo_path"),
            ("repo_pth", "repo_path"),
            ("repopath", "repo_path"),
            ("tier2_fndings", "tier2_findings"),
            ("naem", "name"),
        ] {
            assert!(is_slip(written, meant), "{written}");
        }
        for (written, meant) in [
            ("claims_b", "claims_a"),
            ("tier3_findings", "tier2_findings"),
            ("part1", "part2"),
            ("part", "part2"),
            ("repo", "repos"),
            ("items", "item"),
            ("code_content", "doc_content"),
            ("env_result", "echo_result"),
            ("x", "y"),
        ] {
            assert!(!is_slip(written, meant), "{written}");
        }
    }
}
