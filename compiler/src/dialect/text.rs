//! Holes, from written text to the IR.
//!
//! `expr` and `shell` speak of byte ranges of decoded text; here those become spans of the file,
//! and paths become reads with the dialect's policies written out.

use super::blocks::{self, Tags};
use super::halves::{self, Suspect};
use super::plain::Plain;
use super::variables::shell_names;
use super::{Dialect, counted, portable, printed, strange};
use crate::codes::{self, Severity};
use crate::diagnostic::{Diagnostic, Edit, Fix, Report};
use crate::doc::Text as Written;
use crate::expr::{self, Filter, Hole, Path, Piece, SegmentKind};
use crate::ir::{
    Expr, ExprKind, Form, Literal, Mention, Part, Script, ScriptPart, ScriptVar, Text, VarForm,
};
use crate::shell;
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

/// What lowering one file needs everywhere.
pub struct Lower<'r> {
    pub dialect: &'static Dialect,
    pub report: &'r mut Report,
    /// Paste values into shell text, as one runner does.
    pub raw: bool,
    /// Milliseconds for steps that say nothing.
    pub timeout_ms: Option<u64>,
    /// Is the kind of a step read off its fields when `type` is omitted?
    pub infer_kind: bool,
    /// Is what an agent has changed staged when its step says nothing?
    pub stages_changes: bool,
    /// What names mean that stand for facts about the recipe.
    pub facts: Vec<(&'static str, Literal)>,
    /// The step that is being read and its number, where texts may ask for it.
    pub step: Option<(String, usize)>,
    /// What the recipe reads that only the runner can give.
    pub given: Vec<&'static str>,
    /// Holes whose values the author wants pasted into shell text: the variable, and the hole.
    pub pasted: Vec<(String, Span)>,
    /// The same where the whole file is pasted.
    pub all_pasted: Vec<(Path, Span)>,
    /// Values that are names of commands: the path, and the hole.
    pub commands: Vec<(Path, Span)>,
    /// Holes of scripts that stand in single quotes, where another runner fills them otherwise.
    pub quoted: Vec<Span>,
    /// Texts whose holes may have lost braces.
    pub suspects: Vec<Suspect>,
    /// Blocks of another template language.
    pub tags: Vec<Tags>,
    /// The lists of the recipe run as graphs.
    pub graph: bool,
    /// Variables whose values must not be shown.
    pub secrets: FxHashSet<String>,
    /// Variables that do not hold any text: all but what agents say and what is to be given.
    pub tame: FxHashSet<String>,
    /// The step reads the JSON that its script prints.
    pub prints_json: bool,
    /// Conditions that are right, by their text: half of all conditions stand in their file before.
    pub conditions: FxHashMap<Box<str>, Rc<expr::Expr>>,
}

