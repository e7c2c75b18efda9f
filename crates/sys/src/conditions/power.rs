//! Frequency governors, idle states and thermal throttling of CPUs.

use std::collections::BTreeMap;

use fiord_types::Nanos;

use crate::cpu::CpuSet;
use crate::root::{Root, names};

const CPUS: &str = "/sys/devices/system/cpu";

/// Frequency governors (Linux: Documentation/admin-guide/pm/cpufreq.rst).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Governors {
    /// Each governor in use, with the CPUs that use it.
    pub by_name: BTreeMap<String, CpuSet>,
    /// The lowest and the highest frequency that any CPU may run at, in kHz.
    pub range_khz: Option<(u64, u64)>,
}

impl Governors {
    /// Reads the governors of all CPUs. `None` if the kernel does not control the frequencies (virtual
    /// machines, firmware control).
    #[must_use]
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

    /// Returns the CPUs that may run below full speed: those with a governor other than `performance`.
    #[must_use]
    pub fn variable(&self) -> CpuSet {
        let others = self.by_name.iter().filter(|(name, _)| *name != "performance");
        others.flat_map(|(_, cpus)| cpus.iter()).collect()
    }
}

/// An idle state of CPU 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sleep {
    /// Name of the state (`C6`).
    pub state: String,
    /// Time to wake from it.
    pub wake: Nanos,
}

/// Returns the enabled idle state of CPU 0 with the longest wake-up time (Linux:
/// Documentation/admin-guide/pm/cpuidle.rst). `None` if CPUs have no idle states.
#[must_use]
pub fn deepest_sleep(root: &Root) -> Option<Sleep> {
    let base = format!("{CPUS}/cpu0/cpuidle");
    let states = names(&root.path(&base)).into_iter().filter(|name| name.starts_with("state"));
    let enabled = states.filter(|state| root.number(format!("{base}/{state}/disable")) != Some(1));
    enabled
        .filter_map(|state| {
            let name = root.text(format!("{base}/{state}/name"))?;
            let wake = Nanos::from_micros(root.number(format!("{base}/{state}/latency"))?);
            Some(Sleep { state: name, wake })
        })
        .max_by_key(|sleep| sleep.wake)
        .filter(|sleep| sleep.wake > Nanos::ZERO)
}

/// Returns how often cores and packages throttled because of heat, added up (x86:
/// `thermal_throttle`). `None` if the machine does not count it.
#[must_use]
pub fn throttles(root: &Root) -> Option<u64> {
    let mut cores = None;
    // Every CPU of a package reports the count of the package.
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
