//! Before the first step: what is missing here that the plan needs, all of it at once.
//!
//! Without an agent that could be asked nothing runs. The rest is said, and decides nothing: a step
//! may bring what is missing, and what a failing step means is for the recipe to say.

use crate::cli::{Global, RunArgs};
use crate::config::Config;
use crate::results::printable;
use crate::{Streams, USAGE, agents, reach};
use rrc_compiler::diagnostic::nearest;
use rrc_runtime::agent::{self, Agents, Commands, KNOWN, Known, Question};
use rrc_runtime::process::{ErrorKind, find_program};
use rrc_runtime::reply::Args;
use rrc_runtime::validate::validate;
use rrc_vm::machine::{Machine, Poll};
use rrc_vm::plan::{Const, HostCall, HostKind, Need, NeedKind, Plan};
use rrc_vm::value::{Map, Value};
use rrc_vm::verify::Verified;
use rustc_hash::FxHashSet;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A run that may ask agents.
pub struct Asking<'a> {
    pub plan: &'a Plan,
    pub args: &'a RunArgs,
    pub config: &'a Config,
    pub directory: &'a Path,
    pub global: &'a Global,
}

impl Asking<'_> {
    /// How agents are asked: as the command line says, else as the configuration does, else by
    /// the first program of those that are known and here.
    pub fn agents(&self, streams: &mut Streams<'_>) -> io::Result<Result<Commands, u8>> {
        let agents = match self.chosen(streams)? {
            Ok(agents) => agents,
            Err(code) => return Ok(Err(code)),
        };
        let compiled = agents::compile(agents, self.config, self.global, streams)?;
        Ok(compiled.ok_or(USAGE))
    }

    fn chosen(&self, streams: &mut Streams<'_>) -> io::Result<Result<Agents, u8>> {
        let mut agents = self.config.agents.clone();
        let asks = |call: &HostCall| matches!(call.kind, HostKind::Agent | HostKind::Recipe);
        if self.args.agent.is_none() && !self.plan.calls.iter().any(asks) {
            return Ok(Ok(Agents::default()));
        }
        agents.path.extend(agent_places(self.directory));
        if let Some(name) = &self.args.agent {
            if !use_named(&mut agents, name) {
                return no_such_agent(&agents, name, streams).map(|()| Err(USAGE));
            }
        } else if agents.command.is_none() {
            let path = search_path();
            let here = |name: &str| find_program(name, &path, self.directory).is_ok();
            let wanted = self.wanted(streams)?;
            let found = wanted.or_else(|| KNOWN.iter().find(|known| here(known.name)));
            if let Some(known) = found {
                agents.use_known(known);
            }
        }
        Ok(Ok(agents))
    }

    /// The agent that the environment names.
    fn wanted(&self, streams: &mut Streams<'_>) -> io::Result<Option<&'static Known>> {
        let Some(name) = std::env::var_os(WANTED).filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let name = name.to_string_lossy();
        let wanted = known(&name);
        if wanted.is_none() && !self.global.quiet {
            let all: Vec<&str> = KNOWN.iter().map(|known| known.name).collect();
            let name = printable(&name);
            writeln!(
                streams.err,
                "rrc: {WANTED} is `{name}`, which is no agent that rrc knows: it counts for nothing"
            )?;
            writeln!(
                streams.err,
                "help: there are: {}; a path can be given with `--agent`",
                all.join(", ")
            )?;
        }
        Ok(wanted)
    }
}

/// The variable of the environment that names an agent where nothing else does.
const WANTED: &str = "AMPLIHACK_AGENT_BINARY";

fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// Asks everybody by what the command line names; whether that is anything.
fn use_named(agents: &mut Agents, name: &str) -> bool {
    let own = agents.own(name).map(str::to_string);
    match (own, known(name)) {
        (Some(command), _) => (agents.command, agents.long) = (Some(command), None),
        (None, Some(known)) => agents.use_known(known),
        (None, None) => match command_of(name) {
            Some(command) => (agents.command, agents.long) = (Some(command), None),
            None => return false,
        },
    }
    agents.by_name.clear();
    true
}

/// The command that asks a program by its path, which begins where the command line does.
fn command_of(path: &str) -> Option<String> {
    if !path.contains('/') {
        return None;
    }
    let path = std::path::absolute(path).ok()?;
    let special = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '\\');
    let mut command = String::new();
    for letter in path.to_str()?.chars() {
        if special(letter) {
            command.push('\\');
        }
        command.push(letter);
    }
    Some(format!("{command} {{prompt}}"))
}

