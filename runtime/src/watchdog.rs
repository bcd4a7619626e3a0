//! The process that outlives rrc by a moment, to end what a killed rrc could not.
//!
//! rrc starts itself again under another name, with a pipe as standard input and a table of
//! process groups as standard output. The watchdog sleeps on the pipe: when it closes, rrc is
//! gone, and everything in the table, everything that carries the run's marker and what descends from
//! either is killed.
//! Registering a child is a write into the table, so the watchdog is never woken before that.

use std::fs::File;
use std::io::{ErrorKind, PipeWriter, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::os::{self, Sent};
use crate::process::{Launcher, family};

const NAME: &str = "rrc-watchdog";
const MOST_LOOKS: usize = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);
/// After so many looks that have found nothing, nothing is left.
const QUIET_LOOKS: usize = 3;
static POSSIBLE: AtomicBool = AtomicBool::new(false);

/// To be called first in `main`. Does not return in a watchdog; elsewhere it only remembers that
/// this program can be one.
pub fn maybe_run() {
    POSSIBLE.store(true, Ordering::Relaxed);
    let mut args = std::env::args_os();
    if args.next().is_some_and(|name| name == NAME) {
        let run = args.next().unwrap_or_default();
        watch(&run.to_string_lossy());
        std::process::exit(0);
    }
}

fn watch(run: &str) {
    let mut byte = [0];
    // Nobody writes: this ends when the other end is closed, by whatever means.
    loop {
        match std::io::stdin().read(&mut byte) {
            Ok(0) => break,
            Err(error) if error.kind() != ErrorKind::Interrupted => break,
            Ok(_) | Err(_) => {}
        }
    }
    let Ok(table) = std::io::stdout().as_fd().try_clone_to_owned() else {
        return;
    };
    let registered = registered(&File::from(table));
    // What forks while it is being killed needs another look, and so does what was being started: it has
    // no environment yet.
    let mut quiet = 0;
    for _ in 0..MOST_LOOKS {
        // Looked for before anything is killed: who has lost its parent has lost its descent.
        let family = family::below(run, &registered);
        for group in &registered {
            os::signal_group(*group, Sent::Kill);
        }
        for pid in &family {
            os::signal_process(*pid, Sent::Kill);
        }
        quiet = if family.is_empty() { quiet + 1 } else { 0 };
        if quiet == QUIET_LOOKS {
            return;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Leaders of groups, and what was adopted.
fn registered(table: &File) -> Vec<u32> {
    let mut groups = Vec::new();
    let mut entry = [0; 4];
    while table
        .read_exact_at(&mut entry, groups.len() as u64 * 4)
        .is_ok()
    {
        groups.push(u32::from_le_bytes(entry));
    }
    groups.retain(|group| *group != 0);
    groups
}

/// rrc's side of it.
pub struct Watchdog {
    pid: u32,
    table: File,
    slots: usize,
    free: Vec<usize>,
    /// Closing it is the signal, so it must be held as long as the watchdog.
    _pipe: PipeWriter,
}

impl Watchdog {
    /// None where this program cannot be a watchdog, or the system refuses to start one.
    pub fn start(run: &str, launcher: &Launcher) -> Option<Watchdog> {
        if !POSSIBLE.load(Ordering::Relaxed) {
            return None;
        }
        let (reader, pipe) = std::io::pipe().ok()?;
        let table = os::private_file().ok()?;
        let pid = launcher
            .launch_again(&[NAME, run], reader.as_fd(), table.as_fd())
            .ok()?;
        Some(Watchdog {
            pid,
            table,
            slots: 0,
            free: Vec::new(),
            _pipe: pipe,
        })
    }

    /// Puts a process group under watch and says where it is written.
    pub fn register(&mut self, group: u32) -> Option<usize> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        let offset = slot as u64 * 4;
        match self.table.write_all_at(&group.to_le_bytes(), offset) {
            Ok(()) => Some(slot),
            Err(_) => None,
        }
    }

    pub fn release(&mut self, slot: usize) {
        if self.table.write_all_at(&[0; 4], slot as u64 * 4).is_ok() {
            self.free.push(slot);
        }
    }

    /// Ends the watchdog without letting it act.
    pub fn end(self) {
        family::end(self.pid);
    }
}
