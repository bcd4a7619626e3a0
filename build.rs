//! Puts the page of every finding into the binary, so that `rrc explain` needs no files.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let rules = Path::new(&root).join("spec/rules");
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
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("pages.rs"), list)
}
