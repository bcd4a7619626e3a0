//! What goes wrong, of two kinds that are never mixed.
//!
//! A [`Failure`] is a value: a step can fail with it, and the recipe decides what happens then.
//! A [`Fault`] ends the machine: a limit was reached. Neither is ever a panic.

use crate::value::Value;
use std::fmt;
use std::rc::Rc;

macro_rules! failure_kinds {
    ($($variant:ident $word:literal $sentence:literal;)*) => {
        /// Why a value could not be computed, or a call could not be done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum FailureKind { $(#[doc = $sentence] $variant),* }

        impl FailureKind {
            pub const ALL: &'static [FailureKind] = &[$(FailureKind::$variant),*];

            pub fn word(self) -> &'static str {
                match self { $(FailureKind::$variant => $word),* }
            }

            /// What it means, in a few words that are the same on every machine.
            pub fn sentence(self) -> &'static str {
                match self { $(FailureKind::$variant => $sentence),* }
            }

            pub fn from_word(word: &str) -> Option<FailureKind> {
                match word { $($word => Some(FailureKind::$variant),)* _ => None }
            }
        }
    };
}

failure_kinds! {
    // Values.
    Undefined "undefined" "a name is not defined";
    WrongType "wrong_type" "a value has the wrong type";
    NotANumber "not_a_number" "a text is not a number";
    Overflow "overflow" "a number does not fit";
    DivisionByZero "division_by_zero" "a number is divided by zero";
    BadJson "bad_json" "a text holds no JSON";
    Message "message" "the recipe says so";
    Refused "refused" "the values that were given do not fit";
    // Runs.
    StepLimit "step_limit" "more steps ran than the recipe allows";
    DepthLimit "depth_limit" "recipes call each other deeper than the recipe allows";
    IterationLimit "iteration_limit" "a loop has more items than it allows";
    Denied "denied" "an approval was denied";
    Cancelled "cancelled" "it was ended before it was done";
    Unexpected "unexpected" "a reply was not of the form its call promises";
    // Calls; the words are those of the execution contract.
    InvalidRequest "invalid_request" "the call cannot be made as asked";
    PolicyDenied "policy_denied" "the call is not allowed";
    CommandNotFound "command_not_found" "there is no such program";
    PermissionDenied "permission_denied" "the program may not be executed";
    InvalidCwd "invalid_cwd" "the working directory does not exist or is not a directory";
    SpawnFailed "spawn_failed" "the program could not be started";
    Timeout "timeout" "it took longer than allowed";
    Signaled "signaled" "it was ended by a signal";
    NonzeroExit "nonzero_exit" "it exited with a code other than 0";
    IoError "io_error" "its output could not be read";
    Interrupted "interrupted" "the run was stopped while it was running";
}

/// A failure as a value: why, in words, and what is known besides.
#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: Rc<str>,
    /// For a call, the map of its result as far as there is one; else null.
    pub data: Value,
    /// Where in the code it arose: an index into the plan's code, for the span table.
    pub at: u32,
}

/// Why a machine stopped that should not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// All fuel was used: the plan loops, or its limit is too low.
    OutOfFuel,
    /// Values take more memory than allowed.
    OutOfMemory,
    /// Functions call each other too deeply, or values nest too deeply.
    TooDeep,
    /// More tasks than a machine can hold.
    TooManyTasks,
    /// Every task waits for another: nothing can go on.
    Deadlock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// An index into the plan's code.
    pub at: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            FaultKind::OutOfFuel => {
                "the run has used up its fuel: it does too much, or does not end"
            }
            FaultKind::OutOfMemory => "the values of the run take more memory than it may use",
            FaultKind::TooDeep => "functions call each other, or values nest, too deeply",
            FaultKind::TooManyTasks => "more runs at once than a machine can hold",
            FaultKind::Deadlock => "every part of the run waits for another",
        })
    }
}
