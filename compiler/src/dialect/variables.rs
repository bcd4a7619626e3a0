//! The variables that scripts read the values of their holes from.

use crate::expr::{Filter, Hole, Path, SegmentKind};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// So few holes are sooner compared than put into a map.
const FEW: usize = 8;

/// The names that a script reads the values of holes by, each with the first hole that has it: each
/// path has one, no two have the same.
pub fn shell_names(holes: &[Hole]) -> Vec<(String, usize)> {
    let is_few = holes.len() <= FEW;
    let mut firsts = FxHashMap::default();
    // With the number to try next.
    let mut taken: FxHashMap<String, usize> = FxHashMap::default();
    let mut names: Vec<(String, usize)> = Vec::with_capacity(holes.len());
    for (number, hole) in holes.iter().enumerate() {
        let first = match is_few {
            true => holes[..number]
                .iter()
                .position(|other| is_same(other, hole)),
            false => match firsts.entry((hole.path.kinds(), is_json(hole))) {
                Entry::Occupied(first) => Some(*first.get()),
                Entry::Vacant(new) => {
                    new.insert(number);
                    None
                }
            },
        };
        let name = match first {
            Some(first) => names[first].0.clone(),
            None => {
                let name = shell_name(&hole.path);
                match is_few {
                    true => untaken(name, 2, |name| names.iter().any(|(known, _)| known == name)).0,
                    false => {
                        let next = taken.get(&name).copied().unwrap_or(2);
                        let (found, next) =
                            untaken(name.clone(), next, |name| taken.contains_key(name));
                        taken.insert(found.clone(), 2);
                        taken.insert(name, next);
                        found
                    }
                }
            }
        };
        names.push((name, first.unwrap_or(number)));
    }
    names
}

fn is_json(hole: &Hole) -> bool {
    matches!(hole.filter, Some((Filter::Json, _)))
}

/// Whether two holes have the same value.
fn is_same(one: &Hole, other: &Hole) -> bool {
    is_json(one) == is_json(other) && one.path.is_same(&other.path)
}

/// A name, or the name with the first number from `next` on that is free; and the number after it.
fn untaken(name: String, next: usize, taken: impl Fn(&str) -> bool) -> (String, usize) {
    if !taken(&name) {
        return (name, next);
    }
    let mut number = next;
    loop {
        let numbered = format!("{name}_{number}");
        number += 1;
        if !taken(&numbered) {
            return (numbered, number);
        }
    }
}

fn shell_name(path: &Path) -> String {
    const START: &str = "RECIPE_VAR_";
    // Each bracket or dot becomes two bytes at most.
    let mut name = String::with_capacity(START.len() + 2 * path.range.len());
    name.push_str(START);
    for (number, segment) in path.segments.iter().enumerate() {
        if number > 0 {
            name.push_str("__");
        }
        match &segment.kind {
            SegmentKind::Name(written) => name.extend(
                written
                    .chars()
                    .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }),
            ),
            SegmentKind::Index(at) => name.push_str(&at.to_string().replace('-', "_")),
        }
    }
    name
}
