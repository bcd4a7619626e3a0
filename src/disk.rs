//! The compiler's world, on disk.

use crate::cli::Global;
use crate::config::Config;
use rrc_compiler::doc::MAX_BYTES;
use rrc_compiler::world::{ReadError, World, called, candidates};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files by their paths, and one text that is held under its name: standard input, or a file that
/// was read already or is about to be rewritten.
#[derive(Clone)]
pub struct Disk {
    pub held: Option<(String, Vec<u8>)>,
    config: Arc<Config>,
    /// Where recipes are looked for, in order.
    recipe_dirs: Vec<PathBuf>,
    /// Where steps run.
    working_dir: PathBuf,
}

impl Disk {
    pub fn new(global: &Global, config: &Arc<Config>) -> Disk {
        let configured = config.recipe_path.iter().cloned();
        Disk {
            held: None,
            config: Arc::clone(config),
            recipe_dirs: global
                .recipe_dirs
                .iter()
                .cloned()
                .chain(configured)
                .collect(),
            working_dir: global.working_dir.clone().unwrap_or_default(),
        }
    }

    /// Where a recipe may be that `from` names: its own directory, those that were asked for, and
    /// the places where the runners keep theirs.
    fn places(&self, name: &str, from: &str) -> impl Iterator<Item = PathBuf> {
        let beside = Path::new(from)
            .parent()
            .unwrap_or(Path::new(""))
            .to_path_buf();
        let mut near = Vec::new();
        // A path is meant from where it is written; a name is meant from the search path.
        if name.contains('/') || name.ends_with(".yaml") || name.ends_with(".yml") {
            near.push(beside);
            near.extend(self.recipe_dirs.iter().cloned());
        } else {
            near.extend(self.recipe_dirs.iter().cloned());
            near.push(beside);
        }
        near.push(self.working_dir.clone());
        // To find these out takes looking around.
        near.into_iter()
            .chain(std::iter::once_with(|| self.far()).flatten())
    }

    fn far(&self) -> Vec<PathBuf> {
        let mut places = self.bundles();
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        places.extend(variable("AMPLIHACK_PACKAGE_RECIPE_DIR").map(PathBuf::from));
        if let Some(list) = variable("RECIPE_RUNNER_RECIPE_DIRS") {
            places.extend(std::env::split_paths(&list));
        }
        if let Some(home) = variable("AMPLIHACK_HOME") {
            places.push(Path::new(&home).join("amplifier-bundle/recipes"));
        }
        if let Some(home) = home {
            places.push(home.join(".amplihack/amplifier-bundle/recipes"));
            places.push(home.join(".amplihack/.claude/recipes"));
        }
        for kept in ["src/amplihack/amplifier-bundle/recipes", ".claude/recipes"] {
            places.push(self.working_dir.join(kept));
        }
        places
    }

    /// Where a recipe may be that somebody here calls by its name.
    pub fn named_places(&self) -> Vec<PathBuf> {
        self.places("", "")
            .map(|place| match place.as_os_str().is_empty() {
                true => PathBuf::from("."),
                false => place,
            })
            .collect()
    }

    /// The bundle directories of the working directory and those above it, up to its repository.
    fn bundles(&self) -> Vec<PathBuf> {
        let Ok(start) = std::path::absolute(self.working_dir.join(".")) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for directory in start.ancestors().take(11) {
            found.push(directory.join("amplifier-bundle/recipes"));
            if directory.join(".git").exists() {
                break;
            }
        }
        found
    }
}

impl World for Disk {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        if let Some((name, bytes)) = &self.held
            && name == path
        {
            return Ok(bytes.clone());
        }
        read(path)
    }

    fn find_recipe(&self, name: &str, from: &str) -> Option<String> {
        let names = candidates(name);
        self.places(name, from)
            .flat_map(|place| names.iter().map(move |name| place.join(name)))
            .find(|path| path.is_file())
            .map(|path| path.to_string_lossy().into_owned())
    }

    fn known_recipes(&self, name: &str, from: &str) -> Vec<String> {
        let inner = name.rsplit_once('/').map(|(directory, _)| directory);
        let mut known = Vec::new();
        for place in self.places(name, from) {
            let directory = place.join(inner.unwrap_or("."));
            let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
            known.extend(files.filter_map(|file| {
                let file = called(file.file_name().to_str()?, name)?;
                Some(match inner {
                    Some(inner) => format!("{inner}/{file}"),
                    None => file,
                })
            }));
        }
        known.sort();
        known.dedup();
        known
    }

    fn absolute(&self, path: &str) -> String {
        let absolute = std::path::absolute(path);
        absolute.map_or_else(
            |_| path.to_string(),
            |path| path.to_string_lossy().into_owned(),
        )
    }

    fn dialect(&self, path: &str) -> Option<&str> {
        self.config.dialect(path).map(|dialect| dialect.name)
    }
}

/// Standard input, as far as it is read.
pub fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// As much of a file as is read of a recipe.
pub fn beginning(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(MAX_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file, if it is one and not larger than any recipe that is read.
pub fn read(path: &str) -> Result<Vec<u8>, ReadError> {
    read_at_most(path.as_ref(), MAX_BYTES)
}

/// A file, if it is one and not larger than this. What has no size, a device or a pipe, is read
/// one byte further than that, and no more.
pub fn read_at_most(path: &Path, most: usize) -> Result<Vec<u8>, ReadError> {
    let other = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => ReadError::NotFound,
        io::ErrorKind::IsADirectory => ReadError::Directory,
        _ => ReadError::Other(error.to_string()),
    };
    let file = File::open(path).map_err(other)?;
    let size = file.metadata().map_err(other)?;
    if size.is_dir() {
        return Err(ReadError::Directory);
    }
    if size.len() > most as u64 {
        return Err(ReadError::TooLarge(size.len()));
    }
    let mut bytes = Vec::with_capacity(size.len() as usize + 1);
    file.take(most as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(other)?;
    Ok(bytes)
}
