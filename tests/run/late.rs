//! Recipes whose names are known only when their step runs.

use crate::binary::{Folder, eventually};
use crate::{amplifier, run, step};
use rrc_vm::codec;
use rrc_vm::isa::{Instr, Word};
use rrc_vm::plan::{Const, HostKind};
use serde_json::json;
use std::time::Duration;

fn folder(steps: &str) -> Folder {
    let folder = Folder::with(
        "a.yaml",
        format!("context: {{names: [one, two]}}\n{}", amplifier(steps)),
    );
    for name in ["one", "two"] {
        let said = format!(
            "- {{id: say, type: bash, command: 'echo {name} >> log; echo {name} {{{{x}}}}', output: said}}\n"
        );
        folder.write(
            &format!("{name}.yaml"),
            format!("context: {{x: '', y: 7}}\n{}", amplifier(&said)),
        );
    }
    folder
}

const PICK: &str = "- {id: pick, type: bash, command: printf one, output: which}\n";

#[test]
fn a_recipe_is_found_when_its_name_is_known() {
    let folder = folder(&format!(
        "{PICK}- {{id: call, type: recipe, recipe: '{{{{which}}}}', context: {{x: '{{{{which}}}}!'}}, output: got}}\n\
         - {{id: each, type: recipe, foreach: '{{{{names}}}}', as: n, parallel: true, recipe: '{{{{n}}}}', context: {{x: '{{{{n}}}}'}}, collect: all}}\n"
    ));
    let all = run(&folder, &[], 0);
    assert_eq!(all["context"]["got"], json!({"y": 7, "said": "one one!\n"}));
    assert_eq!(
        all["context"]["all"][1],
        json!({"y": 7, "said": "two two\n"})
    );
    assert_eq!(step(&all, "call")["step_results"][0]["step_id"], "say");
    assert_eq!(
        step(&all, "each")["step_results"][1]["step_results"][0]["step_id"],
        "say"
    );
    // Shown again it is the same, without the files.
    std::fs::remove_file(folder.file("one.yaml")).unwrap();
    let id = all["run_id"].as_str().unwrap();
    let args = ["run", "--replay", id, "--output-format", "json"];
    let again = folder.rrc(&args).go().exits(0).json();
    assert_eq!(again["context"], all["context"]);
    assert_eq!(folder.read("log").lines().count(), 3);
}

#[test]
fn variables_are_shared_as_with_every_recipe() {
    let folder = Folder::new();
    folder.write(
        "sub.yaml",
        "name: sub\nsteps:\n- {id: inner, command: 'echo {{mine}} in'}\n",
    );
    folder.write(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: t\ncontext: {mine: m}\nsteps:\n\
         - {id: which, command: echo sub}\n- {id: call, recipe: '{{which}}'}\n\
         - {id: after, command: 'echo [{{inner}}]'}\n",
    );
    let all = run(&folder, &[], 0);
    assert_eq!(all["context"]["after"], "[m in]");
}

#[test]
fn a_default_that_a_called_recipe_changes_names_nothing_before() {
    let folder = Folder::new();
    for (name, set) in [
        ("pick", "which: last"),
        ("first", "got: first"),
        ("last", "got: last"),
    ] {
        let (set, value) = set.split_once(": ").unwrap();
        let text =
            format!("name: {name}\nsteps:\n- {{id: q, command: echo {value}, output: {set}}}\n");
        folder.write(&format!("{name}.yaml"), text);
    }
    let recipe = |default: &str, steps: &str| {
        format!(
            "# rrc: dialect = amplihack\nname: t\ncontext: {{which: {default}}}\nsteps:\n{steps}"
        )
    };
    let call = |id: &str| format!("- {{id: {id}, recipe: '{{{{which}}}}'}}\n");
    let picked = format!("- {{id: pick, recipe: pick}}\n{}", call("call"));
    folder.write("a.yaml", recipe("first", &picked));
    assert_eq!(run(&folder, &[], 0)["context"]["got"], "last");
    let given = run(&folder, &["--set", "which=first"], 0);
    assert_eq!(given["context"]["got"], "last");
    // One that changes its own name is not called by it again.
    folder.write(
        "a.yaml",
        recipe("pick", &[call("one"), call("two")].concat()),
    );
    assert_eq!(run(&folder, &[], 0)["context"]["got"], "last");
    // What nothing changes is found before anything runs, and so is that it is not there.
    let begun = format!("- {{id: begin, command: touch begun}}\n{}", call("call"));
    folder.write("a.yaml", recipe("none", &begun));
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(2).err;
    assert!(
        said.contains("no recipe `none`, which `which` names"),
        "{said}"
    );
    assert!(!folder.file("begun").exists());
}

