//! Compiled = walked, for templates: a small walker over the stages of a flow comes to what the
//! machine comes to, whatever commands answer and in whatever order they do.

use super::templates::VALUES;
use rrc_compiler::ir::flow::{Arith, Flow, Scope, Stage, Term, TermKind, Times, Work};
use rrc_compiler::ir::{Action, Node};
use rrc_compiler::source::Sources;
use rrc_compiler::world::Texts;
use rrc_compiler::{Options, build, check};
use rrc_vm::convert::from_json;
use rrc_vm::fault::{Failure, FailureKind};
use rrc_vm::flow::fit;
use rrc_vm::generate::Random;
use rrc_vm::machine::{Machine, Note, Poll, RecordId};
use rrc_vm::plan::{HostKind, Plan};
use rrc_vm::policy::truth_flags;
use rrc_vm::text::{field, render};
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::verify;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// What a command was given: its words, and what it reads.
type Given = (Vec<String>, Option<String>);
/// What all commands were given, by where they stand and in the order of their tries.
type Ran = BTreeMap<String, Vec<Given>>;

/// How a run ends: with what was written, or with that and a code.
#[derive(Debug, PartialEq)]
enum Ending {
    Done(String),
    Failed(String, i64),
}

/// Holds the law for a template, for several orders of replies; how many commands ran, none if the
/// template does not compile.
pub fn compiled_is_walked(template: &str, seed: u64) -> Result<Option<usize>, String> {
    let world = Texts::one("t.json", template);
    let mut sources = Sources::default();
    let checked = check(&world, "t.json", Options::default(), &mut sources);
    let Some(plan) = build(&checked, &sources, |_| [0; 32]) else {
        return Ok(None);
    };
    let flow = flow(&checked.program.units[0].steps[0].node).ok_or("there is no flow")?;
    let values = serde_json::from_str(VALUES).map_err(|error| error.to_string())?;
    let Value::Map(values) = from_json(&values) else {
        return Err("values are a map".to_string());
    };
    let values = Rc::unwrap_or_clone(values);
    let mut walker = Walker {
        seed,
        scope: values.clone(),
        turns: String::new(),
        ran: Ran::new(),
    };
    let walked = match walker.stage(&flow.root, None) {
        Ok(pipe) => Ending::Done(pipe.unwrap_or_default().stdout),
        Err(failed) => Ending::Failed(failed.left.stdout, failed.code),
    };
    for order in 0..3 {
        let mut random = Random::new(seed ^ order);
        let (ran, ending) = drive(&plan, values.clone(), seed, &mut random)?;
        if ran != walker.ran {
            return Err(format!("walked {:#?}\ncompiled {ran:#?}", walker.ran));
        }
        if ending != walked {
            return Err(format!("walked {walked:?}, compiled {ending:?}"));
        }
    }
    Ok(Some(walker.ran.values().map(Vec::len).sum()))
}

fn flow(node: &Node) -> Option<&Flow> {
    match node {
        Node::Act(action) => match &**action {
            Action::Flow(flow) => Some(flow),
            _ => None,
        },
        _ => None,
    }
}

/// What a command answers depends on where it stands and on how often it was tried.
fn answer(seed: u64, key: &str, number: usize) -> (String, String, i64) {
    let mut hasher = DefaultHasher::new();
    (seed, key, number).hash(&mut hasher);
    let mut random = Random::new(hasher.finish());
    let stdout = ["", "out", "line\n", "{a}", "é\n\n"][random.below(5)];
    let stderr = ["", "wrong\n"][random.below(2)];
    let code = match random.once_in(3) {
        true => 1 + random.below(3) as i64,
        false => 0,
    };
    (format!("{stdout}{}", key.len()), stderr.to_string(), code)
}

/// What a command wrote.
#[derive(Clone, Default)]
struct Left {
    stdout: String,
    stderr: String,
}

/// A failure: how far it reaches by itself, and what its command wrote.
struct Failed {
    reach: Scope,
    left: Left,
    code: i64,
}

/// What the command before wrote; none if there was none.
type Pipe = Option<Left>;

struct Walker {
    seed: u64,
    scope: Map,
    turns: String,
    ran: Ran,
}

