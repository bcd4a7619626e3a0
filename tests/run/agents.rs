//! Agents: how they are found and asked, at which pace, and what follows an answer.

use crate::binary::Folder;
use crate::{amplifier, run, step};
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

/// A folder with a script that asks an agent, and a configuration that names it.
pub fn folder(script: &str, command: &str) -> Folder {
    let folder = Folder::new();
    program(&folder, "ask", script);
    folder.write("rrc.toml", format!("[agent]\ncommand = \"{command}\"\n"));
    folder
}

fn program(folder: &Folder, name: &str, script: &str) {
    folder.write(name, format!("#!/bin/bash\n{script}\n"));
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.file(name), mode).unwrap();
}

#[test]
fn an_agent_is_not_told_that_rrc_was_started_by_one() {
    let folder = folder("printf '%s' \"${CLAUDECODE-none}\"", "./ask {prompt}");
    let steps = "- {id: a, agent: x, prompt: go, output: a}\n";
    folder.write("a.yaml", amplifier(steps));
    let rrc = folder.rrc(&["run", "a.yaml", "--output-format", "json"]);
    let said = rrc.env("CLAUDECODE", "1").go().exits(0);
    assert_eq!(said.json()["context"]["a"], "none");
}

#[test]
fn an_agent_is_told_who_it_is() {
    let folder = folder(
        "printf '%s|' \"$@\"",
        "./ask {prompt} --system {system_prompt} --model {model} --as {agent} --in {step_id}",
    );
    folder.write(
        ".claude/agents/team/core/builder.md",
        "---\nname: x\n---\nYou build.\n",
    );
    folder.write("more/plain.md", "You are plain.");
    folder.write(
        "rrc.toml",
        format!("agent-path = [\"more\"]\n{}", folder.read("rrc.toml")),
    );
    folder.write(
        "a.yaml",
        amplifier(
            "- {id: a, agent: 'team:builder', prompt: go, mode: plan, output: a}\n\
             - {id: b, agent: plain, prompt: go, provider_preferences: [{provider: p, model: m}], output: b}\n\
             - {id: c, agent: '../../etc/passwd', prompt: go, output: c}\n",
        ),
    );
    let all = run(&folder, &[], 0);
    let context = &all["context"];
    assert_eq!(
        context["a"],
        "MODE: plan\n\ngo|--system|You build.|--as|team:builder|--in|a|"
    );
    assert_eq!(
        context["b"],
        "go|--system|You are plain.|--model|m|--as|plain|--in|b|"
    );
    assert_eq!(context["c"], "go|--as|../../etc/passwd|--in|c|");
}

#[test]
fn an_agent_that_nothing_describes_is_asked_with_a_warning() {
    let folder = folder("printf %s \"$1\"", "./ask {prompt}");
    folder.write(
        "a.yaml",
        amplifier("- {id: a, agent: nobody, prompt: go, output: a}\n"),
    );
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(0);
    assert!(
        said.out.contains("nothing describes the agent `nobody`"),
        "{}",
        said.out
    );
    // However often it is asked.
    let list = "context: {list: [1, 2, 3]}\nsteps:";
    let steps = "- {id: a, agent: nobody, prompt: go, foreach: '{{list}}', parallel: true}\n\
                 - {id: b, agent: nobody, prompt: go}\n- {id: c, agent: no-one, prompt: go}\n";
    folder.write("a.yaml", amplifier(steps).replace("steps:", list));
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(0);
    assert_eq!(
        said.out.matches("nothing describes").count(),
        2,
        "{}",
        said.out
    );
    // Or in how many lives.
    let once = "- {id: a, agent: nobody, prompt: go}\n- {id: gate, type: bash, command: test -e gate}\n\
                - {id: b, agent: nobody, prompt: go}\n";
    folder.write("lives.yaml", amplifier(once));
    let said = folder.rrc(&["run", "lives.yaml"]).go().exits(1);
    assert!(said.out.contains("nothing describes"), "{}", said.out);
    folder.write("gate", "");
    let json = ["--output-format", "json"];
    let again = [&["run", "lives.yaml", "--resume"][..], &json].concat();
    let said = folder.rrc(&again).go().exits(0);
    assert_eq!(
        said.out.matches("nothing describes").count(),
        1,
        "{}",
        said.out
    );
    // A file that is there and not read is another matter.
    folder.write(".claude/agents/nobody.md", "x".repeat((1 << 20) + 1));
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(0);
    let words = "the agent `nobody` is asked without its description: ";
    assert_eq!(said.out.matches(words).count(), 1, "{}", said.out);
    said.out_has("/.claude/agents/nobody.md is larger than 1 MiB\n");
}

