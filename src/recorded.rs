//! Runs that are recorded: where they are kept, and how one goes on or is shown again.

use crate::cli::{Global, RunArgs};
use crate::config::Config;
use crate::output::is_same;
use crate::preflight::{self, Preflight};
use crate::results::Clock;
use crate::run::{self, Prepared};
use crate::values::{Given, schema_of};
use crate::{Streams, USAGE, initial, late, nested, plan, words};
use rrc_runtime::driver::{self, Memory, Settings, Then};
use rrc_runtime::journal::{self, Journal, PLAN, Past, Recorded, Start};
use rrc_runtime::outlet::Ways;
use rrc_runtime::secret::Secrets;
use rrc_vm::codec::encode;
use rrc_vm::plan::{NeedKind, Plan};
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use std::cell::OnceCell;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Where the runs of the directory we are in are kept.
pub fn directory() -> PathBuf {
    Path::new(".rrc").join("runs")
}

/// What is remembered of a run that begins, and what it keeps to itself.
pub fn begin(
    prepared: &Prepared<'_>,
    variables: &Map,
    args: &RunArgs,
    streams: &mut Streams<'_>,
) -> io::Result<Memory> {
    let plan = prepared.verified.plan();
    let mut memory = Memory {
        journal: None,
        past: None,
        secrets: secrets(plan, &args.secret, variables),
    };
    if args.no_record {
        return Ok(memory);
    }
    let bytes = encode(plan);
    let run_id = &prepared.settings.run_id;
    let start = Start {
        run: run_id.clone(),
        name: plan.texts.get(plan.name).unwrap_or_default().to_string(),
        file: absolute(prepared.file),
        plan: blake3::hash(&bytes).to_hex().to_string(),
        rrc: env!("CARGO_PKG_VERSION").to_string(),
        started_ms: prepared.clock.since_1970_ms(),
        directory: prepared.settings.directory.clone(),
        secrets: memory.secrets.names().to_vec(),
        include_tags: args.include_tags.clone(),
        exclude_tags: args.exclude_tags.clone(),
        stage: prepared.settings.stage,
    };
    let place = directory().join(run_id);
    match Journal::create(&place, &bytes, &start, variables, &memory.secrets) {
        Ok(journal) => memory.journal = Some(journal),
        // Where nothing can be written, a run is still worth something.
        Err(error) => writeln!(
            streams.err,
            "rrc: the run is not recorded: {}: {error}",
            place.display()
        )?,
    }
    Ok(memory)
}

fn absolute(file: &str) -> String {
    let path = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
    path.to_string_lossy().into_owned()
}

fn secret_names(plan: &Plan) -> impl Iterator<Item = String> {
    plan.needs
        .iter()
        .filter(|need| need.kind == NeedKind::Secret)
        .filter_map(|need| plan.texts.get(need.name))
        .map(String::from)
}

/// Learns what secret variables hold, and what the environment calls by the same names.
fn learn(secrets: &mut Secrets, variables: &Map) {
    for name in secrets.names().to_vec() {
        if let Some(value) = variables.get(name.as_str()) {
            secrets.learn(&name, value);
        }
        if let Ok(value) = std::env::var(&name) {
            secrets.learn(&name, &Value::text(value));
        }
    }
}

/// The secrets of a plan and those that are named besides, with their values.
pub fn secrets(plan: &Plan, named: &[String], variables: &Map) -> Secrets {
    let mut secrets = Secrets::new(secret_names(plan).chain(named.iter().cloned()));
    learn(&mut secrets, variables);
    secrets
}

/// Variables as they may be shown without running anything.
pub fn without_secrets(names: impl Iterator<Item = String>, variables: &Map) -> Map {
    let mut secrets = Secrets::new(names);
    learn(&mut secrets, variables);
    secrets.variables(variables)
}

/// The sources of a plan that have changed since it was built, as far as they stand beside it.
pub fn changed(plan: &Plan, file: &str) -> Vec<String> {
    let beside = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut changed = Vec::new();
    for source in &plan.sources {
        let name = plan.texts.get(source.name).unwrap_or_default();
        let path = beside.join(name);
        let Ok(bytes) = std::fs::read(&path) else {
            continue;
        };
        let (text, _) = rrc_compiler::doc::read_bytes(bytes);
        if plan::hash(&text) != source.hash {
            changed.push(path.display().to_string());
        }
    }
    changed
}

