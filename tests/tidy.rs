//! Facts about this repository, held by tests: what a review would otherwise have to notice.

#[path = "support/page.rs"]
#[allow(dead_code, reason = "only the headings of pages are read here")]
mod page;

use page::Page;
use rrc_compiler::codes;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file of the repository, by its path from the root: what git knows, or else what is there.
fn files() -> Vec<String> {
    let git = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output();
    let mut all: Vec<String> = match git {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(String::from)
            .collect(),
        _ => walk(root()),
    };
    all.retain(|path| root().join(path).is_file());
    all.sort();
    assert!(
        all.iter().any(|path| path == "Cargo.toml"),
        "no repository at {:?}",
        root()
    );
    all
}

fn walk(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let path = entry.path();
        if path.is_dir() {
            if !matches!(
                name.to_str(),
                Some("target" | ".git" | "node_modules") | None
            ) {
                found.extend(walk(&path));
            }
        } else if let Some(short) = path.strip_prefix(root()).ok().and_then(Path::to_str) {
            found.push(short.to_string());
        }
    }
    found
}

fn read(path: &str) -> String {
    // Fixtures may hold any bytes; the facts below are about text.
    let bytes = std::fs::read(root().join(path)).expect("a file of the repository can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn rust_files() -> Vec<(String, String)> {
    files()
        .into_iter()
        .filter(|path| path.ends_with(".rs"))
        .map(|path| (path.clone(), read(&path)))
        .collect()
}

/// Rust text without comments and without its tests, which stand at the end of a file here.
/// Strings stay; a fact that trips over one can be written differently.
fn code(text: &str) -> String {
    let mut lines = Vec::new();
    let mut test = false;
    for line in text.lines() {
        let item = line.trim_start();
        if test && item.starts_with("mod ") && item.ends_with('{') {
            break;
        }
        if !(test && item.starts_with("mod ")) && item != "#[cfg(test)]" {
            lines.push(line.split("//").next().unwrap_or(""));
        }
        test = item == "#[cfg(test)]" || (test && item.starts_with('#'));
    }
    lines.join("\n")
}

/// The files that are compiled for tests only: suites, and what `#[cfg(test)] mod name;` names, with what
/// is in a folder of that name.
fn test_files(all: &[(String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in all {
        if ["tests/", "benches/", "fuzz/"]
            .iter()
            .any(|suite| path.starts_with(suite))
        {
            found.push(path.clone());
        }
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = match file {
            "mod.rs" | "lib.rs" | "main.rs" => folder.to_string(),
            _ => path.trim_end_matches(".rs").to_string(),
        };
        for piece in text.split("#[cfg(test)]").skip(1) {
            let item = piece.trim_start().lines().next().unwrap_or("");
            if let Some(name) = item
                .strip_prefix("mod ")
                .and_then(|rest| rest.strip_suffix(';'))
            {
                found.push(format!("{folder}/{name}.rs"));
                let inside = format!("{folder}/{name}/");
                let paths = all.iter().map(|(path, _)| path);
                found.extend(paths.filter(|path| path.starts_with(&inside)).cloned());
            }
        }
    }
    found
}

/// Whether a word stands in a text, not as a part of a longer one.
fn names(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

fn none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n  {}\n", wrong.join("\n  "));
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let mut wrong = Vec::new();
    for code in codes::ALL {
        if !root()
            .join(format!("spec/rules/{}.md", code.code))
            .is_file()
        {
            wrong.push(format!(
                "spec/rules/{}.md is missing ({})",
                code.code, code.name
            ));
        }
    }
    for path in page::pages(&root().join("spec/rules")) {
        let name = path
            .file_stem()
            .and_then(|stem| stem.to_str())
            .unwrap_or("");
        if !codes::ALL.iter().any(|code| code.code == name) {
            wrong.push(format!("{} is about no code", path.display()));
        }
    }
    none(wrong);
}

#[test]
fn pages_of_codes_have_their_sections() {
    let mut wrong = Vec::new();
    for code in codes::ALL {
        let path: PathBuf = root().join(format!("spec/rules/{}.md", code.code));
        let Ok(page) = Page::read(&path) else {
            continue;
        };
        let title = format!("{} {}", code.code, code.name);
        if page.headings.first() != Some(&(1, title.clone())) {
            wrong.push(format!("{} is not titled `{title}`", code.code));
        }
        let sections: Vec<&str> = page
            .headings
            .iter()
            .filter(|(level, _)| *level == 2)
            .map(|(_, name)| name.as_str())
            .collect();
        let expected = ["What", "Why", "Fires", "Does not fire", "Fix"];
        if sections != expected && sections != expected[..4] {
            wrong.push(format!("{} has the sections {sections:?}", code.code));
        }
        let fixed = page
            .blocks
            .iter()
            .any(|block| block.info.iter().any(|word| word == "fixed"));
        let checked = page.blocks.iter().filter(|block| {
            let beside = block.info.iter().any(|word| word.starts_with("file="));
            block.heading == "Fires" && matches!(block.word(0), "yaml" | "json") && !beside
        });
        for block in checked {
            if !block.text.contains(&format!("[{}]", code.code)) {
                wrong.push(format!(
                    "{}: line {} shows no finding",
                    code.code, block.line
                ));
            }
        }
        if fixed && !sections.contains(&"Fix") {
            wrong.push(format!("{} shows a fix outside of `## Fix`", code.code));
        }
    }
    none(wrong);
}

#[test]
fn codes_are_in_order_and_their_names_are_names() {
    let mut wrong = Vec::new();
    for pair in codes::ALL.windows(2) {
        if pair[0].code >= pair[1].code {
            wrong.push(format!("{} stands before {}", pair[0].code, pair[1].code));
        }
    }
    for code in codes::ALL {
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let same = codes::ALL
            .iter()
            .filter(|other| other.name == code.name)
            .count();
        if same != 1 || !code.name.chars().all(kebab) {
            wrong.push(format!("{} is named `{}`", code.code, code.name));
        }
        if code.summary.ends_with('.') || code.summary.starts_with(char::is_uppercase) {
            wrong.push(format!(
                "{}: summaries are lower case, without full stop",
                code.code
            ));
        }
    }
    none(wrong);
}

#[test]
fn files_stay_small() {
    const MOST: usize = 700;
    none(
        rust_files()
            .into_iter()
            .map(|(path, text)| (path, text.lines().count()))
            .filter(|(_, lines)| *lines >= MOST)
            .map(|(path, lines)| format!("{path} has {lines} lines"))
            .collect(),
    );
}

/// A crate that may change under us, or should be replaceable, is named in one place.
#[test]
fn crates_are_named_where_they_belong() {
    let homes: [(&str, &[&str]); 10] = [
        ("ariadne", &["compiler/src/report/human.rs"]),
        ("clap", &["src/"]),
        ("granit_parser", &["compiler/src/doc/yaml.rs"]),
        ("indicatif", &["src/live.rs"]),
        // What is linked is called by this name, too.
        ("libc", &["runtime/src/os", "build.rs"]),
        ("lsp_server", &["src/lsp/"]),
        ("lsp_types", &["src/lsp/"]),
        ("rustix", &["runtime/src/os"]),
        ("serde_yaml", &[]),
        ("unicode_width", &["src/live.rs"]),
    ];
    let mut wrong = Vec::new();
    let all = rust_files();
    let tests = test_files(&all);
    for (path, text) in all {
        let text = code(&text);
        let test = tests.contains(&path);
        for (name, places) in homes {
            let at_home = places.iter().any(|place| path.starts_with(place));
            let oracle = name == "serde_yaml" && test;
            if names(&text, name) && !at_home && !oracle && path != "tests/tidy.rs" {
                wrong.push(format!("{path} names `{name}`"));
            }
        }
    }
    none(wrong);
}

#[test]
fn one_file_may_be_unsafe() {
    let mut wrong = Vec::new();
    for library in ["vm/src/lib.rs", "compiler/src/lib.rs", "src/lib.rs"] {
        if !read(library).contains("#![forbid(unsafe_code)]") {
            wrong.push(format!("{library} does not forbid unsafe code"));
        }
    }
    for (path, text) in rust_files() {
        let text = code(&text);
        let home = path == "runtime/src/os.rs" || path == "tests/tidy.rs";
        let keyword = [
            "unsafe {",
            "unsafe fn",
            "unsafe impl",
            "unsafe extern",
            "unsafe trait",
        ];
        if !home && keyword.iter().any(|keyword| text.contains(keyword)) {
            wrong.push(format!("{path} is unsafe"));
        }
    }
    none(wrong);
}

#[test]
fn compiler_and_machine_touch_nothing() {
    let mut wrong = Vec::new();
    let all = rust_files();
    let tests = test_files(&all);
    for (path, text) in all {
        let pure = path.starts_with("compiler/src/") || path.starts_with("vm/src/");
        if !pure || tests.contains(&path) {
            continue;
        }
        let text = code(&text);
        for outside in [
            "std::fs",
            "std::process",
            "std::net",
            "std::env",
            "Instant",
            "SystemTime",
            "println",
            "eprintln",
        ] {
            if names(&text, outside) {
                wrong.push(format!("{path} names `{outside}`"));
            }
        }
    }
    none(wrong);
}

/// The rooms of each crate from the ground up. A module uses its own row and the rows above.
const CRATES: [(&str, &[&[&str]]); 4] = [
    (
        "compiler/src/",
        &[
            &["source", "codes", "spelling", "diagnostic", "fix", "world"],
            &["doc"],
            &["expr", "shell"],
            &["ir"],
            &["dialect"],
            &[
                "suppress", "load", "resolve", "infer", "bounds", "scripts", "schedule",
            ],
            &["lint", "cascade"],
            &["emit"],
            &["ide", "sketch"],
            &["report"],
            &["lib"],
        ],
    ),
    (
        "vm/src/",
        &[
            &["isa"],
            // A failure is a value, and carries values.
            &["value", "fault"],
            &["plan", "text"],
            &["policy"],
            &["builtin", "convert", "exports", "flow", "shell", "weight"],
            &["codec", "disasm", "generate", "verify"],
            &["task"],
            &["machine"],
            &["lib"],
        ],
    ),
    (
        "runtime/src/",
        &[
            &["os", "capture", "clock", "event", "secret"],
            &["outlet", "process", "watchdog", "journal"],
            &["agent", "record", "reply"],
            &["validate"],
            &["driver"],
            &["lib"],
        ],
    ),
    (
        "src/",
        &[
            &["cli"],
            &["config", "disk", "output"],
            &["plan", "values", "results"],
            &["agents", "initial", "reach"],
            &[
                "audit",
                "dry",
                "live",
                "nested",
                "object",
                "outline",
                "piped",
                "preflight",
            ],
            &[
                "build", "check", "disasm", "eval", "expand", "explain", "late", "list", "lsp",
                "recorded", "run", "runs",
            ],
            &["lib"],
            &["main"],
        ],
    ),
];

/// The modules that a file names by `crate::…`, groups like `crate::{a, b::C}` included.
fn used(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        if text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let rest = &text[at + "crate::".len()..];
        let word = |text: &str| -> String {
            let part = |c: &char| c.is_alphanumeric() || *c == '_';
            text.trim_start().chars().take_while(part).collect()
        };
        match rest.strip_prefix('{') {
            None => found.push(word(rest)),
            Some(group) => {
                let (mut depth, mut start) = (0, 0);
                for (at, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth > 0 => depth -= 1,
                        ',' | '}' if depth == 0 => {
                            found.push(word(&group[start..at]));
                            start = at + 1;
                        }
                        _ => {}
                    }
                    if c == '}' && depth == 0 && start == at + 1 {
                        break;
                    }
                }
            }
        }
    }
    found.retain(|name| !name.is_empty() && name.starts_with(char::is_lowercase));
    found.sort();
    found.dedup();
    found
}

#[test]
fn modules_use_only_what_is_above_them() {
    let mut wrong = Vec::new();
    let all = rust_files();
    for (home, rooms) in CRATES {
        let is_there = |room: &&str| {
            let mut files = all.iter().filter_map(|(path, _)| path.strip_prefix(home));
            files.any(|inside| inside.split(['/', '.']).next() == Some(*room))
        };
        let rooms = rooms.iter().copied().flatten();
        let empty = rooms.filter(|room| !is_there(room));
        wrong.extend(empty.map(|room| format!("there is no `{room}` in {home}")));
    }
    let tests = test_files(&all);
    for (path, text) in all.iter().filter(|(path, _)| !tests.contains(path)) {
        let Some((inside, rooms)) = CRATES
            .iter()
            .find_map(|(home, rooms)| Some((path.strip_prefix(home)?, rooms)))
        else {
            continue;
        };
        let row = |room: &str| rooms.iter().position(|row| row.contains(&room));
        let room = inside.split(['/', '.']).next().unwrap_or("");
        let Some(own) = row(room) else {
            wrong.push(format!(
                "{path} is in no room; add `{room}` to the list in this test"
            ));
            continue;
        };
        for other in used(&code(text)) {
            if row(&other).is_some_and(|theirs| theirs > own) {
                wrong.push(format!("{path} uses `{other}`, which stands below it"));
            }
        }
    }
    none(wrong);
}

/// The last line that knows a dialect is in `load.rs`; only the dialects' own folder names them.
#[test]
fn nothing_after_load_knows_a_dialect() {
    let mut wrong = Vec::new();
    let all = rust_files();
    let tests = test_files(&all);
    for (path, text) in all.iter().filter(|(path, _)| !tests.contains(path)) {
        let inner = ["compiler/src/", "vm/src/", "runtime/src/"];
        if !inner.iter().any(|home| path.starts_with(home))
            || path.starts_with("compiler/src/dialect/")
        {
            continue;
        }
        let text = code(text);
        for word in ["amplifier", "amplihack"] {
            if text.to_lowercase().contains(word) {
                wrong.push(format!("{path} names `{word}`"));
            }
        }
        // An editor asks about a text while it is being written, before there is a program.
        let readers = [
            "compiler/src/load.rs",
            "compiler/src/load/",
            "compiler/src/lib.rs",
            "compiler/src/ide/",
        ];
        let reads = readers.iter().any(|reader| path.starts_with(reader));
        if !reads && (names(&text, "Dialect") || text.contains("crate::dialect")) {
            wrong.push(format!("{path} uses a dialect"));
        }
    }
    none(wrong);
}

#[test]
fn crates_depend_as_drawn() {
    let drawn = [
        ("vm/Cargo.toml", &[][..]),
        ("compiler/Cargo.toml", &["rrc-vm"]),
        ("runtime/Cargo.toml", &["rrc-vm"]),
    ];
    let mut wrong = Vec::new();
    for (path, may) in drawn {
        for line in read(path).lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap_or("");
            if name.starts_with("rrc-") && !may.contains(&name) {
                wrong.push(format!("{path} depends on `{name}`"));
            }
        }
    }
    none(wrong);
}

