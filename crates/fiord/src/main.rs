//! Starts the `fiord` command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    fiord::run_process()
}
