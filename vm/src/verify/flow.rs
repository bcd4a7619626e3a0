//! The code of a plan, function by function: an abstract run over kinds instead of values.
//!
//! What is known is kept only where jumps lead; between them it is carried along. Where paths
//! meet, kinds join, and code is gone over again until nothing changes. Operands are checked
//! everywhere; code that nothing leads to is not looked at further, as it never runs.
//!
//! A return needs that nothing linear is left below its results; data that is left is dropped. An
//! instruction that ends the program may leave anything, as the machine ends every step and task
//! then.

use super::shape::{ANYTHING, Class, LINES, Shape, Touch, Way, bit, range_of, shapes};
use super::{MAX_HEIGHT, Rejected};
use crate::isa::{BUILTINS, Flow, Info, Kind, Role, Slot, Status};
use crate::plan::{Function, Plan};

// Boxed, so that what passes is cheap to return.
type Checked<T> = Result<T, Box<Rejected>>;

/// The highest stack of each function.
pub(super) fn check(plan: &Plan) -> Result<Vec<u16>, Rejected> {
    let mut checker = Checker {
        plan,
        shapes: shapes(),
        ranges: [(0, 0); 16],
        targets: Targets::default(),
        ready: Vec::new(),
        states: Vec::new(),
        pool: Vec::new(),
        pending: Vec::new(),
        stack: Stack::new(),
        locals: [None; 256],
        highest: 0,
        function: 0,
        at: 0,
    };
    let mut heights = Vec::with_capacity(plan.functions.len());
    for (id, function) in plan.functions.iter().enumerate() {
        checker.function = id as u32;
        heights.push(checker.function(function).map_err(|rejected| *rejected)?);
    }
    Ok(heights)
}

/// How many kinds are kept at the jump targets of a function, so that a hostile plan does not take
/// a thousand times its own size to check.
const MOST_KNOWN: usize = 1 << 25;

/// An instruction with what going over it needs.
#[derive(Clone, Copy, Default)]
struct Ready {
    line: u8,
    /// The first two operands, if they are locals.
    locals: [u8; 2],
    /// Where it jumps, counted from the start of the function.
    label: u32,
}

/// The instructions of a function that jumps lead to, numbered in their order.
#[derive(Default)]
struct Targets {
    bits: Vec<u64>,
    /// How many targets come before each word.
    before: Vec<u32>,
}

impl Targets {
    fn clear(&mut self, instructions: usize) {
        self.bits.clear();
        self.bits.resize(instructions / 64 + 1, 0);
    }

    fn mark(&mut self, at: u32) {
        self.bits[at as usize / 64] |= 1 << (at % 64);
    }

    /// Number the targets; how many there are.
    fn count(&mut self) -> usize {
        self.before.clear();
        let mut count = 0;
        for word in &self.bits {
            self.before.push(count);
            count += word.count_ones();
        }
        count as usize
    }

    #[inline]
    fn find(&self, at: u32) -> Option<usize> {
        let (word, bit) = (self.bits[at as usize / 64], 1u64 << (at % 64));
        if word & bit == 0 {
            return None;
        }
        Some((self.before[at as usize / 64] + (word & (bit - 1)).count_ones()) as usize)
    }
}

/// What is known at a jump target: a run of the pool with the locals, then the stack.
#[derive(Clone, Copy)]
struct State {
    first: u32,
    height: u32,
    reached: bool,
    pending: bool,
}

const UNREACHED: State = State {
    first: 0,
    height: 0,
    reached: false,
    pending: false,
};

/// A little more than the highest stack and what one instruction adds.
const ROOM: usize = 2048;

/// The kinds on the stack. There is always room for what one instruction adds: a stack that is
/// too high is noticed after each.
struct Stack {
    kinds: Box<[Kind; ROOM]>,
    height: usize,
}

impl Stack {
    fn new() -> Stack {
        Stack {
            kinds: Box::new([Kind::Any; ROOM]),
            height: 0,
        }
    }

    fn all(&self) -> &[Kind] {
        &self.kinds[..self.height]
    }

    #[inline(always)]
    fn push(&mut self, kind: Kind) {
        self.kinds[self.height % ROOM] = kind;
        self.height += 1;
    }

