//! Descriptors, and what stands behind them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, RawFd};
use std::path::Path;

pub fn set_nonblocking(fd: impl AsFd) -> io::Result<()> {
    Ok(rustix::io::ioctl_fionbio(fd, true)?)
}

/// Reads once, as much as the buffer has room for.
pub fn read(fd: impl AsFd, buffer: &mut Vec<u8>) -> io::Result<&[u8]> {
    buffer.clear();
    rustix::io::read(fd, rustix::buffer::spare_capacity(buffer))?;
    Ok(buffer)
}

/// A file without a name that disappears with its last descriptor.
pub fn private_file() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{MemfdFlags, memfd_create};
        Ok(File::from(memfd_create("rrc", MemfdFlags::CLOEXEC)?))
    }
    #[cfg(not(target_os = "linux"))]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(".rrc-{}-{number}", std::process::id()));
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    }
}

/// The same open file at a descriptor number no lower than `least`.
pub fn move_above(file: File, least: RawFd) -> io::Result<File> {
    Ok(File::from(rustix::io::fcntl_dupfd_cloexec(&file, least)?))
}

/// Whether programs started from now on get this descriptor.
pub fn set_inherited(file: &File, inherited: bool) -> io::Result<()> {
    use rustix::io::FdFlags;
    let flags = match inherited {
        true => FdFlags::empty(),
        false => FdFlags::CLOEXEC,
    };
    Ok(rustix::io::fcntl_setfd(file, flags)?)
}

pub fn may_execute(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// How many characters a line of a terminal holds, if it knows its size.
pub fn columns(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    let known = size.ws_row > 0 && size.ws_col > 0;
    known.then_some(size.ws_col.into())
}

/// What was typed at a terminal and not read yet is not read any more.
pub fn forget_typed(terminal: impl AsFd) {
    use rustix::termios::{QueueSelector, tcflush};
    // What is no terminal keeps it.
    let _ = tcflush(terminal, QueueSelector::IFlush);
}
