//! The life and end of children, hostile ones included.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a suite fails by panicking"
)]

mod children;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use children::{
    alone, bash, done, hostile, kind, mark, new_loop, run, run_in, sleeping, survivors, text, until,
};
use rrc_runtime::process::{ErrorKind, Happened, Request, Signal, Stream};

#[test]
fn exit_codes_and_signals_do_not_look_alike() {
    let _alone = alone();
    for portable in [false, true] {
        let fine = run_in(portable, bash("echo out; echo err >&2"));
        assert_eq!(
            (fine.exit_code, fine.signal, &fine.error),
            (Some(0), None, &None)
        );
        assert_eq!((text(&fine.stdout), text(&fine.stderr)), ("out\n", "err\n"));
        assert!(!fine.stdout_truncated && !fine.timed_out && !fine.cancelled);

        let failed = run_in(portable, bash("exit 3"));
        assert_eq!((failed.exit_code, failed.signal), (Some(3), None));
        assert_eq!(kind(&failed), Some(ErrorKind::NonzeroExit));

        let killed = run_in(portable, bash("kill -9 $$"));
        assert_eq!((killed.exit_code, killed.signal), (None, Some(9)));
        assert_eq!(kind(&killed), Some(ErrorKind::Signaled));
    }
}

#[test]
fn every_kind_has_its_own_word_and_text() {
    for (at, kind) in ErrorKind::ALL.iter().enumerate() {
        for other in &ErrorKind::ALL[at + 1..] {
            assert_ne!(kind.word(), other.word());
            assert_ne!(kind.message(), other.message());
        }
    }
}

