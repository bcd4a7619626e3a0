//! Fields of a node that work, and hardly as they were meant.

use super::Lower;
use super::names::Env;
use super::node::{FIELDS, key_span};
use super::spot::{fix, instead};
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix};
use crate::doc::{Entry, Kind, Node};
use crate::ir::Literal;
use crate::ir::flow::{Stage, Term, TermKind, Work};
use crate::source::Span;

/// More branches than this are refused by later releases of the standard.
const MOST_BRANCHES: usize = 64;
/// Milliseconds: who waits longer than that before a node wants a scheduler.
const LONGEST_DELAY: i64 = 600_000;

impl<'a> Lower<'_, 'a> {
    pub fn habits(
        &mut self,
        node: Node<'a>,
        entries: &'a [Entry<'a>],
        body: &Stage,
        env: &Env<'a>,
        repeat: Option<&Option<Term>>,
        parallel: bool,
    ) {
        self.template_not_last(entries);
        self.retry_on_object(node, entries);
        self.seconds(node);
        self.long_delay(node);
        if parallel {
            self.fanout(node, body, repeat);
        } else if !env.apart && self.field(node, "retry").is_none() {
            self.branch_is_root(node);
        }
    }

    /// Whether a node has a `timeout` that ends what takes too long; 0 is none.
    pub fn ends(&self, node: Node<'a>) -> bool {
        let timeout = self.field(node, "timeout");
        let timeout = timeout.map(|timeout| self.literal(timeout));
        match timeout {
            None => false,
            Some(Literal::Int(ms)) => ms != 0,
            Some(Literal::Text(text)) => !matches!(text.trim(), "" | "0"),
            Some(_) => true,
        }
    }

    fn template_not_last(&mut self, entries: &'a [Entry<'a>]) {
        let Some(at) = entries.iter().position(|entry| entry.is("template")) else {
            return;
        };
        let (Some(template), Some(rest)) = (entries.get(at), entries.get(at + 1..)) else {
            return;
        };
        let own = |entry: &&Entry<'_>| entry.name().is_some_and(|name| FIELDS.contains(&name));
        let Some(behind) = rest.iter().find(own) else {
            return;
        };
        let name = behind.name().unwrap_or_default();
        let message = format!("`{name}` stands behind `template`, where it is easily overlooked");
        let finding = Diagnostic::new(&codes::TEMPLATE_NOT_LAST, key_span(template), message)
            .label(key_span(behind), "it stands here")
            .help("write `template` last");
        let moved = self.raw.and_then(|raw| turned(raw, template, rest));
        self.add(match moved {
            Some(edits) => finding.fix(Fix {
                applicability: Applicability::Safe,
                message: "write `template` last".to_string(),
                edits,
            }),
            None => finding,
        });
    }

    fn retry_on_object(&mut self, node: Node<'a>, entries: &'a [Entry<'a>]) {
        let inner = node.get("template").filter(|inner| inner.map().is_some());
        let at = entries.iter().position(|entry| entry.is("retry"));
        let (Some(inner), Some(at), None) = (inner, at, self.field(node, "recover")) else {
            return;
        };
        let Some(retry) = entries.get(at) else { return };
        let tries = match self.literal(retry.value) {
            Literal::Null => return,
            Literal::Int(tries) if tries <= 1 => return,
            Literal::Int(tries) => Some(tries),
            Literal::Text(text) if matches!(text.trim(), "" | "1") => return,
            _ => None,
        };
        let finding = Diagnostic::new(
            &codes::RETRY_ON_OBJECT,
            key_span(retry),
            "other runners ignore `retry` where `template` is an object",
        )
        .help("move it into that object");
        // Inside, it must not be copied by a `repeat`, nor change what a `delay` or the `timeout`
        // of a group spans.
        let simple = ["label", "args", "defaults", "failure", "template"];
        let mut inside = inner.map().unwrap_or_default().iter();
        let movable = inside.all(|entry| entry.name().is_some_and(|name| simple.contains(&name)));
        let first = inner.map().and_then(|all| all.first());
        let gone = without(entries, at).filter(|_| movable);
        let moved = tries.zip(first).and_then(|(tries, first)| {
            let gone = Edit {
                span: gone?,
                text: String::new(),
            };
            let there = before(self.raw?, first, &format!("\"retry\": {tries}"))?;
            Some(Fix {
                applicability: Applicability::Safe,
                message: "move it into the object".to_string(),
                edits: vec![gone, there],
            })
        });
        self.add(finding.fix_if(moved));
    }

    /// A fix that gives a node a field: before another one, unless it has the field already.
    pub fn with_field(&self, node: Node<'a>, name: &str, value: &str, next: &str) -> Option<Fix> {
        let raw = self.raw?;
        let entry = |name: &str| node.map()?.iter().find(|entry| entry.is(name));
        let edit = match entry(name) {
            Some(known) => Edit {
                span: known.value.span,
                text: value.to_string(),
            },
            None => before(raw, entry(next)?, &format!("\"{name}\": {value}"))?,
        };
        Some(Fix {
            applicability: Applicability::Unsafe,
            message: format!("write `\"{name}\": {value}`"),
            edits: vec![edit],
        })
    }

    /// A fix that takes a field away which means nothing.
    pub fn without_field(&self, node: Node<'a>, name: &str) -> Option<Fix> {
        self.raw?;
        let entries = node.map()?;
        let at = entries.iter().position(|entry| entry.is(name))?;
        Some(Fix::safe("remove it", without(entries, at)?, ""))
    }

    fn seconds(&mut self, node: Node<'a>) {
        let Some(field) = node.get("timeout") else {
            return;
        };
        let ms = self.milliseconds(field).unwrap_or(0);
        // Few programs are done in less than a tenth of a second, and few people count
        // milliseconds by the minute: 120 is two of those, while 300 may be what it says.
        let minutes = ms % 60 == 0 && ms % 100 != 0 && ms < 3600 || ms == 3600;
        if (1..100).contains(&ms) || ms > 0 && minutes {
            let meant = ms * 1000;
            let message = format!("this is {ms} milliseconds");
            self.add(
                Diagnostic::new(&codes::SECONDS_SUSPECTED, field.span, message)
                    .help(format!("for {ms} seconds write {meant}"))
                    .fix_if(fix(
                        Applicability::Unsafe,
                        format!("write {meant}"),
                        [instead(field, &meant.to_string())],
                    )),
            );
        }
    }

    fn long_delay(&mut self, node: Node<'a>) {
        let Some(field) = self.field(node, "delay") else {
            return;
        };
        let Some(ms) = self.milliseconds(field).filter(|ms| *ms > LONGEST_DELAY) else {
            return;
        };
        let message = format!("this waits {} minutes before anything runs", ms / 60_000);
        self.add(
            Diagnostic::new(&codes::LONG_DELAY, field.span, message)
                .help("have a scheduler start the template when it is time"),
        );
    }

    /// A number that is written as such, or as text.
    fn milliseconds(&self, field: Node<'a>) -> Option<i64> {
        match self.literal(field) {
            Literal::Int(ms) => Some(ms),
            Literal::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn fanout(&mut self, node: Node<'a>, body: &Stage, repeat: Option<&Option<Term>>) {
        let copies = match repeat {
            Some(Some(term)) => match &term.kind {
                TermKind::Literal(Literal::Int(copies)) => usize::try_from(*copies).ok(),
                TermKind::Literal(Literal::Text(copies)) => copies.parse().ok(),
                _ => None,
            },
            _ => None,
        };
        let steps = match &body.work {
            Work::Par(all) => Some(all.len()),
            _ => None,
        };
        let many = |count: Option<usize>| count.filter(|count| *count > MOST_BRANCHES);
        let (field, count) = match (many(copies), many(steps)) {
            (Some(copies), _) => ("repeat", copies),
            (None, Some(steps)) => ("parallel", steps),
            (None, None) => return,
        };
        let Some(value) = node.get(field) else { return };
        let message = format!(
            "{count} branches run at once; later releases of the standard refuse more than {MOST_BRANCHES}"
        );
        self.add(
            Diagnostic::new(&codes::HUGE_FANOUT, value.span, message)
                .help("make several groups of them, one after the other"),
        );
    }

    fn branch_is_root(&mut self, node: Node<'a>) {
        let failure = node.get("failure").and_then(|field| self.text(field));
        let Some(failure) = failure.filter(|failure| failure.text() == "branch") else {
            return;
        };
        self.add(
            Diagnostic::new(
                &codes::BRANCH_IS_ROOT,
                failure.inner(),
                "nothing runs side by side here, so this ends the whole template, as `root` does",
            )
            .help("write `root` if that is meant"),
        );
    }
}

fn start(span: Span) -> Span {
    Span::new(span.source, span.start as usize, span.start as usize)
}

/// An edit that puts a field before another one, at the same distance: lines stay lines.
fn before(raw: &str, entry: &Entry<'_>, field: &str) -> Option<Edit> {
    let front = raw.get(..entry.key.span.start as usize)?;
    let space = match front.get(front.trim_end().len()..)? {
        "" => " ",
        space => space,
    };
    Some(Edit {
        span: start(entry.key.span),
        text: format!("{field},{space}"),
    })
}

/// What to remove for one of several entries to be gone, with the comma that belongs to it.
pub fn without(entries: &[Entry<'_>], number: usize) -> Option<Span> {
    cut(number, |at| entries.get(at).map(whole))
}

/// The same for the items of a list.
pub fn without_item(items: &[Node<'_>], number: usize) -> Option<Span> {
    cut(number, |at| items.get(at).map(|item| item.span))
}

fn cut(number: usize, part: impl Fn(usize) -> Option<Span>) -> Option<Span> {
    let this = part(number)?;
    let before = number.checked_sub(1).and_then(&part);
    Some(match (before, part(number + 1)) {
        (_, Some(next)) => Span::new(this.source, this.start as usize, next.start as usize),
        (Some(before), None) => Span::new(this.source, before.end as usize, this.end as usize),
        (None, None) => this,
    })
}

/// An entry from its key to the end of its value.
pub fn whole(entry: &Entry<'_>) -> Span {
    let (key, value) = (entry.key.span, entry.value.span);
    Span::new(key.source, key.start as usize, value.end as usize)
}

/// Edits that put the first of some entries behind the others: each takes the place of the next,
/// so that lines and commas stay where they are.
fn turned(raw: &str, first: &Entry<'_>, rest: &[Entry<'_>]) -> Option<Vec<Edit>> {
    let all: Vec<Span> = std::iter::once(first).chain(rest).map(whole).collect();
    let broken = |entry: &Entry<'_>| matches!(entry.value.kind, Kind::Broken);
    if rest.iter().any(broken) || broken(first) {
        return None;
    }
    let edits = all.iter().enumerate().map(|(number, span)| {
        let next = all.get(number + 1).or(all.first())?;
        Some(Edit {
            span: *span,
            text: raw.get(next.range())?.to_string(),
        })
    });
    edits.collect()
}
