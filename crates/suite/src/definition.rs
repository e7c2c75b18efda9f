//! What a suite is made of.

use fiord_sweep::axis::{Axis, Settings};

use crate::device::Zoned;

/// A suite.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// As it is called on the command line.
    pub name: &'static str,
    /// The question that it answers, one sentence.
    pub about: &'static str,
    /// Its axes with their values by commas; `--set` gives others.
    pub axes: &'static [(&'static str, &'static str)],
    /// How long a measured run takes, seconds: before it is measured, and measured. 0 and 0: until
    /// it has written what it is to write.
    pub times: (u32, u32),
    /// The steps on a device.
    pub steps: fn(&Request) -> Result<Steps, String>,
}

/// What the steps are made from.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The device.
    pub device: &'a Zoned,
    /// The axes with the values asked for.
    pub axes: &'a [Axis],
    /// `ramp_time` and `runtime` of measured runs, as job files have them.
    pub ramp_time: &'a str,
    /// As above.
    pub runtime: &'a str,
}

impl Request<'_> {
    /// The values of an axis.
    pub fn values(&self, name: &str) -> &[String] {
        self.axes.iter().find(|axis| axis.name == name).map_or(&[], |axis| &axis.values)
    }
}

/// What is done, in its order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Steps {
    /// The runs.
    pub steps: Vec<Step>,
    /// Points of the axes that this device cannot have, and why; said before the first run.
    pub left_out: Vec<String>,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its place on the axes. Preparation has none: what it fills is listed under `prepare`.
    pub settings: Settings,
    /// What kind of step it is.
    pub kind: Kind,
    /// Every zone is reset before it.
    pub reset: bool,
    /// It means something only where the steps before it, from the last reset on, left zones written.
    pub finds: Option<Filled>,
    /// Bytes a second that its writers are to reach together; missing them voids the latencies.
    pub target: Option<u64>,
    /// The job file.
    pub job: String,
}

/// Zones that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filled {
    /// So many, from the first that the suite uses on.
    pub zones: u32,
    /// At least so many bytes in each.
    pub bytes: u64,
}

/// What kind of step it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It fills the device for those after it, and is no row of the table.
    Prepare,
    /// It is a row: all that it does.
    Measure,
    /// It is a row: its reads, its writes are only the load beside them.
    MeasureReads,
}

impl Step {
    /// A measured step.
    pub fn measure(settings: Settings, job: String) -> Self {
        Step { settings, kind: Kind::Measure, reset: false, finds: None, target: None, job }
    }

    /// A preparing step, on a device whose zones are all reset.
    pub fn prepare(job: String) -> Self {
        let settings = vec![("prepare".into(), "device".into())];
        Step { settings, kind: Kind::Prepare, reset: true, finds: None, target: None, job }
    }
}
