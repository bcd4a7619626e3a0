//! Code for flows: commands that hand bytes to each other.
//!
//! A flow is a function of its own: it takes the variables and gives what is known of its last
//! command, or its failure. Inside, one local holds what is known of the command before, its output
//! among it. A failure leaves a stage by one of three labels that say how far it reaches, at the
//! stack height at which the stage began.

use super::Emitter;
use super::action::Arguments;
use super::builder::{Label, Writer};
use super::expr::{self, SCOPE};
use super::terms;
use crate::ir::flow::{Around, Flow, Scope, Stage, Term, Times, ValueKind, Work};
use crate::ir::{Expr, Literal};
use rrc_vm::isa::{Instr, Kind, Status};
use rrc_vm::plan::{HostKind, StepKind};

/// Where a failure goes, by how far it reaches: one that nobody has judged yet, one that ends a
/// branch, one that ends the flow. At each label the failure is on top.
#[derive(Clone, Copy)]
pub(super) struct Out {
    pub plain: Label,
    pub branch: Label,
    pub root: Label,
    /// How many of them, in this order, lead to where a failure is forgotten.
    pub forgives: i32,
}

impl Out {
    /// Where a failure goes, by how far it reaches.
    pub fn ways(self) -> [(Label, Scope); 3] {
        [
            (self.plain, Scope::Continue),
            (self.branch, Scope::Branch),
            (self.root, Scope::Root),
        ]
    }

    pub(super) fn new(w: &mut Writer) -> Out {
        Out {
            plain: w.label(),
            branch: w.label(),
            root: w.label(),
            forgives: 0,
        }
    }

    fn marks(self) -> [(Label, i32); 3] {
        [(self.plain, 0), (self.branch, 1), (self.root, 2)]
    }

    /// The labels for a stage inside, whose failures reach at least so far; `go_on` is where those
    /// go that reach nowhere.
    fn inside(self, scope: Scope, go_on: Label) -> Out {
        Out {
            plain: match scope {
                Scope::Continue => go_on,
                Scope::Branch => self.branch,
                Scope::Root => self.root,
            },
            branch: match scope {
                Scope::Root => self.root,
                _ => self.branch,
            },
            root: self.root,
            forgives: match scope {
                Scope::Continue if go_on != self.plain => self.forgives.max(1),
                Scope::Continue => self.forgives,
                Scope::Branch if self.forgives == 2 => 2,
                Scope::Branch | Scope::Root => 0,
            },
        }
    }
}

/// Where the variables of a flow keep what surrounds its commands; no variable is called so.
const CWD: &str = "cwd#";
const ENV: &str = "env#";

/// The parameters of a function that runs a stage: variables, and what the command before gave.
pub(super) const PIPE: u8 = 1;
pub(super) const STAGE_PARAMS: [Kind; 2] = [Kind::Map, Kind::Map];

