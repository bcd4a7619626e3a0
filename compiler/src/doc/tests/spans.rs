//! Every style of scalar, in every kind of company: the place of a byte is the place it was written.

use crate::diagnostic::Report;
use crate::doc::{Kind, Node, Style, Text, yaml};
use crate::source::SourceId;
use bumpalo::Bump;

/// The text that every sample holds once.
const WORD: &str = "usre";

fn texts<'a>(node: Node<'a>, out: &mut Vec<(Style, Text<'a>)>) {
    match node.kind {
        Kind::Scalar(scalar) => {
            if let Some(text) = node.text() {
                out.push((scalar.style, text));
            }
        }
        Kind::List(items) => items.iter().for_each(|item| texts(*item, out)),
        Kind::Map(entries) => entries.iter().for_each(|entry| {
            texts(entry.key, out);
            texts(entry.value, out);
        }),
        Kind::Broken => {}
    }
}

fn samples() -> Vec<(Style, &'static str)> {
    vec![
        (Style::Plain, "a: echo {{usre}} x\n"),
        (Style::Plain, "a: echo\n  {{usre}}\n\n  x\n"),
        (Style::Plain, "- echo\n  a\tb {{usre}}\n"),
        (Style::Plain, "a: [x, echo usre]\n"),
        (Style::Single, "a: 'it''s {{usre}} ''x'''\n"),
        (Style::Single, "a: 'one  \n   two\n\n   {{usre}}'\n"),
        (Style::Double, "a: \"{{usre}}\"\n"),
        (
            Style::Double,
            "a: \"\\\"q\\\" \\t\\x41\\u00e9\\U0001F600\\uD83D\\uDE00 \\\\ {{usre}}\\n\"\n",
        ),
        (
            Style::Double,
            "a: \"one\n  two \\\n  \\ three\n\n  {{usre}}\"\n",
        ),
        (
            Style::Double,
            "a: \"\\0\\a\\b\\e\\f\\v\\r\\N\\_\\L\\P\\/ {{usre}}\"\n",
        ),
        (Style::Double, "a: \"x \\\n\n  y {{usre}}\"\n"),
        (Style::Double, "a: \"one\n{{usre}} \\x41\"\n"),
        (Style::Single, "s:\n  - a: 'one\n  ''{{usre}}'\n"),
        (Style::Literal, "a: |\n  echo {{usre}}\n"),
        (
            Style::Literal,
            "a: |\n  one\n   two\n\n  \n    {{usre}}\n\n",
        ),
        (Style::Literal, "a: |2-\n    one\n  {{usre}}\n"),
        (Style::Literal, "a: |+\n\n \n  one {{usre}}\n\n\n"),
        (Style::Literal, "a: |-\n  one\n  \ttab {{usre}}"),
        (Style::Literal, "s:\n- a: |\n   x\n   y {{usre}}\n- b\n"),
        (Style::Folded, "a: >\n  one\n  two\n  {{usre}} x\n"),
        (
            Style::Folded,
            "a: >-\n\n  one\n\n  two\n   more\n\n   more\n  {{usre}}\n",
        ),
        (Style::Folded, "a: >1+\n  one\n  {{usre}}\n\n\n two\n\n"),
        (
            Style::Folded,
            "a: >\n  one\n\n\n  two\n  \ttab\n  {{usre}}\n",
        ),
    ]
}

