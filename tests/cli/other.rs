//! `build`, `disasm`, `eval`, `explain`, `completions`.

use crate::GOOD;
use crate::binary::Folder;

#[test]
fn build_writes_a_plan_and_knows_whether_it_is_current() {
    let folder = Folder::with("a.yaml", GOOD);
    folder.write("sub/b.yaml", GOOD);
    folder.rrc(&["build", "a.yaml"]).go().exits(0).no_out();
    assert!(folder.has("a.rrb"));
    folder
        .rrc(&["build", "sub/b.yaml", "-o", "other.rrb"])
        .go()
        .exits(0);
    assert!(folder.has("other.rrb") && !folder.has("b.rrb"));
    folder
        .rrc(&["build", "--check", "a.yaml"])
        .go()
        .exits(0)
        .err_has("is current");
    folder.write("a.yaml", GOOD.replace("hi", "ho"));
    folder
        .rrc(&["build", "--check", "a.yaml"])
        .go()
        .exits(1)
        .err_has("a.rrb");
    folder
        .rrc(&["build", "--check", "a.yaml", "-o", "none.rrb"])
        .go()
        .exits(1)
        .err_has("there is no plan `none.rrb`");
    assert!(!folder.has("none.rrb"));
    let said = folder.rrc(&["build", "a.yaml", "-o", "no/such/a.rrb"]).go();
    said.exits(2)
        .err_has("no/such/a.rrb: there is no directory `no/such`");
}

#[test]
fn what_somebody_wrote_is_not_replaced() {
    let folder = Folder::with("a.yaml", GOOD);
    folder.write("notes.txt", "precious");
    folder.write("empty", "");
    for name in ["a.yaml", "notes.txt"] {
        let before = folder.read(name);
        let said = folder.rrc(&["build", "a.yaml", "-o", name]).go();
        said.exits(2).err_has("is not replaced: it is no plan");
        assert_eq!(folder.read(name), before);
    }
    for name in ["empty", "empty"] {
        folder.rrc(&["build", "a.yaml", "-o", name]).go().exits(0);
    }
    let args = ["check", "a.yaml", "--output-file", "./a.yaml"];
    folder.rrc(&args).go().exits(2).err_has("is not replaced");
    assert_eq!(folder.read("a.yaml"), GOOD);
}

#[test]
fn a_plan_may_go_to_standard_output() {
    let folder = Folder::with("a.yaml", GOOD);
    folder.rrc(&["build", "a.yaml"]).go().exits(0);
    let said = folder.sh("$RRC build a.yaml -o - > b.rrb").go();
    said.exits(0).no_err();
    assert_eq!(folder.bytes("a.rrb"), folder.bytes("b.rrb"));
    assert!(!folder.has("-"));
    folder
        .rrc(&["build", "--check", "a.yaml", "-o", "-"])
        .go()
        .exits(2)
        .no_out()
        .err_has("-o -: `--check`");
}

#[test]
fn a_plan_does_not_depend_on_where_and_when_it_was_built() {
    let folder = Folder::with("a.yaml", GOOD);
    folder.write("deep/er/a.yaml", GOOD);
    folder
        .rrc(&["build", "a.yaml", "-o", "1.rrb"])
        .go()
        .exits(0);
    folder
        .rrc(&["build", "a.yaml", "-o", "2.rrb"])
        .env("TZ", "Asia/Tokyo")
        .go()
        .exits(0);
    folder
        .rrc(&["build", "deep/er/a.yaml", "-o", "3.rrb"])
        .go()
        .exits(0);
    let whole = folder.file("a.yaml");
    folder
        .rrc(&["build", whole.to_str().unwrap(), "-o", "4.rrb"])
        .go()
        .exits(0);
    for other in ["2.rrb", "3.rrb", "4.rrb"] {
        assert!(
            folder.bytes("1.rrb") == folder.bytes(other),
            "{other} differs"
        );
    }
}

#[test]
fn disasm_shows_the_plan() {
    let folder = Folder::with("a.yaml", GOOD);
    folder.rrc(&["build", "a.yaml"]).go().exits(0);
    folder
        .rrc(&["disasm", "a.rrb"])
        .go()
        .exits(0)
        .no_err()
        .out_has("plan \"good\" dialect \"amplifier\"")
        .out_has("echo hi")
        .out_has("step_start \"a\"");
}

