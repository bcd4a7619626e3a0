//! What the machine costs: a condition, and a plan on its way from bytes to one that may run.
//!
//! The references: a condition that is one constant, and the checksum of the plan's bytes.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

mod generated;

use criterion::Criterion;
use generated::{PLAIN, SHORT, cost, plan, steps};
use rrc_compiler::diagnostic::Report;
use rrc_compiler::dialect;
use rrc_compiler::source::Sources;
use rrc_vm::codec::{decode, encode};
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::{Verified, verify};
use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;

/// As people write them, and with as many comparisons as fit.
const CONDITIONS: [(&str, &str); 2] = [
    (
        "three comparisons",
        "{{status}} == 'ready' and {{deployment_environment}} != 'production' and {{tests_that_failed}} < 3",
    ),
    (
        "five comparisons",
        "{{status}} == 'ready' and {{count}} > 3 and 'error' not in {{log}} and {{mode}} != 'force' and {{x}}",
    ),
];

fn variables() -> Map {
    let mut map = Map::default();
    for (name, value) in [
        ("status", Value::text("ready")),
        ("count", Value::Int(7)),
        ("log", Value::text("all is well, and nothing went wrong")),
        ("mode", Value::text("gentle")),
        ("x", Value::Bool(true)),
        ("deployment_environment", Value::text("staging")),
        ("tests_that_failed", Value::Int(0)),
    ] {
        map.insert(Rc::from(name), value);
    }
    map
}

fn compiled(text: &str) -> Rc<Verified> {
    let mut sources = Sources::default();
    let mut report = Report::default();
    let variables = variables();
    let names: Vec<&str> = variables.keys().map(|name| &**name).collect();
    let dialect = dialect::ALL[0];
    let plan = rrc_compiler::expression(text, dialect, &names, true, &mut sources, &mut report);
    let plan = plan.unwrap_or_else(|| panic!("{:?}", report.findings));
    Rc::new(verify(plan).expect("what the compiler makes verifies"))
}

fn machine(text: &str) -> Machine {
    let verified = compiled(text);
    let limits = verified.plan().limits;
    Machine::new(verified, variables(), limits)
}

/// Evaluates once more, on the same variables.
fn evaluate(machine: &mut Machine, variables: &Rc<Map>) -> bool {
    machine.restart(Rc::clone(variables));
    loop {
        match machine.poll() {
            Poll::Done(finished) => return matches!(finished.outcome, Ok(Value::Bool(true))),
            Poll::Idle => return false,
            _ => {}
        }
    }
}

fn load(bytes: &[u8]) -> Verified {
    let plan = decode(bytes).expect("a plan of ours");
    verify(plan).expect("what the compiler makes verifies")
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let variables = Rc::new(variables());
    let mut constant = machine("true");
    assert!(evaluate(&mut constant, &variables));
    let least = cost(|| {
        black_box(evaluate(&mut constant, &variables));
    });
    let mut ratios = Vec::new();
    let mut group = criterion.benchmark_group("evaluate");
    for (name, text) in CONDITIONS {
        let mut condition = machine(text);
        assert!(evaluate(&mut condition, &variables));
        group.bench_function(name, |bench| {
            bench.iter(|| evaluate(black_box(&mut condition), &variables));
        });
        let whole = cost(|| {
            black_box(evaluate(&mut condition, &variables));
        });
        ratios.push(format!(
            "condition of {} bytes, {name}: {:.0} ns with the start of the machine, {:.0} ns more than a constant (goal 300)",
            text.len(),
            whole * 1e9,
            (whole - least) * 1e9
        ));
    }
    group.bench_function("constant", |bench| {
        bench.iter(|| evaluate(black_box(&mut constant), &variables));
    });
    group.finish();
    let mut group = criterion.benchmark_group("load a plan");
    for (what, step, count, goal) in [
        ("plain steps", PLAIN, 100, 30.0),
        ("steps with conditions and values", SHORT, 100, 30.0),
        ("plain steps", PLAIN, 10_000, 1000.0),
    ] {
        let bytes = encode(&plan(&steps(step, count)));
        group.bench_function(format!("{count} {what}"), |bench| {
            bench.iter(|| load(black_box(&bytes)));
        });
        let loads = cost(|| drop(load(black_box(&bytes))));
        let sums = cost(|| {
            black_box(crc32c::crc32c(black_box(&bytes)));
        });
        ratios.push(format!(
            "plan of {count} {what}, {} bytes: {:.1} µs (goal {goal}), {:.1} x its checksum",
            bytes.len(),
            loads * 1e6,
            loads / sums
        ));
    }
    group.finish();
    ratios.iter().for_each(|line| println!("{line}"));
}
