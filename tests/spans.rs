//! A finding points at the bytes that the author wrote: for a misspelt name in every style of
//! scalar, in every field that takes one, with line breaks, tabs and wide characters before it.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

mod binary;

use binary::Folder;
use serde_json::Value;
use std::fmt::Write;

/// Stands for the name that nothing defines.
const NAME: &str = "zqx";

/// What stands before the name, to be counted in bytes and in characters.
#[derive(Clone, Copy, Debug)]
enum Before {
    Nothing,
    Tab,
    Wide,
}

/// A field that takes holes, and a text for it as a reader of YAML should see it.
fn text(field: &str, before: Before) -> String {
    let extra = match (field, before) {
        (_, Before::Nothing) => "",
        ("condition", Before::Tab) => "2\t== 3 or ",
        ("condition", Before::Wide) => "'𝄞é' == 'b' or ",
        ("command", Before::Tab) => "one\ttwo ",
        (_, Before::Tab) => "one\ttwo",
        ("command", Before::Wide) => "𝄞é ",
        (_, Before::Wide) => "𝄞é",
    };
    match field {
        "condition" => format!("1 == 2 or {extra}{{{{zqx}}}} == 'a'"),
        "command" => format!("echo a {extra}b {{{{zqx}}}} c"),
        _ => format!("a b{extra}/{{{{zqx}}}}/c"),
    }
}