#[test]
fn a_prompt_of_any_length_arrives() {
    let folder = folder(
        "printf '%s ' $#; cat - <(printf %s \"$1\") | wc -c",
        "./ask {prompt}",
    );
    let text = "x".repeat(300_000);
    folder.write(
        "a.yaml",
        amplifier(&format!(
            "- {{id: long, agent: a, prompt: '{text}', output: long}}\n\
             - {{id: short, agent: a, prompt: 'five5', output: short}}\n"
        )),
    );
    let all = run(&folder, &[], 0);
    assert_eq!(all["context"]["long"], "0 300000");
    assert_eq!(all["context"]["short"], "1 5");
}

#[test]
fn an_agent_that_is_asked_too_often_is_asked_again() {
    let folder = folder(
        "echo x >> tries; test $(wc -l < tries) -ge 3 && echo answer && exit 0\n\
         echo 'API error: status 429' >&2; exit 1",
        "./ask {prompt}",
    );
    let pace = "rate_limiting: {backoff: {initial_delay_ms: 100, multiplier: 2}}\n";
    let steps = amplifier("- {id: a, agent: a, prompt: go, output: a}\n");
    folder.write("a.yaml", format!("{pace}{steps}"));
    let started = Instant::now();
    let all = run(&folder, &[], 0);
    assert!(started.elapsed().as_millis() >= 300, "pauses grow");
    assert_eq!(all["context"]["a"], "answer");
    assert_eq!(step(&all, "a")["attempts"], 1);
    assert_eq!(folder.read("tries").lines().count(), 3);
    std::fs::remove_file(folder.file("tries")).unwrap();
    let pace = "rate_limiting: {backoff: {enabled: false}}\n";
    folder.write("a.yaml", format!("{pace}{steps}"));
    let all = run(&folder, &[], 1);
    assert!(
        step(&all, "a")["error"].as_str().unwrap().contains("429"),
        "{all}"
    );
    assert_eq!(folder.read("tries").lines().count(), 1);
}

#[test]
fn agents_keep_the_pace_of_the_recipe() {
    let folder = folder(
        "mkdir -p now; touch now/$1; ls now | wc -l >> seen; sleep 0.05; rm now/$1; date +%s%N >> ends; date +%s%N",
        "./ask {prompt}",
    );
    let pace = "rate_limiting: {max_concurrent_llm: 2, min_delay_ms: 100}\ncontext: {list: [1, 2, 3, 4, 5]}\n";
    let steps = amplifier(
        "- {id: a, agent: a, prompt: '{{item}}', foreach: '{{list}}', parallel: true, collect: c}\n",
    );
    folder.write("a.yaml", format!("{pace}{steps}"));
    let started = Instant::now();
    run(&folder, &[], 0);
    let seen = folder.read("seen");
    assert!(
        seen.lines()
            .all(|line| line.trim().parse::<u32>().unwrap() <= 2),
        "{seen}"
    );
    assert!(started.elapsed().as_millis() >= 200, "two pauses at least");
    // A run that is stopped while agents wait their turn ends at once.
    folder.write("a.yaml", format!("{}{steps}", pace.replace("100", "60000")));
    let all = run(&folder, &["--timeout", "0.5"], 1);
    assert_eq!(
        all["error"],
        "the run took longer than allowed (limit 500ms)"
    );
}

