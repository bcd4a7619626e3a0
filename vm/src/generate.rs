//! Random plans that verify; for tests and fuzzing only.
//!
//! The generator reads the instruction list: it keeps the kinds on the stack and in the locals as
//! the verifier does, picks an instruction, makes what that takes, and writes it down. It names no
//! instruction, so a new line of the list is generated, verified and run without a change here.
//! What the programs compute makes no sense, and it does not try to.

use crate::isa::{BUILTINS, Flow, INSTRUCTIONS, Info, Kind, Role, Slot, Status, Word};
use crate::plan::{
    Const, Function, HostCall, HostKind, Input, Limits, Need, NeedKind, Place, Plan, SourceInfo,
    SpanRun, StepInfo, StepKind, Texts,
};

/// A small generator of numbers: same seed, same numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        // A state of zero would stay zero; neighbouring seeds should not look alike.
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        random.next();
        random
    }

    /// The next number, all bits of it.
    #[allow(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which may not be zero.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.next() >> 33) as usize) % end.max(1)
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}

const TEXTS: &[&str] = &[
    "a",
    "b",
    "c",
    "",
    "x y",
    "1",
    " 12 ",
    "-3.5",
    "true",
    "False",
    "none",
    "[1, 2, 3]",
    "{\"a\": {\"b\": [null, 1.5]}}",
    "see ```json\n{\"c\": 1}\n```",
    "it's\n\tEOF\n",
    "ü",
    "EOF",
    "9223372036854775807",
];

/// A plan that verifies.
pub fn plan(random: &mut Random) -> Plan {
    let mut plan = tables(random);
    let count = 1 + random.below(4);
    let kinds = [
        Kind::Any,
        Kind::Data,
        Kind::Bool,
        Kind::Int,
        Kind::Text,
        Kind::List,
        Kind::Map,
    ];
    for id in 0..=count {
        let some = |random: &mut Random, most: usize| -> Vec<Kind> {
            let count = random.below(most + 1);
            (0..count)
                .map(|_| kinds[random.below(kinds.len())])
                .collect()
        };
        let (params, results) = match id {
            0 => (vec![Kind::Map], vec![Kind::Any, Kind::Map]),
            1 => (some(random, 2), vec![Kind::Any]),
            _ if random.once_in(2) => (some(random, 3), vec![Kind::Any]),
            _ => (some(random, 3), some(random, 3)),
        };
        let locals = (params.len() + 4 + random.below(4)) as u8;
        plan.functions.push(Function {
            name: random.below(TEXTS.len()) as u32,
            start: 0,
            end: 0,
            params,
            results,
            locals,
        });
    }
    for id in 0..plan.functions.len() {
        let budget = if id == 0 {
            10 + random.below(50)
        } else {
            2 + random.below(25)
        };
        let code = Body::new(random, &plan, id).write(budget);
        plan.functions[id].start = plan.code.len() as u32;
        plan.code.extend(code);
        plan.functions[id].end = plan.code.len() as u32;
    }
    let mut from = 0;
    while from < plan.code.len() {
        let place = place(random, plan.sources.len());
        plan.spans.push(SpanRun {
            from: from as u32,
            place,
        });
        from += 1 + random.below(6);
    }
    plan
}

