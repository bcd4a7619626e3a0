//! Between the machine's values and the runtime's requests and outcomes.

use crate::capture::text_cut;
use crate::process::{
    ENVIRONMENT_MAX, ErrorKind, ExecError, Outcome, Request, Script, can_start, fits_environment,
};
use crate::secret::Secrets;
use rrc_vm::exports::exports;
use rrc_vm::fault::{Failure, FailureKind};
use rrc_vm::flow::{SHOWN, SHOWN_PATH};
use rrc_vm::shell::is_posix;
use rrc_vm::text::{on_a_line, render};
use rrc_vm::value::{Map, Value};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// The arguments of a call, by name.
#[derive(Clone)]
pub struct Args(pub Vec<(&'static str, Value)>);

impl Args {
    pub fn get(&self, name: &str) -> &Value {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(&Value::Null, |(_, value)| value)
    }

    pub fn is_set(&self, name: &str) -> bool {
        matches!(self.get(name), Value::Bool(true))
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.get(name) {
            Value::Null => None,
            value => Some(render(value).to_string()),
        }
    }

    /// A list as texts.
    pub fn words(&self, name: &str) -> Option<Vec<String>> {
        match self.get(name) {
            Value::List(words) => Some(words.iter().map(|word| render(word).to_string()).collect()),
            _ => None,
        }
    }

    fn pairs(&self, name: &str) -> Vec<(String, String)> {
        match self.get(name) {
            Value::Map(map) => map
                .iter()
                .map(|(name, value)| (name.to_string(), render(value).to_string()))
                .collect(),
            _ => Vec::new(),
        }
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }
}

/// What a reply warns of.
pub fn warnings(reply: &Value) -> impl Iterator<Item = &Value> {
    let data = match reply {
        Value::Failure(failure) => &failure.data,
        data => data,
    };
    let warnings = match rrc_vm::text::field(data, "warnings") {
        Some(Value::List(warnings)) => Some(warnings.iter()),
        _ => None,
    };
    warnings.into_iter().flatten()
}

/// What to run for an `exec` call. `here` is where a relative directory starts.
pub fn request(args: &Args, here: &Path) -> Request {
    let cwd = match args.text("cwd") {
        Some(cwd) if !cwd.is_empty() => here.join(cwd),
        _ => here.to_path_buf(),
    };
    let mut request = match args.words("argv") {
        Some(words) => command(words, &cwd),
        None => {
            let shell = args
                .text("shell")
                .unwrap_or_else(|| "/bin/bash".to_string());
            let mut request = Request::new(shell);
            request.script = Some(Script {
                text: args.text("script").unwrap_or_default(),
                ..Script::default()
            });
            request
        }
    };
    request.vars = args.pairs("vars");
    request.ambient = ambient(args);
    request.env = args.pairs("env");
    request.cwd = cwd;
    request.stdin = match args.get("stdin") {
        Value::Null => None,
        Value::Bytes(bytes) => Some(bytes.to_vec()),
        other => Some(render(other).as_bytes().to_vec()),
    };
    request.timeout = args
        .int("timeout_ms")
        .filter(|ms| *ms > 0)
        .map(|ms| Duration::from_millis(ms.unsigned_abs()));
    if let Some(limit) = args.int("limit") {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        request.stdout_limit = limit;
        request.stderr_limit = limit;
    }
    request.stream = matches!(args.get("stream"), Value::Bool(true));
    request.whole = Form::of(args) == Form::Bytes;
    promote(&mut request);
    request
}

/// Null if a process could start with this shell in this directory, else why not.
pub fn preflight(args: &Args, here: &Path, secrets: &Secrets) -> Value {
    let cwd = args
        .text("cwd")
        .map_or_else(|| here.to_path_buf(), |cwd| here.join(cwd));
    match can_start(args.text("shell").as_deref(), &cwd) {
        Ok(()) => Value::Null,
        Err(error) => {
            let outcome = Outcome {
                error: Some(error),
                ..Outcome::default()
            };
            reply(outcome, Form::Text, secrets)
        }
    }
}

/// All variables, as the environment of a script names them.
fn ambient(args: &Args) -> Vec<(String, String)> {
    match args.get("ambient") {
        Value::Map(variables) => exports(variables)
            .into_iter()
            .map(|(name, value)| (name.to_string(), render(&value).to_string()))
            .collect(),
        _ => Vec::new(),
    }
}

/// A program by its words. `~` before it is the home directory, and a path is seen from where it runs.
fn command(words: Vec<String>, cwd: &Path) -> Request {
    let mut words = words.into_iter();
    let name = words.next().unwrap_or_default();
    let home = || std::env::var("HOME").unwrap_or_default();
    let program = match name.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with('/') => format!("{}{rest}", home()),
        _ if name.contains('/') => cwd.join(&name).to_string_lossy().into_owned(),
        _ => name.clone(),
    };
    let mut request = Request::new(program);
    request.arg0 = Some(name);
    request.args = words.collect();
    request
}

/// When the environment cannot hold all variables, those that the script mentions still arrive.
fn promote(request: &mut Request) {
    let Some(script) = &request.script else {
        return;
    };
    let size = |(name, value): &(String, String)| name.len() + value.len() + 2;
    let ambient = &mut request.ambient;
    let vars: usize = request.vars.iter().map(size).sum();
    let fits = vars + ambient.iter().map(size).sum::<usize>() <= ENVIRONMENT_MAX
        && ambient.iter().all(|(_, value)| fits_environment(value));
    if fits {
        return;
    }
    let mut known: Vec<String> = request.vars.iter().map(|(name, _)| name.clone()).collect();
    known.sort_unstable();
    let has_prologue = is_posix(&request.program);
    ambient.retain_mut(|(name, value)| {
        let arrives = has_prologue || fits_environment(value);
        let wanted = arrives && known.binary_search(name).is_err() && script.mentions(name);
        if wanted {
            let pair = (std::mem::take(name), std::mem::take(value));
            request.vars.push(pair);
        }
        !wanted
    });
}

/// How many fields most replies have.
const FIELDS: usize = 8;

/// How a process ended, as the machine wants to know it.
pub fn reply(mut outcome: Outcome, form: Form, secrets: &Secrets) -> Value {
    if form == Form::Bytes && outcome.stdout_truncated {
        let words = "it wrote more than is kept, and a part of it is of no use";
        outcome.error = Some(ExecError::new(ErrorKind::IoError, words));
    }
    let exit_code = match form {
        Form::Text => exit_code(&outcome),
        Form::Bytes => Some(command_code(&outcome)),
    };
    let stderr = text(&outcome.stderr, outcome.stderr_truncated);
    if let Some(error) = &mut outcome.error {
        error.detail = detail(&error.detail, secrets);
    }
    let mut known = known(&mut outcome, form, exit_code, &stderr);
    let Some(error) = &outcome.error else {
        return Value::map(known);
    };
    let mut message = why(error, exit_code, outcome.signal);
    let said = stderr.trim_end();
    if has_run(&outcome) && !said.is_empty() {
        message.push('\n');
        message.push_str(last_lines(said, secrets));
    }
    known.insert(Rc::from("error"), Value::text(error.kind.word()));
    known.insert(Rc::from("detail"), Value::text(error.detail.as_str()));
    Value::Failure(Rc::new(Failure {
        kind: failure_kind(error.kind),
        message: message.into(),
        data: Value::map(known),
        at: 0,
    }))
}

/// Whether a process came to an end of its own, or to that of its time: then what it wrote counts.
fn has_run(outcome: &Outcome) -> bool {
    outcome.exit_code.is_some() || outcome.signal.is_some() || outcome.timed_out
}

/// What is known of an outcome, as the fields of a reply. Its output goes there.
fn known(outcome: &mut Outcome, form: Form, exit_code: Option<i64>, stderr: &str) -> Map {
    let count = |bytes: u64| Value::Int(i64::try_from(bytes).unwrap_or(i64::MAX));
    let mut map = Map::with_capacity_and_hasher(FIELDS, Default::default());
    let mut put = |name: &str, value: Value| {
        map.insert(Rc::from(name), value);
    };
    put("exit_code", exit_code.map_or(Value::Null, Value::Int));
    put("stdout_truncated", Value::Bool(outcome.stdout_truncated));
    put("stderr_truncated", Value::Bool(outcome.stderr_truncated));
    put("stdout_bytes", count(outcome.stdout_bytes));
    put("stderr_bytes", count(outcome.stderr_bytes));
    put("timed_out", Value::Bool(outcome.timed_out));
    if has_run(outcome) {
        let stdout = match form {
            Form::Text => Value::text(text(&outcome.stdout, outcome.stdout_truncated)),
            Form::Bytes => Value::Bytes(std::mem::take(&mut outcome.stdout).into()),
        };
        put("stdout", stdout);
        put("stderr", Value::text(stderr));
    } else if let (Form::Bytes, Some(error)) = (form, &outcome.error) {
        let words = format!("{}: {}", error.message, error.detail);
        put("stderr", Value::text(words));
    }
    if !outcome.warnings.is_empty() {
        let warnings = outcome.warnings.iter();
        let warnings = warnings.map(|text| Value::text(text.as_str()));
        put("warnings", Value::list(warnings.collect()));
    }
    map
}

/// Why a call failed, in words.
fn why(error: &ExecError, exit_code: Option<i64>, signal: Option<i32>) -> String {
    match error.kind {
        ErrorKind::NonzeroExit => {
            let code = exit_code.unwrap_or_default();
            format!("the command exited with code {code}")
        }
        ErrorKind::Signaled => {
            let signal = signal.unwrap_or_default();
            format!("the command was ended by signal {signal}")
        }
        ErrorKind::Timeout => format!("the command took longer than allowed ({})", error.detail),
        _ if error.detail.is_empty() => error.message.to_string(),
        _ => format!("{}: {}", error.message, error.detail),
    }
}

/// What is known of an error besides its kind, on one line. Of a long path the middle is left out: what is
/// wrong with it stands behind it.
fn detail(text: &str, secrets: &Secrets) -> String {
    const BEHIND: usize = 2 * SHOWN;
    if text.len() <= SHOWN_PATH + BEHIND {
        return on_a_line(text).into_owned();
    }
    let mut end = secrets.end_before(text.as_bytes(), SHOWN_PATH);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let start = secrets.start_after(text, text.len() - BEHIND);
    let (before, behind) = (on_a_line(&text[..end]), on_a_line(&text[start..]));
    format!("{before}…{behind}")
}

/// What of the output the machine gets: text, or the bytes as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    Bytes,
}

