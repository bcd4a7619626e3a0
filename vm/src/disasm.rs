//! A plan as text for people: complete, stable, and never a reason to stop.
//!
//! Takes plans that nobody verified, so that a rejected one can be looked at; what an operand
//! points at is shown where it exists and marked where it does not. Knows the instructions only
//! through their list.

use crate::isa::{Builtin, Role, Status, Word};
use crate::plan::{Const, Function, Place, Plan};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// How deep a constant is written out; a plan that was not verified may point in circles.
const DEEPEST: usize = 8;
/// How many bytes of a constant are written out where it is used; its own line has all of it.
const LONGEST: usize = 120;

/// All of a plan. A line per entry of each table, then the functions.
pub fn disassemble(plan: &Plan) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    tables(plan, &mut out).unwrap_or(());
    for (id, function) in plan.functions.iter().enumerate() {
        code(plan, id, function, &mut out).unwrap_or(());
    }
    out
}

fn tables(plan: &Plan, out: &mut String) -> std::fmt::Result {
    let limits = &plan.limits;
    writeln!(
        out,
        "plan {} dialect {}",
        text(plan, plan.name),
        text(plan, plan.dialect)
    )?;
    writeln!(
        out,
        "limits fuel {} memory {} steps {} depth {}",
        limits.fuel, limits.memory, limits.steps, limits.depth
    )?;
    for (id, constant) in plan.constants.iter().enumerate() {
        if let Const::List { .. } | Const::Map { .. } = constant {
            let mut line = String::new();
            write_constant(plan, id as u32, 1, usize::MAX, &mut line);
            writeln!(out, "const {line}")?;
        }
    }
    for (id, source) in plan.sources.iter().enumerate() {
        write!(out, "source {id} {} ", text(plan, source.name))?;
        for byte in source.hash {
            write!(out, "{byte:02x}")?;
        }
        writeln!(out)?;
    }
    for input in &plan.inputs {
        write!(out, "input {}", text(plan, input.name))?;
        match input.default {
            Some(default) => writeln!(out, " = {}", constant(plan, default))?,
            None => writeln!(out, " required")?,
        }
    }
    for need in &plan.needs {
        let name = text(plan, need.name);
        writeln!(
            out,
            "need {} {name} for {}",
            need.kind.word(),
            step(plan, need.step)
        )?;
    }
    for (id, info) in plan.steps.iter().enumerate() {
        let id_text = text(plan, info.id);
        let place = place(plan, info.place);
        writeln!(out, "step {id} {id_text} {} ; {place}", info.kind.word())?;
    }
    for (id, call) in plan.calls.iter().enumerate() {
        let open = call.kind.params().iter().enumerate();
        let open = open.filter(|(number, _)| call.open >> number & 1 == 1);
        let open: Vec<&str> = open.map(|(_, name)| *name).collect();
        writeln!(
            out,
            "call {id} {}({}) fixed {} for {}",
            call.kind.word(),
            open.join(", "),
            constant(plan, call.fixed),
            step(plan, call.step)
        )?;
    }
    Ok(())
}

fn code(plan: &Plan, id: usize, function: &Function, out: &mut String) -> std::fmt::Result {
    let kinds = |kinds: &[crate::isa::Kind]| -> String {
        kinds
            .iter()
            .map(|kind| kind.name())
            .collect::<Vec<_>>()
            .join(" ")
    };
    writeln!(
        out,
        "\nfunction {id} {} [{}] -> [{}] locals {}",
        text(plan, function.name),
        kinds(&function.params),
        kinds(&function.results),
        function.locals
    )?;
    let end = (function.end as usize).min(plan.code.len());
    let start = (function.start as usize).min(end);
    let mut targets = BTreeSet::new();
    for word in &plan.code[start..end] {
        let operands = word.info().operands.iter().zip(word.values());
        let labels = operands.filter(|((_, role), _)| *role == Role::Label);
        targets.extend(labels.map(|(_, value)| value));
    }
    let first = plan
        .spans
        .partition_point(|span| (span.from as usize) < start);
    let mut spans = plan.spans.get(first..).unwrap_or(&[]).iter().peekable();
    if spans.peek().is_none_or(|span| span.from as usize != start)
        && let Some(span) = first
            .checked_sub(1)
            .and_then(|before| plan.spans.get(before))
    {
        writeln!(out, "  ; {}", place(plan, span.place))?;
    }
    for (at, &word) in (start..).zip(&plan.code[start..end]) {
        while let Some(span) = spans.next_if(|span| span.from as usize <= at) {
            writeln!(out, "  ; {}", place(plan, span.place))?;
        }
        if targets.contains(&(at as u32)) {
            writeln!(out, "L{at}:")?;
        }
        writeln!(out, "  {at:5}  {}", instruction(plan, word))?;
    }
    Ok(())
}

