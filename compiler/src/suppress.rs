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
use crate::spelling::Near;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::LazyCell;
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
    // A comment that pins a dialect silences nothing, and most that are meant for rrc are such.
    let scalars = LazyCell::new(|| root.map(Scalars::new).unwrap_or_default());
    // Many comments may stand on one line, or speak for the same one: each line is read once.
    let mut line = 0..0;
    let mut text_from = 0;
    let mut target: Option<(Range<usize>, u32)> = None;
    let mut after = 0;
    for (at, _) in text.match_indices("rrc:") {
        let Some(start) = comment_start(text, at).filter(|start| *start >= after) else {
            continue;
        };
        if start >= line.end {
            let begin = text[..start].rfind('\n').map_or(0, |before| before + 1);
            line = begin..line_end(text, at);
            let indented = text[line.clone()].trim_start();
            text_from = line.end - indented.len();
        }
        let end = line.end;
        let Some(form) = form(source, text, at + "rrc:".len(), end) else {
            continue;
        };
        let place = scalars.standing(start as u32);
        if place == Standing::Quoted {
            continue;
        }
        // What stands in the list of a comment is no other comment.
        if let Form::Listed(_, inner) = &form {
            after = inner.end as usize;
        }
        let alone = text_from >= start;
        let (target_end, reach) = match &target {
            Some((lines, reach)) if alone && lines.contains(&end) => (lines.end, *reach),
            _ => {
                let spoken_for = match alone {
                    true => next_line(text, end),
                    false => line.clone(),
                };
                let reach = scalars.reach(&spoken_for);
                let lines = end..spoken_for.start;
                target = alone.then_some((lines, reach));
                (spoken_for.end, reach)
            }
        };
        let whole = match alone {
            true => line.start..(end + newline(text, end)),
            false => text[..start].trim_end().len()..end,
        };
        found.push(Ignore {
            comment: Span::new(source, start, end),
            whole: Span::new(source, whole.start, whole.end),
            in_text: place == Standing::Block,
            form,
            covers: line.start as u32..(target_end as u32).max(reach) + 1,
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

/// The scalars of a file, by where they begin.
#[derive(Default)]
struct Scalars {
    /// Those in which a comment may be text.
    texts: Vec<(Span, Standing)>,
    /// Where a scalar begins for a comment on its line, and how far it goes.
    ends: Vec<(u32, u32)>,
}

impl Scalars {
    fn new(root: Node<'_>) -> Scalars {
        let mut scalars = Scalars::default();
        scalars.collect(root);
        scalars.texts.sort_unstable_by_key(|(span, _)| *span);
        scalars.ends.sort_unstable();
        scalars
    }

    fn collect(&mut self, node: Node<'_>) {
        match node.kind {
            Kind::Scalar(scalar) => {
                self.note(node, scalar.style);
                self.ends.push((node.span.start, node.span.end));
            }
            Kind::Broken => {}
            Kind::List(items) => items.iter().for_each(|item| self.collect(*item)),
            Kind::Map(entries) => {
                for entry in entries.iter() {
                    if let Kind::Scalar(scalar) = entry.key.kind {
                        self.note(entry.key, scalar.style);
                    }
                    // The header of a block scalar is no part of its span; its key is on that line.
                    if let (Kind::Scalar(_), None) = (&entry.value.kind, entry.value.alias) {
                        let value = entry.value.span;
                        self.ends.push((entry.key.span.start, value.end));
                    }
                    self.collect(entry.value);
                }
            }
        }
    }

    fn note(&mut self, node: Node<'_>, style: Style) {
        let standing = match style {
            Style::Literal | Style::Folded => Standing::Block,
            Style::Single | Style::Double => Standing::Quoted,
            // In a plain scalar the comment ends the text, or interrupts it.
            Style::Plain => return,
        };
        self.texts.push((node.span, standing));
    }

    /// In what kind of scalar an offset is.
    fn standing(&self, at: u32) -> Standing {
        let before = self.texts.partition_point(|(span, _)| span.start <= at);
        match self.texts[..before].last() {
            Some((span, standing)) if span.contains(at) => *standing,
            _ => Standing::Outside,
        }
    }

    /// How far the scalars go that begin on a line.
    fn reach(&self, line: &Range<usize>) -> u32 {
        let from = |at: usize| {
            self.ends
                .partition_point(|(start, _)| (*start as usize) < at)
        };
        let ends = &self.ends[from(line.start)..from(line.end)];
        ends.iter().map(|(_, end)| *end).max().unwrap_or(0)
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
    let codes: Codes = LazyCell::new(|| {
        let codes = codes::ALL.iter().flat_map(|code| [code.code, code.name]);
        codes.collect()
    });
    for ignore in ignores.iter().filter(|i| own(i)) {
        judge(ignore, &codes, report);
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
    let found = Found::new(&report.findings);
    ignores.iter_mut().for_each(|ignore| ignore.note(&found));
    let mut blankets = Cover::default();
    let mut listed: FxHashMap<&str, Cover> = FxHashMap::default();
    let mut alone: FxHashSet<Span> = FxHashSet::default();
    for ignore in ignores.iter() {
        match &ignore.form {
            Form::Listed(entries, _) => {
                for code in entries.iter().filter_map(|entry| entry.code) {
                    listed.entry(code.code).or_default().add(ignore);
                }
            }
            Form::Blanket(..) => {
                blankets.add(ignore);
                alone.insert(ignore.comment);
            }
            Form::Wrong(..) => {}
        }
    }
    blankets.sort();
    listed.values_mut().for_each(Cover::sort);
    let (silenced, kept) = std::mem::take(&mut report.findings)
        .into_iter()
        .partition(|finding| {
            let named = listed.get(finding.code.code);
            // A comment cannot silence what is said about itself without naming it.
            let own = usize::from(alone.contains(&finding.span));
            named.is_some_and(|cover| cover.count(finding.span) > 0)
                || blankets.count(finding.span) > own
        });
    report.findings = kept;
    silenced
}

/// The places of findings, by code and in order.
struct Found {
    codes: FxHashMap<&'static str, Vec<Span>>,
}

impl Found {
    fn new(findings: &[Diagnostic]) -> Found {
        let mut codes: FxHashMap<&str, Vec<Span>> = FxHashMap::default();
        for finding in findings {
            codes
                .entry(finding.code.code)
                .or_default()
                .push(finding.span);
        }
        codes.values_mut().for_each(|places| places.sort_unstable());
        Found { codes }
    }

    /// The first finding of a code that a comment speaks for, if it is not about that comment.
    fn first(&self, code: &str, ignore: &Ignore, about_itself: bool) -> Option<Span> {
        let places = self.codes.get(code)?;
        let begin = (ignore.comment.source, ignore.covers.start);
        let from = places.partition_point(|place| (place.source, place.start) < begin);
        let here = places[from..].iter().take_while(|place| {
            place.source == ignore.comment.source && place.start < ignore.covers.end
        });
        let mut here = here.filter(|place| about_itself || **place != ignore.comment);
        here.next().copied()
    }
}

/// How many comments speak for a place: those that have begun, less those that have ended.
#[derive(Default)]
struct Cover {
    starts: Vec<(SourceId, u32)>,
    ends: Vec<(SourceId, u32)>,
}

impl Cover {
    fn add(&mut self, ignore: &Ignore) {
        let source = ignore.comment.source;
        self.starts.push((source, ignore.covers.start));
        self.ends.push((source, ignore.covers.end));
    }

    fn sort(&mut self) {
        self.starts.sort_unstable();
        self.ends.sort_unstable();
    }

    fn count(&self, place: Span) -> usize {
        let place = (place.source, place.start);
        let until = |places: &[_]| places.partition_point(|at| *at <= place);
        until(&self.starts) - until(&self.ends)
    }
}

impl Ignore {
    /// Notes what the comment silences.
    fn note(&mut self, found: &Found) {
        let mut form = std::mem::replace(&mut self.form, Form::Wrong(self.comment, ""));
        match &mut form {
            Form::Listed(listed, _) => {
                for entry in listed.iter_mut().filter(|entry| !entry.used) {
                    let found = entry
                        .code
                        .and_then(|code| found.first(code.code, self, true));
                    entry.used = found.is_some();
                }
            }
            Form::Blanket(_, blanket) => {
                let codes = found.codes.keys().filter(|code| !blanket.contains(code));
                let mut new: Vec<(Span, &str)> = codes
                    .filter_map(|code| Some((found.first(code, self, false)?, *code)))
                    .collect();
                new.sort_unstable();
                blanket.extend(new.into_iter().map(|(_, code)| code));
            }
            Form::Wrong(..) => {}
        }
        self.form = form;
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

/// The codes that there are, for what to suggest.
type Codes = LazyCell<Near<'static>>;

/// Says what is wrong with a comment.
fn judge(ignore: &Ignore, codes: &Codes, report: &mut Report) {
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
        Form::Listed(listed, inner) => judge_list(ignore, listed, *inner, codes, report),
    }
}

fn judge_list(ignore: &Ignore, listed: &[Listed], inner: Span, codes: &Codes, report: &mut Report) {
    for entry in listed.iter().filter(|entry| entry.code.is_none()) {
        let message = format!("there is no finding `{}`", entry.text);
        let finding = Diagnostic::new(&codes::BAD_IGNORE, entry.span, message);
        report.add(match codes.nearest(&entry.text, |_| true) {
            Some(near) => finding.did_you_mean(near).fix(Fix::unsafe_(
                format!("write `{near}`"),
                entry.span,
                near,
            )),
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
