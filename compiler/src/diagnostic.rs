//! What the compiler has to say to the user, as plain data.
//!
//! Rendering is the business of `report/`. Messages are lower case, present tense, without a full
//! stop, with the user's own words in backticks; `help` says what to do.

use crate::codes::{Code, Severity};
use crate::source::Span;
pub use crate::spelling::{is_plural, is_slip, is_sure_slip, nearest, plurals};
use smallvec::SmallVec;

/// A second place that explains the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    pub span: Span,
    pub message: String,
}

/// How far a fix can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applicability {
    /// Keeps the meaning the author plainly had; applied by `--fix`.
    Safe,
    /// Probably right; applied by `--unsafe-fixes`.
    Unsafe,
    /// Only shown.
    Display,
}

impl Applicability {
    pub fn word(self) -> &'static str {
        match self {
            Applicability::Safe => "safe",
            Applicability::Unsafe => "unsafe",
            Applicability::Display => "display",
        }
    }
}

/// Replaces the bytes of `span` by `text`.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    pub applicability: Applicability,
    pub message: String,
    pub edits: Vec<Edit>,
}

impl Fix {
    pub fn safe(message: impl Into<String>, span: Span, text: impl Into<String>) -> Fix {
        Fix::one(Applicability::Safe, message, span, text)
    }

    pub fn unsafe_(message: impl Into<String>, span: Span, text: impl Into<String>) -> Fix {
        Fix::one(Applicability::Unsafe, message, span, text)
    }

    /// Writes one name for another that is near it. Only what is a slip for sure is safe: of two
    /// names like `part1` and `part2` either may be meant.
    pub fn rename(written: &str, near: &str, span: Span) -> Fix {
        let message = format!("write `{near}`");
        match is_sure_slip(written, near) {
            true => Fix::safe(message, span, near),
            false => Fix::unsafe_(message, span, near),
        }
    }

    fn one(
        applicability: Applicability,
        message: impl Into<String>,
        span: Span,
        text: impl Into<String>,
    ) -> Fix {
        Fix {
            applicability,
            message: message.into(),
            edits: vec![Edit {
                span,
                text: text.into(),
            }],
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    pub code: &'static Code,
    pub severity: Severity,
    pub message: String,
    pub span: Span,
    pub labels: SmallVec<[Label; 1]>,
    pub help: Option<String>,
    pub fix: Option<Fix>,
    /// The names that are wrong: what only follows from that is no second mistake.
    pub about: SmallVec<[Box<str>; 1]>,
    /// The name that was meant.
    pub meant: Option<Box<str>>,
}

impl Diagnostic {
    pub fn new(code: &'static Code, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity: code.severity,
            message: message.into(),
            span,
            labels: SmallVec::new(),
            help: None,
            fix: None,
            about: SmallVec::new(),
            meant: None,
        }
    }

    /// Names a name that is wrong.
    pub fn about(mut self, name: &str) -> Diagnostic {
        self.about.push(name.into());
        self
    }

    pub fn did_you_mean(mut self, name: &str) -> Diagnostic {
        self.meant = Some(name.into());
        self.help(format!("did you mean `{name}`?"))
    }

    /// The same finding where a dialect takes it more lightly or more seriously than usual.
    pub fn severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }

    pub fn label(mut self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.labels.push(Label {
            span,
            message: message.into(),
        });
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    pub fn fix(mut self, fix: Fix) -> Diagnostic {
        self.fix = Some(fix);
        self
    }

    /// The same, where there may be none.
    pub fn fix_if(mut self, fix: Option<Fix>) -> Diagnostic {
        self.fix = fix;
        self
    }

    /// Every place that it speaks of, its own first.
    pub fn spans_mut(&mut self) -> impl Iterator<Item = &mut Span> {
        let labels = self.labels.iter_mut().map(|label| &mut label.span);
        let edits = self.fix.iter_mut().flat_map(|fix| &mut fix.edits);
        let edits = edits.map(|edit| &mut edit.span);
        std::iter::once(&mut self.span).chain(labels).chain(edits)
    }
}

/// What has been found so far. Phases take it by `&mut` and never fail.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub findings: Vec<Diagnostic>,
}

impl Report {
    pub fn add(&mut self, diagnostic: Diagnostic) {
        self.findings.push(diagnostic);
    }

    pub fn has_errors(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Error)
    }

    /// Puts findings in the order of the text and drops what was said twice, so that the order
    /// in which phases ran cannot be seen.
    pub fn settle(&mut self) {
        self.findings.sort_by(|a, b| {
            (a.span, a.code.code, &a.message).cmp(&(b.span, b.code.code, &b.message))
        });
        self.findings.dedup();
    }
}
