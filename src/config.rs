//! `rrc.toml`: found upward from the file being read, checked key by key, with the place of what is
//! wrong.
//!
//! Says what a user has set and knows nothing of what it is good for.

mod read;

use crate::cli::Global;
use ignore::gitignore::Gitignore;
use rrc_compiler::codes::Code;
use rrc_compiler::dialect::Dialect;
use rrc_runtime::agent::Agents;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What a configuration says, as far as this version uses it.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The file it was read from.
    pub path: Option<PathBuf>,
    /// Where recipes are looked for, after those of the command line.
    pub recipe_path: Vec<PathBuf>,
    /// Which files are in which dialect; the first that matches counts.
    pub dialects: Vec<(Gitignore, &'static Dialect)>,
    pub check: Check,
    pub run: Run,
    pub agents: Agents,
    /// The commands of agents, as they stand in the file.
    pub commands: Vec<Written>,
}

/// A text of the configuration, and where it stands.
#[derive(Clone, Debug)]
pub struct Written {
    pub text: String,
    line: u32,
    column: u32,
    /// Whether it stands there letter by letter.
    plain: bool,
}

impl Written {
    /// The place of a byte of the text, or of the text itself if it is written in another way.
    pub fn place(&self, offset: usize) -> (u32, u32) {
        let before = self.text.get(..offset).filter(|_| self.plain);
        let letters = before.map_or(0, |before| before.chars().count() as u32);
        (self.line, self.column + letters)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Check {
    pub select: Vec<&'static Code>,
    pub ignore: Vec<&'static Code>,
    pub deny_warnings: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Run {
    pub jobs: Option<u32>,
    /// Milliseconds for steps that say nothing.
    pub default_timeout_ms: Option<u64>,
    /// Variables whose values are never shown.
    pub secrets: Vec<String>,
}

impl Config {
    /// The configuration for a file: the one that was named, or the nearest `rrc.toml` above it.
    pub fn find(file: &str, global: &Global) -> Result<Config, String> {
        let path = match (&global.config, global.isolated) {
            (Some(path), _) => Some(path.clone()),
            (None, true) => None,
            (None, false) => directory_of(file).and_then(|directory| above(&directory)),
        };
        match path {
            Some(path) => read::read(&path),
            None => Ok(Config::default()),
        }
    }

    /// The dialect that the configuration pins a file to.
    pub fn dialect(&self, file: &str) -> Option<&'static Dialect> {
        if self.dialects.is_empty() {
            return None;
        }
        let path = std::path::absolute(file).ok()?;
        let within = |globs: &Gitignore| path.starts_with(globs.path());
        let found = self.dialects.iter().find(|(globs, _)| {
            within(globs) && globs.matched_path_or_any_parents(&path, false).is_ignore()
        });
        found.map(|(_, dialect)| *dialect)
    }
}

/// The configurations of many files, each read once.
pub struct Configs<'a> {
    global: &'a Global,
    known: Mutex<HashMap<PathBuf, Arc<Config>>>,
}

impl<'a> Configs<'a> {
    pub fn new(global: &'a Global) -> Configs<'a> {
        Configs {
            global,
            known: Mutex::default(),
        }
    }

    /// The configuration for a file.
    pub fn of(&self, file: &str) -> Result<Arc<Config>, String> {
        let fixed = self.global.config.is_some() || self.global.isolated;
        let directory = match fixed {
            true => PathBuf::new(),
            false => directory_of(file).unwrap_or_default(),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = known.get(&directory) {
            return Ok(Arc::clone(config));
        }
        let path = match fixed {
            true => None,
            false => above(&directory),
        };
        // Directories that share a file share what was read from it.
        let shared = known
            .values()
            .find(|config| !fixed && config.path == path)
            .map(Arc::clone);
        let config = match shared {
            Some(config) => config,
            None => Arc::new(Config::find(file, self.global)?),
        };
        known.insert(directory, Arc::clone(&config));
        Ok(config)
    }

    /// The files that configurations were read from.
    pub fn files(&self) -> Vec<PathBuf> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files: Vec<PathBuf> = known.values().filter_map(|c| c.path.clone()).collect();
        files.sort();
        files.dedup();
        files
    }
}

fn directory_of(file: &str) -> Option<PathBuf> {
    let path = std::path::absolute(file).ok()?;
    path.parent().map(Path::to_path_buf)
}

fn above(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().find_map(|directory| {
        let path = directory.join("rrc.toml");
        path.is_file().then_some(path)
    })
}
