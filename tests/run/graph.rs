//! Steps that run as a graph, and deadlines of what holds other steps.

use crate::binary::Folder;
use crate::{amplifier, report, run, step};

/// Meets another step: both must run at the same time.
fn meet(own: &str, other: &str) -> String {
    format!(
        "touch {own}; for i in $(seq 600); do test -e {other} && exit 0; sleep 0.05; done; exit 1"
    )
}

#[test]
fn steps_that_need_nothing_of_each_other_run_at_once() {
    let folder = Folder::new();
    let steps = amplifier(&format!(
        "- {{id: a, type: bash, command: '{}'}}\n- {{id: b, type: bash, command: '{}'}}\n",
        meet("a", "b"),
        meet("b", "a")
    ));
    folder.write("a.yaml", format!("schedule: graph\n{steps}"));
    run(&folder, &[], 0);
}

#[test]
fn what_is_read_or_named_is_waited_for() {
    let folder = Folder::new();
    let steps = amplifier(
        "- {id: slow, type: bash, command: 'sleep 0.3; touch file; echo s', output: s}\n\
         - {id: reads, type: bash, command: 'echo {{s}} >> order'}\n\
         - {id: sets, type: bash, command: 'echo other', output: s}\n\
         - {id: again, type: bash, command: 'echo {{s}} >> order'}\n\
         - {id: named, type: bash, command: 'test -e file', depends_on: [slow]}\n\
         - {id: free, type: bash, command: 'test ! -e file'}\n",
    );
    folder.write("a.yaml", format!("schedule: graph\n{steps}"));
    let all = run(&folder, &[], 0);
    assert_eq!(all["context"]["s"], "other\n");
    assert_eq!(folder.read("order"), "s\n\nother\n\n");
}

#[test]
fn a_script_waits_for_what_its_environment_gives_it() {
    let recipe = "# rrc: dialect = amplihack\nname: t\nschedule: graph\nsteps:\n\
                  - {id: first, command: 'sleep 0.2; echo 1', output: my_value}\n\
                  - {id: second, command: 'echo got $MY_VALUE $RECIPE_VAR_my_value'}\n";
    let all = report(recipe, &[], 0);
    assert_eq!(all["context"]["second"], "got 1 1");

    let recipe = "# rrc: dialect = amplihack\nname: t\nschedule: graph\nsteps:\n\
                  - {id: first, command: 'sleep 0.2; echo hello', output: p}\n\
                  - {id: second, command: 'echo got $P'}\n";
    let all = report(recipe, &[], 0);
    assert_eq!(all["context"]["second"], "got hello");
}

#[test]
fn after_a_failure_what_runs_ends_and_nothing_starts() {
    let folder = Folder::new();
    let steps = amplifier(
        "- {id: slow, type: bash, command: 'sleep 0.5; touch slow; echo x', output: x}\n\
         - {id: bad, type: bash, command: exit 3}\n\
         - {id: later, type: bash, command: 'echo {{x}}; touch later'}\n",
    );
    folder.write("a.yaml", format!("schedule: graph\n{steps}"));
    let all = run(&folder, &[], 1);
    assert_eq!(all["status"], "failed");
    assert_eq!(step(&all, "bad")["exit_code"], 3);
    assert_eq!(step(&all, "slow")["status"], "completed");
    assert!(folder.has("slow") && !folder.has("later"), "{all}");
}

#[test]
fn stages_and_parents_are_graphs_as_well() {
    let folder = Folder::new();
    folder.write(
        "a.yaml",
        format!(
            "name: t\nversion: 1.0.0\ndescription: d\nschedule: graph\nstages:\n\
             - name: one\n  steps:\n  - {{id: a, type: bash, command: '{}'}}\n  - {{id: b, type: bash, command: '{}'}}\n\
             - name: two\n  steps:\n  - {{id: c, type: bash, command: test -e a -a -e b}}\n",
            meet("a", "b"),
            meet("b", "a")
        ),
    );
    run(&folder, &[], 0);
    let folder = Folder::new();
    folder.write(
        "base.yaml",
        format!(
            "name: base\nsteps:\n- {{id: a, command: '{}'}}\n- {{id: b, command: 'false'}}\n",
            meet("a", "b")
        ),
    );
    folder.write(
        "a.yaml",
        format!(
            "# rrc: dialect = amplihack\nname: t\nextends: base\nschedule: graph\nsteps:\n\
             - {{id: b, command: '{}'}}\n- {{id: c, command: test -e a -a -e b, depends_on: [b]}}\n",
            meet("b", "a")
        ),
    );
    run(&folder, &[], 0);
}

#[test]
fn a_recipe_that_takes_too_long_is_ended_with_all_in_it() {
    let folder = Folder::new();
    folder.write(
        "sub.yaml",
        "name: sub\nsteps:\n- {id: quick, command: echo q}\n- {id: nap, command: sleep 60; touch woke}\n",
    );
    folder.write(
        "a.yaml",
        "# rrc: dialect = amplihack\nname: t\nsteps:\n\
         - {id: call, recipe: sub, timeout: 0.4, continue_on_error: true}\n\
         - {id: fast, recipe: sub2, timeout: 30, output: result}\n\
         - {id: after, command: 'echo after [{{quick}}] {{two}}'}\n",
    );
    folder.write(
        "sub2.yaml",
        "name: sub2\nsteps:\n- {id: two, command: echo 2}\n",
    );
    let started = std::time::Instant::now();
    let all = run(&folder, &[], 0);
    assert!(
        started.elapsed().as_secs() < 20,
        "the deadline was waited for"
    );
    let call = step(&all, "call");
    assert_eq!(call["status"], "failed");
    assert_eq!(call["error"], "it took longer than allowed (limit 400ms)");
    assert_eq!(call["step_results"][1]["status"], "failed");
    assert_eq!(all["context"]["after"], "after [] 2");
    assert_eq!(all["context"]["result"]["two"], 2);
    assert!(!folder.has("woke"));
}
