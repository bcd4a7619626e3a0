//! What is said about files that are not there, or are not what they should be.

use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, nearest};
use crate::doc;
use crate::source::{SourceId, Span};
use crate::world::ReadError;
use rrc_vm::flow::shown_path;

pub fn missing(name: &str, span: Span, known: &[String]) -> Diagnostic {
    let message = format!("there is no recipe `{}`", shown_path(name));
    let near = nearest(name, known.iter().map(String::as_str));
    let finding = Diagnostic::new(&codes::MISSING_RECIPE, span, message);
    match near {
        // Another recipe does something else, however much its name is like this one.
        Some(near) => {
            finding
                .did_you_mean(near)
                .fix(Fix::unsafe_(format!("write `{near}`"), span, near))
        }
        None => finding.help(
            "check the name; recipes are looked for beside this file and in `-R` directories",
        ),
    }
}

/// The same of a name that this variable, if not others, stands for.
pub fn missing_by_value(name: &str, span: Span, variable: &str, known: &[String]) -> Diagnostic {
    let message = format!("there is no recipe `{name}`, which `{variable}` names");
    let finding = Diagnostic::new(&codes::MISSING_RECIPE, span, message);
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => finding.did_you_mean(near),
        None => finding.help(format!("give `{variable}` the name of a recipe")),
    }
}

pub fn unreadable(path: &str, source: SourceId, error: ReadError) -> Diagnostic {
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

pub fn no_recipe(source: SourceId, what: &str, is_json: bool) -> Diagnostic {
    let (what, help) = match is_json {
        true => (
            "nothing in this file says that it is a template",
            "a template is an object with `template`, a list of commands, or one command",
        ),
        false => (
            what,
            "a recipe is a map with `name` and `steps` or `stages`",
        ),
    };
    Diagnostic::new(&codes::NOT_A_RECIPE, Span::top(source), what).help(help)
}

pub fn a_plan(source: SourceId) -> Diagnostic {
    Diagnostic::new(&codes::NOT_UTF8, Span::top(source), "this is a plan")
        .help("it has been checked; `rrc run` runs it, and `rrc disasm` shows what is in it")
}

pub fn not_utf8(source: SourceId, at: usize) -> Diagnostic {
    let message = format!("byte {at} is not UTF-8 text");
    Diagnostic::new(&codes::NOT_UTF8, Span::new(source, at, at), message)
        .help("save the file as UTF-8; if it is not text, it is not a recipe")
}
