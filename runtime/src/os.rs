//! The operating system, behind functions that the rest of the runtime can name.
//!
//! The only module that names `rustix` and `libc`, and this the only file that may hold `unsafe`. It knows
//! system calls and nothing of steps, captures or deadlines. Linux gets epoll, pidfds, a subreaper,
//! memory files and a start without detours; elsewhere the same functions work with poll(2), SIGCHLD and
//! posix_spawn(3). What is lost there: a process that leaves its group (setsid, double fork) is not found
//! again, the watchdog ends process groups and not what carries the run's marker, and children that start
//! while hundreds run may get a raised limit of open descriptors.
#![allow(
    unsafe_code,
    reason = "system calls that no safe interface covers; everywhere else it is denied"
)]

mod children;
mod files;
mod limit;
mod listing;

#[cfg(target_os = "linux")]
use std::ffi::c_void;
use std::ffi::{CStr, c_char, c_int, c_short};
use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
use std::os::unix::fs::MetadataExt as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Signal;
#[cfg(target_os = "linux")]
use rustix::process::{Pid, Resource, Rlimit};

pub use children::{
    Ended, Reaped, Sent, become_subreaper, group_exists, has_children, reap, reap_any, reap_killed,
    signal_group, signal_process,
};
pub use files::{
    AT_ONCE, are_same, columns, forget_typed, has_room, may_execute, move_above, never_blocks,
    private_file, read, set_inherited, set_nonblocking, standard_error, standard_output, write,
};
pub use limit::DescriptorLimit;
pub use listing::{Listed, children, environment_of, processes};

/// Whether a file was refused because it is in no format that can be run.
pub fn is_no_program(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}

// ---- memory -------------------------------------------------------------------------------

/// Prepares for some megabytes that will be needed at once: the system gives them in pages of two
/// megabytes, which takes a tenth of the time that as many small ones take. A hint: where it is not taken,
/// nothing else changes. It is taken once, and neither where memory is scarce nor beside other threads.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
pub fn expect_memory() {
    const LARGE: usize = 2 << 20;
    const SMALL: usize = 4 << 10;
    const MOST: c_int = 4 * LARGE as c_int;
    static TAKEN: OnceLock<()> = OnceLock::new();
    let is_bounded = |resource| rustix::process::getrlimit(resource).current.is_some();
    if [Resource::Data, Resource::As].into_iter().any(is_bounded)
        || !is_only_thread()
        || TAKEN.set(()).is_err()
    {
        return;
    }
    // SAFETY: no other thread moves the heap meanwhile; the C library's settings are its own to keep; its
    // heap may be moved on by others, which it allows for; and what is advised about lies in the heap,
    // whose contents the advice does not change.
    unsafe {
        libc::mallopt(libc::M_TOP_PAD, LARGE as c_int);
        libc::mallopt(libc::M_TRIM_THRESHOLD, MOST);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MOST);
        // A large page is given at the first touch, and only if none of its small pages has been touched.
        // So the heap is moved on to just before one: what the library notes about the memory below is in
        // the small page before it, and behind two large ones.
        let end = libc::sbrk(0).cast::<u8>();
        let large = (end.wrapping_add(SMALL) as usize).wrapping_neg() % LARGE;
        if libc::sbrk(large as libc::intptr_t) as isize == -1 {
            return;
        }
        // A compiler would leave out what is freed at once.
        let grown = std::hint::black_box(libc::malloc(2 * LARGE));
        let start = end.wrapping_add(SMALL + large).cast();
        if start as usize - SMALL <= grown as usize && (grown as usize) < start as usize {
            libc::madvise(start, 2 * LARGE, libc::MADV_HUGEPAGE);
        }
        libc::free(grown);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
pub fn expect_memory() {}

/// Whether this process certainly has no thread but this one: each has a directory.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
fn is_only_thread() -> bool {
    const OWN_LINKS: u64 = 2;
    let tasks = std::fs::metadata("/proc/self/task");
    tasks.is_ok_and(|tasks| tasks.nlink() == OWN_LINKS + 1)
}

// ---- starting -----------------------------------------------------------------------------

/// All that a new process is given. `std::process::Command` starts programs in the same way, but it
/// copies and sorts the whole environment for each, which is most of the work of a short step.
pub struct Start<'a> {
    /// The path of the program; it is not searched for.
    pub program: &'a CStr,
    pub argv: &'a [&'a CStr],
    pub environment: &'a [&'a CStr],
    pub cwd: &'a CStr,
    /// Standard input, output and error, none of which is one of ours.
    pub streams: [BorrowedFd<'a>; 3],
    pub limit: &'a DescriptorLimit,
}

