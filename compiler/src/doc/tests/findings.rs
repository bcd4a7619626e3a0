//! What reading YAML says, and what it refuses.

use crate::diagnostic::{Applicability, Report};
use crate::doc::{Kind, Node, Schema, to_json, yaml};
use crate::source::SourceId;
use bumpalo::Bump;
use serde_json::{Value, json};

/// Each finding as `CODE "text it covers" message`, and the tree.
fn read(source: &str) -> (Vec<String>, Value) {
    let arena = Bump::new();
    let mut report = Report::default();
    let node = yaml::read(&arena, SourceId(0), source, &mut report);
    let said = report
        .findings
        .iter()
        .map(|found| {
            assert!(found.help.is_some(), "{found:?}");
            let written = &source[found.span.range()];
            format!("{} {written:?} {}", found.code.code, found.message)
        })
        .collect();
    let value = node.map_or(Value::Null, |node| to_json(node, Schema::Yaml12));
    (said, value)
}

fn fixed(source: &str) -> String {
    let arena = Bump::new();
    let mut report = Report::default();
    yaml::read(&arena, SourceId(0), source, &mut report);
    let mut text = source.to_owned();
    let mut edits: Vec<_> = report
        .findings
        .iter()
        .filter_map(|found| found.fix.as_ref())
        .filter(|fix| fix.applicability == Applicability::Safe)
        .flat_map(|fix| fix.edits.clone())
        .collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    for edit in edits {
        text.replace_range(edit.span.range(), &edit.text);
    }
    text
}

fn codes(source: &str) -> Vec<String> {
    let (said, _) = read(source);
    said.iter().map(|line| line[..7].to_owned()).collect()
}

#[test]
fn unquoted_holes_are_read_as_text_and_fixed() {
    for source in [
        "a: {{x}}\nb: 1\n",
        "a: {{ x.y }}\nb: 1\n",
        "a: {{x}} foo # why\nb: 1\n",
        "a: {{x}}/{{y}}\nb: 1\n",
        "a: {{x[0]}}\nb: 1\n",
        "a: {{#if x}} y {{/if}}\nb: 1\n",
        "a: {{x}}: \"q\"\nb: 1\n",
    ] {
        let (said, value) = read(source);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("RRC0013"), "{said:?}");
        let text = source[3..]
            .split(" #")
            .next()
            .unwrap()
            .lines()
            .next()
            .unwrap();
        let text = text.trim_end();
        assert_eq!(value, json!({"a": text, "b": 1}), "{source}");
        let repaired = fixed(source);
        let (said, again) = read(&repaired);
        assert!(said.is_empty(), "{repaired}: {said:?}");
        assert_eq!(again, value);
    }
    let (said, value) = read("- {{x}}\n- [{{y}}, 1]\n- {{z}} z\n");
    assert_eq!(said.len(), 3, "{said:?}");
    assert_eq!(value, json!(["{{x}}", ["{{y}}", 1], "{{z}} z"]));
    assert!(codes("a: { {x: 1}: 2}\n").is_empty());
    let (said, value) = read("a: {{x}} y\n  goes on\nb: 1\n");
    assert_eq!(said.len(), 1);
    assert_eq!(value, json!({"a": "{{x}} y goes on", "b": 1}));
    assert_eq!(fixed("a: {{x}} y\n  goes on\n"), "a: {{x}} y\n  goes on\n");
}

#[test]
fn reading_goes_on_behind_a_mistake_in_a_line() {
    let (said, value) = read(
        "a: @x\nb: foo: bar\nc: 'q' r\nd: [ -f x ] && y\ne: `z`\nf: {{g}} h\ni: *.py\nlast: 1\n",
    );
    assert_eq!(
        said,
        [
            "RRC0004 \"@x\" unquoted text cannot begin with `@`",
            "RRC0004 \":\" a `:` stands in unquoted text",
            "RRC0004 \"r\" text stands behind the closing quote",
            "RRC0004 \"&& y\" text stands behind a list that has ended",
            "RRC0004 \"`z`\" unquoted text cannot begin with ```",
            "RRC0013 \"{{g}} h\" `{{g}} h` without quotes reads as a YAML map",
            "RRC0004 \"*.py\" nothing above is anchored as `&.py`",
        ]
    );
    assert_eq!(value["b"], "foo: bar");
    assert_eq!(value["d"], "[ -f x ] && y");
    assert_eq!(value["last"], 1);
}

