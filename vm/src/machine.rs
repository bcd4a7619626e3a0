//! A run in progress, as a pure coroutine.
//!
//! [`Machine::poll`] runs until there is something to say or to ask; [`Machine::resume`] brings an
//! answer. The machine performs nothing and knows neither time nor chance, so the order of the
//! answers decides a run completely: ready tasks run in the order in which they became ready, each
//! until it waits. What an instruction means is in `execute`; here is who runs, and how things
//! end.
//!
//! A task that is ended from outside (by its deadline, by `cancel`, by the end of the run) takes
//! all tasks below it along. Calls and timers that are under way are asked to be cancelled, and
//! steps that are open end as [`Status::Cancelled`] with a failure that says why, the innermost
//! first: whoever forked the task judges its result, and ends its own step as it sees fit.

mod ending;
mod execute;
mod limits;
mod operations;
mod tables;
mod tasks;

use crate::fault::{Failure, FailureKind, Fault, FaultKind};
use crate::isa::{Instr, Status};
use crate::plan::{ConstId, HostKind, Limits, Plan};
use crate::task::{Frame, Task, TaskSet, Waits};
use crate::value::{Map, Value};
use crate::verify::Verified;
use crate::weight::{Unfit, weigh, weigh_fields};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

pub use crate::task::RecordId;

/// The smallest slice of fuel: more than any instruction costs before it begins.
const LEAST_SLICE: u64 = 1 << 16;

/// The number of a call or a timer, in the order in which they were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What the machine says or asks.
#[derive(Clone, Debug)]
pub enum Poll {
    /// Do this and reply.
    Call(Call),
    /// Reply, with anything, when so many milliseconds have passed.
    Timer {
        ticket: Ticket,
        ms: u64,
        /// The innermost step that was open.
        record: Option<RecordId>,
    },
    /// The reply to this is not wanted any more. One that crosses this is ignored.
    Cancel { ticket: Ticket },
    /// Something happened.
    Note(Note),
    /// Nothing goes on before a reply comes.
    Idle,
    /// The run is over; said again at every further poll.
    Done(Finished),
}

#[derive(Clone, Debug)]
pub struct Call {
    pub ticket: Ticket,
    /// Which call: an index into the calls of the plan.
    pub host: u32,
    /// All arguments of the call, in the order of its parameters; null where it has none.
    pub args: Vec<(&'static str, Value)>,
    /// The innermost step that was open.
    pub record: Option<RecordId>,
}

#[derive(Clone, Debug)]
pub enum Note {
    Begin {
        record: RecordId,
        parent: Option<RecordId>,
        /// An index into the steps of the plan.
        step: u32,
        iteration: Option<i64>,
    },
    Skip {
        step: u32,
        parent: Option<RecordId>,
    },
    /// The step is tried again; the second attempt has the number 2.
    Attempt {
        record: RecordId,
        number: u32,
    },
    Output {
        record: RecordId,
        value: Value,
    },
    /// A variable that is named secret is about to hold this.
    Secret {
        name: Rc<str>,
        value: Value,
    },
    Warn {
        record: Option<RecordId>,
        text: Rc<str>,
    },
    End {
        record: RecordId,
        status: Status,
        value: Value,
        /// It failed, and what comes after it runs all the same.
        forgiven: bool,
    },
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Data or a failure, if the machine came to its end.
    pub outcome: Result<Value, Fault>,
    /// The variables of the plan. When the run was stopped on the way, those of the outermost
    /// function of the first task that has them as its first local, without what was set in them for a
    /// while only.
    pub variables: Rc<Map>,
}

/// A reply that was not taken; the machine is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stray {
    /// Nothing was asked with this ticket, or it was answered.
    Unknown,
    /// The value is no data: it holds a step, a set of tasks, or a failure inside of something.
    NoData,
    /// The value nests too deeply or is larger than the memory of the machine.
    TooLarge,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stray::Unknown => "nothing waits for this reply",
            Stray::NoData => "the reply is not data",
            Stray::TooLarge => "the reply is too large or nests too deeply",
        })
    }
}

