//! The walker's loops and groups: one turn or branch after the other, also of those that are meant to run
//! at once.

use super::ir_eval::{eval, fail};
use super::ir_task::{Given, Iterations, Shadow, Task, binds_value, bound_names, set};
use super::ir_trace::AtOnce;
use super::walk::{Out, Walker, holds, small};
use rrc_compiler::ir::{Each, Step, While};
use rrc_vm::fault::FailureKind;
use rrc_vm::flow;
use rrc_vm::text::kind_word;
use rrc_vm::value::Value;

impl Walker<'_> {
    pub fn each(&mut self, each: &Each, id: &str, task: &mut Task) -> Result<Value, Out> {
        let items = match eval(&each.over, &task.scope)? {
            Value::List(items) => items,
            other => {
                let message = format!("{} is not a list", kind_word(&other));
                return Err(fail(FailureKind::WrongType, message).into());
            }
        };
        let (most, message) = match &each.limit_from {
            None => (
                small(each.limit.into()),
                format!("the list has more items than the {} allowed", each.limit),
            ),
            Some(limit) => {
                self.saw("limit from a value");
                let wanted = [("name", "max_iterations"), ("kind", "count")];
                let wanted = wanted.map(|(name, word)| (name.into(), Value::text(word)));
                let wanted = Value::map(wanted.into_iter().collect());
                let most = match flow::fit(eval(limit, &task.scope)?, &wanted) {
                    Ok(Value::Int(most)) => most as u64,
                    Ok(other) => unreachable!("a count is a number, not {other:?}"),
                    Err((kind, message)) => return Err(fail(kind, message).into()),
                };
                let message = "the list has more items than `max_iterations` allows";
                (most, message.to_string())
            }
        };
        if items.len() as u64 > most {
            return Err(fail(FailureKind::Message, message).into());
        }
        let mut run = Iterations::default();
        match each.width {
            None => {
                self.saw("each in turn");
                let held = Shadow::new(&each.item.name, task);
                let result = self.in_turn(each, id, &items, &mut run, task);
                held.put_back(task);
                result?;
            }
            Some(width) => {
                self.saw("each at once");
                self.at_once(each, id, &items, width, &mut run, task)?;
            }
        }
        let turns = each.last_of_turns().is_some();
        let own = each.width.is_none() && (binds_value(&each.body) || turns);
        let at_end = each.last.as_ref().filter(|_| !turns);
        Ok(self.collected((each.collect.as_ref(), at_end), own, run, task))
    }

    fn in_turn(
        &mut self,
        each: &Each,
        id: &str,
        items: &[Value],
        run: &mut Iterations,
        task: &mut Task,
    ) -> Result<(), Out> {
        for (at, item) in items.iter().enumerate() {
            task.scope
                .insert(each.item.name.as_str().into(), item.clone());
            let iteration = Some((id, at as i64 + 1));
            run.add(self.step(&each.body, iteration, true, task)?);
            self.after_turn(each.last_of_turns(), run, task);
            if let Some(until) = &each.until
                && holds(until, &task.scope)?
            {
                self.saw("until");
                break;
            }
            if each.pause_ms > 0 && at + 1 < items.len() {
                self.saw("pause");
                self.sleep_after_turn(small(each.pause_ms), task)?;
            }
        }
        Ok(())
    }

    fn at_once(
        &mut self,
        each: &Each,
        id: &str,
        items: &[Value],
        width: u32,
        run: &mut Iterations,
        task: &mut Task,
    ) -> Result<(), Out> {
        self.trace.record(&task.record).at_once = Some(AtOnce {
            width: width.max(1),
        });
        let mut first = None;
        for (at, item) in items.iter().enumerate() {
            if at > 0 && each.pause_ms > 0 {
                self.saw("pause at once");
                match self.sleep(small(each.pause_ms), task) {
                    Ok(()) => {}
                    // What runs is let to its end, and nothing more is started.
                    Err(Out::Failed(failure)) => {
                        first = Some(worse(first, Out::Failed(failure)));
                        break;
                    }
                    Err(other) => return Err(other),
                }
            }
            let mut own = task.snapshot();
            own.scope
                .insert(each.item.name.as_str().into(), item.clone());
            let iteration = Some((id, at as i64 + 1));
            match self.step(&each.body, iteration, true, &mut own) {
                Ok(ended) => run.add(ended),
                Err(out @ (Out::TooLong | Out::Over(_))) => return Err(out),
                Err(out) => {
                    run.add(Given::default());
                    first = Some(worse(first, out));
                }
            }
        }
        first.map_or(Ok(()), Err)
    }

    pub fn repeat(&mut self, body: &While, id: &str, task: &mut Task) -> Result<Value, Out> {
        self.saw("while");
        let held = ["_loop_index", "_loop_iteration"].map(|name| Shadow::new(name, task));
        let mut run = Iterations::default();
        let result = self.again(body, id, &mut run, task);
        held.into_iter().for_each(|held| held.put_back(task));
        result?;
        let own = binds_value(&body.body) || body.last.is_some();
        Ok(self.collected((body.collect.as_ref(), None), own, run, task))
    }

    fn again(
        &mut self,
        body: &While,
        id: &str,
        run: &mut Iterations,
        task: &mut Task,
    ) -> Result<(), Out> {
        let mut at: i64 = 0;
        while holds(&body.condition, &task.scope)? {
            if at as u64 >= small(body.limit.into()) {
                self.saw("loop limit");
                let message = format!("the loop was ended after {} iterations", body.limit);
                self.trace.own(&task.record, format!("warn {message}"));
                break;
            }
            task.scope.insert("_loop_index".into(), Value::Int(at));
            at += 1;
            task.scope.insert("_loop_iteration".into(), Value::Int(at));
            run.add(self.step(&body.body, Some((id, at)), true, task)?);
            self.after_turn(body.last.as_ref(), run, task);
            for (bind, new) in &body.update {
                let new = eval(new, &task.scope)?;
                set(task, &bind.name, new);
            }
            if let Some(until) = &body.until
                && holds(until, &task.scope)?
            {
                self.saw("until");
                break;
            }
        }
        Ok(())
    }

    pub fn par(
        &mut self,
        branches: &[Step],
        width: Option<u32>,
        wanted: bool,
        task: &mut Task,
    ) -> Result<Given, Out> {
        self.trace.record(&task.record).at_once = Some(AtOnce {
            width: width.unwrap_or(u32::MAX).max(1),
        });
        let mut first = None;
        let mut stored = Vec::new();
        let mut given = Given::default();
        for branch in branches {
            let mut own = task.snapshot();
            let out = match self.step(branch, None, wanted, &mut own) {
                Ok(later) => {
                    given = given.then(later);
                    None
                }
                Err(out) => Some(out),
            };
            // A branch that failed stores nothing; one that ended the unit came to its end.
            if !matches!(out, Some(Out::Failed(_))) {
                let mut names = Vec::new();
                bound_names(branch, &mut names);
                names.retain(|name| own.bound.contains(name));
                let fields = names.into_iter();
                stored.extend(fields.filter_map(|name| {
                    let value = own.scope.get(&name)?.clone();
                    Some((name, value))
                }));
            }
            match out {
                Some(out @ (Out::TooLong | Out::Over(_))) => return Err(out),
                Some(out) => first = Some(worse(first, out)),
                None => {}
            }
        }
        for (name, value) in stored {
            set(task, &name, value);
        }
        first.map_or(Ok(given), Err)
    }
}

/// Of what ran at once the first failure counts, and before what only ended the unit.
fn worse(first: Option<Out>, later: Out) -> Out {
    match (first, later) {
        (None | Some(Out::Ended), later @ Out::Failed(_)) => later,
        (Some(first), _) => first,
        (None, later) => later,
    }
}
