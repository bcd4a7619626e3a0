//! A recipe, from its fields to a unit of the IR.

use super::fields::{RECIPE, STAGE};
use super::halves::{self, Names};
use super::literal::literal;
use super::text::Lower;
use super::{ALL, Dialect};
use super::{order, portable, raw, slips, strange};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report, nearest};
use crate::doc::fields::{Fields, name_span, text_of};
use crate::doc::{Node as Doc, Text as Written};
use crate::ir::{
    Action, Approve, Attempts, Check, Expr, ExprKind, Graph, Guard, Hooks, Input, Literal, Missing,
    Node, OnFailure, RunLimits, SESSION, Step, Store, Text, Unit, visit,
};
use crate::source::{SourceId, Span};
use rrc_vm::plan::StepKind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::LazyCell;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// More steps than this are refused: nobody wrote them, and every table grows with them.
pub const MOST_STEPS: usize = 20_000;

/// How a recipe is read, besides its dialect.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The dialect was chosen on purpose, not because nothing spoke against it.
    pub deliberate: bool,
    /// Nothing says which runner the file is for.
    pub undecided: bool,
    /// The file speaks for several, which has been said: what only one of them asks for is not
    /// missed as well.
    pub disputed: bool,
    /// Paste values into shell text whatever the recipe says.
    pub raw: bool,
    /// Milliseconds for steps that say nothing, instead of what the dialect gives them.
    pub timeout_ms: Option<u64>,
}

pub fn lower(
    node: Doc<'_>,
    source: SourceId,
    dialect: &'static Dialect,
    options: Options,
    report: &mut Report,
) -> Option<Lowered> {
    let said = report.findings.len();
    let fields = Fields::new(&RECIPE, node, dialect.schema, report);
    if !fields.is_map() {
        return None;
    }
    strange::documents_inputs(&fields, said, report);
    let mut lower = Lower {
        raw: options.raw,
        timeout_ms: options.timeout_ms,
        infer_kind: dialect.infer_kind || options.disputed,
        ..Lower::new(dialect, report)
    };
    let reserved = dialect.reserved.iter();
    lower.tame.extend(reserved.map(|name| name.to_string()));
    let name = lower.header(&fields, options);
    if lower.report_choice(&fields) == Some("raw") {
        lower.raw = true;
    }
    if let Some(stages) = fields.boolean("auto_stage", lower.report) {
        lower.stages_changes = stages;
    }
    lower.facts(&fields, &name);
    let mut inputs = lower.inputs(&fields);
    let limits = lower.limits(&fields);
    let (secrets, secret_places) = lower.secrets(&fields);
    lower.secrets.extend(secrets.iter().cloned());
    let hooks = lower.hooks(&fields);
    let (check, optional) = lower.validation(&fields);
    let mut steps = lower.all_steps(&fields);
    steps.splice(..0, check);
    unique_ids(&steps, |_, _| true, lower.report);
    let after = order::check(node, lower.report);
    raw::check(&lower.pasted, &steps, lower.report);
    raw::check_all(&lower.all_pasted, &inputs, &steps, lower.report);
    raw::one_word(&lower.commands, &inputs, &steps, lower.report);
    let runners: &[&Dialect] = match options.undecided {
        true => ALL,
        false => &[dialect],
    };
    portable::say_quoted(runners, &lower.quoted, lower.report);
    lower.approval_message(&fields, &mut inputs, &steps);
    let names = LazyCell::new(|| Names::new(&inputs, &steps));
    slips::check(node, &|name| names.wants(name), lower.report);
    halves::say(
        &lower.suspects,
        &lower.tags,
        &|name| names.has(name),
        &steps,
        dialect.reserved,
        lower.report,
    );
    let pace = lower.pace(&fields);
    let extends = fields.text("extends", lower.report);
    let parent = extends.map(|name| Parent {
        name: name.text().to_string(),
        span: name.inner(),
        has_limits: fields.has("recursion"),
        after,
    });
    let mut given = lower.given;
    if dialect.reserved.contains(&SESSION) {
        given.push(SESSION);
    }
    let unit = Unit {
        source,
        name,
        dialect: dialect.name,
        inputs,
        reserved: dialect.reserved,
        given,
        optional,
        secrets,
        secret_places,
        limits,
        exports: dialect.exports,
        hooks,
        pace,
        steps,
        result: None,
        open: false,
    };
    Some(Lowered {
        unit: Arc::new(unit),
        parent,
    })
}

/// A unit, and the recipe it extends, which is yet to be read.
#[derive(Clone, Debug)]
pub struct Lowered {
    pub unit: Arc<Unit>,
    pub parent: Option<Parent>,
}

