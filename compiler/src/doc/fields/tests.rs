//! Maps asked for their fields: what is found, and what is said of the rest.

use super::*;
use crate::diagnostic::Applicability;
use crate::doc::yaml;
use crate::source::SourceId;
use bumpalo::Bump;

const fn field(name: &'static str, ty: Type) -> Field {
    Field {
        name,
        ty,
        doc: "what it is for",
        aliases: &[],
    }
}

static RETRY: Shape = Shape {
    what: "retry",
    fields: &[field("most", Type::Int { min: 1, max: 10 })],
    hints: &[],
    elsewhere: &[],
    open: &[],
};

static STEP: Shape = Shape {
    what: "step",
    fields: &[
        field("id", Type::Name),
        field("command", Type::Text),
        field("timeout", Type::Int { min: 0, max: 100 }),
        field("weight", Type::Number),
        field("parse_json", Type::Bool),
        field("on_error", Type::Choice(&["fail", "continue"])),
        field("tags", Type::List(&Type::Text)),
        field("env", Type::Map(&Type::Text)),
        field("retry", Type::Nested(&RETRY)),
        Field {
            name: "cwd",
            ty: Type::Text,
            doc: "where it runs",
            aliases: &["working_dir"],
        },
    ],
    hints: &[
        ("timeout_seconds", "timeout"),
        ("loop", "write `foreach` or `while_condition`"),
    ],
    elsewhere: &[(&RETRY, "put it under `retry`")],
    open: &["metadata", "x-*"],
};

fn with<T>(source: &str, ask: impl Fn(&Fields<'_>, &mut Report) -> T) -> (T, Vec<String>) {
    let arena = Bump::new();
    let mut report = Report::default();
    let node = yaml::read(&arena, SourceId(0), source, &mut report).unwrap();
    let fields = Fields::new(&STEP, node, Schema::Yaml12, &mut report);
    let answer = ask(&fields, &mut report);
    let said = report.findings.iter().map(|found| {
        assert!(found.help.is_some());
        let written = &source[found.span.range()];
        let fix = found.fix.as_ref().map_or(String::new(), |fix| {
            let shape = found.code.code >= "RRC0100";
            assert!(!shape || fix.applicability == Applicability::Safe);
            format!(" => {}", fix.edits[0].text)
        });
        format!("{} {written:?} {}{fix}", found.code.code, found.message)
    });
    (answer, said.collect())
}

#[test]
fn unknown_fields() {
    let (_, said) = with(
        "id: a\n\"comand\": x\ntimeout_seconds: 1\nloop: 2\nbanana: 3\nmetadata: 4\nx-note: 5\n[k]: 6\n",
        |_, _| (),
    );
    assert_eq!(
        said,
        [
            "RRC0102 \"comand\" a step has no field `comand` => command",
            "RRC0102 \"timeout_seconds\" a step has no field `timeout_seconds` => timeout",
            "RRC0102 \"loop\" a step has no field `loop`",
            "RRC0101 \"[k]\" the name of a field must be text, not a list",
            "RRC0102 \"banana\" a step has no field `banana`",
        ]
    );
    let (_, said) = with(
        "apple: 1\nbanana: 2\ncherry: 3\ndate: 4\nfig: 5\n",
        |_, _| (),
    );
    assert_eq!(said.len(), 3);
    assert!(
        said[2].ends_with("`cherry`, nor any of 2 others"),
        "{said:?}"
    );
    let (_, said) = with("command: a\ncomand: b\n", |_, _| ());
    assert_eq!(said, ["RRC0102 \"comand\" a step has no field `comand`"]);
    let (_, said) = with("cwd: a\nworking_dir: b\n", |_, _| ());
    assert_eq!(
        said,
        ["RRC0104 \"working_dir\" `working_dir` and `cwd` are names of the same field"]
    );
}

#[test]
fn values_of_the_right_type() {
    let source = "id: 12\ncommand: true\ntimeout: \"5\"\nweight: 1e1\nparse_json: false\non_error: continue\ntags: [a]\nenv: {A: b}\nretry: {most: 3}\nworking_dir: /x\n";
    let (_, said) = with(source, |fields, report| {
        let text =
            |name, report: &mut Report| fields.text(name, report).map(|t| t.text().to_owned());
        assert_eq!(text("id", report).as_deref(), Some("12"));
        assert_eq!(text("command", report).as_deref(), Some("true"));
        assert_eq!(text("cwd", report).as_deref(), Some("/x"));
        assert_eq!(fields.integer("timeout", report), Some(5));
        assert_eq!(fields.number("weight", report), Some(10.0));
        assert_eq!(fields.boolean("parse_json", report), Some(false));
        assert_eq!(fields.choice("on_error", report), Some("continue"));
        assert_eq!(fields.list("tags", report).map(<[_]>::len), Some(1));
        assert_eq!(fields.map("env", report).map(<[_]>::len), Some(1));
        let retry = fields.nested("retry", report).unwrap();
        assert_eq!(retry.integer("most", report), Some(3));
        let span = fields.key_span("cwd").unwrap();
        assert_eq!(&source[span.range()], "working_dir");
    });
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn values_of_the_wrong_type() {
    let source = "id: [a]\ntimeout: 1.5\nweight: x\nparse_json: 'yes'\non_error: contine\ntags: a\nenv: [b]\nretry: {most: 30}\n";
    let (_, said) = with(source, |fields, report| {
        fields.text("id", report);
        fields.integer("timeout", report);
        fields.number("weight", report);
        fields.boolean("parse_json", report);
        fields.choice("on_error", report);
        fields.list("tags", report);
        fields.map("env", report);
        fields
            .nested("retry", report)
            .unwrap()
            .integer("most", report);
    });
    assert_eq!(
        said,
        [
            "RRC0101 \"[a]\" `id` must be text, not a list",
            "RRC0101 \"1.5\" `timeout` must be a whole number, not 1.5",
            "RRC0101 \"x\" `weight` must be a number, not text",
            "RRC0101 \"'yes'\" `parse_json` must be true or false, not text => true",
            "RRC0106 \"contine\" `on_error` must be `fail` or `continue`, not `contine` => continue",
            "RRC0101 \"a\" `tags` must be a list, not text => [a]",
            "RRC0101 \"[b]\" `env` must be a map, not a list",
            "RRC0106 \"30\" `most` must be at most 10, not 30",
        ]
    );
}

#[test]
fn required_fields() {
    let ask = |fields: &Fields<'_>, report: &mut Report| fields.require("id", report).is_some();
    let (found, said) = with("command: x\n", ask);
    assert!(!found);
    assert_eq!(said, ["RRC0103 \"command\" this step has no `id`"]);
    let (_, said) = with("command: x\nid:\n", ask);
    assert_eq!(said, ["RRC0103 \"id\" `id` of this step is empty"]);
    let (_, said) = with("[]", ask);
    assert_eq!(said, ["RRC0101 \"[]\" a step must be a map, not a list"]);
    let (_, said) = with("command: \"x\n", ask);
    assert_eq!(
        said.len(),
        1,
        "what is cut short is not said to be missing: {said:?}"
    );
    let (_, said) = with("id: *nothing\n", ask);
    assert_eq!(said.len(), 1, "{said:?}");
}
