//! Secrets stay out of all that rrc writes, and a run that goes on does so whatever they are now.

use super::binary::Folder;
use super::{only_run, recipe};
use std::path::Path;

/// Every file below a directory, as text.
fn contents(directory: &Path) -> String {
    let mut all = String::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => all += &contents(&path),
            false => all += &String::from_utf8_lossy(&std::fs::read(path).expect("a file")),
        }
    }
    all
}

const SECRET: &str = "hunter2-and-more";

#[test]
fn secrets_do_not_leave_the_process() {
    let steps = "
  - {id: a, type: bash, stream: true, command: 'printf %s {{key}} > seen; echo {{key}}; echo {{key}} >&2', output: said}
  - {id: b, type: bash, on_error: continue, command: 'echo bad {{key}} >&2; exit 1'}
  - {id: make, type: bash, stream: true, command: 'echo made-by-a-step | rev', output: made}
  - {id: use, type: bash, command: 'echo [{{made}}] >> seen; echo {{made}}', output: used}
  - {id: token, type: bash, command: 'echo ghp_$(printf a1%.0s {1..20})', output: token}
  - {id: big, type: bash, max_output_size: 40, command: 'printf x%.0s {1..30}; echo {{key}}', output: big}
  - {id: last, type: bash, command: 'echo {{token}} >> seen; echo {{key}} >&2; exit 1'}
";
    let text = format!(
        "{}secrets: [key, made]\ncontext: {{key: ''}}\n",
        recipe(steps)
    );
    let set = format!("key={SECRET}");
    for format in ["text", "json", "events"] {
        let folder = Folder::with("main.yaml", &text);
        let args = [
            "run",
            "main.yaml",
            "-v",
            "--set",
            &set,
            "--audit-dir",
            "audit",
        ];
        let said = folder
            .rrc(&[&args[..], &["--output-format", format]].concat())
            .go()
            .exits(1);
        let kept = contents(&folder.file(".rrc")) + &contents(&folder.file("audit"));
        let token = "ghp_a1a1";
        for secret in [SECRET, "hunter2", "pets-a-yb-edam", token] {
            assert!(!said.out.contains(secret), "{said:#?}");
            assert!(!said.err.contains(secret), "{said:#?}");
            assert!(!kept.contains(secret), "{kept}");
        }
        let seen = folder.read("seen");
        assert!(seen.contains(SECRET) && seen.contains("pets-a-yb-edam") && seen.contains(token));
        if format == "json" {
            let report = said.json();
            assert_eq!(report["context"]["key"], "***");
            assert_eq!(report["context"]["said"], "***\n");
            assert_eq!(report["context"]["used"], "***\n\n");
            assert_eq!(report["context"]["big"], "x".repeat(30));
        }
    }
}

#[test]
fn secrets_are_given_again_when_a_run_goes_on() {
    let steps = "
  - {id: a, type: bash, command: 'echo {{key}}', output: said}
  - {id: b, type: bash, command: 'test -e ok && printf %s {{said}} > seen'}
";
    let text = format!("{}context: {{key: ''}}\n", recipe(steps));
    let folder = Folder::with("main.yaml", &text);
    let set = format!("key={SECRET}");
    let args = ["run", "main.yaml", "--secret", "key", "--set", &set];
    folder.rrc(&args).go().exits(1);
    folder.write("ok", "");
    let resume = ["run", "main.yaml", "--resume"];
    let said = folder.rrc(&resume).go().exits(2);
    said.err_has("`key` is secret").err_has("--set key=");
    folder
        .rrc(&[&resume[..], &["--set", &set]].concat())
        .go()
        .exits(0);
    assert_eq!(folder.read("seen"), format!("{SECRET}\n"));
    assert!(!contents(&folder.file(".rrc")).contains("hunter2"));
    let replay = ["run", "--replay", &only_run(&folder)];
    folder.rrc(&replay).go().exits(0);
}

#[test]
fn a_token_that_was_not_recorded_is_asked_for_as_a_new_run() {
    let steps = "
  - {id: a, type: bash, command: 'echo ghp_$(printf a1%.0s {1..20})', output: token}
  - {id: b, type: bash, command: 'echo {{token}} > /dev/null; exit 1'}
";
    let folder = Folder::with("main.yaml", recipe(steps));
    folder.rrc(&["run", "main.yaml"]).go().exits(1);
    let said = folder.rrc(&["run", "main.yaml", "--resume"]).go().exits(2);
    said.err_has("step `a` wrote a token");
    folder
        .rrc(&["run", "--replay", &only_run(&folder)])
        .go()
        .exits(1);
}

