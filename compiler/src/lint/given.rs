//! What a call gives a recipe: does the recipe take anything of that name?

use super::Survey;
use super::used::is_slip;
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report, nearest};
use crate::ir::{Call, visit};

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    for step in survey.program.units.iter().flat_map(|unit| &unit.steps) {
        visit::calls(step, &mut |call| {
            if let Some(target) = call.target {
                check_call(survey, call, target, report);
            }
        });
    }
}

fn check_call(survey: &Survey<'_>, call: &Call, target: usize, report: &mut Report) {
    let recipe = &survey.program.units[target];
    let inputs = || recipe.inputs.iter().map(|input| input.name.as_str());
    let gives = |name: &str| call.context.iter().any(|(given, _)| given == name);
    for ((name, _), span) in call.context.iter().zip(&call.names) {
        if inputs().any(|input| input == name) || survey.uses.reads(target, name) {
            continue;
        }
        let left = inputs().filter(|input| !gives(input));
        // Where a process may read what it is given unasked, only a slip is told from a wish.
        let unseen = survey.uses.unseen(target);
        let near = nearest(name, left).filter(|near| !unseen || is_slip(name, near));
        if let Some(near) = near {
            let message = format!("`{}` takes no `{name}`", recipe.name);
            report.add(
                Diagnostic::new(&codes::MISSPELT_INPUT, *span, message)
                    .help(format!("did you mean `{near}`?"))
                    .fix(Fix::safe(format!("write `{near}`"), *span, near)),
            );
        }
    }
}
