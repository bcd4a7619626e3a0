//! Templates through `rrc run`: values that cannot be used, values that must not be seen, and runs
//! that are stopped on the way.

use crate::binary::{Folder, eventually};
use serde_json::json;
use std::time::{Duration, Instant};

fn template(text: &serde_json::Value) -> Folder {
    Folder::with("t.json", text.to_string())
}

#[test]
fn a_number_that_does_not_fit_is_an_error_and_no_step_is_dropped() {
    let wrong = [
        ("retry", json!("2.0")),
        ("retry", json!("2.")),
        ("retry", json!(1e30)),
        ("retry", json!(9_223_372_036_854_775_808_u64)),
        ("timeout", json!("5.")),
        ("timeout", json!(1e16)),
        ("timeout", json!(1e300)),
        ("delay", json!("5.")),
        ("delay", json!(1e19)),
        ("repeat", json!("2.0")),
        ("repeat", json!(1e30)),
        ("repeat", json!(200_000)),
        ("repeat", json!("")),
    ];
    for (field, value) in wrong {
        let folder = template(&json!(["touch made", {field: value, "template": "printf b"}]));
        let said = folder.rrc(&["check", "t.json"]).go().exits(1);
        assert!(
            said.out.contains("RRC0106"),
            "{field} {value}: {}",
            said.out
        );
        folder.rrc(&["run", "t.json"]).go().exits(2).no_out();
        assert!(!folder.has("made"), "{field} {value}");
    }
}

#[test]
fn the_same_number_from_a_value_is_refused_before_anything_starts() {
    let folder = template(&json!(["touch made", {"retry": "{v}", "template": "printf b"}]));
    for value in ["v=2.0", "v=0", "v=x"] {
        folder.rrc(&["run", "t.json", "-s", value]).go().exits(2);
    }
    assert!(!folder.has("made"));
    // Nothing is as good as no field.
    let said = folder.rrc(&["run", "t.json", "-s", "v="]).go().exits(0);
    assert_eq!(said.out, "b");
}

#[test]
fn a_nul_in_a_value_is_refused_before_anything_starts() {
    for word in ["{v}", "{v=b}", "x{v=b}", "{xs[0]}", "{n?a:b}{v??c}"] {
        let folder = template(&json!(["touch made", format!("printf {word}"), "printf c"]));
        let values = json!({"v": "a\u{0}b", "xs": ["\u{0}"], "n": 1});
        folder.write("v.json", values.to_string());
        let args = ["run", "t.json", "--vars", "v.json"];
        let said = folder.rrc(&args).go().exits(2).no_out();
        assert!(said.err.contains("NUL"), "{word}: {}", said.err);
        assert!(!folder.has("made"), "{word}");
    }
}

#[test]
fn turns_of_turns_count_together() {
    let inner = json!({"repeat": "{n}", "template": "true {index}"});
    let folder = template(&json!({"repeat": "{n}", "template": ["touch made", inner]}));
    for command in ["run", "expand"] {
        let args = [command, "t.json", "-s", "n=5000"];
        let said = folder.rrc(&args).go().exits(2).no_out();
        assert!(said.err.contains("100000 turns"), "{}", said.err);
    }
    assert!(!folder.has("made"));
}

#[test]
fn a_run_that_goes_on_after_failures_ends_when_it_is_told_to() {
    let commands = ["true {index}", "no-such-program {index}"];
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        for command in commands {
            let folder = template(&json!({"repeat": 100_000, "template": ["touch made", command]}));
            let running = folder.rrc(&["run", "t.json"]).start();
            assert!(eventually(Duration::from_secs(10), || folder.has("made")));
            let told = Instant::now();
            running.signal(signal);
            running.end().exits(code);
            let took = told.elapsed();
            assert!(took < Duration::from_secs(5), "{command}: {took:?}");
        }
    }
}

