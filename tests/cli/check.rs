//! What `check` reads, what it fixes, and what it leaves alone.

use crate::binary::Folder;
use crate::{BAD, GOOD, WARNING};

#[test]
fn what_git_ignores_is_passed_over_in_a_copy_without_history() {
    let folder = Folder::with("a.yaml", GOOD);
    folder.write("made/b.yaml", BAD);
    folder.write(".gitignore", "made/\n");
    folder.rrc(&["check"]).go().exits(0);
    folder.rrc(&["check", "made/b.yaml"]).go().exits(1);
}

#[test]
fn a_directory_is_walked_as_git_sees_it() {
    let folder = Folder::with("b.yaml", BAD);
    folder.write("a.yml", BAD);
    folder.write("deep/er/c.yaml", BAD);
    folder.write(".claude/recipes/hidden.yaml", BAD);
    folder.write("docker-compose.yaml", "services: {a: {image: b}}\n");
    folder.write("notes.txt", "steps: none\n");
    folder.write("broken.json", "{");
    folder.write("ignored/d.yaml", BAD);
    folder.write("skipped.yaml", BAD);
    folder.write(".gitignore", "ignored/\nskipped.yaml\n");
    folder.write(".git/HEAD", "ref: refs/heads/main\n");
    folder.write(".git/e.yaml", BAD);
    let said = folder
        .rrc(&["check", ".", "--format", "concise", "--select", "RRC0201"])
        .go()
        .exits(1);
    let files: Vec<&str> = said
        .out
        .lines()
        .filter_map(|line| line.split(':').next())
        .collect();
    let expected = [
        "./.claude/recipes/hidden.yaml",
        "./a.yml",
        "./b.yaml",
        "./deep/er/c.yaml",
    ];
    assert_eq!(files, expected, "{said:?}");
    // Without a path, it is the directory we are in.
    let same = folder
        .rrc(&["check", "--format", "concise", "--select", "RRC0201"])
        .go()
        .exits(1);
    assert_eq!(same.out, said.out);
    // What is named is checked, whatever git thinks of it, and refused if it is no recipe.
    folder
        .rrc(&["check", "skipped.yaml"])
        .go()
        .exits(1)
        .out_has("RRC0201");
    folder
        .rrc(&["check", "docker-compose.yaml"])
        .go()
        .exits(2)
        .out_has("services");
}

#[test]
fn nothing_to_check_is_wrong_usage() {
    let folder = Folder::with("readme.txt", "");
    folder
        .rrc(&["check", "."])
        .go()
        .exits(2)
        .no_out()
        .err_has("no recipes");
    folder
        .rrc(&["check"])
        .go()
        .exits(2)
        .no_out()
        .err_has("no recipes");
}

#[test]
fn links_in_circles_end() {
    let folder = Folder::with("d/a.yaml", GOOD);
    std::os::unix::fs::symlink("..", folder.file("d/up")).unwrap();
    folder.rrc(&["check", "."]).go().exits(0);
}

#[test]
fn select_and_ignore_take_codes_and_names() {
    let folder = Folder::with("a.yaml", BAD);
    let codes = |args: &[&str]| {
        let mut all = vec!["check", "a.yaml", "--format", "concise"];
        all.extend(args);
        let said = folder.rrc(&all).go();
        let has = |code: &str| said.out.contains(code);
        (has("RRC0201"), has("RRC0304"), said.code)
    };
    assert_eq!(codes(&[]), (true, true, Some(1)));
    assert_eq!(codes(&["--select", "RRC0201"]), (true, false, Some(1)));
    assert_eq!(codes(&["--select", "not-a-hole"]), (false, true, Some(0)));
    assert_eq!(
        codes(&["--select", "rrc0201,NOT-A-HOLE"]),
        (true, true, Some(1))
    );
    assert_eq!(codes(&["--ignore", "RRC0201"]), (false, true, Some(0)));
    assert_eq!(
        codes(&["--ignore", "RRC0201", "--ignore", "RRC0304"]),
        (false, false, Some(0))
    );
    assert_eq!(
        codes(&["--ignore", "RRC0201", "--deny-warnings"]),
        (false, true, Some(1))
    );
    assert_eq!(
        codes(&["--select", "RRC0201", "--ignore", "RRC0201"]),
        (false, false, Some(0))
    );
}

#[test]
fn standard_input_has_the_name_it_is_given() {
    let folder = Folder::new();
    let check = |args: &[&str], text: &str| folder.rrc(args).input(text).go();
    check(&["check", "-", "--format", "concise"], BAD)
        .exits(1)
        .out_has("<stdin>:10:22: error");
    let named = [
        "check",
        "-",
        "--stdin-filename",
        "x/y.yaml",
        "--format",
        "concise",
    ];
    check(&named, BAD).exits(1).out_has("x/y.yaml:10:22: error");
    check(&["check", "-"], GOOD).exits(0).no_out();
    check(&["check", "-"], "")
        .exits(2)
        .out_has("the file is empty");
    // Where a recipe is kept may say what it is.
    let kept = [
        "check",
        "-v",
        "-",
        "--stdin-filename",
        ".claude/recipes/y.yaml",
    ];
    check(&kept, GOOD).exits(0).err_has("amplihack");
}

