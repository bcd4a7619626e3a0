//! What a program would do, as far as that is known before it runs.
//!
//! Follows the steps in their order with the values that are given. What a step would set is
//! unknown from there on; a condition is decided only if everything it reads is known.

use crate::emit;
use crate::ir::evaluate::{Look, Names, evaluate};
use crate::ir::flow::{Stage, Term, TermKind, Times, Work};
use crate::ir::visit;
use crate::ir::{
    Action, Call, Expr, ExprKind, Graph, Guard, Node, OnFailure, Program, RunLimits, Script,
    ScriptPart, Step, Text, Truth,
};
use crate::schedule::set_by;
use rrc_vm::flow;
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::plan::StepKind;
use rrc_vm::policy;
use rrc_vm::shell::{quote_words, readable};
use rrc_vm::text::{json_text, render};
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
    /// It is no step, but the question whether to go on after the stage that it is named after.
    pub approval: bool,
    /// What keeps the run from doing this, whatever the step says.
    pub limit: Option<String>,
}

/// A whole sketch.
#[derive(Clone, Debug, Default)]
pub struct Sketched {
    pub steps: Vec<Planned>,
    /// Why it ends before the recipe does, if it does.
    pub cut: Option<String>,
}

/// Steps of a sketch, loops and what they hold included: the limits of a recipe do not count those.
const MOST_SHOWN: u32 = 10_000;

/// Follows what is called within the limits of the first recipe, as a run does: a recipe that calls
/// itself has no end of its own.
pub fn sketch(program: &Program, variables: &Map) -> Sketched {
    let Some(unit) = program.units.first() else {
        return Sketched::default();
    };
    let mut sketch = Sketch {
        program,
        unit: 0,
        known: variables.clone(),
        depth: 0,
        limits: unit.limits,
        spent: Spent::default(),
    };
    let steps = sketch.steps(&unit.steps);
    let RunLimits { steps: most, .. } = unit.limits;
    let Spent { ran, shown, .. } = sketch.spent;
    let cut = match (ran > most, shown > MOST_SHOWN) {
        (true, _) => Some(format!("more than {most} steps would run")),
        (false, true) => Some(format!("only {MOST_SHOWN} steps are shown")),
        (false, false) => None,
    };
    Sketched { steps, cut }
}

/// What has been sketched so far.
#[derive(Clone, Copy, Default)]
struct Spent {
    /// Steps that a run counts, and all that are shown.
    ran: u32,
    shown: u32,
    /// Loops around the step, in its own recipe.
    loops: u32,
}

struct Sketch<'a> {
    program: &'a Program,
    unit: usize,
    /// Variables whose values are certain here.
    known: Map,
    depth: u32,
    limits: RunLimits,
    spent: Spent,
}

