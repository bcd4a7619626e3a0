//! How long a step may take, how often it is tried, and what follows when it fails.

use super::text::Lower;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::doc::fields::{Fields, name_span};
use crate::ir::{Attempts, Expr, ExprKind, Growth, Literal, OnFailure};

impl Lower<'_> {
    pub fn deadline(&mut self, fields: &Fields<'_>, kind: Option<&str>) -> Option<Expr> {
        let own = match kind {
            Some("bash") => self.dialect.bash_timeout_ms,
            _ => self.dialect.other_timeout_ms,
        };
        let default = self.timeout_ms.or(own);
        let Some(node) = fields.node("timeout") else {
            let ms = i64::try_from(default?).unwrap_or(i64::MAX);
            return Some(Literal::Int(ms).expr(fields.head()));
        };
        if let Some(text) = node.text()
            && text.text().contains("{{")
        {
            let of = Box::new(self.one_hole(text, "timeout")?);
            return Some(Expr {
                span: node.span,
                kind: ExprKind::Seconds {
                    of,
                    none: self.dialect.bash_timeout_ms.is_none(),
                },
            });
        }
        let seconds = fields.number("timeout", self.report)?;
        // Where steps have no deadline of their own, 0 says so.
        let none = self.dialect.bash_timeout_ms.is_none();
        if seconds < 0.0 || seconds == 0.0 && !none {
            let (least, help) = match none {
                true => (
                    "0 or more",
                    "write the seconds that the step may take; 0 sets no limit",
                ),
                false => ("more than 0", "write the seconds that the step may take"),
            };
            let message = format!("`timeout` must be {least}, not {seconds}");
            let finding = Diagnostic::new(&codes::BAD_VALUE, name_span(node), message);
            self.report.add(finding.help(help));
            return None;
        }
        (seconds > 0.0).then(|| Literal::Int(milliseconds(seconds)).expr(node.span))
    }

    pub fn attempts(&mut self, fields: &Fields<'_>) -> Attempts {
        let Some(retry) = fields.nested("retry", self.report) else {
            return Attempts::ONCE;
        };
        let seconds = |lower: &mut Self, field: &str, default: f64| {
            let value = retry.number(field, lower.report).unwrap_or(default);
            if value < 0.0 {
                let span = retry.value_span(field).unwrap_or_else(|| retry.head());
                let message = format!("`{field}` must not be negative");
                lower
                    .report
                    .add(Diagnostic::new(&codes::BAD_VALUE, span, message).help("write seconds"));
            }
            milliseconds(value.max(0.0)).unsigned_abs()
        };
        let most = retry.integer("max_attempts", self.report).unwrap_or(3);
        Attempts {
            most: u32::try_from(most).unwrap_or(u32::MAX),
            growth: match retry.choice("backoff", self.report) {
                Some("linear") => Growth::Linear,
                _ => Growth::Doubling,
            },
            first_pause_ms: seconds(self, "initial_delay", 5.0),
            longest_pause_ms: seconds(self, "max_delay", 60.0),
        }
    }

    pub fn on_failure(&mut self, fields: &Fields<'_>) -> OnFailure {
        let go_on = OnFailure::Continue {
            keep_output: self.dialect.keep_output,
        };
        let word = fields.choice("on_error", self.report);
        let said = [
            (
                "continue_on_error",
                fields.boolean("continue_on_error", self.report),
            ),
            ("nonfatal", fields.boolean("nonfatal", self.report)),
            (
                "fatal",
                fields.boolean("fatal", self.report).map(|fatal| !fatal),
            ),
        ];
        let mut decided = match word {
            Some("fail") => Some(("on_error", false)),
            Some("continue") => Some(("on_error", true)),
            _ => None,
        };
        for (field, value) in said {
            let Some(value) = value else { continue };
            match decided {
                Some((first, other)) if other != value => {
                    let span = fields.key_span(field).unwrap_or_else(|| fields.head());
                    let message = format!("`{first}` and `{field}` say opposite things");
                    self.report.add(
                        Diagnostic::new(&codes::EXCLUSIVE_FIELDS, span, message)
                            .help("keep one of the two"),
                    );
                }
                _ => decided = Some((field, value)),
            }
        }
        match (word, decided) {
            (Some("skip_remaining"), _) => OnFailure::SkipRest,
            (Some("continue"), _) | (None, Some((_, true))) => go_on,
            _ => OnFailure::Stop,
        }
    }
}

fn milliseconds(seconds: f64) -> i64 {
    let ms = (seconds * 1000.0).round();
    if ms >= i64::MAX as f64 {
        i64::MAX
    } else {
        (ms as i64).max(i64::from(seconds > 0.0))
    }
}
