//! Code that works out everything a flow will work out, and starts nothing: what is wrong with the
//! values is found before the first command.

use super::Emitter;
use super::builder::{Label, Writer};
use super::expr::SCOPE;
use super::terms;
use crate::ir::Literal;
use crate::ir::flow::{Declared, Flow, Stage, Term, TermKind, Times, ValueKind, Work};
use rrc_vm::isa::Instr;

/// The most turns a stage may have.
const MOST_TURNS: i32 = 100_000;

/// The locals that count turns.
#[derive(Clone, Copy)]
pub(super) struct Turns {
    pub at: u8,
    pub total: u8,
}

impl Emitter<'_> {
    /// Looks at the values that are given before anything reads them.
    pub(super) fn given(&mut self, w: &mut Writer, flow: &Flow, refused: Label) {
        for name in &flow.reserved {
            let (text, free) = (self.tables.text(name), w.label());
            w.push(Instr::HasVar {
                scope: SCOPE,
                name: text,
            });
            w.push(Instr::JumpUnless { to: w.to(free) });
            let message = format!("`{name}` is set by `repeat` and cannot be given");
            w.push(Instr::Fail {
                message: self.tables.text(&message),
            });
            w.push(Instr::Jump { to: w.to(refused) });
            w.bind(free);
        }
        for declared in &flow.declared {
            let (name, absent) = (self.tables.text(&declared.name), w.label());
            w.push(Instr::HasVar { scope: SCOPE, name });
            w.push(Instr::JumpUnless { to: w.to(absent) });
            w.at(declared.span);
            w.push(Instr::VarOrNull { scope: SCOPE, name });
            self.fit(w, declared);
            w.push(Instr::JumpFailed { to: w.to(refused) });
            w.push(Instr::SetVar { scope: SCOPE, name });
            w.bind(absent);
        }
        if let Some(output) = &flow.output {
            terms::term(w, &mut self.tables, output);
            w.push(Instr::JumpFailed { to: w.to(refused) });
            w.push(Instr::Pop {});
        }
    }

    fn fit(&mut self, w: &mut Writer, declared: &Declared) {
        let text = |text: &str| Literal::Text(text.to_string());
        let mut wanted = vec![
            ("name".to_string(), text(&declared.name)),
            ("kind".to_string(), text(declared.kind.word())),
        ];
        if let ValueKind::OneOf(words) = &declared.kind {
            let words = words.iter().map(|word| text(word)).collect();
            wanted.push(("of".to_string(), Literal::List(words)));
        }
        let wanted = self.tables.literal(&Literal::Map(wanted));
        w.push(Instr::Fit { wanted });
    }

    /// A field of a stage that is a number. Stack after: the number, or at `failed` a failure.
    pub(super) fn number(
        &mut self,
        w: &mut Writer,
        name: &str,
        kind: ValueKind,
        term: &Term,
        failed: Label,
    ) {
        terms::term(w, &mut self.tables, term);
        let declared = Declared {
            name: name.to_string(),
            kind,
            span: term.span,
        };
        w.at(term.span);
        self.fit(w, &declared);
        w.push(Instr::IntOr { to: w.to(failed) });
    }

    /// Works out everything that a stage will work out, and starts nothing.
    pub(super) fn rehearse(&mut self, w: &mut Writer, stage: &Stage, refused: Label) {
        if !may_be_refused(stage) {
            return;
        }
        let next = w.label();
        if let Some(guard) = &stage.guard {
            terms::condition(w, &mut self.tables, guard, refused);
            w.push(Instr::JumpUnless { to: w.to(next) });
        }
        let times = [
            ("delay", stage.pause.as_ref()),
            ("timeout", stage.deadline.as_ref()),
        ];
        for (name, term) in times {
            if let Some(term) = term {
                self.number(w, name, ValueKind::Duration, term, refused);
                w.push(Instr::Pop {});
            }
        }
        if let Some(tries) = &stage.tries {
            self.number(w, "retry", ValueKind::Count, &tries.most, refused);
            w.push(Instr::Pop {});
            if let Some(recover) = &tries.recover {
                self.rehearse(w, recover, refused);
            }
        }
        match &stage.work {
            Work::Run { words, .. } => {
                // The name of the program must not be empty; other words only have to be there.
                let (name, rest) = words.split_at(words.len().min(1));
                if name.iter().any(|name| !is_literal(name)) {
                    terms::argv(w, &mut self.tables, name, refused);
                    w.push(Instr::Pop {});
                }
                for word in rest.iter().filter(|word| word.may_fail()) {
                    terms::term(w, &mut self.tables, word);
                    w.push(Instr::JumpFailed { to: w.to(refused) });
                    w.push(Instr::Pop {});
                }
            }
            Work::Inside(inner) => self.rehearse(w, inner, refused),
            Work::Seq(all) | Work::Par(all) => {
                all.iter()
                    .for_each(|stage| self.rehearse(w, stage, refused));
            }
            Work::Times(times) => {
                let turns = self.turns(w, times, refused);
                let (again, done) = (w.label(), w.label());
                w.bind(again);
                self.turn(w, times, turns, refused, done);
                self.rehearse(w, &times.body, refused);
                w.push(Instr::Jump { to: w.to(again) });
                w.bind(done);
                w.free(turns.at);
                w.free(turns.total);
            }
        }
        w.bind(next);
    }

    /// Works out how many turns there are, which the turns can read.
    pub(super) fn turns(&mut self, w: &mut Writer, times: &Times, failed: Label) -> Turns {
        let turns = Turns {
            at: w.local(),
            total: w.local(),
        };
        self.number(w, "repeat", ValueKind::Count, &times.count, failed);
        w.push(Instr::Store { local: turns.total });
        let few = w.label();
        w.push(Instr::Load { local: turns.total });
        w.push(Instr::Int {
            value: MOST_TURNS + 1,
        });
        w.push(Instr::Less {});
        w.push(Instr::JumpIf { to: w.to(few) });
        let message = format!("`repeat` is more than the {MOST_TURNS} that are allowed");
        w.push(Instr::Fail {
            message: self.tables.text(&message),
        });
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(few);
        self.set(w, &times.total, turns.total);
        w.push(Instr::Int { value: 0 });
        w.push(Instr::Store { local: turns.at });
        turns
    }

    fn set(&mut self, w: &mut Writer, name: &str, local: u8) {
        w.push(Instr::Load { local });
        w.push(Instr::SetVar {
            scope: SCOPE,
            name: self.tables.text(name),
        });
    }

    /// Sets the number of the next turn; to `done` if there is none.
    pub(super) fn turn(
        &mut self,
        w: &mut Writer,
        times: &Times,
        turns: Turns,
        failed: Label,
        done: Label,
    ) {
        w.push(Instr::Load { local: turns.at });
        w.push(Instr::Load { local: turns.total });
        w.push(Instr::Less {});
        w.push(Instr::JumpUnless { to: w.to(done) });
        self.set(w, &times.index, turns.at);
        w.push(Instr::Load { local: turns.at });
        w.push(Instr::Int { value: 1 });
        w.push(Instr::Add {});
        w.push(Instr::IntOr { to: w.to(failed) });
        w.push(Instr::Store { local: turns.at });
    }
}

