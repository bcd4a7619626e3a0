//! What a program can do at most: steps, depth, processes at once, agent calls, time.
//!
//! Every loop has a limit and every call a depth, so most of it is arithmetic. What has no bound
//! carries the place that makes it so. The numbers may be higher than any run comes to, as
//! conditions are taken for true and every attempt for a failure. They are never too low, with one
//! exception that is said where they are explained: a command that ignores being stopped at its
//! deadline takes the grace that it is given besides.

use crate::ir::flow::{Stage, Term, TermKind, Times, Work};
use crate::ir::{
    Action, Attempts, Call, Each, Expr, ExprKind, Growth, Literal, Node, Program, Step,
};
use crate::source::Span;
use rustc_hash::FxHashMap;

/// A number that is not exceeded, or the place because of which there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Most {
    Of(u64),
    Unbounded(Span, String),
}

use Most::{Of, Unbounded};

impl Most {
    fn plus(self, other: Most) -> Most {
        self.both(other, u64::saturating_add)
    }

    fn max(self, other: Most) -> Most {
        self.both(other, u64::max)
    }

    fn both(self, other: Most, how: impl Fn(u64, u64) -> u64) -> Most {
        match (self, other) {
            (Of(a), Of(b)) => Of(how(a, b)),
            (unbounded @ Unbounded(..), _) | (_, unbounded) => unbounded,
        }
    }

    fn times(self, count: u64) -> Most {
        match self {
            _ if count == 0 => Of(0),
            Of(number) => Of(number.saturating_mul(count)),
            unbounded => unbounded,
        }
    }

    /// One less.
    fn less(self) -> Most {
        match self {
            Of(number) => Of(number.saturating_sub(1)),
            unbounded => unbounded,
        }
    }

    fn at_most(self, limit: u64) -> Most {
        match self {
            Of(number) => Of(number.min(limit)),
            Unbounded(..) => Of(limit),
        }
    }
}

/// The worst case of a program, or of a part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Worst {
    pub steps: Most,
    /// How deep recipes call each other; a recipe that calls none has 0.
    pub depth: Most,
    /// Processes at the same time.
    pub processes: Most,
    pub agents: Most,
    pub time_ms: Most,
}

impl Worst {
    const NOTHING: Worst = Worst {
        steps: Of(0),
        depth: Of(0),
        processes: Of(0),
        agents: Of(0),
        time_ms: Of(0),
    };

    fn unknown(span: Span, why: &str) -> Worst {
        let most = || Unbounded(span, why.to_string());
        Worst {
            steps: most(),
            depth: most(),
            processes: most(),
            agents: most(),
            time_ms: most(),
        }
    }

    /// One after the other.
    fn then(self, next: Worst) -> Worst {
        Worst {
            steps: self.steps.plus(next.steps),
            depth: self.depth.max(next.depth),
            processes: self.processes.max(next.processes),
            agents: self.agents.plus(next.agents),
            time_ms: self.time_ms.plus(next.time_ms),
        }
    }

    /// Again and again, `width` at the same time.
    fn repeat(self, count: u64, width: u64) -> Worst {
        let width = width.clamp(1, count.max(1));
        Worst {
            steps: self.steps.times(count),
            depth: self.depth.times(count.min(1)),
            processes: self.processes.times(width.min(count)),
            agents: self.agents.times(count),
            time_ms: self.time_ms.times(count.div_ceil(width)),
        }
    }

    /// What the limits of the run do not allow does not happen.
    fn within(self, steps: u64, depth: u64) -> Worst {
        Worst {
            // A template counts no steps, so it has no limit of them.
            steps: match steps == u64::from(u32::MAX) {
                true => self.steps,
                false => self.steps.at_most(steps),
            },
            depth: self.depth.at_most(depth),
            ..self
        }
    }
}

/// The worst case of a program; none if there is none.
pub fn worst(program: &Program) -> Option<Worst> {
    let limits = program.units.first()?.limits;
    let mut walk = Walk {
        program,
        path: Vec::new(),
        in_loop: false,
        known: FxHashMap::default(),
    };
    let worst = walk.unit(0);
    Some(worst.within(u64::from(limits.steps), u64::from(limits.depth)))
}

struct Walk<'a> {
    program: &'a Program,
    /// The units that are being called.
    path: Vec<usize>,
    /// Whether a loop of the unit runs what is being looked at: its steps do not count.
    in_loop: bool,
    known: FxHashMap<usize, Worst>,
}

