//! Runs a plan: performs what the machine asks for, and tells what happens.
//!
//! Knows no recipe and no dialect. The machine decides what to ask and in which order; the driver
//! answers as answers come, and makes events of what the machine says.

mod agents;
mod approvals;
mod cut;
mod history;
mod hold;
mod late;
mod lines;
mod machines;
mod notes;
mod perform;
mod spot;
mod staging;
mod told;

use crate::agent::Commands;
use crate::event::{Event, RecordId, RunStatus, StepRef, What};
use crate::journal::{Finish, Journal, Past};
use crate::outlet::Ways;
use crate::process::{ChildId, Happened, Loop, Setup, Signal, TimerId};
use crate::record::{Commands as Started, Keep, Ran, Records};
use crate::secret::{self, Secrets};
use history::{Again, Kept, Recall};
use machines::Machines;
use notes::{Inner, Open};
use perform::{Asked, Job, Place, Ready, Running};
use rrc_vm::machine::{Finished, Poll};
use rrc_vm::plan::{Need, NeedKind, Plan};
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub use history::Then;
pub use late::{Find, Found};

/// After how many things that machines said it is looked whether the run is to end.
const LOOK_UP: u32 = 1024;

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
    pub agents: Commands,
    /// What all that the run starts finds in its environment besides what we were given.
    pub told: Vec<(String, String)>,
    /// Whether what agents change may be staged.
    pub stage: bool,
    /// What is kept of steps that have ended.
    pub keep: Keep,
    /// Where what is told goes, if somebody may be slow to read it.
    pub ways: Ways,
}

/// What a run remembers, and what it keeps to itself.
#[derive(Default)]
pub struct Memory {
    /// Where the run is recorded.
    pub journal: Option<Journal>,
    /// A recorded run to go through first.
    pub past: Option<(Past, Then)>,
    pub secrets: Secrets,
}

/// What is said to whoever decides whether a run goes on after a stage.
pub enum Approval<'a> {
    Ask {
        stage: &'a str,
        prompt: &'a str,
        /// How long there is time to answer, and what holds then.
        within: Option<(Duration, bool)>,
    },
    /// The question has no answer any more; with what holds now, if it was asked for too long.
    Withdrawn { default: Option<bool> },
}

/// Says it; whether somebody is there to answer on standard input.
pub type Ask<'a> = dyn FnMut(Approval<'_>) -> bool + 'a;

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
    /// The stages whose approval it waits for.
    pub waits_for: Vec<String>,
    /// Whether all of it is on record, so that it can go on and be shown again.
    pub recorded: bool,
    /// Why a recorded run could not be made again; then the rest says nothing.
    pub refused: Option<String>,
    /// What the run came to: what the plan gives, or what is known of the failure that ended it.
    pub result: Value,
    /// The commands that were started by their words, in the order of their start.
    pub ran: Vec<Ran>,
}

/// Runs to the end. Everything that happens is told to `tell`, in order.
pub fn run(
    plan: Rc<Verified>,
    variables: Map,
    settings: &Settings,
    memory: Memory,
    tell: &mut dyn FnMut(&Event),
    ask: &mut Ask<'_>,
    find: &mut Find<'_>,
) -> io::Result<Outcome> {
    let mut driver = Driver::new(Rc::clone(&plan), settings, memory, tell, (ask, find))?;
    driver.say(
        None,
        None,
        What::RunStart {
            recipe: text(plan.plan(), plan.plan().name),
        },
    );
    let mut machines = Machines::new(plan, variables);
    let mut finished = driver.drive(&mut machines);
    if let Some(variables) = driver.end_refused(&mut machines) {
        finished.variables = variables;
    }
    driver.wait_for_ending();
    Ok(driver.end(finished))
}

