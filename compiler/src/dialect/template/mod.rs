//! Command templates: JSON that says which commands run, with which words, in which order.
//!
//! Reads the document and writes a flow. What the standard leaves to the runner is written out
//! here: which failures end what, what a repeated node copies, where values come from.

mod args;
mod argv;
mod command;
mod control;
mod cut;
mod defaults;
mod habits;
mod halves;
mod holes;
mod known;
mod legacy;
mod names;
mod node;
mod pipes;
mod risk;
mod shell;
mod spot;
mod turns;
mod words;

use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::doc::{Kind, Node, Plain, Schema, Text, resolve};
use crate::ir::flow::{Around, Declared, Difference, Flow, Scope, Term, TermKind, ValueKind, Work};
use crate::ir::{
    Action, Attempts, Bind, Exports, Expr, ExprKind, Hooks, Literal, Missing, OnFailure, Read,
    RunLimits, Step, Store, Unit,
};
use crate::source::{SourceId, Span};
use defaults::Notes;
use indexmap::IndexMap;
use names::{Env, HOST_NAMES, REPEAT_NAMES};
use node::Place;
pub use risk::{Executed, executed};
use rrc_vm::plan::StepKind;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use spot::Spot;
use std::cell::Cell;

/// The word for templates in reports.
pub const NAME: &str = "template";
/// The variable that holds what a template gives.
const RESULT: &str = "result#";
/// Bytes of each stream of a command that are kept.
const MOST_OUTPUT: u64 = 256 << 20;

/// What each field of a node is for.
pub const FIELD_HELP: [(&str, &str); 13] = [
    ("label", "what a branch is called in reports"),
    (
        "parallel",
        "`true`: the nodes of a list, or the copies of a `repeat`, run at once",
    ),
    (
        "when",
        "`true`, `false`, a name, `!name` or one placeholder: whether the node runs",
    ),
    (
        "args",
        "what can be given: `name`, `name:type`, `name=default`",
    ),
    ("defaults", "values for names that are not given"),
    (
        "timeout",
        "milliseconds: for each try of a command, for all tries of a group",
    ),
    ("delay", "milliseconds to wait before the node"),
    (
        "output",
        "at the root: `stdout`, a value, or a path with placeholders",
    ),
    ("retry", "how many tries there are at most"),
    (
        "failure",
        "how far a failure reaches: `continue`, `branch` or `root`",
    ),
    ("recover", "a template that runs between two tries"),
    (
        "repeat",
        "how often: a number, a placeholder, or `{list.length}`",
    ),
    ("template", "a command, a list of nodes, or a node"),
];
/// What `repeat` sets.
pub const REPEAT_HELP: [(&str, &str); 4] = [
    ("index", "the number of the copy, from 0"),
    ("prev", "the number of the copy before, in a ring"),
    ("next", "the number of the copy behind, in a ring"),
    ("repeat", "how many copies there are"),
];

/// Whether a document is a template: an object with `template`, or what may stand there alone.
pub fn is_template(root: Node<'_>) -> bool {
    let one_of = |names: &[&str]| names.iter().any(|name| root.get(name).is_some());
    let misspelt = || node::misspelt_template(root).is_some();
    match root.kind {
        Kind::Map(_) => {
            let recipe = one_of(&["atip", "steps", "stages", "context", "extends"]);
            !recipe && (one_of(&node::FIELDS) || one_of(&["pipe", "command"]) || misspelt())
        }
        Kind::List(_) => true,
        Kind::Scalar(_) => is_text(root, Schema::Json),
        Kind::Broken => false,
    }
}

/// Whether a field is one that a template has, or that is known to stand beside one.
pub fn knows_field(name: &str) -> bool {
    node::is_known(name)
}

/// The names that the placeholders of a text read, and where.
pub fn names_in(text: Text<'_>) -> Vec<(String, Span)> {
    let whole = text.text();
    let mut names = Vec::new();
    for piece in holes::pieces(whole) {
        let holes::Piece::Hole(range) = piece else {
            continue;
        };
        let hole = whole.get(range.clone()).map(holes::hole);
        let Some(Ok(hole)) = hole else { continue };
        names.extend(hole.names().into_iter().map(|(name, part)| {
            let span = text.span(range.start + part.start..range.start + part.end);
            (name.to_string(), span)
        }));
    }
    names
}

