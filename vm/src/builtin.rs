//! The functions and methods of the condition language.
//!
//! Lengths and positions are in characters. A receiver or argument that should be text is rendered
//! to text; a list or an object as the receiver of a text method is a failure. Knows nothing of
//! names and syntax, and counts its arguments itself, because a plan may come from anybody.

use crate::fault::FailureKind;
use crate::isa::Builtin;
use crate::policy::{self, Number};
use crate::text;
use crate::value::Value;
use std::cmp::Ordering;
use std::rc::Rc;

/// The longest text a builtin makes. Two texts of a megabyte can ask for a terabyte, and the
/// machine can charge for a text only once it is there.
const LONGEST: usize = 64 << 20;

type Outcome = Result<Value, (FailureKind, String)>;

pub fn call(builtin: Builtin, arguments: &[Value]) -> Outcome {
    let info = builtin.info();
    if !(usize::from(info.least)..=usize::from(info.most)).contains(&arguments.len()) {
        return Err((
            FailureKind::WrongType,
            format!("`{}` was given {} values", info.name, arguments.len()),
        ));
    }
    for argument in arguments {
        if let Value::Failure(failure) = argument {
            return Err((failure.kind, failure.message.to_string()));
        }
    }
    let first = &arguments[0];
    match builtin {
        Builtin::Int => int(first),
        Builtin::Str => Ok(Value::Text(rendered(first)?)),
        Builtin::Len => Ok(len(first)),
        Builtin::Float => float(first),
        Builtin::Min => extreme(builtin, arguments, Ordering::Less),
        Builtin::Max => extreme(builtin, arguments, Ordering::Greater),
        Builtin::Strip
        | Builtin::LStrip
        | Builtin::RStrip
        | Builtin::Lower
        | Builtin::Upper
        | Builtin::Title
        | Builtin::StartsWith
        | Builtin::EndsWith
        | Builtin::Replace
        | Builtin::Split
        | Builtin::Join
        | Builtin::Count
        | Builtin::Find => method(builtin, first, &arguments[1..]),
    }
}

fn method(builtin: Builtin, receiver: &Value, arguments: &[Value]) -> Outcome {
    if let Value::List(_) | Value::Map(_) = receiver {
        return Err((
            FailureKind::WrongType,
            format!(
                "`{}` needs text, not {}",
                builtin.info().name,
                text::kind_word(receiver)
            ),
        ));
    }
    let own = rendered(receiver)?;
    let argument = |at: usize| arguments.get(at).map_or(Ok("".into()), rendered);
    match builtin {
        Builtin::Strip => Ok(Value::text(own.trim())),
        Builtin::LStrip => Ok(Value::text(own.trim_start())),
        Builtin::RStrip => Ok(Value::text(own.trim_end())),
        Builtin::Lower => Ok(Value::text(own.to_lowercase())),
        Builtin::Upper => Ok(Value::text(own.to_uppercase())),
        Builtin::Title => Ok(Value::text(title(&own))),
        Builtin::StartsWith => Ok(Value::Bool(own.starts_with(&*argument(0)?))),
        Builtin::EndsWith => Ok(Value::Bool(own.ends_with(&*argument(0)?))),
        Builtin::Replace => replace(&own, &argument(0)?, &argument(1)?),
        Builtin::Split => split(&own, arguments.first()),
        Builtin::Join => join(&own, arguments.first().unwrap_or(&Value::Null)),
        Builtin::Count => Ok(number_of(own.matches(&*argument(0)?).count())),
        Builtin::Find => Ok(match own.find(&*argument(0)?) {
            Some(at) => number_of(own[..at].chars().count()),
            None => Value::Int(-1),
        }),
        // Not methods; `call` does not send them here.
        Builtin::Int
        | Builtin::Str
        | Builtin::Len
        | Builtin::Float
        | Builtin::Min
        | Builtin::Max => Ok(Value::Null),
    }
}

