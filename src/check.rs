//! `rrc check`: findings, in the format asked for; and their fixes.

use crate::cli::{CheckArgs, Format, Global};
use crate::disk::Disk;
use crate::{FAILED, OK, Streams, USAGE};
use rrc_compiler::codes::{self, Severity};
use rrc_compiler::diagnostic::{Applicability, Diagnostic, nearest};
use rrc_compiler::dialect::choose::{Choice, Reason};
use rrc_compiler::source::Sources;
use rrc_compiler::{Checked, fix, report};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

/// Rounds of fixing: one fix may lay bare another.
const MOST_ROUNDS: usize = 10;

pub fn check(args: &CheckArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    if let Some(code) = unknown_code(args, streams)? {
        return Ok(code);
    }
    let disk = match args.paths.iter().any(|path| path == "-") {
        true => Disk::with_stdin(&args.stdin_filename, global)?,
        false => Disk::new(global),
    };
    let Some(files) = files(args, streams)? else {
        return Ok(USAGE);
    };
    let mut sources = Sources::default();
    let mut all = Vec::new();
    let mut readable = true;
    let mut applied = 0;
    let mut diffs = String::new();
    let mut rewritten = None;
    for file in &files {
        let fixed = fixed(file, &disk, args, global, &mut sources)?;
        readable &= fixed.checked.readable;
        applied += fixed.applied;
        diffs.push_str(&fixed.diff);
        rewritten = rewritten.or(fixed.rewritten);
        if global.verbose {
            say_choice(&file.name, &fixed.checked, &sources, streams)?;
        }
        all.extend(fixed.checked.report.findings);
    }
    let kept: Vec<Diagnostic> = all
        .into_iter()
        .filter(|finding| wanted(finding, args))
        .collect();
    write_findings(&kept, &sources, args, global, rewritten.is_some(), streams)?;
    streams.out.write_all(diffs.as_bytes())?;
    streams.out.write_all(&rewritten.unwrap_or_default())?;
    if applied > 0 && !global.quiet {
        let verb = if args.diff { "would be fixed" } else { "fixed" };
        let plural = if applied == 1 { "finding" } else { "findings" };
        writeln!(streams.err, "{applied} {plural} {verb}")?;
    }
    let least = if args.deny_warnings {
        Severity::Warning
    } else {
        Severity::Error
    };
    let bad = kept.iter().any(|finding| finding.severity >= least);
    Ok(match (readable, bad) {
        (false, _) => USAGE,
        (true, true) if !args.exit_zero => FAILED,
        _ => OK,
    })
}

/// A file to check.
struct Named {
    name: String,
    stdin: bool,
}

/// The files that the paths mean; directories are walked.
fn files(args: &CheckArgs, streams: &mut Streams<'_>) -> io::Result<Option<Vec<Named>>> {
    let mut files = Vec::new();
    for path in &args.paths {
        if path == "-" {
            files.push(Named {
                name: args.stdin_filename.clone(),
                stdin: true,
            });
        } else if std::path::Path::new(path).is_dir() {
            files.extend(walk(path));
        } else {
            files.push(Named {
                name: path.clone(),
                stdin: false,
            });
        }
    }
    if files.is_empty() {
        writeln!(streams.err, "rrc: no recipes in {}", args.paths.join(", "))?;
        writeln!(
            streams.err,
            "help: a recipe is a .yaml or .yml file with `steps` or `stages`"
        )?;
        return Ok(None);
    }
    Ok(Some(files))
}

