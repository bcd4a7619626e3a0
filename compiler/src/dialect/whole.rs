//! Fields that are one hole and nothing else.

use super::text::Lower;
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix};
use crate::doc::{Text as Written, quoted};
use crate::expr;
use crate::ir::Expr;

impl Lower<'_> {
    /// The one hole that a field must be.
    pub fn one_hole(&mut self, written: Written<'_>, field: &str) -> Option<Expr> {
        if let Some(hole) = expr::whole_hole(written.text()) {
            if hole.filter.is_some() {
                let message = format!("a filter has no meaning in `{field}`");
                self.report.add(
                    Diagnostic::new(&codes::BAD_VALUE, written.inner(), message)
                        .help("it works on the value; leave the filter out"),
                );
            }
            return Some(self.path(written, &hole.path));
        }
        let message = format!("`{field}` must be one `{{{{name}}}}` and nothing else");
        let problems = expr::scan(written.text()).problems;
        let told = !problems.is_empty();
        for mut problem in problems {
            // Elsewhere it is text that stays as it is written: here it would be no value at all.
            if problem.code == &codes::NOT_A_HOLE {
                let text = &written.text()[problem.range.clone()];
                problem.message = format!("`{text}` is not a hole: {message}");
                problem.code = &codes::BAD_VALUE;
            }
            self.problem(written, problem);
        }
        if !told {
            let what = match field {
                "foreach" => "list",
                _ => "number",
            };
            let finding = Diagnostic::new(&codes::BAD_VALUE, written.inner(), message);
            let name = written.text().trim();
            self.report.add(match expr::is_path(name) {
                true => {
                    let hole = format!("{{{{{name}}}}}");
                    let quotes = written.inner() != written.whole();
                    let fixed = if quotes { hole.clone() } else { quoted(&hole) };
                    finding
                        .help(format!("write `{field}: \"{hole}\"`"))
                        .fix(Fix::unsafe_(
                            format!("write `{hole}`"),
                            written.inner(),
                            fixed,
                        ))
                }
                false => finding.help(format!(
                    "write `{field}: \"{{{{name}}}}\"`, with the name of a {what}"
                )),
            });
        }
        None
    }
}
