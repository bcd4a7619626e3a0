//! Who belongs to us: what was started, what was adopted, and the end of both.
//!
//! As the subreaper, this process becomes the parent of whatever loses its own below it. So the
//! kernel's answer "no children" proves that nothing is left, and only when it answers otherwise
//! are processes listed and looked at.

use std::collections::hash_map::Entry;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::{ChildId, Loop};
use crate::os::{self, Ended, Listed, Reaped, Sent};
use crate::watchdog::Watchdog;

/// The environment variable by which what descends from a run is recognised.
pub const MARKER: &str = "RRC_RUN";

/// What strays get between TERM and KILL when a run is swept.
const POLITE: Duration = Duration::from_millis(100);
/// After this, what is left cannot be ended by anyone.
const PATIENCE: Duration = Duration::from_secs(2);

/// Children of this process by id, and their end if it was collected before anyone asked.
static KNOWN: Mutex<FxHashMap<u32, Option<Ended>>> =
    Mutex::new(FxHashMap::with_hasher(FxBuildHasher));

fn known() -> MutexGuard<'static, FxHashMap<u32, Option<Ended>>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a process and knows it, as one step: nobody may take it for a stray in between.
pub fn start(start: impl FnOnce() -> io::Result<u32>) -> io::Result<u32> {
    let mut known = known();
    let pid = start()?;
    known.insert(pid, None);
    Ok(pid)
}

/// How a known child ended, if it has; it is unknown afterwards.
pub fn take_end(pid: u32) -> Option<Ended> {
    let mut known = known();
    match known.entry(pid) {
        Entry::Occupied(entry) => {
            let ended = entry.get().or_else(|| os::reap(pid))?;
            entry.remove();
            Some(ended)
        }
        Entry::Vacant(_) => Some(Ended::Unknown),
    }
}

/// Kills a known child and waits for it.
pub fn end(pid: u32) {
    let mut known = known();
    if let Some(None) = known.remove(&pid) {
        os::signal_process(pid, Sent::Kill);
        os::reap_killed(pid);
    }
}

pub fn disown(pid: u32) {
    known().remove(&pid);
}

/// Whether this process has children that nobody here has started: what a shell starts before it becomes
/// this program stays its child.
pub fn has_strangers() -> bool {
    let known = known();
    os::has_children() && os::children().iter().any(|pid| !known.contains_key(pid))
}

/// Collects every child that has ended, adopted ones for good, which are told. True if children remain.
fn collect(mut adopted: impl FnMut(u32)) -> bool {
    let mut known = known();
    loop {
        match os::reap_any() {
            Reaped::One(pid, ended) => match known.get_mut(&pid) {
                Some(slot) => *slot = Some(ended),
                None => adopted(pid),
            },
            Reaped::Living => return true,
            Reaped::Childless => return false,
        }
    }
}

/// What the environment of a child says about where it comes from: a list of runs, outermost
/// first, as one rrc may run below another.
pub struct Marker {
    outer: String,
    run: String,
}

impl Marker {
    pub fn new(run: &str) -> Marker {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let run: String = run.chars().take(64).map(plain).collect();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let outer = std::env::var(MARKER).unwrap_or_default();
        Marker {
            // A value this long is not one of ours.
            outer: if outer.len() > 4096 {
                String::new()
            } else {
                outer
            },
            // Names of runs may repeat; what must not be confused is what runs now.
            run: format!("{run}-{}-{number}", std::process::id()),
        }
    }

    pub fn run(&self) -> &str {
        &self.run
    }

    /// The value for one child.
    pub fn of(&self, id: u64) -> String {
        match self.outer.as_str() {
            "" => format!("{}.{id}", self.run),
            outer => format!("{outer}:{}.{id}", self.run),
        }
    }
}

