//! Small questions about a program, one file each.
//!
//! A rule looks at the program alone, so it works for every dialect. Rules find mistakes, not
//! taste, and a guess is never an error. To add one: a code, a file here with
//! `pub fn check(program: &Program, report: &mut Report)`, a line in [`LINTS`], and a page.

use crate::codes::Code;
use crate::diagnostic::Report;
use crate::ir::Program;

/// One rule.
pub struct Lint {
    pub code: &'static Code,
    pub check: fn(&Program, &mut Report),
}

/// All rules, in the order of their codes.
pub static LINTS: &[Lint] = &[];

pub fn lint(program: &Program, report: &mut Report) {
    for lint in LINTS {
        (lint.check)(program, report);
    }
}
