//! What happened, in order.
//!
//! One loop sees everything, so events are linear by construction: `seq` counts them, every start
//! has one end, and nothing follows `run:end`. Every view of a run (terminal, JSON lines, audit)
//! reads this stream and nothing else.

use rrc_vm::isa::Status;
use rrc_vm::plan::StepKind;
use rrc_vm::value::Value;
use std::rc::Rc;

/// The number of a step in the record of a run.
pub type RecordId = u32;

/// One event. `seq` counts from 0; `at_ms` is the time since the start of the run.
#[derive(Clone, Debug)]
pub struct Event {
    pub seq: u64,
    pub at_ms: u64,
    /// It happened in an earlier life of the run.
    pub replayed: bool,
    /// The step it is about, as the user knows it; none for events of the run itself.
    pub step: Option<Rc<StepRef>>,
    pub what: What,
}

/// A step in the record of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRef {
    pub record: Option<RecordId>,
    pub id: String,
    /// The ids of the steps around it and its own, with `/` between.
    pub path: String,
    pub kind: StepKind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum What {
    RunStart {
        recipe: String,
    },
    StepStart,
    StepSkip,
    /// The step was begun in an earlier life of the run and not ended; it runs again.
    StepInterrupted,
    /// The step is tried again; the second attempt has the number 2.
    StepRetry {
        attempt: u32,
    },
    /// A line that a process wrote, while it runs.
    StepOutput {
        stderr: bool,
        line: String,
    },
    /// What a step stored. Recorded and not told: the end of the step says it.
    StepStored {
        value: Value,
    },
    StepWarning {
        text: String,
    },
    Iteration {
        number: i64,
    },
    StepEnd {
        status: Status,
        result: Value,
        /// What it stored, if it stored anything.
        output: Value,
    },
    /// The run pauses while the step goes on: it does so again when the run does.
    StepPause,
    ApprovalRequested {
        prompt: String,
    },
    ApprovalAnswered {
        approved: bool,
    },
    RunWarning {
        text: String,
    },
    RunEnd {
        status: RunStatus,
        /// Why it did not complete.
        error: Option<String>,
    },
}

impl Event {
    /// The name of the event in the stream.
    pub fn name(&self) -> String {
        let kind = self.step.as_ref().map_or("run", |step| step.kind.word());
        match &self.what {
            What::RunStart { .. } => "run:start".to_string(),
            What::RunWarning { .. } => "run:warning".to_string(),
            What::RunEnd { .. } => "run:end".to_string(),
            What::Iteration { .. } => "loop:iteration".to_string(),
            What::ApprovalRequested { .. } => "approval:requested".to_string(),
            What::ApprovalAnswered { .. } => "approval:answered".to_string(),
            What::StepStart => format!("step:{kind}:start"),
            What::StepSkip => format!("step:{kind}:skip"),
            What::StepInterrupted => format!("step:{kind}:interrupted"),
            What::StepPause => format!("step:{kind}:pause"),
            What::StepRetry { .. } => format!("step:{kind}:retry"),
            What::StepOutput { .. } => format!("step:{kind}:output"),
            What::StepStored { .. } => format!("step:{kind}:stored"),
            What::StepWarning { .. } => format!("step:{kind}:warning"),
            What::StepEnd {
                status: Status::Completed | Status::Degraded | Status::Skipped,
                ..
            } => {
                format!("step:{kind}:complete")
            }
            What::StepEnd {
                status: Status::Failed | Status::Cancelled,
                ..
            } => {
                format!("step:{kind}:error")
            }
        }
    }
}

macro_rules! run_statuses {
    ($($variant:ident $word:literal $success:literal $exit:literal;)*) => {
        /// How a run ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RunStatus { $($variant),* }

        impl RunStatus {
            pub fn word(self) -> &'static str {
                match self { $(RunStatus::$variant => $word),* }
            }

            /// What `word` stands for.
            pub fn of(word: &str) -> Option<RunStatus> {
                match word { $($word => Some(RunStatus::$variant),)* _ => None }
            }

            pub fn is_success(self) -> bool {
                match self { $(RunStatus::$variant => $success),* }
            }

            /// The exit code of a run that ended this way and not by a signal.
            pub fn exit_code(self) -> u8 {
                match self { $(RunStatus::$variant => $exit),* }
            }
        }
    };
}

run_statuses! {
    Completed "completed" true 0;
    Failed "failed" false 1;
    Partial "partial" true 0;
    Paused "paused" false 4;
    Cancelled "cancelled" false 1;
    Planned "planned" true 0;
}
