//! Watching a run: on a terminal, and with `--progress` elsewhere.

use crate::amplifier;
use crate::binary::Folder;

fn folder() -> Folder {
    Folder::with(
        "a.yaml",
        amplifier(
            "- {id: quick, type: bash, command: 'true'}\n\
             - {id: slow, type: bash, command: 'sleep 0.6; echo said; exit 3', on_error: continue}\n\
             - {id: last, type: bash, command: 'true'}\n",
        ),
    )
}

/// What a terminal is sent, its line ends made ours.
fn on_a_terminal(folder: &Folder, words: &str) -> String {
    let script = format!("script -qec \"$RRC run a.yaml {words}\" /dev/null < /dev/null");
    let said = folder.sh(&script).env("TERM", "xterm").go().exits(0);
    said.out.replace("\r\n", "\n")
}

/// The screen after all this was written: lines, with what was cleared gone.
fn screen(sent: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut row = 0usize;
    let mut rest = sent;
    while let Some(c) = rest.chars().next() {
        let code = rest.strip_prefix("\x1b[").and_then(|code| {
            let end = code.find(|c: char| c.is_ascii_alphabetic())?;
            Some((&code[..end], &code[end..=end], &code[end + 1..]))
        });
        if let Some((number, what, after)) = code {
            let count: usize = number.parse().unwrap_or(1);
            match what {
                "A" => row = row.saturating_sub(count),
                "B" => row += count,
                "K" => lines[row].clear(),
                _ => {}
            }
            rest = after;
        } else {
            match c {
                '\n' => row += 1,
                '\r' => {}
                c => lines[row].push(c),
            }
            rest = &rest[c.len_utf8()..];
        }
        if row == lines.len() {
            lines.push(String::new());
        }
    }
    let lines = lines.iter().map(|line| line.trim_end().to_string());
    lines.filter(|line| !line.is_empty()).collect()
}

#[test]
fn a_terminal_shows_what_runs_and_keeps_what_ended() {
    let sent = on_a_terminal(&folder(), "--color never");
    let drawn = sent.find("slow  0 s").expect("the line of a running step");
    let ended = sent.find("failed slow").expect("the line of an ended step");
    assert!(drawn < ended, "{sent:?}");
    assert!(!sent.contains("quick  "), "too quick to be drawn: {sent:?}");
    let screen = screen(&sent);
    let start = [
        "completed quick",
        "failed slow",
        "completed last",
        "slow: the command exited with code 3",
        "  stdout| said",
    ];
    assert_eq!(screen[..5], start, "{screen:#?}");
    assert!(
        screen[5].starts_with("t: completed in") && screen.len() == 6,
        "{screen:#?}"
    );
}

#[test]
fn a_line_with_wide_characters_is_cleared_like_any_other() {
    let folder = Folder::with(
        "a.yaml",
        amplifier(&format!(
            "- {{id: {}, type: bash, command: 'sleep 0.6'}}\n",
            "日本".repeat(30)
        )),
    );
    let words = "--color never --output-format json --progress > out.json";
    let script = format!(
        "script -qec \"stty rows 24 cols 40; $RRC run a.yaml {words}\" /dev/null < /dev/null"
    );
    let said = folder.sh(&script).env("TERM", "xterm").go().exits(0);
    let drawn = said.out.split(['\r', '\n', '\x1b']);
    let lines: Vec<&str> = drawn.filter(|line| line.contains("日")).collect();
    assert!(!lines.is_empty(), "{:?}", said.out);
    for line in lines {
        // The code that cleared the line before is part of it.
        let line = line.trim_start_matches(|c: char| c.is_ascii() && c != ' ');
        let columns: usize = line.chars().map(|c| 1 + usize::from(c >= '\u{3000}')).sum();
        assert!(columns <= 40 && line.contains(" s"), "{columns}: {line:?}");
    }
}

#[test]
fn what_holds_a_step_that_has_ended_is_shown_again() {
    let folder = Folder::with(
        "a.yaml",
        amplifier(
            "- {id: call, type: recipe, recipe: sub.yaml, retry: {max_attempts: 2, initial_delay: 1}, on_error: continue}\n",
        ),
    );
    folder.write(
        "sub.yaml",
        amplifier("- {id: inner, type: bash, command: 'sleep 0.4; exit 1'}\n"),
    );
    let sent = on_a_terminal(&folder, "--color never");
    let inner = sent.find("call/inner  0 s").expect("the step that runs");
    let after = sent.find("failed call/inner").expect("its end");
    let pause = sent[after..].find("call  ").expect("what waits");
    let again = sent[after..]
        .find("call/inner  0 s")
        .expect("the second try");
    assert!(inner < after && pause < again, "{sent:?}");
}

