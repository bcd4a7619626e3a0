//! Values as text, JSON out of text, and paths into values.
//!
//! Reads and writes JSON without recursion: no nesting, in a value or in what a program printed,
//! exhausts the stack, and no text takes more than a few passes. Refuses to know where a text
//! comes from and what happens when there is no JSON in it.

use crate::value::{Map, Value};
use std::fmt::Write as _;
use std::rc::Rc;

/// The deepest JSON that is read.
const DEEPEST: usize = 128;

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
        Value::Int(int) => int.to_string().into(),
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
    enum Open<'v> {
        List(std::slice::Iter<'v, Value>),
        Map(indexmap::map::Iter<'v, Rc<str>, Value>),
    }
    let mut out = String::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next.take() {
            match value {
                Value::Null | Value::Step(_) | Value::Tasks(_) => out.push_str("null"),
                Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
                // Writing to a string does not fail.
                Value::Int(int) => write!(out, "{int}").unwrap_or(()),
                Value::Float(float) if float.is_finite() => out.push_str(&float_text(*float)),
                Value::Float(_) => out.push_str("null"),
                Value::Text(text) => quote(text, &mut out),
                Value::Bytes(bytes) => quote(&String::from_utf8_lossy(bytes), &mut out),
                Value::Failure(failure) => {
                    out.push_str("{\"error\":");
                    quote(&failure.message, &mut out);
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
            return None;
        }
        let Some(container) = open.last_mut() else {
            return Some(out);
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
                    quote(name, &mut out);
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

fn quote(text: &str, out: &mut String) {
    out.push('"');
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
            write!(out, "\\u{byte:04x}").unwrap_or(());
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
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
/// `{` or `[`, in order of appearance, that begins JSON. `{}` and `[]` are taken only if nothing
/// better follows.
pub fn parse_json(text: &str) -> Option<Value> {
    let text = text.trim();
    whole_json(text)
        .or_else(|| fenced_json(text))
        .or_else(|| first_json(text))
}

fn whole_json(text: &str) -> Option<Value> {
    match read(text, 0) {
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
    let value = if inside.starts_with(['{', '[']) {
        // Read past the closing fence: a string may hold one.
        match read(inside, 0) {
            Read::Value { value, .. } => Some(value),
            Read::TooDeep { .. } | Read::Broken { .. } => None,
        }
    } else {
        let block = inside.split_once(FENCE).map_or(inside, |(block, _)| block);
        whole_json(block)
    };
    value.filter(|value| !is_trivial(value))
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
        match read(text, at) {
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

/// How reading one JSON value went.
enum Read {
    Value {
        value: Value,
        end: usize,
    },
    /// It is JSON, but nobody nests so deep on purpose.
    TooDeep {
        end: usize,
    },
    /// It is not JSON; these brackets were open.
    Broken {
        open: Vec<usize>,
    },
}

/// A bracket that is open, and what it holds so far.
enum Part {
    List(Vec<Value>),
    Map(Map, Rc<str>),
}

/// Reads the JSON value that starts at `start`.
fn read(text: &str, start: usize) -> Read {
    let mut open: Vec<usize> = Vec::new();
    match read_open(text, start, &mut open) {
        Some((Some(value), end)) => Read::Value { value, end },
        Some((None, end)) => Read::TooDeep { end },
        None => Read::Broken { open },
    }
}

fn read_open(text: &str, start: usize, open: &mut Vec<usize>) -> Option<(Option<Value>, usize)> {
    let bytes = text.as_bytes();
    let mut parts: Vec<Part> = Vec::new();
    let mut too_deep = false;
    let mut at = start;
    loop {
        at = skip_blanks(bytes, at);
        let mut done = match *bytes.get(at)? {
            bracket @ (b'[' | b'{') => {
                open.push(at);
                too_deep |= open.len() > DEEPEST;
                at = skip_blanks(bytes, at + 1);
                let is_list = bracket == b'[';
                if *bytes.get(at)? == if is_list { b']' } else { b'}' } {
                    at += 1;
                    open.pop();
                    if is_list {
                        Value::list(Vec::new())
                    } else {
                        Value::map(Map::default())
                    }
                } else {
                    // Past the limit only the brackets matter, not what they hold; and what they
                    // hold must not be nested, or dropping it would exhaust the stack.
                    if is_list {
                        parts.push(Part::List(Vec::new()));
                    } else {
                        let (name, end) = read_name(text, at)?;
                        at = end;
                        parts.push(Part::Map(Map::default(), name));
                    }
                    continue;
                }
            }
            b'"' => {
                let (string, end) = read_string(text, at)?;
                at = end;
                Value::Text(string)
            }
            b't' => word(bytes, &mut at, b"true", Value::Bool(true))?,
            b'f' => word(bytes, &mut at, b"false", Value::Bool(false))?,
            b'n' => word(bytes, &mut at, b"null", Value::Null)?,
            _ => read_number(text, &mut at)?,
        };
        // Puts what is done where it belongs, closing as many brackets as end here.
        loop {
            let Some(part) = parts.last_mut() else {
                return Some(((!too_deep).then_some(done), at));
            };
            if too_deep {
                done = Value::Null;
            }
            at = skip_blanks(bytes, at);
            let byte = *bytes.get(at)?;
            match part {
                Part::List(items) => {
                    items.push(done);
                    if byte == b',' {
                        at += 1;
                        break;
                    }
                    if byte != b']' {
                        return None;
                    }
                    done = Value::list(std::mem::take(items));
                }
                Part::Map(fields, name) => {
                    fields.insert(name.clone(), done);
                    if byte == b',' {
                        (*name, at) = read_name(text, skip_blanks(bytes, at + 1))?;
                        break;
                    }
                    if byte != b'}' {
                        return None;
                    }
                    done = Value::map(std::mem::take(fields));
                }
            }
            at += 1;
            parts.pop();
            open.pop();
        }
    }
}

fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn word(bytes: &[u8], at: &mut usize, word: &[u8], value: Value) -> Option<Value> {
    bytes[*at..].starts_with(word).then(|| {
        *at += word.len();
        value
    })
}

/// A name and its colon.
fn read_name(text: &str, at: usize) -> Option<(Rc<str>, usize)> {
    let (name, end) = read_string(text, at)?;
    let colon = skip_blanks(text.as_bytes(), end);
    (text.as_bytes().get(colon) == Some(&b':')).then_some((name, colon + 1))
}

fn read_string(text: &str, at: usize) -> Option<(Rc<str>, usize)> {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    let mut plain = at;
    let mut decoded = String::new();
    loop {
        match *bytes.get(at)? {
            b'"' if decoded.is_empty() => return Some((text[plain..at].into(), at + 1)),
            b'"' => {
                decoded.push_str(&text[plain..at]);
                return Some((decoded.into(), at + 1));
            }
            b'\\' => {
                decoded.push_str(&text[plain..at]);
                decoded.push(match *bytes.get(at + 1)? {
                    b'"' => '"',
                    b'\\' => '\\',
                    b'/' => '/',
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    b'u' => {
                        let (character, more) = read_unicode(bytes, at + 2)?;
                        at += more;
                        character
                    }
                    _ => return None,
                });
                at += 2;
                plain = at;
            }
            0..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// What follows `\u`: one unit, or two that make a character; and how many bytes it took.
fn read_unicode(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let unit = |at: usize| -> Option<u16> {
        let digits = bytes.get(at..at + 4)?;
        digits.iter().try_fold(0, |unit: u16, digit| {
            let digit = char::from(*digit).to_digit(16)?;
            Some(unit << 4 | u16::try_from(digit).ok()?)
        })
    };
    let first = unit(at)?;
    if let Some(character) = char::from_u32(first.into()) {
        return Some((character, 4));
    }
    if bytes.get(at + 4..at + 6)? != b"\\u" {
        return None;
    }
    let pair = [first, unit(at + 6)?];
    let character = char::decode_utf16(pair).next()?.ok()?;
    Some((character, 10))
}

fn read_number(text: &str, at: &mut usize) -> Option<Value> {
    let bytes = text.as_bytes();
    let start = *at;
    let digits = |at: &mut usize| -> Option<()> {
        let from = *at;
        while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
            *at += 1;
        }
        (*at > from).then_some(())
    };
    if bytes.get(*at) == Some(&b'-') {
        *at += 1;
    }
    let zero = bytes.get(*at) == Some(&b'0');
    let first = *at;
    digits(at)?;
    if zero && *at > first + 1 {
        return None;
    }
    let mut integer = true;
    if bytes.get(*at) == Some(&b'.') {
        integer = false;
        *at += 1;
        digits(at)?;
    }
    if let Some(b'e' | b'E') = bytes.get(*at) {
        integer = false;
        *at += 1;
        if let Some(b'+' | b'-') = bytes.get(*at) {
            *at += 1;
        }
        digits(at)?;
    }
    let number = &text[start..*at];
    if integer && let Ok(int) = number.parse() {
        return Some(Value::Int(int));
    }
    let float: f64 = number.parse().ok()?;
    float.is_finite().then_some(Value::Float(float))
}
