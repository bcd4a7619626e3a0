//! Names to variables: is there anything that sets what is read?
//!
//! Follows the order in which steps run. A name that nothing sets is said once per place; what is
//! read *through* it is not looked at further. A recipe that sees its caller's variables is
//! checked against everything that any caller may have set.

mod links;
mod rules;
mod side_by_side;
mod unstored;

pub use links::Links;

use crate::codes;
use crate::codes::Severity;
use crate::diagnostic::{Applicability, Diagnostic, Fix, Label, Report};
use crate::ir::visit;
use crate::ir::{
    Action, Bind, Call, Check, Expr, ExprKind, Graph, Guard, HOOK_NAMES, LOOP_NAMES, Missing, Node,
    Program, Step, Unit, While,
};
use crate::source::{SourceId, Span};
use crate::spelling::{Near, Slips};
use rules::Used;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{OnceCell, RefCell};
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// What units know of each other is found on the way.
pub fn resolve<'a>(program: &'a Program, report: &mut Report) -> Links<'a> {
    let (sure, known) = (!report.has_errors(), report.findings.len());
    let links = Links::new(program);
    let mut needed = FxHashMap::default();
    for (number, unit) in program.units.iter().enumerate() {
        Scope::new(program, &links, number).unit(unit, report);
        inputs_given(program, &links, unit, &mut needed, report);
    }
    unstored::say(report, known);
    // A name may be missing only because of a mistake that was found before, such as a loop that
    // is misspelt; what is near it is a guess, then.
    for finding in &mut report.findings[known..] {
        match &mut finding.fix {
            Some(fix) if !sure && fix.applicability == Applicability::Safe => {
                fix.applicability = Applicability::Unsafe;
            }
            _ => {}
        }
    }
    links
}

/// How many other places are shown where a name that means nothing is read.
const SHOWN: usize = 3;

/// A name that nothing defines may be read all over a recipe: the first place speaks for the others,
/// and its fix mends them as well. A comment silences the place where it stands and no other, so this
/// comes after that.
pub fn say_once(findings: &mut Vec<Diagnostic>) {
    let mut places: FxHashMap<(SourceId, String), Vec<usize>> = FxHashMap::default();
    for (at, finding) in findings.iter().enumerate() {
        if finding.code == &codes::UNDEFINED_VARIABLE {
            let same = (finding.span.source, finding.message.clone());
            places.entry(same).or_default().push(at);
        }
    }
    let mut more = Vec::new();
    for places in places.values_mut().filter(|places| places.len() > 1) {
        // Phases do not read in the order of the text.
        places.sort_by_key(|at| findings[*at].span);
        let (first, rest) = (places[0], &places[1..]);
        let edits: Vec<_> = rest
            .iter()
            .filter_map(|at| findings[*at].fix.as_ref())
            .flat_map(|fix| fix.edits.clone())
            .collect();
        let spans: Vec<Span> = rest.iter().map(|at| findings[*at].span).collect();
        let finding = &mut findings[first];
        for span in spans.iter().take(SHOWN) {
            finding.labels.push(Label {
                span: *span,
                message: "it is read here too".to_string(),
            });
        }
        if spans.len() > SHOWN {
            let count = match spans.len() - SHOWN {
                1 => "one more place".to_string(),
                count => format!("{count} more places"),
            };
            let help = finding.help.take().unwrap_or_default();
            finding.help = Some(format!("{help} (it is read in {count})"));
        }
        if let Some(fix) = &mut finding.fix {
            fix.edits.extend(edits);
        }
        more.extend_from_slice(rest);
    }
    more.sort_unstable();
    let mut more = more.into_iter().peekable();
    let mut at = 0;
    findings.retain(|_| {
        let said = more.next_if_eq(&at).is_some();
        at += 1;
        !said
    });
}

