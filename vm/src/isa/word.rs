//! An instruction as it stands in a plan, in eight bytes that go to a file and back as they are.
//!
//! Its byte comes first, then its narrow operands, of which there are two at most; a wide operand
//! stands in the upper half, and what an instruction does not use is zero. Where a label stands
//! there, a step or a call besides has the three bytes of the narrow ones. There is no word that
//! does not mean an instruction of the list.

use super::{FUEL, INSTRUCTIONS, Info, Instr, LABELLED, LINE_OF_BYTE, Role, USED, info_of};
use std::fmt;

/// A step or a call beside a label. No recipe has so many that three bytes are too few: a number
/// that does not fit is the last that does, which no table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short([u8; 3]);

impl Short {
    pub const MOST: u32 = (1 << 24) - 1;

    pub const fn new(index: u32) -> Short {
        let index = if index > Short::MOST {
            Short::MOST
        } else {
            index
        };
        let [a, b, c, _] = index.to_le_bytes();
        Short([a, b, c])
    }

    #[inline(always)]
    pub const fn get(self) -> u32 {
        let Short([a, b, c]) = self;
        u32::from_le_bytes([a, b, c, 0])
    }
}

/// How an operand comes and goes as bits.
pub(super) trait Operand {
    fn to_bits(self) -> u32;
    fn from_bits(bits: u32) -> Self;
}

macro_rules! operand {
    ($($int:ident)*) => {
        $(impl Operand for $int {
            #[inline(always)]
            fn to_bits(self) -> u32 {
                self as u32
            }

            #[inline(always)]
            fn from_bits(bits: u32) -> $int {
                bits as $int
            }
        })*
    };
}

operand! { u8 u32 i32 }

impl Operand for Short {
    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.get()
    }

    #[inline(always)]
    fn from_bits(bits: u32) -> Short {
        Short::new(bits)
    }
}

/// Where in a word an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub shift: u8,
    /// As many bits as it has, all set.
    pub mask: u32,
}

impl Room {
    #[inline(always)]
    pub const fn get(self, word: u64) -> u32 {
        (word >> self.shift) as u32 & self.mask
    }

    #[inline(always)]
    pub(super) const fn put(self, value: u32) -> u64 {
        ((value & self.mask) as u64) << self.shift
    }
}

/// Where the operands of these roles are.
pub(super) const fn rooms(roles: &[Role]) -> [Room; 3] {
    let mut rooms = [Room { shift: 0, mask: 0 }; 3];
    let (mut narrow, mut wide, mut at) = (8, 0, 0);
    while at < roles.len() {
        wide += (roles[at].width() == 4) as usize;
        at += 1;
    }
    at = 0;
    while at < roles.len() {
        rooms[at] = if roles[at].width() == 1 {
            narrow += 8;
            Room {
                shift: narrow - 8,
                mask: 0xff,
            }
        } else if wide == 2 && !matches!(roles[at], Role::Label) {
            Room {
                shift: 8,
                mask: Short::MOST,
            }
        } else {
            Room {
                shift: 32,
                mask: u32::MAX,
            }
        };
        at += 1;
    }
    rooms
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Word(pub(super) u64);

impl Word {
    /// The word of these bits; none if no instruction is written like this.
    #[inline]
    pub fn read(bits: u64) -> Option<Word> {
        (bits & !USED[bits as u8 as usize] == 0 && bits != 0).then_some(Word(bits))
    }

    /// The word of this byte with these operands, which must be as many as its line says. A value
    /// too wide for its place is cut to it.
    pub fn build(byte: u8, operands: &[u32]) -> Option<Word> {
        let info = info_of(byte)?;
        if operands.len() != info.operands.len() {
            return None;
        }
        let mut bits = u64::from(byte);
        for (&value, room) in operands.iter().zip(info.rooms) {
            bits |= room.put(value);
        }
        Some(Word(bits))
    }

    pub fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    pub fn byte(self) -> u8 {
        self.0 as u8
    }

    /// The narrow operand in this place, 0 or 1; zero if there is none.
    #[inline(always)]
    pub fn narrow(self, place: u8) -> u8 {
        (self.0 >> (8 + 8 * (place & 1))) as u8
    }

    /// The operand in place of the narrow ones; what they are if there are such.
    #[inline(always)]
    pub fn short(self) -> u32 {
        (self.0 >> 8) as u32 & Short::MOST
    }

    /// The wide operand; zero if there is none. The bits of an `Int` are those of an `i32`.
    #[inline(always)]
    pub fn wide(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether the wide operand is a place in the code.
    #[inline(always)]
    pub fn has_label(self) -> bool {
        LABELLED[self.byte() as usize]
    }

    /// The same with another wide operand, if it has one.
    #[must_use]
    pub fn with_wide(self, value: u32) -> Word {
        let wide = USED[self.byte() as usize] >> 32 << 32;
        Word(self.0 & !wide | u64::from(value) << 32 & wide)
    }

    /// The line of the list that describes it.
    #[inline]
    pub fn info(self) -> &'static Info {
        &INSTRUCTIONS[LINE_OF_BYTE[self.byte() as usize] as usize]
    }

    /// What that line charges.
    #[inline(always)]
    pub fn fuel(self) -> u8 {
        FUEL[self.byte() as usize]
    }

    /// The operands, in the order of the list; their roles are in the line.
    #[inline]
    pub fn values(self) -> [u32; 3] {
        self.info().rooms.map(|room| room.get(self.0))
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instr: Instr = self.instr();
        instr.fmt(f)
    }
}
