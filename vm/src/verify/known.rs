//! What is known at places of the code: the kinds of the locals and of the stack there.
//!
//! Kinds are compared many at once, in rows. A state that is forgotten leaves its room to another, so as
//! many are in memory as places are waited for at once.

use super::shape::{Bits, UNSET, bits, kind};

/// How many kinds are in a row.
pub(super) const LANES: usize = 8;
/// More than all locals, the highest stack and what one instruction adds to it: a stack that is
/// too high is noticed after each.
pub(super) const ROOM: usize = 2048;
/// How many rows of a state are in the state itself: most functions have few locals, and their stacks are
/// low.
const FEW: usize = 2;
/// How many rows are kept at the jump targets of a function, so that a hostile plan does not take a
/// thousand times its own size to check.
const MOST: usize = (1 << 25) / LANES;

type Row = [Bits; LANES];
/// The locals, then the stack, then whatever stands above.
pub(super) type Kinds = [Bits; ROOM + LANES];

/// What may be anything, in the first rows of a state whose stack ends here.
const ABOVE: [[Row; FEW]; FEW * LANES + 1] = {
    let (mut above, mut end) = ([[[0; LANES]; FEW]; FEW * LANES + 1], 0);
    while end <= FEW * LANES {
        let mut place = end;
        while place < FEW * LANES {
            above[end][place / LANES][place % LANES] = !0;
            place += 1;
        }
        end += 1;
    }
    above
};

/// What is known at a place; above the stack it may be anything.
#[derive(Clone, Copy)]
struct State {
    rows: [Row; FEW],
    /// Where in the pool the other rows start.
    rest: u32,
    height: u32,
    is_head: bool,
}

/// How many rows are not in the state itself.
#[inline(always)]
fn rest(height: usize) -> usize {
    height.div_ceil(LANES).saturating_sub(FEW)
}

pub(super) struct Known {
    states: Vec<State>,
    pool: Vec<Row>,
    /// The numbers of states that were forgotten, by how many rows they have in the pool.
    spare: Vec<Vec<u32>>,
}

/// Linear kinds cannot be joined.
pub(super) struct Unjoinable;

impl Known {
    /// Numbers below [`Known::FIRST`] are not given to states.
    pub const FIRST: u32 = 2;

    const NOTHING: State = State {
        rows: [[0; LANES]; FEW],
        rest: 0,
        height: 0,
        is_head: false,
    };

    pub fn new() -> Known {
        Known {
            states: Vec::new(),
            pool: Vec::new(),
            spare: vec![Vec::new(); ROOM / LANES],
        }
    }

    pub fn clear(&mut self) {
        self.states.clear();
        self.states.resize(Known::FIRST as usize, Known::NOTHING);
        self.pool.clear();
        self.spare.iter_mut().for_each(Vec::clear);
    }

    /// Keeps what is known now; its number, or none if too much is kept already. Jumps lead back to a
    /// head, so it is not forgotten.
    #[inline]
    pub fn keep(&mut self, kinds: &Kinds, height: usize, is_head: bool) -> Option<u32> {
        let rest = rest(height);
        let number = match self.spare[rest].pop() {
            Some(number) => number,
            None => self.grow(rest)?,
        };
        let above = &ABOVE[height.min(FEW * LANES)];
        let now = kinds.as_chunks().0;
        let state = &mut self.states[number as usize];
        state.height = height as u32;
        state.is_head = is_head;
        for row in 0..FEW {
            for lane in 0..LANES {
                state.rows[row][lane] = now[row][lane] | above[row][lane];
            }
        }
        if rest > 0 {
            let first = state.rest as usize;
            self.pool[first..first + rest].copy_from_slice(&now[FEW..FEW + rest]);
        }
        Some(number)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, rest: usize) -> Option<u32> {
        let kept = self.pool.len() + FEW * self.states.len();
        if kept > MOST {
            return None;
        }
        self.states.push(State {
            rest: self.pool.len() as u32,
            ..Known::NOTHING
        });
        self.pool.resize(self.pool.len() + rest, [0; LANES]);
        Some(self.states.len() as u32 - 1)
    }

    #[inline(always)]
    pub fn height(&self, number: u32) -> usize {
        self.states[number as usize].height as usize
    }

    /// Whether nothing may be now that a state does not allow, whose stack ends where it does now: then
    /// joining adds nothing.
    #[inline(always)]
    pub fn allows(&self, number: u32, kinds: &Kinds, height: usize) -> bool {
        let state = &self.states[number as usize];
        let mut more = [0; LANES];
        for (known, now) in state.rows.iter().zip(kinds.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                more[lane] |= now[lane] & !known[lane];
            }
        }
        more == [0; LANES] && (height <= FEW * LANES || self.allows_above(state, kinds, height))
    }

    #[cold]
    #[inline(never)]
    fn allows_above(&self, state: &State, kinds: &Kinds, height: usize) -> bool {
        let known = self.pool[state.rest as usize..].as_flattened();
        let mut above = kinds[FEW * LANES..height].iter().zip(known);
        above.all(|(now, known)| now & !known == 0)
    }

    /// Joins what is known now into a state, kind by kind; whether that changed it. The stack starts at
    /// `floor`.
    #[inline(never)]
    pub fn widen(
        &mut self,
        number: u32,
        kinds: &Kinds,
        floor: usize,
        height: usize,
    ) -> Result<bool, Unjoinable> {
        let mut changed = false;
        let state = &mut self.states[number as usize];
        for (place, &now) in kinds[..height].iter().enumerate() {
            let row = place / LANES;
            let row = match row.checked_sub(FEW) {
                None => &mut state.rows[row],
                Some(above) => &mut self.pool[state.rest as usize + above],
            };
            let known = row[place % LANES];
            if now & !known == 0 {
                continue;
            }
            let both = kind(known).zip(kind(now));
            let joined = both.and_then(|(a, b)| a.join(b)).map_or(UNSET, bits);
            if joined == UNSET && place >= floor {
                return Err(Unjoinable);
            }
            changed |= joined != known;
            row[place % LANES] = joined;
        }
        Ok(changed)
    }

    /// Goes on with what is known at a place, and forgets it unless jumps lead back there; where the stack
    /// ends, and whether it is forgotten.
    #[inline(always)]
    pub fn load(&mut self, number: u32, kinds: &mut Kinds) -> (usize, bool) {
        let state = &self.states[number as usize];
        let height = state.height as usize;
        let now = kinds.as_chunks_mut().0;
        now[..FEW].copy_from_slice(&state.rows);
        let (first, rest) = (state.rest as usize, rest(height));
        if rest > 0 {
            now[FEW..FEW + rest].copy_from_slice(&self.pool[first..first + rest]);
        }
        if !state.is_head {
            self.spare[rest].push(number);
        }
        (height, !state.is_head)
    }
}
