//! Compiled = walked, for the program of a seed and several orders of replies.
#![no_main]

#[path = "../../tests/support/ir_act.rs"]
mod ir_act;
#[path = "../../tests/support/ir_eval.rs"]
mod ir_eval;
#[path = "../../tests/support/ir_generate.rs"]
mod ir_generate;
#[path = "../../tests/support/ir_law.rs"]
mod ir_law;
#[path = "../../tests/support/ir_loops.rs"]
mod ir_loops;
#[path = "../../tests/support/ir_task.rs"]
mod ir_task;
#[path = "../../tests/support/ir_trace.rs"]
mod ir_trace;
#[path = "../../tests/support/walk.rs"]
mod walk;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|seed: u64| {
    if let Err(wrong) = ir_law::compiled_is_walked(seed, 4) {
        panic!("seed {seed}: {wrong}");
    }
});
