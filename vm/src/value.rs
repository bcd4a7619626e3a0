//! The values a machine computes with.
//!
//! A value is cheap to copy: texts, lists and maps are shared, and changed in place when nobody
//! else holds them. What a value *means* in a comparison or a condition depends on the policy of
//! the instruction, see `policy`; how it looks as text is decided in `text`.

use crate::fault::Failure;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::rc::Rc;

/// Fields in the order they were written.
pub type Map = IndexMap<Rc<str>, Value, FxBuildHasher>;

#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Rc<str>),
    /// Output that goes from process to process without being read.
    Bytes(Rc<[u8]>),
    List(Rc<Vec<Value>>),
    Map(Rc<Map>),
    /// What went wrong, on its way to whoever asks.
    Failure(Rc<Failure>),
    /// An open step, by its number in the record of the run.
    Step(u32),
    /// A set of tasks, by its number in the machine.
    Tasks(u32),
}

impl Value {
    pub fn text(text: impl Into<Rc<str>>) -> Value {
        Value::Text(text.into())
    }

    pub fn list(items: Vec<Value>) -> Value {
        Value::List(Rc::new(items))
    }

    pub fn map(fields: Map) -> Value {
        Value::Map(Rc::new(fields))
    }

    pub fn failed(&self) -> bool {
        matches!(self, Value::Failure(_))
    }
}
