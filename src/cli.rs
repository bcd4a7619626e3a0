//! The arguments of every command, declared once.

use crate::{OK, Streams};
use clap::builder::styling::{AnsiColor, Styles};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use rrc_compiler::dialect::no_secret;
use rrc_compiler::report::Format;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Checks, compiles and runs workflow recipes.
#[derive(Debug, Parser)]
#[command(name = "rrc", version, propagate_version = true, styles = STYLES, max_term_width = 100)]
#[command(args_override_self = true)]
#[command(
    after_help = "Exit codes: 0 success; 1 findings, or the run failed; 2 wrong usage or a \
    file that does not compile; 3 no such recipe; 4 the run is paused; 130 interrupted; 129 hung up; 143 \
    terminated."
)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads a command line. Declaring every command takes longer than many runs do, so `rrc run …` and
    /// `rrc check …` are read with that command alone; what is not understood that way is read again with
    /// all of them, and whatever is said of it comes from there.
    pub fn read(args: &[OsString]) -> clap::error::Result<Cli> {
        let alone = args.get(1).and_then(|name| alone(name.to_str()?));
        let quick = alone.and_then(|mut command| {
            let read = command.try_get_matches_from_mut(args);
            // It is freed with the process, which is sooner.
            std::mem::forget(command);
            Cli::from_arg_matches(&read.ok()?).ok()
        });
        let said = |error| with_tip(error, args);
        quick.map_or_else(|| Cli::try_parse_from(args).map_err(said), Ok)
    }
}

/// Says what is meant by words that other programs have for commands and options.
fn with_tip(mut error: clap::Error, args: &[OsString]) -> clap::Error {
    let command = args.get(1).and_then(|word| word.to_str());
    let wrong = |kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    };
    let option = wrong(ContextKind::InvalidArg);
    let tip = option.and_then(|word| instead_of_option(command.unwrap_or_default(), word));
    let tip = tip.or_else(|| wrong(ContextKind::InvalidSubcommand).and_then(instead_of_command));
    if let Some(tip) = tip {
        // What only looks alike is not meant.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedSubcommand);
        let tips = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tips);
    }
    error
}

fn instead_of_option(command: &str, word: &str) -> Option<String> {
    Some(match (command, word) {
        ("run", "--json") => "to print JSON, write '--output-format json'".to_string(),
        ("check", "--json") => "to print JSON, write '--format json'".to_string(),
        ("run", "-c" | "--context" | "--var") => {
            "to set a variable, write '-s NAME=VALUE'".to_string()
        }
        ("run", pair) if pair.contains('=') && !pair.starts_with('-') => {
            format!("to set a variable, write '-s {pair}'")
        }
        _ => return None,
    })
}

fn instead_of_command(word: &str) -> Option<String> {
    Some(match word {
        "lint" | "validate" => "to find what is wrong, write 'rrc check'".to_string(),
        "compile" => "to make a plan, write 'rrc build'".to_string(),
        "resume" => "to go on with a run, write 'rrc run --resume'".to_string(),
        "replay" => "to see a run again, write 'rrc run --replay'".to_string(),
        file if Path::new(file).is_file() => format!("to run it, write 'rrc run {file}'"),
        _ => return None,
    })
}

