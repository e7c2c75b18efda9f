//! Why the rounds cannot run or continue.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use fiord_sys::process::ProcessEnding;
use fiord_types::{Errno, Nanos};

use super::settings::{DeviceDifference, WrongSetting};
use super::state::StateProblem;
use crate::amount::clock;
use crate::consent::NoConsent;
use crate::precondition::target::Unsuitable;
use crate::rejected::Rejected;
use crate::session::CannotPrint;
use crate::sweep::job::NotSweepable;

/// Number of a round, from 1.
type RoundNumber = u32;

/// Why the rounds cannot run or continue. The state file says how far they are.
#[derive(Debug, thiserror::Error)]
pub enum PowercutError {
    /// A value on the command line is wrong.
    #[error(transparent)]
    Setting(#[from] WrongSetting),
    /// The target is refused.
    #[error(transparent)]
    Target(#[from] Unsuitable),
    /// The user's job cannot be the load.
    #[error(transparent)]
    Job(#[from] NotSweepable),
    /// The job is wrong with the settings of a round.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The state file cannot be used.
    #[error(transparent)]
    State(#[from] StateProblem),
    /// The directory of the journals lies on the target's disk.
    #[error(
        "{dir} lies on {disk}, whose power will be cut: the journal would be lost with the data. To fix: name a \
         directory on another disk with --dir=DIR"
    )]
    SameDisk {
        dir: PathBuf,
        /// The kernel's name of the disk.
        disk: String,
    },
    /// Signal handlers cannot be installed, or a user's command cannot be started.
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
    /// The user does not confirm.
    #[error(transparent)]
    NoConsent(#[from] NoConsent),
    /// A child process cannot be started or waited for, or its files cannot be used.
    #[error("{path}: {}", Errno::explain(.source))]
    Process {
        /// The program or file.
        path: PathBuf,
        source: io::Error,
    },
    /// The writer ended before the cut.
    #[error("the writer ended before the power was cut: {status}\ncommand: {command}\n{errors}")]
    WriterEnded {
        /// Exit status of the writer.
        status: ExitStatus,
        /// The command, for a repetition by hand.
        command: String,
        /// Text on its standard error.
        errors: String,
    },
    /// The writer wrote nothing to its journal.
    #[error(
        "the writer has not written anything in {}. To fix: check that the job writes\ncommand: {command}",
        clock(*.0)
    , command = .1)]
    NothingWritten(Nanos, String),
    /// A killed writer does not end, because its I/O hangs.
    #[error(
        "the writer (process {pid}) does not end: its I/O to the target hangs. To fix: restore the power of the \
         target, then {resume}"
    )]
    WriterHangs {
        /// Process number of the writer.
        pid: u32,
        /// How to continue.
        resume: String,
    },
    /// The writer of an interrupted round still runs.
    #[error("the writer of the interrupted round still runs. To fix: kill -9 {0}")]
    WriterAlive(u32),
    /// A command of the user failed.
    #[error(
        "the command of --{option} failed: {ending}\ncommand: {command}\n{output}To fix: run the command by hand, then \
         {resume}"
    )]
    Command {
        /// The option: `cut` or `restore`.
        option: &'static str,
        command: String,
        /// How it ended.
        ending: ProcessEnding,
        /// What it printed.
        output: String,
        /// How to continue.
        resume: String,
    },
    /// The target has not returned in time.
    #[error(
        "{path} is not back {} after its power was restored: {why}\nTo fix: make it available under this path, then \
         {resume}", clock(*.limit)
    )]
    NotBack {
        /// Path of the target.
        path: PathBuf,
        /// The time limit.
        limit: Nanos,
        /// What was found instead.
        why: Box<Absence>,
        /// How to continue.
        resume: String,
    },
    /// `fiord verify` could not check the target.
    #[error("cannot check round {round}: {status}\ncommand: {command}\n{errors}")]
    NotChecked {
        round: RoundNumber,
        /// Exit status of the check.
        status: ExitStatus,
        /// The command, for a repetition by hand.
        command: String,
        /// Text on its standard error.
        errors: String,
    },
    /// The output of `fiord verify` cannot be read.
    #[error("{path}: {source}")]
    Report {
        /// The file with its output.
        path: PathBuf,
        source: serde_json::Error,
    },
    /// The results cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

impl PowercutError {
    /// Converts an error at a file or program.
    pub(super) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> PowercutError {
        let path = path.into();
        |source| PowercutError::Process { path, source }
    }
}

/// Why a target is not back.
#[derive(Debug, thiserror::Error)]
pub enum Absence {
    /// The target is missing, unreadable or in use. The message has one line: the remedies for a target on a command line do
    /// not fit here.
    #[error("{}", .0.to_string().lines().next().unwrap_or_default())]
    Unusable(#[source] Unsuitable),
    /// Another device has its path.
    #[error("another device is in its place: {0}")]
    Another(DeviceDifference),
}
