//! An entry of `context` that declares a variable instead of giving it a value.

use super::{Survey, words};
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
        let default = fields.iter().find(|(field, _)| field == "default");
        report.add(
            Diagnostic::new(&codes::SCHEMA_AS_VALUE, input.span, message).help(match default {
                Some((_, default)) => {
                    let value = words::written(default).unwrap_or_else(|| "…".to_string());
                    format!("write the default itself: `{name}: {value}`")
                }
                None => format!("write a value: `{name}: \"\"`"),
            }),
        );
    }
}
