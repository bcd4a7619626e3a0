//! What values mean in a comparison and in a condition, one function per policy.
//!
//! Each policy is an instruction of its own, so nothing here chooses between them and nothing
//! here knows which dialect uses which. No function fails on a value it does not like: what
//! cannot be compared is not equal and has no order.
//!
//! Integers are compared exactly, however long and however deep in a list. Text past the range of
//! an integer is exact against other text; against a float it is rounded first, because numbers of
//! that size reach the machine only as floats, already rounded the same way.

use crate::fault::FailureKind;
use crate::text;
use crate::value::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

/// A number as a comparison sees it.
#[derive(Clone, Debug)]
pub(crate) enum Number {
    Int(i64),
    /// Digits without leading zeros that do not fit an `i64`.
    Big {
        negative: bool,
        digits: String,
    },
    Float(f64),
}

impl Number {
    pub(crate) fn compare(&self, other: &Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(b)),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(b),
            (Number::Int(a), Number::Float(b)) => int_with_float(*a, *b),
            (Number::Float(a), Number::Int(b)) => int_with_float(*b, *a).map(Ordering::reverse),
            (Number::Big { .. }, Number::Float(b)) => self.to_float().partial_cmp(b),
            (Number::Float(a), Number::Big { .. }) => a.partial_cmp(&other.to_float()),
            (Number::Big { negative, .. }, Number::Int(_)) => Some(sign(*negative)),
            (Number::Int(_), Number::Big { negative, .. }) => Some(sign(*negative).reverse()),
            (
                Number::Big { negative, digits },
                Number::Big {
                    negative: other_negative,
                    digits: other_digits,
                },
            ) => {
                let size = digits
                    .len()
                    .cmp(&other_digits.len())
                    .then_with(|| digits.cmp(other_digits));
                Some(match (negative, other_negative) {
                    (false, false) => size,
                    (true, true) => size.reverse(),
                    _ => sign(*negative),
                })
            }
        }
    }

    pub(crate) fn to_float(&self) -> f64 {
        match self {
            Number::Int(int) => *int as f64,
            Number::Float(float) => *float,
            Number::Big { negative, digits } => {
                let size: f64 = digits.parse().unwrap_or(f64::INFINITY);
                if *negative { -size } else { size }
            }
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        match self {
            Number::Int(int) => Value::Int(*int),
            Number::Big { .. } | Number::Float(_) => Value::Float(self.to_float()),
        }
    }
}

fn sign(negative: bool) -> Ordering {
    if negative {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

/// Exact, where `int as f64` would round.
fn int_with_float(int: i64, float: f64) -> Option<Ordering> {
    const PAST: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        None
    } else if float >= PAST {
        Some(Ordering::Less)
    } else if float < -PAST {
        Some(Ordering::Greater)
    } else {
        let whole = float.trunc();
        Some(
            int.cmp(&(whole as i64))
                .then_with(|| 0.0.partial_cmp(&(float - whole)).unwrap_or(Ordering::Equal)),
        )
    }
}

/// A number as Python's `float()` reads it: blanks around it, a sign, `inf`, `nan`, an exponent,
/// and single underscores between digits.
pub(crate) fn number_with_underscores(text: &str) -> Option<Number> {
    let text = text.trim();
    if !text.contains('_') {
        return plain_number(text);
    }
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let well_placed = bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| *byte != b'_' || (at > 0 && digit(at - 1) && digit(at + 1)));
    if well_placed {
        plain_number(&text.replace('_', ""))
    } else {
        None
    }
}

/// A number with blanks around it.
pub(crate) fn number(text: &str) -> Option<Number> {
    plain_number(text.trim())
}

fn plain_number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.is_empty() {
        None
    } else if unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let negative = text.starts_with('-');
        Some(match text.parse() {
            Ok(int) => Number::Int(int),
            Err(_) => Number::Big {
                negative,
                digits: unsigned.trim_start_matches('0').to_owned(),
            },
        })
    } else {
        text.parse().ok().map(Number::Float)
    }
}

