//! Names to variables: is there anything that sets what is read?
//!
//! Follows the order in which steps run. A name that nothing sets is said once per place; what is
//! read *through* it is not looked at further. A recipe that sees its caller's variables is
//! checked against everything that any caller may have set.

use crate::codes;
use crate::codes::Severity;
use crate::diagnostic::{Applicability, Diagnostic, Fix, Report, nearest};
use crate::ir::visit;
use crate::ir::{
    Action, Bind, Call, Expr, ExprKind, HOOK_NAMES, Literal, Missing, Node, Program, Step, Unit,
};
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Names that are set while a loop runs its body.
const LOOP_NAMES: [&str; 2] = ["_loop_index", "_loop_iteration"];

pub fn resolve(program: &Program, report: &mut Report) {
    let (sure, known) = (!report.has_errors(), report.findings.len());
    let links = Links::new(program);
    for (number, unit) in program.units.iter().enumerate() {
        Scope::new(program, &links, number).unit(unit, report);
    }
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
}

/// The same for one expression that stands in a unit without steps.
pub fn resolve_expression(unit: &Unit, expr: &Expr, report: &mut Report) {
    let program = Program {
        units: vec![unit.clone()],
    };
    let links = Links::new(&program);
    let mut scope = Scope::new(&program, &links, 0);
    // The values are given from outside: nothing is known of them here.
    scope.literals.clear();
    scope.reads(expr, report);
}

/// What units can know of each other's variables.
struct Links<'a> {
    /// What each unit may have set when it is done, calls included.
    sets: Vec<FxHashSet<&'a str>>,
    /// What callers may give each unit.
    given: Vec<FxHashSet<&'a str>>,
}

