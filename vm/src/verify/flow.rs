//! The code of a plan, function by function: an abstract run over kinds instead of values.
//!
//! The code is walked over in its order, and what is known is carried along. What a jump ahead
//! brings waits there until the walk arrives, and is forgotten then: most of a plan jumps ahead
//! only, and little is in memory at once. At the first jump back the walk starts anew, and now what is
//! known is kept where jumps lead back; as long as they bring something new there, the code is walked
//! over again. Operands are checked everywhere; code that nothing leads to is not looked at further, as
//! it never runs.
//!
//! A return needs that nothing linear is left below its results; data that is left is dropped. An
//! instruction that ends the program may leave anything, as the machine ends every step and task
//! then.

use super::known::{Kinds, Known, LANES, ROOM, Unjoinable};
use super::shape::{
    ANYTHING, BELOW, Bits, Class, LINEAR, MISSING, Shape, UNSET, bits, kind, range_of, shapes,
    unfit,
};
use super::targets::{LEAF, Targets};
use super::{MAX_HEIGHT, Rejected};
use crate::isa::{BUILTINS, Flow, Kind, Role, Slot, Status, Word};
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
        known: Known::new(),
        heads: Heads::Unsought,
        again: false,
        kinds: [UNSET; ROOM + LANES],
        floor: 0,
        height: 0,
        highest: 0,
        function: 0,
        start: 0,
        at: 0,
    };
    let mut heights = Vec::with_capacity(plan.functions.len());
    for (id, function) in plan.functions.iter().enumerate() {
        checker.function = id as u32;
        heights.push(checker.function(function).map_err(|rejected| *rejected)?);
    }
    Ok(heights)
}

/// How often a function is walked over at most; one that is so short that it does not matter, more
/// often. Honest code needs a few walks, as loops nest; the bound keeps a hostile plan from taking
/// quadratic time.
const MOST_WALKS: usize = 64;

/// The number of the state of a place that no jump was seen to lead to ...
const NO_TARGET: u32 = 0;
/// ... and of one that jumps lead back to, before anything led there.
const UNREACHED: u32 = 1;
const _: () = assert!(UNREACHED < Known::FIRST);

/// What stands between the locals and the stack: as much as an instruction of a common class pops,
/// so that one that pops too much is an instruction that pops what does not fit.
const BOTTOM: [Bits; 3] = [BELOW; 3];

struct Checker<'a> {
    plan: &'a Plan,
    shapes: &'static [Shape; 256],
    /// Where the operands of a range start, and how many there are.
    ranges: [(u32, u32); 16],
    /// For each instruction of the function, the number of what jumps bring there.
    targets: Targets,
    known: Known,
    heads: Heads,
    /// Whether a jump back brought something new.
    again: bool,
    /// The locals of the function, what is below the stack, then the stack.
    kinds: Kinds,
    /// Where the stack starts.
    floor: usize,
    /// Where it ends.
    height: usize,
    highest: usize,
    function: u32,
    start: u32,
    /// Where it looks, counted from the start of the function, as everywhere here.
    at: u32,
}

/// Where jumps lead back to, as far as that is known.
#[derive(Clone, Copy, PartialEq)]
enum Heads {
    /// No jump that leads back was seen yet.
    Unsought,
    /// One was, so they have to be found.
    Wanted,
    Found,
}

/// Where a function stands, and its code.
#[derive(Clone, Copy)]
struct Body<'a> {
    function: &'a Function,
    code: &'a [Word],
}

impl<'a> Checker<'a> {
    #[cold]
    #[inline(never)]
    fn reject<T>(&self, what: impl Into<String>) -> Checked<T> {
        Err(Box::new(Rejected {
            function: Some(self.function),
            at: self.start + self.at,
            what: what.into(),
        }))
    }

    fn function(&mut self, function: &'a Function) -> Checked<u16> {
        let body = Body {
            function,
            code: &self.plan.code[function.start as usize..function.end as usize],
        };
        self.start = function.start;
        self.floor = usize::from(function.locals) + BOTTOM.len();
        self.highest = self.floor;
        self.find_ranges(body);
        self.heads = Heads::Unsought;
        self.forget(body);
        for _ in 0..MOST_WALKS + 4096 / body.code.len() {
            self.walk(body)?;
            if self.heads == Heads::Wanted {
                self.forget(body);
                self.find_heads(body);
            } else if !std::mem::take(&mut self.again) {
                return Ok((self.highest - self.floor) as u16);
            }
        }
        self.reject("the function is too tangled to check")
    }

