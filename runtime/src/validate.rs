//! Rules about variables that only the outside can judge.

use crate::reply::{Args, refusal};
use rrc_vm::fault::FailureKind;
use rrc_vm::value::Value;
use std::path::Path;

/// Null if all rules hold, else a failure that says which do not.
pub fn validate(args: &Args, here: &Path) -> Value {
    let words = |name| args.words(name).unwrap_or_default();
    let (names, rules, values) = (words("names"), words("rules"), words("values"));
    let rules = names.iter().zip(&rules).zip(&values);
    let broken = rules.filter_map(|((name, rule), value)| {
        let wrong = wrong(rule, value, here)?;
        Some(format!("`{name}` {wrong}"))
    });
    let broken: Vec<String> = broken.collect();
    match broken.is_empty() {
        true => Value::Null,
        false => refusal(FailureKind::InvalidRequest, broken.join(", ")),
    }
}

fn wrong(rule: &str, value: &str, here: &Path) -> Option<&'static str> {
    let path = here.join(value);
    match rule {
        "nonempty" if value.trim().is_empty() => Some("must not be empty"),
        "path" if value.is_empty() || !path.exists() => Some("must be a path that exists"),
        "git_repo" if value.is_empty() || !is_repository(&path) => Some("must be a git repository"),
        _ => None,
    }
}

/// A directory with `.git` in it or above it.
fn is_repository(path: &Path) -> bool {
    path.is_dir()
        && path
            .ancestors()
            .any(|directory| directory.join(".git").exists())
}
