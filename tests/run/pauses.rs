//! Steps that go on while their run waits for an answer.

use crate::binary::Folder;
use crate::{amplifier, run, step};
use serde_json::json;

#[test]
fn a_step_whose_recipe_waits_is_paused_and_has_not_failed() {
    let folder = Folder::new();
    let head = "version: 1.0.0\ndescription: d\n";
    folder.write(
        "sub.yaml",
        format!(
            "name: sub\n{head}stages:\n- name: p\n  steps: [{{id: x, type: bash, command: 'true'}}]\n\
             \x20 approval: {{required: true, prompt: go on?}}\n\
             - name: q\n  steps: [{{id: y, type: bash, command: 'true'}}]\n"
        ),
    );
    folder.write(
        "a.yaml",
        format!("name: a\n{head}steps:\n- {{id: call, type: recipe, recipe: sub.yaml}}\n"),
    );
    let all = run(&folder, &["--audit-dir", "audit"], 4);
    assert_eq!(all["status"], "paused");
    let call = step(&all, "call");
    assert_eq!(call["status"], "paused", "{all}");
    assert!(call["error"].is_null(), "{all}");
    assert_eq!(step(call, "x")["status"], "completed");
    let audit = std::fs::read_dir(folder.file("audit")).unwrap();
    let lines: String = audit
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    assert!(lines.contains("\"status\":\"paused\""), "{lines}");
    assert!(
        !lines.contains("cancelled") && !lines.contains("failed"),
        "{lines}"
    );
    // Shown again it is the same.
    let id = all["run_id"].as_str().unwrap();
    let args = ["run", "--replay", id, "--output-format", "events"];
    let events = folder.rrc(&args).go().exits(4);
    assert!(events.out.contains("step:recipe:pause"), "{events:?}");
    assert!(!events.out.contains("step:recipe:error"), "{events:?}");
    let args = [
        "run",
        "--resume",
        id,
        "--approve",
        "p",
        "--output-format",
        "json",
    ];
    let all = folder.rrc(&args).go().exits(0).json();
    assert_eq!(step(&all, "call")["status"], "completed");
}

const GATE: &str = "name: gate\nversion: 1.0.0\ndescription: d\ncontext: {a: ''}\nstages:\n\
    - name: one\n  steps: [{id: x, type: bash, command: \"echo '{}'\", parse_json: true, output: j}]\n\
    \x20 approval: {required: true, prompt: 'go {{a}}?'}\n\
    - name: two\n  steps: [{id: y, type: bash, command: 'true'}]\n";

#[test]
fn who_is_to_answer_sees_all_that_waits() {
    let folder = Folder::with("gate.yaml", GATE.replace(", output: j", ""));
    let call = |id: &str| {
        format!(
            "- {{id: {id}, type: recipe, recipe: gate, parallel_group: g, context: {{a: {id}}}}}\n"
        )
    };
    folder.write("a.yaml", amplifier(&(call("c") + &call("d"))));
    let all = run(&folder, &[], 4);
    // Which of the two comes first, nobody knows.
    let mut lines: Vec<&str> = all["error"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "waiting for the approval of stage `one` in `c`: go c?",
            "waiting for the approval of stage `one` in `d`: go d?"
        ]
    );
    let id = all["run_id"].as_str().unwrap();
    let questions = |args: &[&str]| {
        let args = [&["run"], args, &["--output-format", "events"]].concat();
        let said = folder.rrc(&args).go().exits(4);
        let asked = said.lines().into_iter();
        let asked = asked.filter(|event| event["event"] == "approval:requested");
        let mut asked: Vec<_> = asked
            .map(|event| json!([event["step_id"], event["path"], event["prompt"]]))
            .collect();
        asked.sort_unstable_by_key(ToString::to_string);
        asked
    };
    let both = [
        json!(["one", "c/one", "go c?"]),
        json!(["one", "d/one", "go d?"]),
    ];
    assert_eq!(questions(&["--replay", id]), both);
    assert_eq!(questions(&["--resume", id]), both);
    assert_eq!(questions(&["a.yaml"]), both);
    let args = ["run", "--resume", id, "--approve", "one"];
    folder.rrc(&args).go().exits(0);
    // What is answered when it is started needs no answer later.
    folder.write("other.yaml", GATE.replace("name: one", "name: uno"));
    let other = "- {id: d, type: recipe, recipe: other, parallel_group: g, context: {a: d}}\n";
    folder.write("b.yaml", amplifier(&(call("c") + other)));
    let args = ["run", "b.yaml", "--approve", "uno"];
    let said = folder.rrc(&args).go().exits(4);
    said.err_has("--approve one`, or `--deny one`");
    let args = ["run", "b.yaml", "--resume", "--approve", "one"];
    folder.rrc(&args).go().exits(0).out_has("completed d/y");
}

#[test]
fn a_question_that_cannot_be_put_names_its_stage() {
    let gate = GATE.replace("{{a}}", "{{j.version}}");
    let folder = Folder::with("gate.yaml", &gate);
    folder.write(
        "a.yaml",
        amplifier("- {id: c, type: recipe, recipe: gate}\n"),
    );
    let why = "`j.version`: an object has no field `version`";
    let alone = folder.rrc(&["run", "gate.yaml"]).go().exits(1);
    alone.out_has(&format!("\nthe approval of stage `one`: {why}\n"));
    let called = folder.rrc(&["run", "a.yaml"]).go().exits(1);
    called.out_has(&format!("\nc: the approval of stage `c/one`: {why}\n"));
}
