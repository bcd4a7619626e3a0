//! `rrc check`: findings, in the format asked for; and their fixes.
//!
//! Each file is checked on its own, many at once; what comes out does not depend on which was done
//! first.

mod bounds;
mod files;
mod merge;
mod one;
mod output;
mod progress;
mod shellcheck;
mod watch;

use crate::cli::{CheckArgs, Global};
use crate::config::Configs;
use crate::{FAILED, OK, Streams, USAGE};
use files::{Files, Named, PassedOver};
use merge::Said;
use one::{Checking, Fixed, Outcome};
use progress::Progress;
use rrc_compiler::codes;
use rrc_compiler::diagnostic::nearest;
use rrc_compiler::load::Shelf;
use rrc_compiler::report::Format;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

pub fn check(args: &CheckArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    if !makes_sense(args, streams)? {
        return Ok(USAGE);
    }
    if args.watch {
        return watch::watch(args, global, streams);
    }
    Ok(round(args, global, streams)?.code)
}

/// One look at all files.
struct Round {
    code: u8,
    /// The files and directories that the result depends on.
    seen: Vec<PathBuf>,
}

fn round(args: &CheckArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<Round> {
    let configs = Configs::new(global);
    let Files {
        mut files,
        directories: mut seen,
        passed_over,
    } = files::files(args)?;
    let shelf = Shelf::default();
    let mut checking = Checking {
        args,
        global,
        configs: &configs,
        shelf: None,
        last: files.len() == 1 && !args.watch,
    };
    let mut fixes = Vec::new();
    if args.fix || args.unsafe_fixes || args.diff {
        let called = called(&files, global, &checking);
        fixes = every(&files, global, |file| {
            one::fixed(file, called.get(&file.name), &checking)
        });
        // All is written before anything is checked again, as files call each other.
        for (file, fixed) in files.iter_mut().zip(&fixes) {
            let Some(Ok(fixed)) = fixed else { continue };
            if !args.diff {
                one::keep(file, fixed)?;
            }
        }
    }
    // Standard input stands in the place of a file for itself, and for no other.
    let alike = files.len() > 1 && files.iter().all(|file| file.stdin.is_none());
    checking.shelf = alike.then_some(&shelf);
    let outcomes = every(&files, global, |file| one::checked(file, &checking));
    seen.extend(configs.files());
    let mut checked = Vec::new();
    let mut unusable: Vec<String> = Vec::new();
    for outcome in outcomes.into_iter().flatten() {
        match outcome {
            Ok(outcome) => checked.push(outcome),
            Err(words) if unusable.contains(&words) => {}
            Err(words) => unusable.push(words),
        }
    }
    for words in &unusable {
        writeln!(streams.err, "rrc: {words}")?;
    }
    let mut code = match (unusable.is_empty(), checked.is_empty()) {
        (false, _) => USAGE,
        (true, true) if !passed_over.is_empty() => USAGE,
        (true, true) => nothing(args, streams)?,
        (true, false) => {
            seen.extend(checked.iter().flat_map(Outcome::read));
            report(checked, &fixes, &files, args, global, streams)?
        }
    };
    for PassedOver { path, why, help } in &passed_over {
        let shown = path.display();
        writeln!(streams.err, "rrc: `{shown}` is not checked: {why}")?;
        writeln!(streams.err, "help: {help}")?;
        code = USAGE;
    }
    if !args.watch {
        // The process is about to end, and the system gives memory back at once.
        std::mem::forget(shelf);
    }
    Ok(Round { code, seen })
}

/// The files that others call, by the names they were asked for by: what they may read is known to
/// their callers, and they must not be mended as if they stood alone.
fn called(
    files: &[Named],
    global: &Global,
    checking: &Checking<'_>,
) -> HashMap<String, HashSet<Said>> {
    if files.len() < 2 {
        return HashMap::new();
    }
    let outcomes = every(files, global, |file| one::checked(file, checking));
    let outcomes: Vec<Outcome> = outcomes.into_iter().flatten().flatten().collect();
    let mut called = merge::Called::by(&outcomes);
    let said = |file: &Named| Some((file.name.clone(), called.said(&file.name)?.clone()));
    files.iter().filter_map(said).collect()
}

fn report(
    checked: Vec<Outcome>,
    fixes: &[Option<Result<Fixed, String>>],
    files: &[Named],
    args: &CheckArgs,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<u8> {
    for line in checked.iter().filter_map(|outcome| outcome.choice.as_ref()) {
        writeln!(streams.err, "{line}")?;
    }
    let checked = merge::by_callers(checked);
    let bad = checked.iter().any(Outcome::is_bad);
    let refused = checked.iter().any(|outcome| outcome.refused);
    let (merged, bounds) = merge::merge(checked);
    let fixes = fixes.iter().flatten().flatten();
    let mut applied = 0;
    let mut diffs = String::new();
    for fixed in fixes {
        applied += fixed.applied;
        diffs.push_str(&fixed.diff);
    }
    // A filter prints its text whether or not it changed it.
    let filter = (args.fix || args.unsafe_fixes) && !args.diff;
    let rewritten = files.iter().find_map(|file| file.stdin.as_deref());
    let rewritten = rewritten.filter(|_| filter);
    let taken = args.diff || rewritten.is_some();
    output::findings(&merged, &bounds, args, global, taken, streams)?;
    streams.out.write_all(diffs.as_bytes())?;
    streams.out.write_all(rewritten.unwrap_or_default())?;
    if applied > 0 && !global.quiet {
        let verb = if args.diff { "would be fixed" } else { "fixed" };
        let plural = if applied == 1 { "finding" } else { "findings" };
        writeln!(streams.err, "{applied} {plural} {verb}")?;
    }
    Ok(match (refused, bad) {
        (true, _) => USAGE,
        (false, true) if !args.exit_zero => FAILED,
        _ => OK,
    })
}

/// Does something for every file, many at once; the results are in the order of the files.
fn every<T: Send>(
    files: &[Named],
    global: &Global,
    what: impl Fn(&Named) -> Option<T> + Sync,
) -> Vec<Option<T>> {
    let workers = workers(files.len());
    if workers < 2 {
        return files.iter().map(what).collect();
    }
    let next = AtomicUsize::new(0);
    let (done, results) = mpsc::channel();
    let mut all: Vec<Option<T>> = files.iter().map(|_| None).collect();
    std::thread::scope(|scope| {
        let (next, what) = (&next, &what);
        let mut started = 0;
        for _ in 0..workers {
            let done = done.clone();
            let work = move || {
                while let Some((index, file)) = next_of(files, next) {
                    if done.send((index, what(file))).is_err() {
                        return;
                    }
                }
            };
            let builder = std::thread::Builder::new().stack_size(STACK);
            started += usize::from(builder.spawn_scoped(scope, work).is_ok());
        }
        drop(done);
        if started == 0 {
            while let Some((index, file)) = next_of(files, next) {
                all[index] = what(file);
            }
        }
        let mut progress = Progress::new(files.len(), global);
        loop {
            match results.recv_timeout(Duration::from_millis(100)) {
                Ok((index, result)) => {
                    all[index] = result;
                    progress.one_more();
                }
                Err(mpsc::RecvTimeoutError::Timeout) => progress.show(),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        progress.end();
    });
    all
}

/// What the main thread has.
const STACK: usize = 8 << 20;

/// How many threads so much work is for.
fn workers(count: usize) -> usize {
    // The system looks into several files to answer.
    match count {
        0 | 1 => count,
        _ => std::thread::available_parallelism().map_or(1, |cores| cores.get().min(count)),
    }
}

fn next_of<'f>(files: &'f [Named], next: &AtomicUsize) -> Option<(usize, &'f Named)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    files.get(index).map(|file| (index, file))
}

fn nothing(args: &CheckArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    writeln!(streams.err, "rrc: no recipes in {}", args.paths.join(", "))?;
    writeln!(
        streams.err,
        "help: a recipe is a .yaml or .yml file with `steps` or `stages`, a template is a .json file \
         with `template`"
    )?;
    Ok(USAGE)
}

/// Whether the arguments fit each other; what does not is said.
fn makes_sense(args: &CheckArgs, streams: &mut Streams<'_>) -> io::Result<bool> {
    for text in args.select.iter().chain(&args.ignore) {
        if codes::find(text).is_none() {
            writeln!(streams.err, "rrc: there is no finding `{text}`")?;
            let known = codes::ALL.iter().flat_map(|code| [code.code, code.name]);
            match nearest(text, known) {
                Some(near) => writeln!(streams.err, "help: did you mean `{near}`?")?,
                None => writeln!(streams.err, "help: `rrc explain` lists them all")?,
            }
            return Ok(false);
        }
    }
    let stdin = args.paths.iter().any(|path| path == "-");
    if args.stdin_filename.is_some() && !stdin {
        writeln!(
            streams.err,
            "rrc: --stdin-filename names what the path `-` reads"
        )?;
        writeln!(streams.err, "help: add `-`, or leave the option out")?;
        return Ok(false);
    }
    if args.watch && stdin {
        writeln!(streams.err, "rrc: standard input cannot be watched")?;
        writeln!(streams.err, "help: name a file or a directory")?;
        return Ok(false);
    }
    if matches!(args.format, Format::Sarif | Format::Github) {
        let asked = [(args.bounds, "bounds"), (args.statistics, "statistics")];
        if let Some((_, what)) = asked.into_iter().find(|(asked, _)| *asked) {
            writeln!(streams.err, "rrc: this format has no place for {what}")?;
            let help = format!("use --{what} with --format human, concise or json");
            writeln!(streams.err, "help: {help}")?;
            return Ok(false);
        }
    }
    if args.shellcheck && !shellcheck::is_installed() {
        writeln!(
            streams.err,
            "rrc: --shellcheck: shellcheck is not installed"
        )?;
        writeln!(
            streams.err,
            "help: install it from your system's packages, or leave the option out"
        )?;
        return Ok(false);
    }
    Ok(true)
}
