//! Code for steps: what wraps a node, in the order of the fields of [`Step`].
//!
//! The shape of the stack is the same everywhere: below, the steps that are open around this one;
//! on top, at a label for failures, the failure. So every way out of a step is a jump.

use super::Emitter;
use super::action::Moment;
use super::builder::{Label, Writer};
use super::expr::{self, SCOPE, truth_of};
use crate::ir::{Attempts, Growth, Guard, Literal, Node, OnFailure, Read, Step, Store};
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

/// Where the value of a step goes.
#[derive(Clone, Copy)]
pub struct Taken {
    /// The value, which a step that failed may have all the same.
    pub value: u8,
    /// The value if the step succeeded.
    pub collected: Option<u8>,
}

impl Taken {
    /// Stack: the value, which is taken.
    pub fn store(self, w: &mut Writer) {
        w.push(Instr::Store { local: self.value });
        if let Some(collected) = self.collected {
            w.push(Instr::Load { local: self.value });
            w.push(Instr::Store { local: collected });
        }
    }
}

/// What the ways out of a try need to know.
#[derive(Clone, Copy)]
struct Try {
    /// The local that counts the tries, and how many there may be; none if there is one only.
    again: Option<(u8, u32)>,
    /// The local for a reply that came, but did not hold what the step is for.
    said: Option<u8>,
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
    /// Steps one after the other; the value of the last that has one is the value of all.
    pub fn steps(&mut self, w: &mut Writer, steps: &[Step], value: Option<Taken>, exits: Exits) {
        let stops = |step: &&Step| self.stops_plainly(step, Opening::Step);
        if steps.iter().filter(stops).count() < 2 {
            for step in steps {
                self.step(w, step, Opening::Step, value, exits);
            }
            return;
        }
        // Steps that end the list when they fail all do it in the same way, so they share it.
        let (stop, done) = (w.label(), w.label());
        for step in steps {
            self.step_or(w, step, Opening::Step, value, exits, Some(stop));
        }
        w.push(Instr::Jump { to: w.to(done) });
        w.bind(stop);
        self.stop(w, exits);
        w.bind(done);
    }

    /// Whether a failure of the step does nothing but end the list it stands in.
    fn stops_plainly(&self, step: &Step, opening: Opening) -> bool {
        let hooked = is_hooked(step, opening) && self.has_hook(Moment::Failed);
        step.on_failure == OnFailure::Stop && !hooked
    }

    /// One step. Where its value goes, what is there stays when the step has none: it did not run,
    /// or failed.
    pub fn step(
        &mut self,
        w: &mut Writer,
        step: &Step,
        opening: Opening,
        value: Option<Taken>,
        exits: Exits,
    ) {
        self.step_or(w, step, opening, value, exits, None);
    }

