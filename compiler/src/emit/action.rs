//! Code for what touches the outside: the arguments of a host call, then the call.
//!
//! What is known now goes into the plan's table of calls; only the rest is computed. Each computed
//! argument is stored before the next, so that a failure finds the stack as the step left it.

use super::Emitter;
use super::builder::{Label, Tables, Writer};
use super::expr::{self, Operand, SCOPE};
use crate::ir::{
    Action, Agent, Exec, Exports, Expr, ExprKind, Literal, Script, ScriptPart, Text, VarForm,
};
use rrc_vm::isa::Instr;
use rrc_vm::plan::{HostCall, HostKind, NeedKind};

/// The arguments of one call, as far as they have been worked out.
struct Call {
    kind: HostKind,
    fixed: Vec<(String, Literal)>,
    /// The number of the parameter, and the local that holds it.
    open: Vec<(usize, u8)>,
}

impl Call {
    fn new(kind: HostKind) -> Call {
        Call {
            kind,
            fixed: Vec::new(),
            open: Vec::new(),
        }
    }

    fn fix(&mut self, param: &str, value: Literal) {
        self.fixed.push((param.to_string(), value));
    }

    /// The argument is on the stack as data.
    fn open(&mut self, w: &mut Writer, param: &str) -> u8 {
        let number = self
            .kind
            .params()
            .iter()
            .position(|name| *name == param)
            .expect("arguments are named as their kind of call names them");
        let local = w.local();
        w.push(Instr::Store { local });
        self.open.push((number, local));
        local
    }

    fn ask(mut self, w: &mut Writer, tables: &mut Tables, step: u32) {
        self.open.sort_unstable_by_key(|(number, _)| *number);
        let mut open = 0u16;
        for (number, local) in self.open {
            open |= 1 << number;
            w.push(Instr::Take { local });
            w.free(local);
        }
        let fixed = tables.literal(&Literal::Map(self.fixed));
        tables.calls.push(HostCall {
            kind: self.kind,
            step,
            open,
            fixed,
        });
        w.push(Instr::Host {
            call: tables.calls.len() as u32 - 1,
        });
    }
}

