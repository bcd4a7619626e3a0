//! Texts that are safe where they are pasted into a shell script.
//!
//! Knows how a POSIX shell reads words, numbers and here-documents; knows nothing of the scripts
//! themselves: the compiler found out where each value stands.

use crate::text;
use crate::value::Value;
use std::rc::Rc;

/// Whether a program, by its path or name, is a shell that reads the language of POSIX: what is written
/// for one of them can be handed to any other.
pub fn is_posix(program: &str) -> bool {
    // Asked of every word of a script: most have no `/`, and are too short to search for it.
    let name = match program.bytes().rposition(|byte| byte == b'/') {
        Some(at) => &program[at + 1..],
        None => program,
    };
    matches!(
        name,
        "sh" | "bash" | "rbash" | "dash" | "ash" | "zsh" | "ksh" | "ksh93" | "mksh" | "yash"
    )
}

/// Splits at blanks and quotes each word; nothing for no words. Blanks are the ASCII ones, as
/// for the shell, and a carriage return, which is never meant to be the end of a word.
pub fn quote_words(text: &str) -> String {
    let words: Vec<String> = text.split_ascii_whitespace().map(quote).collect();
    words.join(" ")
}

/// A text as one word that the shell takes as it is.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A word as a shell would read it back.
pub fn readable(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_string(),
        false => quote(word),
    }
}

/// The name of a program as a shell would read it back: not as an assignment, nor as a word of its own
/// language. The home directory stays one.
pub fn readable_program(word: &str) -> String {
    const WORDS: [&str; 20] = [
        "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
        "in", "select", "then", "time", "until", "while", "{", "}", "!",
    ];
    match word.strip_prefix("~/") {
        Some(rest) if !rest.is_empty() => format!("~/{}", readable(rest)),
        _ if word == "~" || word == "~/" => word.to_string(),
        _ if word.contains('=') || WORDS.contains(&word) => quote(word),
        _ => readable(word),
    }
}

/// A heredoc delimiter that ends the document in none of the values: the base, or the base and
/// as many underscores as it takes.
///
/// A line that merely *begins* with the delimiter counts: inside `$(…)` bash ends the document
/// there too when a `)` follows.
pub fn fresh_delimiter(base: &str, values: &[Rc<str>]) -> String {
    let longest_run = values
        .iter()
        .flat_map(|value| value.split('\n'))
        .filter_map(|line| line.trim_start_matches('\t').strip_prefix(base))
        .map(|rest| rest.bytes().take_while(|byte| *byte == b'_').count() + 1)
        .max()
        .unwrap_or(0);
    let mut delimiter = String::with_capacity(base.len() + longest_run);
    delimiter.push_str(base);
    delimiter.extend(std::iter::repeat_n('_', longest_run));
    delimiter
}

