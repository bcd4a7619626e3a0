//! Which variables a script finds in its environment, besides those that its holes name.

use crate::ir::{Exports, Script, ScriptPart, Text};
use crate::shell;

/// As the dialect has it, unless nothing could read them.
pub fn exports(
    of_dialect: Exports,
    program: &str,
    script: &Script,
    env: &[(String, Text)],
) -> Exports {
    let is_given = |name: &str| {
        let mut vars = script.vars.iter();
        vars.any(|var| var.name == name) || env.iter().any(|(other, _)| other == name)
    };
    let source: Option<String> = script
        .parts
        .iter()
        .map(|part| match part {
            ScriptPart::Source(source) => Some(source.as_str()),
            _ => None,
        })
        .collect();
    let is_shell = ["bash", "sh"].contains(&program);
    match source {
        Some(source) if is_shell && shell::is_closed(&source, is_given) => Exports::Nothing,
        _ => of_dialect,
    }
}
