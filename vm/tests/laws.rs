//! The laws of plans and machines, small and seeded. `fuzz/` runs them without end.
//!
//! Bytes do not panic `decode`; what is decoded is what was encoded; what is generated verifies;
//! what verifies runs without a panic, stops within its fuel and makes the same run again; every
//! step that begins ends once, and whatever is asked for is answered or cancelled.

use rrc_vm::codec::{DecodeFailure, decode, encode, repair_checksums};
use rrc_vm::disasm::disassemble;
use rrc_vm::fault::{Failure, FailureKind, FaultKind};
use rrc_vm::generate::{self, Random};
use rrc_vm::isa::{INSTRUCTIONS, Role};
use rrc_vm::machine::{Finished, Machine, Note, Poll, Stray, Ticket};
use rrc_vm::plan::Plan;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::{Verified, verify};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

const PROGRAMS: u64 = 20_000;

fn data(random: &mut Random, deeper: usize) -> Value {
    match random.below(if deeper == 0 { 7 } else { 10 }) {
        0 => Value::Null,
        1 => Value::Bool(random.once_in(2)),
        2 => Value::Int(random.below(5) as i64 - 1),
        3 => Value::Int(random.next() as i64),
        4 => Value::Float(f64::from_bits(random.next())),
        5 => Value::text(["", "7", "true", "{\"a\": [1]}", "it's\nEOF\n"][random.below(5)]),
        6 => Value::Bytes(vec![random.next() as u8; random.below(40)].into()),
        7 => Value::list(
            (0..random.below(5))
                .map(|_| data(random, deeper - 1))
                .collect(),
        ),
        _ => Value::map(fields(random, deeper - 1)),
    }
}

fn fields(random: &mut Random, deeper: usize) -> Map {
    let name = |random: &mut Random| ["a", "b", "c", "x y", "ü"][random.below(5)].into();
    (0..random.below(5))
        .map(|_| (name(random), data(random, deeper)))
        .collect()
}

fn reply(random: &mut Random) -> Value {
    if random.once_in(4) {
        let kind = FailureKind::ALL[random.below(FailureKind::ALL.len())];
        return Value::Failure(Rc::new(Failure {
            kind,
            message: kind.sentence().into(),
            data: data(random, 2),
            at: 77,
        }));
    }
    data(random, 3)
}

/// What a driver saw of a run.
#[derive(Default)]
struct Seen {
    said: Vec<String>,
    calls: usize,
    finished: Option<Finished>,
    executed: Vec<bool>,
}