#[derive(Clone, Debug)]
pub struct Parent {
    pub name: String,
    pub span: Span,
    /// Whether the child says its own limits.
    pub has_limits: bool,
    /// Steps that the child wants to come after, which must be the parent's.
    pub after: Vec<(String, Span)>,
}

/// One condition over variables that are given from outside, and a unit for it to stand in.
pub fn lower_expression(
    text: &str,
    source: SourceId,
    dialect: &'static Dialect,
    names: &[&str],
    as_truth: bool,
    report: &mut Report,
) -> Option<(Unit, Expr)> {
    let mut lower = Lower::new(dialect, report);
    let written = Written::plain(text, Span::new(source, 0, text.len()));
    let Guard { expr, truth } = lower.condition(written)?;
    let expr = match as_truth {
        true => Expr {
            span: expr.span,
            kind: ExprKind::Truth {
                of: Box::new(expr),
                truth,
            },
        },
        false => expr,
    };
    let given = |name: &&str| Input {
        name: (*name).to_string(),
        span: Span::top(source),
        default: Literal::Null,
    };
    let unit = Unit {
        source,
        name: "<expression>".to_string(),
        dialect: dialect.name,
        inputs: names.iter().map(given).collect(),
        reserved: &[],
        given: Vec::new(),
        optional: Vec::new(),
        secrets: Vec::new(),
        secret_places: Vec::new(),
        limits: dialect.limits,
        exports: dialect.exports,
        hooks: Hooks::default(),
        pace: None,
        steps: Vec::new(),
        result: None,
        open: false,
    };
    Some((unit, expr))
}

impl<'r> Lower<'r> {
    fn new(dialect: &'static Dialect, report: &'r mut Report) -> Lower<'r> {
        Lower {
            dialect,
            report,
            raw: false,
            timeout_ms: None,
            infer_kind: dialect.infer_kind,
            stages_changes: dialect.stages_changes,
            facts: Vec::new(),
            step: None,
            given: Vec::new(),
            pasted: Vec::new(),
            all_pasted: Vec::new(),
            commands: Vec::new(),
            quoted: Vec::new(),
            suspects: Vec::new(),
            tags: Vec::new(),
            graph: false,
            secrets: FxHashSet::default(),
            tame: FxHashSet::default(),
            prints_json: false,
            conditions: FxHashMap::default(),
        }
    }
}

