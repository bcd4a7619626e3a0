//! Shell text as the shell will read it, and the way back to what was written.

use crate::expr::{Hole, Piece};
use std::borrow::Cow;
use std::ops::Range;

/// Shell text without the escapes of holes, and where each hole stands in it.
pub(super) struct Plain<'t> {
    pub text: Cow<'t, str>,
    pub holes: Vec<Range<usize>>,
    /// Where a run of the text starts here, and in what was written.
    runs: Vec<(usize, usize)>,
}

impl<'t> Plain<'t> {
    pub fn of(written: &'t str, pieces: Vec<Piece>) -> (Plain<'t>, Vec<Hole>) {
        if matches!(&pieces[..], [Piece::Literal(range)] if range.len() == written.len()) {
            let plain = Plain {
                text: Cow::Borrowed(written),
                holes: Vec::new(),
                runs: Vec::new(),
            };
            return (plain, Vec::new());
        }
        let mut text = String::with_capacity(written.len());
        let mut plain = Plain {
            text: Cow::Borrowed(""),
            holes: Vec::with_capacity(pieces.len()),
            runs: Vec::with_capacity(pieces.len()),
        };
        let mut holes = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let range = match &piece {
                Piece::Literal(range) => range.clone(),
                Piece::Hole(hole) => hole.range.clone(),
            };
            let start = text.len();
            plain.runs.push((start, range.start));
            text.push_str(&written[range]);
            if let Piece::Hole(hole) = piece {
                plain.holes.push(start..text.len());
                holes.push(hole);
            }
        }
        plain.text = Cow::Owned(text);
        (plain, holes)
    }

    pub fn written(&self, range: Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let run = self
                .runs
                .partition_point(|(start, _)| *start <= at)
                .saturating_sub(1);
            self.runs
                .get(run)
                .map_or(at, |(here, there)| at - here + there)
        };
        let start = place(range.start);
        // The end belongs to the run of the last byte, not to the one that follows.
        let end = if range.end > range.start {
            place(range.end - 1) + 1
        } else {
            start
        };
        start..end
    }
}
