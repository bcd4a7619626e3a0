//! Performs what the machine asks for.

pub mod capture;
pub mod clock;
pub mod os;
pub mod process;
pub mod watchdog;
