//! What machines say about their steps, as events.

use super::perform::Asked;
use super::{Driver, Stop, text};
use crate::event::{RecordId, RunStatus, StepRef, What};
use rrc_vm::fault::Failure;
use rrc_vm::isa::Status;
use rrc_vm::machine::Note;
use rrc_vm::plan::StepKind;
use rrc_vm::value::Value;
use std::rc::Rc;

/// A step that has begun and not ended.
pub(super) struct Open {
    /// As the user knows it; none for one that only holds others together.
    pub step: Option<Rc<StepRef>>,
    /// The stage whose approval it is, if it is one.
    pub gate: Option<Rc<StepRef>>,
    /// What stands around it, and the nearest of that which the user knows.
    around: Option<RecordId>,
    shown_in: Option<RecordId>,
    /// Which turn of a loop it stands in, where the loop itself is not shown.
    turn: Option<Rc<str>>,
    /// It is a command of a template, not a step that holds one.
    in_template: bool,
    /// Nothing in it must run twice.
    pub kept: bool,
    /// It, or what stands around it, may go on after a failure in it.
    forgives: bool,
    /// The step of the plan that sets a secret variable.
    gives: Option<u32>,
    /// The call that was its last work, or its deadline, and whether that failed.
    pub answered: Option<(u64, bool)>,
    /// What happened around it since.
    pub since: Vec<u64>,
    /// It is to be tried again, and nothing of that was asked for yet.
    pub pausing: bool,
    /// What steps in it failed by, and nothing has forgiven.
    again: Vec<u64>,
    /// What its work gave: it may fail over that, and it says why.
    pub said: Option<Value>,
    stored: Value,
    /// When its last turn began, in milliseconds of the run.
    pub turned: Option<u64>,
    /// The failure that has come out of a step in it.
    inner: Option<Inner>,
    /// Where steps in it failed by themselves.
    failures: Failures,
}

/// How many steps that failed are remembered by name.
const MOST_FAILURES: usize = 20;

/// Steps that failed by themselves, in the order of that, and how many there were besides.
#[derive(Default)]
struct Failures {
    first: Vec<Inner>,
    more: usize,
}

impl Failures {
    fn push(&mut self, failure: Inner) {
        match self.first.len() < MOST_FAILURES {
            true => self.first.push(failure),
            false => self.more += 1,
        }
    }

    fn append(&mut self, later: Failures) {
        self.more += later.more;
        later.first.into_iter().for_each(|one| self.push(one));
    }

    fn clear(&mut self) {
        *self = Failures::default();
    }
}

/// A failure on its way out, and the path of the step that it began in.
#[derive(Clone)]
pub(super) struct Inner {
    message: Rc<str>,
    path: String,
}

impl Inner {
    /// Whether it is what this came to; a failure keeps its message on its way.
    pub fn is(&self, value: &Value) -> bool {
        matches!(value, Value::Failure(failure) if Rc::ptr_eq(&failure.message, &self.message))
    }

    /// What a failure says, and where it began.
    pub fn words(&self) -> String {
        format!("{}: {}", self.path, self.message)
    }
}

impl Open {
    /// The calls whose replies made the step fail: those in it, its deadline, or its own last one,
    /// with what was done because of that.
    fn failed_by(&mut self) -> Vec<u64> {
        let mut all = std::mem::take(&mut self.again);
        let is_reason = |(_, failed): &(u64, bool)| *failed || all.is_empty();
        let own = self.answered.filter(is_reason);
        all.extend(own.map(|(ticket, _)| ticket));
        all.append(&mut self.since);
        all
    }
}

