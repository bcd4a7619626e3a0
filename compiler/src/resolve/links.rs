//! What recipes pass on to each other when they call each other.

use super::binds;
use crate::ir::{Action, Call, Check, Node, Program, Step, visit};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

/// Names in the order in which they were found, so that one can ask for the new ones.
pub type Names<'a> = IndexSet<&'a str, FxBuildHasher>;

/// What units can know of each other's variables.
pub struct Links<'a> {
    /// What each unit may have set when it is done, calls included.
    pub sets: Vec<Names<'a>>,
    /// What callers may give each unit.
    pub given: Vec<Names<'a>>,
    /// What units ask for by rules: whoever starts them gives it, and they pass it on.
    pub asked: Vec<Names<'a>>,
    /// Units that are not known as a whole, such as those that call recipes nobody knows yet: they
    /// may set anything.
    pub open: Vec<bool>,
}

impl<'a> Links<'a> {
    pub fn new(program: &'a Program) -> Links<'a> {
        let count = program.units.len();
        let mut links = Links {
            sets: vec![Names::default(); count],
            given: vec![Names::default(); count],
            asked: vec![Names::default(); count],
            open: vec![false; count],
        };
        let mut calls: Vec<(usize, &'a Call)> = Vec::new();
        for (number, unit) in program.units.iter().enumerate() {
            links.open[number] = unit.open;
            let sets = &mut links.sets[number];
            sets.extend(unit.inputs.iter().map(|input| input.name.as_str()));
            let asked = &mut links.asked[number];
            asked.extend(unit.optional.iter().map(|(name, _)| name.as_str()));
            for step in &unit.steps {
                visit::steps(step, &mut |step| {
                    asked.extend(rules(step));
                    sets.extend(binds(step).map(|bind| bind.name.as_str()));
                    if let Node::Each(each) = &step.node {
                        sets.insert(&each.item.name);
                    }
                });
                visit::calls(step, &mut |call| calls.push((number, call)));
            }
        }
        for (caller, call) in &calls {
            links.open[*caller] |= call.spreads && call.target.is_none();
        }
        // Sets only grow and are bounded by the names of the program, so this comes to rest.
        let mut seen = vec![None; calls.len()];
        while links.grow(&calls, &mut seen) {}
        links
    }

    /// Lets every call pass on what is known by now. `seen` is how much was known when each of
    /// them last did: only what came after that is new.
    fn grow(&mut self, calls: &[(usize, &'a Call)], seen: &mut [Option<[usize; 4]>]) -> bool {
        let mut grown = false;
        for ((caller, call), seen) in calls.iter().zip(seen) {
            let Some(target) = call.target else { continue };
            if call.spreads && self.open[target] && !self.open[*caller] {
                self.open[*caller] = true;
                grown = true;
            }
            let before = self.sizes(*caller, target);
            let last = seen.replace(before);
            if last == Some(before) {
                continue;
            }
            let old = last.unwrap_or_default();
            let passed = call.context.iter().filter(|_| last.is_none());
            let passed = passed.map(|(name, _)| name.as_str());
            // Taken out of its place, so that the others can be looked at.
            let mut given = std::mem::take(&mut self.given[target]);
            absorb(&mut given, passed.clone());
            if call.inherits {
                let first = last.is_none();
                let asked = self.asked[*caller].iter().filter(|_| first).copied();
                absorb(&mut given, asked);
                absorb(&mut given, new(&self.given[*caller], old[0]));
                absorb(&mut given, new(&self.sets[*caller], old[1]));
            }
            self.given[target] = given;
            if call.spreads {
                let mut sets = std::mem::take(&mut self.sets[*caller]);
                absorb(&mut sets, passed);
                if call.inherits {
                    absorb(&mut sets, new(&self.given[*caller], old[0]));
                }
                absorb(&mut sets, new(&self.sets[target], old[3]));
                self.sets[*caller] = sets;
            }
            grown |= self.sizes(*caller, target) != before;
        }
        grown
    }

    fn sizes(&self, caller: usize, target: usize) -> [usize; 4] {
        [
            self.given[caller].len(),
            self.sets[caller].len(),
            self.given[target].len(),
            self.sets[target].len(),
        ]
    }
}

/// The variables that a step holds against rules.
fn rules(step: &Step) -> impl Iterator<Item = &str> {
    let checks: &[Check] = match &step.node {
        Node::Act(action) => match &**action {
            Action::Validate(checks) => checks,
            _ => &[],
        },
        _ => &[],
    };
    checks.iter().map(|check| check.name.as_str())
}

/// The names that came after so many others.
fn new<'a>(names: &Names<'a>, after: usize) -> impl Iterator<Item = &'a str> {
    names.iter().skip(after).copied()
}

/// Adds names to a set that has most of them: `extend` would make room for all.
fn absorb<'a>(set: &mut Names<'a>, names: impl Iterator<Item = &'a str>) {
    for name in names {
        set.insert(name);
    }
}