impl Walk<'_> {
    fn unit(&mut self, number: usize) -> Worst {
        if let Some(known) = self.known.get(&number) {
            return known.clone();
        }
        self.path.push(number);
        let outside = std::mem::take(&mut self.in_loop);
        let unit = &self.program.units[number];
        let hook = unit.hooks.scripts().next().map(|hook| hook.span);
        let found = self.steps(&unit.steps, hook);
        self.in_loop = outside;
        self.path.pop();
        self.known.insert(number, found.clone());
        found
    }

    fn steps(&mut self, steps: &[Step], hook: Option<Span>) -> Worst {
        let all = steps.iter().map(|step| self.step(step, hook));
        all.fold(Worst::NOTHING, Worst::then)
    }

    fn step(&mut self, step: &Step, hook: Option<Span>) -> Worst {
        let inside = match &step.node {
            Node::Seq(steps) => self.steps(steps, hook),
            Node::Par { branches, width } => self.at_once(branches, *width, hook),
            // At worst, all at once as far as processes go, and one by one as far as time does.
            Node::Graph(graph) => Worst {
                time_ms: self.steps(&graph.steps, hook).time_ms,
                ..self.at_once(&graph.steps, None, hook)
            },
            Node::Each(each) => self.each(each, hook),
            Node::While(body) => {
                let once = self.turn(&body.body, hook);
                once.repeat(u64::from(body.limit), 1)
            }
            Node::Act(action) => self.action(action, step),
        };
        let attempts = u64::from(step.attempts.most.max(1));
        let mut worst = inside.repeat(attempts, 1);
        worst.time_ms = worst.time_ms.plus(Of(pauses(&step.attempts)));
        if !step.kind.is_hidden() {
            worst.steps = worst.steps.plus(Of(u64::from(!self.in_loop)));
            if let Some(span) = hook {
                worst.processes = worst.processes.max(Of(1));
                worst.time_ms = worst
                    .time_ms
                    .plus(Unbounded(span, "hooks have no timeout".to_string()));
            }
        }
        worst
    }

    /// The body of a loop, once.
    fn turn(&mut self, body: &Step, hook: Option<Span>) -> Worst {
        let outside = std::mem::replace(&mut self.in_loop, true);
        let once = self.step(body, hook);
        self.in_loop = outside;
        once
    }

    fn at_once(&mut self, branches: &[Step], width: Option<u32>, hook: Option<Span>) -> Worst {
        let all: Vec<Worst> = branches.iter().map(|step| self.step(step, hook)).collect();
        let width = width.map_or(all.len(), |width| width.max(1) as usize);
        let mut sum = all.iter().cloned().fold(Worst::NOTHING, Worst::then);
        let longest = all
            .iter()
            .fold(Of(0), |most, branch| most.max(branch.time_ms.clone()));
        let mut processes: Vec<u64> = Vec::new();
        for branch in &all {
            match &branch.processes {
                Of(number) => processes.push(*number),
                unbounded => {
                    sum.processes = unbounded.clone();
                    processes.clear();
                    break;
                }
            }
        }
        if matches!(sum.processes, Of(_)) {
            processes.sort_unstable_by(|a, b| b.cmp(a));
            let most = processes
                .iter()
                .take(width)
                .fold(0, |sum: u64, number| sum.saturating_add(*number));
            sum.processes = Of(most);
        }
        // Whenever a branch starts late, all places are taken: none waits longer than the rest
        // of the work, shared among them.
        sum.time_ms = match (sum.time_ms, longest) {
            (Of(total), Of(longest)) => {
                let rest = total - longest;
                Of(longest.saturating_add(match width >= all.len() {
                    true => 0,
                    false => rest.div_ceil(width as u64),
                }))
            }
            (unbounded, _) => unbounded,
        };
        sum
    }

    fn each(&mut self, each: &Each, hook: Option<Span>) -> Worst {
        let written = match &each.over.kind {
            ExprKind::List(items) => items.len() as u64,
            ExprKind::Literal(Literal::List(items)) => items.len() as u64,
            _ => u64::MAX,
        };
        let count = written.min(u64::from(each.limit));
        let width = each.width.map_or(1, |width| u64::from(width.max(1)));
        let mut worst = self.turn(&each.body, hook).repeat(count, width);
        let pauses = each.pause_ms.saturating_mul(count.saturating_sub(1));
        worst.time_ms = worst.time_ms.plus(Of(pauses));
        worst
    }

    fn action(&mut self, action: &Action, step: &Step) -> Worst {
        let nothing = Worst::NOTHING;
        let deadline = || match &step.deadline {
            Some(deadline) => constant(deadline),
            None => {
                let why = format!("`{}` has no timeout", step.id);
                Unbounded(step.span, why)
            }
        };
        match action {
            Action::Exec(_) => Worst {
                processes: Of(1),
                time_ms: deadline(),
                ..nothing
            },
            Action::Agent(_) => Worst {
                processes: Of(1),
                agents: Of(1),
                time_ms: deadline(),
                ..nothing
            },
            Action::Call(call) => self.call(call),
            Action::Approve(approve) => Worst {
                time_ms: approve.timeout_ms.map_or_else(
                    || {
                        let why = "the approval waits for ever";
                        Unbounded(approve.prompt.span, why.to_string())
                    },
                    Of,
                ),
                ..nothing
            },
            Action::Validate(_) => nothing,
            Action::Flow(flow) => {
                let worst = stage(&flow.root);
                Worst {
                    // In a recipe the step counts, which is one whatever it is made of.
                    steps: match step.kind.is_hidden() {
                        true => worst.steps,
                        false => Of(0),
                    },
                    time_ms: match &step.deadline {
                        Some(deadline) => constant(deadline),
                        None => worst.time_ms,
                    },
                    ..worst
                }
            }
            Action::Sleep { ms } => Worst {
                time_ms: constant(ms),
                ..nothing
            },
        }
    }

    fn call(&mut self, call: &Call) -> Worst {
        let span = call.recipe.span;
        let Some(target) = call.target else {
            return Worst::unknown(span, "which recipe this calls is known only when it runs");
        };
        if self.path.contains(&target) {
            let name = &self.program.units[target].name;
            return Worst::unknown(span, &format!("`{name}` calls itself in the end"));
        }
        let mut worst = self.unit(target);
        worst.depth = worst.depth.plus(Of(1));
        worst
    }
}

