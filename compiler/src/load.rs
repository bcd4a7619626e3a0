//! From a path to a program: reads files, chooses their dialect, lowers them, and follows what
//! they call and extend.
//!
//! The last place that knows dialects. What comes out is one representation.

mod findings;

use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::dialect::choose::{Choice, Pins, Reason, choose};
use crate::dialect::{self, Dialect, Lowered, Parent, template, unknown_step};
use crate::doc::{self, json, yaml};
use crate::ir::flow::Flow;
use crate::ir::{Action, ExprKind, Literal, Node, Part, Program, Script, Step, Text, Unit, visit};
use crate::source::{Source, SourceId, Sources, Span};
use crate::spelling::Near;
use crate::suppress::{self, Ignore};
use crate::world::{ReadError, World};
use bumpalo::Bump;
use findings::{missing, no_recipe, not_utf8, unreadable};
use rrc_vm::text::render;
use rrc_vm::value::Map;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::LazyCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What the caller decides about reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The dialect of every recipe, whatever it says.
    pub dialect: Option<&'static Dialect>,
    /// Paste values into shell text, in every recipe.
    pub raw: bool,
    /// Variables that are given from outside, as far as they are known already.
    pub given: Option<&'a Map>,
    /// Milliseconds for steps that say nothing, instead of what their dialect gives them.
    pub timeout_ms: Option<u64>,
    /// Values may be given when what is made of this runs: no default can be relied on.
    pub open: bool,
    /// Variables of the main file that are secret, besides those that it calls so itself.
    pub secrets: &'a [String],
    /// Where files are kept for other programs, and taken from.
    pub shelf: Option<&'a Shelf>,
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
        ignores: Vec::new(),
    };
    let read = loader.file(main, None, &mut vec![main.to_string()]);
    let readable = read.readable;
    let choice = read.choice.clone();
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

/// What files became, kept for programs that read the same ones in the same world: recipes call
/// each other, and most of the work is in reading. Sources are numbered here, so that a place means
/// the same in all of these programs.
#[derive(Debug, Default)]
pub struct Shelf {
    numbers: AtomicU32,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    files: FxHashMap<String, Vec<Arc<Alone>>>,
    bytes: usize,
}

/// How many bytes of text are kept: what is made of a text takes many times its room.
const MOST_KEPT: usize = 4 << 20;

impl Shelf {
    fn number(&self) -> SourceId {
        SourceId(self.numbers.fetch_add(1, Ordering::Relaxed))
    }

    fn find(&self, path: &str, terms: &Terms) -> Option<Arc<Alone>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files = kept.files.get(path)?.iter();
        files.find(|alone| alone.suits(terms)).map(Arc::clone)
    }

    fn keep(&self, path: &str, alone: &Alone) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += alone.source.text.len();
        if kept.bytes <= MOST_KEPT {
            let copies = kept.files.entry(path.to_string()).or_default();
            copies.push(Arc::new(alone.clone()));
        }
    }
}

/// A file before it is looked into.
struct Found {
    path: String,
    /// The same, from the root on: a dialect may show in the directories.
    place: String,
    bytes: Result<Vec<u8>, ReadError>,
}

/// What is said from outside about how a file is to be read.
#[derive(Clone, Copy, Debug)]
struct Terms {
    pins: Pins,
    caller: Option<&'static Dialect>,
    raw: bool,
    timeout_ms: Option<u64>,
}

/// What a file is by itself: what it extends and calls has not been looked at.
#[derive(Clone, Debug)]
struct Alone {
    terms: Terms,
    id: SourceId,
    source: Source,
    findings: Vec<Diagnostic>,
    ignores: Vec<Ignore>,
    lowered: Option<Lowered>,
    choice: Option<Choice>,
    readable: bool,
}