/// The unit of a template; none if it cannot mean anything, which has been said, or if it is made
/// of recipes that only another host knows.
pub fn lower<'a>(
    root: Node<'a>,
    source: SourceId,
    text: &'a str,
    name: &str,
    report: &mut Report,
) -> Option<Unit> {
    let mut lower = Lower::new(source, Schema::Json, report);
    // What could not be read cannot be rewritten, and may read anything.
    lower.raw = (lower.errors() == 0).then_some(text);
    lower.unread = lower.raw.is_none();
    let flow = lower.flow(root, &Env::default())?;
    let span = Span::top(source);
    let step = Step {
        id: NAME.to_string(),
        span,
        kind: StepKind::Group,
        guard: None,
        attempts: Attempts::ONCE,
        deadline: None,
        on_failure: OnFailure::Stop,
        store: Store::AsIs,
        bind: vec![Bind {
            name: RESULT.to_string(),
            span,
            read: Read::Reply,
        }],
        node: crate::ir::Node::Act(Box::new(Action::Flow(Box::new(flow)))),
    };
    Some(Unit {
        pace: None,
        source,
        name: name.to_string(),
        dialect: NAME,
        inputs: Vec::new(),
        reserved: &[],
        given: Vec::new(),
        optional: Vec::new(),
        secrets: Vec::new(),
        secret_places: Vec::new(),
        limits: RunLimits {
            depth: 1,
            steps: u32::MAX,
            skipped_elsewhere: false,
        },
        exports: Exports::Nothing,
        hooks: Hooks::default(),
        steps: vec![step],
        result: Some(RESULT.to_string()),
        open: false,
    })
}

/// The flow of a template that stands in a recipe: its values are the recipe's variables.
pub fn lower_step(
    node: Node<'_>,
    source: SourceId,
    schema: Schema,
    report: &mut Report,
) -> Option<Flow> {
    let mut lower = Lower::new(source, schema, report);
    lower.in_recipe = true;
    // The step has a deadline of its own, or none because its recipe says so.
    let env = Env {
        timed: true,
        ..Env::default()
    };
    let errors = lower.errors();
    let flow = lower.flow(node, &env);
    // A file of such a template may be for another host; a step of this recipe is for us.
    if let Some(place) = lower.foreign.filter(|_| lower.errors() == errors) {
        let what = "this node stands for a recipe that only another host knows";
        lower.add(not_ours(place, what));
    }
    Some(Flow {
        reserved: Vec::new(),
        ..flow?
    })
}

/// A step would do nothing if it were made of what we do not know.
pub fn not_ours(place: Span, what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::BAD_VALUE, place, what)
        .help("write the commands that it stands for, or call a recipe with `type: recipe`")
}

/// Lowers one template.
pub struct Lower<'r, 'a> {
    source: SourceId,
    schema: Schema,
    report: &'r mut Report,
    /// How many findings were looked at, and how many of them are errors.
    errors: Cell<(usize, usize)>,
    /// How much has come of filling in defaults.
    terms: usize,
    /// The same, for looking whether defaults lead to each other.
    walked: usize,
    /// Names that something reads and where it does so first, and the places of defaults that
    /// something reads.
    used: FxHashMap<String, Span>,
    used_defaults: FxHashSet<Span>,
    /// What was said about places that are looked at more than once.
    said: FxHashSet<(Span, &'static str)>,
    /// The types of values, and where they are declared.
    kinds: IndexMap<String, (Declaration, Span), FxBuildHasher>,
    /// Names that must be given: each once.
    wanted: IndexMap<String, Span, FxBuildHasher>,
    /// Those that may be differences instead, and of what.
    differences: IndexMap<String, (Span, Vec<String>), FxBuildHasher>,
    repeats: bool,
    /// A node that another host's recipe stands for.
    foreign: Option<Span>,
    /// Whether the file has fields of the recipe layer.
    layered: bool,
    /// Whether the template stands in a recipe, whose variables are its values.
    in_recipe: bool,
    /// Whether there are commands that nobody looked at, because they stand where none can.
    unread: bool,
    /// The text of the file, if it is JSON.
    raw: Option<&'a str>,
    /// What placeholders say about defaults.
    notes: Notes<'a>,
}

/// A type, and the words it was written with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Declaration {
    kind: ValueKind,
    word: String,
}

