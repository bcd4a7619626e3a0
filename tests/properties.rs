//! The laws, small and seeded. `fuzz/` runs them without end.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

#[path = "support/ir_act.rs"]
mod ir_act;
#[path = "support/ir_eval.rs"]
mod ir_eval;
#[path = "support/ir_generate.rs"]
mod ir_generate;
#[path = "support/ir_law.rs"]
mod ir_law;
#[path = "support/ir_loops.rs"]
mod ir_loops;
#[path = "support/ir_task.rs"]
mod ir_task;
#[path = "support/ir_trace.rs"]
mod ir_trace;
#[path = "support/mutate.rs"]
mod mutate;
#[path = "support/odd_templates.rs"]
mod odd_templates;
#[path = "support/recipe_law.rs"]
mod recipe_law;
#[path = "support/recipes.rs"]
mod recipes;
#[path = "support/walk.rs"]
mod walk;

use recipe_law::{any_bytes, fixed, judge, slip_fixed};
use recipes::BASES;
use rrc_compiler::diagnostic::Applicability;
use rrc_vm::codec::encode;
use rrc_vm::generate::Random;
use std::collections::BTreeMap;

/// Programs that are compiled and walked.
const PROGRAMS: u64 = 4_000;

/// What a few of the programs, or many of them, must come to: else the law holds for little.
const REACHED: [(&str, u32); 35] = [
    ("agent", 300),
    ("approve", 100),
    ("bad json", 100),
    ("bound by a failure", 250),
    ("bound by no turn", 50),
    ("collect", 400),
    ("continue", 400),
    ("degraded", 100),
    ("depth limit", 50),
    ("each at once", 500),
    ("each in turn", 500),
    ("exec", 1500),
    ("failed", 2000),
    ("hook", 300),
    ("hopeless", 50),
    ("keep", 400),
    ("last", 300),
    ("late recipe", 50),
    ("loop limit", 200),
    ("par", 300),
    ("pause", 100),
    ("pause at once", 100),
    ("preflight", 50),
    ("recipe", 200),
    ("seq", 500),
    ("skip rest", 300),
    ("skipped", 500),
    ("sleep", 50),
    ("step limit", 50),
    ("limit not forgiven", 20),
    ("stop", 400),
    ("tried again", 300),
    ("until", 200),
    ("validate", 100),
    ("while", 400),
];

fn none(wrong: Vec<String>) {
    let shown: Vec<String> = wrong.iter().take(5).cloned().collect();
    assert!(
        wrong.is_empty(),
        "{} times\n{}",
        wrong.len(),
        shown.join("\n")
    );
}

#[test]
fn compiled_is_walked() {
    let mut seen: BTreeMap<&'static str, u32> = BTreeMap::new();
    let mut held = 0;
    let mut wrong = Vec::new();
    for seed in 0..PROGRAMS {
        match ir_law::compiled_is_walked(seed, 2) {
            Ok(Some(saw)) => {
                held += 1;
                for (what, _) in saw {
                    *seen.entry(what).or_default() += 1;
                }
            }
            Ok(None) => {}
            Err(difference) => wrong.push(format!("seed {seed}: {difference}")),
        }
    }
    none(wrong);
    println!("{held} programs: {seen:?}");
    for (what, least) in REACHED {
        let times = seen.get(what).copied().unwrap_or(0);
        assert!(times >= least, "`{what}` in {times} programs of {held}");
    }
    assert!(
        held >= PROGRAMS * 3 / 4,
        "{held} programs were short enough"
    );
}

