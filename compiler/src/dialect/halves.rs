//! Holes that have lost braces: `{{name}`, `{name}`, `name}}`, and `$name` where `{{name}}` was meant.
//!
//! Braces and dollars mean much elsewhere, so a text is only suspected of it when it is read, and
//! accused when all variables of the recipe are known.

use super::blocks::{self, Tags};
use super::text::Lower;
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::doc::Text;
use crate::expr::{self, Comparison, is_path};
use crate::ir::{Action, Expr, ExprKind, HOOK_NAMES, Input, LOOP_NAMES, Node as Work, Step, visit};
use crate::shell::{self, HoleAt, Quote};
use crate::source::Span;
use memchr::{memchr, memrchr2};
use rustc_hash::FxHashSet;
use std::cell::LazyCell;
use std::ops::Range;

/// How far back a brace is looked for that such a text closes.
const NEAR: usize = 400;

/// What a hole has lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// `{name}}`
    OneOpening,
    /// `{{name`
    Closing,
    /// `name}}`
    Opening,
    /// `{name}`
    OneEach,
    /// `$name`, which the shell looks for elsewhere
    All,
    /// `name`, where a word is text
    Bare,
}

/// A place where a hole may have lost something.
struct Half {
    /// What stands between the braces: a name, or a path of fields.
    path: String,
    lost: Lost,
    range: Range<usize>,
    span: Span,
}

/// A text with such places.
#[derive(Default)]
pub struct Suspect {
    halves: Vec<Half>,
    /// It is in prose whose braces would all have another, but for this one.
    sure: bool,
    /// The text, if it is one that a shell reads.
    script: Option<String>,
    /// It has braces for others to fill in, with words between them.
    form: bool,
}

/// Finds the places in a text. `unclosed` is where braces open that nothing closes.
pub fn suspect(
    written: Text<'_>,
    unclosed: &[Range<usize>],
    prose: bool,
    found: &mut Vec<Suspect>,
) {
    let text = written.text();
    let mut suspect = Suspect::default();
    let mut add = |suspect: &mut Suspect, lost, path: &str, range: Range<usize>| {
        suspect.halves.push(Half {
            path: path.to_string(),
            lost,
            span: written.span(range.clone()),
            range,
        });
    };
    closed(text, &mut suspect, &mut add);
    let mut lacking = suspect
        .halves
        .iter()
        .filter(|half| half.lost == Lost::OneOpening);
    if let (Some(half), None, true) = (lacking.next(), lacking.next(), prose) {
        let count = |brace: u8| text.bytes().filter(|byte| *byte == brace).count();
        // Of a letter or two nobody knows what they stand for.
        suspect.sure = half.path.len() > 2 && count(b'}') == count(b'{') + 1;
    }
    for range in unclosed {
        let path = &text[range.start + 2..range.end];
        add(&mut suspect, Lost::Closing, path, range.clone());
    }
    // Code in prose has its own variables.
    if !prose || memchr(b'`', text.as_bytes()).is_none() {
        dollars(text, &mut suspect, &mut add);
    }
    if !suspect.halves.is_empty() {
        suspect.script = (!prose).then(|| text.to_string());
        found.push(suspect);
    }
}

impl Lower<'_> {
    /// Words that are only text are hardly ever compared by size.
    pub(super) fn compared(&mut self, written: Text<'_>, op: Comparison, sides: [&expr::Expr; 2]) {
        if matches!(
            op,
            Comparison::Eq | Comparison::Ne | Comparison::In | Comparison::NotIn
        ) {
            return;
        }
        for side in sides {
            let expr::ExprKind::Word(word) = &side.kind else {
                continue;
            };
            let half = Half {
                path: word.clone(),
                lost: Lost::Bare,
                range: side.range.clone(),
                span: written.span(side.range.clone()),
            };
            self.suspects.push(Suspect {
                halves: vec![half],
                ..Suspect::default()
            });
        }
    }
}

