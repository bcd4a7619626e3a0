//! Commands that deserve a second look: shells, code that is given as text, files that are removed.
//!
//! A template is not a sandbox; these are notes for whoever reviews one. Only a value that becomes
//! part of a program's text is more than that.

use super::Lower;
use super::holes::{self, Piece};
use super::words::{Word, split};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::doc::Text;
use crate::shell::{Interpreter, is_option, is_shell};

/// Programs that start another one, which follows their own words; and the flags that take one.
const WRAPPERS: [(&str, &[&str]); 8] = [
    ("env", &["-u", "-C"]),
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-r", "-t"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("timeout", &["-k", "-s"]),
    ("xargs", &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"]),
    ("time", &["-f", "-o"]),
    ("setsid", &[]),
];

/// The name of a program without its directory.
pub fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The position of the program that runs in the end, behind those that only start it.
pub fn program(words: &[Word]) -> usize {
    let wrapper = |word: &Word| {
        let name = base(&word.text);
        let found = WRAPPERS.iter().find(|(known, _)| *known == name);
        found.map(|(_, flags)| *flags)
    };
    let mut at = 0;
    while let Some(flags) = words.get(at).and_then(wrapper) {
        at += 1;
        while let Some(word) = words.get(at)
            && is_own(&word.text)
        {
            at += 1 + usize::from(flags.contains(&word.text.as_str()));
        }
    }
    at
}

/// Whether a word is one of a program that starts another: an option, a variable, a time.
fn is_own(word: &str) -> bool {
    let number = word.trim_end_matches(['s', 'm', 'h', 'd']);
    let digits = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let time = !number.is_empty() && word.len() <= number.len() + 1 && number.bytes().all(digits);
    word.starts_with('-') || word.contains('=') || time
}

/// The word that is a program's text, if a command has one.
pub fn script_word(words: &[Word]) -> Option<usize> {
    let at = program(words);
    let name = base(&words.get(at)?.text);
    let known = Interpreter::of(name)?;
    let mut option = at + 1;
    while let Some(word) = words.get(option) {
        let text = word.text.as_str();
        if known.takes_source(text) {
            return Some(option + 1).filter(|script| *script < words.len());
        }
        // Options end where the first operand is.
        if !is_option(text) {
            return None;
        }
        option += 1 + usize::from(known.takes_value(text));
    }
    None
}

fn first_hole(word: &Word) -> Option<std::ops::Range<usize>> {
    holes::pieces(&word.text)
        .into_iter()
        .find_map(|piece| match piece {
            Piece::Hole(range) => Some(range),
            Piece::Plain(_) => None,
        })
}

/// How a program's text is given a value that is not part of it.
fn behind_the_text(program: &str) -> String {
    let example = match program {
        "python" | "python3" => "`python3 -c 'use(sys.argv[1])' {x}`",
        "node" | "bun" => "`node -e 'use(process.argv[1])' {x}`",
        "ruby" => "`ruby -e 'use(ARGV[0])' {x}`",
        "perl" => "`perl -e 'use($ARGV[0])' {x}`",
        "deno" => "`deno eval 'use(Deno.args[0])' {x}`",
        "php" => "`php -r 'use($argv[1]);' {x}`",
        _ => "`sh -c 'use \"$1\"' _ {x}`",
    };
    format!("pass it as a word of its own behind the text: {example}")
}

/// A value that a command has executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// The bytes of the command that it is put in for.
    pub range: std::ops::Range<usize>,
    pub program: String,
    pub help: String,
}

/// The options of `ssh` that take the next word.
const SSH_VALUED: &str = "pioFlJLRDbceEImOQSWwB";

