//! What a program must do at least, against what its limits allow; see [`worst`] for the most.
//!
//! Only what certainly happens counts: a step with a condition may not run, and after a step that
//! may end the recipe early nothing is certain. So a finding here is a run that cannot succeed.

pub mod worst;

use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::{Action, Call, Node, OnFailure, Program, Step};
use crate::source::Span;
use rustc_hash::FxHashMap;

pub fn bounds(program: &Program, report: &mut Report) {
    let Some(root) = program.units.first() else {
        return;
    };
    let mut walk = Walk::new(program, false);
    let (least, _) = walk.unit(0);
    if let Some((span, name)) = walk.cycle {
        let message = format!("`{name}` calls itself in the end, and nothing stops it");
        report.add(
            Diagnostic::new(&codes::RECIPE_CYCLE, span, message)
                .help("put a `condition` on one of the calls"),
        );
        return;
    }
    let place = root
        .steps
        .first()
        .map_or(Span::top(root.source), |step| step.span);
    if least > u64::from(root.limits.steps) {
        let limit = root.limits.steps;
        let message = format!("at least {least} steps must run, and the limit is {limit}");
        report.add(Diagnostic::new(&codes::STEP_LIMIT, place, message).help(at_least(least)));
    } else if root.limits.skipped_elsewhere {
        let (counted, _) = Walk::new(program, true).unit(0);
        let limit = root.limits.steps;
        if counted > u64::from(limit) {
            let message = format!(
                "other runners count skipped steps: {counted} at least, and the limit is {limit}"
            );
            report.add(
                Diagnostic::new(&codes::STEP_LIMIT, place, message)
                    .severity(Severity::Warning)
                    .help(at_least(counted)),
            );
        }
    }
    if let Some((depth, span)) = walk.deepest
        && depth > root.limits.depth as usize
    {
        let limit = root.limits.depth;
        let message = format!("recipes are called {depth} deep here, and the limit is {limit}");
        report.add(
            Diagnostic::new(&codes::DEPTH_LIMIT, span, message)
                .help(format!("set `recursion: {{max_depth: {depth}}}` or more")),
        );
    }
}

fn at_least(steps: u64) -> String {
    format!("set `recursion: {{max_total_steps: {steps}}}` or more")
}

struct Walk<'a> {
    program: &'a Program,
    /// Does a step that a condition skips count?
    skipped: bool,
    /// The units that are being called, outermost first.
    path: Vec<usize>,
    /// The deepest call that must happen.
    deepest: Option<(usize, Span)>,
    cycle: Option<(Span, String)>,
    /// How deep the unit that is being looked at calls below itself.
    below: usize,
    /// What was found about units that have been looked at: steps, and calls below.
    known: FxHashMap<usize, (u64, usize)>,
}

impl<'a> Walk<'a> {
    fn new(program: &'a Program, skipped: bool) -> Walk<'a> {
        Walk {
            program,
            skipped,
            path: Vec::new(),
            deepest: None,
            cycle: None,
            below: 0,
            known: FxHashMap::default(),
        }
    }

    /// Steps that a unit runs at least, and how deep it calls below itself.
    fn unit(&mut self, number: usize) -> (u64, usize) {
        if let Some(known) = self.known.get(&number) {
            return *known;
        }
        self.path.push(number);
        let program = self.program;
        let outer = std::mem::take(&mut self.below);
        let (least, _) = self.steps(&program.units[number].steps);
        let found = (least, std::mem::replace(&mut self.below, outer));
        self.path.pop();
        self.known.insert(number, found);
        found
    }

    /// The least, and whether the steps certainly come to their end.
    fn steps(&mut self, steps: &[Step]) -> (u64, bool) {
        let mut least = 0u64;
        for step in steps {
            let (own, goes_on) = self.step(step);
            least = least.saturating_add(own);
            if !goes_on {
                return (least, false);
            }
        }
        (least, true)
    }

    fn step(&mut self, step: &Step) -> (u64, bool) {
        let goes_on = step.on_failure != OnFailure::SkipRest;
        let counted = u64::from(!step.kind.is_hidden());
        if step.guard.is_some() {
            return (counted * u64::from(self.skipped), goes_on);
        }
        let inside = match &step.node {
            Node::Seq(steps) => self.steps(steps).0,
            Node::Graph(graph) => self.steps(&graph.steps).0,
            Node::Par { branches, .. } => branches.iter().fold(0, |sum: u64, branch| {
                sum.saturating_add(self.step(branch).0)
            }),
            // A list may be empty, and a condition false from the start.
            Node::Each(_) | Node::While(_) => 0,
            Node::Act(action) => match &**action {
                Action::Call(call) => self.call(call),
                _ => 0,
            },
        };
        (counted.saturating_add(inside), goes_on)
    }

    fn call(&mut self, call: &Call) -> u64 {
        let Some(target) = call.target else { return 0 };
        let span = call.recipe.span;
        if self.path.contains(&target) {
            let name = self.program.units[target].name.clone();
            self.cycle.get_or_insert((span, name));
            return 0;
        }
        let (least, below) = self.unit(target);
        self.below = self.below.max(below + 1);
        let depth = self.path.len() + below;
        if self.deepest.is_none_or(|(deepest, _)| depth > deepest) {
            self.deepest = Some((depth, span));
        }
        least
    }
}