/// What one call gives a recipe, another must give as well. A name that no call gives is said
/// where it is read.
fn inputs_given(
    program: &Program,
    links: &Links<'_>,
    unit: &Unit,
    needed: &mut FxHashMap<usize, Vec<(String, Span)>>,
    report: &mut Report,
) {
    for step in &unit.steps {
        visit::calls(step, &mut |call| {
            let Some(target) = call.target.filter(|_| !call.inherits) else {
                return;
            };
            let needs = needed
                .entry(target)
                .or_insert_with(|| needs(program, links, target));
            if needs.is_empty() {
                return;
            }
            let given = call.context.iter().map(|(name, _)| name.as_str());
            let given: FxHashSet<&str> = given.collect();
            let child = &program.units[target];
            for (name, read) in needs
                .iter()
                .filter(|(name, _)| !given.contains(name.as_str()))
            {
                let message = format!(
                    "`{}` needs `{name}`, and this call does not give it",
                    child.name
                );
                report.add(
                    Diagnostic::new(&codes::MISSING_INPUT, call.recipe.span, message)
                        .label(*read, format!("`{name}` is read here"))
                        .help(format!("add `{name}` to the `context` of this step")),
                );
            }
        });
    }
}

/// What a recipe cannot do without of that which calls give it, and where it reads it first.
fn needs(program: &Program, links: &Links<'_>, target: usize) -> Vec<(String, Span)> {
    let mut given: Vec<&str> = links.given[target].iter().copied().collect();
    if given.is_empty() {
        return Vec::new();
    }
    given.sort_unstable();
    let child = &program.units[target];
    let own: FxHashSet<&str> = child
        .inputs
        .iter()
        .map(|input| input.name.as_str())
        .collect();
    let mut alone = Report::default();
    let mut scope = Scope::new(program, links, target);
    scope.brief = true;
    for name in &given {
        scope.visible.insert(name, u32::from(own.contains(name)));
    }
    scope.unit(child, &mut alone);
    let mut read: FxHashMap<&str, Span> = FxHashMap::default();
    let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
    for found in alone.findings.iter().filter(is_error) {
        for name in &found.about {
            read.entry(name).or_insert(found.span);
        }
    }
    let needed = given.into_iter().filter_map(|name| {
        let place = read.get(name)?;
        Some((name.to_string(), *place))
    });
    needed.collect()
}

/// The same for one expression that stands in a unit without steps.
pub fn resolve_expression(unit: &Unit, expr: &Expr, report: &mut Report) {
    let program = Program {
        units: vec![Arc::new(unit.clone())],
    };
    let links = Links::new(&program);
    Scope::new(&program, &links, 0).reads(expr, report);
}

const LITERAL_BRACES: &str = "give it a value under `context`, or write `\\{{` if the text is about \
                              braces";

/// Names that rrc sets in some places only, and the help where they are read in others.
const NOT_EVERYWHERE: [(&str, &str); 2] = [
    ("stage", "only steps in `stages` know their stage"),
    ("step", "a hook reads `{{step_id}}`"),
];

/// Names that other tools give a meaning to, and what to write here.
const NO_NAMES: [(&str, &str); 7] = [
    (
        "steps",
        "give the step an `output`, and read it by that name",
    ),
    (
        "context",
        "variables are read by their own names, without `context.`",
    ),
    (
        "inputs",
        "variables are read by their own names, without `inputs.`",
    ),
    (
        "env",
        "in a script, write `$NAME`; elsewhere, pass the value in as a variable",
    ),
    (
        "else",
        "there is no `if` in texts: use two steps with conditions",
    ),
    ("var", LITERAL_BRACES),
    ("variable", LITERAL_BRACES),
];

/// Why a variable of a loop is not there outside of it.
#[derive(Clone, Copy, Debug)]
enum Outside {
    /// The condition of the loop itself.
    Before,
    Item,
    SideBySide,
}

