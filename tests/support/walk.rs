//! A small tree-walker over the IR: what a program means, without a compiler.
//!
//! It runs everything one after the other, iterations and branches that are meant to run at once
//! too: they work on snapshots, and a reply depends only on who asks (see [`Replies`]), so their
//! order cannot be seen. The machine has to come to the same trace in every order.

use super::ir_eval::{call, eval, fail, is_true};
use super::ir_task::{Given, Task, binds_value, calls, comes_again, set, set_unbegun};
use super::ir_trace::Trace;
use rrc_compiler::ir::{Action, Growth, Guard, Node, OnFailure, Program, Read, Step, Store};
use rrc_vm::fault::{Failure, FailureKind};
use rrc_vm::isa::{Builtin, Status};
use rrc_vm::plan::HostKind;
use rrc_vm::text::{field, json_or_text, parse_json, render};
use rrc_vm::value::{Map, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Who answers: the reply to call `number` of the record `key`, always the same.
pub trait Replies {
    fn reply(&self, key: &str, number: u32, kind: HostKind) -> Value;
}

/// Why a list of steps did not come to its end.
pub enum Out {
    Failed(Rc<Failure>),
    /// The unit ends here as if it had come to its end.
    Ended,
    /// The run ends, whatever the steps around would forgive.
    Over(Rc<Failure>),
    /// The program does more than a test has time for.
    TooLong,
}

impl From<Rc<Failure>> for Out {
    fn from(failure: Rc<Failure>) -> Out {
        Out::Failed(failure)
    }
}

/// How a node ended, with which reply, and what it gives. Of a failure also the reply, if it came
/// after one.
type Tried = Result<(Status, Value, Given), (Out, Option<Value>)>;

pub struct Walker<'a> {
    pub program: &'a Program,
    replies: &'a dyn Replies,
    pub trace: Trace,
    /// What happened how often, by a word.
    pub seen: BTreeMap<&'static str, u32>,
    pub given: Vec<&'static str>,
    steps: u32,
    left: u32,
}

/// Everything that can be known of a walk from outside.
pub struct Walked {
    pub trace: Trace,
    pub seen: BTreeMap<&'static str, u32>,
    pub outcome: Value,
    pub variables: Map,
}

/// Walks a program, unless it does more than `most` things.
pub fn walk(program: &Program, replies: &dyn Replies, variables: Map, most: u32) -> Option<Walked> {
    let mut given: Vec<&'static str> = Vec::new();
    for name in program.units.iter().flat_map(|unit| &unit.given) {
        if !given.contains(name) {
            given.push(name);
        }
    }
    let mut walker = Walker {
        program,
        replies,
        trace: Trace::default(),
        seen: BTreeMap::new(),
        given,
        steps: 0,
        left: most,
    };
    let mut task = Task {
        scope: variables,
        bound: Vec::new(),
        record: String::new(),
        unit: 0,
        depth: 0,
        in_loop: false,
    };
    let outcome = match walker.steps(&program.units[0].steps, false, &mut task) {
        Ok(_) => Value::Null,
        Err(Out::Ended) => Value::text("partial"),
        Err(Out::Failed(failure) | Out::Over(failure)) => Value::Failure(failure),
        Err(Out::TooLong) => return None,
    };
    walker.trace.record("");
    Some(Walked {
        trace: walker.trace,
        seen: walker.seen,
        outcome,
        variables: task.scope,
    })
}

/// Milliseconds and counts are cut to what an instruction holds.
pub fn small(value: u64) -> u64 {
    value.min(i32::MAX as u64)
}

