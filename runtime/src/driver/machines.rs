//! The machines of a run: that of its plan, and one for each recipe that was found on the way.
//!
//! Each numbers its tickets, records and steps for itself. Here they become numbers of the run:
//! records and steps in the order in which they come up, tickets by where they stand, so that a
//! recorded reply finds its call whatever ran beside it.

use super::perform::Asked;
use super::spot::Spot;
use rrc_vm::machine::{Finished, Machine, Note, Poll, RecordId, Ticket};
use rrc_vm::plan::Limits;
use rrc_vm::text::json_text;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Fuel for which a machine runs before anybody else is looked at: a few hundredths of a second.
const SLICE: u64 = 4_000_000;

pub(super) struct Machines {
    /// Those that have not come to their end, by the numbers of their first steps.
    all: BTreeMap<u32, One>,
    /// The machine that goes on.
    at: u32,
    /// Whose ticket each is that is not answered, and what it is there; and the way back.
    asked: FxHashMap<u64, (u32, Ticket)>,
    known: FxHashMap<(u32, u64), Ticket>,
    /// Where the run stands outside of all steps, and where its open records do.
    outside: Spot,
    spots: FxHashMap<RecordId, Spot>,
    /// The open records of machines as those of the run.
    records: FxHashMap<(u32, u32), RecordId>,
    next_record: u32,
    /// How deep recipes may call each other, how many steps may run, and how many have.
    depth_limit: i64,
    step_limit: u32,
    steps: u32,
    halted: bool,
}

struct One {
    machine: Machine,
    caller: Option<Caller>,
}

/// The call that a machine answers with its end.
pub(super) struct Caller {
    pub asked: Asked,
    /// The variables that were passed in.
    pub context: Map,
    /// Those that only the runner gives: they are not its own.
    pub runner: FxHashSet<Rc<str>>,
    /// Those that it sets itself and the call does not give: they are its own, though the caller
    /// may have had them before.
    pub sets: FxHashSet<Rc<str>>,
    pub depth: i64,
}

impl Machines {
    pub fn new(plan: Rc<Verified>, variables: Map) -> Machines {
        let mut machines = Machines {
            all: BTreeMap::new(),
            at: 0,
            asked: FxHashMap::default(),
            known: FxHashMap::default(),
            outside: Spot::default(),
            spots: FxHashMap::default(),
            records: FxHashMap::default(),
            next_record: 0,
            depth_limit: i64::from(plan.plan().limits.depth),
            step_limit: plan.plan().limits.steps,
            steps: 0,
            halted: false,
        };
        machines.add(plan, variables, 0, None);
        machines
    }

    /// One more machine; the steps of its plan have numbers from `base` on. The first plan says how
    /// many steps may run.
    pub fn add(&mut self, plan: Rc<Verified>, variables: Map, base: u32, caller: Option<Caller>) {
        let limits = Limits {
            steps: self.step_limit,
            ..plan.plan().limits
        };
        let machine = Machine::new(plan, variables, limits);
        self.all.insert(base, One { machine, caller });
        self.at = base;
    }

    pub fn depth_limit(&self) -> i64 {
        self.depth_limit
    }

    /// How deep recipes have called each other where this machine runs.
    pub fn depth(&self, which: u32) -> i64 {
        let caller = self.all.get(&which).and_then(|one| one.caller.as_ref());
        caller.map_or(0, |caller| caller.depth)
    }

    /// What a machine asks for or says, and which it is; all wait for replies if it is idle. None
    /// if one has had its slice and there is more to do.
    pub fn poll(&mut self) -> Option<(u32, Poll)> {
        // What is open inside of a step ends before the step: it was called later.
        if self.halted {
            self.at = self.all.last_key_value().map_or(0, |(last, _)| *last);
        }
        for _ in 0..self.all.len() {
            let first_from = |at: u32| self.all.range(at..).next().map(|(which, _)| *which);
            let which = first_from(self.at).or_else(|| first_from(0))?;
            let machine = &mut self.all.get_mut(&which)?.machine;
            machine.count_from(self.steps);
            let poll = machine.poll_within(SLICE);
            self.steps = machine.counted();
            let poll = poll?;
            if !matches!(poll, Poll::Idle) {
                self.at = which;
                return Some((which, self.translated(which, poll)));
            }
            self.at = which + 1;
        }
        Some((0, Poll::Idle))
    }

    /// Ends all of them where they are.
    pub fn halt(&mut self, why: &str) {
        self.halted = true;
        for one in self.all.values_mut() {
            one.machine.halt(why);
        }
    }

    fn translated(&mut self, which: u32, poll: Poll) -> Poll {
        match poll {
            Poll::Call(mut call) => {
                call.record = self.record(which, call.record);
                call.ticket = self.ticket(which, call.ticket, call.record);
                Poll::Call(call)
            }
            Poll::Timer { ticket, ms, record } => {
                let record = self.record(which, record);
                let ticket = self.ticket(which, ticket, record);
                Poll::Timer { ticket, ms, record }
            }
            Poll::Cancel { ticket } => Poll::Cancel {
                ticket: self.cancelled(which, ticket),
            },
            Poll::Note(note) => Poll::Note(self.note(which, note)),
            Poll::Idle => Poll::Idle,
            Poll::Done(finished) => Poll::Done(finished),
        }
    }

    fn spot(&mut self, record: Option<RecordId>) -> &mut Spot {
        let known = record.and_then(|record| self.spots.get_mut(&record));
        known.unwrap_or(&mut self.outside)
    }

    fn ticket(&mut self, which: u32, ticket: Ticket, record: Option<RecordId>) -> Ticket {
        let new = Ticket(self.spot(record).ask());
        self.asked.insert(new.0, (which, ticket));
        self.known.insert((which, ticket.0), new);
        new
    }

