//! One mistake at a time in recipes that have none: is it found, and on its line?
//!
//! Every kind of mistake is planted wherever it fits in the recipes of `fixtures/recipes`. What is
//! not found is printed; `RRC_MUTANTS=all cargo test --test mutants -- --nocapture` prints what is
//! found elsewhere as well.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

use rrc_compiler::codes::Severity;
use rrc_compiler::source::Sources;
use rrc_compiler::world::Texts;
use rrc_compiler::{Options, check};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A recipe, with those beside it.
#[derive(Clone)]
struct Recipe {
    name: String,
    text: String,
    beside: Vec<(String, Vec<u8>)>,
    /// Are there names that its dialect keeps to itself?
    reserves: bool,
}

/// A recipe with a mistake in it.
struct Mutant {
    kind: &'static str,
    text: String,
    /// Where the mistake is, or shows; counted from one.
    lines: BTreeSet<usize>,
    what: String,
}

fn recipes() -> Vec<Recipe> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recipes");
    let mut all = Vec::new();
    for dialect in ["amplifier", "amplihack"] {
        let mut files: Vec<(String, String)> = std::fs::read_dir(root.join(dialect))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read_to_string(path).unwrap())
            })
            .collect();
        files.sort();
        for (name, text) in &files {
            let beside = files.iter().filter(|(other, _)| other != name);
            all.push(Recipe {
                name: name.clone(),
                text: text.clone(),
                reserves: dialect == "amplifier",
                beside: beside
                    .map(|(name, text)| (name.clone(), text.clone().into_bytes()))
                    .collect(),
            });
        }
    }
    all
}

/// The lines of the recipe that something is said about, with what is said.
fn said(recipe: &Recipe, text: &str) -> Vec<(usize, String)> {
    let mut texts = recipe.beside.clone();
    texts.push((recipe.name.clone(), text.as_bytes().to_vec()));
    let mut sources = Sources::default();
    let checked = check(
        &Texts { texts },
        &recipe.name,
        Options::default(),
        &mut sources,
    );
    let mut said = Vec::new();
    for finding in &checked.report.findings {
        if finding.severity == Severity::Note {
            continue;
        }
        let source = sources.get(finding.span.source);
        let own = source.name == recipe.name;
        let line = match own {
            true => {
                text[..finding.span.range().start.min(text.len())]
                    .matches('\n')
                    .count()
                    + 1
            }
            false => 0,
        };
        said.push((line, format!("{} {}", finding.code.code, finding.message)));
    }
    said
}

fn replaced(text: &str, range: std::ops::Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Ways in which fingers slip.
fn slips(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let middle = letters.len() / 2;
    let mut slips = Vec::new();
    let join = |letters: &[char]| letters.iter().collect::<String>();
    let mut twice = letters.clone();
    twice.insert(middle, letters[middle]);
    slips.push(join(&twice));
    if letters.len() > 3 {
        let mut without = letters.clone();
        without.remove(middle);
        slips.push(join(&without));
        let mut swapped = letters.clone();
        if let Some(at) = (1..letters.len() - 1).find(|at| letters[*at] != letters[at + 1]) {
            swapped.swap(at, at + 1);
            slips.push(join(&swapped));
        }
    }
    slips.retain(|slip| slip != word);
    slips
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Every name right after an opening, with its range.
fn names_after<'t>(text: &'t str, opening: &str) -> Vec<(usize, &'t str)> {
    text.match_indices(opening)
        .map(|(at, _)| at + opening.len())
        .map(|at| {
            let rest = &text[at..];
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            (at, &rest[..end])
        })
        .filter(|(_, name)| !name.is_empty())
        .collect()
}

/// A line that holds a key of the recipe's own shape: not of a block of text, and not a name that
/// the author chose.
struct Key<'t> {
    at: usize,
    name: &'t str,
    value: &'t str,
    value_at: usize,
}

/// Keys under which the author chooses the names.
const NAMED_BY_AUTHOR: [&str; 3] = ["context", "env", "update_context"];

