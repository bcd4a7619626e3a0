//! Variables that a script names for the programs it starts, in another way than by expanding them
//! itself: `printenv NAME`, `env.NAME` for jq, `'$NAME'` for another shell.
//!
//! Knows quotes, comments and here-documents, and no more of the grammar.

/// Whether a script names this variable for a program. What it sets itself is there for that.
pub(super) fn is_for_others(text: &str, name: &str) -> bool {
    // Few scripts name it at all.
    !name.is_empty()
        && places(text, name).next().is_some()
        && Scan {
            text,
            name,
            at: 0,
            open: Vec::new(),
            documents: Vec::new(),
        }
        .run()
}

/// Where a name stands in a text, not as a part of a longer one.
pub(super) fn places<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> {
    let found = text.match_indices(name).map(|(at, _)| at);
    found.filter(move |at| is_word(text, *at, name.len()))
}

fn is_word(text: &str, at: usize, length: usize) -> bool {
    let part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let bytes = text.as_bytes();
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    !part(before) && !part(bytes.get(at + length))
}

struct Scan<'t> {
    text: &'t str,
    name: &'t str,
    at: usize,
    /// What is open around the place: double quotes, parentheses, backticks.
    open: Vec<u8>,
    /// End marks of here-documents that begin after the line, and whether they are quoted.
    documents: Vec<(String, bool)>,
}

