//! What children write and read: their output is captured, their input is fed.

use super::{ChildId, Happened, Loop, Part, Phase, Stream, part_of, token};
use crate::os::{self, Interest};
use std::io::{self, PipeWriter, Write as _};

/// What may have happened and not been looked at while children that end are still listened to.
const LAST_WORDS: usize = 4096;

/// Bytes on their way to a standard input.
pub(super) struct Feed {
    pub pipe: PipeWriter,
    pub bytes: Vec<u8>,
    pub written: usize,
    pub watched: bool,
}

impl Loop {
    /// Whether to leave the lines of children unread for now: a child that is told line by line waits
    /// then, once its pipe is full. False if that is how it is already.
    pub fn hold_lines(&mut self, hold: bool) -> bool {
        let changed = std::mem::replace(&mut self.holding, hold) != hold;
        if changed && !hold {
            self.unmute(|_| true);
        }
        changed
    }

    pub fn holds_lines(&self) -> bool {
        self.holding
    }

    /// A child that is being ended says its last words all the same, as it might wait for them to be read.
    fn is_held(&self, id: u64) -> bool {
        let Some(child) = self.children.get(&id).filter(|_| self.holding) else {
            return false;
        };
        let ends = matches!(child.phase, Phase::Terminating(_) | Phase::Lingering(_));
        child.lines.is_some() && !(ends && self.happened.len() < LAST_WORDS)
    }

    fn mute(&mut self, id: u64, stream: Stream) {
        let child = self.children.get(&id);
        if let Some(pipe) = child.and_then(|child| child.streams[stream as usize].as_ref()) {
            self.poller.remove(pipe, token(id, part_of(stream)));
            self.muted.push((id, stream));
        }
    }

    pub(super) fn unmute(&mut self, which: impl Fn(u64) -> bool) {
        for (id, stream) in std::mem::take(&mut self.muted) {
            if !which(id) {
                self.muted.push((id, stream));
                continue;
            }
            let Some(child) = self.children.get_mut(&id) else {
                continue;
            };
            let Some(pipe) = &child.streams[stream as usize] else {
                continue;
            };
            let token = token(id, part_of(stream));
            if let Err(error) = self.poller.add(pipe, token, Interest::Read) {
                child.io_error = Some(error.to_string());
            }
        }
    }

    pub(super) fn listen_once(&mut self, id: u64, stream: Stream) {
        if self.is_held(id) {
            return self.mute(id, stream);
        }
        self.read(id, stream, 1);
        self.finish_if_quiet(id);
    }

    /// Reads at most `most` buffers, so that one loud child cannot starve the others.
    pub(super) fn read(&mut self, id: u64, stream: Stream, most: usize) {
        let Some(child) = self.children.get_mut(&id) else {
            return;
        };
        let at = stream as usize;
        let mut closed = false;
        for _ in 0..most {
            let Some(pipe) = &child.streams[at] else {
                return;
            };
            match os::read(pipe, &mut self.buffer) {
                Ok([]) => closed = true,
                Ok(bytes) => {
                    child.captures[at].push(bytes);
                    closed |= child.whole && at == 0 && child.captures[at].truncated();
                    if let Some(lines) = &mut child.lines {
                        let happened = &mut self.happened;
                        lines[at].push(bytes, |line| {
                            happened.push_back(Happened::Output(ChildId(id), stream, line));
                        });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    child.io_error = Some(error.to_string());
                    closed = true;
                }
            }
            if closed {
                self.poller.forget(token(id, part_of(stream)));
                child.streams[at] = None;
            }
        }
    }

    /// Writes what the standard input takes without blocking.
    pub(super) fn feed(&mut self, id: u64) {
        let Some(child) = self.children.get_mut(&id) else {
            return;
        };
        let Some(feed) = &mut child.stdin else {
            return;
        };
        while feed.written < feed.bytes.len() {
            match feed.pipe.write(&feed.bytes[feed.written..]) {
                Ok(count) => feed.written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !feed.watched {
                        let token = token(id, Part::In);
                        if self.poller.add(&feed.pipe, token, Interest::Write).is_err() {
                            child.io_error = Some("its input could not be written".to_owned());
                            break;
                        }
                        feed.watched = true;
                    }
                    return;
                }
                // A program may leave its input unread.
                Err(_) => {
                    child.stdin_unread = true;
                    break;
                }
            }
        }
        self.poller.forget(token(id, Part::In));
        child.stdin = None;
    }
}
