//! Placeholders: what stands between `{` and `}`.
//!
//! The first form that fits is meant. Innermost braces match, nothing is trimmed, and there is no
//! way to write a brace that is none: so `{}` and a lone brace are plain text.

use super::names::REPEAT_NAMES;
use crate::ir::flow::{Arith, ValueKind};
use std::ops::Range;

/// A text in pieces: plain text, and placeholders by the range of what they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Plain(Range<usize>),
    Hole(Range<usize>),
}

/// Cuts a text at its placeholders. A hole is a `{`, one or more characters that are no braces,
/// and a `}`.
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut plain = 0;
    let mut open: Option<usize> = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, open) {
            (b'{', _) => open = Some(at),
            (b'}', Some(start)) => {
                if at > start + 1 {
                    if start > plain {
                        found.push(Piece::Plain(plain..start));
                    }
                    found.push(Piece::Hole(start + 1..at));
                    plain = at + 1;
                }
                open = None;
            }
            _ => {}
        }
    }
    if plain < text.len() {
        found.push(Piece::Plain(plain..text.len()));
    }
    found
}

/// What a placeholder asks for. Ranges are those of its text.
#[derive(Clone, Debug, PartialEq)]
pub enum Hole<'a> {
    Name {
        name: &'a str,
        kind: Option<(&'a str, Range<usize>)>,
        default: Option<&'a str>,
    },
    /// `name??text`
    OrText { name: &'a str, text: &'a str },
    /// `name?yes:no`
    Choice {
        negated: bool,
        name: &'a str,
        name_at: Range<usize>,
        yes: &'a str,
        no: &'a str,
    },
    /// `name[at]`
    Item { name: &'a str, at: At<'a> },
    /// A calculation, with the zeros in front that underscores ask for.
    Sum {
        pad: u8,
        sum: Sum<'a>,
        text: &'a str,
    },
}

