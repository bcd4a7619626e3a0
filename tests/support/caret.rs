//! Expectations written under the text: `#   ^^^^ error[RRC0201]: nothing defines`.
//!
//! The carets say exactly which characters of the line above a finding covers, the text after the
//! code how its message begins. A `#` makes the line a comment for readers and may be left out
//! where a caret needs its column. One caret also stands for an empty range, and a finding over
//! several lines is underlined on its first.

#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Line in the text without expectations, from 1; columns from 1, the end exclusive.
    pub line: usize,
    pub start: usize,
    pub end: usize,
    pub severity: String,
    pub code: String,
    pub message: String,
}

/// A finding, in lines and columns of the text without expectations.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub line: usize,
    pub start: usize,
    pub end_line: usize,
    pub end: usize,
    pub severity: String,
    pub code: String,
    pub message: String,
}

/// Takes the expectations out of a text: what is left is what `rrc` is shown.
pub fn split(text: &str) -> (String, Vec<Expect>) {
    let mut clean = String::new();
    let mut line = 0;
    let mut expects = Vec::new();
    for written in text.split_inclusive('\n') {
        match expectation(written.trim_end_matches(['\n', '\r']), line) {
            Some(expect) => expects.push(expect),
            None => {
                clean.push_str(written);
                line += 1;
            }
        }
    }
    (clean, expects)
}

fn expectation(written: &str, line: usize) -> Option<Expect> {
    let rest = written.trim_start();
    let rest = rest.strip_prefix('#').unwrap_or(rest).trim_start();
    let carets = rest.chars().take_while(|c| *c == '^').count();
    let before = written.chars().count() - rest.chars().count();
    let words = rest[carets..].strip_prefix(' ').filter(|_| carets > 0)?;
    let (severity, words) = words.trim_start().split_once('[')?;
    let (code, message) = words.split_once(']')?;
    matches!(severity, "error" | "warning" | "note").then(|| Expect {
        line,
        start: before + 1,
        end: before + 1 + carets,
        severity: severity.to_string(),
        code: code.to_string(),
        message: message.trim_start_matches(':').trim().to_string(),
    })
}

/// What is wrong: findings that nothing expects and expectations that nothing meets. Notes may be
/// expected but need not be.
pub fn compare(expects: &[Expect], found: &[Found], text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut met = vec![false; expects.len()];
    for finding in found {
        let underlined = underline(finding, text);
        let meets = |expect: &Expect| {
            (expect.line, expect.start, expect.end) == underlined
                && expect.severity == finding.severity
                && expect.code == finding.code
                && finding.message.starts_with(&expect.message)
        };
        let expect = expects
            .iter()
            .enumerate()
            .find(|(index, expect)| !met[*index] && meets(expect));
        match expect {
            Some((index, _)) => met[index] = true,
            None if finding.severity == "note" => {}
            None => wrong.push(format!(
                "unexpected, on line {} of the block:\n{}\n{}",
                underlined.0,
                text.lines()
                    .nth(underlined.0.saturating_sub(1))
                    .unwrap_or(""),
                written(finding, text),
            )),
        }
    }
    for (expect, _) in expects.iter().zip(&met).filter(|(_, met)| !**met) {
        wrong.push(format!(
            "expected, but not said: line {}, columns {} to {}: {}[{}]: {}",
            expect.line,
            expect.start,
            expect.end - 1,
            expect.severity,
            expect.code,
            expect.message
        ));
    }
    wrong
}

/// Line and columns that stand for a finding: its part on its first line, never empty.
fn underline(finding: &Found, text: &str) -> (usize, usize, usize) {
    let lines: Vec<&str> = text.lines().collect();
    let width = |line: usize| {
        line.checked_sub(1)
            .and_then(|index| lines.get(index))
            .map_or(0, |line| line.trim_end().chars().count())
    };
    // After the last line break there is no line that carets could stand under.
    let (line, start) = match finding.line {
        line if line > lines.len() && !lines.is_empty() => (lines.len(), width(lines.len()) + 1),
        line => (line, finding.start),
    };
    let end = if finding.end_line > line || finding.line != line {
        width(line) + 1
    } else {
        finding.end
    };
    (line, start, end.max(start + 1))
}

/// A finding as an expectation in full, under its line.
pub fn written(finding: &Found, text: &str) -> String {
    let (_, start, end) = underline(finding, text);
    let margin = match start {
        1 => String::new(),
        _ => format!("#{}", " ".repeat(start - 2)),
    };
    format!(
        "{margin}{} {}[{}]: {}",
        "^".repeat(end - start),
        finding.severity,
        finding.code,
        finding.message.lines().next().unwrap_or("")
    )
}

