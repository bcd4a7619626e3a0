//! Events of a YAML document to its tree: duplicate keys, `<<`, bounds on depth and alias expansion,
//! unquoted holes, and where each byte of a text was written.
//!
//! Who reads the events does not matter here: see `yaml` and `quick`.

use super::mistake::{Cover, Mask};
use super::node::{Entry, Kind, Node, Scalar, Style, duplicate_key, repeated};
use super::trace::{Segment, Trace, Tracer};
use super::{MAX_DEPTH, MAX_EXPANSION, MAX_FINDINGS, joined, merge, mistake, quoted, yaml};
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix, Report};
use crate::source::{SourceId, Span};
use bumpalo::Bump;
use std::borrow::Cow;
use std::ops::Range;

/// A list or map that is not finished.
struct Frame<'a> {
    map: bool,
    flow: bool,
    start: usize,
    /// The end of the last child, as written.
    end: usize,
    /// Where its children begin on the stack of nodes or entries.
    first: usize,
    key: Option<Node<'a>>,
    anchor: usize,
    /// What had been read, with aliases expanded, when it began.
    before: usize,
    height: usize,
}

#[derive(Clone, Copy)]
struct Anchored<'a> {
    node: Node<'a>,
    weight: usize,
    height: usize,
}

pub(super) struct Builder<'a, 'm> {
    arena: &'a Bump,
    pub source: SourceId,
    pub text: &'a str,
    pub masks: &'m [Mask],
    frames: Vec<Frame<'a>>,
    nodes: Vec<Node<'a>>,
    entries: Vec<Entry<'a>>,
    anchors: Vec<Option<Anchored<'a>>>,
    /// Bytes and nodes so far, with aliases expanded.
    total: usize,
    expansion_said: bool,
    depth_said: bool,
    segments: Vec<Segment>,
    root: Option<Node<'a>>,
    /// Where the last scalar stands.
    pub last: Range<usize>,
    report: Report,
}

impl<'a, 'm> Builder<'a, 'm> {
    /// Of a text in which these ranges are covered: where the events come from, they are not what is written.
    pub fn new(
        arena: &'a Bump,
        source: SourceId,
        text: &'a str,
        masks: &'m [Mask],
    ) -> Builder<'a, 'm> {
        Builder {
            arena,
            source,
            text,
            masks,
            frames: Vec::new(),
            nodes: Vec::new(),
            entries: Vec::new(),
            anchors: Vec::new(),
            total: 0,
            expansion_said: false,
            depth_said: false,
            segments: Vec::new(),
            root: None,
            last: 0..0,
            report: Report::default(),
        }
    }

    /// Closes everything that is open, as what it is: cut short.
    pub fn stop(&mut self) {
        while let Some(frame) = self.frames.last_mut() {
            if let Some(key) = frame.key.take() {
                let at = Span::new(self.source, key.span.end as usize, key.span.end as usize);
                let value = Node::new(at, Kind::Broken);
                self.entries.push(Entry { key, value });
            }
            let end = frame.end;
            self.close(end, true);
        }
        if let Some(root) = &mut self.root {
            root.partial = true;
        }
    }

