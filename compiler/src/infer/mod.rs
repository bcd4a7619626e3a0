//! A type for every expression: what a value is, before there is one.
//!
//! A variable has one type in all of a unit: what any step, caller or default may put there. A
//! default tells the kind of an input, not its value, since whoever runs the recipe may give
//! another one. `Unknown` stays unknown, and rules are silent about it.

mod expr;
mod output;
mod places;
mod replaced;
pub mod types;

pub use expr::{Scope, constant, is_true};
pub use places::{Place, places};
pub use types::{Kind, Type};

use crate::ir::visit;
use crate::ir::{
    Action, Bind, Call, Each, Expr, ExprKind, Graph, Input, Literal, Node, OnFailure, Program,
    Read, SESSION, SESSION_FIELDS, Step, Store, Unit, While,
};
use crate::schedule;
use crate::source::Span;
use output::Printed;
use rrc_vm::text;
use rrc_vm::value::Map;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::cell::LazyCell;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use std::sync::Arc;
use types::{Shape, Words, of_literal, of_value};

/// After so many rounds, what still changes is not looked into further.
const ROUNDS: usize = 16;

/// What is known of the values of a program.
#[derive(Debug)]
pub struct Facts<'a> {
    units: Vec<UnitFacts<'a>>,
}

#[derive(Debug, Default)]
struct UnitFacts<'a> {
    variables: FxHashMap<&'a str, Type>,
    /// Inputs that nothing in the program sets, and nobody outside did.
    defaults: FxHashMap<&'a str, &'a Input>,
    /// Where steps set variables, the first place of each.
    set_at: FxHashMap<&'a str, Span>,
    /// A call whose recipe is not known may set anything.
    open: bool,
    /// It takes a name that stands for a fact, and means something else by it.
    confused: bool,
}

impl<'a> UnitFacts<'a> {
    /// Nothing yet, and room for what each step may set.
    fn of(unit: &Arc<Unit>) -> UnitFacts<'a> {
        let mut facts = UnitFacts::default();
        facts.variables.reserve(unit.steps.len());
        facts.set_at.reserve(unit.steps.len());
        facts
    }
}

pub fn infer<'a>(program: &'a Program, given: Option<&Map>) -> Facts<'a> {
    let outside = match given {
        Some(given) => Outside::Unknown(given),
        None => Outside::Nothing,
    };
    infer_with(program, outside)
}

/// The same where the values that were given are known as if they stood in the file, and nobody gives
/// others. They are the defaults of the program already.
pub fn infer_given<'a>(program: &'a Program, given: &Map) -> Facts<'a> {
    infer_with(program, Outside::Known(given))
}

/// What comes from outside.
#[derive(Clone, Copy)]
enum Outside<'g> {
    Nothing,
    /// What these variables are is left open.
    Unknown(&'g Map),
    Known(&'g Map),
}

impl Outside<'_> {
    /// What a variable is that is given; none if it is not.
    fn kind(self, name: &str) -> Option<Type> {
        match self {
            Outside::Nothing => None,
            Outside::Unknown(given) => given.contains_key(name).then(Type::unknown),
            Outside::Known(given) => given.get(name).map(|value| of_value(value).widened()),
        }
    }

    /// Whether a variable may be something else than what the file says.
    fn is_open(self, name: &str) -> bool {
        matches!(self, Outside::Unknown(given) if given.contains_key(name))
    }
}