/// The places that end with a brace.
fn closed(
    text: &str,
    suspect: &mut Suspect,
    add: &mut impl FnMut(&mut Suspect, Lost, &str, Range<usize>),
) {
    // Braces that are open, as far as the text has been read.
    let (mut open, mut seen, mut at) = (0_isize, 0, 0);
    while let Some(close) = memchr(b'}', &text.as_bytes()[at..]).map(|found| at + found) {
        let end = close + 1 + usize::from(text[close + 1..].starts_with('}'));
        at = end;
        let before = &text[..close];
        // What is no part of a path may be the last byte of a letter, and then that is where it ends.
        let last = before.bytes().rposition(|byte| !is_path_part(byte));
        let start = last.map_or(0, |last| last + 1);
        let whole = end - close == 2 && before[..start].ends_with("{{");
        if whole || text[end..].starts_with('}') {
            continue;
        }
        let path = &text[start..close];
        if !is_path(path) {
            suspect.form |= is_blank_of_form(before);
            continue;
        }
        if let Some(outside) = text[..start].strip_suffix('{') {
            let one = !outside.ends_with(['{', '$', '\\', '%', '@', '^', '#', '`']);
            match end - close {
                2 if one && is_balanced(outside) => {
                    add(suspect, Lost::OneOpening, path, start - 1..end);
                }
                1 if one && !text[end..].starts_with('`') => {
                    add(suspect, Lost::OneEach, path, start - 1..end);
                }
                _ => {}
            }
        } else if end - close == 1 {
            suspect.form |= is_blank_of_form(before);
        } else {
            open += depth(&text[seen..close]);
            seen = close;
            if open <= 0 && !text[..start].ends_with('$') {
                add(suspect, Lost::Opening, path, start..end);
            }
        }
    }
}

/// How many more braces are opened than closed.
fn depth(text: &str) -> isize {
    let side = |byte: u8| match byte {
        b'{' => 1,
        b'}' => -1,
        _ => 0,
    };
    text.bytes().map(side).sum()
}

/// Whether no brace is open at the end of the line, nor far before: the last of two braces that
/// close may close it.
fn is_balanced(before: &str) -> bool {
    let near = &before.as_bytes()[before.len().saturating_sub(NEAR)..];
    let line = near.rsplit(|byte| *byte == b'\n').next().unwrap_or(near);
    let count = |brace: u8| line.iter().filter(|byte| **byte == brace).count();
    count(b'{') == count(b'}')
}

/// Whether the text ends with a brace and words: `{your answer`.
fn is_blank_of_form(before: &str) -> bool {
    let far = before.len().saturating_sub(NEAR);
    let near = &before.as_bytes()[far..];
    let Some(open) = memrchr2(b'{', b'\n', near).filter(|open| near[*open] == b'{') else {
        return false;
    };
    let words = &before[far + open + 1..];
    words.starts_with(char::is_alphabetic) && !words.contains(['"', ':', '}', '('])
}

fn is_path_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'[' | b']')
}

/// Finds `$name` and `${name}`, as variables of a recipe are spelt.
fn dollars(
    text: &str,
    suspect: &mut Suspect,
    add: &mut impl FnMut(&mut Suspect, Lost, &str, Range<usize>),
) {
    let mut at = 0;
    while let Some(dollar) = memchr(b'$', &text.as_bytes()[at..]).map(|found| at + found) {
        at = dollar + 1;
        let braced = text[at..].starts_with('{');
        let start = at + usize::from(braced);
        let rest = &text[start..];
        let length = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let end = start + length + usize::from(braced);
        let whole = !braced || rest[length..].starts_with('}');
        // What the shell is given by others is in capitals.
        let own = rest.starts_with(|c: char| c.is_ascii_lowercase());
        if whole && own && !text[..dollar].ends_with(['\\', '$']) {
            add(suspect, Lost::All, &rest[..length], dollar..end);
        }
        at = start + length;
    }
}