/// The text with the expectations that the findings make true; notes only where one was expected.
pub fn annotate(text: &str, found: &[Found], expected: &[Expect]) -> String {
    let wanted = |finding: &&Found| {
        finding.severity != "note"
            || expected
                .iter()
                .any(|expect| expect.severity == "note" && expect.code == finding.code)
    };
    let mut out = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        out.push_str(line);
        for finding in found.iter().filter(wanted) {
            if underline(finding, text).0 == index + 1 {
                if !out.ends_with('\n') {
                    out.push('\n');
                }
                out.push_str(&written(finding, text));
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
a: {{é}} {{usre}}
#    ^ warning[RRC0304]
#          ^^^^ error[RRC0201]: nothing defines
b: |
  # ^^ not one
  text
    ^^ error[RRC0201]: x
top: 1
^^^ error[RRC0102]: unknown field
";

    fn found(line: usize, start: usize, end: usize, head: &str, message: &str) -> Found {
        let (severity, code) = head.split_once('[').unwrap();
        Found {
            line,
            start,
            end_line: line,
            end,
            severity: severity.to_string(),
            code: code.trim_end_matches(']').to_string(),
            message: message.to_string(),
        }
    }

    fn all() -> Vec<Found> {
        vec![
            found(1, 6, 6, "warning[RRC0304]", "odd"),
            found(1, 12, 16, "error[RRC0201]", "nothing defines `usre`"),
            found(4, 5, 7, "error[RRC0201]", "x"),
            found(5, 1, 4, "error[RRC0102]", "unknown field `top`"),
        ]
    }

    #[test]
    fn expectations_leave_the_text_and_keep_their_place() {
        let (clean, expects) = split(TEXT);
        assert_eq!(
            clean,
            "a: {{é}} {{usre}}\nb: |\n  # ^^ not one\n  text\ntop: 1\n"
        );
        let places: Vec<_> = expects.iter().map(|e| (e.line, e.start, e.end)).collect();
        assert_eq!(places, [(1, 6, 7), (1, 12, 16), (4, 5, 7), (5, 1, 4)]);
        assert_eq!(expects[1].message, "nothing defines");
        assert_eq!(
            (expects[0].code.as_str(), expects[0].message.as_str()),
            ("RRC0304", "")
        );
    }

    #[test]
    fn exactly_what_is_expected_may_be_said() {
        let (clean, expects) = split(TEXT);
        assert_eq!(compare(&expects, &all(), &clean), Vec::<String>::new());
        assert_eq!(compare(&expects, &all()[1..], &clean).len(), 1);
        assert_eq!(compare(&expects[1..], &all(), &clean).len(), 1);
        for change in [
            found(1, 12, 15, "error[RRC0201]", "nothing defines `usre`"),
            found(1, 12, 16, "warning[RRC0201]", "nothing defines `usre`"),
            found(1, 12, 16, "error[RRC0202]", "nothing defines `usre`"),
            found(1, 12, 16, "error[RRC0201]", "something"),
        ] {
            let mut other = all();
            other[1] = change;
            assert_eq!(compare(&expects, &other, &clean).len(), 2);
        }
        let twice: Vec<Found> = all().into_iter().chain([all()[1].clone()]).collect();
        assert_eq!(compare(&expects, &twice, &clean).len(), 1);
    }

    #[test]
    fn notes_need_not_be_expected() {
        let note = found(1, 1, 2, "note[RRC0503]", "m");
        assert!(compare(&[], std::slice::from_ref(&note), "a: 1\n").is_empty());
        let (_, expects) = split("a: 1\n^ note[RRC0503]: m\n");
        assert!(compare(&expects, &[note], "a: 1\n").is_empty());
        assert_eq!(compare(&expects, &[], "a: 1\n").len(), 1);
    }

    #[test]
    fn long_and_last_findings_have_a_place() {
        let text = "ab: [\n  1\n";
        let mut long = found(1, 5, 2, "error[RRC0004]", "m");
        long.end_line = 3;
        assert_eq!(underline(&long, text), (1, 5, 6));
        assert_eq!(
            underline(&found(3, 1, 1, "error[RRC0004]", "m"), text),
            (2, 4, 5)
        );
        assert_eq!(
            underline(&found(1, 1, 1, "error[RRC0004]", "m"), ""),
            (1, 1, 2)
        );
    }

    #[test]
    fn what_is_annotated_is_met() {
        let (clean, expects) = split(TEXT);
        let text = annotate(&clean, &all(), &expects);
        let (again, expects) = split(&text);
        assert_eq!(again, clean);
        assert!(compare(&expects, &all(), &clean).is_empty());
    }
}
