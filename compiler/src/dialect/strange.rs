//! What is said about a field that a map does not have, or that another kind of step has, where the
//! map itself decides what to do.

use super::fields::KINDS;
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::doc::fields::{Fields, article, name_span};
use crate::doc::{Entry, Plain, Schema, Text, resolve};
use crate::expr::{self, Filter, Piece};
use crate::source::Span;

/// A field that another kind of step has is not what was meant, however near its name is.
pub fn of_another_kind(fields: &Fields<'_>, kind: Option<&str>, said: usize, report: &mut Report) {
    let own = |kind: &str| {
        let found = KINDS.iter().find(|(name, _)| *name == kind);
        found.map_or(&[][..], |(_, own)| *own)
    };
    // A step whose kind is only a guess may become what the field makes of it.
    let sure =
        fields.has("type") || kind.is_some_and(|kind| own(kind).iter().any(|f| fields.has(f)));
    if !sure {
        return;
    }
    for finding in unknown(&mut report.findings[said..]) {
        let Some(name) = finding.fix.as_ref().and_then(|fix| fix.edits.first()) else {
            continue;
        };
        let of = KINDS
            .iter()
            .find(|(_, own)| own.contains(&name.text.as_str()));
        if let Some((other, _)) = of
            && kind != Some(*other)
        {
            finding.help = Some(format!(
                "`{}` would be the name, but only {other} steps have it: remove it, or put it \
                 under `x-…` if it is a note",
                name.text
            ));
            finding.fix = None;
        }
    }
}

/// Fields of another kind of step. Many of them are another step that has run into this one.
pub fn foreign(
    fields: &Fields<'_>,
    kind: &str,
    other: &str,
    foreign: &[&str],
    report: &mut Report,
) {
    const MANY: usize = 3;
    if foreign.is_empty() {
        return;
    }
    let place = |field: &str| fields.key_span(field).unwrap_or_else(|| fields.head());
    let this = article(kind);
    if foreign.len() < MANY {
        for field in foreign {
            let message = format!("`{field}` belongs to {other} steps; this is {this} step");
            let help = format!("remove `{field}`, or make the step `type: {other}`");
            report.add(Diagnostic::new(&codes::FOREIGN_FIELD, place(field), message).help(help));
        }
        return;
    }
    let names: Vec<String> = foreign.iter().map(|field| format!("`{field}`")).collect();
    let message = format!(
        "{} belong to {other} steps; this is {this} step",
        names.join(", ")
    );
    let mut places: Vec<Span> = foreign.iter().map(|field| place(field)).collect();
    places.sort_unstable();
    let mut finding = Diagnostic::new(&codes::FOREIGN_FIELD, places[0], message).help(format!(
        "put `- id: …` before them if they are a step of their own, or make this step \
         `type: {other}`"
    ));
    for span in &places[1..] {
        finding = finding.label(*span, "and this");
    }
    report.add(finding);
}

/// What a step does that has only the fields of another kind: that it lacks its own is no second
/// mistake.
pub fn likely_kind(fields: &Fields<'_>, kind: &'static str) -> &'static str {
    let has = |own: &&[&str]| own.iter().any(|field| fields.has(field));
    let own = KINDS.iter().find(|(name, _)| *name == kind);
    if own.is_some_and(|(_, own)| has(own)) {
        return kind;
    }
    let other = KINDS.iter().find(|(_, own)| has(own));
    other.map_or(kind, |(other, _)| other)
}

/// A step that holds others does not do anything itself.
pub fn beside_steps(fields: &Fields<'_>, report: &mut Report) {
    const WORK: [&str; 6] = ["command", "prompt", "agent", "recipe", "template", "tool"];
    const AROUND: [&str; 5] = ["shell", "stdin", "env", "cwd", "parse_json"];
    let place = |field: &str| fields.key_span(field).unwrap_or_else(|| fields.head());
    if let Some(field) = WORK.into_iter().find(|field| fields.has(field)) {
        let message = format!("`{field}` would never run: `steps` says what the step does");
        report.add(
            Diagnostic::new(&codes::EXCLUSIVE_FIELDS, place(field), message)
                .label(place("steps"), "the other is here")
                .help(format!(
                    "make a step of `steps` of it, or remove one of the two: `{field}` or `steps`"
                )),
        );
        return;
    }
    for field in AROUND.into_iter().filter(|field| fields.has(field)) {
        let message = format!("`{field}` has no effect on a step that holds others");
        report.add(
            Diagnostic::new(&codes::IDLE_FIELD, place(field), message)
                .help(format!("write `{field}` on the steps that need it")),
        );
    }
}

/// A hole becomes a variable of the shell, which programs in other languages do not read.
pub fn other_language(command: Text<'_>, program: &str, report: &mut Report) {
    const SHELLS: [&str; 5] = ["dash", "zsh", "ksh", "ash", "busybox"];
    if SHELLS.contains(&program) || program.contains("{{") {
        return;
    }
    for piece in expr::scan(command.text()).pieces {
        let Piece::Hole(hole) = piece else { continue };
        if matches!(hole.filter, Some((Filter::Raw, _))) {
            continue;
        }
        let name = hole.path.root();
        let message = format!("`{program}` does not read the variables that holes become");
        report.add(
            Diagnostic::new(&codes::NO_SAFE_FORM, command.span(hole.range), message).help(format!(
                "pass it with `env: {{NAME: \"{{{{{name}}}}}\"}}`, and read the environment in \
                 the program"
            )),
        );
        return;
    }
}

/// `inputs: [{name, description}, …]` beside a `context` tells people what the recipe takes.
pub fn documents_inputs(fields: &Fields<'_>, said: usize, report: &mut Report) {
    let Some(inputs) = entry(fields, "inputs") else {
        return;
    };
    if fields.has("context") && inputs.value.list().is_some() {
        let place = name_span(inputs.key);
        let mut number = 0;
        report.findings.retain(|finding| {
            number += 1;
            number <= said || finding.code != &codes::UNKNOWN_FIELD || finding.span != place
        });
    }
}

/// `approval_required: false` asks for what a stage does without it.
pub fn no_gate(fields: &Fields<'_>, schema: Schema, said: usize, report: &mut Report) {
    let Some(gate) = entry(fields, "approval_required") else {
        return;
    };
    let wanted = gate.value.scalar().map(|scalar| resolve(scalar, schema));
    if wanted != Some(Plain::Bool(false)) {
        return;
    }
    let place = name_span(gate.key);
    for finding in unknown(&mut report.findings[said..]).filter(|finding| finding.span == place) {
        finding.help = Some("remove it: a stage without `approval` has no gate".to_string());
    }
}

fn entry<'a>(fields: &Fields<'a>, name: &str) -> Option<Entry<'a>> {
    let entries = fields.whole().map()?;
    entries.iter().copied().find(|entry| entry.is(name))
}

fn unknown(findings: &mut [Diagnostic]) -> impl Iterator<Item = &mut Diagnostic> {
    findings
        .iter_mut()
        .filter(|finding| finding.code == &codes::UNKNOWN_FIELD)
}
