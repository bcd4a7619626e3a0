//! What to say about YAML that cannot be read.
//!
//! Takes the parser's kind of error and the place, looks at the text around it, and says what the
//! author most likely did. Where the mistake ends with its line, it also says which bytes to cover
//! so that reading can go on. Knows nothing of the parser.

use super::{MAX_DEPTH, quoted};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix};
use crate::source::{SourceId, Span};
use std::ops::Range;

/// What kind of thing the parser stumbled over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    Tab,
    UnclosedQuote,
    /// A line of a quoted text that is not indented.
    QuoteIndent,
    UnclosedBracket,
    Colon,
    Indentation,
    BlockIndentation,
    BlockHeader,
    Character(char),
    AfterQuote,
    NotAKey,
    NotAnItem,
    Separator,
    Escape,
    Dash,
    ClosingBracket,
    /// An opening bracket, where the error is, and what closes it.
    Mismatch(char, char),
    NoColon,
    NoName,
    Comment,
    TooDeep,
    Other(String),
}

/// Bytes to cover so that reading can go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mask {
    pub range: Range<usize>,
    pub cover: Cover,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// A mistake that has been reported; its text is taken as it is written.
    Mistake,
    /// A quoted scalar, to be read on its own.
    Quoted,
    /// A comment.
    Blank,
}

/// Where it happened.
pub(super) struct Scene<'t> {
    pub source: SourceId,
    pub text: &'t str,
    /// The parser's place of the error.
    pub at: usize,
    /// The last scalar before it.
    pub last: Range<usize>,
    /// The first and the last bracket that is still open.
    pub outermost: Option<usize>,
    pub innermost: Option<usize>,
}

impl Scene<'_> {
    fn span(&self, range: Range<usize>) -> Span {
        let end = self
            .text
            .floor_char_boundary(range.end.min(self.text.len()));
        let start = self.text.floor_char_boundary(range.start.min(end));
        Span::new(self.source, start, end)
    }

    /// The character at a place, or the empty span at the end of the text.
    fn one(&self, at: usize) -> Span {
        let width = match self.text.get(at..).and_then(|rest| rest.chars().next()) {
            Some('\n' | '\r') | None => 0,
            Some(c) => c.len_utf8(),
        };
        self.span(at..at + width)
    }

    /// The last bracket that is still open; what opens without one is not it.
    fn bracket(&self) -> Option<usize> {
        let is_bracket = |at: &usize| matches!(self.text.as_bytes().get(*at), Some(b'[' | b'{'));
        self.innermost
            .filter(is_bracket)
            .or(self.outermost.filter(is_bracket))
    }

    fn line(&self, at: usize) -> Range<usize> {
        let before = self.text.get(..at).unwrap_or("");
        let start = before.rfind(['\n', '\r']).map_or(0, |found| found + 1);
        let rest = self.text.get(at..).unwrap_or("");
        let end = rest
            .find(['\n', '\r'])
            .map_or(self.text.len(), |found| at + found);
        start..end
    }

    fn begins_line(&self, at: usize) -> bool {
        let start = self.line(at).start;
        self.text
            .get(start..at)
            .is_some_and(|before| before.trim_start().is_empty())
    }

    /// The value written on the line of `at`: behind `- ` and `key: `, without a comment.
    fn value(&self, at: usize) -> Option<Range<usize>> {
        let line = self.line(at);
        let text = &self.text[line.clone()];
        let mut from = text.len() - text.trim_start_matches([' ', '\u{feff}']).len();
        while text[from..].starts_with("- ") {
            from += 1;
            from += text[from..].len() - text[from..].trim_start().len();
        }
        let rest = &text[from..];
        if !rest.starts_with("{{") {
            let key = match rest.chars().next()? {
                quote @ ('"' | '\'') => rest[1..].find(quote)? + 2,
                _ => 0,
            };
            let colon = key
                + rest[key..]
                    .match_indices(':')
                    .map(|(found, _)| found)
                    .find(|found| {
                        matches!(
                            rest.as_bytes().get(key + found + 1),
                            None | Some(b' ' | b'\t')
                        )
                    })?;
            from += colon + 1;
        }
        from += text[from..].len() - text[from..].trim_start().len();
        let value = &text[from..];
        let value = value.split(" #").next().unwrap_or(value).trim_end();
        if value.is_empty() {
            return None;
        }
        let start = line.start + from;
        Some(start..start + value.len())
    }

    /// Whether a value that begins in a line goes on in the next one, indented deeper than its field.
    fn continues(&self, value: &Range<usize>) -> bool {
        let line = self.line(value.start);
        let text = &self.text[line.start..value.start];
        let mut base = text.len() - text.trim_start_matches([' ', '\u{feff}']).len();
        while text[base..].starts_with("- ") {
            let inside = text[base + 1..].trim_start();
            if inside.is_empty() {
                break;
            }
            base = text.len() - inside.len();
        }
        let rest = self.text.get(line.end..).unwrap_or("");
        let next = rest.lines().find(|line| !line.trim().is_empty());
        next.is_some_and(|next| {
            let content = next.trim_start_matches(' ');
            next.len() - content.len() > base && !content.starts_with('#')
        })
    }

    /// The value on the line of `at`, if it stands there in block style and `at` is within it.
    fn value_around(&self, at: usize) -> Option<Range<usize>> {
        let flow = self
            .innermost
            .is_some_and(|open| self.line(open).start < self.line(at).start);
        self.value(at)
            .filter(|value| value.start <= at && at <= value.end && !flow)
    }
}

