//! Values that a program takes for something else than what they are meant to be.

use super::Lower;
use super::holes::{self, Hole, Piece};
use super::names::{Env, HOST_NAMES, repeat_name};
use super::risk::{base, program};
use super::spot::fix;
use super::words::Word;
use crate::codes::{self, Severity};
use crate::diagnostic::{Applicability, Diagnostic};
use crate::doc::Text;
use crate::ir::Literal;
use crate::ir::flow::ValueKind;
use std::ops::Range;

/// Programs that do something else when an option is slipped to them, or that are often given a
/// value which begins with `-`; and whether `--` ends their options wherever it stands.
const OPTIONS: [(&str, bool); 10] = [
    ("grep", true),
    ("egrep", true),
    ("fgrep", true),
    ("rg", true),
    ("sort", true),
    ("ssh", true),
    ("scp", true),
    ("find", false),
    ("tar", false),
    ("git", false),
];

impl<'a> Lower<'_, 'a> {
    pub fn values_in_words(&mut self, text: Text<'a>, words: &[Word], env: &Env<'a>) {
        let at = program(words);
        self.value_as_command(text, words, at, env);
        self.value_as_option(text, words, at, env);
        for (number, word) in words.iter().enumerate().skip(at + 1) {
            for (range, name) in values(word) {
                self.list_in_word(text, words, number, &range, name, env);
                self.secret_by_name(text, words, number, &range, name, env);
            }
        }
    }

    /// A program whose name nothing in the file says.
    fn value_as_command(&mut self, text: Text<'a>, words: &[Word], at: usize, env: &Env<'a>) {
        let Some(word) = words.get(at) else { return };
        let pieces = holes::pieces(&word.text);
        let (before, range) = match pieces.as_slice() {
            [before @ .., Piece::Hole(range)] => (before.last(), range),
            _ => return,
        };
        if let Some(Piece::Plain(before)) = before
            && !word.text[before.clone()].ends_with('/')
        {
            return;
        }
        let name = match holes::hole(&word.text[range.clone()]) {
            Ok(Hole::Name {
                name,
                default: None,
                ..
            })
            | Ok(Hole::Item { name, .. }) => name,
            _ => return,
        };
        let known = env.has_default(name) || HOST_NAMES.contains(&name);
        if known || matches!(kind(name, env), Some(ValueKind::OneOf(_))) {
            return;
        }
        let message = format!("the value of `{name}` decides which program runs");
        let span = text.span(word.source(range.clone()));
        self.report_once(
            Diagnostic::new(&codes::VALUE_AS_COMMAND, span, message)
                .severity(Severity::Note)
                .help(format!(
                    "write the program, or say what it may be: `{name}:enum(…)`"
                )),
        );
    }

    /// The first value of a command that its program may take for an option.
    fn value_as_option(&mut self, text: Text<'a>, words: &[Word], at: usize, env: &Env<'a>) {
        let name = words.get(at).map_or("", |word| base(&word.text));
        let Some((_, ends)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
            return;
        };
        for number in at + 1..words.len() {
            let word = &words[number];
            if word.text == "--" || word.text == "--end-of-options" {
                return;
            }
            let Some((range, value)) = leading_value(word, env) else {
                continue;
            };
            // What stands behind an option is most often its value.
            if may_be_option(&words[number - 1]) {
                continue;
            }
            let message = format!("when `{value}` begins with `-`, `{name}` reads it as an option");
            let span = text.span(word.source(range));
            let finding = Diagnostic::new(&codes::VALUE_AS_OPTION, span, message);
            let rest = &words[number + 1..];
            let movable = *ends && !rest.iter().any(may_be_option);
            let there = text.edit(word.range.start..word.range.start, "-- ");
            self.report_once(match (ends, movable) {
                (true, true) => finding.help("write `--` before it").fix_if(fix(
                    Applicability::Safe,
                    "write `--` before it",
                    [there],
                )),
                (true, false) => finding.help("write the options first, and then `--`"),
                (false, _) => finding.help("put something fixed before it, or check it first"),
            });
            return;
        }
    }

    /// A list that is given to a program as it is.
    fn list_in_word(
        &mut self,
        text: Text<'a>,
        words: &[Word],
        number: usize,
        range: &Range<usize>,
        name: &str,
        env: &Env<'a>,
    ) {
        let list = match kind(name, env) {
            Some(kind) => *kind == ValueKind::List,
            None => env
                .preset(name)
                .is_some_and(|preset| matches!(preset.value, Literal::List(_))),
        };
        let word = &words[number];
        let json = |word: &Word| word.text.to_ascii_lowercase().contains("json");
        let document = word.text.starts_with(['{', '[']) && range.start > 1;
        if !list || document || json(word) || json(&words[number - 1]) {
            return;
        }
        let message = format!("`{name}` is a list: it becomes one word, as JSON");
        let span = text.span(word.source(range.clone()));
        self.report_once(
            Diagnostic::new(&codes::LIST_IN_WORD, span, message).help(format!(
                "write `{{{name}[0]}}` for an item, or `\"repeat\": \"{{{name}.length}}\"` \
                 and `{{{name}[index]}}` for each"
            )),
        );
    }

    /// A value that is secret by its name, or by the option before it.
    fn secret_by_name(
        &mut self,
        text: Text<'a>,
        words: &[Word],
        number: usize,
        range: &Range<usize>,
        name: &str,
        env: &Env<'a>,
    ) {
        // What is secret in a recipe is said there.
        if self.in_recipe {
            return;
        }
        let word = &words[number];
        let option = match word.text.get(..range.start - 1).unwrap_or_default() {
            "" => &words[number - 1].text,
            own => own,
        };
        let option = option.strip_prefix("--").unwrap_or_default();
        let counted = matches!(
            kind(name, env),
            Some(ValueKind::Int | ValueKind::Number | ValueKind::Bool)
        );
        if counted || !(is_secret(name) || is_secret(option.trim_end_matches('='))) {
            return;
        }
        let program = words.first().map_or("", |word| base(&word.text));
        let message = format!("`{name}` becomes an argument of `{program}`, which others can see");
        let span = text.span(word.source(range.clone()));
        self.report_once(
            Diagnostic::new(&codes::SECRET_IN_ARGV, span, message)
                .severity(Severity::Note)
                .help("have the command read it from its environment, its input or a file"),
        );
    }
}

