//! The binary under test, as the suites of the command line meet it: in a folder of its own, with
//! an environment of its own, and never for longer than a test may take.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]
#![allow(dead_code, reason = "each suite uses its own part")]

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nothing that is tested takes this long, on a machine however busy; what does hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Variables that change what `rrc` writes.
const TELLING: [&str; 6] = [
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "CLICOLOR",
    "CI",
    "TERM",
];

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// A folder that is gone after the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rrc-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder can be made");
        let path = path.canonicalize().expect("the folder is there");
        Folder(path)
    }

    /// A folder with one file.
    pub fn with(name: &str, text: impl AsRef<[u8]>) -> Folder {
        let folder = Folder::new();
        folder.write(name, text);
        folder
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a folder can be made");
        }
        std::fs::write(path, text).expect("a file can be written");
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.0.join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).expect("the file is there")
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// `rrc` in this folder.
    pub fn rrc(&self, args: &[&str]) -> Rrc {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rrc"));
        command.args(args);
        Rrc::new(command, &self.0)
    }

    /// The same within two seconds of processor time and 200 MB of memory; more is death by signal.
    pub fn bounded(&self, args: &[&str]) -> Rrc {
        let mut command = Command::new("bash");
        let script = "ulimit -t 2; ulimit -v 204800; ulimit -c 0; exec \"$0\" \"$@\"";
        command.args(["-c", script, env!("CARGO_BIN_EXE_rrc")]);
        command.args(args);
        Rrc::new(command, &self.0)
    }

    /// Shell text in this folder, with `$RRC` for the binary.
    pub fn sh(&self, script: &str) -> Rrc {
        let mut command = Command::new("bash");
        command.args(["-c", script]);
        command.env("RRC", env!("CARGO_BIN_EXE_rrc"));
        Rrc::new(command, &self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to sweep; the test's result stands.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A command that is about to run.
pub struct Rrc {
    command: Command,
    input: Vec<u8>,
    shown: String,
}

impl Rrc {
    fn new(mut command: Command, folder: &Path) -> Rrc {
        command.current_dir(folder);
        TELLING.iter().for_each(|name| {
            command.env_remove(name);
        });
        let shown = format!("{command:?}");
        Rrc {
            command,
            input: Vec::new(),
            shown,
        }
    }

    pub fn env(mut self, name: &str, value: &str) -> Rrc {
        self.command.env(name, value);
        self
    }

    pub fn input(mut self, bytes: impl AsRef<[u8]>) -> Rrc {
        self.input = bytes.as_ref().to_vec();
        self
    }

    /// Starts it and does not wait.
    pub fn start(mut self) -> Running {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the command can be started");
        if let Some(mut stdin) = child.stdin.take() {
            let input = self.input;
            // A command that does not read its input may be gone before it was written.
            std::thread::spawn(move || stdin.write_all(&input));
        }
        let out = child.stdout.take().map(collect);
        let err = child.stderr.take().map(collect);
        Running {
            child,
            out,
            err,
            shown: self.shown,
            started: Instant::now(),
        }
    }

    /// Runs it to its end.
    pub fn go(self) -> Said {
        self.start().end()
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}

/// A command that runs.
pub struct Running {
    child: Child,
    out: Option<JoinHandle<Vec<u8>>>,
    err: Option<JoinHandle<Vec<u8>>>,
    shown: String,
    started: Instant,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.child.id().to_string()])
            .status();
        assert!(sent.is_ok_and(|status| status.success()), "{}", self.shown);
    }

    pub fn end(mut self) -> Said {
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                break status;
            }
            if self.started.elapsed() > HANGS {
                let _ = self.child.kill();
                panic!("hangs: {}", self.shown);
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let elapsed = self.started.elapsed();
        let read = |stream: Option<JoinHandle<Vec<u8>>>| {
            let bytes = stream.and_then(|stream| stream.join().ok());
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        Said {
            out: read(self.out.take()),
            err: read(self.err.take()),
            code: status.code(),
            signal: status.signal(),
            elapsed,
            shown: self.shown,
        }
    }
}

/// What a command said and how it ended.
pub struct Said {
    pub out: String,
    pub err: String,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub elapsed: Duration,
    pub shown: String,
}

impl std::fmt::Debug for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |text: &str| match text.char_indices().nth(2000) {
            Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
            None => text.to_string(),
        };
        writeln!(f, "{}", self.shown)?;
        writeln!(
            f,
            "code {:?}, signal {:?}, {:?}",
            self.code, self.signal, self.elapsed
        )?;
        writeln!(f, "stdout: {}", short(&self.out))?;
        writeln!(f, "stderr: {}", short(&self.err))
    }
}

impl Said {
    #[track_caller]
    pub fn exits(self, code: i32) -> Said {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert!(!self.err.contains("panicked"), "{self:#?}");
        self
    }

    #[track_caller]
    pub fn out_has(self, text: &str) -> Said {
        assert!(self.out.contains(text), "no `{text}` in {self:#?}");
        self
    }

    #[track_caller]
    pub fn err_has(self, text: &str) -> Said {
        assert!(self.err.contains(text), "no `{text}` in {self:#?}");
        self
    }

    /// Nothing on standard output.
    #[track_caller]
    pub fn no_out(self) -> Said {
        assert_eq!(self.out, "", "{self:#?}");
        self
    }

    /// Nothing on standard error.
    #[track_caller]
    pub fn no_err(self) -> Said {
        assert_eq!(self.err, "", "{self:#?}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// One JSON object a line.
    #[track_caller]
    pub fn lines(&self) -> Vec<serde_json::Value> {
        let read = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
        };
        self.out.lines().map(read).collect()
    }
}

/// Waits until something is so, and says whether it came to be.
pub fn eventually(within: Duration, is: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < within {
        if is() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    is()
}

/// Processes whose command line holds this text.
pub fn processes_with(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else {
            continue;
        };
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if pid != std::process::id() && line.contains(text) {
            found.push(pid);
        }
    }
    found
}