impl Lower<'_> {
    fn report_choice(&mut self, fields: &Fields<'_>) -> Option<&'static str> {
        self.graph = fields.choice("schedule", self.report) == Some("graph");
        fields.choice("substitution", self.report)
    }

    /// What a recipe can say about itself in its texts.
    fn facts(&mut self, fields: &Fields<'_>, name: &str) {
        if !self.dialect.reserved.contains(&"recipe") {
            return;
        }
        let text = |field: &str| {
            let written = fields.node(field).and_then(|node| node.text());
            Literal::Text(written.map_or_else(String::new, |text| text.text().to_string()))
        };
        self.facts.push((
            "recipe",
            Literal::Map(vec![
                ("name".to_string(), Literal::Text(name.to_string())),
                ("version".to_string(), text("version")),
                ("description".to_string(), text("description")),
            ]),
        ));
    }

    fn inputs(&mut self, fields: &Fields<'_>) -> Vec<Input> {
        let mut inputs = Vec::new();
        for entry in fields.map("context", self.report).unwrap_or_default() {
            let Some(name) = entry.name() else { continue };
            strange::unreadable(name, name_span(entry.key), self.report);
            let default = literal(entry.value, self.dialect.schema, self.report);
            let help = || "write the value itself, or put it together where it is read".to_string();
            strange::unfilled_value(entry.value, &help, self.report);
            if default != Literal::Null && default != Literal::Text(String::new()) {
                self.tame.insert(name.to_string());
            }
            inputs.push(Input {
                name: name.to_string(),
                span: name_span(entry.key),
                default,
            });
        }
        inputs
    }

    /// What an approver adds to the answer. Here nobody can add anything, but stages may read it.
    fn approval_message(&self, fields: &Fields<'_>, inputs: &mut Vec<Input>, steps: &[Step]) {
        const NAME: &str = "_approval_message";
        let Some(span) = fields.key_span("stages") else {
            return;
        };
        if self.dialect.reserved.contains(&"stage") && Names::new(inputs, steps).wants(NAME) {
            inputs.push(Input {
                name: NAME.to_string(),
                span,
                default: Literal::Text(String::new()),
            });
        }
    }

    fn secrets(&mut self, fields: &Fields<'_>) -> (Vec<String>, Vec<Span>) {
        let items = fields.list("secrets", self.report).unwrap_or_default();
        let names = items.iter().filter_map(|item| {
            text_of(
                "an item of `secrets`",
                *item,
                self.dialect.schema,
                self.report,
            )
        });
        let named: (Vec<String>, Vec<Span>) = names
            .map(|name| (name.text().to_string(), name.inner()))
            .unzip();
        for (name, span) in named.0.iter().zip(&named.1) {
            if let Some((message, help)) = strange::no_secret(name) {
                self.report
                    .add(Diagnostic::new(&codes::BAD_VALUE, *span, message).help(help));
            }
        }
        named
    }

    pub fn limits(&mut self, fields: &Fields<'_>) -> RunLimits {
        let mut limits = self.dialect.limits;
        if let Some(recursion) = fields.nested("recursion", self.report) {
            let mut read = |field, allowed: &RangeInclusive<u32>, limit: &mut u32| {
                if recursion.present(field).is_some() {
                    let (least, most) = (i64::from(*allowed.start()), i64::from(*allowed.end()));
                    let value = recursion.integer_within(field, least..=most, self.report);
                    // One that is wrong was meant to be another than the usual one.
                    *limit = value.map_or(u32::MAX, |value| value.try_into().unwrap_or(u32::MAX));
                }
            };
            let dialect = self.dialect;
            read("max_depth", &dialect.depths, &mut limits.depth);
            read("max_total_steps", &dialect.step_counts, &mut limits.steps);
        }
        limits
    }

    fn hooks(&mut self, fields: &Fields<'_>) -> Hooks {
        let Some(hooks) = fields.nested("hooks", self.report) else {
            return Hooks::default();
        };
        let mut script = |name| {
            let text = hooks.text(name, self.report)?;
            Some(self.script(text))
        };
        Hooks {
            before: script("pre_step"),
            after: script("post_step"),
            failed: script("on_error"),
        }
    }

    /// Rules about variables are checked by a step that nobody sees, before the first one; some
    /// variables have a rule only to say that they may be missing.
    fn validation(&mut self, fields: &Fields<'_>) -> (Option<Step>, Vec<(String, Span)>) {
        let (mut checks, mut optional) = (Vec::new(), Vec::new());
        let rules = ["nonempty", "git_repo", "path", "optional"];
        for entry in fields
            .map("context_validation", self.report)
            .unwrap_or_default()
        {
            let Some(name) = entry.name() else { continue };
            let what = format!("the rule of `{name}`");
            if entry.value.list().is_some() {
                let message = format!("{what} must be text, not a list");
                self.report.add(
                    Diagnostic::new(&codes::WRONG_TYPE, name_span(entry.value), message)
                        .help(format!("write one of: {}", rules.join(", "))),
                );
                continue;
            }
            let rule = text_of(&what, entry.value, self.dialect.schema, self.report);
            let Some(rule) = rule else { continue };
            if !rules.contains(&rule.text()) {
                let message = format!("there is no rule `{}`", rule.text());
                let finding = Diagnostic::new(&codes::BAD_VALUE, rule.inner(), message);
                self.report.add(match nearest(rule.text(), rules) {
                    Some(near) => finding.help(format!("write `{near}`")).fix(Fix::rename(
                        rule.text(),
                        near,
                        rule.inner(),
                    )),
                    None => finding.help(format!("write one of: {}", rules.join(", "))),
                });
                continue;
            }
            let span = name_span(entry.key);
            if rule.text() == "optional" {
                optional.push((name.to_string(), span));
                continue;
            }
            // Being there at all is part of the rule, so reading it is never a failure.
            let kind = ExprKind::Var {
                name: name.to_string(),
                missing: Missing::Null,
            };
            checks.push(Check {
                name: name.to_string(),
                rule: rule.text().to_string(),
                value: Expr { span, kind },
            });
        }
        let step = checks.first().map(|first| {
            let span = first.value.span;
            hidden("context_validation".to_string(), span, StepKind::Group)
        });
        let step = step.map(|step| Step {
            node: Node::Act(Box::new(Action::Validate(checks))),
            ..step
        });
        (step, optional)
    }

    fn all_steps(&mut self, fields: &Fields<'_>) -> Vec<Step> {
        let both = fields.has("steps") && fields.has("stages");
        if both {
            let span = fields.key_span("stages").unwrap_or_else(|| fields.head());
            let other = fields.key_span("steps").unwrap_or_else(|| fields.head());
            self.report.add(
                Diagnostic::new(
                    &codes::EXCLUSIVE_FIELDS,
                    span,
                    "a recipe has `steps` or `stages`, not both",
                )
                .label(other, "`steps` stands here")
                .help("move the steps into a stage"),
            );
        }
        let count = count_steps(fields.whole());
        if count > MOST_STEPS {
            let key = if fields.has("stages") {
                "stages"
            } else {
                "steps"
            };
            let span = fields.key_span(key).unwrap_or_else(|| fields.head());
            let message = format!("a recipe of {count} steps; at most {MOST_STEPS} are read");
            self.report.add(
                Diagnostic::new(&codes::TOO_MANY_STEPS, span, message)
                    .help("use `foreach`, or split the recipe"),
            );
            return Vec::new();
        }
        if let Some(stages) = fields.list("stages", self.report) {
            return self.stages(stages, fields);
        }
        if !fields.has("stages") {
            fields.require("steps", self.report);
        }
        let Some(items) = fields.list("steps", self.report) else {
            return Vec::new();
        };
        let cut_short = fields.node("steps").is_some_and(|node| node.partial);
        if items.is_empty() && cut_short {
            return Vec::new();
        }
        let span = fields.key_span("steps").unwrap_or_else(|| fields.head());
        let steps = self.steps(items, span);
        self.scheduled(steps, items, span)
    }

    /// The list as the recipe wants it run: in order, or as a graph.
    fn scheduled(&mut self, steps: Vec<Step>, items: &[Doc<'_>], span: Span) -> Vec<Step> {
        if !self.graph || steps.is_empty() {
            return steps;
        }
        let graph = Graph {
            steps,
            after: order::named(items),
        };
        let step = hidden("graph".to_string(), span, StepKind::Group);
        vec![Step {
            node: Node::Graph(graph),
            ..step
        }]
    }

    fn steps(&mut self, items: &[Doc<'_>], span: Span) -> Vec<Step> {
        if items.is_empty() {
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, span, "`steps` is empty")
                    .help("a recipe needs at least one step"),
            );
        }
        let mut steps = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if self.dialect.reserved.contains(&"step") {
                let id = item.get("id").and_then(|id| id.text());
                let id = id.map_or("", |id| id.text());
                self.step = Some((id.to_string(), index));
            }
            if let Some(step) = self.step(*item) {
                add_step(&mut steps, *item, step);
            }
        }
        steps
    }

    fn set_fact(&mut self, name: &'static str, fact: Literal) {
        self.facts.retain(|(known, _)| *known != name);
        self.facts.push((name, fact));
    }

    fn stages(&mut self, stages: &[Doc<'_>], recipe: &Fields<'_>) -> Vec<Step> {
        let mut all = Vec::new();
        let mut names: FxHashMap<String, Span> = FxHashMap::default();
        if stages.is_empty() {
            let span = recipe.key_span("stages").unwrap_or_else(|| recipe.head());
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, span, "`stages` is empty")
                    .help("a recipe needs at least one stage with a step"),
            );
        }
        for (index, stage) in stages.iter().enumerate() {
            let said = self.report.findings.len();
            let fields = Fields::new(&STAGE, *stage, self.dialect.schema, self.report);
            strange::no_gate(&fields, self.dialect.schema, said, self.report);
            if !fields.is_map() {
                continue;
            }
            fields.require("name", self.report);
            strange::unprintable(&fields, "name", self.report);
            if let Some(name) = fields.text("name", self.report) {
                match names.get(name.text()) {
                    Some(first) => {
                        self.report
                            .add(duplicate("stage", name.text(), name.inner(), *first))
                    }
                    None => {
                        names.insert(name.text().to_string(), name.inner());
                    }
                }
            }
            let name = fields.node("name").and_then(|name| name.text());
            if let Some(name) = name.filter(|name| name.text().trim().is_empty()) {
                let message = "`name` of this stage is blank";
                self.report.add(
                    Diagnostic::new(&codes::BAD_VALUE, name.inner(), message)
                        .help("give the stage a name"),
                );
            }
            let name = name.map_or("", |name| name.text());
            if self.dialect.reserved.contains(&"stage") {
                let fact = vec![
                    ("name".to_string(), Literal::Text(name.to_string())),
                    ("index".to_string(), Literal::Int(index as i64)),
                ];
                self.set_fact("stage", Literal::Map(fact));
            }
            fields.require("steps", self.report);
            if let Some(items) = fields.list("steps", self.report) {
                let span = fields.key_span("steps").unwrap_or_else(|| fields.head());
                let steps = self.steps(items, span);
                all.extend(self.scheduled(steps, items, span));
            }
            if let Some(approval) = fields.nested("approval", self.report) {
                all.extend(self.approval(&approval, name));
            }
        }
        all
    }

    /// The gate after a stage, if there is one.
    fn approval(&mut self, approval: &Fields<'_>, stage: &str) -> Option<Step> {
        let required = approval.boolean("required", self.report).unwrap_or(false);
        if required {
            approval.require("prompt", self.report);
            let help = "write what is to be approved";
            strange::blank(approval, "prompt", help, self.report);
        }
        let prompt = approval.text("prompt", self.report);
        let prompt = prompt.map(|prompt| self.text(prompt));
        let seconds = approval.number("timeout", self.report).unwrap_or(0.0);
        if seconds < 0.0 {
            let span = approval
                .value_span("timeout")
                .unwrap_or_else(|| approval.head());
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, span, "`timeout` must not be negative")
                    .help("write seconds; 0 waits for ever"),
            );
        }
        let default = approval.choice("default", self.report);
        if !required {
            return None;
        }
        let span = approval.head();
        let action = Action::Approve(Approve {
            stage: stage.to_string(),
            prompt: prompt.unwrap_or_else(|| Text::literal(span, "")),
            timeout_ms: (seconds > 0.0).then_some((seconds * 1000.0) as u64),
            default_approve: default == Some("approve"),
        });
        let step = hidden(stage.to_string(), span, StepKind::Stage);
        Some(Step {
            node: Node::Act(Box::new(action)),
            ..step
        })
    }
}

