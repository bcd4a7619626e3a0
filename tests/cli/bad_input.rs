//! Whatever a file holds, there is one clear answer with a place, soon and in little memory.

use crate::GOOD;
use crate::binary::{Folder, Said};
use std::fmt::Write;

/// Checks a file within bounds, and that `run` and `build` refuse it as well; gives the findings.
#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, code: i32) -> Vec<String> {
    let folder = Folder::with("a.yaml", bytes);
    let said = folder
        .bounded(&["check", "--format", "concise", "a.yaml"])
        .go()
        .exits(code)
        .no_err();
    for line in said.out.lines() {
        let rest = line
            .strip_prefix("a.yaml:")
            .unwrap_or_else(|| panic!("no place in {line}"));
        let numbers: Vec<&str> = rest.split(':').take(2).collect();
        assert!(
            numbers
                .iter()
                .all(|number| number.parse::<u32>().is_ok_and(|n| n > 0)),
            "{line}"
        );
        assert!(line.len() < 500, "{line}");
    }
    for command in ["run", "build"] {
        let said = folder.bounded(&[command, "a.yaml"]).go().exits(2).no_out();
        assert!(said.err.contains("a.yaml:"), "{said:?}");
    }
    assert!(!folder.has("a.rrb"));
    said.out.lines().map(String::from).collect()
}

/// The same, and there is exactly one finding, with this in it.
#[track_caller]
fn one(bytes: impl AsRef<[u8]>, code: i32, has: &str) {
    let findings = refused(bytes, code);
    assert!(
        findings.len() == 1 && findings[0].contains(has),
        "not `{has}`: {findings:?}"
    );
}

/// The same, and one of few findings has this in it.
#[track_caller]
fn among(bytes: impl AsRef<[u8]>, has: &str) {
    let findings = refused(bytes, 1);
    let found = findings.iter().any(|finding| finding.contains(has));
    assert!(found && findings.len() <= 100, "no `{has}`: {findings:?}");
}

#[test]
fn nothing_in_it() {
    one("", 2, "1:1: error[RRC0010]");
    one("# only\n# comments\n", 2, "RRC0010");
    one("\n\n   \n", 2, "RRC0010");
    one("---\n", 2, "RRC0010");
    one("\u{feff}", 2, "RRC0010");
}

