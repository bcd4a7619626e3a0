//! The file that describes an agent, found by the agent's name.
//!
//! A name is made of safe words, and what is found lies in the directory that was searched: no name
//! and no link leads out of it.

use std::path::{Path, PathBuf};

/// The largest description that is read.
pub const MOST_BYTES: u64 = 1 << 20;
/// Folders that sort agents, when the name does not say in which it is.
const SORTS: [&str; 2] = ["core", "specialized"];

/// What is written about an agent: `name`, `space:name` or `space:sort:name`. None if there is
/// nothing, or the name is not one.
pub fn describe(name: &str, directories: &[PathBuf]) -> Option<String> {
    let words: Vec<&str> = name.split(':').collect();
    if !words.iter().all(|word| is_safe(word)) {
        return None;
    }
    let places = places(&words)?;
    directories
        .iter()
        .filter_map(|directory| Some((directory, directory.canonicalize().ok()?)))
        .find_map(|(directory, root)| {
            let files = places.iter().map(|place| directory.join(place));
            files.into_iter().find_map(|file| read(&file, &root))
        })
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

fn read(file: &Path, root: &Path) -> Option<String> {
    let file = file.canonicalize().ok()?;
    let inside = file.starts_with(root);
    let metadata = file.metadata().ok()?;
    if !inside || !metadata.is_file() || metadata.len() > MOST_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(&std::fs::read(file).ok()?).into_owned();
    Some(without_header(&text).trim().to_string())
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
            assert_eq!(found(name).as_deref(), Some("You build."), "{name}");
        }
        for name in ["plain", "team:plain"] {
            assert_eq!(found(name).as_deref(), Some("You are plain."), "{name}");
        }
        for name in [
            "nobody",
            "../secret",
            "..:secret",
            "link",
            "a:b:c:plain",
            "",
            ":",
            "team:",
            "/plain",
            "team/core:builder",
        ] {
            assert_eq!(found(name), None, "{name}");
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