impl Walker<'_> {
    pub fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn spend(&mut self) -> Result<(), Out> {
        self.left = self.left.checked_sub(1).ok_or(Out::TooLong)?;
        Ok(())
    }

    pub fn steps(&mut self, steps: &[Step], wanted: bool, task: &mut Task) -> Result<Given, Out> {
        let mut given = Given::default();
        for step in steps {
            given = given.then(self.step(step, None, wanted, task)?);
        }
        Ok(given)
    }

    /// One step, or one iteration of the loop with this id. `wanted`: somebody takes its value.
    pub fn step(
        &mut self,
        step: &Step,
        iteration: Option<(&str, i64)>,
        wanted: bool,
        task: &mut Task,
    ) -> Result<Given, Out> {
        self.spend()?;
        let id = iteration.map_or(step.id.as_str(), |(id, _)| id);
        let guard = step.guard.as_ref().map(|guard| holds(guard, &task.scope));
        if let Some(Ok(false)) = guard {
            self.saw("skipped");
            self.trace.skip(&task.record, id);
            return Ok(Given::default());
        }
        let parent = task.record.clone();
        task.record = self.trace.begin(&parent, id, iteration.map(|(_, n)| n));
        let outside = task.in_loop;
        task.in_loop |= iteration.is_some();
        let counted = !task.in_loop && !step.kind.is_hidden();
        let hooked = iteration.is_none() && !step.kind.is_hidden();
        let tried = match guard {
            Some(Err(failure)) => Err((failure.into(), None)),
            _ => self.counted(counted).map_err(|out| (out, None)),
        };
        let tried = tried.and_then(|()| {
            if hooked {
                let fine = self.preflight(step, task);
                fine.map_err(|out| (out, None))?;
                self.hook(step, Status::Completed, None, task, 0);
            }
            self.attempts(step, wanted, task)
        });
        let ended = match tried {
            Ok((status, reply, value)) => {
                self.trace.end(&parent, &task.record, status.word(), &reply);
                Ok((Some(status), value))
            }
            Err((Out::Failed(failure), said)) => {
                if hooked {
                    self.hook(step, Status::Failed, Some(&failure), task, 2);
                }
                let mut value = self.failed(step, &failure, said, wanted, task);
                if iteration.is_some() && matches!(step.node, Node::Act(_)) {
                    value.collected = None;
                }
                let failure_value = Value::Failure(failure.clone());
                self.trace
                    .end(&parent, &task.record, "failed", &failure_value);
                match step.on_failure {
                    OnFailure::Stop => Err(Out::Failed(failure)),
                    _ if failure.kind == FailureKind::StepLimit => {
                        self.saw("limit not forgiven");
                        Err(Out::Over(failure))
                    }
                    OnFailure::SkipRest => Err(Out::Ended),
                    OnFailure::Continue { .. } => Ok((None, value)),
                }
            }
            Err((Out::Ended, _)) => {
                self.trace
                    .end(&parent, &task.record, "completed", &Value::Null);
                Err(Out::Ended)
            }
            Err((out @ Out::Over(_), _)) => {
                self.trace
                    .end(&parent, &task.record, "cancelled", &cancelled());
                Err(out)
            }
            Err((Out::TooLong, _)) => Err(Out::TooLong),
        };
        task.record = parent;
        task.in_loop = outside;
        let (status, ended) = ended?;
        if let Some(status) = status.filter(|_| hooked) {
            self.hook(step, status, None, task, 1);
        }
        Ok(ended)
    }

    fn counted(&mut self, counted: bool) -> Result<(), Out> {
        let limit = self.program.units[0].limits.steps;
        if counted {
            self.steps += 1;
            if self.steps > limit {
                self.saw("step limit");
                let message = format!("more steps ran than the {limit} allowed");
                return Err(fail(FailureKind::StepLimit, message).into());
            }
        }
        Ok(())
    }

    /// What a failed step sets all the same, from what is known of the failure or, if it came
    /// after a reply, from that; its value.
    fn failed(
        &mut self,
        step: &Step,
        failure: &Failure,
        said: Option<Value>,
        wanted: bool,
        task: &mut Task,
    ) -> Given {
        self.saw("failed");
        let keep_output = match step.on_failure {
            OnFailure::Stop => {
                self.saw("stop");
                return Given::default();
            }
            OnFailure::SkipRest => {
                self.saw("skip rest");
                false
            }
            OnFailure::Continue { keep_output } => {
                self.saw(if keep_output { "keep" } else { "continue" });
                // What a step inside wrote is not what a recipe gives.
                keep_output && !calls(step)
            }
        };
        if !matches!(step.node, Node::Act(_)) {
            if self.trace.record(&task.record).children == 0 && set_unbegun(step, task) {
                self.saw("bound by no turn");
            }
            return Given::both(Value::Null);
        }
        let known = |name: &str| {
            let said = said.as_ref().and_then(|said| field(said, name));
            field(&failure.data, name).or(said).cloned()
        };
        let output = known("stdout").filter(|_| keep_output);
        let output = output.map(|output| match (step.store, &output) {
            (
                Store::JsonOrText | Store::JsonOrDegrade | Store::Json { trim: true },
                Value::Text(text),
            ) => json_or_text(text),
            (Store::JsonOrText | Store::JsonOrDegrade | Store::Json { trim: true }, _) => output,
            (Store::AsIs | Store::Exact | Store::Json { trim: false }, _) => {
                Value::Text(render(&output))
            }
        });
        for bind in &step.bind {
            let value = match bind.read {
                Read::Value => output.clone(),
                Read::ExitCode => known("exit_code").or(Some(Value::Int(match failure.kind {
                    FailureKind::Timeout => 124,
                    _ if calls(step) => 1,
                    // Nothing was started.
                    _ => 126,
                }))),
                Read::Stderr => known("stderr").or(Some(Value::text(""))),
                Read::Reply => None,
            };
            if let Some(value) = value {
                self.saw("bound by a failure");
                set(task, &bind.name, value);
            }
        }
        if let Some(output) = output.as_ref().filter(|_| wanted || binds_value(step)) {
            self.trace.own(&task.record, format!("output {output:?}"));
        }
        Given {
            collected: output.clone(),
            value: output,
        }
    }

    /// The node, again while it fails and tries are left.
    fn attempts(&mut self, step: &Step, wanted: bool, task: &mut Task) -> Tried {
        let attempts = &step.attempts;
        let longest = small(attempts.longest_pause_ms);
        let mut pause = small(attempts.first_pause_ms).min(longest);
        let mut tried = 1;
        loop {
            let last = tried >= attempts.most;
            let (failure, said) = match self.node(step, wanted, last, task) {
                Err((Out::Failed(failure), said)) => (failure, said),
                other => return other,
            };
            let code = field(&failure.data, "exit_code");
            let hopeless =
                comes_again(step, &failure) || matches!(code, Some(Value::Int(126 | 127)));
            if hopeless && !last {
                self.saw("hopeless");
            }
            if last || hopeless {
                return Err((failure.into(), said));
            }
            tried += 1;
            self.saw("tried again");
            self.trace.own(&task.record, format!("attempt {tried}"));
            if pause > 0 {
                self.sleep(pause, task).map_err(|out| (out, None))?;
                let grown = match attempts.growth {
                    Growth::Linear => pause + small(attempts.first_pause_ms),
                    Growth::Doubling => pause * 2,
                };
                pause = grown.min(longest);
            }
        }
    }

    pub fn sleep(&mut self, ms: u64, task: &Task) -> Result<(), Out> {
        let ms = Value::Int(ms as i64);
        self.ask(HostKind::Sleep, vec![("ms", ms)], task)?;
        Ok(())
    }

    pub fn sleep_after_turn(&mut self, ms: u64, task: &Task) -> Result<(), Out> {
        let (ms, after_turn) = (Value::Int(ms as i64), Value::Bool(true));
        let args = vec![("ms", ms), ("after_turn", after_turn)];
        self.ask(HostKind::Sleep, args, task)?;
        Ok(())
    }

    pub fn ask(
        &mut self,
        kind: HostKind,
        args: Vec<(&'static str, Value)>,
        task: &Task,
    ) -> Result<Value, Out> {
        self.spend()?;
        let order = |name: &str| kind.params().iter().position(|param| *param == name);
        let mut args = args;
        args.sort_by_key(|(name, _)| order(name));
        let number = self.trace.call(&task.record, kind, &args);
        match self.replies.reply(&task.record, number, kind) {
            Value::Failure(failure) => Err(failure.into()),
            data => Ok(data),
        }
    }

    fn node(&mut self, step: &Step, wanted: bool, last: bool, task: &mut Task) -> Tried {
        let plain = |out| (out, None);
        let given = match &step.node {
            Node::Act(action) => {
                let late = matches!(**action, Action::Call(_)).then_some(step);
                let reply = self
                    .in_time(late, task, |walker, task| walker.action(action, step, task))
                    .map_err(plain)?;
                return self.store(step, reply, wanted, last, task);
            }
            Node::Seq(steps) => {
                self.saw("seq");
                let given = self
                    .in_time(Some(step), task, |walker, task| {
                        walker.steps(steps, wanted, task)
                    })
                    .map_err(plain)?;
                let given = Given::both(Value::Null).then(given);
                if let Some(value) = given.value.as_ref().filter(|_| wanted) {
                    self.trace.own(&task.record, format!("output {value:?}"));
                }
                given
            }
            // In which order the rest happens after a failure cannot be said here.
            Node::Graph(_) => unreachable!("graphs are not generated"),
            Node::Par { branches, width } => {
                self.saw("par");
                self.par(branches, *width, wanted, task).map_err(plain)?
            }
            Node::Each(each) => Given::both(self.each(each, &step.id, task).map_err(plain)?),
            Node::While(body) => Given::both(self.repeat(body, &step.id, task).map_err(plain)?),
        };
        Ok((Status::Completed, Value::Null, given))
    }

    /// Does what may have a deadline, which never passes here. What fails under one leaves the
    /// variables as they were.
    fn in_time<T>(
        &mut self,
        step: Option<&Step>,
        task: &mut Task,
        body: impl FnOnce(&mut Self, &mut Task) -> Result<T, Out>,
    ) -> Result<T, Out> {
        let Some(ms) = step.and_then(|step| step.deadline.as_ref()) else {
            return body(self, task);
        };
        call(Builtin::Int, &[eval(ms, &task.scope)?])?;
        self.saw("deadline");
        let before = (task.scope.clone(), task.bound.clone());
        let done = body(self, task);
        if matches!(done, Err(Out::Failed(_) | Out::Over(_))) {
            (task.scope, task.bound) = before;
        }
        done
    }

    /// Sets what a successful step sets.
    fn store(
        &mut self,
        step: &Step,
        reply: Value,
        wanted: bool,
        last: bool,
        task: &mut Task,
    ) -> Tried {
        let stdout = field(&reply, "stdout").cloned().unwrap_or(Value::Null);
        let mut status = Status::Completed;
        let value = match (step.store, &stdout) {
            (Store::AsIs, _) => stdout,
            (Store::Exact, _) => Value::Text(render(&stdout)),
            (Store::JsonOrText, Value::Text(text)) => json_or_text(text),
            (Store::Json { .. } | Store::JsonOrDegrade, Value::Text(text)) => {
                match parse_json(text) {
                    Some(value) => value,
                    None if step.store == Store::JsonOrDegrade && last => {
                        self.saw("degraded");
                        status = Status::Degraded;
                        json_or_text(text)
                    }
                    None => {
                        self.saw("bad json");
                        let failure = fail(FailureKind::BadJson, "the text holds no JSON");
                        return Err((failure.into(), Some(reply)));
                    }
                }
            }
            // What is no text is a value already.
            (Store::JsonOrText | Store::Json { .. } | Store::JsonOrDegrade, _) => stdout,
        };
        for bind in &step.bind {
            let read = match bind.read {
                Read::Value => value.clone(),
                Read::ExitCode if calls(step) => Value::Int(0),
                Read::Stderr if calls(step) => Value::text(""),
                Read::ExitCode => field(&reply, "exit_code").cloned().unwrap_or(Value::Null),
                Read::Stderr => field(&reply, "stderr").cloned().unwrap_or(Value::Null),
                Read::Reply => reply.clone(),
            };
            set(task, &bind.name, read);
        }
        if wanted || binds_value(step) {
            self.trace.own(&task.record, format!("output {value:?}"));
        }
        Ok((status, reply, Given::both(value)))
    }
}

/// What a step that was open came to when the run ended.
fn cancelled() -> Value {
    Value::Failure(Rc::new(Failure {
        kind: FailureKind::Cancelled,
        message: FailureKind::Cancelled.sentence().into(),
        data: Value::Null,
        at: 0,
    }))
}

pub fn holds(guard: &Guard, scope: &Map) -> Result<bool, Rc<Failure>> {
    Ok(is_true(guard.truth, &eval(&guard.expr, scope)?))
}