#[test]
fn fix_rewrites_the_file_and_keeps_the_rest_of_it() {
    let folder = Folder::with("a.yaml", BAD);
    folder
        .rrc(&["check", "--fix", "a.yaml"])
        .go()
        .exits(0)
        .err_has("1 finding fixed");
    assert_eq!(folder.read("a.yaml"), BAD.replace("usre", "user"));
    // Nothing is left to fix, and nothing changes.
    folder.rrc(&["check", "--fix", "a.yaml"]).go().exits(0);
    assert_eq!(folder.read("a.yaml"), BAD.replace("usre", "user"));
    folder
        .rrc(&["check", "--fix", "--unsafe-fixes", "a.yaml"])
        .go()
        .exits(0);
    assert_eq!(
        folder.read("a.yaml"),
        BAD.replace("usre", "user")
            .replace("{{ user }}", "{{user}}")
    );
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no file is left beside it: {left:?}");
}

#[test]
fn fix_keeps_line_endings_a_byte_order_mark_and_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let text = format!("\u{feff}{}", BAD.replace('\n', "\r\n"));
    let folder = Folder::with("a.yaml", &text);
    let path = folder.file("a.yaml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("a.yaml", folder.file("link.yaml")).unwrap();
    folder.rrc(&["check", "--fix", "link.yaml"]).go().exits(0);
    assert_eq!(folder.read("a.yaml"), text.replace("usre", "user"));
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(folder.file("link.yaml").is_symlink(), "a link stays a link");
}

#[test]
fn fix_does_what_select_and_ignore_say() {
    let folder = Folder::with("a.yaml", BAD);
    let args = ["check", "--fix", "--ignore", "RRC0201", "a.yaml"];
    folder.rrc(&args).go().exits(0);
    assert_eq!(folder.read("a.yaml"), BAD);
}

#[test]
fn fix_of_standard_input_is_a_filter() {
    let folder = Folder::new();
    let said = folder
        .rrc(&["check", "--fix", "-"])
        .input(BAD)
        .go()
        .exits(0);
    assert_eq!(said.out, BAD.replace("usre", "user"));
    assert!(
        said.err.contains("RRC0304"),
        "what is left is said: {said:?}"
    );
    let said = folder
        .rrc(&["check", "--fix", "-"])
        .input(GOOD)
        .go()
        .exits(0);
    assert_eq!(said.out, GOOD, "what needs no fix comes out as it went in");
}

#[test]
fn diff_shows_and_changes_nothing() {
    let folder = Folder::with("a.yaml", BAD);
    let said = folder.rrc(&["check", "--diff", "a.yaml"]).go().exits(1);
    assert_eq!(folder.read("a.yaml"), BAD);
    let changed: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.starts_with(['+', '-']))
        .collect();
    assert_eq!(
        changed,
        [
            "--- a.yaml",
            "+++ a.yaml",
            "-    command: 'echo {{usre}} {{ user }}'",
            "+    command: 'echo {{user}} {{ user }}'",
        ]
    );
    // A patch that tools take.
    folder.write("fix.patch", &said.out);
    let patched = folder.sh("patch -p0 < fix.patch").go();
    if patched.code == Some(127) {
        eprintln!("skipped: there is no `patch`");
    } else {
        assert_eq!(
            folder.read("a.yaml"),
            BAD.replace("usre", "user"),
            "{patched:?}"
        );
    }
    folder.write("a.yaml", BAD);
    let both = folder
        .rrc(&["check", "--diff", "--unsafe-fixes", "a.yaml"])
        .go()
        .exits(1);
    assert!(both.out.contains("{{user}} {{user}}"), "{both:?}");
    assert_eq!(folder.read("a.yaml"), BAD);
    let nothing = Folder::with("a.yaml", GOOD);
    nothing
        .rrc(&["check", "--diff", "a.yaml"])
        .go()
        .exits(0)
        .no_out();
}