    /// A reply to it that still comes finds nobody here.
    fn cancelled(&mut self, which: u32, ticket: Ticket) -> Ticket {
        if let Some(one) = self.all.get_mut(&which) {
            one.machine.forget(ticket);
        }
        let known = self.known.remove(&(which, ticket.0));
        let known = known.unwrap_or(Ticket(u64::MAX));
        self.asked.remove(&known.0);
        known
    }

    /// A record of the machine as one of the run; outside of all its steps it stands in that which
    /// has called it.
    fn record(&self, which: u32, record: Option<RecordId>) -> Option<RecordId> {
        match record {
            Some(record) => self.records.get(&(which, record.0)).copied(),
            None => {
                let caller = self.all.get(&which).and_then(|one| one.caller.as_ref());
                caller.and_then(|caller| caller.asked.record.map(RecordId))
            }
        }
    }

    fn own(&self, which: u32, record: RecordId) -> RecordId {
        let known = self.records.get(&(which, record.0)).copied();
        known.unwrap_or(RecordId(u32::MAX))
    }

    fn note(&mut self, which: u32, note: Note) -> Note {
        match note {
            Note::Begin {
                record,
                parent,
                step,
                iteration,
            } => {
                let parent = self.record(which, parent);
                let new = RecordId(self.next_record);
                self.next_record = self.next_record.wrapping_add(1);
                self.records.insert((which, record.0), new);
                let spot = self.spot(parent).begin(step, iteration);
                self.spots.insert(new, spot);
                Note::Begin {
                    record: new,
                    parent,
                    step: which + step,
                    iteration,
                }
            }
            Note::Skip { step, parent } => Note::Skip {
                step: which + step,
                parent: self.record(which, parent),
            },
            Note::Attempt { record, number } => Note::Attempt {
                record: self.own(which, record),
                number,
            },
            Note::Output { record, value } => Note::Output {
                record: self.own(which, record),
                value,
            },
            Note::Secret { name, value } => Note::Secret { name, value },
            Note::Warn { record, text } => Note::Warn {
                record: self.record(which, record),
                text,
            },
            Note::End {
                record,
                status,
                value,
                forgiven,
            } => {
                let ended = self.own(which, record);
                self.records.remove(&(which, record.0));
                self.spots.remove(&ended);
                Note::End {
                    record: ended,
                    status,
                    value,
                    forgiven,
                }
            }
        }
    }

    /// Gives a reply to whoever asked; whether it was taken. One that nobody wants any more is.
    pub fn resume(&mut self, ticket: Ticket, value: Value) -> bool {
        let Some((which, own)) = self.asked.get(&ticket.0).copied() else {
            return true;
        };
        let Some(one) = self.all.get_mut(&which) else {
            return true;
        };
        self.at = which;
        let taken = one.machine.resume(own, value).is_ok();
        if taken {
            self.asked.remove(&ticket.0);
            self.known.remove(&(which, own.0));
        }
        taken
    }

    /// The first machine is over, or the call that another one answers.
    pub fn over(&mut self, which: u32) -> Option<Caller> {
        self.all.remove(&which)?.caller
    }

    /// Ends the machine that would answer a call: which it is, the tickets it waits for, and its open
    /// records, the innermost first.
    pub fn end(&mut self, ticket: Ticket) -> Option<(u32, Vec<Ticket>, Vec<RecordId>)> {
        let answers = |(_, one): &(&u32, &One)| {
            let caller = one.caller.as_ref();
            caller.is_some_and(|caller| caller.asked.ticket == ticket)
        };
        let which = self.all.iter().find(answers).map(|(which, _)| *which)?;
        self.all.remove(&which);
        let mut tickets: Vec<(u64, Ticket)> = Vec::new();
        self.known.retain(|(whose, own), ticket| {
            if *whose == which {
                tickets.push((*own, *ticket));
            }
            *whose != which
        });
        tickets.sort_unstable_by_key(|(own, _)| *own);
        let tickets: Vec<Ticket> = tickets.into_iter().map(|(_, ticket)| ticket).collect();
        for ticket in &tickets {
            self.asked.remove(&ticket.0);
        }
        let mut records: Vec<RecordId> = Vec::new();
        self.records.retain(|(whose, _), record| {
            if *whose == which {
                records.push(*record);
            }
            *whose != which
        });
        records.sort_unstable_by_key(|record| std::cmp::Reverse(record.0));
        for record in &records {
            self.spots.remove(record);
        }
        Some((which, tickets, records))
    }
}

/// What a recipe that has ended is worth to its caller: its variables, those it set itself, and those
/// that are not as they were passed in.
pub(super) fn worth(finished: &Finished, caller: &Caller) -> Value {
    let only = |is: &dyn Fn(&Rc<str>, &Value) -> bool| -> Value {
        let all = finished.variables.iter();
        let some = all.filter(|(name, value)| is(name, value));
        Value::map(
            some.map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    };
    let passed = |name: &Rc<str>| caller.context.get(name);
    let is_new = |name: &Rc<str>| passed(name).is_none() && !caller.runner.contains(name);
    let own = only(&|name, _| is_new(name) || caller.sets.contains(name));
    let changed = only(&|name, value| match passed(name) {
        Some(before) => json_text(before) != json_text(value),
        None => is_new(name),
    });
    let variables = only(&|name, _| passed(name).is_some() || is_new(name));
    let mut reply = Map::default();
    reply.insert(Rc::from("stdout"), own);
    reply.insert(Rc::from("changed"), changed);
    reply.insert(Rc::from("variables"), variables);
    Value::map(reply)
}
