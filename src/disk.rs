//! The compiler's world, on disk.

use rrc_compiler::doc::MAX_BYTES;
use rrc_compiler::world::{ReadError, World};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Files by their paths, and one text that was read from standard input.
pub struct Disk {
    pub stdin: Option<(String, Vec<u8>)>,
}

impl Disk {
    pub fn new() -> Disk {
        Disk { stdin: None }
    }

    /// Reads standard input, to be found under this name.
    pub fn with_stdin(name: &str) -> io::Result<Disk> {
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .take(MAX_BYTES as u64 + 1)
            .read_to_end(&mut bytes)?;
        Ok(Disk {
            stdin: Some((name.to_string(), bytes)),
        })
    }
}

impl World for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        if let Some((name, bytes)) = &self.stdin
            && name == path
        {
            return Ok(bytes.clone());
        }
        read(path)
    }
}

/// A file, if it is one and not larger than any recipe that is read.
pub fn read(path: &str) -> Result<Vec<u8>, ReadError> {
    read_at_most(path.as_ref(), MAX_BYTES)
}

/// A file, if it is one and not larger than this. What has no size, a device or a pipe, is read
/// one byte further than that, and no more.
pub fn read_at_most(path: &Path, most: usize) -> Result<Vec<u8>, ReadError> {
    let other = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::NotFound,
        io::ErrorKind::IsADirectory => ReadError::Directory,
        _ => ReadError::Other(error.to_string()),
    };
    let file = File::open(path).map_err(other)?;
    let size = file.metadata().map_err(other)?;
    if size.is_dir() {
        return Err(ReadError::Directory);
    }
    if size.len() > most as u64 {
        return Err(ReadError::TooLarge(size.len()));
    }
    let mut bytes = Vec::with_capacity(size.len() as usize + 1);
    file.take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(other)?;
    Ok(bytes)
}
