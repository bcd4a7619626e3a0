//! From the bytes of a recipe to a plan and diagnostics.
#![forbid(unsafe_code)]

pub mod codes;
pub mod diagnostic;
pub mod shell;
pub mod source;
