//! The instruction set, the plan format, the verifier and the machine.
//!
//! This crate performs nothing: no IO, no clock, no randomness, no environment. A machine asks
//! through `poll` and is answered through `resume`; with the same answers it makes the same run.
#![forbid(unsafe_code)]

pub mod codec;
pub mod fault;
pub mod isa;
pub mod plan;
pub mod value;
pub mod verify;
