//! Laws of reading: nothing panics, and what is read is what others read.

use crate::diagnostic::{Applicability, Report};
use crate::dice::Dice;
use crate::doc::{Kind, Node, Schema, json, quick, to_json, yaml};
use crate::source::SourceId;
use bumpalo::Bump;
use serde_json::Value;

const SAMPLES: &[&str] = &[
    "name: demo\nversion: 1.0.0\ncontext:\n  user: ada\nsteps:\n  - id: one\n    command: |\n      echo {{user}}\n       more\n\n      end\n    timeout: 5\n  - id: two\n    prompt: >-\n      fold\n      this\n\n       keep\n",
    "base: &b {x: 1, 'y': \"two\\n\\u00e9\"}\none:\n  <<: *b\n  z: [1, 2.5, ~, yes]\nlist: [*b, {a: *b}]\n",
    "a: {{x}}\nb: {{y}} foo\nc: 'it''s'\nd: \"a\n  b \\\n  c\"\ne: plain\n  goes on\n",
    "# 😀\n? [complex, key]\n: - value\n  - !!str 5\n  - !tag {a: b}\n",
    "---\na: |2+\n    x\n  y\n\nb: >1\n  z\n...\n",
];

const PIECES: &[&str] = &[
    "{{", "}}", "{", "}", "[", "]", ":", ": ", "- ", "-", "\n", "\r\n", "\t", " ", "  ", "\"", "'",
    "|", ">", "|2", "&a ", "*a", "<<: *a", "!", "!!str ", "# c", "%", "@", "`", "---\n", "...\n",
    "?", ",", "\\", "\\u12", "😀", "é", "\u{feff}", "\0", "\u{85}", "\u{2028}", "x", "0", "~",
];

fn mutate(dice: &mut Dice, sample: &str) -> String {
    let mut text = sample.to_owned();
    for _ in 0..1 + dice.below(4) {
        let at = text.floor_char_boundary(dice.below(text.len() + 1));
        match dice.below(4) {
            0 => text.insert_str(at, dice.pick(PIECES)),
            1 => {
                let end = text.floor_char_boundary((at + dice.below(8)).min(text.len()));
                text.replace_range(at..end.max(at), "");
            }
            2 => {
                let end = text.floor_char_boundary((at + dice.below(30)).min(text.len()));
                let copy = text[at..end.max(at)].to_owned();
                let to = text.floor_char_boundary(dice.below(text.len() + 1));
                text.insert_str(to, &copy);
            }
            _ => {
                let end = text.floor_char_boundary((at + 1).min(text.len()));
                text.replace_range(at..end.max(at), dice.pick(PIECES));
            }
        }
    }
    text
}

/// Walks everything that can be asked of a tree.
fn probe(node: Node<'_>, source: &str) {
    assert!(source.get(node.span.range()).is_some(), "{source:?}");
    match node.kind {
        Kind::Scalar(_) => {
            let text = node.text().unwrap();
            for (at, c) in text.text().char_indices() {
                let span = text.span(at..at + c.len_utf8());
                assert!(source.get(span.range()).is_some(), "{source:?}");
            }
        }
        Kind::List(items) => items.iter().for_each(|item| probe(*item, source)),
        Kind::Map(entries) => entries.iter().for_each(|entry| {
            probe(entry.key, source);
            probe(entry.value, source);
        }),
        Kind::Broken => {}
    }
}

fn survives(source: &str) {
    for read in [yaml::read, json::read] {
        let arena = Bump::new();
        let mut report = Report::default();
        let node = read(&arena, SourceId(0), source, &mut report);
        assert!(node.is_some() || report.has_errors(), "{source:?}");
        for found in &report.findings {
            assert!(
                source.get(found.span.range()).is_some(),
                "{source:?} {found:?}"
            );
            for label in &found.labels {
                assert!(
                    source.get(label.span.range()).is_some(),
                    "{source:?} {found:?}"
                );
            }
            for edit in found.fix.iter().flat_map(|fix| &fix.edits) {
                assert!(
                    source.get(edit.span.range()).is_some(),
                    "{source:?} {found:?}"
                );
            }
        }
        if let Some(node) = node {
            probe(node, source);
            to_json(node, Schema::Yaml11);
        }
    }
}

