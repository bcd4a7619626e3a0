//! Names that are nearly others: what was meant by a word that means nothing.
//!
//! Comparing every word with every name grows with the square of a file. Where there may be many
//! of both, the names are put into an index once: [`Near`] for what is to be suggested, [`Slips`]
//! for what is one slip of the hand away.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::{Cell, OnceCell};

/// What an index does before it answers nothing more, in looks at a name: enough for all names of
/// any recipe that is written by hand, and so little that a hostile one is checked in no time.
const MOST_LOOKS: usize = 20_000_000;

/// So few names, or names with so few words, are sooner compared than put into an index.
const FEW: usize = 32;

/// What comparing a letter of two names costs, in looks.
const LETTER: usize = 4;

/// The nearest of `known` to what was written, if it is near enough to be a slip.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = letters(written);
    let limit = limit(&letters);
    let own = kinds(&letters);
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        // Most names are too long or too short, and nothing more need be known about them.
        let fits = !name.is_ascii() || name.len().abs_diff(letters.len()) <= limit;
        if !fits || name == written {
            continue;
        }
        let most = best.map_or(limit, |(distance, _)| distance - 1);
        if fewest_edits(own, kinds(&self::letters(name))) > most {
            continue;
        }
        let distance = edits(&letters, name, most);
        if distance <= most {
            best = Some((distance, name));
        }
        if distance == 0 {
            break;
        }
    }
    best.map(|(_, name)| name)
}

/// How many edits still make a slip.
fn limit(letters: &[char]) -> usize {
    // Who writes nothing has not misspelt anything.
    (letters.len() / 3).clamp(1, 3).min(letters.len())
}

/// An edit takes away at most one kind of letter, and brings at most one.
fn fewest_edits(own: u64, other: u64) -> usize {
    let (gone, new) = (own & !other, other & !own);
    gone.count_ones().max(new.count_ones()) as usize
}

/// The edits from a word to a name, or more than `most`: also where too little is left of a short
/// word to tell what was meant.
fn edits(letters: &[char], name: &str, most: usize) -> usize {
    let distance = distance(letters, &self::letters(name), most);
    let guess = distance > 0 && letters.len() < 3 && name.chars().count() < 3;
    let swapped = letters.iter().all(|letter| name.contains(*letter));
    match guess && (letters.len() == 1 || !swapped) {
        true => most + 1,
        false => distance,
    }
}

/// Whether a name is another one with a slip of the hand, and not a sister of it: one edit, of
/// letters, in a word of some length, and not at its plural.
pub fn is_slip(written: &str, meant: &str) -> bool {
    // Most names are too long or too short, and nothing more need be known about them.
    if written.is_ascii() && meant.is_ascii() {
        let (one, other) = (written.as_bytes(), meant.as_bytes());
        if one.len().abs_diff(other.len()) > 1 {
            return false;
        }
        // Nor about names that differ in a digit, or in more than two neighbours.
        let same = |(one, other): &(&u8, &u8)| one.eq_ignore_ascii_case(other);
        let start = one.iter().zip(other).take_while(same).count();
        let (one, other) = (&one[start..], &other[start..]);
        let backwards = one.iter().rev().zip(other.iter().rev());
        let end = backwards.take_while(same).count();
        let digit = |rest: &[u8]| rest.first().is_some_and(u8::is_ascii_digit);
        if digit(one) || digit(other) || one.len().max(other.len()) - end > 2 {
            return false;
        }
    }
    let (one, other) = (letters(written), letters(meant));
    let plural = |one: &[char], other: &[char]| matches!(one.split_last(), Some(('s', rest)) if rest == other);
    if distance(&one, &other, 1) > 1 || plural(&one, &other) || plural(&other, &one) {
        return false;
    }
    // The parts of both names that are not the same: most names are several words.
    let start = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let word = |letters: &[char]| word_at(letters, start);
    let is_digit = |letters: &[char]| letters.get(start).is_some_and(|l| l.is_numeric());
    let same = one == other;
    same || (!is_digit(&one) && !is_digit(&other) && word(&one).max(word(&other)) > 2)
}

/// Whether a name may be put right unasked. A letter for another makes another word of a short one:
/// of `left` and `lift`, or `test` and `text`, either may be meant.
pub fn is_sure_slip(written: &str, meant: &str) -> bool {
    if !is_slip(written, meant) {
        return false;
    }
    let (one, other) = (letters(written), letters(meant));
    let mut different = (0..one.len().min(other.len())).filter(|at| one[*at] != other[*at]);
    match (different.next(), different.next()) {
        (Some(at), None) if one.len() == other.len() => word_at(&other, at) > 4,
        _ => true,
    }
}