impl Alone {
    /// Whether it would be the same if it was read on these terms.
    fn suits(&self, terms: &Terms) -> bool {
        let name = |dialect: Option<&'static Dialect>| dialect.map(|dialect| dialect.name);
        let own = &self.terms;
        // Who calls a file counts only where nothing else says what it is written in.
        let asks_caller = self
            .choice
            .as_ref()
            .is_some_and(|choice| matches!(choice.reason, Reason::Caller | Reason::Default));
        name(own.pins.always) == name(terms.pins.always)
            && name(own.pins.configured) == name(terms.pins.configured)
            && (own.raw, own.timeout_ms) == (terms.raw, terms.timeout_ms)
            && (!asks_caller || name(own.caller) == name(terms.caller))
    }

    fn of(found: Found, terms: Terms, id: SourceId) -> Alone {
        let Found { path, place, bytes } = found;
        let path = path.as_str();
        let mut alone = Alone {
            terms,
            id,
            source: Source::new(path, ""),
            findings: Vec::new(),
            ignores: Vec::new(),
            lowered: None,
            choice: None,
            readable: false,
        };
        let mut report = Report::default();
        match bytes {
            // What has no size beforehand, a pipe, shows only now that it is too large.
            Ok(bytes) if bytes.len() > doc::MAX_BYTES => {
                let error = ReadError::TooLarge(bytes.len() as u64);
                report.add(unreadable(path, id, error));
            }
            Ok(bytes) => {
                let (text, bad_byte) = doc::read_bytes(bytes);
                alone.source = Source::new(path, text);
                match bad_byte {
                    Some(at) => report.add(not_utf8(id, at, &alone.source.text)),
                    None => {
                        alone.readable = true;
                        alone.understand(path, &place, &mut report);
                    }
                }
            }
            Err(error) => report.add(unreadable(path, id, error)),
        }
        alone.findings = report.findings;
        alone
    }

