//! The laws, small and seeded. `fuzz/` runs them without end.

#[path = "support/ir_act.rs"]
mod ir_act;
#[path = "support/ir_eval.rs"]
mod ir_eval;
#[path = "support/ir_generate.rs"]
mod ir_generate;
#[path = "support/ir_law.rs"]
mod ir_law;
#[path = "support/ir_task.rs"]
mod ir_task;
#[path = "support/ir_trace.rs"]
mod ir_trace;
#[path = "support/walk.rs"]
mod walk;

use std::collections::BTreeMap;

/// Programs that are compiled and walked.
const PROGRAMS: u64 = 4_000;

#[test]
fn compiled_is_walked() {
    let mut seen: BTreeMap<&'static str, u32> = BTreeMap::new();
    let mut held = 0;
    let mut wrong = Vec::new();
    for seed in 0..PROGRAMS {
        match ir_law::compiled_is_walked(seed, 2) {
            Ok(Some(saw)) => {
                held += 1;
                for (what, times) in saw {
                    *seen.entry(what).or_default() += times.min(1);
                }
            }
            Ok(None) => {}
            Err(difference) => wrong.push(format!("seed {seed}: {difference}")),
        }
    }
    let shown: Vec<_> = wrong.iter().take(5).cloned().collect();
    assert!(
        wrong.is_empty(),
        "{} of {PROGRAMS} differ\n{}",
        wrong.len(),
        shown.join("\n")
    );
    eprintln!("{held} programs: {seen:?}");
}
