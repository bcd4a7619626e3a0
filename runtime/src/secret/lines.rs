//! Secrets in what is read line by line: what a line does not show by itself, those before it do.
//!
//! A private key is known by its first line, and a secret of several lines may have some that are too
//! short to be hidden wherever they stand.

use super::known::SHORTEST;
use super::{HIDDEN, LINE, Secrets, token};
use std::rc::Rc;

/// How many places in secrets are followed at once. More are only open where a secret repeats itself.
const MOST: usize = 64;

/// What has begun in the lines of a stream and not ended.
#[derive(Clone, Debug, Default)]
pub struct Open {
    key: bool,
    /// Blocks by their numbers, and which line would come next.
    blocks: Vec<(usize, usize)>,
}

impl Open {
    pub fn is_empty(&self) -> bool {
        !self.key && self.blocks.is_empty()
    }
}

/// The lines of a secret.
#[derive(Clone, Debug)]
pub(super) struct Block(Rc<[Box<str>]>);

impl Block {
    /// Those of a text, if it has several and they do not all count by themselves.
    pub fn of(text: &str) -> Option<Block> {
        let short = |line: &str| line.trim().len() < LINE;
        let some = text.contains('\n') && text.lines().any(short);
        some.then(|| Block(text.lines().map(|line| Box::from(line.trim())).collect()))
    }
}

impl Secrets {
    /// The next line of a stream, without secrets.
    pub fn line(&self, open: &mut Open, line: &str) -> String {
        let follows = self.follows(open, line);
        let mut shown = String::new();
        let mut rest = line;
        if open.key {
            shown.push_str(HIDDEN);
            match token::key_end(line.as_bytes()) {
                Some(end) => rest = line.get(end..).unwrap_or_default(),
                None => return shown,
            }
        }
        open.key = token::opens_key(rest.as_bytes());
        if follows {
            return HIDDEN.to_string();
        }
        shown.push_str(&self.text(rest));
        shown
    }

    /// Whether a line is the next of a secret that has begun; what begins or goes on with it is
    /// remembered.
    fn follows(&self, open: &mut Open, line: &str) -> bool {
        if self.blocks.is_empty() {
            return false;
        }
        let line = line.trim();
        let mut follows = false;
        let mut next = Vec::new();
        for (block, at) in open.blocks.drain(..) {
            let lines = self.blocks.get(block).map_or(&[][..], |block| &block.0);
            let Some(wanted) = lines.get(at) else {
                continue;
            };
            let last = at + 1 == lines.len();
            if *line == **wanted || last && line.starts_with(&**wanted) {
                follows = true;
                next.extend((!last).then_some((block, at + 1)));
            }
        }
        for (number, block) in self.blocks.iter().enumerate() {
            if let Some(first) = block.0.first()
                && line.ends_with(&**first)
            {
                next.push((number, 1));
                follows |= line == &**first && first.len() >= SHORTEST;
            }
        }
        next.truncate(MOST);
        open.blocks = next;
        follows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrc_vm::value::Value;

    fn shown(secrets: &Secrets, text: &str) -> String {
        let mut open = Open::default();
        let lines = text.lines().map(|line| secrets.line(&mut open, line));
        let lines: Vec<String> = lines.collect();
        assert!(open.is_empty(), "{open:?}");
        lines.join("\n")
    }

    #[test]
    fn a_private_key_is_hidden_to_its_end() {
        let none = Secrets::default();
        let key = "a -----BEGIN RSA PRIVATE KEY-----\nabc\ndef\n-----END RSA PRIVATE KEY----- b\nc";
        assert_eq!(shown(&none, key), "a ***\n***\n***\n*** b\nc");
        let one = "-----BEGIN PRIVATE KEY-----x-----END PRIVATE KEY-----\nc";
        assert_eq!(shown(&none, one), "***\nc");
        let public = "-----BEGIN CERTIFICATE-----\nabc";
        assert_eq!(shown(&none, public), public);
    }

    #[test]
    fn short_lines_of_a_secret_are_hidden_where_they_follow_it() {
        let mut secrets = Secrets::default();
        secrets.learn("a", &Value::text("first line\nab\n\ncd\n"));
        assert_eq!(shown(&secrets, "ab\ncd"), "ab\ncd");
        assert_eq!(
            shown(&secrets, "is first line\nab\n\ncd.\nab"),
            "is ***\n***\n***\n***\nab"
        );
        let broken = "first line\nxy\nab";
        assert_eq!(shown(&secrets, broken), "***\nxy\nab");
        let repeated = "a\n".repeat(20_000);
        secrets.learn("b", &Value::text(repeated.as_str()));
        let mut open = Open::default();
        for line in repeated.lines() {
            secrets.line(&mut open, line);
        }
        assert!(open.blocks.len() <= MOST);
    }
}