impl Driver<'_> {
    pub(super) fn note(&mut self, note: Note) {
        match note {
            Note::Begin {
                record,
                parent,
                step,
                iteration,
            } => self.begun(record.0, parent.map(|parent| parent.0), step, iteration),
            Note::Skip { step, parent } => {
                let parent = self.visible(parent.map(|parent| parent.0));
                let reference = self.reference(step, None, parent, (None, None));
                if !reference.kind.is_hidden() {
                    self.say(Some(Rc::new(reference)), parent, What::StepSkip);
                }
            }
            Note::Attempt { record, number } => {
                if let Some(open) = self.open.get_mut(&record.0) {
                    open.answered = None;
                    open.pausing = true;
                    open.since.clear();
                    open.again.clear();
                    open.failures.clear();
                }
                self.about(record.0, What::StepRetry { attempt: number });
            }
            Note::Output { record, value } => self.stored(record.0, value),
            Note::Secret { name, value } => self.secrets.learn(&name, &value),
            Note::Warn { record, text } => {
                let text = text.to_string();
                match record {
                    Some(record) => self.about(record.0, What::StepWarning { text }),
                    None => self.say(None, None, What::RunWarning { text }),
                }
            }
            Note::End {
                record,
                status,
                value,
                forgiven,
            } => self.ended(record.0, status, value, forgiven),
        }
    }

    fn begun(
        &mut self,
        record: RecordId,
        around: Option<RecordId>,
        step: u32,
        iteration: Option<i64>,
    ) {
        let above = around.and_then(|around| self.open.get(&around));
        let turn = above.and_then(|above| above.turn.as_ref());
        let turn = match iteration {
            Some(turn_of) => {
                let outer = turn.map_or("", |turn| turn);
                Some(format!("{outer}#{}", turn_of.saturating_sub(1)).into())
            }
            None => turn.cloned(),
        };
        let kept = above.is_some_and(|above| above.kept) || self.once.contains(&step);
        let forgives = above.is_some_and(|above| above.forgives) || self.forgiving.contains(&step);
        let shown_in = self.visible(around);
        let reference = self.reference(step, Some(record), shown_in, (iteration, turn.as_deref()));
        // Of commands, only those that stand around them know.
        let forgives = forgives || reference.kind == StepKind::Command;
        let in_template = reference.kind == StepKind::Command
            && iteration.is_none()
            && match shown_in.and_then(|record| self.open.get(&record)?.step.as_ref()) {
                Some(above) => above.kind == StepKind::Command || self.holds_template(step),
                None => self.holds_template(step),
            };
        let reference = Rc::new(reference);
        let is_gate = reference.kind == StepKind::Stage;
        let step_ref = (!reference.kind.is_hidden()).then(|| Rc::clone(&reference));
        let open = Open {
            step: step_ref.clone(),
            gate: is_gate.then_some(reference),
            around,
            shown_in,
            turn,
            in_template,
            kept,
            forgives,
            gives: self.gives.contains_key(&step).then_some(step),
            answered: None,
            since: Vec::new(),
            pausing: false,
            again: Vec::new(),
            said: None,
            stored: Value::Null,
            turned: None,
            inner: None,
            failures: Failures::default(),
        };
        if let Some(above) = around.and_then(|around| self.open.get_mut(&around)) {
            above.since.clear();
            above.pausing = false;
        }
        self.open.insert(record, open);
        if iteration.is_some() {
            let now = self.now_ms();
            let around = around.and_then(|around| self.open.get_mut(&around));
            around
                .into_iter()
                .for_each(|around| around.turned = Some(now));
        }
        if step_ref.is_some() {
            let what = match iteration {
                Some(number) => What::Iteration { number },
                None => What::StepStart,
            };
            self.say(step_ref, shown_in, what);
        }
    }

    fn stored(&mut self, record: RecordId, value: Value) {
        let open = self.open.get(&record);
        let names = open
            .and_then(|open| open.gives)
            .and_then(|step| self.gives.get(&step));
        for name in names.into_iter().flatten() {
            self.secrets.learn(name, &value);
        }
        let event = self.event(self.step(Some(record)), What::StepStored { value });
        self.records.see(&event, None);
        if let (Some(open), What::StepStored { value }) = (self.open.get_mut(&record), event.what) {
            open.stored = value;
        }
    }

    /// A step has come to its end, by itself or from outside.
    pub(super) fn ended(&mut self, record: RecordId, status: Status, value: Value, forgiven: bool) {
        let Some(mut open) = self.open.remove(&record) else {
            return;
        };
        let again = match status {
            Status::Failed if !forgiven => open.failed_by(),
            Status::Cancelled => std::mem::take(&mut open.again),
            _ => Vec::new(),
        };
        let inner = open.inner.take().filter(|inner| inner.is(&value));
        let began = || {
            let Value::Failure(failure) = &value else {
                return None;
            };
            let path = match (&open.step, &open.gate) {
                (Some(step), _) => step.path.clone(),
                (None, Some(gate)) => format!("the approval of stage `{}`", gate.path),
                (None, None) => return None,
            };
            let message = Rc::clone(&failure.message);
            Some(Inner { message, path })
        };
        let above = open.around.and_then(|around| self.open.get_mut(&around));
        let (all, out) = match above {
            Some(above) => {
                above.failures.append(std::mem::take(&mut open.failures));
                if status == Status::Failed && inner.is_none() {
                    began().into_iter().for_each(|own| above.failures.push(own));
                }
                (&mut above.again, &mut above.inner)
            }
            None => (&mut self.again, &mut self.inner),
        };
        all.extend(again);
        if status == Status::Failed && !forgiven {
            *out = inner.clone().or_else(began);
        }
        if open.pausing && status == Status::Cancelled {
            self.records.untried(record);
        }
        let result = with_reply(value, open.said.take());
        let result = inner.iter().fold(result, with_place);
        if let Some(step) = open.step {
            self.ended = Some(Rc::clone(&step));
            let output = open.stored;
            let what = match status == Status::Cancelled && self.is_pausing() {
                true => What::StepPause,
                false => What::StepEnd {
                    status,
                    result,
                    output,
                },
            };
            self.say(Some(step), None, what);
        }
    }

    /// Whether the run ends because nobody is there to answer, and goes on some day.
    fn is_pausing(&self) -> bool {
        matches!(
            self.stopping,
            Some(Stop::Pause(_) | Stop::Recorded(RunStatus::Paused, _))
        )
    }

    /// The steps that failed in an open one, a line each, with what a text does not say yet of why.
    pub(super) fn failures_in(&self, record: Option<RecordId>, said: &str) -> String {
        let Some(open) = record.and_then(|record| self.open.get(&record)) else {
            return String::new();
        };
        let line = |failure: &Inner| match said.contains(&*failure.message) {
            true => format!("\n- {}", failure.path),
            false => format!("\n- {}", failure.words().replace('\n', "\n  ")),
        };
        let mut lines: String = open.failures.first.iter().map(line).collect();
        if open.failures.more > 0 {
            lines.push_str(&format!("\n- and {} more", open.failures.more));
        }
        lines
    }

    /// The calls that open steps have failed by, or will when they end, whatever comes.
    pub(super) fn lasting(&mut self) -> Vec<u64> {
        let failed = self.open.values_mut().filter(|open| !open.forgives);
        failed
            .flat_map(|open| match open.answered {
                Some((_, true)) => open.failed_by(),
                _ => std::mem::take(&mut open.again),
            })
            .collect()
    }

    /// An open step as the user knows it.
    pub(super) fn step(&self, record: Option<RecordId>) -> Option<Rc<StepRef>> {
        self.open.get(&record?)?.step.clone()
    }

    /// The step that a call is about.
    pub(super) fn step_of(&self, asked: &Asked) -> Option<Rc<StepRef>> {
        asked.after.clone().or_else(|| self.step(asked.record))
    }

    /// The path of an open step.
    pub(super) fn path(&self, record: Option<RecordId>) -> &str {
        let open = record.and_then(|record| self.open.get(&record));
        let step = open.and_then(|open| open.step.as_ref());
        step.map_or("", |step| step.path.as_str())
    }

    /// The nearest record that the user knows.
    fn visible(&self, record: Option<RecordId>) -> Option<RecordId> {
        match self.open.get(&record?) {
            Some(open) if open.step.is_none() => open.shown_in,
            _ => record,
        }
    }

    fn about(&mut self, record: RecordId, what: What) {
        let step = self.step(Some(record));
        if step.is_some() {
            self.say(step, None, what);
        }
    }

    /// Whether the plan of a step is a template by itself: then it has no steps but commands.
    fn holds_template(&self, step: u32) -> bool {
        let known = self.known.range(..=step).next_back();
        known.is_some_and(|(_, plan)| text(plan.plan(), plan.plan().dialect) == "template")
    }

    fn reference(
        &self,
        step: u32,
        record: Option<RecordId>,
        parent: Option<RecordId>,
        (iteration, turn): (Option<i64>, Option<&str>),
    ) -> StepRef {
        let known = self.known.range(..=step).next_back();
        let info = known.and_then(|(base, plan)| {
            let plan = plan.plan();
            let info = plan.steps.get((step - base) as usize)?;
            Some((text(plan, info.id), info.kind))
        });
        let (mut id, kind) = info.unwrap_or((String::new(), StepKind::Bash));
        if let Some(number) = iteration {
            id = format!("{id}[{}]", number.saturating_sub(1));
        }
        let around = parent.and_then(|parent| self.open.get(&parent));
        let above = around.and_then(|around| around.step.as_deref());
        // A turn of a step has the name of the step in its own.
        let beside = iteration.is_some() || around.is_some_and(|around| around.in_template);
        let path = match (above, iteration) {
            _ if kind == StepKind::Command => {
                command_path(&id, (above, beside), turn.unwrap_or_default())
            }
            (Some(above), Some(number)) => format!("{}[{}]", above.path, number.saturating_sub(1)),
            (Some(above), None) => format!("{}/{id}", above.path),
            (None, _) => id.clone(),
        };
        StepRef {
            record,
            id,
            path,
            kind,
        }
    }
}

