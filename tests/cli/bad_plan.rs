//! A plan file is untrusted input, whoever wrote it.

use crate::GOOD;
use crate::binary::Folder;
use rrc_vm::codec;
use rrc_vm::plan::{Const, Input};
use rrc_vm::verify::verify;

fn built(text: &str) -> (Folder, Vec<u8>) {
    let folder = Folder::with("a.yaml", text);
    folder.rrc(&["build", "a.yaml"]).go().exits(0);
    let bytes = folder.bytes("a.rrb");
    (folder, bytes)
}

/// Neither `run` nor `disasm` takes it.
#[track_caller]
fn refused(folder: &Folder, bytes: &[u8], code: &str) {
    folder.write("bad.rrb", bytes);
    for command in ["run", "disasm"] {
        let said = folder.bounded(&[command, "bad.rrb"]).go().exits(2).no_out();
        assert!(
            said.err.contains(code) && said.err.contains("bad.rrb"),
            "{said:?}"
        );
    }
}

#[test]
fn a_plan_that_ends_early() {
    let (folder, bytes) = built(GOOD);
    for length in 0..bytes.len() {
        assert!(codec::decode(&bytes[..length]).is_err(), "{length}");
    }
    for length in [0, 1, 3, 4, 11, 12, 40, bytes.len() / 2, bytes.len() - 1] {
        refused(&folder, &bytes[..length], "RRC0701");
    }
    let mut longer = bytes;
    longer.push(0);
    refused(&folder, &longer, "RRC0701");
}

#[test]
fn a_file_that_is_no_plan() {
    let folder = Folder::new();
    refused(&folder, GOOD.as_bytes(), "RRC0701");
    refused(&folder, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "RRC0701");
    refused(&folder, b"\x7fELF", "RRC0701");
    refused(&folder, &[0; 4096], "RRC0701");
}

#[test]
fn a_plan_of_another_version() {
    let (folder, mut bytes) = built(GOOD);
    for version in [0u32, codec::VERSION + 1, 7, u32::MAX] {
        bytes[4..8].copy_from_slice(&version.to_le_bytes());
        codec::repair_checksums(&mut bytes);
        refused(&folder, &bytes, "RRC0702");
    }
}

/// Recipes whose plans hold every table: loops, conditions, retries, inputs, environment.
const RICH: &str = "\
name: rich
version: 1.0.0
description: d
context: {list: [a, 2, {k: v}], n: 1.5}
steps:
  - {id: a, type: bash, command: 'true {{n}}', output: o, env: {A: '{{n}}'}, retry: {max_attempts: 2}}
  - {id: b, type: bash, command: 'true', foreach: '{{list}}', collect: c, parallel: 2}
  - {id: c, type: bash, command: 'true', condition: \"{{n}} > 1 and 'x' not in {{o}}\", on_error: continue}
";

#[test]
fn a_plan_with_a_byte_that_is_not_as_it_was_written() {
    let (folder, bytes) = built(RICH);
    let flipped = |at: usize, mask: u8| {
        let mut copy = bytes.clone();
        copy[at] ^= mask;
        copy
    };
    // Behind its checksums nothing is believed; all of it in here, some of it as a user would.
    for at in 0..bytes.len() {
        assert!(codec::decode(&flipped(at, 0x10)).is_err(), "byte {at}");
    }
    for at in (0..bytes.len()).step_by(bytes.len() / 25) {
        refused(&folder, &flipped(at, 0xff), "RRC070");
    }
}

#[test]
fn a_plan_that_somebody_patched_with_care() {
    let (folder, bytes) = built(RICH);
    let mut accepted = 0;
    for at in 12..bytes.len() {
        for mask in [1, 0x80, 0xff] {
            let mut copy = bytes.clone();
            copy[at] ^= mask;
            codec::repair_checksums(&mut copy);
            if let Ok(plan) = codec::decode(&copy) {
                accepted += usize::from(verify(plan).is_ok());
            }
        }
    }
    assert!(
        accepted > 0,
        "some bytes are texts and numbers that may be anything"
    );
    for at in (12..bytes.len()).step_by(bytes.len() / 40) {
        let mut copy = bytes.clone();
        copy[at] ^= 1;
        codec::repair_checksums(&mut copy);
        folder.write("bad.rrb", &copy);
        let said = folder.bounded(&["run", "bad.rrb"]).go();
        assert!(
            matches!(said.code, Some(0..=2)) && !said.err.contains("panicked"),
            "byte {at}: {said:?}"
        );
        let said = folder.bounded(&["disasm", "bad.rrb"]).go();
        assert!(
            matches!(said.code, Some(0 | 2)) && !said.err.contains("panicked"),
            "byte {at}: {said:?}"
        );
    }
}

/// A list of lists, each twice the one before it: a kilobyte that stands for more than there is.
#[test]
fn a_plan_with_a_value_that_grows_without_end() {
    let (folder, bytes) = built(GOOD);
    let mut plan = codec::decode(&bytes).unwrap();
    let mut before = u32::try_from(plan.constants.len()).unwrap();
    plan.constants.push(Const::Int(1));
    for _ in 0..100 {
        let first = u32::try_from(plan.parts.len()).unwrap();
        plan.parts.extend([before, before]);
        plan.constants.push(Const::List { first, count: 2 });
        before += 1;
    }
    plan.inputs.push(Input {
        name: plan.name,
        default: Some(before),
    });
    folder.write("bomb.rrb", codec::encode(&plan));
    for format in ["text", "json", "events"] {
        let args = ["run", "bomb.rrb", "--output-format", format];
        folder.bounded(&args).go().exits(2).err_has("RRC0703");
    }
    folder.bounded(&["disasm", "bomb.rrb"]).go().exits(0);
}

/// The same to a size that one default may have, and shared by as many as there are.
#[test]
fn a_plan_with_a_value_that_many_share() {
    let (folder, bytes) = built(GOOD);
    for (depth, inputs, code) in [(20, 1, 0), (20, 40, 2), (21, 1, 2)] {
        let mut plan = codec::decode(&bytes).unwrap();
        let mut before = u32::try_from(plan.constants.len()).unwrap();
        plan.constants.push(Const::Int(1));
        for _ in 0..depth {
            let first = u32::try_from(plan.parts.len()).unwrap();
            plan.parts.extend([before, before]);
            plan.constants.push(Const::List { first, count: 2 });
            before += 1;
        }
        for number in 0..inputs {
            plan.inputs.push(Input {
                name: plan.texts.add(&format!("v{number}")),
                default: Some(before),
            });
        }
        folder.write("shared.rrb", codec::encode(&plan));
        let args = ["run", "shared.rrb", "--validate-only"];
        let said = folder.bounded(&args).go().exits(code);
        assert_eq!(said.err.contains("RRC0703"), code == 2, "{said:?}");
    }
}

#[test]
fn check_of_a_plan_says_what_it_is() {
    let folder = Folder::with("a.yaml", GOOD);
    folder.rrc(&["build", "-q", "a.yaml"]).go().exits(0);
    let said = folder.rrc(&["check", "a.rrb"]).go();
    assert_eq!(
        said.out,
        "error[RRC0002] not-utf8: this is a plan
   ──[ a.rrb:1:1 ]
   help: it has been checked; `rrc run` runs it, and `rrc disasm` shows what is in it

"
    );
}
