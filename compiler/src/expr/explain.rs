//! What to say about a token that cannot stand where it stands.
//!
//! One finding per condition, on the offending token alone, with what the author most likely
//! meant. It reads tokens only; there is no tree when it is asked.

use super::foreign::{filtered, in_braces};
use super::holes::scan;
use super::tokens::{Kind, Token, bad};
use super::{BareWords, Problem};
use chumsky::span::SimpleSpan;
use std::ops::Range;

struct Place<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// The token that was not expected; one past the last at the end of the text.
    at: usize,
}

pub(super) fn explain(text: &str, tokens: &[Token], at: usize, bare: BareWords) -> Problem {
    let place = Place { text, tokens, at };
    match tokens.get(at) {
        Some((kind, span)) => place.token(*kind, *span, bare),
        None => place.end(),
    }
}

impl Place<'_> {
    fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.0)
    }

    fn before(&self, steps: usize) -> Option<Kind> {
        self.kind(self.at.checked_sub(steps)?)
    }

    fn written(&self, at: usize) -> &str {
        self.tokens
            .get(at)
            .map_or("", |token| &self.text[token.1.into_range()])
    }

    /// The text from one token to another, both included.
    fn range(&self, from: usize, to: usize) -> Range<usize> {
        self.tokens[from].1.start..self.tokens[to].1.end
    }

    /// The text ends too early.
    fn end(&self) -> Problem {
        let Some(last) = self.at.checked_sub(1) else {
            return bad(
                SimpleSpan::from(0..self.text.len()),
                "the condition holds no value",
            )
            .help("write a value or a comparison");
        };
        let (kind, span) = self.tokens[last];
        if (kind.ends_value() || kind == Kind::Comma)
            && let Some((open, close)) = self.innermost_open()
        {
            return self.unclosed(open, close);
        }
        let written = self.written(last);
        match kind {
            Kind::Open | Kind::ListOpen => {
                self.unclosed(last, if kind == Kind::Open { ")" } else { "]" })
            }
            Kind::Dot => bad(span, "a name is missing after `.`")
                .help("name a field or a method, or remove the dot"),
            _ => bad(span, format!("a value is missing after `{written}`"))
                .help(format!("add what `{written}` is to work on, or remove it")),
        }
    }

    fn unclosed(&self, open: usize, close: &str) -> Problem {
        let end = self.text.trim_end().len();
        let written = self.written(open);
        bad(
            self.tokens[open].1,
            format!("this `{written}` is never closed"),
        )
        .help(format!("add `{close}`"))
        .risky(end..end, close)
    }

    fn token(&self, kind: Kind, span: SimpleSpan, bare: BareWords) -> Problem {
        let written = self.written(self.at);
        let after_value = self.before(1).is_some_and(Kind::ends_value);
        if self.before(1) == Some(Kind::Dot) {
            return self.after_dot(kind, span);
        }
        if self.at == 1 && self.tokens[0].0 == Kind::Name && self.written(0) == "if" {
            return bad(self.tokens[0].1, "`if` is no part of a condition")
                .help("leave it out")
                .risky(0..span.start, "");
        }
        if self.before(1) == Some(Kind::Not) && self.before(2).is_some_and(Kind::ends_value) {
            return bad(
                self.tokens[self.at - 1].1,
                "`not` stands between two values",
            )
            .help("write `not in`, `and not` or `!=`");
        }
        match kind {
            Kind::UnclosedText => self.unclosed_text(span),
            Kind::BadHole => self.bad_hole(span),
            Kind::Stray => self.stray(span, after_value, bare),
            Kind::Name if after_value => self.word(span, bare),
            Kind::Number if after_value && written.starts_with('-') => arithmetic(span, "-"),
            Kind::Close | Kind::ListClose => self.close(span),
            Kind::Comma if after_value => self.comma(span, bare),
            Kind::Not if after_value => bad(span, "`not` stands between two values")
                .help("write `not in`, `and not` or `!=`"),
            Kind::Bang if after_value => {
                bad(span, "`!` stands between two values").help("write `!=` or `and not`")
            }
            kind if kind.compares() && after_value => self.chained(span),
            Kind::Open if after_value => bad(span, "only functions and methods can be called")
                .help("the functions are `int`, `str`, `len`, `bool`, `float`, `min` and `max`"),
            Kind::Text if after_value && self.touches_text() => bad(
                span,
                format!("an operator is missing before {}", quoted(written)),
            )
            .help("write `\\'` for a quote inside quoted text"),
            _ if after_value => bad(
                span,
                format!("an operator is missing before {}", quoted(written)),
            )
            .help("join two values with `==`, `!=`, `<`, `>`, `in`, `and` or `or`"),
            _ => {
                let problem = bad(
                    span,
                    format!("a value is missing before {}", quoted(written)),
                );
                match self.at.checked_sub(1) {
                    _ if bare == BareWords::Text && written.starts_with(char::is_alphabetic) => {
                        problem.help(format!("put `{written}` into quotes if it is text"))
                    }
                    Some(last) => problem.help(format!(
                        "add a value between `{}` and `{written}`, or remove one of them",
                        self.written(last)
                    )),
                    None => problem.help(format!("add a value before `{written}`, or remove it")),
                }
            }
        }
    }

    fn touches_text(&self) -> bool {
        self.at > 0
            && self.tokens[self.at - 1].0 == Kind::Text
            && self.tokens[self.at - 1].1.end == self.tokens[self.at].1.start
    }

    fn after_dot(&self, kind: Kind, span: SimpleSpan) -> Problem {
        let written = self.written(self.at);
        if kind == Kind::Number && self.before(2) == Some(Kind::Number) {
            let first = self.at - 2;
            let whole = self.range(first, self.at);
            return bad(
                span,
                format!("`{}` is not a number", &self.text[whole.clone()]),
            )
            .help("put it into quotes if it is text, such as a version")
            .risky(whole.clone(), format!("'{}'", &self.text[whole]));
        }
        if kind == Kind::Number && !written.contains(['.', 'e', 'E']) {
            let dot = self.tokens[self.at - 1].1.start;
            return bad(span, format!("`{written}` is not the name of a field"))
                .help(format!("write `[{written}]` for an item of a list"))
                .risky(dot..span.end, format!("[{written}]"));
        }
        bad(
            span,
            format!("a name is missing before {}", quoted(written)),
        )
        .help("name a field or a method after `.`")
    }

    fn bad_hole(&self, span: SimpleSpan) -> Problem {
        let written = self.written(self.at);
        if written.ends_with("}}") && written.len() > 3 {
            let problem = bad(span, format!("{} is not a hole", quoted(written)));
            if let Some(meant) = in_braces(&written[2..written.len() - 2]) {
                return problem
                    .help(format!("a hole holds one path: write `{meant}`"))
                    .risky(span.into_range(), meant);
            }
            return problem.help(
                "a hole holds one path, such as `{{name}}`, `{{name.field}}` or `{{name[0]}}`",
            );
        }
        let problem = bad(span, "these braces never close").help("a hole ends with `}}`");
        let slip = scan(&self.text[span.start..]).problems.into_iter().next();
        match slip
            .filter(|slip| slip.range.start == 0)
            .and_then(|slip| slip.fix)
        {
            Some(fix) => problem.risky(
                span.start + fix.range.start..span.start + fix.range.end,
                fix.text,
            ),
            None => problem,
        }
    }

    fn unclosed_text(&self, span: SimpleSpan) -> Problem {
        let quote = &self.text[span.start..span.start + 1];
        bad(
            SimpleSpan::from(span.start..span.start + 1),
            format!("the text that starts with this `{quote}` never ends"),
        )
        .help(format!("add `{quote}` where the text ends"))
    }

    /// A word where an operator should be.
    fn word(&self, span: SimpleSpan, bare: BareWords) -> Problem {
        let written = self.written(self.at);
        let problem = bad(span, format!("`{written}` is not an operator"));
        match written.to_lowercase().as_str() {
            "is" => self.is(problem),
            "contains" | "includes" | "has" => self.contains(problem),
            "starts" | "startswith" | "starts_with" => self.at_an_end(problem, "startswith"),
            "ends" | "endswith" | "ends_with" => self.at_an_end(problem, "endswith"),
            "matches" | "like" | "match" => problem.help(
                "there are no patterns; use `in`, `.startswith(…)` or `.endswith(…)`, \
                 or match in a step",
            ),
            "if" | "else" | "elif" | "then" | "unless" => {
                problem.help("a condition is one question; join several with `and` and `or`")
            }
            "eq" | "equals" => problem.help("write `==`").risky(span.into_range(), "=="),
            "ne" | "neq" => problem.help("write `!=`").risky(span.into_range(), "!="),
            "lt" => problem.help("write `<`").risky(span.into_range(), "<"),
            "le" | "lte" => problem.help("write `<=`").risky(span.into_range(), "<="),
            "gt" => problem.help("write `>`").risky(span.into_range(), ">"),
            "ge" | "gte" => problem.help("write `>=`").risky(span.into_range(), ">="),
            "xor" => problem.help("write `!=` between two truths"),
            "and" | "or" | "in" | "not" => problem.help(format!(
                "write `{}`, with a value after it",
                written.to_lowercase()
            )),
            _ => {
                let last = self.tokens[self.at - 1];
                let problem = bad(span, format!("an operator is missing before `{written}`"));
                if last.0 == Kind::Number && last.1.end == span.start {
                    problem.help("a name does not begin with a digit; quote it if it is text")
                } else if bare == BareWords::Text && last.0 == Kind::Name {
                    problem.help("put text of several words into quotes")
                } else {
                    problem.help("join two values with `==`, `!=`, `<`, `>`, `in`, `and` or `or`")
                }
            }
        }
    }

    /// `x is None`, `x is not None`, `x is defined`, `x is y`.
    fn is(&self, problem: Problem) -> Problem {
        let not = self.kind(self.at + 1) == Some(Kind::Not);
        let last = self.at + 1 + usize::from(not);
        let left = self.value_before(self.at);
        let word = self.written(last).to_lowercase();
        let defined = word == "defined";
        // Whether it asks that there be a value.
        let negated = not != defined;
        let null = matches!(word.as_str(), "none" | "null" | "empty" | "undefined");
        if !null && !defined {
            let meant = if not { "!=" } else { "==" };
            let to = if not { self.at + 1 } else { self.at };
            return problem
                .help(format!("write `{meant}`"))
                .risky(self.range(self.at, to), meant);
        }
        let Some(left) = left else {
            return problem.help("compare with `== null` or `!= null`");
        };
        let shown = &self.text[self.range(left, self.at - 1)];
        let alone = left == 0
            || matches!(
                self.tokens[left - 1].0,
                Kind::And | Kind::Or | Kind::Not | Kind::Bang | Kind::Open | Kind::Comma
            );
        // What is defined may be false.
        let meant = match (defined, negated) {
            (true, true) => format!("{shown} != null"),
            (true, false) => format!("{shown} == null"),
            (false, true) => shown.to_string(),
            (false, false) => format!("not {shown}"),
        };
        let help = if defined {
            format!("write `{meant}`")
        } else if negated {
            format!("write `{meant}`, or `{shown} != null` if only null matters")
        } else {
            format!("write `{meant}`, or `{shown} == null` if only null matters")
        };
        let problem = problem.help(help);
        if alone {
            problem.risky(self.range(left, last), meant)
        } else {
            problem
        }
    }

    /// `x contains 'a'`.
    fn contains(&self, problem: Problem) -> Problem {
        let part = self.kind(self.at + 1).filter(|kind| {
            kind.ends_value()
                && !self
                    .kind(self.at + 2)
                    .is_some_and(|next| matches!(next, Kind::Dot | Kind::Open | Kind::ListOpen))
        });
        match (self.value_before(self.at), part) {
            (Some(left), Some(_)) => {
                let whole = &self.text[self.range(left, self.at - 1)];
                let meant = format!("{} in {whole}", self.written(self.at + 1));
                problem
                    .help(format!("write `{meant}`"))
                    .risky(self.range(left, self.at + 1), meant)
            }
            _ => problem.help("write the part first: `part in whole`"),
        }
    }

    /// `x starts with 'a'`.
    fn at_an_end(&self, problem: Problem, method: &str) -> Problem {
        let with = self.written(self.at + 1).eq_ignore_ascii_case("with");
        let part = self.at + 1 + usize::from(with);
        let problem = match with {
            true => {
                let both = self.range(self.at, self.at + 1);
                let message = format!("`{}` is not an operator", &self.text[both.clone()]);
                bad(SimpleSpan::from(both), message)
            }
            false => problem,
        };
        match (self.value_before(self.at), self.kind(part)) {
            (Some(left), Some(Kind::Text | Kind::Hole)) => {
                let whole = &self.text[self.range(left, self.at - 1)];
                let meant = format!("{whole}.{method}({})", self.written(part));
                problem
                    .help(format!("write `{meant}`"))
                    .risky(self.range(left, part), meant)
            }
            _ => problem.help(format!("write `.{method}('…')` behind the value")),
        }
    }

    fn chained(&self, span: SimpleSpan) -> Problem {
        let problem = bad(
            span,
            format!("`{}` is a second comparison", self.written(self.at)),
        );
        let literal = self.before(1).is_none_or(|kind| {
            matches!(
                kind,
                Kind::Text | Kind::Number | Kind::True | Kind::False | Kind::Null
            )
        });
        match self.value_before(self.at).filter(|_| !literal) {
            Some(left) => {
                let middle = &self.text[self.range(left, self.at - 1)];
                problem
                    .help(format!(
                        "comparisons do not chain: write `and {middle}` before it, \
                         or parentheses around the first"
                    ))
                    .risky(span.start..span.start, format!("and {middle} "))
            }
            None => problem.help(
                "comparisons do not chain: join two with `and`, or put parentheses around the first",
            ),
        }
    }

    fn close(&self, span: SimpleSpan) -> Problem {
        let written = self.written(self.at);
        match self.innermost_open() {
            None => bad(
                span,
                format!("nothing is open that this `{written}` could close"),
            )
            .help("remove it")
            .risky(span.into_range(), ""),
            Some((open, close)) if close != written => {
                let opened = self.written(open);
                bad(span, format!("`{written}` does not close `{opened}`"))
                    .help(format!("write `{close}`"))
                    .risky(span.into_range(), close)
            }
            Some((open, _)) if open + 1 == self.at => {
                let between = if written == ")" {
                    "parentheses"
                } else {
                    "brackets"
                };
                bad(span, format!("there is no value in the {between}")).help("put one there")
            }
            _ => {
                let last = self.written(self.at - 1);
                bad(span, format!("a value is missing before `{written}`"))
                    .help(format!("add what `{last}` is to work on, or remove it"))
            }
        }
    }

    /// A comma outside a list or a call.
    fn comma(&self, span: SimpleSpan, bare: BareWords) -> Problem {
        let problem = bad(span, "`,` separates nothing here");
        match self.innermost_open() {
            Some((open, ")")) => {
                let problem = problem.help("a list is written in `[` and `]`");
                match self.closing(open) {
                    Some(close) => {
                        let inside =
                            &self.text[self.tokens[open].1.end..self.tokens[close].1.start];
                        problem.risky(self.range(open, close), format!("[{inside}]"))
                    }
                    None => problem,
                }
            }
            Some(_) => problem.help("an index holds one value"),
            None => match self.items(bare) {
                Some((range, list)) => problem
                    .help(format!("a list is written in `[` and `]`: `{list}`"))
                    .risky(range, list),
                None => problem.help("join two conditions with `and` or `or`"),
            },
        }
    }

    /// `in 'a', 'b'`: what would be a list in brackets.
    fn items(&self, bare: BareWords) -> Option<(Range<usize>, String)> {
        let first = self.at.checked_sub(1)?;
        let item = |at: usize| {
            let written = self.written(at);
            match self.kind(at)? {
                Kind::Name if bare == BareWords::Text => Some(format!("'{written}'")),
                Kind::Text | Kind::Number | Kind::Name | Kind::Hole => Some(written.to_string()),
                _ => None,
            }
        };
        let mut items = vec![item(first).filter(|_| self.before(2) == Some(Kind::In))?];
        let mut last = first;
        while self.kind(last + 1) == Some(Kind::Comma) {
            items.push(item(last + 2)?);
            last += 2;
        }
        Some((self.range(first, last), format!("[{}]", items.join(", "))))
    }

    /// A character or operator that no condition holds.
    fn stray(&self, span: SimpleSpan, after_value: bool, bare: BareWords) -> Problem {
        let written = self.written(self.at);
        let problem = bad(span, format!("`{written}` has no meaning in a condition"));
        if written == "-"
            && let Some(problem) = self.option(span, after_value)
        {
            return problem;
        }
        match written {
            "+" | "-" | "*" | "/" | "%" | "**" | "//" | "+=" | "-=" => arithmetic(span, written),
            "?" | ":" | "??" => {
                problem.help("a condition is one question; join several with `and` and `or`")
            }
            "=" | ":=" if after_value => problem.help("write `==`, with a value after it"),
            "|" if after_value && self.kind(self.at + 1) == Some(Kind::Name) => {
                self.filter(problem)
            }
            "&" | "|" => problem.help(format!("write `{written}{written}` between two conditions")),
            "=~" | "!~" | "~" => problem.help(
                "there are no patterns; use `in`, `.startswith(…)` or `.endswith(…)`, \
                 or match in a step",
            ),
            "$" | "{" | "}" => problem.help(match bare {
                BareWords::Text => "a variable is written `{{name}}`",
                BareWords::Variables => "a variable is its bare name: `name`",
            }),
            ";" => problem.help("join two conditions with `and` or `or`"),
            "‘" | "’" | "“" | "”" | "`" => problem.help("text is quoted with `'` or `\"`"),
            "#" => problem.help("a condition holds no comments; write them in the file"),
            _ => problem.help("put text into quotes"),
        }
    }

    /// `x -gt 1` and `-f file`: a test of the shell.
    fn option(&self, span: SimpleSpan, after_value: bool) -> Option<Problem> {
        let (kind, word) = *self.tokens.get(self.at + 1)?;
        let blank = self.text[..span.start].ends_with([' ', '[', '(', '!']) || span.start == 0;
        // What it asks about follows; `-x` alone is a number below nothing.
        let next = self.kind(self.at + 2)?;
        let works = next.starts_value() || matches!(next, Kind::Stray | Kind::Dot);
        if word.start != span.end || !blank || !works {
            return None;
        }
        let both = span.start..word.end;
        let written = &self.text[both.clone()];
        let meant = match written {
            "-eq" => "==",
            "-ne" => "!=",
            "-lt" => "<",
            "-le" => "<=",
            "-gt" => ">",
            "-ge" => ">=",
            "-a" => "and",
            "-o" => "or",
            _ => "",
        };
        // A bare word before it may be the `test` of the shell.
        if !meant.is_empty() && after_value {
            let message = format!("`{written}` is an operator of the shell");
            return Some(
                bad(SimpleSpan::from(both.clone()), message)
                    .help(format!("write `{meant}`"))
                    .risky(both, meant),
            );
        }
        let begins = self.at == 0 || self.before(1) == Some(Kind::ListOpen);
        let tests =
            begins || self.written(self.at - 1) == "test" || self.before(1) == Some(Kind::Bang);
        let letter = kind == Kind::Name && written.len() == 2;
        (tests && letter).then(|| {
            let problem = bad(
                SimpleSpan::from(both),
                format!("`{written}` is a test of the shell, which does not read conditions"),
            );
            problem.help(match written {
                "-z" => "write `not` before the value, and no brackets",
                "-n" => "write the value alone, without brackets",
                _ => "test it in a step, and ask for what the step gives",
            })
        })
    }

    /// `x | length`.
    fn filter(&self, problem: Problem) -> Problem {
        let name = self.at + 1;
        let called = self.kind(name + 1) == Some(Kind::Open);
        let first = self.value_before(self.at).filter(|_| !called);
        let meant = first.and_then(|first| {
            let value = &self.text[self.range(first, self.at - 1)];
            Some((first, filtered(value, self.written(name))?))
        });
        match meant {
            Some((first, meant)) => problem
                .help(format!("conditions have no filters: write `{meant}`"))
                .risky(self.range(first, name), meant),
            None if matches!(self.written(name), "default" | "d") => problem.help(
                "conditions have no filters: give the variable a value under `context` instead",
            ),
            None => problem.help(
                "conditions have no filters: compute the value in a step, or write `||` between \
                 two conditions",
            ),
        }
    }

    /// Where the innermost bracket open at this place stands, and what closes it.
    fn innermost_open(&self) -> Option<(usize, &'static str)> {
        let mut open = Vec::new();
        for (at, token) in self.tokens[..self.at].iter().enumerate() {
            match token.0 {
                Kind::Open => open.push((at, ")")),
                Kind::ListOpen => open.push((at, "]")),
                Kind::Close | Kind::ListClose => {
                    open.pop();
                }
                _ => {}
            }
        }
        open.pop()
    }

    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        for (at, token) in self.tokens.iter().enumerate().skip(open) {
            match token.0 {
                Kind::Open | Kind::ListOpen => depth += 1,
                Kind::Close | Kind::ListClose => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    fn opening(&self, close: usize) -> Option<usize> {
        let mut depth = 0;
        for at in (0..=close).rev() {
            match self.tokens[at].0 {
                Kind::Close | Kind::ListClose => depth += 1,
                Kind::Open | Kind::ListOpen => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// The first token of the value that ends just before `at`, with its chain of links.
    fn value_before(&self, at: usize) -> Option<usize> {
        let mut first = at.checked_sub(1)?;
        loop {
            let kind = self.tokens[first].0;
            if matches!(kind, Kind::Close | Kind::ListClose) {
                first = self.opening(first)?;
                if first > 0 && hangs(self.tokens[first - 1].0, kind) {
                    first -= 1;
                    continue;
                }
            } else if !kind.ends_value() {
                return None;
            }
            match first.checked_sub(2) {
                Some(receiver) if self.tokens[first - 1].0 == Kind::Dot => first = receiver,
                _ => return Some(first),
            }
        }
    }
}

/// Whether a bracket that `close` closes belongs to the value before it.
fn hangs(before: Kind, close: Kind) -> bool {
    match close {
        Kind::Close => before == Kind::Name,
        _ => before.ends_value(),
    }
}

fn arithmetic(span: SimpleSpan, written: &str) -> Problem {
    bad(
        span,
        format!("`{written}` is arithmetic, which conditions do not have"),
    )
    .help("compute the number in a step and test its output")
}

/// The user's word, cut where it would fill the line.
fn quoted(written: &str) -> String {
    let line = written.split('\n').next().unwrap_or_default();
    match line.char_indices().nth(40) {
        Some((cut, _)) => format!("`{}…`", &line[..cut]),
        None => format!("`{line}`"),
    }
}