impl Emitter<'_> {
    /// Stack before: the open step; after: the open step and the reply; at `failed`: the open
    /// step and the failure.
    pub fn action(
        &mut self,
        w: &mut Writer,
        action: &Action,
        deadline: Option<&Expr>,
        step: u32,
        failed: Label,
    ) {
        match action {
            Action::Exec(exec) => self.exec(w, exec, deadline, step, failed),
            Action::Agent(agent) => self.agent(w, agent, deadline, step, failed),
            Action::Call(_) => {
                // Refused before emission; a plan that reaches it says so and does nothing.
                let message = self
                    .tables
                    .text("this version of rrc cannot run sub-recipes");
                w.push(Instr::Fail { message });
            }
            Action::Sleep { ms } => {
                let mut call = Call::new(HostKind::Sleep);
                self.value(w, &mut call, "ms", ms, failed);
                call.ask(w, &mut self.tables, step);
            }
        }
        w.push(Instr::JumpFailed { to: w.to(failed) });
    }

    fn exec(
        &mut self,
        w: &mut Writer,
        exec: &Exec,
        deadline: Option<&Expr>,
        step: u32,
        failed: Label,
    ) {
        let mut call = Call::new(HostKind::Exec);
        self.text(w, &mut call, "shell", &exec.shell, failed);
        if let Some(shell) = exec.shell.as_literal() {
            self.tables.need(NeedKind::Shell, shell, step);
        }
        self.script(w, &mut call, &exec.script, failed);
        if exec.exports == Exports::Everything {
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Exports {});
            call.open(w, "ambient");
        }
        self.env(w, &mut call, &exec.env, failed);
        for (param, text) in [("cwd", &exec.cwd), ("stdin", &exec.stdin)] {
            if let Some(text) = text {
                self.text(w, &mut call, param, text, failed);
            }
        }
        if let Some(deadline) = deadline {
            self.value(w, &mut call, "timeout_ms", deadline, failed);
        }
        call.fix(
            "limit",
            Literal::Int(i64::try_from(exec.limit).unwrap_or(i64::MAX)),
        );
        if exec.stream {
            call.fix("stream", Literal::Bool(true));
        }
        w.at(exec.script.span);
        call.ask(w, &mut self.tables, step);
    }

    fn agent(
        &mut self,
        w: &mut Writer,
        agent: &Agent,
        deadline: Option<&Expr>,
        step: u32,
        failed: Label,
    ) {
        let mut call = Call::new(HostKind::Agent);
        for (param, text) in [
            ("agent", &agent.agent),
            ("mode", &agent.mode),
            ("model", &agent.model),
        ] {
            if let Some(text) = text {
                call.fix(param, Literal::Text(text.clone()));
            }
        }
        self.tables.need(
            NeedKind::Agent,
            agent.agent.as_deref().unwrap_or_default(),
            step,
        );
        self.text(w, &mut call, "prompt", &agent.prompt, failed);
        self.env(w, &mut call, &agent.env, failed);
        if let Some(cwd) = &agent.cwd {
            self.text(w, &mut call, "cwd", cwd, failed);
        }
        if let Some(deadline) = deadline {
            self.value(w, &mut call, "timeout_ms", deadline, failed);
        }
        call.ask(w, &mut self.tables, step);
    }

    fn text(&mut self, w: &mut Writer, call: &mut Call, param: &str, text: &Text, failed: Label) {
        match text.as_literal() {
            Some(literal) => call.fix(param, Literal::Text(literal.to_string())),
            None => {
                expr::text(w, &mut self.tables, text);
                w.push(Instr::JumpFailed { to: w.to(failed) });
                call.open(w, param);
            }
        }
    }

    fn value(&mut self, w: &mut Writer, call: &mut Call, param: &str, expr: &Expr, failed: Label) {
        match &expr.kind {
            ExprKind::Literal(literal) => call.fix(param, literal.clone()),
            _ => {
                expr::expr(w, &mut self.tables, expr);
                w.push(Instr::JumpFailed { to: w.to(failed) });
                call.open(w, param);
            }
        }
    }

    fn env(&mut self, w: &mut Writer, call: &mut Call, env: &[(String, Text)], failed: Label) {
        if env.is_empty() {
            return;
        }
        let literals: Option<Vec<(String, Literal)>> = env
            .iter()
            .map(|(name, text)| Some((name.clone(), Literal::Text(text.as_literal()?.to_string()))))
            .collect();
        if let Some(fields) = literals {
            call.fix("env", Literal::Map(fields));
            return;
        }
        w.push(Instr::EmptyMap {});
        let map = call.open(w, "env");
        for (name, text) in env {
            expr::text(w, &mut self.tables, text);
            w.push(Instr::JumpFailed { to: w.to(failed) });
            w.push(Instr::SetVar {
                scope: map,
                name: self.tables.text(name),
            });
        }
    }

    fn script(&mut self, w: &mut Writer, call: &mut Call, script: &Script, failed: Label) {
        match script.parts.as_slice() {
            [] => call.fix("script", Literal::Text(String::new())),
            [ScriptPart::Source(source)] => call.fix("script", Literal::Text(source.clone())),
            parts => {
                w.at(script.span);
                expr::concat(w, &mut self.tables, parts);
                w.push(Instr::JumpFailed { to: w.to(failed) });
                call.open(w, "script");
            }
        }
        if script.vars.is_empty() {
            return;
        }
        w.push(Instr::EmptyMap {});
        let map = call.open(w, "vars");
        for var in &script.vars {
            expr::expr(w, &mut self.tables, &var.value);
            match var.form {
                VarForm::Text => w.push(Instr::Concat { parts: 1 }),
                VarForm::Integer => w.push(Instr::NeedInteger {}),
                VarForm::IntegerOrEmpty => integer_or_empty(w, failed),
            }
            w.push(Instr::JumpFailed { to: w.to(failed) });
            w.push(Instr::SetVar {
                scope: map,
                name: self.tables.text(&var.name),
            });
        }
    }
}

/// Stack: the value, then its text, which is empty or an integer, or a failure.
fn integer_or_empty(w: &mut Writer, failed: Label) {
    let (local, empty) = (w.local(), w.label());
    w.push(Instr::Concat { parts: 1 });
    w.push(Instr::JumpFailed { to: w.to(failed) });
    w.push(Instr::Store { local });
    w.push(Instr::Load { local });
    w.push(Instr::Load { local });
    w.push(Instr::TruthEmptiness {});
    w.push(Instr::JumpUnless { to: w.to(empty) });
    w.push(Instr::NeedInteger {});
    w.bind(empty);
    w.free(local);
}

impl Operand for ScriptPart {
    fn emit(&self, w: &mut Writer, tables: &mut Tables) {
        match self {
            ScriptPart::Source(source) => {
                let text = tables.text(source);
                w.push(Instr::Text { text });
            }
            ScriptPart::Paste(value) => expr::expr(w, tables, value),
            ScriptPart::Words(value) => {
                expr::expr(w, tables, value);
                w.push(Instr::ShellWords {});
            }
            ScriptPart::Delimiter { base, body } => {
                let text = tables.text(base);
                w.push(Instr::Text { text });
                expr::concat(w, tables, body);
                w.push(Instr::FreshDelimiter { values: 1 });
            }
        }
    }
}
