//! Source texts, and places in them.
//!
//! A [`Span`] is a byte range of one source. Lines and columns exist only at the edge, where a
//! report is written; nothing else in the compiler counts lines.

use std::sync::Arc;

/// Which source a span is in. Small and copyable, so that every node can carry one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A byte range of a source: inside it, and on character boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    pub source: SourceId,
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(source: SourceId, start: usize, end: usize) -> Span {
        debug_assert!(start <= end);
        Span {
            source,
            start: start as u32,
            end: end as u32,
        }
    }

    /// The empty span at the start of a source, for findings about a file as a whole.
    pub fn top(source: SourceId) -> Span {
        Span {
            source,
            start: 0,
            end: 0,
        }
    }

    /// The smallest span that covers both, which must be of one source.
    pub fn to(self, other: Span) -> Span {
        debug_assert_eq!(self.source, other.source);
        Span {
            source: self.source,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    pub fn contains(self, offset: u32) -> bool {
        self.start <= offset && offset < self.end
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A place as people and editors count it: lines and columns from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u32,
    pub column: u32,
    pub offset: u32,
}

/// One text: a file, standard input, or an expression from the command line.
#[derive(Clone, Debug)]
pub struct Source {
    /// How the user named it; what reports print.
    pub name: String,
    /// The text. Of a file that is not UTF-8, the lossy text: offsets up to the first bad byte hold.
    pub text: Arc<str>,
    line_starts: Vec<u32>,
}

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<Arc<str>>) -> Source {
        let text = text.into();
        let mut line_starts = vec![0];
        line_starts.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, b)| *b == b'\n')
                .map(|(at, _)| at as u32 + 1),
        );
        Source {
            name: name.into(),
            text,
            line_starts,
        }
    }

    pub fn place(&self, offset: u32) -> Place {
        let offset = offset.min(self.text.len() as u32);
        let line = self.line_starts.partition_point(|start| *start <= offset) - 1;
        let start = self.line_starts[line] as usize;
        let before = self.text.get(start..offset as usize).unwrap_or("");
        Place {
            line: line as u32 + 1,
            column: before.chars().count() as u32 + 1,
            offset,
        }
    }

    /// The text of a line (from 1), without its line break.
    pub fn line(&self, number: u32) -> &str {
        let index = (number.max(1) - 1) as usize;
        let start = self
            .line_starts
            .get(index)
            .copied()
            .unwrap_or(self.text.len() as u32) as usize;
        let end = self
            .line_starts
            .get(index + 1)
            .map_or(self.text.len(), |next| *next as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    pub fn line_count(&self) -> u32 {
        self.line_starts.len() as u32
    }
}

/// All sources of one compilation, in the order they were read.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    all: Vec<Source>,
}

impl Sources {
    pub fn add(&mut self, source: Source) -> SourceId {
        self.all.push(source);
        SourceId(self.all.len() as u32 - 1)
    }

    pub fn get(&self, id: SourceId) -> &Source {
        &self.all[id.0 as usize]
    }

    pub fn text(&self, span: Span) -> &str {
        self.get(span.source).text.get(span.range()).unwrap_or("")
    }

    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.all
            .iter()
            .enumerate()
            .map(|(index, source)| (SourceId(index as u32), source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_offsets_count_bytes() {
        let source = Source::new("a", "ab\n😀x\r\n");
        assert_eq!(
            source.place(7),
            Place {
                line: 2,
                column: 2,
                offset: 7
            }
        );
        assert_eq!(
            source.place(99),
            Place {
                line: 3,
                column: 1,
                offset: 10
            }
        );
        assert_eq!(source.line(2), "😀x");
    }
}
