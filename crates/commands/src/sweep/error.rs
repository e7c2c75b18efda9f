//! Why a sweep cannot run or continue.

use crate::axis::AxisError;
use crate::rejected::Rejected;
use crate::runs::RunError;
use crate::session::CannotPrint;
use crate::sweep::job::NotSweepable;
use crate::sweep::load::RateError;

/// Why a sweep cannot run or continue. Finished runs are kept.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// A value of `--set`.
    #[error(transparent)]
    Axis(#[from] AxisError),
    /// The value of `--rate`.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// There is neither an axis nor a range of loads.
    #[error("nothing to sweep. To fix: name an option and its values: --set iodepth=1,2,4")]
    NothingToSweep,
    /// `--until` and an axis whose values do not increase.
    #[error(
        "--until needs an axis of increasing numbers, and the values of {axis} are not. To fix: sort them, or \
         leave out --until"
    )]
    NotIncreasing { axis: String },
    /// `--until` without an axis to increase the load along.
    #[error(
        "--until needs an axis with more than one value. To fix: write several values, such as --set \
         iodepth=1,2,4"
    )]
    NoAxis,
    /// `--until` and several axes.
    #[error(
        "--until needs exactly one axis with several values, and both {first} and {second} have several. To fix: \
         write one value for one of them"
    )]
    SeveralAxes {
        /// The first axis.
        first: String,
        /// The second axis.
        second: String,
    },
    /// The job cannot be swept.
    #[error(transparent)]
    Job(#[from] NotSweepable),
    /// The job is wrong at one of the points.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// A run failed, or the directory of the results cannot be used.
    #[error(transparent)]
    Run(#[from] RunError),
    /// `--rate` without a run that shows the highest rate.
    #[error(
        "no run has a result from which --rate could take the highest rate. To fix: start over with --restart"
    )]
    NoHighestRate,
    /// `--rate` and a run whose rate is unknown.
    #[error(
        "--rate needs a run that did I/O and reports it by direction. To fix: leave out unified_rw_reporting=mixed, \
         or use a job that does I/O"
    )]
    NoRate,
    /// The results cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}