#[test]
fn an_agent_may_put_a_recipe_right() {
    let folder = folder("printf %s \"$1\" > asked; cat answer", "./ask {prompt}");
    folder.write(
        "sub.yaml",
        "name: sub\nsteps:\n- {id: inner, command: 'echo broken >&2; exit 9'}\n",
    );
    folder.write(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: t\nsteps:\n\
         - {id: call, recipe: sub, recovery_on_failure: true}\n- {id: after, command: echo on}\n",
    );
    folder.write("answer", "I fixed it.\nStatus: complete\n");
    let all = run(&folder, &[], 0);
    assert_eq!(step(&all, "call")["status"], "completed");
    assert_eq!(all["context"]["after"], "on");
    let asks = "an agent is asked to put right what failed";
    let warnings = |all: &serde_json::Value| step(all, "call")["warnings"].clone();
    assert_eq!(warnings(&all), serde_json::json!([asks]));
    let asked = folder.read("asked");
    assert!(
        asked.contains("step `call`") && asked.contains("broken"),
        "{asked}"
    );
    folder.write("answer", "it could not be recovered");
    let all = run(&folder, &[], 1);
    let lost = "the agent has not put right what failed";
    assert_eq!(warnings(&all), serde_json::json!([asks, lost]));
    std::fs::remove_file(folder.file("answer")).unwrap();
    let none = "the agent that was asked has failed: the command exited with code 1";
    let said = warnings(&run(&folder, &[], 1));
    assert_eq!(said[0], asks);
    assert!(said[1].as_str().unwrap().starts_with(none), "{said}");
    assert!(
        step(&all, "call")["error"]
            .as_str()
            .unwrap()
            .contains("code 9"),
        "{all}"
    );
}

#[test]
fn who_puts_a_recipe_right_is_told_which_of_its_steps_failed() {
    let folder = folder("printf %s \"$1\" > asked", "./ask {prompt}");
    folder.write(
        "deep.yaml",
        "# rrc: dialect = amplihack\nname: deep\ncontext: {all: [a, b]}\nsteps:\n\
         - {id: look, command: 'echo lost >&2; exit 3', continue_on_error: true}\n\
         - {id: each, foreach: '{{all}}', command: 'test {{item}} = a'}\n",
    );
    folder.write(
        "sub.yaml",
        "name: sub\nsteps:\n- {id: fine, command: 'true'}\n- {id: inner, recipe: deep}\n",
    );
    folder.write(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: t\nsteps:\n\
         - {id: call, recipe: sub, recovery_on_failure: true}\n",
    );
    run(&folder, &[], 1);
    let asked = folder.read("asked");
    let (_, told) = asked.split_once("These steps failed:\n\n").unwrap();
    assert_eq!(
        told,
        "- call/inner/look: the command exited with code 3\n  lost\n- call/inner/each[1]"
    );
    // A name that is known only when the step runs makes no difference.
    let late = folder
        .read("a.yaml")
        .replace("recipe: sub", "recipe: '{{n}}'");
    let late = late.replace("steps:", "context: {n: sub}\nsteps:");
    folder.write("a.yaml", late);
    run(&folder, &[], 1);
    assert_eq!(folder.read("asked"), asked);
}

#[test]
fn without_an_agent_nothing_runs_and_all_steps_are_named() {
    let folder = Folder::new();
    folder.write("bin/unrelated", "");
    let path = folder.file("bin").display().to_string();
    folder.write(
        "a.yaml",
        amplifier(
            "- {id: first, type: bash, command: touch ran}\n\
             - {id: one, agent: a, prompt: go}\n- {id: two, agent: a, prompt: go}\n- {id: three, agent: b, prompt: go}\n",
        ),
    );
    let said = folder
        .rrc(&["run", "a.yaml"])
        .env("PATH", &path)
        .go()
        .exits(2);
    assert!(
        said.err
            .contains("no agent is configured for: one, two, three"),
        "{}",
        said.err
    );
    assert!(!folder.has("ran"));
    folder.write(
        "rrc.toml",
        "[agent]\ncommand = \"no-such-agent {prompt}\"\n[agents.b]\ncommand = \"x {promt}\"\n",
    );
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(2);
    assert!(
        said.err.contains("there is no program `no-such-agent`"),
        "{}",
        said.err
    );
    said.err_has(
        "there is no value `promt`; there are `{agent}`, `{prompt}`, `{system_prompt}`, `{model}`, \
         `{mode}`, `{step_id}`, `{cwd}`\nhelp: did you mean `{prompt}`?",
    );
    folder.write("asks", "");
    folder.write("rrc.toml", "[agent]\ncommand = \"./asks {prompt}\"\n");
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(2);
    said.err_has("asks: not marked as executable");
    assert!(!folder.has("ran"));
    let said = folder
        .rrc(&["run", "a.yaml", "--agent", "claud"])
        .go()
        .exits(2);
    assert!(said.err.contains("did you mean `claude`?"), "{}", said.err);
    let known = ["run", "a.yaml", "--agent", "claude"];
    let said = folder.rrc(&known).env("PATH", &path).go().exits(2);
    said.err_has("install it, name another with `--agent`");
    let own = "[agent]\ncommand = \"true\"\n[agents.b]\ncommand = \"no-such-agent {prompt}\"\n";
    folder.write("rrc.toml", own);
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(2);
    said.err_has("change `command` under `[agents.\"b\"]`");
}

