//! The state of a session, and what each message does to it.

use super::actions::{self, FIX_ALL};
use super::answers::{self, Client, MAIN, Places};
use super::buffers::{self, Document, Open};
use super::place::Encoding;
use super::uri;
use super::wire::{self, Incoming};
use crate::cli::Global;
use crate::{FAILED, OK, Streams, explain};
use lsp_server::{ErrorCode, Message, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidChangeWatchedFiles, DidCloseTextDocument, DidOpenTextDocument,
    DidSaveTextDocument, Notification, PublishDiagnostics, ShowMessage,
};
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest, GotoDefinition,
    HoverRequest, References, Request,
};
use lsp_types::{
    CompletionResponse, Diagnostic, DocumentHighlight, DocumentSymbolResponse, FileChangeType,
    GotoDefinitionResponse, Location, MessageType, PublishDiagnosticsParams, Range,
    ShowMessageParams, TextDocumentPositionParams,
};
use rrc_compiler::codes;
use rrc_compiler::ide::{self, Target, View};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A check that takes less than this is made as soon as the editor pauses for breath: nobody types
/// faster, so there is nothing to wait for.
const CHEAP: Duration = Duration::from_millis(25);
const BREATH: Duration = Duration::from_millis(1);
/// How long to wait for the rest of what has begun to arrive.
const ARRIVING: Duration = Duration::from_millis(20);
/// However fast somebody types, findings are not older than this.
const MOST_WAIT: Duration = Duration::from_millis(200);

enum Phase {
    New,
    Running,
    Down,
}

/// Why a request has no answer.
struct Refusal(ErrorCode, String);

pub struct Server<'s, 'w> {
    global: &'s Global,
    streams: &'s mut Streams<'w>,
    open: Open,
    client: Client,
    phase: Phase,
    /// When the first and the last edit came that nothing has been said about.
    first: Option<Instant>,
    last: Instant,
    /// More messages had arrived when the last one was read.
    more: bool,
    /// How long the last check took.
    pace: Duration,
    /// What was last said about the configuration.
    misconfigured: Option<String>,
    /// Findings about files that are not open, by the open file that led there, then by path.
    elsewhere: BTreeMap<String, BTreeMap<String, Vec<Diagnostic>>>,
}

impl<'s, 'w> Server<'s, 'w> {
    pub fn new(global: &'s Global, streams: &'s mut Streams<'w>) -> Server<'s, 'w> {
        Server {
            global,
            streams,
            open: Open::new(),
            client: client(&Value::Null),
            phase: Phase::New,
            first: None,
            last: Instant::now(),
            more: false,
            pace: Duration::ZERO,
            misconfigured: None,
            elsewhere: BTreeMap::new(),
        }
    }