fn own_number(value: &Value) -> Option<Number> {
    match value {
        Value::Int(int) => Some(Number::Int(*int)),
        Value::Float(float) => Some(Number::Float(*float)),
        _ => None,
    }
}

fn number_or_text_of_one(value: &Value) -> Option<Number> {
    match value {
        Value::Text(text) => number_with_underscores(text),
        Value::Bytes(bytes) => number_with_underscores(&String::from_utf8_lossy(bytes)),
        _ => own_number(value),
    }
}

fn as_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Text(text) => Some(Cow::Borrowed(text)),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
        _ => None,
    }
}

/// Whether a value is no data at all; such values are equal to nothing.
fn is_no_data(value: &Value) -> bool {
    matches!(value, Value::Failure(_) | Value::Step(_) | Value::Tasks(_))
}

/// Compares two lists or two maps item by item. It keeps its own stack, so that no nesting
/// is too deep for it; `leaf` decides about everything that is not such a pair.
fn eq_nested(first: &Value, second: &Value, leaf: fn(&Value, &Value) -> bool) -> bool {
    let mut pairs = vec![(first, second)];
    while let Some((a, b)) = pairs.pop() {
        match (a, b) {
            (Value::List(a), Value::List(b)) => {
                if a.len() != b.len() {
                    return false;
                }
                pairs.extend(a.iter().zip(b.iter()));
            }
            (Value::Map(a), Value::Map(b)) => {
                if a.len() != b.len() {
                    return false;
                }
                for (name, field) in a.iter() {
                    match b.get(name) {
                        Some(other) => pairs.push((field, other)),
                        None => return false,
                    }
                }
            }
            _ => {
                if !leaf(a, b) {
                    return false;
                }
            }
        }
    }
    true
}

/// Numbers if both are or look like numbers, else text. Null equals only null; lists and maps
/// equal each other item by item, and the text they are rendered to.
pub fn eq_numbers_first(a: &Value, b: &Value) -> bool {
    eq_nested(a, b, |a, b| {
        if is_no_data(a) || is_no_data(b) {
            return false;
        }
        if let (Value::Null, _) | (_, Value::Null) = (a, b) {
            return matches!((a, b), (Value::Null, Value::Null));
        }
        match (number_or_text_of_one(a), number_or_text_of_one(b)) {
            (Some(a), Some(b)) => a.compare(&b) == Some(Ordering::Equal),
            _ => text::render(a) == text::render(b),
        }
    })
}

/// By the same rule; text by its characters. Null has no order.
pub fn order_numbers_first(a: &Value, b: &Value) -> Option<Ordering> {
    if is_no_data(a) || is_no_data(b) {
        return None;
    }
    if let (Value::Null, _) | (_, Value::Null) = (a, b) {
        return None;
    }
    if let (Some(a), Some(b)) = (number_or_text_of_one(a), number_or_text_of_one(b)) {
        return a.compare(&b);
    }
    if eq_numbers_first(a, b) {
        return Some(Ordering::Equal);
    }
    Some(text::render(a).cmp(&text::render(b)))
}

pub fn in_numbers_first(item: &Value, whole: &Value) -> Result<bool, (FailureKind, String)> {
    contains(item, whole, eq_numbers_first)
}

/// Equal within one type; a number equals text that parses to it, a boolean the texts
/// `true True` or `false False`, null only null.
pub fn eq_by_type(a: &Value, b: &Value) -> bool {
    eq_nested(a, b, |a, b| match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Bool(flag), other) | (other, Value::Bool(flag)) => {
            as_text(other).is_some_and(|text| is_text_of(&text, *flag))
        }
        _ => match (as_text(a), as_text(b)) {
            (Some(a), Some(b)) => a == b,
            _ => numbers_by_type(a, b) == Some(Ordering::Equal),
        },
    })
}

fn is_text_of(text: &str, flag: bool) -> bool {
    match text {
        "true" | "True" => flag,
        "false" | "False" => !flag,
        _ => false,
    }
}

