//! Runs that give one result: what commands wrote that hand bytes to each other.

use crate::Streams;
use crate::cli::Global;
use crate::plan::span_of;
use crate::results::{printable, printable_lines, put_warnings};
use rrc_compiler::diagnostic::nearest;
use rrc_compiler::source::Span;
use rrc_runtime::driver::{Outcome, Settings};
use rrc_runtime::record::{Attempts, Ran, Record, Records};
use rrc_vm::convert::to_json;
use rrc_vm::fault::FailureKind;
use rrc_vm::isa::Instr;
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::plan::Plan;
use rrc_vm::text::{field, render};
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value as Json, json};
use std::io;
use std::rc::Rc;

/// Whether a plan is shown by what it gives, not by its steps.
pub fn gives_result(plan: &Plan) -> bool {
    plan.texts.get(plan.dialect) == Some(rrc_compiler::dialect::template::NAME)
}

/// Says which values are given and read by nothing.
pub fn say_unread(
    plan: &Plan,
    given: &Map,
    set: &[String],
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    if !gives_result(plan) || global.quiet {
        return Ok(());
    }
    for notice in unread(plan, given, set) {
        writeln!(streams.err, "rrc: {}", printable(&notice))?;
    }
    Ok(())
}

/// Values that are given and that nothing reads, in words. Those of a file may be meant for
/// others, unless one is nearly a name that is read; what was written by hand is meant for this.
fn unread(plan: &Plan, given: &Map, set: &[String]) -> Vec<String> {
    // Before anything else a plan asks for every value that it reads.
    let asks = plan.code.iter().filter_map(|word| match word.instr() {
        Instr::HasVar { scope: 0, name } => plan.texts.get(name),
        _ => None,
    });
    let known: Vec<&str> = asks.collect();
    let by_hand = |name: &str| {
        let mut names = set.iter().map(|pair| pair.split(['=', '.']).next());
        names.any(|set| set == Some(name))
    };
    let unread = given.keys().filter(|name| !known.contains(&&***name));
    unread
        .filter_map(|name| match nearest(name, known.iter().copied()) {
            Some(near) => Some(format!(
                "nothing in the template reads `{name}`; did you mean `{near}`?"
            )),
            None => by_hand(name).then(|| format!("nothing in the template reads `{name}`")),
        })
        .collect()
}

/// Why the values that were given cannot be used.
pub struct Refusal {
    pub message: String,
    pub span: Span,
}

/// Lets a machine go until it asks for something: one that ends before that, because of the values
/// it was given, would do nothing else in the run itself.
pub fn refusal(verified: &Rc<Verified>, variables: &Map) -> Option<Refusal> {
    let plan = verified.plan();
    if !plan
        .code
        .iter()
        .any(|word| matches!(word.instr(), Instr::Refuse {}))
    {
        return None;
    }
    let mut machine = Machine::new(Rc::clone(verified), variables.clone(), plan.limits);
    let outcome = loop {
        match machine.poll() {
            Poll::Note(_) => {}
            Poll::Done(finished) => break finished.outcome,
            _ => return None,
        }
    };
    match outcome {
        Ok(Value::Failure(failure)) if failure.kind == FailureKind::Refused => {
            Some(refused(plan, &failure.message, failure.at))
        }
        _ => None,
    }
}

pub fn refused(plan: &Plan, message: &str, at: u32) -> Refusal {
    Refusal {
        message: message.to_string(),
        span: span_of(&plan.spans, at),
    }
}

fn known<'a>(outcome: &'a Outcome, name: &str) -> Option<&'a Value> {
    field(&outcome.result, name)
}

fn lossy(value: Option<&Value>) -> String {
    value
        .map(|value| render(value).to_string())
        .unwrap_or_default()
}

/// The code of the command that made the run fail; 0 if nothing did.
fn code(outcome: &Outcome) -> i64 {
    match (outcome.status.is_success(), known(outcome, "exit_code")) {
        (true, _) => 0,
        (false, Some(Value::Int(code))) if *code != 0 => *code,
        (false, _) => 1,
    }
}

/// The same as an exit code of ours.
pub fn exit_code(outcome: &Outcome) -> u8 {
    u8::try_from(code(outcome))
        .ok()
        .filter(|code| *code != 0)
        .unwrap_or(1)
}

/// What was written, or what the plan says is to be taken instead.
fn output(outcome: &Outcome) -> Option<&Value> {
    known(outcome, "output").or_else(|| known(outcome, "stdout"))
}

/// The result, byte for byte; what failed goes to standard error.
pub fn text(outcome: &Outcome, streams: &mut Streams<'_>) -> io::Result<()> {
    let shown = match outcome.status.is_success() {
        true => output(outcome),
        false => known(outcome, "stdout"),
    };
    match shown {
        Some(Value::Bytes(bytes)) => streams.out.write_all(bytes)?,
        other => streams.out.write_all(lossy(other).as_bytes())?,
    }
    streams.out.flush()?;
    let failed = failures(outcome);
    // What was ended with the run was not passed over.
    if !outcome.status.is_success() {
        let error = outcome.error.as_deref().unwrap_or("the template failed");
        writeln!(streams.err, "rrc: {}", printable_lines(error))?;
    } else if !failed.is_empty() {
        let count = failed.len();
        let (is, them) = match count {
            1 => ("command failed and was", "it"),
            _ => ("commands failed and were", "them"),
        };
        writeln!(streams.err, "rrc: {count} {is} passed over:")?;
        for Failed { path, code, words } in failed {
            let words = printable_lines(&words);
            writeln!(streams.err, "  {path}: code {code}: {words}")?;
        }
        writeln!(
            streams.err,
            "help: add `\"failure\": \"branch\"` to end the run with {them}"
        )?;
    }
    Ok(())
}

