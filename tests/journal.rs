//! Recorded runs: killed at any moment they go on, and shown again they are the same; secrets stay
//! out of all of it.

mod binary;
#[path = "journal/pruned.rs"]
mod pruned;
#[path = "journal/resume.rs"]
mod resume;
#[path = "journal/secrets.rs"]
mod secrets;

use binary::{Folder, Said};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Loops, steps at once and a recipe in a recipe; each step leaves a line in `log` when it starts.
const MAIN: &str = "# rrc: dialect = amplifier
name: main
version: 1.0.0
description: d
context: {items: [a, b, c, d], total: '0'}
steps:
  - {id: first, type: bash, command: 'echo first >> log; sleep 0.02; echo one', output: one}
  - id: each
    type: bash
    foreach: '{{items}}'
    as: item
    collect: letters
    command: 'echo each-{{item}} >> log; sleep 0.02; echo {{item}}{{one}}'
  - id: wide
    type: bash
    foreach: '{{items}}'
    as: item
    parallel: 3
    collect: wides
    command: 'echo wide-{{item}} >> log; sleep 0.0$((RANDOM % 4 + 1)); echo {{item}}'
  - {id: left, type: bash, parallel_group: both, command: 'echo left >> log; sleep 0.05; echo l', output: l}
  - {id: right, type: bash, parallel_group: both, command: 'echo right >> log; sleep 0.03; echo r', output: r}
  - {id: failing, type: bash, on_error: continue, command: 'echo failing >> log; sleep 0.02; exit 3'}
  - {id: inner, type: recipe, recipe: sub.yaml, context: {given: '{{one}}'}, output: inner}
  - {id: last, type: bash, timeout: 30, command: 'echo last >> log; echo {{letters}} {{l}} {{r}}', output: end}
";

const SUB: &str = "
name: sub
version: 1.0.0
description: d
context: {given: ''}
steps:
  - {id: sub-one, type: bash, command: 'echo sub-one >> log; sleep 0.02; echo {{given}}', output: s1}
  - {id: sub-two, type: bash, timeout: 20, command: 'echo sub-two >> log; sleep 0.02; seq 1 9000', output: s2}
";

fn folder() -> Folder {
    let folder = Folder::with("main.yaml", MAIN);
    folder.write("sub.yaml", SUB);
    folder
}

fn recipe(steps: &str) -> String {
    format!("name: t\nversion: 1.0.0\ndescription: d\nsteps:\n{steps}")
}

fn runs(folder: &Folder) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.file(".rrc/runs"));
    let mut found: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

fn only_run(folder: &Folder) -> String {
    let runs = runs(folder);
    assert_eq!(runs.len(), 1, "{runs:?}");
    let name = runs[0].file_name().expect("a run has a name");
    name.to_string_lossy().into_owned()
}

fn journal(folder: &Folder) -> Vec<Value> {
    let text = folder.read(&format!(".rrc/runs/{}/journal.jsonl", only_run(folder)));
    let read = |line: &str| serde_json::from_str(line).expect("a line is JSON");
    text.lines().map(read).collect()
}

/// A report without what may differ from run to run.
fn normal(mut report: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("duration_ms");
                fields.remove("run_id");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut report);
    report
}

/// Small and good enough to choose moments by.
struct Moments(u64);

