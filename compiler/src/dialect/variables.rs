//! The variables that scripts read the values of their holes from.

use crate::expr::{Filter, Hole, Path, SegmentKind};
use rustc_hash::FxHashMap;

/// So few holes are sooner compared than put into a map.
const FEW: usize = 8;

/// The names that a script reads the values of holes by, each with the first hole that has it: each
/// path has one, no two have the same.
pub fn shell_names(holes: &[Hole]) -> Vec<(String, usize)> {
    let is_json = |hole: &Hole| matches!(hole.filter, Some((Filter::Json, _)));
    let mut firsts = FxHashMap::default();
    let mut taken: FxHashMap<String, usize> = FxHashMap::default();
    let mut names: Vec<(String, usize)> = Vec::with_capacity(holes.len());
    for (number, hole) in holes.iter().enumerate() {
        let first = match holes.len() <= FEW {
            true => {
                let same = |other: &&Hole| {
                    is_json(other) == is_json(hole) && other.path.kinds() == hole.path.kinds()
                };
                let before = holes[..number].iter();
                before.take_while(|other| !same(other)).count()
            }
            false => *firsts
                .entry((hole.path.kinds(), is_json(hole)))
                .or_insert(number),
        };
        let name = match names.get(first) {
            Some((name, _)) => name.clone(),
            None => untaken(shell_name(&hole.path), &mut taken),
        };
        names.push((name, first));
    }
    names
}

/// The name itself, or with a number: each that was given is there with the number to try next.
fn untaken(name: String, taken: &mut FxHashMap<String, usize>) -> String {
    let Some(next) = taken.get(&name).copied() else {
        taken.insert(name.clone(), 2);
        return name;
    };
    let numbered = |number: usize| format!("{name}_{number}");
    let free = (next..).find(|number| !taken.contains_key(&numbered(*number)));
    let number = free.unwrap_or(next);
    taken.insert(numbered(number), 2);
    let found = numbered(number);
    taken.insert(name, number + 1);
    found
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