fn no_such_agent(agents: &Agents, name: &str, streams: &mut Streams<'_>) -> io::Result<()> {
    let own = agents.by_name.iter().map(|(name, _)| name.as_str());
    let all: Vec<&str> = own.chain(KNOWN.iter().map(|known| known.name)).collect();
    let help = match nearest(name, all.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!(
            "there are: {}; another program is named by its path, `./{name}`",
            all.join(", ")
        ),
    };
    let name = printable(name);
    writeln!(streams.err, "rrc: --agent {name}: there is no such agent")?;
    writeln!(streams.err, "help: {help}")
}

/// Where descriptions of agents are kept, besides the places that the configuration names.
fn agent_places(directory: &Path) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let kept = [
        ".claude/agents",
        "amplifier-bundle/agents",
        "src/amplihack/amplifier-bundle/agents",
        "src/amplihack/.claude/agents",
    ];
    home.map(|home| home.join(".amplihack/.claude/agents"))
        .into_iter()
        .chain(kept.map(|kept| directory.join(kept)))
        .collect()
}

fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// How a run fails, if it does so before it asks for anything but whether its values hold.
pub fn failure(verified: &Rc<Verified>, variables: &Map, here: &Path) -> Option<String> {
    let plan = verified.plan();
    let mut machine = Machine::new(Rc::clone(verified), variables.clone(), plan.limits);
    let outcome = loop {
        match machine.poll() {
            Poll::Call(call) => {
                let asked = plan.calls.get(call.host as usize)?;
                if asked.kind != HostKind::Validate {
                    return None;
                }
                let reply = validate(&Args(call.args), here);
                machine.resume(call.ticket, reply).ok()?;
            }
            // No time passes here.
            Poll::Note(_) | Poll::Timer { .. } | Poll::Cancel { .. } => {}
            Poll::Idle => return None,
            Poll::Done(finished) => break finished.outcome,
        }
    };
    match outcome {
        Ok(Value::Failure(failure)) => Some(failure.message.to_string()),
        Ok(_) => None,
        Err(fault) => Some(fault.to_string()),
    }
}

/// What is there to be said before the first step.
pub struct Preflight<'a> {
    pub plan: &'a Plan,
    pub file: &'a str,
    pub directory: &'a Path,
    pub agents: &'a Commands,
    /// Variables that are given from outside.
    pub given: &'a Map,
    /// Names that rrc gives a value itself, as far as the recipe says.
    pub reserved: &'a [&'a str],
    pub args: &'a RunArgs,
    /// The tags of the run, by the names that recipes have for them.
    pub tags: &'a Map,
    /// The steps that may run.
    pub reached: OnceCell<FxHashSet<u32>>,
}

