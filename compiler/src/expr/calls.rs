//! Which calls can be made, and the last checks on a tree that parsed.
//!
//! Names of functions and methods, numbers of arguments, names with `__`, text that pretends to
//! hold holes. Types and variables are checked elsewhere.

use super::ast::{Arity, Expr, ExprKind, Function, Method};
use super::holes::{Piece, has_braces, scan};
use super::{BareWords, Problem};
use crate::codes;
use crate::diagnostic::{Applicability, nearest};
use std::ops::Range;

fn has_dunder(name: &str) -> bool {
    name.as_bytes().windows(2).any(|two| two == b"__")
}

/// Turns calls into what they call, and says what is wrong with those that call nothing.
pub(super) fn settle(text: &str, bare: BareWords, tree: &mut Expr, problems: &mut Vec<Problem>) {
    Settling {
        text,
        bare,
        problems,
    }
    .expr(tree, false);
}

struct Settling<'a> {
    text: &'a str,
    bare: BareWords,
    problems: &'a mut Vec<Problem>,
}

impl Settling<'_> {
    /// `operand`: whether the node stands where `a in b` would need parentheses.
    fn expr(&mut self, expr: &mut Expr, operand: bool) {
        let joins = matches!(
            expr.kind,
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_)
        );
        for child in expr.children_mut() {
            self.expr(child, !joins);
        }
        match &expr.kind {
            ExprKind::Text(_) => self.pasted(&expr.range),
            ExprKind::Name(name) if has_dunder(name) => self.dunder(name, &expr.range),
            ExprKind::Field { field, name, .. } if has_dunder(field) => self.dunder(field, name),
            ExprKind::Index { index, .. } => match &index.kind {
                ExprKind::Text(key) if has_dunder(key) => self.dunder(key, &index.range),
                _ => {}
            },
            ExprKind::Unknown { .. } => self.call(expr, operand),
            _ => {}
        }
    }

    fn dunder(&mut self, name: &str, range: &Range<usize>) {
        self.problems.push(
            Problem::new(
                range.clone(),
                &codes::BAD_CONDITION,
                format!("`{name}` holds `__`, which conditions do not allow in names"),
            )
            .help("name it in a hole, where `__` is allowed, or choose another name"),
        );
    }

    /// Quoted text with a hole and more in it: no value is put there.
    fn pasted(&mut self, range: &Range<usize>) {
        let inside = range.start + 1..range.end.saturating_sub(1);
        // Parentheses around the text belong to its range; they hold no braces.
        let Some(written) = self.text.get(inside.clone()) else {
            return;
        };
        if !has_braces(written) {
            return;
        }
        let holes = scan(written);
        let moved = |range: &Range<usize>| range.start + inside.start..range.end + inside.start;
        let first = holes.pieces.iter().find_map(|piece| match piece {
            Piece::Hole(hole) => Some(moved(&hole.range)),
            Piece::Literal(_) => None,
        });
        if let Some(range) = first {
            let shown = &self.text[range.clone()];
            // Where bare words are variables, such text has always been compared as it is written;
            // where they are text, it has never been accepted.
            let code = match self.bare {
                BareWords::Text => &codes::BAD_CONDITION,
                BareWords::Variables => &codes::NOT_A_HOLE,
            };
            self.problems.push(
                Problem::new(
                    range,
                    code,
                    format!("`{shown}` inside other text is not filled in"),
                )
                .help(
                    "conditions work on values, never on text pasted together: compare the hole \
                     alone, or build the text in a step",
                ),
            );
        }
        for mut problem in holes.problems {
            if problem.code == &codes::NOT_A_HOLE {
                problem.range = moved(&problem.range);
                if let Some(fix) = &mut problem.fix {
                    fix.range = moved(&fix.range);
                }
                self.problems.push(problem);
            }
        }
    }

    fn call(&mut self, expr: &mut Expr, operand: bool) {
        let ExprKind::Unknown {
            receiver,
            written,
            name,
            args,
        } = &mut expr.kind
        else {
            return;
        };
        let (function, method) = match receiver {
            None => (Function::find(written), None),
            Some(_) => (None, Method::find(written)),
        };
        let arity = function
            .map(Function::arity)
            .or(method.map(Method::arity))
            .filter(|arity| !arity.allows(args.len()));
        if let Some(arity) = arity {
            let problem = wrong_arguments(written, name.clone(), arity, args.len());
            self.problems.push(problem);
            return;
        }
        let name = name.clone();
        let args = std::mem::take(args);
        match (function, receiver.take(), method) {
            (Some(function), None, _) => {
                expr.kind = ExprKind::Call {
                    function,
                    name,
                    args,
                }
            }
            (_, Some(receiver), Some(method)) => {
                expr.kind = ExprKind::Method {
                    receiver,
                    method,
                    name,
                    args,
                }
            }
            (_, receiver, _) => {
                let problem = self.unknown(&expr.range, receiver.as_deref(), name, &args, operand);
                self.problems.push(problem);
                if let ExprKind::Unknown {
                    receiver: receiver_slot,
                    args: args_slot,
                    ..
                } = &mut expr.kind
                {
                    (*receiver_slot, *args_slot) = (receiver, args);
                }
            }
        }
    }

    fn unknown(
        &self,
        whole: &Range<usize>,
        receiver: Option<&Expr>,
        name: Range<usize>,
        args: &[Expr],
        operand: bool,
    ) -> Problem {
        let written = &self.text[name.clone()];
        let kind = if receiver.is_some() {
            "method"
        } else {
            "function"
        };
        let problem = Problem::new(
            name.clone(),
            &codes::UNKNOWN_FUNCTION,
            format!("there is no {kind} `{written}`"),
        );
        let parts: Vec<&Expr> = receiver.into_iter().chain(args).collect();
        let lower = written.to_lowercase();
        if matches!(lower.as_str(), "contains" | "includes" | "has")
            && let [whole_of, part] = parts[..]
        {
            let part_in = format!("{} in {}", self.operand(part), self.operand(whole_of));
            let part_in = if operand {
                format!("({part_in})")
            } else {
                part_in
            };
            return problem
                .help(format!("write `{part_in}`"))
                .risky(whole.clone(), part_in);
        }
        let turned = match (receiver, parts[..].split_first()) {
            (Some(_), Some((of, [])))
                if Function::find(&lower).is_some_and(|f| f.arity().allows(1)) =>
            {
                Some(format!("{lower}({})", &self.text[of.range.clone()]))
            }
            (None, Some((of, rest)))
                if Method::find(&lower).is_some_and(|m| m.arity().allows(rest.len())) =>
            {
                let rest: Vec<_> = rest
                    .iter()
                    .map(|arg| &self.text[arg.range.clone()])
                    .collect();
                Some(format!(
                    "{}.{lower}({})",
                    self.receiver(of),
                    rest.join(", ")
                ))
            }
            _ => None,
        };
        if let Some(turned) = turned {
            return problem
                .help(format!("write `{turned}`"))
                .risky(whole.clone(), turned);
        }
        if let Some(ExprKind::Text(path)) = parts.first().map(|of| &of.kind)
            && matches!(
                lower.as_str(),
                "exists"
                    | "file_exists"
                    | "path_exists"
                    | "isfile"
                    | "is_file"
                    | "isdir"
                    | "is_dir"
            )
        {
            let path = match path.contains(char::is_whitespace) {
                true => "…",
                false => path,
            };
            return problem.help(format!(
                "conditions see no files: test it in a step (`test -e {path}`), and ask for what \
                 the step gives"
            ));
        }
        let asks = parts.first().map(|of| self.operand(of));
        match (lower.as_str(), asks) {
            ("exists" | "defined" | "is_defined" | "isset", Some(of)) => {
                return problem.help(format!("write `{of} != null`"));
            }
            ("empty" | "is_empty" | "isempty", Some(of)) => {
                return problem.help(format!("write `not {of}`"));
            }
            ("length" | "size", Some(of)) if parts.len() == 1 => {
                let meant = format!("len({of})");
                return problem
                    .help(format!("write `{meant}`"))
                    .risky(whole.clone(), meant);
            }
            _ => {}
        }
        let known: Vec<&'static str> = match receiver {
            None => Function::ALL.iter().map(|f| f.word()).collect(),
            Some(_) => Method::ALL.iter().map(|m| m.word()).collect(),
        };
        let near = match lower.as_str() {
            "trim" if receiver.is_some() => Some("strip"),
            "starts_with" if receiver.is_some() => Some("startswith"),
            "ends_with" if receiver.is_some() => Some("endswith"),
            "tolower" | "to_lower" | "lowercase" if receiver.is_some() => Some("lower"),
            "toupper" | "to_upper" | "uppercase" if receiver.is_some() => Some("upper"),
            _ => nearest(written, known.iter().copied()),
        };
        let all = format!("the {kind}s are `{}`", known.join("`, `"));
        match near {
            Some(near) => {
                let mut problem = problem
                    .help(format!("did you mean `{near}`? {all}"))
                    .risky(name, near);
                let arity = Function::find(near)
                    .filter(|_| receiver.is_none())
                    .map(Function::arity)
                    .or(Method::find(near).map(Method::arity));
                if near == lower
                    && arity.is_some_and(|arity| arity.allows(args.len()))
                    && let Some(fix) = &mut problem.fix
                {
                    fix.applicability = Applicability::Safe;
                }
                problem
            }
            None => problem.help(all),
        }
    }

    /// The text of a node where a comparison wants one side.
    fn operand(&self, expr: &Expr) -> String {
        let loose = matches!(
            expr.kind,
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) | ExprKind::Compare { .. }
        );
        self.wrapped(expr, loose)
    }

    /// The text of a node before a dot.
    fn receiver(&self, expr: &Expr) -> String {
        let tight = matches!(
            expr.kind,
            ExprKind::Name(_)
                | ExprKind::Hole(_)
                | ExprKind::Text(_)
                | ExprKind::List(_)
                | ExprKind::Field { .. }
                | ExprKind::Index { .. }
                | ExprKind::Call { .. }
                | ExprKind::Method { .. }
        );
        self.wrapped(expr, !tight)
    }

    fn wrapped(&self, expr: &Expr, wrap: bool) -> String {
        let text = &self.text[expr.range.clone()];
        let inner = expr.children().first().map(|child| child.range.start);
        let has_own = text.starts_with('(') && inner.is_none_or(|start| expr.range.start < start);
        if wrap && !has_own {
            format!("({text})")
        } else {
            text.to_string()
        }
    }
}

fn wrong_arguments(written: &str, name: Range<usize>, arity: Arity, given: usize) -> Problem {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let wanted = match arity {
        Arity {
            least,
            most: Some(most),
        } if least == most => match most {
            0 => "no arguments".to_string(),
            _ => format!("{most} argument{}", plural(most)),
        },
        Arity {
            least: 0,
            most: Some(most),
        } => format!("at most {most} argument{}", plural(most)),
        Arity { least, .. } => format!("at least {least} arguments"),
    };
    Problem::new(
        name,
        &codes::WRONG_ARGUMENTS,
        format!("`{written}` takes {wanted}, not {given}"),
    )
    .help(match arity.least.cmp(&given) {
        std::cmp::Ordering::Greater => "add what is missing",
        _ => "remove what is too much",
    })
}
