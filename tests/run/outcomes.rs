//! How steps and runs end: exit codes, `on_error`, retries, JSON.

use crate::binary::Folder;
use crate::{amplifier, report, run, step};
use std::time::{Duration, Instant};

#[test]
fn exit_codes_as_shells_count_them() {
    let commands = [
        ("zero", "exit 0", 0),
        ("one", "exit 1", 1),
        ("many", "exit 42", 42),
        ("most", "exit 255", 255),
        ("denied", "/etc/passwd", 126),
        ("missing", "no-such-program-anywhere", 127),
        ("killed", "kill -9 $$", 137),
        ("ended", "kill -TERM $$", 143),
        // What bash reads at once is read before the run; this only when it gets there.
        ("syntax", "eval if", 2),
        ("unset", "set -u; echo $nothing_has_this_name", 127),
        ("pipe", "set -o pipefail; false | true", 1),
    ];
    let steps: String = commands
        .iter()
        .map(|(id, command, _)| {
            format!("- {{id: {id}, type: bash, command: '{command}', on_error: continue, output_exit_code: {id}_code}}\n")
        })
        .collect();
    let all = report(&amplifier(&steps), &[], 0);
    assert_eq!(
        all["status"], "completed",
        "only failures that were continued"
    );
    for (id, _, code) in commands {
        let ended = step(&all, id);
        // bash itself decides what an unset variable is worth: 1 or 127.
        let expected = if id == "unset" {
            ended["exit_code"].as_i64().unwrap()
        } else {
            code
        };
        assert_eq!(ended["exit_code"], expected, "{id}: {ended}");
        assert_eq!(all["context"][format!("{id}_code")], expected, "{id}");
        assert_eq!(
            ended["status"],
            if code == 0 { "completed" } else { "failed" },
            "{id}"
        );
    }
}

#[test]
fn a_failure_stops_the_run_and_says_why() {
    let steps = "- {id: good, type: bash, command: 'true'}\n\
                 - {id: bad, type: bash, command: 'echo to out; echo to err >&2; exit 7'}\n\
                 - {id: never, type: bash, command: touch never}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    let all = run(&folder, &[], 1);
    assert_eq!(all["status"], "failed");
    assert_eq!(all["success"], false);
    assert_eq!(all["step_results"].as_array().unwrap().len(), 2);
    assert_eq!(step(&all, "bad")["exit_code"], 7);
    assert!(
        step(&all, "bad")["error"]
            .as_str()
            .unwrap()
            .contains("to err"),
        "{all}"
    );
    assert!(!folder.has("never"));
    folder
        .rrc(&["run", "a.yaml"])
        .go()
        .exits(1)
        .out_has("completed good")
        .out_has("failed bad")
        .out_has("to out")
        .out_has("to err")
        .out_has("code 7")
        .out_has("t: failed");
}

#[test]
fn skip_remaining_ends_the_run_as_partial() {
    let steps = "- {id: a, type: bash, command: 'exit 1', on_error: skip_remaining}\n\
                 - {id: b, type: bash, command: touch b}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    let all = run(&folder, &[], 0);
    assert_eq!(all["status"], "partial");
    assert_eq!(all["success"], true);
    assert_eq!(step(&all, "a")["status"], "failed");
    assert!(!folder.has("b"));
}

#[test]
fn a_step_is_tried_again_after_a_pause_that_grows() {
    let folder = Folder::new();
    let flaky = "echo x >> tries; test $(wc -l < tries) -ge 3 && echo done";
    let retry = "retry: {max_attempts: 5, initial_delay: 0.2, backoff: exponential, max_delay: 10}";
    let steps = format!("- {{id: a, type: bash, command: '{flaky}', output: o, {retry}}}\n");
    folder.write("a.yaml", amplifier(&steps));
    let begun = Instant::now();
    let all = run(&folder, &[], 0);
    assert!(
        begun.elapsed() >= Duration::from_millis(600),
        "0.2 s and 0.4 s: {:?}",
        begun.elapsed()
    );
    assert_eq!(step(&all, "a")["attempts"], 3);
    assert_eq!(step(&all, "a")["status"], "completed");
    assert_eq!(all["context"]["o"], "done\n");
    assert_eq!(folder.read("tries"), "x\nx\nx\n");
}

