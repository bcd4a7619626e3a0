//! Rules about variables that only the outside can judge.

use crate::reply::{Args, refusal};
use rrc_vm::fault::FailureKind;
use rrc_vm::text::render;
use rrc_vm::value::Value;
use std::path::Path;

/// Null if the rule holds, else a failure that says what does not.
pub fn validate(args: &Args, here: &Path) -> Value {
    let name = render(args.get("name"));
    let value = args.get("value");
    let text = render(value);
    let path = here.join(&*text);
    let wrong = match &*render(args.get("rule")) {
        "nonempty" if text.trim().is_empty() => "must not be empty",
        "path" if text.is_empty() || !path.exists() => "must be a path that exists",
        "git_repo" if text.is_empty() || !is_repository(&path) => "must be a git repository",
        _ => return Value::Null,
    };
    refusal(FailureKind::InvalidRequest, format!("`{name}` {wrong}"))
}

/// A directory with `.git` in it or above it.
fn is_repository(path: &Path) -> bool {
    path.is_dir()
        && path
            .ancestors()
            .any(|directory| directory.join(".git").exists())
}
