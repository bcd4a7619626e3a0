//! `rrc disasm`: a plan as text.

use crate::cli::{DisasmArgs, Global};
use crate::{OK, Streams, plan};
use rrc_vm::disasm::disassemble;
use std::io;

pub fn disasm(args: &DisasmArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let path = args.plan.to_string_lossy();
    match plan::read(&path, global, streams)? {
        Ok(plan) => {
            streams.out.write_all(disassemble(&plan).as_bytes())?;
            Ok(OK)
        }
        Err(code) => Ok(code),
    }
}
