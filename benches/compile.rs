//! What it costs to check a recipe of the largest size, and to read one condition.
//!
//! The reference is reading the same bytes as YAML and nothing else.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

mod generated;

use bumpalo::Bump;
use criterion::{Criterion, Throughput};
use generated::{DIALECTS, checked, cost, largest};
use rrc_compiler::diagnostic::Report;
use rrc_compiler::doc::yaml;
use rrc_compiler::source::{SourceId, Sources};
use std::hint::black_box;
use std::time::Duration;

const CONDITION: &str = "{{status}} == 'ready' and int({{count}}) > 3 and 'error' not in {{log}} or \
                         {{mode}} == 'force'";

fn read(text: &str) {
    let arena = Bump::new();
    let mut report = Report::default();
    black_box(yaml::read(&arena, SourceId(0), text, &mut report));
}

fn condition() {
    let mut sources = Sources::default();
    let mut report = Report::default();
    black_box(rrc_compiler::expression(
        black_box(CONDITION),
        rrc_compiler::dialect::ALL[0],
        &["status", "count", "log", "mode"],
        true,
        &mut sources,
        &mut report,
    ));
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut ratios = Vec::new();
    for (dialect, step) in DIALECTS {
        let text = largest(step);
        let mut sources = Sources::default();
        let units = checked(&text, &mut sources).program.units;
        assert_eq!(units.len(), 1, "{dialect}: the recipe is understood");
        let mut group = criterion.benchmark_group("check, 1 MB");
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(dialect, |bench| {
            bench.iter(|| checked(black_box(&text), &mut Sources::default()));
        });
        group.bench_function(format!("{dialect}, YAML alone"), |bench| {
            bench.iter(|| read(black_box(&text)));
        });
        group.finish();
        let whole = cost(|| drop(checked(black_box(&text), &mut Sources::default())));
        let yaml = cost(|| read(black_box(&text)));
        let speed = text.len() as f64 / 1e6 / whole;
        ratios.push(format!(
            "check {dialect}: {speed:.1} MB/s (goal 15), {:.2} x YAML alone",
            whole / yaml
        ));
    }
    criterion.bench_function("condition to plan, 90 bytes", |bench| bench.iter(condition));
    ratios.iter().for_each(|line| println!("{line}"));
}
