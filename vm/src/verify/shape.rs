//! What each line of the instruction list asks for, ready to be compared.
//!
//! A kind is a set here: of all that a value of it may be. So a kind fits another if it has nothing
//! that the other has not, and one `and` finds out.

use crate::isa::{Flow, INSTRUCTIONS, Info, Kind, Role, Slot};
use std::sync::LazyLock;

/// What a value may be, a bit each.
pub(super) type Bits = u16;
/// What there is besides: a local that is not set, which may be anything and nothing ...
pub(super) const MISSING: Bits = 1 << 9;
/// ... and what lies below the stack of a function, which fits nothing.
pub(super) const BELOW: Bits = 1 << 15;
pub(super) const UNSET: Bits = MISSING | (MISSING - 1);
pub(super) const LINEAR: Bits = bits(Kind::Step) | bits(Kind::Tasks);

#[inline]
pub(super) const fn bits(kind: Kind) -> Bits {
    match kind {
        Kind::Bool => 1,
        Kind::Int => 1 << 1,
        Kind::Text => 1 << 2,
        Kind::List => 1 << 3,
        Kind::Map => 1 << 4,
        // And what has no kind of its own: null, floats, bytes.
        Kind::Data => (1 << 6) - 1,
        Kind::Any => (1 << 7) - 1,
        Kind::Step => 1 << 7,
        Kind::Tasks => 1 << 8,
    }
}

pub(super) fn kind(set: Bits) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| bits(*kind) == set)
}

/// What must not be among what a value may be where `wanted` is asked for.
#[inline]
pub(super) const fn unfit(wanted: Kind) -> Bits {
    !bits(wanted)
}

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

pub(super) const ANYTHING: u8 = 8;

/// What the operands of a line must be.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    /// The ranges of the first narrow one, and of the wide one.
    pub narrow: u8,
    pub wide: u8,
    /// Whether that is not all: the list is asked.
    pub particular: bool,
    /// The bits of the first narrow one, which may be a short one instead.
    pub first: u32,
}

/// What a line of the list asks for; of a size that makes it quick to find.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Shape {
    pub class: Class,
    pub pops: u8,
    /// One if something is pushed, else none; the class may say what.
    pub pushes: u8,
    /// What must not be among what is popped, the top of the stack first.
    pub unfit: [Bits; 3],
    pub pushed: Bits,
    /// What is pushed before a branch, and how much of it.
    pub branch: [Bits; 2],
    pub branches: u8,
    /// Which narrow operand is a count.
    pub count: u8,
    /// Whether control may go to the wide operand.
    pub jumps: bool,
    pub operands: Operands,
}

/// The few ways of most instructions: what is done beyond popping three kinds at most and pushing
/// one at most. A local is the first narrow operand.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Class {
    Plain,
    /// Pushes the kind of a local.
    Read,
    Take,
    /// Pops the kind of a local.
    Write,
    /// Has a local that holds this.
    Of(Bits),
    Branch,
    Jump,
    End,
    /// Pops as many `any` as its count says.
    Many,
    /// Pops the open arguments of a host call.
    Args,
    /// Anything: the list is asked.
    Other,
}

const NOTHING: Shape = Shape {
    class: Class::Other,
    pops: 0,
    pushes: 0,
    unfit: [0; 3],
    pushed: UNSET,
    branch: [UNSET; 2],
    branches: 0,
    count: 0,
    jumps: false,
    operands: Operands {
        narrow: ANYTHING,
        wide: ANYTHING,
        particular: false,
        first: 0xff,
    },
};

/// The shapes of the instructions, by their bytes.
pub(super) fn shapes() -> &'static [Shape; 256] {
    static SHAPES: LazyLock<[Shape; 256]> = LazyLock::new(|| {
        let mut shapes = [NOTHING; 256];
        for info in INSTRUCTIONS {
            shapes[info.byte as usize] = shape(info);
        }
        shapes
    });
    &SHAPES
}

