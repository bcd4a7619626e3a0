//! Deadlines and sleeps as one heap.
//!
//! Knows instants and what is due at them; never asks what time it is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use rustc_hash::FxHashMap;

/// One entry of a clock; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(u64);

/// What is due, and when. Equal instants come out in the order they were set.
#[derive(Debug)]
pub struct Clock<T> {
    heap: BinaryHeap<Reverse<(Instant, Key)>>,
    /// A key that is missing here was cancelled and is dropped when it surfaces.
    live: FxHashMap<Key, T>,
    next: u64,
}

impl<T> Default for Clock<T> {
    fn default() -> Self {
        Clock {
            heap: BinaryHeap::new(),
            live: FxHashMap::default(),
            next: 0,
        }
    }
}

impl<T> Clock<T> {
    pub fn set(&mut self, at: Instant, what: T) -> Key {
        let key = Key(self.next);
        self.next += 1;
        self.heap.push(Reverse((at, key)));
        self.live.insert(key, what);
        key
    }

    pub fn cancel(&mut self, key: Key) -> Option<T> {
        let what = self.live.remove(&key);
        // Thousands of short steps under a long limit would otherwise pile up until it expires.
        if self.heap.len() > 64 && self.heap.len() > 2 * self.live.len() {
            let live = &self.live;
            self.heap.retain(|Reverse((_, key))| live.contains_key(key));
        }
        what
    }

    /// When the next entry is due.
    pub fn next_due(&mut self) -> Option<Instant> {
        while let Some(Reverse((at, key))) = self.heap.peek() {
            if self.live.contains_key(key) {
                return Some(*at);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes the first entry that is due at `now`.
    pub fn due(&mut self, now: Instant) -> Option<(Key, T)> {
        while self.next_due()? <= now {
            let Reverse((_, key)) = self.heap.pop()?;
            if let Some(what) = self.live.remove(&key) {
                return Some((key, what));
            }
        }
        None
    }

    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn entries_come_out_by_time_and_then_by_order() {
        let start = Instant::now();
        let mut clock = Clock::default();
        clock.set(start + Duration::from_secs(2), "late");
        clock.set(start, "first");
        clock.set(start, "second");
        let third = clock.set(start, "cancelled");
        assert_eq!(clock.cancel(third), Some("cancelled"));
        assert_eq!(clock.cancel(third), None);
        let mut due = Vec::new();
        while let Some((_, what)) = clock.due(start + Duration::from_secs(1)) {
            due.push(what);
        }
        assert_eq!(due, ["first", "second"]);
        assert!(!clock.is_empty());
        assert_eq!(clock.next_due(), Some(start + Duration::from_secs(2)));
    }

    #[test]
    fn cancelled_entries_do_not_pile_up() {
        let start = Instant::now();
        let mut clock = Clock::default();
        for _ in 0..10_000 {
            let key = clock.set(start + Duration::from_secs(3600), ());
            clock.cancel(key);
        }
        assert!(clock.heap.len() <= 65);
        assert!(clock.is_empty());
        assert_eq!(clock.next_due(), None);
    }
}
