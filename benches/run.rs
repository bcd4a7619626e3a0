//! What runs cost, against the floor: a loop that starts the same commands and waits for them. Both are
//! measured in turn in one process, so that both meet the same machine; the middle of the rounds counts.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

#[path = "floor/mod.rs"]
mod floor;

use floor::{Bench, middle, row, started};
use rrc_vm::codec::decode;
use rrc_vm::verify::verify;
use std::fmt::Write as _;
use std::process::Command;
use std::time::Instant;

/// Steps of the long recipes: as many as one may have.
const STEPS: usize = 1000;

/// Starts `bash -c text` so often, so many at once, and waits: nothing that runs it can take less.
fn floor(count: usize, width: usize, text: &str) -> f64 {
    floor_with(count, width, text, &[])
}

/// The same with more in the environment, which the kernel copies and bash reads.
fn floor_with(count: usize, width: usize, text: &str, env: &[(String, String)]) -> f64 {
    started(count, width, || {
        let mut command = Command::new("/bin/bash");
        command.args(["-c", text]);
        command.envs(env.iter().map(|(name, value)| (name, value)));
        command
    })
}

/// A recipe of many steps that are alike.
fn recipe(dialect: &str, context: &str, step: &str) -> String {
    let mut text = format!(
        "# rrc: dialect = {dialect}\nname: bench\nversion: 1.0.0\ndescription: d\n\
         recursion: {{max_total_steps: {STEPS}}}\n{context}steps:\n"
    );
    for number in 0..STEPS {
        writeln!(text, "  - {{id: s{number}, type: bash, {step}}}").unwrap();
    }
    text
}

fn main() {
    let bench = Bench::new();
    sequential(&bench);
    wide(&bench);
    plans(&bench);
}

fn sequential(bench: &Bench) {
    bench.write(
        "one.yaml",
        "name: one\nsteps:\n  - {id: a, type: bash, command: 'true'}\n",
    );
    let args = ["run", "-q", "one.yaml"];
    let [one, linked, least] = bench.in_turn(
        bench.rounds * 20,
        [&|| bench.run(&args), &|| bench.run_linked(&args), &|| {
            floor(1, 1, "true")
        }],
    );
    let (over, linked) = (one - least, linked - least);
    row(
        "rrc run of one `true`, over `bash -c true`",
        &format!("+{over:.2} ms; as it was linked +{linked:.2} ms"),
        "<= +1.5 ms",
    );
    let half = format!("x{}", "y".repeat(2047));
    let mut context = String::from("context:\n");
    let mut env = Vec::new();
    for number in 0..60 {
        writeln!(context, "  v{number}: {half}").unwrap();
        for name in ["RECIPE_VAR_v", "V"] {
            env.push((format!("{name}{number}"), half.clone()));
        }
    }
    let plain = "command: 'true'";
    bench.write("plain.yaml", &recipe("amplifier", "", plain));
    bench.write(
        "timed.yaml",
        &recipe("amplifier", "", "command: 'true', timeout: 30"),
    );
    for (name, step) in [
        ("exported.yaml", "command: 'true', output: same"),
        ("read.yaml", "command: 'eval true', output: same"),
    ] {
        bench.write(name, &recipe("amplihack", &context, step));
    }
    bench.write(
        "skipped.yaml",
        &recipe(
            "amplifier",
            "context: {no: false}\n",
            "command: 'true', condition: '{{no}}'",
        ),
    );
    bench.write(
        "bare.yaml",
        &recipe(
            "amplihack",
            "context: {mode: fast}\n",
            "command: 'true', condition: \"mode == 'slow'\"",
        ),
    );
    let run = |name: &'static str| move || bench.run(&["run", "-q", name]);
    let [least, laden, plain, timed, exported, read] = bench.in_turn(
        bench.rounds,
        [
            &|| floor(STEPS, 1, "true"),
            &|| floor_with(STEPS, 1, "eval true", &env),
            &run("plain.yaml"),
            &run("timed.yaml"),
            &run("exported.yaml"),
            &run("read.yaml"),
        ],
    );
    row(
        "1000 steps `true`, one after the other",
        &format!("{:.3} x floor ({plain:.0} ms)", plain / least),
        "<= 1.05 x floor",
    );
    row(
        "the same, 120 KB in 60 variables, all exported",
        &format!("{:.3} x the line above", exported / plain),
        "<= 1.2 x",
    );
    row(
        "the same, where the script could read them all (`eval true`)",
        &format!(
            "{:.3} x the first line ({:.3} x its floor)",
            read / plain,
            read / laden
        ),
        "",
    );
    row(
        "the same, a timeout on each",
        &format!("{:.3} x the first line", timed / plain),
        "<= 1.05 x",
    );
    let [skipped, bare] =
        bench.in_turn(bench.rounds * 4, [&run("skipped.yaml"), &run("bare.yaml")]);
    bench.run(&["build", "-q", "skipped.yaml"]);
    let [planned] = bench.in_turn(bench.rounds * 4, [&run("skipped.rrb")]);
    row(
        "1000 steps skipped by a condition, whole process",
        &format!("{skipped:.2} ms; as a plan {planned:.2} ms"),
        "<= 3 ms",
    );
    row(
        "the same in amplihack, `mode == 'slow'`",
        &format!("{bare:.2} ms"),
        "<= 3 ms",
    );
}