/// Says of texts that are no holes what names a variable.
pub fn say(
    suspects: &[Suspect],
    tags: &[Tags],
    known: &dyn Fn(&str) -> bool,
    steps: &[Step],
    reserved: &[&str],
    report: &mut Report,
) {
    if suspects.is_empty() && tags.is_empty() {
        return;
    }
    let given = given(steps);
    blocks::say_tags(tags, known, report);
    for suspect in suspects {
        let root = |half: &Half| {
            let name = half.path.split(['.', '[']).next().unwrap_or_default();
            // What a recipe is told of itself has fields; without one, it is a word of the text.
            let told = reserved.contains(&name) && half.path.len() > name.len();
            known(name) || told
        };
        let mut halves: Vec<&Half> = suspect.halves.iter().filter(|half| root(half)).collect();
        match &suspect.script {
            Some(script) => {
                halves.retain(|half| half.lost != Lost::All || !given.contains(&*half.path));
                in_script(script, &mut halves);
            }
            None => {
                let form = suspect.form
                    || suspect
                        .halves
                        .iter()
                        .any(|half| half.lost == Lost::OneEach && !root(half));
                halves.retain(|half| half.lost != Lost::OneEach || !form);
            }
        }
        if suspect.sure && halves.is_empty() {
            let lacks = |half: &&Half| half.lost == Lost::OneOpening;
            halves.extend(suspect.halves.iter().filter(lacks));
        }
        for half in halves {
            report.add(half.finding(suspect.script.is_some()));
        }
    }
}

/// Leaves those that stand where the shell reads a word for itself.
fn in_script(script: &str, halves: &mut Vec<&Half>) {
    // Others may set what the script does not.
    let uses = |words: &[&str]| words.iter().any(|word| script.contains(word));
    let alone = !uses(&["source ", ". ", "eval "]);
    // These are told what stands for each of their words.
    let told = uses(&["xargs ", "parallel "]);
    let words = LazyCell::new(|| words(script));
    halves.retain(|half| match half.lost {
        Lost::All => alone && !words.contains(half.path.as_str()),
        Lost::OneEach => !told,
        _ => true,
    });
    if halves.iter().all(|half| half.lost == Lost::OneOpening) {
        return;
    }
    let mut sorted: Vec<&Half> = halves.clone();
    sorted.sort_by_key(|half| half.range.start);
    let holes: Vec<HoleAt> = sorted
        .iter()
        .map(|half| HoleAt {
            range: half.range.clone(),
            name: "RECIPE_VAR_x".to_string(),
            filter: shell::Filter::None,
        })
        .collect();
    let positions = shell::compile(script, &holes).positions;
    let mut kept = sorted
        .iter()
        .zip(&positions)
        .filter(|(half, position)| {
            let plain = position.program.is_none() && !position.is_lost();
            let quotes: &[Quote] = match half.lost {
                Lost::OneOpening => return true,
                Lost::Closing | Lost::Opening => {
                    &[Quote::Bare, Quote::Double, Quote::Single, Quote::Heredoc]
                }
                Lost::OneEach => &[Quote::Bare, Quote::Double],
                Lost::All | Lost::Bare => &[Quote::Bare, Quote::Double, Quote::Heredoc],
            };
            plain && quotes.contains(&position.quote)
        })
        .map(|(half, _)| *half)
        .collect();
    std::mem::swap(halves, &mut kept);
}

/// The words that a script uses for anything but reading a variable: it may set one by that name.
fn words(script: &str) -> FxHashSet<&str> {
    let part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let bytes = script.as_bytes();
    let mut words = FxHashSet::default();
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(part).map(|found| at + found) {
        let length = bytes[start..].iter().position(|b| !part(b));
        at = length.map_or(bytes.len(), |length| start + length);
        let before = &bytes[..start];
        let braced = before.ends_with(b"${") && bytes[at..].starts_with(b"}");
        let read = braced || before.ends_with(b"$") || before.ends_with(b"{{");
        // `--name` and `dir/name` are other words.
        let part_of_other = before.last().is_some_and(|b| b"-/.".contains(b));
        if !read && !part_of_other {
            words.insert(&script[start..at]);
        }
    }
    words
}

