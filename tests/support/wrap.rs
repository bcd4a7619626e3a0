//! Short examples made whole: what a page leaves out is put around it, and places are led back.
//!
//! | the block holds | what is put around it |
//! |---|---|
//! | `name` at the top, or `whole` in its info string | nothing |
//! | `steps` or `stages` at the top | a head with the name |
//! | a list | the head and `steps:` |
//! | else: the fields of one step, after recipe fields such as `context` | the head, `steps:`, an id, and in `amplifier` the type that the fields tell |

/// Fields that belong to the recipe when they stand before the fields of a short step.
const RECIPE_FIELDS: [&str; 8] = [
    "context",
    "context_validation",
    "default_step_timeout",
    "hooks",
    "recursion",
    "schedule",
    "secrets",
    "substitution",
];

#[derive(Clone, Debug, PartialEq)]
pub struct Wrapped {
    pub text: String,
    /// For each line of `text`: the line of the block (from 1), or none if we wrote it.
    lines: Vec<Option<usize>>,
    /// From this line of the block on, `text` has it two columns to the right.
    shifted_from: usize,
}

const SHIFT: usize = 2;

pub fn wrap(block: &str, dialect: &str, whole: bool) -> Wrapped {
    let lines: Vec<&str> = block.split_inclusive('\n').collect();
    let keys: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| key(line).map(|key| (index, key)))
        .collect();
    let has = |name: &str| keys.iter().any(|(_, key)| *key == name);
    let list = lines
        .iter()
        .find(|line| !line.trim().is_empty() && !line.starts_with('#'))
        .is_some_and(|line| line.starts_with("- ") || line.trim_end() == "-");

    let mut out = Builder::default();
    if whole || has("name") || (keys.is_empty() && !list) {
        out.copy(&lines, 0);
        return out.finish(usize::MAX);
    }
    out.insert("name: example\n");
    if dialect == "amplifier" {
        out.insert("description: an example\nversion: 1.0.0\n");
    }
    if has("steps") || has("stages") {
        out.copy(&lines, 0);
        return out.finish(usize::MAX);
    }
    if list {
        out.insert("steps:\n");
        out.copy(&lines, 0);
        return out.finish(usize::MAX);
    }

    let body = keys
        .iter()
        .find(|(_, key)| !RECIPE_FIELDS.contains(key))
        .map_or(lines.len(), |(index, _)| *index);
    out.copy(&lines[..body], 0);
    out.end_line();
    out.insert("steps:\n-\n");
    let in_body = |name: &str| {
        keys.iter()
            .any(|(index, key)| *index >= body && *key == name)
    };
    if !in_body("id") {
        out.insert("  id: example\n");
    }
    if dialect == "amplifier" && !in_body("type") {
        for (field, kind) in [("command", "bash"), ("recipe", "recipe")] {
            if in_body(field) {
                out.insert(&format!("  type: {kind}\n"));
                break;
            }
        }
    }
    out.copy(&lines[body..], SHIFT);
    out.finish(body + 1)
}

/// The key of a line that starts a field at the left margin.
fn key(line: &str) -> Option<&str> {
    let (key, rest) = line.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (!key.is_empty()
        && key.chars().all(plain)
        && !key.starts_with('-')
        && (rest.is_empty() || rest.starts_with([' ', '\n', '\r'])))
    .then_some(key)
}

impl Wrapped {
    /// A place in the whole text as a place in the block; none if it is in what we put around.
    pub fn back(&self, line: usize, column: usize) -> Option<(usize, usize)> {
        // The place after the last line break belongs to the end of the block.
        let last = self.lines.last().copied().flatten();
        let after = line == self.lines.len() + 1;
        let own = match self.lines.get(line.checked_sub(1)?) {
            Some(own) => *own,
            None => last.filter(|_| after).map(|last| last + 1),
        }?;
        let shift = if own >= self.shifted_from { SHIFT } else { 0 };
        Some((own, column.saturating_sub(shift).max(1)))
    }

    /// A changed whole text (after `--fix`) without what was put around it, if that is unchanged.
    pub fn unwrap(&self, changed: &str) -> Option<String> {
        let old: Vec<&str> = self.text.split_inclusive('\n').collect();
        let new: Vec<&str> = changed.split_inclusive('\n').collect();
        let ours: Vec<&str> = old
            .iter()
            .zip(&self.lines)
            .filter(|(_, own)| own.is_none())
            .map(|(line, _)| *line)
            .collect();
        let mut ours = ours.into_iter().peekable();
        let mut out = String::new();
        let mut left = ours.len();
        for line in new {
            if ours.peek() == Some(&line) {
                ours.next();
                // Only the head and the last part are ours, so the step begins after all of it.
                left = ours.len();
                continue;
            }
            let step = left == 0 && self.shifted_from != usize::MAX;
            let shift = if step {
                " ".repeat(SHIFT)
            } else {
                String::new()
            };
            out.push_str(
                line.strip_prefix(&shift)
                    .unwrap_or(line.trim_start_matches(' ')),
            );
        }
        ours.peek().is_none().then_some(out)
    }
}

