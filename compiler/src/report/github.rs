//! Workflow commands of GitHub Actions, which become annotations on the lines of a pull request.

use super::{Options, shown};
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
        let command = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let source = sources.get(finding.span.source);
        let start = source.place(finding.span.start);
        let end = source.place(finding.span.end);
        write!(
            out,
            "::{command} file={},line={}",
            property(&source.name),
            start.line
        )?;
        // An annotation over several lines is dropped when it also names columns.
        if start.line == end.line {
            write!(out, ",col={}", start.column)?;
        }
        write!(out, ",endLine={}", end.line)?;
        if start.line == end.line {
            write!(out, ",endColumn={}", end.column)?;
        }
        let title = format!("{} {}", finding.code.code, finding.code.name);
        write!(
            out,
            ",title={}::{}",
            property(&title),
            data(&finding.message)
        )?;
        if let Some(help) = &finding.help {
            write!(out, "%0Ahelp: {}", data(help))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
