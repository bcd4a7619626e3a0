//! What a run has done so far, as a tree of steps.
//!
//! Built from events alone, so that a run, its replay and a reader of its journal see the same.

use crate::event::{Event, RecordId, What};
use rrc_vm::fault::FailureKind;
use rrc_vm::isa::Status;
use rrc_vm::plan::StepKind;
use rrc_vm::value::{Map, Value};
use rustc_hash::FxHashSet;

/// One step that was reached.
#[derive(Clone, Debug)]
pub struct Record {
    pub id: String,
    /// The steps that lead to it, and itself.
    pub path: String,
    pub kind: StepKind,
    pub status: Option<Status>,
    /// What it stored.
    pub output: Value,
    pub error: Option<String>,
    pub exit_code: Option<i64>,
    pub attempts: u32,
    pub started_ms: u64,
    pub ended_ms: u64,
    pub stdout_truncated: bool,
    pub stderr_truncated: bool,
    /// The last of what it wrote, for saying why it failed.
    pub stdout_tail: String,
    pub stderr_tail: String,
    pub warnings: Vec<String>,
    pub children: Vec<usize>,
    /// How many of the children belong to attempts before the last.
    pub earlier: usize,
    /// What branches that ran side by side came to; null if there were none.
    pub branches: Value,
}

/// A command that was started by its words.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The step it was the work of.
    pub record: Option<RecordId>,
    pub path: String,
    pub argv: Vec<String>,
    /// None if it was ended before anybody knew.
    pub code: Option<i64>,
    pub timed_out: bool,
    /// Whether there was a process at all.
    pub started: bool,
}

/// All steps that were reached, in the order they were.
#[derive(Clone, Debug, Default)]
pub struct Records {
    pub all: Vec<Record>,
    /// Those that are not inside another.
    pub top: Vec<usize>,
    /// The place of each numbered step in `all`.
    by_number: Vec<Option<usize>>,
}

/// Bytes of output that are kept for saying why a step failed.
const TAIL: usize = 2000;

impl Records {
    fn place(&self, record: RecordId) -> Option<usize> {
        self.by_number.get(record as usize).copied().flatten()
    }

    /// What a numbered step has stored so far.
    pub fn output(&self, record: RecordId) -> Value {
        let index = self.place(record);
        index.map_or(Value::Null, |index| self.all[index].output.clone())
    }

    fn open(&mut self, event: &Event, parent: Option<RecordId>) -> usize {
        let step = event.step.as_ref();
        let index = self.all.len();
        self.all.push(Record {
            id: step.map_or_else(String::new, |step| step.id.clone()),
            path: step.map_or_else(String::new, |step| step.path.clone()),
            kind: step.map_or(StepKind::Bash, |step| step.kind),
            status: None,
            output: Value::Null,
            error: None,
            exit_code: None,
            attempts: 0,
            started_ms: event.at_ms,
            ended_ms: event.at_ms,
            stdout_truncated: false,
            stderr_truncated: false,
            stdout_tail: String::new(),
            stderr_tail: String::new(),
            warnings: Vec::new(),
            children: Vec::new(),
            earlier: 0,
            branches: Value::Null,
        });
        match parent.and_then(|parent| self.place(parent)) {
            Some(parent) => self.all[parent].children.push(index),
            None => self.top.push(index),
        }
        index
    }

    pub fn see(&mut self, event: &Event, parent: Option<RecordId>) {
        let number = event.step.as_ref().and_then(|step| step.record);
        match &event.what {
            What::StepStart | What::Iteration { .. } => {
                let index = self.open(event, parent);
                self.all[index].attempts = 1;
                if let Some(number) = number {
                    let number = number as usize;
                    if self.by_number.len() <= number {
                        self.by_number.resize(number + 1, None);
                    }
                    self.by_number[number] = Some(index);
                }
            }
            What::StepSkip => {
                let index = self.open(event, parent);
                self.all[index].status = Some(Status::Skipped);
            }
            _ => {
                let Some(index) = number.and_then(|number| self.place(number)) else {
                    return;
                };
                self.update(index, event);
            }
        }
    }

    /// Takes steps out that were reached and did nothing.
    pub fn forget(&mut self, unbegun: &FxHashSet<RecordId>) {
        let places = unbegun.iter().filter_map(|record| self.place(*record));
        let idle = |index: &usize| self.all[*index].attempts == 1;
        let idle: FxHashSet<usize> = places.filter(idle).collect();
        if idle.is_empty() {
            return;
        }
        self.top.retain(|index| !idle.contains(index));
        for record in &mut self.all {
            record.children.retain(|index| !idle.contains(index));
        }
    }

    fn update(&mut self, index: usize, event: &Event) {
        let record = &mut self.all[index];
        match &event.what {
            What::StepRetry { attempt } => {
                record.attempts = *attempt;
                record.earlier = record.children.len();
            }
            What::StepStored { value } => record.output = value.clone(),
            What::StepWarning { text } => record.warnings.push(text.clone()),
            What::StepEnd { status, result, .. } => {
                record.status = Some(*status);
                record.ended_ms = event.at_ms;
                match result {
                    Value::Failure(failure) => {
                        record.error = Some(failure.message.to_string());
                        if let Value::Map(data) = &failure.data {
                            record.read(data);
                        }
                    }
                    Value::Map(data) => record.read(data),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

impl Record {
    fn read(&mut self, data: &Map) {
        let flag = |name: &str| matches!(data.get(name), Some(Value::Bool(true)));
        self.exit_code = exit_code(data).or(self.exit_code);
        if let Some(branches) = data.get("branches") {
            self.branches = branches.clone();
        }
        self.stdout_truncated = flag("stdout_truncated");
        self.stderr_truncated = flag("stderr_truncated");
        if self.error.is_some() {
            self.stdout_tail = tail(data.get("stdout"));
            self.stderr_tail = tail(data.get("stderr"));
        }
    }

    pub fn duration_ms(&self) -> u64 {
        self.ended_ms.saturating_sub(self.started_ms)
    }
}

/// The exit code in a reply, if a process ended with it or a shell would say so. Where it ran out of
/// time or could not be started, the number there is for the variables of the recipe alone.
pub fn exit_code(data: &Map) -> Option<i64> {
    let word = match data.get("error") {
        Some(Value::Text(word)) => word,
        _ => "",
    };
    let ended = !matches!(
        FailureKind::from_word(word),
        Some(
            FailureKind::Timeout
                | FailureKind::InvalidCwd
                | FailureKind::SpawnFailed
                | FailureKind::InvalidRequest
        )
    );
    match data.get("exit_code") {
        Some(Value::Int(code)) if ended => Some(*code),
        _ => None,
    }
}

fn tail(value: Option<&Value>) -> String {
    let text = match value {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::Bytes(bytes)) => {
            let start = bytes.len().saturating_sub(TAIL);
            String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into()
        }
        _ => return String::new(),
    };
    let mut start = text.len().saturating_sub(TAIL);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_string()
}