impl std::error::Error for Stray {}

#[derive(Clone, Copy)]
enum Waiter {
    Call { task: u32 },
    Deadline { task: u32, ms: u64 },
}

/// A run in progress.
pub struct Machine {
    plan: Rc<Verified>,
    limits: Limits,
    /// Fuel of this slice, and what is left for others.
    fuel: u64,
    reserve: u64,
    /// Bytes produced since the last census, and how many may be before the next.
    produced: u64,
    census_after: u64,
    steps: u32,
    // Texts and constants as values, made when they are first used.
    texts: Vec<Option<Rc<str>>>,
    constants: Vec<Option<Value>>,
    /// The fixed arguments of calls, likewise.
    fixed: FxHashMap<(HostKind, ConstId), Rc<[Value]>>,
    /// Where in a map each text was last found as a name: a guess for the next time.
    places: Vec<u32>,
    /// The variables of the last run, if others hold them too: they were weighed.
    weighed: Option<Rc<Map>>,
    tasks: Vec<Option<Box<Task>>>,
    free_tasks: Vec<u32>,
    /// Tasks that have ended, for what they have allocated.
    #[allow(
        clippy::vec_box,
        reason = "they go from here to `tasks` and back as they are"
    )]
    spare_tasks: Vec<Box<Task>>,
    sets: Vec<Option<TaskSet>>,
    free_sets: Vec<u32>,
    /// Tasks that can go on, with their births: one that was ended meanwhile stays in the queue.
    ready: VecDeque<(u32, u64)>,
    /// What is to be said before anything runs.
    said: VecDeque<Poll>,
    waiting: FxHashMap<u64, Waiter>,
    cancelled: FxHashSet<u64>,
    next_ticket: u64,
    next_record: u32,
    next_birth: u64,
    finished: Option<Finished>,
    #[cfg(debug_assertions)]
    executed: [bool; 256],
}

impl Machine {
    /// A run of a plan with these variables. A variable that is not data, nests too deeply or does
    /// not fit into the memory is null.
    pub fn new(
        plan: impl Into<Rc<Verified>>,
        variables: impl Into<Rc<Map>>,
        limits: Limits,
    ) -> Machine {
        let plan = plan.into();
        let mut machine = Machine {
            texts: vec![None; plan.plan().texts.len()],
            places: vec![0; plan.plan().texts.len()],
            weighed: None,
            constants: vec![None; plan.plan().constants.len()],
            fixed: FxHashMap::default(),
            plan,
            limits,
            fuel: 0,
            reserve: 0,
            produced: 0,
            census_after: 0,
            steps: 0,
            tasks: Vec::new(),
            free_tasks: Vec::new(),
            spare_tasks: Vec::new(),
            sets: Vec::new(),
            free_sets: Vec::new(),
            ready: VecDeque::new(),
            said: VecDeque::new(),
            waiting: FxHashMap::default(),
            cancelled: FxHashSet::default(),
            next_ticket: 0,
            next_record: 0,
            next_birth: 0,
            finished: None,
            #[cfg(debug_assertions)]
            executed: [false; 256],
        };
        machine.restart(variables);
        machine
    }

    /// Forget the run and begin another of the same plan; what was made of its tables is kept.
    pub fn restart(&mut self, variables: impl Into<Rc<Map>>) {
        self.begin_with(variables.into());
    }

    fn begin_with(&mut self, mut variables: Rc<Map>) {
        self.fuel = self.limits.fuel;
        self.reserve = 0;
        self.produced = 0;
        self.census_after = self.limits.memory;
        self.steps = 0;
        self.tasks.clear();
        self.free_tasks.clear();
        self.sets.clear();
        self.free_sets.clear();
        self.ready.clear();
        self.said.clear();
        self.waiting.clear();
        self.cancelled.clear();
        self.next_ticket = 0;
        self.next_record = 0;
        self.finished = None;
        if !self.was_weighed(&variables) {
            if weigh_fields(&variables, self.limits.memory).is_err() {
                for value in Rc::make_mut(&mut variables).values_mut() {
                    if weigh(value, self.limits.memory).is_err() {
                        *value = Value::Null;
                    }
                }
            }
            // Who alone holds a map may change it in place: it is not to be held here then.
            self.weighed = (Rc::strong_count(&variables) > 1).then(|| Rc::clone(&variables));
        }
        let entry = self.start(0, [Value::Map(variables)], None, None, 0);
        debug_assert_eq!(entry, 0);
    }

