//! Children: started, listened to, stopped and collected by one loop.
//!
//! [`Loop`] keeps the execution contract for one child and for thousands: own process group,
//! bounded capture on both streams, deadlines with grace, and nothing left behind. A request is
//! made of values; what a step, a template or an agent is stays unknown here, and so do retries,
//! redaction and what a failure means for a run.
//!
//! A process that holds a `Loop` starts children only through one: as the subreaper of all it
//! starts, the loop takes every child it does not know for a stray.

mod child;
mod contract;
mod environment;
pub(crate) mod family;
mod handed;
mod launch;
mod streams;
mod terminal;
mod urgent;

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use crate::capture::{Capture, Piece};
use crate::clock::{Clock, Key};
use crate::os::{self, Interest, Poller, Sent};
use crate::watchdog::Watchdog;
use child::{Child, Phase};
use family::Marker;
use streams::Feed;
use terminal::TERMINAL;

pub(crate) use launch::Launcher;

pub use contract::{ErrorKind, ExecError, Inherit, Outcome, Request, Script};
pub use family::MARKER;
pub use launch::{ENVIRONMENT_MAX, TEXT_MAX, VALUE_MAX, can_start, find_program, fits_environment};

/// How long the streams of an ended child may stay open.
const DRAIN: Duration = Duration::from_millis(200);
/// How often a group that outlives its leader is looked at while it is being stopped.
const LINGER: Duration = Duration::from_millis(10);
/// How often adopted children are collected while nothing else happens.
const COLLECT: Duration = Duration::from_secs(2);
/// The same where the loop also depends on a CHLD that another loop may have read.
const COLLECT_PORTABLE: Duration = Duration::from_millis(100);
/// How often what was left to us is looked for: nobody says that something has lost its parent.
const NOTE: Duration = Duration::from_millis(50);
const BUFFER: usize = 64 * 1024;
/// Each child that starts copies and closes all descriptors: with more children than this, those cost
/// more than wake-ups.
const FEW: usize = 4;
/// Descriptors of one child while it runs, and of everything else that a run may have open.
const OF_A_CHILD: usize = 4;
const OF_THE_REST: usize = 28;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChildId(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId(Key);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    Out,
    Err,
}

/// Somebody asks rrc itself to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    Hangup,
}

impl Signal {
    pub fn word(self) -> &'static str {
        match self {
            Signal::Interrupt => "interrupt",
            Signal::Terminate => "terminate",
            Signal::Hangup => "hangup",
        }
    }

    pub fn of(word: &str) -> Option<Signal> {
        let all = [Signal::Interrupt, Signal::Terminate, Signal::Hangup];
        all.into_iter().find(|signal| signal.word() == word)
    }
}

#[derive(Clone, Debug)]
pub enum Happened {
    Done(ChildId, Outcome),
    /// A line of a child started with `stream`.
    Output(ChildId, Stream, Piece),
    Timer(TimerId),
    Signal(Signal),
    /// What was typed after `await_line`; none at the end of the input.
    Line(Option<String>),
    /// Nothing is running and no timer is set.
    Idle,
}

/// What a loop is for.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Name of the run, part of the marker that every child carries in its environment.
    pub run: String,
    /// Report INT, TERM and HUP instead of dying from them.
    pub signals: bool,
    /// Start the watchdog with the first child, if `watchdog::maybe_run` was called in `main`.
    pub watchdog: bool,
    /// Use what systems get that have none of Linux's own calls.
    pub portable: bool,
    /// Variables that all children find besides those of this process.
    pub told: Vec<(String, String)>,
}

/// The one loop: every child, stream, deadline, sleep and signal.
pub struct Loop {
    poller: Poller,
    clock: Clock<Due>,
    children: FxHashMap<u64, Child>,
    happened: VecDeque<Happened>,
    ready: Vec<u64>,
    buffer: Vec<u8>,
    next: u64,
    marker: Marker,
    /// Orphans become our children, so that having none proves that nothing is left.
    adopts: bool,
    signals: bool,
    listening: bool,
    /// What was typed of a line so far.
    typed: Vec<u8>,
    /// Lines are not read for now, and of whom they were there to be read.
    holding: bool,
    muted: Vec<(u64, Stream)>,
    launcher: Launcher,
    wants_watchdog: bool,
    watchdog: Option<Watchdog>,
    /// Groups that had members when their leader was collected.
    left: Vec<(u32, Option<usize>)>,
    /// Adopted children that the watchdog was told about.
    strays: FxHashMap<u32, Option<usize>>,
    /// Whether a child has ended and left something since they were looked for, and when that was.
    unnoted: bool,
    noted: Instant,
    /// Whether this process had children before, as one has that a shell has become.
    shared: bool,
    /// Stopped children whose strays have not been looked for.
    suspects: Vec<u64>,
    collected: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    Child(u64),
    Sleep,
}

