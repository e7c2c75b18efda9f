//! Why a target cannot be checked.

use std::io;
use std::path::{Path, PathBuf};

use fiord_formats::integrity::journal::JournalError;
use fiord_formats::integrity::sector::SectorWriter;
use fiord_types::{Bytes, Errno};

use crate::rejected::Rejected;
use crate::runs::over_ssh::OverSshError;
use crate::session::CannotPrint;
use crate::target::TargetError;

/// Why a target cannot be checked. It may be right or wrong.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The journal or the target cannot be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The journal or the target cannot be read.
    #[error("cannot read {path}: {}", Errno::explain(.source))]
    Read { path: PathBuf, source: io::Error },
    /// The file is not a journal, or it is damaged.
    #[error("{path}: {source}. To fix: name the file of verify_journal")]
    Journal { path: PathBuf, source: JournalError },
    /// The journal does not name its target.
    #[error("{journal} does not name its target. To fix: add the target to the command line")]
    NoTarget { journal: PathBuf },
    /// The command line has more or fewer targets than the journal.
    #[error(
        "the journal has {expected} targets, and the command line {found}. To fix: name all of them in this order, or \
         none: {paths}"
    )]
    TargetCount {
        /// Targets of the command line.
        found: usize,
        /// Targets of the journal.
        expected: usize,
        /// The paths of the targets of the run.
        paths: String,
    },
    /// A later journal is not one of the target.
    #[error(
        "{journal} does not belong to a target of the other journal. To fix: leave it out of --later"
    )]
    OtherTargets {
        /// The later journal.
        journal: PathBuf,
    },
    /// A directory, a pipe or a character device.
    #[error(
        "{target} is neither a block device nor a regular file. To fix: name the block device of the target"
    )]
    NotStorage { target: PathBuf },
    /// The device is not that of the run.
    #[error(
        "{target} has {found} bytes, and the target of the journal had {expected} bytes. To fix: name the target of \
         the run, which was {path}"
    )]
    TooSmall {
        target: PathBuf,
        /// Size of the target.
        found: u64,
        /// The size of the target of the run.
        expected: u64,
        /// The path of the target of the run.
        path: String,
    },
    /// The target contains nothing of the run, and nothing else shows that it is the target of the run.
    #[error(
        "{target} contains no data of the run of this journal, whose target was {path}: it may be another device. \
         To fix: name the target of the run; if this is it, add --same-target"
    )]
    OtherTarget {
        target: PathBuf,
        /// The path of the target of the run.
        path: String,
    },
    /// The journal lacks its end.
    #[error(
        "the target contains write {} of job {} of the run, which the journal {journal} does not announce: the disk of \
         the journal has lost the end of the journal, so it does not say what the target must contain", .writer.number,
        .writer.job
    )]
    Incomplete { journal: PathBuf, writer: SectorWriter },
    /// The list of bad extents cannot be written.
    #[error(
        "cannot write the list of bad extents: {path}: {}. To fix: use another file for --extents", Errno::explain(.source)
    )]
    Extents { path: PathBuf, source: io::Error },
    /// A list of hosts is wrong.
    #[error(transparent)]
    Hosts(#[from] Rejected),
    /// An option has no meaning on many hosts.
    #[error(
        "{option} cannot be used with --hosts. To fix: check one host after another: send its journal there, and run \
         fiord verify on the host"
    )]
    OnlyHere { option: &'static str },
    /// A host has no journal.
    #[error(
        "cannot use {path}, the journal of the host {host}: {}. To fix: name only hosts whose journals the run has \
         kept here, and pass its value of verify_journal", Errno::explain(.source)
    )]
    NoJournal { host: String, path: PathBuf, source: io::Error },
    /// The hosts cannot run the command.
    #[error(transparent)]
    OverSsh(#[from] OverSshError),
    /// The journal from the coordinator cannot be kept for the time of the check.
    #[error("cannot keep the journal in {path} during the check: {}. To fix: free space, or set TMPDIR", Errno::explain(.source))]
    Spool { path: PathBuf, source: io::Error },
    /// Less of the journal came than the coordinator announced.
    #[error(
        "only {found} of {expected} bytes of the journal came from the coordinator: the connection ended"
    )]
    ShortInput {
        /// The bytes that came.
        found: Bytes,
        /// The bytes of the journal.
        expected: Bytes,
    },
    /// The coordinator does not wait for the check any more.
    #[error("stopped before the end of the check: the coordinator has ended")]
    CoordinatorEnded,
    /// The result cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

impl VerifyError {
    /// The error with the name of the journal instead of the path of its copy.
    pub(super) fn of_journal(self, name: &Path) -> Self {
        match self {
            VerifyError::Read { source, .. } => VerifyError::Read { path: name.into(), source },
            VerifyError::Journal { source, .. } => {
                VerifyError::Journal { path: name.into(), source }
            }
            other => other,
        }
    }
}