fn keys(text: &str) -> Vec<Key<'_>> {
    let mut found = Vec::new();
    // The indentation at which a block of text, or a map with names of the author, ends.
    let mut until: Option<usize> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let bare = line.trim_start_matches([' ', '-']);
        let indent = line.len() - bare.len();
        if line.trim().is_empty() || until.is_some_and(|least| indent > least) {
            continue;
        }
        until = None;
        let Some((name, value)) = bare.split_once(':') else {
            continue;
        };
        if !name.chars().all(is_name) {
            continue;
        }
        let value = value.trim();
        let key = Key {
            at: start + indent,
            name,
            value,
            value_at: start + indent + bare.find(value).unwrap_or(0),
        };
        if value == "|" || (value.is_empty() && NAMED_BY_AUTHOR.contains(&name)) {
            until = Some(indent);
        }
        found.push(key);
    }
    found
}

/// What steps that call a recipe give it, by name.
fn given(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if inside && line.starts_with("      ") {
            let (name, _) = line.trim_start().split_once(':').unwrap();
            found.push(name);
        } else {
            inside = line.trim_start() == "context:" && line.starts_with("    ");
        }
    }
    found
}

/// The lines on which a variable is read, in a hole or in a condition.
fn reads(text: &str, name: &str) -> BTreeSet<usize> {
    let mut lines = BTreeSet::new();
    for (number, line) in text.lines().enumerate() {
        let held = names_after(line, "{{")
            .iter()
            .any(|(_, read)| *read == name);
        let key = line.trim_start().trim_start_matches("- ");
        let asked = key.starts_with("condition:")
            && !key.contains("{{")
            && key.split(|c| !is_name(c)).any(|word| word == name);
        if held || asked || line.contains(&format!("RECIPE_VAR_{name}")) {
            lines.insert(number + 1);
        }
    }
    lines
}

fn mutants(recipe: &Recipe) -> Vec<Mutant> {
    let text = recipe.text.as_str();
    let mut all = Vec::new();
    let mut add = |kind, text: String, lines: BTreeSet<usize>, what: String| {
        all.push(Mutant {
            kind,
            text,
            lines,
            what,
        });
    };
    let line = |at: usize| BTreeSet::from([line_of(text, at)]);
    for (at, name) in names_after(text, "{{") {
        for slip in slips(name) {
            let range = at..at + name.len();
            add(
                "misspelt hole",
                replaced(text, range, &slip),
                line(at),
                slip,
            );
        }
        let end = at + text[at..].find("}}").unwrap();
        add(
            "spaced hole",
            replaced(&replaced(text, end..end, " "), at..at, " "),
            line(at),
            name.to_string(),
        );
        add(
            "open hole",
            replaced(text, end..end + 2, "}"),
            line(at),
            name.to_string(),
        );
    }
    for (at, name) in names_after(text, "RECIPE_VAR_") {
        for slip in slips(name) {
            let mutant = replaced(text, at..at + name.len(), &slip);
            add("misspelt variable", mutant, line(at), slip);
        }
    }
    for name in given(text) {
        let at = name.as_ptr() as usize - text.as_ptr() as usize;
        for slip in slips(name) {
            let mutant = replaced(text, at..at + name.len(), &slip);
            add("misspelt input", mutant, line(at), slip);
        }
    }
    for Key {
        at,
        name,
        value,
        value_at,
    } in keys(text)
    {
        let here = line(at);
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        if text[start..at].starts_with("    ") {
            let mutant = replaced(text, start..start + 4, "\t");
            add("tab", mutant, here.clone(), name.to_string());
        }
        for slip in slips(name) {
            let mutant = replaced(text, at..at + name.len(), &slip);
            add("misspelt field", mutant, here.clone(), slip);
        }
        let value_range = value_at..value_at + value.len();
        let mut swap = |kind, with: &str| {
            let what = format!("{name}: {with}");
            add(
                kind,
                replaced(text, value_range.clone(), with),
                here.clone(),
                what,
            );
        };
        match name {
            "timeout" | "max_attempts" | "max_depth" | "max_while_iterations" => {
                swap("wrong type", "soon");
                swap("wrong type", "[1, 2]");
            }
            "parse_json" | "continue_on_error" | "required" => swap("wrong type", "maybe"),
            "command" | "prompt" if value != "|" => swap("wrong type", "{a: 1}"),
            "steps" | "stages" => swap("wrong type", "none"),
            "type" | "on_error" | "backoff" => {
                for slip in slips(value) {
                    swap("wrong word", &slip);
                }
            }
            "recipe" => {
                for slip in slips(value.trim_end_matches(".yaml")) {
                    swap("missing recipe", &format!("{slip}.yaml"));
                }
            }
            "depends_on" => {
                for slip in slips(value.trim_matches(['[', ']'])) {
                    swap("misspelt step", &format!("[{slip}]"));
                }
            }
            "id" => {
                let before = text[..at].rfind("id: ").map(|at| &text[at + 4..]);
                if let Some(other) = before.and_then(|rest| rest.lines().next()) {
                    let first = text[..at].rfind("id: ").unwrap();
                    let lines = [line_of(text, at), line_of(text, first)];
                    let mutant = replaced(text, value_range.clone(), other);
                    add("duplicate id", mutant, lines.into(), other.to_string());
                }
            }
            "output" | "collect" => {
                if recipe.reserves {
                    let mutant = replaced(text, value_range.clone(), "step");
                    add("reserved name", mutant, here.clone(), value.to_string());
                }
                let read = reads(text, value);
                if !read.is_empty() {
                    for slip in slips(value) {
                        let mutant = replaced(text, value_range.clone(), &slip);
                        let lines = read.union(&here).copied().collect();
                        add("misspelt output", mutant, lines, slip);
                    }
                    let end = value_range.end + 1;
                    let mutant = replaced(text, start..end, "");
                    let lines = read
                        .iter()
                        .map(|line| line - usize::from(line > here.first().unwrap()));
                    add(
                        "removed producer",
                        mutant,
                        lines.collect(),
                        value.to_string(),
                    );
                }
            }
            "condition" | "while_condition" => {
                let inner = value_range.start + 1..value_range.end - 1;
                let asked = &text[inner.clone()];
                let mut broken = |with: String| {
                    let mutant = replaced(text, inner.clone(), &with);
                    add("broken condition", mutant, here.clone(), with);
                };
                broken(format!("{asked} and"));
                broken(format!("({asked}"));
                if asked.contains("==") {
                    broken(asked.replacen("==", "=", 1));
                }
                if let Some(quote) = asked.rfind('\'') {
                    broken(replaced(asked, quote..quote + 1, ""));
                }
                for opening in ["len", "int", ".startswith"] {
                    if let Some(at) = asked.find(&format!("{opening}(")) {
                        for slip in slips(opening.trim_start_matches('.')) {
                            let dot = opening.matches('.').count();
                            let range = at + dot..at + opening.len();
                            let mutant = replaced(asked, range, &slip);
                            let mutant = replaced(text, inner.clone(), &mutant);
                            add("misspelt function", mutant, here.clone(), slip);
                        }
                    }
                }
            }
            _ => {}
        }
        if ["command", "recipe"].contains(&name) && value != "|" {
            let end = value_range.end + 1;
            let number = line_of(text, at);
            // It is the step that lacks it; the step begins somewhere above.
            let lines = (number.saturating_sub(8)..=number).collect();
            add(
                "removed field",
                replaced(text, start..end, ""),
                lines,
                name.to_string(),
            );
        }
    }
    all
}

