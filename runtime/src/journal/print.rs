//! Calls as they are compared between the lives of a run.
//!
//! Secrets count as hidden: one that has changed makes no difference, and nothing of it is recorded.

use crate::secret::{HIDDEN, Secrets};
use memchr::memmem;
use rrc_vm::plan::HostKind;
use rrc_vm::value::Value;

/// A call as it is compared with another: enough to see that it is not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Print {
    pub kind: HostKind,
    pub crc: u32,
    pub length: u64,
    /// How many parts of it were hidden: with other secrets there may be others.
    pub hidden: u64,
}

impl Print {
    /// What a call asks for. Secrets count as hidden: one that has changed makes no difference.
    pub fn of(kind: HostKind, args: &[(&'static str, Value)], secrets: &Secrets) -> Print {
        let mut print = Print {
            kind,
            crc: 0,
            length: 0,
            hidden: 0,
        };
        for (name, value) in args {
            // All variables are what the replies before have made of them: to compare them with
            // each call would make long runs slow, and find nothing that those do not show.
            if !matches!(value, Value::Null) && *name != "ambient" {
                print.bytes(name.as_bytes());
                print.value(value, secrets);
            }
        }
        print
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.append(bytes);
        self.end(bytes.len());
    }

    fn append(&mut self, bytes: &[u8]) {
        self.crc = crc32c::crc32c_append(self.crc, bytes);
        self.length = self.length.wrapping_add(bytes.len() as u64);
    }

    /// Where one text ends and the next begins counts, too.
    fn end(&mut self, length: usize) {
        self.crc = crc32c::crc32c_append(self.crc, &(length as u32).to_le_bytes());
    }

    /// A text as it is when nobody can read what is hidden in it, whether that still stands there or
    /// was lost before, and however many secrets it was side by side.
    fn shown(&mut self, text: &[u8]) {
        let mut length = 0;
        let mut from = 0;
        for start in memmem::find_iter(text, HIDDEN) {
            if start > from || start == 0 {
                self.append(&text[from..start]);
                self.append(HIDDEN.as_bytes());
                self.hidden += 1;
                length += start - from + HIDDEN.len();
            }
            from = start + HIDDEN.len();
        }
        self.append(&text[from..]);
        self.end(length + text.len() - from);
    }

    fn value(&mut self, value: &Value, secrets: &Secrets) {
        match value {
            Value::Null | Value::Step(_) | Value::Tasks(_) => self.bytes(b"n"),
            Value::Bool(flag) => self.bytes(if *flag { b"t" } else { b"f" }),
            Value::Int(_) | Value::Float(_) if secrets.value(value).is_some() => {
                self.shown(HIDDEN.as_bytes());
            }
            Value::Int(int) => self.bytes(&int.to_le_bytes()),
            Value::Float(float) => self.bytes(&float.to_bits().to_le_bytes()),
            // What looks like a token is hidden in any case: what a call looks like must not depend
            // on whether there are secrets besides.
            Value::Text(text) => self.shown(secrets.text(text).as_bytes()),
            Value::Bytes(bytes) => match secrets.value(value) {
                Some(Value::Bytes(shown)) => self.shown(&shown),
                _ => self.shown(bytes),
            },
            Value::List(items) => {
                self.bytes(b"[");
                items.iter().for_each(|item| self.value(item, secrets));
                self.bytes(b"]");
            }
            Value::Map(fields) => {
                self.bytes(b"{");
                for (name, field) in &**fields {
                    self.shown(secrets.text(name).as_bytes());
                    self.value(field, secrets);
                }
                self.bytes(b"}");
            }
            Value::Failure(failure) => self.bytes(failure.kind.word().as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(texts: &[&str]) -> Secrets {
        let mut secrets = Secrets::default();
        for text in texts {
            secrets.learn("a", &Value::text(*text));
        }
        secrets
    }

    fn print(value: Value, known: &[&str]) -> Print {
        Print::of(HostKind::Exec, &[("script", value)], &secrets(known))
    }

    #[test]
    fn a_call_looks_the_same_whatever_its_secrets_are() {
        let script = |word: &str| {
            Value::text(format!(
                "curl -u me:{word} 'Authorization: Bearer {}'",
                "aB3".repeat(9)
            ))
        };
        let one = print(script("hunter2"), &["hunter2"]);
        assert_eq!(one, print(script("another"), &["another"]));
        assert_eq!(one, print(script("***"), &[]));
        assert_eq!(one.hidden, 2);
        assert_ne!(one, print(script("hunter2"), &["another"]));
        // A secret that stands nowhere in it makes no difference, a token or not.
        assert_eq!(print(script("x"), &[]), print(script("x"), &["hunter2"]));
        let twice = print(Value::text("hunter2hunter2."), &["hunter2"]);
        assert_eq!(twice, print(Value::text("******."), &[]));
        assert_ne!(twice, print(Value::text("***"), &[]));
        let bytes = |word: &str| Value::Bytes(format!("a {word} b").into_bytes().into());
        assert_eq!(
            print(bytes("hunter2"), &["hunter2"]),
            print(bytes("another"), &["another"])
        );
        assert_ne!(print(bytes("hunter2"), &[]), print(bytes("another"), &[]));
        let list = Value::list(vec![Value::Int(123_456), Value::Float(1234.5)]);
        let other = Value::list(vec![Value::Int(654_321), Value::Float(5432.5)]);
        assert_eq!(
            print(list, &["123456", "1234.5"]),
            print(other, &["654321", "5432.5"])
        );
    }
}
