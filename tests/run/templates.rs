//! Templates through `rrc run`: what is printed, what is passed over, what ends what.

use crate::amplifier;
use crate::binary::{Folder, eventually};
use serde_json::json;
use std::time::{Duration, Instant};

fn template(text: &serde_json::Value) -> Folder {
    Folder::with("t.json", text.to_string())
}

#[test]
fn the_result_is_printed_byte_for_byte_and_nothing_else() {
    let folder = template(&json!(["printf 'a\\377\\n'", "cat"]));
    let said = folder.rrc(&["run", "t.json"]).go().exits(0);
    assert_eq!(said.out, "a\u{fffd}\n");
    assert_eq!(said.err, "");
    let folder = template(&json!({"output": "{dir}/x.ogg", "template": "printf hidden"}));
    let said = folder.rrc(&["run", "t.json", "-s", "dir=d"]).go().exits(0);
    assert_eq!(said.out, "d/x.ogg");
}

#[test]
fn a_command_that_writes_without_an_end_has_failed() {
    let folder = template(&json!({"failure": "root", "template": ["yes", "head -n 1"]}));
    let said = folder.rrc(&["run", "t.json"]).go().exits(1);
    assert!(said.err.contains("more than is kept"), "{}", said.err);
}

#[test]
fn what_is_passed_over_is_said() {
    let folder = template(&json!(["false", "printf after"]));
    let said = folder.rrc(&["run", "t.json"]).go().exits(0);
    assert_eq!(said.out, "after");
    assert!(
        said.err.contains("1 command failed and was passed over"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("template[0]: code 1: false"),
        "{}",
        said.err
    );
}

#[test]
fn what_is_passed_over_counts_where_that_is_asked_for() {
    let folder = template(&json!(["false", "printf after"]));
    let said = folder.rrc(&["run", "t.json", "--strict"]).go().exits(1);
    assert_eq!(said.out, "after");
    let folder = template(
        &json!([{"retry": 2, "recover": "touch ready", "template": "test -e ready"}, "true"]),
    );
    folder.rrc(&["run", "t.json", "--strict"]).go().exits(0);
    let steps = "- {id: a, type: bash, command: exit 3, on_error: continue}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    folder.rrc(&["run", "a.yaml"]).go().exits(0);
    folder.rrc(&["run", "a.yaml", "--strict"]).go().exits(1);
}

#[test]
fn a_group_that_takes_too_long_counts_even_if_none_of_its_commands_failed() {
    for (inner, blamed) in [
        (
            json!(["sleep 9", "printf x"]),
            "template[0].template[0]: code 1: sleep 9",
        ),
        (
            json!([{"delay": 9000, "template": "true"}]),
            "template[0]: code 1: it took longer than allowed (limit 200ms)",
        ),
    ] {
        let folder = template(&json!([{"timeout": 200, "template": inner}, "printf ok"]));
        let said = folder.rrc(&["run", "t.json", "--strict"]).go().exits(1);
        assert_eq!(said.out, "ok");
        said.err_has("1 command failed and was passed over")
            .err_has(blamed);
    }
    // Each turn of what repeats by itself.
    let folder = template(&json!({
        "repeat": 2,
        "template": {"timeout": 200, "template": ["sleep 9", "printf x"]}
    }));
    let said = folder.rrc(&["run", "t.json"]).go().exits(0);
    said.err_has("2 commands failed and were passed over")
        .err_has("template.template[0]#1: code 1: sleep 9");
}

#[test]
fn a_relative_program_is_sought_where_its_step_runs() {
    let steps = "- {id: a, type: template, cwd: sub, template: ./tool, output: said}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    folder.write("sub/tool", "#!/bin/sh\nprintf found\n");
    folder.sh("chmod +x sub/tool").go().exits(0);
    assert_eq!(crate::run(&folder, &[], 0)["context"]["said"], "found");
}

#[test]
fn a_value_that_a_template_step_cannot_take_is_found_before_anything_runs() {
    let steps = "- {id: first, type: bash, command: touch began}\n\
                 - {id: a, type: template, template: {args: ['n:int'], template: 'printf %s {n}'}}\n";
    let recipe = format!("context: {{n: 1}}\n{}", amplifier(steps));
    let folder = Folder::with("a.yaml", recipe);
    let said = folder.rrc(&["run", "a.yaml", "-s", "n=abc"]).go().exits(2);
    said.err_has("`n` must be an integer, not `abc`");
    assert!(!folder.has("began"));
    folder.rrc(&["run", "a.yaml", "-s", "n=2"]).go().exits(0);
}

#[test]
fn progress_says_when_commands_end_as_well() {
    let folder = template(&json!(["printf a", "cat"]));
    let said = folder.rrc(&["run", "t.json", "--progress"]).go().exits(0);
    assert_eq!(said.out, "a");
    said.err_has("started template[0]")
        .err_has("completed template[1]");
}

#[test]
fn the_code_of_the_command_is_passed_on_where_that_is_asked_for() {
    let folder = template(&json!("sh -c 'exit 7'"));
    folder.rrc(&["run", "t.json"]).go().exits(1);
    folder.rrc(&["run", "t.json", "-x"]).go().exits(7);
    let folder = template(&json!("true"));
    folder.rrc(&["run", "t.json", "-x"]).go().exits(0);
}

#[test]
fn a_value_that_is_missing_is_found_before_anything_runs() {
    let folder =
        template(&json!(["touch ran", {"retry": 2, "recover": "rm {old}", "template": "true"}]));
    let said = folder.rrc(&["run", "t.json"]).go().exits(2);
    assert!(said.err.contains("`old` is not set"), "{}", said.err);
    assert!(!folder.path().join("ran").exists());
    assert!(
        !folder.path().join(".rrc").exists(),
        "nothing ran, and nothing is recorded"
    );
}

#[test]
fn a_deadline_ends_a_group_and_what_is_left_does_not_start() {
    let folder = template(&json!([
        {"timeout": 300, "template": ["sleep 20", "touch left"]},
        "printf after"
    ]));
    let before = Instant::now();
    let said = folder
        .rrc(&["run", "t.json", "--output-format", "json"])
        .go()
        .exits(0);
    assert!(before.elapsed() < Duration::from_secs(10));
    let report = said.json();
    assert_eq!(report["stdout"], "after");
    assert_eq!(report["ran"][0]["timed_out"], true);
    assert!(!folder.path().join("left").exists());
}

#[test]
fn a_group_that_ran_out_of_time_tells_of_its_branches() {
    let nodes = json!([{"label": "quick", "template": "true"}, "sleep 20", "false"]);
    let turns = json!({"repeat": 2, "parallel": true, "template": "sh -c 'sleep {_(index*20)}'"});
    let quick = ("quick", "done", 0);
    let (cut, failed) = (("branch 2", "timeout", 1), ("branch 3", "failed", 1));
    let cases = [
        (
            json!({"parallel": true, "template": nodes}),
            vec![quick, cut, failed],
        ),
        (
            json!({"parallel": true, "template": nodes, "retry": 2}),
            vec![quick, cut, failed],
        ),
        (turns, vec![("branch 1", "done", 0), cut]),
        // The time that is over may be that of what stands around it.
        (
            json!({"template": ["true", {"parallel": true, "template": nodes}]}),
            vec![quick, cut, failed],
        ),
        (
            json!({"template": {"parallel": true, "template": nodes}}),
            vec![quick, cut, failed],
        ),
        (
            json!({"parallel": true, "template": ["sleep 20", {"parallel": true, "template": nodes}]}),
            vec![quick, cut, failed, ("branch 1", "timeout", 1), cut],
        ),
    ];
    // Time enough for what is quick on a machine that has much to do, and all at once, as all wait for it.
    let told = |mut group: serde_json::Value, expected: Vec<(&str, &str, i32)>| {
        group["timeout"] = json!(2000);
        let folder = template(&json!([group, "printf after"]));
        let said = folder.rrc(&["run", "t.json", "--output-format", "json"]);
        let report = said.go().exits(0).json();
        let branches: Vec<serde_json::Value> = expected
            .iter()
            .map(|(label, status, code)| json!({"label": label, "status": status, "code": code}))
            .collect();
        assert_eq!(report["branches"], json!(branches), "{report:#}");
        assert_eq!(report["coverage"]["done"], 1);
    };
    std::thread::scope(|scope| {
        for (group, expected) in cases {
            scope.spawn(|| told(group, expected));
        }
    });
}

#[test]
fn a_plan_of_a_template_runs_with_other_values_each_time() {
    let folder = template(
        &json!({"repeat": "{xs.length}", "template": "sh -c 'cat; printf %s, \"$1\"' _ {xs[index]}"}),
    );
    folder.rrc(&["build", "-q", "t.json"]).go().exits(0);
    for (given, out) in [("xs=[1,2]", "1,2,"), ("xs=[\"a b\"]", "a b,")] {
        let said = folder.rrc(&["run", "t.rrb", "-s", given]).go().exits(0);
        assert_eq!(said.out, out);
    }
    let said = folder.rrc(&["run", "t.rrb", "-s", "xs=[]"]).go().exits(2);
    assert!(
        said.err.contains("`repeat` must be a whole number from 1"),
        "{}",
        said.err
    );
}

#[test]
fn a_template_run_can_be_shown_again() {
    let folder = template(&json!(["printf '\\377'", "wc -c", "tr -d ' '"]));
    let first = folder
        .rrc(&["run", "t.json", "--output-format", "json"])
        .go()
        .exits(0)
        .json();
    let id = first["run_id"].as_str().unwrap();
    let again = folder
        .rrc(&["run", "--replay", id, "--output-format", "json"])
        .go()
        .exits(0)
        .json();
    assert_eq!(first["stdout"], "1\n");
    for field in ["stdout", "ran", "failures", "status"] {
        assert_eq!(again[field], first[field], "{field}");
    }
}

#[test]
fn a_dry_run_prints_what_would_run() {
    let folder = template(&json!(["touch {a}", {"when": false, "template": "no"}]));
    let said = folder
        .rrc(&["run", "--dry-run", "t.json", "-s", "a=x"])
        .go()
        .exits(0);
    assert_eq!(
        said.out,
        "{\"argv\":[\"touch\",\"x\"],\"path\":\"template[0]\"}\n"
    );
    assert!(!folder.path().join("x").exists());
}

#[test]
fn templates_of_a_directory_are_checked_and_other_json_is_not() {
    let folder = template(&json!({"tmeout": 5, "template": "true"}));
    folder.write("package.json", "{\"name\": \"x\", \"template\": 3}");
    folder.write("data.json", "[1, 2]");
    let said = folder
        .rrc(&["check", "--format", "concise", "."])
        .go()
        .exits(1);
    assert!(said.out.contains("t.json:1:"), "{}", said.out);
    assert_eq!(said.out.matches("RRC").count(), 1, "{}", said.out);
}

#[test]
fn a_step_may_be_a_template_in_a_file() {
    let recipe = amplifier(
        "- {id: a, type: template, template: up.json, output: shout, timeout: 5}\n\
         - {id: b, type: bash, command: 'printf %s {{shout}}', output: same}\n",
    );
    let recipe = recipe.replace("steps:", "context: {word: 'it''s {x}'}\nsteps:");
    let folder = Folder::with("a.yaml", recipe);
    folder.write(
        "up.json",
        json!(["printf %s {word}", "tr a-z A-Z"]).to_string(),
    );
    let report = crate::run(&folder, &[], 0);
    assert_eq!(report["context"]["shout"], "IT'S {X}");
    assert_eq!(report["context"]["same"], "IT'S {X}");
    folder.write("up.json", json!("printf {wrod}").to_string());
    let said = folder
        .rrc(&["check", "--format", "concise", "a.yaml"])
        .go()
        .exits(1);
    assert!(said.out.contains("nothing defines `wrod`"), "{}", said.out);
}

#[test]
fn a_step_that_is_a_template_fails_retries_and_times_out_like_any_other() {
    let steps = "- {id: a, type: template, template: 'sh -c \"exit 4\"', on_error: continue, output_exit_code: code}\n\
                 - {id: b, type: template, template: 'sleep 20', timeout: 0.3, on_error: continue}\n";
    let report = crate::report(&amplifier(steps), &[], 0);
    assert_eq!(report["context"]["code"], 4);
    assert_eq!(crate::step(&report, "a")["status"], "failed");
    assert_eq!(crate::step(&report, "b")["status"], "failed");
}

#[test]
fn the_command_of_an_agent_is_a_template() {
    let recipe = amplifier(
        "- {id: a, type: agent, agent: x, prompt: 'it''s {model} \"two\" words', output: said}\n",
    );
    let folder = Folder::with("a.yaml", recipe);
    folder.write(
        "say.sh",
        "for word in \"$@\"; do printf '[%s]' \"$word\"; done",
    );
    folder.write(
        "rrc.toml",
        "[agent]\ncommand = \"sh say.sh -p {prompt} --model={model} {model} 'x y' {mode?--mode:--plain} {lang=en}\"\n",
    );
    let report = crate::run(&folder, &[], 0);
    let said = "[-p][it's {model} \"two\" words][x y][--plain][en]";
    assert_eq!(report["context"]["said"], said);
    folder.write(
        "rrc.toml",
        "[agent]\ncommand = \"sh say.sh {prompt=a b}\"\n",
    );
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(2);
    assert!(said.err.contains("RRC0317"), "{}", said.err);
}

#[test]
fn a_step_says_where_its_commands_run_and_what_they_find_there() {
    let steps = "- {id: a, type: template, cwd: '{{dir}}', env: {WHO: '{{who}}!', FIX: f}, output: a,\n   \
                 template: {parallel: true, template: [pwd, 'printenv WHO FIX', {timeout: 9000, template: [pwd, cat]}]}}\n\
                 - {id: b, type: template, cwd: sub, env: {WHO: w}, template: t.json, output: b}\n";
    let recipe = format!("context: {{dir: sub, who: ada}}\n{}", amplifier(steps));
    let folder = Folder::with("a.yaml", recipe);
    folder.write("t.json", "[\"printenv WHO\", \"sh -c 'cat; pwd'\"]");
    folder.write("sub/x", "");
    let all = crate::run(&folder, &[], 0);
    let sub = folder.path().join("sub").canonicalize().unwrap();
    let sub = sub.to_string_lossy();
    let joined = all["context"]["a"].as_str().unwrap();
    assert_eq!(joined.matches(&format!("{sub}\n")).count(), 2, "{joined}");
    assert!(joined.contains("ada!\nf\n"), "{joined}");
    assert_eq!(all["context"]["b"], format!("w\n{sub}\n"));
}

#[test]
fn a_directory_or_value_that_is_not_there_fails_the_step() {
    let steps = "- {id: a, type: template, cwd: nowhere, template: pwd, on_error: continue}\n\
                 - {id: b, type: template, template: 'printf {x=none}', output: b}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    let all = crate::run(&folder, &[], 0);
    assert_eq!(crate::step(&all, "a")["status"], "failed");
    assert_eq!(all["context"]["b"], "none");
}

#[test]
fn a_command_of_a_step_that_must_run_once_stops_the_resume() {
    let steps =
        "- {id: a, type: template, once: true, template: [\"sh -c 'echo a >> log; sleep 60'\"]}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    let running = folder.rrc(&["run", "a.yaml"]).start();
    assert!(eventually(Duration::from_secs(20), || folder.has("log")));
    running.signal("KILL");
    running.end();
    let said = folder.rrc(&["run", "a.yaml", "--resume"]).go().exits(1);
    said.err_has("is marked `once`");
    assert_eq!(folder.read("log"), "a\n");
}

#[test]
fn what_a_template_asks_for_is_read() {
    let steps = "- {id: slow, type: bash, command: 'sleep 0.3; printf s', output: s}\n\
                 - {id: t, type: template, template: 'printf {s=none}', output: t}\n";
    let graph = format!("schedule: graph\n{}", amplifier(steps));
    let folder = Folder::with("a.yaml", &graph);
    assert_eq!(crate::run(&folder, &[], 0)["context"]["t"], "s");
    let args = ["check", "-v", "--format", "concise", "a.yaml"];
    let said = folder.rrc(&args).go().exits(0);
    assert!(!said.out.contains("`s`"), "{}", said.out);
}

#[test]
fn a_value_that_nothing_reads_is_said() {
    let folder = template(&json!({"args": ["name"], "template": "printf {name} {lang=en}"}));
    folder.write("v.json", "{\"name\": \"n\", \"other\": 1}");
    let said = |args: &[&str]| folder.rrc(args).go().exits(0).err;
    let near = "rrc: nothing in the template reads `lnag`; did you mean `lang`?\n";
    for command in ["run", "expand"] {
        let args = [command, "t.json", "-s", "name=a", "-s", "lnag=de"];
        assert_eq!(said(&args), near, "{command}");
        let args = [command, "t.json", "--vars", "v.json", "-s", "mine.x=1"];
        let far = "rrc: nothing in the template reads `mine`\n";
        assert_eq!(said(&args), far, "{command}");
    }
    folder.rrc(&["build", "-q", "t.json"]).go().exits(0);
    let args = ["run", "t.rrb", "-s", "name=a", "-s", "lnag=de"];
    assert_eq!(said(&args), near);
    let args = ["run", "t.json", "-s", "nmae=a"];
    let said = folder.rrc(&args).go().exits(2).err_has("`name` is not set");
    said.err_has("did you mean `name`?");
}

#[test]
fn recovering_does_not_fail_because_of_what_failed_before() {
    let folder = template(&json!({
        "retry": 2,
        "recover": {"parallel": true, "template": [{"template": [{"when": "nobody", "template": "false"}]}]},
        "parallel": true,
        "failure": "root",
        // The other branch has ended long before this one fails, and the second try finds the file.
        "template": ["bash try.sh", "true"]
    }));
    let script = "test -e ready && exit 0\nsleep 0.5\ntouch ready\nexit 1\n";
    folder.write("try.sh", script);
    let args = ["run", "t.json", "--output-format", "json"];
    let all = folder.rrc(&args).go().exits(0).json();
    assert_eq!(all["ran"].as_array().map(Vec::len), Some(4), "{all}");
}

#[test]
fn what_a_recovery_says_of_itself_counts() {
    let failing = r#"{"failure": "continue", "template": "sh -c 'exit 8'"}"#;
    let soft = [
        format!(r#"["true", {failing}, "touch ready"]"#),
        format!(r#"{{"template": ["true", {failing}, "touch ready"]}}"#),
        format!(r#"["true", {{"template": [{failing}, "touch ready"]}}]"#),
        format!(r#"{{"repeat": 2, "template": [{failing}, "touch ready"]}}"#),
        format!(r#"[{{"parallel": true, "template": [{failing}, "touch ready"]}}]"#),
    ];
    let hard = [
        r#"["true", "sh -c 'exit 8'", "touch ready"]"#.to_string(),
        r#"{"template": ["true", {"template": ["sh -c 'exit 8'"]}, "touch ready"]}"#.to_string(),
        r#"[{"parallel": true, "template": ["sh -c 'exit 8'", "true"]}, "touch ready"]"#.to_string(),
        r#"{"repeat": 2, "template": ["sh -c 'exit 8'", "touch ready"]}"#.to_string(),
        r#"{"failure": "continue", "template": [{"failure": "root", "template": "sh -c 'exit 8'"}]}"#.to_string(),
    ];
    for (recovers, code, recover) in [(true, 0, &soft), (false, 8, &hard)]
        .into_iter()
        .flat_map(|(recovers, code, all)| all.iter().map(move |one| (recovers, code, one)))
    {
        let text = format!(
            r#"[{{"retry": 2, "recover": {recover}, "template": "test -f ready"}}, "printf after"]"#
        );
        let folder = Folder::with("t.json", &text);
        let said = folder
            .rrc(&["run", "t.json", "--output-format", "json"])
            .go();
        let said = said.json();
        assert_eq!(said["code"], code, "{text}\n{said:#}");
        let after = if recovers { "after" } else { "" };
        assert_eq!(said["stdout"], after, "{text}\n{said:#}");
    }
    // A group that says nothing fails as a whole where its time is over.
    let text = r#"[{"retry": 2, "recover": {"timeout": 200, "template": ["sleep 5"]}, "template": "false"}, "printf after"]"#;
    let folder = Folder::with("t.json", text);
    let said = folder.rrc(&["run", "t.json"]).go().exits(1);
    assert!(!said.out.contains("after"), "{said:?}");
}

/// Two steps that run at once have commands of the same names, so each path says in which it is.
#[test]
fn the_path_of_a_command_begins_with_its_step() {
    let group = |id: &str| {
        format!(
            "- {{id: {id}, parallel_group: g, type: template, template: [\"true\", {{template: [\"true\"], parallel: true}}]}}\n"
        )
    };
    let ids = ["t", "te", "template", "u"];
    let recipe = amplifier(&ids.map(group).concat());
    let recipe = format!("# rrc: dialect = amplifier\n{recipe}");
    let folder = Folder::with("a.yaml", recipe);
    let args = ["run", "a.yaml", "--output-format", "events"];
    let said = folder.rrc(&args).go().exits(0).out;
    for id in ids {
        for inner in [
            "",
            "/template[0]",
            "/template[1]",
            "/template[1].template[0]",
        ] {
            let path = format!("\"path\":\"{id}{inner}\"");
            assert!(said.contains(&path), "no {path} in {said}");
        }
    }
    assert!(!said.contains("\"path\":\"template["), "{said}");
}

/// No shell says 127 of a command of a template: that there is no such program is final all the same.
#[test]
fn a_template_whose_program_is_missing_is_not_tried_again() {
    let step = "- {id: a, type: template, template: no-such-program-anywhere, retry: {max_attempts: 3, initial_delay: 0}}\n";
    let all = crate::report(&amplifier(step), &[], 1);
    assert_eq!(crate::step(&all, "a")["attempts"], 1, "{all}");
}
