//! Making a recorded run again: the machine is told what it was told, in the same order, and nothing
//! is done. Taking a run up again is this until the record ends, and then going on for real.
//!
//! A run that failed is taken up without the replies it failed by. The others are told in their
//! order, each as soon as it is asked for; one that is asked for only after something was done again
//! is kept until then.

use super::approvals::Question;
use super::machines::Machines;
use super::perform::Asked;
use super::{Driver, Stop};
use crate::event::{RunStatus, What};
use crate::journal::{Begun, Finish, Past};
use crate::process::Signal;
use crate::reply::Args;
use rrc_vm::fault::FailureKind;
use rrc_vm::machine::{Poll, Ticket};
use rrc_vm::plan::HostKind;
use rrc_vm::value::{Map, Value};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
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
    /// By their position in the record.
    replies: BTreeMap<usize, (u64, Value, u64)>,
    positions: FxHashMap<u64, usize>,
    /// The positions of those that somebody waits for.
    wanted: BTreeSet<usize>,
    in_order: bool,
    begun: FxHashMap<u64, Begun>,
    cut: FxHashMap<u64, Value>,
    finish: Option<Finish>,
    blurred: bool,
    /// What was asked for and not answered yet, and as which it was asked for.
    held: FxHashMap<u64, (usize, Held)>,
    asked: usize,
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
        let tickets = past.replies.iter().map(|(ticket, ..)| *ticket);
        Recall {
            then,
            positions: tickets.zip(0..).collect(),
            replies: past.replies.into_iter().enumerate().collect(),
            wanted: BTreeSet::new(),
            in_order: past.in_order,
            begun: past.begun,
            cut: past.cut,
            finish: past.finish,
            blurred: past.blurred,
            held: FxHashMap::default(),
            asked: 0,
            now_ms: 0,
            last_ms: past.ms,
        }
    }

    pub fn timer(&mut self, asked: Asked, ms: u64) {
        self.hold(asked.ticket, Held::Timer(asked, ms));
    }

    fn hold(&mut self, ticket: Ticket, held: Held) {
        self.held.insert(ticket.0, (self.asked, held));
        self.asked += 1;
        self.wanted.extend(self.positions.get(&ticket.0));
    }

    /// It is not wanted any more; a reply may still have come. What is known of it if it was ended then.
    pub fn cancel(&mut self, ticket: Ticket) -> Option<(Asked, Value)> {
        let held = self.held.remove(&ticket.0);
        if let Some(position) = self.positions.remove(&ticket.0) {
            self.wanted.remove(&position);
            self.replies.remove(&position);
        }
        match held {
            Some((_, Held::Call(asked, _))) => Some((asked, self.cut.remove(&ticket.0)?)),
            Some((_, Held::Timer(..))) | None => None,
        }
    }

    fn reply(&self, ticket: u64) -> Option<&Value> {
        let position = self.positions.get(&ticket)?;
        self.replies.get(position).map(|(_, value, _)| value)
    }

    pub fn has_reply(&self, ticket: Ticket) -> bool {
        self.reply(ticket.0).is_some()
    }

    /// The next reply: without those that were taken back, some are wanted later than they were.
    fn next(&mut self) -> Option<(u64, Value, u64)> {
        let position = match self.in_order {
            true => *self.replies.first_key_value()?.0,
            false => *self.wanted.first()?,
        };
        self.wanted.remove(&position);
        let reply = self.replies.remove(&position)?;
        self.positions.remove(&reply.0);
        Some(reply)
    }

    /// Whether replies are left that the run must have asked for.
    pub fn is_left(&self) -> bool {
        self.in_order && !self.replies.is_empty()
    }

    /// What the recorded run was stopped by, if it is to be shown as it was.
    pub fn stopped(&self) -> Option<Stop> {
        let finish = self.finish.as_ref().filter(|_| self.then == Then::Stop)?;
        if let Some(signal) = finish.signal.as_deref().and_then(Signal::of) {
            return Some(Stop::Signal(signal));
        }
        let status = RunStatus::of(&finish.status)?;
        Some(Stop::Recorded(status, finish.stopped.clone()?))
    }

    /// What was asked for and not answered, in that order.
    fn into_held(held: FxHashMap<u64, (usize, Held)>) -> Vec<Held> {
        let mut held: Vec<(usize, Held)> = held.into_values().collect();
        held.sort_unstable_by_key(|(asked, _)| *asked);
        held.into_iter().map(|(_, held)| held).collect()
    }
}

/// Replies that were recorded to what is asked for again only now, as something before it in the
/// way had to be done again first.
#[derive(Default)]
pub(super) struct Kept(FxHashMap<u64, (Value, Option<Begun>)>);

/// What is known of a call that is asked for only now.
pub(super) enum Again {
    /// Nothing: it is to be made.
    Call,
    Reply(Value),
    /// It was made, and is another one now, for this reason; it must not be made twice.
    Refused(String),
}

impl Kept {
    /// The reply to this. What was done again before it may have given something else, as the first of
    /// two commands that hand bytes to each other does: then it is another call.
    pub fn take(&mut self, asked: &Asked, once: bool) -> Again {
        let Some((value, begun)) = self.0.remove(&asked.ticket.0) else {
            return Again::Call;
        };
        let (Some(begun), Some(print)) = (begun, asked.print) else {
            return Again::Reply(value);
        };
        let step = &begun.step;
        if begun.is(print) {
            Again::Reply(value)
        } else if once {
            Again::Refused(format!(
                "step `{step}` is marked `once` and has done its work, and asks for something else now"
            ))
        } else if begun.hidden != print.hidden {
            Again::Refused(format!(
                "step `{step}` is done, and whether it asks for something else now depends on secrets"
            ))
        } else {
            Again::Call
        }
    }
}

