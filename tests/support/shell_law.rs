//! The law of holes in shell text: what arrives in bash is the value, and nothing else happens. Held for the
//! suite's own scripts and values, and without end by `fuzz/`.
//!
//! Each compiled script is a file of its own that one bash sources in a subshell, so that it is parsed
//! exactly as a script is, and thousands of them run in seconds.

use super::data::NOISE;
use rrc_compiler::codes;
use rrc_compiler::shell::{Filter, HoleAt, Script, Use, compile, integer_name, render};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub fn holes(text: &str, name: &str) -> Vec<HoleAt> {
    let mut holes = Vec::new();
    for (written, filter) in [
        ("{{v}}", Filter::None),
        ("{{v|words}}", Filter::Words),
        ("{{v|json}}", Filter::Json),
    ] {
        for (at, _) in text.match_indices(written) {
            holes.push(HoleAt {
                range: at..at + written.len(),
                name: name.to_owned(),
                filter,
            });
        }
    }
    holes.sort_by_key(|hole| hole.range.start);
    holes
}

pub fn errors(script: &Script) -> usize {
    let code = codes::NO_SAFE_FORM.code;
    script
        .problems
        .iter()
        .filter(|problem| problem.code.code == code)
        .count()
}

/// An empty directory that goes away with it.
pub struct Room(pub PathBuf);

