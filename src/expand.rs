//! `rrc expand`: what a template would run, without running it.
//!
//! The machine runs the plan as it would for real; whoever answers says that every command
//! succeeded and wrote nothing. What a command is given depends on values only, so this is what
//! would be started.

use crate::cli::{ExpandArgs, Global};
use crate::run::Loaded;
use crate::values::{Given, schema_of};
use crate::{OK, Streams, USAGE, initial, piped, plan, recorded, run};
use rrc_runtime::secret::Secrets;
use rrc_vm::machine::{Call, Machine, Note, Poll, RecordId, Ticket};
use rrc_vm::plan::{HostKind, Plan};
use rrc_vm::shell::{readable, readable_program};
use rrc_vm::text::{quote_json, render, write_json};
use rrc_vm::value::{Map, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::rc::Rc;

/// The steps that are open: what each stands in, which it is, and its turn.
type Open = FxHashMap<RecordId, (Option<RecordId>, u32, i64)>;

/// Where a command stands: each step it is in with its turn, the outermost first.
type Place = SmallVec<[(u32, i64); 4]>;

/// Commands that would be started, in the order in which they would be.
#[derive(Default)]
struct Leaves {
    /// A line for each.
    lines: String,
    /// Where each stands, and which part of the text its line is.
    places: Vec<(Place, Range<usize>)>,
}

pub fn expand(args: &ExpandArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let Some(given) = Given::read(args.vars.as_deref(), &args.set, streams)? else {
        return Ok(USAGE);
    };
    let config = match plan::configuration(&args.file, global, streams)? {
        Ok(config) => config,
        Err(code) => return Ok(code),
    };
    let named = &config.run.secrets;
    let loaded = match run::load(&args.file, Some(&given), named, &config, global, streams)? {
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
    let given = given.to(schema_of(plan));
    piped::say_unread(plan, given, &args.set, global, streams)?;
    let mut variables = initial::defaults(plan);
    variables.extend(given.clone());
    let shape = match (args.argv, args.shell) {
        (true, _) => Shape::Words,
        (_, true) => Shape::Shell,
        _ => Shape::Objects,
    };
    let secrets = recorded::secrets(plan, named, &variables);
    match show(&loaded, variables, shape, &secrets, streams)? {
        Ok(()) => Ok(OK),
        Err(refusal) => {
            loaded.show_refusal(&refusal, &secrets, &args.file, global, streams)?;
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
    /// As a run that is planned.
    Run,
}

/// Bytes of lines, and of what is known about them, that are kept before they are printed.
const MOST_BYTES: usize = 256 << 20;

/// Prints everything that would be started, in the order of the file.
pub fn show(
    loaded: &Loaded,
    variables: Map,
    shape: Shape,
    secrets: &Secrets,
    streams: &mut Streams<'_>,
) -> io::Result<Result<(), piped::Refusal>> {
    let Leaves { lines, mut places } = match leaves(loaded, variables, shape, secrets) {
        Ok(leaves) => leaves,
        Err(refusal) => return Ok(Err(refusal)),
    };
    // What runs side by side is asked for in another order than it is written.
    let lines = match places.is_sorted_by(|(one, _), (next, _)| one <= next) {
        true => lines,
        false => {
            places.sort_by(|(one, _), (other, _)| one.cmp(other));
            places.into_iter().map(|(_, line)| &lines[line]).collect()
        }
    };
    match shape {
        Shape::Run => {
            let planned = lines.trim_end().replace('\n', ",");
            writeln!(
                streams.out,
                "{{\"status\":\"planned\",\"success\":true,\"code\":0,\"stdout\":\"\",\"stderr\":\"\",\
                 \"output\":\"\",\"error\":null,\"planned\":[{planned}],\"ran\":[],\"failures\":[],\
                 \"duration_ms\":0}}"
            )?;
        }
        Shape::Objects | Shape::Words | Shape::Shell => streams.out.write_all(lines.as_bytes())?,
    }
    Ok(Ok(()))
}

/// Everything that would be started, in the order in which it would be.
fn leaves(
    loaded: &Loaded,
    variables: Map,
    shape: Shape,
    secrets: &Secrets,
) -> Result<Leaves, piped::Refusal> {
    let plan = loaded.verified.plan();
    let mut machine = Machine::new(Rc::clone(&loaded.verified), variables, plan.limits);
    let mut found = Leaves::default();
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
                        found.add(&call, &open, plan, shape, secrets);
                        if found.bytes() > MOST_BYTES {
                            let message = "there are more commands than can be shown";
                            return Err(piped::refused(plan, message, 0));
                        }
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

impl Leaves {
    fn bytes(&self) -> usize {
        self.lines.len() + self.places.len() * size_of::<(Place, Range<usize>)>()
    }

    fn add(&mut self, call: &Call, open: &Open, plan: &Plan, shape: Shape, secrets: &Secrets) {
        let mut place = Place::new();
        let mut at = call.record;
        while let Some((parent, step, turn)) = at.and_then(|record| open.get(&record)) {
            place.push((*step, *turn));
            at = *parent;
        }
        place.reverse();
        let argv = call.args.iter().find(|(name, _)| *name == "argv");
        let argv = argv.map_or(&Value::Null, |(_, argv)| argv);
        let hidden = secrets.value(argv);
        let argv = hidden.as_ref().unwrap_or(argv);
        let lines = &mut self.lines;
        let start = lines.len();
        match (shape, argv) {
            (Shape::Shell, Value::List(words)) => {
                for (number, word) in words.iter().enumerate() {
                    let word = render(word);
                    match number {
                        0 => lines.push_str(&readable_program(&word)),
                        _ => {
                            lines.push(' ');
                            lines.push_str(&readable(&word));
                        }
                    }
                }
            }
            (Shape::Words, argv) => {
                write_json(argv, usize::MAX, lines);
            }
            (_, argv) => {
                lines.push_str("{\"argv\":");
                write_json(argv, usize::MAX, lines);
                lines.push_str(",\"path\":");
                quote_json(&path(&place, plan), lines);
                lines.push('}');
            }
        }
        lines.push('\n');
        self.places.push((place, start..lines.len()));
    }
}

/// A place in words: the innermost step, and the turns of all that repeat.
fn path(place: &[(u32, i64)], plan: &Plan) -> String {
    let innermost = place.last().map(|(step, _)| *step as usize);
    let info = innermost.and_then(|step| plan.steps.get(step));
    let mut path = String::from(info.and_then(|info| plan.texts.get(info.id)).unwrap_or(""));
    for (_, turn) in place.iter().filter(|(_, turn)| *turn > 0) {
        path.push('#');
        path.push_str(itoa::Buffer::new().format(turn - 1));
    }
    path
}
