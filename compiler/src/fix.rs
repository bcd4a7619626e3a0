//! Applying fixes to texts, and showing what changed.
//!
//! Knows edits and nothing of what they mean: a fix is applied whole or not at all, two fixes that
//! touch the same bytes are not applied in one go, and the order in which findings arrive cannot
//! be seen in the result. Nothing is written anywhere; the caller does that.

use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix};
use crate::source::{SourceId, Sources};
use std::collections::BTreeMap;

/// Accepted edits by source, start and end. They never overlap.
type Accepted<'a> = BTreeMap<(SourceId, u32, u32), &'a str>;

/// The new texts of the sources that change, with the number of fixes that touched each.
///
/// Applies fixes up to `max`: `Safe` takes the safe ones, `Unsafe` these too; `Display` fixes are
/// never applied. What was left out because it overlaps is found again by the next check.
pub fn apply(
    sources: &Sources,
    findings: &[Diagnostic],
    max: Applicability,
) -> Vec<(SourceId, String, usize)> {
    let mut ordered: Vec<&Diagnostic> = findings.iter().collect();
    ordered
        .sort_by(|a, b| (a.span, a.code.code, &a.message).cmp(&(b.span, b.code.code, &b.message)));

    let mut accepted = Accepted::new();
    let mut applied: BTreeMap<SourceId, usize> = BTreeMap::new();
    let wanted = ordered
        .iter()
        .filter_map(|finding| finding.fix.as_ref())
        .filter(|fix| allowed(fix.applicability, max));
    for fix in wanted {
        if accept(fix, sources, &mut accepted) {
            let mut touched: Vec<SourceId> = fix.edits.iter().map(|e| e.span.source).collect();
            touched.sort_unstable();
            touched.dedup();
            for source in touched {
                *applied.entry(source).or_default() += 1;
            }
        }
    }
    applied
        .into_iter()
        .map(|(id, count)| (id, rewrite(id, sources, &accepted), count))
        .filter(|(id, text, _)| *text != *sources.get(*id).text)
        .collect()
}

fn allowed(applicability: Applicability, max: Applicability) -> bool {
    match applicability {
        Applicability::Safe => true,
        Applicability::Unsafe => max != Applicability::Safe,
        Applicability::Display => false,
    }
}

/// Takes all edits of a fix, or none of them.
fn accept<'a>(fix: &'a Fix, sources: &Sources, accepted: &mut Accepted<'a>) -> bool {
    // Two findings may ask for the very same change, a pin at the top of a file for example.
    if fix
        .edits
        .iter()
        .all(|edit| accepted.get(&key(edit)) == Some(&edit.text.as_str()))
    {
        return !fix.edits.is_empty();
    }
    for (index, edit) in fix.edits.iter().enumerate() {
        if !fits(edit, sources) || overlaps(edit, accepted) {
            for taken in &fix.edits[..index] {
                accepted.remove(&key(taken));
            }
            return false;
        }
        accepted.insert(key(edit), &edit.text);
    }
    true
}

fn key(edit: &Edit) -> (SourceId, u32, u32) {
    (edit.span.source, edit.span.start, edit.span.end)
}

/// Whether an edit lies inside its text and between characters.
fn fits(edit: &Edit, sources: &Sources) -> bool {
    sources
        .get(edit.span.source)
        .text
        .get(edit.span.range())
        .is_some()
}

/// Whether an edit touches bytes that an accepted one touches, or inserts where one inserts: then
/// the order of the two would matter.
fn overlaps(edit: &Edit, accepted: &Accepted<'_>) -> bool {
    let (source, start, end) = key(edit);
    let before = accepted
        .range((source, 0, 0)..(source, start, 0))
        .next_back()
        .is_some_and(|((_, _, other_end), _)| *other_end > start);
    before
        || accepted
            .range((source, start, 0)..=(source, end, u32::MAX))
            .any(|((_, other_start, other_end), _)| {
                let both_insert = start == end && other_start == other_end;
                let both_replace_from = start < end && other_start < other_end;
                if *other_start == start {
                    both_insert || both_replace_from
                } else {
                    *other_start < end
                }
            })
}

