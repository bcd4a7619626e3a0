//! The stream of events: linear, complete, and the same for a recipe and for its plan.

use crate::amplifier;
use crate::binary::Folder;
use serde_json::Value;

fn name(event: &Value) -> &str {
    event["event"].as_str().expect("an event has a name")
}

/// What holds for the events of every run.
#[track_caller]
pub fn lawful(events: &[Value]) {
    const KINDS: [&str; 5] = ["bash", "agent", "recipe", "template", "tool"];
    const ENDS: [&str; 2] = ["complete", "error"];
    assert_eq!(name(&events[0]), "run:start");
    assert_eq!(name(events.last().expect("events")), "run:end");
    let mut open: Vec<String> = Vec::new();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], number, "{event}");
        assert_eq!(event["run_id"], events[0]["run_id"], "{event}");
        let stamp = event["ts"].as_str().expect("a time");
        assert!(stamp.len() == 24 && stamp.ends_with('Z'), "{event}");
        assert!(
            event.get("step_id").is_some() && event.get("path").is_some(),
            "{event}"
        );
        let path = event["path"].as_str().unwrap_or("").to_string();
        let parts: Vec<&str> = name(event).split(':').collect();
        match parts[..] {
            ["run", "start"] => assert_eq!(number, 0),
            ["run", "end"] => assert_eq!(number, events.len() - 1),
            ["run", "warning"] => {}
            ["approval", "requested" | "answered"] => {}
            ["loop", "iteration"] => open.push(path),
            ["step", kind, what] if KINDS.contains(&kind) => match what {
                "start" => open.push(path),
                "skip" => assert!(!open.contains(&path), "{event}"),
                "retry" | "output" | "warning" => assert!(open.contains(&path), "{event}"),
                end if ENDS.contains(&end) => {
                    let at = open.iter().rposition(|known| *known == path);
                    open.remove(at.unwrap_or_else(|| panic!("ends without a start: {event}")));
                }
                _ => panic!("unknown: {event}"),
            },
            _ => panic!("unknown: {event}"),
        }
    }
    assert!(open.is_empty(), "no end for {open:?}");
    let times: Vec<&str> = events
        .iter()
        .filter_map(|event| event["ts"].as_str())
        .collect();
    assert!(times.is_sorted(), "time goes back");
}

const RICH: &str = "\
- {id: plain, type: bash, command: echo hi, output: o}
- {id: skipped, type: bash, command: 'true', condition: '1 == 2'}
- {id: fails, type: bash, command: 'exit 3', on_error: continue}
- {id: flaky, type: bash, command: 'echo x >> t; test $(wc -l < t) -ge 2', retry: {max_attempts: 3, initial_delay: 0.01}}
- {id: each, type: bash, foreach: '{{list}}', command: 'echo {{item}}', collect: c}
- {id: side, type: bash, foreach: '{{list}}', parallel: true, command: 'echo {{item}}', collect: d}
- {id: shown, type: bash, stream: true, command: 'echo one; echo two >&2; printf three'}
- {id: last, type: bash, command: 'exit 1', on_error: skip_remaining}
- {id: never, type: bash, command: 'true'}
";

fn rich() -> Folder {
    let recipe = format!("context: {{list: [a, b, c]}}\n{}", amplifier(RICH));
    Folder::with("a.yaml", recipe)
}

fn events(folder: &Folder, file: &str) -> Vec<Value> {
    let _ = std::fs::remove_file(folder.file("t"));
    let args = ["run", file, "--output-format", "events", "--jobs", "1"];
    folder.rrc(&args).go().exits(0).lines()
}

#[test]
fn events_are_linear_and_every_start_has_one_end() {
    let folder = rich();
    let all = events(&folder, "a.yaml");
    lawful(&all);
    let about = |step: &str| -> Vec<&str> {
        let own = all.iter().filter(|event| event["step_id"] == step);
        own.map(name).collect()
    };
    assert_eq!(about("plain"), ["step:bash:start", "step:bash:complete"]);
    assert_eq!(about("skipped"), ["step:bash:skip"]);
    assert_eq!(about("fails"), ["step:bash:start", "step:bash:error"]);
    assert_eq!(
        about("flaky"),
        ["step:bash:start", "step:bash:retry", "step:bash:complete"]
    );
    assert_eq!(about("never"), [""; 0]);
    let streamed: Vec<&Value> = all
        .iter()
        .filter(|event| name(event) == "step:bash:output")
        .collect();
    let lines: Vec<&str> = streamed
        .iter()
        .filter_map(|event| event["line"].as_str())
        .collect();
    let mut sorted = lines.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["one", "three", "two"]);
    let iterations = all
        .iter()
        .filter(|event| name(event) == "loop:iteration")
        .count();
    assert_eq!(iterations, 6);
    let end = all.last().unwrap();
    assert_eq!(end["status"], "partial");
    assert_eq!(end["success"], true);
    let ended = all
        .iter()
        .find(|event| event["step_id"] == "fails" && name(event) == "step:bash:error");
    assert_eq!(ended.unwrap()["exit_code"], 3);
}

