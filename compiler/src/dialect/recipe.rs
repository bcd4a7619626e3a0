//! A recipe, from its fields to a unit of the IR.

use super::Dialect;
use super::fields::{RECIPE, STAGE};
use super::literal::literal;
use super::text::Lower;
use super::{order, raw};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::doc::fields::{Fields, name_span};
use crate::doc::{Node as Doc, Text as Written};
use crate::ir::{Expr, ExprKind, Guard, Input, Literal, RunLimits, Step, Unit, visit};
use crate::source::{SourceId, Span};
use rustc_hash::FxHashMap;

/// More steps than this are refused: nobody wrote them, and every table grows with them.
pub const MOST_STEPS: usize = 20_000;

/// How a recipe is read, besides its dialect.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The dialect was chosen on purpose, not because nothing spoke against it.
    pub deliberate: bool,
    /// Paste values into shell text whatever the recipe says.
    pub raw: bool,
}

pub fn lower(
    node: Doc<'_>,
    source: SourceId,
    dialect: &'static Dialect,
    options: Options,
    report: &mut Report,
) -> Option<Unit> {
    let fields = Fields::new(&RECIPE, node, dialect.schema, report);
    if !fields.is_map() {
        return None;
    }
    let mut lower = Lower {
        dialect,
        report,
        raw: options.raw,
        facts: Vec::new(),
        pasted: Vec::new(),
    };
    let name = lower.header(&fields, options);
    if lower.report_choice(&fields) == Some("raw") {
        lower.raw = true;
    }
    lower.facts(&fields, &name);
    let inputs = lower.inputs(&fields);
    let limits = lower.limits(&fields);
    let steps = lower.all_steps(&fields);
    lower.unique_ids(&steps);
    order::check(node, dialect, lower.report);
    raw::check(&lower.pasted, &steps, lower.report);
    let unit = Unit {
        source,
        name,
        dialect: dialect.name,
        inputs,
        reserved: dialect.reserved,
        limits,
        steps,
    };
    Some(unit)
}

/// One condition over variables that are given from outside, and a unit for it to stand in.
pub fn lower_expression(
    text: &str,
    source: SourceId,
    dialect: &'static Dialect,
    names: &[&str],
    as_truth: bool,
    report: &mut Report,
) -> Option<(Unit, Expr)> {
    let mut lower = Lower {
        dialect,
        report,
        raw: false,
        facts: Vec::new(),
        pasted: Vec::new(),
    };
    let written = Written::plain(text, Span::new(source, 0, text.len()));
    let Guard { expr, truth } = lower.condition(written)?;
    let expr = match as_truth {
        true => Expr {
            span: expr.span,
            kind: ExprKind::Truth {
                of: Box::new(expr),
                truth,
            },
        },
        false => expr,
    };
    let given = |name: &&str| Input {
        name: (*name).to_string(),
        span: Span::top(source),
        default: Literal::Null,
    };
    let unit = Unit {
        source,
        name: "<expression>".to_string(),
        dialect: dialect.name,
        inputs: names.iter().map(given).collect(),
        reserved: &[],
        limits: dialect.limits,
        steps: Vec::new(),
    };
    Some((unit, expr))
}

