//! Steps that run at the same time: what each of them sets is none of the others' business.

use super::{Scope, binds};
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::{
    Action, Call, Exports, Expr, ExprKind, Graph, Mention, Node, Program, Step, visit,
};
use crate::shell::{Mentioned, spelt, stands_for};
use crate::source::Span;
use rrc_vm::exports::is_reserved;
use rustc_hash::{FxHashMap, FxHashSet};

impl<'a> Scope<'a> {
    /// Steps that run at once see the variables as they were, and must not write the same ones.
    pub(super) fn side_by_side(&mut self, branches: &'a [Step], report: &mut Report) {
        let mut writers: FxHashMap<&str, (usize, Span)> = FxHashMap::default();
        let mut clashes = Clashes::default();
        for (number, branch) in branches.iter().enumerate() {
            for (name, span) in self.written(branch) {
                match writers.get(name) {
                    Some((other, first)) if *other != number => clashes.add(name, span, *first),
                    _ => {
                        writers.insert(name, (number, span));
                    }
                }
            }
        }
        clashes.say(report);
        let spelt_writers: FxHashMap<_, _> = writers
            .iter()
            .map(|(name, (number, place))| (spelt(name), (*name, *number, *place)))
            .collect();
        for (number, branch) in branches.iter().enumerate() {
            let reads = Reads::of(self.program, branch);
            for (name, span) in reads.named {
                match writers.get(name) {
                    Some((writer, place)) if *writer != number => {
                        report.add(reads_sibling(name, span, *place));
                    }
                    _ => {}
                }
            }
            for (mentioned, span) in reads.mentioned {
                stands_for(mentioned, |name| {
                    let other = spelt_writers.get(name);
                    let other = other.filter(|(_, writer, _)| *writer != number);
                    if let Some((name, _, place)) = other {
                        report.add(reads_sibling(name, span, *place));
                    }
                    other.is_some()
                });
            }
        }
        // What one of them sets is unknown to the others, but known afterwards.
        for branch in branches {
            let mut quiet = Report::default();
            self.step(branch, &mut quiet);
            let about = |finding: &Diagnostic| {
                finding
                    .about
                    .iter()
                    .any(|name| writers.contains_key(&**name))
            };
            quiet
                .findings
                .retain(|finding| finding.code != &codes::UNDEFINED_VARIABLE || !about(finding));
            report.findings.extend(quiet.findings);
        }
    }

    /// The variables that a step sets, itself or by a recipe that it calls, and where.
    pub(super) fn written(&self, branch: &'a Step) -> Vec<(&'a str, Span)> {
        let mut written: Vec<(&str, Span)> = Vec::new();
        visit::steps(branch, &mut |step| {
            written.extend(binds(step).map(|bind| (bind.name.as_str(), bind.span)));
            if let Node::While(body) = &step.node {
                let updates = body.update.iter();
                written.extend(updates.map(|(bind, _)| (bind.name.as_str(), bind.span)));
            }
        });
        let mut seen = FxHashSet::default();
        visit::calls(branch, &mut |call| {
            self.written_by(call, call.recipe.span, &mut seen, &mut written);
        });
        written
    }

    /// What a recipe sets in its caller. Its inputs are the caller's own variables.
    fn written_by(
        &self,
        call: &'a Call,
        span: Span,
        seen: &mut FxHashSet<usize>,
        written: &mut Vec<(&'a str, Span)>,
    ) {
        let Some(target) = call.target.filter(|_| call.spreads) else {
            return;
        };
        if !seen.insert(target) {
            return;
        }
        for step in &self.program.units[target].steps {
            visit::steps(step, &mut |step| {
                written.extend(binds(step).map(|bind| (bind.name.as_str(), span)));
            });
            visit::calls(step, &mut |inner| {
                self.written_by(inner, span, seen, written);
            });
        }
    }
}

/// Variables that two steps set, by the places where they do: a recipe that is called twice sets
/// each of its variables twice, and that is one mistake.
#[derive(Default)]
struct Clashes<'a> {
    /// Both places, the first of the variables, and how many there are besides.
    all: Vec<(Span, Span, &'a str, usize)>,
    known: FxHashMap<(Span, Span), usize>,
}

impl<'a> Clashes<'a> {
    fn add(&mut self, name: &'a str, span: Span, first: Span) {
        let number = *self.known.entry((span, first)).or_insert(self.all.len());
        match self.all.get_mut(number) {
            Some((_, _, _, more)) => *more += 1,
            None => self.all.push((span, first, name, 0)),
        }
    }

