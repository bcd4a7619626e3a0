//! `# rrc: ignore[CODE] reason`: findings that the author has looked at and keeps.
//!
//! A comment on a line of its own speaks for the next line that is no comment, one at the end of a
//! line for that line; a scalar that begins there is covered to its end. Inside a block scalar a
//! comment of the text itself counts, as the shell reads it as one. Inside quotes nothing counts:
//! there it is text. Knows findings by their codes and places, and nothing of what they mean.

use crate::codes::{self, Code, Severity};
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix, Report, nearest};
use crate::doc::{Kind, Node, Style};
use crate::source::{SourceId, Span};
use std::ops::Range;

/// One comment.
#[derive(Clone, Debug)]
pub struct Ignore {
    /// From its `#` to the end of the line.
    comment: Span,
    /// What goes with it when it is removed.
    whole: Span,
    /// It is part of a text, and whoever reads that text reads it too.
    in_text: bool,
    form: Form,
    /// The bytes it speaks for.
    covers: Range<u32>,
}

#[derive(Clone, Debug)]
enum Form {
    /// The codes, and the inside of the brackets.
    Listed(Vec<Listed>, Span),
    /// No list: where it belongs, and what it has silenced.
    Blanket(Span, Vec<&'static str>),
    /// A list without its end, or a word that is almost `ignore`.
    Wrong(Span, &'static str),
}

#[derive(Clone, Debug)]
struct Listed {
    text: String,
    span: Span,
    code: Option<&'static Code>,
    used: bool,
}

/// The comments of a YAML text. Without a tree, which is when it could not be read, every comment
/// is taken at its word.
pub fn comments(source: SourceId, text: &str, root: Option<Node<'_>>) -> Vec<Ignore> {
    let mut found = Vec::new();
    // Most texts have none, and this is how to know it soonest.
    if memchr::memmem::find(text.as_bytes(), b"rrc:").is_none() {
        return found;
    }
    for (at, _) in text.match_indices("rrc:") {
        let Some(start) = comment_start(text, at) else {
            continue;
        };
        let place = match root {
            Some(root) => standing(root, start as u32),
            None => Standing::Outside,
        };
        if place == Standing::Quoted {
            continue;
        }
        let end = line_end(text, at);
        let Some(form) = form(source, text, at + "rrc:".len(), end) else {
            continue;
        };
        let line = text[..start].rfind('\n').map_or(0, |before| before + 1);
        let alone = text[line..start].trim().is_empty();
        let target = match alone {
            true => next_line(text, end),
            false => line..end,
        };
        let reach = root.map_or(0, |root| reach(root, &target));
        let whole = match alone {
            true => line..(end + newline(text, end)),
            false => text[..start].trim_end().len()..end,
        };
        found.push(Ignore {
            comment: Span::new(source, start, end),
            whole: Span::new(source, whole.start, whole.end),
            in_text: place == Standing::Block,
            form,
            covers: line as u32..(target.end as u32).max(reach) + 1,
        });
    }
    found
}

/// Where the `#` stands whose comment begins with what is at `at`, if a comment begins there.
fn comment_start(text: &str, at: usize) -> Option<usize> {
    let before = text[..at].trim_end_matches([' ', '\t']);
    let outside = before.strip_suffix('#')?;
    let begins = outside.is_empty() || outside.ends_with([' ', '\t', '\n']);
    begins.then_some(outside.len())
}

fn line_end(text: &str, from: usize) -> usize {
    let end = text[from..].find('\n').map_or(text.len(), |at| from + at);
    end - usize::from(text[..end].ends_with('\r'))
}

fn newline(text: &str, end: usize) -> usize {
    match &text[end..] {
        rest if rest.starts_with("\r\n") => 2,
        rest if rest.starts_with('\n') => 1,
        _ => 0,
    }
}

/// The next line that is no comment.
fn next_line(text: &str, mut end: usize) -> Range<usize> {
    loop {
        let start = end + newline(text, end);
        if start == end {
            return end..end;
        }
        end = line_end(text, start);
        if !text[start..end].trim_start().starts_with('#') {
            return start..end;
        }
    }
}

fn form(source: SourceId, text: &str, from: usize, end: usize) -> Option<Form> {
    let skip = |from: usize| end - text[from..end].trim_start().len();
    let start = skip(from);
    let letters = |c: char| !c.is_ascii_alphabetic();
    let after = text[start..end].find(letters).map_or(end, |at| start + at);
    let word = &text[start..after];
    let span = Span::new(source, start, after);
    if word != "ignore" {
        let near = nearest(word, ["ignore"]).is_some();
        return near.then_some(Form::Wrong(span, "rrc knows no such comment"));
    }
    let open = skip(after);
    if !text[open..end].starts_with('[') {
        let gap = Span::new(source, after, after);
        return Some(Form::Blanket(gap, Vec::new()));
    }
    let Some(close) = text[open..end].find(']').map(|at| open + at) else {
        let span = Span::new(source, open, open + 1);
        return Some(Form::Wrong(span, "the list of codes is not closed"));
    };
    let inner = Span::new(source, open + 1, close);
    let mut listed = Vec::new();
    let mut at = open + 1;
    for piece in text[open + 1..close].split(',') {
        let name = piece.trim();
        let start = at + (piece.len() - piece.trim_start().len());
        at += piece.len() + 1;
        if !name.is_empty() {
            listed.push(Listed {
                text: name.to_string(),
                span: Span::new(source, start, start + name.len()),
                code: codes::find(name),
                used: false,
            });
        }
    }
    if listed.is_empty() {
        let empty = Span::new(source, open, close + 1);
        return Some(Form::Blanket(empty, Vec::new()));
    }
    Some(Form::Listed(listed, inner))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Standing {
    Outside,
    Block,
    Quoted,
}

/// In what kind of scalar an offset is.
fn standing(node: Node<'_>, at: u32) -> Standing {
    match node.kind {
        Kind::Scalar(scalar) if node.span.contains(at) => match scalar.style {
            Style::Literal | Style::Folded => Standing::Block,
            Style::Single | Style::Double => Standing::Quoted,
            // In a plain scalar the comment ends the text, or interrupts it.
            Style::Plain => Standing::Outside,
        },
        Kind::Scalar(_) | Kind::Broken => Standing::Outside,
        Kind::List(items) => first_inside(items.iter().copied(), at),
        Kind::Map(entries) => first_inside(entries.iter().flat_map(|e| [e.key, e.value]), at),
    }
}

fn first_inside<'a>(nodes: impl Iterator<Item = Node<'a>>, at: u32) -> Standing {
    nodes
        .map(|node| standing(node, at))
        .find(|place| *place != Standing::Outside)
        .unwrap_or(Standing::Outside)
}

/// How far the scalars go that begin on a line.
fn reach(node: Node<'_>, line: &Range<usize>) -> u32 {
    let begins = |node: Node<'_>| line.contains(&(node.span.start as usize));
    match node.kind {
        Kind::Scalar(_) if begins(node) => node.span.end,
        Kind::Scalar(_) | Kind::Broken => 0,
        Kind::List(items) => {
            let ends = items.iter().map(|item| reach(*item, line));
            ends.max().unwrap_or(0)
        }
        Kind::Map(entries) => {
            let ends = entries.iter().map(|entry| match entry.value.kind {
                // The header of a block scalar is no part of its span; its key is on that line.
                Kind::Scalar(_) if begins(entry.key) && entry.value.alias.is_none() => {
                    entry.value.span.end
                }
                _ => reach(entry.value, line),
            });
            ends.max().unwrap_or(0)
        }
    }
}

/// Takes what the comments silence out of the report, and gives it back. What is wrong with the
/// comments of `judged`, if given, becomes a finding itself: of other files it is said when they
/// are checked themselves, as they may need more than this program shows.
pub fn suppress(
    ignores: &mut [Ignore],
    judged: Option<SourceId>,
    report: &mut Report,
) -> Vec<Diagnostic> {
    if ignores.is_empty() {
        return Vec::new();
    }
    let mut silenced = silence(ignores, report);
    // A file that was not read to its end may lack the very findings that were meant.
    let whole = |source: SourceId| {
        let mut reading = report.findings.iter().chain(&silenced);
        !reading.any(|finding| finding.span.source == source && cuts_short(finding.code))
    };
    let judged = judged.filter(|source| whole(*source));
    let own = |ignore: &Ignore| judged == Some(ignore.comment.source);
    for ignore in ignores.iter().filter(|i| own(i)) {
        judge(ignore, report);
    }
    // What has just been said can be meant, too.
    silenced.extend(silence(ignores, report));
    for ignore in ignores.iter().filter(|i| own(i)) {
        if let Form::Listed(listed, inner) = &ignore.form {
            unused(ignore, listed, *inner, is_about_comments, report);
        }
    }
    silenced
}

/// Whether a finding of this kind means that the rest of the file was not looked at.
fn cuts_short(code: &Code) -> bool {
    code.severity == Severity::Error && code.code.starts_with("RRC00")
}

/// Takes what the comments silence out of the report, and gives it back.
pub fn silence(ignores: &mut [Ignore], report: &mut Report) -> Vec<Diagnostic> {
    let (silenced, kept) = std::mem::take(&mut report.findings)
        .into_iter()
        .partition(|finding| {
            let mut taken = false;
            for ignore in ignores.iter_mut() {
                taken |= ignore.takes(finding);
            }
            taken
        });
    report.findings = kept;
    silenced
}

impl Ignore {
    fn takes(&mut self, finding: &Diagnostic) -> bool {
        let here =
            finding.span.source == self.comment.source && self.covers.contains(&finding.span.start);
        match &mut self.form {
            Form::Listed(listed, _) if here => {
                let mut taken = false;
                for entry in listed {
                    let same = entry.code == Some(finding.code);
                    entry.used |= same;
                    taken |= same;
                }
                taken
            }
            // A comment cannot silence what is said about itself without naming it.
            Form::Blanket(_, blanket) if here && finding.span != self.comment => {
                if !blanket.contains(&finding.code.code) {
                    blanket.push(finding.code.code);
                }
                true
            }
            _ => false,
        }
    }

    /// Text that is part of what runs is not ours to change without being asked.
    fn applicability(&self) -> Applicability {
        match self.in_text {
            true => Applicability::Unsafe,
            false => Applicability::Safe,
        }
    }

    fn fix(&self, message: String, span: Span, text: String) -> Fix {
        Fix {
            applicability: self.applicability(),
            message,
            edits: vec![Edit { span, text }],
        }
    }

    fn removal(&self) -> Fix {
        self.fix("remove the comment".to_string(), self.whole, String::new())
    }
}

/// Says what is wrong with a comment.
fn judge(ignore: &Ignore, report: &mut Report) {
    match &ignore.form {
        Form::Wrong(span, what) => {
            report.add(
                Diagnostic::new(&codes::BAD_IGNORE, *span, *what)
                    .help("write `# rrc: ignore[CODE] reason`"),
            );
        }
        Form::Blanket(_, blanket) if blanket.is_empty() => {
            let message = "there is nothing to ignore here";
            report.add(
                Diagnostic::new(&codes::UNUSED_IGNORE, ignore.comment, message)
                    .help("remove the comment")
                    .fix(ignore.removal()),
            );
        }
        Form::Blanket(gap, blanket) => {
            let list = format!("[{}]", blanket.join(", "));
            let message = "the comment does not say which findings it ignores";
            report.add(
                Diagnostic::new(&codes::BAD_IGNORE, ignore.comment, message)
                    .help(format!("write `ignore{list}`, so that others are seen"))
                    .fix(ignore.fix(format!("add `{list}`"), *gap, list)),
            );
        }
        Form::Listed(listed, inner) => judge_list(ignore, listed, *inner, report),
    }
}

fn judge_list(ignore: &Ignore, listed: &[Listed], inner: Span, report: &mut Report) {
    for entry in listed.iter().filter(|entry| entry.code.is_none()) {
        let message = format!("there is no finding `{}`", entry.text);
        let known = codes::ALL.iter().flat_map(|code| [code.code, code.name]);
        let finding = Diagnostic::new(&codes::BAD_IGNORE, entry.span, message);
        report.add(match nearest(&entry.text, known) {
            Some(near) => finding
                .help(format!("did you mean `{near}`?"))
                .fix(Fix::unsafe_(format!("write `{near}`"), entry.span, near)),
            None => finding.help("`rrc explain` lists them all"),
        });
    }
    // What another tool finds is known only when that tool was asked, and what is said about
    // comments only after them.
    let known = |code: &Code| code != &codes::SHELLCHECK && !is_about_comments(code);
    unused(ignore, listed, inner, known, report);
}

fn is_about_comments(code: &Code) -> bool {
    code == &codes::UNUSED_IGNORE || code == &codes::BAD_IGNORE
}

/// Says which codes of a list, of those that are looked for, silence nothing.
fn unused(
    ignore: &Ignore,
    listed: &[Listed],
    inner: Span,
    looked_for: impl Fn(&Code) -> bool,
    report: &mut Report,
) {
    let unused = |entry: &&Listed| !entry.used && entry.code.is_some_and(&looked_for);
    let Some(first) = listed.iter().find(unused) else {
        return;
    };
    let names: Vec<String> = listed
        .iter()
        .filter(unused)
        .map(|entry| format!("`{}`", entry.text))
        .collect();
    let kept: Vec<&str> = listed
        .iter()
        .filter(|entry| !unused(entry))
        .map(|entry| entry.text.as_str())
        .collect();
    let fix = match kept.is_empty() {
        true => ignore.removal(),
        false => {
            let message = format!("remove {}", names.join(", "));
            ignore.fix(message, inner, kept.join(", "))
        }
    };
    let message = format!("nothing here is ignored by {}", names.join(", "));
    report.add(
        Diagnostic::new(&codes::UNUSED_IGNORE, first.span, message)
            .help("remove it: it would hide a mistake that is made later")
            .fix(fix),
    );
}

/// Whether an error stands in the way of a plan though it is not shown: what was written has no
/// meaning that could be compiled, and leaving it out would run something else.
pub fn stands(finding: &Diagnostic) -> bool {
    let runs = [
        &codes::UNKNOWN_FIELD,
        &codes::UNDEFINED_VARIABLE,
        &codes::PARALLEL_CONFLICT,
    ];
    let late = ["RRC05", "RRC06"];
    finding.severity == Severity::Error
        && !runs.contains(&finding.code)
        && !late
            .iter()
            .any(|group| finding.code.code.starts_with(group))
}