impl Form {
    pub fn of(args: &Args) -> Form {
        match args.get("bytes") {
            Value::Bool(true) => Form::Bytes,
            _ => Form::Text,
        }
    }
}

/// The code of a command that no shell stands before: its own, 128 and the number for a signal
/// that was not ours, and 1 for whatever else went wrong.
fn command_code(outcome: &Outcome) -> i64 {
    let own = outcome.exit_code.map(i64::from);
    match (own, outcome.signal) {
        (Some(0), _) if outcome.error.is_some() => 1,
        (Some(code), _) => code,
        (None, Some(signal)) if !outcome.timed_out && !outcome.cancelled => 128 + i64::from(signal),
        _ => 1,
    }
}

/// Output as text. What was cut off in the middle of a character ends before that character.
fn text(bytes: &[u8], cut: bool) -> String {
    let whole = if cut { text_cut(bytes) } else { bytes };
    String::from_utf8_lossy(whole).into_owned()
}

/// The code as shells count: 128 and the number for a signal, 126 and 127 for what cannot start,
/// and 124, as `timeout` says it, for what took too long.
fn exit_code(outcome: &Outcome) -> Option<i64> {
    if let Some(code) = outcome.exit_code {
        return Some(i64::from(code));
    }
    if let Some(signal) = outcome.signal {
        return Some(128 + i64::from(signal));
    }
    match outcome.error.as_ref()?.kind {
        ErrorKind::CommandNotFound => Some(127),
        ErrorKind::Timeout => Some(124),
        ErrorKind::Interrupted => None,
        _ => Some(126),
    }
}

