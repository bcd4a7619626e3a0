//! What would run: a dry run follows a recipe as far as a run would go.

use crate::binary::Folder;
use crate::{amplifier, run};

#[test]
fn what_would_run_ends_where_the_limits_end_a_run() {
    let recipe = |calls: &str| {
        format!(
            "# rrc: dialect = amplihack\nname: a\nsteps:\n  - {{id: q, command: echo yes}}\n{calls}"
        )
    };
    let call = |id: &str| format!("  - {{id: {id}, recipe: a, condition: \"q == 'yes'\"}}\n");
    let folder = Folder::with("a.yaml", recipe(&call("again")));
    let shown = folder
        .rrc(&["run", "--dry-run", "a.yaml"])
        .go()
        .exits(0)
        .out;
    assert_eq!(shown.matches("planned q").count(), 7, "{shown}");
    let limit = "recipes would call each other deeper than the 6 allowed";
    assert_eq!(shown.matches(limit).count(), 1, "{shown}");
    // Three calls each make more steps than anybody reads.
    let calls = ["one", "two", "three"].map(call).concat();
    folder.write("a.yaml", recipe(&calls));
    let said = folder
        .bounded(&["run", "--dry-run", "a.yaml"])
        .go()
        .exits(0);
    assert_eq!(said.out.matches("planned ").count(), 200, "{}", said.out);
    said.out_has("\n… and more: more than 200 steps would run\n");
    let all = run(&folder, &["--dry-run"], 0);
    assert_eq!(all["warnings"][0], "more than 200 steps would run");
    // Steps in a loop do not count, and end all the same.
    let calls = ["one", "two", "three"].map(|id| {
        format!("  - {{id: {id}, foreach: '{{{{q}}}}', recipe: a, condition: \"q == 'yes'\"}}\n")
    });
    folder.write("a.yaml", recipe(&calls.concat()));
    folder
        .bounded(&["run", "--dry-run", "a.yaml"])
        .go()
        .exits(0);
}

#[test]
fn words_that_would_run_are_quoted_as_they_are_when_they_do() {
    let recipe = amplifier("- {id: a, type: bash, command: 'printf %s, {{x|words}}'}\n");
    let recipe = recipe.replace("steps:", "context: {x: ''}\nsteps:");
    let folder = Folder::with("a.yaml", recipe);
    let args = ["run", "--dry-run", "a.yaml", "-s", "x=one $(id) it's"];
    let said = folder.rrc(&args).go().exits(0);
    said.out_has("  | printf %s, 'one' '$(id)' 'it'\\''s'\n");
}

#[test]
fn what_is_known_in_a_recipe_that_is_called_is_shown() {
    let folder = Folder::with(
        "a.yaml",
        amplifier("- {id: call, type: recipe, recipe: sub.yaml, context: {to: net}}\n"),
    );
    let steps = "- {id: a, type: bash, condition: '{{to}} == \"disk\"', command: echo a}\n\
                 - {id: b, type: bash, command: 'echo {{to}} {{as}}'}\n";
    let sub = amplifier(steps).replace("steps:", "context: {to: disk, as: root}\nsteps:");
    folder.write("sub.yaml", sub);
    let said = folder.rrc(&["run", "--dry-run", "a.yaml"]).go().exits(0);
    let said = said.out_has("  skipped a (bash)\n");
    said.out_has("= \"net\"\n").out_has("= \"root\"\n");
}
