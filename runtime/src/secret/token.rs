//! Texts that look like tokens of well-known services, or are named as secrets where they stand.
//!
//! One pass over the bytes; most of them are looked at once, and none more than a few hundred times
//! whatever the text is: where a run of bytes ends is remembered, as the next candidate may stand inside
//! of it. Prose must pass: a name alone makes no secret, what follows it has to look like one.

use memchr::memmem;

/// What every token that was cut could go on with.
pub const REST: &[u8] =
    b"A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1A1.A1A1A1A1A1A1A1A1.A1A1A1A1A1A1A1A1@";

/// The parts of a text that look like tokens, in order.
pub fn tokens(text: &[u8]) -> Vec<(usize, usize)> {
    // Most texts are short, and what is not named is longer than they are.
    if text.len() < SHORTEST && memchr::memchr2(b':', b'=', text).is_none() {
        return Vec::new();
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut reader = Reader::new(text);
    let mut at = 0;
    while at < text.len() {
        if !STARTS[text[at] as usize] || is_inside_word(text, at) {
            at += 1;
            continue;
        }
        match reader.token_at(at) {
            Some((start, end)) => {
                let start = start.max(found.last().map_or(0, |(_, end)| *end));
                if start < end {
                    found.push((start, end));
                }
                at = end.max(at + 1);
            }
            None => at += 1,
        }
    }
    found
}

/// Whether a letter stands behind others: most do, and no token begins there.
fn is_inside_word(text: &[u8], at: usize) -> bool {
    text[at].is_ascii_alphabetic() && at > 0 && (word(text[at - 1]) || text[at - 1] == b'_')
}

/// Bytes at which something is decided.
static STARTS: [bool; 256] = {
    let mut starts = [false; 256];
    let bytes = b"gsxAeBb-:=";
    let mut index = 0;
    while index < bytes.len() {
        starts[bytes[index] as usize] = true;
        index += 1;
    }
    starts
};

/// Which bytes a token goes on with.
type Class = fn(u8) -> bool;

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}
fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}
fn name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
fn bearer(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-~+/=".contains(&byte)
}

/// No token is shorter that no name stands before.
const SHORTEST: usize = 15;

/// A prefix, the bytes that follow it, and how many there are at least.
const PREFIXES: &[(&[u8], Class, usize)] = &[
    (b"ghp_", word, 36),
    (b"gho_", word, 36),
    (b"ghu_", word, 36),
    (b"ghs_", word, 36),
    (b"ghr_", word, 36),
    (b"github_pat_", name, 22),
    (b"glpat-", name, 20),
    (b"sk-ant-", name, 20),
    (b"sk-proj-", name, 20),
    (b"sk-svcacct-", name, 20),
    (b"sk-", word, 20),
    (b"xoxa-", name, 10),
    (b"xoxb-", name, 10),
    (b"xoxe-", name, 10),
    (b"xoxo-", name, 10),
    (b"xoxp-", name, 10),
    (b"xoxr-", name, 10),
    (b"xoxs-", name, 10),
    (b"AKIA", upper, 16),
    (b"ASIA", upper, 16),
    (b"AIza", name, 35),
];

/// A run of bytes, and the class that they are of.
#[derive(Clone, Copy)]
struct Run {
    class: Class,
    from: usize,
    end: usize,
}

impl Run {
    fn of(class: Class) -> Run {
        let (from, end) = (0, 0);
        Run { class, from, end }
    }

    /// Where the run that holds `from` ends. Candidates come in order, so the last run is the only one
    /// that can hold the next.
    fn end(&mut self, text: &[u8], from: usize) -> usize {
        if !(self.from..self.end).contains(&from) {
            self.from = from;
            self.end = run(text, from, self.class);
        }
        self.end
    }
}

/// A text, and the runs of bytes that candidates may share.
struct Reader<'a> {
    text: &'a [u8],
    web_token: [Run; 3],
    password: Run,
    value: Run,
    before_digit: Run,
    before_letter: Run,
}

