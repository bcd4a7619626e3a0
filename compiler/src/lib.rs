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
pub mod world;

pub mod doc;
pub mod expr;
pub mod shell;

pub mod ir;

pub mod dialect;

pub mod load;
pub mod resolve;

pub mod emit;

pub mod report;

use diagnostic::Report;
use dialect::choose::Choice;
use ir::Program;
use rrc_vm::plan::Plan;
use source::Sources;
use world::World;

pub use load::Options;

/// Everything that was understood about a file, and everything that is wrong with it.
#[derive(Debug)]
pub struct Checked {
    pub sources: Sources,
    pub program: Program,
    pub report: Report,
    pub choice: Option<Choice>,
    /// Whether the file itself could be read: if not, the report says why.
    pub readable: bool,
}

/// Finds what can be found without running.
pub fn check(world: &dyn World, main: &str, options: Options) -> Checked {
    let mut sources = Sources::default();
    let mut report = Report::default();
    let loaded = load::load(world, main, options, &mut sources, &mut report);
    resolve::resolve(&loaded.program, &mut report);
    report.settle();
    Checked {
        sources,
        program: loaded.program,
        report,
        choice: loaded.choice,
        readable: loaded.readable,
    }
}

/// A plan from what was checked; none if an error stands against it.
pub fn build(checked: &Checked, hash: impl Fn(&str) -> [u8; 32]) -> Option<Plan> {
    if checked.report.has_errors() || checked.program.units.is_empty() {
        return None;
    }
    Some(emit::emit(&checked.program, &emit::origins(&checked.sources, hash)))
}
