//! Code for expressions and text: each leaves one `any` on the stack.

use super::builder::{Tables, Writer};
use crate::ir::{Compare, Equality, Expr, ExprKind, Form, Literal, Missing, Part, Text, Truth};
use rrc_vm::isa::{Builtin, Instr};

/// Where the variables are: the local that every function has them in.
pub const SCOPE: u8 = 0;
/// How deep recipes have called each other: the local that every function has it in.
pub const DEPTH: u8 = 1;

pub fn expr(writer: &mut Writer, tables: &mut Tables, expr: &Expr) {
    writer.at(expr.span);
    match &expr.kind {
        ExprKind::Literal(literal) => push_literal(writer, tables, literal),
        ExprKind::Var { name, missing } => {
            let name = tables.text(name);
            writer.push(match missing {
                Missing::Fail => Instr::VarOrFail { scope: SCOPE, name },
                Missing::Null => Instr::VarOrNull { scope: SCOPE, name },
            });
        }
        ExprKind::Field { of, name, missing } => {
            self::expr(writer, tables, of);
            writer.at(expr.span);
            let name = tables.text(name);
            writer.push(match missing {
                Missing::Fail => Instr::FieldOrFail { name },
                Missing::Null => Instr::FieldOrNull { name },
            });
        }
        ExprKind::Index { of, at, missing } => {
            self::expr(writer, tables, of);
            self::expr(writer, tables, at);
            writer.at(expr.span);
            writer.push(match missing {
                Missing::Fail => Instr::IndexOrFail {},
                Missing::Null => Instr::IndexOrNull {},
            });
        }
        ExprKind::List(items) if items.len() > GROUP => list(writer, tables, items),
        ExprKind::List(items) => {
            for item in items {
                self::expr(writer, tables, item);
            }
            writer.at(expr.span);
            writer.push(Instr::List {
                items: items.len() as u8,
            });
        }
        ExprKind::Map(fields) => map(writer, tables, fields),
        ExprKind::Times { of, by } => {
            self::expr(writer, tables, of);
            writer.at(expr.span);
            writer.push(Instr::Builtin {
                which: Builtin::Int as u8,
                arguments: 1,
            });
            writer.push(Instr::Int { value: *by });
            writer.push(Instr::Mul {});
        }
        ExprKind::Compare {
            op,
            equality,
            left,
            right,
        } => {
            self::expr(writer, tables, left);
            self::expr(writer, tables, right);
            writer.at(expr.span);
            compare(writer, *op, *equality);
        }
        ExprKind::Not { of, truth } => {
            let end = writer.label();
            self::expr(writer, tables, of);
            writer.push(truth_of(*truth, writer.to(end)));
            writer.push(Instr::Not {});
            writer.bind(end);
        }
        ExprKind::Truth { of, .. } if is_boolean(of) => self::expr(writer, tables, of),
        ExprKind::Truth { of, truth } => {
            let end = writer.label();
            self::expr(writer, tables, of);
            writer.push(truth_of(*truth, writer.to(end)));
            writer.bind(end);
        }
        ExprKind::And { truth, .. } | ExprKind::Or { truth, .. } => {
            let is_and = matches!(expr.kind, ExprKind::And { .. });
            let (end, decided) = (writer.label(), writer.label());
            let operands = operands(expr, is_and, *truth);
            for (number, operand) in operands.iter().enumerate() {
                self::expr(writer, tables, operand);
                writer.push(truth_of(*truth, writer.to(end)));
                let to = writer.to(decided);
                writer.push(match (number + 1 == operands.len(), is_and) {
                    (true, _) => Instr::Jump { to: writer.to(end) },
                    (false, true) => Instr::JumpUnless { to },
                    (false, false) => Instr::JumpIf { to },
                });
            }
            writer.bind(decided);
            writer.push(match is_and {
                true => Instr::False {},
                false => Instr::True {},
            });
            writer.bind(end);
        }
        ExprKind::Call { builtin, args } => {
            for arg in args {
                self::expr(writer, tables, arg);
            }
            writer.at(expr.span);
            writer.push(Instr::Builtin {
                which: *builtin as u8,
                arguments: args.len() as u8,
            });
        }
        ExprKind::Text(text) => self::text(writer, tables, text),
    }
}

/// Whether it gives a boolean or fails: every policy of truth agrees on booleans.
fn is_boolean(expr: &Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Compare { .. }
            | ExprKind::Not { .. }
            | ExprKind::And { .. }
            | ExprKind::Or { .. }
            | ExprKind::Truth { .. }
    )
}

/// What `a and b and c` asks one after the other: the first that decides ends it, however they
/// are grouped.
fn operands(expr: &Expr, is_and: bool, policy: Truth) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::And { left, right, truth } if is_and && *truth == policy => [
            operands(left, is_and, policy),
            operands(right, is_and, policy),
        ]
        .concat(),
        ExprKind::Or { left, right, truth } if !is_and && *truth == policy => [
            operands(left, is_and, policy),
            operands(right, is_and, policy),
        ]
        .concat(),
        _ => vec![expr],
    }
}

/// Text with values in it, as one text.
pub fn text(writer: &mut Writer, tables: &mut Tables, text: &Text) {
    writer.at(text.span);
    if let Some(literal) = text.as_literal() {
        let text = tables.text(literal);
        writer.push(Instr::Text { text });
        return;
    }
    concat(writer, tables, &text.parts);
}

