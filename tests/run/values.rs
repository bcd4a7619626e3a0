//! Values of every size and kind reach every position; what a child says comes back exactly.

use crate::binary::{Folder, fixture};
use crate::{amplifier, report, run, step};
use serde_json::json;
use std::fmt::Write;

/// A value that no environment string can hold, with everything in it that a shell would act on.
fn big() -> String {
    let mut text = String::new();
    for number in 0..7_000 {
        writeln!(
            text,
            "{number} $(touch PWNED) `touch PWNED` \"q\" 'q' \\ é𝄞 ;&|"
        )
        .unwrap();
    }
    text.truncate(text.char_indices().nth(290_000).unwrap().0);
    assert!(text.len() > 300_000);
    text
}

/// What a message says of a value does not end where a line of the value does, and what it leaves out it
/// says that it does.
#[test]
fn values_in_messages_stay_on_their_line_and_are_cut_with_a_sign() {
    let steps = "
  - {id: printed, type: bash, command: \"printf 'sub\\n'\", output: d}
  - {id: copied, type: bash, command: 'printf %s {{v}}', output: w}
  - {id: directory, type: bash, command: 'true', cwd: '{{d}}', on_error: continue}
  - {id: number, type: bash, command: 'echo $(( {{d}} ))', on_error: continue}
  - {id: time, type: bash, command: 'true', timeout: '{{d}}', on_error: continue}
  - {id: recipe, type: recipe, recipe: '{{d}}', on_error: continue}
  - {id: condition, type: bash, command: 'true', condition: 'int({{d}}) == 3', on_error: continue}
  - {id: long-directory, type: bash, command: 'true', cwd: '{{w}}', on_error: continue}
  - {id: long-time, type: bash, command: 'true', timeout: '{{w}}', on_error: continue}
  - {id: long-count, type: bash, command: 'true', foreach: '{{l}}', max_iterations: '{{w}}', on_error: continue}
  - {id: long-recipe, type: recipe, recipe: '{{w}}', on_error: continue}
";
    let text = amplifier(steps) + "context: {v: '', l: [1]}\n";
    let folder = Folder::with("main.yaml", text);
    folder.write("v.json", format!("{{\"v\": \"{}\"}}", "z".repeat(300_000)));
    let said = folder.rrc(&["run", "main.yaml", "--vars", "v.json"]).go();
    let said = said.exits(0);
    let cut = format!("`{}…`", "z".repeat(40));
    for words in [
        "/sub\\n: there is no such directory\n",
        "`sub\\n` is not an integer\n",
        "`timeout` must be a number of seconds above 0, not `sub\\n`\n",
        "there is no recipe `sub\\n`\n",
        "`sub\\n` is not a number\n",
        "zzz: File name too long (os error 36)\n",
        &format!("`timeout` must be a number of seconds above 0, not {cut}\n"),
        &format!("`max_iterations` must be a whole number from 1, not {cut}\n"),
        &format!("there is no recipe `{}…`\n", "z".repeat(160)),
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    assert!(said.out.len() < 4000, "{}", said.out);
}

const POSITIONS: &str = "\
- id: bare
  type: bash
  command: printf %s {{v}} > bare
- id: double
  type: bash
  command: printf %s \"[{{v}}]\" > double
- id: single
  type: bash
  command: printf %s '[{{v}}]' > single
- id: here
  type: bash
  command: |
    cat > here <<END
    {{v}}
    END
- id: quoted
  type: bash
  command: |
    cat > quoted <<'END'
    {{v}}
    END
- id: assigned
  type: bash
  command: |
    x={{v}}
    printf %s \"$x\" > assigned
- id: captured
  type: bash
  command: printf %s {{v}}
  output: back
- id: given
  type: bash
  command: cat > given
  stdin: \"{{v}}\"
";

#[test]
fn a_big_value_reaches_every_position_in_both_dialects() {
    let value = big();
    for dialect in ["amplifier", "amplihack"] {
        let folder = Folder::with(
            "a.yaml",
            format!("context: {{v: ''}}\n{}", amplifier(POSITIONS)),
        );
        folder.write("v.json", serde_json::json!({ "v": value }).to_string());
        let all = run(&folder, &["--dialect", dialect, "--vars", "v.json"], 0);
        assert_eq!(all["status"], "completed");
        let expect = |name: &str, text: String| {
            assert!(folder.read(name) == text, "{dialect}: {name} differs");
        };
        expect("bare", value.clone());
        expect("double", format!("[{value}]"));
        expect("single", format!("[{value}]"));
        expect("here", format!("{value}\n"));
        expect("quoted", format!("{value}\n"));
        expect("assigned", value.clone());
        expect("given", value.clone());
        let back = all["context"]["back"].as_str().unwrap();
        let stored = if dialect == "amplihack" {
            value.trim()
        } else {
            value.as_str()
        };
        assert!(back == stored, "{dialect}: what comes back differs");
        assert!(!folder.has("PWNED"), "{dialect}: a value was run");
    }
}

#[test]
fn many_values_at_once_reach_their_scripts() {
    let long = "y".repeat(40_000);
    let values = (0..40).map(|number| (format!("v{number}"), format!("{number}{long}").into()));
    let values: serde_json::Map<String, serde_json::Value> = values.collect();
    let folder = Folder::new();
    folder.write("v.json", serde_json::Value::Object(values).to_string());
    folder.write(
        "a.yaml",
        "name: a\ncontext: {v39: ''}\nsteps:\n- {id: a, command: 'echo ${#RECIPE_VAR_v7} ${#V8} {{v39}} | cut -c 1-30', output: o}\n",
    );
    let all = run(&folder, &["--vars", "v.json"], 0);
    assert_eq!(
        all["context"]["o"],
        format!("40001 40001 39{}", "y".repeat(16))
    );
}

/// What nothing in a script can read is not put into its environment; `BASH_ENV` sees what is.
#[test]
fn a_closed_script_is_given_what_it_names() {
    let folder = Folder::new();
    folder.write("names", "echo \"${!RECIPE_VAR_*}\" >> seen\n");
    folder.write(
        "a.yaml",
        "name: a\ncontext: {v: 1, w: 2}\nsteps:\n- {id: a, command: 'true'}\n\
         - {id: b, command: 'echo {{w}}'}\n- {id: c, command: 'eval true'}\n",
    );
    let names = folder.path().join("names").display().to_string();
    let run = folder.rrc(&["run", "a.yaml"]).env("BASH_ENV", &names);
    run.go().exits(0);
    let all = "RECIPE_VAR_a RECIPE_VAR_b RECIPE_VAR_v RECIPE_VAR_w";
    assert_eq!(folder.read("seen"), format!("\nRECIPE_VAR_w\n{all}\n"));
}

#[test]
fn output_is_kept_up_to_its_limit() {
    let script = fixture("hostile/flood.sh").display().to_string();
    let steps = format!(
        "- {{id: all, type: bash, command: '{script}', output: all}}\n\
         - {{id: cut, type: bash, command: '{script}', output: cut, output_stderr: err, max_output_size: 1000}}\n\
         - {{id: wide, type: bash, command: 'printf é𝄞é𝄞', output: wide, max_output_size: 5}}\n"
    );
    let all = report(&amplifier(&steps), &[], 0);
    let context = &all["context"];
    assert!(context["all"].as_str().unwrap() == "o".repeat(10_000_000));
    assert_eq!(step(&all, "all")["stdout_truncated"], false);
    assert_eq!(context["cut"], "o".repeat(1000));
    assert_eq!(context["err"], "e".repeat(1000));
    assert_eq!(step(&all, "cut")["stdout_truncated"], true);
    assert_eq!(step(&all, "cut")["stderr_truncated"], true);
    assert_eq!(context["wide"], "é", "cut between characters");
    let warned = |id: &str| step(&all, id)["warnings"].clone();
    assert_eq!(warned("all"), serde_json::Value::Null);
    assert_eq!(
        warned("wide"),
        serde_json::json!(["it wrote 12 bytes to stdout, of which 5 are kept"])
    );
    assert_eq!(warned("cut").as_array().map(Vec::len), Some(2));
}

#[test]
fn output_is_exact_or_trimmed_as_the_dialect_says() {
    let steps = "- {id: a, type: bash, command: 'printf \" x \\n\\n\"', output: o}\n\
                 - {id: b, type: bash, command: 'printf \"[1, 2]\"', output: j}\n\
                 - {id: c, type: bash, command: 'printf \"\\xff\\xfe\"', output: bytes}\n";
    let amplifier_run = report(&amplifier(steps), &["--dialect", "amplifier"], 0);
    assert_eq!(amplifier_run["context"]["o"], " x \n\n");
    assert_eq!(amplifier_run["context"]["j"], "[1, 2]");
    assert_eq!(amplifier_run["context"]["bytes"], "\u{fffd}\u{fffd}");
    let amplihack_run = report(&amplifier(steps), &["--dialect", "amplihack"], 0);
    assert_eq!(amplihack_run["context"]["o"], "x");
    assert_eq!(amplihack_run["context"]["j"], serde_json::json!([1, 2]));
}

#[test]
fn stdin_shell_env_and_cwd() {
    let folder = Folder::new();
    folder.write("sub/here.txt", "found");
    folder.write(
        "a.yaml",
        format!(
            "context: {{n: 5, sub: sub}}\n{}",
            amplifier(
                "- {id: in, type: bash, command: 'cat -', stdin: 'n={{n}}', output: in}\n\
                 - {id: none, type: bash, command: 'wc -c', output: none}\n\
                 - {id: sh, type: bash, shell: /bin/sh, command: 'echo ${BASH_VERSION:-none} \"$0\"', output: sh}\n\
                 - {id: env, type: bash, command: 'echo \"$A $B $C\"', env: {A: 'x {{n}} $y', B: true, C: 1.50}, output: env}\n\
                 - {id: inherited, type: bash, command: 'echo \"$GIVEN\"', output: inherited}\n\
                 - {id: cwd, type: bash, command: 'cat here.txt', cwd: '{{sub}}', output: cwd}\n\
                 - {id: abs, type: bash, command: pwd, cwd: /, output: abs}\n\
                 - {id: lost, type: bash, command: pwd, cwd: nowhere, on_error: continue}\n\
                 - {id: noshell, type: bash, shell: /no/such/shell, command: 'true', on_error: continue}\n"
            )
        ),
    );
    let said = folder.rrc(&["run", "a.yaml", "--output-format", "json"]);
    let all = said.env("GIVEN", "from outside").go().exits(0).json();
    let context = &all["context"];
    assert_eq!(context["in"], "n=5");
    assert_eq!(context["none"].as_str().unwrap().trim(), "0");
    assert!(
        context["sh"].as_str().unwrap().starts_with("none") || is_bash("/bin/sh"),
        "{all}"
    );
    assert_eq!(context["env"], "x 5 $y true 1.50\n");
    assert_eq!(context["inherited"], "from outside\n");
    assert_eq!(context["cwd"], "found");
    assert_eq!(context["abs"], "/\n");
    assert_eq!(step(&all, "lost")["status"], "failed");
    assert!(
        step(&all, "lost")["error"]
            .as_str()
            .unwrap()
            .contains("nowhere"),
        "{all}"
    );
    assert_eq!(step(&all, "noshell")["exit_code"], 127);
    assert!(
        step(&all, "noshell")["error"]
            .as_str()
            .unwrap()
            .contains("/no/such/shell"),
        "{all}"
    );
}

fn is_bash(shell: &str) -> bool {
    std::fs::canonicalize(shell).is_ok_and(|path| path.ends_with("bash"))
}

#[test]
fn steps_run_where_they_are_told() {
    let folder = Folder::new();
    folder.write("there/x.txt", "");
    folder.write("there/sub/y.txt", "");
    let steps = "- {id: a, type: bash, command: ls, output: a}\n- {id: b, type: bash, command: ls, cwd: sub, output: b}\n";
    folder.write("recipes/a.yaml", amplifier(steps));
    let args = [
        "run",
        "recipes/a.yaml",
        "-C",
        "there",
        "--output-format",
        "json",
        "--no-record",
    ];
    let all = folder.rrc(&args[..6]).go().exits(0).json();
    assert!(
        all["context"]["a"].as_str().unwrap().contains("x.txt"),
        "{all}"
    );
    assert_eq!(all["context"]["b"], "y.txt\n");
}

#[test]
fn values_from_outside_win_and_the_last_one_most() {
    let folder = Folder::new();
    let steps = "- {id: a, type: bash, command: 'echo {{a}} {{b}} {{c}} {{d.e}}', output: o}\n";
    folder.write(
        "a.yaml",
        format!(
            "context: {{a: 1, b: 1, c: 1, d: {{e: 1, f: 2}}}}\n{}",
            amplifier(steps)
        ),
    );
    folder.write("v.yaml", "b: 2\nc: 2\n");
    folder.write("v.json", "{\"b\": \"from json\"}");
    let o = |args: &[&str]| run(&folder, args, 0)["context"].clone();
    assert_eq!(o(&[])["o"], "1 1 1 1\n");
    assert_eq!(o(&["--vars", "v.yaml"])["o"], "1 2 2 1\n");
    assert_eq!(o(&["--vars", "v.json"])["o"], "1 from json 1 1\n");
    let set = o(&[
        "--set", "c=3", "--vars", "v.yaml", "-s", "d.e=x y", "-s", "c=[4]",
    ]);
    assert_eq!(set["o"], "1 2 [4] x y\n");
    assert_eq!(set["c"], serde_json::json!([4]));
    assert_eq!(o(&["-s", "a=007"])["a"], "007");
    assert_eq!(o(&["-s", "a=7"])["a"], 7);
}

#[test]
fn a_name_that_cannot_be_set_is_wrong_usage() {
    let recipe = amplifier("- {id: a, type: bash, command: 'echo {{items}} {{n}} > ran'}\n");
    let folder = Folder::with(
        "a.yaml",
        format!("context: {{items: [1, 2], n: 5}}\n{recipe}"),
    );
    for (pair, words) in [
        ("items[0]=3", "one item of a list cannot be set"),
        ("n.x=3", "`n` is a number and has no fields"),
        ("a b=3", "`a b` is no name"),
    ] {
        let said = folder.rrc(&["run", "a.yaml", "--set", pair]).go().exits(2);
        said.err_has(words);
    }
    assert!(!folder.has("ran"));
}

#[test]
fn values_of_a_file_are_read_as_those_of_a_recipe() {
    let digits = "123456789012345678901234567890123456789012345678901";
    let recipe = format!(
        "context: {{a: 1, b: [1]}}\n{}",
        amplifier("- {id: a, type: bash, command: 'echo {{a}} {{b}}', output: o}\n")
    );
    let folder = Folder::with("a.yaml", recipe);
    folder.write("v.yaml", format!("a: {digits}\nb: [{digits}, 7]\n"));
    folder.write(
        "v.json",
        format!("{{\"a\": {digits}, \"b\": [{digits}, 7]}}"),
    );
    let set = [format!("a={digits}"), format!("b=[{digits}, 7]")];
    let expected = format!("{digits} [\"{digits}\",7]\n");
    for args in [
        ["--vars", "v.yaml"].as_slice(),
        &["--vars", "v.json"],
        &["-s", &set[0], "-s", &set[1]],
    ] {
        assert_eq!(run(&folder, args, 0)["context"]["o"], expected, "{args:?}");
    }
    folder.write("twice.yaml", "a: 1\nb: 2\na: 3\n");
    folder.write("twice.json", "{\"a\": 1, \"b\": 2,\n\"a\": 3}");
    for (file, place) in [("twice.yaml", "3:1"), ("twice.json", "2:2")] {
        let said = folder.rrc(&["run", "a.yaml", "--vars", file]).go().exits(2);
        said.err_has(&format!("--vars {file}: {place}: `a` stands twice"));
    }
}

#[test]
fn a_value_for_a_name_that_rrc_sets_itself_is_not_passed_over_in_silence() {
    let recipe = amplifier("- {id: a, type: bash, command: 'echo {{recipe.name}}'}\n");
    let folder = Folder::with("a.yaml", recipe);
    let said = folder
        .rrc(&["run", "a.yaml", "-s", "recipe=x"])
        .go()
        .exits(0);
    said.err_has("rrc sets `recipe` itself");
    // Where it is a name like any other, there is nothing to say.
    folder.write(
        "a.yaml",
        "name: a\nsteps: [{id: a, command: 'echo {{recipe}} > ran'}]\n",
    );
    let said = folder
        .rrc(&["run", "a.yaml", "-s", "recipe=x"])
        .go()
        .exits(0);
    assert!(!said.err.contains("itself"), "{}", said.err);
    assert_eq!(folder.read("ran"), "x\n");
}

#[test]
fn long_values_arrive_where_few_descriptors_may_be_open() {
    let steps = "- {id: a, type: bash, command: 'head -c 300000 /dev/zero | tr \"\\\\0\" x', output: big}\n\
                 - {id: b, type: bash, command: 'printf %s {{big}} | wc -c', output: size}\n";
    for least in [64, 60, 40] {
        let folder = Folder::with("a.yaml", amplifier(steps));
        let script = format!("ulimit -n {least}; exec \"$RRC\" run a.yaml --output-format json");
        let all = folder.sh(&script).go().exits(0).json();
        assert_eq!(all["context"]["size"], "300000\n", "{least}");
    }
}

/// What the file would be told of its defaults, a run is told of what it is given, before a step runs; but
/// only of what it certainly comes to.
#[test]
fn values_that_cannot_be_used_are_refused_before_anything_runs() {
    let first = "- {id: z, type: bash, command: touch RAN}\n";
    let child = format!(
        "context: {{l: []}}\n{}",
        amplifier("- {id: x, type: bash, foreach: '{{l}}', command: echo}\n")
    );
    let each = "type: bash, foreach: '{{o.l}}', command: echo";
    let over = "type: bash, foreach: '{{l}}', max_iterations: 2, command: echo";
    let forgiven = &format!("{over}, on_error: continue");
    let nested = "while_condition: '{{n}} == 2', steps: [{id: b, type: bash, foreach: '{{l}}', command: echo}]";
    for (step, set, refused) in [
        ("type: bash, command: 'echo {{o.k}}'", "o={\"z\":1}", true),
        ("type: bash, command: 'echo {{o.k}}'", "o=text", true),
        (
            "type: bash, command: 'echo', condition: '{{o.k}} == 1'",
            "o={\"z\":1}",
            true,
        ),
        (each, "o={\"l\":5}", true),
        ("type: bash, command: echo, timeout: '{{n}}'", "n=abc", true),
        ("type: bash, command: echo, timeout: '{{n}}'", "n=0", true),
        (
            "type: bash, command: echo, foreach: '{{l}}', max_iterations: '{{n}}'",
            "n=abc",
            true,
        ),
        (
            "type: recipe, recipe: sub.yaml, context: {l: '{{l}}'}",
            "l=5",
            true,
        ),
        ("type: bash, command: 'echo {{o.k}}'", "o={\"k\":2}", false),
        (each, "o={\"l\":[]}", false),
        (
            "type: bash, command: 'echo {{o.k}}', condition: '{{n}} == 2'",
            "o={\"z\":1}",
            false,
        ),
        (
            "type: bash, command: 'echo {{o.k}}', on_error: continue",
            "o={\"z\":1}",
            false,
        ),
        (over, "l=text", true),
        (over, "l=[1, 2, 3]", true),
        (forgiven, "l=text", false),
        (forgiven, "l=[1, 2, 3]", false),
        (nested, "l=text", false),
        (
            "type: bash, command: 'echo', condition: '{{n}} == 2 and {{o.k}} == 1'",
            "o={\"z\":1}",
            false,
        ),
    ] {
        let folder = Folder::with("sub.yaml", &child);
        let context = "context: {o: {k: 1, l: []}, n: 1, l: []}\n";
        let steps = format!("{first}- {{id: a, {step}}}\n");
        folder.write("a.yaml", format!("{context}{}", amplifier(&steps)));
        let code = if refused { 2 } else { 0 };
        folder.rrc(&["run", "a.yaml", "-s", set]).go().exits(code);
        assert_eq!(folder.has("RAN"), !refused, "{step} with {set}");
    }
}

/// `--vars` is read as the recipe is: what `yes` and `010` are is for its dialect to say.
#[test]
fn a_file_of_variables_is_read_as_the_recipe_is() {
    let folder = Folder::new();
    folder.write("v.yaml", "a: yes\nb: 010\nc: 1_000\nd: 1:30\n");
    folder.write("v.json", "{\"a\": \"yes\"}");
    let context = "context: {a: 0, b: 0, c: 0, d: 0}\n";
    let old = json!({"a": true, "b": 8, "c": 1000, "d": 90});
    let new = json!({"a": "yes", "b": "010", "c": "1_000", "d": "1:30"});
    for (dialect, expected) in [("amplifier", old), ("amplihack", new)] {
        let step = "- {id: x, type: bash, command: 'true'}\n";
        folder.write(
            "a.yaml",
            format!("# rrc: dialect = {dialect}\n{context}{}", amplifier(step)),
        );
        let all = run(&folder, &["--vars", "v.yaml"], 0);
        for name in ["a", "b", "c", "d"] {
            assert_eq!(all["context"][name], expected[name], "{name} in {dialect}");
        }
        let all = run(&folder, &["--vars", "v.json"], 0);
        assert_eq!(all["context"]["a"], "yes");
    }
}

#[test]
fn values_from_a_pipe_are_read_once() {
    let folder = Folder::new();
    let steps = "- {id: a, type: bash, command: 'echo {{v}}', output: o}\n";
    folder.write("a.yaml", format!("context: {{v: 0}}\n{}", amplifier(steps)));
    let script = "\"$RRC\" run a.yaml --vars <(echo 'v: yes') --output-format json";
    let said = folder.sh(script).go().exits(0);
    assert_eq!(said.json()["context"]["o"], "true\n");
}

#[test]
fn a_value_that_a_called_recipe_replaces_is_not_judged() {
    let folder = Folder::with(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: t\ncontext: {x: none}\nsteps:\n\
         - {id: find, recipe: find}\n- {id: each, foreach: '{{x}}', command: 'echo {{item}}'}\n",
    );
    folder.write(
        "find.yaml",
        "name: find\nsteps:\n- {id: q, command: \"echo '[1]'\", parse_json: true, output: x}\n",
    );
    for args in [&[][..], &["--set", "x=some"]] {
        assert_eq!(run(&folder, args, 0)["context"]["each"], 1);
    }
}