type Pointers = Vec<*mut c_char>;

impl Start<'_> {
    /// The words and the environment as C has them. Good for as long as `self`.
    fn lists(&self) -> (Pointers, Pointers) {
        let list = |texts: &[&CStr]| -> Pointers {
            let pointers = texts.iter().map(|text| text.as_ptr().cast_mut());
            pointers.chain([std::ptr::null_mut()]).collect()
        };
        (list(self.argv), list(self.environment))
    }
}

/// Starts a program in a session of its own, so that it is its own process group and has no terminal: one
/// that read from ours in the background would stand still for ever. No signal is blocked, and PIPE is
/// ordinary, which Rust's runtime has taken from us.
pub fn spawn(start: &Start<'_>, portable: bool) -> io::Result<u32> {
    #[cfg(target_os = "linux")]
    if !portable {
        return spawn_directly(start);
    }
    let _ = portable;
    let streams = start.streams.iter().map(|stream| stream.as_raw_fd());
    let highest = streams.max().unwrap_or_default();
    start.limit.as_given(highest, || spawn_portably(start))
}

/// What becomes a child, until its program takes over. It lives in our memory, and this thread stands
/// still meanwhile: so it may do nothing but system calls, and may leave a word for us.
#[cfg(target_os = "linux")]
struct Newborn<'a> {
    start: &'a Start<'a>,
    argv: *const *mut c_char,
    environment: *const *mut c_char,
    /// The handlers of this process would run in the child, were they still set.
    usual: &'a libc::sigset_t,
    limit: Option<Rlimit>,
    failure: c_int,
}

#[cfg(target_os = "linux")]
impl Newborn<'_> {
    /// Returns only if the program cannot be started.
    fn become_program(&self) -> rustix::io::Errno {
        let prepared = (|| {
            rustix::process::setsid()?;
            let [input, output, errors] = self.start.streams;
            rustix::stdio::dup2_stdin(input)?;
            rustix::stdio::dup2_stdout(output)?;
            rustix::stdio::dup2_stderr(errors)?;
            rustix::process::chdir(self.start.cwd)?;
            match self.limit {
                Some(limit) => rustix::process::setrlimit(Resource::Nofile, limit),
                None => Ok(()),
            }
        })();
        if let Err(error) = prepared {
            return error;
        }
        // SAFETY: the sets and the action are plain numbers, for which zero is a value; the lists end with
        // a null, and like all they point to they outlive the child's stay in this memory.
        let failure = unsafe {
            let usual: libc::sigaction = std::mem::zeroed();
            for number in HANDLED {
                if libc::sigismember(self.usual, number) == 1 {
                    libc::sigaction(number, &raw const usual, std::ptr::null_mut());
                }
            }
            let mut none = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::execve(
                self.start.program.as_ptr(),
                self.argv.cast(),
                self.environment.cast(),
            );
            *errno_place()
        };
        rustix::io::Errno::from_raw_os_error(failure)
    }
}

#[cfg(target_os = "linux")]
extern "C" fn be_born(newborn: *mut c_void) -> c_int {
    // SAFETY: the only caller passes a `Newborn`, and looks at it again when this process is gone.
    let newborn = unsafe { &mut *newborn.cast::<Newborn<'_>>() };
    newborn.failure = newborn.become_program().raw_os_error();
    127
}

/// What posix_spawn(3) does, less what it does for every program there may be: a stack that it maps anew
/// each time, 64 signals that it asks about, limits that it looks up for each descriptor.
#[cfg(target_os = "linux")]
fn spawn_directly(start: &Start<'_>) -> io::Result<u32> {
    use std::mem::MaybeUninit;
    let (argv, environment) = start.lists();
    let mut newborn = Newborn {
        start,
        argv: argv.as_ptr(),
        environment: environment.as_ptr(),
        usual: usual(),
        limit: start.limit.of_children(),
        failure: 0,
    };
    // Sixteen bytes each, as a stack is aligned.
    let mut stack = [MaybeUninit::<u128>::uninit(); 2048];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child runs `be_born` on a stack of its own, which nothing else uses; this thread goes on
    // when the child has its program, or has ended, so everything it can reach lives as long as it does.
    // With all signals blocked no handler of ours runs in it, and the mask that was set is restored.
    let pid = unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        said(libc::pthread_sigmask(
            libc::SIG_SETMASK,
            &raw const all,
            &raw mut before,
        ))?;
        let top = stack.as_mut_ptr_range().end;
        let born = libc::clone(be_born, top.cast(), flags, (&raw mut newborn).cast());
        let born = u32::try_from(born).map_err(|_| io::Error::last_os_error());
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        born?
    };
    if newborn.failure != 0 {
        reap_killed(pid);
        return Err(io::Error::from_raw_os_error(newborn.failure));
    }
    Ok(pid)
}

