//! What becomes of steps, and what is said of them.

use super::{RETURN, X, kind, machine, outcome};
use rrc_vm::fault::FailureKind;
use rrc_vm::isa::{Instr, Short, Status};
use rrc_vm::machine::{Note, Poll};
use rrc_vm::value::Value;

#[test]
fn steps_are_counted_against_their_limit_which_no_plan_forgives() {
    let counted = |times: u32| {
        let failed = 3 * times + 3;
        let step = [
            Instr::StepStart {
                step: Short::new(0),
                to: failed,
            },
            Instr::Null {},
            Instr::StepEnd { status: 0 },
        ];
        let mut code = step.repeat(times as usize);
        code.push(Instr::Null {});
        code.extend(RETURN);
        code.extend([Instr::StepEnd { status: 0 }, Instr::True {}]);
        code.extend(RETURN);
        outcome(&code)
    };
    assert!(matches!(counted(3), Value::Null));
    assert_eq!(kind(&counted(4)), FailureKind::StepLimit);
}

#[test]
fn a_guard_decides_what_becomes_of_a_step() {
    // What it comes to, and how many steps were begun and skipped.
    let guarded = |guard: Instr| {
        let (failed, skipped, step) = (6, 8, Short::new(0));
        let code = [
            guard,
            Instr::PassUnlessWords { step, to: skipped },
            Instr::StepEnter { step, to: failed },
            Instr::True {},
            Instr::StepEnd { status: 0 },
            Instr::Jump { to: skipped },
            Instr::StepEnd { status: 0 },
            Instr::Jump { to: skipped },
            Instr::Null {},
        ];
        let mut machine = machine(&[&code[..], &RETURN].concat(), &[]);
        let mut said = Vec::new();
        loop {
            match machine.poll() {
                Poll::Note(Note::Begin { .. }) => said.push("begin"),
                Poll::Note(Note::Skip { .. }) => said.push("skip"),
                Poll::Note(Note::End { value, .. }) if value.failed() => said.push("failed"),
                Poll::Note(Note::End { .. }) => said.push("end"),
                Poll::Done(_) => return said,
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(guarded(Instr::True {}), ["begin", "end"]);
    assert_eq!(guarded(Instr::False {}), ["skip"]);
    assert_eq!(guarded(Instr::Int { value: 0 }), ["skip"]);
    assert_eq!(guarded(Instr::Text { text: X }), ["begin", "end"]);
    assert_eq!(guarded(Instr::Fail { message: X }), ["begin", "failed"]);
}

#[test]
fn an_attempt_is_said_from_the_second_on() {
    let mut machine = machine(
        &[
            &[
                Instr::StepBegin { step: 0 },
                Instr::StepAttempt {},
                Instr::Fail { message: X },
                Instr::StepEnd { status: 0 },
                Instr::Null {},
            ],
            &RETURN[..],
        ]
        .concat(),
        &[],
    );
    machine.poll();
    assert!(matches!(
        machine.poll(),
        Poll::Note(Note::Attempt { number: 2, .. })
    ));
    let ended = machine.poll();
    assert!(matches!(
        ended,
        Poll::Note(Note::End {
            status: Status::Failed,
            ..
        })
    ));
}