fn rewrite(id: SourceId, sources: &Sources, accepted: &Accepted<'_>) -> String {
    let text = &sources.get(id).text;
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for ((_, start, end), inserted) in accepted.range((id, 0, 0)..=(id, u32::MAX, u32::MAX)) {
        new.push_str(text.get(done..*start as usize).unwrap_or(""));
        new.push_str(inserted);
        done = *end as usize;
    }
    new.push_str(text.get(done..).unwrap_or(""));
    new
}

/// Beyond this many changed lines a difference is shown as one block replaced by another: finding
/// the shortest one costs the square of it.
const MOST_CHANGES: usize = 1000;
const AROUND: usize = 3;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Line {
    Same,
    Old,
    New,
}

/// A unified difference, empty when the texts are equal.
pub fn diff(old: &str, new: &str, name: &str) -> String {
    if old == new {
        return String::new();
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let lines = compare(&a, &b);
    let mut out = format!("--- {name}\n+++ {name}\n");
    let (mut i, mut j, mut at) = (0, 0, 0);
    while at < lines.len() {
        let same = lines[at..]
            .iter()
            .take_while(|line| **line == Line::Same)
            .count();
        if at + same == lines.len() {
            break;
        }
        let skip = same.saturating_sub(AROUND);
        (i, j, at) = (i + skip, j + skip, at + skip);
        let end = hunk_end(&lines, at);
        let count = |side| lines[at..end].iter().filter(|line| **line != side).count();
        let (olds, news) = (count(Line::New), count(Line::Old));
        out.push_str(&format!("@@ -{} +{} @@\n", range(i, olds), range(j, news)));
        for line in &lines[at..end] {
            let (sign, text) = match line {
                Line::Same => (' ', a[i]),
                Line::Old => ('-', a[i]),
                Line::New => ('+', b[j]),
            };
            i += usize::from(*line != Line::New);
            j += usize::from(*line != Line::Old);
            out.push(sign);
            out.push_str(text);
            if !text.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
        at = end;
    }
    out
}

/// The edits that lead from the old text to the new, by whole lines: bytes of the old text, and
/// what takes their place. In order, and apart from each other.
pub fn edits<'n>(old: &str, new: &'n str) -> Vec<(std::ops::Range<usize>, &'n str)> {
    let (a, b): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive('\n').collect(),
        new.split_inclusive('\n').collect(),
    );
    let mut found: Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> = Vec::new();
    let (mut i, mut j, mut from, mut to) = (0, 0, 0, 0);
    for line in compare(&a, &b) {
        if line != Line::Same
            && found
                .last()
                .is_none_or(|(o, n)| (o.end, n.end) != (from, to))
        {
            found.push((from..from, to..to));
        }
        if line != Line::New {
            from += a[i].len();
            i += 1;
        }
        if line != Line::Old {
            to += b[j].len();
            j += 1;
        }
        if let Some((old, new)) = found.last_mut().filter(|_| line != Line::Same) {
            (old.end, new.end) = (from, to);
        }
    }
    found
        .into_iter()
        .map(|(old, range)| (old, &new[range]))
        .collect()
}

/// Where a hunk that starts at `at` ends: after its last change and the lines around it.
fn hunk_end(lines: &[Line], at: usize) -> usize {
    let mut end = at;
    let mut index = at;
    while index < lines.len() && (end == at || index < end + 2 * AROUND + 1) {
        if lines[index] != Line::Same {
            end = index + 1;
        }
        index += 1;
    }
    let after = lines[end..]
        .iter()
        .take(AROUND)
        .take_while(|line| **line == Line::Same);
    end + after.count()
}

