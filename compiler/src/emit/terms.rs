//! Code for the values of a flow: each leaves one `any` on the stack.

use super::builder::{Label, Tables, Writer};
use super::expr::{Operand, SCOPE, concat, push_literal, truth_of};
use crate::ir::flow::{Arith, Term, TermKind};
use crate::ir::{Literal, Truth};
use rrc_vm::isa::Instr;

/// Words that one instruction puts into a list.
const GROUP: usize = 64;

pub fn term(w: &mut Writer, tables: &mut Tables, term: &Term) {
    // Nothing is ever said about a literal.
    if !matches!(term.kind, TermKind::Literal(_)) {
        w.at(term.span);
    }
    match &term.kind {
        TermKind::Literal(literal) => push_literal(w, tables, literal),
        TermKind::Var(name) | TermKind::Turn(name) => {
            let name = tables.text(name);
            w.push(Instr::VarOrFail { scope: SCOPE, name });
        }
        TermKind::OrElse { of, truth, or } => or_else(w, tables, of, *truth, or),
        TermKind::Pick {
            test,
            truth,
            yes,
            no,
        } => {
            let (end, otherwise) = (w.label(), w.label());
            self::term(w, tables, test);
            w.push(truth_of(*truth, w.to(end)));
            w.push(Instr::JumpUnless {
                to: w.to(otherwise),
            });
            self::term(w, tables, yes);
            w.push(Instr::Jump { to: w.to(end) });
            w.bind(otherwise);
            self::term(w, tables, no);
            w.bind(end);
        }
        TermKind::Item { of, at } => {
            self::term(w, tables, of);
            self::term(w, tables, at);
            w.at(term.span);
            w.push(Instr::ItemOrFail {});
        }
        TermKind::Length(of) => {
            let end = w.label();
            self::term(w, tables, of);
            w.at(term.span);
            w.push(Instr::ListOr { to: w.to(end) });
            w.push(Instr::Length {});
            w.bind(end);
        }
        TermKind::Arith { op, left, right } => {
            self::term(w, tables, left);
            self::term(w, tables, right);
            w.at(term.span);
            w.push(match op {
                Arith::Add => Instr::Add {},
                Arith::Sub => Instr::Sub {},
                Arith::Mul => Instr::Mul {},
                Arith::Div => Instr::Div {},
                Arith::Rem => Instr::Rem {},
            });
        }
        TermKind::Pad { of, width } => {
            self::term(w, tables, of);
            w.at(term.span);
            w.push(Instr::Pad { width: *width });
        }
        TermKind::Text(parts) => concat(w, tables, parts),
        TermKind::Fit { of, declared } => {
            self::term(w, tables, of);
            w.at(term.span);
            let wanted = tables.literal(&declared.wanted());
            w.push(Instr::Fit { wanted });
        }
    }
}

impl Operand for Term {
    fn emit(&self, w: &mut Writer, tables: &mut Tables) {
        term(w, tables, self);
    }
}

fn or_else(w: &mut Writer, tables: &mut Tables, of: &Term, truth: Option<Truth>, or: &Term) {
    if let (TermKind::Var(name), None, TermKind::Literal(literal)) = (&of.kind, truth, &or.kind) {
        return or_literal(w, tables, name, literal);
    }
    let (missing, end, first) = (w.label(), w.label(), w.local());
    term(w, tables, of);
    w.push(Instr::JumpFailed { to: w.to(missing) });
    match truth {
        None => w.push(Instr::Jump { to: w.to(end) }),
        Some(truth) => {
            let otherwise = w.label();
            w.push(Instr::Store { local: first });
            w.push(Instr::Load { local: first });
            w.push(truth_of(truth, w.to(missing)));
            w.push(Instr::JumpUnless {
                to: w.to(otherwise),
            });
            w.push(Instr::Load { local: first });
            w.push(Instr::Jump { to: w.to(end) });
            w.bind(otherwise);
            w.push(Instr::Null {});
        }
    }
    w.bind(missing);
    w.push(Instr::Store { local: first });
    term(w, tables, or);
    // Of two failures the first says more, unless the second says that a default does not fit.
    if !matches!(or.kind, TermKind::Fit { .. }) {
        let (both, fine) = (w.label(), w.label());
        w.push(Instr::JumpFailed { to: w.to(both) });
        w.push(Instr::Jump { to: w.to(fine) });
        w.bind(both);
        w.push(Instr::Pop {});
        w.push(Instr::Load { local: first });
        w.bind(fine);
    }
    w.bind(end);
    w.free(first);
}

/// The plain default of a variable: neither way can fail, so nothing is made to say why it did.
fn or_literal(w: &mut Writer, tables: &mut Tables, name: &str, literal: &Literal) {
    let (missing, end, name) = (w.label(), w.label(), tables.text(name));
    w.push(Instr::HasVar { scope: SCOPE, name });
    w.push(Instr::JumpUnless { to: w.to(missing) });
    w.push(Instr::VarOrNull { scope: SCOPE, name });
    w.push(Instr::Jump { to: w.to(end) });
    w.bind(missing);
    push_literal(w, tables, literal);
    w.bind(end);
}

/// A truth value on the stack; to `failed` with a failure.
pub fn condition(w: &mut Writer, tables: &mut Tables, guard: &Term, failed: Label) {
    term(w, tables, guard);
    w.push(truth_of(Truth::Flags, w.to(failed)));
}

/// Looks at one word of a command, not the first; to `failed` with a failure.
pub fn word(w: &mut Writer, tables: &mut Tables, word: &Term, failed: Label) {
    let looked = word.may_hold_nul();
    if looked {
        // What stands first must not be empty; this one may be.
        let first = tables.text("-");
        w.push(Instr::Text { text: first });
    }
    term(w, tables, word);
    if looked {
        w.push(Instr::List { items: 2 });
        w.at(word.span);
        w.push(Instr::Argv {});
    }
    w.push(Instr::JumpFailed { to: w.to(failed) });
    w.push(Instr::Pop {});
}

/// The words of a command as a list; to `failed` with a failure.
pub fn argv(w: &mut Writer, tables: &mut Tables, words: &[Term], failed: Label) {
    let Some(first) = words.first() else {
        w.push(Instr::EmptyList {});
        return;
    };
    if words.len() <= GROUP {
        words.iter().for_each(|word| term(w, tables, word));
        w.push(Instr::List {
            items: words.len() as u8,
        });
    } else {
        let list = w.local();
        w.push(Instr::EmptyList {});
        w.push(Instr::Store { local: list });
        for word in words {
            term(w, tables, word);
            w.push(Instr::JumpFailed { to: w.to(failed) });
            w.push(Instr::Append { list });
        }
        w.push(Instr::Take { local: list });
        w.free(list);
    }
    w.at(first.span);
    w.push(Instr::Argv {});
    w.push(Instr::JumpFailed { to: w.to(failed) });
}