#[test]
fn other_formats_show_what_runs_if_asked() {
    let sent = on_a_terminal(&folder(), "--output-format json > out.json --progress");
    assert!(sent.contains("slow  0 s"), "{sent:?}");
    assert!(screen(&sent).is_empty(), "{sent:?}");
    let sent = on_a_terminal(&folder(), "--output-format json > out.json");
    assert_eq!(sent, "");
}

#[test]
fn nothing_is_drawn_where_it_would_be_in_the_way() {
    for (name, value) in [("CI", "1"), ("TERM", "dumb")] {
        let script = "script -qec \"$RRC run a.yaml\" /dev/null < /dev/null";
        let folder = folder();
        let rrc = folder.sh(script).env("TERM", "xterm").env("NO_COLOR", "1");
        let said = rrc.env(name, value).go().exits(0);
        assert!(!said.out.contains('\x1b'), "{name}: {:?}", said.out);
    }
    let folder = folder();
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(0);
    assert!(
        !said.out.contains('\x1b') && said.err.is_empty(),
        "{:?}",
        said.err
    );
}

#[test]
fn progress_elsewhere_is_plain_lines() {
    let folder = folder();
    let args = ["run", "a.yaml", "--progress", "--output-format", "json"];
    let said = folder.rrc(&args).go().exits(0);
    assert_eq!(
        said.err,
        "started quick (bash)\ncompleted quick\nstarted slow (bash)\nfailed slow\nstarted last (bash)\ncompleted last\n"
    );
    assert_eq!(said.json()["status"], "completed");
    let said = folder.rrc(&["run", "a.yaml", "--progress"]).go().exits(0);
    assert_eq!(
        said.err,
        "started quick (bash)\nstarted slow (bash)\nstarted last (bash)\n"
    );
}

/// Runs a recipe with a gate on a terminal at which somebody types, after a while.
#[track_caller]
fn at_the_gate(keys: &str, words: &str, code: i32) -> String {
    at_a_gate("prompt: 'go?'", keys, words, code)
}

#[track_caller]
fn at_a_gate(gate: &str, keys: &str, words: &str, code: i32) -> String {
    let stages = format!(
        "name: t\nversion: 1.0.0\ndescription: d\ncontext: {{nap: 0}}\nstages:\n\
         - {{name: one, approval: {{required: true, {gate}}}, \
         steps: [{{id: a, type: bash, command: 'sleep {{{{nap}}}}'}}]}}\n\
         - {{name: two, steps: [{{id: b, type: bash, command: echo b}}]}}\n",
    );
    let folder = Folder::with("a.yaml", stages);
    let script = format!(
        "(sleep 1; printf '{keys}'; sleep 1) | script -qec \"$RRC run a.yaml {words}\" /dev/null"
    );
    let said = folder.sh(&script).env("TERM", "xterm").go().exits(code);
    said.out
}

#[test]
fn somebody_who_is_asked_can_answer_and_can_stop_the_run() {
    let said = at_the_gate("y\\n", "", 0);
    assert!(said.contains("completed") && said.contains(" b"), "{said}");
    let said = at_the_gate("what\\nn\\n", "", 1);
    assert!(said.contains("stage `one` was denied"), "{said}");
    let said = at_the_gate("\\003", "", 130);
    assert!(said.contains("cancelled"), "{said}");
}

#[test]
fn what_is_typed_of_an_answer_stops_nothing() {
    let said = at_the_gate("y\\004'; sleep 1; printf '\\n", "--color never", 0);
    assert!(said.contains("completed b"), "{said}");
    let said = at_the_gate("y\\004'; sleep 1; printf '\\003", "--color never", 130);
    assert!(!said.contains("completed b"), "{said}");
    let said = at_the_gate("y\\004'; sleep 4; printf '", "--timeout 1.5", 1);
    assert!(said.contains("longer than allowed"), "{said}");
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let said = at_the_gate("y\\n", "--set nap=1.5", 4);
    assert!(said.contains("go?") && said.contains("paused"), "{said}");
}

