//! What one child costs over the floor: the same commands, started and waited for by hand.
//!
//! `spawns` measures; `hold` and `wide` are what tests do to a process with a loop: kill it,
//! or give it few descriptors.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rrc_runtime::process::{Happened, Loop, Request, Script, Setup};

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

fn setup() -> Setup {
    Setup {
        run: "spawns".to_owned(),
        signals: true,
        watchdog: true,
        ..Setup::default()
    }
}

fn floor(count: usize, width: usize, program: &str, args: &[&str]) -> Duration {
    floor_with(count, width, program, args, &[])
}

fn floor_with(
    count: usize,
    width: usize,
    program: &str,
    args: &[&str],
    env: &[(String, String)],
) -> Duration {
    use std::os::unix::process::CommandExt as _;
    let begun = Instant::now();
    let mut running = VecDeque::new();
    for _ in 0..count {
        if running.len() == width {
            let child: Option<std::process::Child> = running.pop_front();
            let _ = child.map(|mut child| child.wait());
        }
        let mut command = Command::new(program);
        command.args(args).process_group(0).stdin(Stdio::null());
        command.envs(env.iter().map(|(name, value)| (name, value)));
        running.extend(command.spawn().ok());
    }
    for mut child in running {
        let _ = child.wait();
    }
    begun.elapsed()
}

fn ours(count: usize, width: usize, request: &Request) -> Duration {
    let begun = Instant::now();
    let Ok(mut children) = Loop::new(setup()) else {
        return Duration::ZERO;
    };
    ours_in(&mut children, count, width, request);
    children.sweep();
    begun.elapsed()
}

fn ours_in(children: &mut Loop, count: usize, width: usize, request: &Request) -> Duration {
    let begun = Instant::now();
    let mut left = count;
    while left > 0 || children.running() > 0 {
        while left > 0 && children.running() < width {
            children.start(request.clone());
            left -= 1;
        }
        if let Happened::Idle = children.wait() {
            break;
        }
    }
    begun.elapsed()
}

fn middle(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn main() {
    rrc_runtime::watchdog::maybe_run();
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["hold", script] => hold(script),
        ["wide", count] => wide(count.parse().unwrap_or(1)),
        ["once", script] => {
            let _ = ours(1, 1, &bash(script));
        }
        ["floor", script] => {
            let _ = floor(1, 1, "/bin/bash", &["-c", script]);
        }
        _ => measure(),
    }
}

fn hold(script: &str) {
    let Ok(mut children) = Loop::new(setup()) else {
        return;
    };
    children.start(Request {
        stream: true,
        ..bash(script)
    });
    loop {
        match children.wait() {
            Happened::Output(_, _, line) => println!("{}", String::from_utf8_lossy(&line.bytes)),
            Happened::Signal(signal) => {
                println!("{signal:?}");
                drop(children);
                // Without a loop a signal has its usual effect again.
                if signal == rrc_runtime::process::Signal::Hangup {
                    std::thread::sleep(Duration::from_secs(5));
                }
                return;
            }
            Happened::Idle => return,
            Happened::Done(..) | Happened::Timer(_) | Happened::Line(_) => {}
        }
    }
}

/// Many at once; prints what each was given as its limit of descriptors, without repetition.
fn wide(count: usize) {
    let Ok(mut children) = Loop::new(setup()) else {
        return;
    };
    for _ in 0..count {
        children.start(bash("sleep 0.5; ulimit -Sn"));
    }
    let mut seen = std::collections::BTreeMap::new();
    loop {
        match children.wait() {
            Happened::Done(_, outcome) => {
                let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
                *seen
                    .entry((text, outcome.error.map(|e| e.detail)))
                    .or_insert(0) += 1;
            }
            Happened::Idle => break,
            _ => {}
        }
    }
    for ((text, error), count) in seen {
        println!("{count} × {} {error:?}", text.trim());
    }
}

/// Processor time of this process alone: a busy machine does not change it.
fn processor() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let first = text.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(first.unwrap_or_default())
}

fn measure() {
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    let request = bash("true");
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    for _ in 0..200 {
        lows.push(floor(1, 1, "/bin/bash", &["-c", "true"]));
        highs.push(ours(1, 1, &request));
    }
    let (low, high) = (middle(lows), middle(highs));
    println!(
        "one `true`: floor {low:?}, ours {high:?}, +{:?}",
        high.saturating_sub(low)
    );
    let limited = Request {
        timeout: Some(Duration::from_secs(60)),
        ..request.clone()
    };
    let vars = |n| (format!("RECIPE_VAR_{n}"), "x".repeat(2000));
    let laden = Request {
        ambient: (0..60).map(vars).collect(),
        ..request.clone()
    };
    let args = ["-c", "true"];
    for (name, request) in [
        ("plain", &request),
        ("timeout", &limited),
        ("120 KB", &laden),
    ] {
        // In short turns, so that a busy machine is busy for both.
        let (mut lows, mut highs) = (Vec::new(), Vec::new());
        let mut children = Loop::new(setup()).expect("a loop can be made");
        ours_in(&mut children, 1, 1, request);
        for _ in 0..80 {
            lows.push(floor_with(25, 1, "/bin/bash", &args, &request.ambient));
            highs.push(ours_in(&mut children, 25, 1, request));
        }
        let (low, high) = (middle(lows) / 25, middle(highs) / 25);
        println!("in a row, {name}: {low:?} {high:?} {:.3}", ratio(high, low));
    }
    let program = Request {
        cwd: PathBuf::from("/"),
        ..Request::new("/bin/true")
    };
    let (mut lows, mut highs) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        lows.push(floor(2000, 64, "/bin/true", &[]));
        highs.push(ours(2000, 64, &program));
    }
    let (low, high) = (middle(lows), middle(highs));
    println!("2000, 64 wide: {low:?} {high:?} {:.3}", ratio(high, low));
    for width in [1, 64] {
        let begun = processor();
        floor(1000, width, "/bin/true", &[]);
        let low = (processor() - begun) / 1000;
        let begun = processor();
        ours(1000, width, &program);
        let high = (processor() - begun) / 1000;
        println!("own processor time per child, {width} wide: {low:?} {high:?}");
    }
}