/// Drive a machine with replies in any order, some of them wrong or late, and check what it says.
fn drive(plan: &Rc<Verified>, seed: u64, keep: bool) -> Seen {
    let mut random = Random::new(seed);
    let limits = plan.plan().limits;
    let mut machine = Machine::new(Rc::clone(plan), fields(&mut random, 2), limits);
    let mut seen = Seen::default();
    let mut asked: BTreeMap<Ticket, bool> = BTreeMap::new();
    let mut answered = HashSet::new();
    let mut cancelled = Vec::new();
    let mut open = HashSet::new();
    loop {
        let poll = machine.poll();
        if keep {
            seen.said.push(format!("{poll:?}"));
        }
        match poll {
            Poll::Call(call) => {
                let entry = &plan.plan().calls[call.host as usize];
                assert_eq!(call.args.len(), entry.kind.params().len());
                assert!(call.record.is_none_or(|record| open.contains(&record)));
                assert!(asked.insert(call.ticket, false).is_none());
                seen.calls += 1;
            }
            Poll::Timer { ticket, .. } => assert!(asked.insert(ticket, true).is_none()),
            Poll::Cancel { ticket } => {
                assert!(
                    asked.remove(&ticket).is_some(),
                    "what was asked is cancelled"
                );
                cancelled.push(ticket);
            }
            Poll::Note(note) => match note {
                Note::Begin {
                    record,
                    parent,
                    step,
                    ..
                } => {
                    assert!((step as usize) < plan.plan().steps.len());
                    assert!(parent.is_none_or(|parent| open.contains(&parent)));
                    assert!(open.insert(record), "a step begins once");
                }
                Note::End { record, .. } => assert!(open.remove(&record), "a step ends once"),
                Note::Attempt { record, number } => {
                    assert!(open.contains(&record) && number >= 2);
                }
                Note::Output { record, .. } => assert!(open.contains(&record)),
                Note::Warn { record, .. } => {
                    assert!(record.is_none_or(|record| open.contains(&record)));
                }
                Note::Secret { .. } => {}
                Note::Skip { parent, .. } => {
                    assert!(parent.is_none_or(|parent| open.contains(&parent)));
                }
            },
            Poll::Idle => {
                assert!(!asked.is_empty(), "an idle machine waits for something");
                let index = random.below(asked.len());
                let ticket = asked
                    .keys()
                    .nth(index)
                    .copied()
                    .expect("the index is below the length");
                if random.once_in(6) {
                    let stray = machine.resume(Ticket(u64::MAX - 3), Value::Null);
                    assert_eq!(stray, Err(Stray::Unknown));
                    if asked[&ticket] {
                        continue;
                    }
                    let wrong = Value::list(vec![Value::Tasks(0), Value::Step(0)]);
                    assert_eq!(machine.resume(ticket, wrong), Err(Stray::NoData));
                }
                if random.once_in(3)
                    && let Some(late) = cancelled.pop()
                {
                    assert_eq!(machine.resume(late, reply(&mut random)), Ok(()));
                    assert_eq!(machine.resume(late, Value::Null), Err(Stray::Unknown));
                }
                asked.remove(&ticket);
                answered.insert(ticket);
                assert_eq!(machine.resume(ticket, reply(&mut random)), Ok(()));
                assert_eq!(machine.resume(ticket, Value::Null), Err(Stray::Unknown));
            }
            Poll::Done(finished) => {
                assert!(open.is_empty(), "every step that begins ends");
                assert!(asked.is_empty(), "what is asked is answered or cancelled");
                assert!(machine.used_fuel() <= limits.fuel);
                if let Err(fault) = &finished.outcome {
                    assert_ne!(fault.kind, FaultKind::Deadlock);
                }
                seen.finished = Some(finished);
                break;
            }
        }
    }
    #[cfg(debug_assertions)]
    {
        seen.executed = machine.executed().to_vec();
    }
    seen
}

fn generated(seed: u64) -> Plan {
    generate::plan(&mut Random::new(seed))
}

#[test]
fn bytes_do_not_panic_decode() {
    let mut random = Random::new(1);
    let whole = encode(&generated(1));
    for round in 0..20_000 {
        let mut bytes: Vec<u8> = (0..random.below(300))
            .map(|_| random.next() as u8)
            .collect();
        if round % 2 == 0 {
            let kept = random.below(whole.len());
            bytes.splice(0..0, whole[..kept].iter().copied());
            repair_checksums(&mut bytes);
        }
        if let Ok(plan) = decode(&bytes) {
            assert_eq!(encode(&plan), bytes);
        }
    }
}

#[test]
fn what_is_not_a_plan_says_why() {
    let bytes = encode(&generated(3));
    let why = |bytes: &[u8]| decode(bytes).expect_err("it is damaged").what;
    assert_eq!(why(b"#!/bin/sh\n"), DecodeFailure::Foreign);
    assert_eq!(why(b"RR"), DecodeFailure::Truncated);
    for end in 4..bytes.len() {
        assert_eq!(why(&bytes[..end]), DecodeFailure::Truncated);
    }
    let mut other = bytes.clone();
    other[4] = 9;
    assert_eq!(why(&other), DecodeFailure::Version(9));
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(why(&longer), DecodeFailure::Layout);
    for at in 12..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let what = why(&damaged);
        assert!(
            matches!(what, DecodeFailure::Checksum(_) | DecodeFailure::Layout),
            "byte {at}: {what:?}"
        );
    }
}

