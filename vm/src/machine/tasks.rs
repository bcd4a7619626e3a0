//! Steps, calls and tasks: what a task begins, asks for and waits for.

use super::operations::{fail, small};
use super::tables::shape;
use super::{Call, Exit, Machine, Note, Poll, Waiter};
use crate::fault::{FailureKind, FaultKind};
use crate::isa::Status;
use crate::plan::Plan;
use crate::task::{MAX_TASKS, Member, Open, RecordId, Task, TaskSet, Waits};
use crate::value::Value;

/// What waiting for a task of a set came to.
pub(super) enum Joined<T> {
    One(T),
    /// There is none left; the set is gone from the stack.
    All,
    Waits,
}

impl Machine {
    pub(super) fn begin(&mut self, task: &mut Task, step: u32, iteration: Option<i64>) -> Exit {
        let record = RecordId(self.next_record);
        self.next_record = self.next_record.wrapping_add(1);
        let parent = task.innermost();
        task.open.push(Open { record, attempt: 1 });
        task.stack.push(Value::Step(record.0));
        Exit::Note(Note::Begin {
            record,
            parent,
            step,
            iteration,
        })
    }

    /// The same; what is on top stays there.
    pub(super) fn begin_below(&mut self, task: &mut Task, step: u32) -> Exit {
        let top = task.stack.pop();
        let begun = self.begin(task, step, None);
        task.stack.extend(top);
        begun
    }

    /// Count a step that runs; the failure of one too many.
    pub(super) fn count_step(&mut self, at: u32) -> Option<Value> {
        self.steps = self.steps.saturating_add(1);
        let most = self.limits.steps;
        (self.steps > most).then(|| {
            fail(
                FailureKind::StepLimit,
                format!("more steps ran than the {most} allowed"),
                at,
            )
        })
    }

    /// Say what the open step on top has stored.
    pub(super) fn stored(&mut self, task: &Task, value: Value) -> Result<Exit, FaultKind> {
        self.read(&value)?;
        let record = record_at(task, 0);
        Ok(Exit::Note(Note::Output { record, value }))
    }

    /// Say that what is on top is secret.
    pub(super) fn secret(
        &mut self,
        plan: &Plan,
        task: &Task,
        name: u32,
    ) -> Result<Exit, FaultKind> {
        let value = task.stack.last().cloned().unwrap_or(Value::Null);
        self.read(&value)?;
        let name = self.text(plan, name)?;
        Ok(Exit::Note(Note::Secret { name, value }))
    }

    /// End the open step on top, which is taken.
    pub(super) fn end(
        &mut self,
        task: &mut Task,
        value: Value,
        status: u8,
    ) -> Result<Exit, FaultKind> {
        let failed = value.failed();
        if !failed {
            self.read(&value)?;
        }
        let record = record_at(task, 0);
        task.stack.pop();
        task.close(record);
        let said = Status::from_byte(status).unwrap_or(Status::Failed);
        let forgiven = failed && said != Status::Failed;
        let end = |value, forgiven| Note::End {
            record,
            status: if failed { Status::Failed } else { said },
            value,
            forgiven,
        };
        // The limit is the machine's: no plan goes on where it is reached.
        Ok(match &value {
            Value::Failure(failure) if forgiven && failure.kind == FailureKind::StepLimit => {
                Exit::Exceeds(end(value.clone(), false), value)
            }
            _ => Exit::Note(end(value, forgiven)),
        })
    }

    /// Start a task; the set it belongs to stands below its parameters, which are taken.
    pub(super) fn fork(
        &mut self,
        task: &mut Task,
        function: u32,
        at: u32,
    ) -> Result<u32, FaultKind> {
        if self.alive() >= MAX_TASKS {
            return Err(FaultKind::TooManyTasks);
        }
        let (params, _, locals) = shape(self.plan(), function);
        let room = locals + self.plan.height(function);
        self.produce((size_of::<Task>() + 64 + room * size_of::<Value>()) as u64)?;
        let set = set_at(task, params);
        let number = self.set(set).map_or(0, |set| set.next());
        let (above, first) = (task.innermost(), task.stack.len().saturating_sub(params));
        let params = task.stack.drain(first..);
        let child = self.start(function, params, Some((set, number)), above, at);
        if let Some(set) = self.set(set) {
            set.members.push_back(Member::Runs(child));
            set.running += 1;
        }
        Ok(child)
    }

