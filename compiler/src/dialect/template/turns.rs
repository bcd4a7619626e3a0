//! Numbers of turns that are not what they look like.

use super::Lower;
use super::holes::{Hole, Sum};
use super::names::{Env, repeat_name, turn_names};
use super::spot::{Spot, fix};
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic};
use crate::ir::flow::{Stage, Term, TermKind, Work, stages};
use crate::source::Span;

/// The most underscores that ask for zeros.
const MOST_UNDERSCORES: usize = 6;

impl<'a> Lower<'_, 'a> {
    /// Zeros in front, and numbers of which only the first have room for them.
    pub fn narrow_padding(
        &mut self,
        hole: &Hole<'_>,
        inner: &str,
        env: &Env<'a>,
        at: &Spot<'_, 'a>,
    ) {
        let Some(copies) = env.copies else { return };
        let digits = match hole {
            Hole::Sum { pad, sum, .. } if *pad > 0 => digits(sum, copies),
            Hole::Name { name, .. } => repeat_name(name)
                .filter(|(_, underscores)| *underscores > 0)
                .and_then(|(plain, _)| digits(&Sum::Name(plain, 0..0), copies)),
            _ => None,
        };
        let underscores = inner.bytes().take_while(|byte| *byte == b'_').count();
        let width = underscores + 1;
        let Some((_, most)) = digits.filter(|(least, most)| *least <= width && width < *most)
        else {
            return;
        };
        let message = format!(
            "this has {width} digits at first and {most} in the end: names with it do not sort"
        );
        let wide = "_".repeat(most - 1);
        let meant = format!("{wide}{}", &inner[underscores..]);
        let finding = Diagnostic::new(&codes::NARROW_PADDING, at.span(0..inner.len()), message);
        self.report_once(match wide.len() <= MOST_UNDERSCORES {
            true => finding.help(format!("write `{{{meant}}}`")).fix_if(fix(
                Applicability::Unsafe,
                format!("write `{meant}`"),
                [at.edit(0..underscores, &wide)],
            )),
            false => finding.help("use names that need not sort"),
        });
    }

    /// The number of a `repeat` inside of another one, where nothing reads that of the other one.
    pub fn hidden_turn(&mut self, body: &Stage, repeats: u32) {
        let (inner, _) = turn_names(repeats + 1);
        let around: Vec<String> = (1..=repeats).map(|number| turn_names(number).0).collect();
        let (mut first, mut outer) = (None, false);
        let mut look = |name: &str, span: Span| match name == inner {
            true => first = first.or(Some(span)),
            false => outer |= around.iter().any(|around| around == name),
        };
        stages(body, &mut |stage| {
            terms(stage).for_each(|term| turns(term, &mut look));
        });
        let Some(span) = first.filter(|_| !outer) else {
            return;
        };
        let message = "this counts the inner `repeat`, and nothing reads the number of the outer";
        self.report_once(
            Diagnostic::new(&codes::SHADOWED_VARIABLE, span, message)
                .severity(codes::Severity::Note)
                .help(
                    "keep that one under another name, in a default of the inner node: \
                     `\"defaults\": {\"outer\": \"{index}\"}`",
                ),
        );
    }
}

/// How many digits a calculation has in the turn with the fewest, and in the one with the most;
/// none if that depends on what is given.
fn digits(sum: &Sum<'_>, copies: i64) -> Option<(usize, usize)> {
    let turns = [0, (copies - 2).max(0), copies - 1];
    let mut all = turns.iter().map(|turn| in_turn(sum, *turn, copies));
    let first = all.next()??.to_string().len();
    all.try_fold((first, first), |(least, most), value| {
        let digits = value?.to_string().len();
        Some((least.min(digits), most.max(digits)))
    })
}

fn in_turn(sum: &Sum<'_>, turn: i64, copies: i64) -> Option<i64> {
    match sum {
        Sum::Number(number) => Some(*number),
        Sum::Name("index", _) => Some(turn),
        Sum::Name("prev", _) => Some((turn + copies - 1) % copies),
        Sum::Name("next", _) => Some((turn + 1) % copies),
        Sum::Name("repeat", _) => Some(copies),
        Sum::Name(..) => None,
        Sum::Two(op, left, right) => {
            op.apply(in_turn(left, turn, copies)?, in_turn(right, turn, copies)?)
        }
    }
}

/// Everything that a stage itself works out.
fn terms(stage: &Stage) -> impl Iterator<Item = &Term> {
    let fields = [&stage.guard, &stage.pause, &stage.deadline];
    let tries = stage.tries.as_ref().map(|tries| &tries.most);
    let words = match &stage.work {
        Work::Run { words, .. } => words.as_slice(),
        Work::Times(times) => std::slice::from_ref(&times.count),
        Work::Inside(_) | Work::Seq(_) | Work::Par(_) => &[],
    };
    fields.into_iter().flatten().chain(tries).chain(words)
}

fn turns(term: &Term, visit: &mut dyn FnMut(&str, Span)) {
    match &term.kind {
        TermKind::Turn(name) => visit(name, term.span),
        _ => term.parts().into_iter().for_each(|part| turns(part, visit)),
    }
}