#[test]
fn what_is_not_found_or_does_not_end_fails_its_step() {
    let steps = format!(
        "{PICK}- {{id: none, type: recipe, recipe: '{{{{which}}}}-more', on_error: continue}}\n\
         - {{id: bad, type: recipe, recipe: 'bad-{{{{which}}}}', on_error: continue}}\n\
         - {{id: slow, type: recipe, recipe: 'slow-{{{{which}}}}', timeout: 0.4, on_error: continue}}\n\
         - {{id: self, type: recipe, recipe: 'self-{{{{which}}}}', on_error: continue}}\n\
         - {{id: last, type: bash, command: echo last, output: last}}\n"
    );
    let folder = folder(&steps);
    folder.write(
        "bad-one.yaml",
        amplifier("- {id: x, type: bash, command: 'echo {{nothing}}'}\n"),
    );
    folder.write(
        "slow-one.yaml",
        amplifier("- {id: nap, type: bash, command: 'sleep 60; touch woke'}\n"),
    );
    folder.write(
        "self-one.yaml",
        amplifier("- {id: p, type: bash, command: printf one, output: w}\n- {id: again, type: recipe, recipe: 'self-{{w}}'}\n"),
    );
    let all = run(&folder, &[], 0);
    let error = |id: &str| step(&all, id)["error"].as_str().unwrap().to_string();
    assert_eq!(error("none"), "there is no recipe `one-more`");
    assert_eq!(error("bad"), "the recipe `bad-one` does not compile");
    assert_eq!(error("slow"), "it took longer than allowed (limit 400ms)");
    assert_eq!(step(&all, "slow")["step_results"][0]["status"], "failed");
    assert!(
        error("self").contains("deeper than the 5 allowed"),
        "{}",
        error("self")
    );
    assert_eq!(all["context"]["last"], "last\n");
    assert!(!folder.has("woke"));
}

#[test]
fn a_run_that_is_killed_in_such_a_recipe_goes_on_in_it() {
    let folder = folder(&format!(
        "{PICK}- {{id: call, type: recipe, recipe: '{{{{which}}}}', output: got}}\n"
    ));
    folder.write(
        "one.yaml",
        amplifier(
            "- {id: a, type: bash, command: 'echo a >> log'}\n\
             - {id: b, type: bash, command: 'echo b >> log; test -e go || sleep 60; echo done', output: b}\n",
        ),
    );
    let running = folder.rrc(&["run", "a.yaml"]).start();
    let begun = || folder.has("log") && folder.read("log").contains('b');
    assert!(eventually(Duration::from_secs(20), begun));
    running.signal("KILL");
    running.end();
    folder.write("go", "");
    folder.write("one.yaml", "name: changed");
    let args = ["run", "a.yaml", "--resume", "--output-format", "json"];
    let all = folder.rrc(&args).go().exits(0).json();
    assert_eq!(all["context"]["got"], json!({"b": "done\n"}));
    assert_eq!(folder.read("log"), "a\nb\nb\n");
}

