//! What is known of a value before it exists.
//!
//! A type is a short list of kinds that a value can have, or nothing at all: what is not known is
//! not guessed. It never holds a large value, and joining types only loses detail, so that the
//! search for the types of all variables comes to rest.

use crate::ir::{Equality, Literal};
use rrc_vm::policy;
use rrc_vm::value::Value;
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

/// More texts than this are just text.
const MOST_TEXTS: usize = 8;
/// Longer texts are not remembered word for word.
const LONGEST_TEXT: usize = 4096;
/// Values inside values inside values: below this nothing is known.
const DEEPEST: usize = 8;
/// Of a map with more fields than this, no field is known.
const MOST_FIELDS: usize = 512;

/// Most are one kind, or one kind or null.
type Kinds = SmallVec<[Kind; 2]>;

#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// None: anything. Empty: nothing has been found out yet.
    kinds: Option<Kinds>,
    /// It holds for what the file says, a default or a command that prints a constant; whoever
    /// runs it may give another value, and only the run shows what was printed.
    pub assumed: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    Text(Words),
    List(Rc<Type>),
    Map(Rc<Shape>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Words {
    /// Exactly this text.
    Exactly(Rc<str>),
    /// Empty, or whole lines, the last one with its newline.
    Lines,
    Any,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    pub fields: Vec<(Rc<str>, Type)>,
    /// There may be more fields than these.
    pub open: bool,
}

impl Shape {
    pub fn closed(fields: Vec<(Rc<str>, Type)>) -> Shape {
        let mut shape = Shape {
            fields,
            open: false,
        };
        shape.limit();
        shape
    }

    fn limit(&mut self) {
        if self.fields.len() > MOST_FIELDS {
            self.fields.clear();
            self.open = true;
        }
    }

    pub fn field(&self, name: &str) -> Option<&Type> {
        self.fields
            .iter()
            .find(|(known, _)| &**known == name)
            .map(|(_, field)| field)
    }
}

impl Kind {
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Number => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Kind::Text(Words::Exactly(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether a text that is not empty must end with a newline.
    pub fn ends_with_newline(&self) -> bool {
        match self {
            Kind::Text(Words::Lines) => true,
            Kind::Text(Words::Exactly(text)) => text.ends_with('\n'),
            _ => false,
        }
    }

    /// Whether no more than the sort of the value is known.
    fn is_wide(&self) -> bool {
        match self {
            Kind::Null | Kind::Bool | Kind::Number => true,
            Kind::Text(words) => *words == Words::Any,
            Kind::List(of) => of.is_wide(),
            Kind::Map(shape) => shape.fields.iter().all(|(_, field)| field.is_wide()),
        }
    }

    /// The same, when only the sort of the value is to be relied on.
    fn widened(&self) -> Kind {
        match self {
            wide if wide.is_wide() => wide.clone(),
            Kind::Null | Kind::Bool | Kind::Number => self.clone(),
            Kind::Text(_) => Kind::Text(Words::Any),
            Kind::List(of) => Kind::List(Rc::new(of.widened())),
            Kind::Map(shape) => Kind::Map(Rc::new(Shape {
                fields: shape
                    .fields
                    .iter()
                    .map(|(name, field)| (Rc::clone(name), field.widened()))
                    .collect(),
                open: shape.open,
            })),
        }
    }
}

impl Type {
    pub fn unknown() -> Type {
        Type {
            kinds: None,
            assumed: false,
        }
    }

    pub fn nothing() -> Type {
        Type {
            kinds: Some(SmallVec::new()),
            assumed: false,
        }
    }

    pub fn of(kind: Kind) -> Type {
        Type {
            kinds: Some(smallvec![kind]),
            assumed: false,
        }
    }

    pub fn text() -> Type {
        Type::of(Kind::Text(Words::Any))
    }

    pub fn exactly(text: &str) -> Type {
        Type::of(Kind::Text(if text.len() > LONGEST_TEXT {
            Words::Any
        } else {
            Words::Exactly(text.into())
        }))
    }

    pub fn list(of: Type) -> Type {
        Type::of(Kind::List(Rc::new(of)))
    }

    pub fn assumed(mut self) -> Type {
        self.assumed = self.kinds.is_some();
        self
    }

    /// The same without what is inside: types of types that hold each other would grow without
    /// an end.
    pub fn flat(&self) -> Type {
        let mut all = Type::nothing();
        all.assumed = self.assumed;
        for kind in self.kinds.as_deref().unwrap_or_default() {
            match kind {
                Kind::Map(_) => return Type::unknown(),
                Kind::List(_) => all.join(&Type::list(Type::unknown())),
                Kind::Null | Kind::Bool | Kind::Number | Kind::Text(_) => {
                    all.join(&Type::of(kind.clone()));
                }
            }
        }
        match self.kinds {
            Some(_) => all,
            None => Type::unknown(),
        }
    }

    /// What it can be, if that is known.
    pub fn kinds(&self) -> Option<&[Kind]> {
        self.kinds.as_deref().filter(|kinds| !kinds.is_empty())
    }

    /// Whether it is known, and everything it can be is like that. Null does not count, unless
    /// it is all there is: a value that is not there is a question of its own.
    pub fn is_only(&self, like: impl Fn(&Kind) -> bool) -> bool {
        let Some(kinds) = self.kinds() else {
            return false;
        };
        let mut some = kinds
            .iter()
            .filter(|kind| !matches!(kind, Kind::Null))
            .peekable();
        some.peek().is_some() && some.all(like)
    }

    /// A word for what it is, for messages.
    pub fn word(&self) -> &'static str {
        let kinds = self.kinds().unwrap_or_default();
        kinds
            .iter()
            .find(|kind| !matches!(kind, Kind::Null))
            .or(kinds.first())
            .map_or("unknown", Kind::word)
    }

    fn is_wide(&self) -> bool {
        let mut kinds = self.kinds.iter().flatten();
        kinds.all(Kind::is_wide)
    }

    pub fn widened(&self) -> Type {
        let kinds = self.kinds.as_ref().map(|kinds| {
            let mut all = Kinds::new();
            for kind in kinds {
                let kind = kind.widened();
                if !all.contains(&kind) {
                    all.push(kind);
                }
            }
            all
        });
        Type {
            kinds,
            assumed: self.assumed,
        }
    }

    pub fn or_null(mut self) -> Type {
        if let Some(kinds) = &mut self.kinds
            && !kinds.contains(&Kind::Null)
        {
            kinds.push(Kind::Null);
        }
        self
    }

    /// Whether it can be anything, for all that is known.
    pub fn is_unknown(&self) -> bool {
        self.kinds.is_none() && !self.assumed
    }

    /// Whether joining the other is known to change nothing, without doing it.
    pub fn has(&self, other: &Type) -> bool {
        self.is_unknown() || (self == other && self.kinds.is_some())
    }

    /// What is either the one or the other.
    pub fn join(&mut self, other: &Type) {
        self.join_at(other, 0);
    }

    fn join_at(&mut self, other: &Type, depth: usize) {
        let (Some(own), Some(theirs)) = (&mut self.kinds, &other.kinds) else {
            *self = Type::unknown();
            return;
        };
        if depth >= DEEPEST {
            *self = Type::unknown();
            return;
        }
        self.assumed |= other.assumed;
        for kind in theirs {
            add(own, kind, depth);
        }
        let texts = own.iter().filter(|kind| kind.text().is_some()).count();
        if texts > MOST_TEXTS {
            let lines = own
                .iter()
                .filter(|kind| matches!(kind, Kind::Text(_)))
                .all(Kind::ends_with_newline);
            own.retain(|kind| !matches!(kind, Kind::Text(_)));
            own.push(Kind::Text(if lines { Words::Lines } else { Words::Any }));
        }
    }
}

fn add(own: &mut Kinds, kind: &Kind, depth: usize) {
    if own.contains(kind) {
        return;
    }
    match kind {
        Kind::List(of) => {
            for mine in own.iter_mut() {
                if let Kind::List(mine) = mine {
                    Rc::make_mut(mine).join_at(of, depth + 1);
                    return;
                }
            }
        }
        Kind::Map(shape) => {
            for mine in own.iter_mut() {
                if let Kind::Map(mine) = mine {
                    join_shapes(Rc::make_mut(mine), shape, depth);
                    return;
                }
            }
        }
        Kind::Text(Words::Any) => own.retain(|mine| !matches!(mine, Kind::Text(_))),
        Kind::Text(Words::Lines) if own.contains(&Kind::Text(Words::Any)) => return,
        Kind::Text(Words::Lines) => own.retain(|mine| !mine.ends_with_newline()),
        Kind::Text(Words::Exactly(text)) => {
            let within = |mine: &Kind| match mine {
                Kind::Text(Words::Any) => true,
                Kind::Text(Words::Lines) => text.is_empty() || text.ends_with('\n'),
                _ => false,
            };
            if own.iter().any(within) {
                return;
            }
        }
        Kind::Null | Kind::Bool | Kind::Number => {}
    }
    own.push(kind.clone());
}

fn join_shapes(own: &mut Shape, other: &Shape, depth: usize) {
    own.open |= other.open;
    if own.open && own.fields.is_empty() {
        return;
    }
    for (name, field) in &other.fields {
        match own.fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, mine)) => mine.join_at(field, depth + 1),
            None => own.fields.push((Rc::clone(name), field.clone())),
        }
    }
    own.limit();
}

