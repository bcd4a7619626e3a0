//! What must not leave the process: the values of variables that are named secret, and texts that
//! look like well-known tokens.
//!
//! Children get values as they are. Everything else (events, journal, results, messages) gets them
//! through here. A text that is cut is cut beside a secret, never through one, so that no part of
//! it escapes recognition.

mod known;
mod lines;
mod token;

use known::Known;
use lines::Block;
use rrc_vm::fault::Failure;
use rrc_vm::text::{on_a_line, render};
use rrc_vm::value::{Map, Value};
use std::borrow::Cow;
use std::rc::Rc;

pub use lines::Open;

/// What stands where a secret stood.
pub const HIDDEN: &str = "***";

/// How far past a cut is looked for the rest of a secret, at least.
const WINDOW: usize = 4096;

/// The shortest line of a secret of several lines that is hidden by itself.
const LINE: usize = 8;

/// The names of secrets, and their values as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    names: Vec<String>,
    known: Known,
    /// Which name each known text belongs to, and which of its texts it is, in the order they became
    /// known.
    owners: Vec<(usize, usize)>,
    /// The texts of each name, in that order.
    texts: Vec<Vec<usize>>,
    /// Those of several lines of which some would not be hidden by themselves.
    blocks: Vec<Block>,
}

/// A part of a text that is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    pub start: usize,
    pub end: usize,
    /// Which secret it is; none for what only looks like one.
    pub of: Option<Of<'a>>,
}

/// A part of a text of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of<'a> {
    pub name: &'a str,
    pub number: usize,
    /// Where it begins in that text, and whether it is all of it.
    pub from: usize,
    pub whole: bool,
}

impl Part<'_> {
    /// What only looks like a secret, if it is anything.
    fn unnamed(start: usize, end: usize) -> Option<Self> {
        (start < end).then_some(Part {
            start,
            end,
            of: None,
        })
    }
}

impl Secrets {
    pub fn new(names: impl IntoIterator<Item = String>) -> Secrets {
        let mut secrets = Secrets::default();
        for name in names {
            secrets.add(name);
        }
        secrets
    }

    fn add(&mut self, name: String) -> usize {
        let known = self.names.iter().position(|known| *known == name);
        known.unwrap_or_else(|| {
            self.names.push(name);
            self.texts.push(Vec::new());
            self.names.len() - 1
        })
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn is_secret(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// A secret has this value, too.
    pub fn learn(&mut self, name: &str, value: &Value) {
        let name = self.add(name.to_string());
        texts_of(value, &mut |text| {
            if text == HIDDEN {
                return;
            }
            if let Some(known) = self.known.add(text) {
                self.owners.push((name, self.texts[name].len()));
                self.texts[name].push(known);
                self.blocks.extend(Block::of(text));
            }
        });
    }

    /// One of the texts of a secret, by its number.
    pub fn text_of(&self, name: &str, number: usize) -> Option<&str> {
        let name = self.names.iter().position(|known| known == name)?;
        self.known.text(*self.texts.get(name)?.get(number)?)
    }

    /// How many bytes past a cut are needed to see what the cut goes through.
    pub fn window(&self) -> usize {
        self.known.longest().max(WINDOW)
    }

    /// The parts of a text that are hidden, in order, without overlap.
    pub fn parts(&self, text: &[u8]) -> Vec<Part<'_>> {
        let named = self.named(text);
        let mut parts = Vec::with_capacity(named.len());
        let mut left = named.iter().copied().peekable();
        for (start, end) in token::tokens(text) {
            let mut from = start;
            while let Some(part) = left.next_if(|part| part.start < end) {
                parts.extend(Part::unnamed(from, part.start));
                from = from.max(part.end);
                parts.push(part);
            }
            parts.extend(Part::unnamed(from, end));
        }
        parts.extend(left);
        parts
    }

    /// The values of secrets in a text, in order.
    fn named(&self, text: &[u8]) -> Vec<Part<'_>> {
        let spots = self.known.spots(text).into_iter();
        let parts = spots.map(|spot| {
            let length = self.known.text(spot.text).map_or(0, str::len);
            let owner = self.owners.get(spot.text);
            let of = owner.and_then(|(name, number)| {
                Some(Of {
                    name: self.names.get(*name)?,
                    number: *number,
                    from: spot.from,
                    whole: spot.end - spot.start == length,
                })
            });
            Part {
                start: spot.start,
                end: spot.end,
                of,
            }
        });
        parts.collect()
    }

