//! How far a long check has come, for whoever sits at a terminal.

use crate::cli::Global;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// What is done sooner needs no words.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between two counts.
const PAUSE: Duration = Duration::from_millis(100);

pub struct Progress {
    all: usize,
    done: usize,
    started: Instant,
    shown: Option<Instant>,
    wanted: bool,
}

impl Progress {
    pub fn new(all: usize, global: &Global) -> Progress {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Progress {
            all,
            done: 0,
            started: Instant::now(),
            shown: None,
            wanted: !global.quiet && !set("CI") && !dumb && stderr().is_terminal(),
        }
    }

    pub fn one_more(&mut self) {
        self.done += 1;
        self.show();
    }

    pub fn show(&mut self) {
        let soon = self.shown.is_some_and(|shown| shown.elapsed() < PAUSE);
        if !self.wanted || soon || self.started.elapsed() < PATIENCE {
            return;
        }
        self.shown = Some(Instant::now());
        // A counter that cannot be shown is no reason to stop.
        let _ = write!(stderr(), "\rchecked {} of {} files", self.done, self.all);
    }

    /// Leaves no trace on the line.
    pub fn end(&mut self) {
        if self.shown.is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
