//! Whether to go on after a stage: settled by the settings, or asked at the terminal.
//!
//! While somebody thinks, everything else goes on: what runs beside it, signals, and the deadline
//! of the run.

use super::perform::{Asked, Place};
use super::{Approval, Driver, Stop};
use crate::event::{RunStatus, StepRef, What};
use crate::process::TimerId;
use crate::reply::{self, Args};
use rrc_vm::fault::FailureKind;
use rrc_vm::machine::Ticket;
use rrc_vm::plan::StepKind;
use rrc_vm::text::render;
use rrc_vm::value::Value;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A question that waits for its answer.
pub(super) struct Question {
    pub asked: Asked,
    pub stage: String,
    pub prompt: String,
    /// What holds when nobody answers in time.
    default: bool,
    /// When that is, in milliseconds since 1970.
    until: Option<u64>,
    timer: Option<TimerId>,
}

impl Question {
    pub fn new(asked: Asked, args: &Args) -> Question {
        Question {
            asked,
            stage: render(args.get("stage")).to_string(),
            prompt: render(args.get("prompt")).to_string(),
            default: matches!(args.get("default"), Value::Bool(true)),
            until: None,
            timer: None,
        }
    }
}

/// A question that the run waits for an answer to.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pending {
    /// The path of what the stage stands in, if it does.
    around: String,
    pub stage: String,
    prompt: String,
}

impl Pending {
    pub fn words(&self) -> String {
        let mut words = format!("waiting for the approval of stage `{}`", self.stage);
        if !self.around.is_empty() {
            words += &format!(" in `{}`", self.around);
        }
        match self.prompt.trim() {
            "" => words,
            prompt => format!("{words}: {prompt}"),
        }
    }
}

/// Milliseconds since 1970: a question may wait longer than rrc runs.
fn since_1970() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

