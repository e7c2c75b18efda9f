//! Subcommands, which fio does not have: `fiord check`, `fiord options`, `fiord sweep`,
//! `fiord skew`, `fiord zones`, `fiord suite`, `fiord devices`,
//! `fiord precondition`.
//!
//! The first argument is a subcommand only if it is exactly the name of one and no file has that
//! name: `fiord options` runs the job file `options` if it exists.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use fiord_commands::sweep::args::Eta;
use fiord_job::load::Machine;
use fiord_job::suggest;
use fiord_sys::terminal;

use crate::exit::Exit;
use crate::interrupts::FromSignals;
use crate::sink::Sink;
use crate::{check, sink, skew};

const NAMES: [&str; 8] =
    ["check", "options", "sweep", "skew", "zones", "suite", "devices", "precondition"];

#[derive(Debug, Parser)]
#[command(name = "fiord")]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the options of job files.
    Options {
        /// List only options, values and engines that are not supported yet.
        #[arg(long)]
        unsupported: bool,
    },
    /// Run a job at many settings, print a table and find the knee.
    Sweep(fiord_commands::sweep::Args),
    /// Show how a random distribution spreads the I/O over the data.
    Skew(skew::Asked),
    /// Show, reset, finish, open or close the zones of a device.
    Zones(fiord_commands::zones::Args),
    /// Run a benchmark suite on a device, or list the suites.
    Suite(fiord_commands::suite::Args),
    /// Show disks: properties, PCIe links, health and users.
    Devices(fiord_commands::devices::Args),
    /// Fill devices with data before a measurement.
    Precondition(fiord_commands::precondition::Args),
}

/// Suggests a subcommand for a first argument that is neither a subcommand, an option nor a file.
pub(crate) fn meant(first: &str) -> Option<&'static str> {
    let other = first.starts_with('-') || Path::new(first).exists();
    suggest::nearest(first, NAMES.into_iter()).filter(|_| !other)
}

/// Runs a subcommand. Returns `None` if the arguments do not name one.
pub(crate) fn run(args: &[String]) -> Option<Exit> {
    let first = args.first()?;
    if !NAMES.contains(&first.as_str()) || Path::new(first).exists() {
        return None;
    }
    if first == "check" {
        // `check` takes the arguments of a run, which clap does not parse.
        return Some(check::run(&args[1..]));
    }
    let line = std::iter::once("fiord").chain(args.iter().map(String::as_str));
    let text = match Line::try_parse_from(line) {
        Ok(Line { command: Command::Options { unsupported: true } }) => {
            fiord_job::unsupported::list()
        }
        Ok(Line { command: Command::Options { unsupported: false } }) => {
            fiord_job::command::help::options()
        }
        Ok(Line { command: Command::Sweep(args) }) => return Some(sweep(&args)),
        Ok(Line { command: Command::Suite(args) }) => return Some(suite(&args)),
        Ok(Line { command: Command::Zones(args) }) => return Some(zones(&args)),
        Ok(Line { command: Command::Skew(asked) }) => return Some(answer(asked.report())),
        Ok(Line { command: Command::Precondition(args) }) => return Some(precondition(&args)),
        Ok(Line { command: Command::Devices(args) }) => {
            return Some(answer(fiord_commands::devices::show(&args)));
        }
        Err(error) if error.use_stderr() => {
            eprint!("{error}");
            return Some(Exit::Failure);
        }
        Err(help) => help.to_string(),
    };
    Some(sink::print(&text))
}

/// Runs `fiord precondition`. Ctrl-C stops it such that a later call can resume it.
fn precondition(args: &fiord_commands::precondition::Args) -> Exit {
    let mut interrupts = match FromSignals::install() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            sink::complain(&format!("fiord: cannot install signal handlers: {error}\n"));
            return Exit::Failure;
        }
    };
    let mut sink = Sink::standard();
    let mut session = fiord_commands::precondition::Session {
        out: &mut sink,
        err: &mut std::io::stderr(),
        ask: &mut fiord_commands::zones::consent::Terminal,
        interrupts: &mut interrupts,
        terminal: terminal::is_terminal(std::io::stderr()),
    };
    let exit = match fiord_commands::precondition::run(args, &mut session) {
        fiord_commands::precondition::End::Done => Exit::Success,
        fiord_commands::precondition::End::Stopped => Exit::Signalled,
        fiord_commands::precondition::End::Failed => Exit::Failure,
    };
    sink.end(exit)
}

/// Prints the result to standard output, or the error to standard error.
fn answer(found: Result<String, String>) -> Exit {
    match found {
        Ok(text) => sink::print(&text),
        Err(wrong) => {
            sink::complain(&wrong);
            Exit::Failure
        }
    }
}

/// Selects where progress goes. By default only a terminal shows it, because programs take any
/// output on standard error for a failure.
fn progress(eta: Eta) -> Box<dyn Write> {
    let shown = match eta {
        Eta::Always => true,
        Eta::Never => false,
        Eta::Auto => terminal::is_terminal(std::io::stderr()),
    };
    if shown { Box::new(std::io::stderr()) } else { Box::new(std::io::sink()) }
}

/// Runs `fiord sweep`, which starts this executable for each point.
fn sweep(args: &fiord_commands::sweep::Args) -> Exit {
    let Some(program) = this_program() else { return Exit::Failure };
    let version = fiord_job::version();
    let mut sink = Sink::standard();
    let mut progress = progress(args.eta);
    let streams = fiord_commands::sweep::Streams {
        out: &mut sink,
        progress: &mut *progress,
        err: &mut std::io::stderr(),
    };
    let exit = ended(fiord_commands::sweep::run(args, &mut Machine, (program, &version), streams));
    sink.end(exit)
}

/// Runs `fiord suite`, which starts this executable for each step.
fn suite(args: &fiord_commands::suite::Args) -> Exit {
    let Some(program) = this_program() else { return Exit::Failure };
    let mut sink = Sink::standard();
    let mut progress = progress(args.eta);
    let mut session = fiord_commands::suite::Session {
        out: &mut sink,
        progress: &mut *progress,
        err: &mut std::io::stderr(),
        ask: &mut fiord_commands::zones::consent::Terminal,
        loader: &mut Machine,
        program,
        version: &fiord_job::version(),
    };
    let exit = ended(fiord_commands::suite::run(args, &mut session));
    sink.end(exit)
}

fn this_program() -> Option<PathBuf> {
    std::env::current_exe()
        .inspect_err(|error| {
            let what = format!("fiord: cannot determine the path of this executable: {error}\n");
            sink::complain(&what);
        })
        .ok()
}

fn ended(end: fiord_commands::sweep::End) -> Exit {
    match end {
        fiord_commands::sweep::End::Done => Exit::Success,
        fiord_commands::sweep::End::Failed => Exit::Failure,
        fiord_commands::sweep::End::Stopped => Exit::Signalled,
    }
}

/// Runs `fiord zones`.
fn zones(args: &fiord_commands::zones::Args) -> Exit {
    let colours =
        terminal::is_terminal(std::io::stdout()) && std::env::var_os("NO_COLOR").is_none();
    let mut sink = Sink::standard();
    let mut session = fiord_commands::zones::Session {
        out: &mut sink,
        err: &mut std::io::stderr(),
        colours,
        ask: &mut fiord_commands::zones::consent::Terminal,
    };
    let exit = match fiord_commands::zones::run(args, &mut session) {
        Ok(()) => Exit::Success,
        Err(why) => {
            sink::complain(&format!("fiord: {why}\n"));
            Exit::Failure
        }
    };
    sink.end(exit)
}
