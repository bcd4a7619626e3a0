//! `rrc run`: a recipe or a plan, to its end.

use crate::audit::Audit;
use crate::cli::{Global, RunArgs, RunFormat};
use crate::config::Config;
use crate::expand::{self, Shape};
use crate::live::Live;
use crate::object;
use crate::outline::Outline;
use crate::output::{Heedless, Named};
use crate::preflight::{self, Preflight};
use crate::results::{self, Clock, Look};
use crate::values::{self, Given};
use crate::{FAILED, OK, Streams, USAGE, dry, initial, late, nested, piped, plan, recorded};
use rrc_compiler::codes;
use rrc_compiler::diagnostic::{Diagnostic, Report};
use rrc_compiler::ir::{EXCLUDE_TAGS, INCLUDE_TAGS, Program};
use rrc_compiler::source::Sources;
use rrc_runtime::driver::{self, Approval, Memory, Outcome, Settings};
use rrc_runtime::event::{Event, RunStatus, What};
use rrc_runtime::outlet::{Outlet, Ways};
use rrc_runtime::process::Signal;
use rrc_runtime::record::Keep;
use rrc_runtime::secret::Secrets;
use rrc_vm::shell::readable;
use rrc_vm::value::Map;
use rrc_vm::verify::Verified;
use std::cell::OnceCell;
use std::io::{self, IsTerminal};
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Processes at once, when nobody says otherwise.
const MOST_PROCESSES: u32 = 64;

/// A plan that may run, and what its recipe says if there is one.
pub struct Loaded {
    pub verified: Rc<Verified>,
    understood: Option<(Program, Sources)>,
}

/// Reads or compiles what a path names.
pub fn load(
    file: &str,
    given: Option<&Given>,
    secrets: &[String],
    config: &Arc<Config>,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<plan::Found<Loaded>> {
    let mut understood = None;
    let compiled = match plan::is_plan(file) {
        true => plan::read(file, global, streams)?,
        false => plan::compile(file, given, secrets, config, global, streams)?.map(|compiled| {
            understood = Some((compiled.program, compiled.sources));
            compiled.plan
        }),
    };
    let verified = match compiled {
        Ok(compiled) => plan::admit(file, compiled, global, streams)?,
        Err(code) => Err(code),
    };
    Ok(verified.map(|verified| Loaded {
        verified: Rc::new(verified),
        understood,
    }))
}

impl Loaded {
    /// Names that rrc gives a value itself. A plan alone does not say.
    fn reserved(&self) -> &[&str] {
        let program = self.understood.as_ref().map(|(program, _)| program);
        let unit = program.and_then(|program| program.units.first());
        unit.map_or(&[], |unit| unit.reserved)
    }

    /// Says why the values that were given cannot be used, where the file reads them.
    pub fn show_refusal(
        &self,
        refusal: &piped::Refusal,
        secrets: &Secrets,
        file: &str,
        global: &Global,
        streams: &mut Streams<'_>,
    ) -> io::Result<()> {
        let (message, span) = (secrets.message(&refusal.message), refusal.span);
        match &self.understood {
            Some((_, sources)) => {
                let mut report = Report::default();
                let finding = Diagnostic::new(&codes::REFUSED_VALUES, span, message);
                report.add(finding.help(WHENCE));
                plan::show(&report, sources, global, streams)
            }
            None => writeln!(streams.err, "rrc: {file}: {message}"),
        }
    }
}

/// Where the values of a run come from.
const WHENCE: &str =
    "values are those of `-s name=value` and `--vars FILE`, and else the defaults of the file";

/// All that is known before the first step.
pub struct Prepared<'a> {
    pub verified: &'a Rc<Verified>,
    pub file: &'a str,
    pub settings: &'a Settings,
    pub clock: &'a Clock,
    /// What only the runner knows, by the names that recipes have for it.
    pub runner: &'a Map,
}

