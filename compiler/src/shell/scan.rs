//! The reader itself: a place in a row of units, and what it has found out so far.
//!
//! A unit is one byte of the text, or one whole hole. Backticks are read by making a new row with
//! one level of backslashes taken off, so the rest of the reader never sees that level. It follows
//! bash where bash departs from its own manual, and does not care whether the script makes sense.

use super::heredoc::{Here, Pending};
use super::position::{Place, Position, Quote, Refusal, Use};
use super::{Filter, HoleAt};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Stands for a hole in a row of units; no byte of UTF-8 text has this value.
pub(super) const HOLE: u8 = 0xFF;
/// Stands for an expansion in the shape of a word.
pub(super) const EXPANSION: u8 = 0xFE;

/// Deeper nesting is refused; the reader calls itself once or twice a level.
const MAX_DEPTH: u32 = 60;

#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub byte: u8,
    /// Offset in the text; a file is far smaller than this counts.
    at: u32,
}

impl Unit {
    fn new(byte: u8, at: usize) -> Unit {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        Unit { byte, at }
    }

    pub fn at(self) -> usize {
        self.at as usize
    }
}

pub(super) fn units(text: &str, holes: &[HoleAt]) -> Vec<Unit> {
    let mut row = Vec::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    let plain = |row: &mut Vec<Unit>, range: Range<usize>| {
        let Unit { at: start, .. } = Unit::new(0, range.start);
        let units = bytes[range].iter().zip(start..);
        row.extend(units.map(|(byte, at)| Unit { byte: *byte, at }));
    };
    for HoleAt { range, .. } in holes {
        plain(&mut row, at..range.start);
        row.push(Unit::new(HOLE, range.start));
        at = range.end;
    }
    plain(&mut row, at..text.len());
    row
}

/// What the text says about a variable, somewhere in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Declared {
    pub associative: bool,
    /// Declared with `-a`.
    pub indexed: bool,
    /// An array of either kind.
    pub array: bool,
    /// What is assigned to it is evaluated as arithmetic.
    pub integer: bool,
    /// Stands for another variable, of whichever kind.
    pub reference: bool,
    /// Set from standard input.
    pub read: bool,
}

/// A word that another program reads as its source.
pub(super) struct Source {
    pub program: String,
    pub range: Range<usize>,
    pub holes: Vec<usize>,
    /// Whether nothing follows it in its command.
    pub last: bool,
}

/// What has been found, for the whole text.
pub(super) struct Found<'a> {
    pub holes: &'a [HoleAt],
    pub positions: Vec<Option<Position>>,
    pub heres: Vec<Here>,
    pub sources: Vec<Source>,
    pub declared: FxHashMap<String, Declared>,
    pub functions: FxHashSet<String>,
    /// Set once the reader no longer knows where it is; what follows is not guessed at.
    pub lost: Option<Refusal>,
}

impl Found<'_> {
    /// Which hole begins at this offset of the text.
    pub fn hole_at(&self, at: usize) -> usize {
        let before = |hole: &HoleAt| hole.range.start < at;
        self.holes.partition_point(before)
    }

    pub fn declare(&mut self, name: &str, more: Declared) {
        let known = self.declared.entry(name.to_owned()).or_default();
        known.associative |= more.associative;
        known.indexed |= more.indexed;
        known.array |= more.array;
        known.integer |= more.integer;
        known.reference |= more.reference;
        known.read |= more.read;
    }

    /// Whether the shell evaluates what is assigned to a variable, or may.
    pub fn evaluates(&self, name: &str) -> bool {
        let declared = self.declared.get(name).copied().unwrap_or_default();
        let any_integer = || self.declared.values().any(|other| other.integer);
        declared.integer || is_numeric_variable(name) || (declared.reference && any_integer())
    }

    /// Whether some command of the text reads into such a variable.
    pub fn evaluates_input(&self) -> bool {
        let mut read = self.declared.iter().filter(|(_, declared)| declared.read);
        read.any(|(name, _)| self.evaluates(name))
    }

    pub fn declare_array(&mut self, name: &str) {
        let array = Declared {
            array: true,
            ..Declared::default()
        };
        self.declare(name, array);
    }
}

/// Variables that bash evaluates as arithmetic when they are set.
fn is_numeric_variable(name: &str) -> bool {
    matches!(
        name,
        "SECONDS" | "RANDOM" | "SRANDOM" | "OPTIND" | "HISTCMD" | "COLUMNS" | "LINES" | "HISTSIZE"
    )
}

/// What holds for a hole that stands here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    pub quote: Quote,
    pub place: Place,
    /// The shell evaluates the text here as arithmetic.
    pub integer: bool,
    pub refusal: Option<Refusal>,
}

impl Around {
    pub fn new(place: Place) -> Around {
        Around {
            quote: Quote::Bare,
            place,
            integer: false,
            refusal: None,
        }
    }

    pub fn quote(self, quote: Quote) -> Around {
        Around { quote, ..self }
    }

    pub fn place(self, place: Place) -> Around {
        Around { place, ..self }
    }

    pub fn integer(self, integer: bool) -> Around {
        Around { integer, ..self }
    }

