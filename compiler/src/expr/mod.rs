//! Holes in text, and conditions: from decoded text to a tree.
//!
//! Everything here works on one text and on byte ranges of it. It knows neither files nor spans,
//! neither which variables exist nor what a value is; whoever calls it maps ranges to the file and
//! resolves names.

pub mod ast;
mod calls;
mod descent;
mod explain;
mod foreign;
pub mod holes;
mod parser;
mod print;
#[cfg(test)]
mod tests;
mod tokens;

pub use ast::{Comparison, Expr, ExprKind, Function, Method};
pub use holes::{
    Filter, Hole, Holes, Path, Piece, Segment, SegmentKind, has_braces, is_path, scan, whole_hole,
};
pub use parser::{MOST_BYTES, MOST_NESTED, parse};
pub use print::print;

use crate::codes::Code;
use crate::diagnostic::Applicability;
use std::ops::Range;

/// What a word without quotes or braces means in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareWords {
    /// Text, as if it were quoted; such a word may hold dots (`1.2.3`, `main.py`).
    Text,
    /// The name of a variable.
    Variables,
}

/// A finding about one text, before its place in a file is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub range: Range<usize>,
    pub code: &'static Code,
    pub message: String,
    pub help: Option<String>,
    pub fix: Option<ProblemFix>,
}

/// Replaces the bytes of `range` by `text`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemFix {
    pub applicability: Applicability,
    pub message: String,
    pub range: Range<usize>,
    pub text: String,
}

impl Problem {
    fn new(range: Range<usize>, code: &'static Code, message: impl Into<String>) -> Problem {
        Problem {
            range,
            code,
            message: message.into(),
            help: None,
            fix: None,
        }
    }

    fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    fn safe(self, range: Range<usize>, text: impl Into<String>) -> Problem {
        self.fixed(Applicability::Safe, range, text.into())
    }

    fn risky(self, range: Range<usize>, text: impl Into<String>) -> Problem {
        self.fixed(Applicability::Unsafe, range, text.into())
    }

    fn fixed(mut self, applicability: Applicability, range: Range<usize>, text: String) -> Problem {
        let message = if text.is_empty() {
            "remove it".to_string()
        } else {
            format!("write `{}`", text.trim())
        };
        self.fix = Some(ProblemFix {
            applicability,
            message,
            range,
            text,
        });
        self
    }
}
