//! Whether bash can read a text at all: quotes, brackets and the words of compound commands.
//!
//! Says only what is sure. Where bash could read the text in a way that this reader does not follow
//! it stops, and says nothing. Reads structure, not meaning: whether a command exists is no question.

mod brackets;
mod words;

use super::HoleAt;
use memchr::memmem::Finder;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;
use words::{Heredoc, never_closed};

/// What bash cannot read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub range: Range<usize>,
    pub message: String,
    pub help: String,
    /// Where that begins which is not ended.
    pub opened: Option<Range<usize>>,
    /// Bash complains and goes on.
    pub harmless: bool,
}

/// A line that goes on.
static BROKEN_LINE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\\n"));

/// Deeper nesting is not followed.
const MAX_DEPTH: u32 = 60;

/// The first thing in the text that bash cannot read.
pub fn broken(text: &str, holes: &[HoleAt]) -> Option<Broken> {
    let pasted = |hole: &HoleAt| hole.filter == super::Filter::Raw;
    let text = text.as_bytes();
    if memchr::memchr2(b'\r', b'\0', text).is_some() || holes.iter().any(pasted) {
        return None;
    }
    let letter = |at: Option<usize>| {
        let byte = at.and_then(|at| text.get(at));
        byte.is_some_and(|byte| !byte.is_ascii_whitespace())
    };
    // A word on two lines may be any word.
    let splits = |at: usize| letter(at.checked_sub(1)) && letter(Some(at + 2));
    if BROKEN_LINE.find_iter(text).any(splits) {
        return None;
    }
    let mut bytes = Cow::Borrowed(text);
    for hole in holes {
        // Whatever the value is, it stands there as part of a word.
        let range = hole.range.clone();
        bytes.to_mut().get_mut(range)?.fill(HOLE);
    }
    let mut reader = Reader {
        bytes: &bytes,
        pos: 0,
        depth: 0,
        brackets: 0,
        heredocs: Vec::new(),
        complaint: None,
    };
    match reader.script() {
        Err(Stop::Broken(broken)) => Some(*broken),
        Err(Stop::Unsure) => None,
        Ok(()) => reader.complaint,
    }
}

/// The bytes that end a word.
static ENDS: [bool; 256] = among(b" \t\n;&|<>()");
/// Those, and the ones that mean something in a word.
static STOPS: [bool; 256] = among(b" \t\n;&|<>()\\'\"`$");

const fn among(bytes: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
}

/// No byte of UTF-8 text.
const HOLE: u8 = 0xFF;

enum Stop {
    Broken(Box<Broken>),
    Unsure,
}

type Read<T = ()> = Result<T, Stop>;

fn stop<T>(range: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Read<T> {
    Err(Stop::Broken(Box::new(Broken {
        range,
        message: message.into(),
        help: help.into(),
        opened: None,
        harmless: false,
    })))
}

/// What ends a list of commands, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Closer {
    /// A reserved word that begins nothing: `fi`, `done`, `}`.
    Word(&'static str),
    /// `)`
    Paren,
    /// `;;` and its kin.
    Clause,
    End,
}

/// What came of reading commands.
#[derive(Default)]
struct List {
    closer: Option<Closer>,
    /// Where the closer stands.
    at: Range<usize>,
    /// Whether there was a command at all.
    any: bool,
}

impl Closer {
    fn word(&self) -> &'static str {
        match self {
            Closer::Word(word) => word,
            Closer::Paren => ")",
            Closer::Clause => ";;",
            Closer::End => "",
        }
    }
}

/// Reserved words that go on with or end what another began.
const CLOSERS: [&str; 9] = [
    "then", "elif", "else", "fi", "do", "done", "esac", "}", "in",
];

struct Reader<'a> {
    bytes: &'a [u8],
    pos: usize,
    depth: u32,
    /// How many substitutions and subshells are open.
    brackets: u32,
    /// Heredocs whose bodies come after the line.
    heredocs: Vec<Heredoc>,
    /// What bash complains about before it goes on.
    complaint: Option<Broken>,
}

