//! Deadlines, signals, and that nothing outlives a run.

use crate::binary::{Folder, Running, eventually, fixture, processes_with};
use crate::{amplifier, report, run, step, text_of};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

fn hostile(name: &str) -> String {
    fixture("hostile").join(name).display().to_string()
}

/// Waits for a file that a script writes when it is ready, and gives the number in it.
fn ready(folder: &Folder, name: &str) -> u32 {
    let number = || {
        std::fs::read_to_string(folder.file(name))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    assert!(
        eventually(SOON, || number().is_some()),
        "{name} was not written"
    );
    number().expect("it was there a moment ago")
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or("").trim().chars().next();
    state.is_some_and(|state| state != 'Z')
}

#[track_caller]
fn all_gone(mark: &str) {
    let gone = eventually(Duration::from_secs(2), || processes_with(mark).is_empty());
    assert!(gone, "left behind: {:?}", processes_with(mark));
}

#[test]
fn a_deadline_ends_the_step_and_keeps_what_it_said() {
    let recipe = amplifier(
        "- {id: slow, type: bash, timeout: 0.3, output: said, on_error: continue, \
         command: 'echo partial; echo oops >&2; sleep 100'}\n\
         - {id: after, type: bash, command: 'echo [{{said}}]', output: seen}\n",
    );
    let started = Instant::now();
    let all = report(&recipe, &[], 0);
    assert!(started.elapsed() < SOON);
    let slow = step(&all, "slow");
    assert_eq!(slow["status"], "failed");
    assert!(
        slow["error"]
            .as_str()
            .unwrap()
            .contains("longer than allowed"),
        "{slow}"
    );
    assert_eq!(all["context"]["said"], "partial\n");
    assert_eq!(all["context"]["seen"], "[partial\n]\n");
    let folder = Folder::with("a.yaml", recipe.replace("on_error: continue, ", ""));
    let said = folder.rrc(&["run", "a.yaml"]).go().exits(1);
    let text = text_of(&said);
    assert!(
        text.contains("partial") && text.contains("oops") && text.contains("slow"),
        "{text}"
    );
}

#[test]
fn success_after_our_signal_is_a_deadline_all_the_same() {
    let folder = Folder::new();
    let script = hostile("polite.sh");
    let recipe = amplifier(&format!(
        "- {{id: a, type: bash, timeout: 0.5, output: said, on_error: continue, command: '{script} pid'}}\n"
    ));
    folder.write("a.yaml", recipe);
    let all = crate::run(&folder, &[], 0);
    assert_eq!(step(&all, "a")["status"], "failed");
    let said = all["context"]["said"].as_str().unwrap();
    assert!(
        said.contains("before") && said.contains("cleaned up"),
        "{said:?}"
    );
}

#[test]
fn the_whole_run_has_a_deadline_as_well() {
    let recipe = amplifier(
        "- {id: a, type: bash, command: 'sleep 100'}\n- {id: b, type: bash, command: touch b}\n",
    );
    let folder = Folder::with("a.yaml", recipe);
    let all = crate::run(&folder, &["--timeout", "0.3"], 1);
    assert_eq!(all["status"], "failed");
    assert!(
        all["error"]
            .as_str()
            .unwrap()
            .contains("longer than allowed"),
        "{all}"
    );
    assert!(!folder.has("b"));
}

/// A run of a script that tells its number.
fn started(folder: &Folder, script: &str, format: &str) -> (Running, u32) {
    let command = format!("{} pid", hostile(script));
    let steps = format!(
        "- {{id: a, type: bash, command: '{command}', on_error: continue}}\n\
         - {{id: b, type: bash, command: touch b}}\n"
    );
    folder.write("a.yaml", amplifier(&steps));
    let running = folder
        .rrc(&["run", "a.yaml", "--output-format", format])
        .start();
    let pid = ready(folder, "pid");
    (running, pid)
}

#[test]
fn a_signal_ends_the_run_and_its_children() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let folder = Folder::new();
        let (running, pid) = started(&folder, "polite.sh", "json");
        let asked = Instant::now();
        running.signal(signal);
        let said = running.end().exits(code);
        assert!(
            asked.elapsed() < Duration::from_secs(4),
            "{:?}",
            asked.elapsed()
        );
        assert!(!alive(pid));
        let all = said.json();
        assert_eq!(all["status"], "cancelled", "{all}");
        assert_eq!(all["success"], false);
        assert!(!folder.has("b"), "nothing starts after a signal");
    }
}

