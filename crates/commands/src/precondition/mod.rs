//! `fiord precondition`: fills devices with data, so that a later measurement sees a device in use
//! and not erased flash.
//!
//! | question | module |
//! |---|---|
//! | which targets are written, and which are refused | [`target`] |
//! | how is a device written, one extent after another | `fill.rs` |
//! | how far is each device written, so that a later call can resume | [`state`] |
//! | how are progress bars drawn | `bars.rs` |
//! | how fast was it written, in which rounds | `record.rs` |
//! | which results does the command write | `output.rs` |
//! | how are the devices of many hosts filled | `hosts.rs` |
//!
//! This module has no I/O loop: [`fiord_run`] runs a job for every extent, with one thread for each
//! device.

mod bars;
mod fill;
mod hosts;
mod output;
mod record;
pub mod state;
pub mod target;

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fiord_job::load::MachineLoader;
use fiord_run::{Interrupt, Interrupts};
use fiord_types::{Bytes, Errno};

use crate::consent::{self, NoConsent};
use crate::rejected::Rejected;
use crate::runs::hosts::SshArgs;
use crate::runs::over_ssh::{self, OverSshError};
use crate::session::{CannotPrint, CommandEnd, Session};

use bars::Bars;
pub use fill::FillError;
use fill::{DeviceFiller, FillEnd};
pub use output::PreconditionFormat;
use output::{FilledDevice, Output};
use record::FillRecord;
use state::{FillPosition, ProgressFile, StateError};
use target::{FillTarget, Unsuitable};

