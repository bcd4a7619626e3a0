//! `rate_limiting`: how fast agents are asked.

use super::text::Lower;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::doc::fields::Fields;
use crate::ir::{Backoff, Pace};

impl Lower<'_> {
    pub fn pace(&mut self, recipe: &Fields<'_>) -> Option<Pace> {
        let fields = recipe.nested("rate_limiting", self.report)?;
        let width = fields.integer("max_concurrent_llm", self.report);
        let pause = fields.integer("min_delay_ms", self.report).unwrap_or(0);
        let backoff = match fields.nested("backoff", self.report) {
            Some(backoff) => self.backoff(&backoff),
            None => Some(Backoff {
                first_ms: 1000,
                longest_ms: 60_000,
                growth: 2.0,
                calm: 3,
            }),
        };
        Some(Pace {
            width: width.and_then(|width| u32::try_from(width).ok()),
            pause_ms: u64::try_from(pause).unwrap_or(0),
            backoff,
        })
    }

    /// None if it is turned off.
    fn backoff(&mut self, fields: &Fields<'_>) -> Option<Backoff> {
        let enabled = fields.boolean("enabled", self.report).unwrap_or(true);
        let first = fields.integer("initial_delay_ms", self.report);
        let longest = fields.integer("max_delay_ms", self.report);
        let growth = fields.number("multiplier", self.report).unwrap_or(2.0);
        let calm = fields.integer("reset_after_success", self.report);
        let (first_ms, longest_ms) = (first.unwrap_or(1000), longest.unwrap_or(60_000));
        if longest_ms < first_ms {
            let field = match longest {
                Some(_) => "max_delay_ms",
                None => "initial_delay_ms",
            };
            let message = "the longest pause is shorter than the first";
            self.wrong(fields, field, message, "make `max_delay_ms` the larger one");
        }
        if growth < 1.0 {
            let message = format!("`multiplier` must be 1 or more, not {growth}");
            self.wrong(fields, "multiplier", &message, "pauses only grow");
        }
        enabled.then(|| Backoff {
            first_ms: u64::try_from(first_ms).unwrap_or(1000),
            longest_ms: u64::try_from(longest_ms).unwrap_or(60_000),
            growth: growth.max(1.0),
            calm: calm.and_then(|calm| u32::try_from(calm).ok()).unwrap_or(3),
        })
    }

    fn wrong(&mut self, fields: &Fields<'_>, field: &str, message: &str, help: &str) {
        let span = fields.value_span(field).unwrap_or_else(|| fields.head());
        self.report
            .add(Diagnostic::new(&codes::BAD_VALUE, span, message).help(help));
    }
}
