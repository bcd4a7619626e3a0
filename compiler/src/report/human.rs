//! Findings drawn into their source, for a terminal.
//!
//! The only file that names the drawing crate. It is given less than it could take, because of
//! what it does with more: a span over many lines is drawn on its first line, a label far away or
//! in another file becomes a line of text, and a very long line is cut to a window that we draw
//! ourselves. It takes many steps for each character, so plain lines without colours, which most
//! are, we draw as it would; and of a file it sees only the lines that it draws. So one finding
//! costs what its own lines cost, however large the file.

use super::{Fixes, Options, acts_on_terminal, link, printable, shown};
use crate::codes::{self, Severity};
use crate::diagnostic::{Applicability, Diagnostic, Fix};
use crate::source::{SourceId, Sources, Span};
use ariadne::{Cache, Color, Config, IndexType, Label, Report, ReportKind};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::io::{Result, Write};
use std::ops::Range;

/// A line longer than this (in bytes) is shown through a window.
const LONG_LINE: usize = 400;
/// How many characters the window shows on each side of the span's start.
const WINDOW: usize = 48;
/// A label further away than this many lines is told, not drawn.
const FAR: u32 = 60;

/// A span on one line, what is said about it, and whether it is the finding itself.
type Drawn<'a> = (Span, &'a str, bool);

