//! A field of what a step prints, where the run goes on although it was not JSON.

use super::Survey;
use super::flow::{Flow, What};
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::{Bind, Expr, ExprKind, Missing, OnFailure, Step, Store, visit};
use rustc_hash::{FxHashMap, FxHashSet};

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    for (unit, flow) in survey.units() {
        let mut doubtful = doubtful(flow);
        for step in &unit.steps {
            if doubtful.is_empty() {
                break;
            }
            let outer = asked(step);
            visit::steps(step, &mut |step| {
                let own = asked(step);
                visit::walk_step(step, &mut |expr| {
                    let Some((whole, field)) = field(expr) else {
                        return;
                    };
                    let is_asked = |other: &&str| outer.contains(other) || own.contains(other);
                    let Some((bind, beside)) = doubtful.get(whole) else {
                        return;
                    };
                    if is_asked(&whole) || beside.iter().any(is_asked) {
                        return;
                    }
                    let message = format!(
                        "`{whole}` is text where its step prints no JSON, and then `{field}` fails"
                    );
                    report.add(
                        Diagnostic::new(&codes::FIELD_OF_TEXT, expr.span, message)
                            .severity(Severity::Warning)
                            .label(bind.span, "the run goes on when this step fails")
                            .help("let that step fail, or ask first whether it went well"),
                    );
                    // It is the step that is wrong, not all that read what it gives.
                    doubtful.remove(whole);
                });
            });
        }
    }
}

/// A field of a variable, where it is a failure that there is none.
fn field(expr: &Expr) -> Option<(&str, &str)> {
    let ExprKind::Field { of, name, missing } = &expr.kind else {
        return None;
    };
    match &of.kind {
        ExprKind::Var { name: whole, .. } if *missing == Missing::Fail => Some((whole, name)),
        _ => None,
    }
}

/// Variables that one step sets, to JSON or, if it fails, to whatever it printed; with what else that
/// step sets.
fn doubtful<'a>(flow: &Flow<'a>) -> FxHashMap<&'a str, (&'a Bind, Vec<&'a str>)> {
    let mut found: FxHashMap<&str, (&Bind, Vec<&str>)> = FxHashMap::default();
    let is_kept = |step: &Step| {
        matches!(step.store, Store::Json { .. })
            && step.on_failure == (OnFailure::Continue { keep_output: true })
    };
    let mut sets: FxHashMap<*const Step, Vec<&Bind>> = FxHashMap::default();
    for event in flow.events.iter().filter(|event| is_kept(event.step)) {
        if let What::Set { bind } = event.what {
            sets.entry(event.step).or_default().push(bind);
        }
    }
    for binds in sets.values() {
        for bind in binds {
            let is_set = |what| matches!(what, What::Set { .. } | What::Item { .. });
            let all = flow.about(&bind.name, 0..flow.events.len());
            let once = all.filter(|event| is_set(event.what)).nth(1).is_none();
            if once && flow.input(&bind.name).is_none() {
                let others = binds.iter().filter(|other| other.name != bind.name);
                let others = others.map(|other| other.name.as_str()).collect();
                found.insert(&bind.name, (bind, others));
            }
        }
    }
    found
}

/// The variables that the condition of a step looks at, other than at their fields.
fn asked(step: &Step) -> FxHashSet<&str> {
    let mut whole = FxHashSet::default();
    let mut fields = FxHashSet::default();
    if let Some(guard) = &step.guard {
        visit::walk(&guard.expr, &mut |expr| match &expr.kind {
            ExprKind::Var { name, .. } => {
                whole.insert((name.as_str(), expr.span));
            }
            ExprKind::Field { of, .. } | ExprKind::Index { of, .. } => {
                fields.insert(of.span);
            }
            _ => {}
        });
    }
    let alone = whole.into_iter().filter(|(_, span)| !fields.contains(span));
    alone.map(|(name, _)| name).collect()
}
