//! `rrc.toml`.

use crate::binary::Folder;
use crate::{BAD, GOOD};

#[test]
fn what_is_wrong_in_it_is_said_with_its_place() {
    let cases = [
        (
            "recipe-paht = []\n",
            "rrc.toml:1:1: rrc.toml has no `recipe-paht`; did you mean `recipe-path`?",
        ),
        (
            "[check]\nignroe = []\n",
            "rrc.toml:2:1: [check] has no `ignroe`; did you mean `ignore`?",
        ),
        (
            "[run]\njobs = \"8\"\n",
            "rrc.toml:2:8: `jobs` must be a whole number from 1 to 4294967295, not a string",
        ),
        (
            "[run]\njobs = 0\n",
            "rrc.toml:2:8: `jobs` must be a whole number from 1 to 4294967295, not 0",
        ),
        (
            "[run]\ndefault-timeout = -1\n",
            "rrc.toml:2:19: `default-timeout` must be a number of seconds above 0 and up to 1000000000, not -1",
        ),
        (
            "[run]\nsecrets = \"A\"\n",
            "rrc.toml:2:11: `secrets` must be a list of texts, not a string",
        ),
        (
            "recipe-path = [1]\n",
            "rrc.toml:1:16: `recipe-path` must be a list of texts, not an integer",
        ),
        (
            "[check]\nignore = [\"RRC9999\"]\n",
            "rrc.toml:2:11: there is no finding `RRC9999`",
        ),
        (
            "[check]\ndeny-warnings = 1\n",
            "rrc.toml:2:17: `deny-warnings` must be true or false",
        ),
        (
            "[[dialect]]\npaths = [\"a\"]\nname = \"amplihak\"\n",
            "rrc.toml:3:8: there is no dialect `amplihak`; did you mean `amplihack`?",
        ),
        (
            "[[dialect]]\nname = \"amplihack\"\n",
            "[[dialect]] needs `paths`",
        ),
        (
            "check = 1\n",
            "rrc.toml:1:9: `check` must be a table, not an integer",
        ),
        ("a = \n", "rrc.toml:1:5: "),
        (
            "[agents.\"x\"]\ncomand = \"a\"\n",
            "rrc.toml:2:1: [agents.\"x\"] has no `comand`; did you mean `command`?",
        ),
    ];
    for (text, words) in cases {
        let folder = Folder::with("a.yaml", GOOD);
        folder.write("rrc.toml", text);
        let commands: [&[&str]; 3] = [&["check"], &["run", "a.yaml"], &["build", "a.yaml"]];
        for command in commands {
            folder.rrc(command).go().exits(2).no_out().err_has(words);
        }
        folder.rrc(&["check", "--isolated", "a.yaml"]).go().exits(0);
    }
    let folder = Folder::with("a.yaml", GOOD);
    folder.write("rrc.toml", "[run]\nsecrets = 1\njobs = 0\n[more]\n");
    let said = folder.rrc(&["check"]).go().exits(2).no_out();
    let at = |place| said.err.find(place).unwrap_or(usize::MAX);
    let (first, second, third) = (at("toml:2:11: "), at("toml:3:8: "), at("toml:4:2: "));
    assert!(
        first < second && second < third && third < said.err.len(),
        "{said:?}"
    );
    folder.write("rrc.toml", b"\xff");
    let said = folder.rrc(&["check"]).go().exits(2).no_out();
    said.err_has("rrc.toml: it is not UTF-8 text");
}

#[test]
fn the_nearest_one_above_a_file_counts() {
    let folder = Folder::with("rrc.toml", "[check]\nignore = [\"RRC0201\"]\n");
    folder.write("a.yaml", BAD);
    folder.write("deep/er/b.yaml", BAD);
    folder.write("own/rrc.toml", "");
    folder.write("own/c.yaml", BAD);
    let said = folder
        .rrc(&["check", ".", "--format", "concise"])
        .go()
        .exits(1);
    assert!(
        said.out.starts_with("./own/c.yaml:") && said.out.lines().count() == 1,
        "{said:?}"
    );
    // The command line decides before the configuration does.
    let all = ["check", ".", "--format", "concise", "--select", "RRC0201"];
    let said = folder.rrc(&all).go().exits(1);
    assert_eq!(said.out.lines().count(), 3, "{said:?}");
    let said = folder
        .rrc(&["check", ".", "--isolated", "--format", "concise"])
        .go();
    assert_eq!(said.exits(1).out.lines().count(), 3);
    folder
        .rrc(&["check", "own", "--config", "rrc.toml"])
        .go()
        .exits(0);
    folder
        .rrc(&["check", "own", "--config", "none.toml"])
        .go()
        .exits(2)
        .err_has("none.toml");
}

