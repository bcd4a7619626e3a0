//! What reading a document gives: its findings, where everything stands, and what holds for every text.

mod findings;
mod laws;
mod spans;