impl Emitter<'_> {
    /// Stack before: the open step; after: the open step and what is known of the last command.
    pub fn flow(&mut self, w: &mut Writer, flow: &Flow, deadline: Option<&Expr>, failed: Label) {
        let function = self.flow_function(flow);
        let scope = self.surrounded(w, &flow.around, failed);
        let Some(deadline) = deadline else {
            w.push(Instr::Take { local: scope });
            w.push(Instr::Call { function });
            w.push(Instr::JumpFailed { to: w.to(failed) });
            w.free(scope);
            return;
        };
        let (ms, result) = (w.local(), w.local());
        expr::expr(w, &mut self.tables, deadline);
        w.push(Instr::IntOr { to: w.to(failed) });
        w.push(Instr::Store { local: ms });
        w.push(Instr::Null {});
        w.push(Instr::Store { local: result });
        w.push(Instr::Tasks {});
        w.push(Instr::Take { local: ms });
        w.push(Instr::Take { local: scope });
        w.push(Instr::ForkWithin { function });
        let (join, joined) = (w.label(), w.label());
        w.bind(join);
        w.push(Instr::JoinNext { to: w.to(joined) });
        w.push(Instr::Store { local: result });
        w.push(Instr::Jump { to: w.to(join) });
        w.bind(joined);
        w.push(Instr::Take { local: result });
        w.push(Instr::JumpFailed { to: w.to(failed) });
        w.free(ms);
        w.free(result);
        w.free(scope);
    }

    /// The variables for a flow, and with them what is made of variables for all its commands.
    fn surrounded(&mut self, w: &mut Writer, around: &Around, failed: Label) -> u8 {
        let scope = w.local();
        w.push(Instr::Load { local: SCOPE });
        w.push(Instr::Store { local: scope });
        if let Some(cwd) = around.cwd.as_ref().filter(|cwd| cwd.as_literal().is_none()) {
            expr::text(w, &mut self.tables, cwd);
            w.push(Instr::JumpFailed { to: w.to(failed) });
            w.push(Instr::SetVar {
                scope,
                name: self.tables.text(CWD),
            });
        }
        if !around.env.is_empty() {
            let env = w.local();
            w.push(Instr::EmptyMap {});
            w.push(Instr::Store { local: env });
            for (name, text) in &around.env {
                expr::text(w, &mut self.tables, text);
                w.push(Instr::JumpFailed { to: w.to(failed) });
                w.push(Instr::SetVar {
                    scope: env,
                    name: self.tables.text(name),
                });
            }
            w.push(Instr::Take { local: env });
            w.push(Instr::SetVar {
                scope,
                name: self.tables.text(ENV),
            });
            w.free(env);
        }
        scope
    }

    fn flow_function(&mut self, flow: &Flow) -> u32 {
        self.around = flow.around.clone();
        let name = self.tables.text("flow");
        let function = self.code.declare(name, &[Kind::Map], &[Kind::Any]);
        let mut w = Writer::new(1);
        let refused = w.label();
        self.given(&mut w, flow, refused);
        self.rehearse(&mut w, &flow.root, refused);
        let pipe = w.local();
        w.push(Instr::EmptyMap {});
        w.push(Instr::Store { local: pipe });
        let out = Out::new(&mut w);
        self.stage(&mut w, &flow.root, pipe, out);
        w.push(Instr::Load { local: pipe });
        if let Some(output) = &flow.output {
            terms::term(&mut w, &mut self.tables, output);
            let wrong = w.label();
            w.push(Instr::JumpFailed { to: w.to(wrong) });
            // A template says both; a step of a recipe has one value.
            let field = match self.program.units[self.current].result {
                Some(_) => "output",
                None => "stdout",
            };
            w.push(Instr::Put {
                name: self.tables.text(field),
            });
            w.push(Instr::Return {});
            w.bind(wrong);
            w.push(Instr::Return {});
        } else {
            w.push(Instr::Return {});
        }
        for (label, _) in out.marks() {
            if w.is_used(label) {
                w.bind(label);
                w.push(Instr::Return {});
            }
        }
        if w.is_used(refused) {
            w.bind(refused);
            w.push(Instr::Refuse {});
            w.push(Instr::Return {});
        }
        self.finished.push((function, w));
        function
    }

    /// One stage. `pipe` holds what the command before gave, and then what this one gives.
    fn stage(&mut self, w: &mut Writer, stage: &Stage, pipe: u8, out: Out) {
        let next = w.label();
        if let Some(guard) = &stage.guard {
            let run = w.label();
            terms::condition(w, &mut self.tables, guard, out.plain);
            w.push(Instr::JumpIf { to: w.to(run) });
            let number = self.tables.step(&stage.id, StepKind::Command, stage.span);
            w.at(stage.span);
            w.push(Instr::StepSkip { step: number });
            w.push(Instr::Jump { to: w.to(next) });
            w.bind(run);
        }
        self.wanted_stage(w, stage, pipe, out);
        w.bind(next);
    }

    /// The stage, whatever its guard says.
    pub(super) fn wanted_stage(&mut self, w: &mut Writer, stage: &Stage, pipe: u8, out: Out) {
        if let Some(pause) = &stage.pause {
            self.number(w, "delay", ValueKind::Duration, pause, out.plain);
            let number = self.tables.step(&stage.id, StepKind::Command, stage.span);
            self.sleep(w, number);
            w.push(Instr::JumpFailed {
                to: w.to(out.plain),
            });
            w.push(Instr::Pop {});
        }
        match &stage.work {
            Work::Times(times) if !times.at_once => self.in_turn(w, stage, times, pipe, out),
            Work::Run { .. } => self.tried(w, stage, pipe, out),
            _ if stage.deadline.is_some() || w.is_crowded() => self.apart(w, stage, pipe, out),
            _ => self.tried(w, stage, pipe, out),
        }
    }

    /// Turns one after the other.
    fn in_turn(&mut self, w: &mut Writer, stage: &Stage, times: &Times, pipe: u8, out: Out) {
        let number = self.tables.group(stage);
        let turns = self.turns(w, times, out.plain);
        let (again, done, go_on) = (w.label(), w.label(), w.label());
        w.bind(again);
        self.turn(w, times, turns, out.plain, done);
        w.push(Instr::Load { local: turns.at });
        w.push(Instr::Iteration { step: number });
        let inner = Out::new(w);
        self.stage(w, &times.body, pipe, inner);
        w.bind(go_on);
        w.push(Instr::Null {});
        w.push(Instr::StepEnd {
            status: Status::Completed as u8,
        });
        w.push(Instr::Jump { to: w.to(again) });
        // A failure closes the turn and leaves, or is forgotten.
        let scope = times.body.scope.max(stage.scope);
        let forget = w.label();
        let outside = out.inside(scope, forget);
        let ways = [
            (inner.plain, outside.plain),
            (inner.branch, outside.branch),
            (inner.root, outside.root),
        ];
        for (from, to) in ways {
            if !w.is_used(from) {
                continue;
            }
            w.bind(from);
            let mut to = to;
            if to == forget {
                let leave = w.label();
                to = out.inside(times.alone, leave).plain;
                if to != leave {
                    w.push(Instr::Int { value: 1 });
                    w.push(Instr::Load { local: turns.total });
                    w.push(Instr::Less {});
                    w.push(Instr::JumpUnless { to: w.to(leave) });
                }
                w.push(Instr::Pop {});
                self.nothing(w, pipe);
                w.push(Instr::Jump { to: w.to(go_on) });
                if to == leave {
                    continue;
                }
                w.bind(leave);
            }
            self.close_failed(w);
            w.push(Instr::Jump { to: w.to(to) });
        }
        w.bind(done);
        w.free(turns.at);
        w.free(turns.total);
    }

    /// What a failure that reaches nowhere leaves to read: nothing.
    pub(super) fn nothing(&mut self, w: &mut Writer, pipe: u8) {
        w.push(Instr::EmptyMap {});
        w.push(Instr::Text {
            text: self.tables.text(""),
        });
        w.push(Instr::Put {
            name: self.tables.text("stdout"),
        });
        w.push(Instr::Store { local: pipe });
    }

    /// Stack: an open step and a failure, then the failure alone.
    pub(super) fn close_failed(&mut self, w: &mut Writer) {
        let failure = w.local();
        w.push(Instr::Store { local: failure });
        w.push(Instr::Load { local: failure });
        w.push(Instr::StepEnd {
            status: Status::Failed as u8,
        });
        w.push(Instr::Take { local: failure });
        w.free(failure);
    }

    /// A stage in a function of its own: because it has a deadline, or for want of locals.
    fn apart(&mut self, w: &mut Writer, stage: &Stage, pipe: u8, out: Out) {
        let function = self.stage_function(stage, out.forgives);
        let (mark, given) = (self.tables.text("mark"), self.tables.text("given"));
        let (result, known) = (w.local(), w.local());
        w.push(Instr::Null {});
        w.push(Instr::Store { local: result });
        if let Some(deadline) = &stage.deadline {
            let ms = w.local();
            self.number(w, "timeout", ValueKind::Duration, deadline, out.plain);
            w.push(Instr::Store { local: ms });
            let (bounded, join, joined) = (w.label(), w.label(), w.label());
            w.push(Instr::Tasks {});
            w.push(Instr::Int { value: 0 });
            w.push(Instr::Load { local: ms });
            w.push(Instr::Less {});
            w.push(Instr::JumpIf { to: w.to(bounded) });
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Load { local: pipe });
            w.push(Instr::Fork { function });
            w.push(Instr::Jump { to: w.to(join) });
            w.bind(bounded);
            w.push(Instr::Load { local: ms });
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Load { local: pipe });
            w.push(Instr::ForkWithin { function });
            w.bind(join);
            w.push(Instr::JoinNext { to: w.to(joined) });
            w.push(Instr::Store { local: result });
            w.push(Instr::Jump { to: w.to(join) });
            w.bind(joined);
            w.free(ms);
        } else {
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Load { local: pipe });
            w.push(Instr::Call { function });
            w.push(Instr::Store { local: result });
        }
        let (late, failed, done) = (w.label(), w.label(), w.label());
        w.push(Instr::Take { local: result });
        w.push(Instr::MapOr { to: w.to(late) });
        w.push(Instr::Store { local: known });
        w.push(Instr::HasVar {
            scope: known,
            name: mark,
        });
        w.push(Instr::JumpIf { to: w.to(failed) });
        w.push(Instr::VarOrNull {
            scope: known,
            name: given,
        });
        w.push(Instr::MapOr {
            to: w.to(out.plain),
        });
        w.push(Instr::Store { local: pipe });
        w.push(Instr::Jump { to: w.to(done) });
        w.bind(failed);
        for (label, number) in out.marks() {
            let other = w.label();
            w.push(Instr::VarOrNull {
                scope: known,
                name: mark,
            });
            w.push(Instr::IntOr {
                to: w.to(out.plain),
            });
            w.push(Instr::Int { value: number + 1 });
            w.push(Instr::Less {});
            w.push(Instr::JumpUnless { to: w.to(other) });
            w.push(Instr::Load { local: known });
            w.push(Instr::Raise {});
            w.push(Instr::Jump { to: w.to(label) });
            w.bind(other);
        }
        w.push(Instr::Load { local: known });
        w.push(Instr::Raise {});
        w.push(Instr::Jump { to: w.to(out.root) });
        // Only time ends such a function before it returns.
        w.bind(late);
        w.push(Instr::FailureMap {});
        w.push(Instr::True {});
        w.push(Instr::Put {
            name: self.tables.text("timed_out"),
        });
        w.push(Instr::Int { value: 1 });
        w.push(Instr::Put {
            name: self.tables.text("exit_code"),
        });
        w.push(Instr::Raise {});
        // No command of it may have failed, or even started: so the group says it itself.
        let number = self.tables.step(&stage.id, StepKind::Command, stage.span);
        w.push(Instr::StepBeginBelow { step: number });
        self.close_failed(w);
        w.push(Instr::Jump {
            to: w.to(out.plain),
        });
        w.bind(done);
        w.free(result);
        w.free(known);
    }

    /// Gives a map: what the stage gives, as `given`, or how far its failure reaches, as `mark`,
    /// with what is known of it.
    fn stage_function(&mut self, stage: &Stage, forgives: i32) -> u32 {
        let name = self.tables.text(&stage.id);
        let function = self.code.declare(name, &STAGE_PARAMS, &[Kind::Any]);
        let mut w = Writer::new(STAGE_PARAMS.len() as u8);
        let out = Out {
            forgives,
            ..Out::new(&mut w)
        };
        self.tried(&mut w, stage, PIPE, out);
        w.push(Instr::EmptyMap {});
        w.push(Instr::Take { local: PIPE });
        w.push(Instr::Put {
            name: self.tables.text("given"),
        });
        w.push(Instr::Return {});
        for (label, mark) in out.marks() {
            if w.is_used(label) {
                w.bind(label);
                w.push(Instr::FailureMap {});
                w.push(Instr::Int { value: mark });
                w.push(Instr::Put {
                    name: self.tables.text("mark"),
                });
                w.push(Instr::Return {});
            }
        }
        self.finished.push((function, w));
        function
    }

    /// The stage, again while it fails and tries are left.
    fn tried(&mut self, w: &mut Writer, stage: &Stage, pipe: u8, out: Out) {
        let number = self.tables.step(&stage.id, StepKind::Command, stage.span);
        let is_step = match stage.work {
            Work::Run { .. } | Work::Par(_) | Work::Times(_) => true,
            Work::Seq(_) | Work::Inside(_) => stage.tries.is_some(),
        };
        if !is_step {
            return self.work(w, stage, number, pipe, out);
        }
        let tries = stage.tries.as_ref().map(|tries| {
            self.number(w, "retry", ValueKind::Tries, &tries.most, out.plain);
            let (most, tried, given) = (w.local(), w.local(), w.local());
            w.push(Instr::Store { local: most });
            w.push(Instr::Int { value: 1 });
            w.push(Instr::Store { local: tried });
            w.push(Instr::Load { local: pipe });
            w.push(Instr::Store { local: given });
            (tries, most, tried, given)
        });
        w.at(stage.span);
        w.push(Instr::StepBegin { step: number });
        let (again, done, give_up) = (w.label(), w.label(), w.label());
        let (failure, mark) = (w.local(), w.local());
        w.bind(again);
        let inner = Out::new(w);
        self.work(w, stage, number, pipe, inner);
        let joins = matches!(stage.work, Work::Par(_) | Work::Times(_));
        self.close_done(w, pipe);
        if joins {
            w.push(Instr::Take { local: pipe });
            self.without(w, "branches");
            w.push(Instr::Store { local: pipe });
        }
        w.push(Instr::Jump { to: w.to(done) });
        let judge = w.label();
        for (label, number) in inner.marks() {
            if w.is_used(label) {
                w.bind(label);
                w.push(Instr::Store { local: failure });
                w.push(Instr::Int { value: number });
                w.push(Instr::Store { local: mark });
                w.push(Instr::Jump { to: w.to(judge) });
            }
        }
        w.bind(judge);
        if let Some((tries, most, tried, given)) = tries {
            w.push(Instr::Load { local: tried });
            w.push(Instr::Load { local: most });
            w.push(Instr::Less {});
            w.push(Instr::JumpUnless { to: w.to(give_up) });
            if let Some(recover) = &tries.recover {
                self.mend(w, recover, failure, mark, give_up);
            }
            w.push(Instr::StepAttempt {});
            let wrong = w.label();
            w.push(Instr::Load { local: tried });
            w.push(Instr::Int { value: 1 });
            w.push(Instr::Add {});
            w.push(Instr::IntOr { to: w.to(wrong) });
            w.push(Instr::Store { local: tried });
            w.push(Instr::Load { local: given });
            w.push(Instr::Store { local: pipe });
            w.push(Instr::Jump { to: w.to(again) });
            w.bind(wrong);
            w.push(Instr::Store { local: failure });
            w.push(Instr::Jump { to: w.to(give_up) });
            for local in [most, tried, given] {
                w.free(local);
            }
        }
        w.bind(give_up);
        let (lasting, ended) = (w.label(), w.label());
        if out.forgives > 0 {
            w.push(Instr::Load { local: mark });
            w.push(Instr::Int {
                value: out.forgives,
            });
            w.push(Instr::Less {});
            w.push(Instr::JumpUnless { to: w.to(lasting) });
            w.push(Instr::Load { local: failure });
            w.push(Instr::StepEnd {
                status: Status::Completed as u8,
            });
            w.push(Instr::Jump { to: w.to(ended) });
            w.bind(lasting);
        }
        w.push(Instr::Load { local: failure });
        w.push(Instr::StepEnd {
            status: Status::Failed as u8,
        });
        w.bind(ended);
        if joins {
            // What branches came to is said once, where they were.
            w.push(Instr::Load { local: failure });
            w.push(Instr::FailureMap {});
            self.without(w, "branches");
            w.push(Instr::Raise {});
            w.push(Instr::Store { local: failure });
        }
        for (label, number) in [(out.plain, 0), (out.branch, 1)] {
            let other = w.label();
            w.push(Instr::Load { local: mark });
            w.push(Instr::Int { value: number + 1 });
            w.push(Instr::Less {});
            w.push(Instr::JumpUnless { to: w.to(other) });
            w.push(Instr::Load { local: failure });
            w.push(Instr::Jump { to: w.to(label) });
            w.bind(other);
        }
        w.push(Instr::Load { local: failure });
        w.push(Instr::Jump { to: w.to(out.root) });
        w.bind(done);
        w.free(failure);
        w.free(mark);
    }

    /// Ends the open step as completed. What it wrote is not part of its record: it may be long.
    fn close_done(&mut self, w: &mut Writer, pipe: u8) {
        w.push(Instr::Load { local: pipe });
        self.without(w, "stdout");
        w.push(Instr::StepEnd {
            status: Status::Completed as u8,
        });
    }

    /// Between two tries. Stack: the open step, before and after.
    fn mend(&mut self, w: &mut Writer, stage: &Stage, failure: u8, mark: u8, give_up: Label) {
        let pipe = w.local();
        let stdout = self.tables.text("stdout");
        // Only what was written: how far the failure reaches is nothing of what follows.
        w.push(Instr::Load { local: failure });
        w.push(Instr::FailureMap {});
        w.push(Instr::Store { local: pipe });
        w.push(Instr::EmptyMap {});
        w.push(Instr::VarOrNull {
            scope: pipe,
            name: stdout,
        });
        w.push(Instr::Put { name: stdout });
        w.push(Instr::Store { local: pipe });
        let inner = Out::new(w);
        self.stage(w, stage, pipe, inner);
        let done = w.label();
        w.push(Instr::Jump { to: w.to(done) });
        for (label, reach) in inner.ways() {
            if !w.is_used(label) {
                continue;
            }
            w.bind(label);
            match reach.max(stage.scope) {
                Scope::Continue => {
                    w.push(Instr::Pop {});
                    w.push(Instr::Jump { to: w.to(done) });
                }
                reach => {
                    w.push(Instr::Store { local: failure });
                    w.push(Instr::Int {
                        value: reach as i32,
                    });
                    w.push(Instr::Store { local: mark });
                    w.push(Instr::Jump { to: w.to(give_up) });
                }
            }
        }
        w.bind(done);
        w.free(pipe);
    }

    fn work(&mut self, w: &mut Writer, stage: &Stage, number: u32, pipe: u8, out: Out) {
        match &stage.work {
            Work::Run { words, limit } => {
                let mut call = self.command(w, words, pipe, out.plain);
                if let Some(deadline) = &stage.deadline {
                    self.number(w, "timeout", ValueKind::Duration, deadline, out.plain);
                    call.open(w, "timeout_ms");
                }
                let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
                call.fix("limit", Literal::Int(limit));
                call.ask(w, &mut self.tables, number);
                w.push(Instr::MapOr {
                    to: w.to(out.plain),
                });
                w.push(Instr::Store { local: pipe });
            }
            Work::Inside(inner) => {
                self.stage(w, inner, pipe, out.inside(inner.scope, out.plain));
            }
            Work::Seq(all) => {
                for child in all {
                    let (go_on, next) = (w.label(), w.label());
                    let inner = out.inside(child.scope.max(stage.scope), go_on);
                    self.stage(w, child, pipe, inner);
                    if w.is_used(go_on) {
                        w.push(Instr::Jump { to: w.to(next) });
                        w.bind(go_on);
                        w.push(Instr::Pop {});
                        self.nothing(w, pipe);
                    }
                    w.bind(next);
                }
            }
            Work::Par(all) => {
                self.branch_set(w, stage);
                for child in all {
                    let function = self.branch_function(stage, child, None);
                    w.push(Instr::Load { local: SCOPE });
                    w.push(Instr::Load { local: pipe });
                    w.push(Instr::Fork { function });
                }
                self.joined(w, stage, pipe, out);
            }
            Work::Times(times) => self.at_once(w, stage, times, pipe, out),
        }
    }

    /// What a command is given: its words, what it reads, and what the step around it says.
    fn command(&mut self, w: &mut Writer, words: &[Term], pipe: u8, failed: Label) -> Arguments {
        let mut call = Arguments::new(HostKind::Exec);
        terms::argv(w, &mut self.tables, words, failed);
        call.open(w, "argv");
        w.push(Instr::VarOrNull {
            scope: pipe,
            name: self.tables.text("stdout"),
        });
        call.open(w, "stdin");
        if let Some(cwd) = &self.around.cwd {
            match cwd.as_literal() {
                Some(cwd) => call.fix_text(&mut self.tables, "cwd", cwd),
                None => {
                    let name = self.tables.text(CWD);
                    w.push(Instr::VarOrNull { scope: SCOPE, name });
                    call.open(w, "cwd");
                }
            }
        }
        if !self.around.env.is_empty() {
            let name = self.tables.text(ENV);
            w.push(Instr::VarOrNull { scope: SCOPE, name });
            call.open(w, "env");
        }
        if self.around.once {
            call.fix("once", Literal::Bool(true));
        }
        call.fix("bytes", Literal::Bool(true));
        call
    }
}
