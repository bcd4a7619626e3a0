//! `rrc runs`: what was recorded here.

use crate::cli::RunsArgs;
use crate::recorded::{self, NoRun};
use crate::results::{Clock, printable};
use crate::{FAILED, OK, Streams, words};
use rrc_runtime::journal::Recorded;
use serde_json::json;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::Duration;

/// How many runs are kept when nobody says how many.
const KEPT: usize = 10;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// A run that begins has no journal for a moment.
const BEGINNING: Duration = Duration::from_secs(60);

pub fn runs(args: &RunsArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let (runs, unread) = recorded::all()?;
    let now = Clock::now().since_1970_ms();
    if args.prune {
        return prune(&runs, &unread, now, args, streams);
    }
    let name = |run: &Recorded| printable(&run.start.name);
    let widths = runs.iter().map(|run| name(run).chars().count());
    let width = widths.max().unwrap_or_default().max(6);
    if io::stdout().is_terminal() && !runs.is_empty() && !args.json {
        writeln!(
            streams.out,
            "{:<22}  {:<11}  {:>8}  {:>9}  {:<width$}  FILE",
            "RUN", "STATUS", "STARTED", "DONE", "RECIPE",
        )?;
    }
    for run in &runs {
        let start = &run.start;
        if args.json {
            let line = json!({
                "run_id": start.run,
                "status": run.status(),
                "started": Clock::at(start.started_ms).timestamp(0),
                "recipe_name": start.name,
                "file": start.file,
                "steps_done": run.done(),
                "duration_ms": run.ms,
                "resumed": run.resumed,
            });
            writeln!(streams.out, "{line}")?;
            continue;
        }
        let done = match run.done() {
            1 => "1 step".to_string(),
            done => format!("{done} steps"),
        };
        writeln!(
            streams.out,
            "{:<22}  {:<11}  {:>8}  {:>9}  {:<width$}  {}",
            start.run,
            run.status(),
            format!("{} ago", age(now.saturating_sub(start.started_ms))),
            done,
            name(run),
            printable(&shown(&start.file)),
        )?;
    }
    for (path, words) in &unread {
        writeln!(streams.err, "rrc: {}: {words}", path.display())?;
    }
    if runs.is_empty() && unread.is_empty() && !args.json {
        writeln!(streams.err, "no runs are recorded here")?;
    }
    Ok(OK)
}

/// A file below the directory we are in by its short name.
fn shown(file: &str) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = Path::new(file);
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn age(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn prune(
    runs: &[Recorded],
    unread: &[NoRun],
    now: u64,
    args: &RunsArgs,
    streams: &mut Streams<'_>,
) -> io::Result<u8> {
    let keep = match (args.keep, args.older_than) {
        (Some(keep), _) => keep,
        (None, Some(_)) => 0,
        (None, None) => KEPT,
    };
    let days = args.older_than.unwrap_or(0.0);
    let is_old = |run: &&Recorded| {
        let old = now.saturating_sub(run.start.started_ms) as f64 / 86_400_000.0;
        old >= days
    };
    let (mut gone, mut waiting) = (Vec::new(), 0);
    for run in runs.iter().skip(keep).filter(is_old) {
        match run.status() {
            "running" => continue,
            // Work that somebody may still want to finish; who names an age gives it up.
            "paused" | "interrupted" if args.older_than.is_none() => waiting += 1,
            _ => gone.push(&run.directory),
        }
    }
    // What is left of a run that could not be recorded is of no use, unless it is only beginning.
    let given = args.keep.is_some() || args.older_than.is_some();
    let days = Duration::try_from_secs_f64(days * DAY.as_secs_f64()).unwrap_or(Duration::MAX);
    let least = days.max(if given { BEGINNING } else { DAY });
    let is_left = |directory: &Path| {
        let changed = directory.metadata().and_then(|data| data.modified());
        changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= least))
    };
    gone.extend(
        unread
            .iter()
            .map(|(path, _)| path)
            .filter(|path| is_left(path)),
    );
    let (mut removed, mut code) = (0, OK);
    for directory in gone {
        match std::fs::remove_dir_all(directory) {
            Ok(()) => removed += 1,
            Err(error) => {
                let words = words(&error);
                writeln!(
                    streams.err,
                    "rrc: {} cannot be removed: {words}",
                    directory.display()
                )?;
                code = FAILED;
            }
        }
    }
    let word = |count: usize| if count == 1 { "run" } else { "runs" };
    writeln!(streams.err, "removed {removed} {}", word(removed))?;
    if waiting > 0 {
        writeln!(
            streams.err,
            "kept {waiting} {} that can still be resumed; --older-than DAYS removes them too",
            word(waiting)
        )?;
    }
    Ok(code)
}
