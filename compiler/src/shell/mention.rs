//! Shell variables that a script names in its own text.
//!
//! Looks at words, not at the grammar: a name counts as mentioned wherever it stands, because a
//! text in quotes may well be a program that reads it. Only names that variables of a recipe can
//! have in an environment are looked at: `RECIPE_VAR_…`, and words in capitals.

use memchr::memmem::Finder;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// A name in the text of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MentionAt {
    pub name: String,
    /// With the `$` and the braces, if it is expanded.
    pub range: Range<usize>,
    pub how: Mentioned,
}

/// How a script names a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mentioned {
    /// `$NAME` or `${NAME}`: all the same if it is empty, but not if it is not set.
    Expanded,
    /// `${NAME:-…}` and its like: the script is prepared for nothing.
    Guarded,
    /// `NAME=…`, `read NAME`, `for NAME in`: the script sets it itself.
    Set,
    /// Any other way.
    Word,
}

pub fn mentions(text: &str) -> Vec<MentionAt> {
    let bytes = text.as_bytes();
    let part = |byte: &u8| PART[usize::from(*byte)];
    let mut found = Vec::new();
    let (mut at, mut line, mut looked) = (0, 0, 0);
    // All such names begin with a capital.
    while let Some(next) = bytes[at..].iter().position(u8::is_ascii_uppercase) {
        let start = at + next;
        let length = bytes[start..].iter().position(|byte| !part(byte));
        at = length.map_or(bytes.len(), |length| start + length);
        let begins = start
            .checked_sub(1)
            .is_none_or(|before| !part(&bytes[before]));
        let name = &text[start..at];
        if !begins || !is_exported(name) {
            continue;
        }
        // No line that was looked at before is looked at again.
        if let Some(newline) = memchr::memrchr(b'\n', &bytes[looked..start]) {
            line = looked + newline + 1;
        }
        looked = start;
        let before = &text[line..start];
        let comment = text[line..].trim_start().starts_with('#');
        let escaped = |from: usize| from > 0 && bytes[from - 1] == b'\\';
        let (range, how) = if comment {
            (start..at, Mentioned::Word)
        } else if before.ends_with("${") && !escaped(start - 2) {
            match bytes.get(at) {
                Some(b'}') => (start - 2..at + 1, Mentioned::Expanded),
                Some(b':') if matches!(bytes.get(at + 1), Some(b'-' | b'+' | b'?' | b'=')) => {
                    (start - 2..at, Mentioned::Guarded)
                }
                Some(b'-' | b'+' | b'?' | b'=') => (start - 2..at, Mentioned::Guarded),
                _ => (start - 2..at, Mentioned::Word),
            }
        } else if before.ends_with('$') && !escaped(start - 1) {
            (start - 1..at, Mentioned::Expanded)
        } else if is_set(before, &text[at..]) {
            (start..at, Mentioned::Set)
        } else {
            (start..at, Mentioned::Word)
        };
        // A letter by itself is seldom a name.
        if name.len() == 1 && range.start == start && how != Mentioned::Set {
            continue;
        }
        found.push(MentionAt {
            name: name.to_string(),
            range,
            how,
        });
    }
    found
}

/// The bytes of names.
static PART: [bool; 256] = {
    let mut part = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        part[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    part
};

fn is_exported(name: &str) -> bool {
    let capitals = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    name.strip_prefix("RECIPE_VAR_")
        .is_some_and(|rest| !rest.is_empty())
        || name.starts_with(|c: char| c.is_ascii_uppercase()) && name.bytes().all(capitals)
}

/// Whether a script sets the name that stands between these, of which the first is on its line.
fn is_set(line: &str, after: &str) -> bool {
    if !line.is_empty() && !line.ends_with([' ', '\t', ';', '(', '{', '"']) {
        return false;
    }
    let assigned = after.starts_with('=') && !after.starts_with("==") || after.starts_with("+=");
    let named = [
        "for", "read", "-r", "local", "declare", "unset", "mapfile", "-t",
    ];
    let word = || line.split_whitespace().next_back().unwrap_or("");
    assigned || named.contains(&word())
}

/// Whether a script turns on that expanding an unset variable stops it.
pub fn is_nounset(text: &str) -> bool {
    // Few texts have the word at all.
    static SET: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("set"));
    if SET.find(text.as_bytes()).is_none() {
        return false;
    }
    text.lines().any(|line| {
        let mut words = line
            .split([' ', '\t', ';', '&', '|'])
            .filter(|word| !word.is_empty());
        if words.next() != Some("set") {
            return false;
        }
        let short = |word: &str| {
            word.strip_prefix('-')
                .is_some_and(|flags| !flags.starts_with('-') && flags.contains('u'))
        };
        let mut named = false;
        words.any(|word| {
            let asked = std::mem::replace(&mut named, word.ends_with('o'));
            short(word) || asked && word == "nounset"
        })
    })
}

/// A name as the environment of a script spells it: two variables may share one.
pub fn spelt(name: &str) -> Cow<'_, str> {
    let plain = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '_',
    };
    let is_plain = |byte: u8| PART[usize::from(byte)] && !byte.is_ascii_uppercase();
    match name.bytes().all(is_plain) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(name.chars().map(plain).collect()),
    }
}

/// Whether one of the things that a shell variable may stand for is as asked: the value of a
/// variable or, after two underscores, a field of it. They are spelt in the same way.
pub fn stands_for(mention: &str, mut ask: impl FnMut(&str) -> bool) -> bool {
    let whole = spelt(mention.strip_prefix("RECIPE_VAR_").unwrap_or(mention));
    let mut fields = whole.match_indices("__").map(|(end, _)| end);
    fields.any(|end| ask(&whole[..end])) || ask(&whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_how_they_are_used() {
        let text =
            "A1=2\necho $RECIPE_VAR_x ${TASK:-none} '${REPO}' \\$NO word \"$A1\"\n# $GONE\nB $C\n";
        let found: Vec<(String, Mentioned)> = mentions(text)
            .into_iter()
            .map(|mention| (text[mention.range].to_string(), mention.how))
            .collect();
        let expected = [
            ("A1", Mentioned::Set),
            ("$RECIPE_VAR_x", Mentioned::Expanded),
            ("${TASK", Mentioned::Guarded),
            ("${REPO}", Mentioned::Expanded),
            ("NO", Mentioned::Word),
            ("$A1", Mentioned::Expanded),
            ("GONE", Mentioned::Word),
            ("$C", Mentioned::Expanded),
        ];
        let expected: Vec<(String, Mentioned)> = expected
            .into_iter()
            .map(|(text, how)| (text.to_string(), how))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn unset_variables_stop_a_script_that_says_so() {
        for text in [
            "set -u",
            "set -euo pipefail",
            "x\n  set -o nounset; y",
            "set -eo nounset",
        ] {
            assert!(is_nounset(text), "{text}");
        }
        for text in [
            "set -e",
            "set -o pipefail",
            "echo set -u",
            "set +u",
            "unset x",
        ] {
            assert!(!is_nounset(text), "{text}");
        }
    }
}
