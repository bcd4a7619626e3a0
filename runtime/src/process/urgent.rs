//! What cannot wait until there is nothing else to do.

use super::{Happened, Loop, Signal, TimerId};
use crate::os::{self, Received};
use std::time::Duration;

impl Loop {
    /// What asks the run to end and is there already: a signal, or the timer that stands for it.
    /// Everything else that has happened stays where it is. Waits for anything to happen, not for longer
    /// than this.
    pub fn asked_to_end(&mut self, last: Option<TimerId>, time: Duration) -> Option<Happened> {
        self.turn(Some(time));
        let ends = |happened: &Happened| match happened {
            Happened::Signal(_) => true,
            Happened::Timer(timer) => Some(*timer) == last,
            _ => false,
        };
        let at = self.happened.iter().position(ends)?;
        self.happened.remove(at)
    }

    pub(super) fn hear_signals(&mut self) {
        for signal in os::received() {
            let signal = match signal {
                Received::Interrupt => Signal::Interrupt,
                Received::Terminate => Signal::Terminate,
                Received::Hangup => Signal::Hangup,
                Received::Child => {
                    self.look_for_ends();
                    continue;
                }
            };
            self.happened.push_back(Happened::Signal(signal));
        }
    }

    /// Leaves signals to do what they do to any program. Whether one has come that nobody has heard of.
    pub fn hears_no_more(&mut self) -> bool {
        if std::mem::take(&mut self.signals) {
            os::unwatch_requests();
        }
        let mut heard = self.happened.iter();
        let heard = heard.any(|happened| matches!(happened, Happened::Signal(_)));
        let asks = |received: &Received| !matches!(received, Received::Child);
        heard || os::received().iter().any(asks)
    }

    /// It is for later.
    pub fn put_back(&mut self, happened: Happened) {
        self.happened.push_front(happened);
    }
}