pub fn run(args: &RunArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let mut err = Heedless(streams.err);
    let streams = &mut Streams {
        out: streams.out,
        err: &mut err,
    };
    if args.resume.is_some() || args.replay.is_some() {
        return recorded::again(args, global, streams);
    }
    if args.file.as_deref() == Some("-") && !Path::new("-").exists() {
        writeln!(
            streams.err,
            "rrc: `run` reads no recipe from standard input, which is for its questions"
        )?;
        writeln!(streams.err, "help: write it into a file first")?;
        return Ok(USAGE);
    }
    let file = &plan::meant(args.file.as_deref().unwrap_or_default(), global);
    let Some(values) = Given::read(args.vars.as_deref(), &args.set, streams)? else {
        return Ok(USAGE);
    };
    let config = match plan::configuration(file, global, streams)? {
        Ok(config) => config,
        Err(code) => return Ok(code),
    };
    let args = &with_secrets(args, &config);
    let loaded = match load(file, Some(&values), &args.secret, &config, global, streams)? {
        // The process ends with the run: nobody gains from taking this apart.
        Ok(loaded) => ManuallyDrop::new(loaded),
        Err(code) => return Ok(code),
    };
    let verified = &loaded.verified;
    let schema = values::schema_of(verified.plan());
    let given = values.to(schema);
    let mut variables = initial::defaults(verified.plan());
    if !values.put_over(&mut variables, schema, streams)? {
        return Ok(USAGE);
    }
    piped::say_unread(verified.plan(), given, &args.set, global, streams)?;
    let secrets = recorded::secrets(verified.plan(), &args.secret, &variables);
    if let Some(refusal) = piped::refusal(verified, &variables) {
        loaded.show_refusal(&refusal, &secrets, file, global, streams)?;
        return Ok(USAGE);
    }
    if args.frozen
        && let Some(first) = recorded::changed(verified.plan(), file).first()
    {
        writeln!(
            streams.err,
            "rrc: {first} has changed since {file} was built"
        )?;
        return Ok(USAGE);
    }
    if args.explain || args.dry_run {
        return show_plan(&loaded, file, &variables, &secrets, args, streams);
    }
    let Some(directory) = directory(global, streams)? else {
        return Ok(USAGE);
    };
    let asking = preflight::Asking {
        plan: verified.plan(),
        args,
        config: &config,
        directory: &directory,
        global,
    };
    let agents = match asking.agents(streams)? {
        Ok(agents) => agents,
        Err(code) => return Ok(code),
    };
    let preflight = Preflight {
        plan: verified.plan(),
        file,
        directory: &directory,
        agents: &agents,
        given,
        reserved: loaded.reserved(),
        args,
        tags: &initial::tags(&args.include_tags, &args.exclude_tags),
        reached: OnceCell::new(),
    };
    if !preflight.check(global.quiet, streams)? {
        return Ok(USAGE);
    }
    let clock = Clock::now();
    let run_id = clock.run_id();
    let session = initial::session(&run_id, &directory, &clock);
    let runner = initial::runner(&args.include_tags, &args.exclude_tags, session);
    variables.retain(|name, _| !loaded.reserved().contains(&&**name));
    initial::runner_values(&mut variables, verified.plan(), &runner);
    if args.validate_only {
        if let Some(words) = preflight::failure(verified, &variables, &directory) {
            let words = results::printable_lines(&secrets.message(&words));
            writeln!(streams.err, "rrc: {file}: {words}")?;
            return Ok(FAILED);
        }
        if !global.quiet {
            writeln!(streams.err, "{file} can run")?;
        }
        return Ok(OK);
    }
    let settings = Settings {
        told: nested::told(verified.plan(), &run_id),
        run_id,
        directory,
        jobs: jobs(args, &config),
        timeout: args.timeout,
        approve: args.approve.clone(),
        deny: args.deny.clone(),
        agents,
        stage: !args.no_auto_stage,
        keep: keep(args),
        ways: Ways::standard(),
    };
    let prepared = Prepared {
        verified,
        file,
        settings: &settings,
        clock: &clock,
        runner: &runner,
    };
    let audit = audit(&prepared, args)?;
    let memory = recorded::begin(&prepared, &variables, args, streams)?;
    perform_and_report(&prepared, variables, (memory, audit), args, global, streams)
}

/// The file of `--audit-dir`. It is made before the run is recorded: without it nothing runs.
pub fn audit(prepared: &Prepared<'_>, args: &RunArgs) -> io::Result<Option<Audit>> {
    let Some(directory) = &args.audit_dir else {
        return Ok(None);
    };
    let plan = prepared.verified.plan();
    let name = plan.texts.get(plan.name).unwrap_or_default();
    Audit::create(directory, name, prepared.clock)
        .map(Some)
        .map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                    "not a directory".to_string()
                }
                _ => error.to_string(),
            };
            let words = format!("--audit-dir {}: {why}", directory.display());
            io::Error::new(error.kind(), words)
        })
}

