//! Making a recorded run again: the machine is told what it was told, in the same order, and nothing
//! is done. Taking a run up again is this until the record ends, and then going on for real.

use super::approvals::Question;
use super::machines::Machines;
use super::perform::Asked;
use super::{Driver, Stop};
use crate::event::{RunStatus, What};
use crate::journal::{Begun, Finish, Past};
use crate::reply::Args;
use rrc_vm::machine::Ticket;
use rrc_vm::plan::HostKind;
use rrc_vm::value::Value;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

/// What happens when the record ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The run goes on for real.
    GoOn,
    /// Nothing: a record that ends before its run is incomplete.
    Stop,
}

/// A recorded run on its way through the machine.
pub(super) struct Recall {
    pub then: Then,
    replies: VecDeque<(u64, Value, u64)>,
    begun: FxHashMap<u64, Begun>,
    finish: Option<Finish>,
    blurred: bool,
    /// What was asked for and not answered yet.
    held: BTreeMap<u64, Held>,
    /// What is not wanted any more; a reply may still have come.
    dropped: FxHashSet<u64>,
    /// The time of the last reply, and of the last record.
    pub now_ms: u64,
    last_ms: u64,
}

enum Held {
    Call(Asked, Args),
    Timer(Asked, u64),
}

impl Recall {
    pub fn new(past: Past, then: Then) -> Recall {
        Recall {
            then,
            replies: past.replies.into(),
            begun: past.begun,
            finish: past.finish,
            blurred: past.blurred,
            held: BTreeMap::new(),
            dropped: FxHashSet::default(),
            now_ms: 0,
            last_ms: past.ms,
        }
    }

    pub fn timer(&mut self, ticket: Ticket, ms: u64) {
        self.held
            .insert(ticket.0, Held::Timer(Asked::timer(ticket), ms));
    }

    pub fn cancel(&mut self, ticket: Ticket) {
        self.held.remove(&ticket.0);
        self.dropped.insert(ticket.0);
    }

    pub fn has_reply(&self, ticket: Ticket) -> bool {
        self.replies.iter().any(|(known, ..)| *known == ticket.0)
    }

    /// Whether replies are left that somebody waits for.
    pub fn is_left(&self) -> bool {
        self.replies
            .iter()
            .any(|(ticket, ..)| !self.dropped.contains(ticket))
    }
}

impl Driver<'_> {
    /// A call while the record is gone through. It must be the one that was made then.
    pub(super) fn recall(&mut self, mut asked: Asked, args: Args) {
        self.note_start(&mut asked);
        let Some(past) = &self.past else { return };
        let ticket = asked.ticket.0;
        if let (Some(begun), Some(print)) = (past.begun.get(&ticket), asked.print) {
            let same = match past.blurred {
                true => begun.kind == print.kind.word(),
                false => begun.is(print),
            };
            if !same {
                let now = self.path(asked.record);
                let message = if now == begun.step {
                    format!("step `{now}` does not ask for what it asked for in the recorded run")
                } else {
                    let then = &begun.step;
                    format!("step `{now}` runs where step `{then}` ran in the recorded run")
                };
                self.refused = Some(message);
                return;
            }
        }
        if asked.kind == Some(HostKind::Approve) {
            let reply = past.replies.iter().find(|(known, ..)| *known == ticket);
            if let Some(approved) = reply.map(|(_, value, _)| !value.failed()) {
                let question = Question::new(asked, &args);
                self.say_approval(&question, None);
                self.say_approval(&question, Some(approved));
                asked = question.asked;
            }
        }
        if let Some(past) = &mut self.past {
            past.held.insert(ticket, Held::Call(asked, args));
        }
    }

    /// Gives the next recorded reply to the machine.
    pub(super) fn recall_next(&mut self, machine: &mut Machines) {
        let Some(past) = &mut self.past else { return };
        let Some((ticket, value, ms)) = past.replies.pop_front() else {
            return self.recalled();
        };
        past.now_ms = ms;
        match past.held.remove(&ticket) {
            Some(Held::Call(asked, _) | Held::Timer(asked, _)) => {
                self.learn(&asked, &value);
                self.settle(machine, &asked, value);
            }
            None if past.dropped.remove(&ticket) => {}
            None => {
                let begun = past.begun.get(&ticket);
                let step = begun.map_or("", |begun| begun.step.as_str());
                self.refused = Some(format!(
                    "step `{step}` ran here in the recorded run, and is not asked for now"
                ));
            }
        }
    }

    /// The record has ended, the run has not.
    fn recalled(&mut self) {
        let Some(past) = self.past.take() else { return };
        self.base_ms = past.last_ms;
        self.live = Instant::now();
        match past.then {
            Then::GoOn => self.go_on(past),
            Then::Stop => self.stop_as(past),
        }
    }

    fn go_on(&mut self, past: Recall) {
        let mut interrupted = Vec::new();
        for held in past.held.values() {
            let Held::Call(asked, args) = held else {
                continue;
            };
            let Some(begun) = past.begun.get(&asked.ticket.0) else {
                continue;
            };
            if !matches!(
                asked.kind,
                Some(HostKind::Exec | HostKind::Agent | HostKind::Hook)
            ) {
                continue;
            }
            let kept = asked
                .record
                .and_then(|record| self.open.get(&record))
                .is_some_and(|open| open.kept);
            if kept || matches!(args.get("once"), Value::Bool(true)) {
                self.refused = Some(format!(
                    "step `{}` is marked `once` and was interrupted: it may have done its work",
                    begun.step
                ));
                return;
            }
            interrupted.extend(self.step(asked.record));
        }
        for step in interrupted {
            self.say(Some(step), None, What::StepInterrupted);
        }
        for held in past.held.into_values() {
            match held {
                Held::Call(mut asked, args) => {
                    let begun = past.begun.get(&asked.ticket.0);
                    asked.since = begun.and_then(|begun| begun.since);
                    self.perform(asked, &args);
                }
                Held::Timer(asked, ms) => self.set_timer(asked, ms),
            }
        }
    }

    /// Ends as the recorded run was ended from outside.
    fn stop_as(&mut self, past: Recall) {
        let status = match past.finish.as_ref().map(|finish| finish.status.as_str()) {
            Some("paused") => RunStatus::Paused,
            Some("cancelled") => RunStatus::Cancelled,
            _ => {
                let first = past.held.values().find_map(|held| match held {
                    Held::Call(asked, _) => self.step(asked.record),
                    Held::Timer(..) => None,
                });
                let step = first.as_ref().map_or("", |step| step.path.as_str());
                self.refused = Some(format!(
                    "replay incomplete: the record ends while step `{step}` runs"
                ));
                return;
            }
        };
        self.stopping = Some(Stop::Recorded(status));
        for held in past.held.into_values() {
            let Held::Call(asked, args) = held else {
                continue;
            };
            if asked.kind == Some(HostKind::Approve) {
                let question = Question::new(asked, &args);
                self.say_approval(&question, None);
                if status == RunStatus::Paused && !matches!(self.stopping, Some(Stop::Pause(_))) {
                    self.stopping = Some(Stop::Pause(question.stage));
                }
            } else if !past.begun.contains_key(&asked.ticket.0) {
                self.unbegun(&asked);
            }
        }
    }
}
