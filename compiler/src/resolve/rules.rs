//! Rules of `context_validation`: what they ask for is given by whoever starts the recipe.

use super::Scope;
use crate::diagnostic::{Report, is_plural, is_slip};
use crate::ir::{Action, Exports, Expr, ExprKind, Missing, Node, Program, Script, Unit, visit};
use crate::shell::{spelt, stands_for};
use crate::source::Span;
use rustc_hash::FxHashSet;

/// What is read by more than the steps of one unit.
pub(super) struct Used<'a> {
    /// By hooks, and by the recipes that are called.
    names: FxHashSet<&'a str>,
    /// By scripts, as they spell it.
    spelt: FxHashSet<String>,
}

impl<'a> Used<'a> {
    fn new(program: &'a Program, number: usize) -> Used<'a> {
        let mut used = Used {
            names: FxHashSet::default(),
            spelt: FxHashSet::default(),
        };
        for (other, unit) in program.units.iter().enumerate() {
            used.unit(unit, other == number);
        }
        used
    }

    fn unit(&mut self, unit: &'a Unit, is_own: bool) {
        let exports = unit.exports == Exports::Everything;
        let names = &mut self.names;
        let mut note = |expr: &'a Expr| {
            if let ExprKind::Var { name, .. } = &expr.kind {
                names.insert(name);
            }
        };
        let mut scripts: Vec<&Script> = Vec::new();
        for step in &unit.steps {
            visit::steps(step, &mut |step| {
                if !is_own {
                    visit::walk_step(step, &mut note);
                }
                if let Node::Act(action) = &step.node
                    && let Action::Exec(exec) = &**action
                {
                    scripts.push(&exec.script);
                }
            });
        }
        for script in unit.hooks.scripts() {
            visit::walk_script(script, &mut note);
            scripts.push(script);
        }
        for mention in scripts.iter().flat_map(|script| &script.mentions) {
            if exports {
                stands_for(&mention.name, |name| {
                    self.spelt.insert(name.to_string());
                    false
                });
            }
        }
    }
}

impl<'a> Scope<'a> {
    /// Whether a variable is there is what a rule asks; it is not a mistake to ask, unless another
    /// one is meant. Some rules read the variable themselves: `reads` times.
    pub(super) fn rule(&mut self, name: &'a str, span: Span, reads: usize, report: &mut Report) {
        if self.is_visible(name) {
            return;
        }
        let is_read = |name: &str, more_than: usize| {
            let times = self.reading().counts.get(name).copied();
            let used = || {
                self.used
                    .get_or_init(|| Used::new(self.program, self.number))
            };
            times.unwrap_or(0) > more_than
                || used().names.contains(name)
                || used().spelt.contains(&*spelt(name))
        };
        // One that nothing but its rule reads is for nothing. Two that are both read are two.
        let meant = |near: &&str| match is_slip(name, near) {
            true => !is_read(near, 0) || !is_read(name, reads),
            false => is_plural(name, near) && !is_read(name, reads),
        };
        if self.suggestion(name).filter(meant).is_some() {
            report.add(self.undefined(name, Missing::Null, span));
        } else {
            self.show(name);
        }
    }
}
