//! Values that stand in the file.

use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::doc::{Kind, Node, Plain, Scalar, Schema, differs, json, quoted, resolve, yaml};
use crate::ir::Literal;
use crate::source::SourceId;
use bumpalo::Bump;

/// The value of a file that holds nothing but values; null of one that holds nothing.
pub fn read_values(source: SourceId, text: &str, schema: Schema, report: &mut Report) -> Literal {
    let arena = Bump::new();
    let root = match schema {
        Schema::Json => json::read(&arena, source, text, report),
        Schema::Yaml11 | Schema::Yaml12 => yaml::read(&arena, source, text, report),
    };
    root.map_or(Literal::Null, |root| literal(root, schema, report))
}

/// A value as the dialect's schema reads it. A scalar that the other schema would read otherwise
/// is a finding: the file says one thing to one reader and another to the next.
pub fn literal(node: Node<'_>, schema: Schema, report: &mut Report) -> Literal {
    match node.kind {
        Kind::Broken => Literal::Null,
        Kind::List(items) => Literal::List(
            items
                .iter()
                .map(|item| literal(*item, schema, report))
                .collect(),
        ),
        Kind::Map(entries) => Literal::Map(
            entries
                .iter()
                .filter_map(|entry| {
                    let name = entry.name()?.to_string();
                    Some((name, literal(entry.value, schema, report)))
                })
                .collect(),
        ),
        Kind::Scalar(scalar) => {
            let value = match resolve(scalar, schema) {
                Plain::Null => Literal::Null,
                Plain::Bool(value) => Literal::Bool(value),
                Plain::Int(value) => Literal::Int(value),
                Plain::Float(value) if !is_long(scalar) => Literal::Float(value),
                Plain::Float(_) | Plain::Text => Literal::Text(scalar.text.to_string()),
            };
            if differs(scalar) {
                report.add(ambiguous(node, scalar.text, &value));
            }
            value
        }
    }
}

/// Whether a scalar is another text to readers of YAML 1.1: they make a boolean or a number of it,
/// and write that.
pub fn read_otherwise(scalar: &Scalar<'_>) -> bool {
    let value = resolve(scalar, Schema::Yaml11);
    differs(scalar) && matches!(value, Plain::Bool(_) | Plain::Int(_))
}

/// An integer that was read as a float because of its length, and has other digits as one.
fn is_long(scalar: &Scalar<'_>) -> bool {
    let digits = scalar.text.strip_prefix(['-', '+']).unwrap_or(scalar.text);
    let digital = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digital && scalar.tag != Some("!!float")
}

/// A float as every reader of YAML takes it for one: with a point, and a sign before the exponent.
fn plain_float(value: f64) -> String {
    let text = format!("{value:?}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let point = if digits.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with('-') { "" } else { "+" };
    format!("{digits}{point}e{sign}{exponent}")
}

fn ambiguous(node: Node<'_>, text: &str, value: &Literal) -> Diagnostic {
    let quoted = quoted(text);
    let (means, plain) = match value {
        Literal::Null => ("nothing".to_string(), Some("null".to_string())),
        Literal::Bool(value) => (format!("{value}"), Some(format!("{value}"))),
        Literal::Int(value) => (format!("the number {value}"), Some(format!("{value}"))),
        Literal::Float(value) => (format!("the number {value}"), Some(plain_float(*value))),
        _ => (format!("the text `{text}`"), None),
    };
    let message =
        format!("`{text}` means {means} here, and something else to other readers of YAML");
    let finding = Diagnostic::new(&codes::AMBIGUOUS_SCALAR, node.span, message);
    let say = format!("write `{quoted}`");
    match plain {
        // Quotes make text of it, which it is not yet.
        Some(plain) => finding
            .help(format!("write `{quoted}` for the text, or `{plain}`"))
            .fix(Fix::unsafe_(say, node.span, quoted)),
        None => finding
            .help(say.clone())
            .fix(Fix::safe(say, node.span, quoted)),
    }
}
