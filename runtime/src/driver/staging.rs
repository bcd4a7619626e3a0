//! Staging what agents have changed. It never makes a step fail, and where there is nothing to stage
//! in, nobody hears of it.

use super::Driver;
use super::perform::{Asked, Job, Place, Wanted, Work};
use crate::process::{ErrorKind, Outcome, Request};
use rrc_vm::value::{Map, Value};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// How long it may take.
const STAGE_TIME: Duration = Duration::from_secs(60);

/// What git says where there is no work tree.
const NO_WORK_TREE: [&str; 2] = ["not a git repository", "must be run in a work tree"];

/// Answers that wait for it: git locks its index, so it is done for one after the other.
#[derive(Default)]
pub(super) struct Staging {
    pub waiting: VecDeque<Job>,
    busy: bool,
}

impl Driver<'_> {
    /// Stages what was changed where an agent was asked like this, before its answer is told.
    pub(super) fn stage(&mut self, asked: Asked, answer: Value, question: Request) {
        let mut request = Request::new("git");
        request.args = vec!["add".to_string(), "-A".to_string()];
        request.cwd = question.cwd;
        request.env = question.env;
        // What it says is read here.
        request.env.push(("LC_ALL".to_string(), "C".to_string()));
        request.timeout = Some(STAGE_TIME);
        self.places.insert(asked.ticket.0, Place::Agents);
        self.staging.waiting.push_back(Job {
            asked,
            wanted: Wanted::Request(Box::new(request)),
            work: Work::Stage(answer),
            begun: true,
        });
        self.stage_next();
    }

    fn stage_next(&mut self) {
        if self.staging.busy {
            return;
        }
        if let Some(job) = self.staging.waiting.pop_front() {
            self.staging.busy = true;
            self.enqueue_job(job);
        }
    }

    /// What was being staged, or was to be, is not any more.
    pub(super) fn stage_ended(&mut self) {
        self.staging.busy = false;
        self.stage_next();
    }

    /// Answers are told whatever becomes of the run: they were given.
    pub(super) fn stop_staging(&mut self) {
        for job in std::mem::take(&mut self.staging.waiting) {
            if let Work::Stage(answer) = job.work {
                self.reply(job.asked, answer);
            }
        }
    }
}

/// An answer, with a warning if what goes with it could have been staged and was not.
pub(super) fn staged(answer: Value, outcome: &Outcome) -> Value {
    let (Some(why), Value::Map(fields)) = (trouble(outcome), &answer) else {
        return answer;
    };
    let mut fields: Map = Map::clone(fields);
    let mut warnings = match fields.get("warnings") {
        Some(Value::List(warnings)) => warnings.to_vec(),
        _ => Vec::new(),
    };
    let text = format!("the changes were not staged: {why}");
    warnings.push(Value::text(text.as_str()));
    fields.insert(Rc::from("warnings"), Value::list(warnings));
    Value::map(fields)
}

fn trouble(outcome: &Outcome) -> Option<String> {
    let error = outcome.error.as_ref().filter(|_| !outcome.cancelled)?;
    let no_git = matches!(
        error.kind,
        ErrorKind::CommandNotFound | ErrorKind::PermissionDenied | ErrorKind::InvalidCwd
    );
    let said = String::from_utf8_lossy(&outcome.stderr);
    if no_git || NO_WORK_TREE.iter().any(|words| said.contains(words)) {
        return None;
    }
    let why = said.lines().find(|line| !line.trim().is_empty());
    Some(why.unwrap_or(error.message).to_string())
}
