//! The command that asks an agent: words with values in them.
//!
//! The template is split into words before any value is put in, so a value never makes a word,
//! joins two or is read as anything but text. A word that is empty afterwards is left out.

use crate::process::Request;
use std::path::Path;

/// How agents are asked: a command for all, and others by the agent's name.
#[derive(Clone, Debug, Default)]
pub struct Agents {
    pub command: Option<String>,
    pub by_name: Vec<(String, String)>,
}

impl Agents {
    pub fn command(&self, agent: &str) -> Option<&str> {
        let own = self.by_name.iter().find(|(name, _)| name == agent);
        own.map(|(_, command)| command.as_str())
            .or(self.command.as_deref())
    }
}

/// The values that a command can name.
pub struct Question<'a> {
    pub agent: &'a str,
    pub prompt: &'a str,
    pub system_prompt: &'a str,
    pub model: &'a str,
    pub mode: &'a str,
    pub step_id: &'a str,
    pub cwd: &'a str,
}

/// The process that asks the question, or what is wrong with the command.
pub fn request(command: &str, question: &Question<'_>, here: &Path) -> Result<Request, String> {
    // A command that does not ask for the mode is told it in the prompt.
    let prompt = match command.contains("{mode}") || question.mode.is_empty() {
        true => question.prompt.to_string(),
        false => format!("MODE: {}\n\n{}", question.mode, question.prompt),
    };
    let mut words = Vec::new();
    for word in split(command) {
        let word = fill(&word, |name| match name {
            "agent" => Some(question.agent),
            "prompt" => Some(&prompt),
            "system_prompt" => Some(question.system_prompt),
            "model" => Some(question.model),
            "mode" => Some(question.mode),
            "step_id" => Some(question.step_id),
            "cwd" => Some(question.cwd),
            _ => None,
        })?;
        words.push(word);
    }
    let mut words = words.into_iter();
    let program = words
        .next()
        .filter(|word| !word.is_empty())
        .ok_or("the command is empty")?;
    let mut request = Request::new(program);
    request.args = words.filter(|word| !word.is_empty()).collect();
    request.cwd = here.to_path_buf();
    Ok(request)
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

    #[test]
    fn a_value_stays_one_word_and_an_empty_one_goes() {
        let question = Question {
            agent: "a",
            prompt: "it's {model} \"two\" words",
            system_prompt: "",
            model: "",
            mode: "plan",
            step_id: "s",
            cwd: "/",
        };
        let made = request(
            "ask -p {prompt} --model={model} {model} 'x y'",
            &question,
            Path::new("/"),
        );
        let made = made.unwrap();
        assert_eq!(made.program, "ask");
        let prompt = "MODE: plan\n\nit's {model} \"two\" words";
        assert_eq!(made.args, ["-p", prompt, "--model=", "x y"]);
        assert!(request("ask {nope}", &question, Path::new("/")).is_err());
        assert!(request("", &question, Path::new("/")).is_err());
    }
}