/// A recipe of the other dialect that calls two others by names known only when it runs.
fn sharing(head: &str, more: &str) -> Folder {
    let folder = Folder::new();
    for name in ["one", "two"] {
        let inner = format!(
            "- {{id: in_{name}, command: 'echo {{{{mine}}}} {name}'}}\n\
             - {{id: changes, command: echo by {name}, output: of_{name}}}\n"
        );
        folder.write(
            &format!("{name}.yaml"),
            format!("name: {name}\nsteps:\n{inner}"),
        );
    }
    folder.write(
        "a.yaml",
        format!(
            "# rrc: dialect = amplihack\nname: t\n{head}context: {{mine: m, of_one: x, of_two: x}}\nsteps:\n\
             - {{id: which, command: echo one}}\n\
             - {{id: second, command: echo two}}\n\
             - {{id: first, recipe: '{{{{which}}}}'{more}}}\n\
             - {{id: other, recipe: '{{{{second}}}}'{more}}}\n\
             - {{id: after, command: 'echo {{{{in_one}}}} and {{{{in_two}}}}'}}\n"
        ),
    );
    folder
}

#[test]
fn variables_are_shared_in_a_group_and_in_a_graph() {
    for (head, more) in [("", ", parallel_group: g"), ("schedule: graph\n", "")] {
        let all = run(&sharing(head, more), &[], 0);
        let context = &all["context"];
        assert_eq!(context["after"], "m one and m two", "{head}{more}");
        assert_eq!(context["of_one"], "by one", "{head}{more}");
        assert_eq!(context["of_two"], "by two", "{head}{more}");
        assert_eq!(context["mine"], "m");
    }
}

#[test]
fn a_run_that_is_shown_again_by_its_file_finds_the_names_it_was_given() {
    let folder =
        folder("- {id: call, type: recipe, recipe: '{{which}}', context: {x: y}, output: got}\n");
    let recipe = folder
        .read("a.yaml")
        .replace("context: {", "context: {which: two, ");
    folder.write("a.yaml", recipe);
    let all = run(&folder, &["-s", "which=one"], 0);
    let id = all["run_id"].as_str().unwrap();
    let args = ["run", "a.yaml", "--replay", id, "--output-format", "json"];
    let again = folder.rrc(&args).go().exits(0).json();
    assert_eq!(again["context"], all["context"]);
    assert_eq!(again["context"]["got"]["said"], "one y\n");
}

#[test]
fn a_run_that_goes_on_tells_such_a_recipe_what_it_was_told() {
    let folder = folder(&format!(
        "{PICK}- {{id: call, type: recipe, recipe: 'kid-{{{{which}}}}'}}\n"
    ));
    let steps = "- {id: early, type: bash, command: 'echo {{session.started}} >> started'}\n\
                 - {id: tagged, type: bash, when_tags: [slow], command: touch tagged}\n\
                 - {id: late, type: bash, command: test -e ready}\n";
    folder.write("kid-one.yaml", amplifier(steps));
    run(&folder, &["--exclude-tags", "slow"], 1);
    folder.write("ready", "");
    let other = ["run", "a.yaml", "--resume", "--include-tags", "slow"];
    folder
        .rrc(&other)
        .go()
        .exits(2)
        .err_has("stays what it was");
    run(&folder, &["--resume"], 0);
    assert!(!folder.has("tagged"));
    assert_eq!(folder.read("started").lines().count(), 1);
}

#[test]
fn what_such_a_recipe_sets_is_its_output_every_time() {
    let folder = Folder::with(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: t\ncontext: {kids: [kid, kid], r: before}\nsteps:\n\
         - {id: each, foreach: '{{kids}}', as: k, recipe: '{{k}}', context: {p: 1}, collect: all}\n",
    );
    let kid = "name: kid\nsteps:\n- {id: a, command: echo 1, output: r, when_tags: [x]}\n\
               - {id: b, command: echo 2, output: p}\n";
    folder.write("kid.yaml", kid);
    let all = run(&folder, &[], 0);
    let context = &all["context"];
    assert_eq!(context["all"], json!([{"r": 1}, {"r": 1}]), "{all:#}");
    let names: Vec<&String> = context.as_object().unwrap().keys().collect();
    assert_eq!(names, ["kids", "r", "p", "all"]);
}

