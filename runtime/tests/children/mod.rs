//! Starting real children from tests, and looking for what is left of them.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a suite fails by panicking, and no suite uses all of this"
)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rrc_runtime::process::{ErrorKind, Happened, Loop, Outcome, Request, Script, Setup};

/// A loop takes children it does not know for strays, so these tests run one by one.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn new_loop(portable: bool) -> Loop {
    Loop::new(Setup {
        run: "test".to_owned(),
        portable,
        ..Setup::default()
    })
    .unwrap()
}

pub fn bash(text: &str) -> Request {
    Request {
        script: Some(Script {
            text: text.to_owned(),
            ..Script::default()
        }),
        cwd: PathBuf::from("/"),
        ..Request::new("bash")
    }
}

pub fn hostile(name: &str, mark: &str) -> Request {
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

pub fn done(children: &mut Loop) -> Outcome {
    loop {
        match children.wait() {
            Happened::Done(_, outcome) => return outcome,
            Happened::Idle => panic!("idle without an outcome"),
            _ => {}
        }
    }
}

pub fn run_in(portable: bool, request: Request) -> Outcome {
    let mut children = new_loop(portable);
    children.start(request);
    let outcome = done(&mut children);
    assert_eq!(children.running(), 0);
    assert!(matches!(children.wait(), Happened::Idle));
    outcome
}

pub fn run(request: Request) -> Outcome {
    run_in(false, request)
}

pub fn kind(outcome: &Outcome) -> Option<ErrorKind> {
    outcome.error.as_ref().map(|error| error.kind)
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A number of seconds to sleep that no other process sleeps.
pub fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("300.{}{number:03}", std::process::id())
}

/// How many processes have it anywhere in their command line.
pub fn survivors(mark: &str) -> usize {
    processes_with(|line| {
        line.windows(mark.len())
            .any(|window| window == mark.as_bytes())
    })
}

fn processes_with(test: impl Fn(&[u8]) -> bool) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| test(line)).count()
}

/// How many sleep for it: the work of a script, without the script.
pub fn sleeping(mark: &str) -> usize {
    processes_with(|line| line.ends_with(format!("sleep\0{mark}\0").as_bytes()))
}

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(5), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
