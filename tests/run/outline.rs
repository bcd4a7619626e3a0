//! What is said of a run without running it: `--validate-only` and `--explain`.

use crate::binary::Folder;
use crate::{amplifier, run};

#[test]
fn validate_only_runs_nothing() {
    let folder = Folder::with(
        "a.yaml",
        amplifier("- {id: a, type: bash, command: touch ran}\n"),
    );
    folder
        .rrc(&["run", "--validate-only", "a.yaml"])
        .go()
        .exits(0)
        .no_out();
    assert!(!folder.has("ran"));
}

#[test]
fn what_certainly_fails_by_its_values_is_not_said_to_be_able_to_run() {
    let recipe = amplifier("- {id: a, type: bash, command: touch ran}\n");
    let folder = Folder::with(
        "a.yaml",
        format!(
            "context: {{o: '  ', p: a.yaml}}\ncontext_validation: {{o: nonempty, p: path}}\n{recipe}"
        ),
    );
    folder.rrc(&["build", "a.yaml"]).go().exits(0);
    for file in ["a.yaml", "a.rrb"] {
        let validated = |more: &[&str]| {
            let args = ["run", "-q", "--validate-only", file];
            folder.rrc(&[&args[..], more].concat()).go()
        };
        let words = format!("rrc: {file}: `o` must not be empty\n");
        validated(&[]).exits(1).no_out().err_has(&words);
        validated(&["-s", "o=x"]).exits(0).no_err();
        let gone = validated(&["-s", "o=x", "-s", "p=gone"]).exits(1);
        gone.err_has("`p` must be a path that exists");
    }
    let call = "- {id: call, type: recipe, recipe: a.yaml, timeout: 60}\n";
    folder.write("call.yaml", amplifier(call));
    let args = ["run", "--validate-only", "call.yaml"];
    let said = folder.rrc(&args).go().exits(1);
    said.err_has("rrc: call.yaml: `o` must not be empty\n");
    assert!(!folder.has("ran") && !folder.has(".rrc"));
}

#[test]
fn what_would_run_is_shown_with_all_that_decides_about_it() {
    let folder = Folder::with(
        "a.yaml",
        amplifier(
            "- {id: one, type: bash, foreach: '{{xs}}', command: 'echo {{item}}', collect: all, retry: {max_attempts: 2}, on_error: continue}\n\
             - {id: two, type: bash, command: 'echo {{all}}', output: x, retry: {}, on_error: skip_remaining}\n",
        )
        .replace("steps:", "context: {xs: [1]}\nsteps:"),
    );
    let said = folder.rrc(&["run", "a.yaml", "--explain"]).go().exits(0);
    let said = said.out_has("one for each xs → all[], up to 2 tries, goes on after a failure\n");
    said.out_has("two → x, up to 3 tries, a failure skips the rest\n");
    let args = ["--dry-run", "--include-tags", "a"];
    let planned = run(&folder, &args, 0);
    assert_eq!(planned["context"], serde_json::json!({"xs": [1]}));
}

#[test]
fn what_the_rounds_of_a_loop_set_is_in_its_outline() {
    let folder = Folder::with(
        "a.yaml",
        amplifier(
            "- {id: one, type: bash, foreach: '{{xs}}', command: 'echo {{item}}', output: o, output_exit_code: ec, output_stderr: se}\n\
             - {id: two, type: bash, while_condition: '{{n}} < 2', update_context: {n: 2, m: 1}, command: 'echo {{n}}', output: n, output_exit_code: c}\n\
             - {id: three, type: bash, foreach: '{{xs}}', parallel: true, command: 'echo {{item}}', output: p}\n\
             - {id: four, type: bash, foreach: '{{xs}}', collect: all, command: 'echo {{item}}', output_exit_code: fc}\n\
             - {id: five, foreach: '{{xs}}', output: f, steps: [{id: in, type: bash, command: 'echo {{item}}', output: g}]}\n",
        )
        .replace("steps:\n", "context: {xs: [1], n: 1}\nsteps:\n"),
    );
    let said = folder.rrc(&["run", "a.yaml", "--explain"]).go().exits(0);
    for line in [
        "one for each xs → o → se → ec\n",
        "two while {{n}} < 2 → n → c → m\n",
        "three for each xs → p\n",
        "four for each xs → fc → all[]\n",
        "five for each xs → f\n",
        "in → g\n",
    ] {
        assert!(said.out.contains(line), "{line}{}", said.out);
    }
    let args = ["run", "a.yaml", "--explain", "--output-format", "json"];
    let said = folder.rrc(&args).go().exits(0);
    said.out_has(r#""stores":["o","se","ec"]"#);
}
