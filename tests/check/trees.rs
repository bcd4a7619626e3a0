//! Many files at once.

use crate::binary::Folder;
use crate::{BAD, GOOD};
use std::collections::BTreeSet;

#[test]
fn what_is_no_recipe_is_passed_over_when_found_and_refused_when_named() {
    let others = [
        ("compose.yaml", "services: {a: {image: b}}\n"),
        (
            ".gitlab-ci.yml",
            "stages: [build]\nbuild:\n  stage: build\n  script: [make]\n",
        ),
        (
            "azure.yaml",
            "name: x\ntrigger: [main]\nsteps:\n- script: make\n  displayName: m\n",
        ),
        (
            "ci.yaml",
            "name: x\non: push\njobs:\n  a:\n    steps:\n    - run: make\n",
        ),
        (
            "action.yml",
            "name: x\ninputs: {}\nruns:\n  using: composite\n  steps:\n  - run: a\n",
        ),
        ("list.yaml", "- steps\n- stages\n"),
        ("empty.yaml", ""),
        (
            "tool.json",
            "{\"atip\": {\"version\": \"0.6\"}, \"name\": \"x\"}",
        ),
        ("template.json", "[\"echo\", \"hi\"]"),
        ("broken.json", "{"),
    ];
    let folder = Folder::with("good.yaml", GOOD);
    for (name, text) in others {
        folder.write(name, text);
    }
    folder
        .rrc(&["check", "."])
        .go()
        .exits(0)
        .no_out()
        .err_has("no problems found");
    for name in ["compose.yaml", "list.yaml", "empty.yaml"] {
        for format in ["human", "json", "sarif", "github", "concise"] {
            let args = ["check", "good.yaml", name, "--format", format];
            folder.rrc(&args).go().exits(2).out_has("RRC0010");
        }
    }
    let alone = Folder::with("compose.yaml", others[0].1);
    alone
        .rrc(&["check", "."])
        .go()
        .exits(2)
        .no_out()
        .err_has("no recipes");
}

#[test]
fn a_template_behind_a_byte_order_mark_is_found() {
    let folder = Folder::new();
    folder.write("a.json", "\u{feff}{\"template\": \"echo {a.b}\"}");
    folder.rrc(&["check", "."]).go().exits(1).out_has("RRC0315");
}

#[test]
fn recipes_are_known_however_they_are_written() {
    let folder = Folder::new();
    folder.write(
        "a.yaml",
        "\"name\": a\n\"steps\":\n- {id: a, type: bash, command: 'echo {{a}}'}\n",
    );
    folder.write(
        "b.yaml",
        "{name: b, steps: [{id: b, type: bash, command: 'echo {{b}}'}]}\n",
    );
    folder.write(
        "c.yaml",
        "stages:\n- name: c\n  steps:\n  - {id: c, type: bash, command: 'echo {{c}}'}\nname: c\n",
    );
    folder.write("d.yaml", "name: d\nsteps: []\n");
    let said = folder.rrc(&["check", "--format", "concise"]).go().exits(1);
    for name in ["./a.yaml:", "./b.yaml:", "./c.yaml:", "./d.yaml:"] {
        assert!(said.out.contains(name), "{said:?}");
    }
}

#[test]
fn the_order_is_the_order_of_the_paths_every_time() {
    let folder = Folder::new();
    for number in 0..60 {
        folder.write(&format!("r/{number:02}/a.yaml"), BAD);
    }
    let args = ["check", "--format", "concise", "r"];
    let first = folder.rrc(&args).go().exits(1).out;
    let files: Vec<&str> = first
        .lines()
        .filter_map(|line| line.split(':').next())
        .collect();
    let mut sorted = files.clone();
    sorted.sort_unstable();
    assert_eq!((files.len(), &files), (60, &sorted));
    for _ in 0..5 {
        assert_eq!(folder.rrc(&args).go().exits(1).out, first);
    }
}

#[test]
fn what_is_found_in_a_file_that_is_called_is_said_once() {
    let folder = Folder::with("lib/sub.yaml", BAD);
    for name in ["a", "b", "z"] {
        let call = format!("name: {name}\nsteps:\n- {{id: a, type: recipe, recipe: sub}}\n");
        folder.write(&format!("{name}.yaml"), call);
    }
    let args = ["check", "--format", "concise", "-R", "lib", "."];
    let said = folder.rrc(&args).go().exits(1);
    assert_eq!(
        said.out,
        "./lib/sub.yaml:5:21: error[RRC0201] nothing defines `whom`\n"
    );
    // The same when only callers are asked about, by any name.
    let path = folder.file("lib").display().to_string();
    let args = [
        "check", "--format", "concise", "-R", &path, "a.yaml", "b.yaml", "./a.yaml",
    ];
    let said = folder.rrc(&args).go().exits(1);
    assert_eq!(said.out.lines().count(), 1, "{said:?}");
    let statistics = ["check", "--statistics", "-R", "lib", "."];
    folder
        .rrc(&statistics)
        .go()
        .exits(1)
        .out_has("     1  RRC0201");
}

