//! What a run looks like from outside: lines as it goes, a summary or one object at its end.

use rrc_runtime::driver::{Outcome, Settings};
use rrc_runtime::event::{Event, What};
use rrc_runtime::record::exit_code;
use rrc_vm::convert::to_json;
use rrc_vm::isa::Status;
use rrc_vm::plan::Plan;
use rrc_vm::value::Value;
use serde_json::{Value as Json, json};
use std::io::{self, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Lines of output that are shown of a step that failed.
const TAIL_LINES: usize = 12;

/// When the run started.
pub struct Clock {
    started: Duration,
}

impl Clock {
    pub fn now() -> Clock {
        Clock {
            started: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
        }
    }

    /// The clock of a run that started then.
    pub fn at(since_1970_ms: u64) -> Clock {
        Clock {
            started: Duration::from_millis(since_1970_ms),
        }
    }

    pub fn since_1970_ms(&self) -> u64 {
        u64::try_from(self.started.as_millis()).unwrap_or(u64::MAX)
    }

    /// The time so many milliseconds after the start, as RFC 3339 in UTC.
    pub fn timestamp(&self, after_ms: u64) -> String {
        let at = self.started + Duration::from_millis(after_ms);
        let [year, month, day, hour, minute, second] = civil(at.as_secs());
        let ms = at.subsec_millis();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
    }

    /// A name for the run: when it started, and enough to tell it from others of that second.
    pub fn run_id(&self) -> String {
        let [year, month, day, hour, minute, second] = civil(self.started.as_secs());
        let rest = (self.started.subsec_nanos() ^ std::process::id().rotate_left(16)) & 0xff_ffff;
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}-{rest:06x}")
    }
}

/// Seconds since 1970 as year, month, day, hour, minute, second.
fn civil(seconds: u64) -> [u64; 6] {
    let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [
        31,
        28 + u64::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    [
        year,
        month,
        days + 1,
        rest / 3600,
        rest / 60 % 60,
        rest % 60,
    ]
}

/// Variables that only the runner can give; they are not the recipe's own.
pub fn runner_names(plan: &Plan) -> impl Iterator<Item = &str> {
    plan.inputs
        .iter()
        .filter(|input| input.default.is_none())
        .filter_map(|input| plan.texts.get(input.name))
}

/// One event as a line of JSON.
pub fn event_line(
    event: &Event,
    settings: &Settings,
    clock: &Clock,
    out: &mut dyn Write,
) -> io::Result<()> {
    let step = event.step.as_ref();
    let mut line = json!({
        "event": event.name(),
        "seq": event.seq,
        "ts": clock.timestamp(event.at_ms),
        "run_id": settings.run_id,
        "step_id": step.map(|step| step.id.as_str()),
        "path": step.map(|step| step.path.as_str()),
    });
    let mut put = |name: &str, value: Json| line[name] = value;
    if event.replayed {
        put("replayed", json!(true));
    }
    match &event.what {
        What::RunStart { recipe } => put("recipe", json!(recipe)),
        What::StepStart | What::StepSkip | What::StepInterrupted => {}
        What::StepPause => put("status", json!(PAUSED)),
        What::StepRetry { attempt } => put("attempt", json!(attempt)),
        What::StepOutput { stderr, line } => {
            put("stream", json!(if *stderr { "stderr" } else { "stdout" }));
            put("line", json!(line));
        }
        What::StepStored { .. } => return Ok(()),
        What::StepWarning { text } | What::RunWarning { text } => put("message", json!(text)),
        What::ApprovalRequested { prompt } => put("prompt", json!(prompt)),
        What::ApprovalAnswered { approved } => put("approved", json!(approved)),
        What::Iteration { number } => put("iteration", json!(number.saturating_sub(1))),
        What::StepEnd {
            status,
            result,
            output,
        } => {
            put("status", json!(word(Some(*status))));
            put("output", to_json(output));
            let data = match result {
                Value::Failure(failure) => {
                    put("error", json!(&*failure.message));
                    put("kind", json!(failure.kind.word()));
                    &failure.data
                }
                other => other,
            };
            if let Value::Map(data) = data
                && data.contains_key("exit_code")
            {
                put("exit_code", json!(exit_code(data)));
            }
        }
        What::RunEnd { status, error } => {
            put("status", json!(status.word()));
            put("success", json!(status.is_success()));
            if let Some(error) = error {
                put("error", json!(error));
            }
        }
    }
    writeln!(out, "{line}")?;
    out.flush()
}

/// Whether an event is worth a line for people.
pub fn is_told(event: &Event) -> bool {
    let kind = matches!(
        event.what,
        What::StepEnd { .. }
            | What::StepPause
            | What::StepSkip
            | What::StepRetry { .. }
            | What::StepOutput { .. }
            | What::StepWarning { .. }
    );
    kind && event.step.is_some()
}

/// How lines for people are written.
#[derive(Clone, Copy)]
pub struct Look {
    pub color: bool,
    /// Whether a terminal would do what is written. Elsewhere a line of a step stays as it is.
    pub terminal: bool,
}

/// One event as a line for people, if it is worth one.
pub fn text_line(event: &Event, look: Look, out: &mut dyn Write) -> io::Result<()> {
    let Look { color, terminal } = look;
    let Some(step) = &event.step else {
        return Ok(());
    };
    let paint = |code: &str, text: &str| match color {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_string(),
    };
    let path = &printable(&step.path);
    match &event.what {
        What::StepEnd { .. } if event.replayed => {
            writeln!(out, "{} {path}", paint("2", "replayed"))
        }
        _ if event.replayed => Ok(()),
        What::StepEnd { status, .. } => {
            let mark = match status {
                Status::Completed => paint("32", "completed"),
                Status::Degraded => paint("33", "degraded"),
                Status::Failed => paint("31", "failed"),
                Status::Cancelled => paint("31", "cancelled"),
                Status::Skipped => paint("2", "skipped"),
            };
            // There is one way to be that.
            let why = match status {
                Status::Degraded => ": the text holds no JSON",
                _ => "",
            };
            writeln!(out, "{mark} {path}{why}")
        }
        What::StepSkip => writeln!(out, "{} {path}", paint("2", "skipped")),
        What::StepPause => writeln!(out, "{} {path}", paint("33", PAUSED)),
        What::StepRetry { attempt } => {
            writeln!(
                out,
                "{} {path} (attempt {attempt})",
                paint("33", "retrying")
            )
        }
        What::StepOutput { line, .. } => {
            let before = paint("2", &format!("{path}|"));
            match terminal {
                true => writeln!(out, "{before} {}", colored(line)),
                false => writeln!(out, "{before} {line}"),
            }
        }
        What::StepWarning { text } => {
            let text = printable_lines(text);
            writeln!(out, "{} {path}: {text}", paint("33", "warning"))
        }
        _ => Ok(()),
    }
}

/// What to know at the end: what failed, why, and the last of what it wrote.
pub fn summary(plan: &Plan, outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let name = printable(plan.texts.get(plan.name).unwrap_or_default());
    let mut said = false;
    for record in outcome.records.failures() {
        said = true;
        writeln!(out)?;
        let error = record.error.as_deref().unwrap_or("failed");
        let error = printable(error.lines().next().unwrap_or_default());
        let tries = match record.attempts {
            0 | 1 => String::new(),
            tries => format!(" (after {tries} attempts)"),
        };
        writeln!(out, "{}: {error}{tries}", printable(&record.path))?;
        for (stream, text) in [
            ("stdout", &record.stdout_tail),
            ("stderr", &record.stderr_tail),
        ] {
            let lines: Vec<&str> = text.lines().collect();
            for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
                writeln!(out, "  {stream}| {}", printable(line))?;
            }
        }
    }
    if let Some(error) = outcome.error.as_ref().filter(|_| !said) {
        writeln!(out, "\n{}", printable_lines(error))?;
    }
    let seconds = outcome.duration.as_secs_f64();
    writeln!(out, "\n{name}: {} in {seconds:.1} s", outcome.status.word())
}