/// What a recorded run failed by that did not come to its end, as far as nothing that is still to happen
/// can forgive it: the calls whose replies are to be taken back. Nothing is performed or told.
pub fn failed_by(
    plan: Rc<Verified>,
    past: Past,
    settings: &Settings,
    secrets: Secrets,
    find: &mut Find<'_>,
) -> io::Result<Vec<u64>> {
    let memory = Memory {
        journal: None,
        secrets,
        past: Some((past.clone(), Then::Stop)),
    };
    let (mut tell, mut ask) = (|_: &Event| {}, |_: Approval<'_>| false);
    let mut driver = Driver::new(
        Rc::clone(&plan),
        settings,
        memory,
        &mut tell,
        (&mut ask, find),
    )?;
    let finished = driver.drive(&mut Machines::new(plan, past.variables));
    let failed = matches!(finished.outcome, Ok(Value::Failure(_)) | Err(_));
    Ok(match driver.refused {
        None if failed => driver.again,
        None => Vec::new(),
        Some(_) => driver.lasting(),
    })
}

fn text(plan: &Plan, id: u32) -> String {
    plan.texts.get(id).unwrap_or_default().to_string()
}

struct Driver<'a> {
    /// The plans that are being run, by the numbers of their first steps among those of the run.
    known: BTreeMap<u32, Rc<Verified>>,
    next_step: u32,
    settings: &'a Settings,
    tell: &'a mut dyn FnMut(&Event),
    ask: &'a mut Ask<'a>,
    find: &'a mut Find<'a>,
    /// When the run began to do things, and how long it had gone on in earlier lives.
    live: Instant,
    base_ms: u64,
    seq: u64,
    records: Records,
    /// Steps that have begun and not ended.
    open: FxHashMap<RecordId, Open>,
    /// The step that has just ended, and the failure that has come out of the outermost one.
    ended: Option<Rc<StepRef>>,
    inner: Option<Inner>,
    os: Loop,
    children: FxHashMap<ChildId, Running>,
    /// Those that were asked to end because nobody waits for their replies any more.
    ending: FxHashSet<ChildId>,
    timers: FxHashMap<TimerId, Asked>,
    /// Calls that wait until fewer processes run.
    waiting: VecDeque<Job>,
    agents: agents::Queue,
    staging: staging::Staging,
    /// Questions about stages; the first of them has been put.
    questions: VecDeque<approvals::Question>,
    /// Replies that need nothing from outside.
    ready: VecDeque<Ready>,
    /// The ends of pieces of long lines.
    pieces: FxHashMap<(ChildId, bool), Vec<u8>>,
    /// Secrets that have begun in the lines of a child and not ended.
    open_secrets: FxHashMap<(ChildId, bool), secret::Open>,
    /// Where calls wait for their replies, by their tickets.
    places: FxHashMap<u64, Place>,
    deadline: Option<TimerId>,
    stopping: Option<Stop>,
    /// Records of steps that had not begun their work when the run was stopped.
    unbegun: FxHashSet<RecordId>,
    journal: Option<Journal>,
    past: Option<Recall>,
    /// Recorded replies to what has not been asked for yet.
    kept: Kept,
    refused: Option<String>,
    secrets: Secrets,
    /// The secret variables that steps of the plan set.
    gives: FxHashMap<u32, Vec<String>>,
    /// Steps of which nothing must run twice.
    once: FxHashSet<u32>,
    /// Steps that may go on after a failure in them.
    forgiving: FxHashSet<u32>,
    /// The calls whose replies are to be taken back if the run goes on after its end.
    again: Vec<u64>,
    ran: Started,
}

/// Why a run does not go on.
#[derive(Clone, PartialEq, Eq)]
enum Stop {
    Signal(Signal),
    Timeout(Duration),
    /// Nobody answered whether to go on after stages.
    Pause(Vec<approvals::Pending>),
    /// Somebody said that it does not go on; no recipe has a say in that.
    Denied(String),
    /// As the recorded run was stopped.
    Recorded(RunStatus, String),
}

impl Stop {
    fn words(&self) -> String {
        match self {
            Stop::Signal(_) => "the run was stopped".to_string(),
            Stop::Timeout(limit) => format!("the run took longer than allowed (limit {limit:?})"),
            Stop::Pause(pending) => {
                let words = pending.iter().map(approvals::Pending::words);
                words.collect::<Vec<_>>().join("\n")
            }
            Stop::Denied(words) | Stop::Recorded(_, words) => words.clone(),
        }
    }
}

