//! One line a finding, for eyes in a hurry and for `grep`: `path:line:col: severity[CODE] message`.
//!
//! A line is always one line: whatever would break it is escaped.

use super::{Options, link, printable, shown};
use crate::codes::Severity;
use crate::diagnostic::Diagnostic;
use crate::source::Sources;
use std::io::{Result, Write};

pub fn write(
    findings: &[Diagnostic],
    sources: &Sources,
    options: Options,
    out: &mut dyn Write,
) -> Result<()> {
    for finding in shown(findings, options) {
        let (on, off) = match (options.color, finding.severity) {
            (false, _) => ("", ""),
            (true, Severity::Error) => ("\x1b[31m", "\x1b[0m"),
            (true, Severity::Warning) => ("\x1b[33m", "\x1b[0m"),
            (true, Severity::Note) => ("\x1b[36m", "\x1b[0m"),
        };
        writeln!(
            out,
            "{}: {on}{}[{}]{off} {}",
            link(sources, finding.span),
            finding.severity.word(),
            finding.code.code,
            printable(&finding.message),
        )?;
    }
    Ok(())
}
