//! What commands that hand their output to each other need: their words, values in a declared
//! form, and the report of branches that ran side by side.
//!
//! Works on values alone; who runs what, and when, is not known here.

use crate::fault::{Failure, FailureKind};
use crate::text::{self, on_a_line, render};
use crate::value::{Map, Value};
use std::rc::Rc;

/// What an operation came to, or why it has no result.
pub type Made = Result<Value, (FailureKind, String)>;

/// How many characters of a value a message holds.
pub const SHOWN: usize = 40;

/// The same of a path.
pub const SHOWN_PATH: usize = 4 * SHOWN;

/// How much of what a branch wrote to its standard error the report of all branches holds, in
/// UTF-16 units.
const REPORTED: usize = 1000;

/// An item of a list by its position, which is a whole number from 0 or the text of one.
pub fn item(list: &Value, at: &Value) -> Made {
    let Value::List(items) = list else {
        let message = format!("{} has no items", text::kind_word(list));
        return Err((FailureKind::WrongType, message));
    };
    let position = match at {
        Value::Int(int) => usize::try_from(*int).ok(),
        Value::Float(float) => text::whole(*float).and_then(|int| usize::try_from(int).ok()),
        Value::Text(text) => digits(text.trim()),
        _ => None,
    };
    let found = position.and_then(|position| items.get(position));
    found.cloned().ok_or_else(|| {
        let at = shown(&render(at));
        let message = format!("the list of {} has no item `{at}`", items.len());
        (FailureKind::Undefined, message)
    })
}

/// A number that is written in digits and nothing else.
fn digits(text: &str) -> Option<usize> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// The words of a command. The first says what runs and must be there; an empty one of the others
/// is left out.
pub fn argv(list: Value) -> Made {
    let Value::List(mut words) = list else {
        return Err((FailureKind::WrongType, "the command is not a list".into()));
    };
    let argv = Rc::make_mut(&mut words);
    let mut empty = false;
    for (number, word) in argv.iter_mut().enumerate() {
        let text = render(word);
        if text.as_bytes().contains(&0) {
            let message = "a command cannot be given a NUL character".to_string();
            return Err((FailureKind::InvalidRequest, message));
        }
        if number == 0 && text.is_empty() {
            let message = "the name of the command is empty".to_string();
            return Err((FailureKind::InvalidRequest, message));
        }
        empty |= text.is_empty();
        *word = Value::Text(text);
    }
    if empty {
        argv.retain(|word| !matches!(word, Value::Text(text) if text.is_empty()));
    }
    Ok(Value::List(words))
}

/// A value to calculate with: an integer, a number without a fraction, or text that is an integer
/// with blanks around it.
pub fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        Value::Float(float) => text::whole(*float),
        Value::Text(text) if is_int(text.trim()) => text.trim().parse().ok(),
        _ => None,
    }
}

/// An integer with zeros in front, the sign before them.
pub fn pad(int: i64, width: usize) -> String {
    match int < 0 {
        true => format!("-{:0>1$}", int.unsigned_abs(), width.saturating_sub(1)),
        false => format!("{int:0>width$}"),
    }
}

/// Brings a value into the form that a declaration asks for: `kind` says which, `of` the words of
/// an enumeration, `name` whose value it is.
pub fn fit(value: Value, wanted: &Value) -> Made {
    let word = |name: &str| text::field(wanted, name).map(render).unwrap_or_default();
    let kind = word("kind");
    let made = match &*kind {
        "int" => int(&value),
        "number" => number(&value),
        "bool" => flag(&value),
        "array" => list(&value),
        "enum" => one_of(&value, text::field(wanted, "of")),
        "any" => return Ok(plain(value)),
        "duration" => return duration(&value, &word("name")),
        "seconds" => return seconds(&value, &word("name"), false),
        "seconds_or_none" => return seconds(&value, &word("name"), true),
        "count" => return count(&value, &word("name")),
        "tries" => return tries(&value, &word("name")),
        _ => Some(Value::Text(render(&plain(value.clone())))),
    };
    if matches!(value, Value::Null) {
        return Ok(Value::text(""));
    }
    made.ok_or_else(|| {
        let must = match &*kind {
            "int" => "be an integer".to_string(),
            "number" => "be a number".to_string(),
            "bool" => "be true or false".to_string(),
            "array" => "be a list".to_string(),
            _ => {
                let of = text::field(wanted, "of").cloned().unwrap_or(Value::Null);
                let Value::List(words) = of else {
                    return unfit(&word("name"), "fit its type", &value);
                };
                let words: Vec<String> = words.iter().map(|w| format!("`{}`", render(w))).collect();
                format!("be one of {}", words.join(", "))
            }
        };
        unfit(&word("name"), &must, &value)
    })
}

