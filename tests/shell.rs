//! Holes in shell text × hostile values, in real bash: what arrives is the value, and nothing else
//! happens.

#[path = "shell/closed.rs"]
mod closed;
#[path = "shell/data.rs"]
mod data;
#[path = "support/shell_law.rs"]
mod shell_law;

use data::{ATTACKS, EVALUATED, HARMLESS_JUNK, JUNK, POSITIONS, Prints, VALUES};
use rrc_compiler::shell::{compile, render};
use shell_law::{Batch, Dice, Room, Tally, accepted, arrives, errors, holes};
use std::fs;
use std::process::{Command, Stdio};

/// The hostile values, and 60 KB of them all.
fn values() -> Vec<String> {
    let mut values: Vec<String> = VALUES.iter().map(|value| (*value).to_owned()).collect();
    values.push("x'\"$`\\ \n".repeat(7_500));
    values
}

fn in_parallel<T: Send>(all: Vec<T>, each: impl Fn(T) + Sync) {
    let queue = std::sync::Mutex::new(all.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().map(|mut queue| queue.next());
                    match next {
                        Ok(Some(item)) => each(item),
                        _ => return,
                    }
                }
            });
        }
    });
}

#[test]
fn the_value_arrives_in_every_position() {
    let values = values();
    assert!(POSITIONS.len() >= 45 && values.len() / 2 >= 60);
    let numbered = POSITIONS.iter().enumerate().collect();
    in_parallel(numbered, |(number, (label, text, prints))| {
        let mut batch = Batch::default();
        // Each position takes half of the values, its neighbour the other half; the last, which is
        // the long one, goes everywhere.
        for (index, value) in values.iter().enumerate() {
            if index % 2 != number % 2 && index + 1 != values.len() {
                continue;
            }
            let script = compile(text, &holes(text, &batch.name()));
            assert_eq!(errors(&script), 0, "{label}: {:?}", script.problems);
            let wanted = match prints {
                Prints::Text(wanted) => wanted.replace('§', value),
                Prints::For(admits, wanted) => {
                    if !admits(value) {
                        continue;
                    }
                    wanted.replace('§', value)
                }
                Prints::Number(wanted) => match render::integer(value) {
                    Some(number) => wanted.replace('§', number.trim()),
                    None => {
                        // An empty operand of `-eq` alone would pass; here arithmetic follows.
                        assert!(
                            !batch.add(&script, value, String::new()),
                            "{label}: {value:?}"
                        );
                        continue;
                    }
                },
                Prints::Words => {
                    let words: String = value
                        .split_ascii_whitespace()
                        .map(|word| format!("<{word}>"))
                        .collect();
                    if words.is_empty() {
                        "<>".to_owned()
                    } else {
                        words
                    }
                }
            };
            assert!(batch.add(&script, value, wanted), "{label}: {value:?}");
        }
        let wrong = batch.wrong(label);
        assert!(wrong.is_empty(), "{}", wrong[0].words);
    });
}

#[test]
fn the_value_arrives_in_generated_scripts() {
    const LOTS: u64 = 8;
    const ROUNDS: usize = 50;
    let values = values();
    // The long one takes its time, and has been in every position.
    let values = &values[..values.len() - 1];
    let all = std::sync::Mutex::new(Tally::default());
    in_parallel((0..LOTS).collect(), |lot| {
        let mut dice = Dice::new(0x5eed_0001 + lot);
        let tally = arrives(&mut dice, ROUNDS, values, 5, &format!("generated {lot}"));
        if let Ok(mut all) = all.lock() {
            all.refused += tally.refused;
            all.misread += tally.misread;
            all.unparsed += tally.unparsed;
        }
    });
    let Tally {
        refused,
        misread,
        unparsed,
    } = all.into_inner().unwrap_or_default();
    let rounds = LOTS as usize * ROUNDS;
    assert!(refused < rounds / 10, "{refused} were refused");
    assert!(misread < rounds / 5, "{misread} were misread by bash");
    assert_eq!(unparsed, 0, "bash could not read what became of them");
}

