//! What an editor asks about one place of a file, answered as plain data with byte offsets.
//!
//! Knows recipes and nothing of any protocol: no lines, no columns, no files. The tree is read
//! anew for every question; what the names mean comes from the program that was checked.

mod complete;
mod cursor;
mod names;
mod template;
#[cfg(test)]
mod tests;
mod tree;

pub use complete::complete;

use crate::codes::Code;
use crate::dialect::Dialect;
use crate::dialect::fields::RECIPE;
use crate::doc::shape::{Field, choices};
use crate::doc::{Node, json, yaml};
use crate::ir::{HOOK_NAMES, Literal, Program};
use crate::source::{SourceId, Span};
use bumpalo::Bump;
use names::{How, Setting};
use std::ops::Range;
use tree::Spot;

/// A file as it was checked: its text, and the program that it is the main file of.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub text: &'a str,
    pub source: SourceId,
    pub program: &'a Program,
    pub dialect: &'static Dialect,
    /// Whether the text is JSON instead of YAML.
    pub json: bool,
}

/// Text about a place, in Markdown.
#[derive(Clone, Debug, PartialEq)]
pub struct Hover {
    pub span: Span,
    pub text: String,
}

/// Where something is.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A place in one of the sources of the program.
    Place(Span),
    /// Another recipe, by the name that stands at the place.
    Recipe(String),
}

/// A step or a stage, and the steps in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    pub name: String,
    pub detail: String,
    pub stage: bool,
    pub whole: Span,
    /// The name as it is written; inside of `whole`.
    pub span: Span,
    pub children: Vec<Symbol>,
}

/// One thing that could be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    pub label: String,
    pub kind: CompletionKind,
    /// A few words beside the label.
    pub detail: String,
    /// A sentence, in Markdown.
    pub doc: String,
    /// What takes the place of the bytes of `replace`.
    pub insert: String,
    pub replace: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    Field,
    Value,
    Variable,
    Step,
    Filter,
}

impl<'a> View<'a> {
    fn tree<'b>(&self, arena: &'b Bump) -> Option<Node<'b>>
    where
        'a: 'b,
    {
        // What is wrong with the text has been said when it was checked.
        let mut unheard = crate::diagnostic::Report::default();
        let read = if self.json { json::read } else { yaml::read };
        read(arena, self.source, self.text, &mut unheard)
    }

    fn settings(&self) -> Vec<Setting<'a>> {
        names::settings(self.program)
    }

    /// Names that whoever runs the recipe sets.
    fn reserved(&self) -> Vec<&'static str> {
        let mut all = self.dialect.reserved.to_vec();
        let unit = self.program.units.first();
        let given = unit.map(|unit| unit.given.as_slice()).unwrap_or_default();
        all.extend(given.iter().filter(|name| !name.starts_with('_')));
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Whether a text that nobody has called a recipe is one: it has steps or a parent, or says
/// nothing that a recipe does not say. Editors show every YAML file there is.
pub fn is_recipe(text: &str, json: bool) -> bool {
    if json {
        return ["\"steps\"", "\"stages\"", "\"template\"", "\"atip\""]
            .iter()
            .any(|key| text.contains(key));
    }
    let mut strange = false;
    for line in text.lines() {
        let comment = line.strip_prefix('#').map(str::trim_start);
        if comment.is_some_and(|comment| comment.starts_with("rrc:")) {
            return true;
        }
        let Some((key, _)) = line.split_once(':') else {
            continue;
        };
        match key {
            "steps" | "stages" | "extends" => return true,
            key if !key.starts_with(|c: char| c.is_alphanumeric()) => {}
            key => {
                let hint = RECIPE.hints.iter().any(|(wrong, _)| *wrong == key);
                strange |= !hint && RECIPE.field(key).is_none() && !RECIPE.lets_through(key);
            }
        }
    }
    !strange
}

/// Whether a finding is about text that could as well not be there.
pub fn is_unnecessary(code: &Code) -> bool {
    code.name.starts_with("unused-") || code.name.starts_with("unreachable-")
}