/// Why nothing is written, or why the outcome cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum PreconditionError {
    /// A target is refused.
    #[error(transparent)]
    Target(#[from] Unsuitable),
    /// The progress cannot be saved.
    #[error(transparent)]
    State(#[from] StateError),
    /// The user cannot see which data will be lost.
    #[error("cannot show which data will be lost: {}", Errno::explain(.0))]
    Warning(#[source] io::Error),
    /// The user does not confirm.
    #[error(transparent)]
    NoConsent(#[from] NoConsent),
    /// A list of hosts is wrong.
    #[error(transparent)]
    Hosts(#[from] Rejected),
    /// The hosts cannot run the command.
    #[error(transparent)]
    OverSsh(#[from] OverSshError),
    /// The file of `--output` cannot be created.
    #[error("--output: {0}")]
    Create(#[source] fiord_sys::Error),
    /// The file of `--output` cannot be written.
    #[error("--output: {}: {}", .0.display(), Errno::explain(.1))]
    Write(PathBuf, #[source] io::Error),
    /// The results of a host cannot be read.
    #[error("the results of host {host} cannot be read: {source}")]
    OfHost {
        /// The host.
        host: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// The outcome cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

/// Command line of `fiord precondition`.
#[derive(Debug, clap::Args)]
pub struct PreconditionArgs {
    /// Block devices or existing files to fill.
    #[arg(required = true)]
    device: Vec<PathBuf>,
    /// Then write randomly in blocks of 4 KiB until the rate is steady: over five rounds, the range
    /// of the IOPS is within 20 % and their slope within 10 % of their mean.
    #[arg(long)]
    random: bool,
    /// Duration of a round of --random in seconds.
    #[arg(long, default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    round: u64,
    /// Maximum duration of --random in minutes. If it ends the random writes before the rate is steady, the exit status
    /// is 246.
    #[arg(long, default_value = "720", value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Number of sequential passes over the device before --random begins.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    passes: u32,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
    /// Show which data would be lost, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// The user has confirmed at another host. The command stops when its standard input ends.
    #[arg(long, hide = true)]
    attended: bool,
    /// Start over instead of resuming an interrupted run.
    #[arg(long)]
    restart: bool,
    /// File that records the progress [default: below $XDG_STATE_HOME or ~/.local/state].
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Output format. `fiord report` makes a page from JSON.
    #[arg(long, value_enum, default_value = "text")]
    format: PreconditionFormat,
    /// Write the results to this file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    hosts: SshArgs,
}

impl PreconditionArgs {
    /// The arguments of the command on one of many hosts, with one more option. `format` is that of the host's results.
    fn on_host(&self, option: &str, format: PreconditionFormat) -> Vec<String> {
        let mut words = vec!["precondition".to_owned(), option.to_owned()];
        words.extend(self.random.then(|| "--random".to_owned()));
        words.extend(self.restart.then(|| "--restart".to_owned()));
        let json = format == PreconditionFormat::Json;
        words.extend(json.then(|| "--format=json".to_owned()));
        let numbers =
            [("round", self.round), ("limit", self.limit), ("passes", self.passes.into())];
        words.extend(numbers.map(|(name, value)| format!("--{name}={value}")));
        words.extend(self.state.iter().map(|path| format!("--state={}", path.display())));
        words.push("--".to_owned());
        words.extend(self.device.iter().map(|path| path.display().to_string()));
        words
    }
}

/// Runs `fiord precondition`. An interrupt stops it such that a later call can resume it.
/// `terminal`: whether standard error is a terminal, which then shows progress bars.
///
/// # Errors
/// A target is refused, progress cannot be saved, or the user does not confirm. A target that fails
/// later is reported on the session's error stream.
pub fn run(
    args: &PreconditionArgs,
    session: &mut Session<'_>,
    interrupts: &mut dyn Interrupts,
    terminal: bool,
) -> Result<CommandEnd, PreconditionError> {
    if let Some(hosts) = args.hosts.reached(&mut MachineLoader)? {
        return hosts::run(args, &hosts, session, interrupts, terminal);
    }
    let targets = target::all(&args.device)?;
    let store = ProgressFile::open(args.state.as_deref())?;
    let place = |target: &FillTarget| match args.restart {
        true => FillPosition::default(),
        false => store.place(&target.key, target.size),
    };
    let places: Vec<FillPosition> = targets.iter().map(place).collect();
    let text = args.format == PreconditionFormat::Text;
    // With a question or bars the description goes to standard error; without them it is part of
    // the result.
    let is_result = args.dry_run || (args.yes && !terminal);
    if !args.attended && (text || !is_result) {
        let to = if is_result { &mut session.out } else { &mut session.err };
        describe(to, &targets, &places)?;
    }
    // Check that progress and results can be saved before any data is lost.
    store.check()?;
    let mut output = Output::open(args)?;
    if args.dry_run {
        let devices = targets.into_iter().map(FilledDevice::untouched).collect();
        return output.conclude(devices, session);
    }
    consent::obtain(args.yes || args.attended, session.ask)?;
    let bars = Bars::new(terminal);
    let ends = write_all(args, interrupts, &bars, &targets, &places, &store);
    let device = |(target, (end, record))| FilledDevice { target, end: Some(end), record };
    output.conclude(targets.into_iter().zip(ends).map(device).collect(), session)
}

/// Says which data will be lost.
fn describe(
    to: &mut dyn Write,
    targets: &[FillTarget],
    places: &[FillPosition],
) -> Result<(), PreconditionError> {
    for (target, place) in targets.iter().zip(places) {
        warn(to, &target.describe())?;
        if place.position > Bytes::ZERO || place.passes > 0 {
            warn(to, &format!("  resumes at    {}\n", place.words(target.size)))?;
        }
    }
    let what = if targets.len() == 1 { "it" } else { "them" };
    warn(to, &format!("All data on {what} will be lost.\n"))
}

/// The outcome of a target.
type FillResult = (Result<FillEnd, FillError>, FillRecord);

/// Writes all targets in parallel. Returns the outcome of each.
fn write_all(
    args: &PreconditionArgs,
    interrupts: &mut dyn Interrupts,
    bars: &Bars,
    targets: &[FillTarget],
    places: &[FillPosition],
    store: &ProgressFile,
) -> Vec<FillResult> {
    let stop = AtomicBool::new(false);
    let input_ended = args.attended.then(over_ssh::input_end);
    std::thread::scope(|scope| {
        let threads: Vec<_> = targets
            .iter()
            .zip(places)
            .map(|(target, place)| {
                let bar = bars.add(&target.name, target.size, place.position);
                let (stop, place) = (&stop, *place);
                let record = RefCell::new(FillRecord::new());
                let filler =
                    move || DeviceFiller { args, target, store, stop, bar, record }.run(place);
                scope.spawn(filler)
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            let left = input_ended.as_ref().is_some_and(|ended| ended.load(Ordering::Relaxed));
            if left || matches!(interrupts.next(), Some(Interrupt::End(_))) {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| (Err(FillError::Panicked), FillRecord::new()))
        };
        threads.into_iter().map(join).collect()
    })
}

/// Prints a warning that the user must be able to read before data is lost.
fn warn(to: &mut dyn Write, text: &str) -> Result<(), PreconditionError> {
    to.write_all(text.as_bytes()).and_then(|()| to.flush()).map_err(PreconditionError::Warning)
}

#[cfg(test)]
mod tests;