impl Lower<'_> {
    fn report_choice(&mut self, fields: &Fields<'_>) -> Option<&'static str> {
        fields.choice("schedule", self.report);
        fields.choice("substitution", self.report)
    }

    /// The name, and what else a recipe must say about itself.
    fn header(&mut self, fields: &Fields<'_>, options: Options) -> String {
        fields.require("name", self.report);
        let name = fields.text("name", self.report);
        if let Some(name) = name
            && name.text().trim().is_empty()
        {
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, name.whole(), "`name` is blank")
                    .help("give the recipe a name"),
            );
        }
        if options.deliberate {
            for field in self.dialect.required {
                fields.require(field, self.report);
            }
        }
        fields.text("description", self.report);
        if let Some(version) = fields.text("version", self.report)
            && options.deliberate
            && self.dialect.required.contains(&"version")
        {
            self.version(version);
        }
        name.map(|name| name.text().to_string()).unwrap_or_default()
    }

    fn version(&mut self, version: Written<'_>) {
        let text = version.text();
        let parts: Vec<&str> = text.split('.').collect();
        let number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if parts.len() == 3 && parts.iter().all(number) {
            return;
        }
        let message = format!("`version` must be three numbers, not `{text}`");
        let mut finding = Diagnostic::new(&codes::BAD_VALUE, version.inner(), message)
            .help("write it as `\"1.0.0\"`");
        if parts.len() < 3 && parts.iter().all(number) {
            let padded = format!("{text}{}", ".0".repeat(3 - parts.len()));
            finding = finding.fix(Fix::safe(
                format!("write `{padded}`"),
                version.whole(),
                format!("\"{padded}\""),
            ));
        }
        self.report.add(finding);
    }

    /// What a recipe can say about itself in its texts.
    fn facts(&mut self, fields: &Fields<'_>, name: &str) {
        if !self.dialect.reserved.contains(&"recipe") {
            return;
        }
        let text = |field: &str| {
            let written = fields.node(field).and_then(|node| node.text());
            Literal::Text(written.map_or_else(String::new, |text| text.text().to_string()))
        };
        self.facts.push((
            "recipe",
            Literal::Map(vec![
                ("name".to_string(), Literal::Text(name.to_string())),
                ("version".to_string(), text("version")),
                ("description".to_string(), text("description")),
            ]),
        ));
    }

    fn inputs(&mut self, fields: &Fields<'_>) -> Vec<Input> {
        let mut inputs = Vec::new();
        for entry in fields.map("context", self.report).unwrap_or_default() {
            let Some(name) = entry.name() else { continue };
            inputs.push(Input {
                name: name.to_string(),
                span: name_span(entry.key),
                default: literal(entry.value, self.dialect.schema, self.report),
            });
        }
        inputs
    }

    fn limits(&mut self, fields: &Fields<'_>) -> RunLimits {
        let mut limits = self.dialect.limits;
        if let Some(recursion) = fields.nested("recursion", self.report) {
            let mut read = |field, limit: &mut u32| {
                if let Some(value) = recursion.integer(field, self.report) {
                    *limit = u32::try_from(value).unwrap_or(u32::MAX);
                }
            };
            read("max_depth", &mut limits.depth);
            read("max_total_steps", &mut limits.steps);
        }
        limits
    }

    fn all_steps(&mut self, fields: &Fields<'_>) -> Vec<Step> {
        let both = fields.has("steps") && fields.has("stages");
        if both {
            let span = fields.key_span("stages").unwrap_or_else(|| fields.head());
            let other = fields.key_span("steps").unwrap_or_else(|| fields.head());
            self.report.add(
                Diagnostic::new(
                    &codes::EXCLUSIVE_FIELDS,
                    span,
                    "a recipe has `steps` or `stages`, not both",
                )
                .label(other, "`steps` stands here")
                .help("move the steps into a stage"),
            );
        }
        if let Some(stages) = fields.list("stages", self.report) {
            return self.stages(stages, fields);
        }
        if !fields.has("stages") {
            fields.require("steps", self.report);
        }
        let Some(items) = fields.list("steps", self.report) else {
            return Vec::new();
        };
        self.steps(
            items,
            fields.key_span("steps").unwrap_or_else(|| fields.head()),
        )
    }

    fn steps(&mut self, items: &[Doc<'_>], span: Span) -> Vec<Step> {
        if items.is_empty() {
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, span, "`steps` is empty")
                    .help("a recipe needs at least one step"),
            );
        }
        if items.len() > MOST_STEPS {
            let message = format!(
                "a list of {} steps; at most {MOST_STEPS} are read",
                items.len()
            );
            self.report.add(
                Diagnostic::new(&codes::TOO_MANY_STEPS, span, message)
                    .help("use `foreach`, or split the recipe"),
            );
            return Vec::new();
        }
        items.iter().filter_map(|item| self.step(*item)).collect()
    }

    fn stages(&mut self, stages: &[Doc<'_>], recipe: &Fields<'_>) -> Vec<Step> {
        let mut all = Vec::new();
        let mut names: FxHashMap<String, Span> = FxHashMap::default();
        if stages.is_empty() {
            let span = recipe.key_span("stages").unwrap_or_else(|| recipe.head());
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, span, "`stages` is empty")
                    .help("a recipe needs at least one stage with a step"),
            );
        }
        for stage in stages {
            let fields = Fields::new(&STAGE, *stage, self.dialect.schema, self.report);
            if !fields.is_map() {
                continue;
            }
            fields.require("name", self.report);
            if let Some(name) = fields.text("name", self.report) {
                match names.get(name.text()) {
                    Some(first) => {
                        self.report
                            .add(duplicate("stage", name.text(), name.inner(), *first))
                    }
                    None => {
                        names.insert(name.text().to_string(), name.inner());
                    }
                }
            }
            if let Some(approval) = fields.nested("approval", self.report) {
                self.approval(&approval);
            }
            fields.require("steps", self.report);
            if let Some(items) = fields.list("steps", self.report) {
                let span = fields.key_span("steps").unwrap_or_else(|| fields.head());
                all.extend(self.steps(items, span));
            }
        }
        all
    }

    fn approval(&mut self, approval: &Fields<'_>) {
        let required = approval.boolean("required", self.report).unwrap_or(false);
        if required {
            approval.require("prompt", self.report);
        }
        if let Some(prompt) = approval.text("prompt", self.report) {
            self.text(prompt);
        }
        if approval
            .number("timeout", self.report)
            .is_some_and(|seconds| seconds < 0.0)
        {
            let span = approval
                .value_span("timeout")
                .unwrap_or_else(|| approval.head());
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, span, "`timeout` must not be negative")
                    .help("write seconds; 0 waits for ever"),
            );
        }
        approval.choice("default", self.report);
    }

    fn unique_ids(&mut self, steps: &[Step]) {
        let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
        let mut again = Vec::new();
        for step in steps {
            visit::steps(step, &mut |step| {
                if step.id.is_empty() {
                    return;
                }
                match seen.get(step.id.as_str()) {
                    // The body of a loop is the loop's own step once more, in the same place.
                    Some(first) if *first == step.span => {}
                    Some(first) => again.push(duplicate("step", &step.id, step.span, *first)),
                    None => {
                        seen.insert(&step.id, step.span);
                    }
                }
            });
        }
        again
            .into_iter()
            .for_each(|finding| self.report.add(finding));
    }
}

fn duplicate(what: &str, name: &str, span: Span, first: Span) -> Diagnostic {
    Diagnostic::new(
        &codes::DUPLICATE_ID,
        span,
        format!("another {what} is called `{name}` too"),
    )
    .label(first, "it stands here first")
    .help(format!("give each {what} a name of its own"))
}
