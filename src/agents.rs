//! The commands that ask agents: templates in `rrc.toml`, compiled before a run that needs them.

use crate::cli::Global;
use crate::config::Config;
use crate::{Streams, plan};
use rrc_compiler::codes::Severity;
use rrc_compiler::diagnostic::Diagnostic;
use rrc_compiler::source::Sources;
use rrc_compiler::world::Texts;
use rrc_compiler::{Options, build, check};
use rrc_runtime::agent::{Agents, Commands};
use rrc_vm::plan::Plan;
use std::io;
use std::rc::Rc;

/// The plans of all agent commands; none if one of them means nothing, which has been said.
pub fn compile(
    agents: Agents,
    config: &Config,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<Option<Commands>> {
    let mut plans = Vec::new();
    for command in agents.commands() {
        // What is wrong is said of the text that was written; what runs is another one.
        let compiled = compiled(command).map(|_| compiled(&optional(command)));
        let compiled = match compiled {
            Ok(Ok(compiled)) => compiled,
            Ok(Err(wrong)) | Err(wrong) => {
                let place = place(command, config);
                wrong
                    .iter()
                    .try_for_each(|wrong| say(wrong, &place, streams))?;
                return Ok(None);
            }
        };
        match plan::admit(NAME, compiled, global, streams)? {
            Ok(verified) => plans.push((command.to_string(), Rc::new(verified))),
            Err(_) => return Ok(None),
        }
    }
    Ok(Some(Commands { agents, plans }))
}

/// What the text of a command is called, which is JSON once it is written as such.
const NAME: &str = "the agent command.json";

/// Something that is wrong with a command, and the byte that it begins at.
struct Wrong {
    at: usize,
    finding: Diagnostic,
}

fn compiled(command: &str) -> Result<Plan, Vec<Wrong>> {
    let mut sources = Sources::default();
    let world = Texts::one(NAME, json(command));
    let checked = check(&world, NAME, Options::default(), &mut sources);
    let compiled = build(&checked, &sources, plan::hash);
    compiled.ok_or_else(|| {
        let errors = checked.report.findings.into_iter();
        let errors = errors.filter(|found| found.severity == Severity::Error);
        let wrong = |finding: Diagnostic| Wrong {
            at: byte_of(finding.span.start as usize, command),
            finding,
        };
        errors.map(wrong).collect()
    })
}

fn json(text: &str) -> String {
    serde_json::Value::String(text.to_string()).to_string()
}

/// The byte of a text that stands at some byte of it in JSON.
fn byte_of(wanted: usize, text: &str) -> usize {
    let quotes = 2;
    let mut next = 1;
    let mut letters = text.char_indices().map(|(at, letter)| {
        let here = next;
        next += json(letter.encode_utf8(&mut [0; 4])).len() - quotes;
        (at, here)
    });
    let found = letters.find(|(_, here)| *here >= wanted);
    found.map_or(text.len(), |(at, _)| at)
}

/// Where the byte of a command stands in the configuration, in words.
fn place<'a>(command: &'a str, config: &'a Config) -> impl Fn(usize) -> String + 'a {
    move |at| {
        let written = config.commands.iter().find(|known| known.text == command);
        match (written, &config.path) {
            (Some(written), Some(path)) => {
                let (line, column) = written.place(at);
                format!("{}:{line}:{column}", path.display())
            }
            _ => format!("the agent command `{command}`"),
        }
    }
}

fn say(
    wrong: &Wrong,
    place: &dyn Fn(usize) -> String,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let (
        place,
        Diagnostic {
            code,
            message,
            help,
            ..
        },
    ) = (place(wrong.at), &wrong.finding);
    writeln!(streams.err, "rrc: {place}: [{}] {message}", code.code)?;
    match help {
        Some(help) => writeln!(streams.err, "help: {help}"),
        None => Ok(()),
    }
}

/// The values that may be empty.
const OPTIONAL: [&str; 6] = ["agent", "system_prompt", "model", "mode", "step_id", "cwd"];

/// The command with the options of values that may be empty: `--model {model}` is nothing at all
/// when there is no model. The option before the prompt stays: for most programs it says how to
/// ask, not what.
fn optional(command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    let value = |word: &str| {
        let name = word.strip_prefix('{')?.strip_suffix('}')?;
        OPTIONAL.iter().find(|known| **known == name)
    };
    let mut written = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let option = word.starts_with('-') && !word.contains(['{', '\'', '"', '\\']);
        written.push(match words.get(at + 1).and_then(|next| value(next)) {
            Some(name) if option => format!("{{{name}?{word}:}}"),
            _ => (*word).to_string(),
        });
    }
    written.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser as _;
    use rrc_runtime::agent::{KNOWN, Question, request};
    use rrc_runtime::process::{Request, VALUE_MAX};
    use std::path::Path;

    fn compiled(agents: Agents) -> Commands {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams {
            out: &mut out,
            err: &mut err,
        };
        let cli = Cli::parse_from(["rrc", "list"]);
        let made = compile(agents, &Config::default(), &cli.global, &mut streams);
        let made = made.expect("what is said can be kept");
        made.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&err)))
    }

    fn asked(command: &str, question: &Question<'_>) -> Result<Request, String> {
        let agents = compiled(Agents {
            command: Some(command.to_string()),
            ..Agents::default()
        });
        request(&agents, question, Path::new("/"))
    }

    fn args(command: &str, question: &Question<'_>) -> Vec<String> {
        asked(command, question)
            .unwrap_or_else(|words| panic!("{words}"))
            .args
    }

    #[test]
    fn a_value_stays_one_word_and_an_empty_one_goes() {
        let question = Question {
            agent: "a",
            prompt: "it's {model} \"two\" words",
            mode: "plan",
            step_id: "s",
            cwd: "/",
            ..Question::default()
        };
        let prompt = "MODE: plan\n\nit's {model} \"two\" words";
        assert_eq!(
            args("ask -p {prompt} --model={model} {model} 'x y'", &question),
            ["-p", prompt, "--model=", "x y"]
        );
        assert_eq!(
            args("ask --model {model} --mode {mode} -v", &question),
            ["--mode", "plan", "-v"]
        );
        assert!(asked("ask {nope}", &question).is_err());
    }

    #[test]
    fn what_the_command_does_not_ask_for_is_told_in_the_prompt() {
        let question = Question {
            prompt: "do it",
            system_prompt: "you are careful\n",
            mode: "plan",
            ..Question::default()
        };
        assert_eq!(
            args("ask {prompt}", &question),
            ["you are careful\n\nMODE: plan\n\ndo it"]
        );
        assert_eq!(
            args("ask {prompt} --system {system_prompt} {mode}", &question),
            ["do it", "--system", "you are careful\n", "plan"]
        );
    }

    #[test]
    fn what_does_not_fit_into_an_argument_goes_to_standard_input() {
        let long = "x".repeat(VALUE_MAX + 1);
        let question = Question {
            prompt: &long,
            model: "m",
            ..Question::default()
        };
        let made = asked("ask -p {prompt} --model {model}", &question).expect("a command");
        assert_eq!(made.args, ["-p", "--model", "m"]);
        assert_eq!(made.stdin, Some(long.clone().into_bytes()));
        for known in KNOWN {
            let mut agents = Agents::default();
            agents.use_known(known);
            let agents = compiled(agents);
            let made = request(&agents, &question, Path::new("/")).expect("it is known");
            assert_eq!(made.program, known.name);
            assert_eq!(made.stdin, Some(long.clone().into_bytes()));
            assert!(made.args.iter().all(|word| word.len() < 100));
            let short = Question {
                prompt: "short",
                ..question
            };
            let made = request(&agents, &short, Path::new("/")).expect("it is known");
            assert!(made.args.contains(&"short".to_string()) && made.stdin.is_none());
        }
        let piped = Question {
            prompt: "p",
            ..question
        };
        let made = asked("ask", &piped).expect("it is a command");
        assert_eq!(made.stdin, Some(b"p".to_vec()));
    }
}
