//! Heredocs: the end mark after `<<`, and the bodies that follow the line.
//!
//! Bodies are taken line by line as bash does, before anything in them is read.

use super::position::{Place, Quote, Refusal, Use};
use super::scan::{Around, HOLE, Scan};
use super::word::Word;
use std::ops::Range;

/// A heredoc whose body has not come yet.
pub(super) struct Pending {
    pub here: usize,
    dash: bool,
    /// The `-` of `<<-`.
    dash_at: usize,
    quoted: bool,
    mark: Vec<u8>,
    /// Where the mark stands after `<<`, with its quotes.
    word: Range<usize>,
    /// The substitution it began in has ended before its body came, or its mark is continued on
    /// a second line: it can be read, but not rewritten.
    pub carried: bool,
}

/// A heredoc of the text.
#[derive(Default)]
pub(super) struct Here {
    /// The holes right in its body.
    pub holes: Vec<usize>,
    pub program: Option<String>,
    /// What is read from it may come into a variable that evaluates it.
    pub evaluated: bool,
    /// How it is rewritten, if values are pasted into it.
    pub paste: Option<Paste>,
}

pub(super) struct Paste {
    pub mark: String,
    pub word: Range<usize>,
    pub body: Range<usize>,
    /// Where the mark ends the body.
    pub end: Option<Range<usize>>,
    /// What `<<-` would have removed, and its `-`.
    pub removed: Vec<Range<usize>>,
}

