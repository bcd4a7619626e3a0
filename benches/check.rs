//! `rrc check` as people run it, and an edit in an editor: whole processes over recipes of our own.
//!
//! The reference of each is reading the same bytes as YAML and nothing else. With `--instructions`
//! nothing is timed: callgrind counts, and what costs more than `instructions.txt` allows fails.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

mod generated;

use bumpalo::Bump;
use generated::{DIALECTS, cost, largest, steps};
use rrc_compiler::diagnostic::Report;
use rrc_compiler::doc::yaml;
use rrc_compiler::source::SourceId;
use serde_json::{Value, json};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

const RRC: &str = env!("CARGO_BIN_EXE_rrc");
const LIMITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions.txt");

/// Recipes in the directory, and how many of them all the others call.
const RECIPES: usize = 190;
const SHARED: usize = 40;
/// Recipes that one recipe of the directory calls.
const CALLS: usize = 4;
/// Steps of the long workflow; every second one calls a recipe.
const LONG: usize = 60;
/// Lines of the recipe that is edited, and how often it is.
const LINES: usize = 3000;
const EDITS: usize = 200;
/// Under callgrind every edit takes a second.
const COUNTED_EDITS: usize = 10;

/// One thing to measure.
struct Case {
    name: &'static str,
    /// What `rrc check` is given; none for the session of an editor.
    path: Option<&'static str>,
    rounds: usize,
    /// Everything that is read for it.
    texts: Vec<String>,
}

/// Writes all recipes into a folder.
fn cases(folder: &Path) -> Vec<Case> {
    let write = |path: String, text: String| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, &text).unwrap();
        text
    };
    let (_, step) = DIALECTS[1];
    let large = write("large.yaml".to_string(), largest(step));
    let mut many = Vec::new();
    for number in 0..RECIPES {
        let mut text = steps(step, 12);
        if number >= SHARED {
            (0..CALLS).for_each(|call| text.push_str(&calls(call, (number * 7 + call) % SHARED)));
        }
        many.push(write(format!("many/r{number}.yaml"), text));
    }
    let mut long = Vec::new();
    let mut text = steps(step, LONG / 2);
    for number in 0..LONG / 2 {
        text.push_str(&calls(number, number));
        long.push(write(format!("long/r{number}.yaml"), steps(step, 20)));
    }
    long.push(write("long/main.yaml".to_string(), text));
    vec![
        Case {
            name: "recipe of 1 MB",
            path: Some("large.yaml"),
            rounds: 20,
            texts: vec![large],
        },
        Case {
            name: "190 recipes",
            path: Some("many"),
            rounds: 20,
            texts: many,
        },
        Case {
            name: "long workflow",
            path: Some("long/main.yaml"),
            rounds: 60,
            texts: long,
        },
        Case {
            name: "edit",
            path: None,
            rounds: EDITS,
            texts: vec![edited()],
        },
    ]
}

/// A step that calls a recipe.
fn calls(number: usize, recipe: usize) -> String {
    format!("  - id: call-{number}\n    type: recipe\n    recipe: r{recipe}\n")
}

/// The recipe that is edited.
fn edited() -> String {
    let (_, step) = DIALECTS[0];
    let lines = |text: &str| text.lines().count();
    steps(step, (LINES - lines(&steps(step, 0))) / lines(step))
}

fn yaml_alone(texts: &[String]) {
    for text in texts {
        let arena = Bump::new();
        let mut report = Report::default();
        black_box(yaml::read(&arena, SourceId(0), text, &mut report));
    }
}

/// Checks a path; the findings do not matter here, but that they were looked for does.
fn check(folder: &Path, path: &str) {
    let output = Command::new(RRC)
        .args(["check", "--quiet", path])
        .current_dir(folder)
        .output()
        .expect("rrc can be started");
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "{path}: {:?}", output.status);
}

/// An editor in which the recipe is open.
struct Editor {
    server: Child,
    from: BufReader<std::process::ChildStdout>,
    version: usize,
    /// Where the first command of the middle stands.
    line: usize,
}

impl Editor {
    fn open(mut command: Command) -> Editor {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("rrc can be started");
        let from = BufReader::new(server.stdout.take().unwrap());
        let text = edited();
        let after = |(at, line): &(usize, &str)| *at > LINES / 2 && line.contains("echo");
        let line = text.lines().enumerate().find(after).unwrap().0;
        let mut editor = Editor {
            server,
            from,
            version: 1,
            line,
        };
        editor.send(&json!({ "id": 1, "method": "initialize", "params": { "capabilities": {} } }));
        editor.send(&json!({ "method": "initialized", "params": {} }));
        let document =
            json!({ "uri": "file:///a.yaml", "languageId": "yaml", "version": 1, "text": text });
        let params = json!({ "textDocument": document });
        editor.send(&json!({ "method": "textDocument/didOpen", "params": params }));
        editor.wait();
        editor
    }