fn wide(bench: &Bench) {
    let mut group = String::from("# rrc: dialect = amplihack\nname: group\nsteps:\n");
    for number in 0..200 {
        writeln!(
            group,
            "  - {{id: s{number}, parallel_group: g, command: sleep 0.05}}"
        )
        .unwrap();
    }
    bench.write("group.yaml", &group);
    let [group, least] = bench.in_turn(
        bench.rounds,
        [
            &|| bench.run(&["run", "-q", "group.yaml", "--jobs", "200"]),
            &|| floor(200, 200, "sleep 0.05"),
        ],
    );
    row(
        "200 x `sleep 0.05` in one group, --jobs 200",
        &format!("{:.2} s ({:.3} x floor)", group / 1e3, group / least),
        "<= 0.3 s",
    );
    let each = |count: usize| {
        let list: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        format!(
            "name: each\nversion: 1.0.0\ndescription: d\ncontext: {{list: [{}]}}\nsteps:\n  \
             - {{id: a, type: bash, foreach: '{{{{list}}}}', max_iterations: {count}, parallel: 64, command: 'true'}}\n",
            list.join(", ")
        )
    };
    bench.write("few.yaml", &each(1_000));
    bench.write("many.yaml", &each(10_000));
    let (_, few) = bench.watched(&["run", "-q", "few.yaml"]);
    let least = floor(10_000, 64, "true");
    let (many, most) = bench.watched(&["run", "-q", "many.yaml"]);
    row(
        "10,000 iterations of `true`, 64 wide",
        &format!(
            "{:.3} x floor; {few:.0} MiB of 1,000, {most:.0} of all",
            many / least
        ),
        "<= 1.1 x floor; memory flat",
    );
    bench.write(
        "flood.yaml",
        "name: flood\nsteps:\n  - {id: a, type: bash, max_output_size: 1048576, timeout: 300, \
         command: 'head -c 100M /dev/zero & head -c 100M /dev/zero >&2; wait'}\n",
    );
    let (_, most) = bench.watched(&["run", "-q", "flood.yaml"]);
    row(
        "100 MB on both streams, limit 1 MiB",
        &format!("at most {most:.1} MiB"),
        "< 32 MiB",
    );
}

/// Loading and verifying plans, which every run of one does first.
fn plans(bench: &Bench) {
    for (count, goal) in [(100, "<= 30 us"), (10_000, "<= 1 ms")] {
        let mut text = String::from("name: plan\nsteps:\n");
        for number in 0..count {
            writeln!(
                text,
                "  - {{id: s{number}, condition: go, command: 'echo {number}'}}"
            )
            .unwrap();
        }
        text.insert_str(0, "# rrc: dialect = amplihack\ncontext: {go: false}\n");
        bench.write("plan.yaml", &text);
        let built = bench.rrc(&["build", "-q", "plan.yaml"]).status().unwrap();
        if !built.success() {
            row(&format!("a plan of {count} steps"), "is not built", goal);
            continue;
        }
        let bytes = std::fs::read(bench.folder.join("plan.rrb")).unwrap();
        let times = (0..200).map(|_| {
            let begun = Instant::now();
            let plan = decode(&bytes).unwrap();
            assert!(verify(plan).is_ok());
            begun.elapsed().as_secs_f64() * 1e6
        });
        let time = middle(times.collect());
        row(
            &format!("load and verify a plan of {count} steps"),
            &format!("{time:.0} us ({} KB)", bytes.len() / 1000),
            goal,
        );
    }
}
