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
