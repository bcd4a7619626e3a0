//! From the program to a plan.
//!
//! Emission cannot fail: a program that came this far means something. It decides nothing either:
//! every policy stands in the IR and becomes the instruction of the same name.

mod action;
mod agents;
mod bind;
mod branches;
mod builder;
mod expr;
mod flow;
mod graph;
mod hooks;
mod loops;
mod recipe;
mod rehearse;
mod step;
mod tasks;
mod terms;
mod tries;

use crate::ir::flow::Around;
use crate::ir::{Expr, Node, Program, Step, Unit, visit};
use crate::schedule::{Set, set_by_all};
use crate::source::Sources;
use builder::{Code, Tables, Writer};
use rrc_vm::isa::{Instr, Kind};
use rrc_vm::plan::{Input, Limits, Need, NeedKind, Plan, SourceInfo};
use rrc_vm::verify::{MAX_FUEL, MAX_MEMORY};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use step::Exits;

/// Writes the code of one program.
struct Emitter<'a> {
    tables: Tables,
    code: Code,
    /// Functions that are written, in the order they were; the plan lays them out by number.
    finished: Vec<(u32, Writer)>,
    program: &'a Program,
    /// The function of each unit.
    units: Vec<u32>,
    /// What each unit sets, as far as anybody has asked.
    sets: FxHashMap<usize, Set>,
    /// The functions of each unit's hooks: before a step, after it, when it failed.
    hooks: Vec<[Option<u32>; 3]>,
    /// The unit that is being written.
    current: usize,
    /// What only the runner can give, as far as any unit reads it.
    given: Vec<&'static str>,
    /// What surrounds the commands of the flow that is being written.
    around: Around,
    /// The local that keeps the variables as they were before the step that is being written, if
    /// somebody will ask which of them it has set.
    before: Option<u8>,
    /// Whether a loop of this unit runs what is being written.
    in_loop: bool,
}

/// What a plan says about the files it was made from.
#[derive(Clone, Debug)]
pub struct Origin {
    pub name: String,
    pub hash: [u8; 32],
}

/// The plan of a program; none if there is nothing in it.
pub fn emit(program: &Program, origins: &[Origin]) -> Option<Plan> {
    let root = program.units.first()?;
    let mut emitter = Emitter::new(program);
    emitter.tables.make_room(root.steps.len());
    let entry = emitter.tables.text(&root.name);
    emitter
        .code
        .declare(entry, &[Kind::Map], &[Kind::Any, Kind::Map]);
    for unit in &program.units {
        let name = emitter.tables.text(&unit.name);
        let params = [Kind::Map, Kind::Int];
        let function = emitter.code.declare(name, &params, &[Kind::Any, Kind::Map]);
        emitter.units.push(function);
    }
    let mut w = Writer::new(1);
    w.push(Instr::Take { local: expr::SCOPE });
    w.push(Instr::Int { value: 0 });
    w.push(Instr::Call {
        function: emitter.units[0],
    });
    w.push(Instr::Return {});
    emitter.finished.push((0, w));
    for (number, unit) in program.units.iter().enumerate() {
        emitter.unit(number, unit);
    }
    let mut inputs: Vec<Input> = root
        .inputs
        .iter()
        .map(|input| Input {
            name: emitter.tables.text(&input.name),
            default: Some(emitter.tables.literal(&input.default)),
        })
        .collect();
    // What the runner knows and the recipe cannot: it has no default, so the runner gives it.
    for name in emitter.given.clone() {
        inputs.push(Input {
            name: emitter.tables.text(name),
            default: None,
        });
    }
    for name in program.units.iter().flat_map(|unit| &unit.secrets) {
        emitter.tables.need(NeedKind::Secret, name, 0);
    }
    Some(emitter.plan(inputs, origins))
}

/// Whether any unit names a variable secret: they may hand it to each other.
fn is_secret(program: &Program, name: &str) -> bool {
    let mut units = program.units.iter();
    units.any(|unit| unit.secrets.iter().any(|secret| secret == name))
}

/// Writes down which variables a recipe sets, for whoever calls its plan without knowing it.
pub fn add_outputs(plan: &mut Plan, program: &Program) {
    let Some(root) = program.units.first() else {
        return;
    };
    for name in &set_by_all(program, &root.steps).names {
        let name = plan.texts.add(name);
        let kind = NeedKind::Output;
        plan.needs.push(Need {
            kind,
            name,
            step: 0,
        });
    }
}

/// A plan that evaluates one expression over the variables it is given.
pub fn emit_expression(root: Arc<Unit>, expression: &Expr) -> Plan {
    let name = root.name.clone();
    // Places are in the sources of the program that it is an expression of.
    let mut last = root.source.0;
    visit::walk(expression, &mut |inner| {
        last = last.max(inner.span.source.0)
    });
    let program = Program { units: vec![root] };
    let mut emitter = Emitter::new(&program);
    let entry = emitter.tables.text(&name);
    emitter
        .code
        .declare(entry, &[Kind::Map], &[Kind::Any, Kind::Map]);
    let mut w = Writer::new(1);
    expr::expr(&mut w, &mut emitter.tables, expression);
    w.push(Instr::Take { local: expr::SCOPE });
    w.push(Instr::Return {});
    emitter.finished.push((0, w));
    let origin = Origin {
        name,
        hash: [0; 32],
    };
    emitter.plan(Vec::new(), &vec![origin; last as usize + 1])
}

