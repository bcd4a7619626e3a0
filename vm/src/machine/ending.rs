//! How tasks, and the run, come to their end.

use super::operations::failure_map;
use super::tables::name_of;
use super::{Finished, Machine, Note, Poll, Ticket};
use crate::fault::{Failure, FailureKind, Fault, FaultKind};
use crate::flow;
use crate::isa::Status;
use crate::task::{Member, Shadow, Task, Waits};
use crate::value::{Map, Value};
use crate::weight::{Unfit, weigh, weigh_fields};
use std::rc::Rc;
use std::time::Duration;

/// How many ended tasks are kept for others, and how high the stack of one may have become.
const MOST_SPARE: usize = 64;
const MOST_SPARE_ROOM: usize = 256;

impl Machine {
    /// The outermost function of a task has returned; its results are the top of the stack.
    pub(super) fn task_returned(&mut self, id: u32) {
        let Some(mut task) = self.remove(id) else {
            return;
        };
        match task.member_of {
            None => {
                let variables = match task.stack.pop() {
                    Some(Value::Map(fields)) => fields,
                    _ => Rc::default(),
                };
                let outcome = task.stack.pop().unwrap_or(Value::Null);
                let at = task.at().saturating_sub(1);
                self.spare(task);
                self.finish(outcome, variables, at);
            }
            Some((set, number)) => {
                if let Some(ticket) = task.deadline {
                    self.cancel_ticket(ticket);
                }
                let result = task.stack.pop().unwrap_or(Value::Null);
                self.spare(task);
                self.member_ended(set, number, result);
            }
        }
    }

    /// Keep what a task has allocated for one that comes after it.
    fn spare(&mut self, mut task: Box<Task>) {
        if self.spare_tasks.len() < MOST_SPARE && task.stack.capacity() <= MOST_SPARE_ROOM {
            task.clear();
            self.spare_tasks.push(task);
        }
    }

    /// Write down what a task of a set came to, and wake the task that owns the set.
    fn member_ended(&mut self, set: u32, number: u32, result: Value) {
        let Some(Some(tasks)) = self.sets.get_mut(set as usize) else {
            return;
        };
        tasks.end(number, result);
        let owner = tasks.owner;
        if let Some(Some(task)) = self.tasks.get_mut(owner as usize)
            && task.waits == Waits::Set(set)
        {
            task.waits = Waits::No;
            self.ready.push_back((owner, task.birth));
        }
    }

    pub(super) fn deadline_passed(&mut self, id: u32, ms: u64) {
        let Some(task) = self.tasks.get_mut(id as usize).and_then(Option::as_mut) else {
            return;
        };
        task.deadline = None;
        let (member_of, at) = (task.member_of, task.forked_at);
        let (kind, limit) = (FailureKind::Timeout, Duration::from_millis(ms));
        let message = format!("{} (limit {limit:?})", kind.sentence());
        let failure = Value::Failure(Rc::new(Failure {
            kind,
            message: message.into(),
            data: Value::Null,
            at,
        }));
        self.end_tasks(vec![id], &failure);
        if let Some((set, number)) = member_of {
            self.member_ended(set, number, failure);
        }
    }

    /// What is known of the tasks with labels that a task waits for, where time has run out: null for
    /// those that run.
    fn cut_off(&self, task: &Task, why: &Value) -> Option<Value> {
        let (Waits::Set(set), Value::Failure(failure)) = (task.waits, why) else {
            return None;
        };
        let set = self.sets.get(set as usize)?.as_ref()?;
        let labels = set.labels.as_ref()?;
        if failure.kind != FailureKind::Timeout {
            return None;
        }
        let tasks = set.members.iter().filter_map(|member| match member {
            Member::Runs(_) => Some(Value::Null),
            Member::Ended(failure @ Value::Failure(_)) => Some(Value::map(failure_map(failure))),
            Member::Ended(result) => Some(result.clone()),
            Member::Joined => None,
        });
        let tasks: Vec<Value> = tasks.collect();
        let branches = ("branches".into(), flow::known(&tasks, labels));
        Some(Value::Failure(Rc::new(Failure {
            data: Value::map(Map::from_iter([branches])),
            ..Failure::clone(failure)
        })))
    }

    /// End what still runs in a set; how many tasks that were.
    pub(super) fn cancel_set(&mut self, set: u32, at: u32) -> u64 {
        let Some(Some(tasks)) = self.sets.get(set as usize) else {
            return 0;
        };
        let running: Vec<(u32, u32)> = tasks.alive().collect();
        let looked_at = tasks.members.len();
        let failure = failure(FailureKind::Cancelled, at);
        let ended = self.end_tasks(running.iter().map(|&(_, task)| task).collect(), &failure);
        for (number, _) in running {
            self.member_ended(set, number, failure.clone());
        }
        (ended + looked_at) as u64
    }

