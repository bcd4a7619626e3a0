//! What a map should hold, as data.
//!
//! A [`Shape`] is the one list of the fields of a map: it tells typos from fields, and feeds
//! suggestions, hover, completion and the JSON Schema. Which shapes exist is the business of the
//! dialects; holding a map against one is the business of `fields`.

/// One kind of map: a step, a stage.
#[derive(Debug)]
pub struct Shape {
    /// What people call it: `step`.
    pub what: &'static str,
    pub fields: &'static [Field],
    /// Names that people write and that are wrong, with the name to write instead, or a sentence.
    pub hints: &'static [(&'static str, &'static str)],
    /// Other maps whose fields are written here by mistake, and where those belong.
    pub elsewhere: &'static [(&'static Shape, &'static str)],
    /// Names let through without a look: `metadata`, or with a star at the end `x-*`.
    pub open: &'static [&'static str],
}

#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub ty: Type,
    /// One sentence for hover and completion.
    pub doc: &'static str,
    /// Other names for the same field.
    pub aliases: &'static [&'static str],
}

#[derive(Debug)]
pub enum Type {
    /// Text; numbers and booleans are taken as they are written.
    Text,
    /// Text that names something: an id, a variable.
    Name,
    Bool,
    /// A whole number, also as text.
    Int {
        min: i64,
        max: i64,
    },
    Number,
    Choice(&'static [&'static str]),
    List(&'static Type),
    /// A map with names of the author's choice.
    Map(&'static Type),
    Nested(&'static Shape),
    OneOf(&'static [Type]),
    Any,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Milliseconds,
    Bytes,
}

impl Unit {
    pub fn words(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Milliseconds => "milliseconds",
            Unit::Bytes => "bytes",
        }
    }

    /// How many of these one of what people write behind a number is.
    pub fn scale(self, written: &str) -> Option<f64> {
        let seconds = match written.to_lowercase().as_str() {
            "ms" | "msec" | "millisecond" | "milliseconds" => 1e-3,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => 0.0,
        };
        let bytes = match written.to_lowercase().as_str() {
            "b" | "byte" | "bytes" => 1.0,
            "k" | "kb" | "kib" => 1024.0,
            "m" | "mb" | "mib" => 1024.0 * 1024.0,
            "g" | "gb" | "gib" => 1024.0 * 1024.0 * 1024.0,
            _ => 0.0,
        };
        let scale = match self {
            Unit::Seconds => seconds,
            Unit::Milliseconds => seconds * 1000.0,
            Unit::Bytes => bytes,
        };
        (scale > 0.0).then_some(scale)
    }
}

impl Field {
    /// What a number here counts, which its sentence says.
    pub fn unit(&self) -> Option<Unit> {
        let units = [Unit::Milliseconds, Unit::Seconds, Unit::Bytes];
        units
            .into_iter()
            .find(|unit| self.doc.split([' ', ';']).any(|word| word == unit.words()))
    }
}

impl Shape {
    /// A field by its name or one of its other names.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.index(name).map(|index| &self.fields[index])
    }

    pub(super) fn index(&self, name: &str) -> Option<usize> {
        // Most names differ in their first letter, which is the quickest to see.
        let first = name.as_bytes().first();
        self.fields
            .iter()
            .position(|field| field.name.as_bytes().first() == first && field.name == name)
            .or_else(|| self.fields.iter().position(|f| f.aliases.contains(&name)))
    }

    /// Whether a name is let through without being a field.
    pub fn lets_through(&self, name: &str) -> bool {
        self.open.iter().any(|open| match open.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => *open == name,
        })
    }

    /// Every name that may be written: fields, then their other names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let names = self.fields.iter().map(|field| field.name);
        names.chain(self.fields.iter().flat_map(|f| f.aliases.iter().copied()))
    }
}

impl Type {
    /// How the type is named behind "must be".
    pub fn words(&self) -> String {
        match self {
            Type::Text => "text".to_owned(),
            Type::Name => "a name".to_owned(),
            Type::Bool => "true or false".to_owned(),
            Type::Int { .. } => "a whole number".to_owned(),
            Type::Number => "a number".to_owned(),
            Type::Choice(words) => either(words.iter().map(|word| format!("`{word}`"))),
            Type::List(_) => "a list".to_owned(),
            Type::Map(_) | Type::Nested(_) => "a map".to_owned(),
            Type::OneOf(types) => either(types.iter().map(Type::words)),
            Type::Any => "a value".to_owned(),
        }
    }
}

fn either(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

pub(super) fn bounds(ty: &Type) -> Option<(i64, i64)> {
    match ty {
        Type::Int { min, max } => Some((*min, *max)),
        Type::OneOf(types) => types.iter().find_map(bounds),
        _ => None,
    }
}

/// The words that a field of this type takes.
pub fn choices(ty: &Type) -> Option<&'static [&'static str]> {
    match ty {
        Type::Choice(words) => Some(words),
        Type::OneOf(types) => types.iter().find_map(choices),
        _ => None,
    }
}

/// The shape of the map that a field of this type holds.
pub fn nested(ty: &Type) -> Option<&'static Shape> {
    match ty {
        Type::Nested(shape) => Some(shape),
        Type::OneOf(types) => types.iter().find_map(nested),
        _ => None,
    }
}
