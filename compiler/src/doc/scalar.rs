//! What a scalar means under a schema.
//!
//! YAML 1.1 is what PyYAML's `safe_load` makes of a scalar, YAML 1.2 what `serde_yaml` does (the
//! core schema, but `007` stays text). Dates are left as the text that was written.

use super::node::{Kind, Node, Scalar, Style};
use serde_json::{Map, Number, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    Yaml11,
    Yaml12,
    Json,
}

/// A resolved scalar. An integer beyond 64 bits is a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plain {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// The scalar's own text.
    Text,
}

pub fn resolve(scalar: &Scalar<'_>, schema: Schema) -> Plain {
    let text = scalar.text;
    match scalar.tag {
        Some("!!str" | "!") => Plain::Text,
        Some("!!null") => Plain::Null,
        Some("!!float") => match untagged(text, schema) {
            Plain::Int(int) => Plain::Float(int as f64),
            plain => plain,
        },
        Some("!!int" | "!!bool") => untagged(text, schema),
        _ if scalar.style == Style::Plain => untagged(text, schema),
        _ => Plain::Text,
    }
}

/// Whether a scalar resolves to nothing, which most are too long for.
pub fn is_null(scalar: &Scalar<'_>, schema: Schema) -> bool {
    (scalar.text.len() <= "null".len() || scalar.tag.is_some())
        && resolve(scalar, schema) == Plain::Null
}

/// Whether YAML 1.1 and YAML 1.2 give the scalar different values.
pub fn differs(scalar: &Scalar<'_>) -> bool {
    if scalar.style != Style::Plain || scalar.tag.is_some() {
        return false;
    }
    match (
        resolve(scalar, Schema::Yaml11),
        resolve(scalar, Schema::Yaml12),
    ) {
        (Plain::Float(a), Plain::Float(b)) => a != b && !(a.is_nan() && b.is_nan()),
        (a, b) => a != b,
    }
}

/// The value as JSON, keys in the order of the file. Broken nodes are null, and keys that are no
/// text are their text as far as they have one.
pub fn to_json(node: Node<'_>, schema: Schema) -> Value {
    match node.kind {
        Kind::Broken => Value::Null,
        Kind::List(items) => items.iter().map(|item| to_json(*item, schema)).collect(),
        Kind::Map(entries) => {
            let mut map = Map::new();
            for entry in entries {
                if let Some(name) = entry.name() {
                    map.insert(name.to_owned(), to_json(entry.value, schema));
                }
            }
            Value::Object(map)
        }
        Kind::Scalar(scalar) => match resolve(scalar, schema) {
            Plain::Null => Value::Null,
            Plain::Bool(value) => Value::Bool(value),
            Plain::Int(value) => Value::Number(value.into()),
            Plain::Float(value) => match scalar.text.parse::<u64>() {
                Ok(whole) => Value::Number(whole.into()),
                // JSON has no infinity; its text says more than null would.
                Err(_) => Number::from_f64(value)
                    .map_or_else(|| Value::String(scalar.text.to_owned()), Value::Number),
            },
            Plain::Text => Value::String(scalar.text.to_owned()),
        },
    }
}

fn untagged(text: &str, schema: Schema) -> Plain {
    match schema {
        Schema::Yaml11 => yaml11(text),
        Schema::Yaml12 => yaml12(text),
        Schema::Json => json(text),
    }
}

fn json(text: &str) -> Plain {
    match text {
        "null" => Plain::Null,
        "true" => Plain::Bool(true),
        "false" => Plain::Bool(false),
        _ if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => Plain::Text,
        _ => match text.parse() {
            // JSON keeps the sign of zero, which no integer can.
            Ok(0) if text.starts_with('-') => Plain::Float(-0.0),
            Ok(int) => Plain::Int(int),
            Err(_) => text.parse().map_or(Plain::Text, Plain::Float),
        },
    }
}

fn yaml12(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Plain::Null,
        "true" | "True" | "TRUE" => return Plain::Bool(true),
        "false" | "False" | "FALSE" => return Plain::Bool(false),
        _ => {}
    }
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Plain::Text;
    }
    let (negative, digits) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.starts_with(['+', '-']) {
        return Plain::Text;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = digits.strip_prefix(prefix) {
            return based(digits, radix, negative);
        }
    }
    if digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Plain::Text;
    }
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return based(digits, 10, negative);
    }
    let sign = if negative { -1.0 } else { 1.0 };
    match digits {
        ".inf" | ".Inf" | ".INF" => return Plain::Float(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if digits.len() == text.len() => return Plain::Float(f64::NAN),
        _ => {}
    }
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Plain::Float(sign * value),
        _ => Plain::Text,
    }
}

