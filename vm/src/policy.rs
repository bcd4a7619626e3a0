//! What values mean in a comparison and in a condition, one function per policy.
//!
//! Each policy is an instruction of its own, so nothing here chooses between them and nothing
//! here knows which dialect uses which. No function fails on a value it does not like: what
//! cannot be compared is not equal and has no order.

mod number;

use crate::fault::FailureKind;
use crate::text;
use crate::value::Value;
pub(crate) use number::{Number, number_with_underscores};
use number::{may_be_number, number};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::rc::Rc;

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
    if !matches!(first, Value::List(_) | Value::Map(_)) {
        return leaf(first, second);
    }
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
    match (a, b) {
        (Value::Text(a), Value::Text(b)) if is_plain_text(a, b) => return a == b,
        (Value::Int(a), Value::Int(b)) => return a == b,
        _ => {}
    }
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

/// Whether one of two texts is certainly no number, so that they are compared as they are.
fn is_plain_text(a: &str, b: &str) -> bool {
    !may_be_number(a) || !may_be_number(b)
}

/// By the same rule; text by its characters. Null has no order.
pub fn order_numbers_first(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) if is_plain_text(a, b) => return Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) => return Some(a.cmp(b)),
        _ => {}
    }
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
        let text = text.trim_matches(crate::text::is_blank);
        !["", "0", "false", "no"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::from_json;
    use serde_json::{Value as Json, json};

    type Equal = fn(&Value, &Value) -> bool;

    fn value(json: Json) -> Value {
        from_json(&json)
    }

    fn check_equal(equal: Equal, cases: &[(Json, Json, bool)]) {
        for (a, b, expected) in cases {
            let (a, b) = (value(a.clone()), value(b.clone()));
            assert_eq!(equal(&a, &b), *expected, "{a:?} == {b:?}");
            assert_eq!(equal(&b, &a), *expected, "{b:?} == {a:?}");
        }
    }

    #[test]
    fn numbers_first_compares_what_looks_like_numbers_as_numbers() {
        check_equal(
            eq_numbers_first,
            &[
                (json!(3), json!("3"), true),
                (json!(3), json!("3.0"), true),
                (json!("0\n"), json!("0"), true),
                (json!("ok\n"), json!("ok"), false),
                (json!("ok"), json!("OK"), false),
                (json!("1_000"), json!(1000), true),
                (json!("1__0"), json!(10), false),
                (json!("_1"), json!("1"), false),
                (json!("1_.5"), json!(1.5), false),
                (json!(" 1e3 "), json!(1000), true),
                (json!(".5"), json!(0.5), true),
                (json!("nan"), json!("nan"), false),
                (json!("-Infinity"), json!("-inf"), true),
                (json!("1.9.0"), json!("1.9"), false),
                (json!(""), json!(""), true),
                (json!(""), json!(0), false),
            ],
        );
    }

    #[test]
    fn numbers_first_compares_the_rest_as_text_and_null_with_null() {
        check_equal(
            eq_numbers_first,
            &[
                (json!(true), json!("true"), true),
                (json!(true), json!("True"), false),
                (json!(true), json!(1), false),
                (json!(false), json!(false), true),
                (json!(null), json!(null), true),
                (json!(null), json!(""), false),
                (json!(null), json!("null"), false),
                (json!(null), json!(0), false),
                (json!({"a": 1}), json!("x"), false),
                (json!([]), json!("[]"), true),
                (json!(["a", 1]), json!("[\"a\",1]"), true),
                (json!([1, {"a": "2"}]), json!(["1.0", {"a": 2}]), true),
                (json!([]), json!({}), false),
                (json!([1]), json!(1), false),
            ],
        );
    }

    #[test]
    fn by_type_a_text_is_a_number_only_beside_a_number() {
        check_equal(
            eq_by_type,
            &[
                (json!(1), json!("1"), true),
                (json!(1), json!(" 1 "), true),
                (json!(1), json!("1.0"), true),
                (json!("1.0"), json!("1"), false),
                (json!(5), json!("five"), false),
                (json!(1000), json!("1_000"), false),
                (json!(0), json!(""), false),
                (json!(true), json!(1), false),
                (json!(true), json!("True"), true),
                (json!(true), json!("TRUE"), false),
                (json!(false), json!("false"), true),
                (json!(false), json!(""), false),
                (json!(null), json!(null), true),
                (json!(null), json!(""), false),
                (json!(null), json!(0), false),
                (json!(null), json!(false), false),
                (json!({"a": 1}), json!("x"), false),
                (json!(["x"]), json!("x"), false),
                (json!([]), json!("[]"), false),
                (json!([1, 2]), json!([1.0, 2.0]), true),
                (json!([1]), json!([1, 2]), false),
                (json!({"a": 1, "b": [2]}), json!({"b": [2.0], "a": 1}), true),
                (json!({"a": 1}), json!({"b": 1}), false),
            ],
        );
    }

    #[test]
    fn integers_are_compared_as_integers_however_long() {
        let big = 9_007_199_254_740_993_i64;
        for equal in [eq_numbers_first as Equal, eq_by_type] {
            check_equal(
                equal,
                &[
                    (json!(big), json!(big - 1), false),
                    (json!([[big]]), json!([[big - 1]]), false),
                    (json!(big), json!(big.to_string()), true),
                    (json!(big - 1), json!(big.to_string()), false),
                    (json!(big), json!(9_007_199_254_740_992.0), false),
                    (json!(i64::MAX), json!(9_223_372_036_854_775_808.0), false),
                    (json!(u64::MAX), json!(u64::MAX.to_string()), true),
                    (json!(i64::MIN), json!(-9_223_372_036_854_775_808.0), true),
                    (json!(3), json!(3.5), false),
                ],
            );
        }
        let long = "1234567890123456789012345678901234567890";
        let longer = "1234567890123456789012345678901234567891";
        check_equal(
            eq_numbers_first,
            &[
                (json!(long), json!(longer), false),
                (json!(long), json!(format!("+00{long}")), true),
                (json!(long), json!(format!("-{long}")), false),
                (json!(long), json!(i64::MAX), false),
            ],
        );
        let order = |a: &str, b: &str| order_numbers_first(&Value::text(a), &Value::text(b));
        assert_eq!(order(long, longer), Some(Ordering::Less));
        assert_eq!(order(&format!("-{long}"), "-5"), Some(Ordering::Less));
    }

    #[test]
    fn order_follows_the_policy() {
        use Ordering::{Equal, Greater, Less};
        let by_type: [(Json, Json, Option<Ordering>); 18] = [
            (json!("10"), json!(9), Some(Greater)),
            (json!("10"), json!("9"), Some(Less)),
            (json!(-1.5), json!(-1), Some(Less)),
            (json!(-1), json!(-1.5), Some(Greater)),
            (json!(3), json!(3.0), Some(Equal)),
            (json!(true), json!(1), Some(Equal)),
            (json!(true), json!(0.5), Some(Greater)),
            (json!(true), json!(false), Some(Greater)),
            (json!(true), json!("True"), Some(Equal)),
            (json!(true), json!("false"), Some(Greater)),
            (json!("x"), json!(1), None),
            (json!(null), json!(null), None),
            (json!(null), json!(0), None),
            (json!(""), json!(0), None),
            (json!([1]), json!([2]), None),
            (json!({"a": 1}), json!({"a": 1}), None),
            (json!("é"), json!("z"), Some(Greater)),
            (json!(i64::MAX), json!(1e300), Some(Less)),
        ];
        for (a, b, expected) in by_type {
            assert_eq!(
                order_by_type(&value(a.clone()), &value(b.clone())),
                expected,
                "{a} {b}"
            );
        }
        let numbers_first: [(Json, Json, Option<Ordering>); 8] = [
            (json!("9"), json!("10"), Some(Less)),
            (json!("1.9.0"), json!("1.10.0"), Some(Greater)),
            (json!("-1"), json!(5), Some(Less)),
            (json!("inf"), json!(5), Some(Greater)),
            (json!("nan"), json!(5), None),
            (json!(true), json!("false"), Some(Greater)),
            (json!(null), json!("a"), None),
            (json!([1]), json!(["1"]), Some(Equal)),
        ];
        for (a, b, expected) in numbers_first {
            let order = order_numbers_first(&value(a.clone()), &value(b.clone()));
            assert_eq!(order, expected, "{a} {b}");
        }
    }

    #[test]
    fn in_asks_for_an_item_a_part_or_a_key() {
        let cases: [(Json, Json, bool); 16] = [
            (json!("b"), json!("abc"), true),
            (json!("z"), json!("abc"), false),
            (json!(""), json!(""), true),
            (json!(1), json!("a1b"), true),
            (json!(1), json!("a1.0b"), true),
            (json!(1.0), json!("a1b"), true),
            (json!("x"), json!(["x"]), true),
            (json!(2), json!([1, 2.0]), true),
            (json!(null), json!([null]), true),
            (json!(null), json!("null"), false),
            (json!("k"), json!({"k": null}), true),
            (json!("v"), json!({"k": "v"}), false),
            (json!(1), json!({"1": 0}), true),
            (json!("x"), json!(5), false),
            (json!("x"), json!(null), false),
            (json!(1), json!([]), false),
        ];
        for (item, whole, expected) in cases {
            let (item, whole) = (value(item), value(whole));
            assert_eq!(
                in_by_type(&item, &whole),
                Ok(expected),
                "{item:?} in {whole:?}"
            );
            assert_eq!(
                in_numbers_first(&item, &whole),
                Ok(expected),
                "{item:?} in {whole:?}"
            );
        }
        let ten = value(json!(["10"]));
        assert_eq!(in_numbers_first(&Value::text("1e1"), &ten), Ok(true));
        assert_eq!(in_by_type(&Value::text("1e1"), &ten), Ok(false));
    }

    #[test]
    fn truth_follows_the_policy() {
        // The value, and its truth by words, by emptiness and by flags.
        let cases: [(Json, [bool; 3]); 24] = [
            (json!(null), [false; 3]),
            (json!(false), [false; 3]),
            (json!(true), [true; 3]),
            (json!(0), [false; 3]),
            (json!(0.0), [false; 3]),
            (json!(-1), [true; 3]),
            (json!([]), [false; 3]),
            (json!([0]), [true; 3]),
            (json!({}), [false; 3]),
            (json!({"a": 0}), [true; 3]),
            (json!(""), [false; 3]),
            (json!("x"), [true; 3]),
            (json!("0"), [false, true, false]),
            (json!("0\n"), [true, true, false]),
            (json!("0.0"), [true; 3]),
            (json!("false"), [false, true, false]),
            (json!("False"), [false, true, false]),
            (json!("FALSE"), [true, true, false]),
            (json!("none"), [false, true, true]),
            (json!("None"), [false, true, true]),
            (json!("NONE"), [true; 3]),
            (json!("no"), [true, true, false]),
            (json!(" "), [true, true, false]),
            (json!(" No "), [true, true, false]),
        ];
        for (json, expected) in cases {
            let value = value(json);
            let truths = [
                truth_words(&value),
                truth_emptiness(&value),
                truth_flags(&value),
            ];
            assert_eq!(truths, expected, "{value:?}");
        }
    }

    #[test]
    fn equality_is_symmetric_and_order_antisymmetric() {
        const TEXTS: [&str; 14] = [
            "", "0", "1", " 1 ", "1.0", "-1", "1e3", "nan", "inf", "true", "False", "[]", "[1]",
            "zé",
        ];
        fn make(random: &mut impl FnMut(usize) -> usize, depth: usize) -> Value {
            match random(if depth > 2 { 5 } else { 7 }) {
                0 => Value::Null,
                1 => Value::Bool(random(2) == 0),
                2 => Value::Int([0, 1, -1, i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1][random(7)]),
                3 => Value::Float(
                    [
                        0.0,
                        -0.0,
                        1.0,
                        0.5,
                        f64::NAN,
                        f64::INFINITY,
                        9.3e18,
                        9_007_199_254_740_992.0,
                    ][random(8)],
                ),
                4 => Value::text(TEXTS[random(TEXTS.len())]),
                5 => Value::list((0..random(3)).map(|_| make(random, depth + 1)).collect()),
                _ => Value::map(
                    (0..random(3))
                        .map(|at| (["a", "b", "c"][at].into(), make(random, depth + 1)))
                        .collect(),
                ),
            }
        }
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 33) as usize % below
        };
        for _ in 0..50_000 {
            let (a, b) = (make(&mut random, 0), make(&mut random, 0));
            assert_eq!(
                eq_numbers_first(&a, &b),
                eq_numbers_first(&b, &a),
                "{a:?} {b:?}"
            );
            assert_eq!(eq_by_type(&a, &b), eq_by_type(&b, &a), "{a:?} {b:?}");
            for (equal, order) in [
                (
                    eq_numbers_first as Equal,
                    order_numbers_first as fn(&_, &_) -> _,
                ),
                (eq_by_type, order_by_type),
            ] {
                let ordered: Option<Ordering> = order(&a, &b);
                assert_eq!(ordered, order(&b, &a).map(Ordering::reverse), "{a:?} {b:?}");
                if equal(&a, &b) {
                    assert!(
                        matches!(ordered, None | Some(Ordering::Equal)),
                        "{a:?} {b:?}"
                    );
                }
            }
        }
    }
}
