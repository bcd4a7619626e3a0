//! What happens to the variables of a unit, in the order in which its steps run.
//!
//! Rules about names ask this list. Each event says under which conditions it happens: those of
//! the steps around it, the loops it stands in, and the steps that may fail without ending the
//! run.

use super::known::Known;
use crate::ir::visit;
use crate::ir::{
    Action, Bind, Call, Compare, Exec, Expr, ExprKind, Graph, Guard, Input, Literal, Mention,
    Missing, Node, OnFailure, Program, Read, Script, Step, Unit,
};
pub use crate::shell::{spelt, stands_for};
use crate::source::Span;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::ops::Range;
use std::rc::Rc;

/// One thing that happens.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    pub what: What<'a>,
    pub step: &'a Step,
    /// Under which conditions, the outermost first; shared with the events around it.
    pub under: Rc<[Under<'a>]>,
    /// Whether a loop may come back to it, also one that is known to run.
    pub in_loop: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    Read {
        name: &'a str,
        span: Span,
        missing: Missing,
    },
    /// A script names a shell variable that is not one of its holes.
    Mention {
        mention: &'a Mention,
        script: &'a Script,
    },
    Set {
        bind: &'a Bind,
    },
    /// The variable of a loop; it is gone after it.
    Item {
        bind: &'a Bind,
    },
    Leave {
        bind: &'a Bind,
    },
    Run {
        exec: &'a Exec,
    },
    Call {
        call: &'a Call,
    },
}

/// A condition of an event.
#[derive(Clone, Copy, Debug)]
pub enum Under<'a> {
    /// A condition is true, or false.
    Holds(&'a Expr, bool),
    /// A loop runs its body; the number tells loops apart.
    Loop(usize, Span),
    /// A step that may fail and be passed over has not failed.
    Succeeds(usize, Span),
}

/// The events of a unit, in order, and which of them are about each name.
pub struct Flow<'a> {
    pub events: Vec<Event<'a>>,
    names: FxHashMap<&'a str, SmallVec<[usize; 4]>>,
    inputs: Inputs<'a>,
    /// Which of them are calls of recipes that give all their variables back.
    pub spreads: Vec<usize>,
}

type Inputs<'a> = FxHashMap<&'a str, &'a Input>;

impl<'a> Flow<'a> {
    pub fn new(unit: &'a Unit) -> Flow<'a> {
        let inputs = unit.inputs.iter();
        let inputs: Inputs<'_> = inputs.map(|input| (input.name.as_str(), input)).collect();
        let events = trace(unit, &inputs);
        let mut names: FxHashMap<&str, SmallVec<[usize; 4]>> = FxHashMap::default();
        names.reserve(unit.steps.len());
        let mut spreads = Vec::new();
        for (at, event) in events.iter().enumerate() {
            let name = match event.what {
                What::Read { name, .. } => name,
                What::Set { bind } | What::Item { bind } | What::Leave { bind } => &bind.name,
                What::Call { call } if call.spreads => {
                    spreads.push(at);
                    continue;
                }
                What::Mention { .. } | What::Run { .. } | What::Call { .. } => continue,
            };
            names.entry(name).or_default().push(at);
        }
        Flow {
            events,
            names,
            inputs,
            spreads,
        }
    }

    /// The variable that a unit starts with.
    pub fn input(&self, name: &str) -> Option<&'a Input> {
        self.inputs.get(name).copied()
    }

    /// The variables that something happens to.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.names.keys().copied()
    }

    /// The first thing that happens to a variable from one event on.
    pub fn next(&self, name: &str, from: usize) -> Option<(usize, &Event<'a>)> {
        let all = self.names.get(name)?;
        let at = *all.get(all.partition_point(|at| *at < from))?;
        Some((at, &self.events[at]))
    }

    /// What happens to a variable from one event on, up to another.
    pub fn about(&self, name: &str, range: Range<usize>) -> impl Iterator<Item = &Event<'a>> {
        let all = self.names.get(name).map_or(&[][..], SmallVec::as_slice);
        let from = all.partition_point(|at| *at < range.start);
        let to = all.partition_point(|at| *at < range.end);
        all[from..to.max(from)].iter().map(|at| &self.events[*at])
    }
}

