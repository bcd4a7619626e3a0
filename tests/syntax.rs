//! Shell text that bash cannot read: what is said about it, held against real bash.
//!
//! Programs are made from the grammar, and most of them lose a word, a letter or a line. Nothing may
//! be said of a text that `bash -n` takes; of what it refuses, most must be found.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

use rrc_compiler::shell::{Broken, broken};
use rrc_vm::generate::Random;
use std::process::Command;

const LEAVES: [&str; 19] = [
    "echo a",
    "x=1",
    "f \"$x\" 'y'",
    "a=(1 \"2 3\" # it's\n)",
    "cat <<< y",
    "echo ${x:-z} ${#a[@]} \"${x//\\\"/q}\"",
    "[ -f a ] && ls",
    "[[ $a == b* && -f c ]]",
    "[[ $a =~ ^(b|c)$ ]]",
    "((i++))",
    "echo $((1 + (2))) $(date) `id`",
    "cat <<E\nq ' \" ( fi\nE",
    "cat <<-'E F' > o\n\tq $(\n\tE F",
    "g() { echo \"$1\"; }",
    "echo $'it\\'s' \"a $(echo \"b\") c\"",
    "echo if then fi done } esac",
    "diff <(a) <(b) 2>&1 | sort &",
    "! true || echo a\\ b # \"c",
    "case $x in\\\n  a) ;; esac",
];

fn program(random: &mut Random, depth: usize) -> String {
    let end = if random.once_in(2) { "\n" } else { "; " };
    // What ends with a heredoc or in the background cannot be followed by `;`.
    let mut part = |end: &str| {
        let text = program(random, depth.saturating_sub(1));
        match text.contains("<<") || text.ends_with('&') || text.contains('#') {
            true => format!("{text}\n"),
            false => format!("{text}{end}"),
        }
    };
    if depth == 0 {
        return LEAVES[random.below(LEAVES.len())].to_string();
    }
    let (one, two) = (part(end), part(end));
    match random.below(11) {
        0 => format!("if {one}then {two}fi"),
        1 => format!("if {one}then\n{two}else {one}fi"),
        2 => format!("if {one}then {two}elif {one}then {two}fi"),
        3 => format!("for i in a \"b c\" # it's\ndo {one}done"),
        4 => format!("for ((i=0; i<3; i++)); do {one}done"),
        5 => format!("while {one}do {two}done"),
        6 => format!("case $x in\n  a|'b') {one}\n  ;;\n  (*) {two}\nesac"),
        7 => format!("{{ {one}}}"),
        8 => format!("( {one})"),
        9 => format!("{one}{two}"),
        _ => format!("echo \"$( {one})\""),
    }
}

/// The same with something missing, too much, or out of place.
fn damaged(random: &mut Random, text: &str) -> String {
    let cut = |from: usize, to: usize| format!("{}{}", &text[..from], &text[to..]);
    let marks: Vec<usize> = text
        .match_indices(|c: char| !c.is_alphanumeric())
        .map(|m| m.0)
        .collect();
    match random.below(4) {
        0 => {
            let words: Vec<&str> = text.split_inclusive(' ').collect();
            let lost = random.below(words.len());
            [&words[..lost], &words[lost + 1..]].concat().concat()
        }
        1 => {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let lost = random.below(lines.len());
            [&lines[..lost], &lines[lost + 1..]].concat().concat()
        }
        2 if !marks.is_empty() => {
            let at = marks[random.below(marks.len())];
            cut(at, at + 1)
        }
        _ => {
            let more = [
                "'", "\"", "(", ")", " fi ", "\ndone\n", "`", "$(", "${", "}",
            ];
            let at = marks
                .get(random.below(marks.len().max(1)))
                .copied()
                .unwrap_or(0);
            format!(
                "{}{}{}",
                &text[..at],
                more[random.below(more.len())],
                &text[at..]
            )
        }
    }
}

/// Whether bash takes a text, and whether it complains.
fn bash(text: &str) -> (bool, bool) {
    let said = Command::new("bash")
        .args(["-n", "-c", text])
        .output()
        .unwrap();
    (said.status.success(), !said.stderr.is_empty())
}

#[test]
fn only_what_bash_refuses_is_refused() {
    let mut random = Random::new(7);
    let (mut refused, mut found) = (0, 0);
    for round in 0..900 {
        let whole = program(&mut random, 1 + round % 3);
        let text = match round % 4 {
            0 => whole,
            _ => damaged(&mut random, &whole),
        };
        let (fine, complains) = bash(&text);
        let said = broken(&text, &[]);
        match &said {
            // What is wrong with a test is known when it runs.
            Some(Broken { range, .. }) if ["[", "]"].contains(&&text[range.clone()]) => {}
            Some(Broken { harmless: true, .. }) => assert!(complains, "{text}\n{said:?}"),
            Some(_) => assert!(!fine, "{text}\n{said:?}"),
            None => {}
        }
        refused += usize::from(!fine);
        found += usize::from(!fine && said.is_some());
    }
    println!("bash refuses {refused}, {found} are found");
    assert!(refused > 200, "only {refused} are wrong");
    assert!(found * 10 >= refused * 8, "{found} of {refused} are found");
}

#[test]
fn a_test_without_its_bracket_is_found() {
    for text in [
        "[ -f a ]",
        "[ -f a ] && [ -f b ]",
        "[ -f a ] > /dev/null # ]",
        "! [ -f a ] 2>&1",
        "[ \"$HOME\" = ']' ]",
        "echo [ a",
        "echo a ]",
        "[[ -f a ]]",
        "test -f a",
        "[ -f a",
        "[ -f a && -f b ]",
        "if [ -f a; then echo b; fi",
        "[ -f a] || true",
        "[ \"$HOME\" = ']'",
        "[ -f a | cat",
        "[-f a ]",
        "[\"$HOME\" = b ]",
        "x=$([ -f a)",
        "{ [ -f a; }",
    ] {
        let run = Command::new("bash").args(["-c", text]).output().unwrap();
        let said = broken(text, &[]);
        assert_eq!(said.is_some(), !run.stderr.is_empty(), "{text}\n{said:?}");
        assert!(said.is_none_or(|said| said.harmless), "{text}");
    }
}
