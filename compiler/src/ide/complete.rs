//! What could be written at a place.

use super::cursor::{self, Cursor, Level, Writing, is_name};
use super::names::{self, How, is_condition};
use super::tree::{self, ROOT};
use super::{Completion, CompletionKind, View, describe};
use crate::dialect::fields::{KINDS, STEP};
use crate::doc::shape::{Field, Shape, Type, choices, nested};
use crate::expr::{BareWords, Filter};
use crate::ir::Literal;
use bumpalo::Bump;
use std::ops::Range;

/// Everything that fits at an offset. What fits is decided by the place, not by what has been
/// typed of the word; editors filter by that themselves.
pub fn complete(view: &View<'_>, offset: u32) -> Vec<Completion> {
    let offset = view
        .text
        .floor_char_boundary((offset as usize).min(view.text.len()));
    if view.json {
        return super::template::complete(view, offset);
    }
    let cursor = cursor::locate(view.text, offset);
    let place = Place::of(&cursor.path);
    if let Some(hole) = open_hole(view.text, offset) {
        return in_hole(view, offset, &place, hole);
    }
    match (&cursor.writing, place.ty) {
        (Writing::Text, _) | (_, None) => Vec::new(),
        (Writing::FlowKey(present), Some(ty)) => match nested(ty) {
            Some(shape) => keys(shape, &cursor, present, None),
            None => Vec::new(),
        },
        (Writing::Word, Some(ty)) => match nested(ty) {
            Some(shape) => {
                let present: Vec<&str> = cursor.beside.iter().map(|(key, _)| *key).collect();
                let kind = cursor.beside.iter().find(|(key, _)| *key == "type");
                keys(shape, &cursor, &present, kind.map(|(_, kind)| *kind))
            }
            None => values(view, offset, &cursor, &place, ty),
        },
        (Writing::Value, Some(ty)) => values(view, offset, &cursor, &place, ty),
    }
}

/// What the table of fields says about a path.
struct Place {
    ty: Option<&'static Type>,
    field: Option<&'static Field>,
    /// How many steps are around it.
    steps: usize,
}

impl Place {
    fn of(path: &[Level<'_>]) -> Place {
        let mut place = Place {
            ty: Some(&ROOT),
            field: None,
            steps: 0,
        };
        for level in path {
            let Some(ty) = place.ty else { break };
            place.ty = match level {
                Level::Item => match ty {
                    Type::List(inner) => Some(inner),
                    _ => None,
                },
                Level::Key(name) => match (nested(ty), ty) {
                    (Some(shape), _) => {
                        place.field = shape.field(name);
                        place.field.map(|field| &field.ty)
                    }
                    (None, Type::Map(inner)) => Some(inner),
                    _ => None,
                },
            };
            let step = matches!(place.ty, Some(Type::Nested(shape)) if std::ptr::eq(*shape, &STEP));
            place.steps += usize::from(step);
        }
        place
    }
}

fn keys(
    shape: &'static Shape,
    cursor: &Cursor<'_>,
    present: &[&str],
    kind: Option<&str>,
) -> Vec<Completion> {
    let foreign = |name: &str| {
        let Some(kind) = kind.filter(|_| std::ptr::eq(shape, &STEP)) else {
            return false;
        };
        let known = KINDS.iter().any(|(known, _)| *known == kind);
        let of_others = KINDS
            .iter()
            .any(|(other, own)| *other != kind && own.contains(&name));
        let own = KINDS
            .iter()
            .any(|(other, own)| *other == kind && own.contains(&name));
        known && of_others && !own
    };
    let there = |field: &Field| {
        present
            .iter()
            .any(|key| *key == field.name || field.aliases.contains(key))
    };
    shape
        .fields
        .iter()
        .filter(|field| !there(field) && !foreign(field.name))
        .map(|field| Completion {
            label: field.name.to_string(),
            kind: CompletionKind::Field,
            detail: field.ty.words(),
            doc: describe(field, shape.what),
            insert: match cursor.has_colon {
                true => field.name.to_string(),
                false => format!("{}: ", field.name),
            },
            replace: cursor.word.clone(),
        })
        .collect()
}

fn values(
    view: &View<'_>,
    offset: usize,
    cursor: &Cursor<'_>,
    place: &Place,
    ty: &'static Type,
) -> Vec<Completion> {
    let Some(field) = place.field else {
        return Vec::new();
    };
    // A value stands apart from its colon.
    let blank = view.text[..cursor.word.start].ends_with(':');
    let plain = |label: &str, kind, detail: &str, doc: &str| Completion {
        label: label.to_string(),
        kind,
        detail: detail.to_string(),
        doc: doc.to_string(),
        insert: format!("{}{label}", if blank { " " } else { "" }),
        replace: cursor.word.clone(),
    };
    if field.name == "depends_on" {
        return steps_before(view, offset, place.steps)
            .into_iter()
            .map(|id| plain(&id, CompletionKind::Step, "step", ""))
            .collect();
    }
    if is_condition(field) && view.dialect.bare_words == BareWords::Variables {
        return variables(view, offset, place)
            .into_iter()
            .map(|(name, doc)| plain(&name, CompletionKind::Variable, "variable", &doc))
            .collect();
    }
    let words: &[&str] = match ty {
        Type::Bool => &["true", "false"],
        Type::OneOf(types) if types.iter().any(|ty| matches!(ty, Type::Bool)) => &["true", "false"],
        ty => choices(ty).unwrap_or_default(),
    };
    words
        .iter()
        .map(|word| plain(word, CompletionKind::Value, field.name, field.doc))
        .collect()
}

/// The ids of the steps that stand before the one around an offset.
fn steps_before(view: &View<'_>, offset: usize, depth: usize) -> Vec<String> {
    let arena = Bump::new();
    let Some(root) = view.tree(&arena) else {
        return Vec::new();
    };
    let outline = tree::outline(root);
    let around = tree::around_unfinished(&outline, offset as u32, depth);
    let start = around.last().copied().unwrap_or(offset as u32);
    tree::ids(&outline)
        .into_iter()
        .filter(|id| id.whole().start < start)
        .map(|id| id.text().to_string())
        .collect()
}

/// The variables that can be read at an offset, with a sentence about each.
fn variables(view: &View<'_>, offset: usize, place: &Place) -> Vec<(String, String)> {
    let settings = view.settings();
    let arena = Bump::new();
    let outline = view.tree(&arena).map(tree::outline).unwrap_or_default();
    let around = tree::around_unfinished(&outline, offset as u32, place.steps);
    let mut found: Vec<(String, String)> = Vec::new();
    for set in &settings {
        let known = found.iter().any(|(name, _)| name == set.name);
        if !known && names::is_visible(set, &outline, &around) {
            found.push((set.name.to_string(), super::sentence(set, view)));
        }
    }
    for name in view.reserved() {
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name.to_string(), "set by rrc itself".to_string()));
        }
    }
    found
}

