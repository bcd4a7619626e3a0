//! Checking a file, and making a plan of it, take time that grows with the file, not with its square.
//!
//! Of each kind of file one is compiled that is four times as long as another, in the same process and
//! by the time that the thread itself was running: four times as much is meant to come of it, sixteen
//! times would be the square, and what lies between is left to the machine.

use rrc_compiler::doc::MAX_BYTES;
use rrc_compiler::source::Sources;
use rrc_compiler::world::Texts;
use rrc_compiler::{Options, build, check};
use rrc_vm::verify::verify;

const SHORT: usize = 2_500;
const TIMES: usize = 4;
const MOST: f64 = 10.0;
/// Systems count in ticks: what takes less than a few of them is taken to have taken this long.
const LEAST: f64 = 20e6;

/// How long this thread has been running, in nanoseconds; none where the system does not say.
fn running() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// The least that it takes to check a file and, if nothing is wrong with it, to build it.
fn cost(name: &str, text: &str) -> Option<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let world = Texts::one(name, text);
        let before = running()?;
        let mut sources = Sources::default();
        let checked = check(&world, name, Options::default(), &mut sources);
        let plan = build(&checked, &sources, |_| [0; 32]);
        let verified = plan.map(verify).transpose();
        verified.expect("what is built can run");
        least = least.min(running()? - before);
    }
    Some(least)
}

/// A word for each number, no two of them alike, and many of them nearly.
fn word(number: usize) -> String {
    let mut rest = number.wrapping_mul(48_271) % 1_000_003;
    let mut word = String::new();
    for _ in 0..5 {
        word.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    word
}

fn many(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

const HEAD: &str = "name: many\nversion: \"1.0.0\"\ndescription: d\n";
const SCRIPT: &str = "  - id: s\n    type: bash\n    command: |\n";

/// A kind of file: what it is called, and its text with so much of it.
type Kind = (&'static str, fn(usize) -> String);

const KINDS: [Kind; 14] = [
    ("undefined names", |count| {
        let context = many(count, |n| format!("  {}: 1\n", word(n)));
        let reads = many(count, |n| {
            format!("      echo {{{{{}x}}}}\n", word(n + count))
        });
        format!("{HEAD}context:\n{context}steps:\n{SCRIPT}{reads}")
    }),
    ("undefined names between outputs", |count| {
        let steps = many(count, |n| {
            let (read, set) = (word(2 * n), word(2 * n + 1));
            format!(
                "  - id: s{n}\n    type: bash\n    command: echo {{{{{read}}}}}\n    output: {set}\n"
            )
        });
        format!("{HEAD}steps:\n{steps}")
    }),
    ("branches", |count| {
        let steps = many(count, |n| {
            let read = word(n);
            format!(
                "  - id: s{n}\n    command: echo {{{{{read}}}}}\n    output: o{n}\n    parallel_group: g\n"
            )
        });
        format!("# rrc: dialect = amplihack\nname: many\nsteps:\n{steps}")
    }),
    ("mentions", |count| {
        let context = many(count, |n| format!("  {}: 1\n", word(n)));
        let reads = many(count, |n| {
            format!("      echo $RECIPE_VAR_{}\n", word(n + count))
        });
        format!(
            "# rrc: dialect = amplihack\nname: many\ncontext:\n{context}steps:\n{SCRIPT}{reads}"
        )
    }),
    ("fields", |count| {
        let reads = many(count, |n| format!("      echo {{{{r.{}}}}}\n", word(n)));
        let make =
            "  - id: j\n    type: bash\n    command: x\n    parse_json: true\n    output: r\n";
        format!("{HEAD}steps:\n{make}{SCRIPT}{reads}")
    }),
    ("outputs", |count| {
        let steps = many(count, |n| {
            let set = word(n);
            let read = if n % 2 == 0 {
                String::new()
            } else {
                format!("{{{{{}}}}}", word(n - 1))
            };
            format!("  - id: s{n}\n    type: bash\n    command: echo {read}\n    output: {set}\n")
        });
        format!("{HEAD}steps:\n{steps}")
    }),
    ("comments", |count| {
        let steps = many(count, |n| {
            format!(
                "  - id: s{n}\n    type: bash\n    # rrc: ignore\n    command: echo {{{{q{n}}}}}\n"
            )
        });
        format!("{HEAD}steps:\n{steps}")
    }),
    ("comments on one line", |count| {
        let comments = many(count, |_| "    # rrc: ignore\n".to_string());
        format!("{HEAD}steps:\n{comments}{SCRIPT}      echo {{{{q}}}}\n")
    }),
    ("conditions", |count| {
        let set = many(count / 2, |n| {
            format!(
                "  - id: s{n}\n    type: bash\n    command: x\n    output: v\n    condition: \"{{{{x}}}} == '{n}'\"\n"
            )
        });
        let read = many(count / 2, |n| {
            format!("  - id: t{n}\n    type: bash\n    command: x {{{{v}}}}\n")
        });
        format!("{HEAD}context: {{x: 1}}\nsteps:\n{set}{read}")
    }),
    ("steps that are not there", |count| {
        let steps = many(count, |n| {
            format!(
                "  - id: s{n}\n    type: bash\n    command: x\n    depends_on: [{}]\n",
                word(n)
            )
        });
        format!("{HEAD}steps:\n{steps}")
    }),
    ("placeholders", |count| {
        let args: Vec<String> = (0..count).map(|n| format!("\"{}\"", word(n))).collect();
        let reads =
            (0..count).map(|n| format!("\"echo {{{}}} {{{}x}}\"", word(n), word(n + count)));
        let reads: Vec<String> = reads.collect();
        format!(
            "{{\"args\":[{}],\"template\":[{}]}}",
            args.join(","),
            reads.join(",")
        )
    }),
    ("values of one command", |count| {
        let words = many(4 * count, |n| format!(" {{{}{n}}}", word(n)));
        format!("{{\"template\":\"x{words}\"}}")
    }),
    ("differences", |count| {
        let reads = (0..count).map(|n| format!("\"x {{{}-index}}\"", word(n)));
        let reads: Vec<String> = reads.collect();
        format!("{{\"repeat\":2,\"template\":[{}]}}", reads.join(","))
    }),
    ("defaults", |count| {
        let defaults: Vec<String> = (0..count)
            .map(|n| format!("\"{}\":\"1\"", word(n)))
            .collect();
        let node = "{\"defaults\":{\"q\":\"1\"},\"template\":\"x {q}\"}";
        let nodes = vec![node; count].join(",");
        format!(
            "{{\"defaults\":{{{}}},\"template\":[{nodes}]}}",
            defaults.join(",")
        )
    }),
];

#[test]
fn a_file_four_times_as_long_takes_about_four_times_as_long() {
    let mut slow = Vec::new();
    for (kind, text) in KINDS {
        let short = text(SHORT);
        let name = if short.starts_with('{') {
            "many.json"
        } else {
            "many.yaml"
        };
        let long = text(TIMES * SHORT);
        let (Some(one), Some(four)) = (cost(name, &short), cost(name, &long)) else {
            return;
        };
        assert!(
            long.len() <= MAX_BYTES,
            "{kind}: {} bytes are not read",
            long.len()
        );
        let ratio = four / one.max(LEAST);
        if ratio > MOST {
            slow.push(format!(
                "{kind}: {:.1} times as long, {one} ns and {four} ns",
                ratio
            ));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
