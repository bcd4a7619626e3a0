//! The code of a plan, function by function: an abstract run over kinds instead of values.
//!
//! What is known is kept only where jumps lead; between them it is carried along. Where paths
//! meet, kinds join, and code is gone over again until nothing changes. Operands are checked
//! everywhere; code that nothing leads to is not looked at further, as it never runs.
//!
//! A return needs that nothing linear is left below its results; data that is left is dropped. An
//! instruction that ends the program may leave anything, as the machine ends every step and task
//! then.

use super::{MAX_HEIGHT, Rejected};
use crate::isa::{BUILTINS, Flow, INSTRUCTIONS, Info, Instr, Kind, Role, Slot, Status};
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
        states: Vec::new(),
        pool: Vec::new(),
        pending: Vec::new(),
        stack: Vec::with_capacity(MAX_HEIGHT + 512),
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

const ANYTHING: u8 = 8;

// Which of `Checker::ranges` the operand of a role must be in.
fn range_of(role: Role) -> u8 {
    match role {
        Role::Text => 0,
        Role::Const => 1,
        Role::Func | Role::TaskFunc => 2,
        Role::Host => 3,
        Role::Step => 4,
        Role::ReadLocal | Role::TakeLocal | Role::WriteLocal | Role::LocalOf(_) => 5,
        Role::Label => 6,
        Role::Status => 7,
        Role::Count | Role::Int | Role::Builtin => ANYTHING,
    }
}

/// What a line of the list asks for, ready to be compared.
#[derive(Clone, Copy)]
struct Shape {
    /// Some slot stands for several kinds: what follows does not say it all.
    several: bool,
    flow: Way,
    pop_count: u8,
    push_count: u8,
    pops: [Kind; 3],
    pushes: [Kind; 3],
    /// What is pushed before a branch.
    branch: Option<Kind>,
    ranges: [u8; 3],
    operands: u8,
    /// Some operand needs more than to be in its range.
    particular: bool,
    /// Which operand is a label.
    label: u8,
    /// What is done with locals.
    locals: [Touch; 2],
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    On,
    Jump,
    Branch,
    End,
}

/// What an operand does with the local it names.
#[derive(Clone, Copy, PartialEq)]
enum Touch {
    No,
    /// Its kind is what is pushed.
    Read,
    Take,
    /// What is popped is its kind.
    Write,
    Of(Kind),
}

const NOTHING: Shape = Shape {
    several: true,
    flow: Way::On,
    pop_count: 0,
    push_count: 0,
    pops: [Kind::Any; 3],
    pushes: [Kind::Any; 3],
    branch: None,
    ranges: [ANYTHING; 3],
    operands: 0,
    particular: false,
    label: 0,
    locals: [Touch::No; 2],
};

/// How many kinds are kept at the jump targets of a function, so that a hostile plan does not take
/// a thousand times its own size to check.
const MOST_KNOWN: usize = 1 << 25;

/// How many lines the list can have.
const LINES: usize = 256;