/// Whether any step failed, and be it that the run went on.
pub fn any_failed(outcome: &Outcome) -> bool {
    outcome.records.failures().next().is_some()
}

/// What was said on the way, where anything was.
pub fn put_warnings(report: &mut Json, warnings: &[String]) {
    if !warnings.is_empty() {
        report["warnings"] = json!(warnings);
    }
}

/// What a step is while its run waits for an answer.
pub const PAUSED: &str = "paused";

/// How a step ended. One that was ended from outside has failed, as far as its recipe is concerned.
pub fn word(status: Option<Status>) -> &'static str {
    match status {
        Some(Status::Cancelled) | None => Status::Failed.word(),
        Some(status) => status.word(),
    }
}

/// A line of somebody else's, without what would make a terminal do something.
pub fn printable(line: &str) -> String {
    let is_harmless = |c: char| c == '\t' || !c.is_control();
    let shown = |c: char| match is_harmless(c) {
        true => c.to_string(),
        false => c.escape_default().to_string(),
    };
    match line.chars().all(is_harmless) {
        true => line.to_string(),
        false => line.chars().map(shown).collect(),
    }
}

/// The same of a text of several lines.
pub fn printable_lines(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(printable).collect();
    lines.join("\n")
}

/// The same with the colours of whoever wrote the line, which end with it.
fn colored(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("\x1b[") {
        shown.push_str(&printable(&rest[..at]));
        rest = &rest[at..];
        let code = |c: char| c.is_ascii_digit() || c == ';' || c == ':';
        let end = rest[2..].find(|c| !code(c)).map(|end| end + 2);
        let end = match end {
            Some(end) if rest[end..].starts_with('m') => end + 1,
            _ => 1,
        };
        match end {
            1 => shown.push_str(&printable(&rest[..1])),
            _ => shown.push_str(&rest[..end]),
        }
        rest = &rest[end..];
    }
    shown.push_str(&printable(rest));
    if shown.contains('\x1b') {
        shown.push_str("\x1b[0m");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_a_line_stay_and_end_with_it() {
        assert_eq!(colored("plain\tone"), "plain\tone");
        assert_eq!(
            colored("\x1b[1;31mred\x1b[0m \x1b[2J\x1b[H\x1b]0;t\x07 \x1b[38:5:1mx\x1b[3"),
            "\x1b[1;31mred\x1b[0m \\u{1b}[2J\\u{1b}[H\\u{1b}]0;t\\u{7} \x1b[38:5:1mx\\u{1b}[3\x1b[0m"
        );
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        assert_eq!(civil(0), [1970, 1, 1, 0, 0, 0]);
        assert_eq!(civil(951_782_400), [2000, 2, 29, 0, 0, 0]);
        assert_eq!(civil(4_107_542_399), [2100, 2, 28, 23, 59, 59]);
        assert_eq!(civil(1_791_897_345), [2026, 10, 13, 13, 15, 45]);
    }

    #[test]
    fn a_terminal_is_told_nothing_by_a_command() {
        assert_eq!(super::printable("a\tb \u{1b}[2Jé"), "a\tb \\u{1b}[2Jé");
    }
}
