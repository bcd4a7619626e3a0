//! What rrc understands and the runner that a file was written for does not.
//!
//! Notes: here the text means what its author wants.

use super::Dialect;
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Fix, Label, Report};
use crate::doc::Text as Written;
use crate::expr::{self, BareWords, ExprKind, Hole};
use crate::shell::{Place, Position, Quote};
use crate::source::Span;

/// How many further places of a note are shown.
const SHOWN: usize = 3;

/// A runner that reads bare names fills no holes in conditions.
fn reads_names(dialect: &Dialect) -> bool {
    dialect.bare_words == BareWords::Variables
}

/// `'a' in '{{x}}'` compares with the text that is written, where holes are not filled.
pub fn condition(dialect: &Dialect, written: Written<'_>, tree: &expr::Expr, report: &mut Report) {
    if !reads_names(dialect) || !expr::has_braces(written.text()) {
        return;
    }
    tree.walk(&mut |expr| {
        let text = &written.text()[expr.range.clone()];
        let ExprKind::Hole(path) = &expr.kind else {
            return;
        };
        if !text.starts_with(['\'', '"']) {
            return;
        }
        let name = path.to_string();
        let message = format!(
            "{text} is the value of `{name}` here; the {} runner takes it for the text itself",
            dialect.name,
        );
        let mut finding = Diagnostic::new(
            &codes::OTHER_RUNNER,
            written.span(expr.range.clone()),
            message,
        )
        .help(format!(
            "write `{name}` without quotes and braces: both read that"
        ));
        // Only what reads back as the same name.
        let same = matches!(
            expr::parse(&name, BareWords::Variables),
            (Some(tree), problems) if problems.is_empty()
                && matches!(tree.kind, ExprKind::Name(_) | ExprKind::Field { .. })
        );
        if same && let Some(edit) = written.edit(expr.range.clone(), &name) {
            finding = finding.fix(Fix {
                applicability: Applicability::Safe,
                message: format!("write `{name}`"),
                edits: vec![edit],
            });
        }
        report.add(finding);
    });
}

/// The holes of a script in single quotes, where another runner's value is not read by the shell.
pub fn quoted(written: Written<'_>, holes: &[Hole], positions: &[Position], found: &mut Vec<Span>) {
    let quoted = |position: &Position| {
        position.quote == Quote::Single && position.place != Place::HeredocBody
    };
    let all = holes.iter().zip(positions).filter(|(_, at)| quoted(at));
    found.extend(all.map(|(hole, _)| written.span(hole.range.clone())));
}

/// `echo '{{x}}'`: who writes one writes many, so the first speaks for the whole file.
pub fn say_quoted(runners: &[&Dialect], found: &[Span], report: &mut Report) {
    let (Some(dialect), Some((first, rest))) = (
        runners.iter().find(|dialect| reads_names(dialect)),
        found.split_first(),
    ) else {
        return;
    };
    let message = format!(
        "in single quotes the {} runner puts the name of a variable here, not its value",
        dialect.name
    );
    let mut finding = Diagnostic::new(&codes::OTHER_RUNNER, *first, message);
    finding.labels = rest
        .iter()
        .take(SHOWN)
        .map(|span| Label {
            span: *span,
            message: "and here".to_string(),
        })
        .collect();
    let more = match rest.len().saturating_sub(SHOWN) {
        0 => String::new(),
        1 => " (so stands one more hole of this file)".to_string(),
        count => format!(" (so stand {count} more holes of this file)"),
    };
    report.add(finding.help(format!(
        "take the hole out of the quotes: both put the value there{more}"
    )));
}
