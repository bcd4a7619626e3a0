//! Placeholders that blanks cut in two, and those that never end.

use super::Lower;
use super::command::literal_json;
use super::holes::{self, Bad, Piece};
use super::spot::fix;
use super::words::{Word, is_blank};
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic};
use crate::doc::Text;

impl<'a> Lower<'_, 'a> {
    /// A placeholder that starts in one word and ends in another. Gives the number of the last word
    /// that has been spoken of.
    pub fn split_hole(&mut self, text: Text<'a>, words: &[Word], number: usize) -> usize {
        let Some(word) = words.get(number) else {
            return number;
        };
        let Some(open) = open_brace(&word.text) else {
            return number;
        };
        let bare = |word: &Word, at: usize| {
            let before = word.range.start..word.source(at..at + 1).start;
            let before = text.text().get(before).unwrap_or_default();
            !before.contains(['\'', '"', '\\'])
        };
        let Some((last, close)) = closing(words, number).filter(|_| bare(word, open)) else {
            self.open_hole(text, word, open);
            return number;
        };
        let end = &words[last];
        let start = word.source(open..open + 1).start;
        let inner = start + 1..end.source(close..close + 1).start;
        let inner = text.text().get(inner).unwrap_or_default();
        if holes::hole(inner) == Err(Bad::Json) {
            let whole = text.span(start + 1..start + 1 + inner.len());
            self.add(literal_json(whole));
            return last;
        }
        let name_like = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '!' | '(');
        let meant = inner.starts_with(|c: char| name_like(c) || is_blank(c));
        if !bare(end, close) || !(meant || holes::hole(inner).is_ok()) {
            return number;
        }
        // One that ends may be followed by another one that does not end in that word either.
        let mut last = (last, true);
        while last.1 && open_brace(&words[last.0].text).is_some() {
            last = match closing(words, last.0) {
                Some((next, _)) => (next, true),
                None => (last.0, false),
            };
        }
        let (last, whole) = last;
        let range = word.range.start..words[last].range.end;
        let raw = text.text().get(range.clone()).unwrap_or_default();
        let is_right = |piece: &Piece| match piece {
            Piece::Plain(_) => true,
            Piece::Hole(range) => holes::hole(&raw[range.clone()]).is_ok(),
        };
        let plain =
            whole && !raw.contains(['\'', '"', '\\']) && holes::pieces(raw).iter().all(is_right);
        let quotes = plain.then(|| {
            let quote = |at: usize| text.edit(at..at, "'");
            let quotes = [quote(range.start), quote(range.end)];
            fix(Applicability::Safe, "put it in single quotes", quotes)
        });
        self.add(
            Diagnostic::new(
                &codes::SPLIT_PLACEHOLDER,
                text.span(start..range.end),
                "blanks separate words before placeholders are read: this is no placeholder",
            )
            .help("put the whole word in single quotes, or remove the blanks")
            .fix_if(quotes.flatten()),
        );
        last
    }

    /// A placeholder that never ends is plain text.
    fn open_hole(&mut self, text: Text<'a>, word: &Word, open: usize) {
        let rest = word.text.get(open + 1..).unwrap_or_default();
        let name = rest.split(['=', '?', ':', '[']).next().unwrap_or_default();
        if !holes::is_name(name) {
            return;
        }
        let message = format!("nothing closes this brace, so `{name}` is plain text");
        let span = text.span(word.source(open..open + 1 + name.len()));
        self.report_once(
            Diagnostic::new(&codes::BAD_PLACEHOLDER, span, message)
                .severity(codes::Severity::Warning)
                .help(format!("write `{{{rest}}}`, if a placeholder is meant")),
        );
    }
}

/// The word whose `}` ends what a word before it has opened, and where that stands in it.
fn closing(words: &[Word], number: usize) -> Option<(usize, usize)> {
    let mut behind = words.iter().enumerate().skip(number + 1);
    let (last, at) = behind.find_map(|(at, word)| Some((at, word.text.find(['{', '}'])?)))?;
    let closes = words[last].text.as_bytes().get(at) == Some(&b'}');
    closes.then_some((last, at))
}

/// The place of a `{` that nothing in the word closes.
fn open_brace(text: &str) -> Option<usize> {
    let open = text.rfind('{')?;
    let closed = text.get(open..).is_some_and(|rest| rest.contains('}'));
    (!closed).then_some(open)
}