/// The type of a value that stands in the file.
pub fn of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::of(Kind::Null),
        Literal::Bool(_) => Type::of(Kind::Bool),
        Literal::Int(_) | Literal::Float(_) => Type::of(Kind::Number),
        Literal::Text(text) => Type::exactly(text),
        Literal::List(items) => {
            let mut of = Type::nothing();
            items.iter().for_each(|item| of.join(&of_literal(item)));
            Type::list(of)
        }
        Literal::Map(fields) => {
            let fields = fields
                .iter()
                .map(|(name, field)| (name.as_str().into(), of_literal(field)))
                .collect();
            Type::of(Kind::Map(Rc::new(Shape::closed(fields))))
        }
    }
}

/// The type of a value that a command certainly prints.
pub fn of_value(value: &Value) -> Type {
    match value {
        Value::Null => Type::of(Kind::Null),
        Value::Bool(_) => Type::of(Kind::Bool),
        Value::Int(_) | Value::Float(_) => Type::of(Kind::Number),
        Value::Text(text) => Type::exactly(text),
        Value::List(items) => {
            let mut of = Type::nothing();
            items.iter().for_each(|item| of.join(&of_value(item)));
            Type::list(of)
        }
        Value::Map(fields) => {
            let fields = fields
                .iter()
                .map(|(name, field)| (Rc::clone(name), of_value(field)))
                .collect();
            Type::of(Kind::Map(Rc::new(Shape::closed(fields))))
        }
        Value::Bytes(_) | Value::Failure(_) | Value::Step(_) | Value::Tasks(_) => Type::unknown(),
    }
}

