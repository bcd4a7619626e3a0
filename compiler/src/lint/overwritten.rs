//! Variables that are lost: set again before anything has read them, stored over through a step's
//! id, or hidden by the variable of a loop.

use super::Survey;
use super::flow::{Event, What, is_met, known};
use crate::codes;
use crate::codes::Severity;
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::{Bind, Exports, OnFailure, Step};
use crate::source::Span;
use rustc_hash::FxHashMap;

/// Stored under the id of the step because nothing names a variable.
fn is_by_id(bind: &Bind, step: &Step) -> bool {
    bind.span == step.span && bind.name == step.id
}

pub fn by_id(survey: &Survey<'_>, report: &mut Report) {
    for flow in &survey.flows {
        for (at, event) in flow.events.iter().enumerate() {
            let What::Set { bind } = event.what else {
                continue;
            };
            if !is_by_id(bind, event.step) {
                continue;
            }
            let input = flow.input(&bind.name);
            // Two steps with one id are a mistake of their own.
            let earlier = flow
                .about(&bind.name, 0..at)
                .find_map(|event| match event.what {
                    What::Set { bind } if !is_by_id(bind, event.step) => Some(bind.span),
                    _ => None,
                });
            let Some(first) = input.map(|input| input.span).or(earlier) else {
                continue;
            };
            let message = format!("the output of this step is stored over `{}`", bind.name);
            report.add(
                Diagnostic::new(&codes::OVERWRITTEN_BY_ID, bind.span, message)
                    .label(first, "the variable is set here")
                    .help("give the step an `output`, or another id"),
            );
        }
    }
}

pub fn set_twice(survey: &Survey<'_>, report: &mut Report) {
    for flow in &survey.flows {
        let end = flow.events.len();
        // Where everything may be read: by a process that is given all, by a recipe that sees all.
        let unseen: Vec<usize> = (0..end).filter(|at| reads_all(&flow.events[*at])).collect();
        for (at, event) in flow.events.iter().enumerate() {
            let What::Set { bind } = event.what else {
                continue;
            };
            let Some((then, next)) = flow.next(&bind.name, at + 1) else {
                continue;
            };
            let What::Set { bind: again } = next.what else {
                continue;
            };
            let unseen = unseen.partition_point(|seen| *seen < then)
                > unseen.partition_point(|seen| *seen < at);
            let overwrites = match at_once(event.step, bind, again) {
                true => true,
                false => !unseen && !is_by_id(again, next.step) && overwrites(event, next),
            };
            if overwrites && again.span != bind.span {
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

/// Whether a step stores two of its results in one variable.
fn at_once(step: &Step, bind: &Bind, again: &Bind) -> bool {
    let own = |bind: &Bind| step.bind.iter().any(|own| own.span == bind.span);
    own(bind) && own(again)
}

fn reads_all(event: &Event<'_>) -> bool {
    match event.what {
        What::Run { exec } => exec.exports == Exports::Everything,
        What::Call { call } => call.inherits,
        _ => false,
    }
}

/// Whether the second runs whenever the first has, and stores something when it does. A variable
/// that a loop sets may be read in its next turn.
fn overwrites(first: &Event<'_>, second: &Event<'_>) -> bool {
    let known = known(&first.under);
    let certain = second
        .under
        .iter()
        .all(|condition| is_met(condition, &first.under, &known));
    certain
        && second.step.on_failure == OnFailure::Stop
        && first.step.span != second.step.span
        && !first.in_loop
        && !second.in_loop
}

pub fn shadowed(survey: &Survey<'_>, report: &mut Report) {
    for flow in &survey.flows {
        let end = flow.events.len();
        if !flow
            .events
            .iter()
            .any(|event| matches!(event.what, What::Item { .. }))
        {
            continue;
        }
        let mut meanings: FxHashMap<&str, Meaning> = FxHashMap::default();
        for (at, event) in flow.events.iter().enumerate() {
            let (What::Set { bind } | What::Item { bind } | What::Leave { bind }) = event.what
            else {
                continue;
            };
            let meaning = meanings.entry(&bind.name).or_insert_with(|| Meaning {
                now: flow.input(&bind.name).map(|input| input.span),
                outside: Vec::new(),
            });
            let outer = meaning.now;
            meaning.change(event);
            let (What::Item { .. }, Some(outer)) = (event.what, outer) else {
                continue;
            };
            let read_later = flow
                .about(&bind.name, at..end)
                .skip_while(
                    |later| !matches!(later.what, What::Leave { bind: left } if left.span == bind.span),
                )
                .take_while(|later| !matches!(later.what, What::Set { .. } | What::Item { .. }))
                .any(|later| matches!(later.what, What::Read { .. }));
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

/// What a name means at one point: a variable, or that of a loop around it.
struct Meaning {
    now: Option<Span>,
    /// The same outside of each loop around that point.
    outside: Vec<Option<Span>>,
}

impl Meaning {
    fn change(&mut self, event: &Event<'_>) {
        match event.what {
            What::Set { bind } => self.now = Some(bind.span),
            What::Item { bind } => self.outside.push(self.now.replace(bind.span)),
            What::Leave { .. } => self.now = self.outside.pop().flatten(),
            _ => {}
        }
    }
}
