//! Runs a plan: performs what the machine asks for, and tells what happens.
//!
//! Knows no recipe and no dialect. The machine decides what to ask and in which order; the driver
//! answers as answers come, and makes events of what the machine says.

use crate::agent::{self, Agents, Question};
use crate::event::{Event, RecordId, RunStatus, StepRef, What};
use crate::process::{self, ChildId, Happened, Loop, Request, Setup, Signal, Stream, TimerId};
use crate::record::Records;
use crate::reply::{self, Args};
use crate::validate;
use rrc_vm::fault::FailureKind;
use rrc_vm::machine::{Call, Finished, Machine, Note, Poll, Ticket};
use rrc_vm::plan::{HostKind, Plan, StepKind};
use rrc_vm::text::render;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How a plan is to be run.
#[derive(Clone, Debug)]
pub struct Settings {
    pub run_id: String,
    /// Where steps run that do not say otherwise; absolute.
    pub directory: PathBuf,
    /// How many processes may run at once.
    pub jobs: usize,
    /// How long the whole run may take.
    pub timeout: Option<Duration>,
    /// Stages that are approved, and stages that are denied.
    pub approve: Vec<String>,
    pub deny: Vec<String>,
    pub agents: Agents,
}

/// Asks somebody who can answer whether to go on after a stage; none if there is nobody.
pub type Ask<'a> = dyn FnMut(&str, &str) -> Option<bool> + 'a;

/// How a run ended, and what it did.
#[derive(Debug)]
pub struct Outcome {
    pub status: RunStatus,
    pub records: Records,
    pub variables: Map,
    pub duration: Duration,
    /// Why the run as a whole failed, if no step says it.
    pub error: Option<String>,
    /// The signal that ended it.
    pub signal: Option<Signal>,
}

/// Runs to the end. Everything that happens is told to `tell`, in order.
pub fn run(
    plan: Rc<Verified>,
    variables: Map,
    settings: &Settings,
    tell: &mut dyn FnMut(&Event),
    ask: &mut Ask<'_>,
) -> io::Result<Outcome> {
    let mut driver = Driver::new(Rc::clone(&plan), settings, tell, ask)?;
    driver.say(
        None,
        None,
        What::RunStart {
            recipe: text(plan.plan(), plan.plan().name),
        },
    );
    let limits = plan.plan().limits;
    let mut machine = Machine::new(plan, variables, limits);
    let finished = driver.drive(&mut machine);
    Ok(driver.end(finished))
}

fn text(plan: &Plan, id: u32) -> String {
    plan.texts.get(id).unwrap_or_default().to_string()
}

/// What a running child or timer belongs to.
struct Asked {
    ticket: Ticket,
    record: Option<RecordId>,
}

struct Driver<'a> {
    plan: Rc<Verified>,
    settings: &'a Settings,
    tell: &'a mut dyn FnMut(&Event),
    ask: &'a mut Ask<'a>,
    started: Instant,
    seq: u64,
    records: Records,
    steps: FxHashMap<RecordId, StepRef>,
    os: Loop,
    children: FxHashMap<ChildId, Asked>,
    timers: FxHashMap<TimerId, Asked>,
    /// Calls that wait until fewer processes run.
    waiting: VecDeque<(Asked, Request)>,
    /// Replies that need nothing from outside.
    ready: VecDeque<(Ticket, Value)>,
    /// Calls that are hooks.
    hooks: Vec<Ticket>,
    /// Records that only hold others together, and where those stand instead.
    hidden: FxHashMap<RecordId, Option<RecordId>>,
    deadline: Option<TimerId>,
    stopping: Option<Stop>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Signal(Signal),
    Timeout,
    /// Nobody answered whether to go on.
    Pause,
}

