//! Asking a map for what its shape says it should hold.
//!
//! What is wrong is reported and then treated as absent, so that nothing built on it complains
//! again. Knows no field by name: names are in the shapes of the dialects.

use super::node::{Entry, Kind, Node, Text};
use super::scalar::{Plain, Schema, is_null, resolve};
use super::shape::{Field, Shape, Type, bounds, choices, nested};
pub use super::wrong::{article, describe, name_span, text_of, wrong_quantity, wrong_type};
use super::wrong::{meant, without_blank};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Label, Report, is_plural, is_slip, nearest};
use crate::source::Span;
use smallvec::SmallVec;
use std::ops::RangeInclusive;

/// Whether a value could be one of this type, as far as its form shows.
fn takes(ty: &Type, node: Node<'_>) -> bool {
    match (ty, node.kind) {
        (Type::Any, _) | (_, Kind::Broken) => true,
        (Type::OneOf(types), _) => types.iter().any(|ty| takes(ty, node)),
        (Type::List(_), kind) => matches!(kind, Kind::List(_)),
        (Type::Map(_) | Type::Nested(_), kind) => matches!(kind, Kind::Map(_)),
        (_, kind) => matches!(kind, Kind::Scalar(_)),
    }
}

/// Says more exactly what to write than the finding that was just made about a value.
fn advise(help: Option<String>, node: Node<'_>, report: &mut Report) {
    let last = report.findings.last_mut();
    if let (Some(help), Some(last)) = (help, last.filter(|last| last.span == node.span)) {
        last.help = Some(help);
    }
}

/// Whether a text needs no quotes, wherever it stands.
fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(plain)
}

fn holds_maps(node: Node<'_>) -> bool {
    let entries = node.map().unwrap_or_default();
    entries.iter().any(|entry| entry.value.map().is_some())
}

/// A map that has been held against its shape.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    shape: &'static Shape,
    node: Node<'a>,
    schema: Schema,
    /// The fields that are there, by their places in the shape: far fewer than it has.
    found: SmallVec<[Found<'a>; 8]>,
    /// The marks of their names: most fields that are asked for are not there.
    marks: u64,
}

#[derive(Clone, Copy, Debug)]
struct Found<'a> {
    mark: u64,
    index: usize,
    entry: &'a Entry<'a>,
    /// Null is absent, and so is what could not be read.
    absent: bool,
}

/// One bit that a name has; others may have the same, but the names that steps have most hardly share
/// theirs.
#[inline]
const fn mark(name: &str) -> u64 {
    let ends = match name.as_bytes() {
        [] => 0,
        [only] => 14 * *only as usize,
        [first, .., last] => 9 * *first as usize + 5 * *last as usize,
    };
    1 << ((ends + 8 * name.len()) % 64)
}

/// What [`Fields::may_have`] asks for several names.
#[derive(Clone, Copy, Debug)]
pub struct Marks(u64);

impl Marks {
    pub const NONE: Marks = Marks(0);

    pub const fn and(self, name: &str) -> Marks {
        Marks(self.0 | mark(name))
    }
}

