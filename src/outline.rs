//! `rrc run --explain`: the steps of a recipe and what decides about them.

use crate::results::{printable, printable_lines};
use rrc_compiler::ir::flow::{Stage, Term, Work};
use rrc_compiler::ir::{
    Action, Expr, ExprKind, Guard, INCLUDE_TAGS, Literal, Node, OnFailure, Part, Program, Step,
    Text, While, visit,
};
use rrc_compiler::schedule;
use rrc_compiler::source::Sources;
use rrc_vm::convert::to_json;
use rrc_vm::text::json_text;
use rrc_vm::value::{Map, Value};
use serde_json::{Value as Json, json};
use std::io::{self, Write};

/// A recipe in outline: the values it starts with, and its steps.
pub struct Outline<'a> {
    name: &'a str,
    dialect: &'a str,
    values: Vec<(&'a str, Value)>,
    entries: Vec<Entry>,
}

/// A step, a command of a template, or several that belong together.
enum Entry {
    Step(Box<Shown>, Vec<Entry>),
    /// The question whether to go on after a stage.
    Approval {
        stage: String,
        prompt: String,
    },
    Command {
        text: String,
        around: Around,
    },
    Group {
        how: How,
        around: Around,
        entries: Vec<Entry>,
    },
}

struct Shown {
    kind: &'static str,
    id: String,
    /// What it calls or asks, as it is written.
    recipe: Option<String>,
    agent: Option<String>,
    /// What it is done for each of, and what it is done as long as.
    each: Option<String>,
    repeat: Option<String>,
    tags: Vec<String>,
    condition: Option<String>,
    /// The variables it sets, and the one that collects what each round gives.
    stores: Vec<String>,
    collects: Option<String>,
    tries: u32,
    on_failure: OnFailure,
    /// The steps that it waits for.
    after: Vec<String>,
}

/// What decides about commands, as it is written.
#[derive(Default)]
struct Around {
    condition: Option<String>,
    tries: Option<String>,
}

#[derive(Default)]
struct How {
    at_once: bool,
    times: Option<String>,
}

impl<'a> Outline<'a> {
    /// None if there is no recipe.
    pub fn new(program: &'a Program, sources: &'a Sources, variables: &Map) -> Option<Outline<'a>> {
        let root = program.units.first()?;
        let values = root.inputs.iter().map(|input| {
            let default = || input.default.value();
            let value = variables.get(input.name.as_str()).cloned();
            (input.name.as_str(), value.unwrap_or_else(default))
        });
        let reader = Reader { program, sources };
        Some(Outline {
            name: &root.name,
            dialect: root.dialect,
            values: values.collect(),
            entries: reader.steps(&root.steps),
        })
    }

    pub fn json(&self) -> Json {
        let values = self.values.iter();
        let context = values.map(|(name, value)| ((*name).to_string(), to_json(value)));
        json!({
            "recipe_name": self.name,
            "dialect": self.dialect,
            "context": context.collect::<serde_json::Map<String, Json>>(),
            "steps": objects(&self.entries),
        })
    }

    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} ({})", printable(self.name), self.dialect)?;
        for (name, value) in &self.values {
            writeln!(out, "  {name} = {}", json_text(value))?;
        }
        let mut listing = Listing { number: 0, out };
        listing.entries(&self.entries, 1)
    }
}

/// Makes entries of what a recipe says.
struct Reader<'a> {
    program: &'a Program,
    sources: &'a Sources,
}

/// A command as it is written, from its first word to its last. A placeholder knows where its
/// name stands; its braces are around that.
fn written<'s>(sources: &'s Sources, first: &Term, last: &Term) -> &'s str {
    let text = &sources.get(first.span.source).text;
    let (start, end) = (first.span.range().start, last.span.range().end);
    let ends = |c: char| c.is_whitespace() || c == '"';
    let start = text
        .get(..start)
        .map(|before| before.rfind(ends).map_or(0, |at| at + 1));
    let end = text
        .get(end..)
        .map(|rest| end + rest.find(ends).unwrap_or(rest.len()));
    let range = start.zip(end).map(|(start, end)| start..end);
    range.and_then(|range| text.get(range)).unwrap_or_default()
}

