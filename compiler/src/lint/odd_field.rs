//! A field that is read in one place, of a value that nothing is known of, next to another of
//! nearly the same name.
//!
//! What an agent or a program answers is known to nobody before it runs. But a recipe that reads
//! `plan.status` in one place and `plan.sttus` in another means one of them twice, and a prompt
//! that asks for `"status"` says which.

use super::Survey;
use super::flow::{Flow, What};
use super::words;
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Fix, Report, plurals};
use crate::ir::visit;
use crate::ir::{Action, Expr, ExprKind, Input, Node, Part, ScriptPart, Step, Unit};
use crate::source::Span;
use crate::spelling::Slips;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, LazyCell, OnceCell};

/// Where each field of a value is read.
type Fields<'a> = FxHashMap<&'a str, Vec<Span>>;

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    for (unit, flow) in survey.units() {
        // Many recipes read no field of anything, and then nobody asks.
        let makers = LazyCell::new(|| producers(unit, flow));
        let mut values: FxHashMap<String, (&str, Fields<'_>)> = FxHashMap::default();
        for step in &unit.steps {
            visit::steps(step, &mut |step| {
                visit::walk_step(step, &mut |expr| {
                    let ExprKind::Field { of, name, .. } = &expr.kind else {
                        return;
                    };
                    let Some(root) = root(of).filter(|root| !makers.1.contains(root)) else {
                        return;
                    };
                    let mut path = String::new();
                    spell(of, &mut path);
                    let (_, fields) = values.entry(path).or_insert((root, Fields::default()));
                    fields.entry(name).or_default().push(expr.span);
                });
            });
        }
        if values.is_empty() {
            continue;
        }
        let exported = exported(flow);
        let mut sources: FxHashMap<&str, Source<'_>> = FxHashMap::default();
        for (path, (root, fields)) in &values {
            let source = sources
                .entry(root)
                .or_insert_with(|| Source::new(makers.0.get(root).into_iter().flatten()));
            let exported = exported.get(path.as_str());
            let is_named = |name: &str| {
                exported.is_some_and(|fields| fields.contains(name)) || source.names(name)
            };
            let all = LazyCell::new(|| {
                let mut all: Vec<&str> = fields.keys().copied().collect();
                all.sort_unstable();
                Slips::new(all)
            });
            for (name, spans) in fields {
                let [span] = spans.as_slice() else { continue };
                if is_named(name) {
                    continue;
                }
                // Of two that are read once each nobody knows which is wrong: the second is said.
                let before =
                    |places: &Vec<Span>| places.len() > 1 || places.iter().min() < Some(span);
                let sure = |other: &str| is_named(other) || fields.get(other).is_some_and(before);
                let plural = || {
                    let mut plurals = plurals(name).into_iter();
                    plurals.find_map(|other| {
                        let known = fields.get_key_value(other.as_str());
                        known
                            .map(|(other, _)| *other)
                            .filter(|other| is_named(other))
                    })
                };
                let read = all.nearest(name, sure).or_else(plural);
                let place = read.and_then(|near| fields.get(near)?.iter().min());
                if let Some(near) = read.or_else(|| source.key(name)) {
                    report.add(odd(path, name, *span, near, place.copied()));
                }
            }
        }
    }
}

fn odd(path: &str, name: &str, span: Span, near: &str, place: Option<Span>) -> Diagnostic {
    let message = format!("`{path}` may have no `{name}`: this is the only place that reads it");
    let mut fix = Fix::rename(name, near, span);
    fix.applicability = Applicability::Unsafe;
    let finding = Diagnostic::new(&codes::ODD_FIELD, span, message)
        .did_you_mean(near)
        .fix(fix);
    match place {
        Some(place) => finding.label(place, format!("`{near}` is read here")),
        None => finding,
    }
}

/// The fields that scripts read from their environment, by the path that they are fields of.
fn exported<'a>(flow: &Flow<'a>) -> FxHashMap<String, FxHashSet<&'a str>> {
    let mut found: FxHashMap<String, FxHashSet<&str>> = FxHashMap::default();
    for event in &flow.events {
        if let What::Mention { mention, .. } = event.what
            && let Some(path) = mention.name.strip_prefix("RECIPE_VAR_")
            && let Some((of, field)) = path.rsplit_once("__")
        {
            found
                .entry(of.replace("__", "."))
                .or_default()
                .insert(field);
        }
    }
    found
}