/// One instruction with its operands resolved.
pub fn instruction(plan: &Plan, word: Word) -> String {
    let info = word.info();
    let mut line = info.mnemonic.to_owned();
    for (&(_, role), value) in info.operands.iter().zip(word.values()) {
        line.push(' ');
        line.push_str(&match role {
            Role::Text => text(plan, value),
            Role::Const => constant(plan, value),
            Role::Label => format!("L{value}"),
            Role::Func | Role::TaskFunc => match plan.functions.get(value as usize) {
                Some(function) => format!("{value}:{}", text(plan, function.name)),
                None => missing("function", value),
            },
            Role::Host => match plan.calls.get(value as usize) {
                Some(call) => format!("{value}:{}", call.kind.word()),
                None => missing("call", value),
            },
            Role::Step => step(plan, value),
            Role::ReadLocal | Role::TakeLocal | Role::WriteLocal | Role::LocalOf(_) => {
                format!("${value}")
            }
            Role::Count => value.to_string(),
            Role::Int => (value as i32).to_string(),
            Role::Builtin => match Builtin::from_byte(value as u8) {
                Some(builtin) => builtin.info().name.to_owned(),
                None => missing("builtin", value),
            },
            Role::Status => match Status::from_byte(value as u8) {
                Some(status) => status.word().to_owned(),
                None => missing("status", value),
            },
        });
    }
    line
}

fn missing(what: &str, id: u32) -> String {
    format!("<no {what} {id}>")
}

fn text(plan: &Plan, id: u32) -> String {
    match plan.texts.get(id) {
        Some(text) => format!("{text:?}"),
        None => missing("text", id),
    }
}

fn step(plan: &Plan, id: u32) -> String {
    match plan.steps.get(id as usize) {
        Some(step) => text(plan, step.id),
        None => missing("step", id),
    }
}

fn place(plan: &Plan, place: Place) -> String {
    let source = match plan.sources.get(place.source as usize) {
        Some(source) => text(plan, source.name),
        None => missing("source", place.source),
    };
    format!("{source} {}..{}", place.start, place.end)
}

fn constant(plan: &Plan, id: u32) -> String {
    let mut out = String::new();
    write_constant(plan, id, DEEPEST, LONGEST, &mut out);
    out
}

/// A constant, so many levels deep; what is deeper is named by its number.
fn write_constant(plan: &Plan, id: u32, levels: usize, longest: usize, out: &mut String) {
    let Some(&constant) = plan.constants.get(id as usize) else {
        out.push_str(&missing("constant", id));
        return;
    };
    let (first, count, width, (open, close)) = match constant {
        Const::Null => return out.push_str("null"),
        Const::Bool(value) => return out.push_str(if value { "true" } else { "false" }),
        Const::Int(value) => return out.push_str(&value.to_string()),
        Const::Float(value) => return out.push_str(&format!("{value:?}")),
        Const::Text(value) => return out.push_str(&text(plan, value)),
        Const::List { first, count } => (first as usize, count as usize, 1, ('[', ']')),
        Const::Map { first, count } => (first as usize, count as usize, 2, ('{', '}')),
    };
    out.push_str(&format!("#{id}"));
    let end = first.saturating_add(count.saturating_mul(width));
    let Some(parts) = plan.parts.get(first..end) else {
        out.push_str("<no such parts>");
        return;
    };
    if levels == 0 {
        return;
    }
    out.push(open);
    for (number, pair) in parts.chunks_exact(width).enumerate() {
        if number > 0 {
            out.push_str(", ");
        }
        if out.len() > longest {
            out.push('…');
            break;
        }
        if let [key, _] = *pair {
            out.push_str(&text(plan, key));
            out.push_str(": ");
        }
        if let Some(&part) = pair.last() {
            write_constant(plan, part, levels - 1, longest, out);
        }
    }
    out.push(close);
}