/// What reads one command and nothing else.
fn alone(name: &str) -> Option<clap::Command> {
    let command = match name {
        "run" => RunArgs::augment_args(clap::Command::new("run")),
        "check" => CheckArgs::augment_args(clap::Command::new("check")),
        _ => return None,
    };
    let rrc = clap::Command::new("rrc").args_override_self(true);
    Some(Global::augment_args(rrc).subcommand(command))
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Run steps in this directory; FILE stays relative to where rrc was started
    #[arg(short = 'C', long, value_name = "DIR", global = true)]
    pub working_dir: Option<PathBuf>,
    /// Read recipes in this dialect, whatever they say
    #[arg(long, value_name = "D", global = true)]
    pub dialect: Option<Dialect>,
    /// Put values into shell text safely, or paste them
    #[arg(long, value_name = "HOW", global = true)]
    pub substitution: Option<Substitution>,
    /// Read this configuration instead of the nearest rrc.toml
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long, global = true)]
    pub isolated: bool,
    /// When to use colour
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: Color,
    /// Look for recipes here, too; may be given several times
    #[arg(short = 'R', long = "recipe-dir", value_name = "DIR", global = true)]
    pub recipe_dirs: Vec<PathBuf>,
    /// Say less: nothing on success
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more: notes, and which dialect was chosen and why
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dialect {
    Amplifier,
    Amplihack,
    /// What JSON files are; recipes are read as they say
    Template,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Substitution {
    Contextual,
    Raw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find what is wrong without running anything
    Check(CheckArgs),
    /// Compile a recipe into a plan
    Build(BuildArgs),
    /// Run a recipe or a plan
    Run(RunArgs),
    /// List the runs that were recorded here, or remove old ones
    Runs(RunsArgs),
    /// Evaluate one condition
    Eval(EvalArgs),
    /// Print what a template would run, and run nothing
    Expand(ExpandArgs),
    /// Show a plan as text
    Disasm(DisasmArgs),
    /// Say what a finding means; without a code, list them all
    Explain(ExplainArgs),
    /// List the recipes on the search path
    List,
    /// Serve editors over standard input and output
    Lsp(LspArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Recipes, or directories of them; `-` reads standard input
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<String>,
    /// The name of what `-` reads
    #[arg(long, value_name = "F")]
    pub stdin_filename: Option<String>,
    /// How findings are written
    #[arg(
        long,
        value_name = "FORMAT",
        visible_alias = "output-format",
        default_value = "human",
        value_parser = formats()
    )]
    pub format: Format,
    /// Write findings to this file instead of standard output
    #[arg(long, value_name = "F")]
    pub output_file: Option<PathBuf>,
    /// Apply the fixes that keep the meaning; with `-`, the fixed text goes to standard output
    #[arg(long)]
    pub fix: bool,
    /// Apply fixes that may change the meaning, too
    #[arg(long)]
    pub unsafe_fixes: bool,
    /// Print what the fixes would change, and change nothing
    #[arg(long)]
    pub diff: bool,
    /// Report only these codes or names
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub select: Vec<String>,
    /// Do not report these codes or names
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Exit with 1 for warnings, too
    #[arg(long)]
    pub deny_warnings: bool,
    /// Exit with 0 whatever is found
    #[arg(long)]
    pub exit_zero: bool,
    /// Count findings by code instead of showing them
    #[arg(long)]
    pub statistics: bool,
    /// Check again whenever a file changes, until interrupted
    #[arg(long, conflicts_with = "output_file")]
    pub watch: bool,
    /// Show how much each recipe can do at most: steps, depth, processes, agent calls, time
    #[arg(long)]
    pub bounds: bool,
    /// Ask shellcheck about commands, too
    #[arg(long)]
    pub shellcheck: bool,
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The recipe
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Where the plan goes; the recipe's name with `.rrb` if not given; `-` is standard output
    #[arg(short, long, value_name = "PLAN.rrb")]
    pub output: Option<PathBuf>,
    /// Write nothing; say whether an existing plan is current
    #[arg(long)]
    pub check: bool,
}

