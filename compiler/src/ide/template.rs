//! Answers about command templates: which fields there are, which names, and where those are spoken of.

use super::{Completion, CompletionKind, Hover, Symbol, Target, View, touches};
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
            let mut names = view.tree(&arena).map(known).unwrap_or_default();
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
    let here = mentions(root).into_iter();
    let Mention { name, span, .. } = here
        .filter(|mention| !mention.sets())
        .find(|mention| touches(mention.span, offset))?;
    let known = known(root);
    let known = known.iter().find(|(known, _)| is_same(&name, known));
    let help = known.map_or("a value to be given", |(_, help)| *help);
    Some(says(&name, help, span))
}

/// Where the name at an offset is declared, or gets its default.
pub fn definition(view: &View<'_>, offset: u32) -> Vec<Target> {
    let arena = Bump::new();
    let Some(root) = view.tree(&arena) else {
        return Vec::new();
    };
    let all = about(root, offset).into_iter();
    let places = all.filter(Mention::sets).map(|mention| mention.span);
    places.map(Target::Place).collect()
}

/// Every place that speaks of the name at an offset. With `settings`, those that declare it or give it a
/// default as well.
pub fn references(view: &View<'_>, offset: u32, settings: bool) -> Vec<Span> {
    let arena = Bump::new();
    let Some(root) = view.tree(&arena) else {
        return Vec::new();
    };
    let all = about(root, offset).into_iter();
    all.filter(|mention| settings || !mention.sets())
        .map(|mention| mention.span)
        .collect()
}

/// Nodes as they are nested: what runs, or what a label calls it.
pub fn symbols(view: &View<'_>) -> Vec<Symbol> {
    let arena = Bump::new();
    let root = view.tree(&arena);
    root.map(nodes).unwrap_or_default()
}

fn nodes(node: Node<'_>) -> Vec<Symbol> {
    match node.kind {
        Kind::List(items) => items.iter().flat_map(|item| nodes(*item)).collect(),
        Kind::Scalar(_) => {
            let command = node.text().map(|text| symbol(text, "command", node.span));
            command.into_iter().collect()
        }
        Kind::Map(entries) => {
            let field = |wanted: &str| entries.iter().find(|entry| entry.name() == Some(wanted));
            let inner = ["template", "recover"].into_iter().filter_map(field);
            let children: Vec<Symbol> = inner.flat_map(|entry| nodes(entry.value)).collect();
            match field("label").and_then(|label| label.value.text()) {
                Some(label) => vec![Symbol {
                    stage: true,
                    children,
                    ..symbol(label, "group", node.span)
                }],
                None => children,
            }
        }
        Kind::Broken => Vec::new(),
    }
}

fn symbol(text: Text<'_>, detail: &str, whole: Span) -> Symbol {
    /// A command may be longer than a line of an outline is wide.
    const MOST: usize = 60;
    let name: String = text.text().trim().chars().take(MOST).collect();
    Symbol {
        name: if name.is_empty() { "?".into() } else { name },
        detail: detail.to_string(),
        stage: false,
        whole,
        span: text.inner(),
        children: Vec::new(),
    }
}

/// A place that speaks of a value.
struct Mention {
    name: String,
    span: Span,
    /// What the value is, where the place says so.
    help: Option<&'static str>,
}

impl Mention {
    fn sets(&self) -> bool {
        self.help.is_some()
    }
}

/// The same value: a name with underscores in front is that name, to be shown otherwise.
fn is_same(read: &str, known: &str) -> bool {
    read == known || read.trim_start_matches('_') == known
}

/// All places that speak of the value that the place at an offset speaks of.
fn about(root: Node<'_>, offset: u32) -> Vec<Mention> {
    let mut all = mentions(root);
    let here = all.iter().find(|mention| touches(mention.span, offset));
    let Some(name) = here.map(|mention| mention.name.clone()) else {
        return Vec::new();
    };
    all.retain(|other| is_same(&other.name, &name) || is_same(&name, &other.name));
    all.sort_unstable_by_key(|mention| mention.span);
    all.dedup_by_key(|mention| mention.span);
    all
}

fn mentions(root: Node<'_>) -> Vec<Mention> {
    let mut all = Vec::new();
    collect(root, &mut all);
    all
}

