//! What the machine does where the laws do not say: tasks, deadlines, limits, and single
//! instructions with a point to them.

#![allow(
    clippy::panic,
    reason = "helpers of tests fail the test that calls them"
)]

use rrc_vm::fault::{Failure, FailureKind, FaultKind};
use rrc_vm::isa::{Instr, Kind, Role, Status, Word};
use rrc_vm::machine::{Finished, Machine, Note, Poll, Stray, Ticket};
use rrc_vm::plan::{
    Const, Function, HostCall, HostKind, Limits, Place, Plan, SourceInfo, StepInfo, StepKind, Texts,
};
use rrc_vm::text::json_text;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::verify;
use std::rc::Rc;

#[path = "machine/steps.rs"]
mod steps;
#[path = "machine/verifier.rs"]
mod verifier;

const TEXTS: [&str; 6] = ["main", "x", "y", "echo", "ms", "script"];
const X: u32 = 1;
const Y: u32 = 2;
const LIMITS: Limits = Limits {
    fuel: 1 << 24,
    memory: 1 << 24,
    steps: 3,
    depth: 3,
};

/// A plan with these functions; labels count from the start of their function. Call 0 is `exec`
/// with an open script, call 1 `sleep`.
fn plan(functions: &[(&[Kind], &[Kind], &[Instr])]) -> Plan {
    let mut texts = Texts::default();
    for text in TEXTS {
        texts.all.push_str(text);
        texts.ends.push(texts.all.len() as u32);
    }
    let place = Place {
        source: 0,
        start: 0,
        end: 0,
    };
    let step = StepInfo {
        id: X,
        kind: StepKind::Bash,
        place,
    };
    let call = |kind, open| HostCall {
        kind,
        step: 0,
        open,
        fixed: 0,
    };
    let mut plan = Plan {
        name: 0,
        dialect: 0,
        limits: LIMITS,
        texts,
        constants: vec![Const::Map { first: 0, count: 1 }, Const::Int(9)],
        parts: vec![4, 0],
        functions: vec![],
        code: vec![],
        calls: vec![call(HostKind::Exec, 1), call(HostKind::Sleep, 0)],
        steps: vec![step, step],
        inputs: vec![],
        needs: vec![],
        spans: vec![],
        sources: vec![SourceInfo {
            name: 0,
            hash: [0; 32],
        }],
    };
    plan.constants.swap(0, 1);
    plan.calls.iter_mut().for_each(|call| call.fixed = 1);
    for (params, results, code) in functions {
        let start = plan.code.len() as u32;
        plan.code.extend(code.iter().map(|instr| {
            let word = Word::from(*instr);
            let mut operands = word.info().operands.iter();
            match operands.any(|(_, role)| *role == Role::Label) {
                true => word.with_wide(word.wide() + start),
                false => word,
            }
        }));
        plan.functions.push(Function {
            name: 0,
            start,
            end: plan.code.len() as u32,
            params: params.to_vec(),
            results: results.to_vec(),
            locals: 6,
        });
    }
    plan
}

const MAIN: (&[Kind], &[Kind]) = (&[Kind::Map], &[Kind::Any, Kind::Map]);

/// A machine for a first function and functions that can be tasks, without parameters.
fn machine(main: &[Instr], tasks: &[&[Instr]]) -> Machine {
    let mut functions = vec![(MAIN.0, MAIN.1, main)];
    functions.extend(tasks.iter().map(|code| (&[][..], &[Kind::Any][..], *code)));
    let plan = verify(plan(&functions)).expect("the plan of the test verifies");
    Machine::new(plan, Map::default(), LIMITS)
}

/// What is on the stack, and the variables, are what the run gives.
const RETURN: [Instr; 2] = [Instr::Take { local: 0 }, Instr::Return {}];

fn finish(machine: &mut Machine) -> Finished {
    match machine.poll() {
        Poll::Done(finished) => finished,
        other => panic!("the run goes on: {other:?}"),
    }
}

