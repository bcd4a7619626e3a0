//! What the suites share: reading the book in `spec/`, and holding `rrc` to it.
//!
//! The harness knows the command line and nothing of the compiler's inside, so the book is true
//! for the binary that people run. `spec.rs` is the suite; this folder is also a test target of
//! its own, for the harness's own arithmetic.
#![allow(
    dead_code,
    unused_imports,
    reason = "each suite uses its own part, and one without libtest has no unit tests"
)]

pub mod caret;
pub mod command;
pub mod console;
pub mod example;
pub mod page;
pub mod wrap;
