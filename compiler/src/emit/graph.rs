//! Code for steps that run as a graph, and for what has to end in time.

use super::Emitter;
use super::builder::{Label, Writer};
use super::expr::{self, DEPTH, SCOPE};
use super::step::{Exits, Opening, Taken};
use crate::ir::{Call, Expr, Graph, Step};
use crate::schedule::{Set, set_by, waits};
use rrc_vm::isa::{Builtin, Instr, Kind};

impl Emitter<'_> {
    /// Each step is a task on a copy of the variables as they are when it starts; what it binds is
    /// stored as soon as it has ended. Stack before: the open step; after: the open step and null.
    pub fn graph(&mut self, w: &mut Writer, graph: &Graph, failed: Label, exits: Exits) {
        let (bound_text, done_text) = (self.tables.text("bound"), self.tables.text("done"));
        let names: Vec<u32> = (0..graph.steps.len())
            .map(|number| self.tables.text(&number.to_string()))
            .collect();
        let (started, done) = (w.local(), w.local());
        for local in [started, done] {
            w.push(Instr::EmptyMap {});
            w.push(Instr::Store { local });
        }
        let (broken, first) = (w.local(), w.local());
        w.push(Instr::False {});
        w.push(Instr::Store { local: broken });
        w.push(Instr::Null {});
        w.push(Instr::Store { local: first });
        w.push(Instr::Tasks {});
        let (start, look) = (w.label(), w.label());
        w.bind(start);
        // After a failure, what runs comes to its end, and nothing more is started.
        w.push(Instr::Load { local: broken });
        w.push(Instr::JumpIf { to: w.to(look) });
        let waits = waits(self.program, graph);
        for ((step, waits), name) in graph.steps.iter().zip(&waits).zip(&names) {
            let later = w.label();
            w.push(Instr::HasVar {
                scope: started,
                name: *name,
            });
            w.push(Instr::JumpIf { to: w.to(later) });
            for other in waits {
                w.push(Instr::HasVar {
                    scope: done,
                    name: names[*other],
                });
                w.push(Instr::JumpUnless { to: w.to(later) });
            }
            w.push(Instr::True {});
            w.push(Instr::SetVar {
                scope: started,
                name: *name,
            });
            let set = set_by(self.program, step);
            let function = self.task(
                &step.id,
                &[Kind::Map, Kind::Int],
                |emitter, w, exits| emitter.step(w, step, Opening::Step, None, exits),
                |emitter, w, ()| {
                    match set.others {
                        // Nothing else runs that could set anything.
                        true => w.push(Instr::Load { local: SCOPE }),
                        false => emitter.set_map(w, &set, None),
                    }
                    w.push(Instr::Put { name: bound_text });
                    w.push(Instr::EmptyMap {});
                    w.push(Instr::True {});
                    w.push(Instr::Put { name: *name });
                    w.push(Instr::Put { name: done_text });
                },
            );
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Load { local: DEPTH });
            w.push(Instr::Fork { function });
            w.bind(later);
        }
        w.bind(look);
        let wrong = Wrong { broken, first };
        self.join_any(w, wrong, start, failed, exits, |_, w, result| {
            for (name, local) in [(bound_text, SCOPE), (done_text, done)] {
                let (over, kept) = (w.label(), w.local());
                w.push(Instr::VarOrNull {
                    scope: result,
                    name,
                });
                w.push(Instr::MapOr { to: w.to(over) });
                w.push(Instr::Store { local: kept });
                w.push(Instr::Take { local });
                w.push(Instr::Take { local: kept });
                w.push(Instr::Merge {});
                w.push(Instr::Store { local });
                w.push(Instr::Null {});
                w.bind(over);
                w.push(Instr::Pop {});
                w.free(kept);
            }
        });
        for local in [started, done, broken, first] {
            w.free(local);
        }
        w.push(Instr::Null {});
    }

    /// Takes the result of a task that has ended and goes to `again`; when there is none left, goes
    /// on, or where the first that failed says, else where one that ended the unit does.
    fn join_any(
        &mut self,
        w: &mut Writer,
        Wrong { broken, first }: Wrong,
        again: Label,
        failed: Label,
        exits: Exits,
        take: impl FnOnce(&mut Self, &mut Writer, u8),
    ) {
        let ended = self.tables.text(super::tasks::ENDED);
        let result = w.local();
        let (bad, bad_later, early, joined, none) =
            (w.label(), w.label(), w.label(), w.label(), w.label());
        w.push(Instr::JoinAny { to: w.to(joined) });
        w.push(Instr::MapOr { to: w.to(bad) });
        w.push(Instr::Store { local: result });
        w.push(Instr::Pop {});
        take(self, w, result);
        w.push(Instr::HasVar {
            scope: result,
            name: ended,
        });
        w.push(Instr::JumpIf { to: w.to(early) });
        w.push(Instr::Jump { to: w.to(again) });
        // What failed counts before what only ended the unit, whichever came first.
        w.bind(bad);
        w.push(Instr::Load { local: first });
        w.push(Instr::JumpFailed {
            to: w.to(bad_later),
        });
        w.push(Instr::Pop {});
        w.push(Instr::Store { local: first });
        w.push(Instr::Pop {});
        w.bind(early);
        w.push(Instr::True {});
        w.push(Instr::Store { local: broken });
        w.push(Instr::Jump { to: w.to(again) });
        w.bind(bad_later);
        w.push(Instr::Pop {});
        w.push(Instr::Pop {});
        w.push(Instr::Pop {});
        w.push(Instr::Jump { to: w.to(again) });
        w.bind(joined);
        w.push(Instr::Load { local: broken });
        w.push(Instr::JumpUnless { to: w.to(none) });
        w.push(Instr::Load { local: first });
        w.push(Instr::JumpFailed { to: w.to(failed) });
        w.push(Instr::Pop {});
        self.end_early(w, exits);
        w.bind(none);
        w.free(result);
    }

    /// A step on a copy of the variables; gives the local that keeps them as they were, if what the
    /// step sets is known only when it has run.
    pub fn step_on_copy(
        &mut self,
        w: &mut Writer,
        step: &Step,
        set: &Set,
        value: Option<Taken>,
        exits: Exits,
    ) -> Option<u8> {
        let before = set.others.then(|| w.local());
        if let Some(before) = before {
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Store { local: before });
        }
        self.before = before;
        self.step(w, step, Opening::Step, value, exits);
        before
    }

    /// Pushes a map of what a step has set: the variables it names, and those that were not there
    /// before or have been taken from what was.
    pub fn set_map(&mut self, w: &mut Writer, set: &Set, before: Option<u8>) {
        match before {
            Some(before) => {
                w.push(Instr::Load { local: SCOPE });
                w.push(Instr::Load { local: before });
                w.push(Instr::Without {});
            }
            None => w.push(Instr::EmptyMap {}),
        }
        for name in &set.names {
            let (name, unset) = (self.tables.text(name), w.label());
            w.push(Instr::HasVar { scope: SCOPE, name });
            w.push(Instr::JumpUnless { to: w.to(unset) });
            w.push(Instr::VarOrNull { scope: SCOPE, name });
            w.push(Instr::Put { name });
            w.bind(unset);
        }
    }

    /// Steps one after the other that have to end in time. Stack before: the open step; after:
    /// the open step and null.
    pub fn steps_within(
        &mut self,
        w: &mut Writer,
        (id, steps, ms): (&str, &[Step], &Expr),
        value: Option<Taken>,
        failed: Label,
        exits: Exits,
    ) {
        let (all, kept, given) = (
            self.tables.text("all"),
            self.tables.text("value"),
            self.tables.text("collected"),
        );
        let function = self.task(
            id,
            &[Kind::Map, Kind::Int],
            |emitter, w, exits| {
                let own = Taken {
                    value: w.local(),
                    collected: Some(w.local()),
                };
                w.push(Instr::Null {});
                own.store(w);
                let taken = value.is_some().then_some(own);
                emitter.steps(w, steps, taken, exits);
                own
            },
            |_, w, own| {
                w.push(Instr::Load { local: SCOPE });
                w.push(Instr::Put { name: all });
                for (local, name) in [(Some(own.value), kept), (own.collected, given)] {
                    if let Some(local) = local {
                        w.push(Instr::Load { local });
                        w.push(Instr::Put { name });
                    }
                }
            },
        );
        self.in_time(w, function, ms, failed, exits, |w, result| {
            let Some(value) = value else { return };
            for (local, name) in [(Some(value.value), kept), (value.collected, given)] {
                if let Some(local) = local {
                    w.push(Instr::VarOrNull {
                        scope: result,
                        name,
                    });
                    w.push(Instr::Store { local });
                }
            }
        });
        w.push(Instr::Null {});
    }

    /// Another recipe that has to end in time. Stack before: the open step; after: the open step
    /// and the reply.
    pub fn recipe_within(
        &mut self,
        w: &mut Writer,
        (id, call, ms): (&str, &Call, &Expr),
        number: u32,
        failed: Label,
        exits: Exits,
    ) {
        let (all, said) = (self.tables.text("all"), self.tables.text("reply"));
        let function = self.task(
            id,
            &[Kind::Map, Kind::Int],
            |emitter, w, exits| {
                let reply = w.local();
                w.push(Instr::EmptyMap {});
                w.push(Instr::Store { local: reply });
                emitter.recipe(w, call, number, exits.failed);
                w.push(Instr::MapOr {
                    to: w.to(exits.failed),
                });
                w.push(Instr::Store { local: reply });
                reply
            },
            |_, w, reply| {
                w.push(Instr::Load { local: SCOPE });
                w.push(Instr::Put { name: all });
                w.push(Instr::Load { local: *reply });
                w.push(Instr::Put { name: said });
            },
        );
        let reply = w.local();
        w.push(Instr::Null {});
        w.push(Instr::Store { local: reply });
        self.in_time(w, function, ms, failed, exits, |w, result| {
            w.push(Instr::VarOrNull {
                scope: result,
                name: said,
            });
            w.push(Instr::Store { local: reply });
        });
        w.push(Instr::Take { local: reply });
        w.free(reply);
    }

    /// Runs a function as a task that is ended after so many milliseconds, and takes over the
    /// variables it leaves.
    fn in_time(
        &mut self,
        w: &mut Writer,
        function: u32,
        ms: &Expr,
        failed: Label,
        exits: Exits,
        take: impl FnOnce(&mut Writer, u8),
    ) {
        let all = self.tables.text("all");
        let (time, timed, started) = (w.local(), w.label(), w.label());
        expr::expr(w, &mut self.tables, ms);
        w.push(Instr::Builtin {
            which: Builtin::Int as u8,
            arguments: 1,
        });
        w.push(Instr::IntOr { to: w.to(failed) });
        w.push(Instr::Store { local: time });
        w.push(Instr::Tasks {});
        w.push(Instr::Int { value: 0 });
        w.push(Instr::Load { local: time });
        w.push(Instr::Less {});
        w.push(Instr::JumpIf { to: w.to(timed) });
        w.push(Instr::Load { local: SCOPE });
        w.push(Instr::Load { local: DEPTH });
        w.push(Instr::Fork { function });
        w.push(Instr::Jump { to: w.to(started) });
        w.bind(timed);
        w.push(Instr::Load { local: time });
        w.push(Instr::Load { local: SCOPE });
        w.push(Instr::Load { local: DEPTH });
        w.push(Instr::ForkWithin { function });
        w.bind(started);
        w.free(time);
        self.join(w, failed, exits, |_, w, result| {
            let (over, scope) = (w.label(), w.local());
            w.push(Instr::VarOrNull {
                scope: result,
                name: all,
            });
            w.push(Instr::MapOr { to: w.to(over) });
            w.push(Instr::Store { local: scope });
            w.push(Instr::Take { local: scope });
            w.push(Instr::Store { local: SCOPE });
            w.push(Instr::Null {});
            w.bind(over);
            w.push(Instr::Pop {});
            w.free(scope);
            take(w, result);
        });
    }
}

/// The locals that say whether any did not come to its end, and what the first failed by, or null.
#[derive(Clone, Copy)]
struct Wrong {
    broken: u8,
    first: u8,
}
