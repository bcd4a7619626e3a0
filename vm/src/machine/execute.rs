//! What each instruction does: the one exhaustive match over the list.
//!
//! The stack has what the verifier proved it to have. Where a value is of another kind all the
//! same, the instruction goes on with nothing rather than to panic; the laws, which run with
//! assertions, would find it.

use super::operations::{
    divides, fail, failure_map, fits, holds, integer, integers, is_true, no_number, or_failure,
    small, wrong_type,
};
use super::tables::{name_of, path_to, shape};
use super::tasks::{Joined, record_at, set_at, skipped};
use super::{Exit, Machine, Note};
use crate::fault::{Failure, FailureKind, FaultKind};
use crate::isa::Instr;
use crate::task::{Frame, MAX_FRAMES, Task, TaskSet};
use crate::value::{Map, Value};
use crate::verify::Verified;
use crate::{flow, policy, shell, text};
use std::cmp::Ordering;
use std::rc::Rc;

impl Machine {
    /// Run a task until it cannot go on.
    pub(super) fn execute(&mut self, id: u32, task: &mut Task) -> Exit {
        let plan = Rc::clone(&self.plan);
        let Some(mut frame) = task.frames.last().copied() else {
            return Exit::Returns;
        };
        let exit = self.run(&plan, id, task, &mut frame);
        if let Some(last) = task.frames.last_mut() {
            *last = frame;
        }
        exit.unwrap_or_else(Exit::Fault)
    }

