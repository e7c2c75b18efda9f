//! Types that define a suite.

use fiord_job::option::value::ValueError;
use fiord_types::Bytes;

use crate::axis::{Axis, PointSettings};

use crate::suite::device::SuiteDevice;

/// Definition of a suite.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// Name on the command line.
    pub name: &'static str,
    /// The question that the suite answers, in one sentence.
    pub about: &'static str,
    /// Axes with their default values, separated by commas; `--set` replaces them.
    pub axes: &'static [(&'static str, &'static str)],
    /// Ramp time and run time of a measured run in seconds. 0 and 0: the run ends when it has
    /// written all its data.
    pub times: (u32, u32),
    /// Builds the steps for a device.
    pub steps: fn(&StepRequest) -> Result<Steps, StepsError>,
}

/// Input for building the steps.
#[derive(Debug, Clone, Copy)]
pub struct StepRequest<'a> {
    pub device: &'a SuiteDevice,
    /// The axes with their requested values.
    pub axes: &'a [Axis],
    /// `ramp_time` of measured runs, in job file syntax.
    pub ramp_time: &'a str,
    /// `runtime` of measured runs, in job file syntax.
    pub runtime: &'a str,
}

impl StepRequest<'_> {
    /// Returns the values of an axis.
    #[must_use]
    pub fn values(&self, name: &str) -> &[String] {
        self.axes.iter().find(|axis| axis.name == name).map_or(&[], |axis| &axis.values)
    }
}

/// Why a suite has no steps for a device and the values of its axes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepsError {
    /// A value is not a number of bytes.
    #[error("`{value}`: {}", .cause.what)]
    NotBytes {
        value: String,
        /// What is wrong with it.
        cause: ValueError,
    },
    /// A value is not a count.
    #[error(
        "{axis}={value} is not a positive number. To fix: write whole numbers, such as --set {axis}=1,2,4"
    )]
    NotACount { axis: &'static str, value: String },
    /// No block size is left.
    #[error(
        "the device supports none of the block sizes. To fix: choose others with --set bs=SIZE,SIZE"
    )]
    NoBlockSize,
    /// No value of an axis is left.
    #[error(
        "no value of {axis} is possible: {why}. To fix: choose smaller values with --set {axis}=N"
    )]
    NoValue {
        axis: &'static str,
        /// Why its values are too large.
        why: &'static str,
    },
    /// A pass without the passes before it.
    #[error(
        "each pass depends on the earlier ones. To fix: give `pass` the values 1,2,3 and so on"
    )]
    PassOrder,
}

/// The steps of a suite in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steps {
    pub steps: Vec<SuiteStep>,
    /// Points that this device does not support, with the reason; reported before the first run.
    pub left_out: Vec<String>,
}

/// One run of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteStep {
    /// Values on the axes. A preparing step has only `prepare`, which names what it fills.
    pub settings: PointSettings,
    pub kind: StepKind,
    /// Whether to reset all zones before the step.
    pub reset: bool,
    /// Zones that earlier steps since the last reset must have written; without them the result is
    /// meaningless. `None` if the step does not depend on them.
    pub finds: Option<Filled>,
    /// Rate in bytes per second that all writers together must reach; otherwise the latencies are
    /// void.
    pub target: Option<u64>,
    /// Text of the job file.
    pub job: String,
}

/// Zones that must be written before a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filled {
    /// Number of zones, counted from the first zone that the suite uses.
    pub zones: u32,
    /// Minimum number of bytes written in each zone.
    pub bytes: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Fills the device for later steps; not a row of the table.
    Prepare,
    /// A row of the table with all I/O of the step.
    Measure,
    /// A row of the table with the reads of the step; its writes are only background load.
    MeasureReads,
}

impl SuiteStep {
    /// Creates a measured step.
    #[must_use]
    pub fn measure(settings: PointSettings, job: String) -> Self {
        SuiteStep {
            settings,
            kind: StepKind::Measure,
            reset: false,
            finds: None,
            target: None,
            job,
        }
    }

    /// Creates a preparing step that resets all zones first.
    #[must_use]
    pub fn prepare(job: String) -> Self {
        let settings = vec![("prepare".into(), "device".into())];
        SuiteStep { settings, kind: StepKind::Prepare, reset: true, finds: None, target: None, job }
    }
}