fn infer_with<'a>(program: &'a Program, outside: Outside<'_>) -> Facts<'a> {
    let steps = program.units.iter().map(|unit| unit.steps.len()).sum();
    let mut work = Work {
        program,
        facts: Facts {
            units: program.units.iter().map(UnitFacts::of).collect(),
        },
        changed: false,
        pairs: FxHashSet::default(),
        versions: vec![0; program.units.len()],
        news: vec![Vec::new(); program.units.len()],
        copied: FxHashMap::default(),
        shapes: vec![None; program.units.len()],
        printed: FxHashMap::with_capacity_and_hasher(steps, FxBuildHasher),
        named: named(program),
        looked: false,
        give_up: false,
    };
    work.inputs(outside);
    let callees: Vec<Vec<usize>> = program.units.iter().map(|unit| callees(unit)).collect();
    let mut seen: Vec<Vec<u32>> = vec![Vec::new(); program.units.len()];
    for round in 0.. {
        work.begin(round >= ROUNDS);
        for (number, unit) in program.units.iter().enumerate() {
            let around = callees[number].iter().chain([&number]);
            let versions: Vec<u32> = around.map(|unit| work.versions[*unit]).collect();
            if seen[number] == versions {
                // Joining the same types again changes nothing.
                callees[number]
                    .iter()
                    .for_each(|unit| drop(work.shape(*unit)));
                continue;
            }
            seen[number] = versions;
            let mut locals = Vec::new();
            work.looked = false;
            work.steps(number, &unit.steps, &mut locals);
            if !work.looked {
                // What it sets itself tells it nothing new.
                seen[number] = vec![work.versions[number]];
            }
        }
        if !work.changed {
            break;
        }
    }
    work.settle_defaults(outside);
    work.facts
}

/// Every name that anything in a program reads, as a variable or as a field of a value.
fn named<'a>(program: &'a Program) -> FxHashSet<&'a str> {
    let mut names = FxHashSet::default();
    let mut name = |expr: &'a Expr| {
        if let ExprKind::Var { name, .. } | ExprKind::Field { name, .. } = &expr.kind {
            names.insert(name.as_str());
        }
    };
    for unit in &program.units {
        for step in &unit.steps {
            visit::steps(step, &mut |step| visit::walk_step(step, &mut name));
        }
        unit.hooks
            .scripts()
            .for_each(|script| visit::walk_script(script, &mut name));
    }
    names
}

/// The units that one calls: besides its own steps, only they tell what its variables are.
fn callees(unit: &Unit) -> Vec<usize> {
    let mut callees = Vec::new();
    for step in &unit.steps {
        visit::calls(step, &mut |call| callees.extend(call.target));
    }
    callees.sort_unstable();
    callees.dedup();
    callees
}

/// Whether an entry of `context` is written like the declaration of a variable.
pub fn is_declaration(literal: &Literal) -> bool {
    let Literal::Map(fields) = literal else {
        return false;
    };
    let kinds = [
        "string", "str", "text", "integer", "int", "number", "float", "boolean", "bool", "list",
        "array", "object", "map", "dict",
    ];
    let known = [
        "type",
        "default",
        "description",
        "required",
        "enum",
        "options",
        "example",
        "examples",
        "items",
        "properties",
    ];
    let typed = fields.iter().any(|(name, value)| {
        name == "type" && matches!(value, Literal::Text(kind) if kinds.contains(&kind.as_str()))
    });
    typed
        && fields.len() > 1
        && fields
            .iter()
            .all(|(name, _)| known.contains(&name.as_str()))
}

/// What the default of an input says about it: its kind, and nothing if it is only a place to fill.
fn of_default(default: &Literal) -> Type {
    match default {
        Literal::Null => Type::unknown(),
        Literal::Text(text) if text.is_empty() => Type::unknown(),
        Literal::Map(fields) if fields.is_empty() => Type::unknown(),
        Literal::List(items) if items.is_empty() => Type::list(Type::unknown()).assumed(),
        other if is_declaration(other) => Type::unknown(),
        other => of_literal(other).widened().assumed(),
    }
}

/// What the runner gives.
fn of_given(name: &str) -> Type {
    if name != SESSION {
        return Type::unknown();
    }
    let fields = SESSION_FIELDS.map(|field| (field.into(), Type::text()));
    Type::of(Kind::Map(Rc::new(Shape::closed(fields.into()))))
}

