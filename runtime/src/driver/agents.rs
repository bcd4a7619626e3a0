//! Asking agents: the command, its pace, what is done when it is refused, and what follows an answer.

use super::Driver;
use super::perform::{Asked, Job, Place, Wanted, Work};
use crate::agent::{self, Agents, Described, Pace, Paces, Question, describe};
use crate::event::What;
use crate::process::{ErrorKind, Outcome, Request, TimerId};
use crate::reply::{self, Args};
use rrc_vm::fault::FailureKind;
use rrc_vm::machine::Ticket;
use rrc_vm::plan::HostKind;
use rrc_vm::text::{parse_json, render};
use rrc_vm::value::Value;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of output that are kept of an agent.
const AGENT_OUTPUT: usize = 10 * 1024 * 1024;

/// Questions that wait for their time.
#[derive(Default)]
pub(super) struct Queue {
    paces: Paces,
    /// In the order in which they were asked.
    waiting: VecDeque<Job>,
    /// Set while the first of them waits for a pause to end.
    timer: Option<TimerId>,
    /// Those that were refused and are asked again.
    later: FxHashMap<TimerId, Job>,
    /// Agents of which it has been said that their descriptions are missing.
    missing: FxHashSet<String>,
}

/// A question that is being asked.
pub(super) struct Asking {
    pace: Pace,
    /// To ask it again.
    request: Request,
    refusals: u32,
    /// Its changes are to be staged, if the answer holds what was asked for.
    stage: bool,
    json: bool,
    warnings: Vec<String>,
}

