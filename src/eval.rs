//! `rrc eval`: one condition, evaluated by the machine as a recipe's conditions are.

use crate::cli::{EvalArgs, Global};
use crate::values::Given;
use crate::{FAILED, OK, Streams, USAGE, plan};
use rrc_compiler::codes;
use rrc_compiler::diagnostic::{Diagnostic, Report};
use rrc_compiler::dialect;
use rrc_compiler::report::Fixes;
use rrc_compiler::source::Sources;
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::text::json_text;
use rrc_vm::value::Value;
use std::io;

pub fn eval(args: &EvalArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let Some(given) = Given::read(args.vars.as_deref(), &args.set, streams)? else {
        return Ok(USAGE);
    };
    let dialect = global.dialect().unwrap_or(dialect::ALL[0]);
    let variables = given.to(dialect.schema).clone();
    let mut sources = Sources::default();
    let mut report = Report::default();
    let names: Vec<&str> = variables.keys().map(|name| &**name).collect();
    let compiled = rrc_compiler::expression(
        &args.expression,
        dialect,
        &names,
        args.bool,
        &mut sources,
        &mut report,
    );
    // What is evaluated stands on the command line, where nothing can be mended.
    let show = |report: &Report, streams: &mut Streams<'_>| {
        plan::show_with(Fixes::Nobody, report, &sources, global, streams)
    };
    show(&report, streams)?;
    let Some(compiled) = compiled else {
        return Ok(FAILED);
    };
    let verified = match plan::admit("<expression>", compiled, global, streams)? {
        Ok(verified) => verified,
        Err(code) => return Ok(code),
    };
    let limits = verified.plan().limits;
    let spans = verified.plan().spans.clone();
    let mut machine = Machine::new(verified, variables, limits);
    let outcome = loop {
        // An expression asks for nothing, so it is done or has said something.
        match machine.poll() {
            Poll::Done(finished) => break finished.outcome,
            Poll::Idle => return Ok(FAILED),
            _ => {}
        }
    };
    let (message, at) = match outcome {
        Ok(Value::Failure(failure)) => (failure.message.to_string(), failure.at),
        Ok(value) => {
            writeln!(streams.out, "{}", json_text(&value))?;
            return Ok(OK);
        }
        Err(fault) => (fault.to_string(), fault.at),
    };
    let span = plan::span_of(&spans, at);
    let mut report = Report::default();
    report.add(Diagnostic::new(&codes::EVALUATION_FAILED, span, message));
    show(&report, streams)?;
    Ok(FAILED)
}
