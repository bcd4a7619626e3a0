//! Words: quotes, and what `$` and backticks begin.
//!
//! Knows how bash finds the end of each of them, not what any of them is worth.

use super::position::{Place, Quote, Refusal};
use super::scan::{Around, EXPANSION, HOLE, Scan, Unit};
use smallvec::SmallVec;

/// A word as it was written.
#[derive(Default)]
pub(super) struct Word {
    /// Its bytes after quote removal, with `HOLE` and `EXPANSION` for what is not literal.
    pub shape: SmallVec<[u8; 32]>,
    /// Which of them stand outside quotes.
    pub bare: SmallVec<[bool; 32]>,
    /// The holes right in it: not those in a command substitution, which belong to its commands.
    pub holes: SmallVec<[usize; 2]>,
    /// Those that a command in a `<(…)` of it prints.
    pub printed: Vec<usize>,
    /// Whether any part is quoted, so that it is no reserved word.
    pub quoted: bool,
    /// The offset of its first unit in the row, and of the unit after it.
    pub start: usize,
    pub end: usize,
}

impl Word {
    pub fn push(&mut self, byte: u8, bare: bool) {
        self.shape.push(byte);
        self.bare.push(bare);
    }

    pub fn hole(&mut self, hole: usize, bare: bool) {
        self.push(HOLE, bare);
        self.holes.push(hole);
    }

    /// Its text, if all of it is literal.
    pub fn literal(&self) -> Option<&str> {
        std::str::from_utf8(&self.shape).ok()
    }

    /// Its text, if it is literal and nothing of it is quoted.
    pub fn plain(&self) -> Option<&str> {
        if self.quoted { None } else { self.literal() }
    }

    /// Whether, right before a redirection, it names the descriptor or the variable for it.
    pub fn is_descriptor(&self) -> bool {
        match self.plain() {
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => true,
            Some(text) => text.starts_with('{') && text.ends_with('}'),
            // Quotes or a hole in the index leave it one.
            None => {
                let bare = |at: Option<usize>| at.is_some_and(|at| self.bare[at]);
                let open = self.shape.iter().position(|byte| *byte == b'[');
                self.shape.starts_with(b"{") && self.shape.ends_with(b"]}") && bare(open)
            }
        }
    }

    /// The variable that it names, with or without an index.
    pub fn variable(&self) -> &str {
        let is_part = |byte: &u8| *byte == b'_' || byte.is_ascii_alphanumeric();
        let end = self.shape.iter().position(|byte| !is_part(byte));
        let name = &self.shape[..end.unwrap_or(self.shape.len())];
        std::str::from_utf8(name).unwrap_or("")
    }

    /// Whether it is made of holes alone.
    pub fn only_holes(&self) -> bool {
        !self.shape.is_empty() && self.shape.iter().all(|byte| *byte == HOLE)
    }
}

/// What ends a word, and what may stand in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Plain,
    /// The right side of `=~`, where parentheses and bars are part of the word.
    Regex,
}

/// The inside of `${x…}`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// After `:-` and the like: inside double quotes a `'` quotes nothing.
    Default,
    /// A pattern or a replacement: quotes work, even inside double quotes.
    Pattern,
    /// An index of an associative array.
    Key,
}

