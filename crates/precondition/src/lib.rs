//! `fiord precondition`: writes devices in full, so that what is measured afterwards is a device in
//! use and not erased flash.
//!
//! | question | module |
//! |---|---|
//! | what is to be written, and what refuses it | [`target`] |
//! | how is a device written: the jobs, one stretch after another | `fill.rs` |
//! | where did it stop, so that it can be picked up | [`state`] |
//! | the bars | `bars.rs` |
//!
//! There is no I/O loop here: every stretch is a job that [`fiord_run`] runs, one device a thread.

mod bars;
mod fill;
pub mod state;
pub mod target;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fiord_run::{Interrupt, Interrupts};
use fiord_zones::consent::{self, Ask};

use bars::Bars;
use fill::{Ended, Filler};
use state::Store;
use target::Target;

/// What was asked for.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Block devices, or files that are there, to be written in full.
    #[arg(required = true)]
    device: Vec<PathBuf>,
    /// Then write at random, 4 KiB at a time, until the rate is steady: five rounds whose range is
    /// within 20 % and whose slope is within 10 % of their mean.
    #[arg(long)]
    random: bool,
    /// Length of a round of --random, seconds.
    #[arg(long, default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    round: u64,
    /// The longest that --random goes on, minutes.
    #[arg(long, default_value = "720", value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// Times that everything is written before --random begins.
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    passes: u32,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Begin anew where an earlier call was stopped.
    #[arg(long)]
    restart: bool,
    /// Where it is kept how far it came; else below $XDG_STATE_HOME, or ~/.local/state.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
}

/// Where things are said, who answers, and what can stop it.
pub struct Session<'a> {
    /// Results.
    pub out: &'a mut dyn Write,
    /// What is about to happen, and errors.
    pub err: &'a mut dyn Write,
    /// Who is asked.
    pub ask: &'a mut dyn Ask,
    /// Ctrl-C.
    pub interrupts: &'a mut dyn Interrupts,
    /// Whether standard error is a terminal.
    pub terminal: bool,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Everything is written.
    Done,
    /// Stopped; the same command picks it up.
    Stopped,
    /// Something was refused or failed.
    Failed,
}

/// Does what the command line says.
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
    // It belongs to the question and to the bars; without them it is a part of the result.
    let to = if args.yes && !session.terminal { &mut session.out } else { &mut session.err };
    for (target, place) in targets.iter().zip(&places) {
        warn(to, &target.describe())?;
        if place.position > 0 || place.passes > 0 {
            warn(to, &format!("  goes on at    {}\n", place.words(target.size)))?;
        }
    }
    let what = if targets.len() == 1 { "it" } else { "them" };
    warn(to, &format!("Everything on {what} will be lost.\n"))?;
    // What cannot be remembered is told before it is too late.
    store.check()?;
    consent::obtain(args.yes, session.ask)?;
    let ends = write_all(args, session, &targets, &places, &store)?;
    summary(session, &targets, &ends)
}

/// Writes all targets side by side; gives how each ended.
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

/// A line for each target, and how it went altogether.
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
                    // A reader that goes away changes nothing.
                    Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                    other => other.map_err(|e| {
                        format!("standard output: the result cannot be written: {e}")
                    })?,
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

/// The same of what must be read before anything is lost.
fn warn(to: &mut dyn Write, text: &str) -> Result<(), String> {
    say(to, text).map_err(|e| format!("what will be lost cannot be shown: {e}"))
}

#[cfg(test)]
mod tests;
