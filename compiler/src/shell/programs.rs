//! Which words of a command another program reads as its source, and which the shell itself reads
//! as more than text.
//!
//! A list of habits of common programs. It need not be complete: what it misses is passed as the
//! text rules say, without a finding.

use super::Filter;
use super::command::{Feed, Simple, is_declaration};
use super::interpreter::{Interpreter, is_option, is_shell};
use super::position::{Place, Quote, Refusal, Use};
use super::scan::{Declared, HOLE, Scan, Source};
use super::word::Word;
use std::ops::Range;

/// Programs that run the command that follows their own options.
fn is_wrapper(program: &str) -> bool {
    matches!(
        program,
        "sudo"
            | "env"
            | "time"
            | "nice"
            | "nohup"
            | "timeout"
            | "command"
            | "exec"
            | "builtin"
            | "xargs"
            | "stdbuf"
            | "setsid"
            | "ionice"
            | "doas"
            | "busybox"
            | "chronic"
            | "unbuffer"
    )
}

/// Programs that read their source from standard input when no file is named.
fn reads_source(program: &str) -> bool {
    is_shell(program)
        || program.starts_with("python")
        || matches!(
            program,
            "node"
                | "deno"
                | "bun"
                | "perl"
                | "ruby"
                | "php"
                | "lua"
                | "Rscript"
                | "psql"
                | "mysql"
                | "sqlite3"
                | "ssh"
                | "osascript"
                | "bc"
                | "gnuplot"
        )
}

/// Whether options may stand after the first operand of the program.
fn options_follow_operands(program: &str) -> bool {
    matches!(program, "sed" | "psql" | "su" | "script" | "flock")
}

/// Whether this option of the program is followed by source.
fn takes_source(program: &str, option: &str) -> bool {
    Interpreter::of(program).is_some_and(|known| known.takes_source(option))
}

/// Of programs whose first operand is source: the options that take operands of their own.
fn first_operand(program: &str) -> Option<&'static [(&'static str, usize)]> {
    Some(match program {
        "awk" | "gawk" | "mawk" | "nawk" => &[("-F", 1), ("-v", 1), ("--assign", 1), ("-f", 99)],
        "sed" | "gsed" => &[("-f", 99), ("--file", 99), ("-l", 1)],
        "jq" | "yq" | "gojq" => &[
            ("--arg", 2),
            ("--argjson", 2),
            ("--slurpfile", 2),
            ("--rawfile", 2),
            ("--indent", 1),
            ("-L", 1),
            ("-f", 99),
            ("--from-file", 99),
        ],
        "trap" | "watch" => &[("-n", 1), ("--interval", 1)],
        _ => return None,
    })
}

fn base(word: &Word) -> Option<&str> {
    let directory = word.shape.iter().rposition(|byte| *byte == b'/');
    word.literal()?.get(directory.map_or(0, |at| at + 1)..)
}

/// The word that names the program, and its name: past the wrappers, their options and their
/// assignments.
fn program(words: &[Word]) -> (usize, &str) {
    let mut index = 0;
    loop {
        let name = words.get(index).and_then(base).unwrap_or("");
        if !is_wrapper(name) {
            return (index, name);
        }
        let mut next = index + 1;
        let mut duration = name == "timeout";
        while let Some(word) = words.get(next) {
            let option = word.literal().unwrap_or("");
            let valued = matches!(
                option,
                "-u" | "-n" | "-I" | "-P" | "-L" | "-d" | "-s" | "-k"
            ) && matches!(name, "sudo" | "xargs" | "nice" | "timeout" | "env");
            let set = name == "env" && word.shape.contains(&b'=');
            if name == "command" && matches!(option, "-v" | "-V") {
                return (index, name);
            } else if valued {
                next += 2;
            } else if option.starts_with('-') || set || std::mem::take(&mut duration) {
                next += 1;
            } else {
                break;
            }
        }
        if next >= words.len() {
            return (index, name);
        }
        index = next;
    }
}

