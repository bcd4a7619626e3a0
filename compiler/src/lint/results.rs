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
    for (unit, flow) in survey.units() {
        let results = results(unit, flow);
        if results.values().all(Option::is_none) {
            continue;
        }
        let mut known: FxHashMap<usize, Known<'_>> = FxHashMap::default();
        let mut check = |expr: &Expr| {
            let ExprKind::Field { of, name, missing } = &expr.kind else {
                return;
            };
            let ExprKind::Var { name: whole, .. } = &of.kind else {
                return;
            };
            let Some(Some(call)) = results.get(whole.as_str()) else {
                return;
            };
            let Some(target) = call.target else { return };
            let fields = &links.sets[target];
            if links.open[target] || fields.contains(name.as_str()) {
                return;
            }
            let recipe = &survey.program.units[target].name;
            let severity = match missing {
                Missing::Fail => Severity::Error,
                Missing::Null => Severity::Warning,
            };
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
                    .help(format!("did you mean `{near}`?"))
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

/// Variables that hold the result of one call and nothing else.
fn results<'a>(unit: &'a Unit, flow: &Flow<'a>) -> FxHashMap<&'a str, Option<&'a Call>> {
    let mut found: FxHashMap<&str, Option<&Call>> = FxHashMap::default();
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
