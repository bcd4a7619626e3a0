//! What a script certainly prints, as far as that can be told without running it.
//!
//! Understands a handful of commands with plain words and gives up on everything else: a script
//! that is not understood prints something, and nothing is known of it.

use crate::ir::{Script, ScriptPart};
use smallvec::SmallVec;
use std::borrow::Cow;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Printed {
    /// All of it.
    pub text: Option<String>,
    /// Text that means the same as JSON, if it is JSON at all.
    pub json: Option<String>,
    /// Whole lines, or nothing.
    pub lines: bool,
}

/// Longer scripts are not looked at: nobody prints constants with them.
const LONGEST: usize = 64 * 1024;

pub fn printed(script: &Script) -> Printed {
    let source = match script.parts.as_slice() {
        [] => "",
        [ScriptPart::Source(text)] if text.len() <= LONGEST => text,
        _ => return Printed::default(),
    };
    let lines = prints_lines(source);
    if !script.vars.is_empty() {
        return Printed {
            lines,
            ..Printed::default()
        };
    }
    if let Some(body) = quoted_heredoc(source) {
        return Printed {
            json: Some(body.to_string()),
            text: Some(body.to_string()),
            lines: true,
        };
    }
    let (text, json) = commands(source).map_or((None, None), |commands| outputs(&commands));
    Printed { text, json, lines }
}

/// The body of a heredoc that the shell does not read, if `cat` of it is the whole script.
fn quoted_heredoc(source: &str) -> Option<&str> {
    let (first, rest) = source.trim_start().split_once('\n')?;
    let word = first.trim().strip_prefix("cat")?.trim_start();
    let word = word.strip_prefix("<<")?.trim();
    let quoted = |quote: char| word.strip_prefix(quote)?.strip_suffix(quote);
    let word = quoted('\'').or_else(|| quoted('"'))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if word.is_empty() || !word.chars().all(plain) {
        return None;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end_matches('\n') == word {
            let after = &rest[at + line.len()..];
            return after.trim().is_empty().then(|| &rest[..at]);
        }
        at += line.len();
    }
    None
}

type Words<'a> = SmallVec<[Cow<'a, str>; 4]>;

/// Commands of plain words, one after the other; none if there is anything else.
fn commands(source: &str) -> Option<Vec<Words<'_>>> {
    let mut commands = Vec::new();
    let mut command = Words::new();
    let mut word: Option<Cow<'_, str>> = None;
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            ' ' | '\t' => {
                command.extend(word.take());
                after
            }
            '\n' | ';' => {
                command.extend(word.take());
                if !command.is_empty() {
                    commands.push(std::mem::take(&mut command));
                }
                after
            }
            '\'' => {
                let (inside, after) = after.split_once('\'')?;
                add(&mut word, inside);
                after
            }
            '"' => in_quotes(after, &mut word)?,
            '#' if word.is_none() => after.find('\n').map_or("", |end| &after[end..]),
            first if is_plain(first) => {
                let end = rest.find(|c: char| !is_plain(c)).unwrap_or(rest.len());
                add(&mut word, &rest[..end]);
                &rest[end..]
            }
            _ => return None,
        };
    }
    command.extend(word);
    if !command.is_empty() {
        commands.push(command);
    }
    Some(commands)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-+=:,./@%^".contains(c) || c.is_alphanumeric()
}

fn add<'a>(word: &mut Option<Cow<'a, str>>, more: &'a str) {
    match word {
        None => *word = Some(Cow::Borrowed(more)),
        Some(word) => word.to_mut().push_str(more),
    }
}