/// What is known at one point of a unit.
struct Scope<'a> {
    program: &'a Program,
    number: usize,
    /// What is read, once somebody asks.
    read: OnceCell<Reads<'a>>,
    /// Steps by their ids, likewise.
    ids: OnceCell<FxHashMap<String, &'a Step>>,
    /// Names to suggest, and how many of `names` are among them.
    near: RefCell<Option<(Near<'a>, usize)>>,
    links: &'a Links<'a>,
    /// How often a name is visible: it may be set at several levels.
    visible: FxHashMap<&'a str, u32>,
    /// The same names, in the order in which they were first seen.
    names: Vec<&'a str>,
    /// Everything that any step sets, and where, likewise.
    anywhere: OnceCell<FxHashMap<&'a str, Span>>,
    /// Variables that loops have to themselves, and where.
    in_loops: FxHashMap<&'a str, (Span, Outside)>,
    reserved: &'static [&'static str],
    /// What is not known may set anything: the recipe of a call, or one that is extended.
    open: bool,
    /// Nobody reads what could be done about a finding.
    brief: bool,
    /// What is read where the steps of the unit are not counted.
    used: OnceCell<Used<'a>>,
}

/// How often each name is read, and which are nearly others.
struct Reads<'a> {
    counts: FxHashMap<&'a str, usize>,
    slips: Slips<'a>,
}

