//! What runs within a run are told: how deep they are in each other, and to which tree they belong.

use rrc_compiler::dialect;
use rrc_vm::plan::Plan;
use std::env;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

const TREE: &str = "AMPLIHACK_TREE_ID";
const DEPTH: &str = "AMPLIHACK_SESSION_DEPTH";
/// What holds where nobody above says otherwise.
const LIMITS: [(&str, &str); 2] = [
    ("AMPLIHACK_MAX_DEPTH", "6"),
    ("AMPLIHACK_MAX_SESSIONS", "10"),
];

/// The variables that all finds in its environment that a run of this plan starts, as far as they are
/// not those of rrc itself.
pub fn told(plan: &Plan, run_id: &str) -> Vec<(String, String)> {
    let name = plan.texts.get(plan.dialect).unwrap_or_default();
    if !dialect::find(name).is_some_and(|dialect| dialect.counts_sessions) {
        return Vec::new();
    }
    let own = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let above: u32 = own(DEPTH)
        .and_then(|depth| depth.trim().parse().ok())
        .unwrap_or(0);
    let mut told = vec![(DEPTH.to_string(), above.saturating_add(1).to_string())];
    let defaults = LIMITS.iter().map(|(name, most)| (*name, most.to_string()));
    let defaults = defaults.chain([(TREE, tree(run_id))]);
    let unsaid = defaults.filter(|(name, _)| own(name).is_none());
    told.extend(unsaid.map(|(name, value)| (name.to_string(), value)));
    told
}

/// The tree that begins with this run, the same when the run goes on.
fn tree(run_id: &str) -> String {
    let mut hasher = DefaultHasher::new();
    run_id.hash(&mut hasher);
    format!("{:08x}", hasher.finish() >> 32)
}