#[test]
fn a_mistake_is_said_once() {
    let folder = Folder::new();
    let once = [
        (
            "name: a\nsteps:\n- {id: a, type: bash, comand: 'true'}\n",
            "RRC0102",
        ),
        (
            "nmae: a\nsteps:\n- {id: a, type: bash, command: 'true'}\n",
            "RRC0102",
        ),
        (
            "name: a\nsteps:\n- {id: a, type: bash, command: 'echo {{x}}', output: y}\n",
            "RRC0201",
        ),
        (
            "name: a\nsteps:\n- {id: a, type: bsh, command: 'true'}\n",
            "RRC0106",
        ),
        (
            "name: a\nsteps:\n- {id: a, type: bash, command: 'true', condition: '1 == '}\n",
            "RRC0301",
        ),
    ];
    for (text, code) in once {
        folder.write("a.yaml", text);
        let said = folder
            .rrc(&["check", "--format", "concise", "a.yaml"])
            .go()
            .exits(1);
        let lines: Vec<&str> = said.out.lines().collect();
        assert!(
            lines.len() == 1 && lines[0].contains(code),
            "{text}{said:?}"
        );
    }
}

#[test]
fn a_warning_alone_is_no_failure() {
    let folder = Folder::with("a.yaml", WARNING);
    folder
        .rrc(&["check", "a.yaml"])
        .go()
        .exits(0)
        .out_has("warning[RRC0304]");
    folder
        .rrc(&["check", "--deny-warnings", "a.yaml"])
        .go()
        .exits(1);
    folder
        .rrc(&["run", "a.yaml"])
        .go()
        .exits(0)
        .err_has("RRC0304");
    folder.rrc(&["-q", "run", "a.yaml"]).go().exits(0).no_err();
}

#[test]
fn a_recipe_that_is_not_there_is_compared_with_those_that_are() {
    let step = |name: &str| {
        GOOD.replace("type: bash", "type: recipe")
            .replace("command: echo hi", name)
    };
    let folder = Folder::with("a.yaml", step("recipe: chld"));
    folder.write("child.yaml", GOOD);
    folder.write("parts/other.yml", GOOD);
    let said = || folder.rrc(&["check", "a.yaml"]).go().exits(1);
    said().out_has("did you mean `child`?");
    for (wrong, near) in [("chidl.yaml", "child.yaml"), ("parts/othr", "parts/other")] {
        folder.write("a.yaml", step(&format!("recipe: {wrong}")));
        said().out_has(&format!("did you mean `{near}`?"));
    }
    folder.write("a.yaml", format!("{GOOD}extends: chidl\n"));
    said().out_has("did you mean `child`?");
}

#[test]
fn json_that_is_no_template_is_told_what_one_is() {
    let folder = Folder::with("a.json", "{\"version\": 3, \"rows\": []}");
    let said = folder.rrc(&["check", "a.json"]).go().exits(2);
    said.out_has("nothing in this file says that it is a template")
        .out_has("a template is an object with `template`");
}

#[test]
#[cfg(target_os = "linux")]
fn a_recipe_whose_name_is_no_text_is_not_passed_over() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::with("a.yaml", GOOD);
    let put = |name: &[u8], text: &str| {
        let name = std::ffi::OsStr::from_bytes(name);
        std::fs::write(folder.path().join(name), text).expect("the file is written");
    };
    put(b"\xff.yaml", "this: is none\n");
    folder.rrc(&["check", "."]).go().exits(0);
    put(b"caf\xe9.yaml", BAD);
    folder
        .rrc(&["check", "."])
        .go()
        .exits(2)
        .err_has("is not checked: its name is not UTF-8");
}

#[test]
fn what_may_not_be_read_is_not_passed_over() {
    let folder = Folder::with("a.yaml", GOOD);
    folder.write("locked.yaml", BAD);
    // Who may do everything may read everything, and becomes somebody else.
    let check = "mkdir closed; chmod 000 locked.yaml closed; trap 'chmod 755 closed' EXIT
        as() { if [ \"$(id -u)\" = 0 ]; then setpriv --reuid=65534 --clear-groups \"$@\"; else \"$@\"; fi; }
        as test -x \"$RRC\" -a -r . || exit 77
        as \"$RRC\" check .";
    let said = folder.sh(check).go();
    if said.code == Some(77) {
        // There is nobody else to become here.
        return;
    }
    said.exits(2)
        .out_has("`./locked.yaml` cannot be read")
        .err_has("`./closed` is not checked: permission denied");
}

#[test]
fn options_that_count_for_nothing_are_told() {
    let folder = Folder::with("a.yaml", GOOD);
    folder
        .rrc(&["check", "--stdin-filename", "b.yaml", "a.yaml"])
        .go()
        .exits(2)
        .err_has("--stdin-filename names what the path `-` reads");
    folder
        .rrc(&["check", "-R", "nodir", "a.yaml"])
        .go()
        .exits(0)
        .err_has("no recipes are looked for in `nodir`: there is no such directory");
    let listed = folder
        .rrc(&["list", "-q", "-R", "nodir"])
        .go()
        .err_has("`nodir`");
    assert!(!listed.err.contains("name a directory"), "{}", listed.err);
}