impl Walker {
    fn stage(&mut self, stage: &Stage, pipe: Pipe) -> Result<Pipe, Failed> {
        match self.skips(stage) {
            true => Ok(pipe),
            false => self.tried(stage, pipe),
        }
    }

    fn skips(&self, stage: &Stage) -> bool {
        let guard = stage.guard.as_ref();
        guard.is_some_and(|guard| !truth_flags(&self.value(guard).unwrap_or(Value::Null)))
    }

    fn tried(&mut self, stage: &Stage, pipe: Pipe) -> Result<Pipe, Failed> {
        let tries = stage.tries.as_ref();
        let most = tries.map_or(1, |tries| self.number(&tries.most));
        let mut number = 1;
        loop {
            let failed = match self.work(stage, pipe.clone()) {
                Ok(pipe) => return Ok(pipe),
                Err(failed) if number == most => return Err(failed),
                Err(failed) => failed,
            };
            number += 1;
            let recover = tries.and_then(|tries| tries.recover.as_deref());
            if let Some(recover) = recover
                && let Err(worse) = self.stage(recover, Some(failed.left))
            {
                let reach = worse.reach.max(recover.scope);
                if reach != Scope::Continue {
                    return Err(Failed { reach, ..worse });
                }
            }
        }
    }

    fn work(&mut self, stage: &Stage, pipe: Pipe) -> Result<Pipe, Failed> {
        match &stage.work {
            Work::Run { words, .. } => self.run(&stage.id, words, pipe),
            Work::Inside(inner) => {
                let ended = self.stage(inner, pipe);
                ended.map_err(|failed| reaching(failed, inner.scope))
            }
            Work::Seq(all) => {
                let mut pipe = pipe;
                for child in all {
                    pipe = after(self.stage(child, pipe), child.scope.max(stage.scope))?;
                }
                Ok(pipe)
            }
            Work::Par(all) => {
                let mut ends = Vec::new();
                for child in all {
                    ends.push((child, self.branch(child, pipe.clone())));
                }
                joined(stage, ends)
            }
            Work::Times(times) => self.times(stage, times, pipe),
        }
    }

    fn times(&mut self, stage: &Stage, times: &Times, pipe: Pipe) -> Result<Pipe, Failed> {
        let total = self.number(&times.count);
        let (mut pipe, mut ends) = (pipe, Vec::new());
        let outside = self.turns.len();
        for turn in 0..total {
            self.scope
                .insert(times.index.as_str().into(), Value::Int(turn));
            self.scope
                .insert(times.total.as_str().into(), Value::Int(total));
            self.turns.push_str(&format!("#{turn}"));
            match times.at_once {
                true => ends.push((&times.body, self.branch(&times.body, pipe.clone()))),
                false => {
                    let mut scope = times.body.scope.max(stage.scope);
                    if total == 1 {
                        scope = scope.max(times.alone);
                    }
                    let ended = after(self.stage(&times.body, pipe), scope);
                    self.turns.truncate(outside);
                    pipe = ended?;
                }
            }
            self.turns.truncate(outside);
        }
        match times.at_once {
            true => joined(stage, ends),
            false => Ok(pipe),
        }
    }

    /// A branch that is skipped gives nothing.
    fn branch(&mut self, child: &Stage, pipe: Pipe) -> Result<Pipe, Failed> {
        match self.skips(child) {
            true => Ok(None),
            false => self.tried(child, pipe),
        }
    }

    fn run(&mut self, id: &str, words: &[Term], pipe: Pipe) -> Result<Pipe, Failed> {
        let words = words.iter().map(|word| match self.value(word) {
            Ok(value) => render(&value).to_string(),
            Err(name) => format!("there is no {name}"),
        });
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        let key = format!("{id}{}", self.turns);
        let ran = self.ran.entry(key.clone()).or_default();
        ran.push((words, pipe.map(|left| left.stdout)));
        let (stdout, stderr, code) = answer(self.seed, &key, ran.len());
        let left = Left { stdout, stderr };
        match code {
            0 => Ok(Some(left)),
            _ => Err(Failed {
                reach: Scope::Continue,
                left,
                code,
            }),
        }
    }

