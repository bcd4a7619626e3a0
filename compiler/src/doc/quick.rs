//! The YAML that nearly all recipes are written in, read quickly.
//!
//! Block maps and lists, scalars that end with their line, `|` and `>`, brackets, comments. On anything
//! else (anchors, tags, several documents, texts over several lines, tabs, every mistake) it gives up, and
//! the parser reads the file from its start: this reader never says what is wrong.
//!
//! **What it reads, it reads as the parser does**, to the byte: the same tree, the same spans. A test holds
//! the two side by side on thousands of texts; when in doubt, give up.

use super::node::{Node, Style};
use super::tree::Builder;
use super::{MAX_DEPTH, MAX_FINDINGS};
use crate::diagnostic::Report;
use crate::source::SourceId;
use bumpalo::Bump;
use memchr::{memchr, memchr2};
use std::borrow::Cow;
use std::ops::Range;

/// How far behind the start of its key a colon may stand. The parser takes a little more, counted
/// otherwise.
const MAX_KEY: usize = 512;

/// Reads one document, if it is written plainly.
pub(super) fn read<'a>(
    arena: &'a Bump,
    source: SourceId,
    text: &'a str,
    report: &mut Report,
) -> Option<Node<'a>> {
    if !is_printable(text) {
        return None;
    }
    let mut quick = Quick {
        bytes: text.as_bytes(),
        text,
        at: 0,
        line: 0,
        depth: 0,
        builder: Builder::new(arena, source, text, &[]),
    };
    quick.document()?;
    let mut own = Report::default();
    let root = quick.builder.finish(0, &mut own)?;
    // Of a file with so many the parser says only some.
    if own.findings.len() >= MAX_FINDINGS {
        return None;
    }
    report.findings.append(&mut own.findings);
    Some(root)
}

/// Whether all of a text is printable in YAML, and no line break in any version of it but `\n`.
fn is_printable(text: &str) -> bool {
    let mut at = 0;
    while let Some(next) = unusual(&text.as_bytes()[at..]) {
        at += next;
        match text[at..].chars().next() {
            Some(
                c @ ('\u{a0}'..='\u{2027}'
                | '\u{202a}'..='\u{fefe}'
                | '\u{ff00}'..='\u{fffd}'
                | '\u{10000}'..),
            ) => at += c.len_utf8(),
            _ => return false,
        }
    }
    true
}

/// The first byte that is not of plain ASCII text. Looks at whole chunks, which the processor can do at
/// once.
fn unusual(bytes: &[u8]) -> Option<usize> {
    const CHUNK: usize = 64;
    let is_unusual = |byte: &u8| !matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    let any = |chunk: &[u8]| chunk.iter().fold(false, |any, byte| any | is_unusual(byte));
    let chunk = bytes.chunks(CHUNK).position(any)? * CHUNK;
    let within = bytes[chunk..].iter().position(is_unusual)?;
    Some(chunk + within)
}

/// Nothing: what follows is not written plainly.
type Step<T = ()> = Option<T>;

/// A column, or that of what is outside of everything.
type Column = isize;
const OUTSIDE: Column = -1;

struct Quick<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    /// Where the line of `at` begins.
    line: usize,
    depth: usize,
    builder: Builder<'a, 'static>,
}

impl<'a> Quick<'a> {
    fn document(&mut self) -> Step {
        self.next_content()?;
        if self.at == self.bytes.len() {
            return None;
        }
        self.node(OUTSIDE)?;
        (self.at == self.bytes.len()).then_some(())
    }

    fn peek(&self) -> u8 {
        self.ahead(0)
    }

    /// The byte so far ahead. Behind the end there are line breaks.
    fn ahead(&self, by: usize) -> u8 {
        self.bytes.get(self.at + by).copied().unwrap_or(b'\n')
    }

    fn column(&self) -> Column {
        match self.at == self.bytes.len() {
            true => OUTSIDE,
            false => (self.at - self.line) as Column,
        }
    }

    fn skip_spaces(&mut self) {
        while self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
    }

    /// From behind a value to the next one, over the rest of the line, blank lines and comments. Nothing
    /// if more stands in the line.
    fn next_content(&mut self) -> Step {
        loop {
            let begun = self.at;
            self.skip_spaces();
            match self.bytes.get(self.at) {
                None => return Some(()),
                Some(b'\n') => {
                    self.at += 1;
                    self.line = self.at;
                }
                Some(b'#') if self.at > begun || self.at == self.line => {
                    self.at = self.line_end(self.at);
                }
                Some(b'\t') => return None,
                // What begins at the margin may be the mark of a document.
                Some(b'-' | b'.' | b'%') if self.at == self.line && self.is_mark() => return None,
                Some(_) if self.at - self.line == self.at - begun => return Some(()),
                Some(_) => return None,
            }
        }
    }