/// A directory that is no run, and why.
pub type NoRun = (PathBuf, String);

/// All runs here that can be read, the latest first, and those that cannot, with the reason.
pub fn all() -> io::Result<(Vec<Recorded>, Vec<NoRun>)> {
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    let entries = match std::fs::read_dir(directory()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((found, unread)),
        Err(error) => {
            let why = format!("{}: {}", directory().display(), words(&error));
            return Err(io::Error::new(error.kind(), why));
        }
    };
    for entry in entries {
        let path = entry?.path();
        if !path.is_dir() {
            continue;
        }
        match journal::read(&path) {
            Ok(recorded) => found.push(recorded),
            Err(words) => unread.push((path, words)),
        }
    }
    found.sort_by(|a, b| {
        let key = |recorded: &Recorded| (recorded.start.started_ms, recorded.start.run.clone());
        key(b).cmp(&key(a))
    });
    Ok((found, unread))
}

/// The run that a word names: the start of its name, or all of it.
fn named(wanted: &str) -> Result<Recorded, String> {
    let entries = std::fs::read_dir(directory()).map_err(|_| no_run(wanted))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(wanted))
        .collect();
    names.sort();
    match names.as_slice() {
        [] => Err(no_run(wanted)),
        [name] => {
            journal::read(&directory().join(name)).map_err(|words| format!("run {name}: {words}"))
        }
        [first, .., last] if first != wanted => Err(format!(
            "`{wanted}` may be {} runs, from {first} to {last}",
            names.len()
        )),
        [name, ..] => {
            journal::read(&directory().join(name)).map_err(|words| format!("run {name}: {words}"))
        }
    }
}

fn no_run(wanted: &str) -> String {
    format!("there is no run `{wanted}` in {}", directory().display())
}

/// The latest run of a file that did not complete.
fn latest(file: &str) -> Result<Recorded, String> {
    let (mut runs, unread) = all().map_err(|error| error.to_string())?;
    runs.retain(|recorded| is_of(&recorded.start, file));
    let denied = |recorded: &Recorded| recorded.finish.as_ref().is_some_and(|end| end.denied);
    let goes_on = |recorded: &Recorded| {
        !denied(recorded) && !matches!(recorded.status(), "completed" | "partial")
    };
    // One that was denied is refused with the reason.
    let at = runs.iter().position(goes_on);
    let at = at.or_else(|| runs.first().filter(|latest| denied(latest)).map(|_| 0));
    if let Some(at) = at {
        return Ok(runs.swap_remove(at));
    }
    let mut words = format!(
        "there is no run of {file} in {} that could go on",
        directory().display()
    );
    // Of which recipe it is cannot be read either.
    if let Some((path, why)) = unread.iter().max() {
        let run = path.file_name().unwrap_or_default();
        words += &format!("; run {}: {why}", run.to_string_lossy());
    }
    Err(words)
}

/// `--resume` and `--replay`.
pub fn again(args: &RunArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let Some(given) = Given::read(args.vars.as_deref(), &args.set, streams)? else {
        return Ok(USAGE);
    };
    let wanted = args.resume.as_deref().or(args.replay.as_deref());
    let wanted = wanted.unwrap_or_default();
    let found = match (wanted, args.file.as_deref()) {
        ("", Some(file)) => latest(&plan::meant(file, global)),
        ("", None) => Err("name a recipe or a run to go on with".to_string()),
        // `--resume recipe.yaml`: no run is called like a file.
        (file, None) if args.resume.is_some() && Path::new(file).is_file() => latest(file),
        (run, _) => named(run),
    };
    let recorded = match found {
        Ok(recorded) => recorded,
        Err(words) => return refuse(&words, "`rrc runs` lists what is recorded here", streams),
    };
    if let (Some(_), Some(file)) = (&args.resume, args.file.as_deref())
        // It may have moved since.
        && Path::new(&recorded.start.file).exists()
        && !is_of(&recorded.start, &plan::meant(file, global))
    {
        let Start { run, file: own, .. } = &recorded.start;
        let words = format!("run {run} is of {own}, not of {file}");
        return refuse(&words, "leave out the file, or name a run of it", streams);
    }
    match args.resume {
        Some(_) => resume(&recorded, &given, args, global, streams),
        None => replay(&recorded, args, global, streams),
    }
}

/// Whether a run is of this file, by whatever path that is named.
fn is_of(start: &Start, file: &str) -> bool {
    absolute(file) == start.file || is_same(start.file.as_ref(), file.as_ref())
}

