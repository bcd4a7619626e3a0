//! Executing the blocks of a section, in order.
//!
//! | info string | what is done |
//! |---|---|
//! | `yaml DIALECT` | checked; carets say what is found (`caret.rs`), short forms are made whole (`wrap.rs`) |
//! | `yaml DIALECT whole` | the same, without making it whole |
//! | `yaml DIALECT fixed` | what `--fix` makes of the block before; checked like every block |
//! | `yaml DIALECT fixed unsafe` | the same with `--unsafe-fixes` |
//! | `yaml DIALECT run ARG…` | checked, then run with these arguments; the next block says what comes out |
//! | `json` after it | part of the object that `run --output-format json` prints |
//! | `text output` after it | the output of the last step |
//! | `json template`, `json tool` | checked, as a template or as tool metadata; `run` as above |
//! | `condition DIALECT` | lines `EXPR => VALUE`, evaluated |
//! | `console` | commands and what they print (`console.rs`) |
//! | `… file=NAME` | a file beside the examples that follow under the same heading |
//! | `yaml plain`, and every other language | only shown |
//!
//! DIALECT is `amplifier`, `amplihack` or `any`, which leaves the choice to `rrc`.

use super::caret::{self, Found};
use super::command::{Folder, rrc};
use super::console::console;
use super::page::Block;
use super::wrap::{Wrapped, wrap};
use serde_json::Value;

/// What became of a section: what is wrong, and how its blocks would have to read to be true.
#[derive(Default)]
pub struct Outcome {
    pub wrong: Vec<String>,
    pub updates: Vec<(usize, String)>,
}

/// What a block asks for.
#[derive(Clone, Debug, PartialEq)]
enum Kind<'a> {
    Shown,
    File(&'a str),
    Check(Check<'a>),
    Condition(&'a str),
    Console,
    Output(Form),
    Malformed(String),
}

#[derive(Clone, Debug, PartialEq)]
struct Check<'a> {
    file: &'static str,
    dialect: Option<&'a str>,
    whole: bool,
    then: Then<'a>,
}

#[derive(Clone, Debug, PartialEq)]
enum Then<'a> {
    Nothing,
    FixedFromBefore { unsafe_too: bool },
    Run(Vec<&'a str>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Json,
    Text,
}

fn kind(block: &Block) -> Kind<'_> {
    let words: Vec<&str> = block.info.iter().map(String::as_str).collect();
    if let Some(name) = words.iter().find_map(|word| word.strip_prefix("file=")) {
        return Kind::File(name);
    }
    let malformed = || Kind::Malformed(format!("what is `{}`?", words.join(" ")));
    let (file, dialect, rest) = match words.as_slice() {
        ["yaml", "plain"] => return Kind::Shown,
        ["yaml", dialect @ ("amplifier" | "amplihack"), rest @ ..] => {
            ("example.yaml", Some(*dialect), rest)
        }
        ["yaml", "any", rest @ ..] => ("example.yaml", None, rest),
        ["yaml", ..] => return malformed(),
        ["json", "template" | "tool", rest @ ..] => ("example.json", None, rest),
        ["json"] => return Kind::Output(Form::Json),
        ["text", "output"] => return Kind::Output(Form::Text),
        ["condition", dialect @ ("amplifier" | "amplihack")] => return Kind::Condition(dialect),
        ["condition", ..] => return malformed(),
        ["console"] => return Kind::Console,
        _ => return Kind::Shown,
    };
    let mut whole = file == "example.json";
    let mut rest = rest;
    if let ["whole", more @ ..] = rest {
        (whole, rest) = (true, more);
    }
    let then = match rest {
        [] => Then::Nothing,
        ["fixed"] => Then::FixedFromBefore { unsafe_too: false },
        ["fixed", "unsafe"] => Then::FixedFromBefore { unsafe_too: true },
        ["run", args @ ..] => Then::Run(args.to_vec()),
        _ => return malformed(),
    };
    Kind::Check(Check {
        file,
        dialect,
        whole,
        then,
    })
}

/// Whether anything in these blocks is executed.
pub fn executes(blocks: &[(usize, &Block)]) -> bool {
    blocks.iter().any(|(_, block)| {
        matches!(
            kind(block),
            Kind::Check(_) | Kind::Condition(_) | Kind::Console | Kind::Malformed(_)
        )
    })
}

