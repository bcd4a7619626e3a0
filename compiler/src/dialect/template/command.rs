//! Command lines: words, the placeholders in them, and what is odd about them.

use super::args::unknown_type;
use super::halves::leading_name;
use super::holes::{self, Bad, Hole, Piece, Sum};
use super::known::can_be;
use super::names::{Env, repeat_name};
use super::node::no_command;
use super::spot::{Spot, fix};
use super::words::{Split, Word, split};
use super::{Lower, risk, shell};
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix};
use crate::doc::Text;
use crate::ir::flow::{Arith, Term, TermKind, ValueKind};
use crate::source::Span;
use std::ops::Range;

impl<'a> Lower<'_, 'a> {
    /// The words of a command; none if it is none, which has been said.
    pub fn command(&mut self, text: Text<'a>, env: &Env<'a>) -> Option<Vec<Term>> {
        let found = split(text.text());
        let (before, said) = (self.errors(), self.report.findings.len());
        self.oddities(text, &found);
        if found.words.first().is_none_or(|word| word.text.is_empty()) {
            let message = match found.words.is_empty() {
                true => "the command is empty",
                false => "the name of the command is empty",
            };
            self.add(no_command(text.whole(), message));
            return None;
        }
        if let [word] = found.words.as_slice()
            && word.text.ends_with(".json")
        {
            let (name, place) = (&word.text, text.span(word.range.clone()));
            let finding = match self.in_recipe {
                true => {
                    let message = format!("`{name}` names a template, not a command");
                    Diagnostic::new(&codes::BAD_VALUE, place, message).help(format!(
                        "make it a step of its own, with `template: {name}`, or write its commands"
                    ))
                }
                false => {
                    let message = format!("`{name}` names a recipe, not a command");
                    self.foreign.get_or_insert(text.whole());
                    Diagnostic::new(&codes::RECIPE_LAYER, place, message)
                        .help("a host that knows recipes reads it; rrc runs commands alone")
                }
            };
            self.add(finding);
            return None;
        }
        let expanded = shell::look(self, text, &found.words);
        risk::look(self, text, &found.words);
        if !env.timed {
            risk::network(self, text, &found.words);
        }
        self.values_in_words(text, &found.words, env);
        let mut words = Vec::with_capacity(found.words.len());
        let mut spoken_of = 0;
        for (number, word) in found.words.iter().enumerate() {
            if word.text.is_empty() {
                let message = "an empty word is left out";
                let span = text.span(word.range.clone());
                let before = number.checked_sub(1).and_then(|at| found.words.get(at));
                let start = before.map_or(word.range.start, |before| before.range.end);
                let gone = text.edit(start..word.range.end, "");
                self.add(
                    Diagnostic::new(&codes::EMPTY_WORD, span, message)
                        .help("remove it: a command is never given empty words")
                        .fix_if(fix(Applicability::Safe, "remove it", [gone])),
                );
                continue;
            }
            if expanded.contains(&number) {
                continue;
            }
            if number >= spoken_of {
                spoken_of = self.split_hole(text, &found.words, number);
            }
            words.push(self.word(text, word, env));
        }
        // A placeholder that blanks have cut in two has been said.
        let mut new = self.report.findings.iter().skip(said);
        if !new.any(|finding| finding.code == &codes::SPLIT_PLACEHOLDER) {
            self.lone_braces(text.text(), env, &|range| text.span(range));
        }
        if self.errors() == before {
            self.look_at_words(&words, env);
        }
        (self.errors() == before).then_some(words)
    }

    fn oddities(&mut self, text: Text<'a>, found: &Split) {
        if let Some(at) = text.text().find('\0') {
            let message = "a command cannot be given a NUL character";
            self.add(
                Diagnostic::new(&codes::BAD_VALUE, text.span(at..at + 1), message)
                    .help("remove it, or write it to a file that the command reads"),
            );
        }
        if let Some(at) = found.open_quote {
            let quote = text.text().get(at..at + 1).unwrap_or("'").to_string();
            self.add(
                Diagnostic::new(
                    &codes::OPEN_QUOTE,
                    text.span(at..at + 1),
                    "nothing closes this quote: the rest of the command is one word",
                )
                .help(format!("write another {quote} where the word ends"))
                .fix_if(closed(text, &quote)),
            );
        } else if let Some(at) = found.last_backslash {
            self.add(
                Diagnostic::new(
                    &codes::LOST_BACKSLASH,
                    text.span(at..at + 1),
                    "nothing follows this backslash",
                )
                .help("remove it, or write two of them to mean one")
                .fix_if(two_backslashes(text, at, Applicability::Safe)),
            );
        }
        for (at, blank) in &found.odd_blanks {
            let range = *at..*at + blank.len_utf8();
            let (span, space) = (text.span(range.clone()), text.edit(range, " "));
            let message = format!("U+{:04X} separates words here", u32::from(*blank));
            self.add(
                Diagnostic::new(&codes::ODD_BLANK, span, message)
                    .help("write a plain space")
                    .fix_if(fix(Applicability::Safe, "write a space", [space])),
            );
        }
        for word in &found.words {
            // Braces are often escaped by people who think that this helps.
            for at in &word.lost {
                let next = text
                    .text()
                    .get(at + 1..)
                    .and_then(|rest| rest.chars().next());
                let Some(next) = next.filter(|next| next.is_alphanumeric()) else {
                    continue;
                };
                let range = *at..*at + 1 + next.len_utf8();
                let message = format!("the command is given `{next}` here, without the backslash");
                self.add(
                    Diagnostic::new(&codes::LOST_BACKSLASH, text.span(range), message)
                        .help("put the word in single quotes, or write two backslashes")
                        .fix_if(two_backslashes(text, *at, Applicability::Unsafe)),
                );
            }
        }
    }

    fn word(&mut self, text: Text<'a>, word: &Word, env: &Env<'a>) -> Term {
        let span = text.span(word.range.clone());
        let mut parts = Vec::new();
        let pieces = holes::pieces(&word.text);
        if pieces.len() > 1 {
            self.value_in_json(text, word, &pieces);
        }
        for piece in pieces {
            match piece {
                Piece::Plain(range) => {
                    let plain = word.text.get(range).unwrap_or_default();
                    parts.push(Term::text(span, plain));
                }
                Piece::Hole(range) => {
                    let start = range.start;
                    let inner = word.text.get(range).unwrap_or_default();
                    let at = Spot::of_word(text, word, start);
                    parts.extend(self.hole(inner, env, &at));
                }
            }
        }
        match parts.len() {
            1 => parts.pop().unwrap_or_else(|| Term::text(span, "")),
            _ => Term::new(span, TermKind::Text(parts)),
        }
    }

    /// A value between the quotes of JSON is not escaped.
    fn value_in_json(&mut self, text: Text<'a>, word: &Word, pieces: &[Piece]) {
        for (number, piece) in pieces.iter().enumerate() {
            let Piece::Hole(range) = piece else { continue };
            let before = number.checked_sub(1).and_then(|at| pieces.get(at));
            let around = (before, pieces.get(number + 1));
            let (Some(Piece::Plain(before)), Some(Piece::Plain(after))) = around else {
                continue;
            };
            let cut = |range: &Range<usize>| word.text.get(range.clone()).unwrap_or_default();
            let json = cut(before).ends_with('"')
                && cut(after).starts_with('"')
                && word.text.trim_start().starts_with(['{', '[']);
            if json {
                let span = text.span(word.source(range.clone()));
                self.add(
                    Diagnostic::new(
                        &codes::VALUE_IN_JSON,
                        span,
                        "the value is put between quotes as it is: one that holds a quote breaks the JSON",
                    )
                    .help("pass the whole document as a value, or write it to a file first"),
                );
            }
        }
    }

    /// One placeholder, checked; nothing if it means nothing, which has been said.
    pub fn hole(&mut self, inner: &str, env: &Env<'a>, at: &Spot<'_, 'a>) -> Option<Term> {
        let hole = self.placeholder(inner, at, env)?;
        self.inline_default(&hole, inner, env, at);
        self.narrow_padding(&hole, inner, env, at);
        match &hole {
            Hole::Name {
                name,
                kind,
                default,
            } => {
                if let Some((word, range)) = kind {
                    let default = default.map(|default| {
                        let start = inner.len() - default.len();
                        (default, at.span(start..inner.len()))
                    });
                    self.typed_hole(name, word, default, at.span(range.clone()), env);
                }
                if default.is_none() {
                    self.require(env, name, at.span(0..name.len()));
                    self.minus(name, 0, env, at);
                } else {
                    self.not_outside(env, name, at.span(0..name.len()));
                }
            }
            Hole::OrText { name, .. } => self.not_outside(env, name, at.span(0..name.len())),
            Hole::Choice {
                name,
                name_at,
                yes,
                no,
                ..
            } => {
                self.not_outside(env, name, at.span(name_at.clone()));
                self.nearly_known(name, at.span(name_at.clone()), env);
                if no.starts_with("//") {
                    let message = format!("the first text ends at the first colon: it is `{yes}`");
                    self.report_once(
                        Diagnostic::new(&codes::BAD_PLACEHOLDER, at.span(0..inner.len()), message)
                            .severity(codes::Severity::Warning)
                            .help("put texts with colons into `defaults`"),
                    );
                }
            }
            Hole::Item { name, at: position } => {
                self.require(env, name, at.span(0..name.len()));
                let kind = env.arg(name).and_then(|arg| arg.kind.clone());
                if kind.is_some_and(|kind| kind != crate::ir::flow::ValueKind::List) {
                    self.use_name(name, at.span(0..name.len()));
                    let message = format!("`{name}` is declared as something that has no items");
                    self.add(
                        Diagnostic::new(&codes::BAD_PLACEHOLDER, at.span(0..inner.len()), message)
                            .help(format!("declare it as `{name}:array`")),
                    );
                    return None;
                }
                if let holes::At::Name(position, range) = position {
                    self.require(env, position, at.span(range.clone()));
                }
            }
            Hole::Sum { sum, .. } => {
                self.sum_names(sum, inner, env, at);
                self.constant_sum(sum, inner, at);
                self.pad_outside(inner, env, at);
            }
        }
        Some(env.hole(&hole, &|range| at.span(range), self, &mut Vec::new()))
    }

    /// A name of `repeat` that has a default of its own is no less misplaced.
    pub fn not_outside(&mut self, env: &Env<'a>, name: &str, span: Span) {
        if env.repeats == 0 && repeat_name(name).is_some() {
            self.require(env, name, span);
        }
    }

    fn sum_names(&mut self, sum: &Sum<'_>, inner: &str, env: &Env<'a>, at: &Spot<'_, 'a>) {
        let mut names = Vec::new();
        sum.names(&mut names);
        for (name, range) in names {
            let span = at.span(range.clone());
            self.require(env, name, span);
            self.minus(name, range.start, env, at);
            self.minus_behind(name, range, inner, env, at);
            self.no_number(name, env, span);
        }
    }

    /// A value to calculate with whose type has no numbers.
    fn no_number(&mut self, name: &str, env: &Env<'a>, span: Span) {
        let kind = env.arg(name).and_then(|arg| arg.kind.as_ref());
        if kind.is_some_and(|kind| !can_be(kind, &ValueKind::Int, name, span)) {
            let message = format!("`{name}` is declared as something that is no number");
            self.report_once(
                Diagnostic::new(&codes::BAD_PLACEHOLDER, span, message)
                    .help(format!("declare it as `{name}:int`")),
            );
        }
    }

    /// `index-1` is one name to other runners.
    fn minus(&mut self, name: &str, start: usize, env: &Env<'a>, at: &Spot<'_, 'a>) {
        let Some(apart) = env.apart(name, name) else {
            return;
        };
        let mut parts = Vec::new();
        apart.names(&mut parts);
        let first = parts.first().map_or("", |(first, _)| *first);
        if env.repeats == 0 || repeat_name(first).is_none() {
            return;
        }
        let portable = portable(&apart);
        let range = start..start + name.len();
        let edit = at.edit(range.clone(), &portable);
        let span = at.span(range);
        let message = format!("other runners read `{name}` as one name");
        self.report_once(
            Diagnostic::new(&codes::MINUS_IN_NAME, span, message)
                .help(format!("write `{portable}`"))
                .fix_if(fix(
                    Applicability::Safe,
                    format!("write `{portable}`"),
                    [edit],
                )),
        );
    }

    /// So is `index -`, with what follows.
    fn minus_behind(
        &mut self,
        name: &str,
        range: Range<usize>,
        inner: &str,
        env: &Env<'a>,
        at: &Spot<'_, 'a>,
    ) {
        let behind = inner.get(range.end..).unwrap_or_default();
        let minus = behind.trim_start().starts_with('-');
        if !minus || env.repeats == 0 || repeat_name(name).is_none() {
            return;
        }
        let message = format!("other runners take the minus for a part of the name `{name}`");
        let portable = format!("({name})");
        let edit = at.edit(range.clone(), &portable);
        self.report_once(
            Diagnostic::new(&codes::MINUS_IN_NAME, at.span(range), message)
                .help(format!("write `{portable}`"))
                .fix_if(fix(
                    Applicability::Safe,
                    format!("write `{portable}`"),
                    [edit],
                )),
        );
    }

    /// A calculation without names has its result now.
    fn constant_sum(&mut self, sum: &Sum<'_>, inner: &str, at: &Spot<'_, 'a>) {
        let finding = match value(sum) {
            Some(Err(Wrong::Zero)) => Diagnostic::new(
                &codes::DIVISION_BY_ZERO,
                at.span(0..inner.len()),
                "this divides by zero",
            )
            .help("divide by something else"),
            Some(Err(Wrong::Large)) => Diagnostic::new(
                &codes::BAD_PLACEHOLDER,
                at.span(0..inner.len()),
                "the result does not fit into 64 bits",
            )
            .help("calculate with smaller numbers"),
            None if divides_by_zero(sum) => Diagnostic::new(
                &codes::DIVISION_BY_ZERO,
                at.span(0..inner.len()),
                "this divides by zero",
            )
            .help("divide by something else"),
            _ => return,
        };
        self.report_once(finding);
    }

    /// `_index+1` pads first and adds then.
    fn pad_outside(&mut self, inner: &str, env: &Env<'a>, at: &Spot<'_, 'a>) {
        let plain = inner.trim_start_matches('_');
        let pads = inner.len() - plain.len();
        let first = plain
            .find(|c: char| !c.is_ascii_alphanumeric())
            .and_then(|end| plain.get(..end))
            .unwrap_or_default();
        if pads == 0 || env.repeats == 0 || repeat_name(first).is_none() {
            return;
        }
        let meant = format!("{}({plain})", "_".repeat(pads));
        let span = at.span(0..inner.len());
        self.report_once(
            Diagnostic::new(
                &codes::BAD_PLACEHOLDER,
                span,
                "the underscores pad the name, and the result has no zeros in front",
            )
            .help(format!("write `{meant}`"))
            .fix_if(fix(
                Applicability::Safe,
                format!("write `{meant}`"),
                [
                    at.edit(pads..pads, "("),
                    at.edit(inner.len()..inner.len(), ")"),
                ],
            )),
        );
    }

    /// What a placeholder means; if it means nothing, that is said.
    pub fn placeholder<'h>(
        &mut self,
        inner: &'h str,
        at: &Spot<'_, 'a>,
        env: &Env<'a>,
    ) -> Option<Hole<'h>> {
        match holes::hole(inner) {
            Ok(hole) => Some(hole),
            Err(bad) => {
                // That nothing reads the name is no second mistake.
                let text = inner.trim_start();
                let (name, start) = (leading_name(text), inner.len() - text.len());
                if env.arg(name).is_some() {
                    self.use_name(name, at.span(start..start + name.len()));
                }
                self.bad_hole(bad, inner, at);
                None
            }
        }
    }

    /// Says why a placeholder means nothing.
    fn bad_hole(&mut self, bad: Bad, inner: &str, at: &Spot<'_, 'a>) {
        let whole = at.span(0..inner.len());
        let bad_placeholder =
            |message: &str| Diagnostic::new(&codes::BAD_PLACEHOLDER, whole, message);
        let finding = match bad {
            // References to imported recipes are filled in by the host that knows them.
            _ if self.layered && is_reference(inner) => {
                self.foreign.get_or_insert(whole);
                return;
            }
            Bad::Spaced => bad_placeholder("blanks are part of what stands between the braces")
                .help(format!("write `{{{}}}`", inner.trim()))
                .fix_if(without_blanks(inner, at)),
            Bad::Json => literal_json(whole),
            // The quotes around a key are gone when its word is read.
            Bad::UnknownKind(_) if at.begins_quoted() => literal_json(whole),
            Bad::NoColon => bad_placeholder("`?` chooses between two texts, and there is one")
                .help(format!("write `{{{inner}:}}` for nothing otherwise"))
                .fix_if(fix(
                    Applicability::Safe,
                    "add `:`",
                    [at.edit(inner.len()..inner.len(), ":")],
                )),
            Bad::Fallback(range) => Diagnostic::new(
                &codes::BAD_PLACEHOLDER,
                at.span(range),
                "what stands before `??` must be a name",
            )
            .help("pass it as a value of its own"),
            Bad::Condition(range) => Diagnostic::new(
                &codes::BAD_PLACEHOLDER,
                at.span(range),
                "what stands before `?` must be a name, or `!` and a name",
            )
            .help("pass a value that is true or false"),
            Bad::Typed => {
                let sign = inner.find("??");
                let edit = sign.and_then(|sign| at.edit(sign..sign + 2, "="));
                bad_placeholder("a type stands with `=` only")
                    .help("write `{name:type=default}`")
                    .fix_if(fix(Applicability::Safe, "write `=`", [edit]))
            }
            Bad::UnknownKind(range) => {
                let word = inner.get(range.clone()).unwrap_or_default();
                unknown_type(word, at.span(range))
            }
            Bad::EmptyChoice(range) => Diagnostic::new(
                &codes::UNKNOWN_TYPE,
                at.span(range),
                "an `enum` without words allows nothing",
            )
            .help("write the words that are allowed: `enum(a,b)`"),
            Bad::Length => bad_placeholder("`.length` is for `repeat` only")
                .help("pass the number as a value of its own"),
            Bad::Minus => {
                let meant = format!("0{}", inner.trim());
                let start = inner.len() - inner.trim_start().len();
                let edit = at.edit(start..start, "0");
                bad_placeholder("a minus stands between two numbers")
                    .help(format!("write `{{{meant}}}`"))
                    .fix_if(fix(Applicability::Safe, format!("write `{meant}`"), [edit]))
            }
            Bad::Underscores => {
                let underscores = inner.len() - inner.trim_start_matches('_').len();
                let edit = at.edit(6.min(underscores)..underscores, "");
                bad_placeholder("at most 6 underscores ask for zeros")
                    .help("write fewer underscores")
                    .fix_if(fix(Applicability::Unsafe, "write 6 underscores", [edit]))
            }
            Bad::TooLarge(range) => Diagnostic::new(
                &codes::BAD_PLACEHOLDER,
                at.span(range),
                "the number does not fit into 64 bits",
            )
            .help("write a smaller number"),
            Bad::Sum(range) => {
                let place = match range.is_empty() {
                    true => whole,
                    false => at.span(range),
                };
                Diagnostic::new(
                    &codes::BAD_PLACEHOLDER,
                    place,
                    "this is no calculation: numbers, names, `+ - * / %` and parentheses",
                )
                .help("check what stands here")
            }
            Bad::TooMuch(range) => Diagnostic::new(
                &codes::BAD_PLACEHOLDER,
                at.span(range),
                "a calculation has at most 256 operators, and 64 parentheses inside of each other",
            )
            .help("pass the result as a value"),
            Bad::Other => bad_placeholder("this is no placeholder").help(
                "write `{name}`, `{name=default}`, `{name??text}`, `{name?yes:no}` or `{list[0]}`; text \
                 with braces of its own belongs into `defaults`",
            ),
        };
        self.report_once(finding);
    }
}

