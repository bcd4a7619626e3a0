//! Where a placeholder stands, and how it is written anew.

use super::words::Word;
use crate::diagnostic::{Applicability, Edit, Fix};
use crate::doc::{Node, Style, Text};
use crate::source::Span;
use std::ops::Range;

/// What stands between the braces of a placeholder, in a text or in a word of a command.
pub struct Spot<'s, 'a> {
    text: Text<'a>,
    word: Option<&'s Word>,
    start: usize,
}

impl<'s, 'a> Spot<'s, 'a> {
    pub fn of_text(text: Text<'a>, start: usize) -> Spot<'s, 'a> {
        Spot {
            text,
            word: None,
            start,
        }
    }

    pub fn of_word(text: Text<'a>, word: &'s Word, start: usize) -> Spot<'s, 'a> {
        Spot {
            text,
            word: Some(word),
            start,
        }
    }

    /// The part of the whole text that a part of the placeholder was read from.
    fn source(&self, part: Range<usize>) -> Range<usize> {
        let range = self.start + part.start..self.start + part.end;
        match self.word {
            Some(word) => word.source(range),
            None => range,
        }
    }

    /// Whether a quote stands before its first character.
    pub fn begins_quoted(&self) -> bool {
        let start = self.source(0..1).start;
        let before = self.text.text().get(..start).unwrap_or_default();
        before.ends_with(['"', '\''])
    }

    pub fn span(&self, part: Range<usize>) -> Span {
        self.text.span(self.source(part))
    }

    /// The edit that writes a part anew; none if quotes or backslashes stand inside of it, or if
    /// the new text cannot stand there.
    pub fn edit(&self, part: Range<usize>, new: &str) -> Option<Edit> {
        let length = part.len();
        let source = self.source(part);
        let same = source.len() == length;
        same.then(|| self.text.edit(source, new)).flatten()
    }
}

/// A fix of several edits; none if one of them cannot be made.
pub fn fix<const N: usize>(
    applicability: Applicability,
    message: impl Into<String>,
    edits: [Option<Edit>; N],
) -> Option<Fix> {
    Some(Fix {
        applicability,
        message: message.into(),
        edits: edits.into_iter().collect::<Option<Vec<Edit>>>()?,
    })
}

/// A fix that writes one name for another that is near it.
pub fn rename(written: &str, near: &str, edit: Option<Edit>) -> Option<Fix> {
    let edit = edit?;
    Some(Fix {
        edits: vec![edit.clone()],
        ..Fix::rename(written, near, edit.span)
    })
}

/// The edit that writes another value in the place of a whole scalar; none where what is written
/// there is text whatever it looks like, or belongs to another place as well.
pub fn instead(node: Node<'_>, value: &str) -> Option<Edit> {
    let scalar = node.scalar()?;
    let block = matches!(scalar.style, Style::Literal | Style::Folded);
    let free = !block && scalar.tag.is_none() && node.alias.is_none();
    free.then(|| Edit {
        span: node.span,
        text: value.to_string(),
    })
}
