//! What the walker keeps while it walks: a line of control, its variables, the values of a loop.

use rrc_compiler::ir::{Action, Bind, Graph, Node, Read, Step};
use rrc_vm::fault::{Failure, FailureKind};
use rrc_vm::value::{Map, Value};
use std::rc::Rc;

/// One line of control: its variables, and where it is.
pub struct Task {
    pub scope: Map,
    /// What steps have set, besides the variables of loops.
    pub bound: Vec<Rc<str>>,
    pub record: String,
    pub unit: usize,
    pub depth: u32,
    /// Whether it is in a loop of its unit.
    pub in_loop: bool,
}

/// What a step gives to whoever runs it.
#[derive(Default)]
pub struct Given {
    /// Its value; none if it did not run, or failed and nothing is kept of its output.
    pub value: Option<Value>,
    /// The same for who collects values; none of an iteration that failed.
    pub collected: Option<Value>,
}

impl Given {
    pub fn both(value: Value) -> Given {
        Given {
            collected: Some(value.clone()),
            value: Some(value),
        }
    }

    /// What a later step gives counts instead.
    pub fn then(self, later: Given) -> Given {
        Given {
            value: later.value.or(self.value),
            collected: later.collected.or(self.collected),
        }
    }
}

pub fn binds_value(step: &Step) -> bool {
    step.bind.iter().any(|bind| bind.read == Read::Value)
}

/// Whether a program could not be started at all.
pub fn comes_again(step: &Step, failure: &Failure) -> bool {
    use FailureKind::{CommandNotFound, InvalidCwd, PermissionDenied, SpawnFailed};
    use FailureKind::{DepthLimit, StepLimit};
    use FailureKind::{DivisionByZero, NotANumber, Overflow, Undefined, WrongType};
    let starts_one = match &step.node {
        Node::Act(action) => matches!(**action, Action::Exec(_) | Action::Agent(_)),
        _ => false,
    };
    match failure.kind {
        CommandNotFound | InvalidCwd | PermissionDenied | SpawnFailed | DepthLimit | StepLimit => {
            true
        }
        DivisionByZero | NotANumber | Overflow | Undefined | WrongType => starts_one,
        _ => false,
    }
}

pub fn calls(step: &Step) -> bool {
    matches!(&step.node, Node::Act(action) if matches!(**action, Action::Call(_)))
}

pub fn set(task: &mut Task, name: &str, value: Value) {
    let name: Rc<str> = name.into();
    task.scope.insert(name.clone(), value);
    task.bound.push(name);
}

/// Sets what each turn of a loop would have set, where the loop failed before the first. Whether there was
/// something to set.
pub fn set_unbegun(step: &Step, task: &mut Task) -> bool {
    let body = match &step.node {
        Node::Each(each) if each.width.is_none() => &each.body,
        Node::While(body) => &body.body,
        _ => return false,
    };
    if !matches!(body.node, Node::Act(_)) {
        return false;
    }
    let mut any = false;
    for bind in &body.bind {
        let value = match bind.read {
            Read::ExitCode if calls(body) => Value::Int(1),
            Read::ExitCode => Value::Int(126),
            Read::Stderr => Value::text(""),
            Read::Value | Read::Reply => continue,
        };
        set(task, &bind.name, value);
        any = true;
    }
    any
}

/// What a step and those in it can set, in the order of the file.
pub fn bound_names(step: &Step, names: &mut Vec<Rc<str>>) {
    let mut add = |bind: &Bind| {
        if !names.iter().any(|name| **name == *bind.name) {
            names.push(bind.name.as_str().into());
        }
    };
    step.bind.iter().for_each(&mut add);
    match &step.node {
        Node::Act(_) => {}
        Node::Seq(steps)
        | Node::Graph(Graph { steps, .. })
        | Node::Par {
            branches: steps, ..
        } => {
            steps.iter().for_each(|step| bound_names(step, names));
        }
        Node::Each(each) => {
            each.collect.iter().chain(&each.last).for_each(&mut add);
            if each.width.is_none() {
                bound_names(&each.body, names);
            }
        }
        Node::While(body) => {
            let update = body.update.iter().map(|(bind, _)| bind);
            let binds = body.collect.iter().chain(&body.last);
            binds.chain(update).for_each(&mut add);
            bound_names(&body.body, names);
        }
    }
}

impl Task {
    pub fn snapshot(&self) -> Task {
        Task {
            scope: self.scope.clone(),
            bound: Vec::new(),
            record: self.record.clone(),
            unit: self.unit,
            depth: self.depth,
            in_loop: self.in_loop,
        }
    }
}

/// The values of the iterations of a loop; null of those that gave none.
pub struct Iterations {
    pub collected: Vec<Value>,
    pub last: Value,
}

impl Default for Iterations {
    fn default() -> Iterations {
        Iterations {
            collected: Vec::new(),
            last: Value::Null,
        }
    }
}

impl Iterations {
    pub fn add(&mut self, given: Given) {
        self.last = given.value.unwrap_or(Value::Null);
        self.collected.push(given.collected.unwrap_or(Value::Null));
    }
}

/// What a name held before a loop took it.
pub struct Shadow {
    name: Rc<str>,
    held: Option<Value>,
}

impl Shadow {
    pub fn new(name: &str, task: &Task) -> Shadow {
        Shadow {
            name: name.into(),
            held: task.scope.get(name).cloned(),
        }
    }

    pub fn put_back(self, task: &mut Task) {
        match self.held {
            Some(value) => drop(task.scope.insert(self.name, value)),
            None => drop(task.scope.shift_remove(&self.name)),
        }
    }
}