unsafe extern "C" {
    // The crate has it for Linux alone.
    fn posix_spawn_file_actions_addchdir_np(
        actions: *mut libc::posix_spawn_file_actions_t,
        path: *const c_char,
    ) -> c_int;
}

#[cfg(target_os = "linux")]
const POSIX_SPAWN_SETSID: c_short = libc::POSIX_SPAWN_SETSID;
/// The crate does not have it for macOS, from whose spawn.h this is.
#[cfg(not(target_os = "linux"))]
const POSIX_SPAWN_SETSID: c_short = 0x0400;

/// What the functions of this family say: a number of an error, or 0.
fn said(number: c_int) -> io::Result<()> {
    match number {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}

fn spawn_portably(start: &Start<'_>) -> io::Result<u32> {
    struct Actions(libc::posix_spawn_file_actions_t);
    impl Drop for Actions {
        fn drop(&mut self) {
            // SAFETY: made by its init function, and destroyed once.
            unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
        }
    }
    struct Attributes(libc::posix_spawnattr_t);
    impl Drop for Attributes {
        fn drop(&mut self) {
            // SAFETY: made by its init function, and destroyed once.
            unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
        }
    }
    let (argv, environment) = start.lists();
    let signals = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;
    let flags = signals as c_short | POSIX_SPAWN_SETSID;
    let mut pid = 0;
    // SAFETY: what is zeroed is given to its init function before any other; both lists end with a
    // null, and what they and the other pointers point to outlives the calls, which write to none of
    // it but `pid` and the two sets.
    unsafe {
        let mut actions = std::mem::zeroed();
        said(libc::posix_spawn_file_actions_init(&raw mut actions))?;
        let mut actions = Actions(actions);
        let actions = &raw mut actions.0;
        for (number, stream) in (0..).zip(start.streams) {
            let stream = stream.as_raw_fd();
            said(libc::posix_spawn_file_actions_adddup2(
                actions, stream, number,
            ))?;
        }
        let cwd = start.cwd.as_ptr();
        said(posix_spawn_file_actions_addchdir_np(actions, cwd))?;

        let mut attributes = std::mem::zeroed();
        said(libc::posix_spawnattr_init(&raw mut attributes))?;
        let mut attributes = Attributes(attributes);
        let attributes = &raw mut attributes.0;
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        let none = &raw const none;
        said(libc::posix_spawnattr_setsigmask(attributes, none))?;
        said(libc::posix_spawnattr_setsigdefault(attributes, usual()))?;
        said(libc::posix_spawnattr_setflags(attributes, flags))?;

        let program = start.program.as_ptr();
        said(libc::posix_spawn(
            &raw mut pid,
            program,
            actions,
            attributes,
            argv.as_ptr(),
            environment.as_ptr(),
        ))?;
    }
    u32::try_from(pid).map_err(io::Error::other)
}

// ---- signals received ---------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    Interrupt,
    Terminate,
    Hangup,
    Child,
}

unsafe extern "C" {
    fn signal(number: c_int, handler: usize) -> usize;
    #[cfg_attr(target_os = "linux", link_name = "__errno_location")]
    #[cfg_attr(not(target_os = "linux"), link_name = "__error")]
    fn errno_place() -> *mut c_int;
}

const DEFAULT: usize = 0;
const IGNORED: usize = 1;
static SIGNAL_FD: AtomicI32 = AtomicI32::new(-1);
static SIGNAL_PIPE: OnceLock<Option<(PipeReader, PipeWriter)>> = OnceLock::new();

extern "C" fn on_signal(number: c_int) {
    // SAFETY: the function returns the address of this thread's errno, valid while it runs.
    let saved = unsafe { *errno_place() };
    let fd = SIGNAL_FD.load(Ordering::Relaxed);
    if fd >= 0 {
        // SAFETY: the descriptor belongs to `SIGNAL_PIPE`, which is never dropped.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        // A full pipe loses nothing: a signal is already waiting in it.
        let _ = rustix::io::write(fd, &[number as u8]);
    }
    // SAFETY: as above.
    unsafe { *errno_place() = saved };
}

