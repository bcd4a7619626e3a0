//! Nodes of a template: their fields, and the stages they become.

use super::names::{self, Env};
use super::spot::{fix, instead};
use super::{Lower, MOST_OUTPUT, holes};
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix, nearest};
use crate::doc::{Entry, Kind, Node, Plain, resolve};
use crate::ir::Literal;
use crate::ir::flow::{Scope, Stage, Term, TermKind, Times, Tries, ValueKind, Work};
use crate::source::Span;
use rustc_hash::FxHashMap;

/// The fields of a node.
pub const FIELDS: [&str; 13] = [
    "label", "parallel", "when", "args", "defaults", "timeout", "delay", "output", "retry",
    "failure", "recover", "repeat", "template",
];
/// Fields that later releases of the standard have.
const LATER: [&str; 3] = ["concurrency", "min_successful", "accept_output"];
/// Fields that hosts put around a template, or into a node that stands for another recipe.
const RECIPE_LAYER: [&str; 14] = [
    "name",
    "description",
    "async",
    "mailbox",
    "control",
    "artifacts",
    "imports",
    "values",
    "singleton",
    "actor_context",
    "disabled",
    "state_dir",
    "$schema",
    "version",
];

pub fn is_known(name: &str) -> bool {
    FIELDS.contains(&name) || LATER.contains(&name) || RECIPE_LAYER.contains(&name)
}

/// Whether a file has fields that only a host of recipes reads.
pub fn has_recipe_fields(root: Node<'_>) -> bool {
    [
        "imports",
        "async",
        "mailbox",
        "control",
        "artifacts",
        "singleton",
    ]
    .iter()
    .any(|name| root.get(name).is_some())
}

/// A key that was meant to be `template`.
pub fn misspelt_template<'a>(node: Node<'a>) -> Option<&'a Entry<'a>> {
    let slip = |entry: &&Entry<'_>| {
        let name = entry.name().filter(|name| !is_known(name));
        name.is_some_and(|name| nearest(name, FIELDS) == Some("template"))
    };
    match node.get("template") {
        Some(_) => None,
        None => node.map()?.iter().find(slip),
    }
}

/// Where a node stands.
#[derive(Clone, Debug)]
pub struct Place {
    /// The way to it, in words.
    path: String,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Root,
    /// A step in a list.
    Item,
    /// The value of `template`.
    Template,
    /// The value of `recover`.
    Recover,
}

impl Place {
    pub fn root() -> Place {
        Place {
            path: "template".to_string(),
            how: How::Root,
        }
    }

    fn inner(&self, field: &str) -> String {
        match self.how {
            How::Root => field.to_string(),
            _ => format!("{}.{field}", self.path),
        }
    }

    /// The place of a step in the list that stands here.
    fn item(&self, list: &str, index: usize) -> Place {
        Place {
            path: format!("{list}[{index}]"),
            how: How::Item,
        }
    }
}

/// How far a failure of a command reaches that nothing is said of.
fn unsaid(env: &Env<'_>) -> Scope {
    match env.closed {
        true => Scope::Root,
        false => Scope::Continue,
    }
}

/// A group of `recover` that says nothing itself. Its own failure, such as that its time is over,
/// reaches the root; of those in it each says, or does not say, how far it reaches.
fn closed(group: Stage) -> Stage {
    Stage {
        scope: Scope::Root,
        label: group.label.clone(),
        ..Stage::plain(&group.id.clone(), group.span, Work::Inside(Box::new(group)))
    }
}

pub fn key_span(entry: &Entry<'_>) -> Span {
    entry.key.text().map_or(entry.key.span, |text| text.inner())
}

fn entry<'a>(node: Node<'a>, name: &str) -> Option<&'a Entry<'a>> {
    node.map()?.iter().find(|entry| entry.is(name))
}

