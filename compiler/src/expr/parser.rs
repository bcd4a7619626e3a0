//! The grammar of conditions.
//!
//! ```text
//! or     := and (("or" | "||") and)*
//! and    := not (("and" | "&&") not)*
//! not    := ("not" | "!") not | cmp
//! cmp    := post [("==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not" "in") post]
//! post   := atom ("." NAME ["(" args ")"] | "[" or "]")*
//! atom   := STRING | NUMBER | true | false | null | NAME | HOLE
//!         | NAME "(" args ")" | "(" or ")" | "[" args "]"
//! args   := [or ("," or)* [","]]
//! ```
//!
//! It gives a tree or the place where there is none; what to say about that place is `explain`'s
//! business, and whether a call can be made is that of `calls`.

use super::ast::{Comparison, Expr, ExprKind};
use super::explain::explain;
use super::holes::{Path, hole_at, plain_meaning, whole_hole};
use super::tokens::{Kind, Token, bad, lex};
use super::{BareWords, Problem, calls, descent};
use chumsky::error::Cheap;
use chumsky::input::{Input as _, MappedInput};
use chumsky::prelude::*;
use std::ops::Range;

/// The longest condition, in bytes.
pub const MOST_BYTES: usize = 8192;
/// How many brackets, `not`s and links of a chain may stand inside each other.
pub const MOST_NESTED: usize = 64;

/// Reads a condition to its end. A blank one is true.
///
/// There is a tree whenever there is no syntax error; other problems may stand beside it.
pub fn parse(text: &str, bare: BareWords) -> (Option<Expr>, Vec<Problem>) {
    if text.len() > MOST_BYTES {
        let start = text.floor_char_boundary(MOST_BYTES);
        let problem = bad(
            SimpleSpan::from(start..text.len()),
            format!("the condition is longer than {MOST_BYTES} bytes"),
        );
        return (
            None,
            vec![problem.help("compute the answer in a step and test its output")],
        );
    }
    if text.trim().is_empty() {
        return (Some(Expr::new(0..text.len(), ExprKind::Bool(true))), vec![]);
    }
    // A hole alone, as many conditions are, has no tokens to look at.
    if let Some(hole) = whole_hole(text).filter(|hole| hole.filter.is_none()) {
        return (
            Some(Expr::new(hole.range, ExprKind::Hole(hole.path))),
            vec![],
        );
    }
    let (tokens, mut problems) = lex(text, bare);
    let tree = match too_deep(&tokens) {
        Some(problem) => {
            problems.push(problem);
            None
        }
        None => match tree(text, &tokens, bare) {
            Ok(mut tree) => {
                calls::settle(text, bare, &mut tree, &mut problems);
                Some(tree)
            }
            Err(at) => {
                problems.push(explain(text, &tokens, at, bare));
                None
            }
        },
    };
    problems.sort_by_key(|problem| problem.range.start);
    (tree, problems)
}

/// How deep the value being read is, inside one pair of brackets.
#[derive(Clone, Copy, Default)]
struct Level {
    nots: usize,
    /// Links of the current chain, and what its receiver holds.
    chain: usize,
    /// The deepest value of this level so far.
    deepest: usize,
    /// Whether this level hangs on a value: an index, or the arguments of a call.
    linked: bool,
}

/// Bounds the depth of the tree before it is built, so that nothing recurses without bound, here
/// or in what walks the tree later.
fn too_deep(tokens: &[Token]) -> Option<Problem> {
    let mut outer: Vec<Level> = Vec::new();
    let mut base = 0;
    let mut level = Level::default();
    let mut before = None;
    for (kind, span) in tokens {
        let after_value = before.is_some_and(Kind::ends_value);
        match kind {
            Kind::Not | Kind::Bang if !after_value => level.nots += 1,
            Kind::And | Kind::Or | Kind::Comma => (level.nots, level.chain) = (0, 0),
            Kind::Dot => level.chain += 1,
            Kind::Open | Kind::ListOpen => {
                let linked = after_value;
                if linked && *kind == Kind::ListOpen {
                    level.chain += 1;
                } else if !linked {
                    level.chain = 0;
                }
                base += level.nots + 1;
                outer.push(level);
                level = Level {
                    linked,
                    ..Level::default()
                };
            }
            Kind::Close | Kind::ListClose => {
                if let Some(around) = outer.pop() {
                    let inside = level.deepest + 1;
                    let linked = level.linked;
                    level = around;
                    base -= level.nots + 1;
                    level.chain = if linked {
                        level.chain.max(inside)
                    } else {
                        inside
                    };
                }
            }
            kind if kind.ends_value() && before != Some(Kind::Dot) => level.chain = 0,
            _ => {}
        }
        level.deepest = level.deepest.max(level.nots + level.chain);
        if base + level.nots + level.chain > MOST_NESTED {
            return Some(
                bad(
                    *span,
                    format!("the condition is nested deeper than {MOST_NESTED} levels"),
                )
                .help("split it: compute part of the answer in a step and test its output"),
            );
        }
        before = Some(*kind);
    }
    None
}

