//! What a run was told, on disk, in the order in which the machine was told it.
//!
//! A run is a directory: `plan.rrb`, `journal.jsonl` and long texts in `blobs/`. The journal is only
//! ever appended to, a record a line, each with a checksum over the rest of its line. The first
//! says what runs with which variables; `begin` stands before an effect, `end` after it with the
//! reply; `cut` says what is known of a call that was ended from outside; `resume` starts another life of the run; `finish` says how it ended. With the replies in
//! this order a machine makes the same run again.
//!
//! A call is known by where it stands in the run, not by when it was made. So a run that failed goes
//! on without the replies it failed by, and every other reply is kept, whatever came first: `again`
//! in `finish` names those that are taken back, and `resume` says that they were. What is taken back
//! is decided while the run goes: the last reply of each step that failed, where nothing forgave
//! that (a step that goes on after a failure, another attempt, a step around it that completed);
//! the deadline that ended a step; and what was done because of the failure, such as hooks. Where a
//! run was killed before it could say so, going through its record shows what it would have said.
//!
//! Each record is one write, so nothing that was recorded is lost when rrc is killed. It is not
//! forced to the disk: that costs more than a short step. When the whole machine goes down, the
//! last moments may be missing, and those steps run again. A run that waits for an answer is
//! forced to the disk with all it refers to, as it may have to wait long.

mod lasting;
mod print;
mod value;

use crate::secret::{HIDDEN, Secrets};
use rrc_vm::value::{Map, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value as Json, json};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use value::{Decoder, Encoder};

pub use print::Print;

/// The version of this format. A reader refuses others.
pub const VERSION: u64 = 2;
pub const PLAN: &str = "plan.rrb";
const JOURNAL: &str = "journal.jsonl";
/// What the journal is called when it could not be written to its end: it must not be resumed.
const BROKEN: &str = "journal.broken";
const BLOBS: &str = "blobs";

/// What stands before the part of a line that its checksum is of.
const HEAD: usize = r#"{"crc":"00000000","#.len();

/// What a run is of.
#[derive(Clone, Debug)]
pub struct Start {
    pub run: String,
    /// The recipe's own name, and the file it was read from.
    pub name: String,
    pub file: String,
    /// The content id of the plan.
    pub plan: String,
    pub rrc: String,
    /// Since 1970.
    pub started_ms: u64,
    pub directory: PathBuf,
    pub secrets: Vec<String>,
    /// The tags of the steps that run, and of those that do not.
    pub include_tags: Vec<String>,
    pub exclude_tags: Vec<String>,
    /// Whether what agents change may be staged.
    pub stage: bool,
}

/// How a run ended, as its journal says it.
#[derive(Clone, Debug)]
pub struct Finish {
    pub status: String,
    /// The calls whose replies are taken back when the run goes on.
    pub again: Vec<u64>,
    /// Somebody said no: the run does not go on.
    pub denied: bool,
    /// Why it was stopped, if it did not come to an end by itself.
    pub stopped: Option<String>,
    /// The signal that did.
    pub signal: Option<String>,
}

/// A journal that is being written.
pub struct Journal {
    file: File,
    directory: PathBuf,
    line: Vec<u8>,
    trouble: Option<String>,
    broken: bool,
}

impl Journal {
    /// Begins the record of a run in a directory that does not exist yet.
    pub fn create(
        directory: &Path,
        plan: &[u8],
        start: &Start,
        variables: &Map,
        secrets: &Secrets,
    ) -> io::Result<Journal> {
        if let Some(runs) = directory.parent() {
            std::fs::create_dir_all(runs)?;
            let ignore = runs.parent().map(|above| above.join(".gitignore"));
            if let Some(ignore) = ignore.filter(|ignore| !ignore.exists()) {
                std::fs::write(ignore, "*\n")?;
            }
        }
        std::fs::create_dir(directory)?;
        let begun = Journal::begin_in(directory, plan, start, variables, secrets);
        if begun.is_err() {
            // Half a record would be a run that nobody can read.
            let _ = std::fs::remove_dir_all(directory);
        }
        begun
    }

