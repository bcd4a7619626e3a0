//! What stands in a hole of shell text arrives in bash as it is, in generated scripts, and nothing else
//! happens.
#![no_main]

#[path = "../../tests/shell/data.rs"]
#[allow(dead_code, reason = "the places and values of the suite are for it")]
mod data;
#[path = "../../tests/support/shell_law.rs"]
mod shell_law;

use libfuzzer_sys::fuzz_target;
use shell_law::{Dice, arrives};

fuzz_target!(|input: (u64, String)| {
    let (seed, value) = input;
    // Bash can hold no other character, which the spec says.
    let value = value.replace('\0', "");
    arrives(&mut Dice::new(seed), 5, &[value], 1, "fuzzed");
});