pub fn perform_and_report(
    prepared: &Prepared<'_>,
    variables: Map,
    kept: (Memory, Option<Audit>),
    args: &RunArgs,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<u8> {
    streams.out.flush()?;
    let ways = &prepared.settings.ways;
    let (mut out, mut err) = (ways.out(), ways.err());
    let mut out = Named(chosen(&mut out, streams.out));
    let mut err = Heedless(chosen(&mut err, streams.err));
    let mut streams = Streams {
        out: &mut out,
        err: &mut err,
    };
    let told = perform_and_tell(prepared, variables, kept, args, global, &mut streams);
    let told = told.and_then(|code| streams.out.flush().map(|()| code));
    ways.finish();
    told
}

/// The way out that does not block, if there is one.
fn chosen<'o>(way: &'o mut Option<Outlet>, other: &'o mut dyn io::Write) -> &'o mut dyn io::Write {
    match way {
        Some(way) => way,
        None => other,
    }
}

fn perform_and_tell(
    prepared: &Prepared<'_>,
    variables: Map,
    kept: (Memory, Option<Audit>),
    args: &RunArgs,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<u8> {
    let outcome = perform(prepared, variables, kept, args, global, streams)?;
    report(prepared, &outcome, args, global.quiet, streams)?;
    // What comes on standard error comes after it, also where both go to one place.
    streams.out.flush()?;
    if !outcome.waits_for.is_empty() && !global.quiet {
        let stages = &outcome.waits_for;
        match outcome.recorded || args.replay.is_some() {
            true => say_how_to_go_on(prepared, stages, streams)?,
            false => say_that_it_cannot_go_on(stages, args, streams)?,
        }
    }
    Ok(match outcome.signal {
        Some(Signal::Interrupt) => 130,
        Some(Signal::Terminate) => 143,
        Some(Signal::Hangup) => 129,
        None if args.exit_code && !outcome.status.is_success() => piped::exit_code(&outcome),
        None if args.strict && results::any_failed(&outcome) => RunStatus::Failed.exit_code(),
        None => outcome.status.exit_code(),
    })
}

/// A run that waits for an answer is of no use to somebody who does not know how to give it.
fn say_how_to_go_on(
    prepared: &Prepared<'_>,
    stages: &[String],
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let run = &prepared.settings.run_id;
    let (yes, no) = answers(stages);
    writeln!(
        streams.err,
        "help: answer with `rrc run --resume {run} {yes}`, or `{no}`"
    )
}

/// The options that approve all these stages, and those that deny them.
fn answers(stages: &[String]) -> (String, String) {
    let all = |option: &str| {
        let each = stages
            .iter()
            .map(|stage| format!("{option} {}", readable(stage)));
        each.collect::<Vec<_>>().join(" ")
    };
    (all("--approve"), all("--deny"))
}

/// A run without a record cannot go on, and who may not have wanted that is told what to do instead.
fn say_that_it_cannot_go_on(
    stages: &[String],
    args: &RunArgs,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    if args.no_record {
        return writeln!(
            streams.err,
            "help: nothing was recorded, so this run cannot go on; leave out `--no-record`"
        );
    }
    let (yes, no) = answers(stages);
    writeln!(
        streams.err,
        "help: it is not on record, so this run cannot go on; start it again with `{yes}`, or `{no}`"
    )
}

/// What would run. A plan alone does not say: its recipe is needed for that.
fn show_plan(
    loaded: &Loaded,
    file: &str,
    variables: &Map,
    secrets: &Secrets,
    args: &RunArgs,
    streams: &mut Streams<'_>,
) -> io::Result<u8> {
    let Some((program, sources)) = &loaded.understood else {
        writeln!(streams.err, "rrc: {file}: a plan cannot be shown this way")?;
        writeln!(streams.err, "help: name its recipe, or use `rrc disasm`")?;
        return Ok(USAGE);
    };
    let json = match args.output_format {
        RunFormat::Text => false,
        RunFormat::Events => {
            let words = "nothing happens that could be told as an event";
            writeln!(streams.err, "rrc: --output-format events: {words}")?;
            writeln!(
                streams.err,
                "help: `--output-format json` says what would run"
            )?;
            return Ok(USAGE);
        }
        RunFormat::Json => true,
    };
    if args.dry_run && piped::gives_result(loaded.verified.plan()) {
        let shape = if json { Shape::Run } else { Shape::Objects };
        // The values have been looked at already.
        let shown = expand::show(loaded, variables.clone(), shape, secrets, streams)?;
        return Ok(shown.map_or(USAGE, |()| OK));
    }
    let secrets = program.units.iter().flat_map(|unit| unit.secrets.clone());
    let mut variables = recorded::without_secrets(secrets, variables);
    if args.explain {
        match Outline::new(program, sources, &variables) {
            Some(outline) if json => writeln!(streams.out, "{}", outline.json())?,
            Some(outline) => outline.write(streams.out)?,
            None => {}
        }
        return Ok(OK);
    }
    for (name, tags) in [
        (INCLUDE_TAGS, &args.include_tags),
        (EXCLUDE_TAGS, &args.exclude_tags),
    ] {
        variables.insert(Rc::from(name), initial::tag_list(tags));
    }
    dry::dry_run(program, &variables, json, &Clock::now(), streams)?;
    Ok(OK)
}

fn perform(
    prepared: &Prepared<'_>,
    variables: Map,
    (memory, mut audit): (Memory, Option<Audit>),
    args: &RunArgs,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<Outcome> {
    let Prepared {
        verified,
        settings,
        clock,
        ..
    } = *prepared;
    let terminal = io::stdout().is_terminal();
    let look = Look {
        color: global.use_color(terminal),
        terminal,
    };
    // A reader that goes away does not end the run: its steps have effects that count.
    let gives = piped::gives_result(verified.plan());
    let mut lost = None;
    let mut unaudited = false;
    let live = Live::new(args, global, gives);
    let mut tell = |event: &Event| {
        // Nobody to tell it to is no reason to stop.
        let _ = live.see(event, streams.err);
        let out = &mut *streams.out;
        let written = match args.output_format {
            RunFormat::Events => live.above(|| results::event_line(event, settings, clock, out)),
            RunFormat::Text if event.replayed && !global.verbose => Ok(()),
            RunFormat::Text if gives => Ok(()),
            RunFormat::Text if !global.quiet && results::is_told(event) => {
                live.above(|| results::text_line(event, look, out).and_then(|()| out.flush()))
            }
            RunFormat::Text | RunFormat::Json => Ok(()),
        };
        lost = lost.take().or(written.err());
        if is_notice(event) {
            let _ = live.above(|| notice(event, streams.err));
        }
        if let Some(stage) = denied_too_late(event, &settings.deny) {
            let stage = results::printable(stage);
            let words = format!(
                "rrc: stage {stage} was approved before, and `--deny` does not take that back"
            );
            let _ = live.above(|| writeln!(streams.err, "{words}"));
        }
        if let Some(audit) = &mut audit {
            unaudited |= audit.see(event).is_err();
        }
    };
    let (mut stderr, mut other) = (io::stderr(), io::stderr());
    let mut questions = settings.ways.err();
    let mut ask = |approval: Approval<'_>| {
        let err = chosen(&mut questions, &mut stderr);
        // A question that cannot be put has no answer.
        live.alone(|| ask(&approval, err)).unwrap_or(false)
    };
    let mut found_out = settings.ways.err();
    let mut find = |name: &str, number: u64| {
        let mut findings = Vec::new();
        let found = late::find(name, number, prepared, args, global, &mut findings);
        if !findings.is_empty() {
            // Nobody to tell it to is no reason to stop.
            let err = chosen(&mut found_out, &mut other);
            let _ = live.above(|| err.write_all(&findings));
        }
        found
    };
    let outcome = driver::run(
        Rc::clone(verified),
        variables,
        settings,
        memory,
        &mut tell,
        &mut ask,
        &mut find,
    )
    .map_err(|error| io::Error::other(format!("the run cannot begin: {error}")))?;
    drop(live);
    settings.ways.wait();
    if unaudited {
        writeln!(
            streams.err,
            "rrc: the audit file could not be written to its end"
        )?;
    }
    match lost {
        Some(error) if args.output_format != RunFormat::Json => Err(error),
        _ => Ok(outcome),
    }
}

/// The stage that was approved in an earlier life of the run, if it is to be denied in this one.
fn denied_too_late<'e>(event: &'e Event, deny: &[String]) -> Option<&'e str> {
    let stage = &event.step.as_ref()?.id;
    let approved = matches!(event.what, What::ApprovalAnswered { approved: true });
    (event.replayed && approved && deny.contains(stage)).then_some(stage)
}