fn yaml11(text: &str) -> Plain {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Plain::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => {
            return Plain::Bool(true);
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => {
            return Plain::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Plain::Float(f64::NAN),
        _ => {}
    }
    let (signed, negative, digits) = match text.as_bytes()[0] {
        b'-' => (true, true, &text[1..]),
        b'+' => (true, false, &text[1..]),
        _ => (false, false, text),
    };
    let sign = if negative { -1.0 } else { 1.0 };
    if matches!(digits, ".inf" | ".Inf" | ".INF") {
        return Plain::Float(sign * f64::INFINITY);
    }
    // A fraction without a whole part takes no sign in YAML 1.1 as PyYAML reads it.
    let fraction = !signed && digits.len() > 1 && digits.starts_with('.');
    let starts = digits.as_bytes().first().copied().unwrap_or(b' ');
    let numeric = starts.is_ascii_digit() || fraction && digits.as_bytes()[1].is_ascii_digit();
    if !numeric {
        return Plain::Text;
    }
    let bare: String = digits.chars().filter(|c| *c != '_').collect();
    if let Some(value) = float11(digits, &bare) {
        return Plain::Float(sign * value);
    }
    int11(digits, &bare, negative)
}

fn of(text: &str, allowed: impl Fn(u8) -> bool) -> bool {
    text.bytes().all(|byte| byte == b'_' || allowed(byte))
}

fn float11(digits: &str, bare: &str) -> Option<f64> {
    let (head, tail) = digits.split_once('.')?;
    if let Some((first, rest)) = head.split_once(':') {
        let groups = of(first, |b| b.is_ascii_digit()) && rest.split(':').all(sixtieth);
        return (groups && of(tail, |b| b.is_ascii_digit())).then(|| {
            bare.split(':')
                .fold(0.0, |sum, part| sum * 60.0 + part.parse().unwrap_or(0.0))
        });
    }
    let (fraction, exponent) = match tail.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(exponent)),
        None => (tail, None),
    };
    let exponent = exponent.is_none_or(|exponent| {
        let power = exponent.strip_prefix(['-', '+']).unwrap_or("");
        !power.is_empty() && power.bytes().all(|b| b.is_ascii_digit())
    });
    let digit = |b: u8| b.is_ascii_digit();
    (exponent && of(head, digit) && of(fraction, digit)).then(|| bare.parse().ok())?
}

fn int11(digits: &str, bare: &str, negative: bool) -> Plain {
    let after = |prefix: &str| digits.strip_prefix(prefix);
    if let Some(rest) = after("0b") {
        return match of(rest, |b| matches!(b, b'0' | b'1')) {
            true => based(&bare[2..], 2, negative),
            false => Plain::Text,
        };
    }
    if let Some(rest) = after("0x") {
        return match of(rest, |b| b.is_ascii_hexdigit()) {
            true => based(&bare[2..], 16, negative),
            false => Plain::Text,
        };
    }
    if let Some(rest) = after("0") {
        return match of(rest, |b| (b'0'..=b'7').contains(&b)) {
            true => based(bare, 8, negative),
            false => Plain::Text,
        };
    }
    if let Some((first, rest)) = digits.split_once(':') {
        if !of(first, |b| b.is_ascii_digit()) || !rest.split(':').all(sixtieth) {
            return Plain::Text;
        }
        let value = bare.split(':').try_fold(0i64, |sum, part| {
            sum.checked_mul(60)?.checked_add(part.parse().ok()?)
        });
        return value.map_or(Plain::Text, |v| Plain::Int(if negative { -v } else { v }));
    }
    match of(digits, |b| b.is_ascii_digit()) {
        true => based(bare, 10, negative),
        false => Plain::Text,
    }
}

