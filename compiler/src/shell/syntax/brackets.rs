//! Commands in brackets that are not lists: `[[ … ]]`, `(( … ))` and `[ … ]`.

use super::{Broken, List, Read, Reader, Stop};
use std::ops::Range;

impl Reader<'_> {
    /// After `[[`. Of one that makes no sense, even bash says different things.
    pub(super) fn test(&mut self, open: Range<usize>) -> Read {
        let (mut operands, mut unary) = (0, false);
        let mut group = false;
        loop {
            self.lines()?;
            let start = self.pos;
            // A word ends at blanks alone, as brackets and bars may belong to a pattern.
            while let Some(byte) = self.peek().filter(|byte| !b" \t\n".contains(byte)) {
                group |= byte == b'(';
                // Behind a line break, even `;;` has been seen to end a test.
                if byte == b';' && !group && !self.bytes[open.end..self.pos].contains(&b'\n') {
                    return self.mismatch(&open, "[[", "]]", List::default());
                }
                self.part()?;
                let ends = self
                    .peek()
                    .is_none_or(|next| b" \t\n;&|<>()".contains(&next));
                if &self.bytes[start..self.pos] == b"]]" && ends {
                    return match operands {
                        1 | 3 => Ok(()),
                        _ => Err(Stop::Unsure),
                    };
                }
            }
            match &self.bytes[start..self.pos] {
                b"" => return Err(Stop::Unsure),
                b"&&" | b"||" if [1, 3].contains(&operands) => operands = 0,
                b"!" if operands == 0 => {}
                b";" | b"&" | b"|" | b"(" | b")" => return Err(Stop::Unsure),
                word if word.iter().any(|byte| b";&".contains(byte)) => return Err(Stop::Unsure),
                word if operands == 0 && b"<>=".contains(&word[0]) => return Err(Stop::Unsure),
                word if operands < 2 && word.iter().any(|byte| b"()".contains(byte)) => {
                    return Err(Stop::Unsure);
                }
                word => {
                    let binary = matches!(
                        word,
                        b"=="
                            | b"="
                            | b"!="
                            | b"=~"
                            | b"<"
                            | b">"
                            | b"-eq"
                            | b"-ne"
                            | b"-lt"
                            | b"-le"
                            | b"-gt"
                            | b"-ge"
                            | b"-nt"
                            | b"-ot"
                            | b"-ef"
                    );
                    // `a`, `a == b`, or `-f a`.
                    operands += match (operands, binary) {
                        (0, false) | (1, true) | (2, false) => 1,
                        (1, false) if unary => 2,
                        _ => return Err(Stop::Unsure),
                    };
                    unary = operands == 1 && word.len() == 2 && word[0] == b'-';
                }
            }
        }
    }

    /// `((…))`, or two subshells that begin together.
    pub(super) fn arithmetic_command(&mut self) -> Read {
        self.pos += 2;
        self.arithmetic()
    }

    /// Up to the `))` that is not nested.
    pub(super) fn arithmetic(&mut self) -> Read {
        let mut open = 0_usize;
        loop {
            match self.peek() {
                None => return Err(Stop::Unsure),
                Some(b'(') => {
                    open += 1;
                    self.pos += 1;
                }
                Some(b')') if open > 0 => {
                    open -= 1;
                    self.pos += 1;
                }
                Some(b')') if self.take("))") => return Ok(()),
                Some(b')') => return Err(Stop::Unsure),
                Some(b'\n') if !self.heredocs.is_empty() => return Err(Stop::Unsure),
                Some(_) => self.part()?,
            }
        }
    }

    /// `[` is a command, and asks for a `]` of its own. Without one it fails, whatever was to be
    /// tested.
    pub(super) fn brackets_of_test(&mut self, first: Range<usize>, last: &Range<usize>) {
        let (opening, ending) = (&self.bytes[first.clone()], &self.bytes[last.clone()]);
        let (range, message, help) = match (opening, ending) {
            (b"[", b"]") => return,
            (b"[", [.., b']']) => (
                last.end - 1..last.end,
                "this `]` is part of the word before it",
                "write a blank before it",
            ),
            (b"[", _) => (
                first,
                "this `[` has no `]`",
                "write ` ]` where the test ends; `&&` and `||` stand between tests, not in one",
            ),
            ([b'[', _, ..], b"]") => (
                first.start..first.start + 1,
                "this `[` is part of the word behind it",
                "write a blank behind it",
            ),
            _ => return,
        };
        self.complaint.get_or_insert(Broken {
            range,
            message: message.to_string(),
            help: help.to_string(),
            opened: None,
            harmless: true,
        });
    }
}
