//! Which files the paths mean; directories are walked as git sees them.

use crate::cli::CheckArgs;
use crate::{disk, words};
use rrc_compiler::doc::MAX_BYTES;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// A file to check.
pub struct Named {
    pub name: String,
    /// Its text, if it came on standard input.
    pub stdin: Option<Vec<u8>>,
    /// It was found in a directory, so nobody has said that it is a recipe.
    pub walked: bool,
}

/// What the paths mean.
#[derive(Default)]
pub struct Files {
    /// In the order of the arguments, those of a directory by their paths.
    pub files: Vec<Named>,
    /// The directories that were walked.
    pub directories: Vec<PathBuf>,
    /// What was found and cannot be looked at.
    pub passed_over: Vec<PassedOver>,
}

/// Something in a directory that is not checked. Who has a directory checked believes that all of it was.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct PassedOver {
    pub path: PathBuf,
    pub why: String,
    pub help: &'static str,
}

pub fn files(args: &CheckArgs) -> io::Result<Files> {
    let mut found = Files::default();
    let mut stdin = None;
    for path in &args.paths {
        if path == "-" {
            let bytes = match stdin.take() {
                Some(bytes) => bytes,
                None => disk::read_stdin()?,
            };
            stdin = Some(bytes.clone());
            found.files.push(Named {
                name: match &args.stdin_filename {
                    Some(name) => name.clone(),
                    None => "<stdin>".to_string(),
                },
                stdin: Some(bytes),
                walked: false,
            });
        } else if Path::new(path).is_dir() {
            walk(path, &mut found);
        } else {
            found.files.push(Named {
                name: path.clone(),
                stdin: None,
                walked: false,
            });
        }
    }
    if args.paths.len() > 1 {
        once(&mut found.files);
    }
    Ok(found)
}

/// What was named twice, or named and found, is checked once: as named.
fn once(files: &mut Vec<Named>) {
    let place = |file: &Named| match &file.stdin {
        Some(_) => PathBuf::from("-"),
        None => std::fs::canonicalize(&file.name).unwrap_or_else(|_| PathBuf::from(&file.name)),
    };
    let places: Vec<PathBuf> = files.iter().map(place).collect();
    let named: HashSet<&PathBuf> = files
        .iter()
        .zip(&places)
        .filter(|(file, _)| !file.walked)
        .map(|(_, place)| place)
        .collect();
    let mut seen = HashSet::new();
    let keep: Vec<bool> = files
        .iter()
        .zip(&places)
        .map(|(file, place)| !(file.walked && named.contains(place)) && seen.insert(place))
        .collect();
    let mut keep = keep.into_iter();
    files.retain(|_| keep.next().unwrap_or(true));
}

fn walk(directory: &str, all: &mut Files) {
    let entries = ignore::WalkBuilder::new(directory)
        .hidden(false)
        // What a repository ignores is no recipe of it, also in a copy without its history.
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != ".rrc")
        .build();
    let mut found = Vec::new();
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                all.passed_over.extend(closed(&error));
                continue;
            }
        };
        let Some(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            all.directories.push(entry.into_path());
        } else if kind.is_file() && is_read(entry.path()) {
            match entry.path().to_str() {
                Some(name) => found.push(name.to_string()),
                None => all.passed_over.extend(nameless(entry.into_path())),
            }
        }
    }
    found.sort();
    all.passed_over.sort();
    all.files.extend(found.into_iter().map(|name| Named {
        name,
        stdin: None,
        walked: true,
    }));
}

/// A file whose name is no text, if it is one of ours.
fn nameless(path: PathBuf) -> Option<PassedOver> {
    let bytes = disk::read_at_most(&path, MAX_BYTES).ok()?;
    looks_like_ours(&path.to_string_lossy(), &bytes).then(|| PassedOver {
        path,
        why: "its name is not UTF-8".to_string(),
        help: "rename it",
    })
}

/// A directory that cannot be looked into, unless it is gone by now.
fn closed(error: &ignore::Error) -> Option<PassedOver> {
    let why = error.io_error()?;
    if why.kind() == io::ErrorKind::NotFound {
        return None;
    }
    Some(PassedOver {
        path: place(error)?.to_path_buf(),
        why: words(why),
        help: "make it readable, or name it in `.gitignore`",
    })
}

