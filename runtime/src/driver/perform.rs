//! Doing what the machine asks for: what is started, what waits its turn, and what is not wanted any more.
//! What comes of it is in `told`.

use super::agents::Asking;
use super::history::Again;
use super::machines::Machines;
use super::{Driver, Stop};
use crate::event::{RecordId, StepRef, What};
use crate::journal::Print;
use crate::process::{ChildId, Request, TimerId};
use crate::record::Ran;
use crate::reply::{self, Args, Form};
use crate::validate;
use rrc_vm::fault::FailureKind;
use rrc_vm::machine::{Call, Ticket};
use rrc_vm::plan::HostKind;
use rrc_vm::value::Value;
use std::rc::Rc;
use std::time::Duration;

/// What a reply belongs to.
pub(super) struct Asked {
    pub ticket: Ticket,
    pub record: Option<RecordId>,
    /// The step of the plan that asks; none for a deadline.
    pub step: Option<u32>,
    pub kind: Option<HostKind>,
    pub print: Option<Print>,
    /// The words of a command, and its number among those that were asked for.
    pub words: Option<Vec<String>>,
    pub ran: Option<usize>,
    pub form: Form,
    /// When a question was first put, since 1970.
    pub since: Option<u64>,
    /// The step that it is about, where that has ended.
    pub after: Option<Rc<StepRef>>,
}

impl Asked {
    pub fn timer(ticket: Ticket, record: Option<RecordId>) -> Asked {
        Asked {
            ticket,
            record,
            step: None,
            kind: None,
            print: None,
            words: None,
            ran: None,
            form: Form::Text,
            since: None,
            after: None,
        }
    }

    /// Whether it is the work of a step, not what happens around it.
    pub fn is_work(&self) -> bool {
        !matches!(self.kind, None | Some(HostKind::Hook | HostKind::Sleep))
    }

    /// Whether it is the time that a step may take.
    pub fn is_deadline(&self) -> bool {
        self.kind.is_none() && self.step.is_none()
    }
}

/// A process that is to be started.
pub(super) struct Job {
    pub asked: Asked,
    pub wanted: Wanted,
    pub work: Work,
    /// It is written down already that it will be.
    pub begun: bool,
}

/// What a process is given. All variables of a recipe may be in its environment: so what waits its turn
/// keeps the values that it was asked with, which it shares with others.
pub(super) enum Wanted {
    Values(Args),
    Request(Box<Request>),
}

/// What a process is for, as far as something follows from its end.
pub(super) enum Work {
    Plain,
    Agent(Box<Asking>),
    /// Staging what an agent has changed, with the reply to the agent's call.
    Stage(Value),
}

/// A child, and how much of its output is kept.
pub(super) struct Running {
    pub asked: Asked,
    pub work: Work,
    pub limits: [usize; 2],
}

/// Where a call waits for its reply.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// Until fewer processes run.
    Queue,
    Agents,
    Questions,
    Ready,
    Child(ChildId),
    Timer(TimerId),
}

/// A reply that needs nothing from outside.
pub(super) struct Ready {
    pub asked: Asked,
    pub value: Value,
}

/// Bytes of output that are kept of a hook, for saying why it failed.
const HOOK_OUTPUT: usize = 64 * 1024;

/// Whether a call is the hook that runs when its step has ended.
fn follows_a_step(kind: Option<HostKind>, args: &Args) -> bool {
    let event = args.get("event");
    kind == Some(HostKind::Hook) && matches!(event, Value::Text(event) if &**event == "post_step")
}