pub fn write(
    findings: &[Diagnostic],
    sources: &Sources,
    options: Options,
    out: &mut dyn Write,
) -> Result<()> {
    let findings = shown(findings, options);
    let mut drawings = Drawings {
        sources,
        findings: &findings,
        prepared: HashMap::new(),
    };
    // The drawing crate writes character by character; one buffer spares a call for each.
    let mut buffer = Vec::new();
    for finding in &findings {
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
    let line = source.line_at(finding.span.start);
    let (drawn, told): (Vec<_>, Vec<_>) = finding
        .labels
        .iter()
        .partition(|label| is_drawn(label.span, finding.span, sources));
    if source.text.is_empty() {
        // There is no line to draw: the finding is about the file.
        let place = match finding.code == &codes::UNREADABLE_FILE {
            // A file that is not there has no first line either.
            true => printable(&source.name).into_owned(),
            false => link(sources, finding.span),
        };
        writeln!(out, "   ──[ {place} ]")?;
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
        match !options.color && are_plain(&labels, sources) {
            true => draw_plainly(finding.span, &labels, sources, out)?,
            false => draw(finding, &labels, options, drawings, out)?,
        }
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
        write_fix(fix, options.fixes, &paint, out)?;
    }
    writeln!(out)
}

fn write_fix(fix: &Fix, by: Fixes, paint: &Paint, out: &mut Vec<u8>) -> Result<()> {
    let option = match fix.applicability {
        Applicability::Safe => "--fix",
        Applicability::Unsafe => "--fix --unsafe-fixes, after a look",
        Applicability::Display => "",
    };
    let how = match by {
        _ if option.is_empty() => String::new(),
        Fixes::Here => format!(" (apply with {option})"),
        Fixes::Check => format!(" (apply with rrc check {option})"),
        Fixes::Nobody => String::new(),
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
    labels: &[Drawn<'_>],
    options: Options,
    drawings: &mut Drawings<'_>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let color = match finding.severity {
        Severity::Error => Color::Red,
        Severity::Warning => Color::Yellow,
        Severity::Note => Color::Cyan,
    };
    let main = first_line(finding.span, drawings.sources);
    let mut at = |span: Span| (span.source, drawings.prepared(span.source).range(span));
    let mut report = Report::build(ReportKind::Error, at(main)).with_config(
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
    let body = &picture[body.map_or(0, |at| at + 1)..];
    match options.color {
        true => paint_in_runs(body, out),
        false => out.extend_from_slice(body),
    }
    Ok(())
}

/// A picture in which every character has its colour by itself, with a colour for as many characters
/// of a line as share it.
fn paint_in_runs(picture: &[u8], out: &mut Vec<u8>) {
    const OFF: &[u8] = b"\x1b[0m";
    let (mut wanted, mut current): (&[u8], &[u8]) = (OFF, OFF);
    let mut rest = picture;
    while let Some(byte) = rest.first() {
        let escape = rest.starts_with(b"\x1b[");
        let end = rest.iter().position(|byte| *byte == b'm');
        if let Some(end) = end.filter(|_| escape) {
            (wanted, rest) = rest.split_at(end + 1);
            continue;
        }
        // No colour goes on in the next line, where others may write.
        let meant = if *byte == b'\n' { OFF } else { wanted };
        if meant != current {
            if current != OFF {
                out.extend_from_slice(OFF);
            }
            if meant != OFF {
                out.extend_from_slice(meant);
            }
            current = meant;
        }
        out.push(*byte);
        rest = &rest[1..];
    }
    if current != OFF {
        out.extend_from_slice(OFF);
    }
}

/// Whether a label is near enough to be drawn with the finding it belongs to.
fn is_drawn(label: Span, finding: Span, sources: &Sources) -> bool {
    let source = sources.get(finding.source);
    let line = |span: Span| source.line_at(span.start);
    label.source == finding.source
        && line(label).abs_diff(line(finding)) <= FAR
        && source.line(line(label)).len() <= LONG_LINE
}

/// Whether all labels are in lines whose bytes are characters as wide as any.
fn are_plain(labels: &[Drawn<'_>], sources: &Sources) -> bool {
    labels.iter().all(|(span, ..)| {
        let source = sources.get(span.source);
        let number = source.line_at(span.start);
        let line = source.line(number);
        // Of several labels, the crate takes an empty one at the start of a line for the end of
        // the line before.
        let first = span.start as usize == source.line_start(number);
        let misplaced = labels.len() > 1 && span.start == span.end && first;
        let plain = line.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        line.len() <= LONG_LINE && plain && !misplaced
    })
}

/// Draws labels in plain lines, as the crate does.
fn draw_plainly(
    finding: Span,
    labels: &[Drawn<'_>],
    sources: &Sources,
    out: &mut Vec<u8>,
) -> Result<()> {
    let source = sources.get(finding.source);
    let last = labels.last().map_or(finding, |(span, ..)| *span);
    let width = line_of(last, sources).to_string().len();
    let margin = " ".repeat(width);
    writeln!(out, " {margin} ╭─[ {} ]", link(sources, finding))?;
    writeln!(out, " {margin} │")?;
    let mut before = None;
    let on_one_line = |a: &Drawn<'_>, b: &Drawn<'_>| line_of(a.0, sources) == line_of(b.0, sources);
    for labels in labels.chunk_by(on_one_line) {
        let number = labels
            .first()
            .map_or(0, |(span, ..)| line_of(*span, sources));
        if before.is_some_and(|before| before + 1 < number) {
            writeln!(out, " {margin} │ ")?;
        }
        before = Some(number);
        let line = source.line(number).trim_end_matches(' ');
        writeln!(out, " {number:>width$} │ {line}")?;
        arrows(labels, source.line_start(number), &margin, out)?;
    }
    writeln!(out, "─{}─╯", "─".repeat(width))
}

/// What stands under a line: its labels underlined, then what each of them says.
fn arrows(labels: &[Drawn<'_>], start: usize, margin: &str, out: &mut Vec<u8>) -> Result<()> {
    let column = |offset: u32| offset as usize - start;
    let columns = |span: Span| column(span.start)..column(span.end);
    let middle = |span: Span| (column(span.start) + column(span.end)) / 2;
    let most = labels.iter().map(|(span, ..)| column(span.end)).max();
    let end = most.unwrap_or(0) + 2;
    for (row, (span, message, _)) in labels.iter().enumerate() {
        let below = &labels[row..];
        let joins = |column: usize| below.iter().any(|(span, ..)| middle(*span) == column);
        let under = |column| row == 0 && labels.iter().any(|l| columns(l.0).contains(&column));
        write!(out, " {margin} │ ")?;
        out.extend(
            (0..end).flat_map(|column| match (joins(column), under(column)) {
                (true, true) => "┬".bytes(),
                (true, false) => "│".bytes(),
                (false, true) => "─".bytes(),
                (false, false) => " ".bytes(),
            }),
        );
        write!(out, "\n {margin} │ ")?;
        out.extend(
            (0..end).flat_map(|column| match column.cmp(&middle(*span)) {
                Ordering::Equal => "╰".bytes(),
                Ordering::Greater => "─".bytes(),
                Ordering::Less if joins(column) => "│".bytes(),
                Ordering::Less => " ".bytes(),
            }),
        );
        writeln!(out, " {}", multiline(message))?;
    }
    Ok(())
}

fn line_of(span: Span, sources: &Sources) -> u32 {
    sources.get(span.source).line_at(span.start)
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
fn multiline(text: &str) -> Cow<'_, str> {
    if !text.contains('\n') {
        return printable(text);
    }
    let lines: Vec<_> = text.lines().map(printable).collect();
    lines.join("\n         ").into()
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
    findings: &'a [&'a Diagnostic],
    prepared: HashMap<SourceId, Prepared>,
}

/// A source of as many lines, of which only those have a text that findings are drawn in: the
/// crate looks at every character.
struct Prepared {
    /// Where a line that has a text begins, in the source and here.
    starts: Vec<(usize, usize)>,
    source: ariadne::Source<String>,
}

impl Prepared {
    fn new(id: SourceId, sources: &Sources, findings: &[&Diagnostic]) -> Prepared {
        let source = sources.get(id);
        let here = findings.iter().filter(|finding| finding.span.source == id);
        let spans = here.flat_map(|finding| {
            let labels = finding.labels.iter().map(|label| label.span);
            let near = move |span: &Span| is_drawn(*span, finding.span, sources);
            std::iter::once(finding.span).chain(labels.filter(near))
        });
        let mut lines: Vec<u32> = spans.map(|span| source.place(span.start).line).collect();
        lines.sort_unstable();
        lines.dedup();
        let mut text = String::new();
        let mut starts = Vec::with_capacity(lines.len());
        let mut next = 1;
        for line in lines {
            text.extend(std::iter::repeat_n('\n', (line - next) as usize));
            let start = source.line_start(line);
            starts.push((start, text.len()));
            text.push_str(&harmless(&source.text[start..source.line_start(line + 1)]));
            next = line + 1;
        }
        // The crate has no line after a last line break, but findings can stand there.
        if text.ends_with('\n') {
            text.push(' ');
        }
        let source = ariadne::Source::from(text);
        Prepared { starts, source }
    }

    /// Where a span is that is on one of the lines.
    fn range(&self, span: Span) -> Range<usize> {
        let Range { start, end } = span.range();
        let line = self.starts.partition_point(|(line, _)| *line <= start);
        let line = line.checked_sub(1).and_then(|line| self.starts.get(line));
        let (old, new) = line.copied().unwrap_or_default();
        start - old + new..end - old + new
    }
}

impl Drawings<'_> {
    fn prepared(&mut self, id: SourceId) -> &Prepared {
        let (sources, findings) = (self.sources, self.findings);
        let new = || Prepared::new(id, sources, findings);
        self.prepared.entry(id).or_insert_with(new)
    }
}

impl Cache<SourceId> for Drawings<'_> {
    type Storage = String;

    fn fetch(
        &mut self,
        id: &SourceId,
    ) -> std::result::Result<&ariadne::Source<String>, impl std::fmt::Debug> {
        Ok::<_, std::convert::Infallible>(&self.prepared(*id).source)
    }

    fn display<'b>(&self, id: &'b SourceId) -> Option<impl std::fmt::Display + 'b> {
        Some(printable(&self.sources.get(*id).name).into_owned())
    }
}

/// The same text, byte for byte as long, in which only `\n` and `\r\n` break lines (as everywhere
/// in the compiler) and nothing acts on a terminal.
fn harmless(text: &str) -> String {
    let mut same = String::with_capacity(text.len());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;
    use crate::source::Source;

    /// Draws one finding with these labels, by us and by the crate.
    fn both(spans: &[Span], sources: &Sources) -> Option<[String; 2]> {
        let finding = Diagnostic::new(&codes::BAD_VALUE, spans[0], "");
        let finding = spans[1..]
            .iter()
            .fold(finding, |finding, span| finding.label(*span, "a label"));
        let mut labels: Vec<Drawn<'_>> = Vec::new();
        for (number, span) in spans.iter().enumerate() {
            let message = ["here", "a label"][number.min(1)];
            labels.push((first_line(*span, sources), message, number == 0));
        }
        labels.sort_by_key(|(span, _, main)| (span.start, !main));
        if !are_plain(&labels, sources) {
            return None;
        }
        let mut plainly = Vec::new();
        draw_plainly(finding.span, &labels, sources, &mut plainly).unwrap();
        let mut drawn = Vec::new();
        let mut drawings = Drawings {
            sources,
            findings: &[&finding],
            prepared: HashMap::new(),
        };
        let options = Options::default();
        draw(&finding, &labels, options, &mut drawings, &mut drawn).unwrap();
        Some([plainly, drawn].map(|text| String::from_utf8(text).unwrap()))
    }

    #[test]
    fn what_has_one_colour_is_painted_at_once() {
        let text = "name: a\n  - id: 'x' # ü\n";
        let mut sources = Sources::default();
        let source = sources.add(Source::new("a.yaml", text));
        let finding = Diagnostic::new(&codes::BAD_VALUE, Span::new(source, 12, 14), "wrong")
            .label(Span::new(source, 0, 4), "a label");
        let written = |color| {
            let mut out = Vec::new();
            let options = Options {
                color,
                ..Options::default()
            };
            write(std::slice::from_ref(&finding), &sources, options, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let painted = written(true);
        let mut pieces = painted.split("\x1b[");
        let mut plain = pieces.next().unwrap_or_default().to_string();
        let (mut on, mut before) = (false, "");
        for piece in pieces {
            let (style, text) = piece.split_once('m').unwrap();
            // A colour begins where there is none; it is another one, or something lies between.
            assert_eq!(style == "0", on, "{painted:?}");
            assert_ne!(style, before, "{painted:?}");
            assert!(
                on || !text.is_empty() && !text.contains('\n'),
                "{painted:?}"
            );
            on = style != "0";
            before = match on || text.is_empty() {
                true if on => style,
                true => before,
                false => "",
            };
            plain.push_str(text);
        }
        assert_eq!(plain, written(false));
    }

    #[test]
    fn plain_lines_are_drawn_as_the_crate_draws_them() {
        let text = "name: a  \n\nsteps:\n  - id: x\n\n\n\n\n\n   key: {{v}} \n";
        let mut sources = Sources::default();
        let source = sources.add(Source::new("a b.yaml", text));
        let mut spans = Vec::new();
        for start in 0..=text.len() {
            spans.extend((start..=text.len()).map(|end| Span::new(source, start, end)));
        }
        for span in &spans {
            let [plainly, drawn] = both(&[*span], &sources).unwrap();
            assert_eq!(plainly, drawn, "{span:?}");
        }
        // Two and three at once, in all orders, as far as patience goes.
        for (number, first) in spans.iter().enumerate() {
            for second in spans.iter().skip(number % 7).step_by(7) {
                let third = spans[(number * 31 + second.end as usize * 17) % spans.len()];
                for spans in [&[*first, *second][..], &[*first, *second, third]] {
                    if let Some([plainly, drawn]) = both(spans, &sources) {
                        assert_eq!(plainly, drawn, "{spans:?}");
                    }
                }
            }
        }
    }
}
