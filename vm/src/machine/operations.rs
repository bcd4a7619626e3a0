//! The longer of the operations: text from parts, numbers out of values, failures as maps.

use super::Machine;
use crate::builtin;
use crate::fault::{Failure, FailureKind, FaultKind};
use crate::isa::Builtin;
use crate::plan::Plan;
use crate::task::{MAX_SHADOWS, Shadow, Task};
use crate::value::{Map, Value};
use crate::weight::own_weight;
use crate::{flow, text};
use std::cmp::Ordering;
use std::rc::Rc;

impl Machine {
    /// The text of a value, charged for.
    pub(super) fn render(&mut self, value: &Value) -> Result<Rc<str>, FaultKind> {
        let bytes = self.read(value)?;
        if let Value::Text(text) = value {
            return Ok(text.clone());
        }
        self.produce(bytes)?;
        Ok(text::render(value))
    }

    /// Put the values of a stack from here on together.
    pub(super) fn concat(&mut self, stack: &mut Vec<Value>, from: usize) -> Result<(), FaultKind> {
        let text = self.joined(&stack[from..])?;
        stack.truncate(from);
        stack.push(Value::Text(text));
        Ok(())
    }

    fn joined(&mut self, parts: &[Value]) -> Result<Rc<str>, FaultKind> {
        if let [one] = parts {
            return self.render(one);
        }
        let mut bytes = 0u64;
        for part in parts {
            bytes = bytes.saturating_add(self.read(part)?);
            self.keep(bytes)?;
        }
        self.produce(bytes)?;
        let mut all = String::with_capacity(bytes as usize);
        for part in parts {
            match part {
                Value::Text(text) => all.push_str(text),
                other => all.push_str(&text::render(other)),
            }
        }
        Ok(all.into())
    }

    pub(super) fn json_or_text(&mut self, value: Value) -> Result<Value, FaultKind> {
        match self.read_text(value)? {
            Ok(text) => self.made(text::json_or_text(&text)),
            Err(other) => Ok(other),
        }
    }

    /// Text that is to be read as JSON, charged for; what is no text is given back.
    pub(super) fn read_text(&mut self, value: Value) -> Result<Result<Rc<str>, Value>, FaultKind> {
        match value {
            Value::Text(_) | Value::Bytes(_) => {
                let text = self.render(&value)?;
                self.charge(text.len() as u64 >> 3)?;
                Ok(Ok(text))
            }
            other => Ok(Err(other)),
        }
    }

    /// Count what was just made.
    pub(super) fn made(&mut self, value: Value) -> Result<Value, FaultKind> {
        let bytes = self.read(&value)?;
        self.produce(bytes)?;
        Ok(value)
    }

    /// Make sure that a map can be changed in place.
    #[inline]
    pub(super) fn make_own(&mut self, fields: &mut Rc<Map>) -> Result<(), FaultKind> {
        if Rc::get_mut(fields).is_none() {
            self.produce(own_weight(fields))?;
            Rc::make_mut(fields);
        }
        Ok(())
    }

    pub(super) fn set_field(
        &mut self,
        fields: &mut Rc<Map>,
        name: Rc<str>,
        value: Value,
    ) -> Result<(), FaultKind> {
        self.make_own(fields)?;
        if Rc::make_mut(fields).insert(name, value).is_none() {
            self.produce(64)?;
        }
        Ok(())
    }

    pub(super) fn branch_report(
        &mut self,
        plan: &Plan,
        branches: &Value,
        labels: u32,
    ) -> Result<Value, FaultKind> {
        let bytes = self.read(branches)?;
        self.produce(bytes.saturating_mul(2))?;
        Ok(flow::report(branches, &self.constant(plan, labels)?))
    }

    /// Remember what a variable holds.
    pub(super) fn shadow(
        &mut self,
        task: &mut Task,
        scope: u8,
        name: u32,
        held: Option<Value>,
    ) -> Result<(), FaultKind> {
        if task.shadows.len() >= MAX_SHADOWS {
            return Err(FaultKind::TooDeep);
        }
        let depth = task.frames.len();
        task.shadows.push(Shadow {
            depth,
            scope,
            name,
            held,
        });
        self.produce(size_of::<Shadow>() as u64)
    }

