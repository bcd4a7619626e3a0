//! Findings drawn into their source, for a terminal.
//!
//! The only file that names the drawing crate. It is given less than it could take, because of
//! what it does with more: a span over many lines is drawn on its first line, a label far away or
//! in another file becomes a line of text, and a very long line is cut to a window that we draw
//! ourselves. So one finding costs what its own lines cost, however large the file.

use super::{Options, acts_on_terminal, link, printable, shown};
use crate::codes::Severity;
use crate::diagnostic::{Applicability, Diagnostic, Fix};
use crate::source::{SourceId, Sources, Span};
use ariadne::{Cache, Color, Config, IndexType, Label, Report, ReportKind};
use std::collections::HashMap;
use std::io::{Result, Write};
use std::ops::Range;

/// A line longer than this (in bytes) is shown through a window.
const LONG_LINE: usize = 400;
/// How many characters the window shows on each side of the span's start.
const WINDOW: usize = 48;
/// A label further away than this many lines is told, not drawn.
const FAR: u32 = 60;

pub fn write(
    findings: &[Diagnostic],
    sources: &Sources,
    options: Options,
    out: &mut dyn Write,
) -> Result<()> {
    let mut drawings = Drawings {
        sources,
        prepared: HashMap::new(),
    };
    // The drawing crate writes character by character; one buffer spares a call for each.
    let mut buffer = Vec::new();
    for finding in shown(findings, options) {
        buffer.clear();
        write_one(finding, sources, options, &mut drawings, &mut buffer)?;
        out.write_all(&buffer)?;
    }
    Ok(())
}

fn write_one(
    finding: &Diagnostic,
    sources: &Sources,
    options: Options,
    drawings: &mut Drawings<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let paint = Paint(options.color);
    writeln!(
        out,
        "{}{}[{}]{} {}: {}",
        paint.severity(finding.severity),
        finding.severity.word(),
        finding.code.code,
        paint.off(),
        finding.code.name,
        multiline(&finding.message),
    )?;

    let source = sources.get(finding.span.source);
    let line = source.place(finding.span.start).line;
    let (drawn, told): (Vec<_>, Vec<_>) = finding.labels.iter().partition(|label| {
        label.span.source == finding.span.source && {
            let other = source.place(label.span.start).line;
            other.abs_diff(line) <= FAR && source.line(other).len() <= LONG_LINE
        }
    });
    if source.text.is_empty() {
        // There is no line to draw: the finding is about the file.
        writeln!(out, "   ──[ {} ]", link(sources, finding.span))?;
        for label in &drawn {
            tell(label.span, &label.message, sources, &paint, out)?;
        }
    } else if source.line(line).len() <= LONG_LINE {
        let mut labels = vec![(first_line(finding.span, sources), "here", true)];
        for label in &drawn {
            labels.push((
                first_line(label.span, sources),
                label.message.as_str(),
                false,
            ));
        }
        // The crate starts a new picture whenever the next label stands above the last one.
        labels.sort_by_key(|(span, _, main)| (span.start, !main));
        draw(finding, &labels, options, drawings, out)?;
    } else {
        window(finding.span, sources, &paint, out)?;
        for label in &drawn {
            tell(label.span, &label.message, sources, &paint, out)?;
        }
    }
    for label in &told {
        tell(label.span, &label.message, sources, &paint, out)?;
    }
    if let Some(help) = &finding.help {
        writeln!(
            out,
            "   {}help:{} {}",
            paint.aside(),
            paint.off(),
            multiline(help)
        )?;
    }
    if let Some(fix) = &finding.fix {
        write_fix(fix, &paint, out)?;
    }
    writeln!(out)
}

fn write_fix(fix: &Fix, paint: &Paint, out: &mut Vec<u8>) -> Result<()> {
    let how = match fix.applicability {
        Applicability::Safe => " (apply with --fix)",
        Applicability::Unsafe => " (apply with --fix --unsafe-fixes, after a look)",
        Applicability::Display => "",
    };
    writeln!(
        out,
        "   {}fix:{} {}{how}",
        paint.aside(),
        paint.off(),
        multiline(&fix.message)
    )
}

fn tell(
    span: Span,
    message: &str,
    sources: &Sources,
    paint: &Paint,
    out: &mut Vec<u8>,
) -> Result<()> {
    writeln!(
        out,
        "   {}{}:{} {}",
        paint.aside(),
        link(sources, span),
        paint.off(),
        multiline(message)
    )
}

fn draw(
    finding: &Diagnostic,
    labels: &[(Span, &str, bool)],
    options: Options,
    drawings: &mut Drawings<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let color = match finding.severity {
        Severity::Error => Color::Red,
        Severity::Warning => Color::Yellow,
        Severity::Note => Color::Cyan,
    };
    let at = |span: Span| (span.source, span.range());
    let mut report = Report::build(
        ReportKind::Error,
        at(first_line(finding.span, drawings.sources)),
    )
    .with_config(
        Config::new()
            .with_color(options.color)
            .with_index_type(IndexType::Byte)
            .with_tab_width(2),
    );
    for (index, (span, message, main)) in labels.iter().enumerate() {
        report.add_label(
            Label::new(at(*span))
                .with_message(multiline(message))
                .with_color(if *main { color } else { Color::Blue })
                .with_order(index as i32)
                .with_priority(i32::from(*main)),
        );
    }
    let mut picture = Vec::new();
    report.finish().write(&mut *drawings, &mut picture)?;
    // Its first line is a headline without words; ours stands above.
    let body = picture.iter().position(|byte| *byte == b'\n');
    out.extend_from_slice(&picture[body.map_or(0, |at| at + 1)..]);
    Ok(())
}