    /// The same; how many milliseconds the task has stands between its set and its parameters.
    pub(super) fn fork_within(
        &mut self,
        task: &mut Task,
        function: u32,
        at: u32,
    ) -> Result<(), FaultKind> {
        let (params, ..) = shape(self.plan(), function);
        let below = task.stack.len().saturating_sub(params + 1);
        let ms = small(&task.stack.remove(below)).max(0) as u64;
        let child = self.fork(task, function, at)?;
        let ticket = self.ticket(Waiter::Deadline { task: child, ms });
        if let Some(Some(child)) = self.tasks.get_mut(child as usize) {
            child.deadline = Some(ticket.0);
        }
        let record = task.innermost();
        self.said.push_back(Poll::Timer { ticket, ms, record });
        Ok(())
    }

    /// Remember what the tasks of the set on top are called.
    pub(super) fn label_tasks(
        &mut self,
        plan: &Plan,
        task: &Task,
        labels: u32,
    ) -> Result<(), FaultKind> {
        let labels = self.constant(plan, labels)?;
        if let Some(Some(set)) = self.sets.get_mut(set_at(task, 0) as usize) {
            set.labels = Some(labels);
        }
        Ok(())
    }

    pub(super) fn new_set(&mut self, owner: u32) -> u32 {
        let set = Some(TaskSet::new(owner));
        match self.free_sets.pop() {
            Some(id) => {
                self.sets[id as usize] = set;
                id
            }
            None => {
                self.sets.push(set);
                (self.sets.len() - 1) as u32
            }
        }
    }

    pub(super) fn set(&mut self, set: u32) -> Option<&mut TaskSet> {
        self.sets.get_mut(set as usize)?.as_mut()
    }

    pub(super) fn forget_set(&mut self, task: &mut Task, set: u32) {
        task.sets.retain(|&known| known != set);
        self.remove_set(set);
    }

    /// Whether fewer tasks run than the number on top says, of the set below it; else the task waits.
    pub(super) fn runs_below(&mut self, task: &mut Task) -> bool {
        let below = task.stack.last().map_or(0, small).max(1);
        let set = set_at(task, 1);
        let running = self.set(set).map_or(0, |set| set.running);
        let is_below = i64::from(running) < below;
        if !is_below {
            task.waits = Waits::Set(set);
        }
        is_below
    }

    /// Take the first result from the set on top of the stack, if it is there.
    pub(super) fn join_ready(&mut self, task: &Task) -> Option<Value> {
        self.set(set_at(task, 0)).and_then(TaskSet::join_first)
    }

    /// Take a result from the set on top of the stack.
    pub(super) fn join<T>(
        &mut self,
        task: &mut Task,
        take: fn(&mut TaskSet) -> Option<T>,
    ) -> Joined<T> {
        let set = set_at(task, 0);
        let Some(tasks) = self.set(set).filter(|set| !set.all_joined()) else {
            task.stack.pop();
            self.forget_set(task, set);
            return Joined::All;
        };
        match take(tasks) {
            Some(result) => Joined::One(result),
            None => {
                task.waits = Waits::Set(set);
                Joined::Waits
            }
        }
    }

    /// The call with all its arguments; the task waits for its reply.
    pub(super) fn ask(
        &mut self,
        plan: &Plan,
        id: u32,
        task: &mut Task,
        host: u32,
    ) -> Result<Call, FaultKind> {
        let mut args = Vec::new();
        if let Some(entry) = plan.calls.get(host as usize) {
            let fixed = self.fixed(plan, host)?;
            let open = entry.open.count_ones() as usize;
            let open = task.stack.len().saturating_sub(open);
            for value in &task.stack[open..] {
                self.read(value)?;
            }
            let mut given = task.stack.drain(open..);
            let params = entry.kind.params().iter().zip(fixed.iter()).enumerate();
            args.extend(params.map(|(number, (&name, fixed))| {
                let given = match entry.open >> number & 1 {
                    1 => given.next(),
                    _ => None,
                };
                (name, given.unwrap_or_else(|| fixed.clone()))
            }));
        }
        let ticket = self.ticket(Waiter::Call { task: id });
        task.waits = Waits::Reply(ticket.0);
        Ok(Call {
            ticket,
            host,
            args,
            record: task.innermost(),
        })
    }
}

/// The set of tasks that stands so far below the top.
pub(super) fn set_at(task: &Task, below: usize) -> u32 {
    match task.stack.iter().nth_back(below) {
        Some(Value::Tasks(set)) => *set,
        other => {
            debug_assert!(false, "a set of tasks, not {other:?}");
            u32::MAX
        }
    }
}

pub(super) fn skipped(task: &Task, step: u32) -> Exit {
    let parent = task.innermost();
    Exit::Note(Note::Skip { step, parent })
}

pub(super) fn record_at(task: &Task, below: usize) -> RecordId {
    match task.stack.iter().nth_back(below) {
        Some(Value::Step(record)) => RecordId(*record),
        other => {
            debug_assert!(false, "a step, not {other:?}");
            RecordId(u32::MAX)
        }
    }
}