fn kind<'e>(name: &str, env: &'e Env<'_>) -> Option<&'e ValueKind> {
    env.arg(name).and_then(|arg| arg.kind.as_ref())
}

/// The values that stand in a word as they are, and the places of their names.
fn values(word: &Word) -> Vec<(Range<usize>, &str)> {
    if !word.text.contains('{') {
        return Vec::new();
    }
    let name = |piece| {
        let Piece::Hole(range) = piece else {
            return None;
        };
        match holes::hole(&word.text[range.clone()]).ok()? {
            Hole::Name { name, .. } | Hole::OrText { name, .. } => {
                Some((range.start..range.start + name.len(), name))
            }
            _ => None,
        }
    };
    let pieces = holes::pieces(&word.text).into_iter();
    pieces.filter_map(name).collect()
}

/// The value that a word begins with, if it may be any text.
fn leading_value<'w>(word: &'w Word, env: &Env<'_>) -> Option<(Range<usize>, &'w str)> {
    let (range, name) = values(word).into_iter().next()?;
    let free = matches!(kind(name, env), None | Some(ValueKind::Text));
    let turn = env.repeats > 0 && repeat_name(name).is_some();
    (range.start == 1 && free && !turn).then_some((range, name))
}

/// Whether a word is an option, or becomes one.
fn may_be_option(word: &Word) -> bool {
    let choice = || match holes::pieces(&word.text).first() {
        Some(Piece::Hole(range)) => matches!(
            holes::hole(&word.text[range.clone()]),
            Ok(Hole::Choice { .. })
        ),
        _ => false,
    };
    word.text.starts_with('-') || choice()
}

/// Whether the last word of a name says that what it holds is secret.
fn is_secret(name: &str) -> bool {
    let mut words = name.rsplit(['-', '_']);
    let last = words.next().unwrap_or_default();
    let before = words.next().unwrap_or_default();
    let is = |word: &str, known: &[&str]| known.iter().any(|k| k.eq_ignore_ascii_case(word));
    is(
        last,
        &["password", "passwd", "passphrase", "secret", "apikey"],
    ) || is(last, &["token"]) && !is(before, &["max", "min", "per"])
        || is(last, &["key"]) && is(before, &["api", "secret", "private"])
}
