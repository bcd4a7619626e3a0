//! Sessions with the language server, as an editor has them: the real binary over pipes.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

#[path = "lsp/client.rs"]
mod client;

use client::{Editor, Folder, applied, change, framed, modern};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Characters outside of the first plane stand before everything of interest.
const BAD: &str = "\
# 😀 what this is
name: \"😀\"   # stays
context:
  user: ada
steps:
  - id: a
    type: bash
    command: echo 😀😀 {{usre}} {{user}}
    output: said
  - id: b
    type: bsh
    command: echo
  - id: c
    type: bash
    command: 'echo {{ said }} {{said}}'
";

fn range(found: &Value) -> [u64; 4] {
    let number = |pointer: &str| found["range"].pointer(pointer).and_then(Value::as_u64);
    [
        "/start/line",
        "/start/character",
        "/end/line",
        "/end/character",
    ]
    .map(|pointer| number(pointer).expect("a number"))
}

fn codes(found: &[Value]) -> Vec<&str> {
    found
        .iter()
        .filter_map(|one| one["code"].as_str())
        .collect()
}

fn replace(line: u32, from: u32, to: u32, text: &str) -> Value {
    json!({
        "range": {
            "start": { "line": line, "character": from },
            "end": { "line": line, "character": to },
        },
        "text": text,
    })
}

#[test]
fn findings_come_with_exact_places_and_go_when_they_are_mended() {
    let folder = Folder::new();
    let uri = folder.uri("a.yaml");
    let mut editor = Editor::open(&folder);
    editor.open_text(&uri, BAD);
    let found = editor.findings(&uri, Some(1));
    assert_eq!(codes(&found), ["RRC0201", "RRC0106", "RRC0304"]);
    assert_eq!(range(&found[0]), [7, 25, 7, 29]);
    assert_eq!(range(&found[1]), [10, 10, 10, 13]);
    assert_eq!(found[0]["severity"], 1);
    assert_eq!(found[2]["severity"], 2);
    assert_eq!(found[0]["source"], "rrc");
    assert_eq!(found[0]["data"]["page"], "spec/rules/RRC0201.md");
    let message = found[0]["message"].as_str().unwrap();
    assert!(
        message.contains("nothing defines `usre`\nhelp: "),
        "{message}"
    );

    editor.change(
        &uri,
        2,
        json!([replace(7, 25, 29, "user"), replace(10, 11, 11, "a")]),
    );
    let found = editor.findings(&uri, Some(2));
    assert_eq!(codes(&found), ["RRC0304"]);
    editor.change(&uri, 3, json!([{ "text": BAD.replace("usre", "user") }]));
    let found = editor.findings(&uri, Some(3));
    assert_eq!(codes(&found), ["RRC0106", "RRC0304"]);

    editor.tell(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": uri } }),
    );
    assert!(editor.findings(&uri, None).is_empty());
}

#[test]
fn columns_are_bytes_where_the_editor_takes_bytes() {
    let folder = Folder::new();
    let uri = folder.uri("a.yaml");
    let mut editor = Editor::start(&folder, &["--stdio"]);
    let mut capabilities = modern();
    capabilities["general"] = json!({ "positionEncodings": ["utf-16", "utf-8"] });
    let welcome = editor.hello(capabilities);
    assert_eq!(welcome["capabilities"]["positionEncoding"], "utf-8");
    editor.open_text(&uri, BAD);
    let found = editor.findings(&uri, Some(1));
    assert_eq!(range(&found[0]), [7, 29, 7, 33]);
    editor.change(&uri, 2, json!([replace(7, 29, 33, "user")]));
    assert_eq!(
        codes(&editor.findings(&uri, Some(2))),
        ["RRC0106", "RRC0304"]
    );
}

#[test]
fn labels_lead_to_other_places() {
    let folder = Folder::new();
    let uri = folder.uri("a.yaml");
    let text = "name: x\nsteps:\n  - {id: é, type: bash, command: a}\n  - {id: é, type: bash, command: b}\n";
    let mut editor = Editor::open(&folder);
    editor.open_text(&uri, text);
    let found = editor.findings(&uri, Some(1));
    assert_eq!(codes(&found), ["RRC0105"]);
    let related = &found[0]["relatedInformation"][0];
    assert_eq!(related["location"]["uri"], uri);
    assert_eq!(range(&related["location"]), [2, 9, 2, 10]);
}