impl Preflight<'_> {
    /// Whether a step may run: what no tag and no condition lets run needs nothing.
    fn may_run(&self, step: u32) -> bool {
        let reached = self
            .reached
            .get_or_init(|| reach::steps(self.plan, self.tags));
        reached.contains(&step)
    }

    /// The first step that may run in a shell: a need of it names the first of all.
    fn runs_in(&self, need: &Need) -> Option<u32> {
        let plan = self.plan;
        let is_shell = |call: &&HostCall| {
            let Some(Const::Map { first, count }) = plan.constants.get(call.fixed as usize) else {
                return false;
            };
            let fixed = plan.parts.iter().skip(*first as usize);
            let fixed: Vec<u32> = fixed.take(*count as usize * 2).copied().collect();
            fixed.chunks_exact(2).any(|pair| {
                let value = plan.constants.get(pair[1] as usize);
                self.text(pair[0]) == "shell"
                    && matches!(value, Some(Const::Text(id)) if *id == need.name)
            })
        };
        let all = plan.calls.iter().filter(|call| call.kind == HostKind::Exec);
        let mut steps = all.filter(is_shell).map(|call| call.step);
        steps.find(|step| self.may_run(*step))
    }

    /// Says what is missing; whether the run can start.
    pub fn check(&self, quiet: bool, streams: &mut Streams<'_>) -> io::Result<bool> {
        let path = search_path();
        let mut wrong = self.wrong_answers();
        let notices = match quiet {
            true => Vec::new(),
            false => self.notices(&path, wrong.is_empty()),
        };
        for notice in notices {
            writeln!(streams.err, "rrc: {}", printable(&notice))?;
        }
        wrong.extend(self.wrong_agents(&path));
        for (words, help) in &wrong {
            writeln!(streams.err, "rrc: {}: {}", self.file, printable(words))?;
            writeln!(streams.err, "help: {help}")?;
        }
        Ok(wrong.is_empty())
    }

    fn text(&self, id: u32) -> &str {
        self.plan.texts.get(id).unwrap_or_default()
    }

    fn step(&self, step: u32) -> &str {
        let step = self.plan.steps.get(step as usize);
        step.map_or("", |step| self.text(step.id))
    }

    /// A step behind its place: the file, and where in it.
    fn placed(&self, step: u32) -> (u32, u32, &str) {
        let place = self.plan.steps.get(step as usize).map(|step| step.place);
        let (source, start) = place.map_or((0, 0), |place| (place.source, place.start));
        (source, start, self.step(step))
    }

    /// Answers that contradict each other, or that nobody asks for, and what to do about it.
    fn wrong_answers(&self) -> Vec<(String, String)> {
        let both = self.args.approve.iter();
        let both = both.filter(|stage| self.args.deny.contains(stage));
        let both = both.map(|stage| {
            let words = format!("--approve {stage} --deny {stage}: a stage has one answer");
            (words, "leave one of them out".to_string())
        });
        let both: Vec<_> = both.collect();
        // A recipe that is found on the way may ask anything.
        let late = |call: &HostCall| call.kind == HostKind::Recipe;
        if !both.is_empty() || self.plan.calls.iter().any(late) {
            return both;
        }
        let asked = self.plan.needs.iter();
        let asked = asked.filter(|need| need.kind == NeedKind::Approval);
        let stages: Vec<&str> = asked.map(|need| self.text(need.name)).collect();
        let answers = [
            ("--approve", &self.args.approve),
            ("--deny", &self.args.deny),
        ];
        let answers = answers
            .into_iter()
            .flat_map(|(option, all)| all.iter().map(move |stage| (option, stage.as_str())));
        answers
            .filter(|(_, stage)| !stages.contains(stage))
            .map(|(option, stage)| {
                let help = match (nearest(stage, stages.iter().copied()), stages.is_empty()) {
                    (Some(near), _) => format!("did you mean `{near}`?"),
                    (None, true) => "no stage of this recipe has an approval".to_string(),
                    (None, false) => format!("stages with an approval: {}", stages.join(", ")),
                };
                let words =
                    format!("{option} {stage}: no approval is asked for after such a stage");
                (words, help)
            })
            .collect()
    }

    /// What is wrong with the agents that are needed, and what to do about it.
    fn wrong_agents(&self, path: &OsStr) -> Vec<(String, String)> {
        let mut unknown: Vec<(u32, u32, &str)> = Vec::new();
        let mut wrong: Vec<(String, String)> = Vec::new();
        for need in &self.plan.needs {
            if need.kind != NeedKind::Agent {
                continue;
            }
            let question = Question {
                agent: self.text(need.name),
                prompt: "?",
                ..Question::default()
            };
            let step = self.placed(need.step);
            if self.agents.agents.command(question.agent).is_none() {
                if !unknown.contains(&step) && self.may_run(need.step) {
                    unknown.push(step);
                }
                continue;
            }
            let words = match agent::request(self.agents, &question, self.directory) {
                Err(words) => words,
                Ok(request) => match find_program(&request.program, path, self.directory) {
                    Ok(_) => continue,
                    Err(error) if error.kind == ErrorKind::PermissionDenied => {
                        format!(
                            "the program to ask agents is not executable: {}",
                            error.detail
                        )
                    }
                    Err(_) => format!("there is no program `{}` to ask agents", request.program),
                },
            };
            if !wrong.iter().any(|(known, _)| *known == words) && self.may_run(need.step) {
                wrong.push((words, self.better_agent(question.agent)));
            }
        }
        if !unknown.is_empty() {
            unknown.sort_unstable();
            let all: Vec<String> = unknown
                .into_iter()
                .map(
                    |(source, _, id)| match self.plan.sources.get(source as usize) {
                        Some(file) if source > 0 => format!("{id} ({})", self.text(file.name)),
                        _ => id.to_string(),
                    },
                )
                .collect();
            let words = format!("no agent is configured for: {}", all.join(", "));
            let help =
                "set `command` under `[agent]` in rrc.toml, or install one that `--agent` knows";
            wrong.push((words, help.to_string()));
        }
        wrong
    }

    /// How to ask an agent in a way that works.
    fn better_agent(&self, name: &str) -> String {
        let command = self.agents.agents.command(name).unwrap_or_default();
        let Some(unknown) = agent::unknown_value(command) else {
            return self.other_agent(name);
        };
        match nearest(unknown, agent::VALUES) {
            Some(near) => format!("did you mean `{{{near}}}`?"),
            None => self.other_agent(name),
        }
    }

    /// How to ask an agent by something else.
    fn other_agent(&self, name: &str) -> String {
        let agents = &self.agents.agents;
        match (agents.own(name), agents.long(name)) {
            (Some(_), _) => format!("change `command` under `[agents.\"{name}\"]` in rrc.toml"),
            (None, Some(_)) => "install it, name another with `--agent`, or set `command` under \
                                `[agent]` in rrc.toml"
                .to_string(),
            (None, None) if self.args.agent.is_some() => "name another with `--agent`".to_string(),
            (None, None) => "change `command` under `[agent]` in rrc.toml".to_string(),
        }
    }

    /// What is worth knowing. Who gave a wrong answer to an approval is told about that instead.
    fn notices(&self, path: &OsStr, pauses: bool) -> Vec<String> {
        let mut notices = Vec::new();
        for need in &self.plan.needs {
            let (name, step) = (self.text(need.name), self.step(need.step));
            let unusable = |what: &str, step: &dyn Fn() -> Option<u32>| {
                let error = find_program(name, path, self.directory).err()?;
                let step = self.step(step()?);
                let why = match error.kind {
                    ErrorKind::PermissionDenied => "cannot be executed",
                    _ => "is not here",
                };
                Some(format!(
                    "step {step} needs the {what} `{name}`, which {why}"
                ))
            };
            notices.extend(match need.kind {
                NeedKind::Shell => unusable("shell", &|| self.runs_in(need)),
                NeedKind::Program => unusable("program", &|| Some(need.step)),
                NeedKind::Directory if !self.directory.join(name).is_dir() => Some(format!(
                    "step {step} runs in `{name}`, which is no directory"
                )),
                NeedKind::Approval if pauses && !self.answered(name) => Some(format!(
                    "the run will pause after stage {name}: nobody is here to approve it"
                )),
                _ => None,
            });
        }
        let known = self.plan.inputs.iter().map(|input| self.text(input.name));
        let known: Vec<&str> = known.collect();
        // What only the runner knows, which has no default, nobody can give.
        let own = self.plan.inputs.iter();
        let own = own.filter(|input| input.default.is_some());
        let own: Vec<&str> = own.map(|input| self.text(input.name)).collect();
        for name in self.given.keys().filter(|name| !known.contains(&&***name)) {
            if let Some(near) = nearest(name, own.iter().copied()) {
                notices.push(format!(
                    "the recipe has no variable `{name}`; did you mean `{near}`?"
                ));
            }
        }
        let own = self
            .given
            .keys()
            .filter(|name| self.reserved.contains(&&***name));
        notices.extend(own.map(|name| {
            format!("rrc sets `{name}` itself: the value that is given for it counts for nothing")
        }));
        for name in &self.args.secret {
            let given = self.given.keys().map(|name| &**name);
            let names: Vec<&str> = known.iter().copied().chain(given).collect();
            if !names.contains(&name.as_str())
                && let Some(near) = nearest(name, names)
            {
                notices.push(format!(
                    "no variable `{name}` is there to hide; did you mean `{near}`?"
                ));
            }
        }
        notices.extend(self.unknown_tags());
        notices
    }

    /// Tags that no step has: a slip among them leaves out what was meant.
    fn unknown_tags(&self) -> Vec<String> {
        if self
            .plan
            .calls
            .iter()
            .any(|call| call.kind == HostKind::Recipe)
        {
            return Vec::new();
        }
        let texts = (0..self.plan.texts.len() as u32).map(|id| self.text(id));
        let texts: HashSet<&str> = texts.collect();
        let tags = self.args.include_tags.iter().chain(&self.args.exclude_tags);
        let unknown = tags.filter(|tag| !tag.is_empty() && !texts.contains(tag.as_str()));
        unknown
            .map(|tag| format!("no step has the tag `{tag}`"))
            .collect()
    }

    fn answered(&self, stage: &str) -> bool {
        let named = |stages: &[String]| stages.iter().any(|known| known == stage);
        let somebody = io::stdin().is_terminal() && io::stderr().is_terminal();
        somebody || named(&self.args.approve) || named(&self.args.deny)
    }
}
