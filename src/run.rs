//! `rrc run`: a recipe or a plan, to its end.

use crate::audit::Audit;
use crate::cli::{Global, RunArgs, RunFormat};
use crate::config::Config;
use crate::results::{self, Clock};
use crate::{OK, Streams, USAGE, dry, plan, values};
use rrc_compiler::ir::{EXCLUDE_TAGS, INCLUDE_TAGS, Program};
use rrc_compiler::source::Sources;
use rrc_runtime::driver::{self, Outcome, Settings};
use rrc_runtime::event::Event;
use rrc_runtime::process::Signal;
use rrc_vm::plan::{Const, NeedKind, Plan};
use rrc_vm::value::{Map, Value};
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// Processes at once, when nobody says otherwise.
const MOST_PROCESSES: u32 = 64;

pub fn run(args: &RunArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let mut given = Map::default();
    if !values::put_over(&mut given, args.vars.as_deref(), &args.set, streams)? {
        return Ok(USAGE);
    }
    let config = match plan::configuration(&args.file, global, streams)? {
        Ok(config) => config,
        Err(code) => return Ok(code),
    };
    let mut understood = None;
    let compiled = match plan::is_plan(&args.file) {
        true => plan::read(&args.file, global, streams)?,
        false => {
            plan::compile(&args.file, Some(&given), &config, global, streams)?.map(|compiled| {
                understood = Some((compiled.program, compiled.sources));
                compiled.plan
            })
        }
    };
    let verified = match compiled {
        Ok(compiled) => plan::admit(&args.file, compiled, global, streams)?,
        Err(code) => return Ok(code),
    };
    let verified = match verified {
        Ok(verified) => Rc::new(verified),
        Err(code) => return Ok(code),
    };
    let mut variables = defaults(verified.plan());
    if !values::put_over(&mut variables, args.vars.as_deref(), &args.set, streams)? {
        return Ok(USAGE);
    }
    if args.validate_only {
        if !global.quiet {
            writeln!(streams.err, "{} can run", args.file)?;
        }
        return Ok(OK);
    }
    if args.explain || args.dry_run {
        return show_plan(&understood, &variables, args, streams);
    }
    if !agents_are_known(verified.plan(), &config, &args.file, streams)? {
        return Ok(USAGE);
    }
    let Some(directory) = directory(global, streams)? else {
        return Ok(USAGE);
    };
    let Some(timeout) = timeout(args, streams)? else {
        return Ok(USAGE);
    };
    let clock = Clock::now();
    let settings = Settings {
        run_id: clock.run_id(),
        directory,
        jobs: args.jobs.or(config.run.jobs).unwrap_or(MOST_PROCESSES) as usize,
        timeout,
        approve: args.approve.clone(),
        deny: args.deny.clone(),
        agents: config.agents.clone(),
    };
    runner_values(&mut variables, verified.plan(), args, &settings, &clock);
    let outcome = perform(
        &verified, variables, &settings, &clock, args, global, streams,
    )?;
    report(&verified, &outcome, &settings, args, streams)?;
    Ok(match outcome.signal {
        Some(Signal::Interrupt) => 130,
        Some(Signal::Terminate) => 143,
        Some(Signal::Hangup) => 129,
        None => outcome.status.exit_code(),
    })
}

/// What would run. A plan alone does not say: its recipe is needed for that.
fn show_plan(
    understood: &Option<(Program, Sources)>,
    variables: &Map,
    args: &RunArgs,
    streams: &mut Streams<'_>,
) -> io::Result<u8> {
    let Some((program, sources)) = understood else {
        writeln!(
            streams.err,
            "rrc: {}: a plan cannot be shown this way",
            args.file
        )?;
        writeln!(streams.err, "help: name its recipe, or use `rrc disasm`")?;
        return Ok(USAGE);
    };
    match args.explain {
        true => dry::explain(program, sources, streams)?,
        false => {
            let mut variables = variables.clone();
            for (name, tags) in [
                (INCLUDE_TAGS, &args.include_tags),
                (EXCLUDE_TAGS, &args.exclude_tags),
            ] {
                variables.insert(Rc::from(name), tag_list(tags));
            }
            dry::dry_run(
                program,
                &variables,
                args.output_format,
                &Clock::now(),
                streams,
            )?;
        }
    }
    Ok(OK)
}

fn tag_list(tags: &[String]) -> Value {
    Value::list(tags.iter().map(|tag| Value::text(tag.as_str())).collect())
}

fn perform(
    verified: &Rc<rrc_vm::verify::Verified>,
    variables: Map,
    settings: &Settings,
    clock: &Clock,
    args: &RunArgs,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<Outcome> {
    let color = global.use_color(io::stdout().is_terminal());
    let name = verified
        .plan()
        .texts
        .get(verified.plan().name)
        .unwrap_or_default();
    let mut audit = match &args.audit_dir {
        Some(directory) => Some(Audit::create(directory, name, clock)?),
        None => None,
    };
    // A reader that goes away does not end the run: its steps have effects that count.
    let mut lost = false;
    let mut unaudited = false;
    let mut tell = |event: &Event| {
        let written = match args.output_format {
            RunFormat::Events => results::event_line(event, settings, clock, streams.out),
            RunFormat::Text if !global.quiet => results::text_line(event, color, streams.out),
            RunFormat::Text | RunFormat::Json => Ok(()),
        };
        lost |= written.is_err();
        if let Some(audit) = &mut audit {
            unaudited |= audit.see(event).is_err();
        }
    };
    let mut ask = ask;
    let outcome = driver::run(
        Rc::clone(verified),
        variables,
        settings,
        &mut tell,
        &mut ask,
    )?;
    if unaudited {
        writeln!(
            streams.err,
            "rrc: the audit file could not be written to its end"
        )?;
    }
    if lost && args.output_format != RunFormat::Json {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe));
    }
    Ok(outcome)
}

