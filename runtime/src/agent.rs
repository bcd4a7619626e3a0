//! The command that asks an agent: a template, made into a plan before the run.
//!
//! The plan is run with what the question says as its values, until it asks for its command. So a
//! value never makes a word, joins two or is read as anything but text. What does not fit into an
//! argument goes to standard input.

mod describe;
mod pace;

use crate::process::{Request, VALUE_MAX};
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::text::render;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub use describe::{Described, MOST_BYTES, describe};
pub use pace::{Pace, Paces, is_refusal};

/// How agents are asked: a command for all, and others by the agent's name.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    pub command: Option<String>,
    /// What to run instead when the prompt does not fit into an argument.
    pub long: Option<String>,
    pub by_name: Vec<(String, String)>,
    /// Where the files are that describe agents.
    pub path: Vec<PathBuf>,
    /// Where paths of programs begin: the directory of whoever wrote the commands down.
    pub base: PathBuf,
}

/// The same with the plans of the commands, by their texts.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    pub agents: Agents,
    pub plans: Vec<(String, Rc<Verified>)>,
}

impl Commands {
    fn plan(&self, command: &str) -> Option<&Rc<Verified>> {
        let known = self.plans.iter().find(|(text, _)| text == command);
        known.map(|(_, plan)| plan)
    }
}

impl Agents {
    pub fn command(&self, agent: &str) -> Option<&str> {
        self.own(agent).or(self.command.as_deref())
    }

    /// The command for this agent alone.
    pub fn own(&self, agent: &str) -> Option<&str> {
        let own = self.by_name.iter().find(|(name, _)| name == agent);
        own.map(|(_, command)| command.as_str())
    }

    /// What is run for a long prompt; only the known programs have that.
    pub fn long(&self, agent: &str) -> Option<&str> {
        self.long.as_deref().filter(|_| self.own(agent).is_none())
    }

    /// All commands there are.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        let named = self.by_name.iter().map(|(_, command)| command);
        named
            .chain(&self.command)
            .chain(&self.long)
            .map(String::as_str)
    }

    /// Asks by one of the known programs.
    pub fn use_known(&mut self, known: &Known) {
        self.command = Some(known.command.to_string());
        self.long = Some(known.long.to_string());
    }
}

/// A program on the command line that asks an agent.
#[derive(Debug)]
pub struct Known {
    pub name: &'static str,
    pub command: &'static str,
    /// The same with the prompt on standard input.
    pub long: &'static str,
}

/// The programs that are known, the first choice first. A value that begins with `-` stands where
/// none of them looks for options: behind `--` where the prompt is an operand, else behind `=`.
pub static KNOWN: &[Known] = &[
    Known {
        name: "claude",
        command: "claude -p --append-system-prompt={system_prompt} --model={model} -- {prompt}",
        long: "claude -p --append-system-prompt={system_prompt} --model={model}",
    },
    Known {
        name: "codex",
        command: "codex exec --model={model} -- {prompt}",
        long: "codex exec --model={model} -",
    },
    Known {
        name: "copilot",
        command: "copilot --allow-all-tools --model={model} --prompt={prompt}",
        long: "copilot --allow-all-tools --model={model}",
    },
    Known {
        name: "gemini",
        command: "gemini --model={model} --prompt={prompt}",
        long: "gemini --model={model}",
    },
];

/// The values that a command can name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'a> {
    pub agent: &'a str,
    pub prompt: &'a str,
    pub system_prompt: &'a str,
    pub model: &'a str,
    pub mode: &'a str,
    pub step_id: &'a str,
    pub cwd: &'a str,
}

/// Their names, in the order of the fields.
pub static VALUES: [&str; 7] = [
    "agent",
    "prompt",
    "system_prompt",
    "model",
    "mode",
    "step_id",
    "cwd",
];

impl Question<'_> {
    fn values(&self) -> Map {
        let values = [
            self.agent,
            self.prompt,
            self.system_prompt,
            self.model,
            self.mode,
            self.step_id,
            self.cwd,
        ];
        let named = VALUES.into_iter().zip(values);
        let value = |(name, value)| (Rc::from(name), Value::text(value));
        named.map(value).collect()
    }
}

/// The first name in a command that no value has.
pub fn unknown_value(command: &str) -> Option<&str> {
    plain_names(command).find(|name| !VALUES.contains(name))
}

/// The names that stand in a command as `{name}` and nothing else.
fn plain_names(command: &str) -> impl Iterator<Item = &str> {
    let inside = command.split('{').skip(1);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    inside
        .filter_map(|rest| rest.split_once('}'))
        .map(|(name, _)| name)
        .filter(move |name| !name.is_empty() && name.chars().all(is_part))
}