impl Scan<'_, '_, '_> {
    pub(super) fn word(&mut self, around: Around, mode: Mode) -> Word {
        let mut word = Word {
            start: self.pos,
            ..Word::default()
        };
        self.word_into(around, mode, &mut word);
        word.end = self.pos;
        word
    }

    /// Reads on to the end of a word that may have begun already.
    pub(super) fn word_into(&mut self, around: Around, mode: Mode, word: &mut Word) {
        let mut parens = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' if parens == 0 => break,
                b';' if parens == 0 && mode == Mode::Plain => break,
                b'&' if parens == 0 && (mode == Mode::Plain || self.sees("&&")) => break,
                b'|' if parens == 0 && (mode == Mode::Plain || self.sees("||")) => break,
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => {
                    let start = self.offset();
                    self.skip(2);
                    word.push(EXPANSION, true);
                    self.substitution();
                    if byte == b'<' {
                        word.printed.extend(self.printed(start..self.offset()));
                    }
                }
                b'<' | b'>' if parens == 0 && mode == Mode::Plain => break,
                b'(' => {
                    let glob = matches!(word.shape.last(), Some(b'?' | b'*' | b'+' | b'@' | b'!'))
                        && word.bare.last() == Some(&true);
                    if parens == 0 && mode == Mode::Plain && !glob {
                        break;
                    }
                    parens += 1;
                    word.push(byte, true);
                    self.skip(1);
                }
                b')' => {
                    if parens == 0 {
                        break;
                    }
                    parens -= 1;
                    word.push(byte, true);
                    self.skip(1);
                }
                _ => self.word_part(byte, around, word),
            }
        }
    }

    fn word_part(&mut self, byte: u8, around: Around, word: &mut Word) {
        match byte {
            HOLE => {
                let hole = self.hole(around);
                word.hole(hole, true);
            }
            b'\\' if self.peek_at(1) == Some(b'\n') => self.skip(2),
            b'\\' => {
                word.quoted = true;
                if let Some(next) = self.escape(around) {
                    word.push(next, false);
                }
            }
            b'\'' => self.single(around, word),
            b'"' => self.double(around, word),
            b'$' => self.dollar(around, word),
            b'`' => {
                word.push(EXPANSION, true);
                self.backtick(false);
            }
            _ => {
                word.push(byte, true);
                self.skip(1);
            }
        }
    }

    /// `'…'`
    fn single(&mut self, around: Around, word: &mut Word) {
        word.quoted = true;
        self.skip(1);
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' => return self.skip(1),
                HOLE => {
                    let hole = self.hole(around.quote(Quote::Single));
                    word.hole(hole, false);
                }
                _ => {
                    word.push(byte, false);
                    self.skip(1);
                }
            }
        }
    }

    /// `$'…'`, after the `$`.
    fn ansi(&mut self, around: Around, word: &mut Word) {
        let around = around.quote(Quote::AnsiC);
        word.quoted = true;
        self.skip(1);
        while let Some(byte) = self.peek() {
            match byte {
                b'\'' => return self.skip(1),
                HOLE => {
                    let hole = self.hole(around);
                    word.hole(hole, false);
                }
                b'\\' => {
                    let escaped = self.escape(around);
                    word.push(EXPANSION, false);
                    if escaped == Some(b'c') && self.peek() == Some(HOLE) {
                        self.hole(around.refuse(Refusal::ControlEscape));
                    }
                }
                _ => {
                    word.push(byte, false);
                    self.skip(1);
                }
            }
        }
    }

    /// `"…"`
    fn double(&mut self, around: Around, word: &mut Word) {
        let around = match around.quote {
            Quote::Arithmetic => around,
            _ => around.quote(Quote::Double),
        };
        word.quoted = true;
        self.skip(1);
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => return self.skip(1),
                HOLE => {
                    let hole = self.hole(around);
                    word.hole(hole, false);
                }
                b'\\' => {
                    let next = self.escape(around);
                    match next {
                        Some(b'\n') | None => {}
                        Some(byte @ (b'$' | b'`' | b'"' | b'\\')) => word.push(byte, false),
                        Some(byte) => {
                            word.push(b'\\', false);
                            word.push(byte, false);
                        }
                    }
                }
                b'$' => self.dollar(around, word),
                b'`' => {
                    word.push(EXPANSION, false);
                    self.backtick(true);
                }
                _ => {
                    word.push(byte, false);
                    self.skip(1);
                }
            }
        }
    }

    /// Whatever a `$` begins.
    pub(super) fn dollar(&mut self, around: Around, word: &mut Word) {
        let bare = around.quote == Quote::Bare;
        self.skip(1);
        match self.peek() {
            Some(b'\'') if bare => self.ansi(around, word),
            Some(b'"') if bare => self.double(around, word),
            Some(HOLE) => {
                let hole = self.hole(around.refuse(Refusal::Dollar));
                word.hole(hole, bare);
            }
            Some(b'(') => {
                word.push(EXPANSION, bare);
                if self.peek_at(1) == Some(b'(') && self.arithmetic_follows() {
                    self.skip(2);
                    self.arithmetic(around.arithmetic(Place::Arithmetic), b')', word);
                    self.take("))");
                } else {
                    self.skip(1);
                    self.substitution();
                }
            }
            Some(b'[') => {
                word.push(EXPANSION, bare);
                self.skip(1);
                self.arithmetic(around.arithmetic(Place::Arithmetic), b']', word);
                self.take("]");
            }
            Some(b'{') => {
                word.push(EXPANSION, bare);
                self.skip(1);
                if self.enter() {
                    self.braces(around, word);
                    self.leave();
                }
            }
            Some(byte) if byte == b'_' || byte.is_ascii_alphabetic() => {
                word.push(EXPANSION, bare);
                self.name();
            }
            Some(b'0'..=b'9' | b'?' | b'@' | b'*' | b'#' | b'$' | b'!' | b'-') => {
                word.push(EXPANSION, bare);
                self.skip(1);
            }
            _ => word.push(b'$', bare),
        }
    }

    /// How many of the next units could be a name.
    pub(super) fn name_length(&self) -> usize {
        let rest = self.row.get(self.pos..).unwrap_or(&[]);
        let is_part = |unit: &&Unit| unit.byte == b'_' || unit.byte.is_ascii_alphanumeric();
        rest.iter().take_while(is_part).count()
    }

    pub(super) fn name(&mut self) -> String {
        let start = self.pos;
        self.skip(self.name_length());
        let units = self.row[start..self.pos].iter();
        units.map(|unit| char::from(unit.byte)).collect()
    }

    /// After `$(`, `<(` or `>(`: commands, and the `)`.
    pub(super) fn substitution(&mut self) {
        if !self.enter() {
            return;
        }
        self.substitutions += 1;
        let in_parens = std::mem::replace(&mut self.in_parens, true);
        let outer = std::mem::take(&mut self.pending);
        self.commands(super::command::End::Paren);
        let inner = std::mem::replace(&mut self.pending, outer);
        // Bash reads such a body after the line on which the substitution ends.
        self.pending.extend(inner.into_iter().map(|mut pending| {
            pending.carried = true;
            pending
        }));
        self.in_parens = in_parens;
        self.substitutions -= 1;
        self.leave();
        if !self.take(")") {
            self.lose(Refusal::Lost);
        }
    }

    /// A command in backticks. Inside double quotes `\"` loses its backslash too.
    pub(super) fn backtick(&mut self, in_double: bool) {
        self.skip(1);
        let mut row: Vec<Unit> = Vec::new();
        let mut closed = false;
        while let Some(unit) = self.row.get(self.pos) {
            let next = self.row.get(self.pos + 1);
            match (unit.byte, next) {
                (b'`', _) => {
                    closed = true;
                    self.skip(1);
                    break;
                }
                (b'\\', Some(next)) => {
                    let unescaped = matches!(next.byte, b'\\' | b'`' | b'$')
                        || (in_double && next.byte == b'"');
                    if !unescaped {
                        row.push(*unit);
                    }
                    row.push(*next);
                    self.skip(2);
                }
                _ => {
                    row.push(*unit);
                    self.skip(1);
                }
            }
        }
        if !closed {
            return self.lose(Refusal::Lost);
        }
        if self.enter() {
            let mut inner = self.inner(&row);
            inner.substitutions += 1;
            inner.backticks += 1;
            inner.commands(super::command::End::Text);
            self.leave();
        }
    }

    /// Whether the `((` here, or right after a `$` here, is closed by `))`; if not, bash reads
    /// two nested subshells.
    pub(super) fn arithmetic_follows(&self) -> bool {
        let mut depth = 0_usize;
        let mut pos = self.pos;
        let byte = |pos: usize| self.row.get(pos).map(|unit| unit.byte);
        while let Some(next) = byte(pos) {
            match next {
                b'\\' => pos += 1,
                quote @ (b'\'' | b'"' | b'`') => {
                    pos += 1;
                    while let Some(inside) = byte(pos) {
                        if inside == quote {
                            break;
                        }
                        if inside == b'\\' && quote != b'\'' {
                            pos += 1;
                        }
                        pos += 1;
                    }
                }
                b'(' => depth += 1,
                b')' if depth == 2 => return byte(pos + 1) == Some(b')'),
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            pos += 1;
        }
        false
    }

    /// Arithmetic up to the closing byte that is not nested, which stays. Of `))` the first.
    pub(super) fn arithmetic(&mut self, around: Around, close: u8, word: &mut Word) {
        if !self.enter() {
            return;
        }
        let open = match close {
            b')' => Some(b'('),
            b']' => Some(b'['),
            _ => None,
        };
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                _ if byte == close && depth == 0 => break,
                _ if byte == close => {
                    depth -= 1;
                    self.skip(1);
                }
                _ if Some(byte) == open => {
                    depth += 1;
                    self.skip(1);
                }
                HOLE => {
                    let hole = self.hole(around);
                    word.hole(hole, false);
                }
                b'\'' => self.single(around.refuse(Refusal::QuoteInArithmetic), word),
                b'"' => self.double(around, word),
                b'\\' => {
                    self.escape(around);
                }
                b'$' => self.dollar(around, word),
                b'`' => self.backtick(false),
                _ => self.skip(1),
            }
        }
        self.leave();
    }

    /// `${…}` after the `{`.
    fn braces(&mut self, around: Around, word: &mut Word) {
        // `${#x}` and `${!x}`, but not `${#}` or `${#-…}`.
        if matches!(self.peek(), Some(b'#' | b'!'))
            && self
                .peek_at(1)
                .is_some_and(|next| next == HOLE || next == b'_' || next.is_ascii_alphanumeric())
        {
            self.skip(1);
        }
        if self.peek() == Some(HOLE) {
            let around = around.place(Place::Name).refuse(Refusal::ParameterName);
            self.hole(around);
            return self.lose(Refusal::ParameterName);
        }
        let mut name = self.name();
        if name.is_empty() {
            match self.peek() {
                Some(byte @ (b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) => {
                    name.push(char::from(byte));
                    self.skip(1);
                }
                // `${ command; }` and other things that this reader does not know.
                _ => return self.lose(Refusal::Lost),
            }
        }
        if self.peek() == Some(b'[') {
            self.index(&name, around, word);
        }
        match self.peek() {
            Some(b'}') => self.skip(1),
            Some(b':') => {
                self.skip(1);
                if matches!(self.peek(), Some(b'-' | b'=' | b'?' | b'+')) {
                    self.default(&name, around, word);
                } else {
                    self.arithmetic(around.arithmetic(Place::Substring), b'}', word);
                }
                self.close_brace();
            }
            Some(b'-' | b'=' | b'?' | b'+') => {
                self.default(&name, around, word);
                self.close_brace();
            }
            Some(b'/') => {
                self.skip(1);
                if matches!(self.peek(), Some(b'/' | b'#' | b'%')) {
                    self.skip(1);
                }
                self.inside(around.place(Place::Pattern), Inside::Pattern, b"/}", word);
                if self.take("/") {
                    let around = around.place(Place::Replacement);
                    self.inside(around, Inside::Pattern, b"}", word);
                }
                self.close_brace();
            }
            Some(byte @ (b'#' | b'%' | b'^' | b',')) => {
                self.skip(1);
                if self.peek() == Some(byte) {
                    self.skip(1);
                }
                self.inside(around.place(Place::Pattern), Inside::Pattern, b"}", word);
                self.close_brace();
            }
            Some(b'@') if self.peek_at(2) == Some(b'}') => self.skip(3),
            Some(b'@' | b'*') if self.peek_at(1) == Some(b'}') => self.skip(2),
            Some(HOLE) => {
                self.hole(around.place(Place::Name).refuse(Refusal::Operator));
                self.lose(Refusal::Operator);
            }
            _ => self.lose(Refusal::Lost),
        }
    }

    /// From the `=` of `${x=…}` on, or from one of its kind.
    fn default(&mut self, name: &str, around: Around, word: &mut Word) {
        let assigned = self.peek() == Some(b'=') && self.found.evaluates(name);
        self.skip(1);
        let around = around.place(Place::Default);
        let around = around.integer(around.integer || assigned);
        self.inside(around, Inside::Default, b"}", word);
    }

    fn close_brace(&mut self) {
        if !self.take("}") && !self.lost() {
            self.lose(Refusal::Lost);
        }
    }

    /// `[…]` after the name of an array.
    pub(super) fn index(&mut self, name: &str, around: Around, word: &mut Word) {
        self.skip(1);
        let declared = self.found.declared.get(name).copied().unwrap_or_default();
        // An index of an indexed array is evaluated, so a doubt is no key.
        let associative = declared.associative && !declared.indexed;
        if associative && !around.integer {
            self.inside(around.place(Place::ArrayKey), Inside::Key, b"]", word);
        } else {
            self.arithmetic(around.arithmetic(Place::ArrayIndex), b']', word);
        }
        if !self.take("]") && !self.lost() {
            self.lose(Refusal::Lost);
        }
    }

    /// Text inside `${…}` up to one of `ends`, which stays.
    fn inside(&mut self, around: Around, kind: Inside, ends: &[u8], word: &mut Word) {
        // In arithmetic what comes out is evaluated, whatever quotes it went through.
        let in_double = around.quote != Quote::Bare;
        let around = match (around.quote, kind) {
            (Quote::Arithmetic, _) => around,
            // The value of a pattern or key is quoted in its own right.
            (_, Inside::Pattern | Inside::Key) => around.quote(Quote::Bare),
            (Quote::Heredoc, Inside::Default) => around.quote(Quote::Double),
            _ => around,
        };
        while let Some(byte) = self.peek() {
            match byte {
                _ if ends.contains(&byte) => return,
                HOLE => {
                    let hole = self.hole(around);
                    word.hole(hole, false);
                }
                b'\'' if in_double && kind == Inside::Default => {
                    if !self.literal_quotes(around, word) {
                        return self.lose(Refusal::UnevenQuotes);
                    }
                }
                b'\'' if around.integer => {
                    self.single(around.refuse(Refusal::QuoteInArithmetic), word);
                }
                b'\'' => self.single(around, word),
                b'"' => self.double(around, word),
                b'\\' => {
                    self.escape(around);
                }
                b'$' if in_double && self.peek_at(1) == Some(b'\'') => {
                    self.skip(1);
                    self.ansi(around.refuse(Refusal::AnsiInDouble), word);
                }
                b'$' => self.dollar(around, word),
                b'`' => self.backtick(false),
                _ => self.skip(1),
            }
        }
    }

    /// `'…'` in `"${x:-…}"`: bash pairs the quotes when it looks for the `}`, and then keeps them
    /// as text.
    fn literal_quotes(&mut self, around: Around, word: &mut Word) -> bool {
        let rest = &self.row[self.pos + 1..];
        let Some(length) = rest.iter().position(|unit| unit.byte == b'\'') else {
            return false;
        };
        if rest[..length]
            .iter()
            .any(|unit| matches!(unit.byte, b'"' | b'`' | b'\\'))
        {
            return false;
        }
        let end = self.pos + 1 + length;
        self.skip(1);
        while self.pos < end {
            match self.peek() {
                Some(HOLE) => {
                    let hole = self.hole(around);
                    word.hole(hole, false);
                }
                Some(b'$') => self.dollar(around, word),
                Some(b'}') => return false,
                _ => self.skip(1),
            }
        }
        let paired = self.pos == end;
        self.skip(1);
        paired
    }
}
