//! Commands with mistakes in them, in every way to write a text: whatever is fixed there, the file
//! can still be read.

use super::recipe_law::judge;
use rrc_compiler::codes;
use rrc_compiler::diagnostic::{Applicability, Report};
use rrc_compiler::doc::{json, yaml};
use rrc_compiler::fix;
use rrc_compiler::source::SourceId;
use rrc_vm::generate::Random;

const PROGRAMS: [&str; 6] = ["echo", "grep", "p{x=a b}", "bash -c", "curl", "'my prog'"];
const PIECES: [&str; 52] = [
    "a",
    "é",
    "'a b'",
    "\"a b\"",
    "''",
    "\"\"",
    "\"abc",
    "'abc",
    "it's",
    "a\\n",
    "\\d+",
    "end\\",
    "\u{a0}",
    "|",
    "&&",
    "~/x",
    "$HOME",
    "rm -rf /",
    "# b",
    "a: b",
    "[a,",
    "{x}",
    "{x",
    "x}",
    "{x=a b}",
    "{x=a}",
    "{x=b}",
    "{ x }",
    "{x }",
    "{x?y}",
    "{x:int??5}",
    "{x:itn=5}",
    "{xs[0]??5}",
    "{x??7}",
    "{x??'a'}",
    "{-1}",
    "{1 + 2}",
    "{_index+1}",
    "{index-1}",
    "{index -1}",
    "{________index}",
    "${x}",
    "${x:-d}",
    "${x:-'d'}",
    "{y=c d}{z=e f}",
    "{x='a b' c}",
    "{\"k\":1}",
    "{x=\"b\"}",
    "{' 'x}",
    "{x?\"?\"5}",
    "{x y}",
    "{n=a'b}",
];
const STYLES: [fn(&str) -> String; 5] = [
    |text| text.to_string(),
    |text| format!("'{}'", text.replace('\'', "''")),
    quoted,
    |text| format!("|\n          {text}"),
    |text| format!(">-\n          {}", text.replacen(' ', "\n          ", 1)),
];

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn command(random: &mut Random) -> String {
    let mut text = PROGRAMS[random.below(PROGRAMS.len())].to_string();
    for _ in 0..1 + random.below(4) {
        text.push_str([" ", " ", "  ", ""][random.below(4)]);
        text.push_str(PIECES[random.below(PIECES.len())]);
    }
    text
}

/// A file with such a command: its name, and its text.
pub fn odd(random: &mut Random) -> (&'static str, String) {
    let command = command(random);
    if random.once_in(4) {
        let command = quoted(&command);
        let text = match random.below(5) {
            0 => command,
            1 => format!(r#"[[{command}], "cat -"]"#),
            2 => format!(r#"[{command}, "-n"]"#),
            3 => format!(r#"{{"repeat": 3, "when": "!{{x}}", "template": {command}}}"#),
            _ => format!(
                r#"{{"args": ["x:int"], "defaults": {{"x": 1}}, "timeout": 60, "template": {command}}}"#
            ),
        };
        return ("odd.json", text);
    }
    let style = STYLES[random.below(STYLES.len())];
    let command = style(&command);
    let template = match random.below(6) {
        0 => format!("\n      - {command}\n      - cat -"),
        1 => format!("\n      - - {command}\n      - cat -"),
        2 => format!("\n    - {command}\n    - -n"),
        3 => format!("\n      repeat: 3\n      parallel: 'true'\n      template: {command}"),
        4 if !command.contains('\n') => format!("[[{command}], \"cat -\"]"),
        _ => command,
    };
    let text = format!(
        "name: odd\ncontext: {{x: 1, xs: [a], n: b, index-1: 0}}\nsteps:\n  - id: a\n    type: template\n    template: {template}\n  - id: b\n    command: echo b\n"
    );
    ("odd.yaml", text)
}

fn reads(name: &str, text: &str) -> bool {
    let arena = bumpalo::Bump::new();
    let mut report = Report::default();
    match name.ends_with(".json") {
        true => json::read(&arena, SourceId(0), text, &mut report),
        false => yaml::read(&arena, SourceId(0), text, &mut report),
    };
    report.findings.is_empty()
}

/// Applies fixes until there are none left: it ends, the file can be read all the way, and safe
/// fixes bring no error. Whether anything was fixed; nothing, if the file could not be read before.
pub fn still_reads(name: &str, text: &str, max: Applicability) -> Result<Option<bool>, String> {
    if !reads(name, text) {
        return Ok(None);
    }
    let mut text = text.to_string();
    for round in 0..20 {
        let judged = judge(name, text.as_bytes());
        let errors = judged.errors().count();
        let findings = &judged.checked.report.findings;
        let changed = fix::apply(&judged.sources, findings, max);
        let Some((_, new, _)) = changed.into_iter().next() else {
            return Ok(Some(round > 0));
        };
        if !reads(name, &new) {
            return Err(format!("a fix breaks the file:\n{text}\n{new}"));
        }
        let after = judge(name, new.as_bytes());
        // What stands in a list that is none has not been looked at before.
        let hidden = judged
            .errors()
            .any(|error| error.code == &codes::NESTED_LIST);
        if max == Applicability::Safe && !hidden && after.errors().count() > errors {
            let said: Vec<&str> = after.errors().map(|error| error.message.as_str()).collect();
            return Err(format!(
                "a safe fix brings an error:\n{text}\n{new}\n{said:#?}"
            ));
        }
        text = new;
    }
    Err(format!("fixes do not come to an end:\n{text}"))
}
