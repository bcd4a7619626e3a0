//! Which holes are paths.

use super::position::{Place, Position};
use std::ops::Range;

/// Commands whose arguments are files, as far as they are no options.
const FILES: &[&str] = &[
    "cat", "cd", "du", "head", "ls", "mkdir", "pushd", "rm", "rmdir", "source", "stat", "tail",
    "touch", ".",
];

/// How far back the start of a word is looked for.
const LONGEST: usize = 256;

/// Whether the value of a hole is the path of a file, or a part of one.
pub fn names_file(text: &str, hole: &Range<usize>, position: &Position) -> bool {
    let command = position.command.as_deref().unwrap_or_default();
    // What another program reads is its own affair, and what is only shown is a path to nobody.
    if position.program.is_some() || matches!(command, "echo" | "printf") {
        return false;
    }
    match position.place {
        Place::Redirection => true,
        Place::Argument if FILES.contains(&command) => !is_option(text, hole),
        Place::Argument | Place::Assignment | Place::Declaration | Place::Test => {
            let after = &text[hole.end..];
            let after = after.strip_prefix(['"', '\'']).unwrap_or(after);
            after.starts_with('/') || in_path(text, hole)
        }
        _ => false,
    }
}

/// The text from the last blank or quote on to a hole.
fn before<'t>(text: &'t str, hole: &Range<usize>) -> &'t str {
    let far = text.floor_char_boundary(hole.start.saturating_sub(LONGEST));
    let before = &text[far..hole.start];
    let start = before.rfind([' ', '\t', '\n', '"', '\'', '=']);
    start.map_or(before, |start| &before[start + 1..])
}

fn is_option(text: &str, hole: &Range<usize>) -> bool {
    before(text, hole).starts_with('-')
}

/// Whether a `/` stands before the hole and a name goes on behind it.
fn in_path(text: &str, hole: &Range<usize>) -> bool {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    before(text, hole).contains('/') && text.as_bytes().get(hole.end).is_some_and(goes_on)
}
