//! What whoever wrote the file knows of a value: of the text of `{{x|raw}}`, which becomes shell
//! source, and of one that is the name of a command.

use super::plain::Plain;
use super::text::Lower;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::doc::Text as Written;
use crate::expr::{Filter, Path, Piece, SegmentKind};
use crate::ir::{Expr, ExprKind, Input, Literal, Node, ScriptPart, Step, visit};
use crate::shell;
use crate::source::Span;
use rustc_hash::FxHashSet;

/// Says which pasted values come from a step, directly or as the items of a loop.
pub fn check(pasted: &[(String, Span)], steps: &[Step], report: &mut Report) {
    if pasted.is_empty() {
        return;
    }
    let outside = outside(steps);
    for (name, span) in pasted {
        if outside.contains(name.as_str()) {
            let message = format!("`{name}` comes from a step, and is pasted into shell text");
            report.add(
                Diagnostic::new(&codes::RAW_VALUE, *span, message).help(format!(
                    "write `{{{{{name}}}}}` for the value, or `{{{{{name}|words}}}}` for its words"
                )),
            );
        }
    }
}

impl Lower<'_> {
    /// Shell text of a file in which all values are pasted. What would have reached the script as a
    /// value is remembered.
    pub(super) fn all_pasted(
        &mut self,
        written: Written<'_>,
        pieces: Vec<Piece>,
    ) -> Vec<ScriptPart> {
        let parts = pieces.iter().map(|piece| match piece {
            Piece::Literal(range) => ScriptPart::Source(written.text()[range.clone()].to_string()),
            Piece::Hole(hole) => ScriptPart::Paste(self.hole(written, hole)),
        });
        let parts = parts.collect();
        let (plain, holes) = Plain::of(written.text(), pieces);
        let at = plain.holes.iter().map(|range| shell::HoleAt {
            range: range.clone(),
            name: "V".to_string(),
            filter: shell::Filter::None,
        });
        let at: Vec<shell::HoleAt> = at.collect();
        let compiled = shell::compile(&plain.text, &at);
        for (hole, position) in holes.iter().zip(&compiled.positions) {
            let same = matches!(position.reach, shell::Use::Paste | shell::Use::Unused);
            let span = written.span(hole.range.clone());
            match hole.filter {
                Some((Filter::Raw, _)) => self.pasted.push((hole.path.root().to_string(), span)),
                _ if same => {}
                _ => self.all_pasted.push((hole.path.clone(), span)),
            }
        }
        parts
    }
}

/// Says of a file in which all values are pasted what the shell reads that it would not read
/// otherwise. Of a value that is the same to the shell either way, it is worth knowing only.
pub fn check_all(pasted: &[(Path, Span)], inputs: &[Input], steps: &[Step], report: &mut Report) {
    if pasted.is_empty() {
        return;
    }
    let outside = outside(steps);
    for (path, span) in pasted {
        let name = path.root();
        let input = inputs.iter().find(|input| input.name == name);
        let input = input.filter(|_| !outside.contains(name));
        let plain = match input.and_then(|input| field(&input.default, path)) {
            Some(Literal::Text(text)) => is_plain(text),
            Some(Literal::Bool(_) | Literal::Int(_) | Literal::Float(_)) => true,
            _ => false,
        };
        let message = match outside.contains(name) {
            true => format!("`{name}` comes from a step, and is pasted into shell text"),
            false => format!("`{name}` is pasted into shell text"),
        };
        let finding = Diagnostic::new(&codes::RAW_VALUE, *span, message).help(
            "the shell reads what it holds: remove `substitution: raw`, and write the filter `raw` \
             where that is meant",
        );
        report.add(match plain {
            true => finding.severity(Severity::Note),
            false => finding,
        });
    }
}

/// Whether a text is one word to the shell, and the same in quotes and without.
fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+.,:/@%".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// Takes back what is said of a command whose name is a value, where the file shows that it is one
/// word and no step makes another of it.
pub fn one_word(commands: &[(Path, Span)], inputs: &[Input], steps: &[Step], report: &mut Report) {
    if commands.is_empty() {
        return;
    }
    let mut changed = outside(steps);
    let mut open = false;
    for step in steps {
        visit::calls(step, &mut |call| open |= call.spreads);
        visit::steps(step, &mut |step| match &step.node {
            Node::Each(each) => drop(changed.insert(&each.item.name)),
            Node::While(body) => {
                let set = body.update.iter().map(|(bind, _)| bind.name.as_str());
                changed.extend(set);
            }
            Node::Seq(_) | Node::Par { .. } | Node::Graph(_) | Node::Act(_) => {}
        });
    }
    if open {
        return;
    }
    let known = |path: &Path| {
        let input = inputs.iter().find(|input| input.name == path.root());
        let input = input.filter(|input| !changed.contains(input.name.as_str()));
        let value = input.and_then(|input| field(&input.default, path));
        matches!(value, Some(Literal::Text(text)) if is_word(text))
    };
    let known = commands.iter().filter(|(path, _)| known(path));
    let known: FxHashSet<Span> = known.map(|(_, span)| *span).collect();
    report.findings.retain(|finding| {
        finding.code != &codes::VALUE_AS_COMMAND || !known.contains(&finding.span)
    });
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// What a path leads to in a value of the file.
fn field<'a>(value: &'a Literal, path: &Path) -> Option<&'a Literal> {
    let mut value = value;
    for segment in path.segments.iter().skip(1) {
        value = match (value, &segment.kind) {
            (Literal::Map(fields), SegmentKind::Name(name)) => {
                let found = fields.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value)?
            }
            (Literal::List(items), SegmentKind::Index(at)) => {
                items.get(usize::try_from(*at).ok()?)?
            }
            _ => return None,
        };
    }
    Some(value)
}

/// The variables that hold, at some time, what a step has given.
fn outside(steps: &[Step]) -> FxHashSet<&str> {
    let mut found: FxHashSet<&str> = FxHashSet::default();
    let mut items: Vec<(&str, &Expr)> = Vec::new();
    for step in steps {
        visit::steps(step, &mut |step| {
            found.extend(step.bind.iter().map(|bind| bind.name.as_str()));
            match &step.node {
                Node::Each(each) => {
                    let binds = each.collect.iter().chain(&each.last);
                    found.extend(binds.map(|bind| bind.name.as_str()));
                    items.push((&each.item.name, &each.over));
                }
                Node::While(body) => {
                    let binds = body.collect.iter().chain(&body.last);
                    found.extend(binds.map(|bind| bind.name.as_str()));
                    for (bind, value) in &body.update {
                        items.push((&bind.name, value));
                    }
                }
                Node::Seq(_) | Node::Par { .. } | Node::Graph(_) | Node::Act(_) => {}
            }
        });
    }
    // What is made of such values is such a value; each round finds at least one more.
    loop {
        let before = found.len();
        for (name, from) in &items {
            let mut reads = false;
            visit::walk(from, &mut |expr| {
                reads |= matches!(&expr.kind, ExprKind::Var { name, .. } if found.contains(name.as_str()));
            });
            if reads {
                found.insert(name);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
