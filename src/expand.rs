//! `rrc expand`: what a template would run, without running it.
//!
//! The machine runs the plan as it would for real; whoever answers says that every command
//! succeeded and wrote nothing. What a command is given depends on values only, so this is what
//! would be started.

use crate::cli::{ExpandArgs, Global};
use crate::run::Loaded;
use crate::{OK, Streams, USAGE, piped, plan, run, values};
use rrc_vm::machine::{Call, Machine, Note, Poll, RecordId, Ticket};
use rrc_vm::plan::HostKind;
use rrc_vm::text::{json_text, render};
use rrc_vm::value::{Map, Value};
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write as _};
use std::rc::Rc;

/// One command that would be started: where it stands, as numbers that sort and as words.
struct Leaf {
    key: Vec<(u32, i64)>,
    path: String,
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
    leaves.sort_by(|a, b| a.key.cmp(&b.key));
    let mut out = io::BufWriter::with_capacity(1 << 16, &mut *streams.out);
    for leaf in leaves {
        let argv = &leaf.argv;
        match (shape, argv) {
            (Shape::Words, _) => writeln!(out, "{}", json_text(argv))?,
            (Shape::Shell, Value::List(words)) => {
                let words: Vec<String> = words.iter().map(|word| quote(&render(word))).collect();
                writeln!(out, "{}", words.join(" "))?;
            }
            _ => {
                let path = json_text(&Value::text(leaf.path));
                writeln!(out, "{{\"argv\":{},\"path\":{path}}}", json_text(argv))?;
            }
        }
    }
    out.flush()?;
    Ok(Ok(()))
}

/// Everything that would be started, in the order in which it would be.
fn leaves(loaded: &Loaded, variables: Map) -> Result<Vec<Leaf>, piped::Refusal> {
    let plan = loaded.verified.plan();
    let mut machine = Machine::new(Rc::clone(&loaded.verified), variables, plan.limits);
    let mut found = Vec::new();
    let mut open: HashMap<RecordId, (Option<RecordId>, u32, i64)> = HashMap::new();
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
                        found.push(leaf(&call, plan, &open));
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

fn leaf(
    call: &Call,
    plan: &rrc_vm::plan::Plan,
    open: &HashMap<RecordId, (Option<RecordId>, u32, i64)>,
) -> Leaf {
    let mut key = Vec::new();
    let mut turns = String::new();
    let mut at = call.record;
    let mut path = None;
    while let Some((parent, step, turn)) = at.and_then(|record| open.get(&record)) {
        key.push((*step, *turn));
        if *turn > 0 {
            turns.insert_str(0, &format!("#{}", turn - 1));
        }
        let info = plan.steps.get(*step as usize);
        path = path.or_else(|| info.and_then(|info| plan.texts.get(info.id)));
        at = *parent;
    }
    key.reverse();
    let argv = call.args.iter().find(|(name, _)| *name == "argv");
    Leaf {
        key,
        path: format!("{}{turns}", path.unwrap_or_default()),
        argv: argv.map_or(Value::Null, |(_, argv)| argv.clone()),
    }
}

/// A word as a shell would read it back.
fn quote(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_string(),
        false => rrc_vm::shell::quote(word),
    }
}