/// Where a walk could not go on.
fn place(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            place(err)
        }
        _ => None,
    }
}

fn is_read(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e == "yaml" || e == "yml" || e == "json")
}

/// Whether a file that nobody named is one of ours, however wrong.
pub fn looks_like_ours(name: &str, bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    match name.ends_with(".json") {
        true => looks_like_a_template(bytes) || looks_like_a_tool(bytes),
        false => looks_like_a_recipe(bytes),
    }
}

/// Whether as much of a file as is ever read of one is that of a recipe. Of large JSON nobody knows
/// before its end: most of it is data.
pub fn begins_like_a_recipe(name: &str) -> bool {
    !name.ends_with(".json") && disk::beginning(name).is_ok_and(|bytes| looks_like_a_recipe(&bytes))
}

/// An object with `template`, most of whose fields are those of a template. What is no JSON is
/// looked at if it says `template` where an object would.
fn looks_like_a_template(bytes: &[u8]) -> bool {
    let key = b"\"template\"";
    if !bytes.windows(key.len()).any(|word| word == key) {
        return false;
    }
    match serde_json::from_slice::<serde_json::Value>(bytes) {
        Ok(serde_json::Value::Object(fields)) => {
            let known = |name: &&String| rrc_compiler::dialect::template::knows_field(name);
            let count = fields.keys().filter(known).count();
            let work = fields.get("template").is_some_and(|template| {
                template.is_string() || template.is_array() || template.is_object()
            });
            work && !fields.contains_key("atip") && count * 2 >= fields.len()
        }
        Ok(_) => false,
        Err(_) => bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{'),
    }
}

/// An object with `atip`: facts about a program.
fn looks_like_a_tool(bytes: &[u8]) -> bool {
    let key = b"\"atip\"";
    bytes.windows(key.len()).any(|word| word == key)
        && matches!(
            serde_json::from_slice::<serde_json::Value>(bytes),
            Ok(serde_json::Value::Object(fields)) if fields.contains_key("atip")
        )
}

/// Whether YAML that nobody named is a recipe, however wrong: `steps` that are steps, or `stages`
/// of such. Pipelines of other tools have one or the other, and neither.
fn looks_like_a_recipe(bytes: &[u8]) -> bool {
    let (mut steps, mut stages, mut inner, mut named, mut step_field, mut other) =
        (false, false, false, false, false, false);
    let ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
    let mut start = 0;
    for end in ends {
        let line = &bytes[start..end];
        start = end + 1;
        let top = !line.starts_with(b" ") && !line.starts_with(b"-");
        if !top && steps && step_field {
            // Only what stands at the top can still speak against it.
            continue;
        }
        let Some(key) = key(line) else { continue };
        match (key, top) {
            (b"steps", true) => steps = true,
            (b"stages", true) => stages = true,
            (b"name", true) => named = true,
            (b"steps", false) => inner = true,
            (b"trigger" | b"pool" | b"pr" | b"runs" | b"jobs", true) => other = true,
            (b"id" | b"type" | b"command" | b"prompt" | b"agent" | b"recipe", _) => {
                step_field = true;
            }
            _ => {}
        }
    }
    let flow = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let flow = flow && bytes.windows(5).any(|word| word == b"steps");
    !other && ((steps && (step_field || named)) || (stages && inner) || flow)
}

/// The first key on a line: the first of a list item, of a map in braces, quoted or not.
fn key(line: &[u8]) -> Option<&[u8]> {
    let start = line
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'-' | b'{' | b'\t'))?;
    let rest = &line[start..];
    let rest = rest
        .strip_prefix(b"\"")
        .or(rest.strip_prefix(b"'"))
        .unwrap_or(rest);
    // Nothing that is looked for begins otherwise, and most lines are a script's or an agent's.
    if !matches!(
        rest.first(),
        Some(b'a' | b'c' | b'i' | b'j' | b'n' | b'p' | b'r' | b's' | b't')
    ) {
        return None;
    }
    let end = rest
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'))?;
    let after = &rest[end..];
    let after = after
        .strip_prefix(b"\"")
        .or(after.strip_prefix(b"'"))
        .unwrap_or(after);
    after.starts_with(b":").then_some(&rest[..end])
}
