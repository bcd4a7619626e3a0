//! From the bytes of a recipe to a plan and diagnostics.
#![forbid(unsafe_code)]

pub mod codes;
pub mod diagnostic;
pub mod fix;
pub mod report;
pub mod source;
