//! `rrc run --dry-run`: what would run, without running it.

use crate::Streams;
use crate::results::{Clock, printable, put_warnings};
use rrc_compiler::ir::{EXCLUDE_TAGS, INCLUDE_TAGS, Program};
use rrc_compiler::sketch::{Planned, Sketched, sketch};
use rrc_vm::convert::to_json;
use rrc_vm::value::{Map, Value};
use serde_json::{Value as Json, json};
use std::io;

/// Prints every step with the text it would run. Spawns nothing.
pub fn dry_run(
    program: &Program,
    variables: &Map,
    json: bool,
    clock: &Clock,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let Sketched { steps, cut } = sketch(program, variables);
    let root = program.units.first();
    if !json {
        steps.iter().try_for_each(|step| show(step, 0, streams))?;
        return match cut {
            Some(why) => writeln!(streams.out, "… and more: {why}"),
            None => Ok(()),
        };
    }
    let mut context = variables.clone();
    context.retain(|name, _| ![INCLUDE_TAGS, EXCLUDE_TAGS].contains(&&**name));
    let mut report = json!({
        "recipe_name": root.map(|unit| unit.name.as_str()),
        "dialect": root.map(|unit| unit.dialect),
        "status": "planned",
        "success": true,
        "run_id": clock.run_id(),
        "error": null,
        "step_results": objects(&steps),
        "context": to_json(&Value::map(context)),
        "duration_ms": 0,
    });
    let mut asked = Vec::new();
    approvals(&steps, &mut asked);
    if !asked.is_empty() {
        report["approvals"] = json!(asked);
    }
    put_warnings(&mut report, &Vec::from_iter(cut));
    writeln!(streams.out, "{report}")
}

fn status(step: &Planned) -> &'static str {
    if step.skipped { "skipped" } else { "planned" }
}

/// The questions whether to go on, in their order.
fn approvals(steps: &[Planned], asked: &mut Vec<Json>) {
    for step in steps {
        if step.approval {
            asked.push(json!({"stage": step.id, "prompt": step.text}));
        }
        approvals(&step.steps, asked);
    }
}

fn objects(steps: &[Planned]) -> Vec<Json> {
    let steps = steps.iter().filter(|step| !step.approval);
    steps.map(object).collect()
}

fn object(step: &Planned) -> Json {
    let mut object = json!({
        "step_id": step.id,
        "status": status(step),
        "would_run": step.text,
        "output": null,
        "error": null,
        "exit_code": null,
        "attempts": 0,
        "duration_ms": 0,
        "stdout_truncated": false,
        "stderr_truncated": false,
        "step_results": objects(&step.steps),
    });
    put_warnings(&mut object, &Vec::from_iter(step.limit.clone()));
    object
}

fn show(step: &Planned, depth: usize, streams: &mut Streams<'_>) -> io::Result<()> {
    let indent = "  ".repeat(depth);
    let id = printable(&step.id);
    match step.approval {
        true => writeln!(streams.out, "{indent}asks for the approval of stage {id}")?,
        false => {
            let (status, kind) = (status(step), step.kind.word());
            writeln!(streams.out, "{indent}{status} {id} ({kind})")?;
        }
    }
    for line in step.text.iter().flat_map(|text| text.trim_end().lines()) {
        writeln!(streams.out, "{indent}  | {}", printable(line))?;
    }
    for (name, value) in &step.values {
        match value {
            Some(value) => writeln!(streams.out, "{indent}  {name} = {value:?}")?,
            None => writeln!(streams.out, "{indent}  {name} is known only when it runs")?,
        }
    }
    if let Some(limit) = &step.limit {
        writeln!(streams.out, "{indent}  {limit}")?;
    }
    for inner in &step.steps {
        show(inner, depth + 1, streams)?;
    }
    Ok(())
}
