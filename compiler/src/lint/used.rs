//! Which variables a unit reads, in any way: what nobody reads is a slip or left over.

use super::Survey;
use super::flow::{Flow, What, called, spelt, stands_for};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::ir::{Bind, Exports, Input, Program, Unit};
use crate::source::Span;
use crate::spelling::{Slips, plurals};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::LazyCell;

/// What the steps of a unit read and set themselves.
#[derive(Default)]
struct Own<'a> {
    names: FxHashSet<&'a str>,
    /// What scripts name, as environments spell it.
    mentions: FxHashSet<String>,
    /// Every process, or every recipe that is called, may read what it is given unasked.
    unseen: bool,
    sets: Vec<Set<'a>>,
    set_names: FxHashSet<&'a str>,
    /// The recipes that see its variables.
    inherits: Vec<usize>,
}

/// What a step sets.
struct Set<'a> {
    bind: &'a Bind,
    /// The step's number.
    step: usize,
    /// It has the step's own name: nobody has named it.
    by_id: bool,
}

impl<'a> Own<'a> {
    fn new(unit: &'a Unit, flow: &Flow<'a>) -> Own<'a> {
        let mut own = Own::default();
        own.set_names.reserve(unit.steps.len());
        let (mut steps, mut last) = (0, None);
        let mut mentioned: FxHashSet<&str> = FxHashSet::default();
        for event in &flow.events {
            if last != Some(event.step.id.as_str()) {
                last = Some(&event.step.id);
                steps += 1;
            }
            match event.what {
                What::Read { name, .. } => {
                    own.names.insert(name);
                }
                What::Mention { mention, .. } => {
                    if unit.exports == Exports::Everything && mentioned.insert(&mention.name) {
                        stands_for(&mention.name, |name| {
                            if !own.mentions.contains(name) {
                                own.mentions.insert(name.to_string());
                            }
                            false
                        });
                    }
                }
                What::Set { bind } => {
                    own.sets.push(Set {
                        bind,
                        step: steps,
                        by_id: bind.span == event.step.span,
                    });
                    own.set_names.insert(&bind.name);
                }
                What::Item { .. } | What::Leave { .. } => {}
                What::Run { exec } => own.unseen |= exec.exports == Exports::Everything,
                What::Call { call } if call.inherits => match call.target {
                    Some(target) => own.inherits.push(target),
                    None => own.unseen = true,
                },
                What::Call { .. } => {}
            }
        }
        own
    }
}

/// What every unit reads, calls included.
pub struct Uses<'a> {
    own: Vec<Own<'a>>,
    /// Each unit with those that see its variables, and those that see theirs.
    readers: Vec<Vec<usize>>,
}

impl<'a> Uses<'a> {
    pub fn new(program: &'a Program, flows: &[Flow<'a>]) -> Uses<'a> {
        let own: Vec<Own<'a>> = program
            .units
            .iter()
            .zip(flows)
            .map(|(unit, flow)| Own::new(unit, flow))
            .collect();
        // For which unit each of them was found last.
        let mut seen: Vec<Option<usize>> = vec![None; own.len()];
        let readers = |number: usize| {
            let mut found = vec![number];
            seen[number] = Some(number);
            let mut at = 0;
            while let Some(reader) = found.get(at).copied() {
                let next = own[reader].inherits.iter().copied();
                found.extend(next.filter(|next| seen[*next].replace(number) != Some(number)));
                at += 1;
            }
            found
        };
        let readers = (0..own.len()).map(readers).collect();
        Uses { own, readers }
    }

    fn any(&self, number: usize, ask: impl Fn(&Own<'a>) -> bool) -> bool {
        self.readers[number]
            .iter()
            .any(|unit| ask(&self.own[*unit]))
    }

    /// Whether a hole or a condition reads a variable of a unit.
    fn names(&self, number: usize, name: &str) -> bool {
        self.any(number, |own| own.names.contains(name))
    }

    /// The same, and whether a script reads it by itself.
    pub fn reads(&self, number: usize, name: &str) -> bool {
        if self.names(number, name) {
            return true;
        }
        let spelt = spelt(name);
        self.any(number, |own| own.mentions.contains(&*spelt))
    }

    pub fn unseen(&self, number: usize) -> bool {
        self.any(number, |own| own.unseen)
    }
}

