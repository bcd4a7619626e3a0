//! The walker's actions: what is asked of the outside, other recipes, and hooks; and what loops set.

use super::ir_eval::{eval, fail, literal, script, text};
use super::ir_task::{Iterations, Task, set};
use super::walk::{Out, Walker};
use rrc_compiler::ir::{Action, Bind, Call, Check, Exports, HOOK_NAMES, Node, Step, Text};
use rrc_compiler::schedule::set_by_all;
use rrc_vm::fault::{Failure, FailureKind};
use rrc_vm::isa::Status;
use rrc_vm::plan::HostKind;
use rrc_vm::value::{Map, Value};
use std::rc::Rc;

impl Walker<'_> {
    pub fn hook(
        &mut self,
        step: &Step,
        status: Status,
        failure: Option<&Failure>,
        task: &Task,
        moment: usize,
    ) {
        let unit = &self.program.units[task.unit];
        let (event, hook) = match moment {
            0 => ("pre_step", &unit.hooks.before),
            1 => ("post_step", &unit.hooks.after),
            _ => ("on_error", &unit.hooks.failed),
        };
        let Some(hook) = hook else { return };
        let status = if moment == 0 {
            "running"
        } else {
            status.word()
        };
        let message = failure.map_or(Value::Null, |f| Value::Text(f.message.clone()));
        let mut scope = task.scope.clone();
        let values = [Value::text(step.id.as_str()), Value::text(status), message];
        for (name, value) in HOOK_NAMES.into_iter().zip(values) {
            scope.insert(name.into(), value);
        }
        // A hook whose text cannot be made does not run, which is said, and nothing follows.
        let (source, vars) = match script(hook, &scope) {
            Ok(made) => made,
            Err(failure) => {
                self.saw("hook without a text");
                let message = format!("warn a hook failed: {}", failure.message);
                return self.trace.own(&task.record, message);
            }
        };
        self.saw("hook");
        let args = [
            ("script", source),
            ("event", Value::text(event)),
            ("vars", vars),
            ("ambient", ambient(unit.exports, &scope)),
            ("timeout_ms", Value::Int(30_000)),
        ];
        self.trace.call(&task.record, HostKind::Hook, &args);
    }

    /// Before a hook does something for a step, it is seen whether the step can start.
    pub fn preflight(&mut self, step: &Step, task: &Task) -> Result<(), Out> {
        let hooked = self.program.units[task.unit].hooks.before.is_some();
        let Node::Act(action) = &step.node else {
            return Ok(());
        };
        let (shell, cwd) = match &**action {
            Action::Exec(exec) => {
                let elsewhere = exec.env.iter().any(|(name, _)| name == "PATH");
                let usual = exec.shell.as_literal() == Some("/bin/bash");
                let shell = Some(&exec.shell).filter(|_| !usual && !elsewhere);
                (shell, exec.cwd.as_ref())
            }
            Action::Agent(agent) => (None, agent.cwd.as_ref()),
            _ => (None, None),
        };
        if !hooked || shell.or(cwd).is_none() {
            return Ok(());
        }
        self.saw("preflight");
        let mut args = Vec::new();
        for (name, part) in [("shell", shell), ("cwd", cwd)] {
            if let Some(part) = part {
                args.push((name, text(part, &task.scope)?));
            }
        }
        self.ask(HostKind::Preflight, args, task).map(drop)
    }

    pub fn action(&mut self, action: &Action, step: &Step, task: &mut Task) -> Result<Value, Out> {
        let scope = &task.scope;
        let optional = |part: &Option<_>| match part {
            Some(part) => text(part, scope),
            None => Ok(Value::Null),
        };
        let env = |env: &[(String, Text)]| {
            let mut map = Map::default();
            for (name, value) in env {
                map.insert(name.as_str().into(), text(value, scope)?);
            }
            Ok::<_, Rc<Failure>>(if env.is_empty() {
                Value::Null
            } else {
                Value::map(map)
            })
        };
        let deadline = || match &step.deadline {
            Some(deadline) => eval(deadline, scope),
            None => Ok(Value::Null),
        };
        let named = |name: &Option<String>| {
            name.as_ref()
                .map_or(Value::Null, |name| Value::text(name.as_str()))
        };
        let (kind, args) = match action {
            Action::Exec(exec) => {
                self.saw("exec");
                let shell = text(&exec.shell, scope)?;
                let (source, vars) = script(&exec.script, scope)?;
                let exports = match exec.is_closed() {
                    true => Exports::Nothing,
                    false => exec.exports,
                };
                let mut args = vec![
                    ("shell", shell),
                    ("script", source),
                    ("vars", vars),
                    ("ambient", ambient(exports, scope)),
                    ("env", env(&exec.env)?),
                    ("cwd", optional(&exec.cwd)?),
                    ("stdin", optional(&exec.stdin)?),
                    ("timeout_ms", deadline()?),
                    ("limit", Value::Int(exec.limit as i64)),
                ];
                if exec.stream {
                    args.push(("stream", Value::Bool(true)));
                }
                if exec.once {
                    args.push(("once", Value::Bool(true)));
                }
                (HostKind::Exec, args)
            }
            Action::Agent(agent) => {
                self.saw("agent");
                let mut args = vec![
                    ("agent", named(&agent.agent)),
                    ("mode", named(&agent.mode)),
                    ("model", named(&agent.model)),
                    ("prompt", text(&agent.prompt, scope)?),
                    ("env", env(&agent.env)?),
                    ("cwd", optional(&agent.cwd)?),
                    ("timeout_ms", deadline()?),
                ];
                if agent.once {
                    args.push(("once", Value::Bool(true)));
                }
                (HostKind::Agent, args)
            }
            Action::Call(call) => return self.call(call, task),
            Action::Flow(_) => unreachable!("flows are not generated here: see `tests/flows.rs`"),
            Action::Approve(approve) => {
                self.saw("approve");
                let ms = approve.timeout_ms.map(|ms| Value::Int(ms as i64));
                let args = vec![
                    ("stage", Value::text(approve.stage.as_str())),
                    ("prompt", text(&approve.prompt, scope)?),
                    ("timeout_ms", ms.unwrap_or(Value::Null)),
                    ("default", Value::Bool(approve.default_approve)),
                ];
                (HostKind::Approve, args)
            }
            Action::Validate(checks) => {
                self.saw("validate");
                let words = |word: fn(&Check) -> &String| {
                    let words = checks.iter().map(|check| Value::text(word(check).as_str()));
                    Value::list(words.collect())
                };
                let values: Result<Vec<Value>, _> = checks
                    .iter()
                    .map(|check| eval(&check.value, scope))
                    .collect();
                let args = vec![
                    ("names", words(|check| &check.name)),
                    ("rules", words(|check| &check.rule)),
                    ("values", Value::list(values?)),
                ];
                (HostKind::Validate, args)
            }
            Action::Sleep { ms } => {
                self.saw("sleep");
                (HostKind::Sleep, vec![("ms", eval(ms, scope)?)])
            }
        };
        self.ask(kind, args, task)
    }

    fn call(&mut self, call: &Call, task: &mut Task) -> Result<Value, Out> {
        let Some(target) = call.target else {
            self.saw("late recipe");
            let name = text(&call.recipe, &task.scope)?;
            let mut passed = match call.inherits {
                true => task.scope.clone(),
                false => Map::default(),
            };
            passed.extend(context(call, &task.scope)?);
            let given = call.context.iter();
            let given = given.map(|(name, _)| Value::text(name.as_str()));
            let args = vec![
                ("name", name),
                ("context", Value::map(passed)),
                ("given", Value::list(given.collect())),
                ("depth", Value::Int(task.depth.into())),
            ];
            return self.ask(HostKind::Recipe, args, task);
        };
        let limit = self.program.units[0].limits.depth;
        if task.depth >= limit {
            self.saw("depth limit");
            let message = format!("recipes call each other deeper than the {limit} allowed");
            return Err(fail(FailureKind::Message, message).into());
        }
        self.saw("recipe");
        let mut passed = context(call, &task.scope)?;
        let unit = &self.program.units[target];
        let defaults = unit.inputs.iter();
        let mut scope: Map = defaults
            .map(|input| (input.name.as_str().into(), literal(&input.default)))
            .collect();
        if call.inherits {
            scope.extend(task.scope.clone());
        }
        scope.extend(passed.clone());
        if call.inherits {
            let named = std::mem::replace(&mut passed, task.scope.clone());
            // What it may set itself, it gives back.
            for own in set_by_all(self.program, &unit.steps).names {
                passed.shift_remove(own.as_str());
            }
            passed.extend(named);
        } else {
            for name in &self.given {
                let value = task.scope.get(*name).cloned().unwrap_or(Value::Null);
                scope.insert((*name).into(), value.clone());
                passed.insert((*name).into(), value);
            }
        }
        let mut child = Task {
            scope,
            bound: Vec::new(),
            record: task.record.clone(),
            unit: target,
            depth: task.depth + 1,
            in_loop: false,
        };
        match self.steps(&unit.steps, false, &mut child) {
            // A recipe that ended early has completed.
            Ok(_) | Err(Out::Ended) => {}
            Err(other) => return Err(other),
        }
        let mut scope = child.scope;
        if call.spreads {
            task.scope.extend(scope.clone());
        }
        scope.retain(|name, _| !passed.contains_key(name));
        let mut reply = Map::default();
        reply.insert("stdout".into(), Value::map(scope));
        Ok(Value::map(reply))
    }
}