    /// How long to wait for another message before checking; none if nothing is to be checked.
    pub fn wait(&self) -> Option<Duration> {
        let first = self.first?;
        let quiet = match (self.more, self.pace < CHEAP) {
            (true, _) => ARRIVING,
            (false, true) => BREATH,
            (false, false) => self.pace.min(MOST_WAIT),
        };
        let due = (self.last + quiet).min(first + MOST_WAIT);
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Does what a message asks; gives the exit code with the last one.
    pub fn take(&mut self, incoming: Incoming, more: bool) -> io::Result<Option<u8>> {
        self.more = more;
        match incoming {
            Incoming::Malformed(id, words) => self.malformed(id, &words)?,
            Incoming::Message(Message::Request(request)) => {
                let answer = self.request(&request.method, request.params);
                self.respond(request.id, answer)?;
            }
            Incoming::Message(Message::Notification(notification)) => {
                if notification.method == "exit" {
                    let goodbye = matches!(self.phase, Phase::Down);
                    return Ok(Some(if goodbye { OK } else { FAILED }));
                }
                self.notification(&notification.method, notification.params)?;
            }
            // We ask for nothing whose answer matters.
            Incoming::Message(Message::Response(_)) => {}
        }
        if self.first.is_some_and(|first| first.elapsed() > MOST_WAIT) {
            self.check()?;
        }
        Ok(None)
    }

    fn malformed(&mut self, id: Option<Value>, words: &str) -> io::Result<()> {
        self.log(&format!("malformed message: {words}"));
        let code = match id {
            Some(_) => ErrorCode::InvalidRequest,
            None => ErrorCode::ParseError,
        };
        let error = json!({ "code": code as i32, "message": words });
        let id = id.unwrap_or(Value::Null);
        let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        wire::write_value(self.streams.out, &answer)
    }

    fn respond(&mut self, id: RequestId, answer: Result<Value, Refusal>) -> io::Result<()> {
        let response = match answer {
            Ok(value) => Response::new_ok(id, value),
            Err(Refusal(code, words)) => Response::new_err(id, code as i32, words),
        };
        wire::write(self.streams.out, &response.into())
    }

    fn notify<N: Notification>(&mut self, params: N::Params) -> io::Result<()> {
        wire::notify::<N>(self.streams.out, &params)
    }

    fn log(&mut self, words: &str) {
        if self.global.verbose {
            // A log that cannot be written is not worth ending a session.
            let _ = writeln!(self.streams.err, "rrc lsp: {words}");
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, Refusal> {
        match (&self.phase, method) {
            (Phase::New, "initialize") => {
                self.client = client(&params);
                self.phase = Phase::Running;
                return Ok(welcome(&self.client));
            }
            (Phase::New, _) => {
                let words = "`initialize` comes first".to_string();
                return Err(Refusal(ErrorCode::ServerNotInitialized, words));
            }
            (Phase::Running, "initialize") | (Phase::Down, _) => {
                let words = format!("`{method}` cannot be asked any more");
                return Err(Refusal(ErrorCode::InvalidRequest, words));
            }
            (Phase::Running, "shutdown") => {
                self.phase = Phase::Down;
                return Ok(Value::Null);
            }
            (Phase::Running, _) => {}
        }
        // An answer is about the text as it is now.
        self.check()
            .map_err(|error| Refusal(ErrorCode::InternalError, error.to_string()))?;
        match method {
            HoverRequest::METHOD => self.ask::<HoverRequest>(params, |server, params| {
                let asked = params.text_document_position_params;
                server.at(&asked, |view, offset, places| {
                    ide::hover(view, offset).map(|hover| answers::hover(hover, places))
                })?
            }),
            Completion::METHOD => self.ask::<Completion>(params, |server, params| {
                let asked = params.text_document_position;
                server.at(&asked, |view, offset, places| {
                    if !ide::is_recipe(view.text, view.json) {
                        return None;
                    }
                    let all = ide::complete(view, offset).into_iter().enumerate();
                    let items = all.map(|(order, one)| answers::completion(one, order, places));
                    Some(CompletionResponse::Array(items.collect()))
                })?
            }),
            GotoDefinition::METHOD => self.ask::<GotoDefinition>(params, |server, params| {
                let asked = params.text_document_position_params;
                let found = server.definition(&asked)?;
                Some(GotoDefinitionResponse::Array(found))
            }),
            References::METHOD => self.ask::<References>(params, |server, params| {
                let settings = params.context.include_declaration;
                server.at(&params.text_document_position, |view, offset, places| {
                    let spans = ide::references(view, offset, settings).into_iter();
                    spans.filter_map(|span| places.location(span)).collect()
                })
            }),
            DocumentHighlightRequest::METHOD => {
                self.ask::<DocumentHighlightRequest>(params, |server, params| {
                    let asked = params.text_document_position_params;
                    server.at(&asked, |view, offset, places| {
                        let spans = ide::references(view, offset, true).into_iter();
                        let one = |span| DocumentHighlight {
                            range: places.range(span),
                            kind: None,
                        };
                        spans.map(one).collect()
                    })
                })
            }
            DocumentSymbolRequest::METHOD => self
                .ask::<DocumentSymbolRequest>(params, |server, params| {
                    server.symbols(&uri::path(&params.text_document.uri))
                }),
            CodeActionRequest::METHOD => self.ask::<CodeActionRequest>(params, |server, params| {
                let path = uri::path(&params.text_document.uri);
                let Server { open, client, .. } = server;
                let context = &params.context;
                let global = server.global;
                Some(actions::actions(
                    &path,
                    params.range,
                    context,
                    open,
                    client,
                    global,
                ))
            }),
            "rrc/explain" => {
                let written = params.get("code").and_then(Value::as_str).unwrap_or("");
                let code = codes::find(written).ok_or_else(|| {
                    let words = format!("there is no finding `{written}`");
                    Refusal(ErrorCode::InvalidParams, words)
                })?;
                Ok(json!({ "code": code.code, "name": code.name, "text": explain::page(code) }))
            }
            _ => {
                let words = format!("there is no method `{method}`");
                Err(Refusal(ErrorCode::MethodNotFound, words))
            }
        }
    }

    /// Answers a request of a known kind. A mistake of ours is an answer as well.
    fn ask<R: Request>(
        &self,
        params: Value,
        answer: impl FnOnce(&Self, R::Params) -> R::Result,
    ) -> Result<Value, Refusal> {
        let params: R::Params = serde_json::from_value(params)
            .map_err(|error| Refusal(ErrorCode::InvalidParams, error.to_string()))?;
        let internal = |words: String| Refusal(ErrorCode::InternalError, words);
        let answer = catch_unwind(AssertUnwindSafe(|| answer(self, params)))
            .map_err(|_| internal(format!("`{}` failed", R::METHOD)))?;
        serde_json::to_value(answer).map_err(|error| internal(error.to_string()))
    }

    /// Asks about a place in an open file.
    fn at<T>(
        &self,
        asked: &TextDocumentPositionParams,
        answer: impl FnOnce(&View<'_>, u32, &Places<'_>) -> T,
    ) -> Option<T> {
        let path = uri::path(&asked.text_document.uri);
        let document = self.open.get(&path)?;
        let analysis = document.analysis.as_ref()?;
        let encoding = self.client.encoding;
        let offset = document
            .lines
            .offset(&document.text, asked.position, encoding);
        let view = answers::view(&path, document, analysis);
        let places = Places::new(analysis, &self.open, encoding);
        Some(answer(&view, offset as u32, &places))
    }

    fn definition(&self, asked: &TextDocumentPositionParams) -> Option<Vec<Location>> {
        let path = uri::path(&asked.text_document.uri);
        self.at(asked, |view, offset, places| {
            let targets = ide::definition(view, offset).into_iter();
            let found = targets.filter_map(|target| match target {
                Target::Place(span) => places.location(span),
                Target::Recipe(name) => {
                    let found = buffers::find_recipe(&self.open, &name, &path, self.global)?;
                    let open = self.open.get(&found).map(|document| document.uri.clone());
                    let uri = open.or_else(|| uri::of(&found))?;
                    Some(Location::new(uri, Range::default()))
                }
            });
            found.collect()
        })
    }

    fn symbols(&self, path: &str) -> Option<DocumentSymbolResponse> {
        let document = self.open.get(path)?;
        let analysis = document.analysis.as_ref()?;
        let symbols = ide::symbols(&answers::view(path, document, analysis));
        let places = Places::new(analysis, &self.open, self.client.encoding);
        if self.client.nested_symbols {
            let all = symbols.into_iter();
            let tree = all.map(|symbol| answers::symbol(symbol, &places));
            return Some(DocumentSymbolResponse::Nested(tree.collect()));
        }
        let mut flat = Vec::new();
        answers::flat_symbols(symbols, None, &places, &mut flat);
        Some(DocumentSymbolResponse::Flat(flat))
    }

    fn notification(&mut self, method: &str, params: Value) -> io::Result<()> {
        if !matches!(self.phase, Phase::Running) {
            return Ok(());
        }
        let done = match method {
            "initialized" => return self.watch(),
            DidOpenTextDocument::METHOD => {
                serde_json::from_value(params).map(|params| self.opened(params))
            }
            DidChangeTextDocument::METHOD => {
                serde_json::from_value(params).map(|params| self.changed(params))
            }
            DidSaveTextDocument::METHOD => serde_json::from_value(params).map(
                |params: lsp_types::DidSaveTextDocumentParams| {
                    self.touched(&uri::path(&params.text_document.uri));
                },
            ),
            DidChangeWatchedFiles::METHOD => {
                serde_json::from_value(params).map(|params| self.watched(params))
            }
            DidCloseTextDocument::METHOD => match serde_json::from_value(params) {
                Ok(params) => return self.closed(params),
                Err(error) => Err(error),
            },
            _ => Ok(()),
        };
        if let Err(error) = done {
            self.log(&format!("{method}: {error}"));
        }
        Ok(())
    }

    /// Asks the editor to say when files change that it does not show.
    fn watch(&mut self) -> io::Result<()> {
        if !self.client.watches {
            return Ok(());
        }
        let watchers = ["**/*.yaml", "**/*.yml", "**/*.json", "**/rrc.toml"]
            .map(|pattern| json!({ "globPattern": pattern }));
        let registration = json!({
            "id": "files",
            "method": DidChangeWatchedFiles::METHOD,
            "registerOptions": { "watchers": watchers },
        });
        let request = lsp_server::Request::new(
            RequestId::from("files".to_string()),
            "client/registerCapability".to_string(),
            json!({ "registrations": [registration] }),
        );
        wire::write(self.streams.out, &request.into())
    }

    fn edited(&mut self) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = now;
    }

    fn opened(&mut self, params: lsp_types::DidOpenTextDocumentParams) {
        let item = params.text_document;
        let path = uri::path(&item.uri);
        let document = Document::new(item.uri, &path, &item.language_id, item.version, item.text);
        self.open.insert(path.clone(), document);
        self.touched(&path);
        // It may be the one that somebody was looking for.
        self.stale(|document| {
            let analysis = document.analysis.as_ref();
            analysis.is_some_and(|analysis| analysis.asked.missed)
        });
    }

    fn changed(&mut self, params: lsp_types::DidChangeTextDocumentParams) {
        let path = uri::path(&params.text_document.uri);
        let encoding = self.client.encoding;
        let Some(document) = self.open.get_mut(&path) else {
            return self.log(&format!("{path} is not open"));
        };
        for change in params.content_changes {
            document.change(change, encoding);
        }
        document.version = params.text_document.version;
        self.touched(&path);
    }

    fn watched(&mut self, params: lsp_types::DidChangeWatchedFilesParams) {
        for event in params.changes {
            let path = uri::path(&event.uri);
            // What is found by a name depends on which files there are, and on the configuration.
            if event.typ != FileChangeType::CHANGED || path.ends_with("rrc.toml") {
                return self.stale(|_| true);
            }
            if !self.open.contains_key(&path) {
                self.touched(&path);
            }
        }
    }

    fn closed(&mut self, params: lsp_types::DidCloseTextDocumentParams) -> io::Result<()> {
        let path = uri::path(&params.text_document.uri);
        let Some(document) = self.open.remove(&path) else {
            return Ok(());
        };
        // What others have found in it is shown again; without others, nothing is.
        let left = self.elsewhere.remove(&path).unwrap_or_default();
        let found = self.found_in(&path);
        self.publish(document.uri, found, None)?;
        self.publish_elsewhere(left.into_keys().collect())?;
        self.touched(&path);
        Ok(())
    }

    /// A file has changed: it is to be checked, and so is what reads it.
    fn touched(&mut self, path: &str) {
        let reads = |document: &Document| {
            let analysis = document.analysis.as_ref();
            analysis.is_some_and(|analysis| analysis.asked.read.contains(path))
        };
        self.stale(reads);
        if self.open.get(path).is_some_and(|document| document.stale) {
            self.edited();
        }
    }

    fn stale(&mut self, which: impl Fn(&Document) -> bool) {
        let mut any = false;
        for document in self.open.values_mut().filter(|document| which(document)) {
            document.stale = true;
            any = true;
        }
        if any {
            self.edited();
        }
    }

    /// Checks what has changed, and says what was found.
    pub fn check(&mut self) -> io::Result<()> {
        if self.first.take().is_none() {
            return Ok(());
        }
        let stale = self.open.iter().filter(|(_, document)| document.stale);
        let paths: Vec<String> = stale.map(|(path, _)| path.clone()).collect();
        let start = Instant::now();
        let mut misconfigured = None;
        for path in &paths {
            let analysis = buffers::check(&self.open, path, None, self.global);
            let wrong = analysis.as_ref().and_then(|one| one.misconfigured.clone());
            misconfigured = misconfigured.or(wrong);
            let before = self.open.get_mut(path).and_then(|document| {
                document.stale = false;
                std::mem::replace(&mut document.analysis, analysis)
            });
            self.say(path)?;
            // What was found before is given up when the editor has its answer.
            drop(before);
        }
        self.pace = start.elapsed();
        if misconfigured != self.misconfigured {
            self.misconfigured.clone_from(&misconfigured);
            if let Some(message) = misconfigured {
                let typ = MessageType::ERROR;
                self.notify::<ShowMessage>(ShowMessageParams { typ, message })?;
            }
        }
        self.log(&format!("checked {} in {:?}", paths.join(", "), self.pace));
        Ok(())
    }

    /// Publishes what an open file is about.
    fn say(&mut self, path: &str) -> io::Result<()> {
        let Some(document) = self.open.get(path) else {
            return Ok(());
        };
        let (uri, version) = (document.uri.clone(), document.version);
        let mut own = Vec::new();
        let mut others: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
        if let Some(analysis) = &document.analysis
            && answers::is_ours(path, document, analysis)
        {
            let places = Places::new(analysis, &self.open, self.client.encoding);
            for finding in &analysis.checked.report.findings {
                let said = answers::diagnostic(finding, &places, &self.client);
                match finding.span.source {
                    MAIN => own.push(said),
                    other => others.entry(places.path(other)).or_default().push(said),
                }
            }
        }
        self.publish(uri, own, Some(version))?;
        let mut affected: BTreeSet<String> = others.keys().cloned().collect();
        let before = self.elsewhere.insert(path.to_string(), others);
        affected.extend(before.unwrap_or_default().into_keys());
        self.publish_elsewhere(affected)
    }

    /// What open files have found in a file that is not open.
    fn found_in(&self, path: &str) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> = Vec::new();
        let all = self
            .elsewhere
            .values()
            .filter_map(|by_path| by_path.get(path));
        for said in all.flatten() {
            if !found.contains(said) {
                found.push(said.clone());
            }
        }
        found
    }

    fn publish_elsewhere(&mut self, paths: BTreeSet<String>) -> io::Result<()> {
        for path in paths {
            // A file that is open speaks for itself.
            if self.open.contains_key(&path) {
                continue;
            }
            if let Some(uri) = uri::of(&path) {
                let found = self.found_in(&path);
                self.publish(uri, found, None)?;
            }
        }
        Ok(())
    }

    fn publish(
        &mut self,
        uri: lsp_types::Uri,
        diagnostics: Vec<Diagnostic>,
        version: Option<i32>,
    ) -> io::Result<()> {
        self.notify::<PublishDiagnostics>(PublishDiagnosticsParams {
            uri,
            diagnostics,
            version,
        })
    }
}

/// What an editor says about itself. Read with care: what it says wrongly, it cannot do.
fn client(params: &Value) -> Client {
    let says = |pointer: &str| params.pointer(&format!("/capabilities/{pointer}"));
    let can = |pointer: &str| says(pointer).and_then(Value::as_bool) == Some(true);
    let encodings = says("general/positionEncodings").and_then(Value::as_array);
    let bytes = encodings.is_some_and(|all| all.iter().any(|one| one == "utf-8"));
    let explains = params.pointer("/initializationOptions/explain");
    Client {
        encoding: if bytes {
            Encoding::Utf8
        } else {
            Encoding::Utf16
        },
        related: can("textDocument/publishDiagnostics/relatedInformation"),
        tags: says("textDocument/publishDiagnostics/tagSupport")
            .is_some_and(|tags| !tags.is_null()),
        nested_symbols: can("textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
        versioned_edits: can("workspace/workspaceEdit/documentChanges"),
        action_literals: says("textDocument/codeAction/codeActionLiteralSupport")
            .is_some_and(Value::is_object),
        watches: can("workspace/didChangeWatchedFiles/dynamicRegistration"),
        explains: explains.and_then(Value::as_bool) == Some(true),
    }
}

/// What we can do.
fn welcome(client: &Client) -> Value {
    json!({
        "capabilities": {
            "positionEncoding": match client.encoding {
                Encoding::Utf8 => "utf-8",
                Encoding::Utf16 => "utf-16",
            },
            "textDocumentSync": { "openClose": true, "change": 2, "save": true },
            "hoverProvider": true,
            "completionProvider": { "triggerCharacters": ["{", ".", "|", ":", " "] },
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "documentSymbolProvider": true,
            "codeActionProvider": { "codeActionKinds": ["quickfix", FIX_ALL] },
        },
        "serverInfo": { "name": "rrc", "version": env!("CARGO_PKG_VERSION") },
    })
}
