//! `grep -c … || echo 0`: where nothing is found, `grep` has printed its 0 and fails, and the second
//! one makes two lines of what should be a number.

use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Fix, Report};
use crate::doc::Text as Written;
use memchr::memmem::Finder;
use std::ops::Range;
use std::sync::LazyLock;

static GREP: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("grep "));

/// A longer command is not read to its end.
const LONGEST: usize = 4096;

pub fn check(written: Written<'_>, report: &mut Report) {
    let text = written.text();
    for at in GREP.find_iter(text.as_bytes()) {
        let before = text[..at].trim_end_matches(['e', 'f', 'z']);
        let begins = before.is_empty() || before.ends_with([' ', '\t', '\n', '|', '(', ';', '&']);
        let Some(second) = begins
            .then(|| second_zero(text, at + "grep".len()))
            .flatten()
        else {
            continue;
        };
        let message = "`grep -c` prints 0 itself where it finds nothing: this prints a second one";
        let finding = Diagnostic::new(&codes::SECOND_ZERO, written.span(second.clone()), message)
            .help("write `|| true`");
        let edit = written.edit(second, "true");
        report.add(match edit {
            Some(edit) => finding.fix(Fix {
                applicability: Applicability::Unsafe,
                message: "let `grep` print the number".to_string(),
                edits: vec![edit],
            }),
            None => finding,
        });
    }
}

/// The `echo 0` that stands in for a count of `grep`, whose words begin here.
fn second_zero(text: &str, start: usize) -> Option<Range<usize>> {
    let text = &text[..text.floor_char_boundary(start + LONGEST)];
    let mut counts = false;
    let mut at = start;
    loop {
        at += blanks(&text[at..]);
        let rest = &text[at..];
        if let Some(other) = rest.strip_prefix("||") {
            let echo = at + 2 + blanks(other);
            let length = echoed_zero(&text[echo..])?;
            return counts.then_some(echo..echo + length);
        }
        // What it writes elsewhere is not printed; what it says of mistakes may go anywhere.
        if let Some(file) = rest.strip_prefix("2>") {
            at = text.len() - file.trim_start_matches(['>', '&']).len();
            continue;
        }
        let length = word(rest)?;
        let flag = rest[..length].strip_prefix('-').unwrap_or_default();
        match flag.strip_prefix('-') {
            Some(long) => counts |= long == "count",
            None if flag.contains(['q', 'l', 'L']) => return None,
            None => counts |= flag.contains('c'),
        }
        at += length;
    }
}

fn blanks(text: &str) -> usize {
    let line = text.strip_prefix("\\\n").unwrap_or(text);
    text.len() - line.trim_start_matches([' ', '\t']).len()
}

/// The length of the word that a text begins with, quotes and holes included; none if there is no
/// word, or no end of one.
fn word(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        at += match letter {
            ' ' | '\t' | '\n' | '|' | ';' | '&' | '(' | ')' | '<' | '>' | '`' => break,
            '\\' => 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            '\'' => 2 + text[at + 1..].find('\'')?,
            '"' => 1 + quoted(&text[at + 1..])?,
            '{' if text[at..].starts_with("{{") => 2 + text[at..].find("}}")?,
            letter => letter.len_utf8(),
        };
    }
    (at > 0).then_some(at)
}

/// The length of the rest of a text in double quotes, the last one included. What runs a command in
/// it is not looked into.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            '`' => return None,
            '(' if text[..at].ends_with('$') => return None,
            _ => {}
        }
    }
    None
}

/// The length of `echo 0`, if the text begins with it and the command ends there.
fn echoed_zero(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("echo ")?.trim_start_matches(' ');
    let zero = ["'0'", "\"0\"", "0"];
    let rest = zero.iter().find_map(|zero| rest.strip_prefix(zero))?;
    let ends = rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', ')', '`', '|', '&', '"']);
    let alone = rest.trim_start_matches([' ', '\t']);
    let last =
        alone.is_empty() || alone.starts_with(['\n', ';', ')', '`', '|', '&', '"', '}', '#']);
    (ends && last).then(|| text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::second_zero;

    #[test]
    fn only_a_count_that_is_printed_has_a_second_one() {
        for (text, found) in [
            (" -c x || echo 0", Some("echo 0")),
            (" -vc 'a || echo 0 ' f.txt || echo '0'", Some("echo '0'")),
            (
                " --count \"a|b\" {{file|words}} 2>/dev/null || echo \"0\")",
                Some("echo \"0\""),
            ),
            (" -c x \\\n  || echo 0; ls", Some("echo 0")),
            (" -c x 2>&1 || echo 0 # none", Some("echo 0")),
            (" -c x | cat || echo 0", None),
            (" -c x > f || echo 0", None),
            (" -c x; true || echo 0", None),
            (" -cq x || echo 0", None),
            (" x -- || echo 0", None),
            (" -c x || echo 01", None),
            (" -c x || echo 0 1", None),
            (" -c x || echo", None),
            (" -c 'x || echo 0", None),
            (" -c \"$(x || echo 0)\" || echo 0", None),
            (" -c é\\", None),
            (" -c 2>", None),
            ("", None),
        ] {
            let range = second_zero(text, 0);
            assert_eq!(range.map(|range| &text[range]), found, "{text:?}");
        }
    }
}
