//! The tokens of a condition.
//!
//! A token is a kind and a range; its text is looked up when it is needed. Slips whose meaning is
//! plain (`=`, `AND`, `{{ x }}`) are said here and read as what they mean, so that the rest of the
//! condition is still checked. It knows nothing of grammar beyond its neighbours.

use super::foreign::{filtered, is_filter};
use super::holes::{hole_at, plain_meaning};
use super::{BareWords, Problem};
use crate::codes;
use crate::diagnostic::Applicability;
use chumsky::span::SimpleSpan;
use logos::{Lexer, Logos};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Name,
    True,
    False,
    Null,
    Hole,
    And,
    Or,
    /// The word; `!` is apart because only the word can stand in `not in`.
    Not,
    Bang,
    In,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Dot,
    Comma,
    Open,
    Close,
    ListOpen,
    ListClose,
    /// Text without a closing quote, to the end of the condition.
    UnclosedText,
    /// Two opening braces that begin no hole.
    BadHole,
    /// Anything that no condition holds.
    Stray,
}

impl Kind {
    /// Whether a value may end here.
    pub fn ends_value(self) -> bool {
        matches!(
            self,
            Kind::Text
                | Kind::Number
                | Kind::Name
                | Kind::True
                | Kind::False
                | Kind::Null
                | Kind::Hole
                | Kind::Close
                | Kind::ListClose
        )
    }

    /// Whether a value, or a `not` before one, may start here.
    pub fn starts_value(self) -> bool {
        matches!(
            self,
            Kind::Text
                | Kind::Number
                | Kind::Name
                | Kind::True
                | Kind::False
                | Kind::Null
                | Kind::Hole
                | Kind::Not
                | Kind::Bang
                | Kind::Open
                | Kind::ListOpen
        )
    }

    pub fn compares(self) -> bool {
        matches!(
            self,
            Kind::Eq | Kind::Ne | Kind::Lt | Kind::Le | Kind::Gt | Kind::Ge | Kind::In
        )
    }
}

pub type Token = (Kind, SimpleSpan);

#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip(r"\s+", priority = 3))]
enum Raw {
    #[regex(r#"['"]"#, quoted)]
    Text(bool),
    #[regex(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")]
    Number,
    #[regex(r"[A-Za-z_\u{80}-\u{10FFFF}]", word)]
    Word,
    #[token("{{", braces)]
    Hole(bool),
    #[token("&&")]
    And,
    #[token("||")]
    Or,
    #[token("!")]
    Bang,
    #[token("==")]
    Eq,
    #[token("!=")]
    Ne,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token(".")]
    Dot,
    #[token(",")]
    Comma,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token("[")]
    ListOpen,
    #[token("]")]
    ListClose,
    // Operators of other languages, whole, so that a finding covers what was written.
    #[regex(r"===|!==|<>|=~|!~|=<|=>|\*\*|//|\?\?|:=|\+=|-=")]
    Stray,
}

/// Goes to the closing quote; false if there is none.
fn quoted(lexer: &mut Lexer<'_, Raw>) -> bool {
    let quote = lexer.slice().as_bytes()[0];
    let rest = lexer.remainder().as_bytes();
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => {
                lexer.bump(at + 1);
                return true;
            }
            _ => at += 1,
        }
    }
    lexer.bump(rest.len());
    false
}

/// Goes to the end of a name: letters, digits, `_`, and `-` before a letter.
fn word(lexer: &mut Lexer<'_, Raw>) -> Option<()> {
    let first = lexer.slice().chars().next()?;
    if !(first.is_alphabetic() || first == '_') {
        return None;
    }
    let mut rest = lexer.remainder().chars();
    let mut length = 0;
    while let Some(c) = rest.next() {
        let part = c.is_alphanumeric()
            || c == '_'
            || c == '-' && rest.clone().next().is_some_and(char::is_alphabetic);
        if !part {
            break;
        }
        length += c.len_utf8();
    }
    lexer.bump(length);
    Some(())
}

/// Goes to the end of a hole; false if these braces begin none. Braces that close again are taken
/// whole, so that one slip is one token.
fn braces(lexer: &mut Lexer<'_, Raw>) -> bool {
    let open = lexer.span().start;
    if let Some((hole, _)) = hole_at(lexer.source(), open) {
        lexer.bump(hole.range.len() - 2);
        return true;
    }
    let rest = lexer.remainder();
    if let Some(close) = rest.find("}}")
        && !rest[..close].contains("{{")
    {
        lexer.bump(close + 2);
    }
    false
}