type Input<'s> = MappedInput<'s, Kind, SimpleSpan, &'s [Token]>;
type Errors = extra::Err<Cheap>;

/// The tree, or the index of the token that cannot stand where it stands.
fn tree(text: &str, tokens: &[Token], bare: BareWords) -> Result<Expr, usize> {
    match descent::tree(text, tokens, bare) {
        Some(tree) => Ok(tree),
        None => grammatical(text, tokens, bare),
    }
}

/// The same, by the grammar alone.
pub(super) fn grammatical(text: &str, tokens: &[Token], bare: BareWords) -> Result<Expr, usize> {
    let end = SimpleSpan::from(text.len()..text.len());
    grammar(text, bare)
        .parse(tokens.split_token_span(end))
        .into_result()
        .map_err(|errors| {
            let at = errors
                .first()
                .map_or(text.len(), |error| error.span().start);
            tokens.partition_point(|token| token.1.start < at)
        })
}

/// What hangs on a value.
enum Link {
    Field(SimpleSpan, Option<Vec<Expr>>),
    Index(Expr),
}

fn grammar<'s>(text: &'s str, bare: BareWords) -> impl Parser<'s, Input<'s>, Expr, Errors> + Clone {
    recursive(|or| {
        let args = or
            .clone()
            .separated_by(just(Kind::Comma))
            .allow_trailing()
            .collect::<Vec<_>>();
        let called = args
            .clone()
            .delimited_by(just(Kind::Open), just(Kind::Close));
        let name = just(Kind::Name).map_with(|_, e| -> SimpleSpan { e.span() });

        let literal = any()
            .filter(|kind: &Kind| kind.ends_value() && *kind != Kind::Name)
            .filter(|kind| !matches!(kind, Kind::Close | Kind::ListClose))
            .map_with(move |kind, e| atom(text, kind, e.span(), bare));
        let named =
            name.then(called.clone().or_not())
                .map_with(move |(name, args), e| match args {
                    None => atom(text, Kind::Name, name, bare),
                    Some(args) => call(text, span(e.span()), None, name, args),
                });
        let group = or
            .clone()
            .delimited_by(just(Kind::Open), just(Kind::Close))
            .map_with(|inner: Expr, e| Expr::new(span(e.span()), inner.kind));
        let list = args
            .delimited_by(just(Kind::ListOpen), just(Kind::ListClose))
            .map_with(|items, e| Expr::new(span(e.span()), ExprKind::List(items)));

        let link = choice((
            just(Kind::Dot)
                .ignore_then(name)
                .then(called.or_not())
                .map(|(name, args)| Link::Field(name, args)),
            or.delimited_by(just(Kind::ListOpen), just(Kind::ListClose))
                .map(Link::Index),
        ));
        let post = choice((literal, named, group, list))
            .foldl_with(link.repeated(), move |of, link, e| {
                linked(text, span(e.span()), of, link)
            });

        let op = choice((
            select! {
                Kind::Eq => Comparison::Eq,
                Kind::Ne => Comparison::Ne,
                Kind::Lt => Comparison::Lt,
                Kind::Le => Comparison::Le,
                Kind::Gt => Comparison::Gt,
                Kind::Ge => Comparison::Ge,
                Kind::In => Comparison::In,
            },
            just(Kind::Not).then(just(Kind::In)).to(Comparison::NotIn),
        ));
        let compare = post
            .clone()
            .then(op.then(post).or_not())
            .map(|(left, rest)| match rest {
                None => left,
                Some((op, right)) => compared(op, left, right),
            });
        let not = one_of([Kind::Not, Kind::Bang])
            .map_with(|_, e| -> SimpleSpan { e.span() })
            .repeated()
            .foldr(compare, |not, of| negated(not.start, of));
        let and = not
            .separated_by(just(Kind::And))
            .at_least(1)
            .collect()
            .map(|parts| several(parts, ExprKind::And));
        and.separated_by(just(Kind::Or))
            .at_least(1)
            .collect()
            .map(|parts| several(parts, ExprKind::Or))
    })
    .then_ignore(end())
}

fn span(span: SimpleSpan) -> Range<usize> {
    span.into_range()
}

