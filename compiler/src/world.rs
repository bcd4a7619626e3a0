//! The outside, as the compiler sees it: a few questions, asked through one trait.
//!
//! Implemented on disk by the binary, in memory by tests, and over open buffers by the editor.

/// Why a file could not be read, in words for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// There is no such file.
    NotFound,
    /// It is a directory.
    Directory,
    /// It is larger than anything that is read; the size in bytes.
    TooLarge(u64),
    /// Anything else, in the system's words.
    Other(String),
}

pub trait World {
    /// The bytes of a file, by the name the user gave.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;

    /// Where the recipe is that the file `from` calls or extends by this name.
    fn find_recipe(&self, name: &str, from: &str) -> Option<String>;

    /// Names that the file `from` could call recipes by, for one that it does and that is not there.
    fn known_recipes(&self, _name: &str, _from: &str) -> Vec<String> {
        Vec::new()
    }

    /// Where a file is that the file `from` names: beside it, or as it is written.
    fn find_file(&self, name: &str, from: &str) -> Option<String> {
        let directory = from.rsplit_once('/').map(|(directory, _)| directory);
        let beside = directory.map(|directory| format!("{directory}/{name}"));
        [beside, Some(name.to_string())]
            .into_iter()
            .flatten()
            .find(|path| self.read(path).is_ok())
    }

    /// Where a file is from the root on: what a file is must not depend on how its path is typed.
    fn absolute(&self, path: &str) -> String {
        path.to_string()
    }

    /// The name of the dialect that a file is in because its user has said so, elsewhere than in
    /// the file itself.
    fn dialect(&self, _path: &str) -> Option<&str> {
        None
    }
}

/// A world of texts that are given by name, for tests and for standard input.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    pub texts: Vec<(String, Vec<u8>)>,
}

impl Texts {
    pub fn one(name: impl Into<String>, text: impl Into<Vec<u8>>) -> Texts {
        Texts {
            texts: vec![(name.into(), text.into())],
        }
    }
}

impl World for Texts {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let found = self.texts.iter().find(|(name, _)| name == path);
        found
            .map(|(_, text)| text.clone())
            .ok_or(ReadError::NotFound)
    }

    fn find_recipe(&self, name: &str, from: &str) -> Option<String> {
        let directory = from.rsplit_once('/').map_or("", |(directory, _)| directory);
        let beside = |file: String| match directory {
            "" => file,
            directory => format!("{directory}/{file}"),
        };
        candidates(name)
            .into_iter()
            .flat_map(|file| [beside(file.clone()), file])
            .find(|path| self.texts.iter().any(|(known, _)| known == path))
    }

    fn known_recipes(&self, name: &str, from: &str) -> Vec<String> {
        let directory = from.rsplit_once('/').map(|(directory, _)| directory);
        let beside = |path: &str| match directory {
            Some(directory) => path
                .strip_prefix(directory)?
                .strip_prefix('/')
                .map(str::to_string),
            None => Some(path.to_string()),
        };
        let names = self.texts.iter().filter_map(|(path, _)| beside(path));
        names.filter_map(|file| called(&file, name)).collect()
    }
}

/// What a file of recipes is called by who writes names as `like` is written: with the ending of
/// the file, or without.
pub fn called(file: &str, like: &str) -> Option<String> {
    let stem = file
        .strip_suffix(".yaml")
        .or_else(|| file.strip_suffix(".yml"))?;
    match like.ends_with(".yaml") || like.ends_with(".yml") {
        true => Some(file.to_string()),
        false => Some(stem.to_string()),
    }
}

/// The file names that a recipe of this name may have, best first.
pub fn candidates(name: &str) -> Vec<String> {
    match name.ends_with(".yaml") || name.ends_with(".yml") {
        true => vec![name.to_string()],
        false => vec![format!("{name}.yaml"), format!("{name}.yml")],
    }
}
