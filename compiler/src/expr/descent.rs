//! A second reading of the grammar, by hand, in a tenth of the time: conditions that are right need no
//! more. Where it finds no tree, the first reading says where there is none. A test holds the two against
//! each other.

use super::BareWords;
use super::ast::{Comparison, Expr, ExprKind};
use super::parser::{atom, call, compared, field, negated, several};
use super::tokens::{Kind, Token};

/// The tree, or nothing where there is none.
pub(super) fn tree(text: &str, tokens: &[Token], bare: BareWords) -> Option<Expr> {
    let mut reader = Reader {
        text,
        tokens,
        bare,
        at: 0,
    };
    let tree = reader.binding(0)?;
    (reader.at == tokens.len()).then_some(tree)
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    bare: BareWords,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<Kind> {
        self.tokens.get(self.at).map(|token| token.0)
    }

    fn take(&mut self, kind: Kind) -> Option<Token> {
        let token = *self.tokens.get(self.at)?;
        (token.0 == kind).then(|| {
            self.at += 1;
            token
        })
    }

    /// Pratt: 0 or, 1 and, 2 not, 3 comparison, 4 values.
    fn binding(&mut self, level: u8) -> Option<Expr> {
        let mut left = match self.peek()? {
            Kind::Not | Kind::Bang if level <= 2 => {
                let start = self.tokens[self.at].1.start;
                self.at += 1;
                negated(start, self.binding(2)?)
            }
            _ => {
                let left = self.value()?;
                match self.comparison() {
                    Some(op) if level <= 3 => compared(op, left, self.value()?),
                    Some(_) => return None,
                    None => left,
                }
            }
        };
        for (own, kind) in [(1, Kind::And), (0, Kind::Or)] {
            if level <= own && self.peek() == Some(kind) {
                let mut parts = vec![left];
                while self.take(kind).is_some() {
                    parts.push(self.binding(own + 1)?);
                }
                left = match kind {
                    Kind::And => several(parts, ExprKind::And),
                    _ => several(parts, ExprKind::Or),
                };
            }
        }
        Some(left)
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let op = match self.peek()? {
            Kind::Eq => Comparison::Eq,
            Kind::Ne => Comparison::Ne,
            Kind::Lt => Comparison::Lt,
            Kind::Le => Comparison::Le,
            Kind::Gt => Comparison::Gt,
            Kind::Ge => Comparison::Ge,
            Kind::In => Comparison::In,
            Kind::Not if self.tokens.get(self.at + 1)?.0 == Kind::In => {
                self.at += 1;
                Comparison::NotIn
            }
            _ => return None,
        };
        self.at += 1;
        Some(op)
    }

    fn value(&mut self) -> Option<Expr> {
        let (kind, span) = *self.tokens.get(self.at)?;
        self.at += 1;
        let mut value = match kind {
            Kind::Open => {
                let inner = self.binding(0)?;
                let (_, close) = self.take(Kind::Close)?;
                Expr::new(span.start..close.end, inner.kind)
            }
            Kind::ListOpen => {
                let items = self.until(Kind::ListClose)?;
                Expr::new(span.start..self.end(), ExprKind::List(items))
            }
            Kind::Name if self.take(Kind::Open).is_some() => {
                let args = self.until(Kind::Close)?;
                call(self.text, span.start..self.end(), None, span, args)
            }
            Kind::Text
            | Kind::Number
            | Kind::Name
            | Kind::True
            | Kind::False
            | Kind::Null
            | Kind::Hole => atom(self.text, kind, span, self.bare),
            _ => return None,
        };
        let start = span.start;
        loop {
            if self.take(Kind::Dot).is_some() {
                let (_, name) = self.take(Kind::Name)?;
                value = if self.take(Kind::Open).is_some() {
                    let args = self.until(Kind::Close)?;
                    call(
                        self.text,
                        start..self.end(),
                        Some(Box::new(value)),
                        name,
                        args,
                    )
                } else {
                    field(self.text, start..name.end, value, name)
                };
            } else if self.take(Kind::ListOpen).is_some() {
                let index = Box::new(self.binding(0)?);
                self.take(Kind::ListClose)?;
                let of = Box::new(value);
                value = Expr::new(start..self.end(), ExprKind::Index { of, index });
            } else {
                return Some(value);
            }
        }
    }

    fn end(&self) -> usize {
        self.tokens[self.at - 1].1.end
    }

    /// Values with commas between them, and perhaps one after, up to `close`.
    fn until(&mut self, close: Kind) -> Option<Vec<Expr>> {
        let mut items = Vec::new();
        while self.take(close).is_none() {
            items.push(self.binding(0)?);
            if self.take(Kind::Comma).is_none() {
                self.take(close)?;
                break;
            }
        }
        Some(items)
    }
}
