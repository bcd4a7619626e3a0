//! Numbers as a comparison sees them, whether they are numbers or look like them.
//!
//! Integers are compared exactly, however long and however deep in a list. Text past the range of
//! an integer is exact against other text; against a float it is rounded first, because numbers of
//! that size reach the machine only as floats, already rounded the same way. Refuses to know which
//! policy counts text as a number.

use crate::value::Value;
use std::cmp::Ordering;

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
    if !may_be_number(text) {
        return None;
    }
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

/// Whether it starts like a number, or with a blank. Most texts do not.
#[inline]
pub(super) fn may_be_number(text: &str) -> bool {
    text.bytes().next().is_some_and(|byte| {
        matches!(
            byte,
            b'0'..=b'9' | b'+' | b'-' | b'.' | b'_' | b'i' | b'I' | b'n' | b'N'
        ) || !byte.is_ascii_graphic()
    })
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
