//! Slips of the hand that leave a file YAML can read.
//!
//! Warnings: the text may be meant as it stands, though hardly anybody writes it so.

use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix, Report};
use crate::doc::{Entry, Kind, Node, Style};
use crate::shell;

/// Looks at every value of a recipe. `wanted` says of a name whether it is read and nothing sets it.
pub fn check(node: Node<'_>, wanted: &dyn Fn(&str) -> bool, report: &mut Report) {
    match node.kind {
        Kind::Map(entries) => entries.iter().for_each(|entry| {
            value(entry, wanted, report);
            field_in_text(entries, entry, wanted, report);
        }),
        Kind::List(items) => items.iter().for_each(|item| {
            stray_quote(*item, report);
            check(*item, wanted, report);
        }),
        Kind::Scalar(_) | Kind::Broken => {}
    }
}

fn value(entry: &Entry<'_>, wanted: &dyn Fn(&str) -> bool, report: &mut Report) {
    match entry.name() {
        // What reads these says itself what a quote in them does.
        Some("condition" | "foreach" | "while_condition" | "break_when" | "until") => {}
        Some("command") => lines_become_one(entry.value, report),
        _ => stray_quote(entry.value, report),
    }
    check(entry.value, wanted, report);
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
        // `5"` is a length; `1.2.0"` is none.
        "\"" => {
            let last = before.rsplit(' ').next().unwrap_or_default();
            last.parse::<f64>().is_err()
        }
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
    // A line that has become part of another was longer by its indentation.
    if text.inner().range().len() == text.text().len() {
        return;
    }
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

/// A field with one blank too many before it becomes the last line of the text above it.
fn field_in_text(
    step: &[Entry<'_>],
    entry: &Entry<'_>,
    wanted: &dyn Fn(&str) -> bool,
    report: &mut Report,
) {
    let is_work = entry.is("command") || entry.is("prompt");
    let block = |style: Style| matches!(style, Style::Literal | Style::Folded);
    let scalar = entry.value.scalar();
    let Some(text) = entry
        .value
        .text()
        .filter(|_| is_work && scalar.is_some_and(|scalar| block(scalar.style)))
    else {
        return;
    };
    let written = text.text().trim_end();
    let start = written.rfind('\n').map_or(0, |at| at + 1);
    let Some((name, value)) = written[start..].split_once(": ") else {
        return;
    };
    let says = says_field(name, value.trim(), wanted);
    if start == 0 || !says || step.iter().any(|entry| entry.is(name)) {
        return;
    }
    let place = text.span(start..start + name.len());
    let above = entry.name().unwrap_or_default();
    let message = format!("`{name}` is the last line of `{above}` here, not a field of the step");
    report.add(
        Diagnostic::new(&codes::FIELD_IN_TEXT, place, message).help(format!(
            "indent it as `{above}` is, if it is meant for the step"
        )),
    );
}

/// Whether a line says what only a field of a step would say.
fn says_field(name: &str, value: &str, wanted: &dyn Fn(&str) -> bool) -> bool {
    let bare = value.trim_matches(['"', '\'']);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match name {
        "output" | "collect" | "output_exit_code" => {
            let quoted = bare.len() + 2 == value.len();
            !bare.is_empty()
                && bare.chars().all(is_name)
                && (quoted || bare.contains('_') || wanted(bare))
        }
        "parse_json" | "parse_json_required" | "continue_on_error" => {
            matches!(bare, "true" | "false")
        }
        "timeout" | "max_iterations" => value.parse::<f64>().is_ok(),
        "on_error" => matches!(bare, "fail" | "continue" | "skip_remaining"),
        _ => false,
    }
}