/// The events of a unit, in order. Hooks come last: they may see what any step sets.
fn trace<'a>(unit: &'a Unit, inputs: &Inputs<'a>) -> Vec<Event<'a>> {
    let mut trace = Trace {
        inputs,
        set: FxHashSet::with_capacity_and_hasher(unit.steps.len(), FxBuildHasher),
        events: Vec::with_capacity(8 * unit.steps.len()),
        under: Conditions::default(),
        numbers: 0,
        loops: 0,
    };
    unit.steps.iter().for_each(|step| trace.step(step));
    if let Some(last) = unit.steps.last() {
        for script in unit.hooks.scripts() {
            visit::walk_script(script, &mut |expr| trace.read(expr, last));
            trace.script(script, last);
        }
    }
    trace.events
}

/// Units that another one calls: their variables are read by callers.
pub fn called(program: &Program) -> Vec<bool> {
    let mut called = vec![false; program.units.len()];
    for step in program.units.iter().flat_map(|unit| &unit.steps) {
        visit::calls(step, &mut |call| {
            if let Some(target) = call.target {
                called[target] = true;
            }
        });
    }
    called
}

/// What is known to hold when all of these do.
pub fn known(under: &[Under<'_>]) -> Known {
    let mut known = Known::default();
    for condition in under {
        if let Under::Holds(expr, holds) = condition {
            known.add(expr, *holds);
        }
    }
    known
}

/// Whether a condition is among others, or follows from them.
pub fn is_met(condition: &Under<'_>, under: &[Under<'_>], known: &Known) -> bool {
    match condition {
        Under::Holds(expr, holds) => known.implies(expr, *holds),
        Under::Loop(number, _) => under
            .iter()
            .any(|other| matches!(other, Under::Loop(n, _) if n == number)),
        Under::Succeeds(number, _) => under
            .iter()
            .any(|other| matches!(other, Under::Succeeds(n, _) if n == number)),
    }
}

struct Trace<'i, 'a> {
    inputs: &'i Inputs<'a>,
    /// What steps have set so far.
    set: FxHashSet<&'a str>,
    events: Vec<Event<'a>>,
    under: Conditions<'a>,
    numbers: usize,
    /// How many loops are around the present point.
    loops: usize,
}

