//! Which model an agent is asked with.

use super::fields::PREFERENCE;
use super::text::Lower;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::doc::fields::Fields;

impl Lower<'_> {
    /// Three ways to choose a model, of which a step takes one.
    pub fn one_model(&mut self, fields: &Fields<'_>) {
        let ways = ["provider", "model", "provider_preferences", "model_role"];
        let used: Vec<&str> = ways.into_iter().filter(|field| fields.has(field)).collect();
        // A provider and its model are one way.
        let rest = used
            .iter()
            .filter(|field| !["provider", "model"].contains(field));
        let count =
            rest.count() + usize::from(used.iter().any(|f| *f == "provider" || *f == "model"));
        if let (true, Some(last), Some(first)) = (count > 1, used.last(), used.first()) {
            let span = fields.key_span(last).unwrap_or_else(|| fields.head());
            let message = format!("`{first}` and `{last}` both choose a model");
            self.report.add(
                Diagnostic::new(&codes::EXCLUSIVE_FIELDS, span, message)
                    .help("keep one way of choosing it"),
            );
        }
    }

    /// The model that is preferred to all others.
    pub fn preferred_model(&mut self, fields: &Fields<'_>) -> Option<String> {
        let mut preferred = None;
        for one in fields.list("provider_preferences", self.report)? {
            let fields = Fields::new(&PREFERENCE, *one, self.dialect.schema, self.report);
            if !fields.is_map() {
                continue;
            }
            // A class of models is served by whoever has one.
            if !fields.has("class") {
                fields.require("provider", self.report);
            }
            fields.check(&["provider", "class"], self.report);
            let model = fields.text("model", self.report);
            preferred = preferred.or(model.map(|model| model.text().to_string()));
        }
        preferred
    }
}