/// The end of the pipe that becomes readable when a watched signal has come.
fn signal_pipe() -> Option<&'static PipeReader> {
    let pair = SIGNAL_PIPE.get_or_init(|| {
        let (reader, writer) = io::pipe().ok()?;
        set_nonblocking(&reader).ok()?;
        set_nonblocking(&writer).ok()?;
        SIGNAL_FD.store(writer.as_raw_fd(), Ordering::Relaxed);
        Some((reader, writer))
    });
    pair.as_ref().map(|(reader, _)| reader)
}

fn watch(signal_number: Signal) {
    let number = signal_number.as_raw();
    let handler = on_signal as extern "C" fn(c_int) as usize;
    // SAFETY: the handler only does what signal-safety(7) allows: it writes to a pipe.
    let before = unsafe { signal(number, handler) };
    // Whoever started us with `nohup` or in the background has decided already.
    if before == IGNORED && signal_number != Signal::CHILD {
        // SAFETY: restores the disposition that was there.
        unsafe { signal(number, IGNORED) };
    }
}

/// Who starts us may ignore CHLD, and then the kernel would throw the ends of children away.
pub fn expect_children() {
    let number = Signal::CHILD.as_raw();
    // SAFETY: sets no handler.
    let before = unsafe { signal(number, DEFAULT) };
    if before != IGNORED {
        // SAFETY: restores the disposition that was there.
        unsafe { signal(number, before) };
    }
}

/// The signals for which this process has, or may get, a handler; and PIPE, which Rust's runtime ignores.
const HANDLED: [c_int; 7] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGCHLD,
    libc::SIGPIPE,
    libc::SIGSEGV,
    libc::SIGBUS,
];

/// Those of them that a child finds as usual. What whoever started us ignores stays ignored.
fn usual() -> &'static libc::sigset_t {
    static USUAL: OnceLock<libc::sigset_t> = OnceLock::new();
    // SAFETY: what is zeroed holds numbers alone, and is all that the calls write to.
    USUAL.get_or_init(|| unsafe {
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        for number in HANDLED {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(number, std::ptr::null(), &raw mut action);
            if action.sa_sigaction != libc::SIG_IGN || number == libc::SIGPIPE {
                libc::sigaddset(&raw mut signals, number);
            }
        }
        signals
    })
}

/// Takes over INT, TERM and HUP for this process, unless they are ignored.
pub fn watch_requests() -> Option<&'static PipeReader> {
    let pipe = signal_pipe()?;
    // SAFETY: a set is plain numbers, and all zero it is the empty one.
    unsafe {
        let mut requests = std::mem::zeroed();
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            watch(signal);
            libc::sigaddset(&raw mut requests, signal.as_raw());
        }
        // Whoever started us may have blocked them: nothing could then ask us to end.
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const requests, std::ptr::null_mut());
    }
    Some(pipe)
}

/// Gives INT, TERM and HUP their usual effect back, so that one that nobody reads still ends us.
pub fn unwatch_requests() {
    for request in [Signal::INT, Signal::TERM, Signal::HUP] {
        // SAFETY: sets no handler.
        let before = unsafe { signal(request.as_raw(), DEFAULT) };
        if before == IGNORED {
            // SAFETY: restores the disposition that was there.
            unsafe { signal(request.as_raw(), IGNORED) };
        }
    }
}

/// Takes over CHLD, for systems without pidfds.
pub fn watch_children() -> Option<&'static PipeReader> {
    let pipe = signal_pipe()?;
    watch(Signal::CHILD);
    Some(pipe)
}

pub fn received() -> Vec<Received> {
    let mut numbers = [0_u8; 64];
    let Some(count) = signal_pipe().and_then(|mut pipe| pipe.read(&mut numbers).ok()) else {
        return Vec::new();
    };
    let known = |number: &u8| match Signal::from_named_raw(i32::from(*number)) {
        Some(Signal::INT) => Some(Received::Interrupt),
        Some(Signal::TERM) => Some(Received::Terminate),
        Some(Signal::HUP) => Some(Received::Hangup),
        Some(Signal::CHILD) => Some(Received::Child),
        _ => None,
    };
    numbers[..count].iter().filter_map(known).collect()
}

// ---- waiting for descriptors ----------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Read,
    Write,
}

/// Many descriptors, each under a token; level-triggered.
pub enum Poller {
    #[cfg(target_os = "linux")]
    Epoll {
        epoll: OwnedFd,
        events: Vec<rustix::event::epoll::Event>,
    },
    Poll {
        entries: Vec<(RawFd, u64, Interest)>,
    },
}

