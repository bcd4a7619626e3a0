//! Fields that older runners had, and what to write instead.

use super::Lower;
use super::habits::{whole, without};
use super::node::{json_string, key_span};
use crate::codes;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix};
use crate::doc::{Entry, Kind, Node};

impl<'a> Lower<'_, 'a> {
    pub fn legacy(&self, node: Node<'a>, entry: &Entry<'a>, name: &str) -> Option<Diagnostic> {
        let value = entry.value.scalar().map(|scalar| scalar.text);
        let absent = |field: &str| node.get(field).is_none();
        let instead = |text: &str| Fix::safe(format!("write `{text}`"), whole(entry), text);
        let absent = |field: &str| absent(field) && entry.value.alias.is_none();
        let gone = || self.without_field(node, name);
        let (message, help, fix) = match name {
            "pipe" => (
                "`pipe` is no field of a template any more",
                "`template` with a list is a sequence: rename the field",
                absent("template")
                    .then(|| Fix::safe("write `template`", key_span(entry), "template")),
            ),
            "critical" if value == Some("false") => (
                "`critical` is no field of a template any more",
                "remove it: the run goes on after a failure anyway",
                gone(),
            ),
            "critical" => (
                "`critical` is no field of a template any more: a failure here would be passed over",
                "write `\"failure\": \"root\"`",
                (value == Some("true") && absent("failure"))
                    .then(|| instead("\"failure\": \"root\"")),
            ),
            "mode" if value == Some("parallel") => (
                "`mode` is no field of a template any more: the steps run one after the other",
                "write `\"parallel\": true` to run them at once",
                absent("parallel").then(|| instead("\"parallel\": true")),
            ),
            "mode" => (
                "`mode` is no field of a template any more: the steps run one after the other",
                "remove it, or write `\"parallel\": true` to run them at once",
                matches!(value, Some("sequence" | "sequential" | "serial"))
                    .then(gone)
                    .flatten(),
            ),
            "command" => (
                "there is no field `command`: the first word of `template` is the program",
                "write the program and its words as one text in `template`",
                self.one_line(node, entry),
            ),
            _ => return None,
        };
        let finding = Diagnostic::new(&codes::LEGACY_FIELD, key_span(entry), message);
        Some(finding.help(help).fix_if(fix))
    }

    /// The program and its words, which stand in `command` and `args`, as one command.
    fn one_line(&self, node: Node<'a>, command: &Entry<'a>) -> Option<Fix> {
        self.raw?;
        let entries = node.map()?;
        if node.get("template").is_some() {
            return None;
        }
        let mut line = super::words::word(self.text(command.value)?.text());
        let mut edits = Vec::new();
        if let Some(at) = entries.iter().position(|entry| entry.is("args")) {
            let Kind::List(words) = entries.get(at)?.value.kind else {
                return None;
            };
            for word in words {
                line.push(' ');
                line.push_str(&super::words::word(self.text(*word)?.text()));
            }
            edits.push(Edit {
                span: without(entries, at)?,
                text: String::new(),
            });
        }
        edits.push(Edit {
            span: whole(command),
            text: format!("\"template\": {}", json_string(&line)),
        });
        Some(Fix {
            applicability: Applicability::Unsafe,
            message: "write one command".to_string(),
            edits,
        })
    }
}
