//! Where in a recipe a cursor is, read off the indentation alone.
//!
//! While somebody types, the text is rarely YAML. Its lines still say which keys and which items
//! the cursor is under, and that is all that completion needs.

use std::ops::Range;

/// One level of the way to a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level<'a> {
    Key(&'a str),
    Item,
}

/// What is being written.
#[derive(Clone, Debug, PartialEq)]
pub enum Writing<'a> {
    /// A key, or an item of a list that is not a map.
    Word,
    /// The value of the last key of the path.
    Value,
    /// The inside of a text that began with the last key of the path.
    Text,
    /// A key of a map in braces; the keys that stand there already.
    FlowKey(Vec<&'a str>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cursor<'a> {
    /// Outermost first.
    pub path: Vec<Level<'a>>,
    pub writing: Writing<'a>,
    /// The word under the cursor, from its first byte to its last.
    pub word: Range<usize>,
    /// Keys and values that stand beside the cursor's own line, on its level.
    pub beside: Vec<(&'a str, &'a str)>,
    /// Whether a colon follows the word.
    pub has_colon: bool,
}

/// What one line says about the structure.
#[derive(Debug, Default)]
struct Line<'a> {
    /// The columns of the dashes it begins with.
    dashes: Vec<usize>,
    /// Where the text after them begins.
    column: usize,
    key: Option<&'a str>,
    /// What follows the colon, without blanks and comments.
    value: &'a str,
    /// The column behind the colon.
    value_at: usize,
    blank: bool,
}

impl<'a> Line<'a> {
    fn read(text: &'a str) -> Line<'a> {
        let mut line = Line::default();
        let mut at = text.len() - text.trim_start_matches(' ').len();
        while text[at..].starts_with("- ") || text[at..].trim_end() == "-" {
            line.dashes.push(at);
            let rest = &text[at + 1..];
            at += 1 + rest.len() - rest.trim_start_matches(' ').len();
        }
        line.column = at;
        let content = text[at..].trim_end();
        line.blank = line.dashes.is_empty() && (content.is_empty() || content.starts_with('#'));
        let (key, after) = match key(content) {
            Some(found) => found,
            None => return line,
        };
        line.key = Some(key);
        line.value_at = at + after;
        line.value = without_comment(content[after..].trim_start());
        line
    }

    /// Whether something stands behind the colon that is not only a name or a type for what follows.
    fn holds_text(&self) -> bool {
        !self.value.is_empty() && (!self.value.starts_with(['&', '!']) || self.value.contains(' '))
    }
}

/// A key at the start of a text, and where its value may begin.
fn key(content: &str) -> Option<(&str, usize)> {
    if let Some(quote) = content.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let end = 1 + content[1..].find(quote)?;
        let colon = content[end + 1..].trim_start().starts_with(':');
        let after = end + 1 + content[end + 1..].find(':')? + 1;
        return colon.then_some((&content[1..end], after));
    }
    let colon = match content.find(": ") {
        Some(colon) => colon,
        None => content.strip_suffix(':')?.len(),
    };
    let name = content[..colon].trim_end();
    let odd = name.is_empty() || name.starts_with(['{', '[', '#', '|', '>', '&', '*']);
    (!odd).then_some((name, colon + 1))
}

fn without_comment(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    value.split(" #").next().unwrap_or("").trim_end()
}

