//! Paths and the addresses that editors give them.

use lsp_types::Uri;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// The path of a `file:` address; of another one, the address itself as a name.
pub fn path(uri: &Uri) -> String {
    let text = uri.as_str();
    let Some(rest) = text.strip_prefix("file://") else {
        return text.to_string();
    };
    let path = &rest[rest.find('/').unwrap_or(rest.len())..];
    let path = path.split(['?', '#']).next().unwrap_or("");
    plain(Path::new(&decoded(path)))
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The address of a path; none if there is none, for a name that is no path.
pub fn of(path: &str) -> Option<Uri> {
    if !path.starts_with('/') {
        return Uri::from_str(path).ok().filter(|_| path.contains(':'));
    }
    let mut text = String::from("file://");
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => text.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => text.push(char::from(byte)),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    Uri::from_str(&text).ok()
}

/// A path from the root, without `.` and `..`.
pub fn plain(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut short = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                short.pop();
            }
            Component::CurDir => {}
            part => short.push(part),
        }
    }
    short.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for name in ["/a/b.yaml", "/a b/é😀%#?.yaml", "/x:y/[z]"] {
            let uri = of(name).unwrap();
            assert_eq!(path(&uri), name, "{}", uri.as_str());
        }
        let written = Uri::from_str("file:///a/./b/../c%20d.yaml").unwrap();
        assert_eq!(path(&written), "/a/c d.yaml");
        let untitled = Uri::from_str("untitled:Untitled-1").unwrap();
        assert_eq!(path(&untitled), "untitled:Untitled-1");
        assert_eq!(of("untitled:Untitled-1"), Some(untitled));
        assert_eq!(of("nothing"), None);
    }
}
