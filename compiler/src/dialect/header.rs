//! What a recipe says about itself: its name, what it is for, and which version it is.

use super::recipe::Options;
use super::text::Lower;
use crate::codes;
use crate::diagnostic::{Diagnostic, Fix};
use crate::doc::Text as Written;
use crate::doc::fields::Fields;

impl Lower<'_> {
    /// The name, and what else a recipe must say about itself.
    pub(super) fn header(&mut self, fields: &Fields<'_>, options: Options) -> String {
        fields.require("name", self.report);
        let name = fields.text("name", self.report);
        if let Some(name) = name
            && name.text().trim().is_empty()
        {
            self.report.add(
                Diagnostic::new(&codes::BAD_VALUE, name.whole(), "`name` is blank")
                    .help("give the recipe a name"),
            );
        }
        if options.deliberate {
            for field in self.dialect.required {
                fields.require(field, self.report);
            }
        }
        let about = fields.text("description", self.report);
        if options.deliberate && !self.dialect.required.is_empty() {
            if let Some(about) = about
                && about.text().trim().is_empty()
            {
                self.report.add(
                    Diagnostic::new(&codes::BAD_VALUE, about.whole(), "`description` is blank")
                        .help("say what the recipe does, in a sentence"),
                );
            }
            if let Some(name) = name {
                self.recipe_name(name);
            }
        }
        if let Some(version) = fields.text("version", self.report)
            && options.deliberate
            && self.dialect.required.contains(&"version")
        {
            self.version(version);
        }
        name.map(|name| name.text().to_string()).unwrap_or_default()
    }

    /// What a runner that is strict about recipes takes as the name of one.
    fn recipe_name(&mut self, name: Written<'_>) {
        let text = name.text().trim();
        let fits = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() || text.chars().all(fits) {
            return;
        }
        let parts = text
            .split(|c: char| !fits(c))
            .filter(|part| !part.is_empty());
        let plain = parts.collect::<Vec<_>>().join("-");
        let message =
            format!("`{text}` is no name of a recipe: letters, digits, `-` and `_` make one");
        let mut finding = Diagnostic::new(&codes::BAD_VALUE, name.inner(), message);
        if !plain.is_empty() {
            // The recipe may say its name to somebody.
            let message = format!("write `{plain}`");
            finding = finding.fix(Fix::unsafe_(message, name.whole(), plain));
        }
        self.report
            .add(finding.help("put more words about it into `description`"));
    }

    fn version(&mut self, version: Written<'_>) {
        let text = version.text();
        let parts: Vec<&str> = text.split('.').collect();
        let number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if parts.len() == 3 && parts.iter().all(number) {
            return;
        }
        let message = format!("`version` must be three numbers, not `{text}`");
        let mut finding = Diagnostic::new(&codes::BAD_VALUE, version.inner(), message)
            .help("write it as `\"1.0.0\"`");
        if parts.len() < 3 && parts.iter().all(number) {
            let padded = format!("{text}{}", ".0".repeat(3 - parts.len()));
            finding = finding.fix(Fix::safe(
                format!("write `{padded}`"),
                version.whole(),
                format!("\"{padded}\""),
            ));
        }
        self.report.add(finding);
    }
}
