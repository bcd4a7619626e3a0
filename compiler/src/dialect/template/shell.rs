//! Shell syntax in commands that no shell reads.

use super::Lower;
use super::holes::{self, Piece};
use super::spot::{Spot, fix};
use super::words::Word;
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic};
use crate::doc::Text;
use rrc_vm::shell::is_posix;

/// Words that mean something to a shell and nothing to anybody else.
const OPERATORS: [&str; 14] = [
    "|", "||", "&&", ";", "&", ">", ">>", "<", "<<", "2>", "2>&1", "&>", "|&", "2>>",
];

/// Says what only a shell would understand; the words with `${x}` in them mean nothing else.
pub fn look<'a>(lower: &mut Lower<'_, 'a>, text: Text<'a>, words: &[Word]) -> Vec<usize> {
    let mut expanded = Vec::new();
    let prose = is_prose(words);
    let program = words.first().map_or("", |word| word.text.as_str());
    for (number, word) in words.iter().enumerate() {
        if expansion(lower, text, word, words) {
            expanded.push(number);
            continue;
        }
        if word.single || runs_shell_text(words, number) {
            continue;
        }
        let span = text.span(word.range.clone());
        let shown = &word.text;
        // Whoever writes `\;` means the word.
        let bare = !word.quoted && word.lost.is_empty();
        let ends = shown.len() > 1 && shown.ends_with(';') && number + 1 < words.len() && !prose;
        let finding = if bare && (is_operator(shown) || ends) {
            let help = match shown.as_str() {
                "|" => "write the two commands as a list: each reads what the one before writes",
                "&&" => {
                    "write the two commands as a list, with `\"failure\": \"branch\"` around them"
                }
                _ if shown.ends_with(';') => "write the two commands as a list",
                _ => "write a script, or run `sh -c` with the text as one word",
            };
            let message = match number {
                0 => format!("no shell reads this: `{shown}` is taken for the program"),
                _ => format!("no shell reads this: `{program}` is given the word `{shown}`"),
            };
            Diagnostic::new(&codes::SHELL_SYNTAX, span, message).help(help)
        } else if let Some(range) = variable(&word.text) {
            let name = word.text.get(range.clone()).unwrap_or_default();
            let message = format!("no shell reads this: `{program}` is given the text `{name}`");
            let span = text.span(word.source(range));
            Diagnostic::new(&codes::SHELL_SYNTAX, span, message)
                .help("pass it as a value, with a placeholder such as `{home}`")
        } else if is_pattern(&word.text) && !word.quoted {
            let message = format!("no shell expands this: `{program}` is given `{shown}` itself");
            Diagnostic::new(&codes::SHELL_SYNTAX, span, message)
                .help("quote it if the program expands it, or run `sh -c`")
        } else if number == 0 && is_assignment(&word.text) && words.len() > 1 && !word.quoted {
            let message = format!("no shell reads this: `{shown}` is taken for the program");
            Diagnostic::new(&codes::SHELL_SYNTAX, span, message).help("write `env` before it")
        } else if number > 0 && (shown == "~" || shown.starts_with("~/")) && !word.quoted {
            let message = format!(
                "`~` is expanded in the name of the program only; `{program}` is given `{shown}`"
            );
            Diagnostic::new(&codes::HOME_IN_ARGUMENT, span, message)
                .help("write the whole path, or pass it as a value")
        } else {
            continue;
        };
        lower.add(finding);
    }
    expanded
}

/// Whether the words are sentences: some programs are asked in them.
fn is_prose(words: &[Word]) -> bool {
    let stops = |word: &Word| word.text.len() > 1 && word.text.ends_with(['.', ',', '?']);
    words.len() > 8 && words.iter().any(stops)
}

/// `${x}` is a dollar sign and a placeholder.
fn expansion<'a>(lower: &mut Lower<'_, 'a>, text: Text<'a>, word: &Word, words: &[Word]) -> bool {
    let mut found = false;
    let mut end = 0;
    for piece in holes::pieces(&word.text) {
        match piece {
            Piece::Plain(range) => end = range.end,
            Piece::Hole(range) => {
                let before = word.text.get(..range.start - 1).unwrap_or_default();
                if before.ends_with('$') && end + 1 == range.start {
                    let whole = word.source(range.start - 2..range.end + 1);
                    let inner = word.text.get(range.clone()).unwrap_or_default();
                    let name_end = inner.find([':', '-', '=', '?', '+']);
                    let (name, rest) = inner.split_at(name_end.unwrap_or(inner.len()));
                    let mut signs = [":-", ":=", "-", "="].iter();
                    let default = signs.find_map(|sign| Some((*sign, rest.strip_prefix(*sign)?)));
                    let meant = match default {
                        Some((_, default)) => format!("{{{name}={default}}}"),
                        None => format!("{{{name}}}"),
                    };
                    let shell = words.iter().any(|word| is_posix(&word.text));
                    let help = match shell {
                        true => {
                            "write the script to a file, or name a variable as `$x`".to_string()
                        }
                        false => format!("write `{meant}` without the `$`"),
                    };
                    let span = text.span(whole);
                    let known = holes::is_name(name) && (rest.is_empty() || default.is_some());
                    let at = Spot::of_word(text, word, range.start - 2);
                    let dollar = at.edit(0..1, "");
                    let message = format!("write `{meant}`");
                    let fix = match default {
                        _ if !known || shell => None,
                        Some((sign, _)) => {
                            let start = name.len() + 2;
                            let equals = at.edit(start..start + sign.len(), "=");
                            fix(Applicability::Unsafe, message, [dollar, equals])
                        }
                        None => fix(Applicability::Unsafe, message, [dollar]),
                    };
                    // That nothing reads the name is no second mistake.
                    lower.use_name(name, span);
                    lower.report_once(
                        Diagnostic::new(
                            &codes::SHELL_EXPANSION,
                            span,
                            "this is a `$` and then a placeholder, not a variable of a shell",
                        )
                        .help(help)
                        .fix_if(fix),
                    );
                    found = true;
                }
                end = range.end + 1;
            }
        }
    }
    found
}

/// The first `$NAME`, `$(…)` or text in backticks of a word.
fn variable(text: &str) -> Option<std::ops::Range<usize>> {
    if let Some(start) = text.find('`') {
        return Some(start..text.len());
    }
    let at = text.find('$')?;
    let rest = text.get(at + 1..)?;
    let name = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count();
    let first = rest.chars().next()?;
    match first {
        '(' => Some(at..text.len()),
        c if c.is_ascii_alphabetic() || c == '_' => Some(at..at + 1 + name),
        _ => None,
    }
}

/// A word that is an operator, or begins with a redirection.
fn is_operator(text: &str) -> bool {
    let redirects = ["2>", "&>", ">", "<"].iter().any(|sign| {
        let rest = text.strip_prefix(sign);
        rest.is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_alphanumeric() || "/.~>&".contains(c))
        })
    });
    OPERATORS.contains(&text) || redirects
}

/// A pattern of file names, outside of placeholders.
fn is_pattern(text: &str) -> bool {
    holes::pieces(text).into_iter().any(|piece| match piece {
        Piece::Plain(range) => text.get(range).is_some_and(|plain| plain.contains('*')),
        Piece::Hole(_) => false,
    })
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    })
}

/// Whether a word is text for a shell that the command starts.
fn runs_shell_text(words: &[Word], number: usize) -> bool {
    super::risk::script_word(words).is_some_and(|script| script == number)
}