/// A number too large for digits has a sign in its exponent, as most programs write it.
fn plain(value: Value) -> Value {
    match &value {
        Value::Float(float) if float.abs() >= 1e21 && float.is_finite() => {
            Value::text(render(&value).replace('e', "e+"))
        }
        _ => value,
    }
}

fn unfit(name: &str, must: &str, value: &Value) -> (FailureKind, String) {
    let value = shown(&render(value));
    let message = format!("`{name}` must {must}, not `{value}`");
    (FailureKind::WrongType, message)
}

/// As much of a text as a message holds, on one line.
pub fn shown(text: &str) -> String {
    shown_to(text, SHOWN)
}

/// The same of a path: more of it, as many begin alike.
pub fn shown_path(text: &str) -> String {
    shown_to(text, SHOWN_PATH)
}

fn shown_to(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", on_a_line(&text[..end])),
        None => on_a_line(text).into_owned(),
    }
}

fn is_int(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn int(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) => Some(Value::Text(render(value))),
        Value::Float(float) => text::whole(*float).map(|int| Value::text(int.to_string())),
        Value::Text(text) if is_int(text.trim()) => Some(Value::text(text.trim())),
        _ => None,
    }
}

fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Int(_) => Some(Value::Text(render(value))),
        Value::Float(float) => {
            let shown = || Value::Text(render(&plain(value.clone())));
            float.is_finite().then(shown)
        }
        Value::Text(text) => {
            let text = text.trim();
            let plain = text.strip_prefix('-').unwrap_or(text);
            let all = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            let fits = match plain.split_once('.') {
                Some((whole, part)) => all(whole) && all(part) && !part.is_empty(),
                None => all(plain) && !plain.is_empty(),
            };
            fits.then(|| Value::text(text))
        }
        _ => None,
    }
}

fn flag(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Some(Value::Bool(true)),
            "false" | "0" | "no" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}

fn list(value: &Value) -> Option<Value> {
    match value {
        Value::List(_) => Some(value.clone()),
        Value::Text(text) if text.trim_start().starts_with('[') => match text::json_or_text(text) {
            list @ Value::List(_) => Some(list),
            _ => None,
        },
        _ => None,
    }
}

fn one_of(value: &Value, of: Option<&Value>) -> Option<Value> {
    let Some(Value::List(words)) = of else {
        return None;
    };
    let text = render(value);
    words
        .iter()
        .any(|word| render(word) == text)
        .then_some(Value::Text(text))
}

/// Milliseconds; nothing, and 0, are no limit at all.
fn duration(value: &Value, name: &str) -> Made {
    let ms = match value {
        Value::Null => Some(0),
        Value::Int(int) => Some(*int),
        Value::Float(float) => milliseconds(*float),
        Value::Text(text) if text.trim().is_empty() => Some(0),
        Value::Text(text) => number(&Value::Text(text.clone()))
            .and_then(|_| text.trim().parse().ok())
            .and_then(milliseconds),
        _ => None,
    };
    ms.filter(|ms| *ms >= 0)
        .map(Value::Int)
        .ok_or_else(|| unfit(name, "be a number of milliseconds from 0", value))
}