impl Scan<'_> {
    fn run(mut self) -> bool {
        while let Some(byte) = self.text.as_bytes().get(self.at).copied() {
            if self.step(byte) {
                return true;
            }
        }
        false
    }

    /// Goes on behind what stands here; whether that names the variable for a program.
    fn step(&mut self, byte: u8) -> bool {
        let (start, text) = (self.at, self.text);
        self.at += 1;
        let plain = self.open.last() != Some(&b'"');
        let begins = start == 0 || text.as_bytes()[start - 1].is_ascii_whitespace();
        match byte {
            b'\\' => self.at += 1,
            b'"' if plain => self.open.push(byte),
            b'"' => drop(self.open.pop()),
            b'`' if self.open.contains(&b'`') => {
                while self.open.pop().is_some_and(|open| open != b'`') {}
            }
            b'`' | b'(' if plain || byte == b'`' => self.open.push(byte),
            b')' if self.open.last() == Some(&b'(') => drop(self.open.pop()),
            b'#' if plain && begins => self.at = self.find(b"\n", start),
            b'\'' if plain => return self.quoted(false),
            b'$' if plain && text[self.at..].starts_with('\'') => {
                self.at += 1;
                return self.quoted(true);
            }
            b'$' if text[self.at..].starts_with('(') => {
                self.at += 1;
                self.open.push(b'(');
            }
            b'$' => self.at = behind_own(text, self.at, self.name),
            b'<' if plain && text[start..].starts_with("<<<") => self.at += 2,
            b'<' if plain && text[start..].starts_with("<<") => self.document(),
            b'\n' if plain => return self.bodies(),
            _ => return self.word(start),
        }
        false
    }

    fn find(&self, what: &[u8], from: usize) -> usize {
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        let found = rest.windows(what.len()).position(|window| window == what);
        found.map_or(self.text.len(), |found| from + found)
    }

    /// The text in single quotes that begins here is for whoever it is given to, but for what this
    /// shell reads again.
    fn quoted(&mut self, escapes: bool) -> bool {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut end = start;
        while let Some(byte) = bytes.get(end).filter(|byte| **byte != b'\'') {
            end += if escapes && *byte == b'\\' { 2 } else { 1 };
        }
        let end = end.min(bytes.len());
        self.at = end + 1;
        let before = self.text[..start].trim_end_matches(['\'', '$', ' ', '\t']);
        let again = ["eval", "trap"];
        let again = again.iter().any(|word| before.ends_with(word));
        !again && self.names(start, end)
    }

    /// Whether what stands there, which this shell does not read, names the variable.
    fn names(&self, start: usize, end: usize) -> bool {
        let body = &self.text[start..end];
        places(body, self.name).any(|at| {
            let (before, after) = (&body[..at], &body[at + self.name.len()..]);
            let expanded = before.trim_end_matches(['#', '!']);
            let expanded = expanded.ends_with('$') || expanded.ends_with("${");
            expanded || self.is_meant(before, after)
        })
    }

    /// A place outside of single quotes.
    fn word(&mut self, start: usize) -> bool {
        let (text, name) = (self.text, self.name);
        // Bytes, as the place may be inside a character.
        let here = text.as_bytes()[start..].starts_with(name.as_bytes());
        if !here || !is_word(text, start, name.len()) {
            return false;
        }
        self.at = start + name.len();
        let (before, after) = (&text[..start], &text[self.at..]);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let last = line.split_whitespace().next_back().unwrap_or_default();
        let sets = ["for", "read", "-r", "local", "declare", "unset", "-v"];
        let set = after.starts_with('=') && !after.starts_with("==") || after.starts_with("+=");
        !(set || sets.contains(&last)) && self.is_meant(before, after)
    }

    /// A name of ours is hardly anything else; a word in capitals is one where programs look names up.
    fn is_meant(&self, before: &str, after: &str) -> bool {
        let asked = |word: &str| before.ends_with([' ', '\t']) && before.trim_end().ends_with(word);
        let braces = || before.ends_with("ENV{") && after.starts_with('}');
        let quotes = || {
            let before = before.strip_suffix(['"', '\''])?;
            let before = before.strip_suffix('\\').unwrap_or(before);
            Some(before.ends_with(['[', '(']))
        };
        self.name.starts_with("RECIPE_VAR_")
            || before.ends_with("env.")
            || before.ends_with("$ENV.")
            || asked("printenv")
            || asked("export")
            || braces()
            || quotes().unwrap_or(false)
    }

    /// The end mark of a here-document, of which one `<` has been read.
    fn document(&mut self) {
        let rest = &self.text[self.at + 1..];
        let mark = rest.strip_prefix('-').unwrap_or(rest);
        let mark = mark.trim_start_matches([' ', '\t']);
        let ends = |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '<' | '>' | ')');
        let length = mark.find(ends).unwrap_or(mark.len());
        self.at = self.text.len() - mark.len() + length;
        let plain = mark[..length].replace(['\'', '"', '\\'], "");
        let is_quoted = plain.len() < length;
        if !plain.is_empty() {
            self.documents.push((plain, is_quoted));
        }
    }

    /// The here-documents that begin with this line.
    fn bodies(&mut self) -> bool {
        for (mark, is_quoted) in std::mem::take(&mut self.documents) {
            let mut end = self.at;
            let body = self.text.get(self.at..).unwrap_or_default();
            let closed = body.split_inclusive('\n').any(|line| {
                let found = line.trim_end_matches('\n').trim_start_matches('\t') == mark;
                end += if found { 0 } else { line.len() };
                found
            });
            // A shift in arithmetic looks the same.
            if !closed {
                continue;
            }
            let named = match is_quoted {
                true => self.names(self.at, end),
                false => self.expanded(end),
            };
            if named {
                return true;
            }
            self.at = self.find(b"\n", end);
        }
        false
    }

    /// A here-document that this shell expands.
    fn expanded(&mut self, end: usize) -> bool {
        while self.at < end {
            let start = self.at;
            self.at += 1;
            match self.text.as_bytes()[start] {
                b'\\' => self.at += 1,
                b'$' => self.at = behind_own(self.text, self.at, self.name),
                _ if self.word(start) => return true,
                _ => {}
            }
        }
        false
    }
}

