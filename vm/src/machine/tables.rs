//! Texts and constants of the plan as values, made once each.

use super::Machine;
use crate::fault::FaultKind;
use crate::isa::Instr;
use crate::plan::{Const, Plan};
use crate::value::{Map, Value};
use std::rc::Rc;

impl Machine {
    #[inline]
    pub(super) fn text(&mut self, plan: &Plan, id: u32) -> Result<Rc<str>, FaultKind> {
        match self.texts.get(id as usize) {
            Some(Some(text)) => Ok(text.clone()),
            _ => self.make_text(plan, id),
        }
    }

    #[cold]
    pub(super) fn make_text(&mut self, plan: &Plan, id: u32) -> Result<Rc<str>, FaultKind> {
        let text: Rc<str> = name_of(plan, id).into();
        self.keep(text.len() as u64)?;
        if let Some(slot) = self.texts.get_mut(id as usize) {
            *slot = Some(text.clone());
        }
        Ok(text)
    }

    /// The fixed arguments of a call in the order of its parameters; null where it has none.
    pub(super) fn fixed(&mut self, plan: &Plan, host: u32) -> Result<Rc<[Value]>, FaultKind> {
        let Some(entry) = plan.calls.get(host as usize) else {
            return Ok(Rc::default());
        };
        if let Some(known) = self.fixed.get(&(entry.kind, entry.fixed)) {
            return Ok(Rc::clone(known));
        }
        let fields = match plan.constants.get(entry.fixed as usize) {
            Some(&Const::Map { first, count }) => run(plan, first, count as usize * 2),
            _ => &[],
        };
        let params = entry.kind.params().iter();
        let fixed = params.map(|name| {
            let mut fields = fields.chunks_exact(2);
            match fields.rfind(|field| name_of(plan, field[0]) == *name) {
                Some(field) => self.constant(plan, field[1]),
                None => Ok(Value::Null),
            }
        });
        let fixed: Rc<[Value]> = fixed.collect::<Result<_, _>>()?;
        let key = (entry.kind, entry.fixed);
        self.fixed.insert(key, Rc::clone(&fixed));
        Ok(fixed)
    }

    /// The field of this name, if the value is a map that has it.
    #[inline]
    pub(super) fn find<'v>(
        &mut self,
        plan: &Plan,
        value: &'v Value,
        name: u32,
    ) -> Result<Option<&'v Value>, FaultKind> {
        let Value::Map(fields) = value else {
            return Ok(None);
        };
        if let (Some(Some(text)), Some(&place)) = (
            self.texts.get(name as usize),
            self.places.get(name as usize),
        ) && let Some((found, field)) = fields.get_index(place as usize)
            && found == text
        {
            return Ok(Some(field));
        }
        self.search(plan, fields, name)
    }

    #[inline(never)]
    fn search<'v>(
        &mut self,
        plan: &Plan,
        fields: &'v Map,
        name: u32,
    ) -> Result<Option<&'v Value>, FaultKind> {
        let text = self.text(plan, name)?;
        let Some((place, _, field)) = fields.get_full(&text) else {
            return Ok(None);
        };
        if let Some(guess) = self.places.get_mut(name as usize) {
            *guess = place as u32;
        }
        Ok(Some(field))
    }

    #[inline]
    pub(super) fn constant(&mut self, plan: &Plan, id: u32) -> Result<Value, FaultKind> {
        match self.constants.get(id as usize) {
            Some(Some(value)) => Ok(value.clone()),
            _ => self.make_constant(plan, id),
        }
    }

    // Parts come before what they are part of and nest as deep as the verifier lets them, so
    // this ends.
    #[cold]
    pub(super) fn make_constant(&mut self, plan: &Plan, id: u32) -> Result<Value, FaultKind> {
        let value = match plan.constants.get(id as usize).copied() {
            None | Some(Const::Null) => Value::Null,
            Some(Const::Bool(value)) => Value::Bool(value),
            Some(Const::Int(value)) => Value::Int(value),
            Some(Const::Float(value)) => Value::Float(value),
            Some(Const::Text(text)) => Value::Text(self.text(plan, text)?),
            Some(Const::List { first, count }) => {
                let parts = run(plan, first, count as usize);
                self.keep(parts.len() as u64 * 24)?;
                let items = parts.iter().map(|&part| self.constant(plan, part));
                Value::list(items.collect::<Result<_, _>>()?)
            }
            Some(Const::Map { first, count }) => {
                let parts = run(plan, first, count as usize * 2);
                self.keep(parts.len() as u64 * 32)?;
                let mut fields = Map::default();
                for pair in parts.chunks_exact(2) {
                    let name = self.text(plan, pair[0])?;
                    fields.insert(name, self.constant(plan, pair[1])?);
                }
                Value::map(fields)
            }
        };
        if let Some(slot) = self.constants.get_mut(id as usize) {
            *slot = Some(value.clone());
        }
        Ok(value)
    }
}

/// A run of the parts of constants.
fn run(plan: &Plan, first: u32, size: usize) -> &[u32] {
    let first = first as usize;
    plan.parts.get(first..first + size).unwrap_or(&[])
}

#[inline]
pub(super) fn name_of(plan: &Plan, id: u32) -> &str {
    plan.texts.get(id).unwrap_or("")
}

/// The path of what is asked for here, as a message begins with it; nothing if it is not that of a
/// variable.
#[cold]
pub(super) fn path_to(plan: &Plan, at: u32) -> String {
    const LONGEST: usize = 64;
    let mut parts: Vec<String> = Vec::new();
    let mut place = at as usize;
    let before = |place: &mut usize| {
        *place = place.checked_sub(1)?;
        plan.code.get(*place).map(|word| word.instr())
    };
    let mut next = plan.code.get(place).map(|word| word.instr());
    while parts.len() < LONGEST {
        match next {
            Some(Instr::FieldOrFail { name } | Instr::FieldOrNull { name }) => {
                parts.push(format!(".{}", name_of(plan, name)));
            }
            Some(Instr::IndexOrFail {} | Instr::IndexOrNull {}) => match before(&mut place) {
                Some(Instr::Int { value }) => parts.push(format!("[{value}]")),
                _ => break,
            },
            Some(Instr::VarOrFail { name, .. } | Instr::VarOrNull { name, .. }) => {
                parts.push(name_of(plan, name).to_string());
                parts.reverse();
                return format!("`{}`: ", parts.concat());
            }
            _ => break,
        }
        next = before(&mut place);
    }
    String::new()
}

/// Parameters, first instruction and locals of a function.
pub(super) fn shape(plan: &Plan, function: u32) -> (usize, u32, usize) {
    let function = plan.functions.get(function as usize);
    function.map_or((0, 0, 0), |f| (f.params.len(), f.start, f.locals as usize))
}
