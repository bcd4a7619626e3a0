//! Puts a plan together: interns texts and constants, resolves labels, lays functions end to end.
//!
//! Knows nothing of steps or expressions. Labels are absolute indices into the plan's code; while
//! a function is being written they are numbers of its own.

use crate::ir::Literal;
use crate::ir::flow::Stage;
use crate::source::Span;
use indexmap::IndexSet;
use rrc_vm::isa::{Instr, Kind, Short, Word};
use rrc_vm::plan::{
    Const, ConstId, Function, HostCall, Need, NeedKind, Place, SpanRun, StepInfo, StepKind, TextId,
    Texts,
};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::cell::Cell;

/// A place in a function that is jumped to, maybe before it is known where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(u32);

/// Tables that all functions share.
#[derive(Default)]
pub struct Tables {
    texts: IndexSet<String, FxBuildHasher>,
    pub constants: Vec<Const>,
    known_constants: FxHashMap<ConstKey, ConstId>,
    pub parts: Vec<u32>,
    pub calls: Vec<HostCall>,
    pub steps: Vec<StepInfo>,
    pub needs: Vec<Need>,
}

// What makes two constants the same; floats by their bits.
#[derive(Clone, PartialEq, Eq, Hash)]
enum ConstKey {
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(TextId),
    List(Vec<ConstId>),
    Map(MapKey),
}

/// The fields of a map. Few have more, and only those take memory of their own.
type MapKey = SmallVec<[(TextId, ConstId); 6]>;

impl Tables {
    pub fn text(&mut self, text: &str) -> TextId {
        match self.texts.get_index_of(text) {
            Some(index) => index as TextId,
            None => self.texts.insert_full(text.to_string()).0 as TextId,
        }
    }

    /// For what so many steps need, at once.
    pub fn make_room(&mut self, steps: usize) {
        self.texts.reserve(2 * steps);
        self.known_constants.reserve(2 * steps);
        self.steps.reserve(steps);
        self.calls.reserve(steps);
    }

    pub fn finish_texts(&mut self) -> Texts {
        let mut texts = Texts::default();
        texts.ends.reserve_exact(self.texts.len());
        texts.all.reserve(self.texts.iter().map(String::len).sum());
        for text in std::mem::take(&mut self.texts) {
            texts.all.push_str(&text);
            texts.ends.push(texts.all.len() as u32);
        }
        texts
    }

    /// What a value has to be, for `fit`.
    pub fn wanted(&mut self, name: &str, kind: &str) -> ConstId {
        let text = |text: &str| Literal::Text(text.to_string());
        self.literal(&Literal::Map(vec![
            ("name".to_string(), text(name)),
            ("kind".to_string(), text(kind)),
        ]))
    }

    pub fn literal(&mut self, literal: &Literal) -> ConstId {
        let key = match literal {
            Literal::Null => ConstKey::Null,
            Literal::Bool(value) => ConstKey::Bool(*value),
            Literal::Int(value) => ConstKey::Int(*value),
            Literal::Float(value) => ConstKey::Float(value.to_bits()),
            Literal::Text(text) => ConstKey::Text(self.text(text)),
            Literal::List(items) => {
                ConstKey::List(items.iter().map(|item| self.literal(item)).collect())
            }
            Literal::Map(fields) => ConstKey::Map(
                fields
                    .iter()
                    .map(|(name, item)| (self.text(name), self.literal(item)))
                    .collect(),
            ),
        };
        self.constant(key)
    }

    pub fn text_literal(&mut self, text: &str) -> ConstId {
        let key = ConstKey::Text(self.text(text));
        self.constant(key)
    }

    pub fn map(&mut self, fields: MapKey) -> ConstId {
        self.constant(ConstKey::Map(fields))
    }

