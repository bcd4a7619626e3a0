//! The laws of conditions, and what is said about those that break them.

use super::BareWords::{Text, Variables};
use super::*;
use crate::codes::{self, Severity};
use crate::diagnostic::Applicability;
use crate::dice::Dice;

/// A tree without its places, so that two texts can be compared.
fn placeless(mut expr: Expr) -> Expr {
    fn clear(expr: &mut Expr) {
        expr.range = 0..0;
        match &mut expr.kind {
            ExprKind::Call { name, .. }
            | ExprKind::Method { name, .. }
            | ExprKind::Unknown { name, .. }
            | ExprKind::Field { name, .. } => *name = 0..0,
            ExprKind::Hole(path) => {
                path.range = 0..0;
                for segment in &mut path.segments {
                    segment.range = 0..0;
                }
            }
            _ => {}
        }
        for child in expr.children_mut() {
            clear(child);
        }
    }
    clear(&mut expr);
    expr
}

fn tree(text: &str, bare: BareWords) -> Expr {
    let (tree, problems) = parse(text, bare);
    assert_eq!(problems, [], "{text}");
    tree.expect("a condition without problems has a tree")
}

fn canonical(text: &str, bare: BareWords) -> String {
    print(&tree(text, bare))
}

fn only_problem(text: &str, bare: BareWords) -> Problem {
    let (_, mut problems) = parse(text, bare);
    assert_eq!(problems.len(), 1, "{text}: {problems:?}");
    problems.remove(0)
}

/// What the finding covers, and the text after its fix.
fn said(text: &str, bare: BareWords) -> (String, Option<String>) {
    let problem = only_problem(text, bare);
    let fixed = problem.fix.map(|fix| {
        let mut fixed = text.to_string();
        fixed.replace_range(fix.range, &fix.text);
        fixed
    });
    (text[problem.range].to_string(), fixed)
}

#[test]
fn a_blank_condition_is_true() {
    for text in ["", "  \n"] {
        assert_eq!(tree(text, Text).kind, ExprKind::Bool(true));
    }
}

#[test]
fn precedence_shows_in_the_canonical_form() {
    for (text, expected) in [
        ("a or b and c", "a or b and c"),
        ("(a or b) and c", "(a or b) and c"),
        ("not a == b", "not a == b"),
        ("(not a) == b", "(not a) == b"),
        ("!a && !(b || c)", "not a and not (b or c)"),
        ("!!a", "not not a"),
        ("a not   in\n b", "a not in b"),
        ("not in_progress", "not in_progress"),
        ("(a and b) and c", "(a and b) and c"),
        ("a==1and b", "a == 1 and b"),
        ("my-var.a-b[-1]['k'].c", "my-var.a-b[-1]['k'].c"),
        ("a.in.not.true", "a.in.not.true"),
        (
            "min(1, -2.50, [1,],) <= len (x)",
            "min(1, -2.5, [1]) <= len(x)",
        ),
        (
            "', '.join(v.split( )).count('a')>0",
            "', '.join(v.split()).count('a') > 0",
        ),
        (
            "True or False or none or None or null",
            "true or false or null or null or null",
        ),
        ("'{{a.b[0]}}' == \"{{c}}\"", "{{a.b[0]}} == {{c}}"),
        ("größe > 1", "größe > 1"),
        ("((((a))))", "a"),
        ("a == (b == c)", "a == (b == c)"),
        ("1e3 < 99999999999999999999", "1000.0 < 1e20"),
    ] {
        assert_eq!(canonical(text, Variables), expected);
        assert_eq!(canonical(expected, Variables), expected);
    }
}