#[test]
fn a_failing_run_ends_its_events_too() {
    let folder = Folder::with(
        "a.yaml",
        amplifier("- {id: a, type: bash, command: 'exit 1'}\n"),
    );
    let said = folder
        .rrc(&["run", "a.yaml", "--output-format", "events"])
        .go()
        .exits(1);
    lawful(&said.lines());
    assert_eq!(said.lines().last().unwrap()["status"], "failed");
    let slow = Folder::with(
        "a.yaml",
        amplifier("- {id: a, type: bash, command: 'sleep 100'}\n"),
    );
    let said = slow
        .rrc(&[
            "run",
            "a.yaml",
            "--output-format",
            "events",
            "--timeout",
            "0.2",
        ])
        .go()
        .exits(1);
    lawful(&said.lines());
}

/// Nobody who reads events only may have to guess: no step has failed here.
#[test]
fn the_last_event_says_why_a_run_failed() {
    let ends = |recipe: &str, more: &[&str], code: i32| {
        let folder = Folder::with("a.yaml", recipe);
        let args = [&["run", "a.yaml", "--output-format", "events"], more].concat();
        let events = folder.rrc(&args).go().exits(code).lines();
        lawful(&events);
        events.last().expect("an end")["error"].clone()
    };
    let steps = amplifier("- {id: a, type: bash, command: 'true'}\n");
    let checked = format!("context: {{o: ''}}\ncontext_validation: {{o: nonempty}}\n{steps}");
    assert_eq!(ends(&checked, &[], 1), "`o` must not be empty");
    let hook = format!("# rrc: dialect = amplihack\nhooks: {{post_step: sleep 9}}\n{steps}");
    let late = ends(&hook, &["--timeout", "0.4"], 1);
    assert_eq!(late, "the run took longer than allowed (limit 400ms)");
    let fails = amplifier("- {id: a, type: bash, command: 'exit 3'}\n");
    assert_eq!(ends(&fails, &[], 1), "a: the command exited with code 3");
    assert_eq!(ends(&steps, &[], 0), Value::Null);
    let hidden = format!(
        "secrets: [o]\ncontext: {{o: s3cr3t-path}}\ncontext_validation: {{o: path}}\n{steps}"
    );
    let said = ends(&hidden, &[], 1).to_string();
    assert!(!said.contains("s3cr3t"), "{said}");
}

/// The code is what shells say of a program whose reader is gone; the steps of the run count all the same.
#[test]
fn a_run_whose_reader_goes_away_comes_to_its_end() {
    let steps =
        "- {id: a, type: bash, command: 'sleep 0.5'}\n- {id: b, type: bash, command: touch done}\n";
    for format in ["events", "text", "json"] {
        let folder = Folder::with("a.yaml", amplifier(steps));
        let script =
            format!("\"$RRC\" run a.yaml --output-format {format} | true; exit ${{PIPESTATUS[0]}}");
        folder.sh(&script).go().exits(141).no_err();
        assert!(folder.has("done"), "{format}");
    }
}

/// Events without what is different in every run.
fn timeless(events: Vec<Value>) -> Vec<Value> {
    let mut events = events;
    for event in &mut events {
        let event = event.as_object_mut().expect("an object");
        for key in ["ts", "run_id", "duration_ms"] {
            event.shift_remove(key);
        }
    }
    // Two streams are two pipes; which of them is read first is not ours to say.
    let streams = |event: &Value| name(event) == "step:bash:output";
    let mut lines: Vec<Value> = events
        .iter()
        .filter(|event| streams(event))
        .cloned()
        .collect();
    lines.iter_mut().for_each(|line| line["seq"] = Value::Null);
    lines.sort_by_key(Value::to_string);
    events.retain(|event| !streams(event));
    events.extend(lines);
    events
}

