//! The files that are open in the editor, as the world that the compiler asks.

use super::place::{Encoding, Lines};
use super::uri;
use crate::cli::Global;
use crate::config::{Check, Config};
use crate::disk::Disk;
use lsp_types::{TextDocumentContentChangeEvent, Uri};
use rrc_compiler::Checked;
use rrc_compiler::source::Sources;
use rrc_compiler::world::{ReadError, World, candidates};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Open files by their paths.
pub type Open = BTreeMap<String, Document>;

pub struct Document {
    /// As the editor writes it.
    pub uri: Uri,
    /// The path behind all links, if the file is on disk.
    real: Option<String>,
    pub version: i32,
    pub text: String,
    pub lines: Lines,
    /// Whether the editor knows it as something else than any YAML or JSON.
    pub named: bool,
    /// Whether it has changed, or something it reads, since it was checked.
    pub stale: bool,
    pub analysis: Option<Analysis>,
}

/// What came of checking a file.
pub struct Analysis {
    pub checked: Checked,
    pub sources: Sources,
    pub asked: Asked,
    /// What is wrong with the configuration; without it, the file was checked as if there was none.
    pub misconfigured: Option<String>,
}

/// What the compiler asked for while it checked a file.
#[derive(Default)]
pub struct Asked {
    pub read: BTreeSet<String>,
    /// A recipe was looked for that is not there.
    pub missed: bool,
}

impl Document {
    pub fn new(uri: Uri, path: &str, language: &str, version: i32, text: String) -> Document {
        let plain = ["yaml", "yml", "json", "jsonc", "plaintext", ""];
        Document {
            uri,
            real: std::fs::canonicalize(path)
                .ok()
                .map(|path| path.to_string_lossy().into_owned()),
            version,
            lines: Lines::of(&text),
            text,
            named: !plain.contains(&language),
            stale: true,
            analysis: None,
        }
    }

    pub fn change(&mut self, change: TextDocumentContentChangeEvent, encoding: Encoding) {
        match change.range {
            None => self.text = change.text,
            Some(range) => {
                let start = self.lines.offset(&self.text, range.start, encoding);
                let end = self.lines.offset(&self.text, range.end, encoding);
                self.text.replace_range(start..end.max(start), &change.text);
            }
        }
        self.lines = Lines::of(&self.text);
        self.stale = true;
    }
}

/// Open files first, then the disk.
struct Buffers<'a> {
    open: &'a Open,
    disk: Disk,
    /// One file as it might be.
    instead: Option<(&'a str, &'a str)>,
    asked: RefCell<Asked>,
}

impl World for Buffers<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let known = match self.open.contains_key(path) {
            true => path.to_string(),
            false => uri::plain(Path::new(path)),
        };
        self.asked.borrow_mut().read.insert(known.clone());
        if let Some((name, text)) = self.instead
            && name == known
        {
            return Ok(text.as_bytes().to_vec());
        }
        if let Some(document) = self.open.get(&known) {
            return Ok(document.text.as_bytes().to_vec());
        }
        if let Ok(real) = std::fs::canonicalize(path) {
            let real = real.to_string_lossy();
            let same = |document: &&Document| document.real.as_deref() == Some(&*real);
            if let Some(document) = self.open.values().find(same) {
                return Ok(document.text.as_bytes().to_vec());
            }
        }
        self.disk.read(path)
    }

    fn find_recipe(&self, name: &str, from: &str) -> Option<String> {
        let found = self.disk.find_recipe(name, from).or_else(|| {
            // A file that has never been saved.
            let beside = Path::new(from).parent()?;
            let mut paths = candidates(name)
                .into_iter()
                .map(|name| uri::plain(&beside.join(name)));
            paths.find(|path| self.open.contains_key(path))
        });
        self.asked.borrow_mut().missed |= found.is_none();
        found
    }

    fn absolute(&self, path: &str) -> String {
        self.disk.absolute(path)
    }

    fn dialect(&self, path: &str) -> Option<&str> {
        self.disk.dialect(path)
    }
}

impl<'a> Buffers<'a> {
    /// The world of a file, its configuration, and what is wrong with that.
    fn of(path: &str, open: &'a Open, global: &Global) -> (Self, Arc<Config>, Option<String>) {
        let (config, wrong) = match Config::find(path, global) {
            Ok(config) => (Arc::new(config), None),
            Err(words) => (Arc::default(), Some(words)),
        };
        let world = Buffers {
            open,
            disk: Disk::new(global, &config),
            instead: None,
            asked: RefCell::default(),
        };
        (world, config, wrong)
    }
}

/// Checks an open file, or a text in its place. None if the compiler gave up on it, which is its
/// mistake and no reason to leave the editor alone.
pub fn check(open: &Open, path: &str, instead: Option<&str>, global: &Global) -> Option<Analysis> {
    let (mut world, config, misconfigured) = Buffers::of(path, open, global);
    world.instead = instead.map(|text| (path, text));
    let mut sources = Sources::default();
    let mut options = global.options();
    options.timeout_ms = config.run.default_timeout_ms;
    options.secrets = &config.run.secrets;
    options.asked = &config.check.select;
    let checked = catch_unwind(AssertUnwindSafe(|| {
        rrc_compiler::check(&world, path, options, &mut sources)
    }));
    let mut checked = checked.ok()?;
    let Check { select, ignore, .. } = &config.check;
    checked.report.findings.retain(|finding| {
        (select.is_empty() || select.contains(&finding.code)) && !ignore.contains(&finding.code)
    });
    Some(Analysis {
        checked,
        sources,
        asked: world.asked.into_inner(),
        misconfigured,
    })
}

/// Where the recipe is that an open file calls by a name.
pub fn find_recipe(open: &Open, name: &str, from: &str, global: &Global) -> Option<String> {
    let (world, ..) = Buffers::of(from, open, global);
    world
        .find_recipe(name, from)
        .map(|path| uri::plain(Path::new(&path)))
}
