//! From a decoded scalar back to the bytes the author wrote.
//!
//! The parser says what a scalar's text is; this decodes the raw bytes once more, following that
//! text, and notes which bytes gave which. Where the two disagree the trace gives up, so a wrong
//! place is never reported: only a wider one.

use std::ops::Range;

/// Decoded bytes from `decoded` up to the next segment came from `length` source bytes at `source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    decoded: u32,
    source: u32,
    length: u32,
    /// The bytes are the same, so a part of the segment is a part of the source.
    verbatim: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Trace<'a> {
    /// The text stands in the source as it is, from this offset on.
    Straight(u32),
    Segments(&'a [Segment]),
    /// Unknown; only the whole scalar can be pointed at.
    Whole,
}

impl Trace<'_> {
    pub(super) fn source(&self, range: Range<usize>, text_len: usize) -> Option<Range<usize>> {
        let end = range.end.min(text_len);
        let start = range.start.min(end);
        match self {
            Trace::Straight(at) => Some(*at as usize + start..*at as usize + end),
            Trace::Segments(segments) => {
                let first = segment_at(segments, start)?;
                let begin = first.source as usize
                    + if first.verbatim {
                        // An empty range at the very end lies just behind the last segment.
                        (start - first.decoded as usize).min(first.length as usize)
                    } else if start == text_len && start > first.decoded as usize {
                        first.length as usize
                    } else {
                        0
                    };
                if start == end {
                    return Some(begin..begin);
                }
                let last = segment_at(segments, end - 1)?;
                let stop = last.source as usize
                    + if last.verbatim {
                        (end - last.decoded as usize).min(last.length as usize)
                    } else {
                        last.length as usize
                    };
                Some(begin..stop.max(begin))
            }
            Trace::Whole => None,
        }
    }
}

fn segment_at(segments: &[Segment], decoded: usize) -> Option<&Segment> {
    let after = segments.partition_point(|segment| segment.decoded as usize <= decoded);
    segments.get(after.checked_sub(1)?)
}

/// Follows the expected text through the raw bytes.
pub(super) struct Tracer<'t> {
    expected: &'t [u8],
    at: usize,
    segments: &'t mut Vec<Segment>,
}

/// The raw bytes do not give the expected text.
pub(super) struct Lost;
type Step = Result<(), Lost>;

