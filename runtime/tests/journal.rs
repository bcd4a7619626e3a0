//! Journals that more than one process wants to write.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a suite fails by panicking"
)]

use rrc_runtime::journal::{self, Journal, Start};
use rrc_runtime::secret::Secrets;
use rrc_vm::value::Map;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("rrc-journal-{}-{name}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn create(directory: &Path) -> std::io::Result<Journal> {
    let start = Start {
        run: "one".to_string(),
        name: "t".to_string(),
        file: "t.yaml".to_string(),
        plan: String::new(),
        rrc: String::new(),
        started_ms: 0,
        directory: PathBuf::from("/"),
        secrets: Vec::new(),
        include_tags: Vec::new(),
        exclude_tags: Vec::new(),
        stage: false,
    };
    let secrets = Secrets::new(Vec::new());
    Journal::create(directory, b"plan", &start, &Map::default(), &secrets)
}

#[test]
fn what_somebody_else_has_added_is_not_cut_off() {
    let folder = Folder::new("added");
    let directory = folder.0.join("runs/one");
    drop(create(&directory).unwrap());
    let recorded = journal::read(&directory).unwrap();
    let writing = Journal::reopen(&recorded, &[]).unwrap();
    let refused = Journal::reopen(&recorded, &[]).err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::WouldBlock);
    drop(writing);
    let before = std::fs::read(directory.join("journal.jsonl")).unwrap();
    let refused = Journal::reopen(&recorded, &[]).err().unwrap();
    assert_eq!(refused.to_string(), "somebody else has gone on with it");
    let after = std::fs::read(directory.join("journal.jsonl")).unwrap();
    assert_eq!(before, after);
    // Half a line was nobody's.
    let recorded = journal::read(&directory).unwrap();
    std::fs::write(
        directory.join("journal.jsonl"),
        [&after[..], b"{\"crc"].concat(),
    )
    .unwrap();
    Journal::reopen(&recorded, &[]).unwrap();
}

#[test]
fn to_look_who_writes_a_journal_keeps_nobody_from_writing_it() {
    let folder = Folder::new("looked");
    let directory = folder.0.join("runs/one");
    drop(create(&directory).unwrap());
    let recorded = journal::read(&directory).unwrap();
    let looking = std::fs::File::open(directory.join("journal.jsonl")).unwrap();
    looking.lock_shared().unwrap();
    let ends = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(10));
        drop(looking);
    });
    Journal::reopen(&recorded, &[]).unwrap();
    ends.join().unwrap();
}