fn shape(info: &Info) -> Shape {
    let mut shape = NOTHING;
    let mut places = 0;
    shape.jumps = matches!(info.flow, Flow::Jump | Flow::Branch(_));
    for (&(_, role), room) in info.operands.iter().zip(info.rooms) {
        shape.operands.particular |= matches!(role, Role::TaskFunc | Role::Builtin);
        if room.shift == 32 {
            shape.operands.wide = range_of(role);
            continue;
        }
        if places == 0 {
            shape.operands.first = room.mask;
            shape.operands.narrow = range_of(role);
        } else {
            shape.operands.particular |= range_of(role) != ANYTHING;
        }
        if role == Role::Count {
            shape.count = places;
        }
        places += 1;
    }
    shape.class = class(info, &mut shape).unwrap_or(Class::Other);
    shape
}

/// The class of a line, with what it pops and pushes; none if that is not all there is to it.
fn class(info: &Info, shape: &mut Shape) -> Option<Class> {
    let mut locals = info.operands.iter().filter_map(|(_, role)| match role {
        Role::ReadLocal => Some(Class::Read),
        Role::TakeLocal => Some(Class::Take),
        Role::WriteLocal => Some(Class::Write),
        Role::LocalOf(kind) => Some(Class::Of(bits(*kind))),
        _ => None,
    });
    let class = match (locals.next(), locals.next(), info.flow, info.pops) {
        (_, Some(_), ..) => return None,
        (None, _, Flow::Next, [Slot::Many]) => Class::Many,
        (None, _, Flow::Branch(_), [Slot::Many]) => Class::Many,
        (None, _, Flow::Next | Flow::Branch(_), [Slot::Args]) => Class::Args,
        (None, _, Flow::Next, _) => Class::Plain,
        (None, _, Flow::Branch(_), _) => Class::Branch,
        (None, _, Flow::Jump, _) => Class::Jump,
        (None, _, Flow::End, _) => Class::End,
        // The operand that names the local comes first.
        (Some(class), _, Flow::Next, _) if shape.operands.narrow == range_of(Role::ReadLocal) => {
            class
        }
        _ => return None,
    };
    if !matches!(class, Class::Many | Class::Args) {
        shape.pops = info.pops.len() as u8;
        for (unfits, slot) in shape.unfit.iter_mut().zip(info.pops.iter().rev()) {
            *unfits = match (slot, class) {
                (Slot::One(kind), _) => unfit(*kind),
                (Slot::Written, Class::Write) => unfit(Kind::Any),
                _ => return None,
            };
        }
    }
    let (branch, pushes) = match info.flow {
        Flow::Branch(slots) => (slots, info.pushes),
        Flow::Jump => (info.pushes, &[][..]),
        Flow::Next | Flow::End => (&[][..], info.pushes),
    };
    shape.pushes = pushes.len() as u8;
    shape.pushed = match (pushes, class) {
        ([], _) => UNSET,
        ([Slot::One(kind)], _) => bits(*kind),
        ([Slot::Held], Class::Read | Class::Take | Class::Write) => UNSET,
        _ => return None,
    };
    let written = class != Class::Write || info.pops.len() == 1;
    let held = !matches!(class, Class::Read | Class::Take) || shape.pushed == UNSET;
    shape.branches = branch.len() as u8;
    for (kinds, slot) in shape.branch.iter_mut().zip(branch) {
        *kinds = match slot {
            Slot::One(kind) => bits(*kind),
            _ => return None,
        };
    }
    let few = info.pops.len() <= shape.unfit.len() && branch.len() <= shape.branch.len();
    (written && held && few).then_some(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_fit_and_join_as_kinds_do() {
        for a in Kind::ALL {
            assert_eq!(kind(bits(a)), Some(a));
            assert_ne!(bits(a) & MISSING & BELOW, bits(a));
            assert_eq!(bits(a) & LINEAR != 0, a.is_linear());
            for b in Kind::ALL {
                assert_eq!(bits(a) & unfit(b) == 0, a.fits(b), "{a:?} {b:?}");
                let joined = b.join(a) == Some(b);
                assert_eq!(bits(a) & !bits(b) == 0, joined, "{a:?} {b:?}");
            }
            assert_ne!(UNSET & unfit(a), 0);
            assert_ne!(BELOW & unfit(a), 0);
            assert_eq!(bits(a) & !UNSET, 0);
        }
    }
}
