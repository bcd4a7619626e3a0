//! What goes into a child and what comes out of it, byte for byte.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a suite fails by panicking"
)]

mod children;

use children::{alone, bash, hostile, new_loop, run, run_in, text};
use rrc_runtime::process::{Happened, Inherit, Request, Stream};

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
            Happened::Output(_, Stream::Out, line) => out.push(line.bytes),
            Happened::Output(_, Stream::Err, line) => err.push(line.bytes),
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
        assert!(echo.stdout == big && !echo.stdin_unread);
        let unread = run_in(
            portable,
            Request {
                stdin: Some(big.clone()),
                ..bash("sleep 0.1; exit 6")
            },
        );
        assert_eq!((unread.exit_code, unread.stdin_unread), (Some(6), true));
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