    fn is_mark(&self) -> bool {
        let rest = &self.bytes[self.at..];
        rest.starts_with(b"---") || rest.starts_with(b"...") || rest.starts_with(b"%")
    }

    fn line_end(&self, from: usize) -> usize {
        memchr(b'\n', &self.bytes[from..]).map_or(self.bytes.len(), |length| from + length)
    }

    fn open(&mut self, map: bool, flow: bool, at: Range<usize>) -> Step {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.builder.open(map, flow, 0, at)
    }

    fn close(&mut self, end: usize) {
        self.depth -= 1;
        self.builder.close(end, false);
    }

    fn scalar(&mut self, text: Cow<'a, str>, style: Style, range: Range<usize>) {
        match text {
            Cow::Borrowed(text) => {
                let quote = usize::from(style != Style::Plain);
                let from = range.start + quote;
                self.builder.verbatim(text, style, range, from);
            }
            Cow::Owned(_) => self.builder.scalar(text, style, 0, None, range),
        }
    }

    /// A value that is not written, after the colon at this place.
    fn missing(&mut self, colon: usize) {
        let missing = Cow::Borrowed("~");
        self.builder
            .scalar(missing, Style::Plain, 0, None, colon..colon);
    }

    /// Whether an item of a list begins here.
    fn is_item(&self) -> bool {
        self.peek() == b'-' && matches!(self.ahead(1), b' ' | b'\n')
    }

    /// A value in a block whose surroundings stand at this column, up to what follows it.
    fn node(&mut self, outer: Column) -> Step {
        let column = self.column();
        if self.is_item() {
            return self.list(column, None);
        }
        let start = self.at;
        match self.peek() {
            b'|' | b'>' => self.block(outer)?,
            b'[' | b'{' => self.brackets(outer)?,
            _ => {
                let (text, style) = self.word(false)?;
                let range = start..self.at;
                self.skip_spaces();
                if self.peek() == b':' {
                    return self.map(column, (text, style, range));
                }
                self.scalar(text, style, range);
            }
        }
        self.end_of_value(outer)
    }

    /// Nothing may follow a value that stands deeper than its surroundings.
    fn end_of_value(&mut self, outer: Column) -> Step {
        self.step_back_over_spaces();
        self.next_content()?;
        (self.column() <= outer).then_some(())
    }

    /// A comment must have a space before it, so what was skipped is needed again.
    fn step_back_over_spaces(&mut self) {
        while self.at > self.line && self.bytes[self.at - 1] == b' ' {
            self.at -= 1;
        }
    }

