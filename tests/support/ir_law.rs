//! Compiled = walked: one program, emitted, verified and run with replies in a random order, comes
//! to what the tree-walker comes to.

use super::ir_eval::literal;
use super::ir_generate;
use super::ir_trace::{Event, Trace, difference, show, show_fields};
use super::walk::{Replies, walk};
use rrc_compiler::emit::{Origin, emit};
use rrc_compiler::ir::{Program, SESSION};
use rrc_vm::codec::{decode, encode};
use rrc_vm::disasm::disassemble;
use rrc_vm::fault::{Failure, FailureKind};
use rrc_vm::generate::Random;
use rrc_vm::machine::{Finished, Machine, Note, Poll, RecordId, Ticket};
use rrc_vm::plan::HostKind;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::{Verified, verify};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Programs that do more than this are let go.
const MOST: u32 = 1500;

/// What a walk saw, by a word.
pub type Seen = BTreeMap<&'static str, u32>;

/// Holds the law for the program of this seed: what the walk saw, none if it was too long, or how
/// the two differ.
pub fn compiled_is_walked(seed: u64, orders: u64) -> Result<Option<Seen>, String> {
    let program = ir_generate::program(seed);
    let replies = Seeded {
        seed,
        limited: program.units[0].limits.steps < u32::MAX,
    };
    let inputs = program.units[0].inputs.iter();
    let mut variables: Map = inputs
        .map(|input| (input.name.as_str().into(), literal(&input.default)))
        .collect();
    if program.units.iter().any(|unit| !unit.given.is_empty()) {
        variables.insert(SESSION.into(), Value::text("run-1"));
    }
    let Some(walked) = walk(&program, &replies, variables.clone(), MOST) else {
        return Ok(None);
    };
    let plan = Rc::new(plan(&program)?);
    for order in 0..orders {
        let mut random = Random::new(seed ^ order.wrapping_mul(0x1234_5677));
        let variables = variables.clone();
        let (trace, finished) = drive(&plan, variables, &replies, &mut random, &walked.trace)?;
        if let Some(wrong) = difference(&walked.trace, &trace) {
            return Err(format!("order {order}: {wrong}"));
        }
        let outcome = finished.outcome.map_err(|fault| fault.to_string())?;
        same("outcome", show(&walked.outcome), show(&outcome))?;
        let (walked, compiled) = (&walked.variables, &finished.variables);
        same("variables", show_fields(walked), show_fields(compiled))?;
    }
    Ok(Some(walked.seen))
}

fn same(what: &str, walked: String, compiled: String) -> Result<(), String> {
    match walked == compiled {
        true => Ok(()),
        false => Err(format!(
            "{what}\n  walked   {walked}\n  compiled {compiled}"
        )),
    }
}

/// What is emitted verifies, survives the codec and can be shown.
fn plan(program: &Program) -> Result<Verified, String> {
    let origin = Origin {
        name: "a.yaml".to_string(),
        hash: [0; 32],
    };
    let plan = emit(program, &[origin]).ok_or("nothing is emitted")?;
    if decode(&encode(&plan)).as_ref() != Ok(&plan) {
        return Err("decoded is not encoded".to_string());
    }
    if disassemble(&plan).is_empty() {
        return Err("nothing is shown".to_string());
    }
    verify(plan).map_err(|rejected| format!("does not verify: {rejected}"))
}

/// Replies that depend on who asks, and on nothing else.
struct Seeded {
    seed: u64,
    /// Whether the machine has a limit of steps: then a recipe that is called says that it was
    /// reached. Nothing runs at once in such a program, as it would end where that comes to.
    limited: bool,
}

const OUTPUTS: [&str; 12] = [
    "",
    "text\n",
    " 7 ",
    "true",
    "{\"a\": [1, 2]}",
    "[1, 2, 3]\n",
    "so:\n```json\n{\"b\": null}\n```\n",
    "it is [] or {\"a\": \"x\"}",
    "no json {",
    "it's $HOME",
    "EOF\n",
    "é",
];

impl Replies for Seeded {
    fn reply(&self, key: &str, number: u32, kind: HostKind) -> Value {
        let mut hasher = DefaultHasher::new();
        (self.seed, key, number).hash(&mut hasher);
        let mut random = Random::new(hasher.finish());
        match kind {
            HostKind::Hook => Value::Null,
            HostKind::Sleep if !random.once_in(20) => Value::Null,
            HostKind::Approve | HostKind::Validate | HostKind::Preflight if !random.once_in(4) => {
                Value::Null
            }
            _ if random.once_in(3) => failure(&mut random, self.limited),
            _ => {
                let mut fields = Map::default();
                let stdout = match random.below(12) {
                    0 => Value::Null,
                    1 => Value::list(vec![Value::Int(1)]),
                    _ => Value::text(OUTPUTS[random.below(OUTPUTS.len())]),
                };
                fields.insert("stdout".into(), stdout);
                if !random.once_in(8) {
                    fields.insert("exit_code".into(), Value::Int(0));
                    fields.insert("stderr".into(), Value::text("said"));
                }
                Value::map(fields)
            }
        }
    }
}