    fn extend(&mut self, kinds: impl IntoIterator<Item = Kind>) {
        kinds.into_iter().for_each(|kind| self.push(kind));
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Kind> {
        self.height = self.height.checked_sub(1)?;
        Some(self.kinds[self.height % ROOM])
    }

    fn last(&self) -> Option<Kind> {
        self.all().last().copied()
    }
}

struct Checker<'a> {
    plan: &'a Plan,
    shapes: &'static [Shape; LINES],
    /// Where the operands of a range start, and how many there are.
    ranges: [(u32, u32); 16],
    targets: Targets,
    /// The function's instructions.
    ready: Vec<Ready>,
    states: Vec<State>,
    pool: Vec<Option<Kind>>,
    /// Jump targets whose state changed since they were last gone over from.
    pending: Vec<u32>,
    stack: Stack,
    locals: [Option<Kind>; 256],
    highest: usize,
    function: u32,
    at: u32,
}

impl<'a> Checker<'a> {
    #[cold]
    #[inline(never)]
    fn reject<T>(&self, what: impl Into<String>) -> Checked<T> {
        Err(Box::new(Rejected {
            function: Some(self.function),
            at: self.at,
            what: what.into(),
        }))
    }

    fn function(&mut self, function: &Function) -> Checked<u16> {
        self.pool.clear();
        self.pending.clear();
        self.stack.height = 0;
        self.highest = 0;
        self.operands(function)?;
        self.states.clear();
        self.states.resize(self.targets.count(), UNREACHED);
        self.locals[..function.locals as usize].fill(None);
        for (local, &kind) in self.locals.iter_mut().zip(&function.params) {
            *local = Some(kind);
        }
        // Each pass over an instruction beyond the first follows from a kind that became wider.
        // Honest code needs a few; the bound keeps a hostile plan from taking quadratic time.
        let mut patience = (function.end - function.start) as usize * 64 + 4096;
        self.at = function.start;
        if self.arrive(function, 0)? {
            self.path(function, 0, &mut patience)?;
        }
        while let Some(target) = self.pending.pop() {
            let Some(index) = self.targets.find(target) else {
                continue;
            };
            if std::mem::take(&mut self.states[index].pending) {
                self.load(function, index);
                self.path(function, target, &mut patience)?;
            }
        }
        Ok(self.highest as u16)
    }

    /// What the operands point at exists; and where jumps lead.
    fn operands(&mut self, function: &Function) -> Checked<()> {
        let plan = self.plan;
        let sizes = [
            plan.texts.len(),
            plan.constants.len(),
            plan.functions.len(),
            plan.calls.len(),
            plan.steps.len(),
            function.locals as usize,
            (function.end - function.start) as usize,
            Status::ALL.len(),
        ];
        self.ranges = [(0, u32::MAX); 16];
        for (range, size) in self.ranges.iter_mut().zip(sizes) {
            *range = (0, size as u32);
        }
        self.ranges[range_of(Role::Label) as usize].0 = function.start;
        let code = &plan.code[function.start as usize..function.end as usize];
        self.targets.clear(code.len());
        self.ready.clear();
        self.ready.reserve(code.len());
        for instr in code {
            let line = instr.line() as u8;
            let shape = &self.shapes[line as usize];
            let mut ready = Ready {
                line,
                ..Ready::default()
            };
            if shape.operands > 0 {
                let values = instr.values();
                let mut fine = true;
                for place in 0..(shape.operands & 3) as usize {
                    let (start, size) = self.ranges[shape.ranges[place] as usize & 15];
                    fine &= values[place].wrapping_sub(start) < size;
                }
                ready.locals = [values[0] as u8, values[1] as u8];
                if fine && shape.jumps {
                    ready.label = values[shape.label as usize % 3] - function.start;
                    self.targets.mark(ready.label);
                }
                if !fine || shape.particular {
                    self.at = function.start + self.ready.len() as u32;
                    self.operand(instr.info(), values)?;
                }
            }
            self.ready.push(ready);
        }
        Ok(())
    }

