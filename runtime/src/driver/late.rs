//! Recipes whose names are known only when their step runs: found, and run by a machine of their own.

use super::Driver;
use super::history::Recall;
use super::machines::{Caller, Machines, worth};
use super::perform::Asked;
use super::told::answer;
use crate::reply::{self, Args};
use rrc_vm::fault::FailureKind;
use rrc_vm::isa::Status;
use rrc_vm::machine::{Finished, Ticket};
use rrc_vm::plan::{HostKind, NeedKind, Plan};
use rrc_vm::text::render;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// A recipe that was found: its plan, and the variables it starts with if nobody says otherwise.
pub struct Found {
    pub plan: Rc<Verified>,
    pub variables: Map,
}

/// Finds the recipe of a name. The number is that of the call: what was found once under a number is
/// to be found under it again.
pub type Find<'a> = dyn FnMut(&str, u64) -> Result<Found, String> + 'a;

impl Driver<'_> {
    /// Whether a call asks for a recipe that has to be found now; then that is done.
    pub(super) fn late(
        &mut self,
        machines: &mut Machines,
        which: u32,
        asked: Asked,
        args: Args,
    ) -> Option<(Asked, Args)> {
        let recorded = self.past.as_ref();
        let answered = recorded.is_some_and(|past| past.has_reply(asked.ticket));
        if asked.kind != Some(HostKind::Recipe) || answered || self.stopping.is_some() {
            return Some((asked, args));
        }
        // What a plan says of it may be any number.
        let inside = args.int("depth").unwrap_or(0).saturating_add(1);
        let depth = machines.depth(which).saturating_add(inside);
        let limit = machines.depth_limit();
        let found = match depth > limit {
            true => Err(format!(
                "recipes call each other deeper than the {limit} allowed"
            )),
            false => (self.find)(&render(args.get("name")), asked.ticket.0),
        };
        let found = match found {
            Ok(found) => found,
            // It was found then, or that it was not would be on record.
            Err(words) if self.past.as_ref().is_some_and(Recall::is_left) => {
                self.refused = Some(words);
                return None;
            }
            Err(words) => {
                // Written down like what comes from outside: whether it is found may change.
                self.fail(asked, reply::refusal(FailureKind::Message, words));
                return None;
            }
        };
        let mut variables = found.variables;
        let context = match args.get("context") {
            Value::Map(context) => Map::clone(context),
            _ => Map::default(),
        };
        for (name, value) in &context {
            variables.insert(name.clone(), value.clone());
        }
        self.learn_of(found.plan.plan(), &variables);
        let base = self.add_plan(Rc::clone(&found.plan));
        let caller = Caller {
            asked,
            context,
            runner: runner_names(&found.plan),
            sets: sets(&found.plan, &args.words("given").unwrap_or_default()),
            depth,
        };
        machines.add(found.plan, variables, base, Some(caller));
        None
    }

    /// What a recipe that was found calls secret is so from now on: what it is given, and what the
    /// environment calls by the same names.
    fn learn_of(&mut self, plan: &Plan, variables: &Map) {
        let needs = plan.needs.iter();
        let secret = needs.filter(|need| need.kind == NeedKind::Secret);
        for name in secret.filter_map(|need| plan.texts.get(need.name)) {
            self.secrets
                .learn(name, variables.get(name).unwrap_or(&Value::Null));
            if let Ok(value) = std::env::var(name) {
                self.secrets.learn(name, &Value::text(value));
            }
        }
    }

    /// The number of the plan's first step.
    pub(super) fn add_plan(&mut self, plan: Rc<Verified>) -> u32 {
        let base = self.next_step;
        // One that has no steps has a number all the same.
        let steps = u32::try_from(plan.plan().steps.len()).unwrap_or(u32::MAX / 2);
        self.next_step = self.next_step.saturating_add(steps.max(1));
        for need in &plan.plan().needs {
            self.need(plan.plan(), need, base);
        }
        self.known.insert(base, plan);
        base
    }

    /// A machine has come to its end: it is that of the run, or its call has an answer.
    pub(super) fn over(
        &mut self,
        machines: &mut Machines,
        which: u32,
        finished: Finished,
    ) -> Option<Finished> {
        let Some(caller) = machines.over(which) else {
            return Some(finished);
        };
        self.known.remove(&which);
        let value = match finished.outcome {
            Ok(failure @ Value::Failure(_)) => failure,
            Err(fault) => reply::refusal(FailureKind::Message, fault.to_string()),
            Ok(_) => worth(&finished, &caller),
        };
        // What is in it has been written down; this follows from it.
        answer(machines, caller.asked.ticket, value);
        None
    }

    /// Ends the machine that would answer a call that is not wanted any more.
    pub(super) fn cancel_late(&mut self, machines: &mut Machines, ticket: Ticket) {
        let Some((which, tickets, records)) = machines.end(ticket) else {
            return;
        };
        self.known.remove(&which);
        for ticket in tickets {
            self.cancel_late(machines, ticket);
            self.cancel_call(ticket);
        }
        for record in records {
            let result = reply::refusal(FailureKind::Cancelled, "it was ended from outside");
            self.ended(record.0, Status::Cancelled, result, false);
        }
    }
}

/// The names that only the runner gives.
fn runner_names(plan: &Verified) -> FxHashSet<Rc<str>> {
    let plan = plan.plan();
    let inputs = plan.inputs.iter().filter(|input| input.default.is_none());
    let names = inputs.filter_map(|input| plan.texts.get(input.name));
    names.map(Rc::from).collect()
}

/// The variables that the recipe of a plan says it sets, without those that are given.
fn sets(plan: &Verified, given: &[String]) -> FxHashSet<Rc<str>> {
    let plan = plan.plan();
    let outputs = plan.needs.iter();
    let outputs = outputs.filter(|need| need.kind == NeedKind::Output);
    let names = outputs.filter_map(|need| plan.texts.get(need.name));
    let own = names.filter(|name| !given.iter().any(|given| given == name));
    own.map(Rc::from).collect()
}
