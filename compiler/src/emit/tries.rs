//! A node again, while it fails and tries are left, and the pauses between.

use super::Emitter;
use super::builder::{Label, Writer};
use super::step::{Taken, Try, Ways};
use crate::ir::{Action, Attempts, Growth, Literal, Node, Step};
use rrc_vm::fault::FailureKind;
use rrc_vm::isa::{Builtin, Instr};
use rrc_vm::plan::{HostCall, HostKind};

impl Emitter<'_> {
    /// The node, again while it fails and tries are left. Stack before: the open step; after: the
    /// open step and what it ended with.
    pub fn attempts(
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
        self.is_final(w, step, failure, give_up, give_up_over);
        w.push(Instr::Load { local: tried });
        self.int(w, u64::from(most));
        w.push(Instr::Less {});
        w.push(Instr::JumpUnless { to: w.to(give_up) });
        // What a turn of a loop set stays.
        if let Some(said) = said.filter(|_| matches!(step.node, Node::Act(_))) {
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

    /// Goes to `give_up` if trying again cannot help: the program cannot be run at all, a limit
    /// of the run is reached, or the values of the step do not do.
    fn is_final(
        &mut self,
        w: &mut Writer,
        step: &Step,
        failure: u8,
        give_up: Label,
        give_up_over: Label,
    ) {
        let exit_code = self.tables.text("exit_code");
        let codes = self
            .tables
            .literal(&Literal::List(vec![Literal::Int(126), Literal::Int(127)]));
        w.push(Instr::Load { local: failure });
        w.push(Instr::FailureMap {});
        w.push(Instr::FieldOrNull { name: exit_code });
        w.push(Instr::Const { constant: codes });
        w.push(Instr::InByType {
            to: w.to(give_up_over),
        });
        w.push(Instr::JumpIf { to: w.to(give_up) });
        // Of a command that no shell stands before, the code does not say that there is no such program.
        let of_values = match starts_one(step) {
            true => &OF_VALUES[..],
            false => &[],
        };
        let kinds = FINAL.iter().chain(of_values);
        let kinds = kinds.map(|kind| Literal::Text(kind.word().to_string()));
        let kinds = self.tables.literal(&Literal::List(kinds.collect()));
        w.push(Instr::Load { local: failure });
        w.push(Instr::FailureMap {});
        w.push(Instr::FieldOrNull {
            name: self.tables.text("kind"),
        });
        w.push(Instr::Const { constant: kinds });
        w.push(Instr::InByType {
            to: w.to(give_up_over),
        });
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
        self.sleep_with(w, step, Vec::new());
    }

    /// The same, counted from when the last turn of the open loop began.
    pub fn sleep_after_turn(&mut self, w: &mut Writer, step: u32) {
        let after_turn = ("after_turn".to_string(), Literal::Bool(true));
        self.sleep_with(w, step, vec![after_turn]);
    }

    fn sleep_with(&mut self, w: &mut Writer, step: u32, how: Vec<(String, Literal)>) {
        let fixed = self.tables.literal(&Literal::Map(how));
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
}

/// What a failure is of that comes again however often it is tried.
const FINAL: [FailureKind; 6] = [
    FailureKind::CommandNotFound,
    FailureKind::PermissionDenied,
    FailureKind::InvalidCwd,
    FailureKind::SpawnFailed,
    FailureKind::StepLimit,
    FailureKind::DepthLimit,
];

/// Whether the work of a step is one process: what runs other steps may fail by values that they make.
fn starts_one(step: &Step) -> bool {
    let Node::Act(action) = &step.node else {
        return false;
    };
    matches!(**action, Action::Exec(_) | Action::Agent(_))
}

/// What values fail by before anything starts. They are the same at every try.
const OF_VALUES: [FailureKind; 5] = [
    FailureKind::Undefined,
    FailureKind::WrongType,
    FailureKind::NotANumber,
    FailureKind::Overflow,
    FailureKind::DivisionByZero,
];
