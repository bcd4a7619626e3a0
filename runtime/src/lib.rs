//! Performs what the machine asks for.
