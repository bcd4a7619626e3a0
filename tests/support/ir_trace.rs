//! What a run did, in a form that does not depend on the order of replies.
//!
//! Tasks work on snapshots, so what happens inside one record (a step that was begun) is the same
//! whatever else runs beside it. A trace therefore keeps one list of events per record, and names
//! a record by its path: the steps around it, their iterations, and which time it is.

use rrc_vm::plan::HostKind;
use rrc_vm::value::{Map, Value};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// A step in this one began, was skipped, or ended.
    Begin(String),
    Skip(String),
    End(String),
    /// A call, an attempt, an output, a warning, the end.
    Own(String),
    /// Hooks run in the record around their step, beside which others may be going on.
    Hook(String),
}

/// How many run at once in a record, and out of how many.
#[derive(Clone, Copy, Debug)]
pub struct AtOnce {
    pub width: u32,
}

#[derive(Clone, Debug, Default)]
pub struct Record {
    pub events: Vec<Event>,
    /// Calls so far, hooks not counted.
    pub calls: u32,
    /// Calls of its own that were not answered yet.
    pub waiting: u32,
    /// Children that began or were skipped, and those that are open.
    pub children: u32,
    pub open: u32,
    pub ended: bool,
    pub at_once: Option<AtOnce>,
    born: HashMap<String, u32>,
}

#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub records: BTreeMap<String, Record>,
}

impl Trace {
    pub fn record(&mut self, key: &str) -> &mut Record {
        if !self.records.contains_key(key) {
            self.records.insert(key.to_string(), Record::default());
        }
        self.records.get_mut(key).expect("it was put there")
    }

    /// A step begins in a record; the name of its own record.
    pub fn begin(&mut self, parent: &str, step: &str, iteration: Option<i64>) -> String {
        let record = self.record(parent);
        let mut key = match iteration {
            Some(number) => format!("{parent}/{step}[{number}]"),
            None => format!("{parent}/{step}"),
        };
        let times = record.born.entry(key.clone()).or_default();
        *times += 1;
        if *times > 1 {
            key = format!("{key}#{times}");
        }
        record.events.push(Event::Begin(key.clone()));
        record.children += 1;
        record.open += 1;
        self.record(&key);
        key
    }

    pub fn skip(&mut self, parent: &str, step: &str) {
        let record = self.record(parent);
        record.events.push(Event::Skip(step.to_string()));
        record.children += 1;
    }

    pub fn own(&mut self, key: &str, text: String) {
        self.record(key).events.push(Event::Own(text));
    }

    pub fn end(&mut self, parent: &str, key: &str, status: &str, value: &Value) {
        self.own(key, format!("end {status} {}", show(value)));
        self.record(key).ended = true;
        let record = self.record(parent);
        record.events.push(Event::End(key.to_string()));
        record.open -= 1;
    }

    /// A call; its number in its record, by which its reply is known.
    pub fn call(&mut self, key: &str, kind: HostKind, args: &[(&'static str, Value)]) -> u32 {
        let mut text = format!("call {}", kind.word());
        for (name, value) in args.iter().filter(|(_, v)| !matches!(v, Value::Null)) {
            text.push_str(&format!(" {name}={}", show(value)));
        }
        let record = self.record(key);
        if kind == HostKind::Hook {
            record.events.push(Event::Hook(text));
            return 0;
        }
        record.events.push(Event::Own(text));
        record.calls += 1;
        record.calls
    }
}

/// Everything there is to a value; of a failure, all but where it arose.
pub fn show(value: &Value) -> String {
    match value {
        Value::Failure(failure) => format!(
            "failure {} {:?} {:?}",
            failure.kind.word(),
            failure.message,
            failure.data
        ),
        data => format!("{data:?}"),
    }
}

pub fn show_fields(fields: &Map) -> String {
    format!("{fields:?}")
}

/// The first difference between what was expected and what was, if there is one.
pub fn difference(expected: &Trace, found: &Trace) -> Option<String> {
    for key in expected.records.keys().chain(found.records.keys()) {
        let (Some(a), Some(b)) = (expected.records.get(key), found.records.get(key)) else {
            let who = if expected.records.contains_key(key) {
                "walked only"
            } else {
                "compiled only"
            };
            return Some(format!("{key}: {who}"));
        };
        let wrong = match a.at_once {
            None => first_difference(&a.events, &b.events),
            // Beside each other only the order of each kind of event is certain, of hooks none.
            Some(_) => {
                let (a, b) = (split(&a.events), split(&b.events));
                (0..3).find_map(|kind| first_difference(&a[kind], &b[kind]))
            }
        };
        if let Some(wrong) = wrong {
            return Some(format!("in `{key}`: {wrong}"));
        }
    }
    None
}

fn split(events: &[Event]) -> [Vec<Event>; 3] {
    let mut kinds = [Vec::new(), Vec::new(), Vec::new()];
    for event in events {
        let kind = match event {
            // That a hook failed is said where it runs.
            Event::Own(text) if text.starts_with("warn a hook failed") => 2,
            Event::Own(_) => 0,
            Event::Begin(_) | Event::Skip(_) => 1,
            Event::Hook(_) => 2,
            Event::End(_) => continue,
        };
        kinds[kind].push(event.clone());
    }
    kinds[2].sort();
    kinds
}

fn first_difference(a: &[Event], b: &[Event]) -> Option<String> {
    let at = (0..a.len().max(b.len())).find(|&at| a.get(at) != b.get(at))?;
    Some(format!(
        "event {at}\n  walked   {:?}\n  compiled {:?}",
        a.get(at),
        b.get(at)
    ))
}
