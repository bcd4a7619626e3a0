//! Where in a run something stands: a number that does not depend on what runs beside it.
//!
//! A step is known by the step around it, its number in the plan, its turn, and how often it has been
//! begun there; a call or a timer by the innermost open step and how many that has asked for before.
//! So a record can be read in another order than it was written in, as long as what each step gets
//! is the same.

use rustc_hash::FxHashMap;

/// An open step, or the run as a whole.
#[derive(Default)]
pub(super) struct Spot {
    number: u64,
    asked: u64,
    /// How often each step was begun here, and the last turn of it.
    begun: FxHashMap<u32, (u64, i64)>,
}

impl Spot {
    /// The number of the next call or timer.
    pub fn ask(&mut self) -> u64 {
        self.asked += 1;
        mixed(mixed(self.number, 0), self.asked)
    }

    /// A step that begins here. Turns come in their order: one that is not higher than the last
    /// belongs to the next time the loop is run.
    pub fn begin(&mut self, step: u32, turn: Option<i64>) -> Spot {
        let turn = turn.unwrap_or(0);
        let (times, last) = self.begun.entry(step).or_insert((0, i64::MAX));
        if turn <= *last {
            *times += 1;
        }
        *last = turn;
        let parts = [1 + u64::from(step), turn.cast_unsigned(), *times];
        Spot {
            number: parts.into_iter().fold(self.number, mixed),
            ..Spot::default()
        }
    }
}

/// Two numbers as one, the same with every version of rrc: journals hold it.
fn mixed(first: u64, second: u64) -> u64 {
    let mut mixed = first
        .rotate_left(23)
        .wrapping_add(second)
        .wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn what_runs_beside_it_makes_no_difference() {
        let (mut one, mut other) = (Spot::default(), Spot::default());
        let (mut a, mut b) = (one.begin(1, None), one.begin(2, None));
        let (mut late_b, mut late_a) = (other.begin(2, None), other.begin(1, None));
        assert_eq!([a.ask(), a.ask()], [late_a.ask(), late_a.ask()]);
        assert_eq!(b.ask(), late_b.ask());
    }

    #[test]
    fn no_two_calls_have_one_number() {
        let mut seen = HashSet::new();
        let mut root = Spot::default();
        for _ in 0..3 {
            assert!(seen.insert(root.ask()));
            for step in 0..20 {
                let mut plain = root.begin(step, None);
                for turn in 1..50 {
                    let mut inner = plain.begin(step, Some(turn));
                    assert!(seen.insert(inner.ask()) && seen.insert(inner.ask()));
                }
                assert!(seen.insert(plain.ask()));
            }
        }
    }
}
