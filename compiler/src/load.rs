//! From a path to a program: reads files, chooses their dialect, lowers them.
//!
//! The last place that knows dialects. What comes out is one representation.

use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::dialect::choose::{Choice, choose};
use crate::dialect::{self, Dialect};
use crate::doc::{self, json, yaml};
use crate::ir::Program;
use crate::source::{Source, SourceId, Sources, Span};
use crate::world::{ReadError, World};
use bumpalo::Bump;

/// What the caller decides about reading.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The dialect of every recipe, whatever it says.
    pub dialect: Option<&'static Dialect>,
    /// Paste values into shell text, in every recipe.
    pub raw: bool,
}

/// A program, and what is worth knowing about how it was read.
#[derive(Debug)]
pub struct Loaded {
    pub program: Program,
    /// How the dialect of the main file was chosen, if it got that far.
    pub choice: Option<Choice>,
    /// Whether the main file could be read at all.
    pub readable: bool,
}

pub fn load(
    world: &dyn World,
    main: &str,
    options: Options,
    sources: &mut Sources,
    report: &mut Report,
) -> Loaded {
    let mut loaded = Loaded {
        program: Program::default(),
        choice: None,
        readable: false,
    };
    let bytes = match world.read(main) {
        Ok(bytes) => bytes,
        Err(error) => {
            let source = sources.add(Source::new(main, ""));
            report.add(unreadable(main, source, error));
            return loaded;
        }
    };
    let (text, bad_byte) = doc::read_bytes(bytes);
    let source = sources.add(Source::new(main, text));
    if let Some(at) = bad_byte {
        report.add(not_utf8(source, at));
        return loaded;
    }
    loaded.readable = true;
    let text = sources.get(source).text.clone();
    let arena = Bump::new();
    let read = if main.ends_with(".json") {
        json::read
    } else {
        yaml::read
    };
    let Some(root) = read(&arena, source, &text, report) else {
        return loaded;
    };
    if main.ends_with(".json") && dialect::is_template_or_tool(root) {
        return loaded;
    }
    if let Some(what) = dialect::not_a_recipe(root) {
        report.add(no_recipe(source, what));
        return loaded;
    }
    let choice = choose(options.dialect, main, source, &text, root, report);
    let how = dialect::Options {
        deliberate: choice.is_deliberate(),
        raw: options.raw,
    };
    loaded
        .program
        .units
        .extend(dialect::lower(root, source, choice.dialect, how, report));
    loaded.choice = Some(choice);
    loaded
}

fn unreadable(path: &str, source: SourceId, error: ReadError) -> Diagnostic {
    let (code, message, help) = match error {
        ReadError::NotFound => (
            &codes::UNREADABLE_FILE,
            format!("there is no file `{path}`"),
            "check the path, and the directory you are in",
        ),
        ReadError::Directory => (
            &codes::UNREADABLE_FILE,
            format!("`{path}` is a directory"),
            "name a recipe in it",
        ),
        ReadError::TooLarge(bytes) => (
            &codes::TOO_LARGE,
            format!(
                "the file has {bytes} bytes; at most {} are read",
                doc::MAX_BYTES
            ),
            "split the recipe, or move long texts to files of their own",
        ),
        ReadError::Other(words) => (
            &codes::UNREADABLE_FILE,
            format!("`{path}` cannot be read: {words}"),
            "check that it is a file you may read",
        ),
    };
    Diagnostic::new(code, Span::top(source), message).help(help)
}

fn no_recipe(source: SourceId, what: &str) -> Diagnostic {
    Diagnostic::new(&codes::NOT_A_RECIPE, Span::top(source), what)
        .help("a recipe is a map with `name` and `steps` or `stages`")
}

fn not_utf8(source: SourceId, at: usize) -> Diagnostic {
    let message = format!("byte {at} is not UTF-8 text");
    Diagnostic::new(&codes::NOT_UTF8, Span::new(source, at, at), message)
        .help("save the file as UTF-8; if it is not text, it is not a recipe")
}
