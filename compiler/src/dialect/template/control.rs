//! The fields that decide whether, when and how often a node runs, and what its failure does.

use super::holes::{self, Hole, Piece};
use super::known::can_be;
use super::names::{Env, repeat_name};
use super::node::{wrapped, wrong_type};
use super::spot::{Spot, fix, instead, rename};
use super::{Lower, is_null, node::json_string};
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Fix, nearest};
use crate::doc::{Entry, Node, Plain, Text, resolve};
use crate::ir::flow::{
    Declared, MOST_TURNS, Scope, Stage, Term, TermKind, ValueKind, Work, too_many,
};
use crate::ir::{Literal, Truth};
use crate::source::Span;
use rrc_vm::value::Value;

const SCOPES: [(&str, Scope); 3] = [
    ("continue", Scope::Continue),
    ("branch", Scope::Branch),
    ("root", Scope::Root),
];

fn literal(span: Span, value: Literal) -> Term {
    Term::new(span, TermKind::Literal(value))
}

impl<'a> Lower<'_, 'a> {
    pub fn failure(&mut self, node: Node<'a>) -> Option<Scope> {
        let field = self.field(node, "failure")?;
        let Some(text) = self.text(field) else {
            if !field.is_broken() {
                self.add(wrong_type(
                    "failure",
                    "`continue`, `branch` or `root`",
                    field,
                ));
            }
            return None;
        };
        let known = SCOPES.iter().find(|(word, _)| *word == text.text());
        if known.is_none() {
            let message = format!("`{}` is not a way to fail", text.text());
            let finding = Diagnostic::new(&codes::BAD_VALUE, text.inner(), message);
            let finding = match nearest(text.text(), SCOPES.map(|(word, _)| word)) {
                Some(near) => {
                    let edit = text.edit(0..text.text().len(), near);
                    finding
                        .did_you_mean(near)
                        .fix_if(rename(text.text(), near, edit))
                }
                None => finding.help("write `continue`, `branch` or `root`"),
            };
            self.add(finding);
        }
        known.map(|(_, scope)| *scope)
    }

    /// The condition of a node: true or false, one placeholder, or a name with or without `!`.
    pub fn when(
        &mut self,
        node: Node<'a>,
        field: Node<'a>,
        env: &Env<'a>,
        repeated: bool,
    ) -> Option<Term> {
        if let Some(scalar) = field.scalar()
            && let Plain::Bool(value) = resolve(scalar, self.schema)
        {
            let message = match value {
                true => "the node always runs",
                false => "the node never runs",
            };
            let finding = Diagnostic::new(&codes::CONSTANT_CONDITION, field.span, message)
                .help("remove `when`, or name a value that decides");
            let idle = value.then(|| self.without_field(node, "when")).flatten();
            self.add(finding.fix_if(idle));
            return Some(literal(field.span, Literal::Bool(value)));
        }
        let Some(text) = self.text(field) else {
            if !field.is_broken() {
                self.add(wrong_type("when", "`true`, `false` or a condition", field));
            }
            return None;
        };
        let word = text.text().trim();
        let start = text.text().len() - text.text().trim_start().len();
        let span = text.span(start..start + word.len());
        if word.is_empty() {
            return Some(literal(field.span, Literal::Bool(false)));
        }
        if let [Piece::Hole(range)] = holes::pieces(word).as_slice() {
            let inner = word.get(range.clone()).unwrap_or_default();
            let from = start + range.start;
            let at = Spot::of_text(text, from);
            return self.when_hole(inner, env, &at, repeated);
        }
        let (negated, name) = match word.strip_prefix('!') {
            Some(rest) => (true, rest.trim_start()),
            None => (false, word),
        };
        let name_start = start + word.len() - name.len();
        let name_span = text.span(name_start..name_start + name.len());
        if !holes::is_name(name) {
            self.add(self.no_condition(word, negated, name, field, span));
            return None;
        }
        let declared = env.arg(name).is_some() || env.has_default(name);
        let literal_word = matches!(
            name.to_ascii_lowercase().as_str(),
            "true" | "false" | "yes" | "no" | "on" | "off"
        );
        if literal_word && !declared {
            let truth = matches!(name.to_ascii_lowercase().as_str(), "true" | "yes" | "on");
            let truth = truth != negated;
            let message = format!("`when` reads `{name}` as the name of a value");
            self.add(
                Diagnostic::new(&codes::WORD_AS_CONDITION, span, message)
                    .help(format!("write `{truth}` without quotes"))
                    .fix_if(fix(
                        Applicability::Safe,
                        format!("write `{truth}`"),
                        [instead(field, &truth.to_string())],
                    )),
            );
            return None;
        }
        self.repeat_in_when(name, name_span, env, repeated);
        self.use_name(name, name_span);
        if let Some(default) = env.preset(name) {
            self.use_default(default.name_span);
        }
        let value = env.plain_value(name, name_span);
        Some(match negated {
            // The whole of it, as it is shown to people.
            true => Term::new(
                span,
                TermKind::Pick {
                    test: Box::new(value),
                    truth: Truth::Flags,
                    yes: Box::new(literal(name_span, Literal::Bool(false))),
                    no: Box::new(literal(name_span, Literal::Bool(true))),
                },
            ),
            false => value,
        })
    }

    fn when_hole(
        &mut self,
        inner: &'a str,
        env: &Env<'a>,
        at: &Spot<'_, 'a>,
        repeated: bool,
    ) -> Option<Term> {
        let hole = self.placeholder(inner, at, env)?;
        self.inline_default(&hole, inner, env, at);
        for (name, range) in hole.names() {
            let mut names = Vec::new();
            match env.apart(name, name) {
                // A name with hyphens may be a difference of others.
                Some(apart) => apart.names(&mut names),
                None => names.push((name, 0..name.len())),
            }
            for (name, part) in names {
                let span = at.span(range.start + part.start..range.start + part.end);
                self.repeat_in_when(name, span, env, repeated);
            }
        }
        let term = env.hole(&hole, &|range| at.span(range), self, &mut Vec::new());
        let span = at.span(0..inner.len());
        let nothing = |span| literal(span, Literal::Null);
        // A name without a value is not true; anything else that fails is wrong.
        let term = match hole {
            Hole::Name { .. } => term.or(nothing(span)),
            Hole::OrText { .. } | Hole::Choice { .. } => {
                self.look_at(&term, env);
                term
            }
            Hole::Item { .. } | Hole::Sum { .. } => {
                self.look_at(&term, env);
                let names = hole.names().into_iter();
                let uncertain = names.filter(|(name, _)| !env.is_certain(name));
                uncertain.fold(term, |term, (name, range)| {
                    let place = at.span(range);
                    let pick = |test, yes, no| {
                        let [test, yes, no] = [test, yes, no].map(Box::new);
                        let truth = Truth::Flags;
                        Term::new(
                            place,
                            TermKind::Pick {
                                test,
                                truth,
                                yes,
                                no,
                            },
                        )
                    };
                    let truth = |value| literal(place, Literal::Bool(value));
                    let given = Term::new(place, TermKind::Var(name.to_string()));
                    let is_given = pick(given, truth(true), truth(true)).or(truth(false));
                    pick(is_given, term, nothing(place))
                })
            }
        };
        Some(Term { span, ..term })
    }

    /// A name that `repeat` sets, in a condition that no `repeat` stands around.
    fn repeat_in_when(&mut self, name: &str, span: Span, env: &Env<'a>, repeated: bool) {
        if !repeated || env.repeats > 0 || repeat_name(name).is_none() {
            return self.not_outside(env, name, span);
        }
        let message = format!("`when` is asked before `repeat` sets `{name}`");
        self.report_once(
            Diagnostic::new(&codes::CONDITION_BEFORE_REPEAT, span, message)
                .help("move `when` to a node inside of the repeated one"),
        );
    }

    fn no_condition(
        &self,
        word: &str,
        negated: bool,
        name: &str,
        field: Node<'a>,
        span: Span,
    ) -> Diagnostic {
        if let [Piece::Hole(range)] = holes::pieces(name).as_slice()
            && negated
            && let Some(inner) = name
                .get(range.clone())
                .filter(|inner| holes::is_name(inner))
        {
            let message = "`!` stands before a name, not before a placeholder";
            return Diagnostic::new(&codes::CONDITION_OPERATOR, span, message)
                .help(format!("write `!{inner}`"))
                .fix_if(fix(
                    Applicability::Safe,
                    format!("write `!{inner}`"),
                    [instead(field, &json_string(&format!("!{inner}")))],
                ));
        }
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            let message = format!("`when` reads `{word}` as the name of a value");
            let truth = name.trim_start_matches('0').is_empty() == negated;
            return Diagnostic::new(&codes::WORD_AS_CONDITION, span, message)
                .help(format!("write `{truth}` without quotes"))
                .fix_if(fix(
                    Applicability::Safe,
                    format!("write `{truth}`"),
                    [instead(field, &truth.to_string())],
                ));
        }
        Diagnostic::new(
            &codes::CONDITION_OPERATOR,
            span,
            "`when` is a name, `!name` or one placeholder; it has no operators",
        )
        .help("put one node into another, each with a `when` of its own")
    }

    /// `repeat`: how often.
    pub fn repeat(&mut self, field: Node<'a>, env: &Env<'a>, guarded: bool) -> Option<Term> {
        let env = &Env {
            guarded,
            ..env.clone()
        };
        let count = self.repeat_count(field, env)?;
        if let TermKind::Literal(Literal::Int(turns)) = &count.kind
            && turns.saturating_mul(env.turns) > i64::from(MOST_TURNS)
        {
            let message = too_many(env.turns == 1);
            self.add(
                Diagnostic::new(&codes::BAD_VALUE, field.span, message)
                    .help("repeat it less often, or run the template several times"),
            );
            return None;
        }
        Some(count)
    }

    fn repeat_count(&mut self, field: Node<'a>, env: &Env<'a>) -> Option<Term> {
        let Some(text) = self.text(field) else {
            return self.number("repeat", field, env, ValueKind::Count);
        };
        let word = text.text().trim();
        let start = text.text().len() - text.text().trim_start().len();
        let (inner, offset) = match word.strip_prefix('{').and_then(|w| w.strip_suffix('}')) {
            Some(inner) => (inner, start + 1),
            None => (word, start),
        };
        let Some(name) = inner
            .strip_suffix(".length")
            .filter(|name| holes::is_name(name))
        else {
            return self.number("repeat", field, env, ValueKind::Count);
        };
        let span = text.span(offset..offset + name.len());
        self.use_name(name, span);
        self.require(env, name, span);
        let kind = env.arg(name).and_then(|arg| arg.kind.clone());
        if let Some(kind) = kind
            && kind != ValueKind::List
        {
            let message = format!("`{name}` is declared as something that has no length");
            self.add(
                Diagnostic::new(&codes::BAD_VALUE, span, message)
                    .help(format!("declare it as `{name}:array`")),
            );
            return None;
        }
        let value = env.value(name, span, self, &mut Vec::new());
        let count = Term::new(span, TermKind::Length(Box::new(value)));
        self.look_at_number("repeat", ValueKind::Count, &count, env);
        Some(count)
    }

    /// A field that is a number of some kind.
    pub fn number(
        &mut self,
        name: &str,
        field: Node<'a>,
        env: &Env<'a>,
        kind: ValueKind,
    ) -> Option<Term> {
        let wanted = match kind {
            ValueKind::Duration => "a number of milliseconds from 0",
            _ => "a whole number from 1",
        };
        let value = self.literal(field);
        if !matches!(
            value,
            Literal::Int(_) | Literal::Float(_) | Literal::Text(_)
        ) {
            if !field.is_broken() {
                self.add(wrong_type(name, wanted, field));
            }
            return None;
        }
        let text = self.text(field);
        let has_hole = |text: &Text<'_>| {
            let pieces = holes::pieces(text.text());
            pieces.iter().any(|piece| matches!(piece, Piece::Hole(_)))
        };
        if let Some(text) = text.filter(has_hole) {
            self.number_of_type(name, wanted, text, env, &kind);
            let term = self.filled(text, env);
            self.look_at_number(name, kind, &term, env);
            return Some(term);
        }
        let declared = Declared {
            name: name.to_string(),
            kind,
            span: field.span,
        };
        match declared.fit(&value) {
            Ok(Value::Int(number)) => Some(literal(field.span, Literal::Int(number))),
            _ => {
                self.add(match text {
                    Some(text) => with_unit(name, wanted, text.text().trim(), field, text),
                    None if is_large(&value) => too_large(name, field.span),
                    None => bad_number(name, wanted, field.span),
                });
                None
            }
        }
    }

    /// A number that is to be a value whose type has none.
    fn number_of_type(
        &mut self,
        field: &str,
        wanted: &str,
        text: Text<'a>,
        env: &Env<'a>,
        kind: &ValueKind,
    ) {
        let pieces = holes::pieces(text.text());
        let [Piece::Hole(range)] = pieces.as_slice() else {
            return;
        };
        let inner = text.text().get(range.clone()).unwrap_or_default();
        let span = text.span(range.clone());
        let Ok(Hole::Name { name, .. }) = holes::hole(inner) else {
            return;
        };
        let declared = env.arg(name).and_then(|arg| arg.kind.as_ref());
        if declared.is_some_and(|declared| !can_be(declared, kind, field, span)) {
            let message = format!("`{name}` is declared as something that `{field}` cannot be");
            self.report_once(
                Diagnostic::new(&codes::BAD_VALUE, span, message)
                    .help(format!("declare it as `{name}:int`: `{field}` is {wanted}")),
            );
        }
    }

    /// What the fields of a node mean together.
    pub fn flow_findings(
        &mut self,
        node: Node<'a>,
        root: bool,
        stage: &Stage,
        repeated: bool,
        parallel: bool,
    ) {
        let schema = self.schema;
        let key = |name: &str| {
            let mut entries = node.map()?.iter();
            let there = |entry: &&Entry<'_>| entry.is(name) && !is_null(entry.value, schema);
            let entry = entries.find(there)?;
            Some(entry.key.text().map_or(entry.key.span, |text| text.inner()))
        };
        let once = |most: &Term| match &most.kind {
            TermKind::Literal(Literal::Int(most)) => *most <= 1,
            TermKind::Literal(Literal::Text(most)) => most == "1",
            _ => false,
        };
        let tries = stage.tries.as_ref().filter(|tries| !once(&tries.most));
        if let Some(span) = key("recover")
            && tries.is_none()
        {
            self.add(
                Diagnostic::new(
                    &codes::RECOVER_WITHOUT_RETRY,
                    span,
                    "`recover` runs between tries, and there is only one",
                )
                .help("add `\"retry\": 2`, or remove `recover`")
                .fix_if(self.with_field(node, "retry", "2", "recover")),
            );
        }
        let single = matches!(&stage.work, Work::Seq(all) if all.len() == 1) && root;
        let group = matches!(stage.work, Work::Seq(_) | Work::Par(_));
        if let Some(span) = key("retry")
            && tries.is_some()
            && group
            && !single
            && stage.scope == Scope::Continue
            && !can_fail(stage)
        {
            self.add(
                Diagnostic::new(
                    &codes::RETRY_NEVER_FAILS,
                    span,
                    "this group goes on after every failure, so it is never tried again",
                )
                .help("add `\"failure\": \"branch\"`")
                .fix_if(self.with_field(node, "failure", "\"branch\"", "retry")),
            );
        }
        if let Some(span) = key("timeout")
            && !stage.is_command()
        {
            self.add(
                Diagnostic::new(
                    &codes::GROUP_TIMEOUT,
                    span,
                    "other runners ignore a `timeout` on anything but a single command",
                )
                .help("rrc ends the whole group when it passes; put it on the commands to have it everywhere"),
            );
        }
        if let Some(span) = key("template")
            && repeated
            && parallel
            && matches!(&stage.work, Work::Par(all) if all.len() > 1)
        {
            self.add(
                Diagnostic::new(
                    &codes::PARALLEL_STEPS,
                    span,
                    "the steps of each copy run at once as well",
                )
                .help("to run them one after the other, write `\"template\": {\"template\": […]}`")
                .fix_if(self.raw.and(node.get("template")).and_then(in_object)),
            );
        }
        self.output_fail_open(node, root, stage);
        self.idle_continue(node, stage.scope);
    }

    fn output_fail_open(&mut self, node: Node<'a>, root: bool, stage: &Stage) {
        let output = node.get("output").and_then(|output| self.text(output));
        let Some(output) = output.filter(|_| root && stage.scope == Scope::Continue) else {
            return;
        };
        let Work::Seq(all) = &stage.work else { return };
        if output.text() == "stdout" || output.text().is_empty() || all.len() < 2 {
            return;
        }
        if all.iter().all(|step| step.scope != Scope::Continue) {
            return;
        }
        self.add(
            Diagnostic::new(
                &codes::OUTPUT_FAIL_OPEN,
                output.inner(),
                "the steps that make this may fail, and the run goes on all the same",
            )
            .help("add `\"failure\": \"root\"` to the template")
            .fix_if(self.with_field(node, "failure", "\"root\"", "output")),
        );
    }
}