#[test]
fn select_and_deny_warnings() {
    let text = "name: a\ncontext: {user: ada}\nsteps:\n- {id: a, type: bash, command: 'echo {{ user }} {{who}}'}\n";
    let folder = Folder::with("a.yaml", text);
    folder.write("rrc.toml", "[check]\nselect = [\"not-a-hole\"]\n");
    let said = folder.rrc(&["check", "--format", "concise"]).go().exits(0);
    assert!(
        said.out.contains("RRC0304") && !said.out.contains("RRC0201"),
        "{said:?}"
    );
    folder.write(
        "rrc.toml",
        "[check]\nselect = [\"not-a-hole\"]\ndeny-warnings = true\n",
    );
    folder.rrc(&["check"]).go().exits(1);
    folder.rrc(&["check", "--exit-zero"]).go().exits(0);
}

#[test]
fn recipes_are_found_on_the_path_after_those_of_the_command_line() {
    let call = "name: a\nsteps:\n- {id: a, type: recipe, recipe: sub}\n";
    let sub = |word: &str| {
        format!(
            "name: sub\nsteps:\n- {{id: s, type: bash, command: 'echo {word}', output: said}}\n"
        )
    };
    let folder = Folder::with("flows/a.yaml", call);
    folder.write("lib/sub.yaml", sub("configured"));
    folder.write("other/sub.yaml", sub("asked"));
    folder
        .rrc(&["check", "flows"])
        .go()
        .exits(1)
        .out_has("RRC0204");
    folder.write("rrc.toml", "recipe-path = [\"lib\"]\n");
    folder.rrc(&["check", "flows"]).go().exits(0);
    let json = ["run", "flows/a.yaml", "--output-format", "json"];
    folder.rrc(&json).go().exits(0).out_has("configured");
    let asked = [&json[..], &["-R", "other"]].concat();
    folder.rrc(&asked).go().exits(0).out_has("asked");
    // `~` is a home, and the file may be anywhere above.
    folder.write("rrc.toml", "recipe-path = [\"~/kept\"]\n");
    folder.write("home/kept/sub.yaml", sub("at home"));
    let home = folder.file("home").display().to_string();
    folder
        .rrc(&json)
        .env("HOME", &home)
        .go()
        .exits(0)
        .out_has("at home");
}

#[test]
fn dialects_are_pinned_by_path() {
    let folder = Folder::with("legacy/deep/a.yaml", GOOD);
    folder.write("new/a.yaml", GOOD);
    folder.write(
        "new/said.yaml",
        format!("# rrc: dialect = amplifier\n{GOOD}"),
    );
    folder.write(
        "rrc.toml",
        "[[dialect]]\npaths = [\"legacy/**\", \"new/said.yaml\"]\nname = \"amplihack\"\n",
    );
    let said = folder.rrc(&["check", "-v", "."]).go();
    let said = said
        .err_has("legacy/deep/a.yaml: read as amplihack, as rrc.toml says")
        .err_has("new/a.yaml: read as amplifier, as nothing in it");
    said.err_has("new/said.yaml: read as amplifier, as a comment in it says");
    let asked = ["check", "-v", "legacy", "--dialect", "amplifier"];
    folder
        .rrc(&asked)
        .go()
        .err_has("read as amplifier, as asked");
    let run = ["run", "legacy/deep/a.yaml", "--output-format", "json"];
    folder
        .rrc(&run)
        .go()
        .exits(0)
        .out_has("\"dialect\":\"amplihack\"");
}

#[test]
fn a_default_timeout_is_for_steps_that_say_nothing() {
    let text = "name: a\nsteps:\n- {id: slow, type: bash, command: sleep 20}\n";
    let folder = Folder::with("a.yaml", text);
    folder.write("rrc.toml", "[run]\ndefault-timeout = 0.3\njobs = 2\n");
    folder.rrc(&["run", "a.yaml"]).go().exits(1).out_has("slow");
    let own = "name: a\nsteps:\n- {id: quick, type: bash, command: sleep 0.6, timeout: 30}\n";
    folder.write("a.yaml", own);
    folder.rrc(&["run", "a.yaml"]).go().exits(0);
}

#[test]
fn a_fix_is_applied_to_what_is_found_under_it_and_to_nothing_else() {
    let recipe = GOOD.replacen(
        "steps:",
        "secrets: [tokn]\ncontext:\n  token: \"\"\nsteps:",
        1,
    );
    let folder = Folder::with("a.yaml", &recipe);
    folder.write("rrc.toml", "[run]\nsecrets = [\"token\"]\n");
    let fix = ["check", "--fix", "--unsafe-fixes", "a.yaml"];
    folder.rrc(&["check", "a.yaml"]).go().exits(0).no_out();
    folder.rrc(&fix).go().exits(0);
    assert_eq!(folder.read("a.yaml"), recipe);
    folder.rrc(&[&fix[..], &["--isolated"]].concat()).go();
    assert_eq!(folder.read("a.yaml"), recipe.replace("tokn", "token"));
}
