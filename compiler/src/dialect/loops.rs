//! Loops: a step's work once per item, or again and again.
//!
//! The condition of the step and what a failure does belong to the loop; tries and deadlines to
//! each iteration.

use super::literal::literal;
use super::recipe::add_step;
use super::strange;
use super::text::Lower;
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix};
use crate::doc::fields::{Fields, Marks, name_span, wrong_type};
use crate::doc::{self, Kind, Plain, differs, resolve};
use crate::expr;
use crate::ir::visit;
use crate::ir::{Action, Bind, Each, Expr, Guard, Literal, Node, OnFailure, Read, Step, While};

/// Iterations of a loop when the recipe does not say.
const ITERATIONS: i64 = 100;

const EITHER: &str = "foreach` or `while_condition";

/// Fields that need a loop, and which.
const NEEDY: [(&str, &str); 10] = [
    ("parallel", "foreach"),
    ("collect", EITHER),
    ("as", "foreach"),
    ("max_iterations", "foreach"),
    ("delay_between", "foreach"),
    ("checkpoint_iterations", "foreach"),
    ("break_when", EITHER),
    ("max_while_iterations", "while_condition"),
    ("update_context", "while_condition"),
    ("steps", EITHER),
];

const OF_LOOPS: Marks = {
    let mut marks = Marks::NONE.and("foreach").and("while_condition");
    let mut at = 0;
    while at < NEEDY.len() {
        marks = marks.and(NEEDY[at].0);
        at += 1;
    }
    marks
};

/// Whether a field stands there and is not turned off.
fn asked(fields: &Fields<'_>, field: &str) -> bool {
    let node = fields.node(field);
    node.is_some_and(|node| node.text().is_none_or(|text| text.text() != "false"))
}

