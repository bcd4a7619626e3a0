//! Finding one's way in the tree of a recipe: what stands at an offset, and which steps there are.

use super::touches;
use crate::dialect::fields::{KINDS, RECIPE};
use crate::doc::fields::name_span;
use crate::doc::shape::{Field, Shape, Type, nested};
use crate::doc::{Kind, Node, Text};
use crate::source::Span;

/// The type of a whole file.
pub static ROOT: Type = Type::Nested(&RECIPE);

/// What stands at an offset.
pub enum Spot<'a> {
    /// The name of a field.
    Key {
        shape: &'static Shape,
        name: &'a str,
        span: Span,
    },
    /// A name that the author chose, in a map of such names.
    Name { name: &'a str, span: Span },
    /// A scalar in a field, at any depth.
    Value {
        field: &'static Field,
        /// The shape that the field belongs to.
        owner: &'static Shape,
        text: Text<'a>,
    },
}

/// Where the walk is: the type of a node, and the field it belongs to.
#[derive(Clone, Copy)]
struct At {
    ty: &'static Type,
    field: Option<(&'static Field, &'static Shape)>,
}

impl At {
    const ROOT: At = At {
        ty: &ROOT,
        field: None,
    };

    /// The value under a key; nothing for a key that nobody knows.
    fn under(self, name: &str) -> Option<At> {
        match (nested(self.ty), self.ty) {
            (Some(shape), _) => {
                let field = shape.field(name)?;
                Some(At {
                    ty: &field.ty,
                    field: Some((field, shape)),
                })
            }
            (None, Type::Map(inner)) => Some(At { ty: inner, ..self }),
            (None, _) => Some(self),
        }
    }

    fn item(self) -> At {
        match self.ty {
            Type::List(inner) => At { ty: inner, ..self },
            _ => self,
        }
    }
}

pub fn find(root: Node<'_>, offset: u32) -> Option<Spot<'_>> {
    find_in(root, At::ROOT, offset)
}

fn find_in(node: Node<'_>, at: At, offset: u32) -> Option<Spot<'_>> {
    // An alias is a copy of what stands elsewhere, with the spans of elsewhere.
    if node.alias.is_some() || !touches(node.span, offset) {
        return None;
    }
    match node.kind {
        Kind::Broken => None,
        Kind::List(items) => items
            .iter()
            .find_map(|item| find_in(*item, at.item(), offset)),
        Kind::Map(entries) => entries.iter().find_map(|entry| {
            let name = entry.name()?;
            let span = name_span(entry.key);
            if touches(span, offset) {
                return Some(match nested(at.ty) {
                    Some(shape) => Spot::Key { shape, name, span },
                    None => Spot::Name { name, span },
                });
            }
            find_in(entry.value, at.under(name)?, offset)
        }),
        Kind::Scalar(_) => {
            let (field, owner) = at.field?;
            let text = node.text()?;
            Some(Spot::Value { field, owner, text })
        }
    }
}

/// Every scalar that stands in a field, in the order of the file.
pub fn scalars<'a>(
    root: Node<'a>,
    visit: &mut dyn FnMut(&'static Shape, &'static Field, Text<'a>),
) {
    scalars_in(root, At::ROOT, visit);
}

fn scalars_in<'a>(
    node: Node<'a>,
    at: At,
    visit: &mut dyn FnMut(&'static Shape, &'static Field, Text<'a>),
) {
    if node.alias.is_some() {
        return;
    }
    match node.kind {
        Kind::Broken => {}
        Kind::List(items) => items
            .iter()
            .for_each(|item| scalars_in(*item, at.item(), visit)),
        Kind::Map(entries) => {
            for entry in entries {
                if let Some(below) = entry.name().and_then(|name| at.under(name)) {
                    scalars_in(entry.value, below, visit);
                }
            }
        }
        Kind::Scalar(_) => {
            if let (Some((field, owner)), Some(text)) = (at.field, node.text()) {
                visit(owner, field, text);
            }
        }
    }
}

/// A step or a stage.
pub struct Part<'a> {
    pub node: Node<'a>,
    pub name: Option<Text<'a>>,
    pub stage: bool,
    pub kind: &'a str,
    pub children: Vec<Part<'a>>,
}

pub fn outline(root: Node<'_>) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for stage in list(root, "stages") {
        parts.push(Part {
            node: stage,
            name: stage.get("name").and_then(|name| name.text()),
            stage: true,
            kind: "stage",
            children: steps(stage),
        });
    }
    parts.extend(steps(root));
    parts
}

fn steps(of: Node<'_>) -> Vec<Part<'_>> {
    let all = list(of, "steps").chain(list(of, "while_steps"));
    all.map(|step| Part {
        node: step,
        name: step.get("id").and_then(|id| id.text()),
        stage: false,
        kind: kind(step),
        children: steps(step),
    })
    .collect()
}

fn list<'a>(of: Node<'a>, key: &str) -> impl Iterator<Item = Node<'a>> + use<'a> {
    let items = of.get(key).and_then(|list| list.list()).unwrap_or_default();
    items
        .iter()
        .copied()
        .filter(|item| item.alias.is_none() && item.map().is_some())
}

/// A word for what a step does, as far as its fields say.
fn kind(step: Node<'_>) -> &str {
    if step.get("foreach").is_some() || step.get("while_condition").is_some() {
        return "loop";
    }
    if let Some(named) = step.get("type").and_then(|kind| kind.text()) {
        return named.text();
    }
    let has = |field: &&str| step.get(field).is_some();
    let known = KINDS.iter().find(|(_, own)| own.iter().any(&has));
    known.map_or("step", |(kind, _)| kind)
}

/// Where the steps begin that an offset is in, outermost first.
pub fn around(outline: &[Part<'_>], offset: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut level = outline;
    while let Some(part) = level.iter().find(|part| touches(part.node.span, offset)) {
        if !part.stage {
            found.push(part.node.span.start);
        }
        level = &part.children;
    }
    found
}

/// The same for an offset where the text may not be finished: the last `depth` steps to begin.
pub fn around_unfinished(outline: &[Part<'_>], offset: u32, depth: usize) -> Vec<u32> {
    let mut found = Vec::new();
    let mut level = outline;
    while found.len() < depth {
        let before = |part: &&Part<'_>| part.node.span.start <= offset;
        let Some(part) = level.iter().rfind(before) else {
            break;
        };
        if !part.stage {
            found.push(part.node.span.start);
        }
        level = &part.children;
    }
    found
}

/// The ids of all steps, in the order of the file.
pub fn ids<'a>(outline: &[Part<'a>]) -> Vec<Text<'a>> {
    let mut found = Vec::new();
    each(outline, &mut |part| found.extend(part.name));
    found
}

/// The names of steps that other steps depend on.
pub fn depended<'a>(outline: &[Part<'a>]) -> Vec<Text<'a>> {
    let mut found = Vec::new();
    each(outline, &mut |part| {
        let names = part.node.get("depends_on").and_then(|names| names.list());
        let names = names.unwrap_or_default();
        found.extend(names.iter().filter_map(|name| name.text()));
    });
    found
}

fn each<'a>(outline: &[Part<'a>], visit: &mut dyn FnMut(&Part<'a>)) {
    for part in outline {
        if !part.stage {
            visit(part);
        }
        each(&part.children, visit);
    }
}