/// Steps that have the id of another one, as far as such a pair is not known already.
pub fn unique_ids(steps: &[Step], is_new: fn(Span, Span) -> bool, report: &mut Report) {
    let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
    seen.reserve(steps.len());
    for step in steps {
        note_ids(step, None, &mut seen, &mut |id, again, first| {
            if is_new(again, first) {
                report.add(duplicate("step", id, again, first));
            }
        });
    }
}

fn note_ids<'a>(
    step: &'a Step,
    around: Option<&'a Step>,
    seen: &mut FxHashMap<&'a str, Span>,
    tell: &mut dyn FnMut(&str, Span, Span),
) {
    let named = !step.id.is_empty() && !step.kind.is_hidden();
    // The body of a loop is the loop's own step once more, in the same place.
    let is_body = |around: &Step| around.id == step.id && around.span == step.span;
    if named && !around.is_some_and(is_body) {
        match seen.get(step.id.as_str()) {
            Some(first) => tell(&step.id, step.span, *first),
            None => drop(seen.insert(&step.id, step.span)),
        }
    }
    let around = if named { Some(step) } else { around };
    for step in visit::inside(step) {
        note_ids(step, around, seen, tell);
    }
}

/// A step that the user did not write as one.
fn hidden(id: String, span: Span, kind: StepKind) -> Step {
    Step {
        id,
        span,
        kind,
        guard: None,
        attempts: Attempts::ONCE,
        deadline: None,
        on_failure: OnFailure::Stop,
        store: Store::AsIs,
        bind: Vec::new(),
        node: Node::Seq(Vec::new()),
    }
}