#[test]
fn bare_words_are_text_or_variables() {
    let right = |text: &str, bare| match tree(text, bare).kind {
        ExprKind::Compare { right, .. } => right.kind,
        other => panic!("{other:?}"),
    };
    assert_eq!(right("{{s}} == ok", Text), ExprKind::Word("ok".into()));
    assert_eq!(right("{{s}} == ok", Variables), ExprKind::Name("ok".into()));
    assert_eq!(right("{{s}} == none", Text), ExprKind::Word("none".into()));
    assert_eq!(right("{{s}} == none", Variables), ExprKind::Null);
    assert_eq!(right("{{s}} == null", Text), ExprKind::Null);
    assert_eq!(right("{{s}} == True", Text), ExprKind::Bool(true));
    for word in ["1.2.3", "main.py", "3rd", "v1.2", "a__b", "1_000", "x.true"] {
        assert_eq!(
            right(&format!("{{{{s}}}} == {word}"), Text),
            ExprKind::Word(word.into())
        );
    }
    assert_eq!(right("{{s}} == 1.5", Text), ExprKind::Float(1.5));
    assert_eq!(
        canonical("main.py.strip() == x", Text),
        "(main.py).strip() == x"
    );
    assert_eq!(canonical("{{o}}.a.b == 1", Text), "{{o}}.a.b == 1");
    assert_eq!(canonical("({{o}}).a", Text), "{{o}}.a");
}

