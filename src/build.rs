//! `rrc build`: one recipe into one plan.

use crate::cli::{BuildArgs, Global};
use crate::output::whole_file;
use crate::{FAILED, OK, Streams, USAGE, plan, words};
use rrc_vm::codec::{encode, is_plan};
use std::fs::File;
use std::io::{self, IsTerminal, Read as _};
use std::path::{Path, PathBuf};

pub fn build(args: &BuildArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let to_stdout = args.output.as_deref() == Some(Path::new("-"));
    let refusal = match to_stdout {
        true if args.check => Some("`--check` compares with a plan, which standard output is not"),
        true if io::stdout().is_terminal() => Some("a plan is not for a terminal to show"),
        _ => None,
    };
    if let Some(words) = refusal {
        writeln!(streams.err, "rrc: -o -: {words}")?;
        writeln!(streams.err, "help: name a file")?;
        return Ok(USAGE);
    }
    let file = &plan::meant(&args.file, global);
    let config = match plan::configuration(file, global, streams)? {
        Ok(config) => config,
        Err(code) => return Ok(code),
    };
    let built = match plan::compile(file, None, &[], &config, global, streams)? {
        Ok(compiled) => compiled.plan,
        Err(code) => return Ok(code),
    };
    let bytes = encode(&built);
    if let Err(code) = plan::admit(file, built, global, streams)? {
        return Ok(code);
    }
    if to_stdout {
        streams.out.write_all(&bytes)?;
        return Ok(OK);
    }
    let output = args.output.clone().unwrap_or_else(|| default_output(file));
    if args.check {
        return current(&output, &bytes, streams);
    }
    if is_of_another(&output) {
        let name = output.display();
        writeln!(streams.err, "rrc: `{name}` is not replaced: it is no plan")?;
        writeln!(streams.err, "help: name another file, or remove it first")?;
        return Ok(USAGE);
    }
    whole_file(&output, &bytes)?;
    if !global.quiet {
        writeln!(
            streams.err,
            "wrote {} ({} bytes)",
            output.display(),
            bytes.len()
        )?;
    }
    Ok(OK)
}

/// Whether something is written there that is no plan, and would be lost.
fn is_of_another(output: &Path) -> bool {
    let mut start = Vec::new();
    let read = |file: File| file.take(16).read_to_end(&mut start);
    let read = output.is_file() && File::open(output).and_then(read).is_ok();
    read && !start.is_empty() && !is_plan(&start)
}

/// The recipe's own name, in the directory we are in.
fn default_output(file: &str) -> PathBuf {
    let name = Path::new(file).file_name().unwrap_or_default();
    Path::new(name).with_extension("rrb")
}

fn current(output: &Path, bytes: &[u8], streams: &mut Streams<'_>) -> io::Result<u8> {
    match std::fs::read(output) {
        Ok(old) if old == bytes => {
            writeln!(streams.err, "{} is current", output.display())?;
            Ok(OK)
        }
        Ok(_) => {
            writeln!(
                streams.err,
                "{} is not what its recipe compiles to now",
                output.display()
            )?;
            Ok(FAILED)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            writeln!(streams.err, "rrc: there is no plan `{}`", output.display())?;
            writeln!(streams.err, "help: without `--check` it is written")?;
            Ok(FAILED)
        }
        Err(error) => {
            writeln!(streams.err, "rrc: {}: {}", output.display(), words(&error))?;
            Ok(FAILED)
        }
    }
}