#[test]
fn what_cannot_run_is_not_said_to_be_able_to() {
    let folder = Folder::new();
    folder.write("bin/unrelated", "");
    let path = folder.file("bin").display().to_string();
    folder.write("a.yaml", amplifier("- {id: a, agent: a, prompt: go}\n"));
    let validated = |command: &str| {
        folder.write("rrc.toml", command);
        let args = ["run", "--validate-only", "a.yaml"];
        folder.rrc(&args).env("PATH", &path).go()
    };
    for (command, words) in [
        ("", "no agent is configured for: a"),
        (
            "[agent]\ncommand = \"echo {promt}\"\n",
            "did you mean `{prompt}`?",
        ),
        (
            "[agent]\ncommand = \"nothing {prompt}\"\n",
            "there is no program `nothing`",
        ),
        ("[agent]\ncommand = \"sh -c {prompt}\"\n", "[RRC0501]"),
    ] {
        let said = validated(command).exits(2).no_out().err_has(words);
        assert!(!said.err.contains("can run"), "{}", said.err);
    }
    program(&folder, "ask", "touch asked");
    let said = validated("[agent]\ncommand = \"./ask {prompt}\"\n");
    said.exits(0).no_out().err_has("a.yaml can run\n");
    assert!(!folder.has("asked"));
}

