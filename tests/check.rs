//! `rrc check` over many files, with comments that ignore findings, with a configuration, and with
//! everything else it can be asked for.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

mod binary;

#[path = "check/config.rs"]
mod config;
#[path = "check/ignores.rs"]
mod ignores;
#[path = "check/more.rs"]
mod more;
#[path = "check/trees.rs"]
mod trees;

/// Nothing is wrong with it.
const GOOD: &str = "\
name: good
steps:
  - id: a
    type: bash
    command: echo hi
";

/// A name that nothing defines.
const BAD: &str = "\
name: bad
steps:
  - id: a
    type: bash
    command: echo {{whom}}
";
