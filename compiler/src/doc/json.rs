//! JSON text to the spanned tree, strictly.
//!
//! Tokens by logos, a small recursive descent above them. A mistake is said once, and reading goes
//! on at the next comma or closing bracket of the same value.

use super::node::{Entry, Kind, Node, Scalar, Style, duplicate_key, repeated};
use super::trace::{Segment, Trace, Tracer};
use super::{MAX_DEPTH, MAX_FINDINGS};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::source::{SourceId, Span};
use bumpalo::Bump;
use logos::{Lexer, Logos};
use std::ops::Range;

#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n]+")]
enum Token {
    #[token("{")]
    OpenMap,
    #[token("}")]
    CloseMap,
    #[token("[")]
    OpenList,
    #[token("]")]
    CloseList,
    #[token(":")]
    Colon,
    #[token(",")]
    Comma,
    #[regex(r#""[^"\\\x00-\x1f]*""#, priority = 30)]
    Straight,
    #[regex(
        r#""([^"\\\x00-\x1f]|\\(["\\/bfnrt]|u[0-9a-fA-F]{4}))*""#,
        priority = 20
    )]
    Escaped,
    #[regex(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?", priority = 20)]
    Number,
    #[token("true", priority = 30)]
    #[token("false", priority = 30)]
    #[token("null", priority = 30)]
    Literal,

    // What people write that is not JSON, so that it can be named.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#, priority = 10)]
    BadText,
    #[regex(r#""([^"\\\n]|\\[^\n])*"#, priority = 5)]
    OpenText,
    #[regex(r"'([^'\\\n]|\\[^\n])*'", priority = 10)]
    SingleQuoted,
    #[regex(r"[-+.0-9][-+.0-9A-Za-z_]*", priority = 10)]
    BadNumber,
    #[regex(r"[A-Za-z_$][A-Za-z0-9_$]*", priority = 10)]
    Word,
    #[regex(r"(//|#)[^\n]*", priority = 10, allow_greedy = true)]
    #[regex(r"/\*([^*]|\*+[^*/])*\*+/", priority = 10)]
    Comment,
}

/// Reads one JSON value. What is wrong goes to the report; nothing is given back only if nothing
/// could be understood.
pub fn read<'a>(
    arena: &'a Bump,
    source: SourceId,
    text: &'a str,
    report: &mut Report,
) -> Option<Node<'a>> {
    if super::too_large(source, text, report) {
        return None;
    }
    let skipped = text.len() - text.trim_start_matches('\u{feff}').len();
    let mut lexer = Token::lexer(text);
    lexer.bump(skipped);
    let mut reader = Reader {
        arena,
        source,
        text,
        lexer,
        token: None,
        at: 0..0,
        nodes: Vec::new(),
        entries: Vec::new(),
        segments: Vec::new(),
        ended: false,
        lost: false,
        said: 0,
        report,
    };
    reader.advance();
    if reader.token.is_none() {
        reader.report.add(
            Diagnostic::new(&codes::NOT_A_RECIPE, Span::top(source), "the file is empty")
                .help("a command template is a JSON object with `template`"),
        );
        return None;
    }
    let root = reader.value(0);
    if reader.token.is_some() && !root.is_broken() {
        let span = reader.here();
        reader.say(
            span,
            "text stands behind the end of the value",
            "a JSON file holds one value: a bracket is missing before this, or this is too much",
        );
    }
    (!root.is_broken()).then_some(root)
}

struct Reader<'a, 'r> {
    arena: &'a Bump,
    source: SourceId,
    text: &'a str,
    lexer: Lexer<'a, Token>,
    /// The token to look at: none at the end, an error where no token fits.
    token: Option<Result<Token, ()>>,
    at: Range<usize>,
    nodes: Vec<Node<'a>>,
    entries: Vec<Entry<'a>>,
    segments: Vec<Segment>,
    /// The end of the text has been complained about.
    ended: bool,
    /// What belongs to what in the list or map around is not known any more, and that has been said.
    lost: bool,
    said: usize,
    report: &'r mut Report,
}