/// Asks on the terminal, if there is one.
fn ask(stage: &str, prompt: &str) -> Option<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return None;
    }
    loop {
        eprint!("{prompt}\napprove stage {stage}? [y/n] ");
        let mut line = String::new();
        if io::stdin().read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => return Some(true),
            "n" | "no" => return Some(false),
            _ => {}
        }
    }
}

fn report(
    verified: &rrc_vm::verify::Verified,
    outcome: &Outcome,
    settings: &Settings,
    args: &RunArgs,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    match args.output_format {
        RunFormat::Events => Ok(()),
        RunFormat::Json => {
            let report = results::json(verified.plan(), outcome, settings);
            writeln!(streams.out, "{report}")
        }
        RunFormat::Text => results::summary(verified.plan(), outcome, streams.out),
    }
}

/// Says which steps need an agent when none is configured, before anything runs.
fn agents_are_known(
    plan: &Plan,
    config: &Config,
    file: &str,
    streams: &mut Streams<'_>,
) -> io::Result<bool> {
    let text = |id: u32| plan.texts.get(id).unwrap_or_default();
    let needs = plan
        .needs
        .iter()
        .filter(|need| need.kind == NeedKind::Agent);
    let missing: Vec<&str> = needs
        .filter(|need| config.agents.command(text(need.name)).is_none())
        .filter_map(|need| plan.steps.get(need.step as usize))
        .map(|step| text(step.id))
        .collect();
    if missing.is_empty() {
        return Ok(true);
    }
    writeln!(
        streams.err,
        "rrc: {file}: no agent is configured for: {}",
        missing.join(", ")
    )?;
    writeln!(
        streams.err,
        "help: set `command` under `[agent]` in rrc.toml"
    )?;
    Ok(false)
}

/// Where steps run.
fn directory(global: &Global, streams: &mut Streams<'_>) -> io::Result<Option<PathBuf>> {
    let here = std::env::current_dir()?;
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

#[allow(
    clippy::option_option,
    reason = "the outer one says whether the argument makes sense"
)]
fn timeout(args: &RunArgs, streams: &mut Streams<'_>) -> io::Result<Option<Option<Duration>>> {
    let Some(seconds) = args.timeout else {
        return Ok(Some(None));
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(Some(Some(time))),
        _ => {
            writeln!(
                streams.err,
                "rrc: --timeout {seconds}: give a number of seconds above 0"
            )?;
            Ok(None)
        }
    }
}

/// What variables hold when nobody says otherwise.
fn defaults(plan: &Plan) -> Map {
    let mut variables = Map::default();
    for input in &plan.inputs {
        let Some(name) = plan.texts.get(input.name) else {
            continue;
        };
        if let Some(default) = input.default {
            variables.insert(Rc::from(name), constant(plan, default));
        }
    }
    variables
}

/// What only the runner knows, over everything else.
fn runner_values(
    variables: &mut Map,
    plan: &Plan,
    args: &RunArgs,
    settings: &Settings,
    clock: &Clock,
) {
    for name in results::runner_names(plan) {
        let value = match name {
            INCLUDE_TAGS => tag_list(&args.include_tags),
            EXCLUDE_TAGS => tag_list(&args.exclude_tags),
            _ => session(settings, clock),
        };
        variables.insert(Rc::from(name), value);
    }
}

fn session(settings: &Settings, clock: &Clock) -> Value {
    let mut session = Map::default();
    session.insert(Rc::from("id"), Value::text(settings.run_id.as_str()));
    session.insert(Rc::from("started"), Value::text(clock.timestamp(0)));
    session.insert(
        Rc::from("project"),
        Value::text(settings.directory.to_string_lossy().as_ref()),
    );
    Value::map(session)
}

fn constant(plan: &Plan, id: u32) -> Value {
    let text = |id: u32| Value::text(plan.texts.get(id).unwrap_or_default());
    match plan.constants.get(id as usize) {
        None | Some(Const::Null) => Value::Null,
        Some(Const::Bool(value)) => Value::Bool(*value),
        Some(Const::Int(value)) => Value::Int(*value),
        Some(Const::Float(value)) => Value::Float(*value),
        Some(Const::Text(id)) => text(*id),
        Some(Const::List { first, count }) => {
            let parts = plan
                .parts
                .iter()
                .skip(*first as usize)
                .take(*count as usize);
            Value::list(parts.map(|part| constant(plan, *part)).collect())
        }
        Some(Const::Map { first, count }) => {
            let parts: Vec<u32> = plan
                .parts
                .iter()
                .skip(*first as usize)
                .take(*count as usize * 2)
                .copied()
                .collect();
            let pairs = parts.chunks_exact(2).map(|pair| {
                let name = plan.texts.get(pair[0]).unwrap_or_default();
                (Rc::from(name), constant(plan, pair[1]))
            });
            Value::map(pairs.collect())
        }
    }
}
