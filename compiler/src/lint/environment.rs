//! Shell variables that a script expects to find, and does not.

use super::Survey;
use super::flow::{Event, Flow, What, spelt, stands_for};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::ir::{Action, Exports, Mention, Node, Script, Step, Unit};
use crate::shell::Mentioned;
use crate::spelling::Near;
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::cell::LazyCell;

const PREFIX: &str = "RECIPE_VAR_";

/// The variables that a script itself, or its step, makes sure of. Events of one script stand next
/// to each other, so that the last one that was asked for is the one to keep.
#[derive(Default)]
struct Provided<'a> {
    last: Option<(&'a Script, FxHashSet<&'a str>)>,
}

impl<'a> Provided<'a> {
    fn has(&mut self, mention: &Mention, script: &'a Script, step: &'a Step) -> bool {
        let known = match self.last.take() {
            Some((last, names)) if std::ptr::eq(last, script) => names,
            _ => provided(script, step),
        };
        let (_, names) = self.last.insert((script, known));
        names.contains(mention.name.as_str())
    }
}

fn provided<'a>(script: &'a Script, step: &'a Step) -> FxHashSet<&'a str> {
    let mut names: FxHashSet<&str> = FxHashSet::default();
    if let Node::Act(action) = &step.node
        && let Action::Exec(exec) = &**action
    {
        names.extend(exec.env.iter().map(|(name, _)| name.as_str()));
    }
    names.extend(script.vars.iter().map(|var| var.name.as_str()));
    let sure = |other: &&Mention| matches!(other.how, Mentioned::Set | Mentioned::Guarded);
    let mentions = script.mentions.iter().filter(sure);
    names.extend(mentions.map(|other| other.name.as_str()));
    names
}

/// A script that is given nothing but its holes expands a name that only an export could set.
pub fn not_exported(survey: &Survey<'_>, report: &mut Report) {
    for (unit, flow) in survey.units() {
        if unit.exports != Exports::Nothing {
            continue;
        }
        let known = LazyCell::new(|| names(unit, flow));
        let mut provided = Provided::default();
        for event in &flow.events {
            let What::Mention { mention, script } = event.what else {
                continue;
            };
            let Some(rest) = mention.name.strip_prefix(PREFIX) else {
                continue;
            };
            if mention.how != Mentioned::Expanded || provided.has(mention, script, event.step) {
                continue;
            }
            let message = format!(
                "`{}` is not in the environment of this script",
                mention.name
            );
            let finding = Diagnostic::new(&codes::NOT_EXPORTED, mention.span, message);
            report.add(match known.get(rest) {
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

fn names<'a>(unit: &'a Unit, flow: &Flow<'a>) -> FxHashSet<&'a str> {
    let mut names: FxHashSet<&str> = unit
        .inputs
        .iter()
        .map(|input| input.name.as_str())
        .collect();
    for event in &flow.events {
        match event.what {
            What::Set { bind } | What::Item { bind } => {
                names.insert(&bind.name);
            }
            _ => {}
        }
    }
    names
}

/// A script that is given every variable expands nearly the name of one.
pub fn misspelt(survey: &Survey<'_>, report: &mut Report) {
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
        let near: LazyCell<Near<'_>, _> = LazyCell::new(|| known.iter().copied().collect());
        let mut provided = Provided::default();
        for event in &flow.events {
            let What::Mention { mention, script } = event.what else {
                continue;
            };
            let Some(rest) = mention.name.strip_prefix(PREFIX) else {
                continue;
            };
            let there = || stands_for(&mention.name, |name| spellings.contains(name));
            if mention.how == Mentioned::Word
                || there()
                || provided.has(mention, script, event.step)
            {
                continue;
            }
            let Some(near) = near.nearest(rest, |_| true) else {
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
