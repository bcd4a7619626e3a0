//! Laws about texts: whatever they are, they are judged and not panicked at; judged twice, the
//! judgement is the same; what is not found wrong builds, verifies and runs; fixes repair.

use super::ir_eval::literal;
use super::recipes::BASES;
use rrc_compiler::codes::Severity;
use rrc_compiler::diagnostic::{Applicability, Diagnostic};
use rrc_compiler::source::{SourceId, Sources};
use rrc_compiler::world::Texts;
use rrc_compiler::{Checked, Options, build, check, fix};
use rrc_vm::codec::{decode, encode};
use rrc_vm::disasm::disassemble;
use rrc_vm::fault::{Failure, FailureKind};
use rrc_vm::generate::Random;
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::plan::Plan;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::verify;
use std::rc::Rc;

/// A text that was judged.
pub struct Judged {
    pub checked: Checked,
    pub sources: Sources,
    pub plan: Option<Plan>,
}

impl Judged {
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        let findings = self.checked.report.findings.iter();
        findings.filter(|finding| finding.severity == Severity::Error)
    }
}

/// Judges a text that stands among the base recipes under this name.
pub fn judge(name: &str, bytes: &[u8]) -> Judged {
    let mut world = Texts::one(name, bytes);
    let directory = name.rsplit_once('/').map_or("", |(directory, _)| directory);
    for base in &BASES {
        let path = match directory {
            "" => base.name.to_string(),
            directory => format!("{directory}/{}", base.name),
        };
        world.texts.push((path, base.text.into()));
    }
    let mut sources = Sources::default();
    let checked = check(&world, name, Options::default(), &mut sources);
    let plan = build(&checked, &sources, |text| {
        let mut hash = [0u8; 32];
        for (at, byte) in text.bytes().enumerate() {
            hash[at % 32] = byte.wrapping_add(hash[at % 32].rotate_left(3));
        }
        hash
    });
    Judged {
        checked,
        sources,
        plan,
    }
}

/// Holds every law that holds for any bytes; what the text was judged to be.
pub fn any_bytes(name: &str, bytes: &[u8], seed: u64) -> Result<Judged, String> {
    let judged = judge(name, bytes);
    let again = judge(name, bytes);
    if judged.checked.report.findings != again.checked.report.findings {
        return Err("checked twice, found twice different".to_string());
    }
    if judged.plan != again.plan {
        return Err("built twice, twice different".to_string());
    }
    for finding in &judged.checked.report.findings {
        placed(finding, &judged.sources)?;
    }
    match &judged.plan {
        Some(plan) => sound(plan, &judged, seed)?,
        // JSON may describe a tool, or be made of what only another host knows.
        None if name.ends_with(".json") && judged.checked.program.units.is_empty() => {}
        None if judged.errors().next().is_none() => {
            return Err("nothing is wrong, and nothing is built".to_string());
        }
        None => {}
    }
    Ok(judged)
}

/// Whether everything that a finding points at is there.
fn placed(finding: &Diagnostic, sources: &Sources) -> Result<(), String> {
    let edits = finding.fix.iter().flat_map(|fix| &fix.edits);
    let spans = [finding.span]
        .into_iter()
        .chain(finding.labels.iter().map(|label| label.span))
        .chain(edits.map(|edit| edit.span));
    for span in spans {
        let text = &sources.get(span.source).text;
        if text.get(span.range()).is_none() {
            return Err(format!("{finding:?} points outside of its text"));
        }
    }
    Ok(())
}

