//! A recipe and the one it extends become one.

use crate::dialect::{Parent, join_group};
use crate::ir::{Action, Check, Graph, Node, Script, Step, Unit, visit};
use rrc_vm::plan::StepKind;
use rustc_hash::FxHashSet;

/// The parent's steps first; a child's step of the same id takes the place of the parent's.
pub(super) fn merge(mut base: Unit, mut child: Unit, parent: &Parent) -> Unit {
    let mut graphs: Vec<Step> = [&mut base.steps, &mut child.steps]
        .into_iter()
        .filter_map(open_graph)
        .collect();
    let mut check = take_check(&mut base.steps);
    if let Some(checks) = check.as_mut().and_then(checks) {
        let is_waived = |name: &str| child.optional.iter().any(|(other, _)| other == name);
        checks.retain(|check| !is_waived(&check.name));
    }
    let check = join_checks(check, take_check(&mut child.steps));
    base.steps = joined(base.steps, child.steps);
    if let Some(graph) = graphs.pop() {
        close_graph(&mut base.steps, graph, graphs.pop());
    }
    base.steps.splice(..0, check);
    for input in child.inputs {
        match base
            .inputs
            .iter_mut()
            .find(|known| known.name == input.name)
        {
            Some(known) => *known = input,
            None => base.inputs.push(input),
        }
    }
    let over = |base: &mut Option<Script>, child: Option<Script>| {
        if child.is_some() {
            *base = child;
        }
    };
    over(&mut base.hooks.before, child.hooks.before);
    over(&mut base.hooks.after, child.hooks.after);
    over(&mut base.hooks.failed, child.hooks.failed);
    for name in child.given {
        if !base.given.contains(&name) {
            base.given.push(name);
        }
    }
    base.optional.extend(child.optional);
    base.secrets.extend(child.secrets);
    base.secret_places.extend(child.secret_places);
    base.pace = child.pace.or(base.pace);
    Unit {
        source: child.source,
        name: child.name,
        dialect: child.dialect,
        reserved: child.reserved,
        limits: if parent.has_limits {
            child.limits
        } else {
            base.limits
        },
        ..base
    }
}

/// A step, and what is left of the group that it was in.
type Member = (Option<Step>, Step);

/// One list of both. Groups are made of neighbours, so who is one is seen when all have their places.
fn joined(base: Vec<Step>, child: Vec<Step>) -> Vec<Step> {
    let mut all = ungrouped(base);
    let mut inner: FxHashSet<String> = FxHashSet::default();
    for step in all.iter().flat_map(|(_, step)| visit::inside(step)) {
        visit::steps(step, &mut |step| inner.extend([step.id.clone()]));
    }
    for new in ungrouped(child) {
        match all.iter_mut().find(|known| is_again(&known.1, &new.1)) {
            Some(known) => *known = new,
            None if inner.contains(&new.1.id) => {
                let mut held = all.iter_mut().map(|(_, step)| step);
                let left = held.try_fold(new, replaced_in);
                all.extend(left);
            }
            None => all.push(new),
        }
    }
    grouped(all)
}

fn is_again(known: &Step, new: &Step) -> bool {
    known.id == new.id && !known.kind.is_hidden() && !new.kind.is_hidden()
}

/// Puts a step in the place of the one in a loop or a graph that has its id; gives it back if none has.
fn replaced_in(new: Member, held: &mut Step) -> Option<Member> {
    let list = match &mut held.node {
        Node::Seq(all)
        | Node::Par { branches: all, .. }
        | Node::Graph(Graph { steps: all, .. }) => all,
        Node::Each(each) => return replaced_in(new, &mut each.body),
        Node::While(body) => return replaced_in(new, &mut body.body),
        Node::Act(_) => return Some(new),
    };
    let is_group = |step: &&Step| step.kind == StepKind::Group;
    let members = list.iter().filter(is_group).flat_map(visit::inside);
    if !list
        .iter()
        .chain(members)
        .any(|step| is_again(step, &new.1))
    {
        return list.iter_mut().try_fold(new, replaced_in);
    }
    let mut all = ungrouped(std::mem::take(list));
    if let Some(known) = all.iter_mut().find(|known| is_again(&known.1, &new.1)) {
        *known = new;
    }
    *list = grouped(all);
    None
}

fn grouped(all: Vec<Member>) -> Vec<Step> {
    let mut steps = Vec::with_capacity(all.len());
    for (group, step) in all {
        match group {
            Some(group) => join_group(&mut steps, &group.id, group.span, step),
            None => steps.push(step),
        }
    }
    steps
}

/// The steps that were written, each with what is left of its group.
fn ungrouped(steps: Vec<Step>) -> Vec<Member> {
    let mut all = Vec::with_capacity(steps.len());
    for mut step in steps {
        match &mut step.node {
            Node::Par { branches, .. } if step.kind == StepKind::Group => {
                let branches = std::mem::take(branches);
                all.extend(
                    branches
                        .into_iter()
                        .map(|branch| (Some(step.clone()), branch)),
                );
            }
            _ => all.push((None, step)),
        }
    }
    all
}

/// Takes the steps out of the one graph among these, and gives back what is left of it.
fn open_graph(steps: &mut Vec<Step>) -> Option<Step> {
    let is_graph = |step: &Step| matches!(step.node, Node::Graph(_));
    let at = steps.iter().position(is_graph)?;
    if steps.iter().filter(|step| is_graph(step)).count() > 1 {
        return None;
    }
    let mut held = steps.remove(at);
    if let Node::Graph(graph) = &mut held.node {
        steps.splice(at..at, std::mem::take(&mut graph.steps));
    }
    Some(held)
}

/// Puts the steps that can wait for each other back into a graph.
fn close_graph(steps: &mut Vec<Step>, mut held: Step, other: Option<Step>) {
    if let Node::Graph(graph) = &mut held.node {
        graph.steps = std::mem::take(steps);
        if let Some(Node::Graph(other)) = other.map(|other| other.node) {
            graph.after.extend(other.after);
        }
    }
    steps.push(held);
}

/// Takes out the step that checks variables before the first of the others.
fn take_check(steps: &mut Vec<Step>) -> Option<Step> {
    let checks = |step: &mut Step| checks(step).is_some();
    let at = steps.iter_mut().position(checks)?;
    Some(steps.remove(at))
}

fn checks(step: &mut Step) -> Option<&mut Vec<Check>> {
    let Node::Act(action) = &mut step.node else {
        return None;
    };
    match &mut **action {
        Action::Validate(checks) => Some(checks),
        _ => None,
    }
}

/// What both ask of variables; of one that both speak of, what the child asks.
fn join_checks(base: Option<Step>, child: Option<Step>) -> Option<Step> {
    let (mut base, mut child) = match (base, child) {
        (Some(base), Some(child)) => (base, child),
        (base, child) => return base.or(child),
    };
    let own = checks(&mut child).map(std::mem::take).unwrap_or_default();
    if let Some(all) = checks(&mut base) {
        all.retain(|check| own.iter().all(|own| own.name != check.name));
        all.extend(own);
    }
    Some(base)
}
