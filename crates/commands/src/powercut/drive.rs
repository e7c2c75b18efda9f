//! Runs the rounds in order, after the user's confirmation, or resumes them.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use fiord_job::load::Loader;
use fiord_sys::block;
use fiord_sys::file;
use fiord_sys::signal;

use super::args::PowercutArgs;
use super::error::PowercutError;
use super::load;
use super::result::{CutKind, RoundVerdict};
use super::round::RoundRunner;
use super::settings::{self, CutMethod, PowercutSettings, TargetIdentity};
use super::state::{self, RoundPhase, RoundsState, StateProblem};
use super::table;
use crate::consent;
use crate::precondition::target::{self, FillTarget, Unsuitable};
use crate::runs::Launcher;
use crate::session::{CommandEnd, CommandFormat, Session};

/// Runs the rounds and prints their results.
///
/// # Errors
/// The command line is wrong, the user does not confirm, or a round cannot be run or checked. In the last case the
/// results of the rounds before are printed all the same. If one of them lost data, the error is only reported, so
/// that the command ends as after lost data.
pub fn run(
    args: &PowercutArgs,
    session: &mut Session,
    launcher: Launcher,
) -> Result<CommandEnd, PowercutError> {
    let signals = signal::install()?;
    let Launcher { program, loader, progress, .. } = launcher;
    let mut state = match &args.resume {
        Some(path) => resume(path, args.target.as_deref())?,
        None => fresh(args, session, loader)?,
    };
    let resume = state.resume_command();
    let mut runner = RoundRunner {
        program: &program,
        state: &mut state,
        signals,
        progress: progress.stream(),
        prompt: session.err,
        resume: resume.clone(),
    };
    let end = match finish_round(&mut runner) {
        Ok(true) if args.resume.is_some() => again(args, &mut runner, session.ask, loader),
        Ok(true) => rounds(&mut runner, loader),
        Ok(false) => Ok(CommandEnd::Stopped),
        Err(error) => Err(error),
    };
    conclude(args, session, &state, end)
}

/// Prints the results, and decides how the command ends.
fn conclude(
    args: &PowercutArgs,
    session: &mut Session,
    state: &RoundsState,
    end: Result<CommandEnd, PowercutError>,
) -> Result<CommandEnd, PowercutError> {
    let printed = match args.format {
        CommandFormat::Table if state.rounds().is_empty() => Ok(()),
        CommandFormat::Table => session.print(&table::text(state)),
        CommandFormat::Json => session.print_document(&table::json(state)),
    };
    let verdicts: Vec<RoundVerdict> = state.rounds().iter().map(|done| done.verdict).collect();
    if matches!(end, Ok(CommandEnd::Stopped)) {
        let _ = writeln!(session.err, "stopped; to continue, {}", state.resume_command());
    }
    if verdicts.iter().any(|verdict| verdict.is_broken()) {
        if let Err(error) = end {
            session.report(error);
        }
        return Ok(CommandEnd::DataLost);
    }
    let end = end?;
    printed?;
    match verdicts.contains(&RoundVerdict::Untested) {
        true if end == CommandEnd::Done => Ok(CommandEnd::Failed),
        _ => Ok(end),
    }
}

/// Checks the command line, asks the user, and creates the state.
fn fresh(
    args: &PowercutArgs,
    session: &mut Session,
    loader: &mut dyn Loader,
) -> Result<RoundsState, PowercutError> {
    let path = args.target.clone().unwrap_or_default();
    let load = match args.job.is_empty() {
        true => Vec::new(),
        false => load::read(&args.job, loader)?,
    };
    let target = one(&path)?;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    // Five digits are enough, and can be typed.
    let seed = (seed % 100_000) as u64;
    let settings = PowercutSettings::read(args, TargetIdentity::of(&target), load, seed)?;
    let dir = args.dir.clone().unwrap_or_else(|| settings::usual_directory(&path));
    if settings.method != CutMethod::Kill {
        check_disks(&target, &dir)?;
    }
    let journal = dir.join("round-0001.journal");
    load::arguments(&settings, 1, &journal, loader)?;
    if !args.restart && dir.join(state::STATE_NAME).exists() {
        return Err(StateProblem::Exists { dir }.into());
    }
    // With a question, the description goes to standard error; without one, it is part of the results for people.
    let shown = target.describe() + &table::announcement(&settings);
    match args.format {
        _ if !args.yes => drop(session.err.write_all(shown.as_bytes())),
        CommandFormat::Table => session.print(&(shown + "\n"))?,
        CommandFormat::Json => {}
    }
    consent::obtain(args.yes, session.ask)?;
    Ok(RoundsState::create(&dir, settings, args.restart)?)
}

