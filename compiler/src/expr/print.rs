//! A condition in its canonical form.
//!
//! What it prints reads back as the same tree; blanks, needless parentheses and the choice of
//! quotes are not kept.

use super::ast::{Expr, ExprKind};
use std::fmt::{self, Display, Formatter};

/// How tightly a form holds together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bond {
    Or,
    And,
    Not,
    Compare,
    Post,
    /// Can stand before a dot whatever bare words mean.
    Receiver,
}

/// The condition as text.
pub fn print(expr: &Expr) -> String {
    Printed(expr, Bond::Or).to_string()
}

struct Printed<'a>(&'a Expr, Bond);

fn bond(kind: &ExprKind) -> Bond {
    match kind {
        ExprKind::Or(_) => Bond::Or,
        ExprKind::And(_) => Bond::And,
        ExprKind::Not(_) => Bond::Not,
        ExprKind::Compare { .. } => Bond::Compare,
        ExprKind::Word(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Bool(_)
        | ExprKind::Null => Bond::Post,
        ExprKind::Text(_)
        | ExprKind::Name(_)
        | ExprKind::Hole(_)
        | ExprKind::List(_)
        | ExprKind::Call { .. }
        | ExprKind::Method { .. }
        | ExprKind::Unknown { .. }
        | ExprKind::Field { .. }
        | ExprKind::Index { .. } => Bond::Receiver,
    }
}

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Printed(expr, least) = self;
        if bond(&expr.kind) < *least {
            return write!(f, "({})", Printed(expr, Bond::Or));
        }
        match &expr.kind {
            ExprKind::Text(text) => quoted(f, text),
            ExprKind::Word(word) | ExprKind::Name(word) => f.write_str(word),
            ExprKind::Int(int) => write!(f, "{int}"),
            // A literal too large for a float reads as infinity, and must again.
            ExprKind::Float(float) if float.is_infinite() => {
                f.write_str(if *float < 0.0 { "-1e999" } else { "1e999" })
            }
            ExprKind::Float(float) => write!(f, "{float:?}"),
            ExprKind::Bool(truth) => write!(f, "{truth}"),
            ExprKind::Null => f.write_str("null"),
            ExprKind::Hole(path) => write!(f, "{{{{{path}}}}}"),
            ExprKind::List(items) => {
                f.write_str("[")?;
                joined(f, items, ", ", Bond::Or)?;
                f.write_str("]")
            }
            ExprKind::Call { function, args, .. } => called(f, function.word(), args),
            ExprKind::Method {
                receiver,
                method,
                args,
                ..
            } => {
                write!(f, "{}.", Printed(receiver, Bond::Receiver))?;
                called(f, method.word(), args)
            }
            ExprKind::Unknown {
                receiver,
                written,
                args,
                ..
            } => {
                if let Some(receiver) = receiver {
                    write!(f, "{}.", Printed(receiver, Bond::Receiver))?;
                }
                called(f, written, args)
            }
            ExprKind::Field { of, field, .. } => {
                write!(f, "{}.{field}", Printed(of, Bond::Receiver))
            }
            ExprKind::Index { of, index } => write!(
                f,
                "{}[{}]",
                Printed(of, Bond::Receiver),
                Printed(index, Bond::Or)
            ),
            ExprKind::Not(of) => write!(f, "not {}", Printed(of, Bond::Not)),
            ExprKind::And(parts) => joined(f, parts, " and ", Bond::Not),
            ExprKind::Or(parts) => joined(f, parts, " or ", Bond::And),
            ExprKind::Compare { op, left, right } => write!(
                f,
                "{} {} {}",
                Printed(left, Bond::Post),
                op.word(),
                Printed(right, Bond::Post)
            ),
        }
    }
}

fn called(f: &mut Formatter<'_>, name: &str, args: &[Expr]) -> fmt::Result {
    write!(f, "{name}(")?;
    joined(f, args, ", ", Bond::Or)?;
    f.write_str(")")
}

fn joined(f: &mut Formatter<'_>, parts: &[Expr], between: &str, least: Bond) -> fmt::Result {
    for (position, part) in parts.iter().enumerate() {
        if position > 0 {
            f.write_str(between)?;
        }
        write!(f, "{}", Printed(part, least))?;
    }
    Ok(())
}

fn quoted(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let text = text
        .replace('\\', "\\\\")
        .replace('\'', "\\'")
        .replace('\n', "\\n")
        .replace('\t', "\\t")
        .replace("{{", "\\{{");
    write!(f, "'{text}'")
}