    /// Reads the text, chooses its dialect and lowers it, as far as it goes.
    fn understand(&mut self, path: &str, place: &str, report: &mut Report) {
        let (id, text) = (self.id, Arc::clone(&self.source.text));
        let arena = Bump::new();
        let is_json = path.ends_with(".json");
        let read = if is_json { json::read } else { yaml::read };
        let root = read(&arena, id, &text, report);
        if !is_json {
            self.ignores = suppress::comments(id, &text, root);
        }
        let Some(root) = root else { return };
        let broken = report
            .findings
            .iter()
            .any(|finding| [&codes::YAML_SYNTAX, &codes::JSON_SYNTAX].contains(&finding.code));
        if is_json && dialect::is_tool(root) {
            return;
        }
        if is_json && template::is_template(root) {
            let name = path.rsplit('/').next().unwrap_or(path);
            let name = name.strip_suffix(".json").unwrap_or(name);
            let unit = template::lower(root, id, &text, name, report);
            self.lowered = unit.map(|unit| Lowered {
                unit: Arc::new(unit),
                parent: None,
            });
            return;
        }
        if let Some(what) = dialect::not_a_recipe(root) {
            // What says so may be what could not be read.
            if !(is_json && broken) {
                report.add(no_recipe(id, what, is_json));
            }
            return;
        }
        let Terms { pins, caller, .. } = self.terms;
        let choice = choose(pins, caller, place, id, &text, root, report);
        let how = dialect::Options {
            deliberate: choice.is_deliberate(),
            raw: self.terms.raw,
            timeout_ms: self.terms.timeout_ms,
        };
        let said = report.findings.len();
        self.lowered = dialect::lower(root, id, choice.dialect, how, report);
        if broken {
            // What could not be read is not missing.
            let mut number = 0;
            report.findings.retain(|finding| {
                number += 1;
                number <= said || finding.code != &codes::MISSING_FIELD
            });
        }
        self.choice = Some(choice);
    }
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
        let Lowered { unit, parent } = lowered;
        let Some(parent) = parent else { return unit };
        let Some(found) = self.world.find_recipe(&parent.name, path) else {
            let known = self.world.known_recipes(&parent.name, path);
            self.report.add(missing(&parent.name, parent.span, &known));
            return unit;
        };
        if chain.contains(&found) {
            let message = format!("`{}` extends itself in the end", parent.name);
            let finding = Diagnostic::new(&codes::RECIPE_CYCLE, parent.span, message)
                .help("a parent cannot be its own child: remove one `extends`");
            self.report.add(finding);
            return unit;
        }
        chain.push(found.clone());
        match self.file(&found, Some(dialect), chain).unit {
            Some(base) => {
                self.after_parents(&base, &parent.after);
                let (base, child) = (Arc::unwrap_or_clone(base), Arc::unwrap_or_clone(unit));
                Arc::new(merge(base, child, &parent))
            }
            None => unit,
        }
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
            visit::flows_mut(step, &mut |flow| flow.reads.clear());
        }
    }

    /// Reads everything that is called, each file once.
    fn follow(&mut self) {
        let mut at = 0;
        while at < self.units.len() {
            if !reaches_out(&self.units[at].unit) {
                at += 1;
                continue;
            }
            let mut steps = std::mem::take(&mut Arc::make_mut(&mut self.units[at].unit).steps);
            let (path, dialect) = (self.units[at].path.clone(), self.units[at].dialect);
            let secrets = self.units[at].unit.secrets.clone();
            let settled = match at {
                0 if !self.options.open => settled(&self.units[0].unit, &steps),
                _ => FxHashMap::default(),
            };
            for step in &mut steps {
                visit::calls_mut(step, &mut |call| {
                    // A name that is known only at run time is found at run time.
                    let Some((name, sure)) = self.name(&call.recipe, &settled, &secrets) else {
                        return;
                    };
                    // A step of a parent looks beside the parent.
                    let written = self.paths.get(&call.recipe.span.source);
                    let from = written.unwrap_or(&path).clone();
                    if sure || self.world.find_recipe(&name, &from).is_some() {
                        call.target = self.target(&name, &from, dialect, call.recipe.span);
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

    /// Reads the template that a step names. What it needs is said where it is named.
    fn flow_file(&mut self, flow: &mut Flow, name: &str, span: Span, from: &str) {
        let Some(path) = self.world.find_file(name, from) else {
            let message = format!("there is no template `{name}`");
            let finding = Diagnostic::new(&codes::MISSING_RECIPE, span, message);
            self.report
                .add(finding.help("check the path; it starts beside this file"));
            return;
        };
        let mut chain = vec![path.clone()];
        let Some(unit) = self.file(&path, None, &mut chain).unit else {
            return;
        };
        let mut steps = Arc::unwrap_or_clone(unit).steps.into_iter();
        let Some(Node::Act(action)) = steps.next().map(|step| step.node) else {
            return;
        };
        if let Action::Flow(read) = *action {
            let mut read = *read;
            let names = read.reads.iter_mut().chain(&mut read.asks);
            names.for_each(|expr| expr.span = span);
            read.reserved.clear();
            read.around = std::mem::take(&mut flow.around);
            *flow = read;
        }
    }

    /// The name of a recipe, if it is in the file or made of values that are given, or of defaults
    /// that no step changes; and whether that is sure: another value may be given some day.
    fn name(
        &self,
        text: &Text,
        settled: &FxHashMap<String, String>,
        secrets: &[String],
    ) -> Option<(String, bool)> {
        let mut name = String::new();
        let mut sure = true;
        for part in &text.parts {
            match part {
                Part::Literal(literal) => name.push_str(literal),
                Part::Value { expr, .. } => {
                    let ExprKind::Var { name: variable, .. } = &expr.kind else {
                        return None;
                    };
                    // What it names is nobody's business; the run will find it.
                    if secrets.contains(variable) {
                        return None;
                    }
                    let given = self.options.given.map(|given| given.get(variable.as_str()));
                    match given {
                        Some(Some(value)) => name.push_str(&render(value)),
                        other => {
                            sure &= other.is_some();
                            name.push_str(settled.get(variable)?);
                        }
                    }
                }
            }
        }
        Some((name, sure))
    }

    fn target(
        &mut self,
        name: &str,
        from: &str,
        dialect: &'static Dialect,
        span: Span,
    ) -> Option<usize> {
        let Some(path) = self.world.find_recipe(name, from) else {
            let known = self.world.known_recipes(name, from);
            self.report.add(missing(name, span, &known));
            return None;
        };
        if let Some(known) = self.known.get(&path) {
            return *known;
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
        number
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

/// The variables of a unit that hold their defaults as long as nobody gives them others.
fn settled(unit: &Unit, steps: &[Step]) -> FxHashMap<String, String> {
    let mut settled: FxHashMap<String, String> = FxHashMap::default();
    for input in &unit.inputs {
        if let Literal::Text(text) = &input.default
            && !text.is_empty()
        {
            settled.insert(input.name.clone(), text.clone());
        }
    }
    for step in steps {
        let program = Program::default();
        for name in crate::schedule::set_by(&program, step).names {
            settled.remove(&name);
        }
        // The variable of a loop hides another of its name.
        visit::steps(step, &mut |step| {
            if let Node::Each(each) = &step.node {
                settled.remove(&each.item.name);
            }
        });
    }
    settled
}

/// The parent's steps first; a child's step of the same id takes the place of the parent's.
fn merge(mut base: Unit, mut child: Unit, parent: &Parent) -> Unit {
    let mut graphs: Vec<Step> = [&mut base.steps, &mut child.steps]
        .into_iter()
        .filter_map(open_graph)
        .collect();
    for step in child.steps {
        match base.steps.iter_mut().find(|known| known.id == step.id) {
            Some(known) => *known = step,
            None => base.steps.push(step),
        }
    }
    if let Some(graph) = graphs.pop() {
        close_graph(&mut base.steps, graph, graphs.pop());
    }
    for input in child.inputs {
        match base
            .inputs
            .iter_mut()
            .find(|known| known.name == input.name)
        {
            Some(known) => *known = input,
            None => base.inputs.push(input),
        }
    }
    let over = |base: &mut Option<Script>, child: Option<Script>| {
        if child.is_some() {
            *base = child;
        }
    };
    over(&mut base.hooks.before, child.hooks.before);
    over(&mut base.hooks.after, child.hooks.after);
    over(&mut base.hooks.failed, child.hooks.failed);
    for name in child.given {
        if !base.given.contains(&name) {
            base.given.push(name);
        }
    }
    base.secrets.extend(child.secrets);
    base.pace = child.pace.or(base.pace);
    Unit {
        source: child.source,
        name: child.name,
        dialect: child.dialect,
        reserved: child.reserved,
        limits: if parent.has_limits {
            child.limits
        } else {
            base.limits
        },
        ..base
    }
}

/// Takes the steps out of the one graph among these, and gives back what is left of it.
fn open_graph(steps: &mut Vec<Step>) -> Option<Step> {
    let is_graph = |step: &Step| matches!(step.node, Node::Graph(_));
    let at = steps.iter().position(is_graph)?;
    if steps.iter().filter(|step| is_graph(step)).count() > 1 {
        return None;
    }
    let mut held = steps.remove(at);
    if let Node::Graph(graph) = &mut held.node {
        steps.splice(at..at, std::mem::take(&mut graph.steps));
    }
    Some(held)
}

/// Puts the steps that can wait for each other back into a graph; what is checked before the first
/// of them stays before it.
fn close_graph(steps: &mut Vec<Step>, mut held: Step, other: Option<Step>) {
    let checks = |step: &Step| match &step.node {
        Node::Act(action) => matches!(**action, Action::Validate { .. }),
        _ => false,
    };
    let (first, rest) = std::mem::take(steps).into_iter().partition(checks);
    *steps = first;
    if let Node::Graph(graph) = &mut held.node {
        graph.steps = rest;
        if let Some(Node::Graph(other)) = other.map(|other| other.node) {
            graph.after.extend(other.after);
        }
    }
    steps.push(held);
}