impl Sketch<'_> {
    /// Whether the sketch has reached its end.
    fn is_over(&self) -> bool {
        self.spent.ran > self.limits.steps || self.spent.shown > MOST_SHOWN
    }

    fn steps(&mut self, steps: &[Step]) -> Vec<Planned> {
        let mut all = Vec::new();
        for step in steps {
            let skipped = self.is_skipped(step);
            if !step.kind.is_hidden() && !self.count(skipped) {
                break;
            }
            let planned = self.step(step, skipped);
            // What only holds steps together is not a step of the user's.
            match step.kind.is_hidden() && !planned.approval {
                true => all.extend(planned.steps),
                false => all.push(planned),
            }
        }
        all
    }

    /// Whether there is room for one more step.
    fn count(&mut self, skipped: bool) -> bool {
        self.spent.shown += 1;
        if self.spent.loops == 0 && !skipped {
            self.spent.ran += 1;
        }
        !self.is_over()
    }

    fn is_skipped(&self, step: &Step) -> bool {
        let guard = step.guard.as_ref();
        guard.is_some_and(|guard| self.decide(guard) == Some(false))
    }

    /// What a loop does each time.
    fn turn(&mut self, step: &Step) -> Planned {
        self.spent.loops += 1;
        let planned = self.step(step, self.is_skipped(step));
        self.spent.loops -= 1;
        planned
    }

    fn step(&mut self, step: &Step, skipped: bool) -> Planned {
        let mut planned = Planned {
            id: step.id.clone(),
            kind: step.kind,
            skipped,
            text: None,
            values: Vec::new(),
            steps: Vec::new(),
            approval: false,
            limit: None,
        };
        if planned.skipped {
            return planned;
        }
        let before = self.may_leave_nothing(step).then(|| self.known.clone());
        match &step.node {
            Node::Act(action) => self.action(action, &mut planned),
            Node::Seq(steps) | Node::Graph(Graph { steps, .. }) => {
                planned.steps = self.steps(steps);
            }
            Node::Par { branches, .. } => planned.steps = self.steps(branches),
            Node::Each(each) => {
                self.known.shift_remove(each.item.name.as_str());
                if each.width.is_none() {
                    self.forget_turn(&each.body);
                }
                let turns = each.last_of_turns();
                turns.iter().for_each(|bind| self.forget(&bind.name));
                let body = self.turn(&each.body);
                (planned.text, planned.values) = (body.text, body.values);
                planned.limit = body.limit;
                planned.steps = body.steps;
                each.collect
                    .iter()
                    .chain(&each.last)
                    .for_each(|bind| self.forget(&bind.name));
            }
            Node::While(body) => {
                self.forget_turn(&body.body);
                let updates = body.update.iter().map(|(bind, _)| bind);
                updates
                    .chain(&body.last)
                    .for_each(|bind| self.forget(&bind.name));
                let inner = self.turn(&body.body);
                (planned.text, planned.values) = (inner.text, inner.values);
                planned.limit = inner.limit;
                planned.steps = inner.steps;
                let collect = body.collect.iter();
                collect.for_each(|bind| self.forget(&bind.name));
            }
        }
        step.bind.iter().for_each(|bind| self.forget(&bind.name));
        if let Some(before) = before {
            let same = |name: &str, value: &Value| {
                let before = before.get(name);
                before.is_some_and(|before| json_text(before) == json_text(value))
            };
            self.known.retain(|name, value| same(name, value));
        }
        planned
    }

    /// Whether what a step sets may not be there after it: it may not run, or fail and be forgiven.
    fn may_leave_nothing(&self, step: &Step) -> bool {
        let runs = step.guard.as_ref().map(|guard| self.decide(guard));
        runs.is_some_and(|runs| runs != Some(true)) || step.on_failure != OnFailure::Stop
    }

    /// What a turn of a loop sets is not known in the next one.
    fn forget_turn(&mut self, body: &Step) {
        let set = set_by(self.program, body);
        match set.others {
            true => self.known.clear(),
            false => set.names.iter().for_each(|name| self.forget(name)),
        }
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
            Action::Approve(approve) => {
                planned.approval = true;
                planned.text = Some(self.text(&approve.prompt));
            }
            Action::Call(call) => {
                planned.text = Some(self.text(&call.recipe));
                let most = self.limits.depth;
                match call.target {
                    Some(_) if self.depth >= most => {
                        planned.limit = Some(format!(
                            "recipes would call each other deeper than the {most} allowed"
                        ));
                    }
                    Some(target) => planned.steps = self.call(call, target),
                    None => {}
                }
            }
            Action::Flow(flow) => {
                let mut commands = Vec::new();
                self.commands(&flow.root, &mut Map::default(), &mut commands);
                planned.text = Some(commands.join("\n"));
            }
            Action::Validate(_) | Action::Sleep { .. } => {}
        }
    }

    /// The commands of a stage by their words, a line each; what only a failed try needs is left out, and
    /// what a condition skips for certain. `turns` holds what repetitions around it set.
    fn commands(&self, stage: &Stage, turns: &mut Map, commands: &mut Vec<String>) {
        let guard = stage.guard.as_ref();
        let runs = guard.and_then(|guard| self.evaluate(guard, turns));
        if runs.is_some_and(|value| !policy::truth_flags(&value)) {
            return;
        }
        match &stage.work {
            Work::Run { words, .. } => {
                let words = words.iter().filter_map(|word| self.word(word, turns));
                commands.push(words.collect::<Vec<_>>().join(" "));
            }
            Work::Inside(inner) => self.commands(inner, turns, commands),
            Work::Times(times) => self.turns(times, turns, commands),
            Work::Seq(stages) | Work::Par(stages) => {
                for stage in stages {
                    self.commands(stage, turns, commands);
                }
            }
        }
    }

    /// Each turn if it is known how many there are, else one of them; of many, the first.
    fn turns(&self, times: &Times, turns: &mut Map, commands: &mut Vec<String>) {
        const SHOWN: i64 = 20;
        let count = self.evaluate(&times.count, turns);
        let Some(count) = count.and_then(|count| flow::integer(&count)) else {
            return self.commands(&times.body, turns, commands);
        };
        turns.insert(times.total.as_str().into(), Value::Int(count));
        for turn in 0..count.min(SHOWN) {
            turns.insert(times.index.as_str().into(), Value::Int(turn));
            self.commands(&times.body, turns, commands);
        }
        if count > SHOWN {
            commands.push(format!("… and {} times more", count - SHOWN));
        }
        turns.shift_remove(times.index.as_str());
        turns.shift_remove(times.total.as_str());
    }

    /// A word of a command, quoted for reading where all of it is known; none if it is empty then, as no
    /// command is given such a word.
    fn word(&self, word: &Term, turns: &Map) -> Option<String> {
        match self.evaluate(word, turns) {
            Some(value) => {
                let text = render(&value);
                (!text.is_empty()).then(|| readable(&text))
            }
            None => Some(self.term(word, turns)),
        }
    }

    fn term(&self, term: &Term, turns: &Map) -> String {
        if let Some(value) = self.evaluate(term, turns) {
            return render(&value).to_string();
        }
        match &term.kind {
            TermKind::Text(parts) => parts.iter().map(|part| self.term(part, turns)).collect(),
            _ => {
                let mut names = Vec::new();
                names_in(term, &mut names);
                names.sort_unstable();
                names.dedup();
                format!("<{}>", names.join(", "))
            }
        }
    }

    /// What a value of a template comes to; none if that is not known, or if it is a failure.
    fn evaluate(&self, term: &Term, turns: &Map) -> Option<Value> {
        let names = Certain {
            variables: &self.known,
            turns,
        };
        evaluate(term, &names).ok()
    }

    fn call(&mut self, call: &Call, target: usize) -> Vec<Planned> {
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
            limits: self.limits,
            spent: Spent {
                loops: 0,
                ..self.spent
            },
        };
        let steps = inner.steps(&unit.steps);
        self.spent = Spent {
            loops: self.spent.loops,
            ..inner.spent
        };
        if call.spreads {
            // What the recipe certainly leaves is known; what it may have set is not.
            self.known = inner.known;
        }
        steps
    }

    /// Whether a condition holds, if that is certain.
    fn decide(&self, guard: &Guard) -> Option<bool> {
        self.holds(&guard.expr, guard.truth)
    }

    /// What decides before everything is read decides here too: a run does not read the rest.
    fn holds(&self, expr: &Expr, truth: Truth) -> Option<bool> {
        match &expr.kind {
            ExprKind::And { left, right, truth } => match self.holds(left, *truth)? {
                true => self.holds(right, *truth),
                false => Some(false),
            },
            ExprKind::Or { left, right, truth } => match self.holds(left, *truth)? {
                true => Some(true),
                false => self.holds(right, *truth),
            },
            ExprKind::Not { of, truth } => self.holds(of, *truth).map(|holds| !holds),
            ExprKind::Truth { of, truth } => self.holds(of, *truth),
            _ => {
                let value = self.value(expr)?;
                Some(match truth {
                    Truth::Words => policy::truth_words(&value),
                    Truth::Emptiness => policy::truth_emptiness(&value),
                    Truth::Flags => policy::truth_flags(&value),
                })
            }
        }
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
                ScriptPart::Paste(expr) => written.push_str(&self.shown(expr)),
                ScriptPart::Words(expr) => match self.value(expr) {
                    Some(value) => written.push_str(&quote_words(&render(&value))),
                    None => written.push_str(&self.shown(expr)),
                },
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

/// Variables whose values are certain; any other may be set until it is read.
struct Certain<'a> {
    variables: &'a Map,
    turns: &'a Map,
}

impl Names for Certain<'_> {
    fn var(&self, name: &str, _: Option<&Term>) -> Look {
        let value = self.variables.get(name).cloned();
        value.map_or(Look::Unknown, Look::Value)
    }

    fn turn(&self, name: &str) -> Option<Value> {
        self.turns.get(name).cloned()
    }
}

/// The values that one is made of.
fn names_in<'a>(term: &'a Term, names: &mut Vec<&'a str>) {
    match &term.kind {
        TermKind::Var(name) => names.push(name),
        // What is behind the mark tells one repetition from another, and is nobody's business.
        TermKind::Turn(name) => names.push(name.split('#').next().unwrap_or(name)),
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
