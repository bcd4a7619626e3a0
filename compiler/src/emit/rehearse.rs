//! Code that works out everything a flow will work out, and starts nothing: what is wrong with the
//! values is found before the first command.

use super::Emitter;
use super::builder::{Label, Writer};
use super::expr::SCOPE;
use super::terms;
use crate::ir::flow::{
    Declared, Flow, MOST_TURNS, Stage, Term, TermKind, Times, ValueKind, Work, stages, too_many,
};
use crate::source::Span;
use indexmap::IndexMap;
use rrc_vm::isa::Instr;
use rrc_vm::value::Value;
use rustc_hash::FxBuildHasher;

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
        // What goes into words is looked at once, however many turns read it.
        for (name, span) in word_names(&flow.root) {
            let (name, absent) = (self.tables.text(name), w.label());
            w.push(Instr::HasVar { scope: SCOPE, name });
            w.push(Instr::JumpUnless { to: w.to(absent) });
            // What stands first must not be empty; this one may be.
            w.push(Instr::Text {
                text: self.tables.text("-"),
            });
            w.push(Instr::VarOrNull { scope: SCOPE, name });
            w.push(Instr::List { items: 2 });
            w.at(span);
            w.push(Instr::Argv {});
            w.push(Instr::JumpFailed { to: w.to(refused) });
            w.push(Instr::Pop {});
            w.bind(absent);
        }
        if let Some(output) = &flow.output {
            terms::term(w, &mut self.tables, output);
            w.push(Instr::JumpFailed { to: w.to(refused) });
            w.push(Instr::Pop {});
        }
    }

    fn fit(&mut self, w: &mut Writer, declared: &Declared) {
        let wanted = self.tables.literal(&declared.wanted());
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
        if !may_be_refused(stage, 1) {
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
            self.number(w, "retry", ValueKind::Tries, &tries.most, refused);
            w.push(Instr::Pop {});
            if let Some(recover) = &tries.recover {
                self.rehearse(w, recover, refused);
            }
        }
        match &stage.work {
            Work::Run { words, .. } => {
                // The name of the program must not be empty; other words only have to be there.
                let (name, rest) = words.split_at(words.len().min(1));
                if name.iter().any(may_be_no_name) {
                    terms::argv(w, &mut self.tables, name, refused);
                    w.push(Instr::Pop {});
                }
                for word in rest.iter().filter(|word| may_be_wrong(word)) {
                    terms::word(w, &mut self.tables, word, refused);
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
                // Where the number of the turn is not read, one turn tells of all.
                if rehearsed(&times.body, &mut |term| reads_turn(term, &times.index)) {
                    w.push(Instr::Jump { to: w.to(again) });
                }
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
        // A product that is no integer any more is a failure as well.
        for name in &times.around {
            w.push(Instr::VarOrNull {
                scope: SCOPE,
                name: self.tables.text(name),
            });
            w.push(Instr::Mul {});
        }
        if !times.around.is_empty() {
            w.push(Instr::IntOr { to: w.to(failed) });
        }
        w.push(Instr::Int {
            value: MOST_TURNS + 1,
        });
        w.push(Instr::Less {});
        w.push(Instr::JumpIf { to: w.to(few) });
        let message = too_many(times.around.is_empty());
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

type Names<'a> = IndexMap<&'a str, Span, FxBuildHasher>;

/// The names that the words of commands read, each where it is first read.
fn word_names(stage: &Stage) -> Names<'_> {
    fn term<'a>(of: &'a Term, names: &mut Names<'a>) {
        if let TermKind::Var(name) = &of.kind {
            names.entry(name).or_insert(of.span);
        }
        of.parts().into_iter().for_each(|part| term(part, names));
    }
    let mut names = Names::default();
    stages(stage, &mut |stage| {
        if let Work::Run { words, .. } = &stage.work {
            words.iter().for_each(|word| term(word, &mut names));
        }
    });
    names
}

/// Whether `test` holds for anything that the rehearsal of a stage works out.
fn rehearsed(stage: &Stage, test: &mut dyn FnMut(&Term) -> bool) -> bool {
    let mut found = false;
    stages(stage, &mut |stage| {
        let most = stage.tries.as_ref().map(|tries| &tries.most);
        let fields = [&stage.guard, &stage.pause, &stage.deadline];
        let fields = fields.into_iter().flatten().chain(most);
        found |= fields.into_iter().any(&mut *test);
        found |= match &stage.work {
            Work::Run { words, .. } => {
                let (name, rest) = words.split_at(words.len().min(1));
                let name = name.iter().filter(|name| may_be_no_name(name));
                let rest = rest.iter().filter(|word| may_be_wrong(word));
                name.chain(rest).any(&mut *test)
            }
            Work::Times(times) => test(&times.count),
            Work::Inside(_) | Work::Seq(_) | Work::Par(_) => false,
        };
    });
    found
}

fn reads_turn(term: &Term, index: &str) -> bool {
    match &term.kind {
        TermKind::Turn(name) => name == index,
        _ => term.parts().into_iter().any(|part| reads_turn(part, index)),
    }
}

/// Whether a word may be empty, or wrong in any other way for the name of a program.
fn may_be_no_name(word: &Term) -> bool {
    !matches!(word.kind, TermKind::Literal(_)) || may_be_wrong(word)
}

/// Whether a word may be missing, or be one that no command can be given.
fn may_be_wrong(word: &Term) -> bool {
    word.may_fail() || word.may_hold_nul()
}

/// Whether values can be given that a stage cannot use, or it has some of its own. `turns` is how
/// many there are of it, as far as that is written in the file.
fn may_be_refused(stage: &Stage, turns: i64) -> bool {
    let tries = stage.tries.as_ref();
    let numbers = [&stage.pause, &stage.deadline];
    let given = |number: &Option<Term>| {
        let kind = &ValueKind::Duration;
        number
            .as_ref()
            .is_some_and(|term| fixed(term, kind).is_none())
    };
    stage.guard.as_ref().is_some_and(Term::may_fail)
        || numbers.into_iter().any(given)
        || tries.is_some_and(|tries| {
            let recover = tries.recover.as_deref();
            fixed(&tries.most, &ValueKind::Tries).is_none()
                || recover.is_some_and(|recover| may_be_refused(recover, turns))
        })
        || match &stage.work {
            Work::Run { words, .. } => {
                words.first().is_some_and(may_be_no_name) || words.iter().any(may_be_wrong)
            }
            Work::Inside(inner) => may_be_refused(inner, turns),
            Work::Seq(all) | Work::Par(all) => all.iter().any(|stage| may_be_refused(stage, turns)),
            Work::Times(times) => {
                let turns = fixed(&times.count, &ValueKind::Count)
                    .and_then(|count| count.checked_mul(turns))
                    .filter(|turns| *turns <= i64::from(MOST_TURNS));
                turns.is_none_or(|turns| may_be_refused(&times.body, turns))
            }
        }
}

/// A number that is written in the file and that the field can have.
fn fixed(term: &Term, kind: &ValueKind) -> Option<i64> {
    let TermKind::Literal(literal) = &term.kind else {
        return None;
    };
    let declared = Declared {
        name: String::new(),
        kind: kind.clone(),
        span: term.span,
    };
    match declared.fit(literal) {
        Ok(Value::Int(number)) => Some(number),
        _ => None,
    }
}