pub fn locate(text: &str, offset: usize) -> Cursor<'_> {
    let offset = text.floor_char_boundary(offset.min(text.len()));
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let end = text[offset..]
        .find('\n')
        .map_or(text.len(), |at| offset + at);
    let own = Line::read(text[start..end].trim_end_matches('\r'));
    let column = offset - start;
    let word = word(text, offset);
    let mut cursor = Cursor {
        path: Vec::new(),
        writing: Writing::Word,
        has_colon: text[word.end..].trim_start_matches(' ').starts_with(':'),
        word,
        beside: Vec::new(),
    };
    if let Some(name) = own.key
        && column >= own.value_at
    {
        cursor.writing = Writing::Value;
        cursor.path.push(Level::Key(name));
    }
    // On an empty line, the cursor is where a key would begin.
    let own_column = if own.blank || column < own.column {
        column
    } else {
        own.column
    };
    // A dash counts only when it is to the left of the cursor.
    let dashes: Vec<usize> = own
        .dashes
        .into_iter()
        .filter(|dash| *dash < column)
        .collect();
    climb(&mut cursor, &text[..start], own_column, &dashes);
    descend(&mut cursor, &text[end..], own_column);
    cursor.path.reverse();
    if cursor.writing == Writing::Value {
        let value = &text[start + own.value_at..offset];
        flow(&mut cursor, value.trim_start());
    }
    cursor
}

/// From the line above the cursor to the top, collecting the path from its inner end.
fn climb<'a>(cursor: &mut Cursor<'a>, above: &'a str, column: usize, dashes: &[usize]) {
    // A key left of the one column is a parent; a dash left of the other makes an item.
    let (mut key_bound, mut dash_bound) = (column, column);
    let mut same_level = true;
    for dash in dashes.iter().rev() {
        cursor.path.push(Level::Item);
        (key_bound, dash_bound) = (dash + 1, *dash);
        same_level = false;
    }
    for text in above.lines().rev() {
        if key_bound == 0 && dash_bound == 0 {
            // Only the level of the whole file is left; what stands beside is all there is to see.
            if !same_level {
                return;
            }
        }
        let line = Line::read(text);
        if line.blank {
            continue;
        }
        if let Some(key) = line.key {
            if same_level && line.column == column {
                cursor.beside.push((key, line.value));
            }
            if line.column < key_bound {
                if line.holds_text() {
                    cursor.path.clear();
                    cursor.writing = Writing::Text;
                }
                cursor.path.push(Level::Key(key));
                (key_bound, dash_bound) = (line.column, line.column);
                same_level = false;
            }
        }
        for dash in line.dashes.iter().rev() {
            if *dash < dash_bound {
                cursor.path.push(Level::Item);
                (key_bound, dash_bound) = (dash + 1, *dash);
                same_level = false;
            }
        }
    }
}

/// What stands beside the cursor, below it.
fn descend<'a>(cursor: &mut Cursor<'a>, below: &'a str, column: usize) {
    for text in below.lines().skip(1) {
        let line = Line::read(text);
        if line.blank {
            continue;
        }
        if line.column < column || line.dashes.iter().any(|dash| *dash < column) {
            return;
        }
        if let Some(key) = line.key
            && line.column == column
        {
            cursor.beside.push((key, line.value));
        }
    }
}

/// A list or a map in brackets that is open at the cursor.
fn flow<'a>(cursor: &mut Cursor<'a>, value: &'a str) {
    if value.starts_with('[') && !value.contains(']') {
        cursor.path.push(Level::Item);
        cursor.writing = Writing::Word;
        return;
    }
    let Some(inside) = value.strip_prefix('{') else {
        return;
    };
    if inside.starts_with('{') || inside.contains('}') {
        return;
    }
    let mut entries: Vec<&str> = inside.split(',').collect();
    let last = entries.pop().unwrap_or("");
    match last.split_once(':') {
        Some((key, _)) => cursor.path.push(Level::Key(key.trim())),
        None => {
            let keys = entries.iter().filter_map(|entry| entry.split_once(':'));
            cursor.writing = Writing::FlowKey(keys.map(|(key, _)| key.trim()).collect());
        }
    }
}

pub fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The word that an offset touches.
fn word(text: &str, offset: usize) -> Range<usize> {
    let before = &text[..offset];
    let after = &text[offset..];
    let start = before.trim_end_matches(is_name).len();
    let end = text.len() - after.trim_start_matches(is_name).len();
    // A dash at the start of a line begins an item, not a word.
    let dashes = text[start..offset].len() - text[start..offset].trim_start_matches('-').len();
    start + dashes..end
}