    fn begin_in(
        directory: &Path,
        plan: &[u8],
        start: &Start,
        variables: &Map,
        secrets: &Secrets,
    ) -> io::Result<Journal> {
        std::fs::write(directory.join(PLAN), plan)?;
        let path = directory.join(JOURNAL);
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(path)?;
        lock(&file)?;
        let mut journal = Journal {
            file,
            directory: directory.to_path_buf(),
            line: Vec::new(),
            trouble: None,
            broken: false,
        };
        let head = json!({
            "v": VERSION,
            "rrc": start.rrc,
            "run": start.run,
            "name": start.name,
            "file": start.file,
            "plan": start.plan,
            "started_ms": start.started_ms,
            "directory": value::path(&start.directory),
            "secrets": start.secrets,
            "include_tags": start.include_tags,
            "exclude_tags": start.exclude_tags,
            "stage": start.stage,
        });
        journal.open("run");
        let head = head.to_string();
        journal.put(&head[1..head.len() - 1]);
        journal.put(",\"variables\":");
        let encoder = journal.encoder(secrets);
        let mut line = std::mem::take(&mut journal.line);
        // A secret variable is not recorded at all, whatever it holds.
        line.push(b'{');
        for (index, (name, value)) in variables.iter().enumerate() {
            if index > 0 {
                line.push(b',');
            }
            value::string(name, &mut line)?;
            line.push(b':');
            let empty = matches!(value, Value::Null)
                || matches!(value, Value::Text(text) if text.trim().is_empty());
            match secrets.is_secret(name) && !empty {
                true => write!(line, "{}", json!({"$secret": **name}))?,
                false => encoder.value(value, &mut line)?,
            }
        }
        line.push(b'}');
        journal.line = line;
        journal.close()?;
        Ok(journal)
    }

    /// Goes on with a record that was read, without the replies to these calls. What is behind its last
    /// whole line is cut off.
    pub fn reopen(recorded: &Recorded, again: &[u64]) -> io::Result<Journal> {
        let path = recorded.directory.join(JOURNAL);
        let opened = OpenOptions::new().read(true).append(true).open(&path);
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut file = opened.map_err(named)?;
        lock(&file)?;
        let mut rest = Vec::new();
        file.seek(SeekFrom::Start(recorded.whole))?;
        file.read_to_end(&mut rest)?;
        let mut lines = rest.split_inclusive(|byte| *byte == b'\n');
        if lines.next().is_some_and(|line| record(line).is_some()) {
            return Err(io::Error::other("somebody else has gone on with it"));
        }
        file.set_len(recorded.whole)?;
        let mut journal = Journal {
            file,
            directory: recorded.directory.clone(),
            line: Vec::new(),
            trouble: None,
            broken: false,
        };
        journal.open("resume");
        journal.put(&format!("\"again\":{}", json!(again)));
        journal.close()?;
        Ok(journal)
    }

