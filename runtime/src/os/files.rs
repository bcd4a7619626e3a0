//! Descriptors, and what stands behind them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::path::Path;
use std::time::Duration;

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
pub fn move_above(file: &File, least: RawFd) -> io::Result<File> {
    Ok(File::from(rustix::io::fcntl_dupfd_cloexec(file, least)?))
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

/// Bytes that are written whole where there is room, without waiting for more of it.
pub const AT_ONCE: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

pub fn standard_output() -> BorrowedFd<'static> {
    rustix::stdio::stdout()
}

pub fn standard_error() -> BorrowedFd<'static> {
    rustix::stdio::stderr()
}

/// Writes once, as much as is taken.
pub fn write(fd: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::write(fd, bytes)?)
}

/// Whether something can be written without waiting, now or before the time is over. So it can where
/// nothing will ever be read again: then writing says so.
pub fn has_room(fd: impl AsFd, time: Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let time = Timespec {
        tv_sec: time.as_secs() as _,
        tv_nsec: time.subsec_nanos() as _,
    };
    let mut asked = [PollFd::new(&fd, PollFlags::OUT)];
    poll(&mut asked, Some(&time)).is_ok_and(|ready| ready > 0)
}

/// Whether writing there never waits for a reader.
pub fn never_blocks(fd: impl AsFd) -> bool {
    use rustix::fs::{FileType, fstat};
    let kind = fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind {
        Ok(FileType::RegularFile) => true,
        Ok(FileType::CharacterDevice) => !rustix::termios::isatty(fd),
        _ => false,
    }
}

/// Whether two descriptors lead to the same file, pipe or terminal.
pub fn are_same(one: impl AsFd, other: impl AsFd) -> bool {
    let place = |fd| {
        let stat = rustix::fs::fstat(fd).ok()?;
        Some((stat.st_dev, stat.st_ino))
    };
    let place = (place(one.as_fd()), place(other.as_fd()));
    place.0.is_some() && place.0 == place.1
}