impl Driver<'_> {
    pub(super) fn ask_agent(&mut self, asked: Asked, args: &Args) {
        let text = |name: &str| match args.get(name) {
            Value::Null => String::new(),
            value => render(value).to_string(),
        };
        let agent = text("agent");
        let step = self.step(asked.record);
        let step_id = step.map_or_else(String::new, |step| step.id.clone());
        let base = reply::request(args, &self.settings.directory);
        let commands = &self.settings.agents;
        let agents = &commands.agents;
        let described = describe(&agent, &agents.path);
        let mut warnings = Vec::new();
        // Once is enough: a loop asks the same agent a thousand times.
        if let Some(missing) = undescribed(agents, &agent, &described)
            && self.agents.missing.insert(agent.clone())
        {
            warnings.push(missing);
        }
        let mut prompt = text("prompt");
        if let Value::Text(heading) = args.get("failures") {
            let lines = self.failures_in(asked.record, &prompt);
            if !lines.is_empty() {
                prompt.push_str(&format!("\n\n{heading}\n{lines}"));
            }
        }
        let description = match described {
            Described::As(text) => text,
            Described::Nowhere | Described::Unusable(_) => String::new(),
        };
        let question = Question {
            agent: &agent,
            prompt: &prompt,
            system_prompt: &description,
            model: &text("model"),
            mode: &text("mode"),
            step_id: &step_id,
            cwd: &base.cwd.to_string_lossy(),
        };
        let mut request = match agent::request(commands, &question, &base.cwd) {
            Ok(request) => request,
            Err(words) => {
                let refusal = reply::refusal(FailureKind::InvalidRequest, words);
                return self.reply(asked, refusal);
            }
        };
        let hides = |word: &String| matches!(self.secrets.text(word), std::borrow::Cow::Owned(_));
        if request.args.iter().any(hides) {
            warnings.push("a secret is on the command line of the agent".to_string());
        }
        // A program beside the recipe is named as the user sees it from here.
        if request.program.contains('/') {
            let program = self.settings.directory.join(&request.program);
            request.program = program.to_string_lossy().into_owned();
        }
        request.env = base.env;
        request.timeout = base.timeout;
        request.stdout_limit = AGENT_OUTPUT;
        request.stderr_limit = AGENT_OUTPUT;
        let asking = Asking {
            pace: Pace::of(args.get("pace")),
            request: request.clone(),
            refusals: 0,
            stage: self.settings.stage && args.is_set("auto_stage"),
            json: args.is_set("json"),
            warnings,
        };
        self.places.insert(asked.ticket.0, Place::Agents);
        self.agents.waiting.push_back(Job {
            asked,
            wanted: Wanted::Request(Box::new(request)),
            work: Work::Agent(Box::new(asking)),
            begun: false,
        });
        self.start_agents();
    }

    /// Asks what may be asked now.
    pub(super) fn start_agents(&mut self) {
        while let Some(job) = self.agents.waiting.front() {
            let Work::Agent(asking) = &job.work else {
                return;
            };
            match self.agents.paces.wait(&asking.pace, self.now_ms()) {
                Some(0) => {
                    self.agents.paces.start();
                    if let Some(job) = self.agents.waiting.pop_front() {
                        self.enqueue_job(job);
                    }
                }
                Some(ms) => {
                    if self.agents.timer.is_none() {
                        self.agents.timer = Some(self.os.sleep(Duration::from_millis(ms)));
                    }
                    return;
                }
                // The end of one that runs comes back here.
                None => return,
            }
        }
    }

    /// What to tell the machine, unless something else comes first.
    pub(super) fn agent_done(
        &mut self,
        asked: Asked,
        mut asking: Asking,
        mut outcome: Outcome,
    ) -> Option<(Asked, Value)> {
        let now_ms = self.now_ms();
        self.agents.paces.end(now_ms);
        let failed = outcome.error.as_ref().map(|error| error.kind);
        let refused = failed == Some(ErrorKind::NonzeroExit)
            && self.stopping.is_none()
            && agent::is_refusal(&outcome.stdout, &outcome.stderr);
        if refused {
            asking.refusals += 1;
            let pause = self.agents.paces.refused(&asking.pace, asking.refusals);
            if let Some(ms) = pause {
                self.ask_later(asked, asking, ms);
                return None;
            }
        }
        outcome.warnings.append(&mut asking.warnings);
        // An answer is a text, and the newline behind it the manner of programs.
        if outcome.stdout.ends_with(b"\n") {
            outcome.stdout.pop();
        }
        let value = reply::reply(outcome, asked.form, &self.secrets);
        if failed.is_some() {
            return Some((asked, value));
        }
        self.agents.paces.answered(&asking.pace);
        let holds_json = || match &value {
            Value::Map(reply) => match reply.get("stdout") {
                Some(Value::Text(answer)) => parse_json(answer).is_some(),
                _ => false,
            },
            _ => false,
        };
        if !asking.stage || self.stopping.is_some() || asking.json && !holds_json() {
            return Some((asked, value));
        }
        self.stage(asked, value, asking.request);
        None
    }

    fn ask_later(&mut self, asked: Asked, asking: Asking, ms: u64) {
        let step = self.step(asked.record);
        let seconds = ms as f64 / 1000.0;
        let text = format!("the agent is asked too often; it is asked again in {seconds} s");
        self.say(step, None, What::StepWarning { text });
        let timer = self.os.sleep(Duration::from_millis(ms));
        let request = asking.request.clone();
        let work = Work::Agent(Box::new(asking));
        let begun = true;
        let job = Job {
            asked,
            wanted: Wanted::Request(Box::new(request)),
            work,
            begun,
        };
        self.places.insert(job.asked.ticket.0, Place::Agents);
        self.agents.later.insert(timer, job);
    }

    /// An agent was asked before the run was taken up again; what was said of it then is not said again.
    pub(super) fn was_asked(&mut self, asked: &Asked, args: &Args, reply: &Value) {
        if asked.kind != Some(HostKind::Agent) {
            return;
        }
        let agent = render(args.get("agent"));
        let named = format!("the agent `{agent}`");
        let says_so = |warning: &Value| render(warning).contains(&named);
        if reply::warnings(reply).any(says_so) {
            self.agents.missing.insert(agent.to_string());
        }
    }

    /// Whether a timer was set here.
    pub(super) fn agent_time(&mut self, timer: TimerId) -> bool {
        let pause = self.agents.timer.take_if(|set| *set == timer).is_some();
        let again = self.agents.later.remove(&timer);
        let known = pause || again.is_some();
        self.agents.waiting.extend(again);
        if known {
            self.start_agents();
        }
        known
    }

    pub(super) fn cancel_agent(&mut self, ticket: Ticket) {
        let is_it = |job: &Job| job.asked.ticket == ticket;
        self.agents.waiting.retain(|job| !is_it(job));
        self.staging.waiting.retain(|job| !is_it(job));
        let later = self.agents.later.iter().find(|(_, job)| is_it(job));
        if let Some(timer) = later.map(|(timer, _)| *timer) {
            self.os.cancel_timer(timer);
            self.agents.later.remove(&timer);
        }
    }

    /// A question that was let through is not asked after all.
    pub(super) fn agent_dropped(&mut self) {
        let now_ms = self.now_ms();
        self.agents.paces.end(now_ms);
        self.start_agents();
    }

    pub(super) fn stop_agents(&mut self) {
        if let Some(timer) = self.agents.timer.take() {
            self.os.cancel_timer(timer);
        }
        for job in std::mem::take(&mut self.agents.waiting) {
            self.unbegun(&job.asked);
        }
        for (timer, _) in std::mem::take(&mut self.agents.later) {
            self.os.cancel_timer(timer);
        }
    }
}

/// What there is to be said of an agent that has no description, unless whoever set up its command knows
/// who is asked.
fn undescribed(agents: &Agents, agent: &str, described: &Described) -> Option<String> {
    let command = agents.command(agent);
    let is_named = command.is_some_and(|command| command.contains("{agent}"));
    match described {
        Described::As(_) => None,
        Described::Nowhere if agent.is_empty() || is_named || agents.own(agent).is_some() => None,
        Described::Nowhere => Some(format!(
            "nothing describes the agent `{agent}`: it is asked like any other"
        )),
        Described::Unusable(why) => Some(format!(
            "the agent `{agent}` is asked without its description: {why}"
        )),
    }
}