fn outcome(code: &[Instr]) -> Value {
    let mut machine = machine(&[code, &RETURN].concat(), &[]);
    loop {
        match machine.poll() {
            Poll::Note(_) => {}
            Poll::Done(finished) => return finished.outcome.expect("no fault"),
            other => panic!("the run waits: {other:?}"),
        }
    }
}

fn kind(value: &Value) -> FailureKind {
    match value {
        Value::Failure(failure) => failure.kind,
        other => panic!("{other:?} is no failure"),
    }
}

fn fault(code: &[Instr]) -> FaultKind {
    let mut machine = machine(code, &[]);
    finish(&mut machine).outcome.expect_err("a fault").kind
}

fn ask(machine: &mut Machine) -> Ticket {
    match machine.poll() {
        Poll::Call(call) => call.ticket,
        other => panic!("no call: {other:?}"),
    }
}

#[test]
fn the_first_failed_operand_is_the_result() {
    let value = outcome(&[
        Instr::Fail { message: X },
        Instr::Fail { message: Y },
        Instr::Add {},
        Instr::Null {},
        Instr::List { items: 2 },
    ]);
    let Value::Failure(failure) = value else {
        panic!("{value:?}");
    };
    assert_eq!((&*failure.message, failure.at), ("x", 0));
}

#[test]
fn arithmetic_does_not_wrap() {
    let with = |a: i32, operation: Instr, b: i32| {
        outcome(&[Instr::Int { value: a }, Instr::Int { value: b }, operation])
    };
    assert!(matches!(with(-7, Instr::Div {}, 2), Value::Int(-3)));
    assert!(matches!(with(-7, Instr::Rem {}, 2), Value::Int(-1)));
    assert_eq!(
        kind(&with(1, Instr::Div {}, 0)),
        FailureKind::DivisionByZero
    );
    assert_eq!(
        kind(&with(1, Instr::Rem {}, 0)),
        FailureKind::DivisionByZero
    );
    let mut squares = vec![Instr::Int { value: i32::MAX }];
    for _ in 0..3 {
        squares.extend([Instr::Int { value: i32::MAX }, Instr::Mul {}]);
    }
    assert_eq!(kind(&outcome(&squares)), FailureKind::Overflow);
}

#[test]
fn variables_are_changed_in_place_or_copied() {
    let mut machine = machine(
        &[
            &[
                Instr::Int { value: 1 },
                Instr::SetVar { scope: 0, name: X },
                Instr::Load { local: 0 },
                Instr::Store { local: 1 },
                Instr::Int { value: 2 },
                Instr::SetVar { scope: 0, name: X },
                Instr::Unshadow { scope: 0, name: Y },
                Instr::VarOrNull { scope: 1, name: X },
            ],
            &RETURN[..],
        ]
        .concat(),
        &[],
    );
    let finished = finish(&mut machine);
    assert!(matches!(finished.outcome, Ok(Value::Int(1))));
    assert!(matches!(finished.variables["x"], Value::Int(2)));
}

#[test]
fn a_loop_goes_over_a_list() {
    let value = outcome(&[
        Instr::Int { value: 4 },
        Instr::Int { value: 5 },
        Instr::List { items: 2 },
        Instr::ListOr { to: 13 },
        Instr::Store { local: 1 },
        Instr::Int { value: 0 },
        Instr::Store { local: 2 },
        Instr::EmptyList {},
        Instr::Store { local: 3 },
        Instr::Next {
            list: 1,
            at: 2,
            to: 12,
        },
        Instr::Append { list: 3 },
        Instr::Jump { to: 9 },
        Instr::Load { local: 3 },
    ]);
    assert_eq!(json_text(&value), "[4,5]");
}

