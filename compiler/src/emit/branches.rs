//! Code for stages of a flow that run side by side, and for putting together what they give.

use super::Emitter;
use super::builder::Writer;
use super::expr::SCOPE;
use super::flow::{Out, PIPE, STAGE_PARAMS};
use super::terms;
use crate::ir::Literal;
use crate::ir::flow::{Scope, Stage, Times, Work};
use rrc_vm::isa::{Instr, Kind, Status};
use rrc_vm::plan::StepKind;

/// The parameters of one turn of several at once: as those of a stage, and its number from 1.
const TURN: u8 = 2;
const TURN_PARAMS: [Kind; 3] = [Kind::Map, Kind::Map, Kind::Int];

/// The labels of what runs side by side, as a report of it wants them; none if nothing does.
pub(super) fn labels(work: &Work) -> Option<Literal> {
    let label = |stage: &Stage| stage.label.clone().map_or(Literal::Null, Literal::Text);
    match work {
        Work::Par(all) => Some(Literal::List(all.iter().map(label).collect())),
        Work::Times(times) if times.at_once => Some(label(&times.body)),
        _ => None,
    }
}

impl Emitter<'_> {
    /// All turns at once.
    pub(super) fn at_once(
        &mut self,
        w: &mut Writer,
        stage: &Stage,
        times: &Times,
        pipe: u8,
        out: Out,
    ) {
        let step = self.tables.group(stage);
        let function = self.branch_function(stage, &times.body, Some(step));
        let turns = self.turns(w, times, out.plain);
        let (again, started, wrong) = (w.label(), w.label(), w.label());
        self.branch_set(w, stage);
        w.bind(again);
        self.turn(w, times, turns, wrong, started);
        w.push(Instr::Load { local: SCOPE });
        w.push(Instr::Load { local: pipe });
        w.push(Instr::Load { local: turns.at });
        w.push(Instr::Fork { function });
        w.push(Instr::Jump { to: w.to(again) });
        // Counting to a number that is not too large does not fail.
        w.bind(wrong);
        w.push(Instr::Pop {});
        w.bind(started);
        self.joined(w, stage, pipe, out);
        w.free(turns.at);
        w.free(turns.total);
    }

    /// A branch as a task: gives a map with what is known of how it ended. Of several turns at once it
    /// is one; then with the step whose turns are counted.
    pub(super) fn branch_function(
        &mut self,
        stage: &Stage,
        child: &Stage,
        counted: Option<u32>,
    ) -> u32 {
        let name = self.tables.text(&child.id);
        let params: &[Kind] = match counted {
            None => &STAGE_PARAMS,
            Some(_) => &TURN_PARAMS,
        };
        let function = self.code.declare(name, params, &[Kind::Any]);
        let mut w = Writer::new(params.len() as u8);
        // A branch that failed fails the others with it only from the root, or where the list says so.
        let alone = stage.scope == Scope::Continue && child.scope != Scope::Root;
        let out = Out {
            forgives: if alone { 2 } else { 0 },
            ..Out::new(&mut w)
        };
        if let Some(step) = counted {
            w.push(Instr::Load { local: TURN });
            w.push(Instr::Iteration { step });
        }
        let skipped = w.label();
        let done = w.label();
        if let Some(guard) = &child.guard {
            terms::condition(&mut w, &mut self.tables, guard, out.plain);
            w.push(Instr::JumpUnless { to: w.to(skipped) });
        }
        self.wanted_stage(&mut w, child, PIPE, out);
        w.bind(done);
        if counted.is_some() {
            w.push(Instr::Null {});
            w.push(Instr::StepEnd {
                status: Status::Completed as u8,
            });
        }
        w.push(Instr::Take { local: PIPE });
        w.push(Instr::Return {});
        if w.is_used(skipped) {
            w.bind(skipped);
            let number = self.tables.step(&child.id, StepKind::Command, child.span);
            w.push(Instr::StepSkip { step: number });
            self.nothing(&mut w, PIPE);
            w.push(Instr::Jump { to: w.to(done) });
        }
        for (label, reach) in out.ways() {
            if !w.is_used(label) {
                continue;
            }
            w.bind(label);
            if counted.is_some() {
                self.close_failed(&mut w);
            }
            w.push(Instr::FailureMap {});
            let root = reach.max(child.scope).max(stage.scope) == Scope::Root;
            for field in ["failed", "root"].iter().take(if root { 2 } else { 1 }) {
                w.push(Instr::True {});
                w.push(Instr::Put {
                    name: self.tables.text(field),
                });
            }
            w.push(Instr::Return {});
        }
        self.finished.push((function, w));
        function
    }

    /// Waits for all branches and puts together what they came to. Stack before: a set of tasks;
    /// after: nothing.
    pub(super) fn joined(&mut self, w: &mut Writer, stage: &Stage, pipe: u8, out: Out) {
        let names = ["root", "branches", "failed", "exit_code"];
        let [root, branches, failed, exit_code] = names.map(|name| self.tables.text(name));
        let (all, one, first) = (w.local(), w.local(), w.local());
        w.push(Instr::EmptyList {});
        w.push(Instr::Store { local: all });
        w.push(Instr::EmptyMap {});
        w.push(Instr::Store { local: first });
        // Until all have ended, none is joined: if time runs out, what they came to is still known.
        w.push(Instr::Int { value: 1 });
        w.push(Instr::WaitBelow {});
        let (join, bad, next, done) = (w.label(), w.label(), w.label(), w.label());
        w.bind(join);
        w.push(Instr::JoinNext { to: w.to(done) });
        w.push(Instr::MapOr { to: w.to(bad) });
        w.push(Instr::Store { local: one });
        w.bind(next);
        w.push(Instr::Load { local: one });
        w.push(Instr::Append { list: all });
        w.push(Instr::HasVar {
            scope: one,
            name: root,
        });
        w.push(Instr::JumpUnless { to: w.to(join) });
        w.push(Instr::HasVar {
            scope: first,
            name: root,
        });
        w.push(Instr::JumpIf { to: w.to(join) });
        w.push(Instr::Load { local: one });
        w.push(Instr::Store { local: first });
        w.push(Instr::Jump { to: w.to(join) });
        w.bind(bad);
        w.push(Instr::FailureMap {});
        w.push(Instr::True {});
        w.push(Instr::Put { name: failed });
        w.push(Instr::Store { local: one });
        w.push(Instr::Jump { to: w.to(next) });
        w.bind(done);
        w.push(Instr::Load { local: all });
        let labels = labels(&stage.work).unwrap_or(Literal::Null);
        let labels = self.tables.literal(&labels);
        w.push(Instr::BranchReport { labels });
        w.push(Instr::Store { local: one });
        let no_root = w.label();
        w.push(Instr::HasVar {
            scope: first,
            name: root,
        });
        w.push(Instr::JumpUnless { to: w.to(no_root) });
        w.push(Instr::Load { local: first });
        w.push(Instr::VarOrNull {
            scope: one,
            name: branches,
        });
        w.push(Instr::Put { name: branches });
        w.push(Instr::Raise {});
        w.push(Instr::Jump { to: w.to(out.root) });
        w.bind(no_root);
        if stage.scope == Scope::Branch {
            let fine = w.label();
            w.push(Instr::HasVar {
                scope: one,
                name: failed,
            });
            w.push(Instr::JumpUnless { to: w.to(fine) });
            w.push(Instr::Load { local: one });
            w.push(Instr::Raise {});
            w.push(Instr::Jump {
                to: w.to(out.branch),
            });
            w.bind(fine);
        }
        w.push(Instr::Load { local: one });
        w.push(Instr::Int { value: 0 });
        w.push(Instr::Put { name: exit_code });
        // All together they did not fail.
        self.without(w, "failed");
        w.push(Instr::Store { local: pipe });
        for local in [all, one, first] {
            w.free(local);
        }
    }

    /// A set for the branches of a stage, which are known by their labels.
    pub(super) fn branch_set(&mut self, w: &mut Writer, stage: &Stage) {
        w.push(Instr::Tasks {});
        let labels = labels(&stage.work).unwrap_or(Literal::Null);
        let labels = self.tables.literal(&labels);
        w.push(Instr::LabelTasks { labels });
    }

    /// Stack: a map, then the same without a field.
    pub(super) fn without(&mut self, w: &mut Writer, field: &str) {
        w.push(Instr::EmptyMap {});
        w.push(Instr::Null {});
        w.push(Instr::Put {
            name: self.tables.text(field),
        });
        w.push(Instr::Without {});
    }
}
