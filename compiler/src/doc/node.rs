//! The spanned tree of a document, in an arena.
//!
//! A node says where it stands and what it holds, and nothing about what it means: `yes` is a plain
//! scalar with that text until somebody resolves it under a schema (see `scalar`).

use super::trace::Trace;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::collections::HashMap;
use std::ops::Range;

/// A value. Cheap to copy; an alias is the anchored node again, with the anchored node's spans.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    /// The value without anchor and tag. Of a quoted scalar, with its quotes; of a block scalar,
    /// its content without the header; of a value that is not written at all, empty.
    pub span: Span,
    pub kind: Kind<'a>,
    /// Where the alias stands through which this node was reached.
    pub alias: Option<Span>,
    /// Reading stopped inside this node: what it lacks may have been written.
    pub partial: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    Scalar(&'a Scalar<'a>),
    List(&'a [Node<'a>]),
    Map(&'a [Entry<'a>]),
    /// Something is written here that could not be understood. It has been reported; nothing more
    /// should be said about it.
    Broken,
}

/// A key and its value, in the order of the file. Keys are unique; `<<` has been applied.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub key: Node<'a>,
    pub value: Node<'a>,
}

#[derive(Clone, Copy, Debug)]
pub struct Scalar<'a> {
    /// The text after quotes, escapes, folding and indentation are taken away.
    pub text: &'a str,
    pub style: Style,
    /// `!!str` for a tag of YAML itself, else as resolved: `!secret`.
    pub tag: Option<&'a str>,
    pub(super) trace: Trace<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Single,
    Double,
    Literal,
    Folded,
}

impl<'a> Node<'a> {
    pub fn new(span: Span, kind: Kind<'a>) -> Node<'a> {
        Node {
            span,
            kind,
            alias: None,
            partial: false,
        }
    }

    pub fn scalar(&self) -> Option<&'a Scalar<'a>> {
        match self.kind {
            Kind::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&'a [Node<'a>]> {
        match self.kind {
            Kind::List(items) => Some(items),
            _ => None,
        }
    }

    pub fn map(&self) -> Option<&'a [Entry<'a>]> {
        match self.kind {
            Kind::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value under a key of a map.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let entry = self.map()?.iter().find(|entry| entry.is(key))?;
        Some(entry.value)
    }

    /// The text of a scalar, whatever it would resolve to.
    pub fn text(&self) -> Option<Text<'a>> {
        let scalar = self.scalar()?;
        Some(Text {
            text: scalar.text,
            whole: self.span,
            trace: scalar.trace,
            style: scalar.style,
        })
    }

    /// Whether a list is written here, and in brackets: then it ends behind its last item.
    pub fn is_flow_list(&self) -> bool {
        let ends_behind = |last: &Node<'_>| last.alias.is_none() && last.span.end < self.span.end;
        let items = self.list().filter(|_| self.alias.is_none());
        items.is_some_and(|items| items.last().is_none_or(ends_behind))
    }

    pub fn is_broken(&self) -> bool {
        matches!(self.kind, Kind::Broken)
    }
}

impl<'a> Entry<'a> {
    /// The key, if it is a scalar.
    pub fn name(&self) -> Option<&'a str> {
        self.key.scalar().map(|scalar| scalar.text)
    }

    pub fn is(&self, name: &str) -> bool {
        self.name() == Some(name)
    }
}

/// A decoded text that knows where each of its bytes was written.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    text: &'a str,
    whole: Span,
    trace: Trace<'a>,
    style: Style,
}

impl<'a> Text<'a> {
    /// A text that stands in its source as it is, at this span.
    pub fn plain(text: &'a str, span: Span) -> Text<'a> {
        Text {
            text,
            whole: span,
            trace: Trace::Straight(span.start),
            style: Style::Literal,
        }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    pub fn style(&self) -> Style {
        self.style
    }

    /// The scalar as written, with its quotes.
    pub fn whole(&self) -> Span {
        self.whole
    }

    /// The text as written, without its quotes.
    pub fn inner(&self) -> Span {
        self.span(0..self.text.len())
    }

    /// What the author wrote for a byte range of the decoded text. A range that cuts an escape
    /// covers the whole escape; one that cannot be traced is the whole scalar.
    pub fn span(&self, range: Range<usize>) -> Span {
        match self.trace.source(range, self.text.len()) {
            Some(found) => Span::new(self.whole.source, found.start, found.end),
            None => self.whole,
        }
    }

    /// Whether spans inside the text are exact.
    pub fn is_traced(&self) -> bool {
        !matches!(self.trace, Trace::Whole)
    }
}

/// Keys that were there before: the index of the repetition, and of the first. In order.
pub(super) fn repeated(entries: &[Entry<'_>]) -> Vec<(usize, usize)> {
    let mut again = Vec::new();
    if entries.len() <= 12 {
        for (index, entry) in entries.iter().enumerate() {
            let Some(name) = entry.name() else { continue };
            if let Some(earlier) = entries[..index].iter().position(|entry| entry.is(name)) {
                again.push((index, earlier));
            }
        }
    } else {
        let mut seen = HashMap::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let Some(name) = entry.name() else { continue };
            let earlier = *seen.entry(name).or_insert(index);
            if earlier != index {
                again.push((index, earlier));
            }
        }
    }
    again
}

pub(super) fn duplicate_key(again: &Entry<'_>, first: &Entry<'_>) -> Diagnostic {
    let name = again.name().unwrap_or("");
    let inner = |node: Node<'_>| node.text().map_or(node.span, |text| text.inner());
    Diagnostic::new(
        &codes::DUPLICATE_KEY,
        inner(again.key),
        format!("`{name}` stands twice in one map"),
    )
    .label(inner(first.key), "it stands here first")
    .help(match name {
        "<<" => "merge several maps with a list: `<<: [*a, *b]`",
        _ => "remove one of the two, or rename it",
    })
}
