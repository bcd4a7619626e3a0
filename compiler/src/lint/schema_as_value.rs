//! An entry of `context` that declares a variable instead of giving it a value.

use super::Survey;
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::is_declaration;
use crate::ir::Literal;

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    for input in survey.program.units.iter().flat_map(|unit| &unit.inputs) {
        let Literal::Map(fields) = &input.default else {
            continue;
        };
        if !is_declaration(&input.default) {
            continue;
        }
        let name = &input.name;
        let message = format!("`{name}` is this whole map: there are no declarations here");
        let has_default = fields.iter().any(|(field, _)| field == "default");
        report.add(
            Diagnostic::new(&codes::SCHEMA_AS_VALUE, input.span, message).help(match has_default {
                true => format!("write the default itself: `{name}: …`"),
                false => format!("write a value: `{name}: \"\"`"),
            }),
        );
    }
}