/// Steps that tags or a condition certainly leave out ask nobody and need nothing; so it is when the run
/// goes on, and when it was built before.
#[test]
fn who_is_never_asked_need_not_be_there() {
    let folder = Folder::new();
    folder.write("bin/unrelated", "");
    let path = folder.file("bin").display().to_string();
    folder.write(
        "child.yaml",
        "name: child\nsteps:\n- {id: deep, agent: c, prompt: go}\n",
    );
    let recipe = "
# rrc: dialect = amplihack
name: a
steps:
- {id: a, agent: x, prompt: hi, when_tags: [ai, net], condition: \"fast == 'yes'\"}
- {id: b, agent: x, prompt: hi, condition: 'false'}
- {id: c, agent: x, prompt: hi, condition: '1 == 2 and fast'}
- {id: call, recipe: child.yaml, when_tags: [ai]}
- {id: d, agent: x, prompt: hi, parallel_group: p, when_tags: [ai]}
- {id: e, command: echo e, parallel_group: p}
- {id: f, shell: no-such-shell, command: echo f, when_tags: [ai]}
- {id: g, shell: other-shell, command: echo g, when_tags: [ai]}
- {id: h, shell: other-shell, command: echo h, continue_on_error: true}
- {id: last, command: test -e ready}
";
    folder.write("a.yaml", format!("context: {{fast: 'yes'}}\n{recipe}"));
    folder.rrc(&["build", "a.yaml"]).go().exits(0);
    let go = |args: &[&str]| {
        let all = [&["run", "--isolated"][..], args].concat();
        folder.rrc(&all).env("PATH", &path).go()
    };
    for file in ["a.yaml", "a.rrb"] {
        let all = go(&[file, "--validate-only"]).exits(2);
        assert!(
            all.err.contains("no agent is configured for: a, d, deep"),
            "{}",
            all.err
        );
        assert!(
            all.err.contains("needs the shell `no-such-shell`"),
            "{}",
            all.err
        );
        for tags in [["--exclude-tags", "ai"], ["--include-tags", "other"]] {
            let left = go(&[file, "--validate-only", tags[0], tags[1]]).exits(0);
            assert!(!left.err.contains("no-such-shell"), "{}", left.err);
            left.err_has("step h needs the shell `other-shell`");
        }
        let net = go(&[file, "--exclude-tags", "net", "--validate-only"]).exits(2);
        assert!(
            net.err.contains("no agent is configured for: d, deep"),
            "{}",
            net.err
        );
    }
    go(&["a.yaml", "--exclude-tags", "ai"]).exits(1);
    folder.write("ready", "");
    go(&["a.yaml", "--resume"]).exits(0);
}

#[test]
fn a_known_agent_is_found_by_itself_or_by_name() {
    let folder = Folder::new();
    for name in ["claude", "codex"] {
        program(
            &folder,
            &format!("bin/{name}"),
            &format!("printf '{name}:%s ' \"$@\""),
        );
    }
    let path = format!("{}:/usr/bin:/bin", folder.file("bin").display());
    folder.write(
        "a.yaml",
        amplifier("- {id: a, agent: a, prompt: go, model: m, output: a}\n"),
    );
    let answer = |args: &[&str]| {
        let mut all = vec!["run", "a.yaml", "--output-format", "json"];
        all.extend(args);
        let said = folder.rrc(&all).env("PATH", &path).go().exits(0).json();
        said["context"]["a"].as_str().unwrap().to_string()
    };
    assert_eq!(
        answer(&[]),
        "claude:-p claude:--model=m claude:-- claude:go "
    );
    assert_eq!(
        answer(&["--agent", "codex"]),
        "codex:exec codex:--model=m codex:-- codex:go "
    );
}

#[test]
fn the_command_line_says_who_is_asked_before_the_file_does() {
    let folder = folder("printf asked", "./ask {prompt}");
    for (name, at) in [("codex", "bin/codex"), ("mine", "my agents/it's")] {
        program(&folder, at, &format!("printf '{name}:%s ' \"$@\""));
    }
    folder.write("work/x", "");
    let own = folder.read("rrc.toml") + "[agents.reviewer]\ncommand = \"printf own\"\n";
    folder.write("rrc.toml", own);
    folder.write(
        "a.yaml",
        amplifier("- {id: a, agent: reviewer, prompt: go, output: a}\n"),
    );
    let path = format!("{}:/usr/bin:/bin", folder.file("bin").display());
    let asked = |args: &[&str]| {
        let all = [&["run", "a.yaml", "--output-format", "json"], args].concat();
        let said = folder.rrc(&all).env("PATH", &path).go().exits(0).json();
        said["context"]["a"].as_str().unwrap().to_string()
    };
    assert_eq!(asked(&[]), "own");
    assert_eq!(
        asked(&["--agent", "codex"]),
        "codex:exec codex:-- codex:go "
    );
    assert_eq!(asked(&["--agent", "reviewer"]), "own");
    // A path begins where the command line does, whatever the steps run in.
    let mine = ["--agent", "./my agents/it's", "-C", "work"];
    assert_eq!(asked(&mine), "mine:go ");
    let said = folder.rrc(&["run", "a.yaml", "--agent", "./none"]).go();
    said.exits(2)
        .err_has("/none` to ask agents\nhelp: name another with `--agent`");
    let said = folder.rrc(&["run", "a.yaml", "--agent", "mine"]).go();
    said.exits(2)
        .err_has("another program is named by its path, `./mine`");
}

#[test]
fn an_agent_that_the_environment_names_is_asked_or_said_to_be_unknown() {
    let folder = Folder::new();
    for name in ["claude", "codex"] {
        program(&folder, &format!("bin/{name}"), &format!("printf {name}"));
    }
    let path = format!("{}:/usr/bin:/bin", folder.file("bin").display());
    folder.write(
        "a.yaml",
        amplifier("- {id: a, agent: a, prompt: go, output: a}\n"),
    );
    let asked = |name: &str| {
        let rrc = folder.rrc(&["run", "a.yaml", "--output-format", "json"]);
        let rrc = rrc.env("PATH", &path).env("AMPLIHACK_AGENT_BINARY", name);
        let said = rrc.go().exits(0);
        let answer = said.json()["context"]["a"].as_str().unwrap().to_string();
        (answer, said.err)
    };
    assert_eq!(asked("codex"), ("codex".to_string(), String::new()));
    assert_eq!(asked(""), ("claude".to_string(), String::new()));
    for name in ["cluade", "/bin/codex"] {
        let (answer, said) = asked(name);
        assert_eq!(answer, "claude");
        let words = format!("AMPLIHACK_AGENT_BINARY is `{name}`, which is no agent that rrc knows");
        assert!(said.contains(&words), "{said}");
    }
}

#[test]
fn the_path_of_a_program_begins_where_it_is_written_down() {
    let folder = folder("printf '%s in %s' \"$1\" \"${PWD##*/}\"", "./ask {prompt}");
    folder.write("work/x", "");
    folder.write(
        "a.yaml",
        amplifier("- {id: a, agent: x, prompt: go, output: a}\n"),
    );
    let all = run(&folder, &["-C", "work"], 0);
    assert_eq!(all["context"]["a"], "go in work");
}

#[test]
fn a_program_below_the_home_directory_is_found() {
    let folder = folder("", "~/bin/me {prompt}");
    program(&folder, "home/bin/me", "printf 'me: %s' \"$1\"");
    folder.write(
        "a.yaml",
        amplifier("- {id: a, agent: x, prompt: go, output: a}\n"),
    );
    let home = folder.file("home").display().to_string();
    let args = ["run", "a.yaml", "--output-format", "json"];
    let all = folder.rrc(&args).env("HOME", &home).go().exits(0).json();
    assert_eq!(all["context"]["a"], "me: go");
    std::fs::remove_file(folder.file("home/bin/me")).unwrap();
    let said = folder.rrc(&args).env("HOME", &home).go().exits(2);
    said.err_has("/home/bin/me");
}

#[test]
fn what_is_wrong_with_a_command_is_said_before_anything_runs() {
    let folder = folder("", "bash -c 'echo got: {prompt}'");
    folder.write(
        "a.yaml",
        "name: t\nversion: 1.0.0\ndescription: d\ncontext: {p: ''}\nsteps:\n\
         - {id: a, agent: x, prompt: 'say {{p}}', output: a}\n",
    );
    let evil = ["run", "a.yaml", "-s", "p=$(touch OWNED)"];
    let said = folder.rrc(&evil).go().exits(2);
    said.err_has("rrc.toml:2:32: [RRC0501] `bash` would execute the value\nhelp: pass it as");
    assert!(!folder.has("OWNED"));
    folder.write("rrc.toml", "[agent]\ncommand = \"echo {prompt} > f\"\n");
    let said = folder.rrc(&evil).go().exits(0);
    let said = said.err_has("rrc.toml:2:26: warning: [RRC0505] ");
    said.err_has("\nhelp: ");
    let quiet = ["run", "-q", "a.yaml"];
    folder.rrc(&quiet).go().exits(0).no_err();
}

#[test]
fn a_recovery_is_told_in_a_line_of_its_own() {
    let folder = Folder::with(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: a\nsteps:\n  - {id: call, recipe: fragile.yaml, recovery_on_failure: true}\n",
    );
    folder.write(
        "fragile.yaml",
        "name: fragile\nsteps:\n  - {id: break, command: exit 1}\n",
    );
    folder.write("rrc.toml", "[agent]\ncommand = \"cat answer\"\n");
    for (answer, code) in [
        ("it is not STATUS: COMPLETE yet", 1),
        ("STATUS: COMPLETELY LOST", 1),
        ("done\n  status: complete \r\nbye", 0),
    ] {
        folder.write("answer", answer);
        run(&folder, &[], code);
    }
}

#[test]
fn a_command_that_is_none_is_told_what_it_should_be() {
    let folder = Folder::new();
    folder.write("a.yaml", amplifier("- {id: one, agent: a, prompt: go}\n"));
    for (config, words) in [
        (
            "[agent]\ncommand = [\"echo\", \"{prompt}\"]\n",
            "`command` must be one text: `\"echo {prompt}\"`, not an array",
        ),
        (
            "[agent]\ncommand = \"\"\n",
            "`command` is empty: write the program and its words",
        ),
        (
            "[agents]\ncommand = \"echo\"\n",
            "[agents] holds a table for each agent; did you mean `[agent]`?",
        ),
    ] {
        folder.write("rrc.toml", config);
        folder.rrc(&["run", "a.yaml"]).go().exits(2).err_has(words);
    }
}

#[test]
fn steps_without_an_agent_are_named_in_the_order_of_their_files() {
    let folder = Folder::new();
    folder.write("bin/unrelated", "");
    folder.write(
        "child.yaml",
        amplifier("- {id: deep, agent: c, prompt: go}\n"),
    );
    folder.write(
        "a.yaml",
        amplifier(
            "- {id: call, type: recipe, recipe: child.yaml}\n\
             - {id: zwei, agent: b, prompt: go}\n- {id: eins, agent: a, prompt: go}\n",
        ),
    );
    let path = folder.file("bin").display().to_string();
    let said = folder.rrc(&["run", "a.yaml"]).env("PATH", &path).go();
    said.exits(2)
        .err_has("no agent is configured for: zwei, eins, deep (child.yaml)");
}