impl Driver<'_> {
    /// A call while the record is gone through. It must be the one that was made then.
    pub(super) fn recall(&mut self, mut asked: Asked, args: Args) {
        self.note_start(&mut asked);
        let Some(past) = &self.past else { return };
        let ticket = asked.ticket.0;
        if let (Some(begun), Some(print)) = (past.begun.get(&ticket), asked.print) {
            // A run that goes on has its own recipe, and was told what it was told then, but for what was
            // hidden: nothing else makes a difference, and what is done is done.
            let other = past.then == Then::GoOn && !self.secrets.names().is_empty();
            let step = self.step_of(&asked);
            let now = step.as_ref().map_or("", |step| step.path.as_str());
            let same = match past.blurred || other {
                true => begun.kind == print.kind.word() && begun.step == now,
                false => begun.is(print),
            };
            if !same {
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
        if asked.kind == Some(HostKind::Approve)
            && let Some(approved) = past.reply(ticket).map(|value| !value.failed())
        {
            asked = self.say_answered(asked, &args, approved);
        }
        if let Some(past) = &mut self.past {
            past.hold(asked.ticket, Held::Call(asked, args));
        }
    }

    /// Whether nothing of a call must be done twice.
    pub(super) fn is_once(&self, asked: &Asked, args: &Args) -> bool {
        let around = asked.record.and_then(|record| self.open.get(&record));
        around.is_some_and(|open| open.kept) || args.is_set("once")
    }

    /// A call that was answered before the run was taken up again.
    pub(super) fn answer_kept(&mut self, mut asked: Asked, args: &Args, value: Value) {
        self.note_start(&mut asked);
        if asked.kind == Some(HostKind::Approve) {
            asked = self.say_answered(asked, args, !value.failed());
        }
        self.was_asked(&asked, args, &value);
        self.reply(asked, value);
    }

    fn say_answered(&mut self, asked: Asked, args: &Args, approved: bool) -> Asked {
        let question = Question::new(asked, args);
        self.say_approval(&question, None);
        self.say_approval(&question, Some(approved));
        question.asked
    }

    /// Gives the next recorded reply to the machine.
    pub(super) fn recall_next(&mut self, machine: &mut Machines) {
        let Some(past) = &mut self.past else { return };
        let Some((ticket, value, ms)) = past.next() else {
            return self.recalled();
        };
        past.now_ms = ms;
        match past.held.remove(&ticket) {
            Some(_)
                if let Value::Failure(failure) = &value
                    && failure.kind == FailureKind::Denied =>
            {
                let words = failure.message.to_string();
                self.stopping.get_or_insert(Stop::Denied(words));
            }
            Some((_, held)) => {
                let (asked, args) = match held {
                    Held::Call(asked, args) => (asked, Some(args)),
                    Held::Timer(asked, _) => (asked, None),
                };
                if let Some(args) = args {
                    self.was_asked(&asked, &args, &value);
                }
                self.learn(&asked, &value);
                self.settle(machine, &asked, value);
            }
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
        let held = Recall::into_held(past.held);
        let mut interrupted = Vec::new();
        for held in &held {
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
            if self.is_once(asked, args) {
                self.refused = Some(format!(
                    "step `{}` is marked `once` and was interrupted: it may have done its work",
                    begun.step
                ));
                return;
            }
            // Of a step that has ended, only the hook is made up for.
            interrupted.extend(self.step(asked.record).filter(|_| asked.after.is_none()));
        }
        for step in interrupted {
            self.say(Some(step), None, What::StepInterrupted);
        }
        let left = past.replies.into_values();
        self.kept.0 = left
            .map(|(ticket, value, _)| (ticket, (value, past.begun.get(&ticket).cloned())))
            .collect();
        for held in held {
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
        let stopped = past.stopped();
        let held = Recall::into_held(past.held);
        let Some(stopped) = stopped else {
            let first = held.iter().find_map(|held| match held {
                Held::Call(asked, _) => self.step(asked.record),
                Held::Timer(..) => None,
            });
            let step = first.as_ref().map_or("", |step| step.path.as_str());
            self.refused = Some(format!(
                "replay incomplete: the record ends while step `{step}` runs"
            ));
            return;
        };
        self.stopping.get_or_insert(stopped);
        for held in held {
            let Held::Call(asked, args) = held else {
                continue;
            };
            if asked.kind == Some(HostKind::Approve) && past.begun.contains_key(&asked.ticket.0) {
                let question = Question::new(asked, &args);
                self.say_approval(&question, None);
                self.pause([question]);
            } else if let Some(value) = past.cut.get(&asked.ticket.0) {
                self.cut_off(&asked, value);
            } else if !past.begun.contains_key(&asked.ticket.0) {
                self.unbegun(&asked);
            }
        }
    }

    /// A run that cannot be made again, or must not be, is left where that was seen: what is open in it
    /// has its end all the same. What its variables are there, if it was not over.
    pub(super) fn end_refused(&mut self, machines: &mut Machines) -> Option<Rc<Map>> {
        let words = self.refused.clone()?;
        machines.halt(&words);
        while let Some((which, poll)) = machines.poll() {
            match poll {
                Poll::Note(note) => self.note(note),
                Poll::Done(finished) => {
                    if let Some(finished) = self.over(machines, which, finished) {
                        return Some(finished.variables);
                    }
                }
                Poll::Idle => return None,
                Poll::Call(_) | Poll::Timer { .. } | Poll::Cancel { .. } => {}
            }
        }
        None
    }
}