/// Without times, which differ.
fn untimed(said: &str) -> String {
    let timeless = |part: &&str| !part.contains("duration_ms") && !part.contains("\"ts\"");
    let lines = said.lines().map(|line| match line.starts_with('{') {
        true => line
            .split(',')
            .filter(timeless)
            .collect::<Vec<_>>()
            .join(","),
        false => line.split(" in ").take(1).collect(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What a run says in a format, and says again when it is shown again; the exit code is the same.
fn twice(folder: &Folder, file: &str, format: &str) -> ([String; 2], i32) {
    let _ = std::fs::remove_dir_all(folder.file(".rrc"));
    let format = ["--output-format", format];
    let live = [&["run", file][..], &format].concat();
    let live = folder.rrc(&live).go();
    let code = live.code.expect("it ended by itself");
    let runs = std::fs::read_dir(folder.file(".rrc/runs")).expect("the run is recorded");
    let name = runs.flatten().next().expect("there is one").file_name();
    let replay = ["run", "--replay", &name.to_string_lossy()];
    let again = folder
        .rrc(&[&replay[..], &format].concat())
        .go()
        .exits(code);
    ([untimed(&live.out), untimed(&again.out)], code)
}

#[test]
fn a_replay_ends_as_the_run_did_with_a_signal() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let command = format!("echo so far; kill -{signal} $PPID; sleep 60");
        let steps = format!("  - {{id: a, type: bash, command: '{command}'}}\n");
        let folder = Folder::with("main.yaml", amplifier(&steps));
        folder.write(
            "t.json",
            format!(r#"{{"parallel": true, "template": ["sh -c '{command}'", "true"]}}"#),
        );
        for format in ["text", "events", "json"] {
            let ([live, again], ended) = twice(&folder, "main.yaml", format);
            assert_eq!((&live, code), (&again, ended));
            assert!(format != "text" || live.contains("cancelled a"), "{live}");
            let ([live, again], ended) = twice(&folder, "t.json", format);
            assert_eq!((live, code), (again, ended));
        }
        // Nothing was passed over: it was ended with the run.
        let said = folder.rrc(&["run", "t.json"]).go().exits(code);
        assert_eq!(said.err, "rrc: the run was stopped\n");
    }
}

/// The signal may come when nothing is left to be stopped.
#[test]
fn a_signal_at_the_end_is_shown_again() {
    let steps = "- {id: a, type: bash, command: 'kill -TERM $PPID; exit 1'}\n";
    let folder = Folder::with("main.yaml", amplifier(steps));
    for _ in 0..15 {
        let ([live, again], code) = twice(&folder, "main.yaml", "text");
        assert_eq!(live, again);
        assert!([1, 143].contains(&code), "{code}");
    }
}

#[test]
fn what_a_loop_sets_for_its_turns_is_gone_when_the_run_is_stopped() {
    let stop = "if test -e there; then kill -INT $PPID; sleep 20; fi; touch there; echo";
    let recipe = format!(
        "# rrc: dialect = amplihack\nname: t\ncontext: {{xs: [a, b], x: outer, n: 0}}\nsteps:\n\
         - id: each\n  foreach: '{{{{xs}}}}'\n  as: x\n  steps:\n\
         \x20 - id: again\n    while_condition: n == 0\n    update_context: {{n: '1'}}\n    steps:\n\
         \x20   - id: inner\n      foreach: '{{{{xs}}}}'\n      as: y\n      steps:\n\
         \x20     - {{id: nap, command: '{stop} {{{{x}}}}{{{{y}}}}'}}\n"
    );
    let folder = Folder::with("a.yaml", recipe);
    let said = folder.rrc(&["run", "a.yaml", "--output-format", "json"]);
    let all = said.go().exits(130).json();
    let mut context = serde_json::json!({"xs": ["a", "b"], "x": "outer", "n": 0, "nap": "aa"});
    // What the turn gave that came to its end is there, as it would be of a loop without `steps`.
    context["inner"] = "aa".into();
    assert_eq!(all["context"], context, "{all}");
}

#[test]
fn a_second_signal_does_not_wait_for_the_stubborn() {
    let folder = Folder::new();
    let (running, pid) = started(&folder, "stubborn.sh", "text");
    running.signal("INT");
    std::thread::sleep(Duration::from_millis(300));
    assert!(alive(pid), "it is given time to end");
    let asked = Instant::now();
    running.signal("INT");
    running.end().exits(130);
    assert!(
        asked.elapsed() < Duration::from_secs(3),
        "{:?}",
        asked.elapsed()
    );
    assert!(!alive(pid));
}

#[test]
fn what_a_paused_run_waits_for_is_asked_to_end_before_it_is_ended() {
    let folder = Folder::new();
    folder.write(
        "gate.yaml",
        "name: g\nversion: 1.0.0\ndescription: d\nstages:\n\
         - {name: one, approval: {required: true, prompt: 'go?'}, steps: [{id: x, type: bash, command: 'true'}]}\n\
         - {name: two, steps: [{id: y, type: bash, command: 'true'}]}\n",
    );
    let trap = "trap \"touch cleaned; exit 3\" TERM; echo $$ > pid; while :; do sleep 0.1; done";
    let steps = format!(
        "- {{id: a, type: recipe, parallel_group: g, recipe: gate.yaml}}\n\
         - {{id: b, type: bash, parallel_group: g, command: '{trap}'}}\n"
    );
    folder.write("a.yaml", amplifier(&steps));
    for (args, code) in [(&[][..], 143), (&["--timeout", "3"][..], 1)] {
        let mut all = vec!["run", "a.yaml", "--output-format", "events"];
        all.extend(args);
        let running = folder.rrc(&all).start();
        ready(&folder, "pid");
        std::thread::sleep(Duration::from_millis(500));
        if args.is_empty() {
            running.signal("TERM");
        }
        running.end().exits(code).out_has("approval:requested");
        assert!(folder.has("cleaned"));
        std::fs::remove_file(folder.file("cleaned")).unwrap();
        std::fs::remove_file(folder.file("pid")).unwrap();
    }
}

#[test]
fn the_stubborn_are_ended_after_their_time() {
    let folder = Folder::new();
    let (running, pid) = started(&folder, "stubborn.sh", "text");
    let asked = Instant::now();
    running.signal("TERM");
    running.end().exits(143);
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
    assert!(!alive(pid));
}

#[test]
fn an_interrupted_run_tells_its_events_to_the_end() {
    let folder = Folder::new();
    let (running, _) = started(&folder, "polite.sh", "events");
    running.signal("INT");
    let said = running.end().exits(130);
    let lines = said.lines();
    crate::events::lawful(&lines);
    assert_eq!(lines.last().unwrap()["status"], "cancelled");
}

#[test]
fn what_a_step_leaves_behind_is_gone_after_the_run() {
    let folder = Folder::new();
    let mark = format!("leftmark{}a", std::process::id());
    let command = format!("{} {mark}", hostile("leaves_behind.sh"));
    let steps = format!(
        "- {{id: a, type: bash, command: '{command}', output: said}}\n\
         - {{id: b, type: bash, command: 'sleep 100 & echo {mark}'}}\n"
    );
    folder.write("a.yaml", amplifier(&steps));
    let begun = Instant::now();
    let all = crate::run(&folder, &[], 0);
    assert!(begun.elapsed() < SOON, "nobody waits for what was left");
    assert_eq!(all["context"]["said"], "left\n");
    all_gone(&mark);
}

#[test]
fn what_escaped_is_gone_after_a_deadline_and_after_a_signal() {
    for signal in [None, Some("INT")] {
        let folder = Folder::new();
        let mark = format!(
            "leftmark{}{}",
            std::process::id(),
            signal.unwrap_or("deadline")
        );
        let command = format!(
            "{} {mark}; echo $$ > pid; sleep 100",
            hostile("leaves_behind.sh")
        );
        let timeout = if signal.is_some() { 100 } else { 4 };
        let steps = format!("- {{id: a, type: bash, timeout: {timeout}, command: '{command}'}}\n");
        folder.write("a.yaml", amplifier(&steps));
        let running = folder.rrc(&["run", "a.yaml"]).start();
        ready(&folder, "pid");
        if let Some(signal) = signal {
            assert!(processes_with(&mark).len() > 3, "there is something to end");
            running.signal(signal);
        }
        running.end().exits(if signal.is_some() { 130 } else { 1 });
        all_gone(&mark);
    }
}

#[test]
fn killing_rrc_leaves_nothing() {
    let folder = Folder::new();
    let mark = format!("leftmark{}kill", std::process::id());
    let command = format!(
        "{} {mark}; echo $$ > pid; sleep 100; : {mark}",
        hostile("leaves_behind.sh")
    );
    let steps = format!("- {{id: a, type: bash, command: '{command}'}}\n");
    folder.write("a.yaml", amplifier(&steps));
    let running = folder.rrc(&["run", "a.yaml"]).start();
    let pid = ready(&folder, "pid");
    running.signal("KILL");
    let said = running.end();
    assert_eq!(said.signal, Some(9));
    let gone = eventually(Duration::from_secs(8), || {
        processes_with(&mark).is_empty() && !alive(pid)
    });
    assert!(gone, "left behind: {:?}", processes_with(&mark));
}

#[test]
fn children_have_no_terminal_and_none_of_our_descriptors() {
    let list = "cat; ls /proc/self/fd | tr \"\\n\" \" \"";
    let steps = format!("- {{id: a, type: bash, command: '{list}', output: said}}\n");
    let folder = Folder::with("a.yaml", amplifier(&steps));
    let all = crate::run(&folder, &[], 0);
    // Whoever runs the tests may have left some open for everybody.
    let without = folder.sh(list).go().exits(0);
    assert_eq!(all["context"]["said"], without.out);
}

#[test]
fn no_temporary_file_is_left() {
    let folder = Folder::new();
    let temporary = folder.file("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let big = "x".repeat(300_000);
    let steps = "- {id: a, type: bash, command: 'echo {{v}} | wc -c', output: n}\n";
    let recipe = format!("context: {{v: {big}}}\n{}", amplifier(steps));
    folder.write("a.yaml", recipe);
    let rrc = folder.rrc(&["run", "a.yaml", "--output-format", "json"]);
    let said = rrc.env("TMPDIR", temporary.to_str().unwrap()).go().exits(0);
    assert_eq!(
        said.json()["context"]["n"].as_str().unwrap().trim(),
        "300001"
    );
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

/// What /proc says of a process: the line of this name, as bits.
#[cfg(target_os = "linux")]
fn bits(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    u64::from_str_radix(line.expect("such a line").trim(), 16).expect("bits")
}

#[test]
#[cfg(target_os = "linux")]
fn children_get_signals_and_limits_as_rrc_was_given_them() {
    const HUP: u64 = 1 << 0;
    const PIPE: u64 = 1 << 12;
    // rrc raises its own limit, ignores PIPE and handles the others; none of that is for children.
    // `cat` tells of itself: a shell handles signals of its own.
    let command = "ulimit -Sn > limit; exec cat /proc/self/status";
    let steps = format!("- {{id: a, type: bash, output: status, command: '{command}'}}\n");
    let folder = Folder::with("a.yaml", amplifier(&steps));
    let run = "\"$RRC\" run a.yaml --output-format json";
    for (before, ignored) in [("", 0), ("trap '' HUP; ", HUP)] {
        let script = format!("{before}ulimit -Sn 100; {run}");
        let report = folder.sh(&script).go().exits(0).json();
        let status = report["context"]["status"].as_str().expect("a text");
        assert_eq!(bits(status, "SigBlk:"), 0, "{status}");
        assert_eq!(bits(status, "SigCgt:"), 0, "{status}");
        let seen = bits(status, "SigIgn:");
        assert_eq!(seen & (HUP | PIPE), ignored, "{status}");
        assert_eq!(folder.read("limit").trim(), "100");
    }
}

/// A step that needs a moment to put things in order when its time is over.
const ORDERLY: &str = "trap 'echo late; sleep 0.5; echo late; touch tidy; exit 0' TERM; \
                       touch began; sleep 100 & wait";

#[test]
fn what_ends_with_the_step_around_it_has_its_time_too() {
    let body = format!("steps: [{{id: in, type: bash, stream: true, command: \"{ORDERLY}\"}}]");
    let kinds = [
        format!("foreach: '{{{{list}}}}', {body}"),
        "type: recipe, recipe: ./sub.yaml".to_string(),
        "type: template, template: {template: bash orderly.sh}".to_string(),
    ];
    for kind in kinds {
        let folder = Folder::new();
        folder.write("orderly.sh", ORDERLY);
        let inner = format!("- {{id: in, type: bash, stream: true, command: \"{ORDERLY}\"}}\n");
        folder.write("sub.yaml", amplifier(&inner));
        let context = "context: {list: [1]}\n";
        let last = format!("- {{id: around, timeout: 1, {kind}}}\n");
        folder.write("a.yaml", format!("{context}{}", amplifier(&last)));
        crate::run(&folder, &[], 1);
        assert!(folder.has("began") && folder.has("tidy"), "{kind}");
        // And nothing comes next as long as it does.
        std::fs::remove_file(folder.file("tidy")).expect("it is there");
        let steps = format!(
            "- {{id: around, timeout: 1, on_error: continue, {kind}}}\n\
             - {{id: next, type: bash, command: ls tidy}}\n"
        );
        folder.write("a.yaml", format!("{context}{}", amplifier(&steps)));
        let run = ["run", "a.yaml", "--output-format", "events"];
        let events = folder.rrc(&run).go().exits(0).lines();
        let outside = |event: &&serde_json::Value| event["line"] == "late";
        assert_eq!(events.iter().find(outside), None, "{kind}");
    }
}

#[test]
fn what_ends_with_the_step_around_it_can_be_hurried() {
    let folder = Folder::new();
    let stubborn = "trap '' TERM; echo $$ > pid; sleep 100; sleep 100";
    let steps = format!(
        "- {{id: around, timeout: 0.5, foreach: '{{{{list}}}}', \
         steps: [{{id: in, type: bash, command: \"{stubborn}\"}}]}}\n"
    );
    folder.write(
        "a.yaml",
        format!("context: {{list: [1]}}\n{}", amplifier(&steps)),
    );
    let running = folder.rrc(&["run", "a.yaml"]).start();
    let pid = ready(&folder, "pid");
    std::thread::sleep(Duration::from_secs(1));
    let asked = Instant::now();
    running.signal("TERM");
    std::thread::sleep(Duration::from_millis(100));
    running.signal("TERM");
    running.end().exits(143);
    assert!(asked.elapsed() < Duration::from_secs(3));
    assert!(eventually(SOON, || !alive(pid)));
}

#[test]
fn signals_that_were_blocked_end_a_run_all_the_same() {
    let folder = Folder::new();
    let steps = "- {id: a, type: bash, command: 'echo $$ > pid; sleep 100'}\n";
    folder.write("a.yaml", amplifier(steps));
    let block = "env --block-signal=INT,TERM,HUP";
    if folder.sh(&format!("{block} true")).go().code != Some(0) {
        eprintln!("skipped: this env blocks no signals");
        return;
    }
    let running = folder
        .sh(&format!("exec {block} \"$RRC\" run a.yaml"))
        .start();
    ready(&folder, "pid");
    running.signal("TERM");
    running.end().exits(143);
}

#[test]
fn what_hides_is_found_when_rrc_is_killed() {
    let hidden = "env -i setsid sleep 3217";
    let killed = "kill -9 $PPID; exec sleep 3217";
    let ways = [
        // The first child may be what kills it.
        vec![killed.to_string()],
        // Below a step that runs: no marker, and a group of its own.
        vec![format!("{hidden} & sleep 0.2; {killed}")],
        // Left by a step that has ended.
        vec![
            format!("{hidden} > /dev/null 2>&1 &"),
            format!("sleep 0.3; {killed}"),
        ],
        // Left by what stood between it and a step that runs on.
        vec![format!("({hidden} &); sleep 0.2; {killed}")],
        // Left by a step that is tried again, while nothing else runs.
        vec![format!(
            "(env -i setsid sh -c \"sleep 0.3; kill -9 $PPID; exec sleep 3217\" > /dev/null 2>&1 &); exit 1"
        )],
    ];
    for (mark, way) in (32170..).zip(ways) {
        for _ in 0..10 {
            let folder = Folder::new();
            let steps: String = (0..)
                .zip(&way)
                .map(|(number, command)| {
                    let command = command.replace("3217", &mark.to_string());
                    let pause = "retry: {initial_delay: 20}";
                    format!("- {{id: s{number}, type: bash, command: '{command}', {pause}}}\n")
                })
                .collect();
            folder.write("a.yaml", amplifier(&steps));
            let said = folder.rrc(&["run", "a.yaml"]).go();
            assert_eq!(said.code, None, "it was killed");
            all_gone(&format!("sleep {mark}"));
        }
    }
}

#[test]
fn what_was_there_before_rrc_is_not_ended_by_it() {
    let folder = Folder::new();
    let steps = "- {id: a, type: bash, command: 'sleep 32181 &'}\n";
    folder.write("a.yaml", amplifier(steps));
    let before = "sleep 32180 > /dev/null 2>&1 & echo $! > pid; exec \"$RRC\" run a.yaml";
    folder.sh(before).go().exits(0);
    let pid = ready(&folder, "pid");
    assert!(alive(pid));
    all_gone("sleep 32181");
    folder.sh(&format!("kill {pid}")).go();
}

/// A recipe has no process of its own: its code is 0, or that of the step that failed it.
#[test]
fn a_recipe_has_an_exit_code() {
    let folder = Folder::new();
    for (name, step) in [
        ("good", "command: echo hi"),
        ("three", "command: exit 3"),
        ("text", "command: echo no, parse_json: true"),
        ("slow", "command: sleep 60"),
    ] {
        let steps = format!("- {{id: x, type: bash, {step}}}\n");
        folder.write(&format!("{name}.yaml"), amplifier(&steps));
    }
    let call = |id: &str, how: &str| {
        format!("- {{id: {id}, on_error: continue, output_exit_code: {id}_code, {how}}}\n")
    };
    let steps = [
        call("good", "type: recipe, recipe: good.yaml"),
        call("three", "type: recipe, recipe: three.yaml"),
        call("text", "type: recipe, recipe: text.yaml"),
        call("slow", "type: recipe, recipe: slow.yaml, timeout: 0.2"),
        call("inline", "type: template, template: sleep 60, timeout: 0.2"),
        "- {id: pick, type: bash, command: printf good.yaml, output: name}\n".to_string(),
        call("found", "type: recipe, recipe: '{{name}}'"),
        call(
            "each",
            "type: recipe, foreach: '{{list}}', recipe: good.yaml",
        ),
    ];
    let recipe = format!("context: {{list: [1]}}\n{}", amplifier(&steps.concat()));
    folder.write("a.yaml", recipe);
    let all = run(&folder, &[], 0);
    for (id, code) in [
        ("good", 0),
        ("three", 3),
        ("text", 1),
        ("slow", 124),
        ("inline", 124),
        ("found", 0),
        ("each", 0),
    ] {
        assert_eq!(all["context"][format!("{id}_code")], code, "{id}: {all}");
    }
}