#[test]
fn a_question_that_nobody_answers_says_what_holds_now() {
    let gate = "prompt: 'go?', timeout: 1, default: approve";
    let lines = screen(&at_a_gate(gate, "", "--color never", 0));
    let asked = "approve stage one? [y/n; approved in 1 s] (approved: nobody answered in time)";
    let at = lines.iter().position(|line| line == asked);
    let after = at.and_then(|at| lines.get(at + 1));
    assert_eq!(after.map(String::as_str), Some("completed b"), "{lines:#?}");
}

#[test]
fn the_time_of_a_run_passes_while_somebody_is_asked() {
    let said = at_the_gate("", "--timeout 0.5", 1);
    assert!(said.contains("longer than allowed"), "{said}");
}

#[test]
fn runs_are_listed_under_a_head_on_a_terminal_alone() {
    let folder = folder();
    folder.rrc(&["run", "a.yaml"]).go().exits(0);
    let script = "script -qec \"$RRC runs\" /dev/null < /dev/null";
    let said = folder.sh(script).env("TERM", "xterm").go().exits(0);
    let lines: Vec<&str> = said.out.lines().collect();
    let column = |word: &str| lines[0].find(word).expect(word);
    assert_eq!(lines.len(), 2, "{}", said.out);
    assert_eq!(lines[1].find("completed"), Some(column("STATUS")));
    assert_eq!(lines[1].find("a.yaml"), Some(column("FILE")));
    let said = folder.rrc(&["runs"]).go().exits(0);
    assert_eq!(said.out.lines().count(), 1, "{}", said.out);
}

#[test]
fn a_plan_is_not_shown_on_a_terminal() {
    let folder = folder();
    let script = "script -qec \"$RRC build a.yaml -o -\" /dev/null < /dev/null";
    let said = folder.sh(script).env("TERM", "xterm").go().exits(2);
    said.out_has("rrc: -o -: a plan is not for a terminal to show");
}

#[test]
fn a_step_that_asks_the_terminal_is_told_that_there_is_none() {
    let ask = "read -r answer < /dev/tty || echo no answer";
    let steps = format!("- {{id: a, type: bash, timeout: 20, command: '{ask}', stream: true}}\n");
    let sent = on_a_terminal(&Folder::with("a.yaml", amplifier(&steps)), "");
    assert!(sent.contains("no answer"), "{sent}");
}

#[test]
fn nothing_that_is_shown_does_something_to_a_terminal() {
    let folder = Folder::with(
        "a.yaml",
        "name: t\nversion: 1.0.0\ndescription: d\nsteps:\n\
         - {id: a, type: bash, stream: true, command: \"printf '\\\\033[2J\\\\033[31mred\\\\007\\\\n'\"}\n\
         - {id: b, type: bash, command: \"printf '\\\\033[H'\", output: x}\n\
         - {id: c, type: bash, condition: 'int({{x}}) > 1', command: 'true', on_error: continue}\n",
    );
    let sent = on_a_terminal(&folder, "--color never");
    assert!(
        sent.contains("a| \\u{1b}[2J\x1b[31mred\\u{7}\x1b[0m"),
        "{sent:?}"
    );
    let steps = "steps:\n- {id: a, command: 'true'}\n";
    let named = format!("# rrc: dialect = amplihack\nname: \"t\\e[2J\"\n{steps}");
    let other = Folder::with("a.yaml", named);
    let after = on_a_terminal(&other, "--color never");
    assert!(after.contains("t\\u{1b}[2J: completed in"), "{after:?}");
    for sent in [&sent, &after] {
        let cleared = sent.contains("\x1b[2J") || sent.contains("\x1b[H");
        assert!(!cleared, "{sent:?}");
    }
    // Elsewhere a line is what the step wrote.
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(0);
    said.out_has("a| \x1b[2J\x1b[31mred\x07\n");
    let agent = "name: a\nversion: 1.0.0\ndescription: \"d\\e[2J\"\nsteps:\n\
                 - {id: a, agent: x, prompt: \"look\\e[2J\"}\n";
    folder.write("more/a.yaml", agent);
    let said = folder
        .rrc(&["run", "--dry-run", "more/a.yaml"])
        .go()
        .exits(0);
    said.out_has("  | look\\u{1b}[2J\n");
    let said = folder.rrc(&["list", "-R", "more"]).go().exits(0);
    said.out_has("d\\u{1b}[2J");
}