/// Seconds, as whole milliseconds of which no part is lost; 0 may say that there is no limit.
fn seconds(value: &Value, name: &str, none: bool) -> Made {
    let seconds = match value {
        Value::Null if none => Some(0.0),
        Value::Text(text) if none && text.trim().is_empty() => Some(0.0),
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        Value::Text(text) => text.trim().parse().ok(),
        _ => None,
    };
    let fits = |seconds: &f64| *seconds > 0.0 || none && *seconds == 0.0;
    let must = match none {
        true => "be a number of seconds from 0",
        false => "be a number of seconds above 0",
    };
    seconds
        .filter(|seconds| *seconds < 9e12 && fits(seconds))
        .map(|seconds| Value::Int((seconds * 1000.0).ceil() as i64))
        .ok_or_else(|| unfit(name, must, value))
}

/// Whole milliseconds; none for what no integer holds exactly.
fn milliseconds(ms: f64) -> Option<i64> {
    (ms.is_finite() && ms < 9e15).then(|| ms.ceil() as i64)
}

/// How many tries: nothing, and the empty text, are one.
fn tries(value: &Value, name: &str) -> Made {
    match value {
        Value::Null => Ok(Value::Int(1)),
        Value::Text(text) if text.trim().is_empty() => Ok(Value::Int(1)),
        _ => count(value, name),
    }
}

/// How often: a whole number from 1.
fn count(value: &Value, name: &str) -> Made {
    let count = match value {
        Value::Int(int) => Some(*int),
        Value::Float(float) => text::whole(*float),
        Value::Text(text) if is_int(text.trim()) => text.trim().parse().ok(),
        _ => None,
    };
    count
        .filter(|count| *count >= 1)
        .map(Value::Int)
        .ok_or_else(|| unfit(name, "be a whole number from 1", value))
}

/// A failure out of what is known of it.
pub fn raise(known: Value, at: u32) -> Value {
    let Value::Map(fields) = known else {
        return known;
    };
    let mut data = Rc::unwrap_or_clone(fields);
    let word = |value: Option<Value>| value.map(|value| render(&value));
    let kind = word(data.shift_remove("kind"));
    let kind = kind.and_then(|word| FailureKind::from_word(&word));
    let message = word(data.shift_remove("message")).unwrap_or_default();
    Value::Failure(Rc::new(Failure {
        kind: kind.unwrap_or(FailureKind::Message),
        message,
        data: Value::map(data),
        at,
    }))
}

/// The same failure, as one that is about the values that were given; data stays as it is.
pub fn refuse(value: Value) -> Value {
    match value {
        Value::Failure(failure) => Value::Failure(Rc::new(Failure {
            kind: FailureKind::Refused,
            ..Failure::clone(&failure)
        })),
        data => data,
    }
}

/// How a branch ended.
struct Ended {
    label: Rc<str>,
    failed: bool,
    timed_out: bool,
    code: i64,
}

impl Ended {
    /// `branch` is what is known of the result of one, which has `failed` if it did; null stands for one
    /// whose time was over. `labels` is one text for all, or a list; where there is none, it is the number.
    fn of(number: usize, branch: &Value, labels: &Value) -> Ended {
        let is = |name: &str| matches!(text::field(branch, name), Some(Value::Bool(true)));
        let label = match labels {
            Value::List(labels) => labels.get(number).unwrap_or(&Value::Null),
            one => one,
        };
        let label = match label {
            Value::Text(label) => Rc::clone(label),
            _ => format!("branch {}", number + 1).into(),
        };
        let cut = matches!(branch, Value::Null);
        let failed = cut || is("failed");
        let code = match text::field(branch, "exit_code") {
            _ if !failed => 0,
            Some(Value::Int(code)) if *code != 0 => *code,
            _ => 1,
        };
        Ended {
            label,
            failed,
            timed_out: failed && (cut || is("timed_out")),
            code,
        }
    }