fn shapes() -> [Shape; LINES] {
    let mut shapes = [NOTHING; LINES];
    for (info, shape) in INSTRUCTIONS.iter().zip(&mut shapes) {
        let mut said = true;
        for (at, &(_, role)) in info.operands.iter().enumerate() {
            shape.ranges[at] = range_of(role);
            shape.operands += 1;
            shape.particular |= matches!(role, Role::TaskFunc | Role::Builtin);
            let touch = match role {
                Role::Label => {
                    shape.label = at as u8;
                    continue;
                }
                Role::ReadLocal => Touch::Read,
                Role::TakeLocal => Touch::Take,
                Role::WriteLocal => Touch::Write,
                Role::LocalOf(kind) => Touch::Of(kind),
                _ => continue,
            };
            match shape.locals.get_mut(at) {
                Some(place) => *place = touch,
                None => said = false,
            }
        }
        let mut fill = |slots: &[Slot], kinds: &mut [Kind; 3]| {
            for (at, slot) in slots.iter().enumerate() {
                match (slot, kinds.get_mut(at)) {
                    (Slot::One(kind), Some(place)) => *place = *kind,
                    (Slot::Held | Slot::Written, Some(place)) if slots.len() == 1 => {
                        *place = Kind::Any;
                    }
                    _ => said = false,
                }
            }
            slots.len() as u8
        };
        shape.pop_count = fill(info.pops, &mut shape.pops);
        shape.push_count = fill(info.pushes, &mut shape.pushes);
        shape.flow = match info.flow {
            Flow::Next => Way::On,
            Flow::Jump => Way::Jump,
            Flow::End => Way::End,
            Flow::Branch(slots) => {
                let mut kinds = [Kind::Any; 3];
                said &= fill(slots, &mut kinds) <= 1;
                shape.branch = slots.first().map(|_| kinds[0]);
                Way::Branch
            }
        };
        shape.several = !said;
    }
    shapes
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

struct Checker<'a> {
    plan: &'a Plan,
    shapes: [Shape; LINES],
    /// Where the operands of a range start, and how many there are.
    ranges: [(u32, u32); 16],
    targets: Targets,
    states: Vec<State>,
    pool: Vec<Option<Kind>>,
    /// Jump targets whose state changed since they were last gone over from.
    pending: Vec<u32>,
    stack: Vec<Kind>,
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
        self.stack.clear();
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
        if self.arrive(function, function.start)? {
            self.path(function, function.start, &mut patience)?;
        }
        while let Some(target) = self.pending.pop() {
            let Some(index) = self.targets.find(target - function.start) else {
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
        for (at, instr) in (function.start..).zip(code) {
            let shape = &self.shapes[instr.line() & (LINES - 1)];
            if shape.operands == 0 {
                continue;
            }
            let values = instr.values();
            let mut fine = true;
            for (&value, &range) in values.iter().zip(&shape.ranges) {
                let (start, size) = self.ranges[range as usize & 15];
                fine &= value.wrapping_sub(start) < size;
            }
            if fine && matches!(shape.flow, Way::Jump | Way::Branch) {
                let target = values[shape.label as usize % 3];
                self.targets.mark(target - function.start);
            }
            self.at = at;
            if !fine || shape.particular {
                self.operand(instr.info(), values)?;
            }
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

    /// Go over the code from `at` on with what is known now.
    fn path(&mut self, function: &Function, start: u32, patience: &mut usize) -> Checked<()> {
        let code = &self.plan.code;
        let mut at = start;
        loop {
            self.at = at;
            let Some(left) = patience.checked_sub(1) else {
                return self.reject("the function is too tangled to check");
            };
            *patience = left;
            let instr = &code[at as usize];
            let shape = &self.shapes[instr.line() & (LINES - 1)];
            let goes_on = if shape.several {
                self.several(function, instr.info(), instr.values())?
            } else {
                self.single(function, *shape, instr)?
            };
            if !goes_on {
                return Ok(());
            }
            at += 1;
            if at >= function.end {
                return self.reject("the function does not end");
            }
            if !self.arrive(function, at)? {
                return Ok(());
            }
        }
    }

    /// Come to an instruction; whether there is something new to go on with.
    #[inline(always)]
    fn arrive(&mut self, function: &Function, at: u32) -> Checked<bool> {
        let Some(index) = self.targets.find(at - function.start) else {
            return Ok(true);
        };
        self.at = at;
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

    /// An instruction of which the shape says all; whether control goes on to the next.
    #[inline]
    fn single(&mut self, function: &Function, shape: Shape, instr: &Instr) -> Checked<bool> {
        let mut pushes = shape.pushes;
        if shape.locals != [Touch::No; 2] {
            let values = instr.values();
            for (touch, value) in shape.locals.into_iter().zip(values) {
                let local = &mut self.locals[value as usize & 255];
                match (touch, *local) {
                    (Touch::No, _) => {}
                    (Touch::Read, Some(kind)) => pushes[0] = kind,
                    (Touch::Take, Some(kind)) => {
                        pushes[0] = kind;
                        *local = None;
                    }
                    (Touch::Write, _) => match self.stack.last() {
                        Some(kind) => *local = Some(*kind),
                        None => return self.reject("the stack is empty"),
                    },
                    (Touch::Of(wanted), Some(kind)) if kind == wanted => {}
                    (Touch::Of(wanted), _) => {
                        return self.reject(format!("a local does not hold `{}`", wanted.name()));
                    }
                    (Touch::Read | Touch::Take, None) => {
                        return self.reject("a local is read before it is set");
                    }
                }
            }
        }
        for &kind in shape.pops[..(shape.pop_count & 3) as usize].iter().rev() {
            self.pop(kind)?;
        }
        if shape.flow != Way::On {
            if shape.flow == Way::End {
                return Ok(false);
            }
            let target = instr.values()[shape.label as usize % 3];
            let height = self.stack.len();
            self.stack.extend(shape.branch);
            self.note_height()?;
            self.jump(function, target)?;
            self.stack.truncate(height);
            if shape.flow == Way::Jump {
                return Ok(false);
            }
        }
        // One by one: they are too few for a copy of a block to be worth its call.
        for &kind in &pushes[..(shape.push_count & 3) as usize] {
            self.stack.push(kind);
        }
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
                    if self.stack.iter().any(|kind| kind.is_linear()) {
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
                self.jump(function, value_of(info, values, &[Role::Label]))?;
                return Ok(false);
            }
            Flow::Branch(slots) => {
                let height = self.stack.len();
                self.push(slots, info, values)?;
                self.jump(function, value_of(info, values, &[Role::Label]))?;
                self.stack.truncate(height);
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
                    self.stack.extend_from_slice(kinds);
                }
            }
        }
        self.note_height()
    }

    #[inline]
    fn note_height(&mut self) -> Checked<()> {
        if self.stack.len() > self.highest {
            self.highest = self.stack.len();
            if self.highest > MAX_HEIGHT {
                return self.reject("the stack grows too high");
            }
        }
        Ok(())
    }

    fn jump(&mut self, function: &Function, target: u32) -> Checked<()> {
        let Some(index) = self.targets.find(target - function.start) else {
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
            state.height = self.stack.len() as u32;
            self.pool.extend_from_slice(locals);
            self.pool.extend(self.stack.iter().map(|&kind| Some(kind)));
            return Ok(true);
        }
        if state.height as usize != self.stack.len() {
            return self.reject("paths meet with stacks of different height");
        }
        let first = state.first as usize;
        let known = &mut self.pool[first..first + locals.len() + self.stack.len()];
        let (known_locals, known_stack) = known.split_at_mut(locals.len());
        let mut changed = false;
        for (known, &here) in known_locals.iter_mut().zip(locals) {
            if *known != here {
                let joined = known.zip(here).and_then(|(a, b)| a.join(b));
                changed |= joined != *known;
                *known = joined;
            }
        }
        for (known, &here) in known_stack.iter_mut().zip(&self.stack) {
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
        self.stack.clear();
        self.stack.extend(known[locals..].iter().flatten());
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
