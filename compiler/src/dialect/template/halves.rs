//! Braces that stand alone, of a placeholder that may have lost the other one; and names that need
//! not be known and are nearly known.

use super::Lower;
use super::holes::{self, Hole, Piece};
use super::names::{Env, HOST_NAMES, repeat_name};
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Fix, is_slip};
use crate::doc::{Kind, Node};
use crate::source::Span;
use std::ops::Range;

/// A brace without the other one, and the text that it would be part of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Lone {
    Open(Range<usize>),
    Close(Range<usize>),
}

/// Finds braces that stand alone. What follows a brace ends where a name and its form would.
fn lone(text: &str) -> Vec<Lone> {
    let mut found = Vec::new();
    let mut open: Option<usize> = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, open) {
            (b'{', before) => {
                found.extend(before.map(|start| Lone::Open(start..at)));
                open = Some(at);
            }
            (b'}', Some(_)) => open = None,
            (b'}', None) => {
                let before = text.get(..at).unwrap_or_default();
                let start = before.rfind(|c: char| c.is_whitespace() || matches!(c, '{' | '}'));
                found.push(Lone::Close(start.map_or(0, |start| start + 1)..at + 1));
            }
            _ => {}
        }
    }
    found.extend(open.map(|start| Lone::Open(start..text.len())));
    found
}

pub(super) fn leading_name(text: &str) -> &str {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let end = text.find(|c| !part(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

fn last_name(text: &str) -> &str {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = text.rfind(|c| !part(c)).map_or(0, |at| at + 1);
    text.get(start..).unwrap_or_default()
}

impl<'a> Lower<'_, 'a> {
    /// Says which braces stand alone beside a name that is known.
    pub(super) fn lone_braces(
        &mut self,
        text: &str,
        env: &Env<'a>,
        at: &dyn Fn(Range<usize>) -> Span,
    ) {
        let given = |name: &str| {
            env.arg(name).is_some() || env.has_default(name) || HOST_NAMES.contains(&name)
        };
        for brace in lone(text) {
            let (inner, what) = match &brace {
                Lone::Open(range) => (range.start + 1..range.end, "closes"),
                Lone::Close(range) => (range.start..range.end - 1, "opens"),
            };
            let written = text.get(inner.clone()).unwrap_or_default();
            let name = leading_name(written);
            let rest = written.get(name.len()..).unwrap_or_default();
            let form = rest.is_empty() || rest.starts_with(['=', '?', ':', '[']);
            let (name, meant, range) = match brace {
                Lone::Open(_) => {
                    let whole = form && !rest.contains(char::is_whitespace);
                    let meant = if whole { written } else { name };
                    (name, meant, inner.start - 1..inner.start + name.len())
                }
                Lone::Close(_) if form && given(name) => {
                    (name, written, inner.start..inner.end + 1)
                }
                Lone::Close(_) => {
                    let name = last_name(written);
                    (name, name, inner.end - name.len()..inner.end + 1)
                }
            };
            if !given(name) {
                continue;
            }
            let span = at(range);
            // That nothing reads it is no second mistake.
            self.use_name(name, span);
            let message = format!("nothing {what} this brace, so `{name}` is plain text");
            self.report_once(
                Diagnostic::new(&codes::BAD_PLACEHOLDER, span, message)
                    .severity(Severity::Warning)
                    .help(format!("write `{{{meant}}}`, if a placeholder is meant")),
            );
        }
    }

    /// Texts in which a placeholder may stay as it is: defaults, and what a node that stands for
    /// another recipe passes to it, where the host knows more names than these. One that is nearly
    /// a name of this file is a slip all the same.
    pub(super) fn passed(&mut self, node: Node<'a>, env: &Env<'a>) {
        match node.kind {
            Kind::Map(entries) => entries
                .iter()
                .for_each(|entry| self.passed(entry.value, env)),
            Kind::List(items) => items.iter().for_each(|item| self.passed(*item, env)),
            Kind::Broken => {}
            Kind::Scalar(_) => {
                let Some(text) = self.text(node) else { return };
                self.lone_braces(text.text(), env, &|range| text.span(range));
                for piece in holes::pieces(text.text()) {
                    let Piece::Hole(range) = piece else { continue };
                    let inner = text.text().get(range.clone()).unwrap_or_default();
                    // A text for a missing value declares the name as well as `args` does.
                    let hole = match holes::hole(inner) {
                        Ok(Hole::Name {
                            default: Some(_), ..
                        })
                        | Ok(Hole::OrText { .. })
                        | Err(_) => continue,
                        Ok(hole) => hole,
                    };
                    for (name, part) in hole.names() {
                        let span = text.span(range.start + part.start..range.start + part.end);
                        self.nearly_known(name, span, env);
                    }
                }
            }
        }
    }

    /// A name that need not be declared, and is nearly one that is.
    pub(super) fn nearly_known(&mut self, name: &str, span: Span, env: &Env<'a>) {
        if env.is_known(name) || repeat_name(name).is_some() {
            return;
        }
        if let Some(near) = env.nearest(name, &HOST_NAMES, |known| is_slip(name, known)) {
            self.use_name(near, span);
            let message = format!("nothing in this file defines `{name}`");
            self.report_once(
                Diagnostic::new(&codes::UNDEFINED_VARIABLE, span, message)
                    .about(name)
                    .severity(Severity::Warning)
                    .did_you_mean(near)
                    .fix(Fix::unsafe_(format!("write `{near}`"), span, near)),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_that_stand_alone_are_found() {
        assert_eq!(
            lone("{a} {} {{b}}"),
            [Lone::Open(7..8), Lone::Close(11..12)]
        );
        assert_eq!(lone("x {a b"), [Lone::Open(2..6)]);
        assert_eq!(lone("x a} {b}"), [Lone::Close(2..4)]);
        assert_eq!(lone("{a {b}"), [Lone::Open(0..3)]);
    }
}
