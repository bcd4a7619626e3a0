//! Variables: where they are set, and where a text reads them.

use super::touches;
use super::tree::{self, Part};
use crate::dialect::Dialect;
use crate::dialect::fields::RECIPE;
use crate::doc::shape::{Field, Shape, Type};
use crate::doc::{Node as Doc, Text};
use crate::expr::{self, ExprKind, Path, Piece};
use crate::ir::{Literal, Node, Program, Read, Step, visit};
use crate::source::Span;

/// Fields whose text is a condition.
const CONDITIONS: [&str; 3] = ["condition", "while_condition", "break_when"];

pub fn is_condition(field: &Field) -> bool {
    CONDITIONS.contains(&field.name)
}

/// A place that gives a variable a value.
pub struct Setting<'a> {
    pub name: &'a str,
    pub span: Span,
    pub how: How<'a>,
    /// The id of the step that sets it.
    pub step: &'a str,
}

#[derive(PartialEq)]
pub enum How<'a> {
    Input(&'a Literal),
    Output,
    Stderr,
    ExitCode,
    Item,
    Collected,
    Updated,
}

/// Everything that sets a variable that the main recipe may read, in the order of the file.
pub fn settings(program: &Program) -> Vec<Setting<'_>> {
    let mut found = Vec::new();
    let mut seen = vec![false; program.units.len()];
    unit(program, 0, &mut seen, &mut found);
    found
}

fn unit<'a>(program: &'a Program, number: usize, seen: &mut [bool], found: &mut Vec<Setting<'a>>) {
    let Some(unit_) = program.units.get(number) else {
        return;
    };
    if std::mem::replace(&mut seen[number], true) {
        return;
    }
    found.extend(unit_.inputs.iter().map(|input| Setting {
        name: &input.name,
        span: input.span,
        how: How::Input(&input.default),
        step: "",
    }));
    let mut called = Vec::new();
    for step in &unit_.steps {
        visit::steps(step, &mut |step| set_by(step, found));
        visit::calls(step, &mut |call| {
            called.extend(call.target.filter(|_| call.spreads));
        });
    }
    for target in called {
        unit(program, target, seen, found);
    }
}

fn set_by<'a>(step: &'a Step, found: &mut Vec<Setting<'a>>) {
    let mut add = |bind: &'a crate::ir::Bind, how| {
        found.push(Setting {
            name: &bind.name,
            span: bind.span,
            how,
            step: &step.id,
        });
    };
    for bind in &step.bind {
        add(
            bind,
            match bind.read {
                Read::Value | Read::Reply => How::Output,
                Read::ExitCode => How::ExitCode,
                Read::Stderr => How::Stderr,
            },
        );
    }
    match &step.node {
        Node::Each(each) => {
            add(&each.item, How::Item);
            each.collect
                .iter()
                .for_each(|bind| add(bind, How::Collected));
            each.last.iter().for_each(|bind| add(bind, How::Output));
        }
        Node::While(body) => {
            let updates = body.update.iter();
            updates.for_each(|(bind, _)| add(bind, How::Updated));
            body.collect
                .iter()
                .for_each(|bind| add(bind, How::Collected));
            body.last.iter().for_each(|bind| add(bind, How::Output));
        }
        Node::Seq(_) | Node::Par { .. } | Node::Graph(_) | Node::Act(_) => {}
    }
}

/// Whether a value can have been set when the steps `around` a place run; outside of all steps
/// everything may have been.
pub fn is_visible(set: &Setting<'_>, outline: &[Part<'_>], around: &[u32]) -> bool {
    let Some(inner) = around.last() else {
        return true;
    };
    let own = outline
        .first()
        .is_some_and(|part| part.node.span.source == set.span.source);
    if !own || matches!(set.how, How::Input(_)) {
        return true;
    }
    let home = tree::around(outline, set.span.start);
    let inside = home.last().is_some_and(|home| around.contains(home));
    match set.how {
        How::Item => inside,
        How::Updated if inside => true,
        _ => !inside && set.span.start < *inner,
    }
}

/// A name that a text reads.
pub struct Use {
    pub name: String,
    pub span: Span,
}

/// The name at an offset of the file, in the text of a field.
pub fn at(
    owner: &'static Shape,
    field: &'static Field,
    text: Text<'_>,
    dialect: &Dialect,
    offset: u32,
) -> Option<Use> {
    let mut found = None;
    read_by(owner, field, text, dialect, &mut |used| {
        if touches(used.span, offset) {
            found = Some(used);
        }
    });
    found
}

/// Every name that the file reads, in the order of the text.
pub fn uses(root: Doc<'_>, dialect: &Dialect, visit: &mut dyn FnMut(Use)) {
    tree::scalars(root, &mut |owner, field, text| {
        read_by(owner, field, text, dialect, visit);
    });
}

fn read_by(
    owner: &'static Shape,
    field: &'static Field,
    text: Text<'_>,
    dialect: &Dialect,
    visit: &mut dyn FnMut(Use),
) {
    // What a recipe says about itself is taken as it is written, and so are names.
    if std::ptr::eq(owner, &RECIPE) || matches!(field.ty, Type::Name | Type::Choice(_)) {
        return;
    }
    let root = |path: &Path| {
        let first = path.segments.first()?;
        Some(Use {
            name: path.root().to_string(),
            span: text.span(first.range.clone()),
        })
    };
    if !is_condition(field) {
        for piece in expr::scan(text.text()).pieces {
            if let Piece::Hole(hole) = piece {
                root(&hole.path).into_iter().for_each(&mut *visit);
            }
        }
        return;
    }
    let (tree, _) = expr::parse(text.text(), dialect.bare_words);
    if let Some(tree) = tree {
        tree.walk(&mut |expr| match &expr.kind {
            ExprKind::Hole(path) => root(path).into_iter().for_each(&mut *visit),
            ExprKind::Name(name) => visit(Use {
                name: name.clone(),
                span: text.span(expr.range.clone()),
            }),
            _ => {}
        });
    }
}
