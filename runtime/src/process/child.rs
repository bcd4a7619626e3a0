//! A child while it runs, and what it came to.

use super::streams::Feed;
use super::{ErrorKind, ExecError, Outcome};
use crate::capture::{Capture, Lines};
use crate::clock::Key;
use crate::os::Ended;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How far a child is on its way to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// TERM was sent; KILL follows at the instant.
    Terminating(Instant),
    /// The leader has ended after TERM, its group has not; KILL follows at the instant.
    Lingering(Instant),
    /// KILL was sent; the streams are closed when the timer fires.
    Killed,
    /// Ended by itself; the streams are closed when the timer fires.
    Draining,
}

/// A child that was started and has not been reported as done.
pub(super) struct Child {
    pub pid: u32,
    pub started: Instant,
    pub phase: Phase,
    pub timer: Option<Key>,
    pub end_watch: Option<OwnedFd>,
    pub streams: [Option<PipeReader>; 2],
    /// While these are open no stream ends, so that a child that ends wakes us once and not thrice.
    pub ends: Option<[PipeWriter; 2]>,
    pub captures: [Capture; 2],
    pub lines: Option<[Lines; 2]>,
    pub whole: bool,
    pub stdin: Option<Feed>,
    pub stdin_unread: bool,
    pub ended: Option<Ended>,
    pub limit: Option<Duration>,
    pub grace: Duration,
    pub timed_out: bool,
    pub cancelled: bool,
    pub io_error: Option<String>,
    pub warnings: Vec<String>,
    pub slot: Option<usize>,
}

impl Child {
    pub fn into_outcome(self) -> Outcome {
        let stopped = self.timed_out || self.cancelled;
        let (mut exit_code, mut signal, mut error) = (None, None, None);
        let mut fail = |kind, detail: String| error = Some(ExecError::new(kind, detail));
        match self.ended {
            Some(Ended::Code(code)) if !stopped => {
                exit_code = Some(code);
                if code != 0 {
                    fail(ErrorKind::NonzeroExit, format!("exit code {code}"));
                }
            }
            Some(Ended::Signal(number)) if !stopped => {
                signal = Some(number);
                fail(ErrorKind::Signaled, format!("signal {number}"));
            }
            Some(Ended::Code(_) | Ended::Signal(_)) => {}
            Some(Ended::Unknown) | None if stopped => {}
            Some(Ended::Unknown) | None => {
                fail(ErrorKind::IoError, "its end was not seen".to_owned());
            }
        }
        if let Some(detail) = self.io_error {
            fail(ErrorKind::IoError, detail);
        }
        if self.timed_out {
            let limit = self.limit.unwrap_or_default();
            fail(ErrorKind::Timeout, format!("limit {limit:?}"));
        } else if self.cancelled {
            fail(ErrorKind::Interrupted, String::new());
        }
        let [out, err] = self.captures;
        Outcome {
            exit_code,
            signal,
            timed_out: self.timed_out,
            cancelled: self.cancelled,
            duration: self.started.elapsed(),
            stdout_truncated: out.truncated(),
            stderr_truncated: err.truncated(),
            stdout_bytes: out.total(),
            stderr_bytes: err.total(),
            stdout: out.into_kept(),
            stderr: err.into_kept(),
            stdin_unread: self.stdin_unread || self.stdin.is_some(),
            warnings: self.warnings,
            error,
        }
    }
}
