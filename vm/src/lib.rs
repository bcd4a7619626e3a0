//! The instruction set, the plan format, the verifier and the machine.
//!
//! This crate performs nothing: no IO, no clock, no randomness, no environment. A machine asks
//! through `poll` and is answered through `resume`; with the same answers it makes the same run.
#![forbid(unsafe_code)]

pub mod builtin;
pub mod convert;
pub mod exports;
pub mod fault;
pub mod isa;
pub mod plan;
pub mod policy;
pub mod shell;
pub mod text;
pub mod value;