impl Scan<'_, '_, '_> {
    /// Looks at a whole simple command.
    pub(super) fn judge(&mut self, simple: &Simple, feed: &mut Feed, pipe: bool) {
        let words = &simple.words;
        let (index, program) = program(words);
        for word in words {
            for hole in &word.holes {
                if let Some(Some(position)) = self.found.positions.get_mut(*hole) {
                    position.command = (!program.is_empty()).then(|| program.to_owned());
                    if position.place == Place::Command {
                        position.place = Place::Argument;
                    }
                }
            }
        }
        if let Some(word) = words.get(index)
            && word.only_holes()
        {
            for hole in &word.holes {
                if let Some(Some(position)) = self.found.positions.get_mut(*hole) {
                    position.place = Place::Command;
                }
            }
        }
        self.judge_variables(program, words, index);
        // Only holes are marked as what a program reads.
        if words.iter().any(|word| !word.holes.is_empty()) {
            self.judge_sources(program, words, index);
        }

        let stdin =
            reads_source(program) && names_no_file(program, &words[index.min(words.len())..]);
        let sourced = matches!(program, "source" | ".")
            && words
                .iter()
                .any(|word| word.literal() == Some("/dev/stdin"));
        let is_fed = [&simple.heres, &simple.fed, &feed.heres, &feed.holes];
        let is_fed = is_fed.iter().any(|fed| !fed.is_empty());
        let replaced = is_fed.then(|| fed_by_xargs(words)).flatten();
        let reader = replaced.or_else(|| (stdin || sourced).then_some(program));
        if let Some(program) = reader {
            for here in simple.heres.iter().chain(&feed.heres) {
                if let Some(here) = self.found.heres.get_mut(*here) {
                    here.program = Some(program.to_owned());
                }
            }
            for hole in simple.fed.iter().chain(&feed.holes) {
                self.mark_program(*hole, program);
            }
        }
        if matches!(program, "source" | ".")
            && let Some(file) = words.get(index + 1)
        {
            for hole in &file.printed {
                self.mark_program(*hole, program);
            }
        }
        if self.evaluates_input(program, words) {
            for here in simple.heres.iter().chain(&feed.heres) {
                if let Some(here) = self.found.heres.get_mut(*here) {
                    here.evaluated = true;
                }
            }
            for hole in simple.fed.iter().chain(&feed.holes) {
                self.mark_integer(*hole);
            }
        }
        let passes = matches!(program, "cat" | "echo" | "printf" | "tee");
        if !pipe || !passes {
            *feed = Feed::default();
        }
        if pipe && passes {
            feed.heres.extend(&simple.heres);
            feed.holes.extend(&simple.fed);
            if matches!(program, "echo" | "printf") {
                feed.holes
                    .extend(words.iter().flat_map(|word| word.holes.iter().copied()));
            }
        }
    }

    /// Whether what a command reads comes into variables that evaluate it. Of a compound command
    /// and of a function it is not known what in them reads.
    fn evaluates_input(&self, program: &str, words: &[Word]) -> bool {
        let reads = matches!(program, "read" | "mapfile" | "readarray");
        let opaque = words.is_empty() || self.found.functions.contains(program);
        (reads || opaque) && self.found.evaluates_input()
    }

    /// The holes in this range that a command prints which prints its arguments.
    pub(super) fn printed(&self, range: Range<usize>) -> Vec<usize> {
        let holes = self.found.hole_at(range.start)..self.found.hole_at(range.end);
        let is_printed = |hole: &usize| {
            let position = self.found.positions.get(*hole).and_then(Option::as_ref);
            let command = position.and_then(|position| position.command.as_deref());
            matches!(command, Some("echo" | "printf"))
        };
        holes.filter(is_printed).collect()
    }

    fn judge_sources(&mut self, program: &str, words: &[Word], index: usize) {
        for (name, at) in told_sources(words) {
            if let Some(source) = words.get(at) {
                self.mark_source(source, name, at + 1 == words.len());
            }
        }
        if program == "find" {
            for (at, word) in words.iter().enumerate().take(64) {
                if let (Some("-exec" | "-execdir"), Some(inner)) =
                    (word.literal(), words.get(at + 1))
                    && let Some(name @ ("sed" | "awk" | "jq" | "perl")) = base(inner)
                {
                    let name = name.to_owned();
                    let end = words.len().min(at + 33);
                    self.judge_sources(&name, &words[at + 1..end], 0);
                }
            }
        }
        let rest = words.get(index + 1..).unwrap_or(&[]);
        match program {
            "eval" | "compgen" | "complete" | "alias" | "parallel" => {
                for word in rest {
                    self.mark_source(word, program, false);
                }
            }
            "ssh" => {
                let mut operands = 0;
                let mut skip = false;
                for word in rest {
                    let option = word.literal().unwrap_or("");
                    if std::mem::take(&mut skip) {
                        continue;
                    }
                    if operands == 0 && option.starts_with('-') {
                        skip = option.len() == 2 && "pioFlJLRDbceEImOQSWwB".contains(&option[1..]);
                        continue;
                    }
                    operands += 1;
                    if operands > 1 {
                        self.mark_source(word, program, false);
                    }
                }
            }
            "sqlite3" => {
                let operands = rest.iter().filter(|word| word.shape.first() != Some(&b'-'));
                for word in operands.skip(1) {
                    self.mark_source(word, program, false);
                }
            }
            "sed"
                if rest.iter().any(|word| {
                    word.literal()
                        .is_some_and(|option| takes_source("sed", option))
                        || word.shape.starts_with(b"--expression=")
                }) =>
            {
                for word in rest {
                    if word.shape.starts_with(b"--expression=") {
                        self.mark_source(word, program, false);
                    }
                }
            }
            _ => {
                if let Some(options) = first_operand(program) {
                    let mut skip = 0;
                    for word in rest {
                        let option = word.literal().unwrap_or("");
                        if skip > 0 {
                            skip -= 1;
                        } else if let Some((_, operands)) =
                            options.iter().find(|(name, _)| *name == option)
                        {
                            skip = *operands;
                        } else if word.shape.first() != Some(&b'-') || word.shape.len() == 1 {
                            self.mark_source(word, program, false);
                            break;
                        }
                    }
                }
            }
        }
    }

    /// What the shell's own commands do with names and numbers.
    fn judge_variables(&mut self, program: &str, words: &[Word], index: usize) {
        let rest = words.get(index + 1..).unwrap_or(&[]);
        match program {
            "let" => {
                self.mark_integers(rest);
            }
            "unset" => {
                for word in rest {
                    self.variable_argument(word);
                }
            }
            "mapfile" | "readarray" => {
                // Bash evaluates what follows `-C` for the lines it reads.
                for pair in rest.windows(2) {
                    if pair[0].literal() == Some("-C") {
                        self.mark_source(&pair[1], program, false);
                    }
                }
                for name in rest.iter().filter_map(Word::literal).chain(["MAPFILE"]) {
                    self.found.declare_array(name);
                    self.declare_read(name);
                }
            }
            "read" => {
                self.declare_read("REPLY");
                let mut skip = false;
                for (at, word) in rest.iter().enumerate() {
                    let option = word.literal().unwrap_or("");
                    if std::mem::take(&mut skip) {
                        continue;
                    }
                    if option.starts_with('-') {
                        if option.ends_with('a')
                            && let Some(name) = rest.get(at + 1).and_then(Word::literal)
                        {
                            self.found.declare_array(name);
                        }
                        skip = option.ends_with(['p', 'd', 'n', 'N', 't', 'u', 'i']);
                    } else if word.shape.first() != Some(&b'-') {
                        self.variable_argument(word);
                        self.declare_read(word.variable());
                    }
                }
            }
            "getopts" if self.found.evaluates("OPTARG") => self.mark_integers(rest),
            "printf" => match rest {
                [flag, name, printed @ ..] if flag.literal() == Some("-v") => {
                    self.variable_argument(name);
                    if self.found.evaluates(name.variable()) {
                        self.mark_integers(printed);
                    }
                }
                [glued, printed @ ..] if glued.shape.starts_with(b"-v") => {
                    for hole in &glued.holes {
                        self.mark_refused(*hole, Refusal::VariableArgument);
                    }
                    let name = glued.literal().unwrap_or("").trim_start_matches("-v");
                    if self.found.evaluates(name) {
                        self.mark_integers(printed);
                    }
                }
                _ => {}
            },
            "test" | "[" | "wait" => {
                let flags: &[&str] = match program {
                    "wait" => &["-p"],
                    _ => &["-v", "-R"],
                };
                for pair in rest.windows(2) {
                    if pair[0].literal().is_some_and(|flag| flags.contains(&flag)) {
                        self.variable_argument(&pair[1]);
                    }
                }
            }
            _ if is_declaration(program) => self.judge_declaration(program, rest),
            _ => {}
        }
    }

    fn judge_declaration(&mut self, program: &str, rest: &[Word]) {
        let mut flags = String::new();
        for word in rest {
            if let Some(option) = word.literal()
                && option.starts_with(['-', '+'])
            {
                flags.push_str(option);
                continue;
            }
            let equals = word.shape.iter().position(|byte| *byte == b'=');
            let name = &word.shape[..equals.unwrap_or(word.shape.len())];
            if name.contains(&HOLE) {
                self.variable_argument(word);
                continue;
            }
            let name = std::str::from_utf8(name).unwrap_or("");
            let name = name.strip_suffix('+').unwrap_or(name);
            self.found.declare(
                name,
                Declared {
                    associative: flags.contains('A'),
                    indexed: flags.contains('a'),
                    array: flags.contains(['a', 'A']),
                    integer: flags.contains('i'),
                    reference: flags.contains('n'),
                    read: false,
                },
            );
            let declared = self.found.declared.get(name).copied().unwrap_or_default();
            let evaluated = flags.contains('i') || self.found.evaluates(name);
            for hole in &word.holes {
                if flags.contains('n') && program != "export" {
                    self.mark_refused(*hole, Refusal::Nameref);
                } else if flags.contains(['a', 'A']) || (declared.array && program != "export") {
                    self.mark_refused(*hole, Refusal::ArrayDeclaration);
                } else if evaluated {
                    self.mark_integer(*hole);
                }
            }
        }
    }

    /// A word that bash takes for the name of a variable, with or without an index. In the index
    /// it runs what it finds, so only a number may come there.
    pub(super) fn variable_argument(&mut self, word: &Word) {
        let equals = word.shape.iter().position(|byte| *byte == b'=');
        let name = &word.shape[..equals.unwrap_or(word.shape.len())];
        let open = name.iter().position(|byte| *byte == b'[');
        let keyed = open
            .and_then(|open| std::str::from_utf8(&name[..open]).ok())
            .and_then(|name| self.found.declared.get(name))
            .is_some_and(|declared| declared.associative);
        let mut holes = word.holes.iter();
        for (at, _) in name.iter().enumerate().filter(|(_, byte)| **byte == HOLE) {
            let Some(hole) = holes.next() else { return };
            if !keyed && open.is_some_and(|open| open < at) {
                self.mark_integer(*hole);
            } else {
                self.mark_refused(*hole, Refusal::VariableArgument);
            }
        }
    }

    fn filter(&self, hole: usize) -> Filter {
        self.found
            .holes
            .get(hole)
            .map_or(Filter::None, |hole| hole.filter)
    }

    fn mark_source(&mut self, word: &Word, program: &str, last: bool) {
        for hole in &word.holes {
            self.mark_program(*hole, program);
        }
        // Inside backticks the offsets of a word do not bound its text.
        if !word.holes.is_empty()
            && self.backticks == 0
            && let (Some(first), Some(end)) = (self.row.get(word.start), self.row.get(word.end - 1))
        {
            self.found.sources.push(Source {
                program: program.to_owned(),
                range: first.at()..end.at() + 1,
                holes: word.holes.to_vec(),
                last,
            });
        }
    }

    pub(super) fn mark_program(&mut self, hole: usize, program: &str) {
        if let Some(Some(position)) = self.found.positions.get_mut(hole) {
            position.program = Some(program.to_owned());
        }
    }

    pub(super) fn mark_refused(&mut self, hole: usize, why: Refusal) {
        if self.filter(hole) == Filter::Raw {
            return;
        }
        if let Some(Some(position)) = self.found.positions.get_mut(hole) {
            position.refuse(why);
        }
    }

    pub(super) fn mark_integer(&mut self, hole: usize) {
        let filter = self.filter(hole);
        if let Some(Some(position)) = self.found.positions.get_mut(hole) {
            position.evaluate(filter);
        }
    }

    fn mark_integers(&mut self, words: &[Word]) {
        for hole in words.iter().flat_map(|word| &word.holes) {
            self.mark_integer(*hole);
        }
    }

    fn declare_read(&mut self, name: &str) {
        let read = Declared {
            read: true,
            ..Declared::default()
        };
        self.found.declare(name, read);
    }

    pub(super) fn or_empty(&mut self, holes: &[usize]) {
        for hole in holes {
            if let Some(Some(position)) = self.found.positions.get_mut(*hole)
                && let Use::Integer { or_empty } = &mut position.reach
                && position.quote != Quote::Arithmetic
            {
                *or_empty = true;
            }
        }
    }
}