/// A piece of a very long line, with the finding underlined.
fn window(span: Span, sources: &Sources, paint: &Paint, out: &mut Vec<u8>) -> Result<()> {
    let source = sources.get(span.source);
    let place = source.place(span.start);
    let line = source.line(place.line);
    let line_start = source.line_start(place.line);
    let at = (span.start as usize - line_start).min(line.len());
    // Counted from the finding outwards: the line may be all of the file.
    let before: Vec<(usize, char)> = line[..at].char_indices().rev().take(WINDOW).collect();
    let first = before.last().map_or(at, |(start, _)| *start);
    let after = line[at..].char_indices().nth(2 * WINDOW - before.len());
    let last = after.map_or(line.len(), |(end, _)| at + end);
    let visible = |c: char| if acts_on_terminal(c) { ' ' } else { c };
    let piece: String = line[first..last].chars().map(visible).collect();
    let left = if first > 0 { "…" } else { "" };
    let right = if last < line.len() { "…" } else { "" };
    let end = first_line(span, sources).end as usize;
    let width = source
        .text
        .get(span.start as usize..end)
        .map_or(0, |text| text.chars().count())
        .clamp(1, WINDOW);
    let number = place.line.to_string();
    let margin = " ".repeat(number.len());
    let indent = " ".repeat(before.len() + left.chars().count());
    writeln!(out, " {margin} ╭─[ {} ]", link(sources, span))?;
    writeln!(out, " {number} │ {left}{piece}{right}")?;
    writeln!(
        out,
        " {margin} │ {indent}{}{}{}",
        paint.severity(Severity::Error),
        "─".repeat(width),
        paint.off()
    )
}

/// The part of a span that is on its first line.
fn first_line(span: Span, sources: &Sources) -> Span {
    let text = sources.text(span);
    let length = text.find(['\r', '\n']).unwrap_or(text.len());
    Span::new(
        span.source,
        span.start as usize,
        span.start as usize + length,
    )
}

/// Text that may have several lines and nothing else that acts on a terminal.
fn multiline(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(printable).collect();
    lines.join("\n         ")
}

struct Paint(bool);

impl Paint {
    fn severity(&self, severity: Severity) -> &'static str {
        match (self.0, severity) {
            (false, _) => "",
            (true, Severity::Error) => "\x1b[1;31m",
            (true, Severity::Warning) => "\x1b[1;33m",
            (true, Severity::Note) => "\x1b[1;36m",
        }
    }

    fn aside(&self) -> &'static str {
        if self.0 { "\x1b[1m" } else { "" }
    }

    fn off(&self) -> &'static str {
        if self.0 { "\x1b[0m" } else { "" }
    }
}

/// Each source prepared for drawing once, when the first finding in it is drawn.
struct Drawings<'a> {
    sources: &'a Sources,
    prepared: HashMap<SourceId, ariadne::Source<String>>,
}

impl Cache<SourceId> for Drawings<'_> {
    type Storage = String;

    fn fetch(
        &mut self,
        id: &SourceId,
    ) -> std::result::Result<&ariadne::Source<String>, impl std::fmt::Debug> {
        let sources = self.sources;
        let prepared = self
            .prepared
            .entry(*id)
            .or_insert_with(|| ariadne::Source::from(harmless(&sources.get(*id).text)));
        Ok::<_, std::convert::Infallible>(prepared)
    }

    fn display<'b>(&self, id: &'b SourceId) -> Option<impl std::fmt::Display + 'b> {
        Some(printable(&self.sources.get(*id).name).into_owned())
    }
}

/// The same text, byte for byte as long, in which only `\n` and `\r\n` break lines (as everywhere
/// in the compiler) and nothing acts on a terminal.
fn harmless(text: &str) -> String {
    let mut same = String::with_capacity(text.len() + 1);
    let mut rest = text;
    while let Some((Range { start, end }, c)) = next_acting(rest) {
        same.push_str(&rest[..start]);
        same.push_str(match c.len_utf8() {
            1 => " ",
            2 => "\u{b7}",
            _ => "\u{fffd}",
        });
        rest = &rest[end..];
    }
    same.push_str(rest);
    // The crate has no line after a last line break, but findings can stand there.
    if same.ends_with('\n') {
        same.push(' ');
    }
    same
}

fn next_acting(text: &str) -> Option<(Range<usize>, char)> {
    text.char_indices()
        .find(|(at, c)| match c {
            '\n' | '\t' => false,
            '\r' => !text[at + 1..].starts_with('\n'),
            c => acts_on_terminal(*c),
        })
        .map(|(at, c)| (at..at + c.len_utf8(), c))
}
