//! Help, version, usage errors, streams and colours.

use crate::binary::Folder;
use crate::{BAD, GOOD};

const COMMANDS: [(&str, &str); 11] = [
    ("check", "--deny-warnings"),
    ("build", "--output"),
    ("run", "--set"),
    ("runs", "--prune"),
    ("eval", "--bool"),
    ("expand", "--argv"),
    ("disasm", "<PLAN>"),
    ("explain", "[CODE]"),
    ("list", "--recipe-dir"),
    ("lsp", "--verbose"),
    ("completions", "<SHELL>"),
];

#[test]
fn help_says_what_a_command_does_and_takes() {
    let folder = Folder::new();
    let all = folder.rrc(&["--help"]).go().exits(0).no_err();
    assert!(all.out.contains("Exit codes"), "{}", all.out);
    for (command, option) in COMMANDS {
        assert!(all.out.contains(&format!("\n  {command} ")), "{command}");
        for ask in [
            &[command, "--help"][..],
            &[command, "-h"],
            &["help", command],
        ] {
            folder
                .rrc(ask)
                .go()
                .exits(0)
                .no_err()
                .out_has(&format!("Usage: rrc {command}"))
                .out_has(option);
        }
    }
}

#[test]
fn every_command_has_a_version() {
    let folder = Folder::new();
    let version = env!("CARGO_PKG_VERSION");
    folder
        .rrc(&["--version"])
        .go()
        .exits(0)
        .no_err()
        .out_has(version);
    folder.rrc(&["-V"]).go().exits(0).no_err().out_has(version);
    for (command, _) in COMMANDS {
        let said = folder.rrc(&[command, "--version"]).go();
        said.exits(0).no_err().out_has(version);
    }
}

#[test]
fn wrong_usage_is_said_on_standard_error() {
    let folder = Folder::with("a.yaml", GOOD);
    let wrong: [&[&str]; 16] = [
        &[],
        &["chekc"],
        &["build"],
        &["run"],
        &["eval"],
        &["disasm"],
        &["completions", "nosh"],
        &["check", "--formt", "json", "a.yaml"],
        &["check", "--format", "xml", "a.yaml"],
        &["check", "--color", "sometimes", "a.yaml"],
        &["check", "--dialect", "klingon", "a.yaml"],
        &["run", "a.yaml", "--jobs", "0"],
        &["run", "a.yaml", "--timeout", "soon"],
        &["run", "a.yaml", "--timeout", "-1"],
        &["run", "a.yaml", "--set", "nothing"],
        &["run", "a.yaml", "-C", "nowhere"],
    ];
    for args in wrong {
        let said = folder.rrc(args).go().exits(2).no_out();
        assert!(!said.err.trim().is_empty(), "{said:?}");
    }
    folder.rrc(&["chekc"]).go().exits(2).err_has("check");
    let said = folder.rrc(&["a.yaml"]).go().exits(2).no_out();
    said.err_has("to run it, write 'rrc run a.yaml'");
    for seconds in ["soon", "-1", "0", "nan", "1e300"] {
        let said = folder.rrc(&["run", "a.yaml", "--timeout", seconds]).go();
        said.exits(2)
            .no_out()
            .err_has("give a number of seconds above 0");
    }
    for days in ["soon", "-1"] {
        let said = folder.rrc(&["runs", "--prune", "--older-than", days]).go();
        said.exits(2).no_out().err_has("give a number of days");
    }
    let said = folder.rrc(&["run", "a.yaml", "--jobs", "-1"]).go().exits(2);
    said.no_out().err_has("-1 is not in 1..=");
    folder
        .rrc(&["check", "--formt", "json"])
        .go()
        .exits(2)
        .err_has("--format");
    folder
        .rrc(&["run", "a.yaml", "--vars", "no.yaml"])
        .go()
        .exits(2)
        .no_out()
        .err_has("no.yaml");
}