#[test]
fn fixes_stay_in_their_files() {
    let sub = BAD.replace("name: bad", "name: bad\ncontext: {who: ada}");
    let folder = Folder::with("sub.yaml", &sub);
    let call = "name: call\nsteps:\n- {id: a, type: recipe, recipe: sub}\n";
    folder.write("call.yaml", call);
    // What is wrong with a file that is called is not put into the caller.
    folder.rrc(&["check", "--fix", "call.yaml"]).go().exits(1);
    assert_eq!(
        (folder.read("call.yaml"), folder.read("sub.yaml")),
        (call.into(), sub.clone())
    );
    let said = folder.rrc(&["check", "--fix", "."]).go().exits(0);
    assert!(said.err.contains("1 finding fixed"), "{said:?}");
    assert_eq!(folder.read("sub.yaml"), sub.replace("whom", "who"));
    assert_eq!(folder.read("call.yaml"), call);
}

#[test]
fn what_callers_give_is_not_mended() {
    // In this dialect a recipe sees what its callers have.
    let sub = "\
name: sub
steps:
  - id: a
    command: echo {{notes_path}}
    output: notes_update
  - id: b
    command: echo {{notes_update}} {{notes_path}}
";
    let call = "\
name: call
context: {notes_path: x}
steps:
  - {id: c, recipe: sub}
  - {id: d, command: 'echo $RECIPE_VAR_notes_path'}
";
    let folder = Folder::with("sub.yaml", sub);
    folder.write("call.yaml", call);
    folder
        .rrc(&["check", "--unsafe-fixes", "."])
        .go()
        .exits(0)
        .err_has("no problems found");
    assert_eq!(folder.read("sub.yaml"), sub);
    assert_eq!(folder.read("call.yaml"), call);
}

#[test]
fn progress_is_not_for_pipes() {
    let folder = Folder::new();
    for number in 0..200 {
        folder.write(&format!("{number}.yaml"), GOOD);
    }
    let said = folder.rrc(&["check", "."]).go().exits(0);
    assert_eq!(said.err, "no problems found\n");
}

#[test]
fn a_recipe_that_many_call_is_to_each_what_it_would_be_alone() {
    let folder = Folder::new();
    // Nothing in it says in which dialect it is; whoever calls it does.
    let plain = "name: plain\nsteps:\n  - {id: p, type: bash, command: 'echo {{nobody}} {{x}}'}\n";
    folder.write("plain.yaml", plain);
    let base = "name: base\nsteps:\n  - {id: b, command: 'echo {{nothing}}', output: unread}\n  \
                - {id: c, command: 'true', condition: 'nought == 1'}\n";
    folder.write("base.yaml", base);
    let call = "  - {id: call, type: recipe, recipe: plain, context: {x: 1}}\n";
    let calls = [
        ("one", "condition: \"{{a}} == 'b'\""),
        ("two", "condition: \"a == 'b'\""),
        ("three", "condition: \"{{c}} == 'b'\""),
        ("four", "working_dir: ."),
    ];
    for (name, sign) in calls {
        let extends = if name == "two" || name == "four" {
            "extends: base\n"
        } else {
            ""
        };
        let own = format!("  - {{id: own, type: bash, command: 'echo {{{{q}}}}', {sign}}}\n");
        let text = format!("name: {name}\n{extends}context: {{a: 1}}\nsteps:\n{own}{call}");
        folder.write(&format!("{name}.yaml"), text);
    }
    let said = |path: &str| -> BTreeSet<String> {
        let said = folder.rrc(&["check", "--format", "concise", path]).go();
        said.out.lines().map(str::to_string).collect()
    };
    let each: BTreeSet<String> = calls
        .iter()
        .flat_map(|(name, _)| said(&format!("./{name}.yaml")))
        .collect();
    let about = |file: &str| each.iter().filter(|line| line.starts_with(file)).count();
    assert!(about("./plain.yaml") >= 2, "{each:?}");
    assert!(about("./base.yaml") >= 1, "{each:?}");
    assert_eq!(said("."), each);
}