#[test]
fn what_a_recipe_gives_does_not_depend_on_when_its_name_is_known() {
    let folder = Folder::new();
    folder.write(
        "sub.yaml",
        "name: sub\ncontext: {own: 1}\nsteps:\n- {id: inner, command: echo in}\n\
         - {id: mine, command: echo changed}\n- {id: same, command: echo same}\n\
         - {id: told, command: echo told}\n",
    );
    folder.write(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: t\ncontext: {mine: m, other: o, same: same}\nsteps:\n\
         - {id: which, command: echo sub}\n\
         - {id: first, recipe: '{{which}}', context: {told: t}, output: first}\n\
         - {id: late, recipe: '{{which}}', context: {told: t}, output: late}\n\
         - {id: known, recipe: sub, context: {told: t}, output: known}\n",
    );
    let all = run(&folder, &[], 0);
    let given = json!({"inner": "in", "mine": "changed", "same": "same"});
    assert_eq!(all["context"]["known"], given);
    assert_eq!(all["context"]["late"], given);
    let given = json!({"own": 1, "inner": "in", "mine": "changed", "same": "same"});
    assert_eq!(all["context"]["first"], given);
}

#[test]
fn a_plan_may_say_any_depth() {
    let steps = format!("{PICK}- {{id: call, type: recipe, recipe: '{{{{which}}}}'}}\n");
    let folder = folder(&steps);
    folder.rrc(&["build", "a.yaml"]).go().exits(0);
    let mut plan = codec::decode(&folder.bytes("a.rrb")).unwrap();
    let kind = |host: u32| plan.calls[host as usize].kind;
    let calls = |word: &Word| match word.instr() {
        Instr::HostOr { call, .. } => kind(call.get()) == HostKind::Recipe,
        _ => false,
    };
    let at = plan.code.iter().position(calls).expect("a call");
    let constant = u32::try_from(plan.constants.len()).unwrap();
    plan.constants.push(Const::Int(i64::MAX));
    // The last argument.
    plan.code[at - 1] = Instr::Const { constant }.into();
    folder.write("a.rrb", codec::encode(&plan));
    let said = folder.rrc(&["run", "a.rrb"]).go().exits(1);
    assert!(said.out.contains("deeper than"), "{said:?}");
}

/// The limits of the first recipe hold for all of it, also for what is found on the way.
#[test]
fn steps_of_recipes_that_are_found_count_against_the_limit() {
    for (limit, code) in [(7, 1), (8, 0)] {
        let folder = Folder::new();
        folder.write(
            "two.yaml",
            "name: two\nsteps:\n- {id: x, command: 'true'}\n- {id: y, command: 'true'}\n",
        );
        folder.write(
            "a.yaml",
            format!(
                "name: a\nrecursion: {{max_total_steps: {limit}}}\ncontext: {{items: [1, 2, 3]}}\n\
                 steps:\n- {{id: n, command: echo two}}\n\
                 - {{id: l, foreach: '{{{{items}}}}', recipe: '{{{{n}}}}'}}\n"
            ),
        );
        let args = ["run", "a.yaml", "--dialect", "amplihack"];
        let said = folder.rrc(&args).go().exits(code);
        if code > 0 {
            said.out_has("more steps ran than the 7 allowed");
        }
    }
}

#[test]
fn a_recipe_that_was_kept_and_is_damaged_is_named() {
    let folder = folder(&format!(
        "{PICK}- {{id: call, type: recipe, recipe: '{{{{which}}}}'}}\n"
    ));
    let all = run(&folder, &[], 0);
    let damage = "for kept in .rrc/runs/*/recipe-*.rrb; do echo x > $kept; done";
    folder.sh(damage).go().exits(0);
    let id = all["run_id"].as_str().expect("a run has a name");
    let said = folder.rrc(&["run", "--replay", id]).go().exits(1);
    said.err_has(&format!("rrc: run {id}: .rrc/runs/{id}/recipe-"))
        .err_has(".rrb: not a plan file");
}
