//! Code for hooks, which run around steps and can fail none of them.

use super::Emitter;
use super::action::Arguments;
use super::builder::{Label, Writer};
use super::expr::SCOPE;
use crate::ir::{Exports, HOOK_NAMES, Literal, Script, Step};
use rrc_vm::isa::{Instr, Kind, Status};
use rrc_vm::plan::{HostKind, StepKind};

/// Milliseconds that a hook may take.
const HOOK_TIMEOUT_MS: i64 = 30_000;

/// When a hook runs.
#[derive(Clone, Copy)]
pub enum Moment {
    Before,
    After(Status),
    Failed,
}

impl Moment {
    fn index(self) -> usize {
        match self {
            Moment::Before => 0,
            Moment::After(_) => 1,
            Moment::Failed => 2,
        }
    }
}

impl Emitter<'_> {
    /// Runs a hook, if there is one for this moment. Stack: the same before and after.
    pub fn hook(&mut self, w: &mut Writer, step: &Step, moment: Moment, failure: Option<u8>) {
        let Some(function) = self.hooks[self.current][moment.index()] else {
            return;
        };
        let status = match moment {
            Moment::Before => "running",
            Moment::After(status) => status.word(),
            Moment::Failed => Status::Failed.word(),
        };
        let texts = [step.id.as_str(), status];
        w.push(Instr::Load { local: SCOPE });
        for (name, text) in HOOK_NAMES.iter().zip(texts) {
            w.push(Instr::Text {
                text: self.tables.text(text),
            });
            w.push(Instr::Put {
                name: self.tables.text(name),
            });
        }
        match failure {
            Some(failure) => {
                w.push(Instr::Load { local: failure });
                w.push(Instr::FailureMap {});
            }
            None => w.push(Instr::EmptyMap {}),
        }
        w.push(Instr::Call { function });
        w.push(Instr::Pop {});
    }

    pub fn has_hook(&self, moment: Moment) -> bool {
        self.hooks[self.current][moment.index()].is_some()
    }

    /// A function that runs a hook: the variables, and what is known of a failure.
    pub fn hook_function(&mut self, name: &str, script: &Script) -> u32 {
        let text = self.tables.text(name);
        let params = [Kind::Map, Kind::Map];
        let function = self.code.declare(text, &params, &[Kind::Any]);
        let mut w = Writer::new(params.len() as u8);
        let wrong = w.label();
        let error = self.tables.text(HOOK_NAMES[2]);
        // What went wrong, as one more variable; nothing, when nothing did.
        w.push(Instr::VarOrNull {
            scope: 1,
            name: self.tables.text("message"),
        });
        w.push(Instr::SetVar {
            scope: SCOPE,
            name: error,
        });
        let mut call = Arguments::new(HostKind::Hook);
        call.fix_text(&mut self.tables, "event", name);
        call.fix("timeout_ms", Literal::Int(HOOK_TIMEOUT_MS));
        self.script(&mut w, &mut call, script, wrong);
        if self.program.units[self.current].exports == Exports::Everything {
            call.push("ambient", Instr::Load { local: SCOPE });
        }
        // A call belongs to a step; a hook belongs to whichever step it runs for.
        let step = self.tables.step(name, StepKind::Bash, script.span);
        call.ask(&mut w, &mut self.tables, step);
        w.push(Instr::Return {});
        w.bind(wrong);
        self.hook_failed(&mut w);
        w.push(Instr::Return {});
        self.finished.push((function, w));
        function
    }

    /// Says that a hook could not run: its text cannot be made. Stack: the failure, before and
    /// after.
    fn hook_failed(&mut self, w: &mut Writer) {
        let (failure, unsaid) = (w.local(), w.label());
        w.push(Instr::Store { local: failure });
        self.warn_of(w, "a hook failed: ", failure, unsaid);
        w.push(Instr::Take { local: failure });
        w.bind(unsaid);
        w.free(failure);
    }

    /// Warns with the message of the failure in a local. Where that is too long to be said, it goes on at the
    /// label with what came of it on the stack.
    pub(super) fn warn_of(&mut self, w: &mut Writer, words: &str, failure: u8, unsaid: Label) {
        w.push(Instr::Text {
            text: self.tables.text(words),
        });
        w.push(Instr::Load { local: failure });
        w.push(Instr::FailureMap {});
        w.push(Instr::FieldOrNull {
            name: self.tables.text("message"),
        });
        w.push(Instr::Concat { parts: 2 });
        w.push(Instr::JumpFailed { to: w.to(unsaid) });
        w.push(Instr::Warn {});
    }
}
