//! The machines of a run: that of its plan, and one for each recipe that was found on the way.
//!
//! Each numbers its tickets, records and steps for itself. Here they become numbers of the run, in the
//! order in which they come up; with the same replies that is the same order again.

use super::perform::Asked;
use rrc_vm::machine::{Finished, Machine, Note, Poll, RecordId, Ticket};
use rrc_vm::text::json_text;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Fuel for which a machine runs before anybody else is looked at: a few hundredths of a second.
const SLICE: u64 = 4_000_000;

pub(super) struct Machines {
    all: Vec<One>,
    /// The machine that goes on.
    at: usize,
    /// Whose ticket it is, and what it is there.
    tickets: Vec<(usize, Ticket)>,
    known: FxHashMap<(usize, u64), Ticket>,
    records: FxHashMap<(usize, u32), RecordId>,
    next_record: u32,
    halted: bool,
}

struct One {
    machine: Machine,
    /// The number of its first step.
    base: u32,
    caller: Option<Caller>,
    over: bool,
}

/// The call that a machine answers with its end.
pub(super) struct Caller {
    pub asked: Asked,
    /// The variables that were passed in, and those that only the runner gives.
    pub passed: FxHashSet<Rc<str>>,
    pub context: Map,
    pub depth: i64,
}

impl Machines {
    pub fn new(plan: Rc<Verified>, variables: Map) -> Machines {
        let mut machines = Machines {
            all: Vec::new(),
            at: 0,
            tickets: Vec::new(),
            known: FxHashMap::default(),
            records: FxHashMap::default(),
            next_record: 0,
            halted: false,
        };
        machines.add(plan, variables, 0, None);
        machines
    }

    /// One more machine; the steps of its plan are counted from `base`.
    pub fn add(&mut self, plan: Rc<Verified>, variables: Map, base: u32, caller: Option<Caller>) {
        let limits = plan.plan().limits;
        self.all.push(One {
            machine: Machine::new(plan, variables, limits),
            base,
            caller,
            over: false,
        });
        self.at = self.all.len() - 1;
    }

    /// How deep recipes have called each other where this machine runs.
    pub fn depth(&self, which: usize) -> i64 {
        let caller = self.all.get(which).and_then(|one| one.caller.as_ref());
        caller.map_or(0, |caller| caller.depth)
    }

    /// What a machine asks for or says, and which it is; all wait for replies if it is idle. None
    /// if one has had its slice and there is more to do.
    pub fn poll(&mut self) -> Option<(usize, Poll)> {
        // What is open inside of a step ends before the step: it was called later.
        if self.halted {
            let last = self.all.iter().rposition(|one| !one.over);
            self.at = last.unwrap_or_default();
        }
        for _ in 0..self.all.len() {
            let which = self.at;
            let one = &mut self.all[which];
            let poll = match one.over {
                true => Poll::Idle,
                false => one.machine.poll_within(SLICE)?,
            };
            if !matches!(poll, Poll::Idle) {
                return Some((which, self.translated(which, poll)));
            }
            self.at = (self.at + 1) % self.all.len();
        }
        Some((0, Poll::Idle))
    }

    /// Ends all of them where they are.
    pub fn halt(&mut self, why: &str) {
        self.halted = true;
        for one in self.all.iter_mut().filter(|one| !one.over) {
            one.machine.halt(why);
        }
    }

    fn translated(&mut self, which: usize, poll: Poll) -> Poll {
        match poll {
            Poll::Call(mut call) => {
                call.ticket = self.ticket(which, call.ticket);
                call.record = self.record(which, call.record);
                Poll::Call(call)
            }
            Poll::Timer { ticket, ms } => Poll::Timer {
                ticket: self.ticket(which, ticket),
                ms,
            },
            Poll::Cancel { ticket } => Poll::Cancel {
                ticket: self.ticket(which, ticket),
            },
            Poll::Note(note) => Poll::Note(self.note(which, note)),
            Poll::Idle => Poll::Idle,
            Poll::Done(finished) => Poll::Done(finished),
        }
    }

