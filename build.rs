//! Puts the page of every finding into the binary, so that `rrc explain` needs no files, and the C
//! library into a release, so that it starts in half the time.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let out = PathBuf::from(variable("OUT_DIR")?);
    include_pages(&out)?;
    println!("cargo::rerun-if-env-changed=RRC_DYNAMIC");
    if wants_static()? && has_archives() {
        link_statically(&out)?;
    }
    Ok(())
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(io::Error::other)
}

fn include_pages(out: &Path) -> io::Result<()> {
    let rules = Path::new(&variable("CARGO_MANIFEST_DIR")?).join("spec/rules");
    println!("cargo::rerun-if-changed={}", rules.display());
    let mut pages = Vec::new();
    for entry in fs::read_dir(&rules)? {
        let path = entry?.path();
        let stem = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .map(str::to_string);
        if let Some(stem) = stem.filter(|stem| stem.starts_with("RRC")) {
            pages.push((stem, path.display().to_string()));
        }
    }
    pages.sort();
    let mut list = String::from("&[\n");
    for (code, path) in pages {
        writeln!(list, "    ({code:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    list.push(']');
    fs::write(out.join("pages.rs"), list)
}

/// What the standard library asks the linker for, and the archives that hold it.
const ARCHIVES: [(&str, &str); 7] = [
    ("gcc_s", "libgcc_eh.a"),
    ("util", "libutil.a"),
    ("rt", "librt.a"),
    ("pthread", "libpthread.a"),
    ("m", "libm.a"),
    ("dl", "libdl.a"),
    ("c", "libc.a libgcc.a libgcc_eh.a"),
];

/// Only releases for this machine and its glibc; `RRC_DYNAMIC=1` is for those who pack it otherwise.
fn wants_static() -> io::Result<bool> {
    let linux = variable("CARGO_CFG_TARGET_OS")? == "linux";
    let glibc = variable("CARGO_CFG_TARGET_ENV")? == "gnu";
    let native = variable("TARGET")? == variable("HOST")?;
    let release = variable("PROFILE")? == "release";
    let refused = env::var_os("RRC_DYNAMIC").is_some_and(|value| !value.is_empty());
    Ok(linux && glibc && native && release && !refused)
}

/// Not every distribution installs the archives with the C compiler.
fn has_archives() -> bool {
    let found = |archive: &str| {
        let answer = Command::new("cc")
            .arg(format!("-print-file-name={archive}"))
            .output()
            .ok()?;
        let path = PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim());
        path.is_absolute().then(|| path.metadata().ok()).flatten()
    };
    let all = ARCHIVES
        .iter()
        .flat_map(|(_, archives)| archives.split(' '))
        .all(|archive| found(archive).is_some());
    // Since glibc 2.34 threads are part of the C library and this archive is empty; before, weak
    // references to them broke static programs.
    all && found("libpthread.a").is_some_and(|archive| archive.len() <= 8)
}

/// The target's own `crt-static` would do for programs, but refuses procedural macros unless
/// everything is built into another directory. So the names that the linker looks for lead it to
/// archives.
fn link_statically(out: &Path) -> io::Result<()> {
    let folder = out.join("static");
    fs::create_dir_all(&folder)?;
    for (library, archives) in ARCHIVES {
        let script = format!("GROUP ( {archives} )\n");
        fs::write(folder.join(format!("lib{library}.so")), script)?;
    }
    // For the program alone: tests and benches are linked as usual.
    let search = format!("-L{}", folder.display());
    // The standard library starts programs quickly only if it finds this, and does not insist.
    let spawn = "-Wl,-u,posix_spawn_file_actions_addchdir_np";
    for arg in [&search, "-static", "-no-pie", spawn] {
        println!("cargo::rustc-link-arg-bins={arg}");
    }
    Ok(())
}