/// Reads the state of an earlier call and checks that it is of this target.
fn resume(path: &Path, target: Option<&Path>) -> Result<RoundsState, PowercutError> {
    let state = RoundsState::resume(path)?;
    let own = &state.settings().target;
    if let Some(typed) = target
        && std::path::absolute(typed).ok().as_ref() != Some(&own.path)
    {
        let (path, other, target) = (path.into(), own.path.clone(), typed.into());
        return Err(StateProblem::OtherTarget { path, other, target }.into());
    }
    // A target that is not here yet is waited for.
    if let Ok(found) = one(&own.path)
        && let Some(difference) = own.difference(&TargetIdentity::of(&found))
    {
        let (path, target) = (path.into(), own.path.clone());
        return Err(StateProblem::OtherDevice { path, target, difference }.into());
    }
    Ok(state)
}

/// Checks the round that a power cut or an error ended. Returns `false` if the user asked to stop.
fn finish_round(runner: &mut RoundRunner) -> Result<bool, PowercutError> {
    let kind = match runner.state.phase() {
        RoundPhase::Between => return Ok(true),
        RoundPhase::Cut { .. } => None,
        RoundPhase::Writing { boot, .. } if *boot != state::boot() => Some(CutKind::Machine),
        // This program was killed, or it met an error.
        RoundPhase::Writing { writer, .. } if is_fiord(*writer) => {
            return Err(PowercutError::WriterAlive(*writer));
        }
        RoundPhase::Writing { .. } => Some(CutKind::Kill),
    };
    let round = runner.state.rounds().len() as u32 + 1;
    announce(runner, round);
    Ok(runner.finish(round, kind)?.is_some())
}

/// Runs the rounds that are left, after the user's confirmation.
fn again(
    args: &PowercutArgs,
    runner: &mut RoundRunner,
    ask: &mut dyn consent::Ask,
    loader: &mut dyn Loader,
) -> Result<CommandEnd, PowercutError> {
    if is_over(runner.state) {
        return Ok(CommandEnd::Done);
    }
    let target = one(&runner.state.settings().target.path)?;
    if !args.yes {
        let text = table::announcement(runner.state.settings());
        let _ = write!(runner.prompt, "{}{text}", target.describe());
    }
    consent::obtain(args.yes, ask)?;
    rounds(runner, loader)
}

fn rounds(runner: &mut RoundRunner, loader: &mut dyn Loader) -> Result<CommandEnd, PowercutError> {
    while !is_over(runner.state) {
        let round = runner.state.rounds().len() as u32 + 1;
        announce(runner, round);
        if runner.signals.stop_requested() || runner.run(round, loader)?.is_none() {
            return Ok(CommandEnd::Stopped);
        }
    }
    Ok(CommandEnd::Done)
}

fn announce(runner: &mut RoundRunner, round: u32) {
    let rounds = runner.state.settings().rounds();
    let _ = write!(runner.progress, "[{round}/{rounds}] ");
}

/// Whether no round is left.
fn is_over(state: &RoundsState) -> bool {
    let done = state.rounds();
    let broken = done.iter().any(|result| result.verdict.is_broken());
    done.len() as u32 >= state.settings().rounds() || state.settings().stop && broken
}

/// Examines the target.
fn one(path: &Path) -> Result<FillTarget, Unsuitable> {
    Ok(target::all(&[path.into()])?.remove(0))
}

/// Refuses a directory on the disk of the target, whose power will be cut.
fn check_disks(target: &FillTarget, dir: &Path) -> Result<(), PowercutError> {
    let Some(disk) = &target.disk else { return Ok(()) };
    // The directory may be missing; then it will lie on the disk of the next existing one above it.
    let absolute = std::path::absolute(dir).unwrap_or_else(|_| dir.into());
    let facts = absolute.ancestors().find_map(|path| file::facts(path).ok());
    let below = facts.and_then(|facts| block::whole_disk_path(facts.device));
    let name = below.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    match name == Some(disk.name.as_str()) {
        true => Err(PowercutError::SameDisk { dir: dir.into(), disk: disk.name.clone() }),
        false => Ok(()),
    }
}

/// Whether a process with this number runs fiord. Another program may have got the number in the meantime.
fn is_fiord(process: u32) -> bool {
    let own = std::env::current_exe().ok();
    own.is_some() && std::fs::read_link(format!("/proc/{process}/exe")).ok() == own
}
