//! `# rrc: ignore[…]`.

use crate::BAD;
use crate::binary::Folder;

fn ignoring(comment: &str) -> String {
    BAD.replace("{{whom}}", &format!("{{{{whom}}}}  {comment}"))
}

#[test]
fn a_comment_silences_in_every_format_and_for_run_and_build() {
    let text = ignoring("# rrc: ignore[RRC0201] given by whoever runs it");
    let folder = Folder::with("a.yaml", text);
    for format in ["human", "concise", "json", "sarif", "github"] {
        let said = folder.rrc(&["check", "a.yaml", "--format", format]).go();
        let said = said.exits(0);
        assert!(!said.out.contains("`whom`"), "{said:?}");
    }
    folder.rrc(&["build", "a.yaml"]).go().exits(0);
    folder
        .rrc(&["run", "a.yaml", "-s", "whom=ada"])
        .go()
        .exits(0);
    // What must fail fails when it comes to that.
    folder.rrc(&["run", "a.yaml"]).go().exits(1).out_has("whom");
}

#[test]
fn a_recipe_without_a_meaning_does_not_run_whatever_is_ignored() {
    let text = "\
name: a
steps:
  - id: a
    type: bash
    command: echo hi
    # rrc: ignore[RRC0301]
    condition: \"1 ==\"
";
    let folder = Folder::with("a.yaml", text);
    folder.rrc(&["check", "a.yaml"]).go().exits(0).no_out();
    folder
        .rrc(&["build", "a.yaml"])
        .go()
        .exits(2)
        .err_has("RRC0301");
    folder
        .rrc(&["run", "a.yaml"])
        .go()
        .exits(2)
        .no_out()
        .err_has("RRC0301");
}

fn concise(text: &str) -> String {
    let folder = Folder::with("a.yaml", text);
    folder
        .rrc(&["check", "--format", "concise", "a.yaml"])
        .go()
        .out
}

#[test]
fn names_and_codes_in_any_case_and_several_of_them() {
    for comment in [
        "# rrc: ignore[undefined-variable]",
        "# rrc: ignore[rrc0201]",
        "#rrc:ignore[RRC0201]",
        "# words # rrc: ignore[RRC0201] more words",
        "#  rrc:  ignore [ RRC0201 ]",
    ] {
        assert_eq!(concise(&ignoring(comment)), "", "{comment}");
    }
    let two = concise(&ignoring("# rrc: ignore[RRC0301, undefined-variable]"));
    assert!(two.contains("RRC0015") && two.lines().count() == 1, "{two}");
}

#[test]
fn a_comment_of_its_own_speaks_for_the_next_line() {
    let above = BAD.replace(
        "    command",
        "    # rrc: ignore[RRC0201]\n    # why\n    command",
    );
    assert_eq!(concise(&above), "");
    // Not for the one after that, nor for the one before.
    let far = BAD.replace("    type", "    # rrc: ignore[RRC0201]\n    type");
    let said = concise(&far);
    assert!(
        said.contains("RRC0201") && said.contains("RRC0015"),
        "{said}"
    );
    let below = format!("{BAD}    # rrc: ignore[RRC0201]\n");
    let said = concise(&below);
    assert!(
        said.contains("RRC0201") && said.contains("RRC0015"),
        "{said}"
    );
    // A comment at the end of a line does not speak for the next one.
    let before = BAD.replace("type: bash", "type: bash # rrc: ignore[RRC0201]");
    let said = concise(&before);
    assert!(
        said.contains("RRC0201") && said.contains("RRC0015"),
        "{said}"
    );
}