impl Room {
    pub fn new(name: &str) -> Room {
        let path = std::env::temp_dir().join(format!("rrc-shell-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("work")).expect("the temporary directory is writable");
        Room(path)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Scripts to run, with what each must print and the value it was given.
#[derive(Default)]
pub struct Batch {
    pub scripts: Vec<(String, String, String)>,
    pub environment: BTreeMap<String, String>,
}

impl Batch {
    pub fn name(&self) -> String {
        format!("RECIPE_VAR_{}", self.scripts.len())
    }

    /// Adds a compiled script for a value, as the machine would run it; false if the machine would
    /// have stopped before.
    pub fn add(&mut self, script: &Script, value: &str, prints: String) -> bool {
        let name = self.name();
        for position in &script.positions {
            match position.reach {
                Use::Env => {
                    self.environment.insert(name.clone(), value.to_owned());
                }
                Use::Integer { or_empty } => match render::integer(value) {
                    Some(number) => {
                        self.environment.insert(integer_name(&name), number);
                    }
                    None if or_empty && value.is_empty() => {
                        self.environment.insert(integer_name(&name), String::new());
                    }
                    None => return false,
                },
                Use::Paste | Use::Words | Use::Unused | Use::Refused => {}
            }
        }
        let same = vec![value; script.positions.len()];
        self.scripts
            .push((render::render(script, &same), prints, value.to_owned()));
        true
    }

    /// Runs all of them; what was printed otherwise.
    pub fn wrong(&self, label: &str) -> Vec<Wrong> {
        let ran = self.scripts.iter().zip(self.outputs(label));
        ran.filter(|((_, prints, _), (out, _))| out != prints)
            .map(|((script, prints, value), (out, err))| Wrong {
                words: format!(
                    "{label}: for the value {:?}\nprinted {:?}\nwanted  {:?}\nstderr {err}\nscript\n{}",
                    brief(value),
                    brief(&out),
                    brief(prints),
                    brief(script),
                ),
                unparsed: err.contains("unexpected EOF while looking for matching"),
            })
            .collect()
    }

    /// Runs all of them; what each wrote to its two streams.
    fn outputs(&self, label: &str) -> Vec<(String, String)> {
        let room = Room::new(&label.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
        let work = room.0.join("work");
        fs::write(work.join("file.txt"), "").expect("the temporary directory is writable");
        for (index, (script, _, _)) in self.scripts.iter().enumerate() {
            fs::write(room.0.join(format!("{index}.sh")), script)
                .expect("the temporary directory is writable");
        }
        let driver = "for ((rrc = 0; rrc < RRC_COUNT; rrc++)); do \
                      ( . \"../$rrc.sh\" ) > \"../$rrc.out\" 2> \"../$rrc.err\" < /dev/null; done";
        let status = Command::new("bash")
            .args(["-c", driver])
            .current_dir(&work)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", "/nonexistent")
            .env("LC_ALL", "C.UTF-8")
            .env("RRC_COUNT", self.scripts.len().to_string())
            .envs(&self.environment)
            .stdin(Stdio::null())
            .status()
            .expect("bash is installed");
        assert!(status.code().is_some(), "{label}: bash was killed");
        assert_nothing_happened(&work, label);
        let read = |index: usize, kind: &str| {
            let bytes = fs::read(room.0.join(format!("{index}.{kind}"))).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        (0..self.scripts.len())
            .map(|index| (read(index, "out"), read(index, "err")))
            .collect()
    }
}

/// A script that did not print what it should.
pub struct Wrong {
    pub words: String,
    /// Bash did not come to its end when it read it.
    unparsed: bool,
}

fn brief(text: &str) -> &str {
    text.get(..600).unwrap_or(text)
}

fn assert_nothing_happened(work: &Path, label: &str) {
    let names: Vec<String> = fs::read_dir(work)
        .expect("the directory is there")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    assert_eq!(names, ["file.txt"], "{label}: a value has done something");
}

/// A small generator of numbers; the seed makes a failure repeat itself.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.max(1))
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap_or(0)
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

/// A piece of shell text with one hole, and what it is worth or prints, `§` being the value.
struct Snippet {
    text: String,
    worth: String,
}

fn snippet(text: impl Into<String>, worth: impl Into<String>) -> Snippet {
    Snippet {
        text: text.into(),
        worth: worth.into(),
    }
}

/// A word with the hole in it.
fn word(dice: &mut Dice, depth: usize) -> Snippet {
    let sides = if depth == 0 { 6 } else { 14 };
    match dice.roll(sides) {
        0 => snippet("{{v}}", "§"),
        1 => snippet("a{{v}}-b", "a§-b"),
        2 => snippet("\"x {{v}}y\"", "x §y"),
        3 => snippet("'x \" {{v}}'", "x \" §"),
        4 => snippet("$'\\t{{v}}\\''", "\t§'"),
        5 => snippet("$HOME{{v}}'\\'", "/nonexistent§\\"),
        6 | 7 => {
            let inner = command(dice, depth - 1);
            snippet(
                format!("\"$({}\nprintf .)\"", inner.text),
                inner.worth + ".",
            )
        }
        8 => {
            let inner = command(dice, depth - 1);
            let escaped = inner.text.replace('\\', "\\\\").replace('`', "\\`");
            snippet(format!("\"`{escaped}\nprintf .`\""), inner.worth + ".")
        }
        9 => {
            let inner = in_double(dice, depth - 1);
            snippet(format!("\"${{u:-{}}}\"", inner.text), inner.worth)
        }
        10 => {
            let inner = word(dice, depth - 1);
            snippet(
                format!("\"${{u-a}}\"{}\"${{#HOME}}\"", inner.text),
                format!("a{}12", inner.worth),
            )
        }
        11 => {
            let inner = command(dice, depth - 1);
            snippet(
                format!("\"$(( 1 << 2 ))$(\n{}\n# it's )\nprintf .)\"", inner.text),
                format!("4{}.", inner.worth),
            )
        }
        12 => {
            let inner = in_double(dice, depth - 1);
            snippet(format!("\"{}\"", inner.text), inner.worth)
        }
        _ => {
            let inner = word(dice, depth - 1);
            snippet(format!("\"${{HOME:+\"{}\"}}\"", "b{{v}}"), "b§").or(inner, dice)
        }
    }
}

impl Snippet {
    fn or(self, other: Snippet, dice: &mut Dice) -> Snippet {
        if dice.roll(2) == 0 { self } else { other }
    }
}

/// Text for the inside of double quotes.
fn in_double(dice: &mut Dice, depth: usize) -> Snippet {
    match dice.roll(if depth == 0 { 3 } else { 6 }) {
        0 => snippet("{{v}}", "§"),
        1 => snippet("\\\"{{v}}\\\\", "\"§\\"),
        2 => snippet("a $HOME{{v}}_b", "a /nonexistent§_b"),
        3 => {
            let inner = command(dice, depth - 1);
            snippet(
                format!("-$({}\nprintf .)", inner.text),
                format!("-{}.", inner.worth),
            )
        }
        4 => {
            let inner = in_double(dice, depth - 1);
            snippet(format!("${{u:-{}}}", inner.text), inner.worth)
        }
        _ => {
            let inner = command(dice, depth - 1);
            snippet(
                format!("$( ( {}\n) ; printf .)", inner.text),
                inner.worth + ".",
            )
        }
    }
}

/// A command that prints something with the value in it.
fn command(dice: &mut Dice, depth: usize) -> Snippet {
    let noise = dice.pick(NOISE);
    let inner = if depth == 0 {
        let word = word(dice, 0);
        snippet(format!("printf '%s' {}", word.text), word.worth)
    } else {
        compound(dice, depth - 1)
    };
    snippet(format!("{noise}{}", inner.text), inner.worth)
}

fn compound(dice: &mut Dice, depth: usize) -> Snippet {
    match dice.roll(22) {
        0 => wrap("(", command(dice, depth), ")"),
        1 => wrap("{", command(dice, depth), "}"),
        2 => wrap("if true; then", command(dice, depth), "fi"),
        3 => wrap("f() {", command(dice, depth), "}; f"),
        4 => wrap("while :; do", command(dice, depth), "break; done"),
        5 => wrap(
            "case x in\n y) : ;;\n x|z)",
            command(dice, depth),
            ";;\nesac",
        ),
        6 => wrap("{", command(dice, depth), "} | cat"),
        7 => wrap("for i in 1; do", command(dice, depth), "done"),
        8 => wrap("cat <(", command(dice, depth), ")"),
        9 => wrap("function g {", command(dice, depth), "}\ng"),
        10 => around("x=", word(dice, depth), "; printf '%s' \"$x\""),
        11 => around("a=(z ", word(dice, depth), "); printf '%s' \"${a[1]}\""),
        12 => around(
            "for i in ",
            word(dice, depth),
            "; do printf '%s' \"$i\"; done",
        ),
        13 => around("export x=", word(dice, depth), "; printf '%s' \"$x\""),
        14 => {
            let inner = word(dice, depth);
            snippet(format!("cat <<< {}", inner.text), inner.worth + "\n")
        }
        15 => {
            let dash = dice.pick(&["", "-"]);
            snippet(
                format!("cat <<{dash}'EOF'\na $( ' {{{{v}}}} `\nEOF"),
                "a $( ' § `\n",
            )
        }
        16 => {
            let inner = in_heredoc(dice, depth);
            snippet(
                format!("cat <<EOF\n\" {}\nEOF", inner.text),
                format!("\" {}\n", inner.worth),
            )
        }
        17 => {
            let inner = word(dice, depth);
            snippet(
                format!("x={}; case $x in {}) printf yes;; esac", inner.text, "*"),
                "yes",
            )
        }
        18 => around(
            "case ",
            word(dice, depth),
            " in *) printf '%s' '{{v}}';; esac",
        )
        .says("§"),
        19 => around("[[ -n x", word(dice, depth), " ]] && printf '%s' {{v}}").says("§"),
        20 => around("printf '%s' ", word(dice, depth), " && :"),
        _ => around("printf '%s' \\\n  ", word(dice, depth), " # it's"),
    }
}

fn in_heredoc(dice: &mut Dice, depth: usize) -> Snippet {
    match dice.roll(4) {
        0 => snippet("{{v}}", "§"),
        1 => snippet("'{{v}}'\\$", "'§'$"),
        2 => snippet("${u:-{{v}}}", "§"),
        _ => {
            let inner = command(dice, depth);
            // The body of an outer heredoc ends at its mark, whatever stands around it.
            if inner.text.contains("EOF") {
                return snippet("\"{{v}}\"", "\"§\"");
            }
            snippet(format!("$({}\nprintf .)", inner.text), inner.worth + ".")
        }
    }
}

fn wrap(before: &str, inner: Snippet, after: &str) -> Snippet {
    snippet(format!("{before}\n{}\n{after}", inner.text), inner.worth)
}

fn around(before: &str, inner: Snippet, after: &str) -> Snippet {
    snippet(format!("{before}{}{after}", inner.text), inner.worth)
}

impl Snippet {
    fn says(self, worth: &str) -> Snippet {
        snippet(self.text, worth)
    }
}

/// Whether bash accepts each of these texts.
pub fn accepted(texts: &[String], label: &str) -> Vec<bool> {
    let room = Room::new(label);
    for (index, text) in texts.iter().enumerate() {
        fs::write(room.0.join(format!("{index}.sh")), text)
            .expect("the temporary directory is writable");
    }
    // Of `bash -n` only the status counts; a heredoc without an end is a warning there.
    let driver = "for ((i = 0; i < $1; i++)); do bash -n \"$i.sh\" 2> /dev/null; echo $?; done";
    let output = Command::new("bash")
        .args(["-c", driver, "bash", &texts.len().to_string()])
        .current_dir(&room.0)
        .output()
        .expect("bash is installed");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|status| status == "0")
        .collect()
}

/// What came of generated scripts that could not be tried.
#[derive(Default)]
pub struct Tally {
    /// There was no safe form.
    pub refused: usize,
    /// Bash prints something else also with a plain word in the place of the hole.
    pub misread: usize,
    /// Bash reads it with a plain word, but not with the variable that somebody would write there by hand:
    /// in heredocs with a lone backtick, within backticks, within brackets.
    pub unparsed: usize,
}

/// Generates so many scripts and runs each with some of the values: what arrives is the value.
pub fn arrives(
    dice: &mut Dice,
    rounds: usize,
    values: &[String],
    tries: usize,
    label: &str,
) -> Tally {
    // Bash itself misreads some of them (heredocs in substitutions in expansions, for one), so
    // each is first run with a plain word in the place of the hole.
    let mut control = Batch::default();
    let mut snippets = Vec::new();
    for round in 0..rounds {
        let Snippet { text, worth } = command(dice, 1 + round % 5);
        let text = text + "\n";
        let plain = text.replace("{{v}}", "word");
        control
            .scripts
            .push((plain, worth.replace('§', "word"), "word".to_owned()));
        snippets.push((text, worth));
    }
    let printed = control.outputs(&format!("{label} control"));
    let mut tally = Tally::default();
    let mut batch = Batch::default();
    let mut compiled = Vec::new();
    for ((text, worth), ((_, wanted, _), (out, _))) in
        snippets.iter().zip(control.scripts.iter().zip(&printed))
    {
        let script = compile(text, &holes(text, "RECIPE_VAR_v"));
        if errors(&script) > 0 {
            tally.refused += 1;
            continue;
        }
        let words = vec!["word"; script.positions.len()];
        compiled.push(render::render(&script, &words));
        if out != wanted {
            tally.misread += 1;
            continue;
        }
        for _ in 0..tries {
            let value = &values[dice.roll(values.len())];
            let script = compile(text, &holes(text, &batch.name()));
            assert!(batch.add(&script, value, worth.replace('§', value)));
        }
    }
    let accepted = accepted(&compiled, &format!("{label} accepted"));
    for (text, accepted) in compiled.iter().zip(accepted) {
        assert!(accepted, "bash does not accept\n{text}");
    }
    for wrong in batch.wrong(label) {
        assert!(wrong.unparsed, "{}", wrong.words);
        tally.unparsed += 1;
    }
    tally
}
