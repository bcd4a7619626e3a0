//! Values and `serde_json`'s values, for whoever stands at the edge.
//!
//! Knows nothing of text: what a value looks like is decided in `text`.

use crate::text;
use crate::value::{Map, Value};
use serde_json::{Number, Value as Json};

/// Deeper values than this are given as their JSON text: `serde_json` takes them apart
/// recursively, and would run out of stack.
const DEEPEST: usize = 128;

/// Integers that do not fit into 64 bits become text: a float would have other digits.
pub fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None if number.is_u64() => Value::text(number.to_string()),
            None => number.as_f64().map_or(Value::Null, Value::Float),
        },
        Json::String(text) => Value::text(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(from_json).collect()),
        Json::Object(fields) => {
            let fields: Map = fields
                .iter()
                .map(|(name, field)| (name.as_str().into(), from_json(field)))
                .collect();
            Value::map(fields)
        }
    }
}

/// Bytes become text with replacement characters, a failure `{"error": …}`. A float that is a
/// whole number becomes an integer, as it is rendered.
pub fn to_json(value: &Value) -> Json {
    to_json_at(value, 0)
}

fn to_json_at(value: &Value, depth: usize) -> Json {
    match value {
        Value::Null | Value::Step(_) | Value::Tasks(_) => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(int) => Json::from(*int),
        Value::Float(float) => match text::whole(*float) {
            Some(int) => Json::from(int),
            None => Number::from_f64(*float).map_or(Json::Null, Json::Number),
        },
        Value::Text(text) => Json::from(&**text),
        Value::Bytes(bytes) => Json::from(String::from_utf8_lossy(bytes)),
        Value::List(_) | Value::Map(_) if depth >= DEEPEST => Json::from(text::json_text(value)),
        Value::List(items) => items
            .iter()
            .map(|item| to_json_at(item, depth + 1))
            .collect(),
        Value::Map(fields) => Json::Object(
            fields
                .iter()
                .map(|(name, field)| (name.to_string(), to_json_at(field, depth + 1)))
                .collect(),
        ),
        Value::Failure(failure) => {
            let mut fields = serde_json::Map::new();
            fields.insert("error".to_owned(), Json::from(&*failure.message));
            Json::Object(fields)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::{Failure, FailureKind};
    use serde_json::json;

    #[test]
    fn json_comes_back_as_it_went() {
        let json = json!({"z": [1, -2.5, null, true, "é"], "a": {"k": i64::MIN}, "": {}});
        let back = to_json(&from_json(&json));
        assert_eq!(back, json);
        assert_eq!(back.to_string(), json.to_string());
    }

    #[test]
    fn numbers_stay_integers_as_long_as_they_fit() {
        assert!(matches!(from_json(&json!(i64::MAX)), Value::Int(i64::MAX)));
        assert!(matches!(from_json(&json!(u64::MAX)), Value::Text(digits)
            if *digits == *u64::MAX.to_string()));
        assert!(matches!(from_json(&json!(1.0)), Value::Float(_)));
        assert_eq!(to_json(&Value::Float(12000.0)), json!(12000));
        assert_eq!(to_json(&Value::Float(1e20)), json!(1e20));
        assert_eq!(to_json(&Value::Float(f64::NAN)), Json::Null);
    }

    #[test]
    fn what_json_has_no_word_for() {
        let failure = Value::Failure(std::rc::Rc::new(Failure {
            kind: FailureKind::Undefined,
            message: "no `x`".into(),
            data: Value::Null,
            at: 0,
        }));
        assert_eq!(to_json(&failure), json!({"error": "no `x`"}));
        assert_eq!(text::json_text(&failure), "{\"error\":\"no `x`\"}");
        let bytes = Value::Bytes(std::rc::Rc::from(&b"\xff"[..]));
        assert_eq!(to_json(&bytes), json!("\u{fffd}"));
        let mut deep = Value::Null;
        for _ in 0..1_000 {
            deep = Value::list(vec![deep]);
        }
        assert!(to_json(&deep).to_string().contains("[[[["));
    }
}