/// The names of sources in a plan: without the directory, so that a plan does not depend on
/// where it was built.
pub fn origins(sources: &Sources, hash: impl Fn(&str) -> [u8; 32]) -> Vec<Origin> {
    sources
        .iter()
        .map(|(_, source)| Origin {
            name: source
                .name
                .rsplit(['/', '\\'])
                .next()
                .unwrap_or_default()
                .to_string(),
            hash: hash(&source.text),
        })
        .collect()
}

impl<'a> Emitter<'a> {
    fn new(program: &'a Program) -> Emitter<'a> {
        let mut given = Vec::new();
        for name in program.units.iter().flat_map(|unit| &unit.given) {
            if !given.contains(name) {
                given.push(*name);
            }
        }
        Emitter {
            tables: Tables::default(),
            code: Code::default(),
            finished: Vec::new(),
            program,
            units: Vec::new(),
            sets: FxHashMap::default(),
            hooks: vec![[None; 3]; program.units.len()],
            current: 0,
            given,
            around: Around::default(),
            before: None,
            in_loop: false,
        }
    }

    /// The function of a unit: the variables and the depth, to the outcome and the variables.
    fn unit(&mut self, number: usize, unit: &Unit) {
        self.current = number;
        let hooks = [
            ("pre_step", &unit.hooks.before),
            ("post_step", &unit.hooks.after),
            ("on_error", &unit.hooks.failed),
        ];
        for (index, (name, script)) in hooks.into_iter().enumerate() {
            if let Some(script) = script {
                self.hooks[number][index] = Some(self.hook_function(name, script));
            }
        }
        let mut w = Writer::new(2);
        w.make_room(unit.steps.len());
        let exits = Exits {
            failed: w.label(),
            ended: w.label(),
        };
        self.steps(&mut w, &unit.steps, None, exits);
        match &unit.result {
            None => w.push(Instr::Null {}),
            Some(name) => w.push(Instr::VarOrNull {
                scope: expr::SCOPE,
                name: self.tables.text(name),
            }),
        }
        w.push(Instr::Take { local: expr::SCOPE });
        w.push(Instr::Return {});
        w.bind(exits.ended);
        let partial = self.tables.text("partial");
        w.push(Instr::Text { text: partial });
        w.push(Instr::Take { local: expr::SCOPE });
        w.push(Instr::Return {});
        w.bind(exits.failed);
        w.push(Instr::Take { local: expr::SCOPE });
        w.push(Instr::Return {});
        self.finished.push((self.units[number], w));
    }

    /// Names the secret variables that a step sets.
    fn secret_outputs(&mut self, step: &Step, number: u32) {
        let collected = match &step.node {
            Node::Each(each) => [each.collect.as_ref(), each.last.as_ref()],
            Node::While(again) => [again.collect.as_ref(), again.last.as_ref()],
            _ => [None, None],
        };
        let binds = step.bind.iter().chain(collected.into_iter().flatten());
        let names = binds.map(|bind| bind.name.as_str());
        for name in names.filter(|name| is_secret(self.program, name)) {
            self.tables
                .need_of_step(NeedKind::SecretOutput, name, number);
        }
    }

    /// Says that what is on top of the stack is secret, if the variable that it goes to is.
    fn say_secret(&mut self, w: &mut Writer, name: &str) {
        if is_secret(self.program, name) {
            let name = self.tables.text(name);
            w.push(Instr::Secret { name });
        }
    }

    fn plan(mut self, inputs: Vec<Input>, origins: &[Origin]) -> Plan {
        self.finished.sort_by_key(|(function, _)| *function);
        for (function, writer) in std::mem::take(&mut self.finished) {
            writer.finish(function, &mut self.code);
        }
        let name = self.tables.text(&self.program.units[0].name);
        let dialect = self.tables.text(self.program.units[0].dialect);
        let sources = origins
            .iter()
            .map(|origin| SourceInfo {
                name: self.tables.text(&origin.name),
                hash: origin.hash,
            })
            .collect();
        Plan {
            name,
            dialect,
            limits: Limits {
                // Enough for every loop that the limits of a recipe allow, and still an end.
                fuel: MAX_FUEL,
                memory: MAX_MEMORY,
                steps: self.program.units[0].limits.steps,
                depth: self.program.units[0].limits.depth,
            },
            texts: self.tables.finish_texts(),
            constants: self.tables.constants,
            parts: self.tables.parts,
            functions: self.code.functions,
            code: self.code.code,
            calls: self.tables.calls,
            steps: self.tables.steps,
            inputs,
            needs: self.tables.needs,
            spans: self.code.spans,
            sources,
        }
    }
}