#[test]
fn a_call_has_all_its_arguments_and_its_failure_a_place() {
    let mut machine = machine(
        &[
            &[Instr::Text { text: 3 }, Instr::Host { call: 0 }],
            &RETURN[..],
        ]
        .concat(),
        &[],
    );
    let Poll::Call(call) = machine.poll() else {
        panic!("no call");
    };
    assert_eq!(call.args.len(), HostKind::Exec.params().len());
    assert!(matches!(&call.args[0], ("script", Value::Text(text)) if &**text == "echo"));
    assert!(matches!(call.args[1].1, Value::Null));
    assert!(matches!(machine.poll(), Poll::Idle));
    let inside = Value::list(vec![Value::Step(0)]);
    assert_eq!(machine.resume(call.ticket, inside), Err(Stray::NoData));
    let failure = Value::Failure(Rc::new(Failure {
        kind: FailureKind::NonzeroExit,
        message: "it failed".into(),
        data: Value::Null,
        at: 999,
    }));
    assert_eq!(machine.resume(call.ticket, failure), Ok(()));
    let Ok(Value::Failure(failure)) = finish(&mut machine).outcome else {
        panic!("no failure");
    };
    assert_eq!((failure.kind, failure.at), (FailureKind::NonzeroExit, 1));
}

const ASK: [Instr; 3] = [
    Instr::Text { text: 3 },
    Instr::Host { call: 0 },
    Instr::Return {},
];

/// Fork so many tasks that ask, and join them with one of the joins into a list.
fn fork_and_join(join_any: bool) -> Vec<Instr> {
    let fork = Instr::Fork { function: 1 };
    let mut code = vec![
        Instr::EmptyList {},
        Instr::Store { local: 1 },
        Instr::Tasks {},
    ];
    code.extend([fork, fork, fork]);
    let top = code.len() as u32;
    if join_any {
        code.extend([
            Instr::JoinAny { to: top + 7 },
            Instr::JumpFailed { to: top + 5 },
            Instr::Append { list: 1 },
            Instr::Append { list: 1 },
            Instr::Jump { to: top },
            Instr::Pop {},
            Instr::Jump { to: top + 3 },
        ]);
    } else {
        code.extend([
            Instr::JoinNext { to: top + 6 },
            Instr::JumpFailed { to: top + 4 },
            Instr::Append { list: 1 },
            Instr::Jump { to: top },
            Instr::Pop {},
            Instr::Jump { to: top },
        ]);
    }
    code.push(Instr::Load { local: 1 });
    code.extend(RETURN);
    code
}

#[test]
fn join_next_keeps_the_order_of_forks_and_join_any_that_of_ends() {
    for (any, expected) in [(false, "[0,1,2]"), (true, "[2,2,0,0,1,1]")] {
        let mut machine = machine(&fork_and_join(any), &[&ASK]);
        let tickets = [(); 3].map(|()| ask(&mut machine));
        assert!(matches!(machine.poll(), Poll::Idle));
        for number in [2, 0, 1] {
            machine
                .resume(tickets[number], Value::Int(number as i64))
                .expect("it waits");
        }
        let value = finish(&mut machine).outcome.expect("no fault");
        assert_eq!(json_text(&value), expected);
    }
}

#[test]
fn join_ready_takes_the_first_and_waits_for_none() {
    let main = [
        &[
            Instr::Tasks {},
            Instr::Fork { function: 1 },
            Instr::Fork { function: 1 },
            Instr::JoinReady { to: 5 },
            Instr::Stop {},
            Instr::Int { value: 2 },
            Instr::WaitBelow {},
            Instr::JoinReady { to: 9 },
            Instr::Stop {},
            Instr::JoinNext { to: 13 },
            Instr::Pop {},
            Instr::Int { value: 7 },
            Instr::Stop {},
            Instr::Null {},
        ],
        &RETURN[..],
    ]
    .concat();
    for (replies, expected) in [(&[0][..], "0"), (&[1, 0], "7")] {
        let mut machine = machine(&main, &[&ASK]);
        let tickets = [(); 2].map(|()| ask(&mut machine));
        for number in replies {
            assert!(matches!(machine.poll(), Poll::Idle));
            machine
                .resume(tickets[*number], Value::Int(*number as i64))
                .expect("it waits");
        }
        if replies.len() == 1 {
            assert!(matches!(machine.poll(), Poll::Cancel { ticket } if ticket == tickets[1]));
        }
        let value = finish(&mut machine).outcome.expect("no fault");
        assert_eq!(json_text(&value), expected);
    }
}

