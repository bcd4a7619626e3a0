//! What conditions say about each other: does one that holds make sure that another does?
//!
//! Looks at the shape of conditions, not at values. That a variable may change between two
//! conditions is passed over: what is said twice in a recipe is meant to be the same.

use crate::ir::{Compare, Expr, ExprKind, Literal, Part};

/// Conditions that hold at one point.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Conditions as they print, and whether they are true.
    atoms: Vec<(String, bool)>,
    /// What is equal to which literal.
    equal: Vec<(String, String)>,
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
        if self.has(&key(expr), holds) {
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
                self.has(&comparison(op, left, right), holds)
                    || (op == Compare::Eq && !holds && self.differs(left, right))
            }
            ExprKind::Literal(Literal::Bool(value)) => *value == holds,
            _ => false,
        };
        direct || self.by_cases(expr, holds)
    }

    fn has(&self, atom: &str, holds: bool) -> bool {
        self.atoms
            .iter()
            .any(|(known, value)| *value == holds && known == atom)
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
pub fn compared(expr: &Expr) -> Option<String> {
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

fn comparison(op: Compare, left: &Expr, right: &Expr) -> String {
    let mut out = String::new();
    print_pair(left, op.word(), right, &mut out);
    out
}

/// An expression without its place: two that print the same ask the same.
fn key(expr: &Expr) -> String {
    let mut out = String::new();
    print(expr, &mut out);
    out
}

fn print_pair(left: &Expr, word: &str, right: &Expr, out: &mut String) {
    out.push('(');
    print(left, out);
    out.extend([" ", word, " "]);
    print(right, out);
    out.push(')');
}

fn print_all(all: &[Expr], out: &mut String) {
    for item in all {
        print(item, out);
        out.push(',');
    }
}

fn print(expr: &Expr, out: &mut String) {
    match &expr.kind {
        ExprKind::Literal(Literal::Text(text)) => out.extend(["'", text, "'"]),
        // Booleans and the words for them are the same to those who write conditions.
        ExprKind::Literal(Literal::Bool(value)) => {
            out.push_str(if *value { "'true'" } else { "'false'" });
        }
        ExprKind::Literal(literal) => out.push_str(&format!("{literal:?}")),
        ExprKind::Var { name, .. } => out.push_str(name),
        ExprKind::Field { of, name, .. } => {
            print(of, out);
            out.extend([".", name]);
        }
        ExprKind::Index { of, at, .. } => {
            print(of, out);
            out.push('[');
            print(at, out);
            out.push(']');
        }
        ExprKind::List(items) => {
            out.push('[');
            print_all(items, out);
            out.push(']');
        }
        ExprKind::Map(fields) => {
            for (name, value) in fields {
                out.extend([name, ":"]);
                print(value, out);
            }
        }
        ExprKind::Times { of, by } => {
            print(of, out);
            out.push_str(&format!("*{by}"));
        }
        ExprKind::Compare {
            op, left, right, ..
        } => print_pair(left, op.word(), right, out),
        ExprKind::Not { of, .. } => {
            out.push('!');
            print(of, out);
        }
        ExprKind::And { left, right, .. } => print_pair(left, "and", right, out),
        ExprKind::Or { left, right, .. } => print_pair(left, "or", right, out),
        ExprKind::Truth { of, .. } => print(of, out),
        ExprKind::Call { builtin, args } => {
            out.push_str(&format!("{builtin:?}("));
            print_all(args, out);
            out.push(')');
        }
        ExprKind::Text(text) => {
            for part in &text.parts {
                match part {
                    Part::Literal(text) => out.push_str(text),
                    Part::Value { expr, .. } => {
                        out.push('{');
                        print(expr, out);
                        out.push('}');
                    }
                }
            }
        }
    }
}