impl Poller {
    /// `portable` asks for what systems without epoll get, so that it can be tested everywhere.
    pub fn new(portable: bool) -> io::Result<Poller> {
        #[cfg(target_os = "linux")]
        if !portable && pidfd(std::process::id()).is_ok() {
            use rustix::event::epoll;
            return Ok(Poller::Epoll {
                epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
                events: Vec::with_capacity(64),
            });
        }
        let _ = portable;
        Ok(Poller::Poll {
            entries: Vec::new(),
        })
    }

    /// Whether ends of children are seen only by asking after a CHLD.
    pub fn needs_child_signal(&self) -> bool {
        matches!(self, Poller::Poll { .. })
    }

    pub fn add(&mut self, fd: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        match self {
            #[cfg(target_os = "linux")]
            Poller::Epoll { epoll, .. } => {
                use rustix::event::epoll::{self, EventData, EventFlags};
                let flags = match interest {
                    Interest::Read => EventFlags::IN,
                    Interest::Write => EventFlags::OUT,
                };
                epoll::add(epoll, fd, EventData::new_u64(token), flags)?;
            }
            Poller::Poll { entries } => {
                entries.push((fd.as_fd().as_raw_fd(), token, interest));
            }
        }
        Ok(())
    }

    /// Must be called before the descriptor under this token is closed.
    pub fn forget(&mut self, token: u64) {
        match self {
            // Closing is enough for epoll: no other process holds these descriptors.
            #[cfg(target_os = "linux")]
            Poller::Epoll { .. } => {}
            Poller::Poll { entries } => entries.retain(|entry| entry.1 != token),
        }
    }

    /// No longer looks at a descriptor that stays open.
    pub fn remove(&mut self, fd: impl AsFd, token: u64) {
        match self {
            #[cfg(target_os = "linux")]
            Poller::Epoll { epoll, .. } => {
                // It may never have been added, and then there is nothing to remove.
                let _ = rustix::event::epoll::delete(epoll, fd);
            }
            Poller::Poll { entries } => {
                let _ = fd;
                entries.retain(|entry| entry.1 != token);
            }
        }
    }

    /// A descriptor that becomes readable when the child ends; none where CHLD must do.
    pub fn watch_end(&mut self, pid: u32, token: u64) -> io::Result<Option<OwnedFd>> {
        match self {
            #[cfg(target_os = "linux")]
            Poller::Epoll { .. } => {
                let fd = pidfd(pid)?;
                self.add(&fd, token, Interest::Read)?;
                Ok(Some(fd))
            }
            Poller::Poll { .. } => {
                let _ = (pid, token);
                Ok(None)
            }
        }
    }

    /// Appends the tokens that are ready; none after the timeout or an interruption.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<u64>) -> io::Result<()> {
        // An hour is as good as for ever, and fits the oldest interface.
        let timeout = timeout.map(|time| {
            let time = time.min(Duration::from_secs(3600));
            Timespec {
                tv_sec: time.as_secs() as _,
                tv_nsec: time.subsec_nanos() as _,
            }
        });
        match self {
            #[cfg(target_os = "linux")]
            Poller::Epoll { epoll, events } => {
                events.clear();
                let buffer = rustix::buffer::spare_capacity(events);
                match rustix::event::epoll::wait(epoll, buffer, timeout.as_ref()) {
                    Err(rustix::io::Errno::INTR) | Ok(_) => {}
                    Err(error) => return Err(error.into()),
                }
                ready.extend(events.drain(..).map(|event| event.data.u64()));
            }
            Poller::Poll { entries } => {
                let asked = |(fd, _, interest): &(RawFd, u64, Interest)| {
                    // SAFETY: entries are forgotten before their descriptor is closed.
                    let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
                    let flags = match interest {
                        Interest::Read => PollFlags::IN,
                        Interest::Write => PollFlags::OUT,
                    };
                    PollFd::from_borrowed_fd(fd, flags)
                };
                let mut asked: Vec<PollFd<'_>> = entries.iter().map(asked).collect();
                match rustix::event::poll(&mut asked, timeout.as_ref()) {
                    Err(rustix::io::Errno::INTR) => return Ok(()),
                    Err(error) => return Err(error.into()),
                    Ok(_) => {}
                }
                let hits = entries.iter().zip(&asked);
                ready.extend(
                    hits.filter(|(_, answer)| !answer.revents().is_empty())
                        .map(|(entry, _)| entry.1),
                );
            }
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn pidfd(pid: u32) -> io::Result<OwnedFd> {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = raw.ok_or(io::ErrorKind::InvalidInput)?;
    let flags = rustix::process::PidfdFlags::empty();
    Ok(rustix::process::pidfd_open(pid, flags)?)
}
