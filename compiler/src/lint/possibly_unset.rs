//! Is there a way through the recipe on which nothing has set what is read?
//!
//! Asks only about reads that fail when there is nothing, and about scripts that stop at unset
//! variables. A name that nothing sets at all is the business of `resolve`.

use super::Survey;
use super::environment::Held;
use super::flow::{Event, Flow, Under, What, is_met, known, spelt, stands_for};
use super::known::{Known, compared};
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::{Exports, Expr, ExprKind, Missing, Unit, visit};
use crate::resolve::Links;
use crate::shell::Mentioned;
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::LazyCell;

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    // Where it has been said that a name means nothing at all.
    let undefined: FxHashSet<Span> = report
        .findings
        .iter()
        .filter(|finding| finding.code == &codes::UNDEFINED_VARIABLE)
        .map(|finding| finding.span)
        .collect();
    for (number, flow) in survey.flows.iter().enumerate() {
        let mut said: FxHashSet<&str> = FxHashSet::default();
        // What is there where no condition holds, until something happens to it.
        let mut there: FxHashSet<&str> = FxHashSet::default();
        for (at, event) in flow.events.iter().enumerate() {
            if let What::Set { bind } | What::Item { bind } | What::Leave { bind } = event.what
                && !there.is_empty()
            {
                there.remove(bind.name.as_str());
            }
            let What::Read {
                name,
                span,
                missing: Missing::Fail,
            } = event.what
            else {
                continue;
            };
            if said.contains(name) {
                continue;
            }
            let question = Question::new(survey, number, at);
            let alone = question.under.is_empty();
            if alone && there.contains(name) {
                continue;
            }
            match question.doubt(name) {
                Some(doubt) if !undefined.contains(&span) => {
                    said.insert(name);
                    report.add(unset(name, span, &doubt));
                }
                None if alone => {
                    there.insert(name);
                }
                _ => {}
            }
        }
    }
}

pub fn check_scripts(survey: &Survey<'_>, report: &mut Report) {
    let mut held = Held::default();
    for (number, (unit, flow)) in survey.units().enumerate() {
        if unit.exports == Exports::Nothing {
            continue;
        }
        let names = LazyCell::new(|| {
            let mut names: FxHashMap<Cow<'_, str>, SmallVec<[&str; 1]>> = FxHashMap::default();
            for event in &flow.events {
                if let What::Set { bind } = event.what {
                    let same = names.entry(spelt(&bind.name)).or_default();
                    if !same.contains(&bind.name.as_str()) {
                        same.push(&bind.name);
                    }
                }
            }
            names
        });
        for (at, event) in flow.events.iter().enumerate() {
            let What::Mention { mention, script } = event.what else {
                continue;
            };
            if !script.nounset || mention.how != Mentioned::Expanded {
                continue;
            }
            // Both `a-b` and `a_b` may be meant; if one of them is there, all is well.
            let mut meant: Vec<&str> = Vec::new();
            stands_for(&mention.name, |name| {
                meant.extend(names.get(name).into_iter().flatten());
                false
            });
            if meant.is_empty() {
                continue;
            }
            let own = held.names(script, &[], |how| how != Mentioned::Expanded);
            if own.contains(mention.name.as_str()) {
                continue;
            }
            let question = Question::new(survey, number, at);
            let doubts: Vec<(&str, Option<Doubt<'_>>)> = meant
                .iter()
                .filter(|name| flow.about(name, 0..at).any(is_set))
                .map(|name| (*name, question.doubt(name)))
                .collect();
            if let [(name, Some(doubt))] = doubts.as_slice() {
                report.add(unset_in_script(name, &mention.name, mention.span, doubt));
            }
        }
    }
}

fn is_set(event: &Event<'_>) -> bool {
    matches!(event.what, What::Set { .. })
}

/// Where a variable is set, and what that depends on.
struct Doubt<'a> {
    set: Span,
    on: Under<'a>,
}

struct Question<'e, 'a> {
    unit: &'a Unit,
    number: usize,
    links: &'e Links<'a>,
    flow: &'e Flow<'a>,
    /// How far the unit has come.
    at: usize,
    /// What holds here.
    under: &'e [Under<'a>],
}

impl<'e, 'a> Question<'e, 'a> {
    /// What is asked at one event of a unit.
    fn new(survey: &'e Survey<'a>, number: usize, at: usize) -> Question<'e, 'a> {
        let flow = &survey.flows[number];
        Question {
            unit: &survey.program.units[number],
            number,
            links: survey.links,
            flow,
            at,
            under: &flow.events[at].under,
        }
    }

    fn setters(&self, name: &str) -> Vec<(&Event<'a>, Span)> {
        self.flow
            .about(name, 0..self.at)
            .filter_map(|event| match event.what {
                What::Set { bind } => Some((event, bind.span)),
                _ => None,
            })
            .collect()
    }

    /// Whether a step has set it that always runs.
    fn is_always_set(&self, name: &str) -> bool {
        let mut before = self.flow.about(name, 0..self.at);
        before.any(|event| is_set(event) && event.under.is_empty())
    }

    fn doubt(&self, name: &str) -> Option<Doubt<'a>> {
        let always = self.flow.input(name).is_some()
            || self.unit.reserved.contains(&name)
            || self.unit.given.contains(&name)
            || self.links.given[self.number].contains(name);
        if always || self.is_always_set(name) || self.inside_its_loop(name) {
            return None;
        }
        let setters = self.setters(name);
        if setters.is_empty() {
            return None;
        }
        let known = self.closure();
        let mut open: Vec<(Vec<Under<'a>>, Span)> = Vec::new();
        for (event, span) in setters {
            let rest: Vec<Under<'a>> = event
                .under
                .iter()
                .filter(|condition| !is_met(condition, self.under, &known))
                .copied()
                .collect();
            if rest.is_empty() {
                return None;
            }
            open.push((rest, span));
        }
        if one_of_them_runs(&open, &known) || self.may_come_from_a_call(name) {
            return None;
        }
        let (rest, set) = open.into_iter().next_back()?;
        Some(Doubt { set, on: rest[0] })
    }

