//! Code for what a step sets: from its reply, or from its failure.

use super::Emitter;
use super::builder::{Label, Writer};
use super::expr::SCOPE;
use super::step::{Taken, Try, Ways};
use crate::ir::{Action, Bind, Literal, Node, OnFailure, Read, Step, Store};
use rrc_vm::fault::FailureKind;
use rrc_vm::isa::Instr;

impl Emitter<'_> {
    /// Sets what a successful step sets. Stack: the reply, before and after.
    pub fn bind(
        &mut self,
        w: &mut Writer,
        step: &Step,
        value: Option<Taken>,
        this: Try,
        ways: Ways,
    ) {
        let failed = ways.failed;
        // JSON is asked for even if nobody binds it: not being JSON is then the step's failure.
        let checks = matches!(step.store, Store::Json { .. } | Store::JsonOrDegrade);
        if step.bind.is_empty() && value.is_none() && !checks {
            return;
        }
        let (reply, held) = (w.local(), w.local());
        w.push(Instr::Store { local: reply });
        // What turns text into a value passes a failure on.
        self.read(w, reply, field_of(Read::Value));
        match step.store {
            Store::AsIs => w.push(Instr::JumpFailed { to: w.to(failed) }),
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

    fn read(&mut self, w: &mut Writer, local: u8, field: &str) {
        w.push(Instr::Load { local });
        w.push(Instr::FieldOrNull {
            name: self.tables.text(field),
        });
    }

    fn field(&mut self, w: &mut Writer, local: u8, field: &str, failed: Label) {
        self.read(w, local, field);
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
        let plain = step.bind.iter().all(|bind| bind.read == Read::Value);
        if plain && value.is_none() {
            for bind in &step.bind {
                let name = self.tables.text(&bind.name);
                w.push(Instr::KeepVar { scope: SCOPE, name });
            }
            w.push(match takes_value(step, value) {
                true => Instr::StepOutput {},
                false => Instr::Pop {},
            });
            return;
        }
        w.push(Instr::Store { local: held });
        for bind in &step.bind {
            match bind.read {
                Read::Value => w.push(Instr::Load { local: held }),
                Read::Reply => w.push(Instr::Load { local: reply }),
                // No process stands behind a recipe: that it came to its end is its success.
                Read::ExitCode if calls(step) => w.push(Instr::Int { value: 0 }),
                Read::Stderr if calls(step) => {
                    let text = self.tables.text("");
                    w.push(Instr::Text { text });
                }
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

    /// What a failed step binds all the same: its exit code, what it wrote to stderr and, where
    /// the recipe's rules say so, its output. Stack: the failure, before and after.
    pub fn bind_failed(
        &mut self,
        w: &mut Writer,
        step: &Step,
        value: Option<Taken>,
        said: Option<u8>,
    ) {
        if !matches!(step.node, Node::Act(_)) {
            // Whatever the steps in it gave, together they failed.
            if let Some(value) = value {
                w.push(Instr::Null {});
                value.store(w);
            }
            if let Some(begun) = said {
                self.bind_unbegun(w, step, begun);
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
            if bind.read == Read::Reply {
                continue;
            }
            let (none, set, next) = (w.label(), w.label(), w.label());
            self.known(w, failure, said, field_of(bind.read), none);
            if bind.read == Read::Value {
                kept_form(w, step.store, none);
            }
            w.bind(set);
            w.push(Instr::SetVar {
                scope: SCOPE,
                name: self.tables.text(&bind.name),
            });
            w.push(Instr::Jump { to: w.to(next) });
            w.bind(none);
            if bind.read == Read::ExitCode {
                self.code_of_timeout(w, failure, set);
            }
            if let Some(unstarted) = unstarted(step, bind.read) {
                let constant = self.tables.literal(&unstarted);
                w.push(Instr::Const { constant });
                w.push(Instr::Jump { to: w.to(set) });
            }
            w.bind(next);
        }
        if keeps_output(step) && takes_value(step, value) {
            let (none, held) = (w.label(), w.local());
            self.known(w, failure, said, field_of(Read::Value), none);
            kept_form(w, step.store, none);
            w.push(Instr::Store { local: held });
            if let Some(value) = value {
                w.push(Instr::Load { local: held });
                value.store(w);
            }
            w.push(Instr::Take { local: held });
            w.push(Instr::StepOutput {});
            w.bind(none);
            w.free(held);
        }
        w.push(Instr::Take { local: failure });
        w.free(failure);
    }

    /// What each turn of a loop would have set, where the loop failed before the first. Stack: the failure,
    /// before and after.
    fn bind_unbegun(&mut self, w: &mut Writer, step: &Step, begun: u8) {
        let next = w.label();
        w.push(Instr::Load { local: begun });
        w.push(Instr::IsNull {});
        w.push(Instr::JumpUnless { to: w.to(next) });
        for (bind, unstarted) in unbegun(step) {
            let constant = self.tables.literal(&unstarted);
            w.push(Instr::Const { constant });
            w.push(Instr::SetVar {
                scope: SCOPE,
                name: self.tables.text(&bind.name),
            });
        }
        w.bind(next);
    }

    /// Goes to `set` with the exit code of what took too long, if that is why the step failed.
    fn code_of_timeout(&mut self, w: &mut Writer, failure: u8, set: Label) {
        let (other, next) = (w.label(), w.label());
        w.push(Instr::Load { local: failure });
        w.push(Instr::FailureMap {});
        w.push(Instr::FieldOrNull {
            name: self.tables.text("kind"),
        });
        w.push(Instr::Text {
            text: self.tables.text(FailureKind::Timeout.word()),
        });
        w.push(Instr::EqByType { to: w.to(other) });
        w.push(Instr::JumpUnless { to: w.to(next) });
        w.push(Instr::Int { value: 124 });
        w.push(Instr::Jump { to: w.to(set) });
        w.bind(other);
        w.push(Instr::Pop {});
        w.bind(next);
    }

    /// Pushes what a failure knows of a field, or else what was said before it. A failure before
    /// anything ran knows nothing: to `none`, with nothing pushed.
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
}

/// Where a reply holds what a bind reads.
fn field_of(read: Read) -> &'static str {
    match read {
        Read::Value | Read::Reply => "stdout",
        Read::ExitCode => "exit_code",
        Read::Stderr => "stderr",
    }
}

/// What is read of a step that failed before anything of it was started: the same as of one that could
/// not be, whatever the reason. A recipe has failed, though no process in it did.
fn unstarted(step: &Step, read: Read) -> Option<Literal> {
    match read {
        Read::Value | Read::Reply => None,
        Read::ExitCode if calls(step) => Some(Literal::Int(1)),
        Read::ExitCode => Some(Literal::Int(126)),
        Read::Stderr => Some(Literal::Text(String::new())),
    }
}

/// What a loop sets where no turn of it began.
fn unbegun(step: &Step) -> impl Iterator<Item = (&Bind, Literal)> {
    let body = match &step.node {
        Node::Each(each) if each.width.is_none() => Some(&each.body),
        Node::While(body) => Some(&body.body),
        _ => None,
    };
    let body = body.filter(|body| matches!(body.node, Node::Act(_)));
    body.into_iter().flat_map(|body| {
        let binds = body.bind.iter();
        binds.filter_map(|bind| Some((bind, unstarted(body, bind.read)?)))
    })
}

fn takes_value(step: &Step, value: Option<Taken>) -> bool {
    value.is_some() || step.bind.iter().any(|bind| bind.read == Read::Value)
}

/// Of a recipe that failed, what the step in it wrote is not what the recipe gives.
fn keeps_output(step: &Step) -> bool {
    !calls(step) && step.on_failure == OnFailure::Continue { keep_output: true }
}

fn calls(step: &Step) -> bool {
    matches!(&step.node, Node::Act(action) if matches!(**action, Action::Call(_)))
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

/// Whether a failed step sets anything.
fn binds_failed(step: &Step, value: Option<Taken>) -> bool {
    matches!(step.node, Node::Act(_))
        && step.on_failure != OnFailure::Stop
        && (step.bind.iter().any(|bind| bind.read != Read::Value)
            || keeps_output(step) && takes_value(step, value))
}

/// Whether what a failed step sets depends on what came before: on a reply of which something is kept, or
/// on a turn of a loop.
pub fn may_say(step: &Step, value: Option<Taken>) -> bool {
    match &step.node {
        Node::Act(_) => matches!(step.store, Store::Json { .. }) && binds_failed(step, value),
        _ => step.on_failure != OnFailure::Stop && unbegun(step).next().is_some(),
    }
}
