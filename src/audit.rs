//! `--audit-dir`: a line of JSON per step, written as the steps end.

use crate::results::{Clock, PAUSED, word};
use rrc_runtime::event::{Event, RecordId, What};
use rrc_vm::isa::Status;
use rrc_vm::text::render;
use rrc_vm::value::Value;
use serde_json::json;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Bytes of the recipe's name that a file has room for, beside the time.
const LONGEST_NAME: usize = 200;

/// The file of one run, and what is known of its steps so far.
pub struct Audit {
    file: File,
    /// When each open step started.
    open: HashMap<RecordId, u64>,
}

impl Audit {
    /// A new file named after the recipe and the time; the directory is made.
    pub fn create(directory: &Path, recipe: &str, clock: &Clock) -> io::Result<Audit> {
        std::fs::create_dir_all(directory)?;
        let safe = |c: char| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        };
        let mut recipe: String = recipe.chars().map(safe).collect();
        // No file has a longer name, whatever the recipe is called.
        recipe.truncate(recipe.floor_char_boundary(LONGEST_NAME));
        let time = clock.timestamp(0).replace([':', '.'], "-");
        Ok(Audit {
            file: new_file(directory, &format!("{recipe}_{time}"))?,
            open: HashMap::new(),
        })
    }

    pub fn see(&mut self, event: &Event) -> io::Result<()> {
        let Some(step) = &event.step else {
            return Ok(());
        };
        let (status, error, length) = match (&event.what, step.record) {
            (What::StepStart | What::Iteration { .. }, Some(record)) => {
                self.open.insert(record, event.at_ms);
                return Ok(());
            }
            (
                What::StepEnd {
                    status,
                    result,
                    output,
                },
                _,
            ) => {
                let error = match result {
                    Value::Failure(failure) => Some(failure.message.to_string()),
                    _ => None,
                };
                (word(Some(*status)), error, render(output).len())
            }
            (What::StepSkip, _) => (Status::Skipped.word(), None, 0),
            (What::StepPause, _) => (PAUSED, None, 0),
            _ => return Ok(()),
        };
        let opened = step.record.and_then(|record| self.open.remove(&record));
        let started = opened.unwrap_or(event.at_ms);
        let line = json!({
            "step_id": step.id,
            "status": status,
            "duration_ms": event.at_ms.saturating_sub(started),
            "error": error,
            "output_len": length,
        });
        // In one piece: whoever reads while it runs finds whole lines.
        self.file.write_all(format!("{line}\n").as_bytes())
    }
}

/// A file that was not there: two runs may start in one millisecond, and a run that is shown again has
/// the time of the first.
fn new_file(directory: &Path, name: &str) -> io::Result<File> {
    let mut path = directory.join(format!("{name}.jsonl"));
    let mut number = 2;
    loop {
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                path = directory.join(format!("{name}-{number}.jsonl"));
                number += 1;
            }
            made => return made,
        }
    }
}