struct Work<'a> {
    program: &'a Program,
    facts: Facts<'a>,
    changed: bool,
    /// Callers whose variables the called recipe has been given in this round.
    pairs: FxHashSet<(usize, usize)>,
    /// How often something new was found out about each unit.
    versions: Vec<u32>,
    /// The variables of each unit of which something new was found out, in that order.
    news: Vec<Vec<&'a str>>,
    /// How far both units were when the one was last given what the other knows, and how much of
    /// its news that was.
    copied: FxHashMap<(usize, usize), ((u32, u32), usize)>,
    /// What each unit gives back, and how far it was then.
    shapes: Vec<Option<(u32, Rc<Shape>)>>,
    /// What scripts print, by where they stand; it is the same in every round.
    printed: FxHashMap<Span, Printed>,
    /// What is read anywhere: of what is not, nobody asks what it is.
    named: FxHashSet<&'a str>,
    /// The unit has been looked at for what its variables are, as far as they are known.
    looked: bool,
    give_up: bool,
}

type Locals<'a> = Vec<(&'a str, Type)>;

impl<'a> Work<'a> {
    fn begin(&mut self, give_up: bool) {
        self.changed = false;
        self.give_up = give_up;
        self.pairs.clear();
        for (shape, version) in self.shapes.iter_mut().zip(&self.versions) {
            shape.take_if(|(then, _)| then != version);
        }
    }

    fn inputs(&mut self, outside: Outside<'_>) {
        for (number, unit) in self.program.units.iter().enumerate() {
            if unit.open {
                self.open(number);
            }
            let replaced = replaced::replaced(unit);
            for input in &unit.inputs {
                if replaced.contains(input.name.as_str()) {
                    continue;
                }
                let given = outside.kind(&input.name).filter(|_| number == 0);
                let kind = given.unwrap_or_else(|| of_default(&input.default));
                self.set(number, &input.name, &kind);
            }
            for name in &unit.given {
                self.set(number, name, &of_given(name));
            }
        }
    }

    fn settle_defaults(&mut self, outside: Outside<'_>) {
        let mut main_is_called = false;
        for step in self.program.units.iter().flat_map(|unit| &unit.steps) {
            visit::calls(step, &mut |call| main_is_called |= call.target == Some(0));
        }
        for (number, unit) in self.program.units.iter().enumerate() {
            let facts = &mut self.facts.units[number];
            facts.confused = facts
                .variables
                .keys()
                .any(|name| unit.reserved.contains(name) && !unit.given.contains(name));
            for step in &unit.steps {
                visit::steps(step, &mut |step| {
                    for bind in binds(step) {
                        facts.set_at.entry(&bind.name).or_insert(bind.span);
                    }
                    if let Node::Each(each) = &step.node {
                        facts.confused |= unit.reserved.contains(&each.item.name.as_str());
                    }
                });
            }
            if number > 0 || main_is_called || facts.open {
                continue;
            }
            // Also what is called may set them.
            let changed = LazyCell::new(|| {
                let changed = schedule::changed_by_all(self.program, &unit.steps);
                FxHashSet::from_iter(changed.names)
            });
            let calls = self.program.units.len() > 1;
            for input in &unit.inputs {
                let set = facts.set_at.contains_key(input.name.as_str());
                let set = set || calls && changed.contains(&input.name);
                if !set && !outside.is_open(&input.name) {
                    facts.defaults.insert(&input.name, input);
                }
            }
        }
    }