/// A way to write a scalar: its name, and the scalar at an indentation.
type Style = (&'static str, fn(&str, usize) -> String);

fn indented(text: &str, indent: usize) -> String {
    text.lines().fold(String::new(), |mut all, line| {
        write!(all, "\n{}{line}", " ".repeat(indent)).unwrap();
        all
    })
}

/// Over two lines, broken at the first blank, where a reader sees a blank again.
fn broken(text: &str, indent: usize) -> String {
    text.replacen(' ', &format!("\n{}", " ".repeat(indent)), 1)
}

fn double(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

const STYLES: &[Style] = &[
    ("plain", |text, _| text.to_string()),
    ("plain, two lines", |text, indent| broken(text, indent)),
    ("plain, a blank line", |text, indent| {
        text.replacen(' ', &format!("\n\n{}", " ".repeat(indent)), 1)
    }),
    ("single", |text, _| {
        format!("'{}'", text.replace('\'', "''"))
    }),
    ("single, two lines", |text, indent| {
        format!("'{}'", broken(&text.replace('\'', "''"), indent))
    }),
    ("double", |text, _| format!("\"{}\"", double(text))),
    ("double, two lines", |text, indent| {
        format!("\"{}\"", broken(&double(text), indent))
    }),
    ("double, a joined line", |text, indent| {
        let joined = format!(" \\\n{}", " ".repeat(indent));
        format!("\"{}\"", double(text).replacen(' ', &joined, 1))
    }),
    ("double, with escapes", |text, _| {
        let escaped = text.replacen('a', "\\u0061", 1).replace('\t', "\\t");
        let escaped = escaped
            .replacen("b", "\\x62", 1)
            .replace('𝄞', "\\U0001D11E");
        format!("\"{}\"", escaped.replacen(' ', "\\x20", 1))
    }),
    ("double, after a tab", |text, _| {
        format!("\t\"{}\"", double(text))
    }),
    ("plain, after a tab", |text, _| format!("\t{text}")),
    ("literal, after a tab", |text, indent| {
        format!("\t|\t{}", indented(text, indent))
    }),
    ("double, with quotes", |text, _| {
        format!("\"{}\"", text.replace('\'', "\\\""))
    }),
    ("literal", |text, indent| {
        format!("|{}", indented(text, indent))
    }),
    ("literal, stripped", |text, indent| {
        format!("|-{}", indented(text, indent))
    }),
    ("literal, kept", |text, indent| {
        format!("|+{}\n", indented(text, indent))
    }),
    ("literal, indented", |text, indent| {
        let wide = indent + 3;
        format!("|{}", indented(text, wide))
    }),
    ("literal, indicator", |text, indent| {
        // The indicator counts from the parent; the blanks beyond it are text.
        format!("|2-{}", indented(&format!(" {text}"), indent))
    }),
    ("literal, comment", |text, indent| {
        format!("|  # zq x{}", indented(text, indent))
    }),
    ("literal, more lines", |text, indent| {
        format!(
            "|\n{}",
            indented(&format!("{}\n{}", blank_or(text), text), indent)
        )
    }),
    ("folded", |text, indent| {
        format!(">{}", indented(&text.replacen(' ', "\n", 1), indent))
    }),
    ("folded, stripped", |text, indent| {
        format!(">-{}", indented(&text.replacen(' ', "\n", 2), indent))
    }),
    ("folded, kept, indicator", |text, indent| {
        format!(">+2{}\n", indented(&text.replacen(' ', "\n", 1), indent))
    }),
    ("folded, a blank line", |text, indent| {
        format!(">2-{}", indented(&text.replacen(' ', "\n\n", 1), indent))
    }),
    ("folded, deeper lines", |text, indent| {
        format!(">{}", indented(&text.replacen(' ', "\n  ", 1), indent))
    }),
];

/// A first line for a text of two lines, that says nothing where the text is a condition.
fn blank_or(text: &str) -> &'static str {
    if text.starts_with("1 ==") {
        "3 == 4 or"
    } else {
        "first"
    }
}

struct Case {
    what: String,
    text: String,
    /// Where the name is.
    at: usize,
    end: usize,
}

fn recipe(field: &str, style: Style, before: Before, aliased: bool, lines: &str) -> Case {
    let (name, write) = style;
    let mut all = String::from("name: spans\nversion: 1.0.0\ndescription: \"𝄞é\"\n");
    let value = match aliased {
        true => {
            let scalar = write(&text(field, before), 2);
            let _ = writeln!(
                all,
                "x-texts:\n  anchored: &here {}",
                scalar.replace("\n", "\n  ")
            );
            "*here".to_string()
        }
        false => write(&text(field, before), if field == "env" { 8 } else { 6 }),
    };
    all.push_str("steps:\n  - id: a\n    type: bash\n");
    if field != "command" {
        all.push_str("    command: \"true\"\n");
    }
    let _ = match field {
        "env" => writeln!(all, "    env:\n      A: {value}"),
        _ => writeln!(all, "    {field}: {value}"),
    };
    all.push_str("  - {id: b, type: bash, command: \"true\"}\n");
    let all = all.replace('\n', lines);
    let at = all.find(NAME).expect("the name is there");
    Case {
        what: format!("{field}, {name}, {before:?}, aliased {aliased}, {lines:?}"),
        at,
        end: at + NAME.len(),
        text: all,
    }
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for field in ["command", "condition", "env", "cwd"] {
        for style in STYLES {
            for before in [Before::Nothing, Before::Tab, Before::Wide] {
                for aliased in [false, true] {
                    for lines in ["\n", "\r\n"] {
                        all.push(recipe(field, *style, before, aliased, lines));
                    }
                }
            }
        }
    }
    all
}

/// Line and column of an offset, counted the long way.
fn place(text: &str, offset: usize) -> (u64, u64) {
    let (mut line, mut column) = (1, 1);
    for c in text[..offset].chars() {
        match c {
            '\n' => (line, column) = (line + 1, 1),
            _ => column += 1,
        }
    }
    (line, column)
}

/// What is wrong with the findings about a case, if anything is.
fn judge(case: &Case, findings: &[&Value]) -> Option<String> {
    let [finding] = findings else {
        return Some(format!("{} findings: {findings:?}", findings.len()));
    };
    if finding["code"] != "RRC0201" {
        return Some(format!("{finding}"));
    }
    for (key, offset) in [("start", case.at), ("end", case.end)] {
        let (line, column) = place(&case.text, offset);
        let said = &finding[key];
        if said["offset"] != offset || said["line"] != line || said["column"] != column {
            return Some(format!("{key} is {said}, not {line}:{column} at {offset}"));
        }
    }
    None
}

/// All cases in one process, each in a file of its own.
fn check(cases: &[Case]) {
    let folder = Folder::new();
    for (number, case) in cases.iter().enumerate() {
        folder.write(&format!("{number:04}.yaml"), &case.text);
    }
    // Other rules may have something to say about the same lines.
    let only = ["--select", "undefined-variable"];
    let args = ["check", ".", "--dialect", "amplifier", "--format", "json"];
    let args = [&args[..], &only].concat();
    let said = folder.rrc(&args).go().exits(1);
    let findings = said.json();
    let findings = findings.as_array().expect("an array");
    let mut wrong = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let file = format!("./{number:04}.yaml");
        let own: Vec<&Value> = findings
            .iter()
            .filter(|found| found["file"] == file.as_str())
            .collect();
        if let Some(words) = judge(case, &own) {
            wrong.push(format!("{}: {words}\n{}", case.what, case.text));
        }
    }
    let shown: Vec<&String> = wrong.iter().take(5).collect();
    assert!(
        wrong.is_empty(),
        "{} of {} cases\n{shown:#?}",
        wrong.len(),
        cases.len()
    );
}

