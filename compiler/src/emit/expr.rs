//! Code for expressions and text: each leaves one `any` on the stack.

use super::builder::{Label, Tables, Writer};
use crate::ir::{Compare, Equality, Expr, ExprKind, Form, Literal, Missing, Part, Text, Truth};
use rrc_vm::isa::{Instr, Short};

/// Where the variables are: the local that every function has them in.
pub const SCOPE: u8 = 0;
/// How deep recipes have called each other: the local that every function has it in.
pub const DEPTH: u8 = 1;

pub fn expr(writer: &mut Writer, tables: &mut Tables, expr: &Expr) {
    // Nothing is ever said about a literal.
    if !matches!(expr.kind, ExprKind::Literal(_)) {
        writer.at(expr.span);
    }
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
        ExprKind::Seconds { of, none } => {
            self::expr(writer, tables, of);
            writer.at(expr.span);
            let kind = if *none { "seconds_or_none" } else { "seconds" };
            let wanted = tables.wanted("timeout", kind);
            writer.push(Instr::Fit { wanted });
        }
        ExprKind::Compare { .. }
        | ExprKind::Not { .. }
        | ExprKind::Truth { .. }
        | ExprKind::And { .. }
        | ExprKind::Or { .. } => {
            let end = writer.label();
            // Every policy of truth agrees on booleans.
            test(writer, tables, expr, Truth::Emptiness, end);
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

/// Whether an expression is true, as a boolean on the stack; to `failed` with a failure.
pub fn test(writer: &mut Writer, tables: &mut Tables, expr: &Expr, truth: Truth, failed: Label) {
    match &expr.kind {
        ExprKind::Compare { .. } => {
            if !compare(writer, tables, expr, failed) {
                writer.push(Instr::Not {});
            }
        }
        ExprKind::Not { of, truth } => {
            test(writer, tables, of, *truth, failed);
            writer.push(Instr::Not {});
        }
        ExprKind::Truth { of, truth } => test(writer, tables, of, *truth, failed),
        ExprKind::And { .. } | ExprKind::Or { .. } => {
            let (end, decided) = (writer.label(), writer.label());
            let Row {
                operands,
                truth,
                decisive,
            } = row(expr);
            if let Some((last, others)) = operands.split_last() {
                for operand in others {
                    branch(writer, tables, operand, (truth, decisive), decided, failed);
                }
                test(writer, tables, last, truth, failed);
            }
            writer.push(Instr::Jump { to: writer.to(end) });
            writer.bind(decided);
            writer.push(match decisive {
                true => Instr::True {},
                false => Instr::False {},
            });
            writer.bind(end);
        }
        _ => {
            self::expr(writer, tables, expr);
            writer.push(truth_of(truth, writer.to(failed)));
        }
    }
}

/// Goes to `skipped`, and says that the step is, if an expression is false; else goes on with what it came
/// to, which may be a failure.
pub fn pass_unless(
    writer: &mut Writer,
    tables: &mut Tables,
    expr: &Expr,
    truth: Truth,
    (step, skipped): (u32, Label),
) {
    if let ExprKind::Truth { of, truth } = &expr.kind {
        return pass_unless(writer, tables, of, *truth, (step, skipped));
    }
    match truth {
        Truth::Words | Truth::Emptiness => self::expr(writer, tables, expr),
        Truth::Flags => {
            let failed = writer.label();
            test(writer, tables, expr, truth, failed);
            writer.bind(failed);
        }
    }
    let (step, to) = (Short::new(step), writer.to(skipped));
    writer.push(match truth {
        Truth::Words => Instr::PassUnlessWords { step, to },
        // Every policy of truth agrees on booleans.
        Truth::Emptiness | Truth::Flags => Instr::PassUnlessEmptiness { step, to },
    });
}

/// Goes to `to` if the truth of an expression is the one of `when`, to `failed` with a failure, and
/// on if it is the other.
pub fn branch(
    writer: &mut Writer,
    tables: &mut Tables,
    expr: &Expr,
    when: (Truth, bool),
    to: Label,
    failed: Label,
) {
    let (truth, wanted) = when;
    match &expr.kind {
        ExprKind::Not { of, truth } => {
            branch(writer, tables, of, (*truth, !wanted), to, failed);
        }
        ExprKind::Truth { of, truth } => {
            branch(writer, tables, of, (*truth, wanted), to, failed);
        }
        ExprKind::And { .. } | ExprKind::Or { .. } => {
            let Row {
                operands,
                truth,
                decisive,
            } = row(expr);
            let Some((last, others)) = operands.split_last() else {
                return;
            };
            let end = writer.label();
            let decided = if wanted == decisive { to } else { end };
            for operand in others {
                branch(writer, tables, operand, (truth, decisive), decided, failed);
            }
            branch(writer, tables, last, (truth, wanted), to, failed);
            writer.bind(end);
        }
        _ => {
            let wanted = match &expr.kind {
                ExprKind::Compare { .. } => wanted == compare(writer, tables, expr, failed),
                _ => {
                    test(writer, tables, expr, truth, failed);
                    wanted
                }
            };
            let to = writer.to(to);
            writer.push(match wanted {
                true => Instr::JumpIf { to },
                false => Instr::JumpUnless { to },
            });
        }
    }
}

/// The boolean of a comparison, or its opposite, on the stack; to `failed` with a failure. Which of
/// the two it is: there is no instruction for `not in`.
fn compare(writer: &mut Writer, tables: &mut Tables, expr: &Expr, failed: Label) -> bool {
    let ExprKind::Compare {
        op,
        equality,
        left,
        right,
    } = &expr.kind
    else {
        return true;
    };
    self::expr(writer, tables, left);
    self::expr(writer, tables, right);
    writer.at(expr.span);
    writer.push(comparison(*op, *equality, writer.to(failed)));
    *op != Compare::NotIn
}

/// `a and b and c`, or the same with `or`.
struct Row<'a> {
    operands: Vec<&'a Expr>,
    truth: Truth,
    /// The truth of one operand that is the truth of all.
    decisive: bool,
}

fn row(expr: &Expr) -> Row<'_> {
    let mut operands = Vec::new();
    let (truth, decisive) = match &expr.kind {
        ExprKind::And { truth, .. } => (*truth, false),
        ExprKind::Or { truth, .. } => (*truth, true),
        _ => (Truth::Emptiness, false),
    };
    collect(expr, truth, decisive, &mut operands);
    Row {
        operands,
        truth,
        decisive,
    }
}