#[test]
fn no_text_panics_the_readers() {
    let mut dice = Dice(0x5eed);
    for round in 0..6000 {
        let sample = SAMPLES[round % SAMPLES.len()];
        survives(&mutate(&mut dice, sample));
    }
    for _ in 0..3000 {
        let length = dice.below(40);
        survives(&(0..length).map(|_| dice.pick(PIECES)).collect::<String>());
    }
    for _ in 0..2000 {
        let length = dice.below(60);
        let bytes = (0..length).map(|_| dice.roll() as u8).collect();
        survives(&crate::doc::read_bytes(bytes).0);
    }
}

#[test]
fn safe_fixes_remove_their_findings_and_add_none() {
    let holes = [
        "a: {{x}}\nb: [{{y}}, 1]\nc: {{z}} \"q\" 'r' # s\nd: @e\nlist:\n  - {{f}}/g\n  - h: `i`\n",
        "a: {{x}} y\n  goes on\nb:\n  - {{x}} z\n    on\n  - - @c\n\n     # no\n  - d: {{e}} f\n    g: 1\n",
        "steps:\n  - command: {{x}} --y {{z}}\n    cwd: {{dir}}\n  - id: %a\n    env: {K: {{v}}}\n",
    ];
    let mut dice = Dice(0xf1c5);
    let mut applied = 0;
    for round in 0..4000 {
        let sample = holes[round % holes.len()];
        let source = if round < holes.len() {
            sample.to_owned()
        } else {
            mutate(&mut dice, sample)
        };
        let look = |text: &str| {
            let mut report = Report::default();
            yaml::read(&Bump::new(), SourceId(0), text, &mut report);
            report.findings
        };
        let found = look(&source);
        let Some(fix) = found
            .iter()
            .filter_map(|found| found.fix.as_ref())
            .find(|fix| fix.applicability == Applicability::Safe)
        else {
            continue;
        };
        let mut text = source.clone();
        for edit in &fix.edits {
            text.replace_range(edit.span.range(), &edit.text);
        }
        let left = look(&text);
        // A finding behind one that stopped the reading may come to light, but never at the place
        // that was repaired.
        let at = fix.edits[0].span.start;
        assert!(
            left.iter()
                .all(|left| left.span.start != at || left.fix.as_ref() != Some(fix)),
            "{source:?} {text:?} {left:?}"
        );
        applied += 1;
        if round < holes.len() {
            assert_eq!(left.len() + 1, found.len(), "{source:?} {left:?}");
        }
    }
    assert!(applied > 1000, "{applied}");
}

/// A value of serde_yaml as JSON, if JSON can hold it.
fn plain(value: &serde_yaml::Value) -> Option<Value> {
    Some(match value {
        serde_yaml::Value::Sequence(items) => {
            Value::Array(items.iter().map(plain).collect::<Option<_>>()?)
        }
        serde_yaml::Value::Mapping(map) => {
            let mut out = serde_json::Map::new();
            for (key, value) in map {
                out.insert(key.as_str()?.to_owned(), plain(value)?);
            }
            Value::Object(out)
        }
        serde_yaml::Value::Tagged(_) => return None,
        serde_yaml::Value::Number(number) if number.as_f64().is_some_and(|n| !n.is_finite()) => {
            return None;
        }
        other => serde_json::to_value(other).ok()?,
    })
}

#[test]
fn yaml_agrees_with_serde_yaml() {
    let mut dice = Dice(0xface);
    let mut compared = 0;
    for round in 0..12_000 {
        let sample = SAMPLES[round % SAMPLES.len()];
        let text = if round < SAMPLES.len() {
            sample.to_owned()
        } else {
            mutate(&mut dice, sample)
        };
        // libyaml has opinions of its own about these.
        if text.contains(['\u{feff}', '\u{85}', '\u{2028}', '!', '\t', '?', '\r', '%']) {
            continue;
        }
        let arena = Bump::new();
        let mut report = Report::default();
        let ours = yaml::read(&arena, SourceId(0), &text, &mut report);
        if report.has_errors() {
            continue;
        }
        let Ok(mut theirs) = serde_yaml::from_str::<serde_yaml::Value>(&text) else {
            continue;
        };
        if theirs.apply_merge().is_err() {
            continue;
        }
        let (Some(ours), Some(theirs)) = (ours, plain(&theirs)) else {
            continue;
        };
        compared += 1;
        assert_eq!(to_json(ours, Schema::Yaml12), theirs, "{text:?}");
    }
    assert!(compared > 800, "only {compared} samples could be compared");
}

