//! Templates as a whole: laws about words, values and numbers, and bytes through real processes.

#[path = "support/command.rs"]
#[allow(dead_code, reason = "only a part of it is used here")]
mod command;
#[path = "support/flow_law.rs"]
mod flow_law;
#[path = "support/ir_eval.rs"]
#[allow(dead_code, reason = "only literals are made into values here")]
mod ir_eval;
#[path = "support/recipe_law.rs"]
#[allow(dead_code, reason = "one of its laws is about recipes")]
mod recipe_law;
#[path = "support/recipes.rs"]
mod recipes;
#[path = "support/templates.rs"]
mod templates;

use command::Folder;
use rrc_compiler::source::Sources;
use rrc_compiler::world::Texts;
use rrc_compiler::{Options, build, check};
use rrc_vm::fault::FailureKind;
use rrc_vm::generate::Random;
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::text::render;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::verify;
use serde_json::json;
use std::rc::Rc;

/// The words of the first command of a template, or why there is none.
fn first_command(
    template: &serde_json::Value,
    values: &[(&str, Value)],
) -> Result<Vec<String>, String> {
    let world = Texts::one("t.json", template.to_string());
    let mut sources = Sources::default();
    let checked = check(&world, "t.json", Options::default(), &mut sources);
    let Some(plan) = build(&checked, &sources, |_| [0; 32]) else {
        let messages = checked
            .report
            .findings
            .iter()
            .map(|found| found.message.clone());
        return Err(messages.collect::<Vec<_>>().join("; "));
    };
    let verified = verify(plan).expect("what is emitted verifies");
    let limits = verified.plan().limits;
    let variables: Map = values
        .iter()
        .map(|(name, value)| (Rc::from(*name), value.clone()))
        .collect();
    let mut machine = Machine::new(verified, variables, limits);
    loop {
        match machine.poll() {
            Poll::Call(call) => {
                let argv = call.args.iter().find(|(name, _)| *name == "argv");
                let Some((_, Value::List(words))) = argv else {
                    unreachable!("a command has words");
                };
                return Ok(words.iter().map(|word| render(word).to_string()).collect());
            }
            Poll::Done(finished) => match finished.outcome {
                Ok(Value::Failure(failure)) => {
                    assert_eq!(failure.kind, FailureKind::Refused, "{}", failure.message);
                    return Err(failure.message.to_string());
                }
                other => unreachable!("no command ran: {other:?}"),
            },
            _ => {}
        }
    }
}

/// How tightly the parts of a calculation hang together.
#[derive(PartialEq, PartialOrd)]
enum Bond {
    Sum,
    Product,
    One,
}

/// A calculation as text with hardly more parentheses than it needs, and what it comes to among all
/// integers: none if it divides by zero or leaves 64 bits on the way.
fn sum(random: &mut Random, depth: usize) -> (String, Bond, Option<i128>) {
    let within = |value: i128| i64::try_from(value).is_ok().then_some(value);
    if depth == 0 || random.once_in(5) {
        return match random.below(4) {
            0 => ("n".to_string(), Bond::One, Some(-3)),
            1 => ("big".to_string(), Bond::One, Some(i128::from(i64::MAX))),
            2 => {
                let number = random.next() >> (1 + random.below(62));
                (number.to_string(), Bond::One, within(i128::from(number)))
            }
            _ => {
                let number = random.below(10);
                (number.to_string(), Bond::One, Some(number as i128))
            }
        };
    }
    let (left, of_left, a) = sum(random, depth - 1);
    let (right, of_right, b) = sum(random, depth - 1);
    let sign = ['+', '-', '*', '/', '%'][random.below(5)];
    let bond = match sign {
        '+' | '-' => Bond::Sum,
        _ => Bond::Product,
    };
    let mut part = |text: String, tight: bool| match tight && !random.once_in(4) {
        true => text,
        false => format!("({text})"),
    };
    let left = part(left, of_left >= bond);
    let right = part(right, of_right > bond);
    let value = a.zip(b).and_then(|(a, b)| match sign {
        '+' => within(a + b),
        '-' => within(a - b),
        '*' => within(a.checked_mul(b)?),
        '/' => within(a.checked_div(b)?),
        _ => a.checked_rem(b),
    });
    (format!("{left}{sign}{right}"), bond, value)
}