    fn encoder<'s>(&self, secrets: &'s Secrets) -> Encoder<'s> {
        Encoder {
            blobs: self.directory.join(BLOBS),
            secrets,
        }
    }

    fn open(&mut self, kind: &str) {
        self.line.clear();
        self.put("{\"crc\":\"00000000\",\"t\":\"");
        self.put(kind);
        self.put("\",");
    }

    fn put(&mut self, text: &str) {
        self.line.extend_from_slice(text.as_bytes());
    }

    fn close(&mut self) -> io::Result<()> {
        self.line.push(b'}');
        let crc = format!("{:08x}", crc32c::crc32c(&self.line[HEAD..]));
        self.line[HEAD - 10..HEAD - 2].copy_from_slice(crc.as_bytes());
        self.line.push(b'\n');
        self.file.write_all(&self.line)
    }

    /// A record that cannot be written ends the recording: with a hole in it the journal would make
    /// completed steps run again.
    fn attempt(&mut self, write: impl FnOnce(&mut Journal) -> io::Result<()>) {
        if self.broken {
            return;
        }
        if let Err(error) = write(self) {
            self.broken = true;
            self.trouble = Some(error.to_string());
            let _ = std::fs::rename(self.directory.join(JOURNAL), self.directory.join(BROKEN));
        }
    }

    /// Why the recording ended, said once.
    pub fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Whether the recording ended before the run.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// `since` is when a question was first put, since 1970: it may be answered in another life.
    pub fn begin(&mut self, ticket: u64, print: Print, step: &str, ms: u64, since: Option<u64>) {
        self.attempt(|journal| {
            journal.open("begin");
            write!(
                journal.line,
                "\"k\":{ticket},\"ms\":{ms},\"call\":\"{}\",\"print\":\"{:08x}{:x}\",\"step\":",
                print.kind.word(),
                print.crc,
                print.length,
            )?;
            value::string(step, &mut journal.line)?;
            if print.hidden > 0 {
                write!(journal.line, ",\"hidden\":{}", print.hidden)?;
            }
            if let Some(since) = since {
                write!(journal.line, ",\"since\":{since}")?;
            }
            journal.close()
        });
    }

    pub fn end(&mut self, ticket: u64, value: &Value, ms: u64, secrets: &Secrets) {
        self.put_reply("end", ticket, value, (ms, secrets));
    }

    /// What a call would have replied that was ended from outside.
    pub fn cut(&mut self, ticket: u64, value: &Value, ms: u64, secrets: &Secrets) {
        self.put_reply("cut", ticket, value, (ms, secrets));
    }

    fn put_reply(
        &mut self,
        kind: &str,
        ticket: u64,
        value: &Value,
        (ms, secrets): (u64, &Secrets),
    ) {
        let encoder = self.encoder(secrets);
        self.attempt(|journal| {
            journal.open(kind);
            write!(journal.line, "\"k\":{ticket},\"ms\":{ms},\"reply\":")?;
            encoder.value(value, &mut journal.line)?;
            journal.close()
        });
    }

    pub fn finish(&mut self, finish: &Finish, ms: u64, keep: bool) {
        self.attempt(|journal| {
            journal.open("finish");
            let rest = json!({
                "status": finish.status,
                "ms": ms,
                "again": finish.again,
                "denied": finish.denied,
                "stopped": finish.stopped,
                "signal": finish.signal,
            });
            let rest = rest.to_string();
            journal.put(&rest[1..rest.len() - 1]);
            journal.close()?;
            if keep {
                lasting::force(&journal.directory)?;
            }
            Ok(())
        });
    }
}

/// A journal that was read.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub directory: PathBuf,
    pub start: Start,
    pub finish: Option<Finish>,
    /// How often the run was taken up again.
    pub resumed: u32,
    /// The time of the last record, since the start, without pauses.
    pub ms: u64,
    variables: Json,
    replies: Vec<(u64, Json, u64)>,
    begun: FxHashMap<u64, Begun>,
    /// What is known of calls that were ended from outside in its last life.
    cut: Vec<(u64, Json)>,
    /// Replies were taken back: those that are left may have been told in another order.
    reordered: bool,
    /// Bytes of whole lines.
    whole: u64,
}

/// A call that was begun.
#[derive(Clone, Debug)]
pub struct Begun {
    pub kind: String,
    pub print: String,
    pub step: String,
    pub hidden: u64,
    pub since: Option<u64>,
}

impl Begun {
    pub fn is(&self, print: Print) -> bool {
        self.kind == print.kind.word()
            && self.print == format!("{:08x}{:x}", print.crc, print.length)
    }
}

/// What is needed to make a recorded run again.
#[derive(Clone, Debug, Default)]
pub struct Past {
    pub variables: Map,
    /// Tickets, replies and when they came, in order.
    pub replies: Vec<(u64, Value, u64)>,
    /// Whether they were told in exactly this order.
    pub in_order: bool,
    pub begun: FxHashMap<u64, Begun>,
    /// What is known of calls that were ended from outside; only for showing the run again.
    pub cut: FxHashMap<u64, Value>,
    pub finish: Option<Finish>,
    pub ms: u64,
    /// Secrets that are not known.
    pub missing: Vec<String>,
    /// Steps whose output held something that was hidden and has no name.
    pub lost: Vec<String>,
    /// Something was hidden that cannot be put back: calls that hold it look different.
    pub blurred: bool,
}

impl Past {
    /// Forgets the replies to these calls.
    pub fn take_back(&mut self, again: &[u64]) {
        self.in_order &= again.is_empty();
        take_back(again, &mut self.replies, &mut self.begun);
    }
}

fn take_back<T>(
    again: &[u64],
    replies: &mut Vec<(u64, T, u64)>,
    begun: &mut FxHashMap<u64, Begun>,
) {
    let again: FxHashSet<u64> = again.iter().copied().collect();
    replies.retain(|(ticket, ..)| !again.contains(ticket));
    // It is known that it ended; that it runs again is what was asked for.
    begun.retain(|ticket, _| !again.contains(ticket));
}