impl<'a> Lower<'_, 'a> {
    /// The stage of a node; none if it means nothing, which has been said.
    pub fn node(&mut self, node: Node<'a>, env: &Env<'a>, place: &Place) -> Option<Stage> {
        match node.kind {
            Kind::Broken => None,
            Kind::Map(entries) => self.object(node, entries, env, place),
            Kind::Scalar(_) => {
                let Some(text) = self.text(node) else {
                    self.add(no_command(node.span, "this is no command"));
                    return None;
                };
                let words = self.command(text, env)?;
                let work = Work::Run {
                    words,
                    limit: MOST_OUTPUT,
                };
                let command = Stage::plain(&place.path, text.inner(), work);
                Some(Stage {
                    scope: unsaid(env),
                    ..command
                })
            }
            Kind::List(_) if place.how == How::Item => {
                self.unread = true;
                self.add(nested_list(node));
                None
            }
            Kind::List(items) => {
                let list = match place.how {
                    How::Root => "template".to_string(),
                    _ => place.path.clone(),
                };
                let steps = self.list(node, items, env, place, &list, false)?;
                let list = Stage::plain(&place.path, node.span, Work::Seq(steps));
                Some(if env.closed { closed(list) } else { list })
            }
        }
    }

    /// The steps of a list.
    fn list(
        &mut self,
        node: Node<'a>,
        items: &'a [Node<'a>],
        env: &Env<'a>,
        place: &Place,
        path: &str,
        parallel: bool,
    ) -> Option<Vec<Stage>> {
        if items.is_empty() {
            self.add(no_command(node.span, "the list has no command"));
            return None;
        }
        if !parallel && self.words_as_steps(node, items) {
            return None;
        }
        let mut steps = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            steps.extend(self.node(*item, env, &place.item(path, index)));
        }
        if parallel {
            self.same_labels(items);
        }
        if steps.len() < items.len() {
            return None;
        }
        // Steps that were meant to run side by side hand each other nothing.
        if !parallel && self.errors() == 0 {
            self.unread(items, &steps);
        }
        Some(steps)
    }

    /// A list of words is taken for one of commands.
    fn words_as_steps(&mut self, node: Node<'a>, items: &'a [Node<'a>]) -> bool {
        let texts: Option<Vec<&str>> = items
            .iter()
            .map(|item| self.text(*item).map(|text| text.text()))
            .collect();
        let Some(texts) = texts else { return false };
        let flag = texts.iter().skip(1).position(|text| text.starts_with('-'));
        let Some(flag) = flag.filter(|_| !texts.iter().any(|text| text.is_empty())) else {
            return false;
        };
        self.unread = true;
        let line: Vec<String> = texts.iter().map(|text| super::words::word(text)).collect();
        let span = items.get(flag + 1).map_or(node.span, |item| item.span);
        let message = "a list is a sequence of commands, and this is no command but a word of one";
        self.add(
            Diagnostic::new(&codes::WORDS_AS_STEPS, span, message)
                .help("write the command and its words as one text")
                .fix_if(node.is_flow_list().then(|| {
                    let line = json_string(&line.join(" "));
                    Fix::unsafe_("write one command", node.span, line)
                })),
        );
        true
    }

    fn same_labels(&mut self, items: &'a [Node<'a>]) {
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        for item in items {
            let label = item.get("label").and_then(|label| self.text(label));
            let Some(label) = label.filter(|label| !label.text().is_empty()) else {
                continue;
            };
            match seen.get(label.text()) {
                Some(first) => {
                    let message = format!("two branches are called `{}`", label.text());
                    let first = *first;
                    self.add(
                        Diagnostic::new(&codes::UNCLEAR_LABEL, label.inner(), message)
                            .label(first, "the other one is here")
                            .help("give each branch a label of its own"),
                    );
                }
                None => {
                    seen.insert(label.text(), label.inner());
                }
            }
        }
    }

    fn object(
        &mut self,
        node: Node<'a>,
        entries: &'a [Entry<'a>],
        env: &Env<'a>,
        place: &Place,
    ) -> Option<Stage> {
        self.fields(node, entries, place);
        if node.get("template").is_none() && node.get("name").is_some() {
            self.foreign.get_or_insert(node.span);
            for field in ["values", "timeout", "delay", "retry"] {
                if let Some(texts) = node.get(field) {
                    self.passed(texts, env);
                }
            }
            return None;
        }
        let outer = self.env_of(node, env, true);
        for field in ["defaults", "artifacts", "mailbox", "control"] {
            if let Some(texts) = node.get(field) {
                self.passed(texts, &outer);
            }
        }
        let guarded = outer.guarded || self.field(node, "when").is_some();
        let repeat = self.field(node, "repeat");
        let repeat = repeat.map(|repeat| self.repeat(repeat, &outer, guarded));
        let guard = self.field(node, "when");
        let guard = guard.map(|when| self.when(node, when, &outer, repeat.is_some()));
        let scope = self.failure(node);
        let label = self.label(node, repeat.is_some());
        let parallel = self.parallel(node);
        let inner = Env {
            repeats: outer.repeats + u32::from(repeat.is_some()),
            turns: outer
                .turns
                .saturating_mul(turns(repeat.as_ref()).unwrap_or(1)),
            copies: match &repeat {
                Some(_) => turns(repeat.as_ref()),
                None => outer.copies,
            },
            timed: outer.timed || self.ends(node),
            guarded,
            apart: outer.apart || parallel || self.field(node, "retry").is_some(),
            // Whoever says it of a group says it of all in it.
            closed: outer.closed && scope.is_none(),
            ..outer
        };
        let work = self.work(node, &inner, place, parallel, repeat.is_some());
        let number = |lower: &mut Self, name: &str, kind: ValueKind| {
            let field = lower.field(node, name);
            field.map(|field| lower.number(name, field, &inner, kind))
        };
        let pause = number(self, "delay", ValueKind::Duration);
        let deadline = number(self, "timeout", ValueKind::Duration);
        let most = number(self, "retry", ValueKind::Tries);
        let recover = self.field(node, "recover").map(|recover| {
            let place = Place {
                path: place.inner("recover"),
                how: How::Recover,
            };
            let between = Env {
                apart: true,
                closed: true,
                ..inner.clone()
            };
            self.node(recover, &between, &place).map(Box::new)
        });
        let tries = match (most, recover) {
            (Some(most), recover) => Some(Tries {
                most: most?,
                recover: match recover {
                    Some(recover) => Some(recover?),
                    None => None,
                },
            }),
            (None, _) => None,
        };
        let work = work?;
        let runs = matches!(work, Work::Run { .. });
        let body = Stage {
            id: place.path.clone(),
            span: node.span,
            guard: None,
            pause: pause.transpose_or_none()?,
            deadline: deadline.transpose_or_none()?,
            tries,
            scope: match runs {
                true => scope.unwrap_or_else(|| unsaid(&inner)),
                false => scope.unwrap_or(Scope::Continue),
            },
            label: label.clone(),
            work,
        };
        self.flow_findings(
            node,
            place.how == How::Root,
            &body,
            repeat.is_some(),
            parallel,
        );
        self.habits(node, entries, &body, env, repeat.as_ref(), parallel);
        let body = match inner.closed && !runs {
            true => closed(body),
            false => body,
        };
        let guard = guard.transpose_or_none()?;
        let Some(count) = repeat else {
            return Some(Stage { guard, ..body });
        };
        self.repeats = true;
        self.hidden_turn(&body, inner.repeats);
        let (index, total) = names::turn_names(inner.repeats);
        let around = (1..inner.repeats).map(|number| names::turn_names(number).1);
        Some(Stage {
            id: body.id.clone(),
            span: body.span,
            guard,
            pause: None,
            deadline: None,
            tries: None,
            scope: body.scope,
            label,
            work: Work::Times(Box::new(Times {
                count: count?,
                index,
                total,
                around: around.collect(),
                at_once: parallel,
                alone: Scope::Continue,
                body,
            })),
        })
    }

    fn work(
        &mut self,
        node: Node<'a>,
        env: &Env<'a>,
        place: &Place,
        parallel: bool,
        repeated: bool,
    ) -> Option<Work> {
        let Some(template) = node.get("template") else {
            let legacy = node.get("pipe").is_some() || node.get("command").is_some();
            let elsewhere = legacy || misspelt_template(node).is_some();
            self.unread |= elsewhere;
            if !node.partial && !elsewhere {
                let message = "the node has no `template`, so it has no command";
                let entries = node.map().unwrap_or_default();
                let span = entries.first().map_or(node.span, |entry| key_span(entry));
                self.add(no_command(span, message));
            }
            return None;
        };
        match template.kind {
            Kind::Broken => None,
            Kind::List(items) => {
                let path = place.inner("template");
                let steps = self.list(template, items, env, place, &path, parallel)?;
                if parallel && !repeated && steps.len() == 1 {
                    self.lone_branch(node);
                }
                Some(match parallel {
                    true => Work::Par(steps),
                    false => Work::Seq(steps),
                })
            }
            Kind::Map(_) => {
                let inner = Place {
                    path: place.inner("template"),
                    how: How::Template,
                };
                let stage = self.node(template, env, &inner)?;
                Some(Work::Inside(Box::new(stage)))
            }
            Kind::Scalar(_) => {
                let Some(text) = self.text(template) else {
                    let message = "`template` must be a command, a list of nodes or a node";
                    self.add(no_command(template.span, message));
                    return None;
                };
                if parallel && !repeated {
                    self.idle_parallel(node);
                }
                let words = self.command(text, env)?;
                Some(Work::Run {
                    words,
                    limit: MOST_OUTPUT,
                })
            }
        }
    }

    /// Branches that run beside each other, of which there is one.
    fn lone_branch(&mut self, node: Node<'a>) {
        if let Some(entry) = entry(node, "parallel") {
            let message = "there is one branch, which runs beside nothing";
            self.add(
                Diagnostic::new(&codes::IDLE_FIELD, key_span(entry), message)
                    .severity(codes::Severity::Note)
                    .help("remove `parallel`: it only hides a failure and adds a header"),
            );
        }
    }

    fn idle_parallel(&mut self, node: Node<'a>) {
        if let Some(entry) = entry(node, "parallel") {
            let message = "`parallel` has no effect on a single command";
            self.add(
                Diagnostic::new(&codes::IDLE_FIELD, key_span(entry), message)
                    .help("remove it, or make `template` a list")
                    .fix_if(self.without_field(node, "parallel")),
            );
        }
    }

    fn label(&mut self, node: Node<'a>, repeated: bool) -> Option<String> {
        let field = self.field(node, "label")?;
        let Some(text) = self.text(field) else {
            self.add(wrong_type("label", "text", field));
            return None;
        };
        let hole = holes::pieces(text.text())
            .into_iter()
            .find_map(|piece| match piece {
                holes::Piece::Hole(range) => Some(range.start - 1..range.end + 1),
                holes::Piece::Plain(_) => None,
            });
        if let Some(range) = hole {
            let message = "nothing is filled in in a label";
            self.add(
                Diagnostic::new(&codes::UNCLEAR_LABEL, text.span(range), message)
                    .help("write a label without placeholders"),
            );
        } else if repeated && !text.text().is_empty() && self.parallel_is_true(node) {
            let message = "all branches of the `repeat` are called the same";
            self.add(
                Diagnostic::new(&codes::UNCLEAR_LABEL, text.inner(), message)
                    .help("leave the label out: then branches have numbers"),
            );
        }
        Some(text.text().to_string()).filter(|label| !label.is_empty())
    }

    fn parallel_is_true(&self, node: Node<'a>) -> bool {
        let scalar = node.get("parallel").and_then(|field| field.scalar());
        scalar.is_some_and(|scalar| resolve(scalar, self.schema) == Plain::Bool(true))
    }

    fn parallel(&mut self, node: Node<'a>) -> bool {
        let Some(field) = self.field(node, "parallel") else {
            return false;
        };
        if let Some(scalar) = field.scalar()
            && let Plain::Bool(value) = resolve(scalar, self.schema)
        {
            return value;
        }
        if !field.is_broken() {
            let finding = wrong_type("parallel", "`true` or `false`", field);
            let word = self.text(field).map(|text| text.text());
            let finding = match word {
                Some(word @ ("true" | "false")) => finding.fix_if(fix(
                    Applicability::Safe,
                    format!("write `{word}` without quotes"),
                    [instead(field, word)],
                )),
                _ => finding,
            };
            self.add(finding);
        }
        false
    }

    /// Says which fields are not those of a node.
    fn fields(&mut self, node: Node<'a>, entries: &'a [Entry<'a>], place: &Place) {
        for entry in entries {
            let Some(name) = entry.name() else { continue };
            if FIELDS.contains(&name) {
                continue;
            }
            let span = key_span(entry);
            let finding = if LATER.contains(&name) {
                let message = format!("`{name}` belongs to a later release of the standard");
                Diagnostic::new(&codes::LATER_FIELD, span, message)
                    .help("`rrc` follows 0.13.0, where it has no effect: do not rely on it")
            } else if RECIPE_LAYER.contains(&name) {
                let message = format!("`{name}` belongs to the recipe layer, not to the template");
                Diagnostic::new(&codes::RECIPE_LAYER, span, message)
                    .help("a host that knows recipes reads it; rrc runs the template alone")
            } else if let Some(finding) = self.legacy(node, entry, name) {
                finding
            } else {
                let message = format!("nothing knows the field `{name}`");
                let finding = Diagnostic::new(&codes::UNKNOWN_FIELD, span, message).about(name);
                match nearest(name, FIELDS) {
                    Some(near) if node.get(near).is_none() => finding
                        .did_you_mean(near)
                        .fix(Fix::rename(name, near, span)),
                    Some(near) => finding.help(format!("did you mean `{near}`, which is there?")),
                    None => finding.help(format!("a node has the fields {}", FIELDS.join(", "))),
                }
            };
            self.add(finding);
        }
        if let Some(entry) = entries.iter().find(|entry| entry.is("output"))
            && place.how != How::Root
            && !self.is_null(entry.value)
        {
            let message = "`output` has no effect below the root";
            let finding = Diagnostic::new(&codes::IDLE_FIELD, key_span(entry), message);
            let stdout = self
                .text(entry.value)
                .is_some_and(|text| text.text() == "stdout");
            self.add(match stdout {
                // Which is what the template gives anyway.
                true => finding
                    .severity(codes::Severity::Note)
                    .help("remove it: without it, too, the output is what is printed"),
                false => finding.help("move it to the outermost object"),
            });
        }
    }
}