/// Whether a command has a place for a value.
fn asks(command: &str, name: &str) -> bool {
    let ends = |rest: &str| {
        let next = rest.chars().next();
        !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    ["{", "{!"].iter().any(|open| {
        let opening = format!("{open}{name}");
        let mut places = command.match_indices(&opening);
        places.any(|(at, found)| ends(&command[at + found.len()..]))
    })
}

/// Stands for a prompt that is empty until the words are made: empty ones are left out, and a program
/// whose last word is missing takes the next for it. No text holds this character.
const NOTHING: &str = "\u{fdd0}";

/// The process that asks the question, or what is wrong with the command.
pub fn request(
    commands: &Commands,
    question: &Question<'_>,
    here: &Path,
) -> Result<Request, String> {
    let agents = &commands.agents;
    let mut command = agents
        .command(question.agent)
        .ok_or("no agent is configured: set `command` under `[agent]` in rrc.toml")?;
    // What a command does not ask for is told in the prompt.
    let mut prompt = String::new();
    let told = |name: &str| asks(command, name);
    let fits = |text: &str| text.len() <= VALUE_MAX && !text.contains('\0');
    let mut question = *question;
    let as_option = told("system_prompt") && fits(question.system_prompt);
    if !question.system_prompt.is_empty() && !as_option {
        prompt.push_str(question.system_prompt.trim_end());
        prompt.push_str("\n\n");
        question.system_prompt = "";
    }
    if !question.mode.is_empty() && !told("mode") {
        prompt.push_str(&format!("MODE: {}\n\n", question.mode));
    }
    prompt.push_str(question.prompt);
    let mut stdin = None;
    question.prompt = &prompt;
    if !told("prompt") || !fits(&prompt) {
        stdin = Some(prompt.clone().into_bytes());
        question.prompt = "";
        if told("prompt") {
            command = agents.long(question.agent).unwrap_or(command);
        }
    }
    let words = commands
        .plan(command)
        .ok_or_else(|| "there is no plan of it".to_string())
        .and_then(|plan| match unknown_value(command) {
            Some(name) => {
                let values = VALUES.map(|value| format!("`{{{value}}}`")).join(", ");
                Err(format!("there is no value `{name}`; there are {values}"))
            }
            None if question.prompt.is_empty() && stdin.is_none() => {
                question.prompt = NOTHING;
                let words = words(plan, question.values())?.into_iter();
                Ok(words.map(|word| word.replace(NOTHING, "")).collect())
            }
            None => words(plan, question.values()),
        })
        .map_err(|words| format!("the agent command `{command}`: {words}"))?;
    let mut words = words.into_iter();
    let program = words
        .next()
        .filter(|word| !word.is_empty())
        .ok_or_else(|| format!("the agent command `{command}`: the command is empty"))?;
    let program = match at_home(&program) {
        Some(program) => program,
        None if program.contains('/') => agents.base.join(program).to_string_lossy().into_owned(),
        None => program,
    };
    let mut request = Request::new(program);
    request.args = words.collect();
    request.cwd = here.to_path_buf();
    request.stdin = stdin;
    Ok(request)
}

/// The path of a program below the home directory, if it is one.
fn at_home(program: &str) -> Option<String> {
    let rest = program.strip_prefix("~/")?;
    let home = PathBuf::from(std::env::var_os("HOME")?);
    Some(home.join(rest).to_string_lossy().into_owned())
}

/// The words of the first command that a plan asks for.
fn words(plan: &Rc<Verified>, values: Map) -> Result<Vec<String>, String> {
    let mut machine = Machine::new(Rc::clone(plan), values, plan.plan().limits);
    loop {
        match machine.poll() {
            Poll::Call(call) => {
                let argv = call.args.into_iter().find(|(name, _)| *name == "argv");
                return match argv {
                    Some((_, Value::List(words))) => {
                        Ok(words.iter().map(|word| render(word).to_string()).collect())
                    }
                    _ => Err("it is not a single command".to_string()),
                };
            }
            Poll::Done(finished) => {
                return Err(match finished.outcome {
                    Ok(Value::Failure(failure)) => failure.message.to_string(),
                    Ok(_) => "it runs nothing".to_string(),
                    Err(fault) => fault.to_string(),
                });
            }
            Poll::Idle => return Err("it waits for something".to_string()),
            _ => {}
        }
    }
}