/// Enough of what a program said to see why it failed.
fn last_lines<'a>(text: &'a str, secrets: &Secrets) -> &'a str {
    match text.len().checked_sub(2000) {
        Some(start) => &text[secrets.start_after(text, start)..],
        None => text,
    }
}

fn failure_kind(kind: ErrorKind) -> FailureKind {
    match kind {
        ErrorKind::InvalidRequest => FailureKind::InvalidRequest,
        ErrorKind::PolicyDenied => FailureKind::PolicyDenied,
        ErrorKind::CommandNotFound => FailureKind::CommandNotFound,
        ErrorKind::PermissionDenied => FailureKind::PermissionDenied,
        ErrorKind::InvalidCwd => FailureKind::InvalidCwd,
        ErrorKind::SpawnFailed => FailureKind::SpawnFailed,
        ErrorKind::Timeout => FailureKind::Timeout,
        ErrorKind::Signaled => FailureKind::Signaled,
        ErrorKind::NonzeroExit => FailureKind::NonzeroExit,
        ErrorKind::IoError => FailureKind::IoError,
        ErrorKind::Interrupted => FailureKind::Interrupted,
    }
}

/// A failure of a call that never became a process.
pub fn refusal(kind: FailureKind, message: impl Into<Rc<str>>) -> Value {
    Value::Failure(Rc::new(Failure {
        kind,
        message: message.into(),
        data: Value::Null,
        at: 0,
    }))
}

#[cfg(test)]
mod tests {
    use super::{Script, text};

    #[test]
    fn a_name_is_mentioned_as_a_whole_word() {
        let mentions = |text: &str, name: &str| {
            let script = Script {
                text: text.to_owned(),
                ..Script::default()
            };
            script.mentions(name)
        };
        assert!(mentions("echo ${#RECIPE_VAR_v7}", "RECIPE_VAR_v7"));
        assert!(mentions("RECIPE_VAR_v", "RECIPE_VAR_v"));
        assert!(mentions("$AB $A", "A"));
        assert!(!mentions(
            "$RECIPE_VAR_v77 $X_RECIPE_VAR_v7",
            "RECIPE_VAR_v7"
        ));
        assert!(!mentions("anything", ""));
    }

    #[test]
    fn text_that_was_cut_ends_with_a_character() {
        let all = "aé𝄞".as_bytes();
        assert_eq!(text(all, true), "aé𝄞");
        assert_eq!(text(&all[..6], true), "aé");
        assert_eq!(text(&all[..2], true), "a");
        assert_eq!(text(&all[..2], false), "a\u{fffd}");
        assert_eq!(text(b"\xffa\xc3", true), "\u{fffd}a");
        assert_eq!(text(b"\xffa\xff", true), "\u{fffd}a\u{fffd}");
        assert_eq!(text(b"", true), "");
    }
}
