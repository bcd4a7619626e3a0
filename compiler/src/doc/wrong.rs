//! How values are spoken of that are not what they should be.

use super::node::{Kind, Node, Text};
use super::scalar::{Plain, Schema, resolve};
use super::shape::{Field, Shape, Type, Unit};
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::source::Span;

/// How a value is named behind "not".
pub fn describe(node: Node<'_>, schema: Schema) -> &'static str {
    match node.kind {
        Kind::Broken => "something unreadable",
        Kind::List(_) => "a list",
        Kind::Map(_) => "a map",
        Kind::Scalar(scalar) => match resolve(scalar, schema) {
            Plain::Null => "nothing",
            Plain::Bool(_) => "true or false",
            Plain::Int(_) | Plain::Float(_) => "a number",
            Plain::Text => "text",
        },
    }
}

/// A noun behind its article.
pub fn article(what: &str) -> String {
    // What has a name of its own has no article.
    if what.starts_with('`') {
        return what.to_string();
    }
    let vowel = what.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {what}", if vowel { "an" } else { "a" })
}

/// The span of a name: without its quotes.
pub fn name_span(node: Node<'_>) -> Span {
    node.text().map_or(node.span, |text| text.inner())
}

/// Reports that `what` (with its backticks) holds a value of the wrong type.
pub fn wrong_type(what: &str, must: &str, node: Node<'_>, schema: Schema, report: &mut Report) {
    wrong_quantity(what, must, None, node, schema, report);
}

/// The same for a number that counts something.
pub fn wrong_quantity(
    what: &str,
    must: &str,
    unit: Option<Unit>,
    node: Node<'_>,
    schema: Schema,
    report: &mut Report,
) {
    if node.is_broken() {
        return;
    }
    let found = match node.kind {
        // It is a number, only not a whole one, or no such one.
        Kind::Scalar(scalar) if must.starts_with("a whole number") => {
            match resolve(scalar, schema) {
                Plain::Float(value) if value.fract() == 0.0 => "so large a number",
                Plain::Float(_) => scalar.text.trim(),
                _ => describe(node, schema),
            }
        }
        _ => describe(node, schema),
    };
    report.add(
        Diagnostic::new(
            &codes::WRONG_TYPE,
            node.span,
            format!("{what} must be {must}, not {found}"),
        )
        .help(instead(must, unit, node)),
    );
}

/// What to write instead of a value of the wrong type.
fn instead(must: &str, unit: Option<Unit>, node: Node<'_>) -> String {
    if let Some(written) = node.text().filter(|_| must.contains("number")) {
        let text = written.text().trim();
        if text.contains("{{") {
            return "no hole is filled in here: write the number itself".to_string();
        }
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        if digits != text
            && let Ok(number) = digits.parse::<f64>()
        {
            let scale = unit.and_then(|unit| unit.scale(text[digits.len()..].trim()));
            // What the field counts has no halves where a whole number is wanted.
            let whole = |number: &f64| !must.contains("whole") || number.fract() == 0.0;
            let meant = scale.map(|scale| number * scale).filter(whole);
            return match (unit, meant) {
                (Some(unit), Some(meant)) => {
                    format!("write `{meant}`, the number of {}", unit.words())
                }
                (Some(unit), None) => format!("write the number of {} alone", unit.words()),
                (None, _) => format!("write `{digits}`, without a unit"),
            };
        }
    }
    if let (Some(items), "text") = (node.list(), must) {
        let words: Vec<&str> = items
            .iter()
            .filter_map(|item| item.text().map(|word| word.text()))
            .collect();
        if !words.is_empty() && words.len() == items.len() {
            return format!("write one text: `{}`", words.join(" "));
        }
    }
    format!("write {must} here")
}

/// What was likely meant by a value whose form is not that of its field.
pub fn meant(field: &Field, node: Node<'_>, schema: Schema) -> Option<String> {
    let name = field.name;
    match (&field.ty, node.kind) {
        // The one number or the one switch in it: `retry: 3`.
        (Type::Nested(shape), Kind::Scalar(scalar)) => {
            let value = resolve(scalar, schema);
            let inner = shape.fields.iter().find(|inner| {
                matches!(
                    (&value, &inner.ty),
                    (Plain::Bool(_), Type::Bool) | (Plain::Int(_), Type::Int { .. })
                )
            })?;
            let written = scalar.text.trim();
            Some(format!("write `{name}: {{{}: {written}}}`", inner.name))
        }
        (Type::List(Type::Nested(shape)), Kind::Map(entries)) => {
            let first = entries.first()?;
            let key = first.name()?;
            if shape.field(key).is_some() {
                return Some(format!("put `- ` before `{key}`: a list of one"));
            }
            let own = shape.fields.first()?.name;
            first.value.map()?;
            Some(format!(
                "write each {} as an item, with its name in it: `- {own}: {key}`",
                shape.what
            ))
        }
        (Type::Text | Type::Name, Kind::Map(entries)) => {
            let named = entries.iter().find(|entry| entry.is("name"))?;
            let text = named.value.text()?;
            Some(format!("write `{name}: {}`", text.text()))
        }
        // Several names are not one name.
        (Type::Name, Kind::List(items)) => {
            let first = items.first()?.text()?.text();
            Some(match items.len() {
                1 => format!("write `{name}: {first}`"),
                _ => format!("write one name, such as `{name}: {first}`"),
            })
        }
        _ => None,
    }
}

/// The map that `id:a` would be with a blank in it.
pub fn without_blank(shape: &Shape, node: Node<'_>) -> Option<String> {
    let (key, value) = node.text()?.text().split_once(':')?;
    let line = value.lines().next().unwrap_or_default();
    shape.field(key)?;
    (!value.starts_with(' ')).then(|| format!("put a blank behind the colon: `{key}: {line}`"))
}

/// A scalar as text, whatever it would resolve to; for items of lists and values of maps.
pub fn text_of<'a>(
    what: &str,
    node: Node<'a>,
    schema: Schema,
    report: &mut Report,
) -> Option<Text<'a>> {
    let text = node.text();
    if text.is_none() {
        wrong_type(what, "text", node, schema, report);
    }
    text
}