impl Driver<'_> {
    pub(super) fn call(&mut self, machine: &mut Machines, which: u32, call: Call) {
        let Some(known) = self.known.get(&which) else {
            return;
        };
        let entry = known.plan().calls.get(call.host as usize);
        let entry = entry.map(|entry| (entry.kind, which + entry.step));
        let (kind, step) = entry.unzip();
        let compared = self.journal.is_some() || self.past.is_some();
        let asked = Asked {
            ticket: call.ticket,
            record: call.record.map(|record| record.0),
            step,
            kind,
            print: kind
                .filter(|_| compared)
                .map(|kind| Print::of(kind, &call.args, &self.secrets)),
            words: None,
            ran: None,
            form: Form::Text,
            since: None,
            after: None,
        };
        let args = Args(call.args);
        let asked = Asked {
            // Nothing happens between the end of a step and the hook that follows it.
            after: self.ended.take().filter(|_| follows_a_step(kind, &args)),
            words: args.words("argv"),
            form: Form::of(&args),
            ..asked
        };
        if let Some(open) = asked.record.and_then(|record| self.open.get_mut(&record)) {
            match asked.is_work() {
                true => open.pausing = false,
                false => open.since.push(asked.ticket.0),
            }
        }
        match self.kept.take(&asked, self.is_once(&asked, &args)) {
            Again::Call => {}
            Again::Reply(value) => return self.answer_kept(asked, &args, value),
            Again::Refused(words) => {
                self.refused = Some(words);
                return;
            }
        }
        let Some((asked, args)) = self.late(machine, which, asked, args) else {
            return;
        };
        match self.past.is_some() {
            true => self.recall(asked, args),
            false => self.perform(asked, &args),
        }
    }

    /// A call that could not be done.
    pub(super) fn fail(&mut self, asked: Asked, refusal: Value) {
        if self.past.is_none() {
            self.begin(&asked);
        }
        self.reply(asked, refusal);
    }

    pub(super) fn perform(&mut self, asked: Asked, args: &Args) {
        // Nothing starts any more, and the recipe has no say in that: nobody answers.
        match &self.stopping {
            Some(Stop::Pause(_)) if asked.kind == Some(HostKind::Approve) => {
                return self.wait_too(asked, args);
            }
            Some(_) => return self.unbegun(&asked),
            None => {}
        }
        match asked.kind {
            Some(HostKind::Exec | HostKind::Hook) => self.enqueue_job(Job {
                asked,
                wanted: Wanted::Values(args.clone()),
                work: Work::Plain,
                begun: false,
            }),
            Some(HostKind::Sleep) => {
                let mut ms = args.int("ms").unwrap_or(0).max(0).unsigned_abs();
                if matches!(args.get("after_turn"), Value::Bool(true)) {
                    let around = asked.record.and_then(|record| self.open.get(&record));
                    let now = self.now_ms();
                    let began = around.and_then(|around| around.turned).unwrap_or(now);
                    ms = ms.saturating_sub(now.saturating_sub(began));
                }
                self.begin(&asked);
                self.set_timer(asked, ms);
            }
            Some(HostKind::Agent) => self.ask_agent(asked, args),
            Some(HostKind::Approve) => self.approve(asked, args),
            Some(HostKind::Validate) => {
                self.begin(&asked);
                let reply = validate::validate(args, &self.settings.directory);
                self.reply(asked, reply);
            }
            Some(HostKind::Preflight) => {
                self.begin(&asked);
                let reply = reply::preflight(args, &self.settings.directory, &self.secrets);
                self.reply(asked, reply);
            }
            Some(other @ (HostKind::Tool | HostKind::Recipe)) => {
                let message = format!("this version of rrc cannot run {} steps", other.word());
                self.reply(asked, reply::refusal(FailureKind::PolicyDenied, message));
            }
            None => {
                let refusal = reply::refusal(FailureKind::InvalidRequest, "there is no such call");
                self.reply(asked, refusal);
            }
        }
    }

    pub(super) fn reply(&mut self, asked: Asked, value: Value) {
        self.places.insert(asked.ticket.0, Place::Ready);
        self.ready.push_back(Ready { asked, value });
    }

    /// The run was stopped before this call was done.
    pub(super) fn unbegun(&mut self, asked: &Asked) {
        let record = asked.record.filter(|_| asked.is_work());
        self.unbegun.extend(record);
    }

    pub(super) fn enqueue_job(&mut self, job: Job) {
        self.places.insert(job.asked.ticket.0, Place::Queue);
        self.waiting.push_back(job);
        self.start_waiting();
    }

    pub(super) fn set_timer(&mut self, asked: Asked, ms: u64) {
        let timer = self.os.sleep(Duration::from_millis(ms));
        self.places.insert(asked.ticket.0, Place::Timer(timer));
        self.timers.insert(timer, asked);
    }

    /// Before anything happens that cannot be taken back, it is written down that it will.
    pub(super) fn begin(&mut self, asked: &Asked) {
        let Some(print) = asked.print else { return };
        let ms = self.now_ms();
        let step = self.step_of(asked);
        let path = step.as_ref().map_or("", |step| step.path.as_str());
        let Some(journal) = &mut self.journal else {
            return;
        };
        journal.begin(asked.ticket.0, print, path, ms, asked.since);
        self.say_trouble();
    }

    /// Says, once, that the record of the run has come to its end before the run.
    pub(super) fn say_trouble(&mut self) {
        let trouble = self.journal.as_mut().and_then(|journal| journal.trouble());
        if let Some(words) = trouble {
            let text = format!("the run is not recorded any further: {words}");
            self.say(None, None, What::RunWarning { text });
        }
    }

    /// What runs next may need the very files that something is still putting in order.
    fn may_start(&self) -> bool {
        self.stopping.is_none()
            && !self.os.holds_lines()
            && self.ending.is_empty()
            && self.children.len() < self.settings.jobs.clamp(1, self.os.room())
    }

    pub(super) fn start_waiting(&mut self) {
        while self.may_start() {
            let Some(job) = self.waiting.pop_front() else {
                return;
            };
            let Job {
                mut asked,
                wanted,
                work,
                begun,
            } = job;
            let mut request = match wanted {
                Wanted::Request(request) => *request,
                Wanted::Values(args) => reply::request(&args, &self.settings.directory),
            };
            if asked.kind == Some(HostKind::Hook) {
                request.stdout_limit = HOOK_OUTPUT;
                request.stderr_limit = HOOK_OUTPUT;
            }
            if !begun {
                self.begin(&asked);
            }
            self.note_start(&mut asked);
            // A little more than the limit, to see what the limit cuts through.
            let limits = [request.stdout_limit, request.stderr_limit];
            let window = self.secrets.window();
            request.stdout_limit = request.stdout_limit.saturating_add(window);
            request.stderr_limit = request.stderr_limit.saturating_add(window);
            let child = self.os.start(request);
            self.places.insert(asked.ticket.0, Place::Child(child));
            let running = Running {
                asked,
                work,
                limits,
            };
            self.children.insert(child, running);
        }
    }

    pub(super) fn cancel(&mut self, ticket: Ticket) {
        match self.places.remove(&ticket.0) {
            None => {}
            Some(Place::Queue) => {
                let is_it = |job: &Job| job.asked.ticket == ticket;
                // What is ended together is ended from the last to the first.
                let at = self.waiting.iter().rposition(is_it);
                let dropped = at.and_then(|at| self.waiting.remove(at));
                match dropped.map(|job| job.work) {
                    Some(Work::Agent(_)) => self.agent_dropped(),
                    Some(Work::Stage(_)) => self.stage_ended(),
                    Some(Work::Plain) | None => {}
                }
            }
            Some(Place::Agents) => self.cancel_agent(ticket),
            Some(Place::Questions) => self.cancel_question(ticket),
            Some(Place::Ready) => self.ready.retain(|ready| ready.asked.ticket != ticket),
            Some(Place::Child(child)) => {
                self.os.stop(child);
                self.ending.insert(child);
            }
            Some(Place::Timer(timer)) => {
                self.os.cancel_timer(timer);
                self.timers.remove(&timer);
            }
        }
    }

    /// A command is about to start.
    pub(super) fn note_start(&mut self, asked: &mut Asked) {
        let Some(words) = asked.words.take() else {
            return;
        };
        let argv = words
            .iter()
            .map(|word| self.secrets.text(word).into_owned());
        let ran = Ran {
            record: asked.record,
            path: self.path(asked.record).to_string(),
            argv: argv.collect(),
            code: None,
            timed_out: false,
            started: true,
        };
        asked.ran = Some(self.ran.start(ran));
    }

    /// The first time, everything is asked to end; the second time, it is ended.
    pub(super) fn stop(&mut self, why: Stop) {
        if matches!(why, Stop::Signal(_)) {
            self.settings.ways.hurry();
        }
        let children: Vec<ChildId> = self.children.keys().copied().collect();
        // A run that pauses has asked nothing to end: it waits for what runs.
        let first = matches!(self.stopping, None | Some(Stop::Pause(_)));
        for child in children {
            match first {
                true => self.os.stop(child),
                false => self.os.kill(child),
            }
        }
        if first {
            self.stopping = Some(why);
        }
        self.os.forget_line();
        self.questions.clear();
        for job in std::mem::take(&mut self.waiting) {
            match job.work {
                Work::Stage(answer) => self.reply(job.asked, answer),
                Work::Plain | Work::Agent(_) => self.unbegun(&job.asked),
            }
        }
        self.stop_staging();
        self.stop_agents();
        for (timer, _) in std::mem::take(&mut self.timers) {
            self.os.cancel_timer(timer);
        }
    }
}