impl<'a> Scope<'a> {
    fn new(program: &'a Program, links: &'a Links<'a>, number: usize) -> Scope<'a> {
        let unit = &program.units[number];
        let mut scope = Scope {
            program,
            number,
            read: OnceCell::new(),
            used: OnceCell::new(),
            ids: OnceCell::new(),
            near: RefCell::default(),
            links,
            visible: FxHashMap::default(),
            names: Vec::new(),
            anywhere: OnceCell::new(),
            in_loops: FxHashMap::default(),
            reserved: unit.reserved,
            open: program.units[number].open,
            brief: false,
        };
        let seen = unit.inputs.len() + unit.given.len() + links.given[number].len();
        let seen = seen + unit.steps.len();
        scope.visible.reserve(seen);
        scope.names.reserve(seen);
        for input in &unit.inputs {
            scope.show(&input.name);
        }
        unit.given.iter().for_each(|name| scope.show(name));
        links.given[number].iter().for_each(|name| scope.show(name));
        scope
    }

    fn unit(mut self, unit: &'a Unit, report: &mut Report) {
        for input in &unit.inputs {
            self.check_reserved(&input.name, input.span, report);
        }
        for (name, span) in &unit.optional {
            self.rule(name, *span, 0, report);
        }
        self.steps(&unit.steps, report);
        // A hook runs around every step: what any step sets, it may see.
        HOOK_NAMES.iter().for_each(|name| self.show(name));
        for script in unit.hooks.scripts() {
            visit::walk_script(script, &mut |expr| self.read(expr, report));
        }
    }

    fn steps(&mut self, steps: &'a [Step], report: &mut Report) {
        steps.iter().for_each(|step| self.step(step, report));
    }

    fn step(&mut self, step: &'a Step, report: &mut Report) {
        if let Some(guard) = &step.guard {
            self.guard(guard, &step.node, report);
        }
        if let Some(deadline) = &step.deadline {
            self.reads(deadline, report);
        }
        match &step.node {
            Node::Act(action) => self.action(action, report),
            Node::Seq(steps) | Node::Graph(Graph { steps, .. }) => self.steps(steps, report),
            Node::Par { branches, .. } => self.side_by_side(branches, report),
            Node::Each(each) => {
                self.reads(&each.over, report);
                each.limit_from
                    .iter()
                    .for_each(|limit| self.reads(limit, report));
                self.set_item(&each.item, report);
                self.step(&each.body, report);
                each.last_of_turns()
                    .iter()
                    .for_each(|last| self.show(&last.name));
                if let Some(until) = &each.until {
                    self.reads(&until.expr, report);
                }
                self.end(&each.item, Outside::Item);
                if each.width.is_some() {
                    visit::steps(&each.body, &mut |inner| {
                        binds(inner).for_each(|bind| self.end(bind, Outside::SideBySide));
                    });
                    visit::calls(&each.body, &mut |call| self.forget(call));
                }
            }
            Node::While(body) => {
                self.before_loop(step, body, report);
                LOOP_NAMES.iter().for_each(|name| self.show(name));
                self.step(&body.body, report);
                body.last.iter().for_each(|last| self.show(&last.name));
                for (bind, new) in &body.update {
                    self.reads(new, report);
                    self.set(bind, report);
                }
                if let Some(until) = &body.until {
                    self.reads(&until.expr, report);
                }
                LOOP_NAMES.iter().for_each(|name| self.hide(name));
            }
        }
        for bind in binds(step) {
            self.set(bind, report);
        }
    }

    /// A loop asks first what its steps answer: where nothing is null, that is not to be there yet.
    fn before_loop(&mut self, step: &'a Step, body: &'a While, report: &mut Report) {
        let mut answers: Vec<&str> = Vec::new();
        visit::walk(&body.condition.expr, &mut |expr| match &expr.kind {
            ExprKind::Var { name, missing } if *missing == Missing::Null => answers.push(name),
            _ => {}
        });
        if answers.iter().any(|name| !self.is_visible(name)) {
            let mut set: FxHashSet<&str> = FxHashSet::default();
            set.extend(body.update.iter().map(|(bind, _)| bind.name.as_str()));
            visit::steps(step, &mut |step| {
                set.extend(binds(step).map(|bind| bind.name.as_str()))
            });
            visit::calls(step, &mut |call| {
                if let Some(target) = call.target.filter(|_| call.spreads) {
                    set.extend(self.links.sets[target].iter().copied());
                }
            });
            answers.retain(|name| set.contains(name));
        } else {
            answers.clear();
        }
        answers.iter().for_each(|name| self.show(name));
        self.reads(&body.condition.expr, report);
        answers.iter().for_each(|name| self.hide(name));
    }

    fn guard(&mut self, guard: &Guard, node: &'a Node, report: &mut Report) {
        let Node::Each(each) = node else {
            return self.reads(&guard.expr, report);
        };
        let item = &each.item;
        let here = (item.span, Outside::Before);
        let earlier = self.in_loops.insert(&item.name, here);
        self.reads(&guard.expr, report);
        match earlier {
            Some(earlier) => self.in_loops.insert(&item.name, earlier),
            None => self.in_loops.remove(item.name.as_str()),
        };
    }

    fn action(&mut self, action: &'a Action, report: &mut Report) {
        match action {
            Action::Validate(checks) => {
                for Check { name, value, .. } in checks {
                    self.rule(name, value.span, 1, report);
                }
            }
            _ => visit::walk_needs(action, &mut |expr| self.read(expr, report)),
        }
        if let Action::Flow(flow) = action {
            for difference in &flow.differences {
                if !difference.parts.iter().all(|part| self.is_visible(part)) {
                    self.read(&difference.whole, report);
                }
            }
        }
        let Action::Call(call) = action else { return };
        for ((name, _), span) in call.context.iter().zip(&call.names) {
            self.check_reserved(name, *span, report);
        }
        match call.target {
            Some(target) if call.spreads => {
                call.context.iter().for_each(|(name, _)| self.show(name));
                let links = self.links;
                links.sets[target].iter().for_each(|name| self.show(name));
                self.open |= links.open[target];
            }
            None if call.spreads => self.open = true,
            _ => {}
        }
    }

    fn set(&mut self, bind: &'a Bind, report: &mut Report) {
        self.check_reserved(&bind.name, bind.span, report);
        self.show(&bind.name);
    }

    /// The variable of a loop is local, and may hide what is the same in all of a recipe.
    fn set_item(&mut self, item: &'a Bind, report: &mut Report) {
        let name = &item.name;
        if name != "recipe" {
            return self.set(item, report);
        }
        if self.reserved.contains(&"recipe") {
            let message = format!("in this loop `{name}` is the item, not what rrc says of it");
            report.add(
                Diagnostic::new(&codes::RESERVED_NAME, item.span, message)
                    .severity(Severity::Note)
                    .help(format!("choose another name, such as `one_{name}`")),
            );
        }
        self.show(name);
    }

    fn check_reserved(&self, name: &str, span: Span, report: &mut Report) {
        if self.reserved.contains(&name) {
            let message = format!("`{name}` is set by rrc itself and cannot be a variable");
            report.add(
                Diagnostic::new(&codes::RESERVED_NAME, span, message)
                    .help(format!("choose another name, such as `my_{name}`")),
            );
        }
    }

    fn show(&mut self, name: &'a str) {
        match self.visible.entry(name) {
            Entry::Occupied(mut known) => *known.get_mut() += 1,
            Entry::Vacant(new) => {
                new.insert(1);
                self.names.push(name);
            }
        }
    }

    /// A variable that a loop keeps to itself.
    fn end(&mut self, bind: &'a Bind, how: Outside) {
        self.hide(&bind.name);
        self.in_loops.insert(&bind.name, (bind.span, how));
    }

    /// What a recipe gives back to one of several turns that run at once is seen there only.
    fn forget(&mut self, call: &'a Call) {
        let Some(target) = call.target.filter(|_| call.spreads) else {
            return;
        };
        let links = self.links;
        let given = call.context.iter().map(|(name, _)| name.as_str());
        for name in given.chain(links.sets[target].iter().copied()) {
            self.hide(name);
            let here = (call.recipe.span, Outside::SideBySide);
            self.in_loops.insert(name, here);
        }
    }

    fn hide(&mut self, name: &'a str) {
        if let Some(count) = self.visible.get_mut(name) {
            *count = count.saturating_sub(1);
        }
    }

    fn is_visible(&self, name: &str) -> bool {
        self.open || self.visible.get(name).is_some_and(|count| *count > 0)
    }

    fn reads(&self, expr: &Expr, report: &mut Report) {
        visit::walk(expr, &mut |expr| self.read(expr, report));
    }

    fn read(&self, expr: &Expr, report: &mut Report) {
        if let ExprKind::Var { name, missing } = &expr.kind
            && !self.is_visible(name)
        {
            report.add(self.undefined(name, *missing, expr.span));
        }
    }

    fn set_anywhere(&self) -> &FxHashMap<&'a str, Span> {
        self.anywhere.get_or_init(|| {
            let mut places = FxHashMap::default();
            for step in &self.program.units[self.number].steps {
                visit::steps(step, &mut |step| {
                    for bind in binds(step) {
                        places.entry(bind.name.as_str()).or_insert(bind.span);
                    }
                });
            }
            places
        })
    }

