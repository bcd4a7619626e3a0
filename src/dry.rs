//! `rrc run --dry-run` and `--explain`: what would run, without running it.

use crate::Streams;
use crate::results::Clock;
use rrc_compiler::ir::flow::{Stage, Term, Work};
use rrc_compiler::ir::{
    Action, EXCLUDE_TAGS, Expr, ExprKind, Guard, INCLUDE_TAGS, Literal, Node, OnFailure, Program,
    Step, visit,
};
use rrc_compiler::schedule;
use rrc_compiler::sketch::{Planned, sketch};
use rrc_compiler::source::Sources;
use rrc_vm::convert::to_json;
use rrc_vm::text::json_text;
use rrc_vm::value::Map;
use rrc_vm::value::Value;
use serde_json::{Value as Json, json};
use std::io::{self, Write};

/// Prints every step with the text it would run. Spawns nothing.
pub fn dry_run(
    program: &Program,
    variables: &Map,
    json: bool,
    clock: &Clock,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let planned = sketch(program, variables);
    let root = program.units.first();
    if !json {
        return planned.iter().try_for_each(|step| show(step, 0, streams));
    }
    let mut context = variables.clone();
    context.retain(|name, _| ![INCLUDE_TAGS, EXCLUDE_TAGS].contains(&&**name));
    let report = json!({
        "recipe_name": root.map(|unit| unit.name.as_str()),
        "dialect": root.map(|unit| unit.dialect),
        "status": "planned",
        "success": true,
        "run_id": clock.run_id(),
        "error": null,
        "step_results": planned.iter().map(object).collect::<Vec<Json>>(),
        "context": to_json(&Value::map(context)),
        "duration_ms": 0,
    });
    writeln!(streams.out, "{report}")
}

fn status(step: &Planned) -> &'static str {
    if step.skipped { "skipped" } else { "planned" }
}

fn object(step: &Planned) -> Json {
    json!({
        "step_id": step.id,
        "status": status(step),
        "output": null,
        "error": null,
        "exit_code": null,
        "attempts": 0,
        "duration_ms": 0,
        "stdout_truncated": false,
        "stderr_truncated": false,
        "step_results": step.steps.iter().map(object).collect::<Vec<Json>>(),
    })
}

fn show(step: &Planned, depth: usize, streams: &mut Streams<'_>) -> io::Result<()> {
    let indent = "  ".repeat(depth);
    writeln!(
        streams.out,
        "{indent}{} {} ({})",
        status(step),
        step.id,
        step.kind.word()
    )?;
    for line in step.text.iter().flat_map(|text| text.trim_end().lines()) {
        writeln!(streams.out, "{indent}  | {line}")?;
    }
    for (name, value) in &step.values {
        match value {
            Some(value) => writeln!(streams.out, "{indent}  {name} = {value:?}")?,
            None => writeln!(streams.out, "{indent}  {name} is known only when it runs")?,
        }
    }
    for inner in &step.steps {
        show(inner, depth + 1, streams)?;
    }
    Ok(())
}

/// Prints the steps of a recipe with what decides about them, and the values it starts with.
pub fn explain(
    program: &Program,
    sources: &Sources,
    variables: &Map,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let Some(root) = program.units.first() else {
        return Ok(());
    };
    writeln!(streams.out, "{} ({})", root.name, root.dialect)?;
    for input in &root.inputs {
        let name = input.name.as_str();
        let default = || input.default.value();
        let value = variables.get(name).cloned().unwrap_or_else(default);
        writeln!(streams.out, "  {name} = {}", json_text(&value))?;
    }
    let mut listing = Listing {
        program,
        sources,
        number: 0,
        out: streams.out,
    };
    listing.steps(&root.steps, 1)
}

/// The steps of a recipe, line by line.
struct Listing<'a> {
    program: &'a Program,
    sources: &'a Sources,
    /// How many lines have a number already.
    number: usize,
    out: &'a mut dyn Write,
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