#[test]
fn a_secret_is_not_shown_without_running_either() {
    let folder = template(&json!("printf {a}"));
    let long = format!("a={}", "secret".repeat(20));
    for value in ["a=hunter2abc", "a=two 'words'\nhere", &long] {
        let shown = [
            &["run", "--dry-run", "--secret", "a", "t.json", "-s", value][..],
            &[
                "run",
                "--dry-run",
                "--secret",
                "a",
                "--output-format",
                "json",
                "t.json",
                "-s",
                value,
            ],
        ];
        for args in shown {
            let said = folder.rrc(args).go().exits(0);
            assert!(said.out.contains(r#"["printf","***"]"#), "{}", said.out);
            assert!(said.err.contains("RRC0408"), "{}", said.err);
        }
    }
    folder.write("rrc.toml", "[run]\nsecrets = [\"a\"]\n");
    folder.rrc(&["check", "t.json"]).go().out_has("RRC0408");
    for shape in ["--argv", "--shell"] {
        let args = ["expand", shape, "t.json", "-s", "a=hunter2abc"];
        let said = folder.rrc(&args).go().exits(0);
        assert!(!said.out.contains("hunter2"), "{}", said.out);
    }
}

#[test]
fn a_secret_is_not_shown_when_it_is_refused() {
    let folder = template(&json!({"args": ["n:int"], "template": "printf {n+1}"}));
    for value in ["hunter2abc".to_string(), "hunter2".repeat(20)] {
        let set = format!("n={value}");
        let args = ["run", "--secret", "n", "t.json", "-s", &set];
        let said = folder.rrc(&args).go().exits(2);
        assert!(said.err.contains("not `***"), "{}", said.err);
        assert!(!said.err.contains("hunter2"), "{}", said.err);
    }
}

#[test]
fn a_default_has_the_type_that_is_declared() {
    let list = json!({"args": ["xs:array=[\"a\",\"b\"]"], "repeat": "{xs.length}",
        "template": "sh -c 'cat; printf %s, \"$1\"' _ {xs[index]}"});
    let folder = template(&list);
    let said = folder.rrc(&["run", "-q", "t.json"]).go().exits(0);
    assert_eq!(said.out, "a,b,");
    let folder = template(&json!({"args": ["xs:array"], "defaults": {"xs": "[\"a\"]"},
        "template": "printf %s {xs[0]}"}));
    let said = folder.rrc(&["run", "-q", "t.json"]).go().exits(0);
    assert_eq!(said.out, "a");
    // What a placeholder in the default comes to has it, too.
    let folder = template(&json!({"args": ["n:int", "s"], "defaults": {"n": "{s}"},
        "template": ["touch made", "printf %s {n}"]}));
    let said = folder.rrc(&["run", "t.json", "-s", "s=abc"]).go().exits(2);
    assert!(said.err.contains("`n` must be an integer"), "{}", said.err);
    assert!(!folder.has("made"));
    let said = folder.rrc(&["run", "-q", "t.json", "-s", "s=7"]).go();
    assert_eq!(said.exits(0).out, "7");
}

#[test]
fn a_number_without_a_fraction_is_an_integer() {
    let folder = template(&json!({"defaults": {"n": 2.0}, "template": "printf %s {n+1} {_(n)}"}));
    let said = folder.rrc(&["run", "-q", "t.json"]).go().exits(0);
    assert_eq!(said.out, "302");
}

#[test]
fn defaults_that_cannot_be_used_do_not_stand_in_the_way_of_values() {
    let folder =
        template(&json!({"defaults": {"n": 0}, "repeat": "{n}", "template": "echo {index}"}));
    folder
        .rrc(&["check", "t.json"])
        .go()
        .exits(1)
        .out_has("RRC0324");
    folder
        .rrc(&["run", "t.json"])
        .go()
        .exits(2)
        .err_has("RRC0802");
    let said = folder.rrc(&["run", "t.json", "-s", "n=1"]).go().exits(0);
    assert_eq!(said.out, "0\n");
    folder.rrc(&["build", "-q", "t.json"]).go().exits(0);
}
