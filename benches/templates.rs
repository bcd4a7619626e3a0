//! What templates cost, against the floor: a loop that starts the same program and waits for it. Both are
//! measured in turn in one process, so that both meet the same machine; the best of the rounds counts.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

#[path = "floor/mod.rs"]
mod floor;

use floor::{Bench, row, started};
use std::fmt::Write as _;
use std::process::Command;

fn main() {
    let bench = Bench::new();
    commands(&bench);
    copies(&bench);
    bytes(&bench);
}

fn least(count: usize, width: usize) -> f64 {
    started(count, width, || Command::new("true"))
}

fn commands(bench: &Bench) {
    let run = |name: &'static str| move || bench.run(&["run", "-q", "--no-record", name]);
    bench.write("one.json", "\"true\"");
    let [one, floor] = bench.best(bench.rounds * 20, [&run("one.json"), &|| least(1, 1)]);
    row(
        "one command `true`, over starting it",
        &format!("+{:.2} ms ({one:.2} over {floor:.2})", one - floor),
        "<= +1.5 ms",
    );
    let steps = |count: usize| vec!["\"true\""; count].join(", ");
    bench.write("list.json", &format!("[{}]", steps(500)));
    bench.write(
        "wide.json",
        &format!("{{\"parallel\": true, \"template\": [{}]}}", steps(64)),
    );
    let [list, floor, wide, wide_floor] = bench.best(
        bench.rounds * 2,
        [
            &run("list.json"),
            &|| least(500, 1),
            &run("wide.json"),
            &|| least(64, 64),
        ],
    );
    row(
        "500 commands `true`, one after the other",
        &format!("{:.3} x floor ({list:.0} ms)", list / floor),
        "<= 1.1 x floor",
    );
    row(
        "64 commands `true`, at once",
        &format!("{:.3} x floor ({wide:.1} ms)", wide / wide_floor),
        "<= 1.3 x floor",
    );
}

fn copies(bench: &Bench) {
    bench.write(
        "copies.json",
        "{\"repeat\": 10000, \"template\": \"render page{_(index+1)}.html {prev} {next} --of={repeat}\"}",
    );
    let expand = ["expand", "copies.json"];
    let [time] = bench.best(bench.rounds * 4, [&|| bench.run(&expand)]);
    let (_, most) = bench.watched(&expand);
    row(
        "10,000 copies of a command with 4 placeholders, expanded",
        &format!("{time:.1} ms, {most:.1} MiB"),
        "<= 15 ms, <= 40 MB",
    );
}

fn bytes(bench: &Bench) {
    const LENGTH: usize = 64 << 20;
    // What no program can shorten: numbers that follow from each other by chance.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut data = Vec::with_capacity(LENGTH);
    while data.len() < LENGTH {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data.extend_from_slice(&state.to_le_bytes());
    }
    std::fs::write(bench.folder.join("in.bin"), &data).unwrap();
    drop(data);
    let mut steps = String::from("\"cat in.bin\"");
    for _ in 0..8 {
        write!(steps, ", \"cat\"").unwrap();
    }
    bench.write(
        "bytes.json",
        &format!("{{\"failure\": \"root\", \"template\": [{steps}, \"cmp - in.bin\"]}}"),
    );
    let (time, most) = bench.watched(&["run", "-q", "--no-record", "bytes.json"]);
    row(
        "64 MiB through ten commands, compared at the end",
        &format!("{time:.0} ms, at most {most:.0} MiB"),
        "the same bytes; memory bounded",
    );
}