/// Executes the blocks of one section, given with their place in the page. `refresh` asks for
/// updates that spell out every message, also where what stands there is true.
pub fn execute(blocks: &[(usize, &Block)], refresh: bool) -> Outcome {
    let mut outcome = Outcome::default();
    let mut files: Vec<(&str, &str)> = Vec::new();
    let mut before: Option<(Check<'_>, Wrapped)> = None;
    let mut ran: Option<Value> = None;
    for (index, block) in blocks {
        let mut wrong = Vec::new();
        match kind(block) {
            Kind::Shown => {}
            Kind::Malformed(why) => wrong.push(why),
            Kind::File(name) => files.push((name, block.text.as_str())),
            Kind::Condition(dialect) => {
                match conditions(&block.text, dialect) {
                    Ok((new, problems)) => {
                        if !problems.is_empty() {
                            outcome.updates.push((*index, new));
                        }
                        wrong.extend(problems);
                    }
                    Err(error) => wrong.push(error),
                };
            }
            Kind::Console => match in_folder(&files, |folder| console(&block.text, folder)) {
                Ok((new, problems)) => {
                    if !problems.is_empty() {
                        outcome.updates.push((*index, new));
                    }
                    wrong.extend(problems);
                }
                Err(error) => wrong.push(error),
            },
            Kind::Output(form) => {
                let Some(actual) = ran.take() else {
                    continue;
                };
                match compare_output(form, &block.text, &actual) {
                    Ok(None) => {}
                    Ok(Some((new, problems))) => {
                        outcome.updates.push((*index, new));
                        wrong.extend(problems);
                    }
                    Err(error) => wrong.push(error),
                }
            }
            Kind::Check(check) => {
                let (clean, expects) = caret::split(&block.text);
                let wrapped = wrap(&clean, check.dialect.unwrap_or(""), check.whole);
                let checked = in_folder(&files, |folder| {
                    let found = checked(folder, &check, &wrapped)?;
                    let fixed = match (&check.then, &before) {
                        (Then::FixedFromBefore { unsafe_too }, Some((first, text))) => {
                            Some((fix(folder, first, text, *unsafe_too)?, text))
                        }
                        (Then::FixedFromBefore { .. }, None) => {
                            return Err("there is no block before that could be fixed".into());
                        }
                        _ => None,
                    };
                    if let Then::Run(args) = &check.then {
                        ran = Some(run(folder, &check, &wrapped, args)?);
                    }
                    Ok((found, fixed))
                });
                match checked {
                    Err(error) => wrong.push(error),
                    Ok(((found, outside), fixed)) => {
                        wrong.extend(outside);
                        let problems = caret::compare(&expects, &found, &clean);
                        let untrue = !problems.is_empty() || (refresh && !expects.is_empty());
                        // A rule that has fallen silent is not made right by a page that is.
                        let silent = found.is_empty() && !expects.is_empty();
                        if untrue && !silent {
                            let new = caret::annotate(&clean, &found, &expects);
                            outcome.updates.push((*index, new));
                        }
                        wrong.extend(problems);
                        if let Some((actual, from)) = fixed.filter(|(t, _)| *t != wrapped.text) {
                            wrong.push(format!(
                                "the fix gives something else:\n{actual}\ninstead of\n{}",
                                wrapped.text
                            ));
                            // The carets of the new text are the business of the next update.
                            if let Some(new) = from.unwrap(&actual) {
                                outcome.updates.retain(|(other, _)| other != index);
                                outcome.updates.push((*index, new));
                            }
                        }
                    }
                }
                before = Some((check, wrapped));
            }
        }
        let place = format!("block on line {}: ", block.line);
        outcome
            .wrong
            .extend(wrong.into_iter().map(|why| place.clone() + &why));
    }
    outcome
}

fn in_folder<T>(
    files: &[(&str, &str)],
    then: impl FnOnce(&Folder) -> Result<T, String>,
) -> Result<T, String> {
    let folder = Folder::new().map_err(|error| error.to_string())?;
    for (name, text) in files {
        folder
            .write(name, text)
            .map_err(|error| error.to_string())?;
    }
    then(&folder)
}

fn with_dialect<'a>(mut args: Vec<&'a str>, check: &Check<'a>) -> Vec<&'a str> {
    if let Some(dialect) = check.dialect {
        args.extend(["--dialect", dialect]);
    }
    args
}

/// What is found in a text, in places of the block, and what is said about anything else.
fn checked(
    folder: &Folder,
    check: &Check<'_>,
    wrapped: &Wrapped,
) -> Result<(Vec<Found>, Vec<String>), String> {
    folder
        .write(check.file, &wrapped.text)
        .map_err(|error| error.to_string())?;
    let args = with_dialect(vec!["check", "--format", "json"], check);
    let args = [args, vec![check.file]].concat();
    let said = rrc(folder, &args).map_err(|error| error.to_string())?;
    let findings: Vec<Value> = serde_json::from_str(&said.out).map_err(|error| {
        format!(
            "`rrc {}` printed no JSON ({error}), exit {:?}\n{}{}",
            args.join(" "),
            said.code,
            said.out,
            said.err
        )
    })?;
    Ok(places(&findings, check.file, wrapped))
}

fn places(findings: &[Value], file: &str, wrapped: &Wrapped) -> (Vec<Found>, Vec<String>) {
    let mut found = Vec::new();
    let mut outside = Vec::new();
    for finding in findings {
        let text = |key: &str| finding[key].as_str().unwrap_or("").to_string();
        let place = |key: &str| {
            let number = |part: &str| finding[key][part].as_u64().unwrap_or(0) as usize;
            wrapped.back(number("line"), number("column"))
        };
        let own = finding["file"]
            .as_str()
            .is_some_and(|name| name.ends_with(file));
        match (place("start"), place("end")) {
            (Some((line, start)), Some((end_line, end))) if own => found.push(Found {
                line,
                start,
                end_line,
                end,
                severity: text("severity"),
                code: text("code"),
                message: text("message"),
            }),
            _ if text("severity") == "note" => {}
            _ => outside.push(format!(
                "about something that the block does not show: {finding}"
            )),
        }
    }
    (found, outside)
}

fn fix(
    folder: &Folder,
    check: &Check<'_>,
    wrapped: &Wrapped,
    unsafe_too: bool,
) -> Result<String, String> {
    folder
        .write(check.file, &wrapped.text)
        .map_err(|error| error.to_string())?;
    let mut args = with_dialect(vec!["check", "--fix"], check);
    if unsafe_too {
        args.push("--unsafe-fixes");
    }
    args.push(check.file);
    rrc(folder, &args).map_err(|error| error.to_string())?;
    folder.read(check.file).map_err(|error| error.to_string())
}

fn run(
    folder: &Folder,
    check: &Check<'_>,
    wrapped: &Wrapped,
    extra: &[&str],
) -> Result<Value, String> {
    folder
        .write(check.file, &wrapped.text)
        .map_err(|error| error.to_string())?;
    let args = with_dialect(vec!["run", "--output-format", "json"], check);
    let args = [args, extra.to_vec(), vec![check.file]].concat();
    let said = rrc(folder, &args).map_err(|error| error.to_string())?;
    serde_json::from_str(&said.out).map_err(|error| {
        format!(
            "`rrc {}` printed no JSON ({error}), exit {:?}\n{}{}",
            args.join(" "),
            said.code,
            said.out,
            said.err
        )
    })
}

type Differs = Option<(String, Vec<String>)>;

fn compare_output(form: Form, expected: &str, actual: &Value) -> Result<Differs, String> {
    match form {
        Form::Json => {
            let expected: Value = serde_json::from_str(expected)
                .map_err(|error| format!("the expected output is not JSON: {error}"))?;
            let mut problems = Vec::new();
            let new = subset(&expected, actual, "$", &mut problems);
            let text = serde_json::to_string_pretty(&new).map_err(|error| error.to_string())?;
            Ok((!problems.is_empty()).then(|| (text + "\n", problems)))
        }
        Form::Text => {
            let last = actual["step_results"]
                .as_array()
                .and_then(|steps| steps.last());
            let output = match last
                .map(|step| &step["output"])
                .unwrap_or(&actual["output"])
            {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let same = output.trim_end_matches('\n') == expected.trim_end_matches('\n');
            let problem = format!("the output is\n{output}\ninstead of\n{expected}");
            Ok((!same).then(|| {
                (
                    output.trim_end_matches('\n').to_string() + "\n",
                    vec![problem],
                )
            }))
        }
    }
}

/// The actual value, cut down to the keys that were expected; says where the two differ.
fn subset(expected: &Value, actual: &Value, path: &str, problems: &mut Vec<String>) -> Value {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(all)) => expected
            .iter()
            .filter_map(|(key, value)| {
                let path = format!("{path}.{key}");
                match all.get(key) {
                    Some(actual) => Some((key.clone(), subset(value, actual, &path, problems))),
                    None => {
                        problems.push(format!("{path} is missing"));
                        None
                    }
                }
            })
            .collect::<serde_json::Map<_, _>>()
            .into(),
        (Value::Array(expected), Value::Array(all)) if expected.len() == all.len() => expected
            .iter()
            .zip(all)
            .enumerate()
            .map(|(index, (one, actual))| {
                subset(one, actual, &format!("{path}[{index}]"), problems)
            })
            .collect(),
        _ => {
            if expected != actual {
                problems.push(format!("{path} is {actual}, not {expected}"));
            }
            actual.clone()
        }
    }
}

