//! Runs `fiord verify`, from the arguments to the output.

use std::path::{Path, PathBuf};

use fiord_formats::integrity::crash::JournalSummary;
use fiord_formats::integrity::journal::JournaledTarget;
use fiord_job::load::MachineLoader;
use fiord_sys::file::{self, InodeType};
use fiord_types::Bytes;

use super::args::VerifyArgs;
use super::check::{CrashFindings, TargetCheck};
use super::error::VerifyError;
use super::extents::Extents;
use super::hosts;
use super::journal::{JournalFile, named};
use super::later::LaterJournals;
use super::progress::VerifyProgress;
use super::read::TargetReader;
use super::report::CrashReport;
use crate::runs::over_ssh;
use crate::session::{CommandEnd, CommandFormat, Session};
use crate::target::{TargetError, facts};

/// Compares the targets of a journal with it.
///
/// # Errors
/// The journal or a target cannot be read, or they do not belong together.
pub fn run(
    args: &VerifyArgs,
    session: &mut Session,
    progress: &mut VerifyProgress,
) -> Result<CommandEnd, VerifyError> {
    if let Some(hosts) = args.hosts.reached(&mut MachineLoader)? {
        return hosts::run(args, &hosts, session);
    }
    let journal = match args.journal_input {
        None => JournalFile::open(&args.journal)?,
        Some(length) => JournalFile::from_input(&args.journal, Bytes(length))?,
    };
    let stop = args.journal_input.map(|_| over_ssh::input_end());
    let later = LaterJournals::open(&args.later, &journal.header)?;
    let mut summary = JournalSummary::default();
    let end = journal.each(&mut |record| summary.apply(record))?;
    let targets = targets(args, &journal)?;
    let mut certain = Vec::new();
    for (target, journaled) in targets.iter().zip(&journal.header.targets) {
        certain.push(check_identity(target, journaled)? || args.same_target);
    }
    let mut extents = Extents::open(args, &targets)?;
    let mut findings = CrashFindings::default();
    for (index, target) in targets.iter().enumerate() {
        let name = target.display().to_string();
        let mut reader = TargetReader::open(target)?;
        let mut check = TargetCheck {
            journal: &journal,
            target: index,
            summary: &summary,
            later: &later,
            reader: &mut reader,
            name: &name,
            atomic: args.atomic_unit.unwrap_or(Bytes::ZERO),
            extents: &mut extents,
            stop: stop.as_deref(),
            progress,
        };
        let tally = check.run(&mut findings)?;
        if !certain[index] && tally.flushed() > 0 && tally.own() == 0 {
            let path = named(&journal.header.targets[index]);
            return Err(VerifyError::OtherTarget { target: target.clone(), path });
        }
    }
    progress.clear();
    extents.add(findings.results.finish())?;
    let names: Vec<String> = targets.iter().map(|target| target.display().to_string()).collect();
    let report = CrashReport {
        journal: &journal,
        summary: &summary,
        end,
        target: &names.join(", "),
        findings: &findings,
    };
    match args.format {
        CommandFormat::Table => session.print(&report.text())?,
        CommandFormat::Json => session.print_document(&report.json())?,
    }
    Ok(if report.is_right() { CommandEnd::Done } else { CommandEnd::DataLost })
}

/// The paths of the targets, in the order of the journal: those of the command line, or else those of the run.
fn targets(args: &VerifyArgs, journal: &JournalFile) -> Result<Vec<PathBuf>, VerifyError> {
    let of_run = &journal.header.targets;
    if args.targets.is_empty() {
        let paths = of_run.iter().map(|target| target.known_path().map(Path::to_path_buf));
        let paths: Option<Vec<PathBuf>> = paths.collect();
        return paths.ok_or_else(|| VerifyError::NoTarget { journal: args.journal.clone() });
    }
    if args.targets.len() != of_run.len() {
        let named: Vec<String> = of_run.iter().map(named).collect();
        return Err(VerifyError::TargetCount {
            found: args.targets.len(),
            expected: of_run.len(),
            paths: named.join(" "),
        });
    }
    Ok(args.targets.clone())
}

/// Refuses what cannot be a target of the run. Returns whether it certainly is the one in the journal.
fn check_identity(target: &Path, journaled: &JournaledTarget) -> Result<bool, VerifyError> {
    let found = facts(target)?;
    let size = match found.kind {
        InodeType::Block => file::target_size(target)
            .map_err(|e| TargetError::new(target, e))?
            .map_or(0, |size| size.0),
        // A crash may leave a file shorter than the run has made it.
        InodeType::Regular => u64::MAX,
        _ => return Err(VerifyError::NotStorage { target: target.into() }),
    };
    if size < journaled.size.0 {
        return Err(VerifyError::TooSmall {
            target: target.into(),
            found: size,
            expected: journaled.size.0,
            path: named(journaled),
        });
    }
    // The name of a device may belong to another one after a restart.
    let same_path = target.canonicalize().is_ok_and(|path| Some(&*path) == journaled.known_path());
    Ok(same_path && found.kind == InodeType::Regular)
}