    pub fn refuse(self, refusal: Refusal) -> Around {
        Around {
            refusal: self.refusal.or(Some(refusal)),
            ..self
        }
    }

    pub fn arithmetic(self, place: Place) -> Around {
        Around {
            quote: Quote::Arithmetic,
            place,
            integer: true,
            refusal: self.refusal,
        }
    }
}

pub(super) struct Scan<'u, 'f, 'a> {
    pub row: &'u [Unit],
    pub pos: usize,
    pub found: &'f mut Found<'a>,
    pub depth: u32,
    pub substitutions: u32,
    pub backticks: u32,
    /// Inside `$(…)` a heredoc may end in a line like `EOF)`.
    pub in_parens: bool,
    /// Inside the body of an unquoted heredoc, which ends at its own mark whatever is open in it.
    pub in_heredoc: bool,
    pub pending: Vec<Pending>,
}

impl<'u, 'f, 'a> Scan<'u, 'f, 'a> {
    pub fn new(row: &'u [Unit], found: &'f mut Found<'a>) -> Scan<'u, 'f, 'a> {
        Scan {
            row,
            pos: 0,
            found,
            depth: 0,
            substitutions: 0,
            backticks: 0,
            in_parens: false,
            in_heredoc: false,
            pending: Vec::new(),
        }
    }

    /// A reader of another row that tells the same finder, one level further in.
    pub fn inner<'v, 'g>(&'g mut self, row: &'v [Unit]) -> Scan<'v, 'g, 'a> {
        Scan {
            row,
            pos: 0,
            found: self.found,
            depth: self.depth + 1,
            substitutions: self.substitutions,
            backticks: self.backticks,
            in_parens: false,
            in_heredoc: self.in_heredoc,
            pending: Vec::new(),
        }
    }

    pub fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.row.get(self.pos + ahead).map(|unit| unit.byte)
    }

    pub fn sees(&self, text: &str) -> bool {
        text.bytes()
            .enumerate()
            .all(|(ahead, byte)| self.peek_at(ahead) == Some(byte))
    }

    pub fn skip(&mut self, count: usize) {
        self.pos = (self.pos + count).min(self.row.len());
    }

    /// Takes the next units if they are this text.
    pub fn take(&mut self, text: &str) -> bool {
        let sees = self.sees(text);
        if sees {
            self.skip(text.len());
        }
        sees
    }

    /// Gives up: everything from here on is unknown.
    pub fn lose(&mut self, why: Refusal) {
        self.found.lost.get_or_insert(why);
        self.pos = self.row.len();
    }

    pub fn lost(&self) -> bool {
        self.found.lost.is_some()
    }

    /// Whether one more level may be entered; if not, the reader has given up.
    pub fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.lose(Refusal::TooDeep);
            return false;
        }
        self.depth += 1;
        true
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Blanks and continued lines.
    pub fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.skip(1),
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.skip(2),
                _ => return,
            }
        }
    }

    /// Notes the hole at the current place and goes past it; returns which it was.
    pub fn hole(&mut self, around: Around) -> usize {
        let at = self.row.get(self.pos).map_or(0, |unit| unit.at());
        let hole = self.found.hole_at(at);
        self.note(hole, around);
        self.skip(1);
        hole
    }

    pub fn note(&mut self, hole: usize, around: Around) {
        let filter = self
            .found
            .holes
            .get(hole)
            .map_or(Filter::None, |h| h.filter);
        let (reach, refusal) = reach(filter, around, self.backticks > 0);
        if let Some(slot) = self.found.positions.get_mut(hole) {
            *slot = Some(Position {
                quote: around.quote,
                place: around.place,
                substitutions: self.substitutions,
                backticks: self.backticks,
                command: None,
                program: None,
                reach,
                refusal,
            });
        }
    }

    /// A backslash and what it protects. Returns the protected byte.
    pub fn escape(&mut self, around: Around) -> Option<u8> {
        self.skip(1);
        let byte = self.peek()?;
        if byte == HOLE {
            self.hole(around.refuse(Refusal::Backslash));
        } else {
            self.skip(1);
        }
        Some(byte)
    }
}

/// How a value gets to such a place, if it can.
fn reach(filter: Filter, around: Around, in_backticks: bool) -> (Use, Option<Refusal>) {
    let refused = |why| (Use::Refused, Some(why));
    if around.quote == Quote::Comment {
        return (Use::Unused, None);
    }
    match filter {
        Filter::Raw => (Use::Paste, None),
        Filter::Words => {
            let several = matches!(
                around.place,
                Place::Argument | Place::Command | Place::ArrayElement | Place::ForWord
            );
            if let Some(why) = around.refusal {
                refused(why)
            } else if around.quote != Quote::Bare || !several || around.integer {
                refused(Refusal::OneWordOnly)
            } else if in_backticks {
                refused(Refusal::BacktickPaste)
            } else {
                (Use::Words, None)
            }
        }
        Filter::None | Filter::Json => {
            if let Some(why) = around.refusal {
                refused(why)
            } else if around.quote == Quote::QuotedHeredoc {
                (Use::Paste, None)
            } else if around.integer {
                (Use::Integer { or_empty: false }, None)
            } else {
                (Use::Env, None)
            }
        }
    }
}
