//! One line too few, or a text that ends too early: is one mistake said once?
//!
//! Every line of the recipes of `fixtures/recipes` is removed in turn, and every text is cut off at
//! every byte. Nothing panics, and no single loss makes more than a handful of errors.
//! `RRC_CASCADES=DIR` measures the recipes of another directory instead, and prints the worst.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

use rrc_compiler::codes::Severity;
use rrc_compiler::source::Sources;
use rrc_compiler::world::Texts;
use rrc_compiler::{Options, check};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How many errors one loss may add.
const MOST: usize = 5;
/// Larger files say nothing new, and take long.
const LARGEST: usize = 40_000;

/// A file, and those beside it.
struct File {
    name: String,
    text: String,
    beside: Vec<(String, Vec<u8>)>,
}

fn files() -> Vec<File> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recipes");
    let root = std::env::var_os("RRC_CASCADES").map_or(own, PathBuf::from);
    let mut all = Vec::new();
    let mut directories = vec![root];
    while let Some(directory) = directories.pop() {
        let mut here: Vec<(String, Vec<u8>)> = Vec::new();
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                directories.push(path);
            } else if [".yaml", ".yml", ".json"]
                .iter()
                .any(|end| name.ends_with(end))
            {
                here.push((name, std::fs::read(&path).unwrap()));
            }
        }
        here.sort();
        for (name, bytes) in &here {
            let Ok(text) = String::from_utf8(bytes.clone()) else {
                continue;
            };
            if text.len() < LARGEST {
                let beside = here.iter().filter(|(other, _)| other != name);
                all.push(File {
                    name: name.clone(),
                    text,
                    beside: beside.cloned().collect(),
                });
            }
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The errors of a text that stands in the place of a file.
fn errors(file: &File, text: &str) -> Vec<String> {
    let mut world = Texts::one(file.name.clone(), text);
    world.texts.extend(file.beside.iter().cloned());
    let mut sources = Sources::default();
    let checked = check(&world, &file.name, Options::default(), &mut sources);
    let errors = checked.report.findings.iter();
    errors
        .filter(|finding| finding.severity == Severity::Error)
        .map(|finding| format!("{} {}", finding.code.code, finding.message))
        .collect()
}

/// The errors that a loss has added.
fn added(file: &File, known: &[String], text: &str) -> Vec<String> {
    let mut known = known.to_vec();
    let mut errors = errors(file, text);
    errors.retain(
        |error| match known.iter().position(|other| other == error) {
            Some(at) => {
                known.swap_remove(at);
                false
            }
            None => true,
        },
    );
    errors
}

/// Says what a loss has added, if that is too much.
fn judge(
    what: String,
    added: &[String],
    counts: &mut BTreeMap<usize, usize>,
    bad: &mut Vec<String>,
) {
    *counts.entry(added.len()).or_default() += 1;
    if added.len() > MOST {
        bad.push(format!(
            "{what}: {} more\n    {}",
            added.len(),
            added.join("\n    ")
        ));
    }
}

fn none(counts: &BTreeMap<usize, usize>, bad: &[String]) {
    println!("errors added, and how often: {counts:?}");
    assert!(
        bad.is_empty(),
        "{}\n{} are too many",
        bad.join("\n"),
        bad.len()
    );
}

#[test]
fn a_lost_line_is_said_once() {
    let (mut counts, mut bad) = (BTreeMap::new(), Vec::new());
    for file in files() {
        let known = errors(&file, &file.text);
        let lines: Vec<&str> = file.text.split_inclusive('\n').collect();
        for (number, line) in lines.iter().enumerate() {
            let text = [&lines[..number], &lines[number + 1..]].concat().concat();
            let what = format!("{}:{} `{}`", file.name, number + 1, line.trim());
            judge(what, &added(&file, &known, &text), &mut counts, &mut bad);
        }
    }
    none(&counts, &bad);
}

#[test]
fn a_text_that_ends_early_is_said_once() {
    let (mut counts, mut bad) = (BTreeMap::new(), Vec::new());
    for file in files() {
        let known = errors(&file, &file.text);
        for end in (0..file.text.len()).filter(|end| file.text.is_char_boundary(*end)) {
            let what = format!("{} up to byte {end}", file.name);
            let text = &file.text[..end];
            judge(what, &added(&file, &known, text), &mut counts, &mut bad);
        }
    }
    none(&counts, &bad);
}