/// A command that failed in the end, or a group that took too long.
struct Failed<'a> {
    path: &'a str,
    code: i64,
    /// What ran, or why nothing did.
    words: String,
}

/// What failed in the end, each once: commands in the order of their start, then groups of which no
/// command is to blame.
fn failures(outcome: &Outcome) -> Vec<Failed<'_>> {
    let commands = failed_commands(outcome).into_iter();
    let mut failed: Vec<Failed<'_>> = commands
        .map(|ran| Failed {
            path: &ran.path,
            code: ran.code.unwrap_or(1),
            words: ran.argv.join(" "),
        })
        .collect();
    let blamed: FxHashSet<_> = failed.iter().flat_map(|one| around(one.path)).collect();
    let groups = outcome.records.failures();
    let groups = groups.filter(|record| !blamed.contains(&parted(&record.path)));
    failed.extend(groups.map(|record| Failed {
        path: &record.path,
        code: 1,
        words: record.error.clone().unwrap_or_default(),
    }));
    failed
}

/// The places in the file that a path is made of, and the turns of what repeats, which stand behind them.
fn parted(path: &str) -> (&str, &str) {
    path.split_at(path.find('#').unwrap_or(path.len()))
}

/// What stands around a path, in its parts, and the path itself.
fn around(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let (places, turns) = parted(path);
    let ends = places.match_indices(['.', '[']).map(|(end, _)| end);
    ends.chain([places.len()]).flat_map(move |end| {
        let outer = turns.match_indices('#').map(|(end, _)| end);
        let outer = outer.chain([turns.len()]);
        outer.map(move |turn| (&places[..end], &turns[..turn]))
    })
}

fn failed_commands(outcome: &Outcome) -> Vec<&Ran> {
    let mut last: Vec<&Ran> = Vec::new();
    let mut places = FxHashMap::default();
    for ran in &outcome.ran {
        let place = ran
            .record
            .map(|record| *places.entry(record).or_insert(last.len()));
        match place.and_then(|place| last.get_mut(place)) {
            Some(known) => *known = ran,
            None => last.push(ran),
        }
    }
    last.retain(|ran| ran.code != Some(0));
    last
}

/// What branches came to, those inside of others first, of last attempts only.
fn branches(records: &Records, which: &mut dyn Iterator<Item = &Record>, found: &mut Vec<Json>) {
    for record in which {
        let mut inside = records.inside(record, Attempts::Last);
        branches(records, &mut inside, found);
        if let Value::List(all) = &record.branches {
            found.extend(all.iter().map(to_json));
        }
    }
}

/// The run as one object.
pub fn json(outcome: &Outcome, settings: &Settings) -> Json {
    let ran: Vec<Json> = outcome
        .ran
        .iter()
        .filter(|ran| ran.started)
        .map(|ran| {
            json!({
                "path": ran.path,
                "argv": ran.argv,
                "code": ran.code.unwrap_or(1),
                "timed_out": ran.timed_out || ran.code.is_none(),
            })
        })
        .collect();
    let failed: Vec<Json> = failures(outcome)
        .into_iter()
        .map(|failed| json!({"path": failed.path, "code": failed.code}))
        .collect();
    let mut report = json!({
        "status": outcome.status.word(),
        "success": outcome.status.is_success(),
        "run_id": settings.run_id,
        "code": code(outcome),
        "stdout": lossy(known(outcome, "stdout")),
        "stderr": lossy(known(outcome, "stderr")),
        "output": lossy(output(outcome)),
        "error": outcome.error,
        "ran": ran,
        "failures": failed,
        "duration_ms": u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
    });
    put_warnings(&mut report, &outcome.records.all_warnings());
    let mut found = Vec::new();
    branches(&outcome.records, &mut outcome.records.top(), &mut found);
    if !found.is_empty() {
        let done = found.iter().filter(|one| one["status"] == "done").count();
        let failed = found.len() - done;
        report["coverage"] = json!({
            "expected": found.len(),
            "done": done,
            "failed": failed,
            "coverage": done as f64 / found.len() as f64,
            "degraded": failed > 0,
            "usable": done > 0,
        });
        report["branches"] = Json::Array(found);
    }
    report
}

#[cfg(test)]
mod tests {
    use super::{around, parted};

    #[test]
    fn what_stands_around_a_path_ends_where_a_name_or_a_number_does() {
        let is_inside = |path, group| around(path).any(|one| one == parted(group));
        for (path, group) in [
            ("template[0]", "template"),
            ("template[1].template", "template[1]"),
            ("template.template[0]#1", "template#1"),
            ("template.template#1#10", "template#1"),
            ("template.template#1", "template"),
            ("template#1", "template#1"),
        ] {
            assert!(is_inside(path, group), "{path} in {group}");
        }
        for (path, group) in [
            ("template", "template[0]"),
            ("templates[0]", "template"),
            ("template.template[0]#10", "template#1"),
            ("template.template[0]#1", "template#2"),
        ] {
            assert!(!is_inside(path, group), "{path} in {group}");
        }
    }
}
