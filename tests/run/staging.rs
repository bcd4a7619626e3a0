//! Staging what agents have changed.

use crate::agents::folder;
use crate::binary::Folder;
use crate::{run, step};
use serde_json::Value;

/// A repository, an agent that makes the file it is asked for, and a recipe with these steps.
fn staging(steps: &str) -> Folder {
    let folder = folder("echo new > \"$1\" && echo done", "./ask {prompt} {agent}");
    let head = "# rrc: dialect = amplihack\nname: t\nsteps:\n";
    folder.write("a.yaml", format!("{head}{steps}"));
    folder.sh("git init -q .").go().exits(0);
    folder
}

/// The files of agents that are staged, which they are not any more then.
#[track_caller]
fn staged(folder: &Folder) -> String {
    let said = folder.sh("git diff --cached --name-only; git rm -rq --cached --ignore-unmatch .");
    let said = said.go().exits(0);
    let names = said.out.lines().filter(|name| name.ends_with(".new"));
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn what_an_agent_changed_is_staged_unless_somebody_says_otherwise() {
    let folder = staging("- {id: a, agent: a, prompt: a.new}\n");
    let text = folder.read("a.yaml");
    let all = run(&folder, &[], 0);
    assert_eq!(all["context"]["a"], "done");
    assert_eq!(step(&all, "a")["warnings"], Value::Null);
    assert_eq!(staged(&folder), "a.new");
    run(&folder, &["--dry-run"], 0);
    assert_eq!(staged(&folder), "", "nothing runs");
    let id = all["run_id"].as_str().unwrap();
    folder.rrc(&["run", "--replay", id]).go().exits(0);
    assert_eq!(staged(&folder), "", "a replay starts nothing");
    run(&folder, &["--no-auto-stage"], 0);
    assert_eq!(staged(&folder), "");
    let for_other = text
        .replace("= amplihack", "= amplifier")
        .replace("name: t", "name: t\nversion: 1.0.0\ndescription: d");
    let no_recipe = text.replace("steps:", "auto_stage: false\nsteps:");
    let wanted = |text: &str| text.replace("a.new}", "a.new, auto_stage: true}");
    for (text, expected) in [
        (text.replace("a.new}", "a.new, auto_stage: false}"), ""),
        (wanted(&no_recipe), "a.new"),
        (no_recipe, ""),
        (wanted(&for_other), "a.new"),
        (
            for_other.replace("steps:", "auto_stage: true\nsteps:"),
            "a.new",
        ),
        (for_other, ""),
    ] {
        folder.write("a.yaml", &text);
        run(&folder, &[], 0);
        assert_eq!(staged(&folder), expected, "{text}");
    }
    // A plan says it as its recipe does.
    folder.write("a.yaml", &text);
    folder.rrc(&["build", "-q", "a.yaml"]).go().exits(0);
    folder.rrc(&["run", "a.rrb"]).go().exits(0);
    assert_eq!(staged(&folder), "a.new");
    folder
        .rrc(&["run", "a.rrb", "--no-auto-stage"])
        .go()
        .exits(0);
    assert_eq!(staged(&folder), "");
}

#[test]
fn what_a_failed_step_changed_is_not_staged() {
    let steps = "- {id: a, agent: a, prompt: a.new, parse_json: true, parse_json_required: true, continue_on_error: true}\n\
         - {id: b, agent: a, prompt: no/such/b.new, continue_on_error: true}\n";
    let folder = staging(steps);
    let all = run(&folder, &[], 0);
    assert_eq!(step(&all, "a")["status"], "failed");
    assert_eq!(step(&all, "b")["status"], "failed");
    assert_eq!(staged(&folder), "");
    let text = folder.read("a.yaml");
    folder.write("a.yaml", text.replace(", parse_json_required: true", ""));
    let all = run(&folder, &[], 0);
    assert_eq!(step(&all, "a")["status"], "degraded");
    assert_eq!(staged(&folder), "a.new");
}

#[test]
fn it_is_staged_where_the_step_runs_and_one_answer_after_the_other() {
    let folder = staging(
        "- {id: make, command: git init -q inner}\n\
         - {id: a, agent: a, prompt: a.new, working_dir: 'in{{rest}}'}\n",
    );
    let text = folder.read("a.yaml");
    folder.write(
        "a.yaml",
        text.replace("steps:", "context: {rest: ner}\nsteps:"),
    );
    run(&folder, &[], 0);
    let said = folder.sh("cd inner && git diff --cached --name-only").go();
    assert_eq!(said.out, "a.new\n");
    // Git refuses to do it twice at once.
    let steps = (0..12).map(|number| {
        format!("- {{id: s{number}, parallel_group: g, agent: a, prompt: {number}.new}}\n")
    });
    let folder = staging(&steps.collect::<String>());
    let all = run(&folder, &[], 0);
    assert!(!all.to_string().contains("not staged"), "{all}");
    assert_eq!(staged(&folder).split(' ').count(), 12);
}

#[test]
fn where_nothing_can_be_staged_nobody_hears_of_it() {
    let folder = staging("- {id: a, agent: a, prompt: a.new}\n");
    std::fs::remove_dir_all(folder.file(".git")).unwrap();
    let all = run(&folder, &[], 0);
    assert_eq!(step(&all, "a")["warnings"], Value::Null);
    folder.sh("git init -q .").go().exits(0);
    folder.write("bin/unrelated", "");
    let path = folder.file("bin").display().to_string();
    let args = ["run", "a.yaml", "--output-format", "json"];
    let said = folder.rrc(&args).env("PATH", &path).go().exits(0).json();
    assert_eq!(step(&said, "a")["warnings"], Value::Null);
    // But what went wrong is said, and harms nothing.
    folder.write(".git/index.lock", "");
    let all = run(&folder, &[], 0);
    assert_eq!(step(&all, "a")["status"], "completed");
    let warning = step(&all, "a")["warnings"][0].as_str().unwrap();
    assert!(warning.contains("the changes were not staged"), "{warning}");
}

#[test]
fn a_run_that_goes_on_stages_as_it_was_started() {
    let folder = staging(
        "- {id: a, agent: a, prompt: a.new}\n- {id: b, command: test -e ready}\n\
         - {id: c, agent: a, prompt: c.new}\n",
    );
    run(&folder, &["--no-auto-stage"], 1);
    folder.write("ready", "");
    folder.rrc(&["run", "a.yaml", "--resume"]).go().exits(0);
    assert_eq!(staged(&folder), "");
    std::fs::remove_file(folder.file("ready")).unwrap();
    run(&folder, &[], 1);
    assert_eq!(staged(&folder), "a.new c.new", "all that is there");
    std::fs::remove_file(folder.file("c.new")).unwrap();
    folder.write("ready", "");
    folder.rrc(&["run", "a.yaml", "--resume"]).go().exits(0);
    assert_eq!(staged(&folder), "a.new c.new");
}
