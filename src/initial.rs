//! The variables that a run starts with before anybody gives it others: the defaults of its plan, and what
//! only the runner knows.

use crate::results::{Clock, runner_names};
use rrc_compiler::ir::{EXCLUDE_TAGS, INCLUDE_TAGS, SESSION};
use rrc_vm::plan::{Const, Plan};
use rrc_vm::value::{Map, Value};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::rc::Rc;

/// What variables hold when nobody says otherwise.
pub fn defaults(plan: &Plan) -> Map {
    let mut variables = Map::default();
    let mut made = FxHashMap::default();
    for input in &plan.inputs {
        let Some(name) = plan.texts.get(input.name) else {
            continue;
        };
        if let Some(default) = input.default {
            variables.insert(Rc::from(name), constant(plan, default, &mut made));
        }
    }
    variables
}

/// A constant as a value. What stands in it, or in others, more than once is made once.
fn constant(plan: &Plan, id: u32, made: &mut FxHashMap<u32, Value>) -> Value {
    if let Some(value) = made.get(&id) {
        return value.clone();
    }
    let text = |id: u32| plan.texts.get(id).unwrap_or_default();
    let parts = |first: u32, size: usize| {
        let first = first as usize;
        plan.parts.get(first..first + size).unwrap_or_default()
    };
    let value = match plan.constants.get(id as usize).copied() {
        None | Some(Const::Null) => Value::Null,
        Some(Const::Bool(value)) => Value::Bool(value),
        Some(Const::Int(value)) => Value::Int(value),
        Some(Const::Float(value)) => Value::Float(value),
        Some(Const::Text(id)) => Value::text(text(id)),
        Some(Const::List { first, count }) => {
            let parts = parts(first, count as usize).iter();
            Value::list(parts.map(|part| constant(plan, *part, made)).collect())
        }
        Some(Const::Map { first, count }) => {
            let pairs = parts(first, count as usize * 2).chunks_exact(2);
            let pairs = pairs.map(|pair| (Rc::from(text(pair[0])), constant(plan, pair[1], made)));
            Value::map(pairs.collect())
        }
    };
    made.insert(id, value.clone());
    value
}

/// What only the runner knows, over everything else.
pub fn runner_values(variables: &mut Map, plan: &Plan, runner: &Map) {
    for name in runner_names(plan) {
        let value = runner.get(name).cloned().unwrap_or(Value::Null);
        variables.insert(Rc::from(name), value);
    }
}

/// What the runner tells recipes, by the names that they have for it.
pub fn runner(include_tags: &[String], exclude_tags: &[String], session: Value) -> Map {
    let mut values = tags(include_tags, exclude_tags);
    values.insert(Rc::from(SESSION), session);
    values
}

/// The tags of a run, likewise.
pub fn tags(include_tags: &[String], exclude_tags: &[String]) -> Map {
    let values = [
        (INCLUDE_TAGS, tag_list(include_tags)),
        (EXCLUDE_TAGS, tag_list(exclude_tags)),
    ];
    let values = values.into_iter();
    values
        .map(|(name, value)| (Rc::from(name), value))
        .collect()
}

/// What a run says of itself.
pub fn session(run: &str, directory: &Path, started: &Clock) -> Value {
    let mut session = Map::default();
    session.insert(Rc::from("id"), Value::text(run));
    session.insert(Rc::from("started"), Value::text(started.timestamp(0)));
    session.insert(
        Rc::from("project"),
        Value::text(directory.to_string_lossy().as_ref()),
    );
    Value::map(session)
}

/// Tags as recipes are told of them.
pub fn tag_list(tags: &[String]) -> Value {
    Value::list(tags.iter().map(|tag| Value::text(tag.as_str())).collect())
}
