//! What of a record must be on the disk before the whole machine may go down.

use super::{BLOBS, JOURNAL};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Forces a record to the disk.
pub fn force(directory: &Path) -> io::Result<()> {
    for path in parts(directory)? {
        let forced = File::open(&path).and_then(|file| file.sync_all());
        // Not every file system does so with directories; then it needs no asking.
        if !path.is_dir() {
            forced?;
        }
    }
    Ok(())
}

/// Everything in the order in which it has to be there: what is referred to, then where it is found, and
/// last what refers to it.
fn parts(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let blobs = directory.join(BLOBS);
    let journal = directory.join(JOURNAL);
    let mut all = Vec::new();
    for inside in [&blobs, directory] {
        if !inside.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(inside)? {
            let path = entry?.path();
            if path.is_file() && path != journal {
                all.push(path);
            }
        }
        all.push(inside.to_path_buf());
    }
    // The directory of all runs may be new, and the one that it is in; that one was there before.
    all.extend(directory.ancestors().skip(1).take(3).map(
        |above| match above.as_os_str().is_empty() {
            true => PathBuf::from("."),
            false => above.to_path_buf(),
        },
    ));
    all.push(journal);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_refers_to_something_comes_after_it() -> io::Result<()> {
        let here = std::env::temp_dir().join(format!("rrc-lasting-{}", std::process::id()));
        let run = here.join(".rrc/runs/one");
        let blobs = run.join(BLOBS);
        std::fs::create_dir_all(&blobs)?;
        let files = [
            blobs.join("abc"),
            run.join("plan.rrb"),
            run.join("recipe-0.rrb"),
            run.join(JOURNAL),
        ];
        for file in &files {
            std::fs::write(file, "x")?;
        }
        let all = parts(&run);
        let forced = force(&run);
        std::fs::remove_dir_all(&here)?;
        let all = all?;
        forced?;
        let at = |path: &Path| all.iter().position(|part| part == path);
        let order = [
            &files[0],
            &blobs,
            &run,
            &here.join(".rrc/runs"),
            &here,
            &files[3],
        ];
        let places = order.map(|path| at(path));
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{all:?}"
        );
        for file in &files[1..3] {
            assert!(at(file) < at(&run) && at(file).is_some(), "{all:?}");
        }
        assert_eq!(all.last(), Some(&files[3]));
        Ok(())
    }

    #[test]
    fn a_path_from_here_ends_here() -> io::Result<()> {
        let all = parts(Path::new(".rrc/runs/none"))?;
        let names = [".rrc/runs", ".rrc", ".", ".rrc/runs/none/journal.jsonl"];
        assert_eq!(all, names.map(PathBuf::from));
        Ok(())
    }
}
