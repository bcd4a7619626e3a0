//! A secret that becomes a word of a command: everybody on the machine can see it.

use super::Survey;
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::ir::flow::{Term, TermKind, Work, stages};
use crate::ir::{Action, Literal, Node, visit};
use rustc_hash::FxHashSet;

pub fn check(survey: &Survey<'_>, report: &mut Report) {
    for (unit, _) in survey.units().filter(|(unit, _)| !unit.secrets.is_empty()) {
        let secrets: FxHashSet<&str> = unit.secrets.iter().map(String::as_str).collect();
        let mut said = FxHashSet::default();
        let mut look = |words: &[Term]| {
            let Some(first) = words.first() else { return };
            for word in words {
                shown(word, &mut |name, place| {
                    if secrets.contains(name) && said.insert(place.span) {
                        report.add(finding(name, place, first));
                    }
                });
            }
        };
        for step in &unit.steps {
            visit::steps(step, &mut |step| {
                if let Node::Act(action) = &step.node
                    && let Action::Flow(flow) = &**action
                {
                    stages(&flow.root, &mut |stage| {
                        if let Work::Run { words, .. } = &stage.work {
                            look(words);
                        }
                    });
                }
            });
        }
    }
}

/// The values that a word shows. Those that it only asks about stay unseen.
fn shown<'a>(term: &'a Term, visit: &mut dyn FnMut(&'a str, &'a Term)) {
    match &term.kind {
        TermKind::Var(name) => visit(name, term),
        TermKind::Pick { yes, no, .. } => {
            shown(yes, visit);
            shown(no, visit);
        }
        _ => term.parts().into_iter().for_each(|part| shown(part, visit)),
    }
}

fn finding(name: &str, place: &Term, program: &Term) -> Diagnostic {
    let program = match &program.kind {
        TermKind::Literal(Literal::Text(program)) => program.as_str(),
        _ => "a program",
    };
    let message =
        format!("`{name}` is secret, and becomes an argument of `{program}`, which others can see");
    Diagnostic::new(&codes::SECRET_IN_ARGV, place.span, message).help(
        "have the command read it from its environment, or from a file that only you can read",
    )
}
