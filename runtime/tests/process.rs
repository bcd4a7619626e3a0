//! The execution contract against real children, hostile ones included.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rrc_runtime::process::{
    ErrorKind, Happened, Inherit, Loop, Outcome, Request, Script, Setup, Signal, Stream,
};

/// A loop takes children it does not know for strays, so these tests run one by one.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn new_loop(portable: bool) -> Loop {
    Loop::new(Setup {
        run: "test".to_owned(),
        portable,
        ..Setup::default()
    })
    .unwrap()
}

fn bash(text: &str) -> Request {
    Request {
        script: Some(Script {
            text: text.to_owned(),
            ..Script::default()
        }),
        cwd: PathBuf::from("/"),
        ..Request::new("bash")
    }
}

fn hostile(name: &str, mark: &str) -> Request {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/hostile")
        .join(name);
    Request {
        args: vec![file.to_str().unwrap().to_owned(), mark.to_owned()],
        cwd: PathBuf::from("/"),
        grace: Duration::from_millis(300),
        ..Request::new("bash")
    }
}

fn done(children: &mut Loop) -> Outcome {
    loop {
        match children.wait() {
            Happened::Done(_, outcome) => return outcome,
            Happened::Idle => panic!("idle without an outcome"),
            _ => {}
        }
    }
}

fn run_in(portable: bool, request: Request) -> Outcome {
    let mut children = new_loop(portable);
    children.start(request);
    let outcome = done(&mut children);
    assert_eq!(children.running(), 0);
    assert!(matches!(children.wait(), Happened::Idle));
    outcome
}

fn run(request: Request) -> Outcome {
    run_in(false, request)
}

fn kind(outcome: &Outcome) -> Option<ErrorKind> {
    outcome.error.as_ref().map(|error| error.kind)
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A number of seconds to sleep that no other process sleeps.
fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("300.{}{number:03}", std::process::id())
}

fn survivors(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let has_mark = |path: PathBuf| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        line.windows(mark.len())
            .any(|window| window == mark.as_bytes())
    };
    entries.filter(|entry| has_mark(entry.path())).count()
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(5), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

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
        let honoured = run_in(portable, limited("honour_term.sh"));
        assert!(honoured.timed_out && honoured.exit_code.is_none() && honoured.signal.is_none());
        assert_eq!(kind(&honoured), Some(ErrorKind::Timeout));
        assert_eq!(text(&honoured.stdout), "ready\nbye\n");
        assert!(
            honoured.duration < Duration::from_millis(450),
            "{:?}",
            honoured.duration
        );

        for name in ["ignore_term.sh", "late_member.sh", "setsid_escape.sh"] {
            let outcome = run_in(portable, limited(name));
            assert!(outcome.timed_out, "{name}");
            assert!(!outcome.stdout.is_empty(), "{name}: partial output is kept");
            let most = Duration::from_millis(200 + 300 + 300);
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
            until("it has started", || survivors(&mark) > 0);
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
    until("they have started", || survivors(&mark) > 4);
    children.sweep();
    assert_eq!((children.running(), survivors(&mark)), (0, 0));
    for _ in 0..3 {
        assert!(matches!(children.wait(), Happened::Done(..)));
    }
    assert!(matches!(children.wait(), Happened::Idle));
}

#[test]
fn capture_is_exact_and_bounded() {
    let _alone = alone();
    let mut flood = hostile("flood.sh", "-");
    flood.stdout_limit = 1 << 20;
    flood.stderr_limit = 1 << 20;
    let outcome = run(flood);
    assert_eq!(outcome.exit_code, Some(0));
    assert_eq!(
        (outcome.stdout_bytes, outcome.stderr_bytes),
        (10 << 20, 10 << 20)
    );
    assert!(outcome.stdout_truncated && outcome.stderr_truncated);
    for (kept, letter) in [(&outcome.stdout, b'o'), (&outcome.stderr, b'e')] {
        assert_eq!(kept.len(), 1 << 20);
        assert!(kept.capacity() <= 1 << 20);
        assert!(kept.iter().all(|byte| *byte == letter));
    }

    for (written, truncated) in [(999, false), (1000, false), (1001, true)] {
        let outcome = run(Request {
            stdout_limit: 1000,
            stderr_limit: 0,
            ..bash(&format!(
                "head -c {written} /dev/zero; head -c {written} /dev/zero >&2"
            ))
        });
        assert_eq!(
            (outcome.stdout_truncated, outcome.stdout_bytes),
            (truncated, written)
        );
        assert_eq!(outcome.stdout.len(), 1000.min(written as usize));
        assert!(outcome.stderr_truncated && outcome.stderr.is_empty());
    }

    let outcome = run(Request {
        stdout_limit: 4,
        ..bash("printf 'abc€'")
    });
    assert_eq!(outcome.stdout, "abc€".as_bytes()[..4]);
    assert_eq!(rrc_runtime::capture::text_cut(&outcome.stdout), b"abc");

    let every_byte = run(bash(
        "for i in {0..255}; do printf \"\\\\x$(printf %x $i)\"; done",
    ));
    assert_eq!(every_byte.stdout, (0..=255).collect::<Vec<u8>>());
}

