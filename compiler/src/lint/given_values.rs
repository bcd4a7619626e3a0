//! What certainly fails with the values that a run is given: what the file says of its defaults, said of
//! them.
//!
//! Only of places that a run certainly comes to: a step that a condition may pass over, or whose failure is
//! forgiven, may be there for other values.

use super::{field_of_text, no_such_field, not_a_list, not_a_number, too_many_items};
use crate::codes::Severity;
use crate::diagnostic::Report;
use crate::infer::{Place, Scope, infer_given, places};
use crate::ir::{
    Action, Expr, ExprKind, Graph, Literal, Node, OnFailure, Program, Step, Unit, visit,
};
use crate::source::Span;
use rrc_vm::value::Map;
use rustc_hash::FxHashSet;
use std::sync::Arc;

type Check = fn(&Place<'_, '_>, Scope<'_, '_>, &mut Report);

const CHECKS: [Check; 5] = [
    field_of_text::check,
    no_such_field::check,
    not_a_list::check,
    too_many_items::check,
    not_a_number::check,
];

pub fn judge(program: &Program, given: &Map, report: &mut Report) {
    let Some(root) = program.units.first() else {
        return;
    };
    let told = told(root, given);
    if told.is_empty() {
        return;
    }
    let mut root = Unit::clone(root);
    for input in &mut root.inputs {
        if let Some(literal) = told.get(input.name.as_str()).and_then(Literal::of) {
            input.default = literal;
        }
    }
    let mut units = program.units.clone();
    units[0] = Arc::new(root);
    without_unused_defaults(&mut units);
    let program = Program { units };
    let mut certain = Certain {
        program: &program,
        seen: FxHashSet::default(),
        spans: Vec::new(),
    };
    certain.unit(0);
    let spans = certain.spans;
    let facts = infer_given(&program, &told);
    let mut found = Report::default();
    places(&program, &facts, &mut |place, scope| {
        CHECKS
            .iter()
            .for_each(|check| check(place, scope, &mut found));
    });
    let inside = |outer: &Span, inner: Span| {
        let (outer_range, inner_range) = (outer.range(), inner.range());
        outer.source == inner.source
            && outer_range.start <= inner_range.start
            && inner_range.end <= outer_range.end
    };
    for finding in found.findings {
        let known = report
            .findings
            .iter()
            .any(|other| other.code == finding.code && other.span == finding.span);
        if finding.severity == Severity::Error
            && !known
            && spans.iter().any(|span| inside(span, finding.span))
        {
            let mut finding =
                finding.help("this is so for the values that are given with `--set` and `--vars`");
            finding.fix = None;
            report.add(finding);
        }
    }
}

/// What is given to inputs of the recipe, as far as something may be said of it: of a secret nothing is, and
/// what only the runner knows nobody gives.
fn told(root: &Unit, given: &Map) -> Map {
    let mut told = Map::default();
    if given.is_empty() {
        return told;
    }
    for input in &root.inputs {
        let hidden = root.secrets.contains(&input.name) || root.reserved.contains(&&*input.name);
        if let Some(value) = given.get(input.name.as_str())
            && !hidden
            && Literal::of(value).is_some()
        {
            told.insert(input.name.as_str().into(), value.clone());
        }
    }
    told
}

/// What every call of a recipe passes in is never its default.
fn without_unused_defaults(units: &mut [Arc<Unit>]) {
    let mut passed: Vec<Option<FxHashSet<String>>> = vec![None; units.len()];
    for step in units.iter().flat_map(|unit| &unit.steps) {
        visit::calls(step, &mut |call| {
            let names = call.context.iter().map(|(name, _)| name.clone());
            let names: FxHashSet<String> = names.collect();
            if let Some(passed) = call.target.and_then(|target| passed.get_mut(target)) {
                match passed {
                    Some(passed) => passed.retain(|name| names.contains(name)),
                    None => *passed = Some(names),
                }
            }
        });
    }
    for (unit, passed) in units.iter_mut().zip(passed).skip(1) {
        if let Some(passed) = passed.filter(|passed| !passed.is_empty()) {
            let inputs = &mut Arc::make_mut(unit).inputs;
            inputs.retain(|input| !passed.contains(&input.name));
        }
    }
}

/// The places that a run certainly comes to, if nothing fails before.
struct Certain<'a> {
    program: &'a Program,
    seen: FxHashSet<usize>,
    spans: Vec<Span>,
}

impl Certain<'_> {
    fn unit(&mut self, number: usize) {
        if let Some(unit) = self.program.units.get(number)
            && self.seen.insert(number)
        {
            self.steps(&unit.steps);
        }
    }

    /// Whether what follows is certain too: it is not where a failure may have ended the rest.
    fn steps(&mut self, steps: &[Step]) -> bool {
        steps.iter().all(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> bool {
        if let Some(guard) = &step.guard
            && step.on_failure == OnFailure::Stop
        {
            // What it reads first, it reads in any case.
            self.first(&guard.expr);
        }
        let goes_on = step.on_failure != OnFailure::SkipRest;
        if step.guard.is_some() || step.on_failure != OnFailure::Stop {
            return goes_on && !visit::may_end(step);
        }
        if let Some(deadline) = &step.deadline {
            self.spans.push(deadline.span);
        }
        match &step.node {
            Node::Seq(steps) | Node::Graph(Graph { steps, .. }) => return self.steps(steps),
            Node::Par { branches, .. } => {
                let all: Vec<bool> = branches.iter().map(|step| self.step(step)).collect();
                return all.into_iter().all(|goes_on| goes_on);
            }
            Node::Each(each) => {
                self.spans.push(each.over.span);
                self.spans
                    .extend(each.limit_from.as_ref().map(|limit| limit.span));
            }
            Node::While(body) => self.first(&body.condition.expr),
            Node::Act(action) => match &**action {
                Action::Exec(_) | Action::Agent(_) | Action::Approve(_) => {
                    visit::walk_step(step, &mut |expr| self.spans.push(expr.span));
                }
                Action::Call(call) if !call.recovers => {
                    self.spans.push(call.recipe.span);
                    let values = call.context.iter().map(|(_, value)| value.span);
                    self.spans.extend(values);
                    call.target.into_iter().for_each(|target| self.unit(target));
                }
                // A template says itself what it needs of its values.
                Action::Call(_) | Action::Flow(_) | Action::Validate(_) | Action::Sleep { .. } => {}
            },
        }
        !visit::may_end(step)
    }

    /// What of a condition is read in any case.
    fn first(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::And { left, .. } | ExprKind::Or { left, .. } => self.first(left),
            ExprKind::Not { of, .. } | ExprKind::Truth { of, .. } => self.first(of),
            _ => self.spans.push(expr.span),
        }
    }
}
