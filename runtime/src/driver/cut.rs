//! Processes that were ended from outside. What they wrote until then is no reply, as they are to run
//! again; it is recorded all the same, for whoever has the run shown again.

use super::Driver;
use super::perform::{Asked, Running, Work};
use crate::process::Outcome;
use crate::reply;
use rrc_vm::machine::Ticket;
use rrc_vm::value::Value;

impl Driver<'_> {
    /// Nobody waits for the reply to a call any more.
    pub(super) fn cancel_call(&mut self, ticket: Ticket) {
        let Some(past) = &mut self.past else {
            return self.cancel(ticket);
        };
        if let Some((asked, value)) = past.cancel(ticket) {
            self.dropped(&asked, &value);
        }
    }

    /// A process has ended whose step was ended before: what comes of it concerns nobody.
    pub(super) fn unwanted(&mut self, running: Running, outcome: Outcome) {
        let Running { asked, work, .. } = running;
        match work {
            Work::Stage(_) => self.stage_ended(),
            Work::Agent(_) => self.agent_dropped(),
            Work::Plain => {}
        }
        let value = reply::reply(outcome, asked.form, &self.secrets);
        self.dropped(&asked, &value);
        self.write_cut(&asked, &value);
    }

    /// What is known of such a process.
    pub(super) fn dropped(&mut self, asked: &Asked, value: &Value) {
        self.learn(asked, value);
        self.note_end(asked, value);
    }

    /// A process was ended with the run. What it wrote is all that is known of its step.
    pub(super) fn cut_off(&mut self, asked: &Asked, value: &Value) {
        self.dropped(asked, value);
        let record = asked.record.filter(|_| asked.is_work());
        if let Value::Failure(failure) = value
            && let Some(open) = record.and_then(|record| self.open.get_mut(&record))
        {
            open.said = Some(failure.data.clone());
        }
    }

    pub(super) fn write_cut(&mut self, asked: &Asked, value: &Value) {
        let ms = self.now_ms();
        if let Some(journal) = &mut self.journal {
            journal.cut(asked.ticket.0, value, ms, &self.secrets);
        }
        self.say_trouble();
    }
}
