//! One step, from its fields to the IR.
//!
//! A loop becomes a node of its own with the step's work as its body: the condition and what a
//! failure does belong to the loop, tries and deadlines to each iteration.

use super::fields::{KINDS, STEP};
use super::literal::{literal, read_otherwise};
use super::loops::Looping;
use super::text::Lower;
use super::{strange, template};
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::doc::fields::{Fields, name_span, text_of};
use crate::doc::{Kind, Node as Doc, Plain, Schema, Text as Written, resolve};
use crate::ir::flow::{Around, Flow};
use crate::ir::{
    Action, Agent, Attempts, Bind, Call, Compare, EXCLUDE_TAGS, Equality, Exec, Expr, ExprKind,
    Guard, INCLUDE_TAGS, Literal, Missing, Node, OnFailure, Read, Script, Staging, Step, Store,
    Text, Truth,
};
use crate::source::Span;
use rrc_vm::plan::StepKind;

/// Bytes of output that are kept when the recipe does not say.
const OUTPUT_LIMIT: u64 = 10 * 1024 * 1024;
/// Fields that are read for the list of steps, or by nothing; what is written there must make sense all
/// the same.
const UNREAD: &[&str] = &["depends_on", "parallel_group"];

impl Lower<'_> {
    pub fn step(&mut self, node: Doc<'_>) -> Option<Step> {
        let said = self.report.findings.len();
        let fields = Fields::new(&STEP, node, self.dialect.schema, self.report);
        if !fields.is_map() {
            return None;
        }
        fields.require("id", self.report);
        let (id, span) = match fields.text("id", self.report) {
            Some(text) => (text.text().to_string(), own_place(&fields, text.inner())),
            None => (String::new(), fields.head()),
        };
        strange::unprintable(&fields, "id", self.report);
        let written = fields.node("id").and_then(|id| id.text());
        if written.is_some_and(|id| id.text().trim().is_empty()) {
            let message = "`id` of this step is blank";
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, span, message).help("give the step a name"),
            );
        }
        strange::unfilled(&fields, self.report);
        let compound = fields.has("steps");
        let looped = fields.has("foreach") || fields.has("while_condition");
        let kind = self.kind(&fields, compound);
        strange::of_another_kind(&fields, kind, said, self.report);
        if kind.is_none() {
            strange::of_no_kind(&fields, said, self.report);
        }
        let guard = self.asked(&fields, "condition");
        let guard = self.tagged(&fields, guard);
        let on_failure = self.on_failure(&fields);
        let store = match kind {
            Some("recipe") => Store::AsIs,
            _ => self.store(&fields),
        };
        let mut binds = self.binds(&fields, &id, span, kind);
        if !looped {
            // The loop is missing, which is said; what it would have set is still meant.
            binds.extend(self.bind(&fields, "collect", Read::Value));
        }
        let hidden = self.hide_facts(&fields);
        self.tame_item(&fields);
        let (work, step_kind) = match (compound, kind) {
            (true, _) => (Some(self.body_steps(&fields)), StepKind::Loop),
            (false, Some("bash")) => (Some(self.bash(&fields)), StepKind::Bash),
            (false, Some("agent")) => (Some(self.agent(&fields, store)), StepKind::Agent),
            (false, Some("recipe")) => (self.sub_recipe(&fields), StepKind::Recipe),
            (false, Some("template")) => (self.template(&fields), StepKind::Command),
            (false, Some("tool")) => (self.no_such_work(&fields), StepKind::Tool),
            (false, _) => (None, StepKind::Bash),
        };
        self.facts.extend(hidden);
        self.tame_binds(&binds, kind);
        self.loop_only(&fields, looped);
        fields.check(UNREAD, self.report);
        self.limits(&fields);
        if kind != Some("agent") {
            fields.check(&["auto_stage"], self.report);
        }
        // Other steps have deadlines of their own: what holds them has one only if it says so.
        let holds = compound || kind == Some("recipe");
        let deadline = match holds && !fields.has("timeout") {
            true => None,
            false => self.deadline(&fields, kind),
        };
        // A loop has the name of its body, and most steps are none.
        let loop_id = match looped {
            true => id.clone(),
            false => String::new(),
        };
        let work = Step {
            id,
            span,
            kind: step_kind,
            guard: None,
            attempts: self.attempts(&fields),
            deadline,
            on_failure,
            store,
            bind: Vec::new(),
            node: work.unwrap_or(Node::Seq(Vec::new())),
        };
        // Most steps are none, and a step is a lot to hand around.
        if !looped && !fields.has("break_when") {
            return Some(Step {
                guard,
                bind: binds,
                ..work
            });
        }
        let looping = self.looping(&fields, work, &binds);
        Some(match looping {
            Looping::No(work) => Step {
                guard,
                bind: binds,
                ..*work
            },
            Looping::Yes(node) => Step {
                id: loop_id,
                span,
                kind: step_kind,
                guard,
                attempts: Attempts::ONCE,
                deadline: None,
                on_failure: match on_failure {
                    OnFailure::Continue { .. } => OnFailure::Continue { keep_output: false },
                    other => other,
                },
                store: Store::Exact,
                bind: Vec::new(),
                node,
            },
        })
    }

    fn kind(&mut self, fields: &Fields<'_>, compound: bool) -> Option<&'static str> {
        let named = fields.choice("type", self.report);
        if fields.has("type") && named.is_none() {
            return None;
        }
        let inferred = || {
            if fields.has("recipe") {
                "recipe"
            } else if fields.has("template") {
                "template"
            } else if fields.has("tool") {
                "tool"
            } else if fields.has("agent") || (fields.has("prompt") && !fields.has("command")) {
                "agent"
            } else {
                "bash"
            }
        };
        let kind = match named {
            Some(kind) => kind,
            None if self.infer_kind => inferred(),
            None => "agent",
        };
        // Of a step that has run into another, nobody knows what it is.
        if fields.whole().partial {
            return named.or_else(|| Some(inferred()));
        }
        strange::own_limits(fields, self.report);
        if compound {
            strange::beside_steps(fields, self.report);
            return Some(kind);
        }
        // A step that says nothing and has only another kind's fields has most likely left out
        // its type; saying that once is better than a row of foreign and missing fields.
        if named.is_none() && kind != inferred() {
            let meant = inferred();
            let field = KINDS
                .iter()
                .find(|(name, _)| *name == meant)
                .and_then(|(_, own)| own.iter().find(|field| fields.has(field)));
            if let Some(field) = field
                && !fields.has("agent")
                && !fields.has("prompt")
            {
                let span = fields.key_span(field).unwrap_or_else(|| fields.head());
                let message = format!("a step with `{field}` needs `type: {meant}`");
                self.report
                    .add(
                        Diagnostic::new(&codes::MISSING_FIELD, span, message).help(format!(
                            "add `type: {meant}`; a step without a type asks an agent"
                        )),
                    );
                return Some(meant);
            }
        }
        for (other, own) in KINDS.iter().filter(|(other, _)| *other != kind) {
            let foreign: Vec<&str> = own.iter().copied().filter(|f| fields.has(f)).collect();
            strange::foreign(fields, kind, other, &foreign, self.report);
        }
        if kind == "recipe" {
            strange::beside_recipe(fields, self.report);
        }
        Some(strange::likely_kind(fields, kind))
    }

    /// Takes out the fact that the variable of a loop hides from its body.
    fn hide_facts(&mut self, fields: &Fields<'_>) -> Vec<(&'static str, Literal)> {
        let item = fields.node("as").filter(|_| fields.has("foreach"));
        if item.and_then(|item| item.text()).map(|item| item.text()) != Some("recipe") {
            return Vec::new();
        }
        self.facts
            .extract_if(.., |fact| fact.0 == "recipe")
            .collect()
    }

    /// A command template: in the step itself, or a file of its own.
    fn template(&mut self, fields: &Fields<'_>) -> Option<Node> {
        fields.require("template", self.report)?;
        let node = fields.node("template")?;
        let around = Around {
            env: self.env(fields),
            cwd: self.optional_text(fields, "cwd"),
            once: fields.boolean("once", self.report).unwrap_or(false),
        };
        let text = node.text().map(|text| (text.text().trim(), text.inner()));
        let file =
            text.filter(|(name, _)| name.ends_with(".json") && !name.contains(char::is_whitespace));
        let flow = match file {
            Some((name, span)) => Flow::of_file(name.to_string(), span),
            None => {
                let schema = self.dialect.schema;
                template::lower_step(node, node.span.source, schema, self.report)?
            }
        };
        let flow = Flow { around, ..flow };
        Some(Node::Act(Box::new(Action::Flow(Box::new(flow)))))
    }

    /// A step that would do nothing is refused, so that nobody relies on it.
    fn no_such_work(&mut self, fields: &Fields<'_>) -> Option<Node> {
        let span = ["type", "template", "tool"]
            .iter()
            .find_map(|field| fields.key_span(field));
        self.report.add(
            Diagnostic::new(
                &codes::BAD_VALUE,
                span.unwrap_or_else(|| fields.head()),
                "tools do not run as steps yet",
            )
            .help("write what it does as a bash step or a template"),
        );
        None
    }

    fn bash(&mut self, fields: &Fields<'_>) -> Node {
        let command = fields
            .require("command", self.report)
            .and_then(|_| fields.text("command", self.report));
        let blank = command.filter(|command| command.text().trim().is_empty());
        if let Some(command) = blank {
            let span = fields.key_span("command").unwrap_or(command.whole());
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, span, "`command` is blank")
                    .help("write what to run"),
            );
        }
        let shell = fields.text("shell", self.report);
        if let Some(shell) = shell
            && shell.text().trim().is_empty()
        {
            let finding = Diagnostic::new(&codes::BAD_VALUE, shell.whole(), "`shell` is blank");
            self.report
                .add(finding.help("name a shell, or remove it: then it is `/bin/bash`"));
        }
        let program = shell.map_or("bash", |shell| strange::shell(shell, self.report));
        // Without a command there is an error, and the rest of the step is still looked at.
        let script = match command {
            Some(command) => self.command(fields, program, command),
            None => Script {
                span: fields.head(),
                parts: Vec::new(),
                vars: Vec::new(),
                mentions: Vec::new(),
                nounset: false,
            },
        };
        let limit = fields.integer("max_output_size", self.report);
        let exec = Exec {
            shell: match shell {
                Some(shell) => Text::literal(shell.whole(), shell.text()),
                None => Text::literal(script.span, "/bin/bash"),
            },
            script,
            env: self.env(fields),
            cwd: self.optional_text(fields, "cwd"),
            stdin: self.optional_text(fields, "stdin"),
            exports: self.dialect.exports,
            limit: limit
                .and_then(|limit| u64::try_from(limit).ok())
                .unwrap_or(OUTPUT_LIMIT),
            stream: fields.boolean("stream", self.report).unwrap_or(false),
            once: fields.boolean("once", self.report).unwrap_or(false),
        };
        Node::Act(Box::new(Action::Exec(exec)))
    }

    fn command(&mut self, fields: &Fields<'_>, program: &str, command: Written<'_>) -> Script {
        let said = self.report.findings.len();
        self.prints_json = fields.boolean("parse_json", &mut Report::default()) == Some(true);
        let script = self.script_for(program, command);
        self.prints_json = false;
        // Another shell reads another language.
        if !["bash", "sh"].contains(&program) {
            strange::other_language(command, program, self.report);
            let mut number = 0;
            self.report.findings.retain(|finding| {
                number += 1;
                number <= said || finding.code != &codes::BROKEN_SCRIPT
            });
        }
        script
    }

    fn agent(&mut self, fields: &Fields<'_>, store: Store) -> Node {
        if !self.infer_kind {
            fields.require("agent", self.report);
        }
        self.one_model(fields);
        fields.choice("spawn_mode", self.report);
        let preferred = self.preferred_model(fields);
        if fields.require("prompt", self.report).is_none() {
            strange::only_described(fields, self.report);
        }
        let prompt = match fields.text("prompt", self.report) {
            Some(prompt) => self.text(prompt),
            None => Text::literal(fields.head(), ""),
        };
        strange::blank(fields, "agent", "name an agent", self.report);
        strange::blank(fields, "prompt", "write what to ask", self.report);
        let stages = fields.boolean("auto_stage", self.report);
        let agent = Agent {
            agent: fields
                .text("agent", self.report)
                .map(|text| text.text().to_string()),
            prompt,
            mode: fields
                .text("mode", self.report)
                .map(|text| text.text().to_string()),
            model: fields
                .text("model", self.report)
                .map(|text| text.text().to_string())
                .or(preferred),
            cwd: self.optional_text(fields, "cwd"),
            env: self.env(fields),
            once: fields.boolean("once", self.report).unwrap_or(false),
            staging: match (stages.unwrap_or(self.stages_changes), store) {
                (false, _) => Staging::Never,
                (true, Store::Json { .. }) => Staging::WithJson,
                (true, _) => Staging::Answered,
            },
        };
        Node::Act(Box::new(Action::Agent(agent)))
    }

    fn sub_recipe(&mut self, fields: &Fields<'_>) -> Option<Node> {
        fields.require("recipe", self.report)?;
        let written = fields.text("recipe", self.report)?;
        let mut recipe = self.text(written);
        recipe.span = written.inner();
        let (mut context, mut names) = (Vec::new(), Vec::new());
        for entry in fields.map("context", self.report).unwrap_or_default() {
            if let Some(name) = entry.name() {
                strange::unreadable(name, name_span(entry.key), self.report);
                context.push((name.to_string(), self.given(entry.value)));
                names.push(name_span(entry.key));
            }
        }
        Some(Node::Act(Box::new(Action::Call(Call {
            recipe,
            context,
            names,
            inherits: self.dialect.shares_variables,
            spreads: self.dialect.shares_variables,
            target: None,
            once: fields.boolean("once", self.report).unwrap_or(false),
            recovers: fields
                .boolean("recovery_on_failure", self.report)
                .unwrap_or(false),
        }))))
    }

    /// A value that is given to a recipe, with holes at any depth.
    pub fn given(&mut self, node: Doc<'_>) -> Expr {
        if let (Kind::Scalar(scalar), Some(text)) = (node.kind, node.text())
            && resolve(scalar, self.dialect.schema) == Plain::Text
        {
            return self.value(text);
        }
        match node.kind {
            Kind::List(items) => {
                let items = items.iter().map(|item| self.given(*item)).collect();
                Expr {
                    span: node.span,
                    kind: ExprKind::List(items),
                }
            }
            Kind::Map(entries) => {
                let fields = entries
                    .iter()
                    .filter_map(|entry| Some((entry.name()?.to_string(), self.given(entry.value))))
                    .collect();
                Expr {
                    span: node.span,
                    kind: ExprKind::Map(fields),
                }
            }
            _ => literal(node, self.dialect.schema, self.report).expr(node.span),
        }
    }

    /// Tags are asked before the condition: a step that is left out by them reads nothing.
    fn tagged(&mut self, fields: &Fields<'_>, guard: Option<Guard>) -> Option<Guard> {
        let tags = fields.list("when_tags", self.report).unwrap_or_default();
        let mut names = Vec::new();
        for tag in tags {
            names.extend(text_of("a tag", *tag, self.dialect.schema, self.report));
        }
        let Some(span) = names.first().map(|name| name.whole()) else {
            return guard;
        };
        for given in [INCLUDE_TAGS, EXCLUDE_TAGS] {
            if !self.given.contains(&given) {
                self.given.push(given);
            }
        }
        let truth = Truth::Emptiness;
        let expr = |kind| Expr { span, kind };
        let list = |name: &str| {
            Box::new(expr(ExprKind::Var {
                name: name.to_string(),
                missing: Missing::Null,
            }))
        };
        let any = |of: &str| {
            names
                .iter()
                .map(|name| {
                    expr(ExprKind::Compare {
                        op: Compare::In,
                        equality: Equality::ByType,
                        left: Box::new(Literal::Text(name.text().to_string()).expr(span)),
                        right: list(of),
                    })
                })
                .reduce(|left, right| {
                    expr(ExprKind::Or {
                        left: Box::new(left),
                        right: Box::new(right),
                        truth,
                    })
                })
                .map(Box::new)
        };
        let (Some(excluded), Some(included)) = (any(EXCLUDE_TAGS), any(INCLUDE_TAGS)) else {
            return guard;
        };
        let not = |of| Box::new(expr(ExprKind::Not { of, truth }));
        let all = not(list(INCLUDE_TAGS));
        let wanted = Box::new(expr(ExprKind::Or {
            left: all,
            right: included,
            truth,
        }));
        let tags = expr(ExprKind::And {
            left: not(excluded),
            right: wanted,
            truth,
        });
        Some(match guard {
            None => Guard { expr: tags, truth },
            // The condition keeps its own idea of what is true.
            Some(guard) => {
                let of = Box::new(guard.expr);
                let right = Box::new(expr(ExprKind::Truth {
                    of,
                    truth: guard.truth,
                }));
                let both = ExprKind::And {
                    left: Box::new(tags),
                    right,
                    truth,
                };
                Guard {
                    expr: expr(both),
                    truth,
                }
            }
        })
    }

    fn optional_text(&mut self, fields: &Fields<'_>, name: &str) -> Option<Text> {
        let text = fields.text(name, self.report)?;
        Some(self.text(text))
    }

    fn env(&mut self, fields: &Fields<'_>) -> Vec<(String, Text)> {
        let mut env = Vec::new();
        for entry in fields.map("env", self.report).unwrap_or_default() {
            let Some(name) = entry.name() else { continue };
            if name.is_empty() || name.contains(['=', '\0']) || name.contains("{{") {
                let message = format!("`{name}` cannot be the name of an environment variable");
                self.report.add(
                    Diagnostic::new(&codes::BAD_VALUE, name_span(entry.key), message)
                        .help("use letters, digits and `_`"),
                );
                continue;
            }
            let what = format!("`{name}` in `env`");
            let Some(text) = text_of(&what, entry.value, self.dialect.schema, self.report) else {
                continue;
            };
            // Numbers and booleans read as the dialect reads them: `yes` may be `true`, `010` 8.
            let value = entry
                .value
                .scalar()
                .map(|scalar| resolve(scalar, self.dialect.schema));
            if entry.value.scalar().is_some_and(read_otherwise) {
                literal(entry.value, self.dialect.schema, self.report);
            }
            let text = match value {
                Some(Plain::Bool(value)) => Text::literal(text.whole(), value.to_string()),
                Some(Plain::Null) => Text::literal(text.whole(), ""),
                Some(Plain::Int(value)) if self.dialect.schema == Schema::Yaml11 => {
                    Text::literal(text.whole(), value.to_string())
                }
                _ => self.text(text),
            };
            env.push((name.to_string(), text));
        }
        env
    }

    fn store(&mut self, fields: &Fields<'_>) -> Store {
        let wanted = fields.boolean("parse_json", self.report);
        let required = fields
            .boolean("parse_json_required", self.report)
            .unwrap_or(false);
        if required && (wanted == Some(false) || !fields.has("parse_json")) {
            strange::required_of_nothing(fields, self.report);
        }
        match (wanted.unwrap_or(false), required) {
            (true, true) => Store::Json {
                trim: self.dialect.store == Store::JsonOrText,
            },
            (true, false) => self.dialect.store_json,
            (false, _) => self.dialect.store,
        }
    }

    fn binds(
        &mut self,
        fields: &Fields<'_>,
        id: &str,
        id_span: Span,
        kind: Option<&str>,
    ) -> Vec<Bind> {
        // Most steps set one variable.
        let mut binds = Vec::with_capacity(1);
        for (field, read) in [
            ("output", Read::Value),
            ("output_stderr", Read::Stderr),
            ("output_exit_code", Read::ExitCode),
        ] {
            binds.extend(self.bind(fields, field, read));
        }
        let unnamed = !fields.has("output") && !fields.has("collect") && !id.is_empty();
        if unnamed && self.dialect.output_by_id && kind != Some("recipe") {
            binds.push(Bind {
                name: id.to_string(),
                span: id_span,
                read: Read::Value,
            });
        }
        binds
    }

    pub fn bind(&mut self, fields: &Fields<'_>, field: &str, read: Read) -> Option<Bind> {
        let text = fields.text(field, self.report)?;
        if text.text().trim().is_empty() {
            let help = "name a variable, or remove the field";
            strange::blank(fields, field, help, self.report);
            return None;
        }
        Some(Bind {
            name: strange::variable(text.text(), text.inner(), self.report)?,
            span: text.inner(),
            read,
        })
    }
}

/// Where a step is named: what an alias or `<<` brings along is written elsewhere.
fn own_place(fields: &Fields<'_>, name: Span) -> Span {
    let whole = fields.whole();
    let (all, at) = (whole.span.range(), name.range());
    let written = all.start <= at.start && at.end <= all.end;
    let alias = whole.alias.or(fields.node("id").and_then(|id| id.alias));
    alias.unwrap_or(if written { name } else { whole.span })
}
