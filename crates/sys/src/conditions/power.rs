//! Frequency governors, idle states, thermal throttling of CPUs.

use std::collections::BTreeMap;

use crate::cpu::CpuSet;
use crate::root::{Root, names};

const CPUS: &str = "/sys/devices/system/cpu";

/// Frequency governors (Linux: Documentation/admin-guide/pm/cpufreq.rst).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Governors {
    /// Governor and the CPUs that use it.
    pub by_name: BTreeMap<String, CpuSet>,
    /// Lowest and highest frequency that any CPU may run at, kHz.
    pub range_khz: Option<(u64, u64)>,
}

impl Governors {
    /// Of all CPUs. `None` where the kernel does not set frequencies (virtual machines, firmware).
    pub fn read(root: &Root) -> Option<Governors> {
        let mut found = Governors::default();
        for cpu in cpus(root) {
            let base = format!("{CPUS}/cpu{cpu}/cpufreq");
            let Some(name) = root.text(format!("{base}/scaling_governor")) else { continue };
            found.by_name.entry(name).or_default().insert(cpu);
            let low = root.number(format!("{base}/scaling_min_freq"));
            let high = root.number(format!("{base}/scaling_max_freq"));
            if let (Some(low), Some(high)) = (low, high) {
                let (a, b) = found.range_khz.unwrap_or((low, high));
                found.range_khz = Some((a.min(low), b.max(high)));
            }
        }
        (!found.by_name.is_empty()).then_some(found)
    }

    /// CPUs that may run below their full speed: all governors but `performance`.
    pub fn variable(&self) -> CpuSet {
        let others = self.by_name.iter().filter(|(name, _)| *name != "performance");
        others.flat_map(|(_, cpus)| cpus.iter()).collect()
    }
}

/// The deepest idle state that CPU 0 may enter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sleep {
    /// Its name (`C6`).
    pub state: String,
    /// Time to wake from it, µs.
    pub wake_us: u64,
}

/// The idle state with the longest wake-up that is enabled (Linux:
/// Documentation/admin-guide/pm/cpuidle.rst). `None` where CPUs do not sleep.
pub fn deepest_sleep(root: &Root) -> Option<Sleep> {
    let base = format!("{CPUS}/cpu0/cpuidle");
    let states = names(&root.path(&base)).into_iter().filter(|name| name.starts_with("state"));
    let enabled = states.filter(|state| root.number(format!("{base}/{state}/disable")) != Some(1));
    enabled
        .filter_map(|state| {
            let name = root.text(format!("{base}/{state}/name"))?;
            let wake_us = root.number(format!("{base}/{state}/latency"))?;
            Some(Sleep { state: name, wake_us })
        })
        .max_by_key(|sleep| sleep.wake_us)
        .filter(|sleep| sleep.wake_us > 0)
}

/// Times that CPUs were slowed down for heat, of cores and packages together (x86:
/// `thermal_throttle`). `None` where it is not counted.
pub fn throttles(root: &Root) -> Option<u64> {
    let mut cores = None;
    // Every CPU of a package tells the package's count.
    let mut packages: BTreeMap<u64, u64> = BTreeMap::new();
    for cpu in cpus(root) {
        let base = format!("{CPUS}/cpu{cpu}");
        let of = |name: &str| root.number(format!("{base}/{name}"));
        let Some(core) = of("thermal_throttle/core_throttle_count") else { continue };
        cores = Some(cores.unwrap_or(0) + core);
        let package = packages.entry(of("topology/physical_package_id").unwrap_or(0)).or_default();
        *package = (*package).max(of("thermal_throttle/package_throttle_count").unwrap_or(0));
    }
    cores.map(|cores: u64| cores + packages.values().sum::<u64>())
}

fn cpus(root: &Root) -> Vec<usize> {
    match root.text(format!("{CPUS}/online")).and_then(|text| CpuSet::parse(&text)) {
        Some(online) => online.iter().collect(),
        None => Vec::new(),
    }
}