impl<'a> Reader<'a, '_> {
    fn advance(&mut self) {
        self.token = self.lexer.next();
        self.at = self.lexer.span();
    }

    fn is(&self, token: Token) -> bool {
        self.token == Some(Ok(token))
    }

    fn here(&self) -> Span {
        let at = match self.token {
            Some(_) => self.at.clone(),
            None => self.text.len()..self.text.len(),
        };
        let end = self.text.floor_char_boundary(at.end);
        Span::new(
            self.source,
            self.text.floor_char_boundary(at.start.min(end)),
            end,
        )
    }

    fn add(&mut self, found: Diagnostic) {
        self.said += 1;
        if self.said <= MAX_FINDINGS {
            self.report.add(found);
        }
    }

    fn say(&mut self, span: Span, message: impl Into<String>, help: &str) {
        self.add(Diagnostic::new(&codes::JSON_SYNTAX, span, message).help(help));
    }

    fn broken(&self, span: Span) -> Node<'a> {
        Node::new(span, Kind::Broken)
    }

    fn value(&mut self, depth: usize) -> Node<'a> {
        let span = self.here();
        match self.token {
            Some(Ok(Token::OpenMap | Token::OpenList)) if depth == MAX_DEPTH => {
                self.add(super::too_deep(span));
                self.skip();
                self.broken(span)
            }
            Some(Ok(Token::OpenMap)) => self.map(depth),
            Some(Ok(Token::OpenList)) => self.list(depth),
            Some(Ok(Token::Straight | Token::Escaped)) => self.string(),
            Some(Ok(Token::Number)) => self.number(),
            Some(Ok(Token::Literal)) => {
                let node = self.plain(span);
                self.advance();
                node
            }
            _ => {
                self.unexpected("a value");
                self.skip();
                self.broken(span)
            }
        }
    }

    fn plain(&self, span: Span) -> Node<'a> {
        let scalar = self.arena.alloc(Scalar {
            text: &self.text[span.range()],
            style: Style::Plain,
            tag: None,
            trace: Trace::Straight(span.start),
        });
        Node::new(span, Kind::Scalar(scalar))
    }

    fn number(&mut self) -> Node<'a> {
        let span = self.here();
        let written = &self.text[span.range()];
        self.advance();
        if written.parse::<f64>().is_ok_and(f64::is_finite) {
            return self.plain(span);
        }
        self.say(
            span,
            format!("the number `{written}` is too large"),
            "write a number below 1e308, or quote it",
        );
        self.broken(span)
    }

    fn string(&mut self) -> Node<'a> {
        let span = self.here();
        let escaped = self.is(Token::Escaped);
        self.advance();
        let content = span.start as usize + 1..span.end as usize - 1;
        let written = &self.text[content.clone()];
        let mut text = written;
        let mut trace = Trace::Straight(content.start as u32);
        if escaped {
            match unescape(written) {
                Ok(decoded) => text = self.arena.alloc_str(&decoded),
                Err(bad) => {
                    let at = content.start + bad;
                    let span = Span::new(self.source, at, at + 6);
                    self.say(
                        span,
                        format!("`{}` is half of a character", &self.text[at..at + 6]),
                        "write both halves of the pair, or the character itself",
                    );
                    return self.broken(span);
                }
            }
            let tracer = Tracer::new(text, &mut self.segments);
            trace = match tracer.flow(self.text.as_bytes(), content, Some(b'"')) {
                Ok(()) => Trace::Segments(self.arena.alloc_slice_copy(&self.segments)),
                Err(_) => Trace::Whole,
            };
        }
        let scalar = self.arena.alloc(Scalar {
            text,
            style: Style::Double,
            tag: None,
            trace,
        });
        Node::new(span, Kind::Scalar(scalar))
    }

    fn list(&mut self, depth: usize) -> Node<'a> {
        let open = self.here();
        let first = self.nodes.len();
        self.advance();
        let mut partial = false;
        let outer = std::mem::take(&mut self.lost);
        if !self.is(Token::CloseList) {
            loop {
                let item = self.value(depth + 1);
                self.nodes.push(item);
                if !self.separator(Token::CloseList, open, item.is_broken(), &mut partial) {
                    break;
                }
            }
        }
        self.lost = outer;
        let span = self.close(Token::CloseList, open, depth);
        let items = self.arena.alloc_slice_copy(&self.nodes[first..]);
        self.nodes.truncate(first);
        let mut node = Node::new(span, Kind::List(items));
        node.partial = partial;
        node
    }

    fn map(&mut self, depth: usize) -> Node<'a> {
        let open = self.here();
        let first = self.entries.len();
        self.advance();
        let mut partial = false;
        let outer = std::mem::take(&mut self.lost);
        if !self.is(Token::CloseMap) {
            loop {
                let entry = self.entry(depth);
                match entry {
                    Some(entry) => self.entries.push(entry),
                    None => partial = true,
                }
                let said = entry.is_none_or(|entry| entry.value.is_broken());
                if !self.separator(Token::CloseMap, open, said, &mut partial) {
                    break;
                }
            }
        }
        self.lost = outer;
        let span = self.close(Token::CloseMap, open, depth);
        let again = repeated(&self.entries[first..]);
        for (index, earlier) in &again {
            let (repeat, original) = (self.entries[first + index], self.entries[first + earlier]);
            self.add(duplicate_key(&repeat, &original));
        }
        let own = &self.entries[first..];
        let entries = if again.is_empty() {
            self.arena.alloc_slice_copy(own)
        } else {
            let mut kept = Vec::with_capacity(own.len());
            for (index, entry) in own.iter().enumerate() {
                if again.binary_search_by_key(&index, |pair| pair.0).is_err() {
                    kept.push(*entry);
                }
            }
            self.arena.alloc_slice_copy(&kept)
        };
        self.entries.truncate(first);
        let mut node = Node::new(span, Kind::Map(entries));
        node.partial = partial;
        node
    }

    fn entry(&mut self, depth: usize) -> Option<Entry<'a>> {
        if !matches!(self.token, Some(Ok(Token::Straight | Token::Escaped))) {
            self.misplaced("a key in double quotes");
            self.skip();
            return None;
        }
        let key = self.string();
        if !self.is(Token::Colon) {
            self.misplaced("`:` behind the key");
            self.skip();
            let at = Span::new(self.source, key.span.end as usize, key.span.end as usize);
            let value = self.broken(at);
            return Some(Entry { key, value });
        }
        self.advance();
        let value = self.value(depth + 1);
        Some(Entry { key, value })
    }

    /// What stands between two items, silently if the last one has been complained about. Whether
    /// another item follows.
    fn separator(&mut self, close: Token, open: Span, said: bool, partial: &mut bool) -> bool {
        let bracket = if close == Token::CloseMap { '}' } else { ']' };
        match self.token {
            Some(Ok(Token::Comma)) => {
                let comma = self.here();
                self.advance();
                if self.is(close) {
                    self.add(
                        Diagnostic::new(
                            &codes::JSON_SYNTAX,
                            comma,
                            format!("a comma stands before the closing `{bracket}`"),
                        )
                        .help("remove the comma")
                        .fix(Fix::safe("remove the comma", comma, "")),
                    );
                    return false;
                }
                if self.token.is_none() {
                    *partial = true;
                    self.never_closed(open);
                    return false;
                }
                true
            }
            Some(Ok(token)) if token == close => false,
            None => {
                *partial = true;
                self.never_closed(open);
                false
            }
            // A value where a comma should be: the comma was forgotten.
            Some(Ok(Token::Straight | Token::Escaped)) => {
                self.misplaced(&format!("`,` or `{bracket}`"));
                true
            }
            Some(Ok(Token::Number | Token::Literal | Token::OpenMap | Token::OpenList))
                if close == Token::CloseList =>
            {
                self.misplaced(&format!("`,` or `{bracket}`"));
                true
            }
            _ => {
                if !said {
                    self.misplaced(&format!("`,` or `{bracket}`"));
                }
                *partial = true;
                self.skip();
                if self.is(Token::Comma) {
                    self.advance();
                    return self.token.is_some() && !self.is(close);
                }
                false
            }
        }
    }

    fn never_closed(&mut self, open: Span) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let (bracket, close) = match &self.text[open.range()] {
            "{" => ('{', '}'),
            _ => ('[', ']'),
        };
        self.add(
            Diagnostic::new(
                &codes::JSON_SYNTAX,
                open,
                format!("this `{bracket}` is never closed"),
            )
            .help(format!("add the closing `{close}`")),
        );
    }

    fn close(&mut self, close: Token, open: Span, depth: usize) -> Span {
        // At the top a wrong bracket can only be meant for this value.
        let wrong = depth == 0 && (self.is(Token::CloseMap) || self.is(Token::CloseList));
        if self.is(close) || wrong {
            let span = open.to(self.here());
            self.advance();
            return span;
        }
        match self.token {
            // The bracket of an outer value, or the end: this value ends before it.
            Some(_) => Span::new(self.source, open.start as usize, self.here().start as usize),
            None => open.to(self.here()),
        }
    }

    /// Goes to the next comma or closing bracket of the value around.
    fn skip(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.token {
                None => {
                    self.ended = true;
                    return;
                }
                Some(Ok(Token::OpenMap | Token::OpenList)) => depth += 1,
                Some(Ok(Token::CloseMap | Token::CloseList)) => {
                    if depth == 0 {
                        return;
                    }
                    depth -= 1;
                }
                Some(Ok(Token::Comma)) if depth == 0 => return,
                _ => {}
            }
            self.advance();
        }
    }

    /// Something between values that is not what it should be. A bracket that is lost, or a key too
    /// much, puts everything behind it out of place: it is said once.
    fn misplaced(&mut self, expected: &str) {
        if !std::mem::replace(&mut self.lost, true) {
            self.unexpected(expected);
        }
    }

    fn unexpected(&mut self, expected: &str) {
        let span = self.here();
        let written = &self.text[span.range()];
        let quotes = || format!("\"{}\"", written.trim_matches('\'').replace('"', "\\\""));
        let found = |message: String| Diagnostic::new(&codes::JSON_SYNTAX, span, message);
        let diagnostic = match self.token {
            None => found(format!("expected {expected}, but the text ends here"))
                .help("the file seems to be cut off"),
            Some(Ok(Token::SingleQuoted)) => found("JSON has no single quotes".to_owned())
                .help("write double quotes")
                .fix(Fix::unsafe_("write double quotes", span, quotes())),
            Some(Ok(Token::BadText)) => bad_text(written, span),
            Some(Ok(Token::OpenText)) => {
                let open = Span::new(self.source, span.start as usize, span.start as usize + 1);
                Diagnostic::new(
                    &codes::JSON_SYNTAX,
                    open,
                    "this `\"` is never closed on its line",
                )
                .help("add the closing `\"`; write `\\n` for a line break")
            }
            Some(Ok(Token::BadNumber)) => found(format!("`{written}` is not a JSON number"))
                .help("write numbers as `1`, `-2.5` or `1e3`, and quote everything else"),
            Some(Ok(Token::Comment)) => {
                found("JSON has no comments".to_owned()).help("remove the comment")
            }
            Some(Ok(Token::Word)) if let Some(meant) = literal_of(written) => {
                found(format!("JSON has no `{written}`"))
                    .help(format!("write `{meant}`"))
                    .fix(Fix::unsafe_(format!("write `{meant}`"), span, meant))
            }
            Some(Ok(Token::Word)) => found(format!("expected {expected}, found `{written}`"))
                .help("put text in double quotes")
                .fix(Fix::unsafe_("put it in double quotes", span, quotes())),
            Some(Ok(Token::Colon)) if expected.contains(']') => {
                found(format!("expected {expected}, found `{written}`"))
                    .help("a list has no keys: is a `]` missing before this one?")
            }
            Some(_) => found(format!("expected {expected}, found `{written}`"))
                .help("look for a missing or extra comma, colon or bracket before this place"),
        };
        self.add(diagnostic);
    }
}

