//! Code for what touches the outside: the arguments of a host call, then the call.
//!
//! What is known now goes into the plan's table of calls, where calls share it; only the rest is
//! put on the stack. Each argument that is computed is stored before the next, so that a failure
//! finds the stack as the step left it.

use super::Emitter;
use super::builder::{Label, Tables, Writer};
use super::expr::{self, Operand, SCOPE};
use crate::ir::{
    Action, Check, Exec, Exports, Expr, ExprKind, Literal, Node, OnFailure, Script, ScriptPart,
    Step, Text, VarForm,
};
use crate::shell::needed;
use rrc_vm::isa::Instr;
use rrc_vm::plan::{ConstId, HostCall, HostKind, NeedKind};
use smallvec::SmallVec;

/// The arguments of one call, as far as they have been worked out.
pub(super) struct Arguments {
    kind: HostKind,
    fixed: SmallVec<[(&'static str, Fixed); 8]>,
    /// The number of the parameter, and what pushes it.
    open: Vec<(usize, Instr)>,
}

enum Fixed {
    Literal(Literal),
    /// In the table already.
    Known(ConstId),
}

impl Arguments {
    pub fn new(kind: HostKind) -> Arguments {
        Arguments {
            kind,
            fixed: SmallVec::new(),
            open: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.fixed.is_empty() && self.open.is_empty()
    }

    pub fn fix(&mut self, param: &'static str, value: Literal) {
        self.fixed.push((param, Fixed::Literal(value)));
    }

    pub fn fix_text(&mut self, tables: &mut Tables, param: &'static str, text: &str) {
        let known = tables.text_literal(text);
        self.fixed.push((param, Fixed::Known(known)));
    }

    /// The argument is what this instruction pushes.
    pub fn push(&mut self, param: &str, instr: Instr) {
        let mut params = self.kind.params().iter();
        let number = params.position(|name| *name == param);
        debug_assert!(number.is_some(), "`{param}` is no argument of the call");
        // No call has so many, so the plan would not be accepted.
        let number = number.unwrap_or(u16::BITS as usize - 1);
        self.open.push((number, instr));
    }

    /// The argument is on the stack as data.
    pub fn open(&mut self, w: &mut Writer, param: &str) -> u8 {
        let local = w.local();
        w.push(Instr::Store { local });
        self.push(param, Instr::Take { local });
        local
    }

    pub fn ask(mut self, w: &mut Writer, tables: &mut Tables, step: u32) {
        self.open.sort_unstable_by_key(|(number, _)| *number);
        let mut open = 0u16;
        for (number, instr) in self.open {
            open |= 1 << number;
            w.push(instr);
            if let Instr::Take { local } = instr {
                w.free(local);
            }
        }
        let fixed = self.fixed.into_iter().map(|(param, value)| {
            let value = match value {
                Fixed::Literal(literal) => tables.literal(&literal),
                Fixed::Known(known) => known,
            };
            (tables.text(param), value)
        });
        let fixed = fixed.collect();
        let fixed = tables.map(fixed);
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
            Action::Call(call) => return self.recipe(w, call, step, failed),
            Action::Flow(flow) => return self.flow(w, flow, deadline, failed),
            Action::Approve(approve) => {
                let mut call = Arguments::new(HostKind::Approve);
                call.fix_text(&mut self.tables, "stage", &approve.stage);
                self.text(w, &mut call, "prompt", &approve.prompt, failed);
                if let Some(ms) = approve.timeout_ms {
                    call.fix(
                        "timeout_ms",
                        Literal::Int(i64::try_from(ms).unwrap_or(i64::MAX)),
                    );
                }
                call.fix("default", Literal::Bool(approve.default_approve));
                self.tables.need(NeedKind::Approval, &approve.stage, step);
                call.ask(w, &mut self.tables, step);
            }
            Action::Validate(checks) => {
                let words = |word: fn(&Check) -> &String| {
                    let words = checks
                        .iter()
                        .map(|check| Literal::Text(word(check).clone()));
                    Literal::List(words.collect())
                };
                let mut call = Arguments::new(HostKind::Validate);
                call.fix("names", words(|check| &check.name));
                call.fix("rules", words(|check| &check.rule));
                let values = checks.iter().map(|check| &check.value);
                expr::list(w, &mut self.tables, values);
                w.push(Instr::JumpFailed { to: w.to(failed) });
                call.open(w, "values");
                call.ask(w, &mut self.tables, step);
            }
            Action::Sleep { ms } => {
                let mut call = Arguments::new(HostKind::Sleep);
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
        let mut call = Arguments::new(HostKind::Exec);
        self.text(w, &mut call, "shell", &exec.shell, failed);
        if let Some(shell) = exec.shell.as_literal() {
            self.tables.need(NeedKind::Shell, shell, step);
        }
        self.script(w, &mut call, &exec.script, failed);
        if exec.exports == Exports::Everything && !exec.is_closed() {
            call.push("ambient", Instr::Load { local: SCOPE });
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
        if exec.once {
            call.fix("once", Literal::Bool(true));
        }
        w.at(exec.script.span);
        call.ask(w, &mut self.tables, step);
    }

    /// What a step certainly needs from where it runs, as far as that can be seen.
    pub fn needs(&mut self, step: &Step, action: &Action, number: u32) {
        if matches!(action, Action::Call(call) if call.once) {
            self.tables.need_of_step(NeedKind::Once, &step.id, number);
        }
        let certain = step.guard.is_none() && step.on_failure == OnFailure::Stop;
        let Action::Exec(exec) = action else { return };
        if !certain || self.current != 0 {
            return;
        }
        // What a step before this one may make need not be there yet.
        let first = !self.tables.calls.iter().any(|call| {
            use HostKind::{Agent, Exec, Recipe, Tool};
            matches!(call.kind, Agent | Exec | Recipe | Tool)
        });
        let cwd = exec.cwd.as_ref().and_then(Text::as_literal);
        if let Some(cwd) = cwd.filter(|cwd| first && !cwd.is_empty()) {
            self.tables.need(NeedKind::Directory, cwd, number);
        }
        let shell = exec.shell.as_literal().unwrap_or_default();
        let in_path = exec.env.iter().any(|(name, _)| name == "PATH");
        let Some(ScriptPart::Source(source)) = exec.script.parts.first() else {
            return;
        };
        if in_path || !shell.ends_with("sh") {
            return;
        }
        let whole = match exec.script.parts.len() {
            1 => source.as_str(),
            _ => source.rsplit_once('\n').map_or("", |(lines, _)| lines),
        };
        for program in needed(whole) {
            self.tables.need(NeedKind::Program, program, number);
        }
    }

    /// Sees whether the work of a step can start at all, before anything is done for it.
    pub fn preflight(&mut self, w: &mut Writer, step: &Step, number: u32, failed: Label) {
        let Node::Act(action) = &step.node else {
            return;
        };
        let mut call = Arguments::new(HostKind::Preflight);
        let cwd = match &**action {
            Action::Exec(exec) => {
                let own_path = exec.env.iter().any(|(name, _)| name == "PATH");
                if exec.shell.as_literal() != Some("/bin/bash") && !own_path {
                    self.text(w, &mut call, "shell", &exec.shell, failed);
                }
                &exec.cwd
            }
            Action::Agent(agent) => &agent.cwd,
            Action::Flow(flow) => &flow.around.cwd,
            _ => return,
        };
        if let Some(cwd) = cwd {
            self.text(w, &mut call, "cwd", cwd, failed);
        }
        if call.is_empty() {
            return;
        }
        call.ask(w, &mut self.tables, number);
        w.push(Instr::JumpFailed { to: w.to(failed) });
        w.push(Instr::Pop {});
    }

    pub(super) fn text(
        &mut self,
        w: &mut Writer,
        call: &mut Arguments,
        param: &'static str,
        text: &Text,
        failed: Label,
    ) {
        match text.as_literal() {
            Some(literal) => call.fix_text(&mut self.tables, param, literal),
            None => {
                expr::text(w, &mut self.tables, text);
                w.push(Instr::JumpFailed { to: w.to(failed) });
                call.open(w, param);
            }
        }
    }

    pub(super) fn value(
        &mut self,
        w: &mut Writer,
        call: &mut Arguments,
        param: &'static str,
        expr: &Expr,
        failed: Label,
    ) {
        match &expr.kind {
            ExprKind::Literal(literal) => call.fix(param, literal.clone()),
            _ => {
                expr::expr(w, &mut self.tables, expr);
                w.push(Instr::JumpFailed { to: w.to(failed) });
                call.open(w, param);
            }
        }
    }

    pub(super) fn env(
        &mut self,
        w: &mut Writer,
        call: &mut Arguments,
        env: &[(String, Text)],
        failed: Label,
    ) {
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

    pub(super) fn script(
        &mut self,
        w: &mut Writer,
        call: &mut Arguments,
        script: &Script,
        failed: Label,
    ) {
        let whole = match script.parts.as_slice() {
            [] => Some(""),
            [ScriptPart::Source(source)] => Some(source.as_str()),
            _ => None,
        };
        match whole {
            // Each call has its own, and could share nothing if it were fixed.
            Some(whole) => {
                let text = self.tables.text(whole);
                call.push("script", Instr::Text { text });
            }
            None => {
                w.at(script.span);
                expr::concat(w, &mut self.tables, &script.parts);
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
    let (local, empty, done) = (w.local(), w.label(), w.label());
    w.push(Instr::Concat { parts: 1 });
    w.push(Instr::Store { local });
    w.push(Instr::Load { local });
    w.push(Instr::TruthEmptiness { to: w.to(failed) });
    w.push(Instr::JumpUnless { to: w.to(empty) });
    w.push(Instr::Load { local });
    w.push(Instr::NeedInteger {});
    w.push(Instr::Jump { to: w.to(done) });
    w.bind(empty);
    w.push(Instr::Load { local });
    w.bind(done);
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
