//! `{{x|raw}}`: is the text that becomes shell source known to whoever wrote the file?

use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::{Expr, ExprKind, Node, Step, visit};
use crate::source::Span;
use rustc_hash::FxHashSet;

/// Says which pasted values come from a step, directly or as the items of a loop.
pub fn check(pasted: &[(String, Span)], steps: &[Step], report: &mut Report) {
    if pasted.is_empty() {
        return;
    }
    let outside = outside(steps);
    for (name, span) in pasted {
        if outside.contains(name.as_str()) {
            let message = format!("`{name}` comes from a step, and is pasted into shell text");
            report.add(
                Diagnostic::new(&codes::RAW_VALUE, *span, message).help(format!(
                    "write `{{{{{name}}}}}` for the value, or `{{{{{name}|words}}}}` for its words"
                )),
            );
        }
    }
}

/// The variables that hold, at some time, what a step has given.
fn outside(steps: &[Step]) -> FxHashSet<&str> {
    let mut found: FxHashSet<&str> = FxHashSet::default();
    let mut items: Vec<(&str, &Expr)> = Vec::new();
    for step in steps {
        visit::steps(step, &mut |step| {
            found.extend(step.bind.iter().map(|bind| bind.name.as_str()));
            match &step.node {
                Node::Each(each) => {
                    let binds = each.collect.iter().chain(&each.last);
                    found.extend(binds.map(|bind| bind.name.as_str()));
                    items.push((&each.item.name, &each.over));
                }
                Node::While(body) => {
                    let binds = body.collect.iter().chain(&body.last);
                    found.extend(binds.map(|bind| bind.name.as_str()));
                    for (bind, value) in &body.update {
                        items.push((&bind.name, value));
                    }
                }
                Node::Seq(_) | Node::Par { .. } | Node::Graph(_) | Node::Act(_) => {}
            }
        });
    }
    // What is made of such values is such a value; each round finds at least one more.
    loop {
        let before = found.len();
        for (name, from) in &items {
            let mut reads = false;
            visit::walk(from, &mut |expr| {
                reads |= matches!(&expr.kind, ExprKind::Var { name, .. } if found.contains(name.as_str()));
            });
            if reads {
                found.insert(name);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
