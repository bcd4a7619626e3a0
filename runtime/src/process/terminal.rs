//! A line from whoever sits at the terminal, awaited among everything else.

use super::{Happened, Loop};
use crate::os::{self, Interest};
use std::io;

/// The poller's token for the terminal.
pub(super) const TERMINAL: u64 = u64::MAX - 1;
/// Bytes that are taken for a line whether it ends or not.
const LONGEST: usize = 64 << 10;

impl Loop {
    /// Reports the next line that is typed. What is no terminal is at its end.
    pub fn await_line(&mut self) {
        self.typed.clear();
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

    /// Reads what is there, once. A terminal gives whole lines, but also the start of one after which
    /// somebody says that it ends there; waiting for the rest would be waiting for one thing alone.
    pub(super) fn hear(&mut self) {
        if !self.listening {
            return;
        }
        match os::read(io::stdin(), &mut self.buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Ok([]) | Err(_) => {}
            Ok(bytes) => {
                self.typed.extend_from_slice(bytes);
                if !self.typed.contains(&b'\n') && self.typed.len() < LONGEST {
                    return;
                }
            }
        }
        let typed = std::mem::take(&mut self.typed);
        let line = typed.split(|byte| *byte == b'\n').next();
        let line = line.filter(|_| !typed.is_empty());
        let line = line.map(|line| String::from_utf8_lossy(line).into_owned());
        // Who answers and then asks the run to end means the latter.
        self.hear_signals();
        self.heard(line);
    }

    fn heard(&mut self, line: Option<String>) {
        self.forget_line();
        self.happened.push_back(Happened::Line(line));
    }
}
