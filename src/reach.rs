//! What of a plan may run, as far as its constants and a few variables decide that: a step whose tags are
//! left out, or whose condition is never true, does not.
//!
//! Follows the code along every way that is not ruled out. Of values it knows those on top of the stack
//! that come of constants and of those variables; everything else may be anything.

use rrc_vm::isa::{Flow, Instr, Role, Word};
use rrc_vm::plan::Plan;
use rrc_vm::policy;
use rrc_vm::value::{Map, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// The steps that may ask for something. `known` holds variables that nothing changes.
pub fn steps(plan: &Plan, known: &Map) -> FxHashSet<u32> {
    let mut walk = Walk {
        plan,
        known,
        seen: FxHashMap::default(),
        left: Vec::new(),
        steps: FxHashSet::default(),
    };
    walk.enter(0);
    while let Some((at, stack)) = walk.left.pop() {
        if let Some(word) = plan.code.get(at as usize) {
            walk.step(at, *word, stack);
        }
    }
    walk.steps
}

/// The top of a stack: values that are known, and those that are not. Nothing is known of what is below.
type Stack = Vec<Option<Value>>;

struct Walk<'a> {
    plan: &'a Plan,
    known: &'a Map,
    /// With which stack a place was reached.
    seen: FxHashMap<u32, Stack>,
    left: Vec<(u32, Stack)>,
    steps: FxHashSet<u32>,
}

impl Walk<'_> {
    /// Goes on at a place, unless all that follows from it is known already. What was reached in two ways
    /// is gone through once more without values.
    fn go(&mut self, at: u32, stack: Stack) {
        let stack = match self.seen.get(&at) {
            Some(seen) if seen.is_empty() || is_same(seen, &stack) => return,
            Some(_) => Stack::new(),
            None => stack,
        };
        self.seen.insert(at, stack.clone());
        self.left.push((at, stack));
    }

    fn enter(&mut self, function: u32) {
        if let Some(function) = self.plan.functions.get(function as usize) {
            self.go(function.start, Stack::new());
        }
    }

    fn step(&mut self, at: u32, word: Word, mut stack: Stack) {
        let text = |id| self.plan.texts.get(id);
        let next = at + 1;
        match word.instr() {
            Instr::Null {} => stack.push(Some(Value::Null)),
            Instr::True {} => stack.push(Some(Value::Bool(true))),
            Instr::False {} => stack.push(Some(Value::Bool(false))),
            Instr::Int { value } => stack.push(Some(Value::Int(value.into()))),
            Instr::Text { text: id } => stack.push(text(id).map(Value::text)),
            Instr::VarOrNull { scope: 0, name } => {
                let known = text(name).and_then(|name| self.known.get(name));
                stack.push(known.cloned());
            }
            Instr::Not {} => {
                let value = pop(&mut stack);
                stack.push(value.map(|value| Value::Bool(!is_true(&value))));
            }
            Instr::EqByType { to } => return self.two(next, to, stack, policy::eq_by_type),
            Instr::NeByType { to } => {
                return self.two(next, to, stack, |a, b| !policy::eq_by_type(a, b));
            }
            Instr::EqNumbersFirst { to } => {
                return self.two(next, to, stack, policy::eq_numbers_first);
            }
            Instr::NeNumbersFirst { to } => {
                return self.two(next, to, stack, |a, b| !policy::eq_numbers_first(a, b));
            }
            Instr::InByType { to } => {
                return self.two(next, to, stack, |item, whole| {
                    policy::in_by_type(item, whole).unwrap_or(true)
                });
            }
            Instr::TruthWords { to } => return self.truth(next, to, stack, policy::truth_words),
            Instr::TruthEmptiness { to } => {
                return self.truth(next, to, stack, policy::truth_emptiness);
            }
            Instr::TruthFlags { to } => return self.truth(next, to, stack, policy::truth_flags),
            Instr::Jump { to } => return self.go(to, stack),
            Instr::JumpIf { to } => return self.branch(to, next, stack),
            Instr::JumpUnless { to } => return self.branch(next, to, stack),
            Instr::PassUnlessWords { to, .. } => {
                return self.pass(next, to, stack, policy::truth_words);
            }
            Instr::PassUnlessEmptiness { to, .. } => {
                return self.pass(next, to, stack, policy::truth_emptiness);
            }
            _ => return self.anything(next, word),
        }
        self.go(next, stack);
    }

    /// What compares two values.
    fn two(
        &mut self,
        next: u32,
        failed: u32,
        mut stack: Stack,
        compare: impl Fn(&Value, &Value) -> bool,
    ) {
        let right = pop(&mut stack);
        let left = pop(&mut stack);
        let both = left.zip(right);
        let known = both.map(|(left, right)| Value::Bool(compare(&left, &right)));
        self.known_or_failed(next, failed, stack, known);
    }

    fn truth(&mut self, next: u32, failed: u32, mut stack: Stack, truth: fn(&Value) -> bool) {
        let known = pop(&mut stack).map(|value| Value::Bool(truth(&value)));
        self.known_or_failed(next, failed, stack, known);
    }

    fn known_or_failed(&mut self, next: u32, failed: u32, mut stack: Stack, known: Option<Value>) {
        if known.is_none() {
            self.go(failed, Stack::new());
        }
        stack.push(known);
        self.go(next, stack);
    }

    fn branch(&mut self, if_true: u32, if_false: u32, mut stack: Stack) {
        let known = pop(&mut stack).map(|value| is_true(&value));
        if known != Some(false) {
            self.go(if_true, stack.clone());
        }
        if known != Some(true) {
            self.go(if_false, stack);
        }
    }

    /// A step that is passed over unless its condition holds.
    fn pass(&mut self, next: u32, to: u32, mut stack: Stack, truth: fn(&Value) -> bool) {
        let known = pop(&mut stack).map(|value| truth(&value));
        if known != Some(true) {
            self.go(to, stack);
        }
        if known != Some(false) {
            self.go(next, Stack::new());
        }
    }

    /// Whatever else may stand there.
    fn anything(&mut self, next: u32, word: Word) {
        let info = word.info();
        for (value, (_, role)) in word.values().into_iter().zip(info.operands) {
            match role {
                Role::Label => self.go(value, Stack::new()),
                Role::Func | Role::TaskFunc => self.enter(value),
                Role::Host => {
                    let call = self.plan.calls.get(value as usize);
                    self.steps.extend(call.map(|call| call.step));
                }
                _ => {}
            }
        }
        if matches!(info.flow, Flow::Next | Flow::Branch(_)) {
            self.go(next, Stack::new());
        }
    }
}

/// The top; not known if nothing is known of the stack.
fn pop(stack: &mut Stack) -> Option<Value> {
    stack.pop().flatten()
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true))
}

/// Whether two stacks are the same for certain.
fn is_same(one: &Stack, other: &Stack) -> bool {
    let same = |pair: (&Option<Value>, &Option<Value>)| match pair {
        (None, None) => true,
        (Some(Value::Bool(one)), Some(Value::Bool(other))) => one == other,
        _ => false,
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}
