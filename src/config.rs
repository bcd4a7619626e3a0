//! `rrc.toml`: found upward from the file being read, checked key by key.

use crate::cli::Global;
use rrc_compiler::diagnostic::nearest;
use rrc_runtime::agent::Agents;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// What a configuration says, as far as this version uses it.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub agents: Agents,
}

const TOP: &[&str] = &[
    "recipe-path",
    "agent-path",
    "tool-path",
    "dialect",
    "check",
    "run",
    "agent",
    "agents",
];

impl Config {
    /// The configuration for a file: the one that was named, or the nearest `rrc.toml` above it.
    pub fn find(file: &str, global: &Global) -> Result<Config, String> {
        let path = match (&global.config, global.isolated) {
            (Some(path), _) => Some(path.clone()),
            (None, true) => None,
            (None, false) => above(file),
        };
        match path {
            Some(path) => Config::read(&path),
            None => Ok(Config::default()),
        }
    }

    fn read(path: &Path) -> Result<Config, String> {
        let here = |words: String| format!("{}: {words}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| here(error.to_string()))?;
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| here(error.to_string()))?;
        Config::from(&table).map_err(here)
    }

    fn from(table: &Table) -> Result<Config, String> {
        known(table, "rrc.toml", TOP)?;
        let mut agents = Agents::default();
        if let Some(agent) = section(table, "agent")? {
            agents.command = command(agent, "[agent]")?;
        }
        if let Some(named) = section(table, "agents")? {
            for (name, value) in named {
                let what = format!("[agents.{name:?}]");
                let own = value
                    .as_table()
                    .ok_or_else(|| format!("{what} must be a table"))?;
                agents
                    .by_name
                    .extend(command(own, &what)?.map(|words| (name.clone(), words)));
            }
        }
        Ok(Config { agents })
    }
}

fn above(file: &str) -> Option<PathBuf> {
    let path = std::path::absolute(file).ok()?;
    let mut directories = path.ancestors().skip(1);
    directories.find_map(|directory| {
        let path = directory.join("rrc.toml");
        path.is_file().then_some(path)
    })
}

fn section<'a>(table: &'a Table, name: &str) -> Result<Option<&'a Table>, String> {
    match table.get(name) {
        None => Ok(None),
        Some(Value::Table(section)) => Ok(Some(section)),
        Some(_) => Err(format!("`{name}` must be a table")),
    }
}

fn command(table: &Table, what: &str) -> Result<Option<String>, String> {
    known(table, what, &["command"])?;
    match table.get("command") {
        None => Ok(None),
        Some(Value::String(words)) => Ok(Some(words.clone())),
        Some(_) => Err(format!("`command` in {what} must be text")),
    }
}

fn known(table: &Table, what: &str, names: &[&str]) -> Result<(), String> {
    let unknown = |name: &&String| !names.contains(&name.as_str());
    if let Some(name) = table.keys().find(unknown) {
        let near = nearest(name, names.iter().copied());
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        return Err(format!("{what} has no `{name}`{hint}"));
    }
    Ok(())
}
