//! Findings in every format, letter by letter.

use super::*;
use crate::codes;
use crate::diagnostic::Fix;
use crate::source::Source;
use serde_json::{Value, json};

const TEXT: &str = "name: a\ncommand: echo {{usre}} é{{user}}\n";

/// One finding of each severity over two files, given out of order.
fn example() -> (Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let a = sources.add(Source::new("a.yaml", TEXT));
    let b = sources.add(Source::new("dir/b c.yaml", "x: 1\n"));
    let hole = Span::new(a, 24, 28);
    let findings = vec![
        Diagnostic::new(
            &codes::AMBIGUOUS_SCALAR,
            Span::new(b, 3, 4),
            "`1` is: 100%, or\nnot",
        ),
        Diagnostic::new(&codes::UNDEFINED_VARIABLE, hole, "nothing defines `usre`")
            .label(Span::new(b, 0, 1), "`x` is defined here")
            .label(Span::new(a, 0, 4), "in this recipe")
            .help("did you mean `user`?")
            .fix(Fix::safe("write `user`", hole, "user")),
        Diagnostic::new(&codes::RAW_VALUE, Span::new(a, 35, 39), "worth a look")
            .severity(Severity::Note),
    ];
    (sources, findings)
}

fn render(format: Format, options: Options) -> String {
    let (sources, findings) = example();
    rendered(format, &findings, &sources, options)
}

fn rendered(
    format: Format,
    findings: &[Diagnostic],
    sources: &Sources,
    options: Options,
) -> String {
    let mut out = Vec::new();
    write(format, findings, sources, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const NOTES: Options = Options {
    color: false,
    notes: true,
    fixes: Fixes::Here,
};

#[test]
fn concise_is_one_line_a_finding_and_hides_notes() {
    assert_eq!(
        render(Format::Concise, Options::default()),
        "a.yaml:2:17: error[RRC0201] nothing defines `usre`\n\
         dir/b c.yaml:1:4: warning[RRC0012] `1` is: 100%, or\\nnot\n"
    );
    assert!(render(Format::Concise, NOTES).contains("a.yaml:2:27: note[RRC0503] worth a look"));
}

#[test]
fn human_draws_the_line_and_says_what_to_do() {
    let text = render(Format::Human, Options::default());
    let expected = "\
error[RRC0201] undefined-variable: nothing defines `usre`
   ╭─[ a.yaml:2:17 ]
   │
 1 │ name: a
   │ ──┬─  
   │   ╰─── in this recipe
 2 │ command: echo {{usre}} é{{user}}
   │                 ──┬─  
   │                   ╰─── here
───╯
   dir/b c.yaml:1:1: `x` is defined here
   help: did you mean `user`?
   fix: write `user` (apply with --fix)
";
    assert!(text.starts_with(expected), "{text}");
    assert!(!text.contains('\x1b') && !text.contains("RRC0503"));
    let (_, findings) = example();
    assert_eq!(
        summary(&findings, Options::default()),
        "1 error, 1 warning in 2 files; 1 can be fixed with --fix"
    );
    assert_eq!(summary(&[], Options::default()), "no problems found");
}

#[test]
fn colour_is_an_option() {
    let options = Options {
        color: true,
        ..Options::default()
    };
    assert!(render(Format::Human, options).contains("\x1b[1;31merror[RRC0201]\x1b[0m"));
    assert!(render(Format::Concise, options).contains("\x1b[31merror[RRC0201]\x1b[0m"));
}

#[test]
fn json_has_every_key_and_both_ways_to_count() {
    let all: Value = serde_json::from_str(&render(Format::Json, Options::default())).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 3);
    let place = |line: u32, column: u32, offset: u32| json!({ "line": line, "column": column, "offset": offset });
    assert_eq!(
        all[0],
        json!({
            "code": "RRC0201", "name": "undefined-variable", "severity": "error",
            "message": "nothing defines `usre`", "file": "a.yaml",
            "start": place(2, 17, 24), "end": place(2, 21, 28),
            "labels": [
                { "file": "dir/b c.yaml", "start": place(1, 1, 0), "end": place(1, 2, 1),
                  "message": "`x` is defined here" },
                { "file": "a.yaml", "start": place(1, 1, 0), "end": place(1, 5, 4),
                  "message": "in this recipe" },
            ],
            "help": "did you mean `user`?", "url": "spec/rules/RRC0201.md",
            "fix": { "applicability": "safe", "message": "write `user`", "edits": [
                { "file": "a.yaml", "start": place(2, 17, 24), "end": place(2, 21, 28),
                  "text": "user" },
            ]},
        })
    );
    // After the `é` a column is one less than the byte says.
    assert_eq!(all[1]["start"], place(2, 27, 35));
    assert_eq!(
        (&all[2]["help"], &all[2]["fix"]),
        (&Value::Null, &Value::Null)
    );
    let (sources, _) = example();
    assert_eq!(rendered(Format::Json, &[], &sources, NOTES), "[]\n");
}

#[test]
fn sarif_points_from_results_to_rules() {
    let log: Value = serde_json::from_str(&render(Format::Sarif, Options::default())).unwrap();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(results.len(), 3);
    for result in results {
        let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize];
        assert_eq!(rule["id"], result["ruleId"]);
    }
    assert_eq!(
        results[0]["locations"][0]["physicalLocation"]["region"],
        json!({ "startLine": 2, "startColumn": 17, "endLine": 2, "endColumn": 21 })
    );
    let change = &results[0]["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["replacements"][0]["insertedContent"]["text"], "user");
    let place = &results[2]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "dir/b%20c.yaml");
}