/// Whether an environment belongs to the run, or to these children of it.
fn carries(environment: &[u8], run: &str, ids: Option<&[u64]>) -> bool {
    let ours = |item: &[u8]| {
        let id = item.strip_prefix(run.as_bytes())?.strip_prefix(b".")?;
        let id: u64 = std::str::from_utf8(id).ok()?.parse().ok()?;
        Some(ids.is_none_or(|ids| ids.contains(&id)))
    };
    let value = environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(MARKER.as_bytes())?.strip_prefix(b"="));
    let mut items = value.unwrap_or_default().split(|byte| *byte == b':');
    items.any(|item| ours(item) == Some(true))
}

/// Processes of a run, whoever their parent is now.
pub fn marked(run: &str, ids: Option<&[u64]>) -> Vec<Listed> {
    let mut found = os::processes();
    found.retain(|process| !process.zombie && carries(&os::environment_of(process.pid), run, ids));
    found
}

/// What is left of a run whose rrc is gone: what carries its marker, what was registered, and what descends
/// from either.
pub fn below(run: &str, registered: &[u32]) -> Vec<u32> {
    let all = os::processes();
    let mut found: FxHashSet<u32> = registered.iter().copied().collect();
    let marked = |pid| carries(&os::environment_of(pid), run, None);
    found.extend(
        all.iter()
            .map(|process| process.pid)
            .filter(|pid| marked(*pid)),
    );
    let mut before = 0;
    while found.len() > before {
        before = found.len();
        for process in &all {
            if found.contains(&process.parent) {
                found.insert(process.pid);
            }
        }
    }
    let living = all.iter().filter(|process| !process.zombie);
    living
        .map(|process| process.pid)
        .filter(|pid| found.contains(pid))
        .collect()
}

