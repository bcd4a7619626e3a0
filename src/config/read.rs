//! Reading `rrc.toml`: every mistake in it is said, each with its place.

use super::{Check, Config, Run, Written};
use crate::words;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rrc_compiler::codes::{self, Code};
use rrc_compiler::diagnostic::nearest;
use rrc_compiler::dialect::{self, Dialect, no_secret};
use rrc_compiler::source::Source;
use rrc_runtime::agent::Agents;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Item<'a> = Spanned<DeValue<'a>>;

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

/// More than this many seconds are not meant.
const MOST_SECONDS: f64 = 1e9;

pub fn read(path: &Path) -> Result<Config, String> {
    let here = |words: String| format!("{}: {words}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| here(words(&error)))?;
    let full = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut reader = Reader {
        source: Source::new(path.to_string_lossy(), text.as_str()),
        directory: full.parent().unwrap_or(Path::new("/")).to_path_buf(),
        wrong: Vec::new(),
        commands: Vec::new(),
    };
    let config = match DeTable::parse(&text) {
        Ok(table) => reader.top(table.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            reader.say(span, error.message().trim_end_matches('.').to_string());
            Config::default()
        }
    };
    match reader.wrong.is_empty() {
        true => Ok(Config {
            path: Some(path.to_path_buf()),
            commands: reader.commands,
            ..config
        }),
        false => {
            reader.wrong.sort_by_key(|(start, _)| *start);
            let all: Vec<String> = reader.wrong.into_iter().map(|(_, words)| words).collect();
            Err(all.join("\nrrc: "))
        }
    }
}

struct Reader {
    source: Source,
    /// Where relative paths begin.
    directory: PathBuf,
    /// What is wrong, and where that begins.
    wrong: Vec<(usize, String)>,
    commands: Vec<Written>,
}

impl Reader {
    fn say(&mut self, span: Range<usize>, words: String) {
        let place = self.source.place(span.start as u32);
        let (name, line, column) = (&self.source.name, place.line, place.column);
        let words = format!("{name}:{line}:{column}: {words}");
        self.wrong.push((span.start, words));
    }

    fn top(&mut self, table: &DeTable<'_>) -> Config {
        self.known(table, "rrc.toml", TOP);
        let recipe_path = self.paths(table, "recipe-path");
        // Checked, though nothing looks there yet.
        self.paths(table, "tool-path");
        let agent_path = self.paths(table, "agent-path");
        Config {
            path: None,
            recipe_path,
            dialects: self.dialects(table),
            check: self.check(table),
            run: self.run(table),
            agents: Agents {
                path: agent_path,
                base: self.directory.clone(),
                ..self.agents(table)
            },
            commands: Vec::new(),
        }
    }

    fn known(&mut self, table: &DeTable<'_>, what: &str, names: &[&str]) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if names.contains(&name) {
                continue;
            }
            let hint = match nearest(name, names.iter().copied()) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!("; it has: {}", names.join(", ")),
            };
            self.say(key.span(), format!("{what} has no `{name}`{hint}"));
        }
    }

    /// Says that a value is not what it should be.
    fn not(&mut self, item: &Item<'_>, name: &str, should: &str) {
        let is = article(item.get_ref().type_str());
        self.say(item.span(), format!("`{name}` must be {should}, not {is}"));
    }

    /// Says that a value is no number that makes sense here, or no number at all.
    fn not_in_range(&mut self, item: &Item<'_>, name: &str, should: &str) {
        match item.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => {
                let is = self.source.text.get(item.span()).unwrap_or_default();
                self.say(item.span(), format!("`{name}` must be {should}, not {is}"));
            }
            _ => self.not(item, name, should),
        }
    }

    fn section<'t, 'i>(
        &mut self,
        table: &'t DeTable<'i>,
        name: &str,
        keys: &[&str],
    ) -> Option<&'t DeTable<'i>> {
        let item = table.get(name)?;
        let Some(section) = item.get_ref().as_table() else {
            self.not(item, name, "a table");
            return None;
        };
        self.known(section, &format!("[{name}]"), keys);
        Some(section)
    }

    fn texts(&mut self, table: &DeTable<'_>, name: &str) -> Vec<(String, Range<usize>)> {
        let Some(item) = table.get(name) else {
            return Vec::new();
        };
        let Some(items) = item.get_ref().as_array() else {
            self.not(item, name, "a list of texts");
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items.iter() {
            match item.get_ref().as_str() {
                Some(text) => texts.push((text.to_string(), item.span())),
                None => self.not(item, name, "a list of texts"),
            }
        }
        texts
    }

    fn paths(&mut self, table: &DeTable<'_>, name: &str) -> Vec<PathBuf> {
        let texts = self.texts(table, name);
        let here = &self.directory;
        texts.iter().map(|(path, _)| expanded(path, here)).collect()
    }

    fn flag(&mut self, table: &DeTable<'_>, name: &str) -> bool {
        let Some(item) = table.get(name) else {
            return false;
        };
        item.get_ref().as_bool().unwrap_or_else(|| {
            self.not(item, name, "true or false");
            false
        })
    }

    fn text(&mut self, table: &DeTable<'_>, name: &str) -> Option<String> {
        let item = table.get(name)?;
        let text = item.get_ref().as_str();
        if text.is_none() {
            self.not(item, name, "text");
        }
        text.map(str::to_string)
    }

    fn codes(&mut self, table: &DeTable<'_>, name: &str) -> Vec<&'static Code> {
        let mut found = Vec::new();
        for (text, span) in self.texts(table, name) {
            match codes::find(&text) {
                Some(code) => found.push(code),
                None => {
                    let known = codes::ALL.iter().flat_map(|code| [code.code, code.name]);
                    let hint = nearest(&text, known)
                        .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                    self.say(span, format!("there is no finding `{text}`{hint}"));
                }
            }
        }
        found
    }

    fn check(&mut self, table: &DeTable<'_>) -> Check {
        let keys = ["select", "ignore", "deny-warnings"];
        let Some(section) = self.section(table, "check", &keys) else {
            return Check::default();
        };
        Check {
            select: self.codes(section, "select"),
            ignore: self.codes(section, "ignore"),
            deny_warnings: self.flag(section, "deny-warnings"),
        }
    }

    fn run(&mut self, table: &DeTable<'_>) -> Run {
        let keys = ["jobs", "default-timeout", "secrets"];
        let Some(section) = self.section(table, "run", &keys) else {
            return Run::default();
        };
        let secrets = self.texts(section, "secrets");
        for (name, place) in &secrets {
            // The environment may have others than variables can have.
            let wrong = no_secret(name).filter(|_| std::env::var_os(name).is_none());
            if let Some((wrong, help)) = wrong {
                self.say(place.clone(), format!("{wrong}; {help}"));
            }
        }
        Run {
            secrets: secrets.into_iter().map(|(name, _)| name).collect(),
            jobs: self.jobs(section),
            default_timeout_ms: self.seconds(section, "default-timeout"),
        }
    }

    fn jobs(&mut self, table: &DeTable<'_>) -> Option<u32> {
        let item = table.get("jobs")?;
        let number = integer(item.get_ref()).and_then(|number| u32::try_from(number).ok());
        let jobs = number.filter(|number| *number > 0);
        if jobs.is_none() {
            self.not_in_range(
                item,
                "jobs",
                &format!("a whole number from 1 to {}", u32::MAX),
            );
        }
        jobs
    }

    fn seconds(&mut self, table: &DeTable<'_>, name: &str) -> Option<u64> {
        let item = table.get(name)?;
        let seconds = match item.get_ref() {
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
            other => integer(other).map(|number| number as f64),
        };
        let seconds: Option<f64> = seconds.filter(|s| *s > 0.0 && *s <= MOST_SECONDS);
        if seconds.is_none() {
            let should = format!("a number of seconds above 0 and up to {MOST_SECONDS}");
            self.not_in_range(item, name, &should);
        }
        seconds.map(|seconds| (seconds * 1000.0).ceil() as u64)
    }

    fn dialects(&mut self, table: &DeTable<'_>) -> Vec<(Gitignore, &'static Dialect)> {
        let Some(item) = table.get("dialect") else {
            return Vec::new();
        };
        let Some(items) = item.get_ref().as_array() else {
            self.not(item, "dialect", "a list of tables: `[[dialect]]`");
            return Vec::new();
        };
        let mut pins = Vec::new();
        for item in items.iter() {
            let Some(entry) = item.get_ref().as_table() else {
                self.not(item, "dialect", "a list of tables: `[[dialect]]`");
                continue;
            };
            self.known(entry, "[[dialect]]", &["paths", "name"]);
            let globs = self.globs(entry);
            for key in ["paths", "name"] {
                if entry.get(key).is_none() {
                    self.say(item.span(), format!("[[dialect]] needs `{key}`"));
                }
            }
            let Some(name) = self.text(entry, "name") else {
                continue;
            };
            match (dialect::find(&name), globs) {
                (Some(dialect), Some(globs)) => pins.push((globs, dialect)),
                (Some(_), None) => {}
                (None, _) => {
                    let known: Vec<&str> = dialect::ALL.iter().map(|d| d.name).collect();
                    let hint = match nearest(&name, known.iter().copied()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("there are: {}", known.join(", ")),
                    };
                    let span = entry.get("name").map_or(item.span(), Spanned::span);
                    self.say(span, format!("there is no dialect `{name}`; {hint}"));
                }
            }
        }
        pins
    }

    /// Paths from the directory of the file, with `*`, `**` and `?`; as in `.gitignore`, a name
    /// without a slash is meant at any depth.
    fn globs(&mut self, table: &DeTable<'_>) -> Option<Gitignore> {
        let mut builder = GitignoreBuilder::new(&self.directory);
        for (glob, span) in self.texts(table, "paths") {
            if builder.add_line(None, &glob).is_err() {
                self.say(span, format!("`{glob}` is no pattern of paths"));
            }
        }
        builder.build().ok()
    }

    /// The command of an agent: one process, which the step that asks bounds and tries again.
    fn command(&mut self, table: &DeTable<'_>) -> Option<String> {
        let item = table.get("command")?;
        let Some(text) = item.get_ref().as_str() else {
            let array = item.get_ref().as_array();
            let words = array.map(|words| words.iter().map(|word| word.get_ref().as_str()));
            let words: Option<Vec<&str>> = words.and_then(Iterator::collect);
            let should = match words.filter(|words| !words.is_empty()) {
                Some(words) => format!("one text: `\"{}\"`", words.join(" ")),
                None => "text: steps have `timeout` and `retry`, and a script has several commands"
                    .to_string(),
            };
            self.not(item, "command", &should);
            return None;
        };
        if text.trim().is_empty() {
            let words =
                "`command` is empty: write the program and its words, such as `claude -p {prompt}`";
            self.say(item.span(), words.to_string());
            return None;
        }
        let span = item.span();
        let raw = self.source.text.get(span.clone()).unwrap_or_default();
        let plain = raw.get(1..raw.len().saturating_sub(1)) == Some(text);
        let place = self.source.place((span.start + usize::from(plain)) as u32);
        self.commands.push(Written {
            text: text.to_string(),
            line: place.line,
            column: place.column,
            plain,
        });
        Some(text.to_string())
    }

    fn agents(&mut self, table: &DeTable<'_>) -> Agents {
        let mut agents = Agents::default();
        if let Some(agent) = self.section(table, "agent", &["command"]) {
            agents.command = self.command(agent);
        }
        let Some(item) = table.get("agents") else {
            return agents;
        };
        let Some(named) = item.get_ref().as_table() else {
            self.not(item, "agents", "a table");
            return agents;
        };
        for (name, item) in named.iter() {
            let name: &str = name.get_ref();
            let what = format!("[agents.{name:?}]");
            let Some(own) = item.get_ref().as_table() else {
                match name {
                    "command" => self.say(
                        item.span(),
                        "[agents] holds a table for each agent; did you mean `[agent]`?"
                            .to_string(),
                    ),
                    _ => self.not(item, &what, "a table"),
                }
                continue;
            };
            self.known(own, &what, &["command"]);
            if let Some(words) = self.command(own) {
                agents.by_name.extend([(name.to_string(), words)]);
            }
        }
        agents
    }
}

fn article(kind: &str) -> String {
    match kind.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {kind}"),
        false => format!("a {kind}"),
    }
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    let digits = integer.as_str().replace('_', "");
    i64::from_str_radix(&digits, integer.radix()).ok()
}

/// `~` is the home of whoever runs this; the rest is relative to the configuration.
fn expanded(path: &str, directory: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        (None, Some(home)) if path == "~" => home,
        _ => directory.join(path),
    }
}
