//! Code for steps: what wraps a node, in the order of the fields of [`Step`].
//!
//! The shape of the stack is the same everywhere: below, the steps that are open around this one;
//! on top, at a label for failures, the failure. So every way out of a step is a jump.

use super::Emitter;
use super::bind::may_say;
use super::builder::{Label, Writer};
use super::expr::{self, DEPTH, SCOPE};
use super::hooks::Moment;
use crate::ir::{Action, Guard, Node, OnFailure, Step, Store};
use rrc_vm::isa::{Instr, Kind, Short, Status};
use rrc_vm::plan::NeedKind;

/// Where control goes when a list of steps does not come to its end. Both labels stand at the
/// stack height of the list.
#[derive(Clone, Copy)]
pub struct Exits {
    /// With the failure on top.
    pub failed: Label,
    /// The unit ends here as if it had come to its end.
    pub ended: Label,
}

/// Where the value of a step goes.
#[derive(Clone, Copy)]
pub struct Taken {
    /// The value, which a step that failed may have all the same.
    pub value: u8,
    /// The same for who collects values: of iterations that did not fail.
    pub collected: Option<u8>,
}

impl Taken {
    /// Stack: the value, which is taken.
    pub fn store(self, w: &mut Writer) {
        w.push(Instr::Store { local: self.value });
        if let Some(collected) = self.collected {
            w.push(Instr::Load { local: self.value });
            w.push(Instr::Store { local: collected });
        }
    }

    /// New locals that hold a failure, which no value is, until there is a value.
    pub fn unset(w: &mut Writer, message: u32) -> Taken {
        let new = |w: &mut Writer| {
            let local = w.local();
            w.push(Instr::Fail { message });
            w.push(Instr::Store { local });
            local
        };
        Taken {
            value: new(w),
            collected: Some(new(w)),
        }
    }

    pub fn locals(self) -> impl Iterator<Item = u8> {
        [Some(self.value), self.collected].into_iter().flatten()
    }

    fn uncollected(self) -> Taken {
        Taken {
            collected: None,
            ..self
        }
    }
}

/// What the ways out of a try need to know.
#[derive(Clone, Copy)]
pub struct Try {
    /// The local that counts the tries, and how many there may be; none if there is one only.
    pub again: Option<(u8, u32)>,
    /// The local for what came before a failure: a reply that did not hold what the step is for, or
    /// that a turn of a loop began. Null until then.
    pub said: Option<u8>,
}

impl Try {
    /// A turn of the loop begins.
    pub fn begins(self, w: &mut Writer) {
        if let Some(local) = self.said {
            w.push(Instr::True {});
            w.push(Instr::Store { local });
        }
    }
}

/// How the record of a step is opened.
#[derive(Clone, Copy)]
pub enum Opening {
    /// A step that the user wrote: it counts against the limit.
    Step,
    /// The body of a loop, by the local that holds its number, from 1.
    Iteration { number: u8, step: u32 },
}