    fn status(&self) -> &'static str {
        match (self.failed, self.timed_out) {
            (false, _) => "done",
            (true, true) => "timeout",
            (true, false) => "failed",
        }
    }

    fn known(&self) -> Value {
        let mut known = Map::default();
        known.insert("label".into(), Value::Text(Rc::clone(&self.label)));
        known.insert("status".into(), Value::text(self.status()));
        known.insert("code".into(), Value::Int(self.code));
        Value::map(known)
    }
}

/// What is known of each branch.
pub fn known(branches: &[Value], labels: &Value) -> Value {
    let branches = branches.iter().enumerate();
    let known = branches.map(|(number, branch)| Ended::of(number, branch, labels).known());
    Value::list(known.collect())
}

/// What branches came to. Gives the text that joins them, as `stdout`, what is known of each, as
/// `branches`, and the code of the first that failed.
pub fn report(branches: &Value, labels: &Value) -> Value {
    let none = Vec::new();
    let all = match branches {
        Value::List(items) => &**items,
        _ => &none,
    };
    let mut text: Vec<u8> = Vec::new();
    let mut errors = String::new();
    let mut known = Vec::with_capacity(all.len());
    let mut first_code = None;
    let mut late = false;
    for (number, branch) in all.iter().enumerate() {
        let ended = Ended::of(number, branch, labels);
        let (label, status, code) = (&ended.label, ended.status(), ended.code);
        late |= ended.timed_out;
        if ended.failed {
            first_code.get_or_insert(code);
        }
        if number > 0 {
            text.push(b'\n');
        }
        text.extend_from_slice(format!("--- branch: {label} status: {status} ---\n").as_bytes());
        let stderr = text::field(branch, "stderr")
            .map(render)
            .unwrap_or_default();
        if ended.failed {
            text.extend_from_slice(format!("exit: {code}").as_bytes());
            if !stderr.is_empty() {
                text.extend_from_slice(b"\nstderr: ");
                text.extend_from_slice(head(&stderr).as_bytes());
            }
        } else {
            match text::field(branch, "stdout") {
                Some(Value::Bytes(bytes)) => text.extend_from_slice(bytes),
                Some(other) => text.extend_from_slice(render(other).as_bytes()),
                None => {}
            }
        }
        if !stderr.is_empty() {
            if !errors.is_empty() {
                errors.push('\n');
            }
            errors.push_str(&stderr);
        }
        known.push(ended.known());
    }
    let mut map = Map::default();
    map.insert("stdout".into(), Value::Bytes(text.into()));
    map.insert("stderr".into(), Value::text(errors));
    map.insert("exit_code".into(), Value::Int(first_code.unwrap_or(0)));
    map.insert("timed_out".into(), Value::Bool(late));
    map.insert("branches".into(), Value::list(known));
    if let Some(code) = first_code {
        map.insert("failed".into(), Value::Bool(true));
        map.insert("kind".into(), Value::text(FailureKind::NonzeroExit.word()));
        let message = format!("a branch failed with code {code}");
        map.insert("message".into(), Value::text(message));
    }
    Value::map(map)
}

