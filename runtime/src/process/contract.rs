//! What one execution asks for and what it answers.
//!
//! Plain data: everything is already a value, and nothing here can run.

use super::handed::places;
use std::path::PathBuf;
use std::time::Duration;

/// One execution, as values.
#[derive(Clone, Debug)]
pub struct Request {
    /// A name to find on PATH, or a path, taken from `cwd` when relative.
    pub program: String,
    pub args: Vec<String>,
    /// What the program is told it is called; `program` itself if not given.
    pub arg0: Option<String>,
    /// Makes the program a shell that runs this text.
    pub script: Option<Script>,
    /// Must be variables of the shell: by environment, or by descriptor if they do not fit.
    pub vars: Vec<(String, String)>,
    /// Go into the environment if they fit.
    pub ambient: Vec<(String, String)>,
    /// Must be in the environment of the program.
    pub env: Vec<(String, String)>,
    pub inherit: Inherit,
    pub cwd: PathBuf,
    /// Bytes for the standard input; /dev/null if there are none.
    pub stdin: Option<Vec<u8>>,
    pub timeout: Option<Duration>,
    /// Between TERM and KILL.
    pub grace: Duration,
    /// Bytes kept. Whoever redacts before cutting asks for its look-ahead window on top.
    pub stdout_limit: usize,
    pub stderr_limit: usize,
    /// Only all of the standard output is of use: past its limit nobody reads on.
    pub whole: bool,
    /// Report lines as they come, besides keeping them.
    pub stream: bool,
}

impl Request {
    /// A request that runs `program` here, with everything else left out.
    pub fn new(program: impl Into<String>) -> Request {
        Request {
            program: program.into(),
            args: Vec::new(),
            arg0: None,
            script: None,
            vars: Vec::new(),
            ambient: Vec::new(),
            env: Vec::new(),
            inherit: Inherit::All,
            cwd: PathBuf::from("."),
            stdin: None,
            timeout: None,
            grace: Duration::from_secs(5),
            stdout_limit: 1 << 20,
            stderr_limit: 1 << 20,
            whole: false,
            stream: false,
        }
    }
}

/// Text for a shell. It arrives as `-c TEXT` or, when too long, in a way that looks the same; a
/// program that is neither a shell of the common kind nor Python then gets it as a file.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub text: String,
    /// `$0`, if it is to differ from the name of the shell.
    pub name: Option<String>,
    /// `$1` and so on.
    pub args: Vec<String>,
}

impl Script {
    /// Whether a name stands in the text, not as a part of a longer one.
    pub fn mentions(&self, name: &str) -> bool {
        !name.is_empty() && places(&self.text, name).next().is_some()
    }
}

/// What a child gets of our own environment.
#[derive(Clone, Debug)]
pub enum Inherit {
    All,
    Only(Vec<String>),
}

/// How one execution ended. `exit_code`, `signal`, `timed_out`, `cancelled` and never having
/// started exclude each other.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    pub timed_out: bool,
    /// `stop` or `kill` of the loop came before the end.
    pub cancelled: bool,
    pub duration: Duration,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub stdout_truncated: bool,
    pub stderr_truncated: bool,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    /// The program closed its input, or ended, before it had taken all of it.
    pub stdin_unread: bool,
    pub warnings: Vec<String>,
    pub error: Option<ExecError>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecError {
    pub kind: ErrorKind,
    /// Fixed text per kind, so that results compare across machines.
    pub message: &'static str,
    /// The system's own words, or the name of what is wrong.
    pub detail: String,
}

impl ExecError {
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> ExecError {
        ExecError {
            kind,
            message: kind.message(),
            detail: detail.into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    InvalidRequest,
    PolicyDenied,
    CommandNotFound,
    PermissionDenied,
    InvalidCwd,
    SpawnFailed,
    Timeout,
    Signaled,
    NonzeroExit,
    IoError,
    Interrupted,
}

impl ErrorKind {
    pub const ALL: [ErrorKind; 11] = [
        ErrorKind::InvalidRequest,
        ErrorKind::PolicyDenied,
        ErrorKind::CommandNotFound,
        ErrorKind::PermissionDenied,
        ErrorKind::InvalidCwd,
        ErrorKind::SpawnFailed,
        ErrorKind::Timeout,
        ErrorKind::Signaled,
        ErrorKind::NonzeroExit,
        ErrorKind::IoError,
        ErrorKind::Interrupted,
    ];

    pub fn word(self) -> &'static str {
        self.texts().0
    }

    pub fn message(self) -> &'static str {
        self.texts().1
    }

    fn texts(self) -> (&'static str, &'static str) {
        match self {
            ErrorKind::InvalidRequest => ("invalid_request", "the request cannot be carried out"),
            ErrorKind::PolicyDenied => ("policy_denied", "not allowed by policy"),
            ErrorKind::CommandNotFound => ("command_not_found", "command not found"),
            ErrorKind::PermissionDenied => ("permission_denied", "command is not executable"),
            ErrorKind::InvalidCwd => ("invalid_cwd", "working directory cannot be entered"),
            ErrorKind::SpawnFailed => ("spawn_failed", "command could not be started"),
            ErrorKind::Timeout => ("timeout", "time limit expired"),
            ErrorKind::Signaled => ("signaled", "ended by a signal"),
            ErrorKind::NonzeroExit => ("nonzero_exit", "exited with a code other than 0"),
            ErrorKind::IoError => ("io_error", "reading from the command failed"),
            ErrorKind::Interrupted => ("interrupted", "stopped before it ended"),
        }
    }
}
