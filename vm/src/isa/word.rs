//! An instruction as it stands in a plan, in eight bytes that go to a file and back as they are.
//!
//! Its byte comes first, then its narrow operands, of which there are two at most; a wide operand
//! stands in the upper half, and what an instruction does not use is zero. There is no word that
//! does not mean an instruction of the list.

use super::{FUEL, INSTRUCTIONS, Info, Instr, LINE_OF_BYTE, USED, info_of};
use std::fmt;

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
        let (mut bits, mut shift) = (u64::from(byte), 8);
        for (&value, (_, role)) in operands.iter().zip(info.operands) {
            if role.width() == 4 {
                bits |= u64::from(value) << 32;
            } else {
                bits |= u64::from(value as u8) << shift;
                shift += 8;
            }
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

    /// The wide operand; zero if there is none. The bits of an `Int` are those of an `i32`.
    #[inline(always)]
    pub fn wide(self) -> u32 {
        (self.0 >> 32) as u32
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
    pub fn values(self) -> [u32; 3] {
        let (mut values, mut narrow) = ([0; 3], 0);
        for (value, (_, role)) in values.iter_mut().zip(self.info().operands) {
            if role.width() == 4 {
                *value = self.wide();
            } else {
                *value = self.narrow(narrow).into();
                narrow += 1;
            }
        }
        values
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instr: Instr = self.instr();
        instr.fmt(f)
    }
}
