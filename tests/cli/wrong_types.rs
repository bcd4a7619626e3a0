//! Every field, given values of the wrong type: an error at the value, never a panic.

use crate::binary::Folder;
use std::fmt::Write;

/// Fields of a step, each with a value that is not of its type.
const STEP: &[(&str, &str)] = &[
    ("id", "[a]"),
    ("id", "{a: b}"),
    ("type", "bsh"),
    ("type", "[bash]"),
    ("command", "[echo]"),
    ("command", "{a: b}"),
    ("shell", "[sh]"),
    ("stdin", "[a]"),
    ("stream", "maybe"),
    ("stream", "[true]"),
    ("max_output_size", "0"),
    ("max_output_size", "-1"),
    ("max_output_size", "lots"),
    ("max_output_size", "[1]"),
    ("output_stderr", "[a]"),
    ("output_exit_code", "{a: b}"),
    ("cwd", "[a]"),
    ("working_dir", "{a: b}"),
    ("env", "A=b"),
    ("env", "[a]"),
    ("env", "{A: [b]}"),
    ("env", "{A=B: c}"),
    ("output", "[a]"),
    ("parse_json", "maybe"),
    ("parse_json", "[true]"),
    ("parse_json_required", "maybe"),
    ("condition", "[a]"),
    ("condition", "{a: b}"),
    ("timeout", "soon"),
    ("timeout", "[1]"),
    ("timeout", "-1"),
    ("timeout", ".nan"),
    ("timeout", ".inf"),
    ("retry", "3"),
    ("retry", "[3]"),
    ("retry", "{max_attempts: 0}"),
    ("retry", "{max_attempts: many}"),
    ("retry", "{backoff: sideways}"),
    ("retry", "{initial_delay: soon}"),
    ("retry", "{initial_delay: -1}"),
    ("retry", "{max_delay: [1]}"),
    ("retry", "{attemps: 3}"),
    ("on_error", "explode"),
    ("on_error", "[fail]"),
    ("continue_on_error", "maybe"),
    ("nonfatal", "[true]"),
    ("fatal", "maybe"),
    ("depends_on", "{a: b}"),
    ("depends_on", "[[a]]"),
    ("when_tags", "{a: b}"),
    ("parallel_group", "[a]"),
    ("foreach", "[a, b]"),
    ("foreach", "text"),
    ("max_iterations", "0"),
    ("max_while_iterations", "1001"),
    ("max_while_iterations", "often"),
    ("while_condition", "[a]"),
    ("update_context", "[a]"),
    ("break_when", "[a]"),
    ("steps", "none"),
    ("steps", "{a: b}"),
    ("once", "maybe"),
    ("auto_stage", "maybe"),
    ("recursion", "5"),
];

/// The same for the recipe itself.
const RECIPE: &[(&str, &str)] = &[
    ("name", "[a]"),
    ("name", "{a: b}"),
    ("description", "[a]"),
    ("version", "[1]"),
    ("version", "{a: b}"),
    ("context", "text"),
    ("context", "[a]"),
    ("context", "3"),
    ("steps", "text"),
    ("steps", "3"),
    ("steps", "{a: b}"),
    ("steps", "[a]"),
    ("steps", "[[a]]"),
    ("steps", "[3]"),
    ("recursion", "5"),
    ("recursion", "{max_depth: 0}"),
    ("recursion", "{max_depth: deep}"),
    ("recursion", "{max_total_steps: -1}"),
    ("recursion", "{depth: 1}"),
    ("rate_limiting", "often"),
    ("rate_limiting", "{max_concurrent_llm: 0}"),
    ("rate_limiting", "{backoff: {enabled: maybe}}"),
    ("hooks", "echo"),
    ("hooks", "{pre_step: [a]}"),
    ("hooks", "{before: a}"),
    ("extends", "[a]"),
    ("context_validation", "[a]"),
    ("context_validation", "{a: sometimes}"),
    ("secrets", "{a: b}"),
    ("secrets", "[[a]]"),
    ("schedule", "random"),
    ("substitution", "magic"),
];