/// A task that begins a step and asks in it, with a deadline; its result is the outcome.
fn with_deadline() -> Machine {
    let main = [
        &[
            Instr::Tasks {},
            Instr::Int { value: 50 },
            Instr::ForkWithin { function: 1 },
            Instr::JoinNext { to: 5 },
            Instr::Stop {},
            Instr::Null {},
        ],
        &RETURN[..],
    ]
    .concat();
    let task = [
        Instr::StepBegin { step: 1 },
        Instr::Text { text: 3 },
        Instr::Host { call: 0 },
        Instr::StepEnd { status: 0 },
        Instr::Int { value: 7 },
        Instr::Return {},
    ];
    machine(&main, &[&task])
}

#[test]
fn a_deadline_that_passes_ends_the_task_and_its_steps() {
    let mut machine = with_deadline();
    let Poll::Timer {
        ticket: timer, ms, ..
    } = machine.poll()
    else {
        panic!("no timer");
    };
    assert_eq!(ms, 50);
    assert!(matches!(
        machine.poll(),
        Poll::Note(Note::Begin { step: 1, .. })
    ));
    let call = ask(&mut machine);
    assert!(matches!(machine.poll(), Poll::Idle));
    assert_eq!(machine.resume(timer, Value::Null), Ok(()));
    assert!(matches!(machine.poll(), Poll::Cancel { ticket } if ticket == call));
    match machine.poll() {
        Poll::Note(Note::End { status, value, .. }) => {
            assert_eq!(
                (status, kind(&value)),
                (Status::Cancelled, FailureKind::Timeout)
            );
        }
        other => panic!("{other:?}"),
    }
    // It crosses the cancellation.
    assert_eq!(machine.resume(call, Value::Int(1)), Ok(()));
    let outcome = finish(&mut machine).outcome.expect("no fault");
    assert_eq!(kind(&outcome), FailureKind::Timeout);
    assert_eq!(machine.resume(timer, Value::Null), Err(Stray::Unknown));
}

#[test]
fn a_task_that_ends_in_time_cancels_its_timer() {
    let mut machine = with_deadline();
    let Poll::Timer { ticket: timer, .. } = machine.poll() else {
        panic!("no timer");
    };
    machine.poll();
    let call = ask(&mut machine);
    machine.resume(call, Value::Null).expect("it waits");
    assert!(matches!(
        machine.poll(),
        Poll::Note(Note::End {
            status: Status::Completed,
            ..
        })
    ));
    assert!(matches!(machine.poll(), Poll::Cancel { ticket } if ticket == timer));
    assert_eq!(machine.resume(timer, Value::Null), Ok(()));
    assert!(matches!(finish(&mut machine).outcome, Ok(Value::Int(7))));
}

#[test]
fn what_was_cancelled_can_be_forgotten() {
    let mut machine = with_deadline();
    let Poll::Timer { ticket: timer, .. } = machine.poll() else {
        panic!("no timer");
    };
    machine.poll();
    let call = ask(&mut machine);
    machine.forget(call);
    machine.resume(call, Value::Null).expect("it still waits");
    machine.poll();
    assert!(matches!(machine.poll(), Poll::Cancel { ticket } if ticket == timer));
    machine.forget(timer);
    assert_eq!(machine.resume(timer, Value::Null), Err(Stray::Unknown));
    assert!(matches!(finish(&mut machine).outcome, Ok(Value::Int(7))));
}

#[test]
fn cancel_ends_what_runs_and_keeps_what_ended() {
    let mut code = fork_and_join(false);
    // After the forks: wait until two are left, then cancel them.
    code.splice(
        6..6,
        [
            Instr::Int { value: 3 },
            Instr::WaitBelow {},
            Instr::Cancel {},
        ],
    );
    let code: Vec<Instr> = code
        .into_iter()
        .map(|instr| match instr {
            Instr::JoinNext { to } => Instr::JoinNext { to: to + 3 },
            Instr::JumpFailed { to } => Instr::JumpFailed { to: to + 3 },
            Instr::Jump { to } => Instr::Jump { to: to + 3 },
            other => other,
        })
        .collect();
    let mut machine = machine(&code, &[&ASK]);
    let tickets = [(); 3].map(|()| ask(&mut machine));
    assert!(matches!(machine.poll(), Poll::Idle));
    machine.resume(tickets[1], Value::Int(1)).expect("it waits");
    assert!(matches!(machine.poll(), Poll::Cancel { ticket } if ticket == tickets[0]));
    assert!(matches!(machine.poll(), Poll::Cancel { ticket } if ticket == tickets[2]));
    let value = finish(&mut machine).outcome.expect("no fault");
    assert_eq!(json_text(&value), "[1]");
}

