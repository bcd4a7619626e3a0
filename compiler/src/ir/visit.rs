//! Going through a program without knowing every node.

use super::flow::{Around, Flow};
use super::{
    Action, Call, Exec, Expr, ExprKind, Graph, Node, OnFailure, Part, Script, ScriptPart, Step,
    Text,
};
use std::slice;

/// The expression and all below it, outermost first, in the order of the text.
pub fn walk<'a>(expr: &'a Expr, visit: &mut dyn FnMut(&'a Expr)) {
    visit(expr);
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Var { .. } => {}
        ExprKind::Field { of, .. }
        | ExprKind::Not { of, .. }
        | ExprKind::Truth { of, .. }
        | ExprKind::Seconds { of, .. } => {
            walk(of, visit);
        }
        ExprKind::Index { of, at, .. } => {
            walk(of, visit);
            walk(at, visit);
        }
        ExprKind::List(items) | ExprKind::Call { args: items, .. } => {
            items.iter().for_each(|item| walk(item, visit));
        }
        ExprKind::Map(fields) => fields.iter().for_each(|(_, item)| walk(item, visit)),
        ExprKind::Compare { left, right, .. }
        | ExprKind::And { left, right, .. }
        | ExprKind::Or { left, right, .. } => {
            walk(left, visit);
            walk(right, visit);
        }
        ExprKind::Text(text) => walk_text(text, visit),
    }
}

pub fn walk_text<'a>(text: &'a Text, visit: &mut dyn FnMut(&'a Expr)) {
    for part in &text.parts {
        if let Part::Value { expr, .. } = part {
            walk(expr, visit);
        }
    }
}

pub fn walk_script<'a>(script: &'a Script, visit: &mut dyn FnMut(&'a Expr)) {
    for part in &script.parts {
        match part {
            // The body of a heredoc stands among the parts itself.
            ScriptPart::Source(_) | ScriptPart::Delimiter { .. } => {}
            ScriptPart::Paste(value) | ScriptPart::Words(value) => walk(value, visit),
        }
    }
    script.vars.iter().for_each(|var| walk(&var.value, visit));
}

fn walk_exec<'a>(exec: &'a Exec, visit: &mut dyn FnMut(&'a Expr)) {
    walk_text(&exec.shell, visit);
    walk_script(&exec.script, visit);
    exec.env.iter().for_each(|(_, text)| walk_text(text, visit));
    exec.cwd
        .iter()
        .chain(&exec.stdin)
        .for_each(|text| walk_text(text, visit));
}

/// What an action reads.
pub fn walk_action<'a>(action: &'a Action, visit: &mut dyn FnMut(&'a Expr)) {
    match action {
        Action::Exec(exec) => walk_exec(exec, visit),
        Action::Agent(agent) => {
            walk_text(&agent.prompt, visit);
            agent.cwd.iter().for_each(|text| walk_text(text, visit));
            agent
                .env
                .iter()
                .for_each(|(_, text)| walk_text(text, visit));
        }
        Action::Call(call) => {
            walk_text(&call.recipe, visit);
            call.context
                .iter()
                .for_each(|(_, value)| walk(value, visit));
        }
        Action::Approve(approve) => walk_text(&approve.prompt, visit),
        Action::Validate(checks) => checks.iter().for_each(|check| walk(&check.value, visit)),
        Action::Sleep { ms } => walk(ms, visit),
        Action::Flow(flow) => {
            walk_needs(action, visit);
            flow.asks.iter().for_each(|read| walk(read, visit));
        }
    }
}

/// What must be there for an action to do its work: a flow has defaults for the rest.
pub fn walk_needs<'a>(action: &'a Action, visit: &mut dyn FnMut(&'a Expr)) {
    let Action::Flow(flow) = action else {
        return walk_action(action, visit);
    };
    flow.reads.iter().for_each(|read| walk(read, visit));
    let Around { env, cwd, .. } = &flow.around;
    let texts = env.iter().map(|(_, text)| text).chain(cwd);
    texts.for_each(|text| walk_text(text, visit));
}

/// Every expression that a step reads, but for those in it.
pub fn walk_step<'a>(step: &'a Step, visit: &mut dyn FnMut(&'a Expr)) {
    if let Some(guard) = &step.guard {
        walk(&guard.expr, visit);
    }
    step.deadline
        .iter()
        .for_each(|deadline| walk(deadline, visit));
    match &step.node {
        Node::Act(action) => walk_action(action, visit),
        Node::Each(each) => {
            walk(&each.over, visit);
            each.limit_from.iter().for_each(|limit| walk(limit, visit));
            if let Some(until) = &each.until {
                walk(&until.expr, visit);
            }
        }
        Node::While(body) => {
            walk(&body.condition.expr, visit);
            body.update.iter().for_each(|(_, new)| walk(new, visit));
            if let Some(until) = &body.until {
                walk(&until.expr, visit);
            }
        }
        Node::Seq(_) | Node::Par { .. } | Node::Graph(_) => {}
    }
}

/// Every call of another recipe, in the order of the file.
pub fn calls<'a>(step: &'a Step, visit: &mut dyn FnMut(&'a Call)) {
    steps(step, &mut |step| {
        if let Node::Act(action) = &step.node
            && let Action::Call(call) = &**action
        {
            visit(call);
        }
    });
}

/// The same, to fill in what the calls mean.
pub fn calls_mut(step: &mut Step, visit: &mut dyn FnMut(&mut Call)) {
    actions_mut(step, &mut |action| {
        if let Action::Call(call) = action {
            visit(call);
        }
    });
}

/// Every action in a step, to change it.
pub fn actions_mut(step: &mut Step, visit: &mut dyn FnMut(&mut Action)) {
    match &mut step.node {
        Node::Seq(all)
        | Node::Par { branches: all, .. }
        | Node::Graph(Graph { steps: all, .. }) => {
            all.iter_mut().for_each(|step| actions_mut(step, visit));
        }
        Node::Each(each) => actions_mut(&mut each.body, visit),
        Node::While(body) => actions_mut(&mut body.body, visit),
        Node::Act(action) => visit(action),
    }
}

/// Every flow, to fill in what stands in files of their own.
pub fn flows_mut(step: &mut Step, visit: &mut dyn FnMut(&mut Flow)) {
    actions_mut(step, &mut |action| {
        if let Action::Flow(flow) = action {
            visit(flow);
        }
    });
}

/// A step and all steps in it, outermost first, in the order of the file.
pub fn steps<'a>(step: &'a Step, visit: &mut dyn FnMut(&'a Step)) {
    visit(step);
    inside(step).iter().for_each(|step| steps(step, visit));
}

/// The steps that stand directly in a step.
pub fn inside(step: &Step) -> &[Step] {
    match &step.node {
        Node::Seq(all)
        | Node::Par { branches: all, .. }
        | Node::Graph(Graph { steps: all, .. }) => all,
        Node::Each(each) => slice::from_ref(&each.body),
        Node::While(body) => slice::from_ref(&body.body),
        Node::Act(_) => &[],
    }
}

/// Whether a step in it may end the rest.
pub fn may_end(step: &Step) -> bool {
    step.on_failure == OnFailure::SkipRest || inside(step).iter().any(may_end)
}