/// `12,3`, or `12` for one line; of no lines, the line before.
fn range(first: usize, count: usize) -> String {
    match count {
        0 => format!("{first},0"),
        1 => format!("{}", first + 1),
        _ => format!("{},{count}", first + 1),
    }
}

/// The way from `a` to `b`, line by line.
fn compare(a: &[&str], b: &[&str]) -> Vec<Line> {
    let head = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count();
    let (a, b) = (&a[..a.len() - tail], &b[..b.len() - tail]);
    let mut lines = vec![Line::Same; head];
    match shortest(a, b) {
        Some(middle) => lines.extend(middle),
        None => {
            lines.extend(std::iter::repeat_n(Line::Old, a.len()));
            lines.extend(std::iter::repeat_n(Line::New, b.len()));
        }
    }
    lines.extend(std::iter::repeat_n(Line::Same, tail));
    lines
}

/// The shortest way, by walking diagonals (Myers). After `d` changes, `rows[d][i]` says how far into
/// `a` one can be on the diagonal `2 * i - d`, the diagonal being the place in `a` less that in `b`.
fn shortest(a: &[&str], b: &[&str]) -> Option<Vec<Line>> {
    let (n, m) = (a.len() as isize, b.len() as isize);
    let mut rows: Vec<Vec<isize>> = Vec::new();
    for changes in 0..=MOST_CHANGES {
        let mut row = Vec::with_capacity(changes + 1);
        for i in 0..=changes {
            let diagonal = 2 * i as isize - changes as isize;
            let mut x = rows.last().map_or(0, |last| step(last, i).0);
            let mut y = x - diagonal;
            while x < n && y < m && a[x as usize] == b[y as usize] {
                (x, y) = (x + 1, y + 1);
            }
            row.push(x);
            if x >= n && y >= m {
                rows.push(row);
                return Some(walk_back(&rows, n, m));
            }
        }
        rows.push(row);
    }
    None
}

/// One change further: how far, and whether the change took a line of `a` or one of `b`.
fn step(last: &[isize], i: usize) -> (isize, Line) {
    let over_old = i.checked_sub(1).and_then(|below| last.get(below));
    match (over_old, last.get(i)) {
        (Some(old), Some(new)) if old < new => (*new, Line::New),
        (Some(old), _) => (old + 1, Line::Old),
        (None, new) => (new.copied().unwrap_or(0), Line::New),
    }
}