/// How long the word is that goes through this place.
fn word_at(letters: &[char], at: usize) -> usize {
    let (before, after) = letters.split_at(at.min(letters.len()));
    let before = before.iter().rev().take_while(|l| l.is_alphabetic());
    before.count() + after.iter().take_while(|l| l.is_alphabetic()).count()
}

/// Whether one of two names is the other's plural.
pub fn is_plural(one: &str, other: &str) -> bool {
    let adds = |one: &str, other: &str| {
        one.strip_suffix(['s', 'S'])
            .is_some_and(|stem| stem.eq_ignore_ascii_case(other))
    };
    adds(one, other) || adds(other, one)
}

/// The names of which one is the plural, and those that are its plural.
pub fn plurals(name: &str) -> Vec<String> {
    let one = name.strip_suffix(['s', 'S']).map(str::to_string);
    one.into_iter().chain([[name, "s"].concat()]).collect()
}

type Letters = SmallVec<[char; 24]>;

fn letters(word: &str) -> Letters {
    match word.is_ascii() {
        true => word
            .bytes()
            .map(|b| b.to_ascii_lowercase().into())
            .collect(),
        false => word.chars().flat_map(char::to_lowercase).collect(),
    }
}

/// Which letters there are, one bit for each; those that share one are taken for the same.
fn kinds(letters: &[char]) -> u64 {
    let bit = |letter: &char| 1 << (*letter as u32 % 64);
    letters.iter().fold(0, |kinds, letter| kinds | bit(letter))
}

/// Edits between two words: insert, delete, replace, or swap two neighbours. Stops counting
/// beyond `limit`.
fn distance(a: &[char], b: &[char], limit: usize) -> usize {
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    // What both begin and end with takes no edit.
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let backwards = a.iter().rev().zip(b.iter().rev());
    let same = backwards.take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    type Row = SmallVec<[usize; 25]>;
    let beyond = limit + 1;
    let mut before: Row = SmallVec::from_elem(beyond, b.len() + 1);
    let mut last: Row = (0..=b.len()).map(|edits| edits.min(beyond)).collect();
    let mut row = before.clone();
    for i in 1..=a.len() {
        // Letters that are further apart than that take more edits than are counted.
        let (from, to) = (i.saturating_sub(limit).max(1), b.len().min(i + limit));
        row[from - 1] = if from == 1 { i } else { beyond };
        let mut least = row[from - 1];
        for j in from..=to {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            least = least.min(best);
            row[j] = best;
        }
        if let Some(next) = row.get_mut(to + 1) {
            *next = beyond;
        }
        // A swap reaches back two rows, for one edit more than stands there.
        let reached = &last[from - 1..=to];
        if least > limit && reached.iter().all(|edits| *edits >= limit) {
            return beyond;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
}

/// Names to suggest, by length and by the letters that are in them.
#[derive(Default)]
pub struct Near<'a> {
    lengths: FxHashMap<usize, Vec<(u64, &'a str)>>,
    looks: Cell<usize>,
}

impl<'a> Extend<&'a str> for Near<'a> {
    fn extend<T: IntoIterator<Item = &'a str>>(&mut self, names: T) {
        for name in names {
            let letters = letters(name);
            let same_length = self.lengths.entry(letters.len()).or_default();
            same_length.push((kinds(&letters), name));
        }
    }
}

impl<'a> FromIterator<&'a str> for Near<'a> {
    fn from_iter<T: IntoIterator<Item = &'a str>>(names: T) -> Near<'a> {
        let mut near = Near::default();
        near.extend(names);
        near
    }
}

impl<'a> Near<'a> {
    /// The same as [`nearest`] of those that are wanted, in the order of the alphabet.
    pub fn nearest(&self, written: &str, wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        self.nearer(None, written, wanted).map(|(_, name)| name)
    }