    fn undefined(&self, name: &str, missing: Missing, span: Span) -> Diagnostic {
        let (severity, message) = match missing {
            Missing::Fail => (Severity::Error, format!("nothing defines `{name}`")),
            Missing::Null => (
                Severity::Warning,
                format!("nothing defines `{name}`; it is empty unless the caller gives it"),
            ),
        };
        let finding = Diagnostic::new(&codes::UNDEFINED_VARIABLE, span, message)
            .severity(severity)
            .about(name);
        if self.brief {
            return finding;
        }
        if let Some((place, how)) = self.in_loops.get(name) {
            let (label, help) = match how {
                Outside::Before => (
                    format!("`{name}` exists in this loop only"),
                    "the condition is judged once, before the loop: for each item, put it on a step \
                     under `steps`",
                ),
                Outside::Item => (
                    format!("`{name}` exists in this loop only"),
                    "read it in the loop, or `collect` what the loop makes of it",
                ),
                Outside::SideBySide => (
                    format!("`{name}` is set in turns that run side by side, each for itself"),
                    "`collect` what the turns give, or run them one after the other",
                ),
            };
            finding.label(*place, label).help(help)
        } else if let Some((_, help)) = self.not_here(name) {
            finding.help(*help)
        } else if LOOP_NAMES.contains(&name) {
            finding.help(
                "it counts the iterations of a `while_condition`, and exists in such a loop only",
            )
        } else if let Some(later) = self.set_anywhere().get(name) {
            finding
                .label(*later, format!("`{name}` is set here, later"))
                .help("a step can only read what steps before it have set")
        } else if let Some(step) = self.named_step(name) {
            match binds(step).next() {
                Some(Bind {
                    name: near,
                    span: place,
                    ..
                }) => finding
                    .label(*place, "what the step of this name gives is stored here")
                    .did_you_mean(near)
                    .fix(Fix::unsafe_(format!("write `{near}`"), span, near)),
                None => finding
                    .label(step.span, "the step of this name stores nothing")
                    .help(format!("add `output: {name}` to it")),
            }
        } else if let Some((_, help)) = NO_NAMES.iter().find(|(known, _)| *known == name) {
            finding.help(*help)
        } else if let Some(near) = self.suggestion(name) {
            let mut fix = Fix::rename(name, near, span);
            // A caller that nobody knows may give it under this very name.
            if missing == Missing::Null || self.reserved.contains(&near) {
                fix.applicability = Applicability::Unsafe;
            }
            finding.did_you_mean(near).fix(fix)
        } else if let Some(near) = self.read_beside(name) {
            let mut fix = Fix::rename(name, near, span);
            fix.applicability = Applicability::Unsafe;
            finding
                .help(format!("`{near}` is read as well: did you mean that?"))
                .fix(fix)
        } else {
            finding.help(format!(
                "give `{name}` a value under `context`, or as the `output` of an earlier step"
            ))
        }
    }