/// A group behind a colon: up to 59, in one or two digits.
fn sixtieth(group: &str) -> bool {
    match group.as_bytes() {
        [one] => one.is_ascii_digit(),
        [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
        _ => false,
    }
}

fn based(digits: &str, radix: u32, negative: bool) -> Plain {
    if digits.is_empty() || digits.starts_with(['+', '-']) {
        return Plain::Text;
    }
    match i128::from_str_radix(digits, radix) {
        Ok(value) => {
            let value = if negative { -value } else { value };
            i64::try_from(value).map_or(Plain::Float(value as f64), Plain::Int)
        }
        Err(_) if digits.chars().all(|c| c.is_digit(radix)) => {
            let value = digits.chars().fold(0.0, |sum, c| {
                sum * f64::from(radix) + f64::from(c.to_digit(radix).unwrap_or(0))
            });
            Plain::Float(if negative { -value } else { value })
        }
        Err(_) => Plain::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::trace::Trace;
    use super::*;

    fn plain(text: &str) -> Scalar<'_> {
        Scalar {
            text,
            style: Style::Plain,
            tag: None,
            trace: Trace::Whole,
        }
    }

    #[test]
    fn yaml11_reads_as_pyyaml_does() {
        let cases: &[(&str, Plain)] = &[
            ("yes", Plain::Bool(true)),
            ("Off", Plain::Bool(false)),
            ("yEs", Plain::Text),
            ("y", Plain::Text),
            ("n", Plain::Text),
            ("~", Plain::Null),
            ("", Plain::Null),
            ("010", Plain::Int(8)),
            ("08", Plain::Text),
            ("0", Plain::Int(0)),
            ("-0b11", Plain::Int(-3)),
            ("0x_ff", Plain::Int(255)),
            ("1_000", Plain::Int(1000)),
            ("+12", Plain::Int(12)),
            ("1:30", Plain::Int(90)),
            ("1:60", Plain::Text),
            ("12:30:45", Plain::Int(45045)),
            ("0:30", Plain::Text),
            ("1:30.5", Plain::Float(90.5)),
            ("1e3", Plain::Text),
            ("1.0e3", Plain::Text),
            ("1.0e+3", Plain::Float(1000.0)),
            (".5", Plain::Float(0.5)),
            ("-.5", Plain::Text),
            ("5.", Plain::Float(5.0)),
            (".", Plain::Text),
            ("-", Plain::Text),
            ("-.inf", Plain::Float(f64::NEG_INFINITY)),
            ("0o17", Plain::Text),
            ("2001-12-14", Plain::Text),
            ("1.2.3", Plain::Text),
            ("1_", Plain::Int(1)),
            ("😀", Plain::Text),
        ];
        for (text, expected) in cases {
            assert_eq!(&resolve(&plain(text), Schema::Yaml11), expected, "{text}");
        }
    }

    #[test]
    fn yaml12_reads_as_serde_yaml_does() {
        let alphabet: Vec<char> = "0179-+.exob_:aEfinNFI~".chars().collect();
        let mut words: Vec<String> = vec![
            "null",
            "Null",
            "NULL",
            "true",
            "True",
            "TRUE",
            "yes",
            "on",
            "0o17",
            "0x1F",
            "1e3",
            "007",
            "-.inf",
            "+.inf",
            ".NaN",
            "-.nan",
            "9223372036854775808",
            "1e999",
            "infinity",
        ]
        .into_iter()
        .map(str::to_owned)
        .collect();
        let mut seed = crate::dice::Dice(7);
        for _ in 0..20_000 {
            let length = 1 + seed.below(6);
            words.push((0..length).map(|_| seed.pick(&alphabet)).collect());
        }
        for word in words {
            let Ok(expected) = serde_yaml::from_str::<serde_yaml::Value>(&word) else {
                continue;
            };
            if expected.is_mapping() || expected.is_sequence() {
                continue;
            }
            let ours = resolve(&plain(&word), Schema::Yaml12);
            let same = match (&ours, &expected) {
                (Plain::Null, serde_yaml::Value::Null) => true,
                (Plain::Bool(a), serde_yaml::Value::Bool(b)) => a == b,
                (Plain::Int(a), serde_yaml::Value::Number(b)) => Some(*a) == b.as_i64(),
                (Plain::Float(a), serde_yaml::Value::Number(b)) => {
                    b.as_i64().is_none()
                        && b.as_f64()
                            .is_some_and(|b| *a == b || a.is_nan() && b.is_nan())
                }
                (Plain::Text, serde_yaml::Value::String(text)) => *text == word,
                _ => false,
            };
            assert!(same, "{word}: {ours:?} is not {expected:?}");
        }
    }

    #[test]
    fn difference_of_the_schemas() {
        for text in ["yes", "010", "1_000", "1:30", "1e3", "0o17"] {
            assert!(differs(&plain(text)), "{text}");
        }
        for text in [
            "true",
            "10",
            "1.5",
            "abc",
            ".nan",
            "",
            "2001-12-14",
            "1.0e+3",
        ] {
            assert!(!differs(&plain(text)), "{text}");
        }
    }
}
