//! Fields of what a recipe gave back: does the recipe set them at all?

use super::flow::{Flow, What};
use super::{Survey, words};
use crate::codes;
use crate::codes::Severity;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::ir::visit;
use crate::ir::{Action, Call, Expr, ExprKind, Missing, Node, Unit};
use crate::spelling::Near;
use rustc_hash::FxHashMap;

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    let links = survey.links;
    let results: Vec<_> = survey
        .units()
        .map(|(unit, flow)| results(unit, flow))
        .collect();
    for (number, (unit, _)) in survey.units().enumerate() {
        if results[number].values().all(Option::is_none) {
            continue;
        }
        let mut known: FxHashMap<usize, Known<'_>> = FxHashMap::default();
        let mut check = |expr: &Expr| {
            let ExprKind::Field { of, name, missing } = &expr.kind else {
                return;
            };
            let Some((whole, call)) = source(of, number, &results) else {
                return;
            };
            let Some(target) = call.target else { return };
            let fields = &links.sets[target];
            let recipe = &survey.program.units[target].name;
            let severity = match missing {
                Missing::Fail => Severity::Error,
                Missing::Null => Severity::Warning,
            };
            let passed = call.context.iter().position(|(passed, _)| passed == name);
            if let Some(passed) = passed.and_then(|at| call.names.get(at)) {
                let message = format!("`{recipe}` does not give `{name}` back, which it was given");
                report.add(
                    Diagnostic::new(&codes::UNKNOWN_RESULT, expr.span, message)
                        .severity(severity)
                        .label(*passed, "it is passed in here")
                        .help("read it where its value comes from"),
                );
                return;
            }
            if links.open[target] || fields.contains(name.as_str()) {
                return;
            }
            let message = format!("`{recipe}` sets no `{name}`");
            let finding = Diagnostic::new(&codes::UNKNOWN_RESULT, expr.span, message)
                .severity(severity)
                .label(
                    call.recipe.span,
                    format!("`{whole}` is what this recipe set"),
                );
            let known = known.entry(target).or_insert_with(|| {
                let mut names: Vec<&str> = fields.iter().copied().collect();
                names.sort_unstable();
                Known {
                    near: names.iter().copied().collect(),
                    list: words::list(&names),
                }
            });
            report.add(match known.near.nearest(name, |_| true) {
                Some(near) => finding
                    .did_you_mean(near)
                    .fix(Fix::rename(name, near, expr.span)),
                None if fields.is_empty() => finding.help("the recipe sets no variables"),
                None => finding.help(format!("it sets {}", known.list)),
            });
        };
        for step in &unit.steps {
            visit::steps(step, &mut |step| visit::walk_step(step, &mut check));
        }
    }
}

/// What a recipe sets, to suggest one of it or to list it.
struct Known<'a> {
    near: Near<'a>,
    list: String,
}

/// Variables that hold the result of one call and nothing else; none: they hold other things as well.
type Results<'a> = FxHashMap<&'a str, Option<&'a Call>>;

/// The call that an expression is the result of, maybe in a recipe that was called, and the variable
/// that holds it there.
fn source<'a>(expr: &'a Expr, unit: usize, results: &[Results<'a>]) -> Option<(&'a str, &'a Call)> {
    let (unit, name) = match &expr.kind {
        ExprKind::Var { name, .. } => (unit, name),
        ExprKind::Field { of, name, .. } => (source(of, unit, results)?.1.target?, name),
        _ => return None,
    };
    let (name, call) = results[unit].get_key_value(name.as_str())?;
    Some((name, (*call)?))
}

fn results<'a>(unit: &'a Unit, flow: &Flow<'a>) -> Results<'a> {
    let mut found: FxHashMap<&str, Option<&Call>> = FxHashMap::default();
    found.reserve(unit.inputs.len() + unit.steps.len());
    for input in &unit.inputs {
        found.insert(&input.name, None);
    }
    for event in &flow.events {
        match event.what {
            What::Set { bind } => {
                let call = match &event.step.node {
                    Node::Act(action) => match &**action {
                        Action::Call(call) => Some(call),
                        _ => None,
                    },
                    _ => None,
                };
                let entry = found.entry(&bind.name).or_insert(call);
                if entry.map(|known| known.recipe.span) != call.map(|call| call.recipe.span) {
                    *entry = None;
                }
            }
            What::Item { bind } => {
                found.insert(&bind.name, None);
            }
            _ => {}
        }
    }
    found
}
