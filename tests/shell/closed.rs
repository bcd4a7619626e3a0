//! A closed script does the same whatever else is in its environment, and starts nothing: scripts of
//! pieces that are put together at random, in real bash.

use super::{Dice, Room};
use rrc_compiler::shell::is_closed;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// Nothing but this is given, and it means to lead to others.
const GIVEN: &str = "GIVEN";
const VALUES: &[&str] = &["-v", "OTHER", "a[OTHER]", "$OTHER", "", "1", "x y"];

const PIECES: &[&str] = &[
    "echo",
    "printf",
    "test",
    "[",
    "]",
    "set",
    "exit",
    "true",
    ":",
    "false",
    "if",
    "then",
    "else",
    "fi",
    "'if'",
    "\"echo\"",
    "program",
    "eval",
    "OTHER=2",
    "OTHER",
    "a[OTHER]",
    "-v",
    "-n",
    "-z",
    "-e",
    "-x",
    "-eq",
    "=",
    "!=",
    "0",
    "1",
    "2",
    "'%s\\n'",
    "'%d'",
    "\"$GIVEN\"",
    "$GIVEN",
    "${GIVEN}",
    "\"${GIVEN}\"",
    "'$OTHER'",
    "\\$OTHER",
    "$OTHER",
    "${!GIVEN}",
    "$((GIVEN))",
    "$(program)",
    "`program`",
    "$?",
    ">f",
    "2>f",
    ">&2",
    ">=",
    ">",
    "2",
    "#",
    "\n",
    "\n",
    ";",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "!",
    "{",
    "}",
    "(",
    ")",
    "<f",
    "\"",
    "'",
    "\\",
];

fn run(room: &Room, script: &str, given: &str, others: bool) -> Output {
    let mut bash = Command::new("/bin/bash");
    bash.args(["-c", script]).current_dir(room.0.join("work"));
    bash.env_clear()
        .env("PATH", room.0.join("bin"))
        .env(GIVEN, given);
    if others {
        bash.env("OTHER", "0").env("RECIPE_VAR_other", "1");
    }
    bash.output().expect("bash starts")
}

#[test]
fn a_closed_script_reads_nothing_that_it_does_not_name() {
    let room = Room::new("closed");
    let bin = room.0.join("bin");
    fs::create_dir_all(&bin).expect("the room is writable");
    let started = room.0.join("started");
    for name in ["program", "if", "OTHER", "1", "0"] {
        let path = bin.join(name);
        let text = format!("#!/bin/bash\necho {name} >> {}\n", started.display());
        fs::write(&path, text).expect("the room is writable");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("the file is ours");
    }
    let wanted = match std::env::var_os("RRC_LARGE") {
        Some(_) => 50_000,
        None => 1_000,
    };
    let mut dice = Dice::new(0x5eed_0003);
    let mut closed = 0;
    while closed < wanted {
        let count = 2 + dice.roll(7);
        let mut script = String::new();
        for _ in 0..count {
            script.push_str(PIECES[dice.roll(PIECES.len())]);
            if dice.roll(6) > 0 {
                script.push(' ');
            }
        }
        if !is_closed(&script, |name| name == GIVEN) {
            continue;
        }
        closed += 1;
        let given = VALUES[dice.roll(VALUES.len())];
        let outputs = [true, false].map(|others| run(&room, &script, given, others));
        assert_eq!(outputs[0], outputs[1], "{script:?} with {given:?}");
        assert!(
            !started.exists(),
            "{script:?} with {given:?} starts a program"
        );
    }
}
