//! `rrc run --dry-run` and `--explain`: what would run, without running it.

use crate::Streams;
use crate::cli::RunFormat;
use crate::results::Clock;
use rrc_compiler::ir::flow::{Stage, Term, Work};
use rrc_compiler::ir::{Action, EXCLUDE_TAGS, Graph, INCLUDE_TAGS, Node, OnFailure, Program, Step};
use rrc_compiler::sketch::{Planned, sketch};
use rrc_compiler::source::Sources;
use rrc_vm::convert::to_json;
use rrc_vm::value::Map;
use rrc_vm::value::Value;
use serde_json::{Value as Json, json};
use std::io;

/// Prints every step with the text it would run. Spawns nothing.
pub fn dry_run(
    program: &Program,
    variables: &Map,
    format: RunFormat,
    clock: &Clock,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let planned = sketch(program, variables);
    let root = program.units.first();
    match format {
        RunFormat::Text => {
            for step in &planned {
                show(step, 0, streams)?;
            }
            Ok(())
        }
        RunFormat::Json | RunFormat::Events => {
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
    }
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

/// Prints the steps of a recipe with what decides about them.
pub fn explain(program: &Program, sources: &Sources, streams: &mut Streams<'_>) -> io::Result<()> {
    let Some(root) = program.units.first() else {
        return Ok(());
    };
    writeln!(streams.out, "{} ({})", root.name, root.dialect)?;
    for input in &root.inputs {
        let value = input.default.value();
        writeln!(
            streams.out,
            "  {} = {}",
            input.name,
            rrc_vm::text::json_text(&value)
        )?;
    }
    let mut number = 0;
    for step in &root.steps {
        explain_step(step, 1, &mut number, sources, streams)?;
    }
    Ok(())
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

/// The commands of a template, and what stands around them.
fn explain_stage(
    stage: &Stage,
    depth: usize,
    number: &mut usize,
    sources: &Sources,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let (indent, mut about) = ("  ".repeat(depth), String::new());
    if let Some(guard) = &stage.guard {
        about.push_str(&format!(" if {}", sources.text(guard.span)));
    }
    if let Some(tries) = &stage.tries {
        about.push_str(&format!(", up to {} tries", sources.text(tries.most.span)));
    }
    let (inner, how): (Vec<&Stage>, String) = match &stage.work {
        Work::Run { words, .. } => {
            *number += 1;
            let text = words.first().zip(words.last());
            let text = text.map_or("", |(first, last)| written(sources, first, last));
            return writeln!(streams.out, "{indent}{number}. {text}{about}");
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
            writeln!(streams.out, "{indent}in turn{about}:")?;
            depth + 1
        }
        (false, _) => {
            writeln!(streams.out, "{indent}{how}{about}:")?;
            depth + 1
        }
    };
    for stage in inner {
        explain_stage(stage, depth, number, sources, streams)?;
    }
    Ok(())
}

fn explain_step(
    step: &Step,
    depth: usize,
    number: &mut usize,
    sources: &Sources,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let mut inner: Vec<&Step> = Vec::new();
    let mut about = String::new();
    match &step.node {
        Node::Seq(steps)
        | Node::Graph(Graph { steps, .. })
        | Node::Par {
            branches: steps, ..
        } => inner.extend(steps),
        Node::Each(each) => {
            about.push_str(&format!(" for each {}", sources.text(each.over.span)));
            if let Node::Seq(steps) = &each.body.node {
                inner.extend(steps);
            }
        }
        Node::While(body) => {
            about.push_str(&format!(
                " while {}",
                sources.text(body.condition.expr.span)
            ));
            if let Node::Seq(steps) = &body.body.node {
                inner.extend(steps);
            }
        }
        Node::Act(action) => {
            if let (true, Action::Flow(flow)) = (step.kind.is_hidden(), &**action) {
                return explain_stage(&flow.root, depth, number, sources, streams);
            }
        }
    }
    if !step.kind.is_hidden() {
        *number += 1;
        let indent = "  ".repeat(depth);
        write!(
            streams.out,
            "{indent}{number}. [{}] {}{about}",
            step.kind.word(),
            step.id
        )?;
        if let Some(guard) = &step.guard {
            write!(streams.out, " if {}", sources.text(guard.expr.span))?;
        }
        let (stored, about) = (stored(step), about_failure(step));
        for name in stored {
            write!(streams.out, " → {name}")?;
        }
        writeln!(streams.out, "{about}")?;
    }
    let depth = if step.kind.is_hidden() {
        depth
    } else {
        depth + 1
    };
    for step in inner {
        explain_step(step, depth, number, sources, streams)?;
    }
    Ok(())
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
