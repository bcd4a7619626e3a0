//! What a call gives a recipe: does the recipe take anything of that name?

use super::Survey;
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report, is_plural, is_slip};
use crate::ir::{Action, Call, ExprKind, Graph, Node, OnFailure, Program, Step, visit};
use crate::schedule;
use crate::spelling::Near;
use rrc_vm::flow::fit;
use rrc_vm::text::kind_word;
use rrc_vm::value::{Map, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use std::slice;

/// Fields of a step that a map below it may have swallowed.
const STEP_FIELDS: [&str; 11] = [
    "output",
    "timeout",
    "on_error",
    "condition",
    "retry",
    "collect",
    "foreach",
    "parse_json",
    "depends_on",
    "continue_on_error",
    "output_exit_code",
];

/// What a recipe takes.
struct Takes<'a> {
    inputs: FxHashSet<&'a str>,
    near: Near<'a>,
}

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    let mut takes: FxHashMap<usize, Takes<'_>> = FxHashMap::default();
    for step in survey.program.units.iter().flat_map(|unit| &unit.steps) {
        visit::calls(step, &mut |call| {
            if let Some(target) = call.target.filter(|_| !call.context.is_empty()) {
                let takes = takes.entry(target).or_insert_with(|| {
                    let inputs = survey.program.units[target].inputs.iter();
                    let inputs = inputs.map(|input| input.name.as_str());
                    Takes {
                        inputs: inputs.clone().collect(),
                        near: inputs.collect(),
                    }
                });
                check_call(survey, call, target, takes, report);
            }
        });
    }
}

fn check_call(
    survey: &Survey<'_>,
    call: &Call,
    target: usize,
    takes: &Takes<'_>,
    report: &mut Report,
) {
    let recipe = &survey.program.units[target];
    let given = call.context.iter().map(|(name, _)| name.as_str());
    let given: FxHashSet<&str> = given.collect();
    for ((name, _), span) in call.context.iter().zip(&call.names) {
        if takes.inputs.contains(name.as_str()) || survey.uses.reads(target, name) {
            continue;
        }
        if STEP_FIELDS.contains(&name.as_str()) {
            let message = format!("`{}` takes no `{name}`; steps do", recipe.name);
            report.add(
                Diagnostic::new(&codes::MISSPELT_INPUT, *span, message)
                    .help("if it is meant for the step, begin it in the column of `context`"),
            );
            continue;
        }
        // Where a process may read what it is given unasked, only a slip is told from a wish.
        let unseen = survey.uses.unseen(target);
        let slip = |near: &str| is_slip(name, near) || is_plural(name, near);
        let near = takes.near.nearest(name, |input| !given.contains(input));
        let near = near.filter(|near| !unseen || slip(near));
        if let Some(near) = near {
            let message = format!("`{}` takes no `{name}`", recipe.name);
            report.add(
                Diagnostic::new(&codes::MISSPELT_INPUT, *span, message)
                    .did_you_mean(near)
                    .fix(Fix::rename(name, near, *span)),
            );
        }
    }
}

/// What a run is given for its loops to go over, and for its templates. A step that sets the variable may
/// set it right.
pub fn values(program: &Program, given: &Map, report: &mut Report) {
    let Some(unit) = program.units.first() else {
        return;
    };
    let changed = schedule::changed_by_all(program, &unit.steps);
    if changed.others {
        return;
    }
    let mut set: Vec<&str> = changed.names.iter().map(String::as_str).collect();
    for step in &unit.steps {
        visit::steps(step, &mut |step| {
            if let Node::Each(each) = &step.node {
                set.push(&each.item.name);
            }
        });
    }
    let mut calls = false;
    for step in &unit.steps {
        visit::calls(step, &mut |call| calls |= call.spreads);
    }
    let hidden = |name: &str| unit.secrets.iter().any(|secret| secret == name);
    let mut steps = Vec::new();
    certain(&unit.steps, &mut steps);
    let flows = steps.iter().filter_map(|step| match &step.node {
        Node::Act(action) => match &**action {
            Action::Flow(flow) => Some(flow),
            _ => None,
        },
        _ => None,
    });
    // A template by itself judges its own values.
    for flow in flows.filter(|_| unit.result.is_none() && !calls) {
        for declared in &flow.declared {
            let name = declared.name.as_str();
            let free = |name: &str| !set.contains(&name) && !hidden(name);
            let Some(value) = given.get(name).filter(|_| free(name)) else {
                continue;
            };
            if let Err((_, message)) = fit(value.clone(), &declared.wanted().value()) {
                report.add(
                    Diagnostic::new(&codes::REFUSED_VALUES, declared.span, message)
                        .help(format!("give `{name}` another value with `--set`")),
                );
            }
        }
    }
    for step in steps {
        let Node::Each(each) = &step.node else {
            continue;
        };
        let ExprKind::Var { name, .. } = &each.over.kind else {
            continue;
        };
        let Some(value) = given.get(name.as_str()).filter(|_| !set.contains(&&**name)) else {
            continue;
        };
        let span = each.over.span;
        match value {
            Value::List(items)
                if each.limit_from.is_none() && items.len() > each.limit as usize =>
            {
                let message = format!(
                    "`{name}` is given {} items, and `max_iterations` is {}",
                    items.len(),
                    each.limit
                );
                report.add(
                    Diagnostic::new(&codes::TOO_MANY_ITEMS, span, message)
                        .help("give it fewer, or set `max_iterations` on the step"),
                );
            }
            Value::List(_) => {}
            other => {
                let message = format!("`{name}` is given {}, not a list", kind_word(other));
                report.add(
                    Diagnostic::new(&codes::NOT_A_LIST, span, message)
                        .help(format!("give it a list: `--set '{name}=[\"a\", \"b\"]'`")),
                );
            }
        }
    }
}

/// What is given to a recipe that does not declare it reaches nothing, and was meant to.
pub fn undeclared(program: &Program, given: &Map, report: &mut Report) {
    let Some(unit) = program.units.first() else {
        return;
    };
    let undefined = |finding: &&mut Diagnostic| {
        finding.code == &codes::UNDEFINED_VARIABLE
            && finding.span.source == unit.source
            // What is said of the place of a name says more.
            && finding.meant.is_none()
            && finding.labels.is_empty()
    };
    for finding in report.findings.iter_mut().filter(undefined) {
        let name = finding.about.first();
        if let Some(name) = name.filter(|name| given.contains_key(&***name)) {
            finding.help = Some(format!(
                "a value is given for `{name}`, but the recipe does not declare it: add \
                 `{name}: \"\"` under `context`"
            ));
        }
    }
}

/// The steps that a run certainly comes to, and that fail it if they fail. Whether what follows is certain too.
fn certain<'a>(steps: &'a [Step], found: &mut Vec<&'a Step>) -> bool {
    steps.iter().all(|step| {
        if step.guard.is_none() && step.on_failure == OnFailure::Stop {
            found.push(step);
            match &step.node {
                Node::Seq(steps) | Node::Graph(Graph { steps, .. }) => {
                    return certain(steps, found);
                }
                Node::Par { branches, .. } => {
                    for branch in branches {
                        certain(slice::from_ref(branch), found);
                    }
                }
                // There may be no turn.
                Node::Each(_) | Node::While(_) | Node::Act(_) => {}
            }
        }
        !visit::may_end(step)
    })
}
