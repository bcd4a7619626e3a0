//! The five formats: their shape, and that none of them changes the exit code.

use crate::binary::Folder;
use crate::{BAD, GOOD, WARNING};
use serde_json::{Value, json};

const FORMATS: [&str; 5] = ["human", "concise", "json", "sarif", "github"];

#[test]
fn exit_codes_are_the_same_in_every_format() {
    let folder = Folder::with("good.yaml", GOOD);
    folder.write("bad.yaml", BAD);
    folder.write("warning.yaml", WARNING);
    folder.write("none/readme.txt", "");
    let cases: [(&[&str], i32); 11] = [
        (&["good.yaml"], 0),
        (&["warning.yaml"], 0),
        (&["bad.yaml"], 1),
        (&["good.yaml", "bad.yaml"], 1),
        (&["warning.yaml", "--deny-warnings"], 1),
        (&["good.yaml", "--deny-warnings"], 0),
        (&["bad.yaml", "--exit-zero"], 0),
        (&["bad.yaml", "--ignore", "RRC0201"], 0),
        (&["missing.yaml"], 2),
        (&["missing.yaml", "--exit-zero"], 2),
        (&["none"], 2),
    ];
    for (args, code) in cases {
        for format in FORMATS {
            for option in ["--format", "--output-format"] {
                let mut all = vec!["check", option, format];
                all.extend(args);
                folder.rrc(&all).go().exits(code);
            }
        }
    }
}

fn place(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    json!({
        "line": before.matches('\n').count() + 1,
        "column": before[line..].chars().count() + 1,
        "offset": offset,
    })
}

#[test]
fn json_has_the_shape_of_the_contract() {
    let folder = Folder::with("a.yaml", BAD);
    let said = folder
        .rrc(&["check", "--format", "json", "a.yaml"])
        .go()
        .exits(1)
        .no_err();
    let name = BAD.find("usre").unwrap();
    let hole = BAD.find("{{ user }}").unwrap();
    assert_eq!(
        said.json(),
        json!([
            {
                "code": "RRC0201", "name": "undefined-variable", "severity": "error",
                "message": "nothing defines `usre`",
                "file": "a.yaml", "start": place(BAD, name), "end": place(BAD, name + 4),
                "labels": [], "help": "did you mean `user`?", "url": "spec/rules/RRC0201.md",
                "fix": {
                    "applicability": "safe", "message": "write `user`",
                    "edits": [{
                        "file": "a.yaml", "start": place(BAD, name), "end": place(BAD, name + 4),
                        "text": "user",
                    }],
                },
            },
            {
                "code": "RRC0304", "name": "not-a-hole", "severity": "warning",
                "message": "`{{ user }}` is not a hole and stays as it is written",
                "file": "a.yaml", "start": place(BAD, hole), "end": place(BAD, hole + 10),
                "labels": [], "help": "a hole has no blanks inside its braces: write `{{user}}`",
                "url": "spec/rules/RRC0304.md",
                "fix": {
                    "applicability": "unsafe", "message": "write `{{user}}`",
                    "edits": [{
                        "file": "a.yaml", "start": place(BAD, hole), "end": place(BAD, hole + 10),
                        "text": "{{user}}",
                    }],
                },
            },
        ])
    );
}

#[test]
fn json_has_its_keys_in_order_and_none_is_missing() {
    let folder = Folder::with("a.yaml", BAD);
    let said = folder.rrc(&["check", "--format", "json", "a.yaml"]).go();
    let keys = [
        "code", "name", "severity", "message", "file", "start", "end", "labels", "help", "url",
        "fix",
    ];
    for finding in said.json().as_array().unwrap() {
        let found: Vec<&String> = finding.as_object().unwrap().keys().collect();
        assert_eq!(found, keys);
    }
    // A label is a place in a file as well.
    folder.write(
        "b.yaml",
        "name: b\nname: c\nsteps: [{id: a, type: bash, command: 'true'}]\n",
    );
    let said = folder
        .rrc(&["check", "--format", "json", "b.yaml"])
        .go()
        .exits(1);
    let label = &said.json()[0]["labels"][0];
    assert_eq!(label["file"], "b.yaml");
    assert_eq!(label["start"], json!({"line": 1, "column": 1, "offset": 0}));
    assert_eq!(label["end"], json!({"line": 1, "column": 5, "offset": 4}));
    assert!(label["message"].is_string());
    let empty = Folder::with("a.yaml", GOOD);
    let said = empty
        .rrc(&["check", "--format", "json", "a.yaml"])
        .go()
        .exits(0)
        .no_err();
    assert_eq!(said.json(), json!([]));
}

