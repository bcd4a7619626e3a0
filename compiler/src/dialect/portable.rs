//! What rrc understands and the runner that a file was written for does not.
//!
//! Notes: here the text means what its author wants.

use super::Dialect;
use super::text::replace;
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Fix, Report};
use crate::doc::Text as Written;
use crate::expr::{self, BareWords, ExprKind, Hole};
use crate::shell::{Place, Position, Quote};

/// A runner that reads bare names fills no holes in conditions.
fn reads_names(dialect: &Dialect) -> bool {
    dialect.bare_words == BareWords::Variables
}

/// `'a' in '{{x}}'` compares with the text that is written, where holes are not filled.
pub fn condition(dialect: &Dialect, written: Written<'_>, tree: &expr::Expr, report: &mut Report) {
    if !reads_names(dialect) {
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
            "{text} is the value of `{name}` here; the amplihack runner takes it for the text \
             itself"
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
        if same && let Some(edit) = replace(written, expr.range.clone(), name.clone()) {
            finding = finding.fix(Fix {
                applicability: Applicability::Safe,
                message: format!("write `{name}`"),
                edits: vec![edit],
            });
        }
        report.add(finding);
    });
}

/// `echo '{{x}}'`: single quotes keep the shell from reading what another runner puts there.
pub fn script(
    dialect: &Dialect,
    written: Written<'_>,
    holes: &[Hole],
    positions: &[Position],
    report: &mut Report,
) {
    if !reads_names(dialect) {
        return;
    }
    let quoted = |position: &Position| {
        position.quote == Quote::Single && position.place != Place::HeredocBody
    };
    let mut all = holes.iter().zip(positions).filter(|(_, at)| quoted(at));
    let Some((hole, _)) = all.next() else { return };
    let more = match all.count() {
        0 => String::new(),
        1 => ", and of one more".to_string(),
        count => format!(", and of {count} more"),
    };
    let name = &hole.path;
    let message = format!(
        "in single quotes the amplihack runner puts the name of a variable here, not the value of \
         `{name}`{more}"
    );
    let finding = Diagnostic::new(
        &codes::OTHER_RUNNER,
        written.span(hole.range.clone()),
        message,
    );
    report.add(finding.help("take the hole out of the quotes: both put the value there"));
}