/// Ends what `find` finds until it finds nothing, and says how many there were.
fn end_all(polite: Duration, mut find: impl FnMut() -> Vec<u32>) -> usize {
    let begun = Instant::now();
    let mut asked = FxHashSet::default();
    let mut killed = FxHashSet::default();
    let mut pause = Duration::from_millis(1);
    loop {
        let found = find();
        let elapsed = begun.elapsed();
        if found.is_empty() || elapsed > PATIENCE {
            return asked.len();
        }
        for pid in found {
            let first = asked.insert(pid);
            if elapsed >= polite {
                // Killed once is enough, but new ones may appear as long as old ones fork.
                if killed.insert(pid) {
                    os::signal_process(pid, Sent::Kill);
                }
            } else if first {
                os::signal_process(pid, Sent::Term);
                os::signal_process(pid, Sent::Continue);
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

impl Loop {
    /// Ends everything this loop has started or caused: children still running, what they left
    /// behind and the watchdog. Returns how many strays there were.
    ///
    /// Children that were running are reported as cancelled by the next [`Loop::wait`].
    pub fn sweep(&mut self) -> usize {
        let running: Vec<u64> = self.children.keys().copied().collect();
        for id in running {
            self.kill(ChildId(id));
        }
        let begun = Instant::now();
        while !self.children.is_empty() && begun.elapsed() < PATIENCE {
            self.turn(Some(Duration::from_millis(20)));
        }
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.end();
        }
        let groups: Vec<u32> = self.left.drain(..).map(|(group, _)| group).collect();
        if !cfg!(target_os = "linux") {
            return end_groups(groups);
        }
        let own = std::process::id();
        end_all(POLITE, || {
            if !self.collect() && self.adopts {
                return Vec::new();
            }
            let known: FxHashSet<u32> = known().keys().copied().collect();
            let (run, shared) = (self.marker.run(), self.shared);
            let stray = |process: &Listed| {
                !process.zombie
                    && !known.contains(&process.pid)
                    && (process.parent == own && !shared
                        || carries(&os::environment_of(process.pid), run, None))
            };
            let all = os::processes();
            all.iter()
                .filter(|process| stray(process))
                .map(|process| process.pid)
                .collect()
        })
    }

    /// Ends what a stopped child has hidden outside its group. While others are being stopped
    /// too, the last of them looks for all: a list of processes costs milliseconds.
    pub(super) fn end_strays_of(&mut self, id: u64) {
        self.suspects.push(id);
        let stopping = |child: &super::Child| child.timed_out || child.cancelled;
        if self.children.values().any(stopping) || (!self.collect() && self.adopts) {
            return;
        }
        let suspects = std::mem::take(&mut self.suspects);
        end_all(Duration::ZERO, || {
            self.collect();
            let known = known();
            let found = marked(self.marker.run(), Some(&suspects))
                .into_iter()
                .map(|process| process.pid);
            found.filter(|pid| !known.contains_key(pid)).collect()
        });
    }

    /// Collects all children that have ended. True if children remain.
    pub(super) fn collect(&mut self) -> bool {
        let (strays, watchdog) = (&mut self.strays, &mut self.watchdog);
        let remain = collect(|pid| {
            // Its number is free for others now.
            if let (Some(Some(slot)), Some(watchdog)) = (strays.remove(&pid), watchdog.as_mut()) {
                watchdog.release(slot);
            }
        });
        self.unnoted |= remain;
        remain
    }

    /// Starts the watchdog, where one is wanted and none is there.
    pub(super) fn watch_over(&mut self) {
        if self.wants_watchdog && self.watchdog.is_none() {
            self.watchdog = Watchdog::start(self.marker.run(), &self.launcher);
        }
    }

    /// Whether there is something below us that may lose its parent, or has lost it.
    pub(super) fn may_adopt(&self) -> bool {
        let left = self.unnoted || !self.strays.is_empty();
        self.adopts
            && !self.shared
            && self.watchdog.is_some()
            && (left || !self.children.is_empty())
    }

    /// Tells the watchdog about what was adopted: it may carry no marker, and be in a group of its own.
    pub(super) fn note_strays(&mut self) {
        self.unnoted = false;
        self.noted = Instant::now();
        let Some(watchdog) = self.watchdog.as_mut() else {
            return;
        };
        let known = known();
        for pid in os::children() {
            if !known.contains_key(&pid) {
                let strays = self.strays.entry(pid);
                strays.or_insert_with(|| watchdog.register(pid));
            }
        }
    }

    /// Lets go of the group of a child that is done, unless it still has members.
    pub(super) fn release_group(&mut self, group: u32, slot: Option<usize>) {
        if os::group_exists(group) {
            self.left.push((group, slot));
        } else if let (Some(watchdog), Some(slot)) = (&mut self.watchdog, slot) {
            watchdog.release(slot);
        }
    }

    /// A number that is free again may be given to a stranger: it must not stay on our lists.
    pub(super) fn forget_empty_groups(&mut self) {
        let left = std::mem::take(&mut self.left);
        for (group, slot) in left {
            self.release_group(group, slot);
        }
    }
}

fn end_groups(mut groups: Vec<u32>) -> usize {
    groups.retain(|group| os::signal_group(*group, Sent::Term));
    let count = groups.len();
    let begun = Instant::now();
    while begun.elapsed() < POLITE {
        collect(|_| ());
        groups.retain(|group| os::group_exists(*group));
        if groups.is_empty() {
            return count;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    for group in groups {
        os::signal_group(group, Sent::Kill);
    }
    count
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.sweep();
        if self.signals {
            os::unwatch_requests();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_found_only_where_it_is() {
        let environment = b"A=1\0RRC_RUN=outer-1-0.4:run-2-0.17\0B=run-9-0.1\0";
        assert!(carries(environment, "run-2-0", None));
        assert!(carries(environment, "run-2-0", Some(&[3, 17])));
        assert!(!carries(environment, "run-2-0", Some(&[1, 7])));
        assert!(carries(environment, "outer-1-0", Some(&[4])));
        assert!(!carries(environment, "run-9-0", None));
        assert!(!carries(environment, "run-2", None));
        assert!(!carries(b"XRRC_RUN=run-2-0.1\0", "run-2-0", None));
        assert!(!carries(b"", "run-2-0", None));
    }

    #[test]
    fn a_marker_says_nothing_but_its_name() {
        let marker = Marker::new("a:b=c/d e\0f");
        assert!(marker.run().starts_with("a_b_c_d_e_f-"));
        assert!(marker.of(3).ends_with(".3"));
    }
}
