//! One JSON array, an object a finding, every key always present: for scripts and editors.
//!
//! Lines and columns count from 1, columns in characters; offsets count bytes. Notes are carried
//! like everything else; a script can filter.

use super::{Options, ordered, page};
use crate::diagnostic::Diagnostic;
use crate::source::{Sources, Span};
use serde_json::{Value, json};
use std::io::{Result, Write};

pub fn write(
    findings: &[Diagnostic],
    sources: &Sources,
    _options: Options,
    out: &mut dyn Write,
) -> Result<()> {
    // An object a line: readable in a log, and never the whole array in memory.
    let mut before = "[";
    for finding in ordered(findings) {
        write!(out, "{before}\n{}", object(finding, sources))?;
        before = ",";
    }
    if before == "[" {
        return writeln!(out, "[]");
    }
    writeln!(out, "\n]")
}

/// One finding as `json` prints it.
pub fn object(finding: &Diagnostic, sources: &Sources) -> Value {
    let labels: Vec<Value> = finding
        .labels
        .iter()
        .map(|label| placed(label.span, "message", &label.message, sources))
        .collect();
    let fix = finding.fix.as_ref().map(|fix| {
        let edits: Vec<Value> = fix
            .edits
            .iter()
            .map(|edit| placed(edit.span, "text", &edit.text, sources))
            .collect();
        json!({
            "applicability": fix.applicability.word(),
            "message": fix.message,
            "edits": edits,
        })
    });
    json!({
        "code": finding.code.code,
        "name": finding.code.name,
        "severity": finding.severity.word(),
        "message": finding.message,
        "file": sources.get(finding.span.source).name,
        "start": place(finding.span, finding.span.start, sources),
        "end": place(finding.span, finding.span.end, sources),
        "labels": labels,
        "help": finding.help,
        "url": page(finding.code),
        "fix": fix,
    })
}

fn placed(span: Span, key: &str, text: &str, sources: &Sources) -> Value {
    json!({
        "file": sources.get(span.source).name,
        "start": place(span, span.start, sources),
        "end": place(span, span.end, sources),
        key: text,
    })
}

fn place(span: Span, offset: u32, sources: &Sources) -> Value {
    let place = sources.get(span.source).place(offset);
    json!({ "line": place.line, "column": place.column, "offset": place.offset })
}