    /// A map whose keys stand at this column, from behind its first one.
    fn map(&mut self, column: Column, first: (Cow<'a, str>, Style, Range<usize>)) -> Step {
        let start = first.2.start;
        self.open(true, false, start..start)?;
        let (mut text, mut style, mut range) = first;
        loop {
            let colon = self.at;
            if self.peek() != b':'
                || !matches!(self.ahead(1), b' ' | b'\n')
                || colon - range.start > MAX_KEY
            {
                return None;
            }
            self.scalar(text, style, range);
            self.at += 1;
            self.value(column, colon)?;
            if self.column() < column {
                break;
            }
            if self.column() > column || self.is_item() {
                return None;
            }
            let begin = self.at;
            (text, style) = self.word(false)?;
            range = begin..self.at;
            self.skip_spaces();
        }
        self.close(0);
        Some(())
    }

    /// The value behind a colon, of a map at this column.
    fn value(&mut self, column: Column, colon: usize) -> Step {
        let behind = self.at;
        self.skip_spaces();
        match self.peek() {
            b'\n' | b'#' => {
                self.at = behind;
                self.next_content()?;
                if self.column() > column {
                    self.node(column)
                } else if self.column() == column && self.is_item() {
                    self.list(column, Some(column))
                } else {
                    self.missing(colon);
                    Some(())
                }
            }
            b'|' | b'>' => {
                self.block(column)?;
                self.end_of_value(column)
            }
            b'[' | b'{' => {
                self.brackets(column)?;
                self.end_of_value(column)
            }
            _ => {
                let start = self.at;
                let (text, style) = self.word(false)?;
                self.scalar(text, style, start..self.at);
                self.end_of_value(column)
            }
        }
    }

    /// A list whose dashes stand at this column, which may be that of the map it is a value of.
    fn list(&mut self, column: Column, map: Option<Column>) -> Step {
        let first = match map {
            None => self.at,
            // The parser says so of such a list.
            Some(_) => {
                let blanks = self.bytes[self.at + 1..].iter();
                self.at + 1 + blanks.take_while(|byte| **byte == b' ').count()
            }
        };
        self.open(false, false, first..first)?;
        loop {
            self.at += 1;
            let behind = self.at;
            self.skip_spaces();
            if matches!(self.peek(), b'\n' | b'#') {
                self.at = behind;
                let line = self.line;
                self.next_content()?;
                if self.line == line || self.column() <= column || map.is_some() {
                    return None;
                }
            }
            self.node(column)?;
            let next = self.column();
            if next < column || (map == Some(next) && !self.is_item()) {
                break;
            }
            if next > column || !self.is_item() {
                return None;
            }
        }
        self.close(0);
        Some(())
    }

    /// A plain or quoted scalar that ends with its line.
    fn word(&mut self, flow: bool) -> Step<(Cow<'a, str>, Style)> {
        match self.peek() {
            b'\'' => Some((self.single()?, Style::Single)),
            b'"' => Some((self.double()?, Style::Double)),
            _ => Some((Cow::Borrowed(self.plain(flow)?), Style::Plain)),
        }
    }

    fn plain(&mut self, flow: bool) -> Step<&'a str> {
        let start = self.at;
        match self.peek() {
            b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*' | b'!' | b'|' | b'>' | b'\''
            | b'"' | b'%' | b'@' | b'`' | b'\n' | b'\t' | b' ' => return None,
            b'-' | b'?' | b':' => match self.ahead(1) {
                b' ' | b'\n' | b'\t' => return None,
                b',' | b'[' | b']' | b'{' | b'}' if flow => return None,
                _ => {}
            },
            _ => {}
        }
        let mut at = start;
        let mut end = start;
        loop {
            let byte = self.bytes.get(at).copied().unwrap_or(b'\n');
            match byte {
                b' ' => {
                    at += 1;
                    continue;
                }
                b'\n' => break,
                b'\t' => return None,
                b'#' if at > end => break,
                b':' => match self.bytes.get(at + 1).copied().unwrap_or(b'\n') {
                    b' ' | b'\n' => break,
                    b'\t' => return None,
                    b',' | b'[' | b']' | b'{' | b'}' if flow => break,
                    _ => {}
                },
                b',' | b'[' | b']' | b'{' | b'}' if flow => break,
                _ => {}
            }
            at += 1;
            end = at;
        }
        self.at = end;
        self.text.get(start..end)
    }