impl<'a> Reader<'a> {
    fn new(text: &'a [u8]) -> Reader<'a> {
        Reader {
            text,
            web_token: [Run::of(name); 3],
            password: Run::of(|byte| !byte.is_ascii_whitespace() && !b"/@\"'<>`".contains(&byte)),
            value: Run::of(|byte| {
                !byte.is_ascii_whitespace() && !b"\"'`,;(){}[]<>".contains(&byte)
            }),
            before_digit: Run::of(|byte| !byte.is_ascii_digit()),
            before_letter: Run::of(|byte| !byte.is_ascii_alphabetic()),
        }
    }

    fn token_at(&mut self, at: usize) -> Option<(usize, usize)> {
        let text = self.text;
        match text[at] {
            b'-' => private_key(text, at),
            b':' | b'=' => self.url_password(at).or_else(|| self.assigned(at)),
            b'e' => self.web_token(at),
            b'B' | b'b' => authorization(text, at),
            _ => PREFIXES.iter().find_map(|(prefix, class, least)| {
                let fits = text.len() - at >= prefix.len() + least;
                if !fits || !text[at..].starts_with(prefix) {
                    return None;
                }
                let end = run(text, at + prefix.len(), *class);
                (end - at - prefix.len() >= *least).then_some((at, end))
            }),
        }
    }

    fn web_token(&mut self, at: usize) -> Option<(usize, usize)> {
        let text = self.text;
        if !text[at..].starts_with(b"eyJ") {
            return None;
        }
        let [head, body, signature] = &mut self.web_token;
        let mut end = head.end(text, at);
        if end - at < 13 {
            return None;
        }
        for part in [body, signature] {
            if text.get(end) != Some(&b'.') {
                return None;
            }
            let next = part.end(text, end + 1);
            if next - end - 1 < 10 {
                return None;
            }
            end = next;
        }
        Some((at, end))
    }

    /// `://user:password@`
    fn url_password(&mut self, at: usize) -> Option<(usize, usize)> {
        let text = self.text;
        if text[at] != b':' {
            return None;
        }
        let plain = self.password.class;
        let before = &text[at.saturating_sub(256)..at];
        let user = before.iter().rev().take_while(|byte| plain(**byte)).count();
        let scheme = &before[..before.len() - user];
        if !scheme.ends_with(b"//") || scheme.len() < 3 || scheme[scheme.len() - 3] != b':' {
            return None;
        }
        let end = self.password.end(text, at + 1);
        let value = &text[at + 1..end];
        (text.get(end) == Some(&b'@') && looks_given(value)).then_some((at + 1, end))
    }

    /// A name that says so, `=` or `:`, and what looks like a secret.
    fn assigned(&mut self, at: usize) -> Option<(usize, usize)> {
        let text = self.text;
        if !names_secret(text, at) {
            return None;
        }
        let mut start = at + 1;
        while matches!(text.get(start), Some(b' ' | b'\t')) {
            start += 1;
        }
        if let Some(b'"' | b'\'') = text.get(start) {
            start += 1;
        }
        let end = self.value.end(text, start);
        let digit = self.before_digit.end(text, start) < end;
        let letter = self.before_letter.end(text, start) < end;
        let long = text[at] == b'=' && end - start >= 16;
        let mixed = end - start >= 8 && digit && letter;
        (looks_given(&text[start..end]) && (long || mixed)).then_some((start, end))
    }
}

/// Where a run of bytes of a class ends.
fn run(text: &[u8], from: usize, class: Class) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| class(**byte)).count()
}

const BEGIN: &[u8] = b"-----BEGIN ";

fn private_key(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let rest = text[at..].strip_prefix(BEGIN)?;
    let line = rest.iter().position(|byte| *byte == b'\n');
    let title = &rest[..line.unwrap_or(rest.len()).min(80)];
    if !contains(title, b"PRIVATE KEY") {
        return None;
    }
    // A key without its end was cut off; all of the rest belongs to it.
    let end = key_end(rest).map_or(text.len(), |end| at + BEGIN.len() + end);
    Some((at, end))
}

/// Where a private key ends that has begun before.
pub fn key_end(text: &[u8]) -> Option<usize> {
    let ending = b"-----END ";
    let close = memmem::find(text, ending)? + ending.len();
    let tail = memmem::find(&text[close..], b"-----")?;
    Some(close + tail + 5)
}

/// Whether a private key begins in a text and does not end there.
pub fn opens_key(text: &[u8]) -> bool {
    if memmem::find(text, BEGIN).is_none() {
        return false;
    }
    let last = tokens(text).pop();
    last.is_some_and(|(start, end)| {
        let rest = text[start..].strip_prefix(BEGIN);
        end == text.len() && rest.is_some_and(|rest| key_end(rest).is_none())
    })
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted)
}

