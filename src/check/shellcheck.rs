//! `--shellcheck`: what that tool says about commands, at the places in the recipe.

use rrc_compiler::codes::{self, Severity};
use rrc_compiler::diagnostic::Diagnostic;
use rrc_compiler::ir::Program;
use rrc_compiler::scripts::{ShellText, scripts};
use rrc_compiler::source::Sources;
use serde_json::Value;
use std::io::Write;
use std::ops::Range;
use std::process::{Command, Stdio};

/// What it cannot know: files that are read elsewhere, variables that come from the environment.
const UNKNOWABLE: &str = "--exclude=SC1090,SC1091,SC2154";

/// What it says of a test or a loop that is the same every time, which it is not if there is a hole
/// in it.
const ABOUT_CONSTANTS: [u64; 6] = [2043, 2050, 2078, 2157, 2193, 2194];

/// What it says about the way a value is put into a text, which is ours to do safely: about
/// quoting, splitting, and single quotes around a hole.
const ABOUT_HOLES: [u64; 8] = [2004, 2016, 2046, 2068, 2086, 2206, 2207, 2248];

pub fn is_installed() -> bool {
    let asked = Command::new("shellcheck")
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

pub fn findings(program: &Program, sources: &Sources) -> Result<Vec<Diagnostic>, String> {
    let mut found = Vec::new();
    let mut wrong = None;
    scripts(program, sources, &mut |script| {
        if wrong.is_none() {
            match ask(script) {
                Ok(comments) => found.extend(comments.iter().filter_map(|c| finding(c, script))),
                Err(words) => wrong = Some(words),
            }
        }
    });
    match wrong {
        None => Ok(found),
        Some(words) => Err(format!("--shellcheck: {words}")),
    }
}

fn ask(script: &ShellText<'_>) -> Result<Vec<Value>, String> {
    let words = |error: std::io::Error| error.to_string();
    let mut child = Command::new("shellcheck")
        .args([
            "--norc",
            "--format=json1",
            UNKNOWABLE,
            "--shell",
            script.shell,
            "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(words)?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // It may write before it has read all.
        scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(script.text.as_bytes())));
        child.wait_with_output()
    })
    .map_err(words)?;
    let mut said: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("shellcheck failed: {}", said.trim())
    })?;
    match said["comments"].take() {
        Value::Array(comments) => Ok(comments),
        _ => Err("shellcheck said something that cannot be understood".to_string()),
    }
}

fn finding(comment: &Value, script: &ShellText<'_>) -> Option<Diagnostic> {
    let code = comment["code"].as_u64()?;
    let range = range(comment, &script.text)?;
    let mut holes = script.holes.iter();
    let line = line(&script.text, range.start);
    let touches = |hole: &Range<usize>, other: &Range<usize>| {
        hole.start < other.end && other.start < hole.end
    };
    let ours = holes.any(|hole| match code {
        _ if ABOUT_HOLES.contains(&code) => touches(hole, &range),
        _ if ABOUT_CONSTANTS.contains(&code) => touches(hole, &line),
        _ => hole.start <= range.start && range.end <= hole.end,
    });
    if ours {
        return None;
    }
    let severity = match comment["level"].as_str()? {
        "error" | "warning" => Severity::Warning,
        _ => Severity::Note,
    };
    let said = message(comment["message"].as_str()?);
    let message = format!("SC{code}: {said}");
    let finding = Diagnostic::new(&codes::SHELLCHECK, script.span(range), message);
    Some(
        finding
            .severity(severity)
            .help(format!("see https://www.shellcheck.net/wiki/SC{code}")),
    )
}

/// The line that an offset is in.
fn line(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |before| before + 1);
    let end = text[at..].find('\n').map_or(text.len(), |after| at + after);
    start..end
}

/// In our manner: lower case unless it begins with a name, no full stop, and no lines, which are
/// counted from the start of the script.
fn message(said: &str) -> String {
    let said = said.trim_end_matches('.');
    let said = match said.rfind(" on line ") {
        Some(at) if said[at + 9..].bytes().all(|b| b.is_ascii_digit()) => &said[..at],
        _ => said,
    };
    let first = said.split(' ').next().unwrap_or("");
    let word = first
        .chars()
        .skip(1)
        .all(|c| c.is_ascii_lowercase() || c == '\'');
    let mut letters = said.chars();
    match letters.next() {
        Some(letter) if word => letter.to_lowercase().chain(letters).collect(),
        _ => said.to_string(),
    }
}

/// Bytes of the text that a comment is about.
fn range(comment: &Value, text: &str) -> Option<Range<usize>> {
    let offset = |line: &str, column: &str| {
        let line = usize::try_from(comment[line].as_u64()?).ok()?;
        let column = usize::try_from(comment[column].as_u64()?).ok()?;
        let before: usize = text
            .split_inclusive('\n')
            .take(line.checked_sub(1)?)
            .map(str::len)
            .sum();
        let rest = text.get(before..)?;
        let inside = rest.char_indices().nth(column.checked_sub(1)?);
        Some(inside.map_or(text.len(), |(at, _)| before + at))
    };
    let start = offset("line", "column")?;
    let end = offset("endLine", "endColumn")?;
    Some(start..end.max(start))
}
