//! Where jumps lead, while a function is walked over: for each place, a number.
//!
//! Few places have one at a time, so numbers are kept in leaves of as many places each, and a leaf
//! that the walk is through with serves for places further on: a plan of any length is checked in
//! little memory.

/// How many places are in a leaf.
pub(super) const LEAF: usize = 512;

#[derive(Default)]
pub(super) struct Targets {
    /// Where the numbers of the places from each multiple of [`LEAF`] on start.
    leaves: Vec<usize>,
    /// The numbers of all leaves; zero where a place has none.
    pub numbers: Vec<u32>,
    /// Where leaves start that nothing needs.
    spare: Vec<usize>,
}

/// A leaf that there is not.
const NOWHERE: usize = usize::MAX;

impl Targets {
    /// Forget all numbers; there are so many places now.
    pub fn clear(&mut self, places: usize) {
        self.leaves.clear();
        self.leaves.resize(places.div_ceil(LEAF), NOWHERE);
        self.numbers.clear();
        self.spare.clear();
    }

    /// Where in the numbers that of a place is.
    #[inline(always)]
    pub fn slot(&mut self, at: u32) -> usize {
        let at = at as usize;
        let leaf = match self.leaves[at / LEAF] {
            NOWHERE => self.grow(at / LEAF),
            leaf => leaf,
        };
        leaf + at % LEAF
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, leaf: usize) -> usize {
        let start = self.spare.pop().unwrap_or(self.numbers.len());
        if start == self.numbers.len() {
            self.numbers.resize(start + LEAF, 0);
        }
        self.leaves[leaf] = start;
        start
    }

    /// The walk is through with the leaf of a place: it is free if nothing is left in it.
    pub fn leave(&mut self, at: usize) {
        let leaf = &mut self.leaves[at / LEAF];
        let numbers = self.numbers.get(*leaf..).unwrap_or_default();
        if numbers.first_chunk::<LEAF>() == Some(&[0; LEAF]) {
            self.spare.push(*leaf);
            *leaf = NOWHERE;
        }
    }
}