#[test]
fn strings_know_five_escapes_and_braces() {
    let text = |written: &str| match tree(written, Text).kind {
        ExprKind::Text(text) => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text(r#"'a\n\t\\\'\"b'"#), "a\n\t\\'\"b");
    assert_eq!(text(r"'\d\x'"), r"\d\x");
    assert_eq!(text("\"it's\""), "it's");
    assert_eq!(text(r"'\{{x}}!'"), "{{x}}!");
    assert_eq!(text("'é→ü'"), "é→ü");
    assert_eq!(canonical("\"it's\\n\"", Text), r"'it\'s\n'");
}

#[test]
fn ranges_are_those_of_the_text() {
    let text = " (ab.c) == {{ d|x }}.strip('e')";
    let (tree, problems) = parse(text, Variables);
    assert!(tree.is_none() && problems.len() == 1);
    let text = " (ab.c) == '{{d.e}}'.strip()";
    let tree = super::tests::tree(text, Variables);
    let mut seen = Vec::new();
    tree.walk(&mut |expr| {
        seen.push(&text[expr.range.clone()]);
        match &expr.kind {
            ExprKind::Method { name, .. } | ExprKind::Field { name, .. } => {
                seen.push(&text[name.clone()]);
            }
            ExprKind::Hole(path) => seen.push(&text[path.segments[1].range.clone()]),
            _ => {}
        }
    });
    assert_eq!(
        seen,
        [
            "(ab.c) == '{{d.e}}'.strip()",
            "(ab.c)",
            "c",
            "ab",
            "'{{d.e}}'.strip()",
            "strip",
            "'{{d.e}}'",
            "e"
        ]
    );
}

#[test]
fn one_mistake_is_one_finding_on_its_own_token() {
    for (text, token, fixed) in [
        ("x is None", "is", Some("not x")),
        ("a and x.y[0] is none", "is", Some("a and not x.y[0]")),
        ("x is not None", "is", Some("x")),
        ("a == x is None", "is", None),
        ("x is defined", "is", Some("x != null")),
        ("x is not defined", "is", Some("x == null")),
        ("not x is defined", "is", Some("not x != null")),
        ("x is 'defined'", "is", Some("x == 'defined'")),
        ("x is 'a'", "is", Some("x == 'a'")),
        ("x is not 'a'", "is", Some("x != 'a'")),
        ("x contains 'a'", "contains", Some("'a' in x")),
        ("contains(x, 'a')", "contains", Some("'a' in x")),
        (
            "contains(x, a or b) == true",
            "contains",
            Some("((a or b) in x) == true"),
        ),
        ("y and x.contains('a')", "contains", Some("y and 'a' in x")),
        ("x = 1", "=", Some("x == 1")),
        ("x === 1", "===", Some("x == 1")),
        ("x !== 1", "!==", Some("x != 1")),
        ("x <> 1", "<>", Some("x != 1")),
        ("x & y", "&", Some("x && y")),
        ("if x == 1", "if", Some("x == 1")),
        ("if x", "if", Some("x")),
        (
            "x starts with 'a'",
            "starts with",
            Some("x.startswith('a')"),
        ),
        ("x endswith 'a'", "endswith", Some("x.endswith('a')")),
        ("x starts with", "starts with", None),
        ("x in 'a', 'b'", ",", Some("x in ['a', 'b']")),
        ("x in 'a', 'b' and y", ",", Some("x in ['a', 'b'] and y")),
        ("x -gt 1", "-gt", Some("x > 1")),
        ("{{x}} -eq 1", "-eq", Some("{{x}} == 1")),
        ("x -a y", "-a", Some("x and y")),
        ("[ -f x ]", "-f", None),
        ("[ x = 'a' ]", "=", Some("[ x == 'a' ]")),
        ("test -f x", "-f", None),
        ("! -f x", "-f", None),
        ("-z x", "-z", None),
        ("-x == 1", "-", None),
        ("x -a == 1", "-", None),
        ("x | y", "|", Some("x || y")),
        ("x | length > 5", "|", Some("len(x) > 5")),
        (
            "a and x.y | upper == 'A'",
            "|",
            Some("a and x.y.upper() == 'A'"),
        ),
        ("x | default('a')", "|", None),
        ("{{x|length}} > 1", "length", Some("len({{x}}) > 1")),
        ("'{{x|length}}' > 1", "length", Some("len({{x}}) > 1")),
        ("{{x|first}} == 1", "first", None),
        (
            "{{x | length}} > 1",
            "{{x | length}}",
            Some("len({{x}}) > 1"),
        ),
        (
            "{{x.upper()}} == 'A'",
            "{{x.upper()}}",
            Some("{{x}}.upper() == 'A'"),
        ),
        ("{{x['k']}} == 1", "{{x['k']}}", Some("{{x.k}} == 1")),
        ("x AND y", "AND", Some("x and y")),
        ("x Or y", "Or", Some("x or y")),
        ("NOT x", "NOT", Some("not x")),
        ("NOT (x)", "NOT", Some("not (x)")),
        ("x NOT IN y", "NOT IN", Some("x not in y")),
        ("x IN y", "IN", Some("x in y")),
        ("x == 1 if y else 2", "if", None),
        ("1 < x < 3", "<", Some("1 < x and x < 3")),
        ("x == 'a' == true", "==", None),
        ("x + 1 == 2", "+", None),
        ("count -1", "-1", None),
        ("x - y", "-", None),
        ("-x", "-", None),
        ("x matches 'a'", "matches", None),
        ("x ? 1 : 2", "?", None),
        ("x; y", ";", None),
        ("x == 'abc", "'", None),
        ("x == \"", "\"", None),
        ("len(x", "(", Some("len(x)")),
        ("(x == [1, 2", "[", Some("(x == [1, 2]")),
        ("(", "(", Some("()")),
        ("x)", ")", Some("x")),
        ("(x]", "]", Some("(x)")),
        ("()", ")", None),
        ("(x ==)", ")", None),
        ("x in ('a', 'b')", ",", Some("x in ['a', 'b']")),
        ("x, y", ",", None),
        ("f(,)", ",", None),
        ("x ==", "==", None),
        ("not", "not", None),
        ("x.", ".", None),
        ("x.[0]", "[", None),
        ("x.0", "0", Some("x[0]")),
        ("== x", "==", None),
        ("and x", "and", None),
        ("x y", "y", None),
        ("x 'y'", "'y'", None),
        ("x not y", "not", None),
        ("x !y", "!", None),
        ("'a'(1)", "(", None),
        ("3rd == 1", "rd", None),
        ("1.2.3", "3", Some("'1.2.3'")),
        ("$x == 1", "$", None),
        ("“a” == x", "“", None),
        ("{{ x }} == 1", "{{ x }}", Some("{{x}} == 1")),
        ("{{ x | raw }} == 1", "{{ x | raw }}", Some("{{x}} == 1")),
        ("{{x|raw}} == 1", "raw", Some("{{x}} == 1")),
        ("'{{x|raw}}' == 1", "raw", Some("'{{x}}' == 1")),
        ("{{#if x}} == 1", "{{#if x}}", None),
        ("{{x} == 1", "{{", Some("{{x}} == 1")),
        ("{{x == 1", "{{", None),
        ("__class__", "__class__", None),
        ("x.__a", "__a", None),
        ("x['__a']", "'__a'", None),
        ("size(x) > 1", "size", Some("len(x) > 1")),
        ("x.len() > 1", "len", Some("len(x) > 1")),
        ("lower(x) == 'a'", "lower", Some("x.lower() == 'a'")),
        ("x.startsWith('a')", "startsWith", Some("x.startswith('a')")),
        ("x.trim()", "trim", Some("x.strip()")),
        ("lne(x)", "lne", Some("len(x)")),
        ("exists(x)", "exists", None),
        ("exists('x')", "exists", None),
        ("x.format('a')", "format", None),
        ("x.replace('a')", "replace", None),
        ("min(x)", "min", None),
        ("x.strip('a')", "strip", None),
        ("x.split(',', 1)", "split", None),
    ] {
        let (covered, offered) = said(text, Variables);
        assert_eq!(covered, token, "{text}");
        assert_eq!(offered.as_deref(), fixed, "{text}");
        assert!(only_problem(text, Variables).help.is_some(), "{text}");
    }
}

#[test]
fn what_is_said_fits_what_is_written() {
    let help = |text: &str, bare| only_problem(text, bare).help.expect("it says what to do");
    assert_eq!(help("x == $y", Text), "a variable is written `{{name}}`");
    assert_eq!(
        help("x == $y", Variables),
        "a variable is its bare name: `name`"
    );
    for (text, between) in [("x[]", "brackets"), ("x and ()", "parentheses")] {
        let message = only_problem(text, Variables).message;
        assert_eq!(message, format!("there is no value in the {between}"));
    }
}

#[test]
fn codes_tell_syntax_names_and_counts_apart() {
    assert_eq!(only_problem("x is y", Text).code, &codes::BAD_CONDITION);
    assert_eq!(only_problem("f(x)", Text).code, &codes::UNKNOWN_FUNCTION);
    assert_eq!(only_problem("x.f()", Text).code, &codes::UNKNOWN_FUNCTION);
    assert_eq!(only_problem("int()", Text).code, &codes::WRONG_ARGUMENTS);
    let unknown = only_problem("foo({{x}})", Variables);
    assert!(
        unknown
            .help
            .is_some_and(|help| help.contains("`int`, `str`"))
    );
    let (tree, _) = parse("foo({{x}}) and y", Variables);
    let mut names = 0;
    tree.expect("an unknown call has a tree").walk(&mut |expr| {
        names += usize::from(matches!(expr.kind, ExprKind::Hole(_) | ExprKind::Name(_)));
    });
    assert_eq!(names, 2);
}

#[test]
fn a_hole_among_other_text_is_said_and_stays_text() {
    let (tree, problems) = parse("'{{v}}!' == 'hi!'", Variables);
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].code, &codes::NOT_A_HOLE);
    assert_eq!(problems[0].range, 1..6);
    let printed = print(&tree.expect("it is only a warning"));
    assert_eq!(printed, r"'\{{v}}!' == 'hi!'");
    assert_eq!(canonical(&printed, Variables), printed);
    let strict = only_problem("'{{v}}-{{w}}' == 'hi!'", Text);
    assert_eq!(strict.code, &codes::BAD_CONDITION);
    let spaced = only_problem("'{{ v }}' == 'a'", Text);
    assert_eq!(spaced.code, &codes::NOT_A_HOLE);
    assert_eq!(spaced.range, 1..8);
}

