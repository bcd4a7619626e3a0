//! Code for steps: what wraps a node, in the order of the fields of [`Step`].
//!
//! The shape of the stack is the same everywhere: below, the steps that are open around this one;
//! on top, at a label for failures, the failure. So every way out of a step is a jump.

use super::Emitter;
use super::action::Moment;
use super::builder::{Label, Writer};
use super::expr::{self, SCOPE, truth_of};
use crate::ir::{Attempts, Bind, Growth, Guard, Literal, Node, OnFailure, Read, Step, Store};
use rrc_vm::isa::{Builtin, Instr, Status};
use rrc_vm::plan::{HostCall, HostKind};

/// Where control goes when a list of steps does not come to its end. Both labels stand at the
/// stack height of the list.
#[derive(Clone, Copy)]
pub struct Exits {
    /// With the failure on top.
    pub failed: Label,
    /// The unit ends here as if it had come to its end.
    pub ended: Label,
}

/// How the record of a step is opened.
#[derive(Clone, Copy)]
pub enum Opening {
    /// A step that the user wrote: it counts against the limit.
    Step,
    /// The body of a loop, by the local that holds its number, from 1.
    Iteration { number: u8, step: u32 },
}

impl Emitter<'_> {
    /// Steps one after the other; the value of the last that ran goes to the local `value`.
    pub fn steps(&mut self, w: &mut Writer, steps: &[Step], value: Option<u8>, exits: Exits) {
        for step in steps {
            self.step(w, step, Opening::Step, value, exits);
        }
    }

    /// One step. Its value goes to the local `value`, if one is given; what is there stays when the
    /// step does not run or fails.
    pub fn step(
        &mut self,
        w: &mut Writer,
        step: &Step,
        opening: Opening,
        value: Option<u8>,
        exits: Exits,
    ) {
        let number = match opening {
            Opening::Step => self.tables.step(&step.id, step.kind, step.span),
            Opening::Iteration { step, .. } => step,
        };
        let (next, failed) = (w.label(), w.label());
        // Output that turns out not to be JSON is output all the same.
        let keeps = matches!(step.on_failure, OnFailure::Continue { keep_output: true });
        let unread = (keeps && step.store == Store::Json).then(|| w.local());
        if let Some(unread) = unread {
            w.push(Instr::Null {});
            w.push(Instr::Store { local: unread });
        }
        if let Some(guard) = &step.guard {
            self.guard(w, step, guard, number, opening, Skip { next, failed });
        }
        w.at(step.span);
        self.open(w, opening, number);
        if matches!(opening, Opening::Step) && !step.kind.is_hidden() {
            w.push(Instr::CountStep {});
            w.push(Instr::JumpFailed { to: w.to(failed) });
            w.push(Instr::Pop {});
        }
        let hooked = matches!(opening, Opening::Step) && !step.kind.is_hidden();
        if hooked {
            self.hook(w, step, Moment::Before, None);
        }
        let degraded = w.label();
        let places = Places { value, unread };
        self.attempts(w, step, number, places, failed, degraded, exits);
        let mut ends = vec![(None, Status::Completed)];
        if step.store == Store::JsonOrDegrade && matches!(step.node, Node::Act(_)) {
            ends.push((Some(degraded), Status::Degraded));
        }
        for (label, status) in ends {
            if let Some(label) = label {
                w.bind(label);
            }
            w.push(Instr::StepEnd {
                status: status as u8,
            });
            if hooked {
                self.hook(w, step, Moment::After(status), None);
            }
            w.push(Instr::Jump { to: w.to(next) });
        }
        w.bind(failed);
        if hooked && self.has_hook(Moment::Failed) {
            let failure = w.local();
            w.push(Instr::Store { local: failure });
            self.hook(w, step, Moment::Failed, Some(failure));
            w.push(Instr::Take { local: failure });
            w.free(failure);
        }
        self.failure(w, step, unread, next, exits);
        if let Some(unread) = unread {
            w.free(unread);
        }
        w.bind(next);
    }

    fn open(&mut self, w: &mut Writer, opening: Opening, number: u32) {
        match opening {
            Opening::Step => w.push(Instr::StepBegin { step: number }),
            Opening::Iteration {
                number: local,
                step,
            } => {
                w.push(Instr::Load { local });
                w.push(Instr::Iteration { step });
            }
        }
    }

    fn guard(
        &mut self,
        w: &mut Writer,
        step: &Step,
        guard: &Guard,
        number: u32,
        opening: Opening,
        Skip { next, failed }: Skip,
    ) {
        let (wrong, skip, run) = (w.label(), w.label(), w.label());
        expr::expr(w, &mut self.tables, &guard.expr);
        w.push(Instr::JumpFailed { to: w.to(wrong) });
        w.push(truth_of(guard.truth));
        w.push(Instr::JumpIf { to: w.to(run) });
        w.bind(skip);
        w.at(step.span);
        w.push(Instr::StepSkip { step: number });
        w.push(Instr::Jump { to: w.to(next) });
        w.bind(wrong);
        let failure = w.local();
        w.push(Instr::Store { local: failure });
        self.open(w, opening, number);
        w.push(Instr::Take { local: failure });
        w.push(Instr::Jump { to: w.to(failed) });
        w.free(failure);
        w.bind(run);
    }

    /// Stack: the open step and the failure.
    fn failure(
        &mut self,
        w: &mut Writer,
        step: &Step,
        unread: Option<u8>,
        next: Label,
        exits: Exits,
    ) {
        w.at(step.span);
        let end = Instr::StepEnd {
            status: Status::Failed as u8,
        };
        match step.on_failure {
            OnFailure::Stop => {
                let failure = w.local();
                w.push(Instr::Store { local: failure });
                w.push(Instr::Load { local: failure });
                w.push(end);
                w.push(Instr::Take { local: failure });
                w.push(Instr::Jump {
                    to: w.to(exits.failed),
                });
                w.free(failure);
            }
            OnFailure::SkipRest => {
                self.bind_failed(w, step, false, unread);
                w.push(end);
                w.push(Instr::Jump {
                    to: w.to(exits.ended),
                });
            }
            OnFailure::Continue { keep_output } => {
                self.bind_failed(w, step, keep_output, unread);
                w.push(end);
                w.push(Instr::Jump { to: w.to(next) });
            }
        }
    }

    /// What a failed step binds all the same: its exit code, what it wrote to stderr and, where
    /// the recipe's rules say so, its output. Stack: the failure, before and after.
    fn bind_failed(&mut self, w: &mut Writer, step: &Step, keep_output: bool, unread: Option<u8>) {
        let wanted: Vec<&Bind> = step
            .bind
            .iter()
            .filter(|bind| bind.read != Read::Value || keep_output)
            .collect();
        if wanted.is_empty() || !matches!(step.node, Node::Act(_)) {
            return;
        }
        let failure = w.local();
        w.push(Instr::Store { local: failure });
        let data = self.tables.text("data");
        for bind in wanted {
            let name = self.tables.text(&bind.name);
            let field = self.tables.text(match bind.read {
                Read::Value => "stdout",
                Read::ExitCode => "exit_code",
                Read::Stderr => "stderr",
            });
            // A failure before the process ran has none of them; then the variable stays unset.
            let (none, found, done) = (w.label(), w.label(), w.label());
            w.push(Instr::Load { local: failure });
            w.push(Instr::FailureMap {});
            w.push(Instr::FieldOrNull { name: data });
            w.push(Instr::FieldOrFail { name: field });
            w.push(Instr::JumpFailed { to: w.to(none) });
            w.bind(found);
            if bind.read == Read::Value {
                w.push(kept_form(step.store));
                w.push(Instr::JumpFailed { to: w.to(none) });
            }
            let held = w.local();
            w.push(Instr::Store { local: held });
            w.push(Instr::Load { local: held });
            w.push(Instr::SetVar { scope: SCOPE, name });
            if bind.read == Read::Value {
                w.push(Instr::Load { local: held });
                w.push(Instr::StepOutput {});
            }
            w.free(held);
            w.push(Instr::Jump { to: w.to(done) });
            w.bind(none);
            w.push(Instr::Pop {});
            if let (Read::Value, Some(unread)) = (bind.read, unread) {
                let absent = w.label();
                w.push(Instr::Load { local: unread });
                w.push(Instr::IsNull {});
                w.push(Instr::JumpIf { to: w.to(absent) });
                w.push(Instr::Load { local: unread });
                w.push(Instr::Null {});
                w.push(Instr::Store { local: unread });
                w.push(Instr::Jump { to: w.to(found) });
                w.bind(absent);
            }
            w.bind(done);
        }
        w.push(Instr::Take { local: failure });
        w.free(failure);
    }

    /// The node, again while it fails and tries are left. Stack before: the open step; after: the
    /// open step and what it ended with.
    #[allow(
        clippy::too_many_arguments,
        reason = "the ways out of a step are its arguments"
    )]
    fn attempts(
        &mut self,
        w: &mut Writer,
        step: &Step,
        number: u32,
        places: Places,
        failed: Label,
        degraded: Label,
        exits: Exits,
    ) {
        if step.attempts.most <= 1 {
            self.node(w, step, number, places, failed, degraded, exits);
            return;
        }
        let (again, wrong, done) = (w.label(), w.label(), w.label());
        let (tried, pause, failure) = (w.local(), w.local(), w.local());
        w.push(Instr::Int { value: 1 });
        w.push(Instr::Store { local: tried });
        self.int(w, step.attempts.first_pause_ms);
        w.push(Instr::Store { local: pause });
        w.bind(again);
        self.node(w, step, number, places, wrong, degraded, exits);
        w.push(Instr::Jump { to: w.to(done) });

        w.bind(wrong);
        w.push(Instr::Store { local: failure });
        let (give_up, give_up_over) = (w.label(), w.label());
        self.is_final(w, failure, give_up, give_up_over);
        w.push(Instr::Load { local: tried });
        self.int(w, u64::from(step.attempts.most));
        w.push(Instr::Less {});
        w.push(Instr::JumpUnless { to: w.to(give_up) });
        w.push(Instr::StepAttempt {});
        if step.attempts.first_pause_ms > 0 {
            w.push(Instr::Load { local: pause });
            self.sleep(w, number);
            w.push(Instr::JumpFailed { to: w.to(failed) });
            w.push(Instr::Pop {});
            self.grow(w, &step.attempts, pause, failed);
        }
        w.push(Instr::Load { local: tried });
        w.push(Instr::Int { value: 1 });
        w.push(Instr::Add {});
        w.push(Instr::IntOr { to: w.to(failed) });
        w.push(Instr::Store { local: tried });
        w.push(Instr::Jump { to: w.to(again) });

        w.bind(give_up_over);
        w.push(Instr::Pop {});
        w.bind(give_up);
        w.push(Instr::Load { local: failure });
        w.push(Instr::Jump { to: w.to(failed) });
        for local in [tried, pause, failure] {
            w.free(local);
        }
        w.bind(done);
    }

    /// Goes to `give_up` if trying again cannot help: the program cannot be run at all.
    fn is_final(&mut self, w: &mut Writer, failure: u8, give_up: Label, give_up_over: Label) {
        let (data, exit_code) = (self.tables.text("data"), self.tables.text("exit_code"));
        let codes = self
            .tables
            .literal(&Literal::List(vec![Literal::Int(126), Literal::Int(127)]));
        w.push(Instr::Load { local: failure });
        w.push(Instr::FailureMap {});
        w.push(Instr::FieldOrNull { name: data });
        w.push(Instr::FieldOrNull { name: exit_code });
        w.push(Instr::Const { constant: codes });
        w.push(Instr::InByType {});
        w.push(Instr::JumpFailed {
            to: w.to(give_up_over),
        });
        w.push(Instr::TruthEmptiness {});
        w.push(Instr::JumpIf { to: w.to(give_up) });
    }

    fn grow(&mut self, w: &mut Writer, attempts: &Attempts, pause: u8, failed: Label) {
        w.push(Instr::Load { local: pause });
        match attempts.growth {
            Growth::Doubling => {
                w.push(Instr::Int { value: 2 });
                w.push(Instr::Mul {});
            }
            Growth::Linear => {
                self.int(w, attempts.first_pause_ms);
                w.push(Instr::Add {});
            }
        }
        self.int(w, attempts.longest_pause_ms);
        w.push(Instr::Builtin {
            which: Builtin::Min as u8,
            arguments: 2,
        });
        w.push(Instr::IntOr { to: w.to(failed) });
        w.push(Instr::Store { local: pause });
    }

    /// Stack: the milliseconds, then the reply.
    pub fn sleep(&mut self, w: &mut Writer, step: u32) {
        let fixed = self.tables.literal(&Literal::Map(Vec::new()));
        self.tables.calls.push(HostCall {
            kind: HostKind::Sleep,
            step,
            open: 1,
            fixed,
        });
        w.push(Instr::Host {
            call: self.tables.calls.len() as u32 - 1,
        });
    }

    /// An integer as the `int` kind. Larger ones than an instruction holds are cut to that: they
    /// are milliseconds and counts, where the cut is a month or more.
    pub fn int(&mut self, w: &mut Writer, value: u64) {
        w.push(Instr::Int {
            value: i32::try_from(value).unwrap_or(i32::MAX),
        });
    }

    /// One try. Stack before: the open step; after, and at `degraded`: the open step and what it
    /// ended with; at `failed`: the open step and the failure.
    #[allow(
        clippy::too_many_arguments,
        reason = "the ways out of a step are its arguments"
    )]
    fn node(
        &mut self,
        w: &mut Writer,
        step: &Step,
        number: u32,
        places: Places,
        failed: Label,
        degraded: Label,
        exits: Exits,
    ) {
        let value = places.value;
        match &step.node {
            Node::Act(action) => {
                self.action(w, action, step.deadline.as_ref(), number, failed);
                self.bind(w, step, places, failed, degraded);
            }
            Node::Seq(steps) => {
                let (wrong, ended, done) = (w.label(), w.label(), w.label());
                // Inside, the open step lies below; on the way out by `ended` it is closed first.
                self.steps(
                    w,
                    steps,
                    value,
                    Exits {
                        failed: wrong,
                        ended,
                    },
                );
                w.push(Instr::Null {});
                w.push(Instr::Jump { to: w.to(done) });
                w.bind(ended);
                w.push(Instr::Null {});
                w.push(Instr::StepEnd {
                    status: Status::Completed as u8,
                });
                w.push(Instr::Jump {
                    to: w.to(exits.ended),
                });
                w.bind(wrong);
                w.push(Instr::Jump { to: w.to(failed) });
                w.bind(done);
            }
            Node::Each(each) => self.each(w, each, number, value, failed, exits),
            Node::While(body) => self.repeat(w, body, number, value, failed, exits),
            Node::Par { branches, width } => self.par(w, branches, *width, failed),
        }
    }

    /// Sets what a successful step sets. Stack: the reply, before and after.
    fn bind(
        &mut self,
        w: &mut Writer,
        step: &Step,
        places: Places,
        failed: Label,
        degraded: Label,
    ) {
        let value = places.value;
        let needs_value = value.is_some() || step.bind.iter().any(|b| b.read == Read::Value);
        // JSON is asked for even if nobody binds it: not being JSON is then the step's failure.
        let checks = matches!(step.store, Store::Json | Store::JsonOrDegrade);
        if step.bind.is_empty() && !needs_value && !checks {
            return;
        }
        let reply = w.local();
        w.push(Instr::Store { local: reply });
        for bind in step.bind.iter().filter(|bind| bind.read != Read::Value) {
            let field = match bind.read {
                Read::ExitCode => "exit_code",
                _ => "stderr",
            };
            self.field(w, reply, field, failed);
            w.push(Instr::SetVar {
                scope: SCOPE,
                name: self.tables.text(&bind.name),
            });
        }
        if needs_value || checks {
            self.field(w, reply, "stdout", failed);
            match step.store {
                Store::AsIs => self.bind_value(w, step, value),
                Store::Exact => {
                    w.push(Instr::Concat { parts: 1 });
                    w.push(Instr::JumpFailed { to: w.to(failed) });
                    self.bind_value(w, step, value);
                }
                Store::JsonOrText => {
                    w.push(Instr::JsonOrText {});
                    w.push(Instr::JumpFailed { to: w.to(failed) });
                    self.bind_value(w, step, value);
                }
                Store::Json => {
                    if let Some(unread) = places.unread {
                        w.push(Instr::Store { local: unread });
                        w.push(Instr::Load { local: unread });
                    }
                    w.push(Instr::ParseJson {});
                    w.push(Instr::JumpFailed { to: w.to(failed) });
                    self.bind_value(w, step, value);
                }
                Store::JsonOrDegrade => {
                    let (text, done) = (w.label(), w.label());
                    w.push(Instr::ParseJson {});
                    w.push(Instr::JumpFailed { to: w.to(text) });
                    self.bind_value(w, step, value);
                    w.push(Instr::Jump { to: w.to(done) });
                    w.bind(text);
                    w.push(Instr::Pop {});
                    self.field(w, reply, "stdout", failed);
                    w.push(Instr::JsonOrText {});
                    w.push(Instr::JumpFailed { to: w.to(failed) });
                    self.bind_value(w, step, value);
                    w.push(Instr::Load { local: reply });
                    w.push(Instr::Jump { to: w.to(degraded) });
                    w.bind(done);
                }
            }
        }
        w.push(Instr::Take { local: reply });
        w.free(reply);
    }

    fn field(&mut self, w: &mut Writer, local: u8, field: &str, failed: Label) {
        w.push(Instr::Load { local });
        w.push(Instr::FieldOrNull {
            name: self.tables.text(field),
        });
        w.push(Instr::JumpFailed { to: w.to(failed) });
    }

    /// Stack: the value, which goes to its variables, its local and the record.
    fn bind_value(&mut self, w: &mut Writer, step: &Step, value: Option<u8>) {
        let names: Vec<u32> = step
            .bind
            .iter()
            .filter(|bind| bind.read == Read::Value)
            .map(|bind| self.tables.text(&bind.name))
            .collect();
        if names.is_empty() && value.is_none() {
            w.push(Instr::Pop {});
            return;
        }
        let held = value.unwrap_or_else(|| w.local());
        w.push(Instr::Store { local: held });
        for name in names {
            w.push(Instr::Load { local: held });
            w.push(Instr::SetVar { scope: SCOPE, name });
        }
        w.push(Instr::Load { local: held });
        w.push(Instr::StepOutput {});
        if value.is_none() {
            w.free(held);
        }
    }
}

/// Where a guard goes when the step does not run.
struct Skip {
    next: Label,
    failed: Label,
}

/// Locals that a step's output goes to, besides its variables.
#[derive(Clone, Copy)]
struct Places {
    /// The value, for whoever collects it.
    value: Option<u8>,
    /// The output before it is read as JSON.
    unread: Option<u8>,
}

/// How the output of a failed step is stored: as text, in the form the step would store text in.
fn kept_form(store: Store) -> Instr {
    match store {
        Store::JsonOrText | Store::JsonOrDegrade => Instr::JsonOrText {},
        Store::AsIs | Store::Exact | Store::Json => Instr::Concat { parts: 1 },
    }
}