fn number_of(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

fn rendered(value: &Value) -> Result<Rc<str>, (FailureKind, String)> {
    text::render_within(value, LONGEST).ok_or_else(too_long)
}

fn too_long() -> (FailureKind, String) {
    (
        FailureKind::Overflow,
        format!("the text would be longer than {} MiB", LONGEST >> 20),
    )
}

fn not_a_number(value: &Value) -> (FailureKind, String) {
    match value {
        Value::Text(text) => {
            let shown: String = text.chars().take(40).collect();
            let more = if shown.len() < text.len() { "…" } else { "" };
            (
                FailureKind::NotANumber,
                format!("`{}{more}` is not a number", text::on_a_line(&shown)),
            )
        }
        _ => (
            FailureKind::WrongType,
            format!("{} is not a number", text::kind_word(value)),
        ),
    }
}

/// A value as a number: null is 0, true is 1, text must be the text of one.
fn numeric(value: &Value) -> Option<Number> {
    match value {
        Value::Null => Some(Number::Int(0)),
        Value::Bool(flag) => Some(Number::Int((*flag).into())),
        Value::Int(int) => Some(Number::Int(*int)),
        Value::Float(float) => Some(Number::Float(*float)),
        Value::Text(text) => policy::number_with_underscores(text),
        Value::Bytes(bytes) => policy::number_with_underscores(&String::from_utf8_lossy(bytes)),
        Value::List(_) | Value::Map(_) | Value::Failure(_) | Value::Step(_) | Value::Tasks(_) => {
            None
        }
    }
}

fn int(value: &Value) -> Outcome {
    match numeric(value) {
        Some(Number::Int(int)) => Ok(Value::Int(int)),
        Some(Number::Float(float)) if float.is_nan() => Err((
            FailureKind::NotANumber,
            "`nan` cannot be an integer".to_owned(),
        )),
        Some(number) => text::whole(number.to_float().trunc())
            .filter(|_| matches!(number, Number::Float(_)))
            .map(Value::Int)
            .ok_or_else(|| {
                (
                    FailureKind::Overflow,
                    "the number does not fit an integer of 64 bits".to_owned(),
                )
            }),
        None => Err(not_a_number(value)),
    }
}

fn float(value: &Value) -> Outcome {
    numeric(value)
        .map(|number| Value::Float(number.to_float()))
        .ok_or_else(|| not_a_number(value))
}

fn len(value: &Value) -> Value {
    match value {
        Value::Text(text) => number_of(text.chars().count()),
        Value::Bytes(bytes) => number_of(String::from_utf8_lossy(bytes).chars().count()),
        Value::List(items) => number_of(items.len()),
        Value::Map(fields) => number_of(fields.len()),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Failure(_)
        | Value::Step(_)
        | Value::Tasks(_) => Value::Int(0),
    }
}

/// The first of the arguments that no other precedes: as numbers, and then a number, if all are
/// or look like numbers, else by their texts, and then as it was given.
fn extreme(builtin: Builtin, arguments: &[Value], better: Ordering) -> Outcome {
    if let Some(value) = arguments
        .iter()
        .find(|value| matches!(value, Value::List(_) | Value::Map(_)))
    {
        return Err((
            FailureKind::WrongType,
            format!(
                "`{}` cannot compare {}",
                builtin.info().name,
                text::kind_word(value)
            ),
        ));
    }
    if let Some(numbers) = arguments.iter().map(numeric).collect::<Option<Vec<_>>>() {
        let best = numbers.iter().reduce(|best, number| {
            if number.compare(best) == Some(better) {
                number
            } else {
                best
            }
        });
        return Ok(best.map_or(Value::Null, Number::to_value));
    }
    let best = arguments.iter().reduce(|best, value| {
        if text::render(value).cmp(&text::render(best)) == better {
            value
        } else {
            best
        }
    });
    Ok(best.cloned().unwrap_or(Value::Null))
}

/// Words begin after blanks, so that `it's` stays one.
fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut inside = false;
    for character in text.chars() {
        if character.is_whitespace() {
            inside = false;
            out.push(character);
        } else if inside {
            out.extend(character.to_lowercase());
        } else {
            inside = true;
            out.extend(character.to_uppercase());
        }
    }
    out
}

fn replace(text: &str, from: &str, to: &str) -> Outcome {
    if to.len() > from.len() {
        let more = text.matches(from).count().saturating_mul(to.len());
        if more.saturating_add(text.len()) > LONGEST {
            return Err(too_long());
        }
    }
    Ok(Value::text(text.replace(from, to)))
}

