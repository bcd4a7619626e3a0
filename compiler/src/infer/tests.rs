//! Types of whole recipes, and that finding them ends.

use super::types::{Kind, Shape, Type, Unequal, Words, never_equal, of_literal};
use crate::Options;
use crate::diagnostic::Report;
use crate::ir::{Equality, Literal};
use crate::source::Sources;
use crate::world::Texts;
use std::rc::Rc;

fn report(files: &[(&str, &str)]) -> Report {
    let texts = files
        .iter()
        .map(|(name, text)| ((*name).to_string(), text.as_bytes().to_vec()))
        .collect();
    let world = Texts { texts };
    crate::check(
        &world,
        files[0].0,
        Options::default(),
        &mut Sources::default(),
    )
    .report
}

#[test]
fn joining_loses_detail_and_nothing_else() {
    let mut text = Type::exactly("a\n");
    text.join(&Type::of(Kind::Text(Words::Lines)));
    assert_eq!(text, Type::of(Kind::Text(Words::Lines)));
    text.join(&Type::exactly("b"));
    text.join(&Type::text());
    assert_eq!(text, Type::text());
    text.join(&Type::unknown());
    assert_eq!(text, Type::unknown());
    let mut both = of_literal(&Literal::Int(1));
    both.join(&of_literal(&Literal::Text("x".to_string())));
    assert_eq!(both.kinds().map(<[Kind]>::len), Some(2));
}

#[test]
fn what_can_be_equal_depends_on_the_policy() {
    let list = Type::list(Type::unknown());
    let number = Type::of(Kind::Number);
    let map = Type::of(Kind::Map(Rc::new(Shape::default())));
    let lines = Type::of(Kind::Text(Words::Lines));
    let flag = Type::of(Kind::Bool);
    use Equality::{ByType, NumbersFirst};
    use Unequal::{Kinds, Newline};
    for (a, b, equality, expected) in [
        (&list, &Type::exactly("[]"), NumbersFirst, None),
        (&list, &Type::exactly("[]"), ByType, Some(Kinds)),
        (&list, &Type::exactly("x"), NumbersFirst, Some(Kinds)),
        (&number, &Type::exactly("5"), NumbersFirst, None),
        (&number, &Type::exactly(" 5 "), ByType, None),
        (&number, &Type::exactly("five"), NumbersFirst, Some(Kinds)),
        (&number, &Type::exactly("five"), ByType, Some(Kinds)),
        (&number, &Type::text(), ByType, None),
        (&map, &list, NumbersFirst, Some(Kinds)),
        (&flag, &Type::exactly("True"), ByType, None),
        (&flag, &Type::exactly("True"), NumbersFirst, Some(Kinds)),
        (&flag, &number, ByType, Some(Kinds)),
        (&lines, &Type::exactly("ok"), NumbersFirst, Some(Newline)),
        (&lines, &Type::exactly("5"), NumbersFirst, None),
        (&lines, &Type::exactly("5"), ByType, Some(Newline)),
        (&lines, &Type::exactly(""), NumbersFirst, None),
        (&lines, &number, NumbersFirst, None),
        (&lines, &Type::unknown(), NumbersFirst, None),
    ] {
        assert_eq!(never_equal(a, b, equality), expected, "{a:?} {b:?}");
        assert_eq!(never_equal(b, a, equality), expected, "{b:?} {a:?}");
    }
}

#[test]
fn recipes_that_hold_each_other_come_to_rest() {
    let mut files: Vec<(String, String)> = Vec::new();
    for number in 0..12 {
        let mut text = format!("# rrc: dialect = amplihack\nname: r{number}\nsteps:\n");
        for next in 0..12 {
            text.push_str(&format!(
                "  - id: s{number}-{next}\n    recipe: r{next}\n    output: o{next}\n    \
                 condition: go\n    context: {{a: {{b: \"{{{{o{next}}}}}\", c: [\"{{{{a}}}}\"]}}}}\n"
            ));
        }
        files.push((format!("r{number}.yaml"), text));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    report(&files);
}

#[test]
fn a_value_that_holds_itself_comes_to_rest() {
    let fields: String = (0..40).map(|n| format!("f{n}: \"{{{{x}}}}\", ")).collect();
    let text = format!(
        "# rrc: dialect = amplifier\nname: t\ndescription: d\nversion: 1.0.0\ncontext: {{x: {{a: 1}}}}\n\
         steps:\n- {{id: s, type: bash, while_condition: \"{{{{x}}}}\", command: ls, \
         update_context: {{x: {{{fields}}}}}}}\n"
    );
    report(&[("t.yaml", &text)]);
}