/// Recipes below a directory, in the order of their paths. What is no recipe is passed over.
fn walk(directory: &str) -> Vec<Named> {
    let mut found: Vec<Named> = ignore::WalkBuilder::new(directory)
        .hidden(false)
        .filter_entry(|entry| entry.file_name() != ".git" && entry.file_name() != ".rrc")
        .build()
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|e| e == "yaml" || e == "yml")
                && crate::disk::read(&entry.path().to_string_lossy())
                    .is_ok_and(|bytes| looks_like_a_recipe(&bytes))
        })
        .map(|entry| Named {
            name: entry.path().to_string_lossy().into_owned(),
            stdin: false,
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// A map with `steps` or `stages` at its top; enough to tell recipes from other YAML.
fn looks_like_a_recipe(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    lines.any(|line| line.starts_with(b"steps:") || line.starts_with(b"stages:"))
}

/// A file after its fixes, if any were asked for.
struct Fixed {
    checked: Checked,
    applied: usize,
    diff: String,
    /// What standard input became; a filter prints its text whether or not it changed it.
    rewritten: Option<Vec<u8>>,
}

fn fixed(
    file: &Named,
    disk: &Disk,
    args: &CheckArgs,
    global: &Global,
    sources: &mut Sources,
) -> io::Result<Fixed> {
    let options = global.options();
    let most = match (args.unsafe_fixes, args.fix || args.diff) {
        (true, _) => Applicability::Unsafe,
        (false, true) => Applicability::Safe,
        (false, false) => {
            let checked = rrc_compiler::check(disk, &file.name, options, sources);
            return Ok(Fixed {
                checked,
                applied: 0,
                diff: String::new(),
                rewritten: None,
            });
        }
    };
    let mut world = disk.clone();
    let mut before: Option<String> = None;
    let mut applied = 0;
    for _ in 0..MOST_ROUNDS {
        let mut scratch = Sources::default();
        let mut checked = rrc_compiler::check(&world, &file.name, options, &mut scratch);
        checked
            .report
            .findings
            .retain(|finding| wanted(finding, args));
        let changed = fix::apply(&scratch, &checked.report.findings, most);
        let Some((source, text, count)) = changed.into_iter().next() else {
            break;
        };
        before.get_or_insert_with(|| scratch.get(source).text.to_string());
        applied += count;
        // From here on, the file is what the fixes have made of it.
        world.stdin = Some((file.name.clone(), text.into_bytes()));
    }
    let after = world.stdin.as_ref().filter(|(name, _)| *name == file.name);
    let diff = match (&before, after) {
        (Some(before), Some((_, after))) => {
            let after = String::from_utf8_lossy(after);
            if !args.diff && !file.stdin {
                replace_file(&file.name, after.as_bytes())?;
            }
            if args.diff {
                fix::diff(before, &after, &file.name)
            } else {
                String::new()
            }
        }
        _ => String::new(),
    };
    // With --diff the findings are those of the file as it is.
    let checked = match args.diff {
        true => rrc_compiler::check(disk, &file.name, options, sources),
        false => rrc_compiler::check(&world, &file.name, options, sources),
    };
    let filters = file.stdin && !args.diff;
    Ok(Fixed {
        checked,
        applied,
        diff,
        rewritten: world.stdin.filter(|_| filters).map(|(_, text)| text),
    })
}

/// The new text is complete before the old one is gone.
fn replace_file(path: &str, bytes: &[u8]) -> io::Result<()> {
    let path = std::fs::canonicalize(path)?;
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".rrc-{}", std::process::id()));
    let beside = path.with_file_name(name);
    let written = std::fs::write(&beside, bytes)
        .and_then(|()| std::fs::metadata(&path))
        .and_then(|old| std::fs::set_permissions(&beside, old.permissions()))
        .and_then(|()| std::fs::rename(&beside, &path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn wanted(finding: &Diagnostic, args: &CheckArgs) -> bool {
    let is = |text: &String| codes::find(text).is_some_and(|code| code == finding.code);
    (args.select.is_empty() || args.select.iter().any(is)) && !args.ignore.iter().any(is)
}

fn unknown_code(args: &CheckArgs, streams: &mut Streams<'_>) -> io::Result<Option<u8>> {
    for text in args.select.iter().chain(&args.ignore) {
        if codes::find(text).is_none() {
            writeln!(streams.err, "rrc: there is no finding `{text}`")?;
            let known = codes::ALL.iter().flat_map(|code| [code.code, code.name]);
            if let Some(near) = nearest(text, known) {
                writeln!(streams.err, "did you mean `{near}`?")?;
            }
            return Ok(Some(USAGE));
        }
    }
    Ok(None)
}

fn say_choice(
    file: &str,
    checked: &Checked,
    sources: &Sources,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let Some(Choice { dialect, reason }) = &checked.choice else {
        return Ok(());
    };
    let why = match reason {
        Reason::Pinned => "as asked".to_string(),
        Reason::Comment(_) => "as a comment in it says".to_string(),
        Reason::Caller => "as its caller is".to_string(),
        Reason::Directory => "from where it is kept".to_string(),
        Reason::Default => "as nothing in it says otherwise".to_string(),
        Reason::Evidence(span, what) => {
            let line = sources.get(span.source).place(span.start).line;
            format!("because of {what} in line {line}")
        }
    };
    writeln!(streams.err, "{file}: read as {}, {why}", dialect.name)
}

/// Findings go to standard output, unless that is taken by a diff or by the fixed text.
fn write_findings(
    findings: &[Diagnostic],
    sources: &Sources,
    args: &CheckArgs,
    global: &Global,
    rewritten: bool,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let taken = args.diff || rewritten;
    let to_terminal = match taken {
        _ if args.output_file.is_some() => false,
        true => io::stderr().is_terminal(),
        false => io::stdout().is_terminal(),
    };
    let options = report::Options {
        color: global.use_color(to_terminal),
        notes: global.verbose,
    };
    let mut written = Vec::new();
    if args.statistics {
        statistics(findings, &mut written)?;
    } else {
        let format = match args.format {
            Format::Human => report::Format::Human,
            Format::Concise => report::Format::Concise,
            Format::Json => report::Format::Json,
            Format::Sarif => report::Format::Sarif,
            Format::Github => report::Format::Github,
        };
        report::write(format, findings, sources, options, &mut written)?;
    }
    match &args.output_file {
        Some(path) => std::fs::write(path, &written).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?,
        None if taken => streams.err.write_all(&written)?,
        None => streams.out.write_all(&written)?,
    }
    if args.format == Format::Human && !args.statistics && !global.quiet {
        writeln!(streams.err, "{}", report::summary(findings, options))?;
    }
    Ok(())
}

fn statistics(findings: &[Diagnostic], out: &mut dyn Write) -> io::Result<()> {
    let mut counts: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for finding in findings {
        counts
            .entry(finding.code.code)
            .or_insert((0, finding.code.name))
            .0 += 1;
    }
    for (code, (count, name)) in counts {
        writeln!(out, "{count:6}  {code}  {name}")?;
    }
    Ok(())
}
