//! From a path to a program: reads files, chooses their dialect, lowers them, and follows what
//! they call and extend.
//!
//! The last place that knows dialects. What comes out is one representation.

mod alone;
mod extends;
mod findings;

use crate::codes::{self, Code, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::dialect::choose::{Choice, Pins};
use crate::dialect::{self, Dialect, Lowered, Parent, template, unique_ids, unknown_step};
use crate::doc::Schema;
use crate::ir::flow::Flow;
use crate::ir::{Action, Call, ExprKind, Literal, Node, Part, Program, Text, Unit, visit};
use crate::schedule;
use crate::source::{SourceId, Sources, Span};
use crate::spelling::Near;
use crate::suppress::Ignore;
use crate::world::World;
use alone::{Alone, Found, Terms};
use extends::merge;
use findings::{missing, missing_by_value};
use rrc_vm::text::render;
use rrc_vm::value::Map;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::LazyCell;
use std::sync::Arc;

pub use alone::Shelf;

/// What the caller decides about reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The dialect of every recipe, whatever it says.
    pub dialect: Option<&'static Dialect>,
    /// Paste values into shell text, in every recipe.
    pub raw: bool,
    /// Variables that are given from outside, as far as they are known already.
    pub given: Option<&'a Map>,
    /// The same for a main file whose plain scalars are read as YAML 1.1 does, if that is not the same.
    pub given_old: Option<&'a Map>,
    /// Milliseconds for steps that say nothing, instead of what their dialect gives them.
    pub timeout_ms: Option<u64>,
    /// Values may be given when what is made of this runs: no default can be relied on.
    pub open: bool,
    /// They are those of a run that was made: nothing is refused for them.
    pub ran: bool,
    /// Variables of the main file that are secret, besides those that it calls so itself.
    pub secrets: &'a [String],
    /// Where files are kept for other programs, and taken from.
    pub shelf: Option<&'a Shelf>,
    /// What is said on demand only, and is asked for.
    pub asked: &'a [&'static Code],
}

impl<'a> Options<'a> {
    /// What is given to a main file of the dialect that was chosen.
    pub fn given_to(&self, choice: Option<&Choice>) -> Option<&'a Map> {
        let dialect = choice.map_or(dialect::ALL[0], |choice| choice.dialect);
        match dialect.schema {
            Schema::Yaml11 => self.given_old.or(self.given),
            _ => self.given,
        }
    }
}

/// A program, and what is worth knowing about how it was read.
#[derive(Debug)]
pub struct Loaded {
    pub program: Program,
    /// How the dialect of the main file was chosen, if it got that far.
    pub choice: Option<Choice>,
    /// Whether the main file could be read at all.
    pub readable: bool,
    /// The comments that silence findings, in all files.
    pub ignores: Vec<Ignore>,
}

pub fn load(
    world: &dyn World,
    main: &str,
    options: Options<'_>,
    sources: &mut Sources,
    report: &mut Report,
) -> Loaded {
    let mut loader = Loader {
        world,
        options,
        sources,
        paths: FxHashMap::default(),
        report,
        units: Vec::new(),
        known: FxHashMap::default(),
        templates: FxHashMap::default(),
        ignores: Vec::new(),
    };
    let read = loader.file(main, None, &mut vec![main.to_string()]);
    let readable = read.readable;
    let choice = read.choice.clone();
    loader.options.given = options.given_to(choice.as_ref());
    if let Some(unit) = read.unit {
        loader.known.insert(main.to_string(), Some(0));
        let dialect = read.choice.map_or(dialect::ALL[0], |choice| choice.dialect);
        loader.units.push(Read {
            unit,
            dialect,
            path: main.to_string(),
        });
    }
    loader.open_root();
    loader.follow();
    let units = loader.units.into_iter().map(|read| read.unit).collect();
    Loaded {
        program: Program { units },
        choice,
        readable,
        ignores: loader.ignores,
    }
}

