//! Byte offsets and the positions of editors.
//!
//! Editors end a line at `\n`, `\r\n` or `\r`, and count columns in UTF-16 units unless they have
//! agreed to bytes.

use lsp_types::{Position, Range};
use rrc_compiler::source::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Utf16,
}

/// Where the lines of a text begin.
#[derive(Debug, Default)]
pub struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub fn of(text: &str) -> Lines {
        let bytes = text.as_bytes();
        // Of `\r\n`, only the second ends the line.
        let ends = |at: &usize| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n');
        let breaks = memchr::memchr2_iter(b'\n', b'\r', bytes).filter(ends);
        let starts = std::iter::once(0).chain(breaks.map(|at| at + 1));
        Lines {
            starts: starts.collect(),
        }
    }

    pub fn position(&self, text: &str, offset: usize, encoding: Encoding) -> Position {
        let offset = text.floor_char_boundary(offset.min(text.len()));
        let line = self.starts.partition_point(|start| *start <= offset) - 1;
        let before = &text[self.starts[line]..offset];
        let character = match encoding {
            Encoding::Utf8 => before.len(),
            Encoding::Utf16 if before.is_ascii() => before.len(),
            Encoding::Utf16 => before.chars().map(char::len_utf16).sum(),
        };
        Position::new(line as u32, character as u32)
    }

    /// The offset of a position; what is beyond a line is its end, what is inside of a character
    /// its start.
    pub fn offset(&self, text: &str, position: Position, encoding: Encoding) -> usize {
        let line = position.line as usize;
        let Some(start) = self.starts.get(line).copied() else {
            return text.len();
        };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..end].trim_end_matches(['\n', '\r']);
        let wanted = position.character as usize;
        let inside = match encoding {
            Encoding::Utf8 => content.floor_char_boundary(wanted.min(content.len())),
            Encoding::Utf16 => {
                let mut units = 0;
                let beyond = |c: char| {
                    units += c.len_utf16();
                    units > wanted
                };
                content.find(beyond).unwrap_or(content.len())
            }
        };
        start + inside
    }

    pub fn range(&self, text: &str, span: Span, encoding: Encoding) -> Range {
        Range::new(
            self.position(text, span.start as usize, encoding),
            self.position(text, span.end as usize, encoding),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_offsets_agree() {
        let text = "aé😀b\r\n\rx\n\n名";
        let lines = Lines::of(text);
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            for (offset, c) in text.char_indices() {
                let position = lines.position(text, offset, encoding);
                // Between the two halves of a line break there is no place.
                if text[..offset].ends_with('\r') && c == '\n' {
                    continue;
                }
                assert_eq!(
                    lines.offset(text, position, encoding),
                    offset,
                    "{encoding:?}"
                );
            }
        }
        let b = text.find('b').unwrap();
        assert_eq!(
            lines.position(text, b, Encoding::Utf16),
            Position::new(0, 4)
        );
        assert_eq!(lines.position(text, b, Encoding::Utf8), Position::new(0, 7));
        let x = text.find('x').unwrap();
        assert_eq!(
            lines.position(text, x, Encoding::Utf16),
            Position::new(2, 0)
        );
    }

    #[test]
    fn places_outside_of_the_text_are_its_edges() {
        let text = "a😀\nb";
        let lines = Lines::of(text);
        let offset =
            |line, character| lines.offset(text, Position::new(line, character), Encoding::Utf16);
        assert_eq!(offset(0, 2), 1);
        assert_eq!(offset(0, 3), 5);
        assert_eq!(offset(0, 99), 5);
        assert_eq!(offset(1, 99), 7);
        assert_eq!(offset(9, 0), 7);
        assert_eq!(
            lines.position(text, 999, Encoding::Utf16),
            Position::new(1, 1)
        );
    }
}
