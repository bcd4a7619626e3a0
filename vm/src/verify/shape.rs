//! What each line of the instruction list asks for, ready to be compared.
//!
//! Kinds are bits here, so that one `and` tells whether a kind is among those that fit.

use crate::isa::{Flow, INSTRUCTIONS, Info, Kind, Role, Slot};
use std::sync::LazyLock;

/// A kind as a bit; no bit for a local that is not set.
pub(super) type Bits = u16;
pub(super) const UNSET: Bits = 0;

#[inline]
pub(super) fn bits(kind: Kind) -> Bits {
    1 << (kind as u8)
}

pub(super) fn kind(bits: Bits) -> Option<Kind> {
    Kind::ALL.get(bits.trailing_zeros() as usize).copied()
}

/// The kinds that may stand where `wanted` is asked for.
#[inline]
pub(super) fn fitting(wanted: Kind) -> Bits {
    static FITTING: LazyLock<[Bits; Kind::ALL.len()]> = LazyLock::new(|| {
        let all = |wanted| Kind::ALL.iter().filter(move |kind| kind.fits(wanted));
        Kind::ALL.map(|wanted| all(wanted).map(|kind| bits(*kind)).sum())
    });
    FITTING[wanted as usize]
}

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

/// What a line of the list asks for.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub class: Class,
    pub pop_count: u8,
    /// Whether something is pushed, if the class says what.
    pub pushes: bool,
    /// What may be popped, the top of the stack first.
    pub fit: [Bits; 3],
    pub pushed: Bits,
    /// What is pushed before a branch, if anything is.
    pub branch: Bits,
    pub operands: bool,
    /// The ranges of the narrow operands, and of the wide one.
    pub narrow: [u8; 2],
    pub wide: u8,
    /// Some operand needs more than to be in its range.
    pub particular: bool,
    pub jumps: bool,
    /// Which narrow operand is a count.
    pub count: u8,
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
    pop_count: 0,
    pushes: false,
    fit: [UNSET; 3],
    pushed: UNSET,
    branch: UNSET,
    operands: false,
    narrow: [ANYTHING; 2],
    wide: ANYTHING,
    particular: false,
    jumps: false,
    count: 0,
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
    shape.operands = !info.operands.is_empty();
    let mut places = 0;
    for &(_, role) in info.operands {
        shape.particular |= matches!(role, Role::TaskFunc | Role::Builtin);
        if role.width() == 4 {
            shape.wide = range_of(role);
            continue;
        }
        if role == Role::Count {
            shape.count = places;
        }
        if let Some(place) = shape.narrow.get_mut(places as usize) {
            *place = range_of(role);
        }
        places += 1;
    }
    shape.jumps = matches!(info.flow, Flow::Jump | Flow::Branch(_));
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
        (None, _, Flow::Next, [Slot::Args]) => Class::Args,
        (None, _, Flow::Next, _) => Class::Plain,
        (None, _, Flow::Branch(_), _) => Class::Branch,
        (None, _, Flow::Jump, _) => Class::Jump,
        (None, _, Flow::End, _) => Class::End,
        // The operand that names the local comes first.
        (Some(class), _, Flow::Next, _) if shape.narrow[0] == range_of(Role::ReadLocal) => class,
        _ => return None,
    };
    if !matches!(class, Class::Many | Class::Args) {
        shape.pop_count = info.pops.len() as u8;
        for (fit, slot) in shape.fit.iter_mut().zip(info.pops.iter().rev()) {
            *fit = match (slot, class) {
                (Slot::One(kind), _) => fitting(*kind),
                (Slot::Written, Class::Write) => fitting(Kind::Any),
                _ => return None,
            };
        }
    }
    shape.pushes = !info.pushes.is_empty();
    shape.pushed = match (info.pushes, class) {
        ([], _) => UNSET,
        ([Slot::One(kind)], _) => bits(*kind),
        ([Slot::Held], Class::Read | Class::Take | Class::Write) => UNSET,
        _ => return None,
    };
    let written = class != Class::Write || info.pops.len() == 1;
    let held = !matches!(class, Class::Read | Class::Take) || shape.pushed == UNSET;
    shape.branch = match info.flow {
        Flow::Branch([Slot::One(kind)]) => bits(*kind),
        Flow::Branch([]) | Flow::Next | Flow::Jump | Flow::End => UNSET,
        Flow::Branch(_) => return None,
    };
    (written && held && info.pops.len() <= shape.fit.len()).then_some(class)
}
