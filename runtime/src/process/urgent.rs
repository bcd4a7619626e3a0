//! What cannot wait until there is nothing else to do.

use super::{Happened, Loop, TimerId};
use std::time::Duration;

impl Loop {
    /// What asks the run to end and is there already: a signal, or the timer that stands for it.
    /// Everything else that has happened stays where it is.
    pub fn asked_to_end(&mut self, last: Option<TimerId>) -> Option<Happened> {
        self.turn(Some(Duration::ZERO));
        let ends = |happened: &Happened| match happened {
            Happened::Signal(_) => true,
            Happened::Timer(timer) => Some(*timer) == last,
            _ => false,
        };
        let at = self.happened.iter().position(ends)?;
        self.happened.remove(at)
    }
}
