//! Holes in text: `{{path}}`, `{{path|filter}}`, and what only looks like one.
//!
//! One pass, linear in the text. It does not know where the text stands, what a filter does or
//! whether a name exists. What is no hole stays text exactly as it was written; `\{{` writes a
//! literal `{{`. A backslash that is itself escaped (`\\{{x}}`) escapes nothing and is kept, so
//! that shell and regex text means what it meant.

use super::Problem;
use crate::codes;
use crate::diagnostic::nearest;
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;

/// How far a `}}` is looked for before braces count as ordinary text.
const FARTHEST_CLOSE: usize = 200;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Holes {
    /// In the order of the text. Two literals stand side by side where an escape was removed.
    pub pieces: Vec<Piece>,
    pub problems: Vec<Problem>,
    /// Two braces and a path, and nothing that closes them: `{{name`.
    pub unclosed: Vec<Range<usize>>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// This part of the text, as it is; never empty.
    Literal(Range<usize>),
    Hole(Hole),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Hole {
    /// With the braces.
    pub range: Range<usize>,
    pub path: Path,
    /// The range is that of the filter's name.
    pub filter: Option<(Filter, Range<usize>)>,
}

/// `name(.name | [n])*`; the first segment is always a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub range: Range<usize>,
    pub segments: SmallVec<[Segment; 2]>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The name alone, or the number without its brackets.
    pub range: Range<usize>,
    pub kind: SegmentKind,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    Name(String),
    /// Counts from the end when negative.
    Index(i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The value's text, pasted.
    Raw,
    /// The value split at blanks.
    Words,
    Json,
}

impl Filter {
    pub const ALL: &[Filter] = &[Filter::Raw, Filter::Words, Filter::Json];

    pub fn word(self) -> &'static str {
        match self {
            Filter::Raw => "raw",
            Filter::Words => "words",
            Filter::Json => "json",
        }
    }

    pub fn find(word: &str) -> Option<Filter> {
        Filter::ALL
            .iter()
            .copied()
            .find(|filter| filter.word() == word)
    }
}

impl Path {
    /// The name that must be defined for the path to mean anything.
    pub fn root(&self) -> &str {
        match self.segments.first().map(|segment| &segment.kind) {
            Some(SegmentKind::Name(name)) => name,
            _ => "",
        }
    }

    /// Whether it leads to the same value, wherever it is written.
    pub fn is_same(&self, other: &Path) -> bool {
        let (one, other) = (self.segments.iter(), other.segments.iter());
        one.map(|segment| &segment.kind)
            .eq(other.map(|segment| &segment.kind))
    }

    /// What it leads to, wherever it is written.
    pub fn kinds(&self) -> SmallVec<[&SegmentKind; 2]> {
        self.segments.iter().map(|segment| &segment.kind).collect()
    }