/// What a run of a recipe shows in any form, and what it leaves behind.
fn all_of(text: &str, files: &[(&str, &str)], more: &[&str], env: &str) -> String {
    let mut all = String::new();
    for format in ["text", "json", "events"] {
        let folder = Folder::with("main.yaml", text);
        for (name, text) in files {
            folder.write(name, text);
        }
        let args = [
            "run",
            "main.yaml",
            "--audit-dir",
            "audit",
            "--output-format",
            format,
        ];
        let said = folder
            .rrc(&[&args[..], more].concat())
            .env("ENV_WORD", env)
            .go();
        let records = contents(&folder.file(".rrc"));
        let audit = contents(&folder.file("audit"));
        all += &format!("{}\n{}\n{records}\n{audit}\n", said.out, said.err);
    }
    all
}

#[test]
fn no_failure_shows_the_start_of_a_secret() {
    let token = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    let set = format!("token={token}");
    let head = "secrets: [token]\ncontext: {token: '', n: 3}\n";
    for steps in [
        "  - {id: zero, type: bash, condition: 'int(token) > 3', command: 'true'}\n",
        "  - {id: zero, type: bash, command: 'echo $(( {{token}} + 1 ))'}\n",
        "  - {id: one, type: bash, command: 'echo \"key {{token}}\"', output: header}\n  \
         - {id: zero, type: bash, condition: 'int(header) > 3', command: 'true'}\n",
    ] {
        let text = format!("{head}{}", recipe(steps));
        for dialect in ["amplihack", "amplifier"] {
            let text = format!("# rrc: dialect = {dialect}\n{text}");
            let all = all_of(&text, &[], &["--set", &set], "");
            assert!(!all.contains(&token[..4]), "{text}\n{all}");
        }
    }
}

#[test]
fn a_private_key_is_hidden_however_long_and_however_it_is_written() {
    let lines: Vec<String> = (0..200)
        .map(|line| format!("{line:04}abcdefghijklmnopqrstuvwxyz"))
        .collect();
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\nbehind it\n",
        lines.join("\n")
    );
    for steps in [
        "  - {id: a, type: bash, stream: true, command: cat key}\n",
        "  - {id: a, type: bash, stream: true, command: cat key >&2}\n",
        "  - {id: a, type: bash, command: cat key >&2; exit 1}\n",
    ] {
        let all = all_of(&recipe(steps), &[("key", &key)], &["-v"], "");
        assert!(!all.contains("abcdefg"), "{all}");
        assert!(all.contains("behind it"), "{all}");
    }
}