    fn ticket(&mut self, which: usize, ticket: Ticket) -> Ticket {
        *self.known.entry((which, ticket.0)).or_insert_with(|| {
            self.tickets.push((which, ticket));
            Ticket(self.tickets.len() as u64 - 1)
        })
    }

    /// A record of the machine as one of the run; outside of all its steps it stands in that which
    /// has called it.
    fn record(&self, which: usize, record: Option<RecordId>) -> Option<RecordId> {
        match record {
            Some(record) => self.records.get(&(which, record.0)).copied(),
            None => {
                let caller = self.all[which].caller.as_ref();
                caller.and_then(|caller| caller.asked.record.map(RecordId))
            }
        }
    }

    fn own(&self, which: usize, record: RecordId) -> RecordId {
        let known = self.records.get(&(which, record.0)).copied();
        known.unwrap_or(RecordId(u32::MAX))
    }

    fn note(&mut self, which: usize, note: Note) -> Note {
        let base = self.all[which].base;
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
                Note::Begin {
                    record: new,
                    parent,
                    step: base + step,
                    iteration,
                }
            }
            Note::Skip { step, parent } => Note::Skip {
                step: base + step,
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
            Note::Warn { record, text } => Note::Warn {
                record: self.record(which, record),
                text,
            },
            Note::End {
                record,
                status,
                value,
            } => {
                let ended = self.own(which, record);
                self.records.remove(&(which, record.0));
                Note::End {
                    record: ended,
                    status,
                    value,
                }
            }
        }
    }

    /// Gives a reply to whoever asked; whether it was taken. One that nobody wants any more is.
    pub fn resume(&mut self, ticket: Ticket, value: Value) -> bool {
        let Some((which, own)) = self.tickets.get(ticket.0 as usize).copied() else {
            return true;
        };
        self.known.remove(&(which, own.0));
        let one = &mut self.all[which];
        self.at = which;
        one.over || one.machine.resume(own, value).is_ok()
    }

    /// The first machine is over, or the call that another one answers.
    pub fn over(&mut self, which: usize) -> Option<Caller> {
        let one = self.all.get_mut(which)?;
        one.over = true;
        one.caller.take()
    }

    /// Ends the machine that would answer a call: the tickets it waits for, and its open records,
    /// the innermost first.
    pub fn end(&mut self, ticket: Ticket) -> Option<(Vec<Ticket>, Vec<RecordId>)> {
        let answers = |one: &One| {
            let caller = one.caller.as_ref();
            caller.is_some_and(|caller| caller.asked.ticket == ticket)
        };
        let which = self.all.iter().position(answers)?;
        self.over(which);
        let mut tickets: Vec<Ticket> = Vec::new();
        self.known.retain(|(whose, _), ticket| {
            if *whose == which {
                tickets.push(*ticket);
            }
            *whose != which
        });
        tickets.sort_unstable_by_key(|ticket| ticket.0);
        let mut records: Vec<RecordId> = Vec::new();
        self.records.retain(|(whose, _), record| {
            if *whose == which {
                records.push(*record);
            }
            *whose != which
        });
        records.sort_unstable_by_key(|record| std::cmp::Reverse(record.0));
        Some((tickets, records))
    }
}

/// What a recipe that has ended is worth to its caller: its variables, those it set itself, and those
/// that are not as they were passed in.
pub(super) fn worth(finished: Finished, caller: &Caller) -> Value {
    let only = |is: &dyn Fn(&Rc<str>, &Value) -> bool| -> Value {
        let all = finished.variables.iter();
        let some = all.filter(|(name, value)| is(name, value));
        Value::map(
            some.map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
        )
    };
    let own = only(&|name, _| !caller.passed.contains(name));
    let changed = only(&|name, value| {
        let before = caller.context.get(name);
        before.is_none_or(|before| json_text(before) != json_text(value))
    });
    let mut reply = Map::default();
    reply.insert(Rc::from("stdout"), own);
    reply.insert(Rc::from("changed"), changed);
    reply.insert(Rc::from("variables"), Value::Map(finished.variables));
    Value::map(reply)
}
