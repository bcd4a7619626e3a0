//! Measuring runs against the floor: a loop that starts the same commands and waits for them.
#![allow(dead_code, reason = "each bench uses its own part")]

use std::collections::VecDeque;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const RRC: &str = env!("CARGO_BIN_EXE_rrc");

/// A folder to work in, and how often to measure: `RRC_ROUNDS` says otherwise.
pub struct Bench {
    pub folder: PathBuf,
    /// A copy, as one that is installed is: what a linker has written lies in small pieces in the memory of
    /// the system, and is slower to start until it is read anew.
    installed: PathBuf,
    pub rounds: usize,
}

pub fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A folder for one bench, in memory if there is such a place: every run is recorded, and a disk on which
/// thousands of records have just been removed may take a hundred times as long to make a file.
pub fn new_folder(name: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let place = match memory.is_dir() {
        true => memory,
        false => std::env::temp_dir(),
    };
    let folder = place.join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

impl Bench {
    /// Begins the table as well.
    pub fn new() -> Bench {
        let folder = new_folder("rrc-run-bench");
        let installed = std::env::temp_dir().join(format!("rrc-bench-{}", std::process::id()));
        std::fs::copy(RRC, &installed).unwrap();
        let rounds = std::env::var("RRC_ROUNDS").ok();
        row("work", "measured", "goal");
        Bench {
            folder,
            installed,
            rounds: rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(5),
        }
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
    }

    pub fn rrc(&self, args: &[&str]) -> Command {
        self.program(&self.installed, args)
    }

    fn program(&self, path: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(path);
        command.args(args).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// Milliseconds of one run, whole process.
    pub fn run(&self, args: &[&str]) -> f64 {
        took(self.rrc(args))
    }

    /// The same of the program where the linker has written it.
    pub fn run_linked(&self, args: &[&str]) -> f64 {
        took(self.program(Path::new(RRC), args))
    }

    /// Milliseconds, and the most memory it had, in MiB.
    pub fn watched(&self, args: &[&str]) -> (f64, f64) {
        let begun = Instant::now();
        let mut child = self.rrc(args).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut most = 0.0_f64;
        loop {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let kib = peak.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
            most = most.max(kib.unwrap_or(0.0) / 1024.0);
            if let Some(ended) = child.try_wait().unwrap() {
                assert!(ended.success(), "{args:?}: {ended}");
                return (begun.elapsed().as_secs_f64() * 1e3, most);
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// The middles of several things, measured in turn.
    pub fn in_turn<const N: usize>(&self, rounds: usize, what: [&dyn Fn() -> f64; N]) -> [f64; N] {
        times(rounds, what).map(middle)
    }

    /// The best of each of several things, measured in turn: what they cost on a machine that has
    /// nothing else to do.
    pub fn best<const N: usize>(&self, rounds: usize, what: [&dyn Fn() -> f64; N]) -> [f64; N] {
        times(rounds, what).map(|times| times.into_iter().fold(f64::INFINITY, f64::min))
    }
}

fn took(mut command: Command) -> f64 {
    let begun = Instant::now();
    let status = command.status().unwrap();
    assert!(status.success(), "{command:?}: {status}");
    begun.elapsed().as_secs_f64() * 1e3
}

fn times<const N: usize>(rounds: usize, what: [&dyn Fn() -> f64; N]) -> [Vec<f64>; N] {
    let mut times: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..rounds {
        for (times, what) in times.iter_mut().zip(what) {
            times.push(what());
        }
    }
    times
}

impl Drop for Bench {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to sweep.
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_file(&self.installed);
    }
}

/// Starts a command so often, so many at once, and waits: nothing that runs it can take less.
pub fn started(count: usize, width: usize, command: impl Fn() -> Command) -> f64 {
    let begun = Instant::now();
    let mut running: VecDeque<Child> = VecDeque::new();
    for _ in 0..count {
        if running.len() == width {
            running.pop_front().map(|mut child| child.wait());
        }
        let mut command = command();
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        running.push_back(command.spawn().unwrap());
    }
    for mut child in running {
        child.wait().unwrap();
    }
    begun.elapsed().as_secs_f64() * 1e3
}

pub fn row(work: &str, measured: &str, goal: &str) {
    println!("{work:<58} {measured:<34} {goal}");
}
