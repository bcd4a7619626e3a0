//! Steps that run as a graph: which of them wait for which.
//!
//! A step waits for those it names, and for those that set what it reads. It also waits for those
//! before it that read or set what it sets: so the variables come to the same values in whichever
//! order the rest happens, and file order is one of them. Names count as the environment of a
//! script spells them, so two names may be taken for one, and a step may wait for one too many.

use crate::ir::{Action, Call, Exports, Expr, ExprKind, Graph, Node, Program, Step, visit};
use crate::shell::{spelt, stands_for};
use rustc_hash::{FxHashMap, FxHashSet};

/// For each step, those before it that it waits for.
pub fn waits(program: &Program, graph: &Graph) -> Vec<Vec<usize>> {
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    for (number, step) in graph.steps.iter().enumerate() {
        visit::steps(step, &mut |step| {
            places.entry(&step.id).or_insert(number);
        });
    }
    let mut waits: Vec<FxHashSet<usize>> = vec![FxHashSet::default(); graph.steps.len()];
    for (step, other) in &graph.after {
        if let (Some(step), Some(other)) = (places.get(step.as_str()), places.get(other.as_str()))
            && other < step
        {
            waits[*step].insert(*other);
        }
    }
    let mut past = Past::default();
    for (number, step) in graph.steps.iter().enumerate() {
        past.add(number, &Uses::of(program, step), &mut waits[number]);
    }
    let sorted = |waits: FxHashSet<usize>| {
        let mut waits: Vec<usize> = waits.into_iter().collect();
        waits.sort_unstable();
        waits
    };
    waits.into_iter().map(sorted).collect()
}

/// Who has used which name so far, as far as anybody has to wait for it.
#[derive(Default)]
struct Past {
    names: FxHashMap<String, Name>,
    /// Steps that read, or may set, any name.
    read_all: Vec<usize>,
    set_all: Option<usize>,
}

#[derive(Default)]
struct Name {
    setter: Option<usize>,
    readers: Vec<usize>,
}

impl Past {
    fn add(&mut self, number: usize, uses: &Uses, waits: &mut FxHashSet<usize>) {
        let sets_any = uses.sets_all || !uses.sets.is_empty();
        waits.extend(self.set_all);
        for name in &uses.reads {
            let name = self.names.entry(name.clone()).or_default();
            waits.extend(name.setter);
            name.readers.push(number);
        }
        if uses.reads_all {
            waits.extend(self.names.values().filter_map(|name| name.setter));
        }
        for name in &uses.sets {
            let name = self.names.entry(name.clone()).or_default();
            waits.extend(name.setter.replace(number));
            waits.extend(name.readers.drain(..));
        }
        if sets_any {
            waits.extend(&self.read_all);
        }
        if uses.reads_all {
            // Whoever waits for this one waits for the others with it.
            if sets_any {
                self.read_all.clear();
            }
            self.read_all.push(number);
        }
        if uses.sets_all {
            let all = self.names.drain().map(|(_, name)| name);
            all.for_each(|name| waits.extend(name.readers.into_iter().chain(name.setter)));
            self.set_all = Some(number);
        }
        waits.remove(&number);
    }
}

/// The names that a step and the steps in it read and set.
#[derive(Default)]
struct Uses {
    reads: FxHashSet<String>,
    reads_all: bool,
    sets: FxHashSet<String>,
    sets_all: bool,
}

impl Uses {
    fn of(program: &Program, step: &Step) -> Uses {
        let set = set_by(program, step);
        let mut uses = Uses {
            sets: set.names.iter().map(|name| spelt(name).into()).collect(),
            sets_all: set.others,
            ..Uses::default()
        };
        visit::steps(step, &mut |step| {
            let guards = step.guard.iter().map(|guard| &guard.expr);
            guards.chain(&step.deadline).for_each(|e| uses.read(e));
            match &step.node {
                Node::Act(action) => uses.action(action),
                Node::Each(each) => {
                    uses.read(&each.over);
                    each.limit_from.iter().for_each(|limit| uses.read(limit));
                    each.until.iter().for_each(|until| uses.read(&until.expr));
                }
                Node::While(body) => {
                    uses.read(&body.condition.expr);
                    body.until.iter().for_each(|until| uses.read(&until.expr));
                    body.update.iter().for_each(|(_, new)| uses.read(new));
                }
                Node::Seq(_) | Node::Par { .. } | Node::Graph(_) => {}
            }
        });
        uses
    }

