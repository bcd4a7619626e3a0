//! What is said about a field that a map does not have, or that another kind of step has, where the
//! map itself decides what to do.

use super::fields::KINDS;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::doc::fields::{Fields, article, name_span};
use crate::doc::{Entry, Kind, Node, Plain, Schema, Text, resolve};
use crate::expr::{self, Filter, Piece};
use crate::ir::Form;
use crate::source::Span;
use rrc_vm::shell::is_posix;
use std::ops::Range;

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

/// A text that says nothing, where something must be said.
pub fn blank(fields: &Fields<'_>, field: &str, help: &str, report: &mut Report) {
    let text = fields.text(field, &mut Report::default());
    if let Some(text) = text.filter(|text| text.text().trim().is_empty()) {
        let span = fields.key_span(field).unwrap_or(text.whole());
        let message = format!("`{field}` is blank");
        report.add(Diagnostic::new(&codes::BAD_VALUE, span, message).help(help));
    }
}

/// A filter that makes shell text of a value, in a text that no shell reads.
pub fn idle_filter(text: Text<'_>, at: Range<usize>, report: &mut Report) -> Form {
    let name = text.text().get(at.clone()).unwrap_or_default();
    let message = format!("the filter `{name}` has no effect here, as no shell reads this text");
    report.add(
        Diagnostic::new(&codes::IDLE_FIELD, text.span(at), message)
            .help("leave it out: the value stands here as it is"),
    );
    Form::Plain
}

/// What cannot stand in the name of a variable.
fn is_odd(c: char) -> bool {
    !(c.is_alphanumeric() || c == '_' || c == '-')
}

/// The name of a variable that is to be set. One in braces is still known, as that it is set is no
/// second mistake.
pub fn variable(name: &str, span: Span, report: &mut Report) -> Option<String> {
    if !name.is_empty() && !name.contains(is_odd) {
        return Some(name.to_string());
    }
    let message = match name.trim() {
        "" => "the name of this variable is blank".to_string(),
        _ => format!("`{name}` cannot be the name of a variable"),
    };
    let finding = Diagnostic::new(&codes::BAD_VALUE, span, message);
    let better = name.trim_start_matches("{{").trim_end_matches("}}").trim();
    let braced = better != name && !better.is_empty() && !better.contains(is_odd);
    report.add(match braced {
        true => finding.help("write the name without braces").fix(Fix::safe(
            format!("write `{better}`"),
            span,
            better,
        )),
        false => finding.help("use letters, digits, `_` and `-`"),
    });
    braced.then(|| better.to_string())
}

/// A variable that is given under a name that no hole can have.
pub fn unreadable(name: &str, span: Span, report: &mut Report) {
    if !name.is_empty() && !name.contains(is_odd) {
        return;
    }
    let message = format!("no hole reads a variable that is called `{name}`");
    let finding = Diagnostic::new(&codes::BAD_VALUE, span, message).severity(Severity::Warning);
    report.add(match name.split_once('.') {
        Some((of, field)) if !of.contains(is_odd) && !field.contains(is_odd) => {
            finding.help(format!("write it as a map: `{of}: {{{field}: …}}`"))
        }
        _ => finding.help("use letters, digits, `_` and `-`"),
    });
}

/// Why nothing that has this name can be secret, and what to write instead.
pub fn no_secret(name: &str) -> Option<(String, String)> {
    if !name.is_empty() && !name.contains(is_odd) {
        return None;
    }
    let bare = name.trim_start_matches("{{").trim_end_matches("}}").trim();
    let whole = bare.split(['.', '[']).next().unwrap_or_default();
    let help = match whole.is_empty() || whole.contains(is_odd) {
        true => "use letters, digits, `_` and `-`".to_string(),
        false if whole == bare => format!("write the name without braces: `{whole}`"),
        false => format!("name `{whole}`: all that is in it is hidden"),
    };
    Some((format!("`{name}` names no variable"), help))
}

