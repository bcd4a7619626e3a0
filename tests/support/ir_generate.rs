//! Random programs of the IR: every node, every policy, and names that are sometimes not set.
//!
//! Programs make no sense, but they keep what front ends promise: branches that run at once set
//! variables of their own only.

use rrc_compiler::ir::{
    Action, Agent, Approve, Attempts, Bind, Call, Check, Compare, Each, Equality, Exec, Exports,
    Expr, ExprKind, Form, Growth, Guard, HOOK_NAMES, Hooks, Input, Literal, Missing, Node,
    OnFailure, Part, Program, Read, RunLimits, SESSION, Script, ScriptPart, ScriptVar, Staging,
    Step, Store, Text, Truth, Unit, VarForm, While,
};
use rrc_compiler::source::{SourceId, Span};
use rrc_vm::generate::Random;
use rrc_vm::isa::BUILTINS;
use rrc_vm::plan::StepKind;
use std::sync::Arc;

const NAMES: [&str; 8] = ["a", "b", "c", "d", "x-y", "list", "object", "n"];

const TEXTS: [&str; 14] = [
    "",
    "0",
    "false",
    "None",
    "no",
    " 7 ",
    "-12",
    "it's\ntwo",
    "EOF\nEOF_",
    "[1,2]",
    "x",
    "é",
    "a",
    "{\"a\": 1}",
];

fn span() -> Span {
    Span::new(SourceId(0), 0, 0)
}

pub fn program(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let units = 1 + [0, 0, 0, 1, 2][random.below(5)];
    // Which of several steps at once exceeds a limit depends on the order of replies.
    let at_once = !random.once_in(6);
    let steps = match at_once {
        true => u32::MAX,
        false => 1 + random.below(12) as u32,
    };
    let mut generator = Generator {
        random,
        units,
        at_once,
        next_id: 0,
        names: NAMES.iter().map(ToString::to_string).collect(),
        beside: false,
    };
    let limits = RunLimits {
        depth: generator.random.below(4) as u32,
        steps,
        skipped_elsewhere: false,
    };
    let units = (0..units).map(|_| Arc::new(generator.unit(limits)));
    Program {
        units: units.collect(),
    }
}

struct Generator {
    random: Random,
    units: usize,
    at_once: bool,
    next_id: u32,
    /// What the steps that are being made may set.
    names: Vec<String>,
    /// Whether other steps may run beside these.
    beside: bool,
}