fn random_json(dice: &mut Dice, depth: usize, out: &mut String) {
    let words = [
        "\"a\"",
        "\"\"",
        "\"\\u00e9\\n\\\"\"",
        "\"\\ud83d\\ude00\"",
        "\"😀\"",
        "\"b/c\"",
    ];
    let numbers = [
        "0",
        "-1",
        "2.50",
        "1e3",
        "-0",
        "12345678901",
        "1E-2",
        "18446744073709551615",
    ];
    match dice.below(if depth > 4 { 4 } else { 7 }) {
        0 => out.push_str(dice.pick(&words)),
        1 => out.push_str(dice.pick(&numbers)),
        2 => out.push_str(dice.pick(&["true", "false", "null"])),
        3 => out.push_str(dice.pick(&["[]", "{}", "[ ]", "{\n}"])),
        4 | 5 => {
            out.push('[');
            for index in 0..1 + dice.below(3) {
                out.push_str(if index > 0 { ", " } else { "" });
                random_json(dice, depth + 1, out);
            }
            out.push(']');
        }
        _ => {
            out.push_str("{ ");
            for index in 0..1 + dice.below(3) {
                out.push_str(if index > 0 { " ,\n" } else { "" });
                out.push_str(&format!("\"k{index}\\t\" : "));
                random_json(dice, depth + 1, out);
            }
            out.push('}');
        }
    }
}

/// Equal but for the last digit of a float, where serde_json rounds for speed.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && alike(a.1, b.1))
        }
        (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
            let (x, y) = (x.as_f64().unwrap(), y.as_f64().unwrap());
            (x - y).abs() <= x.abs() * 1e-15
        }
        _ => a == b,
    }
}

#[test]
fn json_agrees_with_serde_json() {
    let mut dice = Dice(0xbeef);
    let pieces = [
        "{", "}", "[", "]", ":", ",", "\"", "\\", "'", "1", "0", "-", ".", "e", "\\u", "true", "x",
        "\n", "\t", "//", "\u{1}", "\\ud800", "é",
    ];
    let (mut good, mut bad) = (0, 0);
    for _ in 0..20_000 {
        let mut text = String::new();
        random_json(&mut dice, 0, &mut text);
        for _ in 0..dice.below(3) {
            let at = text.floor_char_boundary(dice.below(text.len() + 1));
            let end = text.floor_char_boundary((at + dice.below(3)).min(text.len()));
            text.replace_range(at..end.max(at), dice.pick(&pieces));
        }
        let arena = Bump::new();
        let mut report = Report::default();
        let ours = json::read(&arena, SourceId(0), &text, &mut report);
        // serde_json takes the last of two equal keys; here they are an error of their own.
        if report
            .findings
            .iter()
            .any(|found| found.code.code == "RRC0008")
        {
            continue;
        }
        match serde_json::from_str::<Value>(&text) {
            Ok(theirs) => {
                good += 1;
                assert!(report.findings.is_empty(), "{text:?} {:?}", report.findings);
                assert!(
                    alike(&to_json(ours.unwrap(), Schema::Json), &theirs),
                    "{text:?}"
                );
            }
            Err(_) => {
                bad += 1;
                assert!(report.has_errors(), "{text:?}");
            }
        }
    }
    assert!(good > 2000 && bad > 2000, "{good} {bad}");
}

