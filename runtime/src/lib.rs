//! Performs what the machine asks for: processes, time, journal, events.
//!
//! Knows plans and values, never recipes. The operating system is behind `os`.

pub mod agent;
pub mod capture;
pub mod clock;
pub mod driver;
pub mod event;
pub mod journal;
pub mod os;
pub mod outlet;
pub mod process;
pub mod record;
pub mod reply;
pub mod secret;
pub mod validate;
pub mod watchdog;