/// Reads all tokens; says what is wrong with those whose meaning is plain.
pub fn lex(text: &str, bare: BareWords) -> (Vec<Token>, Vec<Problem>) {
    let mut tokens: Vec<Token> = Vec::with_capacity(text.len() / 4 + 1);
    let mut lexer = Raw::lexer(text);
    while let Some(raw) = lexer.next() {
        let span = SimpleSpan::from(lexer.span());
        let after_dot = tokens.last().is_some_and(|token| token.0 == Kind::Dot);
        let kind = match raw {
            Ok(Raw::Text(true)) => Kind::Text,
            Ok(Raw::Text(false)) => Kind::UnclosedText,
            Ok(Raw::Number) => Kind::Number,
            // A field may be called anything.
            Ok(Raw::Word) if after_dot => Kind::Name,
            Ok(Raw::Word) => keyword(lexer.slice(), bare),
            Ok(Raw::Hole(true)) => Kind::Hole,
            Ok(Raw::Hole(false)) => Kind::BadHole,
            Ok(Raw::And) => Kind::And,
            Ok(Raw::Or) => Kind::Or,
            Ok(Raw::Bang) => Kind::Bang,
            Ok(Raw::Eq) => Kind::Eq,
            Ok(Raw::Ne) => Kind::Ne,
            Ok(Raw::Lt) => Kind::Lt,
            Ok(Raw::Le) => Kind::Le,
            Ok(Raw::Gt) => Kind::Gt,
            Ok(Raw::Ge) => Kind::Ge,
            Ok(Raw::Dot) => Kind::Dot,
            Ok(Raw::Comma) => Kind::Comma,
            Ok(Raw::Open) => Kind::Open,
            Ok(Raw::Close) => Kind::Close,
            Ok(Raw::ListOpen) => Kind::ListOpen,
            Ok(Raw::ListClose) => Kind::ListClose,
            Ok(Raw::Stray) | Err(()) => Kind::Stray,
        };
        let part = matches!(raw, Ok(Raw::Word | Raw::Number));
        if !(bare == BareWords::Text && part && joined(&mut tokens, span, text)) {
            tokens.push((kind, span));
        }
    }
    let mut problems = mend_holes(text, &mut tokens);
    problems.extend(mend_operators(text, &mut tokens, bare));
    (tokens, problems)
}

fn keyword(word: &str, bare: BareWords) -> Kind {
    match word {
        "and" => Kind::And,
        "or" => Kind::Or,
        "not" => Kind::Not,
        "in" => Kind::In,
        "true" | "True" => Kind::True,
        "false" | "False" => Kind::False,
        "null" => Kind::Null,
        "none" | "None" if bare == BareWords::Variables => Kind::Null,
        _ => Kind::Name,
    }
}

/// Makes a word or number part of the bare word it touches (`1.2.3`, `main.py`, `3rd`), unless it
/// is a method's name.
fn joined(tokens: &mut Vec<Token>, span: SimpleSpan, text: &str) -> bool {
    let touching = |left: &Token, right: usize| left.1.end == right;
    let head = |tokens: &[Token], at: usize| {
        let (kind, span) = tokens[at];
        matches!(
            kind,
            Kind::Name | Kind::Number | Kind::True | Kind::False | Kind::Null
        ) && !text[span.start..].starts_with('-')
            && !at
                .checked_sub(1)
                .is_some_and(|before| tokens[before].0 == Kind::Dot)
    };
    if text[span.start..].starts_with('-') {
        return false;
    }
    let at = match tokens.as_slice() {
        [.., last] if touching(last, span.start) && last.0 != Kind::Dot => tokens.len() - 1,
        [.., first, dot]
            if dot.0 == Kind::Dot
                && touching(dot, span.start)
                && touching(first, dot.1.start)
                && !text[span.end..].trim_start().starts_with('(') =>
        {
            tokens.len() - 2
        }
        _ => return false,
    };
    if !head(tokens, at) {
        return false;
    }
    let start = tokens[at].1.start;
    tokens.truncate(at);
    tokens.push((Kind::Name, SimpleSpan::from(start..span.end)));
    true
}

/// Reads holes with blanks inside as holes, and says so.
fn mend_holes(text: &str, tokens: &mut [Token]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (kind, span) in tokens {
        match kind {
            Kind::Hole => problems.extend(filter_in_condition(text, span.into_range(), *span)),
            Kind::Text => {
                let inside = span.start + 1..span.end - 1;
                problems.extend(filter_in_condition(text, inside, *span));
            }
            Kind::BadHole => {
                let written = &text[span.into_range()];
                let inner = written
                    .strip_prefix("{{")
                    .and_then(|rest| rest.strip_suffix("}}"));
                // A filter would be the next mistake; what is offered leaves it out.
                let meant = inner
                    .filter(|inner| plain_meaning(inner).is_some())
                    .and_then(|inner| plain_meaning(inner.split('|').next()?));
                let Some(meant) = meant else { continue };
                *kind = Kind::Hole;
                problems.push(
                    bad(*span, format!("`{written}` is not a hole"))
                        .help(format!(
                            "a hole has no blanks inside its braces: write `{meant}`"
                        ))
                        .safe(span.into_range(), meant),
                );
            }
            _ => {}
        }
    }
    problems
}

