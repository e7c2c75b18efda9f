//! How idle the CPUs are (`--idle-prof`). The kernel counts the idle time of each CPU; nothing runs for it during the
//! measurement.

use std::hint::black_box;

use fiord_stat::report::{CpuIdleness, UnitWork};
use fiord_sys::clock;
use fiord_sys::conditions::CpuTime;
use fiord_sys::cpu::{self, CpuSet};
use fiord_sys::root::Root;

/// Which CPUs `--idle-prof` reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleProfile {
    /// All together.
    System,
    /// All together, and each of them.
    PerCpu,
}

/// A measurement that has begun.
#[derive(Debug)]
pub(crate) struct IdleWatch {
    profile: IdleProfile,
    unit: UnitWork,
    began: Vec<(usize, CpuTime)>,
}

impl IdleWatch {
    /// Calibrates and begins.
    pub(crate) fn begin(profile: IdleProfile) -> Self {
        let unit = unit_work();
        IdleWatch { profile, unit, began: CpuTime::of_each(&Root::machine()) }
    }

    /// The idleness since the beginning.
    pub(crate) fn result(&self) -> CpuIdleness {
        idleness(self.profile, self.unit, &self.began, &CpuTime::of_each(&Root::machine()))
    }
}

fn idleness(
    profile: IdleProfile,
    unit: UnitWork,
    from: &[(usize, CpuTime)],
    to: &[(usize, CpuTime)],
) -> CpuIdleness {
    let earlier = |cpu: usize| from.iter().find(|(other, _)| *other == cpu).map(|(_, time)| *time);
    let spans: Vec<(u64, CpuTime)> = to
        .iter()
        .filter_map(|(cpu, time)| Some((*cpu as u64, time.since(earlier(*cpu)?))))
        .collect();
    let all = spans.iter().fold(CpuTime::default(), |sum, (_, time)| sum.and(*time));
    let cpus = match profile {
        IdleProfile::System => Vec::new(),
        IdleProfile::PerCpu => spans.iter().map(|(cpu, time)| (*cpu, percent(*time))).collect(),
    };
    CpuIdleness { system: percent(all), cpus, unit }
}

/// The idle share of a time, in per cent.
fn percent(time: CpuTime) -> f64 {
    100.0 * time.idle.0 as f64 / time.total.0.max(1) as f64
}

/// Measures the unit of work on each CPU that the process may use, in about 20 ms.
#[must_use]
pub fn unit_work() -> UnitWork {
    let cpus = cpu::allowed().unwrap_or_default();
    let times: Vec<f64> = std::thread::scope(|scope| {
        let one =
            |cpu: usize| std::thread::Builder::new().spawn_scoped(scope, move || time_on(cpu));
        let threads: Vec<_> = cpus.iter().filter_map(|cpu| one(cpu).ok()).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let count = times.len().max(1) as f64;
    let mean = times.iter().sum::<f64>() / count;
    let squares: f64 = times.iter().map(|time| (time - mean).powi(2)).sum();
    UnitWork { mean_us: mean, stddev_us: (squares / (count - 1.0).max(1.0)).sqrt() }
}

/// CPU time of a unit of work on a CPU, microseconds.
fn time_on(cpu: usize) -> f64 {
    const UNITS: u32 = 2000;
    let only: CpuSet = [cpu].into_iter().collect();
    // If this fails, the thread measures the CPU on which it runs.
    let _ = cpu::set_affinity(&only);
    let mut page = vec![0u8; 4096];
    touch(&mut page);
    let from = clock::thread_cpu();
    for _ in 0..UNITS {
        touch(&mut page);
    }
    let spent = clock::thread_cpu().saturating_sub(from);
    spent as f64 / f64::from(UNITS) / 1000.0
}

fn touch(page: &mut [u8]) {
    for byte in page.iter_mut() {
        *byte = black_box(byte.wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use fiord_types::Nanos;

    use super::*;

    #[test]
    fn shares_are_those_of_the_time_between_two_readings() {
        let time = |idle, total| CpuTime {
            idle: Nanos::from_millis(idle),
            total: Nanos::from_millis(total),
            ..CpuTime::default()
        };
        let from = [(0, time(100, 1000)), (1, time(100, 1000)), (9, time(0, 0))];
        // CPU 9 went offline, CPU 3 came online.
        let to = [(0, time(350, 2000)), (1, time(850, 2000)), (3, time(5, 10))];
        let unit = UnitWork::default();
        let found = idleness(IdleProfile::PerCpu, unit, &from, &to);
        assert_eq!((found.system, found.cpus), (50.0, vec![(0, 25.0), (1, 75.0)]));
        assert!(idleness(IdleProfile::System, unit, &from, &to).cpus.is_empty());
        assert_eq!(idleness(IdleProfile::System, unit, &[], &[]).system, 0.0);
    }

    #[test]
    fn a_unit_of_work_takes_time() {
        let unit = unit_work();
        assert!(unit.mean_us > 0.0 && unit.stddev_us >= 0.0, "{unit:?}");
    }
}
