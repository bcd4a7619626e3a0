//! Much of everything: output, values, iterations, children, signals. `RRC_LARGE=1` makes it as much
//! as is promised; without, it is as much as a test should take.

use crate::binary::{Folder, eventually, processes_with};
use crate::{amplifier, run, step};
use std::time::{Duration, Instant};

fn large() -> bool {
    std::env::var_os("RRC_LARGE").is_some()
}

/// Runs `a.yaml` with so many KiB of address space: more is death.
#[track_caller]
fn within(folder: &Folder, kib: u32, args: &str) -> serde_json::Value {
    let script = format!(
        "ulimit -v {kib}; ulimit -c 0; exec \"$RRC\" run a.yaml --output-format json {args}"
    );
    folder.sh(&script).go().exits(0).json()
}

#[test]
fn a_flood_of_output_is_counted_and_not_kept() {
    let mib = if large() { 1024 } else { 256 };
    let bytes = mib * 1024 * 1024_u64;
    let both = format!(
        "head -c {bytes} /dev/zero | tr \"\\\\0\" x & head -c {bytes} /dev/zero | tr \"\\\\0\" y >&2; wait"
    );
    let folder = Folder::with(
        "a.yaml",
        amplifier(&format!(
            "- {{id: flood, type: bash, timeout: 300, max_output_size: 1048576, command: '{both}', output: o, output_stderr: e}}\n\
             - {{id: after, type: bash, command: 'printf \"%s %s\" \"${{#A}}\" \"${{#B}}\"', env: {{A: '{{{{o}}}}'}}, on_error: continue}}\n",
        )),
    );
    let all = within(&folder, 200_000, "");
    let flood = step(&all, "flood");
    assert_eq!(flood["stdout_truncated"], true);
    assert_eq!(flood["stderr_truncated"], true);
    assert_eq!(all["context"]["o"].as_str().unwrap().len(), 1 << 20);
    assert_eq!(all["context"]["e"].as_str().unwrap().len(), 1 << 20);
    let error = step(&all, "after")["error"].as_str().unwrap();
    assert!(
        error.contains('A'),
        "a value that fits nowhere is named: {error}"
    );
}

#[test]
fn a_large_value_does_not_break_a_program_that_is_no_shell() {
    let long = format!("# {}", "x".repeat(100_000));
    let folder = Folder::with(
        "a.yaml",
        format!(
            "name: a\nsteps:\n\
             - {{id: big, command: 'head -c 200000 /dev/zero | tr \"\\\\0\" x'}}\n\
             - {{id: named, shell: python3, command: \"import os; print('BIG', 'BIG' in os.environ)\"}}\n\
             - id: long\n  shell: python3\n  command: |\n    import sys, near\n    {long}\n    \
               print(near.word, sys.argv, __name__)\n\
             - id: other\n  shell: perl\n  command: |\n    {long}\n    print 'perl';\n"
        ),
    );
    folder.write("near.py", "word = 'near'\n");
    let all = run(&folder, &[], 0);
    let printed = |id: &str| step(&all, id)["output"].as_str().unwrap().trim().to_owned();
    assert_eq!(printed("named"), "BIG False");
    let said = folder.sh("\"$RRC\" run a.yaml 2>&1").go();
    said.out_has("warning named: `BIG` (200000 bytes) does not fit");
    let warnings = &step(&all, "named")["warnings"];
    let warning = warnings[0].as_str().expect("a warning");
    assert!(
        warning.starts_with("`BIG` (200000 bytes) does not fit"),
        "{warnings}"
    );
    assert!(step(&all, "long").get("warnings").is_none(), "{all}");
    assert_eq!(printed("long"), "near ['-c'] __main__");
    assert_eq!(printed("other"), "perl");
}