fn tables(random: &mut Random) -> Plan {
    let mut texts = Texts::default();
    for text in TEXTS {
        texts.all.push_str(text);
        texts.ends.push(texts.all.len() as u32);
    }
    let text = |random: &mut Random| random.below(TEXTS.len()) as u32;
    let mut constants = vec![Const::Map { first: 0, count: 0 }];
    let mut parts = Vec::new();
    for _ in 0..3 + random.below(12) {
        let first = parts.len() as u32;
        let count = random.below(4) as u32;
        constants.push(match random.below(8) {
            0 => Const::Null,
            1 => Const::Bool(random.once_in(2)),
            2 => Const::Int(random.next() as i64),
            3 => Const::Float(f64::from_bits(random.next())),
            4 => Const::Text(text(random)),
            5 => {
                parts.extend((0..count).map(|_| random.below(constants.len()) as u32));
                Const::List { first, count }
            }
            _ => {
                for _ in 0..count {
                    parts.push(text(random));
                    parts.push(random.below(constants.len()) as u32);
                }
                Const::Map { first, count }
            }
        });
    }
    let maps: Vec<u32> = (0u32..)
        .zip(&constants)
        .filter(|(_, constant)| matches!(constant, Const::Map { .. }))
        .map(|(id, _)| id)
        .collect();
    let sources = 1 + random.below(2);
    let steps = 1 + random.below(4);
    let calls = 1 + random.below(5);
    let call = |random: &mut Random| {
        let kind = HostKind::ALL[random.below(HostKind::ALL.len())];
        HostCall {
            kind,
            step: random.below(steps) as u32,
            open: random.next() as u16 & ((1 << kind.params().len()) - 1),
            fixed: maps[random.below(maps.len())],
        }
    };
    let needs = random.below(3);
    let inputs = random.below(3);
    Plan {
        name: text(random),
        dialect: text(random),
        limits: Limits {
            fuel: 200 + random.below(6000) as u64,
            memory: 1 << (12 + random.below(10)),
            steps: random.below(5) as u32,
            depth: random.below(5) as u32,
        },
        calls: (0..calls).map(|_| call(random)).collect(),
        steps: (0..steps)
            .map(|_| StepInfo {
                id: text(random),
                kind: StepKind::ALL[random.below(StepKind::ALL.len())],
                place: place(random, sources),
            })
            .collect(),
        inputs: (0..inputs)
            .map(|_| Input {
                name: text(random),
                default: (!random.once_in(3)).then(|| random.below(constants.len()) as u32),
            })
            .collect(),
        needs: (0..needs)
            .map(|_| Need {
                kind: NeedKind::ALL[random.below(NeedKind::ALL.len())],
                name: text(random),
                step: random.below(steps) as u32,
            })
            .collect(),
        sources: (0..sources)
            .map(|_| SourceInfo {
                name: text(random),
                hash: [random.next() as u8; 32],
            })
            .collect(),
        texts,
        constants,
        parts,
        functions: Vec::new(),
        code: Vec::new(),
        spans: Vec::new(),
    }
}

fn place(random: &mut Random, sources: usize) -> Place {
    let start = random.below(1000) as u32;
    Place {
        source: random.below(sources) as u32,
        start,
        end: start + random.below(50) as u32,
    }
}

#[derive(Clone)]
struct State {
    stack: Vec<Kind>,
    locals: Vec<Option<Kind>>,
}

impl State {
    /// Whether a path in this state may lead to where `wanted` is known.
    fn fits(&self, wanted: &State) -> bool {
        let locals = self.locals.iter().zip(&wanted.locals);
        self.stack.len() == wanted.stack.len()
            && self
                .stack
                .iter()
                .zip(&wanted.stack)
                .all(|(kind, wanted)| kind.fits(*wanted))
            && { locals }.all(|pair| match pair {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(kind), Some(wanted)) => kind.fits(*wanted),
            })
    }
}

struct Label {
    state: State,
    at: Option<usize>,
}

/// The code of one function while it is made. A label operand is the number of a label until the
/// end.
struct Body<'a> {
    random: &'a mut Random,
    plan: &'a Plan,
    function: &'a Function,
    code: Vec<(&'static Info, Vec<u32>)>,
    labels: Vec<Label>,
    state: State,
}

const HIGHEST: usize = 40;