#[test]
fn no_text() {
    one(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 2, "1:1: error[RRC0002]");
    one(b"name: caf\xe9\nsteps: []\n", 2, "1:10: error[RRC0002]");
    one(b"name: a\n# \xff\xfe\n", 2, "2:3: error[RRC0002]");
    one(b"\xff\xfen\0a\0m\0e\0", 2, "RRC0002");
    let binary: Vec<u8> = (0..100_000u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    one(binary, 2, "RRC0002");
    one(b"name: a\0b\nsteps: []\n", 1, "1:8: error[RRC0004]");
    one("name: \u{7}\nsteps: []\n", 1, "1:7: error[RRC0004]");
}

#[test]
fn a_megabyte_of_openings() {
    one(vec![b'['; 1_000_000], 1, "1:66: error[RRC0006]");
    one(vec![b'{'; 1_000_000], 1, "1:66: error[RRC0006]");
    among("- ".repeat(500_000), "RRC0006");
    among("? ".repeat(500_000), "RRC0006");
    among("a: ".repeat(333_333), "RRC0004");
    let mut nested = String::new();
    (0..1_300).for_each(|depth| writeln!(nested, "{}a:", " ".repeat(depth)).unwrap());
    among(nested, "RRC0006");
    among("[[]".repeat(333_333), "RRC0006");
    among("!a ".repeat(333_333), "RRC0004");
    among("\"".repeat(1_000_000), "RRC0004");
    among("&a ".repeat(333_333), "RRC0004");
    among("%".repeat(1_000_000), "RRC0004");
    one("|\n".repeat(500_000), 2, "RRC0010");
}

#[test]
fn nested_too_deeply() {
    among(
        format!("name: a\nx-a: {}{}\n", "[".repeat(64), "]".repeat(64)),
        "2:69: error[RRC0006]",
    );
    let folder = Folder::new();
    let deep = format!("{GOOD}x-a: {}{}\n", "[".repeat(63), "]".repeat(63));
    folder.write("a.yaml", deep);
    folder.bounded(&["check", "a.yaml"]).go().exits(0);
}

#[test]
fn aliases_that_grow() {
    let mut laughs = format!("{GOOD}x-0: &a0 [ha, ha]\n");
    for level in 1..40 {
        let above = level - 1;
        writeln!(
            laughs,
            "x-{level}: &a{level} [{}*a{above}]",
            format!("*a{above}, ").repeat(8)
        )
        .unwrap();
    }
    among(laughs, "RRC0007");
    let long = "x".repeat(400_000);
    let quadratic = format!(
        "{GOOD}x-a: &a {long}\nx-b: [{}*a]\n",
        "*a, ".repeat(100_000)
    );
    among(quadratic, "RRC0007");
    let mut merges = format!("{GOOD}x-0: &a0 {{k: v}}\n");
    for level in 1..2_000 {
        writeln!(
            merges,
            "x-{level}: &a{level} {{<<: *a{}, k{level}: v}}",
            level - 1
        )
        .unwrap();
    }
    among(merges, "RRC0007");
    one(format!("{GOOD}x-a: &a [*a]\n"), 1, "RRC000");
    one(format!("{GOOD}x-a: *nobody\n"), 1, "RRC0004");
}

#[test]
fn too_many_steps() {
    let mut steps = String::from("name: a\nsteps: [");
    (0..30_000).for_each(|number| write!(steps, "{{id: s{number},type: bash}},").unwrap());
    steps.push_str("]\n");
    assert!(steps.len() < 1_000_000);
    one(steps, 1, "RRC0601");
    let mut stages = String::from("name: a\nversion: 1.0.0\ndescription: d\nstages:\n");
    for stage in 0..3 {
        write!(stages, "- name: s{stage}\n  steps: [").unwrap();
        (0..10_000).for_each(|step| write!(stages, "{{id: {stage}-{step},type: bash}},").unwrap());
        stages.push_str("]\n");
    }
    one(stages, 1, "RRC0601");
    let mut long = String::from("name: a\nsteps:\n");
    (0..100_000)
        .for_each(|n| writeln!(long, "- {{id: s{n}, type: bash, command: 'true'}}").unwrap());
    one(long, 2, "RRC0003");
}

#[test]
fn too_large() {
    one(
        format!("{GOOD}# {}\n", "x".repeat(1_000_000)),
        2,
        "1:1: error[RRC0003]",
    );
    let folder = Folder::new();
    let largest = format!("{GOOD}# {}\n", "x".repeat(1_000_000 - GOOD.len() - 3));
    assert_eq!(largest.len(), 1_000_000);
    folder.write("a.yaml", largest);
    folder.bounded(&["check", "a.yaml"]).go().exits(0);
    // Found by walking, a recipe is as much too large; data is only data.
    let data = format!("a: 1\n# {}\n", "x".repeat(1_000_000));
    folder.write("data.yaml", data);
    folder.bounded(&["check"]).go().exits(0);
    folder.write("b.yaml", format!("{GOOD}# {}\n", "x".repeat(1_000_000)));
    let said = folder.bounded(&["check", "--format", "concise"]).go();
    let said = said.exits(2).out_has("./b.yaml:1:1: error[RRC0003]");
    assert_eq!(said.out.lines().count(), 1, "{said:?}");
}

#[test]
fn what_has_no_end() {
    let folder = Folder::new();
    std::os::unix::fs::symlink("/dev/zero", folder.file("zero.rrb")).unwrap();
    for args in [
        &["check", "/dev/zero"][..],
        &["run", "/dev/zero"],
        &["build", "/dev/zero"],
        &["disasm", "/dev/zero"],
        &["run", "zero.rrb"],
        &["eval", "1", "--vars", "/dev/zero"],
    ] {
        let said = folder.bounded(args).go().exits(2);
        assert!(
            said.err.contains("zero") || said.out.contains("zero"),
            "{said:?}"
        );
    }
    // A pipe that is written to is as good as a file; one that goes on is cut off.
    folder.write("a.yaml", GOOD);
    folder.sh("\"$RRC\" check <(cat a.yaml)").go().exits(0);
    folder
        .sh("\"$RRC\" check - < <(yes)")
        .go()
        .exits(2)
        .out_has("RRC0003");
    folder
        .sh("mkfifo pipe && (yes > pipe & \"$RRC\" check pipe)")
        .go()
        .exits(2)
        .out_has("RRC0003");
}

#[test]
fn what_cannot_be_read() {
    let folder = Folder::with("secret.yaml", GOOD);
    folder.write("dir/x.txt", "");
    folder
        .rrc(&["check", "missing.yaml"])
        .go()
        .exits(2)
        .out_has("there is no file `missing.yaml`")
        .out_has("[ missing.yaml ]");
    folder.rrc(&["check", ""]).go().exits(2);
    folder
        .rrc(&["check", "secret.yaml/deeper"])
        .go()
        .exits(2)
        .out_has("RRC0001");
    folder
        .rrc(&["check", &"long/".repeat(1000)])
        .go()
        .exits(2)
        .out_has("RRC0001");
    for command in ["run", "build", "disasm"] {
        folder
            .rrc(&[command, "dir"])
            .go()
            .exits(2)
            .no_out()
            .err_has("`dir` is a directory");
        folder
            .rrc(&[command, "missing.rrb"])
            .go()
            .exits(3)
            .no_out()
            .err_has("missing.rrb");
    }
    for command in ["run", "build"] {
        folder
            .rrc(&[command, "missing.yaml"])
            .go()
            .exits(3)
            .no_out()
            .err_has("missing.yaml");
        folder
            .rrc(&[command, "missing"])
            .go()
            .exits(3)
            .no_out()
            .err_has("missing");
    }
    // Memory of a process cannot be read at its beginning, whoever asks.
    if std::path::Path::new("/proc/self/mem").exists() {
        folder
            .rrc(&["check", "/proc/self/mem"])
            .go()
            .exits(2)
            .out_has("cannot be read");
        folder
            .rrc(&["run", "/proc/self/mem"])
            .go()
            .exits(2)
            .err_has("cannot be read");
        folder
            .rrc(&["disasm", "/proc/self/mem"])
            .go()
            .exits(2)
            .err_has("cannot be read");
    }
    let path = folder.file("secret.yaml");
    let nobody = std::os::unix::fs::PermissionsExt::from_mode(0o0);
    std::fs::set_permissions(&path, nobody).unwrap();
    if std::fs::read(&path).is_ok() {
        eprintln!("skipped: this user may read files that nobody may read");
        return;
    }
    folder
        .rrc(&["check", "secret.yaml"])
        .go()
        .exits(2)
        .out_has("cannot be read");
    folder
        .rrc(&["run", "secret.yaml"])
        .go()
        .exits(2)
        .err_has("cannot be read");
}

#[test]
fn names_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.yaml");
    std::fs::write(folder.path().join(name), GOOD).unwrap();
    folder.sh("\"$RRC\" check caf*.yaml").go().exits(2);
    // A directory that holds one is checked to its end.
    folder.write("z.yaml", "name: z\nsteps: 1\n");
    folder
        .sh("\"$RRC\" check --format concise .")
        .go()
        .out_has("z.yaml:2:8: error");
}

