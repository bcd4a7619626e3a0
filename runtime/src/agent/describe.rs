//! The file that describes an agent, found by the agent's name.
//!
//! A name is made of safe words, and what is found lies in the directory that was searched: no name
//! and no link leads out of it.

use std::io;
use std::path::{Path, PathBuf};

/// The largest description that is read.
pub const MOST_BYTES: u64 = 1 << 20;
/// Folders that sort agents, when the name does not say in which it is.
const SORTS: [&str; 2] = ["core", "specialized"];

/// What is written about an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Described {
    As(String),
    Nowhere,
    /// There is a file, and why it is not read.
    Unusable(String),
}

/// Looks for an agent: `name`, `space:name` or `space:sort:name`. The first file that can be used
/// counts.
pub fn describe(name: &str, directories: &[PathBuf]) -> Described {
    let words: Vec<&str> = name.split(':').collect();
    let safe = words.iter().all(|word| is_safe(word));
    let Some(places) = places(&words).filter(|_| safe) else {
        return Described::Nowhere;
    };
    let mut found = Described::Nowhere;
    for directory in directories {
        let Ok(root) = directory.canonicalize() else {
            continue;
        };
        for place in &places {
            match read(&directory.join(place), &root) {
                Described::Nowhere => {}
                Described::As(text) => return Described::As(text),
                unusable if found == Described::Nowhere => found = unusable,
                Described::Unusable(_) => {}
            }
        }
    }
    found
}

fn is_safe(word: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !word.is_empty() && word.chars().all(safe)
}

/// Where an agent may be described, the most particular place first.
fn places(words: &[&str]) -> Option<Vec<PathBuf>> {
    let (space, sort, name) = match words {
        [name] => (None, None, name),
        [space, name] => (Some(space), None, name),
        [space, sort, name] => (Some(space), Some(sort), name),
        _ => return None,
    };
    let file = format!("{name}.md");
    let mut places = Vec::new();
    if let Some(sort) = sort {
        places.extend(space.map(|space| Path::new(space).join(sort).join(&file)));
        places.push(Path::new(sort).join(&file));
    }
    if let Some(space) = space {
        places.push(Path::new(space).join(&file));
        places.extend(SORTS.map(|sort| Path::new(space).join(sort).join(&file)));
    }
    places.extend(SORTS.map(|sort| Path::new(sort).join(&file)));
    places.push(PathBuf::from(file));
    Some(places)
}

fn read(file: &Path, root: &Path) -> Described {
    let unusable = |why: &str| Described::Unusable(format!("{} {why}", file.display()));
    let cannot = |error: io::Error| unusable(&format!("cannot be read: {error}"));
    let real = match file.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return cannot(error),
        Err(_) => return Described::Nowhere,
    };
    if !real.starts_with(root) {
        return unusable("leads out of the directory of agents");
    }
    let metadata = match real.metadata() {
        Ok(metadata) => metadata,
        Err(error) => return cannot(error),
    };
    if !metadata.is_file() {
        return Described::Nowhere;
    }
    if metadata.len() > MOST_BYTES {
        let most = MOST_BYTES >> 20;
        return unusable(&format!("is larger than {most} MiB"));
    }
    match std::fs::read(real) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            Described::As(without_header(&text).trim().to_string())
        }
        Err(error) => cannot(error),
    }
}

/// The text after the lines between `---` at its start, which are for other programs.
fn without_header(text: &str) -> &str {
    let text = text.trim_start_matches('\u{feff}');
    let Some(rest) = text.strip_prefix("---") else {
        return text;
    };
    let Some(rest) = rest.trim_start_matches([' ', '\r']).strip_prefix('\n') else {
        return text;
    };
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return &rest[at..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_found_and_nothing_else() {
        let top = std::env::temp_dir().join(format!("rrc-agents-{}", std::process::id()));
        let agents = top.join("agents");
        std::fs::create_dir_all(agents.join("team/core")).expect("a folder can be made");
        let write = |path: &str, text: &str| std::fs::write(top.join(path), text);
        write(
            "agents/team/core/builder.md",
            "---\nname: b\n---\nYou build.\n",
        )
        .expect("a file");
        write("agents/plain.md", "You are plain.").expect("a file");
        write("secret.md", "not for agents").expect("a file");
        std::os::unix::fs::symlink(top.join("secret.md"), agents.join("link.md")).expect("a link");
        let directories = [top.join("none"), agents];
        let found = |name: &str| describe(name, &directories);
        for name in ["team:builder", "team:core:builder"] {
            assert_eq!(
                found(name),
                Described::As("You build.".to_string()),
                "{name}"
            );
        }
        for name in ["plain", "team:plain"] {
            let plain = Described::As("You are plain.".to_string());
            assert_eq!(found(name), plain, "{name}");
        }
        for name in [
            "nobody",
            "../secret",
            "..:secret",
            "a:b:c:plain",
            "",
            ":",
            "team:",
            "/plain",
            "team/core:builder",
        ] {
            assert_eq!(found(name), Described::Nowhere, "{name}");
        }
        write("agents/large.md", &"x".repeat(MOST_BYTES as usize + 1)).expect("a file");
        for (name, why) in [("link", "leads out of"), ("large", "is larger than 1 MiB")] {
            let Described::Unusable(words) = found(name) else {
                panic!("{name} can be used");
            };
            assert!(
                words.contains(&format!("agents/{name}.md {why}")),
                "{words}"
            );
        }
        std::fs::remove_dir_all(top).expect("the folder was ours");
    }

    #[test]
    fn only_a_whole_header_is_left_out() {
        for (text, left) in [
            ("---\na: b\n---\nx", "x"),
            ("---\r\na: b\r\n---\r\nx", "x"),
            ("---\nno end", "---\nno end"),
            ("--- title\nx", "--- title\nx"),
            ("x\n---\ny\n---\n", "x\n---\ny\n---\n"),
        ] {
            assert_eq!(without_header(text), left, "{text:?}");
        }
    }
}