impl Emitter<'_> {
    /// Steps one after the other; the value of the last that has one is the value of all.
    pub fn steps(&mut self, w: &mut Writer, steps: &[Step], value: Option<Taken>, exits: Exits) {
        let stops = |step: &&Step| self.stops_plainly(step, Opening::Step);
        if steps.iter().filter(stops).count() < 2 {
            for step in steps {
                self.step(w, step, Opening::Step, value, exits);
            }
            return;
        }
        // Steps that end the list when they fail all do it in the same way, so they share it.
        let (stop, done) = (w.label(), w.label());
        for step in steps {
            self.step_or(w, step, Opening::Step, value, exits, Some(stop));
        }
        w.push(Instr::Jump { to: w.to(done) });
        w.bind(stop);
        self.stop(w, exits);
        w.bind(done);
    }

    /// Whether a failure of the step does nothing but end the list it stands in.
    fn stops_plainly(&self, step: &Step, opening: Opening) -> bool {
        let hooked = is_hooked(step, opening) && self.has_hook(Moment::Failed);
        step.on_failure == OnFailure::Stop && !hooked
    }

    /// One step. Where its value goes, what is there stays when the step has none: it did not run,
    /// or failed.
    pub fn step(
        &mut self,
        w: &mut Writer,
        step: &Step,
        opening: Opening,
        value: Option<Taken>,
        exits: Exits,
    ) {
        self.step_or(w, step, opening, value, exits, None);
    }

    /// The same; a failure that does nothing but end the list goes to `stop`, with the open step
    /// and the failure on top.
    fn step_or(
        &mut self,
        w: &mut Writer,
        step: &Step,
        opening: Opening,
        value: Option<Taken>,
        exits: Exits,
        stop: Option<Label>,
    ) {
        if w.is_crowded() {
            return self.step_apart(w, step, opening, value, exits);
        }
        let outside = self.in_loop;
        let number = match opening {
            Opening::Step => self.tables.step(&step.id, step.kind, step.span),
            Opening::Iteration { step, .. } => {
                self.in_loop = true;
                step
            }
        };
        self.secret_outputs(step, number);
        if forgives(step) {
            self.tables
                .need_of_step(NeedKind::Forgives, &step.id, number);
        }
        let stop = stop.filter(|_| self.stops_plainly(step, opening));
        let (next, failed) = (w.label(), stop.unwrap_or_else(|| w.label()));
        let said = may_say(step, value).then(|| w.local());
        if let Some(said) = said {
            w.push(Instr::Null {});
            w.push(Instr::Store { local: said });
        }
        if let Some(Guard { expr, truth }) = &step.guard {
            expr::pass_unless(w, &mut self.tables, expr, *truth, (number, next));
        }
        w.at(step.span);
        self.open(w, step, opening, number, failed);
        let hooked = is_hooked(step, opening);
        let prepared = hooked && self.has_hook(Moment::Before);
        if prepared || outlives_its_commands(step) {
            self.preflight(w, step, number, failed);
        }
        if prepared {
            self.hook(w, step, Moment::Before, None);
        }
        let degraded = w.label();
        let ways = Ways {
            failed,
            degraded,
            exits,
        };
        self.attempts(w, step, number, value, said, ways);
        let mut ends = vec![(None, Status::Completed)];
        if step.store == Store::JsonOrDegrade && matches!(step.node, Node::Act(_)) {
            ends.push((Some(degraded), Status::Degraded));
        }
        let last = ends.len() - 1;
        for (index, (label, status)) in ends.into_iter().enumerate() {
            if let Some(label) = label {
                w.bind(label);
            }
            w.push(Instr::StepEnd {
                status: status as u8,
            });
            if hooked {
                self.hook(w, step, Moment::After(status), None);
            }
            if index < last || stop.is_none() {
                w.push(Instr::Jump { to: w.to(next) });
            }
        }
        if stop.is_none() {
            w.bind(failed);
            if hooked && self.has_hook(Moment::Failed) {
                let failure = w.local();
                w.push(Instr::Store { local: failure });
                self.hook(w, step, Moment::Failed, Some(failure));
                w.push(Instr::Take { local: failure });
                w.free(failure);
            }
            // An iteration that failed collects nothing, whatever it wrote.
            let taken = match (opening, &step.node) {
                (Opening::Iteration { .. }, Node::Act(_)) => value.map(Taken::uncollected),
                _ => value,
            };
            self.failure(w, step, taken, said, next, exits);
        }
        if let Some(said) = said {
            w.free(said);
        }
        w.bind(next);
        self.in_loop = outside;
    }

    /// Ends the open step with the failure on top, and the list with it.
    fn stop(&mut self, w: &mut Writer, exits: Exits) {
        let failure = w.local();
        w.push(Instr::Store { local: failure });
        w.push(Instr::Load { local: failure });
        w.push(Instr::StepEnd {
            status: Status::Failed as u8,
        });
        w.push(Instr::Take { local: failure });
        w.push(Instr::Jump {
            to: w.to(exits.failed),
        });
        w.free(failure);
    }

    /// The step as a function that is called, for want of locals. It takes the variables, the
    /// depth, what was given so far and the number of the iteration; it returns how it ended, the
    /// variables and what is given now.
    fn step_apart(
        &mut self,
        w: &mut Writer,
        step: &Step,
        opening: Opening,
        value: Option<Taken>,
        exits: Exits,
    ) {
        const PARAMS: [Kind; 5] = [Kind::Map, Kind::Int, Kind::Data, Kind::Data, Kind::Int];
        const RESULTS: [Kind; 4] = [Kind::Any, Kind::Map, Kind::Data, Kind::Data];
        const TAKEN: Taken = Taken {
            value: 2,
            collected: Some(3),
        };
        let name = self.tables.text(&step.id);
        let function = self.code.declare(name, &PARAMS, &RESULTS);
        let mut inner = Writer::new(PARAMS.len() as u8);
        let (failed, ended) = (inner.label(), inner.label());
        let inner_opening = match opening {
            Opening::Step => Opening::Step,
            Opening::Iteration { step, .. } => Opening::Iteration { number: 4, step },
        };
        let inner_exits = Exits { failed, ended };
        let taken = value.map(|_| TAKEN);
        self.step(&mut inner, step, inner_opening, taken, inner_exits);
        let leave = |w: &mut Writer| {
            w.push(Instr::Take { local: SCOPE });
            w.push(Instr::Load { local: 2 });
            w.push(Instr::Load { local: 3 });
            w.push(Instr::Return {});
        };
        inner.push(Instr::False {});
        leave(&mut inner);
        inner.bind(ended);
        inner.push(Instr::True {});
        leave(&mut inner);
        inner.bind(failed);
        leave(&mut inner);
        self.finished.push((function, inner));

        let given = [
            value.map(|taken| taken.value),
            value.and_then(|taken| taken.collected),
        ];
        w.push(Instr::Take { local: SCOPE });
        w.push(Instr::Load { local: DEPTH });
        for local in given {
            w.push(local.map_or(Instr::Null {}, |local| Instr::Load { local }));
        }
        w.push(match opening {
            Opening::Step => Instr::Int { value: 0 },
            Opening::Iteration { number, .. } => Instr::Load { local: number },
        });
        w.push(Instr::Call { function });
        for local in given.into_iter().rev() {
            w.push(local.map_or(Instr::Pop {}, |local| Instr::Store { local }));
        }
        w.push(Instr::Store { local: SCOPE });
        w.push(Instr::TruthEmptiness {
            to: w.to(exits.failed),
        });
        w.push(Instr::JumpIf {
            to: w.to(exits.ended),
        });
    }

    /// Opens the record of a step. Stack before, if it has a guard: what that came to, which goes to `failed`
    /// if it failed.
    fn open(&mut self, w: &mut Writer, step: &Step, opening: Opening, number: u32, failed: Label) {
        let is_guarded = step.guard.is_some();
        match opening {
            // Loops have limits of their own.
            Opening::Step if !step.kind.is_hidden() && !self.in_loop => {
                let (step, to) = (Short::new(number), w.to(failed));
                w.push(match is_guarded {
                    true => Instr::StepEnter { step, to },
                    false => Instr::StepStart { step, to },
                });
                return;
            }
            Opening::Step if !is_guarded => w.push(Instr::StepBegin { step: number }),
            Opening::Step => w.push(Instr::StepBeginBelow { step: number }),
            Opening::Iteration {
                number: local,
                step,
            } => {
                let known = is_guarded.then(|| w.local());
                if let Some(known) = known {
                    w.push(Instr::Store { local: known });
                }
                w.push(Instr::Load { local });
                w.push(Instr::Iteration { step });
                if let Some(known) = known {
                    w.push(Instr::Take { local: known });
                    w.free(known);
                }
            }
        }
        if is_guarded {
            w.push(Instr::JumpFailed { to: w.to(failed) });
            w.push(Instr::Pop {});
        }
    }

    /// Stack: the open step and the failure.
    fn failure(
        &mut self,
        w: &mut Writer,
        step: &Step,
        value: Option<Taken>,
        said: Option<u8>,
        next: Label,
        exits: Exits,
    ) {
        w.at(step.span);
        // It ends as failed, and is forgiven.
        let end = Instr::StepEnd {
            status: Status::Completed as u8,
        };
        match step.on_failure {
            OnFailure::Stop => self.stop(w, exits),
            OnFailure::SkipRest => {
                self.bind_failed(w, step, value, said);
                w.push(end);
                w.push(Instr::Jump {
                    to: w.to(exits.ended),
                });
            }
            OnFailure::Continue { .. } => {
                self.bind_failed(w, step, value, said);
                w.push(end);
                w.push(Instr::Jump { to: w.to(next) });
            }
        }
    }

    /// One try. Stack before: the open step; after, and at `degraded`: the open step and what it
    /// ended with; at `failed`: the open step and the failure.
    pub fn node(
        &mut self,
        w: &mut Writer,
        step: &Step,
        number: u32,
        value: Option<Taken>,
        this: Try,
        ways: Ways,
    ) {
        let Ways { failed, exits, .. } = ways;
        match &step.node {
            Node::Act(action) => {
                self.needs(step, action, number);
                let recovers = matches!(&**action, Action::Call(call) if call.recovers);
                let (wrong, done) = match recovers {
                    true => (w.label(), w.label()),
                    false => (failed, failed),
                };
                match (&**action, &step.deadline) {
                    (Action::Call(call), Some(ms)) => {
                        self.recipe_within(w, (&step.id, call, ms), number, wrong, exits);
                    }
                    (action, deadline) => self.action(w, action, deadline.as_ref(), number, wrong),
                }
                if recovers {
                    w.push(Instr::Jump { to: w.to(done) });
                    w.bind(wrong);
                    self.recover(w, &step.id, number, failed);
                    w.bind(done);
                }
                self.bind(w, step, value, this, ways);
            }
            Node::Seq(steps) if let Some(ms) = &step.deadline => {
                self.steps_within(w, (&step.id, steps, ms), value, failed, exits);
                say_value(w, value);
            }
            Node::Seq(steps) => {
                let (ended, done) = (w.label(), w.label());
                if let Some(value) = value {
                    w.push(Instr::Null {});
                    value.store(w);
                }
                // Inside, the open step lies below; on the way out by `ended` it is closed first.
                self.steps(w, steps, value, Exits { failed, ended });
                w.push(Instr::Null {});
                say_value(w, value);
                w.push(Instr::Jump { to: w.to(done) });
                w.bind(ended);
                self.end_early(w, exits);
                w.bind(done);
            }
            Node::Graph(graph) => self.graph(w, graph, failed, exits),
            Node::Each(each) => self.each(w, each, number, value, this, ways),
            Node::While(body) => self.repeat(w, body, number, value, this, ways),
            Node::Par { branches, width } => {
                self.par(w, (branches, *width), value, failed, exits);
            }
        }
    }
}