    /// A message of the machine, which holds no more than the start of a long value: what would look
    /// like a token if it went on is hidden, too.
    pub fn message<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut parts = self.parts(text.as_bytes());
        for (open, close) in known::quotes(text.as_bytes()) {
            let quoted = &text.as_bytes()[open..close];
            let longer = [quoted, token::REST].concat();
            let tokens = token::tokens(&longer).into_iter();
            let mut cut = tokens.filter(|(start, end)| (*start..*end).contains(&quoted.len()));
            if let Some((start, _)) = cut.find(|(start, _)| *start < quoted.len()) {
                let start = start + open;
                parts.retain(|part| part.end <= start || part.start >= close);
                parts.extend(Part::unnamed(start, close));
            }
        }
        parts.sort_by_key(|part| part.start);
        hidden(text, parts)
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        hidden(text, self.parts(text.as_bytes()))
    }

    /// The value without secrets; none if it has none.
    pub fn value(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Null | Value::Bool(_) | Value::Step(_) | Value::Tasks(_) => None,
            Value::Int(_) | Value::Float(_) => {
                let secret = !self.known.is_empty() && self.known.has(&render(value));
                secret.then(|| Value::text(HIDDEN))
            }
            Value::Text(text) => match self.text(text) {
                Cow::Borrowed(_) => None,
                Cow::Owned(shown) => Some(Value::text(shown)),
            },
            Value::Bytes(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                match self.text(&text) {
                    Cow::Borrowed(_) => None,
                    Cow::Owned(shown) => Some(Value::Bytes(shown.into_bytes().into())),
                }
            }
            Value::List(items) => {
                let mut shown: Option<Vec<Value>> = None;
                for (index, item) in items.iter().enumerate() {
                    if let Some(item) = self.value(item) {
                        shown.get_or_insert_with(|| items.to_vec())[index] = item;
                    }
                }
                shown.map(Value::list)
            }
            Value::Map(fields) => self.map(fields).map(Value::map),
            Value::Failure(failure) => {
                let message = self.message(&failure.message);
                let data = self.value(&failure.data);
                if matches!(message, Cow::Borrowed(_)) && data.is_none() {
                    return None;
                }
                Some(Value::Failure(Rc::new(Failure {
                    message: Rc::from(&*message),
                    data: data.unwrap_or_else(|| failure.data.clone()),
                    ..Failure::clone(failure)
                })))
            }
        }
    }

    fn map(&self, fields: &Map) -> Option<Map> {
        let mut changed = false;
        let shown: Map = fields
            .iter()
            .map(|(name, value)| {
                let hidden = self.value(value);
                let shown = self.text(name);
                changed |= hidden.is_some() || matches!(shown, Cow::Owned(_));
                let name = match shown {
                    Cow::Borrowed(_) => Rc::clone(name),
                    Cow::Owned(shown) => Rc::from(shown),
                };
                (name, hidden.unwrap_or_else(|| value.clone()))
            })
            .collect();
        changed.then_some(shown)
    }

    /// What is known of a call that was made. Its fields have names of ours, whatever secrets are
    /// called.
    pub fn record(&self, mut record: Value) -> Value {
        match &mut record {
            Value::Map(known) => {
                for at in 0..known.len() {
                    let value = known.get_index(at).and_then(|(_, value)| self.value(value));
                    if let Some(value) = value
                        && let Some((_, place)) = Rc::make_mut(known).get_index_mut(at)
                    {
                        *place = value;
                    }
                }
                record
            }
            Value::Failure(failure) => Value::Failure(Rc::new(Failure {
                message: Rc::from(&*self.message(&failure.message)),
                data: self.record(failure.data.clone()),
                ..Failure::clone(failure)
            })),
            _ => self.value(&record).unwrap_or(record),
        }
    }

    /// Variables as they may be shown: a secret is hidden whatever it holds.
    pub fn variables(&self, variables: &Map) -> Map {
        let shown = variables.iter().map(|(name, value)| {
            let value = match value {
                Value::Null => Value::Null,
                _ if self.is_secret(name) => Value::text(HIDDEN),
                value => self.value(value).unwrap_or_else(|| value.clone()),
            };
            (Rc::clone(name), value)
        });
        shown.collect()
    }

    /// Where to end a text that may have `limit` bytes: there, or before the secret that stands
    /// there. The text must reach [`Secrets::window`] bytes further, as far as there are so many.
    pub fn end_before(&self, text: &[u8], limit: usize) -> usize {
        if text.len() <= limit {
            return text.len();
        }
        let to = text.len().min(limit.saturating_add(self.window()));
        let through = self.through(&text[..to], limit);
        through.map_or(limit, |(start, _)| start)
    }

    /// Where to start with the rest of a text: at `start`, or behind the secret that stands there.
    pub fn start_after(&self, text: &str, start: usize) -> usize {
        let through = self.through(text.as_bytes(), start);
        let mut start = through.map_or(start, |(_, end)| end);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        start
    }

    /// What is hidden on both sides of a place. It may have begun long before: a key is only known by
    /// its first line.
    fn through(&self, text: &[u8], place: usize) -> Option<(usize, usize)> {
        let mut through: Option<(usize, usize)> = None;
        for part in self.parts(text) {
            match &mut through {
                Some((_, end)) if *end == part.start => *end = part.end,
                Some((_, end)) if *end > place => break,
                _ => through = Some((part.start, part.end)),
            }
        }
        through.filter(|(start, end)| *start < place && *end > place)
    }
}

