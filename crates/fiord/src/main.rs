//! The `fiord` command: a command line in, a run, results out.
//!
//! | question | module |
//! |---|---|
//! | what happens from the arguments to the exit status | [`invoke`] |
//! | which exit status means what | [`exit`] |
//! | where do results go, and what if they cannot be written | [`sink`] |
//! | what is printed while jobs run | [`console`] |
//! | what do the lines before a run say | [`headers`] |
//! | how do Ctrl-C and SIGUSR1 reach the run | [`interrupts`] |
//! | what does `--debug` print | [`debug`] |
//! | `fiord options` and other subcommands | [`subcommand`] |

mod console;
mod debug;
mod exit;
mod headers;
mod interrupts;
mod invoke;
mod sink;
mod subcommand;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    subcommand::run(&args).unwrap_or_else(|| invoke::run(&args)).into()
}