/// The finding about an unquoted hole in the value `written`.
pub(super) fn unquoted_hole(written: &str, hole: Span, value: Span) -> Diagnostic {
    Diagnostic::new(
        &codes::UNQUOTED_HOLE,
        hole,
        format!("`{written}` without quotes reads as a YAML map"),
    )
    .help("put the value in quotes")
    .fix(Fix::safe("quote the value", value, quoted(written)))
}

/// The finding, and the bytes to cover if reading can go on behind them.
pub(super) fn explain(mistake: &Mistake, scene: &Scene<'_>) -> (Diagnostic, Option<Mask>) {
    let mask = |range| {
        Some(Mask {
            range,
            cover: Cover::Mistake,
        })
    };
    if let Some(value) = hole(mistake, scene) {
        let span = scene.span(value.clone());
        let found = unquoted_hole(&scene.text[value.clone()], span, span);
        return (whole(found, scene, &value), mask(value));
    }
    if let Some((found, value)) = quotable(mistake, scene) {
        return (whole(found, scene, &value), mask(value));
    }
    (stuck(mistake, scene), None)
}

/// Quotes around one line of several would only be the next mistake.
fn whole(mut found: Diagnostic, scene: &Scene<'_>, value: &Range<usize>) -> Diagnostic {
    if scene.continues(value) {
        found.fix = None;
        found.help = Some("put all lines of the text in quotes, or begin it with `|`".to_owned());
    }
    found
}

/// What is against the letter of YAML but means the same to every reader people use: lines of a
/// quoted text that are not indented, and a comment right behind a quote or bracket.
pub(super) fn lenient(mistake: &Mistake, scene: &Scene<'_>) -> Option<Mask> {
    match mistake {
        Mistake::QuoteIndent => {
            let range = quoted_text(scene, opening_quote(scene))?;
            range.contains(&scene.at).then_some(Mask {
                range,
                cover: Cover::Quoted,
            })
        }
        Mistake::Comment if scene.text[scene.at..].starts_with('#') => {
            let before = scene.text[..scene.at].chars().next_back()?;
            matches!(before, '"' | '\'' | ']' | '}' | ',').then(|| Mask {
                range: scene.at..scene.line(scene.at).end,
                cover: Cover::Blank,
            })
        }
        _ => None,
    }
}

/// From a quote to the one that closes it, if that one plainly ends a value.
fn quoted_text(scene: &Scene<'_>, open: usize) -> Option<Range<usize>> {
    let text = scene.text.as_bytes();
    let quote = *text.get(open)?;
    let mut at = open + 1;
    loop {
        match *text.get(at)? {
            b'\\' if quote == b'"' => at += 2,
            byte if byte != quote => at += 1,
            _ if quote == b'\'' && text.get(at + 1) == Some(&quote) => at += 2,
            _ => break,
        }
    }
    let rest = &scene.text[at + 1..scene.line(at).end];
    let ends = rest.trim().is_empty() || rest.trim_start().starts_with('#');
    ends.then_some(open..at + 1)
}

/// A value on one line that begins with a hole.
fn hole(mistake: &Mistake, scene: &Scene<'_>) -> Option<Range<usize>> {
    if matches!(
        mistake,
        Mistake::TooDeep | Mistake::Tab | Mistake::UnclosedQuote | Mistake::QuoteIndent
    ) {
        return None;
    }
    [Some(scene.at), scene.outermost]
        .into_iter()
        .flatten()
        .filter_map(|at| scene.value(at))
        .find(|value| {
            let text = &scene.text[value.clone()];
            text.starts_with("{{") && text.contains("}}")
        })
}