#[test]
fn what_grows_without_end_stops() {
    assert_eq!(fault(&[Instr::Jump { to: 0 }]), FaultKind::OutOfFuel);
    // A function that calls itself.
    let deep = [
        Instr::Take { local: 0 },
        Instr::Call { function: 0 },
        Instr::Return {},
    ];
    assert_eq!(fault(&deep), FaultKind::TooDeep);
    // x = [x]
    let nests = [
        Instr::VarOrNull { scope: 0, name: X },
        Instr::List { items: 1 },
        Instr::JumpFailed { to: 5 },
        Instr::SetVar { scope: 0, name: X },
        Instr::Jump { to: 0 },
        Instr::Take { local: 0 },
        Instr::Return {},
    ];
    assert_eq!(fault(&nests), FaultKind::TooDeep);
    // x = [x, x]
    let mut doubles = nests.to_vec();
    doubles[1] = Instr::List { items: 2 };
    doubles.insert(1, Instr::VarOrNull { scope: 0, name: X });
    doubles[3] = Instr::JumpFailed { to: 6 };
    assert_eq!(fault(&doubles), FaultKind::OutOfMemory);
    // x = x + x + "echo"
    let mut text = doubles.clone();
    text[2] = Instr::Concat { parts: 3 };
    text.insert(2, Instr::Text { text: 3 });
    text[4] = Instr::JumpFailed { to: 7 };
    assert_eq!(fault(&text), FaultKind::OutOfMemory);
    // A list that grows by one item each time.
    let grows = [
        Instr::EmptyList {},
        Instr::Store { local: 1 },
        Instr::Null {},
        Instr::Append { list: 1 },
        Instr::Jump { to: 2 },
    ];
    assert_eq!(fault(&grows), FaultKind::OutOfMemory);
    // Tasks that nobody joins.
    let forks = [
        Instr::Tasks {},
        Instr::Fork { function: 1 },
        Instr::Jump { to: 1 },
    ];
    let mut machine = machine(&forks, &[&ASK]);
    let end = finish(&mut machine).outcome.expect_err("a fault").kind;
    assert!(matches!(
        end,
        FaultKind::TooManyTasks | FaultKind::OutOfMemory
    ));
}

#[test]
fn garbage_is_not_counted() {
    // Each round makes a text of a kilobyte and forgets it: far more than the memory in all.
    let mut code = vec![Instr::Int { value: 0 }, Instr::Store { local: 1 }];
    let top = code.len() as u32;
    code.extend([Instr::Text { text: 3 }; 255]);
    code.extend([
        Instr::Concat { parts: 255 },
        Instr::Pop {},
        Instr::Load { local: 1 },
        Instr::Int { value: 1 },
        Instr::Add {},
        Instr::IntOr { to: top + 266 },
        Instr::Store { local: 1 },
        Instr::Load { local: 1 },
        Instr::Int { value: 30_000 },
        Instr::Less {},
        Instr::JumpIf { to: top },
        Instr::Null {},
    ]);
    assert_eq!(code.len() as u32, top + 267);
    code[top as usize + 260] = Instr::IntOr { to: top + 267 };
    code.extend(RETURN);
    let mut machine = machine(&code, &[]);
    assert!(matches!(finish(&mut machine).outcome, Ok(Value::Null)));
}