impl<'r, 'a> Lower<'r, 'a> {
    fn new(source: SourceId, schema: Schema, report: &'r mut Report) -> Lower<'r, 'a> {
        Lower {
            source,
            schema,
            report,
            errors: Cell::default(),
            terms: 0,
            walked: 0,
            used: FxHashMap::default(),
            used_defaults: FxHashSet::default(),
            said: FxHashSet::default(),
            kinds: IndexMap::default(),
            wanted: IndexMap::default(),
            differences: IndexMap::default(),
            repeats: false,
            foreign: None,
            layered: false,
            in_recipe: false,
            unread: false,
            raw: None,
            notes: Notes::default(),
        }
    }

    fn flow(&mut self, root: Node<'a>, env: &Env<'a>) -> Option<Flow> {
        self.layered = node::has_recipe_fields(root);
        let errors = self.errors();
        let stage = self.node(root, env, &Place::root());
        let output = self.field(root, "output");
        let output = output.map(|output| self.output(root, output));
        self.unused(root);
        self.hidden_zeros();
        if self.errors() == 0 {
            self.unused_defaults();
        }
        if self.foreign.is_some() || self.errors() > errors {
            return None;
        }
        let mut stage = stage?;
        if output.is_none() {
            self.swallowed_failure(root, &stage);
        }
        // A root of one step fails with it.
        match &mut stage.work {
            Work::Seq(all) if all.len() == 1 => stage.scope = Scope::Root,
            Work::Times(times) => times.alone = Scope::Root,
            _ => {}
        }
        let reserved = match self.repeats {
            true => reserved_names(),
            false => Vec::new(),
        };
        let read = |name: &String, span: Span, missing: Missing| Expr {
            span,
            kind: ExprKind::Var {
                name: name.clone(),
                missing,
            },
        };
        let wanted = self.wanted.iter();
        let reads = wanted.map(|(name, span)| read(name, *span, Missing::Fail));
        let differences = self.differences.iter();
        let differences = differences.map(|(name, (span, parts))| Difference {
            whole: read(name, *span, Missing::Fail),
            parts: parts.clone(),
        });
        let others = self.used.iter();
        let mut others: Vec<(&String, &Span)> = others
            .filter(|(name, _)| !self.wanted.contains_key(*name))
            .collect();
        others.sort_unstable();
        let asks = others.into_iter();
        let asks = asks.map(|(name, span)| read(name, *span, Missing::Null));
        Some(Flow {
            reads: reads.collect(),
            asks: asks.collect(),
            differences: differences.collect(),
            around: Around::default(),
            declared: self.declared(),
            reserved,
            root: stage,
            output: output.flatten(),
            from: None,
        })
    }

    /// How much is wrong with the file so far, whatever is given.
    fn errors(&self) -> usize {
        let errors = |finding: &&Diagnostic| {
            finding.severity == codes::Severity::Error
                && finding.span.source == self.source
                && finding.code != &codes::UNUSABLE_DEFAULT
        };
        let (seen, before) = self.errors.get();
        let new = self.report.findings.iter().skip(seen).filter(errors);
        let all = before + new.count();
        self.errors.set((self.report.findings.len(), all));
        all
    }

    /// The form of every value that is read: as declared, or as it is.
    fn declared(&self) -> Vec<Declared> {
        let mut all: Vec<Declared> = Vec::new();
        let declared = self
            .kinds
            .iter()
            .map(|(name, (declaration, span))| Declared {
                name: name.clone(),
                kind: declaration.kind.clone(),
                span: *span,
            });
        all.extend(declared);
        let mut plain: Vec<&String> = self
            .used
            .keys()
            .filter(|name| !self.kinds.contains_key(*name))
            .collect();
        plain.sort_unstable();
        all.extend(plain.into_iter().map(|name| Declared {
            name: name.clone(),
            kind: ValueKind::Any,
            span: Span::top(self.source),
        }));
        all
    }

