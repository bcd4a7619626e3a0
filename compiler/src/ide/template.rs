//! Answers about command templates: which fields there are, and which names.

use super::{Completion, CompletionKind, Hover, View};
use crate::dialect::template;
use crate::doc::{Kind, Node, Text};
use crate::source::Span;
use bumpalo::Bump;
use std::ops::Range;

/// What could be written at an offset: a field where a key stands, a name inside of braces.
pub fn complete(view: &View<'_>, offset: usize) -> Vec<Completion> {
    let Some(place) = place(view.text, offset) else {
        return Vec::new();
    };
    match place {
        Place::Key { start, present } => template::FIELD_HELP
            .iter()
            .filter(|(name, _)| !present.contains(name))
            .map(|(name, help)| completion(name, CompletionKind::Field, help, start..offset))
            .collect(),
        Place::Hole { start } => {
            let arena = Bump::new();
            let mut names = Vec::new();
            if let Some(root) = view.tree(&arena) {
                collect(root, &mut names);
            }
            names.sort_unstable();
            names.dedup();
            names
                .iter()
                .map(|(name, help)| completion(name, CompletionKind::Variable, help, start..offset))
                .collect()
        }
    }
}

fn completion(name: &str, kind: CompletionKind, help: &str, replace: Range<usize>) -> Completion {
    Completion {
        label: name.to_string(),
        kind,
        detail: String::new(),
        doc: help.to_string(),
        insert: name.to_string(),
        replace,
    }
}

/// What a field is for, or what a placeholder reads.
pub fn hover(view: &View<'_>, offset: u32) -> Option<Hover> {
    let arena = Bump::new();
    let root = view.tree(&arena)?;
    let says = |name: &str, help: &str, span| Hover {
        span,
        text: format!("`{name}`: {help}"),
    };
    if let Some((name, span)) = key_at(root, offset) {
        let mut fields = template::FIELD_HELP.iter();
        let (_, help) = fields.find(|(known, _)| *known == name)?;
        return Some(says(name, help, span));
    }
    let (name, span) = template::name_at(text_at(root, offset)?, offset)?;
    let mut names = Vec::new();
    collect(root, &mut names);
    let plain = name.trim_start_matches('_');
    let known = names
        .iter()
        .find(|(known, _)| *known == name || *known == plain);
    let help = known.map_or("a value to be given", |(_, help)| *help);
    Some(says(&name, help, span))
}

/// The text that stands at an offset.
fn text_at<'a>(node: Node<'a>, offset: u32) -> Option<Text<'a>> {
    let within = |node: &Node<'_>| node.span.start <= offset && offset <= node.span.end;
    let inner = match node.kind {
        Kind::List(items) => items.iter().copied().find(within),
        Kind::Map(entries) => entries.iter().map(|entry| entry.value).find(within),
        Kind::Scalar(_) => return node.text(),
        Kind::Broken => None,
    };
    text_at(inner?, offset)
}

/// The key of a node that stands at an offset.
fn key_at<'a>(node: Node<'a>, offset: u32) -> Option<(&'a str, Span)> {
    let within = |span: Span| span.start <= offset && offset <= span.end;
    match node.kind {
        Kind::List(items) => items
            .iter()
            .filter(|item| within(item.span))
            .find_map(|item| key_at(*item, offset)),
        Kind::Map(entries) => entries.iter().find_map(|entry| {
            if within(entry.key.span) {
                return Some((entry.name()?, entry.key.text()?.inner()));
            }
            let inner = matches!(entry.name(), Some("template" | "recover"));
            (inner && within(entry.value.span)).then(|| key_at(entry.value, offset))?
        }),
        Kind::Scalar(_) | Kind::Broken => None,
    }
}