/// Interpreters among the words, and where the source stands that an option announces to each; past the
/// end if it is still to come. `find -exec sh -c`, `docker run x sh -c`: wherever they stand.
fn told_sources(words: &[Word]) -> Vec<(&str, usize)> {
    let mut told = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(name) = base(word).filter(|name| !name.starts_with('-')) else {
            continue;
        };
        let Some(known) = Interpreter::of(name) else {
            continue;
        };
        let mut expected = false;
        for (before, option) in words.iter().enumerate().skip(at + 1).take(64) {
            if std::mem::take(&mut expected) {
                continue;
            }
            let Some(option) = option.literal() else {
                break;
            };
            expected = known.takes_value(option);
            if known.takes_source(option) {
                told.push((name, before + 1));
            } else if !is_option(option) && !options_follow_operands(name) {
                break;
            }
        }
    }
    told
}

/// The interpreter for which `xargs` makes source of what it reads: it puts lines in place of a mark
/// that stands in the source, or where the source is missing.
fn fed_by_xargs(words: &[Word]) -> Option<&str> {
    let at = words.iter().position(|word| base(word) == Some("xargs"))?;
    let (own, mark) = (words.get(at + 1..)?, replaced_mark(&words[at + 1..]));
    let told = told_sources(own).into_iter();
    let mut fed = told.filter(|(_, source)| match (own.get(*source), mark) {
        (Some(source), Some(mark)) => {
            let mut parts = source.shape.windows(mark.len().max(1));
            parts.any(|part| part == mark.as_bytes())
        }
        (source, mark) => source.is_none() && mark.is_none(),
    });
    fed.next().map(|(name, _)| name)
}

