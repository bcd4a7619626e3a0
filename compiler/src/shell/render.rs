//! The part that waits for values: what the machine does with a compiled script at run time.
//!
//! The forms in this folder rely on these functions word for word, so the proof that values arrive
//! runs through the very ones that the machine uses.

use super::{Piece, Script};
use rrc_vm::shell::{fresh_delimiter, integer_text, quote_words};
use rrc_vm::value::Value;

/// The script text for these values, one per hole, in the order of the holes.
pub fn render(script: &Script, values: &[&str]) -> String {
    let value = |hole: usize| values.get(hole).copied().unwrap_or("");
    let delimiters: Vec<String> = script
        .heredocs
        .iter()
        .map(|heredoc| {
            let mut body = String::new();
            for piece in script.pieces.get(heredoc.body.clone()).unwrap_or(&[]) {
                match piece {
                    Piece::Text(text) => body.push_str(text),
                    Piece::Paste(hole) => body.push_str(value(*hole)),
                    Piece::Words(_) | Piece::Delimiter(_) => {}
                }
            }
            fresh_delimiter(&heredoc.delimiter, &[body.into()])
        })
        .collect();
    let mut out = String::new();
    for piece in &script.pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Paste(hole) => out.push_str(value(*hole)),
            Piece::Words(hole) => {
                out.push_str(&quote_words(value(*hole)));
            }
            Piece::Delimiter(heredoc) => {
                out.push_str(delimiters.get(*heredoc).map_or("", String::as_str));
            }
        }
    }
    out
}

/// What an integer position gets for this value.
pub fn integer(text: &str) -> Option<String> {
    integer_text(&Value::text(text))
}
