//! Values as text, JSON out of text, and paths into values.
//!
//! Reads and writes JSON without recursion: no nesting, in a value or in what a program printed,
//! exhausts the stack, and no text takes more than a few passes. Refuses to know where a text
//! comes from and what happens when there is no JSON in it.

mod json;

use crate::value::Value;
use json::Read;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::rc::Rc;

/// Blanks as the standard of command templates has them.
pub fn is_blank(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}

/// Text as it is; booleans `true` and `false`; the shortest decimal of a number; nothing for
/// null; compact JSON for lists and maps.
pub fn render(value: &Value) -> Rc<str> {
    // Without a limit there is always a text.
    render_within(value, usize::MAX).unwrap_or_default()
}

/// The same, unless it is longer than `most` bytes. A list that holds one list twice, that one
/// again, and so on, is small in memory and endless as text.
pub fn render_within(value: &Value, most: usize) -> Option<Rc<str>> {
    let text: Rc<str> = match value {
        Value::Text(text) => text.clone(),
        Value::Null | Value::Step(_) | Value::Tasks(_) => "".into(),
        Value::Bool(flag) => if *flag { "true" } else { "false" }.into(),
        Value::Int(int) => itoa::Buffer::new().format(*int).into(),
        Value::Float(float) => float_text(*float).into(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into(),
        Value::Failure(failure) => failure.message.clone(),
        Value::List(_) | Value::Map(_) => json_text_within(value, most)?.into(),
    };
    (text.len() <= most).then_some(text)
}

/// Compact JSON, fields in their order, nothing escaped that need not be.
pub fn json_text(value: &Value) -> String {
    json_text_within(value, usize::MAX).unwrap_or_default()
}

/// The same, unless it is longer than `most` bytes.
pub fn json_text_within(value: &Value, most: usize) -> Option<String> {
    let mut out = String::with_capacity(64);
    write_json(value, most, &mut out).then_some(out)
}

/// Add the compact JSON of a value; whether the text is no longer than `most` bytes then. It is cut
/// off anywhere if it would be.
pub fn write_json(value: &Value, most: usize, out: &mut String) -> bool {
    enum Open<'v> {
        List(std::slice::Iter<'v, Value>),
        Map(indexmap::map::Iter<'v, Rc<str>, Value>),
    }
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next.take() {
            match value {
                Value::Null | Value::Step(_) | Value::Tasks(_) => out.push_str("null"),
                Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
                Value::Int(int) => out.push_str(itoa::Buffer::new().format(*int)),
                Value::Float(float) if float.is_finite() => out.push_str(&float_text(*float)),
                Value::Float(_) => out.push_str("null"),
                Value::Text(text) => quote_json(text, out),
                Value::Bytes(bytes) => quote_json(&String::from_utf8_lossy(bytes), out),
                Value::Failure(failure) => {
                    out.push_str("{\"error\":");
                    quote_json(&failure.message, out);
                    out.push('}');
                }
                Value::List(items) => {
                    out.push('[');
                    open.push(Open::List(items.iter()));
                }
                Value::Map(fields) => {
                    out.push('{');
                    open.push(Open::Map(fields.iter()));
                }
            }
        }
        if out.len() > most {
            return false;
        }
        let Some(container) = open.last_mut() else {
            return true;
        };
        // Texts end with a quote, so a bracket at the end is one that was just opened.
        let first = out.ends_with(['[', '{']);
        match container {
            Open::List(items) => match items.next() {
                Some(item) => {
                    if !first {
                        out.push(',');
                    }
                    next = Some(item);
                }
                None => {
                    out.push(']');
                    open.pop();
                }
            },
            Open::Map(fields) => match fields.next() {
                Some((name, field)) => {
                    if !first {
                        out.push(',');
                    }
                    quote_json(name, out);
                    out.push(':');
                    next = Some(field);
                }
                None => {
                    out.push('}');
                    open.pop();
                }
            },
        }
    }
}

/// Writes a text as JSON does.
pub fn quote_json(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    if !text.bytes().any(special) {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(&text[plain..at]);
        plain = at + 1;
        if escape.is_empty() {
            // Writing to a string does not fail.
            write!(out, "\\u{byte:04x}").unwrap_or(());
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

/// A text as a message shows it: as it is, but on one line, with nothing in it that has no shape.
pub fn on_a_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c.is_control() {
            true => shown.extend(c.escape_debug()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// The shortest decimal that reads back as this number: with all its digits up to 1e21, as an
/// exponent past that and below a millionth.
fn float_text(float: f64) -> String {
    let size = float.abs();
    if float.is_nan() {
        "nan".to_owned()
    } else if float == 0.0 {
        // A minus here is a leftover of some computation, never meant.
        "0".to_owned()
    } else if float.is_infinite() || (1e-6..1e21).contains(&size) {
        float.to_string()
    } else {
        format!("{float:e}")
    }
}

/// The integer that this float is, if it is one and fits.
pub fn whole(float: f64) -> Option<i64> {
    const PAST: f64 = 9_223_372_036_854_775_808.0;
    (float.trunc() == float && (-PAST..PAST).contains(&float)).then_some(float as i64)
}

/// What a value is, for messages.
pub fn kind_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::Float(_) => "a number",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "a list",
        Value::Map(_) => "an object",
        Value::Failure(_) => "a failure",
        Value::Step(_) => "a step",
        Value::Tasks(_) => "a set of tasks",
    }
}

/// A field of a map.
pub fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Map(fields) => fields.get(name),
        _ => None,
    }
}

/// An item of a list, from its end for a negative position, or a field of a map. A position may
/// be the text of an integer, a name may be a number; a text has no items.
pub fn index(value: &Value, at: &Value) -> Option<Value> {
    match value {
        Value::List(items) => {
            let at = match at {
                Value::Int(int) => *int,
                Value::Float(float) => whole(*float)?,
                Value::Text(text) => text.trim().parse().ok()?,
                _ => return None,
            };
            let at = if at < 0 {
                items
                    .len()
                    .checked_sub(usize::try_from(at.unsigned_abs()).ok()?)?
            } else {
                usize::try_from(at).ok()?
            };
            items.get(at).cloned()
        }
        Value::Map(fields) => match at {
            Value::Text(name) => fields.get(name).cloned(),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => fields.get(&render(at)).cloned(),
            _ => None,
        },
        _ => None,
    }
}

/// Without blanks around it; a value if all of it is JSON.
pub fn json_or_text(text: &str) -> Value {
    let text = text.trim();
    whole_json(text).unwrap_or_else(|| Value::text(text))
}

/// The JSON in a text: all of it; else what the first fenced block starts with; else the first
/// `{` or `[`, in order of appearance, that begins JSON. Outside of a block of their own `{}` and
/// `[]` are taken only if nothing better follows.
pub fn parse_json(text: &str) -> Option<Value> {
    let text = text.trim();
    whole_json(text)
        .or_else(|| fenced_json(text))
        .or_else(|| first_json(text))
}

fn whole_json(text: &str) -> Option<Value> {
    match json::read(text, 0) {
        Read::Value { value, end } if text[end..].trim().is_empty() => Some(value),
        _ => None,
    }
}

fn fenced_json(text: &str) -> Option<Value> {
    const FENCE: &str = "```";
    let (_, inside) = text.split_once(FENCE)?;
    let inside = match inside.get(..4) {
        Some(word) if word.eq_ignore_ascii_case("json") => &inside[4..],
        _ => inside,
    };
    let inside = inside.trim_start();
    if !inside.starts_with(['{', '[']) {
        let block = inside.split_once(FENCE).map_or(inside, |(block, _)| block);
        return whole_json(block);
    }
    // Read past the closing fence: a string may hold one.
    match json::read(inside, 0) {
        Read::Value { value, end } if is_trivial(&value) => {
            // Before other words, `[]` may be a box to tick.
            let rest = inside[end..].trim_start();
            (rest.is_empty() || rest.starts_with(FENCE)).then_some(value)
        }
        Read::Value { value, .. } => Some(value),
        Read::TooDeep { .. } | Read::Broken { .. } => None,
    }
}

fn is_trivial(value: &Value) -> bool {
    match value {
        Value::List(items) => items.is_empty(),
        Value::Map(fields) => fields.is_empty(),
        _ => false,
    }
}

fn first_json(text: &str) -> Option<Value> {
    let mut trivial = None;
    // Where brackets stood open when a reading broke: what starts there breaks at the same place,
    // and reading it again would take quadratic time.
    let mut broken: Vec<bool> = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(['{', '[']) {
        at += found;
        if broken.get(at) == Some(&true) {
            at += 1;
            continue;
        }
        match json::read(text, at) {
            Read::Value { value, end } if is_trivial(&value) => {
                trivial.get_or_insert(value);
                at = end;
            }
            Read::Value { value, .. } => return Some(value),
            Read::TooDeep { end } => at = end,
            Read::Broken { open } => {
                broken.resize(text.len(), false);
                for bracket in open {
                    broken[bracket] = true;
                }
                at += 1;
            }
        }
    }
    trivial
}

#[cfg(test)]
mod tests {
    use super::json::DEEPEST;
    use super::*;
    use crate::convert::{from_json, to_json};
    use serde_json::{Value as Json, json};

    fn value(json: Json) -> Value {
        from_json(&json)
    }

    fn found(text: &str) -> Option<Json> {
        parse_json(text).map(|value| to_json(&value))
    }

    #[test]
    fn scalars_render_as_people_write_them() {
        let cases: [(Value, &str); 14] = [
            (Value::Null, ""),
            (Value::Bool(true), "true"),
            (Value::Int(i64::MIN), "-9223372036854775808"),
            (Value::Float(1000.0), "1000"),
            (Value::Float(0.5), "0.5"),
            (Value::Float(1.1), "1.1"),
            (Value::Float(-0.0), "0"),
            (Value::Float(1e20), "100000000000000000000"),
            (Value::Float(1e21), "1e21"),
            (Value::Float(-1.5e300), "-1.5e300"),
            (Value::Float(0.000001), "0.000001"),
            (Value::Float(1e-7), "1e-7"),
            (Value::Float(f64::NAN), "nan"),
            (Value::Bytes(Rc::from(&b"a\xffb"[..])), "a\u{fffd}b"),
        ];
        for (value, text) in cases {
            assert_eq!(&*render(&value), text);
        }
        let nested = value(json!([1, "é\n\u{1}", null, {"b": true, "a": [1.0]}]));
        assert_eq!(
            &*render(&nested),
            "[1,\"é\\n\\u0001\",null,{\"b\":true,\"a\":[1]}]"
        );
        assert_eq!(
            json_text(&Value::list(vec![Value::Float(f64::INFINITY)])),
            "[null]"
        );
        assert_eq!(json_text(&Value::text("q\"")), "\"q\\\"\"");
    }

    #[test]
    fn messages_show_a_text_as_it_is_on_one_line() {
        for (text, shown) in [
            ("it's \"so\" \\", "it's \"so\" \\"),
            ("a\nb\t\u{1b}[1m", "a\\nb\\t\\u{1b}[1m"),
            ("nai\u{308}ve", "nai\u{308}ve"),
        ] {
            assert_eq!(on_a_line(text), shown);
        }
    }

    #[test]
    fn text_that_grows_without_end_is_stopped() {
        let mut doubled = Value::list(Vec::new());
        for _ in 0..60 {
            doubled = Value::list(vec![doubled.clone(), doubled]);
        }
        assert!(render_within(&doubled, 1 << 20).is_none());
        assert!(render_within(&Value::text("abc"), 2).is_none());
        assert!(render_within(&Value::text("abc"), 3).is_some());
    }

    #[test]
    fn json_is_found_in_what_programs_print() {
        let fenced = "Here [1]:\n```json\n{\"a\": {\"b\": \"``` no end\"}}\n```\nbye";
        let cases: [(&str, Json); 22] = [
            (" [1,2]\n", json!([1, 2])),
            ("42", json!(42)),
            ("\"q\"", json!("q")),
            ("{}", json!({})),
            (fenced, json!({"a": {"b": "``` no end"}})),
            ("x\n```\n{\"k\": [1, 2]}\n```\nz", json!({"k": [1, 2]})),
            ("x [7]\n```JSON\n\"s\"\n``` y", json!("s")),
            ("x [7]\n```json\n{\"a\":1} and more\n```", json!({"a": 1})),
            ("```python\nx=[9]\n```\nthen {\"a\":2}", json!([9])),
            (
                "```\nnot json\n```\n```json\n{\"a\":1}\n```",
                json!({"a": 1}),
            ),
            ("found {} and then {\"a\":1}", json!({"a": 1})),
            ("found [] and {} only", json!([])),
            ("```json\n{}\n``` later [3]", json!({})),
            ("none:\n```\n[]\n```\nelse {\"a\":1}", json!([])),
            ("none [1]:\n``` []", json!([])),
            ("```\n[] to do {\"a\":1}\n```", json!({"a": 1})),
            ("{\"a\":1} {\"b\":2}", json!({"a": 1})),
            ("broken {\"a\": } then [3]", json!([3])),
            ("list: [1, {\"a\": 2}] end", json!([1, {"a": 2}])),
            ("{'a': [4]}", json!([4])),
            ("[\"open {\\\"a\\\": [5] }", json!([5])),
            ("see {\"a\": 1, \"a\": 2}.", json!({"a": 2})),
        ];
        for (text, expected) in cases {
            assert_eq!(found(text), Some(expected), "{text}");
        }
        for text in [
            "", " \n", "plain", "{'a': 1}", "```\n```", "1 2", "007", "[1,]", "{\"a\":1",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn a_text_is_a_value_only_if_all_of_it_is_json() {
        for (text, expected) in [
            (" 1.10\n", json!(1.1)),
            ("12e3", json!(12000)),
            ("null", Json::Null),
            ("9007199254740993", json!(9_007_199_254_740_993_i64)),
            ("007", json!("007")),
            ("True", json!("True")),
            (" 1 2 ", json!("1 2")),
            ("x {\"a\":1}", json!("x {\"a\":1}")),
            ("1e999", json!("1e999")),
        ] {
            assert_eq!(to_json(&json_or_text(text)), expected, "{text}");
        }
    }

    #[test]
    fn no_nesting_is_too_deep_and_no_text_too_long() {
        let deep = |depth: usize| "[".repeat(depth) + "1" + &"]".repeat(depth);
        assert!(parse_json(&deep(DEEPEST)).is_some());
        assert!(parse_json(&deep(DEEPEST + 1)).is_none());
        let after = deep(1_000_000) + " then [3]";
        assert_eq!(found(&after), Some(json!([3])));
        let million = 1_000_000;
        for part in [
            "[",
            "{",
            "{\"a\":",
            "[\"",
            "[[],",
            "[\"[x\",",
            "[1,\"{\\\"",
            "{\"a\":[{},",
        ] {
            let text = part.repeat(million / part.len());
            let trivial = part.contains("[]") || part.contains("{}");
            assert_eq!(parse_json(&text).is_some(), trivial, "{part}");
        }
        let mut nested = Value::Null;
        for _ in 0..2_000 {
            nested = Value::list(vec![nested]);
        }
        assert_eq!(json_text(&nested).len(), 4_004);
    }

    #[test]
    fn items_are_found_from_both_ends() {
        let list = value(json!(["a", "b"]));
        let at = |at: Json| index(&list, &value(at)).map(|item| to_json(&item));
        assert_eq!(at(json!(0)), Some(json!("a")));
        assert_eq!(at(json!(-1)), Some(json!("b")));
        assert_eq!(at(json!(" 1\n")), Some(json!("b")));
        for missing in [
            json!(2),
            json!(-3),
            json!(i64::MIN),
            json!("x"),
            json!(0.5),
            json!(null),
        ] {
            assert_eq!(at(missing), None);
        }
        let map = value(json!({"1": "x", "k": null}));
        assert!(index(&map, &Value::Int(1)).is_some());
        assert!(index(&map, &Value::text("k")).is_some());
        assert!(index(&Value::text("abc"), &Value::Int(0)).is_none());
        assert!(field(&map, "k").is_some() && field(&list, "0").is_none());
    }
}