    /// Whether these are the variables of the last run, unchanged as they are shared.
    fn was_weighed(&self, variables: &Rc<Map>) -> bool {
        let last = self.weighed.as_ref();
        last.is_some_and(|last| Rc::ptr_eq(last, variables))
    }

    /// Run until there is something to say or to ask.
    pub fn poll(&mut self) -> Poll {
        loop {
            if let Some(poll) = self.poll_within(u64::MAX) {
                return poll;
            }
        }
    }

    /// The same, for no more than so much fuel: none if there is more to do. How a run is cut into
    /// slices changes nothing about it.
    pub fn poll_within(&mut self, slice: u64) -> Option<Poll> {
        self.begin_slice(slice.max(LEAST_SLICE));
        loop {
            if let Some(said) = self.said.pop_front() {
                return Some(said);
            }
            if let Some(finished) = &self.finished {
                return Some(Poll::Done(finished.clone()));
            }
            let Some((id, birth)) = self.ready.pop_front() else {
                if !self.waiting.is_empty() {
                    return Some(Poll::Idle);
                }
                let at = self.task(0).map_or(0, Task::at);
                self.fault(FaultKind::Deadlock, at);
                continue;
            };
            let slot = self.tasks.get_mut(id as usize);
            let Some(mut task) = slot.and_then(|slot| slot.take_if(|task| task.birth == birth))
            else {
                continue;
            };
            let exit = self.execute(id, &mut task);
            let at = task.at();
            if let Some(slot) = self.tasks.get_mut(id as usize) {
                *slot = Some(task);
            }
            match exit {
                Exit::Waits => {}
                Exit::Says => self.ready.push_front((id, birth)),
                Exit::Rests => {
                    self.ready.push_front((id, birth));
                    return None;
                }
                Exit::Note(note) => {
                    self.ready.push_front((id, birth));
                    return Some(Poll::Note(note));
                }
                Exit::Call(call) => return Some(Poll::Call(call)),
                Exit::Returns => self.task_returned(id),
                Exit::Stops(outcome) => {
                    self.stop(outcome, &ending::failure(FailureKind::Cancelled, at));
                }
                Exit::Exceeds(note, outcome) => {
                    self.said.push_back(Poll::Note(note));
                    self.stop(outcome, &ending::failure(FailureKind::Cancelled, at));
                }
                Exit::Fault(kind) => self.fault(kind, at),
            }
        }
    }

    /// Bring the reply to a call, or say that the time of a timer has passed.
    pub fn resume(&mut self, ticket: Ticket, reply: Value) -> Result<(), Stray> {
        if self.cancelled.remove(&ticket.0) {
            return Ok(());
        }
        let waiter = self.waiting.get(&ticket.0).copied();
        match waiter.ok_or(Stray::Unknown)? {
            Waiter::Deadline { task, ms } => {
                self.waiting.remove(&ticket.0);
                self.deadline_passed(task, ms);
            }
            Waiter::Call { task } => {
                let data = match &reply {
                    Value::Failure(failure) => &failure.data,
                    data => data,
                };
                let weight = weigh(data, self.limits.memory).map_err(|unfit| match unfit {
                    Unfit::NoData => Stray::NoData,
                    Unfit::TooDeep | Unfit::TooHeavy => Stray::TooLarge,
                })?;
                self.waiting.remove(&ticket.0);
                self.produced = self.produced.saturating_add(weight.bytes);
                self.answer(task, reply);
            }
        }
        Ok(())
    }

    /// No reply will come to what was cancelled: a run that cancels much would remember all of it.
    pub fn forget(&mut self, ticket: Ticket) {
        self.cancelled.remove(&ticket.0);
    }

