//! Defaults that never count, that nothing reads, or that say different things about one name.

use super::Lower;
use super::holes::Hole;
use super::names::{Env, repeat_name};
use super::spot::{Spot, fix};
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix};
use crate::ir::Literal;
use crate::ir::flow::ValueKind;
use crate::source::Span;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

/// What is known of defaults before everything has been read.
#[derive(Debug, Default)]
pub struct Notes<'a> {
    /// Entries of `defaults`: the name, where it stands, and what to remove with it.
    presets: Vec<(&'a str, Span, Option<Span>)>,
    /// The first default in a placeholder, by name.
    inline: IndexMap<String, (String, Span), FxBuildHasher>,
    /// Names with `??`, where that stands, and the text behind it.
    fallbacks: Vec<Fallback>,
}

#[derive(Debug)]
struct Fallback {
    name: String,
    text: String,
    /// From the `??` to the end, how that is removed, and how it becomes a `=`.
    span: Span,
    gone: Option<Edit>,
    equals: Option<Edit>,
    /// The default is a number, or there is one.
    number: bool,
    has_default: bool,
}

impl<'a> Notes<'a> {
    pub fn preset(&mut self, name: &'a str, span: Span, whole: Option<Span>) {
        self.presets.push((name, span, whole));
    }
}

impl<'a> Lower<'_, 'a> {
    /// What a placeholder has to say about defaults.
    pub fn inline_default(
        &mut self,
        hole: &Hole<'_>,
        inner: &str,
        env: &Env<'a>,
        at: &Spot<'_, 'a>,
    ) {
        match hole {
            Hole::Name {
                name,
                default: Some(text),
                ..
            } => {
                let range = inner.len() - text.len() - 1..inner.len();
                let span = at.span(range.clone());
                if is_choice_elsewhere(inner) {
                    self.choice_elsewhere(span);
                }
                match self.earlier_default(name, env) {
                    Some((message, first)) => {
                        self.shadowed(message, first, span, at.edit(range, ""))
                    }
                    None if env.repeats == 0 && repeat_name(name).is_some() => {}
                    // Two that never run together may well differ.
                    None if env.guarded => {}
                    None => self.conflicting(name, text, span),
                }
            }
            Hole::OrText { name, text } => {
                let preset = env.preset(name).map(|preset| &preset.value);
                let number = matches!(preset, Some(Literal::Int(_) | Literal::Float(_)));
                self.notes.fallbacks.push(Fallback {
                    name: name.to_string(),
                    text: text.to_string(),
                    span: at.span(name.len()..inner.len()),
                    gone: at.edit(name.len()..inner.len(), ""),
                    equals: at.edit(name.len()..name.len() + 2, "="),
                    number,
                    has_default: env.has_default(name),
                });
            }
            _ => {}
        }
    }

    fn choice_elsewhere(&mut self, span: Span) {
        let message = "other runners read this as a choice, and always take its last text";
        self.report_once(
            Diagnostic::new(&codes::OTHER_RUNNER, span, message)
                .help("put a text with `?` and `:` into `defaults`"),
        );
    }

    /// What gives a name its value before the default in a placeholder could.
    fn earlier_default(&self, name: &str, env: &Env<'a>) -> Option<(String, Option<Span>)> {
        if env.repeats > 0 && repeat_name(name).is_some() {
            return Some((format!("`repeat` sets `{name}`"), None));
        }
        if let Some(preset) = env.preset(name) {
            let message = format!("`defaults` has a value for `{name}`");
            return Some((message, Some(preset.name_span)));
        }
        let (_, span) = env.arg(name)?.default?;
        Some((format!("`args` has a default for `{name}`"), Some(span)))
    }

    fn shadowed(&mut self, message: String, first: Option<Span>, span: Span, gone: Option<Edit>) {
        let message = format!("{message}, so this default never counts");
        let finding = Diagnostic::new(&codes::SHADOWED_DEFAULT, span, message)
            .help("remove it here")
            .fix_if(fix(Applicability::Safe, "remove the default", [gone]));
        self.report_once(match first {
            Some(first) => finding.label(first, "this one counts"),
            None => finding,
        });
    }

    fn conflicting(&mut self, name: &str, text: &str, span: Span) {
        let Some((first, first_span)) = self.notes.inline.get(name) else {
            let new = (text.to_string(), span);
            self.notes.inline.insert(name.to_string(), new);
            return;
        };
        if first == text {
            return;
        }
        let message = format!("`{name}` has another default elsewhere");
        let finding = Diagnostic::new(&codes::CONFLICTING_DEFAULT, span, message)
            .label(*first_span, "this is the other one")
            .help(format!(
                "give `{name}` one value in `defaults`, or use two names"
            ));
        self.report_once(finding);
    }

    /// `??` where the value is a number: 0 is one of those that are replaced.
    pub fn hidden_zeros(&mut self) {
        for fallback in std::mem::take(&mut self.notes.fallbacks) {
            let declared = self.kinds.get(&fallback.name).map(|(known, _)| &known.kind);
            let number = match declared {
                Some(kind) => matches!(kind, ValueKind::Int | ValueKind::Number),
                None => fallback.number,
            };
            if !number || fallback.text.trim() == "0" {
                continue;
            }
            let message = format!("when `{}` is 0 this text is used as well", fallback.name);
            let finding = Diagnostic::new(&codes::COALESCE_HIDES_ZERO, fallback.span, message);
            self.report_once(match fallback.has_default {
                true => finding
                    .help("`defaults` or `args` has a value for it: write the name alone")
                    .fix_if(fix(
                        Applicability::Unsafe,
                        "write the name alone",
                        [fallback.gone],
                    )),
                false => finding
                    .help("write `=` to replace a missing value only")
                    .fix_if(fix(Applicability::Unsafe, "write `=`", [fallback.equals])),
            });
        }
    }

    /// Entries of `defaults` that nothing reads.
    pub fn unused_defaults(&mut self) {
        // What another host fills in may read anything.
        if self.foreign.is_some() || self.layered {
            return;
        }
        for (name, span, whole) in std::mem::take(&mut self.notes.presets) {
            let argument = self.kinds.contains_key(name) && !self.used.contains_key(name);
            if argument || self.used_defaults.contains(&span) {
                continue;
            }
            let message = format!("nothing reads the default of `{name}`");
            let finding = Diagnostic::new(&codes::UNUSED_DEFAULT, span, message)
                .help("remove it, or use it in a command");
            self.report_once(match whole {
                Some(whole) => finding.fix(Fix::safe("remove it", whole, "")),
                None => finding,
            });
        }
    }
}

/// Whether `name=text` looks like `condition?yes:no`, which others look for first.
fn is_choice_elsewhere(inner: &str) -> bool {
    inner
        .split_once('?')
        .is_some_and(|(condition, arms)| !condition.contains(':') && arms.contains(':'))
}
