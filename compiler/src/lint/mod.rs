//! Small questions about a program, one file each.
//!
//! A rule looks at the program alone, and at what a [`Survey`] has found in it once for all rules,
//! so it works for every dialect. Rules find mistakes, not taste, and a guess is never an error. To
//! add one: a code, a file here with `pub fn check(survey: &Survey<'_>, report: &mut Report)`, a line
//! in [`LINTS`], and a page. A rule about values has a line in [`VALUES`] instead, and is shown one
//! place after the other.

mod constant_condition;
mod environment;
mod field_of_text;
mod flow;
pub mod given;
mod given_values;
mod in_number;
mod known;
mod never_equal;
mod newline_in_path;
mod no_such_field;
mod not_a_list;
mod not_a_number;
mod odd_field;
mod overwritten;
mod possibly_unset;
mod results;
mod schema_as_value;
mod secret_name;
mod secret_word;
mod too_many_items;
mod unparsed;
mod unusable_default;
mod used;
mod words;
mod wrong_argument;

use crate::codes::{self, Code};
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::{self, Facts, Place, Scope};
use crate::ir::{Program, Unit};
use crate::resolve::Links;
use flow::Flow;
use rustc_hash::FxHashSet;
use used::Uses;

/// One rule.
pub struct Lint {
    pub code: &'static Code,
    pub check: fn(&Survey<'_>, &mut Report),
}

/// A program and what rules ask about it, found once.
pub struct Survey<'a> {
    pub program: &'a Program,
    links: &'a Links<'a>,
    /// What happens to the variables of each unit.
    flows: Vec<Flow<'a>>,
    uses: Uses<'a>,
}

impl<'a> Survey<'a> {
    fn new(program: &'a Program, links: &'a Links<'a>) -> Survey<'a> {
        let flows: Vec<Flow<'a>> = program.units.iter().map(|unit| Flow::new(unit)).collect();
        let uses = Uses::new(program, &flows);
        Survey {
            program,
            links,
            flows,
            uses,
        }
    }

    fn units(&self) -> impl Iterator<Item = (&'a Unit, &Flow<'a>)> {
        let units = self.program.units.iter().map(|unit| &**unit);
        units.zip(&self.flows)
    }
}

/// One rule about the values that are known at a place.
pub struct ValueLint {
    pub code: &'static Code,
    pub check: fn(&Place<'_, '_>, Scope<'_, '_>, &mut Report),
}

/// All rules about programs, in the order of their codes.
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
        code: &codes::MISSPELT_INPUT,
        check: given::check,
    },
    Lint {
        code: &codes::ODD_FIELD,
        check: odd_field::check,
    },
    Lint {
        code: &codes::MISSPELT_SECRET,
        check: secret_name::check,
    },
    Lint {
        code: &codes::FIELD_OF_TEXT,
        check: unparsed::check,
    },
    Lint {
        code: &codes::SCHEMA_AS_VALUE,
        check: schema_as_value::check,
    },
    Lint {
        code: &codes::UNUSABLE_DEFAULT,
        check: unusable_default::check,
    },
    Lint {
        code: &codes::SECRET_IN_ARGV,
        check: secret_word::check,
    },
    Lint {
        code: &codes::OVERWRITTEN_BY_ID,
        check: overwritten::by_id,
    },
];

/// All rules about values, in the order of their codes.
pub static VALUES: &[ValueLint] = &[
    ValueLint {
        code: &codes::CONSTANT_CONDITION,
        check: constant_condition::check,
    },
    ValueLint {
        code: &codes::NEVER_EQUAL,
        check: never_equal::check,
    },
    ValueLint {
        code: &codes::IN_NUMBER,
        check: in_number::check,
    },
    ValueLint {
        code: &codes::FIELD_OF_TEXT,
        check: field_of_text::check,
    },
    ValueLint {
        code: &codes::NO_SUCH_FIELD,
        check: no_such_field::check,
    },
    ValueLint {
        code: &codes::NOT_A_LIST,
        check: not_a_list::check,
    },
    ValueLint {
        code: &codes::TOO_MANY_ITEMS,
        check: too_many_items::check,
    },
    ValueLint {
        code: &codes::WRONG_ARGUMENT,
        check: wrong_argument::check,
    },
    ValueLint {
        code: &codes::NOT_A_NUMBER,
        check: not_a_number::check,
    },
    ValueLint {
        code: &codes::NEWLINE_IN_PATH,
        check: newline_in_path::check,
    },
];

pub use given_values::judge;

pub fn lint(program: &Program, links: &Links<'_>, facts: &Facts<'_>, report: &mut Report) {
    let survey = Survey::new(program, links);
    for lint in LINTS {
        (lint.check)(&survey, report);
    }
    let mut values = Report::default();
    infer::places(program, facts, &mut |place, scope| {
        for lint in VALUES {
            (lint.check)(place, scope, &mut values);
        }
    });
    // What is wrong in a condition that cannot be read has been said.
    let unread = [
        &codes::BAD_CONDITION,
        &codes::UNKNOWN_FUNCTION,
        &codes::WRONG_ARGUMENTS,
    ];
    let mut places: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| unread.contains(&finding.code))
        .map(|finding| (finding.span.source, finding.span.range().start))
        .collect();
    places.sort_unstable();
    values.findings.retain(|finding| {
        let (source, range) = (finding.span.source, finding.span.range());
        let first = places.partition_point(|place| *place < (source, range.start));
        places
            .get(first)
            .is_none_or(|(other, at)| *other != source || *at >= range.end)
    });
    // Where a rule about names has spoken, what follows for values is no second mistake.
    let is_guess = |finding: &Diagnostic| finding.code == &codes::ODD_FIELD;
    let names = report.findings.iter().filter(|finding| !is_guess(finding));
    let spoken: FxHashSet<_> = names.map(|finding| finding.span).collect();
    values
        .findings
        .retain(|finding| !spoken.contains(&finding.span));
    // What is known of a value says more than a guess.
    let known: FxHashSet<_> = values.findings.iter().map(|finding| finding.span).collect();
    let findings = &mut report.findings;
    findings.retain(|finding| !is_guess(finding) || !known.contains(&finding.span));
    // A value that is not what was meant is one mistake, however often it is read.
    let of_a_value = [&codes::FIELD_OF_TEXT, &codes::NEWLINE_IN_PATH];
    let mut said = FxHashSet::default();
    values.findings.retain(|finding| {
        !of_a_value.contains(&finding.code)
            || said.insert((finding.span.source, finding.message.clone()))
    });
    report.findings.extend(values.findings);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_stand_in_the_order_of_their_codes() {
        let programs = LINTS.iter().map(|lint| lint.code.code);
        let values = VALUES.iter().map(|lint| lint.code.code);
        assert!(programs.is_sorted() && values.is_sorted());
    }
}