impl<'a> Driver<'a> {
    fn new(
        plan: Rc<Verified>,
        settings: &'a Settings,
        tell: &'a mut dyn FnMut(&Event),
        ask: &'a mut Ask<'a>,
    ) -> io::Result<Driver<'a>> {
        let mut os = Loop::new(Setup {
            run: settings.run_id.clone(),
            signals: true,
            watchdog: true,
            portable: false,
        })?;
        let deadline = settings.timeout.map(|timeout| os.sleep(timeout));
        Ok(Driver {
            plan,
            settings,
            tell,
            ask,
            started: Instant::now(),
            seq: 0,
            records: Records::default(),
            steps: FxHashMap::default(),
            os,
            children: FxHashMap::default(),
            timers: FxHashMap::default(),
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            hooks: Vec::new(),
            hidden: FxHashMap::default(),
            deadline,
            stopping: None,
        })
    }

    fn say(&mut self, step: Option<StepRef>, parent: Option<RecordId>, what: What) {
        let event = self.event(step, what);
        self.seq += 1;
        self.records.see(&event, parent);
        (self.tell)(&event);
    }

    fn event(&self, step: Option<StepRef>, what: What) -> Event {
        Event {
            seq: self.seq,
            at_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            step,
            what,
        }
    }

    fn drive(&mut self, machine: &mut Machine) -> Finished {
        loop {
            match machine.poll() {
                Poll::Call(call) => self.call(call),
                Poll::Timer { ticket, ms } => {
                    let timer = self.os.sleep(Duration::from_millis(ms));
                    self.timers.insert(
                        timer,
                        Asked {
                            ticket,
                            record: None,
                        },
                    );
                }
                Poll::Cancel { ticket } => self.cancel(ticket),
                Poll::Note(note) => self.note(note),
                Poll::Done(finished) => return finished,
                Poll::Idle => self.wait(machine),
            }
        }
    }

    fn call(&mut self, call: Call) {
        let kind = self
            .plan
            .plan()
            .calls
            .get(call.host as usize)
            .map(|entry| entry.kind);
        let args = Args(call.args);
        let asked = Asked {
            ticket: call.ticket,
            record: call.record.map(|record| record.0),
        };
        match kind {
            // Nothing starts any more; the machine comes to its end by itself.
            _ if self.stopping.is_some() => self.ready.push_back((asked.ticket, interrupted())),
            Some(HostKind::Exec) => {
                let request = reply::request(&args, &self.settings.directory);
                self.waiting.push_back((asked, request));
                self.start_waiting();
            }
            Some(HostKind::Sleep) => {
                let ms = args.int("ms").unwrap_or(0).max(0).unsigned_abs();
                let timer = self.os.sleep(Duration::from_millis(ms));
                self.timers.insert(timer, asked);
            }
            Some(HostKind::Hook) => {
                let mut request = reply::request(&args, &self.settings.directory);
                request.stdout_limit = HOOK_OUTPUT;
                request.stderr_limit = HOOK_OUTPUT;
                self.hooks.push(asked.ticket);
                self.waiting.push_back((asked, request));
                self.start_waiting();
            }
            Some(HostKind::Agent) => self.ask_agent(asked, &args),
            Some(HostKind::Approve) => self.approve(asked, &args),
            Some(HostKind::Validate) => {
                let reply = validate::validate(&args, &self.settings.directory);
                self.ready.push_back((asked.ticket, reply));
            }
            Some(other @ (HostKind::Tool | HostKind::Recipe)) => {
                let message = format!("this version of rrc cannot run {} steps", other.word());
                let refusal = reply::refusal(FailureKind::PolicyDenied, message);
                self.ready.push_back((asked.ticket, refusal));
            }
            None => {
                let refusal = reply::refusal(FailureKind::InvalidRequest, "there is no such call");
                self.ready.push_back((asked.ticket, refusal));
            }
        }
    }

    fn ask_agent(&mut self, asked: Asked, args: &Args) {
        let text = |name: &str| match args.get(name) {
            Value::Null => String::new(),
            value => render(value).to_string(),
        };
        let agent = text("agent");
        let step = asked.record.and_then(|record| self.steps.get(&record));
        let step_id = step.map_or_else(String::new, |step| step.id.clone());
        let base = reply::request(args, &self.settings.directory);
        let Some(command) = self.settings.agents.command(&agent) else {
            let message = "no agent is configured: set `command` under `[agent]` in rrc.toml";
            let refusal = reply::refusal(FailureKind::PolicyDenied, message);
            self.ready.push_back((asked.ticket, refusal));
            return;
        };
        let question = Question {
            agent: &agent,
            prompt: &text("prompt"),
            system_prompt: &text("system_prompt"),
            model: &text("model"),
            mode: &text("mode"),
            step_id: &step_id,
            cwd: &base.cwd.to_string_lossy(),
        };
        match agent::request(command, &question, &base.cwd) {
            Ok(mut request) => {
                // A program beside the recipe is named as the user sees it from here.
                if request.program.contains('/') {
                    let program = self.settings.directory.join(&request.program);
                    request.program = program.to_string_lossy().into_owned();
                }
                request.env = base.env;
                request.timeout = base.timeout;
                request.stdout_limit = AGENT_OUTPUT;
                request.stderr_limit = AGENT_OUTPUT;
                self.waiting.push_back((asked, request));
                self.start_waiting();
            }
            Err(words) => {
                let message = format!("the agent command `{command}`: {words}");
                let refusal = reply::refusal(FailureKind::InvalidRequest, message);
                self.ready.push_back((asked.ticket, refusal));
            }
        }
    }

    fn approve(&mut self, asked: Asked, args: &Args) {
        let stage = render(args.get("stage")).to_string();
        let prompt = render(args.get("prompt")).to_string();
        let known = StepRef {
            record: None,
            id: stage.clone(),
            path: stage.clone(),
            kind: StepKind::Stage,
        };
        let requested = What::ApprovalRequested {
            prompt: prompt.clone(),
        };
        self.say(Some(known.clone()), None, requested);
        let answer = if self.settings.deny.contains(&stage) {
            Some(false)
        } else if self.settings.approve.contains(&stage) {
            Some(true)
        } else {
            (self.ask)(&stage, &prompt)
        };
        let reply = match answer {
            Some(true) => Value::Null,
            Some(false) => {
                let message = format!("stage `{stage}` was denied");
                reply::refusal(FailureKind::Denied, message)
            }
            None => {
                self.stopping = Some(Stop::Pause);
                let message = format!("waiting for the approval of stage `{stage}`");
                reply::refusal(FailureKind::Interrupted, message)
            }
        };
        if let Some(approved) = answer {
            self.say(Some(known), None, What::ApprovalAnswered { approved });
        }
        self.ready.push_back((asked.ticket, reply));
    }

    fn start_waiting(&mut self) {
        while self.stopping.is_none() && self.children.len() < self.settings.jobs.max(1) {
            let Some((asked, request)) = self.waiting.pop_front() else {
                return;
            };
            let child = self.os.start(request);
            self.children.insert(child, asked);
        }
    }

    fn cancel(&mut self, ticket: Ticket) {
        self.waiting.retain(|(asked, _)| asked.ticket != ticket);
        self.ready.retain(|(ready, _)| *ready != ticket);
        let child = self
            .children
            .iter()
            .find(|(_, asked)| asked.ticket == ticket);
        if let Some(child) = child.map(|(child, _)| *child) {
            self.os.stop(child);
        }
        let timer = self.timers.iter().find(|(_, asked)| asked.ticket == ticket);
        if let Some(timer) = timer.map(|(timer, _)| *timer) {
            self.os.cancel_timer(timer);
            self.timers.remove(&timer);
        }
    }

    /// Answers one thing, waiting for it if nothing is ready.
    fn wait(&mut self, machine: &mut Machine) {
        if let Some((ticket, value)) = self.ready.pop_front() {
            answer(machine, ticket, value);
            return;
        }
        match self.os.wait() {
            Happened::Done(child, outcome) => {
                let Some(asked) = self.children.remove(&child) else {
                    return;
                };
                for warning in &outcome.warnings {
                    let step = asked
                        .record
                        .and_then(|record| self.steps.get(&record).cloned());
                    self.say(
                        step,
                        None,
                        What::StepWarning {
                            text: warning.clone(),
                        },
                    );
                }
                self.done(machine, asked, outcome);
                self.start_waiting();
            }
            Happened::Output(child, stream, line) => {
                let record = self.children.get(&child).and_then(|asked| asked.record);
                let step = record.and_then(|record| self.steps.get(&record).cloned());
                let line = String::from_utf8_lossy(&line).into_owned();
                let stderr = matches!(stream, Stream::Err);
                self.say(step, None, What::StepOutput { stderr, line });
            }
            Happened::Timer(timer) if Some(timer) == self.deadline => self.stop(Stop::Timeout),
            Happened::Timer(timer) => {
                if let Some(asked) = self.timers.remove(&timer) {
                    answer(machine, asked.ticket, Value::Null);
                }
            }
            Happened::Signal(signal) => self.stop(Stop::Signal(signal)),
            // The machine waits for something that the loop does not know of: it was cancelled.
            Happened::Idle => self.give_up(machine),
        }
    }

    fn done(&mut self, machine: &mut Machine, asked: Asked, outcome: process::Outcome) {
        let hook = self.hooks.iter().position(|ticket| *ticket == asked.ticket);
        let value = reply::reply(outcome);
        let Some(hook) = hook else {
            return answer(machine, asked.ticket, value);
        };
        self.hooks.swap_remove(hook);
        // A hook cannot fail the step; what went wrong with it is said all the same.
        if let Value::Failure(failure) = &value {
            let step = asked
                .record
                .and_then(|record| self.steps.get(&record).cloned());
            let text = format!("a hook failed: {}", failure.message);
            self.say(step, None, What::StepWarning { text });
        }
        answer(machine, asked.ticket, Value::Null);
    }

    /// The first time, everything is asked to end; the second time, it is ended.
    fn stop(&mut self, why: Stop) {
        let children: Vec<ChildId> = self.children.keys().copied().collect();
        match self.stopping {
            None => children.into_iter().for_each(|child| self.os.stop(child)),
            Some(_) => children.into_iter().for_each(|child| self.os.kill(child)),
        }
        self.stopping.get_or_insert(why);
        for (asked, _) in std::mem::take(&mut self.waiting) {
            self.ready.push_back((asked.ticket, interrupted()));
        }
        for (timer, asked) in std::mem::take(&mut self.timers) {
            self.os.cancel_timer(timer);
            self.ready.push_back((asked.ticket, interrupted()));
        }
    }

    fn give_up(&mut self, machine: &mut Machine) {
        for (asked, _) in std::mem::take(&mut self.waiting) {
            answer(machine, asked.ticket, interrupted());
        }
        for (_, asked) in std::mem::take(&mut self.children) {
            answer(machine, asked.ticket, interrupted());
        }
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Begin {
                record,
                parent,
                step,
                iteration,
            } => {
                let parent = self.visible(parent.map(|parent| parent.0));
                let reference = self.reference(step, Some(record.0), parent, iteration);
                if reference.kind.is_hidden() && iteration.is_none() {
                    self.hidden.insert(record.0, parent);
                    return;
                }
                self.steps.insert(record.0, reference.clone());
                let what = match iteration {
                    Some(number) => What::Iteration { number },
                    None => What::StepStart,
                };
                self.say(Some(reference), parent, what);
            }
            Note::Skip { step, parent } => {
                let parent = self.visible(parent.map(|parent| parent.0));
                let reference = self.reference(step, None, parent, None);
                if !reference.kind.is_hidden() {
                    self.say(Some(reference), parent, What::StepSkip);
                }
            }
            Note::Attempt { record, number } => {
                self.about(record.0, What::StepRetry { attempt: number });
            }
            Note::Output { record, value } => {
                let step = self.steps.get(&record.0).cloned();
                let event = self.event(step, What::StepStored { value });
                self.records.see(&event, None);
            }
            Note::Warn {
                record: Some(record),
                text,
            } => {
                self.about(
                    record.0,
                    What::StepWarning {
                        text: text.to_string(),
                    },
                );
            }
            Note::Warn { record: None, text } => {
                self.say(
                    None,
                    None,
                    What::RunWarning {
                        text: text.to_string(),
                    },
                );
            }
            Note::End {
                record,
                status,
                value,
            } => {
                self.about(
                    record.0,
                    What::StepEnd {
                        status,
                        result: value,
                        output: self.records.output(record.0),
                    },
                );
                self.steps.remove(&record.0);
            }
        }
    }

    /// The nearest record that the user knows.
    fn visible(&self, record: Option<RecordId>) -> Option<RecordId> {
        let mut record = record;
        while let Some(outer) = record.and_then(|record| self.hidden.get(&record)) {
            record = *outer;
        }
        record
    }

    fn about(&mut self, record: RecordId, what: What) {
        if self.hidden.contains_key(&record) {
            return;
        }
        let step = self.steps.get(&record).cloned();
        self.say(step, None, what);
    }

    fn reference(
        &self,
        step: u32,
        record: Option<RecordId>,
        parent: Option<RecordId>,
        iteration: Option<i64>,
    ) -> StepRef {
        let plan = self.plan.plan();
        let info = plan.steps.get(step as usize);
        let mut id = info.map_or_else(String::new, |info| text(plan, info.id));
        if let Some(number) = iteration {
            id = format!("{id}[{}]", number - 1);
        }
        let above = parent.and_then(|parent| self.steps.get(&parent));
        let path = match (above, iteration) {
            (Some(above), Some(number)) => format!("{}[{}]", above.path, number - 1),
            (Some(above), None) => format!("{}/{id}", above.path),
            (None, _) => id.clone(),
        };
        StepRef {
            record,
            id,
            path,
            kind: info.map_or(StepKind::Bash, |info| info.kind),
        }
    }

    fn end(mut self, finished: Finished) -> Outcome {
        let mut error = None;
        let mut status = match &finished.outcome {
            Ok(Value::Failure(failure)) => {
                error = Some(failure.message.to_string());
                RunStatus::Failed
            }
            Ok(Value::Text(word)) if &**word == "partial" => RunStatus::Partial,
            Ok(_) => RunStatus::Completed,
            Err(fault) => {
                error = Some(fault.to_string());
                RunStatus::Failed
            }
        };
        let mut signal = None;
        match self.stopping {
            Some(Stop::Signal(received)) => {
                status = RunStatus::Cancelled;
                signal = Some(received);
            }
            Some(Stop::Pause) => status = RunStatus::Paused,
            Some(Stop::Timeout) => {
                status = RunStatus::Failed;
                error = Some("the run took longer than allowed".to_string());
            }
            None => {}
        }
        self.say(None, None, What::RunEnd { status });
        self.os.sweep();
        Outcome {
            status,
            records: self.records,
            variables: finished.variables,
            duration: self.started.elapsed(),
            error,
            signal,
        }
    }
}

/// Bytes of output that are kept of a hook, for saying why it failed.
const HOOK_OUTPUT: usize = 64 * 1024;
/// Bytes of output that are kept of an agent.
const AGENT_OUTPUT: usize = 10 * 1024 * 1024;

fn interrupted() -> Value {
    reply::refusal(FailureKind::Interrupted, "the run was stopped")
}

/// A reply the machine does not want any more crossed its cancellation; nothing is lost.
fn answer(machine: &mut Machine, ticket: Ticket, value: Value) {
    if machine.resume(ticket, value).is_err() {
        let refusal = reply::refusal(FailureKind::Unexpected, "the reply was too large");
        let _ = machine.resume(ticket, refusal);
    }
}