#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The recipe, by its path or its name, or a plan
    #[arg(value_name = "FILE|PLAN", required_unless_present_any = ["resume", "replay"])]
    pub file: Option<String>,
    /// Set a variable: JSON values are typed, `a.b=1` sets a field, the last one wins
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Variables from a YAML or JSON file
    #[arg(long, value_name = "FILE")]
    pub vars: Option<PathBuf>,
    /// What to print
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output_format: RunFormat,
    /// How many processes may run at once [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub jobs: Option<u32>,
    /// Say when steps start and end, whatever is printed; on a terminal, show those that run
    #[arg(long)]
    pub progress: bool,
    /// Run only steps without tags or with one of these
    #[arg(long, value_name = "TAGS", value_delimiter = ',', value_parser = trimmed)]
    pub include_tags: Vec<String>,
    /// Do not run steps with one of these tags
    #[arg(long, value_name = "TAGS", value_delimiter = ',', value_parser = trimmed)]
    pub exclude_tags: Vec<String>,
    /// Answer the approval after this stage with yes
    #[arg(long, value_name = "STAGE")]
    pub approve: Vec<String>,
    /// Answer the approval after this stage with no
    #[arg(long, value_name = "STAGE")]
    pub deny: Vec<String>,
    /// Seconds that the whole run may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub timeout: Option<Duration>,
    /// Run nothing: show every step with the text it would run
    #[arg(long, conflicts_with = "validate_only")]
    pub dry_run: bool,
    /// Run nothing: show the steps and what decides about them
    #[arg(long, conflicts_with_all = ["dry_run", "validate_only"])]
    pub explain: bool,
    /// Write a line of JSON per step to a new file in this directory
    #[arg(long, value_name = "DIR")]
    pub audit_dir: Option<PathBuf>,
    /// Run nothing: say whether it can run with the values that are given
    #[arg(long)]
    pub validate_only: bool,
    /// Go on with a run that did not complete: the latest of FILE, or the one whose id starts with RUN
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["replay", "dry_run", "explain", "validate_only"])]
    pub resume: Option<String>,
    /// Show a recorded run again without running anything; with FILE, compare it with that recipe
    #[arg(long, value_name = "RUN", conflicts_with_all = ["dry_run", "explain", "validate_only"])]
    pub replay: Option<String>,
    /// The program that answers agent steps, by its name or its path; or an agent in rrc.toml whose command does
    #[arg(long, value_name = "NAME|PATH")]
    pub agent: Option<String>,
    /// Stage nothing in git after agent steps, whatever the recipe says
    #[arg(long)]
    pub no_auto_stage: bool,
    /// Never show the value of this variable; may be given several times
    #[arg(long, value_name = "NAME", value_parser = secret)]
    pub secret: Vec<String>,
    /// Refuse a plan whose recipes have changed since it was built
    #[arg(long)]
    pub frozen: bool,
    /// Leave no record in .rrc/runs: the run cannot be resumed or replayed
    #[arg(long, conflicts_with_all = ["resume", "replay"])]
    pub no_record: bool,
    /// Exit with the code of the command that made a template fail
    #[arg(short = 'x', long)]
    pub exit_code: bool,
    /// Exit with 1 if anything failed, even if the run went on
    #[arg(long)]
    pub strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    /// Each step as it ends, and at the end what failed and why
    Text,
    /// One object at the end
    Json,
    /// One object a line, as things happen
    Events,
}

#[derive(Debug, Args)]
pub struct RunsArgs {
    /// Print one object a line
    #[arg(long)]
    pub json: bool,
    /// Remove old runs: all but the latest 10, or as `--keep` and `--older-than` say
    #[arg(long)]
    pub prune: bool,
    /// How many of the latest runs to keep
    #[arg(
        long,
        value_name = "N",
        requires = "prune",
        allow_negative_numbers = true
    )]
    pub keep: Option<usize>,
    /// Remove only runs that were started at least this many days ago
    #[arg(long, value_name = "DAYS", requires = "prune", value_parser = days, allow_negative_numbers = true)]
    pub older_than: Option<f64>,
}

#[derive(Debug, Args)]
pub struct EvalArgs {
    /// The condition
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,
    /// Set a variable
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Variables from a YAML or JSON file
    #[arg(long, value_name = "FILE")]
    pub vars: Option<PathBuf>,
    /// Print whether it is true under the dialect, instead of its value
    #[arg(long)]
    pub bool: bool,
}

#[derive(Debug, Args)]
pub struct ExpandArgs {
    /// The template, or the plan of one
    #[arg(value_name = "TEMPLATE.json")]
    pub file: String,
    /// Set a value
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Values from a YAML or JSON file
    #[arg(long, value_name = "FILE")]
    pub vars: Option<PathBuf>,
    /// Print only the words, a list a line
    #[arg(long, conflicts_with = "shell")]
    pub argv: bool,
    /// Print the words as a shell would read them
    #[arg(long)]
    pub shell: bool,
}

#[derive(Debug, Args)]
pub struct DisasmArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub plan: PathBuf,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A code (`RRC0201`) or a name (`undefined-variable`)
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
}

