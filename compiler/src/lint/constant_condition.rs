//! A condition that does not depend on anything.
//!
//! `true` and `false`, or a number, written alone are how a step is switched on and off.

use super::words;
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Report};
use crate::infer::{Place, Scope, constant, is_true};
use crate::ir::{Compare, Expr, ExprKind, Literal, Truth, visit};
use rrc_vm::value::Value;

pub fn check(place: &Place<'_, '_>, _: Scope<'_, '_>, report: &mut Report) {
    let Place::Guard(guard) = place else { return };
    look(&guard.expr, guard.truth, report);
}

/// Every part of a condition that is asked for its truth.
fn look(expr: &Expr, truth: Truth, report: &mut Report) {
    match &expr.kind {
        ExprKind::And { left, right, truth } | ExprKind::Or { left, right, truth } => {
            look(left, *truth, report);
            look(right, *truth, report);
        }
        ExprKind::Not { of, truth } | ExprKind::Truth { of, truth } => look(of, *truth, report),
        ExprKind::Literal(
            Literal::Null | Literal::Bool(_) | Literal::Int(_) | Literal::Float(_),
        ) => {}
        // Brackets are a test in the shell, and a list here.
        ExprKind::List(items) if !items.is_empty() => {
            let message = "this is a list with something in it, and as a condition always true";
            report.add(
                Diagnostic::new(&codes::CONSTANT_CONDITION, expr.span, message)
                    .help("leave the brackets out"),
            );
        }
        _ => {
            if is_in_number(expr) {
                return;
            }
            if let Some(value) = constant(expr) {
                report.add(finding(expr, &value, truth));
            }
        }
    }
}

/// That has a finding of its own.
fn is_in_number(expr: &Expr) -> bool {
    matches!(
        &expr.kind,
        ExprKind::Compare { op: Compare::In | Compare::NotIn, right, .. }
            if matches!(right.kind, ExprKind::Literal(Literal::Int(_) | Literal::Float(_) | Literal::Bool(_)))
    )
}

fn finding(expr: &Expr, value: &Value, truth: Truth) -> Diagnostic {
    let always = is_true(value, truth);
    if let ExprKind::Literal(Literal::Text(text)) = &expr.kind {
        let message = format!(
            "{} is text, and as a condition always {always}",
            words::quoted(expr)
        );
        let finding = Diagnostic::new(&codes::CONSTANT_CONDITION, expr.span, message);
        let name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        return if !text.is_empty() && text.chars().all(name) {
            finding.help(format!(
                "write `{{{{{text}}}}}` for the variable; to compare, write both sides: `x == 'a' or x == 'b'`"
            ))
        } else {
            finding.help("compare it with something")
        };
    }
    let message = format!("this is always {always}");
    let help = match bare_word(expr) {
        Some(word) => {
            format!("a word without braces is text: write `{{{{{word}}}}}` for the variable")
        }
        None => format!("it reads no variable; write `{always}` if that is meant"),
    };
    let finding = Diagnostic::new(&codes::CONSTANT_CONDITION, expr.span, message).help(help);
    match always && is_trial(expr) {
        true => finding.severity(Severity::Note),
        false => finding,
    }
}

/// The first word that stands without quotes, as the name of a variable does in other dialects.
fn bare_word(expr: &Expr) -> Option<String> {
    let mut first = None;
    visit::walk(expr, &mut |part| {
        if let ExprKind::Literal(Literal::Text(text)) = &part.kind
            && !is_quoted(part, text)
            && !text.is_empty()
        {
            first.get_or_insert_with(|| text.clone());
        }
    });
    first
}

fn is_quoted(part: &Expr, text: &str) -> bool {
    part.span.range().len() > text.len()
}

/// `int('42') == 42`: who calls a function with constants tries out what it does.
fn is_trial(expr: &Expr) -> bool {
    let (mut calls, mut plain) = (false, true);
    visit::walk(expr, &mut |part| match &part.kind {
        ExprKind::Call { .. } => calls = true,
        // A word without quotes may be the name of a variable.
        ExprKind::Literal(Literal::Text(text)) => plain &= is_quoted(part, text),
        _ => {}
    });
    calls && plain
}
