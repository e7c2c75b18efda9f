//! The `fiord` command: the command line, exit statuses and printing. [`fiord_app`] does the work.
//!
//! The program is a library, so that the command `fiord-mpi`, whose package needs an MPI library, is the same program
//! with another transport ([`ranks`]).
//!
//! | question | module |
//! |---|---|
//! | where do the jobs of a command line run | `dispatch` |
//! | what happens from the arguments to the exit status | `invoke` |
//! | what does each exit status mean | `exit` |
//! | where do results go, and what happens if a write fails | `sink` |
//! | what is printed while jobs run | `console`, `live_line` |
//! | what is exported while jobs run (`--series`, `--metrics`) | `exports` |
//! | how does a run get the full-screen view (`--live`) | `full_screen` |
//! | how do jobs run on many hosts | `hosts` |
//! | how do jobs run on the processes of a parallel job | [`ranks`] |
//! | how are findings printed | `findings` |
//! | what does `--debug` print | `debug` |
//! | what does `--crctest` measure | `checksums` |
//! | what does `--cpuclock-test` compare | `cpu_clocks` |
//! | what does `fiord check` print | `check` |
//! | how does `fiord agent` run the jobs of a coordinator | `agent` |
//! | how does a server run the jobs of clients | `server` |
//! | which subcommands exist | `subcommand` |
//! | what does `--help` print | `help` |
//! | which documentation is made from the command line | [`pages`] |

#![forbid(unsafe_code)]

mod agent;
mod check;
mod checksums;
mod console;
mod cpu_clocks;
mod debug;
mod dispatch;
mod exit;
mod exports;
mod findings;
mod full_screen;
mod help;
mod hosts;
mod invoke;
mod live_line;
mod page_file;
pub mod pages;
pub mod ranks;
mod server;
mod sink;
mod subcommand;

use std::process::ExitCode;

use fiord_types::program;

#[global_allocator]
static ALLOCATOR: fiord_sys::shortage::Allocator = fiord_sys::shortage::Allocator;

/// Prepares a process that runs jobs. Call it first: it has no other threads yet.
pub fn prepare_process() {
    fiord_sys::supervise::enter();
    fiord_sys::shortage::save_address_space();
}

/// Runs the command line of this process, which has no other threads yet, and returns its exit status.
#[must_use]
pub fn run_process() -> ExitCode {
    std::env::args_os().next().iter().for_each(|path| program::called_as(path));
    prepare_process();
    if let Err(error) = fiord_sys::signal::survive_file_size_limit() {
        sink::report(format_args!("cannot install signal handlers: {error}\n"));
        return exit::Exit::Failure.into();
    }
    // A lossy conversion would name another file, so refuse arguments that are not UTF-8.
    let args: Result<Vec<String>, _> =
        std::env::args_os().skip(1).map(std::ffi::OsString::into_string).collect();
    match args {
        Ok(args) if agent::is_meant(&args) => agent::stdio().into(),
        Ok(args) => subcommand::run(&args).unwrap_or_else(|| dispatch::run(&args)).into(),
        Err(arg) => {
            sink::report(format_args!(
                "the argument {arg:?} is not UTF-8\n  To fix: rename the file, or create \
                 a link with a UTF-8 name\n"
            ));
            exit::Exit::Failure.into()
        }
    }
}
