//! `rrc expand`: what a template would run, without running it.
//!
//! The machine runs the plan as it would for real; whoever answers says that every command
//! succeeded and wrote nothing. What a command is given depends on values only, so this is what
//! would be started.

use crate::cli::{ExpandArgs, Global};
use crate::run::Loaded;
use crate::{OK, Streams, USAGE, piped, plan, run, values};
use rrc_vm::machine::{Call, Machine, Note, Poll, RecordId, Ticket};
use rrc_vm::plan::{HostKind, Plan};
use rrc_vm::text::{render, write_json};
use rrc_vm::value::{Map, Value};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

/// The steps that are open: what each stands in, which it is, and its turn.
type Open = FxHashMap<RecordId, (Option<RecordId>, u32, i64)>;

/// One command that would be started, and where it stands: each step it is in with its turn, the
/// outermost first.
struct Leaf {
    place: Vec<(u32, i64)>,
    argv: Value,
}

pub fn expand(args: &ExpandArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let mut given = Map::default();
    if !values::put_over(&mut given, args.vars.as_deref(), &args.set, streams)? {
        return Ok(USAGE);
    }
    let config = match plan::configuration(&args.file, global, streams)? {
        Ok(config) => config,
        Err(code) => return Ok(code),
    };
    let loaded = match run::load(&args.file, Some(&given), &[], &config, global, streams)? {
        Ok(loaded) => loaded,
        Err(code) => return Ok(code),
    };
    let plan = loaded.verified.plan();
    if !piped::gives_result(plan) {
        writeln!(
            streams.err,
            "rrc: {}: only templates are expanded",
            args.file
        )?;
        writeln!(streams.err, "help: use `rrc run --dry-run` for recipes")?;
        return Ok(USAGE);
    }
    piped::say_unread(plan, &given, &args.set, global, streams)?;
    let mut variables = run::defaults(plan);
    variables.extend(given);
    let shape = match (args.argv, args.shell) {
        (true, _) => Shape::Words,
        (_, true) => Shape::Shell,
        _ => Shape::Objects,
    };
    match show(&loaded, variables, shape, streams)? {
        Ok(()) => Ok(OK),
        Err(refusal) => {
            loaded.show_refusal(&refusal, &args.file, global, streams)?;
            Ok(USAGE)
        }
    }
}

/// How commands are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Objects,
    Words,
    Shell,
}

/// How many bytes are gathered before they are written.
const FULL: usize = 1 << 16;

/// Prints everything that would be started, in the order of the file.
pub fn show(
    loaded: &Loaded,
    variables: Map,
    shape: Shape,
    streams: &mut Streams<'_>,
) -> io::Result<Result<(), piped::Refusal>> {
    let mut leaves = match leaves(loaded, variables) {
        Ok(leaves) => leaves,
        Err(refusal) => return Ok(Err(refusal)),
    };
    leaves.sort_by(|a, b| a.place.cmp(&b.place));
    let mut lines = String::with_capacity(FULL + FULL / 4);
    for leaf in leaves {
        match (shape, &leaf.argv) {
            (Shape::Shell, Value::List(words)) => {
                for (number, word) in words.iter().enumerate() {
                    if number > 0 {
                        lines.push(' ');
                    }
                    lines.push_str(&quote(&render(word)));
                }
            }
            (Shape::Words, argv) => {
                write_json(argv, usize::MAX, &mut lines);
            }
            (_, argv) => {
                lines.push_str("{\"argv\":");
                write_json(argv, usize::MAX, &mut lines);
                lines.push_str(",\"path\":");
                let path = path(&leaf.place, loaded.verified.plan());
                write_json(&Value::text(path), usize::MAX, &mut lines);
                lines.push('}');
            }
        }
        lines.push('\n');
        if lines.len() >= FULL {
            streams.out.write_all(lines.as_bytes())?;
            lines.clear();
        }
    }
    streams.out.write_all(lines.as_bytes())?;
    Ok(Ok(()))
}

/// Everything that would be started, in the order in which it would be.
fn leaves(loaded: &Loaded, variables: Map) -> Result<Vec<Leaf>, piped::Refusal> {
    let plan = loaded.verified.plan();
    let mut machine = Machine::new(Rc::clone(&loaded.verified), variables, plan.limits);
    let mut found = Vec::new();
    let mut open = Open::default();
    let mut asked: VecDeque<(Ticket, Value)> = VecDeque::new();
    let done = rrc_vm::convert::from_json(&serde_json::json!({"exit_code": 0, "stdout": ""}));
    loop {
        match machine.poll() {
            Poll::Note(Note::Begin {
                record,
                parent,
                step,
                iteration,
            }) => {
                open.insert(record, (parent, step, iteration.unwrap_or(0)));
            }
            Poll::Note(Note::End { record, .. }) => {
                open.remove(&record);
            }
            Poll::Note(_) | Poll::Timer { .. } | Poll::Cancel { .. } => {}
            Poll::Call(call) => {
                let kind = plan.calls.get(call.host as usize).map(|entry| entry.kind);
                let reply = match kind {
                    Some(HostKind::Exec) => {
                        found.push(leaf(&call, &open));
                        done.clone()
                    }
                    _ => Value::Null,
                };
                asked.push_back((call.ticket, reply));
            }
            Poll::Idle => {
                let Some((ticket, reply)) = asked.pop_front() else {
                    return Ok(found);
                };
                // A reply that nobody wants any more is no loss.
                let _ = machine.resume(ticket, reply);
            }
            Poll::Done(finished) => {
                return match finished.outcome {
                    Ok(Value::Failure(failure)) => {
                        Err(piped::refused(plan, &failure.message, failure.at))
                    }
                    Ok(_) => Ok(found),
                    Err(fault) => Err(piped::refused(plan, &fault.to_string(), fault.at)),
                };
            }
        }
    }
}

fn leaf(call: &Call, open: &Open) -> Leaf {
    let mut place = Vec::new();
    let mut at = call.record;
    while let Some((parent, step, turn)) = at.and_then(|record| open.get(&record)) {
        place.push((*step, *turn));
        at = *parent;
    }
    place.reverse();
    let argv = call.args.iter().find(|(name, _)| *name == "argv");
    Leaf {
        place,
        argv: argv.map_or(Value::Null, |(_, argv)| argv.clone()),
    }
}

/// A place in words: the innermost step, and the turns of all that repeat.
fn path(place: &[(u32, i64)], plan: &Plan) -> String {
    let innermost = place.last().map(|(step, _)| *step as usize);
    let info = innermost.and_then(|step| plan.steps.get(step));
    let mut path = String::from(info.and_then(|info| plan.texts.get(info.id)).unwrap_or(""));
    for (_, turn) in place.iter().filter(|(_, turn)| *turn > 0) {
        path.push('#');
        path.push_str(&(turn - 1).to_string());
    }
    path
}

/// A word as a shell would read it back.
fn quote(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_string(),
        false => rrc_vm::shell::quote(word),
    }
}