impl<'t> Tracer<'t> {
    pub(super) fn new(expected: &'t str, segments: &'t mut Vec<Segment>) -> Tracer<'t> {
        segments.clear();
        Tracer {
            expected: expected.as_bytes(),
            at: 0,
            segments,
        }
    }

    fn rest(&self) -> &'t [u8] {
        &self.expected[self.at..]
    }

    fn done(&self) -> bool {
        self.at == self.expected.len()
    }

    fn push(&mut self, decoded: usize, source: usize, length: usize, verbatim: bool) {
        if verbatim
            && let Some(last) = self.segments.last_mut()
            && last.verbatim
            && (last.source + last.length) as usize == source
        {
            last.length += length as u32;
        } else {
            self.segments.push(Segment {
                decoded: self.at as u32,
                source: source as u32,
                length: length as u32,
                verbatim,
            });
        }
        self.at += decoded;
    }

    /// Source bytes that stand for themselves.
    fn copy(&mut self, text: &[u8], range: Range<usize>) -> Step {
        let bytes = text.get(range.clone()).ok_or(Lost)?;
        if !self.rest().starts_with(bytes) {
            return Err(Lost);
        }
        if !bytes.is_empty() {
            self.push(bytes.len(), range.start, bytes.len(), true);
        }
        Ok(())
    }

    /// Source bytes that stand for something else.
    fn put(&mut self, decoded: &[u8], range: Range<usize>) -> Step {
        if !self.rest().starts_with(decoded) {
            return Err(Lost);
        }
        self.push(decoded.len(), range.start, range.end - range.start, false);
        Ok(())
    }

    fn end(&self) -> Step {
        if self.done() { Ok(()) } else { Err(Lost) }
    }

    /// A line break, which decodes to `\n` however it is written.
    fn line_break(&mut self, text: &[u8], range: Range<usize>) -> Step {
        if text.get(range.clone()) == Some(b"\n") {
            self.copy(text, range)
        } else {
            self.put(b"\n", range)
        }
    }

    /// A plain or quoted scalar whose content (without quotes) is `range` of `text`.
    pub(super) fn flow(mut self, text: &[u8], range: Range<usize>, quote: Option<u8>) -> Step {
        let end = range.end.min(text.len());
        let mut at = range.start;
        let mut copied = at;
        while at < end {
            match text[at] {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    let blanks = skip_blanks(text, at, end);
                    if break_at(text, blanks, end).is_none() {
                        at = blanks;
                        continue;
                    }
                    self.copy(text, copied..at)?;
                    at = self.fold(text, at, blanks, end)?;
                    copied = at;
                }
                b'\'' if quote == Some(b'\'') => {
                    self.copy(text, copied..at)?;
                    self.put(b"'", at..(at + 2).min(end))?;
                    at = (at + 2).min(end);
                    copied = at;
                }
                b'\\' if quote == Some(b'"') => {
                    self.copy(text, copied..at)?;
                    at = self.escape(text, at, end)?;
                    copied = at;
                }
                _ => at += 1,
            }
        }
        self.copy(text, copied..end)?;
        self.end()
    }

    /// One or more line breaks inside a plain or quoted scalar: one is a space, more are one less.
    fn fold(&mut self, text: &[u8], from: usize, blanks: usize, end: usize) -> Result<usize, Lost> {
        let first = break_at(text, blanks, end).ok_or(Lost)?;
        let mut at = skip_blanks(text, first, end);
        if break_at(text, at, end).is_none() {
            self.put(b" ", from..at)?;
            return Ok(at);
        }
        while let Some(next) = break_at(text, at, end) {
            self.line_break(text, at..next)?;
            at = skip_blanks(text, next, end);
        }
        Ok(at)
    }

    /// A backslash escape of a double-quoted scalar.
    fn escape(&mut self, text: &[u8], at: usize, end: usize) -> Result<usize, Lost> {
        if let Some(next) = break_at(text, at + 1, end) {
            let mut at = skip_blanks(text, next, end);
            while let Some(next) = break_at(text, at, end) {
                self.line_break(text, at..next)?;
                at = skip_blanks(text, next, end);
            }
            return Ok(at);
        }
        let letter = *text.get(at + 1).filter(|_| at + 1 < end).ok_or(Lost)?;
        let digits = match letter {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            _ => {
                let value = named_escape(letter).ok_or(Lost)?;
                let mut buffer = [0; 4];
                self.put(value.encode_utf8(&mut buffer).as_bytes(), at..at + 2)?;
                return Ok(at + 2);
            }
        };
        let mut stop = at + 2 + digits;
        let mut value = hex(text, at + 2..stop, end)?;
        if (0xd800..0xdc00).contains(&value) && text.get(stop..stop + 2) == Some(b"\\u") {
            let low = hex(text, stop + 2..stop + 6, end)?;
            value = 0x10000 + ((value - 0xd800) << 10) + low.checked_sub(0xdc00).ok_or(Lost)?;
            stop += 6;
        }
        let value = char::from_u32(value).ok_or(Lost)?;
        let mut buffer = [0; 4];
        self.put(value.encode_utf8(&mut buffer).as_bytes(), at..stop)?;
        Ok(stop)
    }

    /// A block scalar whose first content byte, behind its indentation, is `range.start`.
    pub(super) fn block(mut self, text: &[u8], range: Range<usize>, folded: bool) -> Step {
        let end = range.end.min(text.len());
        let line = memchr::memrchr2(b'\n', b'\r', &text[..range.start]).map_or(0, |at| at + 1);
        let indent = range.start - line;
        self.leading_breaks(text, line)?;
        let mut at = range.start;
        let mut before_spaced = false;
        let mut first = true;
        // Breaks not yet accounted for: how many a fold keeps depends on the line behind them.
        let mut breaks: Vec<Range<usize>> = Vec::new();
        while !self.done() && at < end {
            let content = if first {
                at
            } else {
                let spaces = text[at..end]
                    .iter()
                    .take(indent)
                    .take_while(|b| **b == b' ');
                at + spaces.count()
            };
            let stop = line_end(text, content, end);
            let next = break_at(text, stop, end);
            if content < stop {
                let spaced = matches!(text[content], b' ' | b'\t');
                self.join(text, &breaks, folded && !first && !spaced && !before_spaced)?;
                breaks.clear();
                self.copy(text, content..stop)?;
                before_spaced = spaced;
                first = false;
            }
            let Some(next) = next else { break };
            breaks.push(stop..next);
            at = next;
        }
        // What chomping left of the last breaks.
        for span in &breaks {
            if self.done() {
                break;
            }
            self.line_break(text, span.clone())?;
        }
        if !self.done() {
            self.put(b"\n", end..end)?;
        }
        self.end()
    }

    /// The breaks between two lines of content.
    fn join(&mut self, text: &[u8], breaks: &[Range<usize>], fold: bool) -> Step {
        match breaks {
            [only] if fold => self.put(b" ", only.clone()),
            [_, rest @ ..] if fold => rest
                .iter()
                .try_for_each(|span| self.line_break(text, span.clone())),
            all => all
                .iter()
                .try_for_each(|span| self.line_break(text, span.clone())),
        }
    }

    /// Empty lines in front of a block scalar's first content, which its range leaves out.
    fn leading_breaks(&mut self, text: &[u8], line: usize) -> Step {
        let count = self.rest().iter().take_while(|b| **b == b'\n').count();
        if count == self.expected.len() && count > 0 {
            return Err(Lost);
        }
        let mut spans = Vec::new();
        let mut at = line;
        for _ in 0..count {
            let from = at
                .checked_sub(if text[..at].ends_with(b"\r\n") { 2 } else { 1 })
                .ok_or(Lost)?;
            spans.push(from..at);
            at = from;
            while at > 0 && text[at - 1] == b' ' {
                at -= 1;
            }
        }
        for span in spans.into_iter().rev() {
            self.line_break(text, span)?;
        }
        Ok(())
    }
}