    fn constant(&mut self, key: ConstKey) -> ConstId {
        if let Some(id) = self.known_constants.get(&key) {
            return *id;
        }
        let first = self.parts.len() as u32;
        let constant = match &key {
            ConstKey::Null => Const::Null,
            ConstKey::Bool(value) => Const::Bool(*value),
            ConstKey::Int(value) => Const::Int(*value),
            ConstKey::Float(bits) => Const::Float(f64::from_bits(*bits)),
            ConstKey::Text(id) => Const::Text(*id),
            ConstKey::List(items) => {
                self.parts.extend(items);
                Const::List {
                    first,
                    count: items.len() as u32,
                }
            }
            ConstKey::Map(fields) => {
                self.parts
                    .extend(fields.iter().flat_map(|(name, item)| [*name, *item]));
                Const::Map {
                    first,
                    count: fields.len() as u32,
                }
            }
        };
        self.constants.push(constant);
        let id = self.constants.len() as ConstId - 1;
        self.known_constants.insert(key, id);
        id
    }

    pub fn step(&mut self, id: &str, kind: StepKind, span: Span) -> u32 {
        let id = self.text(id);
        self.steps.push(StepInfo {
            id,
            kind,
            place: place(span),
        });
        self.steps.len() as u32 - 1
    }

    /// The number of a step that only holds commands together, and may go on after a failure in it.
    pub fn group(&mut self, stage: &Stage) -> u32 {
        let number = self.step(&stage.id, StepKind::Group, stage.span);
        self.need_of_step(NeedKind::Forgives, &stage.id, number);
        number
    }

    /// A need of this step in particular, whoever else has it.
    pub fn need_of_step(&mut self, kind: NeedKind, name: &str, step: u32) {
        let name = self.text(name);
        self.needs.push(Need { kind, name, step });
    }

    pub fn need(&mut self, kind: NeedKind, name: &str, step: u32) {
        let name = self.text(name);
        let known = self
            .needs
            .iter()
            .any(|need| need.kind == kind && need.name == name);
        if !known {
            self.needs.push(Need { kind, name, step });
        }
    }
}

pub fn place(span: Span) -> Place {
    Place {
        source: span.source.0,
        start: span.start,
        end: span.end,
    }
}

/// The code of all functions so far.
#[derive(Default)]
pub struct Code {
    pub functions: Vec<Function>,
    pub code: Vec<Word>,
    pub spans: Vec<SpanRun>,
}

impl Code {
    /// Reserves the number of a function before its code is known, so that others can call it.
    pub fn declare(&mut self, name: TextId, params: &[Kind], results: &[Kind]) -> u32 {
        self.functions.push(Function {
            name,
            start: 0,
            end: 0,
            params: params.to_vec(),
            results: results.to_vec(),
            locals: 0,
        });
        self.functions.len() as u32 - 1
    }
}

/// One function while it is being written.
pub struct Writer {
    code: Vec<Instr>,
    labels: Vec<u32>,
    used: Vec<Cell<bool>>,
    spans: Vec<SpanRun>,
    in_use: Vec<bool>,
    most_locals: usize,
    /// Where the latest label is.
    last_bound: usize,
}

const UNBOUND: u32 = u32::MAX;

/// What two instructions come to that follow each other.
enum Joined {
    No,
    One(Instr),
    Nothing,
}

fn joined(first: Instr, second: Instr) -> Joined {
    Joined::One(match (first, second) {
        // What is set and read at once stays where it is.
        (Instr::Store { local: set }, Instr::Load { local }) if set == local => {
            Instr::Keep { local }
        }
        (Instr::Store { local: set }, Instr::Take { local }) if set == local => {
            return Joined::Nothing;
        }
        (Instr::Concat { parts }, Instr::JumpFailed { to }) => Instr::ConcatOr { parts, to },
        (Instr::JsonOrText {}, Instr::JumpFailed { to }) => Instr::JsonOrTextOr { to },
        (Instr::Host { call }, Instr::JumpFailed { to }) => {
            let call = Short::new(call);
            Instr::HostOr { call, to }
        }
        (Instr::StepSkip { step }, Instr::Jump { to }) => {
            let step = Short::new(step);
            Instr::StepPass { step, to }
        }
        (Instr::KeepVar { scope, name }, Instr::StepOutput {}) => {
            Instr::StoreOutput { scope, name }
        }
        _ => return Joined::No,
    })
}

