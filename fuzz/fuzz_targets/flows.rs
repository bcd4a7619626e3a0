//! Compiled = walked, for the template of a seed and several orders of replies.
#![no_main]

#[path = "../../tests/support/flow_law.rs"]
mod flow_law;
#[path = "../../tests/support/templates.rs"]
#[allow(dead_code, reason = "damaged ones are for the suite")]
mod templates;

use libfuzzer_sys::fuzz_target;
use rrc_vm::generate::Random;

fuzz_target!(|seed: u64| {
    let template = templates::template(&mut Random::new(seed));
    if let Err(wrong) = flow_law::compiled_is_walked(&template, seed) {
        panic!("seed {seed}: {wrong}\n{template}");
    }
});
