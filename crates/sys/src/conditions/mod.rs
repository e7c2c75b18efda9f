//! Conditions of the machine that slow a run down although the device is fast.
//!
//! | question | module |
//! |---|---|
//! | do the CPUs run at full speed, do they enter deep idle states | [`power`] |
//! | did the CPUs throttle because of heat | [`power`] |
//! | did tasks wait for CPU, memory or I/O; did a hypervisor steal time | [`pressure`] |
//! | is this process throttled by its cgroup | [`quota`] |
//! | which clock source does the kernel use | [`clock_source`] |
//!
//! Everything is read below a [`Root`]; nothing is written. A value that the machine does not
//! provide is `None` or empty.

pub mod power;
pub mod pressure;
pub mod quota;

use crate::root::Root;

pub use power::{Governors, Sleep};
pub use pressure::{CpuTime, Pressure};
pub use quota::{CpuQuota, IoQuota, Quotas};

/// Returns the kernel's clock source in use, and all that are available.
pub fn clock_source(root: &Root) -> Option<(String, Vec<String>)> {
    let base = "/sys/devices/system/clocksource/clocksource0";
    let current = root.text(format!("{base}/current_clocksource"))?;
    let available = root.text(format!("{base}/available_clocksource")).unwrap_or_default();
    Some((current, available.split_whitespace().map(str::to_owned).collect()))
}

/// Counters that change during a run. Read them before and after it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moment {
    /// Time in which tasks waited for a resource.
    pub pressure: Pressure,
    /// CPU time, including the part that a hypervisor gave to other guests.
    pub cpu: Option<CpuTime>,
    /// CPU time of each CPU, with the CPU's number; empty if the kernel does not report it.
    pub cpus: Vec<(usize, CpuTime)>,
    /// How often CPUs throttled because of heat.
    pub cpu_throttles: Option<u64>,
    /// Limits of this process's cgroups, and how often they took effect.
    pub quotas: Quotas,
}

impl Moment {
    /// Reads all counters.
    #[must_use]
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
