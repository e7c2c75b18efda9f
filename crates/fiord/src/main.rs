//! The `fiord` command: a command line in, a run, results out.
//!
//! | question | module |
//! |---|---|
//! | what happens from the arguments to the exit status | [`invoke`] |
//! | when is the machine looked at, what is found | [`findings`] |
//! | which exit status means what | [`exit`] |
//! | where do results go, and what if they cannot be written | [`sink`] |
//! | what is printed while jobs run | [`console`] |
//! | what do the lines before a run say | [`headers`] |
//! | how do Ctrl-C and SIGUSR1 reach the run | [`interrupts`] |
//! | which file asks for a report | [`status_file`] |
//! | what does `--debug` print | [`debug`] |
//! | what does `fiord check` say | [`check`] |
//! | `fiord options` and other subcommands | [`subcommand`] |

mod check;
mod console;
mod debug;
mod exit;
mod findings;
mod headers;
mod interrupts;
mod invoke;
mod sink;
mod skew;
mod status_file;
mod subcommand;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: fiord_sys::shortage::Allocator = fiord_sys::shortage::Allocator;

fn main() -> ExitCode {
    fiord_sys::shortage::save_address_space();
    if let Err(error) = fiord_sys::signal::survive_file_size_limit() {
        sink::complain(&format!("fio: no signal handlers: {error}\n"));
        return exit::Exit::Failure.into();
    }
    // A name that is not UTF-8 would become another name: nothing is done rather than the wrong thing.
    let args: Result<Vec<String>, _> =
        std::env::args_os().skip(1).map(std::ffi::OsString::into_string).collect();
    match args {
        Ok(args) => subcommand::run(&args).unwrap_or_else(|| invoke::run(&args)).into(),
        Err(arg) => {
            sink::complain(&format!(
                "fio: the argument {arg:?} is not UTF-8\n  help: rename the file, or link to it \
                 under a name that is\n"
            ));
            exit::Exit::Failure.into()
        }
    }
}