    fn single(&mut self) -> Step<Cow<'a, str>> {
        let start = self.at + 1;
        let mut from = start;
        let mut doubled = false;
        loop {
            let at = from + memchr2(b'\'', b'\n', &self.bytes[from..])?;
            if self.bytes[at] == b'\n' {
                return None;
            }
            if self.bytes.get(at + 1) != Some(&b'\'') {
                self.at = at + 1;
                let inner = self.text.get(start..at)?;
                return Some(match doubled {
                    true => Cow::Owned(inner.replace("''", "'")),
                    false => Cow::Borrowed(inner),
                });
            }
            doubled = true;
            from = at + 2;
        }
    }

    fn double(&mut self) -> Step<Cow<'a, str>> {
        let start = self.at + 1;
        let length = memchr2(b'"', b'\\', &self.bytes[start..])?;
        let inner = self.text.get(start..start + length)?;
        if inner.contains('\n') {
            return None;
        }
        if self.bytes[start + length] == b'"' {
            self.at = start + length + 1;
            return Some(Cow::Borrowed(inner));
        }
        let mut decoded = String::from(inner);
        let mut at = start + length;
        loop {
            match self.bytes.get(at)? {
                b'"' => break,
                b'\n' => return None,
                b'\\' => {
                    decoded.push(match self.bytes.get(at + 1)? {
                        b'n' => '\n',
                        b't' => '\t',
                        b'r' => '\r',
                        same @ (b'"' | b'\\' | b'/') => char::from(*same),
                        _ => return None,
                    });
                    at += 2;
                }
                _ => {
                    let rest = &self.bytes[at..];
                    let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | b'\n');
                    let length = rest.iter().position(stops)?;
                    decoded.push_str(self.text.get(at..at + length)?);
                    at += length;
                }
            }
        }
        self.at = at + 1;
        Some(Cow::Owned(decoded))
    }

    /// A text below `|` or `>`, of surroundings at this column.
    fn block(&mut self, outer: Column) -> Step {
        let folded = self.peek() == b'>';
        self.at += 1;
        let keep = self.peek();
        if matches!(keep, b'-' | b'+') {
            self.at += 1;
        }
        let header = self.line_end(self.at);
        let rest = &self.bytes[self.at..header];
        let comment = rest.trim_ascii_start();
        if !comment.is_empty() && (comment[0] != b'#' || comment.len() == rest.len())
            || rest.contains(&b'\t')
        {
            return None;
        }
        let (start, indent) = self.block_start(header + 1, outer)?;
        let mut text = String::new();
        // Line breaks that are written when a line follows them.
        let mut breaks = self.bytes[header + 1..start]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        let mut line = start - indent;
        let mut any = false;
        loop {
            let content = &self.bytes[line..];
            let spaces = content.iter().take_while(|byte| **byte == b' ').count();
            let Some(byte) = content.get(spaces) else {
                // A last line without its end; if it holds nothing, it is none.
                if spaces > 0 {
                    return None;
                }
                self.at = line;
                break;
            };
            if *byte == b'\n' && spaces <= indent {
                breaks += 1;
                line += spaces + 1;
                continue;
            }
            if spaces < indent {
                if *byte == b'\t' {
                    return None;
                }
                self.at = line + spaces;
                break;
            }
            let from = line + indent;
            if folded && (spaces > indent || *byte == b'\t') {
                return None;
            }
            let end = memchr(b'\n', &self.bytes[from..])? + from;
            match (folded && any, breaks) {
                (true, 1) => text.push(' '),
                (true, _) => text.extend(std::iter::repeat_n('\n', breaks - 1)),
                (false, _) => text.extend(std::iter::repeat_n('\n', breaks)),
            }
            text.push_str(self.text.get(from..end)?);
            any = true;
            breaks = 1;
            line = end + 1;
        }
        self.line = line;
        match keep {
            b'-' => {}
            b'+' => text.extend(std::iter::repeat_n('\n', breaks)),
            _ => text.push('\n'),
        }
        let style = match folded {
            true => Style::Folded,
            false => Style::Literal,
        };
        self.scalar(Cow::Owned(text), style, start..self.at);
        self.at = self.line;
        Some(())
    }

    /// Where the text of a block begins, and how deep, from the line behind its header.
    fn block_start(&self, mut line: usize, outer: Column) -> Step<(usize, usize)> {
        let mut widest = 0;
        loop {
            let content = self.bytes.get(line..)?;
            let spaces = content.iter().take_while(|byte| **byte == b' ').count();
            match content.get(spaces)? {
                b'\n' => {
                    widest = widest.max(spaces);
                    line += spaces + 1;
                }
                b'\t' => return None,
                _ if (spaces as Column) <= outer || spaces == 0 || widest > spaces => return None,
                _ => return Some((line + spaces, spaces)),
            }
        }
    }

    /// A list or map in brackets, which may go on over lines that stand deeper than its surroundings.
    fn brackets(&mut self, outer: Column) -> Step {
        let map = self.peek() == b'{';
        let close = if map { b'}' } else { b']' };
        self.open(map, true, self.at..self.at + 1)?;
        self.at += 1;
        loop {
            self.inside(outer)?;
            if self.peek() == close {
                break;
            }
            if map {
                self.pair(outer)?;
            } else {
                self.inner(outer)?;
            }
            self.inside(outer)?;
            match self.peek() {
                b',' => self.at += 1,
                byte if byte == close => break,
                _ => return None,
            }
        }
        self.at += 1;
        self.close(self.at);
        Some(())
    }

    /// Over blanks, line breaks and comments between brackets.
    fn inside(&mut self, outer: Column) -> Step {
        let line = self.line;
        self.skip_spaces();
        if matches!(self.peek(), b'\n' | b'#') {
            self.step_back_over_spaces();
            self.next_content()?;
            if self.line == line || self.column() <= outer {
                return None;
            }
        }
        (self.peek() != b'\t').then_some(())
    }

    fn pair(&mut self, outer: Column) -> Step {
        let start = self.at;
        let (text, style) = self.word(true)?;
        self.scalar(text, style, start..self.at);
        self.skip_spaces();
        let colon = self.at;
        if self.peek() != b':'
            || !matches!(self.ahead(1), b' ' | b'\n' | b',' | b'}')
            || colon - start > MAX_KEY
        {
            return None;
        }
        self.at += 1;
        self.inside(outer)?;
        if matches!(self.peek(), b',' | b'}') {
            self.missing(colon);
            return Some(());
        }
        self.inner(outer)
    }

    /// A value between brackets.
    fn inner(&mut self, outer: Column) -> Step {
        if matches!(self.peek(), b'[' | b'{') {
            return self.brackets(outer);
        }
        let start = self.at;
        let (text, style) = self.word(true)?;
        self.scalar(text, style, start..self.at);
        Some(())
    }
}