/// A descriptor of a child, as the poller's token carries it.
#[derive(Clone, Copy)]
enum Part {
    Out = 0,
    Err = 1,
    In = 2,
    End = 3,
}

const SIGNALS: u64 = u64::MAX;

fn token(id: u64, part: Part) -> u64 {
    id << 2 | part as u64
}

impl Loop {
    pub fn new(setup: Setup) -> io::Result<Loop> {
        let mut poller = Poller::new(setup.portable)?;
        os::expect_children();
        let adopts = os::become_subreaper();
        let requests = setup.signals.then(os::watch_requests).flatten();
        let ends = poller
            .needs_child_signal()
            .then(os::watch_children)
            .flatten();
        if let Some(pipe) = requests.or(ends) {
            poller.add(pipe, SIGNALS, Interest::Read)?;
        }
        Ok(Loop {
            poller,
            clock: Clock::default(),
            children: FxHashMap::default(),
            happened: VecDeque::new(),
            ready: Vec::new(),
            buffer: Vec::with_capacity(BUFFER),
            next: 0,
            marker: Marker::new(&setup.run),
            adopts,
            signals: setup.signals,
            listening: false,
            typed: Vec::new(),
            holding: false,
            muted: Vec::new(),
            launcher: Launcher::new(setup.portable, &setup.told)?,
            wants_watchdog: setup.watchdog,
            watchdog: None,
            left: Vec::new(),
            strays: FxHashMap::default(),
            unnoted: false,
            noted: Instant::now(),
            shared: family::has_strangers(),
            suspects: Vec::new(),
            collected: Instant::now(),
        })
    }

    /// Starts a child. A failure to start is its [`Happened::Done`].
    pub fn start(&mut self, request: Request) -> ChildId {
        let id = self.next;
        self.next += 1;
        // Before the child, which may be what ends us.
        self.watch_over();
        let started = Instant::now();
        let launched = match self.launcher.launch(&request, &self.marker.of(id)) {
            Ok(launched) => launched,
            Err(error) => {
                let outcome = Outcome {
                    duration: started.elapsed(),
                    error: Some(error),
                    ..Outcome::default()
                };
                self.happened
                    .push_back(Happened::Done(ChildId(id), outcome));
                return ChildId(id);
            }
        };
        let limit = request.timeout;
        let timer = limit.and_then(|limit| started.checked_add(limit));
        let mut child = Child {
            pid: launched.pid,
            started,
            phase: Phase::Running,
            timer: timer.map(|at| self.clock.set(at, Due::Child(id))),
            end_watch: None,
            streams: [Some(launched.stdout), Some(launched.stderr)],
            ends: Some(launched.ends).filter(|_| self.children.len() < FEW),
            captures: [request.stdout_limit, request.stderr_limit].map(Capture::new),
            lines: request.stream.then(Default::default),
            whole: request.whole,
            stdin: request.stdin.zip(launched.stdin).map(|(bytes, pipe)| Feed {
                pipe,
                bytes,
                written: 0,
                watched: false,
            }),
            stdin_unread: false,
            ended: None,
            limit,
            grace: request.grace,
            timed_out: false,
            cancelled: false,
            io_error: None,
            warnings: launched.warnings,
            slot: None,
        };
        if let Err(error) = self.listen(id, &mut child) {
            // Without ears for it the child must not run.
            os::signal_group(child.pid, Sent::Kill);
            child.io_error = Some(error.to_string());
            child.streams = [None, None];
            child.phase = Phase::Killed;
        }
        child.slot = self
            .watchdog
            .as_mut()
            .and_then(|dog| dog.register(child.pid));
        let failed = child.phase == Phase::Killed;
        self.children.insert(id, child);
        if failed {
            let at = Instant::now() + LINGER;
            self.set_timer(id, at);
        }
        self.feed(id);
        ChildId(id)
    }

    fn listen(&mut self, id: u64, child: &mut Child) -> io::Result<()> {
        for (part, stream) in [Part::Out, Part::Err].into_iter().zip(&child.streams) {
            if let Some(stream) = stream {
                os::set_nonblocking(stream)?;
                self.poller.add(stream, token(id, part), Interest::Read)?;
            }
        }
        if let Some(feed) = &child.stdin {
            os::set_nonblocking(&feed.pipe)?;
        }
        child.end_watch = self.poller.watch_end(child.pid, token(id, Part::End))?;
        Ok(())
    }