#[test]
fn only_the_binary_prints() {
    let mut wrong = Vec::new();
    let all = rust_files();
    let tests = test_files(&all);
    for (path, text) in all.iter().filter(|(path, _)| !tests.contains(path)) {
        let inner = ["compiler/src/", "vm/src/", "runtime/src/"];
        if !inner.iter().any(|home| path.starts_with(home)) {
            continue;
        }
        for word in ["println", "eprintln", "print", "eprint"] {
            if code(text).contains(&format!("{word}!(")) {
                wrong.push(format!("{path} has a `{word}!`"));
            }
        }
    }
    none(wrong);
}

/// A relative link in a page leads to a file, and what it names after `#` to a heading.
#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for path in files().into_iter().filter(|path| path.ends_with(".md")) {
        let text = read(&path);
        let folder = Path::new(&path).parent().unwrap_or(Path::new(""));
        for piece in text.split("](").skip(1) {
            let link = piece.split(')').next().unwrap_or("");
            if link.contains("://") || link.contains(char::is_whitespace) {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => root().join(&path),
                file => root().join(folder).join(file),
            };
            let found = target.exists()
                && (anchor.is_empty()
                    || Page::read(&target).is_ok_and(|page| {
                        page.headings.iter().any(|(_, name)| slug(name) == anchor)
                    }));
            if !found {
                wrong.push(format!("{path}: `{link}` leads nowhere"));
            }
        }
    }
    none(wrong);
}

