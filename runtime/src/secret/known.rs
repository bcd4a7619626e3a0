//! Texts that are secret, and where they stand in another text.
//!
//! Looks for all of them at once: at each place the longest that begins there is found by the first
//! bytes, then by their order. A long text is known by pieces, so that no place costs more than a piece
//! does; where the pieces stand one after another, they are the text again. Does not know names.

use memchr::memmem;
use rrc_vm::flow::{SHOWN, SHOWN_PATH};
use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound::{Included, Unbounded};
use std::rc::Rc;

/// The shortest text that is looked for; shorter ones stand everywhere.
pub const SHORTEST: usize = 4;

/// Bytes of a piece.
const PIECE: usize = 256;

/// Characters of a message that a value may take up when it is written with escapes.
const QUOTED: usize = 8 * SHOWN_PATH;

/// A part of a text that is part of a known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub start: usize,
    pub end: usize,
    /// Which text it is, and where this begins in it.
    pub text: usize,
    pub from: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Known {
    texts: Vec<Rc<str>>,
    numbers: FxHashMap<Rc<str>, usize>,
    pieces: BTreeMap<Piece, (usize, usize)>,
    starts: Starts,
    longest: usize,
}

/// A part of a text, compared by its bytes.
#[derive(Clone, Debug)]
struct Piece {
    text: Rc<str>,
    start: usize,
    end: usize,
}