/// A value on one line that would be right in quotes.
fn quotable(mistake: &Mistake, scene: &Scene<'_>) -> Option<(Diagnostic, Range<usize>)> {
    let value = scene.value_around(scene.at)?;
    let written = &scene.text[value.clone()];
    let span = scene.span(value.clone());
    let first = written.chars().next()?;
    let message = match mistake {
        Mistake::Character(c @ ('@' | '`' | '%')) if *c == first && scene.at == value.start => {
            let found = syntax(span, format!("unquoted text cannot begin with `{c}`"))
                .help("put the value in quotes")
                .fix(Fix::safe("quote the value", span, quoted(written)));
            return Some((found, value));
        }
        Mistake::NoName if matches!(first, '*' | '&') && scene.at == value.start => {
            format!("unquoted text cannot begin with `{first}`")
        }
        Mistake::Colon
            if scene.innermost.is_none()
                && scene.last.start == value.start
                && !matches!(first, '"' | '\'') =>
        {
            let found = syntax(scene.one(scene.at), "a `:` stands in unquoted text")
                .help("put the value in quotes, or begin a new line if this is a field of its own")
                .fix(Fix::unsafe_("quote the value", span, quoted(written)));
            return Some((found, value));
        }
        Mistake::AfterQuote if first == '"' || first == '\'' => {
            let rest = scene.span(scene.at..value.end);
            let found = syntax(rest, "text stands behind the closing quote")
                .help("quote the whole value, or write it as a block with `|`")
                .fix(Fix::unsafe_("quote the whole value", span, quoted(written)));
            return Some((found, value));
        }
        Mistake::NotAKey if matches!(first, '[' | '{') && scene.at > value.start => {
            let rest = scene.span(scene.at..value.end);
            let what = if first == '[' { "list" } else { "map" };
            let found = syntax(rest, format!("text stands behind a {what} that has ended"))
                .help("put the whole value in quotes if it is text")
                .fix(Fix::unsafe_("quote the whole value", span, quoted(written)));
            return Some((found, value));
        }
        _ => return None,
    };
    let found = syntax(span, message)
        .help("put the value in quotes")
        .fix(Fix::unsafe_("quote the value", span, quoted(written)));
    Some((found, value))
}

fn syntax(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::YAML_SYNTAX, span, message)
}

/// Whether a bracket of an earlier line is open, and this line is a field or an item beside it: what
/// is wrong is that nothing closed the bracket.
fn ran_on(scene: &Scene<'_>) -> bool {
    let Some(open) = scene.bracket() else {
        return false;
    };
    let (first, here) = (scene.line(open), scene.line(scene.at));
    let indent = |line: &Range<usize>| {
        let text = &scene.text[line.clone()];
        text.len() - text.trim_start_matches(' ').len()
    };
    let text = scene.text[here.clone()].trim_start();
    let name = text.split(':').next().unwrap_or_default();
    let field =
        name.len() < text.len() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    first.start < here.start
        && (text.starts_with("- ") || (field && indent(&here) <= indent(&first)))
}

