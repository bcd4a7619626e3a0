//! What the compiler says, as editors want to hear it.

use super::buffers::{Analysis, Document, Open};
use super::place::{Encoding, Lines};
use super::uri;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionTextEdit, DiagnosticRelatedInformation,
    DiagnosticSeverity, DiagnosticTag, DocumentSymbol, Documentation, Hover, HoverContents,
    Location, MarkupContent, MarkupKind, NumberOrString, Range, SymbolInformation, SymbolKind,
    TextEdit, Uri,
};
use rrc_compiler::codes::{self, Severity};
use rrc_compiler::diagnostic::Diagnostic;
use rrc_compiler::ide::{self, CompletionKind, Symbol, View};
use rrc_compiler::source::{SourceId, Span};
use rrc_compiler::{dialect, report};
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// The file that was checked is the first that was read.
pub const MAIN: SourceId = SourceId(0);

/// What this editor can take.
#[derive(Clone, Debug)]
pub struct Client {
    pub encoding: Encoding,
    pub related: bool,
    pub tags: bool,
    pub nested_symbols: bool,
    pub versioned_edits: bool,
    pub action_literals: bool,
    pub watches: bool,
    /// It has a command that shows the page of a code.
    pub explains: bool,
}

/// Spans of one analysis as ranges in files.
pub struct Places<'a> {
    pub analysis: &'a Analysis,
    pub open: &'a Open,
    pub encoding: Encoding,
    lines: RefCell<BTreeMap<SourceId, Lines>>,
}

impl<'a> Places<'a> {
    pub fn new(analysis: &'a Analysis, open: &'a Open, encoding: Encoding) -> Places<'a> {
        Places {
            analysis,
            open,
            encoding,
            lines: RefCell::default(),
        }
    }

    pub fn path(&self, source: SourceId) -> String {
        let name = &self.analysis.sources.get(source).name;
        match self.open.contains_key(name) {
            true => name.clone(),
            false => uri::plain(Path::new(name)),
        }
    }

    pub fn uri(&self, source: SourceId) -> Option<Uri> {
        let path = self.path(source);
        let open = self.open.get(&path).map(|document| document.uri.clone());
        open.or_else(|| uri::of(&path))
    }

    pub fn range(&self, span: Span) -> Range {
        let text = &self.analysis.sources.get(span.source).text;
        let mut lines = self.lines.borrow_mut();
        let lines = lines.entry(span.source).or_insert_with(|| Lines::of(text));
        lines.range(text, span, self.encoding)
    }

    pub fn location(&self, span: Span) -> Option<Location> {
        Some(Location::new(self.uri(span.source)?, self.range(span)))
    }
}

/// The file as the compiler is asked about it.
pub fn view<'a>(path: &str, document: &'a Document, analysis: &'a Analysis) -> View<'a> {
    let choice = analysis.checked.choice.as_ref();
    View {
        text: &document.text,
        source: MAIN,
        program: &analysis.checked.program,
        dialect: choice.map_or(dialect::ALL[0], |choice| choice.dialect),
        json: path.ends_with(".json"),
    }
}

/// Whether findings about a file are worth showing: editors open files of every kind.
pub fn is_ours(path: &str, document: &Document, analysis: &Analysis) -> bool {
    let stranger =
        |finding: &Diagnostic| finding.code == &codes::NOT_A_RECIPE && finding.span.source == MAIN;
    document.named
        || ide::is_recipe(&document.text, path.ends_with(".json"))
            && !analysis.checked.report.findings.iter().any(stranger)
}

pub fn diagnostic(
    finding: &Diagnostic,
    places: &Places<'_>,
    client: &Client,
) -> lsp_types::Diagnostic {
    let mut message = finding.message.clone();
    if let Some(help) = &finding.help {
        message.push_str("\nhelp: ");
        message.push_str(help);
    }
    let related: Vec<DiagnosticRelatedInformation> = finding
        .labels
        .iter()
        .filter(|_| client.related)
        .filter_map(|label| {
            Some(DiagnosticRelatedInformation {
                location: places.location(label.span)?,
                message: label.message.clone(),
            })
        })
        .collect();
    let faded = client.tags && ide::is_unnecessary(finding.code);
    lsp_types::Diagnostic {
        range: places.range(finding.span),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::HINT,
        }),
        code: Some(NumberOrString::String(finding.code.code.to_string())),
        code_description: None,
        source: Some("rrc".to_string()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        tags: faded.then(|| vec![DiagnosticTag::UNNECESSARY]),
        data: Some(json!({ "name": finding.code.name, "page": report::page(finding.code) })),
    }
}

fn markdown(value: String) -> MarkupContent {
    MarkupContent {
        kind: MarkupKind::Markdown,
        value,
    }
}

pub fn hover(hover: ide::Hover, places: &Places<'_>) -> Hover {
    Hover {
        contents: HoverContents::Markup(markdown(hover.text)),
        range: Some(places.range(hover.span)),
    }
}

pub fn completion(one: ide::Completion, order: usize, places: &Places<'_>) -> CompletionItem {
    let span = Span::new(MAIN, one.replace.start, one.replace.end);
    CompletionItem {
        kind: Some(match one.kind {
            CompletionKind::Field => CompletionItemKind::PROPERTY,
            CompletionKind::Value => CompletionItemKind::ENUM_MEMBER,
            CompletionKind::Variable => CompletionItemKind::VARIABLE,
            CompletionKind::Step => CompletionItemKind::REFERENCE,
            CompletionKind::Filter => CompletionItemKind::FUNCTION,
        }),
        detail: Some(one.detail).filter(|detail| !detail.is_empty()),
        documentation: Some(one.doc)
            .filter(|doc| !doc.is_empty())
            .map(|doc| Documentation::MarkupContent(markdown(doc))),
        // The order of the compiler, which is that of the file or of the table of fields.
        sort_text: Some(format!("{order:04}")),
        filter_text: Some(one.label.clone()),
        text_edit: Some(CompletionTextEdit::Edit(TextEdit {
            range: places.range(span),
            new_text: one.insert,
        })),
        label: one.label,
        ..CompletionItem::default()
    }
}

fn symbol_kind(symbol: &Symbol) -> SymbolKind {
    match symbol.stage {
        true => SymbolKind::NAMESPACE,
        false => SymbolKind::FUNCTION,
    }
}

#[allow(deprecated, reason = "the field must be named to be left out")]
pub fn symbol(symbol: Symbol, places: &Places<'_>) -> DocumentSymbol {
    let children: Vec<DocumentSymbol> = symbol
        .children
        .iter()
        .map(|child| self::symbol(child.clone(), places))
        .collect();
    DocumentSymbol {
        kind: symbol_kind(&symbol),
        range: places.range(symbol.whole),
        selection_range: places.range(symbol.span),
        name: symbol.name,
        detail: Some(symbol.detail),
        tags: None,
        deprecated: None,
        children: (!children.is_empty()).then_some(children),
    }
}

/// The same for editors that take no trees.
#[allow(deprecated, reason = "the field must be named to be left out")]
pub fn flat_symbols(
    symbols: Vec<Symbol>,
    inside: Option<&str>,
    places: &Places<'_>,
    found: &mut Vec<SymbolInformation>,
) {
    for symbol in symbols {
        if let Some(location) = places.location(symbol.whole) {
            found.push(SymbolInformation {
                name: symbol.name.clone(),
                kind: symbol_kind(&symbol),
                tags: None,
                deprecated: None,
                location,
                container_name: inside.map(str::to_string),
            });
        }
        flat_symbols(symbol.children, Some(&symbol.name), places, found);
    }
}