    /// The same, one by one.
    fn operand(&mut self, info: &Info, values: [u32; 3]) -> Checked<()> {
        for (&value, &(name, role)) in values.iter().zip(info.operands) {
            let (start, size) = self.ranges[range_of(role) as usize];
            let inside = range_of(role) == ANYTHING || value.wrapping_sub(start) < size;
            let fine = inside
                && match role {
                    Role::TaskFunc => self.plan.functions[value as usize].results == [Kind::Any],
                    Role::Builtin => {
                        let arguments = value_of(info, values, &[Role::Count]);
                        BUILTINS.iter().any(|builtin| {
                            builtin.builtin as u32 == value
                                && (u32::from(builtin.least)..=u32::from(builtin.most))
                                    .contains(&arguments)
                        })
                    }
                    _ => true,
                };
            if !fine {
                let mnemonic = info.mnemonic;
                return self.reject(format!("the {name} of `{mnemonic}` is nothing it can be"));
            }
        }
        Ok(())
    }

    /// Go over the code from `at` on, counted from the start of the function, with what is known
    /// now.
    fn path(&mut self, function: &Function, mut at: u32, patience: &mut usize) -> Checked<()> {
        loop {
            let Some(&ready) = self.ready.get(at as usize) else {
                return self.reject("the function does not end");
            };
            self.at = function.start + at;
            let Some(left) = patience.checked_sub(1) else {
                return self.reject("the function is too tangled to check");
            };
            *patience = left;
            let shape = &self.shapes[ready.line as usize];
            let goes_on = match shape.class {
                Class::Plain => self.effect(shape, shape.pushes[0])?,
                Class::Read => match self.locals[ready.locals[0] as usize] {
                    Some(kind) => self.effect(shape, kind)?,
                    None => return self.unset(),
                },
                Class::Take => match self.locals[ready.locals[0] as usize].take() {
                    Some(kind) => self.effect(shape, kind)?,
                    None => return self.unset(),
                },
                Class::Write => {
                    let top = self.stack.last();
                    self.locals[ready.locals[0] as usize] = top;
                    self.effect(shape, top.unwrap_or(Kind::Any))?
                }
                Class::Of(kind) if self.locals[ready.locals[0] as usize] == Some(kind) => {
                    self.effect(shape, shape.pushes[0])?
                }
                Class::End => {
                    self.pops(shape)?;
                    false
                }
                Class::Jump => {
                    self.pops(shape)?;
                    self.branch(function, shape, ready.label)?;
                    false
                }
                Class::Branch => {
                    self.pops(shape)?;
                    self.branch(function, shape, ready.label)?;
                    self.pushes(shape, shape.pushes[0])?
                }
                _ if shape.several => {
                    let instr = &self.plan.code[self.at as usize];
                    self.several(function, instr.info(), instr.values())?
                }
                _ => self.single(function, shape, ready)?,
            };
            if !goes_on {
                return Ok(());
            }
            at += 1;
            if !self.arrive(function, at)? {
                return Ok(());
            }
        }
    }

    /// Come to an instruction; whether there is something new to go on with.
    #[inline(always)]
    fn arrive(&mut self, function: &Function, at: u32) -> Checked<bool> {
        let Some(index) = self.targets.find(at) else {
            return Ok(true);
        };
        self.at = function.start + at;
        self.arrive_at(function, index)
    }

    #[inline(never)]
    fn arrive_at(&mut self, function: &Function, index: usize) -> Checked<bool> {
        let first = !self.states[index].reached;
        if !self.meet(function, index)? {
            return Ok(false);
        }
        self.states[index].pending = false;
        if !first {
            self.load(function, index);
        }
        Ok(true)
    }

    #[inline(always)]
    fn pops(&mut self, shape: &Shape) -> Checked<()> {
        let count = (shape.pop_count & 3) as usize;
        let Some(below) = self.stack.height.checked_sub(count) else {
            return self.unfit(None, Kind::Any);
        };
        for place in 0..count {
            let kind = self.stack.kinds[(self.stack.height - 1 - place) % ROOM];
            if shape.fit[place] & bit(kind) == 0 {
                return self.unfit(Some(kind), shape.pops[place]);
            }
        }
        self.stack.height = below;
        Ok(())
    }

    /// Push what the shape says, which is one kind at most.
    #[inline(always)]
    fn pushes(&mut self, shape: &Shape, kind: Kind) -> Checked<bool> {
        if shape.push_count > 0 {
            self.stack.push(kind);
            self.note_height()?;
        }
        Ok(true)
    }

