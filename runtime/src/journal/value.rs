//! Values as JSON, and back, without loss.
//!
//! Null, booleans, integers, texts, lists and maps are what JSON has; the rest is an object with
//! one field that starts with `$`, and a map with such a field is `{"$m": [name, value, …]}`.
//! A text with secrets is a list of what stands between them and their names; long texts are files
//! named after their content.

use super::hex;
use crate::secret::{HIDDEN, Secrets};
use rrc_vm::fault::{Failure, FailureKind};
use rrc_vm::text::render;
use rrc_vm::value::{Map, Value};
use serde_json::{Value as Json, json};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Texts longer than this are files of their own.
const LONG: usize = 16 * 1024;
/// Deeper values are not recorded; the reader of JSON gives up soon after.
const DEEPEST: usize = 100;

/// Writes values; long texts go to files in a directory.
pub struct Encoder<'a> {
    pub blobs: PathBuf,
    pub secrets: &'a Secrets,
}

impl Encoder<'_> {
    pub fn value(&self, value: &Value, out: &mut Vec<u8>) -> io::Result<()> {
        self.at(value, 0, out)
    }

    fn at(&self, value: &Value, depth: usize, out: &mut Vec<u8>) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other("a value nests too deeply"));
        }
        match value {
            Value::Null | Value::Step(_) | Value::Tasks(_) => out.extend_from_slice(b"null"),
            Value::Bool(flag) => write!(out, "{flag}")?,
            Value::Int(int) => match self.secrets.value(value) {
                None => write!(out, "{int}")?,
                Some(_) => self.hidden_number("$n", value, out)?,
            },
            Value::Float(float) => match self.secrets.value(value) {
                None => write!(out, r#"{{"$f":"{:016x}"}}"#, float.to_bits())?,
                Some(_) => self.hidden_number("$d", value, out)?,
            },
            Value::Text(text) => self.text(text, out)?,
            Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => {
                    out.extend_from_slice(br#"{"$y":"#);
                    self.text(text, out)?;
                    out.push(b'}');
                }
                Err(_) => self.bytes(bytes, out)?,
            },
            Value::List(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    self.at(item, depth + 1, out)?;
                }
                out.push(b']');
            }
            Value::Map(fields) => self.map(fields, depth, out)?,
            Value::Failure(failure) => {
                write!(out, r#"{{"$!":["{}","#, failure.kind.word())?;
                self.text(&failure.message, out)?;
                out.push(b',');
                self.at(&failure.data, depth + 2, out)?;
                out.extend_from_slice(b"]}");
            }
        }
        Ok(())
    }

    fn map(&self, fields: &Map, depth: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let plain = |name: &str| {
            !name.starts_with('$') && name.len() <= LONG && self.secrets.text(name) == *name
        };
        let tagged = !fields.keys().all(|name| plain(name));
        out.extend_from_slice(if tagged { br#"{"$m":["# } else { b"{" });
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            if tagged {
                self.text(name, out)?;
                out.push(b',');
            } else {
                string(name, out)?;
                out.push(b':');
            }
            self.at(value, depth + 1 + usize::from(tagged), out)?;
        }
        out.extend_from_slice(if tagged { b"]}" } else { b"}" });
        Ok(())
    }

    pub fn text(&self, text: &str, out: &mut Vec<u8>) -> io::Result<()> {
        let parts = self.secrets.parts(text.as_bytes());
        if parts.is_empty() {
            return self.piece(text, out);
        }
        out.extend_from_slice(br#"{"$x":["#);
        let mut from = 0;
        for part in parts {
            if part.start > from {
                self.piece(text.get(from..part.start).unwrap_or_default(), out)?;
                out.push(b',');
            }
            match part.of {
                Some(of) => {
                    let (name, number, from) = (of.name, of.number, of.from);
                    let hidden = match of.whole {
                        true => json!([name, number]),
                        false => json!([name, number, from, from + part.end - part.start]),
                    };
                    write!(out, "{}", json!({"$s": hidden}))?;
                }
                None => out.extend_from_slice(br#"{"$s":null}"#),
            }
            out.push(b',');
            from = part.end;
        }
        self.piece(text.get(from..).unwrap_or_default(), out)?;
        out.extend_from_slice(b"]}");
        Ok(())
    }

    fn hidden_number(&self, tag: &str, value: &Value, out: &mut Vec<u8>) -> io::Result<()> {
        write!(out, r#"{{"{tag}":"#)?;
        self.text(&render(value), out)?;
        out.push(b'}');
        Ok(())
    }

    fn piece(&self, text: &str, out: &mut Vec<u8>) -> io::Result<()> {
        if text.len() <= LONG {
            return string(text, out);
        }
        let hash = self.blob(text.as_bytes())?;
        write!(out, r#"{{"$b":"{hash}"}}"#)
    }

    /// Bytes that are no text. Secrets are text; what is hidden between such bytes is lost.
    fn bytes(&self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        if !self.secrets.parts(bytes).is_empty() {
            let shown = self.secrets.value(&Value::Bytes(bytes.into()));
            out.extend_from_slice(br#"{"$y":{"$x":[{"$s":null},"#);
            let text = match &shown {
                Some(Value::Bytes(shown)) => String::from_utf8_lossy(shown).into_owned(),
                _ => HIDDEN.to_string(),
            };
            self.piece(&text, out)?;
            out.extend_from_slice(b"]}}");
            return Ok(());
        }
        if bytes.len() <= LONG {
            return write!(out, r#"{{"$h":"{}"}}"#, hex(bytes));
        }
        let hash = self.blob(bytes)?;
        write!(out, r#"{{"$B":"{hash}"}}"#)
    }

    fn blob(&self, bytes: &[u8]) -> io::Result<String> {
        let hash = blake3::hash(bytes).to_hex().to_string();
        let path = self.blobs.join(&hash);
        if path.exists() {
            return Ok(hash);
        }
        std::fs::create_dir_all(&self.blobs)?;
        // A file under its final name is whole.
        let partial = self.blobs.join("partial");
        std::fs::write(&partial, bytes)?;
        std::fs::rename(&partial, &path)?;
        Ok(hash)
    }
}

/// A text as JSON.
pub fn string(text: &str, out: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(out, text).map_err(io::Error::other)
}

/// Reads values; what was hidden is put back as far as it is known.
pub struct Decoder<'a> {
    pub blobs: &'a Path,
    pub secrets: &'a Secrets,
    /// Names of secrets that are not known.
    pub missing: Vec<String>,
    /// Something was hidden that has no name.
    pub lost: bool,
}

impl<'a> Decoder<'a> {
    pub fn new(blobs: &'a Path, secrets: &'a Secrets) -> Decoder<'a> {
        Decoder {
            blobs,
            secrets,
            missing: Vec::new(),
            lost: false,
        }
    }

    pub fn value(&mut self, json: &Json) -> Result<Value, String> {
        Ok(match json {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Bool(*flag),
            Json::Number(number) => Value::Int(number.as_i64().ok_or("a number is no integer")?),
            Json::String(text) => Value::text(text.as_str()),
            Json::Array(items) => {
                let items: Result<Vec<Value>, String> =
                    items.iter().map(|item| self.value(item)).collect();
                Value::list(items?)
            }
            Json::Object(fields) => match fields.iter().next() {
                Some((tag, inner)) if tag.starts_with('$') => self.tagged(tag, inner)?,
                _ => {
                    let mut map = Map::default();
                    for (name, field) in fields {
                        map.insert(Rc::from(name.as_str()), self.value(field)?);
                    }
                    Value::map(map)
                }
            },
        })
    }

    fn tagged(&mut self, tag: &str, inner: &Json) -> Result<Value, String> {
        let bad = || format!("`{tag}` is not as it should be");
        let text = || inner.as_str().ok_or_else(bad);
        Ok(match tag {
            "$f" => {
                let bits = u64::from_str_radix(text()?, 16).map_err(|_| bad())?;
                Value::Float(f64::from_bits(bits))
            }
            "$b" => {
                let bytes = self.blob(text()?)?;
                Value::text(String::from_utf8(bytes).map_err(|_| bad())?)
            }
            "$B" => Value::Bytes(self.blob(text()?)?.into()),
            "$h" => Value::Bytes(unhex(text()?).ok_or_else(bad)?.into()),
            "$y" => match self.value(inner)? {
                Value::Text(text) => Value::Bytes(text.as_bytes().into()),
                _ => return Err(bad()),
            },
            "$n" => match self.value(inner)? {
                Value::Text(text) => {
                    let number = text.parse();
                    number.map_or_else(|_| Value::Text(text), Value::Int)
                }
                _ => return Err(bad()),
            },
            "$d" => match self.value(inner)? {
                Value::Text(text) => {
                    let number = text.parse();
                    number.map_or_else(|_| Value::Text(text), Value::Float)
                }
                _ => return Err(bad()),
            },
            "$s" => Value::text(self.secret(inner)),
            "$x" => {
                let mut whole = String::new();
                for part in inner.as_array().ok_or_else(bad)? {
                    match self.value(part)? {
                        Value::Text(text) => whole.push_str(&text),
                        _ => return Err(bad()),
                    }
                }
                Value::text(whole)
            }
            "$m" => {
                let mut map = Map::default();
                for pair in inner.as_array().ok_or_else(bad)?.chunks(2) {
                    let [name, field] = pair else {
                        return Err(bad());
                    };
                    let Value::Text(name) = self.value(name)? else {
                        return Err(bad());
                    };
                    map.insert(name, self.value(field)?);
                }
                Value::map(map)
            }
            "$!" => {
                let [kind, message, data] = inner.as_array().map_or(&[][..], Vec::as_slice) else {
                    return Err(bad());
                };
                let kind = kind.as_str().and_then(FailureKind::from_word);
                let Value::Text(message) = self.value(message)? else {
                    return Err(bad());
                };
                Value::Failure(Rc::new(Failure {
                    kind: kind.ok_or_else(bad)?,
                    message,
                    data: self.value(data)?,
                    at: 0,
                }))
            }
            _ => return Err(format!("`{tag}` is unknown")),
        })
    }

    fn secret(&mut self, json: &Json) -> String {
        let Some([name, number, range @ ..]) = json.as_array().map(Vec::as_slice) else {
            self.lost = true;
            return HIDDEN.to_string();
        };
        let place = |at: usize| range.get(at)?.as_u64().map(|place| place as usize);
        let name = name.as_str().unwrap_or_default();
        let number = number.as_u64().map_or(usize::MAX, |number| number as usize);
        match self.secrets.text_of(name, number) {
            Some(text) => {
                // Another value than it had may be shorter.
                let end = place(1).unwrap_or(text.len()).min(text.len());
                let part = text.get(place(0).unwrap_or(0)..end);
                part.unwrap_or_default().to_string()
            }
            None => {
                if !self.missing.iter().any(|known| known == name) {
                    self.missing.push(name.to_string());
                }
                HIDDEN.to_string()
            }
        }
    }

    fn blob(&self, hash: &str) -> Result<Vec<u8>, String> {
        let plain = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !plain {
            return Err(format!("`{hash}` names no file"));
        }
        let path = self.blobs.join(hash);
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if blake3::hash(&bytes).to_hex().as_str() != hash {
            return Err(format!("{} is damaged", path.display()));
        }
        Ok(bytes)
    }
}

/// A path as JSON: a text, or the digits of its bytes if it is none.
pub fn path(path: &Path) -> Json {
    match path.to_str() {
        Some(text) => json!(text),
        None => json!({"$h": hex(path.as_os_str().as_bytes())}),
    }
}

pub fn path_of(json: &Json) -> PathBuf {
    let bytes = json["$h"].as_str().and_then(unhex);
    match bytes {
        Some(bytes) => PathBuf::from(OsString::from_vec(bytes)),
        None => PathBuf::from(json.as_str().unwrap_or_default()),
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    if !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(value: &Value, secrets: &Secrets, again: &Secrets) -> (Value, String) {
        // Tests run side by side, and each leaves nothing behind.
        let thread = format!("{:?}", std::thread::current().id());
        let name = format!("rrc-blobs-{}-{thread}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let encoder = Encoder {
            blobs: folder.clone(),
            secrets,
        };
        let mut line = Vec::new();
        encoder.value(value, &mut line).unwrap();
        let json: Json = serde_json::from_slice(&line).unwrap();
        let mut decoder = Decoder::new(&folder, again);
        let value = decoder.value(&json).unwrap();
        // Small values make no folder.
        let _ = std::fs::remove_dir_all(&folder);
        (value, String::from_utf8(line).unwrap())
    }

    fn many() -> Value {
        let mut map = Map::default();
        let items = [
            Value::Null,
            Value::Bool(true),
            Value::Int(i64::MIN),
            Value::Int(i64::MAX),
            Value::Float(0.1),
            Value::Float(-0.0),
            Value::Float(f64::NAN),
            Value::Float(f64::INFINITY),
            Value::text("quotes \" and \u{1} and é"),
            Value::text("x".repeat(LONG + 1)),
            Value::Bytes(b"text".as_slice().into()),
            Value::Bytes(b"\xff\x00".as_slice().into()),
            Value::Bytes(vec![0xff; LONG + 1].into()),
            Value::map(Map::default()),
            Value::list(Vec::new()),
        ];
        map.insert(Rc::from("b"), Value::list(items.to_vec()));
        map.insert(Rc::from("a"), Value::text(""));
        let mut dollar = Map::default();
        dollar.insert(Rc::from("$f"), Value::text("no number"));
        map.insert(Rc::from("$m"), Value::map(dollar));
        Value::Failure(Rc::new(Failure {
            kind: FailureKind::NonzeroExit,
            message: "it failed".into(),
            data: Value::map(map),
            at: 0,
        }))
    }

    #[test]
    fn every_value_comes_back_as_it_was() {
        let none = Secrets::default();
        let (back, _) = there_and_back(&many(), &none, &none);
        assert_eq!(format!("{:?}", many()), format!("{back:?}"));
    }

    #[test]
    fn secrets_are_put_back_when_they_are_known() {
        let mut secrets = Secrets::default();
        secrets.learn("key", &Value::text("hunter2"));
        secrets.learn("pin", &Value::Int(123_456));
        secrets.learn("rate", &Value::Float(1234.5));
        secrets.learn("long", &Value::text("0123456789".repeat(6)));
        let value = Value::list(vec![
            Value::text("a hunter2 b"),
            Value::Int(123_456),
            Value::Float(1234.5),
            Value::text(format!("`{}` is not an integer", "0123456789".repeat(4))),
            Value::text(format!("{}hunter2", "y".repeat(LONG + 1))),
        ]);
        let (back, line) = there_and_back(&value, &secrets, &secrets);
        let number = format!("{:x}", 1234.5f64.to_bits());
        for secret in ["hunter2", "123456", "1234.5", &number, "0123"] {
            assert!(!line.contains(secret), "{line}");
        }
        assert_eq!(format!("{value:?}"), format!("{back:?}"));
        let (back, _) = there_and_back(&value, &secrets, &Secrets::default());
        let Value::List(items) = back else { panic!() };
        assert!(matches!(&items[0], Value::Text(text) if &**text == "a *** b"));
    }
}