    /// How much there is of what operands point at.
    fn find_ranges(&mut self, body: Body<'a>) {
        let plan = self.plan;
        let sizes = [
            plan.texts.len(),
            plan.constants.len(),
            plan.functions.len(),
            plan.calls.len(),
            plan.steps.len(),
            body.function.locals.into(),
            body.code.len(),
            Status::ALL.len(),
        ];
        self.ranges = [(0, u32::MAX); 16];
        for (range, size) in self.ranges.iter_mut().zip(sizes) {
            *range = (0, size as u32);
        }
        self.ranges[range_of(Role::Label) as usize].0 = self.start;
    }

    /// Nothing is known about any place of the code.
    fn forget(&mut self, body: Body<'a>) {
        self.targets.clear(body.code.len());
        self.known.clear();
    }

    /// Where jumps lead back to.
    fn find_heads(&mut self, body: Body<'a>) {
        self.heads = Heads::Found;
        for (at, &word) in (0..).zip(body.code) {
            let to = word.wide().wrapping_sub(self.start);
            if (to <= at) & self.shapes[word.byte() as usize].jumps {
                let slot = self.targets.slot(to);
                self.targets.numbers[slot] = UNREACHED;
            }
        }
    }

    /// The same for one instruction, by what the list says.
    fn operand(&mut self, word: Word) -> Checked<()> {
        let info = word.info();
        for (value, &(name, role)) in word.values().into_iter().zip(info.operands) {
            let (start, size) = self.ranges[range_of(role) as usize];
            let inside = range_of(role) == ANYTHING || value.wrapping_sub(start) < size;
            let fine = inside
                && match role {
                    Role::TaskFunc => self.plan.functions[value as usize].results == [Kind::Any],
                    Role::Builtin => {
                        let arguments = self.count(word) as u8;
                        BUILTINS.iter().any(|builtin| {
                            builtin.builtin as u32 == value
                                && (builtin.least..=builtin.most).contains(&arguments)
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

    /// Go over the code in its order, with what is known at its start; not to its end if where jumps
    /// lead back has to be found first.
    fn walk(&mut self, body: Body<'a>) -> Checked<()> {
        let locals = usize::from(body.function.locals);
        self.kinds[..locals].fill(UNSET);
        self.kinds[locals..self.floor].copy_from_slice(&BOTTOM);
        for (local, &kind) in self.kinds.iter_mut().zip(&body.function.params) {
            *local = bits(kind);
        }
        self.height = self.floor;
        let mut reached = true;
        for (leaf, code) in body.code.chunks(LEAF).enumerate() {
            reached = self.walk_leaf(body, leaf * LEAF, code, reached)?;
            if self.heads == Heads::Wanted {
                return Ok(());
            }
            self.targets.leave(leaf * LEAF);
        }
        if reached {
            return self.reject("the function does not end");
        }
        Ok(())
    }

    /// Go over the code of one leaf of the targets; whether control comes to what follows it.
    #[inline(always)]
    fn walk_leaf(
        &mut self,
        body: Body<'a>,
        from: usize,
        code: &[Word],
        mut reached: bool,
    ) -> Checked<bool> {
        let (shapes, ranges, mut height) = (self.shapes, self.ranges, self.height);
        let first = self.targets.slot(from as u32).wrapping_sub(from);
        for (at, &word) in (from..).zip(code) {
            self.at = at as u32;
            let slot = first.wrapping_add(at);
            if self.targets.numbers[slot] != NO_TARGET {
                self.height = height;
                reached = self.arrive(slot, reached)?;
                height = self.height;
            }
            let shape = &shapes[word.byte() as usize];
            let operands = &shape.operands;
            let inside = |value: u32, range: u8| {
                let (start, size) = ranges[range as usize & 15];
                value.wrapping_sub(start) < size
            };
            let fine = inside(word.short() & operands.first, operands.narrow)
                & inside(word.wide(), operands.wide);
            if !fine | operands.particular {
                self.operand(word)?;
            }
            if !reached {
                continue;
            }
            let local = word.narrow(0) as usize;
            let third = height.wrapping_sub(BOTTOM.len()) % ROOM;
            let top = self.kinds[third + 2];
            let mut wrong = top & shape.unfit[0]
                | self.kinds[third + 1] & shape.unfit[1]
                | self.kinds[third] & shape.unfit[2];
            let below = height.wrapping_sub(shape.pops.into());
            let mut pushed = shape.pushed;
            match shape.class {
                Class::Plain => {}
                Class::Read => {
                    pushed = self.kinds[local];
                    wrong |= pushed & MISSING;
                }
                Class::Take => {
                    pushed = std::mem::replace(&mut self.kinds[local], UNSET);
                    wrong |= pushed & MISSING;
                }
                Class::Write => {
                    pushed = top;
                    self.kinds[local] = top;
                }
                Class::Of(kind) => wrong |= self.kinds[local] ^ kind,
                Class::Branch if wrong == 0 => self.branch(shape, word, below)?,
                Class::Jump if wrong == 0 => {
                    self.branch(shape, word, below)?;
                    reached = false;
                    continue;
                }
                Class::End if wrong == 0 => {
                    reached = false;
                    continue;
                }
                Class::Branch | Class::Jump | Class::End => {}
                Class::Many | Class::Args | Class::Other => {
                    self.height = height;
                    reached = self.uncommon(body, shape, word)?;
                    height = self.height;
                    continue;
                }
            }
            if wrong != 0 {
                self.height = height;
                return self.wrong(body, word);
            }
            self.kinds[below % ROOM] = pushed;
            height = below + usize::from(shape.pushes);
            self.note_height(height)?;
        }
        self.height = height;
        Ok(reached)
    }

    /// An instruction whose class pops as many as something else says, or that has none; whether
    /// control goes on to the next.
    fn uncommon(&mut self, body: Body<'a>, shape: &Shape, word: Word) -> Checked<bool> {
        match shape.class {
            Class::Many => self.pop_all(self.count(word), Kind::Any)?,
            Class::Args => {
                self.pop_all(self.open(word), Kind::Data)?;
            }
            _ => return self.listed(body, word),
        }
        if shape.jumps {
            let height = self.height;
            self.branch(shape, word, height)?;
            self.height = height;
        }
        if shape.pushes != 0 {
            self.push(shape.pushed);
        }
        self.note_height(self.height)?;
        Ok(true)
    }

    /// Carry what is known to where the instruction jumps, with what it pushes there on a stack of
    /// this height.
    #[inline(always)]
    fn branch(&mut self, shape: &Shape, word: Word, height: usize) -> Checked<()> {
        self.kinds[height % ROOM] = shape.branch[0];
        self.kinds[height % ROOM + 1] = shape.branch[1];
        self.height = height + usize::from(shape.branches);
        self.note_height(self.height)?;
        self.jump(word.wide().wrapping_sub(self.start))
    }

    /// How many arguments of the call that an instruction names are on the stack.
    #[inline]
    fn open(&self, word: Word) -> usize {
        let wide = self.shapes[word.byte() as usize].operands.wide;
        let call = match wide == range_of(Role::Host) {
            true => word.wide(),
            false => word.short(),
        };
        let call = self.plan.calls.get(call as usize);
        call.map_or(0, |call| call.open.count_ones() as usize)
    }

    /// Say what is wrong with an instruction of a common class: the list knows.
    #[cold]
    #[inline(never)]
    fn wrong<T>(&mut self, body: Body<'a>, word: Word) -> Checked<T> {
        self.listed(body, word)?;
        self.reject("the stack or a local is not as it should be")
    }

    /// Come to an instruction that jumps lead to; whether anything led there.
    #[inline(never)]
    fn arrive(&mut self, slot: usize, reached: bool) -> Checked<bool> {
        let target = self.targets.numbers[slot];
        if target == UNREACHED {
            if reached {
                self.targets.numbers[slot] = self.keep(true)?;
            }
            return Ok(reached);
        }
        if reached {
            self.meet(target)?;
        }
        let (height, forgotten) = self.known.load(target, &mut self.kinds);
        self.height = height;
        if forgotten {
            self.targets.numbers[slot] = NO_TARGET;
        }
        Ok(true)
    }

    /// What is so far below the top of the stack; of no use if the stack is not so high.
    #[inline(always)]
    fn top(&self, below: usize) -> Bits {
        self.kinds[self.height.wrapping_sub(1 + below) % ROOM]
    }

    /// An instruction as the list has it, whatever that is; whether control goes on to the next.
    fn listed(&mut self, body: Body<'a>, word: Word) -> Checked<bool> {
        let info = word.info();
        let mut held = UNSET;
        for (value, (_, role)) in word.values().into_iter().zip(info.operands) {
            let local = value as usize % ROOM;
            match *role {
                Role::ReadLocal => held = self.kinds[local],
                Role::TakeLocal => held = std::mem::replace(&mut self.kinds[local], UNSET),
                Role::WriteLocal => {
                    held = self.top(0);
                    self.kinds[local] = held;
                }
                Role::LocalOf(kind) if self.kinds[local] != bits(kind) => {
                    return self.reject(format!("a local does not hold `{}`", kind.name()));
                }
                _ => continue,
            }
            if held == UNSET && !matches!(role, Role::LocalOf(_)) {
                return self.reject("a local is read before it is set");
            }
        }
        for slot in info.pops.iter().rev() {
            match *slot {
                Slot::One(kind) => self.pop(kind)?,
                Slot::Written => self.pop(Kind::Any)?,
                Slot::Many => self.pop_all(self.count(word), Kind::Any)?,
                Slot::Args => self.pop_all(self.open(word), Kind::Data)?,
                Slot::Params | Slot::Results => {
                    for &kind in self.border(*slot, word).iter().rev() {
                        self.pop(kind)?;
                    }
                }
                Slot::OwnResults => {
                    for &kind in body.function.results.iter().rev() {
                        self.pop(kind)?;
                    }
                    let left = &self.kinds[self.floor..self.height];
                    if left.iter().any(|left| left & LINEAR != 0) {
                        return self.reject("a step or a set of tasks is open at a return");
                    }
                }
                Slot::Held => return self.reject("the list has a line that cannot be checked"),
            }
        }
        let label = word.wide().wrapping_sub(self.start);
        match info.flow {
            Flow::Next => {}
            Flow::End => return Ok(false),
            Flow::Jump => {
                self.push_slots(info.pushes, word, held)?;
                self.jump(label)?;
                return Ok(false);
            }
            Flow::Branch(slots) => {
                let height = self.height;
                self.push_slots(slots, word, held)?;
                self.jump(label)?;
                self.height = height;
            }
        }
        self.push_slots(info.pushes, word, held)?;
        Ok(true)
    }

    fn push_slots(&mut self, slots: &[Slot], word: Word, held: Bits) -> Checked<()> {
        for slot in slots {
            match *slot {
                Slot::One(kind) => self.push(bits(kind)),
                Slot::Held => self.push(held),
                Slot::Params | Slot::Results => {
                    let kinds = self.border(*slot, word);
                    kinds.iter().for_each(|&kind| self.push(bits(kind)));
                }
                Slot::Many | Slot::Written | Slot::OwnResults | Slot::Args => {
                    return self.reject("the list has a line that cannot be checked");
                }
            }
        }
        self.note_height(self.height)
    }

    /// The parameters or the results of the function that an instruction names.
    fn border(&self, slot: Slot, word: Word) -> &'a [Kind] {
        let plan: &'a Plan = self.plan;
        match (plan.functions.get(word.wide() as usize), slot) {
            (Some(function), Slot::Params) => &function.params,
            (Some(function), _) => &function.results,
            (None, _) => &[],
        }
    }

    /// The count that an instruction has as an operand.
    #[inline]
    fn count(&self, word: Word) -> usize {
        word.narrow(self.shapes[word.byte() as usize].count).into()
    }

    #[inline(always)]
    fn push(&mut self, kind: Bits) {
        self.kinds[self.height % ROOM] = kind;
        self.height += 1;
    }

    #[inline]
    fn pop(&mut self, wanted: Kind) -> Checked<()> {
        self.pop_all(1, wanted)
    }

    /// Pop so many of one kind.
    #[inline]
    fn pop_all(&mut self, count: usize, wanted: Kind) -> Checked<()> {
        if self.height < self.floor + count {
            return self.reject("the stack is empty");
        }
        for _ in 0..count {
            let top = self.top(0);
            if top & unfit(wanted) != 0 {
                return self.unlike(top, wanted);
            }
            self.height -= 1;
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn unlike<T>(&self, found: Bits, wanted: Kind) -> Checked<T> {
        let (found, wanted) = (kind(found).map_or("", Kind::name), wanted.name());
        self.reject(format!(
            "`{found}` is on the stack where `{wanted}` is wanted"
        ))
    }

    /// The stack is so high now.
    #[inline(always)]
    fn note_height(&mut self, height: usize) -> Checked<()> {
        if height > self.highest {
            self.highest = height;
            if height > self.floor + MAX_HEIGHT {
                return self.reject("the stack grows too high");
            }
        }
        Ok(())
    }

    /// Carry what is known to a place.
    #[inline(never)]
    fn jump(&mut self, to: u32) -> Checked<()> {
        if (to <= self.at) & (self.heads != Heads::Found) {
            self.heads = Heads::Wanted;
            return Ok(());
        }
        let slot = self.targets.slot(to);
        let target = self.targets.numbers[slot];
        if target <= UNREACHED {
            self.targets.numbers[slot] = self.keep(target == UNREACHED)?;
        } else if !self.meet(target)? {
            return Ok(());
        }
        self.again |= to <= self.at;
        Ok(())
    }

    /// Join what is known now into what is known at a target; whether that changed it.
    #[inline(always)]
    fn meet(&mut self, target: u32) -> Checked<bool> {
        if self.known.height(target) != self.height {
            return self.reject("paths meet with stacks of different height");
        }
        if self.known.allows(target, &self.kinds, self.height) {
            return Ok(false);
        }
        let (kinds, floor, height) = (&self.kinds, self.floor, self.height);
        match self.known.widen(target, kinds, floor, height) {
            Ok(changed) => Ok(changed),
            Err(Unjoinable) => self.reject("paths meet with different linear kinds"),
        }
    }

    /// Keep what is known now; its number.
    #[inline(always)]
    fn keep(&mut self, is_head: bool) -> Checked<u32> {
        match self.known.keep(&self.kinds, self.height, is_head) {
            Some(number) => Ok(number),
            None => self.reject("the function is too tangled to check"),
        }
    }
}