    #[inline(always)]
    fn effect(&mut self, shape: &Shape, pushed: Kind) -> Checked<bool> {
        self.pops(shape)?;
        if shape.push_count > 0 {
            self.stack.push(pushed);
            // Taking as much as it leaves, it leaves the stack no higher than it was.
            if shape.pop_count == 0 {
                self.note_height()?;
            }
        }
        Ok(true)
    }

    /// Carry what is known to where the instruction jumps.
    #[inline(always)]
    fn branch(&mut self, function: &Function, shape: &Shape, label: u32) -> Checked<()> {
        let height = self.stack.height;
        self.stack.extend(shape.branch);
        self.note_height()?;
        self.jump(function, label)?;
        self.stack.height = height;
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn unset<T>(&self) -> Checked<T> {
        self.reject("a local is read before it is set")
    }

    /// An instruction of which the shape says all, whatever that is; whether control goes on to
    /// the next.
    #[inline(never)]
    fn single(&mut self, function: &Function, shape: &Shape, ready: Ready) -> Checked<bool> {
        let mut pushes = shape.pushes;
        for (touch, value) in shape.locals.into_iter().zip(ready.locals) {
            let local = &mut self.locals[value as usize];
            match (touch, *local) {
                (Touch::No, _) => {}
                (Touch::Read, Some(kind)) => pushes[0] = kind,
                (Touch::Take, Some(kind)) => {
                    pushes[0] = kind;
                    *local = None;
                }
                (Touch::Write, _) => match self.stack.last() {
                    Some(kind) => {
                        *local = Some(kind);
                        pushes[0] = kind;
                    }
                    None => return self.reject("the stack is empty"),
                },
                (Touch::Of(wanted), Some(kind)) if kind == wanted => {}
                (Touch::Of(wanted), _) => {
                    return self.reject(format!("a local does not hold `{}`", wanted.name()));
                }
                (Touch::Read | Touch::Take, None) => return self.unset(),
            }
        }
        self.pops(shape)?;
        match shape.flow {
            Way::On => {}
            Way::End => return Ok(false),
            Way::Jump | Way::Branch => self.branch(function, shape, ready.label)?,
        }
        if shape.flow == Way::Jump {
            return Ok(false);
        }
        self.stack
            .extend(pushes.into_iter().take(shape.push_count.into()));
        self.note_height()?;
        Ok(true)
    }

    /// An instruction with slots that stand for several kinds; whether control goes on. None of
    /// the list does that and touches a local as well.
    fn several(&mut self, function: &Function, info: &Info, values: [u32; 3]) -> Checked<bool> {
        for slot in info.pops.iter().rev() {
            match *slot {
                Slot::One(kind) => self.pop(kind)?,
                Slot::OwnResults => {
                    for &kind in function.results.iter().rev() {
                        self.pop(kind)?;
                    }
                    if self.stack.all().iter().any(|kind| kind.is_linear()) {
                        return self.reject("a step or a set of tasks is open at a return");
                    }
                }
                other => {
                    for &kind in self.kinds(other, info, values)?.iter().rev() {
                        self.pop(kind)?;
                    }
                }
            }
        }
        match info.flow {
            Flow::End => return Ok(false),
            Flow::Jump => {
                self.jump(
                    function,
                    value_of(info, values, &[Role::Label]) - function.start,
                )?;
                return Ok(false);
            }
            Flow::Branch(slots) => {
                let height = self.stack.height;
                self.push(slots, info, values)?;
                self.jump(
                    function,
                    value_of(info, values, &[Role::Label]) - function.start,
                )?;
                self.stack.height = height;
            }
            Flow::Next => {}
        }
        self.push(info.pushes, info, values)?;
        Ok(true)
    }

    #[inline]
    fn pop(&mut self, wanted: Kind) -> Checked<()> {
        match self.stack.pop() {
            Some(kind) if kind == wanted || kind.fits(wanted) => Ok(()),
            popped => self.unfit(popped, wanted),
        }
    }

    #[cold]
    #[inline(never)]
    fn unfit<T>(&self, popped: Option<Kind>, wanted: Kind) -> Checked<T> {
        match popped {
            Some(kind) => self.reject(format!(
                "`{}` is on the stack where `{}` is wanted",
                kind.name(),
                wanted.name()
            )),
            None => self.reject("the stack is empty"),
        }
    }

    fn push(&mut self, slots: &[Slot], info: &Info, values: [u32; 3]) -> Checked<()> {
        for slot in slots {
            match *slot {
                Slot::One(kind) => self.stack.push(kind),
                other => {
                    let kinds = self.kinds(other, info, values)?;
                    self.stack.extend(kinds.iter().copied());
                }
            }
        }
        self.note_height()
    }

    #[inline]
    fn note_height(&mut self) -> Checked<()> {
        if self.stack.height > self.highest {
            self.highest = self.stack.height;
            if self.highest > MAX_HEIGHT {
                return self.reject("the stack grows too high");
            }
        }
        Ok(())
    }

    /// `target` is counted from the start of the function.
    fn jump(&mut self, function: &Function, target: u32) -> Checked<()> {
        let Some(index) = self.targets.find(target) else {
            return self.reject("a jump has no label");
        };
        if self.meet(function, index)? && !self.states[index].pending {
            self.states[index].pending = true;
            self.pending.push(target);
        }
        Ok(())
    }

    /// Join what is known now into what is known at a target; whether that changed it.
    fn meet(&mut self, function: &Function, index: usize) -> Checked<bool> {
        let locals = &self.locals[..function.locals as usize];
        let state = &mut self.states[index];
        if !state.reached {
            if self.pool.len() > MOST_KNOWN {
                return self.reject("the function is too tangled to check");
            }
            state.reached = true;
            state.first = self.pool.len() as u32;
            state.height = self.stack.height as u32;
            self.pool.extend_from_slice(locals);
            self.pool
                .extend(self.stack.all().iter().map(|&kind| Some(kind)));
            return Ok(true);
        }
        if state.height as usize != self.stack.height {
            return self.reject("paths meet with stacks of different height");
        }
        let first = state.first as usize;
        let known = &mut self.pool[first..first + locals.len() + self.stack.height];
        let (known_locals, known_stack) = known.split_at_mut(locals.len());
        let mut changed = false;
        for (known, &here) in known_locals.iter_mut().zip(locals) {
            if *known != here {
                let joined = known.zip(here).and_then(|(a, b)| a.join(b));
                changed |= joined != *known;
                *known = joined;
            }
        }
        for (known, &here) in known_stack.iter_mut().zip(self.stack.all()) {
            if *known != Some(here) {
                let joined = known.and_then(|kind| kind.join(here));
                if joined.is_none() {
                    return self.reject("paths meet with different linear kinds");
                }
                changed |= joined != *known;
                *known = joined;
            }
        }
        Ok(changed)
    }

    fn load(&mut self, function: &Function, index: usize) {
        let State { first, height, .. } = self.states[index];
        let locals = function.locals as usize;
        let known = &self.pool[first as usize..first as usize + locals + height as usize];
        self.locals[..locals].copy_from_slice(&known[..locals]);
        self.stack.height = 0;
        self.stack.extend(known[locals..].iter().copied().flatten());
    }

    /// The kinds that a slot stands for, if it can stand for several.
    fn kinds(&self, slot: Slot, info: &Info, values: [u32; 3]) -> Checked<&'a [Kind]> {
        static ANY: [Kind; 256] = [Kind::Any; 256];
        static DATA: [Kind; 16] = [Kind::Data; 16];
        let plan = self.plan;
        let function = || {
            let id = value_of(info, values, &[Role::Func, Role::TaskFunc]);
            &plan.functions[id as usize]
        };
        Ok(match slot {
            Slot::Many => &ANY[..value_of(info, values, &[Role::Count]) as usize & 255],
            Slot::Params => &function().params,
            Slot::Results => &function().results,
            Slot::Args => {
                let call = value_of(info, values, &[Role::Host]);
                &DATA[..plan.calls[call as usize].open.count_ones() as usize]
            }
            Slot::One(_) | Slot::Held | Slot::Written | Slot::OwnResults => {
                return self.reject("the list has a line that cannot be checked");
            }
        })
    }
}

/// The operand that has one of these roles.
#[inline]
fn value_of(info: &Info, values: [u32; 3], roles: &[Role]) -> u32 {
    let mut operands = info.operands.iter().zip(values);
    let found = operands.find(|((_, role), _)| roles.contains(role));
    found.map_or(0, |(_, value)| value)
}