    fn read(&mut self, expr: &Expr) {
        visit::walk(expr, &mut |expr| self.one(expr));
    }

    fn one(&mut self, expr: &Expr) {
        if let ExprKind::Var { name, .. } = &expr.kind {
            self.reads.insert(spelt(name).into());
        }
    }

    fn action(&mut self, action: &Action) {
        visit::walk_action(action, &mut |expr| self.one(expr));
        match action {
            Action::Exec(exec) if exec.exports == Exports::Everything => {
                for mention in &exec.script.mentions {
                    stands_for(&mention.name, |name| {
                        self.reads.insert(name.to_string());
                        false
                    });
                }
            }
            Action::Call(call) => self.reads_all |= call.inherits,
            _ => {}
        }
    }
}

/// What a step and the steps in it may set.
#[derive(Debug, Default)]
pub struct Set {
    pub names: Vec<String>,
    /// Whether there may be others: those of a recipe that is found when the step runs.
    pub others: bool,
}

pub fn set_by<'a>(program: &'a Program, step: &'a Step) -> Set {
    set_by_all(program, std::slice::from_ref(step))
}

/// The same for steps that run one after the other.
pub fn set_by_all<'a>(program: &'a Program, steps: &'a [Step]) -> Set {
    Names::of(program, steps, true)
}

/// The same of variables that there are before: a default of a recipe that is called leaves them.
pub fn changed_by_all<'a>(program: &'a Program, steps: &'a [Step]) -> Set {
    Names::of(program, steps, false)
}

struct Names<'a> {
    program: &'a Program,
    set: Set,
    /// Whether defaults of recipes that are called count.
    defaults: bool,
    known: FxHashSet<&'a str>,
    /// Units that have been looked at.
    seen: Vec<usize>,
}

impl<'a> Names<'a> {
    fn of(program: &'a Program, steps: &'a [Step], defaults: bool) -> Set {
        let mut names = Names {
            program,
            set: Set::default(),
            defaults,
            known: FxHashSet::default(),
            seen: Vec::new(),
        };
        steps.iter().for_each(|step| names.step(step));
        names.set
    }

    fn add(&mut self, name: &'a str) {
        if self.known.insert(name) {
            self.set.names.push(name.to_string());
        }
    }

    fn step(&mut self, step: &'a Step) {
        step.bind.iter().for_each(|bind| self.add(&bind.name));
        match &step.node {
            Node::Seq(steps)
            | Node::Graph(Graph { steps, .. })
            | Node::Par {
                branches: steps, ..
            } => {
                steps.iter().for_each(|step| self.step(step));
            }
            Node::Each(each) => {
                each.collect
                    .iter()
                    .chain(&each.last)
                    .for_each(|bind| self.add(&bind.name));
                if each.width.is_none() {
                    self.step(&each.body);
                }
            }
            Node::While(body) => {
                let binds = body.collect.iter().chain(&body.last);
                binds.for_each(|bind| self.add(&bind.name));
                body.update
                    .iter()
                    .for_each(|(bind, _)| self.add(&bind.name));
                self.step(&body.body);
            }
            Node::Act(action) => {
                if let Action::Call(call) = &**action
                    && call.spreads
                {
                    self.call(call);
                }
            }
        }
    }

    fn call(&mut self, call: &'a Call) {
        call.context.iter().for_each(|(name, _)| self.add(name));
        self.set.others |= call.target.is_none();
        let Some(target) = call.target.filter(|target| !self.seen.contains(target)) else {
            return;
        };
        self.seen.push(target);
        let unit = &self.program.units[target];
        if self.defaults {
            unit.inputs.iter().for_each(|input| self.add(&input.name));
        }
        unit.steps.iter().for_each(|step| self.step(step));
    }
}