/// Whether a user should know it however the run is shown.
fn is_notice(event: &Event) -> bool {
    matches!(event.what, What::StepInterrupted | What::RunWarning { .. })
}

fn notice(event: &Event, err: &mut dyn io::Write) -> io::Result<()> {
    match (&event.what, &event.step) {
        (What::StepInterrupted, Some(step)) => {
            let path = results::printable(&step.path);
            writeln!(err, "rrc: step {path} was interrupted and runs again")
        }
        (What::RunWarning { text }, None) => {
            writeln!(err, "rrc: {}", results::printable_lines(text))
        }
        _ => Ok(()),
    }
}

/// Asks on the terminal, if there is one.
fn ask(approval: &Approval<'_>, err: &mut dyn io::Write) -> io::Result<bool> {
    let somebody = io::stdin().is_terminal() && io::stderr().is_terminal();
    match approval {
        _ if !somebody => {}
        Approval::Ask {
            stage,
            prompt,
            within,
        } => {
            // Values are part of the prompt, and must not paint over it.
            for line in prompt.lines() {
                writeln!(err, "{}", results::printable(line))?;
            }
            let late = within.map_or(String::new(), |(left, approves)| {
                let then = if approves { "approved" } else { "denied" };
                // A question that has just been put says the time that the recipe gives.
                format!("; {then} in {:.0} s", left.as_secs_f64().ceil())
            });
            write!(
                err,
                "approve stage {}? [y/n{late}] ",
                results::printable(stage)
            )?;
            err.flush()?;
        }
        // The cursor still stands behind the question.
        Approval::Withdrawn { default } => writeln!(
            err,
            "{}",
            match default {
                Some(true) => "(approved: nobody answered in time)",
                Some(false) => "(denied: nobody answered in time)",
                None => "",
            }
        )?,
    }
    Ok(somebody)
}