/// The decimal text of an integer, as a shell's arithmetic reads it: `007` and `+7` are `7`,
/// because a shell takes a leading zero for octal and the value does not say so. What does not
/// fit the 64 bits of that arithmetic is none, for the shell would wrap it around in silence.
///
/// A negative number begins with a blank, so that `x-{{n}}` does not become `x--5`, which a shell
/// reads as a decrement.
pub fn integer_text(value: &Value) -> Option<String> {
    let int = match value {
        Value::Int(int) => *int,
        Value::Float(float) => text::whole(*float)?,
        Value::Text(text) => integer(text)?,
        Value::Bytes(bytes) => integer(std::str::from_utf8(bytes).ok()?)?,
        Value::Null
        | Value::Bool(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Failure(_)
        | Value::Step(_)
        | Value::Tasks(_) => return None,
    };
    Some(match int {
        ..0 => format!(" {int}"),
        _ => int.to_string(),
    })
}

fn integer(text: &str) -> Option<i64> {
    // `parse` takes exactly an optional sign and ASCII digits.
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_are_known_by_name_and_by_path() {
        for program in ["sh", "/bin/bash", "/usr/local/bin/mksh", "yash"] {
            assert!(is_posix(program), "{program}");
        }
        for program in ["", "fish", "/bin/sh/", "bash5", "python3"] {
            assert!(!is_posix(program), "{program}");
        }
    }

    #[test]
    fn a_program_is_no_word_of_the_shell() {
        for (word, shown) in [
            ("FOO=1", "'FOO=1'"),
            ("if", "'if'"),
            ("~/bin/x", "~/bin/x"),
            ("~/a b", "~/'a b'"),
            ("~user/x", "'~user/x'"),
            ("ls", "ls"),
        ] {
            assert_eq!(readable_program(word), shown);
        }
    }

    /// Reads words the way a POSIX shell does, for the two forms that `quote_words` writes.
    fn words_of(script: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut rest = script.chars();
        while let Some(character) = rest.next() {
            match character {
                ' ' => words.extend(word.take()),
                '\'' => {
                    let word = word.get_or_insert_default();
                    word.extend(rest.by_ref().take_while(|character| *character != '\''));
                }
                '\\' => word.get_or_insert_default().extend(rest.next()),
                other => panic!("`{other}` stands unquoted in {script}"),
            }
        }
        words.extend(word);
        words
    }

    #[test]
    fn quoted_words_split_back_into_themselves() {
        const PIECES: [&str; 14] = [
            "'",
            "\"",
            "$(touch pwned)",
            "`x`",
            "\\",
            " ",
            "\t",
            "\n",
            "*",
            "é",
            "\u{a0}",
            "!",
            "a",
            "\r\n",
        ];
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..5_000 {
            let mut text = String::new();
            for _ in 0..8 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                text.push_str(PIECES[(state >> 33) as usize % PIECES.len()]);
            }
            let expected: Vec<&str> = text.split_ascii_whitespace().collect();
            assert_eq!(words_of(&quote_words(&text)), expected, "{text:?}");
        }
        assert_eq!(quote_words(""), "");
        assert_eq!(quote_words(" \n "), "");
        assert_eq!(quote_words(" it's  two "), "'it'\\''s' 'two'");
    }

    #[test]
    fn a_delimiter_is_fresh_and_always_the_same() {
        let fresh = |values: &[&str]| {
            let values: Vec<Rc<str>> = values.iter().map(|value| Rc::from(*value)).collect();
            fresh_delimiter("EOF", &values)
        };
        assert_eq!(fresh(&[]), "EOF");
        assert_eq!(fresh(&["no EOF here", "or\n EOF there"]), "EOF");
        assert_eq!(fresh(&["one\nEOF\ntwo"]), "EOF_");
        assert_eq!(fresh(&["EOF_\nEOF___\nEOF", "EOF__"]), "EOF____");
        assert_eq!(fresh(&["\tEOF"]), "EOF_");
        assert_eq!(fresh(&["EOF) ; touch pwned"]), "EOF_");
        assert_eq!(fresh_delimiter("", &["x".into()]), "_");
    }

    #[test]
    fn integers_are_what_they_say_and_nothing_else_is_one() {
        let good: [(Value, &str); 9] = [
            (Value::Int(-5), " -5"),
            (Value::Float(3.0), "3"),
            (Value::text(" 42\n"), "42"),
            (Value::text("007"), "7"),
            (Value::text("010"), "10"),
            (Value::text("+08"), "8"),
            (Value::text("-0"), "0"),
            (Value::text("-9223372036854775808"), " -9223372036854775808"),
            (Value::Bytes(Rc::from(&b"1\n"[..])), "1"),
        ];
        for (value, text) in good {
            assert_eq!(integer_text(&value).as_deref(), Some(text), "{value:?}");
        }
        for text in [
            "",
            " ",
            "1.5",
            "1e3",
            "0x10",
            "2#1",
            "1_000",
            "a[$(touch pwned)]",
            "1 2",
            "--1",
            "٣",
            "9223372036854775808",
            "x",
        ] {
            assert_eq!(integer_text(&Value::text(text)), None, "{text:?}");
        }
        for value in [
            Value::Null,
            Value::Bool(true),
            Value::Float(0.5),
            Value::Float(1e30),
        ] {
            assert_eq!(integer_text(&value), None, "{value:?}");
        }
    }
}
