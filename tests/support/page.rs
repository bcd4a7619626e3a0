//! A page of the book as headings and fenced blocks. Knows Markdown only as far as that takes.

use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The headings above it, without the title of the page: `Fires`, `Fires / In stages`.
    pub heading: String,
    /// The words after the fence.
    pub info: Vec<String>,
    /// The text between the fences, without the fence's own indentation.
    pub text: String,
    /// The line of the opening fence, from 1.
    pub line: usize,
    /// Lines between the fences.
    pub lines: usize,
    indent: usize,
}

impl Block {
    pub fn word(&self, index: usize) -> &str {
        self.info.get(index).map_or("", String::as_str)
    }
}

#[derive(Clone, Debug)]
pub struct Page {
    pub path: PathBuf,
    pub text: String,
    pub headings: Vec<(usize, String)>,
    pub blocks: Vec<Block>,
}

impl Page {
    pub fn read(path: &Path) -> std::io::Result<Page> {
        Ok(Page::parse(path, std::fs::read_to_string(path)?))
    }

    pub fn parse(path: &Path, text: String) -> Page {
        let mut headings: Vec<(usize, String)> = Vec::new();
        let mut trail: Vec<(usize, String)> = Vec::new();
        let mut blocks = Vec::new();
        let lines: Vec<&str> = text.lines().collect();
        let mut at = 0;
        while at < lines.len() {
            if let Some((indent, fence, info)) = opening(lines[at]) {
                let inside = lines[at + 1..]
                    .iter()
                    .take_while(|line| !closes(line, fence))
                    .count();
                let text: String = lines[at + 1..at + 1 + inside]
                    .iter()
                    .flat_map(|line| [strip(line, indent), "\n"])
                    .collect();
                let names: Vec<&str> = trail
                    .iter()
                    .filter(|(level, _)| *level > 1)
                    .map(|(_, name)| name.as_str())
                    .collect();
                blocks.push(Block {
                    heading: names.join(" / "),
                    info: info.split_whitespace().map(String::from).collect(),
                    text,
                    line: at + 1,
                    lines: inside,
                    indent,
                });
                at += inside + 2;
                continue;
            }
            let level = lines[at].bytes().take_while(|byte| *byte == b'#').count();
            if level > 0 && lines[at][level..].starts_with(' ') {
                let name = lines[at][level..].trim().trim_end_matches('#').trim();
                trail.retain(|(other, _)| *other < level);
                trail.push((level, name.to_string()));
                headings.push((level, name.to_string()));
            }
            at += 1;
        }
        Page {
            path: path.to_path_buf(),
            text,
            headings,
            blocks,
        }
    }

    /// The page with the text of some blocks replaced, by the index of the block.
    pub fn with(&self, changes: &[(usize, String)]) -> String {
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        let mut out = String::new();
        let mut done = 0;
        for (index, block) in self.blocks.iter().enumerate() {
            let Some((_, new)) = changes.iter().find(|(changed, _)| *changed == index) else {
                continue;
            };
            out.extend(lines[done..block.line].iter().copied());
            for line in new.lines() {
                if !line.is_empty() {
                    out.push_str(&" ".repeat(block.indent));
                }
                out.push_str(line);
                out.push('\n');
            }
            done = block.line + block.lines;
        }
        out.extend(lines[done..].iter().copied());
        out
    }
}

/// Indentation, fence and info string of a line that opens a block.
fn opening(line: &str) -> Option<(usize, &str, &str)> {
    let rest = line.trim_start_matches(' ');
    let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = rest.chars().take_while(|c| *c == mark).count();
    let info = &rest[length..];
    (length >= 3 && !info.contains('`')).then_some((
        line.len() - rest.len(),
        &rest[..length],
        info.trim(),
    ))
}

fn closes(line: &str, fence: &str) -> bool {
    let line = line.trim();
    line.starts_with(fence) && line.chars().all(|c| fence.starts_with(c))
}

fn strip(line: &str, indent: usize) -> &str {
    let blank = line.len() - line.trim_start_matches(' ').len();
    &line[indent.min(blank)..]
}

/// Every page below a folder, in the order of their names.
pub fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# Title

## Fires
```yaml amplifier
a: 1
```
### In a list
* so:
  ````text
  ```not a fence```
    kept
  ````
## Empty
```
```
# Other
```sh
never closed
";

    fn page() -> Page {
        Page::parse(Path::new("x.md"), TEXT.to_string())
    }

    #[test]
    fn blocks_know_their_headings_and_lines() {
        let page = page();
        let seen: Vec<(&str, &str, usize, &str)> = page
            .blocks
            .iter()
            .map(|b| (b.heading.as_str(), b.word(0), b.line, b.text.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                ("Fires", "yaml", 4, "a: 1\n"),
                (
                    "Fires / In a list",
                    "text",
                    9,
                    "```not a fence```\n  kept\n"
                ),
                ("Empty", "", 14, ""),
                ("", "sh", 17, "never closed\n"),
            ]
        );
        assert_eq!(page.headings[3], (2, "Empty".to_string()));
        assert_eq!(page.blocks[0].word(1), "amplifier");
    }

    #[test]
    fn a_page_without_changes_is_the_same_page() {
        assert_eq!(page().with(&[]), TEXT);
        let same: Vec<(usize, String)> = page()
            .blocks
            .iter()
            .map(|b| b.text.clone())
            .enumerate()
            .collect();
        assert_eq!(page().with(&same), TEXT);
    }

    #[test]
    fn changes_keep_the_indentation_of_their_fence() {
        let changed = page().with(&[(1, "one\n\ntwo\n".to_string()), (2, "x\n".to_string())]);
        assert!(changed.contains("  ````text\n  one\n\n  two\n  ````\n## Empty\n```\nx\n```\n"));
    }
}
