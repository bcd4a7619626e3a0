//! New text in the place of old, inside of a scalar: as its style has to write it.

use super::node::{Scalar, Style, Text};
use super::scalar::{Plain, Schema, resolve};
use super::trace::Trace;
use crate::diagnostic::Edit;
use std::ops::Range;

impl Text<'_> {
    /// The edit that puts `new` in the place of a part of the text; none if the scalar cannot say
    /// that, or if nobody knows where the part is written.
    pub fn edit(&self, range: Range<usize>, new: &str) -> Option<Edit> {
        let text = self.text();
        let whole = || {
            let (before, after) = (text.get(..range.start)?, text.get(range.end..)?);
            Some(format!("{before}{new}{after}"))
        };
        let written = match self.style() {
            Style::Double => Some(escaped(new)),
            Style::Single => one_line(new).then(|| new.replace('\'', "''")),
            Style::Literal | Style::Folded => {
                // A blank of a folded text may be a line break, and what follows that is indentation.
                let breaks: &[char] = match self.style() {
                    Style::Folded => &['\n', ' '],
                    _ => &['\n'],
                };
                let before = text.get(..range.start)?;
                let begins = before.is_empty() || before.ends_with(breaks);
                let blank = whole()?.get(range.start..)?.chars().next();
                let indents = begins && blank.is_none_or(char::is_whitespace);
                let joins = text.get(range.clone())?.ends_with(breaks);
                (one_line(new) && !indents && !joins).then(|| new.to_string())
            }
            Style::Plain => {
                (one_line(new) && is_plain(text, new, &whole()?)).then(|| new.to_string())
            }
        };
        let text = written.filter(|_| self.is_traced())?;
        Some(Edit {
            span: self.span(range),
            text,
        })
    }
}

/// A text as it stands between double quotes, of JSON as well as of YAML.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.get(1..quoted.len().saturating_sub(1));
    inner.unwrap_or_default().to_string()
}

fn one_line(text: &str) -> bool {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    !text.contains(breaks)
}

/// Whether a plain scalar stays one, and stays text, when it becomes `whole`.
fn is_plain(old: &str, new: &str, whole: &str) -> bool {
    const FLOW: [char; 5] = [',', '[', ']', '{', '}'];
    // In a flow list these end it; one that holds them stands in none.
    let fits = !new.contains(FLOW) || old.contains(FLOW);
    let first = whole.chars().next().zip(old.chars().next());
    let starts = first.is_some_and(|(first, before)| {
        first == before || first.is_alphanumeric() || matches!(first, '/' | '.' | '_' | '~' | '$')
    });
    let ends = !whole.ends_with(|c: char| c == ':' || c.is_whitespace());
    let marks = [": ", " #", ":\t", "\t#"];
    let is_text = |schema| {
        let scalar = Scalar {
            text: whole,
            style: Style::Plain,
            tag: None,
            trace: Trace::Whole,
        };
        resolve(&scalar, schema) == Plain::Text
    };
    fits && starts
        && ends
        && !marks.iter().any(|mark| whole.contains(mark))
        && is_text(Schema::Yaml11)
        && is_text(Schema::Yaml12)
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Report;
    use crate::doc::yaml;
    use crate::source::SourceId;
    use bumpalo::Bump;

    /// The document after the first `old` in its `a` became `new`, if that can be said there.
    fn edited(source: &str, old: &str, new: &str) -> Option<String> {
        let arena = Bump::new();
        let value = |text| {
            let mut report = Report::default();
            let root = yaml::read(&arena, SourceId(0), text, &mut report)?;
            assert!(report.findings.is_empty(), "{text:?}: {report:?}");
            let value = root.get("a")?;
            let first = value.list().and_then(|all| all.first());
            first.unwrap_or(&value).text()
        };
        let text = value(source)?;
        let at = text.text().find(old)?;
        let edit = text.edit(at..at + old.len(), new)?;
        let mut after = source.to_string();
        after.replace_range(edit.span.range(), &edit.text);
        let meant = text.text().replacen(old, new, 1);
        let arena_text = arena.alloc_str(&after);
        assert_eq!(value(arena_text)?.text(), meant, "{after:?}");
        Some(after)
    }

    #[test]
    fn new_text_is_written_as_its_scalar_has_to() {
        let wanted = [
            ("a: x OLD y\n", "a: x 'n\"\\ y\n"),
            ("a: 'x OLD y'\n", "a: 'x ''n\"\\ y'\n"),
            ("a: \"x OLD y\"\n", "a: \"x 'n\\\"\\\\ y\"\n"),
            ("a: |\n  x OLD y\n", "a: |\n  x 'n\"\\ y\n"),
            ("a: >\n  x\n  OLD y\n", "a: >\n  x\n  'n\"\\ y\n"),
            ("a: ['x OLD']\n", "a: ['x ''n\"\\']\n"),
            ("a: [x OLD]\n", "a: [x 'n\"\\]\n"),
        ];
        for (source, after) in wanted {
            assert_eq!(edited(source, "OLD", "'n\"\\").as_deref(), Some(after));
        }
    }

    #[test]
    fn what_a_scalar_cannot_say_is_no_edit() {
        let none = [
            ("a: OLD y\n", "'n'"),
            ("a: x OLD\n", "y:"),
            ("a: x OLD\n", "y: z"),
            ("a: x OLD\n", "#z"),
            ("a: [x OLD]\n", "{n}"),
            ("a: OLDes\n", "y"),
            ("a: 'x OLD'\n", "y\nz"),
            ("a: |\n  OLD x\n", " y"),
            ("a: |\n  x\n  OLD y\n", ""),
            ("a: >\n  x\n  OLD y\n", ""),
        ];
        for (source, new) in none {
            assert_eq!(edited(source, "OLD", new), None, "{source:?} {new:?}");
        }
        assert!(edited("a: \"x OLD\"\n", "OLD", "y\nz").is_some());
        assert!(edited("a: |\n  x OLD y\n", "OLD", "").is_some());
    }
}
