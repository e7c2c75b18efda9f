//! Under what conditions the machine runs: what slows a run down that is not the device.
//!
//! | question | module |
//! |---|---|
//! | do CPUs run at full speed, do they sleep deeply | [`power`] |
//! | did heat slow the CPUs down | [`power`] |
//! | did others wait for CPU, memory or I/O; was time stolen | [`pressure`] |
//! | is this process throttled by its cgroup | [`quota`] |
//! | what is the kernel's clock | [`clock_source`] |
//!
//! Everything is read below a [`Root`]; nothing is written. What a machine does not have is `None`
//! or empty.

pub mod power;
pub mod pressure;
pub mod quota;

use crate::root::Root;

pub use power::{Governors, Sleep};
pub use pressure::{CpuTime, Pressure};
pub use quota::{CpuQuota, IoQuota, Quotas};

/// The kernel's clock in use, and the others it could use.
pub fn clock_source(root: &Root) -> Option<(String, Vec<String>)> {
    let base = "/sys/devices/system/clocksource/clocksource0";
    let current = root.text(format!("{base}/current_clocksource"))?;
    let available = root.text(format!("{base}/available_clocksource")).unwrap_or_default();
    Some((current, available.split_whitespace().map(str::to_owned).collect()))
}

/// What is counted while a run goes on: read before and after.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moment {
    /// Time in which something waited.
    pub pressure: Pressure,
    /// CPU time, and how much of it a hypervisor gave to others.
    pub cpu: Option<CpuTime>,
    /// The same of each CPU, by its number; empty where the kernel does not say.
    pub cpus: Vec<(usize, CpuTime)>,
    /// Times the CPUs were slowed down for heat.
    pub cpu_throttles: Option<u64>,
    /// Limits of this process's cgroups, and how often they bit.
    pub quotas: Quotas,
}

impl Moment {
    /// Now.
    pub fn now(root: &Root) -> Moment {
        Moment {
            pressure: Pressure::read(root),
            cpu: CpuTime::read(root),
            cpus: CpuTime::of_each(root),
            cpu_throttles: power::throttles(root),
            quotas: Quotas::read(root),
        }
    }
}

#[cfg(test)]
mod tests;