pub fn literal_json(span: Span) -> Diagnostic {
    let message = "JSON in a command is read as a placeholder, and braces cannot be escaped";
    Diagnostic::new(&codes::LITERAL_JSON, span, message)
        .help("put the document into `defaults` and write `{body}` here")
}

/// A fix that closes a quote where the command ends.
fn closed(text: Text<'_>, quote: &str) -> Option<Fix> {
    let end = text.text().trim_end_matches(['\r', '\n']).len();
    let (command, breaks) = text.text().split_at(end);
    // A backslash before the quote would keep it open.
    split(&format!("{command}{quote}{breaks}"))
        .open_quote
        .is_none()
        .then(|| {
            let edit = text.edit(end..end, quote);
            fix(Applicability::Unsafe, "close it at the end", [edit])
        })
        .flatten()
}

/// A backslash twice, which is what a program is given one of.
fn two_backslashes(text: Text<'_>, at: usize, applicability: Applicability) -> Option<Fix> {
    let edit = text.edit(at..at + 1, "\\\\");
    fix(applicability, "write two backslashes", [edit])
}

fn without_blanks(inner: &str, at: &Spot<'_, '_>) -> Option<Fix> {
    let start = inner.len() - inner.trim_start().len();
    let blanks = [0..start, inner.trim_end().len()..inner.len()];
    let blanks = blanks.into_iter().filter(|blanks| !blanks.is_empty());
    let edits: Option<Vec<Edit>> = blanks.map(|blanks| at.edit(blanks, "")).collect();
    Some(Fix {
        applicability: Applicability::Safe,
        message: "remove the blanks".to_string(),
        edits: edits?,
    })
}