/// How many recipes may extend each other in a row.
const MOST_PARENTS: usize = 64;

/// A unit, and what its callees inherit from it.
struct Read {
    unit: Arc<Unit>,
    dialect: &'static Dialect,
    path: String,
}

/// What came of one file.
struct File {
    unit: Option<Arc<Unit>>,
    choice: Option<Choice>,
    readable: bool,
}

struct Loader<'a> {
    world: &'a dyn World,
    options: Options<'a>,
    sources: &'a mut Sources,
    /// Where each source was found.
    paths: FxHashMap<SourceId, String>,
    report: &'a mut Report,
    units: Vec<Read>,
    /// Files that were read, and the unit each became.
    known: FxHashMap<String, Option<usize>>,
    /// Templates that steps name, and what each became.
    templates: FxHashMap<String, Option<Arc<Unit>>>,
    ignores: Vec<Ignore>,
}

impl Loader<'_> {
    /// Reads one file, and the recipes it extends. `chain` is the way from child to parent.
    fn file(
        &mut self,
        path: &str,
        caller: Option<&'static Dialect>,
        chain: &mut Vec<String>,
    ) -> File {
        let alone = self.alone(path, caller);
        self.paths.insert(alone.id, path.to_string());
        self.sources.add_as(alone.id, alone.source);
        self.report.findings.extend(alone.findings);
        self.ignores.extend(alone.ignores);
        let choice = alone.choice;
        let dialect = choice
            .as_ref()
            .map_or(dialect::ALL[0], |choice| choice.dialect);
        File {
            unit: alone
                .lowered
                .map(|lowered| self.extend(lowered, path, dialect, chain)),
            choice,
            readable: alone.readable,
        }
    }

    fn found(&self, path: &str) -> Found {
        Found {
            path: path.to_string(),
            place: self.world.absolute(path),
            bytes: self.world.read(path),
        }
    }

    fn terms(&self, path: &str, caller: Option<&'static Dialect>) -> Terms {
        Terms {
            pins: Pins {
                always: self.options.dialect,
                configured: self.world.dialect(path).and_then(dialect::find),
            },
            caller,
            raw: self.options.raw,
            timeout_ms: self.options.timeout_ms,
        }
    }

    fn alone(&self, path: &str, caller: Option<&'static Dialect>) -> Alone {
        let terms = self.terms(path, caller);
        let Some(shelf) = self.options.shelf else {
            return Alone::of(self.found(path), terms, self.sources.next());
        };
        // What a program reads twice it has twice.
        match shelf.find(path, &terms) {
            Some(kept) if !self.sources.has(kept.id) => Alone::clone(&kept),
            _ => {
                let alone = Alone::of(self.found(path), terms, shelf.number());
                shelf.keep(path, &alone);
                alone
            }
        }
    }

    fn extend(
        &mut self,
        lowered: Lowered,
        path: &str,
        dialect: &'static Dialect,
        chain: &mut Vec<String>,
    ) -> Arc<Unit> {
        let Lowered { mut unit, parent } = lowered;
        let Some(parent) = parent else { return unit };
        match self.base(&parent, path, dialect, chain) {
            Some(base) => {
                self.after_parents(&base, &parent.after);
                let (base, child) = (Arc::unwrap_or_clone(base), Arc::unwrap_or_clone(unit));
                let unit = merge(base, child, &parent);
                // What is wrong in one of the two has been said.
                let is_new = |again: Span, first: Span| again.source != first.source;
                unique_ids(&unit.steps, is_new, self.report);
                Arc::new(unit)
            }
            None => {
                Arc::make_mut(&mut unit).open = true;
                unit
            }
        }
    }

    /// The recipe that another extends; none if it cannot be had, which is said.
    fn base(
        &mut self,
        parent: &Parent,
        path: &str,
        dialect: &'static Dialect,
        chain: &mut Vec<String>,
    ) -> Option<Arc<Unit>> {
        let Some(found) = self.world.find_recipe(&parent.name, path) else {
            let known = self.world.known_recipes(&parent.name, path);
            self.report.add(missing(&parent.name, parent.span, &known));
            return None;
        };
        if chain.contains(&found) {
            let message = format!("`{}` extends itself in the end", parent.name);
            let finding = Diagnostic::new(&codes::RECIPE_CYCLE, parent.span, message)
                .help("a parent cannot be its own child: remove one `extends`");
            self.report.add(finding);
            return None;
        }
        if chain.len() >= MOST_PARENTS {
            let message = format!("recipes extend each other over more than {MOST_PARENTS} files");
            let finding = Diagnostic::new(&codes::DEPTH_LIMIT, parent.span, message)
                .help("let a recipe extend one that is nearer to the last of them");
            self.report.add(finding);
            return None;
        }
        chain.push(found.clone());
        self.file(&found, Some(dialect), chain).unit
    }

    /// Steps that a child wants to come after, and that it does not have itself.
    fn after_parents(&mut self, base: &Unit, after: &[(String, Span)]) {
        let mut ids: FxHashSet<&str> = FxHashSet::default();
        for step in &base.steps {
            visit::steps(step, &mut |step| {
                ids.insert(&step.id);
            });
        }
        let near: LazyCell<Near<'_>, _> = LazyCell::new(|| ids.iter().copied().collect());
        for (name, span) in after {
            if !ids.contains(name.as_str()) {
                self.report.add(unknown_step(name, *span, &near));
            }
        }
    }

    /// A flow that stands for itself is given what it reads by whoever runs it.
    fn open_root(&mut self) {
        let Some(read) = self
            .units
            .first_mut()
            .filter(|read| read.unit.result.is_some())
        else {
            return;
        };
        for step in &mut Arc::make_mut(&mut read.unit).steps {
            visit::flows_mut(step, &mut |flow| {
                flow.reads.clear();
                flow.differences.clear();
            });
        }
    }

    /// Reads everything that is called, each file once.
    fn follow(&mut self) {
        self.follow_from(0);
        if self.options.open || self.units.is_empty() {
            return;
        }
        // Names that are made of values: those of the first recipe that nothing changes. What is
        // called by such a name may change them, so it is read before that is known.
        let mut settled = self.settled(false);
        if settled.is_empty() {
            return;
        }
        let first = self.units.len();
        let missing = loop {
            let (used, missing) = self.find_by_values(&settled);
            self.follow_from(first);
            let still = self.settled(true);
            if !missing.is_empty() || used.iter().all(|name| still.contains_key(name)) {
                break missing;
            }
            settled.retain(|name, _| still.contains_key(name));
        };
        self.report.findings.extend(missing);
        self.drop_uncalled(first);
    }

    /// Reads what the units from this one on call by names that stand there.
    fn follow_from(&mut self, first: usize) {
        let mut at = first;
        while at < self.units.len() {
            if !reaches_out(&self.units[at].unit) {
                at += 1;
                continue;
            }
            let mut steps = std::mem::take(&mut Arc::make_mut(&mut self.units[at].unit).steps);
            let (path, dialect) = (self.units[at].path.clone(), self.units[at].dialect);
            for step in &mut steps {
                visit::calls_mut(step, &mut |call| {
                    if let Some(name) = call.recipe.as_literal() {
                        let from = self.beside(call, &path);
                        call.target = self.target(name, &from, dialect).unwrap_or_else(|known| {
                            self.report.add(missing(name, call.recipe.span, &known));
                            None
                        });
                    }
                });
                visit::flows_mut(step, &mut |flow| {
                    if let Some((name, span)) = flow.from.take() {
                        self.flow_file(flow, &name, span, &path);
                    }
                });
            }
            Arc::make_mut(&mut self.units[at].unit).steps = steps;
            at += 1;
        }
    }

    /// A step of a parent looks beside the parent.
    fn beside(&self, call: &Call, path: &str) -> String {
        let written = self.paths.get(&call.recipe.span.source);
        written.map_or(path, String::as_str).to_string()
    }

    /// Finds what the first recipe calls by names that are made of these values, and nothing that it
    /// calls by others; the names of the values that were of use, and what is not there.
    fn find_by_values(
        &mut self,
        settled: &FxHashMap<String, String>,
    ) -> (Vec<String>, Vec<Diagnostic>) {
        let (mut used, mut missing) = (Vec::new(), Vec::new());
        let root = Arc::make_mut(&mut self.units[0].unit);
        let mut steps = std::mem::take(&mut root.steps);
        let (path, dialect) = (self.units[0].path.clone(), self.units[0].dialect);
        for step in &mut steps {
            visit::calls_mut(step, &mut |call| {
                if call.recipe.as_literal().is_some() {
                    return;
                }
                call.target = None;
                let Some((name, values)) = made_of(&call.recipe, settled) else {
                    return;
                };
                let from = self.beside(call, &path);
                match self.target(&name, &from, dialect) {
                    Ok(target) => {
                        used.extend(values.into_iter().map(str::to_string));
                        call.target = target;
                    }
                    Err(known) => {
                        let span = call.recipe.span;
                        let mut finding =
                            missing_by_value(&name, span, values.first().unwrap_or(&""), &known);
                        // Another value may be given some day.
                        if self.options.given.is_none() {
                            finding = finding.severity(Severity::Warning);
                        }
                        missing.push(finding);
                    }
                }
            });
        }
        Arc::make_mut(&mut self.units[0].unit).steps = steps;
        (used, missing)
    }

    /// What the variables of the first recipe hold as long as it runs, as texts, where anything that is
    /// called may be known by that; with `others` if no recipe that is still to be found changes them.
    fn settled(&self, others: bool) -> FxHashMap<String, String> {
        let unit = &self.units[0].unit;
        let mut settled: FxHashMap<String, String> = FxHashMap::default();
        if !calls_by_value(unit) {
            return settled;
        }
        for input in &unit.inputs {
            if let Literal::Text(text) = &input.default
                && !text.is_empty()
            {
                settled.insert(input.name.clone(), text.clone());
            }
        }
        for (name, value) in self.options.given.into_iter().flatten() {
            settled.insert(name.to_string(), render(value).to_string());
        }
        // What it names is nobody's business; the run will find it.
        settled.retain(|name, _| !unit.secrets.contains(name));
        let units = self.units.iter().map(|read| Arc::clone(&read.unit));
        let program = Program {
            units: units.collect(),
        };
        let set = schedule::changed_by_all(&program, &unit.steps);
        if others && set.others {
            settled.clear();
        }
        for name in &set.names {
            settled.remove(name);
        }
        // The variable of a loop hides another of its name.
        for step in &unit.steps {
            visit::steps(step, &mut |step| {
                if let Node::Each(each) = &step.node {
                    settled.remove(&each.item.name);
                }
            });
        }
        settled
    }

    /// Forgets recipes that were read, from this one on, and are called by none after all.
    fn drop_uncalled(&mut self, first: usize) {
        let mut called: FxHashSet<usize> = FxHashSet::default();
        let mut ways = vec![0];
        while let Some(at) = ways.pop() {
            if called.insert(at) {
                for step in &self.units[at].unit.steps {
                    visit::calls(step, &mut |call| ways.extend(call.target));
                }
            }
        }
        let left = |at: &usize| *at < first || called.contains(at);
        if (0..self.units.len()).all(|at| left(&at)) {
            return;
        }
        let kept: Vec<usize> = (0..self.units.len()).filter(left).collect();
        let moved = |target: usize| kept.iter().position(|at| *at == target);
        let mut all: Vec<Option<Read>> = self.units.drain(..).map(Some).collect();
        self.units = kept.iter().filter_map(|at| all[*at].take()).collect();
        for read in &mut self.units {
            for step in &mut Arc::make_mut(&mut read.unit).steps {
                visit::calls_mut(step, &mut |call| call.target = call.target.and_then(moved));
            }
        }
    }

    /// Reads the template that a step names. What it needs is said where it is named.
    fn flow_file(&mut self, flow: &mut Flow, name: &str, span: Span, from: &str) {
        let Some(path) = self.world.find_file(name, from) else {
            let message = format!("there is no template `{name}`");
            let finding = Diagnostic::new(&codes::MISSING_RECIPE, span, message);
            self.report
                .add(finding.help("check the path; it starts beside this file"));
            return;
        };
        let known = self.templates.get(&path).cloned();
        let unit = known.unwrap_or_else(|| {
            let unit = self.file(&path, None, &mut vec![path.clone()]).unit;
            self.templates.insert(path.clone(), unit.clone());
            unit
        });
        let said = |found: &Diagnostic| {
            found.severity == Severity::Error && self.paths.get(&found.span.source) == Some(&path)
        };
        if unit.is_none() && !self.report.findings.iter().any(said) {
            let what = format!(
                "`{name}` does not run here: it describes a tool, or is made of recipes that only \
                 another host knows"
            );
            self.report.add(template::not_ours(span, what));
        }
        let first = unit.as_ref().and_then(|unit| unit.steps.first());
        let Some(Node::Act(action)) = first.map(|step| &step.node) else {
            return;
        };
        if let Action::Flow(read) = &**action {
            let mut read = Flow::clone(read);
            let wholes = read.differences.iter_mut().map(|of| &mut of.whole);
            let names = read.reads.iter_mut().chain(&mut read.asks).chain(wholes);
            names.for_each(|expr| expr.span = span);
            read.reserved.clear();
            read.around = std::mem::take(&mut flow.around);
            *flow = read;
        }
    }

    /// The recipe of a name, if that can be read; if there is none, those that there are.
    fn target(
        &mut self,
        name: &str,
        from: &str,
        dialect: &'static Dialect,
    ) -> Result<Option<usize>, Vec<String>> {
        let Some(path) = self.world.find_recipe(name, from) else {
            return Err(self.world.known_recipes(name, from));
        };
        if let Some(known) = self.known.get(&path) {
            return Ok(*known);
        }
        let read = self.file(&path, Some(dialect), &mut vec![path.clone()]);
        let number = read.unit.map(|unit| {
            let dialect = read.choice.map_or(dialect, |choice| choice.dialect);
            self.units.push(Read {
                unit,
                dialect,
                path: path.clone(),
            });
            self.units.len() - 1
        });
        self.known.insert(path, number);
        Ok(number)
    }
}

