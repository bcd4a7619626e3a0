//! Runs whose output nobody reads for now: `rrc run | less` is one.

use crate::binary::{Folder, eventually};
use std::io::{PipeReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(60);

/// A run of `a.yaml`, and what it says as far as somebody reads it.
fn unread(folder: &Folder, args: &[&str]) -> (Child, PipeReader) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let errors = writer.try_clone().expect("a descriptor");
    let run = Command::new(env!("CARGO_BIN_EXE_rrc"))
        .args(["run", "a.yaml"])
        .args(args)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(errors)
        .spawn()
        .expect("rrc can be started");
    (run, reader)
}

fn loud(command: &str, fields: &str) -> Folder {
    let step = format!("{{id: loud, type: bash, stream: true, {fields}command: \"{command}\"}}");
    let recipe = format!(
        "name: a\ndescription: x\nsteps:\n- {step}\n- {{id: after, type: bash, command: touch after}}\n"
    );
    Folder::with("a.yaml", recipe)
}

fn signal(run: &Child, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &run.id().to_string()])
        .status();
    assert!(sent.is_ok_and(|status| status.success()));
}

#[track_caller]
fn end(run: &mut Child) -> ExitStatus {
    let started = Instant::now();
    while started.elapsed() < SOON {
        if let Some(status) = run.try_wait().expect("it can be waited for") {
            return status;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let _ = run.kill();
    panic!("it does not end");
}

fn has_gone(folder: &Folder) -> bool {
    has_gone_within(folder, SOON)
}

fn has_gone_within(folder: &Folder, time: Duration) -> bool {
    eventually(time, || {
        let pid = std::fs::read_to_string(folder.file("pid")).unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        !pid.is_empty() && stat.is_err()
    })
}

#[test]
fn deadlines_hold_and_signals_end_it() {
    // More than a pipe holds, and more than may wait to be read.
    for lines in [40_000, 400_000] {
        let command = format!("echo $$ > pid; yes | head -n {lines}; touch said; exec sleep 100");
        let folder = loud(&command, "timeout: 1, continue_on_error: true, ");
        let (mut run, reader) = unread(&folder, &["--output-format", "events"]);
        assert!(has_gone(&folder), "{lines}");
        signal(&run, "TERM");
        let ended = end(&mut run);
        // Where the run had come to its end, a signal ends rrc as it ends any program.
        assert!(
            ended.code() == Some(143) || ended.signal() == Some(15),
            "{ended:?}"
        );
        drop(reader);
    }
}

#[test]
fn the_run_has_its_deadline_as_well() {
    let folder = loud("echo $$ > pid; yes; exec sleep 100", "");
    let (mut run, _reader) = unread(&folder, &["--timeout", "1"]);
    assert!(has_gone(&folder));
    signal(&run, "TERM");
    assert!(!end(&mut run).success());
}

#[test]
fn the_first_signal_lets_it_end_and_the_second_does_not() {
    let trap = "trap 'yes | head -n 40000; touch cleaned; exit 3' TERM";
    let folder = loud(
        &format!("{trap}; yes | head -n 300000 & touch up; while :; do sleep 0.1; done"),
        "",
    );
    let (mut run, _reader) = unread(&folder, &["--output-format", "events"]);
    assert!(eventually(SOON, || folder.has("up")));
    std::thread::sleep(Duration::from_millis(500));
    signal(&run, "INT");
    assert_eq!(end(&mut run).code(), Some(130));
    assert!(folder.has("cleaned"));

    let folder = loud(
        "trap '' TERM; echo $$ > pid; touch up; yes | head -n 300000; while :; do sleep 0.1; done",
        "",
    );
    let (mut run, _reader) = unread(&folder, &["--output-format", "events"]);
    assert!(eventually(SOON, || folder.has("up")));
    std::thread::sleep(Duration::from_millis(300));
    signal(&run, "TERM");
    std::thread::sleep(Duration::from_millis(300));
    assert!(!has_gone_within(&folder, Duration::ZERO));
    signal(&run, "TERM");
    assert!(has_gone_within(&folder, Duration::from_secs(3)));
    assert_eq!(end(&mut run).code(), Some(143));
}

#[test]
fn a_reader_who_comes_late_reads_everything_in_order() {
    let folder = loud("seq 1 500000", "");
    let (mut run, mut reader) = unread(&folder, &["--output-format", "events"]);
    std::thread::sleep(Duration::from_secs(2));
    assert!(!folder.has("after"));
    let status = std::fs::read_to_string(format!("/proc/{}/status", run.id())).unwrap_or_default();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let memory = memory.map(|size| size.trim().trim_end_matches(" kB").parse::<u64>());
    // All of it would be more than 115 MB.
    assert!(matches!(memory, Some(Ok(kb)) if kb < 100_000), "{memory:?}");
    let mut said = String::new();
    reader.read_to_string(&mut said).expect("text");
    assert!(end(&mut run).success());
    assert!(folder.has("after"));
    let said: Vec<serde_json::Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).expect("json"))
        .collect();
    let numbers = said.iter().map(|event| event["seq"].as_u64());
    assert!(numbers.eq((0..said.len() as u64).map(Some)));
    let lines = said.iter().filter_map(|event| event["line"].as_str());
    assert!(lines.eq((1..=500_000).map(|number| number.to_string())));
    assert_eq!(said.last().expect("an end")["event"], "run:end");
}
