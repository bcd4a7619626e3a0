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
use generated::{cost, plan, steps};
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

const CONDITION: &str = "{{status}} == 'ready' and {{count}} > 3 and 'error' not in {{log}} and \
                         {{mode}} != 'force' and {{x}}";

fn variables() -> Map {
    let mut map = Map::default();
    for (name, value) in [
        ("status", Value::text("ready")),
        ("count", Value::Int(7)),
        ("log", Value::text("all is well, and nothing went wrong")),
        ("mode", Value::text("gentle")),
        ("x", Value::Bool(true)),
    ] {
        map.insert(Rc::from(name), value);
    }
    map
}

fn compiled(text: &str) -> Rc<Verified> {
    let mut sources = Sources::default();
    let mut report = Report::default();
    let names = ["status", "count", "log", "mode", "x"];
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
fn evaluate(machine: &mut Machine, variables: &Map) -> bool {
    machine.restart(variables.clone());
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
    let variables = variables();
    let mut condition = machine(CONDITION);
    let mut constant = machine("true");
    assert!(evaluate(&mut condition, &variables) && evaluate(&mut constant, &variables));
    let mut group = criterion.benchmark_group("evaluate");
    group.bench_function("condition of 100 bytes", |bench| {
        bench.iter(|| evaluate(black_box(&mut condition), &variables));
    });
    group.bench_function("constant", |bench| {
        bench.iter(|| evaluate(black_box(&mut constant), &variables));
    });
    group.finish();
    let whole = cost(|| {
        black_box(evaluate(&mut condition, &variables));
    });
    let least = cost(|| {
        black_box(evaluate(&mut constant, &variables));
    });
    let mut ratios = vec![format!(
        "condition of {} bytes: {:.0} ns with the start of the machine, {:.0} ns more than a constant (goal 300)",
        CONDITION.len(),
        whole * 1e9,
        (whole - least) * 1e9
    )];
    let mut group = criterion.benchmark_group("load a plan");
    for (count, goal) in [(100, 30.0), (10_000, 1000.0)] {
        let bytes = encode(&plan(&steps(count)));
        group.bench_function(format!("{count} steps"), |bench| {
            bench.iter(|| load(black_box(&bytes)));
        });
        let loads = cost(|| drop(load(black_box(&bytes))));
        let sums = cost(|| {
            black_box(crc32c::crc32c(black_box(&bytes)));
        });
        ratios.push(format!(
            "plan of {count} steps, {} bytes: {:.1} µs (goal {goal}), {:.1} x its checksum",
            bytes.len(),
            loads * 1e6,
            loads / sums
        ));
    }
    group.finish();
    ratios.iter().for_each(|line| println!("{line}"));
}
