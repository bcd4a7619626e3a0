//! Signals sent to children, and how children end.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Term,
    Kill,
    /// Wakes what is stopped, so that it can act on a TERM.
    Continue,
}

impl Sent {
    fn signal(self) -> Signal {
        match self {
            Sent::Term => Signal::TERM,
            Sent::Kill => Signal::KILL,
            Sent::Continue => Signal::CONT,
        }
    }
}

/// Process 1 is init, and as a group it would mean every process there is.
fn ordinary(pid: u32) -> Option<Pid> {
    let raw = i32::try_from(pid).ok().filter(|raw| *raw > 1)?;
    Pid::from_raw(raw)
}

/// True if at least one process of the group was reached.
pub fn signal_group(group: u32, send: Sent) -> bool {
    ordinary(group)
        .is_some_and(|pid| rustix::process::kill_process_group(pid, send.signal()).is_ok())
}

pub fn signal_process(pid: u32, send: Sent) -> bool {
    ordinary(pid).is_some_and(|pid| rustix::process::kill_process(pid, send.signal()).is_ok())
}

/// Whether the group has members, zombies included.
pub fn group_exists(group: u32) -> bool {
    ordinary(group).is_some_and(|pid| {
        // A refusal means that something is there.
        !matches!(
            rustix::process::test_kill_process_group(pid),
            Err(rustix::io::Errno::SRCH)
        )
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
    /// Somebody else collected it.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaped {
    One(u32, Ended),
    /// There are children, none of which has ended.
    Living,
    /// There are no children at all. For a subreaper: no descendants either.
    Childless,
}

fn ended(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, Some(signal)) => Ended::Signal(signal),
        (None, None) => Ended::Unknown,
    }
}

/// Collects any one ended child without waiting.
pub fn reap_any() -> Reaped {
    match rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::NOHANG)) {
        Ok(Some((pid, status))) => Reaped::One(pid.as_raw_nonzero().get() as u32, ended(status)),
        Ok(None) => Reaped::Living,
        Err(_) => Reaped::Childless,
    }
}

/// Whether there are children, ended ones included. Collects none.
pub fn has_children() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::All, options)).is_ok()
}

/// Collects this child if it has ended.
pub fn reap(pid: u32) -> Option<Ended> {
    reap_with(pid, WaitOptions::NOHANG)
}

/// Waits for a child that was just killed.
pub fn reap_killed(pid: u32) {
    let _ = reap_with(pid, WaitOptions::empty());
}

fn reap_with(pid: u32, options: WaitOptions) -> Option<Ended> {
    let Some(pid) = ordinary(pid) else {
        return Some(Ended::Unknown);
    };
    match rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(pid), options)) {
        Ok(Some((_, status))) => Some(ended(status)),
        Ok(None) => None,
        Err(_) => Some(Ended::Unknown),
    }
}

/// From now on what loses its parent below this process becomes its child. False if impossible.
pub fn become_subreaper() -> bool {
    #[cfg(target_os = "linux")]
    return rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok();
    #[cfg(not(target_os = "linux"))]
    return false;
}
