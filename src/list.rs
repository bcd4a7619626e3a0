//! `rrc list`: the recipes that can be run or called by their names.

use crate::cli::Global;
use crate::config::Config;
use crate::disk::{self, Disk};
use crate::{OK, Streams, USAGE};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The first of each name is the one that is meant by it; the others are hidden by it.
pub fn list(global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let config = match Config::find("rrc.toml", global) {
        Ok(config) => Arc::new(config),
        Err(words) => {
            writeln!(streams.err, "rrc: {words}")?;
            return Ok(USAGE);
        }
    };
    let mut seen: Vec<String> = Vec::new();
    let mut rows: Vec<[String; 3]> = Vec::new();
    let mut visited = Vec::new();
    for place in Disk::new(global, &config).named_places() {
        let Ok(real) = place.canonicalize() else {
            continue;
        };
        if visited.contains(&real) {
            continue;
        }
        visited.push(real);
        for file in recipes(&place) {
            let Some((name, about)) = describe(&file) else {
                continue;
            };
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            if !seen.iter().any(|known| *known == stem) {
                seen.push(stem.to_string());
                let path = file.strip_prefix("./").unwrap_or(&file);
                rows.push([name, path.display().to_string(), about]);
            }
        }
    }
    rows.sort();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let (names, paths) = (width(0), width(1));
    for [name, path, about] in &rows {
        let line = format!("{name:names$}  {path:paths$}  {about}");
        writeln!(streams.out, "{}", line.trim_end())?;
    }
    if rows.is_empty() && !global.quiet {
        writeln!(streams.err, "rrc: no recipes are on the search path")?;
        writeln!(
            streams.err,
            "help: name a directory with `-R`, or set `recipe-path` in rrc.toml"
        )?;
    }
    Ok(OK)
}

/// The files of a directory that may be recipes, by name.
fn recipes(place: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(place) else {
        return Vec::new();
    };
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let yaml = |path: &std::path::PathBuf| {
        let extension = path.extension();
        extension.is_some_and(|word| word == "yaml" || word == "yml")
    };
    let mut files: Vec<_> = files.filter(yaml).collect();
    files.sort();
    files
}

/// The name of a recipe and the first line about it; none if the file holds none.
fn describe(file: &Path) -> Option<(String, String)> {
    let bytes = disk::read(&file.to_string_lossy()).ok()?;
    let value: serde_yaml::Value = serde_yaml::from_slice(&bytes).ok()?;
    value.get("steps").or_else(|| value.get("stages"))?;
    let text = |key: &str| value.get(key).and_then(|value| value.as_str());
    let about = text("description").unwrap_or_default().lines().next();
    Some((
        text("name")?.to_string(),
        about.unwrap_or_default().trim().to_string(),
    ))
}