    fn say(self, report: &mut Report) {
        for (span, first, name, more) in self.all {
            let more = match more {
                0 => String::new(),
                1 => " and another variable".to_string(),
                _ => format!(" and {more} other variables"),
            };
            let message = format!("two steps that run side by side both set `{name}`{more}");
            report.add(
                Diagnostic::new(&codes::PARALLEL_CONFLICT, span, message)
                    .label(first, "the other one is here")
                    .help("give each of them a variable of its own"),
            );
        }
    }
}

/// What a step reads of the variables around it, itself or by a recipe that it calls. What a loop or a
/// recipe has of its own is not among them.
struct Reads<'a> {
    program: &'a Program,
    named: Vec<(&'a str, Span)>,
    /// As scripts spell what they find in their environment.
    mentioned: Vec<(&'a str, Span)>,
    /// Names that mean something else where we are.
    hidden: Vec<&'a str>,
    called: FxHashSet<usize>,
    /// The call that led into another recipe.
    call: Option<Span>,
}

impl<'a> Reads<'a> {
    fn of(program: &'a Program, step: &'a Step) -> Reads<'a> {
        let mut reads = Reads {
            program,
            named: Vec::new(),
            mentioned: Vec::new(),
            hidden: Vec::new(),
            called: FxHashSet::default(),
            call: None,
        };
        reads.step(step);
        reads
    }

    fn step(&mut self, step: &'a Step) {
        let Node::Each(each) = &step.node else {
            visit::walk_step(step, &mut |expr| self.one(expr));
            for_environment(step, |mention| {
                let is_hidden = |name: &str| self.hidden.iter().any(|own| spelt(own) == name);
                if !stands_for(&mention.name, is_hidden) {
                    let span = self.call.unwrap_or(mention.span);
                    self.mentioned.push((&mention.name, span));
                }
            });
            return match &step.node {
                Node::Seq(steps)
                | Node::Graph(Graph { steps, .. })
                | Node::Par {
                    branches: steps, ..
                } => steps.iter().for_each(|step| self.step(step)),
                Node::While(body) => self.step(&body.body),
                Node::Act(action) => self.action(action),
                Node::Each(_) => {}
            };
        };
        let guards = step.guard.iter().map(|guard| &guard.expr);
        let outside = guards.chain(&step.deadline).chain(&each.limit_from);
        outside.chain([&each.over]).for_each(|expr| self.expr(expr));
        self.hidden.push(&each.item.name);
        each.until.iter().for_each(|until| self.expr(&until.expr));
        self.step(&each.body);
        self.hidden.pop();
    }

    fn expr(&mut self, expr: &'a Expr) {
        visit::walk(expr, &mut |expr| self.one(expr));
    }

    fn one(&mut self, expr: &'a Expr) {
        if let ExprKind::Var { name, .. } = &expr.kind
            && !self.hidden.contains(&name.as_str())
        {
            self.named.push((name, self.call.unwrap_or(expr.span)));
        }
    }

    fn action(&mut self, action: &'a Action) {
        let Action::Call(call) = action else { return };
        let Some(target) = call.target.filter(|_| call.inherits) else {
            return;
        };
        if !self.called.insert(target) {
            return;
        }
        let (outer, hidden) = (self.call, self.hidden.len());
        self.call = outer.or(Some(call.recipe.span));
        let steps = &self.program.units[target].steps;
        // What the recipe sets it may well read afterwards.
        for step in steps {
            visit::steps(step, &mut |step| {
                self.hidden.extend(binds(step).map(|bind| &*bind.name));
            });
        }
        self.hidden
            .extend(call.context.iter().map(|(name, _)| name.as_str()));
        steps.iter().for_each(|step| self.step(step));
        self.hidden.truncate(hidden);
        self.call = outer;
    }
}

/// What the script of a step reads of the variables that it finds in its environment.
fn for_environment<'a>(step: &'a Step, mut each: impl FnMut(&'a Mention)) {
    let Node::Act(action) = &step.node else {
        return;
    };
    let Action::Exec(exec) = &**action else {
        return;
    };
    if exec.exports != Exports::Everything {
        return;
    }
    let mentions = &exec.script.mentions;
    let own = |name: &str| {
        let set = |other: &Mention| other.how == Mentioned::Set && other.name == name;
        mentions.iter().any(set)
            || exec.env.iter().any(|(other, _)| other == name)
            || exec.script.vars.iter().any(|var| var.name == name)
    };
    let mut seen = FxHashSet::default();
    for mention in mentions {
        if matches!(mention.how, Mentioned::Expanded | Mentioned::Guarded)
            && !is_reserved(&mention.name)
            && !own(&mention.name)
            && seen.insert(mention.name.as_str())
        {
            each(mention);
        }
    }
}

fn reads_sibling(name: &str, span: Span, set: Span) -> Diagnostic {
    let message = format!("`{name}` is set by a step that runs at the same time");
    Diagnostic::new(&codes::PARALLEL_CONFLICT, span, message)
        .label(set, "it is set here")
        .help("move this step out of the group, after it")
}
