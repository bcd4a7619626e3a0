//! Fixes as code actions: the same ones that `--fix` applies.

use super::answers::{Client, MAIN, Places, diagnostic, is_ours};
use super::buffers::{self, Document, Open};
use crate::cli::Global;
use lsp_types::{
    CodeAction, CodeActionContext, CodeActionKind, CodeActionOrCommand, Command, DocumentChanges,
    OneOf, OptionalVersionedTextDocumentIdentifier, Range, TextDocumentEdit, TextEdit, Uri,
    WorkspaceEdit,
};
use rrc_compiler::diagnostic::{Applicability, Edit, Fix};
use rrc_compiler::fix;
use rrc_compiler::source::Span;
use std::collections::HashMap;

/// Rounds of fixing: one fix may lay bare another.
const MOST_ROUNDS: usize = 10;

pub const FIX_ALL: &str = "source.fixAll.rrc";
pub const EXPLAIN: &str = "rrc.explain";

pub fn actions(
    path: &str,
    range: Range,
    context: &CodeActionContext,
    open: &Open,
    client: &Client,
    global: &Global,
) -> Vec<CodeActionOrCommand> {
    let Some(document) = open.get(path) else {
        return Vec::new();
    };
    let Some(analysis) = &document.analysis else {
        return Vec::new();
    };
    if !is_ours(path, document, analysis) {
        return Vec::new();
    }
    let places = Places::new(analysis, open, client.encoding);
    let mut found = Vec::new();
    let findings = analysis.checked.report.findings.iter();
    let here: Vec<_> = findings
        .filter(|finding| finding.span.source == MAIN)
        .filter(|finding| {
            let place = places.range(finding.span);
            place.start <= range.end && range.start <= place.end
        })
        .collect();
    if client.action_literals && wants(context, CodeActionKind::QUICKFIX.as_str()) {
        for finding in &here {
            let Some(fix) = &finding.fix else { continue };
            if fix.applicability == Applicability::Display {
                continue;
            }
            let Some(edit) = edit_of(fix, &places, client) else {
                continue;
            };
            found.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: fix.message.clone(),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![diagnostic(finding, &places, client)]),
                edit: Some(edit),
                is_preferred: Some(fix.applicability == Applicability::Safe),
                ..CodeAction::default()
            }));
        }
    }
    if client.action_literals
        && wants(context, FIX_ALL)
        && let Some(fixed) = fixed(path, document, open, global)
    {
        let edits = fix::edits(&document.text, &fixed)
            .into_iter()
            .map(|(old, new)| TextEdit {
                range: places.range(Span::new(MAIN, old.start, old.end)),
                new_text: new.to_string(),
            })
            .collect();
        let changes = vec![(document.uri.clone(), Some(document.version), edits)];
        found.push(CodeActionOrCommand::CodeAction(CodeAction {
            title: "fix everything that is safe to fix".to_string(),
            kind: Some(CodeActionKind::new(FIX_ALL)),
            edit: Some(workspace_edit(changes, client)),
            ..CodeAction::default()
        }));
    }
    if client.explains && context.only.is_none() {
        let mut codes: Vec<&str> = here.iter().map(|finding| finding.code.code).collect();
        codes.sort_unstable();
        codes.dedup();
        found.extend(codes.into_iter().map(|code| {
            CodeActionOrCommand::Command(Command {
                title: format!("explain {code}"),
                command: EXPLAIN.to_string(),
                arguments: Some(vec![code.into()]),
            })
        }));
    }
    found
}

/// Kinds are paths: who asks for `source` is given `source.fixAll.rrc`.
fn wants(context: &CodeActionContext, kind: &str) -> bool {
    context.only.as_ref().is_none_or(|only| {
        only.iter().any(|asked| {
            let rest = kind.strip_prefix(asked.as_str());
            asked.as_str().is_empty()
                || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    })
}

fn edit_of(fix: &Fix, places: &Places<'_>, client: &Client) -> Option<WorkspaceEdit> {
    let mut changes: Vec<(Uri, Option<i32>, Vec<TextEdit>)> = Vec::new();
    for Edit { span, text } in &fix.edits {
        let uri = places.uri(span.source)?;
        let edit = TextEdit {
            range: places.range(*span),
            new_text: text.clone(),
        };
        match changes.iter_mut().find(|(known, ..)| *known == uri) {
            Some((_, _, edits)) => edits.push(edit),
            None => {
                let document = places.open.get(&places.path(span.source));
                changes.push((uri, document.map(|document| document.version), vec![edit]));
            }
        }
    }
    Some(workspace_edit(changes, client))
}

#[allow(
    clippy::mutable_key_type,
    reason = "the key is what the protocol has; nobody changes it behind the map's back"
)]
fn workspace_edit(
    changes: Vec<(Uri, Option<i32>, Vec<TextEdit>)>,
    client: &Client,
) -> WorkspaceEdit {
    if client.versioned_edits {
        let edits = changes
            .into_iter()
            .map(|(uri, version, edits)| TextDocumentEdit {
                text_document: OptionalVersionedTextDocumentIdentifier { uri, version },
                edits: edits.into_iter().map(OneOf::Left).collect(),
            })
            .collect();
        return WorkspaceEdit {
            document_changes: Some(DocumentChanges::Edits(edits)),
            ..WorkspaceEdit::default()
        };
    }
    let changes: HashMap<Uri, Vec<TextEdit>> = changes
        .into_iter()
        .map(|(uri, _, edits)| (uri, edits))
        .collect();
    WorkspaceEdit {
        changes: Some(changes),
        ..WorkspaceEdit::default()
    }
}

/// What the text becomes when its safe fixes are applied until there are none left; none if there
/// is nothing to fix.
fn fixed(path: &str, document: &Document, open: &Open, global: &Global) -> Option<String> {
    let mut text: Option<String> = None;
    for _ in 0..MOST_ROUNDS {
        let fresh;
        let analysis = match &text {
            None => document.analysis.as_ref()?,
            Some(text) => {
                fresh = buffers::check(open, path, Some(text), global)?;
                &fresh
            }
        };
        let mut findings = analysis.checked.report.findings.clone();
        // What is wrong with a file that this one calls is fixed there.
        findings.retain(|finding| {
            let fix = finding.fix.as_ref();
            fix.is_some_and(|fix| fix.edits.iter().all(|edit| edit.span.source == MAIN))
        });
        let changed = fix::apply(&analysis.sources, &findings, Applicability::Safe);
        let Some((_, new, _)) = changed.into_iter().next() else {
            break;
        };
        text = Some(new);
    }
    text.filter(|text| *text != document.text)
}
