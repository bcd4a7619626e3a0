//! Shell variables that a script expects to find, and does not.

use super::Survey;
use super::flow::{Event, Flow, What, spelt, stands_for};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report, is_slip, nearest};
use crate::ir::{Action, Exports, Mention, Node, Script, Step, Unit};
use crate::shell::Mentioned;
use rustc_hash::FxHashSet;
use std::borrow::Cow;

const PREFIX: &str = "RECIPE_VAR_";

/// Whether the script itself, or its step, makes sure that the variable is there.
fn is_provided(mention: &Mention, script: &Script, step: &Step) -> bool {
    let in_env = match &step.node {
        Node::Act(action) => match &**action {
            Action::Exec(exec) => exec.env.iter().any(|(name, _)| *name == mention.name),
            _ => false,
        },
        _ => false,
    };
    in_env
        || script.vars.iter().any(|var| var.name == mention.name)
        || script.mentions.iter().any(|other| {
            other.name == mention.name && matches!(other.how, Mentioned::Set | Mentioned::Guarded)
        })
}

/// A script that is given nothing but its holes expands a name that only an export could set.
pub fn not_exported(survey: &Survey<'_>, report: &mut Report) {
    for (unit, flow) in survey.units() {
        if unit.exports != Exports::Nothing {
            continue;
        }
        for event in &flow.events {
            let What::Mention { mention, script } = event.what else {
                continue;
            };
            let Some(rest) = mention.name.strip_prefix(PREFIX) else {
                continue;
            };
            if mention.how != Mentioned::Expanded || is_provided(mention, script, event.step) {
                continue;
            }
            let message = format!(
                "`{}` is not in the environment of this script",
                mention.name
            );
            let finding = Diagnostic::new(&codes::NOT_EXPORTED, mention.span, message);
            let known = names(unit, flow);
            report.add(match known.iter().find(|name| **name == rest) {
                Some(name) => finding
                    .help(format!(
                        "write `{{{{{name}}}}}`; scripts here are given only what their holes name"
                    ))
                    .fix(Fix::unsafe_(
                        format!("write `{{{{{name}}}}}`"),
                        mention.span,
                        format!("{{{{{name}}}}}"),
                    )),
                None => finding.help("write the variable as a hole, or define it under `env`"),
            });
        }
    }
}

fn names<'a>(unit: &'a Unit, flow: &Flow<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = unit
        .inputs
        .iter()
        .map(|input| input.name.as_str())
        .collect();
    for event in &flow.events {
        match event.what {
            What::Set { bind } | What::Item { bind } => names.push(&bind.name),
            _ => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// A script expands nearly the name of something that its step gives it, and that it does not read.
fn given_by_step(survey: &Survey<'_>, report: &mut Report) {
    for (_, flow) in survey.units() {
        for event in &flow.events {
            let What::Run { exec } = event.what else {
                continue;
            };
            let mentions = &exec.script.mentions;
            let is_named = |name: &str| mentions.iter().any(|mention| mention.name == name);
            for (given, value) in exec.env.iter().filter(|(given, _)| !is_named(given)) {
                let near = |mention: &&Mention| {
                    mention.how == Mentioned::Expanded
                        && is_slip(&mention.name, given)
                        && !is_provided(mention, &exec.script, event.step)
                };
                let Some(first) = mentions.iter().find(near) else {
                    continue;
                };
                let read = &first.name;
                let times = mentions.iter().filter(|other| other.name == *read).count();
                // What is read more than once is spelt as it is meant.
                report.add(match times {
                    1 => Diagnostic::new(
                        &codes::MISSPELT_EXPORT,
                        first.span,
                        format!("nothing sets `{read}`, so it is empty"),
                    )
                    .label(value.span, format!("`{given}` is set here"))
                    .help(format!("did you mean `{given}`?")),
                    _ => Diagnostic::new(
                        &codes::MISSPELT_EXPORT,
                        value.span,
                        format!("the script does not read `{given}`"),
                    )
                    .label(first.span, format!("`{read}` is read here"))
                    .help(format!("did you mean `{read}`?")),
                });
            }
        }
    }
}

/// A script that is given every variable expands nearly the name of one.
pub fn misspelt(survey: &Survey<'_>, report: &mut Report) {
    given_by_step(survey, report);
    let links = survey.links;
    for (number, (unit, flow)) in survey.units().enumerate() {
        let expands = |event: &Event<'_>| match event.what {
            What::Mention { mention, .. } => {
                mention.how != Mentioned::Word && mention.name.starts_with(PREFIX)
            }
            _ => false,
        };
        if unit.exports != Exports::Everything || !flow.events.iter().any(expands) {
            continue;
        }
        let mut known = names(unit, flow);
        known.extend(&links.given[number]);
        known.extend(&links.sets[number]);
        known.extend(&unit.given);
        let spellings: FxHashSet<Cow<'_, str>> = known.iter().copied().map(spelt).collect();
        for event in &flow.events {
            let What::Mention { mention, script } = event.what else {
                continue;
            };
            let Some(rest) = mention.name.strip_prefix(PREFIX) else {
                continue;
            };
            let there = || stands_for(&mention.name, |name| spellings.contains(name));
            if mention.how == Mentioned::Word || there() || is_provided(mention, script, event.step)
            {
                continue;
            }
            // Of two that are as near, always the same one.
            known.sort_unstable();
            let Some(near) = nearest(rest, known.iter().copied()) else {
                continue;
            };
            let message = format!(
                "no variable is called `{rest}`, so `{}` is empty",
                mention.name
            );
            report.add(
                Diagnostic::new(&codes::MISSPELT_EXPORT, mention.span, message)
                    .help(format!("did you mean `{PREFIX}{near}`?")),
            );
        }
    }
}
