//! Proof that a plan is safe to run.
//!
//! A plan may come from a file that anybody wrote. What passes here has tables that point at what
//! exists, and code whose every path keeps the stack, the locals and the linear kinds in order;
//! the machine relies on that and checks none of it again. The rules are read from the instruction
//! list: no instruction is named here, in `flow` neither. Whether a plan does what its author
//! meant, and how long it runs, is not known here.

mod flow;
mod known;
mod shape;
mod targets;

use crate::isa::Kind;
use crate::plan::{Const, Function, Place, Plan};
use crate::value::Value;
use std::fmt;

/// The highest a stack of one function may grow, without its locals.
pub const MAX_HEIGHT: usize = 1024;
/// How deep constants may nest.
pub const MAX_CONST_DEPTH: u16 = 128;
/// How large a constant may be when it is written out, and all defaults of inputs together, if the plan
/// itself is not larger: constants may stand in others many times, and a small file would otherwise stand
/// for an endless value. In bytes: those of texts, and for each part what a value takes.
pub const MAX_CONST_SIZE: u64 = 1 << 26;
/// The most fuel and bytes of memory that a plan may allow its run; the compiler allows all of it. More
/// would be a run that nobody sees an end of.
pub const MAX_FUEL: u64 = 20_000_000_000;
pub const MAX_MEMORY: u64 = 4 << 30;
const VALUE: u64 = size_of::<Value>() as u64;

/// A plan that was checked. Only [`verify`] makes one.
#[derive(Debug)]
pub struct Verified {
    plan: Plan,
    heights: Vec<u16>,
}

impl Verified {
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The highest the stack of a function can grow, without its locals.
    pub fn height(&self, function: u32) -> usize {
        self.heights.get(function as usize).map_or(0, |&h| h.into())
    }
}

/// Why a plan was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The function it is in; none if it is in a table.
    pub function: Option<u32>,
    /// An index into the code, or into the table that `what` names.
    pub at: u32,
    pub what: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.function {
            Some(function) => write!(
                f,
                "{} (function {function}, instruction {})",
                self.what, self.at
            ),
            None => write!(f, "{} (entry {})", self.what, self.at),
        }
    }
}

impl std::error::Error for Rejected {}

fn reject<T>(at: usize, what: impl Into<String>) -> Result<T, Rejected> {
    Err(Rejected {
        function: None,
        at: at as u32,
        what: what.into(),
    })
}

/// The plan, if it is safe to run.
pub fn verify(plan: Plan) -> Result<Verified, Rejected> {
    limits(&plan)?;
    texts(&plan)?;
    constants(&plan)?;
    functions(&plan)?;
    tables(&plan)?;
    let heights = flow::check(&plan)?;
    Ok(Verified { plan, heights })
}

fn limits(plan: &Plan) -> Result<(), Rejected> {
    if plan.limits.fuel == 0 || plan.limits.memory == 0 {
        return reject(0, "a limit of nothing lets nothing run");
    }
    if plan.limits.fuel > MAX_FUEL || plan.limits.memory > MAX_MEMORY {
        return reject(0, "a limit is higher than there is reason for");
    }
    Ok(())
}

fn texts(plan: &Plan) -> Result<(), Rejected> {
    let (all, mut last) = (&plan.texts.all, 0);
    for (id, &end) in plan.texts.ends.iter().enumerate() {
        if end < last || !all.is_char_boundary(end as usize) {
            return reject(
                id,
                "a text ends before it starts, or in the middle of a character",
            );
        }
        last = end;
    }
    if last as usize != all.len() {
        return reject(plan.texts.len(), "there are bytes after the last text");
    }
    for (what, id) in [("name", plan.name), ("dialect", plan.dialect)] {
        text(plan, 0, what, id)?;
    }
    Ok(())
}

/// Whether there is such a text, and its length.
#[inline]
fn text(plan: &Plan, at: usize, what: &str, id: u32) -> Result<u64, Rejected> {
    let ends = &plan.texts.ends;
    let Some(&end) = ends.get(id as usize) else {
        return reject(at, format!("the {what} is no text of the plan"));
    };
    let start = (id as usize)
        .checked_sub(1)
        .map_or(0, |before| ends[before]);
    Ok(u64::from(end.saturating_sub(start)))
}