#[test]
fn slips_do_not_hide_the_rest() {
    let (tree, problems) = parse("x = 1 AND {{ y }} == 2 is z", Variables);
    assert!(tree.is_none());
    let ranges: Vec<_> = problems.iter().map(|p| p.range.start).collect();
    assert_eq!(ranges, [2, 6, 10, 23]);
    let (tree, _) = parse("x = 1 AND {{ y.z }}", Variables);
    let tree = tree.expect("slips with a plain meaning leave a tree");
    assert_eq!(print(&tree), "x == 1 and {{y.z}}");
    tree.walk(&mut |expr| {
        if let ExprKind::Hole(path) = &expr.kind {
            assert_eq!(path.range, 13..16);
            assert_eq!(path.segments[1].range, 15..16);
        }
    });
}

#[test]
fn size_and_depth_are_bounded() {
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(canonical(&nested(MOST_NESTED), Variables), "a");
    let deep = only_problem(&nested(MOST_NESTED + 1), Variables);
    assert_eq!(deep.range, 64..65);
    assert!(deep.message.contains("nested deeper than 64"));
    let long = only_problem(&"a".repeat(MOST_BYTES + 1), Variables);
    assert!(long.message.contains("longer than 8192 bytes"));
    assert!(parse(&"é".repeat(5000), Variables).0.is_none());
    let many = vec!["a == 1"; 740].join(" and ");
    assert_eq!(canonical(&many, Variables), many);
    assert!(
        parse(&format!("a{}", ".b".repeat(64)), Variables)
            .0
            .is_some()
    );
    let grown = (0..40).fold("a".to_string(), |text, _| format!("({text}.b.b)"));
    assert!(parse(&grown, Variables).0.is_none());
}