/// Names that a template declares or gives a default, and those of `repeat` where it has one.
fn collect<'a>(node: Node<'a>, names: &mut Vec<(&'a str, &'static str)>) {
    match node.kind {
        Kind::List(items) => items.iter().for_each(|item| collect(*item, names)),
        Kind::Map(entries) => {
            for entry in entries {
                match entry.name() {
                    Some("args") => {
                        let args = entry.value.list().unwrap_or_default().iter();
                        let texts = args.filter_map(|arg| arg.text());
                        names.extend(texts.filter_map(|text| {
                            let name = text.text().split([':', '=']).next()?.trim();
                            Some((name, "an argument"))
                        }));
                    }
                    Some("defaults") => {
                        let all = entry.value.map().unwrap_or_default().iter();
                        names.extend(all.filter_map(|entry| Some((entry.name()?, "a default"))));
                    }
                    Some("repeat") => {
                        names.extend(template::REPEAT_HELP);
                    }
                    Some("template" | "recover") => collect(entry.value, names),
                    _ => {}
                }
            }
        }
        Kind::Scalar(_) | Kind::Broken => {}
    }
}

enum Place<'a> {
    /// A key that starts there, in an object that has these already.
    Key { start: usize, present: Vec<&'a str> },
    /// A placeholder whose name starts there.
    Hole { start: usize },
}

/// Where in a JSON text an offset stands, as far as the text before it says.
fn place(text: &str, offset: usize) -> Option<Place<'_>> {
    let before = text.get(..offset)?;
    let mut open: Vec<(bool, Vec<&str>, bool)> = Vec::new();
    let mut string: Option<usize> = None;
    let mut escaped = false;
    let mut last_key = "";
    for (at, byte) in before.bytes().enumerate() {
        if let Some(start) = string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    if let Some((true, keys, key)) = open.last_mut()
                        && *key
                    {
                        last_key = before.get(start..at).unwrap_or_default();
                        keys.push(last_key);
                    }
                    string = None;
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => string = Some(at + 1),
            b'{' => {
                // The names in `defaults` are the author's own.
                let fields = !matches!(last_key, "defaults" | "values" | "imports" | "artifacts");
                open.push((fields, Vec::new(), true));
            }
            b'[' => open.push((false, Vec::new(), false)),
            b'}' | b']' => {
                open.pop();
            }
            b':' | b',' => {
                if let Some((_, _, key)) = open.last_mut() {
                    *key = byte == b',';
                }
            }
            _ => {}
        }
    }
    let start = string?;
    let written = before.get(start..)?;
    match open.pop() {
        Some((true, present, true)) => Some(Place::Key { start, present }),
        Some((_, _, true)) if !matches!(text.as_bytes().first(), Some(b'[')) => None,
        _ => {
            let brace = written.rfind('{')?;
            let name = written.get(brace + 1..)?;
            let word = name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
            word.then_some(Place::Hole {
                start: start + brace + 1,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        let offset = text.find('|')?;
        let text = text.replacen('|', "", 1);
        Some(match place(&text, offset)? {
            Place::Key { present, .. } => format!("key after {}", present.join(" ")),
            Place::Hole { start } => format!("hole at {start}"),
        })
    }

    #[test]
    fn keys_and_holes_are_told_from_other_text() {
        assert_eq!(found(r#"{"|"#).as_deref(), Some("key after "));
        assert_eq!(
            found(r#"{"label": "x", "t|"#).as_deref(),
            Some("key after label")
        );
        assert_eq!(
            found(r#"[{"when": true, "|"}]"#).as_deref(),
            Some("key after when")
        );
        assert_eq!(
            found(r#"{"template": "use {na|"}"#).as_deref(),
            Some("hole at 19")
        );
        assert_eq!(found(r#"{"defaults": {"|"#), None);
        assert_eq!(found(r#"{"template": "use |"#), None);
        assert_eq!(
            found(r#"{"template": "a \"{x|"#).as_deref(),
            Some("hole at 19")
        );
        assert_eq!(found("|"), None);
    }
}