/// Reads the journal of a run. Its last line may be torn; it then did not happen.
pub fn read(directory: &Path) -> Result<Recorded, String> {
    let path = directory.join(JOURNAL);
    if directory.join(BROKEN).exists() {
        return Err("it could not be recorded to its end".to_string());
    }
    let bytes = match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| format!("{}: {error}", path.display())),
    }?;
    let mut recorded = None;
    let mut whole = 0;
    let mut torn = None;
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Some(record) = record(line) else {
            torn = torn.or(Some(number + 1));
            continue;
        };
        if let Some(torn) = torn {
            return Err(format!("line {torn} of {} is damaged", path.display()));
        }
        whole += line.len() as u64;
        match &mut recorded {
            None => recorded = Some(Recorded::begin(directory, &record)?),
            Some(recorded) => recorded
                .add(&record)
                .ok_or_else(|| format!("line {} of {} is damaged", number + 1, path.display()))?,
        }
    }
    let mut recorded = recorded.ok_or_else(|| match bytes.contains(&b'\n') {
        true => format!("line 1 of {} is damaged", path.display()),
        false => "it has not begun: nothing of it is recorded".to_string(),
    })?;
    recorded.whole = whole;
    Ok(recorded)
}

/// Takes a journal for writing. Whoever looks whether somebody writes it holds it for a moment.
fn lock(file: &File) -> io::Result<()> {
    for _ in 0..40 {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
            locked => return Ok(locked?),
        }
    }
    Ok(file.try_lock()?)
}