fn holds(style: Style, source: &str) {
    let arena = Bump::new();
    let mut report = Report::default();
    let node = yaml::read(&arena, SourceId(3), source, &mut report);
    assert!(
        report.findings.is_empty(),
        "{source:?}: {:?}",
        report.findings
    );
    let mut found = Vec::new();
    texts(node.unwrap(), &mut found);
    let mut seen = 0;
    for (of, text) in found {
        assert!(text.is_traced(), "{source:?}: {:?}", text.text());
        assert!(source.get(text.whole().range()).is_some());
        if let Some(at) = text.text().find(WORD) {
            assert_eq!(of, style, "{source:?}");
            let span = text.span(at..at + WORD.len());
            assert_eq!(&source[span.range()], WORD, "{source:?}");
            let empty = text.span(at..at);
            assert_eq!((empty.start, empty.end), (span.start, span.start));
            seen += 1;
        }
        // Each character is written somewhere inside the scalar, in order.
        let mut before = 0;
        for (at, c) in text.text().char_indices() {
            let span = text.span(at..at + c.len_utf8());
            assert!(span.start >= before, "{source:?} {c:?}");
            let written = source.get(span.range());
            assert!(written.is_some(), "{source:?} {c:?}");
            if c.is_ascii_alphanumeric() && written != Some(c.to_string().as_str()) {
                assert!(
                    written.is_some_and(|text| text.starts_with('\\')),
                    "{source:?} {c:?}"
                );
            }
            before = span.start;
        }
    }
    assert!(seen > 0, "{source:?}");
}

#[test]
fn all_styles_are_traced() {
    for (style, source) in samples() {
        holds(style, source);
    }
}

#[test]
fn carriage_returns_do_not_move_anything() {
    for (style, source) in samples() {
        holds(style, &source.replace('\n', "\r\n"));
    }
}

#[test]
fn wide_characters_and_tabs_before_do_not_move_anything() {
    for (style, source) in samples() {
        holds(style, &format!("# 😀é\n{source}"));
        holds(style, &format!("\u{feff}# 😀\t𝄞\n{source}"));
        if !source.contains("one") {
            holds(style, &source.replace("echo", "😀\té𝄞"));
        }
    }
}

#[test]
fn anchored_values_point_at_the_anchored_text() {
    for (style, source) in samples() {
        let nested = source
            .replacen("a: ", "a: &x ", 1)
            .replacen("- echo", "- &x echo", 1);
        let source = match nested.starts_with('-') {
            true => format!("{nested}- *x\n"),
            false if nested.starts_with("s:") => nested,
            false if nested.ends_with('\n') => format!("{nested}again: *x\nlist: [*x]\n"),
            false => nested,
        };
        holds(style, &source);
    }
}

#[test]
fn keys_and_nodes_have_exact_spans() {
    let source = "steps:\n  - \"id\": 'one'\n    list: [1, {a: b}]\n    none:\n    text: |\n      x\n\n\nend: 1\n";
    let arena = Bump::new();
    let mut report = Report::default();
    let root = yaml::read(&arena, SourceId(0), source, &mut report).unwrap();
    let written = |node: Node<'_>| source[node.span.range()].to_owned();
    let steps = root.get("steps").unwrap();
    let step = steps.list().unwrap()[0];
    assert_eq!(
        written(step),
        "\"id\": 'one'\n    list: [1, {a: b}]\n    none:\n    text: |\n      x"
    );
    let id = step.map().unwrap()[0];
    assert_eq!(written(id.key), "\"id\"");
    assert_eq!(&source[id.key.text().unwrap().inner().range()], "id");
    assert_eq!(&source[id.value.text().unwrap().inner().range()], "one");
    assert_eq!(written(step.get("list").unwrap()), "[1, {a: b}]");
    let none = step.get("none").unwrap();
    assert_eq!(none.span.start, none.span.end);
    assert!(source[..none.span.start as usize].ends_with("none:"));
    assert_eq!(written(step.get("text").unwrap()), "x");
}

#[test]
fn escapes_are_covered_whole() {
    let source = "a: \"x\\u00e9y\"";
    let arena = Bump::new();
    let mut report = Report::default();
    let root = yaml::read(&arena, SourceId(0), source, &mut report).unwrap();
    let text = root.get("a").unwrap().text().unwrap();
    assert_eq!(text.text(), "xéy");
    assert_eq!(&source[text.span(1..3).range()], "\\u00e9");
    assert_eq!(&source[text.span(2..3).range()], "\\u00e9");
    assert_eq!(&source[text.span(0..2).range()], "x\\u00e9");
    assert_eq!(&source[text.span(3..99).range()], "y");
    assert_eq!(text.span(4..4).start, 12);
}
