//! Real children through `rrc run`: deadlines, signals, what is left behind, values, outcomes,
//! events.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

mod binary;

#[path = "run/agents.rs"]
mod agents;
#[path = "run/children.rs"]
mod children;
#[path = "run/events.rs"]
mod events;
#[path = "run/graph.rs"]
mod graph;
#[path = "run/large.rs"]
mod large;
#[path = "run/late.rs"]
mod late;
#[path = "run/live.rs"]
mod live;
#[path = "run/outcomes.rs"]
mod outcomes;
#[path = "run/outline.rs"]
mod outline;
#[path = "run/parallel.rs"]
mod parallel;
#[path = "run/pauses.rs"]
mod pauses;
#[path = "run/planned.rs"]
mod planned;
#[path = "run/rehearsal.rs"]
mod rehearsal;
#[path = "run/staging.rs"]
mod staging;
#[path = "run/templates.rs"]
mod templates;
#[path = "run/templates_values.rs"]
mod templates_values;
#[path = "run/unread.rs"]
mod unread;
#[path = "run/values.rs"]
mod values;

use binary::{Folder, Said};
use serde_json::Value;

/// Runs `a.yaml` in a folder and reads the report.
#[track_caller]
fn run(folder: &Folder, args: &[&str], code: i32) -> Value {
    let mut all = vec!["run", "a.yaml", "--output-format", "json"];
    all.extend(args);
    folder.rrc(&all).go().exits(code).json()
}

/// The same for a recipe that has a folder to itself.
#[track_caller]
fn report(recipe: &str, args: &[&str], code: i32) -> Value {
    run(&Folder::with("a.yaml", recipe), args, code)
}

/// A recipe with these steps, which are written as they stand in a list.
fn amplifier(steps: &str) -> String {
    format!("name: t\nversion: 1.0.0\ndescription: d\nsteps:\n{steps}")
}

fn step<'a>(report: &'a Value, id: &str) -> &'a Value {
    let steps = report["step_results"].as_array().expect("steps");
    let found = steps.iter().find(|step| step["step_id"] == id);
    found.unwrap_or_else(|| panic!("no step {id} in {report:#}"))
}

fn text_of(said: &Said) -> String {
    format!("{}{}", said.out, said.err)
}