/// Takes in what stands in double quotes, if no value does; gives back what follows them.
fn in_quotes<'a>(text: &'a str, word: &mut Option<Cow<'a, str>>) -> Option<&'a str> {
    let mut rest = text;
    loop {
        let special = rest.find(['"', '\\', '$', '`', '!'])?;
        add(word, &rest[..special]);
        let after = &rest[special + 1..];
        rest = match rest.as_bytes()[special] {
            b'"' => return Some(after),
            b'\\' => {
                let escaped = after.chars().next()?;
                match escaped {
                    '"' | '\\' | '$' | '`' => add(word, &after[..1]),
                    '\n' => {}
                    _ => add(word, &rest[special..special + 1 + escaped.len_utf8()]),
                }
                &after[escaped.len_utf8()..]
            }
            _ => return None,
        };
    }
}

fn outputs(commands: &[Words<'_>]) -> (Option<String>, Option<String>) {
    if let [command] = commands
        && let [jq, option, json] = command.as_slice()
        && jq == "jq"
        && ["-n", "-nc", "-cn", "--null-input"].contains(&&**option)
    {
        let is_json = serde_json::from_str::<serde_json::Value>(json).is_ok();
        return (None, is_json.then(|| json.to_string()));
    }
    let mut all = String::new();
    for command in commands {
        match output(command) {
            Some(text) => all.push_str(&text),
            None => return (None, None),
        }
    }
    (Some(all.clone()), Some(all))
}

fn output(command: &[Cow<'_, str>]) -> Option<String> {
    let (name, arguments) = command.split_first()?;
    match &**name {
        "true" | ":" | "sleep" | "set" => Some(String::new()),
        "echo" => match arguments.first() {
            Some(option) if option == "-n" => {
                let rest = &arguments[1..];
                let more = rest.first().is_some_and(|word| word.starts_with('-'));
                (!more).then(|| rest.join(" "))
            }
            Some(option) if option.starts_with('-') => None,
            _ => Some(arguments.join(" ") + "\n"),
        },
        "printf" => match arguments {
            [format] if !format.starts_with('-') && !format.contains('%') => {
                let text = format.replace("\\n", "\n");
                (!text.contains('\\')).then_some(text)
            }
            [format, text] if format == "%s" => Some(text.to_string()),
            [format, text] if format == "%s\\n" => Some(format!("{text}\n")),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a program ends what it prints with a newline, whatever it is asked.
fn prints_whole_lines(name: &str) -> bool {
    matches!(
        name,
        "basename"
            | "cut"
            | "date"
            | "df"
            | "dirname"
            | "du"
            | "git"
            | "grep"
            | "hostname"
            | "id"
            | "ls"
            | "mktemp"
            | "nproc"
            | "pwd"
            | "realpath"
            | "seq"
            | "sha256sum"
            | "sort"
            | "uname"
            | "uniq"
            | "wc"
            | "which"
            | "whoami"
    )
}

/// Whether a command prints nothing.
fn is_silent(name: &str) -> bool {
    matches!(
        name,
        ":" | "["
            | "[["
            | "cd"
            | "chmod"
            | "cp"
            | "done"
            | "exit"
            | "export"
            | "false"
            | "fi"
            | "ln"
            | "local"
            | "mkdir"
            | "mv"
            | "return"
            | "rm"
            | "set"
            | "shift"
            | "sleep"
            | "test"
            | "touch"
            | "trap"
            | "true"
            | "unset"
            | "wait"
    )
}

/// Whether a command follows after a word.
fn comes_before(word: &str) -> bool {
    matches!(
        word,
        "!" | "do" | "elif" | "else" | "if" | "then" | "until" | "while" | "{"
    )
}

/// Whether all that a script can print are whole lines. Cuts the text into pieces that start with
/// a command, roughly: a piece that was cut in the wrong place starts with a word that is no
/// command here, and then nothing is said.
fn prints_lines(source: &str) -> bool {
    let mut prints = false;
    let mut rest = source;
    while !rest.is_empty() {
        let is_end = |byte: u8| matches!(byte, b'\n' | b';' | b'|' | b'&');
        let end = rest.bytes().position(is_end).unwrap_or(rest.len());
        let mut piece = rest[..end].trim();
        rest = rest.get(end + 1..).unwrap_or_default();
        let first = |piece: &str| piece.find(char::is_whitespace).unwrap_or(piece.len());
        while !piece.is_empty() && comes_before(&piece[..first(piece)]) {
            piece = piece[first(piece)..].trim_start();
        }
        if piece.is_empty() || piece.starts_with('#') || is_assignment(piece) {
            continue;
        }
        let name = piece
            .split(|c: char| c.is_whitespace() || c == ')')
            .next()
            .unwrap_or_default();
        // What goes into a file or a descriptor is not what is printed.
        let arguments = &piece[name.len()..];
        if name == "echo" {
            let option = arguments.trim_start();
            if option.starts_with('-') || option.starts_with("$") || arguments.contains("\\c") {
                return false;
            }
            prints = true;
        } else if prints_whole_lines(name) {
            let raw = ["-z", "--format", "-printf", "--null", "-0"];
            let is_raw = |word: &str| raw.iter().any(|option| word.starts_with(option));
            if arguments.split_ascii_whitespace().any(is_raw) {
                return false;
            }
            prints = true;
        } else if !is_silent(name) {
            return false;
        }
    }
    prints
}

/// Whether a piece only sets a variable: what a substitution prints goes into it.
fn is_assignment(piece: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let name = piece.bytes().take_while(|byte| is_part(*byte)).count();
    let Some(value) = piece[name..].strip_prefix('=') else {
        return false;
    };
    name > 0
        && (value.starts_with("$(")
            || value.starts_with("\"$(")
            || !value.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{SourceId, Span};

    fn of(text: &str) -> Printed {
        printed(&Script {
            span: Span::top(SourceId(0)),
            parts: vec![ScriptPart::Source(text.to_string())],
            vars: Vec::new(),
            mentions: Vec::new(),
            nounset: false,
        })
    }

    #[test]
    fn constants_are_read() {
        for (script, text) in [
            ("echo hi", "hi\n"),
            ("echo 'a  b' \"c\"\n", "a  b c\n"),
            ("echo -n hi", "hi"),
            ("printf 'x\\n'", "x\n"),
            ("printf '%s' ok", "ok"),
            ("set -e\necho \"{\\\"a\\\": 1}\"", "{\"a\": 1}\n"),
            ("# why\necho hi # no\n", "hi\n"),
            ("cat <<'EOF'\n{\"a\": 1}\nEOF\n", "{\"a\": 1}\n"),
        ] {
            assert_eq!(of(script).text.as_deref(), Some(text), "{script}");
        }
        assert_eq!(of("jq -n '{\"a\":1}'").json.as_deref(), Some("{\"a\":1}"));
    }

    #[test]
    fn what_depends_on_anything_is_not() {
        for script in [
            "echo $HOME",
            "echo `date`",
            "echo hi | tr a b",
            "echo hi > file",
            "echo *",
            "echo -e 'a'",
            "printf '%d' 5",
            "cat <<EOF\n$x\nEOF",
            "cat file",
            "echo 'open",
            "jq -n '{a: 1}'",
            "x=1 echo hi",
        ] {
            let printed = of(script);
            assert_eq!((printed.text, printed.json), (None, None), "{script}");
        }
    }

    #[test]
    fn lines_are_lines() {
        for script in [
            "if [ -f x ]; then echo yes; else echo no; fi",
            "git rev-parse HEAD",
            "count=$(ls | wc -l)\necho $HOME\n",
            "git diff --name-only | wc -l",
        ] {
            // `echo $x` could print without a newline, if the value starts with `-n`.
            let expected = !script.contains("echo $");
            assert_eq!(of(script).lines, expected, "{script}");
        }
        for script in [
            "printf x",
            "echo -n x",
            "python3 -c 'print(1)'",
            "echo a | tr -d '\\n'",
            "true",
            "cat file",
        ] {
            assert!(!of(script).lines, "{script}");
        }
    }
}