    /// End these tasks and all below them, the lowest first; how many that were.
    fn end_tasks(&mut self, mut below: Vec<u32>, why: &Value) -> usize {
        let mut order = Vec::new();
        while let Some(id) = below.pop() {
            order.push(id);
            let Some(task) = self.task(id) else { continue };
            for &set in &task.sets {
                if let Some(Some(tasks)) = self.sets.get(set as usize) {
                    below.extend(tasks.alive().map(|(_, task)| task));
                }
            }
        }
        for &id in order.iter().rev() {
            if let Some(task) = self.remove(id) {
                self.close(&task, why);
                for set in task.sets {
                    self.remove_set(set);
                }
            }
        }
        order.len()
    }

    fn close(&mut self, task: &Task, why: &Value) {
        if let Waits::Reply(ticket) = task.waits {
            self.cancel_ticket(ticket);
        }
        if let Some(ticket) = task.deadline {
            self.cancel_ticket(ticket);
        }
        let mut innermost = self.cut_off(task, why);
        for open in task.open.iter().rev() {
            self.said.push_back(Poll::Note(Note::End {
                record: open.record,
                status: Status::Cancelled,
                value: innermost.take().unwrap_or_else(|| why.clone()),
                forgiven: false,
            }));
        }
    }

    fn cancel_ticket(&mut self, ticket: u64) {
        if self.waiting.remove(&ticket).is_some() {
            self.cancelled.insert(ticket);
            let ticket = Ticket(ticket);
            self.said.push_back(Poll::Cancel { ticket });
        }
    }

    fn remove(&mut self, id: u32) -> Option<Box<Task>> {
        let task = self.tasks.get_mut(id as usize)?.take()?;
        self.free_tasks.push(id);
        Some(task)
    }

    pub(super) fn remove_set(&mut self, set: u32) {
        if let Some(slot) = self.sets.get_mut(set as usize)
            && slot.take().is_some()
        {
            self.free_sets.push(set);
        }
    }

    /// The run comes to this outcome, and what is open ends for that reason.
    pub(super) fn stop(&mut self, outcome: Value, why: &Value) {
        let variables = self.variables();
        let at = self.task(0).map_or(0, Task::at);
        self.end_tasks(vec![0], why);
        self.finish(outcome, variables, at);
    }

    pub(super) fn fault(&mut self, kind: FaultKind, at: u32) {
        let variables = self.variables();
        self.end_tasks(vec![0], &failure(FailureKind::Cancelled, at));
        self.finished = Some(Finished {
            outcome: Err(Fault { kind, at }),
            variables,
        });
    }

    fn finish(&mut self, outcome: Value, variables: Rc<Map>, at: u32) {
        let most = self.limits.memory;
        let data = match &outcome {
            Value::Failure(failure) => &failure.data,
            data => data,
        };
        let fits = weigh(data, most).and_then(|_| match self.was_weighed(&variables) {
            true => Ok(()),
            false => weigh_fields(&variables, most).map(drop),
        });
        let outcome = match fits {
            Ok(()) => Ok(outcome),
            Err(unfit) => {
                let kind = match unfit {
                    Unfit::TooDeep => FaultKind::TooDeep,
                    Unfit::TooHeavy | Unfit::NoData => FaultKind::OutOfMemory,
                };
                Err(Fault { kind, at })
            }
        };
        self.finished = Some(Finished { outcome, variables });
    }

    /// The variables of a run that did not come to its end by itself.
    fn variables(&self) -> Rc<Map> {
        let Some(task) = self.task(0) else {
            return Rc::default();
        };
        let mut scopes = (1..).zip(&task.frames).filter_map(|(depth, frame)| {
            let function = self.plan().functions.get(frame.function as usize)?;
            match task.stack.get(frame.base as usize) {
                Some(Value::Map(fields)) if function.locals > 0 => Some((depth, Rc::clone(fields))),
                _ => None,
            }
        });
        let Some((depth, mut fields)) = scopes.next() else {
            return Rc::default();
        };
        // Functions around it have handed them on, with what they had shadowed in them.
        let in_them = |shadow: &&Shadow| shadow.scope == 0 && shadow.depth <= depth;
        for shadow in task.shadows.iter().rev().filter(in_them) {
            let name = name_of(self.plan(), shadow.name);
            let fields = Rc::make_mut(&mut fields);
            match &shadow.held {
                Some(held) => drop(fields.insert(name.into(), held.clone())),
                None => drop(fields.shift_remove(name)),
            }
        }
        fields
    }
}

pub(super) fn failure(kind: FailureKind, at: u32) -> Value {
    Value::Failure(Rc::new(Failure {
        kind,
        message: kind.sentence().into(),
        data: Value::Null,
        at,
    }))
}
