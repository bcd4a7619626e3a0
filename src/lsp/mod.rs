//! `rrc lsp`: the compiler behind an editor, over standard input and output.
//!
//! One loop takes message after message; a thread beside it only reads. Nothing here knows the
//! language: questions go to `rrc_compiler::ide`, and what comes back is converted.

mod actions;
mod answers;
mod buffers;
mod place;
mod server;
mod uri;
mod wire;

use crate::cli::Global;
use crate::{FAILED, Streams};
use server::Server;
use std::io::{self, BufReader};
use std::sync::mpsc::{self, RecvTimeoutError};

pub fn lsp(global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let (sender, messages) = mpsc::channel();
    std::thread::spawn(move || {
        let mut input = BufReader::with_capacity(1 << 18, io::stdin());
        while let Ok(Some(message)) = wire::read(&mut input) {
            let more = !input.buffer().is_empty();
            if sender.send((message, more)).is_err() {
                return;
            }
        }
    });
    let mut server = Server::new(global, streams);
    loop {
        let next = match server.wait() {
            None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(time) => messages.recv_timeout(time),
        };
        let step = match next {
            Ok((message, more)) => server.take(message, more),
            Err(RecvTimeoutError::Timeout) => server.check().map(|()| None),
            Err(RecvTimeoutError::Disconnected) => return Ok(FAILED),
        };
        match step {
            Ok(None) => {}
            Ok(Some(code)) => return Ok(code),
            // An editor that is gone reads nothing, and did not say goodbye.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(FAILED),
            Err(error) => return Err(error),
        }
    }
}