#[test]
fn a_recipe_and_its_plan_run_alike() {
    let folder = rich();
    folder.rrc(&["build", "a.yaml"]).go().exits(0);
    let recipe = timeless(events(&folder, "a.yaml"));
    let again = timeless(events(&folder, "a.yaml"));
    let plan = timeless(events(&folder, "a.rrb"));
    assert_eq!(recipe, again);
    assert_eq!(recipe, plan);
}

#[test]
fn a_plan_needs_no_recipe() {
    let folder = rich();
    folder
        .rrc(&["build", "a.yaml", "-o", "sub.rrb"])
        .go()
        .exits(0);
    std::fs::remove_file(folder.file("a.yaml")).unwrap();
    lawful(&events(&folder, "sub.rrb"));
}

#[test]
fn a_hook_that_fails_is_told_of_with_its_step() {
    let inner = "name: i\nsteps:\n- {id: deep, command: 'true'}\nhooks: {post_step: exit 5}\n";
    let hooks = "{pre_step: exit 3, post_step: exit 4, on_error: exit 6}";
    let steps = "- {id: good, command: 'true'}\n- {id: call, recipe: inner}\n\
                 - {id: bad, command: exit 1}\n";
    let folder = Folder::with(
        "a.yaml",
        format!("name: t\nhooks: {hooks}\nsteps:\n{steps}"),
    );
    folder.write("inner.yaml", inner);
    let all = folder.rrc(&["run", "a.yaml", "--output-format", "events"]);
    let warned: Vec<(String, String)> = all
        .go()
        .exits(1)
        .lines()
        .iter()
        .filter(|event| name(event).ends_with(":warning"))
        .map(|event| {
            let code = event["message"].as_str().unwrap().rsplit(' ').next();
            let path = event["path"].as_str().expect("a step");
            (path.to_string(), code.unwrap().to_string())
        })
        .collect();
    let expected = [
        ("good", "3"),
        ("good", "4"),
        ("call", "3"),
        ("call/deep", "5"),
        ("call", "4"),
        ("bad", "3"),
        ("bad", "6"),
    ];
    let expected = expected.map(|(path, code)| (path.to_string(), code.to_string()));
    assert_eq!(warned, expected);
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(1);
    said.out_has("warning call/deep: a hook failed: the command exited with code 5");
}

#[test]
fn events_are_told_as_they_happen() {
    let steps =
        "- {id: a, type: bash, command: 'true'}\n- {id: b, type: bash, command: 'test -s seen'}\n";
    let folder = Folder::with(
        "a.yaml",
        amplifier(&format!(
            "{}{steps}",
            "- {id: w, type: bash, command: 'sleep 0.3'}\n"
        )),
    );
    // The reader writes down what it saw; a later step finds it there.
    let script = "\"$RRC\" run a.yaml --output-format events | while read -r line; do echo \"$line\" >> seen; done; exit ${PIPESTATUS[0]}";
    folder.sh(script).go().exits(0);
    assert!(folder.read("seen").lines().count() >= 8);
}

#[test]
fn no_piece_of_a_line_ends_within_a_character() {
    for before in ["", "a", "ab"] {
        let command = format!("printf \"{before}\"; yes é€ | head -n 50000 | tr -d \"\\\\n\"");
        let steps = format!("- {{id: a, type: bash, stream: true, command: '{command}'}}\n");
        let folder = Folder::with("a.yaml", amplifier(&steps));
        let args = ["run", "a.yaml", "--output-format", "events"];
        let events = folder.rrc(&args).go().exits(0).lines();
        let lines = events.iter().filter_map(|event| event["line"].as_str());
        let said: String = lines.collect();
        assert!(
            said == format!("{before}{}", "é€".repeat(50_000)),
            "{before}"
        );
    }
}

#[test]
fn a_line_as_long_as_a_piece_is_a_line() {
    let steps = "- {id: a, type: bash, stream: true, command: \
                 'head -c 65536 /dev/zero | tr \"\\\\0\" x; echo; echo next; printf last'}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    let args = ["run", "a.yaml", "--output-format", "events"];
    let events = folder.rrc(&args).go().exits(0).lines();
    let mut said = String::new();
    for event in events.iter().filter(|event| event["line"].is_string()) {
        said += event["line"].as_str().expect("a line");
        said += "|";
    }
    // A long line comes in pieces.
    let said = said.replace("x|x", "xx");
    assert!(said.ends_with("x|next|last|"), "{}", &said[65_500..]);
}
