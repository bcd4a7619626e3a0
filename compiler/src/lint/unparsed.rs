//! A field of what a step prints, where the run goes on although it was not JSON.

use super::Survey;
use super::flow::{Flow, Under, What};
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::{Bind, Expr, ExprKind, Missing, OnFailure, Step, Store, Unit, visit};
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    for (unit, flow) in survey.units() {
        let mut doubtful = doubtful(flow);
        if doubtful.is_empty() {
            continue;
        }
        let fields = fields(unit);
        for event in &flow.events {
            let What::Read { name, span, .. } = event.what else {
                continue;
            };
            let (Some(bind), Some((place, field))) = (doubtful.get(name), fields.get(&span)) else {
                continue;
            };
            let asks = |under: &Under<'_>| match under {
                Under::Holds(condition, _) => asks_for(condition, name),
                Under::Loop(..) | Under::Succeeds(..) => false,
            };
            if event.under.iter().any(asks) {
                continue;
            }
            let message =
                format!("`{name}` is text where its step prints no JSON, and then `{field}` fails");
            report.add(
                Diagnostic::new(&codes::FIELD_OF_TEXT, *place, message)
                    .severity(Severity::Warning)
                    .label(bind.span, "the run goes on when this step fails")
                    .help(format!(
                        "let that step fail, or read it only under a condition such as \
                         `'{field}' in {{{{{name}}}}}`"
                    )),
            );
            // It is the step that is wrong, not all that read what it gives.
            doubtful.remove(name);
        }
    }
}

/// Variables that one step sets, to JSON or, if it fails, to whatever it printed.
fn doubtful<'a>(flow: &Flow<'a>) -> FxHashMap<&'a str, &'a Bind> {
    let is_kept = |step: &Step| {
        matches!(step.store, Store::Json { .. })
            && step.on_failure == (OnFailure::Continue { keep_output: true })
    };
    let mut found = FxHashMap::default();
    for event in flow.events.iter().filter(|event| is_kept(event.step)) {
        let What::Set { bind } = event.what else {
            continue;
        };
        let is_set = |what| matches!(what, What::Set { .. } | What::Item { .. });
        let all = flow.about(&bind.name, 0..flow.events.len());
        let once = all.filter(|event| is_set(event.what)).nth(1).is_none();
        if once && flow.input(&bind.name).is_none() {
            found.insert(bind.name.as_str(), bind);
        }
    }
    found
}

/// Where variables are read for a field, where it is a failure that there is none: the place of the
/// field, and its name.
fn fields(unit: &Unit) -> FxHashMap<Span, (Span, &str)> {
    let mut found = FxHashMap::default();
    for step in &unit.steps {
        visit::steps(step, &mut |step| {
            visit::walk_step(step, &mut |expr| {
                if let ExprKind::Field { of, name, missing } = &expr.kind
                    && matches!(of.kind, ExprKind::Var { .. })
                    && *missing == Missing::Fail
                {
                    found.insert(of.span, (expr.span, name.as_str()));
                }
            });
        });
    }
    found
}

/// Whether a condition looks at a variable, other than at its fields.
fn asks_for(condition: &Expr, name: &str) -> bool {
    let mut whole = FxHashSet::default();
    let mut parts = FxHashSet::default();
    visit::walk(condition, &mut |expr| match &expr.kind {
        ExprKind::Var { name: own, .. } if own == name => {
            whole.insert(expr.span);
        }
        ExprKind::Field { of, .. } | ExprKind::Index { of, .. } => {
            parts.insert(of.span);
        }
        _ => {}
    });
    whole.difference(&parts).next().is_some()
}