#[test]
fn hostile_nesting_needs_little_stack() {
    let run = || {
        for part in [
            "(",
            "[",
            "not ",
            "!",
            "f(",
            "a.f(",
            "a[",
            "!(",
            "(!",
            "not (a and ",
            "((a)[",
            "a.b",
            ".b",
            "[[a],",
            "a or (",
            "{{",
            "'",
        ] {
            let text = part.repeat(MOST_BYTES / part.len());
            assert!(parse(&text, Variables).0.is_none(), "{part}");
            let some = part.repeat(MOST_NESTED / 2);
            let _ = parse(&format!("{some}a"), Text);
        }
        let nested = format!("{}a{}", "f(".repeat(60), ")".repeat(60));
        let _ = parse(&nested, Variables);
    };
    let small = std::thread::Builder::new().stack_size(1024 * 1024);
    let thread = small.spawn(run).expect("a thread can be started");
    thread.join().expect("no input exhausts the stack");
}

impl Dice {
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self
                .pick(&[
                    "a",
                    "b-c",
                    "in_x",
                    "1",
                    "-2",
                    "3.50",
                    "1e9",
                    "true",
                    "None",
                    "'s'",
                    "\"t\\n\"",
                    "'\\{{u}}'",
                    "{{h.i[0]}}",
                    "'{{q}}'",
                    "[]",
                    "none",
                    "null",
                    "ü",
                    "'a\\\\'",
                ])
                .to_string();
        }
        let mut below = || self.below(depth);
        let (x, y, z) = (below(), below(), below());
        let first = self.expression(x);
        let second = self.expression(y);
        match self.below(16) {
            0 | 1 => format!("({first})"),
            2 => format!("not {first}"),
            3 => format!("!{first}"),
            4 | 5 => {
                let op = self.pick(&["and", "or", "&&", "||"]);
                format!("{first} {op} {second}")
            }
            6..=8 => {
                let op = self.pick(&["==", "!=", "<", "<=", ">", ">=", "in", "not in"]);
                format!("{first} {op} {second}")
            }
            9 => format!("({first}).{}", self.pick(&["f", "g-h", "in", "size"])),
            10 => format!("({first})[{second}]"),
            11 => format!("[{first}, {second},]"),
            12 => format!("{}({first})", self.pick(&["len", "str", "int", "nope"])),
            13 => format!("min({first}, {second})"),
            14 => format!(
                "({first}).{}()",
                self.pick(&["lower", "strip", "split", "f"])
            ),
            _ => {
                let third = self.expression(z);
                format!("({first}).replace({second}, {third})")
            }
        }
    }

    fn soup(&mut self) -> String {
        let words = [
            "a",
            "b",
            "not",
            "in",
            "and",
            "or",
            "==",
            "<",
            "=",
            "AND",
            "NOT",
            "IN",
            "(",
            ")",
            "[",
            "]",
            ",",
            ".",
            "1",
            "-1",
            "'s'",
            "'",
            "\"",
            "{{h}}",
            "{{ h }}",
            "{{h|raw}}",
            "{{",
            "}}",
            "!",
            "&&",
            "|",
            "is",
            "None",
            "len",
            "len(",
            "contains",
            "é",
            "+",
            "\\",
            "'{{a}} b'",
            "'{{a|b}}'",
            "a__b",
            " ",
            "\n",
            "🙂",
            "0",
            "f(",
            ".g(",
            "\u{a0}",
        ];
        let length = 1 + self.below(12);
        let gap = self.pick(&[" ", " ", ""]);
        if self.below(20) == 0 {
            return self
                .pick(&[
                    "{{h}}",
                    " {{h.a[1]}}\n",
                    "'{{h}}'",
                    "({{h}})",
                    "{{h|json}} ",
                ])
                .to_string();
        }
        let parts: Vec<&str> = (0..length).map(|_| self.pick(&words)).collect();
        parts.join(gap)
    }
}