/// A variable that nothing reads, next to one of nearly that name that is read.
pub fn misspelt(survey: &Survey<'_>, report: &mut Report) {
    for (number, unit) in survey.program.units.iter().enumerate() {
        let uses = &survey.uses;
        let own = &uses.own[number];
        let inputs = LazyCell::new(|| {
            let named = unit.inputs.iter().map(|input| (input.name.as_str(), input));
            named.collect::<FxHashMap<&str, &Input>>()
        });
        // Few names are read where many are set, so those are the ones to compare with.
        let read = LazyCell::new(|| {
            let names = inputs.keys().chain(&own.set_names).copied();
            let mut read: Vec<&str> = names.filter(|name| uses.names(number, name)).collect();
            // The order of a set is not one that a message may depend on.
            read.sort_unstable();
            Slips::new(read)
        });
        let mut say = |name: &str, span: Span, near: &str| {
            report.add(
                Diagnostic::new(
                    &codes::MISSPELT_OUTPUT,
                    span,
                    format!("nothing reads `{name}`"),
                )
                .did_you_mean(near)
                .fix(Fix::unsafe_(format!("write `{near}`"), span, near)),
            );
        };
        // One thing and a list of them are two names, unless nothing sets the one that is read.
        let other_number = |name: &str| {
            plurals(name).iter().find_map(|form| {
                let (form, _) = inputs.get_key_value(form.as_str())?;
                let left = uses.names(number, form) && !own.set_names.contains(form);
                left.then_some(*form)
            })
        };
        let last = own.sets.iter().map(|set| set.step).max();
        for Set { bind, step, .. } in own.sets.iter().filter(|set| !set.by_id) {
            let name = bind.name.as_str();
            if uses.reads(number, name) || inputs.contains_key(name) {
                continue;
            }
            let near = read.nearest(name, |_| true);
            // What the last step stores may be for others to read, under any name.
            let near = near.or_else(|| other_number(name).filter(|_| Some(*step) != last));
            if let Some(near) = near {
                say(name, bind.span, near);
            }
        }
        for input in &unit.inputs {
            let name = input.name.as_str();
            let foreign = input.span.source != unit.source;
            if foreign || own.set_names.contains(name) || uses.reads(number, name) {
                continue;
            }
            // Of two that stand next to each other both are meant.
            let beside = |near: &str| {
                let other = inputs.get(near);
                other.is_some_and(|other| other.span.source == unit.source)
            };
            if let Some(near) = read.nearest(name, |near| !beside(near)) {
                say(name, input.span, near);
            }
        }
    }
}

/// An output that nothing reads. What the last step stores is the recipe's result, and what a
/// recipe that others call stores is theirs to read.
pub fn outputs(survey: &Survey<'_>, report: &mut Report) {
    let called = called(survey.program);
    let suggested = suggested(report);
    let misspelt = found_misspelt(report);
    for (number, called) in called.into_iter().enumerate() {
        if called || survey.uses.unseen(number) {
            continue;
        }
        let sets = &survey.uses.own[number].sets;
        let last = sets.iter().map(|set| set.step).max();
        for Set { bind, step, .. } in sets.iter().filter(|set| !set.by_id) {
            let by_itself = Some(*step) == last || survey.uses.reads(number, &bind.name);
            if by_itself || misspelt.contains(&bind.span) {
                continue;
            }
            // Runners show the variable of that name when a recipe is done.
            if suggested.contains(bind.name.as_str()) || bind.name == "final_output" {
                continue;
            }
            let message = format!("nothing reads `{}`", bind.name);
            report.add(
                Diagnostic::new(&codes::UNUSED_OUTPUT, bind.span, message)
                    .help("remove it, unless it is part of what the recipe is run for"),
            );
        }
    }
}

/// Where a variable that nothing reads is said to be misspelt.
fn found_misspelt(report: &Report) -> FxHashSet<Span> {
    let is_slip = |finding: &&Diagnostic| finding.code == &codes::MISSPELT_OUTPUT;
    let misspelt = report.findings.iter().filter(is_slip);
    misspelt.map(|finding| finding.span).collect()
}

/// The names that findings say already were meant elsewhere.
fn suggested(report: &Report) -> FxHashSet<String> {
    let meant = report
        .findings
        .iter()
        .filter_map(|finding| finding.meant.as_deref());
    meant.map(str::to_string).collect()
}

/// A variable of `context` that nothing reads.
pub fn inputs(survey: &Survey<'_>, report: &mut Report) {
    let suggested = suggested(report);
    let misspelt = found_misspelt(report);
    for (number, unit) in survey.program.units.iter().enumerate() {
        if survey.uses.unseen(number) {
            continue;
        }
        for input in &unit.inputs {
            let foreign = input.span.source != unit.source;
            if survey.uses.reads(number, &input.name)
                || foreign
                || misspelt.contains(&input.span)
                || suggested.contains(input.name.as_str())
            {
                continue;
            }
            let message = format!("nothing reads `{}`", input.name);
            report.add(
                Diagnostic::new(&codes::UNUSED_INPUT, input.span, message)
                    .help("remove it, or use it"),
            );
        }
    }
}
