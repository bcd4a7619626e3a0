//! Where a command writes: standard output, and files because somebody named them.

use crate::words;
use std::io::{self, Write};
use std::path::Path;

/// Standard output, whose trouble says where it was.
pub struct Named<'o>(pub &'o mut dyn Write);

impl Write for Named<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(named)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(named)
    }
}

/// Standard error of a run: nobody to tell it to is no reason not to run.
pub struct Heedless<'o>(pub &'o mut dyn Write);

impl Write for Heedless<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

fn named(error: io::Error) -> io::Error {
    match error.kind() {
        // To be tried again, or nobody's trouble.
        io::ErrorKind::Interrupted | io::ErrorKind::BrokenPipe => error,
        kind => io::Error::new(kind, format!("standard output: {}", words(&error))),
    }
}

/// Writes a file whole or not at all: the new text is complete before the old one is gone.
pub fn whole_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let said = |error: io::Error| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.exists() => {
            format!("there is no directory `{}`", parent.display())
        }
        _ => words(&error),
    };
    let name = path.display();
    put(path, bytes).map_err(|error| io::Error::other(format!("{name}: {}", said(error))))
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A device or a pipe is not to be replaced, nor is a file that somebody writes to: `/dev/stdout`.
    let is_open = ["/dev", "/proc"].iter().any(|top| path.starts_with(top));
    let old = std::fs::metadata(path).ok();
    if is_open || old.as_ref().is_some_and(|old| !old.is_file()) {
        return std::fs::write(path, bytes);
    }
    // Through a link, to what it stands for.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".rrc-{}", std::process::id()));
    let beside = path.with_file_name(name);
    let written = std::fs::write(&beside, bytes)
        .and_then(|()| match &old {
            Some(old) => std::fs::set_permissions(&beside, old.permissions()),
            None => Ok(()),
        })
        .and_then(|()| std::fs::rename(&beside, path));
    let Err(error) = written else { return Ok(()) };
    let _ = std::fs::remove_file(&beside);
    // Where no file may be made, this one may still be written.
    match error.kind() {
        io::ErrorKind::PermissionDenied if old.is_some() => std::fs::write(path, bytes),
        _ => Err(error),
    }
}

/// Whether both are one file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let found = |path| std::fs::canonicalize(path).ok();
    matches!((found(one), found(other)), (Some(one), Some(other)) if one == other)
}