/// All that must hold for any text at all.
fn laws(text: &str, bare: BareWords) {
    let (tokens, said) = tokens::lex(text, bare);
    let (tree, problems) = parse(text, bare);
    let errors = problems
        .iter()
        .filter(|problem| problem.code.severity == Severity::Error)
        .count();
    assert!(tree.is_some() || errors > 0, "{text:?}");
    let read = parser::grammatical(text, &tokens, bare);
    assert_eq!(
        read.clone().ok(),
        descent::tree(text, &tokens, bare),
        "{text:?}"
    );
    // What is read without its tokens is what they say.
    if let Some(Expr {
        kind: ExprKind::Hole(_),
        ..
    }) = &tree
    {
        assert_eq!(tree, read.clone().ok(), "{text:?}");
        assert_eq!(problems, said, "{text:?}");
    }
    for problem in &problems {
        assert!(
            text.get(problem.range.clone()).is_some(),
            "{text:?}: {problem:?}"
        );
        assert!(!problem.message.ends_with('.'), "{problem:?}");
        assert!(problem.help.is_some(), "{problem:?}");
        let Some(fix) = &problem.fix else { continue };
        assert!(text.get(fix.range.clone()).is_some(), "{text:?}: {fix:?}");
        let mut fixed = text.to_string();
        fixed.replace_range(fix.range.clone(), &fix.text);
        let (_, after) = parse(&fixed, bare);
        if fix.applicability == Applicability::Safe {
            assert!(
                after.len() < problems.len(),
                "{text:?} -> {fixed:?}: {after:?}"
            );
        }
    }
    if errors == 0
        && let Some(tree) = tree
    {
        let printed = print(&tree);
        let (again, _) = parse(&printed, bare);
        assert_eq!(
            again.map(placeless),
            Some(placeless(tree)),
            "{text:?}: {printed:?}"
        );
    }
}

#[test]
fn both_readings_agree_on_generated_expressions() {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut sound = 0;
    for _ in 0..4000 {
        let text = dice.expression(5);
        for bare in [Text, Variables] {
            laws(&text, bare);
            sound += usize::from(parse(&text, bare).0.is_some());
        }
    }
    assert!(sound > 1000, "only {sound} were conditions");
}

#[test]
fn both_readings_agree_on_token_soup() {
    let mut dice = Dice(0xD1B5_4A32_D192_ED03);
    let mut sound = 0;
    for _ in 0..30_000 {
        let text = dice.soup();
        for bare in [Text, Variables] {
            laws(&text, bare);
            sound += usize::from(parse(&text, bare).0.is_some());
        }
    }
    assert!(sound > 500, "only {sound} were conditions");
}

#[test]
fn any_bytes_are_read_without_panic() {
    let mut dice = Dice(0x2545_F491_4F6C_DD1D);
    for _ in 0..20_000 {
        let length = dice.below(40);
        let bytes: Vec<u8> = (0..length)
            .map(|_| match dice.below(3) {
                0 => dice.below(256) as u8,
                _ => b"{}|.[]()'\"\\ ab1-_=!&"[dice.below(20)],
            })
            .collect();
        let text = String::from_utf8_lossy(&bytes);
        laws(&text, Text);
        laws(&text, Variables);
        let holes = scan(&text);
        for piece in &holes.pieces {
            let range = match piece {
                Piece::Literal(range) => range.clone(),
                Piece::Hole(hole) => hole.range.clone(),
            };
            assert!(!text[range].is_empty());
        }
        for problem in &holes.problems {
            assert!(text.get(problem.range.clone()).is_some());
        }
        whole_hole(&text);
    }
}