impl<'a> Hole<'a> {
    /// The names that it reads, and where they stand.
    pub fn names(&self) -> Vec<(&'a str, Range<usize>)> {
        match self {
            Hole::Name { name, .. } | Hole::OrText { name, .. } => vec![(*name, 0..name.len())],
            Hole::Choice { name, name_at, .. } => vec![(*name, name_at.clone())],
            Hole::Item { name, at } => {
                let mut names = vec![(*name, 0..name.len())];
                if let At::Name(name, range) = at {
                    names.push((*name, range.clone()));
                }
                names
            }
            Hole::Sum { sum, .. } => {
                let mut names = Vec::new();
                sum.names(&mut names);
                names
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum At<'a> {
    Number(&'a str),
    Name(&'a str, Range<usize>),
}

/// A calculation; blanks in it do not count.
#[derive(Clone, Debug, PartialEq)]
pub enum Sum<'a> {
    Number(i64),
    Name(&'a str, Range<usize>),
    Two(Arith, Box<Sum<'a>>, Box<Sum<'a>>),
}

impl<'a> Sum<'a> {
    pub fn names(&self, names: &mut Vec<(&'a str, Range<usize>)>) {
        match self {
            Sum::Number(_) => {}
            Sum::Name(name, range) => names.push((*name, range.clone())),
            Sum::Two(_, left, right) => {
                left.names(names);
                right.names(names);
            }
        }
    }
}

/// Why a placeholder means nothing, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bad {
    /// Blanks around the name.
    Spaced,
    /// `{"a":1}`
    Json,
    /// `a?b` without `:`
    NoColon,
    /// `??` behind something that is no name.
    Fallback(Range<usize>),
    /// A condition that is no name.
    Condition(Range<usize>),
    /// `name:type??x` and the like.
    Typed,
    UnknownKind(Range<usize>),
    EmptyChoice(Range<usize>),
    Length,
    Minus,
    Underscores,
    TooLarge(Range<usize>),
    Sum(Range<usize>),
    /// More than anybody would calculate.
    TooMuch(Range<usize>),
    Other,
}

pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// The length of the name that a text starts with.
fn name_length(text: &str) -> usize {
    let first = text
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let rest = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    match first {
        true => text.bytes().take_while(|byte| rest(byte)).count(),
        false => 0,
    }
}

/// The type that a declaration names.
pub fn kind_of(word: &str) -> Result<ValueKind, Bad> {
    Ok(match word {
        "string" | "path" => ValueKind::Text,
        "int" => ValueKind::Int,
        "number" => ValueKind::Number,
        "bool" => ValueKind::Bool,
        "array" => ValueKind::List,
        _ => {
            let inner = word
                .strip_prefix("enum(")
                .and_then(|rest| rest.strip_suffix(')'))
                .filter(|inner| !inner.contains(')'))
                .ok_or(Bad::UnknownKind(0..word.len()))?;
            let words: Vec<String> = inner
                .split(',')
                .map(|word| word.trim().to_string())
                .filter(|word| !word.is_empty())
                .collect();
            if words.is_empty() {
                return Err(Bad::EmptyChoice(0..word.len()));
            }
            ValueKind::OneOf(words)
        }
    })
}

/// Reads what stands between the braces.
pub fn hole(text: &str) -> Result<Hole<'_>, Bad> {
    if let Some(named) = named(text) {
        return named;
    }
    let length = name_length(text);
    let (name, rest) = text.split_at(length);
    if let Some(fallback) = rest.strip_prefix("??").filter(|_| length > 0) {
        return Ok(Hole::OrText {
            name,
            text: fallback,
        });
    }
    if let Some(found) = choice(text) {
        return found;
    }
    if let Some(inner) = rest
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        && length > 0
    {
        let start = length + 1;
        let number = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
        return match (number, is_name(inner)) {
            (true, _) => Ok(Hole::Item {
                name,
                at: At::Number(inner),
            }),
            (_, true) => Ok(Hole::Item {
                name,
                at: At::Name(inner, start..start + inner.len()),
            }),
            _ => Err(Bad::Other),
        };
    }
    if rest == ".length" && length > 0 {
        return Err(Bad::Length);
    }
    if text.trim() != text && is_name(text.trim()) {
        return Err(Bad::Spaced);
    }
    if text.trim_start().starts_with(['"', '\'']) {
        return Err(Bad::Json);
    }
    if !text.contains(['(', ')', '+', '-', '*', '/', '%']) {
        return Err(Bad::Other);
    }
    let (pad, sum) = padded_sum(text, &|_| true)?;
    Ok(Hole::Sum { pad, sum, text })
}

/// A calculation whose hyphens are minus signs wherever they are no part of a known name; none if
/// it is no calculation then.
pub fn apart<'a>(text: &'a str, known: &dyn Fn(&str) -> bool) -> Option<Sum<'a>> {
    padded_sum(text, known).ok().map(|(_, sum)| sum)
}

/// `name`, `name:type`, `name=text` or `name:type=text`; none if another form may be meant.
fn named(text: &str) -> Option<Result<Hole<'_>, Bad>> {
    let length = name_length(text);
    if length == 0 {
        return None;
    }
    let (name, rest) = text.split_at(length);
    let simple = |kind, default| {
        Some(Ok(Hole::Name {
            name,
            kind,
            default,
        }))
    };
    if rest.is_empty() {
        let plain = name.trim_start_matches('_');
        let padded = name.len() - plain.len() > 6 && REPEAT_NAMES.contains(&plain);
        return match padded {
            true => Some(Err(Bad::Underscores)),
            false => simple(None, None),
        };
    }
    if let Some(default) = rest.strip_prefix('=') {
        // `a==b?x:y` compares; a text that begins with `=` and goes on like that is none.
        if default.starts_with('=')
            && let Some((condition, arms)) = text.split_once('?')
            && arms.contains(':')
        {
            return Some(Err(Bad::Condition(0..condition.len())));
        }
        return simple(None, Some(default));
    }
    let declared = rest.strip_prefix(':')?;
    let end = match declared.strip_prefix("enum(") {
        Some(inner) => inner.find(')').map_or(declared.len(), |at| at + 6),
        None => declared
            .bytes()
            .take_while(u8::is_ascii_alphanumeric)
            .count(),
    };
    let (word, rest) = declared.split_at(end);
    if word.is_empty() {
        return Some(Err(Bad::Other));
    }
    let at = length + 1..length + 1 + end;
    let default = rest.strip_prefix('=');
    if default.is_none() && !rest.is_empty() {
        return Some(Err(match rest.starts_with("??") || rest.starts_with('?') {
            true => Bad::Typed,
            false => Bad::UnknownKind(at.start..text.len()),
        }));
    }
    match kind_of(word) {
        Ok(_) => simple(Some((word, at)), default),
        Err(Bad::EmptyChoice(_)) => Some(Err(Bad::EmptyChoice(at))),
        Err(_) => Some(Err(Bad::UnknownKind(at))),
    }
}

fn choice(text: &str) -> Option<Result<Hole<'_>, Bad>> {
    let (condition, arms) = text.split_once('?')?;
    if condition.is_empty() || condition.contains(':') {
        return None;
    }
    if arms.starts_with('?') {
        return Some(Err(Bad::Fallback(0..condition.len())));
    }
    let trimmed = condition.trim();
    let (negated, name) = match trimmed.strip_prefix('!') {
        Some(name) => (true, name.trim_start()),
        None => (false, trimmed),
    };
    let start = condition.len() - condition.trim_start().len();
    let start = start + trimmed.len() - name.len();
    if !is_name(name) {
        return Some(Err(Bad::Condition(0..condition.len())));
    }
    let Some((yes, no)) = arms.split_once(':') else {
        return Some(Err(Bad::NoColon));
    };
    Some(Ok(Hole::Choice {
        negated,
        name,
        name_at: start..start + name.len(),
        yes,
        no,
    }))
}

