//! Which variables a unit reads, in any way: what nobody reads is a slip or left over.

use super::flow::{What, called, trace};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report, nearest};
use crate::ir::{Bind, Exports, Program, Unit, visit};
use crate::shell::{spelt, stands_for};
use crate::source::Span;
use rustc_hash::FxHashSet;

/// What the steps of a unit read.
#[derive(Default)]
struct Uses<'a> {
    names: FxHashSet<&'a str>,
    /// What scripts name, as environments spell it.
    mentions: FxHashSet<String>,
    /// Every process, or every recipe that is called, may read what it is given unasked.
    unseen: bool,
    /// What steps set, with the step's number.
    sets: Vec<(&'a Bind, usize)>,
    set_names: FxHashSet<&'a str>,
}

impl<'a> Uses<'a> {
    fn new(program: &'a Program, number: usize, seen: &mut Vec<usize>) -> Uses<'a> {
        seen.push(number);
        let unit = &program.units[number];
        let mut uses = Uses::default();
        let mut steps: Vec<&str> = Vec::new();
        for event in trace(unit) {
            if steps.last() != Some(&event.step.id.as_str()) {
                steps.push(&event.step.id);
            }
            match event.what {
                What::Read { name, .. } => {
                    uses.names.insert(name);
                }
                What::Mention { mention, .. } => {
                    if unit.exports == Exports::Everything {
                        uses.mentions.extend(stands_for(&mention.name));
                    }
                }
                What::Set { bind } => {
                    uses.sets.push((bind, steps.len()));
                    uses.set_names.insert(&bind.name);
                }
                What::Item { .. } | What::Leave { .. } => {}
                What::Run { exec } => uses.unseen |= exec.exports == Exports::Everything,
                What::Call { call } if call.inherits => match call.target {
                    Some(target) if !seen.contains(&target) => {
                        let inner = Uses::new(program, target, seen);
                        uses.names.extend(inner.names);
                        uses.mentions.extend(inner.mentions);
                        uses.unseen |= inner.unseen;
                    }
                    Some(_) => {}
                    None => uses.unseen = true,
                },
                What::Call { .. } => {}
            }
        }
        uses
    }

    fn reads(&self, name: &str) -> bool {
        self.names.contains(name) || self.mentions.contains(&spelt(name))
    }
}

/// An output that nothing reads, next to a variable of nearly that name that is read and that no
/// step sets.
pub fn misspelt(program: &Program, report: &mut Report) {
    for (number, unit) in program.units.iter().enumerate() {
        let uses = Uses::new(program, number, &mut Vec::new());
        for (bind, _) in &uses.sets {
            if let Some(near) = meant(unit, &uses, bind) {
                let message = format!("nothing reads `{}`", bind.name);
                report.add(
                    Diagnostic::new(&codes::MISSPELT_OUTPUT, bind.span, message)
                        .help(format!("did you mean `{near}`?"))
                        .fix(Fix::unsafe_(format!("write `{near}`"), bind.span, near)),
                );
            }
        }
    }
}

fn meant<'a>(unit: &'a Unit, uses: &Uses<'_>, bind: &Bind) -> Option<&'a str> {
    if uses.reads(&bind.name) || unit.inputs.iter().any(|input| input.name == bind.name) {
        return None;
    }
    let left = unit
        .inputs
        .iter()
        .map(|input| input.name.as_str())
        .filter(|name| uses.names.contains(name))
        .filter(|name| !uses.set_names.contains(name));
    nearest(&bind.name, left).filter(|near| is_slip(&bind.name, near))
}

/// A letter too many, too few, wrong or swapped. `part1` and `part2`, `file` and `files` are two
/// names, not one and a slip.
fn is_slip(one: &str, other: &str) -> bool {
    let missing = |from: &str, of: &str| {
        let mut rest: Vec<char> = from.chars().collect();
        let found = |c: char, rest: &mut Vec<char>| {
            let at = rest.iter().position(|other| *other == c);
            at.map(|at| rest.swap_remove(at)).is_some()
        };
        of.chars().filter(|c| !found(*c, &mut rest)).count()
    };
    if missing(one, other) > 1 || missing(other, one) > 1 {
        return false;
    }
    let bare = |name: &str| -> String {
        let letters = name.chars().filter(|c| !c.is_ascii_digit());
        letters
            .collect::<String>()
            .trim_end_matches(['s', '_', '-'])
            .to_string()
    };
    one.len().min(other.len()) >= 4 && bare(one) != bare(other)
}

/// An output that nothing reads. What the last step stores is the recipe's result, and what a
/// recipe that others call stores is theirs to read.
pub fn outputs(program: &Program, report: &mut Report) {
    let called = called(program);
    let suggested = suggested(report);
    for (number, unit) in program.units.iter().enumerate() {
        let uses = Uses::new(program, number, &mut Vec::new());
        if called[number] || uses.unseen {
            continue;
        }
        let ids = ids(unit);
        let last = uses.sets.iter().map(|(_, step)| *step).max();
        for (bind, step) in &uses.sets {
            let by_itself = Some(*step) == last || uses.reads(&bind.name);
            if by_itself || meant(unit, &uses, bind).is_some() || ids.contains(&bind.span) {
                continue;
            }
            if suggested.contains(bind.name.as_str()) {
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

/// The ids of all steps, as places: an output that stands there was not named by anyone.
fn ids(unit: &Unit) -> FxHashSet<Span> {
    let mut found = FxHashSet::default();
    for step in &unit.steps {
        visit::steps(step, &mut |step| {
            found.insert(step.span);
        });
    }
    found
}

/// The names that findings say already were meant elsewhere.
fn suggested(report: &Report) -> FxHashSet<String> {
    let helps = report
        .findings
        .iter()
        .filter_map(|finding| finding.help.as_deref());
    helps
        .filter_map(|help| help.strip_prefix("did you mean `")?.strip_suffix("`?"))
        .map(str::to_string)
        .collect()
}

/// A variable of `context` that nothing reads.
pub fn inputs(program: &Program, report: &mut Report) {
    let suggested = suggested(report);
    for (number, unit) in program.units.iter().enumerate() {
        let uses = Uses::new(program, number, &mut Vec::new());
        if uses.unseen {
            continue;
        }
        for input in &unit.inputs {
            let foreign = input.span.source != unit.source;
            if uses.reads(&input.name) || foreign || suggested.contains(input.name.as_str()) {
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
