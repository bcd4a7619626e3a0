//! What each line of the instruction list asks for, ready to be compared.

use crate::isa::{Flow, INSTRUCTIONS, Kind, Role, Slot};
use std::sync::LazyLock;

pub(super) const ANYTHING: u8 = 8;

// Which of `Checker::ranges` the operand of a role must be in.
pub(super) fn range_of(role: Role) -> u8 {
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
pub(super) struct Shape {
    /// Some slot stands for several kinds: what follows does not say it all.
    pub several: bool,
    pub flow: Way,
    pub pop_count: u8,
    pub push_count: u8,
    /// What is popped, the top of the stack first.
    pub pops: [Kind; 3],
    /// The kinds that may stand there, a bit each.
    pub fit: [u16; 3],
    pub pushes: [Kind; 3],
    /// What is pushed before a branch.
    pub branch: Option<Kind>,
    pub ranges: [u8; 3],
    pub operands: u8,
    /// Some operand needs more than to be in its range.
    pub particular: bool,
    pub jumps: bool,
    /// Which operand is a label.
    pub label: u8,
    /// What is done with locals.
    pub locals: [Touch; 2],
    pub class: Class,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Way {
    On,
    Jump,
    Branch,
    End,
}

/// The few ways of most instructions; what is done beyond popping and pushing at most one kind.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Class {
    Plain,
    /// Pushes the kind of the local it names first.
    Read,
    Take,
    Write,
    /// Its first operand names a local that holds this.
    Of(Kind),
    Branch,
    Jump,
    End,
    Other,
}

fn class(shape: &Shape) -> Class {
    if shape.several || shape.push_count > 1 {
        return Class::Other;
    }
    match (shape.flow, shape.locals) {
        (Way::On, [Touch::No, Touch::No]) => Class::Plain,
        (Way::On, [Touch::Read, Touch::No]) => Class::Read,
        (Way::On, [Touch::Take, Touch::No]) => Class::Take,
        (Way::On, [Touch::Write, Touch::No]) if shape.pop_count == 1 => Class::Write,
        (Way::On, [Touch::Of(kind), Touch::No]) => Class::Of(kind),
        (Way::Branch, [Touch::No, Touch::No]) => Class::Branch,
        (Way::Jump, [Touch::No, Touch::No]) => Class::Jump,
        (Way::End, [Touch::No, Touch::No]) => Class::End,
        _ => Class::Other,
    }
}

/// What an operand does with the local it names.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Touch {
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
    fit: [0; 3],
    pushes: [Kind::Any; 3],
    branch: None,
    ranges: [ANYTHING; 3],
    operands: 0,
    particular: false,
    jumps: false,
    label: 0,
    locals: [Touch::No; 2],
    class: Class::Other,
};

/// How many lines the list can have.
pub(super) const LINES: usize = 256;

pub(super) fn shapes() -> &'static [Shape; LINES] {
    static SHAPES: LazyLock<[Shape; LINES]> = LazyLock::new(made);
    &SHAPES
}

fn made() -> [Shape; LINES] {
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
        shape.pops[..(shape.pop_count & 3) as usize].reverse();
        for (fit, wanted) in shape.fit.iter_mut().zip(shape.pops) {
            let fits = |kind: &&Kind| kind.fits(wanted);
            *fit = Kind::ALL.iter().filter(fits).map(|kind| bit(*kind)).sum();
        }
        shape.jumps = matches!(shape.flow, Way::Jump | Way::Branch);
        shape.several = !said;
        shape.class = class(shape);
    }
    shapes
}

pub(super) fn bit(kind: Kind) -> u16 {
    1 << (kind as u8)
}
