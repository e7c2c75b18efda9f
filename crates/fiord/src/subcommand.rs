//! Subcommands, which fio does not have.
//!
//! The enum `Command` is the only list of them: the help, the manual pages, the completions and the suggestions are made
//! from it. To add a subcommand, add a variant, whose comment is the description of one line, and an arm in `dispatch`.
//!
//! The first argument is a subcommand only if it is exactly the name of one and no file has that
//! name: `fiord options` runs the job file `options` if it exists.

mod job_arguments;

pub(crate) use job_arguments::JOB;

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use clap::{CommandFactory, Parser, Subcommand};
use fiord_app::signals::FromSignals;
use fiord_commands::consent::Terminal;
use fiord_commands::runs::Launcher;
use fiord_commands::session::{CommandEnd, Session, ShowProgress};
use fiord_commands::{
    compare, devices, keys, live, log, powercut, precondition, repeat, report, series, skew, suite,
    sweep, trace, verify, zones,
};
use fiord_job::load::MachineLoader;
use fiord_job::suggest;
use fiord_sys::terminal;

use crate::exit::Exit;
use crate::sink::Sink;
use crate::{check, help, sink};

#[derive(Debug, Parser)]
#[command(name = "fiord", max_term_width = 80)]
#[command(disable_help_subcommand = true)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check jobs for mistakes and for causes of misleading results, without I/O.
    Check(check::CheckArgs),
    /// List the options of job files.
    Options {
        /// List only options, values and engines that are not supported yet.
        #[arg(long)]
        unsupported: bool,
    },
    /// Compare results: which side is better, and how certain is that.
    Compare(compare::CompareArgs),
    /// Repeat jobs, so that their results can be compared.
    Run(repeat::RunArgs),
    /// Run a job at many settings, print a table and find the knee.
    Sweep(sweep::SweepArgs),
    /// Show how a random distribution spreads the I/O over the data.
    Skew(skew::SkewArgs),
    /// Show, convert and plot logs of bandwidth, IOPS and latencies.
    Log(log::LogArgs),
    /// Print what the jobs of a finished run did over time: CSV, JSON lines or InfluxDB.
    Series(series::SeriesArgs),
    /// Replay a finished run on the whole screen, from its JSON or its page.
    Live(live::LiveArgs),
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
    /// Show results of earlier runs as an HTML page.
    Report(report::ReportArgs),
    /// Make, show and trust the keys of connections between hosts.
    Keys(keys::KeysArgs),
    /// Explain a command or a job option.
    Help {
        /// A command, such as `sweep`, or a job option, such as `iodepth`. Without it, lists all commands.
        topic: Vec<String>,
    },
}

/// The definitions of all subcommands, complete with the options that each has by itself.
pub(crate) fn definitions() -> clap::Command {
    let mut line = Line::command();
    line.build();
    line
}

/// The subcommands and a description of each.
pub(crate) fn list() -> Vec<(String, String)> {
    let about = |command: &clap::Command| command.get_about().map(ToString::to_string);
    let line = Line::command();
    let shown = line.get_subcommands().filter(|command| !command.is_hide_set());
    shown
        .map(|command| (command.get_name().to_owned(), about(command).unwrap_or_default()))
        .collect()
}

/// Suggests a subcommand for a word.
pub(crate) fn nearest(word: &str) -> Option<String> {
    let names = list();
    suggest::nearest(word, names.iter().map(|(name, _)| name.as_str())).map(str::to_owned)
}

/// Suggests a subcommand for a first argument that is neither a subcommand, an option nor a file.
pub(crate) fn meant(first: &str) -> Option<String> {
    if first.starts_with('-') || Path::new(first).exists() {
        return None;
    }
    nearest(first)
}

/// Runs a subcommand. Returns `None` if the arguments do not name one.
pub(crate) fn run(args: &[String]) -> Option<Exit> {
    let first = args.first()?;
    // The definitions take longer to build than all else before a short run, so they are built for subcommands only.
    if first.starts_with('-') || Path::new(first).exists() {
        return None;
    }
    let line = Line::command();
    let named = line.find_subcommand(first)?;
    let mut all = vec!["fiord".to_owned(), first.clone()];
    all.append(&mut job_arguments::sorted(named, &args[1..]));
    Some(match Line::try_parse_from(all) {
        Ok(Line { command }) => dispatch(command),
        Err(error) if error.use_stderr() => {
            sink::report(refusal(&error.to_string(), first));
            Exit::Failure
        }
        Err(help) => sink::print(&help.to_string()),
    })
}

