//! Code for what runs other steps: loops, and steps side by side.

use super::Emitter;
use super::builder::{Label, Writer};
use super::expr::{self, DEPTH, SCOPE, truth_of};
use super::step::{Exits, Opening};
use crate::ir::{Action, Bind, Call, Each, Guard, Node, Program, Step, While};
use rrc_vm::isa::{Instr, Kind, Status};

impl Emitter<'_> {
    /// Stack before: the open step; after: the open step and null.
    pub fn each(
        &mut self,
        w: &mut Writer,
        each: &Each,
        number: u32,
        value: Option<u8>,
        failed: Label,
        exits: Exits,
    ) {
        let items = w.local();
        expr::expr(w, &mut self.tables, &each.over);
        w.push(Instr::ListOr { to: w.to(failed) });
        w.push(Instr::Store { local: items });
        let fits = w.label();
        self.int(w, u64::from(each.limit));
        w.push(Instr::Load { local: items });
        w.push(Instr::Length {});
        w.push(Instr::Less {});
        w.push(Instr::Not {});
        w.push(Instr::JumpIf { to: w.to(fits) });
        let message = format!("the list has more items than the {} allowed", each.limit);
        w.push(Instr::Fail {
            message: self.tables.text(&message),
        });
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(fits);
        let all = w.local();
        w.push(Instr::EmptyList {});
        w.push(Instr::Store { local: all });
        let (last, at) = (w.local(), w.local());
        w.push(Instr::Null {});
        w.push(Instr::Store { local: last });
        w.push(Instr::Int { value: 0 });
        w.push(Instr::Store { local: at });
        let run = Run {
            items,
            all,
            last,
            at,
            number,
        };
        match each.width {
            None => self.each_in_turn(w, each, run, failed, exits),
            Some(width) => self.each_at_once(w, each, width, run, failed),
        }
        self.collected(w, each.collect.as_ref(), each.last.as_ref(), run, value);
        for local in [items, all, last, at] {
            w.free(local);
        }
    }

    fn each_in_turn(&mut self, w: &mut Writer, each: &Each, run: Run, failed: Label, exits: Exits) {
        let item = self.tables.text(&each.item.name);
        let shadow = self.shadow(w, item);
        let (again, wrong, ended, done) = (w.label(), w.label(), w.label(), w.label());
        w.bind(again);
        w.push(Instr::Next {
            list: run.items,
            at: run.at,
            to: w.to(done),
        });
        w.push(Instr::SetVar {
            scope: SCOPE,
            name: item,
        });
        w.push(Instr::Null {});
        w.push(Instr::Store { local: run.last });
        let opening = Opening::Iteration {
            number: run.at,
            step: run.number,
        };
        self.step(
            w,
            &each.body,
            opening,
            Some(run.last),
            Exits {
                failed: wrong,
                ended,
            },
        );
        if each.collect.is_some() {
            w.push(Instr::Load { local: run.last });
            w.push(Instr::Append { list: run.all });
        }
        self.until(w, each.until.as_ref(), wrong, done);
        if each.pause_ms > 0 {
            w.push(Instr::Load { local: run.at });
            w.push(Instr::Load { local: run.items });
            w.push(Instr::Length {});
            w.push(Instr::Less {});
            w.push(Instr::JumpUnless { to: w.to(again) });
            self.int(w, each.pause_ms);
            self.sleep(w, run.number);
            w.push(Instr::JumpFailed { to: w.to(wrong) });
            w.push(Instr::Pop {});
        }
        w.push(Instr::Jump { to: w.to(again) });

        w.bind(wrong);
        let failure = w.local();
        w.push(Instr::Store { local: failure });
        self.unshadow(w, item, shadow);
        w.push(Instr::Take { local: failure });
        w.free(failure);
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(ended);
        self.unshadow(w, item, shadow);
        self.end_early(w, exits);
        w.bind(done);
        self.unshadow(w, item, shadow);
        w.free(shadow.0);
        w.free(shadow.1);
    }

    /// Each iteration is a task with variables of its own; all of them end before the loop does.
    fn each_at_once(&mut self, w: &mut Writer, each: &Each, width: u32, run: Run, failed: Label) {
        let name = format!("{}[]", each.body.id);
        let body = self.task(
            &name,
            &[Kind::Map, Kind::Int, Kind::Int],
            |emitter, w, exits| {
                let value = w.local();
                w.push(Instr::Null {});
                w.push(Instr::Store { local: value });
                let opening = Opening::Iteration {
                    number: 2,
                    step: run.number,
                };
                emitter.step(w, &each.body, opening, Some(value), exits);
                w.push(Instr::Take { local: value });
                w.push(Instr::Return {});
            },
        );
        let item = self.tables.text(&each.item.name);
        let (again, start, all_started) = (w.label(), w.label(), w.label());
        let held = w.local();
        w.push(Instr::Tasks {});
        w.push(Instr::Jump { to: w.to(start) });
        w.bind(again);
        if each.pause_ms > 0 {
            self.int(w, each.pause_ms);
            self.sleep(w, run.number);
            w.push(Instr::Pop {});
        }
        w.bind(start);
        self.int(w, u64::from(width.max(1)));
        w.push(Instr::WaitBelow {});
        w.push(Instr::Next {
            list: run.items,
            at: run.at,
            to: w.to(all_started),
        });
        w.push(Instr::Store { local: held });
        w.push(Instr::Load { local: SCOPE });
        w.push(Instr::Take { local: held });
        w.push(Instr::Put { name: item });
        w.push(Instr::Load { local: DEPTH });
        w.push(Instr::Load { local: run.at });
        w.push(Instr::Fork { function: body });
        w.push(Instr::Jump { to: w.to(again) });
        w.bind(all_started);
        let first = FirstFailure::new(w);
        let (join, bad, joined) = (w.label(), w.label(), w.label());
        w.bind(join);
        w.push(Instr::JoinNext { to: w.to(joined) });
        w.push(Instr::JumpFailed { to: w.to(bad) });
        w.push(Instr::Store { local: run.last });
        w.push(Instr::Load { local: run.last });
        w.push(Instr::Append { list: run.all });
        w.push(Instr::Jump { to: w.to(join) });
        w.bind(bad);
        first.note(w);
        w.push(Instr::Null {});
        w.push(Instr::Append { list: run.all });
        w.push(Instr::Jump { to: w.to(join) });
        w.bind(joined);
        first.raise(w, failed);
        w.free(held);
    }

    /// Stack before: the open step; after: the open step and null.
    pub fn repeat(
        &mut self,
        w: &mut Writer,
        body: &While,
        number: u32,
        value: Option<u8>,
        failed: Label,
        exits: Exits,
    ) {
        let index = self.tables.text("_loop_index");
        let iteration = self.tables.text("_loop_iteration");
        let (all, last, at) = (w.local(), w.local(), w.local());
        w.push(Instr::EmptyList {});
        w.push(Instr::Store { local: all });
        w.push(Instr::Null {});
        w.push(Instr::Store { local: last });
        w.push(Instr::Int { value: 0 });
        w.push(Instr::Store { local: at });
        let (again, wrong, ended, done) = (w.label(), w.label(), w.label(), w.label());
        w.bind(again);
        expr::expr(w, &mut self.tables, &body.condition.expr);
        w.push(Instr::JumpFailed { to: w.to(wrong) });
        w.push(truth_of(body.condition.truth));
        w.push(Instr::JumpUnless { to: w.to(done) });
        let allowed = w.label();
        w.push(Instr::Load { local: at });
        self.int(w, u64::from(body.limit));
        w.push(Instr::Less {});
        w.push(Instr::JumpIf { to: w.to(allowed) });
        let message = format!("the loop was ended after {} iterations", body.limit);
        w.push(Instr::Text {
            text: self.tables.text(&message),
        });
        w.push(Instr::Warn {});
        w.push(Instr::Jump { to: w.to(done) });
        w.bind(allowed);
        w.push(Instr::Load { local: at });
        w.push(Instr::SetVar {
            scope: SCOPE,
            name: index,
        });
        w.push(Instr::Load { local: at });
        w.push(Instr::Int { value: 1 });
        w.push(Instr::Add {});
        w.push(Instr::IntOr { to: w.to(wrong) });
        w.push(Instr::Store { local: at });
        w.push(Instr::Load { local: at });
        w.push(Instr::SetVar {
            scope: SCOPE,
            name: iteration,
        });
        w.push(Instr::Null {});
        w.push(Instr::Store { local: last });
        let opening = Opening::Iteration {
            number: at,
            step: number,
        };
        self.step(
            w,
            &body.body,
            opening,
            Some(last),
            Exits {
                failed: wrong,
                ended,
            },
        );
        if body.collect.is_some() {
            w.push(Instr::Load { local: last });
            w.push(Instr::Append { list: all });
        }
        for (bind, new) in &body.update {
            expr::expr(w, &mut self.tables, new);
            w.push(Instr::JumpFailed { to: w.to(wrong) });
            w.push(Instr::SetVar {
                scope: SCOPE,
                name: self.tables.text(&bind.name),
            });
        }
        self.until(w, body.until.as_ref(), wrong, done);
        w.push(Instr::Jump { to: w.to(again) });
        w.bind(wrong);
        w.push(Instr::UnsetVar {
            scope: SCOPE,
            name: index,
        });
        w.push(Instr::UnsetVar {
            scope: SCOPE,
            name: iteration,
        });
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(ended);
        w.push(Instr::UnsetVar {
            scope: SCOPE,
            name: index,
        });
        w.push(Instr::UnsetVar {
            scope: SCOPE,
            name: iteration,
        });
        self.end_early(w, exits);
        w.bind(done);
        w.push(Instr::UnsetVar {
            scope: SCOPE,
            name: index,
        });
        w.push(Instr::UnsetVar {
            scope: SCOPE,
            name: iteration,
        });
        let run = Run {
            items: all,
            all,
            last,
            at,
            number,
        };
        self.collected(w, body.collect.as_ref(), None, run, value);
        for local in [all, last, at] {
            w.free(local);
        }
    }

    /// Each branch is a task on a snapshot; what it binds is stored when all have ended, in file
    /// order. Stack before: the open step; after: the open step and null.
    pub fn par(&mut self, w: &mut Writer, branches: &[Step], width: Option<u32>, failed: Label) {
        w.push(Instr::Tasks {});
        for branch in branches {
            let bound = self.bound_names(branch);
            let function = self.task(&branch.id, &[Kind::Map, Kind::Int], |emitter, w, exits| {
                emitter.step(w, branch, Opening::Step, None, exits);
                w.push(Instr::EmptyMap {});
                for name in &bound {
                    let (name, unset) = (emitter.tables.text(name), w.label());
                    w.push(Instr::HasVar { scope: SCOPE, name });
                    w.push(Instr::JumpUnless { to: w.to(unset) });
                    w.push(Instr::VarOrNull { scope: SCOPE, name });
                    w.push(Instr::Put { name });
                    w.bind(unset);
                }
                w.push(Instr::Return {});
            });
            if let Some(width) = width {
                self.int(w, u64::from(width.max(1)));
                w.push(Instr::WaitBelow {});
            }
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Load { local: DEPTH });
            w.push(Instr::Fork { function });
        }
        let first = FirstFailure::new(w);
        let (join, bad, joined, over) = (w.label(), w.label(), w.label(), w.local());
        w.bind(join);
        w.push(Instr::JoinNext { to: w.to(joined) });
        w.push(Instr::MapOr { to: w.to(bad) });
        w.push(Instr::Store { local: over });
        w.push(Instr::Take { local: SCOPE });
        w.push(Instr::Take { local: over });
        w.push(Instr::Merge {});
        w.push(Instr::Store { local: SCOPE });
        w.push(Instr::Jump { to: w.to(join) });
        w.bind(bad);
        first.note(w);
        w.push(Instr::Jump { to: w.to(join) });
        w.bind(joined);
        first.raise(w, failed);
        w.free(over);
        w.push(Instr::Null {});
    }

    /// A function that can be forked, with one result. Its ways out all return: a failure as
    /// itself, an early end as an empty map.
    fn task(
        &mut self,
        name: &str,
        params: &[Kind],
        body: impl FnOnce(&mut Self, &mut Writer, Exits),
    ) -> u32 {
        let name = self.tables.text(name);
        let function = self.code.declare(name, params, &[Kind::Any]);
        let mut w = Writer::new(params.len() as u8);
        let exits = Exits {
            failed: w.label(),
            ended: w.label(),
        };
        body(self, &mut w, exits);
        w.bind(exits.failed);
        w.push(Instr::Return {});
        w.bind(exits.ended);
        w.push(Instr::EmptyMap {});
        w.push(Instr::Return {});
        self.finished.push((function, w));
        function
    }

    fn until(&mut self, w: &mut Writer, until: Option<&Guard>, wrong: Label, done: Label) {
        if let Some(until) = until {
            expr::expr(w, &mut self.tables, &until.expr);
            w.push(Instr::JumpFailed { to: w.to(wrong) });
            w.push(truth_of(until.truth));
            w.push(Instr::JumpIf { to: w.to(done) });
        }
    }

    /// The unit ends inside the loop: the loop's own step ends first.
    pub fn end_early(&mut self, w: &mut Writer, exits: Exits) {
        w.push(Instr::Null {});
        w.push(Instr::StepEnd {
            status: Status::Completed as u8,
        });
        w.push(Instr::Jump {
            to: w.to(exits.ended),
        });
    }

    fn collected(
        &mut self,
        w: &mut Writer,
        collect: Option<&Bind>,
        last: Option<&Bind>,
        run: Run,
        value: Option<u8>,
    ) {
        let result = if collect.is_some() { run.all } else { run.last };
        for (bind, local) in [(collect, run.all), (last, run.last)] {
            if let Some(bind) = bind {
                w.push(Instr::Load { local });
                w.push(Instr::SetVar {
                    scope: SCOPE,
                    name: self.tables.text(&bind.name),
                });
            }
        }
        if collect.or(last).is_some() {
            w.push(Instr::Load { local: result });
            w.push(Instr::StepOutput {});
        }
        if let Some(value) = value {
            w.push(Instr::Load { local: result });
            w.push(Instr::Store { local: value });
        }
        w.push(Instr::Null {});
    }

    /// Remembers what a name holds, to put it back; gives the locals of the value and of whether
    /// there was one.
    fn shadow(&mut self, w: &mut Writer, name: u32) -> (u8, u8) {
        let (value, was_set) = (w.local(), w.local());
        w.push(Instr::VarOrNull { scope: SCOPE, name });
        w.push(Instr::Store { local: value });
        w.push(Instr::HasVar { scope: SCOPE, name });
        w.push(Instr::Store { local: was_set });
        (value, was_set)
    }

    fn unshadow(&mut self, w: &mut Writer, name: u32, (value, was_set): (u8, u8)) {
        let (unset, done) = (w.label(), w.label());
        w.push(Instr::Load { local: was_set });
        w.push(Instr::JumpUnless { to: w.to(unset) });
        w.push(Instr::Load { local: value });
        w.push(Instr::SetVar { scope: SCOPE, name });
        w.push(Instr::Jump { to: w.to(done) });
        w.bind(unset);
        w.push(Instr::UnsetVar { scope: SCOPE, name });
        w.bind(done);
    }
}

