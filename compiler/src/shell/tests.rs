//! The table of forms, row by row, and what is refused. That the forms work is for `tests/shell.rs`
//! to show, in real bash.

use super::*;

fn holes(text: &str) -> Vec<HoleAt> {
    let mut holes = Vec::new();
    let mut at = 0;
    while let Some(mut start) = text[at..].find("{{").map(|found| at + found) {
        while text[start..].starts_with("{{{") {
            start += 1;
        }
        let Some(end) = text[start..].find("}}").map(|found| start + found + 2) else {
            break;
        };
        let inner = &text[start + 2..end - 2];
        let (name, filter) = inner.split_once('|').unwrap_or((inner, ""));
        holes.push(HoleAt {
            range: start..end,
            name: name.to_uppercase(),
            filter: match filter {
                "raw" => Filter::Raw,
                "words" => Filter::Words,
                "json" => Filter::Json,
                _ => Filter::None,
            },
        });
        at = end;
    }
    holes
}

fn script(text: &str) -> Script {
    compile(text, &holes(text))
}

fn becomes(text: &str) -> String {
    let script = script(text);
    let refused = script
        .problems
        .iter()
        .find(|p| p.code == &codes::NO_SAFE_FORM);
    assert_eq!(refused, None, "{text}");
    render::render(&script, &vec!["value"; script.positions.len()])
}

fn refusal(text: &str) -> Refusal {
    let script = script(text);
    let position = script.positions.first().expect("the text has a hole");
    assert_eq!(position.reach, Use::Refused, "{text}");
    assert_eq!(script.problems[0].code, &codes::NO_SAFE_FORM, "{text}");
    position.refusal.expect("a refused hole says why")
}

fn reads(text: &str) -> Option<String> {
    let script = script(text);
    let found = script
        .problems
        .iter()
        .any(|problem| problem.code == &codes::VALUE_IN_PROGRAM_TEXT);
    let program = script.positions[0].program.clone();
    assert_eq!(found, program.is_some(), "{text}");
    program
}

fn repaired(text: &str) -> Option<String> {
    let fix = script(text).problems.first()?.fix.clone()?;
    let mut edits = fix.edits;
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = text.to_owned();
    for (range, with) in edits.into_iter().rev() {
        out.replace_range(range, &with);
    }
    Some(out)
}

#[test]
fn each_row_of_the_table_has_its_form() {
    for (text, form) in [
        ("echo {{v}}", "echo \"$V\""),
        (
            "echo a{{v}}b {{v}}/{{w}} --x={{v}}",
            "echo a\"$V\"b \"$V\"/\"$W\" --x=\"$V\"",
        ),
        (
            "ls {{d}}/*.txt {{d}}/{a,b} ~/{{d}}",
            "ls \"$D\"/*.txt \"$D\"/{a,b} ~/\"$D\"",
        ),
        ("x={{v}}", "x=\"$V\""),
        ("[[ {{v}} == a ]]", "[[ \"$V\" == a ]]"),
        ("echo \"<{{v}}_x>\"", "echo \"<${V}_x>\""),
        ("echo '<{{v}}>'", "echo '<'\"$V\"'>'"),
        ("echo $'\\t{{v}}'", "echo $'\\t'\"$V\"$''"),
        ("cat <<E\n{{v}}\nE\n", "cat <<E\n${V}\nE\n"),
        ("cat <<'E'\n{{v}}\nE\n", "cat <<'E'\nvalue\nE\n"),
        ("cat <<\"E\"\n{{v}}\nE\n", "cat <<'E'\nvalue\nE\n"),
        (
            "cat <<-'E'\n\ta\n\t\t{{v}}\n\tE\n",
            "cat <<'E'\na\nvalue\nE\n",
        ),
        ("cat <<-E\n\t{{v}}\n\tE\n", "cat <<-E\n\t${V}\n\tE\n"),
        ("x=$(a {{v}})", "x=$(a \"$V\")"),
        ("x=\"$(a '{{v}}')\"", "x=\"$(a ''\"$V\"'')\""),
        ("x=`a {{v}}`", "x=`a \"$V\"`"),
        ("a <(b {{v}})", "a <(b \"$V\")"),
        ("echo $(( {{v}}+1 ))", "echo $(( ${V_as_integer}+1 ))"),
        ("((x<{{v}}))", "((x<${V_as_integer}))"),
        (
            "echo ${a[{{v}}]} ${s:{{v}}:2}",
            "echo ${a[${V_as_integer}]} ${s:${V_as_integer}:2}",
        ),
        ("a[{{v}}]={{v}}", "a[${V_as_integer}]=\"$V\""),
        ("true # {{v}}\n", "true # \n"),
        (
            "echo \"${x:-{{v}}}\" ${x:-{{v}}}",
            "echo \"${x:-${V}}\" ${x:-\"$V\"}",
        ),
        ("echo \"${x#{{v}}}\"", "echo \"${x#\"$V\"}\""),
        (
            "for x in {{v|words}}; do :; done",
            "for x in 'value'; do :; done",
        ),
        ("echo {{v|raw}} \"{{v|raw}}\"", "echo value \"value\""),
        (
            "[[ {{v}} -gt \"{{v}}\" ]]",
            "[[ \"$V_as_integer\" -gt \"${V_as_integer}\" ]]",
        ),
        ("declare -A m\nm[{{v}}]=1", "declare -A m\nm[\"$V\"]=1"),
        (
            "echo $((1 << 2)) <<< {{v}}\n'{{v}}'",
            "echo $((1 << 2)) <<< \"$V\"\n''\"$V\"''",
        ),
    ] {
        assert_eq!(becomes(text), form, "{text}");
    }
}