/// The steps that set each variable and whose answers are not known; and the variables of which
/// more is known than that.
fn producers<'a>(
    unit: &'a Unit,
    flow: &Flow<'a>,
) -> (FxHashMap<&'a str, Vec<&'a Step>>, FxHashSet<&'a str>) {
    let mut found: FxHashMap<&str, Vec<&Step>> = FxHashMap::default();
    let mut known: FxHashSet<&str> = FxHashSet::default();
    let mut items: FxHashSet<&str> = FxHashSet::default();
    for event in &flow.events {
        let What::Set { bind } = event.what else {
            continue;
        };
        match &event.step.node {
            Node::Act(action) if is_told(action) => {
                found.entry(&bind.name).or_default().push(event.step);
            }
            // The answers of all iterations, or the last of them.
            Node::Each(each) if matches!(&each.body.node, Node::Act(action) if is_told(action)) => {
                found.entry(&bind.name).or_default().push(&each.body);
            }
            _ => {
                known.insert(&bind.name);
            }
        }
    }
    // What is known of a list is known of its items.
    for event in &flow.events {
        if let (What::Item { bind }, Node::Each(each)) = (&event.what, &event.step.node)
            && let Some(makers) = root(&each.over).and_then(|list| found.get(list)).cloned()
        {
            found.entry(&bind.name).or_default().extend(makers);
            known.remove(bind.name.as_str());
            items.insert(&bind.name);
        }
    }
    let filled = |input: &&Input| !words::is_placeholder(&input.default);
    let inputs = unit.inputs.iter().filter(filled);
    known.extend(inputs.map(|input| input.name.as_str()));
    let reserved = unit.reserved.iter().copied();
    known.extend(reserved.filter(|name| !items.contains(name)));
    (found, known)
}

/// Whether somebody is told what to answer.
fn is_told(action: &Action) -> bool {
    matches!(action, Action::Exec(_) | Action::Agent(_))
}

/// The variable that a path of fields begins with.
fn root(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Var { name, .. } => Some(name),
        ExprKind::Field { of, .. } | ExprKind::Index { of, .. } => root(of),
        _ => None,
    }
}

/// Writes a path of fields.
fn spell(expr: &Expr, out: &mut String) {
    match &expr.kind {
        ExprKind::Field { of, .. } => {
            spell(of, out);
            out.push('.');
        }
        // All items of a list have the same fields.
        ExprKind::Index { of, .. } => {
            spell(of, out);
            out.push_str("[…]");
        }
        _ => {}
    }
    if let ExprKind::Var { name, .. } | ExprKind::Field { name, .. } = &expr.kind {
        out.push_str(name);
    }
}

/// What the steps that make a value are told, or run.
struct Source<'a> {
    texts: Vec<&'a str>,
    /// The words of the texts, once it has been asked for more than a few.
    words: OnceCell<FxHashSet<&'a str>>,
    asked: Cell<usize>,
    /// Words that look like keys of JSON, for slips and for others.
    keys: OnceCell<(Slips<'a>, FxHashSet<&'a str>)>,
}

impl<'a> Source<'a> {
    fn new(steps: impl Iterator<Item = &'a &'a Step>) -> Source<'a> {
        let mut texts = Vec::new();
        for step in steps {
            let Node::Act(action) = &step.node else {
                continue;
            };
            match &**action {
                Action::Agent(agent) => {
                    texts.extend(agent.prompt.parts.iter().filter_map(|part| match part {
                        Part::Literal(text) => Some(text.as_str()),
                        Part::Value { .. } => None,
                    }))
                }
                Action::Exec(exec) => {
                    texts.extend(exec.script.parts.iter().filter_map(|part| match part {
                        ScriptPart::Source(text) => Some(text.as_str()),
                        _ => None,
                    }));
                }
                _ => {}
            }
        }
        Source {
            texts,
            words: OnceCell::new(),
            asked: Cell::new(0),
            keys: OnceCell::new(),
        }
    }

    /// Whether a name stands in one of the texts, as a word of its own.
    fn names(&self, name: &str) -> bool {
        const FEW: usize = 32;
        self.asked.set(self.asked.get() + 1);
        if self.asked.get() > FEW && !name.contains(is_between) {
            let words = self.words.get_or_init(|| {
                let words = self.texts.iter().flat_map(|text| text.split(is_between));
                words.collect()
            });
            return words.contains(name);
        }
        self.texts.iter().any(|text| {
            text.match_indices(name).any(|(at, _)| {
                let after = &text[at + name.len()..];
                let part = |c: char| !is_between(c);
                !text[..at].ends_with(part) && !after.starts_with(part)
            })
        })
    }

    /// The key of which a name is a slip, or the plural.
    fn key(&self, name: &str) -> Option<&'a str> {
        let keys = self.keys.get_or_init(|| {
            let all: FxHashSet<&str> = self.texts.iter().flat_map(|text| keys(text)).collect();
            let mut sorted: Vec<&str> = all.iter().copied().collect();
            sorted.sort_unstable();
            (Slips::new(sorted), all)
        });
        let plural = || {
            let mut plurals = plurals(name).into_iter();
            plurals.find_map(|other| keys.1.get(other.as_str()).copied())
        };
        keys.0.nearest(name, |_| true).or_else(plural)
    }
}

/// Words that look like keys of JSON: in quotes, before a colon, or one of a list that a program is
/// asked for.
fn keys(text: &str) -> impl Iterator<Item = &str> {
    let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let quoted = text.split(['"', '\'']);
    let ends = text.match_indices([':', ',']).map(|(end, _)| end);
    let named = ends.chain([text.len()]).map(move |end| {
        let before = &text.as_bytes()[..end];
        let length = before.iter().rev().take_while(|b| part(**b)).count();
        &text[end - length..end]
    });
    quoted
        .chain(named)
        .filter(move |word| (3..64).contains(&word.len()) && word.bytes().all(part))
}

/// Whether a letter stands between words.
fn is_between(letter: char) -> bool {
    !letter.is_alphanumeric() && letter != '_'
}