#[test]
fn arithmetic_is_that_of_integers_or_is_refused() {
    let mut random = Random::new(5);
    let (mut right, mut refused) = (0, 0);
    for _ in 0..600 {
        let (text, _, value) = sum(&mut random, 3);
        let template = json!(format!("use {{({text})+0}}"));
        let values = [
            ("n", Value::Int(-3)),
            ("big", Value::text(i64::MAX.to_string())),
        ];
        match (first_command(&template, &values), value) {
            (Ok(words), Some(value)) => {
                assert_eq!(words[1], value.to_string(), "{text}");
                right += 1;
            }
            (Err(_), None) => refused += 1,
            (found, wanted) => panic!("{text}: {found:?}, not {wanted:?}"),
        }
    }
    assert!(
        right > 200 && refused > 50,
        "{right} right, {refused} refused"
    );
}

/// Text that means something to somebody.
fn hostile(random: &mut Random) -> String {
    const PARTS: [&str; 22] = [
        "", " ", "  ", "\t", "\n", "'", "\"", "\\", "{x}", "{", "}", "{a?b:c}", "$HOME", "$(id)",
        "`id`", "|", "&&", ";", "--flag", "*", "é\u{a0}", "{1+2}",
    ];
    (0..random.below(5))
        .map(|_| PARTS[random.below(PARTS.len())])
        .collect()
}

#[test]
fn a_value_stays_where_it_is_put() {
    let mut random = Random::new(11);
    type Words = fn(&str) -> Vec<String>;
    let shapes: [(serde_json::Value, Words); 11] = [
        (json!("use {x} end"), |x| vec![x.into(), "end".into()]),
        (json!("use --x={x} end"), |x| {
            vec![format!("--x={x}"), "end".into()]
        }),
        (json!("use '{x} b'"), |x| vec![format!("{x} b")]),
        (json!("use a{x}b{x}c"), |x| vec![format!("a{x}b{x}c")]),
        (json!("use {x=other} {y}"), |x| vec![x.into(), "y".into()]),
        (json!("use \"{x}\" {xs[0]}"), |x| vec![x.into(), x.into()]),
        // A blank text is not true.
        (json!("use {x??none} {x?a:b}"), |x| {
            match x.trim().is_empty() {
                true => vec!["none".into(), "b".into()],
                false => vec![x.into(), "a".into()],
            }
        }),
        (json!({"args": ["x:string"], "template": "use {x}"}), |x| {
            vec![x.into()]
        }),
        (
            json!({"defaults": {"z": "{x}", "w": "<{z}>"}, "template": "use {z} {w}"}),
            |x| vec![x.into(), format!("<{x}>")],
        ),
        (
            json!({"defaults": {"x": "1"}, "template": [{"defaults": {"z": "{x}"}, "template": "use {z}"}]}),
            |x| vec![x.into()],
        ),
        (
            json!({"repeat": 2, "defaults": {"z": "{xs[index]}"}, "template": "use {z}{index}"}),
            |x| vec![format!("{x}0")],
        ),
    ];
    for _ in 0..500 {
        let value = hostile(&mut random);
        let (line, expected) = &shapes[random.below(shapes.len())];
        let values = [
            ("x", Value::text(value.as_str())),
            ("y", Value::text("y")),
            ("xs", Value::list(vec![Value::text(value.as_str()); 2])),
        ];
        let words = first_command(line, &values).expect("it has all its values");
        let mut expected = expected(&value);
        // An empty word is left out, and nothing else is.
        expected.retain(|word| !word.is_empty());
        assert_eq!(words[1..], expected, "{line} with {value:?}");
    }
}

#[test]
fn no_template_panics_the_compiler() {
    let mut random = Random::new(23);
    const PIECES: [&str; 40] = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\"template\":",
        "\"repeat\":",
        "\"when\":",
        "\"args\":",
        "\"defaults\":",
        "\"retry\":",
        "\"recover\":",
        "\"parallel\":",
        "\"timeout\":",
        "\"output\":",
        "\"failure\":",
        "\"label\":",
        "true",
        "null",
        "3",
        "-1",
        "1e400",
        "\"a {b}\"",
        "\"{index}\"",
        "\"{xs.length}\"",
        "\"{a-b??c}\"",
        "\"{_(index+1)}\"",
        "\"{x={y}}\"",
        "\"'\"",
        "\"\\\\\"",
        "\"{a?b:c}\"",
        "\"n:int=3\"",
        "\"enum(a)\"",
        "\"branch\"",
        "\"{9a}\"",
        "\"\\u00a0\"",
        " ",
        "\n",
    ];
    for _ in 0..4000 {
        let length = 1 + random.below(14);
        let text: String = (0..length)
            .map(|_| PIECES[random.below(PIECES.len())])
            .collect();
        for text in [text.clone(), format!("{{\"template\":{text}}}")] {
            let world = Texts::one("t.json", text);
            let mut sources = Sources::default();
            let checked = check(&world, "t.json", Options::default(), &mut sources);
            if let Some(plan) = build(&checked, &sources, |_| [0; 32]) {
                verify(plan).expect("what is emitted verifies");
            }
        }
    }
}

