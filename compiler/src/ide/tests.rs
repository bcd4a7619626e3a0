//! Questions at a place that `¦` marks in the text.

use super::*;
use crate::source::Sources;
use crate::world::Texts;

const RECIPE: &str = "\
name: é😀
context:
  user: ada
  place: {city: Oslo, zip: \"0150\"}
steps:
  - id: greet
    type: bash
    command: echo {{user}} \"{{user}}\"
    output: greeting
  - id: each
    foreach: \"{{place}}\"
    as: one
    type: bash
    command: |
      echo {{one}} {{greeting}}
    collect: all
    depends_on: [greet]
  - id: last
    type: recipe
    recipe: other
    condition: \"{{all}} and {{greeting}}\"
";

fn with<T>(text: &str, dialect: &str, ask: impl Fn(&View<'_>, u32) -> T) -> T {
    let (text, offset) = match text.find('¦') {
        Some(at) => (text.replacen('¦', "", 1), at),
        None => (text.to_string(), 0),
    };
    let world = Texts {
        texts: vec![
            ("main.yaml".to_string(), text.clone().into_bytes()),
            (
                "other.yaml".to_string(),
                b"name: other\ncontext: {deep: 1}\nsteps:\n  - {id: a, type: bash, command: b}\n"
                    .to_vec(),
            ),
        ],
    };
    let mut sources = Sources::default();
    let options = crate::Options {
        dialect: crate::dialect::find(dialect),
        ..crate::Options::default()
    };
    let checked = crate::check(&world, "main.yaml", options, &mut sources);
    let view = View {
        text: &text,
        source: SourceId(0),
        program: &checked.program,
        dialect: crate::dialect::find(dialect).unwrap(),
        json: false,
    };
    ask(&view, offset as u32)
}

fn marked(text: &str, at: &str, into: usize) -> String {
    let found = text.find(at).expect("the place is there") + into;
    format!("{}¦{}", &text[..found], &text[found..])
}

fn hover_at(at: &str, into: usize) -> Option<String> {
    let text = marked(RECIPE, at, into);
    with(&text, "amplifier", |view, offset| {
        hover(view, offset).map(|hover| {
            let written = &view.text[hover.span.range()];
            format!("{written} -> {}", hover.text)
        })
    })
}

fn labels(text: &str, dialect: &str) -> Vec<String> {
    with(text, dialect, |view, offset| {
        let found = complete(view, offset).into_iter();
        found.map(|one| one.label).collect()
    })
}

#[test]
fn hover_tells_fields_and_variables() {
    assert_eq!(
        hover_at("command: echo", 3).unwrap(),
        "command -> **command** (step): shell text to run\n\nHolds text"
    );
    assert!(hover_at("type: bash", 0).unwrap().contains("One of `bash`"));
    assert_eq!(
        hover_at("{{user}}", 2).unwrap(),
        "user -> `user`: set under `context`, by default `\"ada\"`"
    );
    assert_eq!(
        hover_at("\"{{user}}", 7).unwrap(),
        "user -> `user`: set under `context`, by default `\"ada\"`"
    );
    assert_eq!(
        hover_at("{{greeting}}\n", 4).unwrap(),
        "greeting -> `greeting`: what the step `greet` gives"
    );
    assert_eq!(
        hover_at("{{one}}", 3).unwrap(),
        "one -> `one`: the item of the loop `each`"
    );
    assert_eq!(
        hover_at("{{all}}", 3).unwrap(),
        "all -> `all`: the list of what the loop `each` gives"
    );
    assert!(hover_at("user: ada", 1).unwrap().starts_with("user -> "));
    assert_eq!(hover_at("echo {{one", 1), None);
    assert_eq!(hover_at("é😀", 2), None);
}

#[test]
fn definitions_are_where_names_are_set() {
    let places = |at: &str, into: usize| {
        with(&marked(RECIPE, at, into), "amplifier", |view, offset| {
            let all = definition(view, offset).into_iter();
            all.map(|target| match target {
                Target::Place(span) => {
                    let before = &view.text[..span.start as usize];
                    let line = before.lines().last().unwrap_or("").trim();
                    format!("{line} <{}>", &view.text[span.range()])
                }
                Target::Recipe(name) => name,
            })
            .collect::<Vec<_>>()
        })
    };
    assert_eq!(places("{{user}}", 3), [" <user>"]);
    assert_eq!(places("{{greeting}}\n", 3), ["output: <greeting>"]);
    assert_eq!(places("{{one}}", 3), ["as: <one>"]);
    assert_eq!(places("recipe: other", 10), ["other"]);
    assert_eq!(places("[greet]", 2), ["- id: <greet>"]);
    assert!(places("echo {{one", 0).is_empty());
}

#[test]
fn references_are_all_places_of_a_name() {
    let lines = |at: &str, into: usize, settings: bool| {
        with(&marked(RECIPE, at, into), "amplifier", |view, offset| {
            let all = references(view, offset, settings).into_iter();
            all.map(|span| {
                let line = view.text[..span.start as usize].matches('\n').count();
                format!("{line} {}", &view.text[span.range()])
            })
            .collect::<Vec<_>>()
        })
    };
    assert_eq!(lines("user: ada", 1, false), ["7 user", "7 user"]);
    assert_eq!(lines("{{user}}", 3, true), ["2 user", "7 user", "7 user"]);
    assert_eq!(
        lines("output: greeting", 10, true),
        ["8 greeting", "14 greeting", "20 greeting"]
    );
    assert_eq!(lines("id: greet", 5, true), ["5 greet", "16 greet"]);
    assert_eq!(lines("[greet]", 2, false), ["16 greet"]);
}

#[test]
fn symbols_are_nested_as_steps_are() {
    let text = "name: x\nstages:\n  - name: one\n    steps:\n      - id: a\n        foreach: \"{{l}}\"\n        steps:\n          - {id: b, type: bash, command: c}\n      - type: agent\n";
    let shown = with(text, "amplifier", |view, _| {
        fn show(symbol: &Symbol) -> String {
            let inner: Vec<String> = symbol.children.iter().map(show).collect();
            assert!(symbol.whole.start <= symbol.span.start && symbol.span.end <= symbol.whole.end);
            format!("{}:{}({})", symbol.name, symbol.detail, inner.join(" "))
        }
        symbols(view).iter().map(show).collect::<Vec<_>>()
    });
    assert_eq!(shown, ["one:stage(a:loop(b:bash()) ?:agent())"]);
}

#[test]
fn fields_are_offered_on_their_level() {
    let has = |text: &str, wanted: &[&str], not: &[&str]| {
        let found = labels(text, "amplifier");
        for name in wanted {
            assert!(
                found.iter().any(|label| label == name),
                "{text}: {found:?} lacks {name}"
            );
        }
        for name in not {
            assert!(
                !found.iter().any(|label| label == name),
                "{text}: {found:?} has {name}"
            );
        }
    };
    has("name: x\n¦\n", &["steps", "context"], &["name", "command"]);
    has("na¦", &["name"], &["command"]);
    has(
        "steps:\n  - id: a\n    ¦\n",
        &["command", "retry"],
        &["id", "name"],
    );
    has(
        "steps:\n  - id: a\n    ty¦\n    output: b\n",
        &["type"],
        &["id", "output"],
    );
    has("steps:\n- id: a\n  ¦", &["command"], &["id", "stages"]);
    has("steps:\n  - ¦", &["id", "command"], &["stages"]);
    has("steps:\n  - id: a\n  - ¦\n", &["id"], &[]);
    has(
        "steps:\n  - id: a\n    type: bash\n    retry:\n      ¦\n",
        &["max_attempts"],
        &["command"],
    );
    has(
        "steps:\n  - id: a\n    type: bash\n    ¦\n",
        &["shell", "timeout"],
        &["prompt", "tool"],
    );
    has(
        "steps:\n  - id: a\n    retry: {max_attempts: 3, ¦}\n",
        &["backoff"],
        &["max_attempts"],
    );
    has(
        "stages:\n  - name: s\n    steps:\n      - id: a\n        ¦\n",
        &["command"],
        &["approval"],
    );
    has(
        "stages:\n  - name: s\n    ¦\n",
        &["approval", "steps"],
        &["command", "name"],
    );
    has(
        "steps:\n  - id: a\n    command: |\n      x\n    ¦\n",
        &["type"],
        &["command"],
    );
    for text in [
        "steps:\n  - id: a\n    command: |\n      ec¦\n",
        "steps:\n  - id: a\n    command: |\n      foo:\n        - ec¦\n",
        "context:\n  ¦\n",
        "metadata:\n  ¦\n",
    ] {
        assert_eq!(labels(text, "amplifier"), [""; 0], "{text}");
    }
}

#[test]
fn values_names_and_steps_are_offered() {
    assert_eq!(
        labels("steps:\n  - id: a\n    on_error: ¦\n", "amplifier"),
        ["fail", "continue", "skip_remaining"]
    );
    assert_eq!(
        labels("steps:\n  - id: a\n    retry: {backoff: ¦\n", "amplifier"),
        ["exponential", "linear"]
    );
    assert_eq!(
        labels("steps:\n  - id: a\n    parse_json: t¦\n", "amplifier"),
        ["true", "false"]
    );
    let steps = "steps:\n  - id: a\n  - id: b\n    depends_on: [¦\n  - id: c\n";
    assert_eq!(labels(steps, "amplifier"), ["a"]);
    let steps = "steps:\n  - id: a\n  - id: b\n    depends_on:\n      - ¦\n  - id: c\n";
    assert_eq!(labels(steps, "amplifier"), ["a"]);
    let names = |text: &str| labels(text, "amplifier");
    let of = |mark: &str| {
        RECIPE.replace("echo {{one}} {{greeting}}", mark).replace(
            "echo {{user}} \"{{user}}\"",
            if mark.is_empty() { "echo {{¦" } else { "b" },
        )
    };
    assert_eq!(
        names(&of("echo {{¦")),
        [
            "user", "place", "greeting", "one", "recipe", "session", "stage", "step"
        ]
    );
    assert_eq!(
        names(&of("")),
        ["user", "place", "recipe", "session", "stage", "step"]
    );
    assert_eq!(names(&of("echo {{place.¦")), ["city", "zip"]);
    assert_eq!(names(&of("echo {{place|¦")), ["raw", "words", "json"]);
    assert_eq!(names(&of("echo \\{{¦")), [""; 0]);
    let bare = "context: {a: 1}\nsteps:\n  - id: b\n    command: c\n  - id: d\n    condition: ¦\n";
    assert_eq!(labels(bare, "amplihack"), ["a", "b"]);
}

#[test]
fn what_is_inserted_fits() {
    let insert = |text: &str, label: &str| {
        with(text, "amplifier", |view, offset| {
            let all = complete(view, offset);
            let one = all
                .iter()
                .find(|one| one.label == label)
                .expect("it is offered");
            let mut text = view.text.to_string();
            text.replace_range(one.replace.clone(), &one.insert);
            text
        })
    };
    assert_eq!(insert("steps:\n  - i¦", "id"), "steps:\n  - id: ");
    assert_eq!(insert("na¦e: x\n", "name"), "name: x\n");
    assert_eq!(
        insert("steps:\n  - type:¦\n", "bash"),
        "steps:\n  - type: bash\n"
    );
    assert_eq!(
        insert("steps:\n  - type: b¦x\n", "bash"),
        "steps:\n  - type: bash\n"
    );
    let hole = "context: {user: 1}\nsteps:\n  - command: a {{us¦\n";
    assert!(insert(hole, "user").contains("a {{user}}\n"));
    let hole = "context: {user: 1}\nsteps:\n  - command: a {{us¦}} b\n";
    assert!(insert(hole, "user").contains("a {{user}} b\n"));
}

#[test]
fn recipes_are_told_from_other_files() {
    for text in [
        "",
        "name: x\n",
        "nam: x\nsteps: []\n",
        "name: x\nstep:\n",
        "# rrc: x\na: b\n",
    ] {
        assert!(is_recipe(text, false), "{text}");
    }
    for text in ["name: ci\non: push\njobs: {}\n", "services:\n  steps: 1\n"] {
        assert!(!is_recipe(text, false), "{text}");
    }
    assert!(is_recipe("{\"steps\": []}", true) && !is_recipe("{\"a\": 1}", true));
}

#[test]
fn nothing_panics_anywhere() {
    let broken = [
        RECIPE,
        "steps:\n  - id: a\n    command: \"é {{\n  - \u{1f600}",
        "- - -\n{{{{[[é: : :\n\t- x:\r\n  y: |\r\n   {{é.",
        "a: &x {b: *x}\nsteps: [*x, {id: é😀}]\n",
        "",
    ];
    for text in broken {
        for dialect in ["amplifier", "amplihack"] {
            with(text, dialect, |view, _| {
                for offset in 0..=view.text.len() as u32 + 2 {
                    hover(view, offset);
                    complete(view, offset);
                    definition(view, offset);
                    references(view, offset, true);
                }
                symbols(view);
            });
        }
    }
}
