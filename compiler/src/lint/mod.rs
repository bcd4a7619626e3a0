//! Small questions about a program, one file each.
//!
//! A rule looks at the program alone, so it works for every dialect. Rules find mistakes, not
//! taste, and a guess is never an error. To add one: a code, a file here with
//! `pub fn check(program: &Program, report: &mut Report)`, a line in [`LINTS`], and a page.

mod environment;
mod flow;
mod known;
mod overwritten;
mod possibly_unset;
mod results;
mod used;

use crate::codes;
use crate::codes::Code;
use crate::diagnostic::Report;
use crate::ir::Program;

/// One rule.
pub struct Lint {
    pub code: &'static Code,
    pub check: fn(&Program, &mut Report),
}

/// All rules, in the order of their codes.
pub static LINTS: &[Lint] = &[
    Lint {
        code: &codes::POSSIBLY_UNSET,
        check: possibly_unset::check,
    },
    Lint {
        code: &codes::UNKNOWN_RESULT,
        check: results::check,
    },
    Lint {
        code: &codes::MISSPELT_OUTPUT,
        check: used::misspelt,
    },
    Lint {
        code: &codes::UNUSED_OUTPUT,
        check: used::outputs,
    },
    Lint {
        code: &codes::UNUSED_INPUT,
        check: used::inputs,
    },
    Lint {
        code: &codes::SET_TWICE,
        check: overwritten::set_twice,
    },
    Lint {
        code: &codes::SHADOWED_VARIABLE,
        check: overwritten::shadowed,
    },
    Lint {
        code: &codes::NOT_EXPORTED,
        check: environment::not_exported,
    },
    Lint {
        code: &codes::MISSPELT_EXPORT,
        check: environment::misspelt,
    },
    Lint {
        code: &codes::UNSET_IN_SCRIPT,
        check: possibly_unset::check_scripts,
    },
    Lint {
        code: &codes::OVERWRITTEN_BY_ID,
        check: overwritten::by_id,
    },
];

pub fn lint(program: &Program, report: &mut Report) {
    for lint in LINTS {
        (lint.check)(program, report);
    }
}
