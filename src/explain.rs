//! `rrc explain`: the page of a finding.

use crate::cli::ExplainArgs;
use crate::{OK, Streams, USAGE};
use rrc_compiler::codes;
use rrc_compiler::diagnostic::nearest;
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
            let page = PAGES.iter().find(|(known, _)| *known == code.code);
            match page {
                Some((_, page)) => streams.out.write_all(page.as_bytes())?,
                None => writeln!(
                    streams.out,
                    "# {} {}\n\n{}",
                    code.code, code.name, code.summary
                )?,
            }
            Ok(OK)
        }
        None => {
            writeln!(streams.err, "rrc: there is no finding `{written}`")?;
            let known = codes::ALL.iter().flat_map(|code| [code.code, code.name]);
            match nearest(written, known) {
                Some(near) => writeln!(streams.err, "did you mean `{near}`?")?,
                None => writeln!(streams.err, "`rrc explain` lists them all")?,
            }
            Ok(USAGE)
        }
    }
}