impl Half {
    fn finding(&self, in_script: bool) -> Diagnostic {
        let path = &self.path;
        let meant = format!("{{{{{path}}}}}");
        let (written, help) = match self.lost {
            Lost::OneOpening => (format!("{{{path}}}}}"), "one opening brace is missing"),
            Lost::Closing => (format!("{{{{{path}"), "the closing braces are missing"),
            Lost::Opening => (format!("{path}}}}}"), "the opening braces are missing"),
            Lost::OneEach => (format!("{{{path}}}"), "a hole has two braces on each side"),
            Lost::Bare => (path.clone(), "a hole stands in braces"),
            Lost::All if !in_script => (format!("${path}"), "a hole stands in braces"),
            Lost::All => {
                let message = format!("`{path}` is a variable of the recipe, not of this script");
                return Diagnostic::new(&codes::NOT_EXPORTED, self.span, message)
                    .help(format!("write `{meant}`"))
                    .fix(Fix::unsafe_(format!("write `{meant}`"), self.span, meant));
            }
        };
        let message = match self.lost {
            Lost::Bare => format!("`{path}` without braces is text, not the variable"),
            _ => format!("`{written}` is not a hole and stays as it is written"),
        };
        Diagnostic::new(&codes::NOT_A_HOLE, self.span, message)
            .help(format!("{help}: write `{meant}`"))
            .fix(Fix::unsafe_(format!("write `{meant}`"), self.span, meant))
    }
}

/// The names under which steps give values to their scripts.
fn given(steps: &[Step]) -> FxHashSet<&str> {
    let mut given = FxHashSet::default();
    for step in steps {
        visit::steps(step, &mut |step| {
            if let Work::Act(action) = &step.node
                && let Action::Exec(exec) = &**action
            {
                given.extend(exec.env.iter().map(|(name, _)| name.as_str()));
            }
        });
    }
    given
}

/// The names of the variables of a recipe.
#[derive(Default)]
pub struct Names<'a> {
    set: FxHashSet<&'a str>,
    /// Those that are read as if there were such variables.
    read: FxHashSet<&'a str>,
}

impl<'a> Names<'a> {
    pub fn new(inputs: &'a [Input], steps: &'a [Step]) -> Names<'a> {
        let mut names = Names {
            set: inputs.iter().map(|input| input.name.as_str()).collect(),
            read: FxHashSet::default(),
        };
        for step in steps {
            visit::steps(step, &mut |step| names.add(step));
        }
        names
    }

    fn add(&mut self, step: &'a Step) {
        self.set
            .extend(step.bind.iter().map(|bind| bind.name.as_str()));
        if let Some(guard) = &step.guard {
            self.reads(&guard.expr);
        }
        match &step.node {
            Work::Each(each) => {
                self.reads(&each.over);
                let binds = each.collect.iter().chain(&each.last).chain([&each.item]);
                self.set.extend(binds.map(|bind| bind.name.as_str()));
            }
            Work::While(body) => {
                self.reads(&body.condition.expr);
                let binds = body.collect.iter().chain(&body.last);
                let binds = binds.chain(body.update.iter().map(|(bind, _)| bind));
                self.set.extend(binds.map(|bind| bind.name.as_str()));
            }
            Work::Act(action) => visit::walk_action(action, &mut |expr| self.read(expr)),
            Work::Seq(_) | Work::Par { .. } | Work::Graph(_) => {}
        }
    }

    fn reads(&mut self, expr: &'a Expr) {
        visit::walk(expr, &mut |expr| self.read(expr));
    }

    fn read(&mut self, expr: &'a Expr) {
        if let ExprKind::Var { name, .. } = &expr.kind {
            self.read.insert(name);
        }
    }

    /// Whether something reads the variable, and nothing sets it.
    pub fn wants(&self, name: &str) -> bool {
        self.read.contains(name) && !self.set.contains(name)
    }

    /// Whether it is one of them, or one that is set for hooks or loops.
    pub fn has(&self, name: &str) -> bool {
        let given = HOOK_NAMES.contains(&name) || LOOP_NAMES.contains(&name);
        self.set.contains(name) || self.read.contains(name) || given
    }
}
