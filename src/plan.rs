//! From a path to a plan that may run: a recipe is compiled, a plan is decoded; both are verified.

use crate::cli::Global;
use crate::config::Config;
use crate::disk::{Disk, read_at_most};
use crate::values::Given;
use crate::{NO_RECIPE, Streams, USAGE};
use rrc_compiler::codes;
use rrc_compiler::diagnostic::{Diagnostic, Report, nearest};
use rrc_compiler::dialect::choose::{Choice, Reason};
use rrc_compiler::ir::Program;
use rrc_compiler::report::Fixes;
use rrc_compiler::source::{Source, SourceId, Sources, Span};
use rrc_compiler::world::{ReadError, World};
use rrc_compiler::{Checked, Options, report, suppress};
use rrc_runtime::os;
use rrc_vm::codec::{self, DecodeFailure};
use rrc_vm::plan::{Plan, SpanRun};
use rrc_vm::shell::readable;
use rrc_vm::verify::{Verified, verify};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;

/// A plan, or the exit code of why there is none, which has been said.
pub type Found<T> = Result<T, u8>;

/// The largest plan that is read; a recipe of the largest size makes one a tenth of this.
const MOST_BYTES: usize = 64 << 20;

/// A recipe of so many bytes takes more than a megabyte of memory to compile.
const LARGE: u64 = 32 << 10;

/// Whether a path names a compiled plan.
pub fn is_plan(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|extension| extension == "rrb")
}

/// Whether a path names what plans are made of.
fn is_source(path: &str) -> bool {
    let extension = Path::new(path).extension();
    extension.is_some_and(|word| ["yaml", "yml", "json"].iter().any(|known| word == *known))
}

pub fn hash(text: &str) -> [u8; 32] {
    blake3::hash(text.as_bytes()).into()
}

/// The file that is meant: by its path, or by the name of a recipe on the search path.
pub fn meant(file: &str, global: &Global) -> String {
    let path = Path::new(file);
    if path.exists() || file.contains('/') || path.extension().is_some() {
        return file.to_string();
    }
    let config = Config::find("rrc.toml", global).unwrap_or_default();
    let found = Disk::new(global, &Arc::new(config)).find_recipe(file, "");
    found.unwrap_or_else(|| file.to_string())
}

/// What came of a recipe.
pub struct Compiled {
    pub program: Program,
    pub sources: Sources,
    pub plan: Plan,
}