fn failure(random: &mut Random, limited: bool) -> Value {
    let kind = match FailureKind::ALL[random.below(FailureKind::ALL.len())] {
        FailureKind::StepLimit if !limited => FailureKind::Message,
        kind => kind,
    };
    let mut fields = Map::default();
    match random.below(6) {
        0 => {}
        1 => drop(fields.insert("exit_code".into(), Value::Int(126))),
        2 => drop(fields.insert("exit_code".into(), Value::Int(127))),
        _ => {
            let code = [Value::Int(1), Value::Int(137), Value::Null][random.below(3)].clone();
            fields.insert("exit_code".into(), code);
            let output = OUTPUTS[random.below(OUTPUTS.len())];
            fields.insert("stdout".into(), Value::text(output));
            fields.insert("stderr".into(), Value::text("it broke"));
        }
    }
    let data = match random.once_in(5) {
        true => Value::Null,
        false => Value::map(fields),
    };
    Value::Failure(Rc::new(Failure {
        kind,
        message: format!("failure {}", random.below(1000)).into(),
        data,
        at: 0,
    }))
}

struct Asked {
    ticket: Ticket,
    record: String,
    reply: Value,
}

/// Runs a plan with these replies in a random order.
fn drive(
    plan: &Rc<Verified>,
    variables: Map,
    replies: &dyn Replies,
    random: &mut Random,
    expected: &Trace,
) -> Result<(Trace, Finished), String> {
    let mut machine = Machine::new(Rc::clone(plan), variables, plan.plan().limits);
    let mut trace = Trace::default();
    trace.record("");
    let mut records: HashMap<RecordId, (String, String)> = HashMap::new();
    let mut asked: Vec<Asked> = Vec::new();
    let step_id = |step: u32| {
        let id = plan.plan().steps[step as usize].id;
        plan.plan().texts.get(id).unwrap_or_default().to_string()
    };
    loop {
        let poll = machine.poll();
        let key = |record: &Option<RecordId>| {
            record.map_or_else(String::new, |record| records[&record].0.clone())
        };
        let idle = matches!(poll, Poll::Idle);
        match poll {
            Poll::Call(call) => {
                let kind = plan.plan().calls[call.host as usize].kind;
                let record = key(&call.record);
                let number = trace.call(&record, kind, &call.args);
                trace.record(&record).waiting += 1;
                asked.push(Asked {
                    ticket: call.ticket,
                    reply: replies.reply(&record, number, kind),
                    record,
                });
            }
            Poll::Note(note) => match note {
                Note::Begin {
                    record,
                    parent,
                    step,
                    iteration,
                } => {
                    let parent = key(&parent);
                    let own = trace.begin(&parent, &step_id(step), iteration);
                    records.insert(record, (own, parent));
                }
                Note::Skip { step, parent } => trace.skip(&key(&parent), &step_id(step)),
                Note::Attempt { record, number } => {
                    trace.own(&records[&record].0, format!("attempt {number}"));
                }
                Note::Output { record, value } => {
                    trace.own(&records[&record].0, format!("output {value:?}"));
                }
                Note::Secret { .. } => {}
                Note::Warn { record, text } => trace.own(&key(&record), format!("warn {text}")),
                Note::End {
                    record,
                    status,
                    value,
                    ..
                } => {
                    let (own, parent) = &records[&record];
                    trace.end(parent, own, status.word(), &value);
                }
            },
            // Deadlines do not pass here.
            Poll::Timer { .. } | Poll::Cancel { .. } => {}
            Poll::Idle => busy(&trace, expected)?,
            Poll::Done(finished) if asked.is_empty() => return Ok((trace, finished)),
            Poll::Done(_) => return Err("it ends before everything is answered".to_string()),
        }
        if !asked.is_empty() && (idle || random.once_in(4)) {
            let next = asked.swap_remove(random.below(asked.len()));
            trace.record(&next.record).waiting -= 1;
            let taken = machine.resume(next.ticket, next.reply);
            taken.map_err(|stray| stray.to_string())?;
        }
    }
}

/// When nothing goes on without a reply, as many run at once as may and no more.
fn busy(trace: &Trace, expected: &Trace) -> Result<(), String> {
    for (key, record) in &trace.records {
        let Some((walked, width)) = expected
            .records
            .get(key)
            .and_then(|walked| Some((walked, walked.at_once?.width)))
        else {
            continue;
        };
        if record.open > width {
            return Err(format!("more run at once in {key} than may"));
        }
        // How many there are in one of several tries is not known here.
        let again =
            |event: &Event| matches!(event, Event::Own(text) if text.starts_with("attempt"));
        let all = record.ended || record.children >= walked.children;
        let all = all || walked.events.iter().any(again);
        // Between two starts there may be a pause, and after a branch its hook.
        if !all && record.waiting == 0 && record.open < width {
            return Err(format!("more could run at once in {key}"));
        }
    }
    Ok(())
}