/// The anchor of a heading, as GitHub writes it.
fn slug(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let words: String = heading.chars().filter(kept).collect();
    words.to_lowercase().replace(' ', "-")
}

/// The page of architecture names the tests that hold its invariants; they are there.
#[test]
fn invariants_name_tests_that_exist() {
    let page = read("spec/architecture.md");
    let all: String = rust_files().into_iter().map(|(_, text)| text).collect();
    let mut wrong = Vec::new();
    for invariant in page.split("\n* **").skip(1) {
        let invariant = invariant.split("\n\n").next().unwrap_or("");
        let Some((_, holders)) = invariant.split_once("Held by") else {
            wrong.push(format!("nothing holds: {invariant}"));
            continue;
        };
        // A test has a long name; files and commands between backticks have other characters.
        let is_name = |word: &&str| word.contains('_') && !word.contains(['.', ' ']);
        for name in holders.split('`').skip(1).step_by(2).filter(is_name) {
            if !all.contains(&format!("fn {name}(")) {
                wrong.push(format!("there is no test `{name}`"));
            }
        }
    }
    none(wrong);
}

#[test]
fn the_reader_of_paths_reads_paths() {
    let text =
        "use crate::{doc::{Node, Map}, source::Span};\nfn f() { crate::ir::x(); $crate::no; }";
    assert_eq!(used(text), ["doc", "ir", "source"]);
    assert!(names("use a::b;", "a") && !names("use aa::b_a;", "a"));
    let text = "x // y\n#[cfg(test)]\nmod laws;\nz\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(code(text), "x \nz");
    let all = ["a/src/b.rs", "a/src/b/laws/of.rs", "a/src/c.rs"]
        .map(|path| (path.to_string(), text.to_string()));
    let files = test_files(&all[..1]);
    assert_eq!(files, ["a/src/b/laws.rs"]);
    assert!(test_files(&all).contains(&all[1].0));
}