/// Adds a step; neighbours of one group run side by side.
pub fn add_step(steps: &mut Vec<Step>, item: Doc<'_>, step: Step) {
    match item.get("parallel_group").and_then(|group| group.text()) {
        Some(group) => join_group(steps, group.text(), group.inner(), step),
        None => steps.push(step),
    }
}

/// Adds a step to the group before it, if that has this name, or begins one.
pub fn join_group(steps: &mut Vec<Step>, name: &str, span: Span, step: Step) {
    if let Some(last) = steps.last_mut()
        && last.kind == StepKind::Group
        && last.id == name
        && let Node::Par { branches, .. } = &mut last.node
    {
        branches.push(step);
        return;
    }
    let group = hidden(name.to_string(), span, StepKind::Group);
    steps.push(Step {
        node: Node::Par {
            branches: vec![step],
            width: None,
        },
        ..group
    });
}

/// All steps that are written in a recipe, in stages and in the bodies of loops as well.
fn count_steps(map: Doc<'_>) -> usize {
    let inside = |key| {
        let items = map.get(key).and_then(|list| list.list());
        let items = items.unwrap_or_default();
        let deeper: usize = items.iter().map(|item| count_steps(*item)).sum();
        (items.len(), deeper)
    };
    let (_, staged) = inside("stages");
    let (own, nested) = inside("steps");
    let (body, deeper) = inside("while_steps");
    staged + own + nested + body + deeper
}

fn duplicate(what: &str, name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(
        &codes::DUPLICATE_ID,
        span,
        format!("another {what} is called `{name}` too"),
    )
    .label(first, "it stands here first")
    .help(format!("give each {what} a name of its own"))
}