/// The path of a command: its own name says where it stands in its file, so only what stands
/// around the file comes before it, and which turn of a loop it is behind it. What stands above may
/// be `beside` it in that file.
fn command_path(id: &str, (above, beside): (Option<&StepRef>, bool), turn: &str) -> String {
    let around = match above {
        Some(above) if beside => above.path.rsplit_once('/').map(|(around, _)| around),
        Some(above) => Some(above.path.as_str()),
        None => None,
    };
    match around {
        Some(around) => format!("{around}/{id}{turn}"),
        None => format!("{id}{turn}"),
    }
}

/// A failure that began in another step, with the path of that.
fn with_place(value: Value, inner: &Inner) -> Value {
    match value {
        Value::Failure(failure) => Value::Failure(Rc::new(Failure {
            message: inner.words().into(),
            ..Failure::clone(&failure)
        })),
        value => value,
    }
}

/// A failure over what a reply holds, with the reply: it is no JSON, or cannot be stored.
fn with_reply(value: Value, said: Option<Value>) -> Value {
    match (value, said) {
        (Value::Failure(failure), Some(said)) if matches!(failure.data, Value::Null) => {
            let mut failure = Failure::clone(&failure);
            failure.data = said;
            Value::Failure(Rc::new(failure))
        }
        (value, _) => value,
    }
}