impl Lower<'_> {
    /// Reports what was found about a text, at its place in the file.
    pub(super) fn problem(&mut self, written: Written<'_>, problem: expr::Problem) {
        let mut finding =
            Diagnostic::new(problem.code, written.span(problem.range), problem.message);
        finding.help = problem.help;
        finding.fix = problem.fix.and_then(|fix| {
            let edit = written.edit(fix.range, &fix.text)?;
            let applicability = fix.applicability;
            Some(Fix {
                applicability,
                message: fix.message,
                edits: vec![edit],
            })
        });
        self.report.add(finding);
    }

    /// Text with holes.
    pub fn text(&mut self, written: Written<'_>) -> Text {
        let holes = expr::scan(written.text());
        halves::suspect(written, &holes.unclosed, true, &mut self.suspects);
        blocks::tags(written, &mut self.tags);
        self.holes(written, holes.problems);
        let mut parts: Vec<Part> = Vec::with_capacity(holes.pieces.len());
        for piece in holes.pieces {
            match piece {
                Piece::Literal(range) => match parts.last_mut() {
                    Some(Part::Literal(before)) => before.push_str(&written.text()[range]),
                    _ => parts.push(Part::Literal(written.text()[range].to_string())),
                },
                Piece::Hole(hole) => {
                    let form = match &hole.filter {
                        Some((Filter::Json, _)) => Form::Json,
                        Some((_, at)) => strange::idle_filter(written, at.clone(), self.report),
                        None => Form::Plain,
                    };
                    let expr = self.path(written, &hole.path);
                    parts.push(Part::Value { expr, form });
                }
            }
        }
        Text {
            span: written.whole(),
            parts,
        }
    }

    /// A value: one hole keeps its type, everything else is text.
    pub fn value(&mut self, written: Written<'_>) -> Expr {
        if let Some(hole) = expr::whole_hole(written.text())
            && hole.filter.is_none()
        {
            return self.path(written, &hole.path);
        }
        let text = self.text(written);
        match text.as_literal() {
            Some(literal) => Literal::Text(literal.to_string()).expr(text.span),
            None => Expr {
                span: text.span,
                kind: ExprKind::Text(text),
            },
        }
    }

    pub(super) fn path(&self, written: Written<'_>, path: &Path) -> Expr {
        let missing = self.dialect.missing;
        let first = path.segments.first();
        let range = first.map_or(&path.range, |segment| &segment.range);
        let mut read = self.name(path.root(), written.span(range.clone()));
        for segment in path.segments.iter().skip(1) {
            let span = written.span(segment.range.clone());
            let of = Box::new(read);
            let kind = match &segment.kind {
                SegmentKind::Name(name) => ExprKind::Field {
                    of,
                    name: name.clone(),
                    missing,
                },
                SegmentKind::Index(at) => ExprKind::Index {
                    of,
                    at: Box::new(Literal::Int(*at).expr(span)),
                    missing,
                },
            };
            read = Expr { span, kind };
        }
        read
    }

    pub(super) fn name(&self, name: &str, span: Span) -> Expr {
        let fact = match name {
            "step" => self.step_fact(),
            _ => self.fact(name).cloned(),
        };
        match fact {
            Some(fact) => fact.expr(span),
            None => {
                let kind = ExprKind::Var {
                    name: name.to_string(),
                    missing: self.dialect.missing,
                };
                Expr { span, kind }
            }
        }
    }

    fn fact(&self, name: &str) -> Option<&Literal> {
        let fact = self.facts.iter().find(|(known, _)| *known == name);
        fact.map(|(_, fact)| fact)
    }

    /// Which step it is, for texts that ask.
    fn step_fact(&self) -> Option<Literal> {
        let (id, index) = self.step.as_ref()?;
        let mut fact = vec![
            ("id".to_string(), Literal::Text(id.clone())),
            ("index".to_string(), Literal::Int(*index as i64)),
        ];
        if let Some(Literal::Map(stage)) = self.fact("stage") {
            let name = stage.iter().find(|(name, _)| name == "name");
            fact.extend(name.map(|(_, name)| ("stage".to_string(), name.clone())));
        }
        Some(Literal::Map(fact))
    }

    /// What a program is called with can be seen by everybody on the machine.
    fn secret_in_argv(&mut self, written: Written<'_>, hole: &Hole, position: &shell::Position) {
        let SegmentKind::Name(name) = &hole.path.segments[0].kind else {
            return;
        };
        if !self.secrets.contains(name) {
            return;
        }
        let program = position.command.as_deref().unwrap_or_default();
        let argument = position.place == shell::Place::Argument
            && !program.is_empty()
            && !shell::is_builtin(program);
        let (message, help) = match position.reach {
            shell::Use::Paste => (
                format!(
                    "`{name}` is secret, and becomes part of the text that the shell is called with"
                ),
                match position.quote {
                    // Nothing is filled in there by the shell, so it must be there before.
                    shell::Quote::QuotedHeredoc => {
                        "take the quotes off the delimiter of the heredoc, or pass it by `env`"
                            .to_string()
                    }
                    _ => format!("write `{{{{{name}}}}}`: it reaches the script unseen"),
                },
            ),
            _ if argument => (
                format!(
                    "`{name}` is secret, and becomes an argument of `{program}`, which others can see"
                ),
                "pass it by `env`, by `stdin` or in a file that only you can read".to_string(),
            ),
            _ => return,
        };
        let span = written.span(hole.path.segments[0].range.clone());
        self.report
            .add(Diagnostic::new(&codes::SECRET_IN_ARGV, span, message).help(help));
    }

    /// A plain shell prints the `$` of `$'…'`, and the value stands between two of them.
    fn no_dollar_quotes(&mut self, shell: &str, written: Written<'_>, hole: &Hole) {
        let text = &written.text()[hole.range.clone()];
        let message =
            format!("no value can go safely where `{text}` stands: `{shell}` may not know `$'…'`");
        let span = written.span(hole.range.clone());
        self.report.add(
            Diagnostic::new(&codes::NO_SAFE_FORM, span, message)
                .help("write it in double quotes, or let bash run the text"),
        );
    }

    /// Shell text: its holes become parameters of the script.
    pub fn script(&mut self, written: Written<'_>) -> Script {
        self.script_for("bash", written)
    }

    pub fn script_for(&mut self, shell: &str, written: Written<'_>) -> Script {
        let scanned = expr::scan(written.text());
        halves::suspect(written, &scanned.unclosed, false, &mut self.suspects);
        self.holes(written, scanned.problems);
        counted::check(written, self.report);
        let mentions = shell::mentions(written.text());
        let mut script = Script {
            span: written.whole(),
            parts: Vec::new(),
            vars: Vec::new(),
            mentions: mentions
                .into_iter()
                .map(|mention| Mention {
                    name: mention.name,
                    span: written.span(mention.range),
                    how: mention.how,
                })
                .collect(),
            nounset: shell::is_nounset(written.text()),
        };
        if self.raw {
            script.parts = self.all_pasted(written, scanned.pieces);
            return script;
        }
        let (plain, holes) = Plain::of(written.text(), scanned.pieces);
        for hole in &holes {
            if let Some((Filter::Raw, _)) = hole.filter
                && let SegmentKind::Name(name) = &hole.path.segments[0].kind
            {
                let span = written.span(hole.range.clone());
                self.pasted.push((name.clone(), span));
            }
        }
        let mut at: Vec<shell::HoleAt> = Vec::with_capacity(holes.len());
        let mut firsts: SmallVec<[usize; 8]> = SmallVec::new();
        let places = plain.holes.iter().zip(&holes);
        for ((range, hole), (name, first)) in places.zip(shell_names(&holes)) {
            firsts.push(first);
            at.push(shell::HoleAt {
                range: range.clone(),
                name,
                filter: match hole.filter {
                    None => shell::Filter::None,
                    Some((Filter::Json, _)) => shell::Filter::Json,
                    Some((Filter::Raw, _)) => shell::Filter::Raw,
                    Some((Filter::Words, _)) => shell::Filter::Words,
                },
            });
        }
        let compiled = shell::compile(&plain.text, &at);
        let broken = self.broken_script(written, &plain, &at);
        let mut lost = broken.is_some();
        for problem in compiled.problems {
            // Where the text cannot be read any further, all holes behind that place are lost.
            let is_lost = compiled.positions[problem.hole].is_lost();
            let is_behind = broken.is_some_and(|place| place < at[problem.hole].range.start);
            let said = is_lost && std::mem::replace(&mut lost, true);
            if !is_behind && !said {
                if problem.code == &codes::VALUE_AS_COMMAND {
                    let (hole, range) = (&holes[problem.hole], problem.range.clone());
                    let span = written.span(plain.written(range));
                    self.commands.push((hole.path.clone(), span));
                }
                self.shell_problem(written, &plain, problem);
            }
        }
        if self.prints_json {
            let positions = &compiled.positions;
            printed::check(written, &plain, &holes, positions, &self.tame, self.report);
        }
        portable::quoted(written, &holes, &compiled.positions, &mut self.quoted);
        for (hole, position) in holes.iter().zip(&compiled.positions) {
            self.secret_in_argv(written, hole, position);
            if matches!(shell, "sh" | "dash") && position.quote == shell::Quote::AnsiC {
                self.no_dollar_quotes(shell, written, hole);
            }
        }
        let value = |hole: &Hole| self.hole(written, hole);
        script.vars.reserve_exact(holes.len());
        // Which variable the first hole of each path is, as text and as a number.
        let mut known: SmallVec<[[Option<usize>; 2]; 8]> = smallvec![[None; 2]; holes.len()];
        let places = holes.iter().zip(at).zip(firsts);
        for (((hole, at), first), position) in places.zip(&compiled.positions) {
            let (name, form) = match position.reach {
                shell::Use::Env => (at.name, VarForm::Text),
                shell::Use::Integer { or_empty } => {
                    let form = if or_empty {
                        VarForm::IntegerOrEmpty
                    } else {
                        VarForm::Integer
                    };
                    (shell::integer_name(&at.name), form)
                }
                shell::Use::Paste
                | shell::Use::Words
                | shell::Use::Unused
                | shell::Use::Refused => continue,
            };
            let path = shell::names_file(&plain.text, &at.range, position)
                .then(|| written.span(hole.range.clone()));
            let known = &mut known[first][usize::from(form != VarForm::Text)];
            match known.and_then(|known| script.vars.get_mut(known)) {
                Some(var) => {
                    // The stricter form holds for both places.
                    if form == VarForm::Integer {
                        var.form = form;
                    }
                    var.path = var.path.or(path);
                }
                None => {
                    *known = Some(script.vars.len());
                    script.vars.push(ScriptVar {
                        name,
                        value: value(hole),
                        form,
                        path,
                    });
                }
            }
        }
        let marks: Vec<ScriptPart> = compiled
            .heredocs
            .into_iter()
            .map(|heredoc| {
                let body = compiled.pieces[heredoc.body].iter().cloned();
                ScriptPart::Delimiter {
                    base: heredoc.delimiter,
                    body: body
                        .filter_map(|piece| part(piece, |hole| value(&holes[hole])))
                        .collect(),
                }
            })
            .collect();
        script.parts.reserve_exact(compiled.pieces.len());
        for piece in compiled.pieces {
            script.parts.extend(match piece {
                shell::Piece::Delimiter(number) => marks.get(number).cloned(),
                other => part(other, |hole| value(&holes[hole])),
            });
        }
        script
    }

    /// Says what the shell cannot read, and where it gives up.
    fn broken_script(
        &mut self,
        written: Written<'_>,
        plain: &Plain<'_>,
        holes: &[shell::HoleAt],
    ) -> Option<usize> {
        let broken = shell::broken(&plain.text, holes)?;
        let start = broken.range.start;
        let place = |range| written.span(plain.written(range));
        let mut finding =
            Diagnostic::new(&codes::BROKEN_SCRIPT, place(broken.range), broken.message)
                .help(broken.help);
        if let Some(opened) = broken.opened {
            finding = finding.label(place(opened), "it begins here");
        }
        if broken.harmless {
            finding = finding.severity(Severity::Warning);
        }
        self.report.add(finding);
        (!broken.harmless).then_some(start)
    }

    fn shell_problem(&mut self, written: Written<'_>, plain: &Plain<'_>, problem: shell::Problem) {
        let span = written.span(plain.written(problem.range));
        let mut finding = Diagnostic::new(problem.code, span, problem.message).help(problem.help);
        finding.fix = problem.fix.and_then(|repair| {
            let edits: Option<Vec<Edit>> = repair
                .edits
                .into_iter()
                .map(|(range, text)| written.edit(plain.written(range), &text))
                .collect();
            Some(Fix {
                applicability: repair.applicability,
                message: repair.message,
                edits: edits?,
            })
        });
        self.report.add(finding);
    }

    pub(super) fn hole(&self, written: Written<'_>, hole: &Hole) -> Expr {
        let value = self.path(written, &hole.path);
        match hole.filter {
            Some((Filter::Json, _)) => {
                let span = value.span;
                let parts = vec![Part::Value {
                    expr: value,
                    form: Form::Json,
                }];
                Expr {
                    span,
                    kind: ExprKind::Text(Text { span, parts }),
                }
            }
            _ => value,
        }
    }
}

/// What a piece of shell text is in a script; not the end mark of a heredoc, which has pieces itself.
fn part(piece: shell::Piece, value: impl Fn(usize) -> Expr) -> Option<ScriptPart> {
    match piece {
        shell::Piece::Text(text) => Some(ScriptPart::Source(text)),
        shell::Piece::Paste(hole) => Some(ScriptPart::Paste(value(hole))),
        shell::Piece::Words(hole) => Some(ScriptPart::Words(value(hole))),
        shell::Piece::Delimiter(_) => None,
    }
}