    fn scope<'s>(&'s mut self, unit: usize, locals: &'s Locals<'a>) -> Scope<'s, 'a> {
        self.looked = true;
        Scope::new(&self.facts, unit, locals)
    }

    fn set(&mut self, unit: usize, name: &'a str, new: &Type) {
        let variable = match self.facts.units[unit].variables.entry(name) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                self.versions[unit] += 1;
                self.news[unit].push(name);
                new.insert(Type::nothing())
            }
        };
        if variable.has(new) {
            return;
        }
        let mut joined = variable.clone();
        joined.join(new);
        if joined != *variable {
            self.changed = true;
            self.versions[unit] += 1;
            self.news[unit].push(name);
            *variable = if self.give_up {
                Type::unknown()
            } else {
                joined
            };
        }
    }

    fn open(&mut self, unit: usize) {
        if !self.facts.units[unit].open {
            self.changed = true;
            self.versions[unit] += 1;
            self.facts.units[unit].open = true;
        }
    }

    fn steps(&mut self, unit: usize, steps: &'a [Step], locals: &mut Locals<'a>) {
        for step in steps {
            self.step(unit, step, locals, false);
        }
    }

    /// What the step sets, and the type of its value if that is asked for: it may take long to
    /// find out.
    fn step(&mut self, unit: usize, step: &'a Step, locals: &mut Locals<'a>, asked: bool) -> Type {
        let is_asked = |bind: &Bind| bind.read == Read::Value && self.named.contains(&*bind.name);
        let asked = asked || step.bind.iter().any(is_asked);
        let value = match &step.node {
            Node::Seq(steps) | Node::Graph(Graph { steps, .. }) => {
                self.steps(unit, steps, locals);
                Type::unknown()
            }
            Node::Par { branches, .. } => {
                self.steps(unit, branches, locals);
                Type::unknown()
            }
            Node::Each(each) => {
                self.each(unit, each, locals);
                Type::unknown()
            }
            Node::While(body) => {
                self.repeat(unit, body, locals);
                Type::unknown()
            }
            Node::Act(action) => self.action(unit, step, action, locals, asked),
        };
        for bind in &step.bind {
            let new = match bind.read {
                Read::Value => value.clone(),
                Read::ExitCode => Type::of(Kind::Number),
                Read::Stderr => Type::text(),
                Read::Reply => Type::unknown(),
            };
            self.set(unit, &bind.name, &new);
        }
        value
    }

    fn each(&mut self, unit: usize, each: &'a Each, locals: &mut Locals<'a>) {
        let over = self.scope(unit, locals).of(&each.over);
        locals.push((&each.item.name, element(&over)));
        let asked = each.collect.is_some() || each.last.is_some();
        let value = self.step(unit, &each.body, locals, asked);
        locals.pop();
        if let Some(bind) = &each.collect {
            self.set(unit, &bind.name, &Type::list(value.clone().or_null()));
        }
        if let Some(bind) = &each.last {
            self.set(unit, &bind.name, &value.or_null());
        }
    }

    fn repeat(&mut self, unit: usize, body: &'a While, locals: &mut Locals<'a>) {
        self.step(unit, &body.body, locals, false);
        for (bind, new) in &body.update {
            let new = self.scope(unit, locals).of(new);
            self.set(unit, &bind.name, &new);
        }
        if let Some(bind) = &body.collect {
            self.set(unit, &bind.name, &Type::list(Type::unknown()));
        }
        if let Some(bind) = &body.last {
            self.set(unit, &bind.name, &Type::unknown());
        }
    }

    fn action(
        &mut self,
        unit: usize,
        step: &'a Step,
        action: &'a Action,
        locals: &Locals<'a>,
        asked: bool,
    ) -> Type {
        match action {
            Action::Exec(exec) if asked => {
                let known = self.printed.entry(exec.script.span);
                let printed = known.or_insert_with(|| output::printed(&exec.script));
                // A script that fails on the way has printed something else, or nothing.
                let fails = matches!(step.on_failure, OnFailure::Continue { .. });
                of_output(step.store, (!fails).then_some(&*printed))
            }
            Action::Exec(_) | Action::Agent(_) | Action::Flow(_) => of_output(step.store, None),
            Action::Call(call) => {
                self.call(unit, call, locals);
                match call.target {
                    Some(target) if asked && !self.facts.units[target].open => {
                        Type::of(Kind::Map(self.shape(target)))
                    }
                    _ => Type::unknown(),
                }
            }
            Action::Approve(_) | Action::Validate(_) | Action::Sleep { .. } => Type::unknown(),
        }
    }

    /// What a recipe and one that it calls know of each other.
    fn call(&mut self, unit: usize, call: &'a Call, locals: &Locals<'a>) {
        self.looked = true;
        let Some(target) = call.target else {
            if call.spreads {
                self.open(unit);
            }
            return;
        };
        for (name, value) in &call.context {
            let value = self.scope(unit, locals).of(value).widened();
            self.set(target, name, &value);
            if call.spreads {
                self.set(unit, name, &value);
            }
        }
        if (call.inherits || call.spreads) && self.pairs.insert((unit, target)) {
            if call.inherits {
                self.copy(unit, target, locals);
            }
            if call.spreads {
                self.copy(target, unit, &Vec::new());
            }
        }
    }

    /// What a unit gives back: in one round, what it was at first.
    fn shape(&mut self, unit: usize) -> Rc<Shape> {
        if let Some((_, shape)) = &self.shapes[unit] {
            return Rc::clone(shape);
        }
        let variables = self.facts.units[unit].variables.iter();
        let mut variables: Vec<(&str, &Type)> =
            variables.map(|(name, kind)| (*name, kind)).collect();
        variables.sort_unstable_by_key(|(name, _)| *name);
        let fields = variables
            .into_iter()
            .map(|(name, kind)| (name.into(), kind.flat()))
            .collect();
        let shape = Rc::new(Shape::closed(fields));
        self.shapes[unit] = Some((self.versions[unit], Rc::clone(&shape)));
        shape
    }

    /// What one unit knows, the other may see.
    fn copy(&mut self, from: usize, to: usize, locals: &Locals<'a>) {
        if from == to {
            return;
        }
        let versions = (self.versions[from], self.versions[to]);
        let last = self.copied.get(&(from, to)).copied();
        if last.is_some_and(|(then, _)| then == versions) {
            return;
        }
        if self.facts.units[from].open {
            self.open(to);
        }
        let told = last.map_or(0, |(_, told)| told);
        let news = self.news[from].len();
        for at in told..news {
            let name = self.news[from][at];
            let known = self.facts.units[to].variables.get(name);
            if known.is_none_or(|known| !known.is_unknown()) {
                let kind = self.facts.units[from].variables[name].widened();
                self.set(to, name, &kind);
            }
        }
        for (name, _) in locals {
            self.set(to, name, &Type::unknown());
        }
        let versions = (self.versions[from], self.versions[to]);
        self.copied.insert((from, to), (versions, news));
    }
}