/// Whether something of a unit stands in other files.
fn reaches_out(unit: &Unit) -> bool {
    let mut found = false;
    for step in &unit.steps {
        visit::steps(step, &mut |step| {
            if let Node::Act(action) = &step.node {
                found |= match &**action {
                    Action::Call(_) => true,
                    Action::Flow(flow) => flow.from.is_some(),
                    _ => false,
                };
            }
        });
    }
    found
}

/// Whether a unit calls a recipe by a name that has values in it.
fn calls_by_value(unit: &Unit) -> bool {
    let mut found = false;
    for step in &unit.steps {
        visit::calls(step, &mut |call| {
            found |= call.recipe.as_literal().is_none();
        });
    }
    found
}

/// The name that is made of these values, and the names of those; none if others stand in it.
fn made_of<'t>(
    text: &'t Text,
    settled: &FxHashMap<String, String>,
) -> Option<(String, Vec<&'t str>)> {
    let (mut name, mut values) = (String::new(), Vec::new());
    for part in &text.parts {
        match part {
            Part::Literal(literal) => name.push_str(literal),
            Part::Value { expr, .. } => {
                let ExprKind::Var { name: variable, .. } = &expr.kind else {
                    return None;
                };
                name.push_str(settled.get(variable)?);
                values.push(variable.as_str());
            }
        }
    }
    Some((name, values))
}
