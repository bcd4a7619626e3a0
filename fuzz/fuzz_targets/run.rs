//! Generated plans verify, run to an end whatever is replied, and make the same run again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rrc_vm::generate::{self, Random};
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::{Verified, verify};
use std::rc::Rc;

fuzz_target!(|input: (u64, Vec<u8>)| {
    let (seed, replies) = input;
    let plan = generate::plan(&mut Random::new(seed));
    let plan = Rc::new(verify(plan).expect("what is generated verifies"));
    assert_eq!(drive(&plan, &replies), drive(&plan, &replies));
});

fn drive(plan: &Rc<Verified>, replies: &[u8]) -> Vec<String> {
    let mut machine = Machine::new(Rc::clone(plan), Map::default(), plan.plan().limits);
    let mut replies = replies.iter().copied();
    let mut said = Vec::new();
    let mut asked = Vec::new();
    loop {
        let poll = machine.poll();
        said.push(format!("{poll:?}"));
        match poll {
            Poll::Call(call) => asked.push(call.ticket),
            Poll::Timer { ticket, .. } => asked.push(ticket),
            Poll::Cancel { ticket } => asked.retain(|known| *known != ticket),
            Poll::Note(_) => {}
            Poll::Idle => {
                let choice = replies.next().unwrap_or(0) as usize;
                let ticket = asked.swap_remove(choice % asked.len());
                let reply = match replies.next().unwrap_or(0) % 5 {
                    0 => Value::Null,
                    1 => Value::Int(choice as i64),
                    2 => Value::text("[1, {\"a\": 2}]"),
                    3 => Value::list(vec![Value::Int(1), Value::text("b")]),
                    _ => Value::Bool(true),
                };
                machine
                    .resume(ticket, reply)
                    .expect("what is asked can be answered");
            }
            Poll::Done(_) => return said,
        }
    }
}
