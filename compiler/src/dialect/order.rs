//! `depends_on`: steps run in the order of the file, so what a step depends on stands before it.

use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::doc::{Node, Text};
use crate::source::Span;
use crate::spelling::Near;
use rustc_hash::FxHashMap;
use std::cell::LazyCell;

/// Looks at every `depends_on` of a recipe, wherever its steps stand. Of one that extends another,
/// gives the names that must be the other's steps.
pub fn check(recipe: Node<'_>, report: &mut Report) -> Vec<(String, Span)> {
    let extends = recipe.get("extends").is_some();
    let mut others = Vec::new();
    let mut steps = Vec::new();
    collect(recipe, &mut steps);
    if steps
        .iter()
        .all(|step| step.node.get("depends_on").is_none())
    {
        return others;
    }
    let mut ids: FxHashMap<&str, (usize, Text<'_>)> = FxHashMap::default();
    for (number, step) in steps.iter().enumerate() {
        if let Some(id) = step.node.get("id").and_then(|id| id.text()) {
            ids.entry(id.text()).or_insert((number, id));
        }
    }
    // The step that is meant may be one whose name could not be read.
    let complete = steps.iter().all(|step| !step.node.partial);
    let near: LazyCell<Near<'_>, _> = LazyCell::new(|| ids.keys().copied().collect());
    // Of each step, the first of the neighbours that make a group with it.
    let mut firsts: Vec<usize> = Vec::with_capacity(steps.len());
    for (number, step) in steps.iter().enumerate() {
        let own = group(step.node);
        let before = step.before.filter(|at| group(steps[*at].node) == own);
        let first = before.map_or(number, |at| firsts[at]);
        firsts.push(first);
        let Some(node) = step.node.get("depends_on") else {
            continue;
        };
        // What is no list has been said where the types of fields are checked.
        let names = node.list().unwrap_or_default();
        for name in names.iter().filter_map(|name| name.text()) {
            let finding = |message| Diagnostic::new(&codes::UNKNOWN_STEP, name.inner(), message);
            match ids.get(name.text()) {
                Some((at, id)) if *at < number && number < steps[*at].end => report.add(
                    finding(format!(
                        "the step `{}` holds this one, and ends after it",
                        name.text()
                    ))
                    .label(id.inner(), "it begins here")
                    .help("remove it from the list"),
                ),
                Some((at, id)) if *at < number => {
                    // Neighbours make a group; with another step between them there are two.
                    if let Some(group) = own.filter(|_| *at >= first) {
                        let message = format!(
                            "the step `{}` runs at the same time as this one",
                            name.text()
                        );
                        report.add(
                            finding(message)
                                .label(id.inner(), format!("it is in the group `{group}` too"))
                                .help("take this step out of the group, to run after it"),
                        );
                    }
                }
                Some((at, _)) if *at == number => report.add(
                    finding(format!("the step `{}` depends on itself", name.text()))
                        .help("remove it from the list"),
                ),
                Some((_, id)) => report.add(
                    finding(format!("the step `{}` comes later", name.text()))
                        .label(id.inner(), "it stands here")
                        .help("steps run in the order of the file: move it before this one"),
                ),
                None if !complete => {}
                None if extends => others.push((name.text().to_string(), name.inner())),
                None => {
                    report.add(unknown_step(name.text(), name.inner(), &near));
                }
            }
        }
    }
    others
}

/// There is no such step among these.
pub fn unknown_step(name: &str, span: Span, known: &Near<'_>) -> Diagnostic {
    let message = format!("there is no step `{name}`");
    let finding = Diagnostic::new(&codes::UNKNOWN_STEP, span, message);
    match known.nearest(name, |_| true) {
        Some(near) => finding
            .did_you_mean(near)
            .fix(Fix::rename(name, near, span)),
        None => finding.help("name the `id` of a step before this one"),
    }
}

/// The group of steps that run at once, if a step is in one.
fn group<'a>(step: Node<'a>) -> Option<&'a str> {
    let group = step.get("parallel_group")?.text()?;
    Some(group.text())
}

/// Every step below these that names others before it, and those.
pub fn named(items: &[Node<'_>]) -> Vec<(String, String)> {
    let mut steps = Vec::new();
    for item in items {
        add(*item, None, &mut steps);
    }
    let mut named = Vec::new();
    for Placed { node: step, .. } in steps {
        let Some(id) = step.get("id").and_then(|id| id.text()) else {
            continue;
        };
        let others = step.get("depends_on").and_then(|others| others.list());
        for other in others.unwrap_or_default() {
            if let Some(other) = other.text() {
                named.push((id.text().to_string(), other.text().to_string()));
            }
        }
    }
    named
}

/// A step among all that a recipe has.
struct Placed<'a> {
    node: Node<'a>,
    /// The one before it in the same list.
    before: Option<usize>,
    /// The number behind those that it holds.
    end: usize,
}

/// All steps below a recipe, a stage or a loop, in the order of the file.
fn collect<'a>(map: Node<'a>, steps: &mut Vec<Placed<'a>>) {
    let list = |name: &str| {
        map.get(name)
            .and_then(|list| list.list())
            .unwrap_or_default()
    };
    for stage in list("stages") {
        collect(*stage, steps);
    }
    let mut before = None;
    for step in list("steps").iter().chain(list("while_steps")) {
        before = Some(add(*step, before, steps));
    }
}

/// A step and all that it holds; gives its number.
fn add<'a>(node: Node<'a>, before: Option<usize>, steps: &mut Vec<Placed<'a>>) -> usize {
    let number = steps.len();
    let end = number + 1;
    steps.push(Placed { node, before, end });
    collect(node, steps);
    steps[number].end = steps.len();
    number
}