#[test]
fn base_recipes_are_right_but_for_the_one_that_is_not() {
    for base in &BASES {
        let judged = any_bytes(base.name, base.text.as_bytes(), 1).expect(base.name);
        let errors: Vec<&str> = judged.errors().map(|e| e.message.as_str()).collect();
        assert_eq!(base.name != "slips.yaml", errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn however_deep_and_wide_a_recipe_is_it_builds_or_says_why_not() {
    let mut deepest = 0;
    for depth in 1..40 {
        let text = nested(depth);
        let judged = any_bytes("a.yaml", text.as_bytes(), 1).expect("nested loops");
        if judged.plan.is_some() {
            deepest = depth;
        }
    }
    assert!(deepest >= 8, "loops nest {deepest} deep");
    for count in [10, 63, 64, 65, 255, 256, 257, 1000] {
        let holes = "{{a}} ".repeat(count);
        let items = "1, ".repeat(count);
        let text = format!(
            "name: wide\ndescription: d\nversion: 1.0.0\ncontext: {{a: 1, list: [{items}]}}\nsteps:\n  - id: s\n    type: bash\n    \
             command: echo {holes}\n    while_condition: \"'x' in [{items}]\"\n    \
             update_context: {{b: [{items}]}}\n    env: {{V: '{holes}'}}\n"
        );
        let judged = any_bytes("a.yaml", text.as_bytes(), 1).expect("a wide recipe");
        assert!(judged.plan.is_some(), "{:?}", judged.checked.report);
    }
}

/// Loops in loops, with all that loops can have.
fn nested(depth: usize) -> String {
    let mut text =
        "name: nested\ndescription: d\nversion: 1.0.0\ncontext: {list: [1, 2]}\nsteps:\n"
            .to_string();
    for level in 0..depth {
        let blanks = "  ".repeat(2 * level + 1);
        let head = match level % 2 {
            0 => format!("foreach: '{{{{list}}}}'\n{blanks}  as: v{level}"),
            _ => format!("while_condition: 'true'\n{blanks}  max_while_iterations: 2"),
        };
        text.push_str(&format!(
            "{blanks}- id: s{level}\n{blanks}  {head}\n{blanks}  collect: c{level}\n{blanks}  \
             on_error: continue\n{blanks}  retry: {{max_attempts: 2}}\n{blanks}  steps:\n"
        ));
    }
    let blanks = "  ".repeat(2 * depth + 1);
    text.push_str(&format!(
        "{blanks}- id: last\n{blanks}  type: bash\n{blanks}  command: echo {{{{list}}}}\n\
         {blanks}  parse_json: true\n{blanks}  on_error: continue\n{blanks}  output: x\n"
    ));
    text
}

#[test]
fn no_bytes_are_too_strange_to_judge() {
    let mut wrong = Vec::new();
    let mut built = 0;
    for seed in 0..6_000 {
        let mut random = Random::new(seed);
        let (name, text) = match seed % 8 {
            0 => ("a.yaml", mutate::bytes(&mut random, 200)),
            1 => ("a.yaml", mutate::soup(&mut random, 60).into_bytes()),
            _ => {
                let (base, text) = mutate::recipe(&mut random);
                (BASES[base].name, text)
            }
        };
        match any_bytes(name, &text, seed) {
            Ok(judged) => built += u32::from(judged.plan.is_some()),
            Err(why) => wrong.push(format!(
                "seed {seed}: {why}\n{}",
                String::from_utf8_lossy(&text)
            )),
        }
    }
    none(wrong);
    assert!(built >= 300, "only {built} of them build");
}

#[test]
fn a_recipe_that_is_being_written_is_not_shouted_at() {
    let mut wrong = Vec::new();
    for base in &BASES {
        for end in 0..base.text.len() {
            let prefix = &base.text.as_bytes()[..end];
            let judged = judge(base.name, prefix);
            let errors: Vec<&str> = judged.errors().map(|e| e.message.as_str()).collect();
            if errors.len() > 8 {
                wrong.push(format!(
                    "{} up to {end}: {errors:#?}\n{}",
                    base.name,
                    String::from_utf8_lossy(prefix)
                ));
            }
        }
    }
    none(wrong);
}

#[test]
fn a_plan_does_not_depend_on_where_its_recipe_is() {
    for base in &BASES {
        let plans: Vec<Option<Vec<u8>>> = ["", "./", "./x/", "/home/me/", "../"]
            .iter()
            .map(|place| {
                let name = format!("{place}{}", base.name);
                judge(&name, base.text.as_bytes()).plan.as_ref().map(encode)
            })
            .collect();
        assert!(
            plans.windows(2).all(|pair| pair[0] == pair[1]),
            "{}",
            base.name
        );
    }
}

#[test]
fn safe_fixes_repair_and_come_to_an_end() {
    let mut wrong = Vec::new();
    let mut repaired = 0;
    for seed in 0..1_500 {
        let mut random = Random::new(seed);
        let (base, text) = mutate::recipe(&mut random);
        match fixed(BASES[base].name, &text) {
            Ok((_, rounds)) => repaired += u32::from(rounds > 0),
            Err(why) => wrong.push(format!(
                "seed {seed}: {why}\n{}",
                String::from_utf8_lossy(&text)
            )),
        }
    }
    none(wrong);
    assert!(
        repaired >= 150,
        "only {repaired} of them had something to repair"
    );
}

#[test]
fn a_slip_that_is_repaired_leaves_nothing_behind() {
    let mut wrong = Vec::new();
    let mut repaired = 0;
    for seed in 0..1_500 {
        let (base, text) = mutate::slip(&mut Random::new(seed));
        match slip_fixed(BASES[base].name, text.as_bytes()) {
            Ok(changed) => repaired += u32::from(changed),
            Err(why) => wrong.push(format!("seed {seed}: {why}\n{}", diff(base, &text))),
        }
    }
    none(wrong);
    assert!(
        repaired >= 500,
        "only {repaired} of them had something to repair"
    );
}

#[test]
fn fixes_of_commands_leave_files_that_can_be_read() {
    let mut wrong = Vec::new();
    let (mut read, mut repaired) = (0, 0);
    for seed in 0..4_000 {
        let (name, text) = odd_templates::odd(&mut Random::new(seed));
        for max in [Applicability::Safe, Applicability::Unsafe] {
            match odd_templates::still_reads(name, &text, max) {
                Ok(fixed) => {
                    read += u32::from(fixed.is_some());
                    repaired += u32::from(fixed == Some(true));
                }
                Err(why) => wrong.push(format!("seed {seed}: {why}")),
            }
        }
    }
    none(wrong);
    assert!(
        read >= 6_000 && repaired >= 2_000,
        "only {repaired} of {read} had something to repair"
    );
}

fn diff(base: usize, text: &str) -> String {
    rrc_compiler::fix::diff(BASES[base].text, text, BASES[base].name)
}