#[test]
fn syntax_errors_are_said_once_and_at_their_place() {
    let cases = [
        (
            "a:\n\tb: 1\n",
            "RRC0004 \"\\t\" a tab is used as indentation",
        ),
        (
            "a: |\n\tx\n",
            "RRC0004 \"\\t\" a tab is used as indentation",
        ),
        (
            "a: \"foo\nb: 1\n",
            "RRC0004 \"\\\"\" this `\"` is never closed",
        ),
        (
            "x: 'y'\na: 'foo\n",
            "RRC0004 \"'\" this `'` is never closed",
        ),
        (
            "- x # it's\n- \"y\n",
            "RRC0004 \"\\\"\" this `\"` is never closed",
        ),
        ("a: [1, 2\nb: 1\n", "RRC0004 \"[\" this `[` is never closed"),
        (
            "a: {b: [1, 2}\n",
            "RRC0004 \"[\" this `[` is closed by a `}`",
        ),
        (
            "a: [1]]\n",
            "RRC0004 \"]\" this bracket closes nothing that is open",
        ),
        ("a: {x: 1\n", "RRC0004 \"{\" this `{` is never closed"),
        ("a: {x: 1 [}\n", "RRC0004 \"[\" expected `,` or `}`"),
        (
            "a: b\n  c: d\n",
            "RRC0004 \":\" a `:` stands in text that began on an earlier line",
        ),
        (
            "a:\n  b: 1\n c: 2\n",
            "RRC0004 \"c\" this line is indented differently from its neighbours",
        ),
        (
            " a: 1\nb: 2\n",
            "RRC0004 \"b\" this line is indented differently from its neighbours",
        ),
        (
            "s:\n  - id: a\n  command: b\n",
            "RRC0004 \"c\" this line stands in a list but is not an item",
        ),
        (
            "foo: bar\n- baz\n",
            "RRC0004 \"-\" a list item stands among the fields of a map",
        ),
        (
            "a: - b\n",
            "RRC0004 \"-\" a list item with `-` cannot begin here",
        ),
        (
            "a: \"x\\qy\"\n",
            "RRC0004 \"\\\\q\" `\\q` is not an escape in double quotes",
        ),
        ("a: |\nhello\n", "RRC0004 \"hello\" this line has no `:`"),
        (
            "a: |x\n  y\n",
            "RRC0004 \"|\" text stands on the line of `|` or `>`",
        ),
        (
            "a: &x [*x]\n",
            "RRC0004 \"*x\" `*x` stands inside the value it names",
        ),
        (
            "a: \u{1}\n",
            "RRC0004 \"\\u{1}\" `\\u{1}` cannot stand here",
        ),
    ];
    for (source, expected) in cases {
        let (said, _) = read(source);
        assert_eq!(said, [expected], "{source:?}");
    }
}

#[test]
fn what_every_reader_takes_is_taken() {
    let (said, value) = read(
        "a:\n  b: \"x\ny {{z}} \\u00e9\"\n  c: 'q''\n\tr' # why\n  d: \"e\"# tight\n  f: [1,#x\n    2]\n  g: # it's\n    - \"h\n 'i'\"\n",
    );
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(
        value,
        json!({"a": {"b": "x y {{z}} é", "c": "q' r", "d": "e", "f": [1, 2], "g": ["h 'i'"]}})
    );
    let many = "  - \"x\ny\"\n".repeat(100);
    assert_eq!(codes(&format!("a:\n{many}")), ["RRC0004"]);
}

#[test]
fn what_stands_before_an_error_is_kept() {
    let arena = Bump::new();
    let mut report = Report::default();
    let source = "name: x\nsteps:\n  - id: a\n  - id: b\n    run: \"c\nend: 1\n";
    let root = yaml::read(&arena, SourceId(0), source, &mut report).unwrap();
    assert!(root.partial);
    let steps = root.get("steps").unwrap();
    assert!(steps.partial);
    let items = steps.list().unwrap();
    assert!(!items[0].partial);
    assert!(items[1].partial);
    assert!(items[1].get("run").is_some_and(|node| node.is_broken()));
    assert_eq!(items[1].get("id").unwrap().text().unwrap().text(), "b");
}

#[test]
fn duplicate_keys() {
    let (said, value) = read("a: 1\n\"a\": 2\nb: {c: 1, c: 2}\n");
    assert_eq!(
        said,
        [
            "RRC0008 \"c\" `c` stands twice in one map",
            "RRC0008 \"a\" `a` stands twice in one map",
        ]
    );
    assert_eq!(value, json!({"a": 1, "b": {"c": 1}}));
    let many: String = (0..50_000)
        .map(|i| format!("k{}: 1\n", i % 25_000))
        .collect();
    assert_eq!(codes(&many).len(), crate::doc::MAX_FINDINGS);
}

