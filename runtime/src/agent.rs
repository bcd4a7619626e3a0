//! The command that asks an agent: words with values in them.
//!
//! The template is split into words before any value is put in, so a value never makes a word,
//! joins two or is read as anything but text. A word that is one value and comes out empty is left
//! out, with the option before it. What does not fit into an argument goes to standard input.

mod describe;
mod pace;

use crate::process::{Request, VALUE_MAX};
use std::path::{Path, PathBuf};

pub use describe::{MOST_BYTES, describe};
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
}

impl Agents {
    pub fn command(&self, agent: &str) -> Option<&str> {
        self.own(agent).or(self.command.as_deref())
    }

    fn own(&self, agent: &str) -> Option<&str> {
        let own = self.by_name.iter().find(|(name, _)| name == agent);
        own.map(|(_, command)| command.as_str())
    }

    fn long(&self, agent: &str) -> Option<&str> {
        self.long.as_deref().filter(|_| self.own(agent).is_none())
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

/// The programs that are known, the first choice first.
pub static KNOWN: &[Known] = &[
    Known {
        name: "claude",
        command: "claude -p {prompt} --append-system-prompt {system_prompt} --model {model}",
        long: "claude -p --append-system-prompt {system_prompt} --model {model}",
    },
    Known {
        name: "codex",
        command: "codex exec --model {model} {prompt}",
        long: "codex exec --model {model} -",
    },
    Known {
        name: "copilot",
        command: "copilot --allow-all-tools --model {model} -p {prompt}",
        long: "copilot --allow-all-tools --model {model}",
    },
    Known {
        name: "gemini",
        command: "gemini --model {model} --prompt {prompt}",
        long: "gemini --model {model}",
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

impl<'a> Question<'a> {
    fn value(&self, name: &str) -> Option<&'a str> {
        Some(match name {
            "agent" => self.agent,
            "prompt" => self.prompt,
            "system_prompt" => self.system_prompt,
            "model" => self.model,
            "mode" => self.mode,
            "step_id" => self.step_id,
            "cwd" => self.cwd,
            _ => return None,
        })
    }
}

/// The process that asks the question, or what is wrong with the command.
pub fn request(agents: &Agents, question: &Question<'_>, here: &Path) -> Result<Request, String> {
    let mut command = agents
        .command(question.agent)
        .ok_or("no agent is configured: set `command` under `[agent]` in rrc.toml")?;
    // What a command does not ask for is told in the prompt.
    let mut prompt = String::new();
    let told = |name: &str| command.contains(&format!("{{{name}}}"));
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
    let words = words(command, &question, stdin.is_some())
        .map_err(|words| format!("the agent command `{command}`: {words}"))?;
    let mut words = words.into_iter();
    let program = words
        .next()
        .filter(|word| !word.is_empty())
        .ok_or_else(|| format!("the agent command `{command}`: the command is empty"))?;
    let mut request = Request::new(program);
    request.args = words.collect();
    request.cwd = here.to_path_buf();
    request.stdin = stdin;
    Ok(request)
}

/// The command with its values. Where the prompt goes to standard input, the option before it
/// stays: for most programs it says how to ask, not what.
fn words(command: &str, question: &Question<'_>, piped: bool) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let mut option = false;
    for word in split(command) {
        let filled = fill(&word, |name| question.value(name))?;
        let one_value = word.starts_with('{') && word.ends_with('}') && !word[1..].contains('{');
        if !filled.is_empty() {
            words.push(filled);
            option = word.starts_with('-') && !word.contains('{');
            continue;
        }
        if option && one_value && !(piped && word == "{prompt}") {
            words.pop();
        }
        option = false;
    }
    Ok(words)
}

/// Words as a shell would see them, with quotes and backslashes and nothing else.
fn split(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => {
                word.get_or_insert_default()
                    .push(characters.next().unwrap_or('\\'));
            }
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Puts values into one word. A value is never looked at again.
fn fill<'a>(word: &str, value: impl Fn(&str) -> Option<&'a str>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(open) = rest.find('{') {
        let Some(length) = rest[open + 1..].find(['{', '}']) else {
            break;
        };
        let close = open + 1 + length;
        if rest.as_bytes()[close] == b'{' || length == 0 {
            filled.push_str(&rest[..close]);
            rest = &rest[close..];
            continue;
        }
        let name = &rest[open + 1..close];
        filled.push_str(&rest[..open]);
        filled.push_str(value(name).ok_or_else(|| format!("there is no value `{name}`"))?);
        rest = &rest[close + 1..];
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(command: &str) -> Agents {
        Agents {
            command: Some(command.to_string()),
            ..Agents::default()
        }
    }

    fn args(command: &str, question: &Question<'_>) -> Vec<String> {
        let made = request(&agents(command), question, Path::new("/"));
        made.unwrap_or_else(|words| panic!("{words}")).args
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
        for wrong in ["ask {nope}", ""] {
            assert!(request(&agents(wrong), &question, Path::new("/")).is_err());
        }
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
        let made = request(
            &agents("ask -p {prompt} --model {model}"),
            &question,
            Path::new("/"),
        );
        let made = made.expect("the command is right");
        assert_eq!(made.args, ["-p", "--model", "m"]);
        assert_eq!(made.stdin, Some(long.clone().into_bytes()));
        for known in KNOWN {
            let mut agents = Agents::default();
            agents.use_known(known);
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
        let made = request(
            &agents("ask"),
            &Question {
                prompt: "p",
                ..question
            },
            Path::new("/"),
        );
        assert_eq!(made.expect("it is a command").stdin, Some(b"p".to_vec()));
    }
}
