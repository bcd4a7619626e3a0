//! Documents: bytes of YAML or JSON to one spanned tree, and asking that tree for fields.
//!
//! Nothing here knows what a recipe is. Reading never fails: it reports, and gives back as much of
//! the tree as it could understand.

mod edit;
pub mod fields;
mod joined;
pub mod json;
mod merge;
mod mistake;
pub mod node;
mod quick;
pub mod scalar;
pub mod shape;
mod trace;
mod tree;
mod wrong;
pub mod yaml;

pub use fields::Fields;
pub use node::{Entry, Kind, Node, Scalar, Style, Text};
pub use scalar::{Plain, Schema, differs, resolve, to_json};
pub use shape::{Field, Shape, Type};

/// The largest text that is read, in bytes.
pub const MAX_BYTES: usize = 1_000_000;
/// How deep lists and maps may be nested.
pub const MAX_DEPTH: usize = 64;
/// How many times its own size a file may grow to when its aliases are expanded.
pub const MAX_EXPANSION: usize = 10;
/// How much is said about one file that can hardly be read; nobody reads further.
pub const MAX_FINDINGS: usize = 100;

/// What is said where lists and maps are nested too deep.
fn too_deep(span: crate::source::Span) -> crate::diagnostic::Diagnostic {
    let message = format!("lists and maps are nested deeper than {MAX_DEPTH} levels here");
    crate::diagnostic::Diagnostic::new(&crate::codes::TOO_DEEP, span, message)
        .help("flatten the value, or move it to a file of its own")
}

/// Bytes as text, and the offset of the first byte that is not UTF-8. Offsets of the text before
/// that byte are those of the bytes; what follows holds replacement characters.
pub fn read_bytes(bytes: Vec<u8>) -> (String, Option<usize>) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            (
                String::from_utf8_lossy(error.as_bytes()).into_owned(),
                Some(at),
            )
        }
    }
}

/// `text` as a quoted YAML scalar that reads back as exactly `text`.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c != '"' && c != '\\' && !c.is_control();
    if text.chars().all(plain) {
        return format!("\"{text}\"");
    }
    if !text.chars().any(char::is_control) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Says that a text is too large to read, and whether it is.
fn too_large(
    source: crate::source::SourceId,
    text: &str,
    report: &mut crate::diagnostic::Report,
) -> bool {
    let large = text.len() > MAX_BYTES;
    if large {
        report.add(
            crate::diagnostic::Diagnostic::new(
                &crate::codes::TOO_LARGE,
                crate::source::Span::top(source),
                format!(
                    "the file has {} bytes; at most {MAX_BYTES} are read",
                    text.len()
                ),
            )
            .help("split the recipe, or move long texts to files of their own"),
        );
    }
    large
}

#[cfg(test)]
mod tests;
