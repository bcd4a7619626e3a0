//! The command line. Thin: each command reads its arguments, calls the crates and prints.
//!
//! Data goes to `out`, everything else to `err`. Exit codes are documented in `spec/cli.md`.
#![forbid(unsafe_code)]

mod agents;
mod audit;
mod build;
mod check;
mod cli;
mod config;
mod disasm;
mod disk;
mod dry;
mod eval;
mod expand;
mod explain;
mod initial;
mod late;
mod list;
mod live;
mod lsp;
mod nested;
mod object;
mod outline;
mod output;
mod piped;
mod plan;
mod preflight;
mod reach;
mod recorded;
mod results;
mod run;
mod runs;
mod values;

use std::ffi::OsString;
use std::io::{self, Write};

/// Nothing is wrong.
pub const OK: u8 = 0;
/// There are findings, or the run failed.
pub const FAILED: u8 = 1;
/// Wrong usage, unreadable input, or a file that does not compile.
pub const USAGE: u8 = 2;
/// There is no such recipe.
pub const NO_RECIPE: u8 = 3;

/// Whoever reads our output is gone; what shells say of a program that dies from it.
const UNREAD: u8 = 141;

/// Where a command writes.
pub struct Streams<'a> {
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
}

/// Why a file of ours cannot be read or written.
pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or directory".to_string(),
        io::ErrorKind::IsADirectory => "it is a directory".to_string(),
        io::ErrorKind::NotADirectory => "what should be a directory is a file".to_string(),
        io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".to_string(),
        _ => error.to_string(),
    }
}

/// Runs a command line to its exit code.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match cli::Cli::read(&args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers; the rest is wrong usage. clap knows the streams.
            let code = if error.use_stderr() { USAGE } else { OK };
            return if error.print().is_err() { UNREAD } else { code };
        }
    };
    let mut out = output::Named(out);
    let mut streams = Streams { out: &mut out, err };
    let global = &cli.global;
    for place in global.missing_dirs() {
        let _ = writeln!(
            streams.err,
            "rrc: no recipes are looked for in `{}`: there is no such directory",
            place.display()
        );
    }
    let done = match &cli.command {
        cli::Command::Check(args) => check::check(args, global, &mut streams),
        cli::Command::Build(args) => build::build(args, global, &mut streams),
        cli::Command::Run(args) => run::run(args, global, &mut streams),
        cli::Command::Runs(args) => runs::runs(args, &mut streams),
        cli::Command::Eval(args) => eval::eval(args, global, &mut streams),
        cli::Command::Expand(args) => expand::expand(args, global, &mut streams),
        cli::Command::Disasm(args) => disasm::disasm(args, global, &mut streams),
        cli::Command::Explain(args) => explain::explain(args, &mut streams),
        cli::Command::List => list::list(global, &mut streams),
        cli::Command::Lsp(_) => lsp::lsp(global, &mut streams),
        cli::Command::Completions(args) => cli::completions(args, &mut streams),
    };
    let done = done.and_then(|code| streams.out.flush().map(|()| code));
    match done {
        Ok(code) => code,
        // Whoever reads our output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => UNREAD,
        Err(error) => {
            let _ = writeln!(streams.err, "rrc: {error}");
            USAGE
        }
    }
}
