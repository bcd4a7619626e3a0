//! One file: what is found in it, and what its fixes make of it.

use super::files::{Named, begins_like_a_recipe, looks_like_ours};
use super::merge::{self, Said};
use super::{bounds, shellcheck};
use crate::cli::{CheckArgs, Global};
use crate::config::{Config, Configs};
use crate::disk::{self, Disk};
use crate::output::whole_file;
use crate::plan;
use rrc_compiler::Options;
use rrc_compiler::codes::{self, Code, Severity};
use rrc_compiler::diagnostic::{Applicability, Diagnostic};
use rrc_compiler::fix;
use rrc_compiler::load::Shelf;
use rrc_compiler::source::{SourceId, Sources};
use rrc_compiler::world::ReadError;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rounds of fixing: one fix may lay bare another.
const MOST_ROUNDS: usize = 10;

/// What is the same for all files.
pub struct Checking<'a> {
    pub args: &'a CheckArgs,
    pub global: &'a Global,
    pub configs: &'a Configs<'a>,
    /// What files share that call each other.
    pub shelf: Option<&'a Shelf>,
    /// Nothing comes after this file.
    pub last: bool,
}

/// What came of a file. The first of its sources is the file itself.
pub struct Outcome {
    pub sources: Sources,
    pub findings: Vec<Diagnostic>,
    /// From here on, a finding is bad enough to fail.
    pub least: Severity,
    /// It could not be read, or was named and is no recipe.
    pub refused: bool,
    /// How its dialect was chosen, if that is to be said.
    pub choice: Option<String>,
    pub bounds: Option<bounds::Row>,
}

impl Outcome {
    /// Something in it is bad enough to fail.
    pub fn is_bad(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity >= self.least)
    }

    /// The files it was made from, and the directories they are in: there, others may appear.
    pub fn read(&self) -> Vec<PathBuf> {
        let files = self
            .sources
            .iter()
            .map(|(_, source)| Path::new(&source.name));
        files
            .flat_map(|file| [Some(file), file.parent()])
            .flatten()
            .map(|path| match path.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => path.to_path_buf(),
            })
            .collect()
    }
}

/// The world that a file is checked in; none if it was found by walking and is no recipe.
fn world(file: &Named, checking: &Checking<'_>) -> Option<Result<(Disk, Arc<Config>), String>> {
    let bytes = match (&file.stdin, file.walked) {
        (Some(bytes), _) => Some(bytes.clone()),
        (None, true) => match disk::read(&file.name) {
            Ok(bytes) if looks_like_ours(&file.name, &bytes) => Some(bytes),
            // A recipe that is never looked at must not look like one without findings.
            Err(ReadError::TooLarge(_)) if begins_like_a_recipe(&file.name) => None,
            Err(ReadError::Other(_)) => None,
            _ => return None,
        },
        (None, false) => None,
    };
    let config = match checking.configs.of(&file.name) {
        Ok(config) => config,
        Err(words) => return Some(Err(words)),
    };
    let mut disk = Disk::new(checking.global, &config);
    disk.held = bytes.map(|bytes| (file.name.clone(), bytes));
    Some(Ok((disk, config)))
}

/// How a file is looked at, whether its findings are shown or fixed.
fn options<'a>(global: &Global, config: &'a Config, asked: &'a [&'static Code]) -> Options<'a> {
    Options {
        timeout_ms: config.run.default_timeout_ms,
        secrets: &config.run.secrets,
        asked,
        ..global.options()
    }
}