    fn add(&mut self, finding: Diagnostic) {
        self.report.add(finding);
    }

    /// Says something about a place that is looked at more than once.
    fn report_once(&mut self, finding: Diagnostic) {
        if self.said.insert((finding.span, finding.code.code)) {
            self.report.add(finding);
        }
    }

    fn use_name(&mut self, name: &str, span: Span) {
        if !self.used.contains_key(name) {
            self.used.insert(name.to_string(), span);
        }
    }

    fn use_default(&mut self, span: Span) {
        self.used_defaults.insert(span);
    }

    /// Notes the type of a value, which must be the same wherever it is said.
    fn declare(&mut self, name: &str, kind: ValueKind, word: &str, span: Span) {
        let new = Declaration {
            kind,
            word: word.to_string(),
        };
        match self.kinds.get(name) {
            None => {
                self.kinds.insert(name.to_string(), (new, span));
            }
            Some((known, first)) if known.word != new.word && known.kind != new.kind => {
                let message = format!("`{name}` is declared as `{}` and as `{word}`", known.word);
                let finding = Diagnostic::new(&codes::TYPE_CONFLICT, span, message)
                    .label(*first, "it is declared here first")
                    .help("declare it once, or with the same type");
                self.report_once(finding);
            }
            Some(_) => {}
        }
    }

    /// A name that is read without a default: something must define it.
    fn require(&mut self, env: &Env<'a>, name: &str, span: Span) {
        if env.repeats == 0 && names::repeat_name(name).is_some() {
            let plain = name.trim_start_matches('_');
            let message = format!("`{name}` exists inside of a `repeat` only");
            self.report_once(
                Diagnostic::new(&codes::OUTSIDE_REPEAT, span, message).help(format!(
                    "put `repeat` on this node, or use a name other than `{plain}`"
                )),
            );
            return;
        }
        let mut parts = Vec::new();
        let apart = env.apart(name, name);
        if let Some(apart) = &apart {
            apart.names(&mut parts);
        }
        if env.is_known(name) {
            if apart.is_some() {
                parts.retain(|(part, _)| !env.has_default(part));
                let parts = parts.into_iter().map(|(part, _)| part.to_string());
                let new = || (span, parts.collect());
                self.differences.entry(name.to_string()).or_insert_with(new);
            } else if !env.has_default(name) && !HOST_NAMES.contains(&name) {
                self.wanted.entry(name.to_string()).or_insert(span);
            }
            return;
        }
        if apart.is_some() && parts.iter().all(|(part, _)| env.is_known(part)) {
            return;
        }
        let message = format!("nothing defines `{name}`");
        let finding = Diagnostic::new(&codes::UNDEFINED_VARIABLE, span, message).about(name);
        let finding = match env.nearest(name, &[], |_| true) {
            Some(near) => {
                // That nothing reads what is meant is no second mistake.
                self.use_name(near, span);
                finding
                    .did_you_mean(near)
                    .fix(Fix::rename(name, near, span))
            }
            None => finding.help(format!("add `{name}` to `args`, or give it a default")),
        };
        self.report_once(finding);
    }

    fn is_text(&self, node: Node<'_>) -> bool {
        is_text(node, self.schema)
    }

    fn is_null(&self, node: Node<'_>) -> bool {
        is_null(node, self.schema)
    }