fn walk_back(rows: &[Vec<isize>], n: isize, m: isize) -> Vec<Line> {
    let mut lines = Vec::new();
    let (mut x, mut y) = (n, m);
    for changes in (1..rows.len()).rev() {
        let i = (x - y + changes as isize) / 2;
        let (after, change) = step(&rows[changes - 1], i as usize);
        while x > after {
            lines.push(Line::Same);
            (x, y) = (x - 1, y - 1);
        }
        lines.push(change);
        match change {
            Line::Old => x -= 1,
            Line::New => y -= 1,
            Line::Same => {}
        }
    }
    lines.extend(std::iter::repeat_n(Line::Same, x as usize));
    lines.reverse();
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;
    use crate::dice::Dice;
    use crate::source::{Source, Span};

    fn finding(span: Span, fix: Fix) -> Diagnostic {
        Diagnostic::new(&codes::WRONG_TYPE, span, "m").fix(fix)
    }

    fn replace(id: SourceId, start: usize, end: usize, text: &str) -> Diagnostic {
        let span = Span::new(id, start, end);
        finding(span, Fix::safe("m", span, text))
    }

    fn one(text: &str) -> (Sources, SourceId) {
        let mut sources = Sources::default();
        let id = sources.add(Source::new("a", text));
        (sources, id)
    }

    #[test]
    fn a_fix_is_applied_whole_or_not_at_all() {
        let mut sources = Sources::default();
        let a = sources.add(Source::new("a", "one two"));
        let b = sources.add(Source::new("b", "three"));
        let mut both = replace(a, 0, 3, "1");
        if let Some(fix) = &mut both.fix {
            fix.edits.push(Edit {
                span: Span::new(b, 0, 5),
                text: "3".into(),
            });
        }
        let alone = replace(b, 4, 5, "E");
        assert_eq!(
            apply(
                &sources,
                &[alone.clone(), both.clone()],
                Applicability::Safe
            ),
            [(a, "1 two".into(), 1), (b, "3".into(), 1)]
        );
        // Against an earlier finding that takes the same bytes, neither file is touched.
        let first = replace(a, 0, 1, "O");
        assert_eq!(
            apply(&sources, &[both, alone, first], Applicability::Safe),
            [(a, "One two".into(), 1), (b, "threE".into(), 1)]
        );
    }

    #[test]
    fn applicability_is_respected() {
        let (sources, a) = one("xyz");
        let span = |at| Span::new(a, at, at + 1);
        let mut shown = replace(a, 2, 3, "3");
        if let Some(fix) = &mut shown.fix {
            fix.applicability = Applicability::Display;
        }
        let all = [
            replace(a, 0, 1, "1"),
            finding(span(1), Fix::unsafe_("m", span(1), "2")),
            shown,
        ];
        let text = |max| apply(&sources, &all, max)[0].1.clone();
        assert_eq!(text(Applicability::Safe), "1yz");
        assert_eq!(text(Applicability::Unsafe), "12z");
        assert_eq!(text(Applicability::Display), "12z");
    }

    #[test]
    fn the_same_change_asked_for_twice_is_made_once() {
        let (sources, a) = one("body\n");
        let pin = || Fix::safe("m", Span::top(a), "# pin\n");
        let all = [
            finding(Span::new(a, 0, 1), pin()),
            finding(Span::new(a, 2, 3), pin()),
        ];
        assert_eq!(
            apply(&sources, &all, Applicability::Safe),
            [(a, "# pin\nbody\n".into(), 2)]
        );
    }

    #[test]
    fn neighbours_do_not_overlap_and_insertions_at_one_place_do() {
        let (sources, a) = one("abcd");
        let all = [
            replace(a, 0, 2, "1"),
            replace(a, 2, 2, "-"),
            replace(a, 2, 4, "2"),
        ];
        assert_eq!(
            apply(&sources, &all, Applicability::Safe),
            [(a, "1-2".into(), 3)]
        );
        let all = [replace(a, 2, 2, "-"), replace(a, 2, 2, "+")];
        assert_eq!(apply(&sources, &all, Applicability::Safe)[0].2, 1);
        let all = [replace(a, 1, 3, "x"), replace(a, 2, 2, "+")];
        assert_eq!(
            apply(&sources, &all, Applicability::Safe),
            [(a, "axd".into(), 1)]
        );
    }

    #[test]
    fn what_splits_a_character_or_leaves_the_text_is_refused() {
        let (sources, a) = one("é😀");
        for (start, end) in [(0, 1), (1, 2), (2, 5), (0, 99), (99, 99)] {
            assert!(
                apply(
                    &sources,
                    &[replace(a, start, end, "x")],
                    Applicability::Safe
                )
                .is_empty()
            );
        }
    }

    /// Every `slip` has the fix `right`, as a rule would give it.
    fn rule(id: SourceId, text: &str) -> Vec<Diagnostic> {
        text.match_indices("slip")
            .map(|(at, _)| replace(id, at, at + 4, "right"))
            .collect()
    }

    #[test]
    fn independent_fixes_applied_twice_are_as_once() {
        let mut dice = Dice(7);
        for _ in 0..300 {
            let words = ["slip", "é", "\n", "x: ", "😀", "right"];
            let text: String = (0..dice.below(40)).map(|_| words[dice.below(6)]).collect();
            let (sources, id) = one(&text);
            let mut findings = rule(id, &text);
            let forward = apply(&sources, &findings, Applicability::Safe);
            findings.reverse();
            assert_eq!(forward, apply(&sources, &findings, Applicability::Safe));
            let Some((_, fixed, applied)) = forward.first() else {
                assert!(findings.is_empty());
                continue;
            };
            assert_eq!(*applied, findings.len());
            let (sources, id) = one(fixed);
            assert!(apply(&sources, &rule(id, fixed), Applicability::Safe).is_empty());
        }
    }

    #[test]
    fn any_edits_keep_what_they_do_not_touch() {
        let mut dice = Dice(11);
        for _ in 0..500 {
            let text: String = (0..30)
                .map(|_| ['a', 'é', '😀', '\n'][dice.below(4)])
                .collect();
            let (sources, id) = one(&text);
            let findings: Vec<Diagnostic> = (0..dice.below(6))
                .map(|_| {
                    let start = dice.below(text.len() + 2);
                    replace(id, start, start + dice.below(6), "<>")
                })
                .collect();
            let out = apply(&sources, &findings, Applicability::Safe);
            let new = out.first().map_or(text.as_str(), |(_, new, _)| new);
            // What is left between the replacements stands in the old text, in that order.
            let mut rest = text.as_str();
            for piece in new.split("<>") {
                let at = rest
                    .find(piece)
                    .expect("an untouched piece is still in the text");
                rest = &rest[at + piece.len()..];
            }
        }
    }

    /// Applies a difference the way `patch` would, without looking at the old text for help.
    fn patched(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut new, mut at) = (String::new(), 0);
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            let bare = lines.peek().is_some_and(|next| next.starts_with('\\'));
            let text = if bare {
                line[1..].trim_end_matches('\n')
            } else {
                &line[1..]
            };
            match line.as_bytes()[0] {
                b'@' => {
                    let (first, count) = line[4..].split_once([',', ' ']).unwrap();
                    let none = line[4..].split(' ').next().unwrap().ends_with(",0");
                    let first: usize = first.parse().unwrap();
                    assert!(!count.is_empty());
                    let start = if none { first } else { first - 1 };
                    new.extend(old[at..start].iter().copied());
                    at = start;
                }
                b' ' | b'-' => {
                    assert_eq!(old[at], text);
                    at += 1;
                    if line.starts_with(' ') {
                        new.push_str(text);
                    }
                }
                b'+' => new.push_str(text),
                _ => {}
            }
        }
        new.extend(old[at..].iter().copied());
        new
    }

    #[test]
    fn a_difference_reads_as_people_know_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\n";
        assert_eq!(
            diff(old, new, "x.yaml"),
            "--- x.yaml\n+++ x.yaml\n@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n"
        );
        assert_eq!(diff(old, old, "x"), "");
        assert_eq!(
            diff("", "a", "x"),
            "--- x\n+++ x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn a_difference_leads_from_the_old_text_to_the_new() {
        let mut dice = Dice(3);
        for round in 0..600 {
            let mut text = |lines: usize| -> String {
                (0..dice.below(lines))
                    .map(|_| ["a\n", "b\n", "c\n", "d\r\n", "é"][dice.below(5)])
                    .collect()
            };
            let (old, new) = (text(40), text(40));
            assert_eq!(patched(&old, &diff(&old, &new, "x")), new, "round {round}");
            let mut edited = old.clone();
            for (range, text) in edits(&old, &new).into_iter().rev() {
                edited.replace_range(range, text);
            }
            assert_eq!(edited, new, "round {round}");
        }
        let old: String = (0..5000).map(|n| format!("{n}\n")).collect();
        let new: String = (0..5000).map(|n| format!("{}\n", n * 2 + 1)).collect();
        assert!(patched(&old, &diff(&old, &new, "x")) == new);
        let new = old
            .replace("\n7\n", "\nseven\n")
            .replace("\n4991\n", "\nlast\n");
        let short = diff(&old, &new, "x");
        assert_eq!(short.lines().count(), 20, "{short}");
        assert!(patched(&old, &short) == new);
    }
}