fn padded_sum<'a>(text: &'a str, known: &dyn Fn(&str) -> bool) -> Result<(u8, Sum<'a>), Bad> {
    let underscores = text.bytes().take_while(|byte| *byte == b'_').count();
    let rest = text.get(underscores..).unwrap_or_default();
    let inner = rest.strip_prefix('(').filter(|_| underscores > 0);
    if inner.is_some() {
        if underscores > 6 {
            return Err(Bad::Underscores);
        }
        let mut reader = Reader::new(text, underscores, known);
        let sum = reader.prim()?;
        reader.end()?;
        return Ok((underscores as u8 + 1, sum));
    }
    if text.trim_start().starts_with('-') {
        return Err(Bad::Minus);
    }
    let mut reader = Reader::new(text, 0, known);
    let sum = reader.sum()?;
    reader.end()?;
    Ok((0, sum))
}

/// How deep parentheses may nest.
const DEEPEST: usize = 64;
/// How many operators a calculation may have: what is left of one nests in it.
const MOST_OPERATORS: usize = 256;

struct Reader<'a, 'k> {
    text: &'a str,
    at: usize,
    depth: usize,
    operators: usize,
    /// Whether a name that holds hyphens is one.
    known: &'k dyn Fn(&str) -> bool,
}

impl<'a, 'k> Reader<'a, 'k> {
    fn new(text: &'a str, at: usize, known: &'k dyn Fn(&str) -> bool) -> Reader<'a, 'k> {
        Reader {
            text,
            at,
            depth: 0,
            operators: 0,
            known,
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn wrong(&self) -> Bad {
        Bad::Sum(self.at..self.text.len())
    }

    fn end(&mut self) -> Result<(), Bad> {
        self.skip();
        self.rest().is_empty().then_some(()).ok_or(self.wrong())
    }

    fn too_much(&self) -> Bad {
        Bad::TooMuch(self.at..self.text.len())
    }

    fn one_of(&mut self, operators: &[(char, Arith)]) -> Result<Option<Arith>, Bad> {
        self.skip();
        let next = self.rest().chars().next();
        let found = operators.iter().find(|(sign, _)| Some(*sign) == next);
        let Some((sign, op)) = found else {
            return Ok(None);
        };
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            return Err(self.too_much());
        }
        self.at += sign.len_utf8();
        Ok(Some(*op))
    }

    fn sum(&mut self) -> Result<Sum<'a>, Bad> {
        let mut left = self.product()?;
        while let Some(op) = self.one_of(&[('+', Arith::Add), ('-', Arith::Sub)])? {
            left = Sum::Two(op, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Sum<'a>, Bad> {
        const SIGNS: [(char, Arith); 3] = [('*', Arith::Mul), ('/', Arith::Div), ('%', Arith::Rem)];
        let mut left = self.prim()?;
        while let Some(op) = self.one_of(&SIGNS)? {
            left = Sum::Two(op, Box::new(left), Box::new(self.prim()?));
        }
        Ok(left)
    }

    fn prim(&mut self) -> Result<Sum<'a>, Bad> {
        self.skip();
        let rest = self.rest();
        if rest.starts_with('(') {
            self.at += 1;
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(self.too_much());
            }
            let inner = self.sum()?;
            self.depth -= 1;
            self.skip();
            if !self.rest().starts_with(')') {
                return Err(self.wrong());
            }
            self.at += 1;
            return Ok(inner);
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let range = self.at..self.at + digits;
            self.at = range.end;
            let number = rest.get(..digits).unwrap_or_default().parse();
            return number.map(Sum::Number).map_err(|_| Bad::TooLarge(range));
        }
        let name = self.name(rest);
        if name.is_empty() {
            return Err(self.wrong());
        }
        let range = self.at..self.at + name.len();
        self.at = range.end;
        Ok(Sum::Name(name, range))
    }