fn split(text: &str, at: Option<&Value>) -> Outcome {
    let parts = match at {
        None | Some(Value::Null) => text.split_whitespace().map(Value::text).collect(),
        Some(at) => {
            let at = rendered(at)?;
            if at.is_empty() {
                return Err((
                    FailureKind::WrongType,
                    "`split` needs a text to split at, not an empty one".to_owned(),
                ));
            }
            text.split(&*at).map(Value::text).collect()
        }
    };
    Ok(Value::list(parts))
}

fn join(between: &str, items: &Value) -> Outcome {
    let Value::List(items) = items else {
        return Err((
            FailureKind::WrongType,
            format!("`join` needs a list, not {}", text::kind_word(items)),
        ));
    };
    let mut out = String::new();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push_str(between);
        }
        out.push_str(&rendered(item)?);
        if out.len() > LONGEST {
            return Err(too_long());
        }
    }
    Ok(Value::text(out))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::{from_json, to_json};
    use crate::isa::BUILTINS;
    use serde_json::{Value as Json, json};

    fn run(name: &str, arguments: Json) -> Result<Json, FailureKind> {
        let info = BUILTINS
            .iter()
            .find(|info| info.name == name)
            .expect("a builtin of that name");
        let Value::List(arguments) = from_json(&arguments) else {
            panic!("arguments are a list");
        };
        match call(info.builtin, &arguments) {
            Ok(value) => Ok(to_json(&value)),
            Err((kind, _)) => Err(kind),
        }
    }

    #[test]
    fn functions_give_what_python_would() {
        let cases: [(&str, Json, Json); 31] = [
            ("int", json!([5]), json!(5)),
            ("int", json!([3.7]), json!(3)),
            ("int", json!([-3.7]), json!(-3)),
            ("int", json!(["3.7"]), json!(3)),
            ("int", json!([" -5\n"]), json!(-5)),
            ("int", json!(["1e3"]), json!(1000)),
            ("int", json!([null]), json!(0)),
            ("int", json!([true]), json!(1)),
            ("int", json!([i64::MIN]), json!(i64::MIN)),
            ("str", json!([42]), json!("42")),
            ("str", json!([42.0]), json!("42")),
            ("str", json!([null]), json!("")),
            ("str", json!([{"a": 1}]), json!("{\"a\":1}")),
            ("len", json!(["éb"]), json!(2)),
            ("len", json!([[1, 2]]), json!(2)),
            ("len", json!([{"a": 1, "b": 2}]), json!(2)),
            ("len", json!([12345]), json!(0)),
            ("len", json!([true]), json!(0)),
            ("len", json!([null]), json!(0)),
            ("float", json!(["2.5"]), json!(2.5)),
            ("float", json!(["1e3"]), json!(1000)),
            ("float", json!([null]), json!(0)),
            ("min", json!(["1", 2]), json!(1)),
            ("min", json!([3, 1, 2]), json!(1)),
            ("min", json!([1.5, 2]), json!(1.5)),
            ("max", json!([7, 3]), json!(7)),
            ("max", json!(["9", "10"]), json!(10)),
            (
                "max",
                json!([9_007_199_254_740_993_i64, 9_007_199_254_740_992_i64]),
                json!(9_007_199_254_740_993_i64),
            ),
            ("min", json!(["b", "a"]), json!("a")),
            ("max", json!(["b", 2]), json!("b")),
            ("min", json!(["b", 2]), json!(2)),
        ];
        for (name, arguments, expected) in cases {
            assert_eq!(
                run(name, arguments.clone()),
                Ok(expected),
                "{name}{arguments}"
            );
        }
    }

    #[test]
    fn methods_work_on_the_text_of_a_value() {
        let cases: [(&str, Json, Json); 31] = [
            ("strip", json!([7]), json!("7")),
            ("strip", json!([" a\n"]), json!("a")),
            ("lstrip", json!(["  a "]), json!("a ")),
            ("rstrip", json!(["  a "]), json!("  a")),
            ("lower", json!(["YES"]), json!("yes")),
            ("upper", json!(["ab"]), json!("AB")),
            ("upper", json!([true]), json!("TRUE")),
            ("lower", json!([null]), json!("")),
            (
                "title",
                json!(["hello wORLD it's"]),
                json!("Hello World It's"),
            ),
            ("title", json!(["a   b"]), json!("A   B")),
            ("startswith", json!(["abc", "ab"]), json!(true)),
            ("startswith", json!(["abc", 1]), json!(false)),
            ("startswith", json!([42, 4]), json!(true)),
            ("endswith", json!(["abc", "bc"]), json!(true)),
            ("replace", json!(["aba", "a", "b"]), json!("bbb")),
            ("replace", json!(["ab", "", "-"]), json!("-a-b-")),
            ("replace", json!(["a1", 1, null]), json!("a")),
            ("split", json!(["a,b,", ","]), json!(["a", "b", ""])),
            ("split", json!([" a  b\n"]), json!(["a", "b"])),
            ("split", json!([""]), json!([])),
            ("split", json!(["", ","]), json!([""])),
            ("split", json!(["a b", null]), json!(["a", "b"])),
            ("join", json!([", ", ["a", "b"]]), json!("a, b")),
            (
                "join",
                json!(["-", ["a", 1, true, null, "z"]]),
                json!("a-1-true--z"),
            ),
            ("join", json!(["-", []]), json!("")),
            ("count", json!(["banana", "a"]), json!(3)),
            ("count", json!(["aaa", "aa"]), json!(1)),
            ("count", json!(["éb", ""]), json!(3)),
            ("find", json!(["éb", "b"]), json!(1)),
            ("find", json!(["abc", "zz"]), json!(-1)),
            ("find", json!(["abc", ""]), json!(0)),
        ];
        for (name, arguments, expected) in cases {
            assert_eq!(
                run(name, arguments.clone()),
                Ok(expected),
                "{name}{arguments}"
            );
        }
    }

    #[test]
    fn what_cannot_be_done_is_a_failure() {
        use FailureKind::{NotANumber, Overflow, WrongType};
        let cases: [(&str, Json, FailureKind); 15] = [
            ("int", json!(["abc"]), NotANumber),
            ("int", json!([""]), NotANumber),
            ("int", json!(["nan"]), NotANumber),
            ("int", json!(["inf"]), Overflow),
            ("int", json!([1e30]), Overflow),
            ("int", json!(["99999999999999999999"]), Overflow),
            ("int", json!([[1]]), WrongType),
            ("float", json!(["x"]), NotANumber),
            ("float", json!([{}]), WrongType),
            ("max", json!([1, []]), WrongType),
            ("lower", json!([{"a": 1}]), WrongType),
            ("count", json!([["a"], "a"]), WrongType),
            ("join", json!([",", "abc"]), WrongType),
            ("split", json!(["abc", ""]), WrongType),
            ("replace", json!(["abc", "a"]), WrongType),
        ];
        for (name, arguments, expected) in cases {
            assert_eq!(
                run(name, arguments.clone()),
                Err(expected),
                "{name}{arguments}"
            );
        }
        let long = json!("x".repeat(1 << 20));
        assert_eq!(run("replace", json!([long, "", long])), Err(Overflow));
        let commas = json!(vec![""; 1000]);
        assert_eq!(run("join", json!([long, commas])), Err(Overflow));
    }

    #[test]
    fn no_value_and_no_number_of_values_panics() {
        let values: Vec<Value> = [
            json!(null),
            json!(true),
            json!(i64::MIN),
            json!(1e300),
            json!("é\u{0}"),
            json!([[]]),
            json!({"a": 1}),
        ]
        .iter()
        .map(from_json)
        .chain([
            Value::Float(f64::NAN),
            Value::Bytes(Rc::from(&b"\xff"[..])),
            Value::Step(1),
        ])
        .collect();
        for info in BUILTINS {
            assert!(call(info.builtin, &[]).is_err());
            for a in &values {
                for b in &values {
                    for arguments in [
                        &[a.clone()][..],
                        &[a.clone(), b.clone()],
                        &[a.clone(), b.clone(), a.clone()],
                    ] {
                        let _ = call(info.builtin, arguments);
                    }
                }
            }
        }
    }
}
