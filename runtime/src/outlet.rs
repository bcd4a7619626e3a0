//! The ways out of this process, whose readers may be slow, or asleep: what is written there waits for
//! them, and whoever writes it does not.
//!
//! As long as there is room, bytes are written at once. Where there is none they wait in a queue, in
//! their order, for a thread that does nothing but wait for the reader: descriptors that do not block
//! would be the other way, but whoever shares a terminal or a pipe with us would get them, too. Knows
//! bytes, and nothing of what they say.

use crate::os;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that may wait before nothing more should be asked for, and before nothing more should be said.
const MUCH: usize = 4 << 20;
const MOST: usize = 16 << 20;
/// How long a reader may take nothing when everything is to end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes that are passed on together.
const PIECE: usize = 64 << 10;

/// Standard output and standard error; or neither, for what is told elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    ways: Option<[Arc<Way>; 2]>,
    /// Since when everything is to end.
    hurried: Arc<OnceLock<Instant>>,
}

#[derive(Debug)]
struct Way {
    to: BorrowedFd<'static>,
    /// Room never runs out where a file is.
    is_file: bool,
    state: Mutex<State>,
    changed: Condvar,
    /// As the state has it, to be looked at often.
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<Vec<u8>>,
    /// Bytes that have not been written, those that are being written included.
    bytes: usize,
    /// When the reader has last taken something, or something began to wait.
    moved: Instant,
    has_thread: bool,
    /// Whoever writes waits, too: nothing else is to be done any more.
    waits: bool,
    /// Nobody reads, and nobody waits for it any longer.
    given_up: bool,
    error: Option<i32>,
}

impl Ways {
    /// Those of this process. What leads to one reader keeps its order.
    pub fn standard() -> Ways {
        let out = Way::new(os::standard_output());
        let err = os::standard_error();
        let err = match !out.is_file && os::are_same(out.to, err) {
            true => Arc::clone(&out),
            false => Way::new(err),
        };
        Ways {
            ways: Some([out, err]),
            hurried: Arc::default(),
        }
    }

    /// Standard output, written when it is flushed.
    pub fn out(&self) -> Option<Outlet> {
        self.outlet(0, false)
    }

    /// Standard error, written by lines.
    pub fn err(&self) -> Option<Outlet> {
        self.outlet(1, true)
    }

