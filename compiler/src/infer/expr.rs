//! The type of an expression, and the value of one that reads no variable.

use super::types::{Kind, Shape, Type, of_literal};
use super::{Facts, Locals};
use crate::ir::{Compare, Equality, Expr, ExprKind, LOOP_NAMES, Literal, Missing, Part, Truth};
use crate::source::Span;
use rrc_vm::builtin;
use rrc_vm::isa::Builtin;
use rrc_vm::policy;
use rrc_vm::value::Value;
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

/// What is known at one place of a program.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'s, 'a> {
    facts: &'s Facts<'a>,
    unit: usize,
    /// What loops set for their bodies, innermost last.
    locals: &'s Locals<'a>,
}

impl<'s, 'a> Scope<'s, 'a> {
    pub(super) fn new(facts: &'s Facts<'a>, unit: usize, locals: &'s Locals<'a>) -> Self {
        Scope {
            facts,
            unit,
            locals,
        }
    }

    pub fn of(&self, expr: &'a Expr) -> Type {
        self.typed(expr, &mut |_, _| {})
    }

    /// The default that an expression reads, if nothing but the file decides about it.
    pub fn default(&self, expr: &Expr) -> Option<&'a Literal> {
        match &expr.kind {
            ExprKind::Var { name, .. } => {
                if self.locals.iter().any(|(local, _)| local == name) {
                    return None;
                }
                let defaults = &self.facts.units[self.unit].defaults;
                defaults.get(name.as_str()).map(|input| &input.default)
            }
            ExprKind::Field { of, name, .. } => match self.default(of)? {
                Literal::Map(fields) => fields
                    .iter()
                    .find(|(known, _)| known == name)
                    .map(|(_, value)| value),
                _ => None,
            },
            _ => None,
        }
    }

    /// Where a step sets the variable that an expression reads, if one does.
    pub fn set_at(&self, expr: &Expr) -> Option<Span> {
        match &expr.kind {
            ExprKind::Var { name, .. } => {
                let unit = &self.facts.units[self.unit];
                unit.set_at.get(name.as_str()).copied()
            }
            ExprKind::Field { of, .. } | ExprKind::Index { of, .. } => self.set_at(of),
            _ => None,
        }
    }

    /// The type of an expression. `visit` sees it and all below it, innermost first, each with
    /// the types of what stands directly below.
    pub fn typed(&self, expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr, &[Type])) -> Type {
        let mut parts: SmallVec<[Type; 2]> = SmallVec::new();
        for part in below(expr) {
            parts.push(self.typed(part, visit));
        }
        visit(expr, &parts);
        self.made_of(expr, &parts)
    }

    fn made_of(&self, expr: &Expr, parts: &[Type]) -> Type {
        match &expr.kind {
            ExprKind::Literal(Literal::Map(_)) if self.facts.units[self.unit].confused => {
                Type::unknown()
            }
            ExprKind::Literal(literal) => of_literal(literal),
            ExprKind::Var { name, missing } => read(self.variable(name), *missing),
            ExprKind::Field { name, missing, .. } => parts
                .first()
                .map_or_else(Type::unknown, |of| field(of, name, *missing)),
            ExprKind::Index { at, missing, .. } => {
                parts
                    .first()
                    .map_or_else(Type::unknown, |of| match &at.kind {
                        ExprKind::Literal(Literal::Text(name)) => field(of, name, *missing),
                        _ => item(of, *missing),
                    })
            }
            ExprKind::List(_) => {
                let mut of = Type::nothing();
                parts.iter().for_each(|part| of.join(&part.flat()));
                Type::list(of)
            }
            ExprKind::Map(fields) => {
                let fields = fields
                    .iter()
                    .zip(parts)
                    .map(|((name, _), part)| (name.as_str().into(), part.flat()))
                    .collect();
                Type::of(Kind::Map(Rc::new(Shape::closed(fields))))
            }
            ExprKind::Seconds { .. } => Type::of(Kind::Number),
            ExprKind::Compare { .. }
            | ExprKind::Not { .. }
            | ExprKind::And { .. }
            | ExprKind::Or { .. }
            | ExprKind::Truth { .. } => Type::of(Kind::Bool),
            ExprKind::Call { builtin, .. } => result(*builtin),
            ExprKind::Text(text) => text.as_literal().map_or_else(Type::text, Type::exactly),
        }
    }

    fn variable(&self, name: &str) -> Type {
        let unit = &self.facts.units[self.unit];
        if unit.open {
            return Type::unknown();
        }
        let local = self.locals.iter().rev().find(|(local, _)| *local == name);
        let known = unit
            .variables
            .get(name)
            .filter(|kind| kind.kinds().is_some());
        match (local, known) {
            // Set inside the loop as well, perhaps.
            (Some(_), Some(_)) => Type::unknown(),
            (Some((_, kind)), None) => kind.clone(),
            (None, Some(kind)) => kind.clone(),
            (None, None) if LOOP_NAMES.contains(&name) => Type::of(Kind::Number),
            (None, None) => Type::unknown(),
        }
    }
}

fn read(kind: Type, missing: Missing) -> Type {
    match missing {
        Missing::Fail => kind,
        Missing::Null => kind.or_null(),
    }
}