pub fn checked(file: &Named, checking: &Checking<'_>) -> Option<Result<Outcome, String>> {
    let (disk, config) = match world(file, checking)? {
        Ok(world) => world,
        Err(words) => return Some(Err(words)),
    };
    let (args, global) = (checking.args, checking.global);
    let mut sources = Sources::default();
    let asked = selected(args, &config);
    let options = Options {
        shelf: checking.shelf,
        ..options(global, &config, &asked)
    };
    let mut checked = rrc_compiler::check(&disk, &file.name, options, &mut sources);
    if args.shellcheck {
        let found = match shellcheck::findings(&checked.program, &sources) {
            Ok(found) => found,
            Err(words) => return Some(Err(words)),
        };
        checked.add(found);
    }
    // What could not be read to its end may have been one.
    let said = &checked.report.findings;
    let no_recipe = !said.is_empty() && said.iter().all(|f| f.code == &codes::NOT_A_RECIPE);
    let choice = global
        .verbose
        .then(|| plan::choice(&file.name, &checked, &sources));
    let bounds = args
        .bounds
        .then(|| bounds::row(&file.name, &checked.program, &sources));
    if checking.last {
        // The process is about to end, and the system gives memory back at once.
        std::mem::forget(checked.program);
    }
    let mut report = checked.report;
    report
        .findings
        .retain(|finding| wanted(finding, args, &config));
    let spans = report.findings.iter_mut().flat_map(Diagnostic::spans_mut);
    let sources = sources.renumber(spans);
    report.settle();
    let least = match args.deny_warnings || config.check.deny_warnings {
        true => Severity::Warning,
        false => Severity::Error,
    };
    Some(Ok(Outcome {
        least,
        refused: !checked.readable || (no_recipe && !file.walked),
        findings: report.findings,
        choice: choice.flatten(),
        bounds: bounds.flatten(),
        sources,
    }))
}

/// A file after its fixes.
pub struct Fixed {
    pub applied: usize,
    pub diff: String,
    /// The new text, if there is one.
    after: Option<Vec<u8>>,
}

pub fn fixed(
    file: &Named,
    called: Option<&HashSet<Said>>,
    checking: &Checking<'_>,
) -> Option<Result<Fixed, String>> {
    let (mut disk, config) = match world(file, checking)? {
        Ok(world) => world,
        Err(words) => return Some(Err(words)),
    };
    let (args, global) = (checking.args, checking.global);
    let most = match args.unsafe_fixes {
        true => Applicability::Unsafe,
        false => Applicability::Safe,
    };
    let asked = selected(args, &config);
    let options = options(global, &config, &asked);
    let mut before: Option<String> = None;
    let mut applied = 0;
    for _ in 0..MOST_ROUNDS {
        let mut sources = Sources::default();
        let checked = rrc_compiler::check(&disk, &file.name, options, &mut sources);
        let mut findings = checked.report.findings;
        // What is wrong with a file that this one calls is fixed when that one is checked.
        let here = |finding: &Diagnostic| {
            let fix = finding.fix.as_ref();
            fix.is_some_and(|fix| fix.edits.iter().all(|e| e.span.source == SourceId(0)))
        };
        findings.retain(|finding| {
            let named = merge::is_about_names(finding);
            let known = !named || called.is_none_or(|said| said.contains(&merge::key(finding)));
            known && here(finding) && wanted(finding, args, &config)
        });
        let changed = fix::apply(&sources, &findings, most);
        let Some((source, text, count)) = changed.into_iter().next() else {
            break;
        };
        before.get_or_insert_with(|| sources.get(source).text.to_string());
        applied += count;
        // From here on, the file is what the fixes have made of it.
        disk.held = Some((file.name.clone(), text.into_bytes()));
    }
    let after = disk.held.map(|(_, text)| text).filter(|_| before.is_some());
    let diff = match (&before, &after) {
        (Some(before), Some(after)) if args.diff => {
            fix::diff(before, &String::from_utf8_lossy(after), &file.name)
        }
        _ => String::new(),
    };
    Some(Ok(Fixed {
        applied,
        diff,
        after,
    }))
}

/// Puts a fixed text in the place of the old one.
pub fn keep(file: &mut Named, fixed: &Fixed) -> io::Result<()> {
    let Some(after) = &fixed.after else {
        return Ok(());
    };
    match &mut file.stdin {
        Some(text) => text.clone_from(after),
        None => whole_file(file.name.as_ref(), after)?,
    }
    Ok(())
}

/// What is to be reported and nothing else; nothing if there is no such choice.
fn selected(args: &CheckArgs, config: &Config) -> Vec<&'static Code> {
    match args.select.is_empty() {
        true => config.check.select.clone(),
        false => args
            .select
            .iter()
            .filter_map(|code| codes::find(code))
            .collect(),
    }
}

/// The command line decides before the configuration does.
fn wanted(finding: &Diagnostic, args: &CheckArgs, config: &Config) -> bool {
    let listed = |list: &[String]| {
        let is = |text: &String| codes::find(text).is_some_and(|code| code == finding.code);
        list.iter().any(is)
    };
    let selected = selected(args, config);
    let selected = selected.is_empty() || selected.contains(&finding.code);
    let ignored = listed(&args.ignore)
        || (args.select.is_empty() && config.check.ignore.contains(&finding.code));
    selected && !ignored
}
