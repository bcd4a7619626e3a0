//! Commands: where one begins and ends, and what part each of its words plays.
//!
//! Reserved words are followed only as far as the words around a hole depend on them; whether an
//! `if` has its `fi` is left to bash.

use super::position::{Place, Quote, Refusal};
use super::scan::{Around, EXPANSION, HOLE, Scan};
use super::word::{Mode, Word};

/// How far the reader looks for the end of an index before it knows whether it is one.
const LONGEST_INDEX: usize = 4096;

/// Where a list of commands ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Text,
    Paren,
    /// `;;`, `;&`, `;;&` or `esac`.
    Case,
}

/// A simple command as far as it has been read.
#[derive(Default)]
pub(super) struct Simple {
    pub words: Vec<Word>,
    /// Heredocs that it reads, and holes in here-strings and in what `<(…)` prints for it.
    pub heres: Vec<usize>,
    pub fed: Vec<usize>,
    /// Whether an assignment or a redirection stands before the first word.
    begun: bool,
}

impl Simple {
    /// Makes room for the next command, in the same memory.
    fn clear(&mut self) {
        self.words.clear();
        self.heres.clear();
        self.fed.clear();
        self.begun = false;
    }
}

/// What earlier commands of a pipeline write for later ones to read.
#[derive(Default)]
pub(super) struct Feed {
    pub heres: Vec<usize>,
    pub holes: Vec<usize>,
}