fn edits_of(action: &Value, uri: &str) -> Vec<Value> {
    let change = &action["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["uri"], uri);
    change["edits"].as_array().expect("edits").clone()
}

#[test]
fn fixing_all_is_what_the_command_line_does() {
    let folder = Folder::new();
    let uri = folder.uri("a.yaml");
    for (bytes, text) in [
        (false, BAD.to_string()),
        (true, BAD.to_string()),
        (false, BAD.replace('\n', "\r\n")),
    ] {
        let mut capabilities = modern();
        if bytes {
            capabilities["general"] = json!({ "positionEncodings": ["utf-8"] });
        }
        let mut editor = Editor::open_with(&folder, &[], capabilities);
        editor.open_text(&uri, &text);
        editor.findings(&uri, Some(1));
        let actions = editor.actions(&uri, Some("source.fixAll"));
        assert_eq!(actions.len(), 1, "{actions:#?}");
        let fixed = applied(&text, &edits_of(&actions[0], &uri), !bytes);
        folder.write("a.yaml", &text);
        let path = folder.path().join("a.yaml");
        let done = Command::new(env!("CARGO_BIN_EXE_rrc"))
            .args(["check", "--fix", "-q"])
            .arg(&path)
            .stdout(Stdio::null())
            .status();
        assert!(done.is_ok());
        assert_eq!(fixed, std::fs::read_to_string(&path).unwrap());
        assert_ne!(fixed, text);
        // Fixed once is fixed.
        editor.change(&uri, 2, json!([{ "text": fixed }]));
        editor.findings(&uri, Some(2));
        assert!(editor.actions(&uri, Some("source.fixAll")).is_empty());
    }
}

#[test]
fn each_fix_is_a_quick_fix() {
    let folder = Folder::new();
    let uri = folder.uri("a.yaml");
    let mut editor = Editor::open(&folder);
    editor.open_text(&uri, BAD);
    let actions = editor.actions(&uri, Some("quickfix"));
    let shown: Vec<(bool, String)> = actions
        .iter()
        .map(|action| {
            assert_eq!(action["kind"], "quickfix");
            let fixed = applied(BAD, &edits_of(action, &uri), true);
            let line = action["diagnostics"][0]["range"]["start"]["line"]
                .as_u64()
                .unwrap();
            let line = fixed.lines().nth(line as usize).unwrap().trim();
            (action["isPreferred"] == true, line.to_string())
        })
        .collect();
    assert_eq!(
        shown,
        [
            (false, "command: echo 😀😀 {{user}} {{user}}".to_string()),
            (true, "type: bash".to_string()),
            (false, "command: 'echo {{said}} {{said}}'".to_string()),
        ]
    );
    let all = editor.actions(&uri, None);
    let explain = all.iter().find(|action| action["command"] == "rrc.explain");
    assert_eq!(explain.expect("offered")["arguments"], json!(["RRC0106"]));
    let page = editor.ask("rrc/explain", json!({ "code": "RRC0201" }));
    assert!(
        page["text"]
            .as_str()
            .unwrap()
            .starts_with("# RRC0201 undefined-variable")
    );
    let refused = editor.ask_whole("rrc/explain", json!({ "code": "nonsense" }));
    assert_eq!(refused["error"]["code"], -32602);
}

#[test]
fn places_are_explained_completed_and_led_elsewhere() {
    let folder = Folder::new();
    folder.write(
        "other.yaml",
        "name: o\nsteps:\n  - {id: a, type: bash, command: b}\n",
    );
    let uri = folder.uri("a.yaml");
    let text = format!("{BAD}  - id: d\n    type: recipe\n    recipe: other\n    \n");
    let mut editor = Editor::open(&folder);
    editor.open_text(&uri, &text);

    let hover = editor.at("textDocument/hover", &uri, 7, 37);
    assert_eq!(
        hover["contents"]["value"],
        "`user`: set under `context`, by default `\"ada\"`"
    );
    assert_eq!(range(&hover), [7, 34, 7, 38]);
    let hover = editor.at("textDocument/hover", &uri, 7, 5);
    assert!(
        hover["contents"]["value"]
            .as_str()
            .unwrap()
            .contains("shell text to run")
    );
    assert!(editor.at("textDocument/hover", &uri, 0, 3).is_null());

    let set = editor.at("textDocument/definition", &uri, 7, 36);
    assert_eq!(
        (set[0]["uri"].as_str(), range(&set[0])),
        (Some(&*uri), [3, 2, 3, 6])
    );
    let file = editor.at("textDocument/definition", &uri, 17, 14);
    assert_eq!(file[0]["uri"], folder.uri("other.yaml"));
    let places = editor.at("textDocument/references", &uri, 8, 14);
    let lines: Vec<u64> = places
        .as_array()
        .unwrap()
        .iter()
        .map(|one| range(one)[0])
        .collect();
    assert_eq!(lines, [8, 14]);

    let fields = editor.at("textDocument/completion", &uri, 18, 4);
    let labels: Vec<&str> = fields
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["label"].as_str())
        .collect();
    assert!(labels.contains(&"context") && !labels.contains(&"command") && !labels.contains(&"id"));
    editor.change(&uri, 2, json!([replace(7, 27, 31, "")]));
    let names = editor.at("textDocument/completion", &uri, 7, 27);
    let user = names
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["label"] == "user");
    let user = user.expect("offered");
    assert_eq!(range(&user["textEdit"]), [7, 25, 7, 27]);

    let symbols = editor.ask(
        "textDocument/documentSymbol",
        json!({ "textDocument": { "uri": uri } }),
    );
    let names: Vec<&str> = symbols
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(symbols[0]["detail"], "bash");
}