/// Reads operators of other languages as ours where their meaning is plain, and says so.
fn mend_operators(text: &str, tokens: &mut [Token], bare: BareWords) -> Vec<Problem> {
    let mut problems = Vec::new();
    for at in 0..tokens.len() {
        let (kind, span) = tokens[at];
        let written = &text[span.into_range()];
        let before = at.checked_sub(1).map(|at| tokens[at].0);
        let after = tokens.get(at + 1).map(|token| token.0);
        let after_value_not = before == Some(Kind::Not)
            && at
                .checked_sub(2)
                .is_some_and(|at| tokens[at].0.ends_value());
        let between = before.is_some_and(Kind::ends_value) && after.is_some_and(Kind::starts_value);
        match kind {
            Kind::Stray if between => {
                let (kind, meant) = match written {
                    "=" | "===" => (Kind::Eq, "=="),
                    "!==" | "<>" => (Kind::Ne, "!="),
                    "=<" => (Kind::Le, "<="),
                    "=>" => (Kind::Ge, ">="),
                    "&" => (Kind::And, "&&"),
                    // A filter is no second value, and what it was to do is said elsewhere.
                    "|" if after == Some(Kind::Name) && {
                        let word = &text[tokens[at + 1].1.into_range()];
                        let is_not = word.eq_ignore_ascii_case("not");
                        !is_not && (bare == BareWords::Text || is_filter(word))
                    } =>
                    {
                        continue;
                    }
                    "|" => {
                        tokens[at].0 = Kind::Or;
                        problems.push(
                            bad(span, "`|` is not an operator")
                                .help("write `||` between two conditions")
                                .risky(span.into_range(), "||"),
                        );
                        continue;
                    }
                    _ => continue,
                };
                tokens[at].0 = kind;
                let mut problem = slip(span, written, meant);
                // As in a shell: what is a test there would be a list here, and always true.
                if tokens[0].0 == Kind::ListOpen
                    && let Some(fix) = &mut problem.fix
                {
                    fix.applicability = Applicability::Unsafe;
                    problem.help = Some(format!("write `{meant}`, and leave the brackets out"));
                }
                problems.push(problem);
            }
            Kind::Name if before == Some(Kind::Dot) || written.len() > "not".len() => {}
            Kind::Name => {
                let (kind, meant) = match written.to_ascii_lowercase().as_str() {
                    "and" if between => (Kind::And, "and"),
                    "or" if between => (Kind::Or, "or"),
                    "in" if between || after_value_not => (Kind::In, "in"),
                    "not" if before.is_some_and(Kind::ends_value) => {
                        let Some((next, end)) = tokens.get(at + 1).copied() else {
                            continue;
                        };
                        if next == Kind::In
                            || next == Kind::Name
                                && text[end.into_range()].eq_ignore_ascii_case("in")
                        {
                            tokens[at].0 = Kind::Not;
                            tokens[at + 1].0 = Kind::In;
                            let both = SimpleSpan::from(span.start..end.end);
                            problems.push(slip(both, &text[both.into_range()], "not in"));
                        }
                        continue;
                    }
                    "not"
                        if after.is_some_and(Kind::starts_value)
                            && after != Some(Kind::ListOpen) =>
                    {
                        (Kind::Not, "not")
                    }
                    _ => continue,
                };
                tokens[at].0 = kind;
                problems.push(slip(span, written, meant));
            }
            _ => {}
        }
    }
    problems
}

fn slip(span: SimpleSpan, written: &str, meant: &str) -> Problem {
    bad(span, format!("`{written}` is not an operator"))
        .help(format!("write `{meant}`"))
        .safe(span.into_range(), meant)
}

pub fn bad(span: SimpleSpan, message: impl Into<String>) -> Problem {
    Problem::new(span.into_range(), &codes::BAD_CONDITION, message)
}

/// A filter says how a value is written into text; a condition writes nothing. One that others have
/// makes another value, so that nothing is the same without it.
fn filter_in_condition(text: &str, range: Range<usize>, whole: SimpleSpan) -> Option<Problem> {
    text.get(range.clone())?.find('|')?;
    let (hole, unknown) = hole_at(text, range.start)?;
    if hole.range != range {
        return None;
    }
    let found = |name: Range<usize>| {
        let written = &text[name.clone()];
        let message = format!("the filter `{written}` has no meaning in a condition");
        Problem::new(name, &codes::BAD_CONDITION, message)
    };
    if let Some((_, name)) = hole.filter {
        let (pipe, end) = (name.start - 1, name.end);
        return Some(
            found(name)
                .help("conditions work on values; leave the filter out")
                .safe(pipe..end, ""),
        );
    }
    let name = unknown?;
    let value = format!("{{{{{}}}}}", &text[hole.path.range]);
    Some(match filtered(&value, &text[name.clone()]) {
        Some(meant) => found(name)
            .help(format!("write `{meant}`"))
            .risky(whole.into_range(), meant),
        None => found(name).help("conditions have no filters; compute the value in a step"),
    })
}