/// The inside of a hole that is being written.
struct OpenHole<'a> {
    /// What has been written of the path, up to the cursor.
    path: &'a str,
    /// The name or filter under the cursor.
    word: Range<usize>,
    filter: bool,
    closed: &'a str,
}

fn open_hole(text: &str, offset: usize) -> Option<OpenHole<'_>> {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let open = start + text[start..offset].rfind("{{")?;
    let inside = &text[open + 2..offset];
    let part = |c: char| is_name(c) || matches!(c, '.' | '[' | ']' | '|');
    let escaped = text[..open].ends_with('\\') && !text[..open].ends_with("\\\\");
    if !inside.chars().all(part) || escaped {
        return None;
    }
    let word = offset - (inside.len() - inside.trim_end_matches(is_name).len());
    let after = &text[offset..];
    let end = text.len() - after.trim_start_matches(is_name).len();
    Some(OpenHole {
        path: &text[open + 2..word],
        word: word..end,
        filter: inside.contains('|'),
        closed: match &text.as_bytes()[end..] {
            [b'}', b'}', ..] | [b'.' | b'[' | b'|', ..] => "",
            [b'}', ..] => "}",
            _ => "}}",
        },
    })
}

fn in_hole(view: &View<'_>, offset: usize, place: &Place, hole: OpenHole<'_>) -> Vec<Completion> {
    let one = |label: &str, kind, detail: &str, doc: String| Completion {
        label: label.to_string(),
        kind,
        detail: detail.to_string(),
        doc,
        insert: format!("{label}{}", hole.closed),
        replace: hole.word.clone(),
    };
    if hole.filter {
        let all = Filter::ALL.iter().map(|filter| filter.word());
        return all
            .map(|word| one(word, CompletionKind::Filter, "filter", String::new()))
            .collect();
    }
    if let Some(path) = hole.path.strip_suffix('.') {
        return fields_of(view, path)
            .into_iter()
            .map(|name| one(name, CompletionKind::Variable, "field", String::new()))
            .collect();
    }
    if !hole.path.is_empty() {
        return Vec::new();
    }
    variables(view, offset, place)
        .into_iter()
        .map(|(name, doc)| one(&name, CompletionKind::Variable, "variable", doc))
        .collect()
}

/// The fields of a value that the file itself writes out.
fn fields_of<'a>(view: &View<'a>, path: &str) -> Vec<&'a str> {
    let mut names = path.split('.');
    let root = names.next().unwrap_or("");
    let mut value = view.settings().into_iter().find_map(|set| match set.how {
        How::Input(value) if set.name == root.split('[').next().unwrap_or("") => Some(value),
        _ => None,
    });
    let into = |value: Option<&'a Literal>, written: &str| match value {
        Some(Literal::List(items)) if written.contains('[') => items.first(),
        other => other,
    };
    value = into(value, root);
    for written in names {
        let name = written.split('[').next().unwrap_or("");
        value = match value {
            Some(Literal::Map(fields)) => fields
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value),
            _ => None,
        };
        value = into(value, written);
    }
    match value {
        Some(Literal::Map(fields)) => fields.iter().map(|(name, _)| name.as_str()).collect(),
        _ => Vec::new(),
    }
}
