//! Every place of a program where the type of a value matters.

use super::{Facts, Locals, Scope, Type, element};
use crate::ir::{
    Action, Each, Expr, ExprKind, Graph, Guard, Node, Part, Program, Script, ScriptPart, Step,
    Text, VarForm,
};
use crate::source::Span;

/// One place, and what is known there.
pub enum Place<'p, 'a> {
    /// An expression with others below it, and the types of those that stand directly below.
    Expr { expr: &'a Expr, parts: &'p [Type] },
    /// A condition.
    Guard(&'a Guard),
    /// A loop, with the type of what it goes over.
    Each { each: &'a Each, over: &'p Type },
    /// A value that must be a number: the field of a step that wants it, and what kind of number that
    /// takes, or what a script counts with.
    Integer {
        value: &'a Expr,
        of: &'p Type,
        field: Option<(&'static str, &'static str)>,
    },
    /// A value that is a path, or a part of one.
    Path {
        value: &'a Expr,
        of: &'p Type,
        span: Span,
    },
}

/// Shows every place of the program once, each unit in the order of its file.
pub fn places<'a>(
    program: &'a Program,
    facts: &Facts<'a>,
    visit: &mut dyn FnMut(&Place<'_, 'a>, Scope<'_, 'a>),
) {
    for (unit, recipe) in program.units.iter().enumerate() {
        let mut walk = Walk {
            facts,
            unit,
            locals: Vec::new(),
            visit,
        };
        recipe.steps.iter().for_each(|step| walk.step(step));
        for script in recipe.hooks.scripts() {
            walk.script(script);
        }
    }
}

struct Walk<'w, 'a> {
    facts: &'w Facts<'a>,
    unit: usize,
    locals: Locals<'a>,
    visit: &'w mut dyn FnMut(&Place<'_, 'a>, Scope<'_, 'a>),
}

impl<'a> Walk<'_, 'a> {
    fn show(&mut self, place: &Place<'_, 'a>) {
        (self.visit)(place, Scope::new(self.facts, self.unit, &self.locals));
    }

    fn expr(&mut self, expr: &'a Expr) -> Type {
        let scope = Scope::new(self.facts, self.unit, &self.locals);
        let visit = &mut self.visit;
        scope.typed(expr, &mut |expr, parts| {
            if !parts.is_empty() {
                visit(&Place::Expr { expr, parts }, scope);
            }
        })
    }

    fn guard(&mut self, guard: &'a Guard) {
        self.expr(&guard.expr);
        self.show(&Place::Guard(guard));
    }

    fn text(&mut self, text: &'a Text) {
        for part in &text.parts {
            if let Part::Value { expr, .. } = part {
                self.expr(expr);
            }
        }
    }

    fn path(&mut self, text: &'a Text) {
        for part in &text.parts {
            if let Part::Value { expr, .. } = part {
                let of = self.expr(expr);
                self.show(&Place::Path {
                    value: expr,
                    of: &of,
                    span: expr.span,
                });
            }
        }
    }

    fn script(&mut self, script: &'a Script) {
        for part in &script.parts {
            match part {
                ScriptPart::Paste(value) | ScriptPart::Words(value) => {
                    self.expr(value);
                }
                // The body of a heredoc stands among the parts itself.
                ScriptPart::Source(_) | ScriptPart::Delimiter { .. } => {}
            }
        }
        for var in &script.vars {
            let of = self.expr(&var.value);
            if let Some(span) = var.path {
                self.show(&Place::Path {
                    value: &var.value,
                    of: &of,
                    span,
                });
            }
            if var.form != VarForm::Text {
                self.show(&Place::Integer {
                    value: &var.value,
                    of: &of,
                    field: None,
                });
            }
        }
    }

    fn step(&mut self, step: &'a Step) {
        if let Some(guard) = &step.guard {
            self.guard(guard);
        }
        if let Some(deadline) = &step.deadline {
            self.expr(deadline);
            if let ExprKind::Seconds { of: value, none } = &deadline.kind {
                let kind = if *none { "seconds_or_none" } else { "seconds" };
                let of = Scope::new(self.facts, self.unit, &self.locals).of(value);
                self.show(&Place::Integer {
                    value,
                    of: &of,
                    field: Some(("timeout", kind)),
                });
            }
        }
        match &step.node {
            Node::Seq(steps)
            | Node::Graph(Graph { steps, .. })
            | Node::Par {
                branches: steps, ..
            } => steps.iter().for_each(|step| self.step(step)),
            Node::Each(each) => self.each(each),
            Node::While(body) => {
                self.guard(&body.condition);
                self.step(&body.body);
                for (_, new) in &body.update {
                    self.expr(new);
                }
                if let Some(until) = &body.until {
                    self.guard(until);
                }
            }
            Node::Act(action) => self.action(action),
        }
    }

    fn each(&mut self, each: &'a Each) {
        let over = self.expr(&each.over);
        if let Some(limit) = &each.limit_from {
            let of = self.expr(limit);
            self.show(&Place::Integer {
                value: limit,
                of: &of,
                field: Some(("max_iterations", "count")),
            });
        }
        self.show(&Place::Each { each, over: &over });
        self.locals.push((&each.item.name, element(&over)));
        self.step(&each.body);
        if let Some(until) = &each.until {
            self.guard(until);
        }
        self.locals.pop();
    }

    fn action(&mut self, action: &'a Action) {
        match action {
            Action::Exec(exec) => {
                self.text(&exec.shell);
                self.script(&exec.script);
                for text in exec.env.iter().map(|(_, text)| text) {
                    self.text(text);
                }
                exec.stdin.iter().for_each(|text| self.text(text));
                exec.cwd.iter().for_each(|text| self.path(text));
            }
            // Whether a variable is there is what a validation asks; it is not a mistake to ask.
            Action::Validate(_) => {}
            Action::Agent(agent) => {
                self.text(&agent.prompt);
                agent.env.iter().for_each(|(_, text)| self.text(text));
                agent.cwd.iter().for_each(|text| self.path(text));
            }
            Action::Call(call) => {
                self.path(&call.recipe);
                for (_, value) in &call.context {
                    self.expr(value);
                }
            }
            Action::Approve(approve) => self.text(&approve.prompt),
            Action::Flow(flow) => flow.reads.iter().for_each(|read| {
                self.expr(read);
            }),
            Action::Sleep { ms } => {
                self.expr(ms);
            }
        }
    }
}