/// Milliseconds that stand in the file.
fn constant(ms: &Expr) -> Most {
    match &ms.kind {
        ExprKind::Literal(Literal::Int(number)) => Of(u64::try_from(*number).unwrap_or(0)),
        ExprKind::Literal(Literal::Float(number)) => Of(number.max(0.0).ceil() as u64),
        _ => Unbounded(
            ms.span,
            "how long it may take is known only when it runs".to_string(),
        ),
    }
}

/// All pauses between the attempts of a step.
fn pauses(attempts: &Attempts) -> u64 {
    let longest = attempts.longest_pause_ms;
    let mut pause = attempts.first_pause_ms.min(longest);
    let mut left = u64::from(attempts.most.saturating_sub(1));
    let mut sum = 0u64;
    while left > 0 && pause < longest && pause > 0 {
        sum = sum.saturating_add(pause);
        left -= 1;
        let next = match attempts.growth {
            Growth::Doubling => pause.saturating_mul(2),
            Growth::Linear => pause.saturating_add(attempts.first_pause_ms),
        };
        pause = next.min(longest);
    }
    sum.saturating_add(pause.saturating_mul(left))
}

/// A flow: each command is a step, for as often as it is tried.
fn stage(stage: &Stage) -> Worst {
    let late = stage
        .deadline
        .as_ref()
        .map(number)
        .filter(|ms| *ms != Of(0));
    let mut once = match &stage.work {
        Work::Run { .. } => Worst {
            steps: Of(1),
            processes: Of(1),
            time_ms: late.clone().unwrap_or_else(|| {
                let why = format!("`{}` has no timeout", stage.id);
                Unbounded(stage.span, why)
            }),
            ..Worst::NOTHING
        },
        Work::Inside(inner) => self::stage(inner),
        Work::Seq(all) => all
            .iter()
            .map(self::stage)
            .fold(Worst::NOTHING, Worst::then),
        Work::Par(all) => all.iter().map(self::stage).fold(Worst::NOTHING, beside),
        Work::Times(times) => turns(times),
    };
    if let Some(tries) = &stage.tries {
        let between = tries.recover.as_deref().map(self::stage);
        let count = number(&tries.most);
        let again = often(between.unwrap_or(Worst::NOTHING), count.clone().less());
        once = often(once, count).then(again);
    }
    // That of a command is for each try.
    if let Some(late) = late.filter(|_| !stage.is_command()) {
        once.time_ms = match (once.time_ms, late) {
            (Of(time), Of(late)) => Of(time.min(late)),
            (_, late) => late,
        };
    }
    let pause = stage.pause.as_ref().map_or(Of(0), number);
    once.time_ms = pause.plus(once.time_ms);
    once
}