fn authorization(text: &[u8], at: usize) -> Option<(usize, usize)> {
    let schemes: [(&[u8], usize); 2] = [(b"bearer ", 20), (b"basic ", 16)];
    schemes.into_iter().find_map(|(scheme, least)| {
        let head = text.get(at..at + scheme.len())?;
        if !head.eq_ignore_ascii_case(scheme) {
            return None;
        }
        let start = at + scheme.len();
        let end = run(text, start, bearer);
        let value = &text[start..end];
        let odd = |byte: &u8| !byte.is_ascii_lowercase() && !b".-".contains(byte);
        (value.len() >= least && value.iter().any(odd)).then_some((start, end))
    })
}

/// The ends of names whose values are secret.
const NAMED: &[&[u8]] = &[
    b"password",
    b"passwd",
    b"secret",
    b"token",
    b"apikey",
    b"api_key",
    b"api-key",
    b"access_key",
    b"secret_key",
    b"private_key",
];

/// Whether a name that says so stands before the sign.
fn names_secret(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(64)..at];
    let before = before.trim_ascii_end();
    let before = match before {
        [rest @ .., b'"' | b'\''] => rest,
        all => all,
    };
    let start = before.iter().rev().take_while(|byte| name(**byte)).count();
    let said = &before[before.len() - start..];
    let tail = |wanted: &[u8]| {
        said.len() >= wanted.len() && said[said.len() - wanted.len()..].eq_ignore_ascii_case(wanted)
    };
    let key = text[at] == b'=' && said.len() > 6 && tail(b"_key");
    key || NAMED.iter().any(|wanted| tail(wanted))
}

/// Whether it is a value, not a place where one is put in or was hidden.
fn looks_given(value: &[u8]) -> bool {
    value
        .first()
        .is_some_and(|first| !b"$*%{<=".contains(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shorter_is_a_token() {
        let least = PREFIXES
            .iter()
            .map(|(prefix, _, least)| prefix.len() + least);
        assert_eq!(least.min(), Some(SHORTEST));
    }

    fn hidden(text: &str) -> Vec<&str> {
        let parts = tokens(text.as_bytes()).into_iter();
        parts.map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn tokens_of_services_are_found() {
        let long = "aB3".repeat(14);
        for prefix in [
            "ghp_",
            "gho_",
            "ghu_",
            "ghs_",
            "ghr_",
            "github_pat_",
            "glpat-",
            "sk-",
            "sk-ant-",
            "sk-proj-",
            "xoxb-",
            "AIza",
        ] {
            let token = format!("{prefix}{long}");
            assert_eq!(hidden(&format!("it is {token}.")), [token.as_str()]);
            assert_eq!(hidden(&format!("{prefix}short")), [""; 0]);
        }
        assert_eq!(hidden("AKIAABCDEFGHIJKLMNOP"), ["AKIAABCDEFGHIJKLMNOP"]);
        let web = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop";
        assert_eq!(hidden(web), [web]);
    }

    #[test]
    fn values_are_found_by_what_stands_before_them() {
        assert_eq!(
            hidden("Authorization: Bearer abcdefghijklmnopqrst1"),
            ["abcdefghijklmnopqrst1"]
        );
        assert_eq!(
            hidden("basic dXNlcjpwYXNzd29yZA=="),
            ["dXNlcjpwYXNzd29yZA=="]
        );
        assert_eq!(hidden("https://me:pa55@host/x"), ["pa55"]);
        assert_eq!(hidden("DB_PASSWORD=hunter2hunter2"), ["hunter2hunter2"]);
        assert_eq!(hidden(r#"{"api_key": "abcd1234efgh"}"#), ["abcd1234efgh"]);
        assert_eq!(hidden("AWS_KEY=abcdefghijklmnop"), ["abcdefghijklmnop"]);
    }

    #[test]
    fn a_private_key_is_found_to_its_end() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----";
        assert_eq!(hidden(&format!("a {key} b")), [key]);
        assert_eq!(hidden(&key[..40]), [&key[..40]]);
        assert_eq!(hidden("-----BEGIN CERTIFICATE-----\nabc"), [""; 0]);
    }

    #[test]
    fn prose_and_code_pass() {
        for text in [
            "the token is required",
            "token: required",
            "Basic responsibilities of a bearer",
            "password=$PASSWORD",
            "https://host:8080/a@b",
            "a secret: the cake",
            "KEY=1",
            "sk-learn is a library",
            "monkey=abcdefghijklmnopqrst",
            "time 12:34:56",
            "",
        ] {
            assert_eq!(hidden(text), [""; 0], "{text}");
        }
    }
}