/// What other languages write for a word of JSON.
fn literal_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "True" | "TRUE" => "true",
        "False" | "FALSE" => "false",
        "None" | "Null" | "NULL" | "nil" | "undefined" | "NaN" | "Infinity" => "null",
        _ => return None,
    })
}

/// Says what in a text, its quotes included, JSON does not allow.
fn bad_text(written: &str, span: Span) -> Diagnostic {
    let at = |start: usize, length: usize| {
        let start = span.start as usize + start;
        Span::new(span.source, start, start + length)
    };
    let mut characters = written.char_indices();
    while let Some((start, character)) = characters.next() {
        if character == '\\' {
            let escape = characters.next().map_or('\\', |(_, next)| next);
            let digits = written.get(start + 2..start + 6).unwrap_or_default();
            let right = match escape {
                '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => true,
                'u' => digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
                _ => false,
            };
            if !right {
                let place = at(start, 1 + escape.len_utf8());
                let message = format!("JSON has no escape `\\{escape}`");
                return Diagnostic::new(&codes::JSON_SYNTAX, place, message).help(match escape {
                    'u' => "write four hexadecimal digits behind `\\u`",
                    _ => "write `\\\\` for a backslash",
                });
            }
        } else if character < ' ' {
            let message = "a control character cannot stand in a text of JSON as it is";
            return Diagnostic::new(&codes::JSON_SYNTAX, at(start, 1), message)
                .help("write `\\n` for a line break, `\\t` for a tab");
        }
    }
    Diagnostic::new(&codes::JSON_SYNTAX, span, "this is no text of JSON")
        .help("look for backslashes in it")
}

/// The text of a JSON string whose escapes are known to be well formed, or the offset of a
/// surrogate without its other half.
fn unescape(written: &str) -> Result<String, usize> {
    let mut out = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(found) = rest.find('\\') {
        out.push_str(&rest[..found]);
        let at = written.len() - rest.len() + found;
        let letter = rest.as_bytes().get(found + 1).copied().unwrap_or(b'\\');
        let mut length = 2;
        match letter {
            b'u' => {
                let unit = |from: usize| {
                    let digits = written.get(from..from + 4)?;
                    u32::from_str_radix(digits, 16).ok()
                };
                let mut value = unit(at + 2).ok_or(at)?;
                length = 6;
                if (0xd800..0xdc00).contains(&value) {
                    let pair = written[at + 6..].starts_with("\\u");
                    let low = unit(at + 8).filter(|low| pair && (0xdc00..0xe000).contains(low));
                    value = 0x10000 + ((value - 0xd800) << 10) + (low.ok_or(at)? - 0xdc00);
                    length = 12;
                }
                out.push(char::from_u32(value).ok_or(at)?);
            }
            b'b' => out.push('\x08'),
            b'f' => out.push('\x0c'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            other => out.push(other as char),
        }
        rest = &written[at + length..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests;
