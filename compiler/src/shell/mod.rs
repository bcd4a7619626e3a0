//! Holes in shell text: what stands around each, and the one form that puts its value there.
//!
//! A value never becomes shell source: it reaches the script through an environment variable, or
//! as the body of a quoted heredoc whose end mark it cannot hold. Where neither works the hole is
//! refused. This folder reads bash text and nothing else: it knows no YAML, no dialects, no types
//! and no values, and it does not run anything.

mod closed;
mod command;
mod files;
mod heredoc;
mod interpreter;
mod mention;
mod needed;
mod position;
mod programs;
pub mod render;
mod repair;
mod scan;
mod syntax;
mod word;

#[cfg(test)]
mod tests;

pub use closed::is_closed;
pub use files::names_file;
pub use interpreter::{Interpreter, is_option, is_shell};
pub use mention::{Mentioned, is_nounset, mentions, spelt, stands_for};
pub use needed::{is_builtin, needed};
pub use position::{Place, Position, Problem, Quote, Repair, Use};
pub use syntax::{Broken, broken};

use crate::codes;
use position::Refusal;
use scan::{Found, Scan};
use std::ops::Range;

/// A hole in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoleAt {
    pub range: Range<usize>,
    /// The environment variable that will hold the value.
    pub name: String,
    pub filter: Filter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    None,
    /// The value is pasted as it is, whatever it does to the script.
    Raw,
    /// The value is split at blanks into separate words.
    Words,
    /// The variable holds the value as JSON; placed like any other.
    Json,
}

/// A script that waits for its values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub pieces: Vec<Piece>,
    pub heredocs: Vec<Heredoc>,
    pub problems: Vec<Problem>,
    /// One per hole.
    pub positions: Vec<Position>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Shell source, with references to the variables in it.
    Text(String),
    /// The value of a hole as it is.
    Paste(usize),
    /// The value of a hole as words, each quoted.
    Words(usize),
    /// The end mark of a heredoc, chosen when the values are known.
    Delimiter(usize),
}

/// A quoted heredoc with values in its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heredoc {
    /// The end mark as it was written. `render::fresh_delimiter` makes one that will do.
    pub delimiter: String,
    /// Which pieces make up the body.
    pub body: Range<usize>,
}

/// The variable that holds a value where the shell evaluates arithmetic: a text like `007` is
/// itself in one place and the number 7 in the other.
pub fn integer_name(name: &str) -> String {
    format!("{name}_as_integer")
}

/// Reads the text as bash and puts the form for each hole in its place. Holes are given in the
/// order of the text, without overlap.
pub fn compile(text: &str, holes: &[HoleAt]) -> Script {
    if holes.is_empty() {
        let pieces = match text {
            "" => Vec::new(),
            text => vec![Piece::Text(text.to_owned())],
        };
        return Script {
            pieces,
            ..Script::default()
        };
    }
    let mut found = Found {
        holes,
        positions: vec![None; holes.len()],
        heres: Vec::new(),
        sources: Vec::new(),
        declared: Default::default(),
        functions: Default::default(),
        lost: None,
    };
    if well_placed(text, holes) {
        let row = scan::units(text, holes);
        Scan::new(&row, &mut found).commands(command::End::Text);
        // The kind of a variable may be declared after a function that uses it.
        if !found.declared.is_empty() {
            found.positions.fill(None);
            found.heres.clear();
            found.sources.clear();
            found.lost = None;
            Scan::new(&row, &mut found).commands(command::End::Text);
        }
    }
    let lost = found.lost.unwrap_or(Refusal::Lost);
    let heres = std::mem::take(&mut found.heres);
    let sources = std::mem::take(&mut found.sources);
    let mut positions: Vec<Position> = found
        .positions
        .into_iter()
        .map(|position| {
            position.unwrap_or(Position {
                refusal: Some(lost),
                ..Position::unknown()
            })
        })
        .collect();
    for here in &heres {
        for hole in &here.holes {
            if let Some(position) = positions.get_mut(*hole) {
                position.program.clone_from(&here.program);
                if here.evaluated {
                    position.evaluate(holes[*hole].filter);
                }
            }
        }
    }
    let (pieces, heredocs) = assemble(text, holes, &positions, &heres);
    let problems = problems(text, holes, &positions, &sources);
    Script {
        pieces,
        heredocs,
        problems,
        positions,
    }
}

fn well_placed(text: &str, holes: &[HoleAt]) -> bool {
    let mut end = 0;
    holes.iter().all(|HoleAt { range, .. }| {
        let fits = end <= range.start && range.start < range.end;
        end = range.end;
        fits && text.get(range.clone()).is_some()
    })
}

/// Writes what replaces a hole, or says which piece does.
fn form(
    hole: usize,
    at: &HoleAt,
    position: &Position,
    next: Option<u8>,
    text: &mut String,
) -> Option<Piece> {
    let glued = next.is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    let integer;
    let name = match position.reach {
        Use::Unused | Use::Refused => return None,
        Use::Paste => return Some(Piece::Paste(hole)),
        Use::Words => return Some(Piece::Words(hole)),
        Use::Env => &at.name,
        Use::Integer { .. } => {
            integer = integer_name(&at.name);
            &integer
        }
    };
    let (before, after) = match position.quote {
        Quote::Bare => ("\"$", "\""),
        // Inside backticks inside double quotes bash can lose its way at a brace.
        Quote::Double | Quote::Heredoc if position.backticks > 0 && !glued => ("$", ""),
        Quote::Double | Quote::Heredoc | Quote::Arithmetic => ("${", "}"),
        Quote::Single => ("'\"$", "\"'"),
        Quote::AnsiC => ("'\"$", "\"$'"),
        Quote::QuotedHeredoc | Quote::Comment => return None,
    };
    text.extend([before, name, after]);
    None
}