#[test]
fn lines_come_before_the_end_and_in_order() {
    let _alone = alone();
    let mut children = new_loop(false);
    children.start(Request {
        stream: true,
        ..bash("echo one; echo; printf last; echo err >&2")
    });
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let outcome = loop {
        match children.wait() {
            Happened::Output(_, Stream::Out, line) => out.push(line),
            Happened::Output(_, Stream::Err, line) => err.push(line),
            Happened::Done(_, outcome) => break outcome,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(out, [&b"one"[..], b"", b"last"]);
    assert_eq!(err, [b"err"]);
    assert_eq!(text(&outcome.stdout), "one\n\nlast");
}

/// Bytes that quoting, `$()`, `read` and locales are known to stumble over.
fn nasty(size: usize) -> String {
    let piece = "it's \"é€😀\" \\ \\n $HOME `id` $(id) !x \t\r\u{1}\u{7f}'\\''\n";
    let mut value = piece.repeat(size / piece.len() + 1);
    value.push_str("\n\n\n");
    value
}

#[test]
fn values_arrive_exactly_however_large() {
    let _alone = alone();
    let inherited = ("RRC_TEST_LARGE", "stale");
    for shell in ["bash", "sh"] {
        for locale in ["C", "C.UTF-8"] {
            let (small, large) = (nasty(100), nasty(300_000));
            let script = "printf %s \"$SMALL\"; printf %s \"$RRC_TEST_LARGE\" >&2\n\n\
                 [ -z \"$BASH_VERSION\" ] || [ $LINENO = 3 ] || exit 7\n\
                 env | grep -c '^RRC_TEST_LARGE=' && exit 8; [ $# = 0 ] || exit 9";
            let mut request = bash(script);
            request.program = shell.to_owned();
            request.vars = vec![
                ("SMALL".to_owned(), small.clone()),
                (inherited.0.to_owned(), large.clone()),
            ];
            request.ambient = vec![(inherited.0.to_owned(), inherited.1.to_owned())];
            request.env = vec![("LC_ALL".to_owned(), locale.to_owned())];
            request.stderr_limit = 10 << 20;
            let outcome = run(request);
            assert_eq!(outcome.exit_code, Some(0), "{shell} {locale}");
            assert!(
                outcome.stdout
                    == small
                        .as_bytes()
                        .to_vec()
                        .into_iter()
                        .chain(*b"0\n")
                        .collect::<Vec<u8>>()
            );
            assert!(outcome.stderr == large.as_bytes(), "{shell} {locale}");
            assert!(outcome.warnings.is_empty());
        }
    }
}

#[test]
fn the_private_descriptor_is_closed_and_traces_show_no_values() {
    let _alone = alone();
    let mut request = bash("ls -l /proc/self/fd; wc -c < /proc/self/environ");
    request.args = vec!["-eux".to_owned()];
    request.vars = vec![("V".to_owned(), "secret".repeat(20_000))];
    let outcome = run(request);
    assert_eq!(outcome.exit_code, Some(0), "{}", text(&outcome.stderr));
    let listed = text(&outcome.stdout);
    assert!(
        listed.contains("0 -> ") && !listed.contains("memfd"),
        "{listed}"
    );
    assert!(!text(&outcome.stderr).contains("secret"));
}

#[test]
fn nul_bytes_are_dropped_with_a_warning() {
    let _alone = alone();
    let mut request = bash("printf %s \"$V\"");
    request.vars = vec![("V".to_owned(), "a\0b\0".to_owned())];
    let outcome = run(request);
    assert_eq!(text(&outcome.stdout), "ab");
    assert_eq!(outcome.warnings, ["NUL bytes of `V` were dropped"]);
    let outcome = run(bash("echo o\0k"));
    assert_eq!((text(&outcome.stdout), outcome.warnings.len()), ("ok\n", 1));
}

#[test]
fn many_values_are_not_too_many() {
    let _alone = alone();
    // Four megabytes, each value small enough for itself: more than the kernel takes.
    let vars = (0..50).map(|n| (format!("V{n}"), "x".repeat(80 * 1024)));
    let mut request =
        bash("for n in {0..49}; do v=V$n; echo ${#v} ${#V0}; done; eval 'echo ${#V49}'");
    request.vars = vars.collect();
    let outcome = run(request.clone());
    assert_eq!(outcome.exit_code, Some(0), "{:?}", outcome.error);
    assert!(text(&outcome.stdout).ends_with("\n81920\n"));

    request.ambient = std::mem::take(&mut request.vars);
    request
        .ambient
        .push(("LONE".to_owned(), "y".repeat(100 * 1024)));
    request.script = bash("env | grep -c -e ^V -e ^LONE").script;
    let outcome = run(request.clone());
    assert_eq!(text(&outcome.stdout), "0\n");
    assert_eq!(outcome.warnings.len(), 1, "{:?}", outcome.warnings);

    request.ambient.drain(2..50);
    let outcome = run(request);
    assert_eq!((text(&outcome.stdout), outcome.warnings.len()), ("2\n", 0));
}

#[test]
fn a_long_script_is_the_script() {
    let _alone = alone();
    let filler = "# 'it''s' \"just\" $filler\n".repeat(13_000);
    let tail = "echo $0 $# $1 $LINENO ${__rrc_text-none}\nexit 5\n";
    for (head, lines) in [("#!/bin/bash\n", 13_002), ("", 13_001)] {
        let mut request = bash(&format!("{head}{filler}{tail}"));
        request.args = vec!["-e".to_owned()];
        let script = request.script.as_mut().unwrap();
        script.args = vec!["one".to_owned()];
        request.vars = vec![("V".to_owned(), "x".repeat(300_000))];
        let outcome = run(request);
        assert_eq!(outcome.exit_code, Some(5), "{}", text(&outcome.stderr));
        assert_eq!(text(&outcome.stdout), format!("bash 1 one {lines} none\n"));
    }
    let mut named = bash("echo $0");
    named.script.as_mut().unwrap().name = Some("step".to_owned());
    assert_eq!(text(&run(named).stdout), "step\n");
}

#[test]
fn the_environment_is_what_was_asked_for() {
    let _alone = alone();
    let mut request = bash("echo $A $B $C");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    request.ambient = vec![
        pair("A", "ambient"),
        pair("B", "ambient"),
        pair("C", "ambient"),
    ];
    request.vars = vec![pair("B", "var"), pair("C", "var")];
    request.env = vec![pair("C", "env")];
    assert_eq!(text(&run(request).stdout), "ambient var env\n");

    let mut only = Request::new("env");
    only.inherit = Inherit::Only(vec!["HOME".to_owned(), "NO_SUCH_VARIABLE".to_owned()]);
    only.env = vec![pair("A", "1")];
    let outcome = run(only);
    let mut names: Vec<&str> = text(&outcome.stdout)
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    names.sort();
    names.retain(|name| *name != "HOME");
    assert_eq!(names, ["A", "RRC_RUN"]);
}

#[test]
fn input_is_fed_without_blocking() {
    let _alone = alone();
    let big: Vec<u8> = (0..3 << 20).map(|n: u32| (n % 251) as u8).collect();
    for portable in [false, true] {
        let echo = run_in(
            portable,
            Request {
                stdin: Some(big.clone()),
                stdout_limit: 4 << 20,
                ..Request::new("cat")
            },
        );
        assert!(echo.stdout == big);
        let unread = run_in(
            portable,
            Request {
                stdin: Some(big.clone()),
                ..bash("sleep 0.1; exit 6")
            },
        );
        assert_eq!(unread.exit_code, Some(6));
    }
    let empty = run(Request {
        stdin: Some(Vec::new()),
        ..Request::new("cat")
    });
    assert_eq!((empty.exit_code, empty.stdout_bytes), (Some(0), 0));
    assert_eq!(run(Request::new("cat")).exit_code, Some(0));
    let tty = run(bash(
        "tty; [ -t 0 ] && exit 9; ps -o pgid= -p $$ | tr -d ' '; echo $$",
    ));
    let lines: Vec<&str> = text(&tty.stdout).lines().skip(1).collect();
    assert_eq!(lines[0], lines[1], "its own group");
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
        until("it has started", || survivors(&mark) > 2);
        std::thread::sleep(Duration::from_millis(50));
        signal(child.id(), "KILL");
        child.wait().unwrap();
        until(name, || survivors(&mark) == 0);
        until("the watchdog leaves", || survivors("rrc-watchdog") == 0);
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
        until("it has started", || survivors(&mark) > 2);
        std::thread::sleep(Duration::from_millis(50));
        signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(text(&output.stdout), format!("started\n{expected:?}\n"));
        assert_eq!((survivors(&mark), survivors("rrc-watchdog")), (0, 0));
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
fn children_get_the_limit_of_descriptors_that_was_given() {
    let _alone = alone();
    let host = host(&[]);
    let program = host.get_program().to_str().unwrap();
    let script = format!("ulimit -Sn 256; exec '{program}' wide 150");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(text(&output.stdout), "150 × 256 None\n");
}
