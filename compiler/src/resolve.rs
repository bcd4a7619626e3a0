//! Names to variables: is there anything that sets what is read?
//!
//! Follows the order in which steps run. A name that nothing sets is said once per place; what is
//! read *through* it is not looked at further.

use crate::codes;
use crate::codes::Severity;
use crate::diagnostic::{Diagnostic, Fix, Report, nearest};
use crate::ir::visit;
use crate::ir::{Bind, Expr, ExprKind, Missing, Node, Program, Step, Unit};
use crate::source::Span;
use rustc_hash::FxHashMap;

/// Names that are set while a loop runs its body.
const LOOP_NAMES: [&str; 2] = ["_loop_index", "_loop_iteration"];

pub fn resolve(program: &Program, report: &mut Report) {
    for unit in &program.units {
        Scope::new(unit).unit(unit, report);
    }
}

/// The same for one expression that stands in a unit without steps.
pub fn resolve_expression(unit: &Unit, expr: &Expr, report: &mut Report) {
    Scope::new(unit).reads(expr, report);
}

/// What is known at one point of a unit.
struct Scope<'a> {
    /// How often a name is visible: it may be set at several levels.
    visible: FxHashMap<&'a str, u32>,
    /// Everything that any step sets, and where: for what to suggest.
    anywhere: FxHashMap<&'a str, Span>,
    reserved: &'static [&'static str],
}

impl<'a> Scope<'a> {
    fn new(unit: &'a Unit) -> Scope<'a> {
        let mut scope = Scope {
            visible: FxHashMap::default(),
            anywhere: FxHashMap::default(),
            reserved: unit.reserved,
        };
        for input in &unit.inputs {
            scope.show(&input.name);
        }
        for step in &unit.steps {
            visit::steps(step, &mut |step| {
                for bind in binds(step) {
                    scope.anywhere.entry(&bind.name).or_insert(bind.span);
                }
            });
        }
        scope
    }

    fn unit(mut self, unit: &'a Unit, report: &mut Report) {
        for input in &unit.inputs {
            self.check_reserved(&input.name, input.span, report);
        }
        self.steps(&unit.steps, report);
    }

    fn steps(&mut self, steps: &'a [Step], report: &mut Report) {
        steps.iter().for_each(|step| self.step(step, report));
    }

    fn step(&mut self, step: &'a Step, report: &mut Report) {
        if let Some(guard) = &step.guard {
            self.reads(&guard.expr, report);
        }
        if let Some(deadline) = &step.deadline {
            self.reads(deadline, report);
        }
        match &step.node {
            Node::Act(action) => {
                visit::walk_action(action, &mut |expr| self.read(expr, report));
            }
            Node::Seq(steps) => self.steps(steps, report),
            Node::Par { branches, .. } => self.steps(branches, report),
            Node::Each(each) => {
                self.reads(&each.over, report);
                self.show(&each.item);
                self.step(&each.body, report);
                if let Some(until) = &each.until {
                    self.reads(&until.expr, report);
                }
                self.hide(&each.item);
            }
            Node::While(body) => {
                self.reads(&body.condition.expr, report);
                LOOP_NAMES.iter().for_each(|name| self.show(name));
                self.step(&body.body, report);
                for (bind, new) in &body.update {
                    self.reads(new, report);
                    self.set(bind, report);
                }
                if let Some(until) = &body.until {
                    self.reads(&until.expr, report);
                }
                LOOP_NAMES.iter().for_each(|name| self.hide(name));
            }
        }
        for bind in binds(step) {
            self.set(bind, report);
        }
    }

    fn set(&mut self, bind: &'a Bind, report: &mut Report) {
        self.check_reserved(&bind.name, bind.span, report);
        self.show(&bind.name);
    }

    fn check_reserved(&self, name: &str, span: Span, report: &mut Report) {
        if self.reserved.contains(&name) {
            let message = format!("`{name}` is set by rrc itself and cannot be a variable");
            report.add(
                Diagnostic::new(&codes::RESERVED_NAME, span, message)
                    .help(format!("choose another name, such as `{name}_result`")),
            );
        }
    }

    fn show(&mut self, name: &'a str) {
        *self.visible.entry(name).or_default() += 1;
    }

    fn hide(&mut self, name: &'a str) {
        if let Some(count) = self.visible.get_mut(name) {
            *count = count.saturating_sub(1);
        }
    }

    fn is_visible(&self, name: &str) -> bool {
        self.visible.get(name).is_some_and(|count| *count > 0) || self.reserved.contains(&name)
    }

    fn reads(&self, expr: &Expr, report: &mut Report) {
        visit::walk(expr, &mut |expr| self.read(expr, report));
    }

    fn read(&self, expr: &Expr, report: &mut Report) {
        let ExprKind::Var { name, missing } = &expr.kind else {
            return;
        };
        if self.is_visible(name) {
            return;
        }
        let (severity, message) = match missing {
            Missing::Fail => (Severity::Error, format!("nothing defines `{name}`")),
            Missing::Null => (
                Severity::Warning,
                format!("nothing defines `{name}`; it is empty unless given"),
            ),
        };
        let mut finding =
            Diagnostic::new(&codes::UNDEFINED_VARIABLE, expr.span, message).severity(severity);
        if let Some(later) = self.anywhere.get(name.as_str()) {
            finding = finding
                .label(*later, format!("`{name}` is set here, later"))
                .help("a step can only read what steps before it have set");
        } else if let Some(near) = self.suggestion(name) {
            finding = finding.help(format!("did you mean `{near}`?"));
            finding = finding.fix(Fix::safe(format!("write `{near}`"), expr.span, near));
        } else {
            finding = finding.help(format!(
                "give `{name}` a value under `context`, or as the `output` of an earlier step"
            ));
        }
        report.add(finding);
    }

    fn suggestion(&self, name: &str) -> Option<&str> {
        let mut known: Vec<&str> = self
            .visible
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(name, _)| *name)
            .chain(self.reserved.iter().copied())
            .collect();
        // The order of a hash map is not one that a message may depend on.
        known.sort_unstable();
        nearest(name, known)
    }
}

/// Everything a step sets when it is done, itself or through its loop.
fn binds(step: &Step) -> impl Iterator<Item = &Bind> {
    let (collect, last) = match &step.node {
        Node::Each(each) => (each.collect.as_ref(), each.last.as_ref()),
        Node::While(body) => (body.collect.as_ref(), None),
        _ => (None, None),
    };
    step.bind.iter().chain(collect).chain(last)
}
