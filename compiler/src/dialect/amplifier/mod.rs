//! Recipes of Amplifier: strict about names, numbers before text, YAML 1.1.

use super::Dialect;
use crate::doc::Schema;
use crate::expr::BareWords;
use crate::ir::{Equality, Exports, Missing, RunLimits, Store, Truth};

pub static AMPLIFIER: Dialect = Dialect {
    name: "amplifier",
    schema: Schema::Yaml11,
    required: &["description", "version"],
    reserved: &["recipe", "session", "step", "stage"],
    bare_words: BareWords::Text,
    equality: Equality::NumbersFirst,
    truth: Truth::Words,
    missing: Missing::Fail,
    store: Store::Exact,
    store_json: Store::Json { trim: false },
    output_by_id: false,
    counts_sessions: false,
    keep_output: true,
    infer_kind: false,
    bash_timeout_ms: Some(60_000),
    other_timeout_ms: Some(600_000),
    exports: Exports::Nothing,
    limits: RunLimits {
        depth: 5,
        steps: 100,
        skipped_elsewhere: false,
    },
    depths: 1..=20,
    step_counts: 1..=1000,
    shares_variables: false,
    stages_changes: false,
};