    fn send(&mut self, message: &Value) {
        let mut message = message.clone();
        message["jsonrpc"] = json!("2.0");
        let body = message.to_string();
        let to = self.server.stdin.as_mut().unwrap();
        write!(to, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        to.flush().unwrap();
    }

    /// Reads up to the findings about the last version.
    fn wait(&mut self) {
        let version = format!("\"version\":{}}}", self.version);
        loop {
            let mut length = 0;
            let mut line = String::new();
            while self.from.read_line(&mut line).unwrap() > 0 && line != "\r\n" {
                if let Some(number) = line.strip_prefix("Content-Length: ") {
                    length = number.trim().parse().unwrap();
                }
                line.clear();
            }
            assert!(length > 0, "the server has ended");
            let mut body = vec![0; length];
            self.from.read_exact(&mut body).unwrap();
            if String::from_utf8(body).unwrap().contains(&version) {
                return;
            }
        }
    }

    /// A hole with an unknown name comes and goes.
    fn edit(&mut self) {
        self.version += 1;
        let at = |column: usize| json!({ "line": self.line, "character": column });
        let (end, text) = match self.version % 2 {
            0 => (6, "{{nobody}} "),
            _ => (17, ""),
        };
        let change = json!({ "range": { "start": at(6), "end": at(end) }, "text": text });
        let document = json!({ "uri": "file:///a.yaml", "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": [change] });
        self.send(&json!({ "method": "textDocument/didChange", "params": params }));
        self.wait();
    }

    /// Says goodbye; gives what the server wrote about itself.
    fn close(mut self) -> String {
        self.send(&json!({ "id": 2, "method": "shutdown" }));
        self.send(&json!({ "method": "exit" }));
        let output = self.server.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

fn times(case: &Case, folder: &Path) -> Vec<f64> {
    let mut editor = None;
    let mut once = || match case.path {
        Some(path) => check(folder, path),
        None => editor
            .get_or_insert_with(|| {
                let mut rrc = Command::new(RRC);
                rrc.arg("lsp");
                Editor::open(rrc)
            })
            .edit(),
    };
    once();
    let timed = |_| {
        let start = Instant::now();
        once();
        start.elapsed().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = (0..case.rounds).map(timed).collect();
    times.sort_by(f64::total_cmp);
    editor.map(Editor::close);
    times
}

fn measure(cases: &[Case], folder: &Path) {
    println!(
        "{:>16}  shortest  middle    99 %      x YAML alone",
        "rrc check"
    );
    for case in cases {
        let times = times(case, folder);
        let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
        let reference = cost(|| yaml_alone(&case.texts)) * 1e3;
        println!(
            "{:>16}  {:6.2} ms {:6.2} ms {:6.2} ms  {:.2}",
            case.name,
            times[0],
            at(50),
            at(99),
            times[0] / reference
        );
    }
}

/// What callgrind says that a command has cost, in millions of instructions.
fn count(case: &Case, folder: &Path) -> f64 {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", RRC]);
    command.current_dir(folder);
    let (said, runs) = match case.path {
        Some(path) => {
            let output = command.args(["check", "--quiet", path]).output().unwrap();
            (String::from_utf8_lossy(&output.stderr).into_owned(), 1)
        }
        None => {
            command.arg("lsp");
            let mut editor = Editor::open(command);
            (0..COUNTED_EDITS).for_each(|_| editor.edit());
            // To open it is as much work as an edit.
            (editor.close(), COUNTED_EDITS + 1)
        }
    };
    let collected = said
        .lines()
        .find_map(|line| line.split_once("Collected : "));
    let number = collected.and_then(|(_, number)| number.trim().parse::<f64>().ok());
    number.unwrap_or_else(|| panic!("callgrind counted nothing: {said}")) / 1e6 / runs as f64
}

/// Whether everything costs what it may.
fn within_limits(cases: &[Case], folder: &Path) -> bool {
    let there = Command::new("valgrind").arg("--version").output();
    if there.is_err() {
        println!("instructions are not counted: valgrind is not installed");
        return true;
    }
    let limits = std::fs::read_to_string(LIMITS).expect("the limits can be read");
    let mut good = true;
    for case in cases {
        let counted = count(case, folder);
        let limit = limits.lines().find_map(|line| line.strip_prefix(case.name));
        let limit = limit.and_then(|limit| limit.trim().parse::<f64>().ok());
        let limit = limit.unwrap_or_else(|| panic!("`{}` has no limit", case.name));
        let verdict = match counted <= limit {
            true => "ok",
            false => "TOO MANY",
        };
        println!(
            "{:>16}  {counted:6.1} million instructions of {limit:6.1}  {verdict}",
            case.name
        );
        good &= counted <= limit;
    }
    good
}

fn main() -> ExitCode {
    let name = format!("rrc-check-{}", std::process::id());
    let folder: PathBuf = std::env::temp_dir().join(name);
    let cases = cases(&folder);
    let good = match std::env::args().any(|argument| argument == "--instructions") {
        true => within_limits(&cases, &folder),
        false => {
            measure(&cases, &folder);
            true
        }
    };
    // A folder that cannot be removed is the system's to sweep.
    let _ = std::fs::remove_dir_all(&folder);
    if !good {
        eprintln!("more instructions than {LIMITS} allows");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
