//! Scripts that get no variable from their environment but those they name.
//!
//! Reads a script while it is plain commands that the shell does itself, and stops at the first thing
//! that it would have to understand: what may start a program, or look up a variable by a name that is
//! not in the text, is not closed.

use smallvec::SmallVec;
use std::borrow::Cow;

/// Whether the shell reads no variable here but those that are given, and starts nothing that could.
pub fn is_closed(text: &str, is_given: impl Fn(&str) -> bool) -> bool {
    let mut words: SmallVec<[Word<'_>; 8]> = SmallVec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return is_plain(&words);
        }
        let target = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if let Some(after) = separated(rest) {
            if !is_plain(&words) {
                return false;
            }
            words.clear();
            rest = after;
        } else if rest.starts_with('#') {
            rest = rest.trim_start_matches(|c| c != '\n');
        } else if let Some(target) = target.strip_prefix('>') {
            // What follows would not be a keyword any more.
            if words.iter().all(is_keyword) {
                return false;
            }
            let target = target.strip_prefix(['>', '&']).unwrap_or(target);
            let Some((_, after)) = word(target.trim_start_matches([' ', '\t']), &is_given) else {
                return false;
            };
            rest = after;
        } else {
            let Some((word, after)) = word(rest, &is_given) else {
                return false;
            };
            words.push(word);
            rest = after;
        }
    }
}

/// What follows the mark between two commands.
fn separated(text: &str) -> Option<&str> {
    let marks: &[&str] = match text.as_bytes().first()? {
        b'\n' => &["\n"],
        b';' => &[";"],
        b'&' => &["&&"],
        b'|' => &["||", "|"],
        _ => return None,
    };
    marks.iter().find_map(|mark| text.strip_prefix(mark))
}

struct Word<'a> {
    source: &'a str,
    /// Without its quotes; none if it has values in it.
    text: Option<Cow<'a, str>>,
    /// Whether the shell may make several words of it, or none.
    splits: bool,
}

/// The first word of a text, and what follows it.
fn word<'a>(text: &'a str, is_given: &dyn Fn(&str) -> bool) -> Option<(Word<'a>, &'a str)> {
    let stops =
        |byte: u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'_' | b'.' | b'/');
    let plain = text.bytes().position(stops).unwrap_or(text.len());
    if plain > 0 && matches!(text.as_bytes().get(plain), None | Some(b' ' | b'\n' | b';')) {
        let (source, rest) = text.split_at(plain);
        let word = Word {
            source,
            text: Some(Cow::Borrowed(source)),
            splits: false,
        };
        return Some((word, rest));
    }
    let mut literal = Some(String::new());
    let mut splits = false;
    let mut is_quoted = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '"' => {
                is_quoted = !is_quoted;
                after
            }
            '$' => {
                literal = None;
                splits |= !is_quoted && !after.starts_with(NUMBERS);
                variable(after, is_given)?
            }
            '\\' => {
                literal = None;
                after.get(after.chars().next()?.len_utf8()..)?
            }
            '`' => return None,
            '\'' if !is_quoted => {
                let (inside, after) = after.split_once('\'')?;
                literal = literal.map(|literal| literal + inside);
                after
            }
            ' ' | '\t' | '\n' | ';' | '&' | '|' | '>' if !is_quoted => break,
            '<' | '(' | ')' | '{' | '}' | '!' if !is_quoted => return None,
            _ => {
                splits |= !is_quoted && matches!(first, '*' | '?' | '[');
                literal.iter_mut().for_each(|literal| literal.push(first));
                after
            }
        };
    }
    let source = &text[..text.len() - rest.len()];
    let word = Word {
        source,
        text: literal.map(Cow::Owned),
        splits,
    };
    (!is_quoted && !source.is_empty()).then_some((word, rest))
}

/// What the shell itself gives a number to, behind a `$`.
const NUMBERS: [char; 3] = ['?', '#', '$'];

/// What follows a variable that may be read; the text starts after its `$`.
fn variable<'a>(text: &'a str, is_given: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    if let Some(after) = text.strip_prefix(NUMBERS) {
        return Some(after);
    }
    let (name, after) = match text.strip_prefix('{') {
        Some(inside) => inside.split_once('}')?,
        None => {
            let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            text.split_at(text.find(|c| !part(c)).unwrap_or(text.len()))
        }
    };
    is_given(name).then_some(after)
}