fn constants(plan: &Plan) -> Result<(), Rejected> {
    let mut seen: Vec<(u16, u64)> = Vec::with_capacity(plan.constants.len());
    // Runs may not be shared without end, or a small file would stand for a huge constant.
    let mut parts_left = plan.parts.len();
    let most = MAX_CONST_SIZE.max(plan.texts.all.len() as u64 + plan.parts.len() as u64 * VALUE);
    for (id, constant) in plan.constants.iter().enumerate() {
        let (first, count, width) = match *constant {
            Const::Null | Const::Bool(_) | Const::Int(_) | Const::Float(_) => {
                seen.push((0, VALUE));
                continue;
            }
            Const::Text(value) => {
                let size = text(plan, id, "text of a constant", value)?;
                seen.push((0, VALUE + size));
                continue;
            }
            Const::List { first, count } => (first as usize, count as usize, 1),
            Const::Map { first, count } => (first as usize, count as usize, 2),
        };
        let run = count
            .checked_mul(width)
            .and_then(|size| Some((size, first.checked_add(size)?)))
            .and_then(|(size, end)| {
                parts_left = parts_left.checked_sub(size)?;
                plan.parts.get(first..end)
            });
        let Some(run) = run else {
            return reject(
                id,
                "a constant points outside of the parts, or shares too many of them",
            );
        };
        let (mut depth, mut size) = (0, VALUE);
        for pair in run.chunks_exact(width) {
            if let [key, _] = *pair {
                size += text(plan, id, "key of a constant", key)?;
            }
            let inner = pair.last().and_then(|&part| seen.get(part as usize));
            let Some(&(inner_depth, inner_size)) = inner else {
                return reject(id, "a part of a constant does not come before it");
            };
            depth = depth.max(inner_depth);
            size = size.saturating_add(inner_size);
        }
        if depth >= MAX_CONST_DEPTH {
            return reject(id, "a constant nests too deeply");
        }
        if size > most {
            return reject(id, "a constant is too large when written out");
        }
        seen.push((depth + 1, size));
    }
    let mut left = most;
    for (at, input) in plan.inputs.iter().enumerate() {
        let size = input.default.and_then(|id| seen.get(id as usize));
        let after = left.checked_sub(size.map_or(0, |&(_, size)| size));
        let Some(after) = after else {
            return reject(at, "the defaults of inputs are too large when written out");
        };
        left = after;
    }
    Ok(())
}

fn functions(plan: &Plan) -> Result<(), Rejected> {
    let mut expected = 0;
    for (id, function) in plan.functions.iter().enumerate() {
        text(plan, id, "name of a function", function.name)?;
        if function.start != expected || function.end <= function.start {
            return reject(
                id,
                "functions are not one after the other, or one has no code",
            );
        }
        expected = function.end;
        if function.params.len() > function.locals as usize || function.results.len() > 255 {
            return reject(
                id,
                "a function has more parameters than locals, or too many results",
            );
        }
        let kinds = || function.params.iter().chain(&function.results);
        if kinds().any(|kind| kind.is_linear()) {
            return reject(id, "a linear kind cannot pass a function's border");
        }
    }
    if expected as usize != plan.code.len() {
        return reject(
            plan.functions.len(),
            "the functions do not cover the code, or there is none",
        );
    }
    let entry = |f: &Function| f.params == [Kind::Map] && f.results == [Kind::Any, Kind::Map];
    if !plan.functions.first().is_some_and(entry) {
        return reject(0, "the first function is not `[map] -> [any, map]`");
    }
    Ok(())
}

fn tables(plan: &Plan) -> Result<(), Rejected> {
    let step = |at: usize, id: u32| {
        if id as usize >= plan.steps.len() {
            return reject(at, "a call or a need belongs to no step");
        }
        Ok(())
    };
    let place = |at: usize, place: Place| {
        if place.source as usize >= plan.sources.len() || place.start > place.end {
            return reject(at, "a place is in no source of the plan");
        }
        Ok(())
    };
    for (at, call) in plan.calls.iter().enumerate() {
        step(at, call.step)?;
        if u32::from(call.open) >> call.kind.params().len() != 0 {
            return reject(at, "a call leaves an argument open that it does not have");
        }
        if !matches!(
            plan.constants.get(call.fixed as usize),
            Some(Const::Map { .. })
        ) {
            return reject(at, "the fixed arguments of a call are no map");
        }
    }
    for (at, info) in plan.steps.iter().enumerate() {
        text(plan, at, "id of a step", info.id)?;
        place(at, info.place)?;
    }
    for (at, input) in plan.inputs.iter().enumerate() {
        text(plan, at, "name of an input", input.name)?;
        if input
            .default
            .is_some_and(|id| id as usize >= plan.constants.len())
        {
            return reject(at, "the default of an input is no constant of the plan");
        }
    }
    for (at, need) in plan.needs.iter().enumerate() {
        text(plan, at, "name of a need", need.name)?;
        step(at, need.step)?;
    }
    let mut least = 0;
    for (at, span) in plan.spans.iter().enumerate() {
        if span.from < least || span.from as usize >= plan.code.len() {
            return reject(at, "the spans are not in the order of the code");
        }
        least = span.from + 1;
        place(at, span.place)?;
    }
    for (at, source) in plan.sources.iter().enumerate() {
        text(plan, at, "name of a source", source.name)?;
    }
    Ok(())
}