    fn run(
        &mut self,
        verified: &Verified,
        id: u32,
        task: &mut Task,
        frame: &mut Frame,
    ) -> Result<Exit, FaultKind> {
        let plan = verified.plan();
        let mut at = frame.at;
        let mut base = frame.base as usize;

        macro_rules! pop {
            () => {{
                debug_assert!(task.stack.len() > base);
                // Not `unwrap_or`, which makes a value to drop.
                match task.stack.pop() {
                    Some(value) => value,
                    None => Value::Null,
                }
            }};
        }
        macro_rules! push {
            ($value:expr) => {{
                let value = $value;
                task.stack.push(value);
            }};
        }
        macro_rules! fail {
            ($kind:ident, $($message:tt)*) => {
                fail(FailureKind::$kind, format!($($message)*), frame.at)
            };
        }
        macro_rules! local {
            ($local:expr) => {
                task.stack[base + $local as usize]
            };
        }
        // A failed operand is the result, the first one of several.
        macro_rules! unary {
            (|$a:ident| $body:expr) => {{
                let $a = pop!();
                push!(if $a.failed() { $a } else { $body });
            }};
        }
        macro_rules! binary {
            (|$a:ident, $b:ident| $body:expr) => {{
                let $b = pop!();
                let $a = pop!();
                push!(if $a.failed() {
                    $a
                } else if $b.failed() {
                    $b
                } else {
                    $body
                });
            }};
        }
        // A truth value, or to the label with what failed.
        macro_rules! test {
            ($to:ident, |$a:ident, $b:ident| $body:expr) => {{
                let $b = pop!();
                let $a = pop!();
                if $a.failed() {
                    push!($a);
                    at = $to;
                } else if $b.failed() {
                    push!($b);
                    at = $to;
                } else {
                    $body
                }
            }};
        }
        macro_rules! compare {
            ($to:ident, |$a:ident, $b:ident| $body:expr) => {
                test!($to, |$a, $b| {
                    self.read(&$a)?;
                    self.read(&$b)?;
                    push!(Value::Bool($body));
                })
            };
        }
        macro_rules! order {
            ($to:ident, $order:ident, $is:ident) => {
                compare!($to, |a, b| holds(policy::$order(&a, &b), Ordering::$is))
            };
        }
        macro_rules! contains {
            ($to:ident, $contains:path) => {
                test!($to, |a, b| {
                    let one = self.read(&a)?;
                    self.read(&b)?;
                    if let Value::List(items) = &b {
                        self.charge((items.len() as u64).saturating_mul(1 + (one >> 6)))?;
                    }
                    let found = or_failure($contains(&a, &b).map(Value::Bool), frame.at);
                    if found.failed() {
                        at = $to;
                    }
                    push!(found);
                })
            };
        }
        macro_rules! arithmetic {
            (|$a:ident, $b:ident| $body:expr) => {
                binary!(|a, b| match integers(&a, &b) {
                    Ok(($a, $b)) => or_failure($body, frame.at),
                    Err(error) => or_failure(Err(error), frame.at),
                })
            };
        }
        macro_rules! truth {
            ($to:ident, |$value:ident| $body:expr) => {{
                let $value = pop!();
                if $value.failed() {
                    push!($value);
                    at = $to;
                } else {
                    push!(Value::Bool($body));
                }
            }};
        }
        macro_rules! kind_or {
            ($to:ident, $kind:pat, $name:literal) => {{
                let value = pop!();
                push!(match value {
                    $kind => value,
                    other => {
                        at = $to;
                        wrong_type(other, $name, frame.at)
                    }
                });
            }};
        }
        // A step that counts. It has failed already if what it depends on did.
        macro_rules! start {
            ($step:ident, $to:ident, $given:expr) => {{
                let failed: Option<Value> = $given.filter(Value::failed);
                let begun = self.begin(task, $step.get(), None);
                if let Some(failure) = failed.or_else(|| self.count_step(frame.at)) {
                    push!(failure);
                    at = $to;
                }
                leave!(begun);
            }};
        }
        // A step that does not run if what it depends on is false.
        macro_rules! pass_unless {
            ($step:ident, $to:ident, |$value:ident| $body:expr) => {{
                let $value = pop!();
                if $value.failed() || $body {
                    push!($value);
                } else {
                    at = $to;
                    leave!(skipped(task, $step.get()));
                }
            }};
        }
        // The top of so many values if one of them failed; else where they start.
        macro_rules! many {
            ($count:expr $(, $to:ident)?) => {{
                let start = task.stack.len().saturating_sub($count as usize);
                debug_assert!(start >= base);
                match task.stack[start..].iter().position(Value::failed) {
                    Some(failed) => {
                        task.stack.swap(start, start + failed);
                        task.stack.truncate(start + 1);
                        $(at = $to;)?
                        continue;
                    }
                    None => start,
                }
            }};
        }
        // Leave with this; what comes next is the next instruction.
        macro_rules! leave {
            ($exit:expr) => {{
                let exit = $exit;
                frame.at = at;
                return Ok(exit);
            }};
        }

        loop {
            let Some(&word) = plan.code.get(at as usize) else {
                debug_assert!(false, "verified code does not run out");
                return Err(FaultKind::Deadlock);
            };
            frame.at = at;
            #[cfg(debug_assertions)]
            {
                self.executed[word.byte() as usize] = true;
            }
            if self.is_slice_over(word.fuel().into())? {
                return Ok(Exit::Rests);
            }
            if self.census_is_due() {
                self.census(task)?;
            }
            at += 1;
            match word.instr() {
                Instr::Null {} => push!(Value::Null),
                Instr::True {} => push!(Value::Bool(true)),
                Instr::False {} => push!(Value::Bool(false)),
                Instr::Int { value } => push!(Value::Int(value.into())),
                Instr::Text { text } => push!(Value::Text(self.text(plan, text)?)),
                Instr::Const { constant } => push!(self.constant(plan, constant)?),
                Instr::EmptyList {} => push!(Value::list(Vec::new())),
                Instr::EmptyMap {} => push!(Value::map(Map::default())),

                Instr::Pop {} => drop(pop!()),
                Instr::Load { local } => push!(local!(local).clone()),
                Instr::Take { local } => push!(std::mem::replace(&mut local!(local), Value::Null)),
                Instr::Store { local } => local!(local) = pop!(),
                Instr::Keep { local } => {
                    debug_assert!(task.stack.len() > base);
                    local!(local) = task.stack.last().cloned().unwrap_or(Value::Null);
                }

                Instr::VarOrNull { scope, name } => {
                    let found = self.find(plan, &local!(scope), name)?.cloned();
                    push!(found.unwrap_or(Value::Null));
                }
                Instr::VarOrFail { scope, name } => {
                    match self.find(plan, &local!(scope), name)?.cloned() {
                        Some(found) => push!(found),
                        None => push!(fail!(Undefined, "`{}` is not set", name_of(plan, name))),
                    }
                }
                Instr::HasVar { scope, name } => {
                    push!(Value::Bool(
                        self.find(plan, &local!(scope), name)?.is_some()
                    ));
                }
                instr @ (Instr::SetVar { scope, name }
                | Instr::KeepVar { scope, name }
                | Instr::StoreOutput { scope, name }) => {
                    let value = pop!();
                    if !matches!(instr, Instr::SetVar { .. }) {
                        push!(value.clone());
                    }
                    self.nest(&value)?;
                    let name = self.text(plan, name)?;
                    if let Value::Map(fields) = &mut local!(scope) {
                        self.set_field(fields, name, value)?;
                    }
                    if let Instr::StoreOutput { .. } = instr {
                        let value = pop!();
                        leave!(self.stored(task, value)?);
                    }
                }
                Instr::Shadow { scope, name } => {
                    let held = self.find(plan, &local!(scope), name)?.cloned();
                    self.shadow(task, scope, name, held)?;
                }
                Instr::Unshadow { scope, name } => {
                    let (text, held) = (self.text(plan, name)?, task.unshadow(scope, name));
                    self.put_back(&mut local!(scope), text, held)?;
                }

                Instr::FieldOrNull { name } => unary!(|a| {
                    let found = self.find(plan, &a, name)?.cloned();
                    found.unwrap_or(Value::Null)
                }),
                Instr::FieldOrFail { name } => unary!(|a| {
                    match self.find(plan, &a, name)?.cloned() {
                        Some(found) => found,
                        None => {
                            let (kind, name) = (text::kind_word(&a), name_of(plan, name));
                            let path = path_to(plan, frame.at);
                            fail!(Undefined, "{path}{kind} has no field `{name}`")
                        }
                    }
                }),
                Instr::IndexOrNull {} => binary!(|a, b| {
                    self.read(&b)?;
                    text::index(&a, &b).unwrap_or(Value::Null)
                }),
                Instr::IndexOrFail {} => binary!(|a, b| {
                    self.read(&b)?;
                    match text::index(&a, &b) {
                        Some(found) => found,
                        None => {
                            let (kind, at) = (text::kind_word(&a), text::render(&b));
                            let (path, at) = (path_to(plan, frame.at), flow::shown(&at));
                            fail!(Undefined, "{path}{kind} has no item `{at}`")
                        }
                    }
                }),
                Instr::ItemOrFail {} => binary!(|a, b| {
                    self.read(&b)?;
                    or_failure(flow::item(&a, &b), frame.at)
                }),

                Instr::Concat { parts } => {
                    let start = many!(parts);
                    self.concat(&mut task.stack, start)?;
                }
                Instr::ConcatOr { parts, to } => {
                    let start = many!(parts, to);
                    self.concat(&mut task.stack, start)?;
                }
                Instr::JsonText {} => unary!(|a| {
                    let bytes = self.read(&a)?;
                    self.produce(bytes)?;
                    Value::text(text::json_text(&a))
                }),
                Instr::ParseJson {} => unary!(|a| match self.read_text(a)? {
                    Ok(text) => match text::parse_json(&text) {
                        Some(value) => self.made(value)?,
                        None => fail!(BadJson, "the text holds no JSON"),
                    },
                    Err(other) => other,
                }),
                Instr::JsonOrText {} => unary!(|a| self.json_or_text(a)?),
                Instr::JsonOrTextOr { to } => {
                    let value = pop!();
                    push!(if value.failed() {
                        at = to;
                        value
                    } else {
                        self.json_or_text(value)?
                    });
                }
                Instr::NeedInteger {} => unary!(|a| {
                    self.read(&a)?;
                    match shell::integer_text(&a) {
                        Some(text) => Value::text(text),
                        None => or_failure(Err(no_number(&a)), frame.at),
                    }
                }),
                Instr::ShellWords {} => unary!(|a| {
                    let text = self.render(&a)?;
                    self.produce(text.len() as u64)?;
                    Value::text(shell::quote_words(&text))
                }),
                Instr::FreshDelimiter { values } => {
                    let start = many!(usize::from(values) + 1);
                    let mut texts = Vec::with_capacity(task.stack.len() - start);
                    for value in task.stack.drain(start..) {
                        texts.push(self.render(&value)?);
                        self.keep(texts.iter().map(|text| text.len() as u64).sum())?;
                    }
                    let base = texts.first().map_or("", |base| base);
                    let values = texts.get(1..).unwrap_or(&[]);
                    push!(Value::text(shell::fresh_delimiter(base, values)));
                }
                Instr::List { items } => {
                    let start = many!(items);
                    self.nest_all(&task.stack[start..])?;
                    let items: Vec<Value> = task.stack.drain(start..).collect();
                    push!(Value::list(items));
                }
                Instr::Append { list } => {
                    let item = pop!();
                    self.nest(&item)?;
                    if let Value::List(items) = &mut local!(list) {
                        if Rc::get_mut(items).is_none() {
                            self.produce(items.len() as u64 * 24)?;
                        }
                        Rc::make_mut(items).push(item);
                    }
                }
                Instr::Length {} => push!(match pop!() {
                    Value::List(items) => Value::Int(items.len() as i64),
                    _ => Value::Int(0),
                }),
                Instr::Put { name } => {
                    let value = pop!();
                    self.nest(&value)?;
                    let name = self.text(plan, name)?;
                    if let Some(Value::Map(fields)) = task.stack.last_mut() {
                        self.set_field(fields, name, value)?;
                    }
                }
                Instr::Merge {} => {
                    let over = pop!();
                    if let (Some(Value::Map(fields)), Value::Map(over)) =
                        (task.stack.last_mut(), &over)
                    {
                        self.merge(fields, over)?;
                    }
                }
                Instr::Without {} => {
                    let dropped = pop!();
                    if let (Some(Value::Map(fields)), Value::Map(dropped)) =
                        (task.stack.last_mut(), &dropped)
                    {
                        self.without(fields, dropped)?;
                    }
                }
                Instr::Argv {} => unary!(|a| {
                    self.read(&a)?;
                    or_failure(flow::argv(a), frame.at)
                }),
                Instr::BranchReport { labels } => {
                    let branches = pop!();
                    push!(self.branch_report(plan, &branches, labels)?);
                }

                Instr::EqNumbersFirst { to } => {
                    compare!(to, |a, b| policy::eq_numbers_first(&a, &b))
                }
                Instr::NeNumbersFirst { to } => {
                    compare!(to, |a, b| !policy::eq_numbers_first(&a, &b))
                }
                Instr::LtNumbersFirst { to } => order!(to, order_numbers_first, is_lt),
                Instr::LeNumbersFirst { to } => order!(to, order_numbers_first, is_le),
                Instr::GtNumbersFirst { to } => order!(to, order_numbers_first, is_gt),
                Instr::GeNumbersFirst { to } => order!(to, order_numbers_first, is_ge),
                Instr::InNumbersFirst { to } => contains!(to, policy::in_numbers_first),
                Instr::EqByType { to } => compare!(to, |a, b| policy::eq_by_type(&a, &b)),
                Instr::NeByType { to } => compare!(to, |a, b| !policy::eq_by_type(&a, &b)),
                Instr::LtByType { to } => order!(to, order_by_type, is_lt),
                Instr::LeByType { to } => order!(to, order_by_type, is_le),
                Instr::GtByType { to } => order!(to, order_by_type, is_gt),
                Instr::GeByType { to } => order!(to, order_by_type, is_ge),
                Instr::InByType { to } => contains!(to, policy::in_by_type),

                Instr::TruthWords { to } => truth!(to, |value| policy::truth_words(&value)),
                Instr::TruthEmptiness { to } => {
                    truth!(to, |value| policy::truth_emptiness(&value));
                }
                Instr::TruthFlags { to } => truth!(to, |value| {
                    if let Value::Text(text) = &value {
                        self.charge(text.len() as u64 >> 6)?;
                    }
                    policy::truth_flags(&value)
                }),
                Instr::Not {} => push!(Value::Bool(!is_true(&pop!()))),
                Instr::IsNull {} => push!(Value::Bool(matches!(pop!(), Value::Null))),
                Instr::Fit { wanted } => unary!(|a| {
                    let wanted = self.constant(plan, wanted)?;
                    let bytes = self.read(&a)?;
                    self.produce(bytes)?;
                    or_failure(flow::fit(a, &wanted), frame.at)
                }),

                Instr::Add {} => arithmetic!(|a, b| fits(a.checked_add(b))),
                Instr::Sub {} => arithmetic!(|a, b| fits(a.checked_sub(b))),
                Instr::Mul {} => arithmetic!(|a, b| fits(a.checked_mul(b))),
                Instr::Div {} => {
                    arithmetic!(|a, b| divides(b).and_then(|()| fits(a.checked_div(b))))
                }
                Instr::Rem {} => {
                    // The remainder of the one division that overflows is zero.
                    arithmetic!(|a, b| divides(b).and_then(|()| fits(Some(a.wrapping_rem(b)))))
                }
                Instr::Less {} => {
                    let b = pop!();
                    let a = pop!();
                    push!(Value::Bool(small(&a) < small(&b)));
                }
                Instr::Builtin { which, arguments } => {
                    let start = many!(arguments);
                    let called = self.builtin(which, &task.stack[start..])?;
                    task.stack.truncate(start);
                    push!(or_failure(called, frame.at));
                }
                Instr::Pad { width } => unary!(|a| match flow::integer(&a) {
                    Some(int) => Value::text(flow::pad(int, width.into())),
                    None => or_failure(Err(no_number(&a)), frame.at),
                }),

                Instr::Jump { to } => at = to,
                Instr::JumpIf { to } => {
                    if is_true(&pop!()) {
                        at = to;
                    }
                }
                Instr::JumpUnless { to } => {
                    if !is_true(&pop!()) {
                        at = to;
                    }
                }
                Instr::JumpFailed { to } => {
                    debug_assert!(task.stack.len() > base);
                    if task.stack.last().is_some_and(Value::failed) {
                        at = to;
                    }
                }
                Instr::ListOr { to } => kind_or!(to, Value::List(_), "a list"),
                Instr::MapOr { to } => kind_or!(to, Value::Map(_), "an object"),
                Instr::IntOr { to } => {
                    let value = pop!();
                    push!(match integer(&value) {
                        Some(value) => Value::Int(value),
                        None => {
                            at = to;
                            match value {
                                Value::Failure(_) => value,
                                other => or_failure(Err(no_number(&other)), frame.at),
                            }
                        }
                    });
                }
                Instr::Next {
                    list,
                    at: position,
                    to,
                } => {
                    let current = small(&local!(position));
                    let item = match (&local!(list), usize::try_from(current)) {
                        (Value::List(items), Ok(index)) => items.get(index).cloned(),
                        _ => None,
                    };
                    match item {
                        Some(item) => {
                            local!(position) = Value::Int(current.saturating_add(1));
                            push!(item);
                        }
                        None => at = to,
                    }
                }

                Instr::Call { function } => {
                    if task.frames.len() >= MAX_FRAMES {
                        return Err(FaultKind::TooDeep);
                    }
                    let (params, start, locals) = shape(plan, function);
                    let room = locals + verified.height(function);
                    if task.stack.capacity() - task.stack.len() < room {
                        self.produce(task.stack.capacity() as u64 * 24)?;
                        task.stack.reserve(room);
                    }
                    frame.at = at;
                    if let Some(last) = task.frames.last_mut() {
                        *last = *frame;
                    }
                    base = task.stack.len().saturating_sub(params);
                    at = start;
                    task.stack.resize(base + locals, Value::Null);
                    *frame = Frame {
                        function,
                        at,
                        base: base as u32,
                    };
                    task.frames.push(*frame);
                }
                Instr::Return {} => {
                    if task.frames.len() == 1 {
                        leave!(Exit::Returns);
                    }
                    let results = plan.functions.get(frame.function as usize);
                    let results = results.map_or(0, |function| function.results.len());
                    let first = task.stack.len().saturating_sub(results).max(base);
                    task.stack.drain(base..first);
                    task.leave();
                    if let Some(last) = task.frames.last() {
                        *frame = *last;
                    }
                    at = frame.at;
                    base = frame.base as usize;
                }
                Instr::Stop {} => leave!(Exit::Stops(pop!())),
                Instr::Fail { message } => push!(Value::Failure(Rc::new(Failure {
                    kind: FailureKind::Message,
                    message: self.text(plan, message)?,
                    data: Value::Null,
                    at: frame.at,
                }))),
                Instr::FailureMap {} => {
                    let value = pop!();
                    if let Value::Failure(failure) = &value {
                        self.nest(&failure.data)?;
                    }
                    self.produce(256)?;
                    push!(Value::map(failure_map(&value)));
                }
                Instr::Raise {} => push!(flow::raise(pop!(), frame.at)),
                Instr::Refuse {} => push!(flow::refuse(pop!())),

                Instr::Tasks {} => {
                    self.produce(128)?;
                    let set = self.new_set(id);
                    task.sets.push(set);
                    push!(Value::Tasks(set));
                }
                Instr::LabelTasks { labels } => self.label_tasks(plan, task, labels)?,
                Instr::Fork { function } => {
                    self.fork(task, function, frame.at)?;
                }
                Instr::ForkWithin { function } => {
                    self.fork_within(task, function, frame.at)?;
                    leave!(Exit::Says);
                }
                Instr::WaitBelow {} => match self.runs_below(task) {
                    true => drop(pop!()),
                    false => return Ok(Exit::Waits),
                },
                Instr::JoinNext { to } => match self.join(task, TaskSet::join_first) {
                    Joined::One(result) => push!(result),
                    Joined::All => at = to,
                    Joined::Waits => return Ok(Exit::Waits),
                },
                Instr::JoinAny { to } => match self.join(task, TaskSet::join_any) {
                    Joined::One((number, result)) => {
                        push!(Value::Int(number.into()));
                        push!(result);
                    }
                    Joined::All => at = to,
                    Joined::Waits => return Ok(Exit::Waits),
                },
                Instr::JoinReady { to } => match self.join_ready(task) {
                    Some(result) => push!(result),
                    None => at = to,
                },
                Instr::Cancel {} => {
                    let looked_at = self.cancel_set(set_at(task, 0), frame.at);
                    self.charge(looked_at)?;
                    if !self.said.is_empty() {
                        leave!(Exit::Says);
                    }
                }

                Instr::Host { call } => leave!(Exit::Call(self.ask(plan, id, task, call)?)),
                // Where it goes is known when the reply comes.
                Instr::HostOr { call, .. } => {
                    leave!(Exit::Call(self.ask(plan, id, task, call.get())?));
                }

                Instr::StepBegin { step } => leave!(self.begin(task, step, None)),
                Instr::StepBeginBelow { step } => leave!(self.begin_below(task, step)),
                Instr::StepSkip { step } => leave!(skipped(task, step)),
                Instr::StepStart { step, to } => start!(step, to, None),
                Instr::StepEnter { step, to } => start!(step, to, Some(pop!())),
                Instr::PassUnlessWords { step, to } => {
                    pass_unless!(step, to, |value| policy::truth_words(&value));
                }
                Instr::PassUnlessEmptiness { step, to } => {
                    pass_unless!(step, to, |value| policy::truth_emptiness(&value));
                }
                Instr::StepPass { step, to } => {
                    at = to;
                    leave!(skipped(task, step.get()));
                }
                Instr::Iteration { step } => {
                    let number = small(&pop!());
                    leave!(self.begin(task, step, Some(number)));
                }
                Instr::StepAttempt {} => {
                    let record = record_at(task, 0);
                    let number = task.attempt(record);
                    leave!(Exit::Note(Note::Attempt { record, number }));
                }
                Instr::StepOutput {} => {
                    let value = pop!();
                    leave!(self.stored(task, value)?);
                }
                Instr::Secret { name } => leave!(self.secret(plan, task, name)?),
                Instr::StepEnd { status } => {
                    let value = pop!();
                    leave!(self.end(task, value, status)?);
                }
                Instr::Warn {} => {
                    let (record, text) = (task.innermost(), self.render(&pop!())?);
                    leave!(Exit::Note(Note::Warn { record, text }));
                }
            }
        }
    }
}
