//! The instruction set, the plan format, the verifier and the machine.
//!
//! This crate performs nothing: no IO, no clock, no randomness, no environment. A machine asks
//! through `poll` and is answered through `resume`; with the same answers it makes the same run.
#![forbid(unsafe_code)]

pub mod builtin;
pub mod codec;
pub mod convert;
pub mod disasm;
pub mod exports;
pub mod fault;
pub mod flow;
pub mod generate;
pub mod isa;
pub mod machine;
pub mod plan;
pub mod policy;
pub mod shell;
mod task;
pub mod text;
pub mod value;
pub mod verify;
mod weight;