impl Reader<'_> {
    /// A text with the names of the values in it.
    fn written(&self, text: &Text) -> String {
        let part = |part: &Part| match part {
            Part::Literal(text) => text.clone(),
            Part::Value { expr, .. } => format!("{{{{{}}}}}", self.text(expr)),
        };
        text.parts.iter().map(part).collect()
    }

    fn text(&self, expr: &Expr) -> String {
        self.sources.text(expr.span).to_string()
    }

    fn steps(&self, steps: &[Step]) -> Vec<Entry> {
        let entries = steps.iter().flat_map(|step| self.step(step, Vec::new()));
        entries.collect()
    }

    /// A step with what stands in it; of one that only holds others together, those.
    fn step(&self, step: &Step, after: Vec<String>) -> Vec<Entry> {
        let inner = self.inside(step);
        if step.kind.is_hidden() {
            return inner;
        }
        let (each, repeat) = match &step.node {
            Node::Each(each) => (Some(self.text(&each.over)), None),
            Node::While(body) => (None, Some(self.text(&body.condition.expr))),
            _ => (None, None),
        };
        let (tags, condition) = step.guard.as_ref().map_or((Vec::new(), None), asked);
        let (stores, collects) = stored(step);
        let work = work(step);
        let (recipe, agent) = match &work.node {
            Node::Act(action) => match &**action {
                Action::Call(call) => (Some(self.written(&call.recipe)), None),
                Action::Agent(agent) => (None, agent.agent.clone()),
                _ => (None, None),
            },
            _ => (None, None),
        };
        let shown = Shown {
            kind: step.kind.word(),
            id: step.id.clone(),
            recipe,
            agent,
            each,
            repeat,
            tags: tags.into_iter().map(String::from).collect(),
            condition: condition.map(|condition| self.text(condition)),
            stores,
            collects,
            tries: step.attempts.most.max(work.attempts.most),
            on_failure: match step.on_failure {
                OnFailure::Stop => work.on_failure,
                own @ (OnFailure::SkipRest | OnFailure::Continue { .. }) => own,
            },
            after,
        };
        vec![Entry::Step(Box::new(shown), inner)]
    }

    fn inside(&self, step: &Step) -> Vec<Entry> {
        match &work(step).node {
            Node::Seq(steps) => self.steps(steps),
            Node::Par { branches, .. } => vec![Entry::Group {
                how: How {
                    at_once: true,
                    times: None,
                },
                around: Around::default(),
                entries: self.steps(branches),
            }],
            Node::Graph(graph) => {
                let waits = schedule::waits(self.program, graph);
                let steps = graph.steps.iter().zip(waits);
                let entries = steps.flat_map(|(step, waits)| {
                    let ids = waits.iter().map(|number| graph.steps[*number].id.clone());
                    self.step(step, ids.collect())
                });
                entries.collect()
            }
            Node::Act(action) => match &**action {
                Action::Flow(flow) if step.kind.is_hidden() => self.stage(&flow.root),
                Action::Approve(approve) => vec![Entry::Approval {
                    stage: approve.stage.clone(),
                    prompt: self.written(&approve.prompt),
                }],
                _ => Vec::new(),
            },
            Node::Each(_) | Node::While(_) => Vec::new(),
        }
    }

    /// The commands of a template, and what stands around them.
    fn stage(&self, stage: &Stage) -> Vec<Entry> {
        let written_at = |span| self.sources.text(span).to_string();
        let around = Around {
            condition: stage.guard.as_ref().map(|guard| written_at(guard.span)),
            tries: stage
                .tries
                .as_ref()
                .map(|tries| written_at(tries.most.span)),
        };
        let of_all = |all: &[Stage]| all.iter().flat_map(|stage| self.stage(stage)).collect();
        let (how, entries): (How, Vec<Entry>) = match &stage.work {
            Work::Run { words, .. } => {
                let text = words.first().zip(words.last());
                let text = text.map_or("", |(first, last)| written(self.sources, first, last));
                let text = text.to_string();
                return vec![Entry::Command { text, around }];
            }
            Work::Inside(inner) => (How::default(), self.stage(inner)),
            Work::Seq(all) => (How::default(), of_all(all)),
            Work::Par(all) => {
                let (at_once, times) = (true, None);
                (How { at_once, times }, of_all(all))
            }
            Work::Times(times) => {
                let how = How {
                    at_once: times.at_once,
                    times: Some(written_at(times.count.span)),
                };
                (how, self.stage(&times.body))
            }
        };
        let plain = !how.at_once && how.times.is_none();
        if plain && around.condition.is_none() && around.tries.is_none() {
            return entries;
        }
        vec![Entry::Group {
            how,
            around,
            entries,
        }]
    }
}

