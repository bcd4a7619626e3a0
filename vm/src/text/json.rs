//! Reads one JSON value out of a longer text, without recursion.
//!
//! Says how far the value reaches, and, where it is none, which brackets were open: whoever
//! looks for JSON in prose must not read the same stretch for each of them. Integers that fit
//! into 64 bits are integers; longer ones are text, as a float would have other digits. Of two fields
//! with one name the last wins.

use crate::value::{Map, Value};
use std::rc::Rc;

/// The deepest JSON that is read.
pub(super) const DEEPEST: usize = 128;

/// How reading one JSON value went.
pub(super) enum Read {
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
pub(super) fn read(text: &str, start: usize) -> Read {
    let mut open: Vec<usize> = Vec::new();
    match read_open(text, start, &mut open) {
        Some((Some(value), end)) => Read::Value { value, end },
        Some((None, end)) => Read::TooDeep { end },
        None => Read::Broken { open },
    }
}

fn read_open(text: &str, start: usize, open: &mut Vec<usize>) -> Option<(Option<Value>, usize)> {
    let bytes = text.as_bytes();
    // One for each open bracket; none once it is too deep, when only the brackets matter.
    let mut parts: Vec<Part> = Vec::new();
    let mut too_deep = false;
    let mut at = start;
    loop {
        at = skip_blanks(bytes, at);
        let mut done = match *bytes.get(at)? {
            bracket @ (b'[' | b'{') => {
                open.push(at);
                if open.len() > DEEPEST {
                    too_deep = true;
                    parts.clear();
                }
                at = skip_blanks(bytes, at + 1);
                let part = match (bracket, *bytes.get(at)?) {
                    (b'[', b']') | (b'{', b'}') => None,
                    (b'[', _) => Some(Part::List(Vec::new())),
                    _ => {
                        let (name, end) = read_name(text, at)?;
                        at = end;
                        Some(Part::Map(Map::default(), name))
                    }
                };
                if let Some(part) = part {
                    if !too_deep {
                        parts.push(part);
                    }
                    continue;
                }
                at += 1;
                open.pop();
                if bracket == b'[' {
                    Value::list(Vec::new())
                } else {
                    Value::map(Map::default())
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
        while let Some(bracket) = open.last() {
            match parts.last_mut() {
                Some(Part::List(items)) => items.push(done),
                Some(Part::Map(fields, name)) => {
                    fields.insert(name.clone(), done);
                }
                None => {}
            }
            at = skip_blanks(bytes, at);
            match (bytes[*bracket], *bytes.get(at)?) {
                (b'[', b']') | (b'{', b'}') => at += 1,
                (b'[', b',') => {
                    at += 1;
                    done = Value::Null;
                    break;
                }
                (b'{', b',') => {
                    let (name, end) = read_name(text, skip_blanks(bytes, at + 1))?;
                    at = end;
                    if let Some(Part::Map(_, next)) = parts.last_mut() {
                        *next = name;
                    }
                    done = Value::Null;
                    break;
                }
                _ => return None,
            }
            open.pop();
            done = match parts.pop() {
                Some(Part::List(items)) => Value::list(items),
                Some(Part::Map(fields, _)) => Value::map(fields),
                None => Value::Null,
            };
        }
        if open.is_empty() {
            return Some(((!too_deep).then_some(done), at));
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
    if integer {
        return Some(
            number
                .parse()
                .map_or_else(|_| Value::text(number), Value::Int),
        );
    }
    let float: f64 = number.parse().ok()?;
    float.is_finite().then_some(Value::Float(float))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::from_json;
    use crate::policy::eq_by_type;
    use crate::text::json_text;
    use serde_json::Value as Json;

    fn whole(text: &str) -> Option<Value> {
        match read(text, 0) {
            Read::Value { value, end } if text[end..].trim().is_empty() => Some(value),
            _ => None,
        }
    }

    /// Text that looks like JSON most of the time.
    fn scribble(random: &mut impl FnMut(usize) -> usize, out: &mut String, depth: usize) {
        const LEAVES: [&str; 16] = [
            "0",
            "-0",
            "12",
            "-7.25",
            "1e5",
            "2E-3",
            "true",
            "false",
            "null",
            "\"\"",
            "\"é \\n\"",
            "\"\\ud83d\\ude00\\u00e9\"",
            "9223372036854775807",
            "18446744073709551615",
            "\"\\ud83d\"",
            "01",
        ];
        match random(if depth > 4 { 3 } else { 6 }) {
            0..=2 => out.push_str(LEAVES[random(LEAVES.len())]),
            kind => {
                out.push(if kind == 3 { '{' } else { '[' });
                for at in 0..random(4) {
                    out.push_str(["", ", ", " ,"][usize::from(at > 0) * (1 + random(2))]);
                    if kind == 3 {
                        out.push_str(["\"a\" : ", "\"b\":", "\"\\t\":"][random(3)]);
                    }
                    scribble(random, out, depth + 1);
                }
                out.push_str(
                    [if kind == 3 { "}" } else { "]" }, "\n]"][usize::from(random(30) == 0)],
                );
            }
        }
    }

    #[test]
    fn reading_and_writing_agree_with_serde_json() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % below
        };
        let mut read_well = 0;
        for _ in 0..20_000 {
            let mut text = String::new();
            scribble(&mut random, &mut text, 0);
            let oracle = serde_json::from_str::<Json>(&text).ok();
            let own = whole(&text);
            assert_eq!(own.is_some(), oracle.is_some(), "{text}");
            let (Some(own), Some(oracle)) = (own, oracle) else {
                continue;
            };
            read_well += 1;
            assert!(eq_by_type(&own, &from_json(&oracle)), "{text}");
            let written = json_text(&own);
            let again: Json = serde_json::from_str(&written).expect("what is written is JSON");
            assert!(eq_by_type(&own, &from_json(&again)), "{text}");
            assert_eq!(json_text(&from_json(&again)), written);
        }
        assert!(read_well > 5_000);
    }
}
