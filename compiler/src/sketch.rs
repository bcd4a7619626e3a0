//! What a program would do, as far as that is known before it runs.
//!
//! Follows the steps in their order with the values that are given. What a step would set is
//! unknown from there on; a condition is decided only if everything it reads is known.

use crate::emit;
use crate::ir::flow::{Stage, Term, TermKind, Work};
use crate::ir::visit;
use crate::ir::{
    Action, Call, Expr, ExprKind, Graph, Guard, Node, Program, Script, ScriptPart, Step, Text,
};
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::plan::StepKind;
use rrc_vm::policy;
use rrc_vm::shell::readable;
use rrc_vm::text::render;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::verify;
use std::rc::Rc;

/// One step of a sketch.
#[derive(Clone, Debug)]
pub struct Planned {
    pub id: String,
    pub kind: StepKind,
    /// Its condition is false for the values that are given.
    pub skipped: bool,
    /// What it would run or ask, with the values that are known.
    pub text: Option<String>,
    /// What scripts would find in their environment for it: known values, or none.
    pub values: Vec<(String, Option<String>)>,
    pub steps: Vec<Planned>,
}

/// How deep recipes are followed: a recipe that calls itself has no end of its own.
const DEEPEST: usize = 20;

pub fn sketch(program: &Program, variables: &Map) -> Vec<Planned> {
    let mut sketch = Sketch {
        program,
        unit: 0,
        known: variables.clone(),
        depth: 0,
    };
    program
        .units
        .first()
        .map_or_else(Vec::new, |unit| sketch.steps(&unit.steps))
}

struct Sketch<'a> {
    program: &'a Program,
    unit: usize,
    /// Variables whose values are certain here.
    known: Map,
    depth: usize,
}