/// The locals of a loop: its items, their values, the last value, the position; and its step.
#[derive(Clone, Copy)]
struct Run {
    items: u8,
    all: u8,
    last: u8,
    at: u8,
    number: u32,
}

/// Of several failures, the first in the order of the file is the one that counts.
struct FirstFailure {
    failure: u8,
    seen: u8,
}

impl FirstFailure {
    fn new(w: &mut Writer) -> FirstFailure {
        let first = FirstFailure {
            failure: w.local(),
            seen: w.local(),
        };
        w.push(Instr::Null {});
        w.push(Instr::Store {
            local: first.failure,
        });
        w.push(Instr::False {});
        w.push(Instr::Store { local: first.seen });
        first
    }

    /// Stack: the failure, which is taken.
    fn note(&self, w: &mut Writer) {
        let (later, done) = (w.label(), w.label());
        w.push(Instr::Load { local: self.seen });
        w.push(Instr::JumpIf { to: w.to(later) });
        w.push(Instr::Store {
            local: self.failure,
        });
        w.push(Instr::True {});
        w.push(Instr::Store { local: self.seen });
        w.push(Instr::Jump { to: w.to(done) });
        w.bind(later);
        w.push(Instr::Pop {});
        w.bind(done);
    }

    fn raise(self, w: &mut Writer, failed: Label) {
        let none = w.label();
        w.push(Instr::Load { local: self.seen });
        w.push(Instr::JumpUnless { to: w.to(none) });
        w.push(Instr::Load {
            local: self.failure,
        });
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(none);
        w.free(self.failure);
        w.free(self.seen);
    }
}

