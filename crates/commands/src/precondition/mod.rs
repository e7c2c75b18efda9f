//! `fiord precondition`: fills devices with data, so that a later measurement sees a device in use
//! and not erased flash.
//!
//! | question | module |
//! |---|---|
//! | which targets are written, and which are refused | [`target`] |
//! | how is a device written, one extent after another | `fill.rs` |
//! | how far is each device written, so that a later call can resume | [`state`] |
//! | how are progress bars drawn | `bars.rs` |
//!
//! This module has no I/O loop: [`fiord_run`] runs a job for every extent, with one thread for each
//! device.

mod bars;
mod fill;
pub mod state;
pub mod target;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::zones::consent::{self, Ask};
use fiord_run::{Interrupt, Interrupts};

use bars::Bars;
use fill::{Ended, Filler};
use state::Store;
use target::Target;

/// Command line of `fiord precondition`.
#[derive(Debug, clap::Args)]
pub struct Args {
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
    /// Maximum duration of --random in minutes.
    #[arg(long, default_value = "720", value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Number of sequential passes over the device before --random begins.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    passes: u32,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
    /// Start over instead of resuming an interrupted run.
    #[arg(long)]
    restart: bool,
    /// File that records the progress [default: below $XDG_STATE_HOME or ~/.local/state].
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
}

/// Output streams, the source of answers, and interrupts.
pub struct Session<'a> {
    /// Stream for results.
    pub out: &'a mut dyn Write,
    /// Stream for questions and errors.
    pub err: &'a mut dyn Write,
    /// Source of answers.
    pub ask: &'a mut dyn Ask,
    /// Interrupts such as Ctrl-C.
    pub interrupts: &'a mut dyn Interrupts,
    /// Whether standard error is a terminal.
    pub terminal: bool,
}

/// Outcome of `fiord precondition`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All targets are written.
    Done,
    /// A signal stopped the run; the same command resumes it.
    Stopped,
    /// A target was refused or failed.
    Failed,
}

/// Runs `fiord precondition` with `args`.
pub fn run(args: &Args, session: &mut Session<'_>) -> End {
    everything(args, session).unwrap_or_else(|what| {
        let _ = writeln!(session.err, "fiord: {}", what.trim_end());
        End::Failed
    })
}

fn everything(args: &Args, session: &mut Session<'_>) -> Result<End, String> {
    let targets = target::all(&args.device)?;
    let store = Store::open(args.state.as_deref())?;
    let place = |target: &Target| match args.restart {
        true => state::Place::default(),
        false => store.place(&target.key, target.size),
    };
    let places: Vec<state::Place> = targets.iter().map(place).collect();
    // With a question or bars the description goes to standard error; without them it is part of
    // the result.
    let to = if args.yes && !session.terminal { &mut session.out } else { &mut session.err };
    for (target, place) in targets.iter().zip(&places) {
        warn(to, &target.describe())?;
        if place.position > 0 || place.passes > 0 {
            warn(to, &format!("  resumes at    {}\n", place.words(target.size)))?;
        }
    }
    let what = if targets.len() == 1 { "it" } else { "them" };
    warn(to, &format!("All data on {what} will be lost.\n"))?;
    // Check that progress can be saved before any data is lost.
    store.check()?;
    consent::obtain(args.yes, session.ask)?;
    let ends = write_all(args, session, &targets, &places, &store)?;
    summary(session, &targets, &ends)
}

/// Writes all targets in parallel. Returns the outcome of each.
fn write_all(
    args: &Args,
    session: &mut Session<'_>,
    targets: &[Target],
    places: &[state::Place],
    store: &Store,
) -> Result<Vec<Result<Ended, String>>, String> {
    let stop = AtomicBool::new(false);
    let bars = Bars::new(session.terminal);
    let ends = std::thread::scope(|scope| {
        let threads: Vec<_> = targets
            .iter()
            .zip(places)
            .map(|(target, place)| {
                let bar = bars.add(&target.name, target.size, place.position);
                let (stop, place) = (&stop, *place);
                let filler = move || Filler { args, target, store, stop, bar }.run(place);
                scope.spawn(filler)
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            if let Some(Interrupt::End(_)) = session.interrupts.next() {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let broken = || Err("a thread ended unexpectedly".to_owned());
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| broken())).collect()
    });
    Ok(ends)
}

/// Prints a line for each target. Returns the overall outcome.
fn summary(
    session: &mut Session<'_>,
    targets: &[Target],
    ends: &[Result<Ended, String>],
) -> Result<End, String> {
    let mut end = End::Done;
    for (target, ended) in targets.iter().zip(ends) {
        match ended {
            Ok(ended) => {
                let words = ended.words(target.size);
                match say(session.out, &format!("{}: {words}\n", target.name)) {
                    // A closed pipe does not change the outcome.
                    Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                    other => other
                        .map_err(|e| format!("cannot write the result to standard output: {e}"))?,
                }
                if matches!(ended, Ended::Stopped { .. }) && end == End::Done {
                    end = End::Stopped;
                }
            }
            Err(what) => {
                let _ = say(session.err, &format!("fiord: {}: {}\n", target.name, what.trim_end()));
                end = End::Failed;
            }
        }
    }
    Ok(end)
}

fn say(to: &mut dyn Write, text: &str) -> std::io::Result<()> {
    to.write_all(text.as_bytes()).and_then(|()| to.flush())
}

/// Prints a warning that the user must be able to read before data is lost.
///
/// # Errors
/// The warning cannot be written.
fn warn(to: &mut dyn Write, text: &str) -> Result<(), String> {
    say(to, text).map_err(|e| format!("cannot show which data will be lost: {e}"))
}

#[cfg(test)]
mod tests;