/// Compiles a recipe; findings go to standard error.
pub fn compile(
    path: &str,
    given: Option<&Given>,
    secrets: &[String],
    config: &Arc<Config>,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<Found<Compiled>> {
    let missing = !Path::new(path).exists();
    if missing && !path.contains('/') && Path::new(path).extension().is_none() {
        writeln!(streams.err, "rrc: there is no recipe `{path}`")?;
        let known = Disk::new(global, config).known_recipes(path, "");
        match nearest(path, known.iter().map(String::as_str)) {
            Some(near) => writeln!(streams.err, "help: did you mean `{near}`?")?,
            None => writeln!(
                streams.err,
                "help: `rrc list` shows those that can be called by name; others are called by path"
            )?,
        }
        return Ok(Err(NO_RECIPE));
    }
    let mut sources = Sources::default();
    let options = Options {
        given: given.map(Given::newer),
        given_old: given.and_then(Given::older),
        timeout_ms: config.run.default_timeout_ms,
        open: given.is_none(),
        ran: given.is_some_and(|given| given.ran),
        secrets,
        ..global.options()
    };
    if fs::metadata(path).is_ok_and(|file| file.len() > LARGE) {
        os::expect_memory();
    }
    let checked = rrc_compiler::check(&Disk::new(global, config), path, options, &mut sources);
    if global.verbose
        && let Some(line) = choice(path, &checked, &sources)
    {
        writeln!(streams.err, "{line}")?;
    }
    let standing = checked.silenced.iter().filter(|f| suppress::stands(f));
    let mut shown = checked.report.clone();
    shown.findings.extend(standing.cloned());
    show(&shown, &sources, global, streams)?;
    if checked.readable && !shown.has_errors() && checked.program.units.is_empty() {
        writeln!(
            streams.err,
            "rrc: `{path}` does not run by itself: it describes a tool, or is made of recipes that another host knows"
        )?;
    }
    Ok(match rrc_compiler::build(&checked, &sources, hash) {
        Some(plan) => Ok(Compiled {
            program: checked.program,
            sources,
            plan,
        }),
        None if missing => Err(NO_RECIPE),
        None => Err(USAGE),
    })
}

/// Which dialect a file was read in, and why.
pub fn choice(file: &str, checked: &Checked, sources: &Sources) -> Option<String> {
    let Choice { dialect, reason } = checked.choice.as_ref()?;
    let why = match reason {
        Reason::Pinned => "as asked".to_string(),
        Reason::Configured => "as rrc.toml says".to_string(),
        Reason::Comment(_) => "as a comment in it says".to_string(),
        Reason::Caller => "as its caller is".to_string(),
        Reason::Directory => "from where it is kept".to_string(),
        Reason::Conflict => "as what comes first in it says".to_string(),
        Reason::Default => "as nothing in it says otherwise".to_string(),
        Reason::Evidence(span, what) => {
            let line = sources.get(span.source).place(span.start).line;
            format!("because of {what} in line {line}")
        }
    };
    Some(format!("{file}: read as {}, {why}", dialect.name))
}

/// Where an instruction of a plan was written; the file as a whole where nobody knows.
pub fn span_of(spans: &[SpanRun], at: u32) -> Span {
    // They are in the order of the code.
    let next = spans.partition_point(|run| run.from <= at);
    let run = next.checked_sub(1).and_then(|last| spans.get(last));
    run.map_or(Span::top(SourceId(0)), |run| {
        let place = run.place;
        Span::new(
            SourceId(place.source),
            place.start as usize,
            place.end as usize,
        )
    })
}

/// The configuration for a file; what is wrong with it is said.
pub fn configuration(
    path: &str,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<Found<Arc<Config>>> {
    match Config::find(path, global) {
        Ok(config) => Ok(Ok(Arc::new(config))),
        Err(words) => {
            writeln!(streams.err, "rrc: {words}")?;
            Ok(Err(USAGE))
        }
    }
}

/// Shows findings about files as `check` does, on standard error.
pub fn show(
    report: &Report,
    sources: &Sources,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    show_with(Fixes::Check, report, sources, global, streams)
}

/// The same of findings whose fixes are applied by somebody else, or by nobody.
pub fn show_with(
    fixes: Fixes,
    report: &Report,
    sources: &Sources,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    if report.findings.is_empty() || (global.quiet && !report.has_errors()) {
        return Ok(());
    }
    let options = report::Options {
        color: global.use_color(io::stderr().is_terminal()),
        notes: global.verbose,
        fixes,
    };
    report::write(
        report::Format::Human,
        &report.findings,
        sources,
        options,
        streams.err,
    )
}

/// Reads and decodes a plan file.
pub fn read(path: &str, global: &Global, streams: &mut Streams<'_>) -> io::Result<Found<Plan>> {
    let bytes = match read_at_most(path.as_ref(), MOST_BYTES) {
        Ok(bytes) if bytes.len() > MOST_BYTES => Err(ReadError::TooLarge(bytes.len() as u64)),
        read => read,
    };
    let missing = matches!(bytes, Err(ReadError::NotFound));
    let finding = match bytes {
        Err(error) => {
            let message = match error {
                ReadError::NotFound => format!("there is no plan `{path}`"),
                ReadError::Directory => format!("`{path}` is a directory"),
                ReadError::TooLarge(_) => {
                    format!("`{path}` is larger than the {MOST_BYTES} bytes that are read")
                }
                ReadError::Other(words) => format!("`{path}` cannot be read: {words}"),
            };
            (
                &codes::UNREADABLE_FILE,
                message,
                "name a plan that `rrc build` wrote".to_string(),
            )
        }
        Ok(bytes) => match codec::decode(&bytes) {
            Ok(plan) => return Ok(Ok(plan)),
            Err(error) => {
                let code = match error.what {
                    DecodeFailure::Version(_) => &codes::FOREIGN_PLAN,
                    _ => &codes::BAD_PLAN,
                };
                let help = match error.what {
                    DecodeFailure::Foreign if is_source(path) => {
                        format!(
                            "make a plan of it first, with `rrc build {}`",
                            readable(path)
                        )
                    }
                    _ => "build it again with `rrc build`".to_string(),
                };
                (code, format!("{error}"), help)
            }
        },
    };
    let (code, message, help) = finding;
    refuse(path, code, message, help, global, streams)?;
    Ok(Err(if missing { NO_RECIPE } else { USAGE }))
}

/// A plan that may run.
pub fn admit(
    path: &str,
    plan: Plan,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<Found<Verified>> {
    match verify(plan) {
        Ok(verified) => Ok(Ok(verified)),
        Err(rejected) => {
            let help = "build it again with `rrc build`".to_string();
            refuse(
                path,
                &codes::UNSOUND_PLAN,
                rejected.to_string(),
                help,
                global,
                streams,
            )?;
            Ok(Err(USAGE))
        }
    }
}

/// A plan is not text: what is wrong with it is said about the file as a whole.
fn refuse(
    path: &str,
    code: &'static codes::Code,
    message: String,
    help: String,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let mut sources = Sources::default();
    let source = sources.add(Source::new(path, ""));
    let mut report = Report::default();
    report.add(Diagnostic::new(code, Span::top(source), message).help(help));
    show(&report, &sources, global, streams)
}