    pub fn sleep(&mut self, time: Duration) -> TimerId {
        let now = Instant::now();
        // A sleep past the end of time is one that never ends; a year will do.
        let far = Duration::from_secs(365 * 24 * 3600);
        let at = now.checked_add(time).unwrap_or(now + far);
        TimerId(self.clock.set(at, Due::Sleep))
    }

    pub fn cancel_timer(&mut self, timer: TimerId) {
        self.clock.cancel(timer.0);
        self.happened
            .retain(|happened| !matches!(happened, Happened::Timer(due) if *due == timer));
    }

    /// TERM to the group, its grace, KILL to the group. The child is done when it has ended.
    pub fn stop(&mut self, child: ChildId) {
        self.begin_stop(child.0, false);
    }

    /// KILL to the group at once.
    pub fn kill(&mut self, child: ChildId) {
        let id = child.0;
        self.begin_stop(id, false);
        let stopping =
            |child: &Child| matches!(child.phase, Phase::Terminating(_) | Phase::Lingering(_));
        if self.children.get(&id).is_some_and(stopping) {
            self.kill_group(id);
        }
    }

    /// How many children may run at once without running out of descriptors.
    pub fn room(&self) -> usize {
        let free = self.launcher.descriptors().saturating_sub(OF_THE_REST);
        (free / OF_A_CHILD).max(1)
    }

    /// How many children have not been reported as done.
    pub fn running(&self) -> usize {
        self.children.len()
    }

    /// Blocks until something happens.
    pub fn wait(&mut self) -> Happened {
        loop {
            if let Some(happened) = self.happened.pop_front() {
                return happened;
            }
            let idle = self.children.is_empty() && self.clock.is_empty() && !self.listening;
            self.turn(idle.then_some(Duration::ZERO));
            if idle && self.happened.is_empty() {
                return Happened::Idle;
            }
        }
    }

    /// The same, but not for longer than this.
    pub fn wait_at_most(&mut self, time: Duration) -> Option<Happened> {
        if self.happened.is_empty() {
            self.turn(Some(time));
        }
        self.happened.pop_front()
    }

    /// One round: what is ready, then what is due. Exits are seen before the deadlines they beat.
    fn turn(&mut self, most: Option<Duration>) {
        let now = Instant::now();
        let until = self
            .clock
            .next_due()
            .map(|at| at.saturating_duration_since(now));
        let collect = match self.poller.needs_child_signal() {
            true => COLLECT_PORTABLE,
            false => COLLECT,
        };
        let collect = (!self.children.is_empty()).then_some(collect);
        let note = self.may_adopt().then_some(NOTE);
        let timeout = [until, collect, note, most].into_iter().flatten().min();
        let mut ready = std::mem::take(&mut self.ready);
        if self.poller.wait(timeout, &mut ready).is_err() {
            // Out of memory in the kernel: trying again at once would only burn the processor.
            std::thread::sleep(LINGER);
        }
        for token in ready.drain(..) {
            self.dispatch(token);
        }
        self.ready = ready;
        let now = Instant::now();
        while let Some((key, due)) = self.clock.due(now) {
            match due {
                Due::Sleep => self.happened.push_back(Happened::Timer(TimerId(key))),
                Due::Child(id) => self.timer_fired(id, now),
            }
        }
        if collect.is_some_and(|period| now.duration_since(self.collected) >= period) {
            self.collected = now;
            self.collect();
            if self.poller.needs_child_signal() {
                self.look_for_ends();
            }
            self.forget_empty_groups();
        }
        if note.is_some() && now.duration_since(self.noted) >= NOTE {
            self.note_strays();
        }
    }

    fn dispatch(&mut self, token: u64) {
        if token == SIGNALS {
            return self.hear_signals();
        }
        if token == TERMINAL {
            return self.hear();
        }
        let id = token >> 2;
        match token & 3 {
            0 => self.listen_once(id, Stream::Out),
            1 => self.listen_once(id, Stream::Err),
            2 => self.feed(id),
            _ => self.look_for_end(id),
        }
    }

    fn look_for_ends(&mut self) {
        let ids: Vec<u64> = self.children.keys().copied().collect();
        for id in ids {
            self.look_for_end(id);
        }
    }

    /// Collects the leader if it has ended, and everything adopted that has ended by now.
    fn look_for_end(&mut self, id: u64) {
        let Some(child) = self.children.get_mut(&id) else {
            return;
        };
        if child.ended.is_some() {
            return;
        }
        let Some(ended) = family::take_end(child.pid) else {
            return;
        };
        child.ended = Some(ended);
        child.ends = None;
        self.poller.forget(token(id, Part::End));
        child.end_watch = None;
        self.collect();
        let Some(child) = self.children.get_mut(&id) else {
            return;
        };
        let now = Instant::now();
        match child.phase {
            Phase::Running => child.phase = Phase::Draining,
            Phase::Terminating(until) if os::group_exists(child.pid) => {
                child.phase = Phase::Lingering(until);
            }
            Phase::Terminating(_) => child.phase = Phase::Killed,
            Phase::Lingering(_) | Phase::Killed | Phase::Draining => {}
        }
        let phase = child.phase;
        self.settle(id, phase, now);
    }