fn objects(entries: &[Entry]) -> Vec<Json> {
    entries.iter().map(object).collect()
}

fn object(entry: &Entry) -> Json {
    match entry {
        Entry::Step(step, inner) => json!({
            "step_id": step.id,
            "kind": step.kind,
            "recipe": step.recipe,
            "agent": step.agent,
            "foreach": step.each,
            "while": step.repeat,
            "tags": step.tags,
            "condition": step.condition,
            "stores": step.stores,
            "collects": step.collects,
            "attempts": step.tries.max(1),
            "on_failure": match step.on_failure {
                OnFailure::Stop => "fail",
                OnFailure::Continue { .. } => "continue",
                OnFailure::SkipRest => "skip_remaining",
            },
            "after": step.after,
            "steps": objects(inner),
        }),
        Entry::Approval { stage, prompt } => json!({
            "approval": stage,
            "prompt": prompt,
        }),
        Entry::Command { text, around } => json!({
            "command": text,
            "condition": around.condition,
            "attempts": number(around.tries.as_deref().unwrap_or("1")),
        }),
        Entry::Group {
            how,
            around,
            entries,
        } => json!({
            "at_once": how.at_once,
            "times": how.times.as_deref().map(number),
            "condition": around.condition,
            "attempts": number(around.tries.as_deref().unwrap_or("1")),
            "steps": objects(entries),
        }),
    }
}

/// A number, where it is one already; else what will give it.
fn number(text: &str) -> Json {
    match text.parse::<u64>() {
        Ok(number) => json!(number),
        Err(_) => json!(text),
    }
}

/// The same line by line.
struct Listing<'a> {
    /// How many lines have a number already.
    number: usize,
    out: &'a mut dyn Write,
}

impl Listing<'_> {
    fn entries(&mut self, entries: &[Entry], depth: usize) -> io::Result<()> {
        let mut entries = entries.iter();
        entries.try_for_each(|entry| self.entry(entry, depth))
    }

    fn entry(&mut self, entry: &Entry, depth: usize) -> io::Result<()> {
        let indent = "  ".repeat(depth);
        match entry {
            Entry::Step(step, inner) => {
                self.number += 1;
                let line = printable_lines(&line(step));
                writeln!(self.out, "{indent}{}. {line}", self.number)?;
                self.entries(inner, depth + 1)
            }
            Entry::Approval { stage, prompt } => {
                let mut about = format!("asks for the approval of stage {stage}");
                // A long question is read when it is asked.
                if let Some(first) = prompt.lines().next() {
                    about.push_str(&format!(": {first}"));
                }
                writeln!(self.out, "{indent}{}", printable(&about))
            }
            Entry::Command { text, around } => {
                self.number += 1;
                let number = self.number;
                let line = printable_lines(&format!("{text}{}", about(around)));
                writeln!(self.out, "{indent}{number}. {line}")
            }
            Entry::Group {
                how,
                around,
                entries,
            } => {
                let what = match (&how.times, how.at_once) {
                    (Some(count), true) => format!("{count} times, at once"),
                    (Some(count), false) => format!("{count} times"),
                    (None, true) => "at once".to_string(),
                    (None, false) => "in turn".to_string(),
                };
                writeln!(self.out, "{indent}{what}{}:", about(around))?;
                self.entries(entries, depth + 1)
            }
        }
    }
}

