//! The commands that ask agents: templates in `rrc.toml`, compiled before a run that needs them.

use crate::cli::Global;
use crate::config::Config;
use crate::{Streams, plan};
use rrc_compiler::diagnostic::Report;
use rrc_compiler::source::Sources;
use rrc_compiler::world::Texts;
use rrc_compiler::{Options, build, check};
use rrc_runtime::agent::Commands;
use rrc_vm::plan::{NeedKind, Plan};
use std::io;
use std::rc::Rc;

/// The plans of all agent commands, if a plan asks agents at all; none if one of the commands
/// means nothing, which has been said.
pub fn commands(
    asking: &Plan,
    config: &Config,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<Option<Commands>> {
    let mut all = Commands::default();
    if !asking.needs.iter().any(|need| need.kind == NeedKind::Agent) {
        return Ok(Some(all));
    }
    for command in config.agents.commands() {
        // A command in TOML is the text of a template, which is JSON.
        let name = "the agent command in rrc.toml.json";
        let text = serde_json::Value::String(command.to_string()).to_string();
        let mut sources = Sources::default();
        let world = Texts::one(name, text);
        let checked = check(&world, name, Options::default(), &mut sources);
        let Some(compiled) = build(&checked, &sources, plan::hash) else {
            let mut report = Report::default();
            let errors = |found: &&rrc_compiler::diagnostic::Diagnostic| {
                found.severity == rrc_compiler::codes::Severity::Error
            };
            report.findings = checked
                .report
                .findings
                .iter()
                .filter(errors)
                .cloned()
                .collect();
            plan::show(&report, &sources, global, streams)?;
            writeln!(
                streams.err,
                "rrc: rrc.toml: the agent command `{command}` cannot be used"
            )?;
            return Ok(None);
        };
        match plan::admit(name, compiled, global, streams)? {
            Ok(verified) => all.0.push((command.to_string(), Rc::new(verified))),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(all))
}