#[test]
fn what_is_shadowed_comes_back_however_the_run_ends() {
    let (scope, set) = (0, |value, name| {
        [Instr::Int { value }, Instr::SetVar { scope: 0, name }]
    });
    let shadow = |name| [Instr::Shadow { scope, name }];
    let unshadow = |name| [Instr::Unshadow { scope, name }];
    let before = [
        &set(1, X)[..],
        &shadow(X),
        &set(2, X),
        &shadow(X),
        &set(3, X),
        &shadow(Y),
        &set(4, Y),
    ]
    .concat();
    let wait = [
        Instr::Int { value: 5 },
        Instr::Host { call: 1 },
        Instr::Pop {},
    ];
    let after = [
        &unshadow(Y)[..],
        &unshadow(X),
        &unshadow(X),
        &[Instr::Null {}],
    ]
    .concat();
    let code = [&before[..], &wait, &after, &RETURN].concat();
    let mut halted = machine(&code, &[]);
    assert!(matches!(halted.poll(), Poll::Call(_)));
    halted.halt("somebody said so");
    assert!(matches!(halted.poll(), Poll::Cancel { .. }));
    let mut whole = machine(&[&before[..], &after, &RETURN].concat(), &[]);
    for machine in [&mut halted, &mut whole] {
        let variables = finish(machine).variables;
        assert_eq!(json_text(&Value::Map(variables)), r#"{"x":1}"#);
    }
    let mut endless = machine(&[&shadow(X)[..], &[Instr::Jump { to: 0 }]].concat(), &[]);
    let fault = finish(&mut endless).outcome.expect_err("it has a limit");
    assert_eq!(fault.kind, FaultKind::TooDeep);
}

#[test]
fn slices_change_nothing_and_a_halt_closes_what_is_open() {
    let endless = [Instr::StepBegin { step: 0 }, Instr::Jump { to: 1 }];
    let mut whole = machine(&endless, &[]);
    assert!(matches!(whole.poll(), Poll::Note(Note::Begin { .. })));
    assert!(matches!(whole.poll(), Poll::Note(Note::End { .. })));
    let Poll::Done(finished) = whole.poll() else {
        panic!("it does not end");
    };
    assert_eq!(
        finished.outcome.map_err(|fault| fault.kind).err(),
        Some(FaultKind::OutOfFuel)
    );
    let mut sliced = machine(&endless, &[]);
    let begin = sliced.poll_within(1);
    assert!(matches!(begin, Some(Poll::Note(Note::Begin { .. }))));
    let rests = std::iter::from_fn(|| sliced.poll_within(1).is_none().then_some(()));
    assert!(rests.count() > 1);
    assert_eq!(sliced.used_fuel(), whole.used_fuel());
    let mut halted = machine(&endless, &[]);
    assert!(matches!(halted.poll(), Poll::Note(Note::Begin { .. })));
    assert!(halted.poll_within(1).is_none());
    halted.halt("somebody said so");
    let Poll::Note(Note::End { status, value, .. }) = halted.poll() else {
        panic!("what is open does not end");
    };
    assert_eq!(status, Status::Cancelled);
    assert!(matches!(value, Value::Failure(failure) if &*failure.message == "somebody said so"));
    let Poll::Done(finished) = halted.poll() else {
        panic!("it does not end");
    };
    assert!(matches!(finished.outcome, Ok(Value::Failure(failure))
        if failure.kind == FailureKind::Interrupted));
}

#[test]
fn the_items_of_a_list_have_a_bound_together() {
    let mut code = vec![Instr::Null {}, Instr::Store { local: 1 }];
    for _ in 0..3 {
        code.extend([Instr::Load { local: 1 }; 255]);
        code.extend([Instr::List { items: 255 }, Instr::Store { local: 1 }]);
    }
    code.extend([Instr::Null {}, Instr::Take { local: 0 }, Instr::Return {}]);
    let mut machine = machine(&code, &[]);
    let Poll::Done(finished) = machine.poll() else {
        panic!("it does not end");
    };
    let fault = finished.outcome.map_err(|fault| fault.kind).err();
    assert_eq!(fault, Some(FaultKind::OutOfMemory));
    // None of it was looked at that does not fit.
    assert!(machine.used_fuel() < LIMITS.memory / 24);
}