    /// The same; a failure that does nothing but end the list goes to `stop`, with the open step
    /// and the failure on top.
    fn step_or(
        &mut self,
        w: &mut Writer,
        step: &Step,
        opening: Opening,
        value: Option<Taken>,
        exits: Exits,
        stop: Option<Label>,
    ) {
        let number = match opening {
            Opening::Step => self.tables.step(&step.id, step.kind, step.span),
            Opening::Iteration { step, .. } => step,
        };
        self.secret_outputs(step, number);
        let stop = stop.filter(|_| self.stops_plainly(step, opening));
        let (next, failed) = (w.label(), stop.unwrap_or_else(|| w.label()));
        let said = may_say(step, value).then(|| w.local());
        if let Some(said) = said {
            w.push(Instr::Null {});
            w.push(Instr::Store { local: said });
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
        let hooked = is_hooked(step, opening);
        if hooked {
            self.hook(w, step, Moment::Before, None);
        }
        let degraded = w.label();
        let ways = Ways {
            failed,
            degraded,
            exits,
        };
        self.attempts(w, step, number, value, said, ways);
        let mut ends = vec![(None, Status::Completed)];
        if step.store == Store::JsonOrDegrade && matches!(step.node, Node::Act(_)) {
            ends.push((Some(degraded), Status::Degraded));
        }
        let last = ends.len() - 1;
        for (index, (label, status)) in ends.into_iter().enumerate() {
            if let Some(label) = label {
                w.bind(label);
            }
            w.push(Instr::StepEnd {
                status: status as u8,
            });
            if hooked {
                self.hook(w, step, Moment::After(status), None);
            }
            if index < last || stop.is_none() {
                w.push(Instr::Jump { to: w.to(next) });
            }
        }
        if stop.is_none() {
            w.bind(failed);
            if hooked && self.has_hook(Moment::Failed) {
                let failure = w.local();
                w.push(Instr::Store { local: failure });
                self.hook(w, step, Moment::Failed, Some(failure));
                w.push(Instr::Take { local: failure });
                w.free(failure);
            }
            self.failure(w, step, value, said, next, exits);
        }
        if let Some(said) = said {
            w.free(said);
        }
        w.bind(next);
    }

    /// Ends the open step with the failure on top, and the list with it.
    fn stop(&mut self, w: &mut Writer, exits: Exits) {
        let failure = w.local();
        w.push(Instr::Store { local: failure });
        w.push(Instr::Load { local: failure });
        w.push(Instr::StepEnd {
            status: Status::Failed as u8,
        });
        w.push(Instr::Take { local: failure });
        w.push(Instr::Jump {
            to: w.to(exits.failed),
        });
        w.free(failure);
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
        value: Option<Taken>,
        said: Option<u8>,
        next: Label,
        exits: Exits,
    ) {
        w.at(step.span);
        let end = Instr::StepEnd {
            status: Status::Failed as u8,
        };
        match step.on_failure {
            OnFailure::Stop => self.stop(w, exits),
            OnFailure::SkipRest => {
                self.bind_failed(w, step, value, said);
                w.push(end);
                w.push(Instr::Jump {
                    to: w.to(exits.ended),
                });
            }
            OnFailure::Continue { .. } => {
                self.bind_failed(w, step, value, said);
                w.push(end);
                w.push(Instr::Jump { to: w.to(next) });
            }
        }
    }

    /// What a failed step binds all the same: its exit code, what it wrote to stderr and, where
    /// the recipe's rules say so, its output. Stack: the failure, before and after.
    fn bind_failed(&mut self, w: &mut Writer, step: &Step, value: Option<Taken>, said: Option<u8>) {
        if !matches!(step.node, Node::Act(_)) {
            // Whatever the steps in it gave, together they failed.
            if let Some(value) = value {
                w.push(Instr::Null {});
                value.store(w);
            }
            return;
        }
        if !binds_failed(step, value) {
            return;
        }
        let failure = w.local();
        w.push(Instr::Store { local: failure });
        for bind in &step.bind {
            if bind.read == Read::Value && !keeps_output(step) {
                continue;
            }
            let none = w.label();
            self.known(w, failure, said, field_of(bind.read), none);
            if bind.read == Read::Value {
                kept_form(w, step.store, none);
            }
            w.push(Instr::SetVar {
                scope: SCOPE,
                name: self.tables.text(&bind.name),
            });
            w.bind(none);
        }
        if keeps_output(step) && takes_value(step, value) {
            let (none, held) = (w.label(), w.local());
            self.known(w, failure, said, field_of(Read::Value), none);
            kept_form(w, step.store, none);
            w.push(Instr::Store { local: held });
            if let Some(Taken { value, .. }) = value {
                w.push(Instr::Load { local: held });
                w.push(Instr::Store { local: value });
            }
            w.push(Instr::Take { local: held });
            w.push(Instr::StepOutput {});
            w.bind(none);
            w.free(held);
        }
        w.push(Instr::Take { local: failure });
        w.free(failure);
    }

    /// Pushes what a failure knows of a field, or else what was said before it. A failure before
    /// the process ran knows nothing: to `none`, with nothing pushed.
    fn known(&mut self, w: &mut Writer, failure: u8, said: Option<u8>, field: &str, none: Label) {
        let known = w.label();
        let name = self.tables.text(field);
        w.push(Instr::Load { local: failure });
        w.push(Instr::FailureMap {});
        for source in [None, said] {
            if let Some(said) = source {
                w.push(Instr::Load { local: said });
            }
            let unknown = w.label();
            w.push(Instr::FieldOrFail { name });
            w.push(Instr::JumpFailed { to: w.to(unknown) });
            w.push(Instr::Jump { to: w.to(known) });
            w.bind(unknown);
            w.push(Instr::Pop {});
            if said.is_none() {
                break;
            }
        }
        w.push(Instr::Jump { to: w.to(none) });
        w.bind(known);
    }

    /// The node, again while it fails and tries are left. Stack before: the open step; after: the
    /// open step and what it ended with.
    fn attempts(
        &mut self,
        w: &mut Writer,
        step: &Step,
        number: u32,
        value: Option<Taken>,
        said: Option<u8>,
        ways: Ways,
    ) {
        let failed = ways.failed;
        if step.attempts.most <= 1 {
            self.node(w, step, number, value, Try { again: None, said }, ways);
            return;
        }
        let (again, wrong, done) = (w.label(), w.label(), w.label());
        let (tried, pause, failure) = (w.local(), w.local(), w.local());
        let Attempts {
            most,
            first_pause_ms,
            longest_pause_ms,
            ..
        } = step.attempts;
        let first_pause = first_pause_ms.min(longest_pause_ms);
        w.push(Instr::Int { value: 1 });
        w.push(Instr::Store { local: tried });
        self.int(w, first_pause);
        w.push(Instr::Store { local: pause });
        w.bind(again);
        let this = Try {
            again: Some((tried, most)),
            said,
        };
        let inner = Ways {
            failed: wrong,
            ..ways
        };
        self.node(w, step, number, value, this, inner);
        w.push(Instr::Jump { to: w.to(done) });

        w.bind(wrong);
        w.push(Instr::Store { local: failure });
        let (give_up, give_up_over) = (w.label(), w.label());
        self.is_final(w, failure, give_up, give_up_over);
        w.push(Instr::Load { local: tried });
        self.int(w, u64::from(most));
        w.push(Instr::Less {});
        w.push(Instr::JumpUnless { to: w.to(give_up) });
        if let Some(said) = said {
            w.push(Instr::Null {});
            w.push(Instr::Store { local: said });
        }
        w.push(Instr::StepAttempt {});
        if first_pause > 0 {
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
        let exit_code = self.tables.text("exit_code");
        let codes = self
            .tables
            .literal(&Literal::List(vec![Literal::Int(126), Literal::Int(127)]));
        w.push(Instr::Load { local: failure });
        w.push(Instr::FailureMap {});
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
    fn node(
        &mut self,
        w: &mut Writer,
        step: &Step,
        number: u32,
        value: Option<Taken>,
        this: Try,
        ways: Ways,
    ) {
        let Ways { failed, exits, .. } = ways;
        match &step.node {
            Node::Act(action) => {
                self.action(w, action, step.deadline.as_ref(), number, failed);
                self.bind(w, step, value, this, ways);
            }
            Node::Seq(steps) => {
                let (ended, done) = (w.label(), w.label());
                if let Some(value) = value {
                    w.push(Instr::Null {});
                    value.store(w);
                }
                // Inside, the open step lies below; on the way out by `ended` it is closed first.
                self.steps(w, steps, value, Exits { failed, ended });
                w.push(Instr::Null {});
                w.push(Instr::Jump { to: w.to(done) });
                w.bind(ended);
                self.end_early(w, exits);
                w.bind(done);
            }
            Node::Each(each) => self.each(w, each, number, value, failed, exits),
            Node::While(body) => self.repeat(w, body, number, value, failed, exits),
            Node::Par { branches, width } => self.par(w, branches, *width, failed, exits),
        }
    }

    /// Sets what a successful step sets. Stack: the reply, before and after.
    fn bind(&mut self, w: &mut Writer, step: &Step, value: Option<Taken>, this: Try, ways: Ways) {
        let failed = ways.failed;
        // JSON is asked for even if nobody binds it: not being JSON is then the step's failure.
        let checks = matches!(step.store, Store::Json { .. } | Store::JsonOrDegrade);
        if step.bind.is_empty() && value.is_none() && !checks {
            return;
        }
        let (reply, held) = (w.local(), w.local());
        w.push(Instr::Store { local: reply });
        self.field(w, reply, field_of(Read::Value), failed);
        match step.store {
            Store::AsIs => {}
            Store::Exact => {
                w.push(Instr::Concat { parts: 1 });
                w.push(Instr::JumpFailed { to: w.to(failed) });
            }
            Store::JsonOrText => {
                w.push(Instr::JsonOrText {});
                w.push(Instr::JumpFailed { to: w.to(failed) });
            }
            Store::Json { .. } => {
                w.push(Instr::ParseJson {});
                match this.said {
                    None => w.push(Instr::JumpFailed { to: w.to(failed) }),
                    Some(said) => {
                        let (wrong, right) = (w.label(), w.label());
                        w.push(Instr::JumpFailed { to: w.to(wrong) });
                        w.push(Instr::Jump { to: w.to(right) });
                        w.bind(wrong);
                        w.push(Instr::Load { local: reply });
                        w.push(Instr::Store { local: said });
                        w.push(Instr::Jump { to: w.to(failed) });
                        w.bind(right);
                    }
                }
            }
            Store::JsonOrDegrade => {
                let (text, right) = (w.label(), w.label());
                w.push(Instr::ParseJson {});
                w.push(Instr::JumpFailed { to: w.to(text) });
                w.push(Instr::Jump { to: w.to(right) });
                w.bind(text);
                // Text is taken for want of JSON only when there is no other try.
                if let Some((tried, most)) = this.again {
                    w.push(Instr::Load { local: tried });
                    self.int(w, u64::from(most));
                    w.push(Instr::Less {});
                    w.push(Instr::JumpIf { to: w.to(failed) });
                }
                w.push(Instr::Pop {});
                self.field(w, reply, field_of(Read::Value), failed);
                w.push(Instr::JsonOrText {});
                w.push(Instr::JumpFailed { to: w.to(failed) });
                self.bind_all(w, step, reply, held, value, failed);
                w.push(Instr::Load { local: reply });
                w.push(Instr::Jump {
                    to: w.to(ways.degraded),
                });
                w.bind(right);
            }
        }
        self.bind_all(w, step, reply, held, value, failed);
        w.push(Instr::Take { local: reply });
        w.free(reply);
        w.free(held);
    }

    fn field(&mut self, w: &mut Writer, local: u8, field: &str, failed: Label) {
        w.push(Instr::Load { local });
        w.push(Instr::FieldOrNull {
            name: self.tables.text(field),
        });
        w.push(Instr::JumpFailed { to: w.to(failed) });
    }

    /// Stack: the value, which goes to its variables, to whoever takes it and to the record.
    fn bind_all(
        &mut self,
        w: &mut Writer,
        step: &Step,
        reply: u8,
        held: u8,
        value: Option<Taken>,
        failed: Label,
    ) {
        w.push(Instr::Store { local: held });
        for bind in &step.bind {
            match bind.read {
                Read::Value => w.push(Instr::Load { local: held }),
                other => self.field(w, reply, field_of(other), failed),
            }
            w.push(Instr::SetVar {
                scope: SCOPE,
                name: self.tables.text(&bind.name),
            });
        }
        if let Some(value) = value {
            w.push(Instr::Load { local: held });
            value.store(w);
        }
        if takes_value(step, value) {
            w.push(Instr::Load { local: held });
            w.push(Instr::StepOutput {});
        }
    }
}

/// Where control goes from a try.
#[derive(Clone, Copy)]
struct Ways {
    failed: Label,
    degraded: Label,
    exits: Exits,
}

/// Where a reply holds what a bind reads.
fn field_of(read: Read) -> &'static str {
    match read {
        Read::Value => "stdout",
        Read::ExitCode => "exit_code",
        Read::Stderr => "stderr",
    }
}

fn takes_value(step: &Step, value: Option<Taken>) -> bool {
    value.is_some() || step.bind.iter().any(|bind| bind.read == Read::Value)
}

fn keeps_output(step: &Step) -> bool {
    step.on_failure == OnFailure::Continue { keep_output: true }
}

/// Stack: the output of a failed step, then what of it is stored: text, in the form the step
/// would store text in. To `none` if it cannot be had.
fn kept_form(w: &mut Writer, store: Store, none: Label) {
    let (wrong, right) = (w.label(), w.label());
    w.push(match store {
        Store::JsonOrText | Store::JsonOrDegrade | Store::Json { trim: true } => {
            Instr::JsonOrText {}
        }
        Store::AsIs | Store::Exact | Store::Json { trim: false } => Instr::Concat { parts: 1 },
    });
    w.push(Instr::JumpFailed { to: w.to(wrong) });
    w.push(Instr::Jump { to: w.to(right) });
    w.bind(wrong);
    w.push(Instr::Pop {});
    w.push(Instr::Jump { to: w.to(none) });
    w.bind(right);
}

/// Whether hooks run around a step: around those that the user wrote.
fn is_hooked(step: &Step, opening: Opening) -> bool {
    matches!(opening, Opening::Step) && !step.kind.is_hidden()
}

/// Whether a failed step sets anything.
fn binds_failed(step: &Step, value: Option<Taken>) -> bool {
    matches!(step.node, Node::Act(_))
        && step.on_failure != OnFailure::Stop
        && (step.bind.iter().any(|bind| bind.read != Read::Value)
            || keeps_output(step) && takes_value(step, value))
}

/// Whether a step can fail after a reply of which something is kept.
fn may_say(step: &Step, value: Option<Taken>) -> bool {
    matches!(step.store, Store::Json { .. }) && binds_failed(step, value)
}

/// Where a guard goes when the step does not run.
struct Skip {
    next: Label,
    failed: Label,
}
