//! How expressions and values are called in messages.

use crate::ir::{Expr, ExprKind, Literal};
use crate::source::Span;

/// What an expression is called: the path that it reads, or the literal.
pub fn name(expr: &Expr) -> Option<String> {
    Some(match &expr.kind {
        ExprKind::Var { name, .. } => name.clone(),
        ExprKind::Field {
            of, name: field, ..
        } => format!("{}.{field}", name(of)?),
        ExprKind::Index { of, at, .. } => format!("{}[{}]", name(of)?, name(at)?),
        ExprKind::Literal(literal) => written(literal)?,
        _ => return None,
    })
}

/// The same in backticks, or a word for what has no name.
pub fn quoted(expr: &Expr) -> String {
    match (name(expr), &expr.kind) {
        (Some(name), _) => format!("`{name}`"),
        (None, ExprKind::Field { name, .. }) => format!("`{name}`"),
        (None, _) => "this".to_string(),
    }
}

/// Where the name of the field or the item stands that an expression reads, inside its quotes.
pub fn place(expr: &Expr) -> Span {
    let ExprKind::Index { at, .. } = &expr.kind else {
        return expr.span;
    };
    let mut span = at.span;
    // A quote may be two characters, where YAML has quotes around the condition.
    if let ExprKind::Literal(Literal::Text(name)) = &at.kind
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && let Some(quotes) = span.range().len().checked_sub(name.len())
    {
        span.start += quotes as u32 / 2;
        span.end -= quotes as u32 / 2;
    }
    span
}

/// Names for a message: more than a few help nobody.
pub fn list(names: &[&str]) -> String {
    const MOST_SHOWN: usize = 12;
    match names.get(..MOST_SHOWN) {
        Some(first) if names.len() > MOST_SHOWN => format!("{}, …", first.join(", ")),
        _ => names.join(", "),
    }
}

/// A value as it could be written, if that is short.
pub fn written(literal: &Literal) -> Option<String> {
    Some(match literal {
        Literal::Null => "null".to_string(),
        Literal::Bool(flag) => flag.to_string(),
        Literal::Int(int) => int.to_string(),
        Literal::Float(float) => float.to_string(),
        Literal::Text(text) if text.len() <= 60 && !text.contains('`') => {
            format!("'{}'", text.escape_debug())
        }
        Literal::Text(_) | Literal::List(_) | Literal::Map(_) => return None,
    })
}

/// Whether the default only says that there is something to give.
pub fn is_placeholder(default: &Literal) -> bool {
    match default {
        Literal::Null => true,
        Literal::Text(text) => text.is_empty(),
        Literal::Map(fields) => fields.is_empty(),
        Literal::Bool(_) | Literal::Int(_) | Literal::Float(_) | Literal::List(_) => false,
    }
}

/// What a value of the file is, for messages.
pub fn kind(literal: &Literal) -> &'static str {
    match literal {
        Literal::Null => "null",
        Literal::Bool(_) => "a boolean",
        Literal::Int(_) | Literal::Float(_) => "a number",
        Literal::Text(_) => "text",
        Literal::List(_) => "a list",
        Literal::Map(_) => "a map",
    }
}