/// The start of a text that is not longer than what is reported.
fn head(text: &str) -> &str {
    let mut units = 0;
    for (at, character) in text.char_indices() {
        units += character.len_utf16();
        if units > REPORTED {
            return text.get(..at).unwrap_or_default();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::from_json;
    use serde_json::json;

    #[test]
    fn zeros_stand_behind_the_sign() {
        assert_eq!(pad(5, 2), "05");
        assert_eq!(pad(-5, 3), "-05");
        assert_eq!(pad(1234, 2), "1234");
        assert_eq!(pad(i64::MIN, 7), "-9223372036854775808");
        assert_eq!(pad(0, 0), "0");
    }

    #[test]
    fn a_value_fits_or_is_refused_by_name() {
        let fits = |value, kind: &str| {
            let wanted = from_json(&json!({"name": "n", "kind": kind, "of": ["a", "b"]}));
            fit(from_json(&value), &wanted).map(|value| text::json_text(&value))
        };
        assert_eq!(fits(json!(" 7 "), "int"), Ok("\"7\"".into()));
        assert_eq!(fits(json!(7.0), "int"), Ok("\"7\"".into()));
        assert_eq!(fits(json!(".5"), "number"), Ok("\".5\"".into()));
        assert_eq!(fits(json!(1e21), "number"), Ok("\"1e+21\"".into()));
        assert_eq!(fits(json!(1e21), "text"), Ok("\"1e+21\"".into()));
        assert_eq!(fits(json!("YES"), "bool"), Ok("true".into()));
        assert_eq!(fits(json!("[1]"), "array"), Ok("[1]".into()));
        assert_eq!(fits(json!("b"), "enum"), Ok("\"b\"".into()));
        assert_eq!(fits(json!(null), "int"), Ok("\"\"".into()));
        assert_eq!(fits(json!(""), "duration"), Ok("0".into()));
        assert_eq!(fits(json!("3"), "count"), Ok("3".into()));
        assert_eq!(fits(json!(" "), "tries"), Ok("1".into()));
        assert_eq!(fits(json!(3.0), "tries"), Ok("3".into()));
        for (value, kind) in [
            (json!(7.5), "int"),
            (json!("+7"), "int"),
            (json!("5."), "number"),
            (json!(1), "bool"),
            (json!("a,b"), "array"),
            (json!("c"), "enum"),
            (json!("5s"), "duration"),
            (json!(-1), "duration"),
            (json!(0), "count"),
            (json!(""), "count"),
            (json!(1e30), "count"),
            (json!("2.0"), "tries"),
            (json!(1e16), "duration"),
            (json!("99999999999999999999"), "duration"),
        ] {
            let refused = fits(value.clone(), kind).unwrap_err().1;
            assert!(
                refused.starts_with("`n` must "),
                "{value} {kind}: {refused}"
            );
        }
    }

    #[test]
    fn an_item_is_counted_from_the_start_and_must_be_there() {
        let list = from_json(&json!(["a", "b"]));
        let at = |at| item(&list, &from_json(&at)).map(|value| render(&value).to_string());
        assert_eq!(at(json!(1)), Ok("b".to_string()));
        assert_eq!(at(json!("0")), Ok("a".to_string()));
        for wrong in [
            json!(-1),
            json!(2),
            json!(""),
            json!("+1"),
            json!(true),
            json!(0.5),
        ] {
            assert!(at(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(item(&Value::text("[1]"), &Value::Int(0)).is_err());
    }

    #[test]
    fn a_failure_survives_being_a_map() {
        let map = from_json(&json!({"kind": "timeout", "message": "late", "exit_code": 1}));
        let Value::Failure(failure) = raise(map, 3) else {
            panic!("a failure is raised");
        };
        assert_eq!(failure.kind, FailureKind::Timeout);
        assert_eq!((&*failure.message, failure.at), ("late", 3));
        assert_eq!(text::json_text(&failure.data), r#"{"exit_code":1}"#);
    }

    #[test]
    fn branches_are_reported_in_order_with_their_bytes() {
        let mut odd = Map::default();
        odd.insert("stdout".into(), Value::Bytes(vec![0xff, b'\n'].into()));
        let failed =
            from_json(&json!({"failed": true, "exit_code": 7, "stderr": "é".repeat(1200)}));
        let branches = Value::list(vec![Value::map(odd), failed, Value::Null]);
        let labels = from_json(&json!(["a", "b"]));
        let joined = report(&branches, &labels);
        let Some(Value::Bytes(bytes)) = text::field(&joined, "stdout") else {
            panic!("the report is bytes");
        };
        let mut expected = b"--- branch: a status: done ---\n\xff\n\n".to_vec();
        expected.extend_from_slice(b"--- branch: b status: failed ---\nexit: 7\nstderr: ");
        expected.extend_from_slice("é".repeat(1000).as_bytes());
        expected.extend_from_slice(b"\n--- branch: branch 3 status: timeout ---\nexit: 1");
        assert_eq!(&**bytes, expected.as_slice());
        assert_eq!(
            text::field(&joined, "exit_code").map(render).as_deref(),
            Some("7")
        );
    }
}