fn is_keyword(word: &Word<'_>) -> bool {
    ["if", "then", "elif", "else", "fi"].contains(&word.source)
}

/// Whether a command does nothing but what its words say.
fn is_plain(words: &[Word<'_>]) -> bool {
    let Some((first, rest)) = words.split_first() else {
        return true;
    };
    match first.source {
        _ if is_keyword(first) => is_plain(rest),
        ":" | "true" | "false" | "echo" | "exit" => true,
        "set" => is_option(rest),
        // Its options take names, which the shell evaluates.
        "printf" => {
            let is_known = |format: &Word<'_>| format.text.is_some() && !format.splits;
            rest.first().is_some_and(is_known) && !is_option(rest)
        }
        "test" => is_test(rest),
        "[" => matches!(rest, [test @ .., end] if end.source == "]" && is_test(test)),
        _ => false,
    }
}

fn is_option(words: &[Word<'_>]) -> bool {
    let first = words.first().and_then(|word| word.text.as_deref());
    first.is_some_and(|text| text.starts_with(['-', '+']))
}

/// Whether a test compares texts or asks for files. With more words than that takes, a value may be an
/// operator, and some operators take names.
fn is_test(words: &[Word<'_>]) -> bool {
    const OF_ONE: [&str; 9] = ["-n", "-z", "-e", "-f", "-d", "-r", "-s", "-w", "-x"];
    const OF_TWO: [&str; 9] = ["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    match words {
        _ if words.iter().any(|word| word.splits) => false,
        [] | [_] => true,
        [operator, _] => OF_ONE.contains(&operator.source),
        [_, operator, _] => OF_TWO.contains(&operator.source),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_closed;

    #[test]
    fn what_the_shell_does_itself_is_closed() {
        for text in [
            "true",
            "",
            "# nothing\n\n  : ",
            "echo a b; echo 'it is' \"so\" >&2",
            "echo \"$GIVEN\" ${GIVEN} $? > out 2>&1",
            "set -euo pipefail\nif [ -n \"$GIVEN\" ]; then\n  echo yes\nelse exit 3\nfi",
            "test \"$GIVEN\" = b && printf '%s\\n' \"$GIVEN\" || false",
            "echo '$OTHER' \\$OTHER '`ls`'",
            "echo a | echo b",
            "echo $GIVEN *",
            "[ $? -eq 0 ] && test \"$GIVEN\" = '*'",
        ] {
            assert!(is_closed(text, |name| name == "GIVEN"), "{text}");
        }
    }

    #[test]
    fn what_may_read_more_is_not() {
        for text in [
            "ls",
            "echo $OTHER",
            "echo \"${OTHER}\"",
            "echo ${GIVEN:-$OTHER}",
            "echo ${!GIVEN}",
            "echo $(ls)",
            "echo `ls`",
            "echo \"`ls`\"",
            "echo a; ls",
            "echo a & ls",
            "echo a\nls",
            "'if' echo",
            ">f if echo",
            "if >f if echo",
            "\"$GIVEN\" a",
            "e\\cho a",
            "X=1 ls",
            "X=1",
            "printf -v x y",
            "printf \"$GIVEN\" a b",
            "printf * a",
            "printf 2>f \"$GIVEN\" a",
            "test \"$GIVEN\" b",
            "test \"$GIVEN\" >= b",
            "test $GIVEN",
            "test a$GIVEN = b",
            "[ -n ${GIVEN} ]",
            "[ * ]",
            "test -v a",
            "[ -v a ]",
            "[ \"$GIVEN\" = a -o -v b ]",
            "[[ -v a ]]",
            "set",
            "export",
            "declare -p",
            "read x < f",
            "echo $((GIVEN))",
            "echo {a,b}",
            "echo() { ls; }; echo",
            "trap ls EXIT",
            "eval echo",
            ". f",
            "exec ls",
            "echo <(ls)",
            "echo >(ls)",
            "echo 'open",
            "echo \"open",
        ] {
            assert!(!is_closed(text, |name| name == "GIVEN"), "{text}");
        }
    }
}
