//! The binary as a user meets it: streams, exit codes, formats, and bad input of every kind.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

mod binary;

#[path = "cli/bad_input.rs"]
mod bad_input;
#[path = "cli/bad_plan.rs"]
mod bad_plan;
#[path = "cli/check.rs"]
mod check;
#[path = "cli/formats.rs"]
mod formats;
#[path = "cli/other.rs"]
mod other;
#[path = "cli/usage.rs"]
mod usage;
#[path = "cli/wrong_types.rs"]
mod wrong_types;

/// Nothing is wrong with it.
const GOOD: &str = "\
name: good
steps:
  - id: a
    type: bash
    command: echo hi
";

/// One error with a safe fix, one warning with an unsafe fix.
const BAD: &str = "\
# what this is
name: \"bad\"   # stays
context:
  user: ada


steps:
  - id: a   # é
    type: bash
    command: 'echo {{usre}} {{ user }}'
";

/// One warning and nothing else.
const WARNING: &str = "\
name: warning
context: {user: ada}
steps:
  - id: a
    type: bash
    command: echo '{{ user }}'
";
