//! Shell variables that a script expects to find, and does not.

use super::Survey;
use super::flow::{Event, Flow, What, spelt, stands_for};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::ir::{Action, Exports, ExprKind, Mention, Node, Script, Step, Text, Unit, visit};
use crate::shell::Mentioned;
use crate::spelling::{Near, Slips, is_slip, plurals};
use rrc_vm::exports::{is_everywhere, is_reserved};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeMap;

const PREFIX: &str = "RECIPE_VAR_";

/// The variables that a script has by itself. Events of one script stand next to each other, so
/// that the last one that was asked for is the one to keep.
#[derive(Default)]
pub(super) struct Held<'a> {
    last: Option<(&'a Script, FxHashSet<&'a str>)>,
}

impl<'a> Held<'a> {
    /// Those of its holes, those of the step, and those that it mentions in one of these ways.
    pub(super) fn names(
        &mut self,
        script: &'a Script,
        env: &'a [(String, Text)],
        counts: fn(Mentioned) -> bool,
    ) -> &FxHashSet<&'a str> {
        let known = self.last.take();
        let same = known.filter(|(last, _)| std::ptr::eq(*last, script));
        let (_, names) = self.last.insert(same.unwrap_or_else(|| {
            let vars = script.vars.iter().map(|var| var.name.as_str());
            let mentions = script.mentions.iter().filter(|other| counts(other.how));
            let names = vars.chain(mentions.map(|other| other.name.as_str()));
            let names = names.chain(env.iter().map(|(name, _)| name.as_str()));
            (script, names.collect())
        }));
        names
    }

    /// Whether the script itself, or its step, makes sure that a variable is there.
    fn provides(&mut self, mention: &Mention, script: &'a Script, step: &'a Step) -> bool {
        let sure = |how| matches!(how, Mentioned::Set | Mentioned::Guarded);
        self.holds(mention, script, step, sure)
    }

    /// Whether the script itself sets a variable, or its step does.
    fn sets(&mut self, mention: &Mention, script: &'a Script, step: &'a Step) -> bool {
        self.holds(mention, script, step, |how| how == Mentioned::Set)
    }

    fn holds(
        &mut self,
        mention: &Mention,
        script: &'a Script,
        step: &'a Step,
        counts: fn(Mentioned) -> bool,
    ) -> bool {
        let env = match &step.node {
            Node::Act(action) => match &**action {
                Action::Exec(exec) => exec.env.as_slice(),
                _ => &[],
            },
            _ => &[],
        };
        let names = self.names(script, env, counts);
        names.contains(mention.name.as_str())
    }
}

