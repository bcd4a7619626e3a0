//! Any bytes are judged as a template without a panic, twice the same; what nothing is found wrong
//! with builds, verifies and runs; fixes repair and come to an end.
#![no_main]

#[path = "../../tests/support/ir_eval.rs"]
#[allow(dead_code, reason = "only literals are made into values here")]
mod ir_eval;
#[path = "../../tests/support/recipe_law.rs"]
#[allow(dead_code, reason = "the suite asks for more")]
mod recipe_law;
#[path = "../../tests/support/recipes.rs"]
mod recipes;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let seed = bytes.len() as u64;
    if let Err(wrong) = recipe_law::any_bytes("fuzzed.json", bytes, seed) {
        panic!("{wrong}");
    }
    if let Err(wrong) = recipe_law::fixed("fuzzed.json", bytes) {
        panic!("{wrong}");
    }
});