/// The shell has it and cannot hand it on: who looks it up in the environment is told of that.
#[test]
fn a_large_value_that_programs_of_a_script_look_up_is_warned_of() {
    let recipe = r#"
name: a
steps:
- {id: big, command: "head -c 200000 /dev/zero | tr '\\0' x"}
- {id: python, command: "python3 -c 'import os; print(len(os.environ.get(\"RECIPE_VAR_big\", \"\")))'"}
- {id: bash, command: "bash -c 'echo ${#RECIPE_VAR_big}'"}
- {id: printenv, command: "printenv RECIPE_VAR_big | wc -c"}
- {id: jq, command: "jq -n '$ENV.BIG | length'"}
- {id: own, command: "echo ${#RECIPE_VAR_big} # RECIPE_VAR_big"}
- {id: hole, command: "printf %s '{{big}}' | wc -c; echo 'BIG news'"}
"#;
    let all = run(&Folder::with("a.yaml", recipe), &[], 0);
    let warned = |id: &str, name: &str, printed: &str| {
        let words = format!(
            "`{name}` (200000 bytes) does not fit the environment of programs; only the script itself has it"
        );
        assert_eq!(step(&all, id)["output"].to_string(), printed, "{id}");
        assert_eq!(step(&all, id)["warnings"][0], words, "{id}");
    };
    warned("python", "RECIPE_VAR_big", "0");
    warned("bash", "RECIPE_VAR_big", "0");
    warned("printenv", "RECIPE_VAR_big", "0");
    warned("jq", "BIG", "0");
    for (id, printed) in [("own", "200000"), ("hole", "\"200000\\nBIG news\"")] {
        assert_eq!(step(&all, id)["output"].to_string(), printed, "{id}");
        assert!(step(&all, id).get("warnings").is_none(), "{all}");
    }
}

#[test]
fn a_large_value_arrives_wherever_it_stands() {
    let big = "é".repeat(150_000);
    let positions = [
        ("bare", "printf %s {{v}} | wc -c"),
        ("double", "printf %s \"{{v}}\" | wc -c"),
        ("single", "printf %s '{{v}}' | wc -c"),
        ("assigned", "x={{v}}; printf %s \"$x\" | wc -c"),
        ("test", "[[ {{v}} == é* ]] && echo 300000"),
        ("heredoc", "wc -c <<EOF\n{{v}}\nEOF"),
        ("quoted", "wc -c <<'EOF'\n{{v}}\nEOF"),
        ("string", "wc -c <<< {{v}}"),
        ("nested", "echo $(printf %s {{v}} | wc -c)"),
        ("array", "a=({{v}} {{v}}); printf %s \"${a[1]}\" | wc -c"),
        ("loop", "for x in {{v}}; do printf %s \"$x\" | wc -c; done"),
        ("raw", "# {{v}}\nprintf %s \"{{v|raw}}\" | wc -c"),
        ("json", "printf %s {{v|json}} | wc -c"),
    ];
    let mut steps = String::new();
    for (id, command) in positions {
        let text = command.replace('\n', "\n      ");
        steps.push_str(&format!(
            "- id: {id}\n  type: bash\n  command: |\n      {text}\n  output: {id}\n"
        ));
    }
    steps.push_str(
        "- {id: stdin, type: bash, stdin: '{{v}}', command: wc -c, output: stdin}\n\
         - {id: each, type: bash, foreach: '{{list}}', as: x, command: 'printf %s {{x}} | wc -c', collect: each}\n\
         - {id: cond, type: bash, condition: \"{{v}} == {{v}} and 'é' in {{v}}\", command: echo 300000, output: cond}\n\
         - {id: ask, agent: a, prompt: '{{v}}', output: ask}\n\
         - {id: call, type: recipe, recipe: sub.yaml, context: {w: '{{v}}'}, output: call}\n",
    );
    let folder = Folder::new();
    folder.write(
        "rrc.toml",
        "[agent]\ncommand = \"wc -c {agent}\"\n[agents.a]\ncommand = \"wc -c\"\n",
    );
    folder.write(
        "sub.yaml",
        format!(
            "context: {{w: ''}}\n{}",
            amplifier("- {id: s, type: bash, command: 'printf %s {{w}} | wc -c', output: n}\n")
        ),
    );
    folder.write(
        "a.yaml",
        format!(
            "context:\n  v: {big}\n  list: ['{big}']\n{}",
            amplifier(&steps)
        ),
    );
    let all = run(&folder, &[], 0);
    let context = &all["context"];
    let number =
        |value: &serde_json::Value| value.as_str().unwrap().trim().parse::<usize>().unwrap();
    for id in positions
        .map(|(id, _)| id)
        .into_iter()
        .chain(["stdin", "cond", "ask"])
    {
        let expected = match id {
            // The line end of the text is there, and the quotes of the JSON.
            "heredoc" | "quoted" | "string" => 300_001,
            "json" => 300_002,
            _ => 300_000,
        };
        assert_eq!(number(&context[id]), expected, "{id}");
    }
    assert_eq!(number(&context["each"][0]), 300_000);
    assert_eq!(number(&context["call"]["n"]), 300_000);
}