    /// The name that comes next, up to a hyphen that is a minus.
    fn name(&self, rest: &'a str) -> &'a str {
        let (mut name, after) = rest.split_at(name_length(rest));
        // Two operands never touch: the hyphen between them is what stands there.
        let operand = |c: char| c == '(' || c == '_' || c.is_ascii_alphanumeric();
        if after.trim_start().starts_with(operand) {
            name = name.strip_suffix('-').unwrap_or(name);
        }
        while let Some((shorter, _)) = name.rsplit_once('-')
            && !(self.known)(name)
        {
            name = shorter;
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holes(text: &str) -> Vec<&str> {
        let cut = |piece: Piece| match piece {
            Piece::Hole(range) => Some(&text[range]),
            Piece::Plain(_) => None,
        };
        pieces(text).into_iter().filter_map(cut).collect()
    }

    #[test]
    fn innermost_braces_match() {
        assert_eq!(holes("{{a}} {} {x={y}} }{b"), ["a", "y"]);
        assert_eq!(holes("a{b}c{d}"), ["b", "d"]);
        assert_eq!(pieces("{a}"), [Piece::Hole(1..2)]);
    }

    #[test]
    fn the_first_form_that_fits_is_meant() {
        let name = |name, default| Hole::Name {
            name,
            kind: None,
            default,
        };
        assert_eq!(hole("a-b"), Ok(name("a-b", None)));
        assert_eq!(hole("q=what?x:y"), Ok(name("q", Some("what?x:y"))));
        assert!(matches!(
            hole("v??a=b"),
            Ok(Hole::OrText { text: "a=b", .. })
        ));
        assert!(matches!(
            hole("f?a=b:c:d"),
            Ok(Hole::Choice {
                yes: "a=b",
                no: "c:d",
                ..
            })
        ));
        assert!(matches!(
            hole("! f ?a:"),
            Ok(Hole::Choice {
                negated: true,
                name: "f",
                ..
            })
        ));
        assert!(matches!(
            hole("xs[i]"),
            Ok(Hole::Item {
                at: At::Name("i", _),
                ..
            })
        ));
        assert!(matches!(
            hole("n:int=5"),
            Ok(Hole::Name {
                kind: Some(("int", _)),
                ..
            })
        ));
        assert!(matches!(hole("_(index+1)"), Ok(Hole::Sum { pad: 2, .. })));
        assert!(matches!(hole("1 2 + 0"), Err(Bad::Sum(_))));
    }

    #[test]
    fn a_hyphen_is_a_minus_where_no_known_name_holds_it() {
        fn spelt(sum: &Sum<'_>) -> String {
            match sum {
                Sum::Number(int) => int.to_string(),
                Sum::Name(name, _) => format!("<{name}>"),
                Sum::Two(op, left, right) => format!("({op:?} {} {})", spelt(left), spelt(right)),
            }
        }
        let whole = |text| match hole(text) {
            Ok(Hole::Sum { sum, .. }) => spelt(&sum),
            other => format!("{other:?}"),
        };
        assert_eq!(whole("a-b*2"), "(Mul <a-b> 2)");
        assert_eq!(whole("a-(b)"), "(Sub <a> <b>)");
        assert_eq!(whole("a- b"), "(Sub <a> <b>)");
        assert_eq!(whole("a-b-(c)*2"), "(Sub <a-b> (Mul <c> 2))");
        let parted = |text| apart(text, &|name| name == "x-y").map(|sum| spelt(&sum));
        assert_eq!(parted("a-b*2").as_deref(), Some("(Sub <a> (Mul <b> 2))"));
        assert_eq!(parted("_(a-1)").as_deref(), Some("(Sub <a> 1)"));
        assert_eq!(parted("x-y-z").as_deref(), Some("(Sub <x-y> <z>)"));
        assert_eq!(parted("z-x-y").as_deref(), Some("(Sub <z> <x-y>)"));
        assert_eq!(parted("a--b"), None);
        assert_eq!(parted("a-"), None);
    }

    #[test]
    fn what_means_nothing_says_why() {
        for (text, bad) in [
            (" a ", Bad::Spaced),
            ("\"a\":1", Bad::Json),
            ("a?b", Bad::NoColon),
            ("a.b?x:y", Bad::Condition(0..3)),
            ("t:int??5", Bad::Typed),
            ("n:float=1", Bad::UnknownKind(2..7)),
            ("m:enum()", Bad::EmptyChoice(2..8)),
            ("a: .b", Bad::Other),
            ("xs.length", Bad::Length),
            ("-1", Bad::Minus),
            ("_______(5)", Bad::Underscores),
            ("9223372036854775808+0", Bad::TooLarge(0..19)),
            ("9a", Bad::Other),
        ] {
            assert_eq!(hole(text), Err(bad), "{text}");
        }
        for text in ["1+", "(1+2", "()", "1++2", "*1", "(1)(2)"] {
            assert!(matches!(hole(text), Err(Bad::Sum(_))), "{text}");
        }
        let nested = format!("{}1{}", "(".repeat(65), ")".repeat(65));
        for text in [&"1+".repeat(100_000), &"a-1+".repeat(100_000), &nested] {
            assert!(matches!(hole(text), Err(Bad::TooMuch(_))));
        }
        assert!(hole(&format!("{}1", "1*".repeat(256))).is_ok());
    }
}