impl Scan<'_, '_, '_> {
    /// Commands up to the end, which stays.
    pub(super) fn commands(&mut self, end: End) {
        let mut simple = Simple::default();
        let mut feed = Feed::default();
        while let Some(byte) = {
            self.blanks();
            self.peek()
        } {
            match byte {
                b'\n' => {
                    // After `|` the pipeline goes on in the next line.
                    if simple.begun || !simple.words.is_empty() {
                        self.finish(&mut simple, &mut feed, false);
                    }
                    self.skip(1);
                    self.heredoc_bodies();
                }
                b'#' => self.comment(),
                b';' => {
                    if end == End::Case && matches!(self.peek_at(1), Some(b';' | b'&')) {
                        break;
                    }
                    self.finish(&mut simple, &mut feed, false);
                    self.skip(1);
                }
                b'&' if self.peek_at(1) == Some(b'>') => self.redirection(&mut simple),
                b'&' => {
                    self.finish(&mut simple, &mut feed, false);
                    self.skip(if self.sees("&&") { 2 } else { 1 });
                }
                b'|' => {
                    let pipe = !self.sees("||");
                    self.finish(&mut simple, &mut feed, pipe);
                    self.skip(if self.sees("||") || self.sees("|&") {
                        2
                    } else {
                        1
                    });
                }
                b'(' => self.paren(&mut simple),
                b')' => {
                    if end != End::Text {
                        break;
                    }
                    self.lose(Refusal::Lost);
                }
                b'<' | b'>' if self.peek_at(1) != Some(b'(') => self.redirection(&mut simple),
                _ => {
                    if !self.command_word(&mut simple, end) {
                        break;
                    }
                }
            }
        }
        self.finish(&mut simple, &mut feed, false);
    }

    fn comment(&mut self) {
        let around = Around::new(Place::Comment).quote(Quote::Comment);
        while let Some(byte) = self.peek() {
            match byte {
                b'\n' => return,
                HOLE => {
                    self.hole(around);
                }
                _ => self.skip(1),
            }
        }
    }

    /// Blanks, line breaks and comments, where the grammar lets them stand between words.
    fn lines(&mut self) {
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') => {
                    self.skip(1);
                    self.heredoc_bodies();
                }
                Some(b'#') => self.comment(),
                _ => return,
            }
        }
    }

    fn finish(&mut self, simple: &mut Simple, feed: &mut Feed, pipe: bool) {
        self.judge(simple, feed, pipe);
        simple.clear();
    }

    /// `(` where a command may stand: a subshell, arithmetic, or the parentheses of a function.
    fn paren(&mut self, simple: &mut Simple) {
        match simple.words.as_slice() {
            [] => {
                if self.peek_at(1) == Some(b'(') && self.arithmetic_follows() {
                    self.skip(2);
                    let around = Around::new(Place::Arithmetic).arithmetic(Place::Arithmetic);
                    self.arithmetic(around, b')', &mut Word::default());
                    self.take("))");
                } else if self.enter() {
                    self.skip(1);
                    let outer = std::mem::take(&mut self.pending);
                    self.commands(End::Paren);
                    let inner = std::mem::replace(&mut self.pending, outer);
                    self.pending.extend(inner);
                    self.leave();
                    if !self.take(")") && !self.lost() {
                        self.lose(Refusal::Lost);
                    }
                }
            }
            [name] => {
                self.skip(1);
                self.blanks();
                if self.take(")") {
                    let around = Around::new(Place::Name).refuse(Refusal::FunctionName);
                    for hole in &name.holes {
                        self.note(*hole, around);
                    }
                    let name = name.literal().map(str::to_owned);
                    self.found.functions.extend(name);
                    simple.clear();
                } else {
                    self.lose(Refusal::Lost);
                }
            }
            _ => self.lose(Refusal::Lost),
        }
    }

    /// A redirection, from its operator on.
    fn redirection(&mut self, simple: &mut Simple) {
        simple.begun = true;
        // What names the descriptor has been read as a word of its own: `2>`, `{fd}>`, `{fds[0]}>`.
        if let Some(last) = simple
            .words
            .pop_if(|last| last.end == self.pos && last.is_descriptor())
        {
            self.variable_argument(&last);
        }
        if self.take("<<<") {
            self.blanks();
            let word = self.word(Around::new(Place::HereString), Mode::Plain);
            simple.fed.extend(word.holes);
            return;
        }
        if self.take("<<") {
            let here = self.heredoc_mark();
            simple.heres.push(here);
            return;
        }
        // A word after `>&` that is no number is expanded a second time, as a file name.
        let number = self.take("<&") || self.take(">&");
        if !number {
            let operators = ["&>>", "&>", ">>", ">|", "<>", "<", ">"];
            let _ = operators.iter().any(|operator| self.take(operator));
        }
        self.blanks();
        let around = Around::new(Place::Redirection).integer(number);
        let word = self.word(around, Mode::Plain);
        simple.fed.extend(word.printed);
    }

    /// A word of a command. False if it ends the list.
    fn command_word(&mut self, simple: &mut Simple, end: End) -> bool {
        let first = simple.words.is_empty();
        if first && self.sees("!(") {
            // Without `extglob` this is a negated subshell.
            self.skip(1);
            return true;
        }
        if first && self.assignment(Place::Assignment).is_some() {
            simple.begun = true;
            return true;
        }
        let declares = simple
            .words
            .first()
            .and_then(Word::literal)
            .is_some_and(is_declaration);
        if declares && let Some(word) = self.assignment(Place::Declaration) {
            simple.words.push(word);
            return true;
        }
        let start = self.pos;
        let place = if first {
            Place::Command
        } else {
            Place::Argument
        };
        let word = self.word(Around::new(place), Mode::Plain);
        if self.pos == start {
            // Every byte that cannot begin a word has been dealt with, so this is not reached;
            // standing still would be worse than giving up.
            self.lose(Refusal::Lost);
            return false;
        }
        if first && !simple.begun && !word.quoted {
            match word.shape.as_slice() {
                b"esac" if end == End::Case => {
                    self.pos = start;
                    return false;
                }
                b"if" | b"then" | b"else" | b"elif" | b"fi" | b"while" | b"until" | b"do"
                | b"done" | b"esac" | b"{" | b"}" | b"!" | b"time" | b"coproc" => return true,
                b"for" | b"select" => {
                    self.for_words();
                    return true;
                }
                b"case" => {
                    if self.enter() {
                        self.case();
                        self.leave();
                    }
                    return true;
                }
                b"function" => {
                    self.blanks();
                    let name = Around::new(Place::Name).refuse(Refusal::FunctionName);
                    let name = self.word(name, Mode::Plain);
                    let name = name.literal().map(str::to_owned);
                    self.found.functions.extend(name);
                    self.blanks();
                    if self.take("(") {
                        self.blanks();
                        self.take(")");
                    }
                    return true;
                }
                b"[[" => {
                    self.test();
                    return true;
                }
                _ => {}
            }
        }
        if first {
            self.assigned_name(&word);
        }
        self.brace_ranges(&word);
        simple.words.push(word);
        true
    }

    /// `{{x}}=…` would become a command whose name holds a `=`.
    fn assigned_name(&mut self, word: &Word) {
        let Some(equals) = word.shape.iter().position(|byte| *byte == b'=') else {
            return;
        };
        let name = &word.shape[..equals];
        let named = name
            .iter()
            .all(|byte| *byte == HOLE || *byte == b'_' || byte.is_ascii_alphanumeric());
        if named && word.bare[..=equals].iter().all(|bare| *bare) {
            let holes = name.iter().filter(|byte| **byte == HOLE).count();
            for hole in word.holes.iter().take(holes) {
                let around = Around::new(Place::Name).refuse(Refusal::AssignmentName);
                self.note(*hole, around);
            }
        }
    }

    /// `{1..{{n}}}` is expanded before any variable is.
    fn brace_ranges(&mut self, word: &Word) {
        if word.holes.is_empty() {
            return;
        }
        let mut opens = Vec::new();
        for (at, byte) in word.shape.iter().enumerate() {
            match byte {
                // No one nests ranges; the bound keeps the time in hand.
                b'{' if word.bare[at] && opens.len() < 16 => opens.push(at),
                b'}' if word.bare[at] => {
                    let Some(open) = opens.pop() else { continue };
                    let inside = &word.shape[open + 1..at];
                    let range = inside.windows(2).any(|pair| pair == b"..");
                    if !range || inside.iter().any(|byte| matches!(byte, b',' | b'/')) {
                        continue;
                    }
                    let holes_before = |end: usize| {
                        let before = word.shape[..end].iter();
                        before.filter(|byte| **byte == HOLE).count()
                    };
                    let holes = holes_before(open)..holes_before(at);
                    for hole in word.holes.get(holes).unwrap_or(&[]) {
                        let around = Around::new(Place::Argument).refuse(Refusal::BraceRange);
                        self.note(*hole, around);
                    }
                }
                _ => {}
            }
        }
    }

    /// `name=…`, `name+=…`, `name[…]=…`, if the word is one.
    fn assignment(&mut self, place: Place) -> Option<Word> {
        let start = self.pos;
        let mut word = Word {
            start,
            ..Word::default()
        };
        let digit = self.peek().is_some_and(|byte| byte.is_ascii_digit());
        let after = match self.name_length() {
            0 => None,
            length => self.peek_at(length),
        };
        if digit || !matches!(after, Some(b'=' | b'+' | b'[')) {
            return None;
        }
        let name = self.name();
        for byte in name.bytes() {
            word.push(byte, true);
        }
        if self.peek() == Some(b'[') {
            if !self.index_is_assigned() {
                if !self.lost() {
                    self.pos = start;
                }
                return None;
            }
            // The index is no part of the value, so its holes are not holes of the word.
            self.index(&name, Around::new(place), &mut Word::default());
            self.found.declare_array(&name);
            word.push(EXPANSION, true);
        }
        if !self.take("=") && !self.take("+=") {
            self.pos = start;
            return None;
        }
        word.push(b'=', true);
        if self.peek() == Some(b'(') {
            self.array(&name);
            self.found.declare_array(&name);
            word.push(EXPANSION, true);
        } else {
            let around = Around::new(place).integer(self.found.evaluates(&name));
            self.word_into(around, Mode::Plain, &mut word);
            if is_source_variable(&name) {
                for hole in &word.holes {
                    self.mark_program(*hole, &name);
                }
            }
        }
        word.end = self.pos;
        Some(word)
    }

    /// Whether the `[` here is closed and followed by `=` or `+=`.
    fn index_is_assigned(&mut self) -> bool {
        let mut depth = 0_usize;
        let mut quote = None;
        let mut ahead = 0;
        while let Some(byte) = self.peek_at(ahead) {
            match (quote, byte) {
                (None | Some(b'"'), b'\\') => ahead += 1,
                (None, b'\'' | b'"') => quote = Some(byte),
                (Some(open), _) if open == byte => quote = None,
                (None, b'\n') => return false,
                (None, b'[') => depth += 1,
                (None, b']') if depth == 1 => {
                    return self.peek_at(ahead + 1) == Some(b'=')
                        || (self.peek_at(ahead + 1) == Some(b'+')
                            && self.peek_at(ahead + 2) == Some(b'='));
                }
                (None, b']') => depth -= 1,
                _ => {}
            }
            ahead += 1;
            if ahead > LONGEST_INDEX {
                self.lose(Refusal::TooDeep);
                return false;
            }
        }
        false
    }

    /// `(…)` after `name=`.
    fn array(&mut self, name: &str) {
        self.skip(1);
        if !self.enter() {
            return;
        }
        let integer = self.found.evaluates(name);
        loop {
            self.lines();
            match self.peek() {
                None => break,
                Some(b')') => {
                    self.skip(1);
                    break;
                }
                Some(b'[') if self.index_is_assigned() => {
                    let around = Around::new(Place::ArrayElement);
                    self.index(name, around, &mut Word::default());
                    self.take("+");
                    self.take("=");
                    // One value for one index, as in an assignment.
                    self.word(Around::new(Place::Assignment).integer(integer), Mode::Plain);
                }
                Some(_) => {
                    let start = self.pos;
                    let around = Around::new(Place::ArrayElement).integer(integer);
                    let word = self.word(around, Mode::Plain);
                    self.brace_ranges(&word);
                    if self.pos == start {
                        self.lose(Refusal::Lost);
                    }
                }
            }
        }
        self.leave();
    }

    /// After `for` or `select`: the name and the list, or arithmetic.
    fn for_words(&mut self) {
        self.blanks();
        if self.sees("((") {
            self.skip(2);
            let around = Around::new(Place::Arithmetic).arithmetic(Place::Arithmetic);
            self.arithmetic(around, b')', &mut Word::default());
            self.take("))");
            return;
        }
        let name = Around::new(Place::Name).refuse(Refusal::LoopName);
        let name = self.word(name, Mode::Plain);
        let integer = name
            .literal()
            .is_some_and(|name| self.found.evaluates(name));
        self.lines();
        let start = self.pos;
        if self.word(Around::new(Place::ForWord), Mode::Plain).plain() != Some("in") {
            self.pos = start;
            return;
        }
        loop {
            self.blanks();
            let start = self.pos;
            let word = self.word(Around::new(Place::ForWord).integer(integer), Mode::Plain);
            self.brace_ranges(&word);
            if self.pos == start {
                return;
            }
        }
    }

    /// After `case`.
    fn case(&mut self) {
        self.blanks();
        self.word(Around::new(Place::CaseWord), Mode::Plain);
        self.lines();
        if self.word(Around::new(Place::Argument), Mode::Plain).plain() != Some("in") {
            return self.lose(Refusal::Lost);
        }
        while !self.lost() {
            self.lines();
            let start = self.pos;
            if self
                .word(Around::new(Place::CasePattern), Mode::Plain)
                .plain()
                == Some("esac")
            {
                return;
            }
            self.pos = start;
            self.take("(");
            loop {
                self.blanks();
                match self.peek() {
                    Some(b')') => {
                        self.skip(1);
                        break;
                    }
                    Some(b'|') => self.skip(1),
                    _ => {
                        let start = self.pos;
                        self.word(Around::new(Place::CasePattern), Mode::Plain);
                        if self.pos == start {
                            return self.lose(Refusal::Lost);
                        }
                    }
                }
            }
            self.commands(End::Case);
            if !self.take(";;&") && !self.take(";;") && !self.take(";&") {
                self.lines();
                if self.peek().is_none() || self.peek() == Some(b')') {
                    return;
                }
            }
        }
    }

    /// After `[[`, up to and including `]]`.
    fn test(&mut self) {
        let mut left: Vec<usize> = Vec::new();
        let mut around = Around::new(Place::Test);
        let mut mode = Mode::Plain;
        loop {
            self.lines();
            let Some(byte) = self.peek() else { return };
            let process = matches!(byte, b'<' | b'>') && self.peek_at(1) == Some(b'(');
            if mode == Mode::Plain
                && matches!(byte, b'(' | b')' | b'&' | b'|' | b'<' | b'>' | b';')
                && !process
            {
                self.skip(1);
                left.clear();
                around = Around::new(Place::Test);
                continue;
            }
            let start = self.pos;
            let word = self.word(around, mode);
            if self.pos == start {
                self.skip(1);
                mode = Mode::Plain;
                continue;
            }
            let operator = word.plain().unwrap_or("");
            if operator == "]]" {
                return;
            }
            mode = Mode::Plain;
            if around.integer {
                self.or_empty(&word.holes);
            }
            if around.refusal.is_none() && around.place == Place::Name {
                self.variable_argument(&word);
            }
            around = match operator {
                "==" | "=" | "!=" => Around::new(Place::TestPattern),
                "=~" => {
                    mode = Mode::Regex;
                    Around::new(Place::Regex)
                }
                "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                    for hole in &left {
                        self.mark_integer(*hole);
                    }
                    self.or_empty(&left);
                    Around::new(Place::Test).integer(true)
                }
                "-v" | "-R" => Around::new(Place::Name),
                _ => Around::new(Place::Test),
            };
            left = word.holes.into_vec();
        }
    }
}

pub(super) fn is_declaration(name: &str) -> bool {
    matches!(
        name,
        "export" | "declare" | "typeset" | "local" | "readonly"
    )
}

/// Variables whose value a shell runs.
fn is_source_variable(name: &str) -> bool {
    matches!(
        name,
        "PS0" | "PS1" | "PS2" | "PS4" | "PROMPT_COMMAND" | "BASH_ENV" | "ENV"
    )
}
