//! Code for calls of other recipes: those that are known, and those that are found when a step runs.

use super::action::Arguments;
use super::builder::{Label, Writer};
use super::expr::{self, DEPTH, SCOPE};
use super::{Emitter, is_secret};
use crate::ir::{Call, Literal};
use crate::schedule::set_by_all;
use rrc_vm::isa::Instr;
use rrc_vm::plan::HostKind;

impl Emitter<'_> {
    /// Another recipe: its variables are made here, and what it leaves is taken apart here.
    /// Stack before: the open step; after: the open step and a reply whose output is its value.
    pub fn recipe(&mut self, w: &mut Writer, call: &Call, step: u32, failed: Label) {
        let Some(target) = call.target else {
            return self.late_recipe(w, call, step, failed);
        };
        let (depth, passed, child) = (w.local(), w.local(), w.local());
        let allowed = w.label();
        w.at(call.recipe.span);
        w.push(Instr::Load { local: DEPTH });
        self.int(w, u64::from(self.program.units[0].limits.depth));
        w.push(Instr::Less {});
        w.push(Instr::JumpIf { to: w.to(allowed) });
        let limit = self.program.units[0].limits.depth;
        let message = format!("recipes call each other deeper than the {limit} allowed");
        w.push(Instr::Fail {
            message: self.tables.text(&message),
        });
        w.push(Instr::Jump { to: w.to(failed) });
        w.bind(allowed);
        w.push(Instr::Load { local: DEPTH });
        w.push(Instr::Int { value: 1 });
        w.push(Instr::Add {});
        w.push(Instr::IntOr { to: w.to(failed) });
        w.push(Instr::Store { local: depth });

        w.push(Instr::EmptyMap {});
        w.push(Instr::Store { local: passed });
        for (name, value) in &call.context {
            expr::expr(w, &mut self.tables, value);
            w.push(Instr::JumpFailed { to: w.to(failed) });
            self.say_secret(w, name);
            w.push(Instr::SetVar {
                scope: passed,
                name: self.tables.text(name),
            });
        }
        for input in &self.program.units[target].inputs {
            if is_secret(self.program, &input.name) {
                let constant = self.tables.literal(&input.default);
                w.push(Instr::Const { constant });
                self.say_secret(w, &input.name);
                w.push(Instr::Pop {});
            }
        }
        let defaults = self.program.units[target].inputs.iter();
        let defaults = defaults
            .map(|input| (input.name.clone(), input.default.clone()))
            .collect();
        w.push(Instr::Const {
            constant: self.tables.literal(&Literal::Map(defaults)),
        });
        w.push(Instr::MapOr { to: w.to(failed) });
        // What is passed in does not come back: all variables, or those the call names.
        if call.inherits {
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Merge {});
            w.push(Instr::Load { local: SCOPE });
            w.push(Instr::Load { local: passed });
            w.push(Instr::Merge {});
            let over = w.local();
            w.push(Instr::Store { local: over });
            w.push(Instr::Load { local: passed });
            w.push(Instr::Merge {});
            w.push(Instr::Store { local: child });
            w.push(Instr::Take { local: over });
            w.push(Instr::Store { local: passed });
            w.free(over);
            self.keep_own(w, call, target, passed, failed);
        } else {
            w.push(Instr::Load { local: passed });
            w.push(Instr::Merge {});
            w.push(Instr::Store { local: child });
            for name in self.given.clone() {
                let name = self.tables.text(name);
                for scope in [child, passed] {
                    w.push(Instr::VarOrNull { scope: SCOPE, name });
                    w.push(Instr::SetVar { scope, name });
                }
            }
        }
        w.push(Instr::Take { local: child });
        w.push(Instr::Take { local: depth });
        w.push(Instr::Call {
            function: self.units[target],
        });
        w.push(Instr::Store { local: child });
        w.push(Instr::JumpFailed { to: w.to(failed) });
        w.push(Instr::Pop {});
        if call.spreads {
            w.push(Instr::Take { local: SCOPE });
            w.push(Instr::Load { local: child });
            w.push(Instr::Merge {});
            w.push(Instr::Store { local: SCOPE });
        }
        let reply = w.local();
        w.push(Instr::EmptyMap {});
        w.push(Instr::Store { local: reply });
        w.push(Instr::Take { local: child });
        w.push(Instr::Take { local: passed });
        w.push(Instr::Without {});
        w.push(Instr::SetVar {
            scope: reply,
            name: self.tables.text("stdout"),
        });
        w.push(Instr::Take { local: reply });
        for local in [depth, passed, child, reply] {
            w.free(local);
        }
    }

    /// What the recipe sets itself comes back, though the caller may have had it before: the
    /// second call of a recipe gives what the first did.
    fn keep_own(&mut self, w: &mut Writer, call: &Call, target: usize, passed: u8, failed: Label) {
        let program = self.program;
        let sets = self.sets.entry(target);
        let sets = sets.or_insert_with(|| set_by_all(program, &program.units[target].steps));
        let given = |name: &String| call.context.iter().any(|(given, _)| given == name);
        let own: Vec<(String, Literal)> = sets
            .names
            .iter()
            .filter(|name| !given(name))
            .map(|name| (name.clone(), Literal::Null))
            .collect();
        if own.is_empty() {
            return;
        }
        let names = w.local();
        w.push(Instr::Const {
            constant: self.tables.literal(&Literal::Map(own)),
        });
        w.push(Instr::MapOr { to: w.to(failed) });
        w.push(Instr::Store { local: names });
        w.push(Instr::Take { local: passed });
        w.push(Instr::Take { local: names });
        w.push(Instr::Without {});
        w.push(Instr::Store { local: passed });
        w.free(names);
    }

    /// A recipe whose name is known only when the step runs: whoever runs the plan finds it.
    fn late_recipe(&mut self, w: &mut Writer, call: &Call, step: u32, failed: Label) {
        let mut arguments = Arguments::new(HostKind::Recipe);
        self.text(w, &mut arguments, "name", &call.recipe, failed);
        match call.inherits {
            true => w.push(Instr::Load { local: SCOPE }),
            false => w.push(Instr::EmptyMap {}),
        }
        let context = arguments.open(w, "context");
        for (name, value) in &call.context {
            expr::expr(w, &mut self.tables, value);
            w.push(Instr::JumpFailed { to: w.to(failed) });
            self.say_secret(w, name);
            w.push(Instr::SetVar {
                scope: context,
                name: self.tables.text(name),
            });
        }
        let given = call.context.iter();
        let given = given.map(|(name, _)| Literal::Text(name.clone()));
        arguments.fix("given", Literal::List(given.collect()));
        w.push(Instr::Load { local: DEPTH });
        arguments.open(w, "depth");
        arguments.ask(w, &mut self.tables, step);
        w.push(Instr::JumpFailed { to: w.to(failed) });
        if !call.spreads {
            return;
        }
        let (reply, left, over) = (w.local(), w.local(), w.label());
        w.push(Instr::Store { local: reply });
        w.push(Instr::Load { local: reply });
        w.push(Instr::FieldOrNull {
            name: self.tables.text("variables"),
        });
        w.push(Instr::MapOr { to: w.to(over) });
        w.push(Instr::Store { local: left });
        w.push(Instr::Take { local: SCOPE });
        w.push(Instr::Take { local: left });
        w.push(Instr::Merge {});
        w.push(Instr::Store { local: SCOPE });
        if let Some(before) = self.before {
            w.push(Instr::Load { local: reply });
            w.push(Instr::FieldOrNull {
                name: self.tables.text("changed"),
            });
            w.push(Instr::MapOr { to: w.to(over) });
            w.push(Instr::Store { local: left });
            w.push(Instr::Take { local: before });
            w.push(Instr::Take { local: left });
            w.push(Instr::Without {});
            w.push(Instr::Store { local: before });
        }
        w.push(Instr::Null {});
        w.bind(over);
        w.push(Instr::Pop {});
        w.push(Instr::Take { local: reply });
        w.free(reply);
        w.free(left);
    }
}