fn element(list: &Type) -> Type {
    match list.kinds() {
        Some([Kind::List(of)]) => {
            let mut item = (**of).clone();
            item.assumed |= list.assumed;
            item
        }
        _ => Type::unknown(),
    }
}

/// What becomes of output that is stored.
fn of_output(store: Store, printed: Option<&Printed>) -> Type {
    let text = printed.and_then(|printed| printed.text.as_deref());
    let json = printed.and_then(|printed| printed.json.as_deref());
    match store {
        Store::AsIs => Type::unknown(),
        Store::Exact => match text {
            Some(text) => Type::exactly(text),
            None if printed.is_some_and(|printed| printed.lines) => {
                Type::of(Kind::Text(Words::Lines))
            }
            None => Type::text(),
        },
        // Only the run shows what was printed: what follows from it is no certainty.
        Store::JsonOrText => json
            .map_or_else(Type::unknown, |json| of_value(&text::json_or_text(json)))
            .assumed(),
        Store::Json { .. } | Store::JsonOrDegrade => json
            .and_then(text::parse_json)
            .map_or_else(Type::unknown, |value| of_value(&value))
            .assumed(),
    }
}

/// Everything a step sets, itself or through its loop.
fn binds(step: &Step) -> impl Iterator<Item = &Bind> {
    let (collect, last, update) = match &step.node {
        Node::Each(each) => (each.collect.as_ref(), each.last.as_ref(), &[][..]),
        Node::While(body) => (
            body.collect.as_ref(),
            body.last.as_ref(),
            body.update.as_slice(),
        ),
        _ => (None, None, &[][..]),
    };
    let update = update.iter().map(|(bind, _)| bind);
    step.bind.iter().chain(collect).chain(last).chain(update)
}

#[cfg(test)]
mod tests;