/// The text of `fiord COMMAND --help`, where the words name a subcommand, or one of a subcommand's own. `None` if there is
/// no such subcommand.
pub(crate) fn explained(words: &[String]) -> Option<String> {
    let line = Line::command();
    let mut at = &line;
    for word in words {
        at = at.find_subcommand(word)?;
    }
    let all = ["fiord"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    Line::try_parse_from(all).err().map(|help| help.to_string())
}

/// Writes a message of clap like the other messages of this program.
fn refusal(text: &str, subcommand: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let text = text
        .replace("\n\nFor more information, try '--help'.\n", "\n")
        .replace("\n  tip: ", "\n  help: ");
    format!("{text}  To fix: `fiord help {subcommand}` explains what it accepts\n")
}

fn dispatch(command: Command) -> Exit {
    match command {
        Command::Check(args) => check::run(&args),
        Command::Options { unsupported: true } => sink::print(&fiord_job::unsupported::list()),
        Command::Options { unsupported: false } => {
            sink::print(&fiord_job::command::help::options())
        }
        Command::Compare(args) => conclude(|session| compare::run(&args, session)),
        Command::Run(args) => {
            launch(args.eta, |session, launcher| repeat::run(&args, session, launcher))
        }
        Command::Skew(args) => conclude(|session| skew::run(&args, session)),
        Command::Series(args) => conclude(|session| series::run(&args, session)),
        Command::Live(args) => {
            interruptible(|interrupts| conclude(|_| live::run(&args, interrupts)))
        }
        Command::Log(args) => conclude(|session| log::run(&args, session)),
        Command::Sweep(args) => {
            launch(args.eta, |session, launcher| sweep::run(&args, session, launcher))
        }
        Command::Suite(args) => {
            launch(args.eta, |session, launcher| suite::run(&args, session, launcher))
        }
        Command::Powercut(args) => {
            launch(args.eta, |session, launcher| powercut::run(&args, session, launcher))
        }
        Command::Zones(args) => conclude(|session| zones::run(&args, session, colours())),
        Command::Precondition(args) => fill(&args),
        Command::Verify(args) => conclude(|session| verify::run(&args, session)),
        Command::Trace(args) => conclude(|session| trace::run(&args, session)),
        Command::Report(args) => conclude(|session| report::run(&args, session)),
        Command::Keys(args) => conclude(|session| keys::run(&args, session)),
        Command::Devices(args) => conclude(|session| devices::run(&args, session)),
        Command::Help { topic } => help::explain(&topic),
    }
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
        Ok(CommandEnd::NotSteady) => Exit::NotSteady,
        Ok(CommandEnd::DataLost) => Exit::DataLost,
        Ok(CommandEnd::ConditionHolds) => Exit::ConditionHolds,
        Ok(CommandEnd::ConditionUnproven) => Exit::ConditionUnproven,
        Err(error) => {
            sink::report(format_args!("{error}\n"));
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
            sink::report(format_args!("cannot determine the path of this executable: {error}\n"));
            return Exit::Failure;
        }
    };
    let (version, progress) = (&fiord_job::version(), &mut *progress(eta));
    let launcher = Launcher { program, version, loader: &mut MachineLoader, progress };
    conclude(|session| run(session, launcher))
}

/// Runs `fiord precondition`. Ctrl-C stops it such that a later call can resume it.
fn fill(args: &precondition::PreconditionArgs) -> Exit {
    let terminal = terminal::is_terminal(std::io::stderr());
    interruptible(|interrupts| {
        conclude(|session| precondition::run(args, session, interrupts, terminal))
    })
}

/// Runs a subcommand that ends in an orderly way when a signal asks for it.
fn interruptible(run: impl FnOnce(&mut FromSignals) -> Exit) -> Exit {
    match FromSignals::install() {
        Ok(mut interrupts) => run(&mut interrupts),
        Err(error) => {
            sink::report(format_args!("cannot install signal handlers: {error}\n"));
            Exit::Failure
        }
    }
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
    use super::*;

    #[test]
    fn the_definitions_are_sound() {
        Line::command().debug_assert();
    }

    #[test]
    fn every_subcommand_has_a_description_of_one_line() {
        for (name, about) in list() {
            assert!(about.chars().count() > 10 && !about.ends_with('.'), "{name}: {about}");
        }
    }

    #[test]
    fn a_word_near_a_subcommand_suggests_it() {
        assert_eq!(nearest("swep").as_deref(), Some("sweep"));
        assert_eq!(nearest("xyzzyx"), None);
        assert_eq!(meant("--swep"), None);
    }
}
