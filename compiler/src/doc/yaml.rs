//! YAML text to the spanned tree; the only file that names the YAML parser.
//!
//! The parser gives events with byte ranges, of which `tree` makes the tree. Ours is going on after a
//! mistake that ends with its line. What is written plainly, as most recipes are, does not need the
//! parser: `quick` reads it first. Nothing here knows what a recipe is.

use super::mistake::{Cover, Mask, Mistake, Scene};
use super::node::{Node, Style};
use super::tree::Builder;
use super::{MAX_DEPTH, mistake, quick};
use crate::codes;
use crate::diagnostic::{Diagnostic, Report};
use crate::source::SourceId;
use bumpalo::Bump;
use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StructureStyle, Tag};

/// How many mistakes are stepped over before reading stops at the next one.
const MAX_MISTAKES: usize = 16;
/// How many places are stepped over that other YAML readers take and this parser does not.
const MAX_LENIENT: usize = 64;

/// Reads one document. What is wrong goes to the report; what could be understood is given back,
/// and nothing only if nothing could be.
pub fn read<'a>(
    arena: &'a Bump,
    source: SourceId,
    text: &'a str,
    report: &mut Report,
) -> Option<Node<'a>> {
    if super::too_large(source, text, report) {
        return None;
    }
    if let Some(root) = quick::read(arena, source, text, report) {
        return Some(root);
    }
    parse(arena, source, text, report)
}

/// The same, all of it by the parser.
pub(super) fn parse<'a>(
    arena: &'a Bump,
    source: SourceId,
    text: &'a str,
    report: &mut Report,
) -> Option<Node<'a>> {
    let before = report.findings.len();
    let mut masks: Vec<Mask> = Vec::new();
    let mut builder = Builder::new(arena, source, text, &[]);
    let Some(error) = run(&mut builder, text) else {
        return builder.finish(before, report);
    };
    let Some(mask) = step_over(&error, &builder, report) else {
        builder.stop();
        return builder.finish(before, report);
    };
    masks.push(mask);
    // Reading again with the mistake covered keeps every offset, and finds the mistakes behind it.
    // The trees of these attempts are thrown away.
    loop {
        let masked = mistake::cover(text, &masks);
        let scratch = Bump::new();
        let mut builder = Builder::new(&scratch, source, text, &masks);
        let Some(error) = run(&mut builder, &masked) else {
            break;
        };
        let Some(mask) = step_over(&error, &builder, report) else {
            break;
        };
        masks.push(mask);
    }
    let mut builder = Builder::new(arena, source, text, &masks);
    let masked = mistake::cover(text, &masks);
    if run(&mut builder, &masked).is_some() {
        builder.stop();
    }
    builder.finish(before, report)
}

/// Says what is wrong, if anything is, and how to read on behind it, if that is possible.
fn step_over(error: &ScanError, builder: &Builder<'_, '_>, report: &mut Report) -> Option<Mask> {
    let masks = builder.masks;
    let fits = |mask: &Mask| {
        let range = &mask.range;
        let apart = |other: &Mask| other.range.end <= range.start || range.end <= other.range.start;
        !range.is_empty() && masks.iter().all(apart)
    };
    let count = |lenient: bool| {
        let of_a_kind = |mask: &&Mask| (mask.cover != Cover::Mistake) == lenient;
        masks.iter().filter(of_a_kind).count()
    };
    let mistake = kind(error);
    let scene = scene(builder, error);
    if count(true) < MAX_LENIENT
        && let Some(mask) = mistake::lenient(&mistake, &scene).filter(fits)
    {
        return Some(mask);
    }
    let (found, mask) = mistake::explain(&mistake, &scene);
    report.add(found);
    mask.filter(|mask| count(false) < MAX_MISTAKES && fits(mask))
}

/// The text of a quoted scalar on its own, where no indentation is asked of it.
pub(super) fn unquote(written: &str) -> Option<String> {
    Parser::new_from_str(written).find_map(|event| match event {
        Ok((Event::Scalar(text, ..), _)) => Some(text.into_owned()),
        _ => None,
    })
}