fn refuse(words: &str, help: &str, streams: &mut Streams<'_>) -> io::Result<u8> {
    writeln!(streams.err, "rrc: {words}")?;
    if !help.is_empty() {
        writeln!(streams.err, "help: {help}")?;
    }
    Ok(USAGE)
}

/// The plan that a run was recorded with.
fn saved_plan(
    recorded: &Recorded,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<plan::Found<Rc<Verified>>> {
    let path = recorded.directory.join(PLAN);
    let read = std::fs::read(&path);
    let path = path.to_string_lossy();
    let wrong = match read {
        Ok(bytes) if blake3::hash(&bytes).to_hex().as_str() == recorded.start.plan => None,
        Ok(_) => Some(format!("{path} is not the plan that was recorded")),
        Err(error) => Some(format!("{path}: {}", words(&error))),
    };
    if let Some(wrong) = wrong {
        return refuse(&wrong, "start a new run", streams).map(Err);
    }
    Ok(match plan::read(&path, global, streams)? {
        Ok(read) => plan::admit(&path, read, global, streams)?.map(Rc::new),
        Err(code) => Err(code),
    })
}

/// Why a run cannot go on whatever is asked of it, and what to do instead.
fn is_over(recorded: &Recorded) -> Option<(String, String)> {
    let run = &recorded.start.run;
    if recorded.finish.as_ref().is_some_and(|end| end.denied) {
        let words = format!("run {run} was denied, which is final");
        return Some((words, "start a new run".to_string()));
    }
    match recorded.status() {
        "running" if journal::stays_running(&recorded.directory) => {
            Some((still_runs(run), String::new()))
        }
        status @ ("completed" | "partial") => Some((
            format!("run {run} is {status}: nothing is left"),
            format!("`rrc run --replay {run}` shows it again"),
        )),
        _ => None,
    }
}

fn still_runs(run: &str) -> String {
    format!("run {run} is still running")
}

/// What a run was told, without the replies that are taken back, and the secrets that it is read with:
/// recipes that were found on the way may have named more than the run started with.
fn recall(
    recorded: &Recorded,
    again: &[u64],
    named: &[String],
    given: &Map,
) -> Result<(Past, Secrets), String> {
    let with = |names: Vec<String>| {
        let mut secrets = Secrets::new(names);
        learn(&mut secrets, given);
        let past = recorded.past(again, &secrets)?;
        Ok::<_, String>((past, secrets))
    };
    let names = recorded.start.secrets.iter().chain(named).cloned();
    let (past, secrets) = with(names.collect())?;
    let unnamed = past.missing.iter().filter(|name| !secrets.is_secret(name));
    let unnamed: Vec<String> = unnamed.cloned().collect();
    match unnamed.is_empty() {
        true => Ok((past, secrets)),
        false => with([secrets.names(), &unnamed].concat()),
    }
}

fn resume(
    recorded: &Recorded,
    given: &Given,
    args: &RunArgs,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<u8> {
    let start = &recorded.start;
    let run = &start.run;
    if let Some((words, help)) = is_over(recorded) {
        return refuse(&words, &help, streams);
    }
    let verified = match saved_plan(recorded, global, streams)? {
        Ok(verified) => verified,
        Err(code) => return Ok(code),
    };
    let given = given.to(schema_of(verified.plan()));
    if let Some(first) = changed(verified.plan(), &start.file).first() {
        if args.frozen {
            let words = format!("{first} has changed since run {run} started");
            return refuse(&words, "start a new run", streams);
        }
        writeln!(
            streams.err,
            "rrc: {first} has changed; run {run} goes on with what it was when it started"
        )?;
    }
    let config = match plan::configuration(&start.file, global, streams)? {
        Ok(config) => config,
        Err(code) => return Ok(code),
    };
    let args = &run::with_secrets(args, &config);
    let mut again = recorded.finish.as_ref().map(|finish| finish.again.clone());
    let taken_back = again.as_deref().unwrap_or_default();
    let (mut past, secrets) = match recall(recorded, taken_back, &args.secret, given) {
        Ok(read) => read,
        Err(words) => return refuse(&format!("run {run}: {words}"), "start a new run", streams),
    };
    if let Some(code) = restore(&mut past, given, &secrets, streams)? {
        return Ok(code);
    }
    if let Some(option) = differs(start, args, global) {
        let words = format!("`{option}` stays what it was when the run started");
        return refuse(&words, "start a new run to change it", streams);
    }
    if !start.directory.is_dir() {
        let words = format!("{} is not there any more", start.directory.display());
        let help = "the run goes on where it started: put it back, or start a new run";
        return refuse(&words, help, streams);
    }
    let settings = match settings(start, verified.plan(), args, &config, global, streams)? {
        Ok(settings) => settings,
        Err(code) => return Ok(code),
    };
    // Times go on from where the run was, as if nothing had been between.
    let started = Clock::now().since_1970_ms().saturating_sub(past.ms);
    let prepared = Prepared {
        verified: &verified,
        file: &start.file,
        settings: &settings,
        clock: &Clock::at(started),
        runner: &runner(start),
    };
    if again.is_none() {
        // It was killed before it could say what it failed by.
        let mut find = |name: &str, number: u64| {
            late::find(name, number, &prepared, args, global, &mut Vec::new())
        };
        let (plan, secrets) = (Rc::clone(&verified), secrets.clone());
        let found = driver::failed_by(plan, past.clone(), &settings, secrets, &mut find)?;
        past.take_back(&found);
        again = Some(found);
    }
    let audit = run::audit(&prepared, args)?;
    let journal = match Journal::reopen(recorded, again.as_deref().unwrap_or_default()) {
        Ok(journal) => journal,
        // Somebody else has gone on with it since it was read.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            return refuse(&still_runs(run), "", streams);
        }
        Err(error) => {
            return refuse(&format!("run {run} cannot go on: {error}"), "", streams);
        }
    };
    let variables = past.variables.clone();
    let memory = Memory {
        journal: Some(journal),
        past: Some((past, Then::GoOn)),
        secrets,
    };
    run::perform_and_report(&prepared, variables, (memory, audit), args, global, streams)
}

/// How a run goes on: as it was started, but for what is asked of it now. What it needs and is not here
/// is said.
fn settings(
    start: &Start,
    plan: &Plan,
    args: &RunArgs,
    config: &Config,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<plan::Found<Settings>> {
    let asking = preflight::Asking {
        plan,
        args,
        config,
        directory: &start.directory,
        global,
    };
    let agents = match asking.agents(streams)? {
        Ok(agents) => agents,
        Err(code) => return Ok(Err(code)),
    };
    let preflight = Preflight {
        plan,
        file: &start.file,
        directory: &start.directory,
        agents: &agents,
        given: &Map::default(),
        reserved: &[],
        args,
        tags: &initial::tags(&start.include_tags, &start.exclude_tags),
        reached: OnceCell::new(),
    };
    // What has run once may have needed what is gone now; only agents must be there.
    if !preflight.check(true, streams)? {
        return Ok(Err(USAGE));
    }
    Ok(Ok(Settings {
        run_id: start.run.clone(),
        directory: start.directory.clone(),
        jobs: run::jobs(args, config),
        timeout: args.timeout,
        approve: args.approve.clone(),
        deny: args.deny.clone(),
        agents,
        told: nested::told(plan, &start.run),
        stage: start.stage && !args.no_auto_stage,
        keep: run::keep(args),
        ways: Ways::standard(),
    }))
}

/// What the runner told its recipes when the run started.
fn runner(start: &Start) -> Map {
    let session = initial::session(&start.run, &start.directory, &Clock::at(start.started_ms));
    initial::runner(&start.include_tags, &start.exclude_tags, session)
}

/// The option that asks for something else than the run was started with.
fn differs(start: &Start, args: &RunArgs, global: &Global) -> Option<&'static str> {
    let tags = [
        ("--include-tags", &start.include_tags, &args.include_tags),
        ("--exclude-tags", &start.exclude_tags, &args.exclude_tags),
    ];
    for (option, then, given) in tags {
        if !given.is_empty() && then != given {
            return Some(option);
        }
    }
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let elsewhere = |wanted: &PathBuf| real(wanted) != real(&start.directory);
    let working_dir = global.working_dir.as_ref();
    working_dir.filter(|wanted| elsewhere(wanted))?;
    Some("--working-dir")
}

/// Puts secrets that are given again where they were; says which are missing.
fn restore(
    past: &mut Past,
    given: &Map,
    secrets: &Secrets,
    streams: &mut Streams<'_>,
) -> io::Result<Option<u8>> {
    for name in given.keys() {
        if !secrets.is_secret(name) && !past.missing.iter().any(|missing| **missing == **name) {
            let words = format!("`{name}` stays what it was when the run started");
            let help = "only secrets are given again; start a new run to change variables";
            return refuse(&words, help, streams).map(Some);
        }
    }
    for name in secrets.names() {
        let hidden = past.variables.get_mut(name.as_str());
        if let Some(value) = hidden.filter(|value| is_hidden(value)) {
            match given.get(name.as_str()) {
                Some(again) => *value = again.clone(),
                None if past.missing.contains(name) => {}
                None => past.missing.push(name.clone()),
            }
        }
    }
    past.missing
        .retain(|name| !given.contains_key(name.as_str()));
    for (name, value) in given {
        if let Some(known) = past.variables.get_mut(name) {
            *known = value.clone();
        }
    }
    if !past.missing.is_empty() {
        return missing(past, streams).map(Some);
    }
    if let Some(step) = past.lost.first() {
        let words = format!("step `{step}` wrote a token, which was not recorded");
        let help = "start a new run; name the variable in `secrets` to be able to give it again";
        return refuse(&words, help, streams).map(Some);
    }
    Ok(None)
}

/// Secrets that the run had and nobody has written down.
fn missing(past: &Past, streams: &mut Streams<'_>) -> io::Result<u8> {
    let is_given = |name: &&String| past.variables.contains_key(name.as_str());
    for name in &past.missing {
        let whose = match is_given(&name) {
            true => "",
            false => ", and the step that sets it does not run again",
        };
        writeln!(
            streams.err,
            "rrc: the value of `{name}` is secret and was not recorded{whose}"
        )?;
    }
    let sets = past.missing.iter().map(|name| format!("--set {name}=…"));
    let sets = sets.collect::<Vec<_>>().join(" ");
    let or = match past.missing.iter().all(|name| is_given(&name)) {
        true => "",
        false => ", or start a new run",
    };
    let word = if past.missing.len() == 1 {
        "it"
    } else {
        "them"
    };
    writeln!(streams.err, "help: give {word} again with `{sets}`{or}")?;
    Ok(USAGE)
}

fn is_hidden(value: &Value) -> bool {
    matches!(value, Value::Text(text) if &**text == rrc_runtime::secret::HIDDEN)
}

fn replay(
    recorded: &Recorded,
    args: &RunArgs,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<u8> {
    let start = &recorded.start;
    let mut secrets = Secrets::new(start.secrets.iter().chain(&args.secret).cloned());
    learn(&mut secrets, &Map::default());
    let past = match recorded.whole_past(&secrets) {
        Ok(past) => past,
        Err(words) => return refuse(&format!("run {}: {words}", start.run), "", streams),
    };
    let compiled = match args.file.as_deref() {
        Some(file) => {
            let file = &plan::meant(file, global);
            let config = match plan::configuration(file, global, streams)? {
                Ok(config) => config,
                Err(code) => return Ok(code),
            };
            let values = Given::of_run(&past.variables);
            run::load(
                file,
                Some(&values),
                &start.secrets,
                &config,
                global,
                streams,
            )?
            .map(|loaded| loaded.verified)
        }
        None => saved_plan(recorded, global, streams)?,
    };
    let verified = match compiled {
        Ok(verified) => verified,
        Err(code) => return Ok(code),
    };
    if args.frozen
        && let Some(first) = changed(verified.plan(), &start.file).first()
    {
        let words = format!("{first} has changed since run {} started", start.run);
        return refuse(&words, "", streams);
    }
    let settings = Settings {
        run_id: start.run.clone(),
        directory: start.directory.clone(),
        jobs: 1,
        timeout: None,
        approve: Vec::new(),
        deny: Vec::new(),
        agents: rrc_runtime::agent::Commands::default(),
        told: Vec::new(),
        stage: false,
        keep: run::keep(args),
        ways: Ways::standard(),
    };
    let mut variables = initial::defaults(verified.plan());
    variables.extend(past.variables.clone());
    let memory = Memory {
        journal: None,
        past: Some((past, Then::Stop)),
        secrets,
    };
    let prepared = Prepared {
        verified: &verified,
        file: &start.file,
        settings: &settings,
        clock: &Clock::at(start.started_ms),
        runner: &runner(start),
    };
    let audit = run::audit(&prepared, args)?;
    run::perform_and_report(&prepared, variables, (memory, audit), args, global, streams)
}
