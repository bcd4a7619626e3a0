//! Which dialect a recipe is written in.
//!
//! First that applies: what the caller pins, a comment in the file, the configuration, evidence in
//! the file, the default. How a condition is written outweighs all other evidence. Evidence for both
//! without a pin is a finding that shows one place of each.

use super::{ALL, Dialect, amplifier::AMPLIFIER, amplihack::AMPLIHACK, fields, find};
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix, Report, is_slip, nearest};
use crate::doc::{Entry, Node, Shape, Text};
use crate::expr::{self, BareWords, ExprKind};
use crate::source::{SourceId, Span};

/// The dialect of a file, and why.
#[derive(Clone, Debug)]
pub struct Choice {
    pub dialect: &'static Dialect,
    pub reason: Reason,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The caller said so.
    Pinned,
    /// A comment in the file says so.
    Comment(Span),
    /// The configuration says so.
    Configured,
    /// Something in the file is written only in this dialect.
    Evidence(Span, &'static str),
    /// So is something else in another; this came first.
    Conflict,
    /// Its caller is written in it.
    Caller,
    /// The file is kept where this dialect's recipes are kept.
    Directory,
    /// Nothing speaks for any.
    Default,
}

impl Choice {
    /// Whether anybody meant the file to be read this way: who calls it is not its doing.
    pub fn is_deliberate(&self) -> bool {
        !matches!(
            self.reason,
            Reason::Default | Reason::Caller | Reason::Conflict
        )
    }
}

/// Fields that only one dialect's runner knows.
const AMPLIFIER_FIELDS: &[&str] = &["stages"];
const AMPLIFIER_STEP_FIELDS: &[&str] = &[
    "foreach",
    "while_condition",
    "on_error",
    "retry",
    "depends_on",
];
const AMPLIHACK_FIELDS: &[&str] = &["hooks", "extends", "context_validation"];
const AMPLIHACK_STEP_FIELDS: &[&str] = &[
    "when_tags",
    "parallel_group",
    "continue_on_error",
    "parse_json_required",
    "working_dir",
    "auto_stage",
];
/// Directories where one runner looks for recipes.
const AMPLIHACK_DIRECTORIES: &[[&str; 2]] =
    &[[".claude", "recipes"], ["amplifier-bundle", "recipes"]];

/// One sign in the file, and how much it says.
struct Sign {
    dialect: &'static Dialect,
    span: Span,
    what: &'static str,
    /// How a condition is written.
    strong: bool,
}

impl Sign {
    /// What it is, in a message.
    fn words(&self) -> String {
        match self.what.contains([' ', '`']) {
            true => self.what.to_string(),
            false => format!("`{}`", self.what),
        }
    }
}

/// A step that is no bash step to the other dialect.
const UNTYPED: &str = "`command` without `type`";

/// The first sign of each kind; the others say nothing new.
#[derive(Default)]
struct Signs(Vec<Sign>);

impl Signs {
    fn has(&self, dialect: &Dialect, strong: bool) -> bool {
        let same = |sign: &Sign| sign.dialect.name == dialect.name && sign.strong == strong;
        self.0.iter().any(same)
    }

    fn add(&mut self, sign: Sign) {
        if !self.has(sign.dialect, sign.strong) {
            self.0.push(sign);
        }
    }
}

/// What is said about a file from outside of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pins {
    /// Whatever the file says.
    pub always: Option<&'static Dialect>,
    /// Unless the file says something else.
    pub configured: Option<&'static Dialect>,
}