#[test]
fn a_misspelt_name_is_found_where_it_was_written() {
    check(&cases());
}

/// The name itself may be written with escapes; all of their bytes are the name.
#[test]
fn a_name_in_escapes_is_all_of_them() {
    let written = [
        "z\\u0071x",
        "\\x7aqx",
        "zq\\U00000078",
        "z\\\n      qx",
        "z\\\r\n      qx",
    ];
    let mut all = Vec::new();
    for name in written {
        for field in ["command", "cwd"] {
            let head =
                "name: spans\nversion: 1.0.0\ndescription: d\nsteps:\n  - id: a\n    type: bash\n";
            let other = if field == "cwd" {
                "    command: \"true\"\n"
            } else {
                ""
            };
            let text = format!("{head}{other}    {field}: \"é {{{{{name}}}}} b\"\n");
            let at = text.find(name).expect("the name is there");
            all.push(Case {
                what: format!("{field}, {name:?}"),
                at,
                end: at + name.len(),
                text,
            });
        }
    }
    check(&all);
}

/// In the other dialect a bare word of a condition is a name.
#[test]
fn a_bare_name_in_a_condition_is_found_where_it_was_written() {
    let folder = Folder::new();
    let styles = [
        "yes_ == 'é' or zqx == 'a'",
        "\"'\\u00e9' == 'b' or zqx == 'a'\"",
        "'''é'' == ''b'' or zqx == 1'",
        "|\n      1 == 2 or\n      zqx == 1",
        ">-\n      'é' == 'b' or\n      zqx == 1",
    ];
    for (number, style) in styles.iter().enumerate() {
        for lines in ["\n", "\r\n"] {
            let text = format!(
                "name: a\ncontext: {{yes_: 1}}\nsteps:\n  - id: a\n    command: \"true\"\n    condition: {style}\n"
            );
            let text = text.replace('\n', lines);
            folder.write("a.yaml", &text);
            let args = [
                "check",
                "a.yaml",
                "--format",
                "json",
                "--dialect",
                "amplihack",
                "--select",
                "undefined-variable",
            ];
            let said = folder.rrc(&args).go().exits(0);
            let at = text.find(NAME).expect("the name is there");
            let finding = &said.json()[0];
            assert_eq!(
                finding["start"]["offset"], at,
                "{number} {lines:?}: {said:?}"
            );
            assert_eq!(
                finding["end"]["offset"],
                at + 3,
                "{number} {lines:?}: {said:?}"
            );
            assert_eq!(
                finding["start"]["column"],
                place(&text, at).1,
                "{number} {lines:?}"
            );
        }
    }
}