/// Written plainly, in every way that is read without the parser.
const PLAIN: &[&str] = &[
    "# c\nname: demo # d\nversion: 1.0.0\ncontext:\n  user: ada\n  'a b': \"two\\nlines\"\n  none:\n  list: [1, {a: b, c: [x y, 'it''s']}, ]\nsteps:\n  - id: one\n    command: |\n      echo {{user}}\n       more\n\n      end # no comment\n\n    timeout: 5\n\n  # c\n  - id: two\n    prompt: >-\n      fold\n      this\n\n      keep\n  - - nested\n    - {}\n",
    "steps:\n- id: a\n  env:\n    A: b:c #d\n    B: -x\n- {id: b, type: bash, command: 'true', condition: \"{{no}}\"}\nlast: []\n",
    "a:\n  b:\n    c: |-\n\n      x\n\n  d: >\n    y\n    z\n\n\n    w\n\n  e: |+\n   k\n\n\nf : g\nh:\n  -\n    i: j\n  - k\n",
    "list: [\n  a, # c\n  {b: 1,\n   c: },\n  é\n ]\nmap: {\n  'x': y}\nname: é # ü\ntext: |  # c\n  😀\n",
];

/// Changes one thing that may well leave the text readable: a line moves, goes or is there twice, or a
/// character becomes another one.
fn disturb(dice: &mut Dice, sample: &str) -> String {
    let mut lines: Vec<String> = sample.split_inclusive('\n').map(String::from).collect();
    let at = dice.below(lines.len());
    match dice.below(6) {
        0 => lines[at].insert(0, ' '),
        1 if lines[at].starts_with(' ') => drop(lines[at].remove(0)),
        2 => drop(lines.remove(at)),
        3 => {
            let line = lines[at].clone();
            lines.insert(dice.below(lines.len()), line);
        }
        4 => lines.insert(
            at,
            ["\n", "  \n", "# c\n", "   # c\n"][dice.below(4)].to_string(),
        ),
        _ => {
            let line = &mut lines[at];
            let place = line.floor_char_boundary(dice.below(line.len()));
            line.insert_str(place, dice.pick(PIECES));
        }
    }
    lines.concat()
}

fn reads_alike(text: &str) -> bool {
    let [one, other] = [Bump::new(), Bump::new()];
    let [mut quickly, mut slowly] = [Report::default(), Report::default()];
    let Some(quick) = quick::read(&one, SourceId(0), text, &mut quickly) else {
        assert!(quickly.findings.is_empty(), "{text:?}");
        return false;
    };
    let parsed = yaml::parse(&other, SourceId(0), text, &mut slowly);
    assert_eq!(
        format!("{:#?}", Some(quick)),
        format!("{parsed:#?}"),
        "{text:?}"
    );
    assert_eq!(format!("{quickly:?}"), format!("{slowly:?}"), "{text:?}");
    true
}

#[test]
fn what_is_read_quickly_is_read_as_the_parser_does() {
    for text in PLAIN {
        assert!(reads_alike(text), "{text}");
    }
    let mut dice = Dice(0x0b5);
    let mut plain = 0;
    for round in 0..4000 {
        let sample = PLAIN[round % PLAIN.len()];
        let text = match round % 3 {
            0 => mutate(&mut dice, sample),
            _ => disturb(&mut dice, sample),
        };
        plain += reads_alike(&text) as usize;
    }
    assert!(plain > 800, "{plain}");
    // The parser counts the blanks before a colon, too.
    for blanks in [500, 1022, 1023, 1024, 1030] {
        let blanks = " ".repeat(blanks);
        reads_alike(&format!("k{blanks}: v\n"));
        reads_alike(&format!("a: {{k{blanks}: v}}\n"));
        reads_alike(&format!("a: {{'k'{blanks}: }}\n"));
    }
}

#[test]
fn every_short_text_is_read_as_the_parser_does() {
    let alphabets = [
        ["a", " ", "\n", ":", "-", "[", "]", ",", "#", "|"],
        [
            "a", "b: ", "c:\n", "- ", "-\n", "\n", "  ", "{", "}", " # d",
        ],
    ];
    let mut plain = 0;
    for pieces in alphabets {
        for length in 1..=5 {
            for number in 0..pieces.len().pow(length) {
                let digit = |place| number / pieces.len().pow(place) % pieces.len();
                let text: String = (0..length).map(|place| pieces[digit(place)]).collect();
                plain += reads_alike(&text) as usize;
            }
        }
    }
    assert!(plain > 40_000, "{plain}");
}
