//! What a child writes: kept up to a limit, counted past it.
//!
//! Works on bytes and knows no process. Memory never exceeds the limit, whatever is written.

/// The head of a stream and the length of all of it.
#[derive(Debug, Default)]
pub struct Capture {
    kept: Vec<u8>,
    limit: usize,
    total: u64,
}

impl Capture {
    pub fn new(limit: usize) -> Capture {
        Capture {
            kept: Vec::new(),
            limit,
            total: 0,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.limit - self.kept.len();
        let bytes = &bytes[..bytes.len().min(room)];
        let needed = self.kept.len() + bytes.len();
        if needed > self.kept.capacity() {
            // Doubling as a vector does, but never past the limit.
            let wanted = needed.max(self.kept.capacity() * 2).min(self.limit);
            self.kept.reserve_exact(wanted - self.kept.len());
        }
        self.kept.extend_from_slice(bytes);
    }

    /// More was written than is kept.
    pub fn truncated(&self) -> bool {
        self.total > self.kept.len() as u64
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn into_kept(self) -> Vec<u8> {
        self.kept
    }
}

/// The part of cut-off bytes that ends on a character boundary.
///
/// Only a character that the cut may have split is removed; bytes that are not text anyway stay.
pub fn text_cut(bytes: &[u8]) -> &[u8] {
    let tail = bytes.len().saturating_sub(3);
    for start in (tail..bytes.len()).rev() {
        let width = match bytes[start] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            // The middle of a character: its first byte is further left.
            0x80..=0xBF => continue,
            _ => return bytes,
        };
        let whole = start + width <= bytes.len();
        // `error_len` is none exactly when more bytes could complete the character.
        let split = std::str::from_utf8(&bytes[start..]).is_err_and(|e| e.error_len().is_none());
        return if !whole && split {
            &bytes[..start]
        } else {
            bytes
        };
    }
    bytes
}

/// Cuts a stream into lines as it comes.
#[derive(Debug, Default)]
pub struct Lines {
    partial: Vec<u8>,
}

/// A line without its newline, or a piece of a long one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// Whether the line ends with it.
    pub ends: bool,
}

/// A line longer than this is handed on in pieces.
pub const LONGEST_LINE: usize = 64 * 1024;

impl Lines {
    /// Gives each line that is complete, and what there is of one that is too long.
    pub fn push(&mut self, bytes: &[u8], mut line: impl FnMut(Piece)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            let mut text = text;
            while self.partial.len() + text.len() > LONGEST_LINE {
                let (head, rest) = text.split_at(LONGEST_LINE - self.partial.len());
                self.partial.extend_from_slice(head);
                line(self.piece(false));
                text = rest;
            }
            self.partial.extend_from_slice(text);
            if ended {
                line(self.piece(true));
            }
        }
    }

    fn piece(&mut self, ends: bool) -> Piece {
        let bytes = std::mem::take(&mut self.partial);
        Piece { bytes, ends }
    }

    /// What came after the last newline.
    pub fn finish(&mut self) -> Option<Piece> {
        (!self.partial.is_empty()).then(|| self.piece(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_limit_is_not_truncated() {
        for (written, truncated) in [(9, false), (10, false), (11, true)] {
            let mut capture = Capture::new(10);
            for _ in 0..written {
                capture.push(b"x");
            }
            assert_eq!(capture.truncated(), truncated, "{written}");
            assert_eq!(capture.total(), written);
            assert_eq!(capture.into_kept().len(), 10.min(written as usize));
        }
        let mut none = Capture::new(0);
        none.push(b"x");
        assert!(none.truncated());
    }

    #[test]
    fn memory_stays_within_the_limit() {
        let mut capture = Capture::new(100_000);
        for _ in 0..1000 {
            capture.push(&[b'x'; 777]);
            assert!(capture.kept.capacity() <= 100_000);
        }
        assert_eq!(capture.into_kept().len(), 100_000);
    }

    #[test]
    fn the_cut_falls_between_characters() {
        let text = "aé€😀".as_bytes();
        for end in 0..=text.len() {
            let cut = text_cut(&text[..end]);
            assert!(std::str::from_utf8(cut).is_ok(), "{end}");
            assert!(end - cut.len() < 4);
        }
        // Not text in the first place: nothing is lost.
        assert_eq!(text_cut(b"\xff\xfe"), b"\xff\xfe");
        assert_eq!(text_cut(b"a\x80\x80"), b"a\x80\x80");
        assert_eq!(text_cut(b"a\xe0\x80"), b"a\xe0\x80");
        assert_eq!(text_cut(b"\xf5"), b"\xf5");
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_came() {
        let text = b"one\n\ntwo\nthree";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut seen = Vec::new();
            for piece in text.chunks(size) {
                lines.push(piece, |line| seen.push(line));
            }
            seen.extend(lines.finish());
            assert!(seen.iter().all(|line| line.ends));
            let seen: Vec<&[u8]> = seen.iter().map(|line| &line.bytes[..]).collect();
            assert_eq!(seen, [&b"one"[..], b"", b"two", b"three"]);
            assert_eq!(lines.finish(), None);
        }
    }

    #[test]
    fn a_line_without_end_is_handed_on_in_pieces() {
        let mut lines = Lines::default();
        let mut sizes = Vec::new();
        for _ in 0..5 {
            lines.push(&[b'x'; 40_000], |line| sizes.push(line.bytes.len()));
        }
        lines.push(b"\n", |line| sizes.push(line.bytes.len()));
        assert!(sizes.iter().all(|size| *size <= LONGEST_LINE));
        assert_eq!(sizes.iter().sum::<usize>(), 200_000);
    }

    #[test]
    fn a_line_ends_where_it_ends_however_long_it_is() {
        for length in [1, 2].map(|times| times * LONGEST_LINE) {
            for (length, end) in [(length, "\n"), (length, ""), (length + 1, "\n")] {
                let mut lines = Lines::default();
                let mut seen = Vec::new();
                lines.push(&vec![b'x'; length], |line| seen.push(line));
                lines.push(end.as_bytes(), |line| seen.push(line));
                seen.extend(lines.finish());
                let last = seen.pop().expect("a line");
                assert!(last.ends && !last.bytes.is_empty());
                assert!(seen.iter().all(|piece| !piece.ends));
                let sizes = seen.iter().map(|piece| piece.bytes.len());
                assert_eq!(sizes.sum::<usize>() + last.bytes.len(), length);
            }
        }
    }
}