    fn inside_its_loop(&self, name: &str) -> bool {
        let mut depth = 0usize;
        for event in self.flow.about(name, 0..self.at) {
            match event.what {
                What::Item { .. } => depth += 1,
                What::Leave { .. } => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        depth > 0
    }

    /// A recipe that gives all its variables back may have set it.
    fn may_come_from_a_call(&self, name: &str) -> bool {
        let calls = self.flow.spreads.iter().take_while(|at| **at < self.at);
        calls
            .filter_map(|at| match self.flow.events[*at].what {
                What::Call { call } => Some(call.target),
                _ => None,
            })
            .any(|target| {
                target.is_none_or(|target| {
                    self.links.open[target] || self.links.sets[target].contains(name)
                })
            })
    }

    /// What holds here, and what follows from that: a condition that could be asked at all has
    /// found its variables set.
    fn closure(&self) -> Known {
        let mut all = known(self.under);
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut names: Vec<&str> = Vec::new();
        let asked = |under: &[Under<'a>], names: &mut Vec<&'a str>| {
            for condition in under {
                if let Under::Holds(expr, holds) = condition {
                    evaluated(expr, *holds, names);
                }
            }
        };
        asked(self.under, &mut names);
        while let Some(name) = names.pop() {
            if !seen.insert(name) {
                continue;
            }
            if let [(event, _)] = self.setters(name).as_slice() {
                for condition in &*event.under {
                    if let Under::Holds(expr, holds) = condition {
                        all.add(expr, *holds);
                    }
                }
                asked(&event.under, &mut names);
            }
        }
        all
    }
}

/// The variables that must have been there for a condition to come out as it did.
fn evaluated<'a>(expr: &'a Expr, holds: bool, names: &mut Vec<&'a str>) {
    match &expr.kind {
        ExprKind::And { left, right, .. } => {
            evaluated(left, holds, names);
            if holds {
                evaluated(right, holds, names);
            }
        }
        ExprKind::Or { left, right, .. } => {
            evaluated(left, holds, names);
            if !holds {
                evaluated(right, holds, names);
            }
        }
        ExprKind::Not { of, .. } => evaluated(of, !holds, names),
        ExprKind::Truth { of, .. } => evaluated(of, holds, names),
        _ => visit::walk(expr, &mut |part| {
            if let ExprKind::Var {
                name,
                missing: Missing::Fail,
            } = &part.kind
            {
                names.push(name);
            }
        }),
    }
}

/// Whether steps with different conditions cover all cases between them: one and its opposite, or
/// a choice between values of the same variable, which is taken to be complete.
fn one_of_them_runs(open: &[(Vec<Under<'_>>, Span)], known: &Known) -> bool {
    if open.len() < 2 {
        return false;
    }
    let single: Vec<(&Expr, bool)> = open
        .iter()
        .filter_map(|(rest, _)| match rest.as_slice() {
            [Under::Holds(expr, holds)] => Some((*expr, *holds)),
            _ => None,
        })
        .collect();
    single.iter().enumerate().any(|(at, (expr, holds))| {
        let mut without = known.clone();
        without.add(expr, !holds);
        single[at + 1..].iter().any(|(other, other_holds)| {
            without.implies(other, *other_holds)
                || (*holds
                    && *other_holds
                    && compared(expr)
                        .is_some_and(|left| compared(other).is_some_and(|right| left == right)))
        })
    })
}

fn unset(name: &str, span: Span, doubt: &Doubt<'_>) -> Diagnostic {
    let message = format!("`{name}` may not be set here");
    let finding = Diagnostic::new(&codes::POSSIBLY_UNSET, span, message);
    explain(finding, name, doubt).help(match doubt.on {
        Under::Holds(..) => {
            format!("give `{name}` a default under `context`, or this step the same condition")
        }
        Under::Loop(..) | Under::Succeeds(..) => {
            format!("give `{name}` a default under `context`")
        }
    })
}

fn unset_in_script(name: &str, shell: &str, span: Span, doubt: &Doubt<'_>) -> Diagnostic {
    let message = format!("the script stops here if `{name}` is not set");
    let finding = Diagnostic::new(&codes::UNSET_IN_SCRIPT, span, message);
    explain(finding, name, doubt).help(format!(
        "write `${{{shell}:-}}`, or give `{name}` a default under `context`"
    ))
}

fn explain(finding: Diagnostic, name: &str, doubt: &Doubt<'_>) -> Diagnostic {
    let set = format!("`{name}` is set here");
    match doubt.on {
        Under::Holds(expr, true) => finding
            .label(doubt.set, set)
            .label(expr.span, "only if this holds"),
        Under::Holds(expr, false) => finding
            .label(doubt.set, set)
            .label(expr.span, "only if this does not hold"),
        Under::Loop(_, span) => finding
            .label(doubt.set, set)
            .label(span, "only if the loop runs at least once"),
        Under::Succeeds(_, span) if span == doubt.set => finding.label(
            doubt.set,
            format!("`{name}` is set here, unless the step fails"),
        ),
        Under::Succeeds(_, span) => finding
            .label(doubt.set, set)
            .label(span, "unless this step fails"),
    }
}
