//! What a run has done so far, as a tree of steps.
//!
//! Built from events alone, so that a run, its replay and a reader of its journal see the same.

use crate::event::{Event, RecordId, What};
use rrc_vm::fault::FailureKind;
use rrc_vm::isa::Status;
use rrc_vm::value::{Map, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// One step that was reached.
#[derive(Clone, Debug)]
pub struct Record {
    pub id: String,
    /// The steps that lead to it, and itself.
    pub path: String,
    pub status: Option<Status>,
    /// It was going on when the run paused.
    pub paused: bool,
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
    parent: Option<usize>,
    /// A step in it failed.
    holds_failure: bool,
    children: Vec<usize>,
    /// How many of the children belong to attempts before the last.
    earlier: usize,
    /// What branches that ran side by side came to; null if there were none.
    pub branches: Value,
}

/// Which attempts of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempts {
    All,
    Last,
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

/// Commands that were started by their words: those that run, and those that are kept.
#[derive(Debug, Default)]
pub struct Commands {
    keep: Keep,
    all: BTreeMap<usize, Ran>,
    /// The last of each step, which alone says how the step ended.
    last: FxHashMap<RecordId, usize>,
    next: usize,
}

impl Commands {
    pub fn new(keep: Keep) -> Commands {
        Commands {
            keep,
            ..Commands::default()
        }
    }

    /// The place of a command that is about to start.
    pub fn start(&mut self, ran: Ran) -> usize {
        let place = self.next;
        self.next += 1;
        if self.keep == Keep::Failures
            && let Some(record) = ran.record
            && let Some(earlier) = self.last.insert(record, place)
        {
            self.all.remove(&earlier);
        }
        self.all.insert(place, ran);
        place
    }

    /// Notes how a command has ended.
    pub fn end(&mut self, place: usize, note: impl FnOnce(&mut Ran)) {
        let Some(ran) = self.all.get_mut(&place) else {
            return;
        };
        note(ran);
        if self.keep == Keep::Failures && ran.code == Some(0) {
            if let Some(record) = ran.record {
                self.last.remove(&record);
            }
            self.all.remove(&place);
        }
    }

    /// All that are kept, in the order of their start.
    pub fn into_all(self) -> Vec<Ran> {
        self.all.into_values().collect()
    }
}

/// What is kept of steps that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All of them, as a tree.
    #[default]
    All,
    /// Those that failed: a run of any length takes no more memory than what runs at once.
    Failures,
}

/// Steps that were reached, in the order they were: those that are open, and those that are kept.
#[derive(Clone, Debug, Default)]
pub struct Records {
    keep: Keep,
    all: BTreeMap<usize, Record>,
    /// Those that are not inside another.
    top: Vec<usize>,
    /// What was said of no step.
    pub warnings: Vec<String>,
    /// The place of numbered steps in `all`.
    by_number: FxHashMap<RecordId, usize>,
    next: usize,
}

/// Bytes of output that are kept for saying why a step failed.
const TAIL: usize = 2000;

impl Records {
    pub fn new(keep: Keep) -> Records {
        Records {
            keep,
            ..Records::default()
        }
    }

    /// Those that are not inside another, if all are kept.
    pub fn top(&self) -> impl Iterator<Item = &Record> {
        self.top.iter().filter_map(|place| self.all.get(place))
    }