#[test]
fn generated_programs_verify_and_run_to_an_end() {
    let (mut with_calls, mut with_tasks, mut finished) = (0, 0, 0);
    let mut executed = [false; 256];
    let forks: Vec<u8> = INSTRUCTIONS
        .iter()
        .filter(|info| {
            info.operands
                .iter()
                .any(|(_, role)| *role == Role::TaskFunc)
        })
        .map(|info| info.byte)
        .collect();
    for seed in 0..PROGRAMS {
        let plan = generated(seed);
        let bytes = encode(&plan);
        let again = decode(&bytes).expect("what was encoded is decoded");
        assert_eq!(again, plan, "seed {seed}");
        assert_eq!(encode(&again), bytes, "seed {seed}");
        let plan = match verify(again) {
            Ok(plan) => Rc::new(plan),
            Err(why) => panic!("seed {seed}: {why}\n{}", disassemble(&plan)),
        };
        let seen = drive(&plan, seed, false);
        with_calls += u64::from(seen.calls > 0);
        let forked = |byte: &u8| seen.executed.get(*byte as usize).copied().unwrap_or(true);
        with_tasks += u64::from(forks.iter().any(forked));
        finished += u64::from(
            seen.finished
                .is_some_and(|finished| finished.outcome.is_ok()),
        );
        executed
            .iter_mut()
            .zip(&seen.executed)
            .for_each(|(all, here)| *all |= here);
    }
    let percent = |count: u64| count * 100 / PROGRAMS;
    println!(
        "calls {} %, tasks {} %, finished {} %",
        percent(with_calls),
        percent(with_tasks),
        percent(finished)
    );
    assert!(
        percent(with_calls) >= 30,
        "{with_calls} programs ask for something"
    );
    assert!(percent(with_tasks) >= 30, "{with_tasks} programs fork");
    assert!(
        percent(finished) >= 30,
        "{finished} programs come to their end"
    );
    if cfg!(debug_assertions) {
        let missed = INSTRUCTIONS
            .iter()
            .filter(|info| !executed[info.byte as usize]);
        let missed: Vec<_> = missed.map(|info| info.mnemonic).collect();
        assert!(missed.is_empty(), "never executed: {missed:?}");
    }
}

#[test]
fn the_same_replies_make_the_same_run() {
    for seed in 0..1500 {
        let plan = Rc::new(verify(generated(seed)).expect("what is generated verifies"));
        let (once, twice) = (drive(&plan, seed, true), drive(&plan, seed, true));
        assert_eq!(once.said, twice.said, "seed {seed}");
    }
}

#[test]
fn a_damaged_plan_is_rejected_or_runs() {
    let mut random = Random::new(5);
    let (mut decoded, mut ran) = (0, 0);
    for seed in 0..12 {
        let bytes = encode(&generated(seed));
        for at in 12..bytes.len() {
            for _ in 0..3 {
                let mut damaged = bytes.clone();
                damaged[at] = match random.below(3) {
                    0 => damaged[at] ^ 1 << random.below(8),
                    1 => damaged[at].wrapping_add(1),
                    _ => random.next() as u8,
                };
                try_damaged(damaged, &mut random, &mut decoded, &mut ran);
            }
        }
    }
    for seed in 0..6000 {
        let mut damaged = encode(&generated(seed));
        for _ in 0..1 + random.below(4) {
            let at = 12 + random.below(damaged.len() - 12);
            damaged[at] = random.next() as u8;
        }
        try_damaged(damaged, &mut random, &mut decoded, &mut ran);
    }
    println!("decoded {decoded}, ran {ran}");
    assert!(
        decoded > 10_000 && ran > 1000,
        "{decoded} decoded, {ran} ran"
    );
}

fn try_damaged(mut damaged: Vec<u8>, random: &mut Random, decoded: &mut usize, ran: &mut usize) {
    repair_checksums(&mut damaged);
    let Ok(mut plan) = decode(&damaged) else {
        return;
    };
    *decoded += 1;
    assert_eq!(encode(&plan), damaged);
    if random.once_in(10) {
        disassemble(&plan);
    }
    // A damaged limit may let it run for years; that it may is not in question.
    plan.limits.fuel = plan.limits.fuel.min(20_000);
    plan.limits.memory = plan.limits.memory.min(1 << 22);
    if let Ok(plan) = verify(plan) {
        *ran += 1;
        drive(&Rc::new(plan), random.next(), false);
    }
}

#[test]
fn a_machine_can_be_started_again() {
    for seed in 0..300 {
        let plan = Rc::new(verify(generated(seed)).expect("what is generated verifies"));
        let limits = plan.plan().limits;
        let mut machine = Machine::new(Rc::clone(&plan), Map::default(), limits);
        let first = format!("{:?}", machine.poll());
        machine.poll();
        machine.restart(Map::default());
        assert_eq!(format!("{:?}", machine.poll()), first, "seed {seed}");
    }
}
