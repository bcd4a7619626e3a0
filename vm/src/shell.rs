//! Texts that are safe where they are pasted into a shell script.
//!
//! Knows how a POSIX shell reads words, numbers and here-documents; knows nothing of the scripts
//! themselves: the compiler found out where each value stands.

use crate::text;
use crate::value::Value;
use std::rc::Rc;

/// Splits at blanks and quotes each word; nothing for no words. Blanks are the ASCII ones, as
/// for the shell, and a carriage return, which is never meant to be the end of a word.
pub fn quote_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    for word in text.split_ascii_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push('\'');
        for (at, part) in word.split('\'').enumerate() {
            if at > 0 {
                out.push_str("'\\''");
            }
            out.push_str(part);
        }
        out.push('\'');
    }
    out
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
    Some(int.to_string())
}

fn integer(text: &str) -> Option<i64> {
    // `parse` takes exactly an optional sign and ASCII digits.
    text.trim().parse().ok()
}