impl<'a> Driver<'a> {
    fn new(
        plan: Rc<Verified>,
        settings: &'a Settings,
        memory: Memory,
        tell: &'a mut dyn FnMut(&Event),
        (ask, find): (&'a mut Ask<'a>, &'a mut Find<'a>),
    ) -> io::Result<Driver<'a>> {
        let mut os = Loop::new(Setup {
            run: settings.run_id.clone(),
            signals: true,
            watchdog: true,
            portable: false,
            told: settings.told.clone(),
        })?;
        let deadline = settings.timeout.map(|timeout| os.sleep(timeout));
        let mut driver = Driver {
            known: BTreeMap::new(),
            next_step: 0,
            settings,
            tell,
            ask,
            find,
            live: Instant::now(),
            base_ms: 0,
            seq: 0,
            records: Records::new(settings.keep),
            open: FxHashMap::default(),
            ended: None,
            inner: None,
            os,
            children: FxHashMap::default(),
            ending: FxHashSet::default(),
            timers: FxHashMap::default(),
            waiting: VecDeque::new(),
            agents: agents::Queue::default(),
            staging: staging::Staging::default(),
            questions: VecDeque::new(),
            ready: VecDeque::new(),
            pieces: FxHashMap::default(),
            open_secrets: FxHashMap::default(),
            places: FxHashMap::default(),
            deadline,
            stopping: None,
            unbegun: FxHashSet::default(),
            journal: memory.journal,
            past: memory.past.map(|(past, then)| Recall::new(past, then)),
            kept: Kept::default(),
            refused: None,
            secrets: memory.secrets,
            gives: FxHashMap::default(),
            once: FxHashSet::default(),
            forgiving: FxHashSet::default(),
            again: Vec::new(),
            ran: Started::new(settings.keep),
        };
        driver.add_plan(plan);
        Ok(driver)
    }

    /// What a plan says about its steps that matters while they run.
    fn need(&mut self, plan: &Plan, need: &Need, base: u32) {
        let step = base + need.step;
        match need.kind {
            NeedKind::Once => {
                self.once.insert(step);
            }
            NeedKind::Forgives => {
                self.forgiving.insert(step);
            }
            NeedKind::SecretOutput => {
                let name = text(plan, need.name);
                self.gives.entry(step).or_default().push(name);
            }
            _ => {}
        }
    }

    fn say(&mut self, step: Option<Rc<StepRef>>, parent: Option<RecordId>, what: What) {
        let event = self.event(step, what);
        self.seq += 1;
        self.records.see(&event, parent);
        (self.tell)(&event);
    }

    fn event(&self, step: Option<Rc<StepRef>>, what: What) -> Event {
        Event {
            seq: self.seq,
            at_ms: self.now_ms(),
            replayed: self
                .past
                .as_ref()
                .is_some_and(|past| past.then == Then::GoOn),
            step,
            what: self.shown(what),
        }
    }

    /// Milliseconds since the start, without the time in which nobody ran it.
    fn now_ms(&self) -> u64 {
        match &self.past {
            Some(past) => past.now_ms,
            None => {
                let live = self.live.elapsed().as_millis();
                self.base_ms + u64::try_from(live).unwrap_or(u64::MAX)
            }
        }
    }

    /// What happened, without secrets.
    fn shown(&self, what: What) -> What {
        let value = |value: Value| self.secrets.value(&value).unwrap_or(value);
        let text = |text: String| self.secrets.message(&text).into_owned();
        match what {
            What::StepStored { value: stored } => What::StepStored {
                value: value(stored),
            },
            What::StepEnd {
                status,
                result,
                output,
            } => What::StepEnd {
                status,
                result: self.secrets.record(result),
                output: value(output),
            },
            What::StepWarning { text: words } => What::StepWarning { text: text(words) },
            What::RunWarning { text: words } => What::RunWarning { text: text(words) },
            What::ApprovalRequested { prompt } => What::ApprovalRequested {
                prompt: text(prompt),
            },
            // Lines are hidden piece by piece before they come here, and so is why a run failed; the rest
            // holds no values.
            What::StepOutput { .. }
            | What::RunStart { .. }
            | What::StepStart
            | What::StepSkip
            | What::StepRetry { .. }
            | What::StepInterrupted
            | What::StepPause
            | What::Iteration { .. }
            | What::ApprovalAnswered { .. }
            | What::RunEnd { .. } => what,
        }
    }

    fn drive(&mut self, machine: &mut Machines) -> Finished {
        let mut polls = 0u32;
        loop {
            if self.settings.ways.are_full() {
                self.hold();
            }
            let Some((which, poll)) = machine.poll() else {
                self.look_up(machine, true);
                continue;
            };
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(LOOK_UP) {
                self.look_up(machine, false);
            }
            match poll {
                Poll::Call(call) => self.call(machine, which, call),
                Poll::Timer { ticket, ms, record } => {
                    let asked = Asked::timer(ticket, record.map(|record| record.0));
                    match &mut self.past {
                        Some(past) => past.timer(asked, ms),
                        None if self.stopping.is_some() => {}
                        None => match self.kept.take(&asked, false) {
                            Again::Reply(passed) => self.reply(asked, passed),
                            _ => self.set_timer(asked, ms),
                        },
                    }
                }
                Poll::Cancel { ticket } => {
                    self.cancel_late(machine, ticket);
                    self.cancel_call(ticket);
                }
                Poll::Note(note) => self.note(note),
                Poll::Done(finished) => {
                    let Some(finished) = self.over(machine, which, finished) else {
                        continue;
                    };
                    if self.past.as_ref().is_some_and(Recall::is_left) {
                        let message = "the run ends before the recorded one does";
                        self.refused = Some(message.to_string());
                    }
                    // It may have been stopped when nothing was left to do.
                    if let Some(stopped) = self.past.as_ref().and_then(Recall::stopped) {
                        self.stopping.get_or_insert(stopped);
                    }
                    return finished;
                }
                Poll::Idle => self.wait(machine),
            }
            if self.refused.is_some() {
                return Finished {
                    outcome: Ok(Value::Null),
                    variables: Rc::default(),
                };
            }
        }
    }

    fn too_long(&self) -> Stop {
        Stop::Timeout(self.settings.timeout.unwrap_or_default())
    }

    /// Sees whether the run is to end, where it has much to do and nothing to wait for.
    fn look_up(&mut self, machine: &mut Machines, computes: bool) {
        if self.past.is_some() {
            return;
        }
        match self.os.asked_to_end(self.deadline, Duration::ZERO) {
            Some(Happened::Signal(signal)) => self.stop(Stop::Signal(signal)),
            Some(_) => self.stop(self.too_long()),
            None => {}
        }
        // What comes of values alone does not end because calls are not answered.
        if let Some(why) = self.stopping.as_ref().filter(|_| computes) {
            machine.halt(&why.words());
        }
    }

    fn end(mut self, finished: Finished) -> Outcome {
        let mut error = None;
        let result = match &finished.outcome {
            Ok(Value::Failure(failure)) => failure.data.clone(),
            Ok(value) => value.clone(),
            Err(_) => Value::Null,
        };
        let mut status = match &finished.outcome {
            Ok(value @ Value::Failure(failure)) => {
                let inner = self.inner.as_ref().filter(|inner| inner.is(value));
                error = Some(inner.map_or_else(|| failure.message.to_string(), Inner::words));
                RunStatus::Failed
            }
            Ok(Value::Text(word)) if &**word == "partial" => RunStatus::Partial,
            Ok(_) => RunStatus::Completed,
            Err(fault) => {
                error = Some(fault.to_string());
                RunStatus::Failed
            }
        };
        let (mut signal, mut waits_for) = (None, Vec::new());
        if let Some(why) = &self.stopping {
            error = Some(why.words());
            status = match why {
                Stop::Signal(_) => RunStatus::Cancelled,
                Stop::Timeout(_) | Stop::Denied(_) => RunStatus::Failed,
                Stop::Pause(_) => RunStatus::Paused,
                Stop::Recorded(recorded, _) => *recorded,
            };
            match why {
                Stop::Signal(received) => signal = Some(*received),
                Stop::Pause(pending) => {
                    for one in pending {
                        if !waits_for.contains(&one.stage) {
                            waits_for.push(one.stage.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        if let Some(refused) = &self.refused {
            status = RunStatus::Failed;
            error = Some(refused.clone());
        }
        let denied = matches!(self.stopping, Some(Stop::Denied(_)));
        let finish = Finish {
            status: status.word().to_string(),
            again: match status {
                RunStatus::Completed | RunStatus::Partial => Vec::new(),
                _ if denied => Vec::new(),
                _ => std::mem::take(&mut self.again),
            },
            denied,
            stopped: self
                .stopping
                .as_ref()
                .map(|why| self.secrets.message(&why.words()).into_owned()),
            signal: signal.map(|signal| signal.word().to_string()),
        };
        let now_ms = self.now_ms();
        if let Some(journal) = self.journal.as_mut().filter(|_| self.refused.is_none()) {
            journal.finish(&finish, now_ms, status == RunStatus::Paused);
        }
        self.say_trouble();
        let error = error.map(|error| self.secrets.message(&error).into_owned());
        let end = What::RunEnd {
            status,
            error: error.clone(),
        };
        self.say(None, None, end);
        self.os.sweep();
        if self.os.hears_no_more() {
            self.settings.ways.hurry();
        }
        self.records.forget(&self.unbegun);
        Outcome {
            status,
            variables: self.secrets.variables(&finished.variables),
            duration: Duration::from_millis(now_ms),
            error,
            records: self.records,
            signal,
            waits_for,
            recorded: self.journal.is_some_and(|journal| !journal.is_broken()),
            refused: self.refused,
            result: self.secrets.value(&result).unwrap_or(result),
            ran: self.ran.into_all(),
        }
    }
}