    fn outlet(&self, which: usize, by_lines: bool) -> Option<Outlet> {
        let way = Arc::clone(self.ways.as_ref()?.get(which)?);
        Some(Outlet {
            way,
            by_lines,
            buffer: Vec::new(),
        })
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Way>> {
        self.ways.iter().flatten()
    }

    fn most_waiting(&self) -> usize {
        let waiting = self.all().map(|way| way.waiting.load(Ordering::Relaxed));
        waiting.max().unwrap_or(0)
    }

    /// Whether so much waits that no more should be asked for.
    pub fn have_much(&self) -> bool {
        self.most_waiting() > MUCH
    }

    /// Whether so much waits that nothing more should be said.
    pub fn are_full(&self) -> bool {
        if self.most_waiting() <= MOST {
            return false;
        }
        if let Some(since) = self.hurried.get() {
            for way in self.all() {
                way.lose_patience(*since);
            }
        }
        self.most_waiting() > MOST
    }

    /// From now on readers that take nothing are not waited for much longer.
    pub fn hurry(&self) {
        self.hurried.get_or_init(Instant::now);
    }

    /// What waits is thrown away, and so is what comes.
    pub fn give_up(&self) {
        self.all().for_each(|way| way.give_up(way.state()));
    }

    /// Nothing else is to be done: from now on writing takes as long as reading.
    pub fn wait(&self) {
        if self.hurried.get().is_none() {
            self.all().for_each(|way| way.state().waits = true);
        }
    }

    /// Waits until everything has been read, or nobody reads and there is a hurry.
    pub fn finish(&self) {
        let now = Instant::now();
        for way in self.all() {
            match self.hurried.get() {
                Some(_) => while !way.lose_patience(now) {},
                None => drop(way.until_read(way.state())),
            }
        }
    }
}

impl Way {
    fn new(to: BorrowedFd<'static>) -> Arc<Way> {
        let state = State {
            queue: VecDeque::new(),
            bytes: 0,
            moved: Instant::now(),
            has_thread: false,
            waits: false,
            given_up: false,
            error: None,
        };
        Arc::new(Way {
            to,
            is_file: os::never_blocks(to),
            state: Mutex::new(state),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, state: &mut State, bytes: usize) {
        state.bytes = bytes;
        self.waiting.store(bytes, Ordering::Relaxed);
    }

    fn until_read<'w>(&self, mut state: MutexGuard<'w, State>) -> MutexGuard<'w, State> {
        while state.bytes > 0 {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Gives up on a reader who has taken nothing for too long, after `since`. Whether there is nothing
    /// to wait for then; else it has waited for a moment.
    fn lose_patience(&self, since: Instant) -> bool {
        let state = self.state();
        if state.bytes == 0 {
            return true;
        }
        let left = PATIENCE.saturating_sub(state.moved.max(since).elapsed());
        if left.is_zero() {
            self.give_up(state);
            return true;
        }
        let moment = left.min(Duration::from_millis(20));
        drop(self.changed.wait_timeout(state, moment));
        false
    }

    fn give_up(&self, mut state: MutexGuard<'_, State>) {
        state.given_up = true;
        state.queue.clear();
        self.count(&mut state, 0);
    }

    fn send(self: &Arc<Way>, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        if state.waits {
            state = self.until_read(state);
        }
        if state.given_up || bytes.is_empty() {
            return Ok(());
        }
        if let Some(error) = state.error {
            return Err(io::Error::from_raw_os_error(error));
        }
        let mut rest = bytes;
        while state.bytes == 0
            && !rest.is_empty()
            && (state.waits || self.is_file || os::has_room(self.to, Duration::ZERO))
        {
            let most = match self.is_file || state.waits {
                true => rest.len(),
                false => rest.len().min(os::AT_ONCE),
            };
            match write(self.to, &rest[..most]) {
                Ok(count) => rest = &rest[count..],
                Err(error) => {
                    state.error = error.raw_os_error();
                    return Err(error);
                }
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        if state.bytes == 0 {
            state.moved = Instant::now();
        }
        let total = state.bytes + rest.len();
        self.count(&mut state, total);
        match state.queue.back_mut() {
            Some(last) if last.len() < PIECE => last.extend_from_slice(rest),
            _ => state.queue.push_back(rest.to_vec()),
        }
        if !state.has_thread {
            let way = Arc::clone(self);
            let thread = std::thread::Builder::new().name("outlet".to_string());
            // Where no thread can be had, the writing waits after all.
            match thread.spawn(move || way.pass_on()) {
                Ok(_) => state.has_thread = true,
                Err(_) => {
                    drop(state);
                    self.pass_on_all();
                    return Ok(());
                }
            }
        }
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// The work of the thread, which ends with the process.
    fn pass_on(&self) {
        loop {
            self.pass_on_all();
            let state = self.state();
            if state.queue.is_empty() {
                drop(self.changed.wait(state));
            }
        }
    }

    fn pass_on_all(&self) {
        loop {
            let Some(piece) = self.state().queue.pop_front() else {
                return;
            };
            let mut rest = &piece[..];
            while !rest.is_empty() {
                // By little, to see that a slow reader reads.
                let written = write(self.to, &rest[..rest.len().min(os::AT_ONCE)]);
                let mut state = self.state();
                if state.given_up {
                    break;
                }
                match written {
                    Ok(count) => {
                        rest = &rest[count..];
                        state.moved = Instant::now();
                        let left = state.bytes.saturating_sub(count);
                        self.count(&mut state, left);
                    }
                    Err(error) => {
                        state.error = error.raw_os_error().or(Some(0));
                        state.queue.clear();
                        self.count(&mut state, 0);
                        rest = &[];
                    }
                }
            }
            self.changed.notify_all();
        }
    }
}

/// Writes something, waiting for room.
fn write(to: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match os::write(to, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => return Ok(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Somebody who shares it has made it so.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                os::has_room(to, Duration::from_secs(1));
            }
            Err(error) => return Err(error),
        }
    }
}

/// One way out, to be written to.
#[derive(Debug)]
pub struct Outlet {
    way: Arc<Way>,
    by_lines: bool,
    buffer: Vec<u8>,
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE || self.by_lines && bytes.ends_with(b"\n") {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let sent = self.way.send(&self.buffer);
        self.buffer.clear();
        sent
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        // Who wants to know flushes.
        let _ = self.flush();
    }
}
