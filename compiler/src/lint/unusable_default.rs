//! A default of a recipe that the template of a step cannot take.

use super::Survey;
use super::flow::What;
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::flow::Flow;
use crate::ir::{Action, Literal, Node, Step};

/// Callers give other recipes what they need, so only the main one is looked at.
pub fn check(survey: &Survey<'_>, report: &mut Report) {
    let Some(events) = survey.flows.first() else {
        return;
    };
    let mut last: Option<&Step> = None;
    for event in &events.events {
        let again = last.is_some_and(|last| std::ptr::eq(last, event.step));
        last = Some(event.step);
        // What a condition guards is meant for other values.
        if again || !event.under.is_empty() {
            continue;
        }
        for declared in template(event.step).map_or(&[][..], |flow| &flow.declared) {
            let Some(input) = events.input(&declared.name) else {
                continue;
            };
            let all = events.about(&declared.name, 0..events.events.len());
            let mut all = all.map(|event| event.what);
            let set = all.any(|what| matches!(what, What::Set { .. } | What::Item { .. }));
            if set || !events.spreads.is_empty() || is_to_be_given(&input.default) {
                continue;
            }
            if let Err((_, message)) = declared.fit(&input.default) {
                report.add(
                    Diagnostic::new(&codes::UNUSABLE_DEFAULT, input.span, message)
                        .label(declared.span, "the template declares it here")
                        .help("change the default, or the type that the template declares"),
                );
            }
        }
    }
}

fn template(step: &Step) -> Option<&Flow> {
    match &step.node {
        Node::Act(action) => match &**action {
            Action::Flow(flow) => Some(flow),
            _ => None,
        },
        _ => None,
    }
}

/// An empty default says that somebody will give the value.
fn is_to_be_given(default: &Literal) -> bool {
    match default {
        Literal::Null => true,
        Literal::Text(text) => text.trim().is_empty(),
        _ => false,
    }
}
