//! Whether to go on after a stage: settled by the settings, or asked at the terminal.
//!
//! While somebody thinks, everything else goes on: what runs beside it, signals, and the deadline
//! of the run.

use super::perform::{Asked, Ready};
use super::{Driver, Stop};
use crate::event::{StepRef, What};
use crate::reply::{self, Args};
use rrc_vm::fault::FailureKind;
use rrc_vm::machine::Ticket;
use rrc_vm::plan::StepKind;
use rrc_vm::text::render;
use rrc_vm::value::Value;

/// A question that waits for its answer.
pub(super) struct Question {
    pub asked: Asked,
    stage: String,
    prompt: String,
}

impl Question {
    pub fn new(asked: Asked, args: &Args) -> Question {
        Question {
            asked,
            stage: render(args.get("stage")).to_string(),
            prompt: render(args.get("prompt")).to_string(),
        }
    }
}

impl Driver<'_> {
    pub(super) fn approve(&mut self, asked: Asked, args: &Args) {
        self.begin(&asked);
        let question = Question::new(asked, args);
        self.say_approval(&question, None);
        if self.settings.deny.contains(&question.stage) {
            self.answer(question, false);
        } else if self.settings.approve.contains(&question.stage) {
            self.answer(question, true);
        } else {
            self.questions.push_back(question);
            if self.questions.len() == 1 {
                self.put_question();
            }
        }
    }

    /// Puts the first question, if somebody is there to answer it.
    fn put_question(&mut self) {
        let Some(Question { stage, prompt, .. }) = self.questions.front() else {
            return;
        };
        let prompt = self.secrets.text(prompt);
        match (self.ask)(stage, &prompt) {
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
            Some(_) => return self.put_question(),
            None => return self.nobody_answers(),
        };
        if let Some(question) = self.questions.pop_front() {
            self.answer(question, approved);
        }
        self.put_question();
    }

    fn answer(&mut self, question: Question, approved: bool) {
        self.say_approval(&question, Some(approved));
        let reply = match approved {
            true => Value::Null,
            false => {
                let message = format!("stage `{}` was denied", question.stage);
                reply::refusal(FailureKind::Denied, message)
            }
        };
        self.reply(question.asked, reply);
    }

    /// The run waits for another day.
    fn nobody_answers(&mut self) {
        for question in std::mem::take(&mut self.questions) {
            self.stopping.get_or_insert(Stop::Pause);
            self.wait_for(question);
        }
    }

    pub(super) fn wait_for(&mut self, question: Question) {
        let message = format!("waiting for the approval of stage `{}`", question.stage);
        self.ready.push_back(Ready {
            asked: question.asked,
            value: reply::refusal(FailureKind::Interrupted, message),
            real: false,
        });
    }

    /// The run is being stopped: no answer matters any more.
    pub(super) fn drop_questions(&mut self) {
        self.os.forget_line();
        for question in std::mem::take(&mut self.questions) {
            self.reply_interrupted(question.asked);
        }
    }

    pub(super) fn cancel_question(&mut self, ticket: Ticket) {
        let first = self.questions.front();
        let asking = first.is_some_and(|question| question.asked.ticket == ticket);
        self.questions
            .retain(|question| question.asked.ticket != ticket);
        if asking {
            self.os.forget_line();
            self.put_question();
        }
    }

    /// Says that an approval is asked for, or what the answer was.
    pub(super) fn say_approval(&mut self, question: &Question, answer: Option<bool>) {
        let known = StepRef {
            record: None,
            id: question.stage.clone(),
            path: question.stage.clone(),
            kind: StepKind::Stage,
        };
        let what = match answer {
            Some(approved) => What::ApprovalAnswered { approved },
            None => What::ApprovalRequested {
                prompt: question.prompt.clone(),
            },
        };
        self.say(Some(known), None, what);
    }
}