#[test]
fn an_unknown_code_is_wrong_usage_and_the_nearest_is_named() {
    let folder = Folder::with("a.yaml", GOOD);
    for option in ["--select", "--ignore"] {
        folder
            .rrc(&["check", option, "undefined-varable", "a.yaml"])
            .go()
            .exits(2)
            .no_out()
            .err_has("undefined-variable");
    }
}

#[test]
fn data_goes_to_standard_output_and_the_rest_to_standard_error() {
    let folder = Folder::with("a.yaml", BAD);
    folder.write("good.yaml", GOOD);
    let said = folder.rrc(&["check", "a.yaml"]).go().exits(1);
    assert!(said.out.contains("RRC0201") && !said.err.contains("RRC0201"));
    assert!(
        said.err.contains("1 error, 1 warning in 1 file"),
        "{said:?}"
    );
    for format in ["concise", "json", "sarif", "github"] {
        folder
            .rrc(&["check", "a.yaml", "--format", format])
            .go()
            .exits(1)
            .no_err();
    }
    // What stands in the way of a run or a plan is not their data.
    folder
        .rrc(&["run", "a.yaml"])
        .go()
        .exits(2)
        .no_out()
        .err_has("RRC0201");
    folder
        .rrc(&["build", "a.yaml"])
        .go()
        .exits(2)
        .no_out()
        .err_has("RRC0201");
    folder
        .rrc(&["build", "good.yaml"])
        .go()
        .exits(0)
        .no_out()
        .err_has("good.rrb");
}

#[test]
fn quiet_says_nothing_on_success() {
    let folder = Folder::with("a.yaml", GOOD);
    folder
        .rrc(&["check", "-q", "a.yaml"])
        .go()
        .exits(0)
        .no_out()
        .no_err();
    folder
        .rrc(&["build", "-q", "a.yaml"])
        .go()
        .exits(0)
        .no_out()
        .no_err();
    folder
        .rrc(&["-q", "run", "--validate-only", "a.yaml"])
        .go()
        .exits(0)
        .no_out()
        .no_err();
    folder.write("bad.yaml", BAD);
    folder
        .rrc(&["check", "-q", "bad.yaml"])
        .go()
        .exits(1)
        .no_err()
        .out_has("RRC0201");
}

#[test]
fn verbose_says_the_dialect_and_why() {
    let amplihack = "name: a\nsteps:\n- {id: a, command: 'true'}\n";
    let pinned =
        "# rrc: dialect = amplihack\nname: a\nsteps:\n- {id: a, type: bash, command: 'true'}\n";
    let cases = [
        (GOOD, &[][..], "amplifier", "nothing"),
        (GOOD, &["--dialect", "amplihack"], "amplihack", "asked"),
        (amplihack, &[], "amplihack", "`command` without `type`"),
        (pinned, &[], "amplihack", "comment"),
    ];
    for (text, args, dialect, why) in cases {
        let folder = Folder::with("a.yaml", text);
        let mut all = vec!["check", "-v", "a.yaml"];
        all.extend(args);
        let said = folder.rrc(&all).go().exits(0).no_out();
        assert!(
            said.err.contains(dialect) && said.err.contains(why),
            "{said:?}"
        );
    }
}