impl Borrow<[u8]> for Piece {
    fn borrow(&self) -> &[u8] {
        let bytes = self.text.as_bytes();
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

impl PartialEq for Piece {
    fn eq(&self, other: &Piece) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Piece {}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Piece) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Piece {
    fn cmp(&self, other: &Piece) -> Ordering {
        let (own, other): (&[u8], &[u8]) = (self.borrow(), other.borrow());
        own.cmp(other)
    }
}

/// How pieces begin: tells at once of most places that none begins there.
#[derive(Clone, Debug, Default)]
struct Starts(Vec<u64>);

impl Starts {
    const BITS: u32 = 16;

    fn place(first: [u8; SHORTEST]) -> (usize, u32) {
        let mixed = u32::from_le_bytes(first).wrapping_mul(0x9e37_79b1) >> (32 - Starts::BITS);
        ((mixed >> 6) as usize, mixed & 63)
    }

    fn add(&mut self, piece: &[u8]) {
        self.0.resize(1 << (Starts::BITS - 6), 0);
        if let Some(first) = piece.first_chunk() {
            let (word, bit) = Starts::place(*first);
            self.0[word] |= 1 << bit;
        }
    }

    fn may_begin(&self, text: &[u8]) -> bool {
        text.first_chunk().is_some_and(|first| {
            let (word, bit) = Starts::place(*first);
            self.0.get(word).is_some_and(|word| word >> bit & 1 == 1)
        })
    }
}

impl Known {
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub fn longest(&self) -> usize {
        self.longest
    }

    pub fn has(&self, text: &str) -> bool {
        self.numbers.contains_key(text)
    }

    pub fn text(&self, number: usize) -> Option<&str> {
        self.texts.get(number).map(|text| &**text)
    }

    /// The number of a text that was not known; none if it was, or is too short.
    pub fn add(&mut self, text: &str) -> Option<usize> {
        if text.len() < SHORTEST || self.has(text) {
            return None;
        }
        let number = self.texts.len();
        let text: Rc<str> = Rc::from(text);
        let mut start = 0;
        while start < text.len() {
            let end = boundary(&text, start + PIECE);
            // The last piece is as long as others, so that it is not found everywhere.
            let from = match end == text.len() {
                true => boundary(&text, end.saturating_sub(PIECE)),
                false => start,
            };
            let piece = Piece {
                text: Rc::clone(&text),
                start: from,
                end,
            };
            self.starts.add(piece.borrow());
            self.pieces.entry(piece).or_insert((number, from));
            start = end;
        }
        self.longest = self.longest.max(text.len());
        self.numbers.insert(Rc::clone(&text), number);
        self.texts.push(text);
        Some(number)
    }

    /// All that is known of a text, in order, without overlap.
    pub fn spots(&self, text: &[u8]) -> Vec<Spot> {
        let mut spots: Vec<Spot> = Vec::new();
        if self.texts.is_empty() {
            return spots;
        }
        let mut cuts = self.cuts(text).into_iter().peekable();
        for start in 0..text.len() {
            while let Some(cut) = cuts.next_if(|cut| cut.start == start) {
                put(&mut spots, cut);
            }
            let rest = &text[start..];
            if self.starts.may_begin(rest)
                && let Some((length, text, from)) = self.piece_at(rest)
            {
                let end = start + length;
                put(
                    &mut spots,
                    Spot {
                        start,
                        end,
                        text,
                        from,
                    },
                );
            }
        }
        spots
    }

    /// The longest piece that a text begins with: the last that is not behind it in their order, or one
    /// that begins as both do.
    fn piece_at(&self, text: &[u8]) -> Option<(usize, usize, usize)> {
        let mut text = text.get(..PIECE).unwrap_or(text);
        loop {
            let (piece, (number, from)) = self
                .pieces
                .range::<[u8], _>((Unbounded, Included(text)))
                .next_back()?;
            let piece: &[u8] = piece.borrow();
            let pairs = piece.iter().zip(text);
            let same = pairs.take_while(|(one, other)| one == other).count();
            if same == piece.len() {
                return Some((same, *number, *from));
            }
            text = text.get(..same).filter(|text| text.len() >= SHORTEST)?;
        }
    }

    /// Starts of texts that a message goes no further with: it quotes so many characters of a value.
    fn cuts(&self, text: &[u8]) -> Vec<Spot> {
        let mut cuts = Vec::new();
        for (open, close) in quotes(text) {
            let starts = open..close.saturating_sub(SHORTEST - 1);
            let mut starts = starts.filter(|start| self.starts.may_begin(&text[*start..]));
            let cut = starts.find_map(|start| {
                let shown = &text[start..close];
                let (piece, (text, from)) = self
                    .pieces
                    .range::<[u8], _>((Included(shown), Unbounded))
                    .next()?;
                let piece: &[u8] = piece.borrow();
                piece.starts_with(shown).then_some(Spot {
                    start,
                    end: close,
                    text: *text,
                    from: *from,
                })
            });
            cuts.extend(cut);
        }
        cuts.sort_unstable_by_key(|cut| cut.start);
        cuts
    }
}

/// One more spot, which begins no earlier than all before. What both cover belongs to the one before,
/// unless the new one covers it whole.
fn put(spots: &mut Vec<Spot>, mut new: Spot) {
    if spots.last().is_some_and(|last| last.end >= new.end) {
        return;
    }
    while spots.pop_if(|last| last.start >= new.start).is_some() {}
    if let Some(last) = spots.last_mut() {
        let shared = last.end.saturating_sub(new.start);
        new.start += shared;
        new.from += shared;
        if last.end == new.start
            && last.text == new.text
            && last.from + last.end - last.start == new.from
        {
            last.end = new.end;
            return;
        }
    }
    spots.push(new);
}

/// The insides of what messages quote and do not go on with: as long as they may be, or marked so.
pub fn quotes(text: &[u8]) -> Vec<(usize, usize)> {
    let cut = |close: usize| {
        let before = &text[..close];
        let (before, most) = match before.strip_suffix("…".as_bytes()) {
            Some(before) => (before, QUOTED),
            None => (before, SHOWN),
        };
        let mut characters = 0;
        let mut open = None;
        for (at, byte) in before.iter().enumerate().rev() {
            if characters > most {
                break;
            }
            // There may be others in the value.
            if *byte == b'`' && (characters == most || most > SHOWN) {
                open = Some((at + 1, before.len()));
            }
            characters += usize::from(byte & 0xc0 != 0x80);
        }
        open
    };
    memmem::find_iter(text, "`").filter_map(cut).collect()
}

/// The end of a text, or the start of a character no further than this.
fn boundary(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(texts: &[&str]) -> Known {
        let mut known = Known::default();
        for text in texts {
            known.add(text);
        }
        known
    }

    fn spots(known: &Known, text: &str) -> Vec<(usize, usize, usize, usize)> {
        let spots = known.spots(text.as_bytes()).into_iter();
        let spots = spots.map(|spot| (spot.start, spot.end, spot.text, spot.from));
        spots.collect()
    }

    #[test]
    fn the_longest_at_each_place_is_found() {
        let known = known(&["abcd", "abcdef", "abcx", "cdefgh", "éééé"]);
        assert_eq!(spots(&known, "abcd abcdef"), [(0, 4, 0, 0), (5, 11, 1, 0)]);
        assert_eq!(spots(&known, "abcde"), [(0, 4, 0, 0)]);
        assert_eq!(spots(&known, "abcdefghx"), [(0, 6, 1, 0), (6, 8, 3, 4)]);
        assert_eq!(spots(&known, "-éééé"), [(1, 9, 4, 0)]);
        assert_eq!(spots(&known, "abc"), []);
    }

    #[test]
    fn a_long_text_is_one_spot_whatever_stands_in_it() {
        let lines: Vec<String> = (0..2000)
            .map(|line| format!("line number {line} é"))
            .collect();
        let whole = lines.join("\n");
        let mut texts = vec![whole.as_str()];
        texts.extend(lines.iter().map(String::as_str));
        let known = known(&texts);
        let text = format!("x{whole}y");
        assert_eq!(spots(&known, &text), [(1, whole.len() + 1, 0, 0)]);
        assert_eq!(spots(&known, "line number 77 é"), [(0, 17, 78, 0)]);
    }

    #[test]
    fn a_value_that_a_message_cuts_is_found() {
        let long = "q".repeat(10) + &"0123456789".repeat(6);
        let known = known(&[&long]);
        let short = &long[..40];
        assert_eq!(spots(&known, &format!("`{short}` is")), [(1, 41, 0, 0)]);
        let key = format!("`key {}` is", &long[..36]);
        assert_eq!(spots(&known, &key), [(5, 41, 0, 0)]);
        assert_eq!(spots(&known, "`key qqqq…` is"), [(5, 9, 0, 0)]);
        assert_eq!(spots(&known, "`key qqqq` is"), []);
        let mut ticked = Known::default();
        ticked.add("first`second`third");
        assert_eq!(spots(&ticked, "`n`: `first`sec…` is"), [(6, 15, 0, 0)]);
    }

    /// Each of these took time that grew with the square of the text.
    #[test]
    fn texts_that_repeat_themselves_are_read_in_one_pass() {
        let long = "a".repeat(300_000);
        let nested: Vec<String> = (4..300).map(|length| "a".repeat(length)).collect();
        let mut texts: Vec<&str> = nested.iter().map(String::as_str).collect();
        texts.push(&long);
        let known = known(&texts);
        let text = format!("{long}{long}");
        assert_eq!(
            known.spots(text.as_bytes()).last().map(|spot| spot.end),
            Some(600_000)
        );
        assert!(!known.spots(&text.as_bytes()[..299_000]).is_empty());
        assert_eq!(
            quotes("`".repeat(200_000).as_bytes()).len(),
            200_000 - SHOWN - 1
        );
    }
}
