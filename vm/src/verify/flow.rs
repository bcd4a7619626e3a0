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
use crate::isa::{Builtin, Flow, Info, Instr, Kind, Operand, Role, Slot, Status};
use crate::plan::{Function, Plan};

/// The highest stack of each function.
pub(super) fn check(plan: &Plan) -> Result<Vec<u16>, Rejected> {
    let mut checker = Checker {
        plan,
        states_at: vec![0; plan.code.len()],
        states: Vec::new(),
        pool: Vec::new(),
        pending: Vec::new(),
        stack: Vec::with_capacity(64),
        locals: [None; 256],
        highest: 0,
        function: 0,
        at: 0,
    };
    let mut heights = Vec::with_capacity(plan.functions.len());
    for (id, function) in plan.functions.iter().enumerate() {
        checker.function = id as u32;
        heights.push(checker.function(function)?);
    }
    Ok(heights)
}

/// What is known at a jump target: a run of the pool with the locals, then the stack.
#[derive(Clone, Copy)]
struct State {
    first: u32,
    height: u32,
    reached: bool,
    pending: bool,
}

struct Checker<'a> {
    plan: &'a Plan,
    /// For each instruction one more than its place in `states`; 0 where no jump leads.
    states_at: Vec<u32>,
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

impl Checker<'_> {
    #[cold]
    fn reject<T>(&self, what: impl Into<String>) -> Result<T, Rejected> {
        Err(Rejected {
            function: Some(self.function),
            at: self.at,
            what: what.into(),
        })
    }

    fn function(&mut self, function: &Function) -> Result<u16, Rejected> {
        self.states.clear();
        self.pool.clear();
        self.pending.clear();
        self.stack.clear();
        self.highest = 0;
        let code = &self.plan.code[function.start as usize..function.end as usize];
        for (at, instr) in (function.start..).zip(code) {
            self.at = at;
            self.operands(function, instr)?;
        }
        self.locals[..function.locals as usize].fill(None);
        for (local, &kind) in self.locals.iter_mut().zip(&function.params) {
            *local = Some(kind);
        }
        // Each pass over an instruction beyond the first follows from a kind that became wider.
        // Honest code needs a few; the bound keeps a hostile plan from taking quadratic time.
        let mut patience = code.len() * 64 + 4096;
        self.path(function, function.start, &mut patience)?;
        while let Some(target) = self.pending.pop() {
            let index = self.states_at[target as usize] as usize - 1;
            if std::mem::take(&mut self.states[index].pending) {
                self.load(function, index);
                self.instructions(function, target, &mut patience)?;
            }
        }
        Ok(self.highest as u16)
    }

    /// What an operand points at exists.
    fn operands(&mut self, function: &Function, instr: &Instr) -> Result<(), Rejected> {
        let plan = self.plan;
        let (operands, count) = instr.operands();
        for operand in &operands[..count] {
            let value = operand.value as usize;
            let fine = match operand.role {
                Role::Text => value < plan.texts.len(),
                Role::Const => value < plan.constants.len(),
                Role::Func => value < plan.functions.len(),
                Role::TaskFunc => plan
                    .functions
                    .get(value)
                    .is_some_and(|f| f.results == [Kind::Any]),
                Role::Host => value < plan.calls.len(),
                Role::Step => value < plan.steps.len(),
                Role::ReadLocal | Role::TakeLocal | Role::WriteLocal | Role::LocalOf(_) => {
                    value < function.locals as usize
                }
                Role::Label => {
                    let inside = (function.start..function.end).contains(&operand.value);
                    if inside && self.states_at[value] == 0 {
                        self.states.push(State {
                            first: 0,
                            height: 0,
                            reached: false,
                            pending: false,
                        });
                        self.states_at[value] = self.states.len() as u32;
                    }
                    inside
                }
                Role::Builtin => {
                    let arguments = counted(&operands[..count]);
                    Builtin::from_byte(value as u8).is_some_and(|builtin| {
                        let info = builtin.info();
                        (info.least as usize..=info.most as usize).contains(&arguments)
                    })
                }
                Role::Status => Status::from_byte(value as u8).is_some(),
                Role::Count | Role::Int => true,
            };
            if !fine {
                return self.reject(format!(
                    "`{}` has an operand that points at nothing",
                    instr.info().mnemonic
                ));
            }
        }
        Ok(())
    }

    /// Go over the code from `at` on with what is known now.
    fn path(&mut self, f: &Function, at: u32, patience: &mut usize) -> Result<(), Rejected> {
        if let Some(index) = self.states_at[at as usize].checked_sub(1) {
            if !self.meet(f, index as usize)? {
                return Ok(());
            }
            self.states[index as usize].pending = false;
            self.load(f, index as usize);
        }
        self.instructions(f, at, patience)
    }

    fn instructions(
        &mut self,
        function: &Function,
        start: u32,
        patience: &mut usize,
    ) -> Result<(), Rejected> {
        let mut at = start;
        loop {
            self.at = at;
            let Some(left) = patience.checked_sub(1) else {
                return self.reject("the function is too tangled to check");
            };
            *patience = left;
            let instr = &self.plan.code[at as usize];
            let info = instr.info();
            let (operands, count) = instr.operands();
            let goes_on = self.instruction(function, info, &operands[..count])?;
            if !goes_on {
                return Ok(());
            }
            at += 1;
            if at >= function.end {
                return self.reject("the function does not end");
            }
            if let Some(index) = self.states_at[at as usize].checked_sub(1) {
                self.at = at;
                if !self.meet(function, index as usize)? {
                    return Ok(());
                }
                self.states[index as usize].pending = false;
                self.load(function, index as usize);
            }
        }
    }

    /// One instruction; whether control goes on to the next.
    #[inline]
    fn instruction(
        &mut self,
        function: &Function,
        info: &'static Info,
        operands: &[Operand],
    ) -> Result<bool, Rejected> {
        let mut held = Kind::Any;
        let mut written = None;
        for operand in operands {
            let local = operand.value as usize & 255;
            match operand.role {
                Role::ReadLocal | Role::TakeLocal => {
                    let Some(kind) = self.locals[local] else {
                        return self.reject("a local is read before it is set");
                    };
                    held = kind;
                    if operand.role == Role::TakeLocal {
                        self.locals[local] = None;
                    }
                }
                Role::LocalOf(kind) if self.locals[local] != Some(kind) => {
                    return self.reject(format!("a local does not hold a {}", kind.name()));
                }
                Role::WriteLocal => written = Some(local),
                _ => {}
            }
        }
        for slot in info.pops.iter().rev() {
            match *slot {
                Slot::One(kind) => self.pop(kind)?,
                Slot::Written => match self.stack.pop() {
                    Some(kind) if !kind.is_linear() => {
                        if let Some(local) = written {
                            self.locals[local] = Some(kind);
                        }
                    }
                    _ => return self.reject("nothing on the stack that a local can hold"),
                },
                Slot::OwnResults => {
                    for &kind in function.results.iter().rev() {
                        self.pop(kind)?;
                    }
                    if self.stack.iter().any(|kind| kind.is_linear()) {
                        return self.reject("a step or a set of tasks is open at a return");
                    }
                }
                other => {
                    let plan = self.plan;
                    for &kind in self
                        .kinds(other, held, operands)
                        .as_slice(plan)
                        .iter()
                        .rev()
                    {
                        self.pop(kind)?;
                    }
                }
            }
        }
        match info.flow {
            Flow::End => return Ok(false),
            Flow::Jump => {
                self.jump(function, operands)?;
                return Ok(false);
            }
            Flow::Branch(slots) => {
                let height = self.stack.len();
                self.push(slots, held, operands)?;
                self.jump(function, operands)?;
                self.stack.truncate(height);
            }
            Flow::Next => {}
        }
        self.push(info.pushes, held, operands)?;
        Ok(true)
    }

    #[inline]
    fn pop(&mut self, wanted: Kind) -> Result<(), Rejected> {
        match self.stack.pop() {
            Some(kind) if kind == wanted || kind.fits(wanted) => Ok(()),
            Some(kind) => self.reject(format!(
                "a {} is on the stack where a {} is wanted",
                kind.name(),
                wanted.name()
            )),
            None => self.reject("the stack is empty"),
        }
    }

    #[inline]
    fn push(&mut self, slots: &[Slot], held: Kind, operands: &[Operand]) -> Result<(), Rejected> {
        for slot in slots {
            match *slot {
                Slot::One(kind) => self.stack.push(kind),
                other => {
                    let plan = self.plan;
                    let kinds = self.kinds(other, held, operands);
                    self.stack.extend_from_slice(kinds.as_slice(plan));
                }
            }
        }
        if self.stack.len() > self.highest {
            self.highest = self.stack.len();
            if self.highest > MAX_HEIGHT {
                return self.reject("the stack grows too high");
            }
        }
        Ok(())
    }

    /// The kinds that a slot stands for.
    fn kinds(&self, slot: Slot, held: Kind, operands: &[Operand]) -> Kinds {
        let of = |roles: [Role; 2]| {
            let found = operands
                .iter()
                .find(|operand| roles.contains(&operand.role));
            found.map_or(u32::MAX, |operand| operand.value)
        };
        match slot {
            Slot::One(kind) => Kinds::Same(kind, 1),
            Slot::Held => Kinds::Same(held, 1),
            Slot::Many => Kinds::Same(Kind::Any, counted(operands)),
            Slot::Params => Kinds::Params(of([Role::Func, Role::TaskFunc])),
            Slot::Results => Kinds::Results(of([Role::Func, Role::TaskFunc])),
            Slot::Args => {
                let call = self.plan.calls.get(of([Role::Host, Role::Host]) as usize);
                Kinds::Same(
                    Kind::Data,
                    call.map_or(0, |call| call.open.count_ones() as usize),
                )
            }
            // Handled where it is popped; nothing pushes them.
            Slot::Written | Slot::OwnResults => Kinds::Same(Kind::Any, 0),
        }
    }

    fn jump(&mut self, function: &Function, operands: &[Operand]) -> Result<(), Rejected> {
        let label = operands.iter().find(|operand| operand.role == Role::Label);
        let Some(target) = label.map(|operand| operand.value) else {
            return self.reject("a jump has no label");
        };
        let index = self.states_at[target as usize] as usize - 1;
        if self.meet(function, index)? && !self.states[index].pending {
            self.states[index].pending = true;
            self.pending.push(target);
        }
        Ok(())
    }

    /// Join what is known now into what is known at a target; whether that changed it.
    fn meet(&mut self, function: &Function, index: usize) -> Result<bool, Rejected> {
        let locals = &self.locals[..function.locals as usize];
        let state = &mut self.states[index];
        if !state.reached {
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
}

fn counted(operands: &[Operand]) -> usize {
    let count = operands.iter().find(|operand| operand.role == Role::Count);
    count.map_or(0, |operand| operand.value as usize)
}

enum Kinds {
    Same(Kind, usize),
    Params(u32),
    Results(u32),
}

impl Kinds {
    fn as_slice<'a>(&self, plan: &'a Plan) -> &'a [Kind] {
        static ANY: [Kind; 256] = [Kind::Any; 256];
        static DATA: [Kind; 256] = [Kind::Data; 256];
        match *self {
            Kinds::Same(Kind::Any, count) => &ANY[..count.min(ANY.len())],
            Kinds::Same(Kind::Data, count) => &DATA[..count.min(DATA.len())],
            Kinds::Same(kind, _) => &Kind::ALL[kind as usize..][..1],
            Kinds::Params(id) => plan.functions.get(id as usize).map_or(&[], |f| &f.params),
            Kinds::Results(id) => plan.functions.get(id as usize).map_or(&[], |f| &f.results),
        }
    }
}
