//! A run as one object of JSON, written as it is told: thousands of steps are not put together first.

use crate::results::{PAUSED, runner_names, word};
use rrc_runtime::driver::{Outcome, Settings};
use rrc_runtime::record::{Attempts, Record, Records};
use rrc_vm::convert::to_json;
use rrc_vm::plan::Plan;
use rrc_vm::value::Value;
use std::io::{self, BufWriter, Write};

/// How much is written at once.
const BUFFER: usize = 64 << 10;

/// Writes what came of a run, in one line.
pub fn write(
    plan: &Plan,
    outcome: &Outcome,
    settings: &Settings,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER, out);
    let records = &outcome.records;
    let mut report = Object::begin(&mut out)?;
    report.text("recipe_name", plan.texts.get(plan.name).unwrap_or_default())?;
    report.text("dialect", plan.texts.get(plan.dialect).unwrap_or_default())?;
    report.text("status", outcome.status.word())?;
    report.flag("success", outcome.status.is_success())?;
    report.text("run_id", &settings.run_id)?;
    report.text_or_null("error", outcome.error.as_deref())?;
    steps(records, records.top(), report.field("step_results")?)?;
    let hidden: Vec<&str> = runner_names(plan).collect();
    let mut context = Object::begin(report.field("context")?)?;
    for (name, value) in &outcome.variables {
        if !hidden.contains(&&**name) {
            context.value(name, value)?;
        }
    }
    context.end()?;
    let ms = u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX);
    report.number("duration_ms", ms)?;
    report.warnings(&records.warnings)?;
    report.end()?;
    out.write_all(b"\n")?;
    out.flush()
}

fn steps<'r>(
    records: &Records,
    which: impl Iterator<Item = &'r Record>,
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (number, record) in which.enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        step(records, record, out)?;
    }
    out.write_all(b"]")
}

fn step(records: &Records, record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let mut report = Object::begin(out)?;
    report.text("step_id", &record.id)?;
    let status = match record.paused {
        true => PAUSED,
        false => word(record.status),
    };
    report.text("status", status)?;
    report.value("output", &record.output)?;
    report.text_or_null("error", record.error.as_deref())?;
    match record.exit_code {
        Some(code) => report.number("exit_code", code)?,
        None => report.text_or_null("exit_code", None)?,
    }
    report.number("attempts", record.attempts)?;
    report.number("duration_ms", record.duration_ms())?;
    report.flag("stdout_truncated", record.stdout_truncated)?;
    report.flag("stderr_truncated", record.stderr_truncated)?;
    let inside = records.inside(record, Attempts::All);
    steps(records, inside, report.field("step_results")?)?;
    report.warnings(&record.warnings)?;
    report.end()
}

/// An object that is being written.
struct Object<'o> {
    out: &'o mut dyn Write,
    is_empty: bool,
}

impl<'o> Object<'o> {
    fn begin(out: &'o mut dyn Write) -> io::Result<Object<'o>> {
        out.write_all(b"{")?;
        Ok(Object {
            out,
            is_empty: true,
        })
    }

    fn end(self) -> io::Result<()> {
        self.out.write_all(b"}")
    }

    /// Where the value of the next field is to be written.
    fn field(&mut self, name: &str) -> io::Result<&mut dyn Write> {
        if !std::mem::take(&mut self.is_empty) {
            self.out.write_all(b",")?;
        }
        serde_json::to_writer(&mut *self.out, name)?;
        self.out.write_all(b":")?;
        Ok(&mut *self.out)
    }

    fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        Ok(serde_json::to_writer(self.field(name)?, text)?)
    }

    fn text_or_null(&mut self, name: &str, text: Option<&str>) -> io::Result<()> {
        match text {
            Some(text) => self.text(name, text),
            None => self.field(name)?.write_all(b"null"),
        }
    }

    fn flag(&mut self, name: &str, flag: bool) -> io::Result<()> {
        let word: &[u8] = if flag { b"true" } else { b"false" };
        self.field(name)?.write_all(word)
    }

    fn number(&mut self, name: &str, number: impl itoa::Integer) -> io::Result<()> {
        let mut digits = itoa::Buffer::new();
        self.field(name)?
            .write_all(digits.format(number).as_bytes())
    }

    fn value(&mut self, name: &str, value: &Value) -> io::Result<()> {
        match value {
            Value::Null => self.text_or_null(name, None),
            Value::Text(text) => self.text(name, text),
            other => Ok(serde_json::to_writer(self.field(name)?, &to_json(other))?),
        }
    }

    fn warnings(&mut self, warnings: &[String]) -> io::Result<()> {
        match warnings {
            [] => Ok(()),
            _ => Ok(serde_json::to_writer(self.field("warnings")?, warnings)?),
        }
    }
}