#[test]
fn tries_come_to_an_end_and_some_failures_are_not_tried_again() {
    let retry = "retry: {max_attempts: 3, initial_delay: 0.01}, on_error: continue";
    let steps = format!(
        "- {{id: always, type: bash, command: 'echo x >> always; exit 1', {retry}}}\n\
         - {{id: missing, type: bash, command: 'echo x >> missing; exit 127', {retry}}}\n\
         - {{id: denied, type: bash, command: 'echo x >> denied; exit 126', {retry}}}\n"
    );
    let folder = Folder::with("a.yaml", amplifier(&steps));
    let all = run(&folder, &[], 0);
    assert_eq!(folder.read("always"), "x\nx\nx\n");
    assert_eq!(step(&all, "always")["attempts"], 3);
    assert_eq!(folder.read("missing"), "x\n");
    assert_eq!(folder.read("denied"), "x\n");
    assert_eq!(step(&all, "missing")["attempts"], 1);
}

#[test]
fn json_is_found_in_what_a_step_says() {
    let steps = "- {id: whole, type: bash, command: 'echo \"{\\\"a\\\": [1, 2.5, null]}\"', parse_json: true, output: whole}\n\
                 - {id: among, type: bash, command: 'echo so here: [1, {\\\"b\\\": true}] and more', parse_json: true, output: among}\n\
                 - {id: use, type: bash, command: 'echo {{whole.a[1]}} {{among[1].b}}', condition: '{{whole.a}}[0] == 1', output: used}\n\
                 - {id: none, type: bash, command: echo nothing, parse_json: true, output: none, on_error: continue}\n\
                 - {id: empty, type: bash, command: 'true', parse_json: true, output: empty, on_error: continue}\n";
    let all = report(&amplifier(steps), &[], 0);
    assert_eq!(
        all["context"]["whole"],
        serde_json::json!({"a": [1, 2.5, null]})
    );
    assert_eq!(all["context"]["among"], serde_json::json!([1, {"b": true}]));
    assert_eq!(all["context"]["used"], "2.5 true\n");
    assert_eq!(step(&all, "none")["status"], "failed");
    assert_eq!(step(&all, "empty")["status"], "failed");
    assert_eq!(
        step(&all, "whole")["output"],
        serde_json::json!({"a": [1, 2.5, null]})
    );
}

#[test]
fn json_that_is_missing_degrades_the_other_dialect() {
    let recipe = "name: a\nsteps:\n\
                  - {id: a, command: echo nothing, parse_json: true, output: o}\n\
                  - {id: b, command: echo nothing, parse_json: true, parse_json_required: true, output: p}\n";
    let all = report(recipe, &[], 1);
    assert_eq!(step(&all, "a")["status"], "degraded");
    assert_eq!(all["context"]["o"], "nothing");
    assert_eq!(step(&all, "b")["status"], "failed");
}

#[test]
fn conditions_skip_and_failing_conditions_fail() {
    let steps = "- {id: a, type: bash, command: echo 3, output: n}\n\
                 - {id: w, type: bash, command: uname, output: word}\n\
                 - {id: b, type: bash, command: touch b, condition: '{{n}} > 5'}\n\
                 - {id: c, type: bash, command: 'true', condition: 'int({{n}}) == 3'}\n\
                 - {id: d, type: bash, command: 'true', condition: 'int({{word}}) == 3', on_error: continue}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    let all = run(&folder, &[], 0);
    assert_eq!(step(&all, "b")["status"], "skipped");
    assert_eq!(step(&all, "c")["status"], "completed");
    assert_eq!(step(&all, "d")["status"], "failed");
    assert!(!folder.has("b"));
}