    fn number(&self, term: &Term) -> i64 {
        let value = self.value(term).unwrap_or(Value::Null);
        render(&value).trim().parse().unwrap_or(1)
    }

    /// The value of a term, or the name that has none.
    fn value(&self, term: &Term) -> Result<Value, String> {
        Ok(match &term.kind {
            TermKind::Literal(literal) => literal.value(),
            TermKind::Var(name) | TermKind::Turn(name) => {
                let value = self.scope.get(name.as_str());
                value.cloned().ok_or_else(|| name.clone())?
            }
            TermKind::OrElse { of, truth, or } => match self.value(of) {
                Ok(value) if truth.is_none() || truth_flags(&value) => value,
                Ok(_) => self.value(or)?,
                Err(name) => self.value(or).map_err(|_| name)?,
            },
            TermKind::Pick { test, yes, no, .. } => match truth_flags(&self.value(test)?) {
                true => self.value(yes)?,
                false => self.value(no)?,
            },
            TermKind::Item { of, at } => {
                let (of, at) = (self.value(of)?, self.value(at)?);
                let at: usize = render(&at).parse().map_err(|_| "a position")?;
                match of {
                    Value::List(items) => items.get(at).cloned().ok_or("an item")?,
                    _ => return Err("a list".to_string()),
                }
            }
            TermKind::Length(of) => match self.value(of)? {
                Value::List(items) => Value::Int(items.len() as i64),
                _ => return Err("a list".to_string()),
            },
            TermKind::Arith { op, left, right } => {
                let int = |term| -> Result<i64, String> {
                    let value = self.value(term)?;
                    render(&value).parse().map_err(|_| "a number".to_string())
                };
                let (left, right) = (int(left)?, int(right)?);
                Value::Int(match op {
                    Arith::Add => left + right,
                    Arith::Sub => left - right,
                    Arith::Mul => left * right,
                    Arith::Div => left / right,
                    Arith::Rem => left % right,
                })
            }
            TermKind::Pad { of, width } => {
                let width = usize::from(*width);
                Value::text(format!("{:0>width$}", &*render(&self.value(of)?)))
            }
            TermKind::Text(parts) => {
                let mut text = String::new();
                for part in parts {
                    text.push_str(&render(&self.value(part)?));
                }
                Value::text(text)
            }
            TermKind::Fit { of, declared } => {
                let wanted = declared.wanted().value();
                fit(self.value(of)?, &wanted).map_err(|(_, message)| message)?
            }
        })
    }
}

fn reaching(failed: Failed, scope: Scope) -> Failed {
    Failed {
        reach: failed.reach.max(scope),
        ..failed
    }
}

/// What follows a step of a sequence reads: what the step wrote, or nothing if it failed and that
/// reaches nowhere.
fn after(ended: Result<Pipe, Failed>, scope: Scope) -> Result<Pipe, Failed> {
    match ended.map_err(|failed| reaching(failed, scope)) {
        Err(failed) if failed.reach == Scope::Continue => Ok(Some(Left::default())),
        ended => ended,
    }
}

fn joined(stage: &Stage, ends: Vec<(&Stage, Result<Pipe, Failed>)>) -> Result<Pipe, Failed> {
    let (mut reports, mut errors) = (Vec::new(), Vec::new());
    let (mut root, mut first) = (None, None);
    for (number, (child, end)) in ends.into_iter().enumerate() {
        let label = match &child.label {
            Some(label) => label.clone(),
            None => format!("branch {}", number + 1),
        };
        let end = end.map_err(|failed| reaching(failed, child.scope.max(stage.scope)));
        let (status, said, stderr) = match &end {
            Ok(pipe) => {
                let left = pipe.clone().unwrap_or_default();
                ("done", left.stdout, left.stderr)
            }
            Err(failed) => {
                let said = match failed.left.stderr.as_str() {
                    "" => format!("exit: {}", failed.code),
                    stderr => format!("exit: {}\nstderr: {stderr}", failed.code),
                };
                ("failed", said, failed.left.stderr.clone())
            }
        };
        reports.push(format!("--- branch: {label} status: {status} ---\n{said}"));
        errors.extend(Some(stderr).filter(|stderr| !stderr.is_empty()));
        if let Err(failed) = end {
            first = first.or(Some(failed.code));
            root = root.or(Some(failed).filter(|failed| failed.reach == Scope::Root));
        }
    }
    let left = Left {
        stdout: reports.join("\n"),
        stderr: errors.join("\n"),
    };
    match (root, first) {
        (Some(root), _) => Err(root),
        (None, Some(code)) if stage.scope == Scope::Branch => Err(Failed {
            reach: Scope::Branch,
            left,
            code,
        }),
        _ => Ok(Some(left)),
    }
}