/// A fix that makes a list the steps of a node of their own.
fn in_object(list: Node<'_>) -> Option<Fix> {
    Some(Fix {
        applicability: Applicability::Unsafe,
        ..wrapped(list)?
    })
}

/// Whether a failure inside of a group can make the group fail.
fn can_fail(stage: &Stage) -> bool {
    match &stage.work {
        Work::Seq(all) => all
            .iter()
            .any(|step| step.scope != Scope::Continue || can_fail(step)),
        Work::Par(all) => {
            stage.scope == Scope::Branch || all.iter().any(|step| step.scope == Scope::Root)
        }
        Work::Inside(inner) => inner.scope != Scope::Continue || can_fail(inner),
        Work::Times(times) => times.body.scope != Scope::Continue || can_fail(&times.body),
        Work::Run { .. } => false,
    }
}

fn bad_number(name: &str, wanted: &str, span: Span) -> Diagnostic {
    let message = format!("`{name}` must be {wanted}");
    Diagnostic::new(&codes::BAD_VALUE, span, message).help(format!("write {wanted}"))
}

/// Whether a number is too large to count with.
fn is_large(value: &Literal) -> bool {
    matches!(value, Literal::Float(number) if *number >= 9e15)
}

fn too_large(name: &str, span: Span) -> Diagnostic {
    let message = format!("`{name}` is larger than any number that is counted with");
    Diagnostic::new(&codes::BAD_VALUE, span, message).help("write a smaller number")
}

/// A number with a unit behind it: people write seconds.
fn with_unit(name: &str, wanted: &str, word: &str, field: Node<'_>, text: Text<'_>) -> Diagnostic {
    let finding = bad_number(name, wanted, text.inner());
    let split = word.find(|c: char| !c.is_ascii_digit());
    let (digits, unit) = split.map_or((word, ""), |at| word.split_at(at));
    let scale = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" | "min" => 60_000,
        _ => return finding,
    };
    match digits
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(scale))
    {
        Some(ms) if matches!(name, "timeout" | "delay") => {
            finding.help(format!("write {ms}")).fix_if(fix(
                Applicability::Safe,
                format!("write {ms}"),
                [instead(field, &ms.to_string())],
            ))
        }
        _ => finding,
    }
}
