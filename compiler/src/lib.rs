//! From the bytes of a recipe to a plan and diagnostics.
#![forbid(unsafe_code)]

pub mod codes;
pub mod diagnostic;
pub mod doc;
pub mod expr;
pub mod fix;
pub mod report;
pub mod shell;
pub mod source;
