//! The commands that ask agents: templates in `rrc.toml`, compiled before a run that needs them.

use crate::cli::Global;
use crate::config::Config;
use crate::{Streams, plan};
use rrc_compiler::codes::{Severity, VALUE_IN_PROGRAM_TEXT};
use rrc_compiler::diagnostic::Diagnostic;
use rrc_compiler::dialect::template::executed;
use rrc_compiler::ir::flow::{Term, TermKind, Work};
use rrc_compiler::ir::{Action, Literal, Node, Program, Truth};
use rrc_compiler::source::{Source, Sources, Span};
use rrc_compiler::world::Texts;
use rrc_compiler::{Options, build, check};
use rrc_runtime::agent::{Agents, Commands};
use rrc_vm::plan::Plan;
use rrc_vm::verify::Verified;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// The plans of all agent commands; none if one of them means nothing, which has been said.
pub fn compile(
    agents: Agents,
    config: &Config,
    global: &Global,
    streams: &mut Streams<'_>,
) -> io::Result<Option<Commands>> {
    let mut plans: Vec<(String, Rc<Verified>)> = Vec::new();
    for command in agents.commands() {
        if plans.iter().any(|(known, _)| known == command) {
            continue;
        }
        let Compiled { plan, findings } = compiled(command);
        let place = place(command, config);
        let shown = |wrong: &&Wrong| wrong.is_error() || !global.quiet;
        findings
            .iter()
            .filter(shown)
            .try_for_each(|wrong| say(wrong, &place, streams))?;
        let Some(plan) = plan else {
            return Ok(None);
        };
        match plan::admit(NAME, plan, global, streams)? {
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

impl Wrong {
    fn is_error(&self) -> bool {
        self.finding.severity == Severity::Error
    }
}

/// What a command comes to, and what there is to be said of it.
struct Compiled {
    plan: Option<Plan>,
    findings: Vec<Wrong>,
}

fn compiled(command: &str) -> Compiled {
    let mut sources = Sources::default();
    let world = Texts::one(NAME, json(command));
    let mut checked = check(&world, NAME, Options::default(), &mut sources);
    let told = |found: &Diagnostic| {
        let is_error = found.severity == Severity::Error;
        is_error || found.severity == Severity::Warning && found.code != &VALUE_IN_PROGRAM_TEXT
    };
    let wrong = |finding: Diagnostic| Wrong {
        at: byte_of(finding.span.start as usize, command),
        finding,
    };
    let found = checked.report.findings.iter().filter(|found| told(found));
    let mut findings: Vec<Wrong> = found.cloned().map(wrong).collect();
    // A template is written by who runs it; what an agent is asked comes from anywhere.
    if let Some(executed) = executed(command) {
        let span = Span::top(checked.program.units.first().map_or_else(
            || sources.add(Source::new(NAME, json(command))),
            |unit| unit.source,
        ));
        let message = format!("`{}` would execute the value", executed.program);
        let finding = Diagnostic::new(&VALUE_IN_PROGRAM_TEXT, span, message);
        findings.push(Wrong {
            at: executed.range.start,
            finding: finding.severity(Severity::Error).help(executed.help),
        });
    }
    let plan = match findings.iter().any(Wrong::is_error) {
        true => None,
        false => {
            optional(&mut checked.program);
            build(&checked, &sources, plan::hash)
        }
    };
    Compiled { plan, findings }
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
    let kind = if wrong.is_error() { "" } else { "warning: " };
    writeln!(streams.err, "rrc: {place}: {kind}[{}] {message}", code.code)?;
    match help {
        Some(help) => writeln!(streams.err, "help: {help}"),
        None => Ok(()),
    }
}

/// Leaves out, with a value that is empty, the option it belongs to: `--model {model}` and
/// `--model={model}` are nothing at all when there is no model. The option before the prompt stays:
/// for most programs it says how to ask, not what.
fn optional(program: &mut Program) {
    let unit = program.units.first_mut().map(Arc::make_mut);
    let Some(step) = unit.and_then(|unit| unit.steps.first_mut()) else {
        return;
    };
    if let Node::Act(action) = &mut step.node
        && let Action::Flow(flow) = &mut **action
        && let Work::Run { words, .. } = &mut flow.root.work
    {
        let whole: Vec<Option<Term>> = words.iter().map(whole).collect();
        for (at, word) in words.iter_mut().enumerate() {
            let next = whole.get(at + 1).cloned().flatten();
            let value = next
                .filter(|_| is_option(word))
                .or_else(|| assigned(word).cloned())
                .filter(|value| !reads_prompt(value));
            if let Some(value) = value {
                *word = if_any(value, word.clone());
            }
        }
    }
}

/// Whether a word is an option that may have its value in the next one.
fn is_option(word: &Term) -> bool {
    let TermKind::Literal(Literal::Text(text)) = &word.kind else {
        return false;
    };
    text.starts_with('-') && !text.trim_start_matches('-').is_empty() && !text.contains('=')
}

/// The value that a word is; none if there is more to it.
fn whole(word: &Term) -> Option<Term> {
    let more = matches!(word.kind, TermKind::Literal(_) | TermKind::Text(_));
    (!more).then(|| word.clone())
}

/// The value that an option is given behind `=`.
fn assigned(word: &Term) -> Option<&Term> {
    let TermKind::Text(parts) = &word.kind else {
        return None;
    };
    let [before, value] = parts.as_slice() else {
        return None;
    };
    let TermKind::Literal(Literal::Text(before)) = &before.kind else {
        return None;
    };
    let option = before.strip_suffix('=')?;
    (option.starts_with('-') && !option.contains('=')).then_some(value)
}

fn reads_prompt(term: &Term) -> bool {
    let named = matches!(&term.kind, TermKind::Var(name) if name == "prompt");
    named || term.parts().into_iter().any(reads_prompt)
}

/// The word if there is anything to the value, else nothing.
fn if_any(value: Term, word: Term) -> Term {
    let span = word.span;
    Term::new(
        span,
        TermKind::Pick {
            test: Box::new(value),
            truth: Truth::Emptiness,
            yes: Box::new(word),
            no: Box::new(Term::text(span, "")),
        },
    )
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
            ["-p", prompt, "x y"]
        );
        assert_eq!(
            args("ask --model {model} --mode {mode} -v", &question),
            ["--mode", "plan", "-v"]
        );
        assert!(asked("ask {nope}", &question).is_err());
    }

    #[test]
    fn an_empty_value_goes_with_its_option_however_it_is_written() {
        let question = Question {
            prompt: "do it",
            ..Question::default()
        };
        for command in [
            "ask --system \"{system_prompt}\" -p \"{prompt}\"",
            "ask -m '{mode}' -p {prompt}",
            "ask --model  {model} -p {prompt}",
            "ask --model\t{model} -p {prompt}",
            "ask '--model' {model=} -p {prompt}",
            "ask '--mo'del \"{model??}\" -p {prompt}",
            "ask --model={model} --as='{agent}' -p {prompt}",
        ] {
            assert_eq!(args(command, &question), ["-p", "do it"], "{command}");
        }
        // What only looks like the option of a value is none.
        for (command, words) in [
            ("ask -p --as={agent} {prompt}", vec!["-p", "do it"]),
            ("ask --fast=1 {model} {prompt}", vec!["--fast=1", "do it"]),
            ("ask -- {mode} {prompt}", vec!["--", "do it"]),
            ("ask - {mode} {prompt}", vec!["-", "do it"]),
            ("ask -a x{mode} {prompt}", vec!["-a", "x", "do it"]),
            ("ask -x={mode}/{agent} {prompt}", vec!["-x=/", "do it"]),
        ] {
            assert_eq!(args(command, &question), words, "{command}");
        }
        // A word that a template takes for false is a value like any other.
        let question = Question {
            mode: "no",
            model: "0",
            ..question
        };
        assert_eq!(
            args("ask -m {mode} --model {model} {prompt}", &question),
            ["-m", "no", "--model", "0", "do it"]
        );
    }

    #[test]
    fn an_empty_prompt_is_a_word_all_the_same() {
        let question = Question::default();
        assert_eq!(
            args("ask -p {prompt} --model {model} -v", &question),
            ["-p", "", "-v"]
        );
        assert_eq!(args("ask --prompt='{prompt}'", &question), ["--prompt="]);
        assert_eq!(args("ask {prompt}", &question), [""]);
    }

    #[test]
    fn a_value_that_looks_like_an_option_is_none_for_a_program_that_is_known() {
        let question = Question {
            prompt: "- one\n- two",
            system_prompt: "--yolo",
            model: "-m",
            ..Question::default()
        };
        for known in KNOWN {
            let mut agents = Agents::default();
            agents.use_known(known);
            let made = request(&compiled(agents), &question, Path::new("/")).expect("it is known");
            let mut words = made.args.iter().map(String::as_str);
            let options: Vec<&str> = words.by_ref().take_while(|word| *word != "--").collect();
            for word in options {
                let own = known.command.split(' ').any(|own| {
                    let name = own.split('=').next().unwrap_or(own);
                    word == name || own.contains('=') && word.starts_with(&format!("{name}="))
                });
                assert!(own, "{}: {word}", known.name);
            }
            assert!(words.count() <= 1, "{}", known.name);
            let prompt = made.args.iter().any(|word| word.ends_with("- one\n- two"));
            assert!(prompt, "{}: {:?}", known.name, made.args);
        }
    }

    /// What is said of a command, and whether it can be used.
    fn said(command: &str) -> (String, bool) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut streams = Streams {
            out: &mut out,
            err: &mut err,
        };
        let cli = Cli::parse_from(["rrc", "list"]);
        let agents = Agents {
            command: Some(command.to_string()),
            ..Agents::default()
        };
        let made = compile(agents, &Config::default(), &cli.global, &mut streams);
        let made = made.expect("what is said can be kept").is_some();
        (String::from_utf8_lossy(&err).into_owned(), made)
    }

    #[test]
    fn a_command_that_executes_a_value_is_refused() {
        for command in [
            "bash -c 'echo got: {prompt}'",
            "bash -c {prompt}",
            "env A=1 sh -ec \"x {agent}\" y",
            "python3 -c 'print(\"{mode}\")'",
            "ssh host agent {prompt}",
            "ssh -T host agent -p '{prompt}'",
        ] {
            let (said, made) = said(command);
            assert!(!made, "{command}");
            assert!(said.contains(" [RRC0501] "), "{command}: {said}");
            assert!(said.contains("would execute the value\nhelp: "), "{said}");
            assert_eq!(said.matches("RRC").count(), 1, "{said}");
        }
        for command in [
            "bash -c 'echo got: \"$1\"' _ {prompt}",
            "sh agent.sh {prompt}",
            "ssh -p 22 {agent}",
            "ssh host agent",
        ] {
            assert_eq!(said(command), (String::new(), true), "{command}");
        }
    }

    #[test]
    fn what_is_odd_about_a_command_is_said_and_the_known_ones_are_not() {
        for (command, code) in [
            ("ask {prompt", "RRC0315"),
            ("ask {prompt} | tee log", "RRC0505"),
            ("ask {prompt} $HOME", "RRC0505"),
            ("ask {prompt} > f", "RRC0505"),
        ] {
            let (said, made) = said(command);
            assert!(made, "{command}: {said}");
            assert!(said.contains(&format!(": warning: [{code}] ")), "{said}");
        }
        for known in KNOWN {
            for command in [known.command, known.long] {
                assert_eq!(said(command), (String::new(), true));
            }
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
            let asked = made.args.last().expect("the prompt is the last word");
            assert!(asked.ends_with("short") && made.stdin.is_none());
        }
        let piped = Question {
            prompt: "p",
            ..question
        };
        let made = asked("ask", &piped).expect("it is a command");
        assert_eq!(made.stdin, Some(b"p".to_vec()));
    }
}
