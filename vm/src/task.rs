//! One line of execution, and sets of them.
//!
//! Data only: what a task holds while it runs or waits. Who runs when is decided in `machine`.

use crate::value::Value;
use std::collections::VecDeque;

/// The number of a step that was begun, in the order of their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId(pub u32);

/// How deep functions may call each other in one task.
pub(crate) const MAX_FRAMES: usize = 256;
/// How many variables one task may have shadowed.
pub(crate) const MAX_SHADOWS: usize = 4096;
/// How many tasks may be alive.
pub(crate) const MAX_TASKS: usize = 100_000;

/// A function being run. Its locals start at `base` in the stack of its task, and what it
/// computes stands above them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub function: u32,
    /// The instruction that comes next.
    pub at: u32,
    pub base: u32,
}

/// A step that was begun and not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub record: RecordId,
    pub attempt: u32,
}

/// What a variable held before it was set for a while.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// How many functions were running: the last of them has the variable.
    pub depth: usize,
    pub scope: u8,
    pub name: u32,
    /// None if it was not set.
    pub held: Option<Value>,
}

/// What keeps a task from going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Nothing does.
    #[default]
    No,
    /// The reply to a call, by its ticket.
    Reply(u64),
    /// Something about a set of its own.
    Set(u32),
}

#[derive(Debug, Default)]
pub(crate) struct Task {
    pub stack: Vec<Value>,
    pub frames: Vec<Frame>,
    pub open: Vec<Open>,
    pub shadows: Vec<Shadow>,
    /// The open step that was innermost where this task was forked.
    pub above: Option<RecordId>,
    pub waits: Waits,
    /// The set it belongs to and its number there; none for the first task of a run.
    pub member_of: Option<(u32, u32)>,
    /// The sets it made and has not joined.
    pub sets: Vec<u32>,
    /// The ticket of its deadline.
    pub deadline: Option<u64>,
    /// Tells it from an earlier task in the same place.
    pub birth: u64,
    /// The instruction that forked it.
    pub forked_at: u32,
}

impl Task {
    /// As good as new, with what it has allocated; what else it is, is set when it starts.
    pub fn clear(&mut self) {
        self.stack.clear();
        self.frames.clear();
        self.open.clear();
        self.shadows.clear();
        self.sets.clear();
        self.waits = Waits::No;
        self.deadline = None;
    }

    /// Leaves a function, and what it has shadowed with it.
    pub fn leave(&mut self) {
        self.frames.pop();
        let depth = self.frames.len();
        while self.shadows.last().is_some_and(|last| last.depth > depth) {
            self.shadows.pop();
        }
    }

    /// What a variable of the function that runs held at its last shadow.
    pub fn unshadow(&mut self, scope: u8, name: u32) -> Option<Value> {
        let depth = self.frames.len();
        let is_it = |one: &Shadow| (one.depth, one.scope, one.name) == (depth, scope, name);
        let at = self.shadows.iter().rposition(is_it)?;
        self.shadows.remove(at).held
    }

    pub fn innermost(&self) -> Option<RecordId> {
        self.open.last().map(|open| open.record).or(self.above)
    }

    /// Count another attempt of an open step; its number.
    pub fn attempt(&mut self, record: RecordId) -> u32 {
        let open = self.open.iter_mut().rfind(|open| open.record == record);
        open.map_or(0, |open| {
            open.attempt = open.attempt.saturating_add(1);
            open.attempt
        })
    }

    pub fn close(&mut self, record: RecordId) {
        if let Some(found) = self.open.iter().rposition(|open| open.record == record) {
            self.open.remove(found);
        }
    }

    /// The instruction it is at.
    pub fn at(&self) -> u32 {
        self.frames.last().map_or(0, |frame| frame.at)
    }
}

#[derive(Debug)]
pub(crate) enum Member {
    Runs(u32),
    Ended(Value),
    Joined,
}

/// Tasks that one task waits for together. Members that are joined are forgotten as soon as no
/// earlier one is left: a loop of any length holds no more than what it runs at once.
#[derive(Debug)]
pub(crate) struct TaskSet {
    pub owner: u32,
    /// Those from the first that is not joined.
    pub members: VecDeque<Member>,
    /// How many were before them.
    gone: usize,
    /// Members in the order of their end; some may be joined already.
    ended: VecDeque<u32>,
    pub running: u32,
    /// What they are called, where somebody wants to know what became of them.
    pub labels: Option<Value>,
}

impl TaskSet {
    pub fn new(owner: u32) -> TaskSet {
        TaskSet {
            owner,
            members: VecDeque::new(),
            gone: 0,
            ended: VecDeque::new(),
            running: 0,
            labels: None,
        }
    }

    pub fn all_joined(&self) -> bool {
        self.members.is_empty()
    }

    /// The number of the member that is added next.
    pub fn next(&self) -> u32 {
        (self.gone + self.members.len()) as u32
    }

    /// Members that run: their numbers, and their tasks.
    pub fn alive(&self) -> impl Iterator<Item = (u32, u32)> {
        let numbered = (self.gone as u32..).zip(&self.members);
        numbered.filter_map(|(number, member)| match member {
            Member::Runs(task) => Some((number, *task)),
            Member::Ended(_) | Member::Joined => None,
        })
    }

    fn member(&mut self, number: u32) -> Option<&mut Member> {
        let place = (number as usize).checked_sub(self.gone)?;
        self.members.get_mut(place)
    }

    pub fn end(&mut self, number: u32, result: Value) {
        if let Some(member) = self.member(number)
            && matches!(member, Member::Runs(_))
        {
            *member = Member::Ended(result);
            self.running -= 1;
            self.ended.push_back(number);
        }
    }

    /// The result of the first member that was not joined yet, if it has ended.
    pub fn join_first(&mut self) -> Option<Value> {
        self.join(self.gone as u32)
    }

    /// Number and result of the member that ended first of those not joined yet.
    pub fn join_any(&mut self) -> Option<(u32, Value)> {
        while let Some(number) = self.ended.pop_front() {
            if let Some(result) = self.join(number) {
                return Some((number, result));
            }
        }
        None
    }

    fn join(&mut self, number: u32) -> Option<Value> {
        let member = self.member(number)?;
        let result = match std::mem::replace(member, Member::Joined) {
            Member::Ended(result) => result,
            other => {
                *member = other;
                return None;
            }
        };
        while let Some(Member::Joined) = self.members.front() {
            self.members.pop_front();
            self.gone += 1;
        }
        while (self.ended.front()).is_some_and(|number| (*number as usize) < self.gone) {
            self.ended.pop_front();
        }
        Some(result)
    }
}
