//! What values weigh: how much memory they hold, and how much work reading them is.
//!
//! A value that shares its parts can be small in memory and endless when written out, and a value
//! that nests without end takes the stack of whoever drops it. So nothing is put into a list or a
//! map, read as a whole or handed out before it was weighed here. Knows nothing of what the
//! values mean.

use crate::value::{Map, Value};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// How deep a value may nest.
pub const MAX_DEPTH: usize = 512;

const VALUE: u64 = size_of::<Value>() as u64;
// The two counters of a shared allocation.
const SHARED: u64 = 16;
// Key, value, hash and index of a field.
const FIELD: u64 = VALUE + 16 + 16;

/// A value written out, as if it shared nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub bytes: u64,
    pub nodes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    TooHeavy,
    TooDeep,
    /// A failure, a step or a set of tasks where only data can be.
    NoData,
}

/// Weigh data, giving up when it is heavier than `most` bytes or cannot stand inside of another
/// value.
pub(crate) fn weigh(value: &Value, most: u64) -> Result<Weight, Unfit> {
    let mut weight = Weight::default();
    add(value, most, MAX_DEPTH - 1, &mut weight)?;
    Ok(weight)
}

/// The same of a map that nobody made a value yet.
pub(crate) fn weigh_fields(fields: &Map, most: u64) -> Result<Weight, Unfit> {
    let mut weight = Weight::default();
    add_fields(fields, most, MAX_DEPTH - 1, &mut weight)?;
    Ok(weight)
}

fn add(value: &Value, most: u64, depth: usize, weight: &mut Weight) -> Result<(), Unfit> {
    weight.nodes += 1;
    weight.bytes += VALUE;
    match value {
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
        Value::Text(text) => weight.bytes += text.len() as u64,
        Value::Bytes(bytes) => weight.bytes += bytes.len() as u64,
        Value::List(items) => {
            let depth = depth.checked_sub(1).ok_or(Unfit::TooDeep)?;
            for item in items.iter() {
                add(item, most, depth, weight)?;
            }
        }
        Value::Map(fields) => {
            let depth = depth.checked_sub(1).ok_or(Unfit::TooDeep)?;
            add_fields(fields, most, depth, weight)?;
        }
        Value::Failure(_) | Value::Step(_) | Value::Tasks(_) => return Err(Unfit::NoData),
    }
    if weight.bytes > most {
        return Err(Unfit::TooHeavy);
    }
    Ok(())
}

fn add_fields(fields: &Map, most: u64, depth: usize, weight: &mut Weight) -> Result<(), Unfit> {
    for (name, field) in fields {
        weight.bytes += name.len() as u64 + SHARED;
        add(field, most, depth, weight)?;
    }
    Ok(())
}

/// What a map holds for itself, without what its fields point at.
pub(crate) fn own_weight(fields: &Map) -> u64 {
    SHARED + fields.len() as u64 * FIELD
}

/// The memory that values hold, each shared allocation counted once.
#[derive(Default)]
pub(crate) struct Census {
    pub bytes: u64,
    seen: FxHashSet<usize>,
}

impl Census {
    pub fn values<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) {
        for value in values {
            self.bytes += VALUE;
            self.value(value);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
            Value::Step(_) | Value::Tasks(_) => {}
            Value::Text(text) => self.text(text),
            Value::Bytes(bytes) => {
                if self.first(bytes) {
                    self.bytes += SHARED + bytes.len() as u64;
                }
            }
            Value::List(items) => {
                if self.first(items) {
                    self.bytes += SHARED + (items.capacity() - items.len()) as u64 * VALUE;
                    self.values(items.iter());
                }
            }
            Value::Map(fields) => {
                if self.first(fields) {
                    self.bytes += SHARED + fields.len() as u64 * (FIELD - VALUE);
                    for (name, field) in fields.iter() {
                        self.text(name);
                        self.bytes += VALUE;
                        self.value(field);
                    }
                }
            }
            Value::Failure(failure) => {
                if self.first(failure) {
                    self.bytes += SHARED + 2 * VALUE;
                    self.text(&failure.message);
                    self.value(&failure.data);
                }
            }
        }
    }

    pub fn text(&mut self, text: &Rc<str>) {
        if self.first(text) {
            self.bytes += SHARED + text.len() as u64;
        }
    }

    /// Whether this allocation was not counted yet.
    fn first<T: ?Sized>(&mut self, shared: &Rc<T>) -> bool {
        Rc::strong_count(shared) == 1 || self.seen.insert(Rc::as_ptr(shared).cast::<u8>().addr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_its_parts_is_weighed_as_if_it_did_not() {
        let mut value = Value::list(vec![Value::Int(1)]);
        for _ in 0..60 {
            value = Value::list(vec![value.clone(), value]);
        }
        assert_eq!(weigh(&value, 1 << 20), Err(Unfit::TooHeavy));
        let mut census = Census::default();
        census.values([&value]);
        assert!(census.bytes < 60 * 100, "{}", census.bytes);
    }

    #[test]
    fn a_value_that_nests_too_deeply_is_found() {
        let mut value = Value::Null;
        for _ in 0..MAX_DEPTH - 1 {
            value = Value::list(vec![value]);
        }
        assert!(weigh(&value, 1 << 20).is_ok());
        assert_eq!(
            weigh(&Value::list(vec![value]), 1 << 20),
            Err(Unfit::TooDeep)
        );
    }
}