/// What stands directly below an expression, in the order of the text.
fn below(expr: &Expr) -> SmallVec<[&Expr; 2]> {
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Var { .. } => SmallVec::new(),
        ExprKind::Field { of, .. }
        | ExprKind::Not { of, .. }
        | ExprKind::Truth { of, .. }
        | ExprKind::Seconds { of, .. } => smallvec![&**of],
        ExprKind::Index { of, at, .. } => smallvec![&**of, &**at],
        ExprKind::List(items) | ExprKind::Call { args: items, .. } => items.iter().collect(),
        ExprKind::Map(fields) => fields.iter().map(|(_, field)| field).collect(),
        ExprKind::Compare { left, right, .. }
        | ExprKind::And { left, right, .. }
        | ExprKind::Or { left, right, .. } => smallvec![&**left, &**right],
        ExprKind::Text(text) => text
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Value { expr, .. } => Some(expr),
                Part::Literal(_) => None,
            })
            .collect(),
    }
}

fn field(of: &Type, name: &str, missing: Missing) -> Type {
    let Some(kinds) = of.kinds() else {
        return Type::unknown();
    };
    let mut all = Type::nothing();
    all.assumed = of.assumed;
    for kind in kinds {
        if let Kind::Map(shape) = kind {
            match shape.field(name) {
                Some(field) => all.join(field),
                None if shape.open => return Type::unknown(),
                None => {}
            }
        }
    }
    match all.kinds() {
        // Nothing is known of what cannot be there; that is said where it is read.
        None => Type::unknown(),
        Some(_) => read(all, missing),
    }
}

fn item(of: &Type, missing: Missing) -> Type {
    match of.kinds() {
        Some([Kind::List(item)]) if item.kinds().is_some() => {
            let mut item = (**item).clone();
            item.assumed |= of.assumed;
            read(item, missing)
        }
        _ => Type::unknown(),
    }
}

fn result(builtin: Builtin) -> Type {
    match builtin {
        Builtin::Int | Builtin::Len | Builtin::Float | Builtin::Count | Builtin::Find => {
            Type::of(Kind::Number)
        }
        Builtin::Min | Builtin::Max => Type::unknown(),
        Builtin::StartsWith | Builtin::EndsWith => Type::of(Kind::Bool),
        Builtin::Split => Type::list(Type::text()),
        Builtin::Str
        | Builtin::Strip
        | Builtin::LStrip
        | Builtin::RStrip
        | Builtin::Lower
        | Builtin::Upper
        | Builtin::Title
        | Builtin::Replace
        | Builtin::Join => Type::text(),
    }
}

/// Texts that are longer take no part in finding out what is always the same.
const LONGEST: usize = 4096;

/// The value of an expression that reads nothing, if it has one.
pub fn constant(expr: &Expr) -> Option<Value> {
    let value = match &expr.kind {
        ExprKind::Literal(literal) => scalar(literal)?,
        ExprKind::List(items) => {
            Value::list(items.iter().map(constant).collect::<Option<Vec<_>>>()?)
        }
        ExprKind::Compare {
            op,
            equality,
            left,
            right,
        } => Value::Bool(compare(
            *op,
            *equality,
            &constant(left)?,
            &constant(right)?,
        )?),
        ExprKind::Not { of, truth } => Value::Bool(!is_true(&constant(of)?, *truth)),
        ExprKind::Truth { of, truth } => Value::Bool(is_true(&constant(of)?, *truth)),
        ExprKind::And { left, right, truth } => {
            Value::Bool(is_true(&constant(left)?, *truth) && is_true(&constant(right)?, *truth))
        }
        ExprKind::Or { left, right, truth } => {
            Value::Bool(is_true(&constant(left)?, *truth) || is_true(&constant(right)?, *truth))
        }
        ExprKind::Call { builtin, args } => {
            let args = args.iter().map(constant).collect::<Option<Vec<_>>>()?;
            builtin::call(*builtin, &args).ok()?
        }
        ExprKind::Var { .. }
        | ExprKind::Field { .. }
        | ExprKind::Index { .. }
        | ExprKind::Map(_)
        | ExprKind::Seconds { .. }
        | ExprKind::Text(_) => return None,
    };
    let short = |text: &Rc<str>| text.len() <= LONGEST;
    match &value {
        Value::Text(text) => short(text).then_some(value),
        Value::List(items) if items.len() > LONGEST => None,
        _ => Some(value),
    }
}

fn scalar(literal: &Literal) -> Option<Value> {
    Some(match literal {
        Literal::Null => Value::Null,
        Literal::Bool(flag) => Value::Bool(*flag),
        Literal::Int(int) => Value::Int(*int),
        Literal::Float(float) => Value::Float(*float),
        Literal::Text(text) => Value::text(text.as_str()),
        Literal::List(_) | Literal::Map(_) => return None,
    })
}

fn compare(op: Compare, equality: Equality, a: &Value, b: &Value) -> Option<bool> {
    let numbers_first = equality == Equality::NumbersFirst;
    let equal = || match numbers_first {
        true => policy::eq_numbers_first(a, b),
        false => policy::eq_by_type(a, b),
    };
    let order = || match numbers_first {
        true => policy::order_numbers_first(a, b),
        false => policy::order_by_type(a, b),
    };
    let within = || match numbers_first {
        true => policy::in_numbers_first(a, b).ok(),
        false => policy::in_by_type(a, b).ok(),
    };
    Some(match op {
        Compare::Eq => equal(),
        Compare::Ne => !equal(),
        Compare::Lt => order().is_some_and(|order| order.is_lt()),
        Compare::Le => order().is_some_and(|order| order.is_le()),
        Compare::Gt => order().is_some_and(|order| order.is_gt()),
        Compare::Ge => order().is_some_and(|order| order.is_ge()),
        Compare::In => within()?,
        Compare::NotIn => !within()?,
    })
}

pub fn is_true(value: &Value, truth: Truth) -> bool {
    match truth {
        Truth::Words => policy::truth_words(value),
        Truth::Emptiness => policy::truth_emptiness(value),
        Truth::Flags => policy::truth_flags(value),
    }
}