impl<'a> Fields<'a> {
    /// Holds a node against a shape. What is no map, and what the shape does not know, is
    /// reported; asking goes on as if it were not there.
    pub fn new(
        shape: &'static Shape,
        node: Node<'a>,
        schema: Schema,
        report: &mut Report,
    ) -> Fields<'a> {
        let mut fields = Fields {
            shape,
            node,
            schema,
            found: SmallVec::new(),
            marks: 0,
        };
        let Kind::Map(entries) = node.kind else {
            wrong_type(&article(shape.what), "a map", node, schema, report);
            advise(without_blank(shape, node), node, report);
            return fields;
        };
        let mut strange = Vec::new();
        for entry in entries {
            fields.place(entry, &mut strange, report);
        }
        fields.strange(&strange, report);
        fields
    }

    fn place(
        &mut self,
        entry: &'a Entry<'a>,
        strange: &mut Vec<&'a Entry<'a>>,
        report: &mut Report,
    ) {
        let Some(name) = entry.name() else {
            return wrong_type(
                "the name of a field",
                "text",
                entry.key,
                self.schema,
                report,
            );
        };
        let Some(index) = self.shape.index(name) else {
            if self.shape.lets_through(name) {
                return;
            }
            match self.better(name) {
                Some(better) => {
                    self.unknown(name, entry, Some(better), report);
                    self.read_on(name, better, entry);
                }
                None => strange.push(entry),
            }
            return;
        };
        match self.found.iter().find(|known| known.index == index) {
            None => self.keep(index, entry),
            Some(Found { entry: first, .. }) => report.add(
                Diagnostic::new(
                    &codes::EXCLUSIVE_FIELDS,
                    name_span(entry.key),
                    format!(
                        "`{name}` and `{}` are names of the same field",
                        first.name().unwrap_or_default()
                    ),
                )
                .label(name_span(first.key), "it stands here first")
                .help("keep one of the two"),
            ),
        }
    }

    /// What stands under a name with a slip in it is taken for what was meant: that it is missing,
    /// and all that needs it, is no second mistake.
    fn read_on(&mut self, name: &str, better: &'static str, entry: &'a Entry<'a>) {
        let near = is_slip(name, better) || is_plural(name, better);
        let Some(index) = self.shape.index(better).filter(|_| near) else {
            return;
        };
        let field = &self.shape.fields[index];
        if !self.written(field) && takes(&field.ty, entry.value) {
            self.keep(index, entry);
        }
    }

    fn keep(&mut self, index: usize, entry: &'a Entry<'a>) {
        let mark = mark(self.shape.fields[index].name);
        self.marks |= mark;
        let absent = match entry.value.kind {
            Kind::Broken => true,
            Kind::Scalar(scalar) => is_null(scalar, self.schema),
            _ => false,
        };
        self.found.push(Found {
            mark,
            index,
            entry,
            absent,
        });
    }

    /// Fields that are like none of the shape. Where there are many, they all have the same cause.
    fn strange(&self, keys: &[&'a Entry<'a>], report: &mut Report) {
        const OFTEN: usize = 3;
        for (number, entry) in keys.iter().enumerate().take(OFTEN) {
            self.unknown(entry.name().unwrap_or(""), entry, None, report);
            let rest = keys.len() - number - 1;
            if number + 1 == OFTEN
                && rest > 0
                && let Some(last) = report.findings.last_mut()
            {
                last.message = format!("{}, nor any of {rest} others", last.message);
                for entry in &keys[OFTEN..] {
                    let name = entry.name().unwrap_or("");
                    let message = format!("nor `{name}`");
                    last.about.push(name.into());
                    last.labels.push(Label {
                        span: name_span(entry.key),
                        message,
                    });
                }
            }
        }
    }

    fn unknown(
        &self,
        name: &str,
        entry: &Entry<'a>,
        better: Option<&'static str>,
        report: &mut Report,
    ) {
        let span = name_span(entry.key);
        let found = Diagnostic::new(
            &codes::UNKNOWN_FIELD,
            span,
            format!("{} has no field `{name}`", article(self.shape.what)),
        )
        .about(name);
        report.add(match better {
            Some(advice) if advice.contains(' ') => found.help(advice),
            Some(better) => self.rename(found, entry, better),
            None => {
                let names: Vec<String> = self
                    .shape
                    .fields
                    .iter()
                    .map(|field| format!("`{}`", field.name))
                    .collect();
                found.help(if names.len() <= 12 {
                    format!("{} has {}", article(self.shape.what), names.join(", "))
                } else {
                    "remove it, or put it under `x-…` if it is a note".to_owned()
                })
            }
        });
    }

    /// The advice to write another name, and the fix where that alone is enough.
    fn rename(&self, found: Diagnostic, entry: &Entry<'a>, better: &'static str) -> Diagnostic {
        let field = self.shape.field(better);
        // Renaming to a name that is there already would only move the mistake.
        if field.is_some_and(|field| self.written(field)) {
            return found.help(format!(
                "`{better}` is there already: move what is missing to it, and remove this"
            ));
        }
        let span = name_span(entry.key);
        let name = entry.name().unwrap_or_default();
        match field {
            Some(field) if !takes(&field.ty, entry.value) => {
                let words = field.ty.words();
                found.help(format!("`{better}` is the name, and takes {words}"))
            }
            // Declarations of values are not values.
            Some(field) if matches!(field.ty, Type::Map(_)) && holds_maps(entry.value) => {
                found.help(format!("write `{better}`, with a value for each name"))
            }
            _ => found
                .help(format!("write `{better}`"))
                .fix(match self.hint(name) {
                    Some(_) => Fix::safe(format!("write `{better}`"), span, better),
                    None => Fix::rename(name, better, span),
                }),
        }
    }

    /// The field that is meant by a name that is none, or advice in words.
    fn better(&self, name: &str) -> Option<&'static str> {
        let elsewhere = || {
            let shapes = self.shape.elsewhere.iter();
            let mut known = shapes.filter(|(shape, _)| shape.field(name).is_some());
            known.next().map(|(_, advice)| *advice)
        };
        self.hint(name)
            .or_else(elsewhere)
            .or_else(|| nearest(name, self.shape.names()))
    }

    /// What is known to be meant by a name that others use.
    fn hint(&self, name: &str) -> Option<&'static str> {
        let hint = self.shape.hints.iter().find(|(wrong, _)| *wrong == name);
        hint.map(|(_, better)| *better)
    }

    /// Whether a field stands there under a wrong name, which has been said.
    fn misspelt(&self, name: &str) -> bool {
        let entries = self.node.map().unwrap_or_default();
        entries.iter().filter_map(Entry::name).any(|written| {
            let unknown = self.shape.field(written).is_none() && !self.shape.lets_through(written);
            unknown && self.better(written) == Some(name)
        })
    }

    fn written(&self, field: &Field) -> bool {
        self.node.map().is_some_and(|entries| {
            entries.iter().any(|entry| {
                entry.is(field.name) || field.aliases.iter().any(|alias| entry.is(alias))
            })
        })
    }

    pub fn shape(&self) -> &'static Shape {
        self.shape
    }

    /// The map itself.
    pub fn whole(&self) -> Node<'a> {
        self.node
    }

    /// Whether there is a map at all.
    pub fn is_map(&self) -> bool {
        self.node.map().is_some()
    }

    /// Whether any of several fields may be there; where there is none, they need not be asked for.
    #[inline]
    pub fn may_have(&self, names: Marks) -> bool {
        self.marks & names.0 != 0
    }

    #[inline]
    fn slot(&self, name: &str) -> Option<Found<'a>> {
        match self.marks & mark(name) {
            0 => None,
            _ => self.search(name),
        }
    }

    fn search(&self, name: &str) -> Option<Found<'a>> {
        debug_assert!(
            self.shape.fields.iter().any(|field| field.name == name),
            "a shape names every field it is asked for"
        );
        let alike = mark(name);
        let is_meant = |found: &&Found<'a>| {
            let known = self.shape.fields[found.index].name;
            found.mark == alike && (std::ptr::eq(known, name) || known == name)
        };
        self.found.iter().find(is_meant).copied()
    }

    /// Key and value as written, even if the value is null or unreadable.
    #[inline]
    pub fn entry(&self, name: &str) -> Option<&'a Entry<'a>> {
        self.slot(name).map(|found| found.entry)
    }

    /// The value, if one is given: null is absent, and so is what could not be read.
    #[inline]
    pub fn node(&self, name: &str) -> Option<Node<'a>> {
        self.present(name).map(|(_, node)| node)
    }

    #[inline]
    pub fn has(&self, name: &str) -> bool {
        self.node(name).is_some()
    }

    /// The name of the field as written, without its colon and quotes.
    #[inline]
    pub fn key_span(&self, name: &str) -> Option<Span> {
        self.entry(name).map(|entry| name_span(entry.key))
    }

    /// The value as written.
    #[inline]
    pub fn value_span(&self, name: &str) -> Option<Span> {
        self.entry(name).map(|entry| entry.value.span)
    }

    /// The place to speak of the map as a whole: its first key.
    pub fn head(&self) -> Span {
        match self.node.kind {
            Kind::Map([first, ..]) if self.node.alias.is_none() => name_span(first.key),
            Kind::Map([]) => self.node.span,
            _ => self.node.alias.unwrap_or(self.node.span),
        }
    }

    /// The value of a field that must be there.
    pub fn require(&self, name: &str, report: &mut Report) -> Option<Node<'a>> {
        if let Some(node) = self.node(name) {
            return Some(node);
        }
        let written = self.entry(name);
        let broken = written.is_some_and(|entry| entry.value.is_broken());
        if broken || (written.is_none() && self.node.partial) || !self.is_map() {
            return None;
        }
        if written.is_none() && self.misspelt(name) {
            return None;
        }
        let doc = self.shape.field(name).map_or("", |field| field.doc);
        report.add(match written {
            Some(entry) => Diagnostic::new(
                &codes::MISSING_FIELD,
                name_span(entry.key),
                format!("`{name}` of this {} is empty", self.shape.what),
            )
            .help(format!("give it a value: {doc}")),
            None => Diagnostic::new(
                &codes::MISSING_FIELD,
                self.head(),
                format!("this {} has no `{name}`", self.shape.what),
            )
            .help(format!("add `{name}`: {doc}")),
        });
        None
    }

    /// What the author calls a field; a misspelt name is nobody's word for it.
    pub fn word<'n>(&self, name: &'n str) -> &'n str
    where
        'a: 'n,
    {
        let written = self.entry(name).and_then(Entry::name);
        let known = |written: &&'a str| self.shape.index(written).is_some();
        written.filter(known).unwrap_or(name)
    }

    fn wrong(&self, field: &Field, must: &str, node: Node<'a>, report: &mut Report) {
        wrong_quantity(
            &format!("`{}`", self.word(field.name)),
            must,
            field.unit(),
            node,
            self.schema,
            report,
        );
        advise(meant(field, node, self.schema), node, report);
    }

    #[inline]
    pub fn present(&self, name: &str) -> Option<(&'static Field, Node<'a>)> {
        match self.marks & mark(name) {
            0 => None,
            _ => self.given(name),
        }
    }

    fn given(&self, name: &str) -> Option<(&'static Field, Node<'a>)> {
        let found = self.search(name).filter(|found| !found.absent)?;
        Some((&self.shape.fields[found.index], found.entry.value))
    }

    /// A scalar as text; numbers and booleans as they are written.
    #[inline]
    pub fn text(&self, name: &str, report: &mut Report) -> Option<Text<'a>> {
        let (field, node) = self.present(name)?;
        self.as_text(field, node, report)
    }

    fn as_text(&self, field: &Field, node: Node<'a>, report: &mut Report) -> Option<Text<'a>> {
        let text = node.text();
        if text.is_none() {
            self.wrong(field, "text", node, report);
        }
        text
    }

    #[inline]
    pub fn boolean(&self, name: &str, report: &mut Report) -> Option<bool> {
        let (field, node) = self.present(name)?;
        self.as_boolean(field, node, report)
    }

    fn as_boolean(&self, field: &Field, node: Node<'a>, report: &mut Report) -> Option<bool> {
        let Kind::Scalar(scalar) = node.kind else {
            self.wrong(field, "true or false", node, report);
            return None;
        };
        if let Plain::Bool(value) = resolve(scalar, self.schema) {
            return Some(value);
        }
        let word = scalar.text.trim();
        let is = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
        let meant = if is(&["true", "yes", "on"]) {
            Some("true")
        } else if is(&["false", "no", "off"]) {
            Some("false")
        } else {
            None
        };
        let found = Diagnostic::new(
            &codes::WRONG_TYPE,
            node.span,
            format!(
                "`{}` must be true or false, not {}",
                field.name,
                describe(node, self.schema)
            ),
        );
        report.add(match meant {
            Some(meant) => found
                .help(format!("write `{meant}` without quotes"))
                .fix(Fix::safe(format!("write `{meant}`"), node.span, meant)),
            None => found.help("write `true` or `false`"),
        });
        None
    }

    /// A whole number, also written as text, within the bounds of its field.
    #[inline]
    pub fn integer(&self, name: &str, report: &mut Report) -> Option<i64> {
        let (field, _) = self.present(name)?;
        let (min, max) = bounds(&field.ty).unwrap_or((i64::MIN, i64::MAX));
        self.integer_within(name, min..=max, report)
    }

    /// The same within bounds that not only the field decides.
    pub fn integer_within(
        &self,
        name: &str,
        range: RangeInclusive<i64>,
        report: &mut Report,
    ) -> Option<i64> {
        let (field, node) = self.present(name)?;
        let value = match node.kind {
            Kind::Scalar(scalar) => match resolve(scalar, self.schema) {
                Plain::Int(value) => Some(value),
                Plain::Float(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
                    Some(value as i64)
                }
                Plain::Text => scalar.text.trim().parse().ok(),
                _ => None,
            },
            _ => None,
        };
        let Some(value) = value else {
            self.wrong(field, "a whole number", node, report);
            return None;
        };
        if range.contains(&value) {
            return Some(value);
        }
        let limit = match value < *range.start() {
            true => format!("at least {}", range.start()),
            false => format!("at most {}", range.end()),
        };
        report.add(
            Diagnostic::new(
                &codes::BAD_VALUE,
                name_span(node),
                format!("`{}` must be {limit}, not {value}", field.name),
            )
            .help(format!("write a number that is {limit}")),
        );
        None
    }

    /// A number, also written as text.
    pub fn number(&self, name: &str, report: &mut Report) -> Option<f64> {
        let (field, node) = self.present(name)?;
        let value = match node.kind {
            Kind::Scalar(scalar) => match resolve(scalar, self.schema) {
                Plain::Int(value) => Some(value as f64),
                Plain::Float(value) => Some(value),
                Plain::Text => scalar.text.trim().parse().ok(),
                _ => None,
            },
            _ => None,
        };
        let finite = value.filter(|value| value.is_finite());
        match value {
            Some(endless) if finite.is_none() => {
                let message = format!("`{}` must be a finite number, not `{endless}`", field.name);
                report.add(
                    Diagnostic::new(&codes::BAD_VALUE, name_span(node), message)
                        .help("write a number, or leave the field out"),
                );
            }
            Some(_) => {}
            None => self.wrong(field, "a number", node, report),
        }
        finite
    }

    /// One of the words of a field of type [`Type::Choice`].
    pub fn choice(&self, name: &str, report: &mut Report) -> Option<&'static str> {
        let (field, node) = self.present(name)?;
        let words = choices(&field.ty)?;
        let must = || Type::Choice(words).words();
        let Some(text) = node.text() else {
            self.wrong(field, &must(), node, report);
            return None;
        };
        if let Some(word) = words.iter().find(|word| **word == text.text()) {
            return Some(word);
        }
        let found = Diagnostic::new(
            &codes::BAD_VALUE,
            text.inner(),
            format!("`{}` must be {}, not `{}`", field.name, must(), text.text()),
        );
        report.add(match nearest(text.text(), words.iter().copied()) {
            Some(better) => found.help(format!("write `{better}`")).fix(Fix::rename(
                text.text(),
                better,
                text.inner(),
            )),
            None => found.help(format!("write {}", must())),
        });
        None
    }

    pub fn list(&self, name: &str, report: &mut Report) -> Option<&'a [Node<'a>]> {
        let (field, node) = self.present(name)?;
        let list = node.list();
        if list.is_none() {
            self.wrong(field, "a list", node, report);
            let of_words = matches!(field.ty, Type::List(Type::Text | Type::Name));
            if let Some(text) = node.text().filter(|text| is_word(text.text()))
                && of_words
                && let Some(last) = report.findings.last_mut()
            {
                let one = format!("[{}]", text.text());
                last.help = Some(format!("write `{one}`, a list of one"));
                last.fix = Some(Fix::safe(format!("write `{one}`"), node.span, one));
            }
        }
        list
    }

    pub fn map(&self, name: &str, report: &mut Report) -> Option<&'a [Entry<'a>]> {
        let (field, node) = self.present(name)?;
        let map = node.map();
        if map.is_none() {
            self.wrong(field, "a map", node, report);
        }
        map
    }

    /// Holds fields against their types, for those that nobody asks for.
    pub fn check(&self, names: &[&str], report: &mut Report) {
        for name in names {
            let Some(found) = self.slot(name) else {
                continue;
            };
            match &self.shape.fields[found.index].ty {
                Type::Text | Type::Name => drop(self.text(name, report)),
                Type::Bool => drop(self.boolean(name, report)),
                Type::Int { .. } => drop(self.integer(name, report)),
                Type::Number => drop(self.number(name, report)),
                Type::Choice(_) => drop(self.choice(name, report)),
                Type::List(Type::Text | Type::Name) => {
                    for item in self.list(name, report).unwrap_or_default() {
                        let what = format!("an item of `{name}`");
                        text_of(&what, *item, self.schema, report);
                    }
                }
                Type::List(_) => drop(self.list(name, report)),
                Type::Map(_) => drop(self.map(name, report)),
                Type::Nested(shape) => {
                    if let Some(nested) = self.nested(name, report) {
                        let all: Vec<&str> = shape.fields.iter().map(|field| field.name).collect();
                        nested.check(&all, report);
                    }
                }
                Type::OneOf(_) | Type::Any => {}
            }
        }
    }

    /// The fields of a field of type [`Type::Nested`].
    pub fn nested(&self, name: &str, report: &mut Report) -> Option<Fields<'a>> {
        let (field, node) = self.present(name)?;
        let shape = nested(&field.ty)?;
        if node.map().is_none() {
            self.wrong(field, "a map", node, report);
            return None;
        }
        Some(Fields::new(shape, node, self.schema, report))
    }
}

#[cfg(test)]
mod tests;
