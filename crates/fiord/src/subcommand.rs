//! Subcommands, which fio does not have.
//!
//! To add a subcommand, add a variant to `definition::SubcommandArgs`, whose comment is the description of one line, and an arm in
//! `dispatch`. `docs/dev/subcommand.md` lists all steps.
//!
//! The first argument is a subcommand only if it is exactly the name of one and no file has that
//! name: `fiord options` runs the job file `options` if it exists.

pub(crate) mod definition;
mod job_arguments;
mod typos;

pub(crate) use job_arguments::JOB;

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use clap::{CommandFactory, Parser};
use fiord_app::signals::FromSignals;
use fiord_commands::consent::Terminal;
use fiord_commands::runs::Launcher;
use fiord_commands::runs::progress::RunProgress;
use fiord_commands::session::{CommandEnd, Session, ShowProgress};
use fiord_commands::verify::VerifyProgress;
use fiord_commands::{
    compare, devices, keys, live, log, powercut, precondition, repeat, report, series, skew, suite,
    sweep, trace, verify, zones,
};
use fiord_job::load::MachineLoader;
use fiord_sys::terminal;

use crate::exit::Exit;
use crate::sink::Sink;
use crate::{check, help, sink};

use definition::{SubcommandArgs, SubcommandLine, refusal};

/// Runs a subcommand. Returns `None` if the arguments do not name one.
pub(crate) fn run(args: &[String]) -> Option<Exit> {
    let first = args.first()?;
    // The definitions take longer to build than all else before a short run, so they are built for subcommands only.
    if first.starts_with('-') || Path::new(first).exists() {
        return None;
    }
    let line = SubcommandLine::command();
    let named = line.find_subcommand(first)?;
    if let Some(wrong) = typos::find(named, args) {
        return Some(sink::refuse(&[wrong]));
    }
    let mut all = vec!["fiord".to_owned(), first.clone()];
    all.append(&mut job_arguments::sorted(named, &args[1..]));
    Some(match SubcommandLine::try_parse_from(all) {
        Ok(SubcommandLine { command }) => dispatch(command),
        Err(error) if error.use_stderr() => {
            sink::report(refusal(&error.to_string(), first));
            Exit::Failure
        }
        Err(help) => sink::print(&help.to_string()),
    })
}

fn dispatch(command: SubcommandArgs) -> Exit {
    match command {
        SubcommandArgs::Check(args) => check::run(&args),
        SubcommandArgs::Options { unsupported: true } => {
            sink::print(&fiord_job::unsupported::list())
        }
        SubcommandArgs::Options { unsupported: false } => {
            sink::print(&fiord_job::command::help::options())
        }
        SubcommandArgs::Compare(args) => conclude(|session| compare::run(&args, session)),
        SubcommandArgs::Run(args) => {
            launch(args.eta, |session, launcher| repeat::run(&args, session, launcher))
        }
        SubcommandArgs::Skew(args) => conclude(|session| skew::run(&args, session)),
        SubcommandArgs::Series(args) => conclude(|session| series::run(&args, session)),
        SubcommandArgs::Live(args) => {
            interruptible(|interrupts| conclude(|_| live::run(&args, interrupts)))
        }
        SubcommandArgs::Log(args) => conclude(|session| log::run(&args, session)),
        SubcommandArgs::Sweep(args) => {
            launch(args.eta, |session, launcher| sweep::run(&args, session, launcher))
        }
        SubcommandArgs::Suite(args) => {
            launch(args.eta, |session, launcher| suite::run(&args, session, launcher))
        }
        SubcommandArgs::Powercut(args) => {
            launch(args.eta, |session, launcher| powercut::run(&args, session, launcher))
        }
        SubcommandArgs::Zones(args) => conclude(|session| zones::run(&args, session, colours())),
        SubcommandArgs::Precondition(args) => fill(&args),
        SubcommandArgs::Verify(args) => {
            let mut progress = VerifyProgress::new(terminal::can_redraw(std::io::stderr()));
            conclude(|session| verify::run(&args, session, &mut progress))
        }
        SubcommandArgs::Trace(args) => conclude(|session| trace::run(&args, session)),
        SubcommandArgs::Report(args) => conclude(|session| report::run(&args, session)),
        SubcommandArgs::Keys(args) => conclude(|session| keys::run(&args, session)),
        SubcommandArgs::Devices(args) => conclude(|session| devices::run(&args, session)),
        SubcommandArgs::Help { topic } => help::explain(&topic),
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
    let columns = sink::terminal_columns();
    let exit = match run(&mut Session { out, columns, err, ask: &mut Terminal }) {
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
    let (mut stream, columns) = progress(eta);
    let progress = &mut RunProgress::new(&mut *stream, columns);
    let version = &fiord_job::version();
    let launcher = Launcher { program, version, loader: &mut MachineLoader, progress };
    conclude(|session| run(session, launcher))
}

/// Runs `fiord precondition`. Ctrl-C stops it such that a later call can resume it.
fn fill(args: &precondition::PreconditionArgs) -> Exit {
    let terminal = terminal::can_redraw(std::io::stderr());
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

/// Selects where progress goes, and how wide its lines are if they can be drawn again. By default only a terminal shows it,
/// because programs take any output on standard error for a failure.
fn progress(eta: ShowProgress) -> (Box<dyn Write>, Option<usize>) {
    let moving = terminal::can_redraw(std::io::stderr());
    let shown = match eta {
        ShowProgress::Always => true,
        ShowProgress::Never => false,
        ShowProgress::Auto => moving,
    };
    if !shown {
        return (Box::new(std::io::sink()), None);
    }
    let columns = moving.then(|| terminal::width(std::io::stderr()).unwrap_or(80));
    (Box::new(std::io::stderr()), columns)
}

/// Whether to print in colour.
fn colours() -> bool {
    terminal::is_terminal(std::io::stdout()) && std::env::var_os("NO_COLOR").is_none()
}