impl Listing<'_> {
    fn steps(&mut self, steps: &[Step], depth: usize) -> io::Result<()> {
        steps.iter().try_for_each(|step| self.step(step, depth, ""))
    }

    /// A step, and what stands in it. `after` says what it waits for.
    fn step(&mut self, step: &Step, depth: usize, after: &str) -> io::Result<()> {
        let below = if step.kind.is_hidden() {
            depth
        } else {
            depth + 1
        };
        let how = match &step.node {
            Node::Each(each) => format!(" for each {}", self.sources.text(each.over.span)),
            Node::While(body) => {
                let condition = self.sources.text(body.condition.expr.span);
                format!(" while {condition}")
            }
            _ => String::new(),
        };
        if !step.kind.is_hidden() {
            self.line(step, depth, &how, after)?;
        }
        match &work(step).node {
            Node::Seq(steps) => self.steps(steps, below),
            Node::Par { branches, .. } => {
                writeln!(self.out, "{}at once:", "  ".repeat(below))?;
                self.steps(branches, below + 1)
            }
            Node::Graph(graph) => {
                let waits = schedule::waits(self.program, graph);
                for (step, waits) in graph.steps.iter().zip(waits) {
                    let ids = waits.iter().map(|number| graph.steps[*number].id.as_str());
                    let ids: Vec<&str> = ids.collect();
                    let after = match ids.is_empty() {
                        true => String::new(),
                        false => format!(" after {}", ids.join(", ")),
                    };
                    self.step(step, below, &after)?;
                }
                Ok(())
            }
            Node::Act(action) => match &**action {
                Action::Flow(flow) if step.kind.is_hidden() => self.stage(&flow.root, depth),
                _ => Ok(()),
            },
            Node::Each(_) | Node::While(_) => Ok(()),
        }
    }

    fn line(&mut self, step: &Step, depth: usize, how: &str, after: &str) -> io::Result<()> {
        self.number += 1;
        let (indent, number) = ("  ".repeat(depth), self.number);
        let (kind, id) = (step.kind.word(), &step.id);
        write!(self.out, "{indent}{number}. [{kind}] {id}{how}")?;
        let (tags, condition) = step.guard.as_ref().map_or((Vec::new(), None), asked);
        if !tags.is_empty() {
            write!(self.out, " tagged {}", tags.join(", "))?;
        }
        if let Some(condition) = condition {
            write!(self.out, " if {}", self.sources.text(condition.span))?;
        }
        for name in stored(step) {
            write!(self.out, " → {name}")?;
        }
        writeln!(self.out, "{}{after}", about_failure(step))
    }

    /// The commands of a template, and what stands around them.
    fn stage(&mut self, stage: &Stage, depth: usize) -> io::Result<()> {
        let (sources, indent) = (self.sources, "  ".repeat(depth));
        let mut about = String::new();
        if let Some(guard) = &stage.guard {
            about.push_str(&format!(" if {}", sources.text(guard.span)));
        }
        if let Some(tries) = &stage.tries {
            about.push_str(&format!(", up to {} tries", sources.text(tries.most.span)));
        }
        let (inner, how): (Vec<&Stage>, String) = match &stage.work {
            Work::Run { words, .. } => {
                self.number += 1;
                let text = words.first().zip(words.last());
                let text = text.map_or("", |(first, last)| written(sources, first, last));
                return writeln!(self.out, "{indent}{}. {text}{about}", self.number);
            }
            Work::Inside(inner) => (vec![inner], String::new()),
            Work::Seq(all) => (all.iter().collect(), String::new()),
            Work::Par(all) => (all.iter().collect(), "at once".to_string()),
            Work::Times(times) => {
                let count = sources.text(times.count.span);
                let at_once = if times.at_once { ", at once" } else { "" };
                (vec![&times.body], format!("{count} times{at_once}"))
            }
        };
        let depth = match (how.is_empty(), about.is_empty()) {
            (true, true) => depth,
            (true, false) => {
                writeln!(self.out, "{indent}in turn{about}:")?;
                depth + 1
            }
            (false, _) => {
                writeln!(self.out, "{indent}{how}{about}:")?;
                depth + 1
            }
        };
        inner
            .into_iter()
            .try_for_each(|stage| self.stage(stage, depth))
    }
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

/// The variables that a step sets: `name[]` collects what each round gives.
fn stored(step: &Step) -> Vec<String> {
    let (last, collect) = match &step.node {
        Node::Each(each) => (&each.last, &each.collect),
        Node::While(repeated) => (&None, &repeated.collect),
        _ => (&None, &None),
    };
    let own = step.bind.iter().chain(last).map(|bind| bind.name.clone());
    let collected = collect.iter().map(|bind| format!("{}[]", bind.name));
    own.chain(collected).collect()
}

/// How often a step is tried, and what its failure does if that is not to end the run.
fn about_failure(step: &Step) -> String {
    let work = work(step);
    let mut about = String::new();
    let most = step.attempts.most.max(work.attempts.most);
    if most > 1 {
        about.push_str(&format!(", up to {most} tries"));
    }
    about.push_str(match (step.on_failure, work.on_failure) {
        (OnFailure::SkipRest, _) | (_, OnFailure::SkipRest) => ", a failure skips the rest",
        (OnFailure::Continue { .. }, _) | (_, OnFailure::Continue { .. }) => {
            ", goes on after a failure"
        }
        (OnFailure::Stop, OnFailure::Stop) => "",
    });
    about
}