/// Whether a command coloured its findings.
fn colours(args: &[&str], env: &[(&str, &str)]) -> bool {
    let folder = Folder::with("a.yaml", BAD);
    let mut all = vec!["check", "a.yaml"];
    all.extend(args);
    let rrc = folder.rrc(&all);
    let rrc = env
        .iter()
        .fold(rrc, |rrc, (name, value)| rrc.env(name, value));
    rrc.go().exits(1).out.contains('\x1b')
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    assert!(!colours(&[], &[]), "a pipe is no terminal");
    assert!(!colours(&[], &[("TERM", "dumb")]));
    assert!(colours(&["--color", "always"], &[]));
    assert!(colours(
        &["--color=always"],
        &[("NO_COLOR", "1"), ("TERM", "dumb")]
    ));
    assert!(!colours(&["--color", "never"], &[("FORCE_COLOR", "1")]));
    assert!(colours(&[], &[("FORCE_COLOR", "1")]));
    assert!(colours(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colours(&[], &[("CLICOLOR_FORCE", "0")]), "0 asks for none");
    assert!(!colours(&[], &[("FORCE_COLOR", "0")]), "0 asks for none");
    assert!(!colours(&[], &[("NO_COLOR", "1"), ("FORCE_COLOR", "1")]));
    assert!(!colours(&[], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
    assert!(
        colours(&[], &[("NO_COLOR", ""), ("FORCE_COLOR", "1")]),
        "empty is unset"
    );
    assert!(!colours(&["--format", "json"], &[("FORCE_COLOR", "1")]));
    assert!(!colours(&["--format", "github"], &[("FORCE_COLOR", "1")]));
    assert!(!colours(&["--output-file", "/dev/stdout"], &[]));
}

#[test]
fn a_terminal_has_colour_unless_it_is_dumb() {
    let folder = Folder::with("a.yaml", BAD);
    let on_terminal = |env: &str| {
        // `script` gives the command a terminal of its own.
        folder
            .sh(&format!(
                "{env} script -qec \"$RRC check a.yaml\" /dev/null </dev/null"
            ))
            .go()
    };
    let said = on_terminal("TERM=xterm");
    if said.code == Some(127) {
        eprintln!("skipped: there is no `script` to make a terminal");
        return;
    }
    assert!(said.out.contains('\x1b'), "{said:?}");
    assert!(!on_terminal("TERM=dumb").out.contains('\x1b'));
    assert!(!on_terminal("TERM=xterm NO_COLOR=1").out.contains('\x1b'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    for number in 0..200 {
        folder.write(&format!("r/{number}.yaml"), BAD);
    }
    for command in [
        "check r",
        "check --format json r",
        "check --format sarif r",
        "check --format concise r",
        "explain",
        "explain RRC0201",
        "completions zsh",
        "--help",
        "run --help",
    ] {
        // `true` reads nothing at all; `head` reads some.
        for reader in ["true", "head -1"] {
            let said = folder
                .sh(&format!("\"$RRC\" {command} | {reader}"))
                .go()
                .exits(0);
            let summary = said.err.contains(" errors, ") && said.err.lines().count() == 1;
            assert!(said.err.is_empty() || summary, "{said:?}");
        }
    }
}

#[test]
fn a_full_disk_is_said() {
    let folder = Folder::with("a.yaml", BAD);
    if !std::path::Path::new("/dev/full").exists() {
        eprintln!("skipped: there is no /dev/full");
        return;
    }
    folder
        .sh("\"$RRC\" check --format json a.yaml > /dev/full")
        .go()
        .exits(2)
        .err_has("rrc: standard output: No space left");
    folder
        .sh("\"$RRC\" check a.yaml --output-file /dev/full")
        .go()
        .exits(2)
        .err_has("/dev/full");
    folder.write("run.yaml", "name: t\nsteps: [{id: a, command: echo}]\n");
    for format in ["text", "events", "json"] {
        let run = format!("\"$RRC\" run run.yaml --output-format {format} > /dev/full");
        let space = "rrc: standard output: No space left";
        folder.sh(&run).go().exits(2).err_has(space);
    }
    // What a run says beside its results is no reason not to run.
    folder.write(
        "run.yaml",
        "name: t\nsteps: [{id: a, command: no-such-program || true}]\n",
    );
    let unsaid = folder
        .sh("\"$RRC\" run run.yaml 2> /dev/full")
        .go()
        .exits(0);
    unsaid.out_has("t: completed");
    folder
        .rrc(&["check", "a.yaml", "--output-file", "no/such/folder"])
        .go()
        .exits(2)
        .err_has("no/such/folder");
}

#[test]
fn a_place_that_cannot_be_read_or_written_is_named_in_plain_words() {
    let folder = Folder::with("a.yaml", GOOD);
    let gone = "no/such: there is no such file or directory";
    let no_place = "no/such: there is no directory `no`";
    let cases: [(&[&str], &str); 5] = [
        (&["check", "--config", "no/such", "a.yaml"], gone),
        (&["check", "--output-file", "no/such", "a.yaml"], no_place),
        (&["build", "a.yaml", "-o", "no/such"], no_place),
        (&["build", "a.yaml", "-o", "."], ".: it is a directory"),
        (
            &["build", "a.yaml", "-o", "a.yaml/x"],
            "a.yaml/x: what should be a directory is a file",
        ),
    ];
    for (args, words) in cases {
        folder.rrc(args).go().exits(2).no_out().err_has(words);
    }
}

#[test]
fn what_is_listed_can_be_called() {
    let recipe = "\u{feff}name: \"What it does\"\nsteps:\n  - {id: hello, command: echo hello}\n";
    let folder = Folder::with("greet.yaml", recipe);
    let script = "mkfifo pipe.yaml && timeout 10 \"$RRC\" list";
    let said = folder.sh(script).go().exits(0).no_err();
    assert_eq!(said.out, "greet  greet.yaml\n");
    folder.rrc(&["run", "greet"]).go().exits(0);
}

#[test]
fn a_recipe_on_the_search_path_is_called_by_its_name() {
    let recipe = "name: greet\nsteps:\n  - {id: hello, command: echo hello}\n";
    let folder = Folder::with("greet.yaml", recipe);
    folder.write("kept/wave.yml", recipe);
    folder.rrc(&["run", "greet"]).go().exits(0);
    folder.rrc(&["run", "-R", "kept", "wave"]).go().exits(0);
    folder.rrc(&["build", "greet"]).go().exits(0);
    assert!(folder.has("greet.rrb"));
    folder
        .rrc(&["run", "wave"])
        .go()
        .exits(3)
        .no_out()
        .err_has("there is no recipe `wave`")
        .err_has("rrc list");
    // A file of that name is the file.
    folder.write("wave", recipe);
    folder.rrc(&["run", "wave"]).go().exits(0);
}

#[test]
fn a_run_says_which_dialect_it_reads_when_asked() {
    let recipe = "name: greet\nsteps:\n  - {id: hello, command: echo hello}\n";
    let folder = Folder::with("greet.yaml", recipe);
    folder
        .rrc(&["run", "-v", "greet.yaml"])
        .go()
        .exits(0)
        .err_has("read as amplihack, because of `command` without `type` in line 3");
    folder.rrc(&["run", "greet.yaml"]).go().exits(0).no_err();
}

#[test]
fn what_is_given_is_not_said_to_be_missing() {
    let recipe = "name: greet\nsteps:\n  - {id: hello, command: 'echo {{who}} {{whom}}'}\n";
    let folder = Folder::with("greet.yaml", recipe);
    let said = folder
        .rrc(&["run", "-s", "who=ada", "greet.yaml"])
        .go()
        .exits(0)
        .err_has("nothing defines `whom`");
    assert!(!said.err.contains("`who`;"), "{said:?}");
}

#[test]
fn slips_in_names_of_tags_and_secrets_are_said() {
    let recipe = "name: t\ncontext: {password: x}\nsteps:\n  \
                  - {id: a, command: 'true', when_tags: [slow]}\n";
    let folder = Folder::with("t.yaml", recipe);
    folder
        .rrc(&[
            "run",
            "--include-tags",
            "slwo",
            "--secret",
            "pasword",
            "t.yaml",
        ])
        .go()
        .exits(0)
        .err_has("no step has the tag `slwo`")
        .err_has("no variable `pasword` is there to hide; did you mean `password`?");
    let quiet = [
        "run",
        "--include-tags",
        " slow , slow",
        "--secret",
        "password",
        "t.yaml",
    ];
    let said = folder.rrc(&quiet).go().exits(0).no_err();
    assert!(said.out.contains("completed a"), "{said:?}");
}

#[test]
fn what_names_no_variable_is_not_hidden_in_silence() {
    let recipe = "name: t\ncontext: {cfg: {pw: ''}}\nsteps:\n  \
                  - {id: a, type: bash, command: 'echo {{cfg.pw}}', output: o}\n";
    let folder = Folder::with("t.yaml", recipe);
    for (name, help) in [
        ("cfg.pw", "name `cfg`: all that is in it is hidden"),
        ("cfg[0]", "name `cfg`: all that is in it is hidden"),
        ("{{cfg}}", "write the name without braces: `cfg`"),
        ("", "use letters, digits, `_` and `-`"),
        ("a b", "use letters, digits, `_` and `-`"),
    ] {
        let words = format!("`{name}` names no variable; {help}");
        let args = ["run", "t.yaml", "--secret", name];
        folder.rrc(&args).go().exits(2).no_out().err_has(&words);
        folder.write("rrc.toml", format!("[run]\nsecrets = [\"{name}\"]\n"));
        let said = folder.rrc(&["run", "t.yaml"]).go();
        said.exits(2).no_out().err_has(&words);
        std::fs::remove_file(folder.file("rrc.toml")).unwrap();
    }
    let odd = ["run", "t.yaml", "--secret", "odd.name"];
    folder.rrc(&odd).env("odd.name", "word").go().exits(0);
}

#[test]
fn an_audit_that_cannot_be_written_names_the_place() {
    let folder = Folder::with("greet.yaml", GOOD);
    folder.write("taken", "");
    folder
        .rrc(&["run", "--audit-dir", "taken/deep", "greet.yaml"])
        .go()
        .exits(2)
        .err_has("--audit-dir taken/deep: ");
}

#[test]
fn a_directory_that_is_gone_is_named_as_what_is_missing() {
    let folder = Folder::with("a.yaml", "name: t\nsteps: [{id: a, command: echo}]\n");
    folder
        .sh("here=$PWD; mkdir gone; cd gone; rmdir ../gone; \"$RRC\" run \"$here/a.yaml\"")
        .go()
        .exits(2)
        .err_has("rrc: the directory that rrc was started in: ");
}

#[test]
fn options_of_other_programs_are_told_their_names_here() {
    let folder = Folder::with("a.yaml", GOOD);
    let said = |args: &[&str], tip: &str| {
        folder.rrc(args).go().exits(2).err_has(tip);
    };
    said(&["run", "a.yaml", "user=ada"], "write '-s user=ada'");
    said(&["run", "a.yaml", "--json"], "write '--output-format json'");
    said(&["run", "a.yaml", "-c", "a=1"], "write '-s NAME=VALUE'");
    said(&["check", "a.yaml", "--json"], "write '--format json'");
    said(&["run", "-"], "`run` reads no recipe from standard input");
}

#[test]
fn a_slip_is_told_what_to_write_instead() {
    let folder = Folder::with("a.yaml", GOOD);
    for (args, help) in [
        (
            &["check", "--select", "RRC0"][..],
            "`rrc explain` lists them all",
        ),
        (
            &["disasm", "a.yaml"],
            "make a plan of it first, with `rrc build a.yaml`",
        ),
        (&["run", "a.yaml", "--var", "n=1"], "write '-s NAME=VALUE'"),
        (
            &["run", "a.yaml", "--vars", "n=1"],
            "to set a variable, use `-s`",
        ),
        (&["lint", "a.yaml"], "write 'rrc check'"),
        (&["compile", "a.yaml"], "write 'rrc build'"),
        (&["resume"], "write 'rrc run --resume'"),
    ] {
        folder.rrc(args).go().exits(2).no_out().err_has(help);
    }
}

#[test]
fn a_fix_is_said_to_be_applied_by_who_applies_it() {
    let folder = Folder::with("a.yaml", BAD);
    let said = folder.rrc(&["check", "a.yaml"]).go().exits(1);
    said.out_has("(apply with --fix)");
    for command in ["run", "build"] {
        let said = folder.rrc(&[command, "a.yaml"]).go().exits(2);
        said.err_has("(apply with rrc check --fix)");
    }
    let said = folder.rrc(&["eval", "x = 1"]).go().exits(1);
    assert!(said.err.contains("fix: write `==`\n"), "{said:?}");
}