#[test]
fn a_template_that_is_being_written_is_unfinished_and_nothing_else() {
    const WHOLE: &str = r#"{
  "args": ["file:path", "n:int=3"],
  "defaults": {"lang": "en 😀"},
  "repeat": 2,
  "template": [
    "echo 😀 {file} {n+1}",
    {"label": "b", "when": "!file", "retry": 2, "recover": "x {lang}", "template": "y {lang??de} {_(index+1)}"}
  ]
}"#;
    for (end, _) in WHOLE.char_indices().skip(1) {
        let world = Texts::one("t.json", &WHOLE[..end]);
        let checked = check(
            &world,
            "t.json",
            Options::default(),
            &mut Sources::default(),
        );
        let found: Vec<_> = checked
            .report
            .findings
            .iter()
            .map(|f| f.code.code)
            .collect();
        assert_eq!(found, ["RRC0005"], "{}", &WHOLE[..end]);
    }
    let world = Texts::one("t.json", WHOLE);
    let checked = check(
        &world,
        "t.json",
        Options::default(),
        &mut Sources::default(),
    );
    assert_eq!(checked.report.findings, []);
}

#[test]
fn bytes_pass_through_ten_commands_unchanged() {
    const MEGABYTES: usize = 64;
    let folder = Folder::new().expect("a folder can be made");
    let mut random = Random::new(3);
    let mut bytes = vec![0u8; MEGABYTES << 20];
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&random.next().to_le_bytes()[..chunk.len()]);
    }
    std::fs::write(folder.path().join("in.bin"), &bytes).expect("a file can be written");
    let mut steps = vec!["cat in.bin".to_string()];
    steps.extend((0..8).map(|_| "cat".to_string()));
    steps.push("cmp - in.bin".to_string());
    let template = json!({"failure": "root", "template": steps});
    std::fs::write(folder.path().join("t.json"), template.to_string()).expect("it can be written");
    // Enough for what passes between two commands and for rrc itself; not for what all ten write.
    let script = "ulimit -v 400000; exec \"$0\" run --no-record --output-format json t.json";
    let said = std::process::Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_rrc")])
        .current_dir(folder.path())
        .output()
        .expect("bash runs");
    let report: serde_json::Value = serde_json::from_slice(&said.stdout)
        .unwrap_or_else(|_| panic!("no report: {}", String::from_utf8_lossy(&said.stderr)));
    assert_eq!(report["status"], "completed", "{report}");
    assert_eq!(report["ran"].as_array().map(Vec::len), Some(10));
}

#[test]
fn compiled_is_walked() {
    let (mut commands, mut compiled) = (0, 0);
    for seed in 0..1_500 {
        let template = templates::template(&mut Random::new(seed));
        match flow_law::compiled_is_walked(&template, seed) {
            Ok(ran) => {
                commands += ran.unwrap_or(0);
                compiled += usize::from(ran.is_some());
            }
            Err(wrong) => panic!("seed {seed}: {wrong}\n{template}"),
        }
    }
    assert!(
        compiled == 1_500 && commands > 9_000,
        "{compiled} compiled, {commands} commands ran"
    );
}

#[test]
fn whatever_is_wrong_with_a_template_is_judged_and_fixes_come_to_an_end() {
    let (mut built, mut repaired) = (0, 0);
    for seed in 0..1_500 {
        let text = templates::damaged(&mut Random::new(seed));
        let shown = || String::from_utf8_lossy(&text).into_owned();
        match recipe_law::any_bytes("t.json", &text, seed) {
            Ok(judged) => built += usize::from(judged.plan.is_some()),
            Err(wrong) => panic!("seed {seed}: {wrong}\n{}", shown()),
        }
        match recipe_law::fixed("t.json", &text) {
            Ok((_, rounds)) => repaired += usize::from(rounds > 0),
            Err(wrong) => panic!("seed {seed}: {wrong}\n{}", shown()),
        }
    }
    assert!(
        built > 300 && repaired > 300,
        "{built} built, {repaired} repaired"
    );
}
