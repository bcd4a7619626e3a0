//! `rrc list`: the recipes that can be run or called by their names.

use crate::cli::Global;
use crate::config::Config;
use crate::disk::{self, Disk};
use crate::results::printable;
use crate::{OK, Streams, USAGE};
use rrc_compiler::diagnostic::Report;
use rrc_compiler::dialect::read_values;
use rrc_compiler::doc::Schema;
use rrc_compiler::source::{Source, Sources};
use rrc_vm::value::Value;
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
            let Some(about) = describe(&file) else {
                continue;
            };
            // What it calls itself is for people: it is found by its file.
            let name = file.file_stem().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            if !seen.contains(&name) {
                let path = file.strip_prefix("./").unwrap_or(&file);
                let row = [&name, &path.display().to_string(), &about];
                rows.push(row.map(|cell| printable(cell)));
                seen.push(name);
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
        if global.missing_dirs().next().is_none() {
            writeln!(
                streams.err,
                "help: name a directory with `-R`, or set `recipe-path` in rrc.toml"
            )?;
        }
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
        // To open a pipe is to wait for whoever writes to it.
        extension.is_some_and(|word| word == "yaml" || word == "yml") && path.is_file()
    };
    let mut files: Vec<_> = files.filter(yaml).collect();
    files.sort();
    files
}

/// The first line about a recipe, read as recipes are; none if the file holds none.
fn describe(file: &Path) -> Option<String> {
    let text = String::from_utf8(disk::read(&file.to_string_lossy()).ok()?).ok()?;
    let mut sources = Sources::default();
    let id = sources.add(Source::new("", text));
    let text = &sources.get(id).text;
    let read = read_values(id, text, Schema::Yaml12, &mut Report::default());
    let Value::Map(recipe) = read.value() else {
        return None;
    };
    recipe.get("steps").or_else(|| recipe.get("stages"))?;
    recipe.get("name")?;
    let about = match recipe.get("description") {
        Some(Value::Text(text)) => text.lines().next().unwrap_or_default().trim().to_string(),
        _ => String::new(),
    };
    Some(about)
}