#[derive(Default)]
struct Builder {
    text: String,
    lines: Vec<Option<usize>>,
    copied: usize,
}

impl Builder {
    fn insert(&mut self, lines: &str) {
        self.text.push_str(lines);
        self.lines.extend(lines.lines().map(|_| None));
    }

    fn copy(&mut self, lines: &[&str], shift: usize) {
        for line in lines {
            if !line.trim().is_empty() {
                self.text.push_str(&" ".repeat(shift));
            }
            self.text.push_str(line);
            self.copied += 1;
            self.lines.push(Some(self.copied));
        }
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn finish(self, shifted_from: usize) -> Wrapped {
        Wrapped {
            text: self.text,
            lines: self.lines,
            shifted_from,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: &str = "context:\n  user: ada\ncommand: |\n  echo {{usre}}\n\n  echo\n";

    #[test]
    fn a_step_gets_a_recipe_around_it() {
        let wrapped = wrap(STEP, "amplifier", false);
        assert_eq!(
            wrapped.text,
            "name: example\ndescription: an example\nversion: 1.0.0\n\
             context:\n  user: ada\nsteps:\n-\n  id: example\n  type: bash\n  \
             command: |\n    echo {{usre}}\n\n    echo\n"
        );
        assert_eq!(
            wrap("id: a\ncommand: x\n", "amplihack", false).text,
            "name: example\nsteps:\n-\n  id: a\n  command: x\n"
        );
        let call = wrap("recipe: b\ncontext:\n  x: 1\n", "amplifier", false);
        assert!(
            call.text
                .ends_with("  type: recipe\n  recipe: b\n  context:\n    x: 1\n")
        );
    }

    #[test]
    fn places_lead_back_to_the_block() {
        let wrapped = wrap(STEP, "amplifier", false);
        for (index, line) in wrapped.text.lines().enumerate() {
            let Some(at) = line.find("{{").or_else(|| line.find("ada")) else {
                continue;
            };
            let (own, column) = wrapped.back(index + 1, at + 1).unwrap();
            let block = STEP.lines().nth(own - 1).unwrap();
            assert_eq!(block[column - 1..], line[at..]);
        }
        assert_eq!(wrapped.back(1, 1), None);
        assert_eq!(wrapped.back(7, 1), None);
        assert_eq!(wrapped.back(99, 1), None);
        let lines = wrapped.text.lines().count();
        assert_eq!(wrapped.back(lines + 1, 1), Some((7, 1)));
    }

    #[test]
    fn longer_forms_keep_their_columns() {
        let list = wrap("- id: a\n  command: x\n", "amplihack", false);
        assert_eq!(list.text, "name: example\nsteps:\n- id: a\n  command: x\n");
        assert_eq!(list.back(4, 3), Some((2, 3)));
        let steps = wrap("context: {}\nsteps:\n- id: a\n", "amplihack", false);
        assert_eq!(steps.text, "name: example\ncontext: {}\nsteps:\n- id: a\n");
        for whole in ["name: a\nsteps: []\n", "just text\n", "", "{a: 1}\n"] {
            assert_eq!(wrap(whole, "amplifier", false).text, whole);
        }
        assert_eq!(wrap("command: x\n", "amplifier", true).text, "command: x\n");
    }

    #[test]
    fn unwrapping_gives_the_block_back() {
        for block in [
            STEP,
            "- id: a\n",
            "steps:\n- id: a\n",
            "name: a\n",
            "command: x\n",
        ] {
            let wrapped = wrap(block, "amplifier", false);
            assert_eq!(wrapped.unwrap(&wrapped.text).as_deref(), Some(block));
        }
        let wrapped = wrap("command: x\n", "amplihack", false);
        assert_eq!(wrapped.unwrap("name: other\n"), None);
        let fixed = wrapped
            .text
            .replace("  command: x\n", "  command: y\n  output: z\n");
        assert_eq!(
            wrapped.unwrap(&fixed).as_deref(),
            Some("command: y\noutput: z\n")
        );
    }
}