/// What a list of steps gives whoever takes it is what its step has stored. Stack: the open step and null.
fn say_value(w: &mut Writer, value: Option<Taken>) {
    if let Some(value) = value {
        let (unset, next) = (w.label(), w.label());
        w.push(Instr::Pop {});
        w.push(Instr::Load { local: value.value });
        w.push(Instr::JumpFailed { to: w.to(unset) });
        w.push(Instr::StepOutput {});
        w.push(Instr::Jump { to: w.to(next) });
        w.bind(unset);
        w.push(Instr::Pop {});
        w.bind(next);
        w.push(Instr::Null {});
    }
}

/// Where control goes from a try.
#[derive(Clone, Copy)]
pub struct Ways {
    pub failed: Label,
    pub degraded: Label,
    pub exits: Exits,
}

/// Whether hooks run around a step: around those that the user wrote.
fn is_hooked(step: &Step, opening: Opening) -> bool {
    matches!(opening, Opening::Step) && !step.kind.is_hidden()
}

/// Whether a step goes on when one of its commands cannot start: what it needs itself is seen before.
fn outlives_its_commands(step: &Step) -> bool {
    matches!(&step.node, Node::Act(action) if matches!(**action, Action::Flow(_)))
}

/// Whether the run may go on after a failure in a step, though that failed for good.
fn forgives(step: &Step) -> bool {
    let recovers = match &step.node {
        Node::Act(action) => matches!(&**action, Action::Call(call) if call.recovers),
        _ => false,
    };
    step.on_failure != OnFailure::Stop || step.attempts.most > 1 || recovers
}
