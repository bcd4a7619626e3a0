//! Bounds, shellcheck, and watching.

use crate::binary::Folder;
use crate::{BAD, GOOD};
use std::time::{Duration, Instant};

const LOOP: &str = "\
name: loop
description: d
version: 1.0.0
context: {names: [a, b]}
steps:
  - id: each
    type: bash
    command: echo {{x}}
    foreach: '{{names}}'
    max_iterations: 4
    as: x
    parallel: 2
    timeout: 10
  - id: sub
    type: recipe
    recipe: sub
";
const SUB: &str = "\
name: sub
description: d
version: 1.0.0
steps:
  - id: ask
    type: agent
    agent: helper
    prompt: hello
    timeout: 60
    retry: {max_attempts: 2, initial_delay: 5}
";

#[test]
fn bounds_are_a_table_or_an_object() {
    let folder = Folder::with("a.yaml", LOOP);
    folder.write("sub.yaml", SUB);
    let said = folder.rrc(&["check", "--bounds", "a.yaml"]).go().exits(0);
    let expected = "\
a.yaml (loop)
  steps              3
  calls deep         1
  processes at once  2
  agent calls        2
  wall time          2 min 25 s
";
    assert_eq!(said.out, expected);
    let args = [
        "check", "--bounds", "--format", "json", "a.yaml", "sub.yaml",
    ];
    let said = folder.rrc(&args).go().exits(0);
    let object: serde_json::Value = serde_json::from_str(&said.out).expect("one object");
    assert_eq!(object["findings"].as_array().map(Vec::len), Some(0));
    assert_eq!(object["bounds"][0]["time_ms"], 145_000);
    assert_eq!(object["bounds"][1]["agents"], 2);
    for format in ["sarif", "github"] {
        let args = ["check", "--bounds", "--format", format, "a.yaml"];
        folder.rrc(&args).go().exits(2).no_out().err_has("bounds");
    }
}

#[test]
fn what_has_no_bound_says_why() {
    let text = "name: a\ncontext: {name: x}\nsteps:\n- id: slow\n  command: make\n- id: late\n  type: recipe\n  recipe: \"{{name}}\"\n";
    let folder = Folder::with("a.yaml", text);
    let args = ["check", "--bounds", "--dialect", "amplihack", "a.yaml"];
    let said = folder.rrc(&args).go().exits(0);
    assert!(
        said.out
            .contains("wall time          unbounded: a.yaml:4:7: `slow` has no timeout"),
        "{said:?}"
    );
    assert!(
        said.out.contains("agent calls        unbounded: a.yaml:8:"),
        "{said:?}"
    );
}

fn shellcheck() -> bool {
    let there = Folder::new().sh("command -v shellcheck").go().code == Some(0);
    if !there {
        eprintln!("skipped: there is no shellcheck");
    }
    there
}

#[test]
fn shellcheck_is_heard_at_the_right_place() {
    if !shellcheck() {
        return;
    }
    let text = "\
name: a
context: {dir: build, é: 1}
steps:
  - id: block
    type: bash
    command: |
      echo {{dir}} '{{dir}}' \"{{dir}}\" é
      if [ '{{dir}}' = a ]; then cd /tmp; fi
      # rrc: ignore[shellcheck] it is there
      cd /
  - id: quoted
    type: bash
    command: \"echo \\\"é\\\"; cd /tmp\"
  - id: python
    type: bash
    shell: python3
    command: cd
";
    let folder = Folder::with("a.yaml", text);
    let args = ["check", "--shellcheck", "--format", "concise", "a.yaml"];
    let said = folder.rrc(&args).go().exits(0);
    let places: Vec<&str> = said
        .out
        .lines()
        .filter_map(|line| line.split(": w").next())
        .collect();
    assert_eq!(places, ["a.yaml:8:34", "a.yaml:13:27"], "{said:?}");
    assert!(said.out.contains("SC2164: use"), "{said:?}");
    // Without it, the comment is no mistake.
    folder.rrc(&["check", "a.yaml"]).go().exits(0).no_out();
}

#[test]
fn without_shellcheck_it_is_said() {
    let folder = Folder::with("a.yaml", GOOD);
    let said = folder
        .rrc(&["check", "--shellcheck", "a.yaml"])
        .env("PATH", "/nowhere")
        .go();
    said.exits(2)
        .no_out()
        .err_has("shellcheck is not installed")
        .err_has("help:");
}

#[test]
fn a_change_is_checked_and_an_interrupt_ends_it() {
    let folder = Folder::with("a.yaml", GOOD);
    let running = folder
        .sh("exec \"$RRC\" check --watch --format concise . > out 2> err")
        .start();
    let wait = |what: &str, file: &str| {
        let started = Instant::now();
        while !(folder.has(file) && folder.read(file).contains(what)) {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "{what} is not said"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait("watching", "err");
    // Its own output is in the directory, and so are files to come.
    folder.write("b.yaml", BAD);
    wait("b.yaml:5:21: error[RRC0201]", "out");
    folder.write("rrc.toml", "[check]\nignore = [\"RRC0201\"]\n");
    folder.write("b.yaml", BAD.replace("whom", "what"));
    // Whoever starts the tests in the background has interrupts ignored, here and by what is started.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    let interrupts = ignored.unwrap_or(0) & 1 << 1 == 0;
    running.signal(if interrupts { "INT" } else { "TERM" });
    let said = running.end();
    assert!(said.code != Some(0), "{said:?}");
    assert!(
        !folder.read("out").contains('\x1b'),
        "a file is no terminal"
    );
}

#[test]
fn standard_input_is_not_watched() {
    let folder = Folder::new();
    folder
        .rrc(&["check", "--watch", "-"])
        .go()
        .exits(2)
        .no_out()
        .err_has("watched");
}
