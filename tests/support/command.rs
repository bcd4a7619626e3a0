//! The binary under test, in a folder of its own that is gone afterwards.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> std::io::Result<Folder> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rrc-spec-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, text: &str) -> std::io::Result<()> {
        let path = self.0.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)
    }

    pub fn read(&self, name: &str) -> std::io::Result<String> {
        std::fs::read_to_string(self.0.join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that cannot be removed is the system's to sweep; the test's result stands.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a command said and how it ended.
pub struct Said {
    pub out: String,
    pub err: String,
    pub code: Option<i32>,
}

/// Runs `rrc` in a folder, with nothing on its standard input.
pub fn rrc(folder: &Folder, args: &[&str]) -> std::io::Result<Said> {
    rrc_with(folder, args, "")
}

pub fn rrc_with(folder: &Folder, args: &[&str], input: &str) -> std::io::Result<Said> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rrc"))
        .args(args)
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .env_remove("FORCE_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A command that does not read its input may be gone before it was written.
        let _ = stdin.write_all(input.as_bytes());
    }
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output()?;
    Ok(Said {
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
        code: status.code(),
    })
}