#[test]
fn a_change_is_seen_by_what_depends_on_it() {
    let folder = Folder::new();
    let good = "name: o\nsteps:\n  - {id: a, type: bash, command: b}\n";
    folder.write("other.yaml", good);
    let (main, other) = (folder.uri("main.yaml"), folder.uri("other.yaml"));
    let mut editor = Editor::open(&folder);
    let text = "name: m\nsteps:\n  - {id: a, type: recipe, recipe: other}\n";
    editor.open_text(&main, text);
    assert!(editor.findings(&main, Some(1)).is_empty());

    // On disk, where the editor says so.
    folder.write("other.yaml", &good.replace("command", "comand"));
    editor.tell(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [{ "uri": other, "type": 2 }] }),
    );
    let found = editor.findings(&other, None);
    assert!(codes(&found).contains(&"RRC0102"), "{found:#?}");

    // In a buffer that was never saved, which from then on speaks for itself.
    editor.open_text(&other, good);
    assert!(editor.findings(&other, Some(1)).is_empty());
    editor.findings(&main, Some(1));
    editor.findings(&main, Some(1));
    editor.change(
        &other,
        2,
        json!([{ "text": "name: o\nsteps:\n  - {id: a, type: recipe, recipe: main}\n" }]),
    );
    editor.findings(&other, Some(2));
    editor.findings(&main, Some(1));
    editor.tell(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": other } }),
    );
    let found = editor.findings(&other, None);
    assert!(
        found.is_empty() || codes(&found) == ["RRC0205"],
        "{found:#?}"
    );

    // A recipe that is not there, until it is opened.
    let lost = folder.uri("lost.yaml");
    editor.change(&main, 2, json!([{ "text": text.replace("other", "lost") }]));
    assert_eq!(codes(&editor.findings(&main, Some(2))), ["RRC0204"]);
    editor.open_text(&lost, good);
    assert!(editor.findings(&main, Some(2)).is_empty());
}

#[test]
fn a_burst_of_edits_is_checked_once() {
    let folder = Folder::new();
    let uri = folder.uri("a.yaml");
    let mut editor = Editor::open(&folder);
    editor.open_text(&uri, BAD);
    editor.findings(&uri, Some(1));
    let mut burst = Vec::new();
    for version in 2..102 {
        let params = change(&uri, version, json!([replace(0, 2, 2, "x")]));
        let message =
            json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params });
        burst.extend(framed(&message));
    }
    editor.raw(&burst);
    editor.findings(&uri, Some(101));
    let mut seen = 1;
    while editor.has_more(Duration::from_millis(300)) {
        seen += 1;
    }
    assert!(seen <= 3, "{seen} answers to one burst");
}

#[test]
fn other_files_are_left_alone() {
    let folder = Folder::new();
    let mut editor = Editor::open(&folder);
    for (name, text) in [
        (
            "ci.yaml",
            "name: ci\non: push\njobs:\n  a:\n    steps: [}\n",
        ),
        ("empty.yaml", ""),
        ("data.json", "{\"a\": }"),
    ] {
        let uri = folder.uri(name);
        editor.open_text(&uri, text);
        assert!(editor.findings(&uri, Some(1)).is_empty(), "{name}");
        assert!(editor.actions(&uri, None).is_empty(), "{name}");
    }
}

