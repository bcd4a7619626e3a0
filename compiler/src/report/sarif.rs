//! SARIF 2.1.0, for code scanning: one run, every code as a rule, each finding a result.
//!
//! Only what consumers read: no taxonomies, no graphs. The schema wants absolute addresses for
//! help pages and there is no host, so a rule names its page in words.

use super::{Options, ordered, page};
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Fix};
use crate::source::{SourceId, Sources, Span};
use serde_json::{Map, Value, json};
use std::io::{Result, Write};

pub fn write(
    findings: &[Diagnostic],
    sources: &Sources,
    _options: Options,
    out: &mut dyn Write,
) -> Result<()> {
    let rules: Vec<Value> = codes::ALL
        .iter()
        .map(|code| {
            json!({
                "id": code.code,
                "name": code.name,
                "shortDescription": { "text": code.summary },
                "help": {
                    "text": format!(
                        "{}; `rrc explain {}` shows {}",
                        code.summary, code.code, page(code),
                    ),
                },
                "defaultConfiguration": { "level": level(code.severity) },
            })
        })
        .collect();
    let results: Vec<Value> = ordered(findings)
        .into_iter()
        .map(|finding| result(finding, sources))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "rrc",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

fn result(finding: &Diagnostic, sources: &Sources) -> Value {
    let text = match &finding.help {
        Some(help) => format!("{}\nhelp: {help}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = Map::new();
    result.insert("ruleId".into(), finding.code.code.into());
    if let Some(index) = codes::ALL.iter().position(|code| *code == finding.code) {
        result.insert("ruleIndex".into(), index.into());
    }
    result.insert("level".into(), level(finding.severity).into());
    result.insert("message".into(), json!({ "text": text }));
    result.insert(
        "locations".into(),
        json!([{ "physicalLocation": location(finding.span, sources) }]),
    );
    if !finding.labels.is_empty() {
        let related: Vec<Value> = finding
            .labels
            .iter()
            .enumerate()
            .map(|(id, label)| {
                json!({
                    "id": id,
                    "physicalLocation": location(label.span, sources),
                    "message": { "text": label.message },
                })
            })
            .collect();
        result.insert("relatedLocations".into(), related.into());
    }
    if let Some(fix) = finding.fix.as_ref().filter(|fix| !fix.edits.is_empty()) {
        result.insert("fixes".into(), json!([fix_object(fix, sources)]));
    }
    Value::Object(result)
}

fn fix_object(fix: &Fix, sources: &Sources) -> Value {
    let mut files: Vec<(SourceId, Vec<Value>)> = Vec::new();
    for edit in &fix.edits {
        let replacement = json!({
            "deletedRegion": region(edit.span, sources),
            "insertedContent": { "text": edit.text },
        });
        match files.iter_mut().find(|(id, _)| *id == edit.span.source) {
            Some((_, replacements)) => replacements.push(replacement),
            None => files.push((edit.span.source, vec![replacement])),
        }
    }
    let changes: Vec<Value> = files
        .into_iter()
        .map(|(id, replacements)| {
            json!({
                "artifactLocation": { "uri": uri(&sources.get(id).name) },
                "replacements": replacements,
            })
        })
        .collect();
    json!({ "description": { "text": fix.message }, "artifactChanges": changes })
}

fn location(span: Span, sources: &Sources) -> Value {
    json!({
        "artifactLocation": { "uri": uri(&sources.get(span.source).name) },
        "region": region(span, sources),
    })
}

fn region(span: Span, sources: &Sources) -> Value {
    let source = sources.get(span.source);
    let (start, end) = (source.place(span.start), source.place(span.end));
    json!({
        "startLine": start.line, "startColumn": start.column,
        "endLine": end.line, "endColumn": end.column,
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// A file name as a URI reference: absolute paths with a scheme, everything unusual escaped.
fn uri(name: &str) -> String {
    let mut uri = String::from(if name.starts_with('/') { "file://" } else { "" });
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => uri.push(byte as char),
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(byte as char),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
