//! Iterations side by side: really at once, and never more than allowed.

use crate::amplifier;
use crate::binary::Folder;

/// Each iteration waits until as many are there as should be; too few would wait for long.
#[test]
fn iterations_run_at_once() {
    let folder = Folder::new();
    let wait = "touch here.{{item}}; for i in $(seq 600); do test $(ls here.* | wc -l) -ge 6 && exit 0; sleep 0.05; done; exit 1";
    let recipe = amplifier(&format!(
        "- {{id: a, type: bash, foreach: '{{{{list}}}}', parallel: true, command: '{wait}', collect: c}}\n"
    ));
    folder.write(
        "a.yaml",
        format!("context: {{list: [1, 2, 3, 4, 5, 6]}}\n{recipe}"),
    );
    crate::run(&folder, &[], 0);
}

/// Each iteration counts how many run beside it.
fn most_at_once(parallel: &str, args: &[&str]) -> usize {
    let folder = Folder::new();
    let count = "mkdir -p run; touch run/{{item}}; ls run | wc -l >> seen.{{item}}; sleep 0.15; ls run | wc -l >> seen.{{item}}; rm run/{{item}}";
    let recipe = amplifier(&format!(
        "- {{id: a, type: bash, foreach: '{{{{list}}}}', parallel: {parallel}, command: '{count}'}}\n"
    ));
    folder.write(
        "a.yaml",
        format!("context: {{list: [1, 2, 3, 4, 5, 6, 7, 8]}}\n{recipe}"),
    );
    crate::run(&folder, args, 0);
    let seen = (1..=8).map(|item| folder.read(&format!("seen.{item}")));
    let numbers = seen.flat_map(|text| {
        text.lines()
            .map(|line| line.trim().parse::<usize>().unwrap())
            .collect::<Vec<_>>()
    });
    numbers.max().unwrap()
}

#[test]
fn never_more_than_jobs_run_at_once() {
    assert_eq!(most_at_once("true", &["--jobs", "3"]), 3);
    assert_eq!(most_at_once("true", &["--jobs", "1"]), 1);
    assert_eq!(most_at_once("false", &[]), 1);
    assert_eq!(most_at_once("2", &[]), 2);
    assert_eq!(most_at_once("4", &["--jobs", "2"]), 2);
}

#[test]
fn results_keep_the_order_of_the_list() {
    let recipe = amplifier(
        "- {id: a, type: bash, foreach: '{{list}}', as: n, parallel: true, command: 'sleep 0.{{n}}; echo {{n}}', collect: c}\n",
    );
    let all = crate::report(&format!("context: {{list: [3, 1, 2]}}\n{recipe}"), &[], 0);
    assert_eq!(
        all["context"]["c"],
        serde_json::json!(["3\n", "1\n", "2\n"])
    );
}

#[test]
fn all_iterations_come_to_their_end_before_the_step_fails() {
    let folder = Folder::new();
    let command = "sleep 0.{{item}}; test {{item}} != 1; code=$?; touch done.{{item}}; exit $code";
    let recipe = amplifier(&format!(
        "- {{id: a, type: bash, foreach: '{{{{list}}}}', parallel: true, command: '{command}'}}\n\
         - {{id: never, type: bash, command: touch never}}\n"
    ));
    folder.write("a.yaml", format!("context: {{list: [1, 2, 3]}}\n{recipe}"));
    let all = crate::run(&folder, &[], 1);
    assert_eq!(all["status"], "failed");
    assert!(
        (1..=3).all(|item| folder.has(&format!("done.{item}"))),
        "{all}"
    );
    assert!(!folder.has("never"));
}

#[test]
fn no_more_run_at_once_than_there_are_descriptors_for() {
    let folder = Folder::new();
    let items: Vec<String> = (1..=40).map(|item| item.to_string()).collect();
    let recipe = amplifier(
        "- {id: a, type: bash, foreach: '{{list}}', parallel: true, command: 'sleep 0.1; printf x'}\n",
    );
    let list = items.join(", ");
    folder.write("a.yaml", format!("context: {{list: [{list}]}}\n{recipe}"));
    for most in [32, 64, 100] {
        let run = format!("ulimit -n {most}; exec \"$RRC\" run a.yaml");
        folder.sh(&run).go().exits(0);
    }
}

/// What an iteration gives is what the last of its steps gave that ran, beside others or not.
#[test]
fn a_group_gives_the_value_of_an_iteration() {
    let z = "{id: z, command: 'echo z{{n}}'}";
    let a = "{id: a, parallel_group: g, command: 'echo a{{n}}'}";
    let b = "{id: b, parallel_group: g, command: 'echo b{{n}}'";
    let over = "foreach: '{{xs}}', as: n";
    let twice = "while_condition: 'true', max_while_iterations: 2";
    let turns = |steps: String| steps.replace("{{n}}", "{{_loop_iteration}}");
    for (around, steps, expected) in [
        (over, format!("{z}, {a}, {b}}}"), ["b1", "b2"]),
        (over, format!("{a}, {b}}}"), ["b1", "b2"]),
        (
            over,
            format!("{z}, {a}, {b}, condition: 'n == 1'}}"),
            ["b1", "a2"],
        ),
        (
            over,
            format!(
                "{z}, {a}, {{id: b, parallel_group: g, command: 'exit 1', on_error: skip_remaining, condition: 'n > 2'}}"
            ),
            ["a1", "a2"],
        ),
        (
            "foreach: '{{xs}}', as: n, parallel: true",
            format!("{z}, {a}, {b}}}"),
            ["b1", "b2"],
        ),
        (
            "foreach: '{{xs}}', as: n, timeout: 60",
            format!("{z}, {a}, {b}}}"),
            ["b1", "b2"],
        ),
        (twice, turns(format!("{z}, {a}, {b}}}")), ["b1", "b2"]),
    ] {
        for (bind, expected) in [
            ("collect", serde_json::json!(expected)),
            ("output", serde_json::json!(expected[1])),
        ] {
            let recipe = format!(
                "# rrc: dialect = amplihack\nname: a\ncontext: {{xs: [1, 2]}}\nsteps:\n\
                 - {{id: l, {around}, {bind}: got, steps: [{steps}]}}\n"
            );
            let all = crate::report(&recipe, &[], 0);
            assert_eq!(all["context"]["got"], expected, "{recipe}");
        }
    }
}

/// Whichever comes first, in time or in the file: a failure is not made up for by a step that only
/// ends the rest.
#[test]
fn a_failure_counts_before_what_only_ends_the_rest() {
    let (skips, fails) = (
        "id: a, type: bash, command: 'exit 3', on_error: skip_remaining",
        "id: b, type: bash, command: 'sleep 0.1; exit 4'",
    );
    let group = ", parallel_group: g";
    let lists = [
        format!("steps: [{{{skips}{group}}}, {{{fails}{group}}}]\n"),
        format!("steps: [{{{fails}{group}}}, {{{skips}{group}}}]\n"),
        format!("schedule: graph\nsteps: [{{{skips}}}, {{{fails}}}]\n"),
        format!(
            "context: {{xs: [1, 2]}}\nsteps: [{{id: l, foreach: '{{{{xs}}}}', parallel: true, steps: \
             [{{{skips}, condition: '{{{{item}}}} == 1'}}, {{{fails}}}]}}]\n"
        ),
    ];
    for list in lists {
        let recipe = format!(
            "# rrc: dialect = amplifier\nname: a\ndescription: a test\nversion: 1.0.0\n{list}"
        );
        let all = crate::report(&recipe, &[], 1);
        assert_eq!(all["status"], "failed", "{recipe}");
    }
}
