//! Source texts, and places in them.
//!
//! A [`Span`] is a byte range of one source. Lines and columns exist only at the edge, where a
//! report is written; nothing else in the compiler counts lines.

use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

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
    pub text: Arc<String>,
    /// Where lines begin, once somebody asks: most sources are never reported on.
    line_starts: OnceLock<Vec<u32>>,
    /// How many characters begin before each block of bytes, once a column was asked for: a file
    /// may be one line, and have a finding in every word of it.
    characters: OnceLock<Vec<u32>>,
}

/// Bytes between two places whose characters are counted ahead.
const BLOCK: usize = 4096;

impl Source {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source {
            name: name.into(),
            text: Arc::new(text.into()),
            line_starts: OnceLock::new(),
            characters: OnceLock::new(),
        }
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            let breaks = memchr::memchr_iter(b'\n', self.text.as_bytes());
            let after = breaks.map(|at| at as u32 + 1);
            std::iter::once(0).chain(after).collect()
        })
    }

    /// How many characters begin before an offset.
    fn characters_before(&self, offset: usize) -> u32 {
        let begin = |bytes: &[u8]| bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u32;
        let bytes = self.text.as_bytes();
        let blocks = self.characters.get_or_init(|| {
            let mut count = 0;
            let counted = bytes.chunks(BLOCK).map(|block| {
                let before = count;
                count += begin(block);
                before
            });
            counted.collect()
        });
        let block = (offset / BLOCK).min(blocks.len().saturating_sub(1));
        let before = blocks.get(block).copied().unwrap_or(0);
        before + begin(bytes.get(block * BLOCK..offset).unwrap_or_default())
    }

    /// The line (from 1) that an offset is in.
    pub fn line_at(&self, offset: u32) -> u32 {
        let offset = offset.min(self.text.len() as u32);
        let starts = self.line_starts();
        starts.partition_point(|start| *start <= offset) as u32
    }

    pub fn place(&self, offset: u32) -> Place {
        let offset = offset.min(self.text.len() as u32);
        let line = self.line_at(offset);
        let start = self.line_start(line);
        let column = match offset as usize - start {
            near if near <= BLOCK => self
                .text
                .get(start..offset as usize)
                .map_or(0, |before| before.chars().count() as u32),
            _ => self.characters_before(offset as usize) - self.characters_before(start),
        };
        Place {
            line,
            column: column + 1,
            offset,
        }
    }

    /// Where a line (from 1) begins.
    pub fn line_start(&self, number: u32) -> usize {
        let start = self.line_starts().get((number.max(1) - 1) as usize);
        start.map_or(self.text.len(), |start| *start as usize)
    }

    /// The text of a line (from 1), without its line break.
    pub fn line(&self, number: u32) -> &str {
        let index = (number.max(1) - 1) as usize;
        let start = self.line_start(number);
        let end = self
            .line_starts()
            .get(index + 1)
            .map_or(self.text.len(), |next| *next as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    pub fn line_count(&self) -> u32 {
        self.line_starts().len() as u32
    }
}

/// All sources of one compilation, in the order they were read.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    all: Vec<(SourceId, Source)>,
    places: FxHashMap<SourceId, usize>,
}

impl Sources {
    /// Adds a source under the next number.
    pub fn add(&mut self, source: Source) -> SourceId {
        let id = self.next();
        self.add_as(id, source);
        id
    }

    /// Adds a source under a number of somebody else's, which no other has.
    pub fn add_as(&mut self, id: SourceId, source: Source) {
        self.places.insert(id, self.all.len());
        self.all.push((id, source));
    }

    /// The number of the next source, if all are numbered here.
    pub fn next(&self) -> SourceId {
        SourceId(self.all.len() as u32)
    }

    pub fn has(&self, id: SourceId) -> bool {
        self.places.contains_key(&id)
    }

    pub fn get(&self, id: SourceId) -> &Source {
        &self.all[self.places[&id]].1
    }

    pub fn text(&self, span: Span) -> &str {
        self.get(span.source).text.get(span.range()).unwrap_or("")
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Gives up the sources, in the order they were read.
    pub fn into_all(self) -> Vec<Source> {
        self.all.into_iter().map(|(_, source)| source).collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        self.all.iter().map(|(id, source)| (*id, source))
    }

    /// The same sources, numbered in the order they were read, and the places of spans with them.
    pub fn renumber<'s>(self, spans: impl Iterator<Item = &'s mut Span>) -> Sources {
        for span in spans {
            span.source = SourceId(self.places[&span.source] as u32);
        }
        let mut renumbered = Sources::default();
        for (_, source) in self.all {
            renumbered.add(source);
        }
        renumbered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_far_into_a_line_are_counted_as_near_ones() {
        let text = format!("first\n{}", "aé𝄞\t".repeat(5_000));
        let source = Source::new("a", text.as_str());
        for (column, (at, _)) in text[6..].char_indices().enumerate() {
            let place = source.place(at as u32 + 6);
            assert_eq!((place.line, place.column), (2, column as u32 + 1));
        }
    }

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