    /// The same, if it is nearer than what was found elsewhere: names and how many edits they take.
    pub fn nearer(
        &self,
        mut best: Option<(usize, &'a str)>,
        written: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Option<(usize, &'a str)> {
        let letters = letters(written);
        let limit = limit(&letters);
        let own = kinds(&letters);
        // Names of the same length are the likeliest, and once one is found fewer need a look.
        let mut lengths: SmallVec<[usize; 7]> =
            (letters.len().saturating_sub(limit)..=letters.len() + limit).collect();
        lengths.sort_unstable_by_key(|length| length.abs_diff(letters.len()));
        for length in lengths {
            let names = self.lengths.get(&length).map_or(&[][..], Vec::as_slice);
            if !self.may_look(names.len()) {
                return best;
            }
            for (theirs, name) in names {
                let most = match best {
                    Some((distance, other)) if *name < other => distance,
                    Some((0, _)) => continue,
                    Some((distance, _)) => distance - 1,
                    None => limit,
                };
                let far = fewest_edits(own, *theirs) > most;
                if far || *name == written || !wanted(name) {
                    continue;
                }
                if !self.may_look(LETTER * length) {
                    return best;
                }
                let distance = edits(&letters, name, most);
                if distance <= most {
                    best = Some((distance, name));
                }
            }
        }
        best
    }

    fn may_look(&self, more: usize) -> bool {
        may_look(&self.looks, more)
    }
}

fn may_look(looks: &Cell<usize>, more: usize) -> bool {
    looks.set(looks.get().saturating_add(more));
    looks.get() <= MOST_LOOKS
}

/// Names, by what is left of each of them when one letter is taken away: two names that are at most
/// one edit apart have one of these in common, or one of them is what is left of the other.
pub struct Slips<'a> {
    names: Vec<&'a str>,
    /// The hash of what is left, and of which name; once more than a few words were asked for.
    left: OnceCell<Vec<(u64, u32)>>,
    asked: Cell<usize>,
    looks: Cell<usize>,
}

impl<'a> Slips<'a> {
    pub fn new(names: impl IntoIterator<Item = &'a str>) -> Slips<'a> {
        Slips {
            names: names.into_iter().collect(),
            left: OnceCell::new(),
            asked: Cell::new(0),
            looks: Cell::new(0),
        }
    }

    fn left(&self) -> &[(u64, u32)] {
        self.left.get_or_init(|| {
            let mut left = Vec::new();
            for (number, name) in (0..).zip(&self.names) {
                left.extend(remains(name).into_iter().map(|hash| (hash, number)));
            }
            left.sort_unstable();
            left
        })
    }

    /// The first of the names that are wanted of which this is a slip; one that differs in its
    /// capitals alone comes before the others.
    pub fn nearest(&self, written: &str, wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        let mut best: Option<(bool, u32)> = None;
        let mut look = |number: u32| {
            let name = self.names[number as usize];
            let behind = best.is_some_and(|best| best <= (false, number));
            if !behind && name != written && wanted(name) && is_slip(written, name) {
                let found = (letters(name) != letters(written), number);
                best = Some(best.map_or(found, |best| best.min(found)));
            }
        };
        self.asked.set(self.asked.get() + 1);
        if self.asked.get().min(self.names.len()) <= FEW {
            (0..).zip(&self.names).for_each(|(number, _)| look(number));
        } else {
            let left = self.left();
            for hash in remains(written) {
                let from = left.partition_point(|(other, _)| *other < hash);
                let after = left[from..].iter();
                let same = after.take_while(|(other, _)| *other == hash);
                same.take_while(|_| may_look(&self.looks, 1))
                    .for_each(|(_, number)| look(*number));
            }
        }
        best.map(|(_, number)| self.names[number as usize])
    }
}

/// The hashes of a word, and of the word without each of its letters.
fn remains(word: &str) -> Vec<u64> {
    const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
    let letters = letters(word);
    let step = |hash: u64, letter: &char| hash.wrapping_mul(BASE).wrapping_add(*letter as u64 + 1);
    // The hash of what comes after each letter, and by how much that moves what comes before it.
    let mut after: Vec<(u64, u64)> = vec![(0, 1)];
    for letter in letters.iter().rev() {
        let (hash, power) = after[after.len() - 1];
        let letter = (*letter as u64 + 1).wrapping_mul(power);
        after.push((hash.wrapping_add(letter), power.wrapping_mul(BASE)));
    }
    let mut found = Vec::with_capacity(letters.len() + 1);
    let mut before = 0;
    for (letter, (hash, power)) in letters.iter().zip(after.iter().rev().skip(1)) {
        found.push(u64::wrapping_mul(before, *power).wrapping_add(*hash));
        before = step(before, letter);
    }
    found.push(before);
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_slips_and_nothing_else() {
        let known = ["command", "condition", "continue_on_error", "id", "user"];
        assert_eq!(nearest("comand", known), Some("command"));
        assert_eq!(nearest("usre", known), Some("user"));
        assert_eq!(nearest("Command", known), Some("command"));
        assert_eq!(nearest("banana", known), None);
        assert_eq!(nearest("command", known), None);
        assert_eq!(nearest("b", ["a", "bc"]), None);
        assert_eq!(nearest("ab", ["ac", "x"]), None);
        assert_eq!(nearest("di", ["id", "do"]), Some("id"));
        assert_eq!(nearest("B", ["a", "b"]), Some("b"));
        assert_eq!(nearest("", ["a"]), None);
    }

    /// Words of few letters: many of them are nearly others.
    fn words(count: usize) -> Vec<String> {
        let mut state = 7u64;
        let mut letter = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ['a', 'b', 'c', 'D', '_', '1', 'é', 's'][(state >> 60) as usize % 8]
        };
        let word = |number| (0..2 + number % 9).map(|_| letter()).collect();
        (0..count).map(word).collect()
    }