/// What is known about the field or the variable at an offset.
pub fn hover(view: &View<'_>, offset: u32) -> Option<Hover> {
    if view.json {
        return template::hover(view, offset);
    }
    let arena = Bump::new();
    let root = view.tree(&arena)?;
    match tree::find(root, offset)? {
        Spot::Key {
            shape, name, span, ..
        } => {
            let field = shape.field(name)?;
            Some(Hover {
                span,
                text: describe(field, shape.what),
            })
        }
        Spot::Name { name, span } => about(view, root, name, span, offset),
        Spot::Value { field, owner, text } => {
            if let Some(used) = names::at(owner, field, text, view.dialect, offset) {
                return about(view, root, &used.name, used.span, offset);
            }
            let settings = view.settings();
            let set = settings.iter().find(|set| touches(set.span, offset))?;
            about(view, root, set.name, set.span, offset)
        }
    }
}

fn about(view: &View<'_>, root: Node<'_>, name: &str, span: Span, offset: u32) -> Option<Hover> {
    let settings = view.settings();
    let outline = tree::outline(root);
    let around = tree::around(&outline, offset);
    let mut lines: Vec<String> = relevant(&settings, name, &outline, &around)
        .into_iter()
        .map(|set| sentence(set, view))
        .collect();
    lines.dedup();
    if view.reserved().contains(&name) {
        lines.push("set by rrc itself".to_string());
    } else if HOOK_NAMES.contains(&name) && lines.is_empty() {
        lines.push("set by rrc itself while a hook runs".to_string());
    }
    let text = match lines.as_slice() {
        [] => return None,
        [line] => format!("`{name}`: {line}"),
        lines => format!("`{name}`\n\n- {}", lines.join("\n- ")),
    };
    Some(Hover { span, text })
}

/// Where a name gets its value: what is visible from a place, or else all there is.
fn relevant<'s, 'a>(
    settings: &'s [Setting<'a>],
    name: &str,
    outline: &[tree::Part<'_>],
    around: &[u32],
) -> Vec<&'s Setting<'a>> {
    let named: Vec<&Setting<'_>> = settings.iter().filter(|set| set.name == name).collect();
    let visible: Vec<&Setting<'_>> = named
        .iter()
        .copied()
        .filter(|set| names::is_visible(set, outline, around))
        .collect();
    if visible.is_empty() { named } else { visible }
}

fn sentence(set: &Setting<'_>, view: &View<'_>) -> String {
    let step = set.step;
    let mut words = match &set.how {
        How::Input(Literal::Null) => "set under `context`, without a value".to_string(),
        How::Input(value) => format!("set under `context`, by default `{}`", shown(value)),
        How::Output => format!("what the step `{step}` gives"),
        How::Stderr => format!("what the step `{step}` writes to stderr"),
        How::ExitCode => format!("the exit code of the step `{step}`"),
        How::Item => format!("the item of the loop `{step}`"),
        How::Collected => format!("the list of what the loop `{step}` gives"),
        How::Updated => format!("set after each iteration of the loop `{step}`"),
    };
    if set.span.source != view.source {
        words.push_str(", in another recipe");
    }
    words
}

/// A value in one short line that cannot end its backticks.
fn shown(value: &Literal) -> String {
    let mut text = json_of(value).to_string().replace('`', "'");
    if let Some((end, _)) = text.char_indices().nth(120) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn json_of(value: &Literal) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::from(*value),
        Literal::Int(value) => Value::from(*value),
        Literal::Float(value) => Value::from(*value),
        Literal::Text(text) => Value::from(text.as_str()),
        Literal::List(items) => items.iter().map(json_of).collect(),
        Literal::Map(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), json_of(value)))
            .collect(),
    }
}

/// A field as its table describes it.
fn describe(field: &Field, what: &str) -> String {
    let mut text = format!("**{}** ({what}): {}", field.name, field.doc);
    match choices(&field.ty) {
        Some(_) => text.push_str(&format!("\n\nOne of {}", field.ty.words())),
        None => text.push_str(&format!("\n\nHolds {}", field.ty.words())),
    }
    if !field.aliases.is_empty() {
        text.push_str(&format!("; also written `{}`", field.aliases.join("`, `")));
    }
    text
}

