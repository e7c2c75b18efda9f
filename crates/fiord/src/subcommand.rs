//! Subcommands, which fio does not have: `fiord check`, `fiord options`, `fiord sweep`,
//! `fiord skew`, `fiord log`, `fiord trace`, `fiord zones`, `fiord suite`, `fiord devices`,
//! `fiord precondition`, `fiord verify`, `fiord powercut`, `fiord keys`.
//!
//! The first argument is a subcommand only if it is exactly the name of one and no file has that
//! name: `fiord options` runs the job file `options` if it exists.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use clap::{Parser, Subcommand};
use fiord_app::signals::FromSignals;
use fiord_commands::consent::Terminal;
use fiord_commands::runs::Launcher;
use fiord_commands::session::{CommandEnd, Session, ShowProgress};
use fiord_commands::{
    devices, keys, log, powercut, precondition, skew, suite, sweep, trace, verify, zones,
};
use fiord_job::load::MachineLoader;
use fiord_job::suggest;
use fiord_sys::terminal;

use crate::exit::Exit;
use crate::sink::Sink;
use crate::{check, sink};

const NAMES: [&str; 13] = [
    "check",
    "options",
    "sweep",
    "skew",
    "log",
    "zones",
    "suite",
    "devices",
    "precondition",
    "verify",
    "powercut",
    "trace",
    "keys",
];

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
    Sweep(sweep::SweepArgs),
    /// Show how a random distribution spreads the I/O over the data.
    Skew(skew::SkewArgs),
    /// Show, convert and plot logs of bandwidth, IOPS and latencies.
    Log(log::LogArgs),
    /// Show, reset, finish, open or close the zones of a device.
    Zones(zones::ZonesArgs),
    /// Run a benchmark suite on a device, or list the suites.
    Suite(suite::SuiteArgs),
    /// Show disks: properties, PCIe links, health and users.
    Devices(devices::DevicesArgs),
    /// Fill devices with data before a measurement.
    Precondition(precondition::PreconditionArgs),
    /// Check a drive or file after a crash: is everything there that it had flushed.
    Verify(verify::VerifyArgs),
    /// Cut the power of a device in the middle of writes and check what it kept.
    Powercut(powercut::PowercutArgs),
    /// Summarize a trace of I/Os, and write a job that approximates it.
    Trace(trace::TraceArgs),
    /// Make, show and trust the keys of connections between hosts.
    Keys(keys::KeysArgs),
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
        Ok(Line { command: Command::Skew(asked) }) => {
            return Some(conclude(|session| skew::run(&asked, session)));
        }
        Ok(Line { command: Command::Log(args) }) => {
            return Some(conclude(|session| log::run(&args, session)));
        }
        Ok(Line { command: Command::Sweep(args) }) => {
            return Some(launch(args.eta, |session, launcher| {
                sweep::run(&args, session, launcher)
            }));
        }
        Ok(Line { command: Command::Suite(args) }) => {
            return Some(launch(args.eta, |session, launcher| {
                suite::run(&args, session, launcher)
            }));
        }
        Ok(Line { command: Command::Powercut(args) }) => {
            return Some(launch(args.eta, |session, launcher| {
                powercut::run(&args, session, launcher)
            }));
        }
        Ok(Line { command: Command::Zones(args) }) => {
            return Some(conclude(|session| zones::run(&args, session, colours())));
        }
        Ok(Line { command: Command::Precondition(args) }) => return Some(fill(&args)),
        Ok(Line { command: Command::Verify(args) }) => {
            return Some(conclude(|session| verify::run(&args, session)));
        }
        Ok(Line { command: Command::Trace(args) }) => {
            return Some(conclude(|session| trace::run(&args, session)));
        }
        Ok(Line { command: Command::Keys(args) }) => {
            return Some(conclude(|session| keys::run(&args, session)));
        }
        Ok(Line { command: Command::Devices(args) }) => {
            return Some(conclude(|session| devices::run(&args, session)));
        }
        Err(error) if error.use_stderr() => {
            eprint!("{error}");
            return Some(Exit::Failure);
        }
        Err(help) => help.to_string(),
    };
    Some(sink::print(&text))
}

/// Prints a compressed log as text (`--inflate-log`).
pub(crate) fn inflate(path: &Path) -> Exit {
    conclude(|session| log::inflate::inflate(path, session.out).map(|()| CommandEnd::Done))
}

/// Runs a subcommand on the standard streams and reports its error.
fn conclude<E: Display>(run: impl FnOnce(&mut Session) -> Result<CommandEnd, E>) -> Exit {
    let mut sink = Sink::standard();
    let (out, err) = (&mut sink, &mut std::io::stderr());
    let exit = match run(&mut Session { out, err, ask: &mut Terminal }) {
        Ok(CommandEnd::Done) => Exit::Success,
        Ok(CommandEnd::Stopped) => Exit::Signalled,
        Ok(CommandEnd::Failed) => Exit::Failure,
        Ok(CommandEnd::DataLost) => Exit::DataLost,
        Err(error) => {
            sink::complain(&format!("fiord: {error}\n"));
            Exit::Failure
        }
    };
    sink.end(exit)
}

/// Runs a subcommand that starts this executable for each run.
fn launch<E: Display>(
    eta: ShowProgress,
    run: impl FnOnce(&mut Session, Launcher) -> Result<CommandEnd, E>,
) -> Exit {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            let what = format!("fiord: cannot determine the path of this executable: {error}\n");
            sink::complain(&what);
            return Exit::Failure;
        }
    };
    let (version, progress) = (&fiord_job::version(), &mut *progress(eta));
    let launcher = Launcher { program, version, loader: &mut MachineLoader, progress };
    conclude(|session| run(session, launcher))
}

/// Runs `fiord precondition`. Ctrl-C stops it such that a later call can resume it.
fn fill(args: &precondition::PreconditionArgs) -> Exit {
    let mut interrupts = match FromSignals::install() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            sink::complain(&format!("fiord: cannot install signal handlers: {error}\n"));
            return Exit::Failure;
        }
    };
    let terminal = terminal::is_terminal(std::io::stderr());
    conclude(|session| precondition::run(args, session, &mut interrupts, terminal))
}

/// Selects where progress goes. By default only a terminal shows it, because programs take any
/// output on standard error for a failure.
fn progress(eta: ShowProgress) -> Box<dyn Write> {
    let shown = match eta {
        ShowProgress::Always => true,
        ShowProgress::Never => false,
        ShowProgress::Auto => terminal::is_terminal(std::io::stderr()),
    };
    if shown { Box::new(std::io::stderr()) } else { Box::new(std::io::sink()) }
}

/// Whether to print in colour.
fn colours() -> bool {
    terminal::is_terminal(std::io::stdout()) && std::env::var_os("NO_COLOR").is_none()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use fiord_job::command::help::SUBCOMMANDS;

    use super::*;

    #[test]
    fn the_help_text_lists_every_subcommand() {
        let listed: Vec<&str> = SUBCOMMANDS.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, NAMES);
        for command in Line::command().get_subcommands() {
            let about = command.get_about().map(ToString::to_string);
            let doc = SUBCOMMANDS.iter().find(|(name, _)| *name == command.get_name());
            assert_eq!(about.as_deref(), doc.map(|(_, doc)| *doc), "{}", command.get_name());
        }
    }
}