#[test]
fn github_escapes_what_would_end_a_command() {
    assert_eq!(
        render(Format::Github, Options::default()),
        "::error file=a.yaml,line=2,col=17,endLine=2,endColumn=21,title=RRC0201 \
         undefined-variable::nothing defines `usre`%0Ahelp: did you mean `user`?\n\
         ::warning file=dir/b c.yaml,line=1,col=4,endLine=1,endColumn=5,title=RRC0012 \
         ambiguous-scalar::`1` is: 100%25, or%0Anot\n"
    );
}

#[test]
fn hostile_text_reaches_no_terminal() {
    let mut sources = Sources::default();
    let text = "a\u{1b}[2J: \u{202e}x\u{2028}y\u{85}z\rw\n";
    let a = sources.add(Source::new("e\u{1b}[0m.yaml", text));
    let at = text.find('w').unwrap();
    let finding = Diagnostic::new(&codes::WRONG_TYPE, Span::new(a, at, at + 1), "\u{7}bell")
        .label(Span::new(a, 0, 1), "\u{1b}[1m");
    for format in [Format::Human, Format::Concise] {
        let out = rendered(format, std::slice::from_ref(&finding), &sources, NOTES);
        assert!(
            !out.contains(['\u{1b}', '\u{7}', '\u{202e}', '\u{2028}', '\r']),
            "{out}"
        );
        assert!(out.contains(":1:15"), "{out}");
    }
}

#[test]
fn every_span_can_be_drawn() {
    let texts = [
        "",
        "\n",
        "a",
        "é\r\n\tß: 😀\u{301}\n",
        "\u{feff}a: b\n\n\n",
        "\u{2028}\u{2029}",
    ];
    for text in texts {
        let mut sources = Sources::default();
        let a = sources.add(Source::new("a", text));
        let b = sources.add(Source::new("b", "é: é\né: ü\n"));
        let places: Vec<usize> = (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .collect();
        for start in &places {
            for end in places.iter().filter(|end| *end >= start) {
                let finding = Diagnostic::new(&codes::WRONG_TYPE, Span::new(a, *start, *end), "m")
                    .label(Span::new(b, 9, 11), "other")
                    .label(Span::new(a, *end, *end), "same");
                let place = sources.get(a).place(*start as u32);
                for format in Format::ALL {
                    let findings = std::slice::from_ref(&finding);
                    let out = rendered(format, findings, &sources, NOTES);
                    if format == Format::Human {
                        let place = format!("a:{}:{}", place.line, place.column);
                        assert!(out.contains(&place), "{text:?} {start}..{end}\n{out}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_long_line_is_shown_through_a_window() {
    let mut sources = Sources::default();
    let text = format!("{}needle{}", "é".repeat(300_000), "x".repeat(300_000));
    let a = sources.add(Source::new("a", text));
    let findings: Vec<Diagnostic> = (0..200)
        .map(|index| {
            let span = Span::new(a, 600_000, 600_006);
            Diagnostic::new(&codes::WRONG_TYPE, span, format!("m{index:03}"))
        })
        .collect();
    let out = rendered(Format::Human, &findings, &sources, NOTES);
    assert!(out.len() < 200 * 1000, "{}", out.len());
    assert!(out.contains("éééneedlexxx") && out.contains("a:1:300001"));
}

#[test]
fn many_findings_in_a_large_file_cost_their_own_lines() {
    let mut sources = Sources::default();
    let line = "  - command: echo one two three four five\n";
    let a = sources.add(Source::new("a", line.repeat(25_000)));
    let findings: Vec<Diagnostic> = (0..2_000)
        .map(|index| {
            let at = index * 12 * line.len() + 4;
            Diagnostic::new(&codes::UNKNOWN_FIELD, Span::new(a, at, at + 7), "m")
                .label(Span::new(a, 0, 3), "far away")
        })
        .collect();
    let out = rendered(Format::Human, &findings, &sources, NOTES);
    assert!(out.len() < 2_000 * 1000);
    assert!(out.contains("a:1:1: far away"));
}