/// One line of a `condition` block: `EXPR => VALUE`, `EXPR with {"x": 1} => VALUE`.
#[derive(Debug, PartialEq)]
struct Condition<'a> {
    expr: &'a str,
    vars: Option<&'a str>,
    /// All of the line up to the value, to write it back.
    head: &'a str,
    value: Expected<'a>,
}

#[derive(Debug, PartialEq)]
enum Expected<'a> {
    Value(&'a str),
    Error(&'a str),
    /// `is true`, `is false`: its truth, whatever its value.
    Truth(&'a str),
}

fn condition(line: &str) -> Option<Condition<'_>> {
    let arrow = line.rfind(" => ")?;
    let value = line[arrow + 4..].trim();
    let left = line[..arrow].trim_end();
    let (expr, vars) = match left.rfind(" with {") {
        Some(at) if left.ends_with('}') => (&left[..at], Some(left[at + 6..].trim())),
        _ => (left, None),
    };
    let value = match (value.strip_prefix("error:"), value.strip_prefix("is ")) {
        (Some(text), _) => Expected::Error(text.trim()),
        (None, Some(truth)) => Expected::Truth(truth.trim()),
        (None, None) => Expected::Value(value),
    };
    Some(Condition {
        expr: expr.trim(),
        vars,
        head: &line[..line.len() - line[arrow + 4..].trim_start().len()],
        value,
    })
}

/// Evaluates each line; gives the block as it would have to read, and what is wrong with it.
fn conditions(text: &str, dialect: &str) -> Result<(String, Vec<String>), String> {
    let folder = Folder::new().map_err(|error| error.to_string())?;
    let mut new = String::new();
    let mut wrong = Vec::new();
    let mut shared = "{}";
    for line in text.lines() {
        let plain = line.trim();
        if let Some(vars) = plain
            .strip_prefix("with ")
            .filter(|vars| vars.starts_with('{'))
        {
            shared = vars;
        } else if !plain.is_empty() && !plain.starts_with('#') {
            let Some(condition) = condition(line) else {
                wrong.push(format!("no ` => ` in `{line}`"));
                new.push_str(line);
                new.push('\n');
                continue;
            };
            let actual = evaluate(&folder, &condition, shared, dialect)?;
            if let Err(actual) = actual {
                wrong.push(format!("`{}` gives {actual}: {line}", condition.expr));
                new.push_str(condition.head);
                new.push_str(&actual);
                new.push('\n');
                continue;
            }
        }
        new.push_str(line);
        new.push('\n');
    }
    Ok((new, wrong))
}

/// Whether a condition gives what it should; if not, what it gives as a line would say it.
fn evaluate(
    folder: &Folder,
    condition: &Condition<'_>,
    shared: &str,
    dialect: &str,
) -> Result<Result<(), String>, String> {
    let vars = condition.vars.unwrap_or(shared);
    serde_json::from_str::<Value>(vars)
        .map_err(|error| format!("the variables `{vars}` are not JSON: {error}"))?;
    folder
        .write("vars.json", vars)
        .map_err(|error| error.to_string())?;
    let mut args = vec!["eval", "--dialect", dialect, "--vars", "vars.json"];
    if matches!(condition.value, Expected::Truth(_)) {
        args.push("--bool");
    }
    args.extend(["--", condition.expr]);
    let said = rrc(folder, &args).map_err(|error| error.to_string())?;
    let out = said.out.trim();
    if said.code != Some(0) {
        return Ok(match condition.value {
            Expected::Error(text) if said.code == Some(1) && said.err.contains(text) => Ok(()),
            _ => Err(format!("error: {}", headline(&said.err))),
        });
    }
    Ok(match condition.value {
        Expected::Value(value) => {
            let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
            match (parse(value), parse(out)) {
                (Some(expected), Some(actual)) if expected == actual => Ok(()),
                _ => Err(out.to_string()),
            }
        }
        Expected::Truth(truth) if truth == out => Ok(()),
        Expected::Truth(_) => Err(format!("is {out}")),
        Expected::Error(_) => Err(out.to_string()),
    })
}

/// The message of the first finding on standard error, without code and place.
fn headline(err: &str) -> &str {
    let line = err.lines().next().unwrap_or("nothing was said");
    line.split_once(": ").map_or(line, |(_, message)| message)
}

#[cfg(test)]
mod tests {
    use super::super::page::Page;
    use super::*;
    use serde_json::json;
    use std::path::Path;

    fn block(info: &str) -> Block {
        let page = Page::parse(Path::new("x.md"), format!("```{info}\n```\n"));
        page.blocks[0].clone()
    }

    #[test]
    fn info_strings_say_what_is_done() {
        let check = |info: &str| match kind(&block(info)) {
            Kind::Check(check) => (check.file, check.whole, format!("{:?}", check.then)),
            other => panic!("{info}: {other:?}"),
        };
        assert_eq!(
            check("yaml amplifier"),
            ("example.yaml", false, "Nothing".into())
        );
        assert_eq!(
            check("yaml any whole"),
            ("example.yaml", true, "Nothing".into())
        );
        assert_eq!(
            check("yaml amplihack fixed unsafe").2,
            "FixedFromBefore { unsafe_too: true }"
        );
        assert_eq!(
            check("yaml amplihack run --set x=1").2,
            "Run([\"--set\", \"x=1\"])"
        );
        assert_eq!(
            check("json template"),
            ("example.json", true, "Nothing".into())
        );
        for shown in ["", "sh", "text", "yaml plain", "toml", "rust"] {
            assert_eq!(kind(&block(shown)), Kind::Shown, "{shown}");
        }
        for bad in ["yaml", "yaml amplifer", "yaml amplifier fixd", "condition"] {
            assert!(matches!(kind(&block(bad)), Kind::Malformed(_)), "{bad}");
        }
        assert_eq!(
            kind(&block("yaml amplihack file=a/b.yaml")),
            Kind::File("a/b.yaml")
        );
        assert_eq!(kind(&block("text output")), Kind::Output(Form::Text));
        assert_eq!(
            kind(&block("condition amplihack")),
            Kind::Condition("amplihack")
        );
    }

    #[test]
    fn findings_are_led_back_and_strangers_are_told() {
        let wrapped = wrap("command: echo {{usre}}\n", "amplihack", false);
        let finding = |file: &str, line: usize, severity: &str| {
            json!({
                "code": "RRC0201", "severity": severity, "message": "m", "file": file,
                "start": { "line": line, "column": 19 }, "end": { "line": line, "column": 23 },
            })
        };
        let all = [
            finding("/tmp/x/example.yaml", 5, "error"),
            finding("example.yaml", 1, "warning"),
            finding("other.yaml", 5, "error"),
            finding("other.yaml", 5, "note"),
        ];
        let (found, outside) = places(&all, "example.yaml", &wrapped);
        assert_eq!((found.len(), outside.len()), (1, 2));
        assert_eq!((found[0].line, found[0].start, found[0].end), (1, 17, 21));
    }

    #[test]
    fn outputs_are_compared_by_what_is_given() {
        let actual = json!({
            "status": "completed", "duration_ms": 7, "context": { "a": 1, "b": [1, 2] },
            "step_results": [{ "step_id": "x", "output": "hi\n" }],
        });
        let compare = |form, text: &str| compare_output(form, text, &actual).unwrap();
        assert_eq!(compare(Form::Json, r#"{"context": {"b": [1, 2]}}"#), None);
        assert_eq!(compare(Form::Text, "hi\n"), None);
        let (new, problems) =
            compare(Form::Json, r#"{"status": "failed", "context": {"c": 1}}"#).unwrap();
        assert_eq!(problems.len(), 2);
        assert_eq!(
            serde_json::from_str::<Value>(&new).unwrap(),
            json!({ "status": "completed", "context": {} })
        );
        assert_eq!(
            compare(Form::Json, r#"{"context": {"b": [1]}}"#)
                .unwrap()
                .1
                .len(),
            1
        );
        assert_eq!(compare(Form::Text, "ho\n").unwrap().0, "hi\n");
        assert!(compare_output(Form::Json, "{", &actual).is_err());
    }

    #[test]
    fn condition_lines_are_taken_apart() {
        let line = r#"x == "a => b"  with {"x": 1}  =>  false"#;
        let parsed = condition(line).unwrap();
        assert_eq!(
            (parsed.expr, parsed.vars),
            (r#"x == "a => b""#, Some(r#"{"x": 1}"#))
        );
        assert_eq!(parsed.value, Expected::Value("false"));
        assert_eq!(parsed.head.to_string() + "false", line);
        assert_eq!(
            condition("x => error: no x").unwrap().value,
            Expected::Error("no x")
        );
        assert_eq!(
            condition("x => is true").unwrap().value,
            Expected::Truth("true")
        );
        assert_eq!(condition("x >= 1"), None);
    }
}
