//! Programs that take source as a word, and the options that say which word.

use rrc_vm::shell::is_posix;

/// How a program is told its source.
pub struct Interpreter {
    /// Letters behind which the source stands, and those that may stand in one word with them: before
    /// them, and behind them.
    source: &'static str,
    before: &'static str,
    behind: &'static str,
    /// Whole words behind which it stands.
    words: &'static [&'static str],
    /// Options that are followed by something else.
    valued: &'static [&'static str],
}

/// Whether a program is a shell of any language.
pub fn is_shell(program: &str) -> bool {
    is_posix(program) || program == "fish"
}

impl Interpreter {
    /// The one of this name, without a directory.
    pub fn of(program: &str) -> Option<Interpreter> {
        const SHELL: &str = "abefhiklmnprstuvxBCEHPT";
        let of = |source, before, words, valued| Interpreter {
            source,
            before,
            behind: "",
            words,
            valued,
        };
        Some(match program {
            "node" => of(
                "ep",
                "ip",
                &["--eval", "--print"],
                &["-r", "--require", "--import", "-C"],
            ),
            "bun" => of("ep", "", &["--eval", "--print"], &["-r", "--preload"]),
            "deno" => of("", "", &["eval"], &[]),
            "ruby" => of("e", "0alnpsSvwW", &[], &["-r", "-I", "-C"]),
            "perl" => of("eE", "0123456789acflnpsStTuUvwWX", &[], &["-I"]),
            "lua" | "Rscript" => of("e", "", &[], &["-l"]),
            "php" => of("r", "nq", &["--run"], &["-d", "-c"]),
            "osascript" => of("e", "", &[], &["-l", "-s"]),
            "psql" => of(
                "c",
                "aAbeEnqsStwWxX1",
                &["--command"],
                &["-d", "-f", "-h", "-p", "-U", "-v"],
            ),
            "mysql" => of(
                "e",
                "BCHNfnqrstvX",
                &["--execute"],
                &["-D", "-h", "-P", "-u"],
            ),
            "sed" | "gsed" => of("e", "nErsuz", &["--expression"], &["-f", "-l"]),
            "su" | "script" | "flock" => of("c", "aefilmnopqsux", &["--command"], &[]),
            _ if program.starts_with("python") => of("c", "bBdEiIOPqRsSuvx", &[], &["-W", "-X"]),
            _ if is_shell(program) => Interpreter {
                source: "c",
                before: SHELL,
                behind: SHELL,
                words: &["--command"],
                valued: &["-o", "-O", "--rcfile", "--init-file"],
            },
            _ => return None,
        })
    }

    /// Whether source follows this option.
    pub fn takes_source(&self, option: &str) -> bool {
        if self.words.contains(&option) {
            return true;
        }
        let letters = option.strip_prefix('-').unwrap_or_default();
        // The last one counts: `-pe` prints for each line, and evaluates what follows.
        let Some(at) = letters.rfind(|c| self.source.contains(c)) else {
            return false;
        };
        let (before, behind) = (&letters[..at], &letters[at + 1..]);
        before.chars().all(|c| self.before.contains(c))
            && behind.chars().all(|c| self.behind.contains(c))
    }

    /// Whether this option is followed by a word of its own, which is not the first operand: `-o`, and in
    /// one word with others `-eo`, and `+o`.
    pub fn takes_value(&self, option: &str) -> bool {
        let last = option.chars().last();
        let short = option.starts_with(['-', '+']) && !option.starts_with("--");
        let is_last = |valued: &&str| valued.len() == 2 && valued.chars().last() == last;
        self.valued.contains(&option)
            || short && option.len() > 1 && self.valued.iter().any(is_last)
    }
}

/// Whether a word is an option; behind the first that is none there are no more.
pub fn is_option(word: &str) -> bool {
    word.starts_with(['-', '+']) && !matches!(word, "-" | "--" | "+")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_told_apart() {
        let takes = |program: &str, option: &str| {
            let known = Interpreter::of(program).expect("a program that is known");
            match (known.takes_source(option), known.takes_value(option)) {
                (true, _) => "source",
                (_, true) => "value",
                _ => "nothing",
            }
        };
        for (program, option, what) in [
            ("bash", "-c", "source"),
            ("bash", "-lc", "source"),
            ("bash", "-ce", "source"),
            ("bash", "-eo", "value"),
            ("bash", "+o", "value"),
            ("bash", "--norc", "nothing"),
            ("perl", "-ne", "source"),
            ("perl", "-I", "value"),
            ("python3.12", "-c", "source"),
            ("python3", "-X", "value"),
            ("node", "--eval", "source"),
            ("deno", "eval", "source"),
            ("psql", "-Atc", "source"),
            ("sed", "-ne", "source"),
            ("sed", "-n", "nothing"),
        ] {
            assert_eq!(takes(program, option), what, "{program} {option}");
        }
        assert!(Interpreter::of("ls").is_none());
    }
}
