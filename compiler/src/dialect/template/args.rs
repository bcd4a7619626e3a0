//! `args` and `defaults`: what a template can be given, and what it has when it is not.

use super::command::is_reference;
use super::habits::{without, without_item};
use super::names::{Arg, Args, Declarations, Defaults, Env, MOST_TERMS, Preset, repeat_name};
use super::node::wrong_type;
use super::{Lower, holes};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report, nearest};
use crate::doc::{Kind, Node, Text};
use crate::ir::Literal;
use crate::ir::flow::{Declared, ValueKind};
use crate::source::Span;
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::rc::Rc;

/// The types there are, as they are written.
const TYPES: [&str; 7] = [
    "string",
    "path",
    "int",
    "number",
    "bool",
    "array",
    "enum(…)",
];

impl<'a> Lower<'_, 'a> {
    /// What is known inside of a node.
    pub fn env_of(&mut self, node: Node<'a>, env: &Env<'a>, checked: bool) -> Env<'a> {
        let repeats = self.field(node, "repeat").is_some() || env.repeats > 0;
        // Beside `command` they are its words, and no declarations.
        let words = node.get("command").is_some() && node.get("template").is_none();
        let mut env = match self.field(node, "args").filter(|_| !words) {
            Some(args) => match self.args(args, repeats) {
                Some(args) => Env {
                    args: Some(Rc::new(Declarations::new(args))),
                    ..env.clone()
                },
                None => env.clone(),
            },
            None => env.clone(),
        };
        if let Some(defaults) = self.field(node, "defaults") {
            let own = self.defaults(defaults, repeats);
            env = env.with_defaults(own, self);
        }
        if checked {
            self.check_defaults(node, &env);
            self.check_cycles(node, &env);
        }
        env
    }

    fn args(&mut self, node: Node<'a>, repeats: bool) -> Option<Args<'a>> {
        let Kind::List(items) = node.kind else {
            if !node.is_broken() {
                self.add(wrong_type("args", "a list of declarations", node));
            }
            return None;
        };
        let mut args = Args::default();
        // Where each of them stands in the list.
        let mut places: Vec<usize> = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let Some(text) = self.text(*item) else {
                if !item.is_broken() {
                    let message = "a declaration is a text such as `name` or `count:int=3`";
                    self.add(
                        Diagnostic::new(&codes::WRONG_TYPE, item.span, message)
                            .help("write it in quotes"),
                    );
                }
                continue;
            };
            let Some(arg) = self.arg(text, repeats) else {
                continue;
            };
            if let Some((place, _, first)) = args.get_full(arg.name) {
                let at = &places[place];
                let message = format!("`{}` is declared twice", arg.name);
                let first = first.span;
                let said = |at: usize| Some(self.text(*items.get(at)?)?.text());
                // The one that says nothing but the name can go.
                let idle = match (said(*at), said(number)) {
                    (first, second) if first == second => Some(number),
                    (_, Some(second)) if second == arg.name => Some(number),
                    (Some(first), _) if first == arg.name => Some(*at),
                    _ => None,
                };
                let fix = idle.and_then(|idle| self.without_arg(items, idle));
                self.add(
                    Diagnostic::new(&codes::DUPLICATE_ARGUMENT, arg.span, message)
                        .label(first, "it is declared here first")
                        .help("keep one of the two")
                        .fix_if(fix),
                );
                continue;
            }
            args.insert(arg.name, arg);
            places.push(number);
        }
        Some(args)
    }

    fn without_arg(&self, items: &[Node<'_>], number: usize) -> Option<Fix> {
        self.raw?;
        Some(Fix::safe("remove it", without_item(items, number)?, ""))
    }

    /// `name`, `name:type`, `name=default` or `name:type=default`, with blanks around the colon.
    fn arg(&mut self, text: Text<'a>, repeats: bool) -> Option<Arg<'a>> {
        let whole = text.text();
        let (left, default) = match whole.split_once('=') {
            Some((left, default)) => {
                let start = left.len() + 1;
                (left, Some((default, text.span(start..whole.len()))))
            }
            None => (whole, None),
        };
        let (name, kind) = match left.split_once(':') {
            Some((name, kind)) => (name, Some((kind, name.len() + 1))),
            None => (left, None),
        };
        let name_at = trimmed(name, 0);
        let name = name.trim();
        let span = text.span(name_at);
        if !holes::is_name(name) {
            let message = format!("`{name}` is no name for an argument");
            self.add(
                Diagnostic::new(&codes::BAD_VALUE, text.inner(), message)
                    .help("a name starts with a letter; letters, digits, `_` and `-` follow"),
            );
            return None;
        }
        self.check_name(name, span, repeats);
        let kind = match kind {
            Some((kind, start)) => {
                let at = text.span(trimmed(kind, start));
                let kind = self.kind(kind.trim(), at);
                if let (Some(kind), Some((default, span))) = (&kind, default) {
                    self.check_default(name, &Literal::Text(default.to_string()), kind, span);
                }
                kind
            }
            None => None,
        };
        Some(Arg {
            name,
            span,
            kind,
            default,
        })
    }

    /// The type that a word names; declared for the name that stands before it.
    fn kind(&mut self, word: &str, span: Span) -> Option<ValueKind> {
        match holes::kind_of(word) {
            Ok(kind) => Some(kind),
            Err(bad) => {
                let finding = match bad {
                    holes::Bad::EmptyChoice(_) => Diagnostic::new(
                        &codes::UNKNOWN_TYPE,
                        span,
                        "an `enum` without words allows nothing",
                    )
                    .help("write the words that are allowed: `enum(a,b)`"),
                    _ => unknown_type(word, span),
                };
                self.report_once(finding);
                None
            }
        }
    }

    /// A name that `repeat` sets cannot be given another value.
    fn check_name(&mut self, name: &str, span: Span, repeats: bool) {
        if repeats && repeat_name(name).is_some() {
            let message = format!("`{name}` is set by `repeat` and cannot be a value");
            self.report_once(
                Diagnostic::new(&codes::RESERVED_NAME, span, message)
                    .help(format!("choose another name, such as `{name}_value`")),
            );
        }
    }

    fn defaults(&mut self, node: Node<'a>, repeats: bool) -> Defaults<'a> {
        let mut all = Defaults::default();
        let Kind::Map(entries) = node.kind else {
            if !node.is_broken() {
                self.add(wrong_type("defaults", "an object", node));
            }
            return all;
        };
        for (number, entry) in entries.iter().enumerate() {
            let Some(name) = entry.name() else { continue };
            let name_span = entry.key.text().map_or(entry.key.span, |text| text.inner());
            let whole = self.raw.and_then(|_| without(entries, number));
            self.notes.preset(name, name_span, whole);
            self.check_name(name, name_span, repeats);
            let text = self.text(entry.value);
            let span = text.map_or(entry.value.span, |text| text.inner());
            let value = self.literal(entry.value);
            all.insert(name, Preset::new(value, text, span, name_span));
        }
        all
    }

    /// The types of arguments are those of their defaults; the values of a node's own defaults are
    /// looked at where they stand.
    fn check_defaults(&mut self, node: Node<'a>, env: &Env<'a>) {
        // What is declared around the node was looked at there.
        let args = env
            .args
            .clone()
            .filter(|_| self.field(node, "args").is_some());
        for arg in args.iter().flat_map(|args| args.all.values()) {
            if let Some(kind) = &arg.kind {
                let word = word_of(kind);
                self.declare(arg.name, kind.clone(), &word, arg.span);
            }
        }
        let own = node.get("defaults").and_then(|defaults| defaults.map());
        for entry in own.unwrap_or_default() {
            let Some(name) = entry.name() else { continue };
            let Some(default) = env.preset(name) else {
                continue;
            };
            let kind = env.arg(name).and_then(|arg| arg.kind.clone());
            if let Some(kind) = kind {
                let (value, span) = (default.value.clone(), default.span);
                self.check_default(name, &value, &kind, span);
            }
        }
    }

    /// Defaults that lead to each other without an end, whether something reads them or not.
    fn check_cycles(&mut self, node: Node<'a>, env: &Env<'a>) {
        let own = self.field(node, "defaults");
        let own = own.and_then(|defaults| defaults.map()).unwrap_or_default();
        let mut quiet = Report::default();
        let mut other = Lower::new(self.source, self.schema, &mut quiet);
        other.terms = self.walked;
        // Of defaults that lead to each other only the first is said.
        let mut said: FxHashSet<String> = FxHashSet::default();
        for name in own.iter().filter_map(|entry| entry.name()) {
            if said.contains(name) {
                continue;
            }
            let before = other.report.findings.len();
            let span = Span::top(self.source);
            env.value(name, span, &mut other, &mut Vec::new());
            let met = std::mem::take(&mut other.used);
            // That it is too much is said where it is read.
            if other.terms > MOST_TERMS {
                other.report.findings.truncate(before);
                break;
            }
            if other.report.findings.len() > before {
                said.extend(met.into_keys());
            }
        }
        self.walked = other.terms;
        for finding in quiet.findings {
            self.report_once(finding);
        }
        let met = said.iter().filter_map(|name| env.preset(name.as_str()));
        let cycle = codes::DEFAULT_CYCLE.code;
        self.said.extend(met.map(|default| (default.span, cycle)));
    }

    /// A default that its type does not allow.
    fn check_default(&mut self, name: &str, value: &Literal, kind: &ValueKind, span: Span) {
        let filled = |piece: &holes::Piece, text: &str| match piece {
            holes::Piece::Hole(range) => text
                .get(range.clone())
                .is_some_and(|inner| holes::hole(inner).is_ok() || is_reference(inner)),
            holes::Piece::Plain(_) => false,
        };
        if let Literal::Text(text) = value
            && holes::pieces(text).iter().any(|piece| filled(piece, text))
        {
            return;
        }
        let declared = Declared {
            name: name.to_string(),
            kind: kind.clone(),
            span,
        };
        // Nothing is no value of any type, and leaves its word out.
        let nothing = matches!(value, Literal::Text(text) if text.is_empty());
        if nothing || declared.fit(value).is_ok() {
            return;
        }
        let wanted = match kind {
            ValueKind::Int => "an integer".to_string(),
            ValueKind::Number => "a number".to_string(),
            ValueKind::Bool => "`true` or `false`".to_string(),
            ValueKind::List => "a list".to_string(),
            ValueKind::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                format!("one of {}", words.join(", "))
            }
            _ => "text".to_string(),
        };
        let message = format!("the default of `{name}` is not {wanted}");
        self.report_once(
            Diagnostic::new(&codes::BAD_DEFAULT, span, message)
                .help("change the default, or the type that is declared"),
        );
    }

    /// A placeholder that says which type its value has.
    pub fn typed_hole(
        &mut self,
        name: &str,
        word: &str,
        default: Option<(&str, Span)>,
        span: Span,
        env: &Env<'a>,
    ) {
        let Some(kind) = self.kind(word, span) else {
            return;
        };
        self.declare(name, kind.clone(), &word_of(&kind), span);
        if let Some((default, span)) = default {
            self.check_default(name, &Literal::Text(default.to_string()), &kind, span);
        }
        if let Some(default) = env.preset(name) {
            let (value, span) = (default.value.clone(), default.span);
            self.check_default(name, &value, &kind, span);
        }
    }

    /// Declarations and defaults that nothing reads.
    pub fn unused(&mut self, root: Node<'a>) {
        // What another host fills in may read anything, and so may what nobody looked at.
        if self.foreign || self.layered || self.unread {
            return;
        }
        let Some(Kind::List(items)) = root.get("args").map(|args| args.kind) else {
            return;
        };
        for (number, item) in items.iter().enumerate() {
            let Some(text) = self.text(*item) else {
                continue;
            };
            let name = text.text().split([':', '=']).next().unwrap_or_default();
            let at = trimmed(name, 0);
            let name = name.trim();
            if holes::is_name(name) && !self.used.contains_key(name) {
                let message = format!("nothing reads the argument `{name}`");
                self.add(
                    Diagnostic::new(&codes::UNUSED_ARGUMENT, text.span(at), message)
                        .help("remove it, or use it in a command")
                        .fix_if(self.without_arg(items, number)),
                );
            }
        }
    }
}

/// Where the text without blanks around it stands.
fn trimmed(text: &str, start: usize) -> Range<usize> {
    let from = start + text.len() - text.trim_start().len();
    from..from + text.trim().len()
}

fn word_of(kind: &ValueKind) -> String {
    match kind {
        ValueKind::OneOf(words) => format!("enum({})", words.join(",")),
        ValueKind::Text => "string".to_string(),
        other => other.word().to_string(),
    }
}

pub fn unknown_type(word: &str, span: Span) -> Diagnostic {
    let message = format!("there is no type `{word}`");
    let finding = Diagnostic::new(&codes::UNKNOWN_TYPE, span, message);
    let same = match word {
        "integer" => Some("int"),
        "float" | "double" => Some("number"),
        "boolean" => Some("bool"),
        "str" | "text" => Some("string"),
        "list" => Some("array"),
        "file" | "dir" => Some("path"),
        _ => None,
    };
    let near = || nearest(word, ["string", "path", "int", "number", "bool", "array"]);
    let fix = match same {
        Some(same) => Some((same, Fix::safe(format!("write `{same}`"), span, same))),
        None => near().map(|near| (near, Fix::rename(word, near, span))),
    };
    match fix {
        Some((meant, fix)) => finding.did_you_mean(meant).fix(fix),
        None => finding.help(format!("types are {}", TYPES.join(", "))),
    }
}