    /// Those inside of one, if all are kept; of its last attempt or of all its attempts.
    pub fn inside<'a>(
        &'a self,
        record: &'a Record,
        attempts: Attempts,
    ) -> impl Iterator<Item = &'a Record> {
        let first = match attempts {
            Attempts::All => 0,
            Attempts::Last => record.earlier,
        };
        let children = record.children.get(first..).unwrap_or_default();
        children.iter().filter_map(|place| self.all.get(place))
    }

    /// All that was said on the way, of steps and of the run.
    pub fn all_warnings(&self) -> Vec<String> {
        let of_steps = self.all.values().flat_map(|record| &record.warnings);
        self.warnings.iter().chain(of_steps).cloned().collect()
    }

    /// Steps that failed, without those that failed only because a step in them did.
    pub fn failures(&self) -> impl Iterator<Item = &Record> {
        self.all.values().filter(|record| record.failed_itself())
    }

    fn open(&mut self, event: &Event, parent: Option<RecordId>) -> &mut Record {
        let step = event.step.as_ref();
        let place = self.next;
        self.next += 1;
        let parent = parent
            .and_then(|parent| self.by_number.get(&parent))
            .copied();
        if self.keep == Keep::All {
            match parent.and_then(|parent| self.all.get_mut(&parent)) {
                Some(parent) => parent.children.push(place),
                None => self.top.push(place),
            }
        }
        if let Some(number) = step.and_then(|step| step.record) {
            self.by_number.insert(number, place);
        }
        self.all.entry(place).or_insert_with(|| Record {
            id: step.map_or_else(String::new, |step| step.id.clone()),
            path: step.map_or_else(String::new, |step| step.path.clone()),
            status: None,
            paused: false,
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
            parent,
            holds_failure: false,
            children: Vec::new(),
            earlier: 0,
            branches: Value::Null,
        })
    }

    pub fn see(&mut self, event: &Event, parent: Option<RecordId>) {
        let number = event.step.as_ref().and_then(|step| step.record);
        match &event.what {
            What::StepStart | What::Iteration { .. } => self.open(event, parent).attempts = 1,
            What::StepSkip if self.keep == Keep::All => {
                self.open(event, parent).status = Some(Status::Skipped);
            }
            What::StepSkip => {}
            What::RunWarning { text } => self.warnings.push(text.clone()),
            _ => {
                let Some(number) = number else { return };
                let Some(place) = self.by_number.get(&number).copied() else {
                    return;
                };
                self.update(place, event);
                match event.what {
                    What::StepEnd { status, .. } => self.ended(number, place, status),
                    What::StepPause => self.ended(number, place, Status::Cancelled),
                    _ => {}
                }
            }
        }
    }

    fn ended(&mut self, number: RecordId, place: usize, status: Status) {
        let Some(record) = self.all.get(&place) else {
            return;
        };
        let (parent, kept) = (record.parent, record.failed_itself());
        if let Some(parent) = parent.and_then(|parent| self.all.get_mut(&parent)) {
            parent.holds_failure |= status == Status::Failed;
        }
        if self.keep == Keep::Failures {
            self.by_number.remove(&number);
            if !kept {
                self.all.remove(&place);
            }
        }
    }

    /// Takes steps out that were reached and did nothing.
    pub fn forget(&mut self, unbegun: &FxHashSet<RecordId>) {
        let places = unbegun
            .iter()
            .filter_map(|record| self.by_number.get(record));
        let idle = |place: &usize| {
            self.all
                .get(place)
                .is_some_and(|record| record.attempts == 1)
        };
        let idle: Vec<usize> = places.copied().filter(idle).collect();
        for place in idle {
            self.all.remove(&place);
        }
    }

    /// The attempt that was announced last was not made.
    pub fn untried(&mut self, record: RecordId) {
        let place = self.by_number.get(&record);
        if let Some(record) = place.and_then(|place| self.all.get_mut(place)) {
            record.attempts = record.attempts.saturating_sub(1);
        }
    }

    fn update(&mut self, place: usize, event: &Event) {
        let Some(record) = self.all.get_mut(&place) else {
            return;
        };
        match &event.what {
            What::StepRetry { attempt } => {
                record.attempts = *attempt;
                record.earlier = record.children.len();
            }
            What::StepStored { value } if self.keep == Keep::All => record.output = value.clone(),
            What::StepWarning { text } if self.keep == Keep::All => {
                record.warnings.push(text.clone());
            }
            What::StepPause => {
                record.paused = true;
                record.ended_ms = event.at_ms;
            }
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
    fn failed_itself(&self) -> bool {
        self.status == Some(Status::Failed) && !self.holds_failure
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StepRef;
    use rrc_vm::plan::StepKind;
    use std::rc::Rc;

    fn event(record: RecordId, what: What) -> Event {
        let id = format!("s{record}");
        Event {
            seq: 0,
            at_ms: 0,
            replayed: false,
            step: Some(Rc::new(StepRef {
                record: Some(record),
                path: id.clone(),
                id,
                kind: StepKind::Bash,
            })),
            what,
        }
    }

    fn end(status: Status) -> What {
        What::StepEnd {
            status,
            result: Value::Null,
            output: Value::Null,
        }
    }

    /// A step around two that complete, one that fails, and one that holds that fails.
    fn seen(keep: Keep) -> Records {
        let mut records = Records::new(keep);
        let mut see = |record, parent, what| records.see(&event(record, what), parent);
        see(0, None, What::StepStart);
        for (record, status) in [(1, Status::Completed), (2, Status::Failed)] {
            see(record, Some(0), What::StepStart);
            see(record, Some(0), end(status));
        }
        see(3, Some(0), What::StepStart);
        see(3, None, end(Status::Completed));
        see(0, None, end(Status::Failed));
        records
    }

    #[test]
    fn what_failed_by_itself_is_found_whatever_is_kept() {
        for keep in [Keep::All, Keep::Failures] {
            let records = seen(keep);
            let failures: Vec<&str> = records.failures().map(|one| one.id.as_str()).collect();
            assert_eq!(failures, ["s2"], "{keep:?}");
        }
    }

    #[test]
    fn only_failures_stay_where_nobody_reads_the_rest() {
        let all = seen(Keep::All);
        let top: Vec<&Record> = all.top().collect();
        assert_eq!((all.all.len(), top.len()), (4, 1));
        assert_eq!(all.inside(top[0], Attempts::All).count(), 3);
        let failures = seen(Keep::Failures);
        assert_eq!((failures.all.len(), failures.by_number.len()), (1, 0));
    }

    fn started(commands: &mut Commands, record: RecordId, code: i64) {
        let place = commands.start(Ran {
            record: Some(record),
            path: String::new(),
            argv: Vec::new(),
            code: None,
            timed_out: false,
            started: true,
        });
        commands.end(place, |ran| ran.code = Some(code));
    }

    #[test]
    fn the_last_command_of_a_step_says_how_it_ended() {
        for (keep, expected) in [
            (Keep::All, &[(0, 1), (0, 0), (1, 0), (2, 3)][..]),
            (Keep::Failures, &[(2, 3)]),
        ] {
            let mut commands = Commands::new(keep);
            for (record, code) in [(0, 1), (0, 0), (1, 0), (2, 3)] {
                started(&mut commands, record, code);
            }
            let all = commands.into_all();
            let codes: Vec<(u32, i64)> = all
                .iter()
                .map(|ran| (ran.record.unwrap_or_default(), ran.code.unwrap_or_default()))
                .collect();
            assert_eq!(codes, expected);
        }
    }
}
