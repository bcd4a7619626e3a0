//! Findings, where they were asked to go.

use super::bounds::{self, Row};
use super::merge::Merged;
use crate::Streams;
use crate::cli::{CheckArgs, Global};
use crate::output::{is_same, whole_file};
use rrc_compiler::diagnostic::Diagnostic;
use rrc_compiler::report::{self, Format};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

/// Findings go to standard output, unless that is taken by a diff or by the fixed text.
pub fn findings(
    merged: &Merged,
    bounds: &[Row],
    args: &CheckArgs,
    global: &Global,
    taken: bool,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let to_terminal = match taken {
        _ if args.output_file.is_some() => false,
        true => io::stderr().is_terminal(),
        false => io::stdout().is_terminal(),
    };
    let options = report::Options {
        color: global.use_color(to_terminal),
        notes: global.verbose,
        fixes: report::Fixes::Here,
    };
    let mut written = Vec::new();
    let found = &merged.findings;
    if args.statistics {
        statistics(found, args.format, &mut written)?;
    } else {
        report::write(args.format, found, &merged.sources, options, &mut written)?;
    }
    if args.bounds {
        let what = if args.statistics {
            "statistics"
        } else {
            "findings"
        };
        match args.format == Format::Json {
            true => written = bounds::object(what, &written, bounds),
            false => bounds::table(bounds, &mut written)?,
        }
    }
    match &args.output_file {
        Some(path) => {
            let mut read = merged.sources.iter().map(|(_, source)| &source.name);
            if read.any(|name| is_same(name.as_ref(), path)) {
                let words = format!("`{}` is checked, and is not replaced", path.display());
                return Err(io::Error::other(words));
            }
            whole_file(path, &written)?;
        }
        None if taken => streams.err.write_all(&written)?,
        None => streams.out.write_all(&written)?,
    }
    if args.format == Format::Human && !args.statistics && !global.quiet {
        writeln!(streams.err, "{}", report::summary(found, options))?;
    }
    Ok(())
}

fn statistics(findings: &[Diagnostic], format: Format, out: &mut dyn Write) -> io::Result<()> {
    let mut counts: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for finding in findings {
        counts
            .entry(finding.code.code)
            .or_insert((0, finding.code.name))
            .0 += 1;
    }
    if format == Format::Json {
        let row = |(code, (count, name))| json!({"code": code, "name": name, "count": count});
        return writeln!(out, "{}", counts.into_iter().map(row).collect::<Value>());
    }
    for (code, (count, name)) in counts {
        writeln!(out, "{count:6}  {code}  {name}")?;
    }
    Ok(())
}
