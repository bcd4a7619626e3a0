//! Messages as they stand on a stream: headers, a blank line, JSON.
//!
//! A message that cannot be read is skipped by its length, so that the next one can be.

use lsp_server::Message;
use lsp_types::notification::Notification;
use serde_json::Value;
use std::io::{self, BufRead, Read, Write};

/// Longer messages are skipped unread: the largest recipe, each of its bytes escaped, is shorter.
const MOST_BYTES: usize = 64 * 1024 * 1024;

pub enum Incoming {
    Message(Message),
    /// Something that is no message: its id, if it has one, and what is wrong with it.
    Malformed(Option<Value>, String),
}

/// The next message; none when the stream has ended.
pub fn read(from: &mut impl BufRead) -> io::Result<Option<Incoming>> {
    let Some(length) = length(from)? else {
        return Ok(None);
    };
    if length > MOST_BYTES {
        io::copy(&mut from.take(length as u64), &mut io::sink())?;
        let words = format!("a message of {length} bytes is too long");
        return Ok(Some(Incoming::Malformed(None, words)));
    }
    let mut body = Vec::new();
    from.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length {
        return Ok(None);
    }
    Ok(Some(parse(&body)))
}

/// The length that the headers say. Lines that are no headers are passed over.
fn length(from: &mut impl BufRead) -> io::Result<Option<usize>> {
    let mut length = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.take(MOST_BYTES as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\r', '\n']);
        match text.split_once(':') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok();
            }
            _ if text.is_empty() && length.is_some() => return Ok(length),
            _ => {}
        }
    }
}

fn parse(body: &[u8]) -> Incoming {
    let text = String::from_utf8_lossy(body);
    let value: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        // An editor may hold half of a character. It is lost, but the message is not.
        Err(first) => match serde_json::from_str(&without_halves(&text)) {
            Ok(value) => value,
            Err(_) => return Incoming::Malformed(None, first.to_string()),
        },
    };
    let id = value.get("id").cloned();
    match serde_json::from_value(value) {
        Ok(message) => Incoming::Message(message),
        Err(error) => Incoming::Malformed(id, error.to_string()),
    }
}

/// The same JSON with the escapes of unpaired surrogates replaced.
fn without_halves(text: &str) -> String {
    let unit = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        let escape = at + found;
        out.push_str(&text[at..escape]);
        let high = |unit: &u32| (0xd800..0xdc00).contains(unit);
        let low = |unit: &u32| (0xdc00..0xe000).contains(unit);
        let (taken, replaced) = match unit(escape) {
            Some(first) if high(&first) && unit(escape + 6).as_ref().is_some_and(low) => {
                (12, false)
            }
            Some(first) if high(&first) || low(&first) => (6, true),
            Some(_) => (6, false),
            // A backslash and what it escapes.
            None => {
                let next = text[escape + 1..].chars().next();
                (1 + next.map_or(0, char::len_utf8), false)
            }
        };
        out.push_str(if replaced {
            "\\ufffd"
        } else {
            &text[escape..escape + taken]
        });
        at = escape + taken;
    }
    out.push_str(&text[at..]);
    out
}

pub fn write(to: &mut dyn Write, message: &Message) -> io::Result<()> {
    let mut value = serde_json::to_value(message)?;
    if let Some(object) = value.as_object_mut() {
        object.insert("jsonrpc".to_string(), Value::from("2.0"));
    }
    write_value(to, &value)
}

/// Writes a notification as it goes over the wire: there may be thousands of findings in one, and
/// a tree of values in between would cost more than they do.
pub fn notify<N: Notification>(to: &mut dyn Write, params: &N::Params) -> io::Result<()> {
    let params = serde_json::to_string(params)?;
    let method = N::METHOD;
    let body = format!("{{\"method\":\"{method}\",\"params\":{params},\"jsonrpc\":\"2.0\"}}");
    write_body(to, body.as_bytes())
}

pub fn write_value(to: &mut dyn Write, value: &Value) -> io::Result<()> {
    write_body(to, &serde_json::to_vec(value)?)
}

fn write_body(to: &mut dyn Write, body: &[u8]) -> io::Result<()> {
    write!(to, "Content-Length: {}\r\n\r\n", body.len())?;
    to.write_all(body)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<String> {
        let mut from = text;
        let mut found = Vec::new();
        while let Some(incoming) = read(&mut from).unwrap() {
            found.push(match incoming {
                Incoming::Message(message) => format!("{message:?}"),
                Incoming::Malformed(id, _) => format!("malformed {id:?}"),
            });
        }
        found
    }

    #[test]
    fn what_is_no_message_is_passed_over() {
        let good =
            "Content-Length: 28\r\nContent-Type: x\r\n\r\n{\"method\":\"a\",\"params\":null}";
        let bad = "Content-Length: 5\r\n\r\n{\"a\":";
        let odd = "Content-Length: 8\r\n\r\n{\"id\":7}";
        let noise = "nonsense\r\n\r\n";
        let text = [noise, good, bad, noise, odd, good].concat();
        let found = all(text.as_bytes());
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].starts_with("Notification") && found[3] == found[0]);
        assert_eq!(found[1], "malformed None");
        assert_eq!(found[2], "malformed Some(Number(7))");
        assert!(all(b"Content-Length: 99\r\n\r\n{}").is_empty());
        assert!(all(b"Content-Length: 18446744073709551615\r\n\r\n{}").len() <= 1);
    }

    #[test]
    fn halves_of_characters_are_replaced() {
        let text = r#"["\ud83d\ude00 \ud83d \ude00 \\ud83d \n é"]"#;
        let mended = without_halves(text);
        assert_eq!(mended, r#"["\ud83d\ude00 \ufffd \ufffd \\ud83d \n é"]"#);
        assert!(serde_json::from_str::<Value>(&mended).is_ok());
        assert_eq!(without_halves("\\"), "\\");
    }
}
