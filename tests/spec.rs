//! The book is true: every block of every page in `spec/` and of the README, a test per heading.
//!
//! `RRC_UPDATE=1 cargo test --test spec` writes what `rrc` says into the pages instead, where they
//! say something else; `RRC_UPDATE=all` also spells out every message. Read the difference before
//! you keep it.

mod support;

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use support::example::{execute, executes};
use support::page::{Block, Page, pages};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let book = root.join("spec");
    let mut all = Vec::new();
    for path in pages(&book).into_iter().chain([root.join("README.md")]) {
        match Page::read(&path) {
            Ok(page) => all.push(page),
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    match std::env::var("RRC_UPDATE").as_deref() {
        Err(_) | Ok("" | "0") => {}
        Ok(how) => return update(&all, how == "all"),
    }
    let trials = all.iter().flat_map(|page| trials(page, &book)).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The blocks under each heading, in the order of the page, each with its place in it.
fn sections(page: &Page) -> Vec<(String, Vec<(usize, Block)>)> {
    let mut all: Vec<(String, Vec<(usize, Block)>)> = Vec::new();
    for (index, block) in page.blocks.iter().enumerate() {
        match all.last_mut() {
            Some((heading, blocks)) if *heading == block.heading => {
                blocks.push((index, block.clone()));
            }
            _ => all.push((block.heading.clone(), vec![(index, block.clone())])),
        }
    }
    all
}

fn trials(page: &Page, book: &Path) -> Vec<Trial> {
    let short: PathBuf = page
        .path
        .strip_prefix(book)
        .or(page.path.strip_prefix(env!("CARGO_MANIFEST_DIR")))
        .unwrap_or(&page.path)
        .with_extension("");
    let mut names: Vec<String> = Vec::new();
    let mut trials = Vec::new();
    for (heading, blocks) in sections(page) {
        if !executes(&borrowed(&blocks)) {
            continue;
        }
        let mut name = format!("{}::{}", short.display(), slug(&heading));
        if names.contains(&name) {
            name = format!("{name}-{}", blocks[0].1.line);
        }
        names.push(name.clone());
        let path = page.path.clone();
        trials.push(Trial::test(name, move || {
            let outcome = execute(&borrowed(&blocks), false);
            if outcome.wrong.is_empty() {
                return Ok(());
            }
            Err(Failed::from(format!(
                "{}\n{}",
                path.display(),
                outcome.wrong.join("\n\n")
            )))
        }));
    }
    trials
}

fn borrowed(blocks: &[(usize, Block)]) -> Vec<(usize, &Block)> {
    blocks
        .iter()
        .map(|(index, block)| (*index, block))
        .collect()
}

fn slug(heading: &str) -> String {
    if heading.is_empty() {
        return String::from("top");
    }
    let words: Vec<String> = heading
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("-")
}

fn update(all: &[Page], refresh: bool) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for page in all {
        let mut updates = Vec::new();
        for (heading, blocks) in sections(page) {
            let outcome = execute(&borrowed(&blocks), refresh);
            // What an update cannot make true is for people to put right.
            if outcome.updates.is_empty() && !outcome.wrong.is_empty() {
                let wrong = outcome.wrong.join("\n");
                eprintln!("{} ({heading}): {wrong}", page.path.display());
                code = ExitCode::FAILURE;
            }
            updates.extend(outcome.updates);
        }
        let new = page.with(&updates);
        if new == page.text {
            continue;
        }
        println!("{} is rewritten", page.path.display());
        if let Err(error) = std::fs::write(&page.path, new) {
            eprintln!("{}: {error}", page.path.display());
            code = ExitCode::FAILURE;
        }
    }
    code
}