    /// What rrc sets elsewhere, and what to do without it.
    fn not_here(&self, name: &str) -> Option<&(&'static str, &'static str)> {
        let known = NOT_EVERYWHERE.iter().find(|(known, _)| *known == name);
        known.filter(|_| self.reserved.contains(&name))
    }

    /// The step whose id is this name, or would be if names could hold a `-`.
    fn named_step(&self, name: &str) -> Option<&'a Step> {
        let steps = self.ids.get_or_init(|| {
            let mut steps: FxHashMap<String, &Step> = FxHashMap::default();
            for step in &self.program.units[self.number].steps {
                visit::steps(step, &mut |step| {
                    if !step.kind.is_hidden() {
                        steps.entry(step.id.replace('-', "_")).or_insert(step);
                    }
                });
            }
            steps
        });
        steps.get(&name.replace('-', "_")).copied()
    }

    /// A name that the recipe reads elsewhere, and more often: it may be given by the caller.
    fn read_beside(&self, name: &str) -> Option<&'a str> {
        let Reads { counts, slips } = self.reading();
        let count = |name: &str| counts.get(name).copied().unwrap_or(0);
        let own = count(name);
        slips.nearest(name, |other| count(other) > own)
    }

    fn reading(&self) -> &Reads<'a> {
        self.read.get_or_init(|| {
            let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
            let mut note = |expr: &'a Expr| {
                if let ExprKind::Var { name, .. } = &expr.kind {
                    *counts.entry(name).or_default() += 1;
                }
            };
            for step in &self.program.units[self.number].steps {
                visit::steps(step, &mut |step| visit::walk_step(step, &mut note));
            }
            let mut names: Vec<&str> = counts.keys().copied().collect();
            // The order of a hash map is not one that a message may depend on.
            names.sort_unstable();
            let slips = Slips::new(names);
            Reads { counts, slips }
        })
    }

    fn suggestion(&self, name: &str) -> Option<&'a str> {
        let mut near = self.near.borrow_mut();
        let (near, known) =
            near.get_or_insert_with(|| (self.reserved.iter().copied().collect(), 0));
        let new = self.names.iter().skip(*known).copied();
        near.extend(new.filter(|name| !name.starts_with('_')));
        *known = self.names.len();
        near.nearest(name, |name| {
            self.visible.get(name).is_some_and(|count| *count > 0) || self.reserved.contains(&name)
        })
    }
}

/// Everything a step sets when it is done, itself or through its loop.
fn binds(step: &Step) -> impl Iterator<Item = &Bind> {
    let (collect, last) = match &step.node {
        Node::Each(each) => (each.collect.as_ref(), each.last.as_ref()),
        Node::While(body) => (body.collect.as_ref(), body.last.as_ref()),
        _ => (None, None),
    };
    step.bind.iter().chain(collect).chain(last)
}