fn skip_blanks(text: &[u8], mut at: usize, end: usize) -> usize {
    while at < end && matches!(text[at], b' ' | b'\t') {
        at += 1;
    }
    at
}

/// The end of the line break at `at`, if there is one.
fn break_at(text: &[u8], at: usize, end: usize) -> Option<usize> {
    let rest = text.get(at..end)?;
    match rest {
        [b'\r', b'\n', ..] => Some(at + 2),
        [b'\r' | b'\n', ..] => Some(at + 1),
        _ => None,
    }
}

fn line_end(text: &[u8], at: usize, end: usize) -> usize {
    memchr::memchr2(b'\n', b'\r', &text[at..end]).map_or(end, |length| at + length)
}

fn hex(text: &[u8], range: Range<usize>, end: usize) -> Result<u32, Lost> {
    if range.end > end {
        return Err(Lost);
    }
    let mut value: u32 = 0;
    for byte in &text[range] {
        let digit = (*byte as char).to_digit(16).ok_or(Lost)?;
        value = value.checked_mul(16).ok_or(Lost)? + digit;
    }
    Ok(value)
}

fn named_escape(letter: u8) -> Option<char> {
    Some(match letter {
        b'0' => '\0',
        b'a' => '\x07',
        b'b' => '\x08',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\x0b',
        b'f' => '\x0c',
        b'r' => '\r',
        b'e' => '\x1b',
        b' ' => ' ',
        b'"' => '"',
        b'/' => '/',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{a0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        _ => return None,
    })
}