/// Names that a template declares or gives a default, and those of `repeat` where it has one.
fn known(root: Node<'_>) -> Vec<(String, &'static str)> {
    let all = mentions(root).into_iter();
    let mut names: Vec<(String, &'static str)> = all
        .filter_map(|mention| Some((mention.name, mention.help?)))
        .collect();
    if repeats(root) {
        let repeated = template::REPEAT_HELP.into_iter();
        names.extend(repeated.map(|(name, help)| (name.to_string(), help)));
    }
    names
}

fn repeats(node: Node<'_>) -> bool {
    match node.kind {
        Kind::List(items) => items.iter().any(|item| repeats(*item)),
        Kind::Map(entries) => entries
            .iter()
            .any(|entry| entry.name() == Some("repeat") || repeats(entry.value)),
        Kind::Scalar(_) | Kind::Broken => false,
    }
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

fn collect(node: Node<'_>, all: &mut Vec<Mention>) {
    match node.kind {
        Kind::List(items) => items.iter().for_each(|item| collect(*item, all)),
        Kind::Map(entries) => {
            for entry in entries {
                match entry.name() {
                    Some("args") => {
                        let args = entry.value.list().unwrap_or_default().iter();
                        all.extend(args.filter_map(|arg| argument(arg.text()?)));
                    }
                    Some("defaults") => {
                        let defaults = entry.value.map().unwrap_or_default().iter();
                        all.extend(defaults.filter_map(|default| {
                            Some(Mention {
                                name: default.name()?.to_string(),
                                span: default.key.text()?.inner(),
                                help: Some("a default"),
                            })
                        }));
                    }
                    Some("when") => all.extend(entry.value.text().and_then(condition)),
                    _ => {}
                }
                collect(entry.value, all);
            }
        }
        Kind::Scalar(_) => {
            let names = node.text().map(template::names_in).unwrap_or_default();
            all.extend(names.into_iter().map(|(name, span)| Mention {
                name,
                span,
                help: None,
            }));
        }
        Kind::Broken => {}
    }
}

/// The name at the start of what can be given.
fn argument(text: Text<'_>) -> Option<Mention> {
    let name = text.text().split([':', '=']).next()?;
    mention(text, name.trim(), Some("an argument"))
}

/// `name` or `!name`; placeholders are found as everywhere.
fn condition(text: Text<'_>) -> Option<Mention> {
    let name = text.text().trim().trim_start_matches('!').trim_start();
    let plain = |c: char| c == '_' || c == '-' || c.is_ascii_alphanumeric();
    match name {
        "true" | "false" => None,
        name if name.chars().all(plain) => mention(text, name, None),
        _ => None,
    }
}

fn mention(text: Text<'_>, name: &str, help: Option<&'static str>) -> Option<Mention> {
    let start = text.text().find(name).filter(|_| !name.is_empty())?;
    Some(Mention {
        name: name.to_string(),
        span: text.span(start..start + name.len()),
        help,
    })
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
    use crate::dialect::find;
    use crate::ir::Program;
    use crate::source::SourceId;

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

    const TEMPLATE: &str = r#"{
  "args": ["file:path", "deep:bool=false"],
  "defaults": {"count": "1"},
  "template": [
    "head -n {count} {file}",
    {"label": "details", "when": "!deep", "template": ["wc {file}"], "recover": "sleep {count}"}
  ]
}"#;

    fn ask<T>(at: &str, answer: impl Fn(&View<'_>, u32) -> T) -> T {
        let view = View {
            text: TEMPLATE,
            source: SourceId(0),
            program: &Program::default(),
            dialect: find("amplifier").unwrap(),
            json: true,
        };
        answer(&view, TEMPLATE.find(at).unwrap() as u32)
    }

    /// What is written there, and the letters beside it.
    fn written(spans: Vec<Span>) -> Vec<&'static str> {
        let around = |span: Span| &TEMPLATE[span.start as usize - 1..span.end as usize + 1];
        spans.into_iter().map(around).collect()
    }

    #[test]
    fn names_are_found_where_they_are_declared_and_where_they_are_read() {
        let places = |at: &str| {
            let targets = ask(at, definition).into_iter();
            written(
                targets
                    .filter_map(|target| match target {
                        Target::Place(span) => Some(span),
                        Target::Recipe(_) => None,
                    })
                    .collect(),
            )
        };
        assert_eq!(places("file}"), ["\"file:"]);
        assert_eq!(places("count}"), ["\"count\""]);
        assert_eq!(places("deep\", \"template"), ["\"deep:"]);
        assert_eq!(places("head"), [""; 0]);
        let uses = |at: &str, all| written(ask(at, |view, at| references(view, at, all)));
        assert_eq!(uses("file:", false), ["{file}", "{file}"]);
        let count = ["\"count\"", "{count}", "{count}"];
        assert_eq!(uses("count\"", true), count);
        assert_eq!(uses("deep:", true), ["\"deep:", "!deep\""]);
    }

    #[test]
    fn nodes_are_listed_as_they_are_nested() {
        let found = ask("{", |view, _| symbols(view));
        let names = |all: &[Symbol]| -> Vec<String> {
            all.iter().map(|symbol| symbol.name.clone()).collect()
        };
        assert_eq!(names(&found), ["head -n {count} {file}", "details"]);
        assert_eq!(names(&found[1].children), ["wc {file}", "sleep {count}"]);
    }
}