/// Whatever builds survives the codec, can be shown, verifies and runs.
fn sound(plan: &Plan, judged: &Judged, seed: u64) -> Result<(), String> {
    if decode(&encode(plan)).as_ref() != Ok(plan) {
        return Err("decoded is not encoded".to_string());
    }
    if disassemble(plan).is_empty() {
        return Err("nothing is shown".to_string());
    }
    let mut limits = plan.limits;
    limits.fuel = limits.fuel.min(2_000_000);
    limits.memory = limits.memory.min(64 << 20);
    let verified = verify(plan.clone()).map_err(|rejected| format!("{rejected}"))?;
    let inputs = judged.checked.program.units[0].inputs.iter();
    let variables: Map = inputs
        .map(|input| (input.name.as_str().into(), literal(&input.default)))
        .collect();
    let mut machine = Machine::new(verified, variables, limits);
    let mut random = Random::new(seed);
    let mut asked = Vec::new();
    // A recipe may loop longer than a test has time for.
    for _ in 0..2_000 {
        match machine.poll() {
            Poll::Call(call) => asked.push(call.ticket),
            Poll::Timer { ticket, .. } => asked.push(ticket),
            Poll::Cancel { ticket } => asked.retain(|known| *known != ticket),
            Poll::Note(_) => {}
            Poll::Done(_) => break,
            Poll::Idle => {
                if asked.is_empty() {
                    return Err("it waits for nothing".to_string());
                }
                let ticket = asked.swap_remove(random.below(asked.len()));
                let taken = machine.resume(ticket, reply(&mut random));
                taken.map_err(|stray| stray.to_string())?;
            }
        }
    }
    Ok(())
}

fn reply(random: &mut Random) -> Value {
    let mut fields = Map::default();
    let output = ["", "ok\n", "{\"a\": [1]}", "3", "no"][random.below(5)];
    fields.insert("stdout".into(), Value::text(output));
    fields.insert("stderr".into(), Value::text(""));
    fields.insert("exit_code".into(), Value::Int(random.below(3) as i64));
    match random.once_in(4) {
        true => Value::Failure(Rc::new(Failure {
            kind: FailureKind::NonzeroExit,
            message: "it failed".into(),
            data: Value::map(fields),
            at: 0,
        })),
        false => Value::map(fields),
    }
}

/// Applies safe fixes until there are none left: it ends, and each of them alone removes what it
/// was offered for. The text that comes out of it, and how many rounds it took.
pub fn fixed(name: &str, bytes: &[u8]) -> Result<(Vec<u8>, usize), String> {
    let mut bytes = bytes.to_vec();
    // One finding may stand for many places, of which each round repairs one.
    for round in 0..30 {
        let judged = judge(name, &bytes);
        let findings = &judged.checked.report.findings;
        for finding in findings {
            let Some(text) = applied(&judged, std::slice::from_ref(finding)) else {
                continue;
            };
            let after = judge(name, text.as_bytes());
            let left = &after.checked.report.findings;
            let same_place = |other: &Diagnostic| {
                (other.code, &other.message) == (finding.code, &finding.message)
                    && other.span.start == finding.span.start
            };
            // What is said once of several places is said of the next one, then.
            if count(left, finding) >= count(findings, finding) && left.iter().any(same_place) {
                return Err(format!("`{}` is not repaired by its fix", finding.message));
            }
        }
        match applied(&judged, findings) {
            Some(text) => bytes = text.into_bytes(),
            None => return Ok((bytes, round)),
        }
    }
    Err("fixes do not come to an end".to_string())
}

/// The same for one slip in a text in which nothing else is wrong: whatever is wrong afterwards
/// was wrong before, or the fix has made it.
pub fn slip_fixed(name: &str, bytes: &[u8]) -> Result<bool, String> {
    let (text, rounds) = fixed(name, bytes)?;
    let (before, after) = (judge(name, bytes), judge(name, &text));
    let added = after
        .errors()
        .find(|error| count(&before.checked.report.findings, error) == 0);
    match added {
        Some(error) => Err(format!("a fix brings `{}`", error.message)),
        None => Ok(rounds > 0),
    }
}

/// The main text with the safe fixes of these findings, if that changes it.
fn applied(judged: &Judged, findings: &[Diagnostic]) -> Option<String> {
    fix::apply(&judged.sources, findings, Applicability::Safe)
        .into_iter()
        .find_map(|(source, text, _)| (source == SourceId(0)).then_some(text))
}

fn count(all: &[Diagnostic], finding: &Diagnostic) -> usize {
    let same =
        |other: &&Diagnostic| (other.code, &other.message) == (finding.code, &finding.message);
    all.iter().filter(same).count()
}
