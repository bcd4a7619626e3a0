//! Bytes do not panic `decode`, `disassemble` and `verify`; what is decoded encodes to itself; and
//! what verifies runs to an end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rrc_vm::codec::{decode, encode, repair_checksums};
use rrc_vm::disasm::disassemble;
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::verify;

fuzz_target!(|bytes: &[u8]| {
    let _ = decode(bytes);
    let mut repaired = bytes.to_vec();
    repair_checksums(&mut repaired);
    let Ok(mut plan) = decode(&repaired) else {
        return;
    };
    assert_eq!(encode(&plan), repaired);
    disassemble(&plan);
    plan.limits.fuel = plan.limits.fuel.min(20_000);
    plan.limits.memory = plan.limits.memory.min(1 << 22);
    let limits = plan.limits;
    let Ok(plan) = verify(plan) else {
        return;
    };
    let mut machine = Machine::new(plan, Map::default(), limits);
    let mut asked = Vec::new();
    loop {
        match machine.poll() {
            Poll::Call(call) => asked.push(call.ticket),
            Poll::Timer { ticket, .. } => asked.push(ticket),
            Poll::Cancel { ticket } => asked.retain(|known| *known != ticket),
            Poll::Note(_) => {}
            Poll::Idle => {
                let ticket = asked.pop().expect("an idle machine waits for something");
                machine
                    .resume(ticket, Value::Null)
                    .expect("what is asked can be answered");
            }
            Poll::Done(_) => break,
        }
    }
});