/// Two numbers, or one and the text of one. Two texts are no numbers here.
fn numbers_by_type(a: &Value, b: &Value) -> Option<Ordering> {
    match (own_number(a), own_number(b)) {
        (Some(a), Some(b)) => a.compare(&b),
        (Some(a), None) => a.compare(&number(&as_text(b)?)?),
        (None, Some(b)) => number(&as_text(a)?)?.compare(&b),
        (None, None) => None,
    }
}

/// The order of two numbers, of two texts, of a number and text that parses to one, of two
/// booleans, of a boolean and its text, and of a boolean as 0 or 1 and a number.
pub fn order_by_type(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Bool(flag), other) => bool_with(*flag, other),
        (other, Value::Bool(flag)) => bool_with(*flag, other).map(Ordering::reverse),
        _ => match (as_text(a), as_text(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => numbers_by_type(a, b),
        },
    }
}

fn bool_with(flag: bool, other: &Value) -> Option<Ordering> {
    if let Some(text) = as_text(other) {
        // What is equal may not be less: `True` is the text of true, too.
        return Some(if is_text_of(&text, flag) {
            Ordering::Equal
        } else {
            let own = if flag { "true" } else { "false" };
            own.cmp(&text)
        });
    }
    Number::Int(flag.into()).compare(&own_number(other)?)
}

pub fn in_by_type(item: &Value, whole: &Value) -> Result<bool, (FailureKind, String)> {
    contains(item, whole, eq_by_type)
}

/// An item of a list, a part of a text, or a key of a map. Nothing is in anything else, and null
/// is no part of a text: a name that is not set would be in every one.
fn contains(
    item: &Value,
    whole: &Value,
    equal: fn(&Value, &Value) -> bool,
) -> Result<bool, (FailureKind, String)> {
    if let Value::Failure(failure) = item {
        return Err((failure.kind, failure.message.to_string()));
    }
    Ok(match whole {
        Value::List(items) => items.iter().any(|other| equal(item, other)),
        Value::Text(_) | Value::Bytes(_) => match (part(item), as_text(whole)) {
            (Some(part), Some(whole)) => whole.contains(&*part),
            _ => false,
        },
        Value::Map(fields) => part(item).is_some_and(|key| fields.contains_key(&key)),
        Value::Failure(failure) => return Err((failure.kind, failure.message.to_string())),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Float(_)
        | Value::Step(_)
        | Value::Tasks(_) => false,
    })
}

fn part(item: &Value) -> Option<Rc<str>> {
    match item {
        Value::Null | Value::Failure(_) | Value::Step(_) | Value::Tasks(_) => None,
        _ => Some(text::render(item)),
    }
}

/// What the truth policies agree on; none for texts.
fn truth_of_all_but_text(value: &Value) -> Option<bool> {
    match value {
        Value::Null | Value::Failure(_) | Value::Step(_) | Value::Tasks(_) => Some(false),
        Value::Bool(flag) => Some(*flag),
        Value::Int(int) => Some(*int != 0),
        Value::Float(float) => Some(*float != 0.0),
        Value::List(items) => Some(!items.is_empty()),
        Value::Map(fields) => Some(!fields.is_empty()),
        Value::Text(_) | Value::Bytes(_) => None,
    }
}

fn truth(value: &Value, of_text: fn(&str) -> bool) -> bool {
    truth_of_all_but_text(value)
        .or_else(|| as_text(value).map(|text| of_text(&text)))
        .unwrap_or(false)
}

pub fn truth_words(value: &Value) -> bool {
    truth(value, |text| {
        !matches!(text, "" | "0" | "false" | "False" | "none" | "None")
    })
}

pub fn truth_emptiness(value: &Value) -> bool {
    truth(value, |text| !text.is_empty())
}

pub fn truth_flags(value: &Value) -> bool {
    truth(value, |text| {
        let text = text.trim();
        !["", "0", "false", "no"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
    })
}
