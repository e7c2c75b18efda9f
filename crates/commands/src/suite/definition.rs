//! Types that define a suite.

use crate::sweep::axis::{Axis, Settings};

use crate::suite::device::Zoned;

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
    pub steps: fn(&Request) -> Result<Steps, String>,
}

/// Input for building the steps.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The device.
    pub device: &'a Zoned,
    /// The axes with their requested values.
    pub axes: &'a [Axis],
    /// `ramp_time` of measured runs, in job file syntax.
    pub ramp_time: &'a str,
    /// `runtime` of measured runs, in job file syntax.
    pub runtime: &'a str,
}

impl Request<'_> {
    /// Returns the values of an axis.
    pub fn values(&self, name: &str) -> &[String] {
        self.axes.iter().find(|axis| axis.name == name).map_or(&[], |axis| &axis.values)
    }
}

/// The steps of a suite in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steps {
    /// The runs.
    pub steps: Vec<Step>,
    /// Points that this device does not support, with the reason; reported before the first run.
    pub left_out: Vec<String>,
}

/// One run of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Values on the axes. A preparing step has only `prepare`, which names what it fills.
    pub settings: Settings,
    /// Kind of step.
    pub kind: Kind,
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
    pub bytes: u64,
}

/// Kind of step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Fills the device for later steps; not a row of the table.
    Prepare,
    /// A row of the table with all I/O of the step.
    Measure,
    /// A row of the table with the reads of the step; its writes are only background load.
    MeasureReads,
}

impl Step {
    /// Creates a measured step.
    pub fn measure(settings: Settings, job: String) -> Self {
        Step { settings, kind: Kind::Measure, reset: false, finds: None, target: None, job }
    }

    /// Creates a preparing step that resets all zones first.
    pub fn prepare(job: String) -> Self {
        let settings = vec![("prepare".into(), "device".into())];
        Step { settings, kind: Kind::Prepare, reset: true, finds: None, target: None, job }
    }
}