/// A change to the text at an offset. The order of variants is the order at one offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    BodyEnds(usize),
    BodyBegins(usize),
    Removed,
    /// The end mark after `<<`, and the one that ends the body.
    Mark {
        heredoc: usize,
        quoted: bool,
    },
    Hole(usize),
}

fn assemble(
    text: &str,
    holes: &[HoleAt],
    positions: &[Position],
    heres: &[heredoc::Here],
) -> (Vec<Piece>, Vec<Heredoc>) {
    let mut heredocs = Vec::new();
    let mut changes: Vec<(usize, Change, usize)> = Vec::new();
    for (hole, HoleAt { range, .. }) in holes.iter().enumerate() {
        changes.push((range.start, Change::Hole(hole), range.end));
    }
    for paste in heres.iter().filter_map(|here| here.paste.as_ref()) {
        let heredoc = heredocs.len();
        heredocs.push(Heredoc {
            delimiter: paste.mark.clone(),
            body: 0..0,
        });
        let mark = |quoted| Change::Mark { heredoc, quoted };
        changes.push((paste.word.start, mark(true), paste.word.end));
        changes.push((
            paste.body.start,
            Change::BodyBegins(heredoc),
            paste.body.start,
        ));
        changes.push((paste.body.end, Change::BodyEnds(heredoc), paste.body.end));
        if let Some(end) = &paste.end {
            changes.push((end.start, mark(false), end.end));
        }
        for removed in &paste.removed {
            changes.push((removed.start, Change::Removed, removed.end));
        }
    }
    changes.sort_unstable();

    let mut pieces: Vec<Piece> = Vec::new();
    let mut open = String::with_capacity(text.len() + 16 * holes.len());
    let mut at = 0;
    let close = |open: &mut String, pieces: &mut Vec<Piece>| {
        if !open.is_empty() {
            pieces.push(Piece::Text(std::mem::take(open)));
        }
    };
    for (start, change, end) in changes {
        open.push_str(text.get(at..start).unwrap_or(""));
        at = at.max(end);
        match change {
            Change::Removed => {}
            Change::BodyBegins(heredoc) => {
                close(&mut open, &mut pieces);
                heredocs[heredoc].body.start = pieces.len();
            }
            Change::BodyEnds(heredoc) => {
                close(&mut open, &mut pieces);
                heredocs[heredoc].body.end = pieces.len();
            }
            Change::Mark { heredoc, quoted } => {
                let quote = if quoted { "'" } else { "" };
                open.push_str(quote);
                close(&mut open, &mut pieces);
                pieces.push(Piece::Delimiter(heredoc));
                open.push_str(quote);
            }
            Change::Hole(hole) => {
                let next = text.as_bytes().get(end).copied();
                if let Some(piece) = form(hole, &holes[hole], &positions[hole], next, &mut open) {
                    close(&mut open, &mut pieces);
                    pieces.push(piece);
                }
            }
        }
    }
    open.push_str(text.get(at..).unwrap_or(""));
    close(&mut open, &mut pieces);
    (pieces, heredocs)
}

fn problems(
    text: &str,
    holes: &[HoleAt],
    positions: &[Position],
    sources: &[scan::Source],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    // The values in the text of one heredoc, which would be its arguments.
    let mut values: (Option<usize>, Vec<&str>) = (None, Vec::new());
    for (hole, (at, position)) in holes.iter().zip(positions).enumerate() {
        let written = text.get(at.range.clone()).unwrap_or("");
        let mut problem = |code, message, help: String, fix| {
            problems.push(Problem {
                hole,
                range: at.range.clone(),
                code,
                message,
                help,
                fix,
            });
        };
        if at.filter == Filter::Raw || position.reach == Use::Unused {
            continue;
        }
        if let Some(why) = position.refusal {
            problem(
                &codes::NO_SAFE_FORM,
                format!(
                    "no value can go safely where `{written}` stands: {}",
                    why.reason()
                ),
                why.help().to_owned(),
                repair::refused(text, at, why, position),
            );
            continue;
        }
        if let Some(program) = &position.program {
            let heredoc = position.place == Place::HeredocBody;
            let number = heredoc.then(|| argument(text, at.range.start, written, &mut values));
            problem(
                &codes::VALUE_IN_PROGRAM_TEXT,
                format!("the value of `{written}` becomes part of the text that `{program}` reads"),
                repair::as_argument(program, written, number),
                repair::in_program(text, holes, hole, sources),
            );
        }
        if position.place == Place::Command && position.reach == Use::Env {
            problem(
                &codes::VALUE_AS_COMMAND,
                format!(
                    "`{written}` is one word to the shell: blanks in it are part of the program's name"
                ),
                "if it holds a command with arguments, split it with the `words` filter".to_owned(),
                repair::words_filter(at, written),
            );
        }
    }
    problems
}

/// Which argument of its program a value in a heredoc would be, counted from one.
fn argument<'t>(
    text: &str,
    at: usize,
    written: &'t str,
    values: &mut (Option<usize>, Vec<&'t str>),
) -> usize {
    let opened = text.get(..at).and_then(|before| before.rfind("<<"));
    if values.0 != opened {
        *values = (opened, Vec::new());
    }
    let known = values.1.iter().position(|value| *value == written);
    known.unwrap_or_else(|| {
        values.1.push(written);
        values.1.len() - 1
    }) + 1
}
