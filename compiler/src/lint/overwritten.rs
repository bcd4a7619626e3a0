//! Variables that are lost: set again before anything has read them, stored over through a step's
//! id, or hidden by the variable of a loop.

use super::flow::{Event, Under, What, is_met, known, stands_for, trace};
use crate::codes;
use crate::codes::Severity;
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::{Bind, Exports, OnFailure, Program, Step};
use crate::source::Span;

/// Stored under the id of the step because nothing names a variable.
fn is_by_id(bind: &Bind, step: &Step) -> bool {
    bind.span == step.span && bind.name == step.id
}

pub fn by_id(program: &Program, report: &mut Report) {
    for unit in &program.units {
        let events = trace(unit);
        for (at, event) in events.iter().enumerate() {
            let What::Set { bind } = event.what else {
                continue;
            };
            if !is_by_id(bind, event.step) {
                continue;
            }
            let input = unit.inputs.iter().find(|input| input.name == bind.name);
            let earlier = events[..at].iter().find_map(|event| match event.what {
                What::Set { bind: other } if other.name == bind.name => Some(other.span),
                _ => None,
            });
            let Some(first) = input.map(|input| input.span).or(earlier) else {
                continue;
            };
            if first == bind.span {
                continue;
            }
            let message = format!("the output of this step is stored over `{}`", bind.name);
            report.add(
                Diagnostic::new(&codes::OVERWRITTEN_BY_ID, bind.span, message)
                    .label(first, "the variable is set here")
                    .help("give the step an `output`, or another id"),
            );
        }
    }
}

pub fn set_twice(program: &Program, report: &mut Report) {
    for unit in &program.units {
        let events = trace(unit);
        for (at, event) in events.iter().enumerate() {
            let What::Set { bind } = event.what else {
                continue;
            };
            let next = events[at + 1..]
                .iter()
                .find(|later| uses(later, &bind.name) || sets(later, &bind.name).is_some());
            let Some(next) = next else { continue };
            let Some(again) = sets(next, &bind.name) else {
                continue;
            };
            if again.span != bind.span && !is_by_id(again, next.step) && overwrites(event, next) {
                let message = format!("`{}` is set again before anything has read it", bind.name);
                report.add(
                    Diagnostic::new(&codes::SET_TWICE, again.span, message)
                        .label(bind.span, "what is stored here is lost")
                        .help("give one of the two another name"),
                );
            }
        }
    }
}

fn sets<'a>(event: &Event<'a>, name: &str) -> Option<&'a Bind> {
    match event.what {
        What::Set { bind } if bind.name == name => Some(bind),
        _ => None,
    }
}

fn uses(event: &Event<'_>, name: &str) -> bool {
    match event.what {
        What::Read { name: read, .. } => read == name,
        What::Mention { mention, .. } => stands_for(&mention.name, name),
        // Whatever a process finds in its environment, it may read.
        What::Run { exec } => exec.exports == Exports::Everything,
        What::Call { call } => call.inherits,
        What::Set { .. } | What::Item { .. } | What::Leave { .. } => false,
    }
}

/// Whether the second runs whenever the first has, and stores something when it does. A variable
/// that a loop sets may be read in its next turn.
fn overwrites(first: &Event<'_>, second: &Event<'_>) -> bool {
    let known = known(&first.under);
    let is_loop = |under: &Under<'_>| matches!(under, Under::Loop(..));
    let certain = second
        .under
        .iter()
        .all(|condition| is_met(condition, &first.under, &known));
    certain
        && second.step.on_failure == OnFailure::Stop
        && first.step.span != second.step.span
        && !first.under.iter().any(is_loop)
        && !second.under.iter().any(is_loop)
}

pub fn shadowed(program: &Program, report: &mut Report) {
    for unit in &program.units {
        let events = trace(unit);
        for (at, event) in events.iter().enumerate() {
            let What::Item { bind } = event.what else {
                continue;
            };
            let Some(outer) = outer(&events[..at], unit, &bind.name) else {
                continue;
            };
            let leave = events[at..].iter().position(
                |later| matches!(later.what, What::Leave { bind: left } if left.span == bind.span),
            );
            let after = leave.map_or(&events[at..], |leave| &events[at + leave..]);
            let read_later = after
                .iter()
                .take_while(|later| sets(later, &bind.name).is_none())
                .any(|later| matches!(later.what, What::Read { name, .. } if name == bind.name));
            let message = format!("the loop hides `{}` from its steps", bind.name);
            let finding = Diagnostic::new(&codes::SHADOWED_VARIABLE, bind.span, message)
                .label(outer, "this variable is not seen in the loop")
                .help("choose another name with `as`");
            report.add(match read_later {
                true => finding,
                false => finding.severity(Severity::Note),
            });
        }
    }
}

/// What a name means where a loop starts: a variable, or that of another loop around it.
fn outer(before: &[Event<'_>], unit: &crate::ir::Unit, name: &str) -> Option<Span> {
    let mut found = unit
        .inputs
        .iter()
        .find(|input| input.name == name)
        .map(|input| input.span);
    let mut loops: Vec<Option<Span>> = Vec::new();
    for event in before {
        match event.what {
            What::Set { bind } if bind.name == name => found = Some(bind.span),
            What::Item { bind } if bind.name == name => {
                loops.push(found);
                found = Some(bind.span);
            }
            What::Leave { bind } if bind.name == name => found = loops.pop().flatten(),
            _ => {}
        }
    }
    found
}