/// Runs the plan with the same answers, given in a random order.
fn drive(
    plan: &Plan,
    values: Map,
    seed: u64,
    random: &mut Random,
) -> Result<(Ran, Ending), String> {
    let verified = verify(plan.clone()).map_err(|rejected| rejected.to_string())?;
    let mut machine = Machine::new(verified, values, plan.limits);
    let mut open: HashMap<RecordId, (Option<RecordId>, u32, Option<i64>)> = HashMap::new();
    let (mut asked, mut ran) = (Vec::new(), Ran::new());
    loop {
        match machine.poll() {
            Poll::Note(Note::Begin {
                record,
                parent,
                step,
                iteration,
            }) => {
                open.insert(record, (parent, step, iteration));
            }
            Poll::Note(_) => {}
            Poll::Timer { ticket, .. } => asked.push((ticket, Value::Null)),
            Poll::Cancel { ticket } => asked.retain(|(known, _)| *known != ticket),
            Poll::Call(call) => {
                let host = &plan.calls[call.host as usize];
                if host.kind != HostKind::Exec {
                    asked.push((call.ticket, Value::Null));
                    continue;
                }
                let mut turns = String::new();
                let mut at = call.record;
                while let Some((parent, _, turn)) = at.and_then(|record| open.get(&record)) {
                    if let Some(turn) = turn {
                        turns.insert_str(0, &format!("#{}", turn - 1));
                    }
                    at = *parent;
                }
                let id = plan.steps[host.step as usize].id;
                let key = format!("{}{turns}", plan.texts.get(id).unwrap_or_default());
                let argument = |name: &str| {
                    let found = call.args.iter().find(|(known, _)| *known == name);
                    found.map(|(_, value)| value.clone())
                };
                let words = match argument("argv") {
                    Some(Value::List(words)) => {
                        words.iter().map(|w| render(w).to_string()).collect()
                    }
                    other => return Err(format!("no words: {other:?}")),
                };
                let stdin = argument("stdin").filter(|stdin| !matches!(stdin, Value::Null));
                let given = (words, stdin.map(|stdin| render(&stdin).to_string()));
                let all = ran.entry(key.clone()).or_default();
                all.push(given);
                asked.push((call.ticket, reply(answer(seed, &key, all.len()))));
            }
            Poll::Idle => {
                if asked.is_empty() {
                    return Err("it waits for nothing".to_string());
                }
                let (ticket, reply) = asked.swap_remove(random.below(asked.len()));
                machine
                    .resume(ticket, reply)
                    .map_err(|stray| stray.to_string())?;
            }
            Poll::Done(finished) => {
                let outcome = finished.outcome.map_err(|fault| fault.to_string())?;
                let (data, failed) = match &outcome {
                    Value::Failure(failure) => (&failure.data, true),
                    other => (other, false),
                };
                let stdout = field(data, "stdout")
                    .map(render)
                    .unwrap_or_default()
                    .to_string();
                let ending = match (failed, field(data, "exit_code")) {
                    (false, _) => Ending::Done(stdout),
                    (true, Some(Value::Int(code))) => Ending::Failed(stdout, *code),
                    (true, _) => return Err(format!("refused: {outcome:?}")),
                };
                return Ok((ran, ending));
            }
        }
    }
}

fn reply((stdout, stderr, code): (String, String, i64)) -> Value {
    let fields = serde_json::json!({"stdout": stdout, "stderr": stderr, "exit_code": code});
    match code {
        0 => from_json(&fields),
        _ => Value::Failure(Rc::new(Failure {
            kind: FailureKind::NonzeroExit,
            message: "it failed".into(),
            data: from_json(&fields),
            at: 0,
        })),
    }
}
