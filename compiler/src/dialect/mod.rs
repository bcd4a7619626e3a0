//! The ways recipes are written.
//!
//! All dialects have the same fields, see `fields`; they differ in policies only. A dialect is a
//! folder that exports one value, and that value is all that lowering reads: no code asks which
//! dialect it is in.

pub mod amplifier;
pub mod amplihack;
mod blocks;
pub mod choose;
mod condition;
mod counted;
pub mod fields;
mod halves;
mod header;
mod literal;
mod loops;
mod model;
mod order;
mod pace;
mod plain;
mod portable;
mod printed;
mod raw;
mod recipe;
mod slips;
mod step;
mod strange;
pub mod template;
mod text;
mod tries;
mod variables;
mod whole;

pub use literal::read_values;
pub use order::unknown_step;
pub use recipe::{Lowered, Options, Parent, join_group, lower, lower_expression, unique_ids};
pub use strange::no_secret;

use crate::doc::{Node, Schema};
use crate::expr::BareWords;
use crate::ir::{Equality, Exports, Missing, RunLimits, Store, Truth};
use std::ops::RangeInclusive;

/// The policies of a dialect. Each is written into the IR wherever it matters.
#[derive(Debug)]
pub struct Dialect {
    pub name: &'static str,
    /// How plain scalars resolve.
    pub schema: Schema,
    /// Fields that a recipe must have besides `name` and its steps, when the dialect was chosen
    /// on purpose.
    pub required: &'static [&'static str],
    /// Names that the runner sets and a recipe cannot.
    pub reserved: &'static [&'static str],
    pub bare_words: BareWords,
    pub equality: Equality,
    pub truth: Truth,
    /// What an undefined name, field or item gives.
    pub missing: Missing,
    /// What of the output is stored.
    pub store: Store,
    /// The same with `parse_json`.
    pub store_json: Store,
    /// Is output stored under the step's id when no `output` names a variable?
    pub output_by_id: bool,
    /// Are programs told how deep they are in runs that start each other?
    pub counts_sessions: bool,
    /// Does a failed step that is continued store its output?
    pub keep_output: bool,
    /// Is the kind of a step read off its fields when `type` is omitted? Else it is `agent`.
    pub infer_kind: bool,
    /// Milliseconds a bash step may take, and any other step.
    pub bash_timeout_ms: Option<u64>,
    pub other_timeout_ms: Option<u64>,
    /// What scripts find in their environment.
    pub exports: Exports,
    pub limits: RunLimits,
    /// What a recipe may set its limits to.
    pub depths: RangeInclusive<u32>,
    pub step_counts: RangeInclusive<u32>,
    /// Does a sub-recipe see all variables of its caller, and give all of its own back?
    pub shares_variables: bool,
    /// Is what an agent has changed staged, unless somebody says otherwise?
    pub stages_changes: bool,
}

/// All dialects of recipes, the default first.
pub static ALL: &[&Dialect] = &[&amplifier::AMPLIFIER, &amplihack::AMPLIHACK];

pub fn find(name: &str) -> Option<&'static Dialect> {
    ALL.iter().copied().find(|dialect| dialect.name == name)
}

/// Why a document is no recipe at all; none if it is one, however wrong.
pub fn not_a_recipe(root: Node<'_>) -> Option<&'static str> {
    if root.is_broken() {
        return None;
    }
    let Some(entries) = root.map() else {
        return Some(match root.list() {
            Some(_) => "the file holds a list, not a recipe",
            None => "the file holds one value, not a recipe",
        });
    };
    let known = |entry: &crate::doc::Entry<'_>| {
        ["name", "steps", "stages", "context", "extends"]
            .iter()
            .any(|field| entry.is(field))
    };
    (!entries.iter().any(known)).then_some("nothing in this file says that it is a recipe")
}

/// Whether a JSON document describes a tool.
pub fn is_tool(root: Node<'_>) -> bool {
    root.get("atip").is_some()
}