/// A value of one token.
pub(super) fn atom(text: &str, kind: Kind, span: SimpleSpan, bare: BareWords) -> Expr {
    let range = span.into_range();
    let written = &text[range.clone()];
    let kind = match kind {
        Kind::Text => match hole(text, range.start + 1, range.end - 1) {
            Some(path) => ExprKind::Hole(path),
            None => ExprKind::Text(unquoted(&written[1..written.len() - 1])),
        },
        Kind::Number => number(written),
        Kind::True => ExprKind::Bool(true),
        Kind::False => ExprKind::Bool(false),
        Kind::Null => ExprKind::Null,
        Kind::Hole => match hole(text, range.start, range.end) {
            Some(path) => ExprKind::Hole(path),
            None => spaced_hole(written, range.start),
        },
        _ => match bare {
            BareWords::Text => ExprKind::Word(written.to_string()),
            BareWords::Variables => ExprKind::Name(written.to_string()),
        },
    };
    Expr::new(range, kind)
}

/// The path of a hole that is all that stands from `start` to `end`.
fn hole(text: &str, start: usize, end: usize) -> Option<Path> {
    let (hole, _) = hole_at(text, start)?;
    (hole.range.end == end).then_some(hole.path)
}

/// A hole with blanks inside its braces, which the tokens have already complained about.
fn spaced_hole(written: &str, start: usize) -> ExprKind {
    let blanks = written[2..].len() - written[2..].trim_start().len();
    let meant = plain_meaning(&written[2..written.len() - 2]).unwrap_or_default();
    match hole_at(&meant, 0) {
        Some((mut hole, _)) => {
            hole.path.shift(start + blanks);
            ExprKind::Hole(hole.path)
        }
        None => ExprKind::Null,
    }
}

fn number(written: &str) -> ExprKind {
    match written.parse() {
        Ok(int) => ExprKind::Int(int),
        Err(_) => ExprKind::Float(written.parse().unwrap_or(f64::INFINITY)),
    }
}

/// What a quoted text says: `\n \t \\ \' \"` are single characters, `\{{` is `{{`, and another
/// backslash is itself.
fn unquoted(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (decoded, used) = match after.bytes().next() {
            Some(b'n') => ("\n", 1),
            Some(b't') => ("\t", 1),
            Some(b'\\') => ("\\", 1),
            Some(b'\'') => ("'", 1),
            Some(b'"') => ("\"", 1),
            Some(b'{') if after.starts_with("{{") => ("{{", 2),
            _ => ("\\", 0),
        };
        text.push_str(decoded);
        rest = &after[used..];
    }
    text.push_str(rest);
    text
}

/// A call, not yet known to be possible.
pub(super) fn call(
    text: &str,
    range: Range<usize>,
    receiver: Option<Box<Expr>>,
    name: SimpleSpan,
    args: Vec<Expr>,
) -> Expr {
    let name = name.into_range();
    let kind = ExprKind::Unknown {
        receiver,
        written: text[name.clone()].to_string(),
        name,
        args,
    };
    Expr::new(range, kind)
}

fn linked(text: &str, range: Range<usize>, of: Expr, link: Link) -> Expr {
    match link {
        Link::Field(name, Some(args)) => call(text, range, Some(Box::new(of)), name, args),
        Link::Field(name, None) => field(text, range, of, name),
        Link::Index(index) => {
            let (of, index) = (Box::new(of), Box::new(index));
            Expr::new(range, ExprKind::Index { of, index })
        }
    }
}

pub(super) fn field(text: &str, range: Range<usize>, of: Expr, name: SimpleSpan) -> Expr {
    let name = name.into_range();
    let kind = ExprKind::Field {
        of: Box::new(of),
        field: text[name.clone()].to_string(),
        name,
    };
    Expr::new(range, kind)
}

pub(super) fn compared(op: Comparison, left: Expr, right: Expr) -> Expr {
    let range = left.range.start..right.range.end;
    let (left, right) = (Box::new(left), Box::new(right));
    Expr::new(range, ExprKind::Compare { op, left, right })
}

pub(super) fn negated(start: usize, of: Expr) -> Expr {
    Expr::new(start..of.range.end, ExprKind::Not(Box::new(of)))
}

/// One part is itself; more are joined.
pub(super) fn several(mut parts: Vec<Expr>, join: fn(Vec<Expr>) -> ExprKind) -> Expr {
    if parts.len() == 1
        && let Some(only) = parts.pop()
    {
        return only;
    }
    let range = match (parts.first(), parts.last()) {
        (Some(first), Some(last)) => first.range.start..last.range.end,
        _ => 0..0,
    };
    Expr::new(range, join(parts))
}
