//! Code that asks agents: what a step asks them, and to put right what failed.

use super::Emitter;
use super::action::Arguments;
use super::builder::{Label, Writer};
use crate::ir::{Agent, Expr, Literal, Staging};
use rrc_vm::isa::{Builtin, Instr};
use rrc_vm::plan::{HostKind, NeedKind};

/// What stands before the names of the steps that failed, when an agent is told.
const FAILURES: &str = "These steps failed:";

/// What an agent says, in any case, when it has put a recipe right.
const RECOVERED: &str = "STATUS: COMPLETE";

impl Emitter<'_> {
    pub(super) fn agent(
        &mut self,
        w: &mut Writer,
        agent: &Agent,
        deadline: Option<&Expr>,
        step: u32,
        failed: Label,
    ) {
        let mut call = Arguments::new(HostKind::Agent);
        for (param, text) in [
            ("agent", &agent.agent),
            ("mode", &agent.mode),
            ("model", &agent.model),
        ] {
            if let Some(text) = text {
                call.fix_text(&mut self.tables, param, text);
            }
        }
        let name = agent.agent.as_deref().unwrap_or_default();
        self.tables.need_of_step(NeedKind::Agent, name, step);
        self.text(w, &mut call, "prompt", &agent.prompt, failed);
        self.env(w, &mut call, &agent.env, failed);
        if let Some(cwd) = &agent.cwd {
            self.text(w, &mut call, "cwd", cwd, failed);
        }
        if let Some(deadline) = deadline {
            self.value(w, &mut call, "timeout_ms", deadline, failed);
        }
        for (param, wanted) in [
            ("once", agent.once),
            ("auto_stage", agent.staging != Staging::Never),
            ("json", agent.staging == Staging::WithJson),
        ] {
            if wanted {
                call.fix(param, Literal::Bool(true));
            }
        }
        self.pace(&mut call);
        call.ask(w, &mut self.tables, step);
    }

    /// How fast agents are asked, as the first recipe says, else this one.
    fn pace(&self, call: &mut Arguments) {
        let units = &self.program.units;
        let own = units[self.current].pace.as_ref();
        let Some(pace) = units[0].pace.as_ref().or(own) else {
            return;
        };
        let int = |value: u64| Literal::Int(i64::try_from(value).unwrap_or(i64::MAX));
        let named = |name: &str, value: Literal| (name.to_string(), value);
        let backoff = pace.backoff.as_ref().map_or(Literal::Null, |backoff| {
            Literal::Map(vec![
                named("first_ms", int(backoff.first_ms)),
                named("longest_ms", int(backoff.longest_ms)),
                named("growth", Literal::Float(backoff.growth)),
                named("calm", int(backoff.calm.into())),
            ])
        });
        let width = pace.width.map_or(Literal::Null, |width| int(width.into()));
        let fields = vec![
            named("width", width),
            named("pause_ms", int(pace.pause_ms)),
            named("backoff", backoff),
        ];
        call.fix("pace", Literal::Map(fields));
    }

    /// Asks an agent to put right what failed. Stack before: the open step and the failure; after:
    /// the open step and the reply; at `failed`: the open step and the failure.
    pub(super) fn recover(&mut self, w: &mut Writer, id: &str, step: u32, failed: Label) {
        let (failure, answer) = (w.local(), w.local());
        let (give_up, recovered, no_answer) = (w.label(), w.label(), w.label());
        w.push(Instr::Store { local: failure });
        let asks = self
            .tables
            .text("an agent is asked to put right what failed");
        w.push(Instr::Text { text: asks });
        w.push(Instr::Warn {});
        let mut call = Arguments::new(HostKind::Agent);
        self.tables.need_of_step(NeedKind::Agent, "", step);
        let before = format!("The recipe that step `{id}` runs has failed:\n\n");
        let after = format!(
            "\n\nFind out why and put it right, so that what it was to do is done. Then end your \
             answer with the line `{RECOVERED}`. If it cannot be done, say why, without that line."
        );
        w.push(Instr::Text {
            text: self.tables.text(&before),
        });
        w.push(Instr::Load { local: failure });
        w.push(Instr::FailureMap {});
        w.push(Instr::FieldOrNull {
            name: self.tables.text("message"),
        });
        w.push(Instr::Text {
            text: self.tables.text(&after),
        });
        w.push(Instr::Concat { parts: 3 });
        w.push(Instr::JumpFailed { to: w.to(give_up) });
        call.open(w, "prompt");
        call.fix("failures", Literal::Text(FAILURES.to_string()));
        self.pace(&mut call);
        call.ask(w, &mut self.tables, step);
        w.push(Instr::JumpFailed {
            to: w.to(no_answer),
        });
        w.push(Instr::FieldOrNull {
            name: self.tables.text("stdout"),
        });
        w.push(Instr::Builtin {
            which: Builtin::Upper as u8,
            arguments: 1,
        });
        w.push(Instr::JumpFailed { to: w.to(give_up) });
        // Blanks around the line do not count; those in it do not either.
        for (builtin, arguments) in [
            (Builtin::Replace, &[" ", ""][..]),
            (Builtin::Replace, &["\r", ""]),
            (Builtin::Split, &["\n"]),
        ] {
            for argument in arguments {
                let text = self.tables.text(argument);
                w.push(Instr::Text { text });
            }
            w.push(Instr::Builtin {
                which: builtin as u8,
                arguments: arguments.len() as u8 + 1,
            });
            w.push(Instr::JumpFailed { to: w.to(give_up) });
        }
        w.push(Instr::Store { local: answer });
        w.push(Instr::Text {
            text: self.tables.text(&RECOVERED.replace(' ', "")),
        });
        w.push(Instr::Load { local: answer });
        w.push(Instr::InByType { to: w.to(give_up) });
        w.push(Instr::JumpIf {
            to: w.to(recovered),
        });
        let lost = self.tables.text("the agent has not put right what failed");
        w.push(Instr::Text { text: lost });
        w.push(Instr::Warn {});
        w.push(Instr::Null {});
        w.push(Instr::Jump { to: w.to(give_up) });
        w.bind(no_answer);
        w.push(Instr::Store { local: answer });
        self.warn_of(w, "the agent that was asked has failed: ", answer, give_up);
        w.push(Instr::Null {});
        w.bind(give_up);
        w.push(Instr::Pop {});
        w.push(Instr::Load { local: failure });
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(recovered);
        w.push(Instr::EmptyMap {});
        w.push(Instr::EmptyMap {});
        w.push(Instr::Put {
            name: self.tables.text("stdout"),
        });
        w.free(failure);
        w.free(answer);
    }
}
