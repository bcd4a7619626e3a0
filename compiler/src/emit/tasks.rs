//! Functions that run beside each other, and what waits for them.

use super::Emitter;
use super::builder::{Label, Writer};
use super::step::Exits;
use rrc_vm::isa::{Instr, Kind, Status};

impl Emitter<'_> {
    /// Waits for all tasks of the set on top, in the order in which they were started, and then
    /// goes where the first of them that failed says, else where one that ended the unit does.
    pub fn join(
        &mut self,
        w: &mut Writer,
        failed: Label,
        exits: Exits,
        take: impl FnOnce(&mut Self, &mut Writer, u8),
    ) {
        let joining = Joining::begin(w, None);
        w.bind(joining.next);
        self.join_rest(w, joining, failed, exits, take);
    }

    /// The same where some results may have been taken already.
    pub(super) fn join_rest(
        &mut self,
        w: &mut Writer,
        joining: Joining,
        failed: Label,
        exits: Exits,
        take: impl FnOnce(&mut Self, &mut Writer, u8),
    ) {
        let ended = self.tables.text(ENDED);
        let Joining {
            first,
            seen,
            broken,
            result,
            ..
        } = joining;
        let (bad, early, joined, none) = (w.label(), w.label(), w.label(), w.label());
        w.bind(joining.wait);
        w.push(Instr::JoinNext { to: w.to(joined) });
        w.bind(joining.take);
        w.push(Instr::MapOr { to: w.to(bad) });
        w.push(Instr::Store { local: result });
        take(self, w, result);
        w.push(Instr::HasVar {
            scope: result,
            name: ended,
        });
        w.push(Instr::JumpIf { to: w.to(early) });
        w.push(Instr::Jump {
            to: w.to(joining.next),
        });
        // What failed counts before what only ended the unit, whichever came first.
        w.bind(bad);
        let later = w.label();
        w.push(Instr::Load { local: first });
        w.push(Instr::JumpFailed { to: w.to(later) });
        w.push(Instr::Pop {});
        w.push(Instr::Store { local: first });
        w.bind(early);
        w.push(Instr::True {});
        w.push(Instr::Store { local: seen });
        w.push(Instr::Jump {
            to: w.to(joining.next),
        });
        w.bind(later);
        w.push(Instr::Pop {});
        w.push(Instr::Pop {});
        w.push(Instr::Jump {
            to: w.to(joining.next),
        });
        w.bind(joined);
        w.push(Instr::Load { local: seen });
        w.push(Instr::JumpUnless { to: w.to(none) });
        for local in [Some(first), broken].into_iter().flatten() {
            w.push(Instr::Load { local });
            w.push(Instr::JumpFailed { to: w.to(failed) });
            w.push(Instr::Pop {});
        }
        self.end_early(w, exits);
        w.bind(none);
        for local in [first, seen, result] {
            w.free(local);
        }
    }

    /// A function that can be forked, with one result: a failure, or a map of what `finish` puts
    /// there, which says so if the unit is to end.
    pub fn task<T>(
        &mut self,
        name: &str,
        params: &[Kind],
        body: impl FnOnce(&mut Self, &mut Writer, Exits) -> T,
        finish: impl Fn(&mut Self, &mut Writer, &T),
    ) -> u32 {
        let name = self.tables.text(name);
        let function = self.code.declare(name, params, &[Kind::Any]);
        let mut w = Writer::new(params.len() as u8);
        let exits = Exits {
            failed: w.label(),
            ended: w.label(),
        };
        let outside = self.before.take();
        let made = body(self, &mut w, exits);
        self.before = outside;
        w.push(Instr::EmptyMap {});
        finish(self, &mut w, &made);
        w.push(Instr::Return {});
        w.bind(exits.failed);
        w.push(Instr::Return {});
        w.bind(exits.ended);
        w.push(Instr::EmptyMap {});
        finish(self, &mut w, &made);
        w.push(Instr::True {});
        w.push(Instr::Put {
            name: self.tables.text(ENDED),
        });
        w.push(Instr::Return {});
        self.finished.push((function, w));
        function
    }

    /// The unit ends inside the loop: the loop's own step ends first.
    pub fn end_early(&mut self, w: &mut Writer, exits: Exits) {
        w.push(Instr::Null {});
        w.push(Instr::StepEnd {
            status: Status::Completed as u8,
        });
        w.push(Instr::Jump {
            to: w.to(exits.ended),
        });
    }
}

/// The field of a task's result that says that the unit is to end.
pub const ENDED: &str = "ended";

/// Tasks whose results are being taken.
#[derive(Clone, Copy)]
pub(super) struct Joining {
    /// What the first of them failed by, or null, and whether any did not come to its end.
    first: u8,
    seen: u8,
    /// What kept the others from being started, if anything did, or null.
    broken: Option<u8>,
    result: u8,
    /// Where to go for the next result, where to wait for it, and where it is taken.
    pub(super) next: Label,
    pub(super) wait: Label,
    pub(super) take: Label,
}

impl Joining {
    pub(super) fn begin(w: &mut Writer, broken: Option<u8>) -> Joining {
        let (first, seen, result) = (w.local(), w.local(), w.local());
        w.push(Instr::Null {});
        w.push(Instr::Store { local: first });
        w.push(Instr::False {});
        w.push(Instr::Store { local: seen });
        let (next, wait, take) = (w.label(), w.label(), w.label());
        Joining {
            first,
            seen,
            broken,
            result,
            next,
            wait,
            take,
        }
    }
}
