//! What steps of a sequence hand to each other, or do not.

use super::Lower;
use super::node::key_span;
use super::risk::base;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::doc::Node;
use crate::ir::Literal;
use crate::ir::flow::{Scope, Stage, Term, TermKind, Work};
use crate::source::Span;

/// Programs that are run for what they write, whatever their words are.
const WRITERS: [&str; 14] = [
    "echo", "printf", "cat", "ls", "date", "seq", "head", "tail", "wc", "cut", "rev", "tr", "uniq",
    "jq",
];
/// Programs that never read what is piped to them.
const DEAF: [&str; 15] = [
    "echo", "printf", "true", "false", "date", "pwd", "ls", "mkdir", "touch", "rm", "mv", "cp",
    "chmod", "sleep", "seq",
];

impl<'a> Lower<'_, 'a> {
    /// Steps that write something, before one that does not read it.
    pub fn unread(&mut self, items: &'a [Node<'a>], steps: &[Stage]) {
        for ((item, writer), reader) in items.iter().zip(steps).zip(steps.iter().skip(1)) {
            let Some((deaf, words)) = command(reader) else {
                continue;
            };
            // A step that is skipped hands on what it would have read.
            if reader.guard.is_some() || !DEAF.contains(&deaf) || words.iter().any(is_stdin) {
                continue;
            }
            let (span, message) = match (branches(*item, writer), command(writer)) {
                (Some(span), _) => (
                    span,
                    format!("nothing reads what these branches write: `{deaf}` reads no input"),
                ),
                (None, Some((name, words))) if WRITERS.contains(&name) => (
                    words.first().map_or(writer.span, |word| word.span),
                    format!("nothing reads what `{name}` writes: `{deaf}` reads no input"),
                ),
                _ => continue,
            };
            self.report_once(
                Diagnostic::new(&codes::UNUSED_OUTPUT, span, message).help(
                    "the result is what the last step writes: let it read this, or remove it",
                ),
            );
        }
    }

    /// A template that succeeds though its last step has failed.
    pub fn swallowed_failure(&mut self, root: Node<'a>, stage: &Stage) {
        let list = root.get("template").unwrap_or(root).list();
        let (Some([.., _, item]), Work::Seq(steps)) = (list, &stage.work) else {
            return;
        };
        let passes = |stage: &Stage| stage.scope == Scope::Continue;
        let Some(last) = steps.last().filter(|last| passes(last) && passes(stage)) else {
            return;
        };
        // Whoever writes `continue` means it.
        let explicit = |node: Node<'a>| self.field(node, "failure").is_some();
        if explicit(*item) || explicit(root) {
            return;
        }
        let Some((name, words)) = command(last) else {
            return;
        };
        let message = format!("when `{name}` fails, the template succeeds all the same");
        let span = words.first().map_or(last.span, |word| word.span);
        self.add(
            Diagnostic::new(&codes::SWALLOWED_FAILURE, span, message).help(
                "write `\"failure\": \"root\"`, or `\"failure\": \"continue\"` if that is meant",
            ),
        );
    }

    /// Steps that are to be passed over, in a group that ends with every failure.
    pub fn idle_continue(&mut self, node: Node<'a>, scope: Scope) {
        let items = node.get("template").and_then(|template| template.list());
        if scope == Scope::Continue {
            return;
        }
        for item in items.unwrap_or_default() {
            let failure = item.get("failure").and_then(|failure| self.text(failure));
            let Some(failure) = failure.filter(|failure| failure.text() == "continue") else {
                continue;
            };
            self.add(
                Diagnostic::new(
                    &codes::IDLE_FIELD,
                    failure.inner(),
                    "`continue` has no effect in a group that ends with every failure",
                )
                .help("write `failure` on the steps that must not fail, and not on the group"),
            );
        }
    }
}

/// The command of a stage, by its name without a directory, and its words.
fn command(stage: &Stage) -> Option<(&str, &[Term])> {
    match &stage.work {
        Work::Inside(inner) => command(inner),
        Work::Run { words, .. } => match &words.first()?.kind {
            TermKind::Literal(Literal::Text(name)) => Some((base(name), words)),
            _ => None,
        },
        _ => None,
    }
}

/// The place that says that a stage is branches, whose reports are put together.
fn branches(node: Node<'_>, stage: &Stage) -> Option<Span> {
    let apart = match &stage.work {
        Work::Par(_) => true,
        Work::Times(times) => times.at_once,
        _ => false,
    };
    let mut entries = node.map()?.iter();
    let parallel = entries.find(|entry| entry.is("parallel"))?;
    apart.then(|| key_span(parallel))
}

/// A word by which any program reads what is piped to it.
fn is_stdin(word: &Term) -> bool {
    match &word.kind {
        TermKind::Literal(Literal::Text(text)) => {
            text.starts_with("/dev/stdin") || text.starts_with("/dev/fd/")
        }
        _ => false,
    }
}