fn report(
    prepared: &Prepared<'_>,
    outcome: &Outcome,
    args: &RunArgs,
    quiet: bool,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let plan = prepared.verified.plan();
    if let Some(words) = &outcome.refused {
        writeln!(
            streams.err,
            "rrc: run {}: {words}",
            prepared.settings.run_id
        )?;
        if args.resume.is_some() {
            writeln!(streams.err, "help: start a new run")?;
        }
    }
    match args.output_format {
        RunFormat::Events => Ok(()),
        RunFormat::Json if piped::gives_result(plan) => {
            writeln!(streams.out, "{}", piped::json(outcome, prepared.settings))
        }
        RunFormat::Text if piped::gives_result(plan) && outcome.refused.is_none() => {
            piped::text(outcome, streams)
        }
        RunFormat::Json => object::write(plan, outcome, prepared.settings, streams.out),
        RunFormat::Text if outcome.refused.is_some() => Ok(()),
        RunFormat::Text if quiet && outcome.status == RunStatus::Completed => Ok(()),
        RunFormat::Text => results::summary(plan, outcome, streams.out),
    }
}

/// What is kept of steps that have ended: one object tells of all of them, text of what failed.
pub fn keep(args: &RunArgs) -> Keep {
    match args.output_format {
        RunFormat::Json => Keep::All,
        RunFormat::Text | RunFormat::Events => Keep::Failures,
    }
}

/// How many processes may run at once.
pub fn jobs(args: &RunArgs, config: &Config) -> usize {
    args.jobs.or(config.run.jobs).unwrap_or(MOST_PROCESSES) as usize
}

/// Where steps run.
fn directory(global: &Global, streams: &mut Streams<'_>) -> io::Result<Option<PathBuf>> {
    let here = std::env::current_dir().map_err(|error| {
        let words = format!("the directory that rrc was started in: {error}");
        io::Error::new(error.kind(), words)
    })?;
    let Some(wanted) = &global.working_dir else {
        return Ok(Some(here));
    };
    let directory = here.join(wanted);
    if !directory.is_dir() {
        writeln!(
            streams.err,
            "rrc: --working-dir {}: not a directory",
            wanted.display()
        )?;
        return Ok(None);
    }
    Ok(Some(directory))
}

/// The arguments, with the secrets that the configuration names.
pub fn with_secrets(args: &RunArgs, config: &Config) -> RunArgs {
    let mut args = args.clone();
    args.secret.extend_from_slice(&config.run.secrets);
    args
}