/// A text without these parts of it. What stands side by side is one to whoever reads it.
fn hidden<'a>(text: &'a str, parts: Vec<Part<'_>>) -> Cow<'a, str> {
    if parts.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for part in parts {
        if part.start > from || from == 0 {
            shown.push_str(text.get(from..part.start).unwrap_or_default());
            shown.push_str(HIDDEN);
        }
        from = from.max(part.end);
    }
    shown.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(shown)
}

/// The texts by which a value would be recognised.
fn texts_of(value: &Value, push: &mut impl FnMut(&str)) {
    match value {
        Value::Text(text) => {
            let text = text.trim();
            push(text);
            if text.contains('\n') {
                let lines = text.lines().map(str::trim);
                lines.filter(|line| line.len() >= LINE).for_each(&mut *push);
            }
            let quoted = serde_json::Value::from(text).to_string();
            if let Some(inside) = quoted.get(1..quoted.len() - 1) {
                push(inside);
            }
            // Messages write what they quote in a way of their own, and no more than its start.
            if text.len() <= WINDOW
                && let Cow::Owned(line) = on_a_line(text)
            {
                push(&line);
            }
        }
        Value::Int(_) | Value::Float(_) => push(&render(value)),
        Value::Bytes(bytes) => push(String::from_utf8_lossy(bytes).trim()),
        Value::List(items) => items.iter().for_each(|item| texts_of(item, push)),
        Value::Map(fields) => fields.values().for_each(|field| texts_of(field, push)),
        Value::Null | Value::Bool(_) | Value::Failure(_) | Value::Step(_) | Value::Tasks(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(pairs: &[(&str, &str)]) -> Secrets {
        let mut secrets = Secrets::default();
        for (name, text) in pairs {
            secrets.learn(name, &Value::text(*text));
        }
        secrets
    }

    #[test]
    fn values_are_hidden_wherever_they_stand() {
        let secrets = secrets(&[("a", "hunter2\n"), ("b", "hunter2-long")]);
        assert_eq!(secrets.text("x hunter2 y hunter2-long"), "x *** y ***");
        assert_eq!(secrets.text("hunter2hunter2"), "***");
        assert!(matches!(secrets.text("hunter"), Cow::Borrowed("hunter")));
        let mut map = Map::default();
        map.insert(Rc::from("hunter2"), Value::text("a hunter2"));
        let shown = secrets.value(&Value::map(map)).unwrap();
        assert_eq!(&*render(&shown), r#"{"***":"a ***"}"#);
        let mut map = Map::default();
        map.insert(Rc::from("exit_hunter2"), Value::text("a hunter2"));
        let shown = secrets.record(Value::map(map));
        assert_eq!(&*render(&shown), r#"{"exit_hunter2":"a ***"}"#);
    }

    #[test]
    fn a_secret_of_lines_is_hidden_line_by_line() {
        let secrets = secrets(&[("key", "first-line\nsecond-line\nx")]);
        assert_eq!(secrets.text("got second-line"), "got ***");
        assert_eq!(secrets.text("x"), "x");
        assert_eq!(secrets.text(r#""first-line\nsecond-line\nx""#), r#""***""#);
    }

    #[test]
    fn what_messages_show_of_a_value_is_hidden() {
        let long = format!("first{}", "0123456789".repeat(6));
        let secrets = secrets(&[("a", &long), ("b", "it's \"a\"\nsecret")]);
        let failure = |message: String| {
            let failure = Failure {
                kind: rrc_vm::fault::FailureKind::NotANumber,
                message: message.into(),
                data: Value::Null,
                at: 0,
            };
            let failure = Value::Failure(Rc::new(failure));
            let shown = secrets.value(&failure).unwrap_or(Value::Null);
            match (shown, secrets.record(failure)) {
                (Value::Failure(shown), Value::Failure(record)) => {
                    assert_eq!(shown.message, record.message);
                    shown.message.to_string()
                }
                _ => String::new(),
            }
        };
        let message = failure(format!("`{}` is not an integer", &long[..40]));
        assert_eq!(message, "`***` is not an integer");
        let message = failure(format!("`key: {}…` is not a number", &long[..35]));
        assert_eq!(message, "`key: ***…` is not a number");
        let message = failure("`it's \"a\"\\nsecret` is not a number".to_string());
        assert_eq!(message, "`***` is not a number");
        let token = format!("Authorization: Bearer {}", "aB3".repeat(6));
        let message = failure(format!("`{token}` is not an integer"));
        assert_eq!(message, "`Authorization: Bearer ***` is not an integer");
        let plain = format!("`{}` is not an integer", "x".repeat(40));
        assert_eq!(secrets.message(&plain), plain);
    }

    #[test]
    fn numbers_are_hidden_as_values() {
        let mut secrets = Secrets::default();
        secrets.learn("pin", &Value::Int(123_456));
        assert!(matches!(
            secrets.value(&Value::Int(123_456)),
            Some(Value::Text(_))
        ));
        assert!(secrets.value(&Value::Int(12)).is_none());
    }

    #[test]
    fn a_cut_goes_beside_a_secret() {
        let secrets = secrets(&[("a", "hunter2")]);
        let text = b"xxx hunter2 yyy";
        for limit in 0..text.len() {
            let end = secrets.end_before(text, limit);
            let expected = if (5..11).contains(&limit) { 4 } else { limit };
            assert_eq!(end, expected, "{limit}");
        }
        let text = "xxx hunter2 yyy";
        assert_eq!(secrets.start_after(text, 6), 11);
        assert_eq!(secrets.start_after(text, 4), 4);
        let token = format!("token ghp_{}", "a1".repeat(20));
        assert_eq!(Secrets::default().end_before(token.as_bytes(), 30), 6);
        // Of a key the middle is not known by itself.
        let body = "0123456789abcdef\n".repeat(1000);
        let key = format!("x -----BEGIN PRIVATE KEY-----\n{body}hunter2\n{body}");
        let all = format!("{key}-----END PRIVATE KEY----- y");
        for place in [3, 10_000, key.len() - 9, key.len() + 20] {
            assert_eq!(secrets.end_before(all.as_bytes(), place), 2);
            assert_eq!(secrets.start_after(&all, place), all.len() - 2);
        }
    }

    #[test]
    fn of_values_that_overlap_all_is_hidden() {
        let secrets = secrets(&[("a", "abcdef"), ("b", "defghij"), ("c", "jklm")]);
        assert_eq!(secrets.text("abcdefghijklm abcdef jklm"), "*** *** ***");
        // What looks like a token stands around a value, and is hidden with it.
        assert_eq!(secrets.text("PASSWORD=1234abcdef5678 x"), "PASSWORD=*** x");
    }

    /// Each of these took time that grew with the square of the text, or doubled with each level.
    #[test]
    fn hostile_output_is_read_in_one_pass() {
        let secrets = secrets(&[("a", "abab")]);
        for piece in [
            "token:", "-eyJ", "://a:", "ab", "abab", "-sk-", "bearer ", "secret=",
        ] {
            let text = piece.repeat(400_000 / piece.len());
            assert!(secrets.text(&text).len() <= text.len());
        }
        let mut value = Value::text(format!("ghp_{}", "a1".repeat(20)));
        for _ in 0..60 {
            let mut map = Map::default();
            map.insert(Rc::from("in"), value);
            value = Value::map(map);
        }
        assert!(secrets.value(&value).is_some());
    }

    #[test]
    fn a_text_can_be_found_again_by_name_and_number() {
        let secrets = secrets(&[("a", "one-secret"), ("a", "another-secret"), ("b", "third")]);
        assert_eq!(secrets.text_of("a", 1), Some("another-secret"));
        assert_eq!(secrets.text_of("b", 0), Some("third"));
        assert_eq!(secrets.text_of("b", 1), None);
        let parts = secrets.parts(b"one-secret third");
        let of = |name, number| {
            Some(Of {
                name,
                number,
                from: 0,
                whole: true,
            })
        };
        assert_eq!(parts[0].of, of("a", 0));
        assert_eq!(parts[1].of, of("b", 0));
    }
}
