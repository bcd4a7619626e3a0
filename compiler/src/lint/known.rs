//! What conditions say about each other: does one that holds make sure that another does?
//!
//! Looks at the shape of conditions, not at values. That a variable may change between two
//! conditions is passed over: what is said twice in a recipe is meant to be the same.

use crate::ir::{Compare, Expr, ExprKind, Literal, Part};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// An expression without its place: two with the same key ask the same. A hash, so two that do not
/// could have the same by chance; all that is lost then is a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

/// Conditions that hold at one point.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// What is asked, and whether it is true.
    atoms: Vec<(Key, bool)>,
    /// What is equal to which literal.
    equal: Vec<(Key, Key)>,
    /// Of each pair one side holds.
    either: Vec<(Known, Known)>,
}

impl Known {
    /// Adds that a condition is true, or that it is false.
    pub fn add(&mut self, expr: &Expr, holds: bool) {
        match &expr.kind {
            ExprKind::Truth { of, .. } => self.add(of, holds),
            ExprKind::Not { of, .. } => self.add(of, !holds),
            ExprKind::And { left, right, .. } if holds => {
                self.add(left, true);
                self.add(right, true);
            }
            ExprKind::Or { left, right, .. } if !holds => {
                self.add(left, false);
                self.add(right, false);
            }
            ExprKind::And { left, right, .. } | ExprKind::Or { left, right, .. } => {
                let side = |expr: &Expr| {
                    let mut known = Known::default();
                    known.add(expr, holds);
                    known
                };
                self.either.push((side(left), side(right)));
                self.atoms.push((key(expr), holds));
            }
            ExprKind::Compare {
                op, left, right, ..
            } => self.compare(*op, left, right, holds),
            _ => self.atoms.push((key(expr), holds)),
        }
    }

    fn compare(&mut self, op: Compare, left: &Expr, right: &Expr, holds: bool) {
        let (op, holds) = match op {
            Compare::Ne => (Compare::Eq, !holds),
            Compare::NotIn => (Compare::In, !holds),
            other => (other, holds),
        };
        self.atoms.push((comparison(op, left, right), holds));
        if op == Compare::Eq
            && holds
            && let ExprKind::Literal(literal) = &right.kind
        {
            self.equal.push((key(left), key(right)));
            self.atoms.push((key(left), !is_no(literal)));
        }
    }

    /// Whether a condition must be true, or must be false.
    pub fn implies(&self, expr: &Expr, holds: bool) -> bool {
        if self.has(key(expr), holds) {
            return true;
        }
        let direct = match &expr.kind {
            ExprKind::Truth { of, .. } => self.implies(of, holds),
            ExprKind::Not { of, .. } => self.implies(of, !holds),
            ExprKind::And { left, right, .. } if holds => {
                self.implies(left, true) && self.implies(right, true)
            }
            ExprKind::Or { left, right, .. } if !holds => {
                self.implies(left, false) && self.implies(right, false)
            }
            ExprKind::And { left, right, .. } | ExprKind::Or { left, right, .. } => {
                self.implies(left, holds) || self.implies(right, holds)
            }
            ExprKind::Compare {
                op, left, right, ..
            } => {
                let (op, holds) = match op {
                    Compare::Ne => (Compare::Eq, !holds),
                    Compare::NotIn => (Compare::In, !holds),
                    other => (*other, holds),
                };
                self.has(comparison(op, left, right), holds)
                    || (op == Compare::Eq && !holds && self.differs(left, right))
            }
            ExprKind::Literal(Literal::Bool(value)) => *value == holds,
            _ => false,
        };
        direct || self.by_cases(expr, holds)
    }

    fn has(&self, atom: Key, holds: bool) -> bool {
        self.atoms
            .iter()
            .any(|(known, value)| *value == holds && *known == atom)
    }

    /// `x` is one literal, so it is not another.
    fn differs(&self, left: &Expr, right: &Expr) -> bool {
        let (left, right) = (key(left), key(right));
        self.equal
            .iter()
            .any(|(known, literal)| *known == left && *literal != right)
    }