/// Takes in the events of the first document, up to an error of syntax.
fn run(builder: &mut Builder<'_, '_>, masked: &str) -> Option<ScanError> {
    let options = granit_parser::options! {
        emit_comments: false,
        emit_unresolved_aliases: true,
        flow_nesting_limit: MAX_DEPTH + 1,
        block_nesting_limit: MAX_DEPTH + 1,
    };
    let mut documents = 0;
    for event in Parser::new_from_str_with_options(masked, options) {
        let (event, span) = match event {
            Ok(pair) => pair,
            Err(error) => return Some(error),
        };
        let range = builder.clamp(span.byte_range().unwrap_or(0..0));
        let flow = |style| style == StructureStyle::Flow;
        match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if documents == 2 {
                    builder.say(
                        Diagnostic::new(
                            &codes::SEVERAL_DOCUMENTS,
                            builder.span(range),
                            "a second document begins here",
                        )
                        .help("keep one document per file; only the first is read"),
                    );
                    return None;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted => Style::Single,
                    ScalarStyle::DoubleQuoted => Style::Double,
                    ScalarStyle::Literal => Style::Literal,
                    ScalarStyle::Folded => Style::Folded,
                };
                let tag = tag.as_deref().map(tag_name);
                builder.scalar(text, style, anchor, tag.as_deref(), range);
            }
            Event::SequenceStart(style, anchor, _) => {
                builder.open(false, flow(style), anchor, range)?;
            }
            Event::MappingStart(style, anchor, _) => {
                builder.open(true, flow(style), anchor, range)?;
            }
            Event::SequenceEnd | Event::MappingEnd => builder.close(range.end, false),
            Event::Alias(id) => builder.alias(id, range),
            Event::UnresolvedAlias(name) => builder.unknown_alias(&name, range),
            _ => {}
        }
    }
    None
}

/// Where an error stands, and what is around it.
fn scene<'t>(builder: &'t Builder<'_, '_>, error: &ScanError) -> Scene<'t> {
    let text = builder.text;
    let at = error.marker().byte_offset().unwrap_or(text.len());
    let (outermost, innermost) = builder.brackets();
    Scene {
        source: builder.source,
        text,
        at: builder.clamp(at..at).start,
        last: builder.last.clone(),
        outermost,
        innermost,
    }
}

fn tag_name(tag: &Tag) -> String {
    match tag.core_suffix() {
        Some(name) => format!("!!{name}"),
        None => format!("{}{}", tag.handle(), tag.suffix()),
    }
}

/// The parser's errors in our words, many to one.
fn kind(error: &ScanError) -> Mistake {
    use ErrorKind as E;
    match error.kind() {
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabAtBlockScalarStart
        | E::TabInPlainScalar => Mistake::Tab,
        E::UnclosedQuotedScalar | E::DocumentIndicatorInQuotedScalar => Mistake::UnclosedQuote,
        E::InvalidQuotedScalarIndent | E::TabInIndentation => Mistake::QuoteIndent,
        E::UnclosedFlowCollection { .. }
        | E::UnexpectedEofFlowSequence
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping => Mistake::UnclosedBracket,
        E::MappingValueNotAllowed | E::InvalidColonPlacement => Mistake::Colon,
        E::InvalidIndentation | E::InvalidFlowScalarIndent | E::ExpectedDocumentStart => {
            Mistake::Indentation
        }
        E::InvalidBlockScalarIndent => Mistake::BlockIndentation,
        E::UnexpectedCharacter { character } => Mistake::Character(*character),
        E::InvalidTrailingSingleQuotedScalar | E::InvalidTrailingDoubleQuotedScalar => {
            Mistake::AfterQuote
        }
        E::ExpectedBlockMappingKey => Mistake::NotAKey,
        E::ExpectedBlockSequenceEntry => Mistake::NotAnItem,
        E::ExpectedFlowMappingSeparator | E::ExpectedFlowSequenceSeparator => Mistake::Separator,
        E::UnknownQuotedScalarEscape
        | E::InvalidQuotedScalarHexEscape
        | E::InvalidLowSurrogateHexEscape
        | E::InvalidLowSurrogate
        | E::MissingLowSurrogate
        | E::UnpairedLowSurrogate
        | E::InvalidUnicodeEscape => Mistake::Escape,
        E::BlockSequenceEntryNotAllowed
        | E::InvalidBlockEntryWhitespace
        | E::BlockEntryInFlowCollection
        | E::PlainScalarStartsWithDashFlowIndicator => Mistake::Dash,
        E::MisplacedFlowCollectionEnd => Mistake::ClosingBracket,
        E::MismatchedFlowCollectionEnd { open, close } => Mistake::Mismatch(*open, *close),
        E::SimpleKeyExpected | E::InvalidSimpleKey | E::MappingKeyNotAllowed => Mistake::NoColon,
        E::MissingAnchorOrAliasName => Mistake::NoName,
        E::CommentInterceptedScalar | E::CommentNotSeparated => Mistake::Comment,
        E::InvalidBlockScalarHeader | E::ZeroBlockScalarIndent => Mistake::BlockHeader,
        E::RecursionLimitExceeded => Mistake::TooDeep,
        other => Mistake::Other(other.to_string()),
    }
}
