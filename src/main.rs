//! The `rrc` command.

use std::io::{stderr, stdout};
use std::process::ExitCode;

fn main() -> ExitCode {
    // A second life of this binary: it ends what a killed run left behind.
    rrc_runtime::watchdog::maybe_run();
    let code = rrc::run(std::env::args_os(), &mut stdout().lock(), &mut stderr());
    ExitCode::from(code)
}