/// A mistake behind which nothing can be trusted.
fn stuck(mistake: &Mistake, scene: &Scene<'_>) -> Diagnostic {
    let at = scene.at;
    let here = scene.one(at);
    match mistake {
        Mistake::Tab => tab(scene),
        Mistake::QuoteIndent if quoted_text(scene, opening_quote(scene)).is_some() => {
            syntax(here, "a line of this quoted text is not indented")
                .label(scene.one(opening_quote(scene)), "the text begins here")
                .help("indent the lines of the text deeper than its field")
        }
        Mistake::UnclosedQuote | Mistake::QuoteIndent => {
            let open = opening_quote(scene);
            let quote = scene.text[open..].chars().next().unwrap_or('"');
            syntax(scene.one(open), format!("this `{quote}` is never closed")).help(format!(
                "add the closing `{quote}`, or write a text of several lines as a block with `|`"
            ))
        }
        Mistake::UnclosedBracket => unclosed(scene, at),
        Mistake::Colon if scene.innermost.is_some() => unclosed(scene, at),
        Mistake::Dash | Mistake::Separator if ran_on(scene) => unclosed(scene, at),
        Mistake::Separator => match scene.innermost {
            Some(open) => {
                let close = closing(scene, open);
                syntax(here, format!("expected `,` or `{close}`"))
                    .label(scene.one(open), "opened here")
                    .help(format!(
                        "close it with `{close}`, or quote the text if it is not a value in brackets"
                    ))
            }
            None => syntax(here, "expected `,` or a closing bracket"),
        },
        Mistake::Colon => {
            let begun = scene.span(scene.last.clone());
            let earlier = scene.line(scene.last.start).start < scene.line(at).start;
            let above = scene.line(scene.last.start);
            let indent = |line: Range<usize>| line.len() - scene.text[line].trim_start().len();
            let beside = scene.begins_line(scene.last.start)
                && indent(above.clone()) == indent(scene.line(at));
            if earlier && beside {
                no_colon(scene, scene.last.start)
            } else if earlier && joined(&scene.text[above.clone()]) {
                syntax(
                    scene.span(scene.last.start..above.end),
                    "this line has no `: `",
                )
                .help("put a blank behind the colon")
            } else if earlier && scene.last.end <= at && scene.last.start < scene.last.end {
                syntax(here, "a `:` stands in text that began on an earlier line")
                    .label(scene.one(begun.start as usize), "the text begins here")
                    .help("indent this line as its neighbours are, or give the line above a `:` of its own")
            } else {
                syntax(here, "a `:` cannot stand here")
                    .help("put the text in quotes, or begin a new line")
            }
        }
        Mistake::Indentation => indentation(scene),
        Mistake::NotAKey | Mistake::NotAnItem => misplaced(mistake, scene),
        Mistake::BlockIndentation => syntax(
            here,
            "the first lines of this block are indented deeper than its text",
        )
        .help("remove the blanks on the empty lines above, or indent the text as deep as they are"),
        Mistake::BlockHeader => syntax(here, "text stands on the line of `|` or `>`")
            .help("begin the text of the block on the next line"),
        Mistake::Character(c) => {
            let shown = if c.is_control() {
                c.escape_default().to_string()
            } else {
                c.to_string()
            };
            let found = syntax(here, format!("`{shown}` cannot stand here"));
            let line = &scene.text[scene.line(at)];
            if *c == '`' && line.starts_with("```") {
                let found = syntax(scene.span(scene.line(at)), "a Markdown fence is no YAML");
                return found.help("remove it, and the one that closes it");
            }
            found.help(match c {
                '\u{1b}' => "write it as `\\e`, in double quotes".to_owned(),
                c if c.is_control() => {
                    format!("write it as `\\x{:02x}`, in double quotes", *c as u32)
                }
                _ => "put the text in quotes".to_owned(),
            })
        }
        Mistake::AfterQuote => syntax(here, "text stands behind the closing quote")
            .help("quote the whole value, or separate the two"),
        Mistake::Escape => {
            let open = opening_quote(scene);
            let bad = bad_escape(&scene.text[open..scene.line(open).end]);
            let span = bad.map_or(here, |bad| scene.span(open + bad.start..open + bad.end));
            let written = scene.text.get(span.range()).unwrap_or("");
            syntax(
                span,
                format!("`{written}` is not an escape in double quotes"),
            )
            .help("write `\\\\` for a backslash, or use single quotes")
        }
        Mistake::Dash => syntax(here, "a list item with `-` cannot begin here")
            .help("begin the list on a line of its own, or quote the text"),
        Mistake::ClosingBracket => {
            let found = syntax(here, "this bracket closes nothing that is open");
            match scene.innermost {
                Some(open) => found.label(scene.one(open), "this one is open"),
                None => found,
            }
            .help("remove it, or put the text in quotes")
        }
        Mistake::Mismatch(open, close) => {
            syntax(here, format!("this `{open}` is closed by a `{close}`"))
                .help("close every bracket with its own kind, or put the text in quotes")
        }
        Mistake::NoColon => no_colon(scene, at),
        Mistake::NoName => syntax(here, "a name must follow `*` or `&`")
            .help("put the value in quotes if it is text"),
        Mistake::Comment => syntax(here, "a comment cannot stand here")
            .help("put a blank before `#`, and no comment inside a text of several lines"),
        Mistake::TooDeep => Diagnostic::new(
            &codes::TOO_DEEP,
            here,
            format!("lists and maps are nested deeper than {MAX_DEPTH} levels here"),
        )
        .help("flatten the value, or move it to a file of its own"),
        Mistake::Other(message) => syntax(here, format!("not YAML: {message}"))
            .help("put text in quotes if it holds special characters"),
    }
}

fn tab(scene: &Scene<'_>) -> Diagnostic {
    let line = scene.line(scene.at);
    // The parser names the header of a block whose first line begins with a tab.
    let from = if scene.text[line.clone()].contains('\t') {
        line.start
    } else {
        (line.end + 1).min(scene.text.len())
    };
    let rest = scene.text.get(from..).unwrap_or("");
    let start = rest.find('\t').map_or(scene.at, |found| from + found);
    let run = scene.text.get(start..).unwrap_or("");
    let length = run.len() - run.trim_start_matches('\t').len();
    syntax(
        scene.span(start..start + length),
        "a tab is used as indentation",
    )
    .help("indent with spaces; YAML does not allow tabs")
}

