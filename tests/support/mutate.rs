//! Damage to texts: bytes, lines and words that are not where they should be.

use super::recipes::BASES;
use rrc_vm::generate::Random;

const TOKENS: [&str; 66] = [
    "name",
    "steps",
    "stages",
    "id",
    "type",
    "bash",
    "agent",
    "recipe",
    "command",
    "prompt",
    "condition",
    "context",
    "foreach",
    "while_condition",
    "collect",
    "output",
    "retry",
    "env",
    "parallel",
    "update_context",
    "on_error",
    "timeout",
    "hooks",
    "approval",
    "true",
    "null",
    "yes",
    "0o17",
    "1e400",
    "-0",
    "99999999999999999999",
    ":",
    ": ",
    "- ",
    "-",
    "\n",
    "\n  ",
    "\n    ",
    "|",
    ">-",
    "[",
    "]",
    "{",
    "}",
    "{{",
    "}}",
    "{{a}}",
    "{{a.b[0]}}",
    "{{a|raw}}",
    "'",
    "\"",
    "#",
    "&a",
    "*a",
    "<<",
    "!!int",
    "---",
    "...",
    "%",
    "\t",
    "\\",
    "é",
    "\u{feff}",
    "?",
    "$((",
    "<<EOF",
];

pub fn bytes(random: &mut Random, most: usize) -> Vec<u8> {
    (0..random.below(most))
        .map(|_| random.next() as u8)
        .collect()
}

pub fn soup(random: &mut Random, most: usize) -> String {
    let mut text = String::new();
    for _ in 0..random.below(most) {
        text.push_str(TOKENS[random.below(TOKENS.len())]);
        if random.once_in(3) {
            text.push(' ');
        }
    }
    text
}

/// A base recipe with some damage; its number, and what is left of it.
pub fn recipe(random: &mut Random) -> (usize, Vec<u8>) {
    let base = random.below(BASES.len());
    let mut text = BASES[base].text.as_bytes().to_vec();
    for _ in 0..=random.below(3) {
        damage(random, &mut text);
    }
    (base, text)
}

fn damage(random: &mut Random, text: &mut Vec<u8>) {
    if text.is_empty() {
        return;
    }
    let at = random.below(text.len());
    match random.below(9) {
        0 => drop(text.remove(at)),
        1 => text[at] = random.next() as u8,
        2 => text.insert(at, b" \n\t:-{}[]'\"#&*|>"[random.below(16)]),
        3 => {
            let token = TOKENS[random.below(TOKENS.len())];
            text.splice(at..at, token.bytes());
        }
        kind => lines(random, text, kind),
    }
}

fn lines(random: &mut Random, text: &mut Vec<u8>, kind: usize) {
    let mut lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(Vec::from).collect();
    let (at, other) = (random.below(lines.len()), random.below(lines.len()));
    match kind {
        4 => drop(lines.remove(at)),
        5 => lines.insert(at, lines[other].clone()),
        6 => lines.swap(at, other),
        7 => words(random, &mut lines[at]),
        _ => {
            let foreign = BASES[random.below(BASES.len())].text;
            let count = foreign.lines().count();
            let line = foreign.lines().nth(random.below(count)).unwrap_or("");
            lines.insert(at, line.into());
        }
    }
    *text = lines.join(&b'\n');
}

/// Swaps two words of a line, or puts something else in the place of one.
fn words(random: &mut Random, line: &mut Vec<u8>) {
    let mut words: Vec<Vec<u8>> = line.split(|byte| *byte == b' ').map(Vec::from).collect();
    let (at, other) = (random.below(words.len()), random.below(words.len()));
    match random.once_in(2) {
        true => words.swap(at, other),
        false => words[at] = TOKENS[random.below(TOKENS.len())].into(),
    }
    *line = words.join(&b' ');
}

/// A base recipe with one slip of the hand in one of its words; its number, and the text.
pub fn slip(random: &mut Random) -> (usize, String) {
    let base = random.below(BASES.len() - 1);
    let text = BASES[base].text;
    let letters = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let words: Vec<&str> = text.split(letters).filter(|word| word.len() > 3).collect();
    let word = words[random.below(words.len())];
    let start = word.as_ptr() as usize - text.as_ptr() as usize;
    let at = start + random.below(word.len() - 1);
    let mut bytes = text.as_bytes().to_vec();
    match random.below(4) {
        0 => drop(bytes.remove(at)),
        1 => bytes.insert(at, bytes[at]),
        2 => bytes.swap(at, at + 1),
        _ => bytes[at] = b'a' + random.below(26) as u8,
    }
    let slipped = String::from_utf8(bytes).expect("letters of a word are ASCII");
    (base, slipped)
}