impl Writer {
    pub fn new(params: u8) -> Writer {
        Writer {
            code: Vec::new(),
            labels: Vec::new(),
            used: Vec::new(),
            spans: Vec::new(),
            in_use: vec![true; params as usize],
            most_locals: params as usize,
            last_bound: 0,
        }
    }

    /// For the code of so many steps that are like most.
    pub fn make_room(&mut self, steps: usize) {
        self.code.reserve(16 * steps);
        self.spans.reserve(4 * steps);
        self.labels.reserve(4 * steps);
        self.used.reserve(4 * steps);
    }

    pub fn push(&mut self, instr: Instr) {
        // Two that follow each other may be one, unless a jump leads between them.
        let last = match self.last_bound == self.code.len() {
            true => None,
            false => self.code.last().copied(),
        };
        match last.map_or(Joined::No, |last| joined(last, instr)) {
            Joined::No => self.code.push(instr),
            Joined::One(both) => {
                self.code.pop();
                self.code.push(both);
            }
            Joined::Nothing => {
                self.code.pop();
                self.move_spans();
            }
        }
    }

    /// Code that spans were to start after is gone.
    fn move_spans(&mut self) {
        let end = self.code.len() as u32;
        let first = self.spans.partition_point(|run| run.from < end);
        let last = self.spans.drain(first..).next_back();
        self.spans
            .extend(last.map(|last| SpanRun { from: end, ..last }));
    }

    pub fn label(&mut self) -> Label {
        self.labels.push(UNBOUND);
        self.used.push(Cell::new(false));
        Label(self.labels.len() as u32 - 1)
    }

    /// The label is here.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.code.len() as u32;
        self.last_bound = self.code.len();
    }

    pub fn to(&self, label: Label) -> u32 {
        if let Some(used) = self.used.get(label.0 as usize) {
            used.set(true);
        }
        label.0
    }

    /// Whether anything so far goes to the label.
    pub fn is_used(&self, label: Label) -> bool {
        self.used.get(label.0 as usize).is_some_and(Cell::get)
    }

    /// From here on, code belongs to this place.
    pub fn at(&mut self, span: Span) {
        let place = place(span);
        let from = self.code.len() as u32;
        match self.spans.last_mut() {
            Some(last) if last.place == place => {}
            Some(last) if last.from == from => last.place = place,
            _ => self.spans.push(SpanRun { from, place }),
        }
    }

    pub fn local(&mut self) -> u8 {
        match self.in_use.iter().position(|used| !used) {
            Some(free) => {
                self.in_use[free] = true;
                free as u8
            }
            None => {
                self.in_use.push(true);
                self.most_locals = self.most_locals.max(self.in_use.len());
                (self.in_use.len() - 1) as u8
            }
        }
    }

    /// Whether so many locals are in use that a step had better have a function of its own: an
    /// instruction names a local by one byte.
    pub fn is_crowded(&self) -> bool {
        self.in_use.iter().filter(|used| **used).count() > 128
    }

    pub fn free(&mut self, local: u8) {
        self.in_use[local as usize] = false;
    }

    /// Appends the function to the plan's code, with its labels resolved.
    pub fn finish(self, function: u32, code: &mut Code) {
        let start = code.code.len() as u32;
        code.code.extend(self.code.iter().map(|&instr| {
            let word = Word::from(instr);
            if !word.has_label() {
                return word;
            }
            let target = self.labels[word.wide() as usize];
            debug_assert_ne!(target, UNBOUND, "every label that is used is bound");
            word.with_wide(start.wrapping_add(target))
        }));
        code.spans.reserve(self.spans.len());
        for run in self.spans {
            let run = SpanRun {
                from: start + run.from,
                place: run.place,
            };
            match code.spans.last_mut() {
                Some(last) if last.place == run.place => {}
                Some(last) if last.from == run.from => last.place = run.place,
                _ => code.spans.push(run),
            }
        }
        let entry = &mut code.functions[function as usize];
        entry.start = start;
        entry.end = code.code.len() as u32;
        entry.locals = self.most_locals as u8;
    }
}