    /// Moves a path that was read elsewhere to where it stands.
    pub(super) fn shift(&mut self, by: usize) {
        self.range = self.range.start + by..self.range.end + by;
        for segment in &mut self.segments {
            segment.range = segment.range.start + by..segment.range.end + by;
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.segments.iter().enumerate() {
            match &segment.kind {
                SegmentKind::Name(name) if position == 0 => write!(f, "{name}")?,
                SegmentKind::Name(name) => write!(f, ".{name}")?,
                SegmentKind::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Splits a text into literal parts and holes.
pub fn scan(text: &str) -> Holes {
    let mut holes = Holes::default();
    let mut start = 0;
    let mut at = 0;
    while let Some(first) = braces(text, at) {
        if escaped(text, first) {
            holes.literal(start..first - 1);
            start = first;
            at = first + 2;
            continue;
        }
        // Of more than two braces the last two open the hole, so that `{{{a}}}` is a value in braces.
        let run = text[first..].bytes().take_while(|b| *b == b'{').count();
        let open = first + run - 2;
        at = open + 2;
        if let Some((hole, unknown_filter)) = hole_at(text, open) {
            holes.literal(start..open);
            start = hole.range.end;
            at = start;
            holes
                .problems
                .extend(unknown_filter.map(|range| filter_problem(text, range)));
            holes.pieces.push(Piece::Hole(hole));
        } else {
            match not_a_hole(text, open) {
                Some(problem) => holes.problems.push(problem),
                None => holes.unclosed.extend(unclosed(text, open)),
            }
        }
    }
    holes.literal(start..text.len());
    holes
}

/// The next two braces from here on.
fn braces(text: &str, mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr(b'{', &text.as_bytes()[at..])?;
        if text[at..].starts_with("{{") {
            return Some(at);
        }
        at += 1;
    }
}

/// Whether two opening braces stand in a text: one without them holds no hole.
pub fn has_braces(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'{', bytes).any(|at| bytes.get(at + 1) == Some(&b'{'))
}

/// The hole that is the whole text but for blanks around it.
pub fn whole_hole(text: &str) -> Option<Hole> {
    let open = text.len() - text.trim_start().len();
    let (hole, unknown_filter) = hole_at(text, open)?;
    let alone = text[hole.range.end..].trim().is_empty();
    (alone && unknown_filter.is_none()).then_some(hole)
}

impl Holes {
    fn literal(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.pieces.push(Piece::Literal(range));
        }
    }
}

/// Whether the braces at `open` follow a backslash that is not itself escaped.
fn escaped(text: &str, open: usize) -> bool {
    let backslashes = text.as_bytes()[..open]
        .iter()
        .rev()
        .take_while(|b| **b == b'\\')
        .count();
    backslashes % 2 == 1
}

/// Reads a hole whose first brace is at `open`; with it the range of a filter nobody knows.
pub(super) fn hole_at(text: &str, open: usize) -> Option<(Hole, Option<Range<usize>>)> {
    let rest = text.get(open..)?;
    if !rest.starts_with("{{") {
        return None;
    }
    let path = path_at(text, open + 2)?;
    let mut at = path.range.end;
    let mut filter = None;
    let mut unknown = None;
    if text[at..].starts_with('|') {
        let name = at + 1..name_end(text, at + 1)?;
        at = name.end;
        match Filter::find(&text[name.clone()]) {
            Some(known) => filter = Some((known, name)),
            None => unknown = Some(name),
        }
    }
    if !text[at..].starts_with("}}") {
        return None;
    }
    let hole = Hole {
        range: open..at + 2,
        path,
        filter,
    };
    Some((hole, unknown))
}

/// Reads the longest path at `start`.
fn path_at(text: &str, start: usize) -> Option<Path> {
    let mut end = name_end(text, start)?;
    let mut segments = SmallVec::new();
    segments.push(named(text, start..end));
    loop {
        let rest = &text[end..];
        if rest.starts_with('.') {
            let name = end + 1..name_end(text, end + 1)?;
            end = name.end;
            segments.push(named(text, name));
        } else if let Some(inside) = rest.strip_prefix('[') {
            let digits = inside
                .bytes()
                .take_while(|b| b.is_ascii_digit() || *b == b'-')
                .count();
            let index = inside[..digits].parse().ok()?;
            if !inside[digits..].starts_with(']') {
                return None;
            }
            segments.push(Segment {
                range: end + 1..end + 1 + digits,
                kind: SegmentKind::Index(index),
            });
            end += digits + 2;
        } else {
            let range = start..end;
            return Some(Path { range, segments });
        }
    }
}

fn named(text: &str, range: Range<usize>) -> Segment {
    Segment {
        kind: SegmentKind::Name(text[range.clone()].to_string()),
        range,
    }
}

/// Where the name at `start` ends, if one starts there.
fn name_end(text: &str, start: usize) -> Option<usize> {
    let rest = &text[start..];
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let plain = rest.bytes().take_while(|byte| is_plain(byte)).count();
    // Letters of other alphabets are letters as well.
    let length = match rest.as_bytes().get(plain) {
        Some(byte) if !byte.is_ascii() => rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
            .unwrap_or(rest.len()),
        _ => plain,
    };
    (length > 0 && !rest.starts_with('-')).then_some(start + length)
}

fn filter_problem(text: &str, range: Range<usize>) -> Problem {
    let written = &text[range.clone()];
    let problem = Problem::new(
        range.clone(),
        &codes::UNKNOWN_FUNCTION,
        format!("there is no filter `{written}`"),
    );
    match nearest(written, Filter::ALL.iter().map(|filter| filter.word())) {
        Some(near) => problem
            .help(format!("did you mean `{near}`?"))
            .risky(range, near),
        None => problem.help("the filters are `raw`, `words` and `json`"),
    }
}

/// What to say about braces at `open` that are no hole but may have been meant as one.
fn not_a_hole(text: &str, open: usize) -> Option<Problem> {
    let inside = open + 2;
    let (end, closed) = close_after(text, inside)?;
    let inner = &text[inside..end];
    let written = &text[open..end + if closed { 2 } else { 1 }];
    let range = open..open + written.len();
    let problem = Problem::new(
        range.clone(),
        &codes::NOT_A_HOLE,
        format!("`{written}` is not a hole and stays as it is written"),
    );
    let meant = plain_meaning(inner);
    let is_plain = |inner: &str| plain_meaning(inner).is_some();
    if !closed {
        // `f"{{x}"` and the like are common in other languages; only a whole path is a likely slip.
        let meant = meant.filter(|_| !inner.contains(char::is_whitespace))?;
        return Some(
            problem
                .help(format!("one closing brace is missing: write `{meant}`"))
                .risky(range, meant),
        );
    }
    let first = inner.trim_start().chars().next()?;
    let github = text[..open].ends_with('$');
    Some(match (first, meant) {
        (_, Some(meant)) if !github => problem
            .help(format!(
                "a hole has no blanks inside its braces: write `{meant}`"
            ))
            .risky(range, meant),
        (_, Some(_)) => problem.help("a hole has no blanks inside its braces"),
        ('-', None) if !inner.contains(' ') && inner.strip_prefix('-').is_some_and(is_plain) => {
            problem.help("a name cannot begin with `-`")
        }
        ('#' | '/' | '^' | '>' | '!' | '&' | '~' | '-' | '@' | '*', None) => problem.help(
            "there are no blocks in recipe text; use `condition` or `foreach` on a step, \
             or write `\\{{` for literal braces",
        ),
        ('.' | '$', None) => problem
            .help("write `\\{{` where the braces are meant literally")
            .risky(open..open, "\\"),
        (_, None) if has_default(inner) => {
            let name = inner.split('|').next().unwrap_or_default().trim();
            problem.help(format!(
                "a hole has no default: write `{{{{{name}}}}}`, and give `{name}` a value under \
                 `context`"
            ))
        }
        (c, None) if c.is_alphanumeric() || c == '_' => problem.help(
            "a hole holds one path, such as `{{name}}`, `{{name.field}}` or `{{name[0]}}`; \
             write `\\{{` for literal braces",
        ),
        _ => return None,
    })
}

/// The braces at `open` and the path behind them, which nothing closes.
fn unclosed(text: &str, open: usize) -> Option<Range<usize>> {
    let inside = open + 2;
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"_-.[]".contains(b);
    let length = text.as_bytes()[inside..]
        .iter()
        .take_while(|b| part(b))
        .count();
    // A full stop may end a sentence.
    let path = text[inside..inside + length].trim_end_matches('.');
    let rest = &text[inside + path.len()..];
    (is_path(path) && !rest.starts_with('|')).then_some(open..inside + path.len())
}

/// Whether a text is a path, and nothing else.
pub fn is_path(text: &str) -> bool {
    path_at(text, 0).is_some_and(|path| path.range.end == text.len())
}

/// `x | default: "a"` and the like: a path, and a filter that other languages have.
fn has_default(inner: &str) -> bool {
    let (path, filter) = inner.split_once('|').unwrap_or((inner, ""));
    plain_meaning(path).is_some() && filter.trim_start().starts_with("default")
}

/// Where the braces opened before `inside` close: the place of `}}`, or of a lone `}` after a path.
fn close_after(text: &str, inside: usize) -> Option<(usize, bool)> {
    let mut lone = None;
    for (offset, c) in text[inside..].char_indices().take(FARTHEST_CLOSE) {
        let at = inside + offset;
        match c {
            '\n' => break,
            '{' if text[at..].starts_with("{{") => break,
            '}' if text[at..].starts_with("}}") && lone.is_none() => return Some((at, true)),
            '}' => {
                lone.get_or_insert(at);
            }
            _ => {}
        }
    }
    lone.map(|at| (at, false))
}

/// The hole that `inner` plainly means: a path and perhaps a known filter, with blanks around them.
pub(super) fn plain_meaning(inner: &str) -> Option<String> {
    let mut parts = inner.split('|').map(str::trim);
    let hole = match (parts.next(), parts.next(), parts.next()) {
        (Some(path), None, _) => format!("{{{{{path}}}}}"),
        (Some(path), Some(filter), None) if Filter::find(filter).is_some() => {
            format!("{{{{{path}|{filter}}}}}")
        }
        _ => return None,
    };
    let (read, _) = hole_at(&hole, 0)?;
    (read.range.end == hole.len()).then_some(hole)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Literals in quotes, holes in angle brackets.
    fn shown(text: &str) -> String {
        scan(text)
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(range) => format!("'{}'", &text[range.clone()]),
                Piece::Hole(hole) => match &hole.filter {
                    Some((filter, _)) => format!("<{}|{}>", hole.path, filter.word()),
                    None => format!("<{}>", hole.path),
                },
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn only_problem(text: &str) -> Problem {
        let mut problems = scan(text).problems;
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        problems.remove(0)
    }

    fn fixed(text: &str) -> String {
        let fix = only_problem(text).fix.expect("a fix is offered");
        let mut text = text.to_string();
        text.replace_range(fix.range, &fix.text);
        text
    }

    #[test]
    fn paths_filters_and_literals() {
        assert_eq!(shown(""), "");
        assert_eq!(shown("a {{b}} c"), "'a ' <b> ' c'");
        assert_eq!(
            shown("{{a.b-c[0][-1]._d}}{{e|raw}}"),
            "<a.b-c[0][-1]._d> <e|raw>"
        );
        assert_eq!(shown("{{0}}{{größe}}{{名前.x}}"), "<0> <größe> <名前.x>");
        assert_eq!(shown("{{else}}"), "<else>");
        assert_eq!(shown("{{a|words}} {{a|json}}"), "<a|words> ' ' <a|json>");
    }

    #[test]
    fn braces_around_a_hole_are_text() {
        assert_eq!(shown("{{{a}}}"), "'{' <a> '}'");
        assert_eq!(shown("{{{{a}}}}"), "'{{' <a> '}}'");
        assert_eq!(shown("{{a}}}}"), "<a> '}}'");
    }

    #[test]
    fn a_backslash_writes_braces_and_an_escaped_backslash_does_not() {
        assert_eq!(shown(r"\{{a}} {{b}}"), "'{{a}} ' <b>");
        assert_eq!(shown(r"x\{{a}}"), "'x' '{{a}}'");
        assert_eq!(shown(r"\\{{a}}"), r"'\\' <a>");
        assert_eq!(shown(r"\\\{{a}}"), r"'\\' '{{a}}'");
        assert_eq!(shown(r"\{{{{a}}"), "'{{' <a>");
        assert!(scan(r"\{{ a }} \{{.Name}}").problems.is_empty());
    }

    #[test]
    fn ranges_are_of_the_names_alone() {
        let text = "é{{ab.c[-2]|raw}}";
        let Some(Piece::Hole(hole)) = scan(text).pieces.pop() else {
            panic!("a hole")
        };
        assert_eq!(&text[hole.range.clone()], "{{ab.c[-2]|raw}}");
        assert_eq!(&text[hole.path.range.clone()], "ab.c[-2]");
        let parts: Vec<_> = hole
            .path
            .segments
            .iter()
            .map(|segment| &text[segment.range.clone()])
            .collect();
        assert_eq!(parts, ["ab", "c", "-2"]);
        assert_eq!(hole.path.root(), "ab");
        let (filter, range) = hole.filter.expect("there is a filter");
        assert_eq!((filter, &text[range]), (Filter::Raw, "raw"));
    }

    #[test]
    fn what_is_no_hole_stays_text_with_a_warning() {
        for text in [
            "{{ x }}",
            "{{#if x}}",
            "{{/if}}",
            "{{else if x}}",
            "{{.Name}}",
            "{{$x}}",
            "{{x | raw}}",
            "{{x | default('a')}}",
            "{{x()}}",
            "{{a..b}}",
            "{{a[99999999999999999999]}}",
            "{{- x -}}",
            "${{ github.sha }}",
            "{{x}",
        ] {
            let quoted = format!("'{text}'");
            assert_eq!(shown(text), quoted);
            let problem = only_problem(text);
            assert_eq!(problem.code, &codes::NOT_A_HOLE);
            assert!(problem.help.is_some());
            assert_eq!(problem.range.end, text.len());
        }
    }

    #[test]
    fn braces_of_other_languages_are_left_alone() {
        for text in [
            "{{}}",
            "{{ }}",
            "{{x",
            "{{",
            "{{{{",
            "}}",
            "f'{{\"k\": {v}}}'",
            "{{\n x }}",
            "{ {x} }",
            "{{ 'a' }}",
        ] {
            assert_eq!(scan(text).problems, [], "{text}");
            assert_eq!(shown(text), format!("'{text}'"));
        }
    }

    #[test]
    fn plain_meanings_are_offered_as_fixes() {
        assert_eq!(fixed("a {{ x.y }} b"), "a {{x.y}} b");
        assert_eq!(fixed("{{ x | raw }}"), "{{x|raw}}");
        assert_eq!(fixed("é {{x} b"), "é {{x}} b");
        assert_eq!(fixed("'{{.Names}}'"), "'\\{{.Names}}'");
        assert!(only_problem("${{ x }}").fix.is_none());
        assert!(only_problem("{{#if x}}").fix.is_none());
        let help = only_problem("{{-x}}").help;
        assert_eq!(help.as_deref(), Some("a name cannot begin with `-`"));
        assert!(only_problem("{{\u{2028}-x|y|z}}").fix.is_none());
    }

    #[test]
    fn an_unknown_filter_is_an_error_and_the_hole_remains() {
        let problem = only_problem("{{x|wrods}}");
        assert_eq!(problem.code, &codes::UNKNOWN_FUNCTION);
        assert_eq!(problem.range, 4..9);
        assert_eq!(fixed("{{x|wrods}}"), "{{x|words}}");
        assert_eq!(shown("{{x|wrods}}"), "<x>");
        assert!(only_problem("{{x|upper}}").fix.is_none());
    }

    #[test]
    fn a_whole_hole_may_have_blanks_around_it() {
        assert_eq!(
            whole_hole(" {{a.b}}\n").map(|hole| hole.path.to_string()),
            Some("a.b".into())
        );
        for text in ["", "{{a}}{{b}}", "x{{a}}", "{{a}}.", "\\{{a}}", "{{ a }}"] {
            assert_eq!(whole_hole(text), None, "{text}");
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for part in ["{{", "{{a", "\\{{", "{{ ", "{{a.", "{{a[1]", "{{a}", "\\"] {
            let text = part.repeat(1_000_000 / part.len());
            // Quadratic time would not end while anyone waits.
            scan(&text);
        }
    }
}
