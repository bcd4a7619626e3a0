//! `console` blocks: commands after `$ `, each followed by what it prints on both streams.
//!
//! They run in bash, in a folder with the files of the section and the repository's `examples`, with
//! the `rrc` under test first on the path. `…` stands for any text within a line, a line `…` for any
//! lines, and how long something took is not compared.

use super::command::Folder;
use std::path::Path;
use std::process::{Command, Stdio};

/// The block as it would have to read, and what is wrong with it.
pub fn console(text: &str, folder: &Folder) -> Result<(String, Vec<String>), String> {
    examples(folder).map_err(|error| error.to_string())?;
    let mut new = String::new();
    let mut wrong = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        new.push_str(line);
        new.push('\n');
        let Some(command) = line.strip_prefix("$ ") else {
            return Err(format!(
                "a console block begins with a command, not with `{line}`"
            ));
        };
        let mut expected = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            expected.push(line);
        }
        let actual = run(command, folder)?;
        let printed: Vec<&str> = actual.trim_end().lines().map(str::trim_end).collect();
        let blanks = expected.len() - trimmed(&expected).len();
        if matches(trimmed(&expected), trimmed(&printed)) {
            new.extend(expected.iter().flat_map(|line| [*line, "\n"]));
            continue;
        }
        wrong.push(format!(
            "`{command}` prints\n{actual}\ninstead of\n{}",
            expected.join("\n")
        ));
        new.extend(printed.iter().map(|line| masked(line) + "\n"));
        new.push_str(&"\n".repeat(blanks));
    }
    Ok((new, wrong))
}

fn trimmed<'a, 'b>(lines: &'b [&'a str]) -> &'b [&'a str] {
    let blank = lines.iter().rev().take_while(|line| line.trim().is_empty());
    &lines[..lines.len() - blank.count()]
}

fn run(command: &str, folder: &Folder) -> Result<String, String> {
    let binary = Path::new(env!("CARGO_BIN_EXE_rrc"));
    let home = binary.parent().unwrap_or(binary).display();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(folder.path())
        .env("PATH", format!("{home}:{path}"))
        .env("NO_COLOR", "1")
        .env_remove("FORCE_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn examples(folder: &Folder) -> std::io::Result<()> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    for entry in std::fs::read_dir(ours)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let name = format!("examples/{}", entry.file_name().to_string_lossy());
            folder.write(&name, &std::fs::read_to_string(entry.path())?)?;
        }
    }
    Ok(())
}

fn matches(expected: &[&str], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((&"…", rest)) => (0..=actual.len()).any(|skip| matches(rest, &actual[skip..])),
        Some((line, rest)) => actual
            .split_first()
            .is_some_and(|(first, others)| line_matches(line, first) && matches(rest, others)),
    }
}

fn line_matches(expected: &str, actual: &str) -> bool {
    let (expected, actual) = (timeless(expected.trim_end()), timeless(actual.trim_end()));
    let mut parts = expected.split('…');
    let Some(mut rest) = parts.next().and_then(|first| actual.strip_prefix(first)) else {
        return false;
    };
    let mut open = false;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        // The last part ends the line, wherever else it occurs.
        rest = &rest[at + part.len()..];
        open = part.is_empty();
    }
    open || rest.is_empty()
        || expected
            .rsplit('…')
            .next()
            .is_some_and(|end| expected.contains('…') && rest.ends_with(end))
}

/// A line as a page should hold it: what is different each time is left open.
fn masked(line: &str) -> String {
    let mut line = line.to_string();
    for (field, end) in [
        ("\"ts\":\"", '"'),
        ("\"run_id\":\"", '"'),
        ("\"duration_ms\":", ','),
    ] {
        let mut from = 0;
        while let Some(at) = line[from..].find(field) {
            let start = from + at + field.len();
            let ends = |c: char| c == end || c == '}';
            let length = line[start..].find(ends).unwrap_or(line.len() - start);
            line.replace_range(start..start + length, "…");
            from = start;
        }
    }
    line
}

/// `in 0.3 s` says the same on every machine.
fn timeless(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(" in ") {
        let (before, after) = rest.split_at(at + 4);
        let digits = after
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(after.len());
        out.push_str(before);
        rest = &after[digits..];
        if digits > 0 && !rest.starts_with(" s") {
            out.push_str(&after[..digits]);
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_match_as_the_page_says() {
        assert!(line_matches("a … c", "a b b c"));
        assert!(line_matches("a…", "a b"));
        assert!(line_matches("…/x.yaml:1 …", "/tmp/x.yaml:1 c"));
        assert!(line_matches("x: done in 0.0 s", "x: done in 12.5 s"));
        assert!(!line_matches("found in 3 files", "found in 4 files"));
        assert!(!line_matches("a … c", "a b d"));
        assert!(!line_matches("a", "ab"));
        assert!(matches(&["a", "…", "d"], &["a", "b", "c", "d"]));
        assert!(!matches(&["a", "…"], &["b"]));
        let line = r#"{"ts":"2026","duration_ms":3,"a":1,"duration_ms":4}"#;
        let open = r#"{"ts":"…","duration_ms":…,"a":1,"duration_ms":…}"#;
        assert_eq!(masked(line), open);
        assert!(line_matches(open, line));
    }
}
