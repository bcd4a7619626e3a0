//! What other languages write in a condition, and what says the same here.
//!
//! It sees pieces of text and gives back text; where they stand and how the finding reads is decided by
//! whoever asks.

use super::ast::{Function, Method};
use super::holes::is_path;

/// What a filter that template languages have does to a value, said without one.
pub(super) fn filtered(value: &str, filter: &str) -> Option<String> {
    let name = match filter {
        "length" | "size" | "count" => "len",
        "string" => "str",
        "trim" => "strip",
        _ => filter,
    };
    if Function::find(name).is_some_and(|function| function.arity().allows(1)) {
        return Some(format!("{name}({value})"));
    }
    let method = Method::find(name)?;
    method
        .arity()
        .allows(0)
        .then(|| format!("{value}.{name}()"))
}

/// Whether a word is the name of a filter and hardly that of a variable.
pub(super) fn is_filter(word: &str) -> bool {
    filtered("", word).is_some()
        || matches!(
            word,
            "default"
                | "d"
                | "first"
                | "last"
                | "join"
                | "map"
                | "select"
                | "sort"
                | "tojson"
                | "json"
        )
}

/// What stands in braces that are no hole: a path with a filter, a method or a key behind it.
pub(super) fn in_braces(inner: &str) -> Option<String> {
    let inner = inner.trim();
    if let Some((path, filter)) = inner.split_once('|') {
        let path = path.trim();
        return is_path(path).then(|| filtered(&format!("{{{{{path}}}}}"), filter.trim()))?;
    }
    if let Some((before, args)) = inner.split_once('(') {
        let (path, name) = before.rsplit_once('.')?;
        let known = is_path(path) && Method::find(name).is_some() && args.ends_with(')');
        return known.then(|| format!("{{{{{path}}}}}.{name}({args}"));
    }
    let (path, key) = inner.split_once('[')?;
    let key = key.strip_suffix(']')?;
    let quote = key.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let key = key.strip_prefix(quote)?.strip_suffix(quote)?;
    let path = format!("{path}.{key}");
    is_path(&path).then(|| format!("{{{{{path}}}}}"))
}
