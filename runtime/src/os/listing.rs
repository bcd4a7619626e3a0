//! Which processes there are, as /proc has them; nothing where there is none.

/// A process as the system lists it.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    pub zombie: bool,
}

/// Every process there is; empty where there is no /proc.
pub fn processes() -> Vec<Listed> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(listed).collect()
}

fn listed(pid: u32) -> Option<Listed> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, parentheses and blanks included.
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    Some(Listed {
        pid,
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
        zombie: matches!(state, "Z" | "X"),
    })
}

/// The children of this process, adopted ones included; none where the system does not list them.
pub fn children() -> Vec<u32> {
    // What is adopted becomes a child of the first thread.
    let path = format!("/proc/self/task/{}/children", std::process::id());
    let list = std::fs::read_to_string(path).unwrap_or_default();
    let numbers = list.split_ascii_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// The environment a process was started with, if we may see it: entries ended by NUL.
pub fn environment_of(pid: u32) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}
