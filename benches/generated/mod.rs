//! Recipes of any size, as people write them: comments, quotes, blocks, conditions, holes.
#![allow(dead_code, reason = "each bench uses its own part")]

use rrc_compiler::source::Sources;
use rrc_compiler::world::Texts;
use rrc_compiler::{Checked, Options, check, emit};
use rrc_vm::plan::Plan;

/// How one dialect writes a step; `N` stands for its number, `P` for that of the step before.
const AMPLIFIER: &str = "  # What step N is for, in a sentence.
  - id: step-N
    type: bash
    command: |
      set -euo pipefail
      echo \"step N of {{project}}\" '{{user.name}}' >> log.txt
      grep -c -- {{pattern}} \"$HOME/log\" || true
    condition: \"{{outP}} != 'stop' and {{user.level}} >= 2\"
    output: outN
    timeout: 30
    on_error: continue
";

const AMPLIHACK: &str = "  # What step N is for, in a sentence.
  - id: step-N
    command: |
      set -euo pipefail
      echo \"step N of {{project}}\" '{{user.name}}' >> log.txt
      grep -c -- {{pattern}} \"$HOME/log\" || true
    condition: \"outP != 'stop' and user.level >= 2\"
    output: outN
    working_dir: \".\"
    parse_json: false
";

/// A command and its output.
pub const PLAIN: &str = "  - {id: sN, type: bash, command: 'echo N', output: oN}\n";
pub const SHORT: &str =
    "  - {id: sN, type: bash, command: ': {{user.name}}', condition: '{{out0}} != 1'}\n";

pub const DIALECTS: [(&str, &str); 2] = [("amplifier", AMPLIFIER), ("amplihack", AMPLIHACK)];

fn header() -> String {
    String::from(
        "name: generated\ndescription: made for measuring\nversion: \"1.0.0\"\ncontext:\n  \
         project: p\n  pattern: \"a.*b\"\n  out0: go\n  user: {name: ada, level: 3}\nsteps:\n",
    )
}

fn add(text: &mut String, step: &str, number: usize) {
    let before = number - 1;
    let step = step.replace('N', &number.to_string());
    text.push_str(&step.replace('P', &before.to_string()));
}

/// A recipe just below the largest size that is read.
pub fn largest(step: &str) -> String {
    let mut text = header();
    for number in 1.. {
        if text.len() + step.len() + 64 > 1_000_000 {
            break;
        }
        add(&mut text, step, number);
    }
    text
}

/// A recipe of so many such steps.
pub fn steps(step: &str, count: usize) -> String {
    let mut text = header();
    (1..=count).for_each(|number| add(&mut text, step, number));
    text
}

pub fn checked(text: &str, sources: &mut Sources) -> Checked {
    check(
        &Texts::one("a.yaml", text),
        "a.yaml",
        Options::default(),
        sources,
    )
}

/// The plan of a recipe, also of one with more steps than its limits let run.
pub fn plan(text: &str) -> Plan {
    let mut sources = Sources::default();
    let checked = checked(text, &mut sources);
    let plan = emit::emit(&checked.program, &emit::origins(&sources, |_| [0; 32]));
    plan.unwrap()
}

/// What the work costs, in seconds of processor time: the least of several samples, each long
/// enough for the system's own clock. Others who use the machine count as little as can be.
pub fn cost(mut work: impl FnMut()) -> f64 {
    const LONG: f64 = 0.02;
    let mut times = 1;
    loop {
        let start = processor();
        (0..times).for_each(|_| work());
        if processor() - start > LONG {
            break;
        }
        times *= 2;
    }
    let sample = |_| {
        let start = processor();
        (0..times).for_each(|_| work());
        (processor() - start) / f64::from(times)
    };
    (0..9).map(sample).fold(f64::INFINITY, f64::min)
}

/// Seconds that this thread has run; where the system does not say, seconds that have passed.
fn processor() -> f64 {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = said.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |ns| ns / 1e9)
}
