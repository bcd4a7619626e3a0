//! What `--dry-run` knows of what would happen.

use crate::binary::Folder;
use crate::{run, step};

/// What a run would skip for certain is not planned, also where the rest of a condition is unknown, and in
/// a recipe that is given what decides it.
#[test]
fn a_rehearsal_decides_what_is_certain() {
    let folder = Folder::new();
    let made = "- {id: q, command: echo y, output: q}\n";
    let steps = [
        ("a", "c and q"),
        ("b", "m == 'y' and q == 'z'"),
        ("d", "not (m == 'x' or q == 'z')"),
        ("e", "q and c"),
        ("f", "m == 'x' or q"),
    ];
    let list = |steps: &[(&str, &str)]| -> String {
        let steps = steps.iter();
        steps
            .map(|(id, condition)| {
                format!("- {{id: {id}, command: echo, condition: \"{condition}\"}}\n")
            })
            .collect()
    };
    folder.write(
        "sub.yaml",
        format!(
            "name: sub\ncontext: {{m: y}}\nsteps:\n{}",
            list(&[("g", "m == 'y'"), ("h", "m == 'x'")])
        ),
    );
    folder.write(
        "a.yaml",
        format!(
            "# rrc: dialect = amplihack\nname: a\ncontext: {{c: false, m: x}}\nsteps:\n{made}{}\
             - {{id: call, recipe: sub.yaml, context: {{m: '{{{{m}}}}'}}}}\n",
            list(&steps)
        ),
    );
    let all = run(&folder, &["--dry-run"], 0);
    for (id, status) in [
        ("a", "skipped"),
        ("b", "skipped"),
        ("d", "skipped"),
        ("e", "planned"),
        ("f", "planned"),
    ] {
        assert_eq!(step(&all, id)["status"], status, "{id}");
    }
    let inner = step(step(&all, "call"), "g");
    assert_eq!(inner["status"], "skipped");
    assert_eq!(step(step(&all, "call"), "h")["status"], "planned");
}

/// What a recipe sets is not certain where it may not be called, or may fail and be forgiven.
#[test]
fn a_rehearsal_does_not_know_whether_a_call_sets_anything() {
    let folder = Folder::new();
    folder.write(
        "sub.yaml",
        "name: sub\ncontext: {fresh: 1}\nsteps:\n- {id: q, command: echo}\n",
    );
    let call = "context: {mode: fast}, recipe: sub";
    for (how, status) in [
        ("condition: \"go == 'yes'\"", "planned"),
        ("continue_on_error: true", "planned"),
        ("condition: \"mode == 'safe'\"", "skipped"),
    ] {
        folder.write(
            "a.yaml",
            format!(
                "# rrc: dialect = amplihack\nname: a\ncontext: {{mode: safe}}\nsteps:\n\
                 - {{id: go, command: echo no}}\n- {{id: call, {how}, {call}}}\n\
                 - {{id: use, condition: \"mode == 'safe'\", command: echo}}\n\
                 - {{id: new, condition: fresh == null, command: echo}}\n"
            ),
        );
        let all = run(&folder, &["--dry-run"], 0);
        assert_eq!(step(&all, "use")["status"], status, "{how}");
        assert_eq!(step(&all, "new")["status"], status, "{how}");
    }
}

/// What a turn of a loop sets, the next one reads: only what no turn sets is certain in all of them. Turns
/// that run at once have variables of their own.
#[test]
fn a_rehearsal_does_not_know_what_turns_set() {
    let body = |name: &str| {
        format!(
            "  steps:\n\
             \x20 - {{id: {name}-reads, type: bash, condition: \"{{{{{name}}}}} == 'y'\", command: 'true'}}\n\
             \x20 - {{id: {name}-sets, type: bash, command: printf y, output: {name}}}\n\
             \x20 - {{id: {name}-never, type: bash, condition: \"{{{{fixed}}}} == 'y'\", command: 'true'}}\n"
        )
    };
    let folder = Folder::with(
        "a.yaml",
        format!(
            "# rrc: dialect = amplifier\nname: a\ndescription: d\nversion: 1.0.0\n\
             context: {{xs: [1, 2], fixed: x, a: x, b: x, c: x, d: x}}\nsteps:\n\
             - id: again\n  while_condition: \"{{{{a}}}} != 'z'\"\n{}\
             - id: each\n  foreach: '{{{{xs}}}}'\n{}\
             - id: beside\n  foreach: '{{{{xs}}}}'\n  parallel: true\n{}\
             - {{id: one, type: bash, while_condition: \"{{{{d}}}} != 'y'\", command: 'echo {{{{d}}}}', output: d}}\n",
            body("a"),
            body("b"),
            body("c"),
        ),
    );
    let all = run(&folder, &["--dry-run"], 0);
    for (outer, name, reads) in [
        ("again", "a", "planned"),
        ("each", "b", "planned"),
        ("beside", "c", "skipped"),
    ] {
        let steps = step(&all, outer);
        let status = |what: &str| step(steps, &format!("{name}-{what}"))["status"].clone();
        assert_eq!(status("reads"), reads, "{name}");
        assert_eq!(status("sets"), "planned", "{name}");
        assert_eq!(status("never"), "skipped", "{name}");
    }
    let said = folder.rrc(&["run", "--dry-run", "a.yaml"]).go().exits(0);
    said.out_has("RECIPE_VAR_d is known only when it runs");
}