#[test]
fn a_text_is_covered_to_its_end_and_has_comments_of_its_own() {
    let block = |above: &str, inside: &str| {
        format!(
            "name: a\nsteps:\n  - id: a\n    type: bash\n{above}    command: |\n      echo 1\n{inside}      echo {{{{x}}}}\n      echo {{{{y}}}}\n"
        )
    };
    assert_eq!(concise(&block("    # rrc: ignore[RRC0201]\n", "")), "");
    let one = concise(&block("", "      # rrc: ignore[RRC0201] why\n"));
    assert!(one.contains("`y`") && !one.contains("`x`"), "{one}");
    // Text in quotes is no comment, and nothing is taken out of it.
    let quoted = BAD.replace("echo {{whom}}", "'echo {{whom}} # rrc: ignore[RRC0201]'");
    let said = concise(&quoted);
    assert!(
        said.contains("RRC0201") && !said.contains("RRC0015"),
        "{said}"
    );
}

#[test]
fn what_is_unused_is_said_and_removed() {
    let text = "\
# rrc: ignore[RRC0201] at the top
name: a
steps:
  - id: a   # kept # rrc: ignore[RRC0102, RRC0105] gone
    type: bash
    command: |
      # rrc: ignore[RRC0201] part of the text
      echo hi
";
    let folder = Folder::with("a.yaml", text);
    let said = folder
        .rrc(&["check", "--format", "concise", "a.yaml"])
        .go()
        .exits(0);
    assert_eq!(said.out.matches("RRC0015").count(), 3, "{said:?}");
    folder
        .rrc(&["check", "--deny-warnings", "a.yaml"])
        .go()
        .exits(1);
    folder.rrc(&["check", "--fix", "a.yaml"]).go().exits(0);
    let fixed = "\
name: a
steps:
  - id: a   # kept
    type: bash
    command: |
      # rrc: ignore[RRC0201] part of the text
      echo hi
";
    assert_eq!(folder.read("a.yaml"), fixed);
    folder
        .rrc(&["check", "--unsafe-fixes", "a.yaml"])
        .go()
        .exits(0);
    assert!(!folder.read("a.yaml").contains("ignore"));
    folder.rrc(&["check", "a.yaml"]).go().exits(0).no_out();
}

#[test]
fn a_comment_may_be_about_comments() {
    let text = BAD.replace("{{whom}}", "hi  # rrc: ignore[RRC0201, unused-ignore] soon");
    assert_eq!(concise(&text), "");
    let text = BAD.replace("{{whom}}", "hi  # rrc: ignore[unused-ignore]");
    assert!(concise(&text).contains("RRC0015"));
}

#[test]
fn a_comment_without_codes_works_and_is_told_which() {
    let folder = Folder::with("a.yaml", ignoring("# rrc: ignore because"));
    let said = folder.rrc(&["check", "a.yaml"]).go().exits(0);
    assert!(
        said.out.contains("RRC0016") && said.out.contains("ignore[RRC0201]"),
        "{said:?}"
    );
    folder.rrc(&["check", "--fix", "a.yaml"]).go().exits(0);
    assert!(
        folder
            .read("a.yaml")
            .contains("# rrc: ignore[RRC0201] because")
    );
    folder
        .rrc(&["check", "--deny-warnings", "a.yaml"])
        .go()
        .exits(0);
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_has_no_unused_comments() {
    let text = format!("{}    x: [\n", ignoring("# rrc: ignore[RRC0201]"));
    let said = concise(&text);
    assert!(
        said.contains("RRC0004") && !said.contains("RRC0015"),
        "{said}"
    );
}

#[test]
fn line_endings_do_not_matter() {
    let above = BAD.replace("    command", "    # rrc: ignore[RRC0201]\n    command");
    assert_eq!(concise(&above.replace('\n', "\r\n")), "");
    let unused = "name: a  # rrc: ignore[RRC0201]\nsteps:\n- {id: a, type: bash, command: x}\n";
    let folder = Folder::with("a.yaml", unused.replace('\n', "\r\n"));
    folder.rrc(&["check", "--fix", "a.yaml"]).go().exits(0);
    assert!(folder.read("a.yaml").starts_with("name: a\r\nsteps"));
}