    /// A field that may be left out; one that is null is.
    fn field(&self, node: Node<'a>, name: &str) -> Option<Node<'a>> {
        node.get(name).filter(|field| !self.is_null(*field))
    }

    /// The text of a node that holds text, and nothing else.
    fn text(&self, node: Node<'a>) -> Option<Text<'a>> {
        self.is_text(node).then(|| node.text()).flatten()
    }

    fn literal(&self, node: Node<'_>) -> Literal {
        match node.kind {
            Kind::Broken => Literal::Null,
            Kind::List(items) => {
                Literal::List(items.iter().map(|item| self.literal(*item)).collect())
            }
            Kind::Map(entries) => Literal::Map(
                entries
                    .iter()
                    .filter_map(|entry| {
                        Some((entry.name()?.to_string(), self.literal(entry.value)))
                    })
                    .collect(),
            ),
            Kind::Scalar(scalar) => match resolve(scalar, self.schema) {
                Plain::Null => Literal::Null,
                Plain::Bool(value) => Literal::Bool(value),
                Plain::Int(value) => Literal::Int(value),
                Plain::Float(value) => Literal::Float(value),
                Plain::Text => Literal::Text(scalar.text.to_string()),
            },
        }
    }

    /// What `output` selects; none for what was written.
    fn output(&mut self, root: Node<'a>, node: Node<'a>) -> Option<Term> {
        let Some(text) = self.text(node) else {
            if !node.is_broken() {
                self.add(node::wrong_type("output", "text", node));
            }
            return None;
        };
        let word = text.text();
        if word.is_empty() || word == "stdout" {
            return None;
        }
        let env = self.root_env(root);
        if holes::is_name(word) {
            let known = env.arg(word).is_some() || env.has_default(word);
            if !known && !self.used.contains_key(word) {
                let message = format!("`{word}` is neither `stdout` nor a value of this template");
                let finding = Diagnostic::new(&codes::UNKNOWN_OUTPUT, text.inner(), message);
                let finding = match env.nearest(word, &["stdout"], |_| true) {
                    Some(near) => finding.did_you_mean(near).fix_if(spot::rename(
                        word,
                        near,
                        text.edit(0..word.len(), near),
                    )),
                    None => finding
                        .help("name a value, write `{…}` around one, or give a path with `/`"),
                };
                self.add(finding);
                return None;
            }
            self.use_name(word, text.inner());
            let value = env.value(word, text.inner(), self, &mut Vec::new());
            self.look_at(&value, &env);
            return Some(value);
        }
        let has_hole = holes::pieces(word)
            .iter()
            .any(|piece| matches!(piece, holes::Piece::Hole(_)));
        if !has_hole && !word.contains('/') {
            let message = format!("`{word}` is neither `stdout` nor a value nor a path");
            self.add(
                Diagnostic::new(&codes::UNKNOWN_OUTPUT, text.inner(), message)
                    .help("name a value, write `{…}` around one, or give a path with `/`"),
            );
            return None;
        }
        let value = self.filled(text, &env);
        self.look_at(&value, &env);
        Some(value)
    }

    /// What is known at the root, for `output`.
    fn root_env(&mut self, root: Node<'a>) -> Env<'a> {
        let mut quiet = Report::default();
        let mut other = Lower::new(self.source, self.schema, &mut quiet);
        let env = Env::default();
        let env = other.env_of(root, &env, false);
        let used = std::mem::take(&mut other.used);
        self.used.extend(used);
        env
    }

    /// A text with its placeholders, as one value.
    fn filled(&mut self, text: Text<'a>, env: &Env<'a>) -> Term {
        let span = text.inner();
        let mut parts = Vec::new();
        for piece in holes::pieces(text.text()) {
            match piece {
                holes::Piece::Plain(range) => {
                    let plain = text.text().get(range).unwrap_or_default();
                    parts.push(Term::text(span, plain));
                }
                holes::Piece::Hole(range) => {
                    let start = range.start;
                    let inner = text.text().get(range).unwrap_or_default();
                    let at = Spot::of_text(text, start);
                    parts.extend(self.hole(inner, env, &at));
                }
            }
        }
        match parts.len() {
            1 => parts.pop().unwrap_or_else(|| Term::text(span, "")),
            0 => Term::text(span, ""),
            _ => Term::new(span, TermKind::Text(parts)),
        }
    }
}

fn is_text(node: Node<'_>, schema: Schema) -> bool {
    node.scalar()
        .is_some_and(|scalar| resolve(scalar, schema) == Plain::Text)
}

fn is_null(node: Node<'_>, schema: Schema) -> bool {
    node.scalar()
        .is_some_and(|scalar| resolve(scalar, schema) == Plain::Null)
}

/// The names that `repeat` sets, with all the underscores they may have.
fn reserved_names() -> Vec<String> {
    let names = REPEAT_NAMES.iter();
    names
        .flat_map(|name| (0..=6).map(move |count| format!("{}{name}", "_".repeat(count))))
        .collect()
}