impl Generator {
    fn one_of<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len())].clone()
    }

    fn maybe<T>(&mut self, once_in: usize, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.random.once_in(once_in).then(|| make(self))
    }

    fn some<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.random.below(most + 1);
        (0..count).map(|_| make(self)).collect()
    }

    fn unit(&mut self, limits: RunLimits) -> Unit {
        let mut inputs: Vec<Input> = Vec::new();
        for name in NAMES {
            if !self.random.once_in(3) {
                let default = match name {
                    "list" => Literal::List(self.some(4, |g| g.literal(1))),
                    "n" => Literal::Int(self.random.below(5) as i64),
                    _ => self.literal(2),
                };
                inputs.push(Input {
                    name: name.to_string(),
                    span: span(),
                    default,
                });
            }
        }
        let hooks = match self.random.once_in(3) {
            true => Hooks {
                before: self.maybe(2, |g| g.hook()),
                after: self.maybe(2, |g| g.hook()),
                failed: self.maybe(2, |g| g.hook()),
            },
            false => Hooks::default(),
        };
        let count = 1 + self.random.below(5);
        Unit {
            source: SourceId(0),
            name: "unit".to_string(),
            dialect: "none",
            inputs,
            reserved: &[],
            given: match self.random.once_in(3) {
                true => vec![SESSION],
                false => Vec::new(),
            },
            optional: Vec::new(),
            secrets: Vec::new(),
            secret_places: Vec::new(),
            limits,
            exports: self.exports(),
            hooks,
            steps: match self.random.once_in(25) {
                true => {
                    let height = 10 + self.random.below(50);
                    vec![self.tower(height)]
                }
                false => (0..count).map(|_| self.step(3, None)).collect(),
            },
            pace: None,
            result: None,
            open: false,
        }
    }

    /// Loops in loops in loops: more than one function has room for. Nothing on the way down
    /// fails, so that the bottom is reached.
    fn tower(&mut self, height: usize) -> Step {
        let mut step = self.step(1, None);
        for _ in 0..height {
            let mut around = self.step(1, None);
            around.guard = None;
            // The body of a loop goes by the name of its loop.
            around.node = match self.random.below(4) {
                0 => Node::Seq(vec![step]),
                1 => {
                    let mut body = self.repeat(1, &around.id);
                    body.condition.expr = Literal::Bool(true).expr(span());
                    (body.until, body.update, body.limit) = (None, Vec::new(), 1);
                    body.body.guard = None;
                    body.body.node = Node::Seq(vec![step]);
                    Node::While(Box::new(body))
                }
                _ => {
                    let mut each = self.each(1, &around.id);
                    each.over = Literal::List(vec![self.literal(1)]).expr(span());
                    (each.until, each.width, each.limit) = (None, None, 1);
                    each.body.guard = None;
                    each.body.node = Node::Seq(vec![step]);
                    Node::Each(Box::new(each))
                }
            };
            step = around;
        }
        step
    }

    fn exports(&mut self) -> Exports {
        self.one_of(&[Exports::Nothing, Exports::Nothing, Exports::Everything])
    }

    fn hook(&mut self) -> Script {
        let mut script = self.script();
        for name in HOOK_NAMES {
            if self.random.once_in(2) {
                let value = variable(name, Missing::Null);
                script.parts.push(ScriptPart::Paste(value));
            }
        }
        script
    }

    fn literal(&mut self, deeper: usize) -> Literal {
        match self.random.below(if deeper == 0 { 8 } else { 11 }) {
            0 => Literal::Null,
            1 => Literal::Bool(self.random.once_in(2)),
            2 | 3 => Literal::Int(self.random.below(6) as i64 - 1),
            4 => self.one_of(&[
                Literal::Int(i64::MAX),
                Literal::Int(i64::MIN),
                Literal::Int(1 << 40),
                Literal::Float(0.0),
                Literal::Float(2.5),
                Literal::Float(-3.0),
            ]),
            5..=7 => Literal::Text(self.one_of(&TEXTS).to_string()),
            8 | 9 => Literal::List(self.some(3, |g| g.literal(deeper - 1))),
            _ => {
                let mut fields: Vec<(String, Literal)> = Vec::new();
                for name in ["a", "b", "stdout"] {
                    if self.random.once_in(2) {
                        fields.push((name.to_string(), self.literal(deeper - 1)));
                    }
                }
                Literal::Map(fields)
            }
        }
    }

    fn missing(&mut self) -> Missing {
        match self.random.once_in(12) {
            true => Missing::Fail,
            false => Missing::Null,
        }
    }

    fn truth(&mut self) -> Truth {
        self.one_of(&[Truth::Words, Truth::Emptiness, Truth::Flags])
    }

    fn name(&mut self) -> String {
        let extra = ["item", "_loop_index", "_loop_iteration", SESSION, "gone"];
        match self.random.below(6) {
            0 => self.one_of(&extra).to_string(),
            _ => self.one_of(&NAMES).to_string(),
        }
    }

    fn expr(&mut self, deeper: usize) -> Expr {
        let boxed = |g: &mut Self| Box::new(g.expr(deeper.saturating_sub(1)));
        let kind = match self.random.below(if deeper == 0 { 5 } else { 18 }) {
            0 | 1 => ExprKind::Literal(self.literal(1)),
            2..=4 => {
                let missing = self.missing();
                return variable(&self.name(), missing);
            }
            5 => ExprKind::Field {
                of: boxed(self),
                name: self.one_of(&["a", "b", "stdout"]).to_string(),
                missing: self.missing(),
            },
            6 => ExprKind::Index {
                of: boxed(self),
                at: boxed(self),
                missing: self.missing(),
            },
            7 => {
                // Longer than the operand of one instruction can say, now and then.
                let most = if self.random.once_in(60) { 300 } else { 3 };
                ExprKind::List(self.some(most, |g| g.expr(deeper.min(2) - 1)))
            }
            8 => {
                let mut fields = Vec::new();
                for name in ["a", "b", "c"] {
                    if self.random.once_in(2) {
                        fields.push((name.to_string(), self.expr(deeper - 1)));
                    }
                }
                ExprKind::Map(fields)
            }
            9 => ExprKind::Seconds {
                of: boxed(self),
                none: self.random.once_in(2),
            },
            10 | 11 => ExprKind::Compare {
                op: self.one_of(&[
                    Compare::Eq,
                    Compare::Ne,
                    Compare::Lt,
                    Compare::Le,
                    Compare::Gt,
                    Compare::Ge,
                    Compare::In,
                    Compare::NotIn,
                ]),
                equality: self.one_of(&[Equality::NumbersFirst, Equality::ByType]),
                left: boxed(self),
                right: boxed(self),
            },
            12 => ExprKind::Not {
                of: boxed(self),
                truth: self.truth(),
            },
            13 => ExprKind::And {
                left: boxed(self),
                right: boxed(self),
                truth: self.truth(),
            },
            14 => ExprKind::Or {
                left: boxed(self),
                right: boxed(self),
                truth: self.truth(),
            },
            15 => ExprKind::Truth {
                of: boxed(self),
                truth: self.truth(),
            },
            16 => {
                let info = &BUILTINS[self.random.below(BUILTINS.len())];
                let more = self.random.below(3).min((info.most - info.least).into());
                let count = usize::from(info.least) + more;
                ExprKind::Call {
                    builtin: info.builtin,
                    args: (0..count).map(|_| self.expr(deeper - 1)).collect(),
                }
            }
            _ => ExprKind::Text(self.text(deeper - 1)),
        };
        Expr { span: span(), kind }
    }

    fn text(&mut self, deeper: usize) -> Text {
        let most = if self.random.once_in(80) { 150 } else { 3 };
        let parts = self.some(most, |g| match g.random.below(3) {
            0 => Part::Literal(g.one_of(&TEXTS).to_string()),
            _ => Part::Value {
                expr: g.expr(deeper.min(1)),
                form: g.one_of(&[Form::Plain, Form::Plain, Form::Json]),
            },
        });
        Text {
            span: span(),
            parts,
        }
    }

    fn guard(&mut self) -> Guard {
        Guard {
            expr: self.expr(3),
            truth: self.truth(),
        }
    }

    fn script(&mut self) -> Script {
        let parts = self.some(4, |g| g.script_part(1));
        let forms = [
            VarForm::Text,
            VarForm::Text,
            VarForm::Integer,
            VarForm::IntegerOrEmpty,
        ];
        let vars = self.some(2, |g| ScriptVar {
            name: g.one_of(&["V", "W", "RECIPE_VAR_a"]).to_string(),
            value: g.expr(1),
            form: g.one_of(&forms),
            path: None,
        });
        Script {
            span: span(),
            parts,
            vars,
            mentions: Vec::new(),
            nounset: false,
        }
    }

    fn script_part(&mut self, deeper: usize) -> ScriptPart {
        match self.random.below(if deeper == 0 { 5 } else { 6 }) {
            0..=2 => ScriptPart::Source(self.one_of(&["echo ", "\n", "cat <<'EOF'\n"]).to_string()),
            3 => ScriptPart::Paste(self.expr(1)),
            4 => ScriptPart::Words(self.expr(1)),
            _ => ScriptPart::Delimiter {
                base: "EOF".to_string(),
                body: self.some(3, |g| g.script_part(0)),
            },
        }
    }

    fn bind_to(&mut self, read: Read) -> Option<Bind> {
        let at = self.random.below(self.names.len().max(1));
        let name = self.names.get(at)?.clone();
        Some(Bind {
            name,
            span: span(),
            read,
        })
    }

    fn maybe_bind(&mut self, once_in: usize) -> Option<Bind> {
        self.maybe(once_in, |g| g.bind_to(Read::Value)).flatten()
    }

    /// A step; the body of the loop with this id, if one is given.
    fn step(&mut self, deeper: usize, of_loop: Option<&str>) -> Step {
        let id = match of_loop {
            Some(id) => id.to_string(),
            None => {
                self.next_id += 1;
                format!("s{}", self.next_id)
            }
        };
        let attempts = match self.random.once_in(4) {
            true => Attempts {
                most: self.random.below(5) as u32,
                first_pause_ms: self.one_of(&[0, 0, 5, 300, 1 << 40]),
                longest_pause_ms: self.one_of(&[0, 7, 100, 1000, u64::MAX]),
                growth: self.one_of(&[Growth::Linear, Growth::Doubling]),
            },
            false => Attempts::ONCE,
        };
        let reads = [Read::Value, Read::Value, Read::ExitCode, Read::Stderr];
        let bind = self.some(3, |g| {
            let read = g.one_of(&reads);
            g.bind_to(read)
        });
        let on_failure = [
            OnFailure::Continue { keep_output: true },
            OnFailure::Continue { keep_output: false },
            OnFailure::Continue { keep_output: true },
            OnFailure::Continue { keep_output: false },
            OnFailure::SkipRest,
            OnFailure::Stop,
        ];
        let kinds = [
            StepKind::Bash,
            StepKind::Bash,
            StepKind::Bash,
            StepKind::Group,
        ];
        Step {
            kind: self.one_of(&kinds),
            span: span(),
            guard: self.maybe(4, Self::guard),
            attempts,
            deadline: self.maybe(3, |g| g.expr(2)),
            on_failure: self.one_of(&on_failure),
            store: self.one_of(&[
                Store::AsIs,
                Store::Exact,
                Store::JsonOrText,
                Store::Json { trim: false },
                Store::Json { trim: true },
                Store::JsonOrDegrade,
            ]),
            bind: bind.into_iter().flatten().collect(),
            node: self.node(deeper, &id),
            id,
        }
    }

    fn node(&mut self, deeper: usize, id: &str) -> Node {
        if deeper == 0 || self.random.once_in(3) {
            return Node::Act(Box::new(self.action()));
        }
        match self.random.below(5) {
            0 => Node::Seq(self.some(3, |g| g.step(deeper - 1, None))),
            1 => Node::While(Box::new(self.repeat(deeper, id))),
            2 if self.at_once => self.par(deeper),
            _ => Node::Each(Box::new(self.each(deeper, id))),
        }
    }

    fn each(&mut self, deeper: usize, id: &str) -> Each {
        let at_once = self.at_once && self.random.once_in(2);
        let over = match self.random.below(8) {
            0 => self.expr(2),
            1 | 2 => variable("list", Missing::Null),
            _ => Literal::List(self.some(4, |g| g.literal(1))).expr(span()),
        };
        let item = match self.random.once_in(4) {
            true => self.one_of(&NAMES),
            false => "item",
        };
        // Iterations that run at once share nothing, so they may set anything.
        let beside = self.beside;
        self.beside |= at_once;
        let body = self.step(deeper - 1, Some(id));
        self.beside = beside;
        Each {
            over,
            item: Bind {
                name: item.to_string(),
                span: span(),
                read: Read::Value,
            },
            collect: self.maybe_bind(2),
            last: self.maybe_bind(3),
            width: at_once.then(|| self.one_of(&[0, 1, 2, 3, u32::MAX])),
            pause_ms: self.one_of(&[0, 0, 20]),
            limit: self.one_of(&[0, 3, 100, 100, u32::MAX]),
            limit_from: self.maybe(6, |g| g.expr(1)),
            until: match at_once {
                true => None,
                false => self.maybe(3, Self::guard),
            },
            body,
        }
    }

    fn repeat(&mut self, deeper: usize, id: &str) -> While {
        // Mostly true for a while: what loops is what is to be seen.
        let condition = match self.random.below(3) {
            0 => self.guard(),
            _ => Guard {
                expr: Literal::Bool(true).expr(span()),
                truth: self.truth(),
            },
        };
        let body = self.step(deeper - 1, Some(id));
        let update = self.some(2, |g| Some((g.bind_to(Read::Value)?, g.expr(2))));
        While {
            condition,
            until: self.maybe(2, Self::guard),
            limit: self.random.below(4) as u32,
            update: update.into_iter().flatten().collect(),
            collect: self.maybe_bind(2),
            last: self.maybe_bind(3),
            body,
        }
    }

    fn par(&mut self, deeper: usize) -> Node {
        let all = self.names.clone();
        let beside = std::mem::replace(&mut self.beside, true);
        let count = self.random.below(4);
        let branches = (0..count)
            .map(|branch| {
                let own = all.iter().skip(branch).step_by(count);
                self.names = own.cloned().collect();
                self.step(deeper - 1, None)
            })
            .collect();
        self.names = all;
        self.beside = beside;
        Node::Par {
            branches,
            width: self.maybe(2, |g| g.random.below(3) as u32),
        }
    }

    fn env(&mut self) -> Vec<(String, Text)> {
        let mut env = Vec::new();
        for name in ["E", "F"] {
            if self.random.once_in(4) {
                env.push((name.to_string(), self.text(1)));
            }
        }
        env
    }

    fn action(&mut self) -> Action {
        match self.random.below(16) {
            0..=8 => Action::Exec(Exec {
                shell: match self.random.once_in(5) {
                    true => self.text(1),
                    false => Text::literal(span(), "/bin/bash"),
                },
                script: self.script(),
                env: self.env(),
                cwd: self.maybe(5, |g| g.text(1)),
                stdin: self.maybe(5, |g| g.text(1)),
                exports: self.exports(),
                limit: 1000,
                stream: self.random.once_in(5),
                once: self.random.once_in(9),
            }),
            9 | 10 => Action::Agent(Agent {
                agent: self.maybe(2, |_| "who".to_string()),
                prompt: self.text(2),
                mode: self.maybe(3, |_| "plan".to_string()),
                model: self.maybe(3, |_| "m".to_string()),
                cwd: self.maybe(4, |g| g.text(1)),
                env: self.env(),
                once: self.random.once_in(9),
                staging: Staging::Never,
            }),
            11 | 12 => Action::Call(self.call()),
            13 => Action::Approve(Approve {
                stage: "gate".to_string(),
                prompt: self.text(1),
                timeout_ms: self.maybe(2, |_| 1000),
                default_approve: self.random.once_in(2),
            }),
            14 => {
                let check = |name: &str, value| Check {
                    name: name.to_string(),
                    rule: "path".to_string(),
                    value,
                };
                let fixed = ExprKind::Literal(Literal::Text("b".to_string()));
                let fixed = Expr {
                    span: span(),
                    kind: fixed,
                };
                Action::Validate(vec![check("a", self.expr(2)), check("b", fixed)])
            }
            _ => Action::Sleep { ms: self.expr(1) },
        }
    }

    fn call(&mut self) -> Call {
        let context = self.some(2, |g| (g.one_of(&NAMES).to_string(), g.expr(2)));
        let mut unique: Vec<(String, Expr)> = Vec::new();
        for (name, value) in context {
            if !unique.iter().any(|(known, _)| *known == name) {
                unique.push((name, value));
            }
        }
        let target = self.random.below(self.units);
        Call {
            recipe: self.text(1),
            context: unique,
            names: Vec::new(),
            inherits: self.random.once_in(2),
            // What a recipe spreads could meet what is set beside it.
            spreads: !self.beside && self.random.once_in(2),
            target: (!self.random.once_in(4)).then_some(target),
            once: false,
            recovers: false,
        }
    }
}

fn variable(name: &str, missing: Missing) -> Expr {
    Expr {
        span: span(),
        kind: ExprKind::Var {
            name: name.to_string(),
            missing,
        },
    }
}