/// From a list, another variable, a recipe that calls, known before or found on the way.
#[test]
fn what_comes_into_a_secret_variable_is_hidden_however_it_comes() {
    let word = "hunter2hunter2x";
    let step = |text: &str| format!("# rrc: dialect = amplifier\n{}", recipe(text));
    let each = |more: &str| {
        format!(
            "{}secrets: [key]\ncontext: {{value: ''}}\n",
            step(&format!(
                "  - {{id: a, type: bash, foreach: '{{{{value}}}}', as: key,{more} command: 'echo {{{{key}}}}'}}\n"
            ))
        )
    };
    let update = format!(
        "{}secrets: [key]\ncontext: {{value: '', n: 0, key: ''}}\n",
        step(
            "  - {id: a, type: bash, while_condition: '{{n}} < 2', command: 'echo {{key}}', \
             update_context: {n: '{{n}} + 1', key: '{{value}}'}}\n"
        )
    );
    let call = |name: &str| {
        format!(
            "# rrc: dialect = amplihack\n{}context: {{value: ''}}\n",
            recipe(&format!(
                "  - {{id: pick, type: bash, command: 'echo inner', output: which}}\n  \
                 - {{id: call, type: recipe, recipe: '{name}', context: {{token: '{{{{value}}}}'}}}}\n"
            ))
        )
    };
    let inner = format!(
        "secrets: [token, made, own, ENV_WORD]\ncontext: {{token: '', own: own-in-recipe}}\n{}",
        recipe(
            "  - {id: show, type: bash, command: 'echo {{token}} {{own}} $ENV_WORD | tee seen'}\n  \
             - {id: make, type: bash, command: 'echo edam-a-sah | rev', output: made}\n  \
             - {id: use, type: bash, command: 'echo {{made}}'}\n"
        )
    );
    // What is given is a variable like others until it stands in one that is secret.
    let hidden = |report: &str| {
        let report: serde_json::Value = serde_json::from_str(report).expect("a report");
        for said in [word, "has-a-made", "own-in-recipe", "word-of-env"] {
            let text = report.to_string();
            assert!(!text.contains(said), "{said}: {text}");
        }
        assert!(report.to_string().contains("***"));
    };
    for text in [
        each(""),
        each(" parallel: 2,"),
        update,
        call("inner"),
        call("{{which}}"),
    ] {
        let folder = Folder::with("main.yaml", &text);
        folder.write("inner.yaml", &inner);
        let set = match text.contains("foreach") {
            true => format!("value=[\"{word}\"]"),
            false => format!("value={word}"),
        };
        let args = ["run", "main.yaml", "--set", &set, "--output-format", "json"];
        let said = folder
            .rrc(&args)
            .env("ENV_WORD", "word-of-env")
            .go()
            .exits(0);
        hidden(&said.out);
        let records = contents(&folder.file(".rrc"));
        let replies = records.lines().filter(|line| line.contains(r#""t":"end""#));
        let replies: String = replies.collect();
        assert!(!replies.is_empty());
        for said in [word, "has-a-made", "word-of-env"] {
            assert!(!replies.contains(said), "{text}\n{replies}");
        }
        if folder.has("seen") {
            assert_eq!(
                folder.read("seen"),
                format!("{word} own-in-recipe word-of-env\n")
            );
        }
    }
}

/// As few lines as there are take time, not the square of them.
#[test]
fn a_secret_of_many_lines_is_learned_and_found_in_one_pass() {
    let steps = "
  - {id: a, type: bash, command: 'seq 10000000 1 10040000', output: dump}
  - {id: b, type: bash, command: 'seq 10000000 1 10040000; seq 20000000 1 20040000', output: rest}
";
    let folder = Folder::with("main.yaml", format!("secrets: [dump]\n{}", recipe(steps)));
    let said = folder
        .rrc(&["run", "main.yaml", "--output-format", "json"])
        .go()
        .exits(0);
    assert!(said.out.contains("20040000") && !said.out.contains("10040000"));
    assert!(said.elapsed.as_secs() < 8, "{:?}", said.elapsed);
}

/// What a script asks for holds what looks like a token; whether a secret has a value differs.
#[test]
fn what_is_done_is_done_whatever_secrets_are_now() {
    let header = "Authorization: Bearer abcdefghijklmnopqrst1";
    for once in ["false", "true"] {
        let steps = format!(
            "
  - id: loop
    type: bash
    foreach: '{{{{items}}}}'
    as: it
    parallel: 1
    once: {once}
    command: \"echo {{{{it}}}} >> log; : '{header}' $ENV_WORD; test {{{{it}}}} != a || test -e ready\"
"
        );
        let head = "# rrc: dialect = amplifier\nsecrets: [ENV_WORD, key]\n\
                    context: {items: [a, b, c], key: ''}\n";
        for (first, then) in [
            ("", "value-of-it"),
            ("value-of-it", ""),
            ("value-of-it", "another"),
        ] {
            let folder = Folder::with("main.yaml", format!("{head}{}", recipe(&steps)));
            let run = ["run", "main.yaml"];
            folder.rrc(&run).env("ENV_WORD", first).go().exits(1);
            folder.write("ready", "");
            let resume = ["run", "main.yaml", "--resume"];
            folder.rrc(&resume).env("ENV_WORD", then).go().exits(0);
            assert_eq!(folder.read("log"), "a\nb\nc\na\n", "{once} {first} {then}");
        }
    }
}

/// Its value stands in texts of the recipe, too, and is another one when the run goes on.
#[test]
fn a_run_goes_on_when_its_secrets_have_changed() {
    let steps = "
  - {id: one, type: bash, command: 'echo main one {{key}} >> log'}
  - {id: two, type: bash, command: 'echo main two {{key}} >> log; test -e ready'}
";
    let text = format!("secrets: [key]\ncontext: {{key: ''}}\n{}", recipe(steps));
    for then in ["main", "another", "echo"] {
        let folder = Folder::with("main.yaml", &text);
        folder
            .rrc(&["run", "main.yaml", "--set", "key=main"])
            .go()
            .exits(1);
        folder.write("ready", "");
        let set = format!("key={then}");
        folder
            .rrc(&["run", "main.yaml", "--resume", "--set", &set])
            .go()
            .exits(0);
        let log = format!("main one main\nmain two main\nmain two {then}\n");
        assert_eq!(folder.read("log"), log);
    }
}

/// What was asked for held the value of a secret that nobody gives now: it may be the same or not.
#[test]
fn what_may_have_been_done_is_not_done_again() {
    for (once, words) in [("false", "depends on secrets"), ("true", "marked `once`")] {
        let steps = format!(
            "
  - id: loop
    type: bash
    foreach: '{{{{items}}}}'
    as: it
    parallel: 1
    once: {once}
    command: ': worker; echo {{{{it}}}} >> log; test {{{{it}}}} != a || test -e ready'
"
        );
        let head = "# rrc: dialect = amplifier\nsecrets: [ENV_WORD]\ncontext: {items: [a, b]}\n";
        let folder = Folder::with("main.yaml", format!("{head}{}", recipe(&steps)));
        let run = ["run", "main.yaml"];
        folder.rrc(&run).env("ENV_WORD", "worker").go().exits(1);
        folder.write("ready", "");
        let resume = ["run", "main.yaml", "--resume"];
        let said = folder.rrc(&resume).env("ENV_WORD", "").go();
        assert_ne!(said.code, Some(0), "{said:#?}");
        assert!(
            format!("{}{}", said.out, said.err).contains(words),
            "{said:#?}"
        );
        let said = folder.rrc(&resume).env("ENV_WORD", "worker").go();
        said.exits(0);
        assert_eq!(folder.read("log"), "a\nb\na\n");
    }
}
