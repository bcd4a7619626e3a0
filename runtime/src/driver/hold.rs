//! What becomes of a run whose events nobody reads for now: it waits for the reader, but the deadlines of
//! children and of the run hold, and who asks it to end is heard.
//!
//! While much waits to be read, lines of children are left unread and nothing new starts. While too much
//! waits, nothing is said, so nothing that would say something is looked at.

use super::{Driver, Stop};
use crate::process::Happened;
use std::time::Duration;

/// How often it is looked whether somebody reads again.
const MOMENT: Duration = Duration::from_millis(20);

impl Driver<'_> {
    /// Waits until there is room for what is to be said.
    pub(super) fn hold(&mut self) {
        self.os.hold_lines(true);
        while self.settings.ways.are_full() {
            let asked = self.os.asked_to_end(self.deadline, MOMENT);
            let Some(asked) = asked else { continue };
            if self.past.is_some() {
                // It is heard where the record ends.
                if matches!(asked, Happened::Signal(_)) {
                    self.settings.ways.give_up();
                }
                self.os.put_back(asked);
                continue;
            }
            self.stop(match asked {
                Happened::Signal(signal) => Stop::Signal(signal),
                _ => self.too_long(),
            });
        }
    }

    /// The next thing that happens, if that does not take too long to come.
    pub(super) fn next(&mut self) -> Option<Happened> {
        let much = self.settings.ways.have_much();
        if self.os.hold_lines(much) && !much {
            self.start_waiting();
        }
        match much {
            true => self.os.wait_at_most(MOMENT),
            false => Some(self.os.wait()),
        }
    }
}