impl Scan<'_, '_, '_> {
    /// After `<<` or `<<-`: reads the end mark. Returns the number of the heredoc.
    pub(super) fn heredoc_mark(&mut self) -> usize {
        let dash = self.peek() == Some(b'-');
        let dash_at = self.row.get(self.pos).map_or(0, |unit| unit.at());
        if dash {
            self.skip(1);
        }
        self.blanks();
        let start = self.pos;
        let mut mark = Vec::new();
        let mut quoted = false;
        let mut continued = false;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                HOLE => {
                    let around = Around::new(Place::HeredocDelimiter);
                    self.hole(around.refuse(Refusal::HeredocDelimiter));
                    self.lose(Refusal::HeredocDelimiter);
                }
                b'\'' | b'"' => {
                    quoted = true;
                    self.skip(1);
                    self.quoted_mark(byte, &mut mark);
                }
                b'\\' if self.peek_at(1) == Some(b'\n') => {
                    // A mark on two lines cannot be replaced without losing a line.
                    continued = true;
                    self.skip(2);
                }
                b'\\' => {
                    quoted = true;
                    self.skip(1);
                    mark.extend(self.peek());
                    self.skip(1);
                }
                b'$' | b'`' if matches!(self.peek_at(1), Some(b'\'' | b'"' | b'(' | b'{')) => {
                    self.lose(Refusal::Lost);
                }
                _ => {
                    mark.push(byte);
                    self.skip(1);
                }
            }
        }
        let end = self.offset();
        let here = self.found.heres.len();
        self.found.heres.push(Here::default());
        self.pending.push(Pending {
            here,
            dash,
            dash_at,
            quoted,
            mark,
            word: self.row.get(start).map_or(end, |unit| unit.at())..end,
            carried: continued,
        });
        here
    }

    fn quoted_mark(&mut self, quote: u8, mark: &mut Vec<u8>) {
        while let Some(byte) = self.peek() {
            if byte == HOLE || (byte == b'\\' && quote == b'"') {
                return self.lose(Refusal::HeredocDelimiter);
            }
            self.skip(1);
            if byte == quote {
                return;
            }
            mark.push(byte);
        }
    }

    /// Where the current unit stands in the text.
    pub(super) fn offset(&self) -> usize {
        match (self.row.get(self.pos), self.row.last()) {
            (Some(unit), _) => unit.at(),
            (None, Some(last)) => last.at() + 1,
            (None, None) => 0,
        }
    }

    /// After a line break: the bodies of the heredocs that the line began.
    pub(super) fn heredoc_bodies(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            if self.lost() {
                return;
            }
            self.heredoc_body(&pending);
        }
    }

    fn heredoc_body(&mut self, pending: &Pending) {
        let start = self.pos;
        let start_at = self.offset();
        let mut removed = Vec::new();
        let mut end = None;
        let mut stop = self.row.len();
        while self.pos < self.row.len() {
            let line_start = self.pos;
            let tabs_at = self.offset();
            if pending.dash {
                while self.peek() == Some(b'\t') {
                    self.skip(1);
                }
                if self.pos > line_start {
                    removed.push(tabs_at..self.offset());
                }
            }
            let text_at = self.offset();
            let (line, rest) = self.line(pending.quoted);
            if line == pending.mark {
                end = Some(text_at..text_at + line.len());
                stop = line_start;
                self.pos = rest;
                break;
            }
            let tail = line.strip_prefix(pending.mark.as_slice());
            if self.in_parens && tail.is_some_and(|tail| tail.contains(&b')')) {
                end = Some(text_at..text_at + pending.mark.len());
                stop = line_start;
                self.pos = line_start + (text_at - tabs_at) + pending.mark.len();
                break;
            }
            self.pos = rest;
        }
        let after = self.pos;
        let stop_at = self.row.get(stop).map(|unit| unit.at());
        let body = start_at..stop_at.unwrap_or_else(|| {
            self.pos = self.row.len();
            self.offset()
        });
        self.pos = after;
        if pending.quoted {
            self.quoted_body(pending, start..stop, body, end, removed);
        } else if self.enter() {
            let row = &self.row[start..stop];
            let mut inner = self.inner(row);
            inner.in_heredoc = true;
            let holes = inner.unquoted_body();
            self.leave();
            if let Some(here) = self.found.heres.get_mut(pending.here) {
                here.holes = holes;
            }
        }
    }

    /// The bytes of the line that begins here as bash compares them, and where the next begins.
    fn line(&self, quoted: bool) -> (Vec<u8>, usize) {
        let mut line = Vec::new();
        let mut pos = self.pos;
        while let Some(unit) = self.row.get(pos) {
            let next = self.row.get(pos + 1).map(|unit| unit.byte);
            match unit.byte {
                b'\n' => return (line, pos + 1),
                b'\\' if !quoted && next == Some(b'\n') => pos += 2,
                b'\\' if !quoted => {
                    line.push(b'\\');
                    line.extend(next);
                    pos += 2;
                }
                byte => {
                    line.push(byte);
                    pos += 1;
                }
            }
        }
        (line, pos.min(self.row.len()))
    }

    fn quoted_body(
        &mut self,
        pending: &Pending,
        units: Range<usize>,
        body: Range<usize>,
        end: Option<Range<usize>>,
        mut removed: Vec<Range<usize>>,
    ) {
        let holes: Vec<usize> = self.row[units]
            .iter()
            .filter(|unit| unit.byte == HOLE)
            .map(|unit| self.found.hole_at(unit.at()))
            .collect();
        let mut around = Around::new(Place::HeredocBody).quote(Quote::QuotedHeredoc);
        if self.backticks > 0 {
            around = around.refuse(Refusal::BacktickPaste);
        }
        if self.in_heredoc {
            around = around.refuse(Refusal::OuterHeredoc);
        }
        if pending.carried {
            around = around.refuse(Refusal::Lost);
        }
        let mark = String::from_utf8(pending.mark.clone()).unwrap_or_default();
        if mark.is_empty() || mark.contains(['\'', '\n']) {
            around = around.refuse(Refusal::HeredocDelimiter);
        }
        for hole in &holes {
            self.note(*hole, around);
        }
        let pasted = around.refusal.is_none()
            && holes.iter().any(|hole| {
                matches!(self.found.positions.get(*hole), Some(Some(p)) if p.reach == Use::Paste)
            });
        let Some(here) = self.found.heres.get_mut(pending.here) else {
            return;
        };
        here.holes = holes;
        if pasted {
            if pending.dash {
                removed.push(pending.dash_at..pending.dash_at + 1);
            }
            here.paste = Some(Paste {
                mark,
                word: pending.word.clone(),
                body,
                end,
                removed,
            });
        }
    }

    /// The body of an unquoted heredoc: like double quotes, but a `"` is itself.
    fn unquoted_body(&mut self) -> Vec<usize> {
        let around = Around::new(Place::HeredocBody).quote(Quote::Heredoc);
        let mut body = Word::default();
        while let Some(byte) = self.peek() {
            match byte {
                HOLE => body.hole(self.hole(around), false),
                b'\\' => {
                    self.escape(around);
                }
                b'$' => self.dollar(around, &mut body),
                b'`' => self.backtick(false),
                _ => self.skip(1),
            }
        }
        body.holes.into_vec()
    }
}