    fn settle(&mut self, id: u64, phase: Phase, now: Instant) {
        match phase {
            Phase::Lingering(_) => self.set_timer(id, now + LINGER),
            _ => {
                // All the child itself wrote is in the pipes by now; this spares two wake-ups.
                self.read(id, Stream::Out, 16);
                self.read(id, Stream::Err, 16);
                if !self.finish_if_quiet(id) {
                    self.set_timer(id, now + DRAIN);
                }
            }
        }
    }

    fn timer_fired(&mut self, id: u64, now: Instant) {
        // An end that came first counts, even if the poller has not told us yet.
        self.look_for_end(id);
        let Some(child) = self.children.get_mut(&id) else {
            return;
        };
        let (phase, group) = (child.phase, child.pid);
        match phase {
            Phase::Running => self.begin_stop(id, true),
            Phase::Terminating(_) => self.kill_group(id),
            Phase::Lingering(until) => {
                self.collect();
                if !os::group_exists(group) {
                    self.enter(id, Phase::Killed);
                    self.settle(id, Phase::Killed, now);
                } else if now >= until {
                    self.kill_group(id);
                } else {
                    self.set_timer(id, now + LINGER);
                }
            }
            Phase::Killed | Phase::Draining => self.finish(id),
        }
    }

    fn enter(&mut self, id: u64, phase: Phase) {
        if let Some(child) = self.children.get_mut(&id) {
            child.phase = phase;
        }
    }

    fn set_timer(&mut self, id: u64, at: Instant) {
        if let Some(child) = self.children.get_mut(&id) {
            if let Some(old) = child.timer.take() {
                self.clock.cancel(old);
            }
            child.timer = Some(self.clock.set(at, Due::Child(id)));
        }
    }

    fn begin_stop(&mut self, id: u64, timed_out: bool) {
        self.look_for_end(id);
        let Some(child) = self.children.get_mut(&id) else {
            return;
        };
        if child.phase != Phase::Running {
            return;
        }
        let until = Instant::now() + child.grace;
        child.phase = Phase::Terminating(until);
        child.timed_out = timed_out;
        child.cancelled = !timed_out;
        os::signal_group(child.pid, Sent::Term);
        os::signal_group(child.pid, Sent::Continue);
        self.set_timer(id, until);
        self.unmute(|muted| muted == id);
    }

    fn kill_group(&mut self, id: u64) {
        let Some(child) = self.children.get_mut(&id) else {
            return;
        };
        os::signal_group(child.pid, Sent::Kill);
        child.phase = Phase::Killed;
        let now = Instant::now();
        if child.ended.is_some() {
            self.settle(id, Phase::Killed, now);
        } else {
            self.set_timer(id, now + DRAIN);
        }
    }

    fn finish_if_quiet(&mut self, id: u64) -> bool {
        let quiet = self.children.get(&id).is_some_and(|child| {
            child.ended.is_some()
                && child.streams.iter().all(Option::is_none)
                && !matches!(child.phase, Phase::Lingering(_))
        });
        if quiet {
            self.finish(id);
        }
        quiet
    }

    fn finish(&mut self, id: u64) {
        let Some(mut child) = self.children.remove(&id) else {
            return;
        };
        if let Some(timer) = child.timer.take() {
            self.clock.cancel(timer);
        }
        for part in [Part::Out, Part::Err, Part::In, Part::End] {
            self.poller.forget(token(id, part));
        }
        if child.ended.is_none() {
            // Killed and still not gone: the kernel holds it. It is nobody's child we know now.
            family::disown(child.pid);
        }
        let stopped = child.timed_out || child.cancelled;
        if stopped {
            self.end_strays_of(id);
        }
        self.release_group(child.pid, child.slot);
        for (at, stream) in [Stream::Out, Stream::Err].into_iter().enumerate() {
            let rest = child.lines.as_mut().and_then(|lines| lines[at].finish());
            self.happened
                .extend(rest.map(|line| Happened::Output(ChildId(id), stream, line)));
        }
        let outcome = child.into_outcome();
        self.happened
            .push_back(Happened::Done(ChildId(id), outcome));
    }
}

fn part_of(stream: Stream) -> Part {
    match stream {
        Stream::Out => Part::Out,
        Stream::Err => Part::Err,
    }
}