/// Behind the name if a `$` before this place expands it, else the place.
fn behind_own(text: &str, at: usize, name: &str) -> usize {
    let mut start = at;
    if text[start..].starts_with('{') {
        start += 1;
        start += usize::from(text[start..].starts_with(['#', '!']));
    }
    match text[start..].starts_with(name) && is_word(text, start, name.len()) {
        true => start + name.len(),
        false => at,
    }
}

#[cfg(test)]
mod tests {
    use super::is_for_others;

    #[test]
    fn what_programs_are_to_look_up_is_told_from_what_the_script_expands() {
        for text in [
            "python3 -c 'import os; print(os.environ.get(\"RECIPE_VAR_v\"))'",
            "python3 -c \"import os; print(os.environ['RECIPE_VAR_v'])\"",
            "printenv RECIPE_VAR_v | wc -c",
            "awk 'BEGIN { print length(ENVIRON[\"RECIPE_VAR_v\"]) }'",
            "jq -n 'env.RECIPE_VAR_v | length'",
            "bash -c 'echo ${#RECIPE_VAR_v}'",
            "sh -c \"echo \\$RECIPE_VAR_v\"",
            "perl -e 'print $ENV{RECIPE_VAR_v}'",
            "echo \"$(printenv RECIPE_VAR_v)\"",
            "export RECIPE_VAR_v; ./x",
            "bash <<'EOF'\necho \"$RECIPE_VAR_v\"\nEOF\n",
            "cat <<EOF\nit's $x\nEOF\nbash -c 'echo $RECIPE_VAR_v'",
            "python3 - <<EOF\nimport os\nprint(os.environ[\"RECIPE_VAR_v\"])\nEOF\n",
            "# it's\nenvsubst '$RECIPE_VAR_v' < x",
            "echo $((1 << 2))\necho é; bash -c 'echo $RECIPE_VAR_v'",
        ] {
            assert!(is_for_others(text, "RECIPE_VAR_v"), "{text}");
        }
        for text in [
            "echo $RECIPE_VAR_v | wc -c",
            "x='it'\"${RECIPE_VAR_v}\"' is'; echo ${#RECIPE_VAR_v} ${RECIPE_VAR_v:0:3}",
            "echo \"$(printf %s \"$RECIPE_VAR_v\" | wc -c)\" `echo $RECIPE_VAR_v`",
            "# RECIPE_VAR_v is 'large\necho \"$RECIPE_VAR_v\"",
            "cat <<EOF\nit's $RECIPE_VAR_v\nEOF\necho 'x' $RECIPE_VAR_v",
            "cat <<'EOF'\nit's\nEOF\necho \"it's $RECIPE_VAR_v\"",
            "RECIPE_VAR_v=1 ./x; read -r RECIPE_VAR_v; [[ -v RECIPE_VAR_v ]]",
            "eval 'x=$RECIPE_VAR_v'; trap 'echo $RECIPE_VAR_v' EXIT",
            "printenv RECIPE_VAR_vv; echo '$X_RECIPE_VAR_v'",
            "wc -c <<< \"$RECIPE_VAR_v\" $'it\\'s' \"$RECIPE_VAR_v\"",
            "'",
            "\"\\",
            "<<",
        ] {
            assert!(!is_for_others(text, "RECIPE_VAR_v"), "{text}");
        }
    }

    #[test]
    fn a_word_in_capitals_is_a_name_where_names_are_looked_up() {
        for text in [
            "python3 -c 'import os; print(os.getenv(\"DIFF\"))'",
            "awk \"BEGIN { print ENVIRON[\\\"DIFF\\\"] }\"",
            "jq -n env.DIFF",
            "printenv DIFF",
            "bash -c 'echo \"$DIFF\"'",
        ] {
            assert!(is_for_others(text, "DIFF"), "{text}");
        }
        for text in [
            "echo '=== DIFF ===' \"DIFF:\" DIFF; echo \"$DIFF\"",
            "grep -c DIFF \"$DIFF\"",
        ] {
            assert!(!is_for_others(text, "DIFF"), "{text}");
        }
    }
}
