//! The part that waits for values: what the machine does with a compiled script at run time.
//!
//! Pure functions of text. They stand here because the forms in this folder rely on them word for
//! word; the machine uses them and adds nothing.

use super::{Piece, Script};

/// The script text for these values, one per hole, in the order of the holes.
pub fn render(script: &Script, values: &[&str]) -> String {
    let value = |hole: usize| values.get(hole).copied().unwrap_or("");
    let delimiters: Vec<String> = script
        .heredocs
        .iter()
        .map(|heredoc| {
            let mut body = String::new();
            for piece in script.pieces.get(heredoc.body.clone()).unwrap_or(&[]) {
                match piece {
                    Piece::Text(text) => body.push_str(text),
                    Piece::Paste(hole) => body.push_str(value(*hole)),
                    Piece::Words(_) | Piece::Delimiter(_) => {}
                }
            }
            fresh_delimiter(&heredoc.delimiter, &body)
        })
        .collect();
    let mut out = String::new();
    for piece in &script.pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Paste(hole) => out.push_str(value(*hole)),
            Piece::Words(hole) => {
                for (index, word) in split_words(value(*hole)).enumerate() {
                    if index > 0 {
                        out.push(' ');
                    }
                    out.push_str(&quote_word(word));
                }
            }
            Piece::Delimiter(heredoc) => {
                out.push_str(delimiters.get(*heredoc).map_or("", String::as_str));
            }
        }
    }
    out
}

/// The text as one shell word.
pub fn quote_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The words of a value: what stands between spaces, tabs and line breaks.
pub fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', '\t', '\n', '\r'])
        .filter(|word| !word.is_empty())
}

/// An end mark with which no line of the body begins: `base` itself if it will do.
///
/// Begins, not equals: inside `$(…)` bash also takes a line for the end that has text with a `)`
/// after the mark.
pub fn fresh_delimiter(base: &str, body: &str) -> String {
    let taken = |mark: &str| body.split('\n').any(|line| line.starts_with(mark));
    if !taken(base) {
        return base.to_owned();
    }
    // Of n lines at most n numbers are taken, so the search ends.
    let mut number: u64 = 1;
    loop {
        let mark = format!("{base}_{number}_");
        if !taken(&mark) {
            return mark;
        }
        number += 1;
    }
}

/// What an integer position gets for this value: decimal without leading zeros, or nothing if the
/// value is not an integer that bash can hold.
///
/// A negative number begins with a blank, so that `x-{{n}}` does not become `x--5`, which bash
/// reads as a decrement.
pub fn integer(text: &str) -> Option<String> {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i64 = text.parse().ok()?;
    Some(if number < 0 {
        format!(" {number}")
    } else {
        number.to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_one_that_begins_no_line() {
        assert_eq!(fresh_delimiter("EOF", "a\n EOF\n"), "EOF");
        assert_eq!(fresh_delimiter("EOF", "a\nEOF\n"), "EOF_1_");
        assert_eq!(fresh_delimiter("EOF", "EOF) x\nEOF_1_\n"), "EOF_2_");
    }

    #[test]
    fn integers_are_plain_decimal() {
        assert_eq!(integer(" 007\n").as_deref(), Some("7"));
        assert_eq!(integer("-5").as_deref(), Some(" -5"));
        assert_eq!(integer("+5").as_deref(), Some("5"));
        for text in [
            "",
            " ",
            "1.5",
            "0x10",
            "a[$(x)]",
            "1 2",
            "--5",
            "99999999999999999999",
            "٣",
        ] {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn words_are_quoted_one_by_one() {
        assert_eq!(
            split_words(" a  b\n\tc ").collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert_eq!(quote_word("it's"), r"'it'\''s'");
    }
}
