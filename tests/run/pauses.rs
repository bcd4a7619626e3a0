//! Steps that go on while their run waits for an answer.

use crate::binary::Folder;
use crate::{run, step};

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