    fn by_cases(&self, expr: &Expr, holds: bool) -> bool {
        self.either
            .iter()
            .any(|(one, other)| one.implies(expr, holds) && other.implies(expr, holds))
    }
}

/// What a comparison with a literal looks at: `x` in `x == 'a'`.
pub fn compared(expr: &Expr) -> Option<Key> {
    match &expr.kind {
        ExprKind::Truth { of, .. } => compared(of),
        ExprKind::Compare {
            op: Compare::Eq | Compare::In,
            left,
            right,
            ..
        } => matches!(right.kind, ExprKind::Literal(_) | ExprKind::List(_)).then(|| key(left)),
        ExprKind::Or { left, right, .. } => {
            let left = compared(left)?;
            (compared(right)? == left).then_some(left)
        }
        _ => None,
    }
}

fn is_no(literal: &Literal) -> bool {
    match literal {
        Literal::Null | Literal::Bool(false) | Literal::Int(0) => true,
        Literal::Text(text) => matches!(
            text.to_ascii_lowercase().as_str(),
            "" | "false" | "0" | "none"
        ),
        _ => false,
    }
}

fn comparison(op: Compare, left: &Expr, right: &Expr) -> Key {
    let mut hasher = FxHasher::default();
    both(op.word(), left, right, &mut hasher);
    Key(hasher.finish())
}

fn key(expr: &Expr) -> Key {
    let mut hasher = FxHasher::default();
    ask(expr, &mut hasher);
    Key(hasher.finish())
}

fn both(word: &str, left: &Expr, right: &Expr, into: &mut FxHasher) {
    word.hash(into);
    ask(left, into);
    ask(right, into);
}

fn all(items: &[Expr], into: &mut FxHasher) {
    items.len().hash(into);
    items.iter().for_each(|item| ask(item, into));
}

fn ask(expr: &Expr, into: &mut FxHasher) {
    // Whether something is true is asked in many ways.
    if let ExprKind::Truth { of, .. } = &expr.kind {
        return ask(of, into);
    }
    match &expr.kind {
        ExprKind::Compare { .. } | ExprKind::And { .. } | ExprKind::Or { .. } => {}
        other => discriminant(other).hash(into),
    }
    match &expr.kind {
        ExprKind::Literal(literal) => literal_key(literal, into),
        ExprKind::Var { name, .. } => name.hash(into),
        ExprKind::Field { of, name, .. } => {
            ask(of, into);
            name.hash(into);
        }
        ExprKind::Index { of, at, .. } => {
            ask(of, into);
            ask(at, into);
        }
        ExprKind::List(items) => all(items, into),
        ExprKind::Map(fields) => {
            fields.len().hash(into);
            for (name, value) in fields {
                name.hash(into);
                ask(value, into);
            }
        }
        ExprKind::Compare {
            op, left, right, ..
        } => both(op.word(), left, right, into),
        ExprKind::Not { of, .. } | ExprKind::Truth { of, .. } | ExprKind::Seconds { of, .. } => {
            ask(of, into);
        }
        ExprKind::And { left, right, .. } => both("and", left, right, into),
        ExprKind::Or { left, right, .. } => both("or", left, right, into),
        ExprKind::Call { builtin, args } => {
            discriminant(builtin).hash(into);
            all(args, into);
        }
        ExprKind::Text(text) => {
            text.parts.len().hash(into);
            for part in &text.parts {
                match part {
                    Part::Literal(text) => text.hash(into),
                    Part::Value { expr, .. } => ask(expr, into),
                }
            }
        }
    }
}

fn literal_key(literal: &Literal, into: &mut FxHasher) {
    match literal {
        Literal::Text(text) => text.hash(into),
        // Booleans and the words for them are the same to those who write conditions.
        Literal::Bool(value) => if *value { "true" } else { "false" }.hash(into),
        Literal::Int(value) => (0, value).hash(into),
        other => format!("{other:?}").hash(into),
    }
}