impl Reader<'_> {
    fn script(&mut self) -> Read {
        let List { closer, at, .. } = self.commands()?;
        match closer {
            None | Some(Closer::End) => Ok(()),
            Some(Closer::Word("in")) => Err(Stop::Unsure),
            Some(other) => stop(
                at,
                format!("this `{}` closes nothing that is open", other.word()),
                format!("remove it, or write what it closes: {}", opens(&other)),
            ),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn sees(&self, text: &str) -> bool {
        self.bytes[self.pos..].starts_with(text.as_bytes())
    }

    fn take(&mut self, text: &str) -> bool {
        let sees = self.sees(text);
        if sees {
            self.pos += text.len();
        }
        sees
    }

    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.pos += 1,
                Some(b'\\') if self.sees("\\\n") => self.pos += 2,
                _ => return,
            }
        }
    }

    /// Blanks, line breaks and comments.
    fn lines(&mut self) -> Read {
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') => self.line_break()?,
                Some(b'#') => self.comment(),
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) {
        let rest = &self.bytes[self.pos..];
        self.pos += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    fn enter(&mut self) -> Read {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err(Stop::Unsure),
            false => Ok(()),
        }
    }

    /// Commands up to something that ends them, which is taken.
    fn commands(&mut self) -> Read<List> {
        self.enter()?;
        let mut list = List::default();
        let mut joined: Option<Range<usize>> = None;
        loop {
            self.lines()?;
            let at = self.pos;
            list.closer = match self.peek() {
                None => Some(Closer::End),
                Some(b')') => {
                    self.pos += 1;
                    Some(Closer::Paren)
                }
                Some(b';') if self.sees(";;") || self.sees(";&") => {
                    let _ = self.take(";;&") || self.take(";;") || self.take(";&");
                    Some(Closer::Clause)
                }
                Some(b'|') | Some(b'&') if !self.sees("&>") => {
                    let _ = self.take("&&") || self.take("||") || self.take("|&");
                    let joins = self.pos > at || self.sees("|");
                    self.pos = self.pos.max(at + 1);
                    joined = joins.then_some(at..self.pos);
                    None
                }
                Some(b';') => {
                    self.pos += 1;
                    None
                }
                Some(_) => {
                    let closer = self.command()?.map(Closer::Word);
                    if closer.is_none() {
                        list.any = true;
                        joined = None;
                    }
                    closer
                }
            };
            if list.closer.is_some() {
                if let Some(operator) = joined {
                    return stop(
                        operator,
                        "no command follows this operator",
                        "write the command, or remove the operator",
                    );
                }
                list.at = at..self.pos;
                self.depth -= 1;
                return Ok(list);
            }
        }
    }

    /// One command, or the reserved word that ends the list.
    fn command(&mut self) -> Read<Option<&'static str>> {
        let at = self.pos;
        if self.sees("((") {
            return self.arithmetic_command().map(|()| None);
        }
        if self.take("(") {
            self.until_paren(at..at + 1, "(")?;
            return Ok(None);
        }
        let word = self.plain_word();
        let here = at..self.pos.max(at);
        if let Some(closer) = CLOSERS.iter().find(|closer| **closer == word) {
            return Ok(Some(closer));
        }
        match word {
            "if" => self.conditional(here)?,
            "while" | "until" => {
                self.up_to(&here, word, "do")?;
                self.up_to(&here, word, "done")?;
            }
            "for" | "select" => self.for_loop(here, word)?,
            "case" => self.case(here)?,
            "{" => self.up_to(&here, word, "}")?,
            "[[" => self.test(here)?,
            "!" => {}
            // Of what follows these, bash itself takes more than its manual says.
            "time" | "coproc" => return Err(Stop::Unsure),
            "function" => {
                self.blanks();
                self.word()?;
                self.blanks();
                if self.take("(") {
                    self.blanks();
                    if !self.take(")") {
                        return Err(Stop::Unsure);
                    }
                }
            }
            _ => {
                self.pos = at;
                self.simple()?;
            }
        }
        Ok(None)
    }

    /// The word that begins here, if it is literal and stands alone; the place is behind it then.
    fn plain_word(&mut self) -> &'static str {
        const WORDS: [&str; 12] = [
            "if", "while", "until", "for", "select", "case", "{", "[[", "!", "time", "coproc",
            "function",
        ];
        let rest = &self.bytes[self.pos..];
        // No such word is longer, with what ends it or splits it.
        let rest = &rest[..rest.len().min(10)];
        let ends = |byte: &u8| ENDS[usize::from(*byte)];
        let mut length = rest.iter().position(ends).unwrap_or(rest.len());
        // A line that goes on ends no word, but the blanks it goes on with do.
        if rest[..length].ends_with(b"\\") && rest.get(length) == Some(&b'\n') {
            length -= 1;
        }
        let word = WORDS
            .iter()
            .chain(&CLOSERS)
            .find(|word| word.as_bytes() == &rest[..length]);
        let word = word.copied().unwrap_or("");
        self.pos += word.len();
        word
    }

    /// Reads on to the word that must come next.
    fn up_to(&mut self, open: &Range<usize>, word: &str, close: &'static str) -> Read {
        let list = self.commands()?;
        match &list.closer {
            Some(Closer::Word(found)) if *found == close => something(&list),
            _ => self.mismatch(open, word, close, list),
        }
    }

    fn mismatch<T>(&self, open: &Range<usize>, word: &str, close: &str, found: List) -> Read<T> {
        match found.closer.unwrap_or(Closer::End) {
            Closer::End => stop(
                open.clone(),
                format!("this `{word}` has no `{close}`"),
                format!("add `{close}` where it ends"),
            ),
            Closer::Word("in") => Err(Stop::Unsure),
            other => Err(Stop::Broken(Box::new(Broken {
                range: found.at,
                message: format!("`{}` stands where `{word}` needs `{close}`", other.word()),
                help: format!("add `{close}` before it, or remove it"),
                opened: Some(open.clone()),
                harmless: false,
            }))),
        }
    }

    fn conditional(&mut self, open: Range<usize>) -> Read {
        self.up_to(&open, "if", "then")?;
        loop {
            let list = self.commands()?;
            match list.closer {
                Some(Closer::Word("fi")) => return something(&list),
                Some(Closer::Word("elif")) => {
                    something(&list)?;
                    self.up_to(&open, "if", "then")?;
                }
                Some(Closer::Word("else")) => {
                    something(&list)?;
                    return self.up_to(&open, "if", "fi");
                }
                _ => return self.mismatch(&open, "if", "fi", list),
            }
        }
    }

    fn for_loop(&mut self, open: Range<usize>, word: &str) -> Read {
        self.blanks();
        if self.sees("((") {
            self.arithmetic_command()?;
            self.blanks();
            self.take(";");
        } else {
            self.word()?;
            self.lines()?;
            if self.plain_word() == "in" {
                loop {
                    self.blanks();
                    if self.peek() == Some(b'#') {
                        self.comment();
                    }
                    if !self.word()? {
                        break;
                    }
                }
            }
            self.take(";");
        }
        self.lines()?;
        let at = self.pos;
        match self.plain_word() {
            "do" => self.up_to(&open, word, "done"),
            // A brace will do as well, though no manual says so.
            "{" => Err(Stop::Unsure),
            _ if at >= self.bytes.len() => self.mismatch(&open, word, "do", List::default()),
            _ => stop(
                open,
                format!("this `{word}` has no `do`"),
                "write `do` before the commands of the loop",
            ),
        }
    }

    fn case(&mut self, open: Range<usize>) -> Read {
        self.blanks();
        self.word()?;
        self.lines()?;
        if self.plain_word() != "in" {
            return stop(
                open,
                "this `case` has no `in`",
                "write `in` behind the word",
            );
        }
        loop {
            self.lines()?;
            let at = self.pos;
            match self.plain_word() {
                "esac" => return Ok(()),
                _ => self.pos = at,
            }
            self.take("(");
            loop {
                self.blanks();
                match self.peek() {
                    None => return self.mismatch(&open, "case", "esac", List::default()),
                    Some(b')') => {
                        self.pos += 1;
                        break;
                    }
                    Some(b'|') => self.pos += 1,
                    _ if self.word()? => {
                        self.blanks();
                        // Words that follow each other are no pattern, but a command.
                        if !matches!(self.peek(), None | Some(b'|' | b')' | b'\n' | b'(')) {
                            return self.mismatch(&open, "case", "esac", List::default());
                        }
                    }
                    _ => return Err(Stop::Unsure),
                }
            }
            let list = self.commands()?;
            match list.closer {
                Some(Closer::Clause) => {}
                Some(Closer::Word("esac")) => return Ok(()),
                Some(Closer::Paren) => {
                    return stop(
                        list.at,
                        "this `)` closes nothing that is open",
                        "if a pattern begins here, end the one before it with `;;`",
                    );
                }
                _ => return self.mismatch(&open, "case", "esac", list),
            }
        }
    }

    /// Words, assignments and redirections.
    fn simple(&mut self) -> Read {
        let mut words = 0;
        let (mut first, mut last) = (0..0, 0..0);
        loop {
            self.blanks();
            let at = self.pos;
            match self.peek() {
                None | Some(b'\n' | b';' | b'|' | b')' | b'#') => break,
                Some(b'&') if !self.sees("&>") => break,
                Some(b'<' | b'>' | b'&') if !self.sees("<(") && !self.sees(">(") => {
                    self.redirection()?;
                    continue;
                }
                Some(b'(') => {
                    self.pos += 1;
                    self.blanks();
                    // `name()` begins a function; what follows is its body.
                    if words == 1 && self.take(")") {
                        return Ok(());
                    }
                    // Bash takes a list for an item of an array, and refuses it later.
                    if words == 0 || self.bytes[at - 1] == b'=' {
                        return Err(Stop::Unsure);
                    }
                    return stop(
                        at..at + 1,
                        "a `(` cannot stand behind a word",
                        "quote it, or end the command before it; text for another program needs \
                         quotes or a heredoc",
                    );
                }
                _ => {}
            }
            if !self.word()? {
                return Err(Stop::Unsure);
            }
            let redirects = matches!(self.peek(), Some(b'<' | b'>'));
            if redirects && self.bytes[at..self.pos].iter().all(u8::is_ascii_digit) {
                continue;
            }
            words += 1;
            if words == 1 {
                first = at..self.pos;
            }
            last = at..self.pos;
            if self.peek() == Some(b'(') && self.assigns(at) {
                self.array()?;
            }
        }
        if self.bytes.get(first.start) == Some(&b'[') {
            self.brackets_of_test(first, &last);
        }
        if self.peek() == Some(b'#') {
            self.comment();
        }
        Ok(())
    }

    /// Whether what was read since then is `name=` or `name+=`.
    fn assigns(&self, start: usize) -> bool {
        let word = &self.bytes[start..self.pos];
        let Some(name) = word.strip_suffix(b"=") else {
            return false;
        };
        let name = name.strip_suffix(b"+").unwrap_or(name);
        let first = name
            .first()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        first
            && name
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    }

    fn array(&mut self) -> Read {
        let open = self.pos..self.pos + 1;
        self.pos += 1;
        loop {
            self.lines()?;
            match self.peek() {
                None => return never_closed(open, "("),
                Some(b')') => {
                    self.pos += 1;
                    return Ok(());
                }
                _ if self.word()? => {}
                _ => return Err(Stop::Unsure),
            }
        }
    }

    fn until_paren(&mut self, open: Range<usize>, written: &str) -> Read {
        let outer = std::mem::take(&mut self.heredocs);
        self.brackets += 1;
        let list = self.commands()?;
        self.brackets -= 1;
        // A body that comes after the bracket is read in more than one way.
        if !self.heredocs.is_empty() {
            return Err(Stop::Unsure);
        }
        self.heredocs = outer;
        match list.closer {
            Some(Closer::Paren) => Ok(()),
            None | Some(Closer::End) => never_closed(open, written),
            Some(_) => self.mismatch(&open, written, ")", list),
        }
    }
}

/// Where the grammar asks for a command, one must stand.
fn something(list: &List) -> Read {
    match (list.any, &list.closer) {
        (false, Some(closer)) => stop(
            list.at.clone(),
            format!("`{}` stands where a command is expected", closer.word()),
            "write a command before it; `:` does nothing",
        ),
        _ => Ok(()),
    }
}

/// What a word that closes would have closed.
fn opens(closer: &Closer) -> &'static str {
    match closer.word() {
        "then" | "elif" | "else" | "fi" => "`if`",
        "do" | "done" => "`for`, `while` or `until`",
        "}" => "`{`",
        ")" => "`(`",
        _ => "`case`",
    }
}
