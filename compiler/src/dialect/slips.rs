//! Slips of the hand that leave a file YAML can read.
//!
//! Warnings: the text may be meant as it stands, though hardly anybody writes it so.

use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix, Report};
use crate::doc::{Entry, Kind, Node, Style, Text};
use crate::ir::{Step, visit};
use crate::shell;
use crate::source::Span;
use memchr::{memchr, memrchr2};
use rustc_hash::FxHashSet;

/// Looks at every value of a recipe.
pub fn check(node: Node<'_>, report: &mut Report) {
    match node.kind {
        Kind::Map(entries) => entries.iter().for_each(|entry| value(entry, report)),
        Kind::List(items) => items.iter().for_each(|item| {
            stray_quote(*item, report);
            check(*item, report);
        }),
        Kind::Scalar(_) | Kind::Broken => {}
    }
}

fn value(entry: &Entry<'_>, report: &mut Report) {
    match entry.name() {
        // What reads these says itself what a quote in them does.
        Some("condition" | "foreach" | "while_condition" | "break_when" | "until") => {}
        Some("command") => lines_become_one(entry.value, report),
        _ => stray_quote(entry.value, report),
    }
    check(entry.value, report);
}

/// `agent: reviewer"`: a value that ends with a quote it does not begin with.
fn stray_quote(node: Node<'_>, report: &mut Report) {
    let Some(scalar) = node.scalar().filter(|scalar| scalar.style == Style::Plain) else {
        return;
    };
    let Some((before, quote)) = scalar.text.split_at_checked(scalar.text.len().max(1) - 1) else {
        return;
    };
    let is_quote = match quote {
        // `5"` is a length.
        "\"" => !before.ends_with(|c: char| c.is_ascii_digit()),
        // The teams' is English.
        "'" => !before.contains(' '),
        _ => false,
    };
    let Some(text) = node.text().filter(|_| is_quote && !before.contains(quote)) else {
        return;
    };
    let place = text.span(before.len()..scalar.text.len());
    let message = format!("this `{quote}` closes nothing, so it is part of the value");
    let finding = Diagnostic::new(&codes::STRAY_QUOTE, place, message);
    report.add(
        finding
            .help(format!(
                "begin the value with `{quote}` as well, or remove this one"
            ))
            .fix(Fix {
                applicability: Applicability::Unsafe,
                message: "remove it".to_string(),
                edits: vec![Edit {
                    span: place,
                    text: String::new(),
                }],
            }),
    );
}

/// Commands on lines of their own, in a text that YAML makes one line of.
fn lines_become_one(node: Node<'_>, report: &mut Report) {
    let folds = |style: Style| style != Style::Literal;
    let Some(text) = node.text().filter(|_| {
        node.scalar()
            .is_some_and(|scalar| folds(scalar.style) && scalar.text.contains(' '))
    }) else {
        return;
    };
    let mut quotes = [false; 2];
    for (at, byte) in text.text().bytes().enumerate() {
        match byte {
            b'"' => quotes[0] = !quotes[0],
            b'\'' => quotes[1] = !quotes[1],
            _ => {}
        }
        if byte != b' ' || quotes.contains(&true) {
            continue;
        }
        let rest = &text.text()[at + 1..];
        let word = &rest[..rest.find([' ', '\n', ';']).unwrap_or(rest.len())];
        let before = text.text()[..at].trim_end();
        let goes_on = before.ends_with(['\\', '|', '&', ';', '(', '{', '!', '=', '\'', '"'])
            || ["then", "do", "else", "if", "while", "until", "elif"]
                .iter()
                .any(|word| before.ends_with(word));
        if goes_on || !shell::is_builtin(word) {
            continue;
        }
        // Where a line ended, one blank stands for its break and for what indents the next.
        let start = |at: usize| text.span(at..at + 1).range().start;
        if start(at + 1) - start(at) < 2 {
            continue;
        }
        let message = format!("YAML makes one line of these: `{word}` is an argument here");
        report.add(
            Diagnostic::new(
                &codes::LINES_BECOME_ONE,
                text.span(at + 1..at + 1 + word.len()),
                message,
            )
            .help("begin the text with `|` behind `command:`, so that its lines stay lines"),
        );
        return;
    }
}

/// How far back a brace is looked for that such a text closes.
const NEAR: usize = 400;

/// A place where `{name}}` is written.
pub struct Half {
    pub name: String,
    pub span: Span,
}

/// Finds `{name}}`, of which one brace may have been lost.
pub fn halves(written: Text<'_>, found: &mut Vec<Half>) {
    let text = written.text();
    let mut at = 0;
    while let Some(close) = memchr(b'}', &text.as_bytes()[at..]).map(|found| at + found) {
        if !text[close..].starts_with("}}") {
            at = close + 1;
            continue;
        }
        at = close + 2;
        let Some(open) = memrchr2(b'{', b'}', &text.as_bytes()[..close]) else {
            continue;
        };
        let (before, name) = (&text[..open], &text[open + 1..close]);
        let whole = text[open..].starts_with('{')
            && !before.ends_with(['{', '$', '\\'])
            && !text[close + 2..].starts_with('}');
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !whole || name.is_empty() || !name.chars().all(is_name) {
            continue;
        }
        // The last of two braces that close may close one that was opened before.
        let near = &before.as_bytes()[open.saturating_sub(NEAR)..];
        let line = near.rsplit(|byte| *byte == b'\n').next().unwrap_or(near);
        let count = |brace: u8| line.iter().filter(|byte| **byte == brace).count();
        if count(b'{') == count(b'}') {
            found.push(Half {
                name: name.to_string(),
                span: written.span(open..close + 2),
            });
        }
    }
}

/// Says those that name a variable.
pub fn say_halves<'n>(
    found: &[Half],
    inputs: impl Iterator<Item = &'n str>,
    steps: &[Step],
    report: &mut Report,
) {
    if found.is_empty() {
        return;
    }
    let mut names: FxHashSet<&str> = inputs.collect();
    for step in steps {
        visit::steps(step, &mut |step| {
            names.extend(step.bind.iter().map(|bind| bind.name.as_str()));
        });
    }
    for half in found.iter().filter(|half| names.contains(&*half.name)) {
        let name = &half.name;
        let message = format!("`{{{name}}}}}` is not a hole and stays as it is written");
        let meant = format!("{{{{{name}}}}}");
        report.add(
            Diagnostic::new(&codes::NOT_A_HOLE, half.span, message)
                .help(format!("one opening brace is missing: write `{meant}`"))
                .fix(Fix::unsafe_(format!("write `{meant}`"), half.span, meant)),
        );
    }
}
