//! `rrc explain`: the page of a finding.

use crate::cli::ExplainArgs;
use crate::{OK, Streams, USAGE};
use rrc_compiler::codes;
use rrc_compiler::diagnostic::nearest;
use std::borrow::Cow;
use std::io;

/// The pages of `spec/rules`, by their codes.
static PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

pub fn explain(args: &ExplainArgs, streams: &mut Streams<'_>) -> io::Result<u8> {
    let Some(written) = &args.code else {
        for code in codes::ALL {
            let codes::Code {
                code,
                name,
                severity,
                summary,
                on_demand: _,
            } = code;
            writeln!(
                streams.out,
                "{code}  {:7}  {name:22}  {summary}",
                severity.word()
            )?;
        }
        return Ok(OK);
    };
    match codes::find(written) {
        Some(code) => {
            streams.out.write_all(page(code).as_bytes())?;
            Ok(OK)
        }
        None => {
            writeln!(streams.err, "rrc: there is no finding `{written}`")?;
            let known = codes::ALL.iter().flat_map(|code| [code.code, code.name]);
            match nearest(written, known) {
                Some(near) => writeln!(streams.err, "help: did you mean `{near}`?")?,
                None => writeln!(streams.err, "help: `rrc explain` lists them all")?,
            }
            Ok(USAGE)
        }
    }
}

/// The page of a code, in Markdown.
pub fn page(code: &codes::Code) -> Cow<'static, str> {
    match PAGES.iter().find(|(known, _)| *known == code.code) {
        Some((_, page)) => Cow::Borrowed(page),
        None => format!("# {} {}\n\n{}\n", code.code, code.name, code.summary).into(),
    }
}