fn closing(scene: &Scene<'_>, open: usize) -> char {
    if scene.text[open..].starts_with('[') {
        ']'
    } else {
        '}'
    }
}

fn unclosed(scene: &Scene<'_>, at: usize) -> Diagnostic {
    let open = scene.bracket().unwrap_or(at);
    let bracket = scene.text.get(open..).and_then(|rest| rest.chars().next());
    match bracket {
        Some(bracket @ ('[' | '{')) => {
            let close = closing(scene, open);
            syntax(scene.one(open), format!("this `{bracket}` is never closed")).help(format!(
                "add the closing `{close}`, or quote the text if it is not a value"
            ))
        }
        _ => syntax(scene.one(at), "the file ends inside brackets").help("close every bracket"),
    }
}

/// Whether a line is `id:a`: a field but for its blank.
fn joined(line: &str) -> bool {
    let name = |text: &str| {
        let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        !text.is_empty() && text.bytes().all(part)
    };
    let line = line.trim_start_matches([' ', '-']).trim_end();
    line.split_once(':').is_some_and(|(key, value)| {
        name(key) && !value.is_empty() && !value.starts_with(['/', ' '])
    })
}

fn no_colon(scene: &Scene<'_>, at: usize) -> Diagnostic {
    let line = scene.line(at);
    let stop = line.start + scene.text[line.clone()].trim_end().len();
    syntax(scene.span(at..stop.max(at)), "this line has no `:`")
        .help("a field is written `name: value`; text of a block is indented deeper than its field")
}

fn indentation(scene: &Scene<'_>) -> Diagnostic {
    syntax(
        scene.one(scene.at),
        "this line is indented differently from its neighbours",
    )
    .help("begin fields of one map in the same column")
}

fn misplaced(mistake: &Mistake, scene: &Scene<'_>) -> Diagnostic {
    let line = scene.line(scene.at);
    let text = scene.text[line.clone()].trim_start();
    let start = line.end - text.len();
    if *mistake == Mistake::NotAKey && (text.starts_with("- ") || text.trim_end() == "-") {
        return syntax(
            scene.span(start..start + 1),
            "a list item stands among the fields of a map",
        )
        .help("give the list a field of its own, and indent its items below it");
    }
    if !scene.begins_line(scene.at) {
        return syntax(
            scene.one(scene.at),
            "text stands behind a value that has ended",
        )
        .help("put the whole value in quotes if it is text");
    }
    if *mistake == Mistake::NotAnItem {
        return syntax(
            scene.one(scene.at),
            "this line stands in a list but is not an item",
        )
        .help("indent it to belong to the item above, or begin it with `- `");
    }
    indentation(scene)
}

/// The quote of the scalar that was being read: the first one behind the last scalar that is not
/// in a comment.
fn opening_quote(scene: &Scene<'_>) -> usize {
    let from = scene.last.end.min(scene.at);
    let mut comment = false;
    let mut before = ' ';
    for (offset, c) in scene.text.get(from..).unwrap_or("").char_indices() {
        match c {
            '\n' | '\r' => comment = false,
            '#' if before.is_whitespace() => comment = true,
            '"' | '\'' if !comment => return from + offset,
            _ => {}
        }
        before = c;
    }
    scene.at
}

/// The first escape that YAML does not know, in a double-quoted scalar.
fn bad_escape(text: &str) -> Option<Range<usize>> {
    let mut at = text.find('\\')?;
    loop {
        let letter = text[at + 1..].chars().next()?;
        let digits = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            '0' | 'a' | 'b' | 't' | '\t' | 'n' | 'v' | 'f' | 'r' | 'e' | ' ' | '"' | '/' | '\\'
            | 'N' | '_' | 'L' | 'P' => 0,
            _ => return Some(at..at + 1 + letter.len_utf8()),
        };
        let rest = &text[at + 2..];
        let good = rest
            .bytes()
            .take(digits)
            .take_while(u8::is_ascii_hexdigit)
            .count();
        if good < digits {
            return Some(at..at + 2 + good);
        }
        let next = at + 2 + good;
        at = next + text[next..].find('\\')?;
    }
}

/// The text with letters or blanks over what cannot be read; every offset stays.
pub(super) fn cover(text: &str, masks: &[Mask]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for mask in masks {
        let letter = if mask.cover == Cover::Blank {
            b' '
        } else {
            b'x'
        };
        bytes[mask.range.clone()].fill(letter);
    }
    // Masks lie on character boundaries, so nothing is lost here.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