impl<'a> Body<'a> {
    fn new(random: &'a mut Random, plan: &'a Plan, id: usize) -> Body<'a> {
        let function = &plan.functions[id];
        let mut locals: Vec<Option<Kind>> = function.params.iter().copied().map(Some).collect();
        locals.resize(function.locals as usize, None);
        Body {
            random,
            plan,
            function,
            code: Vec::new(),
            labels: Vec::new(),
            state: State {
                stack: Vec::new(),
                locals,
            },
        }
    }

    fn write(mut self, mut budget: usize) -> Vec<Word> {
        loop {
            let mut open = true;
            while open {
                open = match budget.checked_sub(1) {
                    Some(left) if self.state.stack.len() < HIGHEST => {
                        budget = left;
                        self.any()
                    }
                    _ => self.finish(),
                };
            }
            // What a jump leads to and was not written yet comes next.
            let Some(label) = self.labels.iter_mut().find(|label| label.at.is_none()) else {
                break;
            };
            label.at = Some(self.code.len());
            self.state = label.state.clone();
        }
        let start = self.plan.code.len();
        let labels = &self.labels;
        let target = |label: u32| start + labels[label as usize].at.unwrap_or(0);
        let built = self.code.iter().map(|(info, operands)| {
            let mut operands = operands.clone();
            for (operand, (_, role)) in operands.iter_mut().zip(info.operands) {
                if *role == Role::Label {
                    *operand = target(*operand) as u32;
                }
            }
            Word::build(info.byte, &operands)
        });
        built.flatten().collect()
    }

    /// Some instruction; whether control goes on after it.
    fn any(&mut self) -> bool {
        if self.random.once_in(8) {
            self.anchor();
        }
        let mut info = &INSTRUCTIONS[self.random.below(INSTRUCTIONS.len())];
        if self.random.once_in(3) {
            let marked = |info: &&Info| {
                info.pops.contains(&Slot::Args)
                    || info.pops.contains(&Slot::Params)
                    || info.pops.contains(&Slot::One(Kind::Tasks))
            };
            let marked: Vec<&Info> = INSTRUCTIONS.iter().filter(marked).collect();
            info = self.random.pick(&marked).copied().unwrap_or(info);
        }
        match info.flow {
            Flow::End | Flow::Jump if !self.random.once_in(6) => true,
            // Much of the list branches; code that did so as often would seldom get far.
            Flow::Branch(_) if self.random.once_in(2) => true,
            Flow::End if info.pops.contains(&Slot::OwnResults) => self.finish(),
            _ => self.emit(info),
        }
    }

    /// Let later jumps lead here. What is known is sometimes forgotten, so that more may.
    fn anchor(&mut self) {
        for local in &mut self.state.locals {
            if self.random.once_in(3) {
                *local = None;
            }
        }
        for kind in &mut self.state.stack {
            if !kind.is_linear() && self.random.once_in(2) {
                *kind = Kind::Any;
            }
        }
        self.labels.push(Label {
            state: self.state.clone(),
            at: Some(self.code.len()),
        });
    }

    /// A label that the state of now may lead to: one that is there, or a new one.
    fn label(&mut self) -> u32 {
        if !self.random.once_in(3) {
            let known = self.labels.iter().enumerate();
            let fitting = known.filter(|(_, label)| self.state.fits(&label.state));
            let fitting: Vec<u32> = fitting.map(|(id, _)| id as u32).collect();
            if let Some(label) = self.random.pick(&fitting) {
                return *label;
            }
        }
        self.labels.push(Label {
            state: self.state.clone(),
            at: None,
        });
        (self.labels.len() - 1) as u32
    }

    /// Write an instruction and what it takes; whether control goes on after it.
    fn emit(&mut self, info: &'static Info) -> bool {
        let operands = self.operands(info);
        // Making the second local of an instruction may have overwritten the first.
        let kept = |(&local, &(_, role)): (&u32, &(&str, Role))| match role {
            Role::LocalOf(kind) => self.state.locals[local as usize] == Some(kind),
            _ => true,
        };
        if !operands.iter().zip(info.operands).all(kept) {
            return true;
        }
        let pops: Vec<Kind> = { info.pops }
            .iter()
            .flat_map(|&slot| self.kinds(info, &operands, slot))
            .collect();
        let height = self.state.stack.len();
        let given = height
            .checked_sub(pops.len())
            .map(|from| &self.state.stack[from..]);
        let there = given.is_some_and(|given| given.iter().zip(&pops).all(|(k, w)| k.fits(*w)));
        if !there || self.random.once_in(3) {
            pops.iter().for_each(|&kind| self.make(kind));
        }
        self.apply(info, operands, pops.len())
    }

    /// Write an instruction whose operands and pops are as they should be.
    fn apply(&mut self, info: &'static Info, mut operands: Vec<u32>, pops: usize) -> bool {
        let top = self.state.stack.last().copied();
        let rest = self.state.stack.len() - pops;
        self.state.stack.truncate(rest);
        let mut held = None;
        for (&value, (_, role)) in operands.iter().zip(info.operands) {
            let local = value as usize;
            match role {
                Role::ReadLocal => held = self.state.locals[local],
                Role::TakeLocal => held = self.state.locals[local].take(),
                Role::WriteLocal => {
                    self.state.locals[local] = top;
                    held = top;
                }
                _ => {}
            }
        }
        let pushed = |body: &Body<'_>, slots: &[Slot], operands: &[u32]| -> Vec<Kind> {
            { slots }
                .iter()
                .flat_map(|&slot| match slot {
                    Slot::Held => held.into_iter().collect(),
                    other => body.kinds(info, operands, other),
                })
                .collect()
        };
        if let Some(at) = info
            .operands
            .iter()
            .position(|(_, role)| *role == Role::Label)
            && operands[at] == u32::MAX
        {
            let slots = match info.flow {
                Flow::Branch(slots) => slots,
                Flow::Jump => info.pushes,
                Flow::Next | Flow::End => &[],
            };
            let with = pushed(self, slots, &operands);
            self.state.stack.extend(with);
            operands[at] = self.label();
            self.state.stack.truncate(rest);
        }
        let pushes = pushed(self, info.pushes, &operands);
        self.state.stack.extend(pushes);
        self.code.push((info, operands));
        !matches!(info.flow, Flow::Jump | Flow::End)
    }

    /// Operands for an instruction; a label is left open.
    fn operands(&mut self, info: &'static Info) -> Vec<u32> {
        let builtin = &BUILTINS[self.random.below(BUILTINS.len())];
        let roles = info.operands.iter().map(|(_, role)| *role);
        let with_builtin = roles.clone().any(|role| role == Role::Builtin);
        roles
            .map(|role| match role {
                Role::Text => self.random.below(self.plan.texts.len()) as u32,
                Role::Const => self.random.below(self.plan.constants.len()) as u32,
                Role::Label => u32::MAX,
                Role::Func => self.random.below(self.plan.functions.len()) as u32,
                Role::TaskFunc => {
                    let ids = 0..self.plan.functions.len() as u32;
                    let fit = |&id: &u32| self.plan.functions[id as usize].results == [Kind::Any];
                    let fitting: Vec<u32> = ids.filter(fit).collect();
                    self.random.pick(&fitting).copied().unwrap_or(0)
                }
                Role::Host => self.random.below(self.plan.calls.len()) as u32,
                Role::Step => self.random.below(self.plan.steps.len()) as u32,
                Role::ReadLocal | Role::TakeLocal => self.local(None),
                Role::LocalOf(kind) => self.local(Some(kind)),
                Role::WriteLocal => self.random.below(self.state.locals.len()) as u32,
                Role::Count if with_builtin => {
                    let spread = (builtin.most - builtin.least).min(2) as usize;
                    u32::from(builtin.least) + self.random.below(spread + 1) as u32
                }
                Role::Count => self.random.below(4) as u32,
                Role::Int => match self.random.below(8) {
                    0 => self.random.next() as u32,
                    1 => -1i32 as u32,
                    other => other as u32,
                },
                Role::Builtin => builtin.builtin as u32,
                Role::Status => self.random.below(Status::ALL.len()) as u32,
            })
            .collect()
    }

    /// A local that is set, to this kind if one is asked for.
    fn local(&mut self, wanted: Option<Kind>) -> u32 {
        let fitting = |(_, kind): &(usize, &Option<Kind>)| match wanted {
            Some(wanted) => **kind == Some(wanted),
            None => kind.is_some(),
        };
        let known = self.state.locals.iter().enumerate().filter(fitting);
        let known: Vec<u32> = known.map(|(local, _)| local as u32).collect();
        if let Some(local) = self.random.pick(&known) {
            return *local;
        }
        let local = self.random.below(self.state.locals.len()) as u32;
        let kind = wanted.unwrap_or(Kind::Any);
        self.make(kind);
        if let Some(setter) = find(|info| info.pops == [Slot::Written] && info.pushes.is_empty()) {
            self.apply(setter, vec![local], 1);
        }
        local
    }

    /// Push something of a kind.
    fn make(&mut self, wanted: Kind) {
        let fitting = |info: &&Info| {
            let free =
                |role: &Role| matches!(role, Role::Int | Role::Text | Role::Const | Role::Step);
            info.flow == Flow::Next
                && info.pops.is_empty()
                && matches!(info.pushes, [Slot::One(kind)] if kind.fits(wanted))
                && info.operands.iter().all(|(_, role)| free(role))
        };
        let fitting: Vec<&'static Info> = INSTRUCTIONS.iter().filter(fitting).collect();
        if let Some(info) = self.random.pick(&fitting).copied() {
            let operands = self.operands(info);
            self.apply(info, operands, 0);
        }
    }

    /// The kinds a slot stands for; nothing in particular for what a local holds.
    fn kinds(&self, info: &Info, operands: &[u32], slot: Slot) -> Vec<Kind> {
        let of = |wanted: &[Role]| {
            let mut roles = { info.operands }.iter().zip(operands);
            roles
                .find(|((_, role), _)| wanted.contains(role))
                .map_or(0, |(_, &value)| value)
        };
        let function = of(&[Role::Func, Role::TaskFunc]) as usize;
        match slot {
            Slot::One(kind) => vec![kind],
            Slot::Many => vec![Kind::Any; of(&[Role::Count]) as usize],
            Slot::Held | Slot::Written => vec![Kind::Any],
            Slot::Params => self.plan.functions[function].params.clone(),
            Slot::Results => self.plan.functions[function].results.clone(),
            Slot::OwnResults => self.function.results.clone(),
            Slot::Args => {
                let call = &self.plan.calls[of(&[Role::Host]) as usize];
                vec![Kind::Data; call.open.count_ones() as usize]
            }
        }
    }

    /// End what is linear, and return; control does not go on.
    fn finish(&mut self) -> bool {
        let dropper = find(|info| {
            info.pops == [Slot::One(Kind::Any)] && info.pushes.is_empty() && info.flow == Flow::Next
        });
        let jump = find(|info| info.flow == Flow::Jump && info.operands.len() == 1);
        let returner = find(|info| info.pops.contains(&Slot::OwnResults));
        let (Some(dropper), Some(jump), Some(returner)) = (dropper, jump, returner) else {
            return false;
        };
        while self.state.stack.iter().any(|kind| kind.is_linear()) {
            match self.state.stack.last() {
                Some(kind) if kind.is_linear() => self.close(*kind, dropper, jump),
                _ => {
                    self.apply(dropper, vec![], 1);
                }
            }
        }
        let results = &self.function.results;
        results.iter().for_each(|&kind| self.make(kind));
        self.apply(returner, vec![], results.len())
    }

    /// Take what is linear off the top of the stack.
    fn close(&mut self, kind: Kind, dropper: &'static Info, jump: &'static Info) {
        let slot = Slot::One(kind);
        let ends = |info: &&Info| {
            info.flow == Flow::Next
                && info.pops.first() == Some(&slot)
                && !info.pushes.contains(&slot)
        };
        let closers: Vec<&'static Info> = INSTRUCTIONS.iter().filter(ends).collect();
        if let Some(closer) = self.random.pick(&closers).copied() {
            for slot in &closer.pops[1..] {
                if let Slot::One(kind) = slot {
                    self.make(*kind);
                }
            }
            let operands = self.operands(closer);
            self.apply(closer, operands, closer.pops.len());
            return;
        }
        // Nothing takes it off at once: go round until the branch does that drops it.
        let drains = |info: &&Info| {
            let without = |slots: &[Slot]| !slots.contains(&slot);
            info.pops == [slot] && matches!(info.flow, Flow::Branch(slots) if without(slots))
        };
        let drainers: Vec<&'static Info> = INSTRUCTIONS.iter().filter(drains).collect();
        let Some(drainer) = self.random.pick(&drainers).copied() else {
            self.state.stack.pop();
            return;
        };
        let top = self.labels.len() as u32;
        self.labels.push(Label {
            state: self.state.clone(),
            at: Some(self.code.len()),
        });
        let mut outside = self.state.clone();
        outside.stack.pop();
        self.labels.push(Label {
            state: outside.clone(),
            at: None,
        });
        let height = self.state.stack.len();
        self.apply(drainer, vec![top + 1], 1);
        while self.state.stack.len() > height {
            self.apply(dropper, vec![], 1);
        }
        self.apply(jump, vec![top], 0);
        self.labels[top as usize + 1].at = Some(self.code.len());
        self.state = outside;
    }
}

fn find(wanted: impl Fn(&Info) -> bool) -> Option<&'static Info> {
    INSTRUCTIONS.iter().find(|info| wanted(info))
}