    pub fn finish(mut self, before: usize, report: &mut Report) -> Option<Node<'a>> {
        if !self.frames.is_empty() {
            self.stop();
        }
        report.findings.append(&mut self.report.findings);
        let empty = match self.root {
            None => report.findings.len() == before,
            Some(root) => root.span.start == root.span.end && root.scalar().is_some(),
        };
        if empty {
            let is_comment = |line: &str| line.trim_start().starts_with('#');
            let comments = self.text.lines().any(is_comment);
            report.add(
                Diagnostic::new(
                    &codes::NOT_A_RECIPE,
                    Span::top(self.source),
                    match comments {
                        true => "the file holds only comments",
                        false => "the file is empty",
                    },
                )
                .help("a recipe begins with `name:` and has `steps:`"),
            );
            return None;
        }
        self.root
    }

    pub fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.source, range.start, range.end)
    }

    pub fn say(&mut self, found: Diagnostic) {
        if self.report.findings.len() < MAX_FINDINGS {
            self.report.add(found);
        }
    }

    pub fn clamp(&self, range: Range<usize>) -> Range<usize> {
        let text = self.text;
        let end = text.floor_char_boundary(range.end.min(text.len()));
        let start = text.floor_char_boundary(range.start.min(end));
        start..end
    }

    /// Begins a list or map; nothing if it is one too deep, which ends the reading.
    pub fn open(&mut self, map: bool, flow: bool, anchor: usize, at: Range<usize>) -> Option<()> {
        if self.frames.len() == MAX_DEPTH {
            self.too_deep(at);
            return None;
        }
        self.total += 1;
        self.frames.push(Frame {
            map,
            flow,
            start: at.start,
            end: at.end,
            first: if map {
                self.entries.len()
            } else {
                self.nodes.len()
            },
            key: None,
            anchor,
            before: self.total,
            height: 0,
        });
        Some(())
    }

    fn too_deep(&mut self, at: Range<usize>) {
        self.say(super::too_deep(self.span(at)));
    }

    pub fn close(&mut self, end: usize, partial: bool) {
        let Some(frame) = self.frames.pop() else {
            return;
        };
        // The parser ends a block collection where the next token stands, behind blank lines.
        let end = if frame.flow && !partial {
            end
        } else {
            frame.end
        };
        if frame.map && !partial && self.take_apart(&frame, end) {
            return;
        }
        let span = self.span(frame.start..end.max(frame.start));
        let kind = if frame.map {
            self.close_map(frame.first, span)
        } else {
            let items = self.arena.alloc_slice_copy(&self.nodes[frame.first..]);
            self.nodes.truncate(frame.first);
            Kind::List(items)
        };
        let mut node = Node::new(span, kind);
        node.partial = partial;
        if frame.flow
            && !partial
            && let Some(hole) = self.unquoted_hole(node)
        {
            node = hole;
        }
        let weight = self.total - frame.before + 1;
        self.complete(node, frame.anchor, weight, frame.height + 1);
    }

    /// An item of a list that is two of them becomes two; what either lacks is the other's.
    fn take_apart(&mut self, frame: &Frame<'a>, end: usize) -> bool {
        let item = self.frames.last().is_some_and(|outer| !outer.map);
        if frame.flow || frame.anchor > 0 || !item {
            return false;
        }
        let own = &self.entries[frame.first..];
        let Some((at, found)) = joined::second(self.text, own) else {
            return false;
        };
        let middle = own[at].key.span.start as usize;
        self.say(found);
        let rest = self.entries.split_off(frame.first + at);
        for (range, more) in [(frame.start..middle, rest), (middle..end, Vec::new())] {
            let span = self.span(range);
            let mut node = Node::new(span, self.close_map(frame.first, span));
            node.partial = true;
            self.complete(node, 0, 0, frame.height + 1);
            self.entries.extend(more);
        }
        true
    }

    /// A finished value goes to the list or map it stands in.
    fn complete(&mut self, node: Node<'a>, anchor: usize, weight: usize, height: usize) {
        if anchor > 0 {
            if self.anchors.len() <= anchor {
                self.anchors.resize(anchor + 1, None);
            }
            self.anchors[anchor] = Some(Anchored {
                node,
                weight,
                height,
            });
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return;
        };
        let written = node.alias.unwrap_or(node.span);
        frame.end = frame.end.max(written.end as usize);
        // What is merged does not lie below this map but becomes part of it.
        let inside = frame.key.as_ref().is_some_and(merge::is_merge) as usize;
        frame.height = frame.height.max(height.saturating_sub(inside));
        if !frame.map {
            self.nodes.push(node);
        } else if let Some(key) = frame.key.take() {
            self.entries.push(Entry { key, value: node });
        } else {
            frame.key = Some(node);
        }
    }

    pub fn scalar(
        &mut self,
        decoded: Cow<'_, str>,
        style: Style,
        anchor: usize,
        tag: Option<&str>,
        range: Range<usize>,
    ) {
        self.last = range.clone();
        let mut range = range;
        let mut style = style;
        let mut text: &'a str = match decoded {
            // Borrowed text stands in the source as it is, and there it lives longer.
            Cow::Borrowed(text) => match self.text.get(range.clone()).unwrap_or("") {
                raw if raw == text => raw,
                raw => match raw.get(1..raw.len().max(2) - 1) {
                    Some(inner) if inner == text => inner,
                    _ => self.arena.alloc_str(text),
                },
            },
            Cow::Owned(text) => self.arena.alloc_str(&text),
        };
        let block = matches!(style, Style::Literal | Style::Folded);
        if block && range.end == self.text.len() && self.ends_in_a_line(range.clone()) {
            // A last line without a line break gets none, as in the runners of both dialects.
            text = text.strip_suffix('\n').unwrap_or(text);
        }
        let mut trace = None;
        if style == Style::Plain && range.is_empty() {
            // A value that is not written stands behind its colon.
            text = "";
            if self.text.as_bytes().get(range.start) == Some(&b':') {
                range = range.start + 1..range.start + 1;
            }
        }
        let starts = |mask: &&Mask| mask.range.start == range.start;
        if let Some(mask) = self.masks.iter().find(starts) {
            let written = &self.text[mask.range.clone()];
            match mask.cover {
                Cover::Quoted => {
                    style = if written.starts_with('"') {
                        Style::Double
                    } else {
                        Style::Single
                    };
                    text = self
                        .arena
                        .alloc_str(&yaml::unquote(written).unwrap_or_default());
                }
                _ if range.end <= mask.range.end => {
                    text = written;
                    trace = Some(Trace::Straight(range.start as u32));
                }
                _ => {
                    let rest = text.get(mask.range.len()..).unwrap_or("");
                    text = self.arena.alloc_str(&format!("{written}{rest}"));
                }
            }
        }
        let trace = trace.unwrap_or_else(|| self.trace(text, style, range.clone()));
        if block {
            let content = self.text[range.clone()].trim_end_matches(['\n', '\r', ' ', '\t']);
            range.end = range.start + content.len();
        }
        self.total += 1 + range.len();
        let tag = tag.map(|tag| &*self.arena.alloc_str(tag));
        let scalar = self.arena.alloc(Scalar {
            text,
            style,
            tag,
            trace,
        });
        let weight = 1 + range.len();
        let node = Node::new(self.span(range), Kind::Scalar(scalar));
        self.complete(node, anchor, weight, 0);
    }

    /// A scalar that stands in the source as it is, from `from` on.
    pub fn verbatim(&mut self, text: &'a str, style: Style, range: Range<usize>, from: usize) {
        self.last = range.clone();
        let weight = 1 + range.len();
        self.total += weight;
        let scalar = self.arena.alloc(Scalar {
            text,
            style,
            tag: None,
            trace: Trace::Straight(from as u32),
        });
        let node = Node::new(self.span(range), Kind::Scalar(scalar));
        self.complete(node, 0, weight, 0);
    }

    /// Whether a block scalar's last line has content but no line break.
    fn ends_in_a_line(&self, range: Range<usize>) -> bool {
        let breaks = ['\n', '\r'];
        let content = &self.text[range.clone()];
        let line = self.text[..range.start]
            .rfind(breaks)
            .map_or(0, |at| at + 1);
        match content.rfind(breaks) {
            None => !content.is_empty(),
            Some(at) => {
                let last = &content[at + 1..];
                let spaces = last.bytes().take_while(|byte| *byte == b' ').count();
                last.len() > spaces.min(range.start - line)
            }
        }
    }

    fn trace(&mut self, text: &str, style: Style, range: Range<usize>) -> Trace<'a> {
        let raw = self.text.as_bytes();
        let (content, quote) = match style {
            Style::Plain => (range.clone(), None),
            Style::Single | Style::Double if range.len() >= 2 => (
                range.start + 1..range.end - 1,
                Some(if style == Style::Single { b'\'' } else { b'"' }),
            ),
            Style::Single | Style::Double => return Trace::Whole,
            Style::Literal | Style::Folded => (range.clone(), None),
        };
        if raw.get(content.clone()) == Some(text.as_bytes()) || text.is_empty() {
            return Trace::Straight(content.start as u32);
        }
        let tracer = Tracer::new(text, &mut self.segments);
        let traced = match style {
            Style::Literal | Style::Folded => tracer.block(raw, content, style == Style::Folded),
            _ => tracer.flow(raw, content, quote),
        };
        match traced {
            Ok(()) => Trace::Segments(self.arena.alloc_slice_copy(&self.segments)),
            Err(_) => Trace::Whole,
        }
    }

    fn broken(&mut self, range: Range<usize>) {
        let node = Node::new(self.span(range), Kind::Broken);
        self.complete(node, 0, 1, 0);
    }

    pub fn alias(&mut self, id: usize, range: Range<usize>) {
        let span = self.span(range.clone());
        let Some(target) = self.anchors.get(id).copied().flatten() else {
            let name = &self.text[range.clone()];
            self.say(
                Diagnostic::new(
                    &codes::YAML_SYNTAX,
                    span,
                    format!("`{name}` stands inside the value it names"),
                )
                .help("a value cannot contain itself; write it out"),
            );
            return self.broken(range);
        };
        let key = self.frames.last().and_then(|frame| frame.key.as_ref());
        let inside = key.is_some_and(merge::is_merge) as usize;
        if self.frames.len() + target.height - inside.min(target.height) > MAX_DEPTH {
            if !std::mem::replace(&mut self.depth_said, true) {
                self.too_deep(range.clone());
            }
            return self.broken(range);
        }
        if self.total + target.weight > self.text.len() * MAX_EXPANSION {
            if !std::mem::replace(&mut self.expansion_said, true) {
                self.say(
                    Diagnostic::new(
                        &codes::ALIAS_EXPANSION,
                        span,
                        format!(
                            "aliases expand to more than {MAX_EXPANSION} times the file from here on"
                        ),
                    )
                    .help("write fewer aliases of aliases"),
                );
            }
            return self.broken(range);
        }
        self.total += target.weight;
        let node = Node {
            alias: Some(span),
            ..target.node
        };
        self.complete(node, 0, target.weight, target.height);
    }

    pub fn unknown_alias(&mut self, name: &str, range: Range<usize>) {
        let found = Diagnostic::new(
            &codes::YAML_SYNTAX,
            self.span(range.clone()),
            format!("nothing above is anchored as `&{name}`"),
        );
        let written = quoted(&self.text[range.clone()]);
        self.say(
            found
                .help("write the anchor before its alias, or quote the value if `*` is part of it")
                .fix(Fix::unsafe_(
                    "quote the value",
                    self.span(range.clone()),
                    written,
                )),
        );
        self.broken(range);
    }

    /// `{{x}}` without quotes: a map whose only key is a map. Gives the text that was meant.
    fn unquoted_hole(&mut self, node: Node<'a>) -> Option<Node<'a>> {
        let [only] = node.map()? else { return None };
        let inner = only.key;
        inner.map()?;
        let adjacent = inner.span.start == node.span.start + 1
            && inner.span.end + 1 == node.span.end
            && only.value.span.start == only.value.span.end;
        let written = &self.text[node.span.range()];
        if !adjacent || inner.alias.is_some() || written.contains('\n') {
            return None;
        }
        self.say(mistake::unquoted_hole(written, node.span, node.span));
        let scalar = self.arena.alloc(Scalar {
            text: written,
            style: Style::Plain,
            tag: None,
            trace: Trace::Straight(node.span.start),
        });
        Some(Node::new(node.span, Kind::Scalar(scalar)))
    }

    /// The entries of a finished map: duplicates reported, `<<` applied.
    fn close_map(&mut self, first: usize, span: Span) -> Kind<'a> {
        let own = &self.entries[first..];
        let merges = own.iter().any(|entry| merge::is_merge(&entry.key));
        let again = repeated(own);
        if !merges && again.is_empty() {
            let entries = self.arena.alloc_slice_copy(own);
            self.entries.truncate(first);
            return Kind::Map(entries);
        }
        for (index, earlier) in &again {
            let (repeat, original) = (self.entries[first + index], self.entries[first + earlier]);
            self.say(duplicate_key(&repeat, &original));
        }
        let own = &self.entries[first..];
        let (kept, bad) = merge::apply(own, &again);
        for value in bad {
            let at = if value.start == value.end {
                span
            } else {
                value
            };
            self.say(merge::refuse(at));
        }
        self.entries.truncate(first);
        Kind::Map(self.arena.alloc_slice_copy(&kept))
    }

    /// Where the outermost and the innermost collection in brackets begin that are open.
    pub fn brackets(&self) -> (Option<usize>, Option<usize>) {
        let flow = |frame: &&Frame<'_>| frame.flow;
        let start = |frame: &Frame<'_>| frame.start;
        (
            self.frames.iter().find(flow).map(start),
            self.frames.iter().rfind(flow).map(start),
        )
    }
}
