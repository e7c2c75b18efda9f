//! Runs `fiord verify`, from the arguments to the output.

use std::path::Path;

use fiord_formats::verify::crash::JournalSummary;
use fiord_sys::file::{self, InodeType};
use fiord_types::Bytes;

use super::args::VerifyArgs;
use super::check::TargetCheck;
use super::error::VerifyError;
use super::extents::Extents;
use super::journal::JournalFile;
use super::read::TargetReader;
use super::report::CrashReport;
use crate::session::{CommandEnd, CommandFormat, Session};
use crate::target::{TargetError, facts};

/// Compares a target with a journal.
///
/// # Errors
/// The journal or the target cannot be read, or they do not belong together.
pub fn run(args: &VerifyArgs, session: &mut Session) -> Result<CommandEnd, VerifyError> {
    let journal = JournalFile::open(&args.journal)?;
    let mut summary = JournalSummary::default();
    let end = journal.each(&mut |record| summary.apply(record))?;
    let target = match (&args.target, journal.header.target_path()) {
        (Some(target), _) => target.clone(),
        (None, Some(path)) => path.to_path_buf(),
        (None, None) => return Err(VerifyError::NoTarget { journal: args.journal.clone() }),
    };
    let certain = check_identity(&target, &journal)? || args.same_target;
    let mut extents = Extents::open(args, &target)?;
    let mut reader = TargetReader::open(&target)?;
    let name = target.display().to_string();
    let mut check = TargetCheck {
        journal: &journal,
        summary: &summary,
        reader: &mut reader,
        name: &name,
        atomic: args.atomic_unit.unwrap_or(Bytes::ZERO),
        extents: &mut extents,
    };
    let findings = check.run()?;
    if !certain && findings.tally.flushed() > 0 && findings.tally.own() == 0 {
        return Err(VerifyError::OtherTarget { target, path: named(&journal) });
    }
    let report = CrashReport {
        journal: &journal,
        summary: &summary,
        end,
        target: &name,
        findings: &findings,
    };
    session.print(&match args.format {
        CommandFormat::Table => report.text(),
        CommandFormat::Json => report.json(),
    })?;
    Ok(if report.is_right() { CommandEnd::Done } else { CommandEnd::DataLost })
}

/// Refuses what cannot be the target of the run. Returns whether it certainly is.
fn check_identity(target: &Path, journal: &JournalFile) -> Result<bool, VerifyError> {
    let found = facts(target)?;
    let header = &journal.header;
    let size = match found.kind {
        InodeType::Block => file::target_size(target)
            .map_err(|e| TargetError::new(target, e))?
            .map_or(0, |size| size.0),
        // A crash may leave a file shorter than the run has made it.
        InodeType::Regular => u64::MAX,
        _ => return Err(VerifyError::NotStorage { target: target.into() }),
    };
    if size < header.size.0 {
        return Err(VerifyError::TooSmall {
            target: target.into(),
            found: size,
            expected: header.size.0,
            path: named(journal),
        });
    }
    // The name of a device may belong to another one after a restart.
    let same_path = target.canonicalize().is_ok_and(|path| Some(&*path) == header.target_path());
    Ok(same_path && found.kind == InodeType::Regular)
}

/// The path of the target of the run, for messages.
fn named(journal: &JournalFile) -> String {
    journal.header.target_path().map_or("unknown".into(), |path| path.display().to_string())
}