/// The first value of a command that becomes code, or part of it, of a program that is known to
/// execute what it is given.
pub fn executed(line: &str) -> Option<Executed> {
    let words = split(line).words;
    let program = program(&words);
    let name = base(&words.get(program)?.text).to_string();
    let (word, hole, help) = match name.as_str() {
        "ssh" => {
            // What stands behind the name of a machine is read by a shell there.
            let mut named = program + 1;
            while let Some(word) = words.get(named).filter(|word| is_option(&word.text)) {
                let letter = word.text.get(1..).filter(|rest| rest.len() == 1);
                let valued = letter.is_some_and(|letter| SSH_VALUED.contains(letter));
                named += 1 + usize::from(valued);
            }
            let mut rest = words.iter().skip(named + 1);
            let (word, hole) = rest.find_map(|word| Some((word, first_hole(word)?)))?;
            let help = "leave it out: a question that a command does not ask for is its input";
            (word, hole, help.to_string())
        }
        _ => {
            let word = words.get(script_word(&words)?)?;
            (word, first_hole(word)?, behind_the_text(&name))
        }
    };
    Some(Executed {
        range: word.source(hole),
        program: name,
        help,
    })
}

pub fn look<'a>(lower: &mut Lower<'_, 'a>, text: Text<'a>, words: &[Word]) {
    let at = program(words);
    let Some(word) = words.get(at) else { return };
    let name = base(&word.text).to_string();
    let span = text.span(word.range.clone());
    match script_word(words).and_then(|script| words.get(script)) {
        Some(script) => {
            let alone = holes::pieces(&script.text).len() == 1;
            match first_hole(script).filter(|_| !alone) {
                Some(range) => {
                    let message = format!("the value becomes part of what `{name}` executes");
                    let hole = text.span(script.source(range));
                    lower.add(
                        Diagnostic::new(&codes::VALUE_IN_PROGRAM_TEXT, hole, message)
                            .help(behind_the_text(&name)),
                    );
                }
                None => {
                    let message =
                        format!("`{name}` executes text that it is given; this is not a sandbox");
                    lower.add(
                        Diagnostic::new(&codes::TRUSTED_CODE, span, message)
                            .help("review it as you would a program, or put it into a file"),
                    );
                }
            }
        }
        None if is_shell(&name) => {
            let message = format!("`{name}` runs a script; this is not a sandbox");
            lower.add(
                Diagnostic::new(&codes::TRUSTED_CODE, span, message)
                    .help("review the script as you would a program"),
            );
        }
        None => {}
    }
    paths(lower, text, words, at, &name);
    flags(lower, text, words, at);
    for word in words {
        machine_path(lower, text, word);
    }
}

/// Programs that wait for another machine, what they are asked to do if not everything waits, and
/// the words that say how long.
const NETWORK: [(&str, &[&str], &[&str]); 9] = [
    ("curl", &[], &["-m", "--max-time"]),
    ("wget", &[], &["-T", "--timeout"]),
    ("ssh", &[], &[]),
    ("scp", &[], &[]),
    ("sftp", &[], &[]),
    ("kubectl", &[], &["--request-timeout"]),
    ("git", &["fetch", "pull", "push", "clone"], &[]),
    ("npm", &["install", "ci", "publish"], &[]),
    ("pip", &["install", "download"], &[]),
];

/// A command that waits for another machine, and that nothing ends.
pub fn network<'a>(lower: &mut Lower<'_, 'a>, text: Text<'a>, words: &[Word]) {
    let at = program(words);
    let bounded = |word: &Word| base(&word.text) == "timeout";
    if words.iter().take(at).any(bounded) {
        return;
    }
    let Some(word) = words.get(at) else { return };
    let name = base(&word.text);
    let Some((_, tasks, limits)) = NETWORK.iter().find(|(known, ..)| *known == name) else {
        return;
    };
    let rest = words.get(at + 1..).unwrap_or_default();
    let limited = rest.iter().any(|word| {
        let flag = word.text.split('=').next().unwrap_or_default();
        limits.contains(&flag)
    });
    let mut plain = rest.iter().filter(|word| !word.text.starts_with('-'));
    let waits = tasks.is_empty()
        || plain
            .next()
            .is_some_and(|word| tasks.contains(&&*word.text));
    if limited || !waits {
        return;
    }
    let message = format!("`{name}` waits for another machine, and nothing ends it");
    lower.add(
        Diagnostic::new(
            &codes::UNBOUNDED_NETWORK,
            text.span(word.range.clone()),
            message,
        )
        .help("give the node a `timeout` in milliseconds"),
    );
}