#[test]
fn a_loop_collects_in_order_and_stops_where_it_says() {
    let recipe = format!(
        "context: {{list: [c, a, b], none: []}}\n{}",
        amplifier(
            "- {id: each, type: bash, foreach: '{{list}}', as: x, command: 'echo {{x}}', collect: all}\n\
             - {id: empty, type: bash, foreach: '{{none}}', command: 'false', collect: nothing}\n\
             - {id: some, type: bash, foreach: '{{list}}', command: 'test {{item}} != a', on_error: continue, collect: mixed}\n"
        )
    );
    let all = report(&recipe, &[], 0);
    assert_eq!(
        all["context"]["all"],
        serde_json::json!(["c\n", "a\n", "b\n"])
    );
    assert_eq!(all["context"]["nothing"], serde_json::json!([]));
    assert_eq!(all["context"]["mixed"], serde_json::json!(["", null, ""]));
    assert_eq!(
        step(&all, "each")["step_results"].as_array().unwrap().len(),
        3
    );
}

#[test]
fn the_report_has_the_shape_of_the_contract() {
    let all = report(
        &amplifier("- {id: a, type: bash, command: echo hi, output: o}\n"),
        &[],
        0,
    );
    for key in [
        "recipe_name",
        "dialect",
        "status",
        "success",
        "run_id",
        "step_results",
        "context",
        "duration_ms",
    ] {
        assert!(!all[key].is_null(), "{key} in {all}");
    }
    assert_eq!(all["recipe_name"], "t");
    assert_eq!(all["dialect"], "amplifier");
    assert_eq!(all["context"], serde_json::json!({"o": "hi\n"}));
    let one = all["step_results"][0].as_object().unwrap();
    let keys: Vec<&String> = one.keys().collect();
    let expected = [
        "step_id",
        "status",
        "output",
        "error",
        "exit_code",
        "attempts",
        "duration_ms",
        "stdout_truncated",
        "stderr_truncated",
        "step_results",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_run() {
    let steps: String = (0..50)
        .map(|n| format!("- {{id: s{n}, type: bash, command: 'echo x >> ran'}}\n"))
        .collect();
    let folder = Folder::with("a.yaml", amplifier(&steps));
    let said = folder
        .sh("\"$RRC\" run a.yaml | head -1")
        .go()
        .exits(0)
        .no_err();
    assert_eq!(said.out.lines().count(), 1);
    assert_eq!(folder.read("ran").lines().count(), 50);
}

#[test]
fn a_step_that_failed_is_named_with_the_steps_that_lead_to_it() {
    let folder = Folder::with(
        "a.yaml",
        amplifier(
            "- {id: one, type: recipe, recipe: child, on_error: continue}\n\
             - {id: two, type: recipe, foreach: '{{xs}}', recipe: child}\n",
        )
        .replace("steps:", "context: {xs: [1]}\nsteps:"),
    );
    folder.write(
        "child.yaml",
        amplifier("- {id: say, type: bash, command: exit 3}\n"),
    );
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(1);
    let said = said.out_has("\none/say: the command exited with code 3\n");
    said.out_has("\ntwo[0]/say: the command exited with code 3\n");
}

#[test]
fn a_failure_is_placed_where_it_began_and_nowhere_else() {
    let inner = "name: i\nsteps:\n- {id: shaky, command: exit 3, continue_on_error: true}\n\
                 - {id: make, command: exit 2}\n";
    let slow = "name: s\nsteps:\n- {id: shaky, command: exit 3, continue_on_error: true}\n\
                - {id: nap, command: sleep 20}\n";
    let steps = "- {id: pick, command: echo inner}\n\
                 - {id: call, recipe: inner, continue_on_error: true}\n\
                 - {id: late, recipe: '{{pick}}', continue_on_error: true}\n\
                 - {id: slow, recipe: slow, timeout: 0.2, continue_on_error: true}\n\
                 - {id: bad, command: exit 9}\n";
    let folder = Folder::with("a.yaml", format!("name: t\nsteps:\n{steps}"));
    folder.write("inner.yaml", inner);
    folder.write("slow.yaml", slow);
    let all = run(&folder, &[], 1);
    let error = |id: &str| step(&all, id)["error"].as_str().unwrap().to_string();
    assert_eq!(error("call"), "call/make: the command exited with code 2");
    assert_eq!(error("late"), "late/make: the command exited with code 2");
    // What was forgiven inside is not why it failed.
    assert!(error("slow").starts_with("it took longer"), "{all}");
    assert_eq!(error("bad"), "the command exited with code 9");
    assert_eq!(all["error"], "bad: the command exited with code 9");
}

#[test]
fn an_answer_to_a_question_that_nobody_asks_is_wrong_usage() {
    let folder = Folder::with(
        "a.yaml",
        "name: t\nversion: 1.0.0\ndescription: d\nstages:\n\
         - {name: build, approval: {required: true, prompt: ok}, steps: [{id: a, type: bash, command: touch ran}]}\n\
         - {name: ship, steps: [{id: b, type: bash, command: 'true'}]}\n",
    );
    for (args, help) in [
        (["--approve", "biuld"], "did you mean `build`?"),
        (["--deny", "ship"], "stages with an approval: build"),
    ] {
        let said = folder
            .rrc(&["run", "a.yaml", args[0], args[1]])
            .go()
            .exits(2);
        let said = said.err_has(&args.join(" ")).err_has(help);
        assert!(!said.err.contains("will pause"), "{}", said.err);
    }
    let both = ["run", "a.yaml", "--approve", "build", "--deny", "build"];
    let said = folder.rrc(&both).go().exits(2);
    said.err_has("--approve build --deny build: a stage has one answer");
    assert!(!folder.has("ran"));
    folder
        .rrc(&["run", "a.yaml", "--approve", "build"])
        .go()
        .exits(0);
}

#[test]
fn a_timeout_that_a_hole_gives_keeps_its_fraction_and_must_be_one() {
    let recipe = |seconds: &str| {
        format!(
            "name: t\nversion: 1.0.0\ndescription: d\nsteps:\n\
             - {{id: m, type: bash, command: printf %s {seconds}, output: t}}\n\
             - {{id: a, type: bash, command: sleep 1.5, timeout: '{{{{t}}}}'}}\n"
        )
    };
    let said = report(&recipe("0.3"), &[], 1);
    let error = said["error"].as_str().unwrap();
    assert!(error.contains("longer than allowed"), "{error}");
    for wrong in ["0", "-1"] {
        let said = report(&recipe(wrong), &[], 1);
        let error = said["error"].as_str().unwrap();
        assert!(
            error.contains("`timeout` must be a number of seconds above 0"),
            "{error}"
        );
    }
}

#[test]
fn a_loop_of_several_steps_gives_what_its_last_turn_gave() {
    let steps = "- id: a\n  foreach: '{{l}}'\n  output: o\n  steps:\n  \
                 - {id: q, type: bash, command: 'echo q{{item}}', output: x}\n";
    let recipe =
        amplifier(steps).replace("steps:\n- id: a", "context: {l: [1, 2]}\nsteps:\n- id: a");
    let said = report(&recipe, &[], 0);
    assert_eq!(said["context"]["o"], "q2\n");
    let steps = "- id: a\n  while_condition: '{{n}} < 2'\n  output: o\n  \
                 update_context: {n: '{{_loop_iteration}}'}\n  steps:\n  \
                 - {id: q, type: bash, command: 'echo q{{n}}', output: x}\n";
    let recipe = amplifier(steps).replace("steps:\n- id: a", "context: {n: 0}\nsteps:\n- id: a");
    let said = report(&recipe, &[], 0);
    assert_eq!(said["context"]["o"], "q1\n");
}

#[test]
fn a_list_may_be_as_long_as_a_value_says() {
    let recipe = "name: t\nversion: 1.0.0\ndescription: d\ncontext: {l: [1, 2], n: 2}\nsteps:\n\
                  - {id: m, type: bash, command: 'printf %s {{n}}', output: m}\n\
                  - {id: a, type: bash, foreach: '{{l}}', max_iterations: '{{m}}', command: 'true'}\n";
    report(recipe, &[], 0);
    let said = report(recipe, &["--set", "n=1"], 1);
    let error = said["error"].as_str().unwrap();
    assert!(
        error.contains("more items than `max_iterations`"),
        "{error}"
    );
}

#[test]
fn each_call_of_a_recipe_gives_what_it_set() {
    let folder = Folder::with(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: t\ncontext: {l: [1, 2, 3]}\nsteps:\n\
         - {id: a, foreach: '{{l}}', recipe: sub, context: {k: '{{item}}'}, collect: c}\n",
    );
    folder.write(
        "sub.yaml",
        "# rrc: dialect = amplihack\nname: sub\nsteps: [{id: x, command: 'echo {{k}}0'}]\n",
    );
    let said = run(&folder, &[], 0);
    assert_eq!(
        said["context"]["c"],
        serde_json::json!([{"x": 10}, {"x": 20}, {"x": 30}])
    );
}

#[test]
fn a_recipe_that_failed_does_not_give_what_a_step_in_it_wrote() {
    let folder = Folder::with(
        "a.yaml",
        "name: t\nversion: 1.0.0\ndescription: d\ncontext: {o: old}\nsteps:\n\
         - {id: c, type: recipe, recipe: bad, output: o, on_error: continue}\n",
    );
    folder.write(
        "bad.yaml",
        amplifier("- {id: f, type: bash, command: 'echo inner; exit 5'}\n"),
    );
    let said = run(&folder, &[], 0);
    assert_eq!(said["context"]["o"], "old");
}

#[test]
fn steps_of_a_parent_are_known_and_look_beside_it() {
    let folder = Folder::with(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: t\nextends: lib/base\n\
         steps: [{id: z, command: echo z, depends_on: [one]}]\n",
    );
    folder.write(
        "lib/base.yaml",
        "# rrc: dialect = amplihack\nname: base\nsteps: [{id: one, recipe: helper}]\n",
    );
    folder.write(
        "lib/helper.yaml",
        "# rrc: dialect = amplihack\nname: helper\nsteps: [{id: h, command: echo helped}]\n",
    );
    let said = run(&folder, &[], 0);
    assert_eq!(said["context"]["h"], "helped");
}

#[test]
fn what_was_no_json_is_shown() {
    let steps = "- {id: a, type: bash, command: 'echo plain words; echo why >&2', parse_json: true, max_output_size: 5}\n";
    let all = report(&amplifier(steps), &[], 1);
    let ended = step(&all, "a");
    assert_eq!(ended["exit_code"], 0);
    assert_eq!(ended["stdout_truncated"], true);
    let folder = Folder::with("main.yaml", amplifier(steps));
    folder
        .rrc(&["run", "main.yaml"])
        .go()
        .exits(1)
        .out_has("a: the text holds no JSON\n  stdout| plain\n  stderr| why\n");
}

#[test]
fn a_run_that_is_stopped_does_not_go_on_after_failures() {
    let steps = "- {id: first, type: bash, command: echo 1, output: one}\n\
                 - {id: slow, type: bash, command: sleep 20, on_error: continue, retry: {max_attempts: 3}}\n\
                 - {id: next, type: bash, command: echo next}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    let all = run(&folder, &["--timeout", "0.5"], 1);
    assert_eq!(
        all["error"],
        "the run took longer than allowed (limit 500ms)"
    );
    assert_eq!(all["context"]["one"], "1\n");
    let results = all["step_results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "what never ran is not there: {all}");
    let slow = step(&all, "slow");
    assert_eq!(slow["status"], "failed");
    assert_eq!(
        slow["error"],
        "the run took longer than allowed (limit 500ms)"
    );
    assert_eq!(slow["attempts"], 1, "nobody tries again");
}

#[test]
fn what_waits_for_its_turn_when_the_run_is_stopped_never_ran() {
    let steps = "- {id: a, command: sleep 20, parallel_group: all}\n\
                 - {id: b, command: touch b, parallel_group: all}\n\
                 - {id: c, recipe: inner, parallel_group: all}\n";
    let folder = Folder::with("a.yaml", format!("name: a\nsteps:\n{steps}"));
    folder.write(
        "inner.yaml",
        "name: inner\nsteps:\n- {id: d, command: touch d}\n",
    );
    let all = run(&folder, &["--timeout", "0.5", "--jobs", "1"], 1);
    let results = all["step_results"].as_array().unwrap();
    let ids: Vec<&str> = results
        .iter()
        .map(|step| step["step_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a", "c"], "{all}");
    assert_eq!(results[1]["step_results"].as_array().unwrap().len(), 0);
}

#[test]
fn a_variable_for_the_exit_code_is_a_number_however_a_step_failed() {
    let steps = "- {id: slow, type: bash, command: sleep 20, timeout: 0.2, on_error: continue, output_exit_code: slow_code}\n\
                 - {id: deaf, type: bash, command: 'trap \"exit 0\" TERM; sleep 20 & wait', timeout: 0.2, on_error: continue, output_exit_code: deaf_code}\n\
                 - {id: lost, type: bash, cwd: nowhere, command: pwd, retry: {max_attempts: 3}, on_error: continue, output_exit_code: lost_code}\n\
                 - {id: text, type: bash, command: echo no, parse_json: true, on_error: continue, output_exit_code: text_code}\n";
    let all = report(&amplifier(steps), &[], 0);
    for (id, code, shown) in [
        ("slow", 124, None),
        ("deaf", 124, None),
        ("lost", 126, None),
        ("text", 0, Some(0)),
    ] {
        assert_eq!(all["context"][format!("{id}_code")], code, "{id}");
        assert_eq!(step(&all, id)["exit_code"].as_i64(), shown, "{id}");
        assert_eq!(step(&all, id)["attempts"], 1, "{id}");
    }
}

#[test]
fn what_failed_says_its_limit_its_tries_and_its_directory() {
    let steps = "- {id: slow, type: bash, command: sleep 9, timeout: 0.2, on_error: continue}\n\
                 - {id: again, type: bash, command: exit 3, on_error: continue, retry: {max_attempts: 3, initial_delay: 0}}\n\
                 - {id: there, type: bash, command: pwd, cwd: no/where, on_error: continue}\n\
                 - {id: shell, type: bash, command: pwd, shell: ./no-shell, on_error: continue}\n\
                 - {id: torn, type: bash, command: pwd, shell: ./torn, on_error: continue}\n\
                 - {id: lost, type: template, template: ./lost, on_error: continue}\n";
    let folder = Folder::with("a.yaml", amplifier(steps));
    folder.write("torn", "\x7fELF");
    folder.write("lost", "#!/no/such/shell\n");
    folder.sh("chmod +x torn lost").go().exits(0);
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(0);
    for line in [
        "slow: the command took longer than allowed (limit 200ms)\n",
        "again: the command exited with code 3 (after 3 attempts)\n",
        "no/where: there is no such directory\n",
        "./no-shell: there is no such file\n",
        "./torn: no program for this machine, and no script\n",
        "/lost: what its first line says to run it with is not there\n",
    ] {
        assert!(said.out.contains(line), "{line}{}", said.out);
    }
}

#[test]
fn all_that_variables_should_hold_and_do_not_is_said_at_once() {
    let steps = "steps: [{id: a, command: touch ran}]\n";
    let folder = Folder::with(
        "base.yaml",
        format!("name: base\ncontext_validation: {{one: nonempty, two: nonempty}}\n{steps}"),
    );
    let said = folder.rrc(&["run", "base.yaml"]).go().exits(1);
    said.out_has("`one` must not be empty, `two` must not be empty");
    // A child adds to what its parent asks, and says otherwise by name; both come first.
    folder.write(
        "child.yaml",
        "name: child\nextends: base\ncontext: {two: no, three: none}\n\
         context_validation: {two: path, three: path}\nsteps: [{id: b, command: touch ran}]\n",
    );
    let said = folder.rrc(&["run", "child.yaml"]).go().exits(1);
    said.out_has(
        "`one` must not be empty, `two` must be a path that exists, `three` must be a path that exists",
    );
    assert!(!folder.has("ran"));
}

#[test]
fn who_goes_on_after_a_secret_was_made_is_told_what_to_do() {
    let steps = "- {id: login, type: bash, command: 'echo s3cret-made-here', output: token}\n\
                 - {id: use, type: bash, command: 'test -e ok && printf %s {{token}} {{key}} > seen'}\n";
    let folder = Folder::with(
        "a.yaml",
        format!(
            "secrets: [token, key]\ncontext: {{key: ''}}\n{}",
            amplifier(steps)
        ),
    );
    let key = ["--set", "key=given-by-me"];
    folder
        .rrc(&[&["run", "a.yaml"], &key[..]].concat())
        .go()
        .exits(1);
    folder.write("ok", "");
    let resume = ["run", "a.yaml", "--resume"];
    let said = folder.rrc(&resume).go().exits(2);
    said.err_has("`key` is secret and was not recorded\n")
        .err_has(
            "`token` is secret and was not recorded, and the step that sets it does not run again",
        )
        .err_has("--set token=…")
        .err_has("or start a new run");
    let both = [&resume[..], &key, &["--set", "token=by-hand"]].concat();
    folder.rrc(&both).go().exits(0);
    assert_eq!(folder.read("seen"), "by-hand\ngiven-by-me");
}

#[test]
fn a_denial_is_final_wherever_it_is_said() {
    let stages = "stages:\n- {name: gate, steps: [{id: x, type: bash, command: echo x >> log}], \
                  approval: {required: true, prompt: go?}}\n";
    let child = amplifier("").replace("steps:\n", stages);
    for how in [
        "on_error: continue",
        "retry: {max_attempts: 3, initial_delay: 0}",
    ] {
        let steps = format!(
            "- {{id: s, type: recipe, recipe: child.yaml, {how}}}\n\
             - {{id: q, type: bash, command: echo q >> log}}\n"
        );
        let folder = Folder::with("a.yaml", amplifier(&steps));
        folder.write("child.yaml", &child);
        let all = run(&folder, &["--deny", "gate"], 1);
        assert_eq!(all["status"], "failed", "{all:#}");
        assert_eq!(all["error"], "stage `gate` was denied");
        assert_eq!(all["step_results"][0]["attempts"], 1, "{how}");
        assert_eq!(folder.read("log"), "x\n", "{how}");
    }
}

#[test]
fn the_pause_of_a_loop_is_between_starts() {
    let steps = "- {id: i, type: bash, foreach: '{{xs}}', delay_between: 2000, \
                 command: 'date +%s%N >> log; sleep 2'}\n";
    let recipe = format!("context: {{xs: [1, 2]}}\n{}", amplifier(steps));
    let folder = Folder::with("a.yaml", recipe);
    run(&folder, &[], 0);
    let log = folder.read("log");
    let starts: Vec<u64> = log.lines().map(|line| line.parse().unwrap()).collect();
    let apart = (starts[1] - starts[0]) / 1_000_000;
    assert!(
        (2000..3500).contains(&apart),
        "{apart} ms, not 2000 and not 4000"
    );
}