/// `path` is where the file is from the root on, however it was called.
pub fn choose(
    pins: Pins,
    caller: Option<&'static Dialect>,
    path: &str,
    source: SourceId,
    text: &str,
    root: Node<'_>,
    report: &mut Report,
) -> Choice {
    if let Some(dialect) = pins.always {
        return Choice {
            dialect,
            reason: Reason::Pinned,
        };
    }
    if let Some(choice) = comment(source, text, report) {
        return choice;
    }
    if let Some(dialect) = pins.configured {
        return Choice {
            dialect,
            reason: Reason::Configured,
        };
    }
    let mut signs = Signs::default();
    collect(root, &mut signs);
    let Signs(mut signs) = signs;
    if signs.iter().any(|sign| sign.strong) {
        signs.retain(|sign| sign.strong);
    }
    if signs.is_empty() {
        signs.extend(steps(root).find_map(nearly_untyped));
    }
    let Some(first) = signs.first() else {
        let kept = is_kept(path);
        return match (kept, caller) {
            (true, _) => Choice {
                dialect: &AMPLIHACK,
                reason: Reason::Directory,
            },
            (false, Some(dialect)) => Choice {
                dialect,
                reason: Reason::Caller,
            },
            (false, None) => Choice {
                dialect: ALL[0],
                reason: Reason::Default,
            },
        };
    };
    if let Some(other) = signs
        .iter()
        .find(|sign| sign.dialect.name != first.dialect.name)
    {
        let message = format!(
            "the file is written in two dialects: {} is `{}`, {} is `{}`",
            first.words(),
            first.dialect.name,
            other.words(),
            other.dialect.name
        );
        let untyped = [first, other].iter().any(|sign| sign.what == UNTYPED);
        let or = if untyped {
            ", or add `type: bash` to the step"
        } else {
            ""
        };
        let pin = format!("# rrc: dialect = {}\n", first.dialect.name);
        let edits = vec![Edit {
            span: Span::top(source),
            text: pin.clone(),
        }];
        report.add(
            Diagnostic::new(&codes::DIALECT_CONFLICT, other.span, message)
                .label(
                    first.span,
                    format!("{} speaks for `{}`", first.words(), first.dialect.name),
                )
                .help(format!(
                    "say which one is meant, with `{}` at the top{or}",
                    pin.trim()
                ))
                .fix(Fix {
                    applicability: Applicability::Unsafe,
                    message: format!("add `{}`", pin.trim()),
                    edits,
                }),
        );
        return Choice {
            dialect: first.dialect,
            reason: Reason::Conflict,
        };
    }
    Choice {
        dialect: first.dialect,
        reason: Reason::Evidence(first.span, first.what),
    }
}

/// Whether a file is in one of the directories of a runner, at any depth.
fn is_kept(path: &str) -> bool {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.pop();
    parts
        .windows(2)
        .any(|pair| AMPLIHACK_DIRECTORIES.iter().any(|kept| kept == pair))
}

/// `# rrc: dialect = NAME`, on a line of its own.
fn comment(source: SourceId, text: &str, report: &mut Report) -> Option<Choice> {
    // Most files have none, and this is how to know it soonest.
    memchr::memmem::find(text.as_bytes(), b"rrc:")?;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let Some(rest) = line.trim_start().strip_prefix('#') else {
            continue;
        };
        let Some(rest) = rest.trim_start().strip_prefix("rrc:") else {
            continue;
        };
        let Some(rest) = rest.trim_start().strip_prefix("dialect") else {
            continue;
        };
        let Some(rest) = rest.trim_start().strip_prefix('=') else {
            continue;
        };
        let name = rest.split_whitespace().next().unwrap_or("");
        let offset = at + line.find(name).unwrap_or(0);
        let span = Span::new(source, offset, offset + name.len());
        if let Some(dialect) = find(name) {
            return Some(Choice {
                dialect,
                reason: Reason::Comment(span),
            });
        }
        let known = ALL.iter().map(|dialect| dialect.name);
        let help = match nearest(name, known.clone()) {
            Some(near) => format!("write `{near}`"),
            None => format!("write one of: {}", known.collect::<Vec<_>>().join(", ")),
        };
        let message = format!("there is no dialect `{name}`");
        report.add(Diagnostic::new(&codes::BAD_VALUE, span, message).help(help));
    }
    None
}

fn collect(root: Node<'_>, signs: &mut Signs) {
    for entry in root.map().unwrap_or_default() {
        field(entry, AMPLIFIER_FIELDS, AMPLIHACK_FIELDS, signs);
    }
    for step in steps(root) {
        collect_step(step, signs);
    }
}

fn steps<'a>(map: Node<'a>) -> impl Iterator<Item = Node<'a>> {
    let own = list(map, "steps");
    let stages = list(map, "stages");
    let staged = stages.iter().flat_map(|stage| list(*stage, "steps"));
    own.iter().chain(staged).copied()
}

/// The list under a name, or under that name with a slip in it: what is in it was written for one
/// dialect all the same.
fn list<'a>(map: Node<'a>, name: &str) -> &'a [Node<'a>] {
    let misspelt = || {
        let mut entries = map.map().unwrap_or_default().iter();
        entries.find(|entry| is_meant(entry, name, &fields::RECIPE))
    };
    let value = map
        .get(name)
        .or_else(|| misspelt().map(|entry| entry.value));
    value.and_then(|value| value.list()).unwrap_or_default()
}

