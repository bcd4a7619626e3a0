//! Programs that a script cannot do without, as far as that is plain to see.
//!
//! Reads the first lines of a script while they are plain commands, one a line, and stops at the
//! first thing that it would have to understand: what is not certainly run is not needed.

/// Words at the start of a line after which nothing is plain any more.
const STOPS: &[&str] = &[
    ".", "alias", "break", "builtin", "case", "command", "continue", "coproc", "do", "done",
    "elif", "else", "enable", "esac", "eval", "exec", "exit", "fi", "for", "function", "hash",
    "if", "return", "select", "shopt", "source", "then", "time", "trap", "until", "while",
];
/// Commands that every shell has in itself.
const BUILTIN: &[&str] = &[
    ":",
    "[",
    "bg",
    "caller",
    "cd",
    "declare",
    "dirs",
    "echo",
    "export",
    "false",
    "fg",
    "getopts",
    "help",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "set",
    "shift",
    "suspend",
    "test",
    "times",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];

/// Whether the shell does this itself, without a program.
pub fn is_builtin(word: &str) -> bool {
    BUILTIN.contains(&word) || STOPS.contains(&word)
}

fn plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+')
}

/// The commands of a line, where its words are plain and `;` can only stand between two of them.
fn commands(line: &str) -> impl Iterator<Item = &str> {
    let is_plain = |c: char| plain(c) || matches!(c, ' ' | '\t' | ';' | '/' | '=' | ':' | ',');
    let several = line.contains(';') && !line.contains(";;") && line.chars().all(is_plain);
    line.split(move |c: char| several && c == ';')
}

/// A line without the plain values that it gives to the command in it.
fn without_assignments(line: &str) -> &str {
    let mut rest = line;
    while let Some((word, after)) = rest.split_once(' ')
        && let Some((name, value)) = word.split_once('=')
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && value
            .chars()
            .all(|c| plain(c) || matches!(c, '/' | ':' | ','))
        && name != "PATH"
    {
        rest = after.trim_start();
    }
    rest
}

/// The programs, each once, in the order of the text.
pub fn needed(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines().flat_map(commands) {
        let line = without_assignments(line.trim());
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let end = line
            .find([' ', '\t', ';', '|', '&', '<', '>'])
            .unwrap_or(line.len());
        let (word, rest) = line.split_at(end);
        // What goes on in the next line, in quotes or after a mark, is not a line of its own.
        let quotes = |quote: char| line.matches(quote).count() % 2 == 1;
        let open = line.ends_with(['\\', '|', '&']) || quotes('"') || quotes('\'');
        if open || rest.contains("<<") || rest.contains('`') || line.contains("PATH") {
            return found;
        }
        if word == "exec" {
            // Nothing runs after it.
            let program = rest.split_whitespace().next().unwrap_or_default();
            let is_named = program.starts_with(|c: char| c.is_ascii_alphanumeric())
                && program.chars().all(plain)
                && !is_builtin(program);
            found.extend(Some(program).filter(|program| is_named && !found.contains(program)));
            return found;
        }
        let assigned = word
            .split_once('=')
            .is_some_and(|(name, _)| name.chars().all(plain));
        if assigned {
            // The command may stand after it, and a value may run one.
            if rest.is_empty() && !word.contains('$') {
                continue;
            }
            return found;
        }
        if STOPS.contains(&word) || !word.chars().all(plain) || rest.starts_with('(') {
            return found;
        }
        let spared = rest.contains("||") || rest.contains("$(");
        if !BUILTIN.contains(&word) && !spared && !found.contains(&word) {
            found.push(word);
        }
        // A failing command may end the script here, if it says so; one after `;` or `&&` may
        // do anything.
        if rest.contains("&&") || rest.contains(';') {
            return found;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::needed;

    #[test]
    fn only_what_is_plain_is_needed() {
        for (text, programs) in [
            ("jq . a.json\ncargo test", &["jq", "cargo"][..]),
            (
                "# one\n\nset -e\nX=1\ncd /tmp\nmake\nmake all > log",
                &["make"],
            ),
            ("jq . a.json || true\nrg x", &["rg"]),
            ("jq . a.json | sort", &["jq"]),
            ("if jq; then rg; fi", &[]),
            ("rg x\nif true; then jq; fi\nmake", &["rg"]),
            ("command -v jq\njq", &[]),
            ("export PATH=$PATH:/opt\njq", &[]),
            ("PATH=/opt jq", &[]),
            ("jq() { :; }\njq", &[]),
            ("X=$(jq .)\nrg", &[]),
            ("cat <<EOF\njq\nEOF", &[]),
            ("echo \"\njq\n\"", &[]),
            ("true && jq", &[]),
            ("exit 0\njq", &[]),
            ("exit 0; jq", &[]),
            ("set -e; jq . a.json; cd /; rg x", &["jq", "rg"]),
            ("jq; if rg; then make; fi", &["jq"]),
            ("rg 'x;y'; jq", &["rg"]),
            ("A=1 B=/x/y jq .\nrg", &["jq", "rg"]),
            ("A=$B jq", &[]),
            ("PATH=/opt A=1 jq", &[]),
            ("exec jq .\nrg", &["jq"]),
            ("exec > log\njq", &[]),
            ("exec -a x jq", &[]),
            ("exec \"$@\"", &[]),
            ("\"$X\" y", &[]),
            ("/usr/bin/jq", &[]),
            ("", &[]),
        ] {
            assert_eq!(needed(text), programs, "{text:?}");
        }
    }
}
