//! What children write and read: their output is captured, their input is fed.

use super::{ChildId, Happened, Loop, Part, Stream, part_of, token};
use crate::os::{self, Interest};
use std::io::{self, PipeWriter, Write as _};

/// Bytes on their way to a standard input.
pub(super) struct Feed {
    pub pipe: PipeWriter,
    pub bytes: Vec<u8>,
    pub written: usize,
    pub watched: bool,
}

impl Loop {
    pub(super) fn listen_once(&mut self, id: u64, stream: Stream) {
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
