//! What to write instead, for the findings about holes.
//!
//! Only edits that are easy and certain; for the rest the help says what to do by hand.

use super::position::{Place, Position, Quote, Refusal, Repair, Use};
use super::scan::Source;
use super::{HoleAt, compile};
use crate::diagnostic::Applicability;
use rrc_vm::shell::is_posix;

/// A repair for a hole that was refused.
pub(super) fn refused(
    text: &str,
    at: &HoleAt,
    why: Refusal,
    position: &Position,
) -> Option<Repair> {
    match why {
        Refusal::Dollar => {
            let dollar = at.range.start.checked_sub(1)?;
            // Inside backticks the backslash would need one of its own.
            (position.backticks == 0 && text.get(dollar..at.range.start) == Some("$")).then(|| {
                Repair {
                    applicability: Applicability::Unsafe,
                    message: "write a literal dollar sign".to_owned(),
                    edits: vec![(dollar..dollar, "\\".to_owned())],
                }
            })
        }
        Refusal::OneWordOnly => {
            let written = text.get(at.range.clone())?;
            Some(Repair {
                applicability: Applicability::Unsafe,
                message: "remove the filter".to_owned(),
                edits: vec![(at.range.clone(), written.replacen("|words", "", 1))],
            })
        }
        _ => None,
    }
}

/// `{{x}}` as `{{x|words}}`.
pub(super) fn words_filter(at: &HoleAt, written: &str) -> Option<Repair> {
    let inner = written.strip_suffix("}}")?;
    Some(Repair {
        applicability: Applicability::Unsafe,
        message: "split the value into words".to_owned(),
        edits: vec![(at.range.clone(), format!("{inner}|words}}}}"))],
    })
}

/// How to hand a value to this program without making it source. In a heredoc it would be the
/// argument of this number.
pub(super) fn as_argument(program: &str, written: &str, heredoc: Option<usize>) -> String {
    if let Some(number) = heredoc {
        let more = if number > 1 { "… " } else { "" };
        return match program {
            _ if is_posix(program) => format!(
                "pass it as an argument: `{program} -s -- {more}{written} <<'EOF'`, and read it \
                 as \"${number}\""
            ),
            _ if program.starts_with("python") => format!(
                "pass it as an argument: `{program} - {more}{written} <<'EOF'`, and read it as \
                 sys.argv[{number}]"
            ),
            _ => {
                "pass it as an argument or through the environment, apart from the text".to_owned()
            }
        };
    }
    match program {
        _ if is_posix(program) => {
            format!("pass it as an argument: `{program} -c '… \"$1\" …' _ {written}`")
        }
        "jq" | "gojq" => format!("pass it as an argument: `{program} --arg x {written} '… $x …'`"),
        "awk" | "gawk" | "mawk" | "nawk" => {
            format!("pass it through the environment: `x={written} {program} '… ENVIRON[\"x\"] …'`")
        }
        "node" => format!("pass it as an argument: `node -e '… process.argv[1] …' {written}`"),
        "perl" => format!("pass it as an argument: `perl -e '… $ARGV[0] …' {written}`"),
        "ruby" => format!("pass it as an argument: `ruby -e '… ARGV[0] …' {written}`"),
        "php" => format!("pass it as an argument: `php -r '… $argv[1] …' {written}`"),
        "eval" => "call the command directly, without `eval`".to_owned(),
        "sed" | "gsed" => {
            "use a program that takes values apart from its text, such as `awk` or bash's own \
             `${x//…/…}`"
                .to_owned()
        }
        _ if program.starts_with("python") => {
            format!("pass it as an argument: `{program} -c '… sys.argv[1] …' {written}`")
        }
        _ => "pass it as an argument or through the environment, apart from the text".to_owned(),
    }
}

/// A repair that passes the values in one piece of source as arguments.
pub(super) fn in_program(
    text: &str,
    holes: &[HoleAt],
    hole: usize,
    sources: &[Source],
) -> Option<Repair> {
    let source = sources.iter().find(|source| source.holes.contains(&hole))?;
    // Nine arguments at most have a plain `$1`, and more holes than that want a file of their own.
    if source.holes.len() > 9 {
        return None;
    }
    let inner = source.range.start + 1..source.range.end.checked_sub(1)?;
    let program = text.get(inner.clone())?;
    let quoted = text.get(source.range.clone())?;
    if !quoted.starts_with('\'') || !quoted.ends_with('\'') || program.contains('\'') {
        return None;
    }
    match source.program.as_str() {
        shell if is_posix(shell) && source.last => {
            shell_arguments(text, holes, source, program, inner.start)
        }
        "jq" => jq_arguments(text, holes, source, program, inner.start),
        _ => None,
    }
}

fn shell_arguments(
    text: &str,
    holes: &[HoleAt],
    source: &Source,
    program: &str,
    start: usize,
) -> Option<Repair> {
    let positional =
        |pair: &[u8]| pair[0] == b'$' && matches!(pair[1], b'0'..=b'9' | b'@' | b'*' | b'#' | b'{');
    if program.as_bytes().windows(2).any(positional) {
        return None;
    }
    let inside: Vec<HoleAt> = source
        .holes
        .iter()
        .filter_map(|hole| holes.get(*hole))
        .map(|at| HoleAt {
            range: at.range.start.saturating_sub(start)..at.range.end.saturating_sub(start),
            ..at.clone()
        })
        .collect();
    let script = compile(program, &inside);
    let mut edits = Vec::new();
    let mut arguments = String::from(" _");
    for (index, (position, hole)) in script.positions.iter().zip(&source.holes).enumerate() {
        let at = holes.get(*hole)?;
        let argument = match (position.reach, position.quote, position.place) {
            (Use::Env, _, Place::Command) => return None,
            (Use::Env, Quote::Bare, _) => format!("\"${{{}}}\"", index + 1),
            (Use::Env, Quote::Double, _) => format!("${{{}}}", index + 1),
            _ => return None,
        };
        edits.push((at.range.clone(), argument));
        arguments.push(' ');
        arguments.push_str(text.get(at.range.clone())?);
    }
    edits.push((source.range.end..source.range.end, arguments));
    Some(Repair {
        applicability: Applicability::Unsafe,
        message: "pass the value as an argument".to_owned(),
        edits,
    })
}

fn jq_arguments(
    text: &str,
    holes: &[HoleAt],
    source: &Source,
    program: &str,
    start: usize,
) -> Option<Repair> {
    let mut edits = Vec::new();
    let mut arguments = String::new();
    for (index, hole) in source.holes.iter().enumerate() {
        let range = &holes.get(*hole)?.range;
        let open = range.start.checked_sub(1)?;
        let before = text.get(start..open)?;
        // Only a hole that is a whole string of its own can become a variable.
        let string = text.get(open..range.start) == Some("\"")
            && text.get(range.end..range.end + 1) == Some("\"")
            && !before.contains('\\')
            && before.matches('"').count() % 2 == 0;
        let name = format!("value{}", index + 1);
        if !string || program.contains(&format!("${name}")) {
            return None;
        }
        edits.push((open..range.end + 1, format!("${name}")));
        arguments.push_str(&format!("--arg {name} {} ", text.get(range.clone())?));
    }
    edits.insert(0, (source.range.start..source.range.start, arguments));
    Some(Repair {
        applicability: Applicability::Unsafe,
        message: "pass the value as an argument".to_owned(),
        edits,
    })
}