/// A list that is too long for one instruction: a failure in one item is the failure of all.
fn list(writer: &mut Writer, tables: &mut Tables, items: &[Expr]) {
    let end = writer.label();
    let local = writer.local();
    writer.push(Instr::EmptyList {});
    writer.push(Instr::Store { local });
    for item in items {
        expr(writer, tables, item);
        writer.push(Instr::JumpFailed { to: writer.to(end) });
        writer.push(Instr::Append { list: local });
    }
    writer.push(Instr::Take { local });
    writer.bind(end);
    writer.free(local);
}

/// A map of values: a failure in one of them is the failure of all.
fn map(writer: &mut Writer, tables: &mut Tables, fields: &[(String, Expr)]) {
    let (end, wrong) = (writer.label(), writer.label());
    let local = writer.local();
    writer.push(Instr::EmptyMap {});
    writer.push(Instr::Store { local });
    for (name, value) in fields {
        expr(writer, tables, value);
        writer.push(Instr::JumpFailed {
            to: writer.to(wrong),
        });
        let name = tables.text(name);
        writer.push(Instr::SetVar { scope: local, name });
    }
    writer.push(Instr::Take { local });
    writer.push(Instr::Jump { to: writer.to(end) });
    if !fields.is_empty() {
        writer.bind(wrong);
    }
    writer.bind(end);
    writer.free(local);
}

pub fn push_literal(writer: &mut Writer, tables: &mut Tables, literal: &Literal) {
    let instr = match literal {
        Literal::Null => Instr::Null {},
        Literal::Bool(true) => Instr::True {},
        Literal::Bool(false) => Instr::False {},
        Literal::Int(value) if i32::try_from(*value).is_ok() => Instr::Int {
            value: i32::try_from(*value).unwrap_or_default(),
        },
        Literal::Text(text) => Instr::Text {
            text: tables.text(text),
        },
        other => Instr::Const {
            constant: tables.literal(other),
        },
    };
    writer.push(instr);
}

/// Something that leaves one `any` on the stack.
pub trait Operand {
    fn emit(&self, writer: &mut Writer, tables: &mut Tables);
}

impl Operand for Expr {
    fn emit(&self, writer: &mut Writer, tables: &mut Tables) {
        expr(writer, tables, self);
    }
}

impl Operand for Part {
    fn emit(&self, writer: &mut Writer, tables: &mut Tables) {
        match self {
            Part::Literal(literal) => {
                let text = tables.text(literal);
                writer.push(Instr::Text { text });
            }
            Part::Value { expr, form } => {
                self::expr(writer, tables, expr);
                if *form == Form::Json {
                    writer.push(Instr::JsonText {});
                }
            }
        }
    }
}

// A count is one byte, and the stack is bounded; longer rows are put together in groups.
const GROUP: usize = 64;

/// Pushes the parts and puts them together to one text.
pub fn concat<T: Operand>(writer: &mut Writer, tables: &mut Tables, parts: &[T]) {
    for (number, group) in parts.chunks(GROUP).enumerate() {
        for part in group {
            part.emit(writer, tables);
        }
        let before = u8::from(number > 0);
        writer.push(Instr::Concat {
            parts: group.len() as u8 + before,
        });
    }
    if parts.is_empty() {
        writer.push(Instr::Concat { parts: 0 });
    }
}

fn compare(writer: &mut Writer, op: Compare, equality: Equality) {
    let negated = op == Compare::NotIn;
    writer.push(match (equality, op) {
        (Equality::NumbersFirst, Compare::Eq) => Instr::EqNumbersFirst {},
        (Equality::NumbersFirst, Compare::Ne) => Instr::NeNumbersFirst {},
        (Equality::NumbersFirst, Compare::Lt) => Instr::LtNumbersFirst {},
        (Equality::NumbersFirst, Compare::Le) => Instr::LeNumbersFirst {},
        (Equality::NumbersFirst, Compare::Gt) => Instr::GtNumbersFirst {},
        (Equality::NumbersFirst, Compare::Ge) => Instr::GeNumbersFirst {},
        (Equality::NumbersFirst, Compare::In | Compare::NotIn) => Instr::InNumbersFirst {},
        (Equality::ByType, Compare::Eq) => Instr::EqByType {},
        (Equality::ByType, Compare::Ne) => Instr::NeByType {},
        (Equality::ByType, Compare::Lt) => Instr::LtByType {},
        (Equality::ByType, Compare::Le) => Instr::LeByType {},
        (Equality::ByType, Compare::Gt) => Instr::GtByType {},
        (Equality::ByType, Compare::Ge) => Instr::GeByType {},
        (Equality::ByType, Compare::In | Compare::NotIn) => Instr::InByType {},
    });
    if negated {
        let end = writer.label();
        // Comparisons give booleans, on which every policy of truth agrees.
        let to = writer.to(end);
        writer.push(Instr::TruthEmptiness { to });
        writer.push(Instr::Not {});
        writer.bind(end);
    }
}

/// Whether the top is true, or to the label with its failure.
pub fn truth_of(truth: Truth, to: u32) -> Instr {
    match truth {
        Truth::Words => Instr::TruthWords { to },
        Truth::Emptiness => Instr::TruthEmptiness { to },
        Truth::Flags => Instr::TruthFlags { to },
    }
}