/// What a row asks one after the other, however it is grouped.
fn collect<'a>(expr: &'a Expr, policy: Truth, decisive: bool, operands: &mut Vec<&'a Expr>) {
    match &expr.kind {
        ExprKind::And { left, right, truth } if !decisive && *truth == policy => {
            collect(left, policy, decisive, operands);
            collect(right, policy, decisive, operands);
        }
        ExprKind::Or { left, right, truth } if decisive && *truth == policy => {
            collect(left, policy, decisive, operands);
            collect(right, policy, decisive, operands);
        }
        _ => operands.push(expr),
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

/// A list of any length, item by item: a failure in one item is the failure of all.
pub fn list<'e>(
    writer: &mut Writer,
    tables: &mut Tables,
    items: impl IntoIterator<Item = &'e Expr>,
) {
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

fn comparison(op: Compare, equality: Equality, to: u32) -> Instr {
    match (equality, op) {
        (Equality::NumbersFirst, Compare::Eq) => Instr::EqNumbersFirst { to },
        (Equality::NumbersFirst, Compare::Ne) => Instr::NeNumbersFirst { to },
        (Equality::NumbersFirst, Compare::Lt) => Instr::LtNumbersFirst { to },
        (Equality::NumbersFirst, Compare::Le) => Instr::LeNumbersFirst { to },
        (Equality::NumbersFirst, Compare::Gt) => Instr::GtNumbersFirst { to },
        (Equality::NumbersFirst, Compare::Ge) => Instr::GeNumbersFirst { to },
        (Equality::NumbersFirst, Compare::In | Compare::NotIn) => Instr::InNumbersFirst { to },
        (Equality::ByType, Compare::Eq) => Instr::EqByType { to },
        (Equality::ByType, Compare::Ne) => Instr::NeByType { to },
        (Equality::ByType, Compare::Lt) => Instr::LtByType { to },
        (Equality::ByType, Compare::Le) => Instr::LeByType { to },
        (Equality::ByType, Compare::Gt) => Instr::GtByType { to },
        (Equality::ByType, Compare::Ge) => Instr::GeByType { to },
        (Equality::ByType, Compare::In | Compare::NotIn) => Instr::InByType { to },
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
