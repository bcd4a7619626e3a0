//! Recipes of amplihack: missing names are empty, comparison by type, YAML 1.2.

use super::Dialect;
use crate::doc::Schema;
use crate::expr::BareWords;
use crate::ir::{Equality, Exports, Missing, RunLimits, Store, Truth};

pub static AMPLIHACK: Dialect = Dialect {
    name: "amplihack",
    schema: Schema::Yaml12,
    required: &[],
    reserved: &[],
    bare_words: BareWords::Variables,
    equality: Equality::ByType,
    truth: Truth::Emptiness,
    missing: Missing::Null,
    store: Store::JsonOrText,
    store_json: Store::JsonOrDegrade,
    output_by_id: true,
    counts_sessions: true,
    keep_output: true,
    infer_kind: true,
    bash_timeout_ms: None,
    other_timeout_ms: None,
    exports: Exports::Everything,
    limits: RunLimits {
        depth: 6,
        steps: 200,
        skipped_elsewhere: true,
    },
    depths: 1..=u32::MAX,
    step_counts: 1..=u32::MAX,
    shares_variables: true,
    stages_changes: true,
};