/// What `xargs` replaces by what it reads, by its options: `-I %`, `-0I%`, `-i`, `--replace=%`.
fn replaced_mark(options: &[Word]) -> Option<&str> {
    const ALONE: &str = "0oprtx";
    for (at, word) in options.iter().enumerate() {
        let option = word.literal()?.strip_prefix('-')?;
        if let Some(long) = option.strip_prefix("-replace") {
            return Some(long.strip_prefix('=').unwrap_or("{}"));
        }
        let letters = option.trim_start_matches(|c| ALONE.contains(c));
        match (letters.strip_prefix('I'), letters.strip_prefix('i')) {
            (Some(""), _) => return options.get(at + 1)?.literal(),
            (Some(mark), _) => return Some(mark),
            (_, Some("")) => return Some("{}"),
            (_, mark @ Some(_)) => return mark,
            // Its value is the next word, which is no option.
            (None, None) if ["n", "P", "L", "d", "s", "a", "E"].contains(&letters) => {
                return replaced_mark(options.get(at + 2..)?);
            }
            (None, None) => {}
        }
    }
    None
}

/// Whether a program that could read a file reads standard input instead.
fn names_no_file(program: &str, words: &[Word]) -> bool {
    let mut operands = words
        .iter()
        .skip(1)
        .filter(|word| word.literal() == Some("-") || !word.shape.starts_with(b"-"));
    if words.iter().any(|word| {
        word.literal()
            .is_some_and(|option| takes_source(program, option))
    }) {
        return false;
    }
    let stdin = words.iter().any(|word| word.literal() == Some("-s"));
    match program {
        // These name a host or a database first.
        "ssh" | "psql" | "mysql" | "sqlite3" => true,
        _ => {
            stdin
                || operands
                    .next()
                    .is_none_or(|word| word.literal() == Some("-"))
        }
    }
}
