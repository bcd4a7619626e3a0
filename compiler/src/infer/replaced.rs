//! Inputs that a step certainly sets before anything reads them: their defaults are never values.

use super::binds;
use crate::ir::{Expr, ExprKind, Node, OnFailure, Step, Unit, visit};
use rustc_hash::FxHashSet;

pub(super) fn replaced(unit: &Unit) -> FxHashSet<&str> {
    let mut found = Found::default();
    let inputs = unit.inputs.iter().map(|input| input.name.as_str());
    let inputs: FxHashSet<&str> = inputs.collect();
    if inputs.is_empty() || !unit.steps.iter().any(|step| binds_any(step, &inputs)) {
        return found.set;
    }
    for script in unit.hooks.scripts() {
        visit::walk_script(script, &mut |expr| found.reads(expr));
    }
    found.steps(&unit.steps);
    found.set.retain(|name| inputs.contains(name));
    found.set
}

fn binds_any(step: &Step, names: &FxHashSet<&str>) -> bool {
    let mut any = false;
    visit::steps(step, &mut |step| {
        any |= binds(step).any(|bind| names.contains(bind.name.as_str()));
    });
    any
}

#[derive(Default)]
struct Found<'a> {
    read: FxHashSet<&'a str>,
    set: FxHashSet<&'a str>,
}

impl<'a> Found<'a> {
    fn reads(&mut self, expr: &'a Expr) {
        if let ExprKind::Var { name, .. } = &expr.kind
            && !self.set.contains(name.as_str())
        {
            self.read.insert(name);
        }
    }

    fn sets(&mut self, name: &'a str) {
        if !self.read.contains(name) {
            self.set.insert(name);
        }
    }

    /// Whether what follows is certain to run, and to see nothing but what it names.
    fn steps(&mut self, steps: &'a [Step]) -> bool {
        steps.iter().all(|step| self.step(step))
    }

    fn step(&mut self, step: &'a Step) -> bool {
        let mut sees_all = false;
        visit::calls(step, &mut |call| sees_all |= call.inherits);
        if sees_all || visit::may_end(step) {
            return false;
        }
        let certain = step.guard.is_none() && step.on_failure == OnFailure::Stop;
        match &step.node {
            Node::Seq(steps) if certain && step.deadline.is_none() => return self.steps(steps),
            // In which order they run is not the order of the file.
            Node::Graph(_) => return false,
            _ => visit::steps(step, &mut |step| {
                visit::walk_step(step, &mut |expr| self.reads(expr));
            }),
        }
        if !certain {
            return true;
        }
        match &step.node {
            Node::Act(_) => step.bind.iter().for_each(|bind| self.sets(&bind.name)),
            Node::Each(each) => each.collect.iter().for_each(|bind| self.sets(&bind.name)),
            Node::While(body) => body.collect.iter().for_each(|bind| self.sets(&bind.name)),
            Node::Seq(_) | Node::Graph(_) | Node::Par { .. } => {}
        }
        true
    }
}
