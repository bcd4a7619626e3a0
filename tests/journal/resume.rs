//! Runs that failed and go on: what failed runs again, all of it at once, and nothing else does.

use super::binary::{Folder, eventually};
use super::{normal, only_run, recipe};
use serde_json::json;
use std::time::Duration;

/// Runs until it fails, makes ready and goes on; gives what ran in which life, each sorted, as what
/// runs at once has no order. One that was killed could not record that it had ended.
fn lives(files: &[(&str, &str)], killed: bool) -> [String; 2] {
    let folder = Folder::new();
    for (name, steps) in files {
        folder.write(
            name,
            format!("# rrc: dialect = amplifier\n{}", recipe(steps)),
        );
    }
    let json = ["--output-format", "json"];
    let go = |more: &[&str]| {
        let all = [&["run", "main.yaml"][..], &json, more].concat();
        folder.rrc(&all).go()
    };
    let report = go(&[]).exits(1).json();
    let run = only_run(&folder);
    let replay = ["run", "--replay", &run, json[0], json[1]];
    let again = folder.rrc(&replay).go().exits(1).json();
    assert_eq!(normal(again), normal(report), "{files:#?}");
    let first = folder.read("log");
    folder.write("ready", "");
    if killed {
        let journal = format!(".rrc/runs/{run}/journal.jsonl");
        let text = folder.read(&journal);
        let lines = text.split_inclusive('\n');
        let kept = lines.filter(|line| !line.contains(r#""t":"finish""#));
        folder.write(&journal, kept.collect::<String>());
    }
    let report = go(&["--resume"]).exits(0).json();
    let again = folder.rrc(&replay).go().exits(0).json();
    assert_eq!(normal(again), normal(report), "{files:#?}");
    let log = folder.read("log");
    [sorted(&first), sorted(&log[first.len()..])]
}

fn sorted(log: &str) -> String {
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    lines.join(" ")
}

#[track_caller]
fn runs(files: &[(&str, &str)], first: &str, second: &str) {
    for killed in [false, true] {
        assert_eq!(lives(files, killed), [first, second], "{files:#?}");
    }
}

#[test]
fn to_show_a_plan_is_not_to_go_on_with_a_run() {
    let steps = "  - {id: a, type: bash, command: 'echo a >> log; exit 1'}\n";
    let folder = Folder::with("main.yaml", recipe(steps));
    folder.rrc(&["run", "main.yaml"]).go().exits(1);
    let run = only_run(&folder);
    for show in ["--dry-run", "--explain", "--validate-only"] {
        for past in [&["--resume"][..], &["--resume", &run], &["--replay", &run]] {
            let args = [&["run", "main.yaml", show], past].concat();
            folder.rrc(&args).go().exits(2).err_has(show);
        }
    }
    assert_eq!(folder.read("log"), "a\n");
    for (one, other) in [
        ("--dry-run", "--explain"),
        ("--explain", "--validate-only"),
        ("--validate-only", "--dry-run"),
    ] {
        let said = folder.rrc(&["run", "main.yaml", one, other]).go();
        said.exits(2).no_out().err_has("cannot be used with");
    }
}

#[test]
fn what_failed_beside_what_was_killed_runs_again_at_once() {
    let steps = "
  - {id: before, type: bash, command: 'echo before >> log'}
  - {id: bad, type: bash, parallel_group: g, command: 'echo bad >> log; test -e ready'}
  - {id: long, type: bash, parallel_group: g, command: 'echo long >> log; test -e ready || sleep 30'}
  - {id: after, type: bash, command: 'echo after >> log'}
";
    let forgiven = "
  - {id: call, type: recipe, recipe: inner.yaml, on_error: continue}
  - {id: after, type: bash, command: 'echo after >> log'}
";
    let cases = [
        ([("a.yaml", steps), ("inner.yaml", steps)], "after bad long"),
        // Nobody knows yet whether what is around it goes on: it does.
        ([("a.yaml", forgiven), ("inner.yaml", steps)], "after long"),
    ];
    for (files, expected) in cases {
        let folder = Folder::new();
        for (name, steps) in files {
            folder.write(
                name,
                format!("# rrc: dialect = amplifier\n{}", recipe(steps)),
            );
        }
        let running = folder.rrc(&["run", "a.yaml"]).start();
        let ended = || {
            let run = folder.path().join(".rrc/runs");
            let runs = std::fs::read_dir(run).into_iter().flatten().flatten();
            let journals =
                runs.map(|run| std::fs::read_to_string(run.path().join("journal.jsonl")));
            let text: String = journals.flatten().collect();
            text.matches(r#""t":"end""#).count() == 2 && text.matches(r#""t":"begin""#).count() == 3
        };
        assert!(eventually(Duration::from_secs(30), ended));
        running.signal("KILL");
        running.end();
        let first = folder.read("log");
        folder.write("ready", "");
        folder.rrc(&["run", "a.yaml", "--resume"]).go().exits(0);
        assert_eq!(sorted(&folder.read("log")[first.len()..]), expected);
    }
}

/// As what a killed rrc was just starting does.
#[test]
fn who_holds_a_journal_for_a_moment_does_not_keep_its_run_from_going_on() {
    let steps =
        "  - {id: a, type: bash, command: 'test -e ready || kill -9 $PPID; echo a >> log'}\n";
    let folder = Folder::with("main.yaml", recipe(steps));
    folder.rrc(&["run", "main.yaml"]).go();
    folder.write("ready", "");
    let journal = format!(".rrc/runs/{}/journal.jsonl", only_run(&folder));
    let holder = std::fs::File::open(folder.file(&journal)).expect("the journal is there");
    holder.lock().expect("nobody writes it");
    let resumed = folder.rrc(&["run", "main.yaml", "--resume"]).start();
    std::thread::sleep(Duration::from_millis(40));
    drop(holder);
    resumed.end().exits(0);
}

#[test]
fn what_ran_beside_a_failure_does_not_run_again() {
    let group = "
  - {id: g1, type: bash, parallel_group: g, command: 'echo g1 >> log; test -e ready'}
  - {id: g2, type: recipe, parallel_group: g, recipe: c.yaml}
  - {id: z, type: bash, command: 'echo z >> log'}
";
    let once = "
  - {id: x, type: bash, command: 'sleep 0.1; echo x >> log'}
  - {id: pay, type: bash, once: true, command: 'echo pay >> log'}
";
    let files = [("main.yaml", group), ("c.yaml", once)];
    runs(&files, "g1 pay x", "g1 z");
    let tried = "
  - {id: r, type: bash, retry: {max_attempts: 2, initial_delay: 0.05}, command: 'echo r >> log; test -e tried || { touch tried; exit 1; }'}
  - {id: after, type: bash, command: 'echo after >> log'}
";
    let files = [("main.yaml", group), ("c.yaml", tried)];
    runs(&files, "after g1 r r", "g1 z");
    let graph = "
  - {id: a, type: bash, command: 'echo a >> log; test -e ready'}
  - {id: each, type: bash, foreach: '{{items}}', as: i, command: 'sleep 0.05; echo {{i}} >> log'}
  - {id: z, type: bash, depends_on: [a], command: 'echo z >> log'}
schedule: graph
context: {items: [x, y]}
";
    runs(&[("main.yaml", graph)], "a x y", "a z");
}

#[test]
fn what_ran_after_an_approval_beside_a_failure_does_not_run_again() {
    let main = "
  - {id: g1, type: bash, parallel_group: g, command: 'echo g1 >> log; test -e ready'}
  - {id: g2, type: recipe, parallel_group: g, recipe: c.yaml}
";
    let staged = "
name: staged
version: 1.0.0
description: d
stages:
  - name: build
    steps: [{id: x, type: bash, command: 'sleep 0.1; echo x >> log'}]
    approval: {required: true, prompt: 'go on?'}
  - name: ship
    steps: [{id: y, type: bash, command: 'echo y >> log'}]
";
    let folder = Folder::with("main.yaml", recipe(main));
    folder.write("c.yaml", staged);
    // Nobody approves: what failed beside the question runs again as well.
    folder.rrc(&["run", "main.yaml"]).go().exits(4);
    let resume = ["run", "main.yaml", "--resume", "--approve", "build"];
    folder.rrc(&resume).go().exits(1);
    assert_eq!(sorted(&folder.read("log")), "g1 g1 x y");
    folder.write("ready", "");
    folder.rrc(&resume).go().exits(0);
    assert_eq!(sorted(&folder.read("log")), "g1 g1 g1 x y");
}

#[test]
fn a_failure_that_was_forgiven_is_not_what_the_run_failed_by() {
    let failing = "type: bash, on_error: continue, command: 'sleep 0.1; echo f >> log; exit 3'";
    let group = format!(
        "
  - {{id: g1, type: bash, parallel_group: g, command: 'echo g1 >> log; test -e ready'}}
  - {{id: g2, parallel_group: g, {failing}}}
  - {{id: z, type: bash, command: 'echo z >> log'}}
"
    );
    runs(&[("main.yaml", &group)], "f g1", "g1 z");
    let graph = group.replace("parallel_group: g, ", "") + "schedule: graph\n";
    runs(&[("main.yaml", &graph)], "f g1 z", "g1");
    let inside = "
  - {id: g1, type: bash, parallel_group: g, command: 'echo g1 >> log; test -e ready'}
  - {id: g2, type: recipe, parallel_group: g, recipe: c.yaml}
";
    let body = format!("\n  - {{id: f, {failing}}}\n");
    let files = [("main.yaml", inside), ("c.yaml", &*body)];
    runs(&files, "f g1", "g1");
    let each = "
  - id: each
    foreach: '{{items}}'
    as: i
    parallel: true
    steps:
      - {id: one, type: bash, on_error: continue, command: 'test {{i}} = x || sleep 0.1; echo {{i}}1 >> log; exit 3'}
      - {id: two, type: bash, command: 'echo {{i}}2 >> log; test -e ready -o {{i}} = y'}
context: {items: [x, y]}
";
    runs(&[("main.yaml", each)], "x1 x2 y1 y2", "x2");
    // Another attempt forgives, and so does a step around it that goes on.
    let tried = "
  - {id: g1, type: bash, parallel_group: g, command: 'echo g1 >> log; test -e ready'}
  - {id: g2, type: recipe, parallel_group: g, recipe: c.yaml, on_error: continue}
  - {id: g3, type: recipe, parallel_group: g, recipe: c.yaml, retry: {max_attempts: 2, initial_delay: 0.01}}
";
    let c = "\n  - {id: c, type: bash, command: 'echo c >> log; test -e ready'}\n";
    let files = [("main.yaml", tried), ("c.yaml", c)];
    runs(&files, "c c c g1", "c g1");
}

#[test]
fn all_that_failed_runs_again_at_once() {
    let group = "
  - {id: a, type: bash, parallel_group: g, command: 'echo a >> log; test -e ready'}
  - {id: b, type: bash, parallel_group: g, command: 'sleep 0.05; echo b >> log; test -e ready'}
  - {id: c, type: bash, parallel_group: g, command: 'echo c >> log'}
";
    runs(&[("main.yaml", group)], "a b c", "a b");
    let graph = group.replace("parallel_group: g, ", "") + "schedule: graph\n";
    runs(&[("main.yaml", &graph)], "a b c", "a b");
    // Those that fail hold the places in which the others ran.
    for width in ["true", "2"] {
        let each = format!(
            "
  - {{id: each, type: bash, foreach: '{{{{items}}}}', as: i, parallel: {width}, command: 'echo {{{{i}}}} >> log; test -e ready -o {{{{i}}}} -gt 2'}}
context: {{items: [1, 2, 3, 4, 5]}}
"
        );
        runs(&[("main.yaml", &each)], "1 2 3 4 5", "1 2");
    }
}

#[test]
fn a_deadline_starts_anew() {
    let y = "type: bash, command: 'echo y >> log; test -e ready || sleep 9'";
    let c = format!("\n  - {{id: x, type: bash, command: 'echo x >> log'}}\n  - {{id: y, {y}}}\n");
    let call = "
  - {id: s, type: recipe, recipe: c.yaml, timeout: 0.5}
  - {id: z, type: bash, command: 'echo z >> log'}
";
    runs(&[("main.yaml", call), ("c.yaml", &c)], "x y", "y z");
    let each = format!(
        "
  - id: each
    foreach: '{{{{items}}}}'
    as: i
    timeout: 0.5
    steps:
      - {{id: x, type: bash, command: 'echo x >> log'}}
      - {{id: y, {y}}}
context: {{items: [1, 2]}}
"
    );
    runs(&[("main.yaml", &each)], "x y", "x y y");
    // One that nobody minds is not set again.
    let beside = "
  - {id: a, type: bash, parallel_group: g, command: 'sleep 0.6; echo a >> log; test -e ready'}
  - {id: s, type: recipe, recipe: c.yaml, timeout: 0.4, on_error: continue, parallel_group: g}
";
    runs(&[("main.yaml", beside), ("c.yaml", &c)], "a x y", "a");
}

#[test]
fn what_a_failure_led_to_is_done_again_with_it() {
    let text = "name: t
hooks: {on_error: 'echo hook >> log'}
steps:
  - {id: a, parallel_group: g, command: 'echo a >> log; exit 1'}
  - {id: b, parallel_group: g, command: 'sleep 0.1; echo b >> log'}
";
    let folder = Folder::with("main.yaml", text);
    folder.rrc(&["run", "main.yaml"]).go().exits(1);
    assert_eq!(folder.read("log"), "a\nhook\nb\n");
    folder.rrc(&["run", "main.yaml", "--resume"]).go().exits(1);
    assert_eq!(folder.read("log"), "a\nhook\nb\na\nhook\n");
}

#[test]
fn a_failure_beside_what_was_stopped_runs_again_too() {
    let steps = "
  - {id: a, type: bash, parallel_group: g, command: 'echo a >> log; test -e ready'}
  - {id: b, type: bash, parallel_group: g, command: 'echo b >> log; test -e ready || sleep 60'}
";
    let folder = Folder::with("main.yaml", recipe(steps));
    let timed = ["run", "main.yaml", "--timeout", "0.5"];
    folder.rrc(&timed).go().exits(1);
    folder.write("ready", "");
    folder.rrc(&["run", "main.yaml", "--resume"]).go().exits(0);
    let log = folder.read("log");
    let count = |name: &str| log.lines().filter(|line| *line == name).count();
    assert_eq!((count("a"), count("b")), (2, 2), "{log}");
}

#[test]
fn an_attempt_that_was_not_made_is_not_counted() {
    let steps = "
  - {id: a, type: bash, command: 'false', retry: {max_attempts: 3, initial_delay: 30}}
";
    let folder = Folder::with("main.yaml", recipe(steps));
    let json = ["--output-format", "json"];
    let timed = ["run", "main.yaml", "--timeout", "0.3"];
    let said = folder.rrc(&[&timed[..], &json].concat()).go().exits(1);
    assert_eq!(said.json()["step_results"][0]["attempts"], 1, "{said:#?}");
}

#[test]
fn attempts_are_not_counted_as_steps() {
    let steps = "
  - {id: a, type: bash, command: 'test -e tried || { touch tried; exit 1; }', retry: {max_attempts: 2, initial_delay: 0.01}}
  - {id: b, type: bash, command: 'true'}
";
    let folder = Folder::with("main.yaml", recipe(steps));
    folder.rrc(&["run", "main.yaml"]).go().exits(0);
    folder.rrc(&["runs"]).go().exits(0).out_has("2 steps");
}

#[test]
fn a_run_that_cannot_begin_is_not_recorded() {
    let steps = "  - {id: a, type: bash, command: 'echo a >> log; exit 1'}\n";
    let folder = Folder::with("main.yaml", recipe(steps));
    let nowhere = ["--audit-dir", "main.yaml"];
    let run = ["run", "main.yaml"];
    let resume = ["run", "main.yaml", "--resume"];
    let refused = folder.rrc(&[&run[..], &nowhere].concat()).go().exits(2);
    refused.err_has("--audit-dir");
    assert!(!folder.has(".rrc") && !folder.has("log"));
    folder.rrc(&run).go().exits(1);
    folder.rrc(&[&resume[..], &nowhere].concat()).go().exits(2);
    folder.rrc(&["runs"]).go().exits(0).out_has("failed");
}

#[test]
fn a_run_goes_on_wherever_it_started() {
    let steps = "  - {id: a, type: bash, command: 'test -e ready'}\n";
    let folder = Folder::with("main.yaml", recipe(steps));
    // Where no file may have such a name, there is nothing to see.
    let there = "d=$(printf 'a\\377b'); mkdir -p $d && cd $d && cp ../main.yaml .";
    let run = format!("{there} || exit 1; \"$RRC\" run main.yaml");
    folder.sh(&run).go().exits(1);
    let resume = format!("{there} || exit 0; touch ready; \"$RRC\" run main.yaml --resume");
    folder.sh(&resume).go().exits(0);
}

#[test]
fn no_audit_is_written_over_another() {
    let folder = Folder::with(
        "main.yaml",
        recipe("  - {id: a, type: bash, command: 'true'}\n"),
    );
    let audit = ["--audit-dir", "audit"];
    folder
        .rrc(&[&["run", "main.yaml"][..], &audit].concat())
        .go()
        .exits(0);
    // What is shown again began when it began.
    let run = only_run(&folder);
    let replay = ["run", "--replay", &run];
    folder.rrc(&[&replay[..], &audit].concat()).go().exits(0);
    let audits = std::fs::read_dir(folder.file("audit")).expect("a directory");
    assert_eq!(audits.count(), 2);
    let long = recipe("  - {id: a, type: bash, command: 'true'}\n")
        .replace("name: t", &format!("name: {}", "é".repeat(300)));
    folder.write("long.yaml", long);
    folder
        .rrc(&[&["run", "long.yaml"][..], &audit].concat())
        .go()
        .exits(0);
}

#[test]
fn why_no_run_goes_on_is_said() {
    let steps = "  - {id: a, type: bash, command: 'exit 1'}\n";
    let folder = Folder::with("main.yaml", recipe(steps));
    folder.rrc(&["run", "main.yaml"]).go().exits(1);
    let journal = format!(".rrc/runs/{}/journal.jsonl", only_run(&folder));
    let text = folder.read(&journal);
    folder.write(&journal, text.replacen("\"ms\"", "\"sm\"", 1));
    let resume = ["run", "--resume", "main.yaml"];
    folder.rrc(&resume).go().exits(2).err_has("line 2");
    // Killed before its first record was whole.
    folder.write(&journal, &text[..50]);
    let unbegun = "it has not begun: nothing of it is recorded";
    folder.rrc(&resume).go().exits(2).err_has(unbegun);
    std::fs::remove_file(folder.file(&journal)).expect("it is there");
    folder.rrc(&resume).go().exits(2).err_has(unbegun);
    folder.rrc(&["runs"]).go().exits(0).err_has(unbegun);
    folder.write(&journal, &text);
    let plan = journal.replace("journal.jsonl", "plan.rrb");
    std::fs::remove_file(folder.file(&plan)).expect("it is there");
    let gone = format!("{plan}: there is no such file or directory\nhelp: start a new run");
    folder.rrc(&resume).go().exits(2).err_has(&gone);
    folder
        .sh("rm -r .rrc/runs && touch .rrc/runs")
        .go()
        .exits(0);
    let no_place = "rrc: .rrc/runs: what should be a directory is a file\n";
    folder.rrc(&["runs"]).go().exits(2).err_has(no_place);

    let folder = Folder::with("main.yaml", super::STAGES);
    let deny = ["run", "main.yaml", "--deny", "build"];
    folder.rrc(&deny).go().exits(1);
    folder.rrc(&resume).go().exits(2).err_has("denied");
}

#[test]
fn who_denies_what_was_approved_is_told_that_it_was() {
    let stages = super::STAGES.replace("echo b >> log;", "echo b >> log; test -e ready &&");
    let folder = Folder::with("main.yaml", stages);
    let approve = ["run", "main.yaml", "--approve", "build"];
    folder.rrc(&approve).go().exits(1);
    folder.write("ready", "");
    let said = "rrc: stage build was approved before, and `--deny` does not take that back\n";
    let resume = ["run", "main.yaml", "--resume"];
    let deny = [&resume[..], &["--deny", "build", "-q"]].concat();
    let denied = folder.rrc(&deny).go().exits(0);
    assert_eq!(denied.err, said);
    assert_eq!(folder.read("log"), "a\nb\nb\n");
}

#[test]
fn what_a_run_started_with_stays() {
    let steps = "
  - {id: a, type: bash, when_tags: [x], command: 'echo a >> log; test -e ready'}
  - {id: b, type: bash, when_tags: [y], command: 'echo b >> log'}
";
    let folder = Folder::with("main.yaml", recipe(steps));
    folder.write("other/file", "");
    let with = |more: &[&str]| folder.rrc(&[&["run", "main.yaml"], more].concat()).go();
    with(&["--include-tags", "x"]).exits(1);
    for (option, value) in [
        ("--include-tags", "y"),
        ("--exclude-tags", "x"),
        ("--working-dir", "other"),
    ] {
        let said = with(&["--resume", option, value]).exits(2);
        said.err_has(&format!("`{option}` stays what it was"));
    }
    folder.write("ready", "");
    with(&["--resume", "--include-tags", "x", "-C", "."]).exits(0);
    assert_eq!(folder.read("log"), "a\na\n");
}

#[test]
fn commands_that_were_passed_over_do_not_run_again() {
    let script = "echo $1 >> log; case $2 in bad) exit 3;; ready) sleep 0.05; test -e ready;; slow) sleep 0.2;; esac";
    let template = r#"[
  "sh a.sh one ok",
  {"template": "sh a.sh two bad", "failure": "continue"},
  {"timeout": 9000, "template": ["sh a.sh three bad", "sh a.sh four ok"], "failure": "continue"},
  {"parallel": true, "template": [
    "sh a.sh five bad",
    {"template": "sh a.sh six ready", "failure": "root"},
    {"template": ["sh a.sh seven slow", "sh a.sh eight ok"]}
  ]},
  "sh a.sh nine ok"
]"#;
    let folder = Folder::with("t.json", template);
    folder.write("a.sh", script);
    folder.rrc(&["run", "t.json"]).go().exits(1);
    let first = folder.read("log");
    assert_eq!(first.lines().count(), 8, "{first}");
    folder.write("ready", "");
    folder.rrc(&["run", "t.json", "--resume"]).go().exits(0);
    assert_eq!(folder.read("log"), first + "six\nnine\n");
}

#[test]
fn the_deadline_of_a_group_of_commands_starts_anew() {
    let template = r#"[
  {"timeout": 500, "failure": "root", "template": ["sh a.sh one", "sh a.sh two"]},
  "sh a.sh three"
]"#;
    let folder = Folder::with("t.json", template);
    folder.write(
        "a.sh",
        "echo $1 >> log; test -e ready -o $1 != two || sleep 9",
    );
    folder.rrc(&["run", "t.json"]).go().exits(1);
    folder.write("ready", "");
    folder.rrc(&["run", "t.json", "--resume"]).go().exits(0);
    assert_eq!(folder.read("log"), "one\ntwo\ntwo\nthree\n");
}

#[test]
fn a_run_that_was_stopped_is_shown_as_it_was_stopped() {
    let call = "
  - {id: call, type: recipe, recipe: gate, on_error: continue, retry: {initial_delay: 0}}
  - {id: after, type: bash, command: sleep 9}
";
    for (options, path, why) in [
        (&["--deny", "build"][..], "call", "stage `build` was denied"),
        (
            &["--approve", "build", "--timeout", "0.3"],
            "after",
            "the run took longer than allowed (limit 300ms)",
        ),
    ] {
        let folder = Folder::with("main.yaml", recipe(call));
        folder.write("gate.yaml", super::STAGES);
        let events = |what: &[&str]| {
            let format = ["run", "--output-format", "events"];
            let said = folder.rrc(&[&format, what].concat()).go().exits(1);
            let names = said.lines().into_iter();
            let names = names.map(|event| json!([event["event"], event["path"], event["error"]]));
            names.collect::<Vec<_>>()
        };
        let live = events(&[&["main.yaml"], options].concat());
        let stopped = live.iter().rev().nth(1);
        assert_eq!(
            stopped.map(|event| &event[1]),
            Some(&json!(path)),
            "{live:?}"
        );
        assert_eq!(
            stopped.map(|event| &event[2]),
            Some(&json!(why)),
            "{live:?}"
        );
        assert_eq!(events(&["--replay", &only_run(&folder)]), live);
    }
}

#[test]
fn what_a_run_waits_for_is_kept_without_secrets() {
    let folder = Folder::new();
    folder.write(
        "a.yaml",
        "name: t\nversion: 1.0.0\ndescription: d\nsecrets: [key]\ncontext: {key: ''}\nstages:\n  \
         - {name: one, steps: [{id: a, type: bash, command: 'true'}], \
         approval: {required: true, prompt: 'use {{key}}?'}}\n",
    );
    let set = "key=open-sesame-4711";
    folder.rrc(&["run", "a.yaml", "-s", set]).go().exits(4);
    let kept = folder.sh("cat .rrc/runs/*/*").go().exits(0);
    assert!(kept.out.contains("waiting for the approval"), "{kept:?}");
    assert!(!kept.out.contains("open-sesame"), "{kept:?}");
    let go_on = ["run", "--resume", "--approve", "one", "-s", set, "a.yaml"];
    folder.rrc(&go_on).go().exits(0);
}

#[test]
fn a_run_that_cannot_be_recorded_leaves_no_half_of_a_record() {
    let folder = Folder::with(
        "a.yaml",
        "name: t\nsteps: [{id: a, command: 'touch ran'}]\n",
    );
    // Without a byte of a file nothing is written but directories.
    let run = "ulimit -f 0; trap '' XFSZ; exec \"$RRC\" run a.yaml";
    folder.write(".rrc/.gitignore", "*\n");
    let said = folder.sh(run).go();
    assert!(said.err.contains("the run is not recorded: "), "{said:?}");
    let none = "no runs are recorded here";
    folder.rrc(&["runs"]).go().exits(0).err_has(none);
}

#[test]
fn a_run_that_waits_and_is_not_on_record_does_not_claim_to_go_on() {
    let recipe = |command: &str| {
        format!(
            "name: t\nversion: 1.0.0\ndescription: d\nstages:\n  - {{name: one, steps: [{{id: a, type: bash, \
             command: '{command}'}}], approval: {{required: true, prompt: 'go on?'}}}}\n"
        )
    };
    let folder = Folder::with("a.yaml", recipe("rm -r .rrc"));
    let instead = "start it again with `--approve one`, or `--deny one`";
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(4);
    assert!(!said.err.contains("--resume"), "{said:?}");
    said.err_has("the run is not recorded any further: ")
        .err_has(instead);
    folder.write(".rrc", "no directory");
    folder.write("a.yaml", recipe("true"));
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(4);
    assert!(!said.err.contains("--resume"), "{said:?}");
    said.err_has("the run is not recorded: ").err_has(instead);
    let said = folder.rrc(&["run", "a.yaml", "--no-record"]).go().exits(4);
    said.err_has("leave out `--no-record`");
}

#[test]
fn what_was_written_of_a_run_stays_when_it_is_shown_again() {
    let folder = Folder::with("a.yaml", "name: t\nsteps: [{id: a, command: 'true'}]\n");
    let audit = ["--audit-dir", "audit"];
    let run = |args: &[&str]| folder.rrc(&[args, &audit].concat()).go().exits(0);
    run(&["run", "a.yaml"]);
    let id = only_run(&folder);
    run(&["run", "--replay", &id]);
    run(&["run", "--replay", &id]);
    let files = folder.sh("ls audit").go().exits(0);
    assert_eq!(files.out.lines().count(), 3, "{files:?}");
}

#[test]
fn a_run_goes_on_for_its_own_recipe_however_that_is_named() {
    let recipe =
        |ran: &str| format!("name: t\nsteps: [{{id: a, command: 'touch {ran}; test -e ready'}}]\n");
    let folder = Folder::with("a.yaml", recipe("a"));
    folder.write("b.yaml", recipe("b"));
    folder.sh("ln -s . here").go().exits(0);
    folder.rrc(&["run", "a.yaml"]).go().exits(1);
    let id = only_run(&folder);
    let resume = |args: &[&str]| folder.rrc(&[&["run", "--resume"], args].concat()).go();
    resume(&[&id, "here/a.yaml"]).exits(1);
    folder.write("ready", "");
    let said = resume(&[&id, "b.yaml"]).exits(2);
    said.err_has("a.yaml, not of b.yaml")
        .err_has("leave out the file");
    resume(&["here/a.yaml"]).exits(0);
}