/// How many turns a `repeat` has, if that is written in the file.
fn turns(repeat: Option<&Option<Term>>) -> Option<i64> {
    match repeat
        .and_then(|count| count.as_ref())
        .map(|count| &count.kind)
    {
        Some(TermKind::Literal(Literal::Int(count))) => Some(*count),
        _ => None,
    }
}

/// An inner option first: nothing there, something that is wrong, or something.
trait TransposeOrNone<T> {
    fn transpose_or_none(self) -> Option<Option<T>>;
}

impl<T> TransposeOrNone<T> for Option<Option<T>> {
    fn transpose_or_none(self) -> Option<Option<T>> {
        match self {
            Some(None) => None,
            Some(Some(value)) => Some(Some(value)),
            None => Some(None),
        }
    }
}

pub fn wrong_type(field: &str, wanted: &str, node: Node<'_>) -> Diagnostic {
    let message = format!("`{field}` must be {wanted}");
    Diagnostic::new(&codes::WRONG_TYPE, node.span, message)
        .help(format!("write {wanted}, or leave `{field}` out"))
}

pub fn no_command(span: Span, message: &str) -> Diagnostic {
    Diagnostic::new(&codes::NO_COMMAND, span, message)
        .help("a node is a command as text, or an object with `template`")
}

fn nested_list(node: Node<'_>) -> Diagnostic {
    Diagnostic::new(
        &codes::NESTED_LIST,
        node.span,
        "a list cannot be a step of a list",
    )
    .help("put it into an object: `{\"template\": […]}`")
    .fix_if(wrapped(node))
}

/// A fix that makes a list the `template` of an object; none if it has no brackets to put it around.
pub fn wrapped(list: Node<'_>) -> Option<Fix> {
    if !list.is_flow_list() {
        return None;
    }
    let edit = |at: u32, text: &str| Edit {
        span: Span::new(list.span.source, at as usize, at as usize),
        text: text.to_string(),
    };
    Some(Fix {
        applicability: Applicability::Safe,
        message: "make it the `template` of an object".to_string(),
        edits: vec![
            edit(list.span.start, "{\"template\": "),
            edit(list.span.end, "}"),
        ],
    })
}

/// A text as JSON writes it.
pub fn json_string(text: &str) -> String {
    serde_json::Value::String(text.to_string()).to_string()
}