impl Moments {
    fn next(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

fn go_on(folder: &Folder) -> binary::Running {
    let json = ["--output-format", "json"];
    let resume = ["run", "main.yaml", "--resume"];
    match runs(folder).is_empty() {
        true => folder
            .rrc(&[&["run", "main.yaml"][..], &json].concat())
            .start(),
        false => folder.rrc(&[&resume[..], &json].concat()).start(),
    }
}

/// What was killed before it had written its first line was never a run.
fn forget_unborn(folder: &Folder) {
    for run in runs(folder) {
        let text = std::fs::read_to_string(run.join("journal.jsonl")).unwrap_or_default();
        if !text.contains('\n') {
            std::fs::remove_dir_all(run).expect("it can be removed");
        }
    }
}

/// Once the end of a call is recorded it never begins again, and nothing ran that was not begun.
#[track_caller]
fn nothing_ran_twice(folder: &Folder) {
    let records = journal(folder);
    let mut ended = Vec::new();
    let mut begun: Vec<String> = Vec::new();
    for record in &records {
        let ticket = &record["k"];
        if record["t"] == "begin" {
            assert!(!ended.contains(&ticket), "{record} ran again");
            let step = record["step"].as_str().expect("a step");
            let name = step.rsplit('/').next().expect("a name").to_string();
            let items = ["a", "b", "c", "d"];
            let name = match name.split_once('[') {
                Some((name, rest)) => {
                    let index: usize = rest.trim_end_matches(']').parse().expect("a number");
                    format!("{name}-{}", items[index])
                }
                None => name,
            };
            begun.push(name);
        }
        if record["t"] == "end" {
            ended.push(ticket);
        }
    }
    let log = folder.read("log");
    for name in &begun {
        let ran = log.lines().filter(|line| line == name).count();
        let most = begun.iter().filter(|known| *known == name).count();
        assert!(ran >= 1 && ran <= most, "{name}: {ran} of {most}\n{log}");
    }
}

#[test]
fn a_run_that_is_killed_at_any_moment_goes_on_to_the_same_end() {
    let whole = folder();
    let expected = whole.rrc(&["run", "main.yaml", "--output-format", "json"]);
    let expected = normal(expected.go().exits(0).json());
    let kills = std::env::var("RRC_KILLS").ok();
    let mut kills: u32 = kills.and_then(|kills| kills.parse().ok()).unwrap_or(20);
    let seed = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time after 1970")
        .as_nanos() as u64;
    let mut moments = Moments(seed | 1);
    while kills > 0 {
        let folder = folder();
        let mut lives = 0;
        let report = loop {
            let running = go_on(&folder);
            if kills > 0 && lives < 6 {
                std::thread::sleep(Duration::from_millis(5 + moments.next(250)));
                running.signal("KILL");
                kills -= 1;
            }
            lives += 1;
            let said = running.end();
            if said.code == Some(0) {
                break said.json();
            }
            if said.err.contains("no run") {
                // Killed between its last record and its last words.
                let args = ["run", "--replay", &only_run(&folder)];
                let said = folder.rrc(&[&args[..], &["--output-format", "json"]].concat());
                break said.go().exits(0).json();
            } else {
                assert!(said.signal.is_some(), "seed {seed}: {said:#?}");
            }
            forget_unborn(&folder);
        };
        assert_eq!(normal(report), expected, "seed {seed}");
        nothing_ran_twice(&folder);
        let again = ["run", "main.yaml", "--resume"];
        folder.rrc(&again).go().exits(2).err_has("no run");
    }
}

#[test]
fn a_torn_last_line_did_not_happen() {
    let folder = folder();
    let said = folder
        .rrc(&["run", "main.yaml", "--output-format", "json"])
        .go();
    let expected = normal(said.exits(0).json());
    let path = folder.file(&format!(".rrc/runs/{}/journal.jsonl", only_run(&folder)));
    let text = std::fs::read_to_string(&path).expect("a journal");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for kept in 1..lines.len() {
        let head: String = lines[..kept].concat();
        let torn = &lines[kept][..lines[kept].len() * (kept % 7) / 7];
        std::fs::write(&path, format!("{head}{torn}")).expect("it can be written");
        std::fs::write(folder.file("log"), "").expect("it can be written");
        let ended = lines[..kept]
            .iter()
            .filter(|line| line.contains(r#""t":"end""#));
        let ended = ended.count();
        let said = folder
            .rrc(&["run", "main.yaml", "--resume", "--output-format", "json"])
            .go()
            .exits(0);
        assert_eq!(normal(said.json()), expected, "{kept}");
        // The calls of this recipe are all steps; what had ended did not run again.
        let all = lines.iter().filter(|line| line.contains(r#""t":"end""#));
        assert_eq!(folder.read("log").lines().count(), all.count() - ended);
    }
    let mut damaged: Vec<String> = lines.iter().map(ToString::to_string).collect();
    damaged[3] = damaged[3].replace("\"ms\"", "\"sm\"");
    std::fs::write(&path, damaged.concat()).expect("it can be written");
    let resume = ["run", "--replay", &only_run(&folder)];
    folder.rrc(&resume).go().exits(2).err_has("line 4");
}

#[test]
fn a_run_shown_again_is_the_same_and_starts_nothing() {
    let folder = folder();
    let said = folder
        .rrc(&["run", "main.yaml", "--output-format", "json"])
        .go();
    let report = said.exits(0).json();
    let run = only_run(&folder);
    let log = folder.read("log");
    let again = folder
        .rrc(&["run", "--replay", &run, "--output-format", "json"])
        .env("PATH", "")
        .go()
        .exits(0);
    let again = again.json();
    assert_eq!(again["run_id"], report["run_id"]);
    assert_eq!(normal(again), normal(report));
    assert_eq!(folder.read("log"), log);
    assert_eq!(only_run(&folder), run);
    // Two views of one record are the same to the byte.
    let events = || {
        let args = ["run", "--replay", &run, "--output-format", "events"];
        folder.rrc(&args).go().exits(0).out
    };
    assert_eq!(events(), events());
}

#[test]
fn events_of_a_replay_are_those_of_the_run() {
    let folder = folder();
    let live = folder
        .rrc(&["run", "main.yaml", "--output-format", "events"])
        .go();
    let run = only_run(&folder);
    let again = folder
        .rrc(&["run", "--replay", &run, "--output-format", "events"])
        .go();
    let bare = |said: &Said| -> Vec<Value> {
        let mut lines = said.lines();
        for line in &mut lines {
            line["ts"] = Value::Null;
        }
        lines
    };
    assert_eq!(bare(&live.exits(0)), bare(&again.exits(0)));
}

/// What a run began with is not judged again: it has run.
#[test]
fn a_run_is_shown_again_with_its_recipe_whatever_its_defaults_are() {
    let steps = "  - {id: a, type: bash, foreach: '{{hosts}}', command: 'true'}\n";
    let text = recipe(steps) + "context: {hosts: ''}\n";
    let folder = Folder::with("main.yaml", text);
    folder.rrc(&["run", "main.yaml"]).go().exits(1);
    let run = only_run(&folder);
    let replay = ["run", "main.yaml", "--replay", &run];
    folder.rrc(&replay).go().exits(1);
    let given = ["run", "main.yaml", "--set", "hosts=a"];
    folder.rrc(&given).go().exits(2).err_has("RRC0310");
}

#[test]
fn a_recipe_that_asks_for_something_else_diverges() {
    let folder = folder();
    folder.rrc(&["run", "main.yaml"]).go().exits(0);
    let run = only_run(&folder);
    let replay = ["run", "main.yaml", "--replay", &run];
    folder.rrc(&replay).go().exits(0);
    let changed = MAIN.replace("echo left >> log", "echo LEFT >> log");
    folder.write("main.yaml", &changed);
    let said = folder.rrc(&replay).go().exits(1);
    said.err_has("step `left` does not ask for what it asked for");
    let fewer: Vec<&str> = MAIN
        .lines()
        .filter(|line| !line.contains("id: failing"))
        .collect();
    folder.write("main.yaml", fewer.join("\n"));
    folder.rrc(&replay).go().exits(1).err_has("`failing`");
    // The recorded plan does not care.
    folder.rrc(&["run", "--replay", &run]).go().exits(0);
}

#[test]
fn a_record_that_ends_too_early_is_incomplete() {
    let folder = folder();
    folder.rrc(&["run", "main.yaml"]).go().exits(0);
    let run = only_run(&folder);
    let path = folder.file(&format!(".rrc/runs/{run}/journal.jsonl"));
    let text = std::fs::read_to_string(&path).expect("a journal");
    let head: Vec<&str> = text.lines().take(4).collect();
    std::fs::write(&path, head.join("\n") + "\n").expect("it can be written");
    let said = folder.rrc(&["run", "--replay", &run]).go().exits(1);
    said.err_has("replay incomplete").err_has("each[0]");
}

#[test]
fn a_failed_run_goes_on_with_what_failed() {
    let steps = "
  - {id: a, type: bash, command: 'echo a >> log; printf A', output: a}
  - {id: b, type: bash, command: 'echo b >> log; test -e ok'}
  - {id: c, type: bash, command: 'echo c{{a}} >> log'}
";
    let folder = Folder::with("main.yaml", recipe(steps));
    folder.rrc(&["run", "main.yaml"]).go().exits(1);
    folder.rrc(&["run", "main.yaml", "--resume"]).go().exits(1);
    folder.write("ok", "");
    let said = folder.rrc(&["run", "main.yaml", "--resume"]).go().exits(0);
    assert!(!said.out.contains("completed a"), "{said:#?}");
    assert_eq!(folder.read("log"), "a\nb\nb\nb\ncA\n");
    let run = only_run(&folder);
    let json = ["run", "--replay", &run, "--output-format", "json"];
    let report = folder.rrc(&json).go().exits(0).json();
    assert_eq!(report["step_results"].as_array().expect("steps").len(), 3);
}

#[test]
fn a_signal_is_no_end() {
    let steps = "
  - {id: a, type: bash, command: 'echo a >> log'}
  - {id: b, type: bash, command: 'echo b >> log; test -e ok || sleep 60'}
  - {id: c, type: bash, command: 'echo c >> log'}
";
    let folder = Folder::with("main.yaml", recipe(steps));
    let running = folder.rrc(&["run", "main.yaml"]).start();
    let begun = || folder.has("log") && folder.read("log").contains('b');
    assert!(binary::eventually(Duration::from_secs(20), begun));
    let busy = folder.rrc(&["run", "--resume", &only_run(&folder)]).go();
    busy.exits(2).err_has("still running");
    running.signal("INT");
    running.end().exits(130);
    folder.rrc(&["runs"]).go().exits(0).out_has("cancelled");
    folder.write("ok", "");
    let resumed = folder
        .rrc(&["run", "--resume", "main.yaml", "-v"])
        .go()
        .exits(0);
    resumed
        .out_has("replayed a")
        .out_has("completed c")
        .err_has("step b was interrupted and runs again");
    assert_eq!(folder.read("log"), "a\nb\nb\nc\n");
}

#[test]
fn a_step_that_must_run_once_stops_the_resume() {
    let steps = "
  - {id: a, type: bash, once: true, command: 'echo a >> log; sleep 60'}
";
    let text = recipe(steps) + "context: {list: [1, 2]}\n";
    let folder = Folder::with("main.yaml", text);
    let running = folder.rrc(&["run", "main.yaml"]).start();
    assert!(binary::eventually(Duration::from_secs(20), || folder.has("log")));
    running.signal("KILL");
    running.end();
    let said = folder.rrc(&["run", "main.yaml", "--resume"]).go().exits(1);
    said.err_has("step `a` is marked `once`");
    let json = ["run", "main.yaml", "--resume", "--output-format", "json"];
    let told = folder.rrc(&json).go().exits(1).json();
    assert_eq!(told["context"]["list"], serde_json::json!([1, 2]), "{told}");
    // What was begun has its end all the same, here and where a recipe asks for something else.
    folder.write("other.yaml", recipe(&steps.replace("60", "61")));
    let replay = ["run", "--replay", &only_run(&folder), "other.yaml"];
    for refused in [&["run", "main.yaml", "--resume"][..], &replay] {
        let events = [refused, &["--output-format", "events"]].concat();
        let events = folder.rrc(&events).go().exits(1).lines();
        let names = events
            .iter()
            .map(|event| event["event"].as_str().unwrap_or_default());
        let names: Vec<&str> = names.collect();
        assert_eq!(
            names,
            ["run:start", "step:bash:start", "step:bash:error", "run:end"]
        );
    }
    assert_eq!(folder.read("log"), "a\n");
}

#[test]
fn nothing_in_a_recipe_that_must_run_once_runs_twice() {
    for steps in [
        "\n  - {id: call, type: recipe, recipe: once.yaml, once: true}\n",
        "\n  - {id: again, while_condition: 'true', once: true, steps: [{id: a, type: bash, command: 'echo a >> log; sleep 60'}]}\n",
        "\n  - {id: again, while_condition: 'true', once: true, steps: [{id: a, type: template, template: 'sh slow.sh'}]}\n",
    ] {
        let folder = Folder::with("main.yaml", recipe(steps));
        let inner = "\n  - {id: a, type: bash, command: 'echo a >> log; sleep 60'}\n";
        folder.write("once.yaml", recipe(inner));
        folder.write("slow.sh", "echo a >> log\nsleep 60\n");
        let running = folder.rrc(&["run", "main.yaml"]).start();
        assert!(binary::eventually(Duration::from_secs(20), || folder.has("log")));
        running.signal("KILL");
        running.end();
        let said = folder.rrc(&["run", "main.yaml", "--resume"]).go().exits(1);
        said.err_has("is marked `once`");
        assert_eq!(folder.read("log"), "a\n");
    }
}

#[test]
fn secrets_of_the_configuration_are_secret() {
    let step = "\n  - {id: a, type: bash, command: 'echo {{key}}', output: said}\n";
    let main = format!("context: {{key: ''}}\n{}", recipe(step));
    let folder = Folder::with("main.yaml", main);
    folder.write("rrc.toml", "[run]\nsecrets = [\"key\"]\n");
    let args = [
        "run",
        "main.yaml",
        "--set",
        "key=open-sesame",
        "--output-format",
        "json",
    ];
    let said = folder.rrc(&args).go().exits(0).json();
    assert_eq!(said["context"]["said"], "***\n");
    assert_eq!(said["context"]["key"], "***");
    let journal = folder.sh("grep -rl sesame .rrc").go();
    assert_eq!(journal.out, "");
}

const STAGES: &str = "
name: staged
version: 1.0.0
description: d
stages:
  - name: build
    steps:
      - {id: a, type: bash, command: 'echo a >> log; echo {{session.id}}', output: first}
    approval: {required: true, prompt: 'go on?'}
  - name: ship
    steps:
      - {id: b, type: bash, command: 'echo b >> log; echo {{session.id}}', output: second}
";

#[test]
fn a_paused_run_goes_on_when_it_is_approved() {
    let folder = Folder::with("main.yaml", STAGES);
    folder.rrc(&["run", "main.yaml"]).go().exits(4);
    let run = only_run(&folder);
    folder.rrc(&["run", "--replay", &run]).go().exits(4);
    folder.rrc(&["run", "main.yaml", "--resume"]).go().exits(4);
    let approve = ["run", "main.yaml", "--resume", "--approve", "build"];
    let said = folder
        .rrc(&[&approve[..], &["--output-format", "json"]].concat())
        .go();
    let report = said.exits(0).json();
    assert_eq!(folder.read("log"), "a\nb\n");
    assert_eq!(report["run_id"], json!(run));
    assert_eq!(report["context"]["first"], report["context"]["second"]);
    folder.rrc(&["run", "--replay", &run]).go().exits(0);
}

#[test]
fn a_denied_run_is_final() {
    let folder = Folder::with("main.yaml", STAGES);
    folder.rrc(&["run", "main.yaml"]).go().exits(4);
    let run = only_run(&folder);
    let deny = ["run", "main.yaml", "--resume", "--deny", "build"];
    folder.rrc(&deny).go().exits(1);
    let again = ["run", "--resume", &run, "--approve", "build"];
    folder.rrc(&again).go().exits(2).err_has("final");
    assert_eq!(folder.read("log"), "a\n");
}

#[test]
fn an_approval_that_nobody_gave_in_time_is_answered_by_its_default() {
    let resume = ["run", "main.yaml", "--resume"];
    for (seconds, default, exit, log) in [
        (1000.0, "approve", 4, "a\n"),
        (0.1, "approve", 0, "a\nb\n"),
        (0.1, "deny", 1, "a\n"),
    ] {
        let timed = format!("required: true, timeout: {seconds}, default: {default}");
        let folder = Folder::with("main.yaml", STAGES.replace("required: true", &timed));
        folder.rrc(&["run", "main.yaml"]).go().exits(4);
        std::thread::sleep(Duration::from_millis(150));
        folder.rrc(&resume).go().exits(exit);
        assert_eq!(folder.read("log"), log, "{seconds} {default}");
    }
}

#[test]
fn a_run_goes_on_with_the_recipe_it_started_with() {
    let folder = Folder::with("main.yaml", STAGES);
    folder.rrc(&["run", "main.yaml"]).go().exits(4);
    folder.write("main.yaml", STAGES.replace("echo b >>", "echo changed >>"));
    let resume = ["run", "main.yaml", "--resume", "--approve", "build"];
    let frozen = [&resume[..], &["--frozen"]].concat();
    folder.rrc(&frozen).go().exits(2).err_has("has changed");
    let changes = [&resume[..], &["--set", "x=1"]].concat();
    folder
        .rrc(&changes)
        .go()
        .exits(2)
        .err_has("`x` stays what it was");
    folder.rrc(&resume).go().exits(0).err_has("has changed");
    assert_eq!(folder.read("log"), "a\nb\n");
}

#[test]
fn a_plan_whose_recipe_changed_can_be_refused() {
    let folder = Folder::with(
        "main.yaml",
        recipe("  - {id: a, type: bash, command: 'true'}\n"),
    );
    folder.rrc(&["build", "main.yaml"]).go().exits(0);
    folder.rrc(&["run", "main.rrb", "--frozen"]).go().exits(0);
    folder.write(
        "main.yaml",
        recipe("  - {id: a, type: bash, command: 'false'}\n"),
    );
    folder
        .rrc(&["run", "main.rrb", "--frozen"])
        .go()
        .exits(2)
        .err_has("has changed");
    folder.rrc(&["run", "main.rrb"]).go().exits(0);
}

#[test]
fn where_nothing_can_be_recorded_a_run_runs() {
    let folder = Folder::with(
        "main.yaml",
        recipe("  - {id: a, type: bash, command: 'true'}\n"),
    );
    folder.write(".rrc", "a file");
    let said = folder.rrc(&["run", "main.yaml"]).go().exits(0);
    said.err_has("not recorded");
}