/// Whether a field is another one with a slip in it, or the word of others for it.
fn is_meant(entry: &Entry<'_>, name: &str, shape: &Shape) -> bool {
    let written = entry.name();
    written.is_some_and(|written| is_slip(written, name) || shape.hints.contains(&(written, name)))
}

/// A step whose `command` is wrong, in its name or in its value, and which has no type. It is no
/// evidence against other evidence, but what is wrong is found by reading it as it was meant.
fn nearly_untyped(step: Node<'_>) -> Option<Sign> {
    let others = ["type", "agent", "prompt", "recipe", "steps"];
    if others.iter().any(|name| step.get(name).is_some()) {
        return None;
    }
    let mut entries = step.map().unwrap_or_default().iter();
    let meant =
        |entry: &&Entry<'_>| entry.is("command") || is_meant(entry, "command", &fields::STEP);
    entries.find(meant).map(|entry| Sign {
        dialect: &AMPLIHACK,
        span: entry.key.span,
        what: UNTYPED,
        strong: false,
    })
}

fn field(
    entry: &Entry<'_>,
    amplifier: &[&'static str],
    amplihack: &[&'static str],
    signs: &mut Signs,
) {
    for (names, dialect) in [(amplifier, &AMPLIFIER), (amplihack, &AMPLIHACK)] {
        if !signs.has(dialect, false)
            && let Some(what) = names.iter().find(|name| entry.is(name))
        {
            signs.add(Sign {
                dialect,
                span: entry.key.span,
                what,
                strong: false,
            });
        }
    }
}

fn collect_step(step: Node<'_>, signs: &mut Signs) {
    for entry in step.map().unwrap_or_default() {
        field(entry, AMPLIFIER_STEP_FIELDS, AMPLIHACK_STEP_FIELDS, signs);
        if entry
            .name()
            .is_some_and(|name| name.starts_with("provider"))
        {
            let what = "provider";
            signs.add(Sign {
                dialect: &AMPLIFIER,
                span: entry.key.span,
                what,
                strong: false,
            });
        }
        if (entry.is("condition") || entry.is("while_condition") || entry.is("break_when"))
            && let Some(text) = entry.value.text()
        {
            condition(text, signs);
        }
        if entry.is("command")
            && !signs.has(&AMPLIHACK, false)
            && let Some(text) = entry.value.text()
        {
            let names = ["RECIPE_VAR_", "AMPLIHACK_"];
            if let Some(at) = names.iter().find_map(|name| text.text().find(name)) {
                let span = text.span(at..at + 10);
                let what = "a variable of its environment";
                signs.add(Sign {
                    dialect: &AMPLIHACK,
                    span,
                    what,
                    strong: false,
                });
            }
            if step.get("type").is_none() {
                let what = UNTYPED;
                signs.add(Sign {
                    dialect: &AMPLIHACK,
                    span: entry.key.span,
                    what,
                    strong: false,
                });
            }
        }
    }
    for inner in list(step, "steps") {
        collect_step(*inner, signs);
    }
}

/// `{{x}} == 'a'` is one dialect's way, `x == 'a'` the other's. A hole in quotes is nobody's: neither
/// runner puts the value there.
fn condition(written: Text<'_>, signs: &mut Signs) {
    let text = written.text();
    if let Some(at) = bare_hole(text) {
        let what = "`{{` in a condition";
        let end = text[at..].find("}}").map_or(at + 2, |end| at + end + 2);
        signs.add(Sign {
            dialect: &AMPLIFIER,
            span: written.span(at..end),
            what,
            strong: true,
        });
        return;
    }
    if signs.has(&AMPLIHACK, true) {
        return;
    }
    // Without a hole, a name is all that a condition could depend on.
    let (Some(tree), _) = expr::parse(text, BareWords::Variables) else {
        return;
    };
    let mut name = None;
    tree.walk(&mut |expr| {
        if let ExprKind::Name(_) = expr.kind {
            name.get_or_insert_with(|| expr.range.clone());
        }
    });
    if let Some(range) = name {
        signs.add(Sign {
            dialect: &AMPLIHACK,
            span: written.span(range),
            what: "a bare name in a condition",
            strong: true,
        });
    }
}

/// The first `{{` of a condition that no quotes hold.
fn bare_hole(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '{') if text[at..].starts_with("{{") => return Some(at),
            _ => {}
        }
    }
    None
}