impl Lower<'_> {
    /// Fields that mean something only on a loop.
    pub fn loop_only(&mut self, fields: &Fields<'_>, looped: bool) {
        if !fields.may_have(OF_LOOPS) {
            return;
        }
        if fields.has("foreach") && fields.has("while_condition") {
            let span = fields
                .key_span("while_condition")
                .unwrap_or_else(|| fields.head());
            let message = "`foreach` and `while_condition` exclude each other";
            self.report.add(
                Diagnostic::new(&codes::EXCLUSIVE_FIELDS, span, message)
                    .help("keep one of the two; put the other on a step of its own"),
            );
        }
        let at_once = fields.node("parallel").is_some_and(|node| {
            let scalar = node
                .scalar()
                .map(|scalar| resolve(scalar, self.dialect.schema));
            scalar != Some(Plain::Bool(false))
        });
        for (field, message) in [
            (
                "break_when",
                "`break_when` cannot end iterations that run at once",
            ),
            (
                "checkpoint_iterations",
                "`checkpoint_iterations` is for iterations that run one after the other",
            ),
        ] {
            if at_once && asked(fields, field) {
                let span = fields.key_span(field).unwrap_or_else(|| fields.head());
                self.report.add(
                    Diagnostic::new(&codes::EXCLUSIVE_FIELDS, span, message).help(format!(
                        "remove `parallel` to run them one after the other, or `{field}`"
                    )),
                );
            }
        }
        self.without_loop(fields, looped);
    }

    /// Several fields of a loop that is not there are one mistake.
    fn without_loop(&mut self, fields: &Fields<'_>, looped: bool) {
        let mut missing: Vec<(&str, &str)> = Vec::new();
        for (field, needs) in NEEDY {
            let fits = match needs {
                EITHER => looped,
                one => fields.has(one),
            };
            if fields.has(field) && !fits {
                missing.push((field, needs));
            }
        }
        let place = |field: &str| fields.key_span(field).unwrap_or_else(|| fields.head());
        missing.sort_by_key(|(field, _)| place(field).start);
        let Some((first, _)) = missing.first() else {
            return;
        };
        // What needs one kind of loop says which of the two it is that others miss.
        let mut needs: Vec<&str> = missing.iter().map(|(_, needs)| *needs).collect();
        if needs.iter().any(|needs| *needs != EITHER) {
            needs.retain(|needs| *needs != EITHER);
        }
        needs.sort_unstable();
        needs.dedup();
        let needs = needs.join("` or `");
        let names: Vec<String> = missing.iter().map(|(f, _)| format!("`{f}`")).collect();
        let (message, them) = match names.split_last() {
            Some((last, [])) => (format!("{last} needs `{needs}`"), last.clone()),
            Some((last, rest)) => (
                format!("{} and {last} need `{needs}`", rest.join(", ")),
                "them".to_string(),
            ),
            None => return,
        };
        let while_loop = fields.has("while_condition");
        let group = fields
            .node("parallel")
            .is_some_and(|at| at.list().is_some());
        let help = match (*first, missing.len()) {
            ("max_iterations", 1) if while_loop => "write `max_while_iterations`".to_string(),
            ("parallel", 1) if group => {
                "move these steps out, and give all of them the same `parallel_group`".to_string()
            }
            _ => format!("add `{needs}`, or remove {them}"),
        };
        let mut finding = Diagnostic::new(&codes::MISSING_FIELD, place(first), message).help(help);
        if *first == "max_iterations" && missing.len() == 1 && while_loop {
            let better = "max_while_iterations";
            let free = !fields.has(better);
            if let Some(span) = fields.key_span(first).filter(|_| free) {
                finding = finding.fix(Fix::unsafe_(format!("write `{better}`"), span, better));
            }
        }
        for (field, _) in missing.iter().skip(1) {
            finding = finding.label(place(field), "and this");
        }
        self.report.add(finding);
    }

    pub fn body_steps(&mut self, fields: &Fields<'_>) -> Node {
        let items = fields.list("steps", self.report).unwrap_or_default();
        if items.is_empty()
            && let Some(node) = fields.node("steps")
            && node.list().is_some()
        {
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, node.span, "the loop has no steps")
                    .help("add a step, or remove the loop"),
            );
        }
        let mut steps = Vec::with_capacity(items.len());
        for item in items {
            if let Some(step) = self.step(*item) {
                add_step(&mut steps, *item, step);
            }
        }
        if fields.boolean("once", self.report).unwrap_or(false) {
            steps.iter_mut().for_each(once);
        }
        Node::Seq(steps)
    }

    /// The condition in a field. A word that YAML takes for a boolean is one, such as `no` in YAML
    /// 1.1.
    pub fn asked(&mut self, fields: &Fields<'_>, field: &str) -> Option<Guard> {
        let text = fields.text(field, self.report)?;
        let Some(Kind::Scalar(scalar)) = fields.node(field).map(|node| node.kind) else {
            return self.condition(text);
        };
        let Plain::Bool(value) = resolve(scalar, self.dialect.schema) else {
            return self.condition(text);
        };
        if differs(scalar) {
            let word = text.text();
            let message =
                format!("`{word}` means {value} here, and something else to other readers of YAML");
            let say = format!("write `{value}`");
            self.report.add(
                Diagnostic::new(&codes::AMBIGUOUS_SCALAR, text.whole(), message)
                    .help(say.clone())
                    .fix(Fix::safe(say, text.whole(), value.to_string())),
            );
        }
        Some(Guard {
            expr: Literal::Bool(value).expr(text.whole()),
            truth: self.dialect.truth,
        })
    }

    pub fn looping(&mut self, fields: &Fields<'_>, work: Step, binds: &[Bind]) -> Looping {
        let until = self.asked(fields, "break_when");
        let collect = self.bind(fields, "collect", Read::Value);
        if let Some(node) = fields.node("foreach") {
            let over = self.over(fields, node);
            return self.each(fields, work, binds, over, collect, until);
        }
        if fields.has("while_condition") {
            let condition = self.asked(fields, "while_condition");
            let condition = condition.unwrap_or_else(|| Guard {
                expr: Literal::Bool(true).expr(fields.head()),
                truth: self.dialect.truth,
            });
            return self.repeat(fields, work, binds, condition, collect, until);
        }
        Looping::No(Box::new(work))
    }

    /// What a loop goes over. A list, or a name without braces, is wrong there, but what is meant is
    /// plain enough to go on with.
    fn over(&mut self, fields: &Fields<'_>, node: doc::Node<'_>) -> Expr {
        if node.list().is_some() {
            let message = "`foreach` must be text, not a list";
            self.report.add(
                Diagnostic::new(&codes::WRONG_TYPE, node.span, message)
                    .help("put the list under `context` and write `foreach: \"{{name}}\"`"),
            );
            return literal(node, self.dialect.schema, self.report).expr(node.span);
        }
        // What cannot be read is a list of anything: it is a loop all the same, with its variable.
        let anything = Literal::List(Vec::new()).expr(node.span);
        let Some(text) = fields.text("foreach", self.report) else {
            return anything;
        };
        let name = text.text();
        let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        let bare = begins && !name.contains(['.', '[']) && expr::is_path(name);
        match self.one_hole(text, "foreach") {
            Some(over) => over,
            None if bare => self.name(name, text.inner()),
            None => anything,
        }
    }

    fn each(
        &mut self,
        fields: &Fields<'_>,
        mut work: Step,
        binds: &[Bind],
        over: Expr,
        collect: Option<Bind>,
        until: Option<Guard>,
    ) -> Looping {
        let width = self.width(fields);
        strange::beside_results(fields, width.is_some(), self.report);
        let output = binds.iter().find(|bind| bind.read == Read::Value).cloned();
        let item = self.bind(fields, "as", Read::Value);
        let item = item.unwrap_or_else(|| Bind {
            name: "item".to_string(),
            span: fields.key_span("foreach").unwrap_or_else(|| fields.head()),
            read: Read::Value,
        });
        // What the loop hides is seen again when it is over, and is set then.
        let hidden = output.as_ref().is_some_and(|bind| bind.name == item.name);
        let (body_binds, last) = match (&width, &collect) {
            // Side by side, iterations have variables of their own.
            (Some(_), Some(_)) => (Vec::new(), None),
            (Some(_), None) => (Vec::new(), output),
            (None, Some(_)) => (without_value(binds), None),
            (None, None) if hidden || matches!(work.node, Node::Seq(_)) => {
                (without_value(binds), output)
            }
            (None, None) => (binds.to_vec(), None),
        };
        work.bind = body_binds;
        work.on_failure = body_failure(work.on_failure);
        let holed = fields.node("max_iterations").and_then(|node| node.text());
        let holed = holed.filter(|text| text.text().contains("{{"));
        let limit_from = holed.and_then(|text| self.one_hole(text, "max_iterations"));
        let limit = match holed {
            Some(_) => None,
            None => fields.integer("max_iterations", self.report),
        };
        let limit = limit.unwrap_or(if limit_from.is_some() {
            i64::MAX
        } else {
            ITERATIONS
        });
        let pause = fields.integer("delay_between", self.report).unwrap_or(0);
        Looping::Yes(Node::Each(Box::new(Each {
            over,
            item,
            collect,
            last,
            width,
            pause_ms: u64::try_from(pause).unwrap_or(0),
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            limit_from,
            until,
            body: work,
        })))
    }

    fn repeat(
        &mut self,
        fields: &Fields<'_>,
        mut work: Step,
        binds: &[Bind],
        condition: Guard,
        collect: Option<Bind>,
        until: Option<Guard>,
    ) -> Looping {
        // What steps together give is known when the last of them has ended.
        let together = matches!(work.node, Node::Seq(_));
        let last = binds.iter().find(|bind| bind.read == Read::Value);
        let last = last.filter(|_| together).cloned();
        work.bind = match together {
            true => without_value(binds),
            false => binds.to_vec(),
        };
        work.on_failure = body_failure(work.on_failure);
        let mut update = Vec::new();
        for entry in fields
            .map("update_context", self.report)
            .unwrap_or_default()
        {
            let Some(name) = entry.name() else { continue };
            let span = name_span(entry.key);
            let Some(name) = strange::variable(name, span, self.report) else {
                continue;
            };
            let read = Read::Value;
            update.push((Bind { name, span, read }, self.given(entry.value)));
        }
        let limit = fields
            .integer("max_while_iterations", self.report)
            .unwrap_or(ITERATIONS);
        Looping::Yes(Node::While(Box::new(While {
            condition,
            until,
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            update,
            collect,
            last,
            body: work,
        })))
    }

    /// How many iterations run at once; none for one after the other.
    fn width(&mut self, fields: &Fields<'_>) -> Option<u32> {
        let node = fields.node("parallel")?;
        let Kind::Scalar(scalar) = node.kind else {
            wrong_type(
                "`parallel`",
                "true, false or a number",
                node,
                self.dialect.schema,
                self.report,
            );
            return None;
        };
        match resolve(scalar, self.dialect.schema) {
            Plain::Bool(true) => Some(u32::MAX),
            Plain::Bool(false) => None,
            _ => {
                let width = fields.integer("parallel", self.report)?;
                Some(u32::try_from(width).unwrap_or(u32::MAX))
            }
        }
    }
}

/// A step's work, or the loop that was made of it.
pub enum Looping {
    No(Box<Step>),
    Yes(Node),
}

/// What ends the loop is decided by the loop's own step.
fn body_failure(on_failure: OnFailure) -> OnFailure {
    match on_failure {
        OnFailure::Continue { keep_output } => OnFailure::Continue { keep_output },
        OnFailure::SkipRest | OnFailure::Stop => OnFailure::Stop,
    }
}

/// What is in a step that must not run twice must not either.
fn once(step: &mut Step) {
    visit::actions_mut(step, &mut |action| match action {
        Action::Exec(exec) => exec.once = true,
        Action::Agent(agent) => agent.once = true,
        Action::Call(call) => call.once = true,
        Action::Flow(flow) => flow.around.once = true,
        Action::Approve(_) | Action::Validate(_) | Action::Sleep { .. } => {}
    });
}

fn without_value(binds: &[Bind]) -> Vec<Bind> {
    binds
        .iter()
        .filter(|bind| bind.read != Read::Value)
        .cloned()
        .collect()
}
