//! Whole processes: `rrc` against `/bin/true`, one after the other, so that both meet the same
//! machine.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a suite fails by panicking"
)]

mod floor;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const ROUNDS: usize = 300;

fn once(program: &str, args: &[&str], folder: &Path) -> f64 {
    let start = Instant::now();
    let status = Command::new(program)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("the program can be started");
    assert!(status.success(), "{program} {args:?}: {status}");
    start.elapsed().as_secs_f64() * 1e3
}

fn middle(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

fn main() {
    let folder = floor::new_folder("rrc-startup");
    let recipe = "name: one\nsteps:\n  - id: a\n    type: bash\n    command: \"true\"\n";
    std::fs::write(folder.join("a.yaml"), recipe).expect("a file can be written");
    let rrc = env!("CARGO_BIN_EXE_rrc");
    let build = Command::new(rrc)
        .args(["build", "-q", "a.yaml"])
        .current_dir(&folder)
        .status();
    assert!(build.is_ok_and(|status| status.success()));
    let commands: [(&str, &str, &[&str]); 7] = [
        ("/bin/true", "/bin/true", &[]),
        ("rrc --version", rrc, &["--version"]),
        ("rrc check", rrc, &["check", "-q", "a.yaml"]),
        ("bash -c true", "/bin/bash", &["-c", "true"]),
        ("rrc run", rrc, &["run", "-q", "a.yaml"]),
        ("rrc run PLAN", rrc, &["run", "-q", "a.rrb"]),
        ("rrc disasm", rrc, &["disasm", "a.rrb"]),
    ];
    let mut times = vec![Vec::new(); commands.len()];
    for _ in 0..ROUNDS {
        for (number, (_, program, args)) in commands.iter().enumerate() {
            times[number].push(once(program, args, &folder));
        }
    }
    let (least, usual) = middle(times[0].clone());
    println!("{:>16}  shortest  middle     x /bin/true", "");
    for ((name, ..), times) in commands.iter().zip(times) {
        let (short, mid) = middle(times);
        println!(
            "{name:>16}  {short:5.2} ms  {mid:5.2} ms   {:.2} / {:.2}",
            short / least,
            mid / usual
        );
    }
    // A folder that cannot be removed is the system's to sweep.
    let _ = std::fs::remove_dir_all(&folder);
}