#[test]
fn a_path_means_the_same_however_it_is_typed() {
    let folder = Folder::new();
    let kept = "name: kept\nsteps:\n- {id: a, type: bash, command: 'echo {{whom}}'}\n";
    folder.write("amplifier-bundle/recipes/deep/kept.yaml", kept);
    folder.write("my.claude/recipes/other.yaml", kept);
    folder.write("amplifier-bundle/recipes-old/other.yaml", kept);
    folder.write("up.yaml", kept);
    for (place, path, warned) in [
        ("", "amplifier-bundle/recipes/deep/kept.yaml", true),
        ("amplifier-bundle", "recipes/deep/kept.yaml", true),
        ("amplifier-bundle/recipes", "deep", true),
        ("amplifier-bundle/recipes/deep", "kept.yaml", true),
        ("amplifier-bundle/recipes/deep", ".", true),
        ("amplifier-bundle/recipes", "../../up.yaml", false),
        ("", "my.claude/recipes/other.yaml", false),
        ("my.claude/recipes", "other.yaml", false),
        ("", "amplifier-bundle/recipes-old", false),
    ] {
        let script = format!("cd ./{place} && $RRC check --format concise {path}");
        let said = folder.sh(&script).go().exits(if warned { 0 } else { 1 });
        assert_eq!(
            said.out.contains("warning[RRC0201]"),
            warned,
            "{place} {path}: {said:?}"
        );
    }
}

#[test]
fn facts_about_programs_are_files_of_ours() {
    let folder = Folder::with(
        "tools/x.json",
        r#"{"atip": {"version": "0.6"}, "name": "x"}"#,
    );
    folder.write("tools/other.json", "{\"name\": \"x\"}");
    let said = folder.rrc(&["check", "tools"]).go().exits(0);
    assert_eq!(said.err, "no problems found\n");
}

#[test]
fn a_rename_is_a_fix_only_where_it_is_enough() {
    let folder = Folder::new();
    // The value does not fit, another kind of step has the field, or it is there already.
    let kept = "\
name: kept
parameters:
  path: {type: string, default: x}
steps:
  - id: a
    type: agent
    prompt: hello
    inputs: {x: 1}
    outputs: [one, two]
  - id: b
    type: bash
    command: echo
    timeout: 3
    timeout_seconds: 4
";
    folder.write("kept.yaml", kept);
    folder.rrc(&["check", "--fix", "kept.yaml"]).go().exits(1);
    assert_eq!(folder.read("kept.yaml"), kept);
    let sub = "name: sub\nsteps:\n- {id: s, type: bash, command: 'echo {{x}}'}\n";
    folder.write("sub.yaml", sub);
    let call = "\
name: call
context:
  patterns_update: a
steps:
  - id: a
    type: recipe
    recipe: sub
    inputs: {x: 1}
  - id: b
    command: echo {{patterns_updates}}
";
    folder.write("call.yaml", call);
    folder.rrc(&["check", "--fix", "call.yaml"]).go().exits(0);
    // A caller may give the other name, so that is not guessed.
    assert_eq!(folder.read("call.yaml"), call.replace("inputs", "context"));
}

#[test]
fn a_recipe_that_runs_twice_at_once_is_one_mistake() {
    let folder = Folder::new();
    let sets: String = (0..50)
        .map(|number| format!("- {{id: s{number}, command: x, output: o{number}}}\n"))
        .collect();
    folder.write("sub.yaml", format!("name: sub\nsteps:\n{sets}"));
    let call = "  type: recipe\n  recipe: sub\n  parallel_group: g\n";
    folder.write(
        "a.yaml",
        format!("name: a\nsteps:\n- id: one\n{call}- id: two\n{call}- id: three\n{call}"),
    );
    let said = folder.rrc(&["check", "--format", "concise", "a.yaml"]);
    let said = said.go().exits(1);
    let errors: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.contains("RRC0206"))
        .collect();
    assert_eq!(errors.len(), 2, "{said:?}");
    let all = errors
        .iter()
        .all(|line| line.ends_with("both set `o0` and 49 other variables"));
    assert!(all, "{said:?}");
}

#[test]
fn a_file_for_either_runner_is_told_what_one_of_them_does() {
    let folder = Folder::new();
    let quoted = "- {id: b, type: bash, command: \"echo '{{a}}'\"}\n";
    let head = "name: a\ndescription: d\nversion: 1.0.0\ncontext: {a: 1}\n";
    folder.write("either.yaml", format!("{head}steps:\n{quoted}"));
    folder.write(
        "one.yaml",
        format!("{head}steps:\n{quoted}- {{id: c, type: bash, command: x, on_error: fail}}\n"),
    );
    let said = folder.rrc(&["check", "-v", "--format", "concise"]);
    let said = said.go().exits(0);
    let notes: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.contains("RRC0518"))
        .collect();
    assert_eq!(notes.len(), 1, "{said:?}");
    assert!(notes[0].starts_with("./either.yaml:"), "{said:?}");
}