#[test]
fn no_text_makes_it_panic_or_changes_without_holes() {
    let mut dice = Dice::new(0x5eed_0002);
    let mut plain = Vec::new();
    let mut compiled = Vec::new();
    for round in 0..60_000 {
        let length = 1 + dice.roll(24);
        let text: String = (0..length).map(|_| dice.pick(JUNK)).collect();
        let holes = holes(&text, "V");
        let script = compile(&text, &holes);
        assert_eq!(script.positions.len(), holes.len());
        let rendered = render::render(&script, &vec!["word"; holes.len()]);
        let breaks = |text: &str| text.matches('\n').count();
        assert_eq!(breaks(&rendered), breaks(&text), "{text:?}");
        assert_eq!(render::render(&compile(&text, &[]), &[]), text);
        if round % 40 == 0 && errors(&script) == 0 && !text.contains('\0') {
            plain.push(
                text.replace("{{v}}", "word")
                    .replace("{{v|words}}", "word")
                    .replace("{{v|json}}", "word"),
            );
            compiled.push(rendered);
        }
    }
    for (index, (before, after)) in accepted(&plain, "junk-before")
        .into_iter()
        .zip(accepted(&compiled, "junk-after"))
        .enumerate()
    {
        assert!(
            !before || after,
            "{}\nbecame\n{}",
            plain[index],
            compiled[index]
        );
    }
}

#[test]
fn nesting_and_length_end_in_a_refusal_not_a_crash() {
    for open in [
        "$(",
        "\"$(",
        "${x:-",
        "(",
        "((",
        "$((",
        "`",
        "case x in x) ",
        "a=(",
        "<(",
        "${a[",
    ] {
        let text = format!("echo {}{{{{v}}}}", open.repeat(20_000));
        let script = compile(&text, &holes(&text, "V"));
        assert_eq!(script.positions.len(), 1, "{open}");
    }
}

/// Compiles each text and, if it is not refused, runs it with every attack; what it prints does
/// not matter.
fn withstand(texts: &[String], attacks: &[&str], label: &str) -> usize {
    let mut batch = Batch::default();
    let mut ran = 0;
    for text in texts {
        for attack in attacks {
            let script = compile(text, &holes(text, &batch.name()));
            if errors(&script) == 0 && batch.add(&script, attack, String::new()) {
                ran += 1;
            }
        }
    }
    let room = Room::new(label);
    let scripts = room.0.join("scripts");
    fs::create_dir_all(&scripts).expect("the temporary directory is writable");
    for (index, (script, _, _)) in batch.scripts.iter().enumerate() {
        fs::write(scripts.join(format!("{index}.sh")), script)
            .expect("the temporary directory is writable");
    }
    let driver = "ulimit -t 20 -f 1000; for ((rrc = 0; rrc < RRC_COUNT; rrc++)); do \
                  ( . \"$RRC_SCRIPTS/$rrc.sh\" ) < /dev/null; \
                  [ -e pwned ] && { echo $rrc >> \"$RRC_SCRIPTS/broken\"; rm -rf pwned; }; done";
    let status = Command::new("bash")
        .args(["-c", driver])
        .current_dir(room.0.join("work"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("RRC_COUNT", batch.scripts.len().to_string())
        .env("RRC_SCRIPTS", &scripts)
        .envs(&batch.environment)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("bash is installed");
    assert!(status.code().is_some(), "{label}: bash was killed");
    if let Ok(broken) = fs::read_to_string(scripts.join("broken")) {
        let first: usize = broken
            .lines()
            .next()
            .and_then(|n| n.parse().ok())
            .unwrap_or(0);
        let (script, _, value) = &batch.scripts[first];
        assert_eq!(
            broken, "",
            "{label}: the value {value:?} ran a command in\n{script}"
        );
    }
    ran
}

#[test]
fn no_place_that_bash_evaluates_runs_a_value() {
    let texts: Vec<String> = EVALUATED.iter().map(|text| (*text).to_owned()).collect();
    let ran = withstand(&texts, ATTACKS, "evaluated");
    assert!(ran > 500, "only {ran} ran");
}

#[test]
fn no_junk_around_it_runs_a_value() {
    let mut dice = Dice::new(0x5eed_0003);
    let mut texts = Vec::new();
    while texts.len() < 2_400 {
        let length = 2 + dice.roll(14);
        let text: String = (0..length).map(|_| dice.pick(HARMLESS_JUNK)).collect();
        if text.contains("{{v}}") {
            texts.push(format!("echo {text}\n"));
        }
    }
    let chunks: Vec<(usize, Vec<String>)> = texts
        .chunks(600)
        .map(<[String]>::to_vec)
        .enumerate()
        .collect();
    in_parallel(chunks, |(number, texts)| {
        let attacks = [ATTACKS[number], ATTACKS[4 + number]];
        withstand(&texts, &attacks, &format!("junk-{number}"));
    });
}