#[test]
fn the_recipes_have_no_mistakes_of_their_own() {
    for recipe in recipes() {
        assert_eq!(said(&recipe, &recipe.text), [], "{}", recipe.name);
    }
}

#[test]
fn a_mistake_is_found_where_it_is() {
    let verbose = std::env::var_os("RRC_MUTANTS").is_some();
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for recipe in recipes() {
        for mutant in mutants(&recipe) {
            let said = said(&recipe, &mutant.text);
            let found = !said.is_empty();
            let placed = said.iter().any(|(line, _)| mutant.lines.contains(line));
            let counts = kinds.entry(mutant.kind).or_default();
            counts[0] += 1;
            counts[1] += usize::from(found);
            counts[2] += usize::from(placed);
            if !found || (verbose && !placed) {
                let (name, lines) = (&recipe.name, &mutant.lines);
                println!(
                    "{}: {name} {lines:?} `{}`: {said:?}",
                    mutant.kind, mutant.what
                );
            }
        }
    }
    let mut all = [0; 3];
    for (kind, counts) in &kinds {
        println!(
            "{kind}: {} planted, {} found, {} on their line",
            counts[0], counts[1], counts[2]
        );
        (0..3).for_each(|at| all[at] += counts[at]);
    }
    let [planted, found, placed] = all;
    println!("all: {planted} planted, {found} found, {placed} on their line");
    assert!(planted > 1000, "only {planted} mistakes were planted");
    assert!(
        found * 100 >= planted * 97,
        "{found} of {planted} are found"
    );
    assert!(
        placed * 100 >= planted * 95,
        "{placed} of {planted} are on their line"
    );
}