fn is_literal(term: &Term) -> bool {
    matches!(term.kind, TermKind::Literal(_))
}

/// Whether values can be given that a stage cannot use.
fn may_be_refused(stage: &Stage) -> bool {
    let tries = stage.tries.as_ref();
    let numbers = [&stage.pause, &stage.deadline];
    let given = |number: &Option<Term>| number.as_ref().is_some_and(|term| !is_literal(term));
    stage.guard.as_ref().is_some_and(Term::may_fail)
        || numbers.into_iter().any(given)
        || tries.is_some_and(|tries| {
            !is_literal(&tries.most) || tries.recover.as_deref().is_some_and(may_be_refused)
        })
        || match &stage.work {
            Work::Run { words, .. } => {
                words.first().is_some_and(|name| !is_literal(name))
                    || words.iter().any(Term::may_fail)
            }
            Work::Inside(inner) => may_be_refused(inner),
            Work::Seq(all) | Work::Par(all) => all.iter().any(may_be_refused),
            Work::Times(times) => !within(&times.count) || may_be_refused(&times.body),
        }
}

/// Whether a number of turns is written in the file, and allowed.
fn within(count: &Term) -> bool {
    let most = i64::from(MOST_TURNS);
    match &count.kind {
        TermKind::Literal(Literal::Int(count)) => *count <= most,
        TermKind::Literal(Literal::Text(count)) => {
            count.parse::<i64>().is_ok_and(|count| count <= most)
        }
        _ => false,
    }
}
