//! The command that asks an agent: a template, made into a plan before the run.
//!
//! The plan is run with what the question says as its values, until it asks for its command. So a
//! value never makes a word, joins two or is read as anything but text.

use crate::process::Request;
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::text::render;
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use std::path::Path;
use std::rc::Rc;

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

    /// All commands there are.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        let named = self.by_name.iter().map(|(_, command)| command.as_str());
        named.chain(self.command.as_deref())
    }
}

/// The plans of commands, by their texts.
#[derive(Clone, Debug, Default)]
pub struct Commands(pub Vec<(String, Rc<Verified>)>);

impl Commands {
    fn plan(&self, command: &str) -> Option<&Rc<Verified>> {
        let known = self.0.iter().find(|(text, _)| text == command);
        known.map(|(_, plan)| plan)
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
pub fn request(
    command: &str,
    commands: &Commands,
    question: &Question<'_>,
    here: &Path,
) -> Result<Request, String> {
    let plan = commands.plan(command).ok_or("there is no plan of it")?;
    // A command that does not ask for the mode is told it in the prompt.
    let asks = ["{mode", "{!mode"]
        .iter()
        .any(|hole| command.contains(hole));
    let prompt = match asks || question.mode.is_empty() {
        true => question.prompt.to_string(),
        false => format!("MODE: {}\n\n{}", question.mode, question.prompt),
    };
    let values: Map = [
        ("agent", question.agent),
        ("prompt", &prompt),
        ("system_prompt", question.system_prompt),
        ("model", question.model),
        ("mode", question.mode),
        ("step_id", question.step_id),
        ("cwd", question.cwd),
    ]
    .into_iter()
    .map(|(name, value)| (Rc::from(name), Value::text(value)))
    .collect();
    let mut words = words(plan, values)?.into_iter();
    let program = words.next().ok_or("the command is empty")?;
    let mut request = Request::new(program);
    request.args = words.collect();
    request.cwd = here.to_path_buf();
    Ok(request)
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