/// A name that would break the lines of whoever prints it.
pub fn unprintable(fields: &Fields<'_>, field: &str, report: &mut Report) {
    let text = fields.text(field, &mut Report::default());
    if let Some(text) = text.filter(|text| text.text().contains(char::is_control)) {
        let message = format!("`{field}` holds a character that cannot be printed");
        report.add(
            Diagnostic::new(&codes::BAD_VALUE, text.inner(), message)
                .help("write it on one line, without tabs"),
        );
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

/// An agent is not told what only describes its step.
pub fn only_described(fields: &Fields<'_>, report: &mut Report) {
    let described = entry(fields, "description").is_some();
    if let Some(finding) = report.findings.last_mut()
        && described
        && finding.code == &codes::MISSING_FIELD
    {
        finding.help =
            Some("agents do not see `description`: write what to ask under `prompt`".to_string());
    }
}

/// Fields of a step whose text is taken as it is: no hole is filled in there.
pub fn unfilled(fields: &Fields<'_>, report: &mut Report) {
    const AS_WRITTEN: [&str; 11] = [
        "id",
        "when_tags",
        "parallel_group",
        "agent",
        "mode",
        "provider",
        "model",
        "model_role",
        "provider_preferences",
        "agent_config",
        "shell",
    ];
    for field in AS_WRITTEN {
        if let Some(node) = fields.node(field) {
            let help = || format!("write what `{field}` is: it is not made from variables");
            unfilled_value(node, &help, report);
        }
    }
}

/// The first hole in a value that is taken as it is.
pub fn unfilled_value(node: Node<'_>, help: &dyn Fn() -> String, report: &mut Report) -> bool {
    match node.kind {
        Kind::Broken => false,
        Kind::List(items) => items.iter().any(|item| unfilled_value(*item, help, report)),
        Kind::Map(entries) => entries
            .iter()
            .any(|entry| unfilled_value(entry.value, help, report)),
        Kind::Scalar(scalar) => {
            let Some(text) = node.text().filter(|_| expr::has_braces(scalar.text)) else {
                return false;
            };
            let mut pieces = expr::scan(text.text()).pieces.into_iter();
            let hole = pieces.find_map(|piece| match piece {
                Piece::Hole(hole) => Some(hole),
                Piece::Literal(_) => None,
            });
            let Some(hole) = hole else { return false };
            let written = &text.text()[hole.range.clone()];
            let message = format!("no hole is filled in here: `{written}` stays as it is written");
            let span = text.span(hole.range);
            report.add(Diagnostic::new(&codes::NOT_A_HOLE, span, message).help(help()));
            true
        }
    }
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
    const AROUND: [&str; 7] = [
        "shell",
        "stdin",
        "env",
        "cwd",
        "parse_json",
        "output_exit_code",
        "output_stderr",
    ];
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
        let word = fields.word(field);
        let message = format!("`{word}` has no effect on a step that holds others");
        report.add(
            Diagnostic::new(&codes::IDLE_FIELD, place(field), message)
                .help(format!("write `{word}` on the steps that need it")),
        );
    }
}

/// The limits of the recipe that is run hold for all that it calls.
pub fn own_limits(fields: &Fields<'_>, report: &mut Report) {
    if let Some(span) = fields
        .key_span("recursion")
        .filter(|_| fields.has("recursion"))
    {
        let message =
            "`recursion` has no effect on a step: the limits are those of the recipe that is run";
        report.add(
            Diagnostic::new(&codes::IDLE_FIELD, span, message)
                .help("write it at the top of the recipe that calls the others"),
        );
    }
}

/// What another recipe does is for its own steps to say, and what it gives are values already.
pub fn beside_recipe(fields: &Fields<'_>, report: &mut Report) {
    const IDLE: [(&str, &str); 3] = [
        ("cwd", "write it on the steps of the recipe that need it"),
        ("env", "pass what its steps need with `context`"),
        (
            "parse_json",
            "remove it: the variables of the recipe keep their types",
        ),
    ];
    for (field, help) in IDLE.into_iter().filter(|(field, _)| fields.has(field)) {
        let place = fields.key_span(field).unwrap_or_else(|| fields.head());
        let word = fields.word(field);
        let message = format!("`{word}` has no effect on a step that runs a recipe");
        report.add(Diagnostic::new(&codes::IDLE_FIELD, place, message).help(help));
    }
}

/// Text that nobody takes JSON from need not hold any.
pub fn required_of_nothing(fields: &Fields<'_>, report: &mut Report) {
    const FIELD: &str = "parse_json_required";
    let place = fields.key_span(FIELD).unwrap_or_else(|| fields.head());
    let message = format!("`{FIELD}` has no effect without `parse_json: true`");
    report.add(
        Diagnostic::new(&codes::IDLE_FIELD, place, message)
            .help("add `parse_json: true`, so that JSON is looked for"),
    );
}

/// What a loop over a list does not store: single results where they are collected, and what only
/// one of several iterations that run at once could say.
pub fn beside_results(fields: &Fields<'_>, at_once: bool, report: &mut Report) {
    let mut idle = |field: &str, severity: Severity, why: &str, help: &str| {
        if let Some(span) = fields.key_span(field).filter(|_| fields.has(field)) {
            let message = format!("`{field}` stores nothing {why}");
            let mut finding = Diagnostic::new(&codes::IDLE_FIELD, span, message).help(help);
            let name = fields.node(field).and_then(|node| node.text());
            finding.about.extend(name.map(|name| name.text().into()));
            report.add(finding.severity(severity));
        }
    };
    if fields.has("collect") {
        // Many write both, and who reads the one that is not stored is told so there.
        let help = "remove one of the two: `collect` has the results of all iterations";
        idle("output", Severity::Note, "where `collect` does", help);
    }
    if at_once && !fields.has("steps") {
        for field in ["output_stderr", "output_exit_code"] {
            let help = "print what is needed and `collect` it, or remove `parallel`";
            idle(
                field,
                Severity::Warning,
                "where iterations run at once",
                help,
            );
        }
    }
}

/// The name of the program that is to run a command. Words behind it would be part of the name of its
/// file, which no shell's has.
pub fn shell<'a>(written: Text<'a>, report: &mut Report) -> &'a str {
    let name = |path: &'a str| path.rsplit('/').next().unwrap_or("");
    let text = written.text();
    let Some((path, rest)) = text.trim().split_once(char::is_whitespace) else {
        return name(text);
    };
    let (path, rest) = match (name(path), rest.trim().split_once(char::is_whitespace)) {
        ("env", Some((path, rest))) => (path, rest),
        ("env", None) => (rest.trim(), ""),
        _ => (path, rest.trim()),
    };
    let known = ["fish", "python", "python3", "node", "perl", "ruby", "pwsh"];
    let program = name(path);
    if !is_posix(program) && !known.contains(&program) {
        return name(text);
    }
    let options = rest.strip_prefix('-').filter(|_| is_posix(program));
    let kept = |c: &char| matches!(c, 'e' | 'u' | 'x' | 'f' | 'n');
    let options: String = options.unwrap_or_default().chars().filter(kept).collect();
    let message = format!("`shell` is the name of one program, and `{text}` are words");
    report.add(
        Diagnostic::new(&codes::BAD_VALUE, written.inner(), message).help(match options.as_str() {
            "" => format!("write `{path}` alone"),
            options => format!("write `{path}` alone, and begin the command with `set -{options}`"),
        }),
    );
    program
}