fn context(call: &Call, scope: &Map) -> Result<Map, Rc<Failure>> {
    let mut fields = Map::default();
    for (name, value) in &call.context {
        fields.insert(name.as_str().into(), eval(value, scope)?);
    }
    Ok(fields)
}

fn ambient(which: Exports, scope: &Map) -> Value {
    match which {
        Exports::Nothing => Value::Null,
        Exports::Everything => Value::map(scope.clone()),
    }
}

impl Walker<'_> {
    /// What a turn gave is there for what is asked and set after it.
    pub fn after_turn(&mut self, last: Option<&Bind>, run: &Iterations, task: &mut Task) {
        if let Some(bind) = last {
            self.saw("last");
            set(task, &bind.name, run.last.clone());
        }
    }

    pub fn collected(
        &mut self,
        (collect, last): (Option<&Bind>, Option<&Bind>),
        own: bool,
        run: Iterations,
        task: &mut Task,
    ) -> Value {
        let ran = !run.collected.is_empty();
        let all = Value::list(run.collected);
        let result = if collect.is_some() {
            all.clone()
        } else {
            run.last.clone()
        };
        if let Some(bind) = collect {
            self.saw("collect");
            set(task, &bind.name, all);
        }
        if let Some(bind) = last.filter(|_| ran) {
            self.saw("last");
            set(task, &bind.name, run.last);
        }
        if own || collect.or(last).is_some() {
            self.trace.own(&task.record, format!("output {result:?}"));
        }
        result
    }
}
