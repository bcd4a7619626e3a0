//! What a run may use: fuel for work, bytes for memory.
//!
//! Fuel is charged for each instruction and for each 64 bytes that it reads as a whole or makes.
//! Memory is not counted as it comes and goes: bytes made are added up, and when they could exceed
//! the limit a census of everything alive finds out whether they do. A census costs what is alive
//! and happens after an eighth of the limit at the earliest, so its cost spreads thin; memory can
//! exceed its limit by that eighth and by one value.

use super::Machine;
use crate::fault::FaultKind;
use crate::task::{Member, Task};
use crate::value::Value;
use crate::weight::{Census, Unfit, Weight, weigh};

impl Machine {
    /// Set aside all fuel but a slice of it.
    pub(super) fn begin_slice(&mut self, slice: u64) {
        let all = self.fuel + self.reserve;
        self.fuel = all.min(slice);
        self.reserve = all - self.fuel;
    }

    /// Charge for an instruction that is about to run; whether it has to wait for another slice.
    #[inline]
    pub(super) fn is_slice_over(&mut self, fuel: u64) -> Result<bool, FaultKind> {
        match self.fuel.checked_sub(fuel) {
            Some(left) => {
                self.fuel = left;
                Ok(false)
            }
            None if self.reserve > 0 => Ok(true),
            None => self.charge(fuel).map(|()| false),
        }
    }

    #[inline]
    pub(super) fn charge(&mut self, fuel: u64) -> Result<(), FaultKind> {
        match self.fuel.checked_sub(fuel) {
            Some(left) => {
                self.fuel = left;
                Ok(())
            }
            None => self.charge_reserve(fuel),
        }
    }

    /// An instruction that has begun comes to its end, whatever is left of the slice.
    #[cold]
    fn charge_reserve(&mut self, fuel: u64) -> Result<(), FaultKind> {
        let all = self.fuel + self.reserve;
        self.fuel = 0;
        self.reserve = all.saturating_sub(fuel);
        match all < fuel {
            true => Err(FaultKind::OutOfFuel),
            false => Ok(()),
        }
    }

    /// Charge for bytes that are about to be made.
    #[inline]
    pub(super) fn produce(&mut self, bytes: u64) -> Result<(), FaultKind> {
        self.keep(bytes)?;
        self.produced = self.produced.saturating_add(bytes);
        self.charge(bytes >> 6)
    }

    /// Charge for reading all of a value; its bytes when written out.
    #[inline]
    pub(super) fn read(&mut self, value: &Value) -> Result<u64, FaultKind> {
        let bytes = match value {
            Value::Text(text) => text.len() as u64,
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(_) | Value::Map(_) => self.weigh(value)?.bytes,
            _ => return Ok(24),
        };
        self.charge(bytes >> 6)?;
        Ok(bytes)
    }

    /// Look at what is made once and kept for later runs: it costs no fuel, or a run would cost more
    /// than the one after it. The census counts all of it, made or not, for the same reason.
    pub(super) fn keep(&self, bytes: u64) -> Result<(), FaultKind> {
        match bytes > self.limits.memory {
            true => Err(FaultKind::OutOfMemory),
            false => Ok(()),
        }
    }

    /// Charge for putting a value into a list or a map.
    #[inline]
    pub(super) fn nest(&mut self, value: &Value) -> Result<(), FaultKind> {
        if matches!(value, Value::List(_) | Value::Map(_)) {
            let nodes = self.weigh(value)?.nodes;
            self.charge(nodes >> 2)?;
        }
        self.produce(24)
    }

    /// The same for all items of a list: together they are no heavier than one may be, so that the work of
    /// one instruction has a bound.
    pub(super) fn nest_all(&mut self, items: &[Value]) -> Result<(), FaultKind> {
        let mut bytes = 0;
        for item in items {
            if matches!(item, Value::List(_) | Value::Map(_)) {
                let weight = self.weigh(item)?;
                bytes += weight.bytes;
                self.keep(bytes)?;
                self.charge(weight.nodes >> 2)?;
            }
            self.produce(24)?;
        }
        Ok(())
    }

    fn weigh(&self, value: &Value) -> Result<Weight, FaultKind> {
        weigh(value, self.limits.memory).map_err(|unfit| match unfit {
            Unfit::TooDeep => FaultKind::TooDeep,
            Unfit::TooHeavy | Unfit::NoData => FaultKind::OutOfMemory,
        })
    }

    /// Whether so much was made that everything alive is to be counted.
    #[inline]
    pub(super) fn census_is_due(&self) -> bool {
        self.produced > self.census_after
    }

    /// Count everything alive; `running` is the task that is not in its place.
    #[cold]
    pub(super) fn census(&mut self, running: &Task) -> Result<(), FaultKind> {
        let mut census = Census::default();
        let tasks = self.tasks.iter().flatten().map(Box::as_ref);
        for task in tasks.chain([running]) {
            census.bytes += (size_of::<Task>() + task.stack.capacity() * size_of::<Value>()) as u64;
            census.values(&task.stack);
            let shadows = task.shadows.iter();
            census.values(shadows.filter_map(|shadow| shadow.held.as_ref()));
        }
        for set in self.sets.iter().flatten() {
            census.bytes += (set.members.len() * (size_of::<Member>() + 4)) as u64;
            for member in &set.members {
                if let Member::Ended(result) = member {
                    census.values([result]);
                }
            }
        }
        let plan = self.plan();
        let (texts, constants) = (plan.texts.len() as u64, plan.constants.len() as u64);
        census.bytes += plan.texts.all.len() as u64 + (texts + constants) * 40;
        census.bytes += plan.parts.len() as u64 * 24;
        census.bytes += self.cancelled.len() as u64 * 16;
        let limit = self.limits.memory;
        if census.bytes > limit {
            return Err(FaultKind::OutOfMemory);
        }
        self.produced = 0;
        self.census_after = (limit - census.bytes).max(limit / 8);
        Ok(())
    }
}