fn about(around: &Around) -> String {
    let mut about = String::new();
    if let Some(condition) = &around.condition {
        about.push_str(&format!(" if {condition}"));
    }
    if let Some(tries) = &around.tries {
        about.push_str(&format!(", up to {tries} tries"));
    }
    about
}

fn line(step: &Shown) -> String {
    let mut line = format!("[{}] {}", step.kind, step.id);
    if let Some(recipe) = &step.recipe {
        line.push_str(&format!(" calls {recipe}"));
    }
    if let Some(agent) = &step.agent {
        line.push_str(&format!(" asks {agent}"));
    }
    if let Some(each) = &step.each {
        line.push_str(&format!(" for each {each}"));
    }
    if let Some(condition) = &step.repeat {
        line.push_str(&format!(" while {condition}"));
    }
    if !step.tags.is_empty() {
        line.push_str(&format!(" tagged {}", step.tags.join(", ")));
    }
    if let Some(condition) = &step.condition {
        line.push_str(&format!(" if {condition}"));
    }
    for name in &step.stores {
        line.push_str(&format!(" → {name}"));
    }
    if let Some(name) = &step.collects {
        line.push_str(&format!(" → {name}[]"));
    }
    if step.tries > 1 {
        line.push_str(&format!(", up to {} tries", step.tries));
    }
    line.push_str(match step.on_failure {
        OnFailure::SkipRest => ", a failure skips the rest",
        OnFailure::Continue { .. } => ", goes on after a failure",
        OnFailure::Stop => "",
    });
    if !step.after.is_empty() {
        line.push_str(&format!(" after {}", step.after.join(", ")));
    }
    line
}

/// The tags that a guard asks for, and the condition it asks besides.
fn asked(guard: &Guard) -> (Vec<&str>, Option<&Expr>) {
    let mut tags = Vec::new();
    visit::walk(&guard.expr, &mut |expr| {
        if let ExprKind::Compare { left, right, .. } = &expr.kind
            && let ExprKind::Literal(Literal::Text(tag)) = &left.kind
            && matches!(&right.kind, ExprKind::Var { name, .. } if name == INCLUDE_TAGS)
        {
            tags.push(tag.as_str());
        }
    });
    let condition = match &guard.expr.kind {
        _ if tags.is_empty() => Some(&guard.expr),
        ExprKind::And { right, .. } => match &right.kind {
            ExprKind::Truth { of, .. } => Some(&**of),
            _ => None,
        },
        _ => None,
    };
    (tags, condition)
}

/// The step itself, or what it does again and again.
fn work(step: &Step) -> &Step {
    match &step.node {
        Node::Each(each) => &each.body,
        Node::While(repeated) => &repeated.body,
        _ => step,
    }
}

/// The variables that a step sets, those that each round of a loop sets among them, and the one
/// that collects what each round gives.
fn stored(step: &Step) -> (Vec<String>, Option<String>) {
    let (rounds, last, update, collect) = match &step.node {
        Node::Each(each) => (&*each.body.bind, &each.last, &[][..], &each.collect),
        Node::While(repeated) => {
            let While {
                body,
                last,
                update,
                collect,
                ..
            } = &**repeated;
            (&*body.bind, last, &**update, collect)
        }
        _ => (&[][..], &None, &[][..], &None),
    };
    let update = update.iter().map(|(bind, _)| bind);
    let all = step.bind.iter().chain(rounds).chain(last).chain(update);
    let mut names: Vec<String> = Vec::new();
    for bind in all {
        if !names.contains(&bind.name) {
            names.push(bind.name.clone());
        }
    }
    (names, collect.as_ref().map(|bind| bind.name.clone()))
}