/// A script expands a name under which it is given nothing.
pub fn not_exported(survey: &Survey<'_>, report: &mut Report) {
    no_alias(survey, report);
    for (unit, flow) in survey.units() {
        if unit.exports != Exports::Nothing {
            continue;
        }
        let known = LazyCell::new(|| names(unit, flow));
        let mut held = Held::default();
        for event in &flow.events {
            let What::Mention { mention, script } = event.what else {
                continue;
            };
            let Some(rest) = mention.name.strip_prefix(PREFIX) else {
                continue;
            };
            if mention.how != Mentioned::Expanded || held.provides(mention, script, event.step) {
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

/// A script that is given every variable expands the alias that one would have, if the name were not
/// that of other programs.
fn no_alias(survey: &Survey<'_>, report: &mut Report) {
    for (unit, flow) in survey.units() {
        if unit.exports != Exports::Everything {
            continue;
        }
        let known = LazyCell::new(|| names(unit, flow));
        let mut held = Held::default();
        // Scripts name few variables, again and again.
        let mut of_others: FxHashMap<&str, bool> = FxHashMap::default();
        for event in &flow.events {
            let What::Mention { mention, script } = event.what else {
                continue;
            };
            let alias = mention.name.as_str();
            if mention.how != Mentioned::Expanded || alias.starts_with(PREFIX) {
                continue;
            }
            let of_others = of_others.entry(alias);
            if !*of_others.or_insert_with(|| is_reserved(alias) && !is_everywhere(alias)) {
                continue;
            }
            let variable = known.get(&*alias.to_ascii_lowercase());
            let Some(name) = variable.filter(|_| !held.provides(mention, script, event.step))
            else {
                continue;
            };
            let better = format!("${{{PREFIX}{name}}}");
            report.add(
                Diagnostic::new(
                    &codes::NOT_EXPORTED,
                    mention.span,
                    format!("`${alias}` does not hold the variable `{name}`"),
                )
                .help(format!(
                    "write `{{{{{name}}}}}` or `{better}`; other programs go by `{alias}`, so it stays theirs"
                ))
                .fix(Fix::unsafe_(format!("write `{better}`"), mention.span, better)),
            );
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

/// A script reads nearly the name of something that its step gives it, and that it does not read.
fn given_by_step(survey: &Survey<'_>, report: &mut Report) {
    for (_, flow) in survey.units() {
        for event in &flow.events {
            let What::Run { exec } = event.what else {
                continue;
            };
            let mentions = &exec.script.mentions;
            let mut times: FxHashMap<&str, usize> = FxHashMap::default();
            for mention in mentions {
                *times.entry(&mention.name).or_default() += 1;
            }
            let env = exec
                .env
                .iter()
                .map(|(given, value)| (given.as_str(), value));
            let mut unread: BTreeMap<&str, &Text> = env
                .filter(|(given, _)| !times.contains_key(given))
                .collect();
            if unread.is_empty() {
                continue;
            }
            let slips = Slips::new(unread.keys().copied());
            let mut held = Held::default();
            for first in mentions {
                if held.provides(first, &exec.script, event.step) {
                    continue;
                }
                let read = first.name.as_str();
                let near = slips.nearest(read, |given| unread.contains_key(given));
                let near = near.or_else(|| {
                    let forms = match first.how {
                        Mentioned::Expanded => plurals(read),
                        _ => return None,
                    };
                    let given = |form: &String| unread.get_key_value(form.as_str());
                    forms.iter().find_map(given).map(|(given, _)| *given)
                });
                let Some((given, value)) = near.and_then(|near| unread.remove_entry(near)) else {
                    continue;
                };
                // What stands in another program's text, or more than once, is spelt as it is meant.
                let once = first.how == Mentioned::Expanded && times[read] == 1;
                report.add(match once && !is_named_by(value, read) {
                    true => Diagnostic::new(
                        &codes::MISSPELT_EXPORT,
                        first.span,
                        format!("nothing sets `{read}`, so it is empty"),
                    )
                    .label(value.span, format!("`{given}` is set here"))
                    .did_you_mean(given),
                    false => Diagnostic::new(
                        &codes::MISSPELT_EXPORT,
                        value.span,
                        format!("the script does not read `{given}`"),
                    )
                    .label(first.span, format!("`{read}` is read here"))
                    .did_you_mean(read),
                });
            }
        }
    }
}

/// Whether a value is that of a variable of this name.
fn is_named_by(value: &Text, name: &str) -> bool {
    let mut named = false;
    visit::walk_text(value, &mut |expr| {
        if let ExprKind::Var { name: own, .. } = &expr.kind {
            named |= own.eq_ignore_ascii_case(name);
        }
    });
    named
}

/// A script that is given every variable expands nearly the name of one.
pub fn misspelt(survey: &Survey<'_>, report: &mut Report) {
    given_by_step(survey, report);
    let links = survey.links;
    for (number, (unit, flow)) in survey.units().enumerate() {
        let expands = |event: &Event<'_>| match event.what {
            What::Mention { mention, .. } => mention.name.starts_with(PREFIX),
            _ => false,
        };
        if unit.exports != Exports::Everything || !flow.events.iter().any(expands) {
            continue;
        }
        let mut known = names(unit, flow);
        known.extend(&links.given[number]);
        known.extend(&links.sets[number]);
        known.extend(&links.asked[number]);
        known.extend(&unit.given);
        let spellings: FxHashSet<Cow<'_, str>> = known.iter().copied().map(spelt).collect();
        let near: LazyCell<Near<'_>, _> = LazyCell::new(|| known.iter().copied().collect());
        let (mut held, mut set) = (Held::default(), Held::default());
        for event in &flow.events {
            let What::Mention { mention, script } = event.what else {
                continue;
            };
            let Some(rest) = mention.name.strip_prefix(PREFIX) else {
                continue;
            };
            if stands_for(&mention.name, |name| spellings.contains(name)) {
                continue;
            }
            // Who is prepared for nothing, or is another program, may mean what nobody gives yet.
            let (given, sure) = match mention.how {
                Mentioned::Expanded => (held.provides(mention, script, event.step), true),
                _ => (set.sets(mention, script, event.step), false),
            };
            let near = || near.nearest(rest, |near| sure || is_slip(rest, near));
            let Some(near) = (!given).then(near).flatten() else {
                continue;
            };
            let message = format!(
                "no variable is called `{rest}`, so `{}` is empty",
                mention.name
            );
            report.add(
                Diagnostic::new(&codes::MISSPELT_EXPORT, mention.span, message)
                    .did_you_mean(&format!("{PREFIX}{near}")),
            );
        }
    }
}