#[test]
fn written_elsewhere() {
    let folder = Folder::new();
    let check = |text: String| -> Said {
        folder.write("a.yaml", text);
        folder.rrc(&["check", "a.yaml", "--format", "concise"]).go()
    };
    check(GOOD.replace('\n', "\r\n")).exits(0).no_out();
    check(GOOD.replace('\n', "\r")).exits(0).no_out();
    check(format!("\u{feff}{GOOD}")).exits(0).no_out();
    check(format!("\u{feff}{}", GOOD.replace('\n', "\r\n")))
        .exits(0)
        .no_out();
    check(format!("---\n{GOOD}...\n")).exits(0).no_out();
    check(format!("%YAML 1.1\n---\n{GOOD}")).exits(0).no_out();
    folder.write("a.yaml", GOOD.replace('\n', "\r\n"));
    folder
        .rrc(&["run", "a.yaml"])
        .go()
        .exits(0)
        .out_has("completed a");
}

#[test]
fn no_recipe() {
    one("hello\n", 2, "1:1: error[RRC0010]");
    one("42\n", 2, "1:1: error[RRC0010]");
    one("- a\n- b\n", 2, "1:1: error[RRC0010]");
    one("true\n", 2, "RRC0010");
    one("~\n", 2, "RRC0010");
    one(format!("{GOOD}---\n{GOOD}"), 1, "6:1: error[RRC0009]");
    one("name: a\n", 1, "this recipe has no `steps`");
    one("name: a\nsteps: []\n", 1, "`steps` is empty");
    one("name: a\nsteps:\n", 1, "2:1: error[RRC0103]");
    one(
        "name: ' '\nsteps: [{id: a, type: bash, command: 'true'}]\n",
        1,
        "`name` is blank",
    );
}

#[test]
fn broken_yaml() {
    one(
        "name: a\nsteps:\n\t- id: x\n",
        1,
        "3:1: error[RRC0004] a tab",
    );
    one(format!("name: b\n{GOOD}"), 1, "2:1: error[RRC0008]");
    one(
        "name: \"a\nsteps: []\n",
        1,
        "1:7: error[RRC0004] this `\"` is never closed",
    );
    one("name: 'a\nsteps: []\n", 1, "1:7: error[RRC0004]");
    one(
        "name: a\nsteps: [{id: a, type: bash, command: 'true'}\n",
        1,
        "2:8: error[RRC0004]",
    );
    one(
        "name: a\nsteps: [{id: a, type: bash, command: 'true'\n",
        1,
        "2:8: error[RRC0004]",
    );
    one(
        "name: a\nsteps:\n  - id: a\n   type: bash\n",
        1,
        "4:4: error[RRC0004]",
    );
    one(
        "name: {{x}}\nsteps: [{id: a, type: bash, command: 'true'}]\n",
        1,
        "1:7: error[RRC0013]",
    );
    one(
        "name: @a\nsteps: [{id: a, type: bash, command: 'true'}]\n",
        1,
        "1:7: error[RRC0004]",
    );
    one(
        "name: \"\\q\"\nsteps: [{id: a, type: bash, command: 'true'}]\n",
        1,
        "1:8: error[RRC0004]",
    );
    one(
        "name: a: b\nsteps: [{id: a, type: bash, command: 'true'}]\n",
        1,
        "1:8: error[RRC0004]",
    );
    one(
        "<<: 3\nname: a\nsteps: [{id: a, type: bash, command: 'true'}]\n",
        1,
        "RRC0011",
    );
}