impl Sketch<'_> {
    fn steps(&mut self, steps: &[Step]) -> Vec<Planned> {
        let mut all = Vec::new();
        for step in steps {
            let planned = self.step(step);
            // What only holds steps together is not a step of the user's.
            match step.kind.is_hidden() {
                true => all.extend(planned.steps),
                false => all.push(planned),
            }
        }
        all
    }

    fn step(&mut self, step: &Step) -> Planned {
        let mut planned = Planned {
            id: step.id.clone(),
            kind: step.kind,
            skipped: step
                .guard
                .as_ref()
                .is_some_and(|guard| self.decide(guard) == Some(false)),
            text: None,
            values: Vec::new(),
            steps: Vec::new(),
        };
        if planned.skipped {
            return planned;
        }
        match &step.node {
            Node::Act(action) => self.action(action, &mut planned),
            Node::Seq(steps) | Node::Graph(Graph { steps, .. }) => {
                planned.steps = self.steps(steps);
            }
            Node::Par { branches, .. } => planned.steps = self.steps(branches),
            Node::Each(each) => {
                self.known.shift_remove(each.item.name.as_str());
                let body = self.step(&each.body);
                (planned.text, planned.values) = (body.text, body.values);
                planned.steps = body.steps;
                each.collect
                    .iter()
                    .chain(&each.last)
                    .for_each(|bind| self.forget(&bind.name));
            }
            Node::While(body) => {
                body.update
                    .iter()
                    .for_each(|(bind, _)| self.forget(&bind.name));
                let inner = self.step(&body.body);
                (planned.text, planned.values) = (inner.text, inner.values);
                planned.steps = inner.steps;
                let binds = body.collect.iter().chain(&body.last);
                binds.for_each(|bind| self.forget(&bind.name));
            }
        }
        step.bind.iter().for_each(|bind| self.forget(&bind.name));
        planned
    }

    fn forget(&mut self, name: &str) {
        self.known.shift_remove(name);
    }

    fn action(&mut self, action: &Action, planned: &mut Planned) {
        match action {
            Action::Exec(exec) => {
                planned.text = Some(self.source(&exec.script));
                for var in &exec.script.vars {
                    let value = self
                        .value(&var.value)
                        .map(|value| render(&value).to_string());
                    planned.values.push((var.name.clone(), value));
                }
            }
            Action::Agent(agent) => planned.text = Some(self.text(&agent.prompt)),
            Action::Approve(approve) => planned.text = Some(self.text(&approve.prompt)),
            Action::Call(call) => {
                planned.text = Some(self.text(&call.recipe));
                planned.steps = self.call(call);
            }
            Action::Flow(flow) => {
                let mut commands = Vec::new();
                self.commands(&flow.root, &mut commands);
                planned.text = Some(commands.join("\n"));
            }
            Action::Validate(_) | Action::Sleep { .. } => {}
        }
    }

    /// The commands of a stage by their words, a line each; what only a failed try needs is left out.
    fn commands(&self, stage: &Stage, commands: &mut Vec<String>) {
        match &stage.work {
            Work::Run { words, .. } => {
                let words: Vec<String> = words.iter().map(|word| self.word(word)).collect();
                commands.push(words.join(" "));
            }
            Work::Inside(inner) => self.commands(inner, commands),
            Work::Times(times) => self.commands(&times.body, commands),
            Work::Seq(stages) | Work::Par(stages) => {
                stages
                    .iter()
                    .for_each(|stage| self.commands(stage, commands));
            }
        }
    }

    /// A word of a command, quoted for reading where all of it is known.
    fn word(&self, word: &Term) -> String {
        let mut known = true;
        let text = self.term(word, &mut known);
        match known {
            true => readable(&text),
            false => text,
        }
    }

    fn term(&self, term: &Term, known: &mut bool) -> String {
        match &term.kind {
            TermKind::Literal(literal) => render(&literal.value()).to_string(),
            TermKind::Text(parts) => parts.iter().map(|part| self.term(part, known)).collect(),
            TermKind::Fit { of, .. } => self.term(of, known),
            TermKind::Var(name) => match self.known.get(name.as_str()) {
                Some(value) => render(value).to_string(),
                None => {
                    *known = false;
                    format!("<{name}>")
                }
            },
            TermKind::OrElse {
                of, truth: None, ..
            } => self.term(of, known),
            _ => {
                *known = false;
                let mut names = Vec::new();
                names_in(term, &mut names);
                format!("<{}>", names.join(", "))
            }
        }
    }

    fn call(&mut self, call: &Call) -> Vec<Planned> {
        let Some(target) = call.target.filter(|_| self.depth < DEEPEST) else {
            return Vec::new();
        };
        let unit = &self.program.units[target];
        let mut known = Map::default();
        for input in &unit.inputs {
            known.insert(Rc::from(input.name.as_str()), input.default.value());
        }
        if call.inherits {
            known.extend(self.known.clone());
        }
        for (name, expr) in &call.context {
            match self.value(expr) {
                Some(value) => known.insert(Rc::from(name.as_str()), value),
                None => known.shift_remove(name.as_str()),
            };
        }
        let mut inner = Sketch {
            program: self.program,
            unit: target,
            known,
            depth: self.depth + 1,
        };
        let steps = inner.steps(&unit.steps);
        if call.spreads {
            // What the recipe certainly leaves is known; what it may have set is not.
            self.known = inner.known;
        }
        steps
    }

    /// Whether a condition holds, if that is certain.
    fn decide(&self, guard: &Guard) -> Option<bool> {
        let value = self.value(&guard.expr)?;
        Some(match guard.truth {
            crate::ir::Truth::Words => policy::truth_words(&value),
            crate::ir::Truth::Emptiness => policy::truth_emptiness(&value),
            crate::ir::Truth::Flags => policy::truth_flags(&value),
        })
    }

    /// The value of an expression, if everything it reads is known.
    fn value(&self, expr: &Expr) -> Option<Value> {
        let mut certain = true;
        visit::walk(expr, &mut |expr| {
            if let ExprKind::Var { name, .. } = &expr.kind {
                certain &= self.known.contains_key(name.as_str());
            }
        });
        if !certain {
            return None;
        }
        let unit = self.program.units.get(self.unit)?.clone();
        let plan = verify(emit::emit_expression(unit, expr)).ok()?;
        let limits = plan.plan().limits;
        let mut machine = Machine::new(plan, self.known.clone(), limits);
        loop {
            match machine.poll() {
                Poll::Done(finished) => {
                    return finished.outcome.ok().filter(|value| !value.failed());
                }
                Poll::Idle => return None,
                _ => {}
            }
        }
    }

    /// Text with the values that are known in it, and the names of the others.
    fn text(&self, text: &Text) -> String {
        let mut written = String::new();
        for part in &text.parts {
            match part {
                crate::ir::Part::Literal(literal) => written.push_str(literal),
                crate::ir::Part::Value { expr, .. } => written.push_str(&self.shown(expr)),
            }
        }
        written
    }

    fn source(&self, script: &Script) -> String {
        let mut written = String::new();
        for part in &script.parts {
            match part {
                ScriptPart::Source(source) => written.push_str(source),
                ScriptPart::Paste(expr) | ScriptPart::Words(expr) => {
                    written.push_str(&self.shown(expr));
                }
                ScriptPart::Delimiter { base, .. } => written.push_str(base),
            }
        }
        written
    }

    fn shown(&self, expr: &Expr) -> String {
        match self.value(expr) {
            Some(value) => render(&value).to_string(),
            None => format!("<{}>", name_of(expr)),
        }
    }
}

/// The values that one is made of.
fn names_in<'a>(term: &'a Term, names: &mut Vec<&'a str>) {
    match &term.kind {
        TermKind::Var(name) | TermKind::Turn(name) => names.push(name),
        _ => term
            .parts()
            .into_iter()
            .for_each(|part| names_in(part, names)),
    }
}

/// What to call a value that is not known.
fn name_of(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Var { name, .. } => name.clone(),
        ExprKind::Field { of, name, .. } => format!("{}.{name}", name_of(of)),
        ExprKind::Index { of, .. } => format!("{}[…]", name_of(of)),
        _ => "…".to_string(),
    }
}
