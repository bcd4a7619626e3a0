//! Plans as bytes, and back.
//!
//! A plan file is a header and twelve sections in a fixed order, all little-endian. What is
//! written is a function of the plan, and only what would be written is read: `encode(decode(b))`
//! is `b`. This module knows how tables look, not what they mean: that a number points at
//! something is for `verify` to find out.
//!
//! ```text
//! header   magic "RRB\0", version u32, length of the file u32
//! section  checksum u32 (crc32c of the rest of the section), number u32, length u32, payload
//! ```
//!
//! Versions of the format:
//!
//! * 1: the first.
//! * 2: the same sections; instructions that do what two did, some with a step or a call of three
//!   bytes beside a label.
//! * 3: the same sections; `join_ready`, so that a loop takes results as they come.
//! * 4: the same sections; `shadow` and `unshadow` in place of `unset_var`, labels beside
//!   `branch_report`, and calls of `preflight`.
//! * 5: the same sections; `label_tasks`.

use crate::isa::{Kind, Word};
use crate::plan::{
    Const, Function, HostCall, HostKind, Input, Limits, Need, NeedKind, Place, Plan, SourceInfo,
    SpanRun, StepInfo, StepKind, Texts,
};
use std::fmt;

/// The version that [`encode`] writes and [`decode`] reads.
pub const VERSION: u32 = 5;
const MAGIC: [u8; 4] = *b"RRB\0";

/// Whether these are the bytes of a plan, of whatever version, as far as their beginning shows.
pub fn is_plan(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}
const HEADER: usize = 12;
const SECTION_HEADER: usize = 12;

macro_rules! sections {
    ($($number:literal $variant:ident $word:literal $sentence:literal;)*) => {
        /// A part of a plan file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Section { $(#[doc = $sentence] $variant = $number),* }

        impl Section {
            pub const ALL: &'static [Section] = &[$(Section::$variant),*];

            pub fn word(self) -> &'static str {
                match self { $(Section::$variant => $word),* }
            }

            /// What it holds, record by record.
            pub fn sentence(self) -> &'static str {
                match self { $(Section::$variant => $sentence),* }
            }
        }
    };
}

sections! {
    1 About "about" "name u32, dialect u32, fuel u64, memory u64, steps u32, depth u32";
    2 Texts "texts" "count u32, the end of each u32, then all of them as UTF-8";
    3 Constants "constants" "count u32; each a tag u8 and eight bytes: null, bool, int, float, text, list, map";
    4 Parts "parts" "count u32; each u32";
    5 Functions "functions" "count u32; each name u32, start u32, end u32, locals u8, parameters u8, results u8, then a byte for each kind";
    6 Code "code" "count u32; each eight bytes: its byte, its narrow operands, its wide operand in the last four";
    7 Calls "calls" "count u32; each kind u8, step u32, open u16, fixed u32";
    8 Steps "steps" "count u32; each id u32, kind u8, place";
    9 Inputs "inputs" "count u32; each name u32, whether there is a default u8, default u32";
    10 Needs "needs" "count u32; each kind u8, name u32, step u32";
    11 Spans "spans" "count u32; each from u32, place";
    12 Sources "sources" "count u32; each name u32, hash of 32 bytes";
}