fn turns(times: &Times) -> Worst {
    let body = stage(&times.body);
    let count = number(&times.count);
    match times.at_once {
        false => often(body, count),
        true => Worst {
            processes: match &count {
                Of(count) => body.processes.clone().times(*count),
                unbounded => unbounded.clone(),
            },
            time_ms: body.time_ms.clone(),
            ..often(body, count)
        },
    }
}

/// One after the other, so many times.
fn often(once: Worst, count: Most) -> Worst {
    match count {
        Of(count) => once.repeat(count, 1),
        unbounded => Worst {
            steps: once.steps.plus(unbounded.clone()),
            time_ms: once.time_ms.plus(unbounded),
            ..once
        },
    }
}

/// At the same time.
fn beside(one: Worst, other: Worst) -> Worst {
    Worst {
        processes: one.processes.clone().plus(other.processes.clone()),
        time_ms: one.time_ms.clone().max(other.time_ms.clone()),
        ..one.then(other)
    }
}

/// A number of a stage that stands in the file.
fn number(term: &Term) -> Most {
    match &term.kind {
        TermKind::Literal(Literal::Int(number)) => Of(u64::try_from(*number).unwrap_or(0)),
        _ => Unbounded(
            term.span,
            "how much this is, is known only when it runs".to_string(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;
    use crate::world::Texts;

    fn of(steps: &str) -> Worst {
        let text = format!(
            "name: a\nversion: 1.0.0\ndescription: d\ncontext: {{xs: [1]}}\nsteps:\n{steps}"
        );
        let mut sources = Sources::default();
        let world = Texts::one("a.yaml", text);
        let checked = crate::check(&world, "a.yaml", Default::default(), &mut sources);
        assert!(!checked.report.has_errors(), "{:?}", checked.report);
        worst(&checked.program).expect("there is a recipe")
    }

    #[test]
    fn attempts_take_their_time_and_their_pauses() {
        let worst = of(
            "- {id: a, type: bash, command: 'true', timeout: 10, retry: {max_attempts: 3, initial_delay: 1, backoff: exponential}}\n",
        );
        assert_eq!(worst.time_ms, Of(33_000));
        assert_eq!((worst.steps, worst.processes), (Of(1), Of(1)));
    }

    #[test]
    fn a_loop_is_its_body_as_often_as_it_may_go_round() {
        let worst = of(
            "- {id: a, type: bash, command: 'echo {{x}}', timeout: 10, foreach: '{{xs}}', max_iterations: 5, as: x, parallel: 2}\n",
        );
        assert_eq!(worst.time_ms, Of(30_000));
        assert_eq!(worst.processes, Of(2));
    }

    fn of_template(text: &str) -> Worst {
        let mut sources = Sources::default();
        let world = Texts::one("a.json", text);
        let checked = crate::check(&world, "a.json", Default::default(), &mut sources);
        assert!(!checked.report.has_errors(), "{:?}", checked.report);
        worst(&checked.program).expect("there is a template")
    }

    #[test]
    fn commands_of_a_template_are_its_steps() {
        let one = of_template(r#"{"timeout": 500, "delay": 20, "retry": 3, "template": "p x"}"#);
        assert_eq!((one.steps, one.processes), (Of(3), Of(1)));
        assert_eq!(one.time_ms, Of(1520));
        let group = r#"{"timeout": 500, "template": ["a", {"repeat": 4, "template": "b"}]}"#;
        let group = of_template(group);
        assert_eq!((group.steps, group.time_ms), (Of(5), Of(500)));
        let beside = r#"{"parallel": true, "repeat": 3, "template": [
            {"timeout": 500, "template": "a"}, {"timeout": 700, "template": "b"}]}"#;
        let beside = of_template(beside);
        assert_eq!((beside.steps, beside.processes), (Of(6), Of(6)));
        assert_eq!(beside.time_ms, Of(700));
        let none = of_template(r#"{"timeout": 0, "template": "p x"}"#);
        assert!(matches!(none.time_ms, Unbounded(..)));
        let given = of_template(r#"{"timeout": 5, "repeat": "{n}", "template": "p x"}"#);
        assert!(matches!(given.steps, Unbounded(..)));
    }

    #[test]
    fn pauses_add_up_without_counting_to_the_end() {
        let attempts = Attempts {
            most: u32::MAX,
            first_pause_ms: 1000,
            longest_pause_ms: 4000,
            growth: Growth::Doubling,
        };
        let rest = (u64::from(u32::MAX) - 3) * 4000;
        assert_eq!(pauses(&attempts), 1000 + 2000 + rest);
        assert_eq!(pauses(&Attempts::ONCE), 0);
    }
}
