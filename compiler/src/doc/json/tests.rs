use super::*;

fn said(text: &str) -> Vec<String> {
    let arena = Bump::new();
    let mut report = Report::default();
    read(&arena, SourceId(0), text, &mut report);
    let show = |found: &Diagnostic| {
        let written = &text[found.span.range()];
        format!("{} {written:?} {}", found.code.code, found.message)
    };
    report.findings.iter().map(show).collect()
}

#[test]
fn one_finding_per_mistake() {
    let cases: &[(&str, &[&str])] = &[
        (
            "[1, 2,]",
            &["RRC0005 \",\" a comma stands before the closing `]`"],
        ),
        ("[1 2]", &["RRC0005 \"2\" expected `,` or `]`, found `2`"]),
        ("{'a': 1}", &["RRC0005 \"'a'\" JSON has no single quotes"]),
        (
            "{a: 1, \"b\": 01}",
            &[
                "RRC0005 \"a\" expected a key in double quotes, found `a`",
                "RRC0005 \"01\" `01` is not a JSON number",
            ],
        ),
        (
            "{\"a\" 1, \"b\": }",
            &[
                "RRC0005 \"1\" expected `:` behind the key, found `1`",
                "RRC0005 \"}\" expected a value, found `}`",
            ],
        ),
        (
            "[1, {\"a\": 2]",
            &["RRC0005 \"]\" expected `,` or `}`, found `]`"],
        ),
        ("[1, 2", &["RRC0005 \"[\" this `[` is never closed"]),
        ("[1}", &["RRC0005 \"}\" expected `,` or `]`, found `}`"]),
        ("[}", &["RRC0005 \"}\" expected a value, found `}`"]),
        (
            "[1] x",
            &["RRC0005 \"x\" text stands behind the end of the value"],
        ),
        (
            "[\"a\\q\"]",
            &["RRC0005 \"\\\\q\" JSON has no escape `\\q`"],
        ),
        (
            "[\"a]",
            &["RRC0005 \"\\\"\" this `\"` is never closed on its line"],
        ),
        (
            "[\"x\\ud800y\"]",
            &["RRC0005 \"\\\\ud800\" `\\ud800` is half of a character"],
        ),
        (
            "{\"a\": 1, \"a\": 2}",
            &["RRC0008 \"a\" `a` stands twice in one map"],
        ),
        (
            "[\"a\", \"b\": 1, \"c\": 2, \"d\": [3 4]]",
            // What follows in the same list may be wrong for the same reason.
            &["RRC0005 \":\" expected `,` or `]`, found `:`"],
        ),
        (
            "{\"a\", \"b\", \"c\"}",
            &["RRC0005 \",\" expected `:` behind the key, found `,`"],
        ),
        ("", &["RRC0010 \"\" the file is empty"]),
        (
            "1e999",
            &["RRC0005 \"1e999\" the number `1e999` is too large"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(&said(text), expected, "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    let nest = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(said(&nest(64)).is_empty());
    assert_eq!(said(&nest(65)).len(), 1);
    let flood = said(&"[".repeat(1_000_000));
    assert!(flood[0].starts_with("RRC0006"));
    assert_eq!(flood.len(), 1);
}

#[test]
fn escapes_map_to_what_was_written() {
    let text = r#"{"cmd": "a\n\u00e9\ud83d\ude00 {{usre}} \"q\""}"#;
    let arena = Bump::new();
    let mut report = Report::default();
    let root = read(&arena, SourceId(0), text, &mut report).unwrap();
    let value = root.get("cmd").unwrap().text().unwrap();
    let at = value.text().find("usre").unwrap();
    assert_eq!(&text[value.span(at..at + 4).range()], "usre");
    let at = value.text().find('😀').unwrap();
    assert_eq!(&text[value.span(at..at + 4).range()], r"\ud83d\ude00");
}