#[test]
fn text_without_holes_is_left_alone() {
    for text in ["", "cat <<-'E'\n\ta\n\tE\n", "echo '", "$((", "é\0\r\n"] {
        assert_eq!(render::render(&compile(text, &[]), &[]), text);
    }
}

#[test]
fn a_heredoc_gets_a_mark_that_its_body_lacks() {
    let script = script("cat <<'E'\n{{v}}\nE\n");
    assert_eq!(script.heredocs[0].delimiter, "E");
    assert_eq!(render::render(&script, &["a\nE"]), "cat <<'E_'\na\nE\nE_\n");
    assert_eq!(render::render(&script, &["a E"]), "cat <<'E'\na E\nE\n");
}

#[test]
fn positions_say_where_a_hole_stands() {
    for (text, quote, place) in [
        ("{{v}} x", Quote::Bare, Place::Command),
        ("sudo -u me '{{v}}'", Quote::Single, Place::Command),
        ("timeout -s KILL 5 {{v}}", Quote::Bare, Place::Command),
        ("command -v {{v}}", Quote::Bare, Place::Argument),
        ("{{v}}/bin/x", Quote::Bare, Place::Argument),
        ("export x={{v}}", Quote::Bare, Place::Declaration),
        ("a=(b \"{{v}}\")", Quote::Double, Place::ArrayElement),
        ("case {{v}} in a) ;; esac", Quote::Bare, Place::CaseWord),
        (
            "case a in b|{{v}}) ;; esac",
            Quote::Bare,
            Place::CasePattern,
        ),
        ("[[ a =~ ^({{v}})$ ]]", Quote::Bare, Place::Regex),
        ("[[ a == {{v}}* ]]", Quote::Bare, Place::TestPattern),
        ("for x in a {{v}}; do :; done", Quote::Bare, Place::ForWord),
        ("a 2> {{v}}", Quote::Bare, Place::Redirection),
        ("a <<< \"{{v}}\"", Quote::Double, Place::HereString),
        ("x=${y/a/{{v}}}", Quote::Bare, Place::Replacement),
        ("f() { a \"$(b {{v}})\"; }", Quote::Bare, Place::Argument),
        ("a # it's {{v}}", Quote::Comment, Place::Comment),
    ] {
        let position = &script(text).positions[0];
        assert_eq!((position.quote, position.place), (quote, place), "{text}");
    }
    let deep = &script("a \"$(b `c {{v}}`)\"").positions[0];
    assert_eq!((deep.substitutions, deep.backticks), (2, 1));
    assert_eq!(deep.command.as_deref(), Some("c"));
}

#[test]
fn where_no_form_is_safe_the_hole_is_refused() {
    for (text, why) in [
        ("echo \\{{v}}", Refusal::Backslash),
        ("echo \"${{v}}\"", Refusal::Dollar),
        ("echo ${{{v}}}", Refusal::ParameterName),
        ("{{v}}=1", Refusal::AssignmentName),
        ("for {{v}} in a; do :; done", Refusal::LoopName),
        ("{{v}}() { :; }", Refusal::FunctionName),
        ("echo ${x{{v}}y}", Refusal::Operator),
        ("echo {1..{{v}}}", Refusal::BraceRange),
        ("cat <<{{v}}\n", Refusal::HeredocDelimiter),
        ("x=`cat <<'E'\n{{v}}\nE\n`", Refusal::BacktickPaste),
        (
            "cat <<A\n$(cat <<'B'\n{{v}}\nB\n)\nA\n",
            Refusal::OuterHeredoc,
        ),
        ("echo \"{{v|words}}\"", Refusal::OneWordOnly),
        ("x={{v|words}}", Refusal::OneWordOnly),
        ("read {{v}}", Refusal::VariableArgument),
        ("[[ -v {{v}} ]]", Refusal::VariableArgument),
        ("declare -A m; [[ -v m[{{v}}] ]]", Refusal::VariableArgument),
        ("declare -a a={{v}}", Refusal::ArrayDeclaration),
        ("declare -n a={{v}}", Refusal::Nameref),
        ("declare -i x; read x <<'E'\n{{v}}\nE\n", Refusal::Evaluated),
        ("declare -ia a=({{v|words}})", Refusal::OneWordOnly),
        ("echo \"${x:-$'{{v}}'}\"", Refusal::AnsiInDouble),
        ("echo $'\\c{{v}}'", Refusal::ControlEscape),
        ("echo $(( '{{v}}' ))", Refusal::QuoteInArithmetic),
        ("echo ) {{v}}", Refusal::Lost),
    ] {
        assert_eq!(refusal(text), why, "{text}");
    }
    assert_eq!(
        repaired("echo \"${{v}}\"").as_deref(),
        Some("echo \"\\${{v}}\"")
    );
}