#[derive(Debug, Args)]
pub struct LspArgs {
    /// What is done anyway; many editors ask for it
    #[arg(long, hide = true)]
    pub stdio: bool,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

pub fn completions(args: &CompletionsArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "rrc", &mut script);
    streams.out.write_all(&script)?;
    Ok(OK)
}

impl Global {
    pub fn dialect(&self) -> Option<&'static rrc_compiler::dialect::Dialect> {
        rrc_compiler::dialect::find(match self.dialect? {
            Dialect::Amplifier => "amplifier",
            Dialect::Amplihack => "amplihack",
            Dialect::Template => return None,
        })
    }

    pub fn options(&self) -> rrc_compiler::Options<'static> {
        rrc_compiler::Options {
            dialect: self.dialect(),
            raw: self.substitution == Some(Substitution::Raw),
            given: None,
            given_old: None,
            timeout_ms: None,
            open: false,
            ran: false,
            secrets: &[],
            shelf: None,
            asked: &[],
        }
    }

    /// What `-R` names and is not there.
    pub fn missing_dirs(&self) -> impl Iterator<Item = &Path> {
        let dirs = self.recipe_dirs.iter().map(PathBuf::as_path);
        dirs.filter(|place| !place.is_dir())
    }

    /// Whether to colour what goes to this stream.
    pub fn use_color(&self, is_terminal: bool) -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let asked = |name: &str| set(name) && std::env::var_os(name).is_some_and(|how| how != "0");
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if set("NO_COLOR") => false,
            Color::Auto if asked("FORCE_COLOR") || asked("CLICOLOR_FORCE") => true,
            Color::Auto => {
                is_terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}

/// The formats of findings, as the compiler has them.
fn formats() -> impl TypedValueParser<Value = Format> {
    let words = PossibleValuesParser::new(Format::ALL.map(Format::word));
    words.try_map(|word| Format::of(&word).ok_or("there is no such format"))
}

/// How long something may take.
fn seconds(word: &str) -> Result<Duration, &'static str> {
    let time = word
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero())
        .ok_or("give a number of seconds above 0")
}

/// The name of what is to be hidden. The environment may have others than variables can have.
fn secret(name: &str) -> Result<String, String> {
    match no_secret(name).filter(|_| std::env::var_os(name).is_none()) {
        Some((wrong, help)) => Err(format!("{wrong}; {help}")),
        None => Ok(name.to_string()),
    }
}

/// How long ago something was.
fn days(word: &str) -> Result<f64, &'static str> {
    let days = word.parse().ok().filter(|days: &f64| *days >= 0.0);
    days.ok_or("give a number of days")
}

/// One of several words between commas.
fn trimmed(word: &str) -> Result<String, std::convert::Infallible> {
    Ok(word.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_command_read_alone_is_the_same_command() {
        let lines = [
            "rrc run a.yaml",
            "rrc run -q a.yaml -s a=1 --set b=2 --jobs 4 -C / --dialect amplihack",
            "rrc run --resume",
            "rrc run a.yaml --jobs 4 --output-format json -q -q --jobs 2 --output-format text -s a=1 -s a=2",
            "rrc run -R x -R y --color never --isolated -- --dry-run",
            "rrc check",
            "rrc check a b - --format json --select RRC0201,RRC0202 -v --config c.toml",
            "rrc check --watch --deny-warnings .",
        ];
        for line in lines {
            let args = words(line);
            let command = alone(args[1].to_str().unwrap()).unwrap();
            let quick = Cli::from_arg_matches(&command.try_get_matches_from(&args).unwrap());
            let whole = Cli::try_parse_from(&args);
            assert_eq!(format!("{quick:?}"), format!("{whole:?}"), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_as_if_it_were_read_once() {
        for line in [
            "rrc run",
            "rrc check --watc",
            "rrc run --help",
            "rrc run a --jobs x",
            "rrc nothing",
        ] {
            let args = words(line);
            let said = Cli::read(&args).unwrap_err();
            let whole = Cli::try_parse_from(&args).unwrap_err();
            assert_eq!(said.to_string(), whole.to_string(), "{line}");
        }
    }
}
