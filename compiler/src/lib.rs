//! From the bytes of a recipe to a plan and diagnostics.
//!
//! Reads as the path of the data: `load` (read, choose, lower), `resolve`, `emit`. Nothing here
//! performs IO: files come in through [`world::World`]. Phases do not fail: they report, and
//! return the best they can.
#![forbid(unsafe_code)]

pub mod codes;
pub mod diagnostic;
pub mod fix;
pub mod source;
pub mod spelling;
pub mod world;

pub mod doc;
pub mod expr;
pub mod shell;

pub mod ir;

pub mod dialect;

pub mod bounds;
pub mod infer;
pub mod load;
pub mod resolve;
pub mod schedule;
pub mod scripts;
pub mod suppress;

pub mod lint;

mod cascade;
#[cfg(test)]
mod dice;

pub mod emit;
pub mod sketch;

pub mod ide;

pub mod report;

use diagnostic::{Diagnostic, Report};
use dialect::Dialect;
use dialect::choose::Choice;
use ir::Program;
use rrc_vm::plan::Plan;
use source::{Source, Sources};
use std::sync::Arc;
use suppress::Ignore;
use world::World;

pub use load::Options;

/// Everything that was understood about a file, and everything that is wrong with it.
#[derive(Debug)]
pub struct Checked {
    pub program: Program,
    pub report: Report,
    /// What comments in the files silence.
    pub silenced: Vec<Diagnostic>,
    ignores: Vec<Ignore>,
    pub choice: Option<Choice>,
    /// Whether the file itself could be read: if not, the report says why.
    pub readable: bool,
}

/// Finds what can be found without running. What is read is added to `sources`.
pub fn check(
    world: &dyn World,
    main: &str,
    options: Options<'_>,
    sources: &mut Sources,
) -> Checked {
    let mut report = Report::default();
    let mut loaded = load::load(world, main, options, sources, &mut report);
    if let Some(root) = loaded.program.units.first_mut()
        && !options.secrets.is_empty()
    {
        let root = Arc::make_mut(root);
        root.secrets.extend_from_slice(options.secrets);
    }
    let given = options.given_to(loaded.choice.as_ref());
    let links = resolve::resolve(&loaded.program, &mut report);
    if let Some(given) = given {
        // Empty unless the caller gives it: it does.
        report.findings.retain(|finding| {
            let named = || sources.text(finding.span).trim();
            finding.code != &codes::UNDEFINED_VARIABLE
                || finding.severity != codes::Severity::Warning
                || !given.contains_key(named())
        });
        lint::given::undeclared(&loaded.program, given, &mut report);
    }
    bounds::bounds(&loaded.program, &mut report);
    // A file that is read in the wrong dialect means something else than what it seems to mean.
    let confused = report
        .findings
        .iter()
        .any(|finding| finding.code == &codes::DIALECT_CONFLICT);
    let refusable = given.filter(|_| !options.ran);
    if let Some(given) = refusable {
        lint::given::values(&loaded.program, given, &mut report);
    }
    if !confused {
        let facts = infer::infer(&loaded.program, given);
        lint::lint(&loaded.program, &links, &facts, &mut report);
        if let Some(given) = refusable {
            lint::judge(&loaded.program, given, &mut report);
        }
    }
    // What can be used is seen when the values are, whoever gives them.
    let values_come = given.is_some() || options.open;
    report.findings.retain(|finding| match finding.code {
        code if code == &codes::UNUSABLE_DEFAULT => !values_come,
        code => !code.on_demand || options.asked.contains(&code),
    });
    cascade::settle(&mut report, sources);
    report.settle();
    let judged = loaded.program.units.first().map(|unit| unit.source);
    let silenced = suppress::suppress(&mut loaded.ignores, judged, &mut report);
    resolve::say_once(&mut report.findings);
    report.settle();
    Checked {
        program: loaded.program,
        report,
        silenced,
        ignores: loaded.ignores,
        choice: loaded.choice,
        readable: loaded.readable,
    }
}

impl Checked {
    /// Adds what another tool has found, as far as no comment silences it.
    pub fn add(&mut self, findings: Vec<Diagnostic>) {
        self.report.findings.extend(findings);
        let silenced = suppress::silence(&mut self.ignores, &mut self.report);
        self.silenced.extend(silenced);
        self.report.settle();
    }
}

/// A plan from what was checked; none if an error stands against it.
pub fn build(
    checked: &Checked,
    sources: &Sources,
    hash: impl Fn(&str) -> [u8; 32],
) -> Option<Plan> {
    let wrong = checked.report.has_errors() || checked.silenced.iter().any(suppress::stands);
    if wrong {
        return None;
    }
    emit::emit(&checked.program, &emit::origins(sources, hash))
}

/// A plan that evaluates one condition; none if it cannot be read, which the report says.
pub fn expression(
    text: &str,
    dialect: &'static Dialect,
    names: &[&str],
    as_truth: bool,
    sources: &mut Sources,
    report: &mut Report,
) -> Option<Plan> {
    let source = sources.add(Source::new("<expression>", text));
    let unit = dialect::lower_expression(text, source, dialect, names, as_truth, report)?;
    resolve::resolve_expression(&unit.0, &unit.1, report);
    report.settle();
    (!report.has_errors()).then(|| emit::emit_expression(Arc::new(unit.0), &unit.1))
}