/// Files that are removed or overwritten by a path that a value decides, or by a wide one.
fn paths<'a>(lower: &mut Lower<'_, 'a>, text: Text<'a>, words: &[Word], at: usize, name: &str) {
    if !matches!(name, "rm" | "mv" | "cp" | "rsync") {
        return;
    }
    for word in words.iter().skip(at + 1) {
        let shown = &word.text;
        let wide = shown.starts_with('/') || shown.starts_with('~');
        let decided = first_hole(word).is_some();
        if shown.starts_with('-') || !(wide || decided) {
            continue;
        }
        if name == "rm" && may_be_root(shown) {
            let (message, help) = match decided {
                true => (
                    "when the values are empty this removes everything",
                    "put a fixed directory before it",
                ),
                false => ("this removes everything", "name what is to be removed"),
            };
            let span = text.span(word.range.clone());
            lower.add(
                Diagnostic::new(&codes::WIDE_PATH, span, message)
                    .severity(codes::Severity::Warning)
                    .help(help),
            );
            continue;
        }
        let how = if decided {
            "a value decides"
        } else {
            "is wide"
        };
        let message = match name {
            "rm" => format!("`rm` removes by a path that {how}; this is not a sandbox"),
            _ => format!("`{name}` writes by a path that {how}; this is not a sandbox"),
        };
        let span = text.span(word.range.clone());
        lower.add(
            Diagnostic::new(&codes::WIDE_PATH, span, message)
                .help("put a fixed directory before it"),
        );
    }
}

/// Whether a path is nothing but slashes when the values in it are empty, as they may be.
fn may_be_root(word: &str) -> bool {
    let mut rest = String::new();
    for piece in holes::pieces(word) {
        match piece {
            Piece::Plain(range) => rest.push_str(word.get(range).unwrap_or_default()),
            Piece::Hole(range) => {
                let inner = word.get(range).unwrap_or_default();
                if !inner.ends_with('=') && !inner.ends_with("??") {
                    return false;
                }
            }
        }
    }
    !rest.is_empty() && rest.bytes().all(|byte| byte == b'/')
}

/// `--name {x=}`: when the value is empty its word goes, and the flag takes the next.
fn flags<'a>(lower: &mut Lower<'_, 'a>, text: Text<'a>, words: &[Word], at: usize) {
    for pair in words.get(at..).unwrap_or_default().windows(2) {
        let [flag, value] = pair else { continue };
        let is_flag = flag.text.starts_with('-') && flag.text.len() > 1;
        if !is_flag || flag.text.contains('=') {
            continue;
        }
        let empty = value.text == "{}"
            || [("{", "=}"), ("{", "??}")].iter().any(|(start, end)| {
                value.text.starts_with(start)
                    && value.text.ends_with(end)
                    && value.text.matches('{').count() == 1
            });
        if empty && value.text != "{}" {
            let message = format!(
                "when the value is empty its word is left out, and `{}` takes the next",
                flag.text
            );
            let span = text.span(value.range.clone());
            lower.add(
                Diagnostic::new(&codes::DANGLING_FLAG, span, message)
                    .help(format!("write `{}={}`", flag.text, value.text)),
            );
        }
    }
}

fn machine_path<'a>(lower: &mut Lower<'_, 'a>, text: Text<'a>, word: &Word) {
    let own = ["/home/", "/Users/"].iter().any(|home| {
        word.text
            .strip_prefix(home)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric()))
    });
    if own {
        let message = "this path exists on one machine only";
        lower.add(
            Diagnostic::new(&codes::MACHINE_PATH, text.span(word.range.clone()), message)
                .help("pass it as a value"),
        );
    }
}
