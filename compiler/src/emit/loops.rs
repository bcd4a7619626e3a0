//! Code for what runs other steps: loops, and steps side by side.

use super::Emitter;
use super::builder::{Label, Writer};
use super::expr::{self, DEPTH, SCOPE};
use super::step::{Exits, Opening, Taken, Try, Ways};
use super::tasks::Joining;
use crate::ir::{Bind, Each, Expr, Guard, Read, Step, While};
use crate::schedule::set_by;
use rrc_vm::isa::{Instr, Kind};

impl Emitter<'_> {
    /// Stack before: the open step; after: the open step and null.
    pub fn each(
        &mut self,
        w: &mut Writer,
        each: &Each,
        number: u32,
        value: Option<Taken>,
        this: Try,
        ways: Ways,
    ) {
        let Ways { failed, exits, .. } = ways;
        let items = w.local();
        expr::expr(w, &mut self.tables, &each.over);
        w.push(Instr::ListOr { to: w.to(failed) });
        w.push(Instr::Store { local: items });
        let fits = w.label();
        match &each.limit_from {
            None => self.int(w, u64::from(each.limit)),
            Some(limit) => self.most_items(w, limit, failed),
        }
        w.push(Instr::Load { local: items });
        w.push(Instr::Length {});
        w.push(Instr::Less {});
        w.push(Instr::Not {});
        w.push(Instr::JumpIf { to: w.to(fits) });
        let message = match &each.limit_from {
            None => format!("the list has more items than the {} allowed", each.limit),
            Some(_) => "the list has more items than `max_iterations` allows".to_string(),
        };
        w.push(Instr::Fail {
            message: self.tables.text(&message),
        });
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(fits);
        this.begins(w);
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
            collected: each.collect.is_some().then(|| w.local()),
            at,
            number,
        };
        match each.width {
            None => self.each_in_turn(w, each, run, failed, exits),
            Some(width) => self.each_at_once(w, each, width, run, failed, exits),
        }
        let turns = each.last_of_turns();
        let own = each.width.is_none() && (binds_value(&each.body) || turns.is_some());
        let at_end = each.last.as_ref().filter(|_| turns.is_none());
        self.collected(w, (each.collect.as_ref(), at_end), own, run, value);
        for local in [items, all, last, at].into_iter().chain(run.collected) {
            w.free(local);
        }
    }

    /// How long a list may be, as only the run knows.
    fn most_items(&mut self, w: &mut Writer, limit: &Expr, failed: Label) {
        expr::expr(w, &mut self.tables, limit);
        w.at(limit.span);
        let wanted = self.tables.wanted("max_iterations", "count");
        w.push(Instr::Fit { wanted });
        w.push(Instr::IntOr { to: w.to(failed) });
    }

    fn each_in_turn(&mut self, w: &mut Writer, each: &Each, run: Run, failed: Label, exits: Exits) {
        let item = self.tables.text(&each.item.name);
        let (scope, name) = (SCOPE, item);
        w.push(Instr::Shadow { scope, name });
        let (again, wrong, ended, done) = (w.label(), w.label(), w.label(), w.label());
        w.bind(again);
        w.push(Instr::Next {
            list: run.items,
            at: run.at,
            to: w.to(done),
        });
        self.say_secret(w, &each.item.name);
        w.push(Instr::SetVar {
            scope: SCOPE,
            name: item,
        });
        w.push(Instr::Null {});
        run.taken().store(w);
        let opening = Opening::Iteration {
            number: run.at,
            step: run.number,
        };
        self.step(
            w,
            &each.body,
            opening,
            Some(run.taken()),
            Exits {
                failed: wrong,
                ended,
            },
        );
        run.collect(w);
        self.after_turn(w, each.last_of_turns(), run);
        self.until(w, each.until.as_ref(), wrong, done);
        if each.pause_ms > 0 {
            w.push(Instr::Load { local: run.at });
            w.push(Instr::Load { local: run.items });
            w.push(Instr::Length {});
            w.push(Instr::Less {});
            w.push(Instr::JumpUnless { to: w.to(again) });
            self.int(w, each.pause_ms);
            self.sleep_after_turn(w, run.number);
            w.push(Instr::JumpFailed { to: w.to(wrong) });
            w.push(Instr::Pop {});
        }
        w.push(Instr::Jump { to: w.to(again) });

        w.bind(wrong);
        w.push(Instr::Unshadow { scope, name });
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(ended);
        w.push(Instr::Unshadow { scope, name });
        self.end_early(w, exits);
        w.bind(done);
        w.push(Instr::Unshadow { scope, name });
    }

    /// Each iteration is a task with variables of its own; all of them end before the loop does.
    fn each_at_once(
        &mut self,
        w: &mut Writer,
        each: &Each,
        width: u32,
        run: Run,
        failed: Label,
        exits: Exits,
    ) {
        let name = format!("{}[]", each.body.id);
        let (value, collected) = (self.tables.text("value"), self.tables.text("collected"));
        let body = self.task(
            &name,
            &[Kind::Map, Kind::Int, Kind::Int],
            |emitter, w, exits| {
                let own = Taken {
                    value: w.local(),
                    collected: run.collected.map(|_| w.local()),
                };
                w.push(Instr::Null {});
                own.store(w);
                let opening = Opening::Iteration {
                    number: 2,
                    step: run.number,
                };
                emitter.step(w, &each.body, opening, Some(own), exits);
                own
            },
            |_, w, own| {
                w.push(Instr::Load { local: own.value });
                w.push(Instr::Put { name: value });
                if let Some(local) = own.collected {
                    w.push(Instr::Load { local });
                    w.push(Instr::Put { name: collected });
                }
            },
        );
        let item = self.tables.text(&each.item.name);
        let (again, start) = (w.label(), w.label());
        let (held, broken) = (w.local(), w.local());
        w.push(Instr::Null {});
        w.push(Instr::Store { local: broken });
        w.push(Instr::Tasks {});
        let joining = Joining::begin(w, Some(broken));
        w.push(Instr::Jump { to: w.to(start) });
        w.bind(again);
        if each.pause_ms > 0 {
            let paused = w.label();
            w.push(Instr::Load { local: run.at });
            w.push(Instr::Load { local: run.items });
            w.push(Instr::Length {});
            w.push(Instr::Less {});
            w.push(Instr::JumpUnless {
                to: w.to(joining.wait),
            });
            self.int(w, each.pause_ms);
            self.sleep(w, run.number);
            w.push(Instr::Store { local: broken });
            w.push(Instr::Load { local: broken });
            w.push(Instr::JumpFailed { to: w.to(paused) });
            w.push(Instr::Pop {});
            w.push(Instr::Jump { to: w.to(start) });
            // What runs is let to its end, and nothing more is started.
            w.bind(paused);
            w.push(Instr::Pop {});
            w.push(Instr::Load { local: run.items });
            w.push(Instr::Length {});
            w.push(Instr::Store { local: run.at });
            w.push(Instr::Jump {
                to: w.to(joining.wait),
            });
        }
        w.bind(start);
        self.int(w, u64::from(width.max(1)));
        w.push(Instr::WaitBelow {});
        w.push(Instr::Next {
            list: run.items,
            at: run.at,
            to: w.to(joining.wait),
        });
        w.push(Instr::Store { local: held });
        w.push(Instr::Load { local: SCOPE });
        w.push(Instr::Take { local: held });
        self.say_secret(w, &each.item.name);
        w.push(Instr::Put { name: item });
        w.push(Instr::Load { local: DEPTH });
        w.push(Instr::Load { local: run.at });
        w.push(Instr::Fork { function: body });
        // Results are taken as they come, so that a long loop does not hold all of them.
        w.bind(joining.next);
        w.push(Instr::JoinReady { to: w.to(again) });
        w.push(Instr::Jump {
            to: w.to(joining.take),
        });
        self.join_rest(w, joining, failed, exits, |_, w, result| {
            w.push(Instr::VarOrNull {
                scope: result,
                name: value,
            });
            w.push(Instr::Store { local: run.last });
            if let Some(local) = run.collected {
                w.push(Instr::VarOrNull {
                    scope: result,
                    name: collected,
                });
                w.push(Instr::Store { local });
            }
            run.collect(w);
        });
        w.push(Instr::Take { local: broken });
        w.push(Instr::JumpFailed { to: w.to(failed) });
        w.push(Instr::Pop {});
        w.free(held);
        w.free(broken);
    }

    /// Stack before: the open step; after: the open step and null.
    pub fn repeat(
        &mut self,
        w: &mut Writer,
        body: &While,
        number: u32,
        value: Option<Taken>,
        this: Try,
        ways: Ways,
    ) {
        let Ways { failed, exits, .. } = ways;
        let index = self.tables.text("_loop_index");
        let iteration = self.tables.text("_loop_iteration");
        let (scope, own) = (SCOPE, [index, iteration]);
        for name in own {
            w.push(Instr::Shadow { scope, name });
        }
        let (all, last, at) = (w.local(), w.local(), w.local());
        let run = Run {
            items: all,
            all,
            last,
            collected: body.collect.is_some().then(|| w.local()),
            at,
            number,
        };
        w.push(Instr::EmptyList {});
        w.push(Instr::Store { local: all });
        w.push(Instr::Null {});
        w.push(Instr::Store { local: last });
        w.push(Instr::Int { value: 0 });
        w.push(Instr::Store { local: at });
        let (again, wrong, ended, done) = (w.label(), w.label(), w.label(), w.label());
        w.bind(again);
        let when = (body.condition.truth, false);
        expr::branch(w, &mut self.tables, &body.condition.expr, when, done, wrong);
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
        this.begins(w);
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
        run.taken().store(w);
        let opening = Opening::Iteration {
            number: at,
            step: number,
        };
        self.step(
            w,
            &body.body,
            opening,
            Some(run.taken()),
            Exits {
                failed: wrong,
                ended,
            },
        );
        run.collect(w);
        self.after_turn(w, body.last.as_ref(), run);
        for (bind, new) in &body.update {
            expr::expr(w, &mut self.tables, new);
            w.push(Instr::JumpFailed { to: w.to(wrong) });
            self.say_secret(w, &bind.name);
            w.push(Instr::SetVar {
                scope: SCOPE,
                name: self.tables.text(&bind.name),
            });
        }
        self.until(w, body.until.as_ref(), wrong, done);
        w.push(Instr::Jump { to: w.to(again) });
        let unshadow = |w: &mut Writer| {
            for name in own {
                w.push(Instr::Unshadow { scope, name });
            }
        };
        w.bind(wrong);
        unshadow(w);
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(ended);
        unshadow(w);
        self.end_early(w, exits);
        w.bind(done);
        unshadow(w);
        let own = binds_value(&body.body) || body.last.is_some();
        self.collected(w, (body.collect.as_ref(), None), own, run, value);
        for local in [all, last, at].into_iter().chain(run.collected) {
            w.free(local);
        }
    }

    /// Each branch is a task on a snapshot; what it binds is stored when all have ended, in file
    /// order, and the last that has a value gives it. Stack before: the open step; after: the open step and null.
    pub fn par(
        &mut self,
        w: &mut Writer,
        (branches, width): (&[Step], Option<u32>),
        value: Option<Taken>,
        failed: Label,
        exits: Exits,
    ) {
        let stored = self.tables.text("bound");
        let fields = [self.tables.text("value"), self.tables.text("collected")];
        let none = value.map(|_| self.tables.text("the step has no value"));
        w.push(Instr::Tasks {});
        for branch in branches {
            let set = set_by(self.program, branch);
            let function = self.task(
                &branch.id,
                &[Kind::Map, Kind::Int],
                |emitter, w, exits| {
                    let own = none.map(|message| Taken::unset(w, message));
                    let before = emitter.step_on_copy(w, branch, &set, own, exits);
                    (before, own)
                },
                |emitter, w, (before, own)| {
                    emitter.set_map(w, &set, *before);
                    w.push(Instr::Put { name: stored });
                    for (local, name) in own.iter().flat_map(|own| own.locals()).zip(fields) {
                        let (unset, next) = (w.label(), w.label());
                        w.push(Instr::Load { local });
                        w.push(Instr::JumpFailed { to: w.to(unset) });
                        w.push(Instr::Put { name });
                        w.push(Instr::Jump { to: w.to(next) });
                        w.bind(unset);
                        w.push(Instr::Pop {});
                        w.bind(next);
                    }
                },
            );
            if let Some(width) = width {
                self.int(w, u64::from(width.max(1)));
                w.push(Instr::WaitBelow {});
            }
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Load { local: DEPTH });
            w.push(Instr::Fork { function });
        }
        self.join(w, failed, exits, |_, w, result| {
            let (over, kept) = (w.label(), w.local());
            w.push(Instr::VarOrNull {
                scope: result,
                name: stored,
            });
            w.push(Instr::MapOr { to: w.to(over) });
            w.push(Instr::Store { local: kept });
            w.push(Instr::Take { local: SCOPE });
            w.push(Instr::Take { local: kept });
            w.push(Instr::Merge {});
            w.push(Instr::Store { local: SCOPE });
            w.push(Instr::Null {});
            w.bind(over);
            w.push(Instr::Pop {});
            w.free(kept);
            for (local, name) in value.iter().flat_map(|value| value.locals()).zip(fields) {
                let unset = w.label();
                let scope = result;
                w.push(Instr::HasVar { scope, name });
                w.push(Instr::JumpUnless { to: w.to(unset) });
                w.push(Instr::VarOrNull { scope, name });
                w.push(Instr::Store { local });
                w.bind(unset);
            }
        });
        w.push(Instr::Null {});
    }

    /// What a turn gave is seen by what is asked, and set, after it.
    fn after_turn(&mut self, w: &mut Writer, last: Option<&Bind>, run: Run) {
        let Some(bind) = last else { return };
        w.push(Instr::Load { local: run.last });
        self.say_secret(w, &bind.name);
        w.push(Instr::SetVar {
            scope: SCOPE,
            name: self.tables.text(&bind.name),
        });
    }

    fn until(&mut self, w: &mut Writer, until: Option<&Guard>, wrong: Label, done: Label) {
        if let Some(until) = until {
            let when = (until.truth, true);
            expr::branch(w, &mut self.tables, &until.expr, when, done, wrong);
        }
    }

    /// What a loop leaves behind. In a loop that runs in turn each iteration may have set its value
    /// on its `own`; the last of them is what the loop has stored.
    fn collected(
        &mut self,
        w: &mut Writer,
        (collect, last): (Option<&Bind>, Option<&Bind>),
        own: bool,
        run: Run,
        value: Option<Taken>,
    ) {
        let result = if collect.is_some() { run.all } else { run.last };
        let mut set = |w: &mut Writer, bind: &Bind, local| {
            w.push(Instr::Load { local });
            w.push(Instr::SetVar {
                scope: SCOPE,
                name: self.tables.text(&bind.name),
            });
        };
        if let Some(bind) = collect {
            set(w, bind, run.all);
        }
        // Where nothing ran there is no last value.
        if let Some(bind) = last {
            let none = w.label();
            w.push(Instr::Int { value: 0 });
            w.push(Instr::Load { local: run.at });
            w.push(Instr::Less {});
            w.push(Instr::JumpUnless { to: w.to(none) });
            set(w, bind, run.last);
            w.bind(none);
        }
        if own || collect.or(last).is_some() {
            w.push(Instr::Load { local: result });
            w.push(Instr::StepOutput {});
        }
        if let Some(value) = value {
            w.push(Instr::Load { local: result });
            value.store(w);
        }
        w.push(Instr::Null {});
    }
}

/// Whether each iteration sets a variable to its value.
fn binds_value(body: &Step) -> bool {
    body.bind.iter().any(|bind| bind.read == Read::Value)
}

/// The locals of a loop: its items, what is collected of all of them, the last value and what of
/// it is collected, the position; and its step.
#[derive(Clone, Copy)]
struct Run {
    items: u8,
    all: u8,
    last: u8,
    collected: Option<u8>,
    at: u8,
    number: u32,
}

impl Run {
    /// Where the value of an iteration goes.
    fn taken(self) -> Taken {
        Taken {
            value: self.last,
            collected: self.collected,
        }
    }

    /// An iteration has ended.
    fn collect(self, w: &mut Writer) {
        if let Some(local) = self.collected {
            w.push(Instr::Load { local });
            w.push(Instr::Append { list: self.all });
        }
    }
}