#[test]
fn merges_apply_and_explicit_keys_win() {
    let (said, value) = read(
        "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\none:\n  <<: *b\n  x: 9\ntwo:\n  <<: [*m, *b]\nquoted:\n  '<<': 1\nchain:\n  <<: {<<: *b, w: 0}\n",
    );
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(value["one"], json!({"y": 2, "x": 9}));
    assert_eq!(value["two"], json!({"y": 3, "z": 4, "x": 1}));
    assert_eq!(value["quoted"], json!({"<<": 1}));
    assert_eq!(value["chain"], json!({"x": 1, "y": 2, "w": 0}));
    let (said, _) = read("a:\n  <<: 5\n  b: 1\n");
    assert_eq!(said, ["RRC0011 \"5\" `<<` takes a map or a list of maps"]);
    assert_eq!(codes("a:\n  <<: [{b: 1}, x]\n"), ["RRC0011"]);
    assert_eq!(codes("a:\n  <<: *no\n"), ["RRC0004"]);
}

#[test]
fn a_billion_laughs_cost_nothing() {
    let mut source = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..=20 {
        let inner = vec![format!("*a{}", level - 1); 9].join(", ");
        source.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    assert_eq!(codes(&source), ["RRC0007"]);
    let mut merges = String::from("a0: &a0 {k0: 1, k1: 2, k2: 3, k3: 4}\n");
    for level in 1..=5000 {
        merges.push_str(&format!(
            "a{level}: &a{level} {{<<: *a{}, n{level}: 1}}\n",
            level - 1
        ));
    }
    assert_eq!(codes(&merges), ["RRC0007"]);
    assert!(codes("a: &x {k: v}\nb: *x\nc: *x\nd: [*x, *x, *x]\n").is_empty());
}

#[test]
fn aliases_cannot_make_a_tree_deeper_than_the_limit() {
    let nest =
        |inner: &str, depth: usize| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
    let source = format!(
        "a: &a {}\nb: &b {}\nc: {}\n",
        nest("1", 30),
        nest("*a", 30),
        nest("*b", 30)
    );
    assert_eq!(codes(&source), ["RRC0006"]);
}

#[test]
fn depth() {
    let nest = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(codes(&nest(64)).is_empty());
    assert_eq!(codes(&nest(65)), ["RRC0006"]);
    assert_eq!(codes(&"[".repeat(1_000_000)), ["RRC0006"]);
    assert_eq!(codes(&"{".repeat(1_000_000)), ["RRC0006"]);
    assert_eq!(codes(&"- ".repeat(500_000)), ["RRC0006"]);
    assert_eq!(codes(&"? ".repeat(500_000)), ["RRC0006"]);
    assert_eq!(codes(&"a: [".repeat(250_000)).len(), 1);
    let block: String = (0..65)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    assert_eq!(codes(&block), ["RRC0006"]);
}

#[test]
fn size_documents_and_emptiness() {
    assert_eq!(codes(&"a".repeat(1_000_001)), ["RRC0003"]);
    assert!(codes(&format!("a: {}", "x".repeat(999_997))).is_empty());
    let (said, value) = read("a: 1\n---\nb: 2\n");
    assert_eq!(said, ["RRC0009 \"---\" a second document begins here"]);
    assert_eq!(value, json!({"a": 1}));
    assert!(codes("---\na: 1\n...\n").is_empty());
    for source in ["", "\n\n", "# only a comment\n", "---\n", "\u{feff}"] {
        assert_eq!(codes(source), ["RRC0010"], "{source:?}");
    }
    let (said, value) = read("\u{feff}a: 1\n");
    assert!(said.is_empty());
    assert_eq!(value, json!({"a": 1}));
}

#[test]
fn unreadable_bytes_have_a_place() {
    assert_eq!(
        crate::doc::read_bytes(b"abc".to_vec()),
        ("abc".to_owned(), None)
    );
    let (text, at) = crate::doc::read_bytes(b"ab\xffc".to_vec());
    assert_eq!(at, Some(2));
    assert!(text.starts_with("ab"));
}

#[test]
fn quoting_reads_back() {
    for text in [
        "{{x}}",
        "a \"b\" 'c'",
        "back\\slash",
        "tab\tnew\nline",
        "😀",
        "",
        "\u{7f}\u{85}",
    ] {
        let arena = Bump::new();
        let mut report = Report::default();
        let source = format!("a: {}", crate::doc::quoted(text));
        let root: Node<'_> = yaml::read(&arena, SourceId(0), &source, &mut report).unwrap();
        assert!(matches!(root.kind, Kind::Map(_)));
        assert_eq!(root.get("a").unwrap().text().unwrap().text(), text);
    }
}