impl<'a> Links<'a> {
    fn new(program: &'a Program) -> Links<'a> {
        let count = program.units.len();
        let mut links = Links {
            sets: vec![FxHashSet::default(); count],
            given: vec![FxHashSet::default(); count],
        };
        let mut calls: Vec<(usize, &'a Call)> = Vec::new();
        for (number, unit) in program.units.iter().enumerate() {
            let sets = &mut links.sets[number];
            sets.extend(unit.inputs.iter().map(|input| input.name.as_str()));
            for step in &unit.steps {
                visit::steps(step, &mut |step| {
                    sets.extend(binds(step).map(|bind| bind.name.as_str()));
                    if let Node::Each(each) = &step.node {
                        sets.insert(&each.item.name);
                    }
                });
                visit::calls(step, &mut |call| calls.push((number, call)));
            }
        }
        // Sets only grow and are bounded by the names of the program, so this comes to rest.
        while links.grow(&calls) {}
        links
    }

    fn grow(&mut self, calls: &[(usize, &'a Call)]) -> bool {
        let size = |links: &Links<'_>| {
            links
                .sets
                .iter()
                .chain(&links.given)
                .map(FxHashSet::len)
                .sum::<usize>()
        };
        let before = size(self);
        for (caller, call) in calls {
            let Some(target) = call.target else { continue };
            let passed = call.context.iter().map(|(name, _)| name.as_str());
            let mut given: FxHashSet<&str> = passed.collect();
            if call.inherits {
                given.extend(&self.given[*caller]);
                given.extend(&self.sets[*caller]);
            }
            if call.spreads {
                let mut back = self.sets[target].clone();
                back.extend(&given);
                self.sets[*caller].extend(back);
            }
            self.given[target].extend(given);
        }
        size(self) > before
    }
}

/// What is known at one point of a unit.
struct Scope<'a> {
    links: &'a Links<'a>,
    /// How often a name is visible: it may be set at several levels.
    visible: FxHashMap<&'a str, u32>,
    /// Everything that any step sets, and where: for what to suggest.
    anywhere: FxHashMap<&'a str, Span>,
    /// Values that nothing but the file gives.
    literals: FxHashMap<&'a str, &'a Literal>,
    reserved: &'static [&'static str],
    /// A call whose recipe is not known may set anything.
    open: bool,
    /// The unit sets a name that it cannot set.
    confused: bool,
}

impl<'a> Scope<'a> {
    fn new(program: &'a Program, links: &'a Links<'a>, number: usize) -> Scope<'a> {
        let unit = &program.units[number];
        let mut scope = Scope {
            links,
            visible: FxHashMap::default(),
            anywhere: FxHashMap::default(),
            literals: FxHashMap::default(),
            reserved: unit.reserved,
            open: false,
            confused: links.sets[number]
                .iter()
                .any(|name| unit.reserved.contains(name)),
        };
        for step in &unit.steps {
            visit::steps(step, &mut |step| {
                for bind in binds(step) {
                    scope.anywhere.entry(&bind.name).or_insert(bind.span);
                }
            });
        }
        for input in &unit.inputs {
            scope.show(&input.name);
            let set_elsewhere = scope.anywhere.contains_key(input.name.as_str())
                || links.given[number].contains(input.name.as_str());
            if !set_elsewhere {
                scope.literals.insert(&input.name, &input.default);
            }
        }
        unit.given.iter().for_each(|name| scope.show(name));
        links.given[number].iter().for_each(|name| scope.show(name));
        scope
    }

    fn unit(mut self, unit: &'a Unit, report: &mut Report) {
        for input in &unit.inputs {
            self.check_reserved(&input.name, input.span, report);
        }
        self.steps(&unit.steps, report);
        // A hook runs around every step: what any step sets, it may see.
        HOOK_NAMES.iter().for_each(|name| self.show(name));
        let hooks = [&unit.hooks.before, &unit.hooks.after, &unit.hooks.failed];
        for script in hooks.into_iter().flatten() {
            visit::walk_script(script, &mut |expr| self.read(expr, report));
        }
    }

    fn steps(&mut self, steps: &'a [Step], report: &mut Report) {
        steps.iter().for_each(|step| self.step(step, report));
    }

    fn step(&mut self, step: &'a Step, report: &mut Report) {
        if let Some(guard) = &step.guard {
            self.reads(&guard.expr, report);
        }
        if let Some(deadline) = &step.deadline {
            self.reads(deadline, report);
        }
        match &step.node {
            Node::Act(action) => self.action(action, report),
            Node::Seq(steps) => self.steps(steps, report),
            Node::Par { branches, .. } => self.side_by_side(branches, report),
            Node::Each(each) => {
                self.reads(&each.over, report);
                self.set(&each.item, report);
                self.step(&each.body, report);
                if let Some(until) = &each.until {
                    self.reads(&until.expr, report);
                }
                self.hide(&each.item.name);
            }
            Node::While(body) => {
                self.reads(&body.condition.expr, report);
                LOOP_NAMES.iter().for_each(|name| self.show(name));
                self.step(&body.body, report);
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

    fn action(&mut self, action: &'a Action, report: &mut Report) {
        // Whether a variable is there is what a validation asks; it is not a mistake to ask.
        if !matches!(action, Action::Validate { .. }) {
            visit::walk_action(action, &mut |expr| self.read(expr, report));
        }
        let Action::Call(call) = action else { return };
        match call.target {
            Some(target) if call.spreads => {
                call.context.iter().for_each(|(name, _)| self.show(name));
                let links = self.links;
                links.sets[target].iter().for_each(|name| self.show(name));
            }
            None if call.spreads => self.open = true,
            _ => {}
        }
    }

    /// Steps that run at once see the variables as they were, and must not write the same ones.
    fn side_by_side(&mut self, branches: &'a [Step], report: &mut Report) {
        let mut writers: FxHashMap<&str, (usize, Span)> = FxHashMap::default();
        for (number, branch) in branches.iter().enumerate() {
            visit::steps(branch, &mut |step| {
                for bind in binds(step) {
                    match writers.get(bind.name.as_str()) {
                        Some((other, first)) if *other != number => {
                            report.add(both_write(&bind.name, bind.span, *first));
                        }
                        _ => {
                            writers.insert(&bind.name, (number, bind.span));
                        }
                    }
                }
            });
        }
        for (number, branch) in branches.iter().enumerate() {
            let mut check = |expr: &Expr| {
                let ExprKind::Var { name, .. } = &expr.kind else {
                    return;
                };
                match writers.get(name.as_str()) {
                    Some((writer, place)) if *writer != number => {
                        report.add(reads_sibling(name, expr.span, *place));
                    }
                    _ => {}
                }
            };
            visit::steps(branch, &mut |step| {
                if let Some(guard) = &step.guard {
                    visit::walk(&guard.expr, &mut check);
                }
                if let Node::Act(action) = &step.node {
                    visit::walk_action(action, &mut check);
                }
            });
        }
        // What one of them sets is unknown to the others, but known afterwards.
        let conflicts: FxHashSet<&str> = writers.keys().copied().collect();
        for branch in branches {
            let mut quiet = Report::default();
            self.step(branch, &mut quiet);
            let about = |finding: &Diagnostic| {
                conflicts
                    .iter()
                    .any(|name| finding.message.contains(&format!("`{name}`")))
            };
            quiet
                .findings
                .retain(|finding| finding.code != &codes::UNDEFINED_VARIABLE || !about(finding));
            report.findings.extend(quiet.findings);
        }
    }

    fn set(&mut self, bind: &'a Bind, report: &mut Report) {
        self.check_reserved(&bind.name, bind.span, report);
        self.show(&bind.name);
    }

    fn check_reserved(&self, name: &str, span: Span, report: &mut Report) {
        if self.reserved.contains(&name) {
            let message = format!("`{name}` is set by rrc itself and cannot be a variable");
            report.add(
                Diagnostic::new(&codes::RESERVED_NAME, span, message)
                    .help(format!("choose another name, such as `{name}_result`")),
            );
        }
    }

    fn show(&mut self, name: &'a str) {
        *self.visible.entry(name).or_default() += 1;
    }

    fn hide(&mut self, name: &'a str) {
        if let Some(count) = self.visible.get_mut(name) {
            *count = count.saturating_sub(1);
        }
    }

    fn is_visible(&self, name: &str) -> bool {
        self.open
            || self.visible.get(name).is_some_and(|count| *count > 0)
            || self.reserved.contains(&name)
    }

    fn reads(&self, expr: &Expr, report: &mut Report) {
        visit::walk(expr, &mut |expr| self.read(expr, report));
    }

    fn read(&self, expr: &Expr, report: &mut Report) {
        match &expr.kind {
            ExprKind::Var { name, missing } if !self.is_visible(name) => {
                report.add(self.undefined(name, *missing, expr.span));
            }
            // A recipe that takes a reserved name for its own means something else by it.
            ExprKind::Field { of, .. }
                if self.confused && matches!(of.kind, ExprKind::Literal(_)) => {}
            ExprKind::Field {
                of,
                name,
                missing: Missing::Fail,
            } => {
                if let Some(literal) = self.literal(of) {
                    self.field(literal, of, name, expr.span, report);
                }
            }
            _ => {}
        }
    }

    /// The value of an expression that the file alone decides.
    fn literal<'b>(&self, expr: &'b Expr) -> Option<&'b Literal>
    where
        'a: 'b,
    {
        match &expr.kind {
            ExprKind::Literal(literal) => Some(literal),
            // A name that is set on the way is not what the file says any more.
            ExprKind::Var { name, .. } if self.visible.get(name.as_str()) == Some(&1) => {
                self.literals.get(name.as_str()).copied()
            }
            ExprKind::Field { of, name, .. } => match self.literal(of)? {
                Literal::Map(fields) => fields
                    .iter()
                    .find(|(known, _)| known == name)
                    .map(|(_, value)| value),
                _ => None,
            },
            _ => None,
        }
    }

    fn field(&self, of: &Literal, whole: &Expr, name: &str, span: Span, report: &mut Report) {
        let known: Vec<&str> = match of {
            Literal::Map(fields) if fields.iter().any(|(known, _)| known == name) => return,
            Literal::Map(fields) => fields.iter().map(|(known, _)| known.as_str()).collect(),
            _ => Vec::new(),
        };
        let what = match &whole.kind {
            ExprKind::Var { name, .. } | ExprKind::Field { name, .. } => format!("`{name}`"),
            _ => "it".to_string(),
        };
        let message = match of {
            Literal::Map(_) => format!("{what} has no field `{name}`"),
            _ => format!("{what} is not a map, so it has no field `{name}`"),
        };
        let finding = Diagnostic::new(&codes::UNDEFINED_VARIABLE, span, message);
        report.add(match nearest(name, known.iter().copied()) {
            Some(near) => finding
                .help(format!("did you mean `{near}`?"))
                .fix(Fix::safe(format!("write `{near}`"), span, near)),
            None if known.is_empty() => finding.help("remove the field, or make it a map"),
            None => finding.help(format!("it has {}", known.join(", "))),
        });
    }

    fn undefined(&self, name: &str, missing: Missing, span: Span) -> Diagnostic {
        let (severity, message) = match missing {
            Missing::Fail => (Severity::Error, format!("nothing defines `{name}`")),
            Missing::Null => (
                Severity::Warning,
                format!("nothing defines `{name}`; it is empty unless given"),
            ),
        };
        let finding = Diagnostic::new(&codes::UNDEFINED_VARIABLE, span, message).severity(severity);
        if let Some(later) = self.anywhere.get(name) {
            finding
                .label(*later, format!("`{name}` is set here, later"))
                .help("a step can only read what steps before it have set")
        } else if let Some(near) = self.suggestion(name) {
            finding
                .help(format!("did you mean `{near}`?"))
                .fix(Fix::safe(format!("write `{near}`"), span, near))
        } else {
            finding.help(format!(
                "give `{name}` a value under `context`, or as the `output` of an earlier step"
            ))
        }
    }

    fn suggestion(&self, name: &str) -> Option<&str> {
        let mut known: Vec<&str> = self
            .visible
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(name, _)| *name)
            .filter(|name| !name.starts_with('_'))
            .chain(self.reserved.iter().copied())
            .collect();
        // The order of a hash map is not one that a message may depend on.
        known.sort_unstable();
        nearest(name, known)
    }
}

fn both_write(name: &str, span: Span, first: Span) -> Diagnostic {
    let message = format!("two steps that run side by side both set `{name}`");
    Diagnostic::new(&codes::PARALLEL_CONFLICT, span, message)
        .label(first, "the other one is here")
        .help("give each of them a variable of its own")
}

fn reads_sibling(name: &str, span: Span, set: Span) -> Diagnostic {
    let message = format!("`{name}` is set by a step that runs at the same time");
    Diagnostic::new(&codes::PARALLEL_CONFLICT, span, message)
        .label(set, "it is set here")
        .help("move this step out of the group, after it")
}

/// Everything a step sets when it is done, itself or through its loop.
fn binds(step: &Step) -> impl Iterator<Item = &Bind> {
    let (collect, last) = match &step.node {
        Node::Each(each) => (each.collect.as_ref(), each.last.as_ref()),
        Node::While(body) => (body.collect.as_ref(), None),
        _ => (None, None),
    };
    step.bind.iter().chain(collect).chain(last)
}