    /// Set a variable to what it held, or forget it.
    pub(super) fn put_back(
        &mut self,
        scope: &mut Value,
        name: Rc<str>,
        held: Option<Value>,
    ) -> Result<(), FaultKind> {
        let Value::Map(fields) = scope else {
            return Ok(());
        };
        match held {
            Some(held) => self.set_field(fields, name, held)?,
            None if fields.contains_key(&name) => {
                self.make_own(fields)?;
                self.charge(fields.len() as u64 >> 4)?;
                Rc::make_mut(fields).shift_remove(&name);
            }
            None => {}
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, fields: &mut Rc<Map>, over: &Map) -> Result<(), FaultKind> {
        self.make_own(fields)?;
        self.produce(own_weight(over))?;
        let over = over
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        Rc::make_mut(fields).extend(over);
        Ok(())
    }

    pub(super) fn without(&mut self, fields: &mut Rc<Map>, drop: &Map) -> Result<(), FaultKind> {
        self.make_own(fields)?;
        self.charge(fields.len() as u64 >> 2)?;
        Rc::make_mut(fields).retain(|name, _| !drop.contains_key(name));
        Ok(())
    }

    pub(super) fn builtin(
        &mut self,
        which: u8,
        arguments: &[Value],
    ) -> Result<Result<Value, (FailureKind, String)>, FaultKind> {
        let mut sizes = [0; 3];
        for (at, argument) in arguments.iter().enumerate() {
            let size = self.read(argument)?;
            if let Some(slot) = sizes.get_mut(at) {
                *slot = size;
            }
        }
        let Some(which) = Builtin::from_byte(which) else {
            return Ok(Ok(Value::Null));
        };
        self.produce(builtin_bound(which, arguments, sizes))?;
        Ok(builtin::call(which, arguments))
    }
}

/// An integer, or text that is one with blanks around it.
pub(super) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

pub(super) fn integers(a: &Value, b: &Value) -> Result<(i64, i64), (FailureKind, String)> {
    let a = flow::integer(a).ok_or_else(|| no_number(a))?;
    let b = flow::integer(b).ok_or_else(|| no_number(b))?;
    Ok((a, b))
}

pub(super) fn no_number(value: &Value) -> (FailureKind, String) {
    match value {
        Value::Text(text) => {
            let message = format!("`{}` is not an integer", flow::shown(text));
            (FailureKind::NotANumber, message)
        }
        Value::Float(float) => (
            FailureKind::NotANumber,
            format!(
                "`{}` is not an integer",
                text::render(&Value::Float(*float))
            ),
        ),
        other => (
            FailureKind::WrongType,
            format!("{} is not an integer", text::kind_word(other)),
        ),
    }
}

/// `kind`, `message` and `data` of a failure; nothing of data.
pub(super) fn failure_map(value: &Value) -> Map {
    let Value::Failure(failure) = value else {
        return Map::default();
    };
    // Of a call, the fields of its result as far as there is one.
    let mut fields = match &failure.data {
        Value::Map(data) => Map::clone(data),
        _ => Map::default(),
    };
    fields.insert("kind".into(), Value::text(failure.kind.word()));
    fields.insert("message".into(), Value::Text(failure.message.clone()));
    fields
}

/// How many bytes a builtin can make of its arguments, before it makes them: a short text can
/// ask for a very long one.
fn builtin_bound(which: Builtin, arguments: &[Value], sizes: [u64; 3]) -> u64 {
    let [whole, second, third] = sizes;
    // What is below this is not worth being exact about.
    const SMALL: u64 = 1 << 16;
    let occurrences = || match arguments {
        [Value::Text(whole), Value::Text(part), ..] => whole.matches(&**part).count() as u64,
        [Value::Text(whole)] => whole.split_whitespace().count() as u64,
        _ => whole,
    };
    match which {
        Builtin::Replace => {
            let most = (whole / second.max(1) + 2).saturating_mul(third);
            let most = if most < SMALL {
                most
            } else {
                occurrences().saturating_mul(third)
            };
            most.saturating_add(whole)
        }
        Builtin::Split => {
            let most = whole.saturating_mul(40);
            let most = if most < SMALL {
                most
            } else {
                occurrences().saturating_mul(40)
            };
            most.saturating_add(whole)
        }
        Builtin::Join => {
            let items = match arguments.get(1) {
                Some(Value::List(items)) => items.len() as u64,
                _ => second,
            };
            items.saturating_mul(whole).saturating_add(second)
        }
        // In another case a character can take three times the bytes.
        Builtin::Lower | Builtin::Upper | Builtin::Title => whole.saturating_mul(3),
        Builtin::Str | Builtin::Strip | Builtin::LStrip | Builtin::RStrip => whole,
        Builtin::Int
        | Builtin::Float
        | Builtin::Len
        | Builtin::Min
        | Builtin::Max
        | Builtin::StartsWith
        | Builtin::EndsWith
        | Builtin::Count
        | Builtin::Find => 0,
    }
}

#[inline]
pub(super) fn is_true(value: &Value) -> bool {
    debug_assert!(matches!(value, Value::Bool(_)), "a boolean, not {value:?}");
    matches!(value, Value::Bool(true))
}

#[inline]
pub(super) fn small(value: &Value) -> i64 {
    match value {
        Value::Int(value) => *value,
        other => {
            debug_assert!(false, "an integer, not {other:?}");
            0
        }
    }
}

pub(super) fn holds(order: Option<Ordering>, wanted: fn(Ordering) -> bool) -> bool {
    order.is_some_and(wanted)
}

pub(super) fn fits(value: Option<i64>) -> Result<Value, (FailureKind, String)> {
    let message = || "the result does not fit into 64 bits".to_owned();
    value
        .map(Value::Int)
        .ok_or_else(|| (FailureKind::Overflow, message()))
}

pub(super) fn divides(by: i64) -> Result<(), (FailureKind, String)> {
    let message = || FailureKind::DivisionByZero.sentence().to_owned();
    (by != 0)
        .then_some(())
        .ok_or_else(|| (FailureKind::DivisionByZero, message()))
}

#[cold]
pub(super) fn fail(kind: FailureKind, message: String, at: u32) -> Value {
    Value::Failure(Rc::new(Failure {
        kind,
        message: message.into(),
        data: Value::Null,
        at,
    }))
}

#[inline]
pub(super) fn or_failure(result: Result<Value, (FailureKind, String)>, at: u32) -> Value {
    result.unwrap_or_else(|(kind, message)| fail(kind, message, at))
}

pub(super) fn wrong_type(value: Value, wanted: &str, at: u32) -> Value {
    match value {
        Value::Failure(_) => value,
        other => {
            let found = text::kind_word(&other);
            fail(
                FailureKind::WrongType,
                format!("{found} is not {wanted}"),
                at,
            )
        }
    }
}