/// `recipe.defaults.name`
pub fn is_reference(inner: &str) -> bool {
    inner.contains('.') && inner.split('.').all(holes::is_name)
}

/// A difference as all runners read it.
fn portable(difference: &Sum<'_>) -> String {
    match difference {
        Sum::Number(int) => int.to_string(),
        Sum::Name(name, _) => format!("({name})"),
        Sum::Two(_, left, right) => format!("{}-{}", portable(left), portable(right)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Zero,
    Large,
}

/// The result of a calculation that has no names in it.
fn value(sum: &Sum<'_>) -> Option<Result<i64, Wrong>> {
    match sum {
        Sum::Number(int) => Some(Ok(*int)),
        Sum::Name(..) => None,
        Sum::Two(op, left, right) => {
            let (left, right) = (value(left)?, value(right)?);
            let (left, right) = match (left, right) {
                (Ok(left), Ok(right)) => (left, right),
                (Err(wrong), _) | (_, Err(wrong)) => return Some(Err(wrong)),
            };
            if right == 0 && matches!(op, Arith::Div | Arith::Rem) {
                return Some(Err(Wrong::Zero));
            }
            let result = op.apply(left, right);
            Some(result.ok_or(Wrong::Large))
        }
    }
}

/// Whether a part of a calculation divides by a zero that stands there.
fn divides_by_zero(sum: &Sum<'_>) -> bool {
    match sum {
        Sum::Number(_) | Sum::Name(..) => false,
        Sum::Two(op, left, right) => {
            matches!(op, Arith::Div | Arith::Rem) && value(right) == Some(Ok(0))
                || divides_by_zero(left)
                || divides_by_zero(right)
        }
    }
}