/// The conditions at one point, and a copy for the events there, made when the first of them comes.
#[derive(Default)]
struct Conditions<'a> {
    stack: Vec<Under<'a>>,
    copy: Option<Rc<[Under<'a>]>>,
    /// The copy where there are none, which is where most steps stand.
    none: Option<Rc<[Under<'a>]>>,
}

impl<'a> Conditions<'a> {
    fn len(&self) -> usize {
        self.stack.len()
    }

    fn push(&mut self, under: Under<'a>) {
        self.stack.push(under);
        self.copy = None;
    }

    fn truncate(&mut self, len: usize) {
        if len < self.stack.len() {
            self.stack.truncate(len);
            self.copy = None;
        }
    }

    fn shared(&mut self) -> Rc<[Under<'a>]> {
        let copy = match self.stack.is_empty() {
            true => &mut self.none,
            false => &mut self.copy,
        };
        Rc::clone(copy.get_or_insert_with(|| self.stack.as_slice().into()))
    }
}

impl<'a> Trace<'_, 'a> {
    fn add(&mut self, what: What<'a>, step: &'a Step) {
        if let What::Set { bind } = what {
            self.set.insert(&bind.name);
        }
        let under = self.under.shared();
        self.events.push(Event {
            what,
            step,
            under,
            in_loop: self.loops > 0,
        });
    }

    fn step(&mut self, step: &'a Step) {
        let depth = self.under.len();
        if let Some(guard) = &step.guard {
            self.reads(&guard.expr, step);
            self.under.push(Under::Holds(&guard.expr, true));
        }
        if let Some(deadline) = &step.deadline {
            self.reads(deadline, step);
        }
        let inner = self.under.len();
        let goes_on = matches!(step.on_failure, OnFailure::Continue { .. });
        // A loop goes on after a failing turn; a list of steps ends with the first that fails.
        let list = matches!(step.node, Node::Seq(_) | Node::Par { .. } | Node::Graph(_));
        if goes_on && list {
            let number = self.number();
            self.under.push(Under::Succeeds(number, step.span));
        }
        match &step.node {
            Node::Act(action) => self.action(action, step),
            Node::Seq(steps) | Node::Graph(Graph { steps, .. }) => {
                steps.iter().for_each(|step| self.step(step));
            }
            Node::Par { branches, .. } => branches.iter().for_each(|step| self.step(step)),
            Node::Each(each) => {
                self.reads(&each.over, step);
                each.limit_from
                    .iter()
                    .for_each(|limit| self.reads(limit, step));
                let before = self.under.len();
                self.loops += 1;
                if !self.has_items(&each.over) {
                    let number = self.number();
                    self.under.push(Under::Loop(number, each.over.span));
                }
                self.add(What::Item { bind: &each.item }, step);
                self.step(&each.body);
                let turns = each.last_of_turns();
                if let Some(bind) = turns {
                    self.add(What::Set { bind }, step);
                }
                if let Some(until) = &each.until {
                    self.reads(&until.expr, step);
                }
                self.add(What::Leave { bind: &each.item }, step);
                if let Some(bind) = each.last.as_ref().filter(|_| turns.is_none()) {
                    self.add(What::Set { bind }, step);
                }
                self.under.truncate(before);
                self.loops -= 1;
                if let Some(collect) = &each.collect {
                    self.add(What::Set { bind: collect }, step);
                }
            }
            Node::While(body) => {
                self.reads(&body.condition.expr, step);
                let before = self.under.len();
                self.loops += 1;
                if !self.starts(&body.condition) {
                    let number = self.number();
                    self.under
                        .push(Under::Loop(number, body.condition.expr.span));
                }
                self.step(&body.body);
                if let Some(bind) = &body.last {
                    self.add(What::Set { bind }, step);
                }
                for (bind, new) in &body.update {
                    self.reads(new, step);
                    self.add(What::Set { bind }, step);
                }
                if let Some(until) = &body.until {
                    self.reads(&until.expr, step);
                }
                self.under.truncate(before);
                self.loops -= 1;
                if let Some(collect) = &body.collect {
                    self.add(What::Set { bind: collect }, step);
                }
            }
        }
        self.under.truncate(inner);
        self.binds(step, goes_on);
        self.under.truncate(depth);
    }

    /// A failed process has written something; a failed recipe has no result.
    fn binds(&mut self, step: &'a Step, goes_on: bool) {
        let call = matches!(&step.node, Node::Act(action) if matches!(**action, Action::Call(_)));
        for bind in &step.bind {
            let depth = self.under.len();
            let keeps = matches!(step.on_failure, OnFailure::Continue { keep_output: true });
            if goes_on && bind.read == Read::Value && (call || !keeps) {
                let number = self.number();
                self.under.push(Under::Succeeds(number, step.span));
            }
            self.add(What::Set { bind }, step);
            self.under.truncate(depth);
        }
    }

    fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    fn action(&mut self, action: &'a Action, step: &'a Step) {
        visit::walk_action(action, &mut |expr| self.read(expr, step));
        match action {
            Action::Exec(exec) => {
                self.script(&exec.script, step);
                self.add(What::Run { exec }, step);
            }
            Action::Call(call) => self.add(What::Call { call }, step),
            _ => {}
        }
    }

    fn script(&mut self, script: &'a Script, step: &'a Step) {
        for mention in &script.mentions {
            self.add(What::Mention { mention, script }, step);
        }
    }

    /// The right side of `and` is only asked when the left one holds, that of `or` when it does
    /// not.
    fn reads(&mut self, expr: &'a Expr, step: &'a Step) {
        let (left, right, holds) = match &expr.kind {
            ExprKind::And { left, right, .. } => (left, right, true),
            ExprKind::Or { left, right, .. } => (left, right, false),
            ExprKind::Not { of, .. } | ExprKind::Truth { of, .. } => return self.reads(of, step),
            _ => {
                visit::walk(expr, &mut |expr| self.read(expr, step));
                return;
            }
        };
        self.reads(left, step);
        let depth = self.under.len();
        self.under.push(Under::Holds(left, holds));
        self.reads(right, step);
        self.under.truncate(depth);
    }

    fn read(&mut self, expr: &'a Expr, step: &'a Step) {
        if let ExprKind::Var { name, missing } = &expr.kind {
            let (name, span, missing) = (name.as_str(), expr.span, *missing);
            self.add(
                What::Read {
                    name,
                    span,
                    missing,
                },
                step,
            );
        }
    }

    /// The default of a variable that no step has set yet.
    fn default(&self, expr: &Expr) -> Option<&'a Literal> {
        let ExprKind::Var { name, .. } = &expr.kind else {
            return None;
        };
        let set = self.set.contains(name.as_str());
        let input = self.inputs.get(name.as_str())?;
        (!set).then_some(&input.default)
    }

    fn has_items(&self, over: &Expr) -> bool {
        matches!(self.default(over), Some(Literal::List(items)) if !items.is_empty())
    }

    /// Whether a loop runs at least once as long as nobody changes the defaults.
    fn starts(&self, condition: &Guard) -> bool {
        self.holds(&condition.expr).unwrap_or(false)
    }

    fn holds(&self, expr: &Expr) -> Option<bool> {
        match &expr.kind {
            ExprKind::And { left, right, .. } => Some(self.holds(left)? && self.holds(right)?),
            ExprKind::Or { left, right, .. } => Some(self.holds(left)? || self.holds(right)?),
            ExprKind::Not { of, .. } => Some(!self.holds(of)?),
            ExprKind::Truth { of, .. } => self.holds(of),
            ExprKind::Compare {
                op, left, right, ..
            } => compare(*op, self.literal(left)?, self.literal(right)?),
            _ => match self.literal(expr)? {
                Literal::Bool(value) => Some(*value),
                Literal::Text(text) => Some(!matches!(text.as_str(), "" | "false" | "0")),
                _ => None,
            },
        }
    }

    fn literal<'b>(&self, expr: &'b Expr) -> Option<&'b Literal>
    where
        'a: 'b,
    {
        match &expr.kind {
            ExprKind::Literal(literal) => Some(literal),
            _ => self.default(expr),
        }
    }
}

/// Only where every dialect agrees.
fn compare(op: Compare, left: &Literal, right: &Literal) -> Option<bool> {
    let text = |literal: &Literal| match literal {
        Literal::Text(text) => Some(text.clone()),
        Literal::Bool(value) => Some(value.to_string()),
        Literal::Int(value) => Some(value.to_string()),
        _ => None,
    };
    let (left, right) = (text(left)?, text(right)?);
    let numbers = left.parse::<f64>().ok().zip(right.parse::<f64>().ok());
    match op {
        Compare::Eq => Some(left == right),
        Compare::Ne => Some(left != right),
        Compare::Lt => numbers.map(|(left, right)| left < right),
        Compare::Le => numbers.map(|(left, right)| left <= right),
        Compare::Gt => numbers.map(|(left, right)| left > right),
        Compare::Ge => numbers.map(|(left, right)| left >= right),
        Compare::In | Compare::NotIn => None,
    }
}
