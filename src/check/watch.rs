//! `--watch`: the same check again, whenever something that was read has changed.

use super::{Round, round};
use crate::Streams;
use crate::cli::{CheckArgs, Global};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

const PAUSE: Duration = Duration::from_millis(200);

/// When a file was changed last, and how long it is; none if it is not there.
type Stamp = Option<(SystemTime, u64)>;

/// Ends when it is interrupted, or when nobody reads it any more.
pub fn watch(args: &CheckArgs, global: &Global, streams: &mut Streams<'_>) -> io::Result<u8> {
    let clears = io::stdout().is_terminal();
    let mut before = BTreeMap::new();
    loop {
        // What changes while a round runs must not be missed, so the stamps are older than it.
        let known = stamps(before.into_keys());
        if clears {
            write!(streams.out, "\x1b[2J\x1b[H")?;
        }
        let Round { seen, .. } = round(args, global, streams)?;
        streams.out.flush()?;
        before = stamps(seen.into_iter());
        for (path, stamp) in known {
            before.entry(path).and_modify(|now| *now = stamp);
        }
        if !global.quiet {
            writeln!(streams.err, "watching; interrupt to end")?;
        }
        while stamps(before.keys().cloned()) == before {
            std::thread::sleep(PAUSE);
        }
    }
}

fn stamps(paths: impl Iterator<Item = PathBuf>) -> BTreeMap<PathBuf, Stamp> {
    let stamp = |path: &PathBuf| {
        let facts = std::fs::metadata(path).ok()?;
        Some((facts.modified().ok()?, facts.len()))
    };
    paths.map(|path| (path.clone(), stamp(&path))).collect()
}
