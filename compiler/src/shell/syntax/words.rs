//! Words: quotes, what `$` and backticks begin, redirections and heredocs.

use super::{Broken, HOLE, Read, Reader, STOPS, Stop, stop};
use std::ops::Range;

/// A heredoc whose body has not come yet.
pub(super) struct Heredoc {
    mark: Vec<u8>,
    dash: bool,
    at: Range<usize>,
    depth: u32,
}

impl Reader<'_> {
    pub(super) fn line_break(&mut self) -> Read {
        self.pos += 1;
        for heredoc in std::mem::take(&mut self.heredocs) {
            self.body(&heredoc)?;
        }
        Ok(())
    }

    fn body(&mut self, heredoc: &Heredoc) -> Read {
        // Bash has more than one mind about bodies that begin in a substitution it has left.
        if heredoc.depth != self.depth || heredoc.mark.contains(&HOLE) {
            return Err(Stop::Unsure);
        }
        while self.pos < self.bytes.len() {
            let rest = &self.bytes[self.pos..];
            let length = memchr::memchr(b'\n', rest);
            let mut line = &rest[..length.unwrap_or(rest.len())];
            self.pos += length.map_or(rest.len(), |length| length + 1);
            while heredoc.dash && line.first() == Some(&b'\t') {
                line = &line[1..];
            }
            if line == heredoc.mark {
                return Ok(());
            }
            if self.brackets > 0 && line.starts_with(&heredoc.mark) {
                return Err(Stop::Unsure);
            }
        }
        if self.brackets > 0 {
            return Err(Stop::Unsure);
        }
        let mark = String::from_utf8_lossy(&heredoc.mark);
        self.complaint.get_or_insert(Broken {
            range: heredoc.at.clone(),
            message: "no line ends this heredoc: everything behind it is text".to_owned(),
            help: format!("write `{mark}` on a line of its own, without blanks around it"),
            opened: None,
            harmless: true,
        });
        Ok(())
    }

    pub(super) fn redirection(&mut self) -> Read {
        if self.take("<<<") || !self.sees("<<") {
            let operators = ["&>>", "&>", ">>", ">&", "<&", ">|", "<>", "<", ">"];
            let _ = operators.iter().any(|operator| self.take(operator));
            self.blanks();
            return match self.word()? {
                true => Ok(()),
                false => Err(Stop::Unsure),
            };
        }
        self.pos += 2;
        let dash = self.take("-");
        self.blanks();
        let start = self.pos;
        let mut mark = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => break,
                b'\'' | b'"' => {
                    let rest = &self.bytes[self.pos + 1..];
                    let Some(length) = rest.iter().position(|next| *next == byte) else {
                        return never_closed(self.pos..self.pos + 1, char::from(byte));
                    };
                    if rest[..length].iter().any(|byte| b"\\\n`$".contains(byte)) {
                        return Err(Stop::Unsure);
                    }
                    mark.extend_from_slice(&rest[..length]);
                    self.pos += length + 2;
                }
                b'$' | b'`' => return Err(Stop::Unsure),
                b'\\' => {
                    let Some(next) = self.bytes.get(self.pos + 1).filter(|next| **next != b'\n')
                    else {
                        return Err(Stop::Unsure);
                    };
                    mark.push(*next);
                    self.pos += 2;
                }
                byte => {
                    mark.push(byte);
                    self.pos += 1;
                }
            }
        }
        if mark.is_empty() {
            return Err(Stop::Unsure);
        }
        self.heredocs.push(Heredoc {
            mark,
            dash,
            at: start..self.pos,
            depth: self.depth,
        });
        Ok(())
    }

    /// A word, if one begins here.
    pub(super) fn word(&mut self) -> Read<bool> {
        let start = self.pos;
        loop {
            self.plain(&STOPS);
            let Some(byte) = self.peek() else { break };
            match byte {
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' if self.bytes.get(self.pos + 1) == Some(&b'(') => {
                    let at = self.pos;
                    self.pos += 2;
                    self.until_paren(at..at + 2, "<(")?;
                }
                b'<' | b'>' => break,
                b'(' => {
                    let before = self.bytes[start..self.pos].last();
                    // A pattern, if the shell has been told to read such.
                    if before.is_some_and(|before| b"?*+@!".contains(before)) {
                        return Err(Stop::Unsure);
                    }
                    break;
                }
                _ => self.part()?,
            }
        }
        Ok(self.pos > start)
    }

    /// On to the next of these bytes.
    fn plain(&mut self, stops: &[bool; 256]) {
        let rest = &self.bytes[self.pos..];
        let length = rest.iter().position(|byte| stops[usize::from(*byte)]);
        self.pos += length.unwrap_or(rest.len());
    }

    /// A byte of a word, or what it begins.
    pub(super) fn part(&mut self) -> Read {
        let at = self.pos;
        match self.bytes[at] {
            b'\\' => self.pos = (at + 2).min(self.bytes.len()),
            b'\'' => {
                let rest = &self.bytes[at + 1..];
                match memchr::memchr(b'\'', rest) {
                    Some(length)
                        if !self.heredocs.is_empty() && rest[..length].contains(&b'\n') =>
                    {
                        return Err(Stop::Unsure);
                    }
                    Some(length) => self.pos = at + length + 2,
                    None => return never_closed(at..at + 1, "'"),
                }
            }
            b'"' => self.double()?,
            b'`' => self.backtick()?,
            b'$' => self.dollar(false)?,
            _ => self.pos += 1,
        }
        Ok(())
    }

    fn double(&mut self) -> Read {
        let at = self.pos;
        self.pos += 1;
        loop {
            self.plain(&STOPS);
            match self.peek() {
                None => return never_closed(at..at + 1, "\""),
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => self.pos = (self.pos + 2).min(self.bytes.len()),
                Some(b'`') => self.backtick()?,
                Some(b'$') => self.dollar(true)?,
                // The body of the heredoc begins inside the quotes.
                Some(b'\n') if !self.heredocs.is_empty() => return Err(Stop::Unsure),
                Some(_) => self.pos += 1,
            }
        }
    }

    /// Commands in backticks are read when they run.
    fn backtick(&mut self) -> Read {
        let at = self.pos;
        self.pos += 1;
        loop {
            match self.peek() {
                None => return never_closed(at..at + 1, "`"),
                Some(b'`') => {
                    self.pos += 1;
                    return Ok(());
                }
                Some(b'\\') => self.pos = (self.pos + 2).min(self.bytes.len()),
                Some(_) => self.pos += 1,
            }
        }
    }

    fn dollar(&mut self, in_double: bool) -> Read {
        let at = self.pos;
        self.pos += 1;
        match self.peek() {
            Some(b'\'') if !in_double => {
                self.pos += 1;
                loop {
                    match self.peek() {
                        None => return never_closed(at..at + 2, "$'"),
                        Some(b'\'') => {
                            self.pos += 1;
                            return Ok(());
                        }
                        Some(b'\\') => self.pos = (self.pos + 2).min(self.bytes.len()),
                        Some(_) => self.pos += 1,
                    }
                }
            }
            Some(b'(') if self.sees("((") => {
                self.pos += 2;
                self.arithmetic()
            }
            Some(b'(') => {
                self.pos += 1;
                self.until_paren(at..at + 2, "$(")
            }
            Some(b'{') => {
                self.pos += 1;
                self.enter()?;
                self.braces(at..at + 2, in_double)?;
                self.depth -= 1;
                Ok(())
            }
            Some(b'[') => Err(Stop::Unsure),
            Some(b'$' | b'#') => {
                self.pos += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// `${…}` after the brace.
    fn braces(&mut self, open: Range<usize>, in_double: bool) -> Read {
        loop {
            match self.peek() {
                None => return never_closed(open, "${"),
                Some(b'}') => {
                    self.pos += 1;
                    return Ok(());
                }
                // Whether such a quote is one depends on what stands before it.
                Some(b'\'') if in_double => return Err(Stop::Unsure),
                Some(_) => self.part()?,
            }
        }
    }
}

pub(super) fn never_closed<T>(range: Range<usize>, written: impl std::fmt::Display) -> Read<T> {
    let written = written.to_string();
    let close = match written.as_str() {
        "$(" | "<(" | "(" => ")",
        "${" => "}",
        "$'" => "'",
        same => same,
    };
    stop(
        range,
        format!("this {} is never closed", code_span(&written)),
        format!("add the closing {}", code_span(close)),
    )
}

fn code_span(text: &str) -> String {
    match text {
        "`" => "backtick".to_owned(),
        text => format!("`{text}`"),
    }
}