    fn answer(&mut self, id: u32, reply: Value) {
        let Some(task) = self.tasks.get_mut(id as usize).and_then(Option::as_mut) else {
            return;
        };
        let reply = match reply {
            // Where a call failed is known here, not where it was performed; so is where it goes.
            Value::Failure(failure) => {
                let at = task.at().saturating_sub(1);
                let asked = self.plan.plan().code.get(at as usize);
                if let Some(Instr::HostOr { to, .. }) = asked.map(|word| word.instr())
                    && let Some(frame) = task.frames.last_mut()
                {
                    frame.at = to;
                }
                Value::Failure(Rc::new(Failure {
                    at,
                    ..Failure::clone(&failure)
                }))
            }
            data => data,
        };
        task.stack.push(reply);
        task.waits = Waits::No;
        self.ready.push_back((id, task.birth));
    }

    fn task(&self, id: u32) -> Option<&Task> {
        self.tasks.get(id as usize)?.as_deref()
    }

    fn plan(&self) -> &Plan {
        self.plan.plan()
    }

    /// Make a task that runs a function, ready to run.
    fn start(
        &mut self,
        function: u32,
        params: impl IntoIterator<Item = Value>,
        member_of: Option<(u32, u32)>,
        above: Option<RecordId>,
        forked_at: u32,
    ) -> u32 {
        let height = self.plan.height(function);
        let (at, locals) = match self.plan().functions.get(function as usize) {
            Some(function) => (function.start, function.locals as usize),
            None => (0, 0),
        };
        let birth = self.next_birth;
        self.next_birth += 1;
        let mut task = self.spare_tasks.pop().unwrap_or_default();
        task.stack.reserve_exact(locals + height);
        task.stack.extend(params);
        task.stack.resize(locals, Value::Null);
        task.frames.push(Frame {
            function,
            at,
            base: 0,
        });
        task.above = above;
        task.member_of = member_of;
        task.birth = birth;
        task.forked_at = forked_at;
        let id = match self.free_tasks.pop() {
            Some(id) => {
                self.tasks[id as usize] = Some(task);
                id
            }
            None => {
                self.tasks.push(Some(task));
                (self.tasks.len() - 1) as u32
            }
        };
        self.ready.push_back((id, birth));
        id
    }

    /// The tasks that are alive.
    fn alive(&self) -> usize {
        self.tasks.len() - self.free_tasks.len()
    }

    fn ticket(&mut self, waiter: Waiter) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.waiting.insert(ticket, waiter);
        Ticket(ticket)
    }

    /// End the run before it comes to its end: it fails, and so does what is open, as the polls
    /// that follow say.
    pub fn halt(&mut self, why: &str) {
        if self.finished.is_none() {
            let failure = Value::Failure(Rc::new(Failure {
                kind: FailureKind::Interrupted,
                message: why.into(),
                data: Value::Null,
                at: self.task(0).map_or(0, Task::at),
            }));
            self.stop(failure.clone(), &failure);
        }
    }

    /// Steps that were counted so far, and from how many on this machine counts: where one of
    /// several runs, they share a limit.
    pub fn counted(&self) -> u32 {
        self.steps
    }

    pub fn count_from(&mut self, steps: u32) {
        self.steps = steps;
    }

    /// Fuel that was used so far.
    pub fn used_fuel(&self) -> u64 {
        self.limits.fuel - self.fuel - self.reserve
    }

    /// Which instructions ran, by their bytes. For tests of how much of the list is reached.
    #[cfg(debug_assertions)]
    pub fn executed(&self) -> &[bool; 256] {
        &self.executed
    }
}

/// Why a task does not go on.
enum Exit {
    /// It waits for a reply, or for tasks of its own.
    Waits,
    /// Something is to be said first.
    Says,
    /// It goes on in the next slice.
    Rests,
    Note(Note),
    Call(Call),
    Returns,
    Stops(Value),
    /// The same, by a limit that no plan can set aside; the step that it has ended is to be told of.
    Exceeds(Note, Value),
    Fault(FaultKind),
}