/// Whether somebody writes the journal of a run.
pub fn is_running(directory: &Path) -> bool {
    let file = File::open(directory.join(JOURNAL));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The same for somebody who would go on with it: what an rrc that is gone was just starting holds the
/// journal for a moment.
pub fn stays_running(directory: &Path) -> bool {
    let locked = File::open(directory.join(JOURNAL)).and_then(|file| lock(&file));
    locked.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

fn record(line: &[u8]) -> Option<Json> {
    let line = line.strip_suffix(b"\n")?;
    let crc = std::str::from_utf8(line.get(HEAD - 10..HEAD - 2)?).ok()?;
    let crc = u32::from_str_radix(crc, 16).ok()?;
    if crc32c::crc32c(line.get(HEAD..)?) != crc {
        return None;
    }
    serde_json::from_slice(line).ok()
}

fn again(record: &Json) -> Vec<u64> {
    let all = record["again"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter_map(Json::as_u64).collect()
}

impl Recorded {
    fn begin(directory: &Path, record: &Json) -> Result<Recorded, String> {
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_string();
        if record["t"] != "run" {
            return Err("the journal does not start as one".to_string());
        }
        if record["v"] != VERSION {
            return Err(format!(
                "the journal was written by rrc {} in a format that this version does not know",
                text("rrc")
            ));
        }
        let texts = |name: &str| -> Vec<String> {
            let texts = record[name].as_array().map_or(&[][..], Vec::as_slice);
            let texts = texts.iter().filter_map(Json::as_str);
            texts.map(String::from).collect()
        };
        Ok(Recorded {
            directory: directory.to_path_buf(),
            start: Start {
                run: text("run"),
                name: text("name"),
                file: text("file"),
                plan: text("plan"),
                rrc: text("rrc"),
                started_ms: record["started_ms"].as_u64().unwrap_or_default(),
                directory: value::path_of(&record["directory"]),
                secrets: texts("secrets"),
                include_tags: texts("include_tags"),
                exclude_tags: texts("exclude_tags"),
                stage: record["stage"].as_bool().unwrap_or(true),
            },
            finish: None,
            resumed: 0,
            ms: 0,
            variables: record["variables"].clone(),
            replies: Vec::new(),
            begun: FxHashMap::default(),
            cut: Vec::new(),
            reordered: false,
            whole: 0,
        })
    }

    fn add(&mut self, record: &Json) -> Option<()> {
        let ticket = record["k"].as_u64();
        let text = |name: &str| record[name].as_str().map(String::from);
        self.ms = record["ms"].as_u64().unwrap_or(self.ms);
        match record["t"].as_str()? {
            "begin" => {
                let begun = Begun {
                    kind: text("call")?,
                    print: text("print")?,
                    step: text("step")?,
                    hidden: record["hidden"].as_u64().unwrap_or_default(),
                    since: record["since"].as_u64(),
                };
                self.begun.insert(ticket?, begun);
            }
            "end" => self
                .replies
                .push((ticket?, record["reply"].clone(), self.ms)),
            "cut" => self.cut.push((ticket?, record["reply"].clone())),
            "resume" => {
                self.finish = None;
                self.cut.clear();
                self.resumed += 1;
                self.take_back(&again(record));
            }
            "finish" => {
                self.finish = Some(Finish {
                    status: text("status")?,
                    again: again(record),
                    denied: record["denied"].as_bool().unwrap_or(false),
                    stopped: text("stopped"),
                    signal: text("signal"),
                });
            }
            _ => return None,
        }
        Some(())
    }

    fn take_back(&mut self, again: &[u64]) {
        self.reordered |= !again.is_empty();
        take_back(again, &mut self.replies, &mut self.begun);
    }

    /// How many steps have run to their end, however often they were tried.
    pub fn done(&self) -> usize {
        let ended = self.replies.iter().filter_map(|(ticket, ..)| {
            let begun = self.begun.get(ticket)?;
            let is_step = matches!(begun.kind.as_str(), "exec" | "agent");
            is_step.then_some(begun.step.as_str())
        });
        ended.collect::<FxHashSet<_>>().len()
    }

    /// The words for how it stands.
    pub fn status(&self) -> &str {
        match &self.finish {
            Some(finish) => &finish.status,
            None if is_running(&self.directory) => "running",
            None => "interrupted",
        }
    }

    /// The past as it was, without the replies to these calls.
    pub fn past(&self, again: &[u64], secrets: &Secrets) -> Result<Past, String> {
        let mut recorded = self.clone();
        recorded.take_back(again);
        // What was kept for later and told then is recorded twice.
        let mut known = FxHashSet::default();
        recorded.replies.reverse();
        recorded
            .replies
            .retain(|(ticket, ..)| known.insert(*ticket));
        recorded.replies.reverse();
        let blobs = self.directory.join(BLOBS);
        let mut decoder = Decoder::new(&blobs, secrets);
        let mut past = Past {
            begun: recorded.begun,
            finish: recorded.finish,
            ms: recorded.ms,
            in_order: !recorded.reordered,
            ..Past::default()
        };
        for (name, json) in recorded.variables.as_object().into_iter().flatten() {
            let value = match json.get("$secret") {
                // Who takes the run up again puts it in.
                Some(_) => Value::text(HIDDEN),
                None => decoder.value(json)?,
            };
            if decoder.lost {
                decoder.lost = false;
                past.missing.push(name.clone());
            }
            past.variables.insert(name.as_str().into(), value);
        }
        for (ticket, json, ms) in &recorded.replies {
            let value = decoder.value(json)?;
            past.blurred |= decoder.lost;
            if std::mem::take(&mut decoder.lost) && in_output(json) {
                let begun = past.begun.get(ticket);
                past.lost.extend(begun.map(|begun| begun.step.clone()));
            }
            past.replies.push((*ticket, value, *ms));
        }
        past.blurred |= !decoder.missing.is_empty();
        past.missing.append(&mut decoder.missing);
        Ok(past)
    }

    /// The past for showing the run again as it was.
    pub fn whole_past(&self, secrets: &Secrets) -> Result<Past, String> {
        let mut past = self.past(&[], secrets)?;
        let blobs = self.directory.join(BLOBS);
        let mut decoder = Decoder::new(&blobs, secrets);
        for (ticket, json) in &self.cut {
            past.cut.insert(*ticket, decoder.value(json)?);
        }
        Ok(past)
    }
}

/// Whether something without a name was hidden in what later steps may read.
fn in_output(json: &Json) -> bool {
    fn hidden(json: &Json) -> bool {
        match json {
            Json::Array(items) => items.iter().any(hidden),
            Json::Object(fields) => {
                fields.get("$s").is_some_and(Json::is_null) || fields.values().any(hidden)
            }
            _ => false,
        }
    }
    let data = json.get("$!").map_or(json, |failure| &failure[2]);
    data.get("stdout").is_some_and(hidden)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