#[test]
fn many_iterations_take_bounded_memory() {
    let count = if large() { 10_000 } else { 1_000 };
    let folder = Folder::with(
        "a.yaml",
        format!(
            "context: {{list: []}}\n{}",
            amplifier(&format!(
                "- {{id: list, type: bash, command: 'seq {count} | jq -s .', parse_json: true, output: list}}\n\
                 - {{id: each, type: bash, foreach: '{{{{list}}}}', max_iterations: {count}, parallel: 64, command: 'echo {{{{item}}}}', collect: said}}\n"
            ))
        ),
    );
    let all = within(&folder, 400_000, "");
    let said = all["context"]["said"].as_array().unwrap();
    assert_eq!(said.len(), count);
    assert_eq!(said[count - 1], format!("{count}\n"));
    let run = all["run_id"].as_str().unwrap();
    let again = within(&folder, 400_000, &format!("--replay {run}"));
    assert_eq!(again["context"], all["context"]);
}

#[test]
fn many_children_run_at_once_and_none_is_left() {
    let count = if large() { 1_000 } else { 150 };
    let mark = format!("crowd{}", std::process::id());
    let list: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let folder = Folder::new();
    let meet = format!("echo {mark} > here.{{{{item}}}}; : < go; sleep 60 & echo {{{{item}}}}");
    folder.write(
        "a.yaml",
        format!(
            "context: {{list: [{}]}}\n{}",
            list.join(", "),
            amplifier(&format!(
                "- {{id: each, type: bash, foreach: '{{{{list}}}}', max_iterations: {count}, parallel: true, command: '{meet}', collect: said}}\n"
            ))
        ),
    );
    folder.sh("mkfifo go").go().exits(0);
    let jobs = count.to_string();
    let args = ["run", "a.yaml", "--jobs", &jobs, "--output-format", "json"];
    let running = folder.rrc(&args).start();
    let all_here = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let here = entries.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with("here.")
        });
        here.count() == count
    };
    assert!(
        eventually(Duration::from_secs(50), all_here),
        "all run at once"
    );
    // They wait for somebody who writes.
    let mut options = std::fs::OpenOptions::new();
    let _writer = options.read(true).write(true).open(folder.file("go"));
    let all = running.end().exits(0).json();
    assert_eq!(all["context"]["said"].as_array().unwrap().len(), count);
    let gone = eventually(Duration::from_secs(2), || processes_with(&mark).is_empty());
    assert!(gone, "left behind: {:?}", processes_with(&mark).len());
}

/// Whatever ends rrc (the Rust runtime lets PIPE pass, and the first SEGV from outside), two seconds later nothing of the run is alive, and it goes on.
#[test]
fn any_signal_ends_everything_and_the_run_goes_on() {
    for signal in [
        "HUP", "INT", "QUIT", "ABRT", "KILL", "XCPU", "ALRM", "TERM", "USR1",
    ] {
        let mark = format!("ended{}{signal}", std::process::id());
        let folder = Folder::with(
            "a.yaml",
            amplifier(&format!(
                "- {{id: a, type: bash, command: 'echo a >> log'}}\n\
                 - {{id: b, type: bash, command: 'test -e again && exit 0; (setsid sh -c \"sleep 77; : {mark}\" &); echo b >> log; sleep 77; : {mark}'}}\n\
                 - {{id: c, type: bash, command: 'echo c >> log'}}\n"
            )),
        );
        let running = folder.rrc(&["run", "a.yaml"]).start();
        let begun = || folder.has("log") && folder.read("log").contains('b');
        assert!(eventually(Duration::from_secs(20), begun), "{signal}");
        let sent = Instant::now();
        running.signal(signal);
        let gone = eventually(Duration::from_secs(2), || processes_with(&mark).is_empty());
        assert!(
            gone,
            "{signal}: after {:?}: {:?}",
            sent.elapsed(),
            processes_with(&mark)
        );
        let said = running.end();
        assert_ne!(said.code, Some(0), "{signal}");
        folder.write("again", "");
        folder.rrc(&["run", "a.yaml", "--resume"]).go().exits(0);
        assert_eq!(folder.read("log"), "a\nb\nc\n", "{signal}");
    }
}

#[test]
fn what_waits_its_turn_holds_nothing_of_its_own() {
    // Each process gets this variable twice in its environment.
    let value = "v".repeat(90_000);
    let list: Vec<String> = (0..1500).map(|number| number.to_string()).collect();
    let recipe = format!(
        "# rrc: dialect = amplihack\nname: t\ncontext:\n  big: {value}\n  xs: [{}]\nsteps:\n\
         - {{id: each, foreach: '{{{{xs}}}}', max_iterations: 1500, parallel: true, command: ':'}}\n",
        list.join(", ")
    );
    let folder = Folder::with("a.yaml", recipe);
    let all = within(&folder, 150_000, "--no-record");
    assert_eq!(all["status"], "completed");
}