    #[test]
    fn an_index_finds_what_comparing_all_names_finds() {
        let words = words(2_000);
        let (written, known) = words.split_at(1_000);
        let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
        known.sort_unstable();
        let near: Near<'_> = known.iter().copied().collect();
        let slips = Slips::new(known.iter().copied());
        let (mut found, mut slipped) = (0, 0);
        for word in written {
            let meant = nearest(word, known.iter().copied());
            assert_eq!(near.nearest(word, |_| true), meant, "{word}");
            let all = known.iter().filter(|name| is_slip(word, name));
            let slip = nearest(word, all.copied());
            assert_eq!(slips.nearest(word, |_| true), slip, "{word}");
            found += usize::from(meant.is_some());
            slipped += usize::from(slip.is_some());
        }
        assert!(found > slipped && slipped > 100, "{found}, {slipped}");
    }

    #[test]
    fn letters_that_are_far_apart_are_not_compared() {
        let all = |a: &[char], b: &[char]| distance(a, b, a.len().max(b.len()));
        let words: Vec<Letters> = words(300).iter().map(|word| letters(word)).collect();
        for (a, b) in words.iter().zip(words.iter().skip(1)) {
            for limit in 0..4 {
                assert_eq!(
                    distance(a, b, limit).min(limit + 1),
                    all(a, b).min(limit + 1)
                );
            }
        }
    }

    #[test]
    fn an_index_does_not_look_at_every_name() {
        let names: Vec<String> = (0..30_000).map(|number| format!("name_{number}")).collect();
        let near: Near<'_> = names.iter().map(String::as_str).collect();
        let slips = Slips::new(names.iter().map(String::as_str));
        for name in &names {
            near.nearest(name, |_| true);
            slips.nearest(name, |_| true);
        }
        // Of every letter there are ten digits to put into its place, or behind it.
        let looks = names.len() * "name_30000".len() * 20;
        assert!(slips.looks.get() < looks, "{}", slips.looks.get());
        assert_eq!(near.nearest("nmae_1", |_| true), None);
    }

    #[test]
    fn sisters_are_not_slips() {
        for (written, meant) in [
            ("comand", "command"),
            ("usre", "user"),
            ("Repo_path", "repo_path"),
            ("repo_pth", "repo_path"),
            ("repopath", "repo_path"),
            ("tier2_fndings", "tier2_findings"),
            ("naem", "name"),
        ] {
            assert!(is_slip(written, meant), "{written}");
        }
        for (written, meant) in [
            ("claims_b", "claims_a"),
            ("tier3_findings", "tier2_findings"),
            ("part1", "part2"),
            ("part", "part2"),
            ("repo", "repos"),
            ("items", "item"),
            ("code_content", "doc_content"),
            ("env_result", "echo_result"),
            ("x", "y"),
        ] {
            assert!(!is_slip(written, meant), "{written}");
        }
    }

    #[test]
    fn a_letter_for_another_in_a_short_word_may_be_meant() {
        for (written, meant) in [("setn", "setx"), ("old_test", "old_text")] {
            assert!(is_slip(written, meant), "{written}");
            assert!(!is_sure_slip(written, meant), "{written}");
        }
        for (written, meant) in [
            ("usre", "user"),
            ("nme", "name"),
            ("naame", "name"),
            ("Name", "name"),
            ("cimmand", "command"),
        ] {
            assert!(is_sure_slip(written, meant), "{written}");
        }
        assert!(!is_sure_slip("part1", "part2"));
    }
}