/// Where the thing at an offset comes from.
pub fn definition(view: &View<'_>, offset: u32) -> Vec<Target> {
    if view.json {
        return template::definition(view, offset);
    }
    let arena = Bump::new();
    let Some(root) = view.tree(&arena) else {
        return Vec::new();
    };
    let outline = tree::outline(root);
    let (field, owner, text) = match tree::find(root, offset) {
        Some(Spot::Value { field, owner, text }) => (field, owner, text),
        _ => return Vec::new(),
    };
    if let Some(used) = names::at(owner, field, text, view.dialect, offset) {
        let settings = view.settings();
        let around = tree::around(&outline, offset);
        let mut places: Vec<Span> = relevant(&settings, &used.name, &outline, &around)
            .into_iter()
            .map(|set| set.span)
            .collect();
        places.sort_unstable();
        places.dedup();
        return places.into_iter().map(Target::Place).collect();
    }
    match field.name {
        "recipe" | "extends" if !text.text().contains("{{") => {
            vec![Target::Recipe(text.text().to_string())]
        }
        "depends_on" => tree::ids(&outline)
            .into_iter()
            .filter(|id| id.text() == text.text())
            .map(|id| Target::Place(id.inner()))
            .collect(),
        _ => Vec::new(),
    }
}

/// Every place of this file that speaks of the variable or the step at an offset, in the order of
/// the text. With `settings`, those that give it its value or its name as well.
pub fn references(view: &View<'_>, offset: u32, settings: bool) -> Vec<Span> {
    if view.json {
        return template::references(view, offset, settings);
    }
    let arena = Bump::new();
    let Some(root) = view.tree(&arena) else {
        return Vec::new();
    };
    let all = view.settings();
    let mut found = Vec::new();
    let set_here = all
        .iter()
        .find(|set| set.span.source == view.source && touches(set.span, offset));
    let (variable, step) = match tree::find(root, offset) {
        Some(Spot::Value { field, owner, text }) => {
            let used = names::at(owner, field, text, view.dialect, offset);
            let is_step = matches!(field.name, "id" | "depends_on") && used.is_none();
            (
                used.map(|used| used.name),
                is_step.then(|| text.text().to_string()),
            )
        }
        _ => (None, None),
    };
    let variable = variable.or_else(|| set_here.map(|set| set.name.to_string()));
    if let Some(name) = variable {
        names::uses(root, view.dialect, &mut |used| {
            if used.name == name {
                found.push(used.span);
            }
        });
        if settings {
            let own = all.iter().filter(|set| set.span.source == view.source);
            found.extend(own.filter(|set| set.name == name).map(|set| set.span));
        }
    }
    if let Some(id) = step {
        let outline = tree::outline(root);
        let named = |text: &crate::doc::Text<'_>| text.text() == id;
        found.extend(
            tree::depended(&outline)
                .into_iter()
                .filter(named)
                .map(|text| text.inner()),
        );
        if settings {
            found.extend(
                tree::ids(&outline)
                    .into_iter()
                    .filter(named)
                    .map(|text| text.inner()),
            );
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Stages and steps, nested as they are written.
pub fn symbols(view: &View<'_>) -> Vec<Symbol> {
    if view.json {
        return template::symbols(view);
    }
    let arena = Bump::new();
    let Some(root) = view.tree(&arena) else {
        return Vec::new();
    };
    tree::outline(root).iter().map(symbol).collect()
}

fn symbol(part: &tree::Part<'_>) -> Symbol {
    let whole = part.node.span;
    let span = part.name.map_or(
        Span {
            end: whole.start,
            ..whole
        },
        |name| name.inner(),
    );
    let name = part.name.map(|name| name.text().trim()).unwrap_or_default();
    Symbol {
        name: if name.is_empty() { "?" } else { name }.to_string(),
        detail: part.kind.to_string(),
        stage: part.stage,
        whole: whole.to(span),
        span,
        children: part.children.iter().map(symbol).collect(),
    }
}

fn touches(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}
