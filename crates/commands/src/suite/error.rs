//! Why a suite cannot run or continue.

use std::path::PathBuf;

use crate::axis::AxisError;
use crate::consent::NoConsent;
use crate::rejected::Rejected;
use crate::runs::RunError;
use crate::runs::outcome::OutcomeError;
use crate::session::CannotPrint;
use crate::state_file::FileError;
use crate::suite::catalogue;
use crate::suite::definition::{Definition, StepsError};
use crate::suite::device::DeviceError;
use crate::target::TargetError;
use crate::zones;
use crate::zones::change::ChangeError;

/// Why a suite cannot run or continue. Finished runs are kept.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// No suite has this name.
    #[error("unknown suite `{name}`; available: {}", names())]
    UnknownSuite { name: String },
    /// A value of `--set`.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// `--set` names an axis that the suite does not have.
    #[error("{} has no axis `{name}`; it has {}", .suite.name, axes(.suite))]
    UnknownAxis { suite: Definition, name: String },
    /// An argument after the device is not an option with a value.
    #[error(
        "`{option}` is not a job option. To fix: write job options as --option=value, after the device"
    )]
    NoJobOption { option: String },
    /// A job option that the suite sets itself.
    #[error(
        "the suite itself sets `{option}`. To fix: leave it out; `--dry-run` prints the jobs of a suite"
    )]
    OwnOption { option: String },
    /// `--runtime` or `--ramp-time` and a suite without them.
    #[error(
        "{suite} runs until all data is written, so --runtime and --ramp-time do not apply. To fix: leave them \
         out"
    )]
    NoTimes { suite: &'static str },
    /// The device cannot be opened or has no zones.
    #[error(transparent)]
    Zones(#[from] zones::ZonesError),
    /// Suites cannot use the zones of the device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The suite has no steps for this device and these axes.
    #[error(transparent)]
    Steps(#[from] StepsError),
    /// `--readonly` without `--dry-run`.
    #[error(
        "--readonly forbids suites: {suite} writes to {device}. To fix: leave it out, or add --dry-run"
    )]
    ReadOnly { suite: &'static str, device: PathBuf },
    /// A job file or the results cannot be written or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A job file cannot run on this machine.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The device is in use.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The user does not confirm.
    #[error(transparent)]
    NoConsent(#[from] NoConsent),
    /// The device failed to report its zones.
    #[error(transparent)]
    Report(#[from] fiord_sys::Error),
    /// The zones cannot be reset.
    #[error(transparent)]
    Reset(#[from] ChangeError),
    /// A run failed, or the directory of the results cannot be used.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The JSON of a finished run has no results.
    #[error("{path}: {source}")]
    Outcome {
        path: PathBuf,
        /// What it lacks.
        source: OutcomeError,
    },
    /// The results cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

fn names() -> String {
    catalogue::all().map(|suite| suite.name).join(", ")
}

fn axes(suite: &Definition) -> String {
    let names: Vec<&str> = suite.axes.iter().map(|(name, _)| *name).collect();
    names.join(" and ")
}