#[test]
fn every_dependency_has_its_sentence() {
    let text = read("Cargo.toml");
    let section = text.split("[workspace.dependencies]").nth(1).unwrap_or("");
    let mut wrong = Vec::new();
    let mut before = "";
    for line in section.lines().take_while(|line| !line.starts_with('[')) {
        let dependency = line.contains('=') && !line.starts_with('#');
        if dependency && !line.contains("path =") && !before.starts_with("# ") {
            wrong.push(format!("nothing says why: {line}"));
        }
        before = line;
    }
    assert!(section.contains("serde_json"));
    none(wrong);
}

#[test]
fn nothing_is_left_undone_in_the_code() {
    let mut wrong = Vec::new();
    for (path, text) in rust_files() {
        for mark in ["todo", "unimplemented", "dbg"] {
            if code(&text).contains(&format!("{mark}!(")) {
                wrong.push(format!("{path} has a `{mark}!`"));
            }
        }
    }
    none(wrong);
}

/// The repository speaks about the product, not about how it came to be.
#[test]
fn texts_are_about_the_product() {
    // Put together here, so that this file does not hold them itself.
    let words = [
        ["issue", " #"].concat(),
        ["/wo", "rk/"].concat(),
        ["../sha", "red"].concat(),
    ];
    // Cases that are kept beside the repository are found by these two.
    let neighbours = [".ci/run", "tests/conformance.txt"];
    let mut wrong = Vec::new();
    for path in files() {
        if neighbours.contains(&path.as_str()) {
            continue;
        }
        let text = read(&path);
        for word in &words {
            if text.to_lowercase().contains(word.as_str()) {
                wrong.push(format!("{path} says `{word}`"));
            }
        }
    }
    none(wrong);
}