impl Emitter<'_> {
    /// The variables that a step and the steps in it may set.
    fn bound_names(&self, step: &Step) -> Vec<String> {
        let mut names = Names {
            program: self.program,
            names: Vec::new(),
            seen: Vec::new(),
        };
        names.step(step);
        names.names
    }
}

struct Names<'a> {
    program: &'a Program,
    names: Vec<String>,
    /// Units that have been looked at.
    seen: Vec<usize>,
}

impl Names<'_> {
    fn add(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_string());
        }
    }

    fn step(&mut self, step: &Step) {
        step.bind.iter().for_each(|bind| self.add(&bind.name));
        match &step.node {
            Node::Seq(steps)
            | Node::Par {
                branches: steps, ..
            } => {
                steps.iter().for_each(|step| self.step(step));
            }
            Node::Each(each) => {
                each.collect
                    .iter()
                    .chain(&each.last)
                    .for_each(|bind| self.add(&bind.name));
                if each.width.is_none() {
                    self.step(&each.body);
                }
            }
            Node::While(body) => {
                body.collect.iter().for_each(|bind| self.add(&bind.name));
                body.update
                    .iter()
                    .for_each(|(bind, _)| self.add(&bind.name));
                self.step(&body.body);
            }
            Node::Act(action) => {
                if let Action::Call(call) = &**action
                    && call.spreads
                {
                    self.call(call);
                }
            }
        }
    }

    fn call(&mut self, call: &Call) {
        call.context.iter().for_each(|(name, _)| self.add(name));
        let Some(target) = call.target.filter(|target| !self.seen.contains(target)) else {
            return;
        };
        self.seen.push(target);
        let unit = &self.program.units[target];
        unit.inputs.iter().for_each(|input| self.add(&input.name));
        unit.steps.iter().for_each(|step| self.step(step));
    }
}
