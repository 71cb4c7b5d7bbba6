//! The `jobgate` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    jobgate::cli::run(std::env::args_os())
}