#[test]
fn concise_is_a_line_a_finding() {
    let folder = Folder::with("a.yaml", BAD);
    let said = folder
        .rrc(&["check", "--format", "concise", "a.yaml"])
        .go()
        .exits(1);
    assert_eq!(
        said.out,
        "a.yaml:10:22: error[RRC0201] nothing defines `usre`\n\
         a.yaml:10:29: warning[RRC0304] `{{ user }}` is not a hole and stays as it is written\n"
    );
}

#[test]
fn human_shows_the_line_the_help_and_the_fix() {
    let folder = Folder::with("a.yaml", BAD);
    folder
        .rrc(&["check", "a.yaml"])
        .go()
        .exits(1)
        .out_has("error[RRC0201]")
        .out_has("a.yaml:10:22")
        .out_has("command: 'echo {{usre}} {{ user }}'")
        .out_has("did you mean `user`?")
        .out_has("--fix")
        .err_has("can be fixed with --fix");
}

#[test]
fn github_annotates_the_line() {
    let folder = Folder::with("a,b.yaml", BAD);
    let said = folder
        .rrc(&["check", "--format", "github", "a,b.yaml"])
        .go()
        .exits(1);
    let first = said.out.lines().next().unwrap();
    let expected = "::error file=a%2Cb.yaml,line=10,col=22,endLine=10,endColumn=26,\
                    title=RRC0201 undefined-variable::nothing defines `usre`";
    assert!(first.starts_with(expected), "{first}");
    assert_eq!(said.out.lines().count(), 2);
}

#[test]
fn sarif_names_the_rule_and_the_region() {
    let folder = Folder::with("a b.yaml", BAD);
    let said = folder
        .rrc(&["check", "--format", "sarif", "a b.yaml"])
        .go()
        .exits(1);
    let log = said.json();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "RRC0201");
    let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "RRC0201");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b.yaml");
    assert_eq!(
        place["region"],
        json!({"startLine": 10, "startColumn": 22, "endLine": 10, "endColumn": 26})
    );
}

#[test]
fn statistics_count_by_code() {
    let folder = Folder::with("a.yaml", BAD);
    folder.write("b.yaml", BAD);
    let said = folder
        .rrc(&["check", "--statistics", "a.yaml", "b.yaml"])
        .go()
        .exits(1);
    assert_eq!(
        said.out,
        "     2  RRC0201  undefined-variable\n     2  RRC0304  not-a-hole\n"
    );
    let counted = ["check", "--statistics", "a.yaml", "--format"];
    let said = |format| folder.rrc(&[&counted[..], &[format]].concat()).go();
    assert_eq!(
        said("json").exits(1).json(),
        json!([
            {"code": "RRC0201", "name": "undefined-variable", "count": 1},
            {"code": "RRC0304", "name": "not-a-hole", "count": 1},
        ])
    );
    for format in ["sarif", "github"] {
        let said = said(format).exits(2).no_out();
        said.err_has("this format has no place for statistics");
    }
}

#[test]
fn an_output_file_holds_what_would_have_been_printed() {
    let folder = Folder::with("a.yaml", BAD);
    for format in FORMATS {
        let printed = folder
            .rrc(&["check", "a.yaml", "--format", format])
            .go()
            .exits(1);
        let args = [
            "check",
            "a.yaml",
            "--format",
            format,
            "--output-file",
            "out",
        ];
        folder.rrc(&args).go().exits(1).no_out();
        assert_eq!(folder.read("out"), printed.out, "{format}");
    }
    folder
        .rrc(&["check", "a.yaml", "--statistics", "--output-file", "out"])
        .go()
        .exits(1)
        .no_out();
    assert!(folder.read("out").contains("RRC0201"));
}
