//! What comes of calls: children end, times pass, lines are typed; the machine is told, and before it the
//! record of the run.

use super::machines::Machines;
use super::perform::{Asked, Running, Work};
use super::staging::staged;
use super::{Driver, Stop};
use crate::event::What;
use crate::process::{self, Happened, TimerId};
use crate::reply::{self, Form};
use rrc_vm::convert::from_json;
use rrc_vm::fault::FailureKind;
use rrc_vm::machine::Ticket;
use rrc_vm::plan::HostKind;
use rrc_vm::text::render;
use rrc_vm::value::Value;

/// Gives a machine the reply to a call. Instead of one that does not fit into it, it is told that.
pub(super) fn answer(machine: &mut Machines, ticket: Ticket, value: Value) {
    if !machine.resume(ticket, value) {
        let refusal = reply::refusal(FailureKind::Unexpected, "the reply was too large");
        // So short a reply is taken.
        let _ = machine.resume(ticket, refusal);
    }
}

impl Driver<'_> {
    /// Answers one thing, waiting for it if nothing is ready.
    pub(super) fn wait(&mut self, machine: &mut Machines) {
        if self.past.is_some() {
            return self.recall_next(machine);
        }
        if let Some(ready) = self.ready.pop_front() {
            return self.told(machine, ready.asked, ready.value, true);
        }
        if let Some(why) = self.stopping.as_ref().filter(|_| self.children.is_empty()) {
            return machine.halt(&why.words());
        }
        let Some(happened) = self.next() else {
            return;
        };
        match happened {
            Happened::Done(child, outcome) => {
                self.end_line(child);
                if let Some(running) = self.children.remove(&child) {
                    match self.ending.remove(&child) {
                        true => self.unwanted(running, outcome),
                        false => self.done(machine, running, outcome),
                    }
                    self.start_waiting();
                }
            }
            Happened::Output(child, stream, line) => self.line(child, stream, line),
            Happened::Timer(timer) if Some(timer) == self.deadline => self.stop(self.too_long()),
            Happened::Timer(timer) => self.time_passed(machine, timer),
            Happened::Signal(signal) => self.stop(Stop::Signal(signal)),
            Happened::Line(line) => self.heard(line),
            // The machine waits for something that the loop does not know of: it was cancelled.
            Happened::Idle => machine.halt("nothing is left to wait for"),
        }
    }

    /// Gives what was ended while the run went on the time to end that everything has.
    pub(super) fn wait_for_ending(&mut self) {
        while !self.ending.is_empty() {
            match self.os.wait() {
                Happened::Done(child, outcome) => {
                    let ending = self.ending.remove(&child);
                    if let Some(running) = self.children.remove(&child).filter(|_| ending) {
                        self.unwanted(running, outcome);
                    }
                }
                Happened::Signal(signal) => self.stop(Stop::Signal(signal)),
                Happened::Idle => return,
                Happened::Output(..) | Happened::Timer(_) | Happened::Line(_) => {}
            }
        }
    }

    fn time_passed(&mut self, machine: &mut Machines, timer: TimerId) {
        if self.agent_time(timer) || self.question_time(timer) {
            return;
        }
        if let Some(asked) = self.timers.remove(&timer) {
            self.told(machine, asked, Value::Null, true);
        }
    }

    fn done(&mut self, machine: &mut Machines, running: Running, mut outcome: process::Outcome) {
        let streams = [
            (&mut outcome.stdout, &mut outcome.stdout_truncated),
            (&mut outcome.stderr, &mut outcome.stderr_truncated),
        ];
        let totals = [
            ("stdout", outcome.stdout_bytes),
            ("stderr", outcome.stderr_bytes),
        ];
        for (((bytes, truncated), limit), (name, total)) in
            streams.into_iter().zip(running.limits).zip(totals)
        {
            let end = self.secrets.end_before(bytes, limit);
            if end < bytes.len() {
                bytes.truncate(end);
                *truncated = true;
            }
            // A value that goes on from here is not what was written; of a hook nobody has one.
            if *truncated && running.asked.form == Form::Text && running.asked.is_work() {
                let words = format!("it wrote {total} bytes to {name}, of which {limit} are kept");
                outcome.warnings.push(words);
            }
        }
        // What was ended from outside was not done, and is to be done again some day.
        let real = !outcome.cancelled;
        let asked = running.asked;
        match running.work {
            Work::Stage(answer) => {
                self.stage_ended();
                self.told(machine, asked, staged(answer, &outcome), true);
            }
            _ if !real && self.stopping.is_some() => {
                let value = reply::reply(outcome, asked.form, &self.secrets);
                self.cut_off(&asked, &value);
                self.write_cut(&asked, &value);
            }
            Work::Plain => {
                let value = reply::reply(outcome, asked.form, &self.secrets);
                self.told(machine, asked, value, real);
            }
            Work::Agent(asking) => {
                if let Some((asked, value)) = self.agent_done(asked, *asking, outcome) {
                    self.told(machine, asked, value, real);
                }
                self.start_agents();
            }
        }
    }

    /// A reply has come: it is written down, then the machine gets it.
    fn told(&mut self, machine: &mut Machines, asked: Asked, value: Value, real: bool) {
        self.learn(&asked, &value);
        if real {
            self.write_down(&asked, &value);
        }
        self.settle(machine, &asked, value);
    }

    pub(super) fn write_down(&mut self, asked: &Asked, reply: &Value) {
        let ms = self.now_ms();
        if let Some(journal) = &mut self.journal {
            journal.end(asked.ticket.0, reply, ms, &self.secrets);
        }
        self.say_trouble();
    }

    /// A command has ended.
    pub(super) fn note_end(&mut self, asked: &Asked, value: &Value) {
        let Some(place) = asked.ran else {
            return;
        };
        let (data, kind) = match value {
            Value::Failure(failure) => (&failure.data, Some(failure.kind)),
            data => (data, None),
        };
        let field = |name: &str| rrc_vm::text::field(data, name);
        // What was ended while the run goes on was ended because its time was over.
        let ended = kind == Some(FailureKind::Interrupted) && self.stopping.is_none();
        self.ran.end(place, |ran| {
            if let Some(Value::Int(code)) = field("exit_code") {
                ran.code = Some(*code);
            }
            ran.timed_out = ended || matches!(field("timed_out"), Some(Value::Bool(true)));
            ran.started = !matches!(
                kind,
                Some(
                    FailureKind::CommandNotFound
                        | FailureKind::PermissionDenied
                        | FailureKind::InvalidCwd
                        | FailureKind::SpawnFailed
                        | FailureKind::InvalidRequest
                )
            );
        });
    }

    pub(super) fn settle(&mut self, machine: &mut Machines, asked: &Asked, value: Value) {
        self.places.remove(&asked.ticket.0);
        self.note_end(asked, &value);
        for warning in reply::warnings(&value) {
            let text = render(warning).to_string();
            self.say(self.step_of(asked), None, What::StepWarning { text });
        }
        let record = asked
            .record
            .filter(|_| asked.is_work() || asked.is_deadline());
        match record.and_then(|record| self.open.get_mut(&record)) {
            Some(open) => {
                let failed = value.failed() || asked.is_deadline();
                open.answered = Some((asked.ticket.0, failed));
                open.since.clear();
                if let Value::Map(_) = value {
                    open.said = Some(value.clone());
                }
            }
            None if asked.is_deadline() => self.again.push(asked.ticket.0),
            None => {}
        }
        if asked.kind != Some(HostKind::Hook) {
            return answer(machine, asked.ticket, value);
        }
        // A hook cannot fail the step; what went wrong with it is said all the same.
        if let Value::Failure(failure) = &value {
            let text = format!("a hook failed: {}", failure.message);
            self.say(self.step_of(asked), None, What::StepWarning { text });
        }
        answer(machine, asked.ticket, Value::Null);
    }

    /// What a step writes whose variable is secret is secret from now on.
    pub(super) fn learn(&mut self, asked: &Asked, value: &Value) {
        let Some(names) = asked.step.and_then(|step| self.gives.get(&step)) else {
            return;
        };
        let data = match value {
            Value::Failure(failure) => &failure.data,
            data => data,
        };
        let Value::Map(data) = data else { return };
        let Some(stdout @ Value::Text(text)) = data.get("stdout") else {
            return;
        };
        let json = serde_json::from_str::<serde_json::Value>(text.trim()).ok();
        let parts = json.filter(|json| json.is_object() || json.is_array());
        for name in names {
            self.secrets.learn(name, stdout);
            if let Some(parts) = &parts {
                self.secrets.learn(name, &from_json(parts));
            }
        }
    }
}