/// Why bytes are not a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Offset of the first byte that is not as it should be.
    pub at: usize,
    pub what: DecodeFailure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeFailure {
    /// Not a plan file at all.
    Foreign,
    /// A plan file of this version, which is not ours.
    Version(u32),
    /// The end is missing.
    Truncated,
    /// A section is not as it was written.
    Checksum(Section),
    /// A section is not as anything writes it.
    Malformed(Section),
    /// The sections are not the ones that are written, or something follows the last.
    Layout,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            DecodeFailure::Foreign => write!(f, "not a plan file"),
            DecodeFailure::Version(found) => {
                write!(f, "the plan has format {found}, this is format {VERSION}")
            }
            DecodeFailure::Truncated => write!(f, "the plan file ends early, at byte {}", self.at),
            DecodeFailure::Checksum(section) => {
                write!(f, "the section `{}` is damaged", section.word())
            }
            DecodeFailure::Malformed(section) => {
                write!(
                    f,
                    "the section `{}` makes no sense at byte {}",
                    section.word(),
                    self.at
                )
            }
            DecodeFailure::Layout => {
                write!(f, "the plan file has an odd layout at byte {}", self.at)
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// The bytes of a plan. A plan too large for the format (4 GiB) cannot be read back.
pub fn encode(plan: &Plan) -> Vec<u8> {
    let mut out = Vec::with_capacity(plan.code.len() * 8 + plan.texts.all.len() + 1024);
    out.extend_from_slice(&MAGIC);
    put_u32(&mut out, VERSION);
    put_u32(&mut out, 0);
    for &section in Section::ALL {
        let start = out.len();
        out.extend_from_slice(&[0; SECTION_HEADER]);
        payload(section, plan, &mut out);
        let length = (out.len() - start - SECTION_HEADER) as u32;
        set_u32(&mut out, start + 4, section as u32);
        set_u32(&mut out, start + 8, length);
        let checksum = crc32c::crc32c(&out[start + 4..]);
        set_u32(&mut out, start, checksum);
    }
    let length = out.len() as u32;
    set_u32(&mut out, 8, length);
    out
}

/// Make the checksums of a damaged plan file right again, so that what stands behind them is
/// tested. For tests.
pub fn repair_checksums(bytes: &mut [u8]) {
    let mut at = HEADER;
    while let Some(length) = bytes.get(at + 8..at + 12) {
        let length = u32_of(length) as usize;
        let Some(rest) = bytes.get(at + 4..(at + SECTION_HEADER).saturating_add(length)) else {
            return;
        };
        let checksum = crc32c::crc32c(rest);
        bytes[at..at + 4].copy_from_slice(&checksum.to_le_bytes());
        at += SECTION_HEADER + length;
    }
}

fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn set_u32(out: &mut [u8], at: usize, value: u32) {
    out[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn u32_of(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u32::from(byte))
}

fn put_place(out: &mut Vec<u8>, place: Place) {
    put_u32(out, place.source);
    put_u32(out, place.start);
    put_u32(out, place.end);
}

fn payload(section: Section, plan: &Plan, out: &mut Vec<u8>) {
    match section {
        Section::About => {
            put_u32(out, plan.name);
            put_u32(out, plan.dialect);
            out.extend_from_slice(&plan.limits.fuel.to_le_bytes());
            out.extend_from_slice(&plan.limits.memory.to_le_bytes());
            put_u32(out, plan.limits.steps);
            put_u32(out, plan.limits.depth);
        }
        Section::Texts => {
            put_u32(out, plan.texts.ends.len() as u32);
            plan.texts.ends.iter().for_each(|&end| put_u32(out, end));
            out.extend_from_slice(plan.texts.all.as_bytes());
        }
        Section::Constants => {
            put_u32(out, plan.constants.len() as u32);
            for constant in &plan.constants {
                let (tag, bits) = match *constant {
                    Const::Null => (0, 0),
                    Const::Bool(value) => (1, u64::from(value)),
                    Const::Int(value) => (2, value as u64),
                    Const::Float(value) => (3, value.to_bits()),
                    Const::Text(text) => (4, u64::from(text)),
                    Const::List { first, count } => (5, u64::from(count) << 32 | u64::from(first)),
                    Const::Map { first, count } => (6, u64::from(count) << 32 | u64::from(first)),
                };
                out.push(tag);
                out.extend_from_slice(&bits.to_le_bytes());
            }
        }
        Section::Parts => {
            put_u32(out, plan.parts.len() as u32);
            plan.parts.iter().for_each(|&part| put_u32(out, part));
        }
        Section::Functions => {
            put_u32(out, plan.functions.len() as u32);
            for function in &plan.functions {
                put_u32(out, function.name);
                put_u32(out, function.start);
                put_u32(out, function.end);
                out.push(function.locals);
                out.push(function.params.len() as u8);
                out.push(function.results.len() as u8);
                out.extend(
                    function
                        .params
                        .iter()
                        .chain(&function.results)
                        .map(|&k| k as u8),
                );
            }
        }
        Section::Code => {
            put_u32(out, plan.code.len() as u32);
            for word in &plan.code {
                out.extend_from_slice(&word.bits().to_le_bytes());
            }
        }
        Section::Calls => {
            put_u32(out, plan.calls.len() as u32);
            for call in &plan.calls {
                out.push(call.kind as u8);
                put_u32(out, call.step);
                out.extend_from_slice(&call.open.to_le_bytes());
                put_u32(out, call.fixed);
            }
        }
        Section::Steps => {
            put_u32(out, plan.steps.len() as u32);
            for step in &plan.steps {
                put_u32(out, step.id);
                out.push(step.kind as u8);
                put_place(out, step.place);
            }
        }
        Section::Inputs => {
            put_u32(out, plan.inputs.len() as u32);
            for input in &plan.inputs {
                put_u32(out, input.name);
                out.push(u8::from(input.default.is_some()));
                put_u32(out, input.default.unwrap_or(0));
            }
        }
        Section::Needs => {
            put_u32(out, plan.needs.len() as u32);
            for need in &plan.needs {
                out.push(need.kind as u8);
                put_u32(out, need.name);
                put_u32(out, need.step);
            }
        }
        Section::Spans => {
            put_u32(out, plan.spans.len() as u32);
            for span in &plan.spans {
                put_u32(out, span.from);
                put_place(out, span.place);
            }
        }
        Section::Sources => {
            put_u32(out, plan.sources.len() as u32);
            for source in &plan.sources {
                put_u32(out, source.name);
                out.extend_from_slice(&source.hash);
            }
        }
    }
}

/// The plan that these bytes are.
pub fn decode(bytes: &[u8]) -> Result<Plan, DecodeError> {
    let fail = |at, what| Err(DecodeError { at, what });
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return fail(0, DecodeFailure::Foreign);
    }
    let (Some(version), Some(length)) = (bytes.get(4..8), bytes.get(8..HEADER)) else {
        return fail(bytes.len(), DecodeFailure::Truncated);
    };
    let version = u32_of(version);
    if version != VERSION {
        return fail(4, DecodeFailure::Version(version));
    }
    match (u32_of(length) as usize).cmp(&bytes.len()) {
        std::cmp::Ordering::Greater => return fail(bytes.len(), DecodeFailure::Truncated),
        std::cmp::Ordering::Less => return fail(8, DecodeFailure::Layout),
        std::cmp::Ordering::Equal => {}
    }
    let mut sections = Sections { bytes, at: HEADER };
    let (at, about) = sections.open(Section::About)?;
    let Ok(about) = <&[u8; 32]>::try_from(about) else {
        return fail(at, DecodeFailure::Malformed(Section::About));
    };
    let plan = Plan {
        name: le32(about, 0),
        dialect: le32(about, 4),
        limits: Limits {
            fuel: le64(about, 8),
            memory: le64(about, 16),
            steps: le32(about, 24),
            depth: le32(about, 28),
        },
        texts: sections.texts()?,
        constants: sections.table(Section::Constants, constant)?,
        parts: sections.table(Section::Parts, |part: &[u8; 4]| Some(le32(part, 0)))?,
        functions: sections.functions()?,
        code: sections.table(Section::Code, |word| Word::read(le64::<8>(word, 0)))?,
        calls: sections.table(Section::Calls, call)?,
        steps: sections.table(Section::Steps, step)?,
        inputs: sections.table(Section::Inputs, input)?,
        needs: sections.table(Section::Needs, need)?,
        spans: sections.table(Section::Spans, span)?,
        sources: sections.table(Section::Sources, source)?,
    };
    if sections.at != bytes.len() {
        return fail(sections.at, DecodeFailure::Layout);
    }
    Ok(plan)
}

struct Sections<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Sections<'a> {
    /// The payload of the section that comes next, and its offset.
    fn open(&mut self, section: Section) -> Result<(usize, &'a [u8]), DecodeError> {
        let layout = DecodeError {
            at: self.at,
            what: DecodeFailure::Layout,
        };
        let rest = self.bytes.get(self.at..).ok_or(layout)?;
        let header = rest.first_chunk::<SECTION_HEADER>().ok_or(layout)?;
        let length = le32(header, 8) as usize;
        if le32(header, 4) != section as u32 || rest.len() - SECTION_HEADER < length {
            return Err(layout);
        }
        let checked = &rest[4..SECTION_HEADER + length];
        if crc32c::crc32c(checked) != le32(header, 0) {
            return Err(DecodeError {
                at: self.at,
                what: DecodeFailure::Checksum(section),
            });
        }
        let start = self.at + SECTION_HEADER;
        self.at = start + length;
        Ok((start, &checked[SECTION_HEADER - 4..]))
    }

    /// The payload that follows the count at the start of the next section.
    fn counted(&mut self, section: Section) -> Result<(usize, usize, &'a [u8]), DecodeError> {
        let (start, payload) = self.open(section)?;
        let (count, rest) = payload
            .split_first_chunk::<4>()
            .ok_or(malformed(section, start))?;
        Ok((start + 4, le32(count, 0) as usize, rest))
    }

    /// A section of records of one size. As many records as there are bytes for are made room
    /// for.
    fn table<const N: usize, T: Copy>(
        &mut self,
        section: Section,
        parse: impl Fn(&[u8; N]) -> Option<T>,
    ) -> Result<Vec<T>, DecodeError> {
        let (start, count, payload) = self.counted(section)?;
        let (records, rest) = payload.as_chunks::<N>();
        if records.len() != count || !rest.is_empty() {
            return Err(malformed(section, start - 4));
        }
        let Some(first) = records.first() else {
            return Ok(Vec::new());
        };
        let first = parse(first).ok_or(malformed(section, start))?;
        // The first stands for those that are none: so as many are made as there are records, which
        // is known before, and not one by one.
        let mut broken = false;
        let entries = records.iter().map(|record| {
            parse(record).unwrap_or_else(|| {
                broken = true;
                first
            })
        });
        let table = entries.collect();
        if broken {
            let at = records.iter().position(|record| parse(record).is_none());
            return Err(malformed(section, start + at.unwrap_or(0) * N));
        }
        Ok(table)
    }

    fn texts(&mut self) -> Result<Texts, DecodeError> {
        let (start, count, payload) = self.counted(Section::Texts)?;
        let broken = |at| malformed(Section::Texts, at);
        let size = count.checked_mul(4).ok_or(broken(start - 4))?;
        let (ends, all) = payload.split_at_checked(size).ok_or(broken(start - 4))?;
        let all = std::str::from_utf8(all)
            .map_err(|error| broken(start + size + error.valid_up_to()))?
            .to_owned();
        let ends = ends.as_chunks::<4>().0.iter().map(|end| le32(end, 0));
        Ok(Texts {
            all,
            ends: ends.collect(),
        })
    }

    fn functions(&mut self) -> Result<Vec<Function>, DecodeError> {
        const RECORD: usize = 15;
        let (start, count, mut payload) = self.counted(Section::Functions)?;
        let end = start + payload.len();
        let broken = |rest: &[u8]| malformed(Section::Functions, end - rest.len());
        let mut functions = Vec::with_capacity(count.min(payload.len() / RECORD));
        for _ in 0..count {
            let (record, rest) = payload
                .split_first_chunk::<RECORD>()
                .ok_or(broken(payload))?;
            let (params, results) = (record[13] as usize, record[14] as usize);
            let (kinds, rest) = rest
                .split_at_checked(params + results)
                .ok_or(broken(payload))?;
            let mut kinds = kinds
                .iter()
                .map(|&byte| Kind::ALL.get(byte as usize).copied());
            let params: Option<Vec<Kind>> = kinds.by_ref().take(params).collect();
            let results: Option<Vec<Kind>> = kinds.collect();
            functions.push(Function {
                name: le32(record, 0),
                start: le32(record, 4),
                end: le32(record, 8),
                locals: record[12],
                params: params.ok_or(broken(payload))?,
                results: results.ok_or(broken(payload))?,
            });
            payload = rest;
        }
        if !payload.is_empty() {
            return Err(broken(payload));
        }
        Ok(functions)
    }
}

fn malformed(section: Section, at: usize) -> DecodeError {
    DecodeError {
        at,
        what: DecodeFailure::Malformed(section),
    }
}

// The offsets are constants of a record of a known size, so the checks are gone when inlined.
#[inline(always)]
fn le32<const N: usize>(record: &[u8; N], at: usize) -> u32 {
    u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
}

#[inline(always)]
fn le64<const N: usize>(record: &[u8; N], at: usize) -> u64 {
    u64::from(le32(record, at + 4)) << 32 | u64::from(le32(record, at))
}

fn place<const N: usize>(record: &[u8; N], at: usize) -> Place {
    Place {
        source: le32(record, at),
        start: le32(record, at + 4),
        end: le32(record, at + 8),
    }
}

fn constant(record: &[u8; 9]) -> Option<Const> {
    let bits = le64(record, 1);
    let (low, high) = (bits as u32, (bits >> 32) as u32);
    Some(match (record[0], high) {
        (0, _) if bits == 0 => Const::Null,
        (1, _) if bits <= 1 => Const::Bool(bits == 1),
        (2, _) => Const::Int(bits as i64),
        (3, _) => Const::Float(f64::from_bits(bits)),
        (4, 0) => Const::Text(low),
        (5, count) => Const::List { first: low, count },
        (6, count) => Const::Map { first: low, count },
        _ => return None,
    })
}

fn call(record: &[u8; 11]) -> Option<HostCall> {
    Some(HostCall {
        kind: HostKind::from_byte(record[0])?,
        step: le32(record, 1),
        open: u16::from_le_bytes([record[5], record[6]]),
        fixed: le32(record, 7),
    })
}

fn step(record: &[u8; 17]) -> Option<StepInfo> {
    Some(StepInfo {
        id: le32(record, 0),
        kind: StepKind::from_byte(record[4])?,
        place: place(record, 5),
    })
}

fn input(record: &[u8; 9]) -> Option<Input> {
    let default = match (record[4], le32(record, 5)) {
        (0, 0) => None,
        (1, constant) => Some(constant),
        _ => return None,
    };
    Some(Input {
        name: le32(record, 0),
        default,
    })
}

fn need(record: &[u8; 9]) -> Option<Need> {
    Some(Need {
        kind: NeedKind::from_byte(record[0])?,
        name: le32(record, 1),
        step: le32(record, 5),
    })
}

fn span(record: &[u8; 16]) -> Option<SpanRun> {
    Some(SpanRun {
        from: le32(record, 0),
        place: place(record, 4),
    })
}

fn source(record: &[u8; 36]) -> Option<SourceInfo> {
    let (name, hash) = record.split_first_chunk::<4>()?;
    Some(SourceInfo {
        name: le32(name, 0),
        hash: hash.try_into().ok()?,
    })
}
