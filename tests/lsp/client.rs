//! An editor of few words: it frames messages by hand, and waits for what it expects.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Nothing that is tested takes this long, on a machine however busy.
const HANGS: Duration = Duration::from_secs(60);

/// A folder that is gone after the test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("rrc-lsp-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder can be made");
        Folder(path.canonicalize().expect("the folder is there"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).expect("a file can be written");
    }

    pub fn uri(&self, name: &str) -> String {
        format!("file://{}/{name}", self.0.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// What came while something else was waited for.
    kept: Vec<Value>,
    next: i64,
}

impl Editor {
    /// Starts the server, without a word to it.
    pub fn start(folder: &Folder, args: &[&str]) -> Editor {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rrc"))
            .arg("lsp")
            .args(args)
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let output = child.stdout.take().expect("it has an output");
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Editor {
            input: child.stdin.take(),
            child,
            messages,
            kept: Vec::new(),
            next: 0,
        }
    }

    /// Starts a session as a modern editor would.
    pub fn open(folder: &Folder) -> Editor {
        Editor::open_with(folder, &[], modern())
    }

    pub fn open_with(folder: &Folder, args: &[&str], capabilities: Value) -> Editor {
        let mut editor = Editor::start(folder, args);
        editor.hello(capabilities);
        editor
    }

    pub fn hello(&mut self, capabilities: Value) -> Value {
        let params = json!({
            "processId": null,
            "rootUri": null,
            "capabilities": capabilities,
            "initializationOptions": { "explain": true },
        });
        let welcome = self.ask("initialize", params);
        self.tell("initialized", json!({}));
        welcome
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("the server reads");
        input.flush().expect("the server reads");
    }

    pub fn send(&mut self, message: &Value) {
        let bytes = framed(message);
        self.raw(&bytes);
    }

    pub fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and gives back the whole answer.
    pub fn ask_whole(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask_whole(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The next message that fits, among those that came and those to come.
    pub fn wait(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at);
        }
        loop {
            match self.messages.recv_timeout(HANGS) {
                Ok(message) if fits(&message) => return message,
                Ok(message) => self.kept.push(message),
                Err(error) => panic!("{error}; so far: {:#?}", self.kept),
            }
        }
    }

    pub fn has_more(&mut self, within: Duration) -> bool {
        match self.messages.recv_timeout(within) {
            Ok(message) => {
                self.kept.push(message);
                true
            }
            Err(_) => false,
        }
    }

    /// What was published about a file at a version; older ones are forgotten.
    pub fn findings(&mut self, uri: &str, version: Option<i64>) -> Vec<Value> {
        let about = |message: &Value| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
                && version.is_none_or(|version| message["params"]["version"] == version)
        };
        let found = self.wait(about);
        let found = found["params"]["diagnostics"].as_array();
        found.expect("a list").clone()
    }

    pub fn open_text(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "yaml", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub fn change(&mut self, uri: &str, version: i64, changes: Value) {
        let params = change(uri, version, changes);
        self.tell("textDocument/didChange", params);
    }

    pub fn at(&mut self, method: &str, uri: &str, line: u32, character: u32) -> Value {
        let params = json!({
            "textDocument": { "uri": uri },
            "position": { "line": line, "character": character },
            "context": { "includeDeclaration": true, "triggerKind": 1 },
        });
        self.ask(method, params)
    }

    pub fn actions(&mut self, uri: &str, only: Option<&str>) -> Vec<Value> {
        let everything = json!({
            "start": { "line": 0, "character": 0 },
            "end": { "line": 9999, "character": 0 },
        });
        let mut context = json!({ "diagnostics": [] });
        if let Some(only) = only {
            context["only"] = json!([only]);
        }
        let params = json!({
            "textDocument": { "uri": uri }, "range": everything, "context": context,
        });
        let found = self.ask("textDocument/codeAction", params);
        found.as_array().expect("a list").clone()
    }

    /// Closes its input and gives the exit code, and what went to stderr.
    pub fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let status = self.child.wait().expect("the server can be waited for");
        let mut said = String::new();
        if let Some(mut err) = self.child.stderr.take() {
            let _ = err.read_to_string(&mut said);
        }
        (status.code(), said)
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn change(uri: &str, version: i64, changes: Value) -> Value {
    json!({
        "textDocument": { "uri": uri, "version": version },
        "contentChanges": changes,
    })
}

pub fn framed(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        match line.strip_prefix("Content-Length: ") {
            Some(number) => length = number.parse().expect("a length"),
            None if line.is_empty() => break,
            None => panic!("`{line}` is no header"),
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).expect("JSON"))
}

pub fn modern() -> Value {
    json!({
        "textDocument": {
            "publishDiagnostics": { "relatedInformation": true, "tagSupport": { "valueSet": [1] } },
            "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
            "codeAction": {
                "codeActionLiteralSupport": { "codeActionKind": { "valueSet": ["quickfix"] } },
                "isPreferredSupport": true,
            },
        },
        "workspace": { "workspaceEdit": { "documentChanges": true } },
    })
}

/// Applies edits as an editor does, in UTF-16 or in bytes.
pub fn applied(text: &str, edits: &[Value], utf16: bool) -> String {
    let offset = |position: &Value| {
        let line = position["line"].as_u64().expect("a line") as usize;
        let wanted = position["character"].as_u64().expect("a column") as usize;
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        let mut units = 0;
        let mut at = start;
        for c in text[start..].chars().take_while(|c| *c != '\n') {
            if units >= wanted {
                break;
            }
            units += if utf16 { c.len_utf16() } else { c.len_utf8() };
            at += c.len_utf8();
        }
        assert!(
            units == wanted,
            "{position} is inside of a character or beyond its line"
        );
        at
    };
    let mut all: Vec<(usize, usize, &str)> = edits
        .iter()
        .map(|edit| {
            let range = &edit["range"];
            let new = edit["newText"].as_str().expect("a text");
            (offset(&range["start"]), offset(&range["end"]), new)
        })
        .collect();
    all.sort_unstable();
    let mut out = text.to_string();
    for (start, end, new) in all.into_iter().rev() {
        out.replace_range(start..end, new);
    }
    out
}
