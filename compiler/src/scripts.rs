//! The shell texts of a program as their author wrote them, for tools that read shell.
//!
//! The program itself holds scripts whose holes have become parameters; here the text is read again
//! with a stand-in of the same length for each hole, so that a place in it is a place in the file.

use crate::diagnostic::Report;
use crate::doc::{Kind, Node, Text, yaml};
use crate::expr::{self, Piece};
use crate::ir::{Action, Exec, Program, visit};
use crate::source::{SourceId, Sources, Span};
use bumpalo::Bump;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// One shell text.
pub struct ShellText<'a> {
    /// The shell that reads it, without its directory.
    pub shell: &'a str,
    /// The text, with stand-ins.
    pub text: String,
    /// Where the stand-ins are.
    pub holes: Vec<Range<usize>>,
    written: Text<'a>,
}

impl ShellText<'_> {
    /// What the author wrote for a byte range of the text.
    pub fn span(&self, range: Range<usize>) -> Span {
        self.written.span(range)
    }
}

/// Every shell text of a program once, in the order of the files.
pub fn scripts(program: &Program, sources: &Sources, each: &mut dyn FnMut(&ShellText<'_>)) {
    let mut wanted: FxHashMap<Span, String> = FxHashMap::default();
    for unit in &program.units {
        for hook in unit.hooks.scripts() {
            wanted.insert(hook.span, "bash".to_string());
        }
        for step in &unit.steps {
            visit::steps(step, &mut |step| {
                if let crate::ir::Node::Act(action) = &step.node
                    && let Action::Exec(exec) = &**action
                    && let Some(shell) = shell(exec)
                {
                    wanted.insert(exec.script.span, shell.to_string());
                }
            });
        }
    }
    let mut files: Vec<SourceId> = wanted.keys().map(|span| span.source).collect();
    files.sort_unstable();
    files.dedup();
    for file in files {
        let arena = Bump::new();
        let text = &sources.get(file).text;
        // What is wrong with the file has been said when it was read first.
        let root = yaml::read(&arena, file, text, &mut Report::default());
        if let Some(root) = root {
            walk(root, &mut wanted, each);
        }
    }
}

fn shell(exec: &Exec) -> Option<&str> {
    let path = exec.shell.as_literal()?;
    let name = path.rsplit('/').next().unwrap_or(path);
    ["bash", "sh", "dash", "ksh"]
        .into_iter()
        .find(|known| *known == name)
}

fn walk(
    node: Node<'_>,
    wanted: &mut FxHashMap<Span, String>,
    each: &mut dyn FnMut(&ShellText<'_>),
) {
    match node.kind {
        Kind::Scalar(_) => {
            let Some(written) = node.text() else { return };
            if let Some(shell) = wanted.remove(&node.span) {
                each(&with_stand_ins(written, &shell));
            }
        }
        Kind::List(items) => items.iter().for_each(|item| walk(*item, wanted, each)),
        Kind::Map(entries) => entries
            .iter()
            .for_each(|entry| walk(entry.value, wanted, each)),
        Kind::Broken => {}
    }
}

/// A hole becomes a parameter in braces, which every shell knows to be a value.
fn with_stand_ins<'a>(written: Text<'a>, shell: &'a str) -> ShellText<'a> {
    let mut text = written.text().to_string();
    let mut holes = Vec::new();
    for piece in expr::scan(written.text()).pieces {
        if let Piece::Hole(hole) = piece {
            // The shortest hole, `{{a}}`, leaves room for two letters.
            let name = "H".repeat(hole.range.len().saturating_sub(3));
            text.replace_range(hole.range.clone(), &format!("${{{name}}}"));
            holes.push(hole.range);
        }
    }
    ShellText {
        shell,
        text,
        holes,
        written,
    }
}
