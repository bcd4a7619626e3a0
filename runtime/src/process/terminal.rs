//! A line from whoever sits at the terminal, awaited among everything else.

use super::{Happened, Loop};
use crate::os::{self, Interest};
use std::io::{self, BufRead as _};

/// The poller's token for the terminal.
pub(super) const TERMINAL: u64 = u64::MAX - 1;

impl Loop {
    /// Reports the next line that is typed. What is no terminal is at its end.
    pub fn await_line(&mut self) {
        self.listening = true;
        let watched = self.poller.add(io::stdin(), TERMINAL, Interest::Read);
        if watched.is_err() {
            self.heard(None);
        }
    }

    /// What was typed up to now is not read.
    pub fn forget_typed(&mut self) {
        os::forget_typed(io::stdin());
    }

    /// Leaves the terminal alone again.
    pub fn forget_line(&mut self) {
        if std::mem::take(&mut self.listening) {
            self.poller.remove(io::stdin(), TERMINAL);
        }
    }

    /// A terminal gives whole lines, so one that is ready is read without waiting.
    pub(super) fn hear(&mut self) {
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        self.heard(read.is_ok_and(|bytes| bytes > 0).then_some(line));
    }

    fn heard(&mut self, line: Option<String>) {
        self.forget_line();
        self.happened.push_back(Happened::Line(line));
    }
}