const STAGE: &[(&str, &str)] = &[
    ("stages", "text"),
    ("stages", "{a: b}"),
    ("stages", "[a]"),
    ("stages", "[{}]"),
    ("stages", "[{name: a}]"),
    ("stages", "[{name: [a], steps: []}]"),
    ("stages", "[{name: a, steps: text}]"),
    ("stages", "[{name: a, steps: [], approval: true}]"),
    (
        "stages",
        "[{name: a, steps: [], approval: {required: maybe}}]",
    ),
    (
        "stages",
        "[{name: a, steps: [], approval: {timeout: soon}}]",
    ),
    (
        "stages",
        "[{name: a, steps: [], approval: {default: perhaps}}]",
    ),
];

fn step(field: &str, value: &str) -> String {
    let mut text = String::from("name: a\nversion: 1.0.0\ndescription: d\nsteps:\n- ");
    let others = [("id", "a"), ("type", "bash"), ("command", "'true'")];
    for (name, own) in others.iter().filter(|(name, _)| *name != field) {
        write!(text, "{name}: {own}\n  ").unwrap();
    }
    writeln!(text, "{field}: {value}").unwrap();
    text
}

fn recipe(field: &str, value: &str) -> String {
    let mut text = String::new();
    let steps = "[{id: a, type: bash, command: 'true'}]";
    let others = [
        ("name", "a"),
        ("version", "1.0.0"),
        ("description", "d"),
        ("steps", steps),
    ];
    for (name, own) in others.iter().filter(|(name, _)| *name != field) {
        if !(field == "stages" && *name == "steps") {
            writeln!(text, "{name}: {own}").unwrap();
        }
    }
    writeln!(text, "{field}: {value}").unwrap();
    text
}

/// All of them in one walk; a process for each would take longer than the rest of the suite.
#[test]
fn a_value_of_the_wrong_type_is_an_error_in_its_own_line() {
    let folder = Folder::new();
    let mut files = Vec::new();
    let steps = STEP
        .iter()
        .map(|(field, value)| (field, value, step(field, value)));
    let recipes = RECIPE.iter().chain(STAGE);
    let recipes = recipes.map(|(field, value)| (field, value, recipe(field, value)));
    for (number, (field, value, text)) in steps.chain(recipes).enumerate() {
        let name = format!("{number:03}.yaml");
        folder.write(&name, &text);
        files.push((name, format!("{field}: {value}"), text.lines().count()));
    }
    for dialect in ["amplifier", "amplihack"] {
        let mut args = vec!["check", "--format", "json", "--dialect", dialect];
        args.extend(files.iter().map(|(name, ..)| name.as_str()));
        let said = folder.bounded(&args).go().exits(1).no_err();
        let findings = said.json();
        let findings = findings.as_array().unwrap();
        let mut missed = Vec::new();
        for (name, written, line) in &files {
            let here = |finding: &&serde_json::Value| {
                finding["file"] == name.as_str()
                    && finding["severity"] == "error"
                    && finding["start"]["line"] == *line
            };
            if !findings.iter().any(|finding| here(&finding)) {
                missed.push(written);
            }
        }
        assert!(missed.is_empty(), "accepted in {dialect}: {missed:#?}");
    }
}

#[test]
fn numbers_may_be_text_and_null_is_absent() {
    let folder = Folder::new();
    for (field, value) in [
        ("timeout", "\"5\""),
        ("timeout", "1.5"),
        ("max_output_size", "'10'"),
        ("retry", "{max_attempts: \"2\"}"),
        ("condition", "false"),
        ("condition", "~"),
        ("env", "~"),
        ("retry", "~"),
        ("timeout", "~"),
        ("cwd", ""),
        ("env", "{A: 1, B: true, C: ~}"),
        ("command", "42"),
    ] {
        folder.write("a.yaml", step(field, value));
        folder.rrc(&["check", "a.yaml"]).go().exits(0);
    }
}