#[test]
fn eval_prints_values_as_json_and_truth_under_the_dialect() {
    let folder = Folder::with("v.yaml", "n: 3\nlist: [a, b]\nname: from file\n");
    folder.write("v.json", "{\"n\": 4, \"t\": \"007\"}");
    let cases: [(&[&str], &str); 17] = [
        (&["1 == 1.0"], "true"),
        (&["{{n}}", "--vars", "v.yaml"], "3"),
        (&["{{n}}", "--vars", "v.json"], "4"),
        (&["{{n}}", "--vars", "v.yaml", "--set", "n=5"], "5"),
        (&["{{n}}", "-s", "n=5", "-s", "n=6"], "6"),
        (&["{{t}}", "--vars", "v.json"], "\"007\""),
        (&["{{n}}", "-s", "n=007"], "\"007\""),
        (&["{{n}}", "-s", "n=a=b"], "\"a=b\""),
        (&["{{n}}", "-s", "n="], "\"\""),
        (&["{{n}}", "-s", "n=null"], "null"),
        (&["{{a.b}}", "-s", "a.b=[1,{\"c\":2.5}]"], "[1,{\"c\":2.5}]"),
        (&["{{list}}[-1]", "--vars", "v.yaml"], "\"b\""),
        (&["--bool", "{{n}}", "-s", "n=none"], "false"),
        (
            &["--bool", "--dialect", "amplihack", "n", "-s", "n=none"],
            "true",
        ),
        (&["--dialect", "amplihack", "missing"], "null"),
        (&["--bool", "--dialect", "amplihack", "not missing"], "true"),
        (&["len({{n}}.strip())", "-s", "n= é𝄞 "], "2"),
    ];
    for (args, value) in cases {
        let mut all = vec!["eval"];
        all.extend(args);
        let said = folder.rrc(&all).go().exits(0);
        assert_eq!(said.out, format!("{value}\n"), "{args:?}");
    }
}

#[test]
fn eval_that_fails_shows_the_place() {
    let folder = Folder::new();
    let failing = [
        ("1 < 2 and int('x') > 3", "int('x')", ":1:11"),
        ("a ==", "==", ":1:3"),
        ("{{missing}} == 1", "missing", ":1:3"),
        ("'open", "'open", ":1:1"),
        ("nope(1)", "nope", ":1:1"),
        ("len(1, 2)", "len", ":1:"),
    ];
    for (expression, shown, place) in failing {
        let said = folder.rrc(&["eval", expression]).go().exits(1).no_out();
        assert!(
            said.err.contains(shown) && said.err.contains(place),
            "{said:?}"
        );
    }
    folder
        .rrc(&["eval", "1", "--set", "x"])
        .go()
        .exits(2)
        .no_out()
        .err_has("KEY=VALUE");
    folder
        .rrc(&["eval", "1", "--vars", "none.yaml"])
        .go()
        .exits(2)
        .no_out()
        .err_has("none.yaml");
}

#[test]
fn explain_knows_codes_names_and_slips() {
    let folder = Folder::new();
    for ask in [
        "RRC0201",
        "rrc0201",
        "undefined-variable",
        "Undefined-Variable",
    ] {
        let said = folder.rrc(&["explain", ask]).go().exits(0).no_err();
        assert!(
            said.out.starts_with("# RRC0201 undefined-variable"),
            "{said:?}"
        );
    }
    let list = folder.rrc(&["explain"]).go().exits(0).no_err();
    assert!(list.out.lines().count() > 30, "{list:?}");
    // Every code of the list has a page.
    for line in list.out.lines() {
        let code = line.split_whitespace().next().unwrap();
        folder
            .rrc(&["explain", code])
            .go()
            .exits(0)
            .out_has(&format!("# {code} "));
    }
    folder
        .rrc(&["explain", "undefined-varible"])
        .go()
        .exits(2)
        .no_out()
        .err_has("undefined-variable");
    folder
        .rrc(&["explain", "banana"])
        .go()
        .exits(2)
        .no_out()
        .err_has("lists them all");
}

#[test]
fn completions_are_scripts_of_their_shells() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = folder.rrc(&["completions", shell]).go().exits(0).no_err();
        assert!(
            said.out.contains("rrc") && said.out.contains("deny-warnings"),
            "{shell}"
        );
    }
    folder
        .sh("\"$RRC\" completions bash | bash -n")
        .go()
        .exits(0)
        .no_err();
}

#[test]
fn a_condition_may_begin_with_a_minus() {
    let folder = Folder::new();
    let said = folder.rrc(&["eval", "-1 < 0"]).go().exits(0);
    assert_eq!(said.out.trim(), "true");
}