#[test]
fn holes_in_program_text_are_found() {
    for (text, program) in [
        ("bash -c 'a {{v}}'", "bash"),
        ("sudo -n sh -ec \"a {{v}}\"", "sh"),
        ("find . -exec sh -c 'a {{v}}' \\;", "sh"),
        ("find . -exec sed -i 's/{{v}}/b/' {} +", "sed"),
        ("a | xargs -n 1 bash -c 'a {{v}}'", "bash"),
        ("xargs -I% sh -c 'echo %' <<< {{v}}", "sh"),
        ("echo {{v}} | xargs -n 1 -I {} bash -c \"a '{}'\"", "bash"),
        ("echo {{v}} | xargs -0ri perl -e 'a({})'", "perl"),
        ("echo {{v}} | sudo xargs --replace=X sh -c X", "sh"),
        ("echo {{v}} | xargs sh -c", "sh"),
        ("xargs -I% sh -c 'echo %' <<E\n{{v}}\nE\n", "sh"),
        ("docker exec x sh -c '{{v}}'", "sh"),
        ("eval \"a {{v}}\"", "eval"),
        ("python3 -c \"print('{{v}}')\"", "python3"),
        ("node -e 'x({{v}})'", "node"),
        ("perl -pe 's/a/{{v}}/' f", "perl"),
        ("awk -F: '/{{v}}/' f", "awk"),
        ("sed -n -e 's/{{v}}//' f", "sed"),
        ("sed 's/a/{{v}}/' f", "sed"),
        ("jq -r --arg a b '.{{v}}' f", "jq"),
        ("ssh -p 22 host \"ls {{v}}\"", "ssh"),
        ("trap 'rm {{v}}' EXIT", "trap"),
        ("alias x='a {{v}}'", "alias"),
        ("python3 - <<'E'\nx = '{{v}}'\nE\n", "python3"),
        ("cat <<E | bash -s\na {{v}}\nE\n", "bash"),
        ("cat <<E |\na {{v}}\nE\nbash\n", "bash"),
        ("bash <<< \"a {{v}}\"", "bash"),
        ("echo \"a {{v}}\" | sh", "sh"),
        ("PS4={{v}}", "PS4"),
        ("source <(printf %s {{v}})", "source"),
        (". <(echo \"a {{v}}\")", "."),
        ("bash < <(echo {{v}})", "bash"),
        ("flock x -c {{v}}", "flock"),
        ("su user -c \"a {{v}}\"", "su"),
    ] {
        assert_eq!(reads(text).as_deref(), Some(program), "{text}");
    }
    for text in [
        "bash script.sh {{v}}",
        "bash -c 'a \"$1\"' _ {{v}}",
        "bash -c \"$(a {{v}})\"",
        "python3 x.py <<E\n{{v}}\nE\n",
        "python3 -c 'import sys' <<E\n{{v}}\nE\n",
        "jq --arg a {{v}} '.a = $a' f",
        "awk -v a={{v}} '{print a}' f",
        "sed -e 's/a/b/' {{v}}",
        "ssh {{v}} ls",
        "source <(grep {{v}} f)",
        "flock {{v}} make",
        "cat > x.py <<'E'\n{{v}}\nE\n",
        "grep -e {{v}} f",
        "echo {{v}} | grep a | bash",
        "echo {{v}} | xargs -I% sh -c 'echo \"$1\"' _ %",
        "echo {{v}} | xargs sh -c 'echo \"$@\"' _",
        "echo {{v}} | xargs -I% echo %",
    ] {
        assert_eq!(reads(text), None, "{text}");
    }
}

#[test]
fn values_in_program_text_can_become_arguments() {
    for (text, wanted) in [
        (
            "bash -c 'a {{v}} \"-{{w}}\"'",
            Some("bash -c 'a \"${1}\" \"-${2}\"' _ {{v}} {{w}}"),
        ),
        ("bash -c 'a \"$1\" {{v}}'", None),
        ("bash -c '{{v}}'", None),
        (
            "jq '.a = \"{{v}}\"' f",
            Some("jq --arg value1 {{v}} '.a = $value1' f"),
        ),
        ("jq '.a = \"x{{v}}\"' f", None),
        ("{{v}} a", Some("{{v|words}} a")),
    ] {
        assert_eq!(repaired(text).as_deref(), wanted, "{text}");
    }
}

#[test]
fn holes_that_do_not_fit_the_text_are_refused() {
    let hole = |range| HoleAt {
        range,
        name: "V".to_owned(),
        filter: Filter::None,
    };
    for holes in [
        vec![hole(2..9)],
        vec![hole(3..3)],
        vec![hole(2..3), hole(1..2)],
        vec![hole(4..5)],
    ] {
        let script = compile("abcé", &holes);
        assert_eq!(script.problems.len(), holes.len());
        render::render(&script, &[]);
    }
}
