//! Conditions, from what was read to the IR.

use super::text::Lower;
use super::{Dialect, portable};
use crate::doc::Text as Written;
use crate::expr::{self, Function, Method};
use crate::ir::{Expr, ExprKind, Guard, Literal};
use rrc_vm::isa::Builtin;
use std::ops::Range;
use std::rc::Rc;

/// How much is said about one condition.
const MOST_PROBLEMS: usize = 3;

impl Lower<'_> {
    /// A condition. One that cannot be read has been reported, and is no condition.
    pub fn condition(&mut self, written: Written<'_>) -> Option<Guard> {
        let tree = match self.conditions.get(written.text()) {
            Some(tree) => Rc::clone(tree),
            None => self.new_condition(written)?,
        };
        portable::condition(self.dialect, written, &tree, self.report);
        let expr = self.expr(written, &tree);
        Some(Guard {
            expr,
            truth: self.dialect.truth,
        })
    }

    fn new_condition(&mut self, written: Written<'_>) -> Option<Rc<expr::Expr>> {
        let (tree, problems) = expr::parse(written.text(), self.dialect.bare_words);
        let tree = tree.map(Rc::new);
        if let Some(tree) = tree.as_ref().filter(|_| problems.is_empty()) {
            self.conditions
                .insert(written.text().into(), Rc::clone(tree));
        }
        // More than a few: the text is something else than a condition.
        for problem in problems.into_iter().take(MOST_PROBLEMS) {
            self.problem(written, problem);
        }
        tree
    }

    fn expr(&mut self, written: Written<'_>, tree: &expr::Expr) -> Expr {
        use expr::ExprKind as Tree;
        let Dialect {
            truth,
            equality,
            missing,
            ..
        } = *self.dialect;
        let span = written.span(tree.range.clone());
        let kind = match &tree.kind {
            Tree::Text(text) | Tree::Word(text) => ExprKind::Literal(Literal::Text(text.clone())),
            Tree::Int(value) => ExprKind::Literal(Literal::Int(*value)),
            Tree::Float(value) => ExprKind::Literal(Literal::Float(*value)),
            Tree::Bool(value) => ExprKind::Literal(Literal::Bool(*value)),
            Tree::Null => ExprKind::Literal(Literal::Null),
            Tree::Name(name) => return self.name(name, span),
            Tree::Hole(path) => return self.path(written, path),
            Tree::List(items) => ExprKind::List(self.exprs(written, items)),
            // What is wrong has been said; the names in it are still looked at.
            Tree::Unknown { .. } => ExprKind::List(
                tree.children()
                    .into_iter()
                    .map(|child| self.expr(written, child))
                    .collect(),
            ),
            Tree::Call {
                function: Function::Bool,
                args,
                ..
            } => {
                let of = args.first().map_or_else(
                    || Literal::Null.expr(span),
                    |argument| self.expr(written, argument),
                );
                ExprKind::Truth {
                    of: Box::new(of),
                    truth,
                }
            }
            Tree::Call { function, args, .. } => ExprKind::Call {
                builtin: function_builtin(*function),
                args: self.exprs(written, args),
            },
            Tree::Method {
                receiver,
                method,
                args,
                ..
            } => {
                let mut all = vec![self.expr(written, receiver)];
                all.extend(self.exprs(written, args));
                ExprKind::Call {
                    builtin: method_builtin(*method),
                    args: all,
                }
            }
            Tree::Field { of, field, name } => {
                return self.field(written, of, field, name.clone());
            }
            Tree::Index { of, index } => match index.key() {
                Some((key, range)) => return self.field(written, of, key, range),
                None => ExprKind::Index {
                    of: Box::new(self.expr(written, of)),
                    at: Box::new(self.expr(written, index)),
                    missing,
                },
            },
            Tree::Not(of) => ExprKind::Not {
                of: Box::new(self.expr(written, of)),
                truth,
            },
            Tree::And(all) => {
                return self.fold(written, all, |left, right| ExprKind::And {
                    left,
                    right,
                    truth,
                });
            }
            Tree::Or(all) => {
                return self.fold(written, all, |left, right| ExprKind::Or {
                    left,
                    right,
                    truth,
                });
            }
            Tree::Compare { op, left, right } => {
                self.compared(written, *op, [left, right]);
                ExprKind::Compare {
                    op: *op,
                    equality,
                    left: Box::new(self.expr(written, left)),
                    right: Box::new(self.expr(written, right)),
                }
            }
        };
        Expr { span, kind }
    }

    fn exprs(&mut self, written: Written<'_>, all: &[expr::Expr]) -> Vec<Expr> {
        all.iter().map(|one| self.expr(written, one)).collect()
    }

    fn field(
        &mut self,
        written: Written<'_>,
        of: &expr::Expr,
        name: &str,
        range: Range<usize>,
    ) -> Expr {
        let kind = ExprKind::Field {
            of: Box::new(self.expr(written, of)),
            name: name.to_string(),
            missing: self.dialect.missing,
        };
        let span = written.span(range);
        Expr { span, kind }
    }

    fn fold(
        &mut self,
        written: Written<'_>,
        all: &[expr::Expr],
        make: impl Fn(Box<Expr>, Box<Expr>) -> ExprKind,
    ) -> Expr {
        let both = |left: Expr, right: Expr| Expr {
            span: left.span.to(right.span),
            kind: make(Box::new(left), Box::new(right)),
        };
        let folded = self.exprs(written, all).into_iter().reduce(both);
        // There are always two sides; of none, nothing would be asked.
        folded.unwrap_or_else(|| Literal::Null.expr(written.whole()))
    }
}

fn function_builtin(function: Function) -> Builtin {
    match function {
        Function::Int => Builtin::Int,
        // `bool` is a matter of truth, not of values; the caller has taken it out.
        Function::Str | Function::Bool => Builtin::Str,
        Function::Len => Builtin::Len,
        Function::Float => Builtin::Float,
        Function::Min => Builtin::Min,
        Function::Max => Builtin::Max,
    }
}

fn method_builtin(method: Method) -> Builtin {
    match method {
        Method::Strip => Builtin::Strip,
        Method::Lstrip => Builtin::LStrip,
        Method::Rstrip => Builtin::RStrip,
        Method::Lower => Builtin::Lower,
        Method::Upper => Builtin::Upper,
        Method::Title => Builtin::Title,
        Method::Startswith => Builtin::StartsWith,
        Method::Endswith => Builtin::EndsWith,
        Method::Replace => Builtin::Replace,
        Method::Split => Builtin::Split,
        Method::Join => Builtin::Join,
        Method::Count => Builtin::Count,
        Method::Find => Builtin::Find,
    }
}
