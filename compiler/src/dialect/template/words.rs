//! A command line to words, as a shell would see quotes and backslashes and nothing else.
//!
//! Each word knows for each of its bytes which bytes of the command line it was read from, so that
//! what stands in it can be pointed at.

use std::ops::Range;

/// One word, without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Where in the command line it stands, quotes included.
    pub range: Range<usize>,
    /// Where each byte of `text` comes from.
    from: Vec<u32>,
    /// Whether any part of it was quoted, and whether any part was in single quotes.
    pub quoted: bool,
    pub single: bool,
    /// Where a backslash was taken away from a character that does not need one.
    pub lost: Vec<usize>,
}

impl Word {
    /// The bytes of the command line that a range of the word was read from.
    pub fn source(&self, range: Range<usize>) -> Range<usize> {
        let start = self.from.get(range.start).map(|at| *at as usize);
        let last = range.end.checked_sub(1).filter(|last| *last >= range.start);
        let end = last
            .and_then(|last| self.from.get(last))
            .map(|at| *at as usize + 1);
        match (start, end) {
            (Some(start), Some(end)) => start..end.max(start),
            (Some(start), None) => start..start,
            _ => self.range.end..self.range.end,
        }
    }

    fn push(&mut self, character: char, at: usize) {
        self.text.push(character);
        for offset in 0..character.len_utf8() {
            self.from.push((at + offset) as u32);
        }
    }
}

/// A command line in words, and what is odd about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Split {
    pub words: Vec<Word>,
    /// Where a quote was opened that nothing closes.
    pub open_quote: Option<usize>,
    /// Where a backslash stands that nothing follows.
    pub last_backslash: Option<usize>,
    /// Blanks that do not look like one to everybody.
    pub odd_blanks: Vec<(usize, char)>,
}

pub use rrc_vm::text::is_blank;

pub fn split(line: &str) -> Split {
    let mut split = Split::default();
    let mut word: Option<Word> = None;
    let mut quote: Option<(char, usize)> = None;
    let mut characters = line.char_indices();
    while let Some((at, character)) = characters.next() {
        let begin = || Word {
            range: at..at,
            ..Word::default()
        };
        match (quote, character) {
            (None | Some(('"', _)), '\\') => {
                let word = word.get_or_insert_with(begin);
                match characters.next() {
                    Some((next_at, next)) => {
                        let plain = !is_blank(next) && !matches!(next, '\\' | '"' | '\'');
                        if plain {
                            word.lost.push(at);
                        }
                        word.push(next, next_at);
                    }
                    None => {
                        word.push('\\', at);
                        split.last_backslash = Some(at);
                    }
                }
            }
            (Some((open, _)), character) if character == open => quote = None,
            (Some(_), character) => word.get_or_insert_with(begin).push(character, at),
            (None, '\'' | '"') => {
                quote = Some((character, at));
                let word = word.get_or_insert_with(begin);
                word.quoted = true;
                word.single |= character == '\'';
            }
            (None, character) if is_blank(character) => {
                if !matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}') {
                    split.odd_blanks.push((at, character));
                }
                if let Some(mut done) = word.take() {
                    done.range.end = at;
                    split.words.push(done);
                }
            }
            (None, character) => word.get_or_insert_with(begin).push(character, at),
        }
    }
    if let Some(mut done) = word {
        done.range.end = line.len();
        split.words.push(done);
    }
    split.open_quote = quote.map(|(_, at)| at);
    split
}

/// A text as one word of a command line.
pub fn word(text: &str) -> String {
    let plain = |c: char| !is_blank(c) && !matches!(c, '\'' | '"' | '\\');
    match text.chars().all(plain) && !text.is_empty() {
        true => text.to_string(),
        false => format!("'{}'", text.replace('\'', "'\"'\"'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        split(line)
            .words
            .into_iter()
            .map(|word| word.text)
            .collect()
    }

    #[test]
    fn quotes_and_backslashes_make_words() {
        assert_eq!(words("a'b c'd 'x'\"y\"z"), ["ab cd", "xyz"]);
        assert_eq!(words("'' \"\" end"), ["", "", "end"]);
        assert_eq!(
            words(r#""say \"hi\"" 'back\slash' a\\b \n"#),
            ["say \"hi\"", "back\\slash", "a\\b", "n"]
        );
        assert_eq!(words("a\\\nb tail\\"), ["a\nb", "tail\\"]);
        assert_eq!(words("a\u{a0}b\u{feff}c\u{85}d"), ["a", "b", "c\u{85}d"]);
        assert_eq!(words("  "), [""; 0]);
    }

    #[test]
    fn what_is_odd_is_found_where_it_stands() {
        assert_eq!(split("echo 'abc").open_quote, Some(5));
        assert_eq!(split("echo a\\").last_backslash, Some(6));
        assert_eq!(split("a\u{a0}b").odd_blanks, [(1, '\u{a0}')]);
        assert_eq!(split(r"printf a\n").words[1].lost, [8]);
        assert!(
            split(r#"a\ b \\ \""#)
                .words
                .iter()
                .all(|word| word.lost.is_empty())
        );
    }

    #[test]
    fn each_byte_knows_where_it_was_read() {
        let line = r#"x 'a é'\"b"#;
        let split = split(line);
        let word = &split.words[1];
        assert_eq!(word.text, "a é\"b");
        assert_eq!(&line[word.range.clone()], r#"'a é'\"b"#);
        assert_eq!(&line[word.source(2..4)], "é");
        assert_eq!(&line[word.source(5..6)], "b");
        assert_eq!(word.source(1..1), 4..4);
    }
}