/// A hole becomes a variable of the shell, which programs in other languages do not read.
pub fn other_language(command: Text<'_>, program: &str, report: &mut Report) {
    if is_posix(program) || program.contains("{{") {
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
        // What is asked for is what happens.
        finding.severity = Severity::Note;
        finding.help = Some("remove it: a stage without `approval` has no gate".to_string());
    }
}

/// Of a step whose kind belongs to another system, nothing can be said but that: its fields do.
pub fn of_no_kind(fields: &Fields<'_>, said: usize, report: &mut Report) {
    let place = fields.node("type").and_then(|kind| kind.text());
    let Some(place) = place.map(|kind| kind.inner()) else {
        return;
    };
    let slip = |finding: &Diagnostic| finding.span == place && finding.fix.is_some();
    if report.findings[said..].iter().any(slip) {
        return;
    }
    let keys = fields.whole().map().unwrap_or_default().iter();
    let keys: Vec<Span> = keys.map(|entry| name_span(entry.key)).collect();
    let mut number = 0;
    report.findings.retain(|finding| {
        number += 1;
        number <= said || finding.code != &codes::UNKNOWN_FIELD || !keys.contains(&finding.span)
    });
    if let Some(finding) = report.findings[said..].iter_mut().find(|f| f.span == place) {
        let mut kinds = [
            ("command", "bash"),
            ("prompt", "agent"),
            ("recipe", "recipe"),
        ]
        .iter();
        finding.help = Some(match kinds.find(|(own, _)| fields.node(own).is_some()) {
            Some((own, kind)) => format!("write `{kind}`: that is a step with a `{own}`"),
            None => {
                "there are no such steps: write what it does as a bash step, or ask an agent for it"
                    .to_string()
            }
        });
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
