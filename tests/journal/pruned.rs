//! `rrc runs`: what is listed, and what is removed.

use crate::binary::Folder;
use crate::{STAGES, recipe, runs};

#[test]
fn runs_are_listed_and_removed() {
    let folder = Folder::with(
        "main.yaml",
        recipe("  - {id: a, type: bash, command: 'true'}\n"),
    );
    folder.rrc(&["runs"]).go().exits(0).no_out();
    for _ in 0..3 {
        folder.rrc(&["run", "main.yaml"]).go().exits(0);
    }
    folder
        .rrc(&["run", "main.yaml", "--no-record"])
        .go()
        .exits(0);
    let said = folder.rrc(&["runs", "--json"]).go().exits(0);
    assert_eq!(said.lines().len(), 3);
    assert_eq!(said.lines()[0]["steps_done"], 1);
    folder
        .rrc(&["runs"])
        .go()
        .exits(0)
        .out_has("completed")
        .out_has("1 step");
    folder
        .rrc(&["runs", "--prune", "--older-than", "1"])
        .go()
        .exits(0);
    assert_eq!(runs(&folder).len(), 3);
    folder
        .rrc(&["runs", "--prune", "--keep", "1"])
        .go()
        .exits(0);
    assert_eq!(runs(&folder).len(), 1);
}

#[test]
fn a_terminal_is_told_nothing_by_the_name_of_a_recipe() {
    let named = "name: \"a\\e[2Jb\\nc\"\nsteps:\n- {id: a, command: 'true'}\n";
    let folder = Folder::with("a.yaml", named);
    folder.rrc(&["run", "a.yaml"]).go().exits(0);
    let said = folder.rrc(&["runs"]).go().exits(0);
    assert_eq!(said.out.lines().count(), 1, "{said:?}");
    said.out_has("a\\u{1b}[2Jb\\nc");
}

#[test]
fn what_can_be_resumed_is_not_pruned() {
    let folder = Folder::with("main.yaml", STAGES);
    folder.rrc(&["run", "main.yaml"]).go().exits(4);
    let prune = |args: &[&str]| folder.rrc(args).go().exits(0);
    prune(&["runs", "--prune", "--keep", "0"]).err_has("kept 1 run that can still be resumed");
    assert_eq!(runs(&folder).len(), 1);
    prune(&["runs", "--prune", "--older-than", "0"]).err_has("removed 1 run");
    assert_eq!(runs(&folder).len(), 0);
}

#[test]
fn what_is_no_whole_run_is_pruned_when_it_is_old() {
    let folder = Folder::with("main.yaml", STAGES);
    for (name, when) in [
        ("begins", "now"),
        ("left", "2 hours ago"),
        ("old", "2 days ago"),
    ] {
        let make = format!("mkdir -p .rrc/runs/{name} && touch -d '{when}' .rrc/runs/{name}");
        folder.sh(&make).go().exits(0);
    }
    let prune = |args: &[&str]| folder.rrc(&[&["runs", "--prune"], args].concat()).go();
    prune(&[]).exits(0).err_has("removed 1 run");
    assert!(folder.has(".rrc/runs/left"));
    prune(&["--older-than", "1e300"])
        .exits(0)
        .err_has("removed 0 runs");
    prune(&["--keep", "0"]).exits(0).err_has("removed 1 run");
    assert!(folder.has(".rrc/runs/begins") && !folder.has(".rrc/runs/left"));
}