#[test]
fn what_cannot_start_says_why() {
    let _alone = alone();
    let directory = std::env::temp_dir().join(format!("rrc-process-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let plain = directory.join("plain");
    std::fs::write(&plain, "echo no\n").unwrap();
    let bad = directory.join("bad-interpreter");
    std::fs::write(&bad, "#!/nowhere/sh\n").unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&bad, std::fs::Permissions::from_mode(0o755)).unwrap();

    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let env = |name: &str, value: String| Request {
        env: vec![(name.to_owned(), value)],
        ..bash("true")
    };
    let on_path = |word: &str| Request {
        env: vec![("PATH".to_owned(), path(&directory))],
        ..Request::new(word)
    };
    let in_cwd = |cwd: PathBuf| Request {
        cwd,
        ..bash("true")
    };
    let cases = [
        (Request::new("no-such-program"), ErrorKind::CommandNotFound),
        (Request::new("/no/such/program"), ErrorKind::CommandNotFound),
        (Request::new(path(&plain)), ErrorKind::PermissionDenied),
        (on_path("plain"), ErrorKind::PermissionDenied),
        (on_path("bash"), ErrorKind::CommandNotFound),
        (Request::new(path(&directory)), ErrorKind::PermissionDenied),
        (Request::new(path(&bad)), ErrorKind::SpawnFailed),
        (in_cwd(directory.join("missing")), ErrorKind::InvalidCwd),
        (in_cwd(plain.clone()), ErrorKind::InvalidCwd),
        (Request::new(""), ErrorKind::InvalidRequest),
        (Request::new("a\0b"), ErrorKind::InvalidRequest),
        (env("A", "x\0y".to_owned()), ErrorKind::InvalidRequest),
        (env("A", "x".repeat(100 * 1024)), ErrorKind::InvalidRequest),
        (env("A=B", "x".to_owned()), ErrorKind::InvalidRequest),
        (
            Request {
                timeout: Some(Duration::ZERO),
                ..bash("true")
            },
            ErrorKind::InvalidRequest,
        ),
        (
            Request {
                vars: vec![("A; rm".to_owned(), "x".to_owned())],
                ..bash("true")
            },
            ErrorKind::InvalidRequest,
        ),
        (
            Request {
                vars: vec![("A".to_owned(), "x".repeat(300_000))],
                ..Request::new("true")
            },
            ErrorKind::InvalidRequest,
        ),
    ];
    for (request, expected) in cases {
        let shown = format!("{:?} in {:?}", request.program, request.cwd);
        let outcome = run(request);
        assert_eq!(
            kind(&outcome),
            Some(expected),
            "{shown}: {:?}",
            outcome.error
        );
        assert_eq!((outcome.exit_code, outcome.signal), (None, None));
    }
    // A path with a slash is taken from the working directory and not searched for.
    let relative = Request {
        cwd: PathBuf::from("/bin"),
        ..Request::new("./echo")
    };
    assert_eq!(run(relative).exit_code, Some(0));
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_timeout_is_one_whatever_the_child_makes_of_it() {
    let _alone = alone();
    for portable in [false, true] {
        let mark = mark();
        let limited = |name| Request {
            timeout: Some(Duration::from_millis(200)),
            ..hostile(name, &mark)
        };
        let honoured = run_in(
            portable,
            Request {
                grace: Duration::from_secs(5),
                ..limited("honour_term.sh")
            },
        );
        assert!(honoured.timed_out && honoured.exit_code.is_none() && honoured.signal.is_none());
        assert_eq!(kind(&honoured), Some(ErrorKind::Timeout));
        assert_eq!(text(&honoured.stdout), "ready\nbye\n");
        assert!(
            honoured.duration < Duration::from_secs(3),
            "{:?}",
            honoured.duration
        );

        for name in ["ignore_term.sh", "late_member.sh", "setsid_escape.sh"] {
            let outcome = run_in(portable, limited(name));
            assert!(outcome.timed_out, "{name}");
            assert!(!outcome.stdout.is_empty(), "{name}: partial output is kept");
            // The streams may take 200 ms; the rest is for a busy machine.
            let most = Duration::from_millis(200 + 300 + 500);
            assert!(outcome.duration < most, "{name}: {:?}", outcome.duration);
            assert_eq!(survivors(&mark), 0, "{name}");
        }
    }
}

#[test]
fn what_a_timed_out_daemon_hides_is_ended_before_the_outcome() {
    let _alone = alone();
    let mark = mark();
    let mut children = new_loop(false);
    let mut request = hostile("double_fork.sh", &mark);
    request.args.push("hang".to_owned());
    request.timeout = Some(Duration::from_millis(300));
    children.start(request);
    assert!(done(&mut children).timed_out);
    assert_eq!(survivors(&mark), 0);
    // Nothing is left for the sweep.
    assert_eq!(children.sweep(), 0);
}

#[test]
fn an_end_before_the_limit_is_no_timeout() {
    let _alone = alone();
    let outcome = run(Request {
        timeout: Some(Duration::from_secs(5)),
        ..bash("sleep 0.05; exit 4")
    });
    assert_eq!((outcome.exit_code, outcome.timed_out), (Some(4), false));
}

#[test]
fn background_work_neither_delays_a_step_nor_outlives_the_run() {
    let _alone = alone();
    for portable in [false, true] {
        for name in ["background.sh", "double_fork.sh", "no_environment.sh"] {
            let mark = mark();
            let mut children = new_loop(portable);
            children.start(hostile(name, &mark));
            let outcome = done(&mut children);
            assert_eq!(outcome.exit_code, Some(0), "{name}");
            assert_eq!(text(&outcome.stdout), "started\n", "{name}");
            assert!(
                outcome.duration < Duration::from_millis(400),
                "{:?}",
                outcome.duration
            );
            // A later step may want to talk to it.
            until("it has started", || sleeping(&mark) > 0);
            let begun = Instant::now();
            assert!(children.sweep() > 0, "{name}");
            assert!(
                begun.elapsed() < Duration::from_millis(500),
                "{:?}",
                begun.elapsed()
            );
            assert_eq!(survivors(&mark), 0, "{name}");
        }
    }
}

#[test]
fn stopping_and_killing() {
    let _alone = alone();
    for portable in [false, true] {
        let mark = mark();
        let mut children = new_loop(portable);
        let polite = children.start(Request {
            stream: true,
            ..hostile("honour_term.sh", &mark)
        });
        assert!(matches!(children.wait(), Happened::Output(id, Stream::Out, _) if id == polite));
        children.stop(polite);
        let outcome = done(&mut children);
        assert!(outcome.cancelled && !outcome.timed_out && outcome.exit_code.is_none());
        assert_eq!(kind(&outcome), Some(ErrorKind::Interrupted));
        assert_eq!(text(&outcome.stdout), "ready\nbye\n");

        let deaf = children.start(hostile("ignore_term.sh", &mark));
        children.kill(deaf);
        let outcome = done(&mut children);
        assert!(outcome.cancelled && outcome.duration < Duration::from_millis(250));

        // Stopped by job control: it can still be asked to end.
        let frozen = children.start(bash("kill -STOP $$"));
        std::thread::sleep(Duration::from_millis(50));
        children.stop(frozen);
        assert!(done(&mut children).duration < Duration::from_secs(2));

        // Ids of the past are nobody's.
        children.stop(polite);
        children.kill(deaf);
        assert!(matches!(children.wait(), Happened::Idle));
        assert_eq!(survivors(&mark), 0);
    }
}

#[test]
fn a_sweep_ends_running_children_too() {
    let _alone = alone();
    let mark = mark();
    let mut children = new_loop(false);
    for name in ["ignore_term.sh", "setsid_escape.sh", "double_fork.sh"] {
        children.start(hostile(name, &mark));
    }
    until("they have started", || sleeping(&mark) > 3);
    children.sweep();
    assert_eq!((children.running(), survivors(&mark)), (0, 0));
    for _ in 0..3 {
        assert!(matches!(children.wait(), Happened::Done(..)));
    }
    assert!(matches!(children.wait(), Happened::Idle));
}

#[test]
fn two_hundred_at_once() {
    let _alone = alone();
    for portable in [false, true] {
        let mut children = new_loop(portable);
        let begun = Instant::now();
        for _ in 0..200 {
            let mut request = Request::new("sleep");
            request.args = vec!["0.3".to_owned()];
            children.start(request);
        }
        assert_eq!(children.running(), 200);
        for _ in 0..200 {
            assert_eq!(done(&mut children).exit_code, Some(0));
        }
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "{:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn two_hundred_stopped_at_once() {
    let _alone = alone();
    let mark = mark();
    let mut children = new_loop(false);
    let mut ids = Vec::new();
    for _ in 0..200 {
        let mut request = Request::new("sleep");
        request.args = vec![mark.clone()];
        ids.push(children.start(request));
    }
    let begun = Instant::now();
    ids.iter().for_each(|id| children.stop(*id));
    for _ in 0..200 {
        assert!(done(&mut children).cancelled);
    }
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(survivors(&mark), 0);
}

#[test]
fn timers_and_children_share_the_loop() {
    let _alone = alone();
    let mut children = new_loop(false);
    let late = children.sleep(Duration::from_millis(200));
    let early = children.sleep(Duration::from_millis(20));
    let never = children.sleep(Duration::from_millis(30));
    let endless = children.sleep(Duration::MAX);
    children.cancel_timer(never);
    children.cancel_timer(endless);
    children.start(bash("sleep 0.1"));
    assert!(matches!(children.wait(), Happened::Timer(timer) if timer == early));
    assert!(matches!(children.wait(), Happened::Done(..)));
    assert!(matches!(children.wait(), Happened::Timer(timer) if timer == late));
    assert!(matches!(children.wait(), Happened::Idle));
}

#[test]
fn nothing_leaks() {
    let _alone = alone();
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let mut children = new_loop(false);
    let mut spawn = |n: usize| {
        let request = match n % 5 {
            0 => Request::new("no-such-program"),
            1 => Request {
                vars: vec![("V".to_owned(), "x".repeat(100_000))],
                ..bash("true")
            },
            2 => Request {
                stdin: Some(vec![0; 100_000]),
                ..Request::new("true")
            },
            3 => Request {
                timeout: Some(Duration::from_secs(60)),
                ..Request::new("false")
            },
            _ => Request::new("true"),
        };
        children.start(request);
        done(&mut children);
    };
    (0..5).for_each(&mut spawn);
    let before = open();
    (0..500).for_each(&mut spawn);
    assert_eq!(open(), before);
}

/// A program with a loop, a watchdog and signal handling, to be treated badly.
fn host(args: &[&str]) -> Command {
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().nth(2).unwrap();
    let mut command = Command::new(target.join("examples/spawns"));
    command.args(args).stdout(std::process::Stdio::piped());
    command
}

/// What only the watchdog of a host has in its command line.
fn watchdog_of(host: &std::process::Child) -> String {
    format!("rrc-watchdog\0spawns-{}-", host.id())
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

fn hostile_text(name: &str, mark: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/hostile")
        .join(name);
    format!("bash '{}' {mark} hang & wait", file.display())
}

#[test]
fn nothing_survives_a_killed_rrc() {
    let _alone = alone();
    for name in [
        "ignore_term.sh",
        "setsid_escape.sh",
        "double_fork.sh",
        "background.sh",
    ] {
        let mark = mark();
        let mut child = host(&["hold", &hostile_text(name, &mark)]).spawn().unwrap();
        let watchdog = watchdog_of(&child);
        until("it has started", || sleeping(&mark) > 0);
        until("the watchdog has started", || survivors(&watchdog) > 0);
        signal(child.id(), "KILL");
        child.wait().unwrap();
        until(name, || survivors(&mark) == 0);
        until("the watchdog leaves", || survivors(&watchdog) == 0);
    }
}

#[test]
fn signals_are_reported_and_clean_up() {
    let _alone = alone();
    let cases = [
        ("INT", Signal::Interrupt),
        ("TERM", Signal::Terminate),
        ("HUP", Signal::Hangup),
    ];
    for (name, expected) in cases {
        let mark = mark();
        let child = host(&["hold", &hostile_text("double_fork.sh", &mark)])
            .spawn()
            .unwrap();
        let watchdog = watchdog_of(&child);
        until("it has started", || sleeping(&mark) > 0);
        until("the watchdog has started", || survivors(&watchdog) > 0);
        signal(child.id(), name);
        if expected == Signal::Hangup {
            until("the loop is gone", || survivors(&watchdog) == 0);
            std::thread::sleep(Duration::from_millis(200));
            signal(child.id(), name);
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.success(), expected != Signal::Hangup);
        assert!(text(&output.stdout).ends_with(&format!("{expected:?}\n")));
        assert_eq!((survivors(&mark), survivors(&watchdog)), (0, 0));
    }
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    let _alone = alone();
    let host = host(&[]);
    let program = host.get_program().to_str().unwrap();
    let script =
        format!("trap '' HUP; exec '{program}' hold 'kill -HUP $PPID; sleep 0.2; echo on'");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(text(&output.stdout), "on\n");
}

#[test]
fn an_inherited_ignored_child_signal_does_no_harm() {
    let _alone = alone();
    let host = host(&[]);
    let program = host.get_program().to_str().unwrap();
    let script = "import os, signal, sys\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n\
                  os.execv(sys.argv[1], [sys.argv[1], 'wide', '2'])";
    let output = Command::new("python3")
        .args(["-c", script, program])
        .output();
    // Python is the shortest way to ignore it; without it there is nothing to see.
    if let Ok(output) = output {
        let shown = text(&output.stdout);
        assert!(
            shown.starts_with("2 × ") && shown.ends_with(" None\n"),
            "{shown}"
        );
    }
}

#[test]
fn children_get_the_limit_of_descriptors_that_was_given() {
    let _alone = alone();
    let host = host(&[]);
    let program = host.get_program().to_str().unwrap();
    let script = format!("ulimit -Sn 256; exec '{program}' wide 150");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(text(&output.stdout), "150 × 256 None\n");
}