/// Why two values cannot be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unequal {
    /// One of them ends with a newline and the other does not.
    Newline,
    Kinds,
    /// Two texts that happen to differ.
    Texts,
}

/// Whether two values can never be equal, and why.
pub fn never_equal(a: &Type, b: &Type, equality: Equality) -> Option<Unequal> {
    let (a, b) = (a.kinds()?, b.kinds()?);
    let mut why = None;
    for a in a {
        for b in b {
            let here = unequal(a, b, equality)?;
            // What is not there has no kind that could be wrong.
            if matches!(a, Kind::Null) || matches!(b, Kind::Null) {
                continue;
            }
            why = match (why, here) {
                (Some(Unequal::Newline), _) | (_, Unequal::Newline) => Some(Unequal::Newline),
                (Some(Unequal::Kinds), _) | (_, Unequal::Kinds) => Some(Unequal::Kinds),
                _ => Some(Unequal::Texts),
            };
        }
    }
    Some(why.unwrap_or(Unequal::Kinds))
}

fn unequal(a: &Kind, b: &Kind, equality: Equality) -> Option<Unequal> {
    use Kind::{Bool, List, Map, Null, Number, Text};
    let equal = match equality {
        Equality::NumbersFirst => policy::eq_numbers_first,
        Equality::ByType => policy::eq_by_type,
    };
    let kinds = Some(Unequal::Kinds);
    match (a, b) {
        (Null, Null) | (Bool, Bool) | (Number, Number) | (List(_), List(_)) | (Map(_), Map(_)) => {
            None
        }
        (Null, _) | (_, Null) => kinds,
        (Text(a), Text(b)) => texts(a, b, equal),
        (Text(words), other) | (other, Text(words)) => match (words, other) {
            (Words::Any, List(_) | Map(_)) if equality == Equality::ByType => kinds,
            (Words::Any, _) => None,
            // Blanks around a number do not matter, and they do around a boolean.
            (Words::Lines, Number) => None,
            (Words::Lines, Bool) => Some(Unequal::Newline),
            (Words::Lines, _) => kinds,
            (Words::Exactly(text), _) => {
                let could = match other {
                    Number => looks_like_number(text, equality),
                    Bool => [true, false]
                        .iter()
                        .any(|flag| equal(&Value::Bool(*flag), &Value::text(&**text))),
                    List(_) => equality == Equality::NumbersFirst && text.starts_with('['),
                    _ => equality == Equality::NumbersFirst && text.starts_with('{'),
                };
                (!could).then_some(Unequal::Kinds)
            }
        },
        _ => kinds,
    }
}

fn texts(a: &Words, b: &Words, equal: fn(&Value, &Value) -> bool) -> Option<Unequal> {
    match (a, b) {
        (Words::Exactly(a), Words::Exactly(b)) => {
            if equal(&Value::text(&**a), &Value::text(&**b)) {
                None
            } else if a.ends_with('\n') != b.ends_with('\n') && a.trim() == b.trim() {
                Some(Unequal::Newline)
            } else {
                Some(Unequal::Texts)
            }
        }
        (Words::Lines, Words::Exactly(text)) | (Words::Exactly(text), Words::Lines) => {
            let line = format!("{text}\n");
            let could = text.is_empty()
                || text.ends_with('\n')
                || equal(&Value::text(&**text), &Value::text(line));
            (!could).then_some(Unequal::Newline)
        }
        _ => None,
    }
}

fn looks_like_number(text: &str, equality: Equality) -> bool {
    let zero = Value::Int(0);
    let text = Value::text(text);
    match equality {
        // Two numbers have an order, and text that is none has one only with other text.
        Equality::NumbersFirst => {
            rrc_vm::builtin::call(rrc_vm::isa::Builtin::Float, std::slice::from_ref(&text)).is_ok()
        }
        Equality::ByType => policy::order_by_type(&zero, &text).is_some(),
    }
}

/// Whether text is the text of a number, as `int` and deadlines read it.
pub fn is_numeric(text: &str) -> bool {
    looks_like_number(text, Equality::NumbersFirst)
}