#[test]
fn nonsense_is_answered_and_the_session_goes_on() {
    let folder = Folder::new();
    let uri = folder.uri("a.yaml");
    let mut editor = Editor::start(&folder, &[]);
    let early = editor.ask_whole("textDocument/hover", json!({}));
    assert_eq!(early["error"]["code"], -32002);
    editor.hello(json!({ "textDocument": 7, "general": { "positionEncodings": "x" } }));
    editor.raw(b"Content-Length: 3\r\n\r\n{{{");
    let answer = editor.wait(|message| message["error"]["code"] == -32700);
    assert!(answer["id"].is_null());
    editor.raw(b"garbage\r\n\r\nContent-Length: 12\r\n\r\n{\"id\":\"odd\"}");
    let answer = editor.wait(|message| message["id"] == "odd");
    assert_eq!(answer["error"]["code"], -32600);
    assert_eq!(
        editor.ask_whole("no/such", json!(null))["error"]["code"],
        -32601
    );
    assert_eq!(
        editor.ask_whole("textDocument/hover", json!([1]))["error"]["code"],
        -32602
    );
    editor.tell("textDocument/didOpen", json!({ "odd": 1 }));
    editor.tell(
        "textDocument/didChange",
        change("file:///nowhere.yaml", 1, json!([{ "text": "" }])),
    );
    editor.tell("$/cancelRequest", json!({ "id": 1 }));
    editor.send(&json!({ "jsonrpc": "2.0", "id": 77, "result": null }));
    let nowhere = editor.at("textDocument/hover", "file:///nowhere.yaml", 0, 0);
    assert!(nowhere.is_null());

    // Half of a character, edits beyond the text, and more text than is read.
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":{{\"textDocument\":{{\"uri\":\"{uri}\",\
         \"languageId\":\"yaml\",\"version\":1,\"text\":\"name: x\\ud83d\\nsteps: []\\n\"}}}}}}"
    );
    editor.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    assert_eq!(codes(&editor.findings(&uri, Some(1))), ["RRC0106"]);
    editor.change(
        &uri,
        2,
        json!([replace(900, 5, 1, "# é\n"), replace(0, 8, 3, "")]),
    );
    editor.findings(&uri, Some(2));
    let huge = format!(
        "name: x\nsteps:\n{}",
        "  - {id: a, type: bash, command: b}\n".repeat(40_000)
    );
    editor.change(&uri, 3, json!([{ "text": huge }]));
    assert_eq!(codes(&editor.findings(&uri, Some(3))), ["RRC0003"]);
    editor.at("textDocument/completion", &uri, 20_000, 4);
    editor.ask("shutdown", json!(null));
    assert_eq!(
        editor.ask_whole("textDocument/hover", json!({}))["error"]["code"],
        -32600
    );
    editor.tell("exit", json!(null));
    let (code, err) = editor.end();
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn an_end_without_goodbye_is_a_failure() {
    let folder = Folder::new();
    let mut editor = Editor::open(&folder);
    editor.tell("exit", json!(null));
    assert_eq!(editor.end(), (Some(1), String::new()));
    let editor = Editor::open(&folder);
    assert_eq!(editor.end(), (Some(1), String::new()));
    let mut editor = Editor::open_with(&folder, &["-v"], modern());
    editor.open_text(&folder.uri("a.yaml"), BAD);
    editor.findings(&folder.uri("a.yaml"), Some(1));
    let (_, err) = editor.end();
    assert!(err.contains("checked"), "{err}");
}

#[test]
fn templates_have_findings_fixes_and_completions() {
    let folder = Folder::new();
    let uri = folder.uri("t.json");
    let mut editor = Editor::open(&folder);
    let text = "{\n  \"args\": [\"file\"],\n  \"tmeout\": 5,\n  \"template\": \"stt {file}\"\n}\n";
    editor.open_text(&uri, text);
    let found = editor.findings(&uri, Some(1));
    assert_eq!(codes(&found), ["RRC0102"]);
    assert_eq!(range(&found[0]), [2, 3, 2, 9]);
    let at = |line: u32, character: u32| json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": character } });
    let hover = editor.ask("textDocument/hover", at(3, 5));
    let words = hover["contents"]["value"].as_str().unwrap();
    assert!(words.contains("a list of nodes"), "{words}");
    let offered = |answer: &Value| {
        let items = answer.as_array().or(answer["items"].as_array()).unwrap();
        items
            .iter()
            .map(|item| item["label"].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    let fields = offered(&editor.ask("textDocument/completion", at(2, 4)));
    assert!(fields.contains(&"timeout".to_string()), "{fields:?}");
    assert!(!fields.contains(&"args".to_string()), "{fields:?}");
    let names = offered(&editor.ask("textDocument/completion", at(3, 21)));
    assert_eq!(names, ["file"]);
}

#[test]
fn what_a_placeholder_reads_is_shown() {
    let folder = Folder::new();
    let uri = folder.uri("t.json");
    let text =
        r#"{"args": ["n:int"], "repeat": 2, "template": "echo 😀 {n} {_(index+1)} {other}"}"#;
    let mut editor = Editor::open(&folder);
    editor.open_text(&uri, text);
    let mut shown = |word: &str| {
        let before = &text[..text.find(word).unwrap() + 1];
        let column = before.encode_utf16().count() as u32;
        let hover = editor.at("textDocument/hover", &uri, 0, column);
        (hover["contents"]["value"].clone(), range(&hover))
    };
    assert_eq!(shown("{n}").0, "`n`: an argument");
    assert_eq!(shown("{n}").1, [0, 55, 0, 56]);
    assert_eq!(shown("(index").0, "`index`: the number of the copy, from 0");
    assert_eq!(shown("\"repeat").1, [0, 21, 0, 27]);
}
