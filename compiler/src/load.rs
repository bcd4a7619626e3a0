//! From a path to a program: reads files, chooses their dialect, lowers them, and follows what
//! they call and extend.
//!
//! The last place that knows dialects. What comes out is one representation.

use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::dialect::choose::{Choice, Pins, choose};
use crate::dialect::{self, Dialect, Lowered, Parent, template};
use crate::doc::{self, json, yaml};
use crate::ir::flow::Flow;
use crate::ir::{Action, ExprKind, Literal, Node, Part, Program, Script, Step, Text, Unit, visit};
use crate::source::{Source, SourceId, Sources, Span};
use crate::suppress::{self, Ignore};
use crate::world::{ReadError, World};
use bumpalo::Bump;
use rrc_vm::text::render;
use rrc_vm::value::Map;
use rustc_hash::FxHashMap;

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
    unit: Unit,
    dialect: &'static Dialect,
    path: String,
}

/// What came of one file.
struct File {
    unit: Option<Unit>,
    choice: Option<Choice>,
    readable: bool,
}

struct Loader<'a> {
    world: &'a dyn World,
    options: Options<'a>,
    sources: &'a mut Sources,
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
        let mut file = File {
            unit: None,
            choice: None,
            readable: false,
        };
        let bytes = match self.world.read(path) {
            // What has no size beforehand, a pipe, shows only now that it is too large.
            Ok(bytes) if bytes.len() > doc::MAX_BYTES => {
                let source = self.sources.add(Source::new(path, ""));
                let error = ReadError::TooLarge(bytes.len() as u64);
                self.report.add(unreadable(path, source, error));
                return file;
            }
            Ok(bytes) => bytes,
            Err(error) => {
                let source = self.sources.add(Source::new(path, ""));
                self.report.add(unreadable(path, source, error));
                return file;
            }
        };
        let (text, bad_byte) = doc::read_bytes(bytes);
        let source = self.sources.add(Source::new(path, text));
        if let Some(at) = bad_byte {
            let text = &self.sources.get(source).text;
            self.report.add(not_utf8(source, at, text));
            return file;
        }
        file.readable = true;
        let text = self.sources.get(source).text.clone();
        let arena = Bump::new();
        let is_json = path.ends_with(".json");
        let read = if is_json { json::read } else { yaml::read };
        let said = self.report.findings.len();
        let root = read(&arena, source, &text, self.report);
        if !is_json {
            self.ignores.extend(suppress::comments(source, &text, root));
        }
        let Some(root) = root else {
            return file;
        };
        let broken = self.report.findings[said..]
            .iter()
            .any(|finding| finding.code == &codes::YAML_SYNTAX);
        if is_json && dialect::is_tool(root) {
            return file;
        }
        if is_json && template::is_template(root) {
            let name = path.rsplit('/').next().unwrap_or(path);
            let name = name.strip_suffix(".json").unwrap_or(name);
            file.unit = template::lower(root, source, name, self.report);
            return file;
        }
        if let Some(what) = dialect::not_a_recipe(root) {
            self.report.add(no_recipe(source, what, is_json));
            return file;
        }
        let pins = Pins {
            always: self.options.dialect,
            configured: self.world.dialect(path).and_then(dialect::find),
        };
        let place = self.world.absolute(path);
        let choice = choose(pins, caller, &place, source, &text, root, self.report);
        let how = dialect::Options {
            deliberate: choice.is_deliberate(),
            raw: self.options.raw,
            timeout_ms: self.options.timeout_ms,
        };
        let said = self.report.findings.len();
        let lowered = dialect::lower(root, source, choice.dialect, how, self.report);
        if broken {
            // What could not be read is not missing.
            let mut number = 0;
            self.report.findings.retain(|finding| {
                number += 1;
                number <= said || finding.code != &codes::MISSING_FIELD
            });
        }
        file.unit = lowered.map(|lowered| self.extend(lowered, path, choice.dialect, chain));
        file.choice = Some(choice);
        file
    }

    fn extend(
        &mut self,
        lowered: Lowered,
        path: &str,
        dialect: &'static Dialect,
        chain: &mut Vec<String>,
    ) -> Unit {
        let Lowered { unit, parent } = lowered;
        let Some(parent) = parent else { return unit };
        let Some(found) = self.world.find_recipe(&parent.name, path) else {
            self.report.add(missing(&parent.name, parent.span));
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
            Some(base) => merge(base, unit, &parent),
            None => unit,
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
        for step in &mut read.unit.steps {
            visit::flows_mut(step, &mut |flow| flow.reads.clear());
        }
    }

    /// Reads everything that is called, each file once.
    fn follow(&mut self) {
        let mut at = 0;
        while at < self.units.len() {
            let mut steps = std::mem::take(&mut self.units[at].unit.steps);
            let (path, dialect) = (self.units[at].path.clone(), self.units[at].dialect);
            let settled = match at {
                0 if !self.options.open => settled(&self.units[0].unit, &steps),
                _ => FxHashMap::default(),
            };
            for step in &mut steps {
                visit::calls_mut(step, &mut |call| {
                    // A name that is known only at run time is found at run time.
                    let Some((name, sure)) = self.name(&call.recipe, &settled) else {
                        return;
                    };
                    if sure || self.world.find_recipe(&name, &path).is_some() {
                        call.target = self.target(&name, &path, dialect, call.recipe.span);
                    }
                });
                visit::flows_mut(step, &mut |flow| {
                    if let Some((name, span)) = flow.from.take() {
                        self.flow_file(flow, &name, span, &path);
                    }
                });
            }
            self.units[at].unit.steps = steps;
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
        let mut steps = unit.steps.into_iter();
        let Some(Node::Act(action)) = steps.next().map(|step| step.node) else {
            return;
        };
        if let Action::Flow(read) = *action {
            let mut read = *read;
            read.reads.iter_mut().for_each(|expr| expr.span = span);
            read.reserved.clear();
            *flow = read;
        }
    }

    /// The name of a recipe, if it is in the file or made of values that are given, or of defaults
    /// that no step changes; and whether that is sure: another value may be given some day.
    fn name(&self, text: &Text, settled: &FxHashMap<String, String>) -> Option<(String, bool)> {
        let mut name = String::new();
        let mut sure = true;
        for part in &text.parts {
            match part {
                Part::Literal(literal) => name.push_str(literal),
                Part::Value { expr, .. } => {
                    let ExprKind::Var { name: variable, .. } = &expr.kind else {
                        return None;
                    };
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
            self.report.add(missing(name, span));
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
        for name in crate::schedule::bound(&program, step) {
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

fn missing(name: &str, span: Span) -> Diagnostic {
    Diagnostic::new(
        &codes::MISSING_RECIPE,
        span,
        format!("there is no recipe `{name}`"),
    )
    .help("check the name; recipes are looked for beside this file and in `-R` directories")
}

fn unreadable(path: &str, source: SourceId, error: ReadError) -> Diagnostic {
    let (code, message, help) = match error {
        ReadError::NotFound => (
            &codes::UNREADABLE_FILE,
            format!("there is no file `{path}`"),
            "check the path, and the directory you are in",
        ),
        ReadError::Directory => (
            &codes::UNREADABLE_FILE,
            format!("`{path}` is a directory"),
            "name a recipe in it",
        ),
        ReadError::TooLarge(bytes) => (
            &codes::TOO_LARGE,
            format!(
                "the file has {bytes} bytes; at most {} are read",
                doc::MAX_BYTES
            ),
            "split the recipe, or move long texts to files of their own",
        ),
        ReadError::Other(words) => (
            &codes::UNREADABLE_FILE,
            format!("`{path}` cannot be read: {words}"),
            "check that it is a file you may read",
        ),
    };
    Diagnostic::new(code, Span::top(source), message).help(help)
}

fn no_recipe(source: SourceId, what: &str, is_json: bool) -> Diagnostic {
    Diagnostic::new(&codes::NOT_A_RECIPE, Span::top(source), what).help(match is_json {
        true => "a template has `template`, tool metadata has `atip`",
        false => "a recipe is a map with `name` and `steps` or `stages`",
    })
}

fn not_utf8(source: SourceId, at: usize, text: &str) -> Diagnostic {
    if text.starts_with("RRB\0") {
        return Diagnostic::new(&codes::NOT_UTF8, Span::top(source), "this is a plan")
            .help("it has been checked; `rrc run` runs it, and `rrc disasm` shows what is in it");
    }
    let message = format!("byte {at} is not UTF-8 text");
    Diagnostic::new(&codes::NOT_UTF8, Span::new(source, at, at), message)
        .help("save the file as UTF-8; if it is not text, it is not a recipe")
}