impl Driver<'_> {
    pub(super) fn approve(&mut self, mut asked: Asked, args: &Args) {
        let now = since_1970();
        let since = *asked.since.get_or_insert(now);
        self.begin(&asked);
        let mut question = Question::new(asked, args);
        self.say_approval(&question, None);
        let timeout = args.int("timeout_ms").and_then(|ms| u64::try_from(ms).ok());
        let left = timeout.map(|ms| since.saturating_add(ms).saturating_sub(now));
        if self.settings.deny.contains(&question.stage) {
            self.answer(question, false);
        } else if self.settings.approve.contains(&question.stage) {
            self.answer(question, true);
        } else if left == Some(0) {
            self.answer_by_default(question);
        } else {
            question.until = left.map(|ms| now.saturating_add(ms));
            question.timer = left.map(|ms| self.os.sleep(Duration::from_millis(ms)));
            self.places
                .insert(question.asked.ticket.0, Place::Questions);
            self.questions.push_back(question);
            if self.questions.len() == 1 {
                self.put_question();
            }
        }
    }

    /// Puts the first question. What was typed before is no answer to it.
    fn put_question(&mut self) {
        if !self.questions.is_empty() {
            self.os.forget_typed();
        }
        self.repeat_question();
    }

    /// Asks, if somebody is there to answer.
    fn repeat_question(&mut self) {
        let Some(question) = self.questions.front() else {
            return;
        };
        let left = question
            .until
            .map(|until| until.saturating_sub(since_1970()));
        let asked = Approval::Ask {
            stage: &question.stage,
            prompt: &self.secrets.text(&question.prompt),
            within: left.map(|ms| (Duration::from_millis(ms), question.default)),
        };
        match (self.ask)(asked) {
            true => self.os.await_line(),
            false => self.nobody_answers(),
        }
    }

    /// What was typed; none if nobody will type anything any more.
    pub(super) fn heard(&mut self, line: Option<String>) {
        let answer = line.as_deref().map(|line| line.trim().to_ascii_lowercase());
        let approved = match answer.as_deref() {
            Some("y" | "yes") => true,
            Some("n" | "no") => false,
            Some(_) => return self.repeat_question(),
            None => return self.nobody_answers(),
        };
        if let Some(question) = self.questions.pop_front() {
            self.answer(question, approved);
        }
        self.put_question();
    }

    fn answer(&mut self, question: Question, approved: bool) {
        let refusal = format!("stage `{}` was denied", question.stage);
        self.answer_or(question, approved, refusal);
    }

    fn answer_by_default(&mut self, question: Question) {
        let approved = question.default;
        let refusal = format!("nobody approved stage `{}` in time", question.stage);
        self.answer_or(question, approved, refusal);
    }

    fn answer_or(&mut self, question: Question, approved: bool, refusal: String) {
        if let Some(timer) = question.timer {
            self.os.cancel_timer(timer);
        }
        self.say_approval(&question, Some(approved));
        if approved {
            return self.reply(question.asked, Value::Null);
        }
        // No recipe hears of it: none could go on, try again or clean up.
        let reply = reply::refusal(FailureKind::Denied, refusal.clone());
        self.write_down(&question.asked, &reply);
        self.stop(Stop::Denied(refusal));
    }

    /// Whether a timer was set here: then the time to answer is over.
    pub(super) fn question_time(&mut self, timer: TimerId) -> bool {
        let due = |question: &Question| question.timer == Some(timer);
        let Some(at) = self.questions.iter().position(due) else {
            return false;
        };
        if let Some(question) = self.questions.remove(at) {
            if at == 0 {
                self.withdraw(Some(question.default));
            }
            self.answer_by_default(question);
        }
        if at == 0 {
            self.put_question();
        }
        true
    }

    /// The run waits for another day.
    fn nobody_answers(&mut self) {
        let questions = std::mem::take(&mut self.questions);
        self.pause(questions);
    }

    pub(super) fn cancel_question(&mut self, ticket: Ticket) {
        let first = self.questions.front();
        let asking = first.is_some_and(|question| question.asked.ticket == ticket);
        self.questions
            .retain(|question| question.asked.ticket != ticket);
        if asking {
            self.withdraw(None);
            self.put_question();
        }
    }

    /// The question that was put needs no answer any more.
    fn withdraw(&mut self, default: Option<bool>) {
        self.os.forget_line();
        (self.ask)(Approval::Withdrawn { default });
    }

    /// Says that an approval is asked for, or what the answer was.
    pub(super) fn say_approval(&mut self, question: &Question, answer: Option<bool>) {
        let known = self.gate(&question.asked, &question.stage);
        let what = match answer {
            Some(approved) => What::ApprovalAnswered { approved },
            None => What::ApprovalRequested {
                prompt: question.prompt.clone(),
            },
        };
        self.say(Some(Rc::new(known)), None, what);
    }

    /// The stage that is asked about, as the user knows it.
    fn gate(&self, asked: &Asked, stage: &str) -> StepRef {
        let open = asked.record.and_then(|record| self.open.get(&record));
        let gate = open.and_then(|open| open.gate.as_ref());
        let known = |gate: &Rc<StepRef>| (gate.id.clone(), gate.path.clone());
        let (id, path) = gate.map_or_else(|| (stage.to_string(), stage.to_string()), known);
        StepRef {
            record: None,
            id,
            path,
            kind: StepKind::Stage,
        }
    }

    /// A question that is asked when the run has begun to wait for another: who is to answer sees all of
    /// them.
    pub(super) fn wait_too(&mut self, mut asked: Asked, args: &Args) {
        let stage = render(args.get("stage")).to_string();
        let is_answered = [&self.settings.deny, &self.settings.approve]
            .iter()
            .any(|answered| answered.contains(&stage));
        if is_answered {
            return self.approve(asked, args);
        }
        asked.since.get_or_insert_with(since_1970);
        self.begin(&asked);
        let question = Question::new(asked, args);
        self.say_approval(&question, None);
        self.pause([question]);
    }

    /// The run waits for answers to these, and to those it waits for already.
    pub(super) fn pause(&mut self, questions: impl IntoIterator<Item = Question>) {
        let new = questions.into_iter().map(|question| {
            let path = self.gate(&question.asked, &question.stage).path;
            let Question { stage, prompt, .. } = question;
            let around = path.strip_suffix(&stage).unwrap_or_default();
            Pending {
                around: around.trim_end_matches('/').to_string(),
                stage,
                prompt,
            }
        });
        let new: Vec<Pending> = new.collect();
        match &mut self.stopping {
            Some(Stop::Pause(pending)) => pending.extend(new),
            None | Some(Stop::Recorded(RunStatus::Paused, _)) if !new.is_empty() => {
                self.stopping = Some(Stop::Pause(new));
            }
            _ => {}
        }
    }
}
